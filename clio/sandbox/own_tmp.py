"""A /tmp that commands have for themselves: what is said of it, and what of the real one is shown there."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from clio.algorithms.late_pattern import LatePattern

TMP = Path("/tmp")
WARNING = "/tmp is the sandbox's own there: what is put into it goes when clio ends"
"""For the person who is asked about a command that names it."""
TOLD = (
    "[/tmp of commands is the sandbox's own: your other tools and the user do not find its files; put what they "
    "need into the project, or call it again with outside=true, and the user is asked]"
)
"""For the model, once."""
_NAMED = LatePattern(r"(?<![\w./~-])/tmp(?![\w.-])[^\s'\"`;|&<>()]*")
_PROGRAMS = ("bin", "sbin")
_BESIDE = ("lib", "lib64", "share", "pyvenv.cfg")


def named_in_tmp(command: str) -> list[Path]:
    """What a line names of /tmp, as far as its words are plain."""
    return [Path(found.group()) for found in _NAMED.finditer(command)]


def programs_in_tmp(env: Mapping[str, str], tmp: Path = TMP) -> tuple[Path, ...]:
    """The folders below /tmp in which the person's programs lie, by PATH and VIRTUAL_ENV; the upper ones first.

    Of a `bin` with what its programs need beside it, such as a venv's, the folder above; of a venv made by a Python
    that lies there itself, that one too. Never /tmp as a whole. Paths are as they are named, and with links resolved.
    """
    named = [env.get("VIRTUAL_ENV", ""), *env.get("PATH", "").split(":")]
    found = {place for name in named if name for place in _shown(Path(name), tmp)}
    return tuple(sorted(place for place in found if not any(other in place.parents for other in found)))


def _shown(folder: Path, tmp: Path) -> Iterator[Path]:
    try:
        resolved = folder.resolve(strict=True)
        python = resolved.parent / "bin" / "python" if folder.name in _PROGRAMS else resolved / "bin" / "python"
        places = [folder, resolved, *([python.resolve().parent] if python.is_symlink() else [])]
    except (OSError, RuntimeError):
        return
    for place in places:
        whole = place.parent if _stands_beside(place) else place
        for one in (whole, place):
            if tmp in one.parents and ".." not in one.parts:
                yield one
                break


def _stands_beside(place: Path) -> bool:
    return place.name in _PROGRAMS and any((place.parent / name).exists() for name in _BESIDE)
