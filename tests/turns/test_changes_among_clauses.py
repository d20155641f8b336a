"""A clause that changes a memory counts whatever else the message says: reasons, sources, orders, questions, thanks."""

import pytest

from tests.turns.conftest import MakeHarness
from tests.turns.test_roles_of_people import run_turns

BETWEEN = "add a newline to README.md"


@pytest.mark.parametrize(
    ("known", "said", "now"),
    [
        (
            "the mail queue runs on port 4100",
            "yo we shuffled some boxes around, the mail queue runs on port 4200 now, can you fix the curl line",
            "the mail queue runs on port 4200",
        ),
        (
            "invoices are due on fridays",
            "invoices are due on mondays these days, so when's the next one if today is the 3rd",
            "invoices are due on mondays",
        ),
        (
            "our bundler is webpack",
            "please drop webpack: we're using vite as our bundler, convert the config",
            "our bundler is vite",
        ),
        ("the lab fridge is at 4 degrees", "checked the display: lab fridge is at 6 degrees", None),
        (
            "prod runs postgres 14",
            "prod runs postgres 16 since the weekend so you can use merge",
            "prod runs postgres 16",
        ),
        ("we run redis 6", "since we're on redis 7 now can you use functions for this", "we run redis 7"),
        (
            "customers pay in usd",
            "we sell in germany since march, customers pay in eur, fix the formatter",
            "customers pay in eur",
        ),
        ("the mixer is set to 40 rpm", "mixer is set to 55 rpm, dunno why i said 40. redo the table", None),
        ("the default theme is Nord", "haha ok so the default theme is Dracula, update the screenshot", None),
        ("parcels go out from the Essen depot", "essen burned down. parcels go out from Hagen, fix the map", None),
        ("the docs site uses mkdocs", "mkdocs is gone, the docs site is on sphinx. where do i add a page", None),
        ("queue jobs run on the host called titan", "the jobs run on rhea, titan is only for backups", None),
        ("refunds can not be cancelled", "so i asked finance and refunds CAN be cancelled, i had it wrong", None),
        ("the tank alarm rings at 80%", "the client wants the tank alarm at 90%, so it's 90 now", None),
        ("i'm based in oslo", "i live in bergen since june so use the ferry holidays", None),
        (
            "backend is express 4",
            "the express 5 migration is done on the backend, so use async handlers",
            "backend is express 5",
        ),
    ],
)
def test_a_clause_with_the_whole_subject_changes_a_memory(
    make_harness: MakeHarness, known: str, said: str, now: str | None
) -> None:
    changed = run_turns(make_harness, f"remember that {known}", BETWEEN, said)
    assert len(changed) == 1
    assert changed != [known]
    assert now is None or changed == [now]


@pytest.mark.parametrize(
    ("known", "said", "now"),
    [
        (
            "the display's i2c address is 0x3C",
            "hm read the sheet again, jumper is set so 0x3D",
            "the display's i2c address is 0x3D",
        ),
        ("staging logs stay for 30 days", "thats prod. staging is 14", "staging logs stay for 14 days"),
        ("our exports use commas as the separator", "sry semicolons", "our exports use semicolons as the separator"),
        (
            "the release branch is called main in this repo",
            "scratch that its trunk",
            "the release branch is called trunk in this repo",
        ),
        ("we use pip in the tools folder", "i lied, uv lol", "we use uv in the tools folder"),
        (
            "the demo user is qa_tom with role viewer",
            "role is tester, the rest is right",
            "the demo user is qa_tom with role tester",
        ),
        (
            "the probe reports in celsius",
            "yeah because the probe reports fahrenheit. sorry",
            "the probe reports in fahrenheit",
        ),
    ],
)
def test_an_answer_that_gives_only_a_value_corrects_the_memory_before(
    make_harness: MakeHarness, known: str, said: str, now: str
) -> None:
    assert run_turns(make_harness, f"remember that {known}", said) == [now]


