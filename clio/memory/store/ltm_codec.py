"""The layout of `ltm.json`: its objects as memories and back, and the document, in which unknown fields survive.

Every turn reads that file (`LtmReader`), so nothing that only writing needs is imported. Also whether the files that a
memory names as examples have changed since it was stored.
"""

import hashlib
import math
import os
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, cast

import msgspec
from msgspec import Struct, structs

from clio.config.project_links import SHARED_NAME, has_shared_memory
from clio.errors import NewerDocument, UserError
from clio.memory.store.record import (
    DEFAULT_CONFIDENCE,
    PROJECT_KINDS,
    Freshness,
    Kind,
    LtmMemories,
    MemoryRecord,
    Provenance,
)
from clio.storage.documents import check_version, make_corrupt_error, set_file_aside
from clio.storage.files import Stamp, get_stamp, open_regular, read_regular, write_atomic
from clio.storage.locks import FileLock
from clio.text.json_data import decode_json
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr

MAX_FILE_BYTES = 2_000_000
MAX_FILES = 20
"""Of one memory; further examples get no hash."""
_PATH_WITH_LINES = re.compile(r"(.+?):\d+(?:[-:]\d+)?")
_HASH_CHARS = 32
_MENTIONED_PATH = LazyRegex(r"(?<![\w./:@~$*<{-])(?:[\w.-]+/)+(?:[\w.-]*\w)?(?![\w*<{(])", needs="/")
"""A relative path with a folder, as in "the schema is in db/schema.sql"."""
MAX_CHARS = 10_000
"""Maximum length of each text of a memory; a longer text is stored as a note."""


