"""The sessions of a project as records: a snapshot without what belongs to one machine, and its text outputs.

Left out are the folder, the permissions of plan mode, the server, pictures, and the encrypted reasoning that
some servers expect back, because it cannot be searched for secrets.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct, structs

from clio.errors import ClioError, StorageError
from clio.memory.store.record import Redact, redact_json
from clio.messages import Message
from clio.sessions.loading import load_session
from clio.sessions.session_format import PreservedContent, decode_snapshot, encode_snapshot
from clio.sessions.state import SessionFiles, SessionState, Todo, is_session_id
from clio.sessions.store import OwnSessions, SessionStore
from clio.storage.documents import DocumentFormat, load_document, update_document
from clio.storage.files import make_folder, make_ignored_folder, read_regular, write_atomic
from clio.storage.locks import FileLock
from clio.sync.records import Json, Key
from clio.sync.sources import Change, Item, is_plausible_loss, make_item

_MAX_OUTPUT_BYTES = 1_000_000
_TEXTS = frozenset(("content", "context", "reasoning", "arguments", "name", "error", "before", "after"))
"""Fields of messages that are text; the others are ids, times, names of models and tools."""
_LOCAL = frozenset(("reasoning_items", "reasoning_origin", "images"))


class _Known(Struct, frozen=True, kw_only=True):
    """A session as last read: the stamps of its files, its hash and time; `received` if another machine began it."""

    stamp: tuple[int, ...] = ()
    digest: str = ""
    created: float = 0.0
    received: bool = False


class _Catalogue(Struct, frozen=True, kw_only=True):
    """The sessions of all projects, by project and id."""

    sessions: dict[str, _Known] = {}


_FORMAT = DocumentFormat(schema="clio.sync_sessions", version=1, type=_Catalogue)


class SessionSource:
    """The conversations in `.clio/sessions` that this user's clio wrote, here or on another machine.

    A session that is open in another clio is left for the next time. One that was continued on two machines stays here
    under a new id when the other one wins.

    Args:
        is_own: received sessions count as the user's own: only a machine with the key can have written them. Otherwise
            the model is told that they came from elsewhere.
    """

    store = "session"

    def __init__(self, scope: str, project: Path, home: Path, clean: Redact, *, is_own: bool) -> None:
        self.scope = scope
        self._project = project
        self._folder = project / ".clio" / "sessions"
        self._store = SessionStore(self._folder, own=OwnSessions(project, home))
        self._catalogue = home / "sync" / "sessions.json"
        self._clean = clean
        self._is_own = is_own

    def exists(self) -> bool:
        """See `Source`."""
        return self._folder.is_dir()

    def read(self) -> dict[Key, Item]:
        """See `Source`. Only sessions whose files changed since the last time are loaded."""
        known = self._read_catalogue()
        infos = [info for info in self._store.list() if info.is_conversation]
        foreign = self._store.find_foreign({info.id for info in infos})
        found: dict[Key, Item] = {}
        changed: dict[str, _Known] = {}
        for info in infos:
            name = self._name(info.id)
            before = known.get(name, _Known())
            if info.id in foreign and not before.received:
                continue
            files = SessionFiles(self._folder, info.id)
            stamp = _stamp(files)
            if stamp != before.stamp:
                try:
                    item = self._load(files)
                except (ClioError, OSError):
                    continue  # damaged or just deleted; the session commands report it
                before = structs.replace(before, stamp=stamp, digest=item.digest, created=item.created)
                changed[name] = before
            found[Key(self.scope, self.store, info.id)] = Item(
                value=None, digest=before.digest, created=before.created, load=_make_loader(self._load, files)
            )
        self._save_catalogue(changed)
        return found

    def find_ended(self, keys: Collection[Key], known: int) -> Collection[Key]:
        """See `Source`."""
        return keys if is_plausible_loss(len(keys), known) else ()

    def has_ended(self, key: Key, since: float) -> None:
        """See `Source`. Deleting a session leaves no trace."""

    def write(self, changes: Sequence[Change]) -> set[Key]:
        """See `Source`."""
        left: set[Key] = set()
        for change in changes:
            id = change.key.id
            files = SessionFiles(self._folder, id)
            state = None if change.value is None else self._decode(id, change.value)
            if not is_session_id(id) or (change.value is not None and state is None):
                left.add(change.key)
                continue
            make_ignored_folder(self._folder, self._folder.parent)
            lock = FileLock(files.lock, id)
            if not lock.acquire():
                left.add(change.key)
                continue
            try:
                now = self._load(files) if files.any_exist() else None
                if (now.digest if now else "") != (change.before.digest if change.before else ""):
                    left.add(change.key)
                elif state is not None:
                    if now is not None and not _is_continued(now.value, change.value):
                        self._store.fork(id)
                    self._write(files, state, cast(Json, change.value))
                elif now is not None:
                    lock.release()
                    self._store.delete(id)
            except (ClioError, StorageError, msgspec.DecodeError):
                left.add(change.key)
            finally:
                lock.release()
        return left

    def _write(self, files: SessionFiles, state: SessionState, value: Json) -> None:
        """Write a received session: first its outputs, then its snapshot, which ends the journal that is there."""
        if self._is_own:
            self._store.record_own(files.id)
        else:
            self._store.record_foreign(files.id)  # also one that was begun here: anyone may have continued it
        # Recorded first: a session that this machine does not know as received would count as deleted.
        self._save_catalogue({self._name(files.id): _Known(received=True)})
        for name, text in _get_outputs(value).items():
            make_folder(files.blobs)
            write_atomic(files.blobs / name, self._clean_text(text).encode("utf-8"))
        journal = load_session(files).journal if files.any_exist() else None
        write_atomic(files.snapshot, encode_snapshot(state, journal or "", PreservedContent()))
        files.journal.unlink(missing_ok=True)

    def _decode(self, id: str, value: Any) -> SessionState | None:
        """Return a received session; None if it is not a valid one."""
        snapshot = cast(Json, value).get("snapshot") if isinstance(value, dict) else None
        if not isinstance(snapshot, dict):
            return None
        try:
            data = msgspec.json.encode(cast(Json, snapshot) | {"id": id})
            state, _ = decode_snapshot(data)
            if state.imported is not None or state.delegated is not None or not state.messages:
                return None
            return self._strip(state, str(self._project))
        except (msgspec.DecodeError, ValueError, KeyError, TypeError):
            return None

    def _load(self, files: SessionFiles) -> Item:
        """Return a session as the record that is sent. Raises ClioError, OSError."""
        state = self._strip(load_session(files).state, "")
        snapshot = msgspec.json.decode(encode_snapshot(state, "", PreservedContent()))
        outputs: dict[str, str] = {}
        for path in sorted(files.blobs.iterdir()) if files.blobs.is_dir() else ():
            with suppress(OSError, UnicodeDecodeError):
                outputs[path.name] = self._clean_text(read_regular(path, _MAX_OUTPUT_BYTES).decode("utf-8"))
        return make_item({"snapshot": snapshot, "outputs": outputs}, state.created_at)

    def _strip(self, state: SessionState, folder: str) -> SessionState:
        """Return a session without what belongs to one machine, and without secrets."""
        messages = [self._clean_message(message) for message in state.messages]
        todos = tuple(msgspec.convert(redact_json(msgspec.to_builtins(one), self._clean), Todo) for one in state.todos)
        return SessionState(
            id=state.id,
            name=None if state.name is None else self._clean_text(state.name),
            created_at=state.created_at,
            updated_at=max((message.created for message in messages), default=state.created_at),
            working_directory=folder,
            parent=state.parent,
            model=state.model,
            token_ratio=state.token_ratio,
            todos=todos,
            limits=tuple(structs.replace(one, text=self._clean_text(one.text)) for one in state.limits),
            bills=state.bills,
            messages=messages,
            window_ids=state.window_ids,
            trims=state.trims,
            threads=state.threads,
        )

    def _clean_message(self, message: Message) -> Message:
        fields = cast(Json, msgspec.to_builtins(message))
        kept = {name: value for name, value in fields.items() if name not in _LOCAL}
        return msgspec.convert(self._clean_texts(kept), type=Message)

    def _clean_texts(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [self._clean_texts(one) for one in cast(list[Any], value)]
        if isinstance(value, dict):
            return {
                name: self._clean_text(one) if isinstance(one, str) and name in _TEXTS else self._clean_texts(one)
                for name, one in cast(Json, value).items()
            }
        return value

    def _clean_text(self, text: str) -> str:
        return self._clean(text)

    def _name(self, id: str) -> str:
        return f"{self._project}\0{id}"

    def _read_catalogue(self) -> dict[str, _Known]:
        document = load_document(self._catalogue, _FORMAT)
        return document.value.sessions if document else {}

    def _save_catalogue(self, changed: dict[str, _Known]) -> None:
        if changed:
            update_document(self._catalogue, _FORMAT, lambda before: _Catalogue(sessions=before.sessions | changed))


def _make_loader(load: Callable[[SessionFiles], Item], files: SessionFiles) -> Callable[[], Any]:
    return lambda: load(files).value


def _stamp(files: SessionFiles) -> tuple[int, ...]:
    """Return numbers that change with the files of a session."""
    found: list[int] = []
    for path in (files.snapshot, files.journal):
        try:
            status = path.stat()
        except OSError:
            found += (0, 0, 0)
        else:
            found += (status.st_ino, status.st_size, status.st_mtime_ns)
    return tuple(found)


def _get_outputs(value: Json) -> dict[str, str]:
    """Return the text outputs of a received session whose names are those of outputs."""
    outputs = value.get("outputs")
    pairs = cast(Json, outputs).items() if isinstance(outputs, dict) else ()
    is_hex = frozenset("0123456789abcdef").issuperset
    return {
        name: text
        for name, text in pairs
        if isinstance(text, str) and 8 <= len(name) <= 64 and is_hex(name) and len(text) <= _MAX_OUTPUT_BYTES
    }


def _is_continued(before: Any, after: Any) -> bool:
    """Return whether the messages of one session are the beginning of those of the other."""
    ids = [[message.get("id") for message in one["snapshot"]["history"]] for one in (before, after)]
    return ids[1][: len(ids[0])] == ids[0]
