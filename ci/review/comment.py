"""Render clio's answers as comments: Markdown without links, pictures, mentions, HTML and commands of the host."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from common import MAX_TEXT, Change, Forge, remove_controls, remove_secrets, shorten

MAX_COMMENT = 60_000
"""Characters of a comment; GitHub allows 65,536."""

MAX_FINDINGS = 30

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n(.*?)(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.M | re.S)

_PUNCTUATION = re.compile(r"[\\`*_\[\]{}<>|~&$^]")

_LINE_START = re.compile(r"[-+=#/:]|\d+(?=[.)])")
"""What makes a list, a heading or a command of GitLab, but only at the beginning of a line."""

_BREAK = "\u200b"
"""A space without width: what stands before and after it is not one name, number or address."""

_REFERENCE = re.compile(r"@(?=\w)|(?<=\w)@|[#!$%&~](?=\w)|:(?=//)|(?<=www)\.|(?<=GH)-(?=\d)", re.I)


def escape_plain(text: str) -> str:
    """Return part of a line that every Markdown renderer shows as it is: no mentions, references and links."""
    out: list[str] = []
    at = 0
    for found in _REFERENCE.finditer(text):
        mark = _BREAK + "." if found[0] == "." else "\\" + found[0] + _BREAK
        out += [_PUNCTUATION.sub(r"\\\g<0>", text[at : found.start()]), mark]
        at = found.end()
    return "".join([*out, _PUNCTUATION.sub(r"\\\g<0>", text[at:])])


def make_code_span(text: str) -> str:
    """Return the text as code within a line."""
    text = " ".join(text.split())
    if not text:
        return ""
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def escape_line(text: str) -> str:
    """Return one line with its code spans; everything else in it is plain text."""
    text = " ".join(text.split())
    runs = [found.span() for found in re.finditer("`+", text)]
    closing: dict[int, list[int]] = {}  # for each length of a run of backticks, the runs of that length, last first
    for number in range(len(runs) - 1, -1, -1):
        closing.setdefault(runs[number][1] - runs[number][0], []).append(number)
    out: list[str] = []
    at = number = 0
    while number < len(runs):
        same = closing[runs[number][1] - runs[number][0]]
        while same and same[-1] <= number:
            same.pop()
        if not same:
            number += 1
            continue
        start, (end, after) = runs[number], runs[same[-1]]
        out += [escape_plain(text[at : start[0]]), make_code_span(text[start[1] : end])]
        at, number = after, same[-1] + 1
    line = "".join([*out, escape_plain(text[at:])])
    if start := _LINE_START.match(line):
        line = f"{start[0]}\\{line[start.end() :]}" if start[0].isdigit() else "\\" + line
    return line


def escape_text(text: str) -> str:
    """Return paragraphs, lists and fenced code of an answer; all other Markdown in it is shown as plain text."""
    out: list[str] = []
    at = 0
    text = text.strip() + "\n"
    for found in _FENCE.finditer(text):
        out += [_escape_lines(text[at : found.start()]), _make_fence(found[2])]
        at = found.end()
    return "\n\n".join(part for part in [*out, _escape_lines(text[at:])] if part)


def _escape_lines(text: str) -> str:
    lines: list[str] = []
    for line in text.split("\n"):
        item = re.match(r"\s*(?:[-*+]|(\d{1,3})[.)])[ \t]+(?=\S)", line)
        if item is None:
            lines.append(escape_line(line))
        else:
            lines.append((f"{item[1]}. " if item[1] else "- ") + escape_line(line[item.end() :]))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _make_fence(code: str) -> str:
    """Return a fenced block. A line that begins with / gets a space: GitLab would take it as a command of its own."""
    code = re.sub(r"^/", " /", code.strip("\n"), flags=re.M)
    fence = "`" * max(3, max((len(run) for run in re.findall(r"`+", code)), default=0) + 1)
    return f"{fence}\n{code}\n{fence}"


@dataclass(frozen=True)
class Renderer:
    """Makes comments of clio's answers. files: the paths of the reviewed commit, which alone are linked."""

    forge: Forge
    change: Change
    files: frozenset[str]
    secrets: Mapping[str, str]

    def clean(self, text: Any, limit: int) -> str:
        """Return text of the model without secrets and control characters, of at most `limit` characters."""
        return shorten(remove_secrets(remove_controls(str(text or "")), self.secrets), limit)

    def review(self, answer: Mapping[str, Any]) -> str:
        order = ("high", "medium", "low")
        found = [one for one in answer.get("findings") or [] if isinstance(one, dict)]
        found.sort(key=lambda one: order.index(one["severity"]) if one.get("severity") in order else len(order))
        parts = [escape_text(self.clean(answer.get("summary"), 3000))]
        rows = [self._finding(one) for one in found[:MAX_FINDINGS]]
        if len(found) > MAX_FINDINGS:
            rows.append(f"- and {len(found) - MAX_FINDINGS} more")
        count = "No findings" if not found else "1 finding" if len(found) == 1 else f"{len(found)} findings"
        return self._frame("clio review", [*parts, f"**{count}**", "\n".join(rows)])

    def answer(self, text: str) -> str:
        return self._frame("clio", [escape_text(self.clean(text, MAX_TEXT))])

    def failure(self, problem: str, log_url: str) -> str:
        more = f" The [log of the job]({log_url}) has more." if log_url else ""
        return self._frame("clio", [f"No answer: {escape_line(problem)}.{more}"])

    def _finding(self, one: Mapping[str, Any]) -> str:
        path = self.clean(one.get("file"), 300).removeprefix("head/").removeprefix("./")
        line = one.get("line")
        line = line if isinstance(line, int) and not isinstance(line, bool) and 0 < line < 10_000_000 else None
        place = make_code_span(f"{path}:{line}" if line else path)
        if path in self.files:
            place = f"[{place}]({self.forge.file_url(self.change.head, path, line)})"
        severity = one.get("severity") if one.get("severity") in ("high", "medium", "low") else "low"
        row = f"- **{severity}** {place}: {escape_line(self.clean(one.get('problem'), 1500))}"
        if suggestion := escape_line(self.clean(one.get("suggestion"), 1000)):
            row += f" *Suggestion:* {suggestion}"
        return row

    def _frame(self, title: str, parts: list[str]) -> str:
        head = f"### {title}\n"
        end = (
            f"<sub>A model wrote this about commit {self.change.head[:10]}; check it before you rely on it. Members "
            "can write `/clio review`, or `/clio` and a question.</sub>"
        )
        body: list[str] = []
        room = MAX_COMMENT - len(head) - len(end) - 100
        for block in (line for part in parts if part for line in (*_split_rows(part), "")):
            room -= len(block) + 1
            if room < 0:
                body += ["", "The rest was left out: it is too long for a comment.", ""]
                break
            body.append(block)
        return "\n".join([head, *body, end])


def _split_rows(part: str) -> list[str]:
    """Return the pieces that may be left out; code stays whole, because its end marks where it stops."""
    return [part] if "```" in part else part.split("\n")
