"""A PostgreSQL cluster in a temporary folder, run with the system's packages."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

FOLDERS = sorted(Path("/usr/lib/postgresql").glob("[0-9]*/bin"), key=lambda path: float(path.parent.name), reverse=True)
"""Debian and Ubuntu install the server's programs outside PATH."""


def find_program(name: str) -> str | None:
    """Return the path of a program of PostgreSQL's server."""
    found = [str(folder / name) for folder in FOLDERS if (folder / name).exists()]
    return found[0] if found else shutil.which(name)


def why_not() -> str:
    """Return why no cluster can be started here, "" if one can."""
    if sys.platform == "win32":
        return "the cluster of the tests needs POSIX users and signals"
    try:
        import psycopg  # noqa: F401
        import psycopg_pool  # noqa: F401
    except ImportError:
        return "psycopg is not installed"
    if not find_program("initdb") or not find_program("postgres"):
        return "PostgreSQL's server is not installed"
    return "" if _get_user() is not None or os.getuid() else "no user to run PostgreSQL as"


def _get_user() -> str | None:
    """Return the user to run the server as if this is root, which PostgreSQL refuses."""
    import pwd

    if os.getuid():
        return None
    known = {one.pw_name for one in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in known), None)


class Cluster:
    """A running server. Everything is in one folder, which `close` deletes.

    folder: where it is; by default a new temporary one.
    """

    def __init__(self, folder: Path | None = None, **settings: str) -> None:
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder.resolve() if folder else Path(tempfile.mkdtemp(prefix="pg"))
        self.data = self.folder / "data"
        self.settings = {"fsync": "off"} | settings
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._as_user: dict[str, Any] = {"cwd": self.folder}
        if user := _get_user():
            shutil.chown(self.folder, user)
            self._as_user |= {"user": user, "group": _group_of(user), "extra_groups": []}

    def create(self) -> "Cluster":
        """Make an empty cluster, and start it."""
        self.run("initdb", "-D", str(self.data), "-A", "trust", "-U", "clio", "-E", "UTF8", "--no-locale", "--no-sync")
        return self.start()

    def run(self, name: str, *words: str) -> None:
        """Run a program of PostgreSQL."""
        program = find_program(name)
        assert program
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=600, **self._as_user)
        assert done.returncode == 0, done.stderr

    def start(self) -> "Cluster":
        """Start the server, and wait until it answers."""
        program = find_program("postgres")
        assert program
        settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": str(self.folder)} | self.settings
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        log = (self.folder / "log").open("ab")
        until = time.monotonic() + 60
        while True:
            self._process = subprocess.Popen(
                [program, "-D", str(self.data), "-p", str(self.port), *words], stdout=log, stderr=log, **self._as_user
            )
            while self._process.poll() is None:
                if self.answers():
                    log.close()
                    return self
                assert time.monotonic() < until, (self.folder / "log").read_text(encoding="utf-8")[-2_000:]
                time.sleep(0.02)
            # After a kill the processes of before may still hold the shared memory for a moment.
            assert time.monotonic() < until, (self.folder / "log").read_text(encoding="utf-8")[-2_000:]
            time.sleep(0.1)

    def copy_of(self, primary: "Cluster") -> None:
        """Make this a standby of another cluster; `start` it then."""
        self.run(
            "pg_basebackup", "-D", str(self.data), "-R", "-X", "stream", "-c", "fast", "-d", primary.url("postgres")
        )

    def promote(self) -> None:
        """Make a standby the primary, and wait until it accepts writes."""
        self.execute("select pg_promote(true, 60)")

    def answers(self) -> bool:
        """Whether the server accepts connections."""
        import psycopg

        try:
            psycopg.connect(self.url("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def url(self, database: str, user: str = "clio") -> str:
        """Return the address of a database."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def new_database(self, name: str) -> str:
        """Create a database, and return its address."""
        self.execute(f"create database {name}")
        return self.url(name)

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run one statement, and return its rows."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def stop(self) -> None:
        """End the server, as `systemctl stop` does."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Kill the server as a power cut would, except that the operating system goes on.

        Its children would otherwise answer queries until they notice that it is gone.
        """
        if self._process is None:
            return
        listed = subprocess.run(["pgrep", "-P", str(self._process.pid)], capture_output=True, text=True, check=False)
        self._end(signal.SIGKILL)
        for pid in map(int, listed.stdout.split()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(timeout=60)
            self._process = None

    def close(self) -> None:
        """End the server, and delete its folder."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def _group_of(user: str) -> int:
    import pwd

    return pwd.getpwnam(user).pw_gid
