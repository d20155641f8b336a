"""The command line: tables of flags and sub-commands, the parser, and the text of `--help`."""

import argparse
from collections.abc import Iterable, Mapping, Sequence

from clio.errors import UsageError
from clio.text.translation import mark, tr

_MIN_PREFIX_CHARS = 3


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of an error message, "; did you mean 'approve'?", or "" if no known word is similar.

    Similar is a word within a small edit distance, or, from three letters on, the only one with that prefix. Case,
    leading dashes and the kind of dash inside are ignored.
    """
    folded = {_fold(name): name for name in known}
    typed = _fold(word)
    with_prefix = [name for name in folded if len(typed) >= _MIN_PREFIX_CHARS and name.startswith(typed)]
    if len(with_prefix) == 1:
        return tr("; did you mean {folded!r}?", folded=folded[with_prefix[0]])
    from clio.text.fuzzy import find_nearest_name

    found = find_nearest_name(typed, folded)
    return tr("; did you mean {folded!r}?", folded=folded[found]) if found else ""


def _fold(word: str) -> str:
    return word.lower().lstrip("-").replace("-", "_")


class Subcommand:
    """One sub-command.

    Args:
        summary: a short phrase for `clio --help`; the rest is in `clio NAME --help`.
        is_shell_only: it is no command of a conversation.
    """

    def __init__(self, name: str, summary: str, *aliases: str, is_shell_only: bool = False) -> None:
        self.name = name
        self.summary = summary
        self.aliases = aliases
        self.is_shell_only = is_shell_only


SUBCOMMANDS = (
    Subcommand("auth", mark("API keys in the keyring: login, logout, status"), is_shell_only=True),
    Subcommand("config", mark("settings: get, set, unset")),
    Subcommand("cost", mark("spending by day and by project"), "costs"),
    Subcommand("docs", mark("documents that are included when relevant")),
    Subcommand("feedback", mark("rate the last answer: +, - or 0")),
    Subcommand("gc", mark("disk usage; --yes deletes what is no longer needed"), is_shell_only=True),
    Subcommand("import", mark("import sessions of claude, codex, gemini, aider, specstory, clio"), is_shell_only=True),
    Subcommand("jobs", mark("tasks that go on after the terminal is closed: start, list, ..."), "job"),
    Subcommand("mcp", mark("MCP servers: list, add, remove, test")),
    Subcommand("memory", mark("list, search and edit the memory of this project")),
    Subcommand("note", mark("notes stored under a key"), "notes"),
    Subcommand("plugin", mark("skills, hooks, servers from repositories: add, update"), "plugins"),
    Subcommand("prefs", mark("your preferences and hard limits"), "preferences"),
    Subcommand("recall", mark("search all memory")),
    Subcommand("schedule", mark("tasks at set times, by cron or systemd: add, list, remove"), "schedules"),
    Subcommand("sessions", mark("sessions of this project: list, search, export, ..."), "session"),
    Subcommand("skills", mark("instructions for certain tasks: list, show, new, add"), "skill"),
    Subcommand("style", mark("response styles and how you rated them"), "styles"),
    Subcommand("sync", mark("have one memory on several machines, through git"), is_shell_only=True),
    Subcommand("team-server", mark("memory of a team, in PostgreSQL: tokens, import, ..."), is_shell_only=True),
    Subcommand("worktree", "git worktrees beside this checkout: list, remove", "worktrees", is_shell_only=True),
)
# clio's general flags that may also follow a sub-command's name; all other arguments belong to the sub-command.
CONFIG_CHANGES = ("get", "set", "unset")
"""The second words of `clio config` that have arguments of their own, as in a conversation."""
SUBCOMMAND_FLAGS = frozenset("--incognito --no-ltm --no-color --debug --json -h --help".split())
VALUED_FLAGS = frozenset(("--cwd", "--config"))


_READING_CALLS = frozenset(
    {
        *("config show", "config path", "config get", "cost", "cost days", "cost projects", "cost prices"),
        *("completions bash", "completions zsh", "completions fish", "docs list", "docs search", "jobs list"),
        *("jobs logs", "jobs show", "mcp list", "memory changes", "memory history", "memory list", "memory search"),
        *("memory show", "memory stats", "memory why", "note list", "note search", "note show", "plugin list"),
        *("plugin show", "prefs show", "prefs top", "sessions list", "sessions search", "sessions show"),
        *("schedule list", "skills list", "skills show", "style list", "style show", "sync status", "worktree list"),
    }
)
"""Sub-commands that neither change what clio stores nor run anything, whatever their further arguments are."""


def is_reading_call(words: Sequence[str]) -> bool:
    """Whether a sub-command only reads; words: its name and its arguments."""
    plain = [word for word in words if not word.startswith("-")]
    found = find_subcommand(plain[0]) if plain else None
    names = [found.name, *plain[1:2]] if found else plain[:2]
    return " ".join(names) in _READING_CALLS or names[:1] in (["doctor"], ["recall"])


def find_subcommand(word: str) -> Subcommand | None:
    """Return the sub-command of that name or alias."""
    return next(
        (subcommand for subcommand in SUBCOMMANDS if word == subcommand.name or word in subcommand.aliases), None
    )


def is_mcp_server_command(words: Sequence[str]) -> bool:
    """Whether the words are `clio mcp` with flags only, which serves clio's memory to the program that started it."""
    if words[0] != "mcp" or "--help" in words or "-h" in words or "--http" in words:
        return False
    indexes = range(1, len(words))
    return all(words[index].startswith("-") or words[index - 1] in VALUED_FLAGS for index in indexes)


