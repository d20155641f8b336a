"""The table of all slash commands, and the help, key list and completion generated from it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from clio.commands.arguments import OTHER_AGENTS_COMMANDS, suggest_name
from clio.commands.command import (
    Command,
    CommandContext,
    CommandResult,
    RunExpandedCommand,
    RunPrompt,
    Suggestion,
    Table,
    dispatch_command,
    find_by_name,
    format_command_usage,
    is_command,
    list_usages,
    make_refusal,
    quote_code,
    split_first_word,
)
from clio.commands.config_commands import CONFIG
from clio.commands.context_commands import CONTEXT, LAST
from clio.commands.cost_commands import COST
from clio.commands.extension_commands import AGENTS, HOOKS, SKILLS
from clio.commands.feedback_commands import FEEDBACK
from clio.commands.git_commands import GIT
from clio.commands.job_commands import JOBS
from clio.commands.loop_commands import LOOP
from clio.commands.mcp_commands import MCP
from clio.commands.memory.commands import MEMORY
from clio.commands.memory.documents import DOCS, NOTE
from clio.commands.memory.recall import RECALL
from clio.commands.plan_commands import PLAN, TODO
from clio.commands.plugin_commands import make_plugin_commands
from clio.commands.preference_commands import PREFS, SCENARIO
from clio.commands.schedule_commands import SCHEDULE
from clio.commands.session_commands import SESSION
from clio.commands.settings_commands import APPROVE, GENERAL, MODEL, THEME
from clio.commands.style_commands import STYLE
from clio.commands.undo_commands import CHECKPOINT
from clio.config.command_line import COMMANDS as SHELL_COMMANDS
from clio.config.command_line import find_subcommand
from clio.errors import UsageError
from clio.text.translation import mark, tr

_HELP_GROUPS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        mark("Model"),
        (
            ("model", mark("the model")),
            ("style", mark("wording")),
            ("skills", mark("instructions")),
            ("agents", mark("sub-agents")),
            ("jobs", mark("in the background")),
            ("schedule", mark("at set times")),
            ("loop", mark("repeats a message")),
            ("effort", mark("reasoning")),
            ("scenario", mark("task type")),
        ),
    ),
    (
        mark("Permissions"),
        (
            ("plan", mark("plan first")),
            ("approve", mark("approval mode")),
            ("hooks", mark("your commands")),
            ("trust", mark("this project")),
        ),
    ),
    (
        mark("Status"),
        (("todo", mark("tasks")), ("last", mark("results")), ("context", mark("window")), ("cost", mark("spending"))),
    ),
    (
        mark("Undo"),
        (("undo", mark("a turn")), ("redo", mark("it")), ("diff", mark("changes")), ("rewind", mark("further back"))),
    ),
    (mark("Git"), (("commit", mark("with a message")), ("review", mark("a change")), ("pr", mark("its text")))),
    (
        mark("Memory"),
        (
            ("memory", mark("this project")),
            ("prefs", mark("preferences")),
            ("note", mark("notes")),
            ("docs", mark("documents")),
            ("recall", mark("search all")),
            ("feedback", mark("+ or -")),
        ),
    ),
    (mark("Sessions"), (("session", mark("list, search, switch, name, fork, export")),)),
    (
        mark("Settings"),
        (
            ("config", mark("settings")),
            ("init", mark("a .clio folder")),
            ("theme", mark("colours")),
            ("mcp", mark("servers")),
            ("plugin", mark("extensions")),
            ("clear", mark("the screen")),
            ("help", mark("this")),
            ("exit", mark("clio")),
        ),
    ),
)
_INPUT_PREFIXES = mark("type a message · @path to add a file · !command to run it in a shell · #text to remember it")
_MAX_ADDED_LISTED = 8
HELP_FOOTER = mark("`/help COMMAND` shows one command, `/help keys` all keys. Esc interrupts, Ctrl-D exits.")


def make_help_table(names: Collection[str], added: Sequence[str] = ()) -> Table:
    """Return these commands, grouped; those in no group, and those not built in, have a row each."""
    rows = [(tr("Ask"), tr(_INPUT_PREFIXES))]
    known: set[str] = set()
    for label, commands in _HELP_GROUPS:
        offered = [(name, words) for name, words in commands if name in names]
        known |= {name for name, _ in offered}
        if offered:
            rows.append((tr(label), " · ".join(f"/{name} {tr(words)}" for name, words in offered)))
    if rest := [name for name in names if name not in known]:
        rows.append((tr("More"), " · ".join(f"/{name}" for name in rest)))
    if added:
        more = [tr("{count} more", count=len(added) - _MAX_ADDED_LISTED)] if len(added) > _MAX_ADDED_LISTED else []
        rows.append((tr("Custom"), " · ".join([*(f"/{name}" for name in added[:_MAX_ADDED_LISTED]), *more])))
    return Table(columns=(tr("topic"), tr("commands")), rows=tuple(rows), wide_column=1)


NO_CHANGES: Mapping[str, str] = {}


class Key(Struct, frozen=True, kw_only=True):
    """Keys with the same action.

    Attributes:
        bound: their names in the line editor if clio binds them itself.
        action: its name in the setting `keys`; "" if the key cannot be changed.
    """

    keys: str
    what: str
    bound: tuple[str, ...] = ()
    action: str = ""


KEYS: tuple[tuple[str, tuple[Key, ...]], ...] = (
    (
        mark("at the prompt"),
        (
            Key(
                keys="Enter",
                what=mark("sends; adds a line after an open bracket, an open ``` or a \\"),
                bound=("enter",),
            ),
            Key(keys="Enter", what=mark("on an empty line, with --screen-reader: reads the status")),
            Key(keys="Alt-Enter", what=mark("starts a new line"), bound=("escape enter",)),
            Key(keys="Tab", what=mark("completes commands, their options, @paths, @session: and @note:")),
            Key(keys="↑ ↓", what=mark("history; ↑ on an empty line edits the queued message"), bound=("up",)),
            Key(
                keys="Ctrl-R",
                what=mark("searches the history, including that of other projects"),
                bound=("c-r", "escape", "c-g"),
                action="history",
            ),
            Key(
                keys="Ctrl-G",
                what=mark("edits the line in $EDITOR; so do Ctrl-X Ctrl-E, and v in vi's normal mode"),
                bound=("c-g", "c-x c-e", "v"),
                action="editor",
            ),
            Key(keys="Ctrl-V", what=mark("pastes the image from the clipboard"), bound=("c-v",), action="picture"),
            Key(keys="Backspace", what=mark("deletes a pasted text as a whole"), bound=("backspace",)),
            Key(keys="Ctrl-C", what=mark("clears the line; Ctrl-_ restores it"), bound=("c-c",)),
            Key(keys="Ctrl-D", what=mark("exits, on an empty line")),
        ),
    ),
    (
        mark("at any time"),
        (
            Key(
                keys="Ctrl-O",
                what=mark("shows the last results in full, as /last does"),
                bound=("c-o",),
                action="output",
            ),
            Key(keys="Ctrl-T", what=mark("shows or hides the model's thinking"), action="reasoning"),
            Key(
                keys="Shift-Tab",
                what=mark("switches the approval mode: ask, edits, plan"),
                bound=("s-tab",),
                action="mode",
            ),
        ),
    ),
    (
        mark("while a turn runs"),
        (
            Key(keys="Esc Ctrl-C", what=mark("interrupts the step and what it started")),
            Key(keys="Enter", what=mark("queues the message until the turn ends")),
            Key(keys="Enter Enter", what=mark("sends it with the next request; so does a ! before it")),
            Key(keys="↑", what=mark("edits the queued message")),
        ),
    ),
    (
        mark("at a question"),
        (
            Key(keys="y s a n", what=mark("yes, for this session, always, no")),
            Key(keys="e h", what=mark("edit the change, decide hunk by hunk")),
            Key(keys=mark("any other"), what=mark("with --screen-reader: repeats the keys")),
            Key(keys="j k g G Space b", what=mark("scroll a long change, as the arrow and page keys do")),
        ),
    ),
)


def make_key_table(changed: Mapping[str, str] = NO_CHANGES) -> Table:
    """Return all keys, grouped by where they work. changed: the setting `keys`."""
    rows = [
        (tr(place) if number == 0 else "", _format_key(changed.get(key.action, "")) or tr(key.keys), tr(key.what))
        for place, keys in KEYS
        for number, key in enumerate(keys)
    ]  # fmt: skip
    return Table(columns=(tr("where"), tr("key"), tr("what it does")), rows=tuple(rows), wide_column=2)


def _format_key(name: str) -> str:
    """Return a key as users know it: "Ctrl-Y" for "c-y", "F2" for "f2"."""
    return "-".join({"c": "Ctrl", "s": "Shift"}.get(part, part.title()) for part in name.split("-"))


_MAX_PROBLEMS = 3


def show_help(ctx: CommandContext, argument: str) -> CommandResult:
    """Show an overview of all input, one command with its forms, or all keys."""
    if not argument:
        names = [command.name for command in COMMANDS]
        problem_lines = [f"- {problem}" for problem in ctx.added.problems()[:_MAX_PROBLEMS]]
        text = "\n".join([tr(HELP_FOOTER), "", *problem_lines]).strip()
        return CommandResult(
            table=make_help_table(names, [command.name for command in list_added_commands(ctx)]), text=text
        )
    word = argument.removeprefix("/").split()[0]
    if word.lower() in ("keys", "key"):
        return CommandResult(table=make_key_table(ctx.config.keys))
    command = find_command(word, ctx)
    if command is None:
        return make_refusal(
            tr(
                "There is no command {value!r}; {nearest_command}",
                value="/" + word,
                nearest_command=_find_nearest_command(word, ctx),
            )
        )
    rows = list_usages(command, f"/{command.name}")
    also = (
        tr(" Also: {value}.", value=", ".join(quote_code("/" + alias) for alias in command.aliases))
        if command.aliases
        else ""
    )
    also += tr(" From {source}.", source=quote_code(command.source)) if command.source else ""
    return CommandResult(
        text=f"{(summary := tr(command.summary))[0].upper()}{summary[1:]}.{also}",
        table=Table(columns=(tr("command"), tr("what it does")), rows=rows, wide_column=1, has_forms=True),
    )


def suggest_help_topics(ctx: CommandContext) -> Iterable[Suggestion]:
    """Complete command names and other help topics."""
    named = (
        Suggestion(text=command.name, note=tr(command.summary)) for command in (*COMMANDS, *list_added_commands(ctx))
    )
    return (*named, Suggestion(text="keys", note=tr("every key")))


COMMANDS: tuple[Command, ...] = (
    Command(
        name="help",
        argument="[COMMAND|keys]",
        summary=mark("list commands and keys"),
        handler=show_help,
        suggest=suggest_help_topics,
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
    *JOBS,
    *SCHEDULE,
    *LOOP,
    *make_plugin_commands(lambda name: find_command(name) is not None),
    *PLAN,
    *TODO,
    *CHECKPOINT,
    *GIT,
    *MCP,
    *HOOKS,
    *LAST,
    *THEME,
    *CONFIG,
    *GENERAL,
)


def run_command(ctx: CommandContext, line: str) -> CommandResult:
    """Run a line that begins with a slash; user errors become a result with one sentence."""
    name, argument = split_first_word(line.strip()[1:])
    command = find_command(name, ctx) if name else COMMANDS[0]
    if command is None:
        return make_refusal(
            tr(
                "There is no command {value!r}; {nearest_command}",
                value="/" + name,
                nearest_command=_find_nearest_command(name, ctx),
            )
        )
    asks_for_help = argument == "--help" or (argument == "help" and command.subcommands)
    if asks_for_help and find_by_name(command.subcommands, argument) is None:
        return show_help(ctx, command.name)
    return dispatch_command(ctx, command, argument, f"/{command.name}")


def run_added_command(ctx: CommandContext, line: str) -> RunExpandedCommand | RunPrompt | None:
    """Return the turn for a line that calls a skill, a review or a command not built in; None for any other line.

    Raises UsageError if the command was called wrongly, or if the line can only be a misspelt command.
    """
    if not is_command(line):
        return None
    name, argument = split_first_word(line.strip()[1:])
    may_start_turn = name == "review" or (name == "skills" and split_first_word(argument)[0] == "use")
    commands = list_added_commands(ctx)
    built_in = find_command(name) is not None and find_command(name) is find_command(name, ctx)
    if not may_start_turn and (not name or not commands or built_in):
        return None
    if find_command(name, ctx) is None:
        near = suggest_name(name, [command.name for command in commands], "/", otherwise="none")
        if near == "none":
            return None
        raise UsageError(tr("There is no command {value!r}; {near}", value="/" + name, near=near))
    result = run_command(ctx, line)
    if isinstance(result.follow_up, RunExpandedCommand | RunPrompt):
        return result.follow_up
    raise UsageError(result.text.replace("`", "") or tr("{value!r} does nothing here", value="/" + name))


def complete_command_line(ctx: CommandContext | None, text: str) -> Iterator[tuple[Suggestion, int]]:
    """Yield completions of the command line `text`, each with the number of characters it replaces.

    ctx is None while the app is loading: names are completed, arguments are not yet.
    """
    name, space, argument = text[1:].partition(" ")
    if not space:
        added = list_added_commands(ctx)
        hidden = {command.name.lower() for command in added}
        built_in = (command for command in COMMANDS if command.name not in hidden)
        yield from _complete_names(
            ((called, command) for command in built_in for called in _select_completed_names(command, name)), name, "/"
        )
        yield from _complete_names(((command.name, command) for command in added), name, "/")
        return
    command = find_command(name, ctx)
    if command is not None and command.subcommands:
        first, space, argument = argument.partition(" ")
        if not space:
            yield from _complete_names(((sub.name, sub) for sub in command.subcommands), first)
            return
        command = find_by_name(command.subcommands, first)
    if command is not None and ctx is not None:
        for suggestion in command.suggest(ctx):
            if suggestion.text.lower().startswith(argument.lower()):
                yield suggestion, len(argument)
        word = argument.rpartition(" ")[2]
        for suggestion in command.suggest_word(ctx, argument):
            if suggestion.text.lower().startswith(word.lower()):
                yield suggestion, len(word)


def find_command(name: str, ctx: CommandContext | None = None) -> Command | None:
    """Return the command of that name or alias; with a context also commands that are not built in."""
    built_in = find_by_name(COMMANDS, name)
    if built_in is not None and not built_in.is_overridable:
        return built_in
    return next((one for one in list_added_commands(ctx) if one.name.lower() == name.lower()), built_in)


def list_added_commands(ctx: CommandContext | None) -> tuple[Command, ...]:
    """Return the commands that are not built in, unless a built-in one has the same name; none without a context."""
    if ctx is None:
        return ()
    return tuple(command for command in ctx.added.all() if _is_callable_by_name(command))


def _is_callable_by_name(command: Command) -> bool:
    """Whether an added command can be called by its name."""
    built_in = find_by_name(COMMANDS, command.name)
    return built_in is None or (built_in.is_overridable and command.is_users_own)


def make_command_table() -> Table:
    """Return all commands in one table; the documentation includes it too."""
    rows = tuple((_format_short_usage(command), tr(command.summary)) for command in COMMANDS)
    return Table(columns=(tr("command"), tr("what it does")), rows=rows, wide_column=1)


def _format_short_usage(command: Command) -> str:
    if command.subcommands:
        return f"/{command.name} {'|'.join(sub.name for sub in command.subcommands if sub.name.isalpha())}"
    return format_command_usage("/" + command.name, command)


def _list_command_names(command: Command) -> tuple[str, ...]:
    return (command.name, *command.aliases)


def _select_completed_names(command: Command, typed: str) -> tuple[str, ...]:
    """Return the command's own name, or only its aliases if just these begin with the typed text: no duplicates."""
    return (command.name,) if command.name.startswith(typed.lower()) else command.aliases


