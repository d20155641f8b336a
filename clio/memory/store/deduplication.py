"""How a new memory relates to those that exist, and what becomes of a memory that is stated again. No I/O.

`clio.memory.statement_relation` compares two texts: another value of the same subject replaces, a number or name that
belongs to the subject keeps both, and the thresholds 0.85 and 0.50 of the typed-memory document (see
docs/architecture.md) apply to the rest.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct, structs

from clio.errors import ProviderError
from clio.memory.statement_parser import announces_change
from clio.memory.statement_reader import split_clauses
from clio.memory.statement_relation import (
    Relation,
    differ_in_numbers,
    mask_digits,
    relate_statements,
    telling_terms,
    topic_terms,
)
from clio.memory.statement_rewording import says_same
from clio.memory.store.change_log import FormerVersion, make_former
from clio.memory.store.ltm_codec import (
    Json,
    normalize_rule_path,
    normalize_text,
    to_raw,
    to_record,
    write_record,
)
from clio.memory.store.memory_index import MemoryIndex
from clio.memory.store.record import (
    PROJECT_KINDS,
    TRUST,
    Action,
    Kind,
    MemoryRecord,
    Provenance,
    Saved,
    add_confirmation,
    default_confidence,
    has_same_text,
    is_lasting,
    update_since,
)
from clio.prompt_files import fill_prompt
from clio.text.consolidate import decide_reconsolidation
from clio.text.json_data import decode_json
from clio.text.scoring import DAY_S, decay_confidence, smooth_score
from clio.text.similarity import LshIndex, compute_jaccard, compute_signature, extract_distinctive_words
from clio.text.vocabulary import extract_terms

_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.S | re.I)
_FENCE = re.compile(r"```[\w-]*\s*\n?(.*?)```", re.S)
_NOW = re.compile(r"\b(?:from )?now(?: on)?\b", re.I)
_OBJECT = re.compile(r"\{.*\}", re.S)


class Decision(Struct, frozen=True, kw_only=True):
    """A model's answer: merge into `new_content`, or keep both.

    Attributes:
        importance: of the merged memory; 0.0 or less means the higher of the two.
    """

    action: Literal["merge", "keep"] = "keep"
    new_content: str = ""
    importance: float = 0.0


KEEP = Decision()


def ask_model(decide: Callable[[str], str], old: str, new: str) -> Decision:
    """Return a model's answer whether two memories have the same meaning; KEEP if it cannot be asked."""
    texts = {name: msgspec.json.encode(text).decode() for name, text in (("old", old), ("new", new))}
    try:
        return read_decision(decide(fill_prompt("memory/dedupe", **texts)))
    except (ProviderError, OSError, ValueError, TimeoutError):
        return KEEP


def read_decision(answer: str) -> Decision:
    """Return the decision in an answer, which may contain thoughts and a code fence; KEEP if there is none."""
    text = _THOUGHTS.sub("", answer)
    fenced = _FENCE.search(text)
    found = _OBJECT.search(fenced[1] if fenced else text)
    if found is None:
        return KEEP
    try:
        decision = decode_json(found[0], type=Decision)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return KEEP
    if decision.action == "keep" or not decision.new_content.strip() or not math.isfinite(decision.importance):
        return KEEP
    return decision


def is_known(text: str, known: Iterable[str]) -> bool:
    """Return whether one of these texts has the same meaning as a text that was saved after them."""
    return any(compare_texts(one, text) == "same" for one in known)


def compare_texts(old: str, new: str) -> Relation:
    """Return how the text of a later memory relates to that of an earlier one of the same kind."""
    if has_same_text(old, new) or _has_same_text_but_now(old, new):
        return "same"
    return relate_statements(old, new)


def _has_same_text_but_now(one: str, other: str) -> bool:
    return has_same_text(_NOW.sub(" ", one), _NOW.sub(" ", other))


def is_successor(old: str, new: str) -> bool:
    """Return whether a later text gives another value to the subject of an earlier one, and shares enough words."""
    if compare_texts(old, new) != "supersedes":
        return False
    words = extract_distinctive_words(new)
    return (
        not words
        or announces_change(new)
        or differ_in_numbers(old, new)
        or compute_jaccard(extract_distinctive_words(old), words) >= _MIN_SIMILARITY
    )


