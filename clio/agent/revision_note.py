"""What the model is told where a person allowed another change than it proposed: what they wrote, or left out."""

from collections.abc import Callable, Iterator
from pathlib import Path

from clio.security.actions import Action, ChangeFiles, FileChange
from clio.security.approval import Answer, Declined
from clio.tools.files.diff import diff_texts

_MAX_ROWS = 40
_MAX_CHARS = 300


def revision_note(proposed: Action, answer: Answer, display: Callable[[Path], str]) -> str:
    """The note below the call's result. `display` names paths; of each file at most 40 rows are shown."""
    if not isinstance(proposed, ChangeFiles):
        return ""
    wanted = {change.path: change for change in answer.changes}
    paragraphs: list[str] = []
    for change in proposed.changes:
        name, ours = display(change.path), wanted.get(change.path)
        declined = next((one for one in answer.declined if one.path == change.path), None)
        if ours is None:
            paragraphs.append(f"The user declined what you proposed for {name}; it is as it was.")
        elif change.path in answer.edited:
            paragraphs.append(_edited(name, change, ours))
        elif declined is not None:
            paragraphs.append(_declined(name, declined))
    return "\n".join([*paragraphs, "Go on from the files as they are now."]) if paragraphs else ""


def _edited(name: str, proposed: FileChange, ours: FileChange) -> str:
    diff = diff_texts(proposed.after or "", ours.after or "", f"{name} (proposed)", f"{name} (as the user wrote it)")
    head = f"The user edited your proposal for {name} before allowing it. From yours (-) to what is written (+):"
    return "\n".join([head, *_bounded(diff.text, name)])


def _declined(name: str, declined: Declined) -> str:
    head = f"The user declined {declined.hunks} of {declined.of} hunks of {name}; not applied:"
    return "\n".join([head, *_bounded(declined.diff, name)])


def _bounded(diff: str, name: str) -> Iterator[str]:
    rows = diff.removesuffix("\n").split("\n")
    for row in rows[:_MAX_ROWS]:
        yield row if len(row) <= _MAX_CHARS else f"{row[:_MAX_CHARS]} [cut]"
    if len(rows) > _MAX_ROWS:
        yield f"… {len(rows) - _MAX_ROWS:,} more rows; read {name} before you change it again"
