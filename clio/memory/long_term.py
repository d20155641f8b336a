"""The project knowledge in `.clio/ltm.json`: read tolerantly, changed under a lock, nothing unknown ever dropped."""

import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec

from clio.errors import NewerDocument
from clio.memory.records import Entry, Kind, Knowledge, Provenance
from clio.memory.tolerant import number, texts
from clio.storage.atomic import write_atomic
from clio.storage.document import corrupt, set_aside
from clio.storage.filelock import FileLock
from clio.storage.folders import make_ignored_folder

Json = dict[str, Any]

LISTS = ("discoveries", "problem_solutions", "code_patterns", "workflows", "failures")
MAJOR_VERSION = 1


class LongTermMemory:
    """`ltm.json` of one project. Nothing is kept in memory between calls, so nothing stale is ever written back.

    All methods raise CorruptDocument after setting the file aside, NewerDocument, OSError; those that add raise
    TimeoutError where another process holds the lock for ten seconds.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock

    def read(self) -> Knowledge:
        """Everything that is known; entries that are not what they should be are passed over, and stay in the file."""
        patterns = self._load()["patterns"]
        return Knowledge(
            discoveries=_entries(patterns["discoveries"], "discovery", "fact"),
            solutions=_entries(patterns["problem_solutions"], "solution", "error"),
            patterns=_entries(patterns["code_patterns"], "pattern", "pattern"),
        )

    def add_discovery(self, fact: str, confidence: float, provenance: Provenance) -> bool:
        """Remember a fact; False if it was known, and is now confirmed. Repetition never lowers the confidence."""
        return self._add("discoveries", ("fact",), {"fact": fact, "confidence": confidence}, provenance)

    def add_solution(self, error: str, solution: str, examples: tuple[str, ...], provenance: Provenance) -> bool:
        """Remember what helped against an error; False if it was known. Another solution is another entry."""
        new = {"error": error, "solution": solution, "examples": list(examples), "solved_count": 1}
        return self._add("problem_solutions", ("error", "solution"), new, provenance)

    def add_pattern(self, pattern: str, confidence: float, examples: tuple[str, ...], provenance: Provenance) -> bool:
        """Remember a convention of the code; False if it was known, and has now these examples too."""
        new = {"pattern": pattern, "confidence": confidence, "examples": list(examples)}
        return self._add("code_patterns", ("pattern",), new, provenance)

    def _add(self, section: str, identity: tuple[str, ...], new: Json, provenance: Provenance) -> bool:
        new["provenance"] = msgspec.to_builtins(provenance)
        make_ignored_folder(self._path.parent, self._path.parent)
        with FileLock(self._path.with_name(self._path.name + ".lock")):
            document, now = self._load(), round(self._clock(), 3)
            added = merge_entry(document["patterns"][section], new, identity, now)
            metadata = document["metadata"]
            metadata.setdefault("created", now)
            metadata.setdefault("version", f"{MAJOR_VERSION}.0")
            metadata["last_updated"] = now
            write_atomic(self._path, msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
        return added

    def _load(self) -> Json:
        """The whole document, with every section there; an empty one where there is no file."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            data = b"{}"
        try:
            document = with_sections(msgspec.json.decode(data))
        except (ValueError, RecursionError) as error:
            raise corrupt(self._path, set_aside(self._path), str(error)) from error
        major = str(document["metadata"].get("version", MAJOR_VERSION)).partition(".")[0]
        if major.isdecimal() and int(major) > MAJOR_VERSION:
            raise NewerDocument(
                f"{str(self._path)!r} has version {major} and this clio knows {MAJOR_VERSION}; update clio."
            )
        return document


def with_sections(document: object) -> Json:
    """The document with the sections it lacks. Raises ValueError where one is there and is not of its kind."""
    whole = _object(document, "the document")
    patterns = _object(whole.setdefault("patterns", {}), "'patterns'")
    _object(whole.setdefault("metadata", {}), "'metadata'")
    for name in LISTS:
        if not isinstance(patterns.setdefault(name, []), list):
            raise ValueError(f"{name!r} is not a list")
    patterns.setdefault("context_rules", {})
    return whole


def merge_entry(entries: list[Any], new: Json, identity: tuple[str, ...], now: float) -> bool:
    """Put an entry into its list, or confirm the one that says the same; True if it is new.

    Confidence only rises, examples only grow, the first provenance stays.
    """
    wanted = [normal(str(new[name])) for name in identity]
    for entry in entries:
        if isinstance(entry, dict) and [normal(str(cast(Json, entry).get(name, ""))) for name in identity] == wanted:
            _confirm(cast(Json, entry), new, now)
            return False
    entries.append(new | {"timestamp": now})
    return True


def normal(text: str) -> str:
    """What two texts that say the same have in common: case, spacing and closing punctuation do not count."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split()).rstrip(".!;, ")


def _confirm(entry: Json, new: Json, now: float) -> None:
    entry["updated"] = now
    if "confidence" in new:
        entry["confidence"] = max(number(entry.get("confidence"), 0.0), new["confidence"])
    if "solved_count" in new:
        entry["solved_count"] = int(number(entry.get("solved_count"), 0.0)) + 1
    if new.get("examples"):
        entry["examples"] = list(dict.fromkeys([*texts(entry.get("examples")), *new["examples"]]))


def _entries(raw: list[Any], kind: Kind, name: str) -> tuple[Entry, ...]:
    found = [_entry(cast(Json, item), kind, name) for item in raw if isinstance(item, dict)]
    return tuple(entry for entry in found if entry.text.strip())


def _entry(raw: Json, kind: Kind, name: str) -> Entry:
    text, solution = raw.get(name), raw.get("solution")
    first = number(raw.get("timestamp"), 0.0)
    return Entry(
        kind=kind,
        text=text if isinstance(text, str) else "",
        solution=solution if kind == "solution" and isinstance(solution, str) else "",
        confidence=1.0 if kind == "solution" else min(max(number(raw.get("confidence"), 0.5), 0.0), 1.0),
        examples=tuple(texts(raw.get("examples"))),
        times=max(int(number(raw.get("solved_count"), 1.0)), 1),
        confirmed=max(number(raw.get("updated"), first), first),
        provenance=_provenance(raw.get("provenance")),
    )


def _provenance(raw: object) -> Provenance | None:
    try:
        return msgspec.convert(raw, Provenance)
    except msgspec.ValidationError:
        return None


def _object(value: object, what: str) -> Json:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not an object")
    return cast(Json, value)