def _contradicts_clause(old: str, new: str) -> bool:
    """Return whether a text gives another value to the subject of one of several clauses of an earlier text."""
    clauses = [old[slice(*span)] for span in split_clauses(old)]
    return len(clauses) > 1 and any(len(one.split()) > 2 and is_successor(one, new) for one in clauses)


def is_overruling(new: MemoryRecord, known: MemoryRecord, now: float) -> bool:
    """Return whether a new statement replaces a known one."""
    if known.trust == TRUST["user"]:
        # What a model says beside it is a variant, however old the user's words are.
        return new.trust == TRUST["user"]
    one, other = _get_faded_confidence(new, now), _get_faded_confidence(known, now)
    return one > other or (one == other and new.trust >= known.trust)


def may_reword(old: MemoryRecord, new: MemoryRecord) -> bool:
    """Return whether a text merged from both may replace the old memory.

    Only the user changes what the user stated, and a model's answer never changes a rule or a limit: a merged text may
    allow what the limit forbids.
    """
    if old.is_stated_by_user == new.is_stated_by_user:
        return not (_is_rule(old) or _is_rule(new))
    return False


def _is_rule(record: MemoryRecord) -> bool:
    return record.kind == "preference" and is_lasting(record)


def _get_faded_confidence(record: MemoryRecord, now: float) -> float:
    """Return the faded confidence. For anyone but a user 1.0 means unstated, and the default is used."""
    stated = record.confidence if record.confidence < 1.0 else default_confidence(record.provenance)
    return decay_confidence(stated, max(now - record.accessed, 0.0) / DAY_S)


_PRECEDENCE: dict[Relation, int] = {"same": 3, "supersedes": 2, "unclear": 1, "different": 0}
_MAX_BY_SUBJECT = 50
_MAX_SHORT = 20
_MIN_SIMILARITY = 0.25
"""Of texts about one subject, unless the later one announces a change: no labelled pair in which the later text
supersedes without a word of change has less."""


class NearestMemory(Struct, frozen=True, kw_only=True):
    """The existing memory closest to a new one.

    Attributes:
        similarity: the Jaccard index of their words.
        main: the main statement, if `record` is a variant of it.
        variants: of the main statement.
    """

    record: MemoryRecord
    relation: Relation
    similarity: float
    main: MemoryRecord | None = None
    variants: tuple[MemoryRecord, ...] = ()

    @property
    def holding(self) -> MemoryRecord:
        """The main statement, of which this one may be a variant."""
        return self.main or self.record


class SavePlan(Struct, frozen=True, kw_only=True):
    """What to write.

    Attributes:
        after: new and changed records.
        gone: ids of the removed records.
        formers: the versions that end.
    """

    remembered: Saved
    after: tuple[MemoryRecord, ...] = ()
    gone: tuple[str, ...] = ()
    formers: tuple[FormerVersion, ...] = ()


def find_nearest_memory(index: MemoryIndex, new: MemoryRecord) -> NearestMemory | None:
    """Return the live memory of its kind that the new one repeats, replaces, or may repeat; None if there is none."""
    words, is_change = extract_distinctive_words(new.content), announces_change(new.content)
    numbered = index.list_differing_in_numbers(new.kind, new.content)
    near = (*index.list_similar(new.kind, new.content), *_find_by_subject(index, new), *numbered)
    candidates = {old.id: old for old in near}
    found: list[NearestMemory] = []
    for old in candidates.values():
        if old.id == new.id:
            continue
        similarity = compute_jaccard(extract_distinctive_words(old.content), words)
        is_of_model = old.is_stated_by_user and not new.is_stated_by_user
        is_against = is_of_model and _contradicts_clause(old.content, new.content)
        is_unlike = words and similarity < _MIN_SIMILARITY and not is_change and old not in numbered
        if is_unlike and not (is_against or says_same(old.content, new.content)):
            continue
        relation = "supersedes" if is_against else compare_texts(old.content, new.content)
        if relation != "different":
            found.append(NearestMemory(record=old, relation=relation, similarity=similarity))
    best = max(found, key=lambda one: (_PRECEDENCE[one.relation], one.similarity, one.record.updated), default=None)
    return None if best is None else _with_variants(index, best, new.id)


