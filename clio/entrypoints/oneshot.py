"""`clio -p`: run one turn, print its answer on standard output, and return an exit code for scripts."""

import asyncio
import contextlib
import io
import json
import os
import shlex
import signal
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import structs

from clio import __version__
from clio.agent.user_interface import (
    EXIT_CODES,
    ComposedInterface,
    Emit,
    Event,
    Notice,
    StepStarted,
    TextDelta,
    ToolFinished,
    TurnFinished,
)
from clio.app import App, build_app
from clio.config.loaded import LoadedConfig
from clio.config.options import Options
from clio.entrypoints.headless_json import (
    AnswerSchema,
    Reporter,
    SessionStarted,
    StreamApprover,
    StreamAsker,
    StreamQuestions,
    StreamRun,
    make_result_event,
    print_json_line,
    read_stream_input,
    run_to_schema,
)
from clio.errors import ApprovalNeeded, ToolFailed, UsageError
from clio.messages import Usage
from clio.providers.http_provider import HttpProvider
from clio.providers.registry import OFFLINE
from clio.security.actions import RunCommand
from clio.security.approval import Answer, ApprovalRequest, Approver
from clio.text.formatting import replace_slash_commands
from clio.text.translation import tr
from clio.ui.pipe_screen import AnswerLayout, PipeScreen, PlainMarkdown
from clio.ui.safe_text import clean, escape_json_controls, spell_out_line

if TYPE_CHECKING:
    from clio.tools.session_tools import Asker


