"""Completion of the prompt line: slash commands; files, sessions and notes after `@`; labels of mentioned files."""

import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from clio.commands.command import is_command
from clio.context.message_parts import MAX_MENTIONS, Mention, find_mentions, format_file_mention, list_readings
from clio.images import has_image_suffix
from clio.messages import Message, ToolMessage, UserMessage
from clio.security.actions import Workspace
from clio.text.formatting import format_bytes
from clio.text.fuzzy import FuzzyNames, score_match
from clio.text.translation import mark, tr, tr_count
from clio.threads import start_daemon_thread
from clio.ui.line_rules import parse_memory_line
from clio.ui.safe_text import clean_line

if TYPE_CHECKING:
    from clio.commands.command import CommandContext


_MAX_COUNTED_BYTES = 1_000_000
"""Bytes. For larger files the size is displayed instead of the line count: this runs at every key."""
_MAX_CACHED = 200  # files whose line count is cached
_RESOURCE = re.compile(r"[A-Za-z0-9][\w.-]*:[a-z][a-z0-9+.-]*:\S")
"""`server:scheme:…`, a resource of an MCP server; whether it exists is known only by asking the server."""


class MentionLabels:
    """Makes the labels of the mentions on a line: name and size.

    Only files inside the project are read, and again only after they have changed.
    """

    def __init__(self, project: Path) -> None:
        self._workspace = Workspace(project)
        self._lines: dict[tuple[Path, int, int], int] = {}

    def label_mentions(self, text: str) -> list[str]:
        """Return the labels in order; text that names nothing has none."""
        labels = (self._label_mention(mention) for mention in find_mentions(text)[:MAX_MENTIONS])
        return [clean_line(label) for label in labels if label]

    def _label_mention(self, mention: Mention) -> str:
        if mention.kind != "path":
            return f"+ {mention.label}"
        for reading in list_readings(mention):
            try:
                path = self._workspace.resolve(reading.name)
                status = path.stat()
            except (OSError, ValueError, RuntimeError):  # no such file, or not a valid path
                continue
            if stat.S_ISDIR(status.st_mode):
                return f"+ {reading.name.rstrip('/')}/"
            lines = self._count_lines(path, status.st_size, status.st_mtime_ns)
            if lines is None or has_image_suffix(reading.name):
                return f"+ {reading.label} · {format_bytes(status.st_size)}"
            if reading.lines is not None:
                lines = max(min(reading.lines.last, lines) - reading.lines.first + 1, 0)
            return f"+ {reading.label} · {tr_count(lines, 'line')}"
        return f"+ {mention.label}" if _RESOURCE.match(mention.label) else ""

    def _count_lines(self, path: Path, size: int, changed: int) -> int | None:
        if size > _MAX_COUNTED_BYTES or not path.is_file() or not self._workspace.contains(path):
            return None
        key = (path, size, changed)
        if key not in self._lines:
            if len(self._lines) >= _MAX_CACHED:
                self._lines.clear()
            try:
                data = path.read_bytes()
            except OSError:  # not readable; sending the line reports that
                return None
            if b"\0" in data:
                return None
            self._lines[key] = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
        return self._lines[key]


REFRESH_AFTER_S = 5.0
"""Seconds before a listing is refreshed, so that new files appear soon."""
_SEPARATOR = "\0"
"""Separator that no file name can contain."""