@pytest.mark.parametrize(
    ("known", "said", "now"),
    [
        ("lab calls are on wednesdays", "ugh no thursdays. wednesdays is choir", "lab calls are on thursdays"),
        ("the sync is at 10:15", "nvm its 10:45", "the sync is at 10:45"),
        ("icons are stored as png", "nope webp", "icons are stored as webp"),
        ("the pump needs 12V", "24V even", "the pump needs 24V"),
        ("we build with meson", "bazel, meson was last year", "we build with bazel"),
        ("the dev proxy runs on 5173", "5174 i think the other one is storybook", "the dev proxy runs on 5174"),
    ],
)
def test_swearing_doubts_about_the_former_value_and_jokes_do_not_hide_the_value(
    make_harness: MakeHarness, known: str, said: str, now: str
) -> None:
    assert run_turns(make_harness, f"remember that {known}", said) == [now]


@pytest.mark.parametrize(
    ("known", "said", "now"),
    [
        (
            "the token is valid for 15 minutes",
            "hmm the token lifetime i told you isnt right. its an hour",
            "the token is valid for an hour",
        ),
        ("uploads cant be deleted", "support says uploads can be deleted, so drop the hint", "uploads can be deleted"),
        ("we dont have a staging box", "we have a staging box now, add it to the hosts", "we have a staging box"),
        ("we use redux", "threw out redux, we use zustand. write the cart store", "we use zustand"),
        ("settings are read from app.ini", "oh settings are read from app.toml, app.ini is a leftover", None),
        (
            "the release manager is Olga",
            "olga handed over, release manager is Pedro. ping him",
            "the release manager is Pedro",
        ),
        ("the price is 9.99", "price went up, its 12.99 from monday. change the landing page", "the price is 12.99"),
        ("python is 3.10 here", "upgraded to python 3.13 over the weekend, use the new syntax", "python is 3.13 here"),
        ("erik is my manager", "erik left, my manager is Sabine now, put her in the approval list", None),
        ("the oven is set to 210", "turned the oven down to 190, so compute the cost", "the oven is set to 190"),
        ("the vpn needs port 1194", "the firewall guy says the vpn needs port 443", "the vpn needs port 443"),
        ("the api returns xml", "the api returns json since v5, drop the xml parser", "the api returns json"),
        (
            "the palms get watered on mondays",
            "the palms get watered on fridays now since lea works then",
            "the palms get watered on fridays",
        ),
    ],
)
def test_a_reason_a_source_or_an_order_beside_the_new_value_changes_nothing_else(
    make_harness: MakeHarness, known: str, said: str, now: str | None
) -> None:
    changed = run_turns(make_harness, f"remember that {known}", BETWEEN, said)
    assert len(changed) == 1
    assert changed != [known]
    assert now is None or changed == [now]
    assert "list" not in changed[0]


