"""Finding, listing and deleting sessions."""

from pathlib import Path

import pytest

from clio.errors import AmbiguousSession, SessionNotFound
from clio.messages import SystemMessage, UserMessage
from clio.sessions import listing
from clio.sessions.store import SessionStore
from tests.sessions.talk import a_turn, files, kill, say, store_in


def make(store: SessionStore, name: str | None = None, words: str = "hello", *, closed: bool = True) -> str:
    session = store.new(Path("/project"), name=name)
    session.append(UserMessage(content=words))
    session.close() if closed else kill(session)
    return session.id


def test_a_missing_folder_has_no_sessions(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    assert (store.list(), store.latest(), store.last_conversation()) == ([], None, None)
    for selector in ("", "1", "abc", "../x"):
        with pytest.raises(SessionNotFound):
            store.find(selector)
    with pytest.raises(SessionNotFound):
        store.open("abc")
    assert files(tmp_path) == []


def test_list_newest_first_running_or_killed_or_closed(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    closed, killed = make(store, "one", " first\n words "), make(store, "two", "x" * 200, closed=False)
    running = store.new(Path("/project"))
    running.append(SystemMessage(content="you are clio"))
    running.append(UserMessage(content="go on", origin="continue"))
    say(running, a_turn())
    running.rename("renamed")
    infos = store.list()
    assert [(info.id, info.name, info.messages, info.first_words, info.running) for info in infos] == [
        (running.id, "renamed", 6, "question 0 – naïve 漢字", True),
        (killed, "two", 1, "x" * 80, False),
        (closed, "one", 1, "first words", False),
    ]
    assert {info.working_directory for info in infos} == {"/project"}
    assert all(0 < info.created_at <= info.updated_at for info in infos)
    assert store.latest() == running.id
    assert store.last_conversation() == infos[0]
    running.close()


def test_the_list_is_the_same_before_and_after_closing(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path, name="demo")
    say(session, a_turn(1))
    session.close()
    session = store.open(session.id)
    say(session, a_turn(2))
    session.rename("later")
    kill(session)
    [killed] = store.list()
    store.open(session.id).close()
    [closed] = store.list()
    assert (killed.name, killed.messages) == ("later", 8)
    assert (closed.name, closed.messages, closed.first_words) == (killed.name, killed.messages, killed.first_words)


def test_a_later_change_moves_a_session_to_the_top(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    first, second = make(store), make(store)
    assert [info.id for info in store.list()] == [second, first]
    session = store.open(first)
    session.append(UserMessage(content="more"))
    session.close()
    assert [info.id for info in store.list()] == [first, second]


def test_the_end_of_an_id_as_search_results_show_it_names_a_session(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    for id in [make(store) for _ in range(3)]:
        assert store.find(id[-8:]) == store.find(id[-8:].upper()) == id
    with pytest.raises(SessionNotFound):
        store.find("zzzzzzzz")


def test_find(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    oldest = make(store, "Fix the Parser")
    middle = make(store, "docs")
    newest = make(store, "DOCS")
    assert store.find(middle) == middle
    assert [store.find(number) for number in ("1", "2", " 3 ")] == [newest, middle, oldest]
    assert store.find(oldest[:-1]) == oldest
    assert store.find(oldest[:-1].upper()) == oldest
    assert (store.find("docs"), store.find("DOCS")) == (middle, newest)
    assert store.find("fix the parser") == oldest
    for selector in ("4", "parser", "Docs x", "", "..", f"../sessions/{oldest}", oldest + "x"):
        with pytest.raises(SessionNotFound, match="session"):
            store.find(selector)


def test_an_ambiguous_selector_lists_the_candidates(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    ids = [make(store, "docs"), make(store, "docs"), make(store, None, "how do tests run")]
    with pytest.raises(AmbiguousSession) as caught:
        store.find("docs")
    named = [id[-8:] for id in ids]
    assert all(end in str(caught.value) for end in named[:2]) and named[2] not in str(caught.value)
    assert [store.find(end) for end in named] == ids
    with pytest.raises(AmbiguousSession, match="how do tests run"):
        store.find(ids[0][:3])
    with pytest.raises(AmbiguousSession):
        store.find("Docs")


def test_delete_removes_all_files_of_one_session(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    say(session, a_turn())
    session.write_blob("output")
    session.close()
    other = make(store)
    for name in (f"{session.id}.json.corrupt-x", f"{session.id}.json.original", f"{session.id}.lock"):
        (store.folder / name).write_text("", encoding="utf-8")
    store.delete(session.id)
    assert files(store.folder) == [f"{other}.json"]
    assert [path.name for path in store.folder.iterdir()] == [f"{other}.json"]
    with pytest.raises(SessionNotFound):
        store.delete(session.id)


def test_listing_closed_sessions_reads_only_their_heads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path, name="n" * 120)
    for number in range(200):
        say(session, a_turn(number))
    session.close()

    def forbidden(*_: object) -> None:
        raise AssertionError("a whole file was decoded")

    monkeypatch.setattr(listing, "load_session", forbidden)
    [info] = store.list()
    assert (info.messages, info.name) == (800, "n" * 120)
    snapshot = store.folder / f"{session.id}.json"
    with snapshot.open("r+b") as file:
        file.truncate(listing.HEAD_BYTES)
    assert store.list() == [info]


def test_other_files_are_not_listed_as_sessions(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    id = make(store)
    for name in ("notes.txt", ".hidden.json", "a b.json", f"{id}.json.corrupt-1", "x.json.12.tmp", "stale.lock"):
        (store.folder / name).write_text("{}", encoding="utf-8")
    (store.folder / "folder.json").mkdir()
    assert [info.id for info in store.list()] == [id]


def test_sub_agent_sessions_are_listed_not_continued_and_deleted_with_their_parent(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    parent = store.new(store.folder)
    parent.append(UserMessage(content="find it"))
    child = store.new(store.folder, parent=parent.id, delegated="explore")
    child.append(UserMessage(content="search the retry code"))
    info = {info.id: info for info in store.list()}[child.id]
    assert (info.parent, info.delegated, info.is_conversation) == (parent.id, "explore", False)
    child.close()
    parent.close()
    infos = {info.id: info for info in store.list()}
    assert infos[child.id].delegated == "explore" and infos[parent.id].is_conversation
    assert store.latest() == parent.id
    opened = store.open(child.id)
    assert (opened.delegated, opened.parent) == ("explore", parent.id)
    opened.close()
    store.delete(parent.id)
    assert store.list() == []
