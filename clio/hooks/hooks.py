"""The user's own commands that run at events of a session; each may refuse, or add text for the model.

A hook can only restrict: what it allows is still judged by the policy, and asked about if necessary. Its output is data
for the model: in tags, bounded, with its source.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from clio.config.loaded import Hook
from clio.errors import ToolFailed
from clio.messages import Fragment
from clio.text.json_data import decode_json
from clio.text.translation import tr

if TYPE_CHECKING:
    from clio.hooks.hook_process import HookAnswer

MAX_NOTE_TOKENS = 1_000
"""Limit for the text one hook adds."""
MAX_RESULT_CHARS = 20_000
"""Limit for a tool's result as it is passed to a hook."""
MAX_CONTINUATIONS = 2
"""How many times per turn a hook may make a finished agent continue."""
HOOK_NOTE_TAG = "hook_note"


class HookVerdict(Struct, frozen=True, kw_only=True):
    """The combined result of the hooks of one event. refusal: the first refusal and which hook gave it, or ""."""

    refusal: str = ""
    notes: tuple[Fragment, ...] = ()


NO_VERDICT = HookVerdict()


class Hooks:
    """The hooks of one clio process.

    Args:
        env: environment of the commands; CLIO_EVENT, CLIO_PROJECT and CLIO_SESSION are added.
        redact: replaces secrets, in what hooks receive and in what they print.
        tell: shows a line; its second argument is whether it is a warning.
    """

    def __init__(
        self,
        hooks: Sequence[Hook] = (),
        *,
        project: Path = Path(),
        env: Mapping[str, str] | None = None,
        redact: Callable[[str], str] = str,
        tell: Callable[[str, bool], None] = lambda text, warning: None,
    ) -> None:
        self._hooks = tuple(hooks)
        self._project = project
        self._env = env or {}
        self._redact = redact
        self._tell = tell
        self._pending_notes: list[Fragment] = []
        self._started_sessions: set[str] = set()
        self._ended_sessions: list[str] = []

    def has_hook(self, event: str) -> bool:
        """Whether any hook runs at this event."""
        return any(hook.event == event for hook in self._hooks)

    async def before_prompt(self, session: str, text: str, *, resumed: bool) -> str:
        """Run hooks before a user message is accepted; return the reason for refusing it, or "".

        Before the first message of a session, the hooks of `session_start` run. Text that hooks add waits for
        `pop_notes`.
        """
        self._pending_notes.clear()
        # At the first message and not when clio starts, so that looking around runs no command.
        if self._hooks and session not in self._started_sessions:
            self._started_sessions.add(session)
            start = await self._run_event("session_start", session, {"resumed": resumed})
            self._pending_notes.extend(start.notes)
        verdict = await self._run_event("user_prompt", session, {"prompt": text})
        self._pending_notes.extend(verdict.notes)
        return verdict.refusal

    def pop_notes(self) -> list[Fragment]:
        """Return the text added since the last call, for the context of the turn that begins."""
        notes, self._pending_notes = self._pending_notes, []
        return notes

    async def before_tool(self, session: str, tool: str, arguments: str, title: str) -> HookVerdict:
        """Run hooks before a call is judged. arguments: its JSON as the model wrote it."""
        return await self._run_event("before_tool", session, {"title": title, **_describe_call(tool, arguments)}, tool)

    async def after_tool(
        self, session: str, tool: str, arguments: str, *, ok: bool, result: str, files_changed: Sequence[str]
    ) -> HookVerdict:
        """Run hooks after a call. A refusal does not undo the call, but the model is informed of it."""
        truncated = result if len(result) <= MAX_RESULT_CHARS else result[:MAX_RESULT_CHARS] + "…"
        outcome = {"ok": ok, "result": truncated, "files_changed": list(files_changed)}
        return await self._run_event("after_tool", session, {**_describe_call(tool, arguments), **outcome}, tool)

    async def before_trim(self, session: str) -> HookVerdict:
        """Run hooks before messages leave the window. They cannot refuse; text they add stays in the window."""
        return await self._run_event("before_trim", session, {})

    async def stop(self, session: str, text: str, continued: int) -> HookVerdict:
        """Run hooks when the agent is done. A refusal makes it continue.

        continued: how often a hook has already made it continue in this turn.
        """
        return await self._run_event("stop", session, {"text": text, "continued": continued})

    def end_session(self, session: str) -> None:
        """Record that a session has ended; its hooks run in `run_session_end_hooks`.

        Does nothing for a session without a turn.
        """
        if session in self._started_sessions and session not in self._ended_sessions:
            self._started_sessions.discard(session)
            self._ended_sessions.append(session)

    async def run_session_end_hooks(self) -> None:
        """Run the hooks of the sessions that have ended."""
        while self._ended_sessions:
            await self._run_event("session_end", self._ended_sessions.pop(0), {})

    async def _run_event(self, event: str, session: str, facts: Mapping[str, object], tool: str = "") -> HookVerdict:
        matching = [hook for hook in self._hooks if hook.event == event and hook.matches_tool(tool)]
        if not matching:
            return NO_VERDICT
        payload = {"event": event, "session": session, "project": str(self._project), **facts}
        data = msgspec.json.encode(_redact_nested(payload, self._redact))
        env = {**self._env, "CLIO_EVENT": event, "CLIO_PROJECT": str(self._project), "CLIO_SESSION": session}
        notes: list[Fragment] = []
        for hook in matching:
            answer = await self._ask(hook, data, env)
            if answer.context:
                notes.append(_make_note(hook, self._redact(answer.context)))
            if answer.refusal:
                # The first refusal decides; later hooks are not run, so they cannot act on a call that does not happen.
                refusal = f"{self._redact(answer.refusal)} ({hook.where})"
                return HookVerdict(refusal=refusal, notes=tuple(notes))
        return HookVerdict(notes=tuple(notes))

    async def _ask(self, hook: Hook, data: bytes, env: Mapping[str, str]) -> "HookAnswer":
        from clio.hooks.hook_process import HookAnswer, read_answer, run_hook

        env = {**env, **hook.env}
        try:
            if hook.is_claude_format:
                from clio.hooks.claude_format import run_claude_hook

                answer = await run_claude_hook(hook, data, cwd=self._project, env=env)
            else:
                result = await run_hook(hook.run, data, cwd=self._project, env=env, timeout_s=hook.timeout_s)
                answer = read_answer(result, hook.timeout_s)
        except ToolFailed as error:
            answer = HookAnswer(problem=str(error))
        subject = tr("the hook {where} at {event}", where=hook.where, event=hook.event)
        if answer.problem:
            self._tell(
                tr(
                    "{subject} {problem}; clio continues without it",
                    subject=subject,
                    problem=self._redact(answer.problem),
                ),
                True,
            )
        elif answer.refusal:
            self._tell(
                tr(
                    "{subject} blocked this: {reason}",
                    subject=subject,
                    reason=" ".join(self._redact(answer.refusal).split())[:200],
                ),
                True,
            )
        elif answer.context:
            self._tell(tr("{subject} adds {count:,} characters", subject=subject, count=len(answer.context)), False)
        return answer


def _make_note(hook: Hook, text: str) -> Fragment:
    reason = f"a hook at {hook.event} printed it"
    return Fragment(name=HOOK_NOTE_TAG, text=text, source=hook.where, reason=reason, cap_tokens=MAX_NOTE_TOKENS)


def _describe_call(tool: str, arguments: str) -> dict[str, object]:
    try:
        values: object = decode_json(arguments) if arguments.strip() else {}
    except (msgspec.DecodeError, RecursionError):
        values = arguments  # invalid JSON is passed on as written; the tool reports the error
    return {"tool": tool, "arguments": values}


def _redact_nested(value: Any, redact: Callable[[str], str]) -> Any:
    """Return the value with `redact` applied to each string in it; it stays valid JSON."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _redact_nested(item, redact) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [_redact_nested(item, redact) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value
