"""Read files as text such that every byte is preserved: encodings, line endings, white space, unsaved editor text."""

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
from clio.text.translation import tr

NEWLINE = re.compile(r"\r\n|\n|\r")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
_INDENT = re.compile(r"[ \t]*")
_MARK_BY_WHITESPACE = str.maketrans({"\t": "→", "\r": "␍", "\u00a0": "⍽"})

_MARKED_LINE = re.compile(r"(?m)^(?:file  \| )?([·→⍽]*)(.*?)([·→⍽␍]*)$")
_WHITESPACE_BY_MARK = str.maketrans({"·": " ", "→": "\t", "␍": "", "⍽": "\u00a0"})

MARKS_LEGEND = "· space, → tab, ␍ carriage return, ⍽ no-break space"


def split_lines(text: str) -> list[str]:
    r"""Return the lines with their endings, where `\n`, `\r\n` and a lone `\r` end a line and nothing else does."""
    return _LINE.findall(text)


def strip_ending(line: str) -> str:
    """Return a line without its line ending."""
    return line.rstrip("\r\n")


def get_ending(line: str) -> str:
    """Return the ending of a line; "" for a last line without one."""
    return line[len(strip_ending(line)) :]


def get_indent(line: str) -> str:
    """Return the leading spaces and tabs of a line."""
    match = _INDENT.match(line)
    return match[0] if match else ""


def normalize_newlines(text: str) -> str:
    """Return the text with every line ending replaced by a newline."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def find_main_ending(text: str) -> str:
    """Return the most frequent line ending of a text; a newline if it has none."""
    crlf = text.count("\r\n")
    lf = text.count("\n") - crlf
    return "\r\n" if crlf > lf else "\n"


def get_line_number(text: str, offset: int) -> int:
    """Return the line number of an offset, from 1, counting newlines only as editors and compilers do."""
    return text.count("\n", 0, offset) + 1


def mark_whitespace(line: str) -> str:
    """Return a line with white space at both ends, tabs and carriage returns made visible; see MARKS_LEGEND."""
    line = line.removesuffix("\n")
    core = line.strip(" \t\r")
    if not core:
        return line.replace(" ", "·").translate(_MARK_BY_WHITESPACE)
    start = line.index(core)
    head, tail = line[:start], line[start + len(core) :]
    return (head.replace(" ", "·") + core + tail.replace(" ", "·")).translate(_MARK_BY_WHITESPACE)


def unmark_whitespace(text: str) -> str:
    """Return the text with the marks of `mark_whitespace` converted back; unchanged if it has none."""
    if not any(mark in text for mark in "·→␍⍽"):
        return text
    return _MARKED_LINE.sub(
        lambda match: (
            match[1].translate(_WHITESPACE_BY_MARK)
            + match[2].replace("→", "\t")
            + match[3].translate(_WHITESPACE_BY_MARK)
        ),
        text,
    )


def number_lines(lines: Sequence[str], first: int, *, max_chars: int = 2_000) -> list[str]:
    """Return lines as read_file shows them: `12|text`, numbers aligned, long lines cut with a notice."""
    width = len(str(first + len(lines) - 1))
    return [f"{number:>{width}}|{cut_line(line, max_chars)}" for number, line in enumerate(lines, first)]


def cut_line(line: str, max_chars: int) -> str:
    """Return the line, or its beginning and a notice of its length."""
    if len(line) <= max_chars:
        return line
    return f"{line[:max_chars]} [cut: this line has {len(line):,} characters]"


MAX_EDIT_BYTES = 20_000_000
"""Larger files are read page by page and never edited."""

_BYTES_CHECKED_FOR_BINARY = 8_192
DECODE_ERRORS = {"utf-8": "surrogateescape", "utf-16-le": "surrogatepass", "utf-16-be": "surrogatepass"}
"""How each codec preserves what it cannot decode; "strict" for the others."""

_CONTROLS_IN_TEXT = frozenset(b"\t\n\r\f\b\x1b")


class NotText(ValueError):
    """The bytes are not text."""


class TextFile(Struct, frozen=True, kw_only=True):
    """One file on disk.

    Attributes:
        data: its bytes.
        text: decoded, without byte order mark, original line endings. Bytes that are invalid in UTF-8 are lone
            surrogates, so that they are preserved; `to_printable` makes them printable.
        encoding: name of the codec.
        bom: byte order mark before the text, often empty.
        mode: permission bits.
    """

    data: bytes
    text: str
    encoding: str
    bom: bytes
    mode: int

    @property
    def is_notebook(self) -> bool:
        """Whether the text is that of a notebook's cells."""
        return self.encoding == _NOTEBOOK


def read_text_file(path: Path, shown: str) -> TextFile:
    """Return a whole file for editing. shown: its name in error messages.

    Raises:
        ToolRetry: it is a folder or missing.
        ToolFailed: it is binary, too large, special or not readable.
    """
    data, mode = read_bytes(path, shown)
    try:
        return decode_document(path, data, mode)
    except NotText:
        if data.startswith(PDF_START):
            raise ToolFailed(
                tr("{shown!r} is a PDF, which is read-only", shown=shown),
                "change its source, or create a new one with a program",
            ) from None
        raise ToolFailed(
            tr("{shown!r} is a binary file ({bytes})", shown=shown, bytes=format_bytes(len(data))),
            "read and edit text files only",
        ) from None


