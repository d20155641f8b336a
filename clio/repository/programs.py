"""What a repository's own settings start when a commit or a checkout is made, so that a person can be asked before.

Looking starts none of it (see `git_looking`). The person's own settings, in their home or the system's, are not asked
about: nothing that is copied or unpacked changes those.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from clio.config.loaded import Widening
from clio.config.secrets import shown_value
from clio.config.trust import Trust
from clio.errors import UserError
from clio.repository.run import git

_NAMING = (
    r"^(filter\..*\.(clean|smudge|process)|hook\..*\.command|trailer\..*\.(command|cmd)|gpg\.(.*\.)?(program|"
    r"defaultkeycommand)|core\.(hookspath|sshcommand|gitproxy|askpass)|credential\.(.*\.)?helper|"
    r"remote\..*\.(vcs|uploadpack)|protocol\..*\.allow)$"
)
_MAX_HOOKS = 100
_MAX_BYTES = 1_000_000


def own_programs(root: Path) -> tuple[Widening, ...]:
    """All that a repository names, in its settings and its submodules' and as hooks. Raises UserError."""
    places = [root, *_submodules(root)]
    found = [value for place in places for value in (*_settings(place, root), *_hooks(place, root))]
    return tuple({value.fingerprint: value for value in found}.values())


def waiting_programs(root: Path, trust: Trust, owner: Path) -> tuple[Widening, ...]:
    """Those of them the folder `owner` is not trusted with. Raises UserError."""
    known = trust.fingerprints(owner)
    return tuple(value for value in own_programs(root) if value.fingerprint not in known)


def check_programs(root: Path, trust: Trust, owner: Path, doing: str) -> None:
    """Raises UserError where something would be started that waits for trust. doing: such as "a worktree"."""
    waiting = waiting_programs(root, trust, owner)
    if waiting:
        names = ", ".join(value.key for value in waiting[:3]) + (", …" if len(waiting) > 3 else "")
        raise UserError(
            f"git would start programs for {doing} that this repository itself names ({names}); "
            "`clio config trust` shows them and lets them"
        )


def _settings(place: Path, root: Path) -> Iterator[Widening]:
    where = _shown(place / ".git", root)
    for scope in ("--local", "--worktree"):
        listed = git(place, "config", scope, "--includes", "--null", "--get-regexp", _NAMING, wrong=(1, 128))
        for setting in listed.split("\0"):
            key, _, value = setting.partition("\n")
            if key:
                yield _program(key, value, where, value)


def _hooks(place: Path, root: Path) -> Iterator[Widening]:
    folder = place / git(place, "rev-parse", "--git-path", "hooks", hooks=True)
    own = git(place, "config", "--local", "--includes", "--get", "core.hooksPath", wrong=(1, 128))
    common = place / git(place, "rev-parse", "--git-common-dir")
    if not own and not any(folder.resolve().is_relative_to(top.resolve()) for top in (common, place)):
        return  # a folder that the person's own settings name
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix != ".sample" and os.access(path, os.X_OK))
    except OSError:
        return
    for path in files[:_MAX_HOOKS]:
        if path.is_file():
            yield _program(f"hook {path.name}", str(path), _shown(path, root), _digest(path))


def _submodules(root: Path) -> Iterator[Path]:
    """The folders of other repositories that git looks into."""
    for entry in git(root, "ls-files", "--stage", "-z").split("\0"):
        place = root / entry.partition("\t")[2]
        if entry.startswith("160000 ") and (place / ".git").exists():
            yield place


def _program(key: str, value: str, where: str, real: str) -> Widening:
    mark = hashlib.sha256(json.dumps([key, real]).encode("ascii")).hexdigest()
    named = key if key.isprintable() else json.dumps(key)
    return Widening(key=f"git {named}", value=shown_value(key, value), where=where, fingerprint=f"git:{mark}")


def _digest(path: Path) -> str:
    """What a hook holds; of a very large one, its size."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            return f"{path.stat().st_size} bytes"
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _shown(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
