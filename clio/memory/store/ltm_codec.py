"""`ltm.json` as one changeable document: every section is there, every unknown field stays where it was."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Struct, structs

from clio.errors import NewerDocument
from clio.memory.store.ltm_objects import EVERYWHERE, SHAPES, Json, handles, is_entry, string, to_entry
from clio.memory.store.record import PROJECT_KINDS, Kind, Knowledge, MemoryRecord
from clio.storage.documents import check_version, make_corrupt_error, set_file_aside
from clio.storage.files import read_regular, write_atomic
from clio.storage.locks import FileLock
from clio.text.json_data import decode_json

if TYPE_CHECKING:
    from clio.memory.team.statement import Living

MAJOR_VERSION = 1
_VERSION = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,4}){0,3}")
_LISTS = tuple(shape.section for kind, shape in SHAPES.items() if kind != "rule")
_DETAILS = "context_rule_details"


class Shared(Struct, frozen=True, kw_only=True, eq=False):
    """An object that came from the shared folder: what it is there, itself, and its JSON when it was read."""

    living: "Living"
    raw: Json
    was: bytes

    @property
    def before(self) -> Json:
        """The object as it was when it was read."""
        return decode_json(self.was)

    @property
    def is_changed(self) -> bool:
        """Whether it is other than it was."""
        return msgspec.json.encode(self.raw) != self.was


class LtmDocument:
    """The document, and its entries kind by kind as plain objects; changing those changes the document.

    Rules lie in the file as `{"path": ["rule", …]}`; here each is an object like all others, and `encode` puts what
    that layout has no room for into `metadata.context_rule_details`.

    shares: whether it was read with what is shared; only then may any of it be written there.
    shared: the objects that came from the shared folder, by their `id()`.
    private: all that lay in the file when it was read, by its `id()`.
    """

    def __init__(self, document: object) -> None:
        """Raises ValueError where a section is there and is not of its kind."""
        self._whole = _object(document, "the document")
        self._patterns = _object(self._whole.setdefault("patterns", {}), "'patterns'")
        self.metadata = _object(self._whole.setdefault("metadata", {}), "'metadata'")
        for name in _LISTS:
            if not isinstance(self._patterns.setdefault(name, []), list):
                raise ValueError(f"{name!r} is not a list")
        rules = self._patterns.setdefault("context_rules", {})
        if not isinstance(rules, dict | list):
            raise ValueError("'context_rules' is neither an object nor a list")
        self._rules = _read_rules(cast("Json | list[Any]", rules), self.metadata.get(_DETAILS))
        self.shares = False
        self.shared: dict[int, Shared] = {}
        self.private: dict[int, object] = {}

    @property
    def stated_version(self) -> object:
        """What the whole calls its version; clio's own files have none there."""
        return self._whole.get("version")

    def drop_wrong_texts(self) -> int:
        """Take out the entries whose text is of another type than text; how many they were."""
        dropped = 0
        for kind, shape in SHAPES.items():
            if kind == "rule":  # of which the original wrote several forms
                continue
            section = self.section(kind)
            sound = [raw for raw in section if not _has_wrong_text(raw, shape.text)]
            dropped += len(section) - len(sound)
            section[:] = sound
        return dropped

    def section(self, kind: Kind) -> list[Any]:
        """The objects of a kind, and whatever else lies among them."""
        return self._rules if kind == "rule" else cast(list[Any], self._patterns[SHAPES[kind].section])

    def raws(self, kind: Kind) -> Iterator[Json]:
        """The objects of a kind that are entries."""
        return (raw for raw in self.section(kind) if is_entry(kind, raw))

    def all(self) -> list[tuple[Kind, Json]]:
        """All objects that are entries, kind by kind."""
        return [(kind, raw) for kind in PROJECT_KINDS for raw in self.raws(kind)]

    def knowledge(self) -> Knowledge:
        """All entries."""
        found = self.all()
        return Knowledge(
            entries=tuple(
                self._entry(kind, raw, handle) for (kind, raw), handle in zip(found, handles(found), strict=True)
            )
        )

    def by_handle(self) -> dict[str, tuple[Kind, Json]]:
        """Each entry by its handle."""
        found = self.all()
        return dict(zip(handles(found), found, strict=True))

    def one(self, wanted: Json) -> MemoryRecord:
        """One of its objects as an entry, under the handle it has among all of them."""
        return next(self._entry(kind, raw, id) for id, (kind, raw) in self.by_handle().items() if raw is wanted)

    def handle(self, wanted: Json) -> str:
        """The handle of one of its objects."""
        return next(id for id, (_, raw) in self.by_handle().items() if raw is wanted)

    def place(self, kind: Kind, wanted: Json) -> int:
        """Where in its section an object stands."""
        return next(place for place, raw in enumerate(self.section(kind)) if raw is wanted)

    def touch(self, now: float) -> None:
        """Note in the metadata that it was changed."""
        self.metadata.setdefault("created", now)
        self.metadata.setdefault("version", f"{MAJOR_VERSION}.0")
        self.metadata["last_updated"] = now

    def encode(self, *, private: bool = False) -> bytes:
        """Its bytes, as readable as JSON can be. private: without what lies in the shared folder."""

        def kept(section: list[Any]) -> list[Any]:
            stays = self.private
            return [raw for raw in section if not private or id(raw) in stays]

        patterns, metadata = dict(self._patterns), dict(self.metadata)
        for name in _LISTS:
            patterns[name] = kept(cast(list[Any], patterns[name]))
        _write_rules(kept(self._rules), patterns, metadata)
        whole = self._whole | {"patterns": patterns, "metadata": metadata}
        return msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n"

    def _entry(self, kind: Kind, raw: Json, handle: str) -> MemoryRecord:
        entry = to_entry(kind, raw, handle)
        if found := self.shared.get(id(raw)):
            return structs.replace(
                entry, by=", ".join(found.living.by), members=len(found.living.by), rivals=found.living.rivals
            )
        return entry


