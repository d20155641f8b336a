"""Jupyter notebooks as text, so that the file tools can read and edit their cells like the lines of any other file.

    # %% [code] id=3f2a9c01
    import numpy as np

    # %% [markdown] id=9d1e55b7
    # Results

A line with `# %% [kind]` begins a cell; its source follows as it is. A cell is known by its id, or in older notebooks
by its number (`cell=2`). Converting the text back keeps everything that the text does not show: outputs and metadata of
cells whose source is the same, the order of keys, the layout of the JSON. A code cell whose source has changed loses
its outputs, as they are no longer its own. The format is nbformat 4: https://nbformat.readthedocs.io.
"""

import base64
import binascii
import json
import math
import re
import secrets
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, cast

from msgspec import Struct

from clio.text.formatting import format_count

_MARK = re.compile(r"# %% \[(code|markdown|raw)\](?: (id|cell)=([A-Za-z0-9_-]{1,64}))?\s*")
_ESCAPED_MARK = re.compile(r"# %%+% \[(?:code|markdown|raw)\]")
_MAX_OUTPUT_CHARS = 1_500
_MAX_OUTPUTS_CHARS = 8_000
_MAX_IMAGES = 3
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class NotANotebook(ValueError):
    """The bytes are not a notebook of nbformat 4; they are then edited as JSON."""


class BadNotebookText(ValueError):
    """The text cannot be converted to cells; the message is a sentence about why."""


class CellOutputs(Struct, frozen=True, kw_only=True):
    """What the cells printed when the notebook was last run.

    Attributes:
        text: each cell's outputs under its mark, shortened; "" if there are none.
        images: the first pictures, as bytes.
    """

    text: str
    images: tuple[bytes, ...]


def render_notebook(data: bytes) -> str:
    """Return the cells as text. Raises NotANotebook."""
    blocks: list[str] = []
    for number, cell in enumerate(_get_cells(_load(data)), 1):
        lines = [f"# %{line[2:]}" if _is_mark(line) else line for line in _get_source(cell).split("\n")]
        source = "\n".join(lines)
        blocks.append(_make_mark(cell, number) + (f"\n{source}" if source else ""))
    return "\n\n".join(blocks) + "\n" if blocks else ""


def update_notebook(text: str, data: bytes) -> bytes:
    """Return the notebook `data` with the cells that the text describes.

    Raises:
        NotANotebook: `data` is not a notebook.
        BadNotebookText: text before the first mark, or a cell that does not exist or is named twice.
    """
    notebook = _load(data)
    minor: Any = notebook.get("nbformat_minor")
    has_ids = isinstance(minor, int) and minor >= 5
    known = {_make_mark(cell, number): cell for number, cell in enumerate(_get_cells(notebook), 1)}
    places = {mark.partition("] ")[2]: mark for mark in known if "] " in mark}
    cells: list[dict[str, Any]] = []
    used: set[str] = set()
    for kind, place, source in _parse(text):
        cell: dict[str, Any] = {"cell_type": kind, "metadata": {}}
        if place:
            if place in used:
                raise BadNotebookText(f"two cells are marked {place}; leave the mark of a new cell without it")
            used.add(place)
            old = known.get(places.get(place, ""))
            if old is None:
                raise BadNotebookText(f"no cell has {place}; leave it out for a new cell")
            if old["cell_type"] == kind and _get_source(old).replace("\r\n", "\n") == source:
                cells.append(old)
                continue
            # What belongs to the other kind of cell would make the notebook invalid.
            dropped = () if old["cell_type"] == kind else ("outputs", "execution_count", "attachments")
            cell = {key: value for key, value in old.items() if key not in dropped} | {"cell_type": kind}
        elif has_ids:
            cell["id"] = secrets.token_hex(4)
        cell["source"] = source if isinstance(cell.get("source"), str) else source.splitlines(keepends=True)
        if kind == "code":
            cell |= {"outputs": [], "execution_count": None}
        cells.append(cell)
    notebook["cells"] = cells
    return _dump(notebook, like=data)


def make_notebook(text: str) -> bytes:
    """Return a new notebook with the cells of a text. Raises BadNotebookText."""
    empty: dict[str, Any] = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return update_notebook(text, json.dumps(empty, indent=1).encode() + b"\n")


def collect_outputs(data: bytes, first_line: int = 1, last_line: float = math.inf) -> CellOutputs:
    """Return what the cells printed of which the text contains one of these lines. Raises NotANotebook."""
    parts: list[str] = []
    images: list[bytes] = []
    left, is_shortened, start = _MAX_OUTPUTS_CHARS, False, 1
    for number, cell in enumerate(_get_cells(_load(data)), 1):
        source = _get_source(cell)
        end = start + (source.count("\n") + 1 if source else 0)
        is_shown, start = start <= last_line and end >= first_line, end + 2
        if not is_shown:
            continue
        given = cell.get("outputs")
        outputs = cast(list[Any], given) if isinstance(given, list) else []
        texts = [_describe_output(cast(dict[str, Any], one), images) for one in outputs if isinstance(one, dict)]
        text = _ANSI.sub("", "\n".join(filter(None, texts))).strip("\n")
        if not text:
            continue
        if left <= 0:
            parts.append("[the outputs of later cells are left out: read the lines of those cells alone]")
            break
        room = min(left, _MAX_OUTPUT_CHARS)
        if len(text) > room:  # of an error the end matters, of a table the beginning
            half = room // 2
            text = f"{text[:half]}\n[{len(text) - room:,} characters left out, of cells[{number - 1}]]\n{text[-half:]}"
            is_shortened = True
        left -= len(text)
        parts.append(f"output of {_make_mark(cell, number)[5:]}:\n{text}")
    if is_shortened:
        parts.append("[for a whole output print the field `outputs` of that cell of the file's JSON with run_command]")
    return CellOutputs(text="\n\n".join(parts), images=tuple(images))


