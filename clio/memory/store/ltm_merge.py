"""Pure changes to objects of `ltm.json`: check a draft, confirm, restore and change a memory."""

from collections.abc import Iterable
from typing import Any, cast

import msgspec
from msgspec import structs

from clio.errors import UserError
from clio.memory.store.ltm_codec import (
    SHAPES,
    Json,
    get_confirmations,
    get_identity,
    get_main_text,
    get_provenance,
    get_times,
    is_ltm_object,
    normalize_rule_path,
    normalize_text,
    to_fraction,
    to_number,
    to_raw,
    to_record,
    to_text,
    to_texts,
)
from clio.memory.store.record import AssertedBy, Kind, MemoryRecord, Provenance, add_confirmation
from clio.text.formatting import truncate_line

TRUST: dict[AssertedBy, int] = {"tool": 0, "model": 1, "user": 2}


def find_same(kind: Kind, section: Iterable[Any], new: Json) -> Json | None:
    """Return the object of a section with the same meaning as `new`; None if there is none."""
    wanted = get_identity(kind, new)
    return next((raw for raw in section if is_ltm_object(kind, raw) and get_identity(kind, raw) == wanted), None)


def find_other_solutions(section: Iterable[Any], new: Json) -> list[Json]:
    """Return the other solutions to the same error, newest first."""
    error, solution = get_identity("solution", new)
    found: list[Json] = []
    for raw in section:
        if is_ltm_object("solution", raw):
            words = get_identity("solution", raw)
            found += [raw] if words[0] == error and words[1] != solution else []
    return sorted(found, key=get_confirmed_at, reverse=True)


def find_insert_position(kind: Kind, section: list[Any], new: Json) -> int:
    """Return the index for a new object: the end, but before older solutions to the same error."""
    older = find_other_solutions(section, new) if kind == "solution" else []
    return min((place for place, raw in enumerate(section) if any(raw is one for one in older)), default=len(section))


def confirm_memory(kind: Kind, old: Json, new: Json, now: float) -> None:
    """Merge `new`, an object with the same identity, into `old`.

    Confidence never falls, examples and preventions are added, the counts are summed, and the success rate of a
    workflow is the mean weighted by the counts. The more trusted of the two sources becomes the provenance. Texts from
    a tool are never mixed with texts from the user or the model, which are trusted more: they are stored in `quoted`,
    which is never shown.
    """
    source, by = get_provenance(old), get_provenance(new)
    rank, rank_of_new = _get_trust(source), _get_trust(by)
    if rank_of_new < rank:
        _add_quoted(old, _get_other_texts(new), _get_other_texts(old))
    else:
        if rank == TRUST["tool"] < rank_of_new:
            quoted = _get_other_texts(old)
            for name in quoted:
                del old[name]
            _add_quoted(old, quoted, _get_other_texts(new))
        _merge_texts(kind, old, new)
        old["confidence"] = max(to_fraction(old.get("confidence"), SHAPES[kind].unstated), new["confidence"])
        if by and (rank_of_new > rank or source is None):
            old["provenance"] = new["provenance"]
    _note_confirmation(old, source, by)
    count = SHAPES[kind].count
    old[count] = get_times(kind, old) + get_times(kind, new)
    old["updated"] = max(now, get_confirmed_at(old))


def _note_confirmation(raw: Json, before: Provenance | None, new: Provenance | None) -> None:
    known = get_confirmations(raw)
    found = add_confirmation(known, before, new, get_provenance(raw))
    if found != known:
        raw["confirmations"] = msgspec.to_builtins(found)


def absorb_memory(kind: Kind, old: Json, new: Json) -> None:
    """Merge an object of another file, with the same identity, into `old`.

    Like `confirm_memory`, but counts and times become the higher of the two, so reading the same file twice changes
    nothing.
    """
    times, rate = max(get_times(kind, old), get_times(kind, new)), old.get("success_rate")
    confirm_memory(kind, old, new, max(get_confirmed_at(old), get_confirmed_at(new)))
    old[SHAPES[kind].count] = times
    if kind == "workflow" and rate is not None:
        old["success_rate"] = rate


def revive_memory(kind: Kind, raw: Json, new: Json, now: float, *, forgotten: bool) -> Json:
    """Return an archived object that is stated again, merged with the new statement.

    Args:
        forgotten: the user removed it, so confidence and provenance are those of the new statement. A memory that was
            pruned keeps its own.
    """
    back = {name: value for name, value in raw.items() if name != "superseded_by"}
    if forgotten:
        back["confidence"] = new["confidence"]
        back["provenance"] = new.get("provenance")
        back.pop("confirmations", None)
    confirm_memory(kind, back, new, now)
    return back


def adopt_rule_path(section: Iterable[Any], new: Json) -> None:
    """Write the path of a new rule in the form that the file already has."""
    wanted = normalize_rule_path(to_text(new.get("context")))
    for raw in section:
        if isinstance(raw, dict):
            path = to_text(cast(Json, raw).get("context"))
            if path and normalize_rule_path(path) == wanted:
                new["context"] = path
                return


def get_confirmed_at(raw: Json) -> float:
    """Return when an object was last confirmed."""
    return max(to_number(raw.get("updated"), 0.0), to_number(raw.get("timestamp"), 0.0))


def make_label(kind: Kind, raw: Json) -> str:
    """Return the beginning of its text, for messages."""
    return truncate_line(get_main_text(kind, raw), 60)


_OTHER_TEXTS = ("name", "impact", "other_impacts", "prevention", "other_preventions", "examples")
"""The fields whose texts do not belong to the identity of a memory."""


def _get_other_texts(raw: Json) -> Json:
    return {name: raw[name] for name in _OTHER_TEXTS if raw.get(name)}


