"""What stands around a turn of the loop: what must be so before it, and what is learned and counted after it."""

import asyncio
from collections.abc import Callable, Sequence

from clio.agent.current_loop import CurrentLoop
from clio.agent.events import TurnFinished
from clio.agent.lessons import Lessons
from clio.agent.planning import Planning
from clio.agent.spending import Spending, SpendingNotes
from clio.agent.turn_files import TurnFiles
from clio.hooks.hooks import Hooks
from clio.providers.base import Provider
from clio.sandbox.sandbox import Sandbox
from clio.sessions.session import Session
from clio.sessions.state import Bill


class TurnFrame:
    """Of one running clio. warn: says a sentence to the person."""

    def __init__(
        self,
        current: CurrentLoop,
        *,
        spending: Spending,
        notes: SpendingNotes,
        sandbox: Sandbox,
        hooks: Hooks,
        lessons: Lessons,
        planning: Planning,
        turn_files: TurnFiles,
        warn: Callable[[str], None],
    ) -> None:
        self._current = current
        self._spending = spending
        self._notes = notes
        self._sandbox = sandbox
        self._hooks = hooks
        self._lessons = lessons
        self._planning = planning
        self._turn_files = turn_files
        self._warn = warn

    async def run(self, text: str, session: Session, provider: Provider) -> TurnFinished:
        """One turn of the running session; see `Loop.run_turn`.

        Raises ConfigError where there is a limit to what may be spent and the model's price is not known.
        """
        self._spending.check_start(provider)
        self._warn_all(await asyncio.to_thread(self._sandbox.trouble))
        await self._hooks.finish()
        loop, billed = await self._current.ready(), len(session.bills)
        self._lessons.begin(session, text)
        try:
            finished = await loop.run_turn(text)
        except asyncio.CancelledError:
            self._turn_files.cut_off()
            self._lessons.end(session, "interrupted")  # in this thread: one that is cancelled waits for no other
            self.note(session, session.bills[billed:])
            raise
        self._planning.end_turn(done=finished.status == "done")
        await self._turn_files.end_turn()
        await asyncio.to_thread(self._lessons.end, session, finished.status)
        self._warn_all(await asyncio.to_thread(self._notes.note, session, session.bills[billed:]))
        return finished

    def note(self, session: Session, bills: list[Bill]) -> None:
        """Write down what these bills of a session come to."""
        self._warn_all(self._notes.note(session, bills))

    def _warn_all(self, sentences: Sequence[str]) -> None:
        for sentence in sentences:
            self._warn(sentence)