class ExampleFiles:
    """The files of one project. A file is read again only if its size or modification time has changed."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._known: dict[tuple[str, int, int, int], str] = {}

    def hashes(self, examples: Iterable[str]) -> dict[str, str]:
        """Return a hash for each example that is a file of the project of at most 2 MB: half a SHA-256, in hexadecimal.

        Links that lead out of the project, folders, pipes and unreadable files have none.
        """
        root = self._project.resolve()
        found: dict[str, str] = {}
        for example in list(dict.fromkeys(examples))[:MAX_FILES]:
            path = _path(root, example)
            if path and (digest := self._hash(path)):
                found[example] = digest
        return found

    def list_missing(self, examples: Iterable[str]) -> tuple[str, ...]:
        """Return the examples that name a file or folder which does not exist, such as a misspelt one."""
        root = self._project.resolve()
        return tuple(example for example in dict.fromkeys(examples) if _is_missing(root, example))

    def list_missing_mentions(self, text: str) -> tuple[str, ...]:
        """Return the paths in a text that do not exist, although the folder that they begin with does.

        A path of other folders may be on another machine. "client/server" may be no path: of two names without an
        extension neither is looked for.
        """
        root = self._project.resolve()
        paths = dict.fromkeys(found[0] for found in _MENTIONED_PATH.finditer(text))
        return tuple(
            path
            for path in paths
            if (path.endswith("/") or path.count("/") > 1 or "." in path.rpartition("/")[2])
            and path.partition("/")[0] not in (".", "..")
            and (root / path.partition("/")[0]).is_dir()
            and _is_missing(root, path)
        )

    def freshness(self, bound: Iterable[Mapping[str, str]]) -> list[Freshness]:
        """Return for each mapping of examples to hashes whether the files have changed. Each file is read once."""
        root, now = self._project.resolve(), dict[str, str | None]()
        found: list[Freshness] = []
        for row in bound:
            for example in row:
                if example not in now:
                    path = _path(root, example)
                    now[example] = self._hash(path) if path else None
            found.append(_freshness([(now[example], digest) for example, digest in row.items()]))
        return found

    def _hash(self, path: Path) -> str:
        """Return the hash of a regular file; "" if it has none."""
        try:
            with open_regular(path, MAX_FILE_BYTES) as file:
                info = os.fstat(file.fileno())
                key = (str(path), info.st_ino, info.st_size, info.st_mtime_ns)
                if key not in self._known:
                    self._known[key] = hashlib.sha256(file.read(MAX_FILE_BYTES)).hexdigest()[:_HASH_CHARS]
                return self._known[key]
        except OSError:
            return ""


def _freshness(pairs: Sequence[tuple[str | None, str]]) -> Freshness:
    """Return the state from pairs of present and stored hash; None is a missing file."""
    if not pairs:
        return "unbound"
    if all(now is None for now, _ in pairs):
        return "gone"
    return "fresh" if all(now == digest for now, digest in pairs) else "drifted"


def _list_names(example: str) -> tuple[str, ...]:
    """Return the file names that an example may mean: itself, and of `path:12` or `path:12-20` also the path."""
    match = _PATH_WITH_LINES.fullmatch(example)
    return (example, match[1]) if match else (example,)


def _path(root: Path, example: str) -> Path | None:
    """Return the file that an example names; None if there is none."""
    for name in _list_names(example):
        try:
            path = (root / name).resolve()
            if path.is_relative_to(root) and path.is_file():
                return path
        except (OSError, ValueError, RuntimeError):
            continue  # a name no file can have, a circle of links
    return None


def _is_missing(root: Path, example: str) -> bool:
    """Whether an example names a file or folder that does not exist; addresses and texts of several lines do not."""
    if "://" in example or "\n" in example:
        return False
    try:
        return not any((root / Path(name).expanduser()).exists() for name in _list_names(example))
    except (OSError, ValueError, RuntimeError):
        return False


def get_stored_hashes(raw: Mapping[str, Any]) -> dict[str, str]:
    """Return the hashes that an object of the file stores for its examples."""
    hashes, examples = raw.get("example_hashes"), raw.get("examples")
    if not isinstance(hashes, dict) or not isinstance(examples, list):
        return {}
    named = {item for item in cast(list[Any], examples) if isinstance(item, str)}
    pairs = cast(dict[str, Any], hashes).items()
    return {name: digest for name, digest in pairs if name in named and isinstance(digest, str)}


def to_number(raw: object, default: float) -> float:
    """Return a number that was written as a number, as its digits, or as a date in ISO 8601."""
    if not isinstance(raw, int | float | str):
        return default
    try:
        value = float(raw)
        return value if math.isfinite(value) else default
    except (ValueError, OverflowError):
        pass
    try:
        date = datetime.fromisoformat(str(raw))
    except ValueError:
        return default
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def to_texts(raw: object) -> list[str]:
    """Return the strings in a list; empty if `raw` is not a list."""
    return [item for item in cast(list[object], raw) if isinstance(item, str)] if isinstance(raw, list) else []


# Letters whose case means something: paths, dotted and underscored names, camelCase, short options.
_CASED = LazyRegex(r"[/\\_]|^-|\w\.\w|[a-z][A-Z]")
_QUOTED = LazyRegex(r"(?<![\w\\])(?:([`'\"])([^\s`'\"]+)\1|“([^\s“”]+)”|‘([^\s‘’]+)’|«([^\s«»]+)»)(?!\w)")
_CLOSING = LazyRegex(r"(?<=[\w)\]}`'\"”’»])[.!;,:…。！；，、]+$")
_UNSEEN = LazyRegex("[\u00ad\u200b\u2060\ufeff]")


@lru_cache(maxsize=65_536)
def normalize_text(text: str) -> str:
    """Return a form of the text that is equal for texts of the same meaning. For comparison only.

    Spacing, closing punctuation, the form of accents, quotes round a name and the case of words are removed. Numbers,
    versions, negations and all other characters stay, and so does the case of paths, options and compound names.
    """
    text = " ".join(_UNSEEN.sub("", unicodedata.normalize("NFC", text)).split())
    text = _QUOTED.sub(_strip_quotes, _CLOSING.sub("", text))
    return " ".join(word if _CASED.search(word) else word.casefold() for word in text.split(" "))


def _strip_quotes(match: re.Match[str]) -> str:
    """Return the name without its quotes; a number keeps them, since "1" is not 1."""
    inside = match[2] or match[3] or match[4] or match[5]
    return inside if any(sign.isalpha() for sign in inside) else match[0]


Json = dict[str, Any]

EVERYWHERE = "*"
_STORED_ID = re.compile(r"[^\s\x00-\x1f\x7f]{1,64}")
_ID_DIGITS = 6


class Shape(Struct, frozen=True, kw_only=True):
    """Where `ltm.json` stores a kind: its section, and the names of its fields.

    Attributes:
        unstated: the confidence of a memory without one.
    """

    section: str
    text: str
    count: str
    unstated: float = DEFAULT_CONFIDENCE


SHAPES: dict[Kind, Shape] = {
    "discovery": Shape(section="discoveries", text="fact", count="count", unstated=0.5),
    "solution": Shape(section="problem_solutions", text="error", count="solved_count"),
    "pattern": Shape(section="code_patterns", text="pattern", count="count", unstated=0.5),
    "workflow": Shape(section="workflows", text="name", count="count"),
    "failure": Shape(section="failures", text="what", count="occurrences"),
    "rule": Shape(section="context_rules", text="rule", count="count"),
}


def is_ltm_object(kind: Kind, raw: object) -> bool:
    """Return whether an item of a section is a memory of its kind; others are skipped and stay in the file."""
    return isinstance(raw, dict) and bool(get_main_text(kind, cast(Json, raw)).strip())


def get_main_text(kind: Kind, raw: Json) -> str:
    """Return the text of a memory; of a workflow without a name, its steps."""
    text = to_text(raw.get(SHAPES[kind].text))
    return text if text.strip() or kind != "workflow" else " → ".join(get_steps(raw))


def get_identity(kind: Kind, raw: Json) -> tuple[str, ...]:
    """Return the normalized texts by which two memories of a kind are the same."""
    match kind:
        case "workflow":
            return tuple(normalize_text(step) for step in get_steps(raw)) or (normalize_text(get_main_text(kind, raw)),)
        case "solution":
            return normalize_text(to_text(raw.get("error"))), normalize_text(to_text(raw.get("solution")))
        case "rule":
            return normalize_rule_path(to_text(raw.get("context"))), normalize_text(to_text(raw.get("rule")))
        case _:
            return (normalize_text(to_text(raw.get(SHAPES[kind].text))),)


def normalize_rule_path(context: str) -> str:
    """Return the path of a rule for comparison: "lib/core" and "./lib/core/" are one, "" is everywhere."""
    return context.strip().removeprefix("./").rstrip("/") or EVERYWHERE


def to_record(kind: Kind, raw: Json, handle: str) -> MemoryRecord:
    """Return an object of a section as a memory; fields with values of a wrong type get their defaults."""
    shape = SHAPES[kind]
    first = to_number(raw.get("timestamp"), 0.0)
    rate = raw.get("success_rate")
    main = {"solution": "solution", "failure": "prevention"}.get(kind)
    return MemoryRecord(
        id=handle,
        kind=kind,
        content=get_main_text(kind, raw),
        solution=to_text(raw.get(main)) if main else "",
        also=tuple(to_texts(raw.get("other_preventions"))) if kind == "failure" else (),
        impact=to_text(raw.get("impact")) if kind == "failure" else "",
        other_impacts=tuple(to_texts(raw.get("other_impacts"))) if kind == "failure" else (),
        steps=get_steps(raw) if kind == "workflow" else (),
        context=to_text(raw.get("context")) if kind == "rule" else "",
        confidence=to_fraction(raw.get("confidence"), shape.unstated),
        success_rate=None if kind != "workflow" or rate is None else to_fraction(rate, 0.0),
        examples=tuple(to_texts(raw.get("examples"))),
        times=get_times(kind, raw),
        created=first,
        updated=max(to_number(raw.get("updated"), first), first),
        provenance=get_provenance(raw),
        hashes=get_stored_hashes(raw),
        version=max(int(to_number(raw.get("version"), 1.0)), 1),
        since=to_number(raw.get("since"), 0.0),
        superseded_by=to_text(raw.get("superseded_by")) or None,
        by=to_text(raw.get("by")),
        confirmations=get_confirmations(raw),
    )


def to_raw(record: MemoryRecord) -> Json:
    """Return a memory as an object of the file, without its id, `timestamp`, version, hashes and empty fields."""
    shape = SHAPES[record.kind]
    raw: Json = {} if record.kind == "workflow" else {shape.text: record.content}
    match record.kind:
        case "solution":
            raw["solution"] = record.solution
        case "failure":
            raw |= {"impact": record.impact, "prevention": record.solution}
            others = {"other_preventions": record.also, "other_impacts": record.other_impacts}
            raw |= {name: list(texts) for name, texts in others.items() if texts}
        case "workflow":
            steps = record.steps or (record.content,)
            named = record.content.strip() and record.content not in (" → ".join(steps), *steps)
            raw |= {"name": record.content} if named else {}
            raw["sequence"] = list(steps)
            raw |= {} if record.success_rate is None else {"success_rate": to_fraction(record.success_rate, 0.0)}
        case "rule":
            raw["context"] = record.context.strip().removeprefix("./") or EVERYWHERE
        case _:
            pass
    raw["confidence"] = to_fraction(record.confidence, DEFAULT_CONFIDENCE)
    if record.examples or record.kind in ("solution", "pattern"):
        raw["examples"] = list(dict.fromkeys(record.examples))
    raw[shape.count] = max(record.times, 1)
    sources = {"provenance": record.provenance, "confirmations": record.confirmations, "updated": record.updated}
    return raw | {name: msgspec.to_builtins(value) for name, value in sources.items() if value}


def write_record(raw: Json, before: MemoryRecord, after: MemoryRecord) -> None:
    """Change an object from one state of its memory to another; what is equal in both stays as the file has it."""
    was, will = to_raw(before), to_raw(after)
    for name in was.keys() - will.keys():
        raw.pop(name, None)
    raw |= {name: value for name, value in will.items() if value != was.get(name)}


def get_times(kind: Kind, raw: Json) -> int:
    """Return how often a memory was recorded, at least 1."""
    return min(max(int(to_number(raw.get(SHAPES[kind].count), 1.0)), 1), 1_000_000_000)


def get_confirmed_at(raw: Json) -> float:
    """Return when an object was last confirmed."""
    return max(to_number(raw.get("updated"), 0.0), to_number(raw.get("timestamp"), 0.0))


def get_steps(raw: Json) -> tuple[str, ...]:
    """Return the steps of a workflow; a single text counts as one."""
    steps = raw.get("sequence")
    return (steps,) if isinstance(steps, str) and steps.strip() else tuple(to_texts(steps))


def get_provenance(raw: Json) -> Provenance | None:
    """Return the source of a memory; None if the file does not say."""
    try:
        return msgspec.convert(raw.get("provenance"), Provenance)
    except msgspec.ValidationError:
        return None


def get_confirmations(raw: Json) -> tuple[Provenance, ...]:
    """Return the other sources that stated a memory, as far as the file says."""
    try:
        return msgspec.convert(raw.get("confirmations", ()), tuple[Provenance, ...])
    except msgspec.ValidationError:
        return ()


def to_fraction(raw: object, default: float) -> float:
    """Return a number clamped to 0.0 to 1.0."""
    return min(max(to_number(raw, default), 0.0), 1.0)


def to_text(raw: object) -> str:
    """Return the text; "" if it is not one."""
    return raw if isinstance(raw, str) else ""


def get_handle(raw: Json) -> str:
    """Return the id that an object has in the file; "" if it has none that a user could type."""
    handle = raw.get("id")
    return handle if isinstance(handle, str) and _STORED_ID.fullmatch(handle) else ""


def set_handle(raw: Json, handle: str) -> None:
    """Set the id of an object; another program's id that is not a valid one is stored as `other_id`."""
    if "id" in raw and not get_handle(raw):
        raw["other_id"] = raw["id"]
    raw["id"] = handle


