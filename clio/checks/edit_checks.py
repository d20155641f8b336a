"""Tells the model what its edits broke: the front of this package, loaded with every start and therefore small."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from clio.security.actions import Action, ChangeFiles

if TYPE_CHECKING:  # a turn that edits nothing loads none of it
    from clio.checks.checkers import Surroundings
    from clio.checks.turn_checks import TurnChecks

EDITING = frozenset(("edit_file", "write_file", "apply_patch"))
"""The tools whose changes are checked."""


class EditChecks:
    """The checks of one loop's turns.

    A step that changes files is followed by one run of the checks; what is new since before the turn's first change of
    a file is said below the step's last edit. See `TurnChecks` for the limits.

    Args:
        open_around: gives what the checkers need; called in a turn that edits, None where `checks` is off.
        clean: replaces secrets.
        tell: shows the user a line.
    """

    def __init__(
        self,
        open_around: "Callable[[], Surroundings] | None",
        *,
        clean: Callable[[str], str],
        tell: Callable[[str], None],
    ) -> None:
        self._open_around = open_around
        self._clean = clean
        self._tell = tell
        self._turn: TurnChecks | None = None
        self._slow: set[str] = set()

    async def before_change(self, action: Action) -> None:
        """Files are about to be changed: find out what is wrong with them already, for at most two seconds."""
        if self._open_around is None or not isinstance(action, ChangeFiles):
            return
        if self._turn is None:
            from clio.checks.turn_checks import open_turn

            self._turn = await open_turn(self._open_around(), self._slow, self._clean, self._tell)
        await self._turn.before_change(action.changes)

    async def end_step(self) -> str:
        """All edits of a step are done: what is to be said below its last result; "" for nothing.

        Takes at most what is left of the step's five seconds, and no time after a step without edits.
        """
        return await self._turn.end_step() if self._turn is not None else ""

    async def end_turn(self) -> None:
        """End what still runs and forget the turn."""
        turn, self._turn = self._turn, None
        if turn is not None:
            await turn.stop()


def find_place(names: Sequence[str]) -> int:
    """Which call of a step the checks are said below: its last edit, or its last call where it has none."""
    return max((place for place, name in enumerate(names) if name in EDITING), default=len(names) - 1)
