"""A session killed at any instant has every message that `append` had accepted."""

import random
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from clio.messages import UserMessage
from clio.sessions import session_files
from clio.sessions.state import Bill
from tests.sessions.talk import a_turn, files, kill, say, store_in
from tests.support.examples import is_fuzzing

ROOT = Path(__file__).parent.parent.parent
KILLS = 40 if is_fuzzing() else 4


def run_and_kill(arguments: list[str], after_lines: int) -> list[str]:
    """Return what the writer printed until it died, without an unfinished last line."""
    command = [sys.executable, "-m", "tests.sessions.crash_writer", *arguments]
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    lines = [child.stdout.readline() for _ in range(after_lines)]
    child.kill()
    lines += child.communicate()[0].splitlines(keepends=True)
    return [line.strip() for line in lines if line.endswith("\n")]


@pytest.mark.sampled
def test_every_confirmed_message_survives_sigkill(tmp_path: Path) -> None:
    rng = random.Random(7)
    store = store_in(tmp_path)
    confirmed: list[str] = []
    session_id: list[str] = []
    for number in range(KILLS):
        # The kill arrives some time after that line: in an append, a snapshot, a reopening.
        printed = run_and_kill([str(store.folder), str(number), *session_id], rng.randrange(2, 120))
        session_id = printed[:1]
        confirmed += printed[1:]
        session = store.open(session_id[0])
        ids = [message.id for message in session.messages]
        assert len(ids) == len(set(ids))
        assert [id for id in ids if id in set(confirmed)] == confirmed
        assert len(ids) - len(confirmed) <= number + 1  # at most one per kill: on disk, but not yet reported
        assert session.warnings == []
        session.close()
        assert files(store.folder) == [f"{session.id}.json"]
    assert len(confirmed) > KILLS


def test_a_kill_between_snapshot_and_journal_duplicates_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    say(session, a_turn())
    session.add_bill(Bill(model="m", prompt_tokens=1))
    journal = store.folder / f"{session.id}.journal.jsonl"
    kept = journal.read_bytes()
    session.close()
    journal.write_bytes(kept)  # as if the deletion had never happened

    info = store.list()[0]
    again = store.open(session.id)
    assert (again.messages, len(again.bills), info.messages) == (session.messages, 1, 4)
    again.append(UserMessage(content="goes to a new journal"))
    kill(again)
    third = store.open(session.id)
    assert third.messages == again.messages
    assert len(third.bills) == 1
    third.close()
    assert files(store.folder) == [f"{session.id}.json"]


def test_a_kill_while_the_snapshot_is_written_leaves_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    say(session, a_turn())

    def die(path: Path, data: bytes) -> None:
        path.with_name(path.name + ".0123456789ab.tmp").write_bytes(data[: len(data) // 2])
        raise KeyboardInterrupt

    monkeypatch.setattr(session_files, "write_atomic", die)
    with pytest.raises(KeyboardInterrupt):
        session.close()
    kill(session)
    monkeypatch.undo()
    again = store.open(session.id)
    assert again.messages == session.messages
    again.close()
    assert files(store.folder) == [f"{session.id}.json"]


def test_a_truncated_last_line_is_removed_before_the_next_line(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    turn = a_turn()
    say(session, turn)
    kill(session)
    journal = store.folder / f"{session.id}.journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-25])
    again = store.open(session.id)
    assert (again.messages, again.warnings) == (turn[:3], [])
    again.append(turn[3])
    kill(again)
    assert store.read(session.id) == tuple(turn)
    for line in journal.read_bytes().splitlines():
        msgspec.json.decode(line)


def test_a_session_killed_before_its_first_message_is_not_listed(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    session.append(UserMessage(content="hello"))
    kill(session)
    journal = store.folder / f"{session.id}.journal.jsonl"
    header = journal.read_bytes().splitlines(keepends=True)[0]
    for rest in (b"", header, header + b'{"type":"mess'):
        journal.write_bytes(rest)
        assert store.list() == []
        assert store.latest() is None
