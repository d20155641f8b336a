"""Which command lines only look: they change nothing and answer at once, so they may run beside a turn."""

from clio.commands.dispatch import split
from clio.commands.registry import find
from clio.commands.slash import is_command

# Command → the first words of its argument with which it only looks; "" is the bare command, None any argument.
_LOOKS: dict[str, frozenset[str] | None] = {
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
    "style": frozenset({"", "list", "why", "show"}),
}


def only_looks(line: str) -> bool:
    """Whether the line is such a command."""
    if not is_command(line):
        return False
    name, argument = split(line.strip()[1:])
    command = find(name) if name else None
    if command is None or command.name not in _LOOKS:
        return not name
    words = _LOOKS[command.name]
    return words is None or split(argument)[0].lower() in words