class FileListing:
    """The files of a project and their search index. Queried by one thread, refreshed by another.

    Args:
        list_files: returns relative POSIX paths, however long that takes.
        list_ahead: the same if it can be done quickly, else None.
        clock: returns seconds; only differences matter.

    Attributes:
        on_changed: called in another thread if a refresh has found other files than those returned before.
    """

    def __init__(
        self,
        list_files: Callable[[], Sequence[str]],
        list_ahead: Callable[[], Sequence[str] | None] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._list_files = list_files
        self._list_ahead = list_ahead or list_files
        self._clock = clock
        self._current: tuple[Sequence[str], FuzzyNames] = ((), FuzzyNames(()))
        self._listed_at: float | None = None
        self._ahead: tuple[str, float] | None = None
        self._listing = threading.Lock()
        self.on_changed: Callable[[], None] = lambda: None

    def get_files_and_index(self) -> tuple[Sequence[str], FuzzyNames]:
        """Return the files, and an index of their names and those of their directories.

        The first call lists the files unless `list_in_advance` has; later calls return at once. A listing older than
        `REFRESH_AFTER_S` is still returned, and refreshed in the background.
        """
        if self._listed_at is None:
            with self._listing:
                if self._listed_at is None:
                    self._index_listed_files() if self._ahead else self._set_files(self._list_files())
        if self._clock() - (self._listed_at or 0.0) > REFRESH_AFTER_S and self._listing.acquire(blocking=False):
            start_daemon_thread(self._refresh, "list-file-names")
        return self._current

    def list_in_advance(self) -> None:
        """List the files in advance unless there are too many; for a thread.

        They are stored as one text until they are needed: an index of 20,000 names takes 5 MiB but only 0.03 s to
        build, and many users never need it.
        """
        with self._listing:
            if self._listed_at is None and (files := self._list_ahead()) is not None:
                self._ahead = _SEPARATOR.join(files), self._clock()

    def _index_listed_files(self) -> None:
        """Build the index from the files listed in advance."""
        assert self._ahead is not None
        names, at = self._ahead
        self._ahead = None
        self._set_files(names.split(_SEPARATOR) if names else [])
        self._listed_at = at

    def _refresh(self) -> None:
        before = self._current
        try:
            with suppress(OSError):  # the project was removed or is not readable: keep offering the last listing
                self._set_files(self._list_files())
        finally:
            self._listing.release()
        if self._current is not before:
            self.on_changed()

    def _set_files(self, files: Sequence[str]) -> None:
        if files != self._current[0]:
            self._current = (files, FuzzyNames((*files, *_list_directories(files))))
        self._listed_at = self._clock()


def _list_directories(files: Sequence[str]) -> list[str]:
    """Return every directory that contains files, each with a final slash."""
    folders: dict[str, None] = {}
    for path in files:
        end = path.rfind("/")
        while end > 0 and path[: end + 1] not in folders:
            folders[path[: end + 1]] = None
            end = path.rfind("/", 0, end)
    return list(folders)


MAX_OFFERS = 60
MOST_RECENT_POINTS = 12.0
"""Points of the file used last; earlier ones get fewer, at least a quarter of this."""
_MAX_RECENT_FILES = 40
_MAX_SEARCHED_MESSAGES = 300  # number of messages searched, newest first
_PREFIX_NOTES = {"session": mark("an earlier session"), "note": "a note"}


class MentionOffer(Struct, frozen=True, kw_only=True):
    """One completion. text: inserted, including "@". label: displayed in the menu. note: its description."""

    text: str
    label: str
    note: str = ""


class MentionMenu:
    """Completions for a mention that is being typed; called in a thread, one call at a time.

    get_context: returns the running App, None while it is being built.
    """

    def __init__(self, get_context: "Callable[[], CommandContext | None]", files: FileListing) -> None:
        self._get_context = get_context
        self._files = files

    def find_offers(self, typed: str) -> Iterator[MentionOffer]:
        """Yield completions of `typed`, the text after the "@", including quotes."""
        kind, colon, rest = typed.partition(":")
        bare = typed.removeprefix('"')
        resources = self._list_resources() if typed else {}
        if colon and kind in resources:
            yield from _filter_resources(resources[kind], rest)
        elif colon and kind in _PREFIX_NOTES:
            yield from self._find_sessions_or_notes(kind, rest.removeprefix('"'))
        elif bare.startswith(("/", "~")):
            for path in list_disk_entries(bare)[:MAX_OFFERS]:
                yield MentionOffer(text=format_file_mention(path), label=path)
        else:
            yield from self._find_paths(bare)
            for word in _PREFIX_NOTES:
                if typed and word.startswith(typed):
                    yield MentionOffer(
                        text=f"@{word}:",
                        label=f"{word}:",
                        note=tr("an earlier {word}", word=word) if word != "note" else word,
                    )
            for server in resources:
                if server.lower().startswith(bare.lower()):
                    yield MentionOffer(text=f"@{server}:", label=f"{server}:", note=tr("resources of an MCP server"))

    def _list_resources(self) -> dict[str, list[MentionOffer]]:
        """Return the known resources of each server that has been asked."""
        ctx, found = self._get_context(), dict[str, list[MentionOffer]]()
        for server, resource in ctx.servers.resources() if ctx else ():
            note = clean_line(" - ".join(filter(None, (resource.name, resource.description))))[:60]
            uri = clean_line(resource.uri)
            found.setdefault(server, []).append(MentionOffer(text=f"@{server}:{uri}", label=uri, note=note))
        return found

    def _find_paths(self, typed: str) -> Iterator[MentionOffer]:
        files, names = self._files.get_files_and_index()
        ctx = self._get_context()
        boosts = score_recent_files(ctx.session.messages if ctx else ())
        if typed and not typed.endswith("/"):
            found = names.find_best(typed.removeprefix("./"), MAX_OFFERS, boosts)
        else:
            used = sorted(boosts, key=lambda path: -boosts[path]) if not typed else []
            known = set(files) if used else set[str]()
            found = [path for path in used if path in known]
            found = list(dict.fromkeys((*found, *list_children(files, typed.removeprefix("./")))))[:MAX_OFFERS]
        for path in found:
            yield MentionOffer(text=format_file_mention(path), label=path)

    def _find_sessions_or_notes(self, kind: str, typed: str) -> Iterator[MentionOffer]:
        ctx = self._get_context()
        if ctx is None or ctx.config.incognito:
            return
        rows: list[tuple[float, MentionOffer]] = []
        if kind == "session":
            for info in ctx.store.list():
                if info.id == ctx.session.id:
                    continue
                name = info.name or info.id[:8]
                points = score_match(typed, f"{name} {info.id} {info.first_words}")
                if points is not None:
                    note = (
                        tr("from the repository: {first_words}", first_words=info.first_words)
                        if info.came_with_project
                        else info.first_words
                    )
                    rows.append((points, _make_offer(kind, name, note)))
        else:
            for note in ctx.memory.store.notes():
                points = score_match(typed, note.key)
                if points is not None:
                    rows.append((points, _make_offer(kind, note.key, " ".join(note.content[:200].split())[:60])))
        if typed:
            rows.sort(key=lambda row: -row[0])
        yield from (offer for _, offer in rows[:MAX_OFFERS])

    def find_memories(self, typed: str) -> Iterator[MentionOffer]:
        """Yield the memories that have all typed words, so that one is confirmed instead of saved again."""
        ctx = self._get_context()
        if ctx is None or ctx.config.incognito or ctx.memory.is_silent or len(typed) < _LEAST_MEMORY_CHARS:
            return
        memory, words = ctx.memory, typed.casefold().split()
        known = [record for record in memory.store.records(with_notes=False) if not record.solution]
        known = [record for record in known if all(word in record.content.casefold() for word in words)]
        for record in sorted(known, key=lambda record: -record.updated)[:MAX_OFFERS]:
            line = " ".join(record.content.split())
            yield MentionOffer(
                text=f"#{line}",
                label=f"#{line[:_MAX_MEMORY_LABEL]}",
                note=tr("saved as {kind_label}", kind_label=record.kind_label),
            )


_MAX_MEMORY_LABEL = 80
_LEAST_MEMORY_CHARS = 3
"""A shorter text is in most memories."""


def score_recent_files(messages: Sequence[Message]) -> dict[str, float]:
    """Return points for files that the session's tools read or changed or its messages named; the newest get most."""
    used: dict[str, None] = {}
    for message in reversed(messages[-_MAX_SEARCHED_MESSAGES:]):
        if isinstance(message, ToolMessage) and message.side_effects is not None:
            changed = (deed.moved_to or deed.path for deed in message.side_effects.changed if deed.kind != "delete")
            used.update(dict.fromkeys((*changed, *message.side_effects.read)))
        elif isinstance(message, UserMessage) and "@" in message.content:
            mentions = (word.lstrip("@").strip('",.') for word in message.content.split() if word.startswith("@"))
            used.update(dict.fromkeys(mentions))
        if len(used) >= _MAX_RECENT_FILES:
            break
    names = list(used)[:_MAX_RECENT_FILES]
    return {name: MOST_RECENT_POINTS * max(1.0 - place / _MAX_RECENT_FILES, 0.25) for place, name in enumerate(names)}


def list_children(files: Sequence[str], start: str) -> list[str]:
    """Return the files and directories directly below `start`, which is "" or ends in a slash, as directories do."""
    children: dict[str, None] = {}
    for path in files:
        if path.startswith(start):
            end = path.find("/", len(start))
            children[path if end < 0 else path[: end + 1]] = None
    return sorted(children)


def list_disk_entries(typed: str) -> list[str]:
    """Return the entries on disk that match an absolute path being typed; "~" is the home directory."""
    folder, slash, start = typed.rpartition("/")
    if not slash:
        return ["~/"]
    found: list[str] = []
    try:
        with os.scandir(Path(folder + "/").expanduser()) as entries:
            for entry in entries:
                if entry.name.startswith(start) and (start or not entry.name.startswith(".")):
                    found.append(f"{folder}/{entry.name}{'/' if entry.is_dir() else ''}")
    except (OSError, RuntimeError):  # cannot be listed, so there is nothing to offer
        return []
    return sorted(found)


def _filter_resources(offers: Sequence[MentionOffer], typed: str) -> Iterator[MentionOffer]:
    """Yield the matching resources of a server, best first."""
    rows = [
        (points, offer) for offer in offers if (points := score_match(typed, f"{offer.label} {offer.note}")) is not None
    ]
    if typed:
        rows.sort(key=lambda row: -row[0])
    yield from (one for _, one in rows[:MAX_OFFERS])


def _make_offer(kind: str, name: str, note: str) -> MentionOffer:
    plain = name if name and not any(char.isspace() or char in "\"'`<>|" for char in name) else f'"{name}"'
    return MentionOffer(text=f"@{kind}:{plain}", label=name, note=note)


_MENTION = re.compile(r"""(?<![\w@/.+\-])@((?:session:|note:)?"[^"\n]*|[^\s"'`<>|]*)\Z""")


class LineCompleter(Completer):
    """Completes commands while they are typed, mentions after "@", paths on Tab.

    get_context: returns the running App, None while it is being built. list_files, list_ahead: see `FileListing`.
    Runs in a thread, so that it never blocks the line.
    """

    def __init__(
        self,
        get_context: "Callable[[], CommandContext | None]",
        list_files: Callable[[], Sequence[str]],
        list_ahead: Callable[[], Sequence[str] | None] | None = None,
    ) -> None:
        self._get_context = get_context
        self.files = FileListing(list_files, list_ahead)
        self._mentions = MentionMenu(get_context, self.files)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield all completions for the text before the cursor."""
        text = document.text_before_cursor
        if is_command(text) and "\n" not in text:
            from clio.commands.registry import complete_command_line

            for suggestion, typed in complete_command_line(self._get_context(), text):
                yield _make_completion(suggestion.text, typed, suggestion.text, tr(suggestion.note))
            if find_open_mention(text) is None:
                return
        typed = find_open_mention(text)
        if words := parse_memory_line(text):
            for offer in self._mentions.find_memories(words):
                yield _make_completion(offer.text, len(text), offer.label, offer.note)
        elif typed is not None:
            for offer in self._mentions.find_offers(typed):
                yield _make_completion(offer.text, len(typed) + 1, offer.label, offer.note)
        elif complete_event.completion_requested and (word := get_last_word(text)):
            for path in self._find_paths(word):
                yield _make_completion(path, len(word), path)

    def _find_paths(self, typed: str) -> Iterator[str]:
        found = (
            list_disk_entries(typed)
            if typed.startswith(("/", "~"))
            else match_paths(self.files.get_files_and_index()[0], typed)
        )
        yield from found[:MAX_OFFERS]


def _make_completion(text: str, typed: int, label: str, note: str = "") -> Completion:
    """Return a completion that replaces the last `typed` characters. Its menu text is cleaned of control characters."""
    return Completion(text, start_position=-typed, display=clean_line(label), display_meta=clean_line(note))


def find_open_mention(before: str) -> str | None:
    """Return what was typed of a mention after its "@" if the cursor is in one; else None."""
    match = _MENTION.search(before)
    return match[1] if match else None


def accept_completion(buffer: Buffer) -> bool:
    """On Enter, accept the selected or first completion of a path or mention.

    False if there is nothing to accept: no menu, a command, or the completion equals the text on the line.
    """
    state = buffer.complete_state
    if state is None or not state.completions or buffer.text.startswith("/"):
        return False
    if state.current_completion is None:
        if not accepts_first_completion(buffer):
            return False
        buffer.apply_completion(state.completions[0])
    buffer.complete_state = None
    return True


def accepts_first_completion(buffer: Buffer) -> bool:
    """Whether Enter accepts the first completion of a path or mention, although none is selected."""
    state, before = buffer.complete_state, buffer.document.text_before_cursor
    if state is None or not state.completions or buffer.text.startswith("/") or not find_open_mention(before):
        return False
    # the typed text may itself be one of the completions
    return not any(before.endswith(offer.text) for offer in state.completions)


def get_last_word(text: str) -> str:
    """Return the text between the last blank and the cursor."""
    return "" if not text or text[-1].isspace() else text.split()[-1]


def match_paths(files: Sequence[str], typed: str) -> list[str]:
    """Return the paths that complete `typed`: entries directly below it, then files anywhere whose name begins with it.

    Directories end in a slash.
    """
    start = typed.removeprefix("./")
    named: list[str] = []
    if start and "/" not in start:
        named = [path for path in files if not path.startswith(start) and path.rpartition("/")[2].startswith(start)]
    return [*list_children(files, start), *sorted(named, key=lambda path: (path.count("/"), path))]
