"""Machines that synchronize through a real repository: what arrives, which version wins, and what is never lost."""

import errno
import json
import os
import signal
from pathlib import Path

import pytest

from clio.errors import ClioError, UserError
from clio.memory.store.change_log import ScopeLogs
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import MemoryDraft
from clio.memory.styles.style_state import Earned, StyleFile, StyleState
from clio.memory.team.share import Sharing
from clio.storage import documents
from clio.sync import engine, repository
from clio.sync.engine import Synchronizer
from clio.sync.repository import RemoteUnreachable
from tests.memory.store.test_killed_change import killed_at
from tests.support.examples import is_fuzzing
from tests.sync.sync_support import git, make_machines, read_remote
from torture.sync import SAID, Machine, play

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the processes are forked")


def add(machine: Machine, text: str, kind: str = "fact") -> str:
    return machine.store.add(MemoryDraft(kind=kind, content=text), SAID).record.id  # pyright: ignore[reportArgumentType]


def texts(machine: Machine) -> list[str]:
    return sorted(record.content for record in machine.store.records())


def synchronize_all(*machines: Machine) -> None:
    for machine in (*machines, *machines):
        machine.synchronize()


def test_memories_of_all_kinds_notes_and_styles_reach_the_other_machine(tmp_path: Path) -> None:
    one, two = make_machines(tmp_path, 2)
    for kind in ("discovery", "solution", "pattern", "failure", "rule", "fact", "event", "note", "preference"):
        text = f"a {kind} of the first machine"
        one.store.add(MemoryDraft(kind=kind, content=text, solution="see" if kind == "solution" else ""), SAID)
    one.store.add(MemoryDraft(kind="workflow", content="release", steps=("tag", "push")), SAID)
    one.store.add(MemoryDraft(key="host", content="example.org"))
    (one.home / "styles").mkdir()
    (one.home / "styles" / "terse.md").write_text("# terse\n", encoding="utf-8")
    learned = StyleState(contexts={"fix": {"terse": Earned(ups=2.0)}}, vectors={"fix": (0.5, 0.25)})
    StyleFile(one.home / "styles.json").change(lambda state: learned)
    synchronize_all(one, two)
    assert texts(one) == texts(two) and len(texts(two)) == 11
    assert two.store.get_note("host") is not None
    assert (two.home / "styles" / "terse.md").read_text(encoding="utf-8") == "# terse\n"
    state = StyleFile(two.home / "styles.json").read()
    assert (state.contexts, state.vectors) == (learned.contexts, learned.vectors)
    assert one.contents() == two.contents()
    assert two.synchronize().sent == one.synchronize().sent == 0, "without changes nothing is sent"


def test_the_later_change_wins_and_the_other_stays_in_the_archive(tmp_path: Path) -> None:
    one, two = make_machines(tmp_path, 2)
    id = add(one, "the port is 1111")
    project_id = add(one, "the build takes ten minutes", "discovery")
    synchronize_all(one, two)
    for machine, number in ((one, 2), (two, 3)):
        machine.store.update(id, content=f"the port is {number}")
        machine.store.update(project_id, content=f"the build takes {number} minutes")
    synchronize_all(one, two)
    assert texts(one) == texts(two) == ["the build takes 3 minutes", "the port is 3"]
    assert "the port is 2" in [version.record.content for version in one.store.history(id)]
    assert "the build takes 2 minutes" in [version.record.content for version in one.store.history(project_id)]


def test_forgetting_wins_over_a_change_and_undo_restores_it_everywhere(tmp_path: Path) -> None:
    one, two = make_machines(tmp_path, 2)
    ids = [add(one, "the cache is in memory"), add(one, "tests need a database", "discovery")]
    synchronize_all(one, two)
    one.store.forget(*ids)
    for id in ids:
        two.store.update(id, content=f"another text of {id}")
    synchronize_all(two, one)
    assert texts(one) == texts(two) == []
    assert {record.id for record in two.store.archived()} >= set(ids), "it can still be restored"
    one.store.undo()
    synchronize_all(one, two)
    assert texts(one) == texts(two) == ["tests need a database", "the cache is in memory"]


