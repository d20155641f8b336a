"""Each server gets the reasoning effort in its own field."""

from typing import Any

from clio.providers.effort import EffortLevels
from clio.providers.profiles import find_effort_style, find_preset, find_preset_by_url, find_quirks
from tests.support.rows import each_row

GLM = {"type": "enabled", "clear_thinking": False}
ON, OFF = {"type": "enabled"}, {"type": "disabled"}
OPENROUTER, GEMINI = "https://openrouter.ai/api/v1", "https://generativelanguage.googleapis.com/v1beta/openai"
DEEPSEEK, ZAI, MOONSHOT = "https://api.deepseek.com/v1", "https://api.z.ai/api/paas/v4", "https://api.moonshot.ai/v1"
MINIMAX, XAI, GROQ = "https://api.minimax.io/v1", "https://api.x.ai/v1", "https://api.groq.com/openai/v1"
MISTRAL, ALIBABA = "https://api.mistral.ai/v1", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"
VLLM = "http://localhost:8000/v1"


def fields(url: str, model: str, wanted: str, preset: str = "") -> dict[str, Any]:
    """Return the fields of a request for this effort."""
    style = find_quirks(find_preset(preset) if preset else find_preset_by_url(url), url, model).effort
    return style.options(EffortLevels(model, {}, style.levels).choose(wanted))


@each_row(
    ("url", "model", "wanted", "sent"),
    [
        ("https://api.openai.com/v1", "gpt-6-sol", "xhigh", {"reasoning_effort": "xhigh"}),
        ("https://api.openai.com/v1", "gpt-6-sol", "none", {"reasoning_effort": "none"}),
        ("https://api.openai.com/v1", "gpt-4o", "high", {}),
        ("https://me.openai.azure.com/openai/v1", "gpt-5", "minimal", {"reasoning_effort": "minimal"}),
        (OPENROUTER, "anthropic/claude-sonnet-5", "medium", {"reasoning": {"effort": "medium"}}),
        (OPENROUTER, "x-ai/grok-4.6", "none", {"reasoning": {"effort": "none"}}),
        ("https://ai-gateway.vercel.sh/v1", "openai/gpt-6", "high", {"reasoning": {"effort": "high"}}),
        (GEMINI, "gemini-3.6-flash", "minimal", {"reasoning_effort": "minimal"}),
        (GEMINI, "gemini-3.6-flash", "none", {"reasoning_effort": "minimal"}),
        (GEMINI, "gemini-3.1-pro-preview", "none", {"reasoning_effort": "low"}),
        (GEMINI, "gemini-2.5-flash", "none", {"reasoning_effort": "none"}),
        (GEMINI, "gemini-2.5-pro", "max", {"reasoning_effort": "high"}),
        (GEMINI, "gemini-2.0-flash", "high", {}),
        (DEEPSEEK, "deepseek-v4-flash", "medium", {"thinking": ON, "reasoning_effort": "medium"}),
        (DEEPSEEK, "deepseek-v4-flash", "max", {"thinking": ON, "reasoning_effort": "max"}),
        (DEEPSEEK, "deepseek-v4-flash", "none", {"thinking": OFF}),
        (DEEPSEEK, "deepseek-v4-flash", "auto", {}),
        (ZAI, "glm-5.3", "medium", {"thinking": GLM, "reasoning_effort": "low"}),
        (ZAI, "glm-5.3", "none", {"thinking": GLM, "reasoning_effort": "low"}),
        (ZAI, "glm-5.2", "medium", {"thinking": GLM, "reasoning_effort": "medium"}),
        (ZAI, "glm-4.7", "high", {"thinking": GLM}),
        (ZAI, "glm-4.7", "auto", {"thinking": GLM}),
        (ZAI, "glm-4.7", "none", {"thinking": OFF}),
        (ZAI, "glm-4.5-air", "auto", {}),
        (ZAI, "glm-4.5-air", "low", {"thinking": ON}),
        (MOONSHOT, "kimi-k3", "xhigh", {"reasoning_effort": "high"}),
        (MOONSHOT, "kimi-k2.6", "auto", {"thinking": {"type": "enabled", "keep": "all"}}),
        (MOONSHOT, "kimi-k2.6", "none", {"thinking": OFF}),
        (MOONSHOT, "kimi-k2.5", "high", {"thinking": ON}),
        (MOONSHOT, "kimi-k2-thinking", "high", {}),
        (MINIMAX, "MiniMax-M3", "auto", {"reasoning_split": True}),
        (MINIMAX, "MiniMax-M3", "high", {"reasoning_split": True, "thinking": {"type": "adaptive"}}),
        (MINIMAX, "MiniMax-M3", "none", {"thinking": OFF}),
        (MINIMAX, "MiniMax-M2.7", "none", {"reasoning_split": True}),
        (XAI, "grok-4.6", "max", {"reasoning_effort": "xhigh"}),
        (XAI, "grok-4.5", "xhigh", {"reasoning_effort": "high"}),
        (XAI, "grok-4.3", "none", {"reasoning_effort": "none"}),
        (XAI, "grok-4-fast-reasoning", "high", {}),
        (XAI, "grok-code-fast-1", "high", {}),
        (GROQ, "openai/gpt-oss-120b", "xhigh", {"reasoning_effort": "high"}),
        (GROQ, "openai/gpt-oss-120b", "none", {"reasoning_effort": "low"}),
        (GROQ, "qwen/qwen3-32b", "none", {"reasoning_effort": "none"}),
        (GROQ, "qwen/qwen3-32b", "low", {"reasoning_effort": "default"}),
        (GROQ, "llama-3.3-70b-versatile", "high", {}),
        (MISTRAL, "mistral-medium-latest", "medium", {"reasoning_effort": "high"}),
        (MISTRAL, "mistral-medium-latest", "none", {"reasoning_effort": "none"}),
        (MISTRAL, "codestral-latest", "high", {}),
        (ALIBABA, "qwen3-max", "none", {"enable_thinking": False}),
        (VLLM, "Qwen/Qwen3-32B", "none", {"chat_template_kwargs": {"enable_thinking": False}}),
        (VLLM, "zai-org/GLM-4.6", "high", {"chat_template_kwargs": {"enable_thinking": True}}),
        (VLLM, "deepseek-ai/DeepSeek-V3.1", "high", {"chat_template_kwargs": {"thinking": True}}),
        (VLLM, "meta-llama/Llama-3.3-70B", "high", {}),
        (VLLM, "some-model", "high", {"reasoning_effort": "high"}),
        ("https://llm.example.com/v1", "some-model", "high", {"reasoning_effort": "high"}),
    ],
)
def test_the_effort_field_of_each_server(url: str, model: str, wanted: str, sent: dict[str, Any]) -> None:
    assert fields(url, model, wanted) == sent


