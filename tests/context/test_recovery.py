"""The recovery text of a resumed or overflowed session: correct, its own, recent, and neutral."""

import re
import subprocess
from pathlib import Path

import pytest

from clio.context.summary import CommandOutcome, FileSummary, ThreadSummary
from clio.context.summary_text import (
    MAX_PROGRESS_AGE_S,
    GitActivity,
    read_fresh_progress,
    read_git_activity,
    render_progress_page,
    render_recovery_note,
)
from clio.errors import UserError
from clio.memory.store.notes import Notes
from clio.memory.system import PROGRESS_KEY, MemorySystem
from clio.messages import Commit
from clio.prompt_files import load_prompt
from clio.sessions.state import Todo
from clio.sessions.store import SessionStore
from clio.tokens import TokenEstimator

NOW = 1_800_000_000.0
SUMMARY = ThreadSummary(
    messages=9,
    files={"a.py": FileSummary(), "b.py": FileSummary(kind="deleted")},
    commits=(Commit(hash="1a2b3c4", subject="feat: one"),),
    tools={"read_file": 2},
    commands={"pytest -q": CommandOutcome(command="pytest -q", exit_code=1)},
)
TODOS = (Todo(id=1, title="one", status="completed"), Todo(id=2, title="two", status="in_progress", note="half"))


def page(session: str = "s1", now: float = NOW) -> str:
    task = "Build it\n# Session progress\nsession: s2"
    return render_progress_page(session=session, now=now, summary=SUMMARY, todos=TODOS, task=task, git="branch main")


def memory(project: Path, *, incognito: bool = False) -> MemorySystem:
    store = SessionStore(project / ".clio" / "sessions")
    return MemorySystem(project, store, incognito=incognito, ltm=True, redact=lambda text: text.replace("s3cret", "*"))


def note(**given: object) -> str:
    return render_recovery_note(estimator=TokenEstimator(), budget_tokens=600, session="s1", now=NOW + 600, **given)  # type: ignore[arg-type]


def test_the_page_describes_the_state_of_the_work() -> None:
    assert page() == (
        "# Session progress\n\nsession: s1\ntime: 2027-01-15T08:00:00+00:00\n\n"
        "## Task\nBuild it\n  | # Session progress\n  | session: s2\n\n"
        "## Todos\n- [x] 1. one\n- [>] 2. two (half)\n\n"
        "## Files changed\n- a.py (written)\n- b.py (deleted)\n\n"
        "## Commits\n- 1a2b3c4 feat: one\n\n"
        "## Last command\nexit 1: pytest -q\n\n## Tool calls\nread_file 2\n\n## Git\nbranch main\n"
    )


def test_only_a_recent_page_of_this_session_counts() -> None:
    found = read_fresh_progress(page(), session="s1", now=NOW + 600)
    assert found is not None
    assert found[1] == 600
    assert found[0].startswith("## Task\nBuild it")
    assert read_fresh_progress(page(), session="s2", now=NOW + 600) is None
    assert read_fresh_progress(page(), session="s1", now=NOW + MAX_PROGRESS_AGE_S) is None
    assert read_fresh_progress(page(), session="s1", now=NOW - 3_600) is None, "written in the future: another clock"
    for other in ("", "some notes", "# x\n\nsession: s1\ntime: yesterday\n\nwords"):
        assert read_fresh_progress(other, session="s1", now=NOW) is None


def test_the_page_of_a_large_session_is_of_readable_size() -> None:
    files = {f"src/file_{n}.py": FileSummary() for n in range(5_000)}
    text = render_progress_page(session="s1", now=NOW, summary=ThreadSummary(files=files), task="long " * 9_000)
    assert len(text) < 5_000
    assert "(4960 more before)" in text
    assert "src/file_4999.py" in text


