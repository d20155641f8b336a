"""All that telemetry can consist of: the kinds of spans with their attributes, and the metrics.

The exporter sends nothing that is not in these tables, and docs/telemetry.md is generated from them.
"""

from typing import Literal

from msgspec import Struct

AttributeValue = str | int | float | bool | tuple[str, ...]

ATTRIBUTES: dict[str, str] = {
    "gen_ai.operation.name": "`invoke_agent`, `chat` or `execute_tool`",
    "gen_ai.agent.name": "`clio`, or the name of a sub-agent's definition",
    "gen_ai.conversation.id": "the id of the session, a random number",
    "gen_ai.provider.name": "the server of the model by the semantic conventions, else clio's name for it or its host",
    "gen_ai.request.model": "the model that was asked",
    "gen_ai.request.max_tokens": "the limit of the answer's length, if the request has one",
    "gen_ai.response.finish_reasons": "why the model stopped",
    "gen_ai.response.time_to_first_chunk": "seconds from the request to the first part of the answer",
    "gen_ai.usage.input_tokens": "tokens of the request, including cached ones",
    "gen_ai.usage.output_tokens": "tokens of the answer, including reasoning",
    "gen_ai.usage.cache_read.input_tokens": "tokens of the request that the server read from its cache",
    "gen_ai.usage.cache_creation.input_tokens": "tokens of the request that the server wrote to its cache",
    "gen_ai.usage.reasoning.output_tokens": "tokens of the answer that are reasoning",
    "gen_ai.token.type": "`input` or `output`",
    "gen_ai.tool.name": "the name of the tool; `unknown` if the model called one that does not exist",
    "gen_ai.tool.type": "`function` for clio's tools, `extension` for those of MCP servers",
    "server.address": "the host of the model's server",
    "server.port": "its port, if the address names one",
    "error.type": "the class of an error, such as `RateLimited` or `declined`; never its text",
    "clio.turn.status": "how the turn ended, such as `done`, `interrupted` or `max_cost`",
    "clio.turn.steps": "number of requests that reached a server",
    "clio.cost.usd": "the cost of its requests in US dollars, if the price is known",
    "clio.tool.result": "`ok`, `failed`, `wrong_arguments`, `refused`, `needs_approval` or `interrupted`",
    "clio.tool.approval": "`user` if you were asked and agreed, `rule` if a rule or the mode allows it, "
    "`reads` for a command that only reads, `none` if it was not run",
    "clio.compaction.stage": "why: `proactive`, `validation`, `reactive` or `manual` ([context](context.md))",
    "clio.compaction.messages": "messages that left the window",
    "clio.compaction.shortened": "messages that are shortened from now on",
    "clio.compaction.freed_tokens": "tokens that became free",
    "mcp.method.name": "the method of the protocol: a call of a tool, or reading a resource or a prompt",
    "clio.mcp.server": "the name of the server in your configuration",
    "gen_ai.input.messages": "your message",
    "gen_ai.output.messages": "the answer",
    "gen_ai.tool.call.arguments": "the arguments of the call",
    "gen_ai.tool.call.result": "its result as the model receives it",
}
"""The meaning of each attribute."""

CONTENT = frozenset(
    ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result")
)
"""Attributes that are only sent with `content: true`."""

SpanKind = Literal["turn", "request", "tool", "compaction", "mcp"]
_USAGE = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.reasoning.output_tokens",
)


class SpanType(Struct, frozen=True, kw_only=True):
    """One kind of span.

    Attributes:
        name: how its spans are called; a part in braces is the value of that attribute.
        is_client: whether clio asks another program in it.
    """

    name: str
    meaning: str
    attributes: tuple[str, ...]
    is_client: bool = False


