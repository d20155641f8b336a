"""What is synchronized: one file per record, how two versions of a record merge, and their encryption.

A record's file name is a hash of what identifies it, so all machines choose the same one, and a file under another
name is ignored. Of two versions the greater one wins, compared by four values in this order:

    life      how often the record was restored after it was forgotten
    deleted   forgetting a record wins over changing it at the same time
    stamp     when it was changed; always later than what it replaces, whatever the clock says
    digest    a hash of the value, so that equal times are decided alike everywhere

The greatest of a set does not depend on the order in which machines meet, so they end up equal. The losing version
stays in the history of the repository and, on the machine that had it, in the change log.
"""

import hashlib
import hmac
import math
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from clio.errors import UserError
from clio.storage.files import make_folder, read_regular, write_atomic
from clio.text.json_data import check_depth, decode_json
from clio.text.translation import tr

VERSION = 1
MAX_RECORD_BYTES = 512 * 1024
MAX_SESSION_BYTES = 32_000_000
_NAME = re.compile(r"records/([0-9a-f]{2})/([0-9a-f]{62})\.(json|age)")
MAX_STAMP = 253_402_300_799.0  # the end of the year 9999
_MAX_LIFE = 1_000_000

Json = dict[str, Any]


class Key(Struct, frozen=True, order=True):
    """What identifies a record.

    Attributes:
        scope: "user", or the identity of a project, such as "project:github.com/example/app".
        store: "memory", "ltm", "note", "style", "style_file" or "session".
        id: unique in its store.
    """

    scope: str
    store: str
    id: str


class State(Struct, frozen=True, kw_only=True):
    """The state of a record without its value, as the machine that wrote it left it. digest: "" if it was deleted."""

    life: int = 0
    deleted: bool = False
    stamp: float = 0.0
    digest: str = ""

    @property
    def rank(self) -> tuple[int, bool, float, str]:
        """By which the greater of two states wins."""
        return self.life, self.deleted, self.stamp, self.digest


class Record(Struct, frozen=True, kw_only=True):
    """A record with its state and value; the value is None if it was deleted."""

    key: Key
    state: State
    value: Any = None


