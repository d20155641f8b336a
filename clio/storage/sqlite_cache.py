"""SQLite files that are caches: opened without following links, and deleted if they are damaged.

They raise OSError and sqlite3.Error: sqlite3.DatabaseError for a file that is no database, or of another version.
"""

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from clio.storage.documents import set_file_aside
from clio.storage.files import NO_FOLLOW, make_ignored_folder

if TYPE_CHECKING:
    import sqlite3

_SUFFIXES = ("-journal", "-wal", "-shm")
"""Suffixes of the files that SQLite creates next to a database."""


def create_database_file(path: Path, root: Path) -> int:
    """Create the file and its folder below `root` if they are missing; return the inode number of the file.

    SQLite would create it readable by all, and follow a symbolic link.
    """
    import sqlite3

    make_ignored_folder(path.parent, root)
    if path.is_dir():
        raise sqlite3.DatabaseError(f"{path.name} is a folder")
    for companion in (path.with_name(path.name + suffix) for suffix in _SUFFIXES):
        # SQLite would block forever on a named pipe in place of its journal.
        if os.path.lexists(companion) and not stat.S_ISREG(companion.lstat().st_mode):
            raise sqlite3.DatabaseError(f"{companion.name} is not a regular file")
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | NO_FOLLOW, 0o600))
    return get_inode(path)


def open_database(
    path: Path | None, *, schema: str, version: int, settings: Sequence[str], timeout_s: float
) -> "sqlite3.Connection":
    """Open a database, in memory if the path is None, and create its tables if it is empty. Transactions are explicit.

    Args:
        schema: the statements that create the tables, each ending with a semicolon at the end of a line.
        settings: arguments of PRAGMA statements.
        timeout_s: how long to wait for other processes that are writing.
    """
    import sqlite3

    connection = sqlite3.connect(path or ":memory:", timeout=timeout_s, isolation_level=None, check_same_thread=False)
    try:
        run = connection.execute
        ((found,),) = run("PRAGMA user_version").fetchall()
        if found not in (0, version):
            raise sqlite3.DatabaseError(f"version {found} instead of {version}")
        for setting in settings:
            run(f"PRAGMA {setting}").fetchall()
        if found == 0:
            run("BEGIN IMMEDIATE")
            # Another process may have created the tables while this one waited for the lock.
            if run("PRAGMA user_version").fetchone() == (0,):
                for statement in filter(str.strip, schema.split(";\n")):
                    run(statement)
                run(f"PRAGMA user_version = {version}")
            run("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def delete_database(path: Path) -> None:
    """Delete a database and SQLite's files next to it; move a folder of that name aside."""
    # The journal before the database: SQLite would replay a journal that is left over into a new file.
    for suffix in _SUFFIXES:
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).unlink()
    if path.is_dir():
        set_file_aside(path)
    else:
        path.unlink(missing_ok=True)


def get_inode(path: Path) -> int:
    """Return the inode number of a file, 0 if there is none: a file that was replaced has another one."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0
