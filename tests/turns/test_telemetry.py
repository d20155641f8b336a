"""Turns whose spans and metrics are sent to a real OTLP receiver, and what is never sent."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk", reason="needs the package opentelemetry-sdk")

from clio.agent.user_interface import Notice
from clio.commands.registry import run_command
from clio.config.layers import load_config
from clio.config.options import Options
from clio.mcp.client import load_sdk
from clio.security.approval import Answer
from clio.telemetry.signals import ATTRIBUTES, METRICS, RESOURCE, SPANS
from tests.support.chat_server import ChatServer, error, stall, text, tool_calls
from tests.support.harness import Harness, make_repository
from tests.support.otlp_collector import OtlpCollector, ReceivedSpan
from tests.support.waiting import wait_until_async
from tests.turns.conftest import MakeHarness
from tests.turns.test_mcp import ENTRY

READ = tool_calls([("read_file", {"path": "calc.py"})], usage=(900, 30, 600))
WRITE = tool_calls([("write_file", {"path": "one.txt", "content": "1\n"})])
SECRET = "sk-proj-" + "Zx81kq" * 8
PRICES = '"*":\n  test-model: {input: 2, cached: 0.2, output: 10}\n'


def set_up(folder: Path, collector: OtlpCollector | str, **settings: Any) -> None:
    """Write the user configuration before the clio of a test is built."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    endpoint = collector if isinstance(collector, str) else collector.url
    document = {"telemetry": {"endpoint": endpoint, **settings}}
    (home / "config.yaml").write_text(json.dumps(document), encoding="utf-8")
    (home / "prices.yaml").write_text(PRICES, encoding="utf-8")


def play(harness: Harness, *messages: str) -> None:
    """Run turns, then end clio."""

    async def whole() -> None:
        try:
            for message in messages:
                await harness.turn(message)
        finally:
            await harness.app.close()

    asyncio.run(whole())


def one(collector: OtlpCollector, name: str) -> ReceivedSpan:
    (span,) = collector.named(name)
    return span


def warnings(harness: Harness) -> list[str]:
    return [event.text for event in harness.events if isinstance(event, Notice) and "telemetry" in event.text]


def test_a_turn_is_a_trace_of_its_requests_and_calls(make_harness: MakeHarness, tmp_path: Path) -> None:
    with OtlpCollector() as collector:
        set_up(tmp_path, collector)
        harness = make_harness([READ, WRITE, text("Done.", usage=(1_000, 50, 800))])
        harness.user.approvals = [Answer(kind="once")]
        play(harness, "is add right?")
    turn = one(collector, "invoke_agent clio")
    assert turn.parent == "" and {span.trace for span in collector.spans} == {turn.trace}
    assert turn.attributes["gen_ai.conversation.id"] == harness.app.session.id
    assert turn.attributes["clio.turn.status"] == "done" and turn.attributes["clio.turn.steps"] == 3
    bill = harness.app.session.bills
    assert turn.attributes["gen_ai.usage.input_tokens"] == sum(one.prompt_tokens for one in bill)
    assert turn.attributes["clio.cost.usd"] == pytest.approx(sum(one.cost or 0 for one in bill) / 1e6)
    requests = collector.named("chat test-model")
    assert (
        len(requests) == 3
        and {span.parent for span in requests} == {turn.id}
        and {span.kind for span in requests} == {3}
    )
    attributes = requests[0].attributes
    assert attributes["gen_ai.usage.input_tokens"] == 900 and attributes["gen_ai.usage.output_tokens"] == 30
    assert attributes["gen_ai.usage.cache_read.input_tokens"] == 600
    assert attributes["gen_ai.response.finish_reasons"] == ["tool_calls"]
    assert attributes["server.address"] == "127.0.0.1" and attributes["server.port"] == int(
        harness.server.url.split(":")[2].split("/")[0]
    )
    read, write = one(collector, "execute_tool read_file"), one(collector, "execute_tool write_file")
    assert read.parent == write.parent == turn.id
    assert (read.attributes["clio.tool.result"], read.attributes["clio.tool.approval"]) == ("ok", "rule")
    assert (write.attributes["clio.tool.result"], write.attributes["clio.tool.approval"]) == ("ok", "user")
    assert not any(span.is_error for span in collector.spans)
    assert set(collector.resources[0]) == set(RESOURCE) and collector.resources[0]["service.name"] == "clio"


