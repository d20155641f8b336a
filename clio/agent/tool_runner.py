"""One tool call from the model's text to its result: parse, prepare, judge, ask, run hooks, run, redact, shorten."""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, structs

from clio.agent.runtime import Runtime, ToolLimit
from clio.agent.turn_files import TurnFiles
from clio.agent.user_interface import NEEDS_APPROVAL, ToolFinished, ToolProgress, ToolStarted, UserInterface
from clio.checks.edit_checks import EditChecks
from clio.context.inert import said_by_a_tool
from clio.context.request_builder import render_fragment
from clio.context.workspace_state import files_may_have_changed
from clio.errors import ApprovalNeeded, ClioError, ToolFailed
from clio.hooks.hooks import MAX_CONTINUATIONS, Heard, Hooks
from clio.images import Picture
from clio.messages import ImagePart, ToolCall, ToolMessage
from clio.prompt_files import fill_prompt
from clio.security.actions import Action, FetchUrl, FileChange, Internal, ReadFiles, RunCommand
from clio.security.approval import Allow, Answer, ApprovalRequest, Ask, Deny, Verdict
from clio.sessions.session import Session
from clio.text.formatting import format_count, truncate, truncate_line
from clio.tokens import TokenEstimator
from clio.tools.base import PageSize, Prepared, Tool, ToolOutput, Unasked


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


MAX_RESULT_CHARS = 24_000
_SCREEN_LINES = 8
_FAILURE_LINES = 3
_TITLE_CHARS = 120
_CONFINED = "commands that run without a question can't write files and have no network or secrets"


class Outcome(Struct, frozen=True, kw_only=True):
    """A call's result and what it changed on disk."""

    message: ToolMessage
    changed: tuple[FileChange, ...] = ()
    approval_missing: bool = False


class _Approved(Struct, frozen=True, kw_only=True):
    """What may be done. asked: a person said so. note: for the model, where they made something else of it.

    unasked: how it is to be confined, where it runs only because it reads.
    """

    prepared: Prepared
    asked: bool = False
    note: str = ""
    unasked: Unasked | None = None


class ToolSet(Struct, frozen=True, kw_only=True):
    """The tools of a conversation. left_out: names of those the window has no space for.

    page: how many characters of a result are shown.
    """

    tools: Mapping[str, Tool]
    left_out: Collection[str] = ()
    page: PageSize


class CallSupport(Struct, frozen=True, kw_only=True):
    """What a runner consults around each call of a conversation; a command run for the user has none of it.

    turn_files: told of files before a call changes them. limit: which tools the turn may use. hooks: the user's
    commands around a call. checks: told of files before they are changed. note_below: text for below the result of an
    action; may read files. alone: held while a call changes something, by all runners that work at the same time.
    """

    turn_files: TurnFiles
    limit: ToolLimit
    hooks: TurnHooks
    checks: EditChecks
    note_below: Callable[[Action], str]
    alone: asyncio.Lock | None = None