def assign_handles(entries: Iterable[tuple[Kind, Json]]) -> list[str]:
    """Return an id for each memory, in order and unique: the stored one, or one made from its kind and text."""
    listed = list(entries)
    found = [get_handle(raw) for _, raw in listed]
    taken: set[str] = set()
    for place, handle in enumerate(found):
        if handle in taken:
            found[place] = ""
        taken.add(handle)
    for place, (kind, raw) in enumerate(listed):
        if not found[place]:
            found[place] = make_handle(kind, raw, taken)
            taken.add(found[place])
    return found


def make_handle(kind: Kind, raw: Json, taken: set[str]) -> str:
    """Return an unused id such as "d-3f9a12": the kind's first letter and as much of a hash as needed."""
    letter = kind[0]
    words = "\0".join((kind, *get_identity(kind, raw))).encode("utf-8", "surrogatepass")
    attempt = 0
    while True:
        digest = hashlib.sha256(words + (b"\0%d" % attempt if attempt else b"")).hexdigest()
        for digits in range(_ID_DIGITS, 13):
            if (handle := f"{letter}-{digest[:digits]}") not in taken:
                return handle
        attempt += 1


assert tuple(SHAPES) == PROJECT_KINDS


_MAX_IDS_SHOWN = 5


def find_handle(typed: str, known: Iterable[str]) -> str:
    """Return the id that the user typed, or the only one that begins so.

    Raises UserError that lists the ids that begin so, or similar ones.
    """
    handles, wanted = list(known), typed.strip()
    if wanted in handles:
        return wanted
    wanted = wanted.casefold()
    begun = [handle for handle in handles if wanted and handle.casefold().startswith(wanted)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        more = tr(" and {count} more", count=len(begun) - _MAX_IDS_SHOWN) if len(begun) > _MAX_IDS_SHOWN else ""
        raise UserError(
            tr(
                "Several memories have an id that begins with {typed!r}: {begun}{more}; type more of the id.",
                typed=typed,
                begun=", ".join(begun[:_MAX_IDS_SHOWN]),
                more=more,
            )
        )
    import difflib  # needed only after a typing mistake

    near = difflib.get_close_matches(wanted, handles, n=3, cutoff=0.5)
    hint = tr("did you mean {near}?", near=tr(" or ").join(near)) if near else tr("`/memory list` shows the ids")
    raise UserError(tr("There is no memory {typed!r}; {hint}", typed=typed, hint=hint))


MAJOR_VERSION = 1
_VERSION = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,4}){0,3}")
_LISTS = tuple(shape.section for kind, shape in SHAPES.items() if kind != "rule")
_DETAILS = "context_rule_details"


