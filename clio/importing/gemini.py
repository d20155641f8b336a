"""Conversations of Gemini CLI, under `~/.gemini/tmp/<project>/`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clio.importing.reading import (
    ImportedMessage,
    Json,
    Picture,
    Piece,
    Progress,
    SessionAbout,
    Tally,
    as_json,
    as_mapping,
    as_text,
    iterate_mappings,
    kind_of,
    parse_seconds,
    read_elements,
    read_records,
)
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

_INJECTED = ("<session_context>", "This is the Gemini CLI. We are setting up the context", "<state_snapshot>")


def convert_message(key: str, raw: Json, id: str) -> Iterator[ImportedMessage]:
    """A message of a chat, and the results of the calls it has."""
    created = parse_seconds(raw.get("timestamp"))
    words, pictures = _words(raw.get("content"))
    if raw.get("type") == "user":
        if words.strip() or pictures:
            origin = "continue" if words.startswith(_INJECTED) else "user"
            message = UserMessage(content=words.strip(), origin=origin, id=id, created=created)
            yield ImportedMessage(key=key, message=message, pictures=tuple(pictures))
        return
    calls = list(iterate_mappings(raw.get("toolCalls")))
    made = tuple(_call(call, f"{id}-{number}") for number, call in enumerate(calls))
    if words.strip() or made:
        model = as_text(raw.get("model"))
        answer = AssistantMessage(content=words.strip(), tool_calls=made, model=model, id=id, created=created)
        yield ImportedMessage(key=key, message=answer)
    for call, one in zip(calls, made, strict=True):
        yield ImportedMessage(key=key, message=_result(call, one, created))


def convert_parts(content: Json, place: int, created: float, tally: Tally) -> Iterator[Message]:
    """The messages in one entry of a history as it was sent to the model.

    place: of the entry in the history. Calls may have no ids; then the results stand in the next entry, in their order.
    """
    id = f"g{place}"
    texts: list[str] = []
    calls: list[ToolCall] = []
    results: list[ToolMessage] = []
    for part in iterate_mappings(content.get("parts")):
        call, response = as_mapping(part.get("functionCall")), as_mapping(part.get("functionResponse"))
        if call:
            made = as_text(call.get("id")) or f"g{place}-{len(calls)}"
            calls.append(ToolCall(id=made, name=as_text(call.get("name")), arguments=as_json(call.get("args") or {})))
        elif response:
            answers, number = as_text(response.get("id")) or f"g{place - 1}-{len(results)}", len(results)
            output = _output(response.get("response"))
            results.append(ToolMessage(tool_call_id=answers, content=output, id=f"{id}-{number}", created=created))
        elif part.get("thought") is not True:
            texts.append(as_text(part.get("text")))
    words = "\n\n".join(one for one in texts if one.strip())
    yield from results
    if content.get("role") == "model":
        if words or calls:
            yield AssistantMessage(content=words, tool_calls=tuple(calls), id=id, created=created)
    elif content.get("role") == "user":
        if words:
            origin = "continue" if words.startswith(_INJECTED) else "user"
            yield UserMessage(content=words, origin=origin, id=id, created=created)
    else:
        tally.kinds[kind_of("role", content.get("role"))] += 1


def _call(call: Json, made_id: str) -> ToolCall:
    id = as_text(call.get("id")) or made_id
    return ToolCall(id=id, name=as_text(call.get("name")), arguments=as_json(call.get("args") or {}))


def _result(call: Json, made: ToolCall, created: float) -> ToolMessage:
    shown = call.get("resultDisplay")
    output = _output(call.get("result")) or as_text(shown) or as_text(as_mapping(shown).get("fileDiff"))
    failed = call.get("status") in ("error", "cancelled")
    if failed and not output:
        output = as_text(call.get("error")) or as_text(call.get("status"))
    return ToolMessage(
        tool_call_id=made.id,
        content=output,
        ok=not failed,
        id=f"{made.id}-result",
        created=parse_seconds(call.get("timestamp")) or created,
    )


def _output(value: Any) -> str:
    """The words in a result, however deep the program has put them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, (_output(one) for one in iterate_mappings(value))))
    whole = as_mapping(value)
    for name in ("functionResponse", "response", "output", "error", "text"):
        if name in whole:
            return _output(whole[name])
    return as_json(whole) if whole else ""


