"""What a provider's requests say about effort and prompt caching, read from requests as it would send them."""

from collections.abc import Iterator
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct

from clio.messages import UserMessage
from clio.providers.base import AUTO, ChatRequest, ToolSpec
from clio.providers.http_provider import HttpProvider

PROTOCOL_TITLES = {"chat": "Chat Completions", "responses": "OpenAI Responses", "messages": "Anthropic Messages"}
PROBE_TOOL = ToolSpec(name="wait", description="Waits.", parameters=Raw(b'{"type":"object","properties":{}}'))
_MOST_TOKENS = 64_000  # thinking with a budget needs room for it
_CONVERSATION = ("tools", "messages", "input", "instructions", "system")


class RequestFacts(Struct, frozen=True, kw_only=True):
    """effort: the fields that ask for it, such as "reasoning.effort=high"; cache: those that let a server cache."""

    effort: tuple[str, ...]
    cache: tuple[str, ...]


def read_request_facts(provider: HttpProvider, effort: str) -> RequestFacts:
    """Encode requests with and without effort and cache key, and compare them. Nothing is sent."""
    plain = _fields(provider, AUTO, "")
    asked = {f"{name}={value}" for name, value in _fields(provider, effort, "").items() if plain.get(name) != value}
    keyed = sorted(name for name in _fields(provider, AUTO, "probe") if name not in plain)
    points = sorted({name.partition(".")[0] for name in plain if ".cache_control." in f"{name}."})
    places = [name for name in _CONVERSATION if name in points]
    marked = [f"cache_control on {', '.join(places)}"] if places else []
    return RequestFacts(effort=tuple(sorted(asked)), cache=(*keyed, *marked))


def _fields(provider: HttpProvider, effort: str, cache_key: str) -> dict[str, str]:
    request = ChatRequest(
        system="Answer.",
        messages=(UserMessage(content="Hello.", id="probe"),),
        tools=(PROBE_TOOL,),
        max_output_tokens=_MOST_TOKENS,
        effort=effort,
        cache_key=cache_key,
    )
    return dict(_flat(msgspec.json.decode(provider.encode(request)), ""))


def _flat(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """The leaves of a JSON value by the names that lead to them; places in lists are not told apart."""
    if isinstance(value, dict):
        for key, one in cast("dict[str, Any]", value).items():
            yield from _flat(one, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _flat(one, name)
    else:
        yield name, value if isinstance(value, str) else msgspec.json.encode(value).decode()