def _find_nearest_command(name: str, ctx: CommandContext) -> str:
    """Return the end of the error message for an unknown command."""
    if elsewhere := OTHER_AGENTS_COMMANDS.get(name.lower()):
        return tr("use {elsewhere}", elsewhere=elsewhere)
    if find_subcommand(name.lower()) is not None or (name.lower(),) in SHELL_COMMANDS:
        return tr("use clio {name} in a shell", name=name.lower())
    return suggest_name(name, _list_all_names(ctx), "/", otherwise=tr("/help shows all of them"))


def _list_all_names(ctx: CommandContext) -> list[str]:
    commands = (*COMMANDS, *list_added_commands(ctx))
    # A plural such as /sessions beside /session would only be a second choice that means the same.
    return [
        name
        for command in commands
        for name in _list_command_names(command)
        if name == command.name or not name.startswith(command.name)
    ]


def _complete_names(
    named: Iterable[tuple[str, Command]], typed: str, prefix: str = ""
) -> Iterator[tuple[Suggestion, int]]:
    for name, command in named:
        if name.lower().startswith(typed.lower()):
            yield Suggestion(text=prefix + name, note=tr(command.summary)), len(prefix + typed)


# Command → first words of its argument for which it is read-only; "" is the bare command, None any argument.
_READ_ONLY_COMMANDS: dict[str, frozenset[str] | None] = {
    "help": None,
    "last": None,
    "cost": frozenset({"", "days", "projects", "prices"}),
    "context": frozenset({""}),
    "todo": frozenset({"", "all"}),
    "model": frozenset({""}),
    "approve": frozenset({""}),
    "scenario": frozenset({""}),
    "session": frozenset({"", "show", "list"}),
    "memory": frozenset({"", "list", "show", "count", "stats", "why", "history", "changes", "log"}),
    "note": frozenset({"", "list", "show"}),
    "docs": frozenset({"", "list"}),
    "prefs": frozenset({"", "top", "show", "keywords", "scenarios", "info"}),
    "skills": frozenset({"", "list", "show"}),
    "agents": frozenset({"", "list", "show", "report", "message", "diff"}),
    "jobs": frozenset({"", "list", "show", "logs"}),
    "schedule": frozenset({"", "list"}),
    "config": frozenset({"", "get"}),
    "plugin": frozenset({"", "list", "show"}),
    "style": frozenset({"", "list", "why", "show"}),
}


def is_read_only_command(line: str) -> bool:
    """Whether the line is a read-only command."""
    if not is_command(line):
        return False
    name, argument = split_first_word(line.strip()[1:])
    command = find_command(name) if name else None
    if command is None or command.name not in _READ_ONLY_COMMANDS:
        return not name
    words = _READ_ONLY_COMMANDS[command.name]
    return words is None or split_first_word(argument)[0].lower() in words
