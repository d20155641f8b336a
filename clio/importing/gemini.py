"""Reads conversations of Gemini CLI, in `~/.gemini/tmp/<project>/`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clio.importing.reading import (
    ImportedImage,
    ImportedMessage,
    Json,
    Piece,
    Progress,
    SessionAbout,
    Tally,
    as_json,
    as_mapping,
    as_text,
    iterate_mappings,
    join_kind,
    parse_seconds,
    read_elements,
    read_records,
)
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

_INJECTED = ("<session_context>", "This is the Gemini CLI. We are setting up the context", "<state_snapshot>")


def convert_message(key: str, raw: Json, id: str) -> Iterator[ImportedMessage]:
    """Yield a message of a chat, and the results of its calls."""
    created = parse_seconds(raw.get("timestamp"))
    text, images = _read_content(raw.get("content"))
    if raw.get("type") == "user":
        if text.strip() or images:
            origin = "continue" if text.startswith(_INJECTED) else "user"
            message = UserMessage(content=text.strip(), origin=origin, id=id, created=created)
            yield ImportedMessage(key=key, message=message, images=tuple(images))
        return
    calls = list(iterate_mappings(raw.get("toolCalls")))
    converted = tuple(_convert_call(call, f"{id}-{number}") for number, call in enumerate(calls))
    if text.strip() or converted:
        model = as_text(raw.get("model"))
        answer = AssistantMessage(content=text.strip(), tool_calls=converted, model=model, id=id, created=created)
        yield ImportedMessage(key=key, message=answer)
    for raw_call, call in zip(calls, converted, strict=True):
        yield ImportedMessage(key=key, message=_convert_result(raw_call, call, created))


def convert_parts(content: Json, index: int, created: float, tally: Tally) -> Iterator[Message]:
    """Yield the messages in one entry of a history as it was sent to the model.

    index: the entry's index in the history. Calls may have no ids; then their results are in the next entry, in order.
    """
    id = f"g{index}"
    texts: list[str] = []
    calls: list[ToolCall] = []
    results: list[ToolMessage] = []
    for part in iterate_mappings(content.get("parts")):
        call, response = as_mapping(part.get("functionCall")), as_mapping(part.get("functionResponse"))
        if call:
            call_id = as_text(call.get("id")) or f"g{index}-{len(calls)}"
            calls.append(
                ToolCall(id=call_id, name=as_text(call.get("name")), arguments=as_json(call.get("args") or {}))
            )
        elif response:
            call_id, number = as_text(response.get("id")) or f"g{index - 1}-{len(results)}", len(results)
            output = _read_output(response.get("response"))
            results.append(ToolMessage(tool_call_id=call_id, content=output, id=f"{id}-{number}", created=created))
        elif part.get("thought") is not True:
            texts.append(as_text(part.get("text")))
    text = "\n\n".join(part for part in texts if part.strip())
    yield from results
    if content.get("role") == "model":
        if text or calls:
            yield AssistantMessage(content=text, tool_calls=tuple(calls), id=id, created=created)
    elif content.get("role") == "user":
        if text:
            origin = "continue" if text.startswith(_INJECTED) else "user"
            yield UserMessage(content=text, origin=origin, id=id, created=created)
    else:
        tally.kinds[join_kind("role", content.get("role"))] += 1


def _convert_call(call: Json, default_id: str) -> ToolCall:
    id = as_text(call.get("id")) or default_id
    return ToolCall(id=id, name=as_text(call.get("name")), arguments=as_json(call.get("args") or {}))


def _convert_result(raw_call: Json, call: ToolCall, created: float) -> ToolMessage:
    shown = raw_call.get("resultDisplay")
    output = _read_output(raw_call.get("result")) or as_text(shown) or as_text(as_mapping(shown).get("fileDiff"))
    failed = raw_call.get("status") in ("error", "cancelled")
    if failed and not output:
        output = as_text(raw_call.get("error")) or as_text(raw_call.get("status"))
    return ToolMessage(
        tool_call_id=call.id,
        content=output,
        ok=not failed,
        id=f"{call.id}-result",
        created=parse_seconds(raw_call.get("timestamp")) or created,
    )


def _read_output(value: Any) -> str:
    """Return the text of a result, at any depth of nesting."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, (_read_output(item) for item in iterate_mappings(value))))
    whole = as_mapping(value)
    for name in ("functionResponse", "response", "output", "error", "text"):
        if name in whole:
            return _read_output(whole[name])
    return as_json(whole) if whole else ""


def _read_content(content: Any) -> tuple[str, list[ImportedImage]]:
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    images: list[ImportedImage] = []
    for part in iterate_mappings(content) if isinstance(content, list) else [as_mapping(content)]:
        data = as_mapping(part.get("inlineData"))
        if as_text(data.get("mimeType")).startswith("image/"):
            images.append(ImportedImage(media_type=as_text(data.get("mimeType")), data=as_text(data.get("data"))))
        elif part.get("thought") is not True:
            texts.append(as_text(part.get("text")))
    return "\n\n".join(text for text in texts if text.strip()), images


