"""The output of `clio config show`."""

import json
from pathlib import Path

from clio.config.show import describe_withheld, format_config, format_config_files, format_config_json, format_trust
from clio.config.trust import trust_project
from tests.config.harness import Harness
from tests.support.wording import mentions


def test_every_value_is_shown_with_its_origin_and_no_secret(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    harness.write_home("api_key: sk-0123456789abcdef\nmodels: {big: {tools: no}}\ndeny: [rm *, dd *]\n")
    harness.write_project("approve: all\nmax_steps: 3\n")
    loaded = harness.load({"OPENAI_BASE_URL": "https://me:secret@models.example/v1"}, model="big")
    assert (
        format_config(loaded)
        == """\
model                      big                          flag --model
provider                   none                         default
base_url                   https://…@models.example/v1  environment OPENAI_BASE_URL
api_key                    …cdef                        ~/.clio/config.yaml:1
api_key_command            none                         default
api_key_command_ttl_s      3300                         default
api                        auto                         default
effort                     auto                         default
cache_ttl                  5m                           default
transport                  auto                         default
fetch_encodings            auto                         default
approve                    ask                          default
background_approvals       ask                          default
allow                      none                         default
deny                       rm *, dd *                   ~/.clio/config.yaml:3
sandbox                    off                          default
sandbox_write              none                         default
sandbox_caches             true                         default
sandbox_network            false                        default
confine_unasked            auto                         default
max_steps                  100                          default
max_cost                   none                         default
context_window             none                         default
max_output_tokens          none                         default
models.big.tools           false                        ~/.clio/config.yaml:2
fallback                   none                         default
fallback_cooldown_s        300                          default
light_model                none                         default
session_titles             true                         default
ltm                        true                         default
instructions               true                         default
hooks                      true                         default
checks                     auto                         default
language_servers           auto                         default
scenario                   none                         default
plugins                    none                         default
preference_half_life_days  30.0                         default
preference_floor           0.1                          default
notice                     true                         default
sleep                      true                         default
sleep_idle_s               120                          default
sleep_use_model            false                        default
sync                       off                          default
embedder                   hashed                       default
embedding_model            none                         default
embedding_folder           none                         default
embedding_base_url         none                         default
brain_across_sessions      false                        default
brain_distance             1.0                          default
stop_words                 none                         default
incognito                  false                        default
redact                     true                         default
redact_patterns            none                         default
private_network            false                        default
web_search                 off                          default
web_search_url             none                         default
checkpoints                true                         default
checkpoint_mb              500                          default
checkpoint_days            30                           default
job_days                   30                           default
command_timeout_s          120                          default
editing                    emacs                        default
attribution                none                         default
color                      true                         default
language                   auto                         default
theme                      auto                         default
hyperlinks                 auto                         default
screen_reader              false                        default
reasoning                  fold                         default
notify                     auto                         default
notify_after_s             10                           default
notify_command             none                         default
status_line                none                         default
terminal_title             true                         default
telemetry.endpoint         none                         default
telemetry.headers_env      none                         default
telemetry.traces           true                         default
telemetry.metrics          true                         default
telemetry.content          false                        default
debug                      false                        default

Not in effect until this project is trusted (trust it with: clio config trust):
  approve: all  (.clio/config.yaml:1)
  max_steps: 3  (.clio/config.yaml:2)"""
    )
    assert mentions(
        describe_withheld(loaded), "not trusted", "approve, max_steps", "clio config show", "clio config trust"
    )


def test_the_same_is_printed_as_json(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    harness.write_home("api_key: sk-0123456789abcdef\nallow: [ls]\n")
    harness.write_project("redact: off\n")
    report = json.loads(format_config_json(harness.load()))
    assert report["settings"]["api_key"] == {"value": "…cdef", "origin": "~/.clio/config.yaml:1"}
    assert report["settings"]["allow"] == {"value": ["ls"], "origin": "~/.clio/config.yaml:2"}
    assert report["settings"]["max_steps"] == {"value": 100, "origin": "default"}
    assert [(value["key"], value["value"]) for value in report["withheld"]] == [("redact", "false")]
    assert report["files"] == [str(harness.home_file), str(harness.project_file)]


def test_the_files_are_listed(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    harness.write_home("")
    other = tmp_path / "other.yaml"
    other.write_text("", encoding="utf-8")
    assert format_config_files(harness.load()).splitlines() == [
        f"user      {harness.home_file}",
        f"project   {harness.project_file}  (none)",
        f"trusted   {harness.home / 'trusted.json'}  (none)",
    ]
    assert format_config_files(harness.load(config_file=other)).splitlines()[-1] == f"--config  {other}"


def test_values_that_need_trust_are_listed(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    harness.write_project("approve: all\n")
    loaded = harness.load()
    assert format_trust(loaded).splitlines()[1:] == ["  approve: all  (.clio/config.yaml:1)"]
    trust_project(loaded)
    assert format_trust(harness.load()) == f"{harness.project}: nothing to trust"
