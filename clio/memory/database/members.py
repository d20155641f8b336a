"""The members of a team: a name, a token of which only a digest is stored, and whether they may write."""

import hashlib
import re
import secrets
import threading
import time
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from clio.errors import ClioError, UserError
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