def read_bytes(path: Path, shown: str) -> tuple[bytes, int]:
    """Return bytes and permission bits of a regular file of at most MAX_EDIT_BYTES; errors as in `read_text_file`."""
    try:
        status = path.stat()
        check_regular(status, shown)
        with path.open("rb") as file:
            data = file.read(MAX_EDIT_BYTES + 1)
    except OSError as error:
        raise make_file_error(error, shown, "read") from error
    if len(data) > MAX_EDIT_BYTES:
        size = format_bytes(max(status.st_size, len(data)))
        raise ToolFailed(
            tr("{shown!r} is too large to edit ({size})", shown=shown, size=size), "change it with a command instead"
        )
    return data, stat.S_IMODE(status.st_mode)


def path_exists(path: Path, shown: str) -> bool:
    """Whether anything exists at a path, with links resolved. Raises ToolError if that cannot be determined."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise make_file_error(error, shown, "reach") from error
    return True


def check_regular(status: os.stat_result, shown: str) -> None:
    """Raise for anything but a regular file: reading a pipe or device may block forever."""
    if stat.S_ISDIR(status.st_mode):
        raise ToolRetry(tr("{shown!r} is a folder, not a file", shown=shown), "list it with list_files")
    if not stat.S_ISREG(status.st_mode):
        raise ToolFailed(tr("{shown!r} is not a regular file but a device, pipe or socket", shown=shown))


def decode_file(data: bytes, mode: int = 0o644) -> TextFile:
    """Decode bytes such that encoding gives the same bytes again. Raises NotText for binary data."""
    for bom, codec in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(bom) and not data.startswith(codecs.BOM_UTF32_LE):
            return _decode_utf16(data, bom, codec, mode)
    if looks_binary(data[:_BYTES_CHECKED_FOR_BINARY]):
        raise NotText
    bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    body = data[len(bom) :]
    encoding = _guess_encoding(body)
    text = body.decode(encoding, DECODE_ERRORS.get(encoding, "strict"))
    return TextFile(data=data, text=text, encoding=encoding, bom=bom, mode=mode)


NOTEBOOK_SUFFIX = ".ipynb"
_NOTEBOOK = "notebook"
"""Encoding of a notebook, whose text is that of its cells; see `clio.tools.files.notebook`."""
PDF_START = b"%PDF-"
_PDF_LIMIT_S = 30.0
_PDF_CHILD = Path(__file__).with_name("pdf_child.py")


def decode_document(path: Path, data: bytes, mode: int = 0o644) -> TextFile:
    """Decode a file as the file tools show it: a notebook as the text of its cells, any other as `decode_file` does."""
    if path.suffix == NOTEBOOK_SUFFIX:
        from clio.tools.files.notebook import NotANotebook, render_notebook

        try:
            return TextFile(data=data, text=render_notebook(data), encoding=_NOTEBOOK, bom=b"", mode=mode)
        except NotANotebook:
            pass  # its JSON is shown
    if data.startswith(PDF_START):  # some consist of nothing but characters
        raise NotText
    return decode_file(data, mode)


def extract_pdf_text(data: bytes, max_chars: int) -> str:
    """Return the text of a PDF with a heading for each page, of at most about `max_chars` characters.

    pypdf reads it in a process of its own with limited time and memory, since the file may be hostile.

    Raises:
        NotText: the message is a sentence about why it has no text.
    """
    import json
    import subprocess
    import sys

    command = [sys.executable, "-P", str(_PDF_CHILD), str(max_chars)]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=_PDF_LIMIT_S, check=False)
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise NotText(f"reading it took more than {_PDF_LIMIT_S:.0f} s") from None
    except ValueError:
        raise NotText("it could not be read within the limits of memory") from None
    if "error" in answer:
        raise NotText(answer["error"])
    pages, total = answer["pages"], answer["total"]
    if not any(page.strip() for page in pages):
        raise NotText("its pages hold no text; they may be scanned pictures")
    parts = [f"--- page {number} of {total} ---\n{page.strip()}" for number, page in enumerate(pages, 1)]
    if len(pages) < total:
        parts.append(f"--- pages {len(pages) + 1} to {total} are left out ---")
    return "\n\n".join(parts) + "\n"


def _decode_utf16(data: bytes, bom: bytes, codec: str, mode: int) -> TextFile:
    try:
        text = data[len(bom) :].decode(codec, "surrogatepass")
    except UnicodeDecodeError:
        raise NotText from None
    if "\0" in text:
        raise NotText
    return TextFile(data=data, text=text, encoding=codec, bom=bom, mode=mode)


def looks_binary(head: bytes) -> bool:
    """Whether the first bytes of a file are not text: a NUL, or more than one control character in ten."""
    if b"\0" in head:
        return True
    controls = sum(byte < 32 and byte not in _CONTROLS_IN_TEXT for byte in head)
    return controls * 10 > len(head)


def _guess_encoding(body: bytes) -> str:
    """Return UTF-8 if the bytes are valid, or invalid in few places only; otherwise a Western code page."""
    try:
        body.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError:
        text = body.decode("utf-8", "surrogateescape")
    broken = sum("\udc80" <= char <= "\udcff" for char in text)
    whole = sum(char > "\x7f" for char in text) - broken
    if whole >= broken:  # text in a code page rarely contains a valid multi-byte sequence by chance
        return "utf-8"
    try:
        body.decode("cp1252")
        return "cp1252"
    except UnicodeDecodeError:
        return "latin-1"


def encode_file(text: str, like: TextFile, shown: str) -> bytes:
    """Return the text encoded like the file `like`. Raises ToolRetry for a character its encoding does not have."""
    if like.is_notebook:
        from clio.tools.files.notebook import BadNotebookText, update_notebook

        try:
            return update_notebook(text, like.data)
        except BadNotebookText as error:
            raise ToolRetry(f"{shown!r}: {error}") from None
    handler = DECODE_ERRORS.get(like.encoding, "strict")
    try:
        return like.bom + text.encode(like.encoding, handler)
    except UnicodeEncodeError as error:
        char = text[error.start]
        raise ToolRetry(
            tr(
                "{shown!r} is encoded as {encoding}, which has no {char!r} (U+{code:04X})",
                shown=shown,
                encoding=like.encoding,
                char=char,
                code=ord(char),
            ),
            "use other characters, or convert the file with a command first",
        ) from None


def to_printable(text: str) -> str:
    """Return the text with invalid bytes as U+FFFD, so that it can be printed and sent."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def make_file_error(error: OSError, shown: str, verb: str) -> ToolError:
    """Return the error to raise for a failed file operation. verb: what failed, such as "read"."""
    match error.errno:
        case errno.ENOENT:
            return ToolRetry(tr("{shown!r} does not exist", shown=shown))
        case errno.EISDIR:
            return ToolRetry(tr("{shown!r} is a folder, not a file; list it with list_files", shown=shown))
        case errno.ENOTDIR:
            return ToolRetry(tr("{shown!r} cannot exist: part of its path is a file, not a folder", shown=shown))
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return ToolFailed(
                tr("no permission to {verb} {shown!r}: {strerror}", verb=verb, shown=shown, strerror=error.strerror)
            )
        case _:
            return ToolFailed(
                tr("cannot {verb} {shown!r}: {strerror}", verb=verb, shown=shown, strerror=error.strerror or error)
            )


