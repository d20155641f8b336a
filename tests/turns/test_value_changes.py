"""The new value of a known statement in a message that says anything else beside it, read in whole turns."""

import asyncio

import pytest

from clio.memory.consolidation.value_changes import MODEL, find_change
from clio.text.linear_model import BUCKETS
from tests.support.chat_server import text
from tests.turns.conftest import MakeHarness


def test_the_weights_fit_the_models() -> None:
    assert MODEL.path.stat().st_size == BUCKETS * 2


def test_both_values_are_found_with_their_places() -> None:
    statement, message = "we deploy to heroku", "deploys go to fly.io since monday, write its config"
    found = find_change(statement, message, is_reply=False)
    assert found.probability > 0.5
    assert (statement[slice(*found.old)], message[slice(*found.new)]) == ("heroku", "fly.io")
    assert find_change(statement, "add a fallback to fly.io", is_reply=False).probability < 0.5


def change(make_harness: MakeHarness, statement: str, message: str, *, is_reply: bool = False) -> str | None:
    """Return what a remembered statement says after a message in the same or a later session; None if it stays."""
    harness = make_harness([text("Ok.")] * 2)

    async def run() -> None:
        await harness.turn(f"{'merk dir:' if ' Ofen ' in statement else 'remember that'} {statement}")
        if not is_reply:
            await harness.app.close()
            harness.app = harness.build()
        await harness.turn(message)

    asyncio.run(run())
    [told] = [one.content for one in harness.app.memory.store.records(("fact",))][:1]
    return None if told == statement else told


@pytest.mark.parametrize(
    ("statement", "message", "now"),
    [
        (
            "the greenhouse pump runs 5 minutes per day",
            "leaves are dry so the greenhouse pump runs 8 minutes now, ok?",
            "8 minutes",
        ),
        ("our bundler is webpack 4", "i upgraded to webpack 5 on friday, see what breaks", "webpack 5"),
        ("the sandbox merchant is mrc-1043", "403. mrc-1034 is the right one", "mrc-1034"),
        ("choir practice is on tuesdays", "write the choir invite, practice is on thursdays from now on", "thursdays"),
        ("the mic samples at 44100", "about the mic: it samples at 48000, mixed up two boards", "48000"),
        ("login is done with auth0", "auth0 got too pricey so login is keycloak now, whats the env var", "keycloak"),
        ("we rent 6 build machines", "accounting cut us down to 3 build machines, merge the jobs", "3 build"),
        ("the modem talks at 9600", "the manual says 19200. was my mistake, sorry about the modem", "19200"),
        ("the package manager is npm", "the package manager is `pnpm` since last week, redo the image", "pnpm"),
        ("comments are optional in the survey", "comments are mandatory in the survey as of v3", "mandatory"),
        ("der Ofen steht auf 180 Grad", "hab nachgeschaut, der Ofen steht jetzt auf 200 Grad", "200 Grad"),
    ],
)
def test_a_clause_gives_another_value(make_harness: MakeHarness, statement: str, message: str, now: str) -> None:
    assert now in (change(make_harness, statement, message) or "")


REPLIES = [
    ("the call is fridays at 3pm", "3:30 actually", "the call is fridays at 3:30"),
    ("tokens are signed with hs256", "hmm. rs256", "tokens are signed with rs256"),
    ("the grid has 12 columns", "16, sorry, look at the css", "the grid has 16 columns"),
    ("the lamp runs at 24 V", "12 V on this one", "the lamp runs at 12 V"),
    ("the intern is called Lena", "no wait, Leona", "the intern is called Leona"),
    ("the host is called kestrl", "kestrel, typo", "the host is called kestrel"),
]


@pytest.mark.parametrize(("statement", "reply", "now"), REPLIES)
def test_a_reply_may_say_only_the_value(make_harness: MakeHarness, statement: str, reply: str, now: str) -> None:
    assert change(make_harness, statement, reply, is_reply=True) == now


# "16, sorry" at the start of a session is about the only memory with such a number.
@pytest.mark.parametrize(("statement", "reply"), [row[:2] for row in REPLIES if not row[1].startswith("16")])
def test_such_a_reply_means_nothing_in_a_later_session(make_harness: MakeHarness, statement: str, reply: str) -> None:
    assert change(make_harness, statement, reply) is None


@pytest.mark.parametrize("order", ["corrige calc.py", "montre calc.py", "muestra calc.py", "mostra o calc.py"])
def test_an_order_with_a_verb_that_may_name_a_source_gives_no_value(make_harness: MakeHarness, order: str) -> None:
    assert change(make_harness, "the old wiki is at wiki.example", order, is_reply=True) is None


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("the left pump is on relay 3", "the right pump is on relay 4 now"),
        ("Ida's badge is 4411", "Tom's badge is 4141, print both"),
        ("the gpu box has 80 GB of memory", "the gpu box now has 2 TB of disk"),
        ("the app supports Android 10", "the app is at version 4.0 now"),
        ("the survey has 5 pages", "page 3 of the survey is skipped now"),
        ("gate code 404 means closed", "gate code 409 means jammed"),
        ("the shop in Linz closes at 17:00", "the shop in Graz closes at 19:00 from now on"),
        ("the retry limit is 5", "the retry limit should be 8 next year"),
        ("the retry limit is 5", "is the retry limit 8?"),
        ("the retry limit is 5", "set the retry limit to 8 in this test"),
        ("the retry limit is 5", "the retry limit was 8 back then"),
        ("the survey has 412 answers", "the paper by Kim had 650 answers in their survey"),
        ("the retry limit is 5", "if we move, the retry limit is 8"),
        ("the retry limit is 5", "the retry limit is 8 in the tutorial, explain that part"),
        ("the retry limit is 5", "Bob says the retry limit is 8 but he always mixes things up"),
        ("Anna owns the parser", "the parser is maintained by Ronny now"),
        ("standup is on Mondays", "this week standup is on Tuesday"),
        ("the queue runs on srv-1", "set up the preview box, it runs on srv-2"),
        ("the report goes out friday 5pm", "the report goes out thursday noon now"),
        ("the api listens on 8080", 'the readme says "the api listens on 9090 now", translate that'),
        ("the api listens on 8080", "translate `the api listens on 9090 since monday` into German"),
    ],
)
def test_another_thing_a_plan_a_question_or_a_doubt_changes_nothing(
    make_harness: MakeHarness, statement: str, message: str
) -> None:
    assert change(make_harness, statement, message) is None


@pytest.mark.parametrize("reply", ["weird", "weird!"])
def test_a_reply_that_only_resembles_a_word_of_the_statement_corrects_nothing(
    make_harness: MakeHarness, reply: str
) -> None:
    assert change(make_harness, "the relay is wired", reply, is_reply=True) is None


def test_a_memory_that_no_longer_holds_is_archived(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 2)

    async def run() -> list[str]:
        await harness.turn("merk dir: für den Zugriff braucht man das VPN")
        await harness.turn("das VPN ist abgeschafft, lösch die Anleitung dazu")
        return [one.content for one in harness.app.memory.store.records()]

    assert asyncio.run(run()) == []


@pytest.mark.parametrize("message", ["should we drop sentry?", "drop sentry's debug flag from the config"])
def test_a_question_or_a_task_ends_no_memory(make_harness: MakeHarness, message: str) -> None:
    harness = make_harness([text("Ok.")] * 2)

    async def run() -> list[str]:
        await harness.turn("remember that errors are reported to sentry")
        await harness.turn(message)
        return [one.content for one in harness.app.memory.store.records()]

    assert asyncio.run(run()) == ["errors are reported to sentry"]
