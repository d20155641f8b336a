"""What is shown of models: the efforts makers document, and what requests say about effort and caching."""

import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec
from msgspec import Raw, Struct

from clio.messages import UserMessage
from clio.providers.base import AUTO, EFFORTS, ChatRequest, Provider, ToolSpec
from clio.providers.http_provider import HttpProvider

_LOW_TO_HIGH = ("low", "medium", "high")
# First match wins; names are matched in lower case, after a maker's prefix is cut off. () takes no effort at all.
_DOCUMENTED: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(
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


def documented_efforts(model: str) -> tuple[str, ...] | None:
    """The levels the maker documents, from the least to the most; () for none, None where nothing is known."""
    name = model.lower().rsplit("/", 1)[-1]
    return next((levels for pattern, levels in _DOCUMENTED if pattern.match(name)), None)


def usable_efforts(provider: Provider, model: str) -> tuple[str, ...] | None:
    """The levels worth offering for a model: what is documented, without what its server refused; None: not known."""
    documented = documented_efforts(model)
    if not isinstance(provider, HttpProvider) or model != provider.model:
        return documented
    taken = provider.efforts
    if documented is None:
        return None if len(taken) >= len(EFFORTS) - 1 else taken
    return tuple(level for level in documented if level in taken)


def choose_side_effort(effort: str, levels: tuple[str, ...] | None) -> str:
    """The effort of a short question beside the conversation: low, or less where the user wants less.

    levels: what the model takes, see `usable_efforts`. Where that is not known nothing is asked for, as a request
    with an unknown field may be refused.
    """
    if effort in ("none", "minimal"):
        return effort
    return "low" if levels else AUTO


def describe_efforts(levels: tuple[str, ...] | None) -> str:
    """The levels in a table's cell: "effort low–high"; "" for none, and where nothing is known."""
    if not levels:
        return ""
    return f"effort {levels[0]}" if len(levels) == 1 else f"effort {levels[0]}–{levels[-1]}"


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
