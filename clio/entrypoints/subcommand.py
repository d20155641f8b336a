"""`clio memory`, `note`, `prefs`, `recall`, `sessions`: slash commands without a conversation, and their output."""

import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from clio.commands.arguments import join_arguments
from clio.commands.command import (
    ApplySetting,
    Choose,
    Command,
    CommandResult,
    Confirm,
    ConsolidateNow,
    EditText,
    ExportSession,
    FollowJob,
    FollowUp,
    LongWork,
    Prefill,
    Table,
    WaitFor,
    list_usages,
    select_subcommand,
)
from clio.commands.custom_commands import AddedCommands
from clio.commands.session_commands import SESSIONS
from clio.config.command_line import find_subcommand
from clio.config.loaded import LoadedConfig
from clio.config.options import Options
from clio.config.schema import Config
from clio.errors import ClioError, UsageError, UserError
from clio.sessions.session import Session
from clio.sessions.state import SessionState
from clio.sessions.store import open_session_store
from clio.storage.locks import format_os_error
from clio.text.formatting import SWITCH, remove_code_marks, replace_slash_commands
from clio.text.translation import mark, tr
from clio.ui.pipe_screen import TerminalOutput
from clio.ui.safe_text import clean, clean_line, escape_json_controls
from clio.ui.tables import count_done, render_plain_todos, render_table
from clio.ui.terminal_text import get_terminal_width, print_error, print_text, wrap_for_stream, wrap_text
from clio.ui.theme import detect_terminal

if TYPE_CHECKING:
    from clio.agent.background_agents import BackgroundAgents
    from clio.agent.model_choice import EffortChoices
    from clio.agent.planning import Planning
    from clio.agent.spending import Spending
    from clio.agent.turn_files import TurnFileRecorder
    from clio.context.window import ContextWindow
    from clio.mcp.servers import McpServers
    from clio.memory.system import MemorySystem
    from clio.providers.base import Provider
    from clio.sandbox.sandbox import Sandbox
    from clio.security.approval import Policy
    from clio.security.redaction.redactor import Redactor
    from clio.skills.skills import SkillCatalog


_PIPE_WIDTH = 100_000
"""Lines that go to a program or a file are never truncated."""
_BAR_WIDTH = 60
_FOLLOW_POLL_S = 0.3


def print_result(result: CommandResult, text: str, *, aloud: bool = False) -> None:
    """Print a result in the order in which a conversation shows it.

    text: the result's text as adapted for the command line. aloud: for a screen reader, if this is a terminal.
    """
    if aloud and sys.stdout.isatty():
        from clio.ui.reader.screen import speak_result
        from clio.ui.reader.spoken_text import wrap_line

        lines = speak_result(structs.replace(result, text=text, ok=True))
        TerminalOutput(sys.stdout).write(
            "".join(f"{wrap_line(line, (get_terminal_width(sys.stdout) or _PIPE_WIDTH) - 1)}\n" for line in lines)
        )
        return
    width = get_terminal_width(sys.stdout) or _PIPE_WIDTH
    output = TerminalOutput(sys.stdout)
    if result.bar is not None:
        from clio.ui.tables import render_bar

        rows = render_bar(result.bar, min(width, _BAR_WIDTH))
        output.write(
            "\n".join([clean_line(result.bar.title), *("".join(part for part, _ in row) for row in rows)]) + "\n"
        )
    if text:
        output.write(wrap_text(clean(text), width) + "\n")
    if result.verbatim:
        output.write(clean(result.verbatim).rstrip("\n") + "\n")
    if result.table is not None:
        heading, lines = render_table(result.table, width)
        apart = [""] if text or result.verbatim else []
        output.write("\n".join([*apart, *([_format_faint(heading)] if heading else []), *lines]) + "\n")
    if result.todos:
        count = f"todos: {count_done(result.todos)}"
        rows = "\n".join([count, *render_plain_todos(result.todos, fold=not result.todos_whole)])
        output.write("\n" + wrap_for_stream(rows, sys.stdout) + "\n")


def print_json(result: CommandResult) -> None:
    """Print a result's data as one JSON document; its text if it has no data."""
    data = result.data if result.data is not None else {"text": result.verbatim or remove_code_marks(result.text)}
    text = msgspec.json.format(msgspec.json.encode(data), indent=2).decode("utf-8")
    sys.stdout.buffer.write(escape_json_controls(text).encode("utf-8") + b"\n")
    sys.stdout.buffer.flush()


