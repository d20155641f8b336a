"""The JSON form: the same fields always, and texts whole."""

import json
from pathlib import Path

from clio.export.document import (
    SCHEMA,
    VERSION,
    ExportedCall,
    ExportedMessage,
    ExportedResult,
    ExportedSession,
    ExportedTrim,
    Totals,
)
from clio.export.export_session import export_session
from clio.sessions.store import SessionStore
from tests.export.sample import HOSTILE, START, hostile_talk, make_session, shop_talk

PAGE = Path(__file__).parent.parent.parent / "docs" / "export.md"


def exported(store: SessionStore, id: str) -> tuple[str, dict[str, object]]:
    text = export_session(store, id, "json", redact=lambda text: text, now=START)
    return text, json.loads(text)


def test_the_document_says_what_it_is_and_has_the_talk(store: SessionStore) -> None:
    _, document = exported(store, make_session(store, shop_talk(), name="A cent short", trims=True))
    assert (document["schema"], document["version"]) == (SCHEMA, VERSION) == ("clio.export", 1)
    assert list(document) == list(ExportedSession.__struct_fields__)
    entries = document["entries"]
    assert isinstance(entries, list)
    assert [entry["type"] for entry in entries].count("trim") == 1
    call = entries[2]["calls"][0]
    assert call["arguments"] == {"path": "shop/prices.py"}
    assert call["result"]["output"].startswith("def total")


def test_texts_are_exact_but_for_terminal_sequences(store: SessionStore) -> None:
    text, document = exported(store, make_session(store, hostile_talk()))
    words = document["entries"][0]["text"]  # type: ignore[index]
    assert HOSTILE[0] in words
    assert "red  bell\x07 nul\x00nul back\x08space" in words
    assert "\u202euser\u202e" in words
    assert "\u202e" not in text
    assert "\x00" not in text


def test_every_field_is_documented() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for kind in (ExportedSession, Totals, ExportedMessage, ExportedTrim, ExportedCall, ExportedResult):
        assert [name for name in kind.__struct_fields__ if f"`{name}`" not in page] == [], kind.__name__
