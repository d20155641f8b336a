"""What was learned from rejected requests, stored in clio's home so that the next run does not repeat them."""

import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, structs

from clio.providers.base import Lessons, ProtocolName
from clio.storage.documents import DocumentFormat, LearnedFile
from clio.text.translation import tr

LESSONS_FILE_NAME = "servers.json"
MAX_ENTRIES = 100
LIFE_DAYS = 30
"""Days for which a lesson is valid: servers gain features over time."""
_DAY_S = 86_400.0


class StoredLessons(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Lessons about one server or model.

    Attributes:
        learned: when, in seconds since the epoch.
        lessons: see `base.Lessons`.
        protocol: the protocol to use; "" if nothing was learned about it.
    """

    learned: float
    lessons: dict[str, object] = {}
    protocol: str = ""


class LearnedServers(Struct, frozen=True, kw_only=True):
    """Lessons by key, newest last. servers: by "host:port". models: by "host:port model"."""

    servers: dict[str, StoredLessons] = {}
    models: dict[str, StoredLessons] = {}


SERVERS = DocumentFormat(schema="clio.servers", version=1, type=LearnedServers)


class LessonBook:
    """The lessons about all servers and models. See `LearnedFile`.

    home: clio's own folder; None for no file, so that lessons apply only to this run.
    """

    def __init__(
        self,
        home: Path | None = None,
        notice: Callable[[str], None] = lambda _: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        path = home / LESSONS_FILE_NAME if home else None
        self._file = LearnedFile(path, SERVERS, tr("the record of server settings"), notice)
        self._now = now
        self._own: dict[str, ModelLessons] = {}  # those used in this run

    def lessons_for(self, server: str, model: str) -> "ModelLessons":
        """Return the lessons about a model. server: host and port, without a login."""
        key = f"{server} {model}"
        if key not in self._own:
            self._own[key] = self._read(server, model)
        return self._own[key]

    def _read(self, server: str, model: str) -> "ModelLessons":
        stored = self._file.read() or LearnedServers()
        known = stored.models.get(f"{server} {model}")
        lessons = dict(known.lessons) if known and self._is_valid(known) else {}
        found = ModelLessons(self, server, model, lessons)
        for entry in (known, stored.servers.get(server)):
            if entry and self._is_valid(entry) and (protocol := _parse_protocol(entry.protocol)):
                found.protocol, found.is_fresh = protocol, self._now() - entry.learned < _DAY_S
        for entry in self._own.values():
            if entry.server == server and entry.for_server:
                found.protocol, found.is_fresh = entry.protocol, True
        return found

    def store_lessons(self, model_lessons: "ModelLessons") -> None:
        """Store the lessons about one model; lessons stored by other processes meanwhile are preserved."""
        learned = StoredLessons(
            learned=self._now(),
            lessons=dict(model_lessons.lessons),
            protocol="" if model_lessons.for_server else model_lessons.protocol or "",
        )
        server_lessons = (
            StoredLessons(learned=self._now(), protocol=model_lessons.protocol or "")
            if model_lessons.for_server
            else None
        )

        def change(stored: LearnedServers) -> LearnedServers:
            models = self._add_entry(stored.models, f"{model_lessons.server} {model_lessons.model}", learned)
            servers = (
                self._add_entry(stored.servers, model_lessons.server, server_lessons)
                if server_lessons
                else stored.servers
            )
            return structs.replace(stored, models=models, servers=servers)

        self._file.change(change)

    def _add_entry(self, entries: dict[str, StoredLessons], key: str, entry: StoredLessons) -> dict[str, StoredLessons]:
        others = [(name, entry) for name, entry in entries.items() if name != key and self._is_valid(entry)]
        return dict([*others, (key, entry)][-MAX_ENTRIES:])

    def _is_valid(self, known: StoredLessons) -> bool:
        return 0 <= self._now() - known.learned < LIFE_DAYS * _DAY_S


class ModelLessons:
    """The lessons about one model on one server. `lessons` is changed in place by the protocol.

    Attributes:
        protocol: the protocol to use; None if nothing was learned about it.
        is_fresh: whether the protocol was learned within a day.
        for_server: whether the protocol was learned in this run, for all models of the server.
    """

    def __init__(self, book: LessonBook, server: str, model: str, lessons: Lessons) -> None:
        self._book = book
        self.server = server
        self.model = model
        self.lessons = lessons
        self.protocol: ProtocolName | None = None
        self.is_fresh = False
        self.for_server = False

    def switch_protocol(self, protocol: ProtocolName, *, for_server: bool) -> None:
        """Use another protocol from now on. for_server: for all models of the server."""
        self.protocol, self.for_server, self.is_fresh = protocol, for_server, True

    def store(self) -> None:
        """Write the lessons to the file. Call it once they have led to an answer."""
        self._book.store_lessons(self)


def _parse_protocol(name: str) -> ProtocolName | None:
    match name:
        case "chat" | "responses" | "messages":
            return name
        case _:
            return None
