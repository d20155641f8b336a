"""A correction changes only the part of a memory that it is about, and a person who leaves is replaced by a person."""

import asyncio

import pytest

from clio.memory.consolidation.runner import run_consolidation
from tests.support.chat_server import text
from tests.turns.conftest import MakeHarness
from tests.turns.test_roles_of_people import facts, run_turns


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Priya maintains the pricing module", "Priya left the project last week"),
        ("Uma maintains the parser module", "Uma has left the company"),
        ("Ben runs the standup and Eva runs the retro", "Ben quit the company"),
        ("Ben runs the standup", "Ben retired from the team"),
        ("Ola is our release manager", "Ola left the team on Friday. update CODEOWNERS"),
        ("Ben runs the standup", "Ben moved to the platform group, Kim took over"),
    ],
)
def test_nothing_takes_the_place_of_a_person_who_leaves(make_harness: MakeHarness, known: str, said: str) -> None:
    assert run_turns(make_harness, f"remember that {known}", said) == [known]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("lembre que a Priya mantém o módulo de preços", "a Priya saiu da empresa"),
        ("retiens que Priya maintient le module de prix", "Priya a quitté l'entreprise"),
        ("recuerda que Priya mantiene el módulo de precios", "Priya dejó la empresa"),
        ("merk dir: Priya betreut das Preismodul", "Priya hat das Projekt verlassen"),
        ("记住：小王负责支付模块", "小王离开了公司"),
        ("覚えて：田中さんが決済を担当している", "田中さんは会社を辞めました"),
    ],
)
def test_a_company_that_somebody_leaves_takes_no_role_in_other_languages(
    make_harness: MakeHarness, known: str, said: str
) -> None:
    before = run_turns(make_harness, known)
    assert len(before) == 1
    assert run_turns(make_harness, known, said) == before


@pytest.mark.parametrize(
    ("known", "said", "now"),
    [
        ("Sam owns tracking", "Sam left the company, Lena took over", "Lena owns tracking"),
        (
            "Ben runs the standup and Eva runs the retro",
            "Ben quit the company. Kim runs the standup",
            "Kim runs the standup and Eva runs the retro",
        ),
        ("billing runs on db-3", "billing left db-3, it's on db-4 now", "billing runs on db-4"),
        (
            "Ravi looks after the dashboard",
            "Ravi changed departments so Celeste looks after the dashboard now",
            "Celeste looks after the dashboard",
        ),
        (
            "the rota is in docs/oncall.md, the release manager is Jonas and releases go out on Tuesdays",
            "Jonas moved to another team, Ida is the release manager now",
            "the rota is in docs/oncall.md, the release manager is Ida and releases go out on Tuesdays",
        ),
    ],
)
def test_who_takes_over_from_a_person_who_leaves_is_learned(
    make_harness: MakeHarness, known: str, said: str, now: str
) -> None:
    assert run_turns(make_harness, f"remember that {known}", said) == [now]


@pytest.mark.parametrize(
    ("known", "said", "now"),
    [
        (
            "Sam owns tracking and billing",
            "Sam left the company, Lena took over tracking",
            "Lena owns tracking and Sam owns billing",
        ),
        (
            "Sam is responsible for tracking, billing and search",
            "Lena is responsible for billing now",
            "Lena is responsible for billing and Sam is responsible for tracking and search",
        ),
        (
            "Ben reviews frontend and backend",
            "Kim reviews frontend and backend now",
            "Kim reviews frontend and backend",
        ),
        (
            "Ben owns tracking and Eva owns billing",
            "Kim took over tracking from Ben",
            "Kim owns tracking and Eva owns billing",
        ),
    ],
)
def test_a_new_owner_of_one_of_several_things_gets_only_this_one(
    make_harness: MakeHarness, known: str, said: str, now: str
) -> None:
    assert run_turns(make_harness, f"remember that {known}", said) == [now]


@pytest.mark.parametrize(
    ("known", "said", "now"),
    [
        (
            "Jonas prefers calls over mail and Ida prefers mail",
            "Ida prefers Slack now",
            "Jonas prefers calls over mail and Ida prefers Slack",
        ),
        (
            "Kai is in Berlin and the server is in Berlin",
            "Kai is in Paris now",
            "Kai is in Paris and the server is in Berlin",
        ),
        (
            "Mia speaks German and Leo speaks German",
            "Leo speaks French now",
            "Mia speaks German and Leo speaks French",
        ),
        (
            "Mia joins on Monday and Leo joins on Monday",
            "Leo joins on Friday instead",
            "Mia joins on Monday and Leo joins on Friday",
        ),
        (
            "staging has 2 replicas and prod has 2 replicas",
            "prod has 4 replicas now",
            "staging has 2 replicas and prod has 4 replicas",
        ),
        (
            "staging deploys with make ship and prod deploys with make ship",
            "actually prod deploys with make release",
            "staging deploys with make ship and prod deploys with make release",
        ),
        (
            "Jonas writes Go and Python and Ida writes Python",
            "Ida writes Rust now",
            "Jonas writes Go and Python and Ida writes Rust",
        ),
    ],
)
def test_the_same_value_in_another_clause_stays(make_harness: MakeHarness, known: str, said: str, now: str) -> None:
    assert run_turns(make_harness, f"remember that {known}", said) == [now]


