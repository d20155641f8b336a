"""The six kinds of project knowledge as `ltm.json` spells them, and how their objects become entries and back."""

import hashlib
import math
import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, cast

import msgspec
from msgspec import Struct

from clio.errors import UserError
from clio.memory.store.example_files import stored_hashes
from clio.memory.store.record import DEFAULT_CONFIDENCE, PROJECT_KINDS, Kind, MemoryRecord, Provenance
from clio.text.lazy_regex import LazyRegex


def number(raw: object, default: float) -> float:
    """A number however it was written: as one, as its digits, or as a date in ISO 8601."""
    if not isinstance(raw, int | float | str):
        return default
    try:
        value = float(raw)
        return value if math.isfinite(value) else default
    except (ValueError, OverflowError):
        pass
    try:
        date = datetime.fromisoformat(str(raw))
    except ValueError:
        return default
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def texts(raw: object) -> list[str]:
    """The strings of a list; nothing where it is not one."""
    return [item for item in cast(list[object], raw) if isinstance(item, str)] if isinstance(raw, list) else []


# Letters whose case means something: paths, dotted and underscored names, camelCase, short options.
_CASED = LazyRegex(r"[/\\_]|^-|\w\.\w|[a-z][A-Z]")
_QUOTED = LazyRegex(r"(?<![\w\\])(?:([`'\"])([^\s`'\"]+)\1|“([^\s“”]+)”|‘([^\s‘’]+)’|«([^\s«»]+)»)(?!\w)")
_CLOSING = LazyRegex(r"(?<=[\w)\]}`'\"”’»])[.!;,:…。！；，、]+$")
_UNSEEN = LazyRegex("[\u00ad\u200b\u2060\ufeff]")


@lru_cache(maxsize=65_536)
def normal(text: str) -> str:
    """What two texts that say the same have in common, for comparing only.

    Spacing, closing punctuation, the form of accents, quotes round a name and the case of words do not count. Numbers,
    versions, negations and every other sign do, and so does the case of what is a path, an option or a name of parts.
    """
    text = " ".join(_UNSEEN.sub("", unicodedata.normalize("NFC", text)).split())
    text = _QUOTED.sub(_bare, _CLOSING.sub("", text))
    return " ".join(word if _CASED.search(word) else word.casefold() for word in text.split(" "))


def _bare(match: re.Match[str]) -> str:
    """The name without its quotes; a number keeps them, since "1" is not 1."""
    inside = match[2] or match[3] or match[4] or match[5]
    return inside if any(sign.isalpha() for sign in inside) else match[0]


Json = dict[str, Any]

EVERYWHERE = "*"
_STORED_ID = re.compile(r"[^\s\x00-\x1f\x7f]{1,64}")
_ID_DIGITS = 6


class Shape(Struct, frozen=True, kw_only=True):
    """Where a kind lies in the file: its section, and the names of its fields.

    unstated: the confidence of an entry that names none.
    """

    section: str
    text: str
    count: str
    unstated: float = DEFAULT_CONFIDENCE


SHAPES: dict[Kind, Shape] = {
    "discovery": Shape(section="discoveries", text="fact", count="count", unstated=0.5),
    "solution": Shape(section="problem_solutions", text="error", count="solved_count"),
    "pattern": Shape(section="code_patterns", text="pattern", count="count", unstated=0.5),
    "workflow": Shape(section="workflows", text="name", count="count"),
    "failure": Shape(section="failures", text="what", count="occurrences"),
    "rule": Shape(section="context_rules", text="rule", count="count"),
}


def is_entry(kind: Kind, raw: object) -> bool:
    """Whether an item of a section is an entry of its kind; others are passed over and stay in the file."""
    return isinstance(raw, dict) and bool(main_text(kind, cast(Json, raw)).strip())


def main_text(kind: Kind, raw: Json) -> str:
    """The text of an entry; a workflow without a name is its steps."""
    text = string(raw.get(SHAPES[kind].text))
    return text if text.strip() or kind != "workflow" else " → ".join(steps_of(raw))


def identity(kind: Kind, raw: Json) -> tuple[str, ...]:
    """What makes two entries of a kind the same entry."""
    match kind:
        case "workflow":
            return tuple(normal(step) for step in steps_of(raw)) or (normal(main_text(kind, raw)),)
        case "solution":
            return normal(string(raw.get("error"))), normal(string(raw.get("solution")))
        case "rule":
            return scope(string(raw.get("context"))), normal(string(raw.get("rule")))
        case _:
            return (normal(string(raw.get(SHAPES[kind].text))),)


def scope(context: str) -> str:
    """The path a rule holds for, as rules are told apart by: "lib/core" and "./lib/core/" are one, "" is everywhere."""
    return context.strip().removeprefix("./").rstrip("/") or EVERYWHERE


def to_entry(kind: Kind, raw: Json, handle: str) -> MemoryRecord:
    """The object of a section as an entry, whatever other programs put into its fields."""
    shape = SHAPES[kind]
    first = number(raw.get("timestamp"), 0.0)
    rate = raw.get("success_rate")
    main = {"solution": "solution", "failure": "prevention"}.get(kind)
    return MemoryRecord(
        id=handle,
        kind=kind,
        content=main_text(kind, raw),
        solution=string(raw.get(main)) if main else "",
        also=tuple(texts(raw.get("other_preventions"))) if kind == "failure" else (),
        impact=string(raw.get("impact")) if kind == "failure" else "",
        steps=steps_of(raw) if kind == "workflow" else (),
        context=string(raw.get("context")) if kind == "rule" else "",
        confidence=share(raw.get("confidence"), shape.unstated),
        success_rate=None if kind != "workflow" or rate is None else share(rate, 0.0),
        examples=tuple(texts(raw.get("examples"))),
        times=times_of(kind, raw),
        created=first,
        updated=max(number(raw.get("updated"), first), first),
        provenance=provenance_of(raw),
        hashes=stored_hashes(raw),
        version=max(int(number(raw.get("version"), 1.0)), 1),
        since=number(raw.get("since"), 0.0),
        superseded_by=string(raw.get("superseded_by")) or None,
        by=string(raw.get("by")),
        confirmations=confirmations_of(raw),
    )


