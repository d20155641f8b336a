"""What is known about servers and models beforehand, and how each is told its effort."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, cast

from msgspec import Struct, structs

from clio.providers.base import EFFORTS, ProtocolName
from clio.providers.urls import is_local_host, url_host
from clio.text.lazy_regex import LazyRegex

if TYPE_CHECKING:
    from clio.providers.auth import Scheme


EffortField = Literal[
    "reasoning_effort",  # the level as it is
    "none_or_default",  # reasoning_effort, of which there are only "none" and "default"
    "reasoning",  # {"effort": level}
    "thinking",  # {"type": "enabled" or "disabled"}
    "thinking_adaptive",  # {"type": "adaptive" or "disabled"}
    "thinking_and_effort",  # {"type": …}, and the level as reasoning_effort where it thinks
    "enable_thinking",  # true or false
    "template_enable_thinking",  # the same, as an argument of the chat template
    "template_thinking",  # true or false under another name
    "template_effort",  # reasoning_effort, and the same as an argument of the chat template
]
_SWITCH = ("none", "high")  # thinks or does not
_THREE = ("low", "medium", "high")
_FOUR = ("none", *_THREE)


class EffortStyle(Struct, frozen=True, kw_only=True):
    """The field of one model at one server, and the levels it takes; none where there is nothing to choose.

    always: fields for every request that does not switch thinking off.
    """

    field: EffortField = "reasoning_effort"
    levels: tuple[str, ...] = EFFORTS
    always: Mapping[str, object] = {}

    def options(self, level: str) -> dict[str, object]:
        """The fields of a request at this level; "" for the server's own."""
        thinks = level != "none"
        kept = dict(self.always) if thinks else {}
        if not level:
            return kept
        match self.field:
            case "reasoning_effort":
                return {**kept, "reasoning_effort": level}
            case "none_or_default":
                return {**kept, "reasoning_effort": "default" if thinks else "none"}
            case "reasoning":
                return {**kept, "reasoning": {"effort": level}}
            case "thinking":
                return {**kept, "thinking": self._thinking("enabled" if thinks else "disabled")}
            case "thinking_adaptive":
                return {**kept, "thinking": self._thinking("adaptive" if thinks else "disabled")}
            case "thinking_and_effort":
                fields = {**kept, "thinking": self._thinking("enabled" if thinks else "disabled")}
                return {**fields, "reasoning_effort": level} if thinks else fields
            case "enable_thinking":
                return {**kept, "enable_thinking": thinks}
            case "template_enable_thinking":
                return {**kept, "chat_template_kwargs": {"enable_thinking": thinks}}
            case "template_thinking":
                return {**kept, "chat_template_kwargs": {"thinking": thinks}}
            case "template_effort":
                return {**kept, "reasoning_effort": level, "chat_template_kwargs": {"reasoning_effort": level}}

    def _thinking(self, kind: str) -> dict[str, object]:
        more: Mapping[str, object] = {}
        if kind != "disabled":
            more = cast("Mapping[str, object]", self.always.get("thinking", more))
        return {**more, "type": kind}


_KEEP_GLM = {"thinking": {"type": "enabled", "clear_thinking": False}}  # else earlier reasoning is not read
_KEEP_KIMI = {"thinking": {"type": "enabled", "keep": "all"}}
_SPLIT = {"reasoning_split": True}  # without it, the reasoning comes inside the text, between tags

