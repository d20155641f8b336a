"""Commands about sessions other than switching: show, search, fork, export; on real files."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.commands.command import CommandResult, Confirm, ExportSession, Prefill, SwitchSession
from clio.commands.registry import complete_command_line, run_command
from clio.commands.session_commands import MAX_LISTED, find_snippet
from clio.commands.session_table import make_file_stem
from clio.messages import AssistantMessage
from clio.sessions.session import Session
from tests.commands.harness import Harness, make_harness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    harness = make_harness(tmp_path)
    yield harness
    harness.session.close()
    harness.memory.close()


def earlier(harness: Harness, *texts: str, name: str | None = None) -> Session:
    """Make a closed session with this conversation, and an empty running one."""
    harness.session.rename(name)
    harness.talk(*texts)
    session = harness.session
    harness.start()
    return session


def rows(result: CommandResult) -> tuple[tuple[str, ...], ...]:
    assert result.table is not None, result.text
    return result.table.rows


def data(result: CommandResult) -> dict[str, object]:
    assert isinstance(result.data, dict)
    return result.data


def test_another_session_is_shown_without_changing_its_files(harness: Harness, tmp_path: Path) -> None:
    old = earlier(harness, "hello", name="the old one")
    before = {path: path.read_bytes() for path in (tmp_path / ".clio").rglob("*") if path.is_file()}
    shown = run_command(harness, "/session show the old one")
    assert dict(rows(shown)) | {"id": old.id, "name": "the old one", "messages": "1"} == dict(rows(shown))
    assert data(shown)["id"] == old.id
    assert {path: path.read_bytes() for path in (tmp_path / ".clio").rglob("*") if path.is_file()} == before


def test_a_running_session_of_another_clio_can_be_shown(harness: Harness, tmp_path: Path) -> None:
    other = make_harness(tmp_path)
    other.talk("over here")
    assert dict(rows(run_command(harness, f"/session show {other.session.id}")))["on disk"] == "yes, in use"
    other.session.close()


def test_a_list_is_limited_to_the_newest_and_its_data_are_not(harness: Harness) -> None:
    for number in range(MAX_LISTED + 2):
        earlier(harness, f"talk {number}")
    short = run_command(harness, "/session list")
    assert len(rows(short)) == MAX_LISTED
    assert f"The {MAX_LISTED} newest of {MAX_LISTED + 2} sessions" in short.text
    whole = run_command(harness, "/session list --all")
    assert len(rows(whole)) == MAX_LISTED + 2
    assert rows(whole)[:MAX_LISTED] == rows(short)
    assert short.data == whole.data
    assert isinstance(short.data, list)
    assert len(short.data) == MAX_LISTED + 2
    assert not run_command(harness, "/session list retry").ok


def test_search_groups_by_session_and_shows_the_best_passage_on_the_next_line(harness: Harness) -> None:
    old = earlier(harness, "the retry policy doubles the delay", "and the retry again", name="Retries")
    earlier(harness, "release notes for May")
    found = run_command(harness, "/session search retry policy")
    assert isinstance(found.follow_up, Prefill)
    assert run_command(harness, found.follow_up.text).follow_up == SwitchSession(session_id=old.id)
    (row,) = rows(found)
    assert row[0] == "2"  # as in the list
    assert row[1] == "Retries"
    assert "retry policy doubles" in row[3]
    assert "Enter resumes “`Retries`”." in found.text
    assert "exact words" not in found.text
    assert "exact words 3" in run_command(harness, "/session search retry policy --why").text
    assert data(found)["query"] == "retry policy"


def test_the_running_session_is_searched_only_on_request(harness: Harness) -> None:
    harness.talk("a word like quokka")
    assert run_command(harness, "/session search quokka").table is None
    found = run_command(harness, "/session search quokka --all")
    assert rows(found)[0][2] == "this one"
    assert found.follow_up is None  # it is the running one already


@pytest.mark.parametrize("line", ['"policy of the retry"', '"policy of the retry" --all', "policy of the retry"])
def test_a_phrase_in_double_quotes_is_searched_as_one(harness: Harness, line: str) -> None:
    earlier(harness, "the policy of the retry")
    found = run_command(harness, f"/session search {line}")
    assert rows(found)
    assert data(found)["query"] == line.removesuffix(" --all")


def test_a_default_title_is_labelled_as_a_default(harness: Harness) -> None:
    earlier(harness, "hello")
    nothing = run_command(harness, "/session search wombat")
    assert nothing.ok
    assert "No earlier session contains `wombat`. This session is left out; --all" in nothing.text
    assert "No session contains `wombat`." in run_command(harness, "/session search wombat --all").text
    assert data(nothing)["sessions"] == []
    assert not run_command(harness, "/session search").ok


def test_the_query_words_are_in_the_snippet() -> None:
    text = "before " * 60 + "the flaky upload " + "after " * 60
    shown = find_snippet(text, "Flaky in:output", 60)
    assert "flaky upload" in shown
    assert shown.startswith("… ")
    assert shown.endswith("…")
    assert len(shown) <= 64
    assert "uploads" in find_snippet("x " * 100 + "uploads", "uploading", 40)
    assert find_snippet("short", "nothing", 60) == "short"
    assert len(find_snippet("y" * 500, "nothing", 60)) <= 64


def test_a_fork_continues_in_a_copy_that_knows_its_parent(harness: Harness) -> None:
    harness.talk("one", "two")
    harness.session.append(AssistantMessage(content="three"))
    forked = run_command(harness, "/session fork another way")
    assert isinstance(forked.follow_up, SwitchSession)
    copy = harness.store.open(forked.follow_up.session_id, persist=False)
    assert (copy.name, copy.parent) == ("another way", harness.session.id)
    assert copy.messages == harness.session.messages
    assert data(forked) == {"id": copy.id, "parent": harness.session.id}
    back = forked.text.split("/session switch ")[1].split()[0]
    assert harness.store.find(back) == harness.session.id


def test_an_unnamed_fork_is_distinguishable_from_its_parent(harness: Harness) -> None:
    harness.talk("find the leak")
    run_command(harness, "/session fork")
    assert [info.name for info in harness.store.list() if info.id != harness.session.id] == ["find the leak (copy)"]


def test_an_empty_session_or_incognito_cannot_be_forked(harness: Harness, tmp_path: Path) -> None:
    assert not run_command(harness, "/session fork").ok
    incognito = make_harness(tmp_path, incognito=True)
    incognito.talk("secret")
    refused = run_command(incognito, "/session fork")
    assert not refused.ok
    assert "--incognito" in refused.text
    assert not run_command(incognito, "/session search secret").ok
    assert not run_command(incognito, "/session export x.html").ok


def test_an_export_names_the_running_session(harness: Harness) -> None:
    assert not run_command(harness, "/session export talk.html").ok  # there is no message yet
    harness.talk("hello")
    step = run_command(harness, '/session export "my talk.html" --format Markdown --force').follow_up
    assert step == ExportSession(session_id=harness.session.id, path="my talk.html", form="md", force=True)
    assert run_command(harness, "/session export talk.html").follow_up == ExportSession(
        session_id=harness.session.id, path="talk.html"
    )
    assert "did you mean 'html'?" in run_command(harness, "/session export x --format htm1").text
    assert not run_command(harness, "/session export").ok


def test_a_long_title_is_shortened_in_the_question(harness: Harness) -> None:
    earlier(harness, "x", name="word " * 24)
    asked = run_command(harness, "/session delete 1").follow_up
    assert isinstance(asked, Confirm)
    assert len(asked.question) < 110


def test_options_paths_and_sessions_are_completed(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    earlier(harness, "x", name="plans")

    def offered(line: str) -> list[str]:
        return [suggestion.text for suggestion, _ in complete_command_line(harness, line)]

    assert "fork" in offered("/session ")
    assert offered("/session show pl") == ["plans"]
    assert offered("/session list ") == ["--all"]
    assert offered("/session search retry in:") == ["in:output", "in:title"]
    assert offered("/session export o") == ["out/"]
    assert offered("/session export out/x --f") == ["--format", "--force"]
    assert offered("/session export out/x --format ") == ["html", "md", "json"]
    assert next(iter(complete_command_line(harness, "/session export out/x --for")))[1] == len("--for")


@pytest.mark.parametrize(
    ("title", "stem"),
    [("Retry policy / 2", "retry-policy-2"), ("../..", "session"), ("Größe?", "größe"), ("", "session")],
)
def test_a_title_is_converted_to_a_file_name(title: str, stem: str) -> None:
    assert make_file_stem(title) == stem
    assert len(make_file_stem(title * 50)) <= 60
