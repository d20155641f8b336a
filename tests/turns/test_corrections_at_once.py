"""A correction that the user types replaces the corrected memory before the request is sent."""

import asyncio
from collections.abc import Sequence

import pytest

from clio.agent.user_interface import Notice
from clio.commands.registry import run_command
from clio.memory.consolidation.runner import run_consolidation
from clio.memory.store.record import PROJECT_KINDS
from tests.support.chat_server import text
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness

OLD = "remember that the staging server listens on port 8080"
OTHERS = ("remember that the timeout is 30 seconds", "remember that we use npm")


def facts(harness: Harness) -> list[str]:
    return sorted(record.content for record in harness.app.memory.store.records() if record.kind == "fact")


def notices(harness: Harness) -> str:
    return "\n".join(notice.text for notice in harness.seen(Notice))


async def run_sessions(harness: Harness, first: Sequence[str], second: Sequence[str]) -> None:
    for message in first:
        await harness.turn(message)
    await harness.app.close()
    harness.app = harness.build()
    for message in second:
        await harness.turn(message)


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    "correction",
    [
        "Actually the port is 9090 now",
        "actually it's on port 9090 now",
        "we moved to port 9090",
        "we moved staging to port 9090",
        "It's no longer 8080 but 9090.",
        "the port isn't 8080 any more, it's 9090",
        "we changed it to 9090",
        "We changed the port to 9090 yesterday.",
        "wait, not 8080: it's 9090",
        "Wait, it's 9090, not 8080",
        "correction: port 9090",
        "sorry, I meant 9090",
        "the new port is 9090",
        "I was wrong about the port, it's 9090",
        "as of today the port is 9090",
        "remember that the port is 9090 now",
        "8080 is outdated, use 9090",
        "The staging server has moved to 9090.",
        "we use 9090 now instead of 8080",
        "By the way, the port was changed from 8080 to 9090. Please look at calc.py",
        "nah it's 9090",
        "my bad, port is 9090",
        "err, 9090 not 8080",
        "sry, it's 9090",
        "the staging port went from 8080 to 9090",
        "turns out the staging server listens on 9090, not 8080",
        "forget what I told you about 8080, it's 9090",
        "ignore port 8080, we use 9090",
        "ops moved the staging server to port 9090",
        "the old box is off, the staging server listens on port 9090 now",
        "the staging server isnt on 8080 anymore, its 9090",
    ],
)
def test_a_correction_in_a_later_session_replaces_the_value_immediately(
    make_harness: MakeHarness, correction: str
) -> None:
    harness = make_harness([text("Ok.")] * 5)

    async def run() -> None:
        await run_sessions(harness, [OLD, *OTHERS], [correction])
        expected = ["the staging server listens on port 9090", "the timeout is 30 seconds", "we use npm"]
        assert facts(harness) == expected
        assert "the staging server listens on port 9090 (instead of “" in notices(harness)
        await harness.app.close()
        harness.app = harness.build()
        run_consolidation(harness.app.memory.consolidation)
        assert facts(harness) == expected
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("old", "correction", "new"),
    [
        ("merk dir: das Backup läuft um 3:00", "quatsch, das Backup läuft um 4:00", "das Backup läuft um 4:00"),
        ("merk dir: der Dienst läuft auf knoten-a", "der Dienst läuft jetzt auf knoten-b", "knoten-b"),
        ("lembre que a fila usa a porta 5000", "na verdade a fila usa a porta 5100", "a fila usa a porta 5100"),
        ("记住缓存的端口是6000", "不对，缓存的端口是6100", "缓存的端口是6100"),
        ("キューのポートは6000だと覚えておいて", "違います、キューのポートは6100です", "キューのポートは6100"),
    ],
)
def test_corrections_in_other_languages_replace_the_value_immediately(
    make_harness: MakeHarness, old: str, correction: str, new: str
) -> None:
    harness = make_harness([text("Ok.")] * 3)

    async def run() -> None:
        await run_sessions(harness, [old], [correction])
        [fact] = facts(harness)
        assert new in fact
        run_consolidation(harness.app.memory.consolidation)
        assert facts(harness) == [fact]
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("old", "correction", "new"),
    [
        ("记住我们用 npm", "不，pnpm", "我们用 pnpm"),
        ("记住端口是 3128", "不，3129", "端口是 3129"),
        ("npm を使うと覚えておいて", "いや、pnpm", "pnpm を使う"),
        ("lembre-se de que usamos Jenkins", "não, Woodpecker", "usamos Woodpecker"),
        ("lembre-se de que usamos Python 3.11", "Passámos para Python 3.12.", "usamos Python 3.12"),
        ("lembre-se de que a porta é 9090", "não, 9091", "a porta é 9091"),
    ],
)
def test_a_value_alone_right_after_the_statement_replaces_it(
    make_harness: MakeHarness, old: str, correction: str, new: str
) -> None:
    harness = make_harness([text("Ok.")] * 2)

    async def run() -> None:
        await harness.turn(old)
        await harness.turn(correction)
        assert facts(harness) == [new]
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("old", "correction"),
    [
        ("we log to loki", "the logs were moved from loki to kibana"),
        ("standup is at noon", "standup is at 1pm now"),
        ("we keep secrets in vault", "we moved secret handling from vault to sops last month"),
    ],
)
def test_a_correction_saved_in_its_own_words_is_kept_by_consolidation(
    make_harness: MakeHarness, old: str, correction: str
) -> None:
    harness = make_harness([text("Ok.")] * 3)

    async def run() -> None:
        await run_sessions(harness, [f"remember that {old}"], [correction])
        now = facts(harness)
        assert len(now) == 1 and old not in now and not now[0].endswith("now")
        run_consolidation(harness.app.memory.consolidation)
        assert facts(harness) == now
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("between", "expected"),
    [([], "the mascot is a wolf"), (["explain calc.py", "and the parser"], "the mascot is a fox")],
)
def test_a_correction_refers_to_the_statement_just_before(
    make_harness: MakeHarness, between: list[str], expected: str
) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        for message in ["remember that the mascot is a fox", *between, "actually it is a wolf"]:
            await harness.turn(message)
        assert facts(harness) == [expected]
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "remark",
    [
        "what changed 3",
        "changed to 9",
        "it is 4 now",
        "it's 300 now",
        "it moved to 10",
        "ok it changed to 302",
        "the backup used to run at 1 am",
        "staging used to listen on port 1111",
        "staging listens on the wrong port",
        "the port is wrong now",
        "the backup runs at night",
        "the default retry limit is 17 now",
        "gzip was replaced by zstd yesterday",
        "the name is baz now",
        "which port is it now, 9090",
        "only 3 fail now",
    ],
)
@pytest.mark.parametrize("before", [(), ("now 3 of 299 tests fail, look at calc.py",)])
def test_a_remark_about_something_else_replaces_nothing(
    make_harness: MakeHarness, remark: str, before: tuple[str, ...]
) -> None:
    known = ["my name is Uli", "staging listens on port 9091", "the backup runs at 3 am", "the report runs at 5 am"]
    known += ["the retry limit is 5"]
    harness = make_harness([text("The suite has 299 tests; they take 5 seconds.")] * 8)

    async def run() -> None:
        await run_sessions(harness, [f"remember that {fact}" for fact in known], [*before, remark])
        assert set(known) <= set(facts(harness))
        assert "instead of" not in notices(harness)
        await harness.app.close()

    asyncio.run(run())