@pytest.mark.parametrize(
    "said",
    [
        "on staging, the api listens on port 9090",
        "staging only: the api listens on port 9090",
        "the docs example: the api listens on port 9090",
        "let's pretend the api listens on port 9090, what breaks",
        "if we move it, the api listens on port 9090",
        "the api listens on port 9090, right",
        "write a mock, the api listens on port 9090 there",
        "the api listens on port 9090 in the tutorial, explain that part",
        "jonas thinks the api listens on port 9090, he's wrong",
        "the old api listens on port 9090, leave it alone",
        "this week only, the api listens on port 9090",
        "the api is slow, restart it and wait 30",
        "add a test, the api listens on port 9090",
        "start it on 9091 for the screenshot",
        "9091 is taken by grafana, find out why",
        "did the api listen on port 9090 before",
        "my friend's api listens on port 9090",
        "i might move the api to port 9090 some day",
    ],
)
@pytest.mark.parametrize("between", [(), (BETWEEN,)])
def test_what_limits_asks_or_is_about_another_thing_changes_nothing(
    make_harness: MakeHarness, between: tuple[str, ...], said: str
) -> None:
    known = "the api listens on port 8080"
    assert run_turns(make_harness, f"remember that {known}", *between, said) == [known]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("the deploy is on friday", "the deploy is broken, fix it"),
        ("the deploy is on friday", "the deploy is slow, friday was worse. profile it"),
        ("the sensors report in psi", "the sensors report errors, restart them"),
        ("customers pay in usd", "customers pay late, send a reminder"),
        ("the monorepo uses lerna", "the monorepo is slow, lerna is the problem i guess"),
        ("Priya owns the search service", "Tomas reviews the search service, ask Priya first"),
        ("orders ship from the leeds warehouse", "orders ship late, write an apology to leeds"),
        ("the build takes 5 minutes", "the build takes 3 years lol"),
        ("shard eu-1 is full", "shard eu-2 is full"),
        ("the demo is on thursday", "did we do the last one on a friday"),
        ("the demo is on thursday", "the retro is on friday"),
        ("the deploy is on friday", "monday builds are wrong, fix them"),
        ("Clara is the scrum master", "in team blue Ben is the scrum master"),
        ("we use kotlin for the android app", "the ios app uses swift"),
        ("staging runs on hermes", "atlas is the backup box, hermes is full"),
        ("the timeout is 30s", "it failed after 12s, why"),
        ("the sensor reports every 10 minutes", "it dropped out for 2 minutes"),
        ("reports are written in markdown", "the html looks broken, markdown was fine"),
    ],
)
def test_another_property_or_thing_changes_nothing(make_harness: MakeHarness, known: str, said: str) -> None:
    assert known in run_turns(make_harness, f"remember that {known}", said)


def test_a_value_is_changed_by_a_clause_about_its_subject_only(make_harness: MakeHarness) -> None:
    known = "the tank is at 12 bar"
    said = "the gauge man came, the tank is at 9 bar now, so fix the alarm"
    assert run_turns(make_harness, f"remember {known}", BETWEEN, said) == ["the tank is at 9 bar"]


def test_the_value_of_a_look_alike_changes_nothing(make_harness: MakeHarness) -> None:
    known = "the tank is at 12 bar"
    said = "the gauge man came, the spare tank is at 9 bar now, so fix the alarm"
    assert run_turns(make_harness, f"remember {known}", BETWEEN, said) == [known]


@pytest.mark.parametrize(
    ("known", "said", "now"),
    [
        ("recuerda que el horno aguanta 300 grados", "me equivoqué, el horno aguanta 450 grados", "450"),
        (
            "retiens que la pompe est activée",
            "vérifié sur place, la pompe est désactivée, note-le au planning",
            "désactivée",
        ),
        (
            "merk dir: das limit von kasse 3 ist 40",
            "das mit 40 war falsch, laut handbuch ist das limit von kasse 3 60",
            "60",
        ),
        ("记住日志保留 9 天", "审计有要求，日志现在保留 45 天，磁盘够吗", "45"),
        ("lembra que o bloco tem o rótulo box_1", "na planilha vejo que o rótulo do bloco é box_7", "box_7"),
    ],
)
def test_a_clause_in_another_language_changes_a_memory(
    make_harness: MakeHarness, known: str, said: str, now: str
) -> None:
    [changed] = run_turns(make_harness, known, BETWEEN, said)
    assert now in changed


@pytest.mark.parametrize(
    ("known", "said", "kept"),
    [
        ("merk dir: der scanner steht in raum 31", "der plotter steht in raum 44", "31"),
        ("记住仓库温度是 8 度", "老王说是 15 度,我觉得他搞混了", "8 度"),
        ("覚えておいて、地図は Leaflet", "地図を Mapbox にしたら重くなると思う？", "Leaflet"),
    ],
)
def test_another_thing_or_a_doubt_in_another_language_changes_nothing(
    make_harness: MakeHarness, known: str, said: str, kept: str
) -> None:
    assert any(kept in fact for fact in run_turns(make_harness, known, said))
