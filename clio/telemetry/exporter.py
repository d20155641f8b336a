"""Sends records to an OpenTelemetry collector over OTLP/HTTP, with the packages of OpenTelemetry.

Imported in the thread that sends, when telemetry is on: the packages take about 0.3 s.
"""

import logging
import math
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import requests
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import Counter, Histogram
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from clio import __version__
from clio.config.schema import TELEMETRY_FROM_ENVIRONMENT, TelemetrySettings
from clio.errors import ConfigError
from clio.telemetry.collector_address import explain_wrong_endpoint
from clio.telemetry.signals import METRICS, SPANS, AttributeValue, CostRecord, Metric, SpanRecord
from clio.text.formatting import MICROS_PER_DOLLAR, truncate_line
from clio.text.translation import tr

_SCOPE = "clio"
_HEADER_VARIABLES = (
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
)
_MAX_REASON_CHARS = 200


class Collector:
    """One collector. Used by one thread at a time; `failure` may be read by any.

    Args:
        headers: sent with every export.
        name: host and port of the collector, for messages.

    Attributes:
        failure: why the last export did not arrive, as the end of a sentence; "" if it did. Set while an export is
            still being tried again.

    Raises:
        ConfigError: the endpoint is no address.
    """

    def __init__(self, settings: TelemetrySettings, headers: Mapping[str, str], name: str) -> None:
        if problem := explain_wrong_endpoint(settings):
            raise ConfigError(problem)
        self.failure = ""
        self._name = name
        self._thread = 0
        self._handler = _FailureHandler(self)
        self._listen_to_exporters()
        resource = OTELResourceDetector().detect()
        resource = Resource({"service.name": "clio"}).merge(resource)
        resource = resource.merge(Resource({"service.version": __version__, **_describe_sdk()}))
        session = _make_session(settings, headers)
        self._spans = _SpanSender(settings, headers, session, resource) if settings.traces else None
        self._metrics = _MetricSender(settings, headers, session, resource) if settings.metrics else None

    def export(self, records: Sequence[SpanRecord | CostRecord]) -> str:
        """Send the records; return why they did not arrive, or ""."""
        self.failure, self._thread = "", threading.get_ident()
        if self._spans is not None:
            self._spans.send([record for record in records if isinstance(record, SpanRecord)])
        if self._metrics is not None and not self.failure:
            self._metrics.send(records)
        elif self._metrics is not None:
            self._metrics.count(records)  # they are cumulative, so that the next export contains them
        return self.failure

    def _listen_to_exporters(self) -> None:
        """Keep the reason of a failed export, which the packages only write to their log, off the screen."""
        logger = logging.getLogger("opentelemetry")
        logger.propagate = False
        logger.setLevel(logging.WARNING)
        logger.addHandler(self._handler)

    def close(self) -> None:
        """Stop listening to the exporters."""
        logging.getLogger("opentelemetry").removeHandler(self._handler)

    def note_failure(self, thread: int | None, reason: str) -> None:
        """Note why an export fails, if it is one of this collector's, by the thread that sends it."""
        if thread == self._thread and not self.failure:
            reason = "".join(char if char.isprintable() else " " for char in reason)
            self.failure = f"{self._name}: {truncate_line(' '.join(reason.split()), _MAX_REASON_CHARS)}"


class _FailureHandler(logging.Handler):
    """Passes the reason of a failed export on to its collector."""

    def __init__(self, collector: Collector) -> None:
        super().__init__(logging.WARNING)
        self._collector = collector

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith("opentelemetry.exporter"):
            self._collector.note_failure(record.thread, _describe_failure(record))


