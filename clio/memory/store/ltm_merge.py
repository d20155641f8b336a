"""Pure changes of the objects of `ltm.json`: a draft checked, an entry confirmed by another, brought back, changed."""

from collections.abc import Iterable
from typing import Any, cast

import msgspec
from msgspec import structs

from clio.errors import UserError
from clio.memory.store.ltm_codec import (
    SHAPES,
    Json,
    confirmations_of,
    identity,
    is_entry,
    main_text,
    normal,
    number,
    provenance_of,
    scope,
    share,
    string,
    texts,
    times_of,
    to_entry,
    to_raw,
)
from clio.memory.store.record import AssertedBy, Kind, MemoryRecord, Provenance, add_confirmation
from clio.text.formatting import truncate_line

TRUST: dict[AssertedBy, int] = {"tool": 0, "model": 1, "user": 2}


def same(kind: Kind, section: Iterable[Any], new: Json) -> Json | None:
    """The object of a section that says what `new` says; None where none does."""
    wanted = identity(kind, new)
    return next((raw for raw in section if is_entry(kind, raw) and identity(kind, raw) == wanted), None)


def beside(section: Iterable[Any], new: Json) -> list[Json]:
    """The other solutions to the same error, newest first."""
    error, solution = identity("solution", new)
    found: list[Json] = []
    for raw in section:
        if is_entry("solution", raw):
            words = identity("solution", raw)
            found += [raw] if words[0] == error and words[1] != solution else []
    return sorted(found, key=confirmed, reverse=True)


def place_for(kind: Kind, section: list[Any], new: Json) -> int:
    """Where a new object goes: at the end, but a solution before the older ones to the same error."""
    older = beside(section, new) if kind == "solution" else []
    return min((place for place, raw in enumerate(section) if any(raw is one for one in older)), default=len(section))


def confirm(kind: Kind, old: Json, new: Json, now: float) -> None:
    """Let `old` take in what `new` says.

    Confidence only rises, examples and prevention only grow, the count rises by the count of `new`, a workflow's rate
    is the mean over all that was counted. Who is trusted more becomes the one who said it; the words of a tool are
    never mixed with those of others, where they would pass for theirs: they are kept in `quoted`, which nobody shows.
    """
    source, by = provenance_of(old), provenance_of(new)
    rank, rank_of_new = _trust(source), _trust(by)
    if rank_of_new < rank:
        _quote(old, _words(new), _words(old))
    else:
        if rank == TRUST["tool"] < rank_of_new:
            quoted = _words(old)
            for name in quoted:
                del old[name]
            _quote(old, quoted, _words(new))
        _take_words(kind, old, new)
        old["confidence"] = max(share(old.get("confidence"), SHAPES[kind].unstated), new["confidence"])
        if by and (rank_of_new > rank or source is None):
            old["provenance"] = new["provenance"]
    _note_confirmation(old, source, by)
    count = SHAPES[kind].count
    old[count] = times_of(kind, old) + times_of(kind, new)
    old["updated"] = max(now, confirmed(old))


def _note_confirmation(raw: Json, before: Provenance | None, new: Provenance | None) -> None:
    known = confirmations_of(raw)
    found = add_confirmation(known, before, new, provenance_of(raw))
    if found != known:
        raw["confirmations"] = msgspec.to_builtins(found)


def absorb(kind: Kind, old: Json, new: Json) -> None:
    """Let `old` take in another file's object of the same identity, as often as one likes.

    Like `confirm`, but counts and times are the higher of the two, so that the same file read twice changes nothing.
    """
    times, rate = max(times_of(kind, old), times_of(kind, new)), old.get("success_rate")
    confirm(kind, old, new, max(confirmed(old), confirmed(new)))
    old[SHAPES[kind].count] = times
    if kind == "workflow" and rate is not None:
        old["success_rate"] = rate


def revive(kind: Kind, raw: Json, new: Json, now: float, *, forgotten: bool) -> Json:
    """An archived object that is said again, with its history.

    What was pruned comes back as if it had never gone; of what somebody took out on purpose only the new words count
    for the confidence and for who said it.
    """
    back = {name: value for name, value in raw.items() if name != "superseded_by"}
    if forgotten:
        back["confidence"] = new["confidence"]
        back["provenance"] = new.get("provenance")
        back.pop("confirmations", None)
    confirm(kind, back, new, now)
    return back


def adopt_context(section: Iterable[Any], new: Json) -> None:
    """Write a new rule's path as the file already writes it."""
    wanted = scope(string(new.get("context")))
    for raw in section:
        if isinstance(raw, dict):
            path = string(cast(Json, raw).get("context"))
            if path and scope(path) == wanted:
                new["context"] = path
                return


