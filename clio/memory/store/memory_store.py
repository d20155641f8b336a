"""All memories of one project and of its user, of every kind, behind one class."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from clio.errors import StorageError, UserError
from clio.memory.store.change_log import Change, ScopeLogs, undo_last
from clio.memory.store.ltm_codec import ExampleFiles, LtmReader, to_number
from clio.memory.store.memory_index import Ranked
from clio.memory.store.record import (
    ALL_KINDS,
    KEYED_NOTE,
    MAX_AGE_DAYS,
    MIN_CONFIDENCE,
    PROJECT_KINDS,
    SHORT_CHARS,
    SHORT_ID,
    TYPED_KINDS,
    Freshness,
    HistogramBar,
    Kind,
    MemoryDraft,
    MemoryRecord,
    MemoryStats,
    Provenance,
    Pruned,
    PruneReason,
    Replacement,
    Saved,
    check_content,
    check_more_than_secret,
    default_confidence,
    has_same_text,
    is_lasting,
    redact_value,
    shorten_content,
)
from clio.memory.store.typed_store import DEFAULT_LIMIT, Compacted, Decide, Scope, TypedStore, choose_id
from clio.storage.files import get_stamp
from clio.text.formatting import format_count, truncate_line
from clio.text.scoring import DAY_S
from clio.text.translation import tr
from clio.text.vocabulary import extract_terms

if TYPE_CHECKING:
    from clio.memory.store.ltm_store import LongTermMemory
    from clio.memory.store.notes import Notes
    from clio.memory.store.versions import MemoryChange, Version
    from clio.memory.team.knowledge import TeamKnowledge

SCOPES: tuple[Scope, ...] = ("project", "user")
FILE = "memories.json"


def is_project_id(id: str) -> bool:
    """Whether this has the form of the id of a discovery, solution, pattern, workflow, failure or rule: "d-3f9a12"."""
    letter, dash, rest = id[:1], id[1:2], id[2:]
    return letter.isalpha() and dash == "-" and all(char.isalnum() or char == "_" for char in rest)


class MemoryStore:
    """Adds, finds, changes, forgets and restores memories of every kind; each change can be undone.

    Three kinds of files hold the memories, and each has a codec of its own:

    - `.clio/ltm.json`: discoveries, solutions, patterns, workflows, failures and rules (`LongTermMemory`);
    - `memories.json` of the project and of the user: facts, events, notes and preferences (`TypedStore`);
    - `.clio/memory/<key>.json`: keyed notes (`Notes`).

    Every change is written to the change log of its scope (`memory.log.jsonl`) before the file changes. Versions, the
    archive and `undo` are derived from that log.

    Methods raise UserError for a memory that does not exist or cannot be saved as given, StorageError for a file that
    cannot be read or written, and OSError.

    Args:
        folder: the project's `.clio` folder.
        home: clio's own folder, which holds the user's memories.
        project: the folder to which paths of example files are relative; default: the parent of `folder`.
        logs: the change logs of both scopes; default: those in `folder` and `home`.
        redact: applied to every text before it is stored.
        trust_home: where it is recorded whether the user trusts memory that others share through git; None: shared
            memory is ignored.
    """

    def __init__(
        self,
        folder: Path,
        home: Path,
        *,
        project: Path | None = None,
        logs: ScopeLogs | None = None,
        redact: Callable[[str], str],
        clock: Callable[[], float] = time.time,
        trust_home: Path | None = None,
    ) -> None:
        self._folder = folder
        self._project_folder = project or folder.parent
        self._redact = redact
        self._clock = clock
        self._trust_home = trust_home
        self._examples = ExampleFiles(self._project_folder)
        self.decide: Decide | None = None
        """Asks a model whether two memories that share half of their words are one; None keeps both."""
        self.logs = logs or ScopeLogs(folder, home, clock=clock)
        self.ltm_path = folder / "ltm.json"
        self.ltm_reader = LtmReader(self.ltm_path, project=self._project_folder, team=lambda: self._team)
        self._typed: dict[Scope, TypedStore] = {
            "project": TypedStore(folder / FILE, "project", clock=clock, log=self.logs.project),
            "user": TypedStore(home / FILE, "user", clock=clock, log=self.logs.user),
        }

    # The files

    @property
    def user(self) -> TypedStore:
        """The user's `memories.json`."""
        return self._typed["user"]

    @property
    def project(self) -> TypedStore:
        """The project's `memories.json`."""
        return self._typed["project"]

    @cached_property
    def ltm(self) -> "LongTermMemory":
        """The project's `ltm.json`. Imported on first use: a turn only reads that file, through `ltm_reader`."""
        from clio.memory.store.ltm_store import LongTermMemory

        return LongTermMemory(
            self.ltm_path,
            project=self._project_folder,
            log=self.logs.project,
            clock=self._clock,
            home=self._trust_home,
            redact=self._redact,
        )

    @cached_property
    def _team(self) -> "TeamKnowledge":
        """The memory that team members share; most projects share nothing and never import it."""
        from clio.memory.team.knowledge import TeamKnowledge

        return TeamKnowledge(self.ltm_path, self._project_folder, self._trust_home, self._clock)

    @cached_property
    def keyed_notes(self) -> "Notes":
        """The files of the keyed notes."""
        from clio.memory.store.notes import Notes

        return Notes(self._folder / "memory", self._clock)

    # Reading

    def records(self, kinds: Collection[str] = ALL_KINDS, *, with_notes: bool = True) -> tuple[MemoryRecord, ...]:
        """Return the memories that exist now, of these kinds.

        First those of `ltm.json` in the order of the file, then those of the project and of the user in the order they
        were made, then the keyed notes, newest first, unless `with_notes` is False.
        """
        found: list[MemoryRecord] = []
        if not set(kinds).isdisjoint(PROJECT_KINDS):
            found += (entry for entry in self.ltm_reader.read().entries if entry.kind in kinds)
        if not set(kinds).isdisjoint(TYPED_KINDS):
            found += (one for store in self._typed.values() for one in store.records() if one.kind in kinds)
        if with_notes and KEYED_NOTE in kinds:
            found += (_note_record(note.key, note.content, note.timestamp) for note in self.keyed_notes.newest_first())
        return tuple(found)

    def get(self, id: str) -> MemoryRecord:
        """Return the memory with this id, or the only one whose id begins or ends with it, or the note of this key."""
        # A key is looked for first: it is exact, while an id may be shortened.
        with suppress(ValueError):  # a text that cannot be a key
            if (note := self.get_note(id)) is not None:
                return note
        if is_project_id(id):
            return self.ltm.find(id)
        try:
            return self._holding(id)[1]
        except UserError:
            # Other programs that write ltm.json may use ids of any form.
            found = next((entry for entry in self.records(PROJECT_KINDS) if entry.id == id.strip()), None)
            if found is None:
                raise
            return found

    def get_note(self, key: str) -> MemoryRecord | None:
        """Return the note of this key, None if there is none. Raises ValueError for a key that no note can have."""
        note = self.keyed_notes.retrieve(self._redact(key))
        return _note_record(note.key, note.content, note.timestamp) if note else None

    def notes(self) -> tuple[MemoryRecord, ...]:
        """Return the keyed notes, newest first."""
        return self.records((KEYED_NOTE,))

    def live(self, ids: Sequence[str]) -> list[MemoryRecord]:
        """Return those of these facts, events, notes and preferences that are neither superseded nor forgotten."""
        return [record for store in self._typed.values() for record in store.live(ids)]

    def texts(self, ids: Collection[str]) -> dict[str, str]:
        """Return the texts of those of these memories, of any kind, that exist now."""
        found = {record.id: record.text for record in self.live(tuple(ids))}
        if rest := set(ids) - found.keys():
            found |= {one.id: one.text for one in self.records(PROJECT_KINDS) if one.id in rest}
        for key in rest - found.keys():
            with suppress(ValueError):
                if (note := self.get_note(key)) is not None:
                    found[key] = note.text
        return found

    def stated_in(self, session: str) -> list[MemoryRecord]:
        """Return the facts, events and notes of both scopes that a session led to."""
        return [
            record
            for store in self._typed.values()
            for record in store.index.of_session(session)
            if record.kind != "preference"
        ]

    def changed_after(self, session: str, at: float) -> tuple[dict[str, str], dict[str, str]]:
        """Return by id what a session led to and was removed after a time, and all memories restored after it."""
        stamps = [get_stamp(log.path) for log in (self.logs.project, self.logs.user)]
        if all(stamp is None or stamp[-1] <= at * 1e9 for stamp in stamps):
            return {}, {}  # reading all versions takes long
        removed = {
            one.record.id: one.record.content
            for one in self.versions()
            if one.until is not None and one.until > at and one.record.provenance is not None
            if one.record.provenance.session == session
        }
        restored = {one.id: one.text for one in self.changes() if one.what == "restored" and one.at > at}
        return {id: text for id, text in removed.items() if self.is_removed(id)}, restored

    def count(self) -> dict[Scope, int]:
        """Return the number of facts, events, notes and preferences that exist now, by scope."""
        return {"project": self.project.count(), "user": self.user.count()}

    def scope_of(self, id: str) -> Scope:
        """Return the scope of a memory; "project" also for one that is only in the archive."""
        for store in self._typed.values():
            if store.like(id):
                return store.scope
        return "project"

    def variants(self, id: str) -> tuple[MemoryRecord, ...]:
        """Return the memories that contradict this one with less confidence."""
        return tuple(one for store in self._typed.values() for one in store.index.variants(id))

    def freshness(self, records: Sequence[MemoryRecord]) -> dict[str, Freshness]:
        """Return whether the files each memory names are as they were when it was stored, by id."""
        found = self.ltm_reader.freshness(records)
        for one in records:
            if not one.hashes and self.user.has(one.id):
                found[one.id] = "unbound"  # the paths in its text may be those of another project
        return found

    def describe_drift(self, record: MemoryRecord) -> str:
        """Return a remark on a memory whose files have changed since it was stored or do not exist, "" for others."""
        if not record.hashes:
            missing = (*self.list_missing_files(record.examples), *self._list_missing_mentions(record))
            return f"there is no {' and no '.join(dict.fromkeys(missing))}" if missing else ""
        [state] = self._examples.freshness([record.hashes])
        return {"drifted": "its file has changed since", "gone": "its file is gone"}.get(state, "")

    def _list_missing_mentions(self, record: MemoryRecord) -> tuple[str, ...]:
        """Return the paths in the text of a memory that the project does not have; none for one of all projects."""
        return () if self.user.has(record.id) else self._examples.list_missing_mentions(record.content)

    def list_missing_files(self, examples: Iterable[str]) -> tuple[str, ...]:
        """Return those of the files that a memory names which do not exist."""
        return self._examples.list_missing(examples)

    def describe_variant(self, record: MemoryRecord) -> str:
        """Return a remark on a variant that names the memory it contradicts, "" for any other memory."""
        if not record.is_variant:
            return ""
        main = next(iter(self.texts([record.variants_of or ""]).values()), "")
        return "other sources say" + (f"; surer is: {truncate_line(main, SHORT_CHARS)}" if main else "")

    # Searching facts, events, notes and preferences by their words

    def recall(self, query: str = "", limit: int = DEFAULT_LIMIT, kind: str = "") -> tuple[Ranked, ...]:
        """Return what `peek` returns, and count it as used."""
        found = self.peek(query, limit, kind)
        self.mark_used([hit.record.id for hit in found])
        return found

    def peek(self, query: str = "", limit: int = DEFAULT_LIMIT, kind: str = "") -> tuple[Ranked, ...]:
        """Return the facts, events, notes and preferences of both scopes that match a query, best first.

        Args:
            limit: 0 means ten, −1 all.
            kind: only this one; "!fact" means all but facts. Without query and kind all preferences come first, and
                the limit counts the others.
        """
        hits = [hit for store in self._typed.values() for hit in store.peek(query, limit, kind)]
        hits.sort(key=lambda hit: (-hit.score, -hit.record.updated, hit.record.id))
        if limit < 0:
            return tuple(hits)
        most = limit or DEFAULT_LIMIT
        if query.strip() or kind.strip():
            return tuple(hits[:most])
        preferences = [hit for hit in hits if hit.record.kind == "preference"]
        return (*preferences, *[hit for hit in hits if hit.record.kind != "preference"][:most])

    def matching(self, question: str, most: int, *, keep_single: bool = False) -> list[Ranked]:
        """Return at most `most` facts, events and notes that share a word with the question; none counts as used.

        Other forms of a word count, and synonyms, so that "db" finds "database", and keywords with a typing mistake.
        Words that occur in requests of every kind count only if there are no others, or in keywords. Variants are left
        out: automatic recall must not tell what a surer memory contradicts.

        keep_single: see `parse_question_words`.
        """
        found: list[Ranked] = []
        for store in self._typed.values():
            terms = store.index.list_terms(question, keep_single=keep_single)
            hits = store.peek(terms, most, "!preference") if terms else ()
            found += (hit for hit in hits if not hit.record.is_variant)
        return sorted(found, key=lambda hit: -hit.score)[:most]

    def mark_used(self, ids: Sequence[str]) -> int:
        """Count these memories as used, which keeps them from being pruned; return how many of them exist.

        A count that cannot be written is dropped: the answer does not depend on it.
        """
        rest = dict.fromkeys(ids)
        used = 0
        for store in self._typed.values():
            own = [record.id for record in store.live(rest)]
            if own:
                with suppress(OSError, StorageError):
                    store.use(own)
            used += len(own)
            rest = {id: None for id in rest if not store.has(id)}
        if rest:
            with suppress(OSError, StorageError):
                used += self.ltm.use(tuple(rest))
        return used

    # Changing

    def add(self, draft: MemoryDraft, provenance: Provenance | None = None, *, scope: Scope | None = None) -> Saved:
        """Save a memory; one that says the same is confirmed, and one whose value has changed is superseded.

        A project fact confirms a fact of the same text, and a fact such a project fact. What the user states about the
        project also replaces statements of other kinds.

        Args:
            provenance: who said it; None for the model.
            scope: of a fact, event, note or preference; by default the user's for a preference, else the project's.

        Raises UserError if only the name of a secret is left of the text, StorageError, OSError.
        """
        if draft.key is not None:
            return self._set_note(draft.key, draft.content)
        if not (draft.solution or draft.steps):
            check_more_than_secret(self._redact(draft.content))
        target: Scope = scope or ("user" if draft.kind == "preference" else "project")
        other_kind = _SAME_TO_THE_USER.get(draft.kind) if target == "project" else None
        if other_kind and self._is_known(self._redact(draft.content), other_kind):
            draft = structs.replace(draft, kind=other_kind)
        is_of_user = provenance is not None and provenance.asserted_by == "user"
        if draft.kind == "discovery" and not is_of_user:
            # Otherwise each later prompt would state what the user contradicts.
            for name, store in self._typed.items():
                near = store.find_nearest(self._redact(draft.content), "fact")
                if near and near.relation in ("same", "supersedes") and near.holding.is_stated_by_user:
                    draft, target = structs.replace(draft, kind="fact"), name
                    break
        refuted = self._list_refuted(draft) if target == "project" else ()
        stated = next((one for one in refuted if one.is_stated_by_user), None)
        if not is_of_user and stated is not None and draft.kind != "note":
            saved = self._save(structs.replace(draft, kind="fact"), provenance, target, contradicts=stated.id)
            return structs.replace(saved, action="variant", other=stated)
        if not is_of_user or not refuted:
            return self._save(draft, provenance, target)
        with self.group(f"replaced “{shorten_content(refuted[0])}”"):
            saved = self._save(draft, provenance, target)
            gone = self._archive_refuted(refuted, saved.record)
        is_first = saved.action in ("new", "restored", "kept_both")
        return structs.replace(saved, action="superseded", other=gone[0]) if gone and is_first else saved

    def _list_refuted(self, draft: MemoryDraft) -> tuple[MemoryRecord, ...]:
        """Return the facts, notes and discoveries of the project that a statement of the user gives another value.

        A typed store replaces those of the same kind itself. Statements about different files do not contradict each
        other.
        """
        if draft.kind not in _STATEMENTS:
            return ()
        from clio.memory.store.deduplication import is_successor

        content = self._redact(draft.content)
        known = list(self.records(("discovery",), with_notes=False))
        for kind in _STATEMENTS:
            if kind not in (draft.kind, "discovery"):
                near = self.project.find_nearest(content, kind)
                known += [near.holding] if near and near.relation == "supersedes" else []
        return tuple(
            one
            for one in known
            if is_successor(one.content, content)
            and not (one.files and draft.examples and set(one.files).isdisjoint(draft.examples))
        )

    def _archive_refuted(self, refuted: Sequence[MemoryRecord], new: MemoryRecord) -> list[MemoryRecord]:
        """Archive memories that a new one replaces, and return those that were archived."""
        others = [one for one in refuted if one.id != new.id]
        gone = list(self.ltm.supersede({one.id: new.id for one in others if one.kind in PROJECT_KINDS}))
        if live := self.project.live([one.id for one in others]):
            self.supersede([one.id for one in live], new, f"replaced by “{shorten_content(new)}”")
        return gone + live

    def supersede(self, ids: Collection[str], new: MemoryRecord | None, what: str) -> int:
        """Let a memory take the place of facts, notes and the like, and return how many there were.

        Those in another file than the memory are archived, and all if it is None.
        """
        count = 0
        for store in self._typed.values():
            if live := [record.id for record in store.live(tuple(ids))]:
                if new is not None and store.has(new.id):
                    count += store.supersede(live, new, what)
                else:
                    count += store.forget_all(live, what, "outweighed")
        return count

    def _save(
        self, draft: MemoryDraft, provenance: Provenance | None, target: Scope, contradicts: str | None = None
    ) -> Saved:
        """Save a memory in the file of its kind and scope. contradicts: id of a discovery of the user."""
        if draft.kind in PROJECT_KINDS:
            return self.ltm.add(draft, provenance or Provenance())
        content = self._redact(draft.content)
        if draft.kind == "preference" and provenance is not None and provenance.asserted_by != "user":
            # What it says about a rule of the user is compared with that rule, in whichever scope it is.
            for name, store in self._typed.items():
                near = store.find_nearest(content, "preference")
                if near and is_lasting(near.holding) and near.holding.is_stated_by_user:
                    target = name
        return self._typed[target].remember(
            content,
            draft.kind,
            draft.importance,
            self.decide,
            examples=redact_value(draft.examples, self._redact),
            keywords=redact_value(draft.keywords, self._redact),
            explicit=draft.explicit,
            provenance=provenance,
            confidence=default_confidence(provenance) if draft.confidence is None else draft.confidence,
            hashes=self._examples.hashes(draft.examples) if draft.examples else {},
            created=draft.created,
            variants_of=contradicts,
        )

    def update(self, id: str, **changes: Any) -> MemoryRecord:
        """Change fields of a memory; a discovery and the like then counts as confirmed.

        Args:
            changes: fields of `MemoryDraft`, and provenance. A fact, event, note or preference has content, importance
                and examples.
        """
        if self.get(id).kind in PROJECT_KINDS:
            return self.ltm.update(id, **changes)
        store, record = self._holding(id)
        if "content" in changes:
            changes["content"] = self._redact(check_content(changes["content"]))
        if examples := redact_value(changes.pop("examples", ()), self._redact):
            changes |= {"examples": examples, "hashes": self._examples.hashes(examples)}
        return store.update(record.id, **changes)

    def forget(self, *ids: str) -> tuple[MemoryRecord, ...]:
        """Move memories of any kind to the archive as one change; a keyed note is deleted, `undo` restores it.

        Nothing is changed if one of the ids is unknown.
        """
        found = {record.id: record for record in map(self.get, ids)}
        project_ids = [id for id, record in found.items() if record.kind in PROJECT_KINDS]
        others = [record for record in found.values() if record.kind not in PROJECT_KINDS]
        others += [variant for id in project_ids for variant in self.variants(id) if variant.id not in found]
        is_group = len(others) + bool(project_ids) > 1
        with self.logs.group(f"forgot {format_count(len(found), 'memory')}") if is_group else nullcontext():
            if project_ids:
                self.ltm.forget(project_ids)
            for record in others:
                if record.key:
                    with self._logging_note(record.key, None):
                        self.keyed_notes.delete(record.key)
                else:
                    self._holding(record.id)[0].forget(record.id)
        return tuple(found.values())

    def restore(self, id: str) -> MemoryRecord:
        """Bring a memory back from the archive. Raises UserError if the archive has none with this id."""
        if is_project_id(id):
            return self.ltm.restore(id)
        for store in self._typed.values():
            found = {record.id: record for record in store.archived() if record.id.endswith(id.lower())}
            if len(found) == 1:
                [wanted] = found.values()
                for twin in store.records():
                    if twin.id != wanted.id and not twin.is_variant and has_same_text(twin.content, wanted.content):
                        handle = twin.id[-SHORT_ID:]
                        raise UserError(tr("{handle} says the same; nothing was restored", handle=handle))
                return store.restore(wanted.id)
        raise UserError(tr("the archive has no memory {id!r}; `/memory list archive` shows what it has", id=id))

    def take_back(self, *replacements: Replacement) -> tuple[tuple[MemoryRecord, ...], tuple[MemoryRecord, ...]]:
        """Archive memories that took the place of others, and let those hold again, as one change.

        Returns the memories that are gone and those that hold again. What has changed since stays.
        """
        gone: list[MemoryRecord] = []
        back: list[MemoryRecord] = []
        with self.group("; ".join(f"took back “{shorten_content(one.new)}”" for one in replacements)):
            for one in replacements:
                with suppress(UserError):  # it is gone already
                    now = self.get(one.new.id)
                    if now.content == one.new.content:
                        gone.append(now)
                        back += self._put_back(one)
        return tuple(gone), tuple(back)

    def _put_back(self, one: Replacement) -> Iterator[MemoryRecord]:
        if one.is_new:
            self.forget(one.new.id)
        for old in one.old:
            with suppress(UserError):  # the archive does not have it any more, or another memory says the same
                if old.id == one.new.id:
                    yield self.update(old.id, content=old.content, score=old.score)
                elif old.kind in PROJECT_KINDS:
                    yield self.ltm.restore(old.id)
                elif not self.live([old.id]):
                    stores = self._typed.values()
                    # A superseded memory is still in its file, an archived one is not.
                    known = [store for store in stores if store.has(old.id)]
                    known = known or [store for store in stores if any(one.id == old.id for one in store.archived())]
                    yield from (store.put_back(old) for store in known[:1])

    def move(self, id: str, scope: Scope) -> MemoryRecord:
        """Move a fact, event, note or preference with its history to the other scope."""
        if is_project_id(id):
            raise UserError(
                tr(
                    "{id} is about this project and stays in it (ltm.json); /memory remember TEXT --scope "
                    "user saves a text for all projects",
                    id=id,
                )
            )
        store, record = self._holding(id)
        if store.scope == scope:
            raise UserError(tr("this memory is already in {scope} memory", scope=scope))
        with self.group(f"moved “{shorten_content(record)}” to {scope} memory"):
            return store.move(record.id, self._typed[scope])

    def make_shareable(self, *ids: str) -> tuple[MemoryRecord, ...]:
        """Store facts of `memories.json` in `ltm.json`, whose memories a team can share, as one change.

        Raises UserError for a memory of another kind, and for one of the user's; then nothing is changed.
        """
        facts = [self.get(id) for id in ids]
        for record in facts:
            if record.kind != "fact" or record.is_variant:
                kind = "keyed note" if record.key else record.kind_label
                raise UserError(
                    tr(
                        "“{content}” is private: a {kind} is never shared, only facts are",
                        content=shorten_content(record),
                        kind=kind,
                    )
                )
            if self.scope_of(record.id) == "user":
                step = f"`/memory move {record.id[-SHORT_ID:]} project` moves it to this project first"
                raise UserError(
                    tr("“{content}” is yours, for all projects; {step}", content=shorten_content(record), step=step)
                )
        with self.group(f"made {format_count(len(facts), 'fact')} shareable"):
            return tuple(map(self._move_to_ltm, facts))

    def _move_to_ltm(self, fact: MemoryRecord) -> MemoryRecord:
        draft = MemoryDraft(kind="discovery", content=fact.content, confidence=fact.confidence, examples=fact.files)
        saved = self.ltm.add(draft, fact.provenance or Provenance()).record
        self.project.forget(fact.id)  # last, so that a process that dies leaves it in both files and not in neither
        return saved

    def prune(
        self, *, max_age_days: float = MAX_AGE_DAYS, min_confidence: float = MIN_CONFIDENCE, dry_run: bool = False
    ) -> Pruned:
        """Move old and doubtful memories to the archive as one change; see `LongTermMemory.prune`.

        Keyed notes, hard limits and explicit preferences stay.
        """
        from clio.memory.store.ltm_store import find_prunable

        project = self.ltm.prune(max_age_days=max_age_days, min_confidence=min_confidence, dry_run=True)
        now = self._clock()
        removed, why = list(project.removed), dict(project.why)
        kept = project.kept + len(self.notes())
        found: list[tuple[TypedStore, dict[str, PruneReason]]] = []
        for store in self._typed.values():
            records = store.records()
            candidates = [record for record in records if not is_lasting(record)]
            reasons = find_prunable(candidates, now=now, max_age_days=max_age_days, min_confidence=min_confidence)
            found.append((store, reasons))
            removed += [record for record in records if record.id in reasons]
            kept += len(records) - len(reasons)
            why |= reasons
        if not dry_run:
            what = f"pruned {format_count(len(removed), 'memory')}"
            with self.group(what) if len(removed) > len(project.removed) else nullcontext():
                self.ltm.prune(max_age_days=max_age_days, min_confidence=min_confidence)
                for store, reasons in found:
                    for because in dict.fromkeys(reasons.values()):
                        store.forget_all([id for id, why in reasons.items() if why == because], what, because)
        return Pruned(removed=tuple(removed), kept=kept, dry_run=dry_run, why=why)

    def compact(self) -> Compacted:
        """Archive faded facts, events, notes and preferences, and merge duplicates; see `TypedStore.compact`."""
        done = [store.compact(self.decide) for store in self._typed.values() if store.count()]
        return Compacted(
            removed=sum(one.removed for one in done),
            remaining=sum(one.remaining for one in done),
            merged=sum(one.merged for one in done),
        )

    def stats(self) -> MemoryStats:
        """Return the numbers of all memories: those of the project, the user's, and the keyed notes."""
        records, ltm, now = self.records(), self.ltm, self._clock()
        stated = [record for record in records if not record.key]
        freshness = self.freshness(records)
        counts = Counter(KEYED_NOTE if record.key else record.kind for record in records)
        states = Counter(freshness.get(record.id, "unbound") for record in stated)
        said = Counter(record.author or "unknown" for record in stated)
        dated = [record.updated for record in records if record.updated]
        return MemoryStats(
            total=len(records),
            counts={kind: counts[kind] for kind in ALL_KINDS},
            ages=_count_ages(records, now),
            confidences=_count_confidences(stated),
            asserted=dict(sorted(said.items())),
            freshness={state: states[state] for state in _STATES},
            archived=len(self.archived()),
            file_bytes=ltm.size() + sum(store.size() for store in self._typed.values()),
            archive_bytes=self.logs.project.size() + self.logs.user.size(),
            oldest=min(dated, default=0.0),
            newest=max(dated, default=0.0),
            last_pruned=to_number(ltm.document().metadata.get("last_pruned"), 0.0),
        )

    # History

    def history(self, id: str) -> "tuple[Version, ...]":
        """Return every version of a memory and of those it replaced or that replaced it, oldest first.

        The memory may have left for the archive.
        """
        from clio.memory.store.versions import select_lineage

        return select_lineage(self.versions(), {version.record.id for version in self._history_of(id)})

    def _history_of(self, id: str) -> "tuple[Version, ...]":
        """Return the same of those in the file of the memory."""
        if is_project_id(id):
            return self.ltm.history(id)
        with suppress(UserError):
            store, record = self._holding(id)
            return store.versions(record.id)
        errors: list[UserError] = []
        for store in self._typed.values():
            try:
                return store.versions(id)
            except UserError as error:
                errors.append(error)
        raise errors[0]

    def versions(self, kinds: Collection[str] = ALL_KINDS) -> "tuple[Version, ...]":
        """Return every version of all memories of these kinds, oldest first, archived ones too."""
        found: list[Version] = []
        if not set(kinds).isdisjoint(TYPED_KINDS):
            for store in self._typed.values():
                # One that was moved has versions in both stores; those of the store that has it now count.
                found += (
                    version
                    for version in store.versions()
                    if store.has(version.record.id)
                    or not any(one.has(version.record.id) for one in self._typed.values())
                )
        if not set(kinds).isdisjoint(PROJECT_KINDS):
            found += self.ltm.versions()
        return tuple(found)

    def changes(self) -> "list[MemoryChange]":
        """Return every change of all memories, newest first."""
        from clio.memory.store.versions import list_changes, list_undone_removals

        logs = dict.fromkeys((self.logs.project, self.logs.user))
        undone = [one for log in logs for one in list_undone_removals(log.read_changes())]
        return list_changes(self.versions(), undone)

    def successor(self, id: str) -> MemoryRecord | None:
        """Return the live memory that replaced this one, None if there is none, as after it was forgotten."""
        for store in self._typed.values():
            with suppress(UserError):
                others = [record.id for record in store.history(id) if record.id != id]
                return next((record for record in reversed(store.live(others)) if not record.is_variant), None)
        return None

    def describe_replaced(self, texts: Sequence[str]) -> list[str]:
        """Return for each text of a conversation a remark if it states a memory that another has replaced, else ""."""
        said = [frozenset(extract_terms(text)) for text in texts]
        remarks = [""] * len(texts)
        for version in self.versions(_STATEMENTS) if texts else ():
            old, terms = version.record, frozenset(extract_terms(version.record.content))
            places = [place for place, known in enumerate(said) if terms <= known]
            if not places or version.until is None or version.because not in ("superseded", "changed"):
                continue
            new = self.successor(old.id) if version.because == "superseded" else next(iter(self.live([old.id])), None)
            if new is None or new.content == old.content:
                continue
            for place in places:
                if not frozenset(extract_terms(new.content)) <= said[place]:
                    remarks[place] = f"replaced since: {new.content}"
        return remarks

    def is_removed(self, id: str) -> bool:
        """Whether a memory of any kind was forgotten, pruned or undone, and no other memory took its place."""
        try:
            versions = self._history_of(id)
        except UserError:
            return True
        return all(one.until is not None and one.because not in ("merged", "superseded") for one in versions[-1:])

    def archived(self) -> tuple[MemoryRecord, ...]:
        """Return the forgotten, replaced and pruned memories: those of `ltm.json` first; the last to leave first."""
        found = {record.id: record for record in self.ltm.archived()}
        for store in self._typed.values():
            # A memory that was moved is in the archive of one scope, but lives in the other.
            elsewhere = {id for other in self._typed.values() if other is not store for id in other.index.records}
            found |= {record.id: record for record in reversed(store.archived()) if record.id not in elsewhere}
        return tuple(found.values())

    def group(self, title: str) -> AbstractContextManager[None]:
        """Let all changes made meanwhile be undone as one."""
        return self.logs.group(title)

    def undo(self) -> str:
        """Undo the last change of either scope; return a sentence that names it."""
        return undo_last(
            self.logs,
            self.revert,
            lambda change: change.store == "session" or self._store_of(change).was_made(change),
        )

    def revert(self, change: Change) -> None:
        """Undo a change of any memory. Raises UserError if it was changed since."""
        if change.store != "session":
            self._store_of(change).revert(change)

    def _store_of(self, change: Change) -> "TypedStore | LongTermMemory | Notes":
        if change.store == "memory":
            return self._typed["user" if change.key == "user" else "project"]
        return self.ltm if change.store == "ltm" else self.keyed_notes

    def _is_known(self, text: str, kind: Kind) -> bool:
        """Return whether a memory of this kind in the project says the same as a text, in any wording."""
        from clio.memory.store.deduplication import is_known

        records = self.records((kind,)) if kind in PROJECT_KINDS else self.project.index.of_kind(kind)
        return is_known(text, (record.content for record in records))

    def _set_note(self, key: str, content: str) -> Saved:
        """Write a keyed note. Raises ValueError for a key that no note can have."""
        key, content = self._redact(key), self._redact(content)
        with self._logging_note(key, content):
            is_new = self.keyed_notes.store(key, content)
        record = _note_record(key, content, round(self._clock(), 3))
        return Saved(record=record, action="new" if is_new else "replaced")

    def _logging_note(self, key: str, content: str | None) -> AbstractContextManager[None]:
        """Log that a note gets this content, or is deleted if it is None; the body then does it."""
        from clio.memory.store.notes import make_note_change

        change = make_note_change(key, self.keyed_notes.retrieve(key), content, at=self._clock())
        return self.logs.project.write_ahead(change)

    def _holding(self, id: str) -> tuple[TypedStore, MemoryRecord]:
        """Return the one fact, event, note or preference that an id names, and its store."""
        holding: dict[str, TypedStore] = {}
        for store in self._typed.values():
            holding = dict.fromkeys(store.like(id), store) | holding  # one that is being moved may be in both
        known = choose_id(id, holding)
        return holding[known], holding[known].find(known)