def _describe_failure(record: logging.LogRecord) -> str:
    """Return the reason of a failed export: that of the connection without the names of the package's objects."""
    errors = [value for value in record.args if isinstance(value, Exception)] if isinstance(record.args, tuple) else []
    if errors:
        return _describe_connection_error(errors[0])
    values: tuple[object, ...] = record.args if isinstance(record.args, tuple) else ()
    status = next((value for value in values if isinstance(value, int)), None)
    if status is not None and values:  # "Failed to export %s batch code: %s, reason: %s"
        return tr("it answered {status} {reason}", status=status, reason=values[-1])
    return record.getMessage()


def _describe_connection_error(error: BaseException) -> str:
    if isinstance(error, requests.exceptions.SSLError):
        return tr("its certificate is not accepted")
    if isinstance(error, requests.exceptions.Timeout):
        return tr("no answer")
    found: BaseException | None = error
    for _ in range(8):
        if found is None:
            break
        if isinstance(found, OSError) and found.strerror:
            return found.strerror
        inner = found.args[0] if found.args and isinstance(found.args[0], BaseException) else None
        found = getattr(found, "reason", None) or inner or found.__cause__ or found.__context__
    return tr("can't connect")


def _make_session(settings: TelemetrySettings, headers: Mapping[str, str]) -> requests.Session:
    """Return the HTTP session of the exporters.

    The exporters add the headers in the variables of OpenTelemetry to every request. They belong to the collector that
    those variables name, so they are sent only there.
    """
    if settings.endpoint == TELEMETRY_FROM_ENVIRONMENT:
        return requests.Session()
    foreign = {
        unquote(pair.partition("=")[0]).strip().lower()
        for variable in _HEADER_VARIABLES
        for pair in os.environ.get(variable, "").split(",")
        if pair
    } - set(headers)

    class OwnHeaders(requests.Session):
        def request(self, method: str, url: str | bytes, *args: Any, **kwargs: Any) -> requests.Response:
            given: Mapping[str, str] = kwargs.get("headers") or {}
            kwargs["headers"] = {name: value for name, value in given.items() if name.lower() not in foreign}
            return super().request(method, url, *args, **kwargs)

    return OwnHeaders()


def _describe_sdk() -> dict[str, str]:
    sdk = Resource.get_empty().merge(Resource.create()).attributes
    return {name: str(sdk[name]) for name in sdk if name.startswith("telemetry.sdk.")}


def _make_signal_address(settings: TelemetrySettings, path: str) -> str | None:
    """Return where one signal is sent; None for the address in the variables of OpenTelemetry."""
    if settings.endpoint == TELEMETRY_FROM_ENVIRONMENT:
        return None
    return f"{(settings.endpoint or '').rstrip('/')}/v1/{path}"


class _KnownIds(IdGenerator):
    """Gives the next span the ids that it was recorded with."""

    def __init__(self) -> None:
        self.trace_id = self.span_id = 1

    def generate_trace_id(self) -> int:
        return self.trace_id

    def generate_span_id(self) -> int:
        return self.span_id


