"""One tool call from the model's text to its result: parse, prepare, judge, ask, run hooks, run, redact, shorten."""

import asyncio
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Literal, cast

import msgspec
from msgspec import Struct, structs

from clio.agent.runtime import Runtime, ToolLimit
from clio.agent.tool_arguments import parse_arguments
from clio.agent.turn_files import TurnFileRecorder
from clio.agent.turn_hooks import TurnHooks
from clio.agent.user_interface import NEEDS_APPROVAL, ToolFinished, ToolProgress, ToolStarted, UserInterface
from clio.checks.edit_checks import EditChecks
from clio.context.workspace_state import invalidate_working_trees
from clio.errors import ApprovalNeeded, CallRefused, ClioError, ToolError, ToolFailed, WrongArguments
from clio.images import Picture
from clio.messages import ChangedFile, Commit, ImagePart, SideEffects, ToolCall, ToolMessage
from clio.security.actions import Action, ChangeFiles, FetchUrl, FileChange, ReadFiles, RunCommand, TouchOwnState
from clio.security.approval import Allow, Answer, ApprovalRequest, Ask, Declined, Deny, Verdict
from clio.sessions.session import Session
from clio.text.formatting import truncate, truncate_line
from clio.text.json_data import decode_json
from clio.text.translation import english, tr, tr_count
from clio.text.untrusted_text import neutralize_tool_output
from clio.tools.base import ConfinedRun, FreeArguments, PageSize, PreparedCall, Tool, ToolOutput
from clio.tools.files.diff import diff_change, diff_texts, find_changed_lines


def collect_side_effects(
    output: ToolOutput, display: Callable[[Path], str], redact: Callable[[str], str]
) -> SideEffects:
    """Return the side effects of a call: those its tool reported, and the files it changed.

    Paths are as displayed, and secrets are replaced. Empty for a call without side effects, so that no code has to
    infer them from the arguments.
    """
    reported = output.side_effects or SideEffects()
    return SideEffects(
        changed=tuple(_describe_changed_file(change, display) for change in output.changed) + reported.changed,
        read=reported.read,
        commits=tuple(Commit(hash=commit.hash, subject=redact(commit.subject)) for commit in reported.commits),
        command=redact(reported.command),
        exit_code=reported.exit_code,
        question=redact(reported.question),
        answer=redact(reported.answer),
        memories=reported.memories,  # memory stores no secrets
    )


def _describe_changed_file(change: FileChange, display: Callable[[Path], str]) -> ChangedFile:
    moved_to = display(change.moved_to) if change.moved_to else ""
    lines = find_changed_lines(change.before, change.after) if change.before is not None and change.after else ()
    return ChangedFile(path=display(change.path), kind=change.kind, moved_to=moved_to, lines=lines)


_MAX_DIFF_ROWS = 40
"""Rows of a diff in a note to the model."""
_MAX_ROW_CHARS = 300
"""Characters of one row."""


def render_revision_note(proposed: Action, answer: Answer, display: Callable[[Path], str]) -> str:
    """Return the note below a result whose change the user edited or declined in part, or "".

    At most 40 rows are shown for each file.

    Args:
        display: returns a path as it is shown to the user.
    """
    if not isinstance(proposed, ChangeFiles):
        return ""
    approved = {change.path: change for change in answer.changes}
    paragraphs: list[str] = []
    for change in proposed.changes:
        name, revised = display(change.path), approved.get(change.path)
        declined = next((entry for entry in answer.declined if entry.path == change.path), None)
        if revised is None:
            paragraphs.append(f"The user declined your change of {name}; the file is unchanged.")
        elif change.path in answer.edited:
            paragraphs.append(_describe_edited_change(name, change, revised))
        elif declined is not None:
            paragraphs.append(_describe_declined_hunks(name, declined))
    return "\n".join([*paragraphs, "Continue from the files as they are now."]) if paragraphs else ""


def _describe_edited_change(name: str, proposed: FileChange, revised: FileChange) -> str:
    diff = diff_texts(proposed.after or "", revised.after or "", f"{name} (proposed)", f"{name} (as the user wrote it)")
    heading = (
        f"The user edited your proposal for {name} before allowing it. From your proposal (-) to what was written (+):"
    )
    return "\n".join([heading, *_limit_diff_rows(diff.text, name)])


