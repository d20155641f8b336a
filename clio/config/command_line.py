"""The command line: tables of flags and sub-commands, the parser, and the text of `--help`."""

import argparse
from collections.abc import Iterable, Mapping, Sequence

from clio.errors import UsageError

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
        return f"; did you mean {folded[with_prefix[0]]!r}?"
    from clio.text.fuzzy import find_nearest_name

    found = find_nearest_name(typed, folded)
    return f"; did you mean {folded[found]!r}?" if found else ""


def _fold(word: str) -> str:
    return word.lower().lstrip("-").replace("-", "_")


class Subcommand:
    """One sub-command. summary: a short phrase for `clio --help`; the rest is in `clio NAME --help`."""

    def __init__(self, name: str, summary: str, *aliases: str) -> None:
        self.name = name
        self.summary = summary
        self.aliases = aliases


SUBCOMMANDS = (
    Subcommand("cost", "spending by day and by project", "costs"),
    Subcommand("docs", "documents that are included when relevant"),
    Subcommand("feedback", "rate the last answer: +, - or 0"),
    Subcommand("gc", "disk usage; --yes deletes what is no longer needed"),
    Subcommand("import", "import sessions of claude, codex, gemini, aider, clio"),
    Subcommand("mcp", "MCP servers: list, add, remove, test"),
    Subcommand("memory", "list, search and edit the memory of this project"),
    Subcommand("note", "notes stored under a key", "notes"),
    Subcommand("prefs", "your preferences and hard limits", "preferences"),
    Subcommand("recall", "search everything that is remembered"),
    Subcommand("sessions", "sessions of this project: list, search, export, ...", "session"),
    Subcommand("skills", "instructions for kinds of work: list, show, new"),
    Subcommand("style", "response styles and what was learned about them", "styles"),
    Subcommand("worktree", "git worktrees beside this checkout: list, remove", "worktrees"),
)
# clio's general flags that may also follow a sub-command's name; all other arguments belong to the sub-command.
SUBCOMMAND_FLAGS = frozenset("--incognito --no-ltm --no-color --debug --json -h --help".split())
VALUED_FLAGS = frozenset(("--cwd", "--config"))


def find_subcommand(word: str) -> Subcommand | None:
    """Return the sub-command of that name or alias."""
    return next(
        (subcommand for subcommand in SUBCOMMANDS if word == subcommand.name or word in subcommand.aliases), None
    )


def is_mcp_server_command(words: Sequence[str]) -> bool:
    """Whether the words are `clio mcp` with flags only, which serves clio's memory to other programs."""
    if words[0] != "mcp" or "--help" in words or "-h" in words:
        return False
    indexes = range(1, len(words))
    return all(words[index].startswith("-") or words[index - 1] in VALUED_FLAGS for index in indexes)


def find_subcommand_index(argv: Sequence[str], valued: Mapping[str, bool]) -> int | None:
    """Return the index of a sub-command's name if it is the first word that is not a flag; else None.

    valued: the flags that take a value, and whether the value is optional.
    """
    index = 0
    while index < len(argv):
        word, following = argv[index], argv[index + 1 : index + 2]
        if not word.startswith("-"):
            return index if find_subcommand(word) and not is_mcp_server_command(argv[index:]) else None
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
    "prompt",
    "session",
    "model",
    "permissions and limits",
    "other options",
)

