"""A disk that is full, read-only or emptied while a session runs: reported, and repaired when it works again."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

from clio.messages import UserMessage
from clio.sessions import session_files
from clio.sessions.state import Bill
from tests.sessions.talk import a_turn, files, kill, say, store_in

ROOT = Path(__file__).parent.parent.parent
NOBODY = 65534

# A limit on file size acts like a full disk: the write stops in the middle of a line.
FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from clio.messages import UserMessage
from clio.sessions.store import SessionStore

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
session = SessionStore(Path(sys.argv[1])).new(Path("/project"))
session.append(UserMessage(content="before"))
assert session.unsaved_reason is None
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, resource.RLIM_INFINITY))
for number in range(20):
    session.append(UserMessage(content=f"{number} " + "x" * 500))
handle = session.write_blob("o" * 5_000)
session.sync()
print(session.unsaved_reason)
print(len(session.messages), session.read_blob(handle) == "o" * 5_000)
if sys.argv[2] == "close full":
    session.close()
    print(session.unsaved_reason)
else:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    session.append(UserMessage(content="after"))
    print(session.unsaved_reason)
    if sys.argv[2] == "close":
        session.close()
"""
READ_ONLY = """
import os, sys
from pathlib import Path
import clio.sessions.listing  # the other user may not be let in where the checkout lies
from clio.messages import UserMessage
from clio.sessions.store import SessionStore

store = SessionStore(Path(sys.argv[1]))
if os.getuid() == 0:
    os.setuid(int(sys.argv[2]))
session = store.open(sys.argv[3]) if len(sys.argv) > 3 else store.new(Path("/project"))
print(session.unsaved_reason)
session.append(UserMessage(content="hello"))
session.write_blob("text")
session.sync()
print(session.unsaved_reason)
session.close()
print(session.unsaved_reason)
"""


def run(script: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.fixture
def public() -> Iterator[Path]:
    """Return a folder that any user may enter: root ignores modes, so such tests run as another user."""
    folder = Path(mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("end", ["close", "die"])
def test_a_session_is_saved_once_a_full_disk_has_space_again(tmp_path: Path, end: str) -> None:
    store = store_in(tmp_path)
    full, kept, later = run(FULL_DISK, str(store.folder), end)
    [info] = store.list()
    assert full.startswith(f"the file size limit is reached ('{store.folder / info.id}")
    assert kept == "21 True"
    assert later == "None"
    session = store.open(info.id)
    words = [message.content for message in session.messages if isinstance(message, UserMessage)]
    assert words == ["before", *(f"{number} " + "x" * 500 for number in range(20)), "after"]
    assert session.warnings == []
    session.close()
    assert len(files(store.folder / info.id / "blobs")) == 1


def test_a_disk_that_stays_full_is_reported(tmp_path: Path) -> None:
    """What fitted is there, the journal is kept, and no partial snapshot remains."""
    store = store_in(tmp_path)
    full, _, closed = run(FULL_DISK, str(store.folder), "close full")
    [info] = store.list()
    place = store.folder / info.id
    assert full.startswith(f"the file size limit is reached ('{place}.journal.jsonl')")
    assert closed.startswith(f"the file size limit is reached ('{place}/blobs/")  # each names the last failure
    assert files(store.folder) == [f"{info.id}.journal.jsonl"]
    session = store.open(info.id)
    words = [message.content for message in session.messages if isinstance(message, UserMessage)]
    assert 2 < len(words) < 21
    assert words[:2] == ["before", "0 " + "x" * 500]
    session.close()


def test_a_project_that_is_not_writable(public: Path) -> None:
    public.chmod(0o555)
    begun, unsaved, closed = run(READ_ONLY, str(public / ".clio" / "sessions"), str(NOBODY))
    assert begun == "None"
    assert unsaved.startswith("permission was denied (")
    assert closed == unsaved
    assert list(public.iterdir()) == []


def test_a_session_in_a_read_only_folder_opens(public: Path) -> None:
    store = store_in(public)
    session = store.new(public)
    say(session, a_turn())
    session.close()
    before = files(public)
    for path in [*public.rglob("*"), public]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    begun, unsaved, _ = run(READ_ONLY, str(store.folder), str(NOBODY), session.id)
    assert begun == "None"
    assert "permission was denied" in unsaved
    assert files(public) == before
    for path in [public, *public.rglob("*")]:
        path.chmod(0o755)


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / ".clio").write_text("", encoding="utf-8")
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    say(session, a_turn())
    assert session.unsaved_reason is not None and str(tmp_path / ".clio") in session.unsaved_reason
    assert store.list() == []
    (tmp_path / ".clio").unlink()
    session.append(UserMessage(content="again"))
    assert session.unsaved_reason is None
    assert store.read(session.id) == tuple(session.messages)
    session.close()


@pytest.mark.parametrize("opened_before", [True, False])
def test_deleted_files_of_a_running_session_are_written_again(tmp_path: Path, opened_before: bool) -> None:
    """`git clean -xfd` deletes what git ignores."""
    store = store_in(tmp_path)
    session = store.new(tmp_path, name="demo")
    say(session, a_turn(1))
    session.add_bill(Bill(model="m", prompt_tokens=1))
    if opened_before:
        session.close()
        session = store.open(session.id)
    shutil.rmtree(tmp_path / ".clio")
    session.append(UserMessage(content="more"))
    assert session.unsaved_reason is None
    assert not session_files.FileLock(store.folder / f"{session.id}.lock").acquire()
    kill(session)
    again = store.open(session.id)
    assert (again.messages, again.bills, again.name) == (session.messages, session.bills, "demo")
    again.close()


def test_a_journal_deleted_beside_its_snapshot_is_written_again(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    say(session, a_turn(1))
    session.add_bill(Bill(model="m", prompt_tokens=1))
    session.close()
    session = store.open(session.id)
    say(session, a_turn(2))
    (store.folder / f"{session.id}.journal.jsonl").unlink()
    say(session, a_turn(3))
    session.set_todos(())
    kill(session)
    again = store.open(session.id)
    assert (again.messages, again.bills, again.window_ids) == (session.messages, session.bills, session.window_ids)
    again.close()


def test_a_file_system_without_locks_is_reported_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(fd: int, *, shared: bool) -> bool:
        raise OSError(37, os.strerror(37))

    monkeypatch.setattr("clio.storage.locks._lock_descriptor", no_locks)
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    say(session, a_turn())
    assert session.unsaved_reason is None
    assert len(session.warnings) == 1 and "does not support locks" in session.warnings[0]
    session.close()
    again = store.open(session.id)
    again.append(UserMessage(content="more"))
    assert (len(again.messages), again.unsaved_reason) == (5, None)
    again.close()
