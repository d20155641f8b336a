"""The tables of memory in PostgreSQL, and how they are brought up to date.

All are in the schema `clio`. A migration is a list of statements that run in one transaction; it is never changed once
released. Several servers that start at the same time wait for each other.
"""

from typing import TYPE_CHECKING

from clio.errors import ClioError
from clio.text.translation import tr

if TYPE_CHECKING:
    from clio.memory.database.connection import Connection

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
