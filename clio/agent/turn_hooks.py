"""Where a turn asks a person's hooks, and what their answers do to it."""

from collections.abc import Callable, Sequence

from clio.context.request_builder import render_fragment
from clio.errors import ToolFailed
from clio.hooks.hooks import MAX_CONTINUATIONS, Heard, Hooks
from clio.messages import ToolCall
from clio.prompt_files import fill_prompt
from clio.sessions.session import Session
from clio.tokens import TokenEstimator
from clio.tools.base import ToolOutput


class TurnHooks:
    """The hooks of one session's turns."""

    def __init__(self, hooks: Hooks, session: Session, estimator: TokenEstimator) -> None:
        self._hooks = hooks
        self._session = session
        self._estimator = estimator
        self._sent_on = 0

    async def refusal(self, words: str) -> str:
        """Why a turn does not begin with these words; "" where it does."""
        self._sent_on = 0
        return await self._hooks.user_prompt(self._session.id, words, resumed=bool(self._session.messages))

    async def before_trim(self, will_trim: Callable[[], bool]) -> str:
        """Where messages are about to leave the window: what hooks want kept, to be said behind them."""
        if not self._hooks.has("before_trim") or not will_trim():
            return ""
        heard = await self._hooks.before_trim(self._session.id)
        return self._rendered(heard)

    async def sends_on(self, text: str) -> str:
        """What an agent that is done with `text` is told where a hook wants more of it; twice a turn at most."""
        if self._sent_on >= MAX_CONTINUATIONS or not self._hooks.has("stop"):
            return ""
        heard = await self._hooks.stop(self._session.id, text, self._sent_on)
        if not heard.refusal:
            return ""
        self._sent_on += 1
        return fill_prompt("context/hook_stop", reason=heard.refusal)

    async def before_tool(self, call: ToolCall, title: str) -> str:
        """Raises ToolFailed where a hook refuses the call; what hooks want known of it, to be said below its result."""
        heard = await self._hooks.before_tool(self._session.id, call.name, call.arguments, title)
        if heard.refusal:
            raise ToolFailed(f"a hook of the user's refused this: {heard.refusal}")
        return self._rendered(heard)

    async def after_tool(self, call: ToolCall, output: ToolOutput, files_changed: Sequence[str]) -> str:
        """What hooks say of a result, to be said below it."""
        if not self._hooks.has("after_tool"):
            return ""
        heard = await self._hooks.after_tool(
            self._session.id, call.name, call.arguments, ok=output.ok, result=output.text, files_changed=files_changed
        )
        refusal = f"A hook of the user's objects to this result: {heard.refusal}" if heard.refusal else ""
        return "\n".join(filter(None, (refusal, self._rendered(heard))))

    def _rendered(self, heard: Heard) -> str:
        return "\n".join(filter(None, (render_fragment(part, self._estimator) for part in heard.notes)))