def _describe_output(output: dict[str, Any], images: list[bytes]) -> str:
    """Return one output as text, and add its picture to `images`."""
    match output.get("output_type"):
        case "stream":
            return _join(output.get("text"))
        case "error":
            lines = output.get("traceback")
            text = "\n".join(map(str, cast(list[Any], lines))) if isinstance(lines, list) else _join(lines)
            return text or str(output.get("evalue", ""))
        case "display_data" | "execute_result":
            shown = output.get("data")
            if not isinstance(shown, dict):
                return ""
            bundle = cast(dict[str, Any], shown)
            for kind in ("image/png", "image/jpeg"):
                if kind in bundle:
                    if len(images) < _MAX_IMAGES:
                        try:
                            images.append(base64.b64decode(_join(bundle[kind])))
                        except (binascii.Error, ValueError):
                            return f"[damaged {kind}]"
                    return f"[{kind}]"
            return _join(bundle.get("text/plain")) or f"[{', '.join(map(str, bundle))}]"
        case _:
            return ""


def _load(data: bytes) -> dict[str, Any]:
    try:
        loaded: Any = json.loads(data)
    except (ValueError, RecursionError):
        raise NotANotebook from None
    if not isinstance(loaded, dict):
        raise NotANotebook
    notebook = cast(dict[str, Any], loaded)
    cells: Any = notebook.get("cells")
    if notebook.get("nbformat") != 4 or not isinstance(cells, list):
        raise NotANotebook
    for cell in cast(list[Any], cells):
        fields = cast(dict[str, Any], cell) if isinstance(cell, dict) else {}
        if fields.get("cell_type") not in ("code", "markdown", "raw"):
            raise NotANotebook
        if not isinstance(fields.get("source"), str | list):
            raise NotANotebook
    return notebook


def _get_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return notebook["cells"]


def _get_source(cell: dict[str, Any]) -> str:
    return _join(cell["source"])


def _join(value: Any) -> str:
    return "".join(map(str, cast(list[Any], value))) if isinstance(value, list) else str(value or "")


def _make_mark(cell: dict[str, Any], number: int) -> str:
    id = cell.get("id")
    mark = f"# %% [{cell['cell_type']}] id={id}"
    return mark if isinstance(id, str) and _MARK.fullmatch(mark) else f"# %% [{cell['cell_type']}] cell={number}"


def _is_mark(line: str) -> bool:
    """Whether a line of a source would be read as a mark, or as one that was escaped with another percent sign."""
    return _MARK.fullmatch(line) is not None or _ESCAPED_MARK.match(line) is not None


def _parse(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield kind, place ("id=…", "cell=…" or "") and source of each cell. Raises BadNotebookText."""
    lines = text.replace("\r\n", "\n").split("\n")
    starts = [number for number, line in enumerate(lines) if _MARK.fullmatch(line)]
    before = lines[: starts[0]] if starts else lines
    if any(line.strip() for line in before):
        raise BadNotebookText("a notebook begins with a mark such as `# %% [code]`, which its cells follow")
    for start, end in pairwise([*starts, len(lines)]):
        match = _MARK.fullmatch(lines[start])
        assert match is not None
        body = [f"# {line[3:]}" if _ESCAPED_MARK.match(line) else line for line in lines[start + 1 : end]]
        if body and not body[-1]:  # the blank line between two cells, or the end of the last line
            body.pop()
        yield match[1], f"{match[2]}={match[3]}" if match[2] else "", "\n".join(body)


def _dump(notebook: dict[str, Any], *, like: bytes) -> bytes:
    """Return the notebook as JSON in the layout of `like`: its indentation, escapes and last newline."""
    indent = re.search(rb"\A\s*\{\r?\n([ \t]+)", like)
    space = indent[1].decode() if indent else None
    is_compact = indent is None and re.match(rb'\s*\{"[^"]*":\S', like) is not None
    text = json.dumps(
        notebook,
        ensure_ascii=like.isascii() and b"\\u" in like,
        indent=space,
        separators=(",", ":" if is_compact else ": ") if indent or is_compact else None,
    )
    return text.encode("utf-8", "surrogatepass") + (b"\n" if like.endswith(b"\n") else b"")


def describe_notebook(data: bytes) -> str:
    """Return what the model should know about the text of a notebook. Raises NotANotebook."""
    cells = _get_cells(_load(data))
    return (
        f"a notebook with {format_count(len(cells), 'cell')}, shown as text: edit it as text; a line `# %% [code]` or "
        "`# %% [markdown]` begins a cell, and a changed cell loses its outputs"
    )
