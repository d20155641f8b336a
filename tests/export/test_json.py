"""The JSON export: always the same fields, and complete texts."""

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
from tests.export.sample import HOSTILE, START, hostile_messages, make_session, typical_messages

PAGE = Path(__file__).parent.parent.parent / "docs" / "export.md"


def exported(store: SessionStore, id: str) -> tuple[str, dict[str, object]]:
    text = export_session(store, id, "json", redact=lambda text: text, now=START)
    return text, json.loads(text)


def test_the_document_has_its_format_and_the_conversation(store: SessionStore) -> None:
    _, document = exported(store, make_session(store, typical_messages(), name="A cent short", trims=True))
    assert (document["schema"], document["version"]) == (SCHEMA, VERSION) == ("clio.export", 1)
    assert list(document) == list(ExportedSession.__struct_fields__)
    entries = document["entries"]
    assert isinstance(entries, list)
    assert [entry["type"] for entry in entries].count("trim") == 1
    call = entries[2]["calls"][0]
    assert call["arguments"] == {"path": "shop/prices.py"}
    assert call["result"]["output"].startswith("def total")


def test_texts_are_unchanged_except_for_terminal_sequences(store: SessionStore) -> None:
    text, document = exported(store, make_session(store, hostile_messages()))
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