def _with_variants(index: MemoryIndex, near: NearestMemory, new: str) -> NearestMemory:
    """Add the main statement and its variants. What contradicts a variant contradicts the main statement."""
    main = index.records.get(near.record.variants_of or "")
    main = main if main is not None and main.is_live and main.id != new else None
    if main is not None and near.relation == "supersedes":
        near, main = structs.replace(near, record=main), None
    holding = main or near.record
    variants = tuple(one for one in index.variants(holding.id) if one.id != new)
    return structs.replace(near, main=main, variants=variants)


def plan_save(new: MemoryRecord, near: NearestMemory | None, decision: Decision | None, now: float) -> SavePlan:
    """Return what saving a memory changes.

    Args:
        decision: of a model about an unclear pair; None if no model was asked.
    """
    said_at = min(new.created or now, now)
    new = structs.replace(new, created=said_at, updated=said_at, accessed=now, seen=said_at)
    if near is not None and near.relation in ("unclear", "supersedes") and _is_limit_of_user(near, new):
        return _plan_refusal(new, near.holding, now)
    if near is None or (near.relation == "unclear" and (decision is None or decision.action == "keep")):
        beside = near.record if near else None
        remembered = Saved(record=new, action="kept_both" if beside else "new", other=beside)
        return SavePlan(remembered=remembered, after=(new,))
    if near.relation == "supersedes":
        return _plan_contradiction(new, near, now)
    return _plan_confirmation(new, near, decision, now)


def _plan_contradiction(new: MemoryRecord, near: NearestMemory, now: float) -> SavePlan:
    """Return the plan for a contradiction: the new one replaces the old one, becomes a variant, or is dropped."""
    old, variants = near.record, near.variants
    if is_overruling(new, old, now):
        return _plan_superseding(structs.replace(new, keywords=_merge_tags(new.keywords, old.keywords)), near, now)
    # What is not weaker has won above, so that this decides only among the variants: each is replaced only by a
    # statement with more confidence.
    outcome = decide_reconsolidation(
        _get_faded_confidence(new, now), 1.0, [_get_faded_confidence(variant, now) for variant in variants]
    )
    new = structs.replace(new, variants_of=old.id)
    if outcome.action == "created_variant":
        return SavePlan(remembered=Saved(record=new, action="variant", other=old), after=(new,))
    if outcome.replaced_index is None:
        return _plan_refusal(new, old, now)
    weakest = variants[outcome.replaced_index]
    return SavePlan(
        remembered=Saved(record=new, action="replaced_variant", other=old, outweighed=weakest),
        after=(new,),
        gone=(weakest.id,),
        formers=(FormerVersion(record=weakest, ended=now, because="outweighed"),),
    )


def _is_limit_of_user(near: NearestMemory, new: MemoryRecord) -> bool:
    """Return whether anyone but the user states something about a rule or hard limit of the user."""
    return _is_rule(near.holding) and near.holding.is_stated_by_user and not new.is_stated_by_user


def _plan_refusal(new: MemoryRecord, old: MemoryRecord, now: float) -> SavePlan:
    """Return the plan that leaves everything as it is, with the new statement in the archive only."""
    dropped = FormerVersion(record=structs.replace(new, variants_of=old.id), ended=now, because="dropped")
    return SavePlan(remembered=Saved(record=dropped.record, action="dropped", other=old), formers=(dropped,))


def _plan_superseding(new: MemoryRecord, near: NearestMemory, now: float, was: MemoryRecord | None = None) -> SavePlan:
    """Return the plan in which a record replaces the main statement and takes over its variants.

    Args:
        was: the variant from which the record was made, if any.
    """
    old = near.holding
    gone = structs.replace(old, superseded_by=new.id, updated=now)
    others = tuple(variant for variant in near.variants if variant.id != new.id)
    moved = tuple(structs.replace(variant, variants_of=new.id) for variant in others)
    return SavePlan(
        remembered=Saved(record=new, action="superseded", other=old),
        after=(gone, new, *moved),
        formers=(FormerVersion(record=was, ended=now, because="promoted"),) if was else (),
    )


