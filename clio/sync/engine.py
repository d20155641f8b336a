"""Synchronize the stores of this machine with the remote: what is kept about it, and one run from fetch to push.

Each step leaves a state from which the next run continues, wherever the process is killed:

1. A change of this machine gets its stamp, and that is saved before anything else. It is never stamped twice.
2. The commit is pushed; it is always made on top of the remote's newest one, so git has nothing to merge.
3. Before records of other machines are written here, their states are saved as `applying`: a record that is found as it
   was meant to become was not changed by the user.
"""

import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from clio.config.memory_seal import has_foreign_memory
from clio.config.project_links import find_links
from clio.errors import ClioError, UserError
from clio.memory.store.record import Redact
from clio.storage.documents import Document, DocumentFormat, encode_document, load_document
from clio.storage.files import make_folder, write_atomic
from clio.storage.locks import FileLock
from clio.sync.records import Key, Record, Sealer, State, max_bytes, read_key_file, state_of_local
from clio.sync.repository import GitFailed, PushRejected, SyncRepository
from clio.sync.sources import (
    Change,
    Item,
    LtmSource,
    Source,
    group_by_source,
    make_cleaner,
    open_project_sources,
    open_user_sources,
)
from clio.text.json_data import decode_json
from clio.text.translation import mark, tr

FOLDER = "sync"
FORMAT_PATH = "clio-sync.json"
FORMAT_VERSION = 1
ATTEMPTS = 12
"""Pushes that other machines may outrun before a run gives up until the next time."""
MAX_PROBLEMS = 20
MAX_KEPT_BYTES = 64_000_000
"""Records that are read and kept in memory until they are written; the others are read a second time."""
MAX_TAKEN_BYTES = 256_000_000
"""Records that one run writes here. The next run takes more; a record alone may be larger."""
OFF = mark("Synchronization is off; `clio sync init REMOTE` turns it on.")


class ChosenProject(Struct, frozen=True, kw_only=True):
    """A project whose memory is synchronized. identity: the same on all machines, whatever its folder is called."""

    identity: str
    sessions: bool = False


class SyncSettings(Struct, frozen=True, kw_only=True):
    """The content of `sync/sync.json`. projects: by folder on this machine."""

    remote: str = ""
    encrypted: bool = False
    projects: dict[str, ChosenProject] = {}


class Seen(Struct, frozen=True, kw_only=True):
    """A file of the remote: its blob, and the state in it, so that it need not be read again."""

    blob: str
    scope: str
    store: str
    id: str
    state: State

    @property
    def key(self) -> Key:
        """The key of the record."""
        return Key(self.scope, self.store, self.id)


class SyncState(Struct, frozen=True, kw_only=True):
    """The content of `sync/state.json`; all maps by the path of a record's file in the repository.

    Attributes:
        local: the records of this machine, as last stamped or received.
        keys: their keys, so that a record that is gone can still be named.
        applying: what a run was about to write here. applying_at: when.
        seen: the files of the remote.
        at: the time of the last successful run. error: why the last one failed; "" if it did not.
    """

    local: dict[str, State] = {}
    keys: dict[str, tuple[str, str, str]] = {}
    applying: dict[str, State] = {}
    applying_at: float = 0.0
    seen: dict[str, Seen] = {}
    at: float = 0.0
    error: str = ""


SETTINGS = DocumentFormat(schema="clio.sync", version=1, type=SyncSettings)
STATE = DocumentFormat(schema="clio.sync_state", version=1, type=SyncState)


class Problem(Struct, frozen=True, kw_only=True):
    """A file of the remote, or a project, that was left out. why: a phrase."""

    what: str
    why: str


class Report(Struct, frozen=True, kw_only=True):
    """The result of a run: how many records were sent, received and deleted here, and what was left out."""

    sent: int = 0
    received: int = 0
    deleted: int = 0
    waiting: int = 0
    restored: int = 0
    problems: tuple[Problem, ...] = ()


class _Format(Struct, frozen=True, kw_only=True):
    """The content of `clio-sync.json` in the repository. check: tells whether a machine has the right key."""

    version: int
    encrypted: bool = False
    check: str = ""


class _Local(Struct, frozen=True, kw_only=True):
    key: Key
    item: Item | None
    state: State
    source: Source


