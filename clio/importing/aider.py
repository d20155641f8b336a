"""Reads conversations of aider: `.aider.chat.history.md` in the project contains all its chats.

A heading begins a chat, "#### " precedes a user message and "> " output of the program; the rest is the model's. Only
the beginning of a chat has a time. The times of user messages are in `.aider.input.history` beside it, which is read
instead if there is no other file.
"""

import re
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from clio.importing.reading import ImportedMessage, Piece, Progress, SessionAbout, Tally, read_lines
from clio.messages import AssistantMessage, UserMessage

HISTORY, INPUTS = ".aider.chat.history.md", ".aider.input.history"
_CHAT_START = "# aider chat started at "
_USER_MARK = "#### "
_MODEL = re.compile(r"> (?:Main model|Model|Models?): (\S+)")


def read_aider(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    """Yield the chats of one file. Raises OSError, and what `progress` raises."""
    if path.name.endswith("input.history"):
        return _convert_inputs(path, tally, progress)
    return _Reader(path).read(tally, progress)


class _Reader:
    """Converts the lines of one chat history."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._key = ""
        self._time = 0.0
        self._model = ""
        self._user_lines: list[str] = []
        self._answer: list[str] = []
        self._has_user_message = False
        self._times: dict[str, deque[float]] = {}

    def read(self, tally: Tally, progress: Progress) -> Iterator[Piece]:
        """Yield all pieces of the file."""
        inputs = self._path.with_name(self._path.name.replace("chat.history.md", "input.history"))
        if inputs != self._path and inputs.is_file():
            for at, text in _read_inputs(inputs, Tally(), lambda done: None):
                self._times.setdefault(" ".join(text.split()), deque()).append(at)
        for data in _read_markdown_lines(self._path, tally, progress):
            line = data.rstrip("\r")
            if line.startswith(_CHAT_START):
                yield from self._flush()
                yield from self._begin(line.removeprefix(_CHAT_START).strip())
            elif line.startswith(_USER_MARK) or line == _USER_MARK.strip():
                if not self._user_lines:
                    yield from self._flush()
                self._user_lines.append(line.removeprefix(_USER_MARK.strip()).strip())
            else:
                if self._user_lines:
                    yield from self._flush()
                if found := _MODEL.match(line):
                    self._model = found[1]
                self._answer.append(line)
        yield from self._flush()

    def _begin(self, when: str) -> Iterator[Piece]:
        self._time = _parse_local_time(when)
        self._key = f"{self._path.resolve().parent}/{when}"
        self._has_user_message = False
        yield SessionAbout(key=self._key, directory=str(self._path.resolve().parent))

    def _flush(self) -> Iterator[Piece]:
        """Yield the message that has ended. Text before the first user message is the program's greeting."""
        user_text = "\n".join(self._user_lines).strip()
        answer = "\n".join(line.rstrip() for line in self._answer).strip()
        self._user_lines, self._answer = [], []
        if not self._key and (user_text or answer):
            yield from self._begin("")
        if user_text:
            self._has_user_message = True
            self._time = self._find_input_time(user_text)
            yield ImportedMessage(key=self._key, message=UserMessage(content=user_text, id="", created=self._time))
        elif answer and self._has_user_message:
            message = AssistantMessage(content=answer, model=self._model, id="", created=self._time)
            yield ImportedMessage(key=self._key, message=message)

    def _find_input_time(self, text: str) -> float:
        """Return when the user typed this text: the first time of this text after the previous message."""
        times = self._times.get(" ".join(text.split()), deque())
        while times:
            at = times.popleft()
            if at >= self._time - 1:
                return at
        return self._time


def _convert_inputs(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    """Yield the user's messages, with one conversation per day."""
    folder, key = str(path.resolve().parent), ""
    for at, text in _read_inputs(path, tally, progress):
        day = f"{folder}/inputs/{time.strftime('%Y-%m-%d', time.localtime(at))}"
        if day != key:
            key = day
            yield SessionAbout(key=key, directory=folder)
        yield ImportedMessage(key=key, message=UserMessage(content=text, id="", created=at))


def _read_inputs(path: Path, tally: Tally, progress: Progress) -> Iterator[tuple[float, str]]:
    """Yield the user's inputs with their times. The file has a line "# TIME", then lines of text beginning with "+"."""
    at, lines = 0.0, list[str]()
    for data in read_lines(path, tally, progress):
        line = data.decode("utf-8", "replace")
        if line.startswith("+"):
            lines.append(line[1:])
            continue
        if lines:
            yield at, "\n".join(lines)
            lines = []
        if line.startswith("# "):
            at = _parse_local_time(line[2:])
    if lines:
        yield at, "\n".join(lines)


def _read_markdown_lines(path: Path, tally: Tally, progress: Progress) -> Iterator[str]:
    """Yield the lines of a Markdown file, including empty lines and leading white space, which are significant."""
    for data in read_lines(path, tally, progress, keep=True):
        line = data.decode("utf-8", "replace")
        tally.mended += "\ufffd" in line
        yield line


def _parse_local_time(when: str) -> float:
    """Return aider's local time as seconds since the epoch; 0.0 if it is invalid."""
    try:
        return time.mktime(time.strptime(when.strip()[:19], "%Y-%m-%d %H:%M:%S"))
    except (ValueError, OverflowError):
        return 0.0