class OpenFile(Struct, frozen=True, kw_only=True):
    """A file as it would be if the editor saved it now.

    Attributes:
        data: its bytes.
        text: its text with its own line endings; "" if nothing is unsaved.
        unsaved: whether an editor has unsaved changes.
    """

    data: bytes
    text: str
    unsaved: bool


def read_open_file(workspace: Workspace, path: Path, data: bytes | None = None) -> OpenFile:
    """Return the file as the user's editor shows it, otherwise as on disk. data: its bytes on disk, if known.

    May wait for the editor, so call it in a worker thread. Raises OSError if the file cannot be read.
    """
    disk = path.read_bytes() if data is None else data
    as_on_disk = OpenFile(data=disk, text="", unsaved=False)
    if workspace.open_files is None:
        return as_on_disk
    try:
        file = decode_file(disk)
    except NotText:
        return as_on_disk
    text = workspace.open_files.text(path, file.text)
    if text is None or is_same_text(text, file.text):
        return as_on_disk
    text = (
        normalize_newlines(text)
        if find_main_ending(file.text) == "\n"
        else normalize_newlines(text).replace("\n", "\r\n")
    )
    try:
        return OpenFile(data=encode_file(text, file, workspace.display(path)), text=text, unsaved=True)
    except ToolRetry:  # a character its encoding does not have: the editor could not save it either
        return as_on_disk


def read_for_change(workspace: Workspace, path: Path) -> TextFile:
    """Return the file a change is planned for, as it is in the editor; errors as in `read_text_file`.

    Also raises ToolRetry if an editor has unsaved changes and cannot save them.
    """
    name = workspace.display(path)
    file = read_text_file(path, name)
    now = read_open_file(workspace, path, file.data)
    if not now.unsaved:
        return file
    if workspace.open_files is not None and not workspace.open_files.can_save:
        raise ToolRetry(
            tr("{name!r} has unsaved changes in the editor", name=name), "ask the user to save it, then try again"
        )
    return decode_document(path, now.data, file.mode)


def is_same_text(one: str, other: str) -> bool:
    """Whether two texts differ only in line endings, the last newline and a byte order mark."""
    return normalize_editor_text(one) == normalize_editor_text(other)


def normalize_editor_text(text: str) -> str:
    """Return the text without details that editors omit: byte order mark, last newline, carriage returns."""
    return normalize_newlines(text).removeprefix("\ufeff").removesuffix("\n")