class DenyingApprover:
    """Denies every action that needs approval: no user can be asked in a one-shot run."""

    never_asks = True

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Raise ApprovalNeeded, which says how the user can allow the action."""
        leaves_sandbox = isinstance(request.action, RunCommand) and request.action.outside
        verdict = request.verdict
        if leaves_sandbox:
            remedy = tr("open the sandbox with sandbox_network or sandbox_write, or leave out --sandbox")
        elif verdict.in_every_mode and verdict.rule_spares:  # only an `allow` rule can replace the question
            remedy = tr(
                "no mode runs it without asking: allow it with --allow RULE or a rule under `allow`, or do it by hand"
            )
        elif verdict.in_every_mode:
            remedy = tr("no mode and no rule allows it: do it by hand, or start clio without -p and approve it")
        else:
            remedy = _describe_ways_to_allow(request)
        raise ApprovalNeeded(
            tr(
                "{title} needs approval, which a one-shot run can't ask for; {remedy}",
                title=spell_out_line(request.title),
                remedy=remedy,
            )
        )


def _describe_ways_to_allow(request: ApprovalRequest) -> str:
    """Return what would allow the action: only the modes that are wider than the present one, and a rule if one can."""
    ways = [f"--approve {mode}" for mode in request.wider_modes]
    if request.verdict.rule is not None:
        ways.append(f"--allow {shlex.quote(clean(request.verdict.rule))}")
    if isinstance(request.action, RunCommand):
        ways.append(tr("a rule under `allow` in .clio/config.yaml"))
    if not ways:
        return tr("no mode and no rule allows it: do it by hand, or start clio without -p and approve it")
    return tr("allow it with one of: {ways}", ways=", ".join(ways))


class DecliningAsker:
    """Declines questions: no user can be asked in a one-shot run."""

    never_answers = True

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """Raise ToolFailed, which tells the model to decide for itself."""
        raise ToolFailed("no user can answer in a one-shot run", "decide yourself and state your assumptions")


def run_oneshot(options: Options, loaded: LoadedConfig) -> int:
    """Run one turn with `options.prompt` and return the exit code."""
    if loaded.config.transport == "openai" and loaded.config.provider != OFFLINE:
        from clio.providers.openai_transport import start_import

        start_import()  # the slowest import of a one-shot start; it runs in parallel with the rest
    return asyncio.run(_run(options, loaded))


async def _run(options: Options, loaded: LoadedConfig) -> int:
    task = asyncio.current_task()
    assert task is not None
    with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers in its event loop
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    schema = None
    if options.json_schema:
        schema = AnswerSchema.load(options.json_schema)
    reporter = Reporter()
    listen = _make_event_listener(
        options, loaded, reporter, stop=lambda: _cancel(task), delays_answer=schema is not None
    )
    questions, approver, asker = (
        _make_stream_interface() if options.input == "stream-json" else (None, DenyingApprover(), DecliningAsker())
    )
    app = build_app(loaded, ComposedInterface(approver, asker, listen), env=os.environ)
    if isinstance(app.provider, HttpProvider):  # loads certificates while the prompt is being built
        asyncio.get_running_loop().run_in_executor(None, app.provider.warm_up)
    if questions is not None:
        questions.redact, questions.display = lambda text: app.redactor.redact(text).text, app.workspace.display
    report_fields: dict[str, Any] = {"exit_code": EXIT_CODES["interrupted"]}
    with contextlib.suppress(asyncio.CancelledError):  # the turn has ended; only the report is left to print
        try:
            _open_requested_session(app, options)
            if options.output == "stream-json":
                print_json_line(_make_started_event(app, loaded))
            if questions is not None:
                report_fields["exit_code"] = await _run_stream(app, questions, options.prompt or "")
            elif schema:
                report_fields |= await run_to_schema(
                    app, schema, lambda text: run_prompt_line(app, text), options.prompt or ""
                )
            else:
                report_fields["exit_code"] = (await run_prompt_line(app, options.prompt or "")).exit_code
            if options.output == "text":
                _print_final_output(app, loaded, reporter, report_fields)
        finally:
            await app.close()
    report = reporter.report(app.session.id, style=_get_style_id(app), plan=app.planning.proposed_plan, **report_fields)
    if options.output == "json":
        print_json_line(report)
    elif options.output == "stream-json":
        print_json_line(make_result_event(report))
    return report.exit_code


def _make_stream_interface() -> "tuple[StreamQuestions, Approver, Asker]":
    """Return approver and asker that send questions to the program that writes standard input."""
    questions = StreamQuestions(print_json_line)
    return questions, StreamApprover(questions), StreamAsker(questions)


async def _run_stream(app: App, questions: StreamQuestions, first_prompt: str) -> int:
    stream_run = StreamRun(app, questions, lambda text: run_prompt_line(app, text), print_json_line)
    return await stream_run.run(first_prompt, read_stream_input(sys.stdin.buffer, stream_run.refuse, questions.room))


def _make_started_event(app: App, loaded: LoadedConfig) -> SessionStarted:
    return SessionStarted(
        session_id=app.session.id,
        model=app.provider.model,
        server=app.provider.name,
        cwd=str(loaded.project),
        approve=app.policy.mode,
        clio=__version__,
    )


def _print_final_output(app: App, loaded: LoadedConfig, reporter: Reporter, report_fields: Mapping[str, Any]) -> None:
    """Print what is not streamed: a plan, or an answer that had to be checked against a schema first."""
    with contextlib.suppress(BrokenPipeError):  # the reader of the answer has closed the pipe
        if report_fields.get("structured") is not None or "error" in report_fields:
            if error := report_fields.get("error"):
                from clio.ui.terminal_text import print_error

                print_error(clean(error))
            else:
                sys.stdout.write(
                    escape_json_controls(json.dumps(report_fields["structured"], ensure_ascii=False)) + "\n"
                )
        elif plan := app.planning.proposed_plan:
            from clio.commands.plan_commands import format_todos_as_markdown

            separator = "\n" if reporter.text else ""
            text = clean(format_todos_as_markdown(plan))
            if sys.stdout.isatty():
                layout = make_answer_layout(loaded)
                text = layout.feed(text) + layout.finish()
            sys.stdout.write(separator + text)
        sys.stdout.flush()


async def run_prompt_line(app: App, text: str) -> TurnFinished:
    """Run a turn with this text, or with the prompt of the custom command it calls.

    Preferences in it that may apply to this task only are stored as pending; the next interactive start asks about
    them.

    Raises:
        UsageError: for a custom command with wrong arguments, or a misspelt one.
    """
    try:
        return await _run_line(app, text)
    finally:
        app.learner.defer_suggestions()


_MEMORY_COMMANDS = frozenset("memory note notes docs prefs preferences pref recall".split())
"""The built-in commands that run without a screen, as `clio memory` does; other ones are for conversations."""


async def _run_line(app: App, text: str) -> TurnFinished:
    if text.startswith("#"):
        from clio.ui.line_rules import make_memory_command

        if command := make_memory_command(text.rstrip()):
            return _run_memory_command(app, command)
    if not text.lstrip().startswith("/"):  # avoids importing the command table, a tenth of all modules
        return await app.run_turn(text)
    if text.split()[0][1:].lower() in _MEMORY_COMMANDS:
        return _run_memory_command(app, text.strip())
    from clio.commands.command import RunExpandedCommand, RunPrompt
    from clio.commands.registry import run_added_command

    match run_added_command(app, text):
        case RunExpandedCommand(line=line, expand=expand):
            return await app.run_turn(line, expand)
        case RunPrompt(text=prompt):
            return await app.run_turn(prompt)
        case None:
            return await app.run_turn(text)


def _run_memory_command(app: App, line: str) -> TurnFinished:
    """Run a command about memory as the shell does, without a turn, and emit its result as the answer, in Markdown.

    Raises UsageError if it was called wrongly, and if it needs a user: to confirm, to edit a text or to wait.
    """
    from clio.commands.command import Choose, Confirm
    from clio.commands.registry import run_command
    from clio.ui.result_markdown import format_result_as_markdown

    result = run_command(app, line)
    match result.follow_up:
        case _ if not result.ok:
            raise UsageError(clean(replace_slash_commands(result.text)))
        case Confirm(question=question, unasked=unasked):
            raise UsageError(
                tr("{question} clio can't ask here; {instead}", question=question, instead=unasked or tr("add --yes"))
            )
        case None | Choose():
            pass
        case _:
            raise UsageError(
                tr("a prompt can't do that; run this in a shell: {command}", command=replace_slash_commands(line))
            )
    said = format_result_as_markdown(structs.replace(result, text=replace_slash_commands(result.text)))
    finished = TurnFinished(status="done", text=said, steps=0, usage=Usage(), seconds=0.0)
    app.conversation.ui.emit(TextDelta(text=said))
    app.conversation.ui.emit(finished)
    return finished


def _get_style_id(app: App) -> str:
    chosen = None if app.memory.is_silent else app.memory.styles.current
    return chosen.skill.id if chosen else ""


def _cancel(task: "asyncio.Task[int]") -> None:
    task.cancel()


def _open_requested_session(app: App, options: Options) -> None:
    """Open the session requested with -r or -c; without them, stay in the new session."""
    session_id = app.store.find_requested(options.resume, continue_latest=options.continue_latest)
    if session_id is None:
        return
    if options.resume is None and (note := app.store.describe_newer_foreign(session_id)):
        app.runtime.warn(note)
    app.open_session(app.store.fork(session_id) if options.fork and not app.config.incognito else session_id)


def _make_event_listener(
    options: Options, loaded: LoadedConfig, reporter: Reporter, stop: Callable[[], None], *, delays_answer: bool
) -> Emit:
    """Return the listener for the run's events.

    Args:
        stop: called when the reader of the answer has closed the pipe.
        delays_answer: True to leave the answer out, because it is printed after it was checked against a schema.
    """
    preload: Callable[[], AnswerLayout] | None = None
    match options.output:
        case "json":
            handle_event: Emit = _ignore_event
        case "stream-json":
            handle_event = print_json_line
        case "text":
            answer = io.StringIO() if delays_answer else sys.stdout
            make_layout = (lambda: make_answer_layout(loaded)) if answer.isatty() else None
            handle_event = PipeScreen(answer, sys.stderr, on_broken=stop, make_layout=make_layout).handle
            preload = make_layout

    def listen(event: Event) -> None:
        nonlocal preload
        if preload is not None and isinstance(event, StepStarted):
            asyncio.get_running_loop().run_in_executor(None, preload)  # 0.1 s of imports, while the model is waited for
            preload = None
        # After a one-shot run, commands are typed in the shell.
        if isinstance(event, Notice):
            event = structs.replace(event, text=replace_slash_commands(event.text))
        elif isinstance(event, ToolFinished) and event.name == "memory_operations":
            event = structs.replace(event, summary=replace_slash_commands(event.summary))
        reporter.handle(event)
        handle_event(event)

    return listen


def make_answer_layout(loaded: LoadedConfig) -> AnswerLayout:
    """Return a layout of answers for the terminal on standard output, in its colours."""
    from clio.entrypoints.repl.components import detect_this_terminal, terminal_size

    terminal = detect_this_terminal(loaded)
    if terminal.for_screen_reader:
        from clio.ui.terminal_text import WordWrapper, get_terminal_width

        return WordWrapper(lambda: get_terminal_width(sys.stdout) or 80)
    from clio.entrypoints.repl.theme import ThemeSelector
    from clio.ui.markdown import preload_markdown

    ThemeSelector(terminal, loaded.home, os.environ, loaded.config.theme)
    preload_markdown()
    return PlainMarkdown(terminal.theme, terminal_size)


def _ignore_event(event: Event) -> None:
    """Do nothing: `--output json` prints only the report at the end."""
