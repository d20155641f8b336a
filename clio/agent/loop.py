"""One user turn: ask the model, run its tool calls, ask again, until it is done."""

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec import Struct, structs

from clio.agent.model_request import ModelAnswer, ModelRequest, make_assistant_message
from clio.agent.runtime import Runtime
from clio.agent.spending import SpendingLimitReached
from clio.agent.tool_runner import CallOutcome, ToolRunner
from clio.agent.turn_hooks import TurnHooks
from clio.agent.user_interface import (
    EXIT_CODES,
    Emit,
    Mailbox,
    MessageAdded,
    Notice,
    Steered,
    StepFinished,
    TurnFinished,
    TurnStarted,
    TurnStatus,
)
from clio.checks.edit_checks import EditChecks, find_report_index
from clio.context.request_builder import FittedText, fit_user_text
from clio.context.window import ContextWindow
from clio.errors import ContextOverflow, ProviderError, ProviderRefused
from clio.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
    answer_open_calls,
)
from clio.prompt_files import load_prompt
from clio.providers.base import Provider
from clio.security.redaction.redactor import Redactor
from clio.sessions.session import Session
from clio.sessions.state import Bill
from clio.text.formatting import Cost
from clio.text.json_data import decode_json
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import mark, tr
from clio.text.untrusted_text import reveal_hidden_text

_MAX_SEARCHED_MESSAGES = 200
"""Number of newest messages that are searched for the calls of the newest step."""


