"""Which provider a configuration selects."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clio.config.schema import Config
from clio.errors import ConfigError
from clio.providers.http_provider import HttpProvider
from clio.providers.offline import OfflineProvider
from clio.providers.profiles import PRESETS
from clio.providers.registry import FoundServer, make_provider
from tests.support.chat_server import ChatServer, error, text
from tests.support.rows import each_row


def choose(env: dict[str, str] | None = None, found: FoundServer | None = None, **config: Any) -> Any:
    return make_provider(Config(**config), env or {}, find_server=lambda: found)


def key_of(provider: HttpProvider) -> str | None:
    return provider._auth.key or None  # type: ignore[attr-defined]


def test_without_configuration_and_server_clio_is_offline() -> None:
    assert isinstance(choose(), OfflineProvider)
    assert isinstance(choose({"OPENAI_API_KEY": "", "OPENAI_BASE_URL": " "}), OfflineProvider)


def test_offline_by_name_queries_no_server() -> None:
    def nobody() -> FoundServer:
        raise AssertionError

    config = Config(provider="Offline", api_key="k")
    assert isinstance(make_provider(config, {"OPENAI_API_KEY": "k"}, find_server=nobody), OfflineProvider)


def test_a_local_server_is_used_without_a_key() -> None:
    provider = choose(found=FoundServer(name="ollama", base_url="http://127.0.0.1:11434/v1", models=("qwen", "llama")))
    assert (provider.name, provider.model, provider.base_url) == ("ollama", "qwen", "http://127.0.0.1:11434/v1")
    assert key_of(provider) is None


def test_a_named_model_goes_to_the_local_server() -> None:
    provider = choose(
        found=FoundServer(name="ollama", base_url="http://127.0.0.1:11434/v1", models=("qwen",)), model="llama"
    )
    assert provider.model == "llama"


@each_row(
    "preset",
    [preset for preset in PRESETS if preset.key_required and preset.found_by_key and preset.base_url],
    ids=lambda preset: preset.name,
)
def test_a_key_selects_its_preset(preset: Any) -> None:
    provider = choose({preset.key_variable: " k\n"})
    assert (provider.name, provider.base_url) == (preset.name, preset.base_url)
    assert provider.model == preset.default_model
    assert key_of(provider) == "k"


def test_openai_comes_first() -> None:
    assert choose({"GROQ_API_KEY": "g", "OPENAI_API_KEY": "o"}).name == "openai"
    assert choose({"GROQ_API_KEY": "g"}, api_key="o").name == "openai"


def test_a_named_preset_uses_only_its_own_key() -> None:
    provider = choose(
        {"OPENAI_API_KEY": "o", "GROQ_API_KEY": "g", "OPENAI_BASE_URL": "http://elsewhere/v1"}, provider="groq"
    )
    assert (provider.name, key_of(provider)) == ("groq", "g")
    assert provider.base_url == "https://api.groq.com/openai/v1"
    with pytest.raises(ConfigError, match=r"groq.*key.*GROQ_API_KEY"):
        choose({"OPENAI_API_KEY": "o"}, provider="groq")


def test_a_known_host_uses_only_its_own_key() -> None:
    provider = choose({"OPENAI_API_KEY": "o"}, base_url="https://api.groq.com/openai/v1", model="m")
    assert (provider.name, key_of(provider)) == ("groq", None)


def test_any_other_server_uses_the_general_key() -> None:
    env = {"OPENAI_API_KEY": "o", "OPENAI_BASE_URL": "https://llm.example.com"}
    provider = choose(env, model="m")
    assert (provider.name, provider.base_url, key_of(provider)) == (
        "llm.example.com",
        "https://llm.example.com/v1",
        "o",
    )
    assert choose(env, base_url="https://other.example.com/v1", model="m").base_url == "https://other.example.com/v1"


def test_a_preset_at_another_url() -> None:
    provider = choose({"VLLM_API_KEY": "v"}, provider="vllm", base_url="gpu-box:9000", model="m")
    assert (provider.name, provider.base_url, key_of(provider)) == ("vllm", "http://gpu-box:9000/v1", "v")


def test_a_local_preset_never_uses_the_general_key() -> None:
    assert key_of(choose({"OPENAI_API_KEY": "o"}, provider="ollama", model="m")) is None


def test_a_key_for_a_local_preset_selects_nothing() -> None:
    assert isinstance(choose({"OLLAMA_API_KEY": "k", "VLLM_API_KEY": "k"}), OfflineProvider)


def test_a_local_url_is_no_preset_by_its_host() -> None:
    provider = choose({"OPENAI_API_KEY": "o"}, base_url="http://localhost:11434", model="m")
    assert (provider.name, key_of(provider)) == ("localhost:11434", "o")


def test_the_named_model_takes_precedence() -> None:
    assert choose({"OPENAI_API_KEY": "o"}, model="gpt-4o").model == "gpt-4o"


def test_a_remote_server_without_a_model() -> None:
    with pytest.raises(ConfigError, match="set --model, CLIO_MODEL"):
        choose({"OPENAI_API_KEY": "o"}, base_url="https://llm.example.com/v1")


def test_the_first_chat_model_of_a_local_server_is_used() -> None:
    with ChatServer(models=[{"id": "nomic-embed-text"}, {"id": "qwen"}, {"id": "llama"}]) as server:
        assert choose(base_url=server.url).model == "qwen"


def test_a_local_server_without_models() -> None:
    with ChatServer(models=error(500)) as server, pytest.raises(ConfigError, match="lists none"):
        choose(base_url=server.url)


def test_an_unknown_provider() -> None:
    with pytest.raises(ConfigError, match=r"unknown provider 'opnai'.*'openai'"):
        choose(provider="opnai")
    with pytest.raises(ConfigError, match="choose one of openai, anthropic"):
        choose(provider="zzzzzz")


@pytest.mark.parametrize("key", ["sk-\u201cquoted\u201d", "sk-two\nlines", "sk-\x00"])
def test_an_invalid_key_is_an_error(key: str) -> None:
    with pytest.raises(ConfigError, match=r"key in OPENAI_API_KEY.*characters"):
        choose({"OPENAI_API_KEY": key})


def test_an_invalid_url_is_an_error() -> None:
    with pytest.raises(ConfigError, match="--base-url"):
        choose(base_url="http://")


def test_selecting_imports_no_client() -> None:
    code = (
        "import sys; from clio.config.schema import Config; from clio.providers.registry import make_provider;"
        "make_provider(Config(model='m'), {'OPENAI_API_KEY': 'k'});"
        "print([name for name in ('openai', 'httpx2', 'pydantic', 'http.client') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.strip() == "[]"


def test_warming_up_imports_the_client() -> None:
    code = (
        "import sys; from clio.providers.openai_transport import start_import; start_import().join();"
        "print('openai' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.strip() == "True"


def test_one_question_imports_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import os, sys; from clio.config.command_line import parse_arguments;"
        "from clio.config.layers import load_config;"
        "from clio.config.options import make_options, with_prompt; from clio.entrypoints import oneshot;"
        "options = with_prompt(make_options(parse_arguments(['-p', 'hi'])), 'hi');"
        "code = oneshot.run_oneshot(options, load_config(options, os.environ));"
        "names = 'openai httpx2 pydantic mcp anyio jsonschema yaml numpy git tiktoken prompt_toolkit rich acp';"
        "print(code, [name for name in [*names.split(), 'clio.commands.registry'] if name in sys.modules])"
    )
    with ChatServer([text("hello")]) as server:
        env = dict(os.environ) | {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k", "CLIO_MODEL": "m"}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, env=env, cwd=tmp_path
        )
    assert done.stdout == "hello\n0 []\n"