def confirmed(raw: Json) -> float:
    """When an object was last said."""
    return max(number(raw.get("updated"), 0.0), number(raw.get("timestamp"), 0.0))


def label(kind: Kind, raw: Json) -> str:
    """The beginning of its text, for a sentence about it."""
    return truncate_line(main_text(kind, raw), 60)


_WORDS = ("name", "impact", "other_impacts", "prevention", "other_preventions", "examples")
"""What an entry may say beside what makes it that entry."""


def _words(raw: Json) -> Json:
    return {name: raw[name] for name in _WORDS if raw.get(name)}


def _quote(old: Json, words: Json, known: Json) -> None:
    """Keep a tool's words apart from the known ones."""
    news = {name: value for name, value in words.items() if value != known.get(name)}
    former = old.get("quoted")
    quoted: list[Any] = cast(list[Any], former) if isinstance(former, list) else []
    if news and news not in quoted:
        old["quoted"] = [*quoted, news]


def _take_words(kind: Kind, old: Json, new: Json) -> None:
    if kind == "failure":
        _keep_both(old, new, "prevention", "other_preventions")
        _keep_both(old, new, "impact", "other_impacts")
    if kind == "workflow":
        _mean_rate(old, new)
        if new.get("name") and not string(old.get("name")).strip():
            old["name"] = new["name"]
    if more := texts(new.get("examples")):
        old["examples"] = list(dict.fromkeys([*texts(old.get("examples")), *more]))


def _trust(source: Provenance | None) -> int:
    """The original does not say who spoke: it was the model."""
    return TRUST[source.asserted_by if source else "model"]


def _keep_both(old: Json, new: Json, field: str, others: str) -> None:
    """The newest words in their field, the former ones in the list beside it."""
    was, said = string(old.get(field)), string(new.get(field))
    if not said.strip() or normal(said) == normal(was):
        said = was
    _set_others(old, field, others, said, [was, *texts(old.get(others)), *texts(new.get(others))])


def _set_others(old: Json, field: str, others: str, said: str, former: list[str]) -> None:
    kept = {normal(one): one for one in reversed(former) if one.strip()}
    kept.pop(normal(said), None)
    if said or field in old:
        old[field] = said
    if kept:
        old[others] = list(reversed(kept.values()))
    else:
        old.pop(others, None)


def _mean_rate(old: Json, new: Json) -> None:
    said = new.get("success_rate")
    if said is None:
        return
    was, times, more = old.get("success_rate"), times_of("workflow", old), times_of("workflow", new)
    share_of_new = share(said, 0.0)
    mean = share_of_new if was is None else (share(was, 0.0) * times + share_of_new * more) / (times + more)
    old["success_rate"] = round(mean, 6)


MAX_CHARS = 10_000
"""Of each text of an entry; what is longer is a note."""
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


def checked(draft: MemoryRecord) -> MemoryRecord:
    """The draft in valid Unicode, without blanks round its texts. Raises UserError for one that lacks what it needs."""
    clean = structs.replace(
        draft,
        content=unsurrogated(draft.content).strip(),
        solution=unsurrogated(draft.solution).strip(),
        impact=unsurrogated(draft.impact).strip(),
        context=unsurrogated(draft.context).strip(),
        also=_cleaned(draft.also),
        steps=_cleaned(draft.steps),
        examples=_cleaned(draft.examples),
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
            f"The {name} has {longest:,} characters and an entry holds {MAX_CHARS:,}; store a note, and say here where."
        )
    if len(clean.examples) > MAX_EXAMPLES:
        raise UserError(f"{len(clean.examples)} examples are too many; give the {MAX_EXAMPLES} that show it best.")
    return clean


def changed_raw(kind: Kind, raw: Json, handle: str, changes: dict[str, Any]) -> Json:
    """The object with those fields changed and all others as they were. Raises UserError for a field there is not."""
    unknown = [name for name in changes if name not in _CHANGEABLE]
    if unknown:
        raise UserError(f"{', '.join(unknown)} cannot be changed; what can is {', '.join(_CHANGEABLE)}.")
    now = to_entry(kind, raw, handle)
    new = checked(structs.replace(now, **changes))
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
    if identity(kind, raw | fields) != identity(kind, raw):
        dropped.add("confirmations")  # they were of other words
    if changes.get("provenance"):
        fields["provenance"] = msgspec.to_builtins(changes["provenance"])
    return {name: value for name, value in (raw | fields).items() if name not in dropped}


def unsurrogated(text: str) -> str:
    """The text in valid Unicode, with a question mark for what no file could hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _cleaned(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(clean for text in texts if (clean := unsurrogated(text).strip())))
