"""Conversations of Gemini CLI, under `~/.gemini/tmp/<project>/`.

`chats/session-*.json` is one document with a list of messages; since later versions `chats/session-*.jsonl` is a log in
which a message is written again whenever it changes, and the last time counts. What was rewound stays in the archive.
`checkpoint-*.json` is what `/chat save` wrote: the history as it was sent to the model. `logs.json` has the person's
words alone, of versions that kept no chats. Thoughts are left out.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clio.importing.elements import elements_of
from clio.importing.gemini_parts import said_by, sent_parts
from clio.importing.lines import Progress, records_of
from clio.importing.pieces import About, Json, Piece, Said, Tally, kind_of, mapping, mappings, seconds, text
from clio.messages import Message, UserMessage

_OF_DOCUMENT = frozenset({"messages", "history"})


def read(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    """The conversations of one file. Raises OSError, and what `progress` raises."""
    if path.name.startswith("checkpoint"):
        return _checkpoint(path, tally, progress)
    if path.name == "logs.json":
        return _words_only(path, tally, progress)
    return _log(path, tally, progress) if path.suffix == ".jsonl" else _chat(path, tally, progress)


class _Chat:
    """What is known of a chat so far, and which of it was handed out."""

    def __init__(self, path: Path, tally: Tally) -> None:
        self._path = path
        self._tally = tally
        self.key = ""
        self.title = ""
        self._told = False
        self._known: set[str] = set()

    def field(self, name: str, value: Any) -> None:
        if name == "sessionId" and not self._told:
            self.key = text(value)
        elif name == "summary":
            self.title = text(value)

    def message(self, raw: Json) -> Iterator[Piece]:
        if not self._told:
            self._told = True
            self.key = self.key or self._path.stem
            folder = self._path.parent
            within = folder.name if folder.parent.name == "chats" else ""
            yield About(key=self.key, within=within, title="sub-agent" if within else "")
        kind, id = raw.get("type"), text(raw.get("id"))
        if id and id in self._known:
            return
        if kind in ("user", "gemini"):
            for piece in said_by(self.key, raw, id):
                self._known.add(id)  # only what said something stands for its id
                yield piece
        elif kind not in ("info", "error", "warning"):
            self._tally.kinds[kind_of("message", kind)] += 1

    def end(self) -> Iterator[Piece]:
        if self._told and self.title:
            yield About(key=self.key, title=self.title)


def _chat(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    chat = _Chat(path, tally)
    for name, value in elements_of(path, _OF_DOCUMENT, tally, progress):
        if name == "messages" and isinstance(value, dict):
            yield from chat.message(mapping(value))
        else:
            chat.field(name, value)
    yield from chat.end()


def _log(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    """Twice through the file: first to learn which of a message's lines is its last, then to read those."""
    last: dict[str, int] = {}
    for place, raw in enumerate(_messages(path, Tally(), lambda done: progress(done // 2))):
        last[text(raw.get("id"))] = place
    half = path.stat().st_size // 2
    chat = _Chat(path, tally)
    waiting: dict[str, Json] = {}
    order = iter(last)
    upcoming = next(order, None)
    for place, raw in enumerate(_messages(path, tally, lambda done: progress(half + done // 2), chat)):
        id = text(raw.get("id"))
        if last.get(id) != place:
            continue
        waiting[id] = raw
        while upcoming is not None and upcoming in waiting:
            yield from chat.message(waiting.pop(upcoming))
            upcoming = next(order, None)
    yield from chat.end()


def _messages(path: Path, tally: Tally, progress: Progress, chat: _Chat | None = None) -> Iterator[Json]:
    """The messages of a log in the order of its lines; what else it says goes to `chat`."""
    for _, line in records_of(path, tally, progress):
        changed = mapping(line.get("$set"))
        if "$set" in line or "sessionId" in line:
            for name, value in (changed or line).items():
                if chat is not None:
                    chat.field(name, value)
            yield from mappings(changed.get("messages"))
        elif "type" in line:
            yield line
        elif "$rewindTo" not in line and "$patch" not in line:
            tally.kinds[kind_of(next(iter(line), None))] += 1


def _checkpoint(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    tag = path.stem.removeprefix("checkpoint").removeprefix("-") or "checkpoint"
    key = f"{path.parent.name}/checkpoint/{tag}"
    at = path.stat().st_mtime
    yield About(key=key, title=tag)
    number = 0
    for name, value in elements_of(path, _OF_DOCUMENT, tally, progress):
        if name not in ("", "history"):
            continue
        number += 1
        for message in sent_parts(mapping(value), number, at, tally):
            yield Said(key=key, message=message)


def _words_only(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    """What was typed, as far as no chat tells it better."""
    chats = {name.name for name in (path.parent / "chats").glob("session-*")} if path.parent.is_dir() else set[str]()
    begun: set[str] = set()
    for _, value in elements_of(path, frozenset(), tally, progress):
        entry = mapping(value)
        key, words = text(entry.get("sessionId")), text(entry.get("message"))
        if not key or entry.get("type") != "user":
            tally.kinds[kind_of("log", entry.get("type"))] += 1
        elif words.strip() and not any(key[:8] in name for name in chats):
            if key not in begun:
                begun.add(key)
                yield About(key=key)
            message: Message = UserMessage(
                content=words, id=f"{key}-{entry.get('messageId')}", created=seconds(entry.get("timestamp"))
            )
            yield Said(key=key, message=message)