# Servers by the name of their preset, or by what their host ends in; models by pattern, in lower case and without their
# maker. First match wins; a server that is named and has no row for a model takes no effort for it.
_TABLE: tuple[tuple[tuple[str, ...], str, EffortStyle], ...] = (
    (("openrouter.ai", "ai-gateway.vercel.sh"), r".", EffortStyle(field="reasoning")),
    (
        ("generativelanguage.googleapis.com",),
        r"gemini-2\.5-flash",
        EffortStyle(levels=("none", "minimal", *_THREE)),
    ),
    (("generativelanguage.googleapis.com",), r"gemini-3(\.\d)?-flash", EffortStyle(levels=("minimal", *_THREE))),
    (("generativelanguage.googleapis.com",), r"gemini-(2\.5|[3-9])", EffortStyle(levels=_THREE)),
    (("aiplatform.googleapis.com",), r"gemini-(2\.5|[3-9])", EffortStyle(levels=_THREE)),
    (
        ("api.deepseek.com",),
        r"deepseek",
        EffortStyle(field="thinking_and_effort"),
    ),
    (
        ("api.z.ai", "open.bigmodel.cn"),
        r"glm-5\.[3-9]",
        EffortStyle(levels=("low", "high", "max"), always=_KEEP_GLM),
    ),
    (("api.z.ai", "open.bigmodel.cn"), r"glm-5\.2", EffortStyle(field="thinking_and_effort", always=_KEEP_GLM)),
    (
        ("api.z.ai", "open.bigmodel.cn"),
        r"glm-(4\.7|5)",
        EffortStyle(field="thinking", levels=_SWITCH, always=_KEEP_GLM),
    ),
    (("api.z.ai", "open.bigmodel.cn"), r"glm-4\.[56]", EffortStyle(field="thinking", levels=_SWITCH)),
    (("api.moonshot.ai", "api.moonshot.cn"), r"kimi-k[3-9]", EffortStyle(levels=("low", "high", "max"))),
    (
        ("api.moonshot.ai", "api.moonshot.cn"),
        r"kimi-k2\.6",
        EffortStyle(field="thinking", levels=_SWITCH, always=_KEEP_KIMI),
    ),
    (("api.moonshot.ai", "api.moonshot.cn"), r"kimi-k2\.5", EffortStyle(field="thinking", levels=_SWITCH)),
    (
        ("api.minimax.io", "api.minimaxi.com"),
        r"minimax-m[3-9]",
        EffortStyle(field="thinking_adaptive", levels=_SWITCH, always=_SPLIT),
    ),
    (("api.minimax.io", "api.minimaxi.com"), r"minimax-m", EffortStyle(levels=(), always=_SPLIT)),
    (("api.x.ai",), r"grok-(3-mini|4\.5)", EffortStyle(levels=_THREE)),
    (("api.x.ai",), r"grok-4\.3", EffortStyle(levels=_FOUR)),
    (("api.x.ai",), r"grok-(4\.20-multi-agent|4\.[6-9]|[5-9])", EffortStyle(levels=(*_THREE, "xhigh"))),
    (("api.groq.com",), r"gpt-oss", EffortStyle(levels=_THREE)),
    (("api.groq.com",), r"qwen", EffortStyle(field="none_or_default", levels=_SWITCH)),
    (
        ("api.mistral.ai",),
        r"mistral-(small|medium)-(latest|2[6-9]|3[.-]5|[4-9])|magistral",
        EffortStyle(levels=_SWITCH),
    ),
    (("aliyuncs.com",), r"qwen|glm|deepseek|kimi", EffortStyle(field="enable_thinking", levels=_SWITCH)),
    (("api.cerebras.ai",), r"gpt-oss", EffortStyle(levels=_THREE)),
    (("amazonaws.com",), r".*gpt-oss", EffortStyle(levels=_THREE)),
    (("ollama",), r"gpt-oss", EffortStyle(levels=_THREE)),
    (("ollama",), r".", EffortStyle(levels=_FOUR)),
    (("lmstudio",), r".", EffortStyle(levels=_FOUR)),
    (("local",), r"gpt-oss", EffortStyle(field="template_effort", levels=_THREE)),
    (("local",), r"qwen-?3|qwq|glm", EffortStyle(field="template_enable_thinking", levels=_SWITCH)),
    (("local",), r"deepseek-(v3\.[1-9]|v[4-9])|kimi-k2\.[5-9]", EffortStyle(field="template_thinking", levels=_SWITCH)),
)
_NOTHING = EffortStyle(levels=())
# Models without reasoning, on every server.
_WITHOUT = LazyRegex(
    r"gpt-(3|4)|chatgpt-4o|llama|codestral|devstral|pixtral|gemma-?[123]\b|claude-(2|instant|3-)|phi-?[1-4]$"
)


