"""Words as HTML: an answer's Markdown rendered, a person's words as they were written."""

import re
from functools import cache
from html import escape
from typing import TYPE_CHECKING

from clio.algorithms.late_pattern import LatePattern
from clio.export.code_html import Colours
from clio.export.diff_html import Diffs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_MARKDOWN, MAX_BRACKETS = 60_000, 1_500
"""Characters, and opening brackets among them, whose cost is square; what has more is shown as it was written."""
MAX_ALL = 3_000_000
"""What the Markdown of one page may cost, in characters of prose; what comes later is shown as it was written."""
_MARKS, _MARK_COST = "*_[`<", 10
_FOLD_CHARS, _SHOWN_CHARS = 5_000, 1_500
_SCHEME = LatePattern(r"[a-z][a-z0-9+.-]*:", re.I)
_UNSEEN = LatePattern(r"[\x00-\x20\x7f-\xa0]")
_SAFE = ("http:", "https:", "mailto:")
_OUTSIDE = ("http:", "https:")


class Prose:
    """Renders the words of one page, within what one page can bear."""

    def __init__(self, colours: Colours, diffs: Diffs) -> None:
        self._colours = colours
        self._diffs = diffs
        self._left = MAX_ALL

    def markdown(self, text: str) -> str:
        """Markdown rendered. Tags stay text, images become links, links that could run something stay text."""
        cost = markdown_cost(text)
        if cost > self._left or not is_renderable(text):
            return self.as_written(text)
        self._left -= cost
        parser = _markdown()
        tokens = parser.parse(text)
        for token in tokens:
            self._prepare(token)
        return str(parser.renderer.render(tokens, parser.options, {}))

    def as_written(self, text: str) -> str:
        """The text line by line as it is, its fenced code as code; the rest of a long one folded."""
        if len(text) > _FOLD_CHARS:
            end = text.rfind("\n", _SHOWN_CHARS // 2, _SHOWN_CHARS) + 1 or _SHOWN_CHARS
            rest = f"<pre>{_after_newline(escape(text[end:]))}</pre>"
            summary = f"<summary>{len(text) - end:,} more characters</summary>"
            return f'<div class="said">{escape(text[:end])}</div><details class="more">{summary}{rest}</details>'
        lines = text.split("\n")
        parts: list[str] = []
        done = 0
        for token in _fences().parse(text):
            if token.type == "fence" and token.map is not None:
                parts += [_said(lines[done : token.map[0]]), self._block(token)]
                done = token.map[1]
        return "".join([*parts, _said(lines[done:])])

    def block(self, inner: str, label: str = "", kind: str = "") -> str:
        """A frame for code; `inner` is HTML."""
        head = f"<span>{escape(label)}</span>" if label else "<span></span>"
        return (
            f'<div class="code"><div class="codehead">{head}<button type="button" class="copy">Copy</button></div>'
            f'<pre tabindex="0"{_class(kind)}><code>{inner}</code></pre></div>'
        )

    def _block(self, token: "Token") -> str:
        language = token.info.split(maxsplit=1)[0][:30] if token.info.strip() else ""
        text = token.content.removesuffix("\n")
        if language in ("diff", "patch"):
            return self.block(self._diffs.html(text), language, "diff")
        return self.block(self._colours.code(text, language), language)

    def _prepare(self, token: "Token") -> None:
        """Change a block's token so that what is rendered needs no style of its own and no network."""
        if token.type in ("fence", "code_block"):
            token.content, token.type = self._block(token), "html_block"
        elif token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"
        elif token.type == "table_open":
            token.attrSet("tabindex", "0")
        elif token.type in ("th_open", "td_open"):
            align = str(token.attrs.pop("style", "")).removeprefix("text-align:")
            if align in ("right", "center"):
                token.attrSet("class", align)
        elif token.type == "inline" and token.children:
            _prepare_inline(token.children)


def markdown_cost(text: str) -> int:
    """What parsing a text costs, in characters of prose: emphasis costs ten times as much."""
    return len(text) + _MARK_COST * sum(map(text.count, _MARKS))


def is_renderable(text: str) -> bool:
    """Whether Markdown of this kind is parsed in a moment."""
    return len(text) <= MAX_MARKDOWN and text.count("[") <= MAX_BRACKETS


def _prepare_inline(tokens: "Sequence[Token]") -> None:
    depth = 0
    for token in tokens:
        depth += (token.type == "link_open") - (token.type == "link_close")
        if token.type == "link_open":
            if str(token.attrGet("href")).startswith(_OUTSIDE):
                token.attrSet("rel", "noopener noreferrer")
        elif token.type == "image":
            # Loading it would tell a server who reads this; within a link its words are the link.
            label = f"image: {escape(token.content or 'without a name')}"
            source = escape(str(token.attrGet("src") or ""))
            token.type = "html_inline"
            token.content = label if depth else f'<a href="{source}" rel="noopener noreferrer">{label}</a>'


def allowed_link(url: str) -> bool:
    """Whether a link may stay one: http, https, mailto, a place in this page, a relative path.

    Browsers pass over blanks and controls inside of a scheme, and read `\\` as `/`; so does this.
    """
    plain = _UNSEEN.sub("", url).lower().replace("\\", "/")
    if plain.startswith("//"):
        return False
    scheme = _SCHEME.match(plain)
    return scheme is None or scheme[0] in _SAFE


def _said(lines: list[str]) -> str:
    text = "\n".join(lines).strip("\n")
    return f'<div class="said">{escape(text)}</div>' if text.strip() else ""


def _after_newline(text: str) -> str:
    """A browser drops a newline right behind <pre>."""
    return "\n" + text if text.startswith("\n") else text


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


@cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    class Careful(MarkdownIt):
        def validateLink(self, url: str) -> bool:
            return allowed_link(url)

    return Careful("commonmark", {"html": False}).enable("strikethrough").enable("table")


@cache
def _fences() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("zero").enable("fence")