def test_one_undo_restores_the_old_value(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 5)

    async def run() -> None:
        await run_sessions(harness, [OLD], ["Actually the port is 9090 now"])
        assert run_command(harness.app, "/memory undo").ok
        assert facts(harness) == ["the staging server listens on port 8080"]
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "later",
    [
        "The production server listens on port 9090 now.",
        "the metrics port is 9100 now",
        "Actually HTTP 409 means conflict",
        "the port could be 9090 now",
        "for now the port is 9090 on my machine",
        "is the port 9090 now?",
        "the test returns 9090 now, not 8080",
        "no, look at line 90, not 80",
        "forget 8080, look at the log",
        "ignore the staging server, it's slow",
    ],
)
def test_other_subjects_and_passing_remarks_replace_nothing(make_harness: MakeHarness, later: str) -> None:
    harness = make_harness([text("Ok.")] * 5)

    async def run() -> None:
        await run_sessions(harness, [OLD, "remember that HTTP 404 means the job is gone"], [later])
        assert "the staging server listens on port 8080" in facts(harness)
        assert "HTTP 404 means the job is gone" in facts(harness)
        await harness.app.close()

    asyncio.run(run())


def test_a_correction_that_fits_two_memories_needs_context(make_harness: MakeHarness) -> None:
    harness = make_harness([*[text("Ok.")] * 3, text("The metrics server listens on 9100."), text("Ok.")])

    async def run() -> None:
        other = "remember that the metrics server listens on port 9100"
        await run_sessions(harness, [OLD, other], ["Actually the port is 9090 now"])
        assert facts(harness) == ["the metrics server listens on port 9100", "the staging server listens on port 8080"]
        await harness.turn("where are the metrics?")
        await harness.turn("no, it's 9200")
        assert facts(harness) == ["the metrics server listens on port 9200", "the staging server listens on port 8080"]
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("facts_before", "between"),
    [
        (["the api listens on 4444", "the db listens on 5432"], ["fix calc.py"]),
        (["the api listens on 4444 and the db listens on 5432"], []),
        (["the api listens on 4444 and the db listens on 5432"], ["fix calc.py"]),
    ],
)
def test_a_value_that_fits_two_statements_is_reported_as_unclear(
    make_harness: MakeHarness, facts_before: list[str], between: list[str]
) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        for message in [*(f"remember that {fact}" for fact in facts_before), *between, "actually it's 4445 now"]:
            await harness.turn(message)
        assert facts(harness) == sorted(facts_before)
        [told] = [notice.text for notice in harness.seen(Notice) if "4445" in notice.text]
        assert "Not clear" in told and all(told.count(fact) == 1 for fact in facts_before)
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("between", "remark"),
    [
        ("start a server on port 8080", "no wait, 8081"),
        ("fix calc.py", "it's 4 now"),
        ("fix calc.py", "we use 4445 lines"),
    ],
)
def test_a_value_that_may_be_about_something_else_is_not_reported(
    make_harness: MakeHarness, between: str, remark: str
) -> None:
    known = ["the api listens on 4444", "the db listens on 5432", "the retry limit is 5", "the pool size is 8"]
    harness = make_harness([text("Ok.")] * 6)

    async def run() -> None:
        await run_sessions(harness, [f"remember that {fact}" for fact in known], [between, remark])
        assert facts(harness) == sorted(known)
        assert "Not clear" not in notices(harness)
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("old", "later", "new"),
    [
        ("we use npm", "we switched to pnpm", "we use pnpm"),
        ("we track bugs in trello", "trello is history, we use asana", "we track bugs in asana"),
        ("the site is on heroku", "the site is on render these days, heroku is gone", "the site is on render"),
        ("we build with maven", "we dont use maven anymore, we use gradle now", "we build with gradle"),
        ("the build runs on jenkins", "we migrated the build from jenkins to drone", "the build runs on drone"),
        ("the pool has 8 workers", "nope, 12 workers", "the pool has 12 workers"),
        ("CI runs on Jenkins", "we moved CI to Buildkite", "CI runs on Buildkite"),
        ("the database is MySQL", "It's Postgres now, not MySQL", "the database is Postgres"),
        ("we deploy on Fridays", "no, we no longer deploy on Fridays but on Mondays", "we deploy on Mondays"),
    ],
)
def test_names_are_replaced_too(make_harness: MakeHarness, old: str, later: str, new: str) -> None:
    harness = make_harness([text("Ok.")] * 5)

    async def run() -> None:
        await run_sessions(harness, [f"remember that {old}", "remember that the timeout is 30 seconds"], [later])
        assert facts(harness) == sorted([new, "the timeout is 30 seconds"])
        await harness.app.close()

    asyncio.run(run())