_LISTS = frozenset({"messages", "history"})


def read_gemini(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    """Yield the conversations of one file. Raises OSError, and what `progress` raises."""
    if path.name.startswith("checkpoint"):
        return _read_checkpoint(path, tally, progress)
    if path.name == "logs.json":
        return _read_inputs(path, tally, progress)
    return _read_log(path, tally, progress) if path.suffix == ".jsonl" else _read_chat(path, tally, progress)


class _Chat:
    """Converts the fields and messages of a chat, and skips messages that were already returned."""

    def __init__(self, path: Path, tally: Tally) -> None:
        self._path = path
        self._tally = tally
        self.key = ""
        self.title = ""
        self._has_begun = False
        self._known: set[str] = set()

    def field(self, name: str, value: Any) -> None:
        if name == "sessionId" and not self._has_begun:
            self.key = as_text(value)
        elif name == "summary":
            self.title = as_text(value)

    def message(self, raw: Json) -> Iterator[Piece]:
        if not self._has_begun:
            self._has_begun = True
            self.key = self.key or self._path.stem
            folder = self._path.parent
            within = folder.name if folder.parent.name == "chats" else ""
            yield SessionAbout(key=self.key, within=within, title="sub-agent" if within else "")
        kind, id = raw.get("type"), as_text(raw.get("id"))
        if id and id in self._known:
            return
        if kind in ("user", "gemini"):
            for piece in convert_message(self.key, raw, id):
                self._known.add(id)  # only if the message has content
                yield piece
        elif kind not in ("info", "error", "warning"):
            self._tally.kinds[join_kind("message", kind)] += 1

    def end(self) -> Iterator[Piece]:
        if self._has_begun and self.title:
            yield SessionAbout(key=self.key, title=self.title)


def _read_chat(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    chat = _Chat(path, tally)
    for name, value in read_elements(path, _LISTS, tally, progress):
        if name == "messages" and isinstance(value, dict):
            yield from chat.message(as_mapping(value))
        else:
            chat.field(name, value)
    yield from chat.end()


def _read_log(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    # The file is read twice: first to find the last line of each message, then to convert those lines.
    last: dict[str, int] = {}
    for index, raw in enumerate(_iter_messages(path, Tally(), lambda done: progress(done // 2))):
        last[as_text(raw.get("id"))] = index
    half = path.stat().st_size // 2
    chat = _Chat(path, tally)
    waiting: dict[str, Json] = {}
    order = iter(last)
    upcoming = next(order, None)
    for index, raw in enumerate(_iter_messages(path, tally, lambda done: progress(half + done // 2), chat)):
        id = as_text(raw.get("id"))
        if last.get(id) != index:
            continue
        waiting[id] = raw
        while upcoming is not None and upcoming in waiting:
            yield from chat.message(waiting.pop(upcoming))
            upcoming = next(order, None)
    yield from chat.end()


def _iter_messages(path: Path, tally: Tally, progress: Progress, chat: _Chat | None = None) -> Iterator[Json]:
    """Yield the messages of a log in the order of its lines; other fields are passed to `chat`."""
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
            tally.kinds[join_kind(next(iter(line), None))] += 1


def _read_checkpoint(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    tag = path.stem.removeprefix("checkpoint").removeprefix("-") or "checkpoint"
    key = f"{path.parent.name}/checkpoint/{tag}"
    at = path.stat().st_mtime
    yield SessionAbout(key=key, title=tag)
    number = 0
    for name, value in read_elements(path, _LISTS, tally, progress):
        if name not in ("", "history"):
            continue
        number += 1
        for message in convert_parts(as_mapping(value), number, at, tally):
            yield ImportedMessage(key=key, message=message)


def _read_inputs(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    """Yield the user's inputs of chats that have no file of their own."""
    chats = {name.name for name in (path.parent / "chats").glob("session-*")} if path.parent.is_dir() else set[str]()
    begun: set[str] = set()
    for _, value in read_elements(path, frozenset(), tally, progress):
        entry = as_mapping(value)
        key, text = as_text(entry.get("sessionId")), as_text(entry.get("message"))
        if not key or entry.get("type") != "user":
            tally.kinds[join_kind("log", entry.get("type"))] += 1
        elif text.strip() and not any(key[:8] in name for name in chats):
            if key not in begun:
                begun.add(key)
                yield SessionAbout(key=key)
            message: Message = UserMessage(
                content=text, id=f"{key}-{entry.get('messageId')}", created=parse_seconds(entry.get("timestamp"))
            )
            yield ImportedMessage(key=key, message=message)