def _plan_confirmation(new: MemoryRecord, near: NearestMemory, decision: Decision | None, now: float) -> SavePlan:
    """Return the plan for a repeated statement; a variant that gains more confidence becomes the main statement."""
    old = near.record
    if _repeats(new, old):
        return SavePlan(remembered=Saved(record=old, action="merged", other=near.main or old))
    record = merge_records(old, new, max(old.updated, new.updated), decision)
    record = structs.replace(record, accessed=now, seen=max(old.seen, new.seen))
    by_more_trusted = new if new.trust > record.trust else record
    stated = structs.replace(record, provenance=by_more_trusted.provenance)
    if near.main is not None and is_overruling(stated, near.main, now):
        return _plan_superseding(structs.replace(record, variants_of=None, since=now), near, now, was=old)
    if near.main is None:
        record = structs.replace(record, variants_of=new.variants_of)  # the memory it contradicted may be gone
    record = update_since(old, record, new.updated)
    action: Action = "merged" if near.main is None else "variant"
    remembered = Saved(record=record, action=action, other=near.main or old)
    return SavePlan(remembered=remembered, after=(record,), formers=make_former(old, record, now, "merged"))


def _repeats(new: MemoryRecord, old: MemoryRecord) -> bool:
    """Whether a memory only repeats what was saved in the same session, in the same words and with no other tags.

    That happens when the user's statement is saved at once, and the model then saves it too. It confirms nothing, and a
    change of its own would need an undo of its own.
    """
    if new.provenance is None or old.provenance is None or new.trust > old.trust or new.explicit or not old.explicit:
        return False
    is_same_session = bool(new.provenance.session) and new.provenance.session == old.provenance.session
    adds_file = not {*new.examples} <= {*old.examples} or not new.hashes.items() <= old.hashes.items()
    adds = adds_file or not {*new.keywords} <= {*old.keywords}
    return is_same_session and not adds and _has_same_text_but_now(new.content, old.content)


def merge_duplicates(old: MemoryRecord, new: MemoryRecord, decision: Decision | None) -> MemoryRecord:
    """Return two stored memories of the same meaning as one: the older id, the newer text, the later use."""
    one = merge_records(old, new, max(old.updated, new.updated), decision)
    return structs.replace(
        one,
        accessed=max(old.accessed, new.accessed),
        seen=max(old.seen, new.seen),
        access_count=old.access_count + new.access_count,
    )


def merge_records(old: MemoryRecord, new: MemoryRecord, now: float, decision: Decision | None = None) -> MemoryRecord:
    """Return a memory that is stated again, in the same or in nearly the same words.

    The confidence never falls, examples and tags are combined, and each session that stated it confirms it. A fact,
    event, note or preference gets the newer text and the higher importance; what the user stated keeps text, score,
    importance and source when a model or a tool repeats it. Project memory keeps its text, its counts are summed, and
    of what a less trusted source states nothing is merged but the count and the confirmation, see `find_less_trusted`.

    Args:
        now: when it was stated.
        decision: of a model about the text of both.
    """
    provenance = _choose_source(old, new)
    confirmations = add_confirmation(
        (*old.confirmations, *new.confirmations), old.provenance, new.provenance, provenance
    )
    if old.kind in PROJECT_KINDS:
        less_trusted = find_less_trusted(old, new)
        fields: dict[str, Any] = {"times": old.times + new.times}
        if less_trusted is new:
            new = structs.replace(new, confidence=0.0, examples=(), hashes={})
        else:
            old = _strip_details(old) if less_trusted is old else old
            fields |= _merge_details(old, new)
    else:
        fields = _merge_statements(old, new, decision) | {"accessed": now, "seen": now}
    return structs.replace(
        old,
        updated=now,
        confidence=max(old.confidence, new.confidence),
        examples=_merge_tags(old.examples, new.examples),
        hashes=old.hashes | new.hashes,
        provenance=provenance,
        confirmations=confirmations,
        **fields,
    )


