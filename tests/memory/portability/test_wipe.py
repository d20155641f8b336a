"""What is wiped is gone from every file, whoever has it open and whenever the wipe is killed."""

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
from clio.memory.portability.data_files import WIPE_SCOPES, WipeScope, list_file_sets, summarize_file_sets, wipe
from clio.memory.retrieval.why import WhyReport
from clio.memory.store.record import MemoryDraft
from clio.memory.vectors.vector_store import VectorItem, VectorStore
from clio.messages import AssistantMessage, UserMessage
from clio.sessions.store import SessionStore
from clio.storage.documents import save_cached
from clio.storage.files import make_folder
from clio.storage.locks import FileLock
from clio.text.embedding import HashedEmbedder
from tests.memory.portability.home_support import BY_USER, House, holding, tree

MARK = "quokka"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once, copied for each test."""
    house = House(tmp_path_factory.mktemp("filled"))
    house.fill(MARK)
    fill_beside(house)
    return house.top


@pytest.fixture
def house(filled: Path, tmp_path: Path) -> House:
    for name in ("project", "home"):
        shutil.copytree(filled / name, tmp_path / name)
    return House(tmp_path)


def fill_beside(house: House) -> None:
    """What is derived, left over, set aside: it holds the same words."""
    folder, cache = house.places.folder, house.places.cache
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
        folder / "memory.undo.jsonl",
        folder / "ltm.archive.json",
        folder / "ltm.history.jsonl",
        folder / "memories.archive.jsonl",
        house.places.home / "memories.archive.jsonl",
        house.places.notes / "plan.json.0123456789ab.tmp",
        house.places.home / "shifts.json",
        house.places.home / "sleep.person.json",
    ):
        path.write_text(f'{{"{MARK}": 1}}\n', encoding="utf-8")
        os.utime(path, (1, 1))


def wipe_all(house: House, scopes: Iterable[WipeScope] = WIPE_SCOPES) -> None:
    wipe(house.places, list_file_sets(house.places, scopes))


def remaining(house: House) -> set[str]:
    """The names of files that still hold the word."""
    return {Path(path).name for path in holding(MARK, house.top)}


STAYS = {"scenarios.yaml", f"{MARK}-user.md", f"{MARK}-project.md"}
"""A person wrote these; they were not learned."""


def test_nothing_of_it_is_left_in_any_file(house: House) -> None:
    assert len(remaining(house)) > 20
    wipe_all(house)
    assert remaining(house) == STAYS
    assert house.said() == set()
    assert summarize_file_sets(house.places, list_file_sets(house.places, WIPE_SCOPES)) == ()


@pytest.mark.parametrize("scope", WIPE_SCOPES)
def test_one_scope_leaves_the_others_as_they_were(house: House, scope: WipeScope) -> None:
    before = house.said()
    wipe_all(house, (scope,))
    project = {text for text in before if "discovery" in text or "listens" in text or text == f"no {MARK}"}
    gone = {"project": project, "user": before - project, "styles": set[str]()}[scope]
    assert house.said() == before - gone
    assert house.places.styles.exists() == (scope != "styles")
    assert [house.places.log(owner).exists() for owner in ("project", "user")] == [scope != "project", scope != "user"]
    if scope == "user":
        assert {path for path in holding(MARK, house.places.home) if "styles" not in path} == {
            str(house.places.scenarios)
        }


def test_the_survey_counts_what_a_wipe_takes(house: House) -> None:
    found = {
        one.file_set.what: one.records
        for one in summarize_file_sets(house.places, list_file_sets(house.places, WIPE_SCOPES))
    }
    assert found["facts, events and notes of the project"] == 3  # live, replaced, archived
    assert found["facts, solutions and rules of the project"] == 3
    assert found["your memories, including preferences"] == 2
    assert found["rated turns and ratings"] == 2


def test_another_clio_goes_on_and_brings_nothing_back(house: House) -> None:
    root = Path(__file__).parent.parent.parent.parent
    with subprocess.Popen(
        [sys.executable, "-m", "tests.memory.portability.neighbour", str(house.top)],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout
        assert int(other.stdout.readline()) >= 6  # it has read everything
        wipe_all(house)
        told, errors = other.communicate("go on\n", timeout=60)
    assert errors == ""
    assert told.splitlines() == ["0", "it was wiped work goes on"]
    assert remaining(house) == STAYS
    assert house.said() == {"it was wiped", "work goes on"}


def killed_at(house: House, place: int) -> bool:
    """Whether a process that wipes everything was killed at that change of the disk, and not done before."""
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
            wipe_all(house)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("place", range(1, 41))
def test_killed_anywhere_it_opens_and_the_next_one_finishes(house: House, place: int) -> None:
    assert killed_at(house, place)
    opened = House(house.top)
    opened.said()
    opened.memories.add(MemoryDraft(content="work goes on", kind="fact"), provenance=BY_USER)
    wipe_all(opened)
    assert remaining(opened) == STAYS
    assert opened.said() == set()


def test_sessions_that_stay_do_not_teach_again(tmp_path: Path) -> None:
    house = House(tmp_path)
    store = SessionStore(house.places.sessions)
    session = store.new(house.places.project)
    session.append(UserMessage(content=f"We deploy from the {MARK} branch on Fridays."))
    session.append(AssistantMessage(content="Noted."))
    session.close()
    consolidation = Consolidation(house.places.project, house.places.home, store, redact=str, rng=random.Random(1))
    run_consolidation(consolidation)
    assert any(MARK in text for text in house.said()), "it was learned from the session"
    files = {one.kind: [path.name for path in one.files()] for one in list_file_sets(house.places, ("project",))}
    assert files["consolidation_state"] == ["sleep.json"]
    assert files["consolidation_files"] == ["sleep.log.jsonl"]
    wipe_all(house)
    run_consolidation(consolidation)
    assert house.said() == set()
    resumed = store.open(session.id)
    resumed.append(UserMessage(content="The staging database is read-only."))
    resumed.append(AssistantMessage(content="Noted."))
    resumed.close()
    run_consolidation(consolidation)
    assert house.said() and not any(MARK in text for text in house.said())


def test_nothing_is_wiped_while_someone_sleeps(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clio.memory.portability.data_files.LOCK_TIMEOUT_S", 0.0)
    before = tree(house.top)
    with FileLock(house.places.folder / "sleep.lock"), pytest.raises(UserError, match="wipe again when it is done"):
        wipe_all(house)
    assert tree(house.top) == before


def test_what_a_newer_clio_wrote_is_not_guessed_at(house: House) -> None:
    house.places.memories("user").write_text('{"schema": "clio.store", "version": 99}', encoding="utf-8")
    with pytest.raises(NewerDocument, match="update clio"):
        summarize_file_sets(house.places, list_file_sets(house.places, ("user",)))


def test_a_damaged_file_is_wiped_all_the_same(house: House) -> None:
    for path in (house.places.knowledge, house.places.memories("project"), house.places.styles):
        path.write_text(f"{{ half of {MARK}", encoding="utf-8")
    summarize_file_sets(house.places, list_file_sets(house.places, WIPE_SCOPES))
    wipe_all(house)
    assert remaining(house) == STAYS


def test_a_link_is_deleted_and_what_it_leads_to_is_not(house: House, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text("{}", encoding="utf-8")
    (house.places.notes / "link.json").symlink_to(elsewhere)
    wipe_all(house)
    assert elsewhere.exists()
    assert list(house.places.notes.iterdir()) == []


def test_what_cannot_be_deleted_is_told_in_a_sentence(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(StorageError, match=r"cannot be deleted \(Permission denied\); fix its permissions"):
        wipe_all(house)


def test_a_project_without_memory_is_left_as_it_is(tmp_path: Path) -> None:
    house = House(tmp_path)
    before = tree(tmp_path)
    assert summarize_file_sets(house.places, list_file_sets(house.places, WIPE_SCOPES)) == ()
    wipe_all(house)
    assert tree(tmp_path) == before


def test_what_is_learned_afterwards_stays(house: House) -> None:
    wipe_all(house)
    again = House(house.top)
    again.memories.add(MemoryDraft(content="new words", kind="fact"), provenance=BY_USER)
    again.ltm.add(MemoryDraft(kind="discovery", content="new knowledge"), BY_USER)
    make_folder(again.places.notes)
    again.notes.store("plan", "new plan")
    assert House(house.top).said() == {"new words", "new knowledge"}
