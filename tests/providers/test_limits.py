"""Context windows in the formats of servers."""

from typing import Any

import pytest

from clio.config.schema import Config, ModelSettings
from clio.providers.base import ModelLimits
from clio.providers.limits import (
    ReportedLimits,
    choose_limits,
    find_native_path,
    list_model_names,
    read_configured_limits,
    read_native_limits,
    read_reported_limits,
)
from clio.providers.profiles import (
    EffortStyle,
    ModelProfile,
    ServerQuirks,
    find_preset,
    find_preset_by_url,
    find_profile,
    find_quirks,
    learn_quirks,
)
from tests.support.rows import each_row


def listing(**row: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": "other"}, {"id": "m", **row}]}


@each_row(
    ("row", "expected"),
    [
        ({}, ReportedLimits()),
        ({"max_model_len": 8192}, ReportedLimits(window=8192)),
        (
            {"context_length": 65536, "top_provider": {"max_completion_tokens": 4096}},
            ReportedLimits(window=65536, output=4096),
        ),
        ({"top_provider": {"context_length": 65536, "max_completion_tokens": None}}, ReportedLimits(window=65536)),
        ({"context_window": 131072, "max_completion_tokens": 32768}, ReportedLimits(window=131072, output=32768)),
        ({"max_context_length": 32768}, ReportedLimits(window=32768)),
        ({"max_input_tokens": 200000, "max_tokens": 64000}, ReportedLimits(window=200000, output=64000)),
        ({"meta": {"n_ctx_train": 131072, "n_ctx": 4096}}, ReportedLimits(window=4096, trained=131072)),
        ({"meta": {"n_ctx_train": 131072}}, ReportedLimits(trained=131072)),
        ({"context_length": "32768"}, ReportedLimits(window=32768)),
        ({"context_length": 0}, ReportedLimits()),
        ({"context_length": -1, "meta": None}, ReportedLimits()),
        ({"context_length": 5}, ReportedLimits()),
        ({"state": "loaded", "max_context_length": 131072, "loaded_context_length": 4096}, ReportedLimits(window=4096)),
        ({"state": "not-loaded", "max_context_length": 131072}, ReportedLimits(trained=131072)),
        (
            {"capabilities": {"limits": {"max_context_window_tokens": 128000, "max_output_tokens": 16000}}},
            ReportedLimits(window=128000, output=16000),
        ),
    ],
)
def test_the_window_in_a_row_of_the_model_list(row: dict[str, Any], expected: ReportedLimits) -> None:
    assert read_reported_limits(listing(**row), "m") == expected


@pytest.mark.parametrize("name", ["m", "M", "models/m", "m:latest"])
def test_names_that_mean_the_same_model(name: str) -> None:
    assert read_reported_limits({"data": [{"id": "x"}, {"id": name, "context_length": 9000}]}, "m").window == 9000


def test_the_only_model_is_used_whatever_its_name() -> None:
    assert read_reported_limits({"data": [{"id": "/models/qwen.gguf", "meta": {"n_ctx": 4096}}]}, "qwen").window == 4096
    assert read_reported_limits({"data": [{"id": "a", "context_length": 9000}, {"id": "b"}]}, "c") == ReportedLimits()


@each_row("answer", [None, [], {}, "x", {"data": None}, {"data": [1, "a", None]}, {"error": "x"}])
def test_invalid_values_are_ignored(answer: Any) -> None:
    assert read_reported_limits(answer, "m") == ReportedLimits()
    assert list_model_names(answer) == ()


def test_windows_from_native_endpoints() -> None:
    assert (
        find_native_path("llamacpp", None)
        == find_native_path("127.0.0.1:9", {"data": [{"id": "m", "owned_by": "llamacpp"}]})
        == "/props"
    )
    assert find_native_path("", {"data": [{"id": "m", "owned_by": "library"}]}) == "/api/ps"
    assert find_native_path("", {"data": [{"id": "m", "owned_by": "organization_owner"}]}) == "/api/v0/models"
    assert find_native_path("", {"data": [{"id": "m", "owned_by": "vllm"}]}) == ""
    assert read_native_limits({"default_generation_settings": {"n_ctx": 4096}}, "m").window == 4096
    assert read_native_limits({"models": [{"name": "m:latest", "context_length": 8192}]}, "m").window == 8192


SMALL = ModelProfile(context_window=8_192, max_output_tokens=4_096)
LARGE = ModelProfile(context_window=272_000, max_output_tokens=128_000)


@each_row(
    ("window", "output", "server", "profile", "local", "expected"),
    [
        (9_000, None, ReportedLimits(window=5), LARGE, False, (9_000, 4_500, "config")),
        (None, None, ReportedLimits(window=65_536, output=4_096), LARGE, False, (65_536, 4_096, "server")),
        (None, 100, ReportedLimits(window=65_536), None, False, (65_536, 100, "server")),
        (None, None, ReportedLimits(), LARGE, False, (272_000, 128_000, "profile")),
        (None, None, ReportedLimits(), None, False, (128_000, 32_000, "default")),
        (None, None, ReportedLimits(), None, True, (32_000, 8_000, "default")),
        (None, None, ReportedLimits(), LARGE, True, (32_000, 16_000, "default")),
        (None, None, ReportedLimits(), SMALL, True, (8_192, 4_096, "profile")),
        (None, None, ReportedLimits(trained=4_096), None, True, (4_096, 1_024, "server")),
        (None, None, ReportedLimits(trained=131_072), None, True, (32_000, 8_000, "default")),
    ],
)
def test_which_source_takes_precedence(
    window: int | None,
    output: int | None,
    server: ReportedLimits,
    profile: ModelProfile | None,
    local: bool,
    expected: tuple[int, int, str],
) -> None:
    size, cap, source = expected
    assert choose_limits(window, output, server, profile, local=local) == ModelLimits(
        context_window=size, max_output_tokens=cap, source=source
    )


def test_settings_of_one_model_take_precedence() -> None:
    config = Config(context_window=1_000, max_output_tokens=10, models={"m": ModelSettings(context_window=2_000)})
    assert read_configured_limits(config, "m") == (2_000, 10)
    assert read_configured_limits(config, "n") == (1_000, 10)
    assert read_configured_limits(Config(), "n") == (None, None)


@each_row(
    ("model", "window"),
    [
        ("gpt-4o-mini", 128_000),
        ("openai/gpt-4o", 128_000),
        ("gpt-4", 8_192),
        ("gpt-4.1-mini", 1_047_576),
        ("gpt-6-sol", 272_000),
        ("o3-mini", 200_000),
        ("claude-sonnet-5-5", 1_000_000),
        ("anthropic/claude-3.5-sonnet", 200_000),
        ("models/gemini-3.6-flash", 1_048_576),
        ("deepseek-v4-flash", 1_000_000),
        ("meta-llama/Llama-3.3-70B-Instruct", 131_072),
        ("Qwen/Qwen2.5-Coder-32B-Instruct", 32_768),
        ("openai/gpt-oss-120b", 131_072),
    ],
)
def test_known_models(model: str, window: int) -> None:
    profile = find_profile(model)
    assert profile is not None
    assert profile.context_window == window
    assert profile.max_output_tokens <= profile.context_window


def test_unknown_models_have_no_profile() -> None:
    assert find_profile("test-model") is None
    assert find_profile("") is None


def test_dialects_of_servers() -> None:
    openai = "https://api.openai.com/v1"
    newer = ServerQuirks(max_tokens_field="max_completion_tokens", cache_key=True)
    assert find_quirks(find_preset("openai"), openai, "gpt-6-sol") == newer
    assert find_quirks(None, openai, "gpt-5.4-mini") == newer
    assert find_quirks(None, openai, "gpt-4o") == ServerQuirks(cache_key=True, effort=EffortStyle(levels=()))
    assert find_quirks(None, "http://localhost:8000/v1", "gpt-6-sol") == ServerQuirks()
    assert not find_quirks(find_preset("mistral"), "https://api.mistral.ai/v1", "x").stream_usage


@each_row(
    ("url", "model", "expected"),
    [
        ("https://openrouter.ai/api/v1", "anthropic/claude-sonnet-5", {"cache_key", "cache_points", "echo_details"}),
        ("https://openrouter.ai/api/v1", "google/gemini-3-pro", {"cache_key", "cache_points", "echo_details"}),
        ("https://openrouter.ai/api/v1", "openai/gpt-6", {"cache_key", "echo_details"}),
        ("https://ai-gateway.vercel.sh/v1", "anthropic/claude-sonnet-5", {"cache_points", "echo_details"}),
        ("https://me.openai.azure.com/openai/v1", "gpt-5", {"cache_key"}),
        ("https://api.deepseek.com/v1", "deepseek-v4", {"echo_reasoning", "echo_field"}),
        ("https://api.moonshot.ai/v1", "kimi-k2.6", {"echo_reasoning", "echo_field", "cache_key"}),
        ("https://api.moonshot.ai/v1", "moonshot-v1-128k", {"cache_key"}),
        ("https://api.z.ai/api/paas/v4", "glm-5.2", {"echo_reasoning", "echo_field"}),
        ("https://api.minimax.io/v1", "MiniMax-M3", {"echo_details", "echo_field"}),
        ("https://api.mistral.ai/v1", "mistral-medium-latest", {"cache_key"}),
        ("https://api.groq.com/openai/v1", "llama-3.3-70b", set()),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "gemini-3-pro", {"thought_signatures"}),
        ("https://aiplatform.googleapis.com/v1/x/openapi", "google/gemini-3-pro", {"thought_signatures"}),
        ("http://localhost:8000/v1", "Qwen/Qwen3-32B", {"echo_field"}),
        ("http://localhost:8000/v1", "some-model", set()),
    ],
)
def test_what_is_sent_back_and_what_is_cached(url: str, model: str, expected: set[str]) -> None:
    quirks = find_quirks(find_preset_by_url(url), url, model)
    fields = ("cache_key", "cache_points", "echo_details", "echo_field", "echo_reasoning", "thought_signatures")
    assert {field for field in fields if getattr(quirks, field)} == expected