def test_only_the_listed_attributes_are_sent_and_no_content(make_harness: MakeHarness, tmp_path: Path) -> None:
    with OtlpCollector() as collector:
        set_up(tmp_path, collector)
        harness = make_harness(
            [
                tool_calls([("read_file", {"path": "calc.py"}), ("marzipan_tool", {"a": "marzipan"})]),
                tool_calls([("run_command", {"command": "echo marzipan"})]),
                text("The marzipan is in calc.py."),
            ]
        )
        play(harness, f"where is the marzipan? {SECRET}")
    assert len(collector.spans) == 7
    for span in collector.spans:
        kind = next(one for one in SPANS.values() if one.name.partition(" ")[0] == span.name.partition(" ")[0])
        assert set(span.attributes) <= set(kind.attributes) <= set(ATTRIBUTES)
        assert span.events == 0 and span.status_text == ""
    assert collector.metric_names <= set(METRICS)
    sent = b"".join(body for _, body in collector.bodies)
    for private in ("marzipan", "calc.py", "echo", "add(a", SECRET, str(tmp_path), tmp_path.name, "is in"):
        assert private.encode() not in sent, private
    unknown = one(collector, "execute_tool unknown")
    assert unknown.is_error and unknown.attributes["error.type"] == "failed"


def test_content_is_sent_only_on_request_and_without_secrets(make_harness: MakeHarness, tmp_path: Path) -> None:
    with OtlpCollector() as collector:
        set_up(tmp_path, collector, content=True)
        harness = make_harness([READ, text(f"It subtracts, {SECRET}.")])
        play(harness, f"is add right? {SECRET}")
    turn, read = one(collector, "invoke_agent clio"), one(collector, "execute_tool read_file")
    assert turn.attributes["gen_ai.input.messages"].startswith("is add right? [REDACTED")
    assert turn.attributes["gen_ai.output.messages"].startswith("It subtracts, [REDACTED")
    assert json.loads(read.attributes["gen_ai.tool.call.arguments"]) == {"path": "calc.py"}
    assert "return a - b" in read.attributes["gen_ai.tool.call.result"]
    assert SECRET.encode() not in b"".join(body for _, body in collector.bodies)


def test_metrics_count_tokens_cost_calls_and_errors(make_harness: MakeHarness, tmp_path: Path) -> None:
    with OtlpCollector() as collector:
        set_up(tmp_path, collector)
        harness = make_harness(
            [READ, tool_calls([("read_file", {"path": "no.py"})], usage=(100, 10)), text("No.", usage=(100, 10))]
        )
        play(harness, "look", "again")  # the script has ended: the second turn fails
    tokens = {one.attributes["gen_ai.token.type"]: one for one in collector.points("gen_ai.client.token.usage")}
    assert (tokens["input"].value, tokens["input"].count, tokens["output"].value) == (1_100, 3, 50)
    (cached,) = collector.points("clio.cached_tokens")
    assert cached.value == 600
    (cost,) = collector.points("clio.cost")
    assert cost.value == pytest.approx(sum(one.cost or 0 for one in harness.app.session.bills) / 1e6)
    calls = {one.attributes["clio.tool.result"]: one.value for one in collector.points("clio.tool.calls")}
    assert calls == {"ok": 1, "failed": 1}
    turns = {one.attributes["clio.turn.status"]: one.count for one in collector.points("clio.turn.duration")}
    assert turns == {"done": 1, "failed": 1}
    errors = {
        (one.attributes["gen_ai.operation.name"], one.attributes["error.type"]): one.value
        for one in collector.points("clio.errors")
    }
    assert errors == {("execute_tool", "failed"): 1, ("chat", "ServerFailed"): 1, ("invoke_agent", "failed"): 1}


