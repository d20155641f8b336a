"""Conversations of aider: `.aider.chat.history.md` in the project, every chat since the first one after the other.

A heading begins a chat, "#### " stands before a person's words, "> " before what the program said; all else is the
model's. Only the beginning of a chat has a time: those of the words are in `.aider.input.history` beside it, which is
read instead where there is no other.
"""

import re
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from clio.importing.reading import ImportedMessage, Piece, Progress, SessionAbout, Tally, read_lines
from clio.messages import AssistantMessage, UserMessage

HISTORY, INPUTS = ".aider.chat.history.md", ".aider.input.history"
_BEGUN = "# aider chat started at "
_WORDS, _NOTE = "#### ", "> "
_MODEL = re.compile(r"> (?:Main model|Model|Models?): (\S+)")


def read_aider(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    """The chats of one file. Raises OSError, and what `progress` raises."""
    if path.name.endswith("input.history"):
        return _inputs_only(path, tally, progress)
    return _Reader(path).read(tally, progress)


class _Reader:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._key = ""
        self._at = 0.0
        self._model = ""
        self._said: list[str] = []
        self._answer: list[str] = []
        self._typed = False
        self._times: dict[str, deque[float]] = {}

    def read(self, tally: Tally, progress: Progress) -> Iterator[Piece]:
        """All pieces of the file."""
        inputs = self._path.with_name(self._path.name.replace("chat.history.md", "input.history"))
        if inputs != self._path and inputs.is_file():
            for at, words in _inputs(inputs, Tally(), lambda done: None):
                self._times.setdefault(" ".join(words.split()), deque()).append(at)
        for data in _with_blanks(self._path, tally, progress):
            line = data.rstrip("\r")
            if line.startswith(_BEGUN):
                yield from self._flush()
                yield from self._begin(line.removeprefix(_BEGUN).strip())
            elif line.startswith(_WORDS) or line == _WORDS.strip():
                if not self._said:
                    yield from self._flush()
                self._said.append(line.removeprefix(_WORDS.strip()).strip())
            else:
                if self._said:
                    yield from self._flush()
                if found := _MODEL.match(line):
                    self._model = found[1]
                self._answer.append(line)
        yield from self._flush()

    def _begin(self, when: str) -> Iterator[Piece]:
        self._at = _local(when)
        self._key = f"{self._path.resolve().parent}/{when}"
        self._typed = False
        yield SessionAbout(key=self._key, directory=str(self._path.resolve().parent))

    def _flush(self) -> Iterator[Piece]:
        """The words or the answer that just ended. What stands before the first words is the program's greeting."""
        said, answer = "\n".join(self._said).strip(), "\n".join(line.rstrip() for line in self._answer).strip()
        self._said, self._answer = [], []
        if not self._key and (said or answer):
            yield from self._begin("")
        if said:
            self._typed = True
            self._at = self._typed_at(said)
            yield ImportedMessage(key=self._key, message=UserMessage(content=said, id="", created=self._at))
        elif answer and self._typed:
            message = AssistantMessage(content=answer, model=self._model, id="", created=self._at)
            yield ImportedMessage(key=self._key, message=message)

    def _typed_at(self, words: str) -> float:
        """When a person typed these words: the first time after what came before them."""
        times = self._times.get(" ".join(words.split()), deque())
        while times:
            at = times.popleft()
            if at >= self._at - 1:
                return at
        return self._at


def _inputs_only(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    """A person's words, those of a day as one conversation."""
    folder, key = str(path.resolve().parent), ""
    for at, words in _inputs(path, tally, progress):
        day = f"{folder}/inputs/{time.strftime('%Y-%m-%d', time.localtime(at))}"
        if day != key:
            key = day
            yield SessionAbout(key=key, directory=folder)
        yield ImportedMessage(key=key, message=UserMessage(content=words, id="", created=at))


def _inputs(path: Path, tally: Tally, progress: Progress) -> Iterator[tuple[float, str]]:
    """What was typed, each with its time: a line "# TIME", then the words with a "+" before each line."""
    at, words = 0.0, list[str]()
    for data in read_lines(path, tally, progress):
        line = data.decode("utf-8", "replace")
        if line.startswith("+"):
            words.append(line[1:])
            continue
        if words:
            yield at, "\n".join(words)
            words = []
        if line.startswith("# "):
            at = _local(line[2:])
    if words:
        yield at, "\n".join(words)


def _with_blanks(path: Path, tally: Tally, progress: Progress) -> Iterator[str]:
    """The lines of a file of Markdown, in which empty ones and blanks before words count."""
    for data in read_lines(path, tally, progress, keep=True):
        line = data.decode("utf-8", "replace")
        tally.mended += "\ufffd" in line
        yield line


def _local(when: str) -> float:
    """Seconds since the epoch of a time as aider writes it, in the time of the place; 0.0 where it is none."""
    try:
        return time.mktime(time.strptime(when.strip()[:19], "%Y-%m-%d %H:%M:%S"))
    except (ValueError, OverflowError):
        return 0.0