def test_a_discovery_of_the_model_is_replaced(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 5)

    async def run() -> None:
        run_command(harness.app, "/memory add discovery The API listens on port 8080")
        await harness.turn("Actually the API's port is 9090 now")
        assert not harness.app.memory.store.records(PROJECT_KINDS)
        assert any("9090" in fact for fact in facts(harness))
        await harness.app.close()

    asyncio.run(run())


def test_without_an_earlier_memory_remember_that_saves_the_change(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 5)

    async def run() -> None:
        await harness.turn("remember that the staging port is 9090 now")
        assert any("9090" in fact for fact in facts(harness))
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("first", "said", "kept"),
    [
        ("remember the api listens on port 8080", "the api's debug port is 9229 now", "8080"),
        ("remember that the upload limit is 10 MB", "the upload limit for admins got raised to 50 MB", "10 MB"),
        ("remember that we test on Firefox", "we test on Safari now as well", "Firefox"),
        ("remember that deploys happen on Tuesdays", "this week's deploy moved to Thursday", "Tuesdays"),
        ("remember the left motor is on pin 4", "the right motor is on pin 9 now", "pin 4"),
        ("remember that billing runs in Frankfurt", "billing is licensed under Apache now", "Frankfurt"),
        ("merk dir, dass das Logo blau ist", "das Logo liegt jetzt in assets/marke.svg", "blau"),
        (
            "retiens que le serveur de tests écoute sur le port 9000",
            "le serveur de tests a désormais 16 Go de mémoire",
            "le serveur de tests écoute sur le port 9000",
        ),
    ],
)
def test_a_change_of_something_else_replaces_nothing_at_once_or_later(
    make_harness: MakeHarness, first: str, said: str, kept: str
) -> None:
    harness = make_harness([text("Ok.")] * 2)

    async def run() -> None:
        await run_sessions(harness, [first], [said])
        assert any(kept in fact for fact in facts(harness))
        await harness.app.close()
        harness.app = harness.build()
        run_consolidation(harness.app.memory.consolidation)
        assert any(kept in fact for fact in facts(harness))
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("remember the api gateway is Kong", "remember the mail gateway is now Postfix"),
        ("remember that the ingest worker retries 3 times", "remember that the export worker now retries 6 times"),
        ("remember that the beta ships on Mondays", "remember that the stable ships on Thursdays from now on"),
    ],
)
def test_a_new_state_to_remember_is_saved_with_its_word_of_change(
    make_harness: MakeHarness, first: str, second: str
) -> None:
    harness = make_harness([text("Ok.")] * 2)

    async def run() -> None:
        await run_sessions(harness, [first], [second])
        assert len(facts(harness)) == 2
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("first", "said", "now"),
    [
        (
            "remember that analytics are stored in Redshift",
            "after the migration analytics sit in ClickHouse",
            "ClickHouse",
        ),
        (
            "remember the relay board has 8 channels",
            "the datasheet says the relay board has 16 channels",
            "16 channels",
        ),
        ("remember that the tracker is called nightjar", "nightjar has been rebranded to sandpiper", "sandpiper"),
        (
            "remember that we ship on Wednesdays",
            "We don't ship on Wednesdays anymore; Thursday is the day.",
            "Thursday",
        ),
        (
            "remember that the tiles come from Mapbox",
            "the tiles no longer come from Mapbox but from MapTiler",
            "MapTiler",
        ),
        ("merk dir, dass das Treffen um 10 Uhr beginnt", "das Treffen wurde auf 13 Uhr verlegt", "13 Uhr"),
        ("merk dir, dass der Sprint zwei Wochen dauert", "der Sprint dauert künftig drei Wochen", "drei Wochen"),
        ("retiens que le projet s'appelle Mirabelle", "le projet a été rebaptisé Quetsche", "Quetsche"),
        ("recuerda que el límite es de 10 MB", "el límite ha subido a 25 MB", "25 MB"),
        ("lembra que o time usa o Slack", "o time trocou o Slack pelo Mattermost", "Mattermost"),
        ("记住:缓存保留7天", "缓存保留时间延长到14天", "14天"),
        ("覚えておいて：本番DBはdb-prod-1", "本番DBはdb-prod-4に切り替わりました", "db-prod-4"),
    ],
)
def test_a_change_told_in_any_words_replaces_the_value(
    make_harness: MakeHarness, first: str, said: str, now: str
) -> None:
    harness = make_harness([text("Ok.")] * 3)

    async def run() -> None:
        await run_sessions(harness, [first], ["read calc.py", said])
        [fact] = facts(harness)
        assert now in fact
        await harness.app.close()

    asyncio.run(run())
