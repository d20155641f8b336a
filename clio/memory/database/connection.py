"""Connections to a PostgreSQL database: its address, a bounded pool, work that outlives a restart, and clio's tables.

Only this module imports psycopg, from the extra `clio-shell[team-server]`. Everything else gets its connections here.

All tables are in the schema `clio`. A migration is a list of statements that run in one transaction; it is never
changed once released. Several servers that start at the same time wait for each other.
"""

import logging
import re
import selectors
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Struct

from clio.errors import ClioError, UsageError
from clio.text.formatting import truncate_line
from clio.text.translation import tr

if TYPE_CHECKING:
    from psycopg import Connection as PsycopgConnection
    from psycopg_pool import ConnectionPool

    Connection = PsycopgConnection[tuple[Any, ...]]


ADDRESS_VARIABLE = "CLIO_TEAM_DATABASE"
"""The environment variable with the database's address if the command line names none."""
MAX_CONNECTIONS = 10
RETRY_S = 20.0
"""How long work is repeated while the server does not answer: a restart or a fail-over takes a few seconds."""
_FIRST_PAUSE_S, _MAX_PAUSE_S = 0.05, 1.0
_STATEMENT_TIMEOUT_S = 10
_LOCK_TIMEOUT_S = 8
_POOL_TIMEOUT_S = 5.0
_MAX_WAITING = 200
_MAX_CAUSE_CHARS = 200
_NOT_REPEATED = ("53100", "57014", "28000", "28P01", "3D000", "42501")
"""Disk full, statement timeout, wrong login, wrong password, no such database, no right: waiting does not help."""
_REPEATED = ("25006", "40001", "40P01", "55P03")
"""Read-only (this server is a standby now), serialization failure, deadlock, lock timeout."""

_STARTING = re.compile(r"starting up|shutting down|recovery|too many")
"""In the text of a connection that a server refused but will accept in a moment. The error has no state then."""

T = TypeVar("T")


class DatabaseAddress(Struct, frozen=True, kw_only=True):
    """Where a database is, as libpq reads it. shown: without the password, for messages."""

    conninfo: str
    shown: str


def parse_database_address(given: str, env: Mapping[str, str]) -> DatabaseAddress:
    """Parse what `--database` says: a URL, `service=NAME` and other words of libpq, or `env:NAME` for a variable.

    Without it the variable `CLIO_TEAM_DATABASE` is read. Raises UsageError.
    """
    name = given.removeprefix("env:") if given.startswith("env:") else "" if given else ADDRESS_VARIABLE
    text = env.get(name, "").strip() if name else given.strip()
    if not text:
        raise UsageError(
            tr(
                "the database is not named: write --database postgresql://HOST/NAME, or set the environment variable "
                "{name}",
                name=name or ADDRESS_VARIABLE,
            )
        )
    psycopg, _ = import_psycopg()
    try:
        parts = cast(dict[str, Any], psycopg.conninfo.conninfo_to_dict(text))
    except psycopg.Error as error:
        raise UsageError(
            tr(
                "the address of the database is not valid ({cause}); write postgresql://USER@HOST/NAME or service=NAME",
                cause=_describe_cause(error).replace(text, "…"),
            )
        ) from error
    hosts = str(parts.get("host", ""))
    if "," in hosts:
        # After a fail-over the former primary may answer first.
        parts.setdefault("target_session_attrs", "read-write")
    parts.setdefault("connect_timeout", "5")
    parts.setdefault("application_name", "clio")
    shown = (
        f"service {parts['service']}" if "service" in parts else f"{hosts or 'local socket'}/{parts.get('dbname', '')}"
    )
    return DatabaseAddress(
        conninfo=psycopg.conninfo.make_conninfo("", **parts),
        shown=shown,
    )


def import_psycopg() -> tuple[Any, Any]:
    """Return psycopg and its pool. Raises ClioError with the command that installs it."""
    try:
        import psycopg
        import psycopg_pool
    except ImportError as error:
        raise ClioError(
            tr(
                "memory in PostgreSQL needs the package psycopg ({cause}); install it with: "
                "pip install 'clio-shell[team-server]'",
                cause=truncate_line(str(error), _MAX_CAUSE_CHARS),
            )
        ) from error
    return psycopg, psycopg_pool


