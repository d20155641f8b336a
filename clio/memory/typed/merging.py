"""What a new memory does to those that are there: confirms one, takes its place, or stands beside it. No I/O."""

from msgspec import Struct, structs

from clio.memory.typed.answer import Decision
from clio.memory.typed.contradiction import overrules, trust, weigh
from clio.memory.typed.former import Former, former_of
from clio.memory.typed.judge import Verdict, announces_change, judge, subject_words
from clio.memory.typed.record import Action, MemoryRecord, Remembered, begun_anew
from clio.memory.typed.shelf import Shelf
from clio.text.scoring import smoothed
from clio.text.similarity import jaccard, tokens_of

_PRECEDENCE: dict[Verdict, int] = {"same": 3, "successor": 2, "doubtful": 1, "other": 0}
_MAX_BY_SUBJECT = 50


class Near(Struct, frozen=True, kw_only=True):
    """The memory a new one has most to do with. similarity: the Jaccard index of their words.

    main: what holds, where `record` is a variant of it. variants: of the one of the two that holds.
    """

    record: MemoryRecord
    verdict: Verdict
    similarity: float
    main: MemoryRecord | None = None
    variants: tuple[MemoryRecord, ...] = ()


class Plan(Struct, frozen=True, kw_only=True):
    """What is to be written: `after` in the place of `before`, records of the same id or, for a new one, of none.

    formers: what goes into the archive. What is in `before` alone leaves.
    """

    remembered: Remembered
    before: tuple[MemoryRecord, ...] = ()
    after: tuple[MemoryRecord, ...] = ()
    formers: tuple[Former, ...] = ()

    @property
    def gone(self) -> tuple[str, ...]:
        """The ids of those that leave."""
        kept = {record.id for record in self.after}
        return tuple(record.id for record in self.before if record.id not in kept)


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
    best = max(found, key=_closeness, default=None)
    return None if best is None else _with_variants(shelf, best, new.id)


def _with_variants(shelf: Shelf, near: Near, new: str) -> Near:
    """With what holds and its variants. What contradicts a variant contradicts what holds."""
    main = shelf.records.get(near.record.variants_of or "")
    main = main if main is not None and main.is_live and main.id != new else None
    if main is not None and near.verdict == "successor":
        near, main = structs.replace(near, record=main), None
    holding = main or near.record
    variants = tuple(one for one in shelf.variants(holding.id) if one.id != new)
    return structs.replace(near, main=main, variants=variants)


def _closeness(near: Near) -> tuple[int, float, float]:
    return _PRECEDENCE[near.verdict], near.similarity, near.record.updated


def plan(new: MemoryRecord, near: Near | None, decision: Decision | None, now: float) -> Plan:
    """What remembering comes to. `decision`: of a model, about a doubtful pair."""
    new = structs.replace(new, created=new.created or now, updated=now, accessed=now, seen=now)
    if near is None or (near.verdict == "doubtful" and (decision is None or decision.action == "keep")):
        beside = near.record if near else None
        remembered = Remembered(record=new, action="kept_both" if beside else "new", old=beside)
        return Plan(remembered=remembered, after=(new,))
    if near.verdict == "successor":
        return _contradict(new, near, now)
    return _confirm(new, near, decision, now)


def _contradict(new: MemoryRecord, near: Near, now: float) -> Plan:
    """It takes the place of what is there, or is one of its variants, or is dropped."""
    old, variants = near.record, near.variants
    outcome = weigh(new, old, variants, now)
    if outcome.action == "updated":
        return _supersede(structs.replace(new, keywords=_joined(new.keywords, old.keywords)), near, now)
    new = structs.replace(new, variants_of=old.id)
    if outcome.action == "created_variant":
        return Plan(remembered=Remembered(record=new, action="variant", old=old), after=(new,))
    if outcome.replaced is None:
        dropped = Former(record=new, ended=now, because="dropped")
        return Plan(remembered=Remembered(record=new, action="dropped", old=old), formers=(dropped,))
    weakest = variants[outcome.replaced]
    return Plan(
        remembered=Remembered(record=new, action="replaced_variant", old=old, outweighed=weakest),
        before=(weakest,),
        after=(new,),
        formers=(Former(record=weakest, ended=now, because="outweighed"),),
    )


def _supersede(new: MemoryRecord, near: Near, now: float, was: MemoryRecord | None = None) -> Plan:
    """It takes the place of what holds, whose variants are its own from now on. was: the variant it is made of."""
    old = near.main or near.record
    gone = structs.replace(old, superseded_by=new.id, updated=now)
    others = tuple(variant for variant in near.variants if variant.id != new.id)
    moved = tuple(structs.replace(variant, variants_of=new.id) for variant in others)
    return Plan(
        remembered=Remembered(record=new, action="superseded", old=old),
        before=(old, *((was,) if was else ()), *others),
        after=(gone, new, *moved),
        formers=(Former(record=was, ended=now, because="promoted"),) if was else (),
    )


def _confirm(new: MemoryRecord, near: Near, decision: Decision | None, now: float) -> Plan:
    """What is there is said again; a variant that has become the surer one holds from now on."""
    old = near.record
    record = _merged(old, new, decision, now)
    if near.main is not None and overrules(_as_said(record, new), near.main, now):
        return _supersede(structs.replace(record, variants_of=None, since=now), near, now, was=old)
    if near.main is None:
        record = structs.replace(record, variants_of=None)  # what it contradicted is no more
    record = begun_anew(old, record, now)
    action: Action = "merged" if near.main is None else "variant"
    remembered = Remembered(record=record, action=action, old=near.main or old)
    return Plan(remembered=remembered, before=(old,), after=(record,), formers=former_of(old, record, now, "merged"))


def _as_said(record: MemoryRecord, new: MemoryRecord) -> MemoryRecord:
    """The record by the word of whoever is trusted more: those who said it before, or who says it now."""
    return structs.replace(record, provenance=new.provenance) if trust(new) > trust(record) else record


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
    by_person = new.provenance is not None and new.provenance.asserted_by == "user"
    said = new.provenance if by_person or trust(new) > trust(old) else old.provenance
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
