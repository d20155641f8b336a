"""A correction replaces an earlier statement about the same subject, in whatever order and parts turns are replayed."""

import json
import time
from pathlib import Path

import pytest
from msgspec import Struct

from clio.memory.consolidation.corrections import Stated, find_corrections, match_corrections
from clio.memory.consolidation.experiences import Experience
from clio.memory.consolidation.stated_facts import read_lasting_statements
from clio.memory.store.deduplication import compare_texts
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.record import MemoryDraft, Provenance
from clio.memory.system import MemorySystem
from clio.messages import UserMessage
from tests.memory.consolidation.consolidation_support import DAY, Place, user_turn

CASES = Path(__file__).with_name("corrections.jsonl")


class Case(Struct):
    """half: development or test; the rules were written with the first half only."""

    half: str
    old: str
    later: str
    refutes: bool


def cases(half: str) -> list[Case]:
    found = [Case(**json.loads(line)) for line in CASES.read_text(encoding="utf-8").splitlines()]
    return [one for one in found if one.half == half]


def is_refuted(case: Case) -> bool:
    """Whether consolidation would replace the old sentence with the later one."""
    turn = Experience(
        session="s", message="m", at=2.0, importance=0.5, messages=(UserMessage(content=case.later, origin="user"),)
    )
    found = match_corrections(find_corrections(turn), lambda _: [Stated(id="o", text=case.old, at=1.0, session="s")])
    plain = [text for kind, text, *_ in read_lasting_statements(case.later) if kind == "fact"]
    return bool(found) or any(compare_texts(case.old, text) == "supersedes" for text in plain)


@pytest.mark.parametrize(("half", "least_recall", "least_precision"), [("development", 0.9, 0.95), ("test", 0.85, 0.9)])
def test_corrections_are_recognized_and_other_sentences_are_not(
    half: str, least_recall: float, least_precision: float
) -> None:
    found = [(case, is_refuted(case)) for case in cases(half)]
    right = sum(case.refutes and got for case, got in found)
    assert right >= least_recall * sum(case.refutes for case, _ in found)
    assert right >= least_precision * sum(got for _, got in found)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


OLD = "The API listens on port 8080 in staging."


@pytest.mark.parametrize(
    "later",
    [
        "The API listens on port 9090 in staging now.",
        "Actually, the staging API is on 9090 now.",
        "The API in staging moved to 9090.",
        "Wait, it's 9090 in staging, not 8080.",
        "we changed the staging port of the API to 9090",
    ],
)
@pytest.mark.parametrize("same_session", [True, False])
def test_the_later_value_is_saved(place: Place, later: str, same_session: bool) -> None:
    if same_session:
        place.session(user_turn(OLD), user_turn(later))
    else:
        place.session(user_turn(OLD), days_ago=3)
        place.session(user_turn(later), days_ago=1)
    place.sleep()
    assert not any("8080" in fact for fact in place.facts)
    assert any("9090" in fact for fact in place.facts)
    before = place.tree()
    place.sleep()
    assert place.tree() == before


@pytest.mark.parametrize("later", ["no, 45", "nope, 45 seconds", "45, sorry"])
def test_a_correction_that_is_only_a_value_refers_to_the_message_before(place: Place, later: str) -> None:
    place.session(user_turn("the api timeout is 30 seconds"), user_turn(later))
    place.sleep()
    assert place.facts == ["the api timeout is 45 seconds"]


@pytest.mark.parametrize(
    ("old", "later", "new"),
    [
        ("the staging db is called orders_stg", "we moved to a new staging db, it's called orders_pre", "orders_pre"),
        ("the staging db is called orders_stg", "we've got a new staging db called orders_pre", "orders_pre"),
        ("the staging db is called orders_stg", "we switched to another staging db, named orders_pre", "orders_pre"),
        ("our ticket system is at old.acme.io", "there's a new ticket system, it's at help.acme.io", "help.acme.io"),
        ("the smoke tests take 4 minutes", "smoke tests take 9 minutes since the last upgrade", "9 minutes"),
        ("the tax rate in checkout is 19%", "the tax rate in checkout dropped to 16%", "16%"),
        ("the gateway is vpn1.acme.dev", "forget vpn1, we have vpn3.acme.dev as gateway now", "vpn3.acme.dev"),
        ("the gateway is vpn1.acme.dev", "forget vpn1, it's vpn3.acme.dev now", "the gateway is vpn3.acme.dev"),
        ("the wiki runs on port 8090", "we have a new wiki, it's on port 8099", "8099"),
        ("the staging db is called orders_stg", "we have a new staging db, it's slow", ""),
        ("the staging db is called orders_stg", "there's a new prod db, it's called orders_prod", ""),
        ("the staging db is called orders_stg", "we might get a new staging db, it's called orders_pre", ""),
    ],
)
def test_an_announced_change_replaces_the_former_value(old: str, later: str, new: str) -> None:
    turn = Experience(
        session="s", message="m", at=2.0, importance=0.5, messages=(UserMessage(content=later, origin="user"),)
    )
    found = match_corrections(find_corrections(turn), lambda _: [Stated(id="o", text=old, at=1.0, session="s")])
    assert bool(found) is bool(new)
    assert all(new in one.content for one in found)
    assert not any("dev.acme" in one.content for one in found)