class SharedMemory(Struct, frozen=True, kw_only=True):
    """A valid shared memory, made from one or more statements.

    Attributes:
        entry: the JSON object, merged from all its statements.
        handle: its id, unique among the shared memories.
        month: the last month, such as "2026-04", in which a member confirmed it.
        names: its statements; several if members wrote the same independently.
        replaces, origins: the union of those of its statements.
        by: the authors, each once.
        rivals: ids of memories with the same origin and another text.
    """

    kind: Kind
    entry: bytes
    handle: str
    month: str
    names: tuple[str, ...]
    replaces: tuple[str, ...]
    origins: tuple[str, ...]
    by: tuple[str, ...]
    words: tuple[str, ...]
    rivals: tuple[str, ...] = ()


class SharedEntry(Struct, frozen=True, kw_only=True, eq=False):
    """A memory from the shared folder, with its JSON object now and as it was read."""

    memory: SharedMemory
    raw: Json
    raw_before: bytes

    @property
    def before(self) -> Json:
        """Return the object as it was read."""
        return decode_json(self.raw_before)

    @property
    def is_changed(self) -> bool:
        """Return whether the object differs from what was read."""
        return msgspec.json.encode(self.raw) != self.raw_before


class LtmDocument:
    """The document; its memories are plain objects by kind, and changing those changes the document.

    The file stores rules as `{"path": ["rule", …]}`; here each rule is an object like all others, and `encode` writes
    fields for which that layout has no place to `metadata.context_rule_details`.

    Attributes:
        shares: whether it was read with shared memory; only then may memories be written there.
        shared: the objects from the shared folder, by their `id()`.
        private: all objects of the file when it was read, by their `id()`.
    """

    def __init__(self, document: object) -> None:
        """Raise ValueError if a section has the wrong type."""
        self._whole = _require_object(document, "the document")
        self._patterns = _require_object(self._whole.setdefault("patterns", {}), "'patterns'")
        self.metadata = _require_object(self._whole.setdefault("metadata", {}), "'metadata'")
        for name in _LISTS:
            if not isinstance(self._patterns.setdefault(name, []), list):
                raise ValueError(f"{name!r} is not a list")
        rules = self._patterns.setdefault("context_rules", {})
        if not isinstance(rules, dict | list):
            raise ValueError("'context_rules' is neither an object nor a list")
        self._rules = _read_rules(cast("Json | list[Any]", rules), self.metadata.get(_DETAILS))
        self.shares = False
        self.shared: dict[int, SharedEntry] = {}
        self.private: dict[int, object] = {}

    def refuse_newer(self, name: str) -> None:
        """Raise NewerDocument if a newer clio wrote it, ValueError if its version is invalid: then it is damaged.

        clio's own files state their version in the metadata; one at the top is checked too.
        """
        if (outer := self._whole.get("version")) is not None:
            check_version(outer)
        stated: object = self.metadata.get("version", MAJOR_VERSION)
        is_number = isinstance(stated, str | int | float) and not isinstance(stated, bool)
        if not is_number or _VERSION.fullmatch(str(stated)) is None:
            raise ValueError(f"its version is {str(stated)[:40]!r}, which is not a version number")
        if (major := int(str(stated).partition(".")[0])) > MAJOR_VERSION:
            raise NewerDocument(
                tr(
                    "{name!r} has version {major}, and this clio reads up to {major_version}; update clio.",
                    name=name,
                    major=major,
                    major_version=MAJOR_VERSION,
                )
            )

    def drop_wrong_texts(self) -> int:
        """Remove the memories whose text is not a string, and return their number."""
        dropped = 0
        for kind, shape in SHAPES.items():
            if kind == "rule":  # the Perl CLIO wrote rules in several forms
                continue
            section = self.section(kind)
            sound: list[Any] = [
                raw
                for raw in section
                if not isinstance(raw, dict) or isinstance(cast(Json, raw).get(shape.text, ""), str | None)
            ]
            dropped += len(section) - len(sound)
            section[:] = sound
        return dropped

    def section(self, kind: Kind) -> list[Any]:
        """Return the objects of a kind, with any other items among them."""
        return self._rules if kind == "rule" else cast(list[Any], self._patterns[SHAPES[kind].section])

    def all(self) -> list[tuple[Kind, Json]]:
        """Return all objects that are memories, by kind."""
        return [(kind, raw) for kind in PROJECT_KINDS for raw in self.section(kind) if is_ltm_object(kind, raw)]

    def knowledge(self) -> LtmMemories:
        """Return all memories."""
        known = self.by_handle().items()
        return LtmMemories(entries=tuple(self._entry(kind, raw, handle) for handle, (kind, raw) in known))

    def by_handle(self) -> dict[str, tuple[Kind, Json]]:
        """Return the objects by id."""
        found = self.all()
        return dict(zip(assign_handles(found), found, strict=True))

    def one(self, wanted: Json) -> MemoryRecord:
        """Return one of its objects as a memory, with the id it has among all of them."""
        return next(self._entry(kind, raw, id) for id, (kind, raw) in self.by_handle().items() if raw is wanted)

    def handle(self, wanted: Json) -> str:
        """Return the id of one of its objects."""
        return next(id for id, (_, raw) in self.by_handle().items() if raw is wanted)

    def place(self, kind: Kind, wanted: Json) -> int:
        """Return the index of an object in its section."""
        return next(place for place, raw in enumerate(self.section(kind)) if raw is wanted)

    def touch(self, now: float) -> None:
        """Record in the metadata when it was changed."""
        self.metadata.setdefault("created", now)
        self.metadata.setdefault("version", f"{MAJOR_VERSION}.0")
        self.metadata["last_updated"] = now

    def encode(self, *, private: bool = False) -> bytes:
        """Return the file's bytes, indented. private: without the memories of the shared folder."""

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
        entry = to_record(kind, raw, handle)
        if found := self.shared.get(id(raw)):
            return structs.replace(
                entry, by=", ".join(found.memory.by), members=len(found.memory.by), rivals=found.memory.rivals
            )
        return entry


