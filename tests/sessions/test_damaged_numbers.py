"""Numbers that no field can hold cost a session that field alone; a later version is left as it is."""

import json
from pathlib import Path

import pytest

from clio.errors import NewerDocument
from clio.sessions import listing
from clio.sessions.listing import list_sessions
from tests.sessions.talk import a_turn, say, store_in
from tests.support.rows import each_row


def written(tmp_path: Path) -> tuple[Path, list[str]]:
    session = store_in(tmp_path).new(Path("/project"), name="demo")
    say(session, a_turn(1) + a_turn(2))
    session.close()
    return store_in(tmp_path).folder / f"{session.id}.json", [message.id for message in session.messages]


@each_row("number", ["Infinity", "-Infinity", "NaN", "1e999", "1" + "0" * 30, "-1" + "0" * 400, "1" + "0" * 5000])
@each_row("field", ["token_ratio", "created_at", "todos", "billing", "plan", "message_count"])
@each_row("indent", [None, 1])
def test_one_invalid_number_loses_no_message(tmp_path: Path, field: str, number: str, indent: int | None) -> None:
    path, ids = written(tmp_path)
    document = json.loads(path.read_bytes())
    bad = "«number»"
    values = {"todos": [{"id": bad, "title": "wash"}], "billing": {"requests": [{"prompt_tokens": bad}]}}
    document[field] = values.get(field, bad)
    text = json.dumps(document, indent=indent, ensure_ascii=False).replace(f'"{bad}"', number)
    path.write_text(text, encoding="utf-8")
    session = store_in(tmp_path).open(path.stem)
    assert [message.id for message in session.messages] == ids
    assert session.name == "demo"
    if field == "todos":
        assert [todo.title for todo in session.todos] == ["wash"]
    session.close()
    assert [message.id for message in store_in(tmp_path).read(path.stem)] == ids


@pytest.mark.parametrize("version", ["3", "10000", "1" + "0" * 18, "1" + "0" * 30])
def test_a_file_of_an_unknown_version_is_not_changed(tmp_path: Path, version: str) -> None:
    path, _ = written(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"version":2', b'"version":' + version.encode(), 1))
    before = path.read_bytes()
    with pytest.raises(NewerDocument):
        store_in(tmp_path).open(path.stem)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.glob("*.corrupt-*")] == []


def test_many_broken_files_are_listed_and_few_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, ids = written(tmp_path)
    for number in range(200):
        (path.parent / f"0{path.stem[1:-4]}{number:04}.json").write_bytes(b"broken")
    decoded: list[object] = []
    load = listing.load_session
    monkeypatch.setattr(
        listing, "load_session", lambda files, **given: (decoded.append(files), load(files, **given))[1]
    )
    infos = list_sessions(path.parent)
    assert len(infos) >= 200
    assert [info.messages for info in infos if info.id == path.stem] == [len(ids)]
    assert len(decoded) == listing.MAX_DECODED_FILES