def find_less_trusted(old: MemoryRecord, new: MemoryRecord) -> MemoryRecord | None:
    """Return which of two statements of a project memory must not be mixed with the other; None for neither.

    It is the new one if its source is trusted less, and the old one if a tool stated it and the user or the model
    repeats it.
    """
    if new.trust < old.trust:
        return new
    return old if old.trust == TRUST["tool"] < new.trust else None


def _choose_source(old: MemoryRecord, new: MemoryRecord) -> Provenance | None:
    """Return the source of a memory that is stated again: the more trusted one, of a fact the last time by the user.

    A project memory without a source was stated by the model of the Perl CLIO.
    """
    is_project = old.kind in PROJECT_KINDS
    adds_source = old.provenance is None and not old.is_stated_by_user
    is_source = (
        new.trust > old.trust
        or (adds_source and (not is_project or new.trust == old.trust))
        or (not is_project and new.is_stated_by_user)
    )
    return new.provenance if is_source and new.provenance is not None else old.provenance


def _merge_statements(old: MemoryRecord, new: MemoryRecord, decision: Decision | None) -> dict[str, Any]:
    """Return the merged fields that only facts, events, notes and preferences have."""
    if old.is_stated_by_user and not new.is_stated_by_user:
        new = structs.replace(
            new, content=old.content, importance=0.0, score=None, reason="", scenarios=(), explicit=False
        )
        decision = None
    content = decision.new_content.strip() if decision else new.content
    chosen = decision.importance if decision and decision.importance > 0 else max(old.importance, new.importance)
    score = old.score if new.score is None else new.score
    if old.score is not None and new.score is not None:
        score = smooth_score(old.score, new.score, explicit=new.explicit)
    return {
        "content": content,
        "importance": min(chosen, 1.0),
        "score": score,
        "reason": new.reason or old.reason,
        "keywords": _merge_tags(old.keywords, new.keywords),
        "scenarios": _merge_tags(old.scenarios, new.scenarios),
        "version": old.version + (content != old.content),
        "explicit": old.explicit or new.explicit,
    }


def _strip_details(record: MemoryRecord) -> MemoryRecord:
    """Return a project memory with nothing but the text by which it is known."""
    record = structs.replace(record, impact="", other_impacts=(), also=(), examples=())
    if record.kind == "workflow":
        return structs.replace(record, content=" → ".join(record.steps))
    return structs.replace(record, solution="") if record.kind == "failure" else record


def _merge_details(old: MemoryRecord, new: MemoryRecord) -> dict[str, Any]:
    """Return the merged texts of project memory, and the success rate: the mean weighted by the counts."""
    fields: dict[str, Any] = {}
    if old.kind == "failure":
        fields["solution"], fields["also"] = _merge_alternatives(old.solution, new.solution, (*old.also, *new.also))
        others = (*old.other_impacts, *new.other_impacts)
        fields["impact"], fields["other_impacts"] = _merge_alternatives(old.impact, new.impact, others)
    if old.kind == "workflow":
        if old.content == " → ".join(old.steps) and new.content != " → ".join(new.steps):
            fields["content"] = new.content
        if (rate := new.success_rate) is not None:
            if old.success_rate is not None:
                rate = (old.success_rate * old.times + rate * new.times) / (old.times + new.times)
            fields["success_rate"] = round(rate, 6)
    return fields


