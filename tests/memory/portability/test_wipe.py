"""Wiped memory is gone from every file, even if another clio has it open or the wipe is killed."""

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from clio.errors import NewerDocument, StorageError, UserError
from clio.memory.consolidation.consolidation import Consolidation
from clio.memory.consolidation.runner import run_consolidation
from clio.memory.portability.memory_files import WIPE_SCOPES, WipeScope, list_file_sets, summarize_file_sets, wipe
from clio.memory.retrieval.scoring import WhyReport
from clio.memory.store.record import MemoryDraft
from clio.memory.vectors.vector_store import VectorItem, VectorStore
from clio.messages import AssistantMessage, UserMessage
from clio.sessions.store import SessionStore
from clio.storage.documents import save_cached
from clio.storage.files import make_folder
from clio.storage.locks import FileLock
from clio.text.embedding import HashedEmbedder
from tests.memory.portability.home_support import BY_USER, MemoryHome, find_files_with, tree

MARK = "quokka"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home made once and copied for each test."""
    home = MemoryHome(tmp_path_factory.mktemp("filled"))
    home.fill(MARK)
    fill_beside(home)
    return home.top


@pytest.fixture
def home(filled: Path, tmp_path: Path) -> MemoryHome:
    for name in ("project", "home"):
        shutil.copytree(filled / name, tmp_path / name)
    return MemoryHome(tmp_path)


def fill_beside(home: MemoryHome) -> None:
    """Add derived, left-over and moved-aside files with the same content."""
    folder, cache = home.places.folder, home.places.cache
    save_cached(cache / "why.json", WhyReport(question=f"why {MARK}?"))
    vectors = VectorStore(cache / "documents", HashedEmbedder())
    vectors.put([VectorItem(id="v-1", group="a.md", text=f"a window on {MARK}")])
    vectors.close()
    for path in (
        folder / "ltm.json.corrupt-20260101-000000",
        folder / "memories.json.0123456789ab.tmp",
        folder / "sleep.log.jsonl",
        folder / "sleep.json",
        folder / "documents.json",
        home.places.notes / "plan.json.0123456789ab.tmp",
        home.places.home / "shifts.json",
        home.places.home / "sleep.person.json",
    ):
        path.write_text(f'{{"{MARK}": 1}}\n', encoding="utf-8")
        os.utime(path, (1, 1))


def wipe_all(home: MemoryHome, scopes: Iterable[WipeScope] = WIPE_SCOPES) -> None:
    wipe(home.places, list_file_sets(home.places, scopes))


def remaining(home: MemoryHome) -> set[str]:
    """Return the names of files that still contain the word."""
    return {Path(path).name for path in find_files_with(MARK, home.top)}


STAYS = {"scenarios.yaml", f"{MARK}-user.md", f"{MARK}-project.md"}
"""Files that users write and clio does not learn, so a wipe keeps them."""


def test_nothing_remains_in_any_file(home: MemoryHome) -> None:
    assert len(remaining(home)) >= 20
    wipe_all(home)
    assert remaining(home) == STAYS
    assert home.live_texts() == set()
    assert summarize_file_sets(home.places, list_file_sets(home.places, WIPE_SCOPES)) == ()


@pytest.mark.parametrize("scope", WIPE_SCOPES)
def test_wiping_one_scope_leaves_the_others_unchanged(home: MemoryHome, scope: WipeScope) -> None:
    before = home.live_texts()
    wipe_all(home, (scope,))
    project = {text for text in before if "discovery" in text or "listens" in text or text == f"no {MARK}"}
    expected = {"project": project, "user": before - project, "styles": set[str]()}[scope]
    assert home.live_texts() == before - expected
    assert home.places.styles.exists() == (scope != "styles")
    assert [home.places.log(owner).exists() for owner in ("project", "user")] == [scope != "project", scope != "user"]
    if scope == "user":
        assert {path for path in find_files_with(MARK, home.places.home) if "styles" not in path} == {
            str(home.places.scenarios)
        }


def test_the_survey_counts_what_a_wipe_removes(home: MemoryHome) -> None:
    found = {
        one.file_set.what: one.records
        for one in summarize_file_sets(home.places, list_file_sets(home.places, WIPE_SCOPES))
    }
    assert found["facts, events and notes of the project"] == 3  # live, replaced, archived
    assert found["facts, solutions and rules of the project"] == 3
    assert found["your memories, including preferences"] == 2
    assert found["rated turns and ratings"] == 2


def test_another_running_clio_restores_nothing(home: MemoryHome) -> None:
    root = Path(__file__).parent.parent.parent.parent
    with subprocess.Popen(
        [sys.executable, "-m", "tests.memory.portability.neighbour", str(home.top)],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout
        assert int(other.stdout.readline()) >= 6  # it has read everything
        wipe_all(home)
        output, errors = other.communicate("go on\n", timeout=60)
    assert errors == ""
    assert output.splitlines() == ["0", "it was wiped work goes on"]
    assert remaining(home) == STAYS
    assert home.live_texts() == {"it was wiped", "work goes on"}


def killed_at(home: MemoryHome, place: int) -> bool:
    """Whether a process that wipes everything was killed at that file system call, and had not finished before."""
    child = os.fork()
    if child == 0:
        left = place

        def count(event: str, arguments: object) -> None:
            nonlocal left
            if event in ("os.remove", "os.rename"):
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            sys.addaudithook(count)
            wipe_all(home)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("place", range(1, 36))
def test_a_wipe_killed_anywhere_can_be_opened_and_finished(home: MemoryHome, place: int) -> None:
    assert killed_at(home, place)
    opened = MemoryHome(home.top)
    opened.live_texts()
    opened.memories.add(MemoryDraft(content="work goes on", kind="fact"), provenance=BY_USER)
    wipe_all(opened)
    assert remaining(opened) == STAYS
    assert opened.live_texts() == set()


def test_remaining_sessions_are_not_consolidated_again(tmp_path: Path) -> None:
    home = MemoryHome(tmp_path)
    store = SessionStore(home.places.sessions)
    session = store.new(home.places.project)
    session.append(UserMessage(content=f"We deploy from the {MARK} branch on Fridays."))
    session.append(AssistantMessage(content="Noted."))
    session.close()
    consolidation = Consolidation(home.places.project, home.places.home, store, redact=str, rng=random.Random(1))
    run_consolidation(consolidation)
    assert any(MARK in text for text in home.live_texts()), "it was learned from the session"
    files = {one.kind: [path.name for path in one.files()] for one in list_file_sets(home.places, ("project",))}
    assert files["consolidation_state"] == ["sleep.json"]
    assert files["consolidation_files"] == ["sleep.log.jsonl"]
    wipe_all(home)
    run_consolidation(consolidation)
    assert home.live_texts() == set()
    resumed = store.open(session.id)
    resumed.append(UserMessage(content="The staging database is read-only."))
    resumed.append(AssistantMessage(content="Noted."))
    resumed.close()
    run_consolidation(consolidation)
    assert home.live_texts() and not any(MARK in text for text in home.live_texts())


def test_nothing_is_wiped_during_a_consolidation(home: MemoryHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clio.memory.portability.memory_files.LOCK_TIMEOUT_S", 0.0)
    before = tree(home.top)
    with FileLock(home.places.folder / "sleep.lock"), pytest.raises(UserError, match="wipe again when it is done"):
        wipe_all(home)
    assert tree(home.top) == before


def test_files_of_a_newer_version_are_left_alone(home: MemoryHome) -> None:
    home.places.memories("user").write_text('{"schema": "clio.store", "version": 99}', encoding="utf-8")
    with pytest.raises(NewerDocument, match="update clio"):
        summarize_file_sets(home.places, list_file_sets(home.places, ("user",)))


def test_a_damaged_file_is_wiped_too(home: MemoryHome) -> None:
    for path in (home.places.knowledge, home.places.memories("project"), home.places.styles):
        path.write_text(f"{{ half of {MARK}", encoding="utf-8")
    summarize_file_sets(home.places, list_file_sets(home.places, WIPE_SCOPES))
    wipe_all(home)
    assert remaining(home) == STAYS


def test_a_link_is_deleted_and_its_target_is_not(home: MemoryHome, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text("{}", encoding="utf-8")
    (home.places.notes / "link.json").symlink_to(elsewhere)
    wipe_all(home)
    assert elsewhere.exists()
    assert list(home.places.notes.iterdir()) == []


def test_a_file_that_cannot_be_deleted_gives_an_error_message(
    home: MemoryHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(StorageError, match=r"cannot be deleted \(Permission denied\); fix its permissions"):
        wipe_all(home)


def test_a_project_without_memory_is_not_changed(tmp_path: Path) -> None:
    home = MemoryHome(tmp_path)
    before = tree(tmp_path)
    assert summarize_file_sets(home.places, list_file_sets(home.places, WIPE_SCOPES)) == ()
    wipe_all(home)
    assert tree(tmp_path) == before


def test_memories_saved_after_a_wipe_are_kept(home: MemoryHome) -> None:
    wipe_all(home)
    again = MemoryHome(home.top)
    again.memories.add(MemoryDraft(content="new words", kind="fact"), provenance=BY_USER)
    again.ltm.add(MemoryDraft(kind="discovery", content="new knowledge"), BY_USER)
    make_folder(again.places.notes)
    again.notes.store("plan", "new plan")
    assert MemoryHome(home.top).live_texts() == {"new words", "new knowledge"}