def find_effort_style(server: str, host: str, model: str, *, local: bool) -> EffortStyle:
    """How a model is told how hard to think.

    Args:
        server: the name of the preset, "" for none. model: its name as the server knows it.
        local: whether the server is the user's own, so that it is one of those that run open models.
    """
    name = model.lower().rsplit("/", 1)[-1]
    if _WITHOUT.match(name):
        return _NOTHING
    kinds = {server, "local"} if local or server in ("vllm", "llamacpp", "sglang") else {server}
    named = False
    for servers, pattern, style in _TABLE:
        if kinds.isdisjoint(servers) and not host.endswith(servers):
            continue
        named = named or servers != ("local",)
        if re.match(pattern, name):
            return style
    return _NOTHING if named else EffortStyle()


class ServerQuirks(Struct, frozen=True, kw_only=True):
    """How a server's dialect differs from the common one."""

    max_tokens_field: str = "max_tokens"
    stream_usage: bool = True
    """Whether `stream_options` may be sent; where not, usage comes unasked."""
    effort_none_with_tools: bool = False
    """Whether requests with tools say `reasoning_effort: "none"`: only where a server asked; others refuse."""
    effort_none_refused: bool = False
    """Whether the server refused it once it was sent; it is then never sent again."""
    effort: EffortStyle = EffortStyle()
    """How the server is told how hard to think."""
    echo_reasoning: bool = False
    """Whether the server wants `reasoning_content` back with every tool call, and refuses calls without it."""
    echo_field: bool = False
    """Whether the model's template reads earlier reasoning, to be sent back in the field it came in."""
    echo_details: bool = False
    """Whether the server wants `reasoning_details` back as they came."""
    cache_key: bool = False
    """Whether the server takes `prompt_cache_key`; many refuse fields they do not know."""
    cache_points: bool = False
    """Whether the server passes `cache_control` on to a model that reads it."""
    refused: tuple[str, ...] = ()
    """Fields beyond the common ones that the server refused; they are not sent again."""
    thought_signatures: bool = False
    """Gemini wants the signature of each first tool call back; one that it cannot read is among the refused."""
    null_content: bool = True
    """Whether an answer of calls alone says `content: null`, as most want it; else "": llama.cpp's Python server."""


class ServerPreset(Struct, frozen=True, kw_only=True):
    """A named server. `default_model` is None where the user must choose, or the server has its own one.

    base_url: "" where it depends on a resource, a region or a project; see `clouds`.
    key_variable: where its maker's own tools look for the key. other_key_variables: further ones, in their order.
    found_by_key: whether that variable alone chooses this server where nothing is configured; not where it is set for
        other purposes as well. A server whose address depends on more is chosen only where that is known too.
    url_variable: where its maker's own tools look for another address.
    host_suffixes: what host names of this server end in, besides the one of base_url.
    """

    name: str
    base_url: str
    key_variable: str = ""
    other_key_variables: tuple[str, ...] = ()
    key_required: bool = True
    found_by_key: bool = True
    url_variable: str = ""
    host_suffixes: tuple[str, ...] = ()
    key_scheme: "Scheme" = "bearer"
    default_model: str | None = None
    protocol: ProtocolName = "chat"
    quirks: ServerQuirks = ServerQuirks()

    @property
    def key_variables(self) -> tuple[str, ...]:
        """All variables that may hold the key, in the order in which they are looked at."""
        return (self.key_variable, *self.other_key_variables) if self.key_variable else ()

    def find_key(self, env: Mapping[str, str]) -> tuple[str, str]:
        """The variable that holds the key, and the key; the first variable and "" where none does."""
        found = ((name, env.get(name, "").strip()) for name in self.key_variables)
        return next((pair for pair in found if pair[1]), (self.key_variable, ""))


class ModelProfile(Struct, frozen=True, kw_only=True):
    """A model's size in tokens."""

    context_window: int
    max_output_tokens: int