def read_ltm(path: Path) -> LtmDocument:
    """The document at `path`, an empty one where there is none.

    Raises CorruptDocument after setting the file aside, NewerDocument, OSError.
    """
    try:
        data = read_regular(path)
    except FileNotFoundError:
        data = b"{}"
    try:
        document = decode_ltm(data)
        refuse_newer(document, str(path))
    except ValueError as error:
        raise make_corrupt_error(path, set_file_aside(path), str(error)) from error
    if dropped := document.drop_wrong_texts():
        _keep_sound(path, data, document, dropped)
    return document


def _keep_sound(path: Path, data: bytes, document: LtmDocument, dropped: int) -> None:
    """Set the file aside and leave the sound entries in its place; raises CorruptDocument to say so, once.

    Where another clio, or this one, is about to change the file it is left for the next time.
    """
    lock = FileLock(path.with_name(path.name + ".lock"))
    try:
        if not lock.acquire() or read_regular(path) != data:
            return
        moved = set_file_aside(path, keep=True)
        if moved is not None:
            write_ltm(path, document)
    except OSError:
        return  # nothing can be written here, so the entries stay where they are, passed over
    finally:
        lock.release()
    if moved is not None:
        raise make_corrupt_error(path, moved, f"{dropped} of its entries have no text; all others stay in use")


def _has_wrong_text(raw: object, name: str) -> bool:
    return isinstance(raw, dict) and not isinstance(cast(Json, raw).get(name, ""), str | None)


def decode_ltm(data: bytes) -> LtmDocument:
    """The document in `data`. Raises ValueError."""
    return LtmDocument(decode_json(data))


def refuse_newer(document: LtmDocument, name: str) -> None:
    """Raise NewerDocument for a version this clio does not know, ValueError for what is none."""
    if (major := _major(document)) > MAJOR_VERSION:
        raise NewerDocument(f"{name!r} has version {major} and this clio knows {MAJOR_VERSION}; update clio.")


def _major(document: LtmDocument) -> int:
    """The version's first number. Raises ValueError where it is no version: then the file is damaged."""
    outer = document.stated_version
    if outer is not None:
        check_version(outer)
    stated: object = document.metadata.get("version", MAJOR_VERSION)
    if not isinstance(stated, str | int | float) or isinstance(stated, bool):
        raise ValueError(f"its version is {str(stated)[:40]!r}, which is not a version number")
    if _VERSION.fullmatch(str(stated)) is None:
        raise ValueError(f"its version is {str(stated)[:40]!r}, which is not a version number")
    return int(str(stated).partition(".")[0])


def write_ltm(path: Path, document: LtmDocument, *, private: bool = False) -> None:
    """Replace the file. private: by what does not lie in the shared folder. Raises OSError, the old one still there."""
    write_atomic(path, document.encode(private=private))


def _read_rules(rules: "Json | list[Any]", details: object) -> list[Any]:
    """Every rule as an object of its own; items that are no rules as they are, under the path they lie at."""
    if isinstance(rules, list):  # as the seed draws it; the original writes an object
        return [_listed_rule(item) for item in rules]
    known = cast(Json, details) if isinstance(details, dict) else {}
    found: list[Any] = []
    for path, value in rules.items():
        of_path = known.get(path)
        more = cast(Json, of_path) if isinstance(of_path, dict) else {}
        for item in cast(list[Any], value) if isinstance(value, list) else [value]:
            detail = more.get(item) if isinstance(item, str) else None
            found.append((cast(Json, detail) if isinstance(detail, dict) else {}) | {"rule": item, "context": path})
        if value == []:
            found.append({"context": path, "empty": True})
    return found


def _listed_rule(item: Any) -> Any:
    if isinstance(item, str):
        return {"rule": item, "context": EVERYWHERE}
    if not isinstance(item, dict):
        return {"rule": item, "context": EVERYWHERE}
    raw = cast(Json, item)
    text = next((raw[name] for name in ("rule", "text") if isinstance(raw.get(name), str)), raw)
    path = next((raw[name] for name in ("context", "path") if isinstance(raw.get(name), str)), EVERYWHERE)
    return raw | {"rule": text, "context": path} if text is not raw else {"rule": raw, "context": path}


def _write_rules(found: list[Any], patterns: Json, metadata: Json) -> None:
    rules: dict[str, list[Any]] = {}
    details: dict[str, Json] = {}
    for raw in cast(list[Json], found):
        path = string(raw.get("context")) or EVERYWHERE
        at_path = rules.setdefault(path, [])
        if "rule" not in raw:
            continue
        at_path.append(raw["rule"])
        more = {name: value for name, value in raw.items() if name not in ("rule", "context")}
        if more and isinstance(raw["rule"], str):
            details.setdefault(path, {})[raw["rule"]] = more
    patterns["context_rules"] = rules
    if details:
        metadata[_DETAILS] = details
    else:
        metadata.pop(_DETAILS, None)


def _object(value: object, what: str) -> Json:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not an object")
    return cast(Json, value)
