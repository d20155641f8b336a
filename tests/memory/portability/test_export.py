"""A bundle contains everything in memory, and no secret."""

from pathlib import Path

import pytest

from clio.memory.portability.memory_files import (
    SECTIONS,
    decode_bundle,
    encode_bundle,
    is_bundle,
    make_bundle,
    make_ltm_document,
)
from clio.memory.store.ltm_codec import decode_ltm
from clio.security.redaction.redactor import Redactor
from tests.memory.portability.home_support import NOW, MemoryHome, json_of, tree

MARK = "quokka"


@pytest.fixture
def home(tmp_path: Path) -> MemoryHome:
    home = MemoryHome(tmp_path)
    home.fill(MARK)
    return home


def test_a_bundle_contains_everything_and_exporting_writes_nothing(home: MemoryHome) -> None:
    before = tree(home.top)
    bundle = make_bundle(home.places, redact=str, now=NOW)
    assert tree(home.top) == before
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


def test_reading_a_bundle_gives_the_same_bundle(home: MemoryHome) -> None:
    bundle = make_bundle(home.places, redact=str, now=NOW)
    data = encode_bundle(bundle)
    assert is_bundle(data)
    again = decode_bundle(data, Path("all.json"))
    assert encode_bundle(again) == data
    assert again.memories and bundle.memories
    assert again.memories.user.records == bundle.memories.user.records


def test_sections_not_requested_are_left_out(home: MemoryHome) -> None:
    bundle = make_bundle(home.places, redact=str, now=NOW, what=("notes",))
    assert bundle.has == ("notes",)
    assert bundle.head.counts == {"notes": 2}


def test_secrets_saved_before_redaction_knew_them_are_not_exported(home: MemoryHome) -> None:
    token = "ghp_" + "Zk3vQ9xW7rTb2LmN8pYd4HsJ6fGc1AuE5oBi"
    home.fill(token)
    assert any(token.encode() in data for data in tree(home.top).values())
    data = encode_bundle(make_bundle(home.places, redact=lambda text: Redactor().redact(text).text, now=NOW))
    assert token.encode() not in data
    assert data.count(b"[REDACTED:") > 10


def test_project_knowledge_alone_is_the_ltm_json_unchanged(home: MemoryHome) -> None:
    data = make_ltm_document(home.places, str)
    home.places.knowledge.with_name("copy.json").write_bytes(data)
    assert json_of(home.places.knowledge.with_name("copy.json")) == json_of(home.places.knowledge)
    assert len(decode_ltm(data).all()) == 2


def test_an_empty_memory_gives_an_empty_bundle(tmp_path: Path) -> None:
    bundle = make_bundle(MemoryHome(tmp_path).places, redact=str, now=NOW)
    assert (bundle.has, bundle.head.counts) == ((), {})
    assert decode_ltm(make_ltm_document(MemoryHome(tmp_path).places, str)).all() == []