PRESETS: tuple[ServerPreset, ...] = (
    # The order is that in which keys are looked for in the environment.
    ServerPreset(
        name="openai",
        base_url="https://api.openai.com/v1",
        key_variable="OPENAI_API_KEY",
        default_model="gpt-6-sol",
        protocol="responses",
        quirks=ServerQuirks(max_tokens_field="max_completion_tokens"),
    ),
    ServerPreset(
        name="anthropic",
        base_url="https://api.anthropic.com/v1",
        key_variable="ANTHROPIC_API_KEY",
        other_key_variables=("ANTHROPIC_AUTH_TOKEN",),
        url_variable="ANTHROPIC_BASE_URL",
        default_model="claude-sonnet-5-5",
        protocol="messages",
    ),
    ServerPreset(
        name="gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_variable="GEMINI_API_KEY",
        other_key_variables=("GOOGLE_API_KEY",),
        default_model="gemini-3.6-flash",
        quirks=ServerQuirks(thought_signatures=True),
    ),
    ServerPreset(
        name="openrouter",
        base_url="https://openrouter.ai/api/v1",
        key_variable="OPENROUTER_API_KEY",
        default_model="openrouter/auto",
    ),
    ServerPreset(
        name="deepseek",
        base_url="https://api.deepseek.com/v1",
        key_variable="DEEPSEEK_API_KEY",
        default_model="deepseek-v4-flash",
        quirks=ServerQuirks(echo_reasoning=True),
    ),
    ServerPreset(
        name="mistral",
        base_url="https://api.mistral.ai/v1",
        key_variable="MISTRAL_API_KEY",
        default_model="mistral-medium-latest",
        quirks=ServerQuirks(stream_usage=False),
    ),
    ServerPreset(
        name="groq",
        base_url="https://api.groq.com/openai/v1",
        key_variable="GROQ_API_KEY",
        default_model="openai/gpt-oss-120b",
    ),
    ServerPreset(
        name="xai",
        base_url="https://api.x.ai/v1",
        key_variable="XAI_API_KEY",
        default_model="grok-4.5",
    ),
    ServerPreset(
        name="moonshot",
        base_url="https://api.moonshot.ai/v1",
        key_variable="MOONSHOT_API_KEY",
        host_suffixes=(".moonshot.cn",),
        default_model="kimi-k3",
    ),
    ServerPreset(
        name="zai",
        base_url="https://api.z.ai/api/paas/v4",
        key_variable="ZAI_API_KEY",
        other_key_variables=("Z_AI_API_KEY",),
        default_model="glm-5.2",
    ),
    ServerPreset(
        name="minimax",
        base_url="https://api.minimax.io/v1",
        key_variable="MINIMAX_API_KEY",
        host_suffixes=(".minimaxi.com",),
        default_model="MiniMax-M3",
    ),
    ServerPreset(
        name="azure",
        base_url="",
        key_variable="AZURE_OPENAI_API_KEY",
        url_variable="AZURE_OPENAI_ENDPOINT",
        host_suffixes=(
            ".openai.azure.com",
            ".services.ai.azure.com",
            ".cognitiveservices.azure.com",
            ".openai.azure.us",
        ),
        key_scheme="api-key",
        protocol="responses",
        quirks=ServerQuirks(max_tokens_field="max_completion_tokens"),
    ),
    ServerPreset(
        name="bedrock",
        base_url="",
        key_variable="AWS_BEARER_TOKEN_BEDROCK",
        url_variable="AWS_BEDROCK_BASE_URL",
        default_model="global.openai.gpt-6-sol",
        protocol="responses",
        quirks=ServerQuirks(max_tokens_field="max_completion_tokens"),
    ),
    ServerPreset(
        name="vertex",
        base_url="",
        key_variable="CLOUDSDK_AUTH_ACCESS_TOKEN",
        found_by_key=False,
        host_suffixes=("aiplatform.googleapis.com",),
        default_model="google/gemini-3.6-flash",
        quirks=ServerQuirks(thought_signatures=True),
    ),
    ServerPreset(
        name="github-models",
        base_url="https://models.github.ai/inference",
        key_variable="GITHUB_TOKEN",
        other_key_variables=("GH_TOKEN",),
        found_by_key=False,
        default_model="openai/gpt-5.4",
    ),
    ServerPreset(
        name="ollama", base_url="http://localhost:11434/v1", key_variable="OLLAMA_API_KEY", key_required=False
    ),
    ServerPreset(
        name="lmstudio", base_url="http://localhost:1234/v1", key_variable="LMSTUDIO_API_KEY", key_required=False
    ),
    ServerPreset(
        name="llamacpp", base_url="http://localhost:8080/v1", key_variable="LLAMA_API_KEY", key_required=False
    ),
    ServerPreset(name="vllm", base_url="http://localhost:8000/v1", key_variable="VLLM_API_KEY", key_required=False),
)

