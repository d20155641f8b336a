"""A person at the terminal decides: may this be done, and which of these is meant."""

from rich.text import Text

from clio.errors import ToolFailed
from clio.security.actions import ChangeFiles
from clio.security.approval import Answer, ApprovalRequest
from clio.ui.asking.decide import ChangeDecision, Decision
from clio.ui.asking.describe import Display
from clio.ui.asking.desk import Desk
from clio.ui.painter import Part
from clio.ui.plain import clean, clean_line


class TerminalApprover:
    """Shows what a call would do and asks for one key. `display` names a path in diffs, relative to the workspace."""

    def __init__(self, desk: Desk, display: Display = str) -> None:
        self._desk = desk
        self._display = display

    async def ask(self, request: ApprovalRequest) -> Answer:
        """The person's answer. Esc and Ctrl-C call `on_interrupt` and mean no."""
        guarded = self._desk.is_typing()
        async with self._desk.suspended():
            if isinstance(request.action, ChangeFiles):
                decision = ChangeDecision(self._desk, request, self._display, request.action)
            else:
                decision = Decision(self._desk, request, self._display)
            answer = await decision.take(guarded)
        if answer.interrupted:
            self._desk.on_interrupt()
        return answer


class TerminalAsker:
    """Puts the model's question to the person: a number chooses an option, anything else is an answer in words."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """The chosen option or the person's own words; empty for a bare Enter.

        Raises ToolFailed after Esc or Ctrl-C, which call `on_interrupt`.
        """
        async with self._desk.suspended():
            theme = self._desk.theme
            self._desk.say(self._desk.question(clean(question)))
            for number, option in enumerate(options, 1):
                self._desk.say([Part(body=Text.assemble((f"  {number} ", theme.accent), clean_line(option)))])
            prompt = "  number or answer: " if options else "  answer: "
            answer = await self._desk.questions.line(prompt)
        if answer is None:
            self._desk.on_interrupt()
            raise ToolFailed("the user interrupted instead of answering")
        chosen = answer.strip().rstrip(".)")
        if chosen.isdecimal() and 1 <= int(chosen) <= len(options):
            return options[int(chosen) - 1]
        return answer.strip()
