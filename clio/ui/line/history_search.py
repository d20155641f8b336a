"""Ctrl-R: earlier lines of all projects by fuzzy match, those of this project first."""

from collections.abc import Iterable, Sequence
from itertools import islice

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import History

from clio.text.fuzzy import score
from clio.ui.line.history import Entry, LineHistory

MAX_SHOWN = 40
_MAX_SEARCHED = 5_000  # entries, the newest
_HERE = 12.0  # points for a line typed in this project
_AGE = 6.0  # points the newest line has over the oldest
_WHOLE = 20.0  # points for words that stand there just so
_SCORED_CHARS = 300


class HistorySearch(Completer):
    """Offers earlier lines for what stands on the line; called in a thread."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._entries: Sequence[Entry] = ()

    def begin(self) -> None:
        """Look at what was typed up to now, here and in other clios."""
        if isinstance(self._history, LineHistory):
            found = self._history.entries()
        else:
            found = [Entry(text=text, here=True) for text in self._history.get_strings()]
        newest = islice(reversed(found), _MAX_SEARCHED)
        self._entries = list({entry.text: entry for entry in reversed(list(newest))}.values())[::-1]

    def matches(self, query: str) -> list[Entry]:
        """The best entries for a query, best first; without one the newest, this project's first."""
        wanted = query.strip()
        if not wanted:
            here = [entry for entry in self._entries if entry.here]
            return [*here, *(entry for entry in self._entries if not entry.here)][:MAX_SHOWN]
        low, ranked = wanted.lower(), list[tuple[float, int, Entry]]()
        for number, entry in enumerate(self._entries):
            text = entry.text[:_SCORED_CHARS].replace("/", " ")
            points = score(wanted.replace("/", " "), text)
            if points is not None:
                points += _HERE * entry.here + _WHOLE * (low in text.lower())
                ranked.append((-points + _AGE * number / len(self._entries), number, entry))
        ranked.sort(key=lambda row: row[:2])
        return [entry for _, _, entry in ranked[:MAX_SHOWN]]

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """The matches, each in place of the whole line."""
        for entry in self.matches(document.text):
            shown = " ⏎ ".join(line.strip() for line in entry.text.splitlines() if line.strip())
            where = "" if entry.here else entry.project.rstrip("/").rpartition("/")[2]
            yield Completion(
                entry.text, start_position=-document.cursor_position, display=shown[:200], display_meta=where
            )
