"""Work that outgrows the window: nothing fails, nothing is lost, and a refusal leads to a smaller request."""

import asyncio
import itertools
import json
from typing import Any

import msgspec
import pytest

from clio.agent.user_interface import ContextTrimmed, TurnFinished
from clio.commands.registry import run_command
from clio.messages import ToolMessage, UserMessage
from tests.support.chat_server import Reply, empty_stream, error, raw_sse, text, tool_calls
from tests.turns.conftest import MakeHarness

LINES = "".join(f"value_{number} = {number}  # one line of a longer file\n" for number in range(60))


def openai(message: str, code: str | None = "context_length_exceeded", status: int = 400) -> Reply:
    return error(status, {"error": {"message": message, "type": "invalid_request_error", "code": code}})


# Each is the error of another server: a JSON body, plain text, an object inside a stream that began with 200.
REFUSALS = {
    "openai": openai(
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
    ),
    "azure": openai("Input tokens exceed the configured limit of 8000 tokens. Your messages resulted in 9123 tokens."),
    "anthropic": error(
        400, {"type": "error", "error": {"type": "x", "message": "prompt is too long: 9100 tokens > 8192 maximum"}}
    ),
    "gemini": error(
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": "The input token count (9000) exceeds the maximum number of tokens allowed (8192).",
                }
            }
        ],
    ),
    "mistral": openai("Prompt contains 9000 tokens, too large for model with 8192 maximum context length", None),
    "xai": openai("This model's maximum prompt length is 8192 but the request contains 9000 tokens.", None),
    "llamacpp": error(
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 9000,
                "n_ctx": 8192,
            }
        },
    ),
    "lmstudio": error(
        400,
        "tokens to keep from the initial prompt is greater than the context length",
    ),
    "ollama": error(400, {"error": "prompt too long; exceeded max context length by 12 tokens"}),
    "tgi": error(422, {"error": "Input validation error: `inputs` must have less than 8192 tokens. Given: 9000"}),
    "vllm": error(
        400,
        {
            "object": "error",
            "message": "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
            "code": 400,
        },
    ),
    "sglang": error(400, "The input (9000 tokens) is longer than the model's context length (8192 tokens)."),
    "bedrock": error(400, {"message": "Input is too long for requested model."}),
    "413": error(413, "request_too_large: Request exceeds the maximum size"),
    "500 in words": error(500, {"error": {"message": "litellm.ContextWindowExceededError: too many", "code": "400"}}),
    "in the stream": raw_sse(
        [
            {
                "error": {
                    "message": "Your input exceeds the context window of this model",
                    "code": "context_length_exceeded",
                }
            }
        ]
    ),
    "in the stream, late": raw_sse(
        [
            {
                "id": "1",
                "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}],
            },
            {
                "error": {
                    "message": "requested tokens exceed context window",
                    "code": 400,
                    "type": "context_window_exceeded",
                }
            },
        ]
    ),
}


def reads(rounds: int, name: str = "big") -> list[Any]:
    """Return this many answers that read a file each."""
    return [tool_calls([("read_file", {"path": f"{name}{number}.py"})]) for number in range(rounds)]


def write_files(harness: Any, count: int, text: str = LINES, name: str = "big") -> None:
    for number in range(count):
        (harness.project / f"{name}{number}.py").write_text(f"# file {number}\n{text}", encoding="utf-8")


def bodies(harness: Any) -> list[dict[str, Any]]:
    return [request.body for request in harness.server.requests]


def sizes(harness: Any) -> list[int]:
    return [len(request.raw) for request in harness.server.requests]


def asked(body: dict[str, Any], words: str) -> bool:
    return any(words in (message["content"] or "") for message in body["messages"] if message["role"] == "user")


def paired(body: dict[str, Any]) -> bool:
    """Whether each call is followed by its result, and each result follows its call."""
    waiting: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            if not waiting or waiting.pop(0) != message["tool_call_id"]:
                return False
        elif waiting:
            return False
        waiting = waiting or [call["id"] for call in message.get("tool_calls") or []]
    return not waiting


