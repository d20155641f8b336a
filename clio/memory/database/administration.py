"""What `clio team-server` administers: the members with their tokens, and the import and export of memories.

Of a token only a digest is stored. An export has the files that clio keeps in a project.
"""

import hashlib
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, structs

from clio.errors import ClioError, UserError
from clio.ids import new_id
from clio.memory.database.search import TermStatistics, make_found
from clio.memory.database.store import PROJECT_OWNER, DatabaseTypedStore, Work, decode_change, hash_text
from clio.memory.store.change_log import LOG_NAME, ChangeLog
from clio.memory.store.ltm_codec import LtmDocument, set_handle, to_raw, write_ltm
from clio.memory.store.record import PROJECT_KINDS, MemoryRecord, Redact, redact_record
from clio.memory.store.typed_store import FORMAT, VERSION, JournalLine, Scope
from clio.storage.files import make_folder
from clio.storage.jsonl import append_lines
from clio.text.formatting import format_count
from clio.text.translation import tr

if TYPE_CHECKING:
    from clio.memory.database.connection import Connection, Database


REFRESH_S = 5.0
"""How long a revoked token may still be accepted by a server that does not see the change."""
_MAX_AGE_S = 600.0
"""How long tokens are accepted while the database cannot be reached: no one can have revoked one there."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")


class Member(Struct, frozen=True, kw_only=True):
    """One member. created, revoked: when; None for never."""

    name: str
    may_write: bool
    created: datetime | None = None
    revoked: datetime | None = None


def digest_token(token: str) -> bytes:
    """Return what is stored of a token. A token has 256 random bits, so that a slow hash would add nothing."""
    return hashlib.sha256(token.encode()).digest()


def add_member(connection: "Connection", name: str, *, may_write: bool) -> str:
    """Give a member a token, and return it; a former member's name can be used again. Raises UserError."""
    if not _NAME.fullmatch(name):
        raise UserError(
            tr(
                "{name!r} cannot be the name of a member; use up to 40 small letters, digits, dots, hyphens and "
                "underscores",
                name=name,
            )
        )
    token = secrets.token_urlsafe(32)
    row = connection.execute(
        "insert into clio.member (name, digest, may_write) values (%(name)s, %(digest)s, %(may_write)s) "
        "on conflict (name) do update set digest = excluded.digest, may_write = excluded.may_write, created = now(), "
        "revoked = null where clio.member.revoked is not null returning 1",
        {"name": name, "digest": digest_token(token), "may_write": may_write},
    ).fetchone()
    if row is None:
        raise UserError(tr("{name} has a token already; `clio team-server token revoke {name}` ends it", name=name))
    return token


def revoke_member(connection: "Connection", name: str) -> None:
    """End a member's token; their memories stay. Raises UserError."""
    row = connection.execute(
        "update clio.member set revoked = now() where name = %s and revoked is null returning 1", (name,)
    ).fetchone()
    if row is None:
        raise UserError(tr("no member {name!r} has a token; `clio team-server token list` shows them", name=name))


def list_members(connection: "Connection") -> list[Member]:
    """Return all members, also former ones, by name."""
    rows = connection.execute("select name, may_write, created, revoked from clio.member order by name").fetchall()
    return [
        Member(name=name, may_write=may_write, created=created, revoked=revoked)
        for name, may_write, created, revoked in rows
    ]


class MemberTokens:
    """The valid tokens, read from the database again every five seconds, so that a request costs no query."""

    def __init__(self, database: "Database") -> None:
        self._database = database
        self._by_digest: dict[bytes, Member] = {}
        self._read_at = -_MAX_AGE_S
        self._lock = threading.Lock()

    def is_current(self) -> bool:
        """Whether `find` needs no query."""
        return time.monotonic() - self._read_at < REFRESH_S

    def refresh(self) -> None:
        """Read the tokens again if they are old. Raises ClioError.

        While the database does not answer, one call waits for it, and the others go on with the tokens read before.
        """
        is_usable = time.monotonic() - self._read_at < _MAX_AGE_S
        if not self._lock.acquire(blocking=not is_usable):
            return
        try:
            if not self.is_current():
                self._read()
        except ClioError:
            if not is_usable:
                raise
        finally:
            self._lock.release()

    def _read(self) -> None:
        rows = self._database.read(
            lambda connection: connection.execute(
                "select digest, name, may_write from clio.member where revoked is null"
            ).fetchall()
        )
        self._by_digest = {bytes(digest): Member(name=name, may_write=write) for digest, name, write in rows}
        self._read_at = time.monotonic()

    def find(self, token: str) -> Member | None:
        """Return the member with this token; None for a wrong or revoked one.

        A digest is looked up, not the token, so that the time of the comparison tells nothing about a token.
        """
        return self._by_digest.get(digest_token(token))


_BATCH = 500


class Imported(Struct, frozen=True, kw_only=True):
    """How many memories were added, and how many were there already."""

    added: int = 0
    known: int = 0


def import_records(
    database: "Database",
    records: Iterable[MemoryRecord],
    *,
    owner: str,
    redact: Redact,
    clock: Callable[[], float],
) -> Imported:
    """Add memories with their ids, times and authors; what is there already stays as it is.

    500 at a time are one transaction and one change to undo. Importing again adds what is missing.

    owner: "" for the project, else the member whose own memories they are.
    """
    done = Imported()
    clean = [redact_record(record, redact) for record in records if not record.key]
    for start in range(0, len(clean), _BATCH):

        def add(connection: "Connection", batch: Sequence[MemoryRecord] = clean[start : start + _BATCH]) -> Imported:
            return _import_batch(Work(connection, TermStatistics()), batch, owner, clock)

        one = database.write(add)
        done = Imported(added=done.added + one.added, known=done.known + one.known)
    return done


