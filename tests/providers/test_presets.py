"""Named servers: their URLs, keys, and the error if something is missing."""

import asyncio
import json
import socket
from typing import Any

import pytest

from clio.config.schema import SERVER_KEY_VARIABLES, Config
from clio.errors import ConfigError, ProviderRefused, ServerFailed
from clio.messages import UserMessage
from clio.providers.base import ChatRequest
from clio.providers.http_provider import HttpProvider
from clio.providers.profiles import PRESETS, find_preset, find_profile
from clio.providers.registry import make_provider
from clio.security.redaction.redactor import build_redactor
from tests.support.protocol_server import ProtocolAnswer, ProtocolServer
from tests.support.rows import each_row

ASKED = (
    *("openai anthropic gemini openrouter deepseek mistral groq xai moonshot zai minimax github-models".split()),
    *("azure bedrock vertex ollama lmstudio llamacpp vllm".split()),
)


def make(env: dict[str, str] | None = None, **config: Any) -> HttpProvider:
    provider = make_provider(Config(**config), env or {}, find_server=lambda: None)
    assert isinstance(provider, HttpProvider), provider
    return provider


def ask(provider: HttpProvider) -> str:
    request = ChatRequest(system="", messages=(UserMessage(content="hi"),), max_output_tokens=100)

    async def main() -> str:
        try:
            return "".join([chunk.text async for chunk in provider.stream(request)])
        finally:
            await provider.close()

    return asyncio.run(main())


def test_every_vendor_has_a_preset() -> None:
    assert {preset.name for preset in PRESETS} == set(ASKED)


def test_every_key_of_a_server_is_a_secret_whatever_its_name() -> None:
    assert {name for preset in PRESETS for name in preset.key_variables} <= set(SERVER_KEY_VARIABLES)
    redactor = build_redactor(Config(), {"AWS_BEARER_TOKEN_BEDROCK": "plain words of a key"})
    assert "plain words" not in redactor.redact("it is plain words of a key").text


@each_row(
    ("env", "config", "url", "protocol"),
    [
        (
            {"AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com/"},
            {"provider": "azure"},
            "https://r.openai.azure.com/openai/v1",
            "responses",
        ),
        (
            {},
            {"provider": "azure", "base_url": "https://r.openai.azure.com/openai/v1/"},
            "https://r.openai.azure.com/openai/v1",
            "responses",
        ),
        (
            {},
            {
                "provider": "azure",
                "base_url": "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=1",
            },
            "https://r.openai.azure.com/openai/v1",
            "responses",
        ),
        (
            {},
            {"provider": "azure", "base_url": "https://r.services.ai.azure.com/api/projects/p"},
            "https://r.services.ai.azure.com/openai/v1",
            "responses",
        ),
        (
            {},
            {"provider": "azure", "base_url": "my-resource"},
            "https://my-resource.openai.azure.com/openai/v1",
            "responses",
        ),
        (
            {},
            {"base_url": "https://r.cognitiveservices.azure.com"},
            "https://r.cognitiveservices.azure.com/openai/v1",
            "responses",
        ),
        (
            {"AWS_REGION": "eu-west-1"},
            {"provider": "bedrock"},
            "https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1",
            "responses",
        ),
        (
            {"AWS_DEFAULT_REGION": "us-gov-west-1"},
            {"provider": "bedrock"},
            "https://bedrock-runtime.us-gov-west-1.amazonaws.com/openai/v1",
            "responses",
        ),
        (
            {"AWS_REGION": "cn-north-1"},
            {"provider": "bedrock"},
            "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/openai/v1",
            "responses",
        ),
        (
            {"AWS_BEDROCK_BASE_URL": "https://bedrock-mantle.us-east-2.api.aws/openai/v1"},
            {"provider": "bedrock"},
            "https://bedrock-mantle.us-east-2.api.aws/openai/v1",
            "responses",
        ),
        (
            {"GOOGLE_CLOUD_PROJECT": "p-1", "GOOGLE_CLOUD_LOCATION": "global"},
            {"provider": "vertex"},
            "https://aiplatform.googleapis.com/v1/projects/p-1/locations/global/endpoints/openapi",
            "chat",
        ),
        (
            {"GOOGLE_CLOUD_PROJECT": "p-1", "GOOGLE_CLOUD_LOCATION": "us-central1"},
            {"provider": "vertex"},
            "https://us-central1-aiplatform.googleapis.com/v1/projects/p-1/locations/us-central1/endpoints/openapi",
            "chat",
        ),
        (
            {"ANTHROPIC_BASE_URL": "https://proxy.example.com"},
            {"provider": "anthropic"},
            "https://proxy.example.com/v1",
            "messages",
        ),
        ({}, {"base_url": "https://api.minimax.io/anthropic"}, "https://api.minimax.io/anthropic/v1", "messages"),
        ({}, {"base_url": "https://api.z.ai/api/anthropic/"}, "https://api.z.ai/api/anthropic/v1", "messages"),
        (
            {},
            {"base_url": "https://api.deepseek.com/anthropic/v1"},
            "https://api.deepseek.com/anthropic/v1",
            "messages",
        ),
        (
            {},
            {"base_url": "https://api.deepseek.com/anthropic/v1/messages"},
            "https://api.deepseek.com/anthropic/v1",
            "messages",
        ),
        (
            {},
            {"base_url": "https://gateway.example.com/v1/account/gateway/anthropic"},
            "https://gateway.example.com/v1/account/gateway/anthropic/v1",
            "messages",
        ),
        (
            {},
            {"base_url": "https://api.kimi.com/coding/", "api": "messages"},
            "https://api.kimi.com/coding/v1",
            "messages",
        ),
        ({}, {"base_url": "https://api.minimax.io/v1"}, "https://api.minimax.io/v1", "chat"),
        (
            {},
            {"provider": "zai", "base_url": "https://api.z.ai/api/coding/paas/v4"},
            "https://api.z.ai/api/coding/paas/v4",
            "chat",
        ),
    ],
)
def test_the_url_of_each_preset(env: dict[str, str], config: dict[str, Any], url: str, protocol: str) -> None:
    keys = dict.fromkeys((preset.key_variable for preset in PRESETS), "a-key")
    provider = make(keys | env, model="m", **config)
    assert (provider.base_url, provider.protocol) == (url, protocol)


