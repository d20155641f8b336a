"""Observes turns, requests, tool calls and MCP calls, and passes them to the exporter in the background.

Recording appends to a list in memory. Encoding and sending happen in a daemon thread, so that a slow or dead collector
delays nothing but the exit, by at most `FLUSH_S`.
"""

import asyncio
import os
import re
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from contextvars import ContextVar, Token
from types import TracebackType
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from clio.config.schema import TelemetrySettings
from clio.errors import ConfigError
from clio.messages import Usage
from clio.providers.base import ChatRequest, Chunk, Provider
from clio.providers.urls import url_host
from clio.telemetry.collector_address import describe_collector, read_headers, read_port
from clio.telemetry.signals import CONTENT, SPANS, AttributeValue, CostRecord, SpanKind, SpanRecord
from clio.text.formatting import MICROS_PER_DOLLAR, truncate
from clio.text.translation import tr
from clio.threads import Worker

if TYPE_CHECKING:
    from clio.telemetry.exporter import Collector

FLUSH_S = 3.0
"""The longest delay of the exit."""
_SEND_AFTER_S = 10.0
"""What is recorded waits for at most so long while more is recorded; the end of a turn sends at once."""
MAX_WAITING = 4_000
"""Records that wait for a collector; older ones are dropped."""
_MAX_VALUE_CHARS = 200
_MAX_CONTENT_CHARS = 8_000
_CURRENT: ContextVar["Span | None"] = ContextVar("clio_span", default=None)
_FINISH_REASON = re.compile(r"[a-z_]{1,40}", re.ASCII)
_CONVENTION_NAMES = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
}
"""Names of servers in the semantic conventions, where clio has another one."""


class Span:
    """One span as a context manager; it is recorded when the context ends, and what it calls is below it."""

    def __init__(self, telemetry: "Telemetry", kind: SpanKind, *, has_children: bool = True) -> None:
        self._telemetry = telemetry
        self._has_children = has_children
        self._token: Token[Span | None] | None = None
        parent = _CURRENT.get()
        self.record = SpanRecord(
            kind=kind,
            trace_id=parent.record.trace_id if parent else _make_id(16),
            span_id=_make_id(8),
            parent_id=parent.record.span_id if parent else 0,
            start_ns=time.time_ns(),
            attributes={},
        )
        self._started = time.perf_counter_ns()

    def add(self, **values: AttributeValue | None) -> None:
        """Add attributes, with two underscores for each dot of a name; None and "" are left out.

        Raises KeyError for an attribute that this kind of span does not have.
        """
        for key, value in values.items():
            self._set(key.replace("__", "."), value)

    def add_usage(self, usage: Usage) -> None:
        """Add the tokens that a server billed."""
        counts = {
            "gen_ai.usage.input_tokens": usage.prompt_tokens,
            "gen_ai.usage.output_tokens": usage.completion_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
            "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
        }
        for name, count in counts.items():
            self._set(name, count)

    def fail(self, error_type: str) -> None:
        """Mark the span as failed, by the class of an error."""
        self._set("error.type", error_type)

    def _set(self, name: str, value: AttributeValue | None) -> None:
        if name not in SPANS[self.record.kind].attributes:
            raise KeyError(name)
        if value is None or value in ("", ()) or (name in CONTENT and not self._telemetry.settings.content):
            return
        if isinstance(value, str):
            value = truncate(self._telemetry.redact(value), _MAX_CONTENT_CHARS if name in CONTENT else _MAX_VALUE_CHARS)
        self.record.attributes[name] = value

    def __enter__(self) -> "Span":
        if self._has_children:
            self._token = _CURRENT.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._token is not None:
            _CURRENT.reset(self._token)
        if kind is not None:
            is_cancelled = issubclass(kind, asyncio.CancelledError | GeneratorExit | KeyboardInterrupt)
            self.fail("interrupted" if is_cancelled else kind.__name__)
            if self.record.kind == "tool":
                self.add(clio__tool__result="interrupted" if is_cancelled else "failed")
        # The clock may be set meanwhile, but no span ends before it began.
        self.record.end_ns = self.record.start_ns + time.perf_counter_ns() - self._started
        self._telemetry.add_record(self.record)


