"""What refusals taught about servers and models, kept in clio's home: the next run pays no refusals again."""

import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, structs

from clio.providers.base import Lessons, ProtocolName
from clio.storage.documents import DocumentFormat, LearnedFile

LESSONS_FILE_NAME = "servers.json"
MAX_ENTRIES = 100
LIFE_DAYS = 30
"""For how long a refusal is believed: models learn to think, and servers to speak."""
_DAY_S = 86_400.0


class StoredLessons(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """lessons: see `wire.Lessons`. protocol: the one to speak, "" where nothing was learned of it.

    learned: when, in seconds since 1970.
    """

    learned: float
    lessons: dict[str, object] = {}
    protocol: str = ""


class LearnedServers(Struct, frozen=True, kw_only=True):
    """`servers` by host and port, `models` by the same, a blank and the model's name; the newest last."""

    servers: dict[str, StoredLessons] = {}
    models: dict[str, StoredLessons] = {}


SERVERS = DocumentFormat(schema="clio.servers", version=1, type=LearnedServers)


class LessonBook:
    """The lessons of all servers. See `LearnedFile`.

    home: clio's own folder; None reads and writes nothing, but what was learned in this run counts.
    """

    def __init__(
        self,
        home: Path | None = None,
        notice: Callable[[str], None] = lambda _: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        path = home / LESSONS_FILE_NAME if home else None
        self._file = LearnedFile(path, SERVERS, "what servers were found to refuse", notice)
        self._now = now
        self._own: dict[str, ModelLessons] = {}  # of this run

    def lessons_for(self, place: str, model: str) -> "ModelLessons":
        """What is known of a model. place: the server's host and port, without any login."""
        key = f"{place} {model}"
        if key not in self._own:
            self._own[key] = self._read(place, model)
        return self._own[key]

    def _read(self, place: str, model: str) -> "ModelLessons":
        stored = self._file.read() or LearnedServers()
        known = stored.models.get(f"{place} {model}")
        lessons = dict(known.lessons) if known and self._holds(known) else {}
        found = ModelLessons(self, place, model, lessons)
        for each in (known, stored.servers.get(place)):
            if each and self._holds(each) and (protocol := _protocol(each.protocol)):
                found.protocol, found.is_fresh = protocol, self._now() - each.learned < _DAY_S
        for each in self._own.values():
            if each.place == place and each.for_server:
                found.protocol, found.is_fresh = each.protocol, True
        return found

    def store_lessons(self, known: "ModelLessons") -> None:
        """Store what is known of one model, beside what other clios have learned."""
        learned = StoredLessons(
            learned=self._now(),
            lessons=dict(known.lessons),
            protocol="" if known.for_server else known.protocol or "",
        )
        server = StoredLessons(learned=self._now(), protocol=known.protocol or "") if known.for_server else None

        def change(stored: LearnedServers) -> LearnedServers:
            models = self._with(stored.models, f"{known.place} {known.model}", learned)
            servers = self._with(stored.servers, known.place, server) if server else stored.servers
            return structs.replace(stored, models=models, servers=servers)

        self._file.change(change)

    def _with(self, entries: dict[str, StoredLessons], key: str, entry: StoredLessons) -> dict[str, StoredLessons]:
        others = [(name, each) for name, each in entries.items() if name != key and self._holds(each)]
        return dict([*others, (key, entry)][-MAX_ENTRIES:])

    def _holds(self, known: StoredLessons) -> bool:
        return 0 <= self._now() - known.learned < LIFE_DAYS * _DAY_S


class ModelLessons:
    """What is known of one model at one server. `lessons` is changed in place by who learns.

    protocol: the one to speak, None where nothing was learned of it. is_fresh: whether that was within a day.
    for_server: whether it was learned in this run, and for all models of the server.
    """

    def __init__(self, book: LessonBook, place: str, model: str, lessons: Lessons) -> None:
        self._book = book
        self.place = place
        self.model = model
        self.lessons = lessons
        self.protocol: ProtocolName | None = None
        self.is_fresh = False
        self.for_server = False

    def switch_protocol(self, protocol: ProtocolName, *, for_server: bool) -> None:
        """The server speaks another protocol; for_server: with all its models."""
        self.protocol, self.for_server, self.is_fresh = protocol, for_server, True

    def store(self) -> None:
        """Store it. Call it once what was learned has led to an answer."""
        self._book.store_lessons(self)


def _protocol(name: str) -> ProtocolName | None:
    match name:
        case "chat" | "responses" | "messages":
            return name
        case _:
            return None
