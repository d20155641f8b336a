"""Renders a session as one HTML page that loads nothing from the network and is readable without scripts."""

import base64
import hashlib
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cache
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from clio.export.document import (
    Entry,
    ExportedCall,
    ExportedMessage,
    ExportedResult,
    ExportedSession,
    ExportedTrim,
    describe_trim,
    format_call_title,
    format_clock,
    format_machine_time,
    format_minute,
    format_plain,
    format_span,
    format_tokens,
)
from clio.sessions.state import Todo
from clio.text.formatting import describe_cache_use, truncate_line
from clio.text.translation import get_language, mark, tr, tr_count
from clio.tools.files.diff import diff_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from pygments.lexer import Lexer
    from pygments.token import _TokenType as TokenType  # pyright: ignore[reportPrivateUsage]


MAX_COLOURED_BLOCK_CHARS = 60_000
"""A longer block is shown without colours."""
MAX_CODE_CHARS = 1_000_000
"""Characters coloured in one page: a few seconds of work, and not too many elements for a phone to scroll."""
_MAX_LINE = 2_000  # some lexers take quadratic time in the length of a line
_TOKEN_CLASSES = (
    "Comment:c Keyword:k Keyword.Constant:kc Operator.Word:k Name.Function:nf Name.Class:nc Name.Exception:nc "
    "Name.Builtin:nb Name.Decorator:nd Name.Tag:nt Name.Attribute:na Name.Variable:nv Literal.String:s "
    "Literal.String.Escape:se Literal.String.Interpol:se Literal.Number:mi Generic.Deleted:gd Generic.Inserted:gi "
    "Generic.Heading:gh Generic.Subheading:gu Generic.Strong:gs Generic.Emph:ge Generic.Prompt:gp"
)


class CodeColouring:
    """Colours the code of one page, up to `MAX_CODE_CHARS`."""

    def __init__(self) -> None:
        self._left = MAX_CODE_CHARS

    def code(self, text: str, language: str) -> str:
        """Return the text as HTML; without colours if the language is unknown or the text too long."""
        lexer = _find_lexer(language.strip().lower()) if language else None
        return self._colour(lexer, text)

    def file(self, text: str, path: str) -> str:
        """Return the text of a file as HTML; the file's name determines its language."""
        name = path.replace("\\", "/").rpartition("/")[2]
        return self._colour(_find_file_lexer(name) if len(name) <= 100 else None, text)

    def _colour(self, lexer: "Lexer | None", text: str) -> str:
        if (
            lexer is None
            or len(text) > min(MAX_COLOURED_BLOCK_CHARS, self._left)
            or _measure_longest_line(text) > _MAX_LINE
        ):
            return escape(text)
        self._left -= len(text)
        return "".join(_iter_code_spans(lexer, text))


def _iter_code_spans(lexer: "Lexer", text: str) -> Iterator[str]:
    """Yield HTML in which neighbouring tokens of one class share an element."""
    open_class, pieces = "", list[str]()
    for kind, value in lexer.get_tokens(text):
        name = "" if value.isspace() and open_class == "" else _find_token_class(kind)
        if name != open_class and not (value.isspace() and open_class):
            yield _wrap_code(open_class, pieces)
            open_class, pieces = name, []
        pieces.append(value)
    yield _wrap_code(open_class, pieces)


def _wrap_code(name: str, pieces: list[str]) -> str:
    text = escape("".join(pieces))
    return f'<span class="{name}">{text}</span>' if name and text else text


def _measure_longest_line(text: str) -> int:
    return max(map(len, text.split("\n")))


@cache
def _find_token_class(kind: "TokenType") -> str:
    """Return the CSS class of a token type, or of its nearest ancestor with one."""
    known = {name: css for name, _, css in (pair.partition(":") for pair in _TOKEN_CLASSES.split())}
    while kind.parent is not None:
        if (name := str(kind).removeprefix("Token.")) in known:
            return known[name]
        kind = kind.parent
    return ""


@cache
def _find_lexer(language: str) -> "Lexer | None":
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    try:
        # The code is shown exactly as it is: Pygments would strip blank lines and add a newline.
        return get_lexer_by_name(language, ensurenl=False, stripnl=False)
    except ClassNotFound:
        return None