class Telemetry:
    """Telemetry of one clio process. Any thread may use it.

    Args:
        headers: sent with every export, such as a key of the collector.
        redact: replaces secrets.
    """

    def __init__(self, settings: TelemetrySettings, headers: Mapping[str, str], redact: Callable[[str], str]) -> None:
        self.settings = settings
        self.redact = redact
        self._headers = dict(headers)
        self._records: deque[SpanRecord | CostRecord] = deque(maxlen=MAX_WAITING)
        self._lock = threading.Lock()
        self._worker = Worker("telemetry")
        self._collector: Collector | None = None
        self._is_unusable = False
        self._last_sent = time.monotonic()
        self._problem = ""
        self._has_reported = False

    # What is observed

    def watch_turn(self, *, session_id: str, agent: str, provider: Provider, text: str) -> Span:
        """Return the span of a turn, which `end_turn` completes."""
        self._worker.submit(self._open_collector)  # 0.3 s of imports, while the model answers
        span = Span(self, "turn")
        span.add(
            gen_ai__operation__name="invoke_agent",
            gen_ai__agent__name=agent,
            gen_ai__conversation__id=session_id,
            gen_ai__provider__name=_get_convention_name(provider.name),
            gen_ai__request__model=provider.model,
            gen_ai__input__messages=text,
        )
        return span

    def end_turn(self, *, status: str, steps: int, usage: Usage, micro_dollars: int | None, text: str) -> None:
        """Add how the turn ended to its span, which is the innermost open one."""
        span = _CURRENT.get()
        if span is None or span.record.kind != "turn":
            return
        span.add(
            clio__turn__status=status,
            clio__turn__steps=steps,
            clio__cost__usd=None if micro_dollars is None else micro_dollars / MICROS_PER_DOLLAR,
            gen_ai__output__messages=text,
        )
        span.add_usage(usage)
        if status != "done":
            span.fail(status)

    def watch_tool(self, name: str, *, is_extension: bool, arguments: str) -> Span:
        """Return the span of a tool call. name: "" for a tool that does not exist, whose name is the model's text."""
        span = Span(self, "tool")
        span.add(
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name=name or "unknown",
            gen_ai__tool__type="extension" if is_extension else "function",
            gen_ai__tool__call__arguments=arguments,
        )
        return span

    def watch_call(self, method: str, server: str) -> Span:
        """Return the span of a call of an MCP server."""
        span = Span(self, "mcp")
        span.add(mcp__method__name=method, clio__mcp__server=server)
        return span

    async def watch_stream(
        self, provider: Provider, request: ChatRequest, chunks: AsyncIterator[Chunk]
    ) -> AsyncGenerator[Chunk]:
        """Yield the chunks of an answer unchanged, and record the request when they end."""
        # Without children: a generator's context is that of its caller.
        with Span(self, "request", has_children=False) as span:
            started = time.perf_counter()
            address = urlsplit(getattr(provider, "base_url", ""))
            span.add(
                gen_ai__operation__name="chat",
                gen_ai__provider__name=_get_convention_name(provider.name),
                gen_ai__request__model=provider.model,
                gen_ai__request__max_tokens=request.max_output_tokens,
                server__address=url_host(address.geturl()),
                server__port=read_port(address.netloc),
            )
            is_first = True
            async with aclosing(cast("AsyncGenerator[Chunk]", chunks)):
                async for chunk in chunks:
                    if is_first:
                        is_first = False
                        span.add(gen_ai__response__time_to_first_chunk=time.perf_counter() - started)
                    if chunk.finish_reason:
                        reason = chunk.finish_reason if _FINISH_REASON.fullmatch(chunk.finish_reason) else "other"
                        span.add(gen_ai__response__finish_reasons=(reason,))
                    if chunk.usage is not None:
                        span.add_usage(chunk.usage)
                    yield chunk

    def record_trim(self, *, stage: str, messages: int, shortened: int, freed_tokens: int, started_ns: int) -> None:
        """Record that messages have left the window. started_ns: when that began."""
        with Span(self, "compaction") as span:
            span.record.start_ns = started_ns
            span.add(
                clio__compaction__stage=stage,
                clio__compaction__messages=messages,
                clio__compaction__shortened=shortened,
                clio__compaction__freed_tokens=freed_tokens,
            )

    def record_cost(self, provider: Provider, micro_dollars: int) -> None:
        """Record the cost of one request."""
        self._records.append(
            CostRecord(provider=_get_convention_name(provider.name), model=provider.model, micro_dollars=micro_dollars)
        )

    def add_record(self, record: SpanRecord) -> None:
        """Store a span that has ended; the end of a turn, or enough time, sends what is stored."""
        self._records.append(record)
        is_turn = record.kind == "turn" and not record.parent_id
        if is_turn or time.monotonic() - self._last_sent > _SEND_AFTER_S:
            self._last_sent = time.monotonic()
            self._worker.submit(self._send)

    # Sending

    def pop_problem(self) -> str:
        """Return why nothing reaches the collector, once in a run; "" if it does, or if it was returned before."""
        collector = self._collector
        if collector is not None and collector.failure:  # also while an export is being tried again
            self._note_problem(collector.failure)
        with self._lock:
            if not self._problem or self._has_reported:
                return ""
            self._has_reported = True
            return tr(
                "telemetry is not sent: {problem}; clio works without it, and keeps trying", problem=self._problem
            )

    def close(self) -> None:
        """Send what is left. Takes at most `FLUSH_S`, and much less if the collector is known to be unreachable."""
        self._worker.submit(self._send)
        try:
            self._wait_for_exports()
        finally:
            if self._collector is not None:
                self._collector.close()

    def _wait_for_exports(self) -> None:
        deadline = time.monotonic() + FLUSH_S
        while not self._worker.wait(min(0.05, max(deadline - time.monotonic(), 0.0))):
            collector = self._collector
            if collector is not None and (failure := collector.failure):
                self._note_problem(failure)
                return
            if time.monotonic() >= deadline:
                self._note_problem(
                    tr("{address} did not answer within {seconds:g} s", address=self._address, seconds=FLUSH_S)
                )
                return

    @property
    def _address(self) -> str:
        """The collector as messages name it: without a user, a path or parameters."""
        return describe_collector(self.settings, os.environ)

    def _open_collector(self) -> None:
        if self._collector is not None or self._is_unusable:
            return
        try:
            from clio.telemetry.exporter import Collector

            self._collector = Collector(self.settings, self._headers, self._address)
        except ImportError:
            self._is_unusable = True
            self._note_problem(
                tr("it needs the package opentelemetry-sdk; pip install 'clio-shell[telemetry]' installs it")
            )
        except ConfigError as error:
            self._is_unusable = True
            self._note_problem(str(error))

    def _send(self) -> None:
        self._open_collector()
        records: list[SpanRecord | CostRecord] = []
        while self._records:
            records.append(self._records.popleft())
        if self._collector is None or not records:
            return
        if failure := self._collector.export(records):
            self._note_problem(failure)

    def _note_problem(self, problem: str) -> None:
        with self._lock:
            self._problem = self.redact(problem)


def open_telemetry(
    settings: TelemetrySettings,
    env: Mapping[str, str],
    *,
    redact: Callable[[str], str],
    learn_secret: Callable[[str], None],
) -> Telemetry:
    """Return the telemetry for these settings, which have an endpoint. Opens no connection and imports no package.

    learn_secret: called with the values of the headers.
    """
    headers = read_headers(settings, env)
    for value in headers.values():
        learn_secret(value)
    return Telemetry(settings, headers, redact)


def _get_convention_name(name: str) -> str:
    return _CONVENTION_NAMES.get(name, name)


def _make_id(size: int) -> int:
    return int.from_bytes(os.urandom(size), "big") or 1