# First match wins; names are matched in lower case, after a maker's prefix ("openai/", "models/") is cut off.
_PROFILES: tuple[tuple[str, ModelProfile], ...] = tuple(
    (pattern, ModelProfile(context_window=window, max_output_tokens=output))
    for pattern, window, output in (
        # 1,050,000 are possible, but above 272,000 the whole request costs double.
        (r"gpt-(6|5\.[4-9])(?!.*nano)", 272_000, 128_000),
        (r"gpt-5.*chat", 128_000, 16_384),
        (r"gpt-5", 272_000, 128_000),
        (r"gpt-4\.1", 1_047_576, 32_768),
        (r"(gpt-4o|chatgpt-4o)", 128_000, 16_384),
        (r"gpt-4-turbo", 128_000, 4_096),
        (r"gpt-4-32k", 32_768, 4_096),
        (r"gpt-4", 8_192, 4_096),
        (r"gpt-3\.5", 16_385, 4_096),
        (r"gpt-oss", 131_072, 65_536),
        (r"o[134](-|$)", 200_000, 100_000),
        (r"claude-(fable|mythos|(opus|sonnet)-(5|4-[6-9]|4\.[6-9]))", 1_000_000, 128_000),
        (r"claude-(opus|sonnet|haiku)-[45]", 200_000, 64_000),
        (r"claude-3[-.]7", 200_000, 64_000),
        (r"claude", 200_000, 8_192),
        (r"gemini-(1\.5|2\.0)", 1_048_576, 8_192),
        (r"gemini", 1_048_576, 65_536),
        (r"gemma-[34]", 128_000, 8_192),
        (r"deepseek-(v4|flash|pro)", 1_000_000, 384_000),
        (r"deepseek", 128_000, 8_192),
        (r"(mistral|magistral)-(medium|large)|devstral|codestral", 256_000, 32_768),
        (r"(mistral|ministral|magistral|pixtral)", 128_000, 32_768),
        (r"grok-4\.5", 500_000, 64_000),
        (r"grok-4\.(3|20)", 1_000_000, 64_000),
        (r"grok-(4\.\d|4-fast|code|build)", 256_000, 64_000),
        (r"grok", 131_072, 32_768),
        (r"kimi-k[3-9]", 1_048_576, 131_072),
        (r"kimi-k2", 262_144, 32_768),
        (r"glm-(5\.[2-9]|[6-9])", 1_048_576, 131_072),
        (r"glm-(4\.[6-9]|5)", 200_000, 128_000),
        (r"minimax-m[3-9]", 1_000_000, 131_072),
        (r"minimax-m2", 204_800, 131_072),
        (r"glm", 128_000, 32_768),
        (r"qwen3(\.\d)?-(coder|next|max|plus)", 262_144, 65_536),
        (r"qwen3", 131_072, 32_768),
        (r"qwen", 32_768, 8_192),
        (r"llama-?4", 131_072, 32_768),
        (r"llama-?3\.[1-3]", 131_072, 32_768),
        (r"llama", 8_192, 4_096),
        (r"phi-?4", 16_384, 4_096),
    )
)
_BEDROCK_HOST = LazyRegex(r"bedrock-(runtime(-fips)?|mantle)\.[a-z0-9-]+\.(amazonaws\.com(\.cn)?|api\.aws)")
_COMPLETION_TOKENS = LazyRegex(r"(gpt-[5-9]|o[134](-|$))")


