"""Report to the model which problems its edits caused.

This module is loaded at every start, so it imports the rest of the package only when needed.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from clio.security.actions import Action, ChangeFiles

if TYPE_CHECKING:  # a turn without edits loads none of it
    from clio.checks.checkers import CheckContext
    from clio.checks.turn_checks import TurnChecks

EDITING_TOOLS = frozenset(("edit_file", "write_file", "apply_patch"))
"""Tools whose changes are checked."""


class EditChecks:
    """The checks of the turns of one loop.

    The checks run once after each step that changes files. Problems that are new since before the turn's first change
    of a file are reported below the step's last edit. See `TurnChecks` for the limits.

    Args:
        make_context: returns what the checkers need; called in a turn with edits. None if `checks` is off.
        clean: replaces secrets.
        tell: shows a line to the user.
    """

    def __init__(
        self,
        make_context: "Callable[[], CheckContext] | None",
        *,
        clean: Callable[[str], str],
        tell: Callable[[str], None],
    ) -> None:
        self._make_context = make_context
        self._clean = clean
        self._tell = tell
        self._turn: TurnChecks | None = None
        self._slow: set[str] = set()  # names of checkers that took too long before an edit

    async def before_change(self, action: Action) -> None:
        """Find the problems that files have before they are changed, for at most two seconds."""
        if self._make_context is None or not isinstance(action, ChangeFiles):
            return
        if self._turn is None:
            from clio.checks.turn_checks import open_turn_checks

            self._turn = await open_turn_checks(self._make_context(), self._slow, self._clean, self._tell)
        await self._turn.before_change(action.changes)

    async def end_step(self) -> str:
        """Return what to report below the last result of a step; "" for nothing.

        Takes at most the rest of the step's five seconds, and no time after a step without edits.
        """
        return await self._turn.end_step() if self._turn is not None else ""

    async def end_turn(self) -> None:
        """Stop running checks and forget the turn."""
        turn, self._turn = self._turn, None
        if turn is not None:
            await turn.stop()


def find_report_index(names: Sequence[str]) -> int:
    """Return the index of the call below which the checks are reported: the step's last edit, or its last call."""
    return max((index for index, name in enumerate(names) if name in EDITING_TOOLS), default=len(names) - 1)
