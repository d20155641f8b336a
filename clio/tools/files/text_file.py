"""Files as text without losing a byte: encodings, line endings, indentation, and what an editor has not saved."""

import codecs
import errno
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from clio.errors import ToolError, ToolFailed, ToolRetry
from clio.security.actions import Workspace
from clio.text.formatting import format_bytes

NEWLINE = re.compile(r"\r\n|\n|\r")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_INDENT = re.compile(r"[ \t]*")
_VISIBLE = str.maketrans({"\t": "→", "\r": "␍", "\u00a0": "⍽"})

_MARKED = re.compile(r"(?m)^(?:file  \| )?([·→⍽]*)(.*?)([·→⍽␍]*)$")
_UNMARK = str.maketrans({"·": " ", "→": "\t", "␍": "", "⍽": "\u00a0"})

LEGEND = "· space, → tab, ␍ carriage return, ⍽ no-break space"


def split_lines(text: str) -> list[str]:
    r"""The lines with their endings, where `\n`, `\r\n` and a lone `\r` end a line and nothing else does."""
    return _LINE.findall(text)


def body(line: str) -> str:
    """A line without its ending."""
    return line.rstrip("\r\n")


def ending(line: str) -> str:
    """The ending of a line, empty for a last line without one."""
    return line[len(body(line)) :]


def indent(line: str) -> str:
    """The spaces and tabs a line begins with."""
    match = _INDENT.match(line)
    return match[0] if match else ""


def unix(text: str) -> str:
    """The text with every line ending as a newline."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def main_ending(text: str) -> str:
    """The line ending a text uses most; a newline where it has none."""
    crlf = text.count("\r\n")
    lf = text.count("\n") - crlf
    return "\r\n" if crlf > lf else "\n"


def line_number(text: str, offset: int) -> int:
    """The number, from 1, of the line an offset lies in, as editors and compilers count: by newlines only."""
    return text.count("\n", 0, offset) + 1


def visible(line: str) -> str:
    """A line whose blanks at both ends, tabs and carriage returns can be told apart; see LEGEND."""
    line = line.removesuffix("\n")
    core = line.strip(" \t\r")
    if not core:
        return line.replace(" ", "·").translate(_VISIBLE)
    start = line.index(core)
    head, tail = line[:start], line[start + len(core) :]
    return (head.replace(" ", "·") + core + tail.replace(" ", "·")).translate(_VISIBLE)


def unmarked(text: str) -> str:
    """The text with the marks of `visible` as the blanks they mean; the same text where it has none."""
    if not any(mark in text for mark in "·→␍⍽"):
        return text
    return _MARKED.sub(
        lambda match: match[1].translate(_UNMARK) + match[2].replace("→", "\t") + match[3].translate(_UNMARK), text
    )


def numbered(lines: Sequence[str], first: int, *, max_chars: int = 2_000) -> list[str]:
    """Lines, without endings, as read_file shows them: `12|text`, numbers aligned, long lines cut with a notice."""
    width = len(str(first + len(lines) - 1))
    return [f"{number:>{width}}|{cut(line, max_chars)}" for number, line in enumerate(lines, first)]


def cut(line: str, max_chars: int) -> str:
    """The line, or its beginning and a notice of how long it is."""
    if len(line) <= max_chars:
        return line
    return f"{line[:max_chars]} [cut: this line has {len(line):,} characters]"


MAX_EDIT_BYTES = 20_000_000
"""Larger files are read by window only and never edited."""

_SNIFF_BYTES = 8_192
ON_ERROR = {"utf-8": "surrogateescape", "utf-16-le": "surrogatepass", "utf-16-be": "surrogatepass"}
"""How each codec keeps what it cannot decode; "strict" for the others."""

_TEXT_CONTROLS = frozenset(b"\t\n\r\f\b\x1b")


class NotText(ValueError):
    """The bytes are no text clio can keep."""


class TextFile(Struct, frozen=True, kw_only=True):
    """One file as it lies on disk.

    text: decoded, without the byte order mark, line endings as they are. Bytes that are invalid in UTF-8 stand in it as
        lone surrogates, so that they survive; `shown` makes them printable.
    encoding: the codec's name; `bom`: the mark that came before the text, often empty.
    mode: permission bits.
    """

    data: bytes
    text: str
    encoding: str
    bom: bytes
    mode: int


def read_text_file(path: Path, shown: str) -> TextFile:
    """Read a whole file for editing. `shown` is its name in errors.

    Raises ToolRetry for a folder or a missing file, ToolFailed where it is binary, too large, special or not allowed.
    """
    data, mode = read_bytes(path, shown)
    try:
        return decode(data, mode)
    except NotText:
        raise ToolFailed(
            f"{shown!r} is a binary file ({format_bytes(len(data))}); read and edit text files only"
        ) from None


def read_bytes(path: Path, shown: str) -> tuple[bytes, int]:
    """The bytes and the permission bits of a regular file of at most MAX_EDIT_BYTES; errors as in `read_text_file`."""
    try:
        status = path.stat()
        check_regular(status, shown)
        with path.open("rb") as file:
            data = file.read(MAX_EDIT_BYTES + 1)
    except OSError as error:
        raise explain(error, shown, "read") from error
    if len(data) > MAX_EDIT_BYTES:
        size = format_bytes(max(status.st_size, len(data)))
        raise ToolFailed(f"{shown!r} is too large to edit ({size}); change it with a command instead")
    return data, stat.S_IMODE(status.st_mode)


def exists(path: Path, shown: str) -> bool:
    """Whether there is anything at a path with its links resolved. Raises ToolError where that cannot be seen."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise explain(error, shown, "reach") from error
    return True


