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
NOT_LISTED: frozenset[Operation] = frozenset({"forget_ltm", "prune_ltm", "ltm_stats", "compact"})
"""Accepted and not in the schema: `forget` does what forget_ltm did, and the user prunes with /memory."""
LISTED = tuple(name for name in OPERATIONS if name not in NOT_LISTED)

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

    operation: Annotated[Any, Meta(extra_json_schema={"enum": list(LISTED)})]
    key: Text = None
    content: Text = None
    query: Text = None
    fact: Text = None
    error: Text = None
    solution: Text = None
    pattern: Text = None
    steps: Annotated[Any, Meta(extra_json_schema=_LIST)] = None
    impact: RareText = None
    prevention: RareText = None
    path: Text = None
    examples: Annotated[Any, Meta(description="Paths", extra_json_schema=_LIST)] = None
    confidence: Annotated[Any, Meta(extra_json_schema=_NUMBER)] = None
    id: Annotated[Any, Meta(extra_json_schema=_STRING)] = None
    handle: Annotated[Any, Meta(description="Trimmed span, as t3", extra_json_schema=_STRING)] = None
    from_: Annotated[Any, Meta(description="Message id or number", extra_json_schema=_STRING)] = field(
        name="from", default=None
    )
    to: Text = None
    session: Text = None
    offset: Annotated[Any, Meta(extra_json_schema=_WHOLE)] = None
    max_sessions: Annotated[Any, Meta(extra_json_schema=_WHOLE | _NOT_SENT_COMPACT)] = None
    max_results: Annotated[Any, Meta(extra_json_schema=_WHOLE)] = None
    type: Text = None
    importance: Rare = None
    layer: Annotated[Any, Meta(extra_json_schema={"enum": ["L0", "L1", "L2", "all"]} | _NOT_SENT_COMPACT)] = None
    at: Annotated[Any, Meta(extra_json_schema=_STRING | _NOT_SENT_COMPACT)] = None
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
    what: Alias = None
    rule: Alias = None
    max_age_days: Alias = None
    min_confidence: Alias = None
    dry_run: Alias = None
    scores: Alias = None