class ToolRunner:
    """Runs the tool calls of one session. Questions to the user come one at a time, whatever runs beside them.

    takes_images: whether the model is shown the pictures of results.
    """

    def __init__(
        self,
        runtime: Runtime,
        session: Session,
        ui: UserInterface,
        offered: ToolSet,
        *,
        support: CallSupport | None = None,
        takes_images: bool = False,
    ) -> None:
        self._left_out = offered.left_out
        self._takes_images = takes_images
        self.tools = offered.tools
        self._session = session
        self._workspace = runtime.workspace
        self._policy = runtime.policy
        self._ui = ui
        self._redactor = runtime.redactor
        self._emit = ui.emit
        self._remember_rule = runtime.remember_rule
        self._support = support
        self._now = runtime.now
        self.page = offered.page
        self._began: dict[str, float] = {}
        self._preparing = asyncio.Lock()
        self._asking = asyncio.Lock()

    def is_read_only(self, call: ToolCall) -> bool:
        """Whether the call may run beside others."""
        tool = self.tools.get(call.name)
        return tool is not None and tool.read_only

    async def run(self, call: ToolCall, *, cut_off: bool = False) -> Outcome:
        """The call's outcome; errors become results the model can act on, only cancellation passes through.

        cut_off: the answer that held the call ended at the output limit.
        """
        from clio.agent.tool_calls import parse_arguments

        title = call.name
        started = time.perf_counter()
        missing = asked = False
        below = ""
        try:
            async with self._preparing:  # in the order of the calls, so that the screen shows them so
                tool = self._find(call.name)
                arguments = parse_arguments(call.arguments, tool.args, cut_off=cut_off)
                prepared = await asyncio.to_thread(tool.prepare, arguments)
                title = shorten(self._redactor.redact(prepared.title).text)
                self._emit(ToolStarted(call_id=call.id, name=call.name, title=title))
            notes: list[str] = []
            if (support := self._support) is not None:
                support.limit.check(call.name, prepared.action)
                notes.append(await support.hooks.before_tool(call, title))
            approved = await self._approve(prepared)
            asked = approved.asked
            started = time.perf_counter()
            if asked:  # what shows how long a call takes begins to count here
                self._emit(ToolProgress(call_id=call.id, text=""))
            output = await self._carry_out(call, approved.prepared, approved.unasked)
            if output.refused:
                output, asked, missing = await self._offer_unconfined(call, output.again or prepared, output)
            if approved.note:
                output = structs.replace(output, text=f"{output.text}\n\n{approved.note}")
            if support is not None:
                notes.append(await asyncio.to_thread(support.note_below, approved.prepared.action))
                notes.append(await support.hooks.after_tool(call, output, self._names(output)))
            below = "\n\n".join(filter(None, notes))
        except ApprovalNeeded as error:
            output, missing = ToolOutput(text=str(error), summary=NEEDS_APPROVAL, ok=False), True
        except ClioError as error:
            output = ToolOutput(text=str(error), summary=_first_line(str(error)), ok=False)
        except Exception as error:  # the first of the two doors: a tool's bug must not end the turn
            output = _bug(call.name, error)
        seconds = time.perf_counter() - self._began.pop(call.id, started)
        return self._finish(call, title, output, seconds, asked=asked, missing=missing, below=below)

    async def _carry_out(
        self, call: ToolCall, prepared: Prepared, unasked: Unasked | None, *, may_change: bool = False
    ) -> ToolOutput:
        """Do it. may_change: although the policy judged that it only reads."""
        alone = self._support.alone if self._support is not None else None
        looks = not may_change and (alone is None or await asyncio.to_thread(self._only_looks, prepared.action))
        if alone is None or looks:
            return await self._do(call, prepared, unasked, may_change=may_change)
        async with alone:
            return await self._do(call, prepared, unasked, may_change=may_change)

    async def _offer_unconfined(
        self, call: ToolCall, prepared: Prepared, output: ToolOutput
    ) -> tuple[ToolOutput, bool, bool]:
        """Ask whether a command that failed because it was confined may run unconfined, and run it if so.

        The output, whether the user said yes, and whether no one could be asked. Raises ToolError.
        """
        try:
            approved = await self._settle_verdict(
                prepared, lambda: self._policy.judge_unconfined(prepared.action, output.refused)
            )
        except ApprovalNeeded as error:
            return _add_line(output, f"[{_CONFINED}; it {output.refused}. {error}]", NEEDS_APPROVAL), False, True
        except ToolFailed as error:
            return _add_line(output, f"[{_CONFINED}; it {output.refused}. {error}]"), False, False
        return await self._carry_out(call, approved.prepared, None, may_change=True), approved.asked, False

    def _only_looks(self, action: Action) -> bool:
        if isinstance(action, RunCommand):
            return self._policy.only_reads(action)
        return isinstance(action, ReadFiles | FetchUrl | Internal)

    async def _do(self, call: ToolCall, prepared: Prepared, unasked: Unasked | None, *, may_change: bool) -> ToolOutput:
        def tell(text: str) -> None:
            self._emit(ToolProgress(call_id=call.id, text=text))

        try:
            if self._support is not None:
                await self._support.turn_files.before(prepared.action, may_change=may_change)
                await self._support.checks.before_change(prepared.action)
            self._began[call.id] = time.perf_counter()  # not the time the user took to allow it
            if unasked is not None and prepared.run_confined is not None:
                return await prepared.run_confined(tell, unasked)
            return await prepared.run(tell)
        finally:
            if not isinstance(prepared.action, ReadFiles | FetchUrl | Internal):
                files_may_have_changed()
            if self._support is not None:
                self._support.turn_files.after()

    def _stored(self, pictures: tuple[Picture, ...]) -> tuple[ImagePart, ...]:
        """The pictures as parts of a message, their bytes kept in the session."""
        return tuple(
            ImagePart(
                blob=self._session.write_data(picture.data),
                media_type=picture.media_type,
                name=self._redactor.redact(picture.name).text,
                size=len(picture.data),
            )
            for picture in pictures
        )

    def _names(self, output: ToolOutput) -> tuple[str, ...]:
        return tuple(self._workspace.display(path) for path in changed_paths(output.changed))

    def _find(self, name: str) -> Tool:
        tool = self.tools.get(name)
        if tool is None and name in self._left_out:
            raise ToolFailed(f"the tool {name!r} is left out, because the window is too small for it; do without it")
        if tool is None:
            import difflib

            near = difflib.get_close_matches(name, self.tools, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(sorted(self.tools))}"
            raise ToolFailed(f"there is no tool {name!r}; {hint}")
        return tool

    async def _approve(self, prepared: Prepared) -> _Approved:
        """What may be done: the call, or what a person made of it.

        Raises ToolFailed if it may not, ApprovalNeeded if nobody is there to say.
        """
        return await self._settle_verdict(prepared, lambda: self._policy.judge(prepared.action))

    async def _settle_verdict(self, prepared: Prepared, judge: Callable[[], Verdict]) -> _Approved:
        if not isinstance(first := judge(), Ask):
            return self._allowed(prepared, first)
        async with self._asking:
            verdict = judge()  # the answer before this one may have settled it
            if not isinstance(verdict, Ask):
                return self._allowed(prepared, verdict)
            request = ApprovalRequest(title=prepared.title, action=prepared.action, verdict=verdict)
            answer = await self._ui.approve(request)
            if answer.kind == "changed":
                return await self._revise(prepared, answer)
            self._obey(answer, request)
            return _Approved(prepared=prepared, asked=True)

    def _allowed(self, prepared: Prepared, verdict: Allow | Deny) -> _Approved:
        self._settle(verdict)
        if isinstance(verdict, Allow) and verdict.confined:
            return _Approved(prepared=prepared, unasked=Unasked(network=verdict.network))
        return _Approved(prepared=prepared)

    async def _revise(self, prepared: Prepared, answer: Answer) -> _Approved:
        """The call as the person wants it, judged anew. Raises ToolError."""
        if prepared.revise is None:
            raise ToolFailed("this call cannot be done in part; it was not done")
        revised = await asyncio.to_thread(prepared.revise, answer.changes)
        verdict = self._policy.judge(revised.action)
        if isinstance(verdict, Deny):
            self._settle(verdict)
        from clio.agent.tool_calls import revision_note

        note = revision_note(prepared.action, answer, self._workspace.display)
        return _Approved(prepared=revised, asked=True, note=note)

    def _settle(self, verdict: Allow | Deny) -> None:
        if isinstance(verdict, Deny):
            raise ToolFailed(f"not allowed: {verdict.reason}")

    def _obey(self, answer: Answer, request: ApprovalRequest) -> None:
        match answer.kind:
            case "no" if answer.interrupted:
                raise ToolFailed("interrupted by the user, who did not answer")
            case "no":
                raise ToolFailed("the user said no" + (f": {answer.reason}" if answer.reason else ""))
            case "session":
                self._policy.allow_for_session(request.action)
            case "always":
                if request.verdict.rule is not None:
                    self._policy.add_rule(request.verdict.rule)
                    self._remember_rule(request.verdict.rule)
            case "once" | "changed":
                pass

    def _finish(
        self,
        call: ToolCall,
        title: str,
        output: ToolOutput,
        seconds: float,
        *,
        asked: bool,
        missing: bool,
        below: str,
    ) -> Outcome:
        from clio.agent.tool_calls import note_deeds
        from clio.tools.files.diff import diff_change
        from clio.tools.output import preview

        images = self._stored(output.images) if self._takes_images else ()
        unseen = f"{output.text}\n{_UNSEEN}" if output.images and not images else output.text
        safe = self._redactor.message(said_by_a_tool(unseen))
        text = safe.text
        handle = self._session.write_blob(text) if len(text) > self.page.chars else None
        message = ToolMessage(
            tool_call_id=call.id,
            name=call.name,
            content="\n\n".join(filter(None, (preview(text, self.page.chars, handle), below))),
            images=images,
            ok=output.ok,
            summary=self._redactor.redact(output.summary).text + _replaced(sum(safe.counts.values())),
            seconds=round(seconds, 3),
            blob=handle,
            deeds=note_deeds(output, self._workspace.display, lambda text: self._redactor.redact(text).text),
            created=self._now(),
        )
        if output.kept_as is not None and handle is None:
            output.kept_as(message.id)
        self._emit(
            ToolFinished(
                call_id=call.id,
                name=call.name,
                title=title,
                ok=output.ok,
                summary=message.summary,
                seconds=message.seconds,
                preview=preview_lines(message.content, ok=output.ok),
                diff=self._redactor.redact(
                    "".join(diff_change(change, self._workspace.display).text for change in output.changed)
                ).text,
                asked=asked,
                files_changed=self._names(output),
            )
        )
        return Outcome(message=message, changed=output.changed, approval_missing=missing)


