"""An OpenTelemetry collector over real HTTP on 127.0.0.1, which decodes requests with the OpenTelemetry package.

with OtlpCollector() as collector:
    ...  # collector.url is the endpoint
assert collector.spans[0].name == "chat test-model"
"""

import gzip
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class ReceivedSpan:
    """One span. Ids are hexadecimal; `parent` is "" for the first span of a trace."""

    name: str
    trace: str
    id: str
    parent: str
    kind: int
    attributes: dict[str, Any]
    is_error: bool
    status_text: str
    events: int
    seconds: float


@dataclass(frozen=True)
class Point:
    """One point of a metric. value: its sum."""

    attributes: dict[str, Any]
    value: float
    count: int


class OtlpCollector:
    """Collects what it receives. status: its answer to every request; stalls: it never answers."""

    def __init__(self, *, status: int = 200, reason: str = "", stalls: bool = False) -> None:
        self.status = status
        self.reason = reason
        self.stalls = stalls
        self.bodies: list[tuple[str, bytes]] = []
        self.headers: list[dict[str, str]] = []
        self.spans: list[ReceivedSpan] = []
        self.resources: list[dict[str, Any]] = []
        self._metrics: list[ExportMetricsServiceRequest] = []
        self._ended = threading.Event()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                if collector.stalls:
                    collector._ended.wait()
                    return
                collector._take(self.path, body, {key.lower(): value for key, value in self.headers.items()})
                self.send_response(collector.status, collector.reason or None)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "OtlpCollector":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def named(self, name: str) -> list[ReceivedSpan]:
        """Return the spans with this name."""
        return [span for span in self.spans if span.name == name]

    def points(self, metric: str) -> list[Point]:
        """Return the newest points of a metric."""
        found: list[Point] = []
        for request in self._metrics[-1:]:
            for one in (
                one for each in request.resource_metrics for scope in each.scope_metrics for one in scope.metrics
            ):
                if one.name != metric:
                    continue
                for point in one.histogram.data_points:
                    found.append(Point(read_attributes(point.attributes), point.sum, point.count))
                for point in one.sum.data_points:
                    found.append(Point(read_attributes(point.attributes), point.as_double or point.as_int, 1))
        return found

    @property
    def metric_names(self) -> set[str]:
        """Return the names of all metrics."""
        return {
            one.name
            for request in self._metrics
            for each in request.resource_metrics
            for scope in each.scope_metrics
            for one in scope.metrics
        }

    def wait_for(self, count: int, seconds: float = 20.0) -> None:
        """Wait until this many spans have arrived."""
        end = time.monotonic() + seconds
        while len(self.spans) < count:
            assert time.monotonic() < end, [span.name for span in self.spans]
            time.sleep(0.02)

    def _take(self, path: str, body: bytes, headers: dict[str, str]) -> None:
        self.bodies.append((path, body))
        self.headers.append(headers)
        if path == "/v1/metrics":
            self._metrics.append(ExportMetricsServiceRequest.FromString(body))
            return
        assert path == "/v1/traces", path
        for each in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append(read_attributes(each.resource.attributes))
            for span in (span for scope in each.scope_spans for span in scope.spans):
                self.spans.append(
                    ReceivedSpan(
                        name=span.name,
                        trace=span.trace_id.hex(),
                        id=span.span_id.hex(),
                        parent=span.parent_span_id.hex(),
                        kind=span.kind,
                        attributes=read_attributes(span.attributes),
                        is_error=span.status.code == 2,
                        status_text=span.status.message,
                        events=len(span.events),
                        seconds=(span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
                    )
                )


def read_attributes(attributes: Any) -> dict[str, Any]:
    """Return the attributes of a protocol message as Python values."""
    return {one.key: _read_value(one.value) for one in attributes}


def _read_value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [_read_value(one) for one in value.array_value.values] if kind == "array_value" else getattr(value, kind)
