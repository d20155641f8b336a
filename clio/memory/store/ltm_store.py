"""Changes to the project's memory (`ltm.json`), made under a lock; pruning, imports, and uses (`ltm.uses.json`)."""

import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import msgspec
from msgspec import Struct, structs

from clio.errors import StorageError, UserError
from clio.memory.statement_relation import relate_statements
from clio.memory.store.change_log import LOG_NAME, Change, ChangeLog, End, decode_sides, new_change
from clio.memory.store.deduplication import merge_object
from clio.memory.store.ltm_codec import (
    MAX_CHARS,
    SHAPES,
    Json,
    LtmDocument,
    LtmReader,
    assign_handles,
    decode_ltm,
    find_handle,
    get_confirmed_at,
    get_handle,
    get_identity,
    get_main_text,
    get_provenance,
    get_times,
    is_ltm_object,
    make_handle,
    normalize_rule_path,
    set_handle,
    to_fraction,
    to_number,
    to_raw,
    to_record,
    to_text,
    write_ltm,
    write_record,
)
from clio.memory.store.record import (
    MAX_AGE_DAYS,
    MIN_CONFIDENCE,
    SHORT_CHARS,
    TRUST,
    Action,
    Kind,
    MemoryDraft,
    MemoryRecord,
    Provenance,
    Pruned,
    PruneReason,
    Saved,
    get_kind_label,
    redact_json,
    redact_record,
    redact_value,
)
from clio.memory.store.versions import (
    ArchivedMemory,
    LtmArchive,
    ObjectState,
    Version,
    capture_state,
    find_ends,
    is_in_state,
    list_ltm_versions,
    restore_states,
    set_since,
)
from clio.memory.team.knowledge import TeamKnowledge
from clio.storage.documents import DocumentFormat, load_document, update_document
from clio.storage.files import make_ignored_folder
from clio.storage.locks import FileLock, LocksUnsupported
from clio.text.formatting import format_count, truncate_line
from clio.text.scoring import DAY_S
from clio.text.translation import tr

MIN_LASTING_CONFIDENCE = 0.5
"""A user's statement of at least this confidence is never pruned for its age: only the user removes it."""


def find_prunable(
    entries: Iterable[MemoryRecord], *, now: float, max_age_days: float, min_confidence: float
) -> dict[str, PruneReason]:
    """Return the ids of the memories to prune, each with the reason. Raises UserError for an invalid limit.

    Age counts from the last confirmation, or from when it was restored; a memory without a time is never too old.
    """
    if not max_age_days >= 0:
        raise UserError(
            tr("max_age_days is {max_age_days:g}; give a number of days of at least 0.", max_age_days=max_age_days)
        )
    if not 0 <= min_confidence <= 1:
        raise UserError(
            tr("min_confidence is {min_confidence:g}; give a number from 0.0 to 1.0.", min_confidence=min_confidence)
        )
    found: dict[str, PruneReason] = {}
    for entry in entries:
        is_lasting = entry.author == "user" and entry.confidence >= MIN_LASTING_CONFIDENCE
        if entry.confidence < min_confidence:
            found[entry.id] = "uncertain"
        # `since` is later than the last confirmation after the memory was restored: otherwise it would be pruned again.
        elif entry.updated and not is_lasting and now - max(entry.updated, entry.since) > max_age_days * DAY_S:
            found[entry.id] = "old"
    return found


