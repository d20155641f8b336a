"""Taking back the last change of what is remembered, whichever store it was of."""

from collections.abc import Callable, Mapping

from clio.errors import UserError
from clio.memory.undo import Change, UndoLog


def undo_last(log: UndoLog, revert: Mapping[str, Callable[[Change], object]]) -> str:
    """Revert the newest change and take it out of the log; what was done, in a sentence.

    revert: by store, what takes a change back. Raises UserError where there is none, or where what it touched was
    changed since: that change is given up, so that the one before it can be undone next.
    """
    change = log.last()
    if change is None:
        raise UserError("nothing of what is remembered was changed, so there is nothing to undo")
    try:
        revert[change.store](change)
    except UserError as error:
        log.take(change.id)
        raise UserError(f"{error} Undo again for the change before it.") from error
    log.take(change.id)
    return f"Undone: {change.what}."
