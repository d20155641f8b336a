"""clio controlled by a program: JSON lines in both directions, questions, output schemas, rules for one run."""

import asyncio
import base64
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, cast

import jsonschema
import pytest

from clio.agent.user_interface import Mailbox
from clio.entrypoints import headless_json
from tests.support.chat_server import ChatServer, stall, text, tool_calls
from tests.support.waiting import wait_until_async
from tests.support.wording import mentions
from tests.turns.test_oneshot import TOUCH, WRITE, clio, environment, project

__all__ = ["project"]  # the fixture

SCHEMA_OF_EVENTS = Path(__file__).parents[2] / "docs" / "formats" / "events.schema.json"
PNG_BASE64 = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 40).decode()
SCHEMA = {
    "type": "object",
    "properties": {"files": {"type": "array", "items": {"type": "string"}}, "sure": {"type": "boolean"}},
    "required": ["files", "sure"],
    "additionalProperties": False,
}


class Talk:
    """A running clio connected by two pipes."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process = process
        self._to, self._from = process.stdin, process.stdout
        self.events: list[dict[str, Any]] = []

    def say(self, line: object) -> None:
        self._to.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
        self._to.flush()

    def until(self, kind: str) -> dict[str, Any]:
        while line := self._from.readline():
            self.events.append(json.loads(line))
            if self.events[-1]["type"] == kind:
                return self.events[-1]
        raise AssertionError(f"no {kind}; {[event['type'] for event in self.events]}")

    def end(self) -> tuple[dict[str, Any], int]:
        self._to.close()
        return self.until("result"), self.process.wait(20)


@contextmanager
def talk(project: Path, server: ChatServer, *words: str) -> Iterator[Talk]:
    command = [sys.executable, "-m", "clio", "--input", "stream-json", "--output", "stream-json", *words]
    with subprocess.Popen(
        command, cwd=project, env=environment(server), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Talk(process)
        finally:
            process.kill()


def test_several_turns_with_questions_answered_by_the_program(project: Path) -> None:
    replies = [tool_calls([WRITE]), tool_calls([TOUCH]), text("Both."), text("Again.")]
    with ChatServer(replies) as server, talk(project, server) as one:
        began = one.until("session")
        assert (began["version"], began["model"], began["cwd"]) == (1, "test-model", str(project))
        one.say({"type": "user", "text": "do both"})
        asked = one.until("approval_requested")
        assert "+hello" in asked["diff"] and asked["risk"] in ("low", "medium", "high")
        one.say("not json")
        assert one.until("input_refused")["line"] == 2
        one.say({"type": "answer", "id": asked["id"], "answer": "yes"})
        asked = one.until("approval_requested")
        assert asked["command"] == "touch made"
        one.say({"type": "answer", "id": asked["id"], "answer": "no", "reason": "not today"})
        one.say({"type": "user", "text": "and again"})
        assert one.until("turn_finished")["text"] == "Both."
        assert one.until("turn_finished")["text"] == "Again."
        result, code = one.end()
    assert (project / "new.txt").read_text(encoding="utf-8") == "hello\n"
    assert not (project / "made").exists()
    assert "not today" in server.requests[2].body["messages"][-1]["content"]
    assert (result["status"], result["text"], result["files_changed"]) == ("done", "Again.", ["new.txt"])
    assert (result["session_id"], result["steps"]) == (began["session_id"], 4)
    assert code == 2  # one line was invalid
    schema = json.loads(SCHEMA_OF_EVENTS.read_text(encoding="utf-8"))
    kinds: Any = jsonschema.validators.validator_for(schema)  # pyright: ignore[reportUnknownMemberType]
    kinds.check_schema(schema)
    for event in one.events:
        kinds(schema).validate(event)


def test_a_running_turn_is_steered_and_stopped(project: Path) -> None:
    with ChatServer([tool_calls([TOUCH]), stall("Working on"), text("Next.")]) as server, talk(project, server) as one:
        one.say({"type": "user", "text": "begin"})
        asked = one.until("approval_requested")
        one.say({"type": "steer", "text": "only in docs/"})
        one.say({"type": "answer", "id": asked["id"], "answer": "no"})
        assert one.until("steered")["text"] == "only in docs/"
        one.until("text")
        one.say({"type": "interrupt"})
        assert one.until("turn_finished")["status"] == "interrupted"
        one.say({"type": "user", "text": "go on"})
        assert one.until("turn_finished")["status"] == "done"
        result, code = one.end()
    assert (code, result["text"]) == (0, "Next.")


def test_a_question_that_nobody_can_answer_ends_as_one_that_needs_approval(project: Path) -> None:
    with ChatServer([tool_calls([TOUCH]), text("no")]) as server, talk(project, server, "-p", "touch it") as one:
        one.until("approval_requested")
        result, code = one.end()
    assert (result["status"], result["exit_code"], code) == ("approval_needed", 4, 4)


def test_an_interrupt_of_the_process_is_reported_and_ends_it(project: Path) -> None:
    with ChatServer([stall("Working on")]) as server, talk(project, server, "-p", "long work") as one:
        one.until("text")
        one.process.send_signal(signal.SIGINT)
        result = one.until("result")
        assert (result["status"], one.process.wait(20)) == ("interrupted", 130)


def test_pictures_are_accepted_as_base64(project: Path) -> None:
    with ChatServer([text("A dot.")]) as server, talk(project, server, "-m", "gpt-4o") as one:
        one.say({"type": "user", "text": "what is this?", "images": [{"data": PNG_BASE64}]})
        one.say({"type": "user", "text": "and this?", "images": [{"data": "%%%"}]})
        one.until("turn_finished")
        _, code = one.end()
    assert any(part.get("type") == "image_url" for part in server.requests[0].body["messages"][-1]["content"])
    assert code == 2


def schema_file(project: Path, schema: object = SCHEMA) -> str:
    path = project.parent / "answer.schema.json"
    path.write_text(schema if isinstance(schema, str) else json.dumps(schema), encoding="utf-8")
    return str(path)


GOOD = '{"files": ["calc.py"], "sure": true}'


@pytest.mark.fast
def test_only_the_valid_answer_is_printed(project: Path) -> None:
    with ChatServer([tool_calls([("read_file", {"path": "calc.py"})]), text(f"```json\n{GOOD}\n```")]) as server:
        done = clio(project, "-p", "which files?", "--json-schema", schema_file(project), server=server)
    assert (done.returncode, json.loads(done.stdout)) == (0, json.loads(GOOD))
    assert '"additionalProperties": false' in str(server.requests[0].body["messages"][-1]["content"])


def test_an_invalid_answer_is_returned_with_the_reason_and_asked_again(project: Path) -> None:
    replies = [text("The file is calc.py."), text('{"files": [1], "sure": true}'), text(GOOD)]
    with ChatServer(replies) as server:
        done = clio(project, "-p", "which?", "--json-schema", schema_file(project), "--output", "json", server=server)
    report = json.loads(done.stdout)
    assert (done.returncode, report["structured"], report["steps"]) == (0, json.loads(GOOD), 3)
    assert "at files/0: 1 is not of type 'string'" in server.requests[2].body["messages"][-1]["content"]


def test_after_two_more_tries_it_fails(project: Path) -> None:
    with ChatServer([text("no"), text("[]"), text("{}")]) as server:
        done = clio(project, "-p", "which?", "--json-schema", schema_file(project), server=server)
    assert (done.returncode, done.stdout) == (7, "")
    assert mentions(done.stderr, "schema", "2 retries", "'files'", "required")


@pytest.mark.parametrize(
    ("schema", "message"),
    [("{", "is not JSON"), ('{"type": "strin"}', "is not a JSON Schema: at type"), ("[]", "must be an object")],
)
def test_an_invalid_schema_is_refused_before_anything_is_sent(project: Path, schema: str, message: str) -> None:
    with ChatServer([]) as server:
        done = clio(project, "-p", "which?", "--json-schema", schema_file(project, schema), server=server)
    assert done.returncode == 2 and message in done.stderr
    assert server.requests == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--allow", "touch *"), 0),
        (("--allow", "ls *", "--allow", "touch *"), 0),
        (("--allow", "touch *", "--deny", "touch *"), 0),
        (("--allow", "ls *"), 4),
    ],
)
def test_rules_for_one_run_apply(project: Path, words: tuple[str, ...], code: int) -> None:
    with ChatServer([tool_calls([TOUCH]), text("ok")]) as server:
        done = clio(project, "-p", "go", *words, server=server)
    assert done.returncode == code, done.stderr
    assert (project / "made").exists() is (words[-1] == "touch *" and "--deny" not in words)
    assert not (project / ".clio" / "config.yaml").exists()


def test_incompatible_options_are_reported_at_once(project: Path) -> None:
    for words, message in (
        (("--input", "stream-json"), "needs --output stream-json"),
        (("--input", "yaml", "-p", "x"), "--input must be one of text, stream-json, not 'yaml'"),
        (("--json-schema", "x.json", "-p", "x"), "cannot be read: No such file or directory"),
    ):
        done = clio(project, *words, OPENAI_BASE_URL="http://127.0.0.1:9", OPENAI_API_KEY="k")
        assert done.returncode == 2 and message in done.stderr, done.stderr


def test_a_killed_reader_ends_the_run(project: Path) -> None:
    with ChatServer([text("a " * 50_000)]) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "clio", "-p", "hi", "--output", "stream-json"],
            cwd=project,
            env=environment(server),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(20) == 141
        assert b"Traceback" not in process.stderr.read()
        process.stderr.close()


def test_the_rest_of_a_too_long_line_is_not_read_as_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headless_json, "MAX_LINE_BYTES", 100)
    interrupt, prompt = b'{"type":"interrupt"}', b'{"type":"user","text":"look"}'
    refused: list[headless_json.InputRefused] = []

    async def read(data: bytes) -> list[headless_json.StreamInput]:
        room = headless_json.InputRoom()
        return [one async for one in headless_json.read_stream_input(io.BytesIO(data), refused.append, room)]

    for rest in (interrupt, b"y" * 5_000 + b"\r" + interrupt, b""):
        refused.clear()
        data = b"x" * 101 + rest + b"\n" + b"x" * 101 + b"\n" + prompt + b"\n"
        assert asyncio.run(read(data)) == [headless_json.Prompt(text="look")]
        assert [one.line for one in refused] == [1, 2]
    assert asyncio.run(read(b"x" * 101 + interrupt)) == []


def test_unused_input_is_read_only_up_to_its_limit() -> None:
    limit, line = 20_000, b'{"type":"user","text":"look"}\n'
    room = headless_json.InputRoom(limit)
    refused: list[headless_json.InputRefused] = []

    async def read() -> int:
        count = 0
        async for _ in headless_json.read_stream_input(io.BytesIO(line * 500), refused.append, room):
            if count == 0:
                await wait_until_async(lambda: room.held > limit)
            assert room.held <= limit + 2_000
            count += 1
        return count

    assert asyncio.run(read()) == 500, "it continues when there is space again"
    assert refused == []


def test_an_answer_after_too_many_messages_is_read_and_the_messages_are_refused() -> None:
    room = headless_json.InputRoom(20_000)
    room.hold(20_001)
    room.add_questions(1)
    refused: list[headless_json.InputRefused] = []
    data = b'{"type":"user","text":"look"}\n' * 3 + b'{"type":"answer","id":"1","answer":"yes"}\n'

    async def read() -> list[headless_json.StreamInput]:
        return [one async for one in headless_json.read_stream_input(io.BytesIO(data), refused.append, room)]

    assert asyncio.run(read()) == [headless_json.Reply(id="1", answer="yes")]
    assert [one.line for one in refused] == [1, 2, 3] and "answer it" in refused[0].error


def test_a_message_after_a_withdrawn_question_is_accepted() -> None:
    room = headless_json.InputRoom(20_000)
    room.hold(20_001)
    room.add_questions(1)
    refused: list[headless_json.InputRefused] = []
    output, input = os.pipe()
    is_reading = threading.Event()

    class Pipe(io.FileIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            is_reading.set()
            return super().readline(size)

    async def read() -> list[headless_json.StreamInput]:
        with Pipe(output) as stream:
            lines = headless_json.read_stream_input(cast(BinaryIO, stream), refused.append, room)
            first = asyncio.ensure_future(anext(lines))
            await wait_until_async(is_reading.is_set)
            room.add_questions(-1)
            room.hold(-20_001)
            os.write(input, b'{"type":"user","text":"look"}\n')
            os.close(input)
            return [await first, *[one async for one in lines]]

    assert asyncio.run(read()) == [headless_json.Prompt(text="look")]
    assert refused == []


def test_queued_input_counts_until_it_is_used() -> None:
    questions = headless_json.StreamQuestions(lambda event: None)
    app = cast(Any, SimpleNamespace(mailbox=Mailbox(), pending_input=None))
    sizes: list[int] = []

    async def run_turn(text: str) -> Any:
        sizes.append(questions.room.held)
        if len(sizes) == 3:
            await wait_until_async(lambda: app.mailbox.waiting)
        return SimpleNamespace(exit_code=0)

    async def inputs() -> AsyncIterator[headless_json.StreamInput]:
        for _ in range(3):
            yield headless_json.Prompt(text="x" * 50_000)
        await wait_until_async(lambda: len(sizes) == 3 and run._running)  # pyright: ignore[reportPrivateUsage]
        yield headless_json.Steer(text="y" * 50_000)

    run = headless_json.StreamRun(app, questions, run_turn, lambda refused: None)
    assert asyncio.run(run.run("", inputs())) == 0
    assert len(sizes) == 4, "the steering message came too late and is a separate turn"
    assert max(sizes) > 100_000 and questions.room.held == 0