@cache
def _find_file_lexer(name: str) -> "Lexer | None":
    from pygments.lexers import find_lexer_class_for_filename

    found = find_lexer_class_for_filename(name)
    return found(ensurenl=False, stripnl=False) if found is not None else None


MAX_LINES = 4_000
"""A longer diff is shown without colours."""
MAX_DIFF_LINES = 60_000
"""Lines coloured in the diffs of one page."""
_MAX_WORDS, _MAX_PAIRS = 160, 400  # longer lines, and later pairs, are coloured without marking words
_MIN_SIMILARITY = 0.5
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_HUNK = re.compile(r"^@@ .*@@|^@@")
_FILE_LINES = ("diff --git ", "index ", "--- ", "+++ ", "*** ", "rename ", "similarity ", "new file ", "deleted file ")


def is_diff(text: str) -> bool:
    """Whether a tool's output is a unified diff, judged by its first 4,000 characters."""
    head = "\n" + text[:4_000]
    named = "\ndiff --git " in head or (head.startswith("\n--- ") and "\n+++ " in head)
    return named and "\n@@ " in head


class DiffRenderer:
    """Colours the diffs of one page, up to `MAX_DIFF_LINES`."""

    def __init__(self) -> None:
        self._left = MAX_DIFF_LINES

    def html(self, text: str) -> str:
        """Return a unified diff, or a patch in clio's format, as HTML. Lines of one kind share an element."""
        lines = text.removesuffix("\n").split("\n")
        if len(lines) > min(MAX_LINES, self._left):
            return escape(text)
        self._left -= len(lines)
        return "".join(
            _wrap_diff_lines(kind, [line for _, line in group])
            for kind, group in groupby(_iter_diff_lines(lines), key=lambda line: line[0])
        )


