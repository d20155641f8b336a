"""`clio memory`, `note`, `prefs`, `recall` and `sessions`: the handlers of the slash commands without a conversation.

No provider is made, no session begun, and nothing is imported that only a conversation needs.
"""

from collections.abc import Awaitable, Callable, Sequence

from msgspec import structs

from clio.commands.arguments import join
from clio.commands.command import (
    Command,
    CommandResult,
    Confirm,
    EditText,
    ExportSession,
    FollowUp,
    LongWork,
    Prefill,
    SleepNow,
    WaitFor,
)
from clio.commands.dispatch import choose, forms
from clio.commands.session_commands import SESSIONS
from clio.config.command_line import Options, find_door
from clio.config.loaded import Loaded
from clio.entrypoints.cli_words import SWITCH, in_cli_words
from clio.entrypoints.light_shell import LightShell, needs_a_conversation
from clio.entrypoints.subcommand_output import ask, print_json, print_result, say
from clio.errors import ClioError, UsageError
from clio.storage.locks import sentence

_HELP_COLUMNS, _MIN_SUMMARY = 100, 20
_OPTIONS = """\
options that may stand anywhere before "--":
  --json                                print one JSON document
  --cwd FOLDER                          the project this folder is in
  --config FILE, --incognito, --no-ltm, --no-color, --debug   as everywhere
"""


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


def _table(word: str) -> tuple[Command, str]:
    """The commands of a door, and what they begin with. The door exists."""
    door = find_door(word)
    assert door is not None
    if door.name == SESSIONS.name:
        return SESSIONS, f"clio {door.name}"
    if door.name == "worktree":
        from clio.commands.subcommands import WORKTREE

        return WORKTREE, f"clio {door.name}"
    if door.name == "gc":
        from clio.commands.subcommands import GC

        return GC, f"clio {door.name}"
    if door.name == "import":
        from clio.commands.subcommands import IMPORT

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
        case Prefill(text=text) if text.startswith(SWITCH):
            best = text.removeprefix(SWITCH)
            answer = ask("Resume which (Enter: best, q: none)? ")
            if answer is None:
                say(f"resume it with: clio -r {best}")
                return 0
            return 0 if answer.strip().lower() == "q" else _resume(answer.strip() or best, options, loaded)
        case Prefill(text=text):
            say(f"next: {in_cli_words(text)}")
            return 0
        case _:
            raise needs_a_conversation()


def _resume(selector: str, options: Options, loaded: Loaded) -> int:
    from clio.entrypoints.repl import repl

    return repl.run(structs.replace(options, resume=selector), loaded)
