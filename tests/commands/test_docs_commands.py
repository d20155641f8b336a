"""/docs on real files, in the shell and on the command line, and the resulting context of a request."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clio.commands.command import LongWork, WorkControl
from clio.commands.registry import complete_command_line, run_command
from clio.errors import UserError
from clio.memory.retrieval.scoring import WhyItem, WhyReport
from clio.storage.documents import save_cached
from tests.commands.harness import Harness, data, make_harness, ok, refused
from tests.support.recalled import recalled_lines
from tests.support.wording import mentions

STAGING = "# Staging\n\nThe staging database listens on port 5433.\nIts password is in the vault.\n"


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "staging.md").write_text(STAGING, encoding="utf-8")
    (tmp_path / "notes" / "old.md").write_text(STAGING.replace("5433", "1111"), encoding="utf-8")
    (tmp_path / ".gitignore").write_text("old.md\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    harness = make_harness(tmp_path)
    yield harness
    harness.session.close()
    harness.memory.close()


def test_a_folder_is_added_without_ignored_files(harness: Harness) -> None:
    assert ok(harness, "/docs add notes").text == "Added `notes`: 1 file, 1 passage."
    assert (harness.loaded.project / ".clio" / ".gitignore").exists(), "git ignores its files"
    [source] = data(harness, "/docs list")
    assert (source["path"], source["files"], source["windows"], source["unread"]) == (
        "notes",
        ["notes/staging.md"],
        1,
        0,
    )
    table = ok(harness, "/docs").table
    assert table is not None and table.rows[0][:3] == ("notes", "1", "1") and table.rows[0][4] == "up to date"


def test_a_file_named_explicitly_is_added_even_if_it_is_ignored(harness: Harness) -> None:
    [done] = data(harness, "/docs add notes/old.md")
    assert done["files"] == ["notes/old.md"]


def test_search_results_have_their_location(harness: Harness) -> None:
    ok(harness, "/docs add notes")
    [hit] = data(harness, "/docs search which port does staging listen on")
    assert (hit["path"], hit["line"]) == ("notes/staging.md", 1) and "5433" in hit["text"]
    table = ok(harness, "/docs search which port does staging listen on").table
    assert table is not None and table.rows[0][0] == "notes/staging.md:1"


def test_a_refresh_adds_new_files(harness: Harness) -> None:
    ok(harness, "/docs add notes")
    assert mentions(ok(harness, "/docs refresh").text, "`notes`", "nothing", "changed", "1 file")
    (harness.loaded.project / "notes" / "zoo.md").write_text(
        "The zebra lives behind the second fence, the giraffe behind the third one.\n", encoding="utf-8"
    )
    assert mentions(ok(harness, "/docs refresh notes").text, "`notes`", "1 file", "2 files")
    assert data(harness, "/docs search where does the giraffe live")[0]["path"] == "notes/zoo.md"


def test_a_removed_document_is_not_found_and_its_file_is_kept(harness: Harness) -> None:
    ok(harness, "/docs add notes")
    assert data(harness, "/docs remove notes") == {"removed": ["notes"]}
    assert ok(harness, "/docs search port of staging").text.startswith("No documents")
    assert (harness.loaded.project / "notes" / "staging.md").exists()


def test_an_impossible_request_gives_a_one_sentence_error(harness: Harness) -> None:
    assert mentions(refused(harness, "/docs add"), "document", "/docs add PATH")
    assert refused(harness, "/docs add nothing.md").startswith("There is nothing at 'nothing.md'")
    assert refused(harness, "/docs remove x") == "No document 'x' was added; added: none"
    assert refused(harness, "/docs remove").startswith("Which document?")
    assert refused(harness, "/docs search").startswith("Search for what?")
    assert refused(harness, "/docs list x").startswith("/docs list takes no argument")
    (harness.loaded.project / "empty").mkdir()
    assert refused(harness, "/docs add empty") == "'empty' contains no text"


def long_work(harness: Harness, line: str) -> LongWork:
    step = run_command(harness, line).follow_up
    assert isinstance(step, LongWork)
    return step


def test_stopping_keeps_what_was_read_and_the_rest_follows(harness: Harness) -> None:
    for number in range(4):
        (harness.loaded.project / "notes" / f"more{number}.md").write_text(STAGING, encoding="utf-8")
    progress: list[tuple[int, int]] = []
    track = WorkControl(
        is_stopped=lambda: len(progress) == 3, report_progress=lambda done, total: progress.append((done, total))
    )
    text = long_work(harness, "/docs add notes").work(track).text
    assert mentions(text, "Added", "`notes`", "2 files, 2 passages", "Stopped", "3 files", "`/docs refresh notes`")
    assert progress == [(0, 5), (1, 5), (2, 5)]
    asked = iter([False, True])
    again = long_work(harness, "/docs refresh").work(WorkControl(is_stopped=lambda: next(asked)))
    assert mentions(again.text, "nothing", "changed", "2 files", "Stopped", "5")
    assert (
        long_work(harness, "/docs refresh").work(WorkControl(is_stopped=lambda: True)).text
        == "Stopped; nothing was changed."
    )
    assert mentions(ok(harness, "/docs refresh").text, "`notes`", "3 files", "5 files")


def test_several_documents_share_a_progress_bar_and_stopping_at_once_adds_nothing(harness: Harness) -> None:
    progress: list[tuple[int, int]] = []
    track = WorkControl(report_progress=lambda done, total: progress.append((done, total)))
    long_work(harness, "/docs add notes/staging.md notes/old.md").work(track)
    assert progress == [(0, 2), (1, 2)]
    ok(harness, "/docs remove notes/old.md")
    asked = iter([False, True])
    with pytest.raises(UserError, match="stopped before anything"):
        long_work(harness, "/docs add notes/old.md").work(WorkControl(is_stopped=lambda: next(asked)))
    assert [row["path"] for row in data(harness, "/docs list")] == ["notes/staging.md"]


def test_a_search_reads_changed_files_in_the_background_and_can_be_stopped(harness: Harness) -> None:
    for number in range(4):
        (harness.loaded.project / "notes" / f"more{number}.md").write_text(STAGING, encoding="utf-8")
    ok(harness, "/docs add notes")
    for path in (harness.loaded.project / "notes").glob("*.md"):
        path.write_text("# Zoo\n\nThe giraffe lives in the house of tall animals, beside the pond.\n", encoding="utf-8")
    step = long_work(harness, "/docs search where does the giraffe live")  # nothing was read so far
    assert [one["changed"] for one in data(harness, "/docs list")] == [5]
    progress: list[tuple[int, int]] = []
    track = WorkControl(
        is_stopped=lambda: len(progress) == 3, report_progress=lambda done, total: progress.append((done, total))
    )
    assert mentions(step.work(track).text, "Stopped before the search")
    assert progress == [(0, 5), (1, 5), (2, 5)]
    assert [one["changed"] for one in data(harness, "/docs list")] == [2]
    found = step.work(WorkControl())
    assert found.table is not None and "giraffe" in found.table.rows[0][2]
    assert [one["changed"] for one in data(harness, "/docs list")] == [0]


def test_incognito_has_no_documents(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, incognito=True)
    for line in ("/docs", "/docs add .", "/docs search x", "/docs refresh", "/docs remove x"):
        assert "incognito" in refused(harness, line)
    assert list(tmp_path.iterdir()) == []


def test_paths_are_completed(harness: Harness) -> None:
    ok(harness, "/docs add notes")
    assert [suggestion.text for suggestion, _ in complete_command_line(harness, "/docs add not")] == ["notes/"]
    assert [suggestion.text for suggestion, _ in complete_command_line(harness, "/docs remove n")] == ["notes"]
    assert list(complete_command_line(make_harness(harness.loaded.project, incognito=True), "/docs remove n")) == []


def test_a_matching_passage_is_in_the_turn_with_its_location(harness: Harness) -> None:
    ok(harness, "/docs add notes")
    harness.memory.begin(window_tokens=32_000, session=harness.session)
    [fragment] = harness.memory.turn_fragments("which port does staging listen on")
    [memory] = recalled_lines(fragment.text)
    assert "port 5433" in memory["content"]
    assert (memory["type"], memory["by"], memory["note"]) == (
        "from a document",
        "quoted, unverified",
        "notes/staging.md:1",
    )
    report = harness.memory.last_turn()
    assert report is not None and [(item.source, item.included) for item in report.items] == [("document", True)]
    assert harness.memory.turn_fragments("please rename the parser") == []


def test_why_names_each_passage_by_location_and_show_explains_it(harness: Harness) -> None:
    items = [
        WhyItem(source="document", id=f"notes/staging.md:{line}#3f9a", text=f"passage {line}", reason="meaning")
        for line in (1, 12)
    ]
    items.append(WhyItem(source="session", id="01JSESSION/01JMESSAGE-abcdef12#0", text="a turn", reason="meaning"))
    save_cached(harness.loaded.project / ".clio" / "cache" / "why.json", WhyReport(items=tuple(items)))
    table = ok(harness, "/memory why").table
    assert table is not None
    assert [row[1] for row in table.rows] == ["notes/staging.md:1", "notes/staging.md:12", "abcdef12"]
    progress = refused(harness, "/memory show notes/staging.md:12")
    assert "is a file, not a memory" in progress and "/docs search" in progress


def test_documents_are_not_used_while_memory_is_off(harness: Harness) -> None:
    ok(harness, "/docs add notes")
    harness.memory.begin(window_tokens=32_000, session=harness.session)
    harness.memory.is_off = True
    assert harness.memory.turn_fragments("which port does staging listen on") == []
    assert "Memory is off" in refused(harness, "/docs search staging")
