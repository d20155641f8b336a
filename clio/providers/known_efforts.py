"""The levels of effort that makers document for their models: for what is shown, and for short side questions.

Looked up in November 2026. Verified are:

- OpenAI: gpt-5-pro, gpt-5.1 and its Codex models, gpt-5.3-codex, gpt-5.4, gpt-5.5, gpt-6-sol and gpt-6-luna, from its
  API reference, refusals of its server, and catalogues that cite its model pages.
- Anthropic: platform.claude.com/docs/en/build-with-claude/effort names the models that take "max" and "xhigh".
- Google: docs.cloud.google.com, guide to Gemini 3.5 Flash: Gemini 3.1 Pro, 3.1 Flash-Lite and 3.5 Flash.
- xAI: grok-3-mini, grok-4.3 and grok-4.5. Moonshot: kimi-k3. Both from catalogues that cite the makers' pages.

All other rows are not verified; a refusal is learned. What is sent in the conversation is decided by what the user asks
for and the server refuses; see `effort`.
"""

from clio.algorithms.late_pattern import LatePattern
from clio.providers.base import AUTO, EFFORTS, Provider
from clio.providers.http_provider import HttpProvider

_LOW_TO_HIGH = ("low", "medium", "high")
# First match wins; names are matched in lower case, after a maker's prefix is cut off. () takes no effort at all.
_DOCUMENTED: tuple[tuple[LatePattern, tuple[str, ...]], ...] = tuple(
    (LatePattern(pattern), levels)
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