FLAGS: tuple[Flag, ...] = (
    Flag("-p --prompt", "answer one prompt and exit; piped text is appended", group=_PROMPT, metavar="[TEXT]"),
    Flag("--output", "format of a one-shot answer: text, json or stream-json", group=_PROMPT, metavar="FORM"),
    Flag("--input", "format of piped input: text or stream-json", group=_PROMPT, metavar="FORM"),
    Flag("--json-schema", "require a JSON answer that matches the schema in this file", group=_PROMPT, metavar="FILE"),
    Flag("--cwd", "start in this folder instead of the current one", group=_PROMPT, metavar="FOLDER"),
    Flag("--worktree", "start in the git worktree of that name; creates it if missing", group=_PROMPT, metavar="NAME"),
    Flag("-c --continue", "continue the latest session in this project", group=_SESSION, dest="continue_latest"),
    Flag(
        "-r --resume", "resume a session by id, prefix, name or number; without one, choose", group=_SESSION,
        metavar="[SELECTOR]",
    ),
    Flag("--fork", "with -c or -r: continue in a copy of the session", group=_SESSION),
    Flag("--new", "start a new session", group=_SESSION),
    Flag("-m --model", "the model's name", group=_MODEL, metavar="NAME", field="model"),
    Flag("--provider", "a named server, such as openai, ollama or offline", group=_MODEL, metavar="NAME",
         field="provider"),
    Flag("--base-url", "the address of any other server", group=_MODEL, metavar="URL", field="base_url"),
    Flag("--api", "the server's protocol: auto, chat, responses or messages", group=_MODEL, metavar="PROTOCOL",
         field="api"),
    Flag("--effort", "reasoning effort: auto, none, minimal, low, medium, high, xhigh, max", group=_MODEL,
         metavar="LEVEL", field="effort"),
    Flag("--context-window", "the model's context window in tokens", group=_MODEL, metavar="TOKENS",
         field="context_window"),
    Flag(
        "--approve", "approval mode for writes and commands: ask, edits, all or plan", group=_LIMITS, metavar="MODE",
        field="approve",
    ),
    Flag("--allow", "a command that runs without asking, such as 'git log *'", group=_LIMITS, metavar="RULE",
         field="allow", many=True),
    Flag("--deny", "a command that never runs; --allow and --deny can be repeated", group=_LIMITS, metavar="RULE",
         field="deny", many=True),
    Flag("--sandbox", "sandbox for commands: auto, bwrap, landlock, seatbelt or off", group=_LIMITS, metavar="LEVEL",
         field="sandbox"),
    Flag("--max-steps", "maximum number of requests in one turn", group=_LIMITS, metavar="N", field="max_steps"),
    Flag("--max-cost", "maximum US dollars that this run may spend", group=_LIMITS, metavar="USD", field="max_cost"),
    Flag("--no-ltm", "leave project memory out of the prompt", group=_LIMITS, field="ltm", value=False),
    Flag("--no-instructions", "leave AGENTS.md and similar files out of the prompt", group=_LIMITS,
         field="instructions", value=False),
    Flag("--no-hooks", "do not run the commands in hooks.yaml", group=_LIMITS, field="hooks", value=False),
    Flag("--scenario", "task type, such as coding; by default detected per turn", group=_LIMITS, metavar="NAME",
         field="scenario"),
    Flag("--incognito", "save nothing and use no memory", group=_LIMITS, field="incognito"),
    Flag("--config", "read this file instead of the user's config.yaml", group=_OTHER, metavar="FILE"),
    Flag("--no-color", "no colour on the screen", group=_OTHER, field="color", value=False),
    Flag("--screen-reader", "plain lines for a screen reader, without redrawing", group=_OTHER, field="screen_reader"),
    Flag("--debug", "show a traceback when clio fails", group=_OTHER, field="debug"),
    Flag("--json", "with `config show`, `doctor`, `memory` and others: print JSON", group=_OTHER,
         only=("config", "doctor")),
    Flag("--fetch-encodings", "with `doctor`: download the file for exact token counts (4 MB)", group=_OTHER,
         only=("doctor",)),
    Flag("--live", "with `doctor`: send the model one small request, which costs money", group=_OTHER,
         only=("doctor",)),
    Flag("--read-only", "with `mcp`: offer only tools that change nothing", group=_OTHER, only=("mcp",)),
    Flag("--yes", "with `init`: add the line to .gitignore without asking", group=_OTHER, only=("init",)),
    Flag("--dry-run", "with `init`: only show what would be written", group=_OTHER, only=("init",)),
    Flag("--version", "print the version", group=_OTHER),
    Flag("-h --help", "print this help", group=_OTHER),
)  # fmt: skip
INPUT_FORMATS = ("text", "stream-json")
OUTPUT_FORMATS = ("text", "json", "stream-json")
COMMANDS: dict[tuple[str, ...], str] = {
    ("init",): "create .clio/ in this project: settings and instructions to fill in",
    ("config", "show"): "print every setting and where it comes from",
    ("config", "path"): "print the paths of the configuration files",
    ("config", "trust"): "trust this project's config",
    ("doctor",): "check your setup",
    ("completions", "bash"): "print the completion script for bash",
    ("completions", "zsh"): "print the completion script for zsh",
    ("completions", "fish"): "print the completion script for fish",
    ("acp",): "run as an editor's agent over ACP: Zed, JetBrains, Neovim",
    ("mcp",): "serve this project's memory to other agents over MCP",
}