def ask_on_terminal(question: str) -> str | None:
    """Ask the user; None if no user can answer, "q" at the end of the input.

    Text typed before the question is discarded: it is not an answer, and no prompt follows that could use it.
    """
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    try:
        if sys.platform != "win32":
            import termios

            with suppress(termios.error):  # the terminal was closed; `input` reports it
                termios.tcflush(sys.stdin, termios.TCIFLUSH)
        return input(f"{wrap_for_stream(question.rstrip(), sys.stdout)} ")
    except EOFError:
        sys.stdout.write("\n")
        return "q"


def _format_faint(heading: str) -> str:
    terminal = detect_terminal(os.environ, is_tty=sys.stdout.isatty())
    return f"\x1b[2m{heading}\x1b[0m" if terminal.escapes else heading


class SubcommandContext:
    """The `CommandContext` for handlers without a conversation. Its session has no id, no messages and no file."""

    def __init__(self, loaded: LoadedConfig, *, is_json: bool = False) -> None:
        self.is_json = is_json
        self.loaded = loaded
        self.config: Config = loaded.config
        self.store = open_session_store(loaded)
        self.session = Session(SessionState(id="", working_directory=str(loaded.project)), None)
        self.window: ContextWindow | None = None
        self.added = AddedCommands()
        self._redactor: Redactor | None = None
        self._skills: SkillCatalog | None = None
        self._memory: MemorySystem | None = None
        self._spending: Spending | None = None
        self._servers: McpServers | None = None

    @property
    def redactor(self) -> "Redactor":
        """The same as in a conversation."""
        from clio.security.redaction.redactor import build_redactor

        if self._redactor is None:
            self._redactor = build_redactor(self.config, os.environ)
        return self._redactor

    @property
    def memory(self) -> "MemorySystem":
        """The same as in a conversation."""
        from clio.memory.system import open_memory

        if self._memory is None:
            self._memory = open_memory(
                self.loaded, self.store, redact=lambda text: self.redactor.redact(text).text, env=os.environ
            )
        return self._memory

    @property
    def spending(self) -> "Spending":
        """The same as in a conversation; no model is called here."""
        from clio.agent.spending import open_spending

        if self._spending is None:
            self._spending = open_spending(self.loaded)
        return self._spending

    @property
    def efforts(self) -> "EffortChoices":
        """The same as in a conversation; no model is called here."""
        from clio.agent.model_choice import EffortChoices

        return EffortChoices(self.config)

    @property
    def servers(self) -> "McpServers":
        """The same as in a conversation; no server is started."""
        from clio.mcp.servers import open_mcp_servers

        if self._servers is None:
            self._servers = open_mcp_servers(
                self.loaded, os.environ, clean=lambda text: self.redactor.redact(text).text
            )
        return self._servers

    async def reload_servers(self) -> None:
        """Raises UserError: no conversation could use the tools."""
        raise make_conversation_error()

    def close(self) -> None:
        """Close what was opened."""
        if self._memory is not None:
            self._memory.close()

    async def output_of(self, command: str) -> str:
        """Raises UserError: nothing is run."""
        raise make_conversation_error()

    @property
    def skills(self) -> "SkillCatalog":
        """The same as in a conversation."""
        from clio.skills.skills import SkillCatalog

        if self._skills is None:
            self._skills = SkillCatalog(self.loaded.main_project, self.loaded.home, os.environ)
        return self._skills

    @property
    def policy(self) -> "Policy":
        """Raises UserError: there is no policy without a conversation."""
        raise make_conversation_error()

    @property
    def sandbox(self) -> "Sandbox":
        """Raises UserError: there is no sandbox without a conversation."""
        raise make_conversation_error()

    @property
    def turn_files(self) -> "TurnFileRecorder":
        """Raises UserError: there are no turns without a conversation."""
        raise make_conversation_error()

    @property
    def planning(self) -> "Planning":
        """Raises UserError: there is no plan mode without a conversation."""
        raise make_conversation_error()

    @property
    def background(self) -> "BackgroundAgents":
        """Raises UserError: there are no background agents without a conversation."""
        raise make_conversation_error()

    @property
    def provider(self) -> "Provider":
        """Raises UserError: there is no model without a conversation."""
        raise make_conversation_error()

    @property
    def answering(self) -> "Provider":
        """Raises UserError: there is no model without a conversation."""
        raise make_conversation_error()

    @property
    def light_provider(self) -> "Provider":
        """Raises UserError: there is no model without a conversation."""
        raise make_conversation_error()