def find_preset(name: str) -> ServerPreset | None:
    """The preset of that name, in any case."""
    return next((preset for preset in PRESETS if preset.name == name.lower()), None)


def find_preset_by_url(base_url: str) -> ServerPreset | None:
    """The hosted preset whose host the address names; local ones share theirs and are never recognised by it."""
    host = url_host(base_url)
    return next(
        (
            preset
            for preset in PRESETS
            if preset.key_required
            and ((preset.base_url and url_host(preset.base_url) == host) or is_own_host(preset, host))
        ),
        None,
    )


def is_own_host(preset: ServerPreset, host: str) -> bool:
    """Whether a host name ends as those of this server do."""
    if preset.name == "bedrock":
        return bool(_BEDROCK_HOST.fullmatch(host))
    return any(host == suffix.lstrip(".") or host.endswith(suffix) for suffix in preset.host_suffixes)


def find_profile(model: str) -> ModelProfile | None:
    """What is known about a model of that name, whoever serves it."""
    name = _bare(model)
    # All begin with their first letter or with "(": the others are not even compiled.
    near = (each for each in _PROFILES if each[0][0] in ("(", name[:1]))
    return next((profile for pattern, profile in near if re.match(pattern, name)), None)


# Hosts by what they end in. Sources: the makers' pages on prompt caching, read in November 2026.
_CACHE_KEY = (
    "api.openai.com",
    ".openai.azure.com",
    ".cognitiveservices.azure.com",
    ".services.ai.azure.com",
    "openrouter.ai",
    "api.mistral.ai",
    "api.moonshot.ai",
    "api.moonshot.cn",
    "api.cerebras.ai",
    "api.deepinfra.com",
    "api.fireworks.ai",
)
_ROUTERS = ("openrouter.ai", "ai-gateway.vercel.sh")
_DETAILS = (*_ROUTERS, "api.minimax.io", "api.minimaxi.com")
_WANT_REASONING = (
    "api.deepseek.com",
    "api.moonshot.ai",
    "api.moonshot.cn",
    "api.kimi.com",
    "api.z.ai",
    "open.bigmodel.cn",
)
_CACHED_BY_POINTS = LazyRegex(r"claude|gemini")
# Chat templates that put the reasoning of earlier steps before the calls it led to.
_READS_REASONING = LazyRegex(r"deepseek|kimi|glm|minimax|qwen-?3|qwq|gpt-oss|mimo|step-")


def find_quirks(preset: ServerPreset | None, base_url: str, model: str) -> ServerQuirks:
    """The dialect to begin with; a server that refuses a field teaches the rest."""
    quirks = preset.quirks if preset else ServerQuirks()
    name, host = _bare(model), url_host(base_url)
    if host.endswith(("openai.com", ".openai.azure.com", ".cognitiveservices.azure.com")):
        limit = "max_completion_tokens" if _COMPLETION_TOKENS.match(name) else "max_tokens"
        quirks = ServerQuirks(max_tokens_field=limit)
    return structs.replace(
        quirks,
        effort=find_effort_style(preset.name if preset else "", host, model, local=is_local_host(host)),
        echo_reasoning=quirks.echo_reasoning or (host.endswith(_WANT_REASONING) and not name.startswith("moonshot-v1")),
        echo_field=quirks.echo_field or bool(_READS_REASONING.match(name)),
        echo_details=quirks.echo_details or host.endswith(_DETAILS),
        thought_signatures=quirks.thought_signatures or (host.endswith("googleapis.com") and name.startswith("gemini")),
        cache_key=quirks.cache_key or host.endswith(_CACHE_KEY),
        cache_points=quirks.cache_points or (host.endswith(_ROUTERS) and bool(_CACHED_BY_POINTS.match(name))),
    )


