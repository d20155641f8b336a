"""What a remote brings is data: nothing outside the stores is written, nothing is run, valid records still arrive."""

import json
import os
from pathlib import Path

import msgspec
import pytest

from clio.errors import ClioError, UserError
from clio.memory.store.record import MemoryDraft, MemoryRecord
from clio.sync import repository
from clio.sync.records import Key, Record, Sealer, State, compute_digest
from clio.sync.repository import check_remote
from tests.sync.sync_support import commit, git, make_machines, read_remote
from tests.sync.test_sync import add, meet, texts
from torture.sync import IDENTITY, Machine

PROJECT = f"project:{IDENTITY}"


def seal(key: Key, value: object, /, **fields: object) -> tuple[str, str, bytes]:
    """A file of a record, with a name that is right."""
    sealer = Sealer()
    state = State(stamp=2e9, digest=compute_digest(value))
    data = sealer.encode(Record(key=key, state=state, value=value))
    if fields:
        data = json.dumps(json.loads(data) | fields).encode()
    return "100644", sealer.name(key), data


def memory(id: str, **fields: object) -> dict[str, object]:
    return msgspec.to_builtins(MemoryRecord(id=id, kind="fact", content="x")) | fields


@pytest.fixture
def one(tmp_path: Path) -> Machine:
    [machine] = make_machines(tmp_path, 1)
    add(machine, "a memory of this machine")
    machine.synchronize()
    return machine


def list_tree(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*") if "sync" not in path.relative_to(folder).parts}


def test_links_paths_and_files_of_other_kinds_write_nothing(one: Machine, tmp_path: Path) -> None:
    before = list_tree(one.home) | list_tree(one.project)
    sealed = seal(Key("user", "memory", "m1"), memory("m1", content="it arrives"))
    commit(
        tmp_path / "remote.git",
        [
            sealed,
            ("120000", "records/aa/" + "b" * 62 + ".json", b"/etc/passwd"),
            ("100755", "records/aa/" + "c" * 62 + ".json", b"{}"),
            ("100644", "hooks/post-checkout", b"#!/bin/sh\ntouch /tmp/owned\n"),
            ("100644", ".gitattributes", b"* filter=evil\n"),
            ("100644", "config.yaml", b"approve: all\n"),
            ("100644", "records/aa/" + "d" * 62 + ".json", b"[" * 100_000),
            ("100644", "records/aa/" + "e" * 62 + ".json", sealed[2]),
            ("100644", "records/" + "f" * 64 + ".json", b"\xff\xfe"),
        ],
    )
    report = one.synchronize()
    assert texts(one) == ["a memory of this machine", "it arrives"]
    assert len(report.problems) == 8
    new = (list_tree(one.home) | list_tree(one.project)) - before
    assert {Path(path).name.partition(".")[0] for path in new} <= {"memories", "memory"}, new


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("store", "id", "value"),
    (
        ("note", "../../../escape", {"content": "outside"}),
        ("note", "", {"content": "no key"}),
        ("note", "many", {"content": "x" * 300_000}),
        ("style_file", "../config", {"text": "approve: all"}),
        ("style_file", "/etc/x", {"text": "text"}),
        ("style", "[1]", {"ups": 1}),
        ("style", '["earned", "fix", "terse"]', {"ups": "many"}),
        ("memory", "m1", "a text"),
        ("memory", "m1", {"id": "m2", "type": "fact", "content": "another id"}),
        ("memory", "m1", {"id": "m1", "type": "hook", "content": "another kind"}),
        ("memory", "m1", {"id": "m1", "type": "fact", "content": "x" * 20_000}),
        ("ltm", "d-aaaaaa", {"kind": "discovery", "entry": {"fact": 7}}),
        ("ltm", "d-aaaaaa", {"kind": "hook", "entry": {"fact": "x"}}),
        ("ltm", "d-aaaaaa", {"kind": "failure", "entry": {"what": "the letter of another kind"}}),
        ("hook", "post_edit", {"command": "touch owned"}),
        ("config", "approve", "all"),
    ),
)
def test_records_that_clio_would_not_write_are_left_out(
    one: Machine, tmp_path: Path, store: str, id: str, value: object
) -> None:
    before = list_tree(tmp_path)
    for scope in ("user", PROJECT):
        commit(tmp_path / "remote.git", [seal(Key(scope, store, id), value)])
    report = one.synchronize()
    after = list_tree(tmp_path) - before
    assert report.received == 0 or (store == "note" and "escape" in id)
    assert texts(one) == ["a memory of this machine"] or "escape" in id
    inside = (one.project / ".clio", tmp_path / "remote.git", one.home)
    assert all(any(Path(path).is_relative_to(folder) for folder in inside) for path in after)
    assert not (one.home / "config.md").exists() and not list(tmp_path.glob("escape*"))


