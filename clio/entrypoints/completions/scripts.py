"""`clio completions SHELL`: the completion scripts of bash, zsh and fish, made from the tables of the command line."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from clio.commands.command import Command, list_subcommands
from clio.commands.job_commands import MODES
from clio.commands.memory.portability import WIPE_CHOICES
from clio.commands.registry import find_command
from clio.commands.session_commands import SESSIONS
from clio.config.command_line import COMMANDS, FLAGS, INPUT_FORMATS, OUTPUT_FORMATS, SUBCOMMANDS, Flag
from clio.config.command_line import SUBCOMMAND_FLAGS as SUBCOMMAND_SWITCHES
from clio.config.command_line import VALUED_FLAGS as SUBCOMMAND_VALUED
from clio.config.schema import CONFIG_FIELDS
from clio.memory.retrieval.scoring import FUSIONS, LAYERS
from clio.memory.store.record import PROJECT_KINDS, TYPED_KINDS
from clio.providers.profiles import PRESETS
from clio.providers.registry import OFFLINE
from clio.text.scoring import SCORE_BANDS
from clio.text.translation import tr

LISTED = (
    "entries",
    "jobs",
    "models",
    "notes",
    "plugins",
    "questions",
    "scenarios",
    "schedules",
    "servers",
    "sessions",
    "skills",
    "styles",
    "worktrees",
)
"""Kinds whose candidates change: the script runs `clio __complete KIND` for them."""


class RuntimeWords(Struct, frozen=True, kw_only=True):
    """Words that clio completes at run time.

    kinds: which of LISTED completes a word, by sub-command and word. new: verbs whose word names something new.
    """

    kinds: Mapping[tuple[str, str], str]
    new: frozenset[tuple[str, str]]


PLACES = RuntimeWords(
    kinds={
        ("jobs", "N"): "jobs",
        ("jobs", "N|--ended"): "jobs",
        ("jobs", "N.QUESTION"): "questions",
        ("jobs", "NAME"): "models",
        ("schedule", "N"): "schedules",
        ("schedule", "NAME"): "models",
        ("sessions", "ID"): "sessions",
        ("note", "KEY"): "notes",
        ("memory", "ID"): "entries",
        ("prefs", "--scenario"): "scenarios",
        ("prefs", "NAME"): "scenarios",
        ("mcp", "NAME"): "servers",
        ("plugin", "NAME"): "plugins",
        ("skills", "NAME"): "skills",
        ("style", "NAME"): "styles",
        ("worktree", "NAME"): "worktrees",
    },
    new=frozenset((("mcp", "add"), ("skills", "new"), ("note", "set"))),
)
OPTION_WORDS: Mapping[str, tuple[str, ...]] = {
    "jobs --approve": MODES,
    "schedule --approve": MODES,
    "memory KIND": PROJECT_KINDS,
    "memory KIND|archive": (*PROJECT_KINDS, "archive"),
    "memory --type": TYPED_KINDS,
    "memory --kind": (*PROJECT_KINDS, *TYPED_KINDS),
    "memory --scope": ("project", "user"),
    "memory wipe --scope": tuple(WIPE_CHOICES),
    "prefs --type": tuple(SCORE_BANDS),
    "prefs --format": ("context", "table"),
    "recall --layer": LAYERS,
    "recall --fusion": FUSIONS,
}


FILES, FOLDERS = "files", "folders"
_TOKEN = re.compile(r"\[[^\]]*\]|\S+")
_CHOICE = re.compile(r"[a-z][a-z-]*( [A-Z]+)?(\|[a-z][a-z-]*( [A-Z]+)?)+")


class Row(Struct, frozen=True):
    """One candidate and its description."""

    word: str
    note: str = ""


class Place(Struct, frozen=True, kw_only=True):
    """What can follow: one of these rows, or a kind: files, folders, or one of LISTED."""

    rows: tuple[Row, ...] = ()
    kind: str = ""


def collect_places() -> dict[str, Place]:
    """Return what can follow at each position, by the position's key in the scripts."""
    found: dict[str, Place] = {"heads": Place(rows=tuple(_list_first_words()))}
    found["flags"] = _make_flag_place(flag for flag in FLAGS if not flag.only)
    for flag in FLAGS:
        if place := _find_value_place(flag):
            found |= {f"value {name}": place for name in flag.names}
    for first in dict.fromkeys(words[0] for words in COMMANDS):
        _add_rows(found, f"verbs {first}", [Row(words[1], words_of) for words, words_of in COMMANDS.items()
                                       if words[0] == first and words[1:]])  # fmt: skip
        found[f"flags {first}"] = _make_flag_place(flag for flag in FLAGS if _can_follow(flag, first))
    for subcommand in SUBCOMMANDS:
        command = get_subcommand(subcommand.name)
        _add_rows(
            found, f"verbs {subcommand.name}", [Row(sub.name, sub.summary) for sub in list_subcommands(command, "clio")]
        )
        subcommand_flags = SUBCOMMAND_SWITCHES | SUBCOMMAND_VALUED
        own = [flag for flag in FLAGS if subcommand_flags & {*flag.names} or subcommand.name in flag.only]
        found[f"flags {subcommand.name}"] = _make_flag_place(own)
        for verb in (command, *command.subcommands):
            _add_verb(found, subcommand.name, verb, "" if verb is command else verb.name)
    return found


