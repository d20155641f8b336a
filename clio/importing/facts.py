"""What other agents wrote down for themselves: one fact for each item of their memory files.

Read are only files an agent keeps as its memory: CLAUDE.md and the notes Claude Code keeps by itself, what Gemini CLI
was told to remember, the memory of Codex. An item is a bullet with what is indented below it, or a paragraph with the
code that follows it; the heading it stands under goes before it.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.importing.pieces import Agent
from clio.importing.places import Looker, slug
from clio.memory.ltm.text import normal
from clio.storage.files import open_regular

MAX_FILE_BYTES = 1_000_000
MAX_FACT_CHARS = 2_000
_WHOLE_CHARS = 800
_GEMINIS = "Gemini Added Memories"
_HEADING = LatePattern(r"(#{1,6})\s+(.*?)\s*#*\s*$")
_BULLET = LatePattern(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?=\S)")
_FRONT = LatePattern(r"\A---\s*\n(.*?)\n---\s*(?:\n|\Z)", re.DOTALL)
_COMMENT = LatePattern(r"<!--.*?-->", re.DOTALL)
_SAID = LatePattern(r"^description:\s*(.+)$", re.MULTILINE)
_LINK = LatePattern(r"\[[^\]]*\]\(([^)\s]+\.md)\)")
_IMPORT = LatePattern(r"@\S+\s*$")
_TITLE_ONLY = frozenset({"claude.md", "memory", "memory.md", "gemini.md", "auto memory", "project memory", ""})


class Fact(Struct, frozen=True, kw_only=True):
    """Something an agent wrote down, in one text. source: the file it stands in."""

    text: str
    source: Path
    agent: Agent

    @property
    def mark(self) -> str:
        """Tells this fact from others, however often it is read."""
        return hashlib.sha256(normal(self.text).encode("utf-8", "replace")).hexdigest()[:16]


def facts_of(
    agent: Agent, looker: Looker, project: Path, given: Path | None, redact: Callable[[str], str]
) -> tuple[list[Fact], list[tuple[str, str]]]:
    """The facts of an agent about this project, each once; and the files that cannot be read, with the reason."""
    found: dict[str, Fact] = {}
    unreadable: list[tuple[str, str]] = []
    for path, section in _files(agent, looker, project, given):
        try:
            with open_regular(path, None) as file:
                text = file.read(MAX_FILE_BYTES).decode("utf-8-sig", "replace")
        except OSError as error:
            unreadable.append((str(path), error.strerror or str(error)))
            continue
        for item in items_of(text, section=section, beside=path.parent):
            fact = Fact(text=redact(item)[:MAX_FACT_CHARS], source=path, agent=agent)
            found.setdefault(fact.mark, fact)
    return list(found.values()), unreadable


def items_of(text: str, *, section: str = "", beside: Path | None = None) -> Iterator[str]:
    """The items of a text of Markdown, each on its own. section: the heading under which they must stand; "" for any.

    beside: the folder of the file; an item that only leads to another file there is left out, as that is read too.
    """
    text = _COMMENT.sub("", text.replace("\r\n", "\n"))
    if front := _FRONT.match(text):
        said = _SAID.search(front[1])
        body = text[front.end() :].strip()
        if said and len(body) <= _WHOLE_CHARS:  # one memory a file: its parts belong together
            yield body if said[1].strip("\"' ") in body or not said[1] else f"{said[1].strip(chr(34))}\n{body}".strip()
            return
        text = body
    for heading, item in _under_headings(text):
        leads = _LINK.search(item)
        if section and heading.casefold() != section.casefold():
            continue
        if _IMPORT.fullmatch(item) or (leads and beside and (beside / leads[1]).is_file()):
            continue
        named = heading.casefold() in _TITLE_ONLY or heading.casefold() == section.casefold()
        yield item if named else f"{heading}: {item}"


def _under_headings(text: str) -> Iterator[tuple[str, str]]:
    """The items with the nearest heading above each."""
    heading, lines, fence = "", list[str](), ""
    for line in [*text.split("\n"), "# "]:
        mark = line.strip()[:3]
        if fence:
            lines.append(line)
            fence = "" if mark == fence else fence
            continue
        if mark in ("```", "~~~"):
            fence = mark
            lines.append(line)
            continue
        found = _HEADING.match(line)
        if found or _begins(line, lines) or (not line.strip() and not _goes_on(lines)):
            if item := _joined(lines):
                yield heading, item
            lines = [] if found or not line.strip() else [line]
            heading = found[2].strip("*_` ") if found else heading
        else:
            lines.append(line)


def _begins(line: str, lines: list[str]) -> bool:
    """Whether a line begins an item: a bullet, unless it stands indented below the bullet being read."""
    if not _BULLET.match(line):
        return False
    return not (lines and _BULLET.match(lines[0]) and _indent(line) > _indent(lines[0]))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _goes_on(lines: list[str]) -> bool:
    """Whether what follows an empty line may still belong to the item: the code that "run this:" speaks of."""
    return bool(lines) and lines[-1].rstrip().endswith(":")


def _joined(lines: list[str]) -> str:
    if not lines:
        return ""
    first = _BULLET.sub("", lines[0], count=1)
    return "\n".join(line.rstrip() for line in [first, *lines[1:]] if line.strip()).strip()


def _files(agent: Agent, looker: Looker, project: Path, given: Path | None) -> Iterator[tuple[Path, str]]:
    """The memory files that are there, each with the heading under which its facts stand."""
    if given is not None:
        if given.suffix == ".md" and agent != "aider":
            yield given, _GEMINIS if agent == "gemini" and given.name == "GEMINI.md" else ""
        elif given.is_dir():
            yield from ((path, "") for path in sorted(given.glob("memory/*.md")))
        return
    homes = looker.homes(agent)
    match agent:
        case "claude":
            named = [project / name for name in ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")]
            kept = [home / "projects" / slug(project) / "memory" for home in homes]
            yield from _there(named, "")
            yield from ((path, "") for folder in kept for path in _markdown(folder))
        case "gemini":
            yield from _there([project / "GEMINI.md", *(home / "GEMINI.md" for home in homes)], _GEMINIS)
        case "codex":
            yield from _there([home / "memories" / "MEMORY.md" for home in homes], "")
        case "aider" | "clio":
            return


def _there(paths: Iterable[Path], section: str) -> Iterator[tuple[Path, str]]:
    return ((path, section) for path in paths if path.is_file())


def _markdown(folder: Path) -> list[Path]:
    """The texts in a folder, the index first."""
    if not folder.is_dir():
        return []
    return sorted(folder.glob("*.md"), key=lambda path: (path.name != "MEMORY.md", path.name))
