"""The history of entered lines across sessions, and searching it with Ctrl-R."""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path

from msgspec import Struct
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import History

from clio.text.fuzzy import score_match
from clio.text.translation import tr
from clio.ui.line_rules import PastedTexts

_READ_BYTES = 512 * 1024  # only the end of the file is read, so that a history of years opens quickly
_MAX_ENTRY_CHARS = 20_000


class HistoryEntry(Struct, frozen=True, kw_only=True):
    """One earlier line. project: the directory it was typed in; "" if unknown."""

    text: str
    project: str = ""
    is_from_this_project: bool = False


class LineHistory(History):
    """Earlier lines, newest first, in prompt_toolkit's own file format: "+" before each line of an entry.

    The time and the project precede each entry. Nothing is written before `redact` is known: a key that the user
    pasted must not stay on disk after the session.

    Attributes:
        problem: why the newest entries are not on disk; None if they are.
        pastes: marks in the stored entries what was pasted into them, so that it is not taken for the user's own text
            when a later run sends the line again; the line is shown without the marks.
    """

    def __init__(self, path: Path, project: Path | None = None) -> None:
        super().__init__()
        self.path = path
        self._project = str(project or "").replace("\n", " ")
        self.problem: str | None = None
        self.pastes = PastedTexts()
        self._redact: Callable[[str], str] | None = None
        self._waiting: list[str] = []

    def use_redaction(self, redact: Callable[[str], str]) -> None:
        """Redact secrets in entries from now on, and write the entries that waited for this function."""
        self._redact = redact
        waiting, self._waiting = self._waiting, []
        for text in waiting:
            self.store_string(text)

    def load_history_strings(self) -> Iterable[str]:
        """Yield the entries of all sessions, newest first; none if there is no readable file."""
        return [entry.text for entry in reversed(self.read_entries())]

    def read_entries(self) -> list[HistoryEntry]:
        """Return the entries with their projects, oldest first, as they are on disk now."""
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _READ_BYTES))
                data = file.read()
        except FileNotFoundError:
            return []
        except OSError as error:
            self.problem = tr(
                "the history cannot be read from {path}: {strerror}", path=self.path, strerror=error.strerror
            )
            return []
        found = parse_history(data.decode("utf-8", errors="replace"), is_truncated=size > _READ_BYTES)
        return [
            HistoryEntry(
                text=self.pastes.restore(text),
                project=project,
                is_from_this_project=bool(project) and project == self._project,
            )
            for text, project in found
        ]

    def store_string(self, string: str) -> None:
        """Append one entry in a single write, so that concurrent processes never mix their lines."""
        if len(string) > _MAX_ENTRY_CHARS:
            return
        string = self.pastes.get_marked(string)
        if self._redact is None:
            self._waiting.append(string)
            return
        entry = format_history_entry(
            self._redact(string), f"{time.strftime('%Y-%m-%d %H:%M:%S')} {self._project}".rstrip()
        )
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(file, entry.encode("utf-8", errors="replace"))
            finally:
                os.close(file)
        except OSError as error:
            self.problem = tr("the history is not saved in {path}: {strerror}", path=self.path, strerror=error.strerror)


def format_history_entry(text: str, when: str) -> str:
    """Format one entry as it is stored in the file."""
    lines = "".join(f"+{line}\n" for line in text.split("\n"))
    return f"\n# {when}\n{lines}"


def parse_history(data: str, *, is_truncated: bool = False) -> list[tuple[str, str]]:
    """Parse the entries with the project of each, "" if it has none."""
    if is_truncated:
        data = data[data.find("\n# ") + 1 :]
    entries: list[tuple[str, str]] = []
    current: list[str] = []
    project = ""
    for line in data.split("\n"):
        if line.startswith("+"):
            current.append(line[1:])
            continue
        if current:
            entries.append(("\n".join(current), project))
            current, project = [], ""
        if line.startswith("# "):
            project = line[len("# 2026-01-01 00:00:00 ") :]
    return entries


MAX_MATCHES = 40
_MAX_SEARCHED_ENTRIES = 5_000  # entries, newest first
_SAME_PROJECT_POINTS = 12.0  # points for a line typed in this project
_NEWEST_POINTS = 6.0  # points the newest line has over the oldest
_EXACT_MATCH_POINTS = 20.0  # points if the line contains the query exactly as typed
_SCORED_CHARS = 300


class HistorySearch(Completer):
    """Completes the line from earlier lines; called in a thread."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._entries: Sequence[HistoryEntry] = ()

    def load_entries(self) -> None:
        """Load all lines entered so far, in this process and in others."""
        if isinstance(self._history, LineHistory):
            found = self._history.read_entries()
        else:
            found = [HistoryEntry(text=text, is_from_this_project=True) for text in self._history.get_strings()]
        newest = islice(reversed(found), _MAX_SEARCHED_ENTRIES)
        self._entries = list({entry.text: entry for entry in reversed(list(newest))}.values())[::-1]

    def find_matches(self, query: str) -> list[HistoryEntry]:
        """Return the best entries for a query, best first; for "" the newest ones, this project's first."""
        query_text = query.strip()
        if not query_text:
            here = [entry for entry in self._entries if entry.is_from_this_project]
            return [*here, *(entry for entry in self._entries if not entry.is_from_this_project)][:MAX_MATCHES]
        lower_query, ranked = query_text.lower(), list[tuple[float, int, HistoryEntry]]()
        for number, entry in enumerate(self._entries):
            text = entry.text[:_SCORED_CHARS].replace("/", " ")
            points = score_match(query_text.replace("/", " "), text)
            if points is not None:
                points += _SAME_PROJECT_POINTS * entry.is_from_this_project + _EXACT_MATCH_POINTS * (
                    lower_query in text.lower()
                )
                ranked.append((-points + _NEWEST_POINTS * number / len(self._entries), number, entry))
        ranked.sort(key=lambda row: row[:2])
        return [entry for _, _, entry in ranked[:MAX_MATCHES]]

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield the matches, each replacing the whole line."""
        for entry in self.find_matches(document.text):
            display = " ⏎ ".join(line.strip() for line in entry.text.splitlines() if line.strip())
            project_name = "" if entry.is_from_this_project else entry.project.rstrip("/").rpartition("/")[2]
            yield Completion(
                entry.text, start_position=-document.cursor_position, display=display[:200], display_meta=project_name
            )
