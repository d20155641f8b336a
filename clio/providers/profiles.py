"""Built-in data about servers and models: presets, limits, dialects, and how each is told its reasoning effort."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, cast

from msgspec import Struct, structs

from clio.providers.base import EFFORTS, ProtocolName
from clio.providers.urls import is_local_host, url_host
from clio.text.lazy_regex import LazyRegex

if TYPE_CHECKING:
    from clio.providers.auth import Scheme


EffortField = Literal[  # the form in which a request states its effort
    "reasoning_effort",  # the level
    "none_or_default",  # reasoning_effort, with only "none" and "default"
    "reasoning",  # {"effort": level}
    "thinking",  # {"type": "enabled" or "disabled"}
    "thinking_adaptive",  # {"type": "adaptive" or "disabled"}
    "thinking_and_effort",  # {"type": …}, and reasoning_effort unless thinking is disabled
    "enable_thinking",  # true or false
    "template_enable_thinking",  # the same, as an argument of the chat template
    "template_thinking",  # the same under another name
    "template_effort",  # reasoning_effort, also as an argument of the chat template
]
_ON_OFF = ("none", "high")  # for models that either think or do not
_THREE_LEVELS = ("low", "medium", "high")
_FOUR_LEVELS = ("none", *_THREE_LEVELS)


class EffortStyle(Struct, frozen=True, kw_only=True):
    """How a model on a server is told its effort: the field, and the supported levels; () if there is no choice.

    always: fields for every request that does not disable thinking.
    """

    field: EffortField = "reasoning_effort"
    levels: tuple[str, ...] = EFFORTS
    always: Mapping[str, object] = {}

    def options(self, level: str) -> dict[str, object]:
        """Return the fields of a request at this level; "" is the server's default."""
        thinks = level != "none"
        fields = dict(self.always) if thinks else {}
        if not level:
            return fields
        match self.field:
            case "reasoning_effort":
                return {**fields, "reasoning_effort": level}
            case "none_or_default":
                return {**fields, "reasoning_effort": "default" if thinks else "none"}
            case "reasoning":
                return {**fields, "reasoning": {"effort": level}}
            case "thinking":
                return {**fields, "thinking": self._build_thinking("enabled" if thinks else "disabled")}
            case "thinking_adaptive":
                return {**fields, "thinking": self._build_thinking("adaptive" if thinks else "disabled")}
            case "thinking_and_effort":
                fields = {**fields, "thinking": self._build_thinking("enabled" if thinks else "disabled")}
                return {**fields, "reasoning_effort": level} if thinks else fields
            case "enable_thinking":
                return {**fields, "enable_thinking": thinks}
            case "template_enable_thinking":
                return {**fields, "chat_template_kwargs": {"enable_thinking": thinks}}
            case "template_thinking":
                return {**fields, "chat_template_kwargs": {"thinking": thinks}}
            case "template_effort":
                return {**fields, "reasoning_effort": level, "chat_template_kwargs": {"reasoning_effort": level}}

    def _build_thinking(self, kind: str) -> dict[str, object]:
        always: Mapping[str, object] = {}
        if kind != "disabled":
            always = cast("Mapping[str, object]", self.always.get("thinking", always))
        return {**always, "type": kind}


_KEEP_GLM = {"thinking": {"type": "enabled", "clear_thinking": False}}  # otherwise earlier reasoning is ignored
_KEEP_KIMI = {"thinking": {"type": "enabled", "keep": "all"}}
_SPLIT = {"reasoning_split": True}  # otherwise the reasoning is sent inside the text, between tags

