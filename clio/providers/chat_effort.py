"""How Chat Completions servers are told how hard to think, each in its own field.

Sources, read in November 2026: the makers' pages on reasoning of OpenAI, OpenRouter, Vercel AI Gateway, Gemini (OpenAI
compatibility), DeepSeek, Z.ai, Moonshot, MiniMax, xAI, Groq, Mistral, Alibaba, vLLM, SGLang, llama.cpp and Ollama.
"""

import re
from collections.abc import Mapping
from typing import Literal, cast

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.providers.base import EFFORTS

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
_WITHOUT = LatePattern(
    r"gpt-(3|4)|chatgpt-4o|llama|codestral|devstral|pixtral|gemma-?[123]\b|claude-(2|instant|3-)|phi-?[1-4]$"
)


def effort_style(server: str, host: str, model: str, *, local: bool) -> EffortStyle:
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