def _iter_diff_lines(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each line's kind and HTML."""
    index, pairs = 0, _MAX_PAIRS
    while index < len(lines):
        old = _take_changed_lines(lines, index, "-")
        new = _take_changed_lines(lines, index + len(old), "+")
        if old or new:
            paired = min(len(old), len(new), pairs)
            pairs -= paired
            marked = [
                _mark_words(before[1:], after[1:]) for before, after in zip(old[:paired], new[:paired], strict=True)
            ]
            yield from (("del", "-" + before) for before, _ in marked)
            yield from (("del", escape(line)) for line in old[paired:])
            yield from (("ins", "+" + after) for _, after in marked)
            yield from (("ins", escape(line)) for line in new[paired:])
            index += len(old) + len(new)
        else:
            yield _classify_line(lines[index]), escape(lines[index])
            index += 1


def _wrap_diff_lines(kind: str, lines: list[str]) -> str:
    # The newlines are inside the element, so that copied text keeps its lines.
    text = "\n".join(lines) + "\n"
    return f'<span class="l {kind}">{text}</span>' if kind else text


def _take_changed_lines(lines: list[str], start: int, mark: str) -> list[str]:
    end = start
    while end < len(lines) and lines[end].startswith(mark) and not _is_file_line(lines, end):
        end += 1
    return lines[start:end]


def _is_file_line(lines: list[str], index: int) -> bool:
    """Whether `--- a` or `+++ b` names a file: then the other one is beside it, unlike with a changed line."""
    if lines[index].startswith("--- "):
        return index + 1 < len(lines) and lines[index + 1].startswith("+++ ")
    return lines[index].startswith("+++ ") and index > 0 and lines[index - 1].startswith("--- ")


def _classify_line(line: str) -> str:
    if _HUNK.match(line):
        return "hunk"
    return "file" if line.startswith(_FILE_LINES) else ""


def _mark_words(before: str, after: str) -> tuple[str, str]:
    """Return both lines as HTML with differing words marked; unmarked if the lines have little in common."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if max(len(old), len(new)) > _MAX_WORDS:
        return escape(before), escape(after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.ratio() < _MIN_SIMILARITY:
        return escape(before), escape(after)
    left: list[str] = []
    right: list[str] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        removed, added = escape("".join(old[i1:i2])), escape("".join(new[j1:j2]))
        left.append(removed if tag == "equal" or not removed else f"<b>{removed}</b>")
        right.append(added if tag == "equal" or not added else f"<b>{added}</b>")
    return "".join(left), "".join(right)


MAX_MARKDOWN, MAX_BRACKETS = 60_000, 1_500
"""Limits of a text: characters, and opening brackets, which take quadratic time. A larger text is not rendered."""
MAX_PROSE_CHARS = 3_000_000
"""Limit of one page, in the unit of `markdown_cost`. Later texts are shown unrendered."""
_MARKS, _MARK_COST = "*_[`<", 10
_FOLD_CHARS, _VISIBLE_CHARS = 5_000, 1_500
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.I)
_IGNORED_BY_BROWSERS = re.compile(r"[\x00-\x20\x7f-\xa0]")
_SAFE_SCHEMES = ("http:", "https:", "mailto:")
_WEB_SCHEMES = ("http:", "https:")


class ProseRenderer:
    """Renders the texts of one page, up to `MAX_PROSE_CHARS`."""

    def __init__(self, colours: CodeColouring, diffs: DiffRenderer) -> None:
        self._colours = colours
        self._diffs = diffs
        self._left = MAX_PROSE_CHARS

    def markdown(self, text: str) -> str:
        """Return Markdown as HTML. HTML tags and unsafe links stay text; images become links."""
        cost = markdown_cost(text)
        if cost > self._left or not is_renderable(text):
            return self.plain(text)
        self._left -= cost
        parser = _make_markdown_parser()
        tokens = parser.parse(text)
        for token in tokens:
            self._prepare(token)
        return str(parser.renderer.render(tokens, parser.options, {}))

    def plain(self, text: str) -> str:
        """Return the text unrendered, but fenced code as code. A long text is folded."""
        if len(text) > _FOLD_CHARS:
            end = text.rfind("\n", _VISIBLE_CHARS // 2, _VISIBLE_CHARS) + 1 or _VISIBLE_CHARS
            # A browser drops a newline directly after <pre>.
            rest = escape(text[end:])
            rest = f"<pre>{chr(10) if rest.startswith(chr(10)) else ''}{rest}</pre>"
            summary = f"<summary>{len(text) - end:,} more characters</summary>"
            return f'<div class="plain">{escape(text[:end])}</div><details class="more">{summary}{rest}</details>'
        lines = text.split("\n")
        parts: list[str] = []
        done = 0
        for token in _make_fence_parser().parse(text):
            if token.type == "fence" and token.map is not None:
                parts += [_render_plain(lines[done : token.map[0]]), self._render_fence(token)]
                done = token.map[1]
        return "".join([*parts, _render_plain(lines[done:])])

    def block(self, inner: str, label: str = "", kind: str = "") -> str:
        """Return a frame for code. inner: HTML."""
        head = f"<span>{escape(label)}</span>" if label else "<span></span>"
        return (
            f'<div class="code"><div class="codehead">{head}'
            f'<button type="button" class="copy">{tr("Copy")}</button></div>'
            f'<pre tabindex="0"{_class_attribute(kind)}><code>{inner}</code></pre></div>'
        )

    def _render_fence(self, token: "Token") -> str:
        language = token.info.split(maxsplit=1)[0][:30] if token.info.strip() else ""
        text = token.content.removesuffix("\n")
        if language in ("diff", "patch"):
            return self.block(self._diffs.html(text), language, "diff")
        return self.block(self._colours.code(text, language), language)

    def _prepare(self, token: "Token") -> None:
        """Change a block's token so that it needs no inline style and no network when rendered."""
        if token.type in ("fence", "code_block"):
            token.content, token.type = self._render_fence(token), "html_block"
        elif token.type in ("heading_open", "heading_close"):
            # The page itself has the first two levels.
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"
        elif token.type == "table_open":
            # A wide table scrolls by itself, which the keyboard reaches only with a focus.
            token.attrSet("tabindex", "0")
        elif token.type in ("th_open", "td_open"):
            # The content security policy allows no inline style.
            align = str(token.attrs.pop("style", "")).removeprefix("text-align:")
            if align in ("right", "center"):
                token.attrSet("class", align)
        elif token.type == "inline" and token.children:
            _prepare_inline(token.children)


def markdown_cost(text: str) -> int:
    """Return the estimated time to parse a text, in characters of plain prose. A markup character costs ten."""
    return len(text) + _MARK_COST * sum(map(text.count, _MARKS))


def is_renderable(text: str) -> bool:
    """Whether a text is small enough to be parsed quickly."""
    return len(text) <= MAX_MARKDOWN and text.count("[") <= MAX_BRACKETS


def _prepare_inline(tokens: "Sequence[Token]") -> None:
    depth = 0
    for token in tokens:
        depth += (token.type == "link_open") - (token.type == "link_close")
        if token.type == "link_open":
            # The page that is opened must neither reach this one nor learn its address.
            if str(token.attrGet("href")).startswith(_WEB_SCHEMES):
                token.attrSet("rel", "noopener noreferrer")
        elif token.type == "image":
            # Loading an image would tell its server who reads the page. Inside a link, the image's text is the link.
            label = tr("image: {name}", name=escape(token.content or tr("unnamed")))
            source = escape(str(token.attrGet("src") or ""))
            token.type = "html_inline"
            token.content = label if depth else f'<a href="{source}" rel="noopener noreferrer">{label}</a>'


def is_link_allowed(url: str) -> bool:
    """Whether a URL is safe as a link: http, https, mailto, an anchor in this page, or a relative path.

    Browsers ignore white space and control characters within a scheme, and read `\\` as `/`; so does this.
    """
    plain = _IGNORED_BY_BROWSERS.sub("", url).lower().replace("\\", "/")
    if plain.startswith("//"):
        return False
    scheme = _SCHEME.match(plain)
    return scheme is None or scheme[0] in _SAFE_SCHEMES


def _render_plain(lines: list[str]) -> str:
    text = "\n".join(lines).strip("\n")
    return f'<div class="plain">{escape(text)}</div>' if text.strip() else ""


def _class_attribute(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


@cache
def _make_markdown_parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    class SafeMarkdown(MarkdownIt):
        def validateLink(self, url: str) -> bool:
            return is_link_allowed(url)

    return SafeMarkdown("commonmark", {"html": False}).enable("strikethrough").enable("table")


@cache
def _make_fence_parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    return MarkdownIt("zero").enable("fence")


_PATHS = ("path", "file_path", "filename", "file")
_BEFORE, _AFTER = ("old_string", "old_str", "old_text"), ("new_string", "new_str", "new_text")
_MAX_ARGUMENT = 100_000
_MAX_DIFFED = 200_000
_MAX_SHORT_CHARS = 80  # a longer value gets a frame of its own


class CallRenderer:
    """Renders the tool calls of one page."""

    def __init__(self, prose: ProseRenderer, colours: CodeColouring, diffs: DiffRenderer) -> None:
        self._prose = prose
        self._colours = colours
        self._diffs = diffs

    def html(self, call: ExportedCall) -> str:
        """Return one call as HTML, folded."""
        result = call.result
        state = "open" if result is None else "good" if result.ok else "bad"
        status = {"open": tr("no result"), "good": "", "bad": tr("failed")}[state]
        about = " · ".join(filter(None, [status, *_describe_result(result)]))
        anchor = f' id="r-{escape(result.message_id)}"' if result is not None and result.message_id else ""
        title = escape(format_call_title(call))
        return (
            f'<details class="call {state}"{anchor}><summary><span class="name">{escape(call.name)}</span> '
            f'<span class="title">{title}</span> <span class="about">{escape(about)}</span></summary>'
            f'<div class="inside">{"".join(self._render_arguments(call))}{self._render_output(result)}</div></details>'
        )

    def _render_arguments(self, call: ExportedCall) -> Iterator[str]:
        given: Any = call.arguments
        if not isinstance(given, dict):
            text = format_plain(given)
            if text.strip():
                yield self._prose.block(escape(_truncate_argument(text)), "arguments")
            return
        arguments = cast("dict[str, Any]", given)
        path = next((arguments[key] for key in _PATHS if isinstance(arguments.get(key), str)), "")
        remaining = dict(arguments)
        diff = _pop_diff(remaining, path)
        short = {key: value for key, value in remaining.items() if _is_short(value)}
        if short:
            rows = "".join(
                f"<dt>{escape(key)}</dt><dd>{escape(format_plain(value))}</dd>" for key, value in short.items()
            )
            yield f'<dl class="args">{rows}</dl>'
        for key, value in remaining.items():
            if key not in short:
                yield self._render_long_argument(key, format_plain(value), path)
        if diff:
            yield self._prose.block(
                self._diffs.html(diff), tr("change to {path}", path=path) if path else tr("change"), "diff"
            )

    def _render_long_argument(self, key: str, text: str, path: str) -> str:
        text = _truncate_argument(text)
        if key == "patch" or is_diff(text):
            return self._prose.block(self._diffs.html(text), key, "diff")
        if key in ("command", "script"):
            return self._prose.block(self._colours.code(text, "bash"), key)
        if key in ("content", "file_text") and path:
            return self._prose.block(self._colours.file(text, path), key)
        return self._prose.block(escape(text), key)

    def _render_output(self, result: ExportedResult | None) -> str:
        if result is None:
            return f'<p class="none">{tr("No result: the call was still running, or clio was stopped.")}</p>'
        if not result.output.strip():
            return f'<p class="none">{tr("No output.")}</p>'
        lines = result.output.rstrip("\n").count("\n") + 1
        label = tr("output, {lines}", lines=tr_count(lines, "line"))
        if result.left_out:
            label += tr(", {left_out:,} characters left out", left_out=result.left_out)
        if is_diff(result.output):
            return self._prose.block(self._diffs.html(result.output), label, "diff")
        return self._prose.block(escape(result.output), label, "out")


def _describe_result(result: ExportedResult | None) -> Iterator[str]:
    if result is not None:
        yield result.summary
        duration = format_span(result.seconds)
        # The summary of a command states its time already.
        if result.seconds >= 0.05 and duration not in result.summary:
            yield duration


def _pop_diff(arguments: dict[str, Any], path: str) -> str:
    """Return the replacement requested by a call as a diff, and remove its texts from the arguments."""
    edits = arguments.get("edits")
    if isinstance(edits, list) and edits and all(isinstance(edit, dict) for edit in cast("list[Any]", edits)):
        found = [_pop_replacement(dict(edit), path) for edit in cast("list[dict[str, Any]]", edits)]
        if all(found):
            del arguments["edits"]
            return "".join(found)
    return _pop_replacement(arguments, path)


def _pop_replacement(arguments: dict[str, Any], path: str) -> str:
    old = next((key for key in _BEFORE if isinstance(arguments.get(key), str)), None)
    new = next((key for key in _AFTER if isinstance(arguments.get(key), str)), None)
    if old is None or new is None or len(arguments[old]) + len(arguments[new]) > _MAX_DIFFED:
        return ""
    before, after = (_end_with_newline(arguments[key]) for key in (old, new))
    text = diff_texts(before, after, path, path).text
    if text:
        del arguments[old], arguments[new]
    return "".join(text.splitlines(keepends=True)[2:])  # without the two lines that name the file


def _end_with_newline(text: str) -> str:
    """Return the text with a final newline; a missing one in quoted text says nothing about the file."""
    return text if text.endswith("\n") or not text else text + "\n"


def _is_short(value: Any) -> bool:
    text = format_plain(value)
    return len(text) <= _MAX_SHORT_CHARS and "\n" not in text


def _truncate_argument(text: str) -> str:
    if len(text) <= _MAX_ARGUMENT:
        return text
    return tr(
        "{text}\n\n[… {count:,} characters left out …]", text=text[:_MAX_ARGUMENT], count=len(text) - _MAX_ARGUMENT
    )


_TOC_CHARS = 90
_TODO_MARKS = {"pending": "○", "in_progress": "◐", "completed": "●", "blocked": "⊘"}


def render_head(export: ExportedSession) -> Iterator[str]:
    """Yield the title and the facts of the session."""
    kicker = tr("clio session{value}", value=" · " + escape(export.project) if export.project else "")
    yield f'<header class="head"><p class="kicker">{kicker}</p><h1 dir="auto">{escape(export.title)}</h1>\n'
    rows = "".join(f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in _list_session_facts(export))
    yield f'<dl class="facts">{rows}</dl>\n</header>\n'


def render_state(export: ExportedSession) -> Iterator[str]:
    """Yield the todos and the token usage, if there are any."""
    yield '<div class="state">\n'
    if export.todos:
        done = sum(todo.status == "completed" for todo in export.todos)
        items = "".join(map(_render_todo, export.todos))
        counts = tr("{done} of {count} done", done=done, count=len(export.todos))
        yield f'<section class="todos"><h2>{tr("Todos")} <small>{counts}</small></h2>'
        yield f"<ul>{items}</ul></section>\n"
    if export.bills:
        yield from _render_bills(export)
    yield "</div>\n"


def _list_session_facts(export: ExportedSession) -> Iterator[tuple[str, str]]:
    totals = export.totals
    if export.created:
        yield tr("When (UTC)"), format_minute(export.created)
    if export.last_active > export.created > 0:
        yield tr("Duration"), format_span(export.last_active - export.created)
    if export.models:
        yield tr("Model") if len(export.models) == 1 else tr("Models"), ", ".join(export.models)
    failed = tr(", {failed_calls:,} failed", failed_calls=totals.failed_calls) if totals.failed_calls else ""
    yield tr("Conversation"), f"{tr_count(totals.turns, 'turn')}, {tr_count(totals.messages, 'message')}"
    yield tr("Tools"), f"{tr_count(totals.calls, 'call')}{failed}"
    if totals.prompt_tokens or totals.completion_tokens:
        cached = describe_cache_use(totals.cached_tokens, totals.cache_write_tokens)
        yield (
            tr("Tokens"),
            tr(
                "{prompt_tokens:,} in{cached}, {completion_tokens:,} out",
                prompt_tokens=totals.prompt_tokens,
                cached=cached,
                completion_tokens=totals.completion_tokens,
            ),
        )


def _render_todo(todo: Todo) -> str:
    note = f'<span class="note">{escape(todo.note)}</span>' if todo.note else ""
    status = todo.status.replace("_", " ")
    return (
        f'<li class="{todo.status}"><span class="mark" role="img" aria-label="{status}" title="{status}">'
        f"{_TODO_MARKS[todo.status]}</span><span>{escape(todo.title)}{note}</span></li>"
    )


def _render_bills(export: ExportedSession) -> Iterator[str]:
    """Yield a table with the tokens of each request and the totals."""
    totals = export.totals
    summary = tr("Tokens of {requests}", requests=tr_count(len(export.bills), "request"))
    yield f'<details class="bills"><summary>{summary}</summary>'
    yield f'<div class="wide"><table><thead><tr><th>#</th><th>{tr("time")}</th><th>{tr("model")}</th>'
    names = (tr("in"), tr("cached"), tr("written"), tr("out"))
    yield "".join(f'<th class="right">{name}</th>' for name in names) + "</tr></thead><tbody>"
    for number, bill in enumerate(export.bills, 1):
        yield f"<tr><td>{number}</td><td>{format_minute(bill.timestamp)}</td><td>{escape(bill.model)}</td>"
        for tokens_ in (bill.prompt_tokens, bill.cached_tokens, bill.cache_write_tokens, bill.completion_tokens):
            yield f'<td class="right">{tokens_:,}</td>'
        yield "</tr>"
    yield f"</tbody><tfoot><tr><td></td><td></td><td>{tr('total')}</td>"
    for tokens_ in (totals.prompt_tokens, totals.cached_tokens, totals.cache_write_tokens, totals.completion_tokens):
        yield f'<td class="right">{tokens_:,}</td>'
    yield "</tr></tfoot></table></div></details>\n"


def render_contents(export: ExportedSession) -> Iterator[str]:
    """Yield the table of contents: a link to each turn."""
    turns = [entry for entry in export.entries if _is_turn(entry)]
    if not turns:
        return
    yield f'<nav class="toc" aria-label="{tr("Contents")}"><h2>{tr("Contents")}</h2><ol>\n'
    for entry in turns:
        title = truncate_line(entry.text, _TOC_CHARS) if isinstance(entry, ExportedMessage) else ""
        yield f'<li><a href="#{entry.anchor}">{escape(title) or tr("(no text)")}</a></li>\n'
    yield "</ol></nav>\n"


def _is_turn(entry: Entry) -> bool:
    return isinstance(entry, ExportedMessage) and entry.role == "user" and entry.origin == "user"


_ORIGINS = {
    "continue": mark("clio, to continue"),
    "recovery": mark("clio, after compaction"),
    "interrupt": mark("clio, after an interruption"),
}
_FINISHES = {
    "interrupted": mark("interrupted"),
    "length": mark("cut off by the output limit"),
    "content_filter": mark("ended by the server's content filter"),
}


class EntryRenderer:
    """Renders the messages and trims of one page in order."""

    def __init__(self, prose: ProseRenderer, calls: CallRenderer) -> None:
        self._prose = prose
        self._calls = calls
        self._turn = 0
        self._day = ""

    def html(self, entry: Entry) -> str:
        """Return one message or trim as HTML."""
        if isinstance(entry, ExportedTrim):
            return self._render_trim(entry)
        match entry.role:
            case "user" if entry.origin == "user":
                return self._render_user(entry)
            case "user":
                return self._render_aside(entry, tr(_ORIGINS[entry.origin]), "note")
            case "system":
                return self._render_aside(entry, tr("system prompt"), "note")
            case "assistant":
                return self._render_answer(entry)
            case "tool":
                return self._render_tool(entry)

    def _render_user(self, entry: ExportedMessage) -> str:
        self._turn += 1
        return (
            f'<article class="m user" id="{entry.anchor}"><h2><span class="author">{tr("User")}</span>'
            f'<span class="number">{self._turn}</span>{self._render_time(entry)}{_render_link(entry)}</h2>'
            f"{_fold(tr('Context added by clio'), entry.context)}"
            f'<div class="prose" dir="auto">{self._prose.plain(entry.text)}</div></article>\n'
        )

    def _render_answer(self, entry: ExportedMessage) -> str:
        prose = f'<div class="prose" dir="auto">{self._prose.markdown(entry.text)}</div>' if entry.text.strip() else ""
        finish = tr(_FINISHES.get(entry.finish_reason, ""))
        about = [tr("step {step}", step=entry.step), format_tokens(entry.usage) if entry.usage else "", finish]
        return (
            f'<article class="m clio{" first" if entry.step == 1 else ""}" id="{entry.anchor}">'
            f'<h3><span class="author">clio</span><span class="model">{escape(entry.model)}</span>'
            f'<span class="about">{" · ".join(filter(None, about))}</span>'
            f"{self._render_time(entry)}{_render_link(entry)}</h3>"
            f"{_fold('thinking', entry.reasoning)}{prose}{''.join(map(self._calls.html, entry.calls))}</article>\n"
        )

    def _render_tool(self, entry: ExportedMessage) -> str:
        calls = "".join(map(self._calls.html, entry.calls))
        return f'<article class="m clio" id="{entry.anchor}">{calls}</article>\n'

    def _render_aside(self, entry: ExportedMessage, label: str, kind: str) -> str:
        return (
            f'<article class="m {kind}" id="{entry.anchor}"><details><summary>{label}'
            f"{self._render_time(entry)}{_render_link(entry)}</summary>"
            f'<div class="plain" dir="auto">{escape(entry.text)}</div></details></article>\n'
        )

    def _render_trim(self, trim: ExportedTrim) -> str:
        handle = f' <span class="handle">{escape(trim.handle)}</span>'
        line = f"{escape(describe_trim(trim))}{handle}{self._render_time(trim)}{_render_link(trim)}"
        ends = ""
        if trim.first_anchor:
            ends = (
                '<p class="ends">'
                + tr(
                    "From {first} to {last} of them; they are still in the session and on this page. From here on, the "
                    "model read this summary of them:",
                    first=f'<a href="#{trim.first_anchor}">{tr("the first")}</a>',
                    last=f'<a href="#{trim.last_anchor}">{tr("the last")}</a>',
                )
                + "</p>"
            )
        body = f'{ends}<div class="plain" dir="auto">{escape(trim.summary)}</div>' if trim.summary else ends
        inner = f"<details><summary>{line}</summary>{body}</details>" if body else f"<p>{line}</p>"
        return f'<aside class="m trim" id="{trim.anchor}">{inner}</aside>\n'

    def _render_time(self, entry: Entry) -> str:
        """Return the time of an entry as HTML; with the date if it is the first of its day."""
        when = format_minute(entry.created)
        if not when:
            return ""
        shown = format_clock(entry.created) if when[:10] == self._day else when
        self._day = when[:10]
        return f'<time datetime="{format_machine_time(entry.created)}" title="{when} UTC">{shown}</time>'


def _fold(label: str, text: str) -> str:
    if not text.strip():
        return ""
    return (
        f'<details class="more"><summary>{label}</summary><div class="plain" dir="auto">{escape(text)}</div></details>'
    )


def _render_link(entry: Entry) -> str:
    return f'<a class="link" href="#{entry.anchor}" aria-label="{tr("Link to this entry")}">#</a>'


def _render_toolbar() -> str:
    search, theme = tr("Search this session"), tr("Light or dark")
    return (
        '<div class="tools" role="search">'
        f'<input type="search" id="find" placeholder="{search}" aria-label="{search}" '
        'autocomplete="off" spellcheck="false">'
        '<output id="hits" aria-live="polite"></output>'
        '<span class="steps">'
        f'<button type="button" id="previous" title="{tr("Previous (Shift+Enter)")}" '
        f'aria-label="{tr("Previous match")}">↑</button>'
        f'<button type="button" id="next" title="{tr("Next (Enter)")}" aria-label="{tr("Next match")}">↓</button>'
        f'<label title="{tr("Hide entries without a match")}">'
        f'<input type="checkbox" id="only"> {tr("only matches")}</label>'
        "</span>"
        f'<button type="button" id="fold" aria-pressed="false">{tr("Expand all")}</button>'
        f'<button type="button" id="theme" aria-label="{theme}" title="{theme}">◑</button>'
        "</div>"
    )


def render_page(export: ExportedSession) -> str:
    """Return a session as an HTML page. The same export gives the same bytes."""
    colours, diffs = CodeColouring(), DiffRenderer()
    prose = ProseRenderer(colours, diffs)
    entries = EntryRenderer(prose, CallRenderer(prose, colours, diffs))
    style, script = read_asset("page.css"), read_asset("page.js")
    # Second protection against text that got past the escaping: only this style and this script may run.
    policy = (
        f"default-src 'none'; style-src '{hash_for_policy(style)}'; script-src '{hash_for_policy(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = [
        f'<!doctype html>\n<html lang="{get_language()}">\n<head>\n<meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n',
        f"<title>{escape(truncate_line(export.title, 120))}</title>\n",
        f"<style>{style}</style>\n<script>{script}</script>\n</head>\n<body>\n",
        f'<a class="skip" href="#conversation">{tr("Skip to the conversation")}</a>\n',
        f'{_render_toolbar()}\n<main class="page">\n',
        *render_head(export),
        *render_contents(export),
        *render_state(export),
        '<div id="conversation">\n',
        *map(entries.html, export.entries),
        f"</div>\n{_render_footer(export)}</main>\n</body>\n</html>\n",
    ]
    return "".join(parts)


def read_asset(name: str) -> str:
    """Return the text of a style sheet or script beside this module."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def hash_for_policy(text: str) -> str:
    """Return the source expression that allows exactly this inline text in a content security policy."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _render_footer(export: ExportedSession) -> str:
    return (
        "<footer><p>"
        + tr(
            "Session {id}, exported {time} UTC by clio. Times are in UTC. Secrets known to clio are removed; check the "
            "page before you share it.",
            id=escape(export.id),
            time=format_minute(export.exported_at),
        )
        + "</p></footer>\n"
    )
