"""`clio gc` on real folders: what counts as unneeded and what is never removed."""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from clio.checkpoints.checkpoint_store import DiskObjectStore
from clio.cli import main
from clio.messages import ToolMessage, UserMessage
from clio.sessions.state import SessionFiles
from clio.sessions.store import SessionStore
from clio.storage.files import write_pieces
from clio.storage.locks import FileLock
from tests.support.wording import mentions

DAY_S = 86_400.0


def old(path: Path, days: float = 30.0, data: bytes = b"x" * 1000) -> Path:
    """Write a file with a time this many days ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_bytes(data)
    then = time.time() - days * DAY_S
    os.utime(path, (then, then))
    return path


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / ".clio").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def make_session(project: Path, output: str, words: str = "hi") -> SessionFiles:
    """Make a closed old session with one stored output."""
    store = SessionStore(project / ".clio" / "sessions")
    session = store.new(project)
    handle = session.write_blob(output)
    session.append(UserMessage(content=words, created=time.time() - 200 * DAY_S))
    session.append(ToolMessage(tool_call_id="a", name="x", content="…", blob=handle, created=time.time() - 200 * DAY_S))
    session.close()
    files = SessionFiles(store.folder, session.id)
    written = json.loads(files.snapshot.read_text("utf-8"))
    files.snapshot.write_text(json.dumps(written | {"updated_at": time.time() - 200 * DAY_S}), encoding="utf-8")
    for path in files.folder.rglob("*"):
        if path.is_file():
            old(path)
    return files


def gc(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, object]:
    """Return the JSON report of a run."""
    capsys.readouterr()
    assert main(["gc", "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def everything(*folders: Path) -> set[Path]:
    return {path for folder in folders for path in folder.rglob("*") if path.is_file()}


def test_unneeded_files_are_removed_and_the_rest_is_kept(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clio, home = project / ".clio", Path(os.environ["CLIO_HOME"])
    files = make_session(project, "named " * 5000)
    waste = {
        old(files.blobs / ("ab" * 32)),
        old(clio / "sessions" / "gone-for-good" / "blobs" / ("cd" * 32)),
        old(clio / "ltm.json.0123456789ab.tmp"),
        old(clio / "ltm.json.lock"),
        old(clio / "memories.json.corrupt-20260101-000000"),
        old(home / "styles.json.fedcba987654.tmp"),
    }
    young = old(clio / "ltm.json.aaaaaaaaaaaa.tmp", days=0.0)
    fresh_copy = old(clio / "ltm.json.corrupt-20260801-000000", days=2.0)
    cache = old(clio / "cache" / "recall.sqlite")
    imports = old(clio / "cache" / "imports.json")
    notes = old(clio / "memory" / "key.json")
    orphan = DiskObjectStore(home / "checkpoints" / "objects")
    old(orphan.path(orphan.put(b"no log names it")))
    before = everything(clio, home)
    dry = gc(capsys)
    assert everything(clio, home) == before, "nothing is removed without --yes"
    usages = cast(list[dict[str, object]], dry["usages"])
    assert {tuple(usage) for usage in usages} == {("folder", "kind", "files", "bytes", "can_be_freed")}
    assert dry["freed_bytes"] == 0 and isinstance(dry["can_be_freed_bytes"], int) and dry["can_be_freed_bytes"] > 5_000
    done = gc(capsys, "--yes")
    assert done["freed_bytes"] == dry["can_be_freed_bytes"] and done["problems"] == []
    removed = before - everything(clio, home)
    assert {path for path in removed if "objects" not in path.parts} == waste
    assert len(removed) == len(waste) + 1
    assert {young, fresh_copy, cache, imports, notes, files.snapshot} <= everything(clio, home)
    assert not (clio / "sessions" / "gone-for-good").exists()
    session = SessionStore(files.folder).open(files.id)
    blob = next(one.blob for one in session.messages if isinstance(one, ToolMessage))
    assert blob is not None and session.read_blob(blob) == "named " * 5000
    session.close()
    assert gc(capsys, "--yes")["freed_bytes"] == 0
    assert gc(capsys, "--yes", "--caches")["freed_bytes"] == 1000 and not cache.exists() and imports.exists()


def test_sessions_are_removed_only_on_request_and_never_an_open_one(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    removed, open_one = make_session(project, "a" * 9000), make_session(project, "b" * 9000)
    assert gc(capsys, "--yes")["freed_bytes"] == 0
    lock = FileLock(open_one.lock)
    assert lock.acquire()
    try:
        assert gc(capsys, "--yes", "--sessions-older-than", "1y")["freed_bytes"] == 0
        freed = gc(capsys, "--yes", "--sessions-older-than", "90d")["freed_bytes"]
    finally:
        lock.release()
    assert isinstance(freed, int) and freed > 9000
    assert not removed.any_exist() and not removed.attachments.exists() and open_one.any_exist()


def test_a_held_lock_is_kept(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = FileLock(project / ".clio" / "ltm.json.lock")
    assert lock.acquire()
    old(lock.path)
    assert gc(capsys, "--yes")["freed_bytes"] == 0 and lock.path.exists()
    lock.release()


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be deleted there by anybody")
def test_a_write_in_progress_is_kept_however_old_it_is(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = project / ".clio" / "memories.json"
    left = old(project / ".clio" / "memories.json.0123456789ab.tmp")
    objects = old(Path(os.environ["CLIO_HOME"]) / "checkpoints" / "objects" / "ab" / "cd.0123456789ab.tmp")
    freed: list[object] = []

    def pieces() -> Iterator[bytes]:
        yield b"one half "
        [mine] = [path for path in target.parent.glob("*.tmp") if path != left]
        old(mine)
        freed.append(gc(capsys, "--yes")["freed_bytes"])
        yield b"and the other"

    write_pieces(target, pieces())
    assert freed == [2000] and not left.exists() and not objects.exists()
    assert target.read_bytes() == b"one half and the other"


def test_the_text_report_and_invalid_arguments(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old(project / ".clio" / "ltm.json.0123456789ab.tmp")
    assert main(["gc"]) == 0
    shown = capsys.readouterr().out
    assert "unfinished writes" in shown and mentions(shown, "1.0 kB", "nothing", "deleted", "clio gc --yes")
    for words in (["gc", "now"], ["gc", "--sessions-older-than", "soon"], ["gc", "--yes", "--incognito"]):
        assert main(words) == 2
    assert main(["gc", "--yes"]) == 0
    assert "Freed 1.0 kB." in capsys.readouterr().out
