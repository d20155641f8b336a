"""The lines of a file one after the other, whatever a program or a crash has left in it; never the whole file."""

import codecs
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from clio.algorithms.json_data import decode_json
from clio.importing.pieces import Json, Tally, mapping
from clio.storage.files import open_regular

BLOCK_BYTES = 1 << 18
MAX_LINE_BYTES = 64_000_000
"""A longer line is passed over: no conversation has one."""

Progress = Callable[[int], None]
"""Told how many bytes of a file have been read; raises to stop."""

_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def lines_of(path: Path, tally: Tally, progress: Progress, *, keep: bool = False) -> Iterator[bytes]:
    """The lines without their ends, in UTF-8. Raises OSError, and what `progress` raises.

    keep: with the blanks around them, and empty ones too.
    """
    blanks = b"\r" if keep else b" \t\r"
    parts: list[bytes] = []
    held, skipping = 0, False
    with open_regular(path, None) as file:
        for block in _blocks(file, progress):
            first, *others = block.split(b"\n")
            parts.append(first)
            held += len(first)
            if held > MAX_LINE_BYTES:
                tally.large += not skipping
                parts, held, skipping = [], 0, True
            if not others:
                continue
            whole = [b"".join(parts), *others[:-1]]
            parts, held = [others[-1]], len(others[-1])
            for number, line in enumerate(whole):
                line = line.strip(blanks)
                if (line or keep) and not (skipping and number == 0):
                    yield line
            skipping = False
    if not skipping and (line := b"".join(parts).strip(blanks)):
        yield line


def _blocks(file: BinaryIO, progress: Progress) -> Iterator[bytes]:
    """The bytes of a file without its mark of order; those of UTF-16, which Windows' tools write, as UTF-8."""
    decoder: codecs.IncrementalDecoder | None = None
    first, done = True, 0
    while block := file.read(BLOCK_BYTES):
        done += len(block)
        progress(done)
        if first:
            first = False
            if name := _WIDE.get(block[:2]):
                decoder, block = codecs.getincrementaldecoder(name)("replace"), block[2:]
            else:
                block = block.removeprefix(codecs.BOM_UTF8)
        yield decoder.decode(block).encode("utf-8", "replace") if decoder else block


def records_of(path: Path, tally: Tally, progress: Progress) -> Iterator[tuple[bytes, Json]]:
    """The JSON objects of a file with one a line, each with its line. What is none is counted.

    Raises OSError, and what `progress` raises.
    """
    waiting: bytes | None = None
    for line in lines_of(path, tally, progress):
        if waiting is not None:
            tally.kinds["no JSON"] += 1
            waiting = None
        value = decoded(line, tally)
        if value is None:
            waiting = line
        elif isinstance(value, dict):
            yield line, mapping(value)
        else:
            tally.kinds["no object"] += 1
    if waiting is not None:
        tally.torn += 1


def decoded(data: bytes, tally: Tally) -> Any:
    """The JSON value in `data`, with U+FFFD for what is no UTF-8; None where it is none."""
    try:
        return decode_json(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    words = data.decode("utf-8", "replace")
    try:
        value = json.loads(words)  # which takes half of a surrogate pair, as JavaScript leaves it where it cuts a text
    except (ValueError, RecursionError):
        return None
    tally.mended += "\ufffd" in words
    return value