class _File(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of a record's file."""

    version: int
    scope: str
    store: str
    id: str
    stamp: float
    life: int = 0
    deleted: bool = False
    value: Any = None


def compute_digest(value: object) -> str:
    """Return a hash of a JSON value, the same on all machines."""
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()[:32]


class Sealer:
    """Names, encodes and decodes the files of records; with an identity it encrypts them.

    Methods raise ValueError for a file that is not a valid record, with the reason.

    identity: the text of an age identity ("AGE-SECRET-KEY-1…"); "" writes plain JSON.
    """

    def __init__(self, identity: str = "") -> None:
        self.is_encrypting = bool(identity)
        self._name_key = b""
        if identity:
            pyrage = import_pyrage()
            try:
                self._identity = pyrage.x25519.Identity.from_str(identity.strip())
            except pyrage.IdentityError as error:
                raise UserError(tr("the key file contains no valid age identity; it was changed or cut off")) from error
            self._recipient = self._identity.to_public()
            # Names must reveal nothing, and only a machine with the key can make a file whose name is right.
            self._name_key = hashlib.sha256(b"clio sync file names\0" + identity.strip().encode()).digest()

    @property
    def suffix(self) -> str:
        """The end of the names of its files."""
        return "age" if self.is_encrypting else "json"

    def name(self, key: Key) -> str:
        """Return the path of a record's file in the repository."""
        text = "\0".join((key.scope, key.store, key.id)).encode("utf-8", "replace")
        digest = hmac.new(self._name_key, text, "sha256").hexdigest()
        return f"records/{digest[:2]}/{digest[2:]}.{self.suffix}"

    def is_name(self, path: str) -> bool:
        """Return whether a path has the form of a record's file of this repository."""
        found = _NAME.fullmatch(path)
        return found is not None and found[3] == self.suffix

    def encode(self, record: Record) -> bytes:
        """Return the content of a record's file."""
        key, state = record.key, record.state
        file = _File(
            version=VERSION,
            scope=key.scope,
            store=key.store,
            id=key.id,
            stamp=state.stamp,
            life=state.life,
            deleted=state.deleted,
            value=None if state.deleted else record.value,
        )
        data = msgspec.json.format(msgspec.json.encode(file, order="deterministic"), indent=1) + b"\n"
        return import_pyrage().encrypt(data, [self._recipient]) if self.is_encrypting else data

    def decode(self, path: str, data: bytes) -> Record:
        """Return the record in a file. It comes from the remote: whatever clio would not write is refused."""
        if self.is_encrypting:
            pyrage = import_pyrage()
            try:
                data = pyrage.decrypt(data, [self._identity])
            except pyrage.DecryptError as error:
                raise ValueError(tr("it cannot be decrypted with this machine's key")) from error
        try:
            file = decode_json(data, type=_File)
            check_depth(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
            raise ValueError(tr("it is not a valid record")) from error
        if file.version != VERSION:
            raise ValueError(tr("a newer clio wrote it; upgrade clio on this machine"))
        key = Key(file.scope, file.store, file.id)
        if self.name(key) != path:
            raise ValueError(tr("its content does not belong to its name"))
        if not (math.isfinite(file.stamp) and 0 <= file.stamp <= MAX_STAMP and 0 <= file.life <= _MAX_LIFE):
            raise ValueError(tr("its time is not valid"))
        if not file.deleted and file.value is None:
            raise ValueError(tr("it has no value"))
        digest = "" if file.deleted else compute_digest(file.value)
        state = State(life=file.life, deleted=file.deleted, stamp=file.stamp, digest=digest)
        return Record(key=key, state=state, value=None if file.deleted else file.value)


def max_bytes(store: str = "") -> int:
    """Return the limit for the file of a record of a store; without a store, that of all."""
    return MAX_RECORD_BYTES if store not in ("", "session") else MAX_SESSION_BYTES


def state_of_local(
    known: State | None, digest: str, *, now: float, created: float, remote: State | None, changed: float = 0.0
) -> State | None:
    """Return the state of a record on this machine, with a new stamp if it was changed here since the last time.

    Args:
        known: the state as of the last synchronization; None if there was none.
        digest: of the present value; "" if this machine has no such record.
        created: when it was made, for a record that is new here.
        changed: when it got its present value, if that was later.
        remote: the remote's state, which decides whether a new record is older than its deletion.
    """
    if known is None:
        if not digest:
            return None
        if remote is not None and digest == remote.digest:
            return remote
        is_later = remote is not None and remote.deleted and created > remote.stamp
        life = min(remote.life + 1, _MAX_LIFE) if remote and is_later else 0
        return State(life=life, stamp=min(max(created, changed) or now, MAX_STAMP), digest=digest)
    if digest == known.digest:
        return known
    # No further than what others accept: a forged record with the last possible time must not make each change of it
    # one that all machines refuse and send again. Of two changes at that time the digest decides.
    stamp = min(max(now, math.nextafter(known.stamp, math.inf), round(known.stamp + 0.001, 3)), MAX_STAMP)
    if not digest:
        return State(life=known.life, deleted=True, stamp=stamp)
    return State(life=min(known.life + known.deleted, _MAX_LIFE), stamp=stamp, digest=digest)


def import_pyrage() -> Any:
    """Return the package pyrage. Raises UserError if it is not installed."""
    try:
        return import_module("pyrage")
    except ImportError as error:
        raise UserError(
            tr("encrypted synchronization needs the package pyrage; pip install 'clio-shell[sync]' installs it")
        ) from error


def make_identity() -> str:
    """Return a new age identity."""
    return str(import_pyrage().x25519.Identity.generate())


def read_key_file(path: Path) -> str:
    """Return the age identity in a key file as `age-keygen` writes it. Raises UserError."""
    try:
        text = read_regular(path, 64_000).decode("utf-8", "replace")
    except FileNotFoundError as error:
        raise UserError(tr("there is no key file {path!r}", path=str(path))) from error
    for line in text.splitlines():
        if line.strip().startswith("AGE-SECRET-KEY-"):
            return line.strip()
    raise UserError(tr("{path!r} contains no age identity (AGE-SECRET-KEY-1…)", path=str(path)))


def write_key_file(path: Path, identity: str) -> None:
    """Write a key file that only the user can read."""
    make_folder(path.parent)
    write_atomic(path, f"# clio sync: copy this file to your other machines; it is never pushed\n{identity}\n".encode())
