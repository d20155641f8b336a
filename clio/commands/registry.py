"""The table of all slash commands, and the three things read from it: dispatch, help and completion."""

from collections.abc import Iterable, Iterator

from clio.commands.called import MakePrompt
from clio.commands.command import Command, Shell, Suggestion
from clio.commands.context_commands import CONTEXT
from clio.commands.cost_commands import COST
from clio.commands.dispatch import among, carry_out, forms, split, usage
from clio.commands.extensions.agents import AGENTS
from clio.commands.extensions.hooks import HOOKS
from clio.commands.extensions.mcp import MCP
from clio.commands.extensions.skills import SKILLS
from clio.commands.follow_ups import RunPrompt
from clio.commands.general import APPROVE, GENERAL
from clio.commands.git.commands import GIT
from clio.commands.help_page import NEXT, help_table
from clio.commands.key_table import key_table
from clio.commands.last_commands import LAST
from clio.commands.markdown_code import code
from clio.commands.matching import ELSEWHERE, nearest
from clio.commands.memory.commands import MEMORY
from clio.commands.memory.documents import DOCS
from clio.commands.memory.notes import NOTE
from clio.commands.memory.recall import RECALL
from clio.commands.model_commands import MODEL
from clio.commands.preferences.commands import PREFS
from clio.commands.preferences.scenarios import SCENARIO
from clio.commands.result import CommandResult, refuse
from clio.commands.sessions.commands import SESSION
from clio.commands.slash import is_command
from clio.commands.styles.commands import STYLE
from clio.commands.styles.feedback import FEEDBACK
from clio.commands.tables import Table
from clio.commands.theme_commands import THEME
from clio.commands.undo.commands import CHECKPOINT
from clio.commands.work.plan import PLAN
from clio.commands.work.todo import TODO
from clio.errors import UsageError

_MAX_PROBLEMS = 3


def show_help(shell: Shell, argument: str) -> CommandResult:
    """What can be typed on one screen, one command with its forms, or all keys."""
    if not argument:
        names = [command.name for command in COMMANDS]
        told = [f"- {problem}" for problem in shell.added.problems()[:_MAX_PROBLEMS]]
        text = "\n".join([NEXT, "", *told]).strip()
        return CommandResult(table=help_table(names, [command.name for command in added(shell)]), text=text)
    word = argument.removeprefix("/").split()[0]
    if word.lower() in ("keys", "key"):
        return CommandResult(table=key_table())
    command = find(word, shell)
    if command is None:
        return refuse(f"There is no command {'/' + word!r}; {_nearest_command(word, shell)}")
    rows = forms(command, f"/{command.name}")
    also = f" Also: {', '.join(code('/' + alias) for alias in command.aliases)}." if command.aliases else ""
    also += f" From {code(command.source)}." if command.source else ""
    return CommandResult(
        text=f"{command.summary[0].upper()}{command.summary[1:]}.{also}",
        table=Table(columns=("command", "what it does"), rows=rows, wide=1),
    )


def suggest_names(shell: Shell) -> Iterable[Suggestion]:
    """The commands' names, and what else there is help on."""
    named = (Suggestion(text=command.name, note=command.summary) for command in (*COMMANDS, *added(shell)))
    return (*named, Suggestion(text="keys", note="every key"))


COMMANDS: tuple[Command, ...] = (
    Command(
        name="help",
        argument="[COMMAND|keys]",
        summary="what can be typed here",
        handler=show_help,
        suggest=suggest_names,
    ),
    *MODEL,
    *APPROVE,
    *SESSION,
    *CONTEXT,
    *COST,
    *MEMORY,
    *NOTE,
    *DOCS,
    *PREFS,
    *SCENARIO,
    *RECALL,
    *FEEDBACK,
    *STYLE,
    *SKILLS,
    *AGENTS,
    *PLAN,
    *TODO,
    *CHECKPOINT,
    *GIT,
    *MCP,
    *HOOKS,
    *LAST,
    *THEME,
    *GENERAL,
)


def run_command(shell: Shell, line: str) -> CommandResult:
    """Carry out one line that starts with a slash; what a person got wrong comes back as a sentence."""
    name, argument = split(line.strip()[1:])
    command = find(name, shell) if name else COMMANDS[0]
    if command is None:
        return refuse(f"There is no command {'/' + name!r}; {_nearest_command(name, shell)}")
    return carry_out(shell, command, argument, f"/{command.name}")