def test_a_sub_agent_is_below_the_call_that_started_it(make_harness: MakeHarness, tmp_path: Path) -> None:
    with OtlpCollector() as collector:
        set_up(tmp_path, collector)
        harness = make_harness(
            [
                tool_calls([("delegate", {"task": "look"}), ("delegate", {"task": "look too"})]),
                text("one"),
                text("two"),
                text("Both."),
            ]
        )
        play(harness, "is add right?")
    turn = one(collector, "invoke_agent clio")
    calls = collector.named("execute_tool delegate")
    agents = collector.named("invoke_agent general")
    assert {span.parent for span in calls} == {turn.id} and len(agents) == 2
    assert {span.parent for span in agents} == {span.id for span in calls}
    by_parent = [span.parent for span in collector.named("chat test-model")]
    assert sorted(by_parent) == sorted([turn.id, turn.id, *(span.id for span in agents)])
    assert {span.trace for span in collector.spans} == {turn.trace}


def test_a_background_agent_uses_the_same_telemetry(make_harness: MakeHarness, tmp_path: Path) -> None:
    def script(request: dict[str, Any]) -> Any:
        if "sub-agent of clio" in request["messages"][0]["content"]:
            return text("looked")
        asked = any(message["role"] == "tool" for message in request["messages"])
        return text("Started.") if asked else tool_calls([("delegate", {"task": "look", "background": True})])

    async def whole(harness: Harness) -> None:
        await harness.turn("go")
        await wait_until_async(lambda: any("agent1 has ended" in event.text for event in harness.seen(Notice)))
        await harness.app.close()

    with OtlpCollector() as collector:
        set_up(tmp_path, collector)
        asyncio.run(whole(make_harness(script)))
    turn, agent = one(collector, "invoke_agent clio"), one(collector, "invoke_agent general")
    (call,) = collector.named("execute_tool delegate")
    assert (agent.parent, call.parent, agent.trace) == (call.id, turn.id, turn.trace)


def test_calls_of_mcp_servers_are_below_their_tool_call(make_harness: MakeHarness, tmp_path: Path) -> None:
    with OtlpCollector() as collector:
        set_up(tmp_path, collector)
        load_sdk()  # its import takes most of the start-up time on a busy machine
        (tmp_path / "home" / "mcp.yaml").write_text(json.dumps({"mcpServers": {"peer": ENTRY}}), encoding="utf-8")
        harness = make_harness([tool_calls([("mcp_peer_add", {"a": 2, "b": 40}), ("mcp_peer_fail", {})]), text("42")])
        harness.user.approvals = [Answer(kind="once"), Answer(kind="no")]
        play(harness, "add")
    tool, call = one(collector, "execute_tool mcp_peer_add"), one(collector, "tools/call")
    assert call.parent == tool.id and call.kind == 3 and call.attributes["clio.mcp.server"] == "peer"
    assert tool.attributes["gen_ai.tool.type"] == "extension"
    refused = one(collector, "execute_tool mcp_peer_fail")
    assert refused.attributes["clio.tool.result"] == "refused" and refused.attributes["clio.tool.approval"] == "none"