_UNWANTED = LazyRegex(
    r"unsupported|not supported|extra_forbidden|extra inputs|not permitted|unrecognized|unknown|unexpected|not allowed",
    re.IGNORECASE,
)

_EFFORT = LazyRegex(r"reasoning[_. ]effort", re.IGNORECASE)
_NONE = LazyRegex(r"\bnone\b", re.IGNORECASE)
_ASKS_FOR_NONE = LazyRegex(r"(?:\bor|\.|please|,)\s+set\W+reasoning[_. ]effort\W+to\W+none", re.IGNORECASE)
_NO_NULL = LazyRegex(r"AssistantMessage\W+content\b.{0,80}valid string", re.DOTALL)


EXTRA_FIELDS = (
    "prompt_cache_key",
    "cache_control",
    "reasoning_details",
    "reasoning_content",
    "reasoning_split",
    "clear_thinking",
    "keep",
)
"""Fields that only some servers know, and that are left out once a server has refused them."""


_BAD_REASONING = LazyRegex(
    r"invalid.{0,20}signature|signature.{0,60}(?:invalid|not valid|corrupt|expired|mismatch)"
    r"|thinking.{0,40}blocks?.{0,80}(?:cannot be modified|must remain)"
    r"|encrypted.?content.{0,120}could not be (?:verified|decrypted|parsed)",
    re.IGNORECASE | re.DOTALL,
)


def find_refused_field(quirks: ServerQuirks, refusal: str) -> str | None:
    """The field that a refusal does not know or cannot read, None where it is not one of EXTRA_FIELDS."""
    if _BAD_REASONING.search(refusal):
        field = "thought_signature" if quirks.thought_signatures else "reasoning_details"
        return None if field in quirks.refused else field
    if not _UNWANTED.search(refusal):
        return None
    named = (field for field in EXTRA_FIELDS if re.search(rf"\b{field}\b", refusal))
    return next((field for field in named if field not in quirks.refused), None)


def learn_quirks(quirks: ServerQuirks, refusal: str) -> ServerQuirks | None:
    """The dialect after a refusal that names what it did not like, or None where nothing can be learned from it."""
    if _EFFORT.search(refusal):
        if quirks.effort_none_with_tools and not _ASKS_FOR_NONE.search(refusal):
            return structs.replace(quirks, effort_none_with_tools=False, effort_none_refused=True)
        if _NONE.search(refusal) and not (quirks.effort_none_with_tools or quirks.effort_none_refused):
            return structs.replace(quirks, effort_none_with_tools=True)
    if "thought_signature" in refusal and not quirks.thought_signatures:
        return structs.replace(quirks, thought_signatures=True)
    if "reasoning_content" in refusal and not (quirks.echo_reasoning or "reasoning_content" in quirks.refused):
        return structs.replace(quirks, echo_reasoning=True)
    if _NO_NULL.search(refusal) and quirks.null_content:
        return structs.replace(quirks, null_content=False)
    if not _UNWANTED.search(refusal):
        return None
    if "stream_options" in refusal and quirks.stream_usage:
        return structs.replace(quirks, stream_usage=False)
    if "max_tokens" in refusal and "max_completion_tokens" in refusal and quirks.max_tokens_field == "max_tokens":
        return structs.replace(quirks, max_tokens_field="max_completion_tokens")
    if "max_completion_tokens" in refusal and "'max_tokens'" not in refusal and quirks.max_tokens_field != "max_tokens":
        return structs.replace(quirks, max_tokens_field="max_tokens")
    return None


_BEDROCK_PREFIX = LazyRegex(
    r"(?:[a-z-]{2,8}\.)?(?:openai|anthropic|amazon|deepseek|google|meta|minimax|mistral|moonshotai|qwen|xai|zai)\.(?=[a-z])"
)


def _bare(model: str) -> str:
    """The name without a maker's prefix, as OpenRouter ("openai/") and Bedrock ("us.anthropic.") put before it."""
    name = model.lower().rsplit("/", 1)[-1]
    found = _BEDROCK_PREFIX.match(name) if "." in name else None
    return name[found.end() :] if found else name
