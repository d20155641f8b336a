"""Entries of the project knowledge that a newer one contradicts: they leave the prompt, and are kept. Pure.

"Releases are signed with key-1" and, weeks later, "… with key-2" are two entries to whoever adds them. The rule for
memories (`clio.memory.store.deduplication`) tells that the second takes the place of the first. An entry may stand in
every prompt, so here more is asked for: nobody said the first again since the second came, they were not said in one
sitting, whoever said the second is trusted no less, and what both name as examples has something in common.
"""

from collections.abc import Sequence

from clio.memory.store.deduplication import judge
from clio.memory.store.ltm_merge import TRUST
from clio.memory.store.ltm_objects import scope
from clio.memory.store.record import Entry, Kind, MemoryRecord
from clio.text.similarity import LshIndex, signature, tokens_of

KINDS: tuple[Kind, ...] = ("discovery", "pattern", "rule")
"""Those that say what is so. Of an error there may be several solutions, and of a task several ways."""
SITTING_S = 2 * 3_600.0
"""What was said within so long was said side by side: "worker 1 runs here", "worker 2 runs there"."""


def outdated(entries: Sequence[Entry], facts: Sequence[Entry] = ()) -> dict[str, str]:
    """The entries that no longer hold: handle → the handle of the newest entry, or id of the fact, that says otherwise.

    facts: memories, as `as_entry` makes them; they may take an entry's place, whatever its kind.
    """
    found: dict[str, str] = {}
    for kind in KINDS:
        there = [entry for entry in entries if entry.kind == kind]
        known = {entry.id: entry for entry in (*facts, *there)}
        alike: LshIndex[str] = LshIndex()
        signatures = {id: signature(tokens_of(entry.text)) for id, entry in known.items()}
        for id, one in signatures.items():
            alike.add(id, one)
        for old in there:
            near = [known[id] for id in alike.candidates(signatures[old.id]) if id != old.id]
            newer = [new for new in near if _takes_its_place(old, new)]
            if newer:
                found[old.id] = max(newer, key=lambda new: (new.begun, new.id)).id
    return found


def as_entry(record: MemoryRecord) -> Entry:
    """A memory as something an entry can be weighed against."""
    return Entry(
        kind="discovery",
        id=record.id,
        text=record.content,
        created=record.begun,
        confirmed=max(record.seen, record.begun),
        examples=tuple(record.hashes),
        provenance=record.provenance,
    )


def _takes_its_place(old: Entry, new: Entry) -> bool:
    if new.begun - old.confirmed < SITTING_S or _trust(new) < _trust(old) or scope(old.context) != scope(new.context):
        return False
    if old.examples and new.examples and not set(old.examples) & set(new.examples):
        return False
    return judge(old.text, new.text) == "successor"


def _trust(entry: Entry) -> int:
    return TRUST[entry.provenance.asserted_by if entry.provenance else "model"]
