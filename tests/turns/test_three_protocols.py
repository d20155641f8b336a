"""The same scripted session over each protocol leaves the same transcript."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from clio.agent.user_interface import TextDelta
from clio.config.layers import load_config
from clio.config.options import Options
from clio.messages import AssistantMessage, Message
from clio.security.approval import Answer
from tests.support.chat_server import Recorded
from tests.support.harness import Harness, make_repository
from tests.support.protocol_server import ProtocolAnswer, ProtocolServer, protocol_of
from tests.turns.test_interrupts import interrupt_at

WINDOW = "context_window: 24000\n"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8ffff3f0005fe02fe"
    "a735819d0000000049454e44ae426082"
)


def session_script() -> Iterator[list[ProtocolAnswer]]:
    """Return the answers to each of the user's messages, sixty in all."""
    for number in range(12):
        name = f"f{number}.txt"
        yield [
            ProtocolAnswer(
                reasoning=f"I will look at {name}.",
                text="Looking.",
                calls=[("read_file", {"path": "a.txt"}), ("read_file", {"path": "b.txt"})],
            ),
            ProtocolAnswer(reasoning="One is missing.", calls=[("read_file", {"path": "missing.txt"})]),
            ProtocolAnswer(reasoning="Write it.", calls=[("write_file", {"path": name, "content": "word " * 400})]),
            ProtocolAnswer(calls=[("read_file", {"path": name})]),
            ProtocolAnswer(reasoning="All there.", text=f"Wrote {name}."),
        ]


def normalize_message(message: Message) -> dict[str, Any]:
    """Return a message without what differs between protocols and runs."""
    left_out = ("id", "created", "reasoning_items", "reasoning_origin", "usage", "seconds", "tool_call_id", "context")
    row = {name: value for name, value in structs.asdict(message).items() if name not in left_out}
    if isinstance(message, AssistantMessage):
        row["tool_calls"] = [(call.name, call.arguments) for call in message.tool_calls]
    return row


def play(tmp_path: Path, first: str, then: str) -> tuple[list[dict[str, Any]], list[Recorded]]:
    """Return the transcript of the session and its requests. then: the protocol after the resume in the middle."""
    project = tmp_path / "project"
    make_repository(project, {"a.txt": "a\n", "b.txt": "b\n"})
    (project / "picture.png").write_bytes(PNG)
    home = tmp_path / "home"
    home.mkdir()
    config = home / "config.yaml"
    config.write_text(f"api: {first}\n{WINDOW}", encoding="utf-8")
    with ProtocolServer() as server:
        harness = Harness(project, home, server)
        harness.user.approvals = [Answer(kind="once")] * 100

        async def resume(protocol: str) -> None:
            """Close clio and continue the session in a new one."""
            session_id = harness.app.session.id
            await harness.app.close()
            config.write_text(f"api: {protocol}\n{WINDOW}", encoding="utf-8")
            harness.loaded = load_config(Options(cwd=project, overrides=harness.overrides), harness.env)
            harness.app = harness.build()
            harness.app.open_session(session_id)

        async def main() -> None:
            for number, answers in enumerate(session_script()):
                if number == 4:
                    server.add(ProtocolAnswer(text="I was about to say", stalls=True).reply())
                    harness.events.clear()
                    await interrupt_at(harness, "never mind", TextDelta)
                server.add(*(answer.reply() for answer in answers))
                await harness.turn("look at @picture.png" if number == 3 else f"task {number}")
                if number == 6:
                    await resume(then)
            await harness.app.close()

        asyncio.run(main())
        found = [normalize_message(message) for message in harness.app.session.messages]
        assert harness.app.session.trims  # the window was too small for all of it
        return found, list(server.requests)


PAIRS = [("responses", "responses"), ("messages", "messages"), ("messages", "responses"), ("responses", "chat")]


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return the transcript of the session over chat."""
    return play(tmp_path_factory.mktemp("chat"), "chat", "chat")[0]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("first", "then"), PAIRS)
def test_the_transcript_equals_that_of_chat(tmp_path: Path, chat: list[dict[str, Any]], first: str, then: str) -> None:
    found, requests = play(tmp_path / "other", first, then)
    assert found == chat
    half = next(at for at, request in enumerate(requests) if protocol_of(request) == then) if first != then else 0
    assert all(protocol_of(request) == then for request in requests[half:])
    for request in requests:
        check_reasoning(request, resumed=request in requests[half:] and first != then)


def check_reasoning(request: Recorded, *, resumed: bool) -> None:
    """Check that calls with reasoning in this protocol are sent with it, as signed."""
    match protocol_of(request):
        case "responses":
            items = request.body["input"]
            sealed = [item["encrypted_content"] for item in items if item.get("type") == "reasoning"]
            calls = [item for item in items if item.get("type") == "function_call"]
        case "messages":
            blocks = [block for message in request.body["messages"] for block in message["content"]]
            sealed = [block["signature"] for block in blocks if block["type"] == "thinking"]
            calls = [block for block in blocks if block["type"] == "tool_use"]
        case _:
            assert "sealed" not in request.raw.decode()
            return
    assert set(sealed) <= {"sealed"}
    assert bool(sealed) or not calls or resumed
