"""Check files after the model edited them, and report the problems that the edits caused.

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
    """Runs the checks of a conversation, one turn at a time.

    The checks run once after each step that changes files. A problem is reported if the file did not have it before
    the turn changed the file for the first time. The report follows the result of the step's last edit. See
    `TurnChecks` for the limits.

    Args:
        make_context: returns what the checkers need; called in a turn with edits. None if the setting `checks` is off.
        redact: replaces secrets.
        tell: shows a line to the user.
    """

    def __init__(
        self,
        make_context: "Callable[[], CheckContext] | None",
        *,
        redact: Callable[[str], str],
        tell: Callable[[str], None],
    ) -> None:
        self._make_context = make_context
        self._redact = redact
        self._tell = tell
        self._turn_checks: TurnChecks | None = None
        self._slow_checkers: set[str] = set()  # names of checkers that took too long before an edit

    async def before_change(self, action: Action) -> None:
        """Find the problems that files have before they are changed, for at most two seconds."""
        if self._make_context is None or not isinstance(action, ChangeFiles):
            return
        if self._turn_checks is None:
            from clio.checks.turn_checks import open_turn_checks

            self._turn_checks = await open_turn_checks(
                self._make_context(), self._slow_checkers, self._redact, self._tell
            )
        await self._turn_checks.before_change(action.changes)

    async def end_step(self) -> str:
        """Return the report to append to a step's result; "" if there is nothing to report.

        Takes at most the rest of the step's five seconds, and no time after a step without edits.
        """
        return await self._turn_checks.end_step() if self._turn_checks is not None else ""

    async def end_turn(self) -> None:
        """Stop running checks and forget the turn."""
        turn, self._turn_checks = self._turn_checks, None
        if turn is not None:
            await turn.stop()


def find_report_index(tool_names: Sequence[str]) -> int:
    """Return the index of the call whose result gets the report: the step's last edit, or else its last call."""
    return max(
        (index for index, tool_name in enumerate(tool_names) if tool_name in EDITING_TOOLS), default=len(tool_names) - 1
    )