def is_plain_command(words: Sequence[str]) -> bool:
    """Whether the words are a command of COMMANDS although their first one is a sub-command's, too."""
    if words[0] == "config":
        return not any(word in CONFIG_CHANGES for word in words[1:2])
    return is_mcp_server_command(words)


def find_subcommand_index(argv: Sequence[str], valued: Mapping[str, bool]) -> int | None:
    """Return the index of a sub-command's name if it is the first word that is not a flag; else None.

    valued: the flags that take a value, and whether the value is optional.
    """
    index = 0
    while index < len(argv):
        word, following = argv[index], argv[index + 1 : index + 2]
        if not word.startswith("-"):
            return index if find_subcommand(word) and not is_plain_command(argv[index:]) else None
        optional = valued.get(word)
        has_value = optional is False or (optional and following and not following[0].startswith("-"))
        index += 2 if has_value else 1
    return None


def split_flags(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split off clio's own flags from a sub-command's words, up to `--`; return the flags and the other words."""
    own_flags: list[str] = []
    other_words: list[str] = []
    index = 0
    while index < len(words) and words[index] != "--":
        name, equals, _ = words[index].partition("=")
        length = 2 if name in VALUED_FLAGS and not equals else 1
        (own_flags if name in SUBCOMMAND_FLAGS | VALUED_FLAGS else other_words).extend(words[index : index + length])
        index += length
    return own_flags, [*other_words, *words[index:]]


class Arguments(argparse.Namespace):
    """The parsed arguments; a missing flag has its default.

    prompt: "" for `-p` without a value. words: the sub-command; for one of SUBCOMMANDS, with all its own arguments.
    """

    prompt: str | None = None
    continue_latest: bool = False
    resume: str | None = None
    fork: bool = False
    new: bool = False
    input: str | None = None
    output: str | None = None
    json_schema: str | None = None
    cwd: str | None = None
    worktree: str | None = None
    config: str | None = None
    model: str | None = None
    provider: str | None = None
    base_url: str | None = None
    api: str | None = None
    effort: str | None = None
    approve: str | None = None
    allow: Sequence[str] | None = None
    deny: Sequence[str] | None = None
    sandbox: str | None = None
    max_steps: str | None = None
    max_cost: str | None = None
    context_window: str | None = None
    no_ltm: bool = False
    no_instructions: bool = False
    no_hooks: bool = False
    scenario: str | None = None
    incognito: bool = False
    no_color: bool = False
    screen_reader: bool = False
    debug: bool = False
    json: bool = False
    fetch_encodings: bool = False
    live: bool = False
    read_only: bool = False
    check: bool = False
    yes: bool = False
    dry_run: bool = False
    help: bool = False
    version: bool = False
    words: Sequence[str] = ()


class Flag:
    """One flag.

    Attributes:
        metavar: None for a switch; in brackets if the value is optional, which is then "".
        field: the Config field it sets, and `value` the value a switch gives it.
        many: it may be given several times.
        only: the sub-commands it belongs to, if it is invalid elsewhere.
    """

    def __init__(
        self,
        names: str,
        summary: str,
        *,
        group: str,
        metavar: str | None = None,
        dest: str = "",
        field: str = "",
        value: bool = True,
        many: bool = False,
        only: tuple[str, ...] = (),
    ) -> None:
        self.names = tuple(names.split())
        self.summary = summary
        self.group = group
        self.metavar = metavar
        self.dest = dest or self.names[-1].lstrip("-").replace("-", "_")
        self.field = field
        self.value = value
        self.many = many
        self.only = only

    @property
    def long_name(self) -> str:
        """The name used in messages."""
        return self.names[-1]

    @property
    def usage(self) -> str:
        """The names as in help and reference: "-m, --model NAME"."""
        return ", ".join(self.names) + (f" {self.metavar}" if self.metavar else "")


_PROMPT, _SESSION, _MODEL, _LIMITS, _OTHER = (
    mark("prompt"),
    mark("session"),
    mark("model"),
    mark("permissions and limits"),
    mark("other options"),
)

FLAGS: tuple[Flag, ...] = (
    Flag("-p --prompt", mark("answer one prompt and exit; piped text is appended"), group=_PROMPT, metavar="[TEXT]"),
    Flag("--output", mark("form of the answer: text, json or stream-json"), group=_PROMPT, metavar="FORM"),
    Flag("--input", mark("format of piped input: text or stream-json"), group=_PROMPT, metavar="FORM"),
    Flag("--json-schema", mark("require JSON that matches the schema in this file"),
         group=_PROMPT, metavar="FILE"),
    Flag("--cwd", mark("start in this folder instead of the current one"), group=_PROMPT, metavar="FOLDER"),
    Flag("--worktree", mark("start in this git worktree; created if missing"),
         group=_PROMPT, metavar="NAME"),
    Flag("-c --continue", mark("continue the latest session in this project"), group=_SESSION, dest="continue_latest"),
    Flag(
        "-r --resume",
        mark("resume a session by id, name or number, or choose"),
        group=_SESSION,
        metavar="[SELECTOR]",
    ),
    Flag("--fork", mark("with -c or -r: continue in a copy of the session"), group=_SESSION),
    Flag("--new", mark("start a new session"), group=_SESSION),
    Flag("-m --model", mark("the model's name"), group=_MODEL, metavar="NAME", field="model"),
    Flag("--provider", mark("a named server, such as openai, ollama or offline"), group=_MODEL, metavar="NAME",
         field="provider"),
    Flag("--base-url", mark("the address of any other server"), group=_MODEL, metavar="URL", field="base_url"),
    Flag("--api", mark("protocol: auto, chat, responses or messages"), group=_MODEL, metavar="PROTOCOL",
         field="api"),
    Flag("--effort", mark("reasoning effort: auto, or from none to max"), group=_MODEL,
         metavar="LEVEL", field="effort"),
    Flag("--context-window", mark("the model's context window in tokens"), group=_MODEL, metavar="TOKENS",
         field="context_window"),
    Flag(
        "--approve", mark("approval mode: ask, edits, all or plan"),
        group=_LIMITS, metavar="MODE",
        field="approve",
    ),
    Flag("--allow", mark("a command that may run unasked, as 'git log *'"), group=_LIMITS, metavar="RULE",
         field="allow", many=True),
    Flag("--deny", mark("a command that never runs; both can be repeated"), group=_LIMITS, metavar="RULE",
         field="deny", many=True),
    Flag("--sandbox", mark("sandbox: auto, bwrap, landlock, seatbelt or off"),
         group=_LIMITS, metavar="LEVEL",
         field="sandbox"),
    Flag("--max-steps", mark("maximum number of requests in one turn"), group=_LIMITS, metavar="N", field="max_steps"),
    Flag("--max-cost", mark("maximum US dollars that this run may spend"),
         group=_LIMITS, metavar="USD", field="max_cost"),
    Flag("--no-ltm", mark("leave project memory out of the prompt"), group=_LIMITS, field="ltm", value=False),
    Flag("--no-instructions", mark("leave out AGENTS.md and similar files"), group=_LIMITS,
         field="instructions", value=False),
    Flag("--no-hooks", mark("do not run the commands in hooks.yaml"), group=_LIMITS, field="hooks", value=False),
    Flag("--scenario", mark("task type, such as coding (default: detected)"), group=_LIMITS, metavar="NAME",
         field="scenario"),
    Flag("--incognito", mark("save nothing and use no memory"), group=_LIMITS, field="incognito"),
    Flag("--config", mark("read this file instead of the user's config.yaml"), group=_OTHER, metavar="FILE"),
    Flag("--no-color", mark("no colour in the output"), group=_OTHER, field="color", value=False),
    Flag("--screen-reader", mark("plain lines for a screen reader, without redrawing"),
         group=_OTHER, field="screen_reader"),
    Flag("--debug", mark("show a traceback if clio fails"), group=_OTHER, field="debug"),
    Flag("--json", mark("with `doctor` and most others: print JSON"), group=_OTHER,
         only=("config", "doctor", "upgrade")),
    Flag("--check", mark("with `upgrade`: only look for a newer version"), group=_OTHER, only=("upgrade",)),
    Flag("--fetch-encodings", mark("with `doctor`: get exact token counts (4 MB)"), group=_OTHER,
         only=("doctor",)),
    Flag("--live", mark("with `doctor`: ask the model once (costs money)"), group=_OTHER,
         only=("doctor",)),
    Flag("--read-only", mark("with `mcp`: offer only tools that change nothing"), group=_OTHER, only=("mcp",)),
    Flag("--yes", mark("with `init` and `upgrade`: do not ask"), group=_OTHER,
         only=("init", "upgrade")),
    Flag("--dry-run", mark("with `init`: only show what would be written"), group=_OTHER, only=("init",)),
    Flag("--version", mark("print the version"), group=_OTHER),
    Flag("-h --help", mark("print this help"), group=_OTHER),
)  # fmt: skip
INPUT_FORMATS = ("text", "stream-json")
OUTPUT_FORMATS = ("text", "json", "stream-json")
COMMANDS: dict[tuple[str, ...], str] = {
    ("init",): mark("create .clio/ with settings and instructions"),
    ("config", "show"): mark("print every setting and where it comes from"),
    ("config", "path"): mark("print the paths of the configuration files"),
    ("config", "trust"): mark("trust this project's config"),
    ("doctor",): mark("check your setup"),
    ("completions", "bash"): mark("print the completion script for bash"),
    ("completions", "zsh"): mark("print the completion script for zsh"),
    ("completions", "fish"): mark("print the completion script for fish"),
    ("upgrade",): mark("look for a newer version and install it"),
    ("acp",): mark("serve an editor over ACP: Zed, JetBrains, Neovim"),
    ("mcp",): mark("serve this project's memory to other agents over MCP"),
}


def flag_name(field: str) -> str:
    """Return the flag that sets a Config field; "" if none does."""
    return next((flag.long_name for flag in FLAGS if flag.field == field), "")


def parse_arguments(argv: Sequence[str]) -> Arguments:
    """Parse the arguments; values stay text. Raises UsageError, which names the most similar flag or sub-command."""
    valued = {name: flag.metavar.startswith("[") for flag in FLAGS if flag.metavar for name in flag.names}
    index = find_subcommand_index(argv, valued)
    # After -p the words belong to the prompt, even if one of them is called like a sub-command.
    if index is not None and not any(word in ("-p", "--prompt") for word in argv[:index]):
        return _parse_subcommand(argv[:index], argv[index:])
    arguments, unknown = _make_parser().parse_known_intermixed_args(list(argv), Arguments())
    if arguments.help or arguments.version:
        return arguments
    if unknown:
        raise UsageError(_explain_unknown_flag(unknown[0]))
    _check_arguments(arguments)
    return arguments


def list_overrides(arguments: Arguments) -> dict[str, str | bool | tuple[str, ...]]:
    """Return the Config fields set by flags; repeatable flags with all their values."""
    found: dict[str, str | bool | tuple[str, ...]] = {}
    for flag in FLAGS:
        value: str | bool | Sequence[str] | None = getattr(arguments, flag.dest)
        if not flag.field or value is None or value is False:
            continue
        if isinstance(value, bool):
            found[flag.field] = flag.value
        else:
            found[flag.field] = decode_argument(value) if isinstance(value, str) else tuple(map(decode_argument, value))
    return found


def decode_argument(argument: str) -> str:
    """Return an argument as text: bytes the locale could not decode are decoded as UTF-8, and marked if they are
    invalid.
    """
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> "object":  # type: ignore[override]
        name, _, cause = message.removeprefix("argument ").partition(": ")
        if cause.startswith("expected one"):
            raise UsageError(tr("{name} needs a value; see clio --help", name=name))
        if cause.startswith("ignored explicit"):
            raise UsageError(tr("{name} takes no value; see clio --help", name=name))
        raise UsageError(tr("{value}; see clio --help", value=message))


def _make_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="clio",
        # Defaults are those of the class `Arguments`.
        argument_default=argparse.SUPPRESS,
        # argparse's own help is never shown. Without a width, it would import shutil to read the terminal's width.
        formatter_class=lambda prog: argparse.HelpFormatter(prog, width=80),
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument("words", nargs="*")
    for flag in FLAGS:
        if flag.metavar is None:
            parser.add_argument(*flag.names, dest=flag.dest, action="store_true")
        elif flag.metavar.startswith("["):
            parser.add_argument(*flag.names, dest=flag.dest, nargs="?", const="")
        elif flag.many:
            parser.add_argument(*flag.names, dest=flag.dest, action="append")
        else:
            parser.add_argument(*flag.names, dest=flag.dest)
    return parser


def _parse_subcommand(before: Sequence[str], words: Sequence[str]) -> Arguments:
    own_flags, other_words = split_flags(words[1:])
    arguments, unknown = _make_parser().parse_known_intermixed_args([*before, *own_flags], Arguments())
    if unknown:
        raise UsageError(_explain_unknown_flag(unknown[0]))
    for flag in FLAGS:
        foreign = flag.group in (_PROMPT, _SESSION, _MODEL) or flag.dest in ("yes", "dry_run")
        if foreign and flag.dest != "cwd" and getattr(arguments, flag.dest) not in (None, False):
            raise UsageError(
                tr(
                    "{long_name} is not an option of 'clio {words}'; see clio {words} --help",
                    long_name=flag.long_name,
                    words=words[0],
                )
            )
    arguments.words = tuple(map(decode_argument, (words[0], *other_words)))
    return arguments


def _check_arguments(arguments: Arguments) -> None:
    is_one_shot = arguments.prompt is not None
    given_flags = [name for name, on in (
        ("--continue", arguments.continue_latest),
        ("--resume", arguments.resume is not None),
        ("--new", arguments.new),
    ) if on]  # fmt: skip
    if len(given_flags) > 1:
        raise UsageError(
            tr(
                "{flag} and {other_flag} cannot be used together; use only one",
                flag=given_flags[0],
                other_flag=given_flags[1],
            )
        )
    if arguments.fork and not (arguments.continue_latest or arguments.resume is not None):
        raise UsageError(tr("--fork needs a session to copy; add -c or -r"))
    for name, value, known in (
        ("--output", arguments.output, OUTPUT_FORMATS),
        ("--input", arguments.input, INPUT_FORMATS),
    ):
        if value is not None and value not in known:
            hint = did_you_mean(value, known)
            raise UsageError(
                tr(
                    "{name} must be one of {known}, not {value!r}{hint}",
                    name=name,
                    known=", ".join(known),
                    value=value,
                    hint=hint,
                )
            )
    if arguments.words:
        _check_command(arguments.words, is_one_shot)
    if arguments.words and arguments.worktree is not None:
        raise UsageError(
            tr(
                "--worktree works only in a conversation or with -p, not with 'clio {words}'",
                words=" ".join(arguments.words),
            )
        )
    if arguments.fetch_encodings and list(arguments.words) != ["doctor"]:
        raise UsageError(tr("--fetch-encodings works only with 'clio doctor'"))
    if arguments.live and list(arguments.words) != ["doctor"]:
        raise UsageError(tr("--live works only with 'clio doctor'"))
    if arguments.read_only and list(arguments.words) != ["mcp"]:
        raise UsageError(tr("--read-only works only with 'clio mcp'; for a read-only conversation, use --approve plan"))
    if arguments.check and list(arguments.words) != ["upgrade"]:
        raise UsageError(tr("--check works only with 'clio upgrade'"))
    if arguments.dry_run and list(arguments.words) != ["init"]:
        raise UsageError(tr("--dry-run works only with 'clio init'"))
    if arguments.yes and list(arguments.words) not in (["init"], ["upgrade"]):
        raise UsageError(tr("--yes works only with 'clio init' and 'clio upgrade'"))
    if arguments.json and list(arguments.words[:1]) not in (["config"], ["doctor"], ["upgrade"]):
        *names, last = (subcommand.name for subcommand in SUBCOMMANDS)
        raise UsageError(
            tr(
                "--json works only with 'clio config show' and with clio doctor, upgrade, {names} and {last}; "
                "for a one-shot answer, use --output json",
                names=", ".join(names),
                last=last,
            )
        )
    _check_one_shot(arguments, asked=is_one_shot or arguments.input is not None)
    if is_one_shot and arguments.resume == "":
        raise UsageError(
            tr("--resume needs a session's id, name or number with -p, since a one-shot run never prompts")
        )


def _check_one_shot(arguments: Arguments, *, asked: bool) -> None:
    if arguments.output not in (None, "text") and not asked and not arguments.words:
        raise UsageError(tr("--output {output} needs a prompt; add -p TEXT", output=arguments.output))
    if arguments.json_schema is not None and not asked:
        raise UsageError(tr("--json-schema needs a prompt; add -p TEXT"))
    if arguments.input == "stream-json" and arguments.output != "stream-json":
        raise UsageError(tr("--input stream-json needs --output stream-json, which shows where each turn ends"))
    if arguments.input == "stream-json" and arguments.json_schema is not None:
        raise UsageError(tr("--json-schema works for a single answer; leave out --input stream-json"))


_FOREIGN_COMMANDS: dict[str, str] = {
    "ask": mark("clio -p 'what to do'"),
    "chat": "clio",
    "continue": "clio -c",
    "exec": mark("clio -p 'what to do'"),
    "help": "clio --help",
    "history": mark("clio sessions list"),
    "list": mark("clio sessions list"),
    "login": mark("clio auth login SERVER, or a key in the environment, such as OPENAI_API_KEY"),
    "resume": "clio -r",
    "run": mark("clio -p 'what to do'"),
    "start": "clio",
    "status": mark("clio doctor"),
    "update": mark("clio upgrade"),
    "version": "clio --version",
}
"""Sub-commands of other agents and clio's equivalent; must not contain a sub-command of clio."""


def _check_command(words: Sequence[str], one_shot: bool) -> None:
    if tuple(words) in COMMANDS and not one_shot:
        return
    known = [
        *(" ".join(command) for command in COMMANDS),
        *(f"config {change}" for change in CONFIG_CHANGES),
        *(subcommand.name for subcommand in SUBCOMMANDS),
    ]
    text = " ".join(words)
    if one_shot:
        raise UsageError(tr("unexpected argument {text!r}; put the whole prompt in quotes after -p", text=text))
    if len(words) == 1 and (forms := [name for name in known if name.startswith(f"{words[0]} ")]):
        raise UsageError(
            tr("'clio {words}' is incomplete; use one of: {forms}", words=words[0], forms=", ".join(forms))
        )
    if equivalent := _FOREIGN_COMMANDS.get(text.lower()):
        raise UsageError(tr("unknown sub-command {text!r}; use {equivalent}", text=text, equivalent=equivalent))
    first_words = dict.fromkeys(name.split()[0] for name in known)
    hint = did_you_mean(text, known) or did_you_mean(words[0], first_words)
    # Of more than three words it may be either: `clio memroy add …`, or a question without -p and quotes.
    if hint and len(words) <= 3:
        raise UsageError(tr("unknown sub-command {text!r}{hint}", text=text, hint=hint))
    named, end = (words[0], f"{hint} To") if hint else (text, "; to")
    raise UsageError(
        tr(
            "unknown sub-command {named!r}{end} ask something, put it in quotes after -p: clio -p 'what to do'",
            named=named,
            end=end,
        )
    )


def _explain_unknown_flag(flag: str) -> str:
    name = flag.partition("=")[0]
    hint = did_you_mean(name, [entry.long_name for entry in FLAGS]) if len(name) > 2 else ""
    return tr("unknown option {name!r}{hint}", name=name, hint=hint or tr("; see clio --help"))


_USAGE = mark("""\
clio, a terminal coding agent that remembers.
usage: clio [options]          a conversation in this project
       clio -p TEXT [options]  one answer: git diff | clio -p "review this\"""")
_FOOTER = mark("""\
exit codes: 1 failed, 2 usage, 3 too large, 4 approval, 5 cost, 6 hook, 7 schema
settings:   ~/.clio/config.yaml, .clio/config.yaml, environment (CLIO_...)
""")
COMMAND_FAMILIES = {
    "config": mark("list, get and set settings; trust this project's"),
    "completions": mark("print the completion script for that shell"),
    "mcp": mark("serve this memory over MCP; manage MCP servers"),
}
_EVERYWHERE = mark("options of every sub-command: --cwd FOLDER, --config FILE, --no-color, --debug; see clio --help")


def command_help_text(words: Sequence[str]) -> str:
    """Return the help of a sub-command in COMMANDS: its forms and its options. Raises UsageError for another word."""
    forms = {command: summary for command, summary in COMMANDS.items() if command[0] == words[0]}
    if not forms:
        _check_command(words, one_shot=False)
    # In `clio --help` these summaries begin with "with `doctor`: ".
    options = [(flag.usage, tr(flag.summary).partition(": ")[2]) for flag in FLAGS if words[0] in flag.only]
    parts = [_format_group("usage", [(f"clio {' '.join(command)}", summary) for command, summary in forms.items()])]
    if options:
        parts.append(_format_group(mark("options"), options))
    return "\n\n".join((*parts, tr(_EVERYWHERE))) + "\n"


_SUBCOMMANDS_NOTE = mark("also /NAME in a conversation; see clio NAME --help")
_SHELL_ONLY_NOTE = mark("in a shell only:")
_HELP_COLUMNS = 80
_USAGE_WIDTH = 27


def help_text() -> str:
    """Return the help text: at most 64 lines of 80 columns, with every flag and every sub-command once."""
    families = dict.fromkeys(words[0] for words in COMMANDS)
    commands = [(_format_usage(first), COMMAND_FAMILIES.get(first) or COMMANDS[first,]) for first in families]
    parts = [
        tr(_USAGE),
        _format_group(tr("without a conversation"), commands),
        *_format_others([subcommand for subcommand in SUBCOMMANDS if subcommand.name not in families]),
    ]
    for group in dict.fromkeys(flag.group for flag in FLAGS):
        parts.append(_format_group(group, [(flag.usage, flag.summary) for flag in FLAGS if flag.group == group]))
    return "\n".join((*parts, tr(_FOOTER)))


def _format_others(subcommands: Sequence[Subcommand]) -> list[str]:
    """Return lines with the names of these sub-commands, those that are no commands of a conversation last."""
    note = f"  {'clio NAME':<{_USAGE_WIDTH - 1}}  {tr(_SUBCOMMANDS_NOTE)}"
    shell = [one.name for one in subcommands if one.is_shell_only]
    both = [one.name for one in subcommands if not one.is_shell_only]
    return [note, *_wrap_names("", both), *_wrap_names(f"{tr(_SHELL_ONLY_NOTE)} ", shell)]


def _wrap_names(before: str, names: Sequence[str]) -> list[str]:
    lines = [before]
    for name in names:
        if len(lines[-1]) + len(name) > _HELP_COLUMNS - len("    , "):
            lines.append("")
        lines[-1] += f"{name}, "
    return [f"    {line.rstrip()}" for line in "\n".join(lines).rstrip(", ").split("\n")]


def _format_usage(first: str) -> str:
    """Return a sub-command with all its second words: "clio config show|path|trust"."""
    forms = [words[1] for words in COMMANDS if words[0] == first and words[1:]]
    return f"clio {first} {'|'.join([*forms, *(CONFIG_CHANGES if first == 'config' else ())])}".rstrip()


def _format_group(name: str, rows: list[tuple[str, str]]) -> str:
    lines = [f"{tr(name)}:"]
    for usage, summary in rows:
        lines += [f"  {usage}", ""] if len(usage) >= _USAGE_WIDTH else [f"  {usage}"]
        lines[-1] = f"{lines[-1]:<{_USAGE_WIDTH + 3}}{tr(summary)}"
    return "\n".join(lines)