class SyncFiles:
    """The files of synchronization on this machine, in `~/.clio/sync`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / FOLDER
        self.settings_path = self.folder / "sync.json"
        self.state_path = self.folder / "state.json"
        self.key_path = self.folder / "key.txt"
        self.repository_path = self.folder / "repository.git"

    def lock(self) -> FileLock:
        """Return the lock that only one run may hold."""
        make_folder(self.folder)
        return FileLock(self.folder / "sync.lock")

    def settings(self) -> SyncSettings:
        """Return the settings; an empty remote if synchronization is off."""
        document = load_document(self.settings_path, SETTINGS)
        return document.value if document else SyncSettings()

    def save_settings(self, settings: SyncSettings) -> None:
        """Write the settings."""
        make_folder(self.folder)
        write_atomic(self.settings_path, encode_document(Document(value=settings), SETTINGS))

    def state(self) -> SyncState:
        """Return the state of the last run. Raises CorruptDocument after setting a damaged file aside."""
        document = load_document(self.state_path, STATE)
        return document.value if document else SyncState()

    def save_state(self, state: SyncState) -> None:
        """Write the state."""
        make_folder(self.folder)
        write_atomic(self.state_path, encode_document(Document(value=state), STATE))


class Synchronizer:
    """Synchronizes this machine. Methods raise UserError, ClioError and OSError.

    Args:
        redact: removes secrets from every text before it leaves this machine, and from every text that arrives.
    """

    def __init__(
        self,
        files: SyncFiles,
        redact: Redact,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._files = files
        self._clean = make_cleaner(redact)
        self._clock = clock
        self._problems: list[Problem] = []
        self._restored = 0

    def run(self, *, push: bool, wait_s: float = 10.0) -> Report:
        """Take the changes of other machines, and with `push` send those of this one.

        wait_s: how long to wait for another run to end.
        """
        settings = self._files.settings()
        if not settings.remote:
            raise UserError(tr(OFF))
        lock = self._files.lock()
        if not lock.acquire(wait_s):
            raise ClioError(tr("another clio is synchronizing; try again when it is done"))
        try:
            state = self._files.state()
            try:
                try:
                    state, report = self._run(settings, state, push=push)
                except GitFailed:
                    # The clone has nothing that the remote has not: a damaged one is made again.
                    shutil.rmtree(self._files.repository_path, ignore_errors=True)
                    state, report = self._run(settings, self._files.state(), push=push)
            except (ClioError, OSError) as error:
                self._files.save_state(structs.replace(self._files.state(), error=str(error)))
                raise
            self._files.save_state(structs.replace(state, at=round(self._clock(), 3), error=""))
            return report
        finally:
            lock.release()

    def _run(self, settings: SyncSettings, state: SyncState, *, push: bool) -> tuple[SyncState, Report]:
        self._problems, self._restored = [], 0
        sealer = self._open_sealer(settings)
        repository = SyncRepository(self._files.repository_path, settings.remote)
        repository.create()
        sources = self._open_sources(settings)
        for _ in range(ATTEMPTS):
            head = repository.fetch()
            check_format(repository, head, sealer)
            remote = _Remote(repository, sealer, self._note)
            remote.read(head, state.seen)
            last = repository.head()
            lost: dict[str, bytes] = {}
            if last and last != head and not (head and repository.is_ancestor(last, head)):
                # The branch was replaced by one without the commits that this machine has seen: what only those have
                # is not lost.
                lost = remote.take_lost(last)
            _rename_collisions(remote, sources, state)
            local = self._read_local(sources, state, remote)
            stamped = {path: one.state for path, one in local.items()}
            keys = {path: (one.key.scope, one.key.store, one.key.id) for path, one in local.items()}
            state = structs.replace(state, local=stamped, keys=keys, seen=remote.seen)
            self._files.save_state(state)
            sent = 0
            if push:
                sending = _select_to_send(local, remote)
                files = lost | {path: sealer.encode(one) for path, one in sending.items()}
                files = self._drop_large(files, sending)
                if files or not head:
                    if not remote.has_format:
                        files[FORMAT_PATH] = encode_format(sealer)
                    parents = [one for one in (head, last if lost else "") if one]
                    commit = repository.commit(files, parents, self._clock())
                    try:
                        repository.push(commit)
                    except PushRejected:
                        continue
                    head, sent = commit, len(sending)
            if head:
                repository.set_head(head)
            repository.tidy()
            return self._receive(remote, state, local, sources, sent)
        raise ClioError(tr("other machines push faster than this one can; nothing is lost, try again later"))

    # This machine

    def _open_sealer(self, settings: SyncSettings) -> Sealer:
        return Sealer(read_key_file(self._files.key_path) if settings.encrypted else "")

    def _open_sources(self, settings: SyncSettings) -> list[Source]:
        home = self._files.home
        sources = open_user_sources(home, self._clean, self._clock)
        taken: set[str] = set()
        for folder, chosen in settings.projects.items():
            project = Path(folder)
            if why := explain_unusable(project, home):
                self._problems.append(Problem(what=folder, why=why))
                continue
            if chosen.identity in taken:
                self._problems.append(Problem(what=folder, why=tr("another checkout of this project is synchronized")))
                continue
            taken.add(chosen.identity)
            scope = f"project:{chosen.identity}"
            sources += open_project_sources(project, scope, home, self._clean, self._clock)
            if chosen.sessions:
                from clio.sync.sessions import SessionSource

                sources.append(SessionSource(scope, project, home, self._clean, is_own=settings.encrypted))
        return sources

    def _read_local(self, sources: Sequence[Source], state: SyncState, remote: "_Remote") -> dict[str, _Local]:
        """Return the records of this machine by path, those deleted here too, each with its stamp."""
        now = self._clock()
        found: dict[str, _Local] = {}
        known: dict[tuple[str, str], dict[str, Key]] = {}
        for path, parts in state.keys.items():
            known.setdefault((parts[0], parts[1]), {})[path] = Key(*parts)
        for source in sources:
            exists, before = source.exists(), known.get((source.scope, source.store), {})
            items = source.read() if exists else {}
            paths = {remote.sealer.name(key): key for key in items}
            alive = [path for path in before if path in state.local and not state.local[path].deleted]
            gone = [path for path in alive if path not in paths and not _is_applied(state, path)]
            ended = source.find_ended([before[path] for path in gone], len(alive)) if exists else ()
            lost = {path for path in gone if before[path] not in ended}
            self._restored += len(lost)
            for path, key in (before | paths).items():
                item = items.get(key)
                last = state.local.get(path)
                if item is None and path in lost:
                    last = None  # its file was lost: as if it had never been here
                digest = item.digest if item else ""
                meant = state.applying.get(path)
                if meant is not None and (last is None or digest != last.digest):
                    # A run was killed while it wrote this record: it was written, and perhaps changed since. Only the
                    # log tells whether one that is here was deleted and restored, or changed before it was deleted; in
                    # doubt it stays. One that was new and is not here was written only if it has been forgotten since.
                    if digest:
                        is_written = not meant.deleted or source.has_ended(key, state.applying_at) is not False
                    else:
                        is_written = meant.deleted or last is not None or source.has_ended(key, state.applying_at)
                    last = meant if is_written else last
                there = remote.seen[path].state if path in remote.seen else None
                created, changed = (item.created, item.changed) if item else (0.0, 0.0)
                stated = state_of_local(last, digest, now=now, created=created, changed=changed, remote=there)
                if stated is not None:
                    found[path] = _Local(key=key, item=item, state=stated, source=source)
        return found

    def _drop_large(self, files: dict[str, bytes], sending: dict[str, Record]) -> dict[str, bytes]:
        for path in [path for path, one in sending.items() if len(files[path]) > max_bytes(one.key.store)]:
            key = sending.pop(path).key
            self._note(f"{key.store} {key.id}", tr("it is too large to be sent"))
            del files[path]
        return files

    def _receive(
        self, remote: "_Remote", state: SyncState, local: dict[str, _Local], sources: Sequence[Source], sent: int
    ) -> tuple[SyncState, Report]:
        """Write what other machines changed into the stores of this one."""
        writable = {(source.scope, source.store): source for source in sources}
        newer: dict[str, State] = {}
        for path, there in remote.seen.items():
            here = local.get(path)
            if (there.scope, there.store) not in writable or (here and here.state.rank >= there.state.rank):
                continue
            if here is None and there.state.deleted:
                continue
            newer[path] = there.state
        newer, later = _take_first(newer, remote.measure(newer))
        values = remote.read_values(newer)
        changes: dict[Key, tuple[str, Change]] = {}
        settled = dict(state.local)
        keys = dict(state.keys)
        for path, wanted in newer.items():
            here, key = local.get(path), remote.seen[path].key
            if here is not None and here.state.digest == wanted.digest:
                settled[path] = wanted  # the same value, only a later stamp
            elif path in values:
                changes[key] = path, Change(key=key, before=here.item if here else None, value=values[path])
        applying = {path: newer[path] for path, _ in changes.values()}
        keys |= {path: (key.scope, key.store, key.id) for key, (path, _) in changes.items()}
        self._files.save_state(
            structs.replace(state, local=settled, keys=keys, applying=applying, applying_at=self._clock())
        )
        left: set[Key] = set()
        for place, group in group_by_source(change for _, change in changes.values()).items():
            left |= writable[place].write(group)
        received = deleted = 0
        for key, (path, change) in changes.items():
            if key in left:
                continue
            settled[path] = newer[path]
            received += change.value is not None
            deleted += change.value is None
        keys = {path: parts for path, parts in keys.items() if path in settled}
        state = structs.replace(state, local=settled, keys=keys, applying={})
        return state, Report(
            sent=sent,
            received=received,
            deleted=deleted,
            waiting=len(left) + later,
            restored=self._restored,
            problems=tuple(dict.fromkeys(self._problems)),
        )

    def _note(self, what: str, why: str) -> None:
        if len(self._problems) < MAX_PROBLEMS:
            self._problems.append(Problem(what=what, why=why))


class _Remote:
    """The valid records of one commit of the remote.

    Args:
        note: reports a file that is left out, and why.

    Attributes:
        seen: the records by path.
        has_format: whether the commit says how the repository is written.
    """

    def __init__(self, repository: SyncRepository, sealer: Sealer, note: Callable[[str, str], None]) -> None:
        self.sealer = sealer
        self.seen: dict[str, Seen] = {}
        self.has_format = False
        self._repository = repository
        self._note = note
        self._records: dict[str, Record] = {}  # with their values, those that were not known yet, as far as they fit

    def read(self, head: str, before: dict[str, Seen]) -> None:
        """Read a commit. before: the records of an earlier run, which are not read again."""
        new: dict[str, str] = {}
        for path, file in self._repository.list_files(head).items():
            if path == FORMAT_PATH:
                self.has_format = True
            elif file.mode != "100644" or not self.sealer.is_name(path):
                self._note(path, tr("clio does not write such a file"))
            elif file.size > max_bytes():
                self._note(path, tr("it is too large"))
            elif path in before and before[path].blob == file.blob:
                self.seen[path] = before[path]
            else:
                new[path] = file.blob
        kept = 0
        for path, data in self._repository.read_blobs(new):
            try:
                record = self.sealer.decode(path, data)
                if len(data) > max_bytes(record.key.store):
                    raise ValueError(tr("it is too large"))
            except ValueError as error:
                self._note(path, str(error))
                continue
            kept += len(data)
            if kept <= MAX_KEPT_BYTES:
                self._records[path] = record
            self._add(path, new[path], record)

    def take_lost(self, last: str) -> dict[str, bytes]:
        """Add the records of another commit that this one lacks or has older versions of; return their files."""
        files = {path: file.blob for path, file in self._repository.list_files(last).items()}
        wanted = {
            path: blob
            for path, blob in files.items()
            if self.sealer.is_name(path) and (path not in self.seen or self.seen[path].blob != blob)
        }
        found: dict[str, bytes] = {}
        for path, data in self._repository.read_blobs(wanted):
            try:
                record = self.sealer.decode(path, data)
            except ValueError:
                continue
            if path not in self.seen or record.state.rank > self.seen[path].state.rank:
                found[path] = data
                self._add(path, wanted[path], record)
        return found

    def read_values(self, newer: dict[str, State]) -> dict[str, Any]:
        """Return the values of records, None for deleted ones."""
        values: dict[str, Any] = {path: None for path, wanted in newer.items() if wanted.deleted}
        values |= {path: self._records[path].value for path in newer if path in self._records and path not in values}
        missing = {path: self.seen[path].blob for path in newer if path not in values}
        for path, data in self._repository.read_blobs(missing):
            values[path] = self.sealer.decode(path, data).value
        return values

    def measure(self, paths: Iterable[str]) -> dict[str, int]:
        """Return the size in bytes of each record's file."""
        return {path: self._repository.get_size(self.seen[path].blob) for path in paths}

    def _add(self, path: str, blob: str, record: Record) -> None:
        key = record.key
        self.seen[path] = Seen(blob=blob, scope=key.scope, store=key.store, id=key.id, state=record.state)