@pytest.mark.sampled(6)
@pytest.mark.parametrize("server", REFUSALS)
def test_a_refusal_of_any_server_is_answered_with_a_smaller_request(make_harness: MakeHarness, server: str) -> None:
    harness = make_harness([*reads(6), REFUSALS[server], text("done")], context_window=60_000)
    write_files(harness, 6)
    finished = asyncio.run(harness.turn("look at the big files"))
    assert (finished.status, finished.text) == ("done", "done")
    refused, accepted = sizes(harness)[-2:]
    assert accepted < refused
    assert all(asked(body, "look at the big files") and paired(body) for body in bodies(harness))
    trims = [event for event in harness.seen(ContextTrimmed) if event.stage == "reactive"]
    assert len(trims) == 1
    assert "freed" in trims[0].description


def test_three_refusals_get_three_smaller_requests(make_harness: MakeHarness) -> None:
    refusal = openai("maximum context length exceeded")
    harness = make_harness([*reads(8), refusal, refusal, refusal, text("at last")], context_window=60_000)
    write_files(harness, 8)
    finished = asyncio.run(harness.turn("look at the big files"))
    assert (finished.status, finished.text) == ("done", "at last")
    refused = sizes(harness)[8:]
    assert len(refused) == 4
    assert refused == sorted(set(refused), reverse=True)
    last = bodies(harness)[-1]["messages"]
    assert [message["role"] for message in last] == ["system", "user", "assistant", "tool"]
    assert last[1]["content"].startswith("<thread_summary>")
    assert last[1]["content"].endswith("look at the big files")


def test_a_fourth_refusal_is_a_clear_failure(make_harness: MakeHarness) -> None:
    harness = make_harness([*reads(8), *[openai("maximum context length exceeded")] * 4], context_window=60_000)
    write_files(harness, 8)

    async def run_turns() -> tuple[TurnFinished, TurnFinished]:
        failed = await harness.turn("look at the big files")
        harness.server.add(text("small now"))
        return failed, await harness.turn("go on")

    failed, after = asyncio.run(run_turns())
    assert (failed.status, failed.exit_code) == ("context_full", 3)
    assert "the server refused" in failed.error
    assert len(bodies(harness)) == 8 + 4 + 1
    assert (after.status, after.text) == ("done", "small now")
    assert len(harness.app.session.messages) == 1 + 16 + 1 + 1  # the whole conversation is still there


@pytest.mark.parametrize("window", [8_192, 16_384, 32_768, 131_072])
def test_the_first_message_is_in_the_first_request(make_harness: MakeHarness, window: int) -> None:
    harness = make_harness([text("hello")], models=[{"id": "test-model", "max_model_len": window}])
    instructions = "Use tabs. " * 4_000  # far more than a small window has space for
    (harness.project / "AGENTS.md").write_text(instructions, encoding="utf-8")
    words = "explain this stack trace:\n" + "  File 'a.py', line 3\n" * 200
    finished = asyncio.run(harness.turn(words))
    assert finished.status == "done"
    sent = bodies(harness)[0]
    assert asked(sent, words.strip())
    assert len(harness.server.requests[0].raw) / 4 <= window
    small = window <= 16_384
    assert (len(sent["tools"]) <= 11) is small


def test_a_window_that_is_too_small_is_reported_with_the_numbers(make_harness: MakeHarness) -> None:
    harness = make_harness([text("never")], context_window=2_048)
    finished = asyncio.run(harness.turn("words " * 2_000))
    assert (finished.status, finished.exit_code) == ("context_full", 3)
    assert bodies(harness) == []
    assert "2,048" in finished.error
    assert "your message" in finished.error


def test_a_too_long_message_does_not_break_the_session(make_harness: MakeHarness) -> None:
    harness = make_harness([text("long"), text("fine")], context_window=8_192)

    async def run_turns() -> list[TurnFinished]:
        return [await harness.turn("words " * 8_000), await harness.turn("a shorter question")]

    long, short = asyncio.run(run_turns())
    assert (long.status, short.status, short.text) == ("done", "done", "fine")
    assert max(sizes(harness)) / 4 < 8_192
    message = harness.app.session.messages[0]
    assert isinstance(message, UserMessage)
    assert message.blob is not None
    assert harness.app.session.read_blob(message.blob) == "words " * 8_000  # unchanged, saved with the session