class Database:
    """A pool of connections. Each method runs work in one of them, and again if the connection breaks meanwhile.

    Methods raise ClioError if the server cannot be reached in `retry_s`, or refuses.
    """

    def __init__(
        self, address: DatabaseAddress, *, max_connections: int = MAX_CONNECTIONS, retry_s: float = RETRY_S
    ) -> None:
        self.address = address
        self._psycopg, self._pools = import_psycopg()
        self._max_connections = max_connections
        self._retry_s = retry_s
        # Changes of the shared memory wait for each other in the database. Half of the connections is for reading.
        self._writing = threading.BoundedSemaphore(max(max_connections // 2, 1))
        self._pool: ConnectionPool[Connection] | None = None

    def open(self) -> None:
        """Open the first connection. Raises ClioError."""
        logger = logging.getLogger("psycopg.pool")  # it would print each lost connection
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
        pool = self._pools.ConnectionPool
        self._pool = pool(
            self.address.conninfo,
            kwargs={"autocommit": True, "prepare_threshold": sys.maxsize},  # only what asks for it is prepared
            min_size=1,
            max_size=self._max_connections,
            timeout=_POOL_TIMEOUT_S,
            max_waiting=_MAX_WAITING,
            max_idle=300.0,
            reconnect_timeout=5.0,
            configure=_configure,
            check=self._check,
            open=False,
        )
        # What is wrong with an address is reported at once; the pool would only report that it waited in vain.
        self._run(lambda connection: None, self._connect, is_first=True)
        cast(Any, self._pool).open()

    def close(self) -> None:
        """Close all connections."""
        if self._pool is not None:
            self._pool.close(timeout=2.0)
            self._pool = None

    def read(self, work: "Callable[[Connection], T]") -> T:
        """Run work in which each statement stands alone."""
        return self._run(work, self._borrow)

    def write(self, work: "Callable[[Connection], T]") -> T:
        """Run work in a transaction, and return its result after the commit is on the server's disk.

        If the connection breaks during the commit, the work is done again: it must recognise that it was done.
        """

        def run(connection: "Connection") -> T:
            with connection.transaction():
                return work(connection)

        return self._run(run, self._borrow_to_write)

    def _check(self, connection: "Connection") -> None:
        # Something to read on an idle connection is mostly its end. Asking the server before each call costs as much as
        # one of the call's own statements.
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            if selector.select(0):
                self._pools.ConnectionPool.check_connection(connection)

    def _connect(self) -> Any:
        return self._psycopg.connect(self.address.conninfo, autocommit=True)

    def _borrow(self) -> Any:
        if self._pool is None:
            raise ClioError(tr("the database is closed"))
        return self._pool.connection()

    @contextmanager
    def _borrow_to_write(self) -> "Generator[Connection]":
        if not self._writing.acquire(timeout=max(self._retry_s, _POOL_TIMEOUT_S)):
            raise ClioError(
                tr(
                    "the database {place} failed ({cause}); try again",
                    place=self.address.shown,
                    cause=tr("too many calls write at the same time"),
                )
            )
        try:
            with self._borrow() as connection:
                yield connection
        finally:
            self._writing.release()

    def _run(self, work: "Callable[[Connection], T]", take: Callable[[], Any], *, is_first: bool = False) -> T:
        until = time.monotonic() + self._retry_s
        pause = _FIRST_PAUSE_S
        while True:
            try:
                with take() as connection:
                    return work(connection)
            except self._psycopg.Error as error:
                is_passing = self._is_repeatable(error) and not (is_first and not _STARTING.search(str(error)))
                if not is_passing or time.monotonic() + pause > until:
                    raise self._explain(error) from error
            time.sleep(pause)
            pause = min(pause * 2, _MAX_PAUSE_S)

    def _is_repeatable(self, error: Any) -> bool:
        state = getattr(error, "sqlstate", None)
        if state in _NOT_REPEATED or (state is None and "FATAL:" in str(error) and not _STARTING.search(str(error))):
            return False
        if state in _REPEATED:
            return True
        # Without a state the connection was lost, or there is none; 53 is "too many connections", 57 a shutdown.
        is_broken = isinstance(error, (self._psycopg.OperationalError, self._psycopg.InterfaceError))
        return is_broken and (state is None or state[:2] in ("08", "53", "57"))

    def _explain(self, error: Any) -> ClioError:
        """Return an error of psycopg as one that tells the user what to do, by its SQLSTATE."""
        cause, place = _describe_cause(error), self.address.shown
        match getattr(error, "sqlstate", None):
            case "57014":
                return ClioError(
                    tr(
                        "the database {place} did not answer in {seconds} seconds; ask for less, or see the section "
                        "on slow answers in docs/team-server.md",
                        place=place,
                        seconds=_STATEMENT_TIMEOUT_S,
                    )
                )
            case "42501":
                return ClioError(
                    tr(
                        "the database {place} refuses this ({cause}); grant this user the right",
                        place=place,
                        cause=cause,
                    )
                )
            case "53100":
                return ClioError(
                    tr("the disk of the database {place} is full; free some space, then repeat", place=place)
                )
            case None | "28000" | "28P01" | "3D000":
                return ClioError(
                    tr("cannot use the database {place} ({cause}); check --database", place=place, cause=cause)
                )
            case _:
                return ClioError(tr("the database {place} failed ({cause}); try again", place=place, cause=cause))


def _describe_cause(error: Any) -> str:
    """Return the first line of an error: the others quote the statement, which may contain a memory."""
    primary = getattr(getattr(error, "diag", None), "message_primary", None) or str(error).strip()
    lines = [line.strip() for line in str(primary).splitlines() if line.strip()]
    return truncate_line(lines[-1] if lines else type(error).__name__, _MAX_CAUSE_CHARS)


def is_in_transaction(connection: "Connection") -> bool:
    """Whether statements on the connection are part of a transaction that was begun."""
    return connection.info.transaction_status.name != "IDLE"


_SETTINGS = (
    ("statement_timeout", f"{_STATEMENT_TIMEOUT_S}s"),
    ("lock_timeout", f"{_LOCK_TIMEOUT_S}s"),
    ("idle_in_transaction_session_timeout", "60s"),
    ("jit", "off"),
    ("client_encoding", "UTF8"),
    ("search_path", "pg_catalog"),
)


def _configure(connection: "Connection") -> None:
    settings = ", ".join("set_config(%s, %s, false)" for _ in _SETTINGS)
    connection.execute(f"select {settings}".encode(), [text for pair in _SETTINGS for text in pair])
    # "off" and "local" acknowledge a write that a crash, or a fail-over, would lose; stricter values stay.
    connection.execute(
        b"select set_config('synchronous_commit', 'on', false) "
        b"where current_setting('synchronous_commit') in ('off', 'local')"
    )


LOCK_CLASS = 0x636C696F
"""First number of clio's advisory locks ("clio"); the second is 0 for migrations, else that of an owner."""

# A record is stored whole, as JSON. The other columns are made from it, for searching; accessed, access_count and
# used_day alone change when a memory is used. None of these is in an index of its own, and 15 % of each page is free,
# so that a use writes the row again on the same page and no index entry (a "heap-only tuple").
# live: no other memory replaced it. owner: '' for the project, else the member whose own memory it is.
TABLES = """
create table clio.scope (
    owner text collate "C" primary key,
    live bigint not null default 0
);
insert into clio.scope (owner) values ('');
create table clio.memory (
    id text collate "C" primary key,
    owner text collate "C" not null,
    kind text collate "C" not null,
    live boolean not null,
    superseded_by text collate "C",
    variants_of text collate "C",
    importance float8 not null,
    created float8 not null,
    updated float8 not null,
    accessed float8 not null,
    access_count bigint not null,
    used_day int not null,
    size int not null check (size > 0),
    text_hash bigint not null,
    digits_hash bigint,
    bands int[] not null,
    terms tsvector not null,
    record text not null
) with (fillfactor = 85);
alter table clio.memory alter column terms set statistics 300;
alter table clio.memory alter column bands set statistics 0;
create table clio.change (
    id text collate "C" primary key,
    at float8 not null,
    owner text collate "C" not null,
    member text not null,
    ids text[] collate "C" not null,
    what text not null,
    group_id text not null,
    undone_at float8,
    change text not null
);
create table clio.write_key (
    member text not null,
    key text not null,
    at timestamptz not null default now(),
    answer text,
    primary key (member, key)
);
create table clio.member (
    name text primary key,
    digest bytea not null unique,
    may_write boolean not null,
    created timestamptz not null default now(),
    revoked timestamptz
);
"""
INDEXES = """
create index memory_terms on clio.memory using gin (terms) with (fastupdate = off) where live;
create index memory_bands on clio.memory using gin (bands) with (fastupdate = off) where live;
create index memory_recent on clio.memory
    (owner, kind, (0.2 * importance + 0.3 / size + 0.2 * used_day / 30)) where live;
create index memory_strong on clio.memory (owner, kind, (0.2 * importance + 0.3 / size)) where live;
create index memory_load on clio.memory (owner, kind, (0.4 * importance + 0.6 * used_day / 30)) where live;
create index memory_importance on clio.memory (owner, kind, importance) where live;
create index memory_updated on clio.memory (owner, kind, updated) where live;
create index memory_replaced on clio.memory (superseded_by) where superseded_by is not null;
create index memory_variants on clio.memory (variants_of) where variants_of is not null;
create index memory_text on clio.memory (text_hash);
create index memory_digits on clio.memory (digits_hash) where digits_hash is not null;
create index memory_short on clio.memory ("right"(id, 8));
create index change_ids on clio.change using gin (ids);
create index change_undoable on clio.change (id) where what <> '' and undone_at is null;
"""

STRENGTH = "0.2 * importance + 0.3 / size"
RANK = f"{STRENGTH} + 0.2 * used_day / 30"
TIERS_PER_POINT = 100
SEARCHED = (
    f"(terms || array_to_tsvector(array[' r' || floor(({RANK}) * {TIERS_PER_POINT})::int, "
    f"' s' || floor(({STRENGTH}) * {TIERS_PER_POINT})::int, ' k' || kind || '/' || owner]))"
)
"""What the full-text index has of a memory: its terms, its two tiers, and its kind with its owner; no term has a space.

The score of a memory with one word is 0.3 + `STRENGTH` + 0.2 × recency. Recency falls with each day since the last use,
so that `RANK` orders the memories of the last 30 days for ever; of the others it is 0, and `STRENGTH` orders them. So
of all memories with some words, the best are in the highest tiers of one or the other.
"""
WITH_TIERS = f"""
create index memory_searched on clio.memory using gin ({SEARCHED}) with (fastupdate = off) where live;
drop index clio.memory_terms;
drop index clio.memory_recent;
drop index clio.memory_strong;
"""

MIGRATIONS: tuple[str, ...] = (TABLES + INDEXES, WITH_TIERS)
"""The migration to version 1, 2, ..."""
VERSION = len(MIGRATIONS)


def migrate(connection: "Connection") -> int:
    """Bring the tables up to date in a transaction; return how many migrations ran.

    Raises ClioError if a later clio made them.
    """
    with connection.transaction():
        connection.execute(b"set local statement_timeout = 0")  # an index on a large table takes minutes
        connection.execute(b"set local lock_timeout = 0")
        connection.execute("select pg_advisory_xact_lock(%s, 0)", (LOCK_CLASS,))
        version = read_version(connection)
        if version > VERSION:
            raise ClioError(
                tr(
                    "the database was set up by a later clio (its tables have version {found}, this clio knows "
                    "{known}); update clio",
                    found=version,
                    known=VERSION,
                )
            )
        if version == 0:
            connection.execute(b"create schema if not exists clio")
            connection.execute(
                b"create table clio.schema_version (version int primary key, at timestamptz not null default now())"
            )
        for number, statements in enumerate(MIGRATIONS[version:], version + 1):
            for statement in split_statements(statements):
                connection.execute(statement.encode())
            connection.execute("insert into clio.schema_version (version) values (%s)", (number,))
    return VERSION - version


def read_version(connection: "Connection") -> int:
    """Return the version of the tables; 0 if there are none."""
    row = connection.execute("select to_regclass('clio.schema_version') is not null").fetchone()
    if not (row and row[0]):
        return 0
    row = connection.execute("select coalesce(max(version), 0) from clio.schema_version").fetchone()
    return int(row[0]) if row else 0


def split_statements(text: str) -> list[str]:
    """Return the statements of a migration. None contains a semicolon."""
    return [statement for part in text.split(";") if (statement := part.strip())]
