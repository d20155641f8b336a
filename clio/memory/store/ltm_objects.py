"""The JSON objects in `ltm.json`: check, add, confirm, change, import and compare them, and restore former states.

Pure functions: nothing here reads or writes a file.
"""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

import msgspec
from msgspec import Struct, structs

from clio.errors import UserError
from clio.memory.statement_relation import relate_statements
from clio.memory.store.change_log import End
from clio.memory.store.deduplication import find_less_trusted, merge_records
from clio.memory.store.ltm_codec import (
    SHAPES,
    Json,
    LtmDocument,
    assign_handles,
    decode_ltm,
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
    write_record,
)
from clio.memory.store.record import (
    TRUST,
    Kind,
    MemoryRecord,
    Provenance,
    get_kind_label,
    is_other_version,
    redact_json,
)
from clio.text.translation import tr

# New and changed objects

MAX_CHARS = 10_000
"""Maximum length of each text of a memory; a longer text is stored as a note."""
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


def replace_surrogates(text: str) -> str:
    """Return the text as valid Unicode, with a question mark for each lone surrogate."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _clean_texts(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(clean for text in texts if (clean := replace_surrogates(text).strip())))


# Statements that are made again


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


_OTHER_TEXTS = ("name", "impact", "other_impacts", "prevention", "other_preventions", "examples")
"""The fields whose texts do not belong to the identity of a memory."""


def merge_object(
    raw: Json, new: MemoryRecord, now: float = 0.0, *, forgotten: bool = False, is_copy: bool = False
) -> None:
    """Merge a statement of the same meaning into an object, see `merge_records`.

    Texts that the more trusted of the two sources did not state are stored in `quoted`, which is never shown.

    Args:
        forgotten: the user removed the memory, so confidence and provenance are those of the new statement.
        is_copy: the statement is from another file, so counts and times become the higher of the two, and reading the
            same file twice changes nothing.
    """
    was = old = to_record(new.kind, raw, "")
    if forgotten:
        old = structs.replace(was, confidence=new.confidence, provenance=new.provenance, confirmations=())
    if (less_trusted := find_less_trusted(old, new)) is not None:
        said, other = (to_raw(one) for one in (less_trusted, new if less_trusted is old else old))
        texts = {name: said[name] for name in _OTHER_TEXTS if said.get(name) and said[name] != other.get(name)}
        former = raw.get("quoted")
        quoted: list[Any] = cast(list[Any], former) if isinstance(former, list) else []
        if texts and texts not in quoted:
            raw["quoted"] = [*quoted, texts]
    merged = merge_records(old, new, max(now, old.updated, new.updated if is_copy else 0.0))
    if is_copy:
        rate = merged.success_rate if old.success_rate is None else old.success_rate
        merged = structs.replace(merged, times=max(old.times, new.times), success_rate=rate)
    write_record(raw, was, merged)


def adopt_rule_path(section: Iterable[Any], new: Json) -> None:
    """Write the path of a new rule in the form that the file already has."""
    wanted = normalize_rule_path(to_text(new.get("context")))
    for raw in section:
        if isinstance(raw, dict):
            path = to_text(cast(Json, raw).get("context"))
            if path and normalize_rule_path(path) == wanted:
                new["context"] = path
                return


def get_confirmed_at(raw: Json) -> float:
    """Return when an object was last confirmed."""
    return max(to_number(raw.get("updated"), 0.0), to_number(raw.get("timestamp"), 0.0))


# Former states, for undo and for versions


class ArchivedMemory(Struct, frozen=True, kw_only=True):
    """An archived memory: its JSON object, when and why it was archived."""

    kind: str
    archived: float
    because: str
    entry: Json

    @property
    def known_kind(self) -> Kind | None:
        """Return its kind; None if this clio does not know the kind, or the object is no memory of it."""
        return next((kind for kind in SHAPES if kind == self.kind and is_ltm_object(kind, self.entry)), None)

    @property
    def record(self) -> MemoryRecord | None:
        """Return it as a memory; None if its kind is not known."""
        kind = self.known_kind
        return to_record(kind, self.entry, get_handle(self.entry)) if kind else None


class ObjectState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One object of the file at one moment. kept: set if it was in the archive, not in the file."""

    kind: Kind
    id: str
    place: int = 0
    entry: Json = {}
    kept: ArchivedMemory | None = None

    @property
    def record(self) -> MemoryRecord:
        """Return the object as a memory."""
        return to_record(self.kind, self.entry, self.id)


def capture_state(document: LtmDocument, kind: Kind, handle: str, raw: Json, place: int | None = None) -> ObjectState:
    """Return a copy of an object as it is now."""
    where = document.place(kind, raw) if place is None else place
    return ObjectState(kind=kind, id=handle, place=where, entry=copy.deepcopy(raw))


def is_in_state(document: LtmDocument, pieces: Sequence[ObjectState], handles: set[str]) -> bool:
    """Return whether the file has exactly these objects for these ids."""
    wanted = {one.id: one.entry for one in pieces if one.kept is None}
    found = {handle: raw for handle, (_, raw) in document.by_handle().items() if handle in handles}
    return found == wanted


def restore_states(document: LtmDocument, before: Sequence[ObjectState], after: Sequence[ObjectState]) -> None:
    """Restore the objects of `before`: remove added ones, and insert removed ones at their places."""
    known, kept = document.by_handle(), {one.id: one for one in before if one.kept is None}
    for one in after:
        kind, raw = known[one.id]
        if one.id in kept:
            raw.clear()
            raw.update(kept[one.id].entry)
        else:
            del document.section(kind)[document.place(kind, raw)]
    for one in sorted(kept.values(), key=lambda one: one.place):
        if one.id not in known:
            document.section(one.kind).insert(one.place, one.entry)


def find_ends(
    before: Sequence[ObjectState],
    after: Sequence[ObjectState],
    leaving: Mapping[str, End] = MappingProxyType({}),
) -> dict[str, End]:
    """Return how the objects of `before` end as they become those of `after`, by id.

    leaving: how those end that are removed; default: forgotten.
    """
    later = {one.id: one for one in after if one.kept is None}
    found: dict[str, End] = {}
    for one in before:
        if one.kept is None and one.id not in later:
            found[one.id] = leaving.get(one.id, End(because="forgotten"))
        elif one.kept is None and is_other_version(one.record, later[one.id].record):
            found[one.id] = End(because="changed")
    return found


def set_since(raw: Json, now: float) -> None:
    """Set the time since when an object has its present meaning; a value of another program stays."""
    if isinstance(raw.get("since", now), int | float):
        raw["since"] = now


# Memories of another file


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
    raw.pop("confirmations", None)  # of sessions that nobody here can look at
    return raw