def to_raw(draft: MemoryRecord) -> Json:
    """A draft as the file has it, without its times, its id and what it leaves empty."""
    shape = SHAPES[draft.kind]
    raw: Json = {} if draft.kind == "workflow" else {shape.text: draft.content}
    match draft.kind:
        case "solution":
            raw["solution"] = draft.solution
        case "failure":
            raw |= {"impact": draft.impact, "prevention": draft.solution}
            raw |= {"other_preventions": list(draft.also)} if draft.also else {}
        case "workflow":
            steps = draft.steps or (draft.content,)
            named = draft.content.strip() and draft.content not in (" → ".join(steps), *steps)
            raw |= {"name": draft.content} if named else {}
            raw["sequence"] = list(steps)
            raw |= {} if draft.success_rate is None else {"success_rate": share(draft.success_rate, 0.0)}
        case "rule":
            raw["context"] = draft.context.strip().removeprefix("./") or EVERYWHERE
        case _:
            pass
    raw["confidence"] = share(draft.confidence, DEFAULT_CONFIDENCE)
    if draft.examples or draft.kind in ("solution", "pattern"):
        raw["examples"] = list(dict.fromkeys(draft.examples))
    raw[shape.count] = max(draft.times, 1)
    return raw


def times_of(kind: Kind, raw: Json) -> int:
    """How often an entry was recorded, at least once."""
    return min(max(int(number(raw.get(SHAPES[kind].count), 1.0)), 1), 1_000_000_000)


def steps_of(raw: Json) -> tuple[str, ...]:
    """The steps of a workflow; a single text counts as one."""
    steps = raw.get("sequence")
    return (steps,) if isinstance(steps, str) and steps.strip() else tuple(texts(steps))


def provenance_of(raw: Json) -> Provenance | None:
    """Where an entry came from, where the file says so."""
    try:
        return msgspec.convert(raw.get("provenance"), Provenance)
    except msgspec.ValidationError:
        return None


def confirmations_of(raw: Json) -> tuple[Provenance, ...]:
    """Where else an entry was said, where the file says so."""
    try:
        return msgspec.convert(raw.get("confirmations", ()), tuple[Provenance, ...])
    except msgspec.ValidationError:
        return ()


def share(raw: object, default: float) -> float:
    """A number from 0.0 to 1.0."""
    return min(max(number(raw, default), 0.0), 1.0)


def string(raw: object) -> str:
    """The text, or nothing where it is not one."""
    return raw if isinstance(raw, str) else ""


def stored_id(raw: Json) -> str:
    """The handle an entry has in the file; empty where it has none a person could type."""
    handle = raw.get("id")
    return handle if isinstance(handle, str) and _STORED_ID.fullmatch(handle) else ""


def set_handle(raw: Json, handle: str) -> None:
    """Write an entry's handle into it; what another program calls its id and is no handle stays as `other_id`."""
    if "id" in raw and not stored_id(raw):
        raw["other_id"] = raw["id"]
    raw["id"] = handle


def handles(entries: Iterable[tuple[Kind, Json]]) -> list[str]:
    """A handle for each entry, in order, no two alike: the stored one, or one made from its kind and words."""
    listed = list(entries)
    found = [stored_id(raw) for _, raw in listed]
    taken: set[str] = set()
    for place, handle in enumerate(found):
        if handle in taken:
            found[place] = ""
        taken.add(handle)
    for place, (kind, raw) in enumerate(listed):
        if not found[place]:
            found[place] = new_handle(kind, raw, taken)
            taken.add(found[place])
    return found


def new_handle(kind: Kind, raw: Json, taken: set[str]) -> str:
    """A handle such as "d-3f9a12" that is not taken: the kind's letter and as much of a hash as it needs."""
    letter = kind[0]
    words = "\0".join((kind, *identity(kind, raw))).encode("utf-8", "surrogatepass")
    attempt = 0
    while True:
        digest = hashlib.sha256(words + (b"\0%d" % attempt if attempt else b"")).hexdigest()
        for digits in range(_ID_DIGITS, 13):
            if (handle := f"{letter}-{digest[:digits]}") not in taken:
                return handle
        attempt += 1


assert tuple(SHAPES) == PROJECT_KINDS


_SHOWN = 5


def find_handle(typed: str, known: Iterable[str]) -> str:
    """The handle that was meant: itself, or the only one that begins so.

    Raises UserError that names those that begin so where there are several, or those that look alike.
    """
    handles, wanted = list(known), typed.strip()
    if wanted in handles:
        return wanted
    wanted = wanted.casefold()
    begun = [handle for handle in handles if wanted and handle.casefold().startswith(wanted)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        more = f" and {len(begun) - _SHOWN} more" if len(begun) > _SHOWN else ""
        raise UserError(f"{typed!r} begins several entries: {', '.join(begun[:_SHOWN])}{more}; give more of the id.")
    import difflib  # only a mistake has to pay for it

    near = difflib.get_close_matches(wanted, handles, n=3, cutoff=0.5)
    hint = f"near ones are {', '.join(near)}" if near else "list the entries for their ids"
    raise UserError(f"There is no entry {typed!r} in the project knowledge; {hint}.")