def _merge_alternatives(was: str, said: str, others: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the newest text, and the former and other ones without repetitions."""
    if not said.strip() or normalize_text(said) == normalize_text(was):
        said = was
    former = {normalize_text(one): one for one in reversed((was, *others)) if one.strip()}
    former.pop(normalize_text(said), None)
    return said, tuple(reversed(former.values()))


def _find_by_subject(index: MemoryIndex, new: MemoryRecord) -> list[MemoryRecord]:
    """Return memories that may be about the same subject, even if `MemoryIndex.list_similar` does not find them.

    That is so for what the new one says has changed, and for short statements: "we're on Django 4.2", "… Django 5.0".
    """
    is_change = announces_change(new.content)
    terms = topic_terms(new.content) if is_change else telling_terms(new.content)
    if mask_digits(new.content) is not None:
        terms = frozenset(extract_terms(new.content))  # a statement in such a script is read as one word
    counts = {} if is_change else index.count_with_each_term(terms)
    rare = [term for term in terms if counts.get(term, 0) <= _MAX_BY_SUBJECT]
    matches = index.matches(rare or extract_terms(new.content))
    best = sorted(matches, key=lambda id: -matches[id])[: _MAX_BY_SUBJECT if is_change else _MAX_SHORT]
    return [record for id in best if (record := index.records[id]).kind == new.kind]


OUTDATED_KINDS: tuple[Kind, ...] = ("discovery", "pattern", "rule")
"""Kinds of statements that a newer one can outdate. An error may have several solutions, a task several workflows."""
SAME_TIME_S = 2 * 3_600.0
"""Statements within this time do not outdate each other, such as "worker 1 runs here" and "worker 2 runs there"."""


def find_outdated(entries: Sequence[MemoryRecord], facts: Sequence[MemoryRecord] = ()) -> dict[str, str]:
    """Return the outdated project memories: id → id of the newest memory or fact that contradicts it.

    facts: typed memories, which can outdate project memories of any kind.
    """
    found: dict[str, str] = {}
    for kind in OUTDATED_KINDS:
        there = [entry for entry in entries if entry.kind == kind]
        known = {entry.id: entry for entry in (*facts, *there)}
        alike: LshIndex[str] = LshIndex()
        signatures = {id: compute_signature(extract_distinctive_words(entry.content)) for id, entry in known.items()}
        for id, one in signatures.items():
            alike.add(id, one)
        for old in there:
            # Only candidates of the index are compared, since comparing each pair takes quadratic time.
            near = [known[id] for id in alike.find_candidates(signatures[old.id]) if id != old.id]
            newer = [new for new in near if _is_outdated_by(old, new)]
            if newer:
                found[old.id] = max(newer, key=lambda new: (new.stated_since, new.id)).id
    return found


def _is_outdated_by(old: MemoryRecord, new: MemoryRecord) -> bool:
    # Statements about different files do not contradict each other.
    is_about_others = old.examples and new.examples and set(old.examples).isdisjoint(new.examples)
    return (
        new.stated_since - old.updated >= SAME_TIME_S
        and new.trust >= old.trust
        and normalize_rule_path(old.context) == normalize_rule_path(new.context)
        and not is_about_others
        and compare_texts(old.content, new.content) == "supersedes"
    )


def _merge_tags(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))


_OTHER_TEXTS = ("name", "impact", "other_impacts", "prevention", "other_preventions", "examples")
"""The fields whose texts do not belong to the identity of a memory."""


def merge_object(
    raw: Json, new: MemoryRecord, now: float = 0.0, *, forgotten: bool = False, is_copy: bool = False
) -> None:
    """Merge a statement of the same meaning into an object, see `merge_records`.

    Texts that the more trusted of the two sources did not state are stored in `quoted`, which is never shown.

    Args:
        forgotten: the user removed the memory, so confidence and provenance are those of the new statement.
        is_copy: the statement is from another file, so counts and times become the higher of the two, and reading the
            same file twice changes nothing.
    """
    was = old = to_record(new.kind, raw, "")
    if forgotten:
        old = structs.replace(was, confidence=new.confidence, provenance=new.provenance, confirmations=())
    if (less_trusted := find_less_trusted(old, new)) is not None:
        said, other = (to_raw(one) for one in (less_trusted, new if less_trusted is old else old))
        texts = {name: said[name] for name in _OTHER_TEXTS if said.get(name) and said[name] != other.get(name)}
        former = raw.get("quoted")
        quoted: list[Any] = cast(list[Any], former) if isinstance(former, list) else []
        if texts and texts not in quoted:
            raw["quoted"] = [*quoted, texts]
    merged = merge_records(old, new, max(now, old.updated, new.updated if is_copy else 0.0))
    if is_copy:
        rate = merged.success_rate if old.success_rate is None else old.success_rate
        merged = structs.replace(merged, times=max(old.times, new.times), success_rate=rate)
    write_record(raw, was, merged)