SPANS: dict[SpanKind, SpanType] = {
    "turn": SpanType(
        name="invoke_agent {gen_ai.agent.name}",
        meaning="a turn, from your message to the end of the answer; a sub-agent's is below the call that started it",
        attributes=(
            "gen_ai.operation.name",
            "gen_ai.agent.name",
            "gen_ai.conversation.id",
            "gen_ai.provider.name",
            "gen_ai.request.model",
            *_USAGE,
            "clio.turn.status",
            "clio.turn.steps",
            "clio.cost.usd",
            "error.type",
            "gen_ai.input.messages",
            "gen_ai.output.messages",
        ),
    ),
    "request": SpanType(
        name="chat {gen_ai.request.model}",
        meaning="a request to the model; a retry is a span of its own",
        attributes=(
            "gen_ai.operation.name",
            "gen_ai.provider.name",
            "gen_ai.request.model",
            "gen_ai.request.max_tokens",
            "gen_ai.response.finish_reasons",
            "gen_ai.response.time_to_first_chunk",
            *_USAGE,
            "server.address",
            "server.port",
            "error.type",
        ),
        is_client=True,
    ),
    "tool": SpanType(
        name="execute_tool {gen_ai.tool.name}",
        meaning="a tool call, including the time in which you were asked",
        attributes=(
            "gen_ai.operation.name",
            "gen_ai.tool.name",
            "gen_ai.tool.type",
            "clio.tool.result",
            "clio.tool.approval",
            "error.type",
            "gen_ai.tool.call.arguments",
            "gen_ai.tool.call.result",
        ),
    ),
    "compaction": SpanType(
        name="compaction",
        meaning="messages leave the context window",
        attributes=(
            "clio.compaction.stage",
            "clio.compaction.messages",
            "clio.compaction.shortened",
            "clio.compaction.freed_tokens",
        ),
    ),
    "mcp": SpanType(
        name="{mcp.method.name}",
        meaning="a call of an MCP server, below the tool call it is part of",
        attributes=("mcp.method.name", "clio.mcp.server", "error.type"),
        is_client=True,
    ),
}


class Metric(Struct, frozen=True, kw_only=True):
    """One metric. unit: by the rules of UCUM."""

    name: str
    kind: Literal["counter", "histogram"]
    unit: str
    meaning: str
    attributes: tuple[str, ...]


_MODEL = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model")
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            name="gen_ai.client.token.usage",
            kind="histogram",
            unit="{token}",
            meaning="tokens of a request",
            attributes=(*_MODEL, "gen_ai.token.type"),
        ),
        Metric(
            name="gen_ai.client.operation.duration",
            kind="histogram",
            unit="s",
            meaning="duration of a request",
            attributes=(*_MODEL, "error.type"),
        ),
        Metric(
            name="clio.cached_tokens",
            kind="counter",
            unit="{token}",
            meaning="input tokens that servers read from their cache",
            attributes=_MODEL,
        ),
        Metric(
            name="clio.cost",
            kind="counter",
            unit="{USD}",
            meaning="cost of requests with a known price",
            attributes=("gen_ai.provider.name", "gen_ai.request.model"),
        ),
        Metric(
            name="clio.turn.duration",
            kind="histogram",
            unit="s",
            meaning="duration of a turn",
            attributes=("gen_ai.agent.name", "clio.turn.status"),
        ),
        Metric(
            name="clio.tool.calls",
            kind="counter",
            unit="{call}",
            meaning="tool calls",
            attributes=("gen_ai.tool.name", "clio.tool.result", "clio.tool.approval"),
        ),
        Metric(
            name="clio.tool.duration",
            kind="histogram",
            unit="s",
            meaning="duration of a tool call",
            attributes=("gen_ai.tool.name", "clio.tool.result"),
        ),
        Metric(
            name="mcp.client.operation.duration",
            kind="histogram",
            unit="s",
            meaning="duration of a call of an MCP server",
            attributes=("mcp.method.name", "clio.mcp.server", "error.type"),
        ),
        Metric(
            name="clio.errors",
            kind="counter",
            unit="{error}",
            meaning="turns, requests, tool calls and calls of MCP servers that failed",
            attributes=("gen_ai.operation.name", "mcp.method.name", "error.type"),
        ),
    )
}
"""All metrics, by name. Their attributes have the values of the span that they are measured from."""

RESOURCE: dict[str, str] = {
    "service.name": "`clio`, or what `OTEL_SERVICE_NAME` says",
    "service.version": "the version of clio",
    "telemetry.sdk.language": "`python`",
    "telemetry.sdk.name": "`opentelemetry`",
    "telemetry.sdk.version": "the version of the package `opentelemetry-sdk`",
}
"""Attributes of everything that is sent, beside those of the variable OTEL_RESOURCE_ATTRIBUTES."""


class SpanRecord(Struct, kw_only=True):
    """A span that has ended, or is open while `end_ns` is 0. Times are in nanoseconds since the epoch.

    parent_id: 0 for the first span of a trace.
    """

    kind: SpanKind
    trace_id: int
    span_id: int
    parent_id: int
    start_ns: int
    end_ns: int = 0
    attributes: dict[str, AttributeValue]

    @property
    def name(self) -> str:
        """The span's name, as `SpanType.name` describes it."""
        text = SPANS[self.kind].name
        before, brace, rest = text.partition("{")
        if not brace:
            return text
        return f"{before}{self.attributes.get(rest.removesuffix('}'), '')}".strip()

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (self.end_ns - self.start_ns) / 1e9


class CostRecord(Struct, frozen=True, kw_only=True):
    """The known cost of one request."""

    provider: str
    model: str
    micro_dollars: int
