"""The parts a message of Claude Code is made of: words, pictures, calls and their results."""

import re
from collections.abc import Iterator
from typing import Any

from clio.algorithms.late_pattern import LatePattern
from clio.importing.pieces import Json, Picture, Said, Tally, as_json, kind_of, mapping, mappings, text
from clio.messages import Origin, ToolCall, ToolMessage, UserMessage

_ADDED = LatePattern(r"<(system-reminder|ide_opened_file|ide_selection)>.*?</\1>\s*", re.DOTALL)
"""What the program puts between a person's words for the model to read."""
_COMMAND = LatePattern(r"<command-name>\s*(.*?)\s*</command-name>", re.DOTALL)
_ARGUMENTS = LatePattern(r"<command-args>\s*(.*?)\s*</command-args>", re.DOTALL)
_SHELL = LatePattern(r"\s*<bash-input>(.*?)</bash-input>\s*", re.DOTALL)
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


def spoken(
    key: str, id: str, content: Any, created: float, tally: Tally, *, origin: Origin = "user", steers: bool = False
) -> Iterator[Said]:
    """What a person said, with their pictures; nothing where the message only carries results."""
    words, pictures = _words(content, tally)
    said = _ADDED.sub("", words).strip()
    if origin == "user":
        said, origin = _as_typed(said)
    if not said and not pictures:
        return
    message = UserMessage(content=said, origin=origin, steers=steers, id=id, created=created)
    yield Said(key=key, message=message, pictures=tuple(pictures))


def answer_of(content: Any, tally: Tally) -> tuple[list[str], list[ToolCall], list[Json]]:
    """The words and calls of an answer, and the results a server already put beside its own calls."""
    if isinstance(content, str):
        return [content] if content.strip() else [], [], []
    texts: list[str] = []
    calls: list[ToolCall] = []
    results: list[Json] = []
    for block in mappings(content):
        kind = block.get("type")
        if kind == "text":
            texts += [words] if (words := text(block.get("text"))).strip() else []
        elif kind in _CALLS:
            arguments = block.get("input")
            calls.append(
                ToolCall(id=text(block.get("id")), name=text(block.get("name")), arguments=as_json(arguments or {}))
            )
        elif isinstance(kind, str) and kind.endswith("_tool_result"):
            results.append(block)
        elif kind not in _SILENT:
            tally.kinds[kind_of("assistant", kind)] += 1
    return texts, calls, results


def result_of(block: Json, id: str, created: float) -> ToolMessage:
    """The result of a call."""
    return ToolMessage(
        tool_call_id=text(block.get("tool_use_id")),
        content=output_of(block.get("content")),
        ok=block.get("is_error") is not True,
        id=id,
        created=created,
    )


def output_of(content: Any) -> str:
    """The output of a tool as text; what is none is named."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return as_json(content)
    return "\n".join(_part(part) for part in mappings(content))


def _part(part: Json) -> str:
    kind = text(part.get("type"))
    if "text" in part:
        return text(part.get("text"))
    if kind == "tool_reference":
        return text(part.get("tool_name"))
    if kind == "web_search_result":
        return f"{text(part.get('title'))} {text(part.get('url'))}".strip()
    return f"[{kind or 'part'}]"


def _words(content: Any, tally: Tally) -> tuple[str, list[Picture]]:
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    pictures: list[Picture] = []
    for block in mappings(content):
        kind = block.get("type")
        source = mapping(block.get("source"))
        if kind == "text":
            texts.append(text(block.get("text")))
        elif kind == "image" and source.get("type") == "base64":
            pictures.append(Picture(media_type=text(source.get("media_type")), data=text(source.get("data"))))
        elif kind in ("image", "document"):
            texts.append(f"[{kind}{': ' if block.get('title') else ''}{text(block.get('title'))}]")
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
