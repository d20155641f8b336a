"""Apply what the user's message changes in memory at once: corrections, changed preferences, and lifted limits.

Consolidation applies the same rules for corrections (`stated_facts.match_corrections`) to sessions that were recorded
without this. Limits are lifted here only.
"""

import math
from collections.abc import Callable, Sequence

from msgspec import Struct

from clio.memory.consolidation.stated_facts import (
    Correction,
    Stated,
    make_replacement,
    match_corrections,
    read_corrections,
)
from clio.memory.preferences.withdrawals import find_withdrawals, is_lifted
from clio.memory.store.record import PROJECT_KINDS, Kind, MemoryDraft, MemoryRecord, Provenance
from clio.memory.store.record_rules import has_same_text, shorten_content
from clio.memory.store.typed_store import Scope
from clio.memory.system import MemorySystem
from clio.memory.value_changes import find_value_change

_KINDS: tuple[Kind, ...] = ("fact", "note")
SHORT_ID = 8
MAX_ALL = 500
"""A correction is compared with all memories of a scope if there are at most so many."""
MAX_COMPARED = 50
"""Otherwise with this many of each kind, those that share most words with it."""
CONTEXT_CHARS = 2_000
"""Number of characters of the preceding conversation that are examined."""


class Replaced(Struct, frozen=True, kw_only=True):
    """What one correction did.

    Attributes:
        refuted: the memories that no longer hold.
        record: what holds now; None if the correction only says what does not.
        quote: the sentence as written.
        scope: of `record`.
    """

    refuted: tuple[MemoryRecord, ...]
    record: MemoryRecord | None
    quote: str

    scope: Scope = "project"

    def describe(self) -> str:
        """Return the line that reports it."""
        old = "; ".join(f"“{shorten_content(one)}”" for one in self.refuted)
        if self.record is None:
            return f"No longer used: {old} · /memory undo"
        return f"Saved to {self.scope} memory: {self.record.content} (instead of {old}) · /memory undo"


def apply_corrections(memory: MemorySystem, text: str, session: str, context: str) -> list[Replaced]:
    """Replace the facts, notes and discoveries that the user's message refutes; each correction is one change to undo.

    Args:
        context: what was said just before, which tells what "it's 9090 now" is about.

    Raises UserError, StorageError, OSError.
    """
    corrections = [
        Correction(text=memory.redacted(text), quote=memory.redacted(quote), session=session, message="", at=math.inf)
        for text, quote in read_corrections(text)
    ]
    if not corrections:
        return []
    context = context[-CONTEXT_CHARS:]
    known: dict[str, MemoryRecord] = {}
    matched = match_corrections(corrections, _search(memory, context, known), context)
    replaced = [_replace(memory, one, [known[stated.id] for stated in refuted]) for one, refuted in matched]
    return [*replaced, *_change_preferences(memory, corrections)]


def _change_preferences(memory: MemorySystem, corrections: Sequence[Correction]) -> list[Replaced]:
    """Give preferences, rules and limits the name or number that a correction says: "I prefer spaces now, not tabs"."""
    done: list[Replaced] = []
    said = Provenance(session=corrections[0].session, asserted_by="user")
    for scope, record in _preferences(memory):
        for correction in corrections:
            change = find_value_change(record.content, correction.text)
            if change is None or not change.is_named:
                continue
            book = memory.preferences if scope == "user" else memory.project_preferences
            content = change.apply(record.content)
            same = [one for one in book.all() if has_same_text(one.record.content, content)]
            if same:
                memory.store.forget(record.id)
                changed = same[0].record
            else:
                changed = memory.store.update(record.id, content=content, provenance=said)
            done.append(Replaced(refuted=(record,), record=changed, quote=correction.quote, scope=scope))
            break
    return done


def _preferences(memory: MemorySystem) -> list[tuple[Scope, MemoryRecord]]:
    """Return the preferences, rules and limits with their scope; the project's only if the project is trusted."""
    found: list[tuple[Scope, MemoryRecord]] = [("user", one.record) for one in memory.preferences.all()]
    if not memory.is_foreign:
        found.extend(("project", one.record) for one in memory.project_preferences.all())
    return found


