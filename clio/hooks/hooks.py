"""A person's own commands at the turns of clio's work: asked in their order, each may say no or add something to know.

A hook can only narrow: what it lets pass is still judged and, where it must be, asked about. What it prints is data for
the model, fenced, bounded and with its source.
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

if TYPE_CHECKING:
    from clio.hooks.hook_process import HookAnswer

CAP_TOKENS = 1_000
"""Of what one hook adds."""
MAX_RESULT_CHARS = 20_000
"""Of a tool's result, as a hook is given it."""
MAX_CONTINUATIONS = 2
"""So often in one turn a hook may send the agent on that would have stopped."""
TAG = "hook_note"


class Heard(Struct, frozen=True, kw_only=True):
    """What the hooks of one event came to. refusal: the first no, with who said it; "" where none did."""

    refusal: str = ""
    notes: tuple[Fragment, ...] = ()


NOTHING = Heard()


class Hooks:
    """The hooks in force, for one running clio.

    env: of the commands, on top of which stand CLIO_EVENT, CLIO_PROJECT and CLIO_SESSION. clean: replaces secrets, in
    what hooks are given and in what they say. tell: shows a line; its second value is whether it warns.
    """

    def __init__(
        self,
        hooks: Sequence[Hook] = (),
        *,
        project: Path = Path(),
        env: Mapping[str, str] | None = None,
        clean: Callable[[str], str] = str,
        tell: Callable[[str, bool], None] = lambda text, warning: None,
    ) -> None:
        self._hooks = tuple(hooks)
        self._project = project
        self._env = env or {}
        self._clean = clean
        self._tell = tell
        self._waiting: list[Fragment] = []
        self._started: set[str] = set()
        self._ended: list[str] = []

    def has(self, event: str) -> bool:
        """Whether anything is to run at this event."""
        return any(hook.event == event for hook in self._hooks)

    async def user_prompt(self, session: str, text: str, *, resumed: bool) -> str:
        """Before a person's words are taken; the reason for refusing them, "" for none.

        The first of a session comes after `session_start`. What hooks add waits for `take_notes`.
        """
        self._waiting.clear()
        if self._hooks and session not in self._started:
            self._started.add(session)
            began = await self._fire("session_start", session, {"resumed": resumed})
            self._waiting.extend(began.notes)
        heard = await self._fire("user_prompt", session, {"prompt": text})
        self._waiting.extend(heard.notes)
        return heard.refusal

    def take_notes(self) -> list[Fragment]:
        """What was added since the last time, for the context of the turn that begins."""
        notes, self._waiting = self._waiting, []
        return notes

    async def before_tool(self, session: str, tool: str, arguments: str, title: str) -> Heard:
        """Before a call is judged. arguments: its JSON, as the model wrote it."""
        return await self._fire("before_tool", session, {"title": title, **_call(tool, arguments)}, tool)

    async def after_tool(
        self, session: str, tool: str, arguments: str, *, ok: bool, result: str, files_changed: Sequence[str]
    ) -> Heard:
        """After a call was carried out. A no does not take it back; the model is told of it."""
        shown = result if len(result) <= MAX_RESULT_CHARS else result[:MAX_RESULT_CHARS] + "…"
        facts = {"ok": ok, "result": shown, "files_changed": list(files_changed)}
        return await self._fire("after_tool", session, {**_call(tool, arguments), **facts}, tool)

    async def before_trim(self, session: str) -> Heard:
        """Before messages leave the window, which nothing can refuse: what hooks add stays in it."""
        return await self._fire("before_trim", session, {})

    async def stop(self, session: str, text: str, continued: int) -> Heard:
        """When the agent is done. A no sends it on. continued: how often one did so in this turn."""
        return await self._fire("stop", session, {"text": text, "continued": continued})

    def leave(self, session: str) -> None:
        """A session is left; its hooks run with the next `finish`. One without a turn has none."""
        if session in self._started and session not in self._ended:
            self._started.discard(session)
            self._ended.append(session)

    async def finish(self) -> None:
        """Run the hooks of the sessions that were left."""
        while self._ended:
            await self._fire("session_end", self._ended.pop(0), {})

    async def _fire(self, event: str, session: str, facts: Mapping[str, object], tool: str = "") -> Heard:
        asked = [hook for hook in self._hooks if hook.event == event and hook.matches_tool(tool)]
        if not asked:
            return NOTHING
        given = {"event": event, "session": session, "project": str(self._project), **facts}
        data = msgspec.json.encode(_cleaned(given, self._clean))
        env = {**self._env, "CLIO_EVENT": event, "CLIO_PROJECT": str(self._project), "CLIO_SESSION": session}
        notes: list[Fragment] = []
        for hook in asked:
            answer = await self._ask(hook, data, env)
            if answer.context:
                notes.append(_note(hook, self._clean(answer.context)))
            if answer.blocks:
                refusal = f"{self._clean(answer.blocks)} ({hook.where})"
                return Heard(refusal=refusal, notes=tuple(notes))
        return Heard(notes=tuple(notes))

    async def _ask(self, hook: Hook, data: bytes, env: Mapping[str, str]) -> "HookAnswer":
        from clio.hooks.hook_process import HookAnswer, read_answer, run_hook

        try:
            ended = await run_hook(hook.run, data, cwd=self._project, env=env, timeout_s=hook.timeout_s)
        except ToolFailed as error:
            answer = HookAnswer(problem=str(error))
        else:
            answer = read_answer(ended, hook.timeout_s)
        about = f"the hook {hook.where} at {hook.event}"
        if answer.problem:
            self._tell(f"{about} {self._clean(answer.problem)}; the work goes on without it", True)
        elif answer.blocks:
            self._tell(f"{about} says no: {' '.join(self._clean(answer.blocks).split())[:200]}", True)
        elif answer.context:
            self._tell(f"{about} adds {len(answer.context):,} characters", False)
        return answer


def _note(hook: Hook, text: str) -> Fragment:
    reason = f"a hook at {hook.event} printed it"
    return Fragment(name=TAG, text=text, source=hook.where, reason=reason, cap_tokens=CAP_TOKENS)


def _call(tool: str, arguments: str) -> dict[str, object]:
    try:
        values: object = decode_json(arguments) if arguments.strip() else {}
    except (msgspec.DecodeError, RecursionError):
        values = arguments  # as the model wrote them; the tool will say what is wrong
    return {"tool": tool, "arguments": values}


def _cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    """The same with each text cleaned; JSON is never cut by it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {key: _cleaned(one, clean) for key, one in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [_cleaned(one, clean) for one in value]  # pyright: ignore[reportUnknownVariableType]
    return value