def get_subcommand(name: str) -> Command:
    """Return the command record of a sub-command."""
    from clio.commands.subcommands import AUTH, CONFIG_LINE, GC, IMPORT, WORKTREE
    from clio.commands.sync_commands import SYNC
    from clio.commands.team_commands import TEAM_SERVER

    own = {
        "auth": AUTH,
        "config": CONFIG_LINE,
        "sessions": SESSIONS,
        "gc": GC,
        "import": IMPORT,
        "sync": SYNC,
        "team-server": TEAM_SERVER,
        "worktree": WORKTREE,
    }
    command = own.get(name) or find_command(name)
    assert command is not None
    return command


def list_aliases() -> dict[str, str]:
    """Return the aliases of sub-commands with the names they stand for."""
    return {alias: subcommand.name for subcommand in SUBCOMMANDS for alias in subcommand.aliases}


def list_valued_options() -> tuple[list[str], list[str]]:
    """Return the flags and options that take a value, and those whose value is optional."""
    always = {name for flag in FLAGS if flag.metavar for name in flag.names}
    maybe = {name for flag in FLAGS if (flag.metavar or "").startswith("[") for name in flag.names}
    for subcommand in SUBCOMMANDS:
        command = get_subcommand(subcommand.name)
        for verb in (command, *command.subcommands):
            always |= {name for name, value in _parse_usage(verb.argument)[0] if value}
    return sorted(always), sorted(maybe)


def list_switches() -> set[str]:
    """Return the flags and options that take no value."""
    found = {name for flag in FLAGS if not flag.metavar for name in flag.names}
    for subcommand in SUBCOMMANDS:
        command = get_subcommand(subcommand.name)
        for verb in (command, *command.subcommands):
            found |= {name for name, value in _parse_usage(verb.argument)[0] if not value}
    return found


def _list_first_words() -> Iterator[Row]:
    from clio.config.command_line import COMMAND_FAMILIES

    for first in dict.fromkeys(words[0] for words in COMMANDS):
        yield Row(first, tr(COMMAND_FAMILIES.get(first, "")) or COMMANDS[first,])
    yield from (
        Row(subcommand.name, subcommand.summary) for subcommand in SUBCOMMANDS if (subcommand.name,) not in COMMANDS
    )


def _can_follow(flag: Flag, head: str) -> bool:
    """Whether a flag can follow a sub-command that has no verbs."""
    if head == "completions":
        return flag.dest == "help"
    if flag.only:
        return head in flag.only
    sets = bool(flag.field) or flag.dest in ("cwd", "config")
    return flag.dest == "help" or (sets and head in ("config", "doctor", "acp")) or flag.dest in ("cwd", "config")


def _make_flag_place(flags: Iterable[Flag]) -> Place:
    return Place(rows=tuple(Row(name, flag.summary) for flag in flags for name in flag.names if name.startswith("--")))


def _find_value_place(flag: Flag) -> Place | None:
    """Return what completes a flag's value; None if it takes no value, or free text."""
    field = CONFIG_FIELDS.get(flag.field)
    fixed = {
        "output": OUTPUT_FORMATS,
        "input": INPUT_FORMATS,
        "provider": (*(preset.name for preset in PRESETS), OFFLINE),
    }
    if flag.metavar and (words := fixed.get(flag.dest) or (field.choices if field else ())):
        return Place(rows=tuple(Row(word) for word in words))
    kinds = {"FILE": FILES, "FOLDER": FOLDERS, "[SELECTOR]": "sessions"}
    named = {"model": "models", "scenario": "scenarios", "worktree": "worktrees"}
    kind = named.get(flag.dest) or kinds.get(flag.metavar or "", "")
    return Place(kind=kind) if kind else None


