"""Whether checks that run code of a project may run: one answer of the user's for all of them, now and later."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from clio.config.loaded import Widening
from clio.config.trust import Trust

KEY = "checks"
# The kind before the colon: the answer stays when the project's other values change.
_FINGERPRINT = f"checks:{hashlib.sha256(b'run code of the project').hexdigest()}"


def is_trusted(owner: Path, home: Path) -> bool:
    """Whether the user agreed to it. home: clio's own folder."""
    return _FINGERPRINT in Trust(home).fingerprints(owner)


def describe_trust(programs: Sequence[str]) -> Widening:
    """What the user agrees to, as it is shown before."""
    names = ", ".join(programs)
    value = f"{names}: may run code of this project after edits, confined"
    return Widening(key=KEY, value=value, where="project", fingerprint=_FINGERPRINT)