def test_two_texts_with_one_id_are_both_kept(tmp_path: Path) -> None:
    one, two = make_machines(tmp_path, 2)
    for machine, text in ((one, "the first text"), (two, "quite another one")):
        document = {"patterns": {"discoveries": [{"fact": text, "id": "d-abcdef", "timestamp": 1.0}]}}
        (machine.project / ".clio" / "ltm.json").write_text(json.dumps(document), encoding="utf-8")
    synchronize_all(one, two)
    assert texts(one) == texts(two) == ["quite another one", "the first text"]
    assert one.contents() == two.contents()


def test_a_memory_changed_while_a_team_shared_it_keeps_its_new_text(tmp_path: Path) -> None:
    one, two = make_machines(tmp_path, 2)
    ids = [add(one, f"service {number} listens on port {5000 + number}", "discovery") for number in range(12)]
    synchronize_all(one, two)
    sharing = Sharing(one.store.ltm_path, project=one.project, home=one.home, clock=one.clock, redact=str)
    logs = ScopeLogs(one.project / ".clio", one.home, clock=one.clock)
    shared = MemoryStore(one.project / ".clio", one.home, logs=logs, redact=str, clock=one.clock, trust_home=one.home)
    sharing.turn_on()
    synchronize_all(one)
    shared.update(ids[0], content="service 0 listens on port 6000")
    synchronize_all(one)
    sharing.turn_off()
    synchronize_all(one, two)
    assert len(texts(one)) == 12
    assert [text for text in texts(one) if "service 0" in text] == ["service 0 listens on port 6000"]
    assert texts(one) == texts(two)


def test_the_same_text_found_on_two_machines_is_one_memory(tmp_path: Path) -> None:
    one, two = make_machines(tmp_path, 2)
    for machine in (one, two):
        add(machine, "the build needs ten minutes", "discovery")
    synchronize_all(one, two)
    assert texts(one) == texts(two) == ["the build needs ten minutes"]


def test_a_full_disk_is_reported_and_the_next_run_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = make_machines(tmp_path, 2)
    add(one, "a memory")
    one.synchronize()
    add(two, "another one")
    write, count = documents.write_atomic, iter(range(100))

    def fill(path: Path, data: bytes, *more: object, **named: object) -> None:
        if next(count) % 2:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, data, *more, **named)  # pyright: ignore[reportArgumentType]

    with monkeypatch.context() as full:
        full.setattr(engine, "write_atomic", fill)
        full.setattr(repository, "write_atomic", fill)
        for _ in range(3):
            with pytest.raises(OSError, match="No space"):
                two.synchronize()
    synchronize_all(two, one)
    assert texts(one) == texts(two) == ["a memory", "another one"]


def test_undo_skips_changes_of_another_machine(tmp_path: Path) -> None:
    one, two = make_machines(tmp_path, 2)
    add(two, "stated here")
    add(one, "stated there")
    synchronize_all(one, two)
    two.store.undo()
    assert texts(two) == ["stated there"]


def test_a_lost_or_damaged_file_is_restored_and_deletes_nothing(tmp_path: Path) -> None:
    one, two = make_machines(tmp_path, 2)
    for part in ("parser", "cache", "importer", "scheduler", "web server", "installer", "logger", "updater"):
        add(one, f"the {part} is written in Rust")
        add(one, f"the {part} needs no configuration", "discovery")
    synchronize_all(one, two)
    everything = texts(one)
    for path in (one.project / ".clio").glob("memories*"):
        path.unlink()
    (one.project / ".clio" / "ltm.json").write_text("{ damaged", encoding="utf-8")
    fresh = Machine.__new__(Machine)
    fresh.__dict__.update(one.__dict__)
    with pytest.raises(ClioError):
        fresh.synchronize()
    report = fresh.synchronize()
    assert (report.sent, report.restored) == (0, 16)
    two.synchronize()
    assert texts(two) == everything == texts(one)


@pytest.mark.parametrize("kind", ["discovery", "fact", "keyed note"])
def test_forgotten_memories_stay_forgotten_however_many(tmp_path: Path, kind: str) -> None:
    one, two = make_machines(tmp_path, 2)
    for number in range(6):
        if kind == "keyed note":
            one.store.add(MemoryDraft(key=f"note {number}", content=f"text {number}"))
        else:
            add(one, f"service {number} listens on port {5000 + number}", kind)
    synchronize_all(one, two)
    kept, again, *forgotten = [record.id for record in one.store.records()]
    one.store.forget(again, *forgotten[:-1])
    one.store.forget(forgotten[-1])
    synchronize_all(one, two)
    assert [record.id for record in one.store.records()] == [record.id for record in two.store.records()] == [kept]
    one.store.undo()
    synchronize_all(one, two)
    assert {record.id for record in two.store.records()} == {kept, forgotten[-1]}


