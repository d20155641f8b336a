"""Conversations of Claude Code: one JSON object a line, one file a conversation, under `~/.claude/projects/`."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, field

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
    read_records,
)
from clio.messages import AssistantMessage, Origin, ToolCall, ToolMessage, UserMessage

_ADDED = re.compile(r"<(system-reminder|ide_opened_file|ide_selection)>.*?</\1>\s*", re.DOTALL)
"""What the program puts between a person's words for the model to read."""
_COMMAND = re.compile(r"<command-name>\s*(.*?)\s*</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>\s*(.*?)\s*</command-args>", re.DOTALL)
_SHELL = re.compile(r"\s*<bash-input>(.*?)</bash-input>\s*", re.DOTALL)
_NOT_SAID = (
    "<local-command-",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
    "<user-memory-input>",
    "[Request interrupted by user",
    "Caveat: The messages below were generated",
)
_SILENT = frozenset({"thinking", "redacted_thinking", "tool_result", "fallback", "compaction"})
_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def convert_spoken(
    key: str, id: str, content: Any, created: float, tally: Tally, *, origin: Origin = "user", steers: bool = False
) -> Iterator[ImportedMessage]:
    """What a person said, with their pictures; nothing where the message only carries results."""
    words, pictures = _words(content, tally)
    said = _ADDED.sub("", words).strip()
    if origin == "user":
        said, origin = _as_typed(said)
    if not said and not pictures:
        return
    message = UserMessage(content=said, origin=origin, steers=steers, id=id, created=created)
    yield ImportedMessage(key=key, message=message, pictures=tuple(pictures))


def split_answer(content: Any, tally: Tally) -> tuple[list[str], list[ToolCall], list[Json]]:
    """The words and calls of an answer, and the results a server already put beside its own calls."""
    if isinstance(content, str):
        return [content] if content.strip() else [], [], []
    texts: list[str] = []
    calls: list[ToolCall] = []
    results: list[Json] = []
    for block in iterate_mappings(content):
        kind = block.get("type")
        if kind == "text":
            texts += [words] if (words := as_text(block.get("text"))).strip() else []
        elif kind in _CALLS:
            arguments = block.get("input")
            calls.append(
                ToolCall(
                    id=as_text(block.get("id")), name=as_text(block.get("name")), arguments=as_json(arguments or {})
                )
            )
        elif isinstance(kind, str) and kind.endswith("_tool_result"):
            results.append(block)
        elif kind not in _SILENT:
            tally.kinds[kind_of("assistant", kind)] += 1
    return texts, calls, results


def convert_result(block: Json, id: str, created: float) -> ToolMessage:
    """The result of a call."""
    return ToolMessage(
        tool_call_id=as_text(block.get("tool_use_id")),
        content=extract_output(block.get("content")),
        ok=block.get("is_error") is not True,
        id=id,
        created=created,
    )


def extract_output(content: Any) -> str:
    """The output of a tool as text; what is none is named."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return as_json(content)
    return "\n".join(_part(part) for part in iterate_mappings(content))


def _part(part: Json) -> str:
    kind = as_text(part.get("type"))
    if "text" in part:
        return as_text(part.get("text"))
    if kind == "tool_reference":
        return as_text(part.get("tool_name"))
    if kind == "web_search_result":
        return f"{as_text(part.get('title'))} {as_text(part.get('url'))}".strip()
    return f"[{kind or 'part'}]"


def _words(content: Any, tally: Tally) -> tuple[str, list[Picture]]:
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    pictures: list[Picture] = []
    for block in iterate_mappings(content):
        kind = block.get("type")
        source = as_mapping(block.get("source"))
        if kind == "text":
            texts.append(as_text(block.get("text")))
        elif kind == "image" and source.get("type") == "base64":
            pictures.append(Picture(media_type=as_text(source.get("media_type")), data=as_text(source.get("data"))))
        elif kind in ("image", "document"):
            texts.append(f"[{kind}{': ' if block.get('title') else ''}{as_text(block.get('title'))}]")
        elif kind not in _SILENT:
            tally.kinds[kind_of("user", kind)] += 1
    return "\n\n".join(part for part in texts if part.strip()), pictures


def _as_typed(words: str) -> tuple[str, Origin]:
    """A person's words as they typed them; or those of the program, which stand in the same place."""
    if words.startswith(_NOT_SAID):
        return words, "continue"
    if shell := _SHELL.fullmatch(words):
        return f"! {shell[1].strip()}", "user"
    if command := _COMMAND.search(words):
        arguments = _ARGUMENTS.search(words)
        return f"{command[1]} {arguments[1] if arguments else ''}".strip(), "user"
    return words, "user"


