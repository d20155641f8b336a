"""Sub-commands with words and options of their own, such as `clio sessions list`, and what of a command line is theirs.

Imported before anything is on the screen, like the flags.
"""

from collections.abc import Mapping, Sequence


class Door:
    """One of them. summary: a few words for `clio --help`; the rest is in `clio NAME --help`."""

    def __init__(self, name: str, summary: str, *aliases: str) -> None:
        self.name = name
        self.summary = summary
        self.aliases = aliases


DOORS = (
    Door("cost", "what was spent: by day, by project", "costs"),
    Door("docs", "documents the model is reminded of"),
    Door("feedback", "how the last answer was: +, - or 0"),
    Door("gc", "what takes how much on disk; --yes frees what may go"),
    Door("import", "take in the sessions of claude, codex, gemini, aider, clio"),
    Door("mcp", "MCP servers: list, add, remove, test"),
    Door("memory", "what is remembered of this project"),
    Door("note", "texts kept under a key", "notes"),
    Door("prefs", "what you like, dislike and forbid", "preferences"),
    Door("recall", "one question to everything that is remembered"),
    Door("sessions", "what was said here: list, search, export, ...", "session"),
    Door("skills", "instructions for kinds of work: list, show, new"),
    Door("style", "how answers are worded, and what was learned of it", "styles"),
    Door("worktree", "worktrees beside this checkout: list, remove", "worktrees"),
)
# clio's own flags that may also stand behind a door's name; whatever else stands there is the door's.
FLAGS = frozenset("--incognito --no-ltm --no-color --debug --json -h --help".split())
VALUED_FLAGS = frozenset(("--cwd", "--config"))


def find_door(word: str) -> Door | None:
    """The door of that name or alias."""
    return next((door for door in DOORS if word == door.name or word in door.aliases), None)


def serves_memory(words: Sequence[str]) -> bool:
    """Whether the words are `clio mcp` and flags alone, which offers clio's memory to others."""
    if words[0] != "mcp" or "--help" in words or "-h" in words:
        return False
    places = range(1, len(words))
    return all(words[place].startswith("-") or words[place - 1] in VALUED_FLAGS for place in places)


def door_place(argv: Sequence[str], valued: Mapping[str, bool]) -> int | None:
    """Where a door's name stands as the first word that is no flag; None where it does not.

    valued: the flags that take a value, and whether it may be left out.
    """
    place = 0
    while place < len(argv):
        word, following = argv[place], argv[place + 1 : place + 2]
        if not word.startswith("-"):
            return place if find_door(word) and not serves_memory(argv[place:]) else None
        optional = valued.get(word)
        has_value = optional is False or (optional and following and not following[0].startswith("-"))
        place += 2 if has_value else 1
    return None


def take_flags(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """clio's own flags among a door's words, up to `--`; and the words without them."""
    taken: list[str] = []
    kept: list[str] = []
    place = 0
    while place < len(words) and words[place] != "--":
        name, equals, _ = words[place].partition("=")
        length = 2 if name in VALUED_FLAGS and not equals else 1
        (taken if name in FLAGS | VALUED_FLAGS else kept).extend(words[place : place + length])
        place += length
    return taken, [*kept, *words[place:]]
