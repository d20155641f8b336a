"""The collector that the settings name: its address, the headers for it, and what is wrong with them."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from clio.config.schema import TELEMETRY_FROM_ENVIRONMENT, TelemetrySettings
from clio.providers.urls import is_loopback, url_host
from clio.text.translation import tr


def read_headers(settings: TelemetrySettings, env: Mapping[str, str]) -> dict[str, str]:
    """Return the headers in the variable that the settings name: `name=value`, separated by commas."""
    pairs = (entry.partition("=") for entry in env.get(settings.headers_env or "", "").split(","))
    return {name.strip().lower(): value.strip() for name, equals, value in pairs if equals and name.strip()}


def describe_collector(settings: TelemetrySettings, env: Mapping[str, str]) -> str:
    """Return the collector's host and port; "" if there is none. Never a user, a path or a password."""
    address = _find_address(settings, env)
    host, port = url_host(address), read_port(urlsplit(address).netloc)
    return f"{host}:{port}" if port else host


def is_unencrypted(settings: TelemetrySettings, env: Mapping[str, str]) -> bool:
    """Whether what is sent leaves this machine unencrypted."""
    address = _find_address(settings, env)
    return urlsplit(address).scheme != "https" and not is_loopback(url_host(address))


def explain_wrong_endpoint(settings: TelemetrySettings) -> str:
    """Return what is wrong with the endpoint; "" if nothing is."""
    endpoint = settings.endpoint or ""
    if endpoint == TELEMETRY_FROM_ENVIRONMENT:
        return ""
    if urlsplit(endpoint).scheme not in ("http", "https") or not url_host(endpoint):
        return tr("telemetry.endpoint must be an address that begins with http:// or https://, or `env`")
    return ""


def _find_address(settings: TelemetrySettings, env: Mapping[str, str]) -> str:
    if settings.endpoint != TELEMETRY_FROM_ENVIRONMENT:
        return settings.endpoint or ""
    variables = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    return next(filter(None, map(env.get, variables)), "http://localhost:4318")


def read_port(netloc: str) -> int | None:
    """Return the port in the part of an address between the slashes; None if it names none."""
    digits = netloc.rpartition("@")[2].rpartition("]")[2].rpartition(":")[2]
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= 5 and ":" in netloc else None