@each_row(
    ("refusal", "lesson"),
    [
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model."
            " Use 'max_completion_tokens' instead.",
            ServerQuirks(max_tokens_field="max_completion_tokens"),
        ),
        (
            '{"detail":[{"type":"extra_forbidden","loc":["body","stream_options","include_usage"],'
            '"msg":"Extra inputs are not permitted"}]}',
            ServerQuirks(stream_usage=False),
        ),
        (
            "Function tools with reasoning_effort are not supported for gpt-9 in /v1/chat/completions. To use function"
            " tools, use /v1/responses or set reasoning_effort to 'none'.",
            ServerQuirks(effort_none_with_tools=True),
        ),
        ("Please set `reasoning_effort` to `none` to call functions.", ServerQuirks(effort_none_with_tools=True)),
        ("Function call is missing a thought_signature in functionCall parts.", ServerQuirks(thought_signatures=True)),
        ("Missing `reasoning_content` field in the assistant message at index 3", ServerQuirks(echo_reasoning=True)),
        ("'max_tokens' or 'max_completion_tokens' is too large: 2000. maximum context length is 4096", None),
        ("Invalid value for 'messages'", None),
    ],
)
def test_refusals_are_learned_once(refusal: str, lesson: ServerQuirks | None) -> None:
    assert learn_quirks(ServerQuirks(), refusal) == lesson
    if lesson is not None:
        assert learn_quirks(lesson, refusal) is None


@pytest.mark.parametrize(
    "refusal",
    [
        "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: 'low'.",
        "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
        "Invalid value: 'none'. Supported values of reasoning.effort are: 'low', 'medium', and 'high'.",
        "reasoning_effort cannot be set to 'none'",
    ],
)
def test_a_refused_effort_is_never_sent_again(refusal: str) -> None:
    lesson = learn_quirks(ServerQuirks(effort_none_with_tools=True), refusal)
    assert lesson == ServerQuirks(effort_none_refused=True)
    assert learn_quirks(lesson, "set reasoning_effort to 'none'") is None


def test_a_field_the_server_does_not_know_is_withdrawn() -> None:
    refusal = '{"detail":[{"loc":["body","max_completion_tokens"],"msg":"Extra inputs are not permitted"}]}'
    assert learn_quirks(ServerQuirks(max_tokens_field="max_completion_tokens"), refusal) == ServerQuirks()
