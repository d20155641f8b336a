"""Interpret a call of memory_operations: its operation, and the values a model wrote for its parameters."""

import difflib
import re
from collections.abc import Callable
from typing import Any, cast

import msgspec
from msgspec import Struct

from clio.errors import WrongArguments
from clio.memory.retrieval.scoring import LAYERS
from clio.memory.store.memory_store import SCOPES
from clio.memory.store.record import PROJECT_KINDS, TYPED_KINDS, Kind, find_kind
from clio.text.json_data import decode_json
from clio.tools.schemas import LISTED_OPERATIONS, MEMORY_OPERATIONS, MemoryArgs, MemoryOperation

MAX_SESSIONS = 1_000
MAX_RESULTS = 50
MAX_MEMORIES = 1_000
MAX_AGE_DAYS = 36_500.0
_ALL_KINDS = (*PROJECT_KINDS, *TYPED_KINDS)
_ID = re.compile(r"[a-z]-\w+|[0-9a-f]{8}(?:[0-9a-f-]{28})?", re.IGNORECASE)
_ARROW = re.compile(r"\s*(?:\n|->|→|=>)\s*")
_STEP_NAMES = ("steps", "sequence")
_LIST_MARKER = re.compile(r"^(?:[-*•]|\d{1,2}[.)])\s+")


def _read_text(name: str, value: Any) -> str:
    """Return a string as it is, any other value as JSON."""
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def _read_line(name: str, value: Any) -> str:
    return _read_text(name, value).strip()