_OWN_LINES = frozenset(
    "file-history-snapshot queue-operation system progress last-prompt tag mode permission-mode pr-link agent-setting "
    "agent-color worktree-state attribution-snapshot content-replacement task-summary started result hook "
    "bash-progress fork-context-ref speculation-accept frame-link relocated bridge-session".split()
)
_TITLES = {"agent-name": "agentName", "ai-title": "aiTitle", "custom-title": "customTitle"}
"""Lines with a name, and where they have it; a later one of these outranks those before it."""
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TITLE_CHARS = 80


def read_claude(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    """The conversations of one file. Raises OSError, and what `progress` raises."""
    reader = _Reader(path, tally)
    for _, line in read_records(path, tally, progress):
        yield from reader.line(line)
    yield from reader.end()


def read_directory(path: Path, line: Json) -> str:
    """Where the conversation was held, if this line says so."""
    return as_text(line.get("cwd"))


class _Answer(Struct):
    """An answer whose parts are still coming."""

    key: str
    message_id: str
    id: str
    created: float
    model: str
    reason: str = ""
    texts: list[str] = field(default_factory=list[str])
    calls: list[ToolCall] = field(default_factory=list[ToolCall])


class _Reader:
    def __init__(self, path: Path, tally: Tally) -> None:
        self._path = path
        self._tally = tally
        self._key = ""
        self._seen: set[str] = set()  # ids of all lines
        self._taken: set[str] = set()  # ids of those lines that said something: a damaged one never stands for another
        self._count = 0
        self._side: dict[str, str] = {}
        self._begun: set[str] = set()
        self._summaries: dict[str, str] = {}
        self._titles: dict[str, str] = {}
        self._answer: _Answer | None = None

    def line(self, line: Json) -> Iterator[Piece]:
        kind = line.get("type")
        if not self._key and (session := as_text(line.get("sessionId"))):
            self._key = self._file_key(session)
        if kind in ("user", "assistant", "attachment"):
            id = as_text(line.get("uuid"))
            self._seen.add(id)
            if id and id in self._taken:
                return
            before = self._count
            yield from self._message(as_text(kind), line, id)
            if self._count > before:
                self._taken.add(id)
        elif kind == "summary":
            self._summaries[as_text(line.get("leafUuid"))] = as_text(line.get("summary"))
        elif isinstance(kind, str) and kind in _TITLES:
            self._titles[kind] = as_text(line.get(_TITLES[kind]))
        elif kind not in _OWN_LINES:
            self._tally.kinds[kind_of(kind)] += 1

    def end(self) -> Iterator[Piece]:
        """What was still open; and the name, which may stand at either end of the file."""
        yield from self._finish_answer()
        told = [title for leaf, title in self._summaries.items() if leaf in self._seen]  # others are of other files
        told += [title for kind in _TITLES if (title := self._titles.get(kind, ""))]
        title = told[-1] if told else ""
        if self._key and title and not self._is_agent:
            yield SessionAbout(key=self._key, title=title)

    @property
    def _is_agent(self) -> bool:
        return self._path.stem.startswith("agent-")

    def _file_key(self, session: str) -> str:
        stem = self._path.stem
        if self._is_agent:
            return f"{self._parent(session)}/{stem}"
        return stem if _UUID.fullmatch(stem) else session

    def _parent(self, session: str) -> str:
        folder = self._path.parent
        return folder.parent.name if folder.name == "subagents" else session

    def _message(self, kind: str, line: Json, id: str) -> Iterator[Piece]:
        if not self._key:
            self._key = self._file_key(self._path.stem)
        key = self._key_of(line, id)
        if kind == "assistant":
            yield from self._assistant(key, line, id)
            return
        yield from self._finish_answer()
        pieces = list(self._spoken(kind, key, line, id))
        self._count += bool(pieces)
        if key not in self._begun and pieces:
            self._begun.add(key)
            yield self._about(key, line, pieces)
        yield from pieces

    def _key_of(self, line: Json, id: str) -> str:
        """The conversation a line belongs to: the file's, or that of the sub-agent that wrote between its lines."""
        if self._is_agent or line.get("isSidechain") is not True:
            return self._key
        parent = as_text(line.get("parentUuid"))
        root = self._side.get(parent, id)
        self._side[id] = root
        return f"{self._key}/side-{root}"

    def _about(self, key: str, line: Json, pieces: list[Piece]) -> SessionAbout:
        directory = read_directory(self._path, line)
        if not self._is_agent and key == self._key:
            return SessionAbout(key=key, directory=directory)
        said = next((piece.message for piece in pieces if isinstance(piece, ImportedMessage)), None)
        words = " ".join(as_text(getattr(said, "content", ""))[: 8 * _TITLE_CHARS].split())[:_TITLE_CHARS]
        within = self._parent(as_text(line.get("sessionId"))) if self._is_agent else self._key
        return SessionAbout(key=key, title=f"sub-agent: {words}", directory=directory, within=within)

    def _spoken(self, kind: str, key: str, line: Json, id: str) -> Iterator[Piece]:
        created = parse_seconds(line.get("timestamp"))
        if kind == "attachment":
            attachment = as_mapping(line.get("attachment"))
            if attachment.get("type") == "queued_command":
                yield from convert_spoken(key, id, attachment.get("prompt"), created, self._tally, steers=True)
            return
        content = as_mapping(line.get("message")).get("content")
        first = id
        for number, block in enumerate(iterate_mappings(content)):
            if block.get("type") == "tool_result":
                yield ImportedMessage(
                    key=key, message=convert_result(block, f"{id}-{number}" if number else id, created)
                )
                first = id if number and first == id else f"{id}-said"
        yield from convert_spoken(key, first, content, created, self._tally, origin=_origin(line))

    def _assistant(self, key: str, line: Json, id: str) -> Iterator[Piece]:
        message = as_mapping(line.get("message"))
        model, message_id = as_text(message.get("model")), as_text(message.get("id"))
        if line.get("isApiErrorMessage") is True or model == "<synthetic>":
            return  # said by the program, in the model's place
        texts, calls, results = split_answer(message.get("content"), self._tally)
        told = bool(texts or calls or results)
        self._count += told
        if told and key not in self._begun:
            self._begun.add(key)
            yield self._about(key, line, [])
        answer = self._answer
        if answer is None or not message_id or (answer.key, answer.message_id) != (key, message_id):
            yield from self._finish_answer()
            created = parse_seconds(line.get("timestamp"))
            answer = self._answer = _Answer(key=key, message_id=message_id, id=id, created=created, model=model)
        answer.reason = as_text(message.get("stop_reason")) or answer.reason
        answer.texts += texts
        answer.calls += calls
        if results:
            yield from self._finish_answer()
            for number, block in enumerate(results):
                yield ImportedMessage(
                    key=key, message=convert_result(block, f"{id}-r{number}", parse_seconds(line.get("timestamp")))
                )

    def _finish_answer(self) -> Iterator[Piece]:
        answer, self._answer = self._answer, None
        if answer is None or not (answer.texts or answer.calls):
            return
        message = AssistantMessage(
            content="\n\n".join(answer.texts),
            tool_calls=tuple(answer.calls),
            model=answer.model,
            finish_reason=answer.reason,
            id=answer.id,
            created=answer.created,
        )
        yield ImportedMessage(key=answer.key, message=message)


def _origin(line: Json) -> Origin:
    """Who wrote the words of a line that says a person did."""
    if line.get("isCompactSummary") is True:
        return "recovery"
    return "continue" if line.get("isMeta") is True else "user"
