"""Taking back the last change of what is remembered, whichever store it was of."""

from collections.abc import Callable, Mapping, Sequence

from clio.errors import UserError
from clio.memory.undo import Change, UndoLog
from clio.text.formatting import format_count

Revert = Mapping[str, Callable[[Change], object]]
SHOWN = 3
"""Of the parts that could not be taken back, so many are told one by one."""


def undo_last(log: UndoLog, revert: Revert) -> str:
    """Revert the newest change, or the newest group whole, and take it out of the log; what was done, in a sentence.

    revert: by store, what takes a change back. Raises UserError where there is none, or where what it touched was
    changed since: that change is given up, so that the one before it can be undone next. Of a group what can be taken
    back is, and the rest is told.
    """
    changes = log.last_whole()
    if not changes:
        raise UserError("nothing of what is remembered was changed, so there is nothing to undo")
    if changes[0].group:
        return _undo_group(log, revert, changes)
    [change] = changes
    try:
        revert[change.store](change)
    except UserError as error:
        log.take(change.id)
        raise UserError(f"{error} Undo again for the change before it.") from error
    log.take(change.id)
    return f"Undone: {change.what}."


def _undo_group(log: UndoLog, revert: Revert, changes: Sequence[Change]) -> str:
    """Take a group back from its newest change to its oldest. Raises UserError where no part of it can be."""
    title, lost = changes[0].title or "several changes", changes[-1].part - 1
    done: list[str] = []
    refused: list[str] = []
    try:
        for change in changes:
            try:
                revert[change.store](change)
            except UserError as error:
                refused.append(str(error).rstrip("."))
            done.append(change.id)
    finally:
        log.take_all(done)
    back = len(changes) - len(refused)
    said = [f"Undone: {title}, {format_count(back, 'change')} taken back."]
    if refused:
        more = f"; and {len(refused) - SHOWN:,} more" if len(refused) > SHOWN else ""
        said.append(f"{format_count(len(refused), 'change').capitalize()} not: {'; '.join(refused[:SHOWN])}{more}.")
    if lost > 0:
        said.append(f"{format_count(lost, 'change').capitalize()} of it had left the log before.")
    if not back:
        raise UserError(f"nothing of {title} is undone. {' '.join(said[1:])} Undo again for the change before it.")
    return " ".join(said)
