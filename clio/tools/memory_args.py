"""The flat schema of memory_operations, small enough for every request."""

from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct, field

Operation = Literal[
    "store",
    "retrieve",
    "search",
    "list",
    "delete",
    "recall_sessions",
    "recall_messages",
    "add_discovery",
    "add_solution",
    "add_pattern",
    "add_workflow",
    "add_failure",
    "add_context_rule",
    "update_ltm",
    "forget_ltm",
    "prune_ltm",
    "ltm_stats",
    "remember",
    "recall",
    "forget",
    "apply",
    "history",
    "compact",
]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)

# The types are for the model; what it sends instead is understood where only one reading makes sense.
_STRING = {"type": "string"}
_LIST = {"type": "array", "items": {"type": "string"}}
_NUMBER = {"type": "number"}
_WHOLE = {"type": "integer"}
_NOT_SENT = {"deprecated": True}
_NOT_SENT_COMPACT = {"x-rare": True}
Text = Annotated[Any, Meta(extra_json_schema=_STRING)]
RareText = Annotated[Any, Meta(extra_json_schema=_STRING | _NOT_SENT_COMPACT)]
Rare = Annotated[Any, Meta(extra_json_schema=_NUMBER | _NOT_SENT_COMPACT)]
Alias = Annotated[Any, Meta(extra_json_schema=_NOT_SENT)]


class MemoryArgs(Struct, frozen=True, kw_only=True):
    """Arguments of memory_operations. None is a parameter that was not given; empty texts are values."""

    operation: Annotated[Any, Meta(extra_json_schema={"enum": list(OPERATIONS)})]
    key: Annotated[Any, Meta(description="Name of a note or workflow", extra_json_schema=_STRING)] = None
    content: Text = None
    query: Text = None
    fact: Text = None
    error: Text = None
    solution: Text = None
    pattern: Text = None
    steps: Annotated[Any, Meta(extra_json_schema=_LIST)] = None
    what: RareText = None
    impact: RareText = None
    prevention: RareText = None
    path: Text = None
    rule: RareText = None
    examples: Annotated[Any, Meta(description="Paths that show it", extra_json_schema=_LIST)] = None
    confidence: Annotated[Any, Meta(extra_json_schema=_NUMBER)] = None
    id: Annotated[Any, Meta(extra_json_schema=_STRING)] = None
    handle: Annotated[Any, Meta(description='Of a trimmed span: "t3"', extra_json_schema=_STRING)] = None
    from_: Annotated[Any, Meta(description="Id or number of a message", extra_json_schema=_STRING)] = field(
        name="from", default=None
    )
    to: Text = None
    session: Text = None
    offset: Annotated[Any, Meta(extra_json_schema=_WHOLE)] = None
    max_sessions: Annotated[Any, Meta(extra_json_schema=_WHOLE | _NOT_SENT_COMPACT)] = None
    max_results: Annotated[Any, Meta(extra_json_schema=_WHOLE)] = None
    max_age_days: Rare = None
    min_confidence: Rare = None
    dry_run: Annotated[Any, Meta(extra_json_schema={"type": "boolean"} | _NOT_SENT_COMPACT)] = None
    type: Text = None
    importance: Rare = None
    # Not in the schema, accepted all the same.
    text: Alias = None
    name: Alias = None
    value: Alias = None
    sequence: Alias = None
    context: Alias = None
    ids: Alias = None
    session_id: Alias = None
    message_id: Alias = None
    limit: Alias = None
    scope: Alias = None
    layer: Alias = None
    at: Alias = None
    scores: Alias = None
