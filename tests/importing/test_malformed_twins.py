"""A damaged line never replaces a valid one with the same id."""

import json
from pathlib import Path
from typing import Any

import pytest

from clio.importing import gemini
from clio.importing.claude import read_claude
from clio.importing.reading import ImportedMessage, Tally
from clio.messages import message_text

DAMAGED: list[dict[str, Any]] = [
    {},
    {"message": None},
    {"message": "words"},
    {"message": {"content": 5}},
    {"message": {"content": [{"type": "text", "text": 7}]}},
    {"message": {"content": [{"type": "thinking", "thinking": "hm"}]}},
]


def read_pieces(read: Any, path: Path, lines: list[dict[str, Any]]) -> list[str]:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return [
        message_text(piece.message)
        for piece in read(path, Tally(), lambda done: None)
        if isinstance(piece, ImportedMessage)
    ]


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("kind", ["user", "assistant"])
def test_a_damaged_duplicate_in_claude_code(tmp_path: Path, kind: str, damage: dict[str, Any]) -> None:
    head = {"sessionId": "s", "uuid": "u", "type": kind}
    valid = head | {"message": {"id": "m", "content": [{"type": "text", "text": "the words"}]}}
    path = tmp_path / "a.jsonl"
    assert read_pieces(read_claude, path, [head | damage, valid, valid]) == ["the words"]
    assert read_pieces(read_claude, path, [valid, head | damage]) == ["the words"]


def test_a_result_and_text_in_one_line_are_two_messages(tmp_path: Path) -> None:
    blocks = [{"type": "tool_result", "tool_use_id": "c", "content": "out"}, {"type": "text", "text": "go on"}]
    path = tmp_path / "a.jsonl"
    line = {"sessionId": "s", "uuid": "u", "type": "user", "message": {"content": blocks}}
    path.write_text(json.dumps(line), encoding="utf-8")
    pieces = [piece for piece in read_claude(path, Tally(), lambda done: None) if isinstance(piece, ImportedMessage)]
    assert len({piece.message.id for piece in pieces}) == 2


@pytest.mark.parametrize("damage", [{}, {"content": None}, {"content": 5}])
def test_a_damaged_duplicate_in_gemini(tmp_path: Path, damage: dict[str, Any]) -> None:
    head = {"id": "u", "type": "user"}
    path = tmp_path / "session-1.json"
    messages = [head | damage, head | {"content": "the words"}, head | {"content": "the words"}]
    path.write_text(json.dumps({"sessionId": "s", "messages": messages}), encoding="utf-8")
    pieces = gemini.read_gemini(path, Tally(), lambda done: None)
    assert [message_text(piece.message) for piece in pieces if isinstance(piece, ImportedMessage)] == ["the words"]