def _read_ids(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = re.split(r"[\s,;]+", value)
    return _distinct(_read_texts(name, value, 'an id, as in id="d-3f9a12"'))


def _read_paths(name: str, value: Any) -> tuple[str, ...]:
    """Return a list of strings; a single string may be a JSON list, lines, or parts between commas."""
    if isinstance(value, str):
        decoded = _parse_json_list(value)
        value = re.split(r"[\n,]+", value) if decoded is None else decoded
    return _distinct(_read_texts(name, value, 'a list of paths, as in examples=["src/app.py"]'))


def _read_steps(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        decoded = _parse_json_list(value)
        if decoded is None:
            parts = _ARROW.split(value)
            # As on the command line. The text of a workflow may have a comma in its name.
            parts = value.split(",") if len(parts) == 1 and name in _STEP_NAMES else parts
            value = [_LIST_MARKER.sub("", part.strip()) for part in parts]
        else:
            value = decoded
    return _read_texts(name, value, 'a list of steps in order, as in steps=["make test", "make ship"]')


def _parse_json_list(text: str) -> list[Any] | None:
    try:
        return decode_json(text, type=list[Any]) if text.lstrip().startswith("[") else None
    except msgspec.DecodeError:
        return None


def _read_texts(name: str, value: Any, expected: str) -> tuple[str, ...]:
    items: list[Any] = list(cast("list[Any]", value)) if isinstance(value, list | tuple) else [value]
    if not all(isinstance(item, str) for item in items):
        raise WrongArguments(f"{name} is {expected}")
    return tuple(item.strip() for item in items if item.strip())


def _distinct(items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))


def _read_share(name: str, value: Any) -> float:
    number = _parse_number(value)
    if number is None or not 0.0 <= number <= 1.0:
        # "5" may be 5 of 10 as well as 5 percent.
        hint = f"; did you mean {number / 100:g}?" if number is not None and 10.0 <= number <= 100.0 else ""
        raise WrongArguments(f"{name} is a number from 0 to 1, such as 0.9", f"{value!r} is not{hint}")
    return number


def _make_number_reader(
    expected: str, low: float, high: float, *, is_whole: bool = True
) -> Callable[[str, Any], float]:
    """Return a function that reads a number in a range. expected: what the parameter is, for the error."""

    def read(name: str, value: Any) -> float:
        number = _parse_number(value)
        if number is None or not low <= number <= high or (is_whole and number != int(number)):
            raise WrongArguments(f"{name} is {expected}", f"{value!r} is not")
        return int(number) if is_whole else number

    return read


def _make_count_reader(most: int) -> Callable[[str, Any], float]:
    return _make_number_reader(f"a whole number from 1 to {most:,}", 1, most)


def _read_type(name: str, value: Any) -> str:
    """Return a type of memory, also from the plural; "!fact" means all but facts; "" for "all" and "any"."""
    text = _read_line(name, value).casefold()
    sign, type_name = ("!", text[1:].strip()) if text.startswith("!") else ("", text)
    if text in ("", "all", "any"):
        return ""
    found = find_kind(type_name, TYPED_KINDS)
    if found is None:
        raise WrongArguments(
            f"{name} is {', '.join(TYPED_KINDS[:-1])} or {TYPED_KINDS[-1]}", f"{value!r} is none of them"
        )
    return sign + found


def _read_kind(name: str, value: Any) -> str:
    """Return a kind of memory, also from the plural or another common name; "" for "all" and "any"."""
    text = _read_line(name, value).casefold()
    if text in ("", "all", "any"):
        return ""
    found = _find_kind(text)
    if found is None:
        raise WrongArguments(
            f"{name} is {', '.join(_ALL_KINDS[:-1])} or {_ALL_KINDS[-1]}", f"{value!r} is none of them"
        )
    return found


def _find_kind(name: str) -> Kind | None:
    return find_kind("solution" if name.strip().lower() in ("error", "errors") else name, _ALL_KINDS)


def _read_scope(name: str, value: Any) -> str:
    scope = _read_line(name, value).casefold()
    if scope not in ("", *SCOPES):
        raise WrongArguments(f'{name} is "project" or "user"', f"{value!r} is neither")
    return scope


def _read_layer(name: str, value: Any) -> str:
    layer = _read_line(name, value).upper()
    if layer not in ("", "ALL", *LAYERS):
        raise WrongArguments(f"{name} is {', '.join(LAYERS)} or all", f"{value!r} is none of them")
    return layer


def _read_bool(name: str, value: Any) -> bool:
    answer = value.strip().casefold() if isinstance(value, str) else value
    if answer in (True, "true", "yes", 1, "1"):
        return True
    if answer in (False, "false", "no", 0, "0"):
        return False
    raise WrongArguments(f"{name} is true or false", f"{value!r} is neither")


def _parse_number(value: Any) -> float | None:
    """Return a number, also from a string of digits; None for anything else, and for infinities and NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e15 else None


PARAMETER_READERS: dict[str, Callable[[str, Any], object]] = {
    "key": _read_text,
    "content": _read_text,
    "query": _read_line,
    "text": _read_line,
    "solution": _read_line,
    "impact": _read_line,
    "path": _read_line,
    "steps": _read_steps,
    "examples": _read_paths,
    "kind": _read_kind,
    "confidence": _read_share,
    "ids": _read_ids,
    "handle": _read_line,
    "first": _read_line,
    "last": _read_line,
    "session": _read_line,
    "offset": _make_count_reader(10_000_000),
    "max_sessions": _make_count_reader(MAX_SESSIONS),
    "max_results": _make_count_reader(MAX_RESULTS),
    "max_age_days": _make_number_reader(
        f"a number of days from 1 to {MAX_AGE_DAYS:,.0f}, such as 90", 1, MAX_AGE_DAYS, is_whole=False
    ),
    "min_confidence": _read_share,
    "dry_run": _read_bool,
    "type": _read_type,
    "importance": _read_share,
    "scope": _read_scope,
    "limit": _make_number_reader(f"a whole number up to {MAX_MEMORIES:,}, or -1 for all", -1, MAX_MEMORIES),
    "layer": _read_layer,
    "at": _read_line,
    "scores": _read_bool,
}


DEFAULT_SESSIONS = 10
DEFAULT_RESULTS = 5
DEFAULT_FOUND = 10
DEFAULT_CONFIDENCE = 0.8
DEFAULT_AGE_DAYS = 90.0
DEFAULT_MIN_CONFIDENCE = 0.3
DEFAULT_IMPORTANCE = 0.5


class MemoryCall(Struct, frozen=True, kw_only=True):
    """A call with its parameters read and checked.

    Attributes:
        text: what to remember: the fact, error, pattern, failure, rule, or name of a workflow.
        text_parameter: the parameter that contained the text.
        solution: also the prevention of a failure.
        path: file or folder to which a rule applies.
        given: names of the fields that the call sets; `update` leaves all others unchanged.
        dry_run: None if the call does not set it.
        type: type of memory; "" is the default type for `remember` and any type for `recall`.
        scope: "project" or "user"; "" for the default scope of the type.
        limit: number of memories, −1 for all.
        layer, at: for a recall from all sources: L0, L1, L2 or all, and a date; "" if not given.
        everything: a recall from all sources, because type, limit, layer and at are not given.
        scores: whether to show why each result was found.
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


_SAME_OPERATIONS: dict[MemoryOperation, MemoryOperation] = {
    "search_sessions": "recall_sessions",
    "read_messages": "recall_messages",
    "stats": "ltm_stats",
    "update_ltm": "update",
    "forget_ltm": "forget",
}
ENTRY_KINDS: dict[MemoryOperation, Kind] = {
    "add_discovery": "discovery",
    "add_solution": "solution",
    "add_pattern": "pattern",
    "add_workflow": "workflow",
    "add_failure": "failure",
    "add_context_rule": "rule",
}
"""The kind of project memory that each operation saves."""
_ADDING_OPERATIONS: dict[str, MemoryOperation] = {kind: name for name, kind in ENTRY_KINDS.items()}
WRITING_OPERATIONS: frozenset[MemoryOperation] = frozenset(
    (*ENTRY_KINDS, "store", "delete", "remember", "forget", "apply", "compact", "update")
)
_TYPED_ONLY = ("type", "importance", "scope")
"""Parameters of `remember` that only typed memories have; a call with one of them and no kind saves a note."""

_Slots = dict[str, tuple[str, ...]]
_CONTENT_NAMES = ("content", "text")
_ENTRY_SLOTS: _Slots = {"examples": ("files", "examples"), "confidence": ("confidence",)}
_RESULT_SLOTS: _Slots = {"max_results": ("max_results", "limit")}
# For each operation: the field, then the parameter that sets it and those accepted in its place.
_SLOTS: dict[MemoryOperation, _Slots] = {
    "store": {"key": ("key", "name", "id"), "content": ("content", "text", "value")},
    "retrieve": {"key": ("key", "name", "id", "query")},
    "search": {"query": ("query", *_CONTENT_NAMES, "key"), **_RESULT_SLOTS},
    "list": {},
    "delete": {"key": ("key", "name", "id")},
    "recall_sessions": {
        "query": ("query", *_CONTENT_NAMES, "key"),
        "max_sessions": ("max_sessions",),
        "scores": ("scores",),
        **_RESULT_SLOTS,
    },
    "recall_messages": {
        "handle": ("handle",),
        "first": ("from", "id", "message_id"),
        "last": ("to",),
        "query": ("query", *_CONTENT_NAMES),
        "session": ("session", "session_id"),
        "offset": ("offset",),
        **_RESULT_SLOTS,
    },
    "add_discovery": {"text": ("fact", *_CONTENT_NAMES), **_ENTRY_SLOTS},
    "add_solution": {
        "text": ("error", "what", *_CONTENT_NAMES),
        "solution": ("solution", "prevention", *_CONTENT_NAMES),
        **_ENTRY_SLOTS,
    },
    "add_pattern": {"text": ("pattern", *_CONTENT_NAMES, "fact"), **_ENTRY_SLOTS},
    "add_workflow": {
        "steps": ("steps", "sequence", *_CONTENT_NAMES),
        "text": ("key", "name", *_CONTENT_NAMES, "what"),
        **_ENTRY_SLOTS,
    },
    "add_failure": {
        "text": ("what", "error", *_CONTENT_NAMES, "fact"),
        "impact": ("impact",),
        "solution": ("prevention", "solution"),
        **_ENTRY_SLOTS,
    },
    "add_context_rule": {
        "text": ("rule", *_CONTENT_NAMES, "pattern", "fact"),
        "path": ("path", "context", "key"),
        **_ENTRY_SLOTS,
    },
    "update": {
        "ids": ("id", "ids", "key"),
        "text": ("content", "text", "replacement", "fact", "error", "pattern", "what", "rule", "name", "key"),
        "solution": ("solution", "prevention"),
        "impact": ("impact",),
        "steps": ("steps", "sequence"),
        "path": ("path", "context"),
        "importance": ("importance",),
        **_ENTRY_SLOTS,
    },
    "prune_ltm": {
        "max_age_days": ("max_age_days",),
        "min_confidence": ("min_confidence",),
        "dry_run": ("dry_run",),
    },
    "ltm_stats": {},
    "remember": {
        "text": (*_CONTENT_NAMES, "fact", "value"),
        "type": ("kind", "type"),
        "importance": ("importance",),
        "scope": ("scope",),
        "examples": ("files", "examples"),
    },
    "recall": {
        "query": ("query", *_CONTENT_NAMES, "key"),
        "type": ("type",),
        "kind": ("kind",),
        "limit": ("limit", "max_results"),
        "layer": ("layer",),
        "at": ("at",),
        "scores": ("scores",),
    },
    "forget": {"ids": ("id", "ids", "key"), "query": ("query", "fact", *_CONTENT_NAMES)},
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
    "update": ("ids",),
    "remember": ("text",),
    "apply": ("ids",),
    "history": ("ids",),
}


def parse_memory_call(args: MemoryArgs) -> MemoryCall:
    """Return the call that the arguments describe.

    Raises WrongArguments with the valid choices for an unknown operation, a missing or invalid parameter, or two
    parameters that set the same field to different values.
    """
    asked = _parse_operation(str(args.operation))
    parameters = {name.rstrip("_"): getattr(args, name) for name in args.__struct_fields__ if name != "operation"}
    raw = {name: value for name, value in parameters.items() if value is not None}
    operation, raw = _resolve_operation(asked, raw)
    values: dict[str, Any] = {}
    used: set[str] = set()
    for slot, names in _SLOTS[operation].items():
        given_names = [name for name in names if name in raw and name not in used]
        name = next((name for name in given_names if not _is_empty(raw[name])), given_names[0] if given_names else None)
        if name is not None:
            used.add(name)
            values[slot] = PARAMETER_READERS[slot](name, raw[name])
            if slot == "text":
                values["text_parameter"] = name
    _refuse_id_of_new_memory(asked, operation, raw)
    _refuse_missing(asked, operation, values, raw)
    _refuse_unused(asked, operation, raw, used)
    given = frozenset(slot for slot, value in values.items() if value not in ("", ()) and slot != "text_parameter")
    everything = operation == "recall" and not ({"type", "limit", "layer", "at"} & raw.keys())
    call = MemoryCall(operation=operation, asked=asked, everything=everything, given=given, **values)
    if operation == "search" and "max_results" not in values:
        return msgspec.structs.replace(call, max_results=DEFAULT_FOUND)
    return call


def _resolve_operation(asked: MemoryOperation, raw: dict[str, Any]) -> tuple[MemoryOperation, dict[str, Any]]:
    """Return the internal operation for the one in the call, and its parameters; `remember` has one for each kind."""

    def has(*names: str) -> bool:
        return any(name in raw and not _is_empty(raw[name]) for name in names)

    match asked:
        case "remember":
            return _resolve_remember(raw, has)
        case "recall" if has("key") and not has("query", *_CONTENT_NAMES):
            return "retrieve", raw
        case "recall" if has("type") and not has("kind") and _find_kind(str(raw["type"])) in PROJECT_KINDS:
            return asked, {name: value for name, value in raw.items() if name != "type"} | {"kind": raw["type"]}
        case "update" if has("key") and not has("id", "ids") and not _ID.fullmatch(str(raw["key"])):
            return "store", raw
        case "forget" if has("key") and not has("id", "ids", "query") and not _ID.fullmatch(str(raw["key"])):
            return "delete", raw
        case _:
            return _SAME_OPERATIONS.get(asked, asked), raw


def _resolve_remember(raw: dict[str, Any], has: Callable[..., bool]) -> tuple[MemoryOperation, dict[str, Any]]:
    kind = _read_kind("kind", raw["kind"]) if has("kind") else ""
    if not kind and has("type"):
        type_name = _read_line("type", raw["type"]).casefold().removesuffix("s")
        kind = type_name if type_name in _ADDING_OPERATIONS else ""
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
    if kind not in _ADDING_OPERATIONS:
        return "remember", raw
    if kind != "rule" and has("path") and not has("files", "examples"):
        raw = raw | {"files": raw["path"]}
    return _ADDING_OPERATIONS[kind], raw


def is_writing(call: MemoryCall) -> bool:
    """Whether the call changes memory."""
    return call.operation in WRITING_OPERATIONS or (call.operation == "prune_ltm" and call.dry_run is False)


def _parse_operation(text: str) -> MemoryOperation:
    name_asked = re.sub(r"[\s-]+", "_", text.strip().casefold())
    name_asked = name_asked if name_asked in MEMORY_OPERATIONS else name_asked.removeprefix("get_")
    if name_asked in MEMORY_OPERATIONS:
        return name_asked
    near = [name for name in LISTED_OPERATIONS if name_asked and (name_asked in name or name in name_asked)]
    near += [name for name in difflib.get_close_matches(name_asked, LISTED_OPERATIONS, n=3) if name not in near]
    if not near:
        near = [name for name in MEMORY_OPERATIONS if name_asked and (name_asked in name or name in name_asked)]
        near += [name for name in difflib.get_close_matches(name_asked, MEMORY_OPERATIONS, n=3) if name not in near]
    hint = f"did you mean {' or '.join(near[:3])}?" if near else f"there are: {', '.join(LISTED_OPERATIONS)}"
    raise WrongArguments(f"memory_operations has no operation {text!r}", hint)


def _is_empty(value: Any) -> bool:
    return (isinstance(value, str) and not value.strip()) or value in ([], ())


def _refuse_missing(
    asked: MemoryOperation, operation: MemoryOperation, values: dict[str, Any], raw: dict[str, Any]
) -> None:
    needed = _REQUIRED.get(operation, ())
    missing = [slot for slot in needed if slot not in values or (slot != "content" and _is_empty(values[slot]))]
    # A text counts as the steps of a workflow only if it lists some: it may be the name alone.
    if (
        operation == "add_workflow"
        and not any(raw.get(name) for name in _STEP_NAMES)
        and len(values.get("steps", ())) == 1
    ):
        missing = ["steps"]
    if not missing:
        return
    names = {slot: _get_schema_name(asked, operation, slot) for slot in needed}
    given = [name for name, value in raw.items() if not _is_empty(value)]
    raise WrongArguments(
        f"{_format_call(asked, operation)} needs {' and '.join(names.values())}; "
        f"{' and '.join(names[slot] for slot in missing)} {'is' if len(missing) == 1 else 'are'} missing"
        + (f" (given: {', '.join(given)})" if given else "")
    )


def _refuse_id_of_new_memory(asked: MemoryOperation, operation: MemoryOperation, raw: dict[str, Any]) -> None:
    """Raise WrongArguments for an id in a call that saves a new memory: it is meant to change that one."""
    is_new = operation == "remember" or operation in ENTRY_KINDS
    name = next((name for name in ("id", "ids") if name in raw and not _is_empty(raw[name])), "")
    if is_new and name:
        id = ", ".join(_read_ids(name, raw[name]))
        raise WrongArguments(
            f"{_format_call(asked, operation)} saves a new memory and does not accept {name}",
            f'to change {id}, call memory_operations(operation="update", id="{id}", content=…)',
        )


def _refuse_unused(asked: MemoryOperation, operation: MemoryOperation, raw: dict[str, Any], used: set[str]) -> None:
    """Raise WrongArguments for unused parameters of an operation that writes.

    Otherwise text that should be saved would be dropped silently.
    """
    if operation not in WRITING_OPERATIONS:
        return
    accepted = {name for names in _SLOTS[operation].values() for name in names}
    used_values = {" ".join(str(raw[name]).split()) for name in used}
    unused = [
        name
        for name in raw
        if name in accepted - used and not _is_empty(raw[name]) and " ".join(str(raw[name]).split()) not in used_values
    ]
    if unused:
        names = ", ".join(_get_schema_name(asked, operation, slot) for slot in _SLOTS[operation])
        raise WrongArguments(
            f"{_format_call(asked, operation)} does not accept {' and '.join(unused)} together with "
            f"{' and '.join(sorted(used))}",
            f"it accepts {names}",
        )


def _format_call(asked: MemoryOperation, operation: MemoryOperation) -> str:
    """Return the call as the model wrote it, with the kind that determines the required parameters."""
    kind = ENTRY_KINDS.get(operation, "") if asked == "remember" else ""
    named = f', kind="{kind}"' if kind not in ("", "discovery") else ""
    return f'memory_operations(operation="{asked}"{named})'


def _get_schema_name(asked: MemoryOperation, operation: MemoryOperation, slot: str) -> str:
    """Return the parameter's name in the schema; for a former operation, its name there."""
    if asked in LISTED_OPERATIONS:
        return {"text": "content", "ids": "id", "first": "from", "last": "to", "examples": "files"}.get(slot, slot)
    return _SLOTS[operation][slot][0]