def test_a_damaged_file_restores_only_what_was_not_forgotten(tmp_path: Path) -> None:
    one, two = make_machines(tmp_path, 2)
    ids = [add(one, f"service {number} listens on port {5000 + number}", "discovery") for number in range(8)]
    synchronize_all(one, two)
    one.store.forget(*ids[:3])
    path = one.project / ".clio" / "ltm.json"
    path.write_text(json.dumps({"patterns": {"discoveries": []}}), encoding="utf-8")
    synchronize_all(one, two)
    assert {record.id for record in one.store.records()} == {record.id for record in two.store.records()} == {*ids[3:]}


def test_secrets_are_redacted_before_they_are_sent(tmp_path: Path) -> None:
    one, two = make_machines(tmp_path, 2)
    add(one, "the password is hunter22")
    one.store.add(MemoryDraft(kind="solution", content="login fails", solution="use hunter22"), SAID)
    one.store.add(MemoryDraft(key="login", content="hunter22"))
    Synchronizer(one.files, lambda text: text.replace("hunter22", "[secret]")).run(push=True)
    remote = read_remote(tmp_path / "remote.git")
    assert "[secret]" in "".join(remote.values()) and "hunter22" not in "".join(remote.values())
    two.synchronize()
    assert "the password is [secret]" in texts(two)


def test_settings_servers_hooks_and_trust_are_not_sent(tmp_path: Path) -> None:
    one, two = make_machines(tmp_path, 2)
    for name in ("config.yaml", "mcp.yaml", "hooks.yaml", "trust.json"):
        (one.home / name).write_text("only-here: true\n", encoding="utf-8")
        (one.project / ".clio" / name).write_text("only-here: true\n", encoding="utf-8")
    StyleFile(one.home / "styles.json").change(lambda state: StyleState(on=True, pinned="terse"))
    add(one, "a memory")
    synchronize_all(one, two)
    remote = read_remote(tmp_path / "remote.git")
    assert len(remote) == 2 and "only-here" not in "".join(remote.values())
    assert not StyleFile(two.home / "styles.json").read().on


def test_a_replaced_branch_loses_nothing(tmp_path: Path) -> None:
    one, two, three = make_machines(tmp_path, 3)
    add(one, "stated first")
    synchronize_all(one, two)
    start = git(tmp_path / "remote.git", "rev-parse", "main")
    deleted = add(two, "forgotten later")
    synchronize_all(two, one)
    one.store.forget(deleted)
    add(one, "stated later")
    one.synchronize()
    git(tmp_path / "remote.git", "update-ref", "refs/heads/main", start)
    synchronize_all(one, three, two)
    assert texts(one) == texts(two) == texts(three) == ["stated first", "stated later"]


def test_an_unreachable_remote_changes_nothing_and_the_reason_is_reported(tmp_path: Path) -> None:
    [one] = make_machines(tmp_path, 1)
    add(one, "a memory")
    (tmp_path / "remote.git").rename(tmp_path / "away.git")
    with pytest.raises(RemoteUnreachable):
        one.synchronize()
    assert "can't" in one.files.state().error
    (tmp_path / "away.git").rename(tmp_path / "remote.git")
    assert one.synchronize().sent == 1 and not one.files.state().error


def test_a_damaged_clone_is_made_again(tmp_path: Path) -> None:
    one, two = make_machines(tmp_path, 2)
    add(one, "a memory")
    synchronize_all(one, two)
    for path in (two.files.repository_path / "objects").rglob("*"):
        if path.is_file():
            path.chmod(0o600)
            path.write_bytes(b"damaged")
    add(one, "another one")
    synchronize_all(one, two)
    assert texts(two) == ["a memory", "another one"]


def test_many_objects_are_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = make_machines(tmp_path, 2)
    monkeypatch.setattr(repository, "MAX_LOOSE_OBJECTS", 0)
    for number in range(5):
        add(one, f"memory {number * 7919}")
    one.synchronize()
    (one.files.repository_path / "objects" / "17").mkdir(exist_ok=True)
    (one.files.repository_path / "objects" / "17" / ("0" * 38)).touch()
    one.synchronize()
    assert list((one.files.repository_path / "objects" / "pack").glob("*.pack"))
    synchronize_all(two, one)
    assert texts(two) == texts(one)