def test_failed_and_interrupted_requests_are_errors_with_their_class(make_harness: MakeHarness, tmp_path: Path) -> None:
    async def whole(harness: Harness) -> None:
        running = asyncio.create_task(harness.turn("go"))
        await wait_until_async(lambda: len(harness.server.requests) == 2)
        running.cancel()
        await asyncio.wait({running})
        await harness.app.close()

    with OtlpCollector() as collector:
        set_up(tmp_path, collector)
        asyncio.run(whole(make_harness([error(500, {"error": {"message": "marzipan"}}), stall("never")])))
    turn = one(collector, "invoke_agent clio")
    assert turn.is_error and turn.attributes["clio.turn.status"] == turn.attributes["error.type"] == "interrupted"
    first, second = collector.named("chat test-model")
    assert [span.attributes["error.type"] for span in (first, second)] == ["ServerFailed", "interrupted"]
    assert b"marzipan" not in b"".join(body for _, body in collector.bodies)


def test_a_trim_of_the_window_is_a_span(make_harness: MakeHarness, tmp_path: Path) -> None:
    with OtlpCollector() as collector:
        set_up(tmp_path, collector)
        harness = make_harness([text("word " * 3_000), text("short"), text("end")], context_window="8000")
        play(harness, "one", "two " * 3_000, "three")
    trims = collector.named("compaction")
    assert trims and all(span.attributes["clio.compaction.freed_tokens"] > 0 for span in trims)
    turns = {span.id for span in collector.named("invoke_agent clio")}
    assert {span.parent for span in trims} <= turns


def test_a_manual_trim_is_a_separate_span(make_harness: MakeHarness, tmp_path: Path) -> None:
    with OtlpCollector() as collector:
        set_up(tmp_path, collector)
        harness = make_harness([text("word " * 300), text("end")])

        async def trim_between_turns() -> None:
            await harness.turn("one")
            await harness.turn("two " * 300)
            assert "archive" in run_command(harness.app, "/session trim").text
            await harness.app.close()

        asyncio.run(trim_between_turns())
    (span,) = collector.named("compaction")
    assert span.attributes["clio.compaction.stage"] == "manual" and not span.parent


@pytest.mark.parametrize("sent", ["traces", "metrics"])
def test_each_signal_can_be_sent_alone(make_harness: MakeHarness, tmp_path: Path, sent: str) -> None:
    with OtlpCollector() as collector:
        set_up(tmp_path, collector, traces=sent == "traces", metrics=sent == "metrics")
        play(make_harness([text("hi")]), "hi")
    assert {path for path, _ in collector.bodies} == {f"/v1/{sent}"}


