"""Tells the user, with the first question about a command, how commands that run without a question are confined."""

import asyncio

from clio.agent.events import Emit, Notice
from clio.sandbox.confinement import Confinement
from clio.security.actions import RunCommand
from clio.security.approval import Answer, ApprovalRequest, Approver


class ConfinementNotice:
    """An approver that says it once, before it hands the first question about a command on to another approver.

    Nothing is said to a user who switched the confinement off, or who is never asked.
    """

    def __init__(self, approver: Approver, confinement: Confinement, emit: Emit) -> None:
        self._approver = approver
        self._confinement = confinement
        self._emit = emit
        self.never_asks = bool(getattr(approver, "never_asks", False))
        self._said = self.never_asks or not confinement.wanted

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Ask and wait. Raises what the other approver raises."""
        if not self._said and isinstance(request.action, RunCommand):
            self._said = True
            self._emit(Notice(text=await asyncio.to_thread(self._confinement.describe)))
        return await self._approver.ask(request)
