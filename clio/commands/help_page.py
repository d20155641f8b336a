"""What `/help` shows: one screen, by what a person wants to do; a test sees to it that no command is left out."""

from collections.abc import Collection, Sequence

from clio.commands.tables import Table

_WANTS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "who answers",
        (
            ("model", "the model"),
            ("style", "wording"),
            ("skills", "instructions"),
            ("agents", "helpers"),
            ("effort", "how hard it thinks"),
            ("scenario", "kind of work"),
        ),
    ),
    (
        "who decides",
        (("plan", "look first"), ("approve", "what asks"), ("hooks", "your checks"), ("trust", "this project")),
    ),
    ("what goes on", (("todo", "list"), ("last", "results"), ("context", "window"), ("cost", "money"))),
    ("take it back", (("undo", "a turn"), ("redo", "it"), ("diff", "changes"), ("rewind", "further back"))),
    ("git", (("commit", "with a message"), ("review", "a change"), ("pr", "its text"))),
    (
        "remember",
        (
            ("memory", "this project"),
            ("prefs", "you"),
            ("note", "texts"),
            ("docs", "files"),
            ("recall", "all"),
            ("feedback", "+ or -"),
        ),
    ),
    ("earlier talk", (("session", "list, search, switch, name, fork, export"),)),
    (
        "clio itself",
        (("theme", "colours"), ("mcp", "servers"), ("clear", "the screen"), ("help", "this"), ("exit", "leaves")),
    ),
)
_SIGNS = "text to the model · @path names a file · !command runs one · #words are remembered"
_MAX_ADDED = 8
NEXT = "`/help COMMAND` shows one command, `/help keys` all keys. Esc stops what runs, Ctrl-D leaves."


def help_table(names: Collection[str], added: Sequence[str] = ()) -> Table:
    """These commands, grouped; those no group knows, and those that were added, have a row each."""
    rows = [("say", _SIGNS)]
    known: set[str] = set()
    for want, commands in _WANTS:
        there = [(name, words) for name, words in commands if name in names]
        known |= {name for name, _ in there}
        if there:
            rows.append((want, " · ".join(f"/{name} {words}" for name, words in there)))
    if rest := [name for name in names if name not in known]:
        rows.append(("also", " · ".join(f"/{name}" for name in rest)))
    if added:
        more = [f"{len(added) - _MAX_ADDED} more"] if len(added) > _MAX_ADDED else []
        rows.append(("added", " · ".join([*(f"/{name}" for name in added[:_MAX_ADDED]), *more])))
    return Table(columns=("to", "type"), rows=tuple(rows), wide=1)
