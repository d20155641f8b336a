"""Other files of the project that hold the text an edit looked for in the wrong one."""

import time
from collections.abc import Sequence
from pathlib import Path, PurePath

from clio.security.path_policy import Workspace
from clio.tools.files.edit_nearest import CLOSE, definitions, find_definition, line_key
from clio.tools.files.text_file import NotText, decode
from clio.tools.files.text_lines import split_lines
from clio.tools.search.file_index import list_within

_LIMIT_S = 1.5
_MAX_FILES = 20_000
_MAX_BYTES = 400_000
_MAX_NAMED = 3


def lines_elsewhere(workspace: Workspace, path: Path, old: str, likeness: float) -> str:
    """Where the lines looked for in `path` are instead, as the end of a sentence about that file; "" if not known.

    likeness: of the closest lines in the file itself; where they are close enough, no other file is looked at.
    Reads files for at most 1.5 s.
    """
    wanted = [key for line in split_lines(old) if (key := line_key(line))]
    if likeness >= CLOSE or not wanted:
        return ""
    symbols = definitions(split_lines(old))
    needle = max(wanted, key=len)
    if len(needle) < 4 and not symbols:
        return ""
    whole: list[str] = []
    defined: list[str] = []
    first: list[str] = []
    ends = time.monotonic() + _LIMIT_S
    names = list_within(workspace.root, limit_s=_LIMIT_S, most=_MAX_FILES) or []
    for name in sorted(names, key=lambda name: PurePath(name).suffix != path.suffix):
        if time.monotonic() > ends or len(whole) == _MAX_NAMED:
            break
        other = workspace.root / name
        if other == path or (lines := _read_lines(other)) is None:
            continue
        keys = [line_key(line) for line in lines]
        if (at := _find_block(keys, wanted)) is not None:
            whole.append(f"{name!r}, line {at + 1}")
            continue
        for kind, symbol in symbols:
            defined += [f"{kind} {symbol} in {name!r}, line {at + 1}" for at in find_definition(lines, kind, symbol)]
        if len(wanted[0]) > 8 and wanted[0] in keys:
            first.append(f"{name!r}, line {keys.index(wanted[0]) + 1}")
    if whole:
        where = " and in ".join(whole)
        return f"the text to find is not in this file; it is in {where}. Edit that file instead"
    if defined:
        return (
            f"the text to find is not in this file, nor anything like it; there is {'; '.join(defined[:_MAX_NAMED])}. "
            "Read it there and edit that file"
        )
    if first:
        where = " and in ".join(first[:_MAX_NAMED])
        return (
            f"the text to find is not in this file, nor anything like it; its first line is in {where}. Read it there"
        )
    return ""


def _read_lines(path: Path) -> list[str] | None:
    try:
        if path.stat().st_size > _MAX_BYTES:
            return None
        return split_lines(decode(path.read_bytes()).text)
    except (OSError, NotText):
        return None


def _find_block(keys: Sequence[str], wanted: Sequence[str]) -> int | None:
    """The index of the first line of a block, blank lines on both sides not counted; None where it is not there."""
    places = [at for at, key in enumerate(keys) if key]
    solid = [keys[at] for at in places]
    size = len(wanted)
    for number in range(len(solid) - size + 1):
        if solid[number] == wanted[0] and solid[number : number + size] == list(wanted):
            return places[number]
    return None
