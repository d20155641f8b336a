"""Lines that are no messages though they begin with no slash: what Enter does with them, and the command they mean."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from clio.messages import AssistantMessage
from clio.ui.line.signs import memory_line, sign_hint

if TYPE_CHECKING:
    from clio.app import App
    from clio.commands.feedback_commands import QuickRating

_LOOK_S = 0.1


class LineSigns:
    """app: None until it is loaded."""

    def __init__(self, app: "Callable[[], App | None]") -> None:
        self._app = app

    def hint(self, text: str) -> str:
        """What Enter will do with the line; "" for a message."""
        rating = self._rating(text)
        return rating.hint if rating else sign_hint(text)

    async def look_up(self, text: str) -> bool:
        """Find out what the line being typed may be completed with; whether there is anything new to offer."""
        early, model = self._app() is None, text.startswith("/model ")
        if not early and not model:
            return False
        while (app := self._app()) is None:  # noqa: ASYNC110  typed before the rest of clio is there
            await asyncio.sleep(_LOOK_S)
        if not model:
            return True
        from clio.commands.model_commands import ask_server

        return await ask_server(app)  # arguments, and commands that are not built in

    def command(self, text: str) -> str:
        """The slash command the line stands for; "" for a message."""
        if rating := self._rating(text):
            return rating.command
        kept = memory_line(text)
        return f"/memory remember -- {kept}" if kept else ""

    def _rating(self, text: str) -> "QuickRating | None":
        """The rating of the last answer a line is; None where it is a message, or no answer is there."""
        app = self._app()
        if app is None or not text.startswith(("+", "-", "−")):
            return None
        from clio.commands.feedback_commands import quick_rating

        messages = app.session.messages
        return quick_rating(text) if messages and isinstance(messages[-1], AssistantMessage) else None
