"""A limit anywhere in a message applies at once, in later sessions, to sub-agents, and until it is undone."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.agent.user_interface import Notice
from clio.commands.registry import run_command
from clio.memory.preferences.limits import find_limits
from clio.memory.preferences.session_start import PENDING_FILE
from clio.memory.store.record import TYPED_KINDS
from clio.security.approval import Answer
from tests.entrypoints.repl_support import Place, clio, make_place
from tests.sessions.talk import kill
from tests.support.chat_server import ChatServer, text, tool_calls
from tests.support.harness import Harness
from tests.support.wording import mentions
from tests.turns.conftest import MakeHarness

TASK = """\
calc.add returns the difference instead of the sum. I noticed it when the report was wrong.

1. read calc.py
2. fix it
3. never change anything under golden/, QA approves those files
4. don't touch the tests for now

```
AssertionError: never trust add
```
Then tell me what it was. Also please never add emojis to comments
"""


def last_words(harness: Harness) -> str:
    return str(harness.server.requests[-1].body["messages"][-1]["content"])


def system(harness: Harness) -> str:
    return str(harness.server.requests[-1].body["messages"][0]["content"])


def notices(harness: Harness) -> str:
    return "\n".join(notice.text for notice in harness.seen(Notice))


def test_limits_inside_a_long_message_apply_in_its_requests_and_in_a_later_session(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([("read_file", {"path": "calc.py"})]), text("Done."), text("Hello.")])

    async def run() -> None:
        await harness.turn(TASK)
        for request in harness.server.requests:
            before = str(request.body["messages"][1]["content"]).partition("calc.add returns")[0]
            assert "- never change anything under golden/" in before
            assert "- never add emojis to comments" in before
            assert "- don't touch the tests for now" in before
            assert "trust add" not in before
        assert mentions(notices(harness), "project memory", "never change anything under golden/")
        assert mentions(notices(harness), "user memory", "never add emojis to comments", "hard limit", "/memory undo")
        assert mentions(notices(harness), "this session", "don't touch the tests for now", "/memory undo")
        await harness.app.close()
        harness.app = harness.build()
        await harness.turn("hello")
        assert "- never change anything under golden/" in system(harness)
        assert "- never add emojis to comments" in system(harness)
        assert "for now" not in str(harness.server.requests[-1].body)
        await harness.app.close()

    asyncio.run(run())


def test_a_limit_of_one_project_is_not_sent_in_another(place: Place, server: ChatServer, tmp_path: Path) -> None:
    server.add(text("Yes."), text("Yes."), text("Yes."))
    assert clio(place, "-p", "Never edit files under gen/. And never use emojis in answers.").returncode == 0
    assert clio(place, "-p", "hello").returncode == 0
    assert "under gen/" in str(server.requests[-1].body)
    other = tmp_path / "other"
    other.mkdir()
    assert clio(place, "-p", "hello", cwd=other).returncode == 0
    assert "under gen/" not in str(server.requests[-1].body)
    assert "never use emojis" in str(server.requests[-1].body)


def test_sub_agents_get_the_limits_and_project_memory(make_harness: MakeHarness) -> None:
    replies = [tool_calls([("delegate", {"task": "Look at calc.py."})]), text("It subtracts."), text("Done.")]
    harness = make_harness(replies)

    async def run() -> None:
        run_command(harness.app, "/memory add discovery We deploy with make ship")
        await harness.turn("Look into calc.py. We use uv here, not pip. Don't commit anything yet.")
        sent = str(harness.server.requests[1].body["messages"])
        assert "Look at calc.py." in sent
        assert "use uv here, not pip" in sent
        assert "commit anything yet" in sent
        assert "deploy with make ship" in sent
        await harness.app.close()

    asyncio.run(run())


def test_undo_removes_limits_saved_together_and_those_of_the_session(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok."), text("Ok."), text("Ok.")])

    async def run() -> None:
        await harness.turn("Never use tabs. Never push to main. Fix calc.py but don't touch the tests.")
        report = harness.app.memory.undo()
        assert "don't touch the tests" in report
        report = harness.app.memory.undo()
        assert "never use tabs" in report
        await harness.turn("go on")
        words = last_words(harness)
        lifted = words.partition("has revoked these limits")[2]
        assert "never use tabs" in lifted
        assert "never push to main" in lifted
        assert "don't touch the tests" in words.partition("these limits; they no longer apply")[2]
        await harness.app.close()
        harness.app = harness.build()
        await harness.turn("hello")
        assert "tabs" not in str(harness.server.requests[-1].body)
        await harness.app.close()

    asyncio.run(run())


def test_a_trimmed_limit_is_sent_again(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok."), text("Ok."), text("Ok.")])

    async def run() -> None:
        await harness.turn("Fix calc.py but don't touch the tests.")
        await harness.turn("go on")
        assert "don't touch the tests" not in last_words(harness)
        harness.app.memory.repeat_after_trim()
        await harness.turn("go on")
        assert "- don't touch the tests" in last_words(harness)
        await harness.app.close()

    asyncio.run(run())


def test_a_preference_and_a_limit_in_one_sentence_are_both_saved(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")])

    async def run() -> None:
        await harness.turn("I like pytest but never unittest.")
        await harness.app.close()

    asyncio.run(run())
    contents = {record.content: record.score for record in harness.app.memory.store.user.records()}
    assert any("never unittest" in content and (score or 9) <= 1.5 for content, score in contents.items())
    # A preference alone needs confirmation and is never taken for a limit.
    assert all("never" in content for content, score in contents.items() if (score or 9) <= 1.5)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


@pytest.fixture
def place(tmp_path: Path, server: ChatServer) -> Place:
    return make_place(tmp_path, server)


@pytest.mark.parametrize(("key", "kept"), [("y", True), ("n", False)])
def test_a_one_shot_run_leaves_the_question_for_the_next_interactive_start(
    place: Place, server: ChatServer, key: str, kept: bool
) -> None:
    server.add(text("Done."), text("Hello."), text("Hello again."))
    done = clio(place, "-p", "Write a small command line tool. No click, no typer.")
    assert done.stdout == "Done.\n"
    assert mentions(done.stderr, "ask", "interactive start")
    assert "- no click, no typer" in str(server.requests[-1].body)
    with place.clio(columns=110, lines=40) as shell:
        shell.wait_for("Remember for all later work: “no click, no typer")
        shell.send(key)
        shell.wait_for("test-model · ask")
        shell.line("hello")
        shell.wait_for("Hello.")
        assert ("no click, no typer" in str(server.requests[-1].body)) is kept
        shell.line("/exit")
        shell.wait_exit()
    with place.clio("--new", columns=110, lines=40) as shell:
        shell.wait_for("test-model · ask")
        shell.line("hello")
        shell.wait_for("Hello again.")
        assert "Remember for" not in shell.everything
    assert "no click" not in (place.home / ".clio" / PENDING_FILE).read_text(encoding="utf-8")


def test_incognito_saves_nothing(place: Place, server: ChatServer) -> None:
    server.add(text("Done."))
    done = clio(place, "--incognito", "-p", "Write a tool. No click please. Never use tabs.")
    assert done.returncode == 0
    assert "Saved" not in done.stderr
    assert not (place.home / ".clio" / PENDING_FILE).exists()


@pytest.mark.parametrize(
    "statement, fact",
    [
        ("Remember that our db is postgres.", "our db is postgres"),
        ("remember the port is 5432", "the port is 5432"),
        ("For future reference: tests need DOCKER_HOST set", "tests need DOCKER_HOST set"),
        (
            "Remember that our support mail is help@example.org. Add it with tests.",
            "our support mail is help@example.org",
        ),
    ],
)
def test_a_fact_to_remember_is_saved_as_a_fact_and_is_no_limit(
    make_harness: MakeHarness, statement: str, fact: str
) -> None:
    harness = make_harness([text("Noted.")])
    asyncio.run(harness.turn(statement))
    assert mentions(notices(harness), "Saved to project memory:", fact, "/memory undo")
    assert "limit" not in notices(harness)
    [record] = harness.app.memory.store.records(TYPED_KINDS)
    assert (record.kind, record.content) == ("fact", fact)
    assert record.provenance is not None and record.provenance.asserted_by == "user"


@pytest.mark.parametrize(
    "statement",
    [
        "I no longer want ruff before commits.",
        "You can commit without running ruff from now on.",
        "we no longer support python 3.9",
        "From now on you may edit setup.py.",
    ],
)
def test_a_permission_adds_no_limit(make_harness: MakeHarness, statement: str) -> None:
    harness = make_harness([text("Fine.")])
    asyncio.run(harness.turn(statement))
    assert "limit" not in notices(harness)
    assert harness.app.memory.store.count() == {"project": 0, "user": 0}


@pytest.mark.parametrize(
    "statement", ["You can only use uv here, never pip.", "From now on you may not edit setup.py."]
)
def test_a_permission_with_a_prohibition_is_a_limit(make_harness: MakeHarness, statement: str) -> None:
    harness = make_harness([text("Fine.")])
    asyncio.run(harness.turn(statement))
    assert "hard limit" in notices(harness)


def test_a_limit_in_the_reason_for_declining_a_call_is_saved(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([("run_command", {"command": "make test"})]), text("Ok."), text("Ok.")])
    harness.user.approvals.append(Answer(kind="no", reason="use uv run pytest, never make test in this repo"))

    async def run() -> None:
        await harness.turn("run the tests")
        assert harness.user.asked
        saved = [record for record in harness.app.memory.store.records() if "make test" in record.content]
        limits = [*(record.content for record in saved), *harness.app.memory.held_limits]
        assert any("make test" in limit for limit in limits)
        await harness.turn("go on")
        assert "make test" in str(harness.server.requests[-1].body["messages"][-1]["content"])
        await harness.app.close()

    asyncio.run(run())


def whole_request(harness: Harness) -> str:
    return "\n".join(str(message["content"]) for message in harness.server.requests[-1].body["messages"])


async def leave(harness: Harness, how: str) -> None:
    """Continue the session in a new clio after an exit or a kill, or a fork of it in the same clio."""
    session = harness.app.session
    if how == "fork":
        harness.app.open_session(harness.app.store.fork(session.id))
        return
    if how == "exit":
        await harness.app.close()
    else:
        kill(session)
    harness.app = harness.build()
    harness.app.open_session(session.id)


@pytest.mark.parametrize("is_trimmed_before", [False, True])
@pytest.mark.parametrize("how", ["exit", "kill", "fork"])
def test_a_limit_for_the_session_applies_after_a_resume_and_each_later_trim(
    make_harness: MakeHarness, how: str, is_trimmed_before: bool
) -> None:
    harness = make_harness([text("Ok. " * 60)] * 9)
    limits = ("- for this task: don't rename anything", "- only edit calc.py")

    async def trim() -> None:
        await harness.app.open_window()
        assert harness.app.window is not None and harness.app.window.trim_now() is not None

    async def run() -> None:
        await harness.turn("for this task: don't rename anything, and only edit calc.py; the ticket is PROJ-812")
        assert all(limit in whole_request(harness) for limit in limits)
        for words in ("go on", "next"):
            await harness.turn(words)
        if is_trimmed_before:
            await trim()
        await leave(harness, how)
        for words in ("and now?", "then?"):
            await harness.turn(words)
            assert all(whole_request(harness).count(limit) == 1 for limit in limits)
        for words in ("further", "and further"):
            await trim()
            await harness.turn(words)
            assert all(limit in whole_request(harness) for limit in limits)
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize("is_continued_before_undo", [False, True])
@pytest.mark.parametrize("how", ["exit", "fork"])
def test_undo_after_a_resume_revokes_a_limit_of_the_session(
    make_harness: MakeHarness, how: str, is_continued_before_undo: bool
) -> None:
    harness = make_harness([text("Ok.")] * 6)

    async def run() -> None:
        await harness.turn("Fix calc.py but don't touch the tests.")
        await leave(harness, how)
        if is_continued_before_undo:
            await harness.turn("go on")
        assert "don't touch the tests" in harness.app.memory.undo()
        await harness.turn("and now?")
        assert "don't touch the tests" in last_words(harness).partition("they no longer apply")[2]
        await harness.turn("then?")
        assert "they no longer apply" not in last_words(harness)
        await harness.app.close()

    asyncio.run(run())


def test_a_limit_of_one_session_does_not_apply_in_another(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        await harness.turn("hello")
        first = harness.app.session.messages[-1].id
        await harness.turn("Fix calc.py but don't touch the tests.")
        stated_in = harness.app.session.id
        harness.app.open_session(harness.app.store.fork(stated_in, upto=first))
        await harness.turn("fix calc.py")
        assert "touch the tests" not in whole_request(harness) and not harness.app.memory.held_limits
        harness.app.new_session()
        assert not harness.app.memory.held_limits
        await harness.app.close()

    asyncio.run(run())


def test_limits_in_a_session_that_came_with_the_repository_are_no_orders(
    make_harness: MakeHarness, tmp_path: Path
) -> None:
    harness = make_harness([text("Ok.")] * 3)

    async def run() -> None:
        await harness.turn("Fix calc.py but don't touch the tests.")
        session = harness.app.session.id
        await harness.app.close()
        harness.app = Harness(harness.project, tmp_path / "another home", harness.server).app
        harness.app.open_session(session)
        await harness.turn("go on")
        assert not harness.app.memory.held_limits
        await leave(harness, "kill")
        await harness.turn("and now?")
        assert not harness.app.memory.held_limits
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("answer", "is_saved"),
    [
        ("use sqlite, not postgres", False),
        ("use sqlite instead of postgres please", False),
        ("nutze sqlite, nicht postgres", False),
        ("utilise sqlite, pas postgres", False),
        ("用 sqlite，不要用 postgres", False),
        ("always use sqlite, not postgres", True),
        ("we use sqlite here, not postgres", True),
        ("never use postgres", True),
    ],
)
def test_a_choice_that_answers_a_question_is_asked_about(
    make_harness: MakeHarness, answer: str, is_saved: bool
) -> None:
    harness = make_harness([text("Which database shall the script use?"), text("Done."), text("Ok.")])

    async def run() -> None:
        await harness.turn("write a script that counts words")
        await harness.turn(answer)
        saved = [one.content for one in harness.app.memory.store.records()]
        assert bool(saved) is is_saved and bool(harness.app.memory.held_limits) is not is_saved
        questions = harness.app.learner.pop_suggestions()
        assert len(questions) == (not is_saved)
        for _, confirm in questions:
            confirm()
        assert len(harness.app.memory.store.records()) == 1
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("said", "kind", "score"), [("prefer pathlib", "preference", 9.0), ("prefer no mocks", "preference", 0.5)]
)
def test_an_order_to_prefer_something_is_a_liking_unless_it_prohibits(
    make_harness: MakeHarness, said: str, kind: str, score: float
) -> None:
    harness = make_harness([text("Ok.")])

    async def run() -> None:
        await harness.turn(said)
        [record] = harness.app.memory.store.records()
        assert (record.kind, record.content, record.score) == (kind, said, score)
        await harness.app.close()

    asyncio.run(run())


def test_the_end_of_a_limit_that_names_a_permission_is_kept(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 2)

    async def run() -> None:
        await harness.turn("never push without my ok, ok?")
        await harness.turn("never push without my ok")
        assert [record.content for record in harness.app.memory.store.records()] == ["never push without my ok"]
        await harness.app.close()

    asyncio.run(run())


def test_a_limit_for_a_time_is_not_saved_and_not_asked_about(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 2)

    async def run() -> None:
        await harness.turn("For the next hour never push")
        await harness.turn("don't touch the parser this week")
        assert not harness.app.memory.store.records()
        assert len(harness.app.memory.held_limits) == 2
        assert not harness.app.runtime.learner.pop_suggestions()
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("message", "is_saved"),
    [
        ("Write a small tool. No click, no typer.", False),
        ("Add a changelog. No emojis.", False),
        ("no emojis", True),
        ("keine Emojis", True),
        ("no mocks, ever", True),
        ("no emojis in commit messages", True),
        ("no emojis in this project", True),
        ("from now on no emojis", True),
        ("remember: no emojis", True),
        ("rules: no emojis", True),
        ("don't use emojis", True),
    ],
)
def test_a_prohibition_beside_a_task_is_saved_only_if_its_words_say_that_it_lasts(
    make_harness: MakeHarness, message: str, is_saved: bool
) -> None:
    harness = make_harness([text("Ok.")])

    async def run() -> None:
        await harness.turn(message)
        memory = harness.app.memory
        assert bool([*memory.preferences.hard_limits(), *memory.project_preferences.hard_limits()]) is is_saved
        assert bool(memory.held_limits) is not is_saved
        assert bool(harness.app.learner.pop_suggestions()) is not is_saved
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    "message",
    [
        "turns out the image service needs libvips 8.15",
        "our image service needs libvips 8.15",
        "this project needs node 20",
        "our tests need a running postgres",
        "every service needs 2 GB",
        "found out the services need java 17",
    ],
)
def test_what_a_thing_needs_is_no_limit(message: str) -> None:
    assert not find_limits(message)


@pytest.mark.parametrize("message", ["functions need docstrings", "every PR needs a changelog entry"])
def test_what_each_piece_of_work_needs_is_a_limit(message: str) -> None:
    assert [one.content for one in find_limits(message)] == [message]


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        ("remember: never push to main", "never push to main"),
        ("merk dir: niemals auf main pushen", "niemals auf main pushen"),
        ("merk dir, dass du nie auf main pushen darfst", "du nie auf main pushen darfst"),
        ("denk dran: vendor/ ist tabu", "vendor/ ist tabu"),
        ("souviens-toi : ne jamais pousser sur main", "ne jamais pousser sur main"),
        ("recuerda que nunca debes hacer push a main", "nunca debes hacer push a main"),
        ("lembre-se: nunca faça push para main", "nunca faça push para main"),
        ("记住：永远不要推送到 main", "永远不要推送到 main"),
        ("覚えておいて：mainには絶対にプッシュしないで", "mainには絶対にプッシュしないで"),
        ("merk dir: keine Deploys am Freitag", "keine Deploys am Freitag"),
        ("merk dir, keine neuen Abhängigkeiten", "keine neuen Abhängigkeiten"),
        ("merk dir: deploye freitags nicht", "deploye freitags nicht"),
        ("retiens : pas de déploiements le vendredi", "pas de déploiements le vendredi"),
        ("retiens : ne déploie pas le vendredi", "ne déploie pas le vendredi"),
        ("recuerda: nada de despliegues los viernes", "nada de despliegues los viernes"),
        ("lembra: sem deploys na sexta", "sem deploys na sexta"),
        ("lembra: não faça deploy na sexta", "não faça deploy na sexta"),
        ("记住：周五不要部署", "周五不要部署"),
        ("merk dir: es gibt keine Tests für den Parser", ""),
        ("merk dir, dass es keine Tests gibt", ""),
        ("retiens que nous n'avons pas de cache", ""),
        ("recuerda que no tienes acceso a prod", ""),
        ("lembra que não funciona aos domingos", ""),
        ("记住周五不能访问服务器", ""),
        ("merk dir: wir deployen mit make ship", ""),
        ("merk dir, dass die API nie null zurückgibt", ""),
        ("retiens que le serveur n'est jamais redémarré le dimanche", ""),
        ("recuerda que el servidor nunca responde con 500", ""),
        ("lembre-se que o servidor não funciona aos domingos", ""),
        ("记住，服务器周日不能访问", ""),
        ("覚えておいて：サーバーは日曜日に使えません", ""),
    ],
)
def test_a_prohibition_to_remember_is_a_limit_in_each_language(
    make_harness: MakeHarness, message: str, limit: str
) -> None:
    harness = make_harness([text("Ok.")])

    async def run() -> None:
        await harness.turn(message)
        [record] = harness.app.memory.store.records()
        assert (record.kind, record.content) == ("preference", limit) if limit else record.kind == "fact"
        await harness.app.close()

    asyncio.run(run())


def test_a_permission_beside_a_prohibition_is_no_rule(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")])

    async def run() -> None:
        await harness.turn("You can always commit, but never push.")
        [record] = harness.app.memory.store.records()
        assert (record.content, record.score) == ("never push", 0.5)
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        ("don't run the slow tests, fix the port", "don't run the slow tests"),
        ("don't touch setup.py - just fix the bug in a.py", "don't touch setup.py"),
        ("don't touch setup.py, add a test for add()", "don't touch setup.py"),
        ("only edit utils.py, fix the rounding", "only edit utils.py"),
        ("never touch _re.py, fix the parser", "never touch _re.py"),
        ("don't push, merge or deploy, fix the build", "don't push, merge or deploy"),
        ("always use tabs, fix the parser", "always use tabs"),
        ("fass setup.py nicht an, behebe den Fehler in a.py", "fass setup.py nicht an"),
        ("ne lance pas les tests lents, corrige le port", "ne lance pas les tests lents"),
        ("no ejecutes los tests lentos, arregla el puerto", "no ejecutes los tests lentos"),
        ("não rode os testes lentos, corrija a porta", "não rode os testes lentos"),
        ("不要运行慢测试，修复端口", "不要运行慢测试"),
        ("遅いテストは実行しないで、ポートを直して", "遅いテストは実行しないで"),
        # What to do instead, and when, belongs to the limit.
        ("never use print, use logging", "never use print, use logging"),
        ("never commit to main, open a PR", "never commit to main, open a PR"),
        ("never edit old migrations, add a new one", "never edit old migrations, add a new one"),
        ("never edit the lock file, update the manifest", "never edit the lock file, update the manifest"),
        ("don't push, run the linter first", "don't push, run the linter first"),
        ("whenever you touch a.py, update the changelog", "whenever you touch a.py, update the changelog"),
    ],
)
def test_a_task_behind_a_limit_is_no_part_of_it(make_harness: MakeHarness, message: str, limit: str) -> None:
    harness = make_harness([text("Ok.")])

    async def run() -> None:
        await harness.turn(message)
        memory = harness.app.memory
        assert [*memory.held_limits, *(one.content for one in memory.store.records())] == [limit]
        await harness.app.close()

    asyncio.run(run())