def test_only_one_clio_synchronizes_at_a_time(tmp_path: Path) -> None:
    [one] = make_machines(tmp_path, 1)
    with one.files.lock(), pytest.raises(ClioError):
        Synchronizer(one.files, str).run(push=True, wait_s=0.0)


def test_memory_that_came_with_a_project_is_not_sent_as_the_users(tmp_path: Path) -> None:
    [one] = make_machines(tmp_path, 1)
    add(one, "of the repository", "discovery")
    for path in (one.project / ".clio").iterdir():
        if path.name == "written-here":
            path.unlink()
    report = one.synchronize()
    assert report.sent == 0 and report.problems
    assert "of the repository" not in "".join(read_remote(tmp_path / "remote.git").values())


def test_a_change_made_while_others_arrive_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = make_machines(tmp_path, 2)
    id = add(one, "the first text")
    synchronize_all(one, two)
    one.store.update(id, content="the text of one")
    one.synchronize()
    save, changed = two.files.save_state, list[str]()

    def change_before_applying(state: object) -> None:
        save(state)  # pyright: ignore[reportArgumentType]
        if state.applying and not changed:  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
            changed.append(two.store.update(id, content="the text of two").content)

    monkeypatch.setattr(two.files, "save_state", change_before_applying)
    assert two.synchronize().waiting == 1
    synchronize_all(two, one)
    assert texts(one) == texts(two) == ["the text of two"]


class Killed(BaseException):
    """Ends a run as SIGKILL does: nothing is written after it."""


@pytest.mark.parametrize("kind", ["fact", "discovery"])
@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_memory_changed_after_a_killed_run_is_kept_only_if_the_run_had_deleted_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, is_deleted: bool
) -> None:
    one, two = make_machines(tmp_path, 2)
    id = add(one, "the parser is written in Rust", kind)
    synchronize_all(one, two)
    one.store.forget(id)
    one.synchronize()
    save = two.files.save_state

    def save_or_die(state: object) -> None:
        if texts(two) == []:
            raise Killed
        save(state)  # pyright: ignore[reportArgumentType]
        if state.applying and not is_deleted:  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
            raise Killed

    monkeypatch.setattr(two.files, "save_state", save_or_die)
    with pytest.raises(Killed):
        two.synchronize()
    monkeypatch.setattr(two.files, "save_state", save)
    if is_deleted:
        two.store.restore(id)
    two.store.update(id, content="the parser is written in Go")
    synchronize_all(two, one)
    assert texts(one) == texts(two) == (["the parser is written in Go"] if is_deleted else [])


@pytest.mark.sampled
def test_a_run_killed_at_any_file_system_call_is_continued(tmp_path: Path) -> None:
    one, two = make_machines(tmp_path, 2)
    for number in range(3):
        add(one, f"of one {number * 7919}", "fact" if number else "discovery")
    ids = [add(two, f"of two {number * 104729}") for number in range(3)]
    synchronize_all(one, two)
    for place in range(1, 40, 1 if is_fuzzing() else 3):
        add(one, f"round {place} one {place * 15485863}", "discovery")
        one.store.update(ids[0], content=f"changed in round {place}")
        one.synchronize()
        add(two, f"round {place} two {place * 32452843}")
        if not killed_at(two.synchronize, place):
            break
        two.synchronize()
        one.synchronize()
        assert texts(one) == texts(two)
        assert f"changed in round {place}" in texts(one)
    else:
        pytest.fail("no run came to its end")
    assert place > 6


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", (1, 2))
def test_machines_that_are_killed_at_random_end_up_equal(tmp_path: Path, seed: int) -> None:
    found = play(tmp_path, machines=4, rounds=4, seed=seed)
    assert found["added"] and found["changed"]


def test_a_signal_in_the_middle_of_a_push_does_not_affect_the_result(tmp_path: Path) -> None:
    one, two = make_machines(tmp_path, 2)
    add(one, "a memory")
    child = one.start(push=True)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    synchronize_all(one, two)
    assert texts(two) == ["a memory"]


def test_without_init_synchronization_is_off(tmp_path: Path) -> None:
    [one] = make_machines(tmp_path, 1)
    one.files.settings_path.unlink()
    with pytest.raises(UserError):
        one.synchronize()
