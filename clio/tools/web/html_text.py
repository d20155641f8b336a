"""HTML as text a model can read: title, headings, paragraphs, lists, links, tables, code."""

import re
from collections.abc import Callable
from html.parser import HTMLParser
from urllib.parse import urljoin

from clio.algorithms.late_pattern import LatePattern

_SKIPPED = {"script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "select", "button"}
_PARAGRAPHS = {"p", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "blockquote", "table", "ul", "ol", "dl", "hr"}
_LINES = {
    "address", "article", "aside", "body", "caption", "dd", "details", "div", "dt", "fieldset", "figcaption",
    "figure", "footer", "form", "header", "li", "main", "nav", "section", "summary", "tr",
}  # fmt: skip
_CELLS = {"td", "th"}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_SPACE = LatePattern(r"\s+")
_PIECE = 32_768


def html_text(html: str, base_url: str, stopped: Callable[[], bool] = lambda: False) -> tuple[str, str]:
    """The title and the text of a page. Links are absolute, in Markdown; scripts, styles and forms are left out.

    stopped: asked now and then; once true, what has been read so far is returned.
    """
    reader = _Reader(base_url)
    # Never closed: at the end of a page with an open comment, `close` looks at every "<" of it again.
    for at in range(0, len(html), _PIECE):
        if stopped():
            break
        reader.feed(html[at : at + _PIECE])
    reader.feed("<p>")
    text = re.sub(r"\n{3,}", "\n\n", "".join(reader.parts))
    return _SPACE.sub(" ", "".join(reader.title)).strip(), text.strip()


class _Reader(HTMLParser):
    def __init__(self, base_url: str) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self._base_url = base_url
        self._in_title = False
        self._skipping = 0
        self._in_pre = 0
        self._list_depth = 0
        self._link: tuple[int, str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SKIPPED:
            self._skipping += 1
        elif tag == "title":
            self._in_title = not self._skipping and not self.title
        elif not self._skipping:
            self._break(tag)
            self._open(tag, {name: value or "" for name, value in attrs})

    def handle_endtag(self, tag: str) -> None:
        if tag in _SKIPPED:
            self._skipping = max(self._skipping - 1, 0)
        elif tag == "title":
            self._in_title = False
        elif not self._skipping:
            self._close(tag)
            self._break(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif self._in_pre and not self._skipping:
            self.parts.append(data)
        elif not self._skipping:
            text = _SPACE.sub(" ", data)
            self.parts.append(text.lstrip() if self._at_space() else text)

    def _open(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in _HEADINGS:
            self.parts.append("#" * _HEADINGS[tag] + " ")
        elif tag in ("ul", "ol"):
            self._list_depth += 1
        elif tag == "li":
            self.parts.append("  " * (self._list_depth - 1) + "- ")
        elif tag == "pre":
            self._in_pre += 1
            self.parts.append("```\n")
        elif tag == "code" and not self._in_pre:
            self.parts.append("`")
        elif tag in _CELLS and not self._at_line_start():
            self.parts.append(" | ")
        elif tag == "img" and attributes.get("alt", "").strip():
            self.parts.append(f"[image: {_SPACE.sub(' ', attributes['alt']).strip()}]")
        elif tag == "a":
            self._link = (len(self.parts), attributes.get("href", ""))

    def _close(self, tag: str) -> None:
        if tag in ("ul", "ol"):
            self._list_depth = max(self._list_depth - 1, 0)
        elif tag == "pre" and self._in_pre:
            self._in_pre -= 1
            self.parts.append("```" if self._at_line_start() else "\n```")
        elif tag == "code" and not self._in_pre:
            self.parts.append("`")
        elif tag == "a" and self._link:
            self._close_link(*self._link)
            self._link = None

    def _close_link(self, start: int, href: str) -> None:
        inner = "".join(self.parts[start:])
        target = _absolute(self._base_url, href)
        if target and inner.strip() and "\n" not in inner.strip():
            lead, trail = inner[: len(inner) - len(inner.lstrip())], inner[len(inner.rstrip()) :]
            self.parts[start:] = [f"{lead}[{inner.strip()}]({target}){trail}"]

    def _break(self, tag: str) -> None:
        if tag == "br":
            self.parts.append("\n")
        elif tag in _PARAGRAPHS and not self._in_pre:
            self.parts.append("\n" if self._list_depth else "\n\n")
        elif tag in _LINES and not self._at_line_start():
            self.parts.append("\n")

    def _at_space(self) -> bool:
        last = next((part for part in reversed(self.parts[-8:]) if part), "\n")
        return last[-1].isspace()

    def _at_line_start(self) -> bool:
        last = next((part for part in reversed(self.parts[-8:]) if part), "\n")
        return last.endswith("\n")


def _absolute(base_url: str, href: str) -> str:
    try:
        target = urljoin(base_url, href.strip())
    except ValueError:
        return ""
    return target if href.strip() and not href.startswith("#") and target.startswith(("http://", "https://")) else ""