def _add_quoted(old: Json, words: Json, known: Json) -> None:
    """Store a tool's texts in `quoted`, without those that are in `known`."""
    news = {name: value for name, value in words.items() if value != known.get(name)}
    former = old.get("quoted")
    quoted: list[Any] = cast(list[Any], former) if isinstance(former, list) else []
    if news and news not in quoted:
        old["quoted"] = [*quoted, news]


def _merge_texts(kind: Kind, old: Json, new: Json) -> None:
    if kind == "failure":
        _merge_alternatives(old, new, "prevention", "other_preventions")
        _merge_alternatives(old, new, "impact", "other_impacts")
    if kind == "workflow":
        _average_rate(old, new)
        if new.get("name") and not to_text(old.get("name")).strip():
            old["name"] = new["name"]
    if more := to_texts(new.get("examples")):
        old["examples"] = list(dict.fromkeys([*to_texts(old.get("examples")), *more]))


def _get_trust(source: Provenance | None) -> int:
    """Return the rank of who stated a memory. Files of the original program do not name it: it was the model."""
    return TRUST[source.asserted_by if source else "model"]


def _merge_alternatives(old: Json, new: Json, field: str, others: str) -> None:
    """Store the newest text in `field` and the former ones in the list `others`."""
    was, said = to_text(old.get(field)), to_text(new.get(field))
    if not said.strip() or normalize_text(said) == normalize_text(was):
        said = was
    _set_others(old, field, others, said, [was, *to_texts(old.get(others)), *to_texts(new.get(others))])


def _set_others(old: Json, field: str, others: str, said: str, former: list[str]) -> None:
    kept = {normalize_text(one): one for one in reversed(former) if one.strip()}
    kept.pop(normalize_text(said), None)
    if said or field in old:
        old[field] = said
    if kept:
        old[others] = list(reversed(kept.values()))
    else:
        old.pop(others, None)


def _average_rate(old: Json, new: Json) -> None:
    said = new.get("success_rate")
    if said is None:
        return
    was, times, more = old.get("success_rate"), get_times("workflow", old), get_times("workflow", new)
    share_of_new = to_fraction(said, 0.0)
    mean = share_of_new if was is None else (to_fraction(was, 0.0) * times + share_of_new * more) / (times + more)
    old["success_rate"] = round(mean, 6)


MAX_CHARS = 10_000
"""Maximum length of each text of a memory; a longer text is stored as a note."""
MAX_EXAMPLES = 50
_CHANGEABLE = (
    "content",
    "solution",
    "also",
    "impact",
    "steps",
    "context",
    "confidence",
    "success_rate",
    "examples",
    "provenance",
)
_MAIN = {
    "discovery": "fact",
    "solution": "error",
    "pattern": "pattern",
    "workflow": "workflow",
    "failure": "failure",
    "rule": "rule",
}


def check_draft(draft: MemoryRecord) -> MemoryRecord:
    """Return the draft with its texts stripped and in valid Unicode. Raises UserError if it cannot be stored."""
    clean = structs.replace(
        draft,
        content=replace_surrogates(draft.content).strip(),
        solution=replace_surrogates(draft.solution).strip(),
        impact=replace_surrogates(draft.impact).strip(),
        context=replace_surrogates(draft.context).strip(),
        also=_clean_texts(draft.also),
        steps=_clean_texts(draft.steps),
        examples=_clean_texts(draft.examples),
    )
    name = _MAIN[clean.kind]
    if not clean.content and not (clean.kind == "workflow" and clean.steps):
        raise UserError(f"The {name} is empty; say in a sentence what is to be remembered.")
    if clean.kind == "solution" and not clean.solution:
        raise UserError("The solution is empty; say what helped against the error.")
    texts = (clean.content, clean.solution, clean.impact, clean.context, *clean.also, *clean.steps, *clean.examples)
    longest = max(map(len, texts))
    if longest > MAX_CHARS:
        raise UserError(
            f"The {name} has {longest:,} characters, more than the {MAX_CHARS:,} allowed; save it as a note, "
            "and name that note here."
        )
    if len(clean.examples) > MAX_EXAMPLES:
        raise UserError(f"{len(clean.examples)} examples are too many; give the {MAX_EXAMPLES} that show it best.")
    return clean


def apply_changes(kind: Kind, raw: Json, handle: str, changes: dict[str, Any]) -> Json:
    """Return the object with these fields changed. Raises UserError for a field that cannot be changed."""
    unknown = [name for name in changes if name not in _CHANGEABLE]
    if unknown:
        raise UserError(f"{', '.join(unknown)} cannot be changed; what can is {', '.join(_CHANGEABLE)}.")
    now = to_record(kind, raw, handle)
    new = check_draft(structs.replace(now, **changes))
    if (
        new.kind == "workflow"
        and "steps" in changes
        and "content" not in changes
        and now.content == " → ".join(now.steps)
    ):
        new = structs.replace(new, content=" → ".join(new.steps))
    was, will = to_raw(now), to_raw(new)
    fields = {name: value for name, value in will.items() if value != was.get(name)}
    dropped = was.keys() - will.keys()
    if get_identity(kind, raw | fields) != get_identity(kind, raw):
        dropped.add("confirmations")  # they were of other words
    if changes.get("provenance"):
        fields["provenance"] = msgspec.to_builtins(changes["provenance"])
    return {name: value for name, value in (raw | fields).items() if name not in dropped}


def replace_surrogates(text: str) -> str:
    """Return the text as valid Unicode, with a question mark for each lone surrogate."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _clean_texts(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(clean for text in texts if (clean := replace_surrogates(text).strip())))