def make_conversation_error() -> UserError:
    """Return the error for what requires a conversation."""
    return UserError(tr("this needs a conversation; start clio and type the command there, with a slash"))


_HELP_COLUMNS = 100
_OPTIONS = mark("""\
options, anywhere before "--":
  --json                                print one JSON document
  --cwd FOLDER                          use the project of this folder
  --config FILE, --incognito, --no-ltm, --no-color, --debug   see clio --help
""")


def run_subcommand(options: Options, loaded: LoadedConfig, words: Sequence[str], *, json: bool) -> int:
    """Run one sub-command: its name, then its arguments. Returns 0; failures are raised.

    json: print the result's data as one JSON document, and never ask.
    Raises UserError (exit 2) for wrong usage, and other ClioErrors (exit 1) for a correct call that failed.
    """
    ctx = SubcommandContext(loaded, is_json=json)
    try:
        step = _run_handlers(ctx, words, json=json)
    except ClioError as error:
        error.args = (replace_slash_commands(str(error)),)
        raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ClioError(format_os_error(error)) from error
    finally:
        ctx.close()
    return 0 if json or step is None else _carry_out_follow_up(step, options, loaded)


def _run_handlers(ctx: SubcommandContext, words: Sequence[str], *, json: bool) -> FollowUp | None:
    """Run the handler and its follow-ups; return a follow-up that comes after the printed result."""
    table, called = _find_table(words[0])
    command, argument = select_subcommand(table, join_arguments(words[1:]), called)
    result = command.handler(ctx, argument)
    while True:
        if isinstance(result.follow_up, Choose):  # a list to choose from is for conversations
            result = structs.replace(result, follow_up=None)
        if not result.ok and result.follow_up is None:
            raise UsageError(result.text)
        match result.follow_up:
            case Confirm(then=then) as step:
                if not json:
                    _print_command_result(result, aloud=ctx.config.screen_reader)
                _ask_to_confirm(step, may_ask=not json)
                if not isinstance(then, str):
                    result = then()
                    continue
                command, argument = select_subcommand(table, then.partition(" ")[2], called)
                result = command.handler(ctx, argument)
            case ExportSession() as step:
                from clio.entrypoints.background_work import export_to_file

                result = export_to_file(ctx, step)
            case ConsolidateNow() | LongWork() as step:
                from clio.entrypoints.background_work import make_long_work, run_until_interrupted

                result = run_until_interrupted(make_long_work(ctx, step), aloud=ctx.config.screen_reader)
            case FollowJob() as step:
                if json:
                    raise UsageError(tr("--follow does not work with --json"))
                _print_command_result(result, aloud=ctx.config.screen_reader)
                _follow_job(step)
                return None
            case WaitFor(work=work):
                import asyncio

                def show(result: CommandResult) -> None:
                    if not json:
                        _print_command_result(result, aloud=ctx.config.screen_reader)

                result = asyncio.run(_await_work(work, show))
            case EditText(text=text, then=then, suffix=suffix):
                from clio.ui.terminal_handoff import edit_text

                if json:
                    raise UsageError(tr("--json opens no editor; give the new text on the command line instead"))
                _print_command_result(result, aloud=ctx.config.screen_reader)
                edited = edit_text(text, suffix)
                result = CommandResult(text=tr("Nothing was changed.")) if edited is None else then(edited)
            case step:
                if json:
                    print_json(result)
                else:
                    _print_command_result(result, aloud=ctx.config.screen_reader)
                return step


def _follow_job(step: FollowJob) -> None:
    """Print what a job prints until it ends, and on standard error what it asks meanwhile."""
    import codecs
    import time

    from clio.jobs.job_store import STATE_NAMES, read_job, read_output_from

    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    output, offset, asked = TerminalOutput(sys.stdout), step.offset, 0
    while True:
        # Before its output: what a job has printed before its end is there then.
        job = read_job(step.folder)
        while data := read_output_from(step.folder, offset):
            offset += len(data)
            output.write(clean(decoder.decode(data)))
        if job is None or not job.is_active or output.is_broken:
            break
        if (question := job.open_question) is not None and question.question > asked:
            asked = question.question
            number = job.record.id
            print_error(tr("job {id} needs you: {command}", id=number, command=f"clio jobs show {number}"))
        time.sleep(_FOLLOW_POLL_S)
    if job is not None and not job.is_active:
        state = tr(STATE_NAMES[job.state])
        print_text(tr("Job {id} has ended: {state}.", id=job.record.id, state=state), sys.stderr)


