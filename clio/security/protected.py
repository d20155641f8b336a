"""Files that decide what runs later, and so are never written without a person's word."""

import os
import unicodedata
from pathlib import Path

from clio.algorithms.late_pattern import LatePattern
from clio.config.deciding import why_deciding
from clio.security.automatic_files import why_automatic

_IGNORABLE = frozenset(
    (
        *(0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0),
        *range(0x180B, 0x1810),
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        *range(0xFE00, 0xFE10),
        *range(0xFFF0, 0xFFFC),
        *range(0x1BCA0, 0x1BCA4),
        *range(0x1D173, 0x1D17B),
        *range(0xE0000, 0xE1000),
    )
)
"""Unicode's Default_Ignorable_Code_Point and the interlinear signs. HFS+ passes over those of its time in names."""
_SHORT_NAME = LatePattern(r"[^.~]{1,6}~[0-9]{1,6}(?:\.[^.]{0,3})?")
"""A name of at most 8 and 3 characters as NTFS and FAT give one to each longer name: `git~1` is `.git` there."""


def is_protected(path: Path, root: Path, clio_home: Path | None) -> str:
    """Why a file is protected, as the end of a sentence; "" where it is not.

    path: absolute with links resolved, inside `root`.
    """
    if why := decides_for_clio(path, root, clio_home):
        return why
    parts = _below(path, root)
    if ".git" in parts:
        return "belongs to git, which may run what it holds"
    if any(_SHORT_NAME.fullmatch(part) for part in parts):
        return "has the form of the short name that a Windows disk gives to another file"
    return why_automatic(parts) or _why_linked(path, root)


def _why_linked(path: Path, root: Path) -> str:
    """Why a file counts that a link beside it, or in the project's own folder, gives the name of one that does."""
    for folder in dict.fromkeys((root, *(place for place in path.parents if place.is_relative_to(root)))):
        try:
            links = [entry for entry in os.scandir(folder) if entry.is_symlink()]
        except OSError:
            continue
        for link in links:
            real = Path(os.path.realpath(link.path))
            why = why_automatic(_below(Path(link.path), root)) if real == path or real in path.parents else ""
            if why:
                return f"{why}, as {link.name!r} leads to it"
    return ""


def decides_for_clio(path: Path, root: Path, clio_home: Path | None) -> str:
    """Why a file decides what clio itself does, so that no mode lets it be written unasked; "" where it does not.

    path: absolute with links resolved, anywhere: the person's own files of these kinds need no trust to take effect.
    Names are compared as the most tolerant file systems do, see `fold_disk_name`.
    """
    if clio_home is not None and (path == clio_home or clio_home in path.parents):
        return "belongs to clio's own settings"
    return why_deciding(_below(path, root))


def fold_disk_name(name: str) -> str:
    """The one spelling for all names that some file system takes for the same; "." where nothing is left.

    Upper and lower case and Unicode's normal and compatibility forms are one name (APFS, HFS+, NTFS, ext4 with
    casefold). Characters without a shape (HFS+), dots and blanks at the end, and what follows a colon (streams of NTFS,
    such as `.git::$INDEX_ALLOCATION`) do not count.
    """
    if not name.isascii():
        for _ in range(2):  # folding can make characters that normalize further, and normalizing ones that fold
            name = "".join(char for char in name if ord(char) not in _IGNORABLE)
            name = unicodedata.normalize("NFKC", name).casefold()
    stem = "".join(char for char in name.casefold().partition(":")[0] if char.isprintable())
    return stem.rstrip(". ") or os.curdir


def _below(path: Path, root: Path) -> tuple[str, ...]:
    parts = path.relative_to(root).parts if path.is_relative_to(root) else path.parts
    # A backslash is part of a name here and divides names where the project is checked out on Windows.
    return tuple(fold_disk_name(name) for part in parts for name in part.split("\\") if name)
