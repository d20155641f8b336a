"""Files as a person has them open: what an editor shows and has not saved stands for what is on disk."""

from pathlib import Path

from msgspec import Struct

from clio.errors import ToolRetry
from clio.security.path_policy import Workspace
from clio.tools.files.text_file import NotText, TextFile, decode, encode, read_text_file
from clio.tools.files.text_lines import main_ending, unix


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
