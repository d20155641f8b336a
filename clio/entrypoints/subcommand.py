"""`clio memory`, `note`, `prefs`, `recall` and `sessions`: the handlers of the slash commands without a conversation.

No provider is made, no session begun, and nothing is imported that only a conversation needs.
"""

import os
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

from msgspec import structs

from clio.commands.added import AddedCommands
from clio.commands.arguments import join
from clio.commands.command import Command
from clio.commands.dispatch import choose, forms
from clio.commands.follow_ups import Confirm, ExportSession, Prefill, SleepNow
from clio.commands.result import CommandResult, EditText, FollowUp, LongWork, WaitFor
from clio.commands.session_door import SESSIONS
from clio.config.doors import find_door
from clio.config.loaded import Loaded
from clio.config.options import Options
from clio.config.schema import Config
from clio.entrypoints.subcommand_output import ask, print_json, print_result, say, without_marks
from clio.errors import ClioError, UsageError, UserError
from clio.sessions.session import Session
from clio.sessions.state import SessionState
from clio.sessions.store import SessionStore
from clio.storage.reasons import sentence

if TYPE_CHECKING:
    from clio.agent.planning import Planning
    from clio.agent.spending import Spending
    from clio.agent.turn_files import TurnFiles
    from clio.context.window import ContextWindow
    from clio.mcp.servers import Servers
    from clio.memory.system import MemorySystem
    from clio.providers.base import Provider
    from clio.sandbox.sandbox import Sandbox
    from clio.security.approval import Policy
    from clio.security.redact import Redactor
    from clio.skills.shelf import SkillShelf

_SLASH = re.compile(
    r"(?<![\w/.])/(cost|docs|feedback|mcp|memory|note|prefs|recall|session|skills|style)(?=[ .;,:`']|$)"
)
_SWITCH = "/session switch "
_HELP_COLUMNS, _MIN_SUMMARY = 100, 20
_OPTIONS = """\
options that may stand anywhere before "--":
  --json                                print one JSON document
  --cwd FOLDER                          the project this folder is in
  --config FILE, --incognito, --no-ltm, --no-color, --debug   as everywhere
"""


class LightShell:
    """What handlers may look at where no conversation runs. Its session has no id, no words and no file."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.config: Config = loaded.config
        self.store = SessionStore(loaded.owner / ".clio" / "sessions")
        self.session = Session(SessionState(id="", working_directory=str(loaded.project)), None)
        self.context: ContextWindow | None = None
        self.added = AddedCommands()
        self._redactor: Redactor | None = None
        self._skills: SkillShelf | None = None
        self._memory: MemorySystem | None = None
        self._spending: Spending | None = None
        self._servers: Servers | None = None

    @property
    def redactor(self) -> "Redactor":
        """As a conversation has it."""
        from clio.security.redact import Redactor
        from clio.security.redact_names import env_secrets

        if self._redactor is None:
            secrets = env_secrets(dict(os.environ))
            self._redactor = Redactor(self.config.redact_patterns, secrets, enabled=self.config.redact)
        return self._redactor

    @property
    def memory(self) -> "MemorySystem":
        """As a conversation has it."""
        from clio.memory.opening import open_memory

        if self._memory is None:
            self._memory = open_memory(
                self.loaded, self.store, redact=lambda text: self.redactor.redact(text).text, env=os.environ
            )
        return self._memory

    @property
    def spending(self) -> "Spending":
        """As a conversation has it; nothing is spent here."""
        from clio.agent.spending import open_spending

        if self._spending is None:
            self._spending = open_spending(self.loaded)
        return self._spending

    @property
    def servers(self) -> "Servers":
        """As a conversation has them; none is started."""
        from clio.mcp.opening import open_servers

        if self._servers is None:
            self._servers = open_servers(self.loaded, os.environ, clean=lambda text: self.redactor.redact(text).text)
        return self._servers

    async def reload_servers(self) -> None:
        """Raises UserError: there is no conversation that has their tools."""
        _needs_a_conversation()

    def close(self) -> None:
        """Let go of what was opened."""
        if self._memory is not None:
            self._memory.close()

    async def output_of(self, command: str) -> str:
        """Raises UserError: nothing is run."""
        _needs_a_conversation()

    @property
    def skills(self) -> "SkillShelf":
        """As a conversation has them."""
        from clio.skills.shelf import SkillShelf

        if self._skills is None:
            self._skills = SkillShelf(self.loaded.owner, self.loaded.home, os.environ)
        return self._skills

    @property
    def policy(self) -> "Policy":
        """Raises UserError: there is none."""
        _needs_a_conversation()

    @property
    def sandbox(self) -> "Sandbox":
        """Raises UserError: there is none."""
        _needs_a_conversation()

    @property
    def turn_files(self) -> "TurnFiles":
        """Raises UserError: there are none."""
        _needs_a_conversation()

    @property
    def planning(self) -> "Planning":
        """Raises UserError: there is none."""
        _needs_a_conversation()

    @property
    def provider(self) -> "Provider":
        """Raises UserError: there is none."""
        _needs_a_conversation()


def run(options: Options, loaded: Loaded, words: Sequence[str], *, json: bool) -> int:
    """Carry out one sub-command: its name, then its words. Returns 0; everything else is an error that is raised.

    json: print the result's data as one JSON document, and never ask.
    Raises UserError (exit 2), and other ClioErrors (exit 1) for what was right and failed all the same.
    """
    shell = LightShell(loaded)
    try:
        step = _carry_out(shell, words, json=json)
    except ClioError as error:
        error.args = (in_cli_words(str(error)),)
        raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ClioError(sentence(error)) from error
    finally:
        shell.close()
    return 0 if json or step is None else _after(step, options, loaded)


def _carry_out(shell: LightShell, words: Sequence[str], *, json: bool) -> FollowUp | None:
    """Run the handler and what it asks for; what is still to be done once the result is shown."""
    table, called = _table(words[0])
    command, argument = choose(table, join(words[1:]), called)
    result = command.handler(shell, argument)
    while True:
        if not result.ok and result.follow_up is None:
            raise UsageError(result.text)
        match result.follow_up:
            case Confirm(question=question, then=then, word=word):
                if not json:
                    _show(result, aloud=shell.config.screen_reader)
                _agreed(question, word, may_ask=not json)
                command, argument = choose(table, then.partition(" ")[2], called)
                result = command.handler(shell, argument)
            case ExportSession() as step:
                from clio.entrypoints.export_file import export

                result = export(shell, step)
            case SleepNow() | LongWork() as step:
                from clio.entrypoints.long_work import until_interrupted
                from clio.entrypoints.sleeping import work_of

                result = until_interrupted(work_of(shell, step), aloud=shell.config.screen_reader)
            case WaitFor(work=work):
                import asyncio

                result = asyncio.run(_awaited(work))
            case EditText(text=text, then=then, suffix=suffix):
                from clio.ui.editor import edit_text

                if json:
                    raise UsageError("an editor is no answer in JSON; give the new text on the command line instead")
                _show(result, aloud=shell.config.screen_reader)
                edited = edit_text(text, suffix)
                result = CommandResult(text="Nothing was changed.") if edited is None else then(edited)
            case step:
                if json:
                    print_json(result)
                else:
                    _show(result, aloud=shell.config.screen_reader)
                return step


async def _awaited(work: Callable[[], Awaitable[CommandResult]]) -> CommandResult:
    return await work()


def help_text(word: str, columns: int = 0) -> str:
    """What `clio NAME --help` prints: every form of the sub-command, in so many columns, 0 for the terminal's."""
    from shutil import get_terminal_size
    from textwrap import wrap

    columns = columns or get_terminal_size((_HELP_COLUMNS, 24)).columns
    table, called = _table(word)
    rows = [(form, summary) for form, summary in forms(table, called)]
    if word == "mcp":
        rows[0] = ("clio mcp [--read-only]", "offer this memory to other agents, over MCP")
    width = min(max(len(form) for form, _ in rows), 36)
    lines: list[str] = []
    for form, summary in rows:
        told = wrap(summary, max(columns - width - 4, _MIN_SUMMARY)) or [""]
        if len(form) > width:
            told.insert(0, "")
        lines += [
            f"  {left:<{width}}  {line}".rstrip() for left, line in zip([form, *[""] * len(told)], told, strict=False)
        ]
    return "\n".join([*lines, "", _OPTIONS])