def _describe_declined_hunks(name: str, declined: Declined) -> str:
    heading = f"The user declined {declined.hunks} of {declined.of} hunks of {name}; not applied:"
    return "\n".join([heading, *_limit_diff_rows(declined.diff, name)])


def _limit_diff_rows(diff: str, name: str) -> Iterator[str]:
    rows = diff.removesuffix("\n").split("\n")
    for row in rows[:_MAX_DIFF_ROWS]:
        yield row if len(row) <= _MAX_ROW_CHARS else f"{row[:_MAX_ROW_CHARS]} [cut]"
    if len(rows) > _MAX_DIFF_ROWS:
        yield f"… {len(rows) - _MAX_DIFF_ROWS:,} more rows; read {name} before you change it again"


MAX_RESULT_CHARS = 24_000
"""Characters of a result that the model receives, about 6,000 tokens; the rest can be read with read_output."""
_PREVIEW_LINES = 8
"""First lines of a result that the event of its call contains."""
_OUTPUT_LINES = 5
"""Lines of a command's output, or of a failure, that the screen shows."""
_MAX_TITLE_CHARS = 120
_CONFINEMENT_NOTE = "commands that run without approval can't write files and have no network or secrets"


CallResult = Literal["ok", "failed", "wrong_arguments", "refused", "needs_approval"]
CallApproval = Literal["none", "rule", "reads", "user"]
"""Why a call was run: it was not, a rule or the mode allows it, it is a command that only reads, the user agreed."""


class CallOutcome(Struct, frozen=True, kw_only=True):
    """The result of a call, and what it changed on disk.

    Attributes:
        approval_missing: tells the user how to allow a call that was refused because no user can be asked, or "".
    """

    message: ToolMessage
    changed: tuple[FileChange, ...] = ()
    approval_missing: str = ""
    result: CallResult = "ok"
    approval: CallApproval = "none"


class _Approved(Struct, frozen=True, kw_only=True):
    """A call that may be run.

    Attributes:
        asked: whether the user allowed it explicitly.
        note: tells the model what the user changed in it.
        unasked: how to confine a command that runs without approval because it only reads; None for other calls.
    """

    prepared: PreparedCall
    asked: bool = False
    note: str = ""
    unasked: ConfinedRun | None = None

    @property
    def kind(self) -> CallApproval:
        """Why it may be run."""
        return "user" if self.asked else "reads" if self.unasked is not None else "rule"


class ToolSet(Struct, frozen=True, kw_only=True):
    """The tools of a conversation.

    Attributes:
        left_out: names of tools that do not fit into the window.
        explain_missing: returns why a tool of clio is not offered here and what to do instead; None for other names.
        page: number of characters of a result that are shown.
    """

    tools: Mapping[str, Tool]
    left_out: Collection[str] = ()
    explain_missing: Callable[[str], tuple[str, str] | None] = lambda name: None
    page: PageSize


class CallSupport(Struct, frozen=True, kw_only=True):
    """What a runner uses around each call of a conversation; a command run for the user has none of it.

    Attributes:
        turn_files: records files before a call changes them.
        limit: which tools the turn may use.
        hooks: the user's commands around a call.
        checks: checks files before they change.
        note_below: returns text to put below the result of an action; may read files.
        hear: called with the reason the user gives for declining a call; it may state a limit.
        exclusive: lock held while a call changes something, shared by all runners that work concurrently.
    """

    turn_files: TurnFileRecorder
    limit: ToolLimit
    hooks: TurnHooks
    checks: EditChecks
    note_below: Callable[[Action], str]
    hear: Callable[[Session, str], None]
    exclusive: asyncio.Lock | None = None


