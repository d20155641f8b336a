"""What a person made of a proposal, in the bytes it will have on disk: fewer files, fewer hunks, another text."""

from collections.abc import Sequence

from clio.errors import ToolFailed
from clio.security.actions import FileChange
from clio.security.path_policy import Workspace
from clio.tools.files.diff import diff_change, text_lines
from clio.tools.files.planned import PlannedChange
from clio.tools.files.text_file import MAX_EDIT_BYTES, ON_ERROR, TextFile, decode, encode, shown, size_text


def revise(planned: Sequence[PlannedChange], wanted: Sequence[FileChange], workspace: Workspace) -> list[PlannedChange]:
    """The plans for these changes and no others.

    Each must be one of the planned changes, at most with another `after`. What it was made for stays what it was: the
    bytes the file must still have. Raises ToolError where a change is of something else or its text cannot be written.
    """
    open_plans = {plan.change.path: plan for plan in planned}
    revised: list[PlannedChange] = []
    for change in wanted:
        name = workspace.display(change.path)
        plan = open_plans.pop(change.path, None)
        if plan is None or not _same_but_text(plan.change, change):
            raise ToolFailed(f"{name!r} was not proposed so; no file was changed, propose the change again")
        revised.append(plan if change.after == plan.change.after else _with_text(plan, change, name))
    if not revised:
        raise ToolFailed("nothing of the proposal is left; no file was changed")
    return revised


def revision_report(revised: Sequence[PlannedChange], workspace: Workspace) -> tuple[str, str]:
    """The text for the model and the summary for the person, once the changes are made."""
    verbs = {"add": "added", "update": "updated", "delete": "deleted", "move": "moved"}
    lines: list[str] = []
    added = removed = 0
    for plan in revised:
        change, diff = plan.change, diff_change(plan.change)
        moved = f" to {workspace.display(change.moved_to)}" if change.moved_to is not None else ""
        lines.append(f"{verbs[change.kind]} {workspace.display(change.path)}{moved} ({diff.counts})")
        added, removed = added + diff.added, removed + diff.removed
    return "\n".join(lines), f"+{added} -{removed}"


def _same_but_text(ours: FileChange, theirs: FileChange) -> bool:
    same = (ours.kind, ours.before, ours.moved_to) == (theirs.kind, theirs.before, theirs.moved_to)
    return same and (ours.after is None) == (theirs.after is None)


def _with_text(plan: PlannedChange, change: FileChange, name: str) -> PlannedChange:
    text = change.after or ""
    like = decode(plan.before, plan.mode) if plan.before is not None else None
    if like is None:
        like = TextFile(data=b"", text="", encoding="utf-8", bom=b"", mode=plan.mode)
    data = encode(_exact(text, plan, like, name), like, name)
    if len(data) > MAX_EDIT_BYTES:
        raise ToolFailed(f"{name!r} would have {size_text(len(data))}, more than clio writes; no file was changed")
    return PlannedChange(change=change, before=plan.before, after=data, mode=plan.mode)


def _exact(text: str, plan: PlannedChange, like: TextFile, name: str) -> str:
    """The text with its real lines in place of the shown ones: bytes that are no text are shown as U+FFFD.

    A line with such a mark that could have been two different ones cannot be written. Raises ToolFailed.
    """
    after = (plan.after or b"").removeprefix(like.bom).decode(like.encoding, ON_ERROR.get(like.encoding, "strict"))
    real = like.text + "\n" + after
    if "\ufffd" not in text or shown(real) == real:
        return text
    known: dict[str, set[str]] = {}
    for line in (*text_lines(like.text), *text_lines(after)):
        known.setdefault(shown(line), set()).add(line)
    lines: list[str] = []
    for line in text_lines(text):
        candidates = known.get(line, set()) if "\ufffd" in line else {line}
        if len(candidates) != 1:
            raise ToolFailed(
                f"{name!r} holds bytes that are no text, and the version the user allowed does not say which belong in "
                f"{line.strip()[:80]!r}; no file was changed, make a smaller edit that leaves this line alone"
            )
        lines.append(candidates.pop())
    return "".join(lines)
