"""Reads conversations that SpecStory saved as Markdown: `.specstory/history/*.md` in the project.

A comment names the agent, the session and its beginning; `_**User**_` or `_**Agent (model time)**_` begins a message,
older files have `_**Assistant**_`. A line `---` separates messages. A call is an element `<tool-use …>` with its
arguments and output as Markdown; older files have lines `Tool use: **name**`. Some files have no times.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from clio.importing.reading import (
    ImportedMessage,
    Piece,
    Progress,
    SessionAbout,
    Tally,
    as_json,
    parse_seconds,
    read_lines,
)
from clio.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage

FOLDER = ".specstory/history"
_SESSION = re.compile(r"<!-- (.{1,40}?) Session (\S{1,100}) \((.+)\) -->")
_TURN = re.compile(r"_\*\*(User|Assistant|Agent)(?: - ?[\w ]+)?(?: \((.*)\))?\*\*_")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?")
_DATED_TITLE = re.compile(r"\(?\d{4}-\d\d-\d\d[^)]*\)?")
_TOOL_START = re.compile(r"<tool-use\b([^>]*)>")
_TOOL_NAME = re.compile(r'data-tool-name="([^"]{1,100})"')
_OLD_TOOL = re.compile(r"(?:\[)?Tool use: \*\*(.{1,100}?)\*\*(?:\])?")
_HTML = re.compile(r"</?(?:details|summary|tool-use|think)\b[^>]*>")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_COMMAND = re.compile(r"^`([^`\n]+)`$", re.MULTILINE)


def read_specstory(path: Path, tally: Tally, progress: Progress) -> Iterator[Piece]:
    """Yield the conversations of one file. Raises OSError, and what `progress` raises."""
    reader = _Reader(path)
    for data in read_lines(path, tally, progress, keep=True):
        line = data.decode("utf-8", "replace")
        tally.mended += "\ufffd" in line
        yield from reader.line(line.rstrip("\r"))
    yield from reader.flush()


class _Reader:
    """Converts the lines of one file."""

    def __init__(self, path: Path) -> None:
        self._project = str(path.resolve().parents[2]) if path.parent.name == "history" else ""
        self._key = path.stem
        self._title = ""
        self._begun = False
        self._role = ""
        self._model = ""
        self._time = 0.0
        self._lines: list[str] = []
        self._fence = ""
        self._calls = 0

    def line(self, line: str) -> Iterator[Piece]:
        if fence := _FENCE.match(line.strip()):
            # A fence is closed by one that is as long and has no language.
            if not self._fence:
                self._fence = fence[1]
            elif fence[1].startswith(self._fence) and line.strip() == fence[1]:
                self._fence = ""
        if self._fence:
            self._lines.append(line)
        elif found := _SESSION.fullmatch(line):
            yield from self.flush()
            self._key, self._begun, self._time = found[2], False, _parse_time(found[3])
        elif turn := _TURN.fullmatch(line):
            yield from self.flush()
            about = turn[2] or ""
            time = _TIME.search(about)
            self._role = "user" if turn[1] == "User" else "agent"
            self._model = about.replace(time[0] if time else "", "").strip() if self._role == "agent" else ""
            self._model = self._model.removeprefix("model ").strip()
            self._time = _parse_time(about) or self._time
        elif not self._role and line.startswith("# "):
            self._title = _DATED_TITLE.sub("", line[2:]).strip()
        elif self._role:
            self._lines.append(line)

    def flush(self) -> Iterator[Piece]:
        """Yield the message that has ended."""
        lines, self._lines, self._fence = self._lines, [], ""
        while lines and lines[-1].strip() in ("", "---"):
            lines.pop()
        text = "\n".join(lines).strip()
        if not text:
            return
        if not self._begun:
            self._begun = True
            yield SessionAbout(key=self._key, title=self._title, directory=self._project)
        if self._role == "user":
            yield self._wrap(UserMessage(content=text, id="", created=self._time))
        else:
            yield from self._convert_answer(lines)

    def _convert_answer(self, lines: list[str]) -> Iterator[Piece]:
        """Yield the texts and calls of an answer in their order."""
        said: list[str] = []
        number = 0
        while number < len(lines):
            start, old = _TOOL_START.search(lines[number]), _OLD_TOOL.fullmatch(lines[number].strip())
            if start is None and old is None:
                said.append(lines[number])
                number += 1
                continue
            end = number
            if start is not None:
                while end < len(lines) - 1 and "</tool-use>" not in lines[end]:
                    end += 1
                name = found[1] if (found := _TOOL_NAME.search(start[1])) else "tool"
            else:
                assert old is not None
                name = old[1]
            yield from self._convert_call("\n".join(said), name, lines[number : end + 1])
            said = []
            number = end + 1
        if text := _HTML.sub("", "\n".join(said)).strip():
            yield self._wrap(AssistantMessage(content=text, model=self._model, id="", created=self._time))

    def _convert_call(self, said: str, name: str, lines: list[str]) -> Iterator[Piece]:
        arguments, output = _split_call(lines)
        self._calls += 1
        id = f"call_{self._calls}"
        call = ToolCall(id=id, name=name, arguments=as_json(arguments))
        text = _HTML.sub("", said).strip()
        yield self._wrap(
            AssistantMessage(content=text, tool_calls=(call,), model=self._model, id="", created=self._time)
        )
        yield self._wrap(ToolMessage(tool_call_id=id, content=output, ok=True, summary="", id="", created=self._time))

    def _wrap(self, message: UserMessage | AssistantMessage | ToolMessage) -> ImportedMessage:
        return ImportedMessage(key=self._key, message=message)


def _split_call(lines: list[str]) -> tuple[dict[str, str], str]:
    """Return the arguments, which precede the first code block, and the output in the code blocks."""
    before: list[str] = []
    output: list[str] = []
    fence = ""
    for line in lines:
        found = _FENCE.match(line.strip())
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and line.strip() == found[1]:
            fence = ""
        elif fence:
            output.append(line)
        elif not line.lstrip().startswith(("<summary>", "Tool use: **", "[Tool use: **")):
            before.append(_HTML.sub("", line))
    given = "\n".join(line for line in before if line.strip()).strip()
    if command := _COMMAND.search(given):
        return {"command": command[1]}, "\n".join(output)
    return ({"input": given} if given else {}), "\n".join(output)


def _parse_time(text: str) -> float:
    """Return the first time in a text as seconds since the epoch; 0.0 if there is none. Without a zone it is UTC."""
    found = _TIME.search(text)
    return parse_seconds(found[0]) if found else 0.0
