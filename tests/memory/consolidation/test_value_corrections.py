"""Corrections that contain little more than the new value: when one replaces a value, and when clio asks."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.memory.consolidation.alignment import is_already_said
from clio.memory.consolidation.corrections import Replaced, find_corrected_statements
from clio.memory.consolidation.runner import run_consolidation
from clio.memory.consolidation.value_corrections import (
    find_corrected_value,
    read_value_corrections,
)
from clio.memory.store.record import MemoryRecord
from clio.messages import AssistantMessage, UserMessage
from clio.text.translation import choose_language, set_catalog
from tests.support.chat_server import ChatServer, text
from tests.support.harness import Harness, make_repository


def replace(old: str, message: str) -> str:
    """Return a statement after a message that may correct it; "" if the message does not."""
    changes = (find_corrected_value(old, sentence) for sentence in read_value_corrections(message))
    return next((change.apply(old) for change in changes if change), "")


@pytest.mark.parametrize(
    ("old", "message", "new"),
    [
        ("the retry limit is 3", "it should be 5, my mistake", "the retry limit is 5"),
        ("fixtures live in tests/data", "Oops. tests/fixtures", "fixtures live in tests/fixtures"),
        ("Anna owns the billing module", "sorry, I meant Bernd", "Bernd owns the billing module"),
        ("the image is based on alpine", "debian, not alpine", "the image is based on debian"),
        ("the docs are built with sphinx", "the docs aren't built with sphinx but with mkdocs",
         "the docs are built with mkdocs"),
        ("we deploy from the release branch", "we don't deploy from release any more, it's trunk now",
         "we deploy from the trunk branch"),
        ("our scrum master is Dana", "Dana isn't our scrum master any longer, it's Luis", "our scrum master is Luis"),
        ("Dana is the scrum master", "Dana is not the scrum master, Luis is", "Luis is the scrum master"),
        ("the intern is called Joe", "his name is Joel, not Joe", "the intern is called Joel"),
        ("the intern is called Joe", "sorry, the name is Joel", "the intern is called Joel"),
        ("the retry limit is 3 minutes", "actually 5 seconds", "the retry limit is 5 seconds"),
        ("the mascot is a fox", "actually it is an owl", "the mascot is an owl"),
        ("we deploy with make ship", "actually we deploy with make deploy", "we deploy with make deploy"),
        ("we deploy with make ship", "sorry, it's make release", "we deploy with make release"),
        ("wir deployen mit make ship", "eigentlich deployen wir mit make deploy", "wir deployen mit make deploy"),
        ("o deploy é feito com make ship", "na verdade, é feito com make deploy", "o deploy é feito com make deploy"),
        ("on déploie avec make ship", "en fait on déploie avec make deploy", "on déploie avec make deploy"),
        ("das Maskottchen ist ein Fuchs", "eigentlich ist es ein Wolf", "das Maskottchen ist ein Wolf"),
        ("la mascotte est un renard", "en fait c'est un loup", "la mascotte est un loup"),
        ("o mascote é uma raposa", "na verdade é um lobo", "o mascote é um lobo"),
        ("der Nachtlauf startet um 02:00", "Berichtigung: 03:30", "der Nachtlauf startet um 03:30"),
        ("das Review ist montags", "das Review ist nicht montags, sondern dienstags", "das Review ist dienstags"),
        ("la base s'appelle app_test", "La base s'appelle maintenant app_ci", "la base s'appelle app_ci"),
        ("Lena se ocupa del gateway", "no es Lena quien se ocupa del gateway, es Omar", "Omar se ocupa del gateway"),
        ("os builds rodam no Jenkins", "desculpa, os builds rodam no Woodpecker", "os builds rodam no Woodpecker"),
        ("部署在周五", "是周一，不是周五", "部署在周一"),
        ("团队用中文写注释", "是英文，不是中文", "团队用英文写注释"),
        ("部署在周五", "不对，是周一", "部署在周一"),
        ("吉祥物是狐狸", "其实是狼", "吉祥物是狼"),
        ("マスコットはキツネ", "実はオオカミです", "マスコットはオオカミ"),
        ("评审在周一进行", "评审不在周一，而在周二", "评审在周二进行"),
        ("プールサイズは 10 です", "正しくは 12 です", "プールサイズは 12 です"),
    ],
)  # fmt: skip
def test_a_value_is_replaced(old: str, message: str, new: str) -> None:
    assert replace(old, message) == new


@pytest.mark.parametrize(
    ("old", "message"),
    [
        ("the metrics port is 9100", "actually 3 tests fail"),
        ("the mascot is a fox", "actually it's a mess"),
        ("部署在周五", "不对，是缓存"),
        ("吉祥物是狐狸", "抱歉，是我的错"),
        ("マスコットはキツネ", "すみません、間違いです"),
        ("the mascot is a fox", "actually it's a good idea"),
        ("the mascot is a fox", "actually a test is missing"),
        ("we deploy with make ship", "sorry, make deploy fails"),
        ("we deploy with make ship", "actually the make target"),
        ("the docs live on the staging server", "actually the staging broke"),
        ("the linter is flake8", "no, later"),
        ("the linter is flake8", "no mocks please"),
        ("the linter is flake8", "use ruff instead of flake8"),
        ("the tests run with unittest", "for now don't bother with tests"),
        ("the tests run with pytest", "the tests run with coverage now"),
        ("the cache lives in Redis", "the bug is not in the cache but in the proxy"),
        ("HTTP 404 means the job is gone", "actually 409"),
        ("SELECT FOR UPDATE is banned in jobs", "--no-verify is banned"),
        ("die API hat Version 3", "bitte keine Änderungen an der API"),
        ("la documentación se genera con sphinx", "el error no viene de sphinx sino de mypy"),
        ("the cache lives in Redis", "not the cache, the queue"),
        ("the metrics port is 9100", "it's not the port, it's the firewall"),
        ("the cache lives in Redis", "we should use memcached instead of redis"),
        ("der Cache liegt in Redis", "das liegt nicht am Cache, sondern am Port"),
        ("キャッシュは Redis にあります", "キャッシュではなくネットワークの問題です"),
        ("上限是 20 MB", "等等，少了 25 个文件"),
    ],
)
def test_other_sentences_replace_nothing(old: str, message: str) -> None:
    assert not replace(old, message)


def test_a_statement_already_names_the_holder_of_a_role_that_another_is_denied() -> None:
    denial = "Dana isn't our scrum master any longer, it's Luis"
    assert is_already_said("our scrum master is Luis", denial)
    assert not is_already_said("our scrum master is Dana", denial)


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


@pytest.mark.parametrize("mark", [",", ":", " –", " -", " —", ";"])
def test_the_new_value_may_follow_the_denied_one_after_any_mark(mark: str) -> None:
    old, sentence = "the staging server listens on port 8080", f"wait, not 8080{mark} it's 9090"
    assert not is_already_said(old, sentence)
    change = find_corrected_value(old, sentence)
    assert change is not None and (change.old, change.new) == ("8080", "9090")


@pytest.mark.parametrize("refuted", [(), (MemoryRecord(id="1", kind="fact", content="the port is 80"),)])
def test_a_correction_names_the_scope_in_the_language_of_the_interface(refuted: tuple[MemoryRecord, ...]) -> None:
    new = MemoryRecord(id="2", kind="fact", content="the port is 90")
    choose_language({}, "de")
    try:
        line = Replaced(refuted=refuted, record=new, quote="90", scope="project").describe()
    finally:
        set_catalog(None)
    assert "project" not in line and "Projekt" in line
