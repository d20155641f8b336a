"""What may stand for a word that help writes in capitals, such as ID; and what `clio __complete` can be asked for."""

from collections.abc import Mapping

from msgspec import Struct

from clio.commands.memory.portability import WIPE_CHOICES
from clio.memory.records import KINDS
from clio.memory.typed.record import TYPES
from clio.memory.unified.hits import FUSIONS, LAYERS
from clio.text.decay import BANDS

LISTED = ("entries", "models", "notes", "scenarios", "servers", "sessions", "skills", "styles", "worktrees")
"""What changes, and so is asked of clio where it is completed."""


class Known(Struct, frozen=True, kw_only=True):
    """kinds: by sub-command and word, which of LISTED may stand there. new: verbs that name what is not there yet."""

    kinds: Mapping[tuple[str, str], str]
    new: frozenset[tuple[str, str]]


PLACES = Known(
    kinds={
        ("sessions", "ID"): "sessions",
        ("note", "KEY"): "notes",
        ("memory", "ID"): "entries",
        ("prefs", "--scenario"): "scenarios",
        ("prefs", "NAME"): "scenarios",
        ("mcp", "NAME"): "servers",
        ("skills", "NAME"): "skills",
        ("style", "NAME"): "styles",
        ("worktree", "NAME"): "worktrees",
    },
    new=frozenset((("mcp", "add"), ("skills", "new"), ("note", "set"))),
)
OPTION_WORDS: Mapping[str, tuple[str, ...]] = {
    "memory KIND": KINDS,
    "memory KIND|archive": (*KINDS, "archive"),
    "memory --type": TYPES,
    "memory --kind": (*KINDS, *TYPES),
    "memory --scope": ("project", "user"),
    "memory wipe --scope": tuple(WIPE_CHOICES),
    "prefs --type": tuple(BANDS),
    "prefs --format": ("context", "table"),
    "recall --layer": LAYERS,
    "recall --fusion": FUSIONS,
}