@each_row(
    ("env", "provider", "words"),
    [
        ({}, "azure", "AZURE_OPENAI_ENDPOINT"),
        ({}, "bedrock", "set AWS_REGION"),
        ({"AWS_REGION": "us-east"}, "bedrock", "'us-east' is not an AWS region: set AWS_REGION"),
        ({"AWS_DEFAULT_REGION": "evil.example.com/x"}, "bedrock", "set AWS_DEFAULT_REGION"),
        ({}, "vertex", "set GOOGLE_CLOUD_PROJECT"),
        ({"GOOGLE_CLOUD_PROJECT": "p"}, "vertex", "set GOOGLE_CLOUD_LOCATION"),
        ({"GOOGLE_CLOUD_PROJECT": "../p", "GOOGLE_CLOUD_LOCATION": "global"}, "vertex", "'../p' is not a project id"),
        ({"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "x.evil"}, "vertex", "'x.evil' is not a location"),
        ({"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "global"}, "vertex", "gcloud auth print-access-token"),
        ({"AWS_REGION": "us-east-1"}, "bedrock", "set AWS_BEARER_TOKEN_BEDROCK"),
        ({}, "xai", "set XAI_API_KEY"),
        ({}, "github-models", "set GITHUB_TOKEN"),
    ],
)
def test_a_missing_setting_is_one_sentence_with_the_next_step(env: dict[str, str], provider: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make(env, provider=provider, model="m")
    assert words in str(caught.value)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("provider", "env", "variable"),
    [
        ("bedrock", {"AWS_REGION": "us-east-9", "AWS_BEARER_TOKEN_BEDROCK": "k"}, "AWS_REGION"),
        ("vertex", {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "us-middle1"}, "GOOGLE_CLOUD_LOCATION"),
    ],
)
def test_an_unknown_region_is_named(
    provider: str, env: dict[str, str], variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_address(*_: Any, **__: Any) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio, "open_connection", no_address)
    with pytest.raises(ProviderRefused, match=f"correct {variable}") as caught:
        ask(make(env | {"CLOUDSDK_AUTH_ACCESS_TOKEN": "t"}, provider=provider, model="m"))
    assert caught.value.exit_code == 2
    real = {"AWS_REGION": "us-east-1", "GOOGLE_CLOUD_LOCATION": "global"}
    with pytest.raises(ServerFailed, match=f"check {variable} and the network"):
        ask(make(env | {"CLOUDSDK_AUTH_ACCESS_TOKEN": "t"} | real, provider=provider, model="m"))


def test_a_token_for_other_purposes_selects_no_server() -> None:
    env = {"GITHUB_TOKEN": "t", "GH_TOKEN": "t", "CLOUDSDK_AUTH_ACCESS_TOKEN": "t", "GOOGLE_API_KEY": "t"}
    assert make_provider(Config(), env, find_server=lambda: None).name == "offline"


def test_a_key_without_its_resource_or_region_selects_no_server() -> None:
    env = {"AZURE_OPENAI_API_KEY": "t", "AWS_BEARER_TOKEN_BEDROCK": "t"}
    assert make_provider(Config(), env, find_server=lambda: None).name == "offline"
    assert make_provider(Config(), env | {"AWS_REGION": "us-east-1"}, find_server=lambda: None).name == "bedrock"


def test_keys_have_one_order_whatever_the_order_of_the_environment() -> None:
    keys = [
        preset.key_variable for preset in PRESETS if preset.found_by_key and preset.key_required and preset.base_url
    ]
    for at, name in enumerate(keys):
        env = dict.fromkeys(reversed(keys[at:]), "k")
        chosen = make_provider(Config(), env, find_server=lambda: None)
        preset = find_preset(chosen.name)
        assert preset is not None
        assert preset.key_variable == name


def test_a_second_variable_is_used_if_the_first_is_not_set() -> None:
    assert make({"GOOGLE_API_KEY": "g"}, provider="gemini")._auth.key == "g"  # type: ignore[attr-defined]
    both = {"GOOGLE_API_KEY": "g", "GEMINI_API_KEY": "first"}
    assert make(both, provider="gemini")._auth.key == "first"  # type: ignore[attr-defined]


@each_row(
    ("provider", "env", "path", "headers"),
    [
        ("azure", {"AZURE_OPENAI_API_KEY": "the-key"}, "/openai/v1/responses", {"api-key": "the-key"}),
        ("bedrock", {"AWS_BEARER_TOKEN_BEDROCK": "the-key"}, "/v1/responses", {"authorization": "Bearer the-key"}),
        ("xai", {"XAI_API_KEY": "the-key"}, "/v1/chat/completions", {"authorization": "Bearer the-key"}),
        ("anthropic", {"ANTHROPIC_API_KEY": "the-key"}, "/v1/messages", {"x-api-key": "the-key"}),
        ("anthropic", {"ANTHROPIC_AUTH_TOKEN": "the-key"}, "/v1/messages", {"authorization": "Bearer the-key"}),
    ],
)
def test_the_request_over_http(provider: str, env: dict[str, str], path: str, headers: dict[str, str]) -> None:
    with ProtocolServer([ProtocolAnswer(text="hello")]) as server:
        base = server.url.removesuffix("/v1")
        assert ask(make(env, provider=provider, base_url=base, model="m", context_window=50_000)) == "hello"
        (request,) = [one for one in server.requests if one.method == "POST"]
    assert request.path == path
    assert request.headers.items() >= headers.items()
    assert ("authorization" in request.headers) == ("authorization" in headers or provider == "anthropic")


def test_an_anthropic_path_on_any_host_uses_messages_below_v1() -> None:
    with ProtocolServer([ProtocolAnswer(text="hello")]) as server:
        url = server.url.removesuffix("/v1") + "/anthropic"
        assert ask(make({"OPENAI_API_KEY": "k"}, base_url=url, model="m", context_window=50_000)) == "hello"
        assert server.requests[-1].path == "/anthropic/v1/messages"
        assert json.loads(server.requests[-1].raw)["model"] == "m"


@each_row(
    ("model", "window"),
    [
        ("global.openai.gpt-6-sol", 272_000),
        ("us.anthropic.claude-sonnet-5-5", 1_000_000),
        ("google/gemini-3.6-flash", 1_048_576),
        ("grok-4.5", 500_000),
        ("kimi-k3", 1_048_576),
        ("glm-5.2", 1_048_576),
        ("glm-4.7", 200_000),
        ("MiniMax-M3", 1_000_000),
        ("MiniMax-M2.7", 204_800),
    ],
)
def test_windows_of_current_models_are_known(model: str, window: int) -> None:
    profile = find_profile(model)
    assert profile is not None
    assert profile.context_window == window


def test_every_default_model_has_a_known_window() -> None:
    names = {preset.default_model for preset in PRESETS if preset.default_model} - {"openrouter/auto"}
    assert [name for name in names if find_profile(name) is None] == []