def _add_rows(found: dict[str, Place], key: str, rows: list[Row]) -> None:
    if rows:
        found[key] = Place(rows=tuple(rows))


def _add_verb(found: dict[str, Place], head: str, verb: Command, name: str) -> None:
    options, words = _parse_usage(verb.argument)
    _add_rows(found, f"options {head} {name}".rstrip(), [Row(option) for option, _ in options])
    for option, value in options:
        if place := _find_place(head, name, option, value):
            found[f"value {head} {name} {option}".replace("  ", " ")] = place
    for number, word in enumerate(words, start=1):
        if name and (place := _find_place(head, name, "", word)):
            found[f"place {head} {name} {number}"] = place
            if word.endswith("…"):
                found[f"place {head} {name} more"] = place


def _find_place(head: str, verb: str, option: str, value: str) -> Place | None:
    """Return what completes a value, by how help writes it; None for free text."""
    value = value.rstrip("….")
    if _CHOICE.fullmatch(value):
        return Place(rows=tuple(Row(part.partition(" ")[0]) for part in value.split("|")))
    if words := OPTION_WORDS.get(f"{head} {verb} {option}") or OPTION_WORDS.get(f"{head} {option or value}"):
        return Place(rows=tuple(Row(word) for word in words))
    kind = FILES if value == "PATH" else "" if (head, verb) in PLACES.new else PLACES.kinds.get((head, value), "")
    assert kind in ("", FILES, *LISTED)
    return Place(kind=kind) if kind else None


def _parse_usage(argument: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Parse an argument as help writes it: its options, each with its value or "", and its other words in order."""
    options: list[tuple[str, str]] = []
    words: list[str] = []
    for token in _TOKEN.findall(argument):
        bare = token.rstrip("….").strip("[]")
        before = options[-1] if options and options[-1][1] == "?" else None
        if before and not bare.startswith("-"):
            options[-1] = (before[0], bare)
        elif bare in ("|", "--"):
            break
        elif bare.startswith("--"):
            name, _, value = bare.partition(" ")
            options.append((name, value or ("" if token.startswith("[") else "?")))
        elif bare and token not in ("…", "..."):
            words.append(bare + ("…" if token.endswith("…") else ""))
    return [(name, value.replace("?", "")) for name, value in options], words


SHELLS = ("bash", "zsh", "fish")


def make_completion_script(shell: str) -> str:
    """Return the completion script. shell: one of SHELLS."""
    text = Path(__file__).with_name(f"clio.{shell}").read_text(encoding="utf-8")
    always, maybe = list_valued_options()
    parts = {
        "PLACES": "\n".join(_WRITERS[shell](key, place) for key, place in collect_places().items()),
        "ALIASES": "\n".join(_alias(shell, alias, name) for alias, name in list_aliases().items()),
        "VALUED": " ".join(always),
        "OPTIONAL": " ".join(maybe),
    }
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return text


def _format_bash_case(key: str, place: Place) -> str:
    assignment = f"kind={place.kind}" if place.kind else f"list={_quote(' '.join(row.word for row in place.rows))}"
    return f"        {_quote(key)}) {assignment} ;;"


def _format_zsh_case(key: str, place: Place) -> str:
    if place.kind:
        return f"        {_quote(key)}) kind={place.kind} ;;"
    return f"        {_quote(key)}) list=({' '.join(_quote(_zsh_row(row)) for row in place.rows)}) ;;"


def _zsh_row(row: Row) -> str:
    word = row.word.replace(":", "\\:")
    return f"{word}:{row.note}" if row.note else word


def _format_fish_case(key: str, place: Place) -> str:
    assignment = f"set kind {place.kind}" if place.kind else f"set list {' '.join(map(_fish_row, place.rows))}"
    return f"        case {_quote_for_fish(key)}\n            {assignment}"


def _fish_row(row: Row) -> str:
    return f"{_quote_for_fish(row.word)}" + (f"\\t{_quote_for_fish(row.note)}" if row.note else "")


def _alias(shell: str, alias: str, name: str) -> str:
    space = " " * 24
    return f"{space}case {alias}\n{space}    set head {name}" if shell == "fish" else f"{space}{alias}) head={name} ;;"


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _quote_for_fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_WRITERS: Mapping[str, Callable[[str, Place], str]] = {
    "bash": _format_bash_case,
    "zsh": _format_zsh_case,
    "fish": _format_fish_case,
}