def read_ltm(path: Path) -> LtmDocument:
    """Return the document in `path`, an empty one if there is no file.

    Raises CorruptDocument after setting the file aside, NewerDocument, OSError.
    """
    try:
        data = read_regular(path)
    except FileNotFoundError:
        data = b"{}"
    try:
        document = decode_ltm(data)
        document.refuse_newer(str(path))
    except ValueError as error:
        raise make_corrupt_error(path, set_file_aside(path), str(error)) from error
    if dropped := document.drop_wrong_texts():
        _remove_wrong_texts(path, data, document, dropped)
    return document


def _remove_wrong_texts(path: Path, data: bytes, document: LtmDocument, dropped: int) -> None:
    """Set the file aside and write one with the valid memories; raise CorruptDocument to report it once.

    If another clio, or this one, is about to change the file, it is left for the next time.
    """
    lock = FileLock(path.with_name(path.name + ".lock"))
    try:
        if not lock.acquire() or read_regular(path) != data:
            return
        moved = set_file_aside(path, keep=True)
        if moved is not None:
            write_ltm(path, document)
    except OSError:
        return  # read-only: the invalid memories stay in the file and are skipped
    finally:
        lock.release()
    if moved is not None:
        raise make_corrupt_error(
            path, moved, tr("{dropped} of its entries have no text; all others stay in use", dropped=dropped)
        )