def replay(old: str, later: str) -> str | None:
    """Return what a replayed turn makes of a memory; None if it does not correct it."""
    turn = Experience(session="t", message="m", at=9.0, importance=0.5, messages=(UserMessage(content=later),))
    found = match_corrections(find_corrections(turn), lambda _: [Stated(id="o", text=old, at=1.0, session="s")])
    return found[0].content if found else None


@pytest.mark.parametrize(
    ("old", "later", "new"),
    [
        ("schemas live in api/schema", "schemas live in api/spec, not in api/schema", "schemas live in api/spec"),
        ("HTTP 429 is retried after 5 s", "HTTP 429 is retried after 10 s now", "HTTP 429 is retried after 10 s"),
        ("Our database is MySQL 5.7", "We migrated our database to PostgreSQL 15",
         "Our database is PostgreSQL 15"),
        ("la doc est construite avec sphinx", "la doc n'est pas construite avec sphinx mais avec mkdocs",
         "la doc est construite avec mkdocs"),
        ("the API is at version 3", "not 7001 but 7002", None),
    ],
)  # fmt: skip
def test_a_replayed_correction_changes_only_its_value(old: str, later: str, new: str | None) -> None:
    assert replay(old, later) == new


def test_a_value_stated_after_the_correction_is_kept(place: Place) -> None:
    place.session(user_turn("Actually, the API listens on port 9090 in staging now."), days_ago=3)
    place.session(user_turn(OLD), days_ago=1)
    place.sleep()
    assert [fact for fact in place.facts if "8080" in fact]


def test_a_correction_waits_for_the_statement_it_corrects(place: Place) -> None:
    later = "Actually, the staging API is on 9090 now."
    place.session(user_turn(later), days_ago=1)
    place.sleep()
    place.session(user_turn(OLD), days_ago=3)
    place.sleep()
    assert not any("8080" in fact for fact in place.facts)


def test_a_fact_saved_by_the_model_is_corrected_too(place: Place) -> None:
    place.now -= 2 * DAY
    ltm = LongTermMemory(place.project / ".clio" / "ltm.json", project=place.project, clock=lambda: place.now)
    ltm.add(MemoryDraft(kind="discovery", content=OLD), Provenance(asserted_by="model"))
    place.now += 2 * DAY
    place.session(user_turn("The API in staging listens on 9090 now."))
    place.sleep()
    assert not any("8080" in line for line in place.knowledge)
    assert any("9090" in fact for fact in place.facts)


def test_a_fact_of_an_earlier_run_is_corrected_and_undo_restores_it(place: Place) -> None:
    place.session(user_turn(OLD))
    place.sleep()
    place.now = time.time() + 10 * DAY  # message ids contain the real time
    place.session(user_turn("It's 9090 now, not 8080."))
    report = place.sleep()
    assert report.superseded == 1
    assert place.facts == ["The API listens on port 9090 in staging"]
    memory = MemorySystem(
        place.project, place.store, incognito=False, ltm=True, home=place.user_home, clock=lambda: place.now
    )
    memory.undo()
    assert place.facts == [OLD.rstrip(".")]
    place.sleep()
    assert place.facts == [OLD.rstrip(".")]


@pytest.mark.parametrize(
    ("old", "later", "value"),
    [
        ("Der API-Server lauscht auf Port 8080.", "Nein, der API-Server lauscht jetzt auf Port 9090.", "9090"),
        ("L'API écoute sur le port 8080.", "En fait, l'API écoute sur le port 9090.", "9090"),
        ("La API escucha en el puerto 8080.", "En realidad, la API escucha en el puerto 9090.", "9090"),
        ("A API escuta na porta 8080.", "Na verdade, a API escuta na porta 9090.", "9090"),
        ("API 监听的是 8080 端口。", "其实 API 监听的是 9090 端口。", "9090"),
        ("API は 8080 番ポートで待ち受けています。", "実は API は 9090 番ポートで待ち受けています。", "9090"),
    ],
)
def test_corrections_in_other_languages_are_recognized(old: str, later: str, value: str) -> None:
    turn = Experience(
        session="s", message="m", at=2.0, importance=0.5, messages=(UserMessage(content=later, origin="user"),)
    )
    corrections = find_corrections(turn)
    [match] = match_corrections(corrections, lambda _: [Stated(id="o", text=old, at=1.0)])
    assert [one.text for one in match.refuted] == [old]
    assert value in match.content and "8080" not in match.content
    other = Stated(id="p", text="Das Timeout beträgt 30 Sekunden. 超时 30。", at=1.0)
    assert match_corrections(corrections, lambda _: [other]) == []