class SessionWriter:
    """Adds messages to one session of one model, and reports each storage problem of the session once."""

    def __init__(self, session: Session, redactor: Redactor, emit: Emit, *, model: str) -> None:
        self._session = session
        self._redactor = redactor
        self._emit = emit
        self._model = model
        self._call_ids = {
            call.id
            for message in session.messages
            if isinstance(message, AssistantMessage)
            for call in message.tool_calls
        }
        self._warned = ""
        self._warning_count = len(session.warnings)

    def add_message(self, message: Message) -> None:
        """Add a complete message."""
        self._session.append(message)
        self._emit(MessageAdded(message=message))

    def add_answer(self, answer: ModelAnswer) -> tuple[AssistantMessage, tuple[ToolCall, ...]]:
        """Add the model's answer; return the stored message, and the calls to run.

        Secrets are replaced in the stored message but not in the calls. No two calls of a session get the same id.
        """
        calls = answer.make_calls(f"call_{len(self._session.messages)}", self._call_ids)
        model = answer.model or self._model
        message = make_assistant_message(answer, calls, self._redactor, model=model, now=time.time())
        self._call_ids.update(call.id for call in calls)
        self.add_message(message)
        return message, calls

    def add_partial_answer(
        self, partial: ModelAnswer | None, outputs: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Add the text of an incomplete answer, without its unfinished calls, and a result for each open call.

        outputs: what interrupted calls had printed, by call id.
        """
        if partial is not None and partial.text.strip():
            model = partial.model or self._model
            self.add_message(
                make_assistant_message(
                    partial, (), self._redactor, model=model, now=time.time(), finish_reason="interrupted"
                )
            )
        self.answer_open_calls("interrupted", outputs)

    def add_interrupted_answer(self, partial: ModelAnswer | None, outputs: Mapping[str, str]) -> None:
        """Do the same after an interrupt by the user, and add a note that tells the model about the interrupt."""
        running = {message.tool_call_id for message in answer_open_calls(self._session.messages, "", 0.0)}
        calls = [
            call for message in self._session.messages[-_MAX_SEARCHED_MESSAGES:] for call in _get_tool_calls(message)
        ]
        names = list(dict.fromkeys(call.name for call in calls if call.id in running))
        self.add_partial_answer(partial, outputs)
        if names:
            situation = f"while {', '.join(names)} ran; its effects until then remain"
        elif partial is not None and partial.text.strip():
            situation = "while you were answering; your answer ends where it was cut off"
        else:
            situation = "while you were thinking; none of that answer was saved"
        text = (
            f"[The user interrupted you {situation}. "
            "Do not take up that work again unless the next message asks for it.]"
        )
        self.add_message(UserMessage(content=text, origin="interrupt", created=time.time()))

    def answer_open_calls(self, reason: str, outputs: Mapping[str, str] = MappingProxyType({})) -> None:
        """Add a result for each call that has none, with its output until it was interrupted, if it had any."""
        for message in answer_open_calls(self._session.messages, reason, time.time()):
            if output := outputs.get(message.tool_call_id):
                message = structs.replace(message, content=f"[{reason}; its output until then:]\n{output}")
            self.add_message(message)

    def sync(self) -> None:
        """Wait until all messages are on disk, and emit a warning if they cannot be saved."""
        self._session.sync()
        reason = self._session.unsaved_reason or ""
        if reason and reason != self._warned:
            self._emit(Notice(text=tr("this session is not saved: {reason}", reason=reason), level="warning"))
        self._warned = reason
        for warning in self._session.warnings[self._warning_count :]:
            self._emit(Notice(text=warning, level="warning"))
        self._warning_count = len(self._session.warnings)


def _get_tool_calls(message: Message) -> tuple[ToolCall, ...]:
    return message.tool_calls if isinstance(message, AssistantMessage) else ()


FAILURE_HINT_COUNT = 2
"""Identical failures after which the model gets advice."""
FAILURE_STOP_COUNT = 4
"""Identical failures that end the turn."""
UNCHANGED_HINT_COUNT = 3
UNCHANGED_STOP_COUNT = 12
"""Identical successful calls with an unchanged result: after 3 the model gets a hint, after 12 the turn ends."""

_TIMING = LazyRegex(r"\s*\b(?:in|Time:|after)\s+\d+\.\d+ ?m?s\b|\b\d+\.\d{2,}s\b")
"""Durations as commands, compilers and test runners print them: a different duration is not a different result.

The space before them belongs to them: clio itself writes "exit 1", and "exit 1 in 0.1 s" of a command that took longer.
"""
_WAITING_COMMAND = LazyRegex(
    r"(?:^|[;&|({\n`]|\b(?:do|then|else|kubectl|docker|podman|run)\b)\s*"
    r"(?:sleep|usleep|wait|watch|until|Start-Sleep)\b|\.sleep\(|--(?:wait|watch|follow)\b"
)
"""Shell commands that wait for something; polling with them is not repetition."""
_ADVICE = {
    "edit_file": "Copy the lines shown above as old_string, or read that part of the file again and quote fewer lines.",
    "apply_patch": "Copy the lines shown above into the hunk, or read that part of the file again; send fewer lines.",
    "write_file": "Read the file first, or do what the message above says.",
    "run_command": "Change the command or what it works on; to wait for something, wait in the command.",
    "read_file": "Use list_files or find_files to see which files there are.",
    "search_text": "Change the pattern, the path or the glob.",
    "job_output": "Use wait_s to wait for the job.",
}
"""What to change after a repeated failure, by tool."""
_GENERAL_ADVICE = "Change the arguments, or try something else."


class RepetitionVerdict(Struct, frozen=True, kw_only=True):
    """What to do about one result.

    Attributes:
        hint: text to put below the result, or "".
        stop: reason to end the turn, or "".
    """

    hint: str = ""
    stop: str = ""


class _RepeatedResult(Struct):
    """The newest result of one call, and how often in a row it was the same."""

    result: str
    ok: bool
    step: int
    count: int = 1


class RepetitionGuard:
    """Counts identical calls with identical results over the steps of one turn.

    The count starts again after a call that may have changed something and after a wait. Several identical calls in
    one step count once, because the model has not seen their results yet.
    """

    def __init__(self) -> None:
        self._results: dict[tuple[str, str], _RepeatedResult] = {}

    def judge(self, call: ToolCall, result: ToolMessage, *, step: int, changes: bool) -> RepetitionVerdict:
        """Record a result and return what to do about it.

        Args:
            changes: whether the call may have changed anything, according to its tool.
        """
        arguments = _decode_arguments(call.arguments)
        key = (call.name, repr(sorted(arguments.items())) if arguments else call.arguments)
        text = _TIMING.sub("", result.content)
        if _is_waiting_call(call.name, arguments):
            self._results.clear()  # after a wait the same call may have another result
            return RepetitionVerdict()
        earlier = self._results.get(key)
        if changes and result.ok:
            self._results = {key: earlier} if earlier is not None else {}
        if earlier is None or (earlier.result, earlier.ok) != (text, result.ok):
            self._results[key] = _RepeatedResult(result=text, ok=result.ok, step=step)
            return RepetitionVerdict()
        if earlier.step != step:
            earlier.count, earlier.step = earlier.count + 1, step
        return _judge_failure(call, result, earlier.count) if not result.ok else _judge_unchanged(call, earlier.count)


def _judge_failure(call: ToolCall, result: ToolMessage, count: int) -> RepetitionVerdict:
    if count >= FAILURE_STOP_COUNT:
        return RepetitionVerdict(
            stop=tr(
                "{call} failed {count} times in the same way: {summary}",
                call=call.name,
                count=count,
                summary=result.summary,
            )
        )
    if count < FAILURE_HINT_COUNT:
        return RepetitionVerdict()
    remaining = FAILURE_STOP_COUNT - count
    warning = "one more ends the turn" if remaining == 1 else f"{remaining} more end the turn"
    advice = _ADVICE.get(call.name, _GENERAL_ADVICE)
    return RepetitionVerdict(hint=f"[This is the same call as before with the same failure; {warning}. {advice}]")


def _judge_unchanged(call: ToolCall, count: int) -> RepetitionVerdict:
    if count >= UNCHANGED_STOP_COUNT:
        return RepetitionVerdict(
            stop=tr(
                "{call} was called {count} times in the same way, with the same result each time",
                call=call.name,
                count=count,
            )
        )
    if count < UNCHANGED_HINT_COUNT:
        return RepetitionVerdict()
    advice = (
        _ADVICE["job_output"] if call.name == "job_output" else "Continue with what it says, or try something else."
    )
    return RepetitionVerdict(
        hint=f"[Called {count} times in the same way, and the result is the same each time. {advice}]"
    )


def _is_waiting_call(name: str, arguments: dict[str, Any]) -> bool:
    if name == "run_command":
        return bool(_WAITING_COMMAND.search(str(arguments.get("command", ""))))
    return name == "ask_user" or bool(arguments.get("wait_s"))


def _decode_arguments(arguments: str) -> dict[str, Any]:
    try:
        return decode_json(arguments, dict[str, Any])
    except msgspec.MsgspecError:
        return {}


MAX_CONTINUATIONS = 3
"""Requests per turn that continue an answer cut off at the output limit."""
_CUT_OFF_REASONS = frozenset({"length", "model_context_window_exceeded"})
"""Finish reasons of an answer that was cut off, possibly in the middle of its last call."""
_REFUSAL_NOTICES = {
    "content_filter": mark("the server's content filter ended this answer"),
    "refusal": mark("the model declined to answer"),
}
_REFUSAL_ADVICE = mark("rephrase the request, or go back to an earlier turn with /rewind")


class _Turn(Struct):
    """Totals of one turn so far."""

    started: float
    steps: int = 0
    usage: Usage = Usage()
    cost: Cost | None = None
    text: str = ""
    continuations: int = 0
    approval_missing: str = ""
    has_begun: bool = False

    def add_request(self, usage: Usage | None, bill: Bill | None) -> None:
        """Add the tokens and the cost of one request. `bill` is None if the server sent no usage."""
        if usage is not None and bill is not None:
            self.usage += usage
            self.cost = bill.cost_sum if self.cost is None else self.cost + bill.cost_sum


class _Stop(Exception):
    """Ends a turn before the model is done."""

    def __init__(self, status: TurnStatus, reason: str) -> None:
        super().__init__(reason)
        self.status: TurnStatus = status


class TurnSupport(Struct, frozen=True, kw_only=True):
    """What a loop uses besides its model and tools.

    Attributes:
        mailbox: messages that the user sends during a turn; those that arrive too late for the turn stay in it.
        hooks: the user's commands that run at certain events.
        checks: find new problems in files that the turn changed; also used by the tool runner.
        take_images: returns the pictures that the newest user message mentions; its context must have been built.
    """

    mailbox: Mailbox
    hooks: TurnHooks
    checks: EditChecks
    take_images: Callable[[], tuple[ImagePart, ...]]


class Loop:
    """Runs turns of one session with one model."""

    def __init__(
        self,
        runtime: Runtime,
        session: Session,
        provider: Provider,
        window: ContextWindow,
        runner: ToolRunner,
        support: TurnSupport,
        *,
        emit: Emit,
        max_steps: int,
    ) -> None:
        self._provider = provider
        self._take_images = support.take_images
        self._runner = runner
        self._session = session
        self._context = window
        self._redactor = runtime.redactor
        self._emit = emit
        self._max_steps = max_steps
        self._mailbox = support.mailbox
        self._hooks = support.hooks
        self._writer = SessionWriter(session, runtime.redactor, emit, model=provider.model)
        self._model_request = ModelRequest(runtime, session, provider, window, emit)
        # A window that is trimmed already belongs to a resumed session, or to one that another model began. The first
        # turn then begins with a recovery note about the work so far.
        self._needs_recovery_note = window.is_trimmed
        self._checks = support.checks
        self._telemetry = runtime.telemetry

    @property
    def context(self) -> ContextWindow:
        """What requests are built from."""
        return self._context

    async def run_turn(self, text: str) -> TurnFinished:
        """Run a turn from the user's text to the end of the answer. A turn that fails is reported, not raised.

        Cancelling the task interrupts the turn: the partial answer is saved, open calls are answered, and
        CancelledError is raised again.
        """
        try:
            if self._telemetry is None:
                return await self._run_turn(text)
            with self._telemetry.watch_turn(
                session_id=self._session.id,
                agent=self._session.delegated or "clio",
                provider=self._provider,
                text=text,
            ):
                return await self._run_turn(text)
        finally:
            await self._checks.end_turn()

    async def _run_turn(self, text: str) -> TurnFinished:
        turn = _Turn(started=time.perf_counter())
        try:
            await self._begin_turn(text)
            turn.has_begun = True
            await self._run_steps(turn)
        except asyncio.CancelledError:
            partial = self._model_request.take_partial()
            if turn.has_begun:
                self._writer.add_interrupted_answer(partial, self._runner.pop_interrupted_outputs())
            else:
                self._writer.add_partial_answer(partial)
            self._finish_turn(turn, "interrupted", "interrupted")
            raise
        # SpendingLimitReached comes before a request is sent, so without a partial answer; ProviderError may have one.
        except _Stop as stop:
            return self._finish_turn(turn, stop.status, str(stop))
        except SpendingLimitReached as error:
            return self._finish_turn(turn, "max_cost", str(error))
        except ProviderRefused as error:
            return self._finish_turn(turn, "refused", str(error))
        except ContextOverflow as error:
            return self._finish_turn(turn, "context_full", str(error))
        except ProviderError as error:
            self._writer.add_partial_answer(self._model_request.take_partial())
            return self._finish_turn(turn, "failed", str(error))
        if turn.approval_missing:
            return self._finish_turn(turn, "approval_needed", turn.approval_missing)
        return self._finish_turn(turn, "done", "")

    async def _begin_turn(self, text: str) -> None:
        safe_text = self._make_safe_text(text)
        if refusal := await self._hooks.find_refusal(safe_text):
            raise _Stop("blocked", tr("a hook blocked this message: {refusal}", refusal=refusal))
        context = await self._context.make_turn_context(time.time(), safe_text)
        fitted = self._fit_to_window(safe_text)
        self._add_user_message(fitted, context)
        self._emit(TurnStarted(session_id=self._session.id, text=fitted.text, model=self._provider.model))
        if self._needs_recovery_note:
            self._needs_recovery_note = False
            await self._context.add_recovery_note()

    def _make_safe_text(self, text: str) -> str:
        # Pasted text may contain invisible characters that its user never saw
        safe = self._redactor.message(reveal_hidden_text(text))
        if secrets := sum(safe.counts.values()):
            subject = tr("1 secret was") if secrets == 1 else tr("{secrets} secrets were", secrets=secrets)
            self._emit(
                Notice(text=tr("{subject} replaced in your message before it was saved or sent", subject=subject))
            )
        return safe.text

    def _fit_to_window(self, text: str) -> FittedText:
        """Return the text shortened to fit into one message; if it is shortened, the whole text is stored as well."""
        fitted = fit_user_text(text, self._context.limits.context_window, self._context.ratio, self._session.write_blob)
        if fitted.blob:
            self._emit(
                Notice(
                    text=tr(
                        "the message fills more than half of the context window, so its middle was left out; "
                        "the model can read it when needed"
                    )
                )
            )
        return fitted

    async def _add_steering_messages(self, step: int) -> bool:
        """Add the messages the user has sent meanwhile to the request of this step; return whether there were any."""
        count = len(self._mailbox.waiting)
        while text := self._mailbox.pop_oldest():
            safe_text = self._make_safe_text(text)
            fitted = self._fit_to_window(safe_text)
            self._emit(Steered(text=fitted.text, step=step))
            context = ""
            try:
                context = await self._context.make_steering_context(safe_text, count)
            finally:  # the message is added even if the turn is cancelled while its context is looked up
                self._add_user_message(fitted, context, steers=True)
        return count > 0

    def _add_user_message(self, fitted: FittedText, context: str, *, steers: bool = False) -> None:
        message = UserMessage(
            content=fitted.text,
            context=self._redactor.redact(context).text,
            images=self._take_images(),
            blob=fitted.blob,
            steers=steers,
            memory_off=self._context.is_memory_off,
            created=time.time(),
        )
        self._writer.add_message(message)

    async def _run_steps(self, turn: _Turn) -> None:
        guard = RepetitionGuard()
        for step in itertools.count(1):
            if step > self._max_steps:
                reason = tr(
                    'stopped after {max_steps} steps; say "go on" or raise --max-steps', max_steps=self._max_steps
                )
                raise _Stop("max_steps", reason)
            if await self._add_steering_messages(step):
                guard = RepetitionGuard()
                turn.continuations = 0
            self._add_hook_message(await self._hooks.before_trim(self._context.is_trim_due))
            try:
                answer, bill = await self._model_request.ask(step)
            finally:
                turn.steps = step if self._model_request.was_sent else step - 1
            turn.add_request(answer.usage, bill)
            message, calls = self._writer.add_answer(answer)
            turn.text = turn.text + message.content if turn.continuations else message.content
            if answer.finish_reason == "model_context_window_exceeded":
                self._record_full_window(answer.usage)
            # Every call in the session needs a result: servers reject a history with open calls.
            if calls and answer.finish_reason in _REFUSAL_NOTICES:
                self._writer.answer_open_calls("not run: the answer was rejected before it was complete")
                calls = ()
            if calls:
                await self._run_calls(calls, answer.finish_reason in _CUT_OFF_REASONS, guard, turn)
            self._writer.sync()
            self._emit(StepFinished(step=step, usage=answer.usage))
            if not calls and not self._must_continue(message, turn) and not await self._is_continued_by_hook(turn):
                return

    async def _is_continued_by_hook(self, turn: _Turn) -> bool:
        return not turn.approval_missing and self._add_hook_message(await self._hooks.find_continuation(turn.text))

    def _add_hook_message(self, text: str) -> bool:
        if text:
            self._writer.add_message(UserMessage(content=text, origin="hook", created=time.time()))
        return bool(text)

    def _must_continue(self, message: AssistantMessage, turn: _Turn) -> bool:
        """Whether an answer without calls was cut off and must be continued."""
        if notice := tr(_REFUSAL_NOTICES.get(message.finish_reason, "")):
            self._emit(Notice(text=f"{notice}: {tr(_REFUSAL_ADVICE)}", level="warning"))
        pauses = message.finish_reason == "pause_turn"
        resends = getattr(self._provider, "protocol", "") == "messages"
        if pauses and resends and turn.continuations < MAX_CONTINUATIONS:
            turn.continuations += 1
            return True  # the Messages protocol continues when the answer is sent back unchanged
        if message.finish_reason not in _CUT_OFF_REASONS and not pauses:
            return False
        if self._mailbox.waiting:
            return True  # the user's waiting message tells how to continue
        if turn.continuations >= MAX_CONTINUATIONS:
            self._emit(
                Notice(text=tr('the answer was cut off by the output limit; say "go on" for the rest'), level="warning")
            )
            return False
        turn.continuations += 1
        self._writer.add_message(
            UserMessage(content=load_prompt("context/continue"), origin="continue", created=time.time())
        )
        return True

    def _record_full_window(self, usage: Usage | None) -> None:
        """Record that the request and its answer filled the window, so that the next request is trimmed."""
        if usage is not None:
            self._context.learn_full_window(usage.prompt_tokens + usage.completion_tokens)
        self._emit(
            Notice(text=tr("the context window is full; older messages are removed from it before the next request"))
        )

    async def _run_calls(self, calls: tuple[ToolCall, ...], cut_off: bool, guard: RepetitionGuard, turn: _Turn) -> None:
        """Run calls in order, adjacent read-only ones concurrently; raise `_Stop` if the model repeats itself."""
        report_call = calls[find_report_index([call.name for call in calls])]
        # The results of these calls must fit into the free part of the window.
        self._runner.page.fit_to_window(*self._context.free_room(), calls=len(calls))
        for batch in self._split_into_batches(calls):
            outcomes = await self._run_batch(batch, cut_off)
            stop = ""
            for call, outcome in zip(batch, outcomes, strict=True):
                changes = not self._runner.is_read_only(call)
                verdict = guard.judge(call, outcome.message, step=turn.steps, changes=changes)
                await self._add_result(_append_hint(outcome.message, verdict.hint), checked=call is report_call)
                if outcome.approval_missing:
                    turn.approval_missing = outcome.approval_missing
                stop = stop or verdict.stop
            if stop:
                self._writer.answer_open_calls("not run: the turn was stopped")
                raise _Stop("failed", stop)

    async def _add_result(self, message: ToolMessage, *, checked: bool) -> None:
        """Add the result of a call.

        Args:
            checked: wait for the checks of this step, up to their time limit, and add what they found.
        """
        report = ""
        try:
            if checked:
                report = await self._checks.end_step()
        finally:  # the result is added even if the turn is cancelled while it waits for the checks
            self._writer.add_message(
                structs.replace(message, content=f"{message.content}\n\n{report}") if report else message
            )

    def _split_into_batches(self, calls: tuple[ToolCall, ...]) -> Iterator[list[ToolCall]]:
        for read_only, group in itertools.groupby(calls, key=self._runner.is_read_only):
            if read_only:
                yield list(group)
            else:
                yield from ([call] for call in group)

    async def _run_batch(self, batch: list[ToolCall], cut_off: bool) -> list[CallOutcome]:
        if len(batch) == 1:
            return [await self._runner.run(batch[0], cut_off=cut_off)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._runner.run(call, cut_off=cut_off)) for call in batch]
        return [task.result() for task in tasks]

    def _finish_turn(self, turn: _Turn, status: TurnStatus, error: str) -> TurnFinished:
        self._writer.sync()
        finished = TurnFinished(
            status=status,
            text=turn.text,
            steps=turn.steps,
            usage=turn.usage,
            seconds=round(time.perf_counter() - turn.started, 3),
            error=self._redactor.redact(error).text,  # it may quote a server's message, which may quote an API key
            exit_code=EXIT_CODES[status],
            cost=turn.cost,
        )
        if self._telemetry is not None:
            self._telemetry.end_turn(
                status=status,
                steps=turn.steps,
                usage=turn.usage,
                micro_dollars=None if turn.cost is None else turn.cost.micro_dollars,
                text=turn.text,
            )
        self._emit(finished)
        return finished


def _append_hint(message: ToolMessage, hint: str) -> ToolMessage:
    return structs.replace(message, content=f"{message.content}\n\n{hint}") if hint else message