class _Batch(SpanProcessor):
    """Collects the spans that have ended."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.spans.append(span)


class _SpanSender:
    def __init__(
        self,
        settings: TelemetrySettings,
        headers: Mapping[str, str],
        session: requests.Session,
        resource: Resource,
    ) -> None:
        self._ids, self._batch = _KnownIds(), _Batch()
        provider = TracerProvider(sampler=ALWAYS_ON, resource=resource, shutdown_on_exit=False, id_generator=self._ids)
        provider.add_span_processor(self._batch)
        self._tracer = provider.get_tracer(_SCOPE, __version__)
        self._exporter: SpanExporter = OTLPSpanExporter(
            endpoint=_make_signal_address(settings, "traces"), headers=dict(headers), session=session
        )

    def send(self, records: Iterable[SpanRecord]) -> bool:
        """Send the spans; return whether they arrived."""
        for record in records:
            self._replay(record)
        spans, self._batch.spans = self._batch.spans, []
        return not spans or self._exporter.export(spans) is SpanExportResult.SUCCESS

    def _replay(self, record: SpanRecord) -> None:
        """Begin and end a span of OpenTelemetry at the times that were recorded."""
        self._ids.trace_id, self._ids.span_id = record.trace_id, record.span_id
        context = trace.set_span_in_context(trace.INVALID_SPAN)
        if record.parent_id:
            parent = SpanContext(
                record.trace_id, record.parent_id, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED)
            )
            context = trace.set_span_in_context(NonRecordingSpan(parent))
        kind = SpanKind.CLIENT if SPANS[record.kind].is_client else SpanKind.INTERNAL
        attributes = _select(record.attributes, SPANS[record.kind].attributes)
        span = self._tracer.start_span(
            record.name, context, kind=kind, attributes=attributes, start_time=record.start_ns
        )
        if "error.type" in attributes:
            span.set_status(Status(StatusCode.ERROR))
        span.end(record.end_ns)


class _MetricSender:
    def __init__(
        self,
        settings: TelemetrySettings,
        headers: Mapping[str, str],
        session: requests.Session,
        resource: Resource,
    ) -> None:
        exporter = OTLPMetricExporter(
            endpoint=_make_signal_address(settings, "metrics"), headers=dict(headers), session=session
        )
        # Without an interval: metrics are sent with the spans, by the same thread.
        self._reader = PeriodicExportingMetricReader(exporter, export_interval_millis=math.inf)
        provider = MeterProvider([self._reader], resource=resource, shutdown_on_exit=False)
        meter = provider.get_meter(_SCOPE, __version__)
        self._instruments: dict[str, Counter | Histogram] = {
            name: (meter.create_counter if metric.kind == "counter" else meter.create_histogram)(
                name, unit=metric.unit, description=metric.meaning
            )
            for name, metric in METRICS.items()
        }

    def send(self, records: Sequence[SpanRecord | CostRecord]) -> None:
        """Count the records and send all metrics."""
        self.count(records)
        self._reader.force_flush()

    def count(self, records: Sequence[SpanRecord | CostRecord]) -> None:
        """Count the records, to be sent later."""
        for record in records:
            if isinstance(record, CostRecord):
                names = {"gen_ai.provider.name": record.provider, "gen_ai.request.model": record.model}
                self._measure("clio.cost", record.micro_dollars / MICROS_PER_DOLLAR, names)
            else:
                self._count_span(record)

    def _count_span(self, record: SpanRecord) -> None:
        values = record.attributes
        if "error.type" in values:
            self._measure("clio.errors", 1, values)
        match record.kind:
            case "turn":
                self._measure("clio.turn.duration", record.seconds, values)
            case "request":
                self._measure("gen_ai.client.operation.duration", record.seconds, values)
                for token_type in ("input", "output"):
                    count = values.get(f"gen_ai.usage.{token_type}_tokens")
                    if isinstance(count, int):
                        typed = values | {"gen_ai.token.type": token_type}
                        self._measure("gen_ai.client.token.usage", count, typed)
                cached = values.get("gen_ai.usage.cache_read.input_tokens")
                if isinstance(cached, int) and cached:
                    self._measure("clio.cached_tokens", cached, values)
            case "tool":
                self._measure("clio.tool.calls", 1, values)
                self._measure("clio.tool.duration", record.seconds, values)
            case "mcp":
                self._measure("mcp.client.operation.duration", record.seconds, values)
            case "compaction":
                pass  # a span only

    def _measure(self, name: str, value: float, values: Mapping[str, AttributeValue]) -> None:
        metric: Metric = METRICS[name]
        attributes = _select(values, metric.attributes)
        instrument = self._instruments[name]
        if isinstance(instrument, Counter):
            instrument.add(value, attributes)
        else:
            instrument.record(value, attributes)


def _select(values: Mapping[str, AttributeValue], names: Iterable[str]) -> dict[str, AttributeValue]:
    """Return the attributes with these names; nothing else is sent."""
    return {name: values[name] for name in names if name in values}