def _is_applied(state: SyncState, path: str) -> bool:
    """Return whether a run that was killed has deleted this record on behalf of another machine."""
    meant = state.applying.get(path)
    return meant is not None and meant.deleted


def _rename_collisions(remote: _Remote, sources: Sequence[Source], state: SyncState) -> None:
    """Give new ids to project memories that are new here if the remote has another text under their id."""
    for source in sources:
        if not isinstance(source, LtmSource) or not source.exists():
            continue
        met: dict[str, State] = {}
        for key, item in source.read().items():
            path = remote.sealer.name(key)
            there = remote.seen.get(path)
            is_new = path not in state.local and path not in state.applying
            if there is not None and is_new and not there.state.deleted and there.state.digest != item.digest:
                met[path] = there.state
        if met:
            values = remote.read_values(met)
            source.rename({remote.seen[path].key: values[path] for path in met if path in values})


def _select_to_send(local: dict[str, _Local], remote: _Remote) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for path, one in local.items():
        there = remote.seen.get(path)
        if there is None and one.state.deleted:
            continue  # it was added and deleted here, so no other machine has it
        if there is None or one.state.rank > there.state.rank:
            found[path] = Record(key=one.key, state=one.state, value=one.item.get_value() if one.item else None)
    return found


def _take_first(newer: dict[str, State], sizes: dict[str, int]) -> tuple[dict[str, State], int]:
    """Return the changes that one run takes, small ones first, and the number of those left for the next run."""
    taken: dict[str, State] = {}
    total = 0
    for path in sorted(newer, key=lambda path: sizes[path]):
        total += sizes[path]
        if taken and total > MAX_TAKEN_BYTES:
            break
        taken[path] = newer[path]
    # In the order of the repository, whatever their sizes are.
    return {path: state for path, state in newer.items() if path in taken}, len(newer) - len(taken)


