"""A statement about another property of a thing, or about another thing, replaces no value, whether it says "now"."""

from itertools import permutations, product
from pathlib import Path

import pytest

from clio.memory.consolidation.value_corrections import find_corrected_value
from clio.memory.statement_relation import relate_statements

PROPERTIES = [
    "the staging port is 9090",
    "staging runs Ubuntu 24",
    "staging has 4 replicas",
    "the staging host has 8 cores",
    "the staging branch is protected",
    "the staging cache is 2 GB",
    "the staging cache is stored on S3",
    "staging is maintained by Ronny",
    "staging is backed up nightly",
    "staging supports Python 3.9",
    "staging is deployed on Mondays",
    "the staging logs are kept for 30 days",
    "staging needs two approvals",
    "the staging license is MIT",
    "staging costs 300 euros a month",
    "staging answers within 200 ms",
]
"""One for each property; none is another value of one of the others."""


@pytest.mark.parametrize("ending", ["", " now"])
def test_no_property_takes_the_place_of_another_one(ending: str) -> None:
    taken = [
        (old, new)
        for old, new in permutations(PROPERTIES, 2)
        if find_corrected_value(old, new + ending) or relate_statements(old, new + ending) == "supersedes"
    ]
    assert taken == []


def test_a_change_of_a_thing_is_no_other_value_of_its_other_properties() -> None:
    data = Path(__file__).parents[1] / "data" / "statement_properties_third.tsv"
    lines = [line for line in data.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    rows = [line.format("billing", "billing").split("\t") for line in lines]
    # Who owns it may maintain it, and where its files are may be where it is.
    rows = [row for row in rows if not any(word in row[0] for word in ("owns", "maintained", "reviews", "files"))]
    taken = [
        (old, new)
        for one, other in permutations(rows, 2)
        for old, new in product(one, other)
        if find_corrected_value(old, new) or relate_statements(old, new) == "supersedes"
    ]
    assert len(rows) == 26 and taken == []
    assert all(relate_statements(*row) == "supersedes" or find_corrected_value(*row) for row in rows)


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("the docs are hosted on GitHub Pages", "Tom reviews the docs"),
        ("the api listens on port 8080", "the api's debug port is 9229 now"),
        ("the upload limit is 10 MB", "the upload limit for admins got raised to 50 MB"),
        ("the left motor is on pin 4", "the right motor is on pin 9 now"),
        ("the billing queue is called heron", "the billing branch is trunk now"),
        ("the billing trial lasts 14 days", "the Orion trial lasts 14 days"),
        ("we test on Firefox", "we test on Safari now as well"),
        ("deploys happen on Tuesdays", "this week's deploy moved to Thursday"),
        ("das Logo ist blau", "das Logo liegt jetzt in assets/marke.svg"),
        ("le serveur de tests écoute sur le port 9000", "le serveur de tests a désormais 16 Go de mémoire"),
        ("the parser supports Python 3.9", "the parser is maintained by Ronny now"),
        ("the parser uses Lark", "the parser is maintained by Ronny now"),
        ("the database is backed up nightly", "Karl tunes the database"),
        ("coverage must be above 90 percent", "coverage is 93 percent now"),
        ("the staging host is stg-1", "the staging host has 8 cores now"),
        ("the default branch is main", "the default branch is protected now"),
        ("Karl tunes staging", "staging uses Redis 6 now"),
        ("短信走阿里云", "邮件走阿里云"),
    ],
)
def test_a_sentence_about_something_else_changes_nothing(old: str, said: str) -> None:
    assert find_corrected_value(old, said) is None
    assert relate_statements(old, said) != "supersedes"


@pytest.mark.parametrize(
    ("old", "said", "new"),
    [
        (
            "the web app runs on port 3000 and the api on port 4000",
            "the api is on 5000 now",
            "the web app runs on port 3000 and the api on port 5000",
        ),
        (
            "orders uses Postgres 15, billing uses MySQL 8",
            "billing moved to Postgres 16",
            "orders uses Postgres 15, billing uses Postgres 16",
        ),
        ("the gateway, which is nginx, listens on 8080", "the gateway listens on 8081 now", None),
        ("the linter is flake8", "the linter is ruff now", "the linter is ruff"),
        ("Marguerite approves firmware releases", "no wait, it's Anselm", "Anselm approves firmware releases"),
    ],
)
def test_the_value_of_the_clause_that_a_sentence_is_about_changes(old: str, said: str, new: str | None) -> None:
    change = find_corrected_value(old, said)
    assert change is not None
    assert change.apply(old) == (new or old.replace("8080", "8081"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("the cache lives in Redis", "the cache lives in memcached now"),
        ("the standup is at noon", "the standup is at 1pm now"),
        ("the codename is walnut", "the codename is Red Fox now"),
        ("retention is 30 days", "retention is 2 weeks now"),
    ],
)
def test_another_value_of_the_same_property_replaces_the_former_one(old: str, new: str) -> None:
    assert relate_statements(old, new) == "supersedes"


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("Berlin has a VPN gateway", "by the way, Paris has a VPN gateway"),
        ("auth-service needs Redis", "fyi cart-service needs Redis"),
        ("Anna works on billing", "Jonas works on billing now"),
        ("test_login is flaky", "test_logout is flaky now"),
        ("node 1 is full", "node 2 is full now"),
        ("Safari is supported", "Firefox is supported now"),
        ("Anna arbeitet an der Abrechnung", "Jonas arbeitet jetzt an der Abrechnung"),
        ("Berlin hat ein Gateway", "Paris hat jetzt ein Gateway"),
        ("Paul travaille sur la paie", "Léa travaille maintenant sur la paie"),
        ("Ana trabaja en pagos", "Luis trabaja ahora en pagos"),
    ],
)
def test_the_same_said_of_another_subject_replaces_nothing(old: str, said: str) -> None:
    assert find_corrected_value(old, said) is None
    assert relate_statements(old, said) != "supersedes"


@pytest.mark.parametrize(
    ("old", "said", "new"),
    [
        ("Anna works on billing", "no, Jonas works on billing", "Jonas"),
        ("Anna betreut das Repo", "Bernd betreut jetzt das Repo", "Bernd"),
        ("Sylvain anime la rétro", "désormais c'est Ophélie qui anime la rétro", "Ophélie"),
        ("Fatou moderates the retro", "the retro is moderated by Lorenzo from now on", "Lorenzo"),
        ("o Anselmo responde aos fornecedores", "quem responde aos fornecedores agora é a Jussara", "Jussara"),
        ("a gente usa o trello pras tarefas", "migramos as tarefas pro linear", "linear"),
    ],
)
def test_another_subject_replaces_one_that_was_wrong_or_whose_task_one_has_at_a_time(
    old: str, said: str, new: str
) -> None:
    change = find_corrected_value(old, said)
    assert change is not None and change.new.endswith(new)