# Servers by preset name or by the end of their host name; models by pattern, in lower case and without the maker's
# prefix. The first match wins. A model without a row, on a server with rows, has no effort setting.
_EFFORT_STYLES: tuple[tuple[tuple[str, ...], str, EffortStyle], ...] = (
    (("openrouter.ai", "ai-gateway.vercel.sh"), r".", EffortStyle(field="reasoning")),
    (
        ("generativelanguage.googleapis.com",),
        r"gemini-2\.5-flash",
        EffortStyle(levels=("none", "minimal", *_THREE_LEVELS)),
    ),
    (("generativelanguage.googleapis.com",), r"gemini-3(\.\d)?-flash", EffortStyle(levels=("minimal", *_THREE_LEVELS))),
    (("generativelanguage.googleapis.com",), r"gemini-(2\.5|[3-9])", EffortStyle(levels=_THREE_LEVELS)),
    (("aiplatform.googleapis.com",), r"gemini-(2\.5|[3-9])", EffortStyle(levels=_THREE_LEVELS)),
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
        EffortStyle(field="thinking", levels=_ON_OFF, always=_KEEP_GLM),
    ),
    (("api.z.ai", "open.bigmodel.cn"), r"glm-4\.[56]", EffortStyle(field="thinking", levels=_ON_OFF)),
    (("api.moonshot.ai", "api.moonshot.cn"), r"kimi-k[3-9]", EffortStyle(levels=("low", "high", "max"))),
    (
        ("api.moonshot.ai", "api.moonshot.cn"),
        r"kimi-k2\.6",
        EffortStyle(field="thinking", levels=_ON_OFF, always=_KEEP_KIMI),
    ),
    (("api.moonshot.ai", "api.moonshot.cn"), r"kimi-k2\.5", EffortStyle(field="thinking", levels=_ON_OFF)),
    (
        ("api.minimax.io", "api.minimaxi.com"),
        r"minimax-m[3-9]",
        EffortStyle(field="thinking_adaptive", levels=_ON_OFF, always=_SPLIT),
    ),
    (("api.minimax.io", "api.minimaxi.com"), r"minimax-m", EffortStyle(levels=(), always=_SPLIT)),
    (("api.x.ai",), r"grok-(3-mini|4\.5)", EffortStyle(levels=_THREE_LEVELS)),
    (("api.x.ai",), r"grok-4\.3", EffortStyle(levels=_FOUR_LEVELS)),
    (("api.x.ai",), r"grok-(4\.20-multi-agent|4\.[6-9]|[5-9])", EffortStyle(levels=(*_THREE_LEVELS, "xhigh"))),
    (("api.groq.com",), r"gpt-oss", EffortStyle(levels=_THREE_LEVELS)),
    (("api.groq.com",), r"qwen", EffortStyle(field="none_or_default", levels=_ON_OFF)),
    (
        ("api.mistral.ai",),
        r"mistral-(small|medium)-(latest|2[6-9]|3[.-]5|[4-9])|magistral",
        EffortStyle(levels=_ON_OFF),
    ),
    (("aliyuncs.com",), r"qwen|glm|deepseek|kimi", EffortStyle(field="enable_thinking", levels=_ON_OFF)),
    (("api.cerebras.ai",), r"gpt-oss", EffortStyle(levels=_THREE_LEVELS)),
    (("amazonaws.com",), r".*gpt-oss", EffortStyle(levels=_THREE_LEVELS)),
    (("ollama",), r"gpt-oss", EffortStyle(levels=_THREE_LEVELS)),
    (("ollama",), r".", EffortStyle(levels=_FOUR_LEVELS)),
    (("lmstudio",), r".", EffortStyle(levels=_FOUR_LEVELS)),
    (("local",), r"gpt-oss", EffortStyle(field="template_effort", levels=_THREE_LEVELS)),
    (("local",), r"qwen-?3|qwq|glm", EffortStyle(field="template_enable_thinking", levels=_ON_OFF)),
    (("local",), r"deepseek-(v3\.[1-9]|v[4-9])|kimi-k2\.[5-9]", EffortStyle(field="template_thinking", levels=_ON_OFF)),
)
_NO_EFFORT = EffortStyle(levels=())
# Models without reasoning on every server.
_MODELS_WITHOUT_REASONING = LazyRegex(
    r"gpt-(3|4)|chatgpt-4o|llama|codestral|devstral|pixtral|gemma-?[123]\b|claude-(2|instant|3-)|phi-?[1-4]$",
    starts="gpt-3 gpt-4 chatgpt-4o llama codestral devstral pixtral gemma claude- phi",
)


def find_effort_style(server: str, host: str, model: str, *, local: bool) -> EffortStyle:
    """Return how a model is told its effort.

    Args:
        server: the preset's name, "" for none.
        model: its name as the server knows it.
        local: whether the server is the user's own, so that it probably runs open models.
    """
    name = model.lower().rsplit("/", 1)[-1]
    if _MODELS_WITHOUT_REASONING.match(name):
        return _NO_EFFORT
    names = {server, "local"} if local or server in ("vllm", "llamacpp", "sglang") else {server}
    has_row = False
    for servers, pattern, style in _EFFORT_STYLES:
        if names.isdisjoint(servers) and not host.endswith(servers):
            continue
        has_row = has_row or servers != ("local",)
        if re.match(pattern, name):
            return style
    return _NO_EFFORT if has_row else EffortStyle()