def encode_format(sealer: Sealer) -> bytes:
    """Return the file that says how the repository is written."""
    check = sealer.name(Key("", "check", "")).split("/")[2][:16] if sealer.is_encrypting else ""
    value = _Format(version=FORMAT_VERSION, encrypted=sealer.is_encrypting, check=check)
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def check_format(repository: SyncRepository, head: str, sealer: Sealer) -> None:
    """Raise UserError unless the repository is empty, or written as this machine writes it and with its key."""
    if not head:
        return
    file = repository.list_top(head).get(FORMAT_PATH)
    if file is None or file.mode != "100644" or file.size > 4_000:
        raise UserError(tr("the repository has files, and not those of clio sync; use an empty repository for it"))
    [(_, data)] = repository.read_blobs({FORMAT_PATH: file.blob})
    try:
        found = decode_json(data, type=_Format)
    except msgspec.DecodeError as error:
        raise UserError(tr("{path} in the repository is damaged: {error}", path=FORMAT_PATH, error=error)) from error
    if found.version != FORMAT_VERSION:
        raise UserError(tr("a newer clio writes this repository; upgrade clio on this machine"))
    if found.encrypted and not sealer.is_encrypting:
        raise UserError(
            tr(
                "the repository is encrypted, and this machine has no key; copy ~/.clio/sync/key.txt from "
                "another machine and run clio sync init REMOTE --key FILE"
            )
        )
    if not found.encrypted and sealer.is_encrypting:
        raise UserError(
            tr("the repository is not encrypted, but this machine encrypts; use an empty repository for it")
        )
    if data != encode_format(sealer):
        raise UserError(
            tr(
                "the repository is encrypted with another key than that of this machine; copy ~/.clio/sync/key.txt "
                "from a machine that uses it and run clio sync init REMOTE --key FILE"
            )
        )


def explain_unusable(project: Path, home: Path) -> str:
    """Return why the memory of a project is not synchronized; "" if it is."""
    if not project.is_dir():
        return tr("the folder is gone; clio sync project --off in its place ends this")
    if any(link.is_clio_folder for link in find_links(project)):
        return tr("its .clio contains a link that leaves the project")
    if has_foreign_memory(project, home):
        return tr("its memory came with the project and is not yours until you accept it with clio config trust")
    return ""
