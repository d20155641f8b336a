"""What a conversation needs of the program it is shown in: to approve, to ask, to be told of events."""

import asyncio
from typing import Protocol

from msgspec import structs

from clio.agent.events import Emit, Event, Notice
from clio.sandbox.sandbox import Confinement
from clio.security.actions import RunCommand
from clio.security.approval import Answer, ApprovalRequest, Approver
from clio.tools.session_tools import Asker


class UserInterface(Protocol):
    """A terminal, a screen reader, an editor, or a stream of JSON lines.

    never_asks: no one is there to answer; a request for approval is then an error.
    """

    never_asks: bool

    async def approve(self, request: ApprovalRequest) -> Answer:
        """Ask whether an action may be done. Cancelling withdraws the question. Raises ApprovalNeeded."""
        ...

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """Put a question of the model's to the user. Raises ToolFailed where no one can answer."""
        ...

    def emit(self, event: Event) -> None:
        """Show what happens. Must return at once."""
        ...


class ComposedInterface:
    """A user interface made of three objects, for programs that keep them apart."""

    def __init__(self, approver: Approver, asker: Asker, emit: Emit) -> None:
        self._approver = approver
        self._asker = asker
        self._emit = emit
        self.never_asks = bool(getattr(approver, "never_asks", False))

    async def approve(self, request: ApprovalRequest) -> Answer:
        """See `UserInterface`."""
        return await self._approver.ask(request)

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """See `UserInterface`."""
        return await self._asker.ask(question, options)

    def emit(self, event: Event) -> None:
        """See `UserInterface`."""
        self._emit(event)


class ExplainingInterface:
    """Says once, with the first question about a command, how commands that run without a question are confined.

    Nothing is said to a user who switched the confinement off, or who is never asked.
    """

    def __init__(self, ui: UserInterface, confinement: Confinement) -> None:
        self._ui = ui
        self._confinement = confinement
        self.never_asks = ui.never_asks
        self._is_explained = ui.never_asks or not confinement.wanted

    async def approve(self, request: ApprovalRequest) -> Answer:
        """See `UserInterface`."""
        if not self._is_explained and isinstance(request.action, RunCommand):
            self._is_explained = True
            self.emit(Notice(text=await asyncio.to_thread(self._confinement.describe)))
        return await self._ui.approve(request)

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """See `UserInterface`."""
        return await self._ui.ask(question, options)

    def emit(self, event: Event) -> None:
        """See `UserInterface`."""
        self._ui.emit(event)


class SubagentInterface:
    """The user interface of a sub-agent: questions name it and come one at a time, events go to `emit`."""

    def __init__(self, ui: UserInterface, emit: Emit, name: str, one_at_a_time: asyncio.Lock) -> None:
        self._ui = ui
        self._name = name
        self._one_at_a_time = one_at_a_time
        self._emit = emit
        self.never_asks = ui.never_asks

    async def approve(self, request: ApprovalRequest) -> Answer:
        """See `UserInterface`."""
        async with self._one_at_a_time:
            return await self._ui.approve(structs.replace(request, title=f"{self._name}: {request.title}"))

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """See `UserInterface`."""
        async with self._one_at_a_time:
            return await self._ui.ask(question, options)

    def emit(self, event: Event) -> None:
        """See `UserInterface`."""
        self._emit(event)
