"""Data of a remote cannot write outside the stores or run anything, and valid records still arrive."""

# pyright: reportPrivateUsage=false

import json
import os
from pathlib import Path

import msgspec
import pytest

from clio.errors import ClioError, UserError
from clio.memory.store.record import MemoryDraft, MemoryRecord
from clio.sync import engine, repository
from clio.sync.records import Key, Record, Sealer, State, compute_digest
from clio.sync.repository import check_remote
from tests.sync.sync_support import commit, git, make_machines, read_remote
from tests.sync.test_sync import add, synchronize_all, texts
from torture.sync import IDENTITY, Machine

PROJECT = f"project:{IDENTITY}"


def seal(key: Key, value: object, /, **fields: object) -> tuple[str, str, bytes]:
    """Return the file of a record, with a correct name."""
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
        ("memory", "m\x1b]0;x\x07", memory("m\x1b]0;x\x07")),
        ("memory", "m 1", memory("m 1")),
        ("memory", "m\u202e1", memory("m\u202e1")),
        ("memory", "m" * 300, memory("m" * 300)),
        ("ltm", "d-\u202eaaaaaa", {"kind": "discovery", "entry": {"fact": "x"}}),
        ("ltm", "d" * 300, {"kind": "discovery", "entry": {"fact": "x"}}),
        ("style", '["earned", "fix", "terse"]', {"ups": -5.0}),
        ("style", '["earned", "fix", "terse"]', {"ups": 1e308}),
        ("style", '["earned", "fix", "terse"]', {"confidence": -1.0}),
        ("style", '["earned", "fix", "terse"]', {"last": 1e300}),
        ("style", '["earned", "fix\\u001b[2J", "terse"]', {"ups": 1.0}),
        ("style", '["vector", "fix", ""]', [0.5] * 10_000),
        ("style", '["vector", "fix", ""]', [1e308] * 16),
        ("ltm", "d-aaaaaa", {"kind": "discovery", "entry": {"fact": 7}}),
        ("ltm", "d-aaaaaa", {"kind": "hook", "entry": {"fact": "x"}}),
        ("ltm", "d-aaaaaa", {"kind": "failure", "entry": {"what": "the letter of another kind"}}),
        ("hook", "post_edit", {"command": "touch owned"}),
        ("config", "approve", "all"),
    ),
)
def test_records_that_clio_would_not_write_are_skipped(
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
def test_invalid_times_and_counts_are_refused(one: Machine, tmp_path: Path, fields: dict[str, object]) -> None:
    commit(tmp_path / "remote.git", [seal(Key("user", "memory", "m1"), memory("m1"), **fields)])
    assert (report := one.synchronize()).received == 0 and report.problems


def test_control_characters_are_removed_from_received_text(one: Machine, tmp_path: Path) -> None:
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
    assert "\\u001b" not in "".join(read_remote(tmp_path / "remote.git").values()), "they are removed for all machines"
    assert one.synchronize().sent == 0


def test_a_file_that_is_too_large_is_not_read(one: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = memory("m1", reason="x" * 600_000)
    commit(tmp_path / "remote.git", [seal(Key("user", "memory", "m1"), large)])
    assert (report := one.synchronize()).received == 0 and report.problems
    monkeypatch.setattr(repository, "MAX_FILES", 1)
    with pytest.raises(UserError):
        one.synchronize()


def test_a_record_with_the_last_possible_time_can_be_forgotten_everywhere(tmp_path: Path) -> None:
    one, other = make_machines(tmp_path, 2)
    add(one, "a memory of this machine")
    synchronize_all(one, other)
    last = {"stamp": 253_402_300_799.0, "life": 1_000_000}
    commit(tmp_path / "remote.git", [seal(Key(PROJECT, "memory", "m1"), memory("m1", content="forged"), **last)])
    synchronize_all(one, other)
    assert "forged" in texts(one) and "forged" in texts(other)
    one.store.forget("m1")
    synchronize_all(one, other)
    assert texts(one) == texts(other) == ["a memory of this machine"]
    for machine in (one, other):
        report = machine.synchronize()
        assert (report.sent, report.received, report.problems) == (0, 0, ())


@pytest.mark.skipif(os.name != "posix", reason="hooks of POSIX")
@pytest.mark.parametrize("address", ["{}", "file://{}"])
def test_a_remote_that_is_a_folder_runs_nothing(one: Machine, tmp_path: Path, address: str) -> None:
    remote, other = tmp_path / "remote.git", tmp_path / "other.git"
    settings = one.files.settings()
    one.files.save_settings(msgspec.structs.replace(settings, remote=address.format(remote)))
    git(tmp_path, "init", "--quiet", "--bare", str(other))
    git(tmp_path, "--git-dir", str(other), "fetch", "--quiet", str(remote), "main:main")
    (remote / "objects" / "info" / "alternates").write_text(f"{other / 'objects'}\n", encoding="utf-8")
    for name in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction", "push-to-checkout"):
        hook = remote / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran-{name}'\n", encoding="utf-8")
        hook.chmod(0o755)
    for name in ("core.alternateRefsCommand", "core.fsmonitor", "uploadpack.packObjectsHook", "core.sshCommand"):
        git(remote, "config", name, f"touch '{tmp_path}/ran-{name}'; true #")
    add(one, "a second memory")
    assert one.synchronize().sent == 1
    assert list(tmp_path.glob("ran-*")) == []
    commit(remote, [seal(Key(PROJECT, "memory", "m1"), memory("m1", content="it arrives"))])
    for ran in tmp_path.glob("ran-*"):  # by the git of the other machine
        ran.unlink()
    assert one.synchronize().received == 1
    assert list(tmp_path.glob("ran-*")) == []


@pytest.mark.skipif(os.name != "posix", reason="programs of POSIX")
def test_a_remote_with_files_checks_nothing_out(one: Machine, tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    (tmp_path / "place").mkdir()
    remote.rename(tmp_path / "place" / ".git")
    place = tmp_path / "place"
    for name, value in {
        "core.bare": "false",
        "receive.denyCurrentBranch": "updateInstead",
        "filter.x.smudge": f"touch '{tmp_path}/ran-smudge'; cat",
    }.items():
        git(place, "config", name, value)
    (place / ".git" / "info").mkdir(exist_ok=True)
    (place / ".git" / "info" / "attributes").write_text("* filter=x\n", encoding="utf-8")
    git(place, "read-tree", "HEAD")
    git(place, "-c", "filter.x.smudge=", "checkout", "--quiet", "-f", "HEAD")
    one.files.save_settings(msgspec.structs.replace(one.files.settings(), remote=str(place)))
    add(one, "a second memory")
    with pytest.raises(ClioError):
        one.synchronize()
    assert not (tmp_path / "ran-smudge").exists()


@pytest.mark.skipif(os.name != "posix", reason="a limit of POSIX")
def test_a_tree_that_lists_millions_of_files_needs_little_memory(
    one: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[int] = []
    plain = repository._run_bounded

    def run(*given: object) -> object:
        done = plain(*given)  # type: ignore[arg-type]
        kept.append(len(done.stdout))
        return done

    monkeypatch.setattr(repository, "_run_bounded", run)
    remote = tmp_path / "remote.git"
    blob = git(remote, "hash-object", "-w", "--stdin", stdin=b"x")
    tree = git(remote, "mktree", stdin="".join(f"100644 blob {blob}\tf{i}\n" for i in range(20)).encode())
    for _ in range(4):
        tree = git(remote, "mktree", stdin="".join(f"040000 tree {tree}\tt{i}\n" for i in range(20)).encode())
    top = git(remote, "ls-tree", "main") + f"\n040000 tree {tree}\tzz\n"
    made = git(remote, "-c", "user.name=x", "-c", "user.email=x@example.invalid", "commit-tree", "-p", "main",
               "-m", "hostile", git(remote, "mktree", stdin=top.encode()))  # fmt: skip
    git(remote, "update-ref", "refs/heads/main", made)
    with pytest.raises(UserError):
        one.synchronize()
    assert texts(one) == ["a memory of this machine"]
    assert max(kept) <= repository.MAX_OUTPUT_BYTES


def test_large_files_are_read_one_after_the_other_and_written_by_several_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "MAX_BATCH_BYTES", 1_000)
    monkeypatch.setattr(engine, "MAX_KEPT_BYTES", 1_000)
    monkeypatch.setattr(engine, "MAX_TAKEN_BYTES", 1_000)
    read: list[int] = []
    plain = repository.SyncRepository._run_bytes

    def count(self: repository.SyncRepository, *words: str, **options: object) -> bytes:
        data = plain(self, *words, **options)  # type: ignore[arg-type]
        if "--batch" in words:
            read.append(len(data))
        return data

    monkeypatch.setattr(repository.SyncRepository, "_run_bytes", count)
    one, other = make_machines(tmp_path, 2)
    for number in range(6):
        add(one, f"memory {number} " + "x" * 700)
    one.synchronize()
    counts = [other.synchronize() for _ in range(7)]
    assert [report.received for report in counts] == [1] * 6 + [0]
    assert [report.waiting for report in counts] == [5, 4, 3, 2, 1, 0, 0]
    assert len(texts(other)) == 6 and max(read) < 3_000


@pytest.mark.skipif(os.name != "posix", reason="a limit of POSIX")
def test_an_endless_download_is_stopped(one: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "MAX_FETCH_BYTES", 512 * 100)
    commit(tmp_path / "remote.git", [("100644", "noise", os.urandom(300_000))])
    with pytest.raises(ClioError):
        one.synchronize()
    assert texts(one) == ["a memory of this machine"]


def test_a_repository_with_other_content_is_refused(tmp_path: Path) -> None:
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
def test_urls_that_run_programs_or_are_public_are_refused(address: str) -> None:
    with pytest.raises(UserError):
        check_remote(address)


@pytest.mark.parametrize("address", ("git@example.org:me/x.git", "https://example.org/x", "ssh://git@example.org:22/x"))
def test_urls_of_private_repositories_are_accepted(address: str) -> None:
    assert check_remote(address) == address


def test_another_machines_note_does_not_replace_the_progress_of_this_one(one: Machine, tmp_path: Path) -> None:
    one.store.add(MemoryDraft(key="session_progress", content="here"))
    commit(tmp_path / "remote.git", [seal(Key(PROJECT, "note", "session_progress"), {"content": "there"})])
    synchronize_all(one)
    assert (note := one.store.get_note("session_progress")) is not None and note.content == "here"
