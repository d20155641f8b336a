"""A session as it is handed to somebody else: every form is made from these values, and JSON shows them as they are.

All texts in them are redacted. See docs/export.md for the meaning of each field.
"""

from typing import Any, Literal

from msgspec import Struct

from clio.messages import Origin, Usage
from clio.sessions.state import Bill, Todo

SCHEMA = "clio.export"
VERSION = 1


class Result(Struct, frozen=True, kw_only=True):
    """What a call gave. `output` is the whole of it but for `left_out` characters in its middle; `seconds` it took."""

    message_id: str
    created: float
    ok: bool
    summary: str
    seconds: float
    output: str
    left_out: int = 0


class Call(Struct, frozen=True, kw_only=True):
    """One tool call. `arguments` is JSON, or the text itself where it is none; `result` is None while there is none."""

    id: str
    name: str
    arguments: Any
    result: Result | None = None


class Said(Struct, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """A message; the results of its calls are with the calls.

    anchor: unique in the export, "m-" and letters that may stand in a link. step: number of the request within the
    turn, from 1, for answers of the model.
    """

    anchor: str
    id: str
    role: Literal["system", "user", "assistant", "tool"]
    created: float
    text: str
    origin: Origin = "user"
    context: str = ""
    reasoning: str = ""
    model: str = ""
    finish_reason: str = ""
    usage: Usage | None = None
    step: int = 0
    calls: tuple[Call, ...] = ()


class Cut(Struct, frozen=True, kw_only=True, tag_field="type", tag="trim"):
    """A place where messages left the model's window. `summary` says what happened in them."""

    anchor: str
    handle: str
    created: float
    messages: int
    shrunk: int
    freed_tokens: int
    first_anchor: str = ""
    last_anchor: str = ""
    summary: str = ""


Entry = Said | Cut


class Totals(Struct, frozen=True, kw_only=True):
    """Counts over the whole session; tokens as billed. Those read from a prompt cache and written to it are part of
    `prompt_tokens`."""

    messages: int
    turns: int
    calls: int
    failed_calls: int
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cache_write_tokens: int


class Export(Struct, frozen=True, kw_only=True):
    """The whole. Times are seconds since the epoch; `project` is the name of the folder, not its path."""

    schema: str = SCHEMA
    version: int = VERSION
    exported_at: float
    id: str
    title: str
    named: bool
    project: str
    parent: str | None
    created: float
    last_active: float
    models: tuple[str, ...]
    totals: Totals
    todos: tuple[Todo, ...]
    bills: tuple[Bill, ...]
    entries: tuple[Entry, ...]
