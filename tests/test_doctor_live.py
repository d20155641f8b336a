"""`clio doctor` on protocol, effort and cache; and its one request to the model, which is sent only with --live."""

import os
from pathlib import Path
from typing import Any

import pytest

from clio.config.options import Options
from clio.entrypoints.doctor.findings import Finding
from clio.entrypoints.doctor.report import collect_findings
from tests.entrypoints.repl_support import clio, make_place
from tests.support.chat_server import error, text
from tests.support.protocol_server import ProtocolAnswer, ProtocolServer

ANSWER = ProtocolAnswer(text="OK", usage=(40, 3, 0, 0))


def look(folder: Path, settings: str, server: ProtocolServer, *, live: bool = True, **flags: str) -> list[Finding]:
    """Return findings about the model and the request, with these settings in the user configuration."""
    (folder / "project").mkdir(exist_ok=True)
    (folder / "home").mkdir(exist_ok=True)
    (folder / "home" / "config.yaml").write_text(settings, encoding="utf-8")
    env = {"HOME": str(folder), "CLIO_HOME": str(folder / "home"), "PATH": os.environ["PATH"], "OPENAI_API_KEY": "k"}
    options = Options(cwd=folder / "project", overrides={"base_url": server.url} | flags)
    return [one for one in collect_findings(options, env, fetch=False, live=live) if one.about in ABOUT]


ABOUT = ("protocol", "effort", "cache", "live")


def line(found: list[Finding], about: str) -> str:
    (one,) = [one for one in found if one.about == about]
    return f"{one.mark} {one.line}"


@pytest.mark.parametrize(
    ("protocol", "effort", "field", "cache"),
    [
        ("chat", "high", "reasoning_effort=high", ""),
        ("responses", "high", "reasoning.effort=high", "prompt_cache_key"),
        ("messages", "high", "output_config.effort=high", "cache_control on tools, messages, system"),
    ],
)
def test_each_protocol_names_its_fields_and_answers_once(
    tmp_path: Path, protocol: str, effort: str, field: str, cache: str
) -> None:
    with ProtocolServer([ANSWER]) as server:
        found = look(tmp_path, f"api: {protocol}\neffort: {effort}\n", server, model="claude-opus-5-9")
        requests = list(server.requests)
    assert f"ok protocol: {protocol} (" in line(found, "protocol") and "set as api" in line(found, "protocol")
    assert f"high: sent as {field}" in line(found, "effort")
    assert cache in line(found, "cache")
    live = line(found, "live")
    assert f"claude-opus-5-9 answered over {protocol} in " in live and " ms" in live
    assert "40 tokens in, 3 out" in live and "$0" in live  # a server on this machine is free
    (request,) = requests
    assert len(request.body["tools"]) == 1


def test_without_the_flag_no_prompt_is_sent(tmp_path: Path) -> None:
    with ProtocolServer([ANSWER]) as server:
        found = look(tmp_path, "", server, live=False, model="m")
        assert server.requests == []
    assert [one.about for one in found] == ["protocol", "effort", "cache"]
    assert "auto: not sent" in line(found, "effort")


def test_an_effort_the_model_is_not_known_to_support_is_a_note(tmp_path: Path) -> None:
    with ProtocolServer([]) as server:
        found = look(tmp_path, "effort: max\n", server, live=False, model="gpt-5.1")
    assert line(found, "effort").startswith("note effort: max") and "none, low, medium, high" in line(found, "effort")


@pytest.mark.parametrize(
    ("answer", "message"),
    [(error(401, "Incorrect API key provided"), "key"), (error(404, "The model `m` does not exist"), "m")],
)
def test_an_error_is_one_sentence_and_exit_code_1(tmp_path: Path, answer: Any, message: str) -> None:
    with ProtocolServer([answer]) as server:
        found = look(tmp_path, "", server, model="m")
    live = line(found, "live")
    assert live.startswith("fix live: ") and message in live and "\n" not in live


def test_a_refused_effort_is_reported_with_what_is_used_instead(tmp_path: Path) -> None:
    refusal = error(
        400,
        "Unsupported value: 'reasoning_effort' does not support 'max' with this model. "
        "Supported values are: 'low', 'medium', and 'high'.",
    )
    with ProtocolServer([refusal, text("OK")]) as server:
        found = look(tmp_path, "effort: max\n", server, model="m")
    assert line(found, "live").startswith("note live: ") and "'high'" in line(found, "live")


def test_a_cost_limit_is_respected(tmp_path: Path) -> None:
    with ProtocolServer([ANSWER]) as server:
        host = server.url.split("/")[2]
        (tmp_path / "home").mkdir()
        prices = f'"{host}":\n  m: {{input: 1000, output: 5000}}\n'
        (tmp_path / "home" / "prices.yaml").write_text(prices, encoding="utf-8")
        found = look(tmp_path, "max_cost: 0.01\n", server, model="m")
        assert server.requests == []
    assert "max-cost" in line(found, "live")


def test_the_process_sends_the_request_and_exits_with_0(tmp_path: Path) -> None:
    with ProtocolServer([ANSWER]) as server:
        place = make_place(tmp_path, server)
        done = clio(place, "doctor", "--live")
    assert "live: test-model answered over chat" in done.stdout
    assert done.returncode == 0, done.stdout


def test_offline_no_request_is_sent(tmp_path: Path) -> None:
    with ProtocolServer([]) as server:
        (tmp_path / "project").mkdir()
        env = {"HOME": str(tmp_path), "CLIO_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
        options = Options(cwd=tmp_path / "project", overrides={"provider": "offline"})
        found = [one for one in collect_findings(options, env, fetch=False, live=True) if one.about == "live"]
        assert server.requests == []
    assert found[0].mark == "note"