def flag_name(field: str) -> str:
    """Return the flag that sets a Config field."""
    return next(flag.long_name for flag in FLAGS if flag.field == field)


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
            raise UsageError(f"{name} needs a value; see clio --help")
        if cause.startswith("ignored explicit"):
            raise UsageError(f"{name} takes no value; see clio --help")
        raise UsageError(f"{message}; see clio --help")


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
            raise UsageError(f"{flag.long_name} does not belong to 'clio {words[0]}'; see clio {words[0]} --help")
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
        raise UsageError(f"{given_flags[0]} and {given_flags[1]} exclude each other; give one of them")
    if arguments.fork and not (arguments.continue_latest or arguments.resume is not None):
        raise UsageError("--fork needs the session to copy: add -c or -r")
    for name, value, known in (
        ("--output", arguments.output, OUTPUT_FORMATS),
        ("--input", arguments.input, INPUT_FORMATS),
    ):
        if value is not None and value not in known:
            hint = did_you_mean(value, known)
            raise UsageError(f"{name} must be one of {', '.join(known)}, not {value!r}{hint}")
    if arguments.words:
        _check_command(arguments.words, is_one_shot)
    if arguments.words and arguments.worktree is not None:
        raise UsageError(f"--worktree is for a conversation or -p, not for 'clio {' '.join(arguments.words)}'")
    if arguments.fetch_encodings and list(arguments.words) != ["doctor"]:
        raise UsageError("--fetch-encodings belongs to 'clio doctor'")
    if arguments.live and list(arguments.words) != ["doctor"]:
        raise UsageError("--live belongs to 'clio doctor'")
    if arguments.read_only and list(arguments.words) != ["mcp"]:
        raise UsageError("--read-only belongs to 'clio mcp'; a conversation that writes nothing is --approve plan")
    for flag, given_flags in (("--yes", arguments.yes), ("--dry-run", arguments.dry_run)):
        if given_flags and list(arguments.words) != ["init"]:
            raise UsageError(f"{flag} belongs to 'clio init'")
    if arguments.json and list(arguments.words[:1]) not in (["config"], ["doctor"]):
        *names, last = (subcommand.name for subcommand in SUBCOMMANDS)
        raise UsageError(
            f"--json belongs to 'clio config show' and to clio doctor, {', '.join(names)} and {last}; "
            "for a one-shot answer it is --output json"
        )
    _check_one_shot(arguments, asked=is_one_shot or arguments.input is not None)
    if is_one_shot and arguments.resume == "":
        raise UsageError("--resume needs a session's id, name or number with -p, since a one-shot run never prompts")


def _check_one_shot(arguments: Arguments, *, asked: bool) -> None:
    if arguments.output not in (None, "text") and not asked and not arguments.words:
        raise UsageError(f"--output {arguments.output} needs a prompt; add -p TEXT")
    if arguments.json_schema is not None and not asked:
        raise UsageError("--json-schema needs a prompt; add -p TEXT")
    if arguments.input == "stream-json" and arguments.output != "stream-json":
        raise UsageError("--input stream-json needs --output stream-json, which shows where each turn ends")
    if arguments.input == "stream-json" and arguments.json_schema is not None:
        raise UsageError("--json-schema is for one answer; leave out --input stream-json")


_FOREIGN_COMMANDS: dict[str, str] = {
    "ask": "clio -p 'what to do'",
    "chat": "clio",
    "continue": "clio -c",
    "exec": "clio -p 'what to do'",
    "help": "clio --help",
    "history": "clio sessions list",
    "list": "clio sessions list",
    "login": "a key in the environment, such as OPENAI_API_KEY; clio doctor checks it",
    "resume": "clio -r",
    "run": "clio -p 'what to do'",
    "start": "clio",
    "status": "clio doctor",
    "version": "clio --version",
}
"""Sub-commands of other agents and clio's equivalent; must not contain a sub-command of clio."""


def _check_command(words: Sequence[str], one_shot: bool) -> None:
    if tuple(words) in COMMANDS and not one_shot:
        return
    known = [*(" ".join(command) for command in COMMANDS), *(subcommand.name for subcommand in SUBCOMMANDS)]
    text = " ".join(words)
    if one_shot:
        raise UsageError(f"{text!r} does not belong to the prompt; put the whole prompt in quotes after -p")
    if len(words) == 1 and (forms := [name for name in known if name.startswith(f"{words[0]} ")]):
        raise UsageError(f"'clio {words[0]}' needs one more word: {', '.join(forms)}")
    if equivalent := _FOREIGN_COMMANDS.get(text.lower()):
        raise UsageError(f"unknown sub-command {text!r}; use {equivalent}")
    first_words = dict.fromkeys(name.split()[0] for name in known)
    hint = did_you_mean(text, known) or did_you_mean(words[0], first_words)
    # Of more than three words it may be either: `clio memroy add …`, or a question without -p and quotes.
    if hint and len(words) <= 3:
        raise UsageError(f"unknown sub-command {text!r}{hint}")
    named, end = (words[0], f"{hint} To") if hint else (text, "; to")
    raise UsageError(
        f"unknown sub-command {named!r}{end} ask something, put it in quotes after -p: clio -p 'what to do'"
    )


