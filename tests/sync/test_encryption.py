"""Encrypted synchronization: what the remote can learn, and a machine without the key, or with another one."""

import os
import stat
from pathlib import Path

import pytest

from clio.errors import UserError
from clio.sync.engine import ChosenProject, SyncSettings
from clio.sync.records import Key, Record, Sealer, State, compute_digest, make_identity, read_key_file, write_key_file
from tests.sync.sync_support import commit, git, make_machines, read_remote
from tests.sync.test_sessions import store_of, talk
from tests.sync.test_sync import add, synchronize_all, texts
from torture.sync import IDENTITY

pytest.importorskip("pyrage", reason="pyrage is not installed")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes are forked")


def test_machines_with_the_key_share_everything_and_the_remote_learns_nothing(tmp_path: Path) -> None:
    one, two = make_machines(tmp_path, 2, identity := make_identity())
    id = add(one, "the launch is on a Tuesday")
    add(one, "the tests need a database", "discovery")
    synchronize_all(one, two)
    two.store.forget(id)
    synchronize_all(two, one)
    assert texts(one) == texts(two) == ["the tests need a database"]
    everything = git(tmp_path / "remote.git", "log", "-p", "--format=%an%ae%s%b") + "".join(
        f"{name}{data}" for name, data in read_remote(tmp_path / "remote.git").items()
    )
    for secret_text in ("Tuesday", "database", "example.org", "discovery", id, identity, identity[20:40]):
        assert secret_text not in everything, secret_text
    names = [name for name in read_remote(tmp_path / "remote.git") if name.startswith("records/")]
    plain = Sealer().name(Key("user", "memory", id))
    assert len(names) == 2 and plain.removesuffix(".json") not in "".join(names)


def test_the_key_file_is_only_the_users(tmp_path: Path) -> None:
    write_key_file(tmp_path / "key.txt", identity := make_identity())
    assert stat.S_IMODE((tmp_path / "key.txt").stat().st_mode) == 0o600
    assert read_key_file(tmp_path / "key.txt") == identity


def test_a_machine_without_the_key_or_with_another_one_is_told(tmp_path: Path) -> None:
    one, two = make_machines(tmp_path, 2, make_identity())
    add(one, "a memory")
    one.synchronize()
    two.files.save_settings(SyncSettings(remote=str(tmp_path / "remote.git")))
    with pytest.raises(UserError, match="--key"):
        two.synchronize()
    two.files.save_settings(SyncSettings(remote=str(tmp_path / "remote.git"), encrypted=True))
    write_key_file(two.files.key_path, make_identity())
    with pytest.raises(UserError, match="another key"):
        two.synchronize()
    two.files.key_path.write_text("AGE-SECRET-KEY-1CUT", encoding="utf-8")
    with pytest.raises(UserError):
        two.synchronize()
    assert texts(two) == []


def test_a_remote_cannot_turn_encryption_off(tmp_path: Path) -> None:
    one, two = make_machines(tmp_path, 2, make_identity())
    add(one, "a memory")
    synchronize_all(one, two)
    commit(tmp_path / "remote.git", [("100644", "clio-sync.json", b'{"version": 1}')])
    add(one, "another memory")
    with pytest.raises(UserError):
        one.synchronize()
    assert "another memory" not in "".join(read_remote(tmp_path / "remote.git").values())


def test_without_the_key_nobody_can_create_or_rename_a_record(tmp_path: Path) -> None:
    [one] = make_machines(tmp_path, 1, make_identity())
    add(one, "a memory")
    one.synchronize()
    remote = tmp_path / "remote.git"
    [name] = [name for name in read_remote(remote) if name.startswith("records/")]
    key, value = Key("user", "memory", "m1"), {"id": "m1", "type": "fact", "content": "forged"}
    record = Record(key=key, state=State(stamp=2e9, digest=compute_digest(value)), value=value)
    other = Sealer(make_identity())
    commit(
        remote,
        [
            ("100644", other.name(key), other.encode(record)),
            ("100644", Sealer().name(key), Sealer().encode(record)),
            ("100644", name.replace(name[11:20], "0" * 9), git_bytes(remote, name)),
        ],
    )
    report = one.synchronize()
    assert report.received == 0 and len(report.problems) == 3 and texts(one) == ["a memory"]


def git_bytes(remote: Path, name: str) -> bytes:
    import subprocess

    return subprocess.run(["git", "show", f"main:{name}"], cwd=remote, capture_output=True, check=True).stdout


def test_received_sessions_are_the_users_own_if_only_machines_with_the_key_can_write(tmp_path: Path) -> None:
    one, two = make_machines(tmp_path, 2, make_identity())
    for machine in (one, two):
        settings = machine.files.settings()
        chosen = {folder: ChosenProject(identity=IDENTITY, sessions=True) for folder in settings.projects}
        machine.files.save_settings(SyncSettings(remote=settings.remote, encrypted=True, projects=chosen))
    session = store_of(one).new(one.project)
    talk(session, "the launch is on a Tuesday")
    synchronize_all(one, two)
    assert store_of(two).is_own(session.id)
    assert "Tuesday" not in "".join(read_remote(tmp_path / "remote.git").values())
    talk(store_of(two).open(session.id), "and on a Friday")
    synchronize_all(two, one)
    assert [message.content for message in store_of(one).read(session.id)][2] == "and on a Friday"