class ServerQuirks(Struct, frozen=True, kw_only=True):
    """How a server's dialect of Chat Completions differs from the common one."""

    max_tokens_field: str = "max_tokens"
    stream_usage: bool = True
    """Whether `stream_options` may be sent; servers without it send usage anyway."""
    effort_none_with_tools: bool = False
    """Whether requests with tools contain `reasoning_effort: "none"`: a few servers require it, others reject it."""
    effort_none_refused: bool = False
    """Whether the server rejected that; it is then never sent again."""
    effort: EffortStyle = EffortStyle()
    """How the model is told its effort."""
    echo_reasoning: bool = False
    """Whether the server requires `reasoning_content` to be sent back with every tool call."""
    echo_field: bool = False
    """Whether the model's chat template reads earlier reasoning, which is sent back in the field it was received in."""
    echo_details: bool = False
    """Whether the server expects `reasoning_details` to be sent back unchanged."""
    cache_key: bool = False
    """Whether the server accepts `prompt_cache_key`; many servers reject unknown fields."""
    cache_points: bool = False
    """Whether the server passes `cache_control` to a model that supports it."""
    refused: tuple[str, ...] = ()
    """Fields beyond the common ones that the server rejected; they are not sent again."""
    thought_signatures: bool = False
    """Whether signatures of tool calls are sent back, as Gemini requires."""
    null_content: bool = True
    """Whether an answer with only tool calls has `content: null`, or "" as llama.cpp's Python server requires."""


class ServerPreset(Struct, frozen=True, kw_only=True):
    """A named server.

    Attributes:
        base_url: "" if it depends on a resource, region or project; see `find_cloud_address` in `registry`.
        default_model: None if the user must choose, or the server has a default.
        key_variable: the environment variable for the key, as in the maker's own tools.
        other_key_variables: further ones, in order.
        found_by_key: whether the key alone selects this server if nothing is configured; False if the variable is
            usually set for other purposes. A server that needs more than a key is selected only if that is set too.
        url_variable: the environment variable for another address, as in the maker's own tools.
        host_suffixes: ends of this server's host names, besides the host of base_url.
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
        """All variables that may contain the key, in the order in which they are read."""
        return (self.key_variable, *self.other_key_variables) if self.key_variable else ()

    def find_key(self, env: Mapping[str, str]) -> tuple[str, str]:
        """Return the variable with the key, and the key; the first variable and "" if none is set."""
        found = ((name, env.get(name, "").strip()) for name in self.key_variables)
        return next((pair for pair in found if pair[1]), (self.key_variable, ""))


class ModelProfile(Struct, frozen=True, kw_only=True):
    """A model's limits in tokens."""

    context_window: int
    max_output_tokens: int


