"""Facts about models for the interface: documented levels of effort, and the fields with which effort is requested."""

import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct

from clio.messages import UserMessage
from clio.providers.base import AUTO, EFFORTS, ChatRequest, Provider, ToolSpec
from clio.providers.http_provider import HttpProvider
from clio.text.translation import tr

_LOW_TO_HIGH = ("low", "medium", "high")
# First match wins. Names are matched in lower case, without the maker's prefix. () means no choice of effort.
_DOCUMENTED_EFFORTS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (re.compile(pattern), levels)
    for pattern, levels in (
        (r"gpt-oss", _LOW_TO_HIGH),
        (r"gpt-(6\.1-sol|6-astra)", (*_LOW_TO_HIGH, "xhigh", "max")),
        (r"gpt-5(\.\d)?-chat", ()),
        (r"gpt-5-pro", ("high",)),
        (r"gpt-5(-codex)", _LOW_TO_HIGH),
        (r"gpt-5(?![.\d])", ("minimal", *_LOW_TO_HIGH)),
        (r"gpt-5\.1-codex-max", (*_LOW_TO_HIGH, "xhigh")),
        (r"gpt-5\.1-codex", _LOW_TO_HIGH),
        (r"gpt-5\.1", ("none", *_LOW_TO_HIGH)),
        (r"gpt-5\.[2-9]-pro", ("medium", "high", "xhigh")),
        (r"gpt-5\.[23]-codex", (*_LOW_TO_HIGH, "xhigh")),
        (r"gpt-5\.[2-5]", ("none", *_LOW_TO_HIGH, "xhigh")),
        (r"gpt-(5\.[6-9]|6)", ("none", *_LOW_TO_HIGH, "xhigh", "max")),
        (r"gpt-[34]|chatgpt", ()),
        (r"o1-(mini|preview)", ()),
        (r"o[134](-|$)", _LOW_TO_HIGH),
        (r"claude-(2|instant|3(?!-7|\.7))", ()),
        (r"claude-mythos-preview", (*_LOW_TO_HIGH, "max")),
        (r"claude-(fable|mythos)", (*_LOW_TO_HIGH, "xhigh", "max")),
        (r"claude-\w+-4[-.]6", ("none", *_LOW_TO_HIGH, "max")),
        (r"claude", ("none", *_LOW_TO_HIGH, "xhigh", "max")),
        (r"gemini-(1|2\.0)", ()),
        (r"gemini-2\.5-flash", ("none", *_LOW_TO_HIGH)),
        (r"gemini-2\.5", _LOW_TO_HIGH),
        (r"gemini-3(\.\d)?-pro", _LOW_TO_HIGH),
        (r"gemini-3", ("minimal", *_LOW_TO_HIGH)),
        (r"grok-3-mini", ("low", "high")),
        (r"grok-4\.3", ("none", *_LOW_TO_HIGH)),
        (r"grok-4\.5", _LOW_TO_HIGH),
        (r"grok-4\.[6-9](?!\d)", (*_LOW_TO_HIGH, "xhigh")),
        (r"grok-(2|3|code|4($|-))", ()),
        (r"kimi-k3", ("low", "high", "max")),
        (r"(llama|phi|gemma|codestral|devstral|pixtral|ministral)", ()),
    )
)


def find_documented_efforts(model: str) -> tuple[str, ...] | None:
    """Return the levels that the maker documents, from least to most; () for none, None if unknown."""
    name = model.lower().rsplit("/", 1)[-1]
    return next((levels for pattern, levels in _DOCUMENTED_EFFORTS if pattern.match(name)), None)


def find_usable_efforts(provider: Provider, model: str) -> tuple[str, ...] | None:
    """Return the documented levels for a model without those its server rejected; None if unknown."""
    documented = find_documented_efforts(model)
    if not isinstance(provider, HttpProvider) or model != provider.model:
        return documented
    accepted = provider.efforts
    if documented is None:
        return None if len(accepted) >= len(EFFORTS) - 1 else accepted
    return tuple(level for level in documented if level in accepted)


def choose_side_effort(effort: str, levels: tuple[str, ...] | None) -> str:
    """Return the effort of a short question beside the conversation: low, or less if the user chose less.

    levels: from `find_usable_efforts`. If they are unknown, the result is "auto", because a server may reject a request
    with an unknown field.
    """
    if effort in ("none", "minimal"):
        return effort
    return "low" if levels else AUTO


def describe_efforts(levels: tuple[str, ...] | None) -> str:
    """Return the levels for a table cell, such as "effort low–high"; "" if there are none or they are unknown."""
    if not levels:
        return ""
    return (
        tr("effort {levels}", levels=levels[0])
        if len(levels) == 1
        else tr("effort {levels}–{levels2}", levels=levels[0], levels2=levels[-1])
    )


PROTOCOL_TITLES = {"chat": "Chat Completions", "responses": "OpenAI Responses", "messages": "Anthropic Messages"}
PROBE_TOOL = ToolSpec(name="wait", description="Waits.", parameters=Raw(b'{"type":"object","properties":{}}'))
_MAX_OUTPUT_TOKENS = 64_000  # leaves space for a thinking budget
_CONVERSATION_FIELDS = ("tools", "messages", "input", "instructions", "system")


class RequestFacts(Struct, frozen=True, kw_only=True):
    """How a provider writes requests.

    Attributes:
        effort: the fields that request the effort, such as "reasoning.effort=high".
        cache: the fields that let the server use its prompt cache.
    """

    effort: tuple[str, ...]
    cache: tuple[str, ...]


def read_request_facts(provider: HttpProvider, effort: str) -> RequestFacts:
    """Encode requests with and without effort and cache key, and compare them. Nothing is sent."""
    default = _list_fields(provider, AUTO, "")
    with_effort = {
        f"{name}={value}" for name, value in _list_fields(provider, effort, "").items() if default.get(name) != value
    }
    with_key = sorted(name for name in _list_fields(provider, AUTO, "probe") if name not in default)
    points = {name.partition(".")[0] for name in default if ".cache_control." in f"{name}."}
    parts = [name for name in _CONVERSATION_FIELDS if name in points]
    marked = [tr("cache_control on {parts}", parts=", ".join(parts))] if parts else []
    return RequestFacts(effort=tuple(sorted(with_effort)), cache=(*with_key, *marked))


def _list_fields(provider: HttpProvider, effort: str, cache_key: str) -> dict[str, str]:
    request = ChatRequest(
        system="Answer.",
        messages=(UserMessage(content="Hello.", id="probe"),),
        tools=(PROBE_TOOL,),
        max_output_tokens=_MAX_OUTPUT_TOKENS,
        effort=effort,
        cache_key=cache_key,
    )
    return dict(_flatten(msgspec.json.decode(provider.encode(request)), ""))


def _flatten(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield the leaves of a JSON value with dotted names; items of a list share one name."""
    if isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            yield from _flatten(item, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _flatten(item, name)
    else:
        yield name, value if isinstance(value, str) else msgspec.json.encode(value).decode()
