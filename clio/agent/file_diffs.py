"""Render what a turn did to one file as a diff, whatever kind of file it is."""

from collections.abc import Callable

from msgspec import Struct

from clio.checkpoints.checkpoint_store import Change, FileState
from clio.checkpoints.checkpoints import Checkpoints
from clio.text.formatting import format_bytes
from clio.tools.files.diff import diff_texts
from clio.tools.files.text_file import NotText, decode_file, to_printable

_MAX_BYTES = 2_000_000
_NOTHING = "/dev/null"


class RenderedChange(Struct, frozen=True, kw_only=True):
    """A change of one file. text: a unified diff, or a line in its place. what: "new", "deleted" or "changed"."""

    path: str
    what: str
    text: str
    added: int = 0
    removed: int = 0


def render_change(change: Change, checkpoints: Checkpoints, clean: Callable[[str], str]) -> RenderedChange:
    """Return the change with secrets replaced by `clean`. Raises ClioError, OSError."""
    before, after = change.before, change.after
    what = "new" if before is None else "deleted" if after is None else "changed"
    head = "".join(_render_mode_lines(before, after))
    old, new = (_read_text(state, checkpoints) for state in (before, after))
    if old is None or new is None:
        return RenderedChange(path=change.path, what=what, text=head + _describe_unreadable_change(change, checkpoints))
    names = (change.path if before else _NOTHING, change.path if after else _NOTHING)
    diff = diff_texts(old, new, *names)
    text = diff.text
    if not text or not (
        diff.added or diff.removed
    ):  # an empty file was created or deleted, or only permissions changed
        text = f"--- {names[0]}\n+++ {names[1]}\n"
    return RenderedChange(
        path=change.path,
        what=what,
        text=clean(to_printable(_insert_mode_lines(text, head))),
        added=diff.added,
        removed=diff.removed,
    )


def _insert_mode_lines(text: str, head: str) -> str:
    """Insert the lines about permissions below the names of the files."""
    lines = text.split("\n", 2)
    return "\n".join([*lines[:2], head + lines[2]]) if head else text


def _render_mode_lines(before: FileState | None, after: FileState | None) -> list[str]:
    if before is None or after is None or (before.mode == after.mode and (before.link is None) == (after.link is None)):
        return []
    return [f"old mode {_format_mode(before)}\n", f"new mode {_format_mode(after)}\n"]


def _format_mode(state: FileState) -> str:
    return f"{0o120000 if state.link is not None else 0o100000 | state.mode:o}"


def _read_text(state: FileState | None, checkpoints: Checkpoints) -> str | None:
    """Return the content as text; None if it is not text that can be shown."""
    data = checkpoints.read_content(state) if state is None or state.size <= _MAX_BYTES else None
    if data is None:
        return None
    try:
        return decode_file(data).text
    except NotText:
        return None


def _describe_unreadable_change(change: Change, checkpoints: Checkpoints) -> str:
    sizes = " → ".join(_describe_size(state) for state in (change.before, change.after))
    lost = any(checkpoints.read_content(state) is None for state in (change.before, change.after))
    return f"{'Not kept' if lost else 'Binary file'} {change.path}: {sizes}\n"


def _describe_size(state: FileState | None) -> str:
    return "nothing" if state is None else "a link" if state.link is not None else format_bytes(state.size)
