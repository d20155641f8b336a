"""The higher layer takes precedence, and every value has its origin."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.config.command_line import FLAGS, OUTPUT_FORMATS
from clio.config.layers import add_layer, build_config, list_origins
from clio.config.loaded import LoadedConfig
from clio.config.options import Options, OutputFormat
from clio.config.schema import CONFIG_FIELDS, ENVIRONMENT_VARIABLES, Config, ModelSettings, Setting
from clio.errors import ConfigError, UsageError
from tests.config.harness import Harness
from tests.support.rows import each_row

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


def test_defaults_apply_without_configuration(harness: Harness) -> None:
    loaded = harness.load()
    assert loaded == LoadedConfig(
        config=Config(),
        origins=dict.fromkeys(CONFIG_FIELDS, "default"),
        project=harness.project,
        home=harness.home,
        start_folder=harness.project,
    )
    assert not harness.home.exists()


def test_yaml_is_imported_only_for_a_file(harness: Harness) -> None:
    code = (
        "import os, pathlib, sys; from clio.config.layers import load_config;"
        "from clio.config.options import Options;"
        "load_config(Options(cwd=pathlib.Path.cwd()), os.environ); print('yaml' in sys.modules)"
    )

    def imported() -> str:
        env = os.environ | {"HOME": str(harness.user), "CLIO_HOME": str(harness.home), "PYTHONPATH": str(ROOT)}
        argv = [sys.executable, "-c", code]
        return subprocess.run(
            argv, capture_output=True, text=True, cwd=harness.project, env=env, check=True
        ).stdout.strip()

    assert imported() == "False"
    harness.write_project("max_steps: 3")
    assert imported() == "True"


def test_each_layer_takes_precedence_over_those_below(harness: Harness) -> None:
    def check(env: dict[str, str], flag: dict[str, str | bool], value: int, origin: str) -> None:
        loaded = harness.load(env, **flag)
        assert (loaded.config.max_steps, loaded.origins["max_steps"]) == (value, origin)

    check({}, {}, 100, "default")
    harness.write_home("# mine\nmax_steps: 1\n")
    check({}, {}, 1, "~/.clio/config.yaml:2")
    harness.write_project("max_steps: 2\n")
    harness.trust()
    check({}, {}, 2, ".clio/config.yaml:1")
    check({"CLIO_MAX_STEPS": "3"}, {}, 3, "environment CLIO_MAX_STEPS")
    check({"CLIO_MAX_STEPS": "3"}, {"max_steps": "4"}, 4, "flag --max-steps")
    check({"CLIO_MAX_STEPS": ""}, {}, 2, ".clio/config.yaml:1")


def test_lists_combine_the_entries_of_all_files(harness: Harness) -> None:
    harness.write_home("deny:\n  - rm *\n  - dd *\n")
    harness.write_project("deny:\n  - rm *\n  - make deploy\n")
    loaded = harness.load()
    assert loaded.config.deny == ("rm *", "dd *", "make deploy")
    assert loaded.origins["deny"] == "~/.clio/config.yaml:2, ~/.clio/config.yaml:3, .clio/config.yaml:3"


def test_settings_of_single_models_merge_field_by_field(harness: Harness) -> None:
    harness.write_home("models: {big: {context_window: 1, tools: false}, other: {tools: false}}")
    harness.write_project("models: {big: {context_window: 2}}")
    harness.trust()
    loaded = harness.load()
    assert loaded.config.models == {
        "big": ModelSettings(context_window=2, tools=False),
        "other": ModelSettings(tools=False),
    }
    assert loaded.origins["models.big.context_window"] == ".clio/config.yaml:1"
    assert loaded.origins["models.big.tools"] == "~/.clio/config.yaml:1"


def test_a_file_named_on_the_command_line_replaces_the_users(harness: Harness, tmp_path: Path) -> None:
    harness.write_home("max_steps: 1")
    harness.write_project("context_window: 5")
    other = tmp_path / "other.yaml"
    other.write_text("ltm: false\napprove: all\n", encoding="utf-8")
    loaded = harness.load(config_file=other)
    assert (loaded.config.max_steps, loaded.config.ltm, loaded.config.approve) == (100, False, "all")
    assert loaded.files == (other, harness.project_file)
    with pytest.raises(ConfigError, match=r"--config '.*gone\.yaml': no such file"):
        harness.load(config_file=tmp_path / "gone.yaml")


def test_in_the_home_folder_the_users_file_is_read_once_and_trusted(harness: Harness) -> None:
    harness.write_home("approve: all")
    harness.project = harness.user
    loaded = harness.load()
    assert (loaded.config.approve, loaded.withheld, loaded.files) == ("all", (), (harness.home_file,))


def test_a_value_can_be_reset(harness: Harness) -> None:
    harness.write_home("context_window: 5")
    harness.write_project("context_window:")
    harness.trust()
    loaded = harness.load()
    assert (loaded.config.context_window, loaded.origins["context_window"]) == (None, ".clio/config.yaml:1")


def test_every_variable_and_every_flag_reaches_its_field(harness: Harness) -> None:
    samples = {"text": "x", "count": "7", "number": "0.5", "switch": "no", "texts": ("ls *", "cat *")}

    def sample(field: str) -> str | tuple[str, ...]:
        known = CONFIG_FIELDS[field]
        return known.choices[-1] if known.kind == "choice" else samples[known.kind]

    for variable in ENVIRONMENT_VARIABLES:
        loaded = harness.load({variable.name: str(sample(variable.field))})
        assert loaded.origins[variable.field] == f"environment {variable.name}"
    for flag in FLAGS:
        if flag.field:
            value = sample(flag.field) if flag.metavar else flag.value
            loaded = harness.load(**{flag.field: value})
            assert loaded.origins[flag.field] == f"flag {flag.long_name}"


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (
            {"CLIO_MAX_STEPS": "many"},
            "the environment variable CLIO_MAX_STEPS must be a whole number of at least 1, not 'many'",
        ),
        (
            {"CLIO_APPROVE": "al"},
            "the environment variable CLIO_APPROVE must be one of ask, edits, all, plan, not 'al'; did you mean 'all'?",
        ),
        ({"CLIO_DEBUG": "perhaps"}, "the environment variable CLIO_DEBUG must be true or false, not 'perhaps'"),
    ],
)
def test_an_invalid_variable_is_named(harness: Harness, env: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        harness.load(env)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"max_steps": "0"}, "--max-steps must be a whole number of at least 1, not '0'"),
        ({"context_window": "32k"}, "--context-window must be a whole number of at least 1, not '32k'"),
        (
            {"approve": "edit"},
            "--approve must be one of ask, edits, all, plan, not 'edit'; did you mean 'edits'?",
        ),
        ({"model": " "}, "--model must be text that is not empty, not ''"),
    ],
)
def test_an_invalid_flag_is_named(harness: Harness, flags: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        harness.load(**flags)
    assert str(caught.value) == message


def test_no_color_accepts_any_value(harness: Harness) -> None:
    assert not harness.load({"NO_COLOR": "0"}).config.color
    assert harness.load({"NO_COLOR": ""}).config.color


# Settings of one server belong together: (home file, environment, flags) -> (provider, base_url, api_key, model)
SERVERS: list[tuple[str, dict[str, str], dict[str, str], tuple[str | None, ...]]] = [
    ("", {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "u"}, {}, (None, "u", "k", None)),
    ("", {"OPENAI_API_KEY": "k", "CLIO_API_KEY": "c"}, {}, (None, None, "c", None)),
    ("base_url: f", {"OPENAI_BASE_URL": "u"}, {}, (None, "u", None, None)),
    # OpenAI's key goes to no other named provider
    ("", {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "u"}, {"provider": "anthropic"}, ("anthropic", None, None, None)),
    ("provider: groq", {"OPENAI_API_KEY": "k"}, {}, ("groq", None, None, None)),
    ("provider: openai", {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "u"}, {}, ("openai", "u", "k", None)),
    ("", {"OPENAI_API_KEY": "k"}, {"provider": "openai"}, ("openai", None, "k", None)),
    # another provider: URL, key and model of the lower layer are dropped
    ("provider: groq\nbase_url: f\napi_key: k\nmodel: m", {}, {"provider": "vllm"}, ("vllm", None, None, None)),
    ("provider: groq\nmodel: m\napi_key: k", {}, {"provider": "groq"}, ("groq", None, "k", "m")),
    ("base_url: f\napi_key: k\nmodel: m", {}, {"provider": "openai"}, ("openai", None, None, "m")),
    # another URL: key and provider are dropped
    ("provider: groq\napi_key: k\nmodel: m", {}, {"base_url": "u"}, (None, "u", None, "m")),
    # whether OpenAI's key may be sent to a URL is decided by the provider, which knows the URLs
    ("provider: groq\napi_key: k", {"OPENAI_API_KEY": "o"}, {"base_url": "u"}, (None, "u", None, None)),
    ("base_url: f\napi_key: k", {"OPENAI_API_KEY": "o"}, {}, (None, "f", "k", None)),
    ("base_url: f\napi_key: k", {"OPENAI_API_KEY": "o", "OPENAI_BASE_URL": "u"}, {}, (None, "u", "o", None)),
    ("api_key: k", {"OPENAI_API_KEY": "o"}, {}, (None, None, "o", None)),
    ("base_url: f\napi_key: k", {}, {"base_url": "u"}, (None, "u", None, None)),
    ("api_key: k", {"OPENAI_BASE_URL": "u"}, {}, (None, "u", "k", None)),
    ("base_url: f\napi_key: k", {}, {"base_url": "f"}, (None, "f", "k", None)),
    # environment and flags are one layer
    ("", {"CLIO_BASE_URL": "u", "CLIO_API_KEY": "k"}, {"provider": "vllm"}, ("vllm", "u", "k", None)),
    ("", {"CLIO_MODEL": "m"}, {"provider": "groq"}, ("groq", None, None, "m")),
]


@each_row(("home", "env", "flags", "expected"), SERVERS)
def test_no_key_goes_to_another_server(
    harness: Harness, home: str, env: dict[str, str], flags: dict[str, str], expected: tuple[str | None, ...]
) -> None:
    harness.write_home(home)
    config = harness.load(env, **flags).config
    assert (config.provider, config.base_url, config.api_key, config.model) == expected


fields = st.sampled_from(["model", "approve", "max_steps", "ltm", "deny", "context_window", "preference_floor"])
SAMPLES: dict[str, st.SearchStrategy[str | int | float | bool | None]] = {
    "model": st.sampled_from(["a", "b", None]),
    "approve": st.sampled_from(["ask", "plan"]),
    "max_steps": st.integers(1, 5),
    "ltm": st.booleans(),
    "deny": st.sampled_from(["x", "y", "z"]),
    "context_window": st.integers(1, 5) | st.none(),
    "preference_floor": st.floats(0.0, 0.5),
}
setting = fields.flatmap(lambda name: st.builds(lambda value: ((name,), value), SAMPLES[name]))


@given(st.lists(st.lists(setting, max_size=6), max_size=5))
def test_higher_layers_take_precedence_and_lists_are_combined(layers: list[list[tuple[tuple[str], object]]]) -> None:
    values: dict[tuple[str, ...], list[Setting]] = {}
    expected = msgspec.structs.asdict(Config())
    origins = dict.fromkeys(expected, "default")
    for number, layer in enumerate(layers):
        add_layer(values, [Setting(key=key, value=value, origin=f"layer {number}") for key, value in layer])  # type: ignore[arg-type]
        for (name,), value in layer:
            if name == "deny":
                if value not in expected["deny"]:
                    expected["deny"] = (*expected["deny"], value)
                    origins["deny"] = ", ".join(dict.fromkeys([*origins["deny"].split(", "), f"layer {number}"]))
            else:
                expected[name], origins[name] = value, f"layer {number}"
    origins["deny"] = origins["deny"].removeprefix("default, ")
    assert build_config(values) == Config(**expected)
    assert list_origins(values) == origins


def test_flags_name_existing_fields_and_formats() -> None:
    assert {flag.field for flag in FLAGS if flag.field} <= set(Config.__struct_fields__)
    assert set(OUTPUT_FORMATS) == set(OutputFormat.__args__)  # type: ignore[attr-defined]
    assert Options(cwd=Path.cwd()).output in OUTPUT_FORMATS
    for flag in FLAGS:
        if flag.field == "approve":
            assert all(choice in flag.summary for choice in CONFIG_FIELDS["approve"].choices)