async def _await_work(
    work: Callable[[], Awaitable[CommandResult]], show: Callable[[CommandResult], None]
) -> CommandResult:
    """Await work, and the work that its result names, in one event loop; show the results in between."""
    result = await work()
    while isinstance(result.follow_up, WaitFor):
        show(result)
        result = await result.follow_up.work()
    return result


def format_help(word: str, columns: int = 0) -> str:
    """Return the text of `clio NAME --help`: every form of the sub-command. columns: 0 for those of the terminal."""
    columns = columns or get_terminal_width(sys.stdout) or _HELP_COLUMNS
    table, called = _find_table(word)
    rows = list(list_usages(table, called))
    if word == "mcp":
        rows[0] = (tr("clio mcp [--read-only]"), tr("offer this memory to other agents, over MCP"))
    forms = Table(columns=("", ""), rows=tuple(rows), wide_column=1, has_forms=True)
    lines = [f"  {line}" for line in render_table(forms, columns - 2)[1]]
    return "\n".join([*lines, "", wrap_text(tr(_OPTIONS), columns)])


def _find_table(word: str) -> tuple[Command, str]:
    """Return the command of a sub-command, and the beginning of its usage lines."""
    subcommand = find_subcommand(word)
    assert subcommand is not None
    if subcommand.name == SESSIONS.name:
        return SESSIONS, f"clio {subcommand.name}"
    if subcommand.name == "worktree":
        from clio.commands.subcommands import WORKTREE

        return WORKTREE, f"clio {subcommand.name}"
    if subcommand.name == "sync":
        from clio.commands.sync_commands import SYNC

        return SYNC, f"clio {subcommand.name}"
    if subcommand.name == "team-server":
        from clio.commands.team_commands import TEAM_SERVER

        return TEAM_SERVER, f"clio {subcommand.name}"
    if subcommand.name == "auth":
        from clio.commands.subcommands import AUTH

        return AUTH, f"clio {subcommand.name}"
    if subcommand.name == "config":
        from clio.commands.subcommands import CONFIG_LINE

        return CONFIG_LINE, f"clio {subcommand.name}"
    if subcommand.name == "gc":
        from clio.commands.subcommands import GC

        return GC, f"clio {subcommand.name}"
    if subcommand.name == "import":
        from clio.commands.subcommands import IMPORT

        return IMPORT, f"clio {subcommand.name}"
    from clio.commands.registry import find_command

    command = find_command(subcommand.name)
    assert command is not None
    return command, f"clio {subcommand.name}"


def _print_command_result(result: CommandResult, *, aloud: bool) -> None:
    if result.ok:
        print_result(result, replace_slash_commands(result.text), aloud=aloud)
    else:
        print_error(clean(replace_slash_commands(result.text)))


def _ask_to_confirm(step: Confirm, *, may_ask: bool) -> None:
    """Ask the user to confirm. Raises UsageError if the user declines or cannot be asked."""
    question, word = step.question, step.required_word
    answer = ask_on_terminal(f"{question} [{(tr('type {word}', word=word) if word else 'y/N')}] ") if may_ask else None
    if answer is None:
        instead = step.unasked or tr("add --yes")
        question += "" if question.endswith(("?", ".", "!", "…")) else "."
        raise UsageError(tr("{question} clio can't ask here; {instead}", question=question, instead=instead))
    if answer.strip().lower() not in ((word,) if word else ("y", "yes")):
        raise UsageError(tr("nothing was changed"))


def _carry_out_follow_up(step: FollowUp, options: Options, loaded: LoadedConfig) -> int:
    """Carry out a follow-up after the result is printed. Returns the exit code."""
    match step:
        case Prefill(text=text) if text.startswith(SWITCH):
            best = text.removeprefix(SWITCH)
            answer = ask_on_terminal(tr("Resume which session (Enter: best match, q: none)? "))
            if answer is None:
                print_text(clean(tr("resume it with: clio -r {best}", best=best)), sys.stderr)
                return 0
            return 0 if answer.strip().lower() == "q" else _resume_session(answer.strip() or best, options, loaded)
        case ApplySetting():
            return 0  # no conversation runs; the file has the value
        case Prefill(text=text):
            print_text(
                clean(tr("next: {command}", command=replace_slash_commands(text))),
                sys.stderr,
            )
            return 0
        case _:
            raise make_conversation_error()


def _resume_session(selector: str, options: Options, loaded: LoadedConfig) -> int:
    from clio.entrypoints.repl import repl

    return repl.run_repl(structs.replace(options, resume=selector), loaded)
