"""What becomes of an entry that is said again: pure changes of the file's objects, where nothing said is ever lost."""

from collections.abc import Iterable
from typing import Any, cast

from clio.memory.ltm.kinds import (
    SHAPES,
    Json,
    identity,
    is_entry,
    main_text,
    provenance_of,
    scope,
    share,
    string,
    times_of,
)
from clio.memory.ltm.text import normal
from clio.memory.records import AssertedBy, Kind, Provenance
from clio.memory.tolerant import number, texts
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
    count = SHAPES[kind].count
    old[count] = times_of(kind, old) + times_of(kind, new)
    old["updated"] = max(now, confirmed(old))


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
