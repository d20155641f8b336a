"""Changes a configuration file in place, alone with it: what does not change keeps every character it had."""

from collections.abc import Callable
from pathlib import Path

from clio.config.yaml_file import Place, read_bytes
from clio.storage.files import make_ignored_folder, write_atomic
from clio.storage.locks import FileLock

BOM = b"\xef\xbb\xbf"


def rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Give the file's bytes to `change` and write what it returns; a file that is missing is made.

    Raises what `change` raises, ConfigError where the file cannot be read, and OSError.
    """
    target = path.resolve()  # a link stays a link
    make_ignored_folder(path.parent, path.parent)
    with FileLock(target.with_name(target.name + ".lock")):
        before = read_bytes(target, str(path)) or b""
        after = change(before)
        if after != before:
            write_atomic(target, after, target.stat().st_mode & 0o777 if before else 0o600)


def split_bom(data: bytes) -> tuple[bytes, str]:
    """The mark some editors put before the text, and the text."""
    bom = BOM if data.startswith(BOM) else b""
    return bom, data[len(bom) :].decode("utf-8")


def lines_of(text: str) -> tuple[list[str], str]:
    """The lines with their ends, the last one ended too, and how a line ends here."""
    lines = text.splitlines(keepends=True)
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    if lines and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += newline
    return lines, newline


def insert(lines: list[str], place: Place, text: str, drop: int = 0) -> str:
    """The whole text with `text` at a place, where `drop` characters go."""
    row, column = place
    head, tail = "".join(lines[:row]), "".join(lines[row + 1 :])
    line = lines[row] if row < len(lines) else ""
    return head + line[:column] + text + line[column + drop :] + tail