def check_regular(status: os.stat_result, shown: str) -> None:
    """Refuse what is no regular file: reading a pipe or a device may never end."""
    if stat.S_ISDIR(status.st_mode):
        raise ToolRetry(f"{shown!r} is a folder, not a file; list it with list_files")
    if not stat.S_ISREG(status.st_mode):
        raise ToolFailed(f"{shown!r} is not a regular file but a device, pipe or socket")


def decode(data: bytes, mode: int = 0o644) -> TextFile:
    """The text of these bytes; encoding it again gives the same bytes. Raises NotText for binary data."""
    for bom, codec in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(bom) and not data.startswith(codecs.BOM_UTF32_LE):
            return _decode_utf16(data, bom, codec, mode)
    if looks_binary(data[:_SNIFF_BYTES]):
        raise NotText
    bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    body = data[len(bom) :]
    encoding = _guess(body)
    text = body.decode(encoding, ON_ERROR.get(encoding, "strict"))
    return TextFile(data=data, text=text, encoding=encoding, bom=bom, mode=mode)


def _decode_utf16(data: bytes, bom: bytes, codec: str, mode: int) -> TextFile:
    try:
        text = data[len(bom) :].decode(codec, "surrogatepass")
    except UnicodeDecodeError:
        raise NotText from None
    if "\0" in text:
        raise NotText
    return TextFile(data=data, text=text, encoding=codec, bom=bom, mode=mode)


def looks_binary(head: bytes) -> bool:
    """Whether the first bytes of a file are no text: a NUL, or more than one control character in ten."""
    if b"\0" in head:
        return True
    controls = sum(byte < 32 and byte not in _TEXT_CONTROLS for byte in head)
    return controls * 10 > len(head)


def _guess(body: bytes) -> str:
    """UTF-8 where it is valid, or damaged in few places only; else the old Western code pages."""
    try:
        body.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError:
        text = body.decode("utf-8", "surrogateescape")
    broken = sum("\udc80" <= char <= "\udcff" for char in text)
    whole = sum(char > "\x7f" for char in text) - broken
    if whole >= broken:  # a code page hardly ever forms a valid multi-byte sequence by chance
        return "utf-8"
    try:
        body.decode("cp1252")
        return "cp1252"
    except UnicodeDecodeError:
        return "latin-1"


def encode(text: str, like: TextFile, shown: str) -> bytes:
    """The bytes of a text in the encoding of its file. Raises ToolRetry for a character the encoding cannot hold."""
    handler = ON_ERROR.get(like.encoding, "strict")
    try:
        return like.bom + text.encode(like.encoding, handler)
    except UnicodeEncodeError as error:
        char = text[error.start]
        raise ToolRetry(
            f"{shown!r} is encoded as {like.encoding} and cannot hold {char!r} (U+{ord(char):04X}); "
            "use other characters, or convert the file with a command first"
        ) from None


def shown(text: str) -> str:
    """The text as it can be printed and sent: bytes that were invalid become U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def explain(error: OSError, shown: str, verb: str) -> ToolError:
    """The error to raise for a failed file operation; `verb` is what was tried: "read", "write"."""
    match error.errno:
        case errno.ENOENT:
            return ToolRetry(f"{shown!r} does not exist")
        case errno.EISDIR:
            return ToolRetry(f"{shown!r} is a folder, not a file; list it with list_files")
        case errno.ENOTDIR:
            return ToolRetry(f"{shown!r} cannot be: a part of its path is a file, not a folder")
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return ToolFailed(f"no permission to {verb} {shown!r}: {error.strerror}")
        case _:
            return ToolFailed(f"cannot {verb} {shown!r}: {error.strerror or error}")


class Open(Struct, frozen=True, kw_only=True):
    """A file as it would be if it were saved now. data: its bytes; text: with its own line endings."""

    data: bytes
    text: str
    unsaved: bool


def as_open(workspace: Workspace, path: Path, data: bytes | None = None) -> Open:
    """The file as an editor shows it, else as it is on disk. data: its bytes on disk, where they are known.

    May wait for the editor, so it is for worker threads. Raises OSError where the file cannot be read.
    """
    disk = path.read_bytes() if data is None else data
    same = Open(data=disk, text="", unsaved=False)
    if workspace.open_files is None:
        return same
    try:
        file = decode(disk)
    except NotText:
        return same
    text = workspace.open_files.text(path, file.text)
    if text is None or same_text(text, file.text):
        return same
    text = unix(text) if main_ending(file.text) == "\n" else unix(text).replace("\n", "\r\n")
    try:
        return Open(data=encode(text, file, workspace.display(path)), text=text, unsaved=True)
    except ToolRetry:  # a character its encoding cannot hold: the editor could not save it so either
        return same


def read_for_change(workspace: Workspace, path: Path) -> TextFile:
    """The file a change is planned for, as it is open; errors as `read_text_file`.

    Raises ToolRetry too where it is in an editor that has not saved it and cannot.
    """
    name = workspace.display(path)
    file = read_text_file(path, name)
    now = as_open(workspace, path, file.data)
    if not now.unsaved:
        return file
    if workspace.open_files is not None and not workspace.open_files.can_save:
        raise ToolRetry(f"{name!r} has unsaved changes in the editor; ask the user to save it, then try again")
    return decode(now.data, file.mode)


def same_text(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but line endings, the last newline and a byte order mark."""
    return plain(one) == plain(other)


def plain(text: str) -> str:
    """The text without what editors leave out when they say what they show."""
    return unix(text).removeprefix("\ufeff").removesuffix("\n")