_SAME_TO_THE_USER: dict[Kind, Kind] = {"discovery": "fact", "fact": "discovery"}
"""A fact of the project can be saved as either kind.

A model saves "remember that …" as a discovery after clio itself has saved it as a fact; the second one confirms the
first.
"""


_STATEMENTS: tuple[Kind, ...] = ("discovery", "fact", "note")
"""Kinds in which a user states what is true now: a later statement of any of them replaces an earlier one."""


def _note_record(key: str, content: str, at: float) -> MemoryRecord:
    return MemoryRecord(id=key, kind="note", content=content, key=key, created=at, updated=at)


_AGES = (("a day", 1), ("a week", 7), ("a month", 30), ("3 months", 90), ("a year", 365))


_STATES: tuple[Freshness, ...] = ("fresh", "drifted", "gone", "unbound")


def _count_ages(entries: Sequence[MemoryRecord], now: float) -> tuple[HistogramBar, ...]:
    labels = [*(f"within {name}" for name, _ in _AGES), "older", "undated"]
    counts = Counter[str]()
    for entry in entries:
        days = (now - entry.updated) / DAY_S
        fits = (label for label, (_, limit) in zip(labels, _AGES, strict=False) if days <= limit)
        counts["undated" if not entry.updated else next(fits, "older")] += 1
    return tuple(HistogramBar(label=label, count=counts[label]) for label in labels)


def _count_confidences(entries: Sequence[MemoryRecord]) -> tuple[HistogramBar, ...]:
    fifths = Counter(min(int(entry.confidence * 5 + 1e-9), 4) for entry in entries)
    return tuple(
        HistogramBar(label=tr("{low:.1f} to {high:.1f}", low=fifth / 5, high=(fifth + 1) / 5), count=fifths[fifth])
        for fifth in range(5)
    )
