"""Several processes, killed processes, full and read-only disks: no confirmed change is ever lost."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

from clio.memory.store.change_log import LOG_NAME, ChangeLog
from tests.memory.store.ltm_support import add, ltm, read_json
from tests.support.wording import mentions

ROOT = Path(__file__).parents[3]
KILLS = int(os.environ.get("CLIO_KILLS", "30"))
NOBODY = 65534

ADD_MANY = """
import sys
from pathlib import Path
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.record import MemoryDraft, Provenance
path = Path(sys.argv[1])
memory = LongTermMemory(path, project=path.parent.parent)
for number in range(150):
    memory.add(MemoryDraft(kind="discovery", content=f"fact {sys.argv[2]} {number}"), Provenance())
"""
# A limit on file size acts like a full disk: the write stops in the middle.
FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from clio.errors import StorageError
from clio.memory.store.record import MemoryDraft
from tests.memory.store.ltm_support import FROM, ltm
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
memory = ltm(Path(sys.argv[1]))
added = []
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
for number in range(40):
    try:
        added.append(memory.add(MemoryDraft(kind="discovery", content=f"fact {number} " + "x" * 200), FROM).record)
    except StorageError as error:
        print(error)
        break
assert list(memory.read().entries) == added, "lost"
try:
    memory.forget([entry.id for entry in added])
except StorageError as error:
    print(error)
assert list(memory.read().entries) == added, "lost"
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
memory.add(MemoryDraft(kind="discovery", content="after"), FROM)
print(len(added), len(memory.read().entries), len(memory.archived()))
"""
READ_ONLY = """
import os, sys
from pathlib import Path
from clio.errors import StorageError
from tests.memory.store.ltm_support import add, ltm, stats
memory = ltm(Path(sys.argv[1]))
if os.getuid() == 0:
    os.setuid(int(sys.argv[2]))
print(len(memory.read().entries), len(stats(Path(sys.argv[1])).ages))
for change in (lambda: add(memory, "discovery", "new"), lambda: memory.forget([memory.read().entries[0].id])):
    try:
        change()
    except StorageError as error:
        print(error)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "project" / ".clio" / "ltm.json"


@pytest.fixture
def public() -> Iterator[Path]:
    """Return a folder that any user may enter: root ignores modes, so such tests run as another user."""
    folder = Path(mkdtemp())
    folder.chmod(0o755)
    yield folder
    subprocess.run(["chmod", "-R", "u+w", str(folder)], check=True)
    subprocess.run(["rm", "-r", str(folder)], check=True)


def run(script: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_two_processes_add_entries_and_an_idle_third_removes_none(path: Path) -> None:
    idle = ltm(path)
    idle.read()
    add(idle, "discovery", "first")
    running = [subprocess.Popen([sys.executable, "-c", ADD_MANY, str(path), name]) for name in ("a", "b")]
    assert [process.wait(100) for process in running] == [0, 0]
    add(idle, "discovery", "last")
    wanted = {f"fact {name} {number}" for name in ("a", "b") for number in range(150)} | {"first", "last"}
    entries = ltm(path).read().entries
    assert {entry.content for entry in entries} == wanted
    assert len({entry.id for entry in entries}) == len(entries) == 302
    assert len(ChangeLog(path.with_name(LOG_NAME)).undoable()) == 200
    assert sorted(other.name for other in path.parent.iterdir()) == [".gitignore", "ltm.json", LOG_NAME]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the writers are forked")
def test_no_kill_leaves_a_partial_file_or_loses_a_confirmed_change(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.memory.store.ltm_crash", str(tmp_path), str(KILLS), "4"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60 + KILLS, check=True)
    there: set[str] = set()
    forgotten: set[str] = set()
    unsure: set[str] = set()
    lines = done.stdout.splitlines()
    assert sum(not line.startswith("begin ") for line in lines) >= 7 * KILLS  # saves, 200 and more
    for line in lines:
        state, _, text = line.partition(" ")
        for states in (there, forgotten, unsure):
            states.discard(text)
        {"there": there, "gone": forgotten, "begin": unsure}[state].add(text)
    memory = ltm(tmp_path / ".clio" / "ltm.json")
    known = [entry.content for entry in memory.read().entries]
    archived = [entry.content for entry in memory.archived()]
    assert there <= set(known)
    assert forgotten <= set(archived)
    assert unsure <= set(known) | set(archived)
    assert len(set(known)) == len(known)
    assert len(set(known) | set(archived)) <= len(there | forgotten | unsure) + KILLS  # one per kill may be unconfirmed
    assert [path.name for path in (tmp_path / ".clio").iterdir() if "corrupt" in path.name] == []
    memory.prune()
    left = {entry.content for entry in memory.archived()}
    assert not left & {entry.content for entry in memory.read().entries}
    assert forgotten <= left


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
@pytest.mark.parametrize("room", [1_500, 4_000, 9_000])
def test_a_full_disk_gives_an_error_message_and_loses_nothing(tmp_path: Path, room: int) -> None:
    path = tmp_path / "project" / ".clio" / "ltm.json"
    *messages, counts = run(FULL_DISK, str(path), str(room))
    assert messages
    for sentence in messages:
        assert sentence.startswith("Project memory was not changed: ")
        assert mentions(sentence, "(File too large)", "permissions", "try again")
    added, known, archived = map(int, counts.split())
    assert known + archived in (added + 1, 2 * added + 1)  # the second if only the archive had space
    assert read_json(path)["patterns"]["discoveries"][-1]["fact"] == "after"
    assert [other.name for other in path.parent.iterdir() if other.suffix in (".tmp", ".lock")] == []


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_a_read_only_folder_gives_an_error_message_and_loses_nothing(public: Path) -> None:
    path = public / ".clio" / "ltm.json"
    add(ltm(path), "discovery", "old")
    before = path.read_bytes()
    for file in (path, path.with_name(LOG_NAME)):
        file.chmod(0o644)
    path.parent.chmod(0o555)
    counts, *messages = run(READ_ONLY, str(path), str(NOBODY))
    assert counts == "1 7"
    assert len(messages) == 2
    for sentence in messages:
        assert mentions(sentence, "not changed", repr(str(path)), "Permission denied")
    assert path.read_bytes() == before


def test_an_unchanged_file_is_decoded_once_and_every_change_is_read(tmp_path: Path) -> None:
    path = tmp_path / ".clio" / "ltm.json"
    add(ltm(path), "discovery", "staging runs in Frankfurt")
    os.utime(path, (path.stat().st_mtime - 10,) * 2)
    reader = ltm(path)
    first = reader.read()
    assert reader.read() is first
    add(ltm(path), "discovery", "production runs in Paris")
    assert [entry.content for entry in reader.read().entries] == [
        "staging runs in Frankfurt",
        "production runs in Paris",
    ]
    # An edit in place of the same size right after reading, within one tick of the modification time.
    path.write_text(path.read_text(encoding="utf-8").replace("Paris", "Turin"), encoding="utf-8")
    assert reader.read().entries[1].content == "production runs in Turin"