def decode_ltm(data: bytes) -> LtmDocument:
    """Return the document in `data`. Raises ValueError."""
    return LtmDocument(decode_json(data))


def write_ltm(path: Path, document: LtmDocument, *, private: bool = False) -> None:
    """Replace the file; on OSError the old one stays. private: without the memories of the shared folder."""
    write_atomic(path, document.encode(private=private))


def _read_rules(rules: "Json | list[Any]", details: object) -> list[Any]:
    """Return every rule as an object of its own, and items that are no rules unchanged, under their path."""
    if isinstance(rules, list):  # the layout in the Perl CLIO's documentation; the program writes an object
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
        path = to_text(raw.get("context")) or EVERYWHERE
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


def _require_object(value: object, what: str) -> Json:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not an object")
    return cast(Json, value)


class SharedMemories(Protocol):
    """The memories that team members share; see `clio.memory.team.knowledge.TeamKnowledge`."""

    @property
    def in_use(self) -> bool:
        """Whether the folder exists and the user trusts it."""
        ...

    def put_into(self, document: LtmDocument) -> None:
        """Add the shared memories to the document."""
        ...


_MOST_TRIES = 5
"""Limit for reading again because another process wrote meanwhile; the last result is used then."""


_MAX_CLOCK_TICK_NS = 100_000_000
"""An upper bound for the resolution of modification times."""


