"""The user's own names for models on any server."""

from pathlib import Path
from typing import Any

import pytest

from clio.config.schema import Config, ModelSettings
from clio.errors import ConfigError
from clio.providers.limits import read_configured_limits
from clio.providers.registry import OpenedProviders, find_model_settings, make_provider, resolve_alias
from tests.config.harness import Harness as Files
from tests.support.rows import each_row

ENV = {"OPENAI_API_KEY": "openai-key", "GROQ_API_KEY": "groq-key", "ANTHROPIC_API_KEY": "anthropic-key"}


def config(**more: Any) -> Config:
    models = {
        "fast": ModelSettings(provider="groq", model="openai/gpt-oss-20b", effort="low", context_window=9_000),
        "smart": ModelSettings(provider="anthropic", model="claude-sonnet-5-5"),
        "own": ModelSettings(base_url="http://10.0.0.9:8000", model="qwen3"),
        "short": ModelSettings(model="gpt-6-luna", effort="high"),
        "kimi-k3": ModelSettings(provider="moonshot"),
        "gpt-5.4": ModelSettings(context_window=5_000),
    }
    return Config(models=models, **more)


def key_of(provider: Any) -> str:
    return provider._auth.key


@each_row(
    ("name", "server", "model", "protocol", "key"),
    [
        ("fast", "groq", "openai/gpt-oss-20b", "chat", "groq-key"),
        ("smart", "anthropic", "claude-sonnet-5-5", "messages", "anthropic-key"),
        ("short", "openai", "gpt-6-luna", "responses", "openai-key"),
        ("gpt-5.4", "openai", "gpt-5.4", "responses", "openai-key"),
        ("unknown", "openai", "unknown", "responses", "openai-key"),
    ],
)
def test_an_alias_selects_its_model(name: str, server: str, model: str, protocol: str, key: str) -> None:
    provider: Any = make_provider(config(model=name, api_key="openai-key"), ENV)
    assert (provider.name, provider.model, provider.protocol, key_of(provider)) == (server, model, protocol, key)


def test_the_configured_key_is_not_sent_to_an_aliased_server() -> None:
    provider: Any = make_provider(config(model="fast", provider="openai", api_key="sk-of-openai"), ENV)
    assert key_of(provider) == "groq-key"
    other: Any = make_provider(config(model="own", provider="openai", api_key="sk-of-openai"), {})
    assert (other.base_url, key_of(other)) == ("http://10.0.0.9:8000/v1", "")


def test_the_configured_key_command_is_not_used_for_an_aliased_server() -> None:
    resolved = resolve_alias(config(model="fast", provider="openai", api_key_command="op read x"))
    assert resolved.api_key_command is None
    same = resolve_alias(config(model="short", provider="openai", api_key_command="op read x"))
    assert same.api_key_command == "op read x"


def test_an_alias_without_a_model_is_the_name_of_one() -> None:
    provider = make_provider(config(model="kimi-k3"), {"MOONSHOT_API_KEY": "m"})
    assert (provider.name, provider.model) == ("moonshot", "kimi-k3")


def test_settings_of_an_alias_apply_to_its_model() -> None:
    resolved = resolve_alias(config(model="fast"))
    assert read_configured_limits(resolved, "openai/gpt-oss-20b")[0] == 9_000
    assert resolved.models["openai/gpt-oss-20b"].effort == "low"


def test_settings_are_found_by_model_name_and_by_alias() -> None:
    found = find_model_settings(config(), "openai/gpt-oss-20b")
    assert found is not None
    assert found.effort == "low"
    own = find_model_settings(config(), "gpt-5.4")
    assert own is not None
    assert own.context_window == 5_000
    assert find_model_settings(config(), "claude-opus-5-5") is None


def test_an_alias_is_resolved_only_once() -> None:
    models = {"a": ModelSettings(model="b"), "b": ModelSettings(model="a")}
    assert resolve_alias(Config(model="a", models=models)).model == "b"


def test_an_alias_of_an_unknown_provider_is_one_sentence() -> None:
    models = {"x": ModelSettings(provider="anthropc", model="m")}
    with pytest.raises(ConfigError, match="did you mean 'anthropic'"):
        make_provider(Config(model="x", models=models), ENV)


def test_the_model_can_be_switched_to_an_alias_and_to_others_on_its_server() -> None:
    settings = config(model="gpt-6-sol", provider="openai")
    opened = OpenedProviders(settings, ENV, make_provider(settings, ENV))
    first, groq = opened.switch("fast")
    assert (groq.name, first.model) == ("groq", "openai/gpt-oss-20b")
    assert opened.switch("openai/gpt-oss-120b")[1].name == "groq"
    assert opened.switch("smart")[1].name == "anthropic"
    assert opened.switch("short")[1].name == "openai"


def test_a_file_defines_aliases(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.write_home(
        "models: {fast: {provider: groq, model: openai/gpt-oss-20b, effort: low, context_window: 9000}}\n"
        "fallback: [fast]\nlight_model: fast\n"
    )
    loaded = files.load({}, model="fast").config
    assert loaded.fallback == ("fast",)
    provider = make_provider(loaded, ENV)
    assert (provider.name, provider.model) == ("groq", "openai/gpt-oss-20b")


def test_a_project_cannot_set_the_command_that_prints_a_key(tmp_path: Path) -> None:
    from clio.config.trust import trust_project

    files = Files(tmp_path)
    files.write_home("models: {mine: {provider: openai, api_key_command: op read x}}\n")
    files.write_project(
        "api_key_command: evil\nmodels: {mine: {base_url: https://evil.example}, other: {api_key_command: evil}}\n"
    )
    for _ in range(2):
        loaded = files.load()
        assert loaded.config.api_key_command is None
        assert all(one.api_key_command in (None, "op read x") for one in loaded.config.models.values())
        assert len([problem for problem in loaded.problems if "api_key_command" in problem]) == 2
        trust_project(loaded)
    assert loaded.config.models["mine"].base_url == "https://evil.example"
    assert loaded.config.models["mine"].api_key_command is None  # it was for another URL
