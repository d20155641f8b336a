"""The table of all subcommands of /memory, what completes them, and /memory off and on."""

from clio.commands.command import Command, CommandResult, Shell, refuse
from clio.commands.memory.consolidation import SLEEP_ROWS, prune
from clio.commands.memory.edits import add, edit, undo
from clio.commands.memory.history import TIME_ROWS
from clio.commands.memory.memory_text import PLURALS, remembers, suggest_entry, suggest_options, suggest_words
from clio.commands.memory.portability import CONTROL_ROWS
from clio.commands.memory.share import SHARE_ROWS
from clio.commands.memory.verbs import (
    compact,
    count_all,
    forget,
    move,
    recall,
    remember,
    suggest_forgettable,
    suggest_memories,
)
from clio.commands.memory.views import search, show, show_list, stats, why

_OUTSIDE = "Memory is turned off inside a conversation; `clio --incognito` starts one that has none from the beginning."


@remembers
def turn_off(shell: Shell, argument: str) -> CommandResult:
    """Bring nothing up and store nothing until it is turned on again, or clio is left."""
    if argument:
        return refuse("/memory off takes nothing")
    if not shell.session.id:
        return refuse(_OUTSIDE)
    shell.memory.is_off = True
    text = (
        "Memory is off: nothing more is brought up and nothing is remembered until `/memory on`. What the model was "
        "given before stays in this session; the session itself is still stored."
    )
    return CommandResult(text=text, data={"on": False})


@remembers
def turn_on(shell: Shell, argument: str) -> CommandResult:
    """Bring things up and store them again."""
    if argument:
        return refuse("/memory on takes nothing")
    if not shell.session.id:
        return refuse(_OUTSIDE)
    shell.memory.is_off = False
    return CommandResult(text="Memory is on.", data={"on": True})


_KINDS = suggest_words(
    *((kind, f"only {plural}") for kind, plural in PLURALS.items()), ("archive", "what was forgotten or pruned")
)
_DRAFTS = suggest_words(
    ("discovery ", "a fact about the project: TEXT"),
    ("solution ", "ERROR => SOLUTION"),
    ("pattern ", "a convention of the code: TEXT"),
    ("workflow ", "NAME: STEP -> STEP -> …"),
    ("failure ", "WHAT FAILED => PREVENTION"),
    ("rule ", "PATH: TEXT, or TEXT for everywhere"),
)

MEMORY = (
    Command(
        name="memory",
        summary="what clio knows about this project",
        handler=show_list,
        subcommands=(
            Command(
                name="list",
                argument="[KIND|archive] [--all]",
                summary="the project knowledge, kind by kind",
                handler=show_list,
                suggest=_KINDS,
            ),
            Command(name="search", argument="QUERY", summary="find entries and notes by their words", handler=search),
            Command(name="show", argument="ID", summary="one entry whole", handler=show, suggest_word=suggest_entry),
            Command(
                name="add",
                argument="KIND TEXT [--confidence X] [--example PATH]…",
                summary="remember a discovery, solution, pattern, workflow, failure or rule",
                handler=add,
                suggest=_DRAFTS,
            ),
            Command(
                name="edit",
                argument="ID [TEXT] [--confidence X] [--example PATH]…",
                summary="change an entry, in the editor where no text is given",
                handler=edit,
                suggest_word=suggest_entry,
            ),
            Command(
                name="forget",
                argument="ID… [--yes]",
                summary="move entries and memories to the archive",
                handler=forget,
                suggest_word=suggest_forgettable,
            ),
            Command(
                name="remember",
                argument="TEXT [--type T] [--importance X] [--scope S]",
                summary="keep a fact, an event, a note or a preference",
                handler=remember,
                suggest_word=suggest_options(
                    ("--type", "fact, event, preference, else note"),
                    ("--importance", "from 0 to 1, else 0.5"),
                    ("--scope", "project or user"),
                    ("--keyword", "another word it is found by"),
                    ("--example", "a file it is about"),
                ),
            ),
            Command(
                name="recall",
                argument="[QUERY] [--type T] [--limit N]",
                summary="the memories that answer a query, the best first",
                handler=recall,
                suggest_word=suggest_options(
                    ("--type", "only fact, preference, event or note; !fact is all others"),
                    ("--limit", "so many at most, -1 for all, else 10"),
                ),
            ),
            Command(
                name="move",
                argument="ID project|user",
                summary="make a memory the project's, or yours in every project",
                handler=move,
                suggest_word=suggest_memories,
            ),
            Command(name="count", summary="how many memories there are", handler=count_all),
            Command(name="compact", summary="archive faded memories, join those alike", handler=compact),
            Command(name="stats", summary="how much is known, how old and how sure it is", handler=stats),
            Command(
                name="prune",
                argument="[--days N] [--below X] [--dry-run] [--yes]",
                summary="move what is old or doubtful to the archive",
                handler=prune,
                suggest_word=suggest_options(
                    ("--days", "so many days unconfirmed are too old, else 90"),
                    ("--below", "less sure than this is doubtful, else 0.3"),
                    ("--dry-run", "only show what would go"),
                ),
            ),
            Command(name="why", summary="what memory gave the model in the last turn", handler=why),
            Command(name="off", summary="bring nothing up and remember nothing until /memory on", handler=turn_off),
            Command(name="on", summary="bring things up and remember again", handler=turn_on),
            Command(name="undo", summary="take the last change of memory back", handler=undo),
            *TIME_ROWS,
            *SLEEP_ROWS,
            *CONTROL_ROWS,
            *SHARE_ROWS,
        ),
    ),
)