def in_cli_words(text: str) -> str:
    """A handler's text with the commands it names as the command line has them, and without the marks round code."""
    text = without_marks(text).replace(_SWITCH.strip(), "clio -r")
    return _SLASH.sub(lambda found: f"clio {'sessions' if found[1] == 'session' else found[1]}", text)


def _table(word: str) -> tuple[Command, str]:
    """The commands of a door, and what they begin with. The door exists."""
    door = find_door(word)
    assert door is not None
    if door.name == SESSIONS.name:
        return SESSIONS, f"clio {door.name}"
    if door.name == "worktree":
        from clio.commands.worktree_commands import WORKTREE

        return WORKTREE, f"clio {door.name}"
    if door.name == "gc":
        from clio.commands.gc_door import GC

        return GC, f"clio {door.name}"
    if door.name == "import":
        from clio.commands.import_door import IMPORT

        return IMPORT, f"clio {door.name}"
    from clio.commands.registry import find

    command = find(door.name)
    assert command is not None
    return command, f"clio {door.name}"


def _show(result: CommandResult, *, aloud: bool) -> None:
    if result.ok:
        print_result(result, in_cli_words(result.text), aloud=aloud)
    else:
        say(f"clio: {in_cli_words(result.text)}")


def _agreed(question: str, word: str, *, may_ask: bool) -> None:
    """Raises UsageError where the person says no, or nobody can be asked. word: what alone is a yes, if any."""
    answer = ask(f"{question} [{f'type {word}' if word else 'y/N'}] ") if may_ask else None
    if answer is None:
        raise UsageError(f"{question} Nobody can be asked here; add --yes")
    if answer.strip().lower() not in ((word,) if word else ("y", "yes")):
        raise UsageError("nothing was changed")


def _after(step: FollowUp, options: Options, loaded: Loaded) -> int:
    """What may come after a result that was shown. Returns the exit code."""
    match step:
        case Prefill(text=text) if text.startswith(_SWITCH):
            best = text.removeprefix(_SWITCH)
            answer = ask("Resume which (Enter: best, q: none)? ")
            if answer is None:
                say(f"resume it with: clio -r {best}")
                return 0
            return 0 if answer.strip().lower() == "q" else _resume(answer.strip() or best, options, loaded)
        case Prefill(text=text):
            say(f"next: {in_cli_words(text)}")
            return 0
        case _:
            raise UserError("this needs a conversation; start clio and give the command there, with a slash")


def _resume(selector: str, options: Options, loaded: Loaded) -> int:
    from clio.entrypoints import repl

    return repl.run(structs.replace(options, resume=selector), loaded)


def _needs_a_conversation() -> "NoReturn":
    raise UserError("this needs a conversation; start clio and give the command there, with a slash")
