"""Interpret a call of memory_operations: its operation, and the values a model wrote for its parameters."""

import difflib
import re
from collections.abc import Callable
from typing import Any, cast

import msgspec
from msgspec import Struct

from clio.errors import ToolRetry
from clio.memory.retrieval.results import LAYERS
from clio.memory.store.memories import SCOPES
from clio.memory.store.record import KINDS, TYPES
from clio.text.json_data import decode_json
from clio.tools.schemas import LISTED_OPERATIONS, MEMORY_OPERATIONS, MemoryArgs, MemoryOperation

MAX_SESSIONS = 1_000
MAX_RESULTS = 50
MAX_MEMORIES = 1_000
MAX_AGE_DAYS = 36_500.0
_ALL_KINDS = (*KINDS, *(name for name in TYPES if name not in KINDS))
_KIND_ALIASES = {
    "discoveries": "discovery",
    "context_rule": "rule",
    "error": "solution",
    "problem_solution": "solution",
}
_ID = re.compile(r"[a-z]-\w+|[0-9a-f]{8}(?:[0-9a-f-]{28})?", re.IGNORECASE)
_ARROW = re.compile(r"\s*(?:\n|->|→|=>)\s*")
_LISTED = re.compile(r"^(?:[-*•]|\d{1,2}[.)])\s+")


def _text(name: str, value: Any) -> str:
    """Return a string; numbers become digits, structures JSON."""
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def _line(name: str, value: Any) -> str:
    return _text(name, value).strip()