def test_only_empty_answers_to_a_large_request_mean_that_it_does_not_fit(
    make_harness: MakeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clio.agent.model_request.retry_delay", lambda *_: 0.0)
    harness = make_harness([*reads(8), *[empty_stream()] * 3, text("done")], context_window=16_384)
    write_files(harness, 8)
    finished = asyncio.run(harness.turn("look at the big files"))
    assert (finished.status, finished.text) == ("done", "done")
    assert sizes(harness)[-1] < sizes(harness)[-2] == sizes(harness)[-4]


def test_empty_answers_to_a_small_request_are_a_server_failure(
    make_harness: MakeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clio.agent.model_request.retry_delay", lambda *_: 0.0)
    harness = make_harness([empty_stream()] * 5, context_window=128_000)
    finished = asyncio.run(harness.turn("hello"))
    assert (finished.status, finished.exit_code, len(bodies(harness))) == ("failed", 1, 5)


class StrictServer:
    """A server that counts four bytes per token and refuses what does not fit its window."""

    def __init__(self, window: int, script: list[Any], *, refusal: Reply | None = None) -> None:
        self.window = window
        self.script = script
        self.refusal = refusal or openai("too long")
        self.refused = 0

    def __call__(self, body: dict[str, Any]) -> Reply:
        if len(json.dumps(body, ensure_ascii=False)) / 4 > self.window:
            self.refused += 1
            return self.refusal
        return self.script.pop(0)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("window", "rounds"), [(8_192, 60), (16_384, 60), (32_768, 40)])
def test_sixty_tool_calls_without_a_failed_request(make_harness: MakeHarness, window: int, rounds: int) -> None:
    server = StrictServer(window, [*reads(rounds), text("all read")])
    harness = make_harness([server] * (rounds + 1), context_window=window, max_steps=100)
    write_files(harness, rounds)
    finished = asyncio.run(harness.turn("read every big file"))
    assert (finished.status, finished.text, finished.steps, server.refused) == ("done", "all read", rounds + 1, 0)
    assert all(asked(body, "read every big file") and paired(body) for body in bodies(harness))
    assert len(harness.seen(ContextTrimmed)) >= 1
    results = [message for message in harness.app.session.messages if isinstance(message, ToolMessage)]
    assert [message.content.count("value_59 = 59") for message in results] == [1] * rounds  # archived completely


def test_a_smaller_window_than_announced_is_learned_once(make_harness: MakeHarness) -> None:
    refusal = openai("This model's maximum context length is 8192 tokens.")
    server = StrictServer(8_192, [*reads(40), text("all read")], refusal=refusal)
    harness = make_harness([server] * 50, context_window=128_000, max_steps=100)
    write_files(harness, 40)
    finished = asyncio.run(harness.turn("read every big file"))
    assert (finished.status, finished.text) == ("done", "all read")
    assert server.refused <= 2
    assert len(bodies(harness)[-1]["tools"]) < len(bodies(harness)[0]["tools"])  # the small set, for a small window


def test_a_smaller_window_without_an_announcement_is_learned_too(make_harness: MakeHarness) -> None:
    server = StrictServer(16_384, [*reads(60), text("all read")])
    harness = make_harness([server] * 80, context_window=128_000, max_steps=100)
    write_files(harness, 60)
    finished = asyncio.run(harness.turn("read every big file"))
    assert (finished.status, finished.text) == ("done", "all read")
    assert server.refused <= 3


def test_one_very_large_answer_of_parallel_calls_fits_a_small_window(make_harness: MakeHarness) -> None:
    calls = [("read_file", {"path": f"big{number}.py"}) for number in range(12)]
    server = StrictServer(8_192, [tool_calls(calls), text("read")])
    harness = make_harness([server] * 2, context_window=8_192)
    write_files(harness, 12, LINES * 3)
    finished = asyncio.run(harness.turn("read them all at once"))
    assert (finished.status, server.refused) == ("done", 0)
    results = [message for message in bodies(harness)[1]["messages"] if message["role"] == "tool"]
    assert len(results) == 12
    assert all("# file" in message["content"] for message in results)
    rest = ("continue with offset", "recall_messages")
    assert all(any(way in message["content"] for way in rest) for message in results)


def test_requests_between_trims_begin_with_the_bytes_of_the_one_before(make_harness: MakeHarness) -> None:
    harness = make_harness([*reads(40), text("all read")], context_window=16_384, max_steps=100)
    write_files(harness, 40)
    asyncio.run(harness.turn("read every big file"))
    raws = [request.raw.removesuffix(b"]}") for request in harness.server.requests]
    kept = [later.startswith(earlier) for earlier, later in itertools.pairwise(raws)]
    assert kept.count(False) == len(harness.seen(ContextTrimmed)) >= 2
    assert len({str(body["tools"]) for body in bodies(harness)}) == 1


def test_limits_and_preferences_stay_in_each_request_after_a_trim_within_a_turn(make_harness: MakeHarness) -> None:
    """They were sent with a message that was trimmed; the next user message may be far away."""
    first = [text("Ok.")] * 3
    replies = [*first, *reads(40), text("all read"), text("Hello.")]
    harness = make_harness(replies, context_window=16_384, max_steps=100)
    write_files(harness, 40)

    async def run_turns() -> None:
        await harness.turn("I prefer short answers.")
        await harness.turn("never use emojis in answers")
        await harness.turn("Look at big1.py but don't touch the tests.")
        await harness.turn("read every big file")
        await harness.turn("hello")
        await harness.app.close()

    asyncio.run(run_turns())
    assert len(harness.seen(ContextTrimmed)) >= 2
    for body in bodies(harness)[3:]:
        sent = "\n".join(str(message["content"]) for message in body["messages"])
        context = "\n".join(part.partition("</context>")[0] for part in sent.split("<context>")[1:])
        assert "short answers (9.0)" in context
        assert "- never use emojis in answers" in context
        assert "- don't touch the tests" in context


def test_the_summary_lists_no_test_as_failing_that_passes_in_the_window(make_harness: MakeHarness) -> None:
    passes = tool_calls([("run_command", {"command": "cat good"})])
    before, after = reads(12)[:6], reads(12)[6:]
    fails = tool_calls([("run_command", {"command": "cat bad"})])
    harness = make_harness(
        [fails, *before, passes, *after, text("done")], context_window=8_192, max_steps=100, approve="all"
    )
    write_files(harness, 12)
    (harness.project / "bad").write_text(
        "FAILED tests/test_a.py::test_b - assert 1 == 2\n=== 1 failed, 3 passed in 0.10s ===\n", encoding="utf-8"
    )
    (harness.project / "good").write_text("....\n=== 4 passed in 0.10s ===\n", encoding="utf-8")
    asyncio.run(harness.turn("mend the failing test"))
    trimmed = [body["messages"] for body in bodies(harness) if "<thread_summary>" in body["messages"][1]["content"]]
    shows = [any("4 passed" in each["content"] for each in sent if each["role"] == "tool") for sent in trimmed]
    assert any(shows), "otherwise the summary contains the run that passed"
    for messages in trimmed:
        assert "Failing tests" not in messages[1]["content"]
        assert "1 failed, 3 passed in 0.10s" in messages[1]["content"]


def test_a_trimmed_session_continues_after_a_restart(make_harness: MakeHarness) -> None:
    harness = make_harness([*reads(30), text("all read"), text("still here")], context_window=8_192, max_steps=100)
    write_files(harness, 30)

    async def run_turns() -> list[Any]:
        await harness.turn("read every big file")
        session_id, stm = harness.app.session.id, list(harness.app.session.window_ids)
        trims = list(harness.app.session.trims)
        await harness.app.close()
        harness.app = harness.build()
        harness.app.open_session(session_id)
        assert (harness.app.session.window_ids, harness.app.session.trims) == (stm, trims)
        await harness.turn("what did you read?")
        await harness.app.close()
        return bodies(harness)[-1]["messages"]

    sent = asyncio.run(run_turns())
    assert sent[1]["content"].startswith("<thread_summary>")
    assert "read every big file" in sent[1]["content"]
    assert "what did you read?" in sent[-1]["content"]
    assert [message for message in harness.app.session.messages if isinstance(message, UserMessage)][
        -1
    ].origin == "user"


def test_the_window_can_be_inspected_trimmed_and_restored(make_harness: MakeHarness) -> None:
    harness = make_harness([*reads(4), text("read"), text("and again")], context_window=32_768)
    write_files(harness, 4)

    async def run_turns() -> None:
        await harness.turn("read the big files")
        window = await harness.app.open_window()
        before = window.measure_usage()
        assert before.history > 1_000
        assert before.free + before.history + before.system + before.tools + before.reserve <= 32_768
        trimmed = window.trim_now()
        assert trimmed is not None
        assert window.measure_usage().history < before.history
        window.undo_trim()
        after = window.measure_usage()
        assert after.trim_above > before.trim_above  # what was just restored is not trimmed again at once
        assert msgspec.structs.replace(after, trim_above=before.trim_above) == before
        await harness.turn("once more")

    asyncio.run(run_turns())
    assert [message["role"] for message in bodies(harness)[-1]["messages"]].count("tool") == 4


@pytest.mark.sampled(2)
@pytest.mark.parametrize("calls", [1, 4])
@pytest.mark.parametrize("window", [8_192, 32_768, 128_000])
def test_the_smallest_request_has_summary_todos_and_git_next_to_a_result_that_fills_the_window(
    make_harness: MakeHarness, window: int, calls: int
) -> None:
    todos = [{"title": "mend the parser", "status": "in_progress"}, {"title": "write the tests"}]
    refusal = openai("too many tokens")
    harness = make_harness(
        [
            tool_calls([("todo_operations", {"operation": "write", "todos": todos})]),
            text("Noted."),
            tool_calls([("write_file", {"path": "extra.py", "content": "x = 1\n"})]),
            text("Written."),
            tool_calls([("run_command", {"command": f"seq 1 30000 # {number}"}) for number in range(calls)]),
            refusal,
            refusal,
            refusal,
            text("Done."),
        ],
        approve="all",
        context_window=window,
    )

    async def work() -> TurnFinished:
        await harness.turn("Please mend the parser and write the tests, in small commits.")
        await harness.turn("Now write extra.py with x = 1.")
        return await harness.turn("List all numbers and say which ones are prime.")

    assert asyncio.run(work()).text == "Done."
    *_, quarter, least = (request.body["messages"] for request in harness.server.requests)
    assert sum(len(str(message)) for message in least) < sum(len(str(message)) for message in quarter)
    head = least[1]["content"]
    assert "<thread_summary>" in head
    for fact in ("[in progress] mend the parser", "write the tests", "branch main", "?? extra.py"):
        assert fact in head
    assert "say which ones are prime" in head
    assert [message["role"] for message in least[2:]] == ["assistant", *["tool"] * calls]


def test_after_a_trim_the_model_is_told_the_running_job_and_the_findings_of_its_todos(
    make_harness: MakeHarness,
) -> None:
    done = {"title": "find it", "status": "completed", "note": "calc.py:2 subtracts"}
    calls = [
        ("run_command", {"command": "echo up; exec sleep 60", "background": True}),
        ("todo_operations", {"operation": "write", "todos": [done]}),
    ]
    answers = [tool_calls(calls), text("It runs. " + "word " * 400), text("Two."), text("Three."), text("Four.")]
    harness = make_harness(answers, approve="all")

    async def run_turns() -> None:
        await harness.turn("start it")
        await harness.turn("go on")
        await harness.turn("and on")
        assert harness.app.window is not None
        assert harness.app.window.trim_now() is not None
        await harness.turn("what now?")
        await harness.app.close()

    asyncio.run(run_turns())
    sent = json.dumps(harness.server.requests[-1].body["messages"])
    assert "job1: echo up; exec sleep 60" in sent
    assert "1. find it: calc.py:2 subtracts" in sent


@pytest.mark.parametrize(
    ("messages", "task"),
    [
        (["Mend the parser.", "yes, go on", "What is the newest tag?"], "Mend the parser."),
        (["Which files are there?", "PLAN Mend the parser.", "What is the newest tag?"], "PLAN Mend the parser."),
        (["Mend the parser."], "Mend the parser."),
    ],
)
def test_the_progress_page_names_the_task_of_the_session_and_the_newest_request(
    make_harness: MakeHarness, messages: list[str], task: str
) -> None:
    todos = [{"title": "write a test", "status": "in_progress"}, {"title": "mend it"}]
    harness = make_harness([], approve="all")

    async def run() -> None:
        for message in messages:
            if message.startswith("PLAN"):
                harness.server.replies.append(tool_calls([("todo_operations", {"operation": "write", "todos": todos})]))
            for number in range(8):
                harness.server.replies.append(tool_calls([("run_command", {"command": f"seq 1 800 # {number}"})]))
            harness.server.replies.append(text("Ok."))
            await harness.turn(message)
        assert run_command(harness.app, "/session trim").ok
        page = harness.app.memory.read_progress()
        assert f"## Task\n{task}\n" in page
        assert ("Newest request: " + messages[-1] in page) == (messages[-1] != task)
        await harness.app.close()

    asyncio.run(run())
