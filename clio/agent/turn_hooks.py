"""Run the user's hooks at the events of a turn."""

from collections.abc import Callable, Sequence

from clio.context.request_builder import render_fragment
from clio.errors import CallRefused
from clio.hooks.hooks import MAX_CONTINUATIONS, Hooks, HookVerdict
from clio.messages import ToolCall
from clio.prompt_files import fill_prompt
from clio.sessions.session import Session
from clio.text.translation import english, tr
from clio.tokens import TokenEstimator
from clio.tools.base import ToolOutput


class TurnHooks:
    """Runs the hooks of one session's turns."""

    def __init__(self, hooks: Hooks, session: Session, estimator: TokenEstimator) -> None:
        self._hooks = hooks
        self._session = session
        self._estimator = estimator
        self._continuations = 0

    async def find_refusal(self, text: str) -> str:
        """Return why a hook refuses to begin a turn with this text; "" if none does."""
        self._continuations = 0
        return await self._hooks.before_prompt(self._session.id, text, resumed=bool(self._session.messages))

    async def before_trim(self, will_trim: Callable[[], bool]) -> str:
        """Return notes of hooks for the model after a trim, if the next request will trim the window."""
        if not self._hooks.has_hook("before_trim") or not will_trim():
            return ""
        verdict = await self._hooks.before_trim(self._session.id)
        return self._render_notes(verdict)

    async def find_continuation(self, text: str) -> str:
        """Return the message that continues a finished turn because a hook asks for more; "" otherwise.

        At most `MAX_CONTINUATIONS` times in a turn.
        """
        if self._continuations >= MAX_CONTINUATIONS or not self._hooks.has_hook("stop"):
            return ""
        verdict = await self._hooks.stop(self._session.id, text, self._continuations)
        if not verdict.refusal:
            return ""
        self._continuations += 1
        return fill_prompt("context/hook_stop", reason=english(verdict.refusal))

    async def before_tool(self, call: ToolCall, title: str) -> str:
        """Return notes of hooks to put below the result of a call. Raises ToolFailed if a hook refuses the call."""
        verdict = await self._hooks.before_tool(self._session.id, call.name, call.arguments, title)
        if verdict.refusal:
            raise CallRefused(tr("one of the user's hooks blocked this: {refusal}", refusal=verdict.refusal))
        return self._render_notes(verdict)

    async def after_tool(self, call: ToolCall, output: ToolOutput, files_changed: Sequence[str]) -> str:
        """Return notes of hooks about a result, to be put below it."""
        if not self._hooks.has_hook("after_tool"):
            return ""
        verdict = await self._hooks.after_tool(
            self._session.id, call.name, call.arguments, ok=output.ok, result=output.text, files_changed=files_changed
        )
        refusal = f"A hook of the user objects to this result: {english(verdict.refusal)}" if verdict.refusal else ""
        return "\n".join(filter(None, (refusal, self._render_notes(verdict))))

    def _render_notes(self, verdict: HookVerdict) -> str:
        return "\n".join(filter(None, (render_fragment(part, self._estimator) for part in verdict.notes)))