PRESETS: tuple[ServerPreset, ...] = (
    # Keys are looked for in the environment in this order.
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

# First match wins. Names are compared in lower case, without a maker's prefix ("openai/", "models/").
_PROFILES: tuple[tuple[str, ModelProfile], ...] = tuple(
    (pattern, ModelProfile(context_window=window, max_output_tokens=output))
    for pattern, window, output in (
        # 1,050,000 are possible, but above 272,000 the whole request costs twice as much.
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
    """Return the preset with that name, in any case."""
    return next((preset for preset in PRESETS if preset.name == name.lower()), None)


def find_preset_by_url(base_url: str) -> ServerPreset | None:
    """Return the hosted preset of a URL. Local servers share one host, so they are never recognised by it."""
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
    """Whether a host name belongs to this server by its suffix."""
    if preset.name == "bedrock":
        return bool(_BEDROCK_HOST.fullmatch(host))
    return any(host == suffix.lstrip(".") or host.endswith(suffix) for suffix in preset.host_suffixes)


def find_profile(model: str) -> ModelProfile | None:
    """Return the limits of a model with that name, independent of the server."""
    name = _strip_maker(model)
    # Every pattern begins with its first letter or "(", so that the others need not be compiled.
    near = (each for each in _PROFILES if each[0][0] in ("(", name[:1]))
    return next((profile for pattern, profile in near if re.match(pattern, name)), None)


# Ends of host names. Sources: the makers' pages on prompt caching, read in November 2026.
_CACHE_KEY_HOSTS = (
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
_ROUTER_HOSTS = ("openrouter.ai", "ai-gateway.vercel.sh")
_REASONING_DETAIL_HOSTS = (*_ROUTER_HOSTS, "api.minimax.io", "api.minimaxi.com")
_REASONING_CONTENT_HOSTS = (
    "api.deepseek.com",
    "api.moonshot.ai",
    "api.moonshot.cn",
    "api.kimi.com",
    "api.z.ai",
    "open.bigmodel.cn",
)
_MODELS_WITH_CACHE_POINTS = ("claude", "gemini")
# Models whose chat templates put the reasoning of earlier steps before the calls that followed it.
_MODELS_READING_REASONING = tuple("deepseek kimi glm minimax qwen3 qwen-3 qwq gpt-oss mimo step-".split())


def find_quirks(preset: ServerPreset | None, base_url: str, model: str) -> ServerQuirks:
    """Return the dialect to begin with; rejected fields teach the rest."""
    quirks = preset.quirks if preset else ServerQuirks()
    name, host = _strip_maker(model), url_host(base_url)
    if host.endswith(("openai.com", ".openai.azure.com", ".cognitiveservices.azure.com")):
        limit = "max_completion_tokens" if _COMPLETION_TOKENS.match(name) else "max_tokens"
        quirks = ServerQuirks(max_tokens_field=limit)
    return structs.replace(
        quirks,
        effort=find_effort_style(preset.name if preset else "", host, model, local=is_local_host(host)),
        echo_reasoning=quirks.echo_reasoning
        or (host.endswith(_REASONING_CONTENT_HOSTS) and not name.startswith("moonshot-v1")),
        echo_field=quirks.echo_field or name.startswith(_MODELS_READING_REASONING),
        echo_details=quirks.echo_details or host.endswith(_REASONING_DETAIL_HOSTS),
        thought_signatures=quirks.thought_signatures or (host.endswith("googleapis.com") and name.startswith("gemini")),
        cache_key=quirks.cache_key or host.endswith(_CACHE_KEY_HOSTS),
        cache_points=quirks.cache_points
        or (host.endswith(_ROUTER_HOSTS) and name.startswith(_MODELS_WITH_CACHE_POINTS)),
    )


_UNSUPPORTED = LazyRegex(
    r"unsupported|not supported|extra_forbidden|extra inputs|not permitted|unrecognized|unknown|unexpected|not allowed",
    re.IGNORECASE,
)

_EFFORT = LazyRegex(r"reasoning[_. ]effort", re.IGNORECASE)
_NONE_LEVEL = LazyRegex(r"\bnone\b", re.IGNORECASE)
_ASKS_FOR_NONE = LazyRegex(r"(?:\bor|\.|please|,)\s+set\W+reasoning[_. ]effort\W+to\W+none", re.IGNORECASE)
_REFUSES_NULL = LazyRegex(r"AssistantMessage\W+content\b.{0,80}valid string", re.DOTALL)


EXTRA_FIELDS = (
    "prompt_cache_key",
    "cache_control",
    "reasoning_details",
    "reasoning_content",
    "reasoning_split",
    "clear_thinking",
    "keep",
    "stop",
)
"""Fields that only some servers support; they are left out once a server has rejected them."""


_REFUSES_REASONING = LazyRegex(
    r"invalid.{0,20}signature|signature.{0,60}(?:invalid|not valid|corrupt|expired|mismatch)"
    r"|thinking.{0,40}blocks?.{0,80}(?:cannot be modified|must remain)"
    r"|encrypted.?content.{0,120}could not be (?:verified|decrypted|parsed)",
    re.IGNORECASE | re.DOTALL,
)


def find_refused_field(quirks: ServerQuirks, refusal: str) -> str | None:
    """Return the field that a server rejects as unknown or invalid; None if it is not one of EXTRA_FIELDS."""
    if _REFUSES_REASONING.search(refusal):
        field = "thought_signature" if quirks.thought_signatures else "reasoning_details"
        return None if field in quirks.refused else field
    if not _UNSUPPORTED.search(refusal):
        return None
    named = (field for field in EXTRA_FIELDS if re.search(rf"\b{field}\b", refusal))
    return next((field for field in named if field not in quirks.refused), None)


def learn_quirks(quirks: ServerQuirks, refusal: str) -> ServerQuirks | None:
    """Return the dialect after a rejection that names its reason; None if nothing can be learned from it."""
    if _EFFORT.search(refusal):
        if quirks.effort_none_with_tools and not _ASKS_FOR_NONE.search(refusal):
            return structs.replace(quirks, effort_none_with_tools=False, effort_none_refused=True)
        if _NONE_LEVEL.search(refusal) and not (quirks.effort_none_with_tools or quirks.effort_none_refused):
            return structs.replace(quirks, effort_none_with_tools=True)
    if "thought_signature" in refusal and not quirks.thought_signatures:
        return structs.replace(quirks, thought_signatures=True)
    if "reasoning_content" in refusal and not (quirks.echo_reasoning or "reasoning_content" in quirks.refused):
        return structs.replace(quirks, echo_reasoning=True)
    if _REFUSES_NULL.search(refusal) and quirks.null_content:
        return structs.replace(quirks, null_content=False)
    if not _UNSUPPORTED.search(refusal):
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


def _strip_maker(model: str) -> str:
    """Return the name without a maker's prefix: "openai/" on OpenRouter, "us.anthropic." on Bedrock."""
    name = model.lower().rsplit("/", 1)[-1]
    found = _BEDROCK_PREFIX.match(name) if "." in name else None
    return name[found.end() :] if found else name