class LtmReader:
    """Reads the project's memory; an unchanged file is decoded once, so that a turn need not decode all of it.

    Args:
        project: the folder to which the paths of example files are relative.
        team: returns what a team shares; called only if the shared folder exists.

    Methods raise CorruptDocument after setting the file aside, NewerDocument, OSError.
    """

    def __init__(self, path: Path, *, project: Path, team: Callable[[], SharedMemories]) -> None:
        self.path = path
        self._team = team
        self._examples = ExampleFiles(project)
        self._decoded: tuple[object, LtmMemories] | None = None

    def read(self) -> LtmMemories:
        """Return all memories, the same object if nothing changed. Invalid ones are skipped and stay in the file."""
        stamp = None if has_shared_memory(self.path.with_name(SHARED_NAME)) else get_stamp(self.path)
        # Shared memories depend on the time and on what the user trusts, too. A file changed a moment ago can be
        # changed again without another time.
        is_settled = stamp is not None and time.time_ns() - stamp[3] > _MAX_CLOCK_TICK_NS
        if is_settled and self._decoded is not None and self._decoded[0] == stamp:
            return self._decoded[1]
        knowledge = self.document().knowledge()
        self._decoded = (stamp, knowledge) if is_settled else None
        return knowledge

    def freshness(self, entries: Iterable[MemoryRecord]) -> dict[str, Freshness]:
        """Return whether each memory still agrees with its example files, by id. Reads only files that have changed.

        One without such files is gone if its text names a path that does not exist.
        """
        listed = list(entries)
        found = dict(
            zip(
                (entry.id for entry in listed),
                self._examples.freshness(entry.hashes for entry in listed),
                strict=True,
            )
        )
        for entry in listed:
            if found[entry.id] == "unbound" and self._examples.list_missing_mentions(entry.content):
                found[entry.id] = "gone"
        return found

    def document(self) -> LtmDocument:
        """Return the memories in the file and in the shared folder beside it, as of one moment.

        Readers hold no lock. Another process may move memories between the two while they are read; then both are read
        again.
        """
        shared = self.path.with_name(SHARED_NAME)
        tries = 0
        while True:
            tries += 1
            before = self._stamps()
            document = read_ltm(self.path)
            if has_shared_memory(shared) and (team := self._team()).in_use:
                team.put_into(document)
            if tries == _MOST_TRIES or self._stamps() == before:
                return document

    def _stamps(self) -> list[Stamp | None]:
        """Return a value that differs after any change: every writer replaces a file in one of these folders."""
        shared = self.path.with_name(SHARED_NAME)
        kinds = PROJECT_KINDS if shared.is_dir() else ()
        return [get_stamp(place) for place in (self.path, shared, *(shared / kind for kind in kinds))]