def _words(content: Any) -> tuple[str, list[Picture]]:
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    pictures: list[Picture] = []
    for part in iterate_mappings(content) if isinstance(content, list) else [as_mapping(content)]:
        data = as_mapping(part.get("inlineData"))
        if as_text(data.get("mimeType")).startswith("image/"):
            pictures.append(Picture(media_type=as_text(data.get("mimeType")), data=as_text(data.get("data"))))
        elif part.get("thought") is not True:
            texts.append(as_text(part.get("text")))
    return "\n\n".join(one for one in texts if one.strip()), pictures


_OF_DOCUMENT = frozenset({"messages", "history"})


def read_gemini(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
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
            self.key = as_text(value)
        elif name == "summary":
            self.title = as_text(value)

    def message(self, raw: Json) -> Iterator[Piece]:
        if not self._told:
            self._told = True
            self.key = self.key or self._path.stem
            folder = self._path.parent
            within = folder.name if folder.parent.name == "chats" else ""
            yield SessionAbout(key=self.key, within=within, title="sub-agent" if within else "")
        kind, id = raw.get("type"), as_text(raw.get("id"))
        if id and id in self._known:
            return
        if kind in ("user", "gemini"):
            for piece in convert_message(self.key, raw, id):
                self._known.add(id)  # only what said something stands for its id
                yield piece
        elif kind not in ("info", "error", "warning"):
            self._tally.kinds[kind_of("message", kind)] += 1

    def end(self) -> Iterator[Piece]:
        if self._told and self.title:
            yield SessionAbout(key=self.key, title=self.title)


def _chat(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    chat = _Chat(path, tally)
    for name, value in read_elements(path, _OF_DOCUMENT, tally, progress):
        if name == "messages" and isinstance(value, dict):
            yield from chat.message(as_mapping(value))
        else:
            chat.field(name, value)
    yield from chat.end()


def _log(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    """Twice through the file: first to learn which of a message's lines is its last, then to read those."""
    last: dict[str, int] = {}
    for place, raw in enumerate(_messages(path, Tally(), lambda done: progress(done // 2))):
        last[as_text(raw.get("id"))] = place
    half = path.stat().st_size // 2
    chat = _Chat(path, tally)
    waiting: dict[str, Json] = {}
    order = iter(last)
    upcoming = next(order, None)
    for place, raw in enumerate(_messages(path, tally, lambda done: progress(half + done // 2), chat)):
        id = as_text(raw.get("id"))
        if last.get(id) != place:
            continue
        waiting[id] = raw
        while upcoming is not None and upcoming in waiting:
            yield from chat.message(waiting.pop(upcoming))
            upcoming = next(order, None)
    yield from chat.end()


def _messages(path: Path, tally: Tally, progress: Progress, chat: _Chat | None = None) -> Iterator[Json]:
    """The messages of a log in the order of its lines; what else it says goes to `chat`."""
    for _, line in read_records(path, tally, progress):
        changed = as_mapping(line.get("$set"))
        if "$set" in line or "sessionId" in line:
            for name, value in (changed or line).items():
                if chat is not None:
                    chat.field(name, value)
            yield from iterate_mappings(changed.get("messages"))
        elif "type" in line:
            yield line
        elif "$rewindTo" not in line and "$patch" not in line:
            tally.kinds[kind_of(next(iter(line), None))] += 1


def _checkpoint(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    tag = path.stem.removeprefix("checkpoint").removeprefix("-") or "checkpoint"
    key = f"{path.parent.name}/checkpoint/{tag}"
    at = path.stat().st_mtime
    yield SessionAbout(key=key, title=tag)
    number = 0
    for name, value in read_elements(path, _OF_DOCUMENT, tally, progress):
        if name not in ("", "history"):
            continue
        number += 1
        for message in convert_parts(as_mapping(value), number, at, tally):
            yield ImportedMessage(key=key, message=message)


def _words_only(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    """What was typed, as far as no chat tells it better."""
    chats = {name.name for name in (path.parent / "chats").glob("session-*")} if path.parent.is_dir() else set[str]()
    begun: set[str] = set()
    for _, value in read_elements(path, frozenset(), tally, progress):
        entry = as_mapping(value)
        key, words = as_text(entry.get("sessionId")), as_text(entry.get("message"))
        if not key or entry.get("type") != "user":
            tally.kinds[kind_of("log", entry.get("type"))] += 1
        elif words.strip() and not any(key[:8] in name for name in chats):
            if key not in begun:
                begun.add(key)
                yield SessionAbout(key=key)
            message: Message = UserMessage(
                content=words, id=f"{key}-{entry.get('messageId')}", created=parse_seconds(entry.get("timestamp"))
            )
            yield ImportedMessage(key=key, message=message)