_UNSEEN = (
    "[This model takes no pictures, so what is on it cannot be seen here. Say so if it matters; the user can switch to "
    "another model with /model.]"
)


def _add_line(output: ToolOutput, line: str, summary: str = "") -> ToolOutput:
    return structs.replace(output, text=f"{output.text}\n{line}", summary=summary or output.summary, refused="")


def _replaced(secrets: int) -> str:
    return f", {format_count(secrets, 'secret')} replaced" if secrets else ""


def preview_lines(text: str, *, ok: bool) -> str:
    """What a person is shown of a result: its beginning; of a long failure its end, where commands say why."""
    lines = text.splitlines()
    if ok or len(lines) <= _SCREEN_LINES:
        return "\n".join(lines[:_SCREEN_LINES])
    return "\n".join([line for line in lines if line.strip()][-_FAILURE_LINES:])


def shorten(title: str) -> str:
    """A title on one line of at most 120 characters."""
    return truncate_line(title, _TITLE_CHARS)


def changed_paths(changes: tuple[FileChange, ...]) -> list[Path]:
    """Every path the changes touch, both names of a moved file, in order."""
    return [path for change in changes for path in (change.path, change.moved_to) if path is not None]


def _first_line(text: str) -> str:
    """What went wrong in at most 120 characters; a screen that shows the whole knows its beginning again."""
    line = text.strip().partition("\n")[0].rstrip()
    return truncate(line, _TITLE_CHARS) or "failed"


def _bug(name: str, error: Exception) -> ToolOutput:
    return ToolOutput(
        text=f"{name} failed by a fault of its own ({type(error).__name__}: {error}); go on without it",
        summary=f"internal error: {type(error).__name__}",
        ok=False,
    )
