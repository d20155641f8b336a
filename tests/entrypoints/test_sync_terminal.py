"""The setting `sync`: at its end a conversation sends its memories, in a process that nothing waits for."""

from pathlib import Path

import pytest

from clio.storage.locks import find_lock_owner
from clio.sync.engine import SyncFiles, SyncSettings
from tests.entrypoints.repl_support import Place, at_prompt, make_place
from tests.support.chat_server import ChatServer
from tests.support.waiting import wait_until
from tests.sync.sync_support import make_remote, read_remote


@pytest.fixture
def place(tmp_path: Path, server: ChatServer) -> Place:
    return make_place(tmp_path, server)


@pytest.mark.parametrize("moment", ("on_start", "on_exit"))
def test_memory_is_synchronized_at_the_configured_moment(place: Place, tmp_path: Path, moment: str) -> None:
    home = place.home / ".clio"
    files, remote = SyncFiles(home), make_remote(tmp_path)
    files.save_settings(SyncSettings(remote=str(remote)))
    (home / "config.yaml").write_text(f"sync: {moment}\n", encoding="utf-8")
    with place.clio() as clio:
        at_prompt(clio)
        if moment == "on_start":
            wait_until(lambda: files.state().at)
        else:
            assert not files.state().at
        clio.line("/prefs add always use tabs")
        clio.wait_for("Saved to user memory")
        clio.line("/exit")
        assert clio.wait_exit() == 0
    wait_until(lambda: files.state().at and find_lock_owner(files.folder / "sync.lock") is None)
    assert ("always use tabs" in "".join(read_remote(remote).values())) is (moment == "on_exit")
