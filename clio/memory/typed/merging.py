"""What a new memory does to those that are there: confirms one, takes its place, or stands beside it. No I/O."""

from typing import Literal

from msgspec import Struct, structs

from clio.algorithms.bands import smoothed
from clio.algorithms.minhash import jaccard, tokens_of
from clio.memory.typed.answer import Decision
from clio.memory.typed.judge import Verdict, announces_change, judge, subject_words
from clio.memory.typed.record import MemoryRecord
from clio.memory.typed.shelf import Shelf

Action = Literal["new", "merged", "superseded", "kept_both"]
_PRECEDENCE: dict[Verdict, int] = {"same": 3, "successor": 2, "doubtful": 1, "other": 0}
_MAX_BY_SUBJECT = 50


class Near(Struct, frozen=True, kw_only=True):
    """The memory a new one has most to do with. similarity: the Jaccard index of their words."""

    record: MemoryRecord
    verdict: Verdict
    similarity: float


class Remembered(Struct, frozen=True, kw_only=True):
    """What became of something to remember. `old`: what it was merged into, took the place of, or stands beside."""

    record: MemoryRecord
    action: Action
    old: MemoryRecord | None = None


class Plan(Struct, frozen=True, kw_only=True):
    """What is to be written: `after` in the place of `before`, records of the same id or, for a new one, of none."""

    remembered: Remembered
    before: tuple[MemoryRecord, ...]
    after: tuple[MemoryRecord, ...]


def nearest(shelf: Shelf, new: MemoryRecord) -> Near | None:
    """The other live memory of its type that the new one repeats, replaces, or may repeat; None where there is none."""
    words = tokens_of(new.content)
    candidates = {old.id: old for old in (*shelf.alike(new.type, new.content), *_by_subject(shelf, new))}
    found: list[Near] = []
    for old in candidates.values():
        if old.id == new.id:
            continue
        similarity = jaccard(tokens_of(old.content), words)
        verdict = judge(old.content, new.content, similarity)
        if verdict != "other":
            found.append(Near(record=old, verdict=verdict, similarity=similarity))
    return max(found, key=_closeness, default=None)


def _closeness(near: Near) -> tuple[int, float, float]:
    return _PRECEDENCE[near.verdict], near.similarity, near.record.updated


def plan(new: MemoryRecord, near: Near | None, decision: Decision | None, now: float) -> Plan:
    """What remembering comes to. `decision`: of a model, about a doubtful pair."""
    new = structs.replace(new, created=new.created or now, updated=now, accessed=now, seen=now)
    if near is None or (near.verdict == "doubtful" and (decision is None or decision.action == "keep")):
        beside = near.record if near else None
        remembered = Remembered(record=new, action="kept_both" if beside else "new", old=beside)
        return Plan(remembered=remembered, before=(), after=(new,))
    old = near.record
    if near.verdict == "successor":
        new = structs.replace(new, keywords=_joined(new.keywords, old.keywords))
        gone = structs.replace(old, superseded_by=new.id, updated=now)
        remembered = Remembered(record=new, action="superseded", old=old)
        return Plan(remembered=remembered, before=(old,), after=(gone, new))
    record = _merged(old, new, decision, now)
    return Plan(remembered=Remembered(record=record, action="merged", old=old), before=(old,), after=(record,))


def join(old: MemoryRecord, new: MemoryRecord, decision: Decision | None) -> MemoryRecord:
    """Two memories that say the same as one: the older's id, the newer's words, used when either was used last."""
    one = _merged(old, new, decision, max(old.updated, new.updated))
    return structs.replace(
        one,
        accessed=max(old.accessed, new.accessed),
        seen=max(old.seen, new.seen),
        access_count=old.access_count + new.access_count,
    )


def _merged(old: MemoryRecord, new: MemoryRecord, decision: Decision | None, now: float) -> MemoryRecord:
    """The old memory with the new one's words, tags joined, the higher importance; its id and its beginning stay."""
    content = decision.new_content.strip() if decision else new.content
    chosen = decision.importance if decision and decision.importance > 0 else max(old.importance, new.importance)
    said = new.provenance if new.provenance and new.provenance.asserted_by == "user" else old.provenance
    return structs.replace(
        old,
        content=content,
        importance=min(chosen, 1.0),
        score=_score(old, new),
        reason=new.reason or old.reason,
        keywords=_joined(old.keywords, new.keywords),
        scenarios=_joined(old.scenarios, new.scenarios),
        updated=now,
        accessed=now,
        seen=now,
        confidence=max(old.confidence, new.confidence),
        version=old.version + (content != old.content),
        explicit=old.explicit or new.explicit,
        provenance=said or new.provenance,
        hashes=old.hashes | new.hashes,
    )


def _score(old: MemoryRecord, new: MemoryRecord) -> float | None:
    if old.score is None or new.score is None:
        return old.score if new.score is None else new.score
    return smoothed(old.score, new.score, explicit=new.explicit)


def _by_subject(shelf: Shelf, new: MemoryRecord) -> list[MemoryRecord]:
    """Memories about what the new one says has changed, however few words they share with it."""
    if not announces_change(new.content):
        return []
    matches = shelf.matches(subject_words(new.content))
    best = sorted(matches, key=lambda id: -matches[id])[:_MAX_BY_SUBJECT]
    return [record for id in best if (record := shelf.records[id]).type == new.type]


def _joined(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))
