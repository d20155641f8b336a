"""Knowledge that came with a project through git: whether there is any, and whether the person trusts it.

What others wrote is put before the model only in a folder that is trusted with it, as with a project's settings. The
answer is one for all that lies there, now and later: what a team knows changes every day.
"""

import hashlib
from pathlib import Path

from clio.config.loaded import Widening
from clio.config.paths import FOLDER_NAME
from clio.config.trust import Trust

SHARED_NAME = "ltm"
FORMAT_NAME = "format.json"
KEY = "team memory"
_FINGERPRINT = hashlib.sha256(b'["team memory"]').hexdigest()


def shared_folder(project: Path) -> Path:
    """Where the knowledge lies that a project's people share; it need not exist."""
    return project / FOLDER_NAME / SHARED_NAME


def team_widening(project: Path) -> Widening | None:
    """What is asked before others' entries count; None where a project has none."""
    return widening_of("what others wrote there") if is_shared(shared_folder(project)) else None


def is_shared(folder: Path) -> bool:
    """Whether shared knowledge lies in this folder; links lead nowhere."""
    return not folder.is_symlink() and (folder / FORMAT_NAME).is_file()


def widening_of(value: str) -> Widening:
    """The trust in shared knowledge, described in these words."""
    return Widening(key=KEY, value=value, where=f"{FOLDER_NAME}/{SHARED_NAME}/", fingerprint=_FINGERPRINT)


def is_trusted(project: Path, home: Path) -> bool:
    """Whether the person agreed to read what others write into this project."""
    return _FINGERPRINT in Trust(home).fingerprints(project)


def trust_team(project: Path, home: Path) -> None:
    """Remember that they did. Raises ConfigError, CorruptDocument, NewerDocument."""
    Trust(home).add(project, widening_of(""))
