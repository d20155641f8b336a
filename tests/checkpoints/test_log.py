"""The log of a workspace is read correctly while it grows, is replaced, truncated and deleted."""

import random
from pathlib import Path

import pytest

from clio.checkpoints import checkpoint_store as log_module
from clio.checkpoints.checkpoint_store import ChangeRecord, DiskChangeLog, read_change_log, rewrite_change_log
from clio.errors import ClioError


def record(name: str) -> ChangeRecord:
    return ChangeRecord(id=name, kind="turn", at=1.0, session="s", message=name)


def test_records_of_another_clio_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = DiskChangeLog(tmp_path, tmp_path), DiskChangeLog(tmp_path, tmp_path)
    assert mine.read() == []
    lines: list[int] = []
    real = log_module._decode_records

    def counting(path: Path, given: list[bytes], *, from_start: bool) -> list[ChangeRecord]:
        lines.append(len(given))
        return real(path, given, from_start=from_start)

    monkeypatch.setattr(log_module, "_decode_records", counting)
    for number in range(20):
        (mine if number % 3 else other).append(record(str(number)))
        assert [one.id for one in mine.read()] == [str(each) for each in range(number + 1)]
    assert sum(lines) == 20 + 1  # each once, and the first line of the file


def test_a_shortened_log_is_read_again(tmp_path: Path) -> None:
    log = DiskChangeLog(tmp_path, tmp_path)
    for number in range(5):
        log.append(record(str(number)))
    assert len(log.read()) == 5
    rewrite_change_log(log.path, [record("3"), record("4")])
    assert [one.id for one in log.read()] == ["3", "4"]
    log.append(record("5"))
    assert [one.id for one in log.read()] == ["3", "4", "5"]
    # As long as before and longer, with other records in it.
    rewrite_change_log(log.path, [record("6"), record("7"), record("8")])
    assert [one.id for one in log.read()] == ["6", "7", "8"]
    log.path.unlink()
    assert log.read() == []


def test_a_truncated_last_line_is_skipped_until_it_is_complete(tmp_path: Path) -> None:
    log = DiskChangeLog(tmp_path, tmp_path)
    log.append(record("0"))
    log.append(record("1"))
    whole = log.path.read_bytes()
    start = len(whole) - len(whole.splitlines()[-1])
    for cut in range(start - 1, len(whole)):
        log.path.write_bytes(whole[:cut])
        assert [one.id for one in log.read()] == ["0", "1"][: 2 if cut == len(whole) - 1 else 1]
    log.append(record("2"))  # repairs the tail: the complete line got its line break
    assert [one.id for one in log.read()] == ["0", "1", "2"]


@pytest.mark.parametrize("seed", range(5))
def test_a_changed_log_is_read_like_a_new_one(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    log = DiskChangeLog(tmp_path, tmp_path)
    for number in range(60):
        match rng.randrange(6):
            case 0 if log.path.exists():
                rewrite_change_log(log.path, rng.sample(log.read(), rng.randint(0, len(log.read()))))
            case 1 if log.path.exists():
                data = log.path.read_bytes()
                log.path.write_bytes(data[: rng.randint(0, len(data))])
            case 2 if log.path.exists() and rng.random() < 0.3:
                log.path.unlink()
            case _:
                DiskChangeLog(tmp_path, tmp_path).append(record(str(number)))
        if rng.random() < 0.7:
            assert log.read() == DiskChangeLog(tmp_path, tmp_path).read()
            assert log.read() == (read_change_log(log.path) if log.path.exists() else [])


def test_a_log_of_a_newer_clio_is_refused_each_time(tmp_path: Path) -> None:
    log = DiskChangeLog(tmp_path, tmp_path)
    log.append(record("0"))
    log.path.write_bytes(log.path.read_bytes().replace(b'"version":1', b'"version":99'))
    for _ in range(2):
        with pytest.raises(ClioError):
            log.read()
