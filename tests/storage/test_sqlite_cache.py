"""SQLite files that are caches: opened safely, made once, and deleted with what SQLite puts beside them."""

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from clio.storage.sqlite_cache import create_database_file, delete_database, get_inode, open_database

SCHEMA = "CREATE TABLE things (name TEXT NOT NULL);\nINSERT INTO things VALUES ('first');\n"


def opened(path: Path | None, version: int = 3) -> sqlite3.Connection:
    if path is not None:
        create_database_file(path, path.parent)
    return open_database(path, schema=SCHEMA, version=version, settings=("synchronous = OFF",), timeout_s=1.0)


@pytest.mark.fast
def test_the_tables_are_made_once_and_only_the_user_may_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "things.db"
    for _ in range(2):
        with closing(opened(path)) as connection:
            assert connection.execute("SELECT name FROM things").fetchall() == [("first",)]
            assert connection.execute("PRAGMA user_version").fetchone() == (3,)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with closing(opened(None)) as connection:
        assert connection.execute("SELECT name FROM things").fetchall() == [("first",)]


def test_a_file_of_another_version_is_refused_and_left_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    opened(path).close()
    before = path.read_bytes()
    with pytest.raises(sqlite3.DatabaseError, match="version 3 instead of 4"):
        opened(path, 4)
    assert path.read_bytes() == before


def test_a_schema_that_fails_leaves_no_table(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    create_database_file(path, tmp_path)
    broken = SCHEMA + "CREATE TABLE things (again TEXT);\n"
    with pytest.raises(sqlite3.OperationalError):
        open_database(path, schema=broken, version=3, settings=(), timeout_s=1.0)
    with closing(opened(path)) as connection:
        assert connection.execute("SELECT count(*) FROM things").fetchone() == (1,)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "precious.txt"
    target.write_text("precious", encoding="utf-8")
    (tmp_path / "things.db").symlink_to(target)
    with pytest.raises(OSError, match="things"):
        opened(tmp_path / "things.db")
    assert target.read_text(encoding="utf-8") == "precious"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are POSIX")
@pytest.mark.parametrize("suffix", ["-journal", "-wal", "-shm"])
def test_a_pipe_in_place_of_a_file_of_sqlite_is_refused(tmp_path: Path, suffix: str) -> None:
    os.mkfifo(tmp_path / f"things.db{suffix}")
    with pytest.raises(sqlite3.DatabaseError, match="not a regular file"):
        opened(tmp_path / "things.db")
    delete_database(tmp_path / "things.db")
    opened(tmp_path / "things.db").close()


def test_a_folder_in_place_of_the_file_is_moved_aside(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    path.mkdir()
    (path / "kept.txt").write_text("kept", encoding="utf-8")
    with pytest.raises(sqlite3.DatabaseError, match="is a folder"):
        opened(path)
    delete_database(path)
    opened(path).close()
    assert [kept.read_text(encoding="utf-8") for kept in tmp_path.rglob("kept.txt")] == ["kept"]


def test_a_deleted_or_replaced_file_has_another_inode(tmp_path: Path) -> None:
    path = tmp_path / "things.db"
    assert create_database_file(path, tmp_path) == get_inode(path) > 0
    delete_database(path)
    assert get_inode(path) == 0