class Lifted(Struct, frozen=True, kw_only=True):
    """What one statement of the user takes back.

    Attributes:
        records: the limits, rules and preferences that were archived.
        held: limits of this session that no longer apply.
        candidates: what it may have meant, if that is not clear; nothing was archived then.
        quote: the sentence as written.
    """

    records: tuple[MemoryRecord, ...] = ()
    held: tuple[str, ...] = ()
    candidates: tuple[MemoryRecord, ...] = ()
    quote: str

    def describe(self) -> str:
        """Return the line that reports it; "" if there was nothing to take back."""
        if self.candidates:
            listed = "; ".join(f"{one.id[-SHORT_ID:]} “{shorten_content(one)}”" for one in self.candidates)
            return f"Not clear which one you take back: {listed} · /memory forget ID"
        gone = [*(shorten_content(one) for one in self.records), *self.held]
        undo = " · /memory undo" if self.records else ""
        return f"No longer applies: {'; '.join(gone)}{undo}" if gone else ""


def lift_limits(memory: MemorySystem, text: str, session: str) -> list[Lifted]:
    """Archive the limits, rules and preferences that the user's message takes back; each sentence is one change.

    Raises UserError, StorageError, OSError.
    """
    done: list[Lifted] = []
    for one in find_withdrawals(text):
        known = [record for _, record in _preferences(memory)]
        if not memory.is_foreign:
            known += [entry for entry in memory.store.records(PROJECT_KINDS) if entry.kind == "rule"]
        held = tuple(limit for limit in memory.held_limits if is_lifted(limit, one))
        if one.about:
            records = [record for record in known if is_lifted(record.content, one)]
        else:  # "forget that rule"
            here = [record for record in known if _session(record) == session]
            records = [max(here, key=lambda record: record.updated)] if here else []
        if one.kind == "forget" and len(records) > 1:
            done.append(Lifted(candidates=tuple(records), quote=one.quote))
            continue
        if records:
            memory.store.forget(*[record.id for record in records])
        if held:
            memory.lift_held(held)
        done.append(Lifted(records=tuple(records), held=held, quote=one.quote))
    return done


def _search(
    memory: MemorySystem, context: str, known: dict[str, MemoryRecord]
) -> Callable[[Correction], Sequence[Stated]]:
    """Return a function that lists the memories a correction may be about, and adds them to `known`."""
    entries = [entry for entry in memory.store.records(PROJECT_KINDS) if entry.kind == "discovery"]

    def near(correction: Correction) -> list[Stated]:
        for store in (memory.store.project, memory.store.user):
            for kind in _KINDS:
                if store.count() <= MAX_ALL:
                    found = store.each(kind)
                else:
                    hits = store.peek(f"{correction.text} {context}", MAX_COMPARED, kind)
                    found = (hit.record for hit in hits if not hit.record.is_variant)
                known.update((record.id, record) for record in found)
        known.update((entry.id, entry) for entry in entries)
        return [
            Stated(id=id, text=record.content, at=record.begun, session=_session(record))
            for id, record in known.items()
            if not has_same_text(record.content, correction.text)
        ]

    return near


def _session(record: MemoryRecord) -> str:
    return record.provenance.session if record.provenance else ""


def _replace(memory: MemorySystem, correction: Correction, refuted: Sequence[MemoryRecord]) -> Replaced:
    """Save what a correction says now, and archive what it refutes."""
    content = make_replacement(refuted[0].content, correction)
    record: MemoryRecord | None = None
    is_of_project = any(one.kind in PROJECT_KINDS for one in refuted) or not memory.store.user.live([refuted[0].id])
    scope: Scope = "project" if is_of_project else "user"
    with memory.store.group(f"replaced “{shorten_content(refuted[0])}”"):
        if content:
            said = Provenance(session=correction.session, asserted_by="user")
            draft = MemoryDraft(kind="fact", content=content, explicit=True)
            record = memory.store.add(draft, said, scope=scope).record
        gone = [one for one in refuted if record is None or one.id != record.id]
        for store in (memory.store.project, memory.store.user):
            if live := [one.id for one in store.live([one.id for one in gone])]:
                store.forget_all(live, f"replaced by “{shorten_content(record)}”" if record else "", "outweighed")
        if entries := [one.id for one in gone if one.kind in PROJECT_KINDS]:
            if record is None:
                memory.store.forget(*entries)
            else:
                memory.store.ltm.supersede(dict.fromkeys(entries, record.id))
    return Replaced(refuted=tuple(refuted), record=record, quote=correction.quote, scope=scope)
