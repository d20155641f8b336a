"""Completion of the line: slash commands from their table, and the project's paths."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from clio.commands.base import Shell
from clio.commands.registry import complete, is_command

_MAX_SHOWN = 60
_FRESH_S = 5.0  # a listing of the project serves this long; new files appear soon enough


class LineCompleter(Completer):
    """Completes commands while they are typed, paths on Tab or after "@".

    shell: gives the running App, None while it is being built. list_files: relative posix paths of the project.
    Called in a thread: neither blocks the line.
    """

    def __init__(
        self, project: Path, shell: Callable[[], Shell | None], list_files: Callable[[], Sequence[str]]
    ) -> None:
        self._project = project
        self._shell = shell
        self._list_files = list_files
        self._files: Sequence[str] = ()
        self._listed_at = float("-inf")

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Everything that fits what stands before the cursor."""
        text = document.text_before_cursor
        if is_command(text) and "\n" not in text:
            for suggestion, typed in complete(self._shell(), text):
                yield Completion(suggestion.text, start_position=-typed, display_meta=suggestion.note)
            return
        word = last_word(text)
        if word.startswith("@") or (complete_event.completion_requested and word):
            yield from self._paths(word)

    def _paths(self, word: str) -> Iterator[Completion]:
        mark = "@" if word.startswith("@") else ""
        typed = word[len(mark) :]
        found = folder_entries(typed) if typed.startswith(("/", "~")) else matching_paths(self._project_files(), typed)
        for path in found[:_MAX_SHOWN]:
            yield Completion(mark + path, start_position=-len(word), display=path)

    def _project_files(self) -> Sequence[str]:
        now = time.monotonic()
        if now - self._listed_at > _FRESH_S:
            self._files = self._list_files()
            self._listed_at = time.monotonic()
        return self._files


def last_word(text: str) -> str:
    """What stands between the last blank and the cursor."""
    return "" if not text or text[-1].isspace() else text.split()[-1]


def matching_paths(files: Sequence[str], typed: str) -> list[str]:
    """The next steps down from `typed`, folders with a final slash, then files whose own name begins like it."""
    start = typed.removeprefix("./")
    steps: dict[str, None] = {}
    named: list[str] = []
    for path in files:
        if path.startswith(start):
            end = path.find("/", len(start))
            steps[path if end < 0 else path[: end + 1]] = None
        elif start and "/" not in start and path.rpartition("/")[2].startswith(start):
            named.append(path)
    return [*sorted(steps), *sorted(named, key=lambda path: (path.count("/"), path))]


def folder_entries(typed: str) -> list[str]:
    """What lies on disk under an absolute path that is being typed; "~" is the home folder."""
    folder, slash, start = typed.rpartition("/")
    if not slash:
        return ["~/"]
    found: list[str] = []
    try:
        with os.scandir(Path(folder + "/").expanduser()) as entries:
            for entry in entries:
                if entry.name.startswith(start) and (start or not entry.name.startswith(".")):
                    found.append(f"{folder}/{entry.name}{'/' if entry.is_dir() else ''}")
    except (OSError, RuntimeError):  # nothing can be listed there, so there is nothing to offer
        return []
    return sorted(found)