def _ids(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = re.split(r"[\s,;]+", value)
    return _distinct(_texts(name, value, 'an id, as in id="d-3f9a12"'))


def _paths(name: str, value: Any) -> tuple[str, ...]:
    """Return a list of strings; a single string may be a JSON list, lines, or parts between commas."""
    if isinstance(value, str):
        decoded = _json_list(value)
        value = re.split(r"[\n,]+", value) if decoded is None else decoded
    return _distinct(_texts(name, value, 'a list of paths, as in examples=["src/app.py"]'))


def _steps(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        decoded = _json_list(value)
        value = [_LISTED.sub("", part) for part in _ARROW.split(value)] if decoded is None else decoded
    return _texts(name, value, 'a list of steps in order, as in steps=["make test", "make ship"]')


def _json_list(text: str) -> list[Any] | None:
    try:
        return decode_json(text, type=list[Any]) if text.lstrip().startswith("[") else None
    except msgspec.DecodeError:
        return None


def _texts(name: str, value: Any, right: str) -> tuple[str, ...]:
    items: list[Any] = list(cast("list[Any]", value)) if isinstance(value, list | tuple) else [value]
    if not all(isinstance(item, str) for item in items):
        raise ToolRetry(f"{name} is {right}")
    return tuple(item.strip() for item in items if item.strip())


def _distinct(items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))


def _share(name: str, value: Any) -> float:
    number = _number(value)
    if number is None or not 0.0 <= number <= 1.0:
        percent = number is not None and 1.0 < number <= 100.0
        hint = f"; did you mean {number / 100:g}?" if percent and number is not None and number > 2 else ""
        raise ToolRetry(f"{name} is a number from 0 to 1, such as 0.9; {value!r} is not{hint}")
    return number


def _days(name: str, value: Any) -> float:
    number = _number(value)
    if number is None or not 1.0 <= number <= MAX_AGE_DAYS:
        raise ToolRetry(f"{name} is a number of days from 1 to {MAX_AGE_DAYS:,.0f}, such as 90; {value!r} is not")
    return number


def _count(name: str, value: Any, most: int) -> int:
    number = _number(value)
    if number is None or number != int(number) or not 1 <= number <= most:
        raise ToolRetry(f"{name} is a whole number from 1 to {most:,}; {value!r} is not")
    return int(number)


def _type(name: str, value: Any) -> str:
    """Return a type of memory, also from the plural; "!fact" means all but facts, "all" becomes ""."""
    said = _line(name, value).casefold()
    sign, wanted = ("!", said[1:].strip()) if said.startswith("!") else ("", said)
    if said in ("", "all", "any"):
        return ""
    found = wanted if wanted in TYPES else wanted.removesuffix("s")
    if found not in TYPES:
        raise ToolRetry(f"{name} is {', '.join(TYPES[:-1])} or {TYPES[-1]}; {value!r} is none of them")
    return sign + found


def _kind(name: str, value: Any) -> str:
    """A kind of memory, also in the plural and by another common name; "all" and "any" are empty."""
    wanted = _line(name, value).casefold()
    if wanted in ("", "all", "any"):
        return ""
    wanted = _KIND_ALIASES.get(wanted, wanted)
    found = wanted if wanted in _ALL_KINDS else wanted.removesuffix("s")
    found = _KIND_ALIASES.get(found, found)
    if found not in _ALL_KINDS:
        raise ToolRetry(f"{name} is {', '.join(_ALL_KINDS[:-1])} or {_ALL_KINDS[-1]}; {value!r} is none of them")
    return found


def _scope(name: str, value: Any) -> str:
    said = _line(name, value).casefold()
    if said not in ("", *SCOPES):
        raise ToolRetry(f'{name} is "project" or "user"; {value!r} is neither')
    return said


def _limit(name: str, value: Any) -> int:
    number = _number(value)
    if number is None or number != int(number) or not -1 <= number <= MAX_MEMORIES:
        raise ToolRetry(f"{name} is a whole number up to {MAX_MEMORIES:,}, or -1 for all; {value!r} is not")
    return int(number)


def _layer(name: str, value: Any) -> str:
    said = _line(name, value).upper()
    if said not in ("", "ALL", *LAYERS):
        raise ToolRetry(f"{name} is {', '.join(LAYERS)} or all; {value!r} is none of them")
    return said


def _yes_or_no(name: str, value: Any) -> bool:
    said = value.strip().casefold() if isinstance(value, str) else value
    if said in (True, "true", "yes", 1, "1"):
        return True
    if said in (False, "false", "no", 0, "0"):
        return False
    raise ToolRetry(f"{name} is true or false; {value!r} is neither")


def _number(value: Any) -> float | None:
    """Return a number, also from digits; None for anything else, infinities and NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e15 else None


PARAMETER_READERS: dict[str, Callable[[str, Any], object]] = {
    "key": _text,
    "content": _text,
    "query": _line,
    "text": _line,
    "solution": _line,
    "impact": _line,
    "path": _line,
    "steps": _steps,
    "examples": _paths,
    "kind": _kind,
    "confidence": _share,
    "ids": _ids,
    "handle": _line,
    "first": _line,
    "last": _line,
    "session": _line,
    "offset": lambda name, value: _count(name, value, 10_000_000),
    "max_sessions": lambda name, value: _count(name, value, MAX_SESSIONS),
    "max_results": lambda name, value: _count(name, value, MAX_RESULTS),
    "max_age_days": _days,
    "min_confidence": _share,
    "dry_run": _yes_or_no,
    "type": _type,
    "importance": _share,
    "scope": _scope,
    "limit": _limit,
    "layer": _layer,
    "at": _line,
    "scores": _yes_or_no,
}


DEFAULT_SESSIONS = 10
DEFAULT_RESULTS = 5
DEFAULT_FOUND = 10
DEFAULT_CONFIDENCE = 0.8
DEFAULT_AGE_DAYS = 90.0
DEFAULT_MIN_CONFIDENCE = 0.3
DEFAULT_IMPORTANCE = 0.5


class MemoryCall(Struct, frozen=True, kw_only=True):
    """A call that was understood.

    Attributes:
        text: what to remember: the fact, error, pattern, failure, rule, or name of a workflow.
        text_parameter: the parameter that contained the text.
        solution: also the prevention of a failure.
        path: where a rule applies.
        given: fields the call set, for a change that leaves the others alone.
        dry_run: None if the call does not say.
        type: of a memory; "" for the usual type when remembering, any type when recalling.
        scope: "project" or "user"; "" for the usual scope of the type.
        limit: number of memories, −1 for all.
        layer, at: for a recall of everything: L0, L1, L2 or all, and a date; "" if not given.
        scores: whether to show why each answer was found.
    """

    operation: MemoryOperation
    asked: str = ""
    kind: str = ""
    key: str = ""
    content: str = ""
    query: str = ""
    text: str = ""
    text_parameter: str = ""
    solution: str = ""
    impact: str = ""
    path: str = ""
    steps: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    confidence: float = DEFAULT_CONFIDENCE
    ids: tuple[str, ...] = ()
    handle: str = ""
    first: str = ""
    last: str = ""
    session: str = ""
    offset: int = 1
    max_sessions: int = DEFAULT_SESSIONS
    max_results: int = DEFAULT_RESULTS
    max_age_days: float = DEFAULT_AGE_DAYS
    min_confidence: float = DEFAULT_MIN_CONFIDENCE
    dry_run: bool | None = None
    type: str = ""
    importance: float = DEFAULT_IMPORTANCE
    scope: str = ""
    limit: int = DEFAULT_FOUND
    layer: str = ""
    at: str = ""
    scores: bool = False
    everything: bool = False
    given: frozenset[str] = frozenset()


WRITING_OPERATIONS: frozenset[MemoryOperation] = frozenset(
    {
        "store",
        "delete",
        "add_discovery",
        "add_solution",
        "add_pattern",
        "add_workflow",
        "add_failure",
        "add_context_rule",
        "update_ltm",
        "forget_ltm",
        "remember",
        "forget",
        "apply",
        "compact",
        "update",
    }
)
_READING: dict[str, MemoryOperation] = {
    "search_sessions": "recall_sessions",
    "read_messages": "recall_messages",
    "stats": "ltm_stats",
}
_ADDING: dict[str, MemoryOperation] = {
    "discovery": "add_discovery",
    "solution": "add_solution",
    "pattern": "add_pattern",
    "workflow": "add_workflow",
    "failure": "add_failure",
    "rule": "add_context_rule",
}
_TYPED_ONLY = ("type", "importance", "scope")
"""Parameters of remember that only typed memories have: without a kind they make a note of it, as before."""

_Slots = dict[str, tuple[str, ...]]
_SAID = ("content", "text")
_ABOUT: _Slots = {"examples": ("files", "examples"), "confidence": ("confidence",)}
_RESULTS: _Slots = {"max_results": ("max_results", "limit")}
# For each operation: the field, then the parameter that sets it and those accepted in its place.
_SLOTS: dict[MemoryOperation, _Slots] = {
    "store": {"key": ("key", "name", "id"), "content": ("content", "text", "value")},
    "retrieve": {"key": ("key", "name", "id", "query")},
    "search": {"query": ("query", *_SAID, "key"), **_RESULTS},
    "list": {},
    "delete": {"key": ("key", "name", "id")},
    "recall_sessions": {
        "query": ("query", *_SAID, "key"),
        "max_sessions": ("max_sessions",),
        "scores": ("scores",),
        **_RESULTS,
    },
    "recall_messages": {
        "handle": ("handle",),
        "first": ("from", "id", "message_id"),
        "last": ("to",),
        "query": ("query", *_SAID),
        "session": ("session", "session_id"),
        "offset": ("offset",),
        **_RESULTS,
    },
    "add_discovery": {"text": ("fact", *_SAID), **_ABOUT},
    "add_solution": {"text": ("error", "what", *_SAID), "solution": ("solution", "prevention", *_SAID), **_ABOUT},
    "add_pattern": {"text": ("pattern", *_SAID, "fact"), **_ABOUT},
    "add_workflow": {"steps": ("steps", "sequence", *_SAID), "text": ("key", "name", *_SAID, "what"), **_ABOUT},
    "add_failure": {
        "text": ("what", "error", *_SAID, "fact"),
        "impact": ("impact",),
        "solution": ("prevention", "solution"),
        **_ABOUT,
    },
    "add_context_rule": {"text": ("rule", *_SAID, "pattern", "fact"), "path": ("path", "context", "key"), **_ABOUT},
    "update_ltm": {
        "ids": ("id", "ids", "key"),
        "text": ("content", "text", "fact", "error", "pattern", "what", "rule", "name", "key"),
        "solution": ("solution", "prevention"),
        "impact": ("impact",),
        "steps": ("steps", "sequence"),
        "path": ("path", "context"),
        **_ABOUT,
    },
    "update": {
        "ids": ("id", "ids", "key"),
        "text": ("content", "text", "fact", "error", "pattern", "what", "rule", "name", "key"),
        "solution": ("solution", "prevention"),
        "impact": ("impact",),
        "steps": ("steps", "sequence"),
        "path": ("path", "context"),
        "importance": ("importance",),
        **_ABOUT,
    },
    "forget_ltm": {"ids": ("id", "ids", "key"), "query": ("query", "fact", *_SAID)},
    "prune_ltm": {
        "max_age_days": ("max_age_days",),
        "min_confidence": ("min_confidence",),
        "dry_run": ("dry_run",),
    },
    "ltm_stats": {},
    "remember": {
        "text": (*_SAID, "fact", "value"),
        "type": ("kind", "type"),
        "importance": ("importance",),
        "scope": ("scope",),
        "examples": ("files", "examples"),
    },
    "recall": {
        "query": ("query", *_SAID, "key"),
        "type": ("type",),
        "kind": ("kind",),
        "limit": ("limit", "max_results"),
        "layer": ("layer",),
        "at": ("at",),
        "scores": ("scores",),
    },
    "forget": {"ids": ("id", "ids", "key"), "query": ("query", "fact", *_SAID)},
    "apply": {"ids": ("id", "ids", "key")},
    "history": {"ids": ("id", "ids", "key")},
    "compact": {},
}
_REQUIRED: dict[MemoryOperation, tuple[str, ...]] = {
    "store": ("key", "content"),
    "retrieve": ("key",),
    "search": ("query",),
    "delete": ("key",),
    "recall_sessions": ("query",),
    "add_discovery": ("text",),
    "add_solution": ("text", "solution"),
    "add_pattern": ("text",),
    "add_workflow": ("steps",),
    "add_failure": ("text",),
    "add_context_rule": ("text",),
    "update_ltm": ("ids",),
    "update": ("ids",),
    "remember": ("text",),
    "apply": ("ids",),
    "history": ("ids",),
}


def parse_memory_call(args: MemoryArgs) -> MemoryCall:
    """Return the call that the arguments mean.

    Raises ToolRetry, which names what would be right: unknown operation, missing or invalid parameter, or two
    parameters that set the same field differently.
    """
    asked = _operation(str(args.operation))
    raw = _given(args)
    operation, raw = _resolve_operation(asked, raw)
    values: dict[str, Any] = {}
    used: set[str] = set()
    for slot, names in _SLOTS[operation].items():
        there = [name for name in names if name in raw and name not in used]
        name = next((name for name in there if not _is_empty(raw[name])), there[0] if there else None)
        if name is not None:
            used.add(name)
            values[slot] = PARAMETER_READERS[slot](name, raw[name])
            if slot == "text":
                values["text_parameter"] = name
    _refuse_missing(asked, operation, values, raw)
    _refuse_leftovers(asked, operation, raw, used)
    given = frozenset(slot for slot, value in values.items() if value not in ("", ()) and slot != "text_parameter")
    everything = operation == "recall" and not ({"type", "limit", "layer", "at"} & raw.keys())
    call = MemoryCall(operation=operation, asked=asked, everything=everything, given=given, **values)
    if operation == "search" and "max_results" not in values:
        return msgspec.structs.replace(call, max_results=DEFAULT_FOUND)
    return call


def _resolve_operation(asked: MemoryOperation, raw: dict[str, Any]) -> tuple[MemoryOperation, dict[str, Any]]:
    """The operation that carries out the one asked for, with its parameters: `remember` has one for each kind."""

    def has(*names: str) -> bool:
        return any(name in raw and not _is_empty(raw[name]) for name in names)

    match asked:
        case "search_sessions" | "read_messages" | "stats":
            return _READING[asked], raw
        case "remember":
            return _resolve_remember(raw, has)
        case "recall" if has("key") and not has("query", *_SAID):
            return "retrieve", raw
        case "update" if has("key") and not has("id", "ids") and not _ID.fullmatch(str(raw["key"])):
            return "store", raw
        case "forget" if has("key") and not has("id", "ids", "query") and not _ID.fullmatch(str(raw["key"])):
            return "delete", raw
        case _:
            return asked, raw


def _resolve_remember(raw: dict[str, Any], has: Callable[..., bool]) -> tuple[MemoryOperation, dict[str, Any]]:
    kind = _kind("kind", raw["kind"]) if has("kind") else ""
    if not kind and has("type"):
        wanted = _line("type", raw["type"]).casefold().removesuffix("s")
        kind = wanted if wanted in _ADDING else ""
    if not kind and not has("type"):
        if has("steps", "sequence"):
            kind = "workflow"
        elif has("impact", "prevention"):
            kind = "failure"
        elif has("solution", "error"):
            kind = "solution"
        elif has("pattern") or has("rule"):
            kind = "rule" if has("rule") else "pattern"
    if has("key") and (kind == "note" or not (kind or has(*_TYPED_ONLY))):
        return "store", raw
    if not kind and not has(*_TYPED_ONLY):
        kind = "discovery"
    if kind not in _ADDING:
        return "remember", raw
    if kind != "rule" and has("path") and not has("files", "examples"):
        raw = raw | {"files": raw["path"]}
    return _ADDING[kind], raw


def is_writing(call: MemoryCall) -> bool:
    """Whether the call changes memory."""
    return call.operation in WRITING_OPERATIONS or (call.operation == "prune_ltm" and call.dry_run is False)


def _operation(said: str) -> MemoryOperation:
    wanted = re.sub(r"[\s-]+", "_", said.strip().casefold())
    if wanted in MEMORY_OPERATIONS:
        return wanted
    near = [name for name in LISTED_OPERATIONS if wanted and (wanted in name or name in wanted)]
    near += [name for name in difflib.get_close_matches(wanted, LISTED_OPERATIONS, n=3) if name not in near]
    if not near:
        near = [name for name in MEMORY_OPERATIONS if wanted and (wanted in name or name in wanted)]
        near += [name for name in difflib.get_close_matches(wanted, MEMORY_OPERATIONS, n=3) if name not in near]
    hint = f"did you mean {' or '.join(near[:3])}?" if near else f"there are: {', '.join(LISTED_OPERATIONS)}"
    raise ToolRetry(f"memory_operations has no operation {said!r}; {hint}")


def _given(args: MemoryArgs) -> dict[str, Any]:
    found = {name.rstrip("_"): getattr(args, name) for name in args.__struct_fields__ if name != "operation"}
    return {name: value for name, value in found.items() if value is not None}


def _is_empty(value: Any) -> bool:
    return (isinstance(value, str) and not value.strip()) or value in ([], ())


def _refuse_missing(
    asked: MemoryOperation, operation: MemoryOperation, values: dict[str, Any], raw: dict[str, Any]
) -> None:
    needed = _REQUIRED.get(operation, ())
    missing = [slot for slot in needed if slot not in values or (slot != "content" and _is_empty(values[slot]))]
    if not missing:
        return
    names = {slot: _parameter(asked, operation, slot) for slot in needed}
    given = [name for name, value in raw.items() if not _is_empty(value)]
    raise ToolRetry(
        f"{_called(asked, operation)} needs {' and '.join(names.values())}; "
        f"{' and '.join(names[slot] for slot in missing)} {'is' if len(missing) == 1 else 'are'} missing"
        + (f" (given: {', '.join(given)})" if given else "")
    )


def _refuse_leftovers(asked: MemoryOperation, operation: MemoryOperation, raw: dict[str, Any], used: set[str]) -> None:
    """Raise ToolRetry for parameters the operation does not use, so that nothing to be remembered is dropped
    silently.
    """
    if operation not in WRITING_OPERATIONS:
        return
    accepted = {name for names in _SLOTS[operation].values() for name in names}
    same = {" ".join(str(raw[name]).split()) for name in used}
    left = [
        name
        for name in raw
        if name in accepted - used and not _is_empty(raw[name]) and " ".join(str(raw[name]).split()) not in same
    ]
    if left:
        names = ", ".join(_parameter(asked, operation, slot) for slot in _SLOTS[operation])
        raise ToolRetry(
            f"{_called(asked, operation)} has no place for {' and '.join(left)} beside "
            f"{' and '.join(sorted(used))}; it takes {names}"
        )


def _called(asked: MemoryOperation, operation: MemoryOperation) -> str:
    """The call as the model wrote it, with the kind that decides what it needs."""
    kind = next((kind for kind, name in _ADDING.items() if name == operation and asked == "remember"), "")
    named = f', kind="{kind}"' if kind not in ("", "discovery") else ""
    return f'memory_operations(operation="{asked}"{named})'


def _parameter(asked: MemoryOperation, operation: MemoryOperation, slot: str) -> str:
    """The name a parameter has in the schema; of a former operation the one it had."""
    if asked in LISTED_OPERATIONS:
        return {"text": "content", "ids": "id", "first": "from", "last": "to", "examples": "files"}.get(slot, slot)
    return _SLOTS[operation][slot][0]
