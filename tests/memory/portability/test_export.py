"""A bundle holds everything that was learned, and no secret."""

from pathlib import Path

import pytest

from clio.memory.portability.export import (
    SECTIONS,
    decode_bundle,
    encode_bundle,
    is_bundle,
    make_bundle,
    make_ltm_document,
)
from clio.memory.store.ltm_codec import decode_ltm
from clio.security.redaction.redactor import Redactor
from tests.memory.portability.home_support import NOW, House, json_of, tree

MARK = "quokka"


@pytest.fixture
def house(tmp_path: Path) -> House:
    house = House(tmp_path)
    house.fill(MARK)
    return house


def test_everything_that_was_learned_is_in_it_and_nothing_is_written(house: House) -> None:
    before = tree(house.top)
    bundle = make_bundle(house.places, redact=str, now=NOW)
    assert tree(house.top) == before
    assert bundle.has == SECTIONS
    assert bundle.head.project == "project"
    assert bundle.head.counts == {
        "knowledge": 2,
        "knowledge_archived": 1,
        "project_memories": 1,
        "project_replaced": 1,
        "project_archived": 1,
        "user_memories": 2,
        "notes": 2,
        "style_files": 2,
        "feedback": 2,
    }
    assert bundle.knowledge and bundle.scenarios and bundle.styles
    assert [ending.entry["fact"] for ending in bundle.knowledge.history if "fact" in ending.entry] == [
        f"{MARK} discovery"
    ]
    assert MARK in bundle.scenarios
    assert MARK.encode() in bytes(bundle.styles.learned)


def test_a_bundle_read_again_is_the_bundle(house: House) -> None:
    bundle = make_bundle(house.places, redact=str, now=NOW)
    data = encode_bundle(bundle)
    assert is_bundle(data)
    again = decode_bundle(data, Path("all.json"))
    assert encode_bundle(again) == data
    assert again.memories and bundle.memories
    assert again.memories.user.records == bundle.memories.user.records


def test_sections_no_one_asked_for_are_left_out(house: House) -> None:
    bundle = make_bundle(house.places, redact=str, now=NOW, what=("notes",))
    assert bundle.has == ("notes",)
    assert bundle.head.counts == {"notes": 2}


def test_secrets_older_than_what_redacts_them_stay_here(house: House) -> None:
    token = "ghp_" + "Zk3vQ9xW7rTb2LmN8pYd4HsJ6fGc1AuE5oBi"
    house.fill(token)
    assert any(token.encode() in data for data in tree(house.top).values())
    data = encode_bundle(make_bundle(house.places, redact=lambda text: Redactor().redact(text).text, now=NOW))
    assert token.encode() not in data
    assert data.count(b"[REDACTED:") > 10


def test_the_knowledge_alone_is_an_ltm_json_as_it_was(house: House) -> None:
    data = make_ltm_document(house.places, str)
    house.places.knowledge.with_name("copy.json").write_bytes(data)
    assert json_of(house.places.knowledge.with_name("copy.json")) == json_of(house.places.knowledge)
    assert len(decode_ltm(data).all()) == 2


def test_nothing_learned_is_an_empty_bundle(tmp_path: Path) -> None:
    bundle = make_bundle(House(tmp_path).places, redact=str, now=NOW)
    assert (bundle.has, bundle.head.counts) == ((), {})
    assert decode_ltm(make_ltm_document(House(tmp_path).places, str)).all() == []
