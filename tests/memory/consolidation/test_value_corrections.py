"""Corrections that contain little more than the new value: when one replaces a value, and when clio asks."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.memory.consolidation.corrections import Replaced, find_corrected_statements
from clio.memory.consolidation.runner import run_consolidation
from clio.memory.store.record import MemoryRecord
from clio.messages import AssistantMessage, UserMessage
from clio.text.translation import choose_language, set_catalog
from tests.support.chat_server import ChatServer, text
from tests.support.harness import Harness, make_repository


@pytest.mark.parametrize(("half", "most_missed"), [("development", 1), ("test", 3)])
def test_a_correction_of_the_turn_before_is_saved_only_with_its_subject(half: str, most_missed: int) -> None:
    wrong: list[str] = []
    missed: list[str] = []
    lines = (Path(__file__).parent / "data" / f"unlearned_{half}.txt").read_text(encoding="utf-8").splitlines()
    for line in (line for line in lines if not line.startswith("#")):
        who, earlier, correction, wanted = line.split("|")
        earlier = earlier.replace("\\n", "\n")
        statement = UserMessage(content=earlier) if who == "user" else AssistantMessage(content=earlier)
        learned = [one.content.rstrip(".") for one in find_corrected_statements(correction, [statement])]
        wrong += [line for content in learned if content != wanted]
        missed += [line] if wanted and wanted not in learned else []
    assert not wrong
    assert len(missed) <= most_missed


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


def converse(folder: Path, server: ChatServer, *sessions: list[str]) -> tuple[list[str], list[str]]:
    """Run whole turns, consolidate, and return the facts afterwards and the questions that would be asked."""
    make_repository(folder / "p", {"calc.py": "x = 1\n"})
    server.add(*[text("Ok.")] * sum(map(len, sessions)))

    async def run() -> tuple[list[str], list[str]]:
        harness = Harness(folder / "p", folder / "home", server)
        questions: list[str] = []
        for number, messages in enumerate(sessions):
            if number:
                await harness.app.close()
                harness.app = harness.build()
            for message in messages:
                await harness.turn(message)
                questions += [asked for asked, _ in harness.app.learner.pop_suggestions()]
        await harness.app.close()
        harness.app = harness.build()
        run_consolidation(harness.app.memory.consolidation)
        facts = [one.content for one in harness.app.memory.store.records() if one.kind == "fact"]
        await harness.app.close()
        return facts, questions

    return asyncio.run(run())


def test_a_correction_right_after_the_statement_replaces_it(tmp_path: Path, server: ChatServer) -> None:
    facts, questions = converse(tmp_path, server, ["remember that we install packages with npm", "no, pnpm"])
    assert (facts, questions) == (["we install packages with pnpm"], [])


def test_a_correction_of_a_value_not_in_memory_is_saved(tmp_path: Path, server: ChatServer) -> None:
    facts, questions = converse(tmp_path, server, ["our queue is rabbitmq", "sorry, I meant nats"])
    assert (facts, questions) == (["our queue is nats"], [])


def test_a_correction_of_an_unknown_subject_is_not_saved(tmp_path: Path, server: ChatServer) -> None:
    texts = ["create an index with 4 shards", "nope, 8 shards", "should read CHF"]
    assert converse(tmp_path, server, texts) == ([], [])


def test_a_statement_of_the_model_corrected_by_the_user_is_saved_once(tmp_path: Path, server: ChatServer) -> None:
    server.add(text("The index has 4 shards."))
    facts, questions = converse(tmp_path, server, ["describe the index", "nope, 8 shards"])
    assert (facts, questions) == (["The index has 8 shards"], [])


def test_a_correction_of_something_else_in_the_conversation_replaces_nothing(
    tmp_path: Path, server: ChatServer
) -> None:
    texts = ["remember that the worker port is 7001", "write a server that listens on 8000", "make that 8005"]
    assert converse(tmp_path, server, texts) == (["the worker port is 7001"], [])


def test_consolidation_does_not_read_it_as_a_correction_of_a_memory_either(tmp_path: Path, server: ChatServer) -> None:
    texts = ["remember that the upload limit is 20 MB", "generate a test file of 10 MB", "25 MB, sorry"]
    assert converse(tmp_path, server, texts) == (["the upload limit is 20 MB"], [])


def test_clio_asks_if_it_is_uncertain_what_is_corrected(tmp_path: Path, server: ChatServer) -> None:
    texts = ["remember that the worker port is 7001", "explain the parser", "actually 8005"]
    facts, questions = converse(tmp_path, server, texts)
    assert facts == ["the worker port is 7001"]
    assert questions == ["Replace “the worker port is 7001” with “the worker port is 8005” in memory?"]


def test_a_correction_that_fits_several_memories_replaces_none(tmp_path: Path, server: ChatServer) -> None:
    stated = ["remember that staging listens on port 9090", "remember that production listens on port 9191"]
    facts, questions = converse(tmp_path, server, stated, ["actually 9292"])
    assert len(facts) == 2
    assert not questions


def test_scratch_that_withdraws_the_statement_before(tmp_path: Path, server: ChatServer) -> None:
    texts = ["remember that releases happen on Tuesdays", "remember that the cache lives in Redis", "scratch that"]
    assert converse(tmp_path, server, texts) == (["releases happen on Tuesdays"], [])


@pytest.mark.parametrize(
    ("stated", "request_to_forget"),
    [
        ("remember that releases happen on Tuesdays", "ignore that, I was wrong"),
        ("remember that releases happen on Tuesdays", "no wait, forget it"),
        ("记住端口是4000", "忘掉这个，我说错了"),
    ],
)
def test_a_request_that_refers_to_the_message_before_may_give_a_reason(
    tmp_path: Path, server: ChatServer, stated: str, request_to_forget: str
) -> None:
    assert converse(tmp_path, server, [stated, request_to_forget]) == ([], [])


def test_clio_asks_in_chinese_if_the_subject_was_named_before(tmp_path: Path, server: ChatServer) -> None:
    texts = ["记住测试服务器的端口是6000", "看一下测试服务器的端口", "忘掉测试服务器的端口"]
    facts, questions = converse(tmp_path, server, texts)
    assert (facts, len(questions)) == (["测试服务器的端口是6000"], 1)


def test_clio_asks_if_a_request_to_forget_may_be_about_the_task(tmp_path: Path, server: ChatServer) -> None:
    texts = ["remember that the cache lives in Redis", "look at the parser and the cache", "forget the cache"]
    assert converse(tmp_path, server, texts) == (["the cache lives in Redis"], ["Forget “the cache lives in Redis”?"])


@pytest.mark.parametrize("refuted", [(), (MemoryRecord(id="1", kind="fact", content="the port is 80"),)])
def test_a_correction_names_the_scope_in_the_language_of_the_interface(refuted: tuple[MemoryRecord, ...]) -> None:
    new = MemoryRecord(id="2", kind="fact", content="the port is 90")
    choose_language({}, "de")
    try:
        line = Replaced(refuted=refuted, record=new, quote="90", scope="project").describe()
    finally:
        set_catalog(None)
    assert "project" not in line and "Projekt" in line