def added_prompt(shell: Shell, line: str) -> MakePrompt | RunPrompt | None:
    """The turn a line asks for that calls a command which is not built in, a skill, or a review; None for any other.

    Raises UsageError where the command was called wrongly, or where the line can only mean one that is misspelt.
    """
    if not is_command(line):
        return None
    name, argument = split(line.strip()[1:])
    begins = name == "review" or (name == "skills" and split(argument)[0] == "use")
    commands = added(shell)
    built_in = find(name) is not None and find(name) is find(name, shell)
    if not begins and (not name or not commands or built_in):
        return None
    if find(name, shell) is None:
        near = nearest(name, [command.name for command in commands], "/", otherwise="none")
        if near == "none":
            return None
        raise UsageError(f"There is no command {'/' + name!r}; {near}")
    result = run_command(shell, line)
    if isinstance(result.follow_up, MakePrompt | RunPrompt):
        return result.follow_up
    raise UsageError(result.text.replace("`", "") or f"{'/' + name!r} does nothing here")


def complete(shell: Shell | None, text: str) -> Iterator[tuple[Suggestion, int]]:
    """Ways to go on with the command line `text`, each with the number of characters it replaces.

    shell is None while the rest of clio is still loading: names are offered, arguments not yet.
    """
    name, space, argument = text[1:].partition(" ")
    if not space:
        theirs = added(shell)
        hidden = {command.name.lower() for command in theirs}
        ours = (command for command in COMMANDS if command.name not in hidden)
        yield from _starting(((called, command) for command in ours for called in _offered(command, name)), name, "/")
        yield from _starting(((command.name, command) for command in theirs), name, "/")
        return
    command = find(name, shell)
    if command is not None and command.subcommands:
        first, space, argument = argument.partition(" ")
        if not space:
            yield from _starting(((sub.name, sub) for sub in command.subcommands), first)
            return
        command = among(command.subcommands, first)
    if command is not None and shell is not None:
        for suggestion in command.suggest(shell):
            if suggestion.text.lower().startswith(argument.lower()):
                yield suggestion, len(argument)
        word = argument.rpartition(" ")[2]
        for suggestion in command.suggest_word(shell, argument):
            if suggestion.text.lower().startswith(word.lower()):
                yield suggestion, len(word)


def find(name: str, shell: Shell | None = None) -> Command | None:
    """The command of that name or alias; with a shell also one that is not built in."""
    built_in = among(COMMANDS, name)
    if built_in is not None and not built_in.yields:
        return built_in
    return next((one for one in added(shell) if one.name.lower() == name.lower()), built_in)


def added(shell: Shell | None) -> tuple[Command, ...]:
    """The commands that are not built in and not hidden by one that is; none without a shell."""
    if shell is None:
        return ()
    return tuple(command for command in shell.added.all() if _counts(command))


def _counts(command: Command) -> bool:
    """Whether an added command is reached by its name."""
    built_in = among(COMMANDS, command.name)
    return built_in is None or (built_in.yields and command.own)


def command_table() -> Table:
    """All commands on one page; the documentation prints it too."""
    rows = tuple((_short_usage(command), command.summary) for command in COMMANDS)
    return Table(columns=("command", "what it does"), rows=rows, wide=1)


def _short_usage(command: Command) -> str:
    if command.subcommands:
        return f"/{command.name} {'|'.join(sub.name for sub in command.subcommands)}"
    return usage("/" + command.name, command)


def _called(command: Command) -> tuple[str, ...]:
    return (command.name, *command.aliases)


def _offered(command: Command, typed: str) -> tuple[str, ...]:
    """The command's own name, or its aliases where only those can begin as what was typed: never the same twice."""
    return (command.name,) if command.name.startswith(typed.lower()) else command.aliases


def _nearest_command(name: str, shell: Shell) -> str:
    """The end of the sentence about a command that is none."""
    if elsewhere := ELSEWHERE.get(name.lower()):
        return f"here that is {elsewhere}"
    return nearest(name, _names(shell), "/", otherwise="/help shows all of them")


def _names(shell: Shell) -> list[str]:
    return [name for command in (*COMMANDS, *added(shell)) for name in _called(command)]


def _starting(named: Iterable[tuple[str, Command]], typed: str, prefix: str = "") -> Iterator[tuple[Suggestion, int]]:
    for name, command in named:
        if name.lower().startswith(typed.lower()):
            yield Suggestion(text=prefix + name, note=command.summary), len(prefix + typed)