@pytest.mark.parametrize(
    ("known", "said", "now"),
    [
        (
            "the API rate limit is 50 requests per minute per key",
            "sorry, 60 per minute",
            "the API rate limit is 60 requests per minute per key",
        ),
        (
            "the API rate limit is 50 requests per minute per key",
            "wrong, it's 60 requests per minute",
            "the API rate limit is 60 requests per minute per key",
        ),
        (
            "the test DB is called parcels_test",
            "actually the test DB is called parcels_ci, not parcels_test",
            "the test DB is called parcels_ci",
        ),
        (
            "the log bucket is named parcels-logs",
            "actually the log bucket is named parcels-audit, not parcels-logs",
            "the log bucket is named parcels-audit",
        ),
    ],
)
def test_a_correction_of_what_was_just_said_is_saved(
    make_harness: MakeHarness, known: str, said: str, now: str
) -> None:
    assert run_turns(make_harness, known, said) == [now]


def test_a_minimum_is_not_corrected_by_a_measured_value(make_harness: MakeHarness) -> None:
    known = "coverage must be above 90 percent"
    assert run_turns(make_harness, f"remember that {known}", "coverage is 93 percent now") == [known]


@pytest.mark.parametrize(
    ("known", "said", "now"),
    [
        ("prod listens on port 8080", "prod moved to 8443 last night", "prod listens on port 8443"),
        ("prod listens on port 8080", "prod moved to port 8443 last night", "prod listens on port 8443"),
        ("the staging port is 9090", "staging was moved to 9191 on Monday", "the staging port is 9191"),
        ("the standup is on Monday", "the standup moved to Tuesday last week", "the standup is on Tuesday"),
        ("we use Postgres 15", "we moved to MySQL", "we use MySQL"),
    ],
)
def test_when_something_moved_is_no_part_of_the_new_statement(
    make_harness: MakeHarness, known: str, said: str, now: str
) -> None:
    assert run_turns(make_harness, f"remember that {known}", said) == [now]


@pytest.mark.parametrize("said", ["no wait, double quotes", "sorry, double quotes"])
def test_a_corrected_like_is_asked_about(make_harness: MakeHarness, said: str) -> None:
    harness = make_harness([text("Ok.")] * 2)

    async def run() -> None:
        await harness.turn("I prefer single quotes")
        await harness.turn(said)
        [(question, replace)] = harness.app.learner.pop_suggestions()
        assert "double quotes" in question
        replace()
        await harness.app.close()

    asyncio.run(run())
    assert [one.record.content for one in harness.app.memory.preferences.all()] == ["prefer double quotes"]


@pytest.mark.parametrize(
    ("said", "learned"),
    [
        (
            "actually the log level in prod is WARNING, not INFO",
            ["the log level in prod is WARNING, not INFO"],
        ),
        ("hmm actually the mail host is mx2, not mx1", ["the mail host is mx2, not mx1"]),
        ("the test is in test_a.py, not in test_b.py", []),
        ("the test server is down", []),
        ("the log is empty, not missing", []),
    ],
)
def test_a_correction_of_nothing_known_is_learned_if_it_says_something_lasting(
    make_harness: MakeHarness, said: str, learned: list[str]
) -> None:
    harness = make_harness([text("Ok.")])

    async def run() -> None:
        await harness.turn(said)
        await harness.app.close()
        harness.app = harness.build()
        run_consolidation(harness.app.memory.consolidation)
        await harness.app.close()

    asyncio.run(run())
    assert facts(harness) == learned


@pytest.mark.parametrize(
    ("known", "said", "now"),
    [
        (
            "merk dir: Sam verantwortet das Tracking",
            "Sam hat die Firma verlassen, Lena übernimmt das Tracking",
            "Lena verantwortet das Tracking",
        ),
        ("retiens que Sam gère le suivi", "Sam a quitté l'entreprise, Léa reprend le suivi", "Léa gère le suivi"),
        (
            "recuerda que Sam lleva el seguimiento",
            "Sam dejó la empresa, Lena asume el seguimiento",
            "Lena lleva el seguimiento",
        ),
        (
            "merk dir: Staging läuft auf Port 8080",
            "Staging ist gestern Abend auf 9090 umgezogen",
            "Staging läuft auf Port 9090",
        ),
        (
            "retiens que Mia parle allemand et Leo parle allemand",
            "Leo parle français maintenant",
            "Mia parle allemand et Leo parle français",
        ),
    ],
)
def test_parts_are_corrected_in_other_languages_too(make_harness: MakeHarness, known: str, said: str, now: str) -> None:
    assert run_turns(make_harness, known, said) == [now]


@pytest.mark.parametrize(
    ("known", "said", "now"),
    [
        (
            "the cache TTL in prod is 900 seconds (raised 2026-12-01)",
            "no, that's 1200 now",
            "the cache TTL in prod is 1200 seconds",
        ),
        ("the port is 8080 (see docs/net.md)", "no, 9090", "the port is 9090 (see docs/net.md)"),
    ],
)
def test_a_date_behind_a_value_goes_with_it(make_harness: MakeHarness, known: str, said: str, now: str) -> None:
    assert run_turns(make_harness, f"remember that {known}", said) == [now]
