"""Reads conversations of Claude Code: one JSON object per line, one file per conversation, in `~/.claude/projects/`."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, field

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
    read_records,
)
from clio.messages import AssistantMessage, Origin, ToolCall, ToolMessage, UserMessage

_ADDED = re.compile(r"<(system-reminder|ide_opened_file|ide_selection)>.*?</\1>\s*", re.DOTALL)
"""Text that the program inserts into user messages for the model."""
_COMMAND = re.compile(r"<command-name>\s*(.*?)\s*</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>\s*(.*?)\s*</command-args>", re.DOTALL)
_SHELL = re.compile(r"\s*<bash-input>(.*?)</bash-input>\s*", re.DOTALL)
_PROGRAM_MESSAGES = (
    "<local-command-",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
    "<user-memory-input>",
    "[Request interrupted by user",
    "Caveat: The messages below were generated",
)
_IGNORED_BLOCKS = frozenset({"thinking", "redacted_thinking", "tool_result", "fallback", "compaction"})
_CALL_BLOCKS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def convert_user_message(
    key: str, id: str, content: Any, created: float, tally: Tally, *, origin: Origin = "user", steers: bool = False
) -> Iterator[ImportedMessage]:
    """Yield the text and images of a user message; nothing if the message has only results."""
    text, images = _read_content(content, tally)
    # Recall and titles must not show text that the user never typed.
    typed = _ADDED.sub("", text).strip()
    if origin == "user":
        typed, origin = _restore_input(typed)
    if not typed and not images:
        return
    message = UserMessage(content=typed, origin=origin, steers=steers, id=id, created=created)
    yield ImportedMessage(key=key, message=message, images=tuple(images))


def split_answer(content: Any, tally: Tally) -> tuple[list[str], list[ToolCall], list[Json]]:
    """Return the texts and calls of an answer, and the results of calls that the server made itself."""
    if isinstance(content, str):
        return [content] if content.strip() else [], [], []
    texts: list[str] = []
    calls: list[ToolCall] = []
    results: list[Json] = []
    for block in iterate_mappings(content):
        kind = block.get("type")
        if kind == "text":
            texts += [text] if (text := as_text(block.get("text"))).strip() else []
        elif kind in _CALL_BLOCKS:
            arguments = block.get("input")
            calls.append(
                ToolCall(
                    id=as_text(block.get("id")), name=as_text(block.get("name")), arguments=as_json(arguments or {})
                )
            )
        elif isinstance(kind, str) and kind.endswith("_tool_result"):
            results.append(block)
        elif kind not in _IGNORED_BLOCKS:
            tally.kinds[join_kind("assistant", kind)] += 1
    return texts, calls, results


def convert_result(block: Json, id: str, created: float) -> ToolMessage:
    """Return the result of a call."""
    return ToolMessage(
        tool_call_id=as_text(block.get("tool_use_id")),
        content=extract_output(block.get("content")),
        ok=block.get("is_error") is not True,
        id=id,
        created=created,
    )


def extract_output(content: Any) -> str:
    """Return the output of a tool as text; parts that are not text are replaced by their kind."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return as_json(content)
    return "\n".join(_describe_part(part) for part in iterate_mappings(content))


def _describe_part(part: Json) -> str:
    kind = as_text(part.get("type"))
    if "text" in part:
        return as_text(part.get("text"))
    if kind == "tool_reference":
        return as_text(part.get("tool_name"))
    if kind == "web_search_result":
        return f"{as_text(part.get('title'))} {as_text(part.get('url'))}".strip()
    return f"[{kind or 'part'}]"


def _read_content(content: Any, tally: Tally) -> tuple[str, list[ImportedImage]]:
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    images: list[ImportedImage] = []
    for block in iterate_mappings(content):
        kind = block.get("type")
        source = as_mapping(block.get("source"))
        if kind == "text":
            texts.append(as_text(block.get("text")))
        elif kind == "image" and source.get("type") == "base64":
            images.append(ImportedImage(media_type=as_text(source.get("media_type")), data=as_text(source.get("data"))))
        elif kind in ("image", "document"):
            texts.append(f"[{kind}{': ' if block.get('title') else ''}{as_text(block.get('title'))}]")
        elif kind not in _IGNORED_BLOCKS:
            tally.kinds[join_kind("user", kind)] += 1
    return "\n\n".join(part for part in texts if part.strip()), images