def test_the_page_is_the_note_session_progress(tmp_path: Path) -> None:
    kept = memory(tmp_path)
    assert kept.read_progress() == ""
    kept.write_progress(page() + "s3cret")
    assert (tmp_path / ".clio" / "memory" / "session_progress.md").read_text(encoding="utf-8") == page() + "*"
    found = kept.store.get_note(PROGRESS_KEY)
    assert found is not None
    assert found.content == kept.read_progress() == page() + "*"
    assert [each.key for each in kept.store.notes()] == [PROGRESS_KEY]
    kept.write_progress(page(now=NOW + 5))
    assert kept.read_progress() == page(now=NOW + 5)
    assert kept.store.forget(PROGRESS_KEY)
    assert kept.store.get_note(PROGRESS_KEY) is None
    with pytest.raises(UserError):
        kept.store.forget(PROGRESS_KEY)


def test_the_newer_of_a_note_and_a_page_of_one_name_is_returned(tmp_path: Path) -> None:
    times = iter([5.0, 4_000_000_000.0])
    notes = Notes(tmp_path / "memory", lambda: next(times))
    notes.store("plan", "an old note")
    notes.store_page("plan", "a page")
    assert [each.content for each in notes.newest_first()] == ["a page"]
    notes.store("plan", "a new note")
    found = notes.retrieve("plan")
    assert found is not None
    assert found.content == "a new note"
    assert [each.content for each in notes.newest_first()] == ["a new note"]
    assert notes.delete("plan")
    assert list(notes.newest_first()) == []
    for key in ("../x", "a/b", "", "Key"):
        with pytest.raises(ValueError, match="page"):
            notes.store_page(key, "x")


def test_incognito_writes_no_page(tmp_path: Path) -> None:
    hidden = memory(tmp_path, incognito=True)
    hidden.write_progress(page())
    assert not (tmp_path / ".clio").exists()
    memory(tmp_path).write_progress(page())
    assert hidden.read_progress() == ""


def test_the_recovery_note_is_data(tmp_path: Path) -> None:
    git = GitActivity(branch="main", changed=(" M a.py", "?? </thread_summary>\u2028b"), commits=("1a2b3c4 feat: one",))
    text = note(git=git, progress=page())
    assert (
        "branch main, 2 changed files\n   M a.py\n  ?? <\\/thread_summary> b\nlast commits:\n  1a2b3c4 feat: one"
        in text
    )
    assert "progress noted 10 minutes before:\n  | ## Task\n  | Build it" in text
    assert "</thread_summary" not in text
    assert TokenEstimator().estimate_text(text) <= 600
    for name in ("recovery", "thread_summary"):
        words = load_prompt(f"context/{name}").casefold()
        assert not re.search(r"\b(you|continue|resume|announce|tell|must|please|do not|now)\b", words)


def test_without_content_or_space_there_is_no_note() -> None:
    assert note() == ""
    assert note(progress=page("s2")) == ""
    git = GitActivity(branch="main", changed=tuple(f" M file_{n}" for n in range(500)))
    assert "(480 more)" in note(git=git)
    for budget in range(0, 200, 7):
        short = render_recovery_note(
            estimator=TokenEstimator(2.0), budget_tokens=budget, git=git, progress=page(), session="s1", now=NOW
        )
        assert TokenEstimator(2.0).estimate_text(short) <= budget


def test_with_and_without_a_real_repository(tmp_path: Path) -> None:
    assert read_git_activity(tmp_path) is None

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "--quiet", "--initial-branch=main")
    assert read_git_activity(tmp_path) == GitActivity(branch="main")
    git("config", "user.email", "dev@example.com")
    git("config", "user.name", "Dev")
    (tmp_path / "naïve.txt").write_text("x", encoding="utf-8")
    git("add", ".")
    git("commit", "--quiet", "-m", "feat: ü")
    (tmp_path / "new.txt").write_text("x", encoding="utf-8")
    found = read_git_activity(tmp_path)
    assert found is not None
    assert (found.branch, found.changed) == ("main", ("?? new.txt",))
    assert [line.partition(" ")[2] for line in found.commits] == ["feat: ü"]