@pytest.mark.parametrize("fields", ({"stamp": -1}, {"stamp": 1e300}, {"life": -1}, {"life": 10**9}, {"version": 2}))
def test_times_and_counts_that_are_not_valid_are_refused(
    one: Machine, tmp_path: Path, fields: dict[str, object]
) -> None:
    commit(tmp_path / "remote.git", [seal(Key("user", "memory", "m1"), memory("m1"), **fields)])
    assert (report := one.synchronize()).received == 0 and report.problems


def test_control_characters_are_removed_from_what_arrives(one: Machine, tmp_path: Path) -> None:
    text = "\x1b]52;c;ZXZpbA==\x07 clear\x1b[2J\u202e it"
    commit(
        tmp_path / "remote.git",
        [
            seal(Key("user", "memory", "m1"), memory("m1", content=text)),
            seal(Key(PROJECT, "ltm", "d-abcdef"), {"kind": "discovery", "entry": {"id": "d-abcdef", "fact": text}}),
            seal(Key(PROJECT, "note", "host"), {"content": text}),
        ],
    )
    assert one.synchronize().received == 3
    found = "".join(record.content for record in one.store.records())
    assert "clear" in found and not any(char in found for char in "\x1b\x07\u202e")
    one.synchronize()
    assert "\\u001b" not in "".join(read_remote(tmp_path / "remote.git").values()), "they are gone for all machines"
    assert one.synchronize().sent == 0


def test_a_file_that_is_too_large_is_not_read(one: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = memory("m1", reason="x" * 600_000)
    commit(tmp_path / "remote.git", [seal(Key("user", "memory", "m1"), large)])
    assert (report := one.synchronize()).received == 0 and report.problems
    monkeypatch.setattr(repository, "MAX_FILES", 1)
    with pytest.raises(UserError):
        one.synchronize()


@pytest.mark.skipif(os.name != "posix", reason="a limit of POSIX")
def test_a_download_that_never_ends_is_stopped(one: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "MAX_FETCH_BYTES", 512 * 100)
    commit(tmp_path / "remote.git", [("100644", "noise", os.urandom(300_000))])
    with pytest.raises(ClioError):
        one.synchronize()
    assert texts(one) == ["a memory of this machine"]


def test_a_repository_of_something_else_is_refused(tmp_path: Path) -> None:
    [one] = make_machines(tmp_path, 1)
    remote = tmp_path / "remote.git"
    tree = git(remote, "mktree", stdin=b"")
    made = git(remote, "-c", "user.name=x", "-c", "user.email=x@example.invalid", "commit-tree", "-m", "code", tree)
    git(remote, "update-ref", "refs/heads/main", made)
    add(one, "a memory")
    with pytest.raises(UserError):
        one.synchronize()
    assert git(remote, "rev-parse", "main") == made


@pytest.mark.parametrize(
    "address",
    ("ext::sh -c 'touch owned'", "-u/tmp/x", "", "http://example.org/x", "git://example.org/x", "https://a:b@example.org/x",
     "fd::17", "a\nb"),
)  # fmt: skip
def test_addresses_that_run_programs_or_are_readable_by_others_are_refused(address: str) -> None:
    with pytest.raises(UserError):
        check_remote(address)


@pytest.mark.parametrize("address", ("git@example.org:me/x.git", "https://example.org/x", "ssh://git@example.org:22/x"))
def test_addresses_of_private_repositories_are_accepted(address: str) -> None:
    assert check_remote(address) == address


def test_another_machines_note_does_not_replace_the_progress_of_this_one(one: Machine, tmp_path: Path) -> None:
    one.store.add(MemoryDraft(key="session_progress", content="here"))
    commit(tmp_path / "remote.git", [seal(Key(PROJECT, "note", "session_progress"), {"content": "there"})])
    meet(one)
    assert (note := one.store.get_note("session_progress")) is not None and note.content == "here"