def _import_batch(work: Work, batch: Sequence[MemoryRecord], owner: str, clock: Callable[[], float]) -> Imported:
    scope: Scope = "user" if owner else "project"
    store = DatabaseTypedStore(work, owner, scope, clock)
    work.lock(owner)
    rows = work.connection.execute(
        "select id, owner, kind, live, text_hash from clio.memory where id = any(%s) "
        "or (owner = %s and live and text_hash = any(%s))",
        ([one.id for one in batch], owner, [hash_text(one.content) for one in batch]),
    ).fetchall()
    ids = {id: (its_owner, text) for id, its_owner, _, _, text in rows}
    texts = {(kind, text) for _, its_owner, kind, live, text in rows if live and its_owner == owner}
    new: list[MemoryRecord] = []
    for record in batch:
        text = hash_text(record.content)
        known = ids.get(record.id)
        if (record.is_live and not record.is_variant and (record.kind, text) in texts) or known == (owner, text):
            continue
        if known is not None:
            # Short handles of two projects may be the same.
            is_project = record.kind in PROJECT_KINDS
            other = f"{record.id[:2]}{new_id().replace('-', '')[-12:]}" if is_project else new_id()
            record = structs.replace(record, id=other)
        ids[record.id] = (owner, text)
        if record.is_live:
            texts.add((record.kind, text))
        new.append(record)
    store.put(f"imported {format_count(len(new), 'memory')}", new)
    return Imported(added=len(new), known=len(batch) - len(new))


class Exported(Struct, frozen=True, kw_only=True):
    """How many memories, members with memories of their own, and changes were written."""

    memories: int
    members: int
    changes: int


def export_all(database: "Database", folder: Path) -> Exported:
    """Write everything into a new folder: `.clio/` as in a project, and `members/NAME/` as in a home folder.

    All is as at one moment. Raises UserError if the folder has anything in it; OSError.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(tr("{folder} is not empty; name a new folder", folder=str(folder)))

    def write(connection: "Connection") -> Exported:
        connection.execute(b"set transaction isolation level repeatable read, read only")
        connection.execute(b"set local statement_timeout = 0")
        connection.execute(b"set local idle_in_transaction_session_timeout = 0")
        owners = [owner for (owner,) in connection.execute("select owner from clio.scope order by owner").fetchall()]
        memories = changes = members = 0
        for owner in owners:
            target = folder / "members" / owner if owner else folder / ".clio"
            count = _export_memories(connection, owner, target) + (0 if owner else _export_entries(connection, target))
            changes += _export_changes(connection, owner, target)
            memories += count
            members += bool(owner and count)
        return Exported(memories=memories, members=members, changes=changes)

    return database.write(write)


def _export_memories(connection: "Connection", owner: str, target: Path) -> int:
    """Write `memories.journal.jsonl`, to which records can be added a few at a time; clio makes a snapshot of it."""
    make_folder(target)
    path = target / "memories.journal.jsonl"
    path.unlink(missing_ok=True)  # of an attempt that a restart of the server ended
    head = {"journal_of": FORMAT.schema, "version": VERSION, "generation": 0}
    append_lines(path, [msgspec.json.encode(head)])
    count = 0
    for rows in _fetch(
        connection,
        "select record, accessed, access_count, owner from clio.memory "
        "where owner = %s and kind <> all(%s) order by created, id",
        (owner, list(PROJECT_KINDS)),
    ):
        records = tuple(make_found(row).record for row in rows)
        append_lines(path, [msgspec.json.encode(JournalLine(put=records))])
        count += len(records)
    return count


def _export_entries(connection: "Connection", target: Path) -> int:
    document = LtmDocument({})
    count = 0
    for rows in _fetch(
        connection,
        "select record, accessed, access_count, owner from clio.memory "
        "where owner = %s and kind = any(%s) and live order by created, id",
        (PROJECT_OWNER, list(PROJECT_KINDS)),
    ):
        for row in rows:
            record = make_found(row).record
            document.section(record.kind).append(make_entry(record))
            count += 1
    if count:
        document.touch(0.0)
        write_ltm(target / "ltm.json", document)
    return count


def make_entry(record: MemoryRecord) -> dict[str, Any]:
    """Return an entry of project memory as an object of `ltm.json`, with its times and authors."""
    raw = to_raw(record) | {"timestamp": record.created, "updated": record.updated}
    optional: dict[str, Any] = {
        "since": record.since,
        "version": record.version if record.version > 1 else 0,
        "by": record.by,
        "example_hashes": record.hashes,
    }
    raw |= {name: value for name, value in optional.items() if value}
    set_handle(raw, record.id)
    return raw


def _export_changes(connection: "Connection", owner: str, target: Path) -> int:
    path = target / LOG_NAME
    path.unlink(missing_ok=True)
    log = ChangeLog(path)
    count = 0
    for rows in _fetch(connection, "select change, undone_at from clio.change where owner = %s order by id", (owner,)):
        changes = [decode_change(text) for text, _ in rows]
        log.append(*changes)
        log.mark([change.id for change, (_, undone) in zip(changes, rows, strict=True) if undone], is_undone=True)
        count += len(rows)
    return count


def _fetch(connection: "Connection", query: str, values: Sequence[Any]) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of a query in batches, without holding all of them."""
    with connection.cursor(name="clio_export") as cursor:
        cursor.execute(query.encode(), values)
        while rows := cursor.fetchmany(_BATCH):
            yield rows