def test_headers_come_from_a_variable_and_are_secrets(
    make_harness: MakeHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-other=of-another-collector")
    with OtlpCollector() as collector:
        set_up(tmp_path, collector, headers_env="MY_HEADERS")
        make_harness([])  # only for its folders
        harness = make_harness([tool_calls([("run_command", {"command": "echo the-collectors-key"})]), text("ok")])
        harness.env["MY_HEADERS"] = "X-Api-Key=the-collectors-key, x-team = blue"
        harness.app = harness.build()
        play(harness, "print it")
    assert all(one["x-api-key"] == "the-collectors-key" and one["x-team"] == "blue" for one in collector.headers)
    assert not any("x-other" in one for one in collector.headers)
    assert "the-collectors-key" not in str(harness.app.session.messages)


def test_an_unreachable_collector_is_named_once_and_delays_nothing(make_harness: MakeHarness, tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    set_up(tmp_path, f"http://{address}/")
    harness = make_harness([text("one"), text("two"), text("three")])
    play(harness, "1", "2", "3")
    (warning,) = warnings(harness)
    assert address in warning and "refused" in warning


@pytest.mark.parametrize(("status", "reason"), [(401, "Unauthorized"), (400, "\x1b[31mBad"), (503, "Busy")])
def test_a_collector_that_refuses_is_named_once(
    make_harness: MakeHarness, tmp_path: Path, status: int, reason: str
) -> None:
    with OtlpCollector(status=status, reason=reason) as collector:
        set_up(tmp_path, collector)
        harness = make_harness([text("one"), text("two")])
        play(harness, "1", "2")
    (warning,) = warnings(harness)
    assert reason.rpartition("m")[2] in warning and "\x1b" not in warning


def test_a_collector_that_never_answers_does_not_delay_the_exit(
    make_harness: MakeHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clio.telemetry.telemetry.FLUSH_S", 0.2)
    with OtlpCollector(stalls=True) as collector:
        set_up(tmp_path, collector)
        harness = make_harness([text("one")])
        play(harness, "1")
        assert len(warnings(harness)) == 1


def test_an_invalid_endpoint_is_named_and_nothing_is_sent(make_harness: MakeHarness, tmp_path: Path) -> None:
    set_up(tmp_path, "localhost:4317")
    harness = make_harness([text("one"), text("two")])
    play(harness, "1", "2")
    (warning,) = warnings(harness)
    assert "telemetry.endpoint" in warning


def test_a_repository_cannot_configure_telemetry(make_harness: MakeHarness, tmp_path: Path) -> None:
    with OtlpCollector() as collector:
        harness = make_harness([text("one")])
        (harness.project / ".clio").mkdir(exist_ok=True)
        (harness.project / ".clio" / "config.yaml").write_text(
            f"telemetry:\n  endpoint: {collector.url}\n  content: true\n", encoding="utf-8"
        )
        harness.loaded = load_config(Options(cwd=harness.project, overrides=harness.overrides), harness.env)
        assert any("telemetry.endpoint has no effect in a project" in problem for problem in harness.loaded.problems)
        harness.app = harness.build()
        play(harness, "1")
    assert harness.app.runtime.telemetry is None and collector.bodies == []


def test_incognito_sends_nothing(make_harness: MakeHarness, tmp_path: Path) -> None:
    with OtlpCollector() as collector:
        set_up(tmp_path, collector)
        play(make_harness([text("one")], incognito=True), "1")
    assert collector.bodies == []


MODULES = """
import sys
from clio.cli import main
code = main(["-p", "hi"])
print(code, *sys.modules, file=sys.stderr)
"""


def run_question(folder: Path, **env: str) -> tuple[subprocess.CompletedProcess[str], set[str]]:
    """Run one `clio -p` in a separate process; return the modules that it loaded."""
    project = folder / "project"
    if not project.exists():
        make_repository(project, {"a.py": ""})
    with ChatServer([text("hello")]) as server:
        own = {
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "k",
            "CLIO_MODEL": "m",
            "CLIO_HOME": str(folder / "home"),
        }
        done = subprocess.run(
            [sys.executable, "-c", MODULES],
            capture_output=True, text=True, timeout=60, check=True, env=dict(os.environ) | own | env, cwd=project,
        )  # fmt: skip
    assert done.stdout == "hello\n"
    return done, set(done.stderr.splitlines()[-1].split())


def test_one_question_is_exported_before_clio_exits(tmp_path: Path) -> None:
    with OtlpCollector() as collector:
        set_up(tmp_path, "env")
        run_question(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_EXPORTER_OTLP_HEADERS="x-key=abc")
    assert [span.name for span in collector.spans] == ["chat m", "invoke_agent clio"]
    assert {one["x-key"] for one in collector.headers} == {"abc"}


def test_without_the_setting_nothing_is_imported_or_sent_whatever_the_environment(tmp_path: Path) -> None:
    with OtlpCollector() as collector:
        _, plain = run_question(tmp_path)
        _, loaded = run_question(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_TRACES_EXPORTER="otlp")
    assert collector.bodies == []
    assert {name for name in loaded if "telemetry" in name or name.startswith(("requests", "google"))} == set()
    assert loaded == plain


def test_a_missing_package_is_named_once_and_the_answer_arrives(tmp_path: Path) -> None:
    set_up(tmp_path, "http://127.0.0.1:9")
    hidden = tmp_path / "hidden" / "opentelemetry"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError('not here')\n", encoding="utf-8")
    done, _ = run_question(tmp_path, PYTHONPATH=str(hidden.parent))
    assert done.stderr.count("clio-shell[telemetry]") == 1