def _restore_input(text: str) -> tuple[str, Origin]:
    """Return a user message as it was typed; the origin is "continue" if the program wrote it."""
    if text.startswith(_PROGRAM_MESSAGES):
        return text, "continue"
    if shell := _SHELL.fullmatch(text):
        return f"! {shell[1].strip()}", "user"
    if command := _COMMAND.search(text):
        arguments = _ARGUMENTS.search(text)
        return f"{command[1]} {arguments[1] if arguments else ''}".strip(), "user"
    return text, "user"


_IGNORED_LINES = frozenset(
    "file-history-snapshot queue-operation system progress last-prompt tag mode permission-mode pr-link agent-setting "
    "agent-color worktree-state attribution-snapshot content-replacement task-summary started result hook "
    "bash-progress fork-context-ref speculation-accept frame-link relocated bridge-session".split()
)
_TITLES = {"agent-name": "agentName", "ai-title": "aiTitle", "custom-title": "customTitle"}
"""Kinds of lines with a title, and the title's field; a later kind takes precedence."""
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TITLE_CHARS = 80


def read_claude(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    """Yield the conversations of one file. Raises OSError, and what `progress` raises."""
    reader = _Reader(path, tally)
    for _, line in read_records(path, tally, progress):
        yield from reader.line(line)
    yield from reader.end()


def read_directory(path: Path, line: Json) -> str:
    """Return the working directory if this line contains it."""
    return as_text(line.get("cwd"))


class _Answer(Struct):
    """An answer that is not complete yet."""

    key: str
    message_id: str
    id: str
    created: float
    model: str
    reason: str = ""
    texts: list[str] = field(default_factory=list[str])
    calls: list[ToolCall] = field(default_factory=list[ToolCall])


class _Reader:
    """Converts the lines of one file."""

    def __init__(self, path: Path, tally: Tally) -> None:
        self._path = path
        self._tally = tally
        self._key = ""
        self._seen: set[str] = set()  # ids of all lines
        self._converted: set[str] = set()  # ids of lines with content: a damaged line must not replace another
        self._count = 0
        self._side: dict[str, str] = {}
        self._begun: set[str] = set()
        self._summaries: dict[str, str] = {}
        self._titles: dict[str, str] = {}
        self._answer: _Answer | None = None

    def line(self, line: Json) -> Iterator[Piece]:
        kind = line.get("type")
        if not self._key and (session := as_text(line.get("sessionId"))):
            self._key = self._make_file_key(session)
        if kind in ("user", "assistant", "attachment"):
            id = as_text(line.get("uuid"))
            self._seen.add(id)
            # Copied conversations repeat earlier lines with their ids.
            if id and id in self._converted:
                return
            before = self._count
            yield from self._convert_line(as_text(kind), line, id)
            if self._count > before:
                self._converted.add(id)
        elif kind == "summary":
            self._summaries[as_text(line.get("leafUuid"))] = as_text(line.get("summary"))
        elif isinstance(kind, str) and kind in _TITLES:
            self._titles[kind] = as_text(line.get(_TITLES[kind]))
        elif kind not in _IGNORED_LINES:
            self._tally.kinds[join_kind(kind)] += 1

    def end(self) -> Iterator[Piece]:
        """Yield the incomplete answer, and the title, which may be at either end of the file."""
        yield from self._finish_answer()
        titles = [title for leaf, title in self._summaries.items() if leaf in self._seen]  # others are of other files
        titles += [title for kind in _TITLES if (title := self._titles.get(kind, ""))]
        title = titles[-1] if titles else ""
        if self._key and title and not self._is_agent:
            yield SessionAbout(key=self._key, title=title)

    @property
    def _is_agent(self) -> bool:
        return self._path.stem.startswith("agent-")

    def _make_file_key(self, session: str) -> str:
        stem = self._path.stem
        if self._is_agent:
            return f"{self._find_parent(session)}/{stem}"
        return stem if _UUID.fullmatch(stem) else session

    def _find_parent(self, session: str) -> str:
        folder = self._path.parent
        return folder.parent.name if folder.name == "subagents" else session

    def _convert_line(self, kind: str, line: Json, id: str) -> Iterator[Piece]:
        if not self._key:
            self._key = self._make_file_key(self._path.stem)
        key = self._find_key(line, id)
        if kind == "assistant":
            yield from self._convert_answer_line(key, line, id)
            return
        yield from self._finish_answer()
        pieces = list(self._convert_user_line(kind, key, line, id))
        self._count += bool(pieces)
        if key not in self._begun and pieces:
            self._begun.add(key)
            yield self._make_about(key, line, pieces)
        yield from pieces

    def _find_key(self, line: Json, id: str) -> str:
        """Return the key of a line's conversation: the file's, or that of a sub-agent in the same file."""
        if self._is_agent or line.get("isSidechain") is not True:
            return self._key
        parent = as_text(line.get("parentUuid"))
        root = self._side.get(parent, id)
        self._side[id] = root
        return f"{self._key}/side-{root}"

    def _make_about(self, key: str, line: Json, pieces: list[Piece]) -> SessionAbout:
        directory = read_directory(self._path, line)
        if not self._is_agent and key == self._key:
            return SessionAbout(key=key, directory=directory)
        first = next((piece.message for piece in pieces if isinstance(piece, ImportedMessage)), None)
        task = " ".join(as_text(getattr(first, "content", ""))[: 8 * _TITLE_CHARS].split())[:_TITLE_CHARS]
        within = self._find_parent(as_text(line.get("sessionId"))) if self._is_agent else self._key
        return SessionAbout(key=key, title=f"sub-agent: {task}", directory=directory, within=within)

    def _convert_user_line(self, kind: str, key: str, line: Json, id: str) -> Iterator[Piece]:
        created = parse_seconds(line.get("timestamp"))
        if kind == "attachment":
            attachment = as_mapping(line.get("attachment"))
            if attachment.get("type") == "queued_command":
                yield from convert_user_message(key, id, attachment.get("prompt"), created, self._tally, steers=True)
            return
        content = as_mapping(line.get("message")).get("content")
        first = id
        for number, block in enumerate(iterate_mappings(content)):
            if block.get("type") == "tool_result":
                yield ImportedMessage(
                    key=key, message=convert_result(block, f"{id}-{number}" if number else id, created)
                )
                first = id if number and first == id else f"{id}-said"
        yield from convert_user_message(key, first, content, created, self._tally, origin=_find_origin(line))

    def _convert_answer_line(self, key: str, line: Json, id: str) -> Iterator[Piece]:
        message = as_mapping(line.get("message"))
        model, message_id = as_text(message.get("model")), as_text(message.get("id"))
        if line.get("isApiErrorMessage") is True or model == "<synthetic>":
            return  # written by the program and not by the model
        texts, calls, results = split_answer(message.get("content"), self._tally)
        has_content = bool(texts or calls or results)
        self._count += has_content
        if has_content and key not in self._begun:
            self._begun.add(key)
            yield self._make_about(key, line, [])
        answer = self._answer
        # Claude Code writes a line for each block of an answer; the id of the message holds them together.
        if answer is None or not message_id or (answer.key, answer.message_id) != (key, message_id):
            yield from self._finish_answer()
            created = parse_seconds(line.get("timestamp"))
            answer = self._answer = _Answer(key=key, message_id=message_id, id=id, created=created, model=model)
        answer.reason = as_text(message.get("stop_reason")) or answer.reason
        answer.texts += texts
        answer.calls += calls
        # Results of the server's own calls are on the same line; they belong after the answer.
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


def _find_origin(line: Json) -> Origin:
    """Return the origin of a line that is marked as the user's."""
    if line.get("isCompactSummary") is True:
        return "recovery"
    return "continue" if line.get("isMeta") is True else "user"