def _explain_unknown_flag(flag: str) -> str:
    name = flag.partition("=")[0]
    hint = did_you_mean(name, [entry.long_name for entry in FLAGS]) if len(name) > 2 else ""
    return f"unknown flag {name!r}{hint or '; see clio --help'}"


_USAGE = """\
clio, a terminal coding agent that remembers.
usage: clio [options]               a conversation in the current project; type /help there
       clio -p TEXT [options]       one prompt, one answer; piped text is appended to it"""
_FOOTER = """\
example: git diff | clio -p "review this change"
exit codes: 0 done, 1 failed, 2 usage, 3 too large, 4 approval, 5 cost, 6 hook, 7 schema
settings: ~/.clio/config.yaml, .clio/config.yaml, environment (OPENAI_API_KEY, CLIO_MODEL, ...)
"""
COMMAND_FAMILIES = {
    "config": "print the settings or their files; trust this project's config",
    "completions": "print the completion script for that shell",
    "mcp": "serve this memory over MCP; list, add, remove, test: servers to use",
}
_EVERYWHERE = "options of every sub-command: --cwd FOLDER, --config FILE, --no-color, --debug; see clio --help"


def command_help_text(words: Sequence[str]) -> str:
    """Return the help of a sub-command in COMMANDS: its forms and its options. Raises UsageError for another word."""
    forms = {command: summary for command, summary in COMMANDS.items() if command[0] == words[0]}
    if not forms:
        _check_command(words, one_shot=False)
    # In `clio --help` these summaries begin with "with `doctor`: ".
    options = [(flag.usage, flag.summary.partition(": ")[2]) for flag in FLAGS if words[0] in flag.only]
    parts = [_format_group("usage", [(f"clio {' '.join(command)}", summary) for command, summary in forms.items()])]
    if options:
        parts.append(_format_group("options", options))
    return "\n\n".join((*parts, _EVERYWHERE)) + "\n"


_SUBCOMMANDS_NOTE = "    the same as /NAME in a conversation; clio NAME --help describes each"
_USAGE_WIDTH = 27
_TWO_COLUMNS_FROM = 60
_BREAK = "\0"
"""Marks a place where a long list of alternatives may be broken."""


def help_text() -> str:
    """Return the help text: at most 60 lines of 100 columns, with every flag and every sub-command once."""
    families = dict.fromkeys(words[0] for words in COMMANDS)
    commands = [(_format_usage(first), COMMAND_FAMILIES.get(first) or COMMANDS[first,]) for first in families]
    others = "|".join(subcommand.name for subcommand in SUBCOMMANDS if subcommand.name not in families)
    parts = [_USAGE, _format_group("without a conversation", commands), f"  clio {others}", _SUBCOMMANDS_NOTE]
    for group in dict.fromkeys(flag.group for flag in FLAGS):
        parts.append(_format_group(group, [(flag.usage, flag.summary) for flag in FLAGS if flag.group == group]))
    return "\n".join((*parts, "", _FOOTER))


def wrap_help(text: str, columns: int) -> str:
    """Return a help text whose lines have at most so many columns, broken between words, summaries below each other."""
    import textwrap

    indent = " " * (_USAGE_WIDTH + 3 if columns >= _TWO_COLUMNS_FROM else 6)
    lines: list[str] = []
    for whole in text.split("\n"):
        has_long_word = max(map(len, whole.split()), default=0) > columns - len(indent)
        line = whole.replace("|", f"|{_BREAK} ") if has_long_word else whole
        # A run of blanks is the gap between an option and its summary.
        shown = line if columns >= _TWO_COLUMNS_FROM else " ".join(part for part in line.rstrip().split("  ") if part)
        start = line[: len(line) - len(line.lstrip())]
        lines += (
            [line]
            if len(line) <= columns
            else textwrap.wrap(
                shown if shown.startswith(start) else start + shown.strip(),
                columns,
                subsequent_indent=indent if line.startswith("  ") and not line.startswith("    ") else "    ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
    return "\n".join(lines).replace(f"{_BREAK} ", "").replace(_BREAK, "")


def _format_usage(first: str) -> str:
    """Return a sub-command with all its second words: "clio config show|path|trust"."""
    return f"clio {first} {'|'.join(words[1] for words in COMMANDS if words[0] == first and words[1:])}".rstrip()


def _format_group(name: str, rows: list[tuple[str, str]]) -> str:
    return "\n".join((f"{name}:", *(f"  {usage:<{_USAGE_WIDTH}} {summary}" for usage, summary in rows)))