def replace_surrogates(text: str) -> str:
    """Return the text as valid Unicode, with a question mark for each lone surrogate."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class Use(Struct, frozen=True, kw_only=True):
    """How a memory was used. at: the last time, in seconds since the epoch."""

    at: float = 0.0
    count: int = 0


class Uses(Struct, frozen=True, kw_only=True):
    """The uses of all memories, by id."""

    entries: dict[str, Use] = {}


FORMAT = DocumentFormat(schema="clio.ltm_uses", version=1, type=Uses)


@contextmanager
def _explain_os_errors(path: Path) -> Generator[None]:
    """Raise errors of the operating system as StorageError with an explanation."""
    try:
        yield
    except TimeoutError as error:
        raise StorageError(tr("Project memory was not changed: {error}", error=error)) from error
    except LocksUnsupported as error:
        raise StorageError(tr("Project memory was not changed: {error}.", error=error)) from error
    except OSError as error:
        cause = error.strerror or str(error)
        raise StorageError(
            tr(
                "Project memory was not changed: {path!r} cannot be read or written ({cause}); free some "
                "space or fix its permissions, then try again.",
                path=str(path),
                cause=cause,
            )
        ) from error


class LongTermMemory(LtmReader):
    """`ltm.json` of one project, and the change log beside it, written in an order in which a crash loses nothing.

    Nothing is cached between calls, so outdated data is never written back.

    All methods raise CorruptDocument after setting the file aside, and NewerDocument. Those that read raise OSError.
    Those that change the file raise StorageError if it cannot be written or another process holds the lock for ten
    seconds; then nothing was changed.

    Args:
        project: the folder to which the paths of examples are relative.
        redact: applied to every text that is added or changed, before it is stored.
        log: the log in which each change is written first, and from which archive, versions and undo are derived;
            default: `memory.log.jsonl` beside the file.
        home: where it is recorded whether the user trusts shared memory; None to ignore shared memory.

    Attributes:
        team: the memory shared through git, combined with the file while it is in use; new memories are shared then.
    """

    def __init__(
        self,
        path: Path,
        *,
        project: Path,
        log: ChangeLog | None = None,
        clock: Callable[[], float] = time.time,
        home: Path | None = None,
        redact: Callable[[str], str] = replace_surrogates,
    ) -> None:
        self.team = TeamKnowledge(path, project, home, clock)
        super().__init__(path, project=project, team=lambda: self.team)
        self.log = log or ChangeLog(path.with_name(LOG_NAME), clock=clock)
        self.archive = LtmArchive(self.log)
        self._clock = clock
        self._uses_path = path.with_name("ltm.uses.json")
        self._redact = redact

    # The files

    def exists(self) -> bool:
        """Return whether the project has a memory file or shared memory."""
        return self.path.exists() or self.team.in_use

    def size(self) -> int:
        """Return the size of the files that contain the memories, in bytes."""
        own = self.path.stat().st_size if self.path.exists() else 0
        return own + (self.team.folder.size() if self.team.in_use else 0)

    @contextmanager
    def changing(self) -> Generator[tuple[LtmDocument, float]]:
        """Hold the lock, and return the present document and the time, for a change."""
        lock = FileLock(self.path.with_name(self.path.name + ".lock"))
        try:
            with _explain_os_errors(self.path):
                make_ignored_folder(self.path.parent, self.path.parent)
                lock.__enter__()
                document = self.document()
            yield document, round(self._clock(), 3)
        finally:
            lock.release()

    def write(
        self,
        document: LtmDocument,
        now: float,
        what: str,
        before: Sequence[ObjectState],
        after: Sequence[ObjectState],
        leaving: Mapping[str, End] = MappingProxyType({}),
        *,
        stated: bool = False,
    ) -> None:
        """Log the change, then write the file: a crash in between loses nothing.

        Args:
            leaving: how the memories that are removed end, by id.
            stated: the confidence was stated explicitly, see `TeamKnowledge.write`.
        """
        ended = find_ends(before, after, leaving)
        changed = [one for one in after if one.id in ended]
        known = document.by_handle() if changed else {}
        for raw in (raw for one in changed for raw in (one.entry, known[one.id][1])):
            if isinstance(version := raw.get("version", 1), int):
                raw["version"] = version + 1
            set_since(raw, now)
        document.touch(now)
        change = new_change(
            "ltm",
            what,
            at=now,
            key=(before or after)[0].id if len(before) + len(after) <= 2 else "",
            before=before or None,
            after=after or None,
            ended=ended,
            restored={get_handle(one.kept.entry): one.id for one in before if one.kept},
        )
        # Log first: a change that was logged but never made is recognised when it is read; the reverse would be lost.
        with _explain_os_errors(self.path), self.log.write_ahead(change):
            self.put(document, now, ended, stated=stated)

    def _archive(
        self, document: LtmDocument, now: float, what: str, leaving: Mapping[str, End]
    ) -> tuple[MemoryRecord, ...]:
        """Move memories to the archive and return them.

        Args:
            what: describes the change, with {} for the memories.
            leaving: how each memory ends, by id.
        """
        known = document.by_handle()
        before = [capture_state(document, known[id][0], id, known[id][1]) for id in leaving]
        for one in sorted(before, key=lambda one: -one.place):  # from the end, so that the other places stay valid
            del document.section(one.kind)[one.place]
        if before:
            first = before[0]
            named = f"the {_name_object(first.kind, first.entry)}" if len(before) == 1 else f"{len(before)} memories"
            self.write(document, now, what.format(named), before, (), leaving)
        return tuple(one.record for one in before)

    def put(
        self,
        document: LtmDocument,
        now: float,
        ended: Mapping[str, End] = MappingProxyType({}),
        *,
        stated: bool = False,
    ) -> None:
        """Write the document, each memory to where it belongs: the file or the shared folder.

        `document.shares` tells whether it was read with shared memory: memory that was shared or trusted only since
        then must not get what the user did not want to share. A folder that is gone since then, as on another branch,
        gets nothing.
        """
        if document.shares and self.team.in_use:
            self.team.write(document, now, ended, stated=stated)
            if self.path.exists() or document.private:
                write_ltm(self.path, document, private=True)
        else:
            write_ltm(self.path, document)

    # Memories

    def find(self, id: str) -> MemoryRecord:
        """Return the memory with this id, or the only one whose id begins so, with its uses. Raises UserError."""
        known = {entry.id: entry for entry in self.read().entries}
        entry = known[find_handle(id, known)]
        document = load_document(self._uses_path, FORMAT)
        use = document.value.entries.get(entry.id) if document else None
        return structs.replace(entry, accessed=use.at, access_count=use.count) if use else entry

    def use(self, ids: Sequence[str]) -> int:
        """Count these memories as used now, and return how many of them exist. Uses have a file of their own."""
        known = frozenset(entry.id for entry in self.read().entries)
        used, now = [id for id in ids if id in known], self._clock()

        def count(uses: Uses) -> Uses:
            kept = {id: use for id, use in uses.entries.items() if id in known}
            for id in dict.fromkeys(used):
                before = kept.get(id, Use())
                kept[id] = Use(at=max(now, before.at), count=before.count + 1)
            return Uses(entries=kept)

        if used:
            update_document(self._uses_path, FORMAT, count)
        return len(used)

    def add(self, draft: MemoryDraft, provenance: Provenance) -> Saved:
        """Add a memory, or confirm the one with the same meaning; an archived one is restored.

        Raises UserError for a draft that is too long or lacks a field that its kind needs.
        """
        record = structs.replace(check_draft(redact_record(draft, self._redact).as_record()), provenance=provenance)
        kind, new = draft.kind, to_raw(record)
        with self.changing() as (document, now):
            said_at = min(draft.created or now, now)
            section = document.section(kind)
            if kind == "rule":
                adopt_rule_path(section, new)
            raw = find_stated(kind, section, new)
            if raw is not None:
                action: Action = "confirmed"
                before = [capture_state(document, kind, document.handle(raw), raw)]
                set_handle(raw, before[0].id)
                merge_object(raw, to_record(kind, new, ""), said_at)
            else:
                with _explain_os_errors(self.log.path):
                    kept = self.archive.find(kind, new, document)
                raw = self._make_raw(document, kind, new, kept, said_at)
                section.insert(find_insert_position(kind, section, raw), raw)
                action = "restored" if kept else "new"
                before = [ObjectState(kind=kind, id=raw["id"], kept=kept)] if kept else []
            self._record_file_hashes(raw)
            after = [capture_state(document, kind, raw["id"], raw)]
            doing = "added" if action == "new" else action
            self.write(document, now, f"{doing} the {_name_object(kind, raw)}", before, after)
            others = find_other_solutions(section, raw) if kind == "solution" else []
            return Saved(
                record=to_record(kind, raw, raw["id"]),
                action=action,
                beside=tuple(document.one(other) for other in others),
            )

    def update(self, id: str, **changes: Any) -> MemoryRecord:
        """Change fields of a memory, which also confirms it.

        Args:
            changes: content, solution, also, impact, steps, context, confidence, success_rate, examples, provenance.

        Raises:
            UserError: for an unknown id or field, or if another memory has the same meaning.
        """
        changes = {name: redact_value(value, self._redact) for name, value in changes.items()}
        with self.changing() as (document, now):
            known = document.by_handle()
            handle = find_handle(id, known)
            kind, raw = known[handle]
            before = [capture_state(document, kind, handle, raw)]
            new = apply_changes(kind, raw, handle, changes)
            twin = find_same(kind, (one for one in document.section(kind) if one is not raw), new)
            if twin is not None and get_identity(kind, new) != get_identity(kind, raw):
                raise UserError(
                    tr("{handle} already says that; forget one of the two instead.", handle=document.handle(twin))
                )
            raw.clear()
            raw.update(new | {"updated": now})
            set_handle(raw, handle)
            self._record_file_hashes(raw)
            after = [capture_state(document, kind, handle, raw)]
            what = f"changed the {_name_object(kind, raw)}"
            self.write(document, now, what, before, after, stated="confidence" in changes)
            return to_record(kind, raw, handle)

    def forget(self, ids: Sequence[str]) -> tuple[MemoryRecord, ...]:
        """Move memories to the archive. Raises UserError for an unknown id; then none was moved."""
        with self.changing() as (document, now):
            known = document.by_handle()
            wanted = list(dict.fromkeys(find_handle(id, known) for id in ids))
            return self._archive(document, now, "forgot {}", dict.fromkeys(wanted, End(because="forgotten")))

    def supersede(self, successors: Mapping[str, str]) -> tuple[MemoryRecord, ...]:
        """Move replaced memories to the archive, and return those that were moved.

        Memories stay if they no longer exist, if their successor leaves too, or if another team member shares them.

        Args:
            successors: id of a replaced memory → id of its successor, in this or another file.
        """
        with self.changing() as (document, now):
            own = {entry.id for entry in self._own(document.knowledge().entries)}
            leaving = {
                old: End(because="superseded", successor=new)
                for old, new in successors.items()
                if old in own and new not in successors
            }
            return self._archive(document, now, "replaced {} by a later statement", leaving)

    def prune(
        self, *, max_age_days: float = MAX_AGE_DAYS, min_confidence: float = MIN_CONFIDENCE, dry_run: bool = False
    ) -> Pruned:
        """Archive memories that no one confirmed for so many days, and those with less confidence.

        A user's statement with a confidence of at least 0.5 is never too old. Memories that others share stay. Raises
        UserError for an invalid limit.
        """
        with nullcontext((self.document(), self._clock())) if dry_run else self.changing() as (document, now):
            entries = document.knowledge().entries
            why = find_prunable(self._own(entries), now=now, max_age_days=max_age_days, min_confidence=min_confidence)
            removed = tuple(entry for entry in entries if entry.id in why)
            if not dry_run:
                document.metadata["last_pruned"] = now
                leaving = {id: End(because=reason) for id, reason in why.items()}
                self._archive(document, now, f"pruned {format_count(len(removed), 'memory')}", leaving)
                if not removed:
                    document.touch(now)
                    with _explain_os_errors(self.path):
                        self.put(document, now)
                if self.team.in_use:
                    with suppress(OSError):  # the files are deleted the next time
                        self.team.tidy()
            return Pruned(removed=removed, kept=len(entries) - len(removed), dry_run=dry_run, why=why)

    def versions(self) -> tuple[Version, ...]:
        """Return every version of all memories, oldest first; archived ones too."""
        return tuple(list_ltm_versions(self.document(), self.archive.endings()))

    def history(self, id: str) -> tuple[Version, ...]:
        """Return every version of the memory with this id, or the only one that begins so; it may be archived."""
        versions = self.versions()
        handle = find_handle(id, dict.fromkeys(version.record.id for version in versions))
        return tuple(version for version in versions if version.record.id == handle)

    def restore(self, id: str) -> MemoryRecord:
        """Restore a memory from the archive as it was; that confirms nothing.

        Raises UserError if it is not there, or another memory has the same meaning.
        """
        with self.changing() as (document, now):
            with _explain_os_errors(self.log.path):
                archived = {get_handle(one.entry): one for one in self.archive.read(document)}
            if not any(handle.startswith(id.lower()) for handle in archived):
                raise UserError(tr("the archive has no memory {id!r}; `/memory list archive` shows what it has", id=id))
            kept = archived[find_handle(id, archived)]
            kind = kept.known_kind
            if kind is None:
                raise UserError(tr("this version of clio does not know memories of the kind {kind!r}", kind=kept.kind))
            section = document.section(kind)
            if (twin := find_same(kind, section, kept.entry)) is not None:
                raise UserError(tr("{handle} says the same; nothing was restored", handle=document.handle(twin)))
            raw = {name: value for name, value in kept.entry.items() if name != "superseded_by"}
            self._set_new_handle(document, kind, raw, now)
            section.insert(find_insert_position(kind, section, raw), raw)
            before = [ObjectState(kind=kind, id=raw["id"], kept=kept)]
            after = [capture_state(document, kind, raw["id"], raw)]
            self.write(document, now, f"restored the {_name_object(kind, raw)}", before, after)
            return to_record(kind, raw, raw["id"])

    def archived(self) -> tuple[MemoryRecord, ...]:
        """Return the archived memories, the latest archived first."""
        return tuple(record for kept in reversed(self.archive.read(self.document())) if (record := kept.record))

    def export(self) -> str:
        """Return the whole document as JSON, including unknown fields."""
        return self.document().encode().decode("utf-8")

    def import_(
        self, text: str, provenance: Provenance, redact: Callable[[str], str] = replace_surrogates
    ) -> tuple[int, int]:
        """Import the memories of another `ltm.json`; return how many were new, and how many were confirmed.

        Importing the same text again changes nothing. The source of a memory is taken from the text only if it is no
        more trusted than `provenance`.

        Args:
            redact: applied to every imported text.

        Raises:
            UserError: if the text is not an `ltm.json`.
            NewerDocument: if a newer clio wrote it.
        """
        foreign = read_imported_document(text)
        with self.changing() as (document, now):
            before, after = import_document(
                document,
                foreign,
                provenance,
                now,
                redact=lambda one: replace_surrogates(redact(one)),
                taken=self.archive.handles(),
            )
            added, confirmed = len(after) - len(before), len(before)
            if after:
                what = f"imported {format_count(added, 'memory')} and confirmed {confirmed}"
                self.write(document, now, what, before, after)
            return added, confirmed

    def was_made(self, change: Change) -> bool:
        """Return whether the memories differ from those before a change."""
        before, after = decode_sides(change, ObjectState)
        return not is_in_state(self.document(), before, {one.id for one in (*before, *after)})

    def revert(self, change: Change) -> MemoryRecord | None:
        """Revert a change; return the memory as it is again, None if the change had several or it no longer exists.

        Raises UserError if a memory of the change was changed since, or the change is of another store.
        """
        if change.store != "ltm":
            raise UserError(tr("“{what}” is not a change of project memory; nothing was undone.", what=change.what))
        before, after = decode_sides(change, ObjectState)
        with self.changing() as (document, now):
            touched = {one.id for one in (*before, *after)}
            is_made = not is_in_state(document, before, touched)
            if is_made and not is_in_state(document, after, touched):
                shown = ", ".join(sorted(touched)[:5]) + (f" and {len(touched) - 5} more" if len(touched) > 5 else "")
                raise UserError(
                    tr(
                        "“{what}” was not undone: {touched} has changed since; edit or forget it by hand.",
                        what=change.what,
                        touched=shown,
                    )
                )
            if is_made:
                restore_states(document, before, after)
                document.touch(now)
                with _explain_os_errors(self.path):
                    self.put(document, now)
            known = document.by_handle()
            return to_record(*known[before[0].id], before[0].id) if len(before) == 1 and before[0].id in known else None

    def _own(self, entries: Sequence[MemoryRecord]) -> list[MemoryRecord]:
        """Return the memories except those that other team members share."""
        return [entry for entry in entries if not entry.by or self.team.is_mine(entry.by)]

    def _make_raw(self, document: LtmDocument, kind: Kind, new: Json, kept: ArchivedMemory | None, now: float) -> Json:
        taken = set(assign_handles(document.all()))
        if kept is None:
            handle = make_handle(kind, new, taken | self.archive.handles())
            return new | {"timestamp": now, "id": handle}
        raw = {name: value for name, value in kept.entry.items() if name != "superseded_by"}
        merge_object(raw, to_record(kind, new, ""), now, forgotten=kept.because == "forgotten")
        self._set_new_handle(document, kind, raw, now)
        return raw

    def _set_new_handle(self, document: LtmDocument, kind: Kind, raw: Json, now: float) -> None:
        """Prepare an archived object for the file: it holds since now, and has an id that no other one has."""
        set_since(raw, now)
        taken = set(assign_handles(document.all()))
        if get_handle(raw) in taken:
            set_handle(raw, make_handle(kind, raw, taken))

    def _record_file_hashes(self, raw: Json) -> None:
        """Record the hashes of the example files; a file that cannot be read keeps its former hash."""
        examples = [one for one in raw.get("examples") or () if isinstance(one, str)]
        known = raw.get("example_hashes")
        former = cast(Json, known) if isinstance(known, dict) else {}
        bound = {one: former[one] for one in examples if one in former} | self._examples.hashes(examples)
        if bound:
            raw["example_hashes"] = bound
        else:
            raw.pop("example_hashes", None)


def _name_object(kind: Kind, raw: Json) -> str:
    """Return kind and text of an object, for the log and its messages: fact “we deploy with make ship”."""
    return f"{get_kind_label(kind)} “{truncate_line(get_main_text(kind, raw), SHORT_CHARS)}”"


MAX_EXAMPLES = 50
_CHANGEABLE = tuple("content solution also impact steps context confidence success_rate examples provenance".split())


def check_draft(draft: MemoryRecord) -> MemoryRecord:
    """Return the draft with its texts stripped and in valid Unicode. Raises UserError if it cannot be stored."""
    clean = structs.replace(
        draft,
        **{
            name: replace_surrogates(getattr(draft, name)).strip()
            for name in ("content", "solution", "impact", "context")
        },
        **{name: _clean_texts(getattr(draft, name)) for name in ("also", "steps", "examples")},
    )
    name = get_kind_label(clean.kind)
    if not clean.content and not (clean.kind == "workflow" and clean.steps):
        raise UserError(tr("The {name} is empty; state in one sentence what to remember.", name=name))
    if clean.kind == "solution" and not clean.solution:
        raise UserError(tr("The solution is empty; say what fixed the error."))
    texts = (clean.content, clean.solution, clean.impact, clean.context, *clean.also, *clean.steps, *clean.examples)
    longest = max(map(len, texts))
    if longest > MAX_CHARS:
        raise UserError(
            tr(
                "The {name} has {longest:,} characters, more than the {max_chars:,} allowed; save it as "
                "a note, and name that note here.",
                name=name,
                longest=longest,
                max_chars=MAX_CHARS,
            )
        )
    if len(clean.examples) > MAX_EXAMPLES:
        raise UserError(
            tr(
                "{count} examples are too many; give the {max_examples} that show it best.",
                count=len(clean.examples),
                max_examples=MAX_EXAMPLES,
            )
        )
    return clean


def apply_changes(kind: Kind, raw: Json, handle: str, changes: dict[str, Any]) -> Json:
    """Return the object with these fields changed. Raises UserError for a field that cannot be changed."""
    unknown = [name for name in changes if name not in _CHANGEABLE]
    if unknown:
        raise UserError(
            tr(
                "{unknown} cannot be changed; only {changeable} can.",
                unknown=", ".join(unknown),
                changeable=", ".join(_CHANGEABLE),
            )
        )
    now = to_record(kind, raw, handle)
    new = check_draft(structs.replace(now, **changes))
    is_named_by_steps = kind == "workflow" and now.content == " → ".join(now.steps)
    if is_named_by_steps and "steps" in changes and "content" not in changes:
        new = structs.replace(new, content=" → ".join(new.steps))
    changed = raw.copy()
    write_record(changed, now, new)
    if get_identity(kind, changed) != get_identity(kind, raw):
        changed.pop("confirmations", None)  # they were of other words
    return changed


def _clean_texts(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(clean for text in texts if (clean := replace_surrogates(text).strip())))


def find_same(kind: Kind, section: Iterable[Any], new: Json) -> Json | None:
    """Return the object of a section with the same meaning as `new`; None if there is none."""
    wanted = get_identity(kind, new)
    return next((raw for raw in section if is_ltm_object(kind, raw) and get_identity(kind, raw) == wanted), None)


def find_stated(kind: Kind, section: Sequence[Any], new: Json) -> Json | None:
    """Return the object that a new one states again, of a discovery also one in nearly the same words, or None."""
    found = find_same(kind, section, new)
    if found is not None or kind != "discovery":
        return found
    known = ((raw, get_main_text(kind, raw)) for raw in section if is_ltm_object(kind, raw))
    return next((raw for raw, text in known if relate_statements(text, get_main_text(kind, new)) == "same"), None)


def find_other_solutions(section: Iterable[Any], new: Json) -> list[Json]:
    """Return the other solutions to the same error, newest first."""
    error, solution = get_identity("solution", new)
    known = ((raw, get_identity("solution", raw)) for raw in section if is_ltm_object("solution", raw))
    found = [raw for raw, words in known if words[0] == error and words[1] != solution]
    return sorted(found, key=get_confirmed_at, reverse=True)


def find_insert_position(kind: Kind, section: list[Any], new: Json) -> int:
    """Return the index for a new object: the end, but before older solutions to the same error."""
    older = find_other_solutions(section, new) if kind == "solution" else []
    return min((place for place, raw in enumerate(section) if any(raw is one for one in older)), default=len(section))


def adopt_rule_path(section: Iterable[Any], new: Json) -> None:
    """Write the path of a new rule in the form that the file already has."""
    wanted = normalize_rule_path(to_text(new.get("context")))
    for raw in section:
        if isinstance(raw, dict):
            path = to_text(cast(Json, raw).get("context"))
            if path and normalize_rule_path(path) == wanted:
                new["context"] = path
                return


def read_imported_document(text: str) -> LtmDocument:
    """Return the document in a text. Raises UserError if it is not an `ltm.json`, NewerDocument."""
    try:
        document = decode_ltm(text.encode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise UserError(tr("This is not an ltm.json ({error}); nothing was imported.", error=error)) from error
    document.refuse_newer(tr("the imported ltm.json"))
    return document


def import_document(
    document: LtmDocument,
    foreign: LtmDocument,
    provenance: Provenance,
    now: float,
    *,
    redact: Callable[[str], str],
    taken: Iterable[str],
) -> tuple[list[ObjectState], list[ObjectState]]:
    """Add every memory of `foreign`; return the confirmed ones as they were, and those and the new ones as they are.

    A known one counts as confirmed if its object changes.

    redact: applied to every text. taken: handles that no new memory may have, beside those of the document.
    """
    ours = document.all()
    known = {(kind, *get_identity(kind, raw)): raw for kind, raw in reversed(ours)}
    ids = {id(raw): handle for (_, raw), handle in zip(ours, assign_handles(ours), strict=True)}
    places = {id(raw): place for kind in SHAPES for place, raw in enumerate(document.section(kind))}
    used, before, after = {*ids.values(), *taken}, dict[str, ObjectState](), dict[str, ObjectState]()
    for kind, theirs in foreign.all():
        new = _sanitize_import(redact_json(theirs, redact), provenance, now)
        new["confidence"] = to_fraction(new.get("confidence"), SHAPES[kind].unstated)
        new[SHAPES[kind].count] = get_times(kind, new)
        if kind == "rule":
            adopt_rule_path(document.section(kind), new)
        words = (kind, *get_identity(kind, new))
        old = known.get(words)
        if old is None:
            if get_handle(new) in used or not get_handle(new):
                set_handle(new, make_handle(kind, new, used))
            handle = new["id"]
            used.add(handle)
            places[id(new)] = len(document.section(kind))
            document.section(kind).append(new)
            known[words], ids[id(new)] = new, handle
            after[handle] = capture_state(document, kind, handle, new, places[id(new)])
            continue
        was = capture_state(document, kind, ids[id(old)], old, places[id(old)])
        merge_object(old, to_record(kind, new, ""), is_copy=True)
        if to_record(kind, old, was.id) == to_record(kind, was.entry, was.id):
            old.clear()
            old.update(was.entry)
            continue
        set_handle(old, was.id)
        if was.id not in after:
            before[was.id] = was
        after[was.id] = capture_state(document, kind, was.id, old, places[id(old)])
    return list(before.values()), list(after.values())


def _sanitize_import(raw: Json, provenance: Provenance, now: float) -> Json:
    """Return the object with valid times, none in the future, and a source that is trusted no more than allowed."""
    for name in ("timestamp", "updated"):
        if name in raw:
            raw[name] = min(max(to_number(raw[name], 0.0), 0.0), now)
    raw.setdefault("timestamp", now)
    source = get_provenance(raw) or provenance
    if TRUST[source.asserted_by] > TRUST[provenance.asserted_by]:
        source = msgspec.structs.replace(source, asserted_by=provenance.asserted_by)
    raw["provenance"] = msgspec.to_builtins(source)
    raw.pop("confirmations", None)  # their sessions are on another machine
    return raw