class ToolRunner:
    """Runs the tool calls of one session. The user gets one question at a time, also while calls run concurrently.

    Args:
        takes_images: whether the model receives the pictures of results.
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
        self._explain_missing = offered.explain_missing
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
        self._telemetry = runtime.telemetry
        self.page = offered.page
        self._started_at: dict[str, float] = {}
        self._last_progress: dict[str, str] = {}  # of running calls: the output of one that is interrupted
        self._preparing = asyncio.Lock()
        self._asking = asyncio.Lock()

    def is_read_only(self, call: ToolCall) -> bool:
        """Whether the call may run concurrently with others."""
        tool = self.tools.get(call.name)
        return tool is not None and tool.read_only

    def pop_interrupted_outputs(self) -> dict[str, str]:
        """Remove and return the output of the calls that were interrupted, by call id, without secrets."""
        outputs = {call_id: text for call_id, text in self._last_progress.items() if text.strip()}
        self._last_progress.clear()
        return {
            call_id: self._redactor.message(neutralize_tool_output(text[-self.page.chars :])).text
            for call_id, text in outputs.items()
        }

    async def run(self, call: ToolCall, *, cut_off: bool = False) -> CallOutcome:
        """Run the call and return its outcome. Errors become results the model can act on; only cancellation is raised.

        Args:
            cut_off: whether the answer that contained the call ended at the output limit.
        """
        if self._telemetry is None:
            return await self._run(call, cut_off=cut_off)
        tool = self.tools.get(call.name)
        with self._telemetry.watch_tool(
            tool.name if tool else "",
            is_extension=tool is not None and tool.args is FreeArguments,
            arguments=call.arguments,
        ) as span:
            outcome = await self._run(call, cut_off=cut_off)
            span.add(
                clio__tool__result=outcome.result,
                clio__tool__approval=outcome.approval,
                gen_ai__tool__call__result=outcome.message.content,
            )
            if outcome.result != "ok":
                span.fail(outcome.result)
        return outcome

    async def _run(self, call: ToolCall, *, cut_off: bool) -> CallOutcome:
        title = _make_title(call)
        started = time.perf_counter()
        asked = False
        approval: CallApproval = "none"
        refusal: CallResult | None = None
        approval_missing = notes_below = ""
        try:
            async with self._preparing:  # in the order of the calls, so that they are displayed in that order
                tool = self._find_tool(call.name)
                arguments = parse_arguments(call.arguments, tool.args, cut_off=cut_off)
                prepared = await asyncio.to_thread(tool.prepare, arguments)
                title = shorten_title(self._redactor.redact(prepared.title).text)
                self._emit(ToolStarted(call_id=call.id, name=call.name, title=title))
            notes: list[str] = []
            if (support := self._support) is not None:
                support.limit.check(call.name, prepared.action)
                # Hooks come before the policy, so that the user is not asked about a call that is refused anyway.
                notes.append(await support.hooks.before_tool(call, title))
            approved = await self._approve(prepared)
            asked, approval = approved.asked, approved.kind
            started = time.perf_counter()
            if asked:  # restarts the duration on the screen: the wait for approval does not count
                self._emit(ToolProgress(call_id=call.id, text=""))
            output = await self._run_approved(call, approved.prepared, approved.unasked)
            if output.denied_need:
                output, asked, approval_missing = await self._offer_unconfined(
                    call, output.unconfined_call or prepared, output
                )
            if approved.note:
                output = structs.replace(output, text=f"{output.text}\n\n{approved.note}")
            if support is not None:
                notes.append(await asyncio.to_thread(support.note_below, approved.prepared.action))
                notes.append(await support.hooks.after_tool(call, output, self._list_changed_names(output)))
            notes_below = "\n\n".join(filter(None, notes))
        except ApprovalNeeded as error:
            output = ToolOutput(text=error.for_model, for_user=error.message, summary=tr(NEEDS_APPROVAL), ok=False)
            approval_missing, refusal = error.message, "needs_approval"
        except ClioError as error:
            refusal = (
                "refused"
                if isinstance(error, CallRefused)
                else "wrong_arguments"
                if isinstance(error, WrongArguments)
                else "failed"
            )
            for_user = error.for_user if isinstance(error, ToolError) else error.message
            output = ToolOutput(text=error.for_model, for_user=for_user, summary=_get_first_line(for_user), ok=False)
        except Exception as error:  # one of the two outermost boundaries: a bug in a tool must not end the turn
            output = _make_internal_error(call.name, error)
        seconds = time.perf_counter() - self._started_at.pop(call.id, started)
        self._last_progress.pop(call.id, None)  # it was not interrupted
        outcome = self._make_outcome(
            call, title, output, seconds, asked=asked, approval_missing=approval_missing, notes_below=notes_below
        )
        return structs.replace(
            outcome,
            result=refusal or ("needs_approval" if approval_missing else "ok" if output.ok else "failed"),
            approval="user" if asked else approval,
        )

    async def _run_approved(
        self, call: ToolCall, prepared: PreparedCall, unasked: ConfinedRun | None, *, may_change: bool = False
    ) -> ToolOutput:
        """Run an approved call. may_change: it may change files although the policy judged that it only reads."""
        lock = self._support.exclusive if self._support is not None else None
        # Judging a command may read files, so it is done in a thread.
        only_reads = not may_change and (lock is None or await asyncio.to_thread(self._only_reads, prepared.action))
        if lock is None or only_reads:
            return await self._run_prepared(call, prepared, unasked, may_change=may_change)
        async with lock:
            return await self._run_prepared(call, prepared, unasked, may_change=may_change)

    async def _offer_unconfined(
        self, call: ToolCall, prepared: PreparedCall, output: ToolOutput
    ) -> tuple[ToolOutput, bool, str]:
        """Ask whether a command that failed because of its confinement may run unconfined, and run it if allowed.

        Returns the output, whether the user allowed it, and how to allow it if no one could be asked. Raises
        ToolFailed.
        """
        try:
            approved = await self._settle_verdict(
                prepared, lambda: self._policy.judge_unconfined(prepared.action, output.denied_need)
            )
        except ApprovalNeeded as error:
            return (
                _append_line(
                    output,
                    f"[{_CONFINEMENT_NOTE}; it {english(output.denied_need)}. Only the user can approve that, and no "
                    "user can be asked in this run. Continue without it, and tell the user that it did not work.]",
                    tr(NEEDS_APPROVAL),
                ),
                False,
                error.message,
            )
        except ToolFailed as error:
            return (
                _append_line(output, f"[{_CONFINEMENT_NOTE}; it {english(output.denied_need)}. {error.for_model}]"),
                False,
                "",
            )
        return await self._run_approved(call, approved.prepared, None, may_change=True), approved.asked, ""

    def _only_reads(self, action: Action) -> bool:
        if isinstance(action, RunCommand):
            return self._policy.is_read_only(action)
        return isinstance(action, ReadFiles | FetchUrl | TouchOwnState)

    async def _run_prepared(
        self, call: ToolCall, prepared: PreparedCall, unasked: ConfinedRun | None, *, may_change: bool
    ) -> ToolOutput:
        def show_progress(text: str) -> None:
            self._last_progress[call.id] = text
            self._emit(ToolProgress(call_id=call.id, text=text))

        try:
            if self._support is not None:
                await self._support.turn_files.record_before(prepared.action, may_change=may_change)
                await self._support.checks.before_change(prepared.action)
            self._started_at[call.id] = time.perf_counter()  # excludes the time the user took to approve it
            if unasked is not None and prepared.run_confined is not None:
                return await prepared.run_confined(show_progress, unasked)
            return await prepared.run(show_progress)
        finally:
            if not isinstance(prepared.action, ReadFiles | FetchUrl | TouchOwnState):
                # Also after a failure: a command may have changed files before it failed.
                invalidate_working_trees()
            if self._support is not None:
                self._support.turn_files.record_after()

    def _store_pictures(self, pictures: tuple[Picture, ...]) -> tuple[ImagePart, ...]:
        """Store the bytes of the pictures in the session and return them as parts of a message."""
        return tuple(
            ImagePart(
                blob=self._session.write_data(picture.data),
                media_type=picture.media_type,
                name=self._redactor.redact(picture.name).text,
                size=len(picture.data),
            )
            for picture in pictures
        )

    def _list_changed_names(self, output: ToolOutput) -> tuple[str, ...]:
        return tuple(self._workspace.display(path) for path in list_touched_paths(output.changed))

    def _find_tool(self, name: str) -> Tool:
        tool = self.tools.get(name)
        # Models call tools they know from training; the message tells why this one is missing.
        if tool is None and name in self._left_out:
            raise ToolFailed(
                tr("the tool {name!r} is not available because the window is too small", name=name),
                "continue without it",
            )
        if tool is None and (why := self._explain_missing(name)) is not None:
            raise ToolFailed(*why)
        if tool is None:
            import difflib

            similar = difflib.get_close_matches(name, self.tools, n=1)
            hint = f"did you mean {similar[0]!r}?" if similar else f"the tools are: {', '.join(sorted(self.tools))}"
            raise ToolFailed(
                f"there is no tool {name!r}", hint, for_user=tr("the model asked for a tool that does not exist")
            )
        return tool

    async def _approve(self, prepared: PreparedCall) -> _Approved:
        """Return the call as it may be run: unchanged, or as the user edited it.

        Raises:
            ToolFailed: it is not allowed.
            ApprovalNeeded: no user can be asked.
        """
        return await self._settle_verdict(prepared, lambda: self._policy.judge(prepared.action))

    async def _settle_verdict(self, prepared: PreparedCall, judge: Callable[[], Verdict]) -> _Approved:
        if not isinstance(first := judge(), Ask):
            return self._make_approved(prepared, first)
        async with self._asking:
            verdict = judge()  # the answer to the previous question may have settled this one
            if not isinstance(verdict, Ask):
                return self._make_approved(prepared, verdict)
            wider_modes = self._policy.list_wider_modes(prepared.action) if self._ui.never_asks else ()
            request = ApprovalRequest(
                title=prepared.title, action=prepared.action, verdict=verdict, wider_modes=wider_modes
            )
            answer = await self._ui.approve(request)
            if answer.kind == "changed":
                return await self._revise(prepared, answer)
            self._apply_answer(answer, request)
            return _Approved(prepared=prepared, asked=True)

    def _make_approved(self, prepared: PreparedCall, verdict: Allow | Deny) -> _Approved:
        self._raise_if_denied(verdict)
        if isinstance(verdict, Allow) and verdict.confined:
            return _Approved(prepared=prepared, unasked=ConfinedRun(network=verdict.network))
        return _Approved(prepared=prepared)

    async def _revise(self, prepared: PreparedCall, answer: Answer) -> _Approved:
        """Return the call as the user edited it, after judging it again. Raises ToolFailed."""
        if prepared.revise is None:
            raise ToolFailed(tr("this call cannot be approved in part"), "it was not run")
        revised = await asyncio.to_thread(prepared.revise, answer.changes)
        verdict = self._policy.judge(revised.action)
        if isinstance(verdict, Deny):
            self._raise_if_denied(verdict)

        note = render_revision_note(prepared.action, answer, self._workspace.display)
        return _Approved(prepared=revised, asked=True, note=note)

    def _raise_if_denied(self, verdict: Allow | Deny) -> None:
        if isinstance(verdict, Deny):
            raise CallRefused(tr("not allowed: {reason}", reason=verdict.reason))

    def _apply_answer(self, answer: Answer, request: ApprovalRequest) -> None:
        match answer.kind:
            case "no" if answer.interrupted:
                raise CallRefused("interrupted by the user without an answer", for_user=tr("interrupted"))
            case "no":
                if answer.reason and not answer.is_from_program and self._support is not None:
                    self._support.hear(self._session, answer.reason)
                told = f": {answer.reason}" if answer.reason else ""
                raise CallRefused(f"the user declined{told}", for_user=tr("declined") + told)
            case "session":
                self._policy.allow_for_session(request.action)
            case "always":
                if request.verdict.rule is not None:
                    self._policy.add_rule(request.verdict.rule)
                    self._remember_rule(request.verdict.rule)
            case "once" | "changed":
                pass

    def _make_outcome(
        self,
        call: ToolCall,
        title: str,
        output: ToolOutput,
        seconds: float,
        *,
        asked: bool,
        approval_missing: str,
        notes_below: str,
    ) -> CallOutcome:
        from clio.tools.output import preview_output

        images = self._store_pictures(output.images) if self._takes_images else ()
        raw_text = f"{output.text}\n{_NO_PICTURES_NOTE}" if output.images and not images else output.text
        safe = self._redactor.message(neutralize_tool_output(raw_text))
        text = safe.text
        for_user = self._redactor.redact(neutralize_tool_output(output.for_user)).text
        shown, hidden_lines = select_preview_lines(output, for_user or text)
        # Stored after redaction: the blob can be read by the model later.
        replaced = _format_replaced_count(sum(safe.counts.values()))
        handle = self._session.write_blob(text) if len(text) > self.page.chars else None
        message = ToolMessage(
            tool_call_id=call.id,
            name=call.name,
            content="\n\n".join(filter(None, (preview_output(text, self.page.chars, handle), notes_below))),
            images=images,
            ok=output.ok,
            # Later requests and searches read it.
            summary=self._redactor.redact(english(output.summary)).text + english(replaced),
            seconds=round(seconds, 3),
            blob=handle,
            side_effects=collect_side_effects(
                output, self._workspace.display, lambda text: self._redactor.redact(text).text
            ),
            created=time.time(),
        )
        if output.on_stored is not None and handle is None:
            output.on_stored(message.id)
        self._emit(
            ToolFinished(
                call_id=call.id,
                name=call.name,
                title=title,
                ok=output.ok,
                summary=self._redactor.redact(output.summary).text + replaced,
                seconds=message.seconds,
                preview="\n".join(shown),
                hidden_lines=hidden_lines,
                diff=self._redactor.redact(
                    "".join(diff_change(change, self._workspace.display).text for change in output.changed)
                ).text,
                asked=asked,
                files_changed=self._list_changed_names(output),
            )
        )
        missing = self._redactor.redact(neutralize_tool_output(approval_missing)).text
        return CallOutcome(message=message, changed=output.changed, approval_missing=missing)


_NO_PICTURES_NOTE = (
    "[This model does not support images, so you cannot see it. Say so if it matters; the user can switch to another "
    "model with /model.]"
)


def _append_line(output: ToolOutput, line: str, summary: str = "") -> ToolOutput:
    return structs.replace(output, text=f"{output.text}\n{line}", summary=summary or output.summary, denied_need="")


def _format_replaced_count(secrets: int) -> str:
    return tr(", {secrets} replaced", secrets=tr_count(secrets, "secret")) if secrets else ""


def select_preview_lines(output: ToolOutput, safe_text: str) -> tuple[list[str], int]:
    """Return the lines of a result that the screen shows, and how many lines of a command's output they leave out.

    safe_text: `output.text` without secrets, which may be fewer lines. Clio's notes around a command's output are not
    shown.
    """
    lines = safe_text.splitlines()
    if output.output:
        before, _, after = output.text.partition(output.output)
        lines = lines[before.count("\n") : len(lines) - after.count("\n")]
    elif output.output is not None:
        lines = []
    lines = [line for line in lines if line.strip()]
    if not output.ok:
        from clio.context.command_results import select_failure_lines

        shown = select_failure_lines(lines, _OUTPUT_LINES)
    elif output.output is None:
        shown = lines[:_PREVIEW_LINES]
    elif len(lines) > _OUTPUT_LINES:
        shown = [*lines[: _OUTPUT_LINES // 2], *lines[-(_OUTPUT_LINES - _OUTPUT_LINES // 2) :]]
    else:
        shown = lines
    return shown, 0 if output.output is None else max(len(lines) - _OUTPUT_LINES, 0)


def shorten_title(title: str) -> str:
    """Return the title on one line of at most 120 characters."""
    return truncate_line(title, _MAX_TITLE_CHARS)


def list_touched_paths(changes: tuple[FileChange, ...]) -> list[Path]:
    """Return every path the changes touch in order, with both names of a moved file."""
    return [path for change in changes for path in (change.path, change.moved_to) if path is not None]


_TITLE_ARGUMENTS = ("path", "command", "pattern", "query", "url", "task", "operation")


def _make_title(call: ToolCall) -> str:
    """Return a title for a call that is not understood yet: the tool's name in words, and its main argument."""
    words = call.name.replace("_", " ")
    try:
        arguments: object = decode_json(call.arguments)
    except msgspec.DecodeError:
        return words
    if not isinstance(arguments, dict):
        return words
    named = cast("dict[str, object]", arguments)
    main = next((value for name in _TITLE_ARGUMENTS if isinstance(value := named.get(name), str)), "")
    return shorten_title(f"{words} {main}".strip())


def _get_first_line(text: str) -> str:
    """Return the first line of an error in at most 120 characters.

    A screen that also shows the whole text recognizes it by this beginning.
    """
    line = text.strip().partition("\n")[0].rstrip()
    return truncate(line, _MAX_TITLE_CHARS) or tr("failed")


def _make_internal_error(name: str, error: Exception) -> ToolOutput:
    return ToolOutput(
        text=f"{name} failed with an internal error ({type(error).__name__}: {error}); continue without it",
        for_user=tr("internal error in clio ({name}: {error})", name=type(error).__name__, error=error),
        summary=tr("internal error: {name}", name=type(error).__name__),
        ok=False,
    )