@each_row(
    ("preset", "model", "wanted", "sent"),
    [
        (
            "llamacpp",
            "gpt-oss-20b",
            "high",
            {"reasoning_effort": "high", "chat_template_kwargs": {"reasoning_effort": "high"}},
        ),
        ("vllm", "Qwen/Qwen3-32B", "auto", {}),
        ("ollama", "qwen3:8b", "none", {"reasoning_effort": "none"}),
        ("ollama", "gpt-oss:20b", "none", {"reasoning_effort": "low"}),
        ("lmstudio", "qwen/qwen3-8b", "max", {"reasoning_effort": "high"}),
    ],
)
def test_the_effort_field_of_servers_of_the_user(preset: str, model: str, wanted: str, sent: dict[str, Any]) -> None:
    named = find_preset(preset)
    assert named is not None
    assert fields(named.base_url, model, wanted, preset) == sent


def test_only_the_level_none_turns_thinking_off() -> None:
    """No other level does, whatever a server accepts."""
    for url in (OPENROUTER, GEMINI, DEEPSEEK, ZAI, MOONSHOT, MINIMAX, XAI, GROQ, MISTRAL, ALIBABA, VLLM):
        for model in ("qwen3-32b", "glm-4.7", "kimi-k2.6", "MiniMax-M3", "grok-4.3", "gpt-oss-20b", "gemini-2.5-flash"):
            for wanted in ("minimal", "low", "medium", "high", "xhigh", "max"):
                sent = fields(url, model, wanted)
                assert "none" not in (sent.get("reasoning_effort"), (sent.get("reasoning") or {}).get("effort"))
                assert sent.get("thinking") != OFF
                assert not any(value is False for value in (sent.get("chat_template_kwargs") or {}).values())


def test_a_refused_template_argument_is_omitted_and_reported() -> None:
    style = find_effort_style("", "localhost", "qwen3", local=True)
    levels = EffortLevels("qwen3", {}, style.levels)
    assert levels.choose("high") == "high"
    notice = levels.adapt("extra fields not permitted: chat_template_kwargs")
    assert notice is not None
    assert "qwen3" in notice
    assert levels.choose("high") == ""
