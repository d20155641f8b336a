"""Typed memories of both scopes behind one set of methods: facts, events and notes of a project, preferences."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from clio.errors import UserError
from clio.memory.store.change_log import Change, ScopeLogs
from clio.memory.store.example_files import ExampleFiles
from clio.memory.store.record import MemoryRecord, Provenance, Saved, check_content, check_type, short
from clio.memory.store.typed_index import Ranked
from clio.memory.store.typed_store import DEFAULT_LIMIT, Compacted, Decide, Scope, TypedStore
from clio.text.vocabulary import parse_question_words

if TYPE_CHECKING:
    from clio.memory.store.versions import Version

SCOPES: tuple[Scope, ...] = ("project", "user")
FILE = "memories.json"


class Memories:
    """What is remembered in a project and of its user.

    project: the project's folder; home: clio's own, where the person's memories lie.
    redact: applied to every text before it is stored. logs: where each change is logged.
    decide: asks a model whether two memories that are half alike are one; None keeps both.
    """

    def __init__(
        self,
        project: Path,
        home: Path,
        *,
        logs: ScopeLogs,
        redact: Callable[[str], str],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._redact = redact
        self._examples = ExampleFiles(project)
        self.decide: Decide | None = None
        self._stores: dict[Scope, TypedStore] = {
            "project": TypedStore(project / ".clio" / FILE, "project", clock=clock, log=logs.project),
            "user": TypedStore(home / FILE, "user", clock=clock, log=logs.user),
        }

    @property
    def user(self) -> TypedStore:
        """The person's memories."""
        return self._stores["user"]

    @property
    def project(self) -> TypedStore:
        """The project's memories."""
        return self._stores["project"]

    def remember(
        self,
        content: str,
        type: str = "note",
        importance: float = 0.5,
        *,
        keywords: Sequence[str] = (),
        files: Sequence[str] = (),
        scope: Scope | None = None,
        explicit: bool = False,
        provenance: Provenance | None = None,
        confidence: float | None = None,
    ) -> Saved:
        """Keep something; see `TypedStore.remember`. A preference is the person's, all else the project's.

        confidence: 0.0 to 1.0; None goes by whose word it is.
        files: paths in the project it is about; that they changed is said whenever it comes back.
        """
        kind = check_type(type)
        store = self._stores[scope or ("user" if kind == "preference" else "project")]
        return store.remember(
            self._redact(content),
            kind,
            importance,
            keywords=[self._redact(word) for word in keywords],
            score=None,
            explicit=explicit,
            provenance=provenance,
            confidence=confidence,
            hashes=self._examples.hashes(list(files)) if files else None,
            decide=self.decide,
        )

    def recall(self, query: str = "", limit: int = DEFAULT_LIMIT, type: str = "") -> tuple[Ranked, ...]:
        """The memories of both scopes that answer a query, best first; they count as used. See `TypedStore.recall`."""
        found = self.peek(query, limit, type)
        self.apply([hit.record.id for hit in found])
        return found

    def peek(self, query: str = "", limit: int = DEFAULT_LIMIT, type: str = "") -> tuple[Ranked, ...]:
        """The same, without any of it counting as used."""
        hits = [hit for store in self._stores.values() for hit in store.peek(query, limit, type)]
        hits.sort(key=lambda hit: (-hit.score, -hit.record.updated, hit.record.id))
        if limit < 0:
            return tuple(hits)
        most = limit or DEFAULT_LIMIT
        if query.strip() or type.strip():
            return tuple(hits[:most])
        tastes = [hit for hit in hits if hit.record.kind == "preference"]
        return (*tastes, *[hit for hit in hits if hit.record.kind != "preference"][:most])

    def matching(self, question: str, most: int) -> list[Ranked]:
        """Up to so many facts, events and notes that share a word with the question, in any of its forms; none is used.

        Variants are left out: what is brought up unasked is what holds.

        Other words for the same count too, so that "db" finds "database", and so do misspelt keywords. Words that
        stand in requests of every kind count where there are no others.
        """
        said = parse_question_words(question)
        telling = [word for word in said if not word.is_common] or said
        found: list[Ranked] = []
        for store in self._stores.values():
            forms = {form for word in telling for form in word.forms}
            forms.update(*(store.keywords_like(word.stem) for word in telling))
            hits = store.peek(frozenset(forms), most, "!preference") if forms else ()
            found += (hit for hit in hits if not hit.record.is_variant)
        return sorted(found, key=lambda hit: -hit.score)[:most]

    def records(self) -> list[MemoryRecord]:
        """All that is live, the project's first."""
        return [record for store in self._stores.values() for record in store.records()]

    def live(self, ids: Sequence[str]) -> list[MemoryRecord]:
        """Those of these ids that nothing has taken the place of, and that are not forgotten."""
        return [record for store in self._stores.values() for record in store.live(ids)]

    def update(
        self,
        id: str,
        *,
        content: str | None = None,
        importance: float | None = None,
        files: Sequence[str] = (),
        provenance: Provenance | None = None,
    ) -> MemoryRecord:
        """Change what is given of a memory. Raises UserError where there is none or nothing is given."""
        store, record = self._holding(id)
        fields: dict[str, object] = {}
        if content is not None:
            fields["content"] = self._redact(check_content(content))
        if importance is not None:
            fields["importance"] = importance
        if files:
            fields["hashes"] = self._examples.hashes(list(files))
        if provenance is not None:
            fields["provenance"] = provenance
        return store.update(record.id, **fields)

    def find(self, id: str) -> MemoryRecord:
        """The memory of that id, or of the only one that begins or ends so. Raises UserError."""
        return self._holding(id)[1]

    def forget(self, id: str) -> bool:
        """Put a memory into the archive; False where there is none of that id."""
        try:
            store, record = self._holding(id)
        except UserError:
            return False
        return store.forget(record.id)

    def count(self) -> dict[Scope, int]:
        """How many are live, by scope."""
        return {"project": self.project.count(), "user": self.user.count()}

    def compact(self) -> Compacted:
        """Compact both scopes; see `TypedStore.compact`."""
        done = [store.compact(self.decide) for store in self._stores.values() if store.count()]
        return Compacted(
            removed=sum(one.removed for one in done),
            remaining=sum(one.remaining for one in done),
            merged=sum(one.merged for one in done),
        )

    def history(self, id: str) -> tuple[MemoryRecord, ...]:
        """A memory with what it took the place of and what took its place, newest first. Raises UserError."""
        store, record = self._holding(id)
        return store.history(record.id)

    def successor(self, id: str) -> MemoryRecord | None:
        """The live memory that took the place of one; None where there is none, as after it was forgotten."""
        for store in self._stores.values():
            with suppress(UserError):
                others = [record.id for record in store.history(id) if record.id != id]
                return next((record for record in reversed(store.live(others)) if not record.is_variant), None)
        return None

    def versions(self, id: str = "") -> "tuple[Version, ...]":
        """Everything memories ever said, and when, the oldest first; see `TypedStore.versions`.

        id: of one memory and its history, also of one that left. Raises UserError.
        """
        if not id:
            return tuple(
                version
                for store in self._stores.values()
                for version in store.versions()
                if store.has(version.record.id) or not any(one.has(version.record.id) for one in self._stores.values())
            )
        with suppress(UserError):
            store, record = self._holding(id)
            return store.versions(record.id)
        error: UserError | None = None
        for store in self._stores.values():
            try:
                return store.versions(id)
            except UserError as found:
                error = error or found
        raise error or UserError(f"there is no memory {id!r}")

    def said_with(self, record: MemoryRecord) -> str:
        """What must be said of a memory that only other sources say, and which memory says otherwise; else empty."""
        if not record.is_variant:
            return ""
        main = next(iter(self.live([record.variants_of or ""])), None)
        return "other sources say" + (f"; surer is: {short(main)}" if main else "")

    def variants(self, id: str) -> tuple[MemoryRecord, ...]:
        """What other sources say that contradicts this memory with less confidence."""
        return tuple(one for store in self._stores.values() for one in store.variants(id))

    def apply(self, ids: Sequence[str]) -> int:
        """Say that these were used in an answer, which keeps them; how many there are of them."""
        used = 0
        for store in self._stores.values():
            mine = [record.id for record in store.live(dict.fromkeys(ids))]
            if mine:
                store.use(mine)
            used += len(mine)
        return used

    def move(self, id: str, scope: Scope) -> MemoryRecord:
        """Take a memory with its history to the other scope. Raises UserError where it is there already."""
        store, record = self._holding(id)
        if store.scope == scope:
            raise UserError(f"this memory is the {scope}'s already")
        return store.move(record.id, self._stores[scope])

    def scope_of(self, id: str) -> Scope:
        """Whose memory that is. Raises UserError."""
        return self._holding(id)[0].scope

    def drifted(self, record: MemoryRecord) -> str:
        """What must be said of a memory whose files have changed since; empty where they have not."""
        [state] = self._examples.freshness([record.hashes])
        return {"drifted": "its file has changed since", "gone": "its file is gone"}.get(state, "")

    def revert(self, change: Change) -> None:
        """Take a change back. Raises UserError where what it touched was changed since."""
        self._stores["user" if change.key == "user" else "project"].revert(change)

    def _holding(self, id: str) -> tuple[TypedStore, MemoryRecord]:
        holding = [(store, meant) for store in self._stores.values() for meant in store.like(id)]
        if len({meant for _, meant in holding}) > 1:
            raise UserError(f"{len(holding)} memories have an id like {id!r}; give more of it")
        for store, meant in holding:
            return store, store.find(meant)
        return self.project, self.project.find(id)  # which says that there is none
