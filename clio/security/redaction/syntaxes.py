"""Recognize secrets by a name and the syntax around it, such as Markdown or tables, and secrets in base64. Pure."""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator

from clio.security.redaction.assignments import find_name, find_named_spans
from clio.security.redaction.secret_patterns import (
    FILE_NAME,
    MAX_BLOCK_CHARS,
    Span,
    get_secret_kind,
    has_digit,
    is_generic_name,
    is_measure,
    is_name_start,
    is_passphrase,
    is_placeholder,
    is_reference,
    is_secret_name,
    is_wordlike,
)
from clio.security.redaction.secret_values import is_secret_value
from clio.text.lazy_regex import LazyRegex

# ruff: noqa: E501 - a table of expressions reads better with one a line
# An example shows a text with a match; `…` is a secret value, `\n` a line break. Most patterns are matched at
# the end of the name, `password` in most examples.


MAX_ROWS = 200
"""Number of rows below a title that are examined."""
_MAX_ROW_CHARS = 1000
_LITERAL = r"[bfruLN@$]?(?:(?P<q>[\"'`])(?P<v>(?:\\[^\n]|(?!(?P=q))[^\\\n]){1,1024})(?P=q))"
_LINE_END = r"(?=[ \t]*\r?(?:\n|\Z))"
_BARE = r"(?P<b>[^\s\"'`]{4,200})"

# A literal in quotation marks after the name.
# Example: password || "…"
_FALLBACK = LazyRegex(rf"[\"'\])}}]{{0,3}}[ \t]{{0,4}}(?:\|\|=?|\?\?=?|\?:|\bor\b)\s{{0,8}}{_LITERAL}")
# Example: password == "…"
_COMPARED = LazyRegex(rf"[\"'\])]{{0,3}}[ \t]{{0,4}}(?:===?|!==?|\beq\b|\bne\b)[ \t]{{0,4}}{_LITERAL}")
# Example: setPassword("…")
_CALLED = LazyRegex(rf"\([ \t]{{0,4}}(?:Some\()?{_LITERAL}[ \t]{{0,4}}\)")
_CALLER = LazyRegex(r"(?:\.|->|::|\s)\Z")
_SETTER = LazyRegex(r"(?i:set|with|put|change|update|store|add|use)_?[A-Za-z_]*\Z")
# Example: setattr(user, "password", "…")
_NEXT_ARGUMENT = LazyRegex(rf"[\"']?[ \t]{{0,4}},[ \t]{{0,8}}{_LITERAL}")
_ARGUMENT_OF = LazyRegex(
    r"(?:setattr\([^()\n]{1,60},[ \t]{0,4}[\"']|(?:strn?(?:case)?cmp|memcmp|compare_digest|hash_equals|equals|timingSafeEqual)\([ \t]{0,4}[$\w.>-]{0,40})\Z"
)
# Example: string Password { get; set; } = "…"
_PROPERTY = LazyRegex(rf"[ \t]{{0,4}}\{{[ \t]{{0,4}}get;[^{{}}\n]{{0,40}}\}}[ \t]{{0,4}}=[ \t]{{0,4}}{_LITERAL}")
# Example: std::string password{"…"}
_BRACED = LazyRegex(rf"[ \t]{{0,2}}\{{[ \t]{{0,2}}{_LITERAL}[ \t]{{0,2}}\}}")
_TEXT_TYPE = LazyRegex(r"(?:string|String|QString|string_view|auto)[ \t]+\Z")
# Example: password!: string = "…"
_TYPED = LazyRegex(rf"[!?]?:[ \t]{{0,4}}(?:string|String|str)[ \t]{{0,4}}=[ \t]{{0,4}}{_LITERAL}")
# Example: password <- "…"
_ARROW = LazyRegex(rf"[ \t]{{0,4}}<{{1,2}}-[ \t]{{0,4}}{_LITERAL}")
# Example: (define password "…")
_SPACED = LazyRegex(rf"[ \t]{{1,8}}{_LITERAL}(?:[ \t]{{0,4}}[;)}}])?{_LINE_END}")
# Example: (define
_DEFINED = LazyRegex(
    r"(?:\((?:def|define|defvar|setq|defparameter|defonce)[ \t]{1,4}\*?|set\(|\b(?:proxy_set_header|add_header|RequestHeader set|SetEnv|fastcgi_param|uwsgi_param)[ \t]{1,4}|(?:\A|\n)[ \t]{0,40}|:)\Z"
)
# Example: password%22:%22…%22
_ENCODED = LazyRegex(
    r"(?P<q>%22|&quot;|&#34;|&#x22;|\\{1,3}u0022|'')(?:%3A|:|=)(?:%20|[ \t+]){0,4}(?P=q)(?P<v>(?:(?!(?P=q))[^\s\"]){1,400})(?=(?P=q))"
)
# Example: $password = q{…}
_PERL = LazyRegex(
    r"\}?[ \t]{0,4}=[ \t]{0,4}(?:%?[qQ]{1,2}|\[)(?:\((?P<v>[^()\n]{4,200})\)|\{(?P<w>[^{}\n]{4,200})\}|\[(?P<u>[^\[\]\n]{4,200})\]\])"
)
# Example: <meta name="token" content="…">
_CONTENT = LazyRegex(rf"[\"'][ \t]{{1,4}}content={_LITERAL}")
# Example: gh secret set TOKEN --body "…"
_BODY = LazyRegex(rf"[ \t]{{1,4}}(?:-b|--body)[ =]{_LITERAL}")
# Example: password = <<EOF\n…\nEOF
_DOCUMENT = LazyRegex(
    r"[ \t]{0,8}=[ \t]{0,8}<<[-~]?[\"']?(?P<end>\w{1,20})[\"']?\r?\n[ \t]{0,40}(?P<b>[^\s]{4,400})[ \t]{0,8}\r?\n[ \t]{0,40}(?P=end)"
)
# Example: password.unwrap_or("…")
_GIVEN_BY = LazyRegex(
    rf"[\"'`)\]]{{0,4}}(?:\.(?:unwrap_or(?:_else)?|toBe|toEqual|type|send_keys|sendKeys|fill|setValue)\([^\"'\n]{{0,12}}|\.[Vv]alue[ \t]{{0,2}}=[ \t]{{0,2}}|(?:[ \t]by[ \t]lazy)?[ \t]{{1,2}}\{{[ \t]{{0,4}}){_LITERAL}"
)
# Example: getenv("PASSWORD", "…")
_PAIRED = LazyRegex(
    rf"[\"'`)\]]{{0,4}}[ \t]{{0,4}}(?:,[ \t]{{0,8}}(?:(?:default|fallback|with|value)(?:_value)?[ \t]{{0,2}}(?:=>|[:=])[ \t]{{0,4}}|:with[ \t]{{0,2}}=>[ \t]{{0,4}})?|to[ \t]{{1,4}})(?:\\[\"'](?P<w>[^\"'\n\\]{{4,200}})\\[\"']|(?:\"\\)?{_LITERAL})"
)
# Example: <input name="password" type="text" value="…">
_PAIRED_FIELD = LazyRegex(
    rf"[\"'](?:[ \t]{{1,4}}[\w-]{{1,30}}=[\"'][^\"'<>\n]{{0,80}}[\"']){{1,4}}[ \t]{{1,4}}value={_LITERAL}"
)
# Example: user, password = "admin", "…"
_TUPLE = LazyRegex(rf"[ \t]{{0,4}}=[ \t]{{0,4}}\(?[\"'][^\"'\n]{{0,60}}[\"'],[ \t]{{0,4}}{_LITERAL}")
# Example: PASSWORD=$(echo …)
_ECHOED = LazyRegex(
    r"=[\"']?(?:(?:\$\(|`)(?:echo|printf)[ \t]{1,4}[\"']?(?P<b>[^\s\"'`$()]{4,200})[\"']?[)`]|\$\{\w{1,40}:?[-=](?P<c>[^\s\"'`${}]{4,200})\})"
)
_LITERALS = (_FALLBACK, _COMPARED, _PROPERTY, _TYPED, _ARROW, _ENCODED, _CONTENT, _BODY)
_FIRST_OF_PAIRS = frozenset("\"'`)], .")
_FIRST_OF_LITERALS = frozenset("\"'`])}|?=!{:<%&\\ \t")

# A word without quotation marks after the name.
# Example: **password:** …
_MARKDOWN = LazyRegex(rf"(?:[ \t]?:[*_]{{1,3}}|[*_]{{1,3}}[ \t]?:)[ \t]{{1,4}}[`*\"']{{0,3}}{_BARE}")
# Example: password:\n```\n…\n```
_FENCED = LazyRegex(
    r"[*_]{0,3}:?[*_]{0,3}[ \t]{0,4}(?:\r?\n){1,2}[ \t]{0,8}(?:```|~~~)\w{0,12}\r?\n[ \t]{0,8}(?P<b>\S{4,200})[ \t]{0,4}\r?\n[ \t]{0,8}(?:```|~~~)"
)
# Example: password\n: …
_DEFINITION = LazyRegex(rf"[ \t]{{0,4}}\r?\n:[ \t]{{1,4}}`?{_BARE}`?{_LINE_END}")
# Example: ${PASSWORD:-…}
_DEFAULT = LazyRegex(r":?[-=:?]?(?P<b>[^\s\"'`{}$]{4,200}\$?)\}")
# Example: - --password\n- …
_ITEM = LazyRegex(rf"[\"']?[ \t]{{0,4}}\r?\n[ \t]{{0,40}}-[ \t]{{1,4}}[\"']?{_BARE}[\"']?{_LINE_END}")
# Example: ["--password", "…"]
_ARRAY = LazyRegex(rf"[\"'],\s{{0,40}}{_LITERAL}")
# Example: password={…};
_BRACES = LazyRegex(r"=\{(?P<b>[^{}\s]{4,120})\}(?=[;\"'\s]|\Z)")
# Example: enable password 7 …
_DIRECTIVE = LazyRegex(rf"[ \t]{{1,8}}(?:[057][ \t]{{1,4}})?(?P<b>[^\s\"'`;]{{4,200}})(?P<semicolon>;?){_LINE_END}")
_DIRECTIVE_OF = LazyRegex(
    r"(?:\A|\n)[ \t]{0,40}(?P<word>enable|fastcgi_param|uwsgi_param|scgi_param|env|username \S{1,60}(?: privilege \d{1,2})?|neighbor \S{1,60}|set(?: -[a-zA-Z]{1,4})?|IPSec|IPSEC|Xauth|XAUTH|SetEnv|setenv|export)?[ \t]{0,8}\Z"
)
# Example: user: admin, password: …,
_LISTED_PASSWORD = LazyRegex(r":[ \t]{1,4}(?P<b>[^\s\"'`,;]{4,120})(?=[,;.]?(?:\s|\Z))")
_BESIDE_USER = LazyRegex(r"(?i:user(?:name)?|login)[ \t]{0,2}:[ \t]{0,4}[^\s,;]{1,60}[,;][ \t]{1,4}\Z")

# A value on the line below its name, or after the first value assigned to the name.
# Example: The password is:\n…
_BELOW = LazyRegex(
    rf"[\"'`*_)]{{0,3}}(?:[ \t]{{1,4}}(?:is|are|was))?:?[*_]{{0,3}}:?[ \t]{{0,8}}(?:\r?\n){{1,2}}[ \t]{{0,40}}[`*\"']{{0,3}}{_BARE}[`*\"']{{0,3}}{_LINE_END}"
)
# Example: password is:\n```\n…\n```
_FENCED_BELOW = LazyRegex(
    r"[ \t]{1,4}(?:is|are|was):?[ \t]{0,4}(?:\r?\n){1,2}[ \t]{0,8}(?:```|~~~)\w{0,12}\r?\n[ \t]{0,8}(?P<b>\S{4,200})[ \t]{0,4}\r?\n[ \t]{0,8}(?:```|~~~)"
)
# Example: password = """\n…\n"""
_TRIPLE = LazyRegex(
    r"[\"']?[ \t]{0,8}[:=][ \t]{0,8}[bru]?(?:\"{3}|'{3})\\?\r?\n[ \t]{0,40}(?P<b>[^\s\"']{4,200})[ \t]{0,4}(?:\r?\n[ \t]{0,40})?(?:\"{3}|'{3})"
)
_CALL_OF_NAME = r"(?:[ \t]?:[ \t]{0,4}[\w\[\], |.]{1,40})?[ \t]{0,4}[:=][ \t]{0,4}[\w.$]{1,60}"
# Example: password = getenv(x) or "…"
_OTHERWISE = LazyRegex(
    rf"[\"'\]]{{0,2}}{_CALL_OF_NAME}(?:[(\[][^()\[\]\n]{{0,80}}[)\]])?[ \t]{{0,4}}(?:\bor\b|\|\||\?\?|\?:)[ \t]{{0,4}}{_LITERAL}"
)
# Example: password = env("PASSWORD", "…")
_DEFAULTED = LazyRegex(
    rf"[\"'\]]{{0,2}}{_CALL_OF_NAME}\((?:[^()\n]{{0,80}}(?:default(?:_value)?|value|fallback)[ \t]?[=:][ \t]?|[\"'][\w.]{{1,60}}[\"'],[ \t]{{0,4}}){_LITERAL}"
)
# Example: password = "old" -> "…"
_CHANGED = LazyRegex(rf"[\"']?[ \t]{{0,40}}[=:][ \t]{{0,4}}\"[^\"\n]{{0,200}}\"[ \t]{{1,4}}->[ \t]{{1,4}}{_LITERAL}")
# Example: password -> …
_POINTED = LazyRegex(rf"[\"'`*]{{0,2}}[ \t]{{1,4}}(?:-{{1,2}}>?|→|–|—)[ \t]{{1,4}}[\"'`]?{_BARE}[\"'`]?{_LINE_END}")
# Example: the password, …, is
_APPOSED = LazyRegex(r",[ \t]`?(?=[^\s,]{0,120}[0-9])(?P<b>[^\s\"'`,;]{8,120})[\"'`]?,[ \t](?=[a-z])")
# Example: password: <code>…</code>
_TAGGED = LazyRegex(
    r":?(?:</\w{1,10}>)?:?\s{0,8}<(?:b|code|strong|i|em|tt|kbd|span|td|dd|pre|samp)(?:[ \t][^<>\n]{0,80})?>(?P<b>[^\s<>]{4,200})</"
)
# Example: <b>password</b>: …
_TAGGED_NAME = LazyRegex(
    r":?</(?:b|code|strong|i|em|tt|kbd|span|td|dt|th)>:?[ \t]{1,4}(?P<b>[^\s<>]{4,200})(?=[ \t]*(?:<|\r?\n|\Z))"
)
# Example: password:\n  type: string\n  default: …
_DEFAULT_BELOW = LazyRegex(
    r"[\"']?:[ \t]{0,4}\r?\n(?P<indent>[ \t]{1,40})(?:[^\n]{0,120}\n(?P=indent)){0,5}?(?:[Dd]efault|[Vv]alue):[ \t]{1,4}[\"']?(?P<b>[^\s\"']{4,400})[\"']?[ \t]*(?=\r?(?:\n|\Z))"
)
_LITERALS_BEHIND = (_OTHERWISE, _DEFAULTED, _CHANGED)
_WORDS_BEHIND = (_BELOW, _FENCED_BELOW, _TRIPLE, _POINTED, _APPOSED, _TAGGED, _TAGGED_NAME, _DEFAULT_BELOW)

# Example: | password |
_HEAD_CELL = LazyRegex(r"[ \t*`\"']{0,6}(?:\||\Z|(?=\r?\n))")
# Example: |---|:---:|
TABLE_RULE = LazyRegex(r"[ \t]{0,8}[|+]?[ \t]{0,4}:?-{1,60}[-:|+ \t]{0,400}\r?\Z")
_COMMENT = LazyRegex(r"[ \t]{0,8}(?:#|//|--|;|\*|%|>)[ \t]{0,4}")
_COLUMN = LazyRegex(r"[\w .-]{1,60}\Z")
# Example: INSERT INTO users (
_INSERT = LazyRegex(r"(?i:insert[ \t]+(?:ignore[ \t]+)?into|replace[ \t]+into)[ \t]+[\w.\"`\[\]]{1,80}[ \t]{0,4}\(")
_INSERT_VALUES = LazyRegex(r"(?i:[^()]{0,800}\)\s{0,40}values\s{0,40})")
_VALUE = LazyRegex(
    r"[ \t]*N?(?:'(?P<text>(?:''|\\.|[^'\\\n]){0,800})'|(?P<o>[^,()'\n]{0,200}(?:\([^()\n]{0,200}\))?[^,()'\n]{0,40}))[ \t]*(?P<end>[,)])"
)


def find_syntax_spans(text: str, lowered: str, names: Iterable[tuple[int, str]]) -> Iterator[Span]:
    """Yield the secrets recognized by a name and the syntax around it.

    Args:
        lowered: the text in lower case, with every character at the same position.
        names: the result of `assignments.find_name_places` for the text.
    """
    done = 0
    for place, word in names:
        if not is_name_start(lowered, place, word):
            continue
        name, start = find_name(text, place)
        end = place + 3 if " " in name else start + len(name)
        if (end != done or word == "key") and (is_secret_name(name) or is_secret_name(name.rstrip("sS"))):
            done = end
            yield from _iter_syntax_secrets(text, name, start, end)


def _iter_syntax_secrets(text: str, name: str, start: int, end: int) -> Iterator[Span]:
    """Yield the secrets that the surrounding syntax assigns to a name. start, end: span of the name."""
    sign = text[end : end + 1]
    if sign in _FIRST_OF_LITERALS:
        for pattern in _LITERALS:
            if match := pattern.match(text, end):
                yield from _make_quoted_span(match, name)
                return
        if match := _PERL.match(text, end):
            yield from _make_quoted_span(match, name)
        elif match := _DOCUMENT.match(text, end):
            yield from _make_bare_span(match, name)
    before = text[max(0, start - 100) : start]
    if sign in _FIRST_OF_PAIRS:
        for pattern in (_PAIRED, _PAIRED_FIELD, _GIVEN_BY):
            if match := pattern.match(text, end):
                group = "w" if pattern is _PAIRED and match["w"] is not None else "v"
                if _is_paired_secret(match[group], name):
                    yield Span(match.start(group), match.end(group), get_secret_kind(name), 300)
                break
    if sign == "=" and (match := _ECHOED.match(text, end)):
        group = "b" if match["b"] is not None else "c"
        if has_digit(match[group]) and _is_bare_secret(match[group], name):
            yield Span(match.start(group), match.end(group), get_secret_kind(name), 300)
    if sign in ("=", " ") and before.endswith(", ") and (match := _TUPLE.match(text, end)):
        yield from _make_quoted_span(match, name)
    if sign == "(":
        last = name.rpartition(".")[2]
        if (("." in name or _CALLER.search(before)) and (match := _CALLED.match(text, end))) and (
            _SETTER.match(last) or "." in name or before.endswith((".", "->", "::"))
        ):
            yield from _make_quoted_span(match, name)
    elif (
        (sign in ("{", " ") and _TEXT_TYPE.search(before) and (match := _BRACED.match(text, end)))
        or (sign in ('"', "'", ",") and _ARGUMENT_OF.search(before) and (match := _NEXT_ARGUMENT.match(text, end)))
        or (name.startswith("-") and (match := _ARRAY.match(text, end)))
    ):
        yield from _make_quoted_span(match, name)
    if name.startswith("-") and (match := _ITEM.match(text, end)):
        yield from _make_bare_span(match, name)
    if before.endswith("${") and (match := _DEFAULT.match(text, end)):
        yield from _make_bare_span(match, name)
    if sign in ("*", "_", ":", " ", "\n", "\r"):
        for pattern in (_MARKDOWN, _FENCED):
            if match := pattern.match(text, end):
                yield from _make_bare_span(match, name)
        if before[-1:] in ("", "\n") and (match := _DEFINITION.match(text, end)):
            yield from _make_bare_span(match, name)
        if sign == ":" and _BESIDE_USER.search(before) and (match := _LISTED_PASSWORD.match(text, end)):
            yield from _make_bare_span(match, name)
    if sign in "\"'])=: ":
        for pattern in _LITERALS_BEHIND:
            if (match := pattern.match(text, end)) and _is_paired_secret(match["v"], name):
                yield Span(match.start("v"), match.end("v"), get_secret_kind(name), 300)
                break
    # An indented line with the word "pass" alone is a statement of Python.
    is_statement = name == "pass" and sign in ("\r", "\n") and before.rpartition("\n")[2].isspace()
    if sign in "\"'`*_)=: \t\r\n,<" and not is_statement:
        for pattern in _WORDS_BEHIND:
            if (match := pattern.match(text, end)) and _is_lone_secret(value := match["b"].rstrip(".,;:!?)`*"), name):
                yield Span(match.start("b"), match.start("b") + len(value), get_secret_kind(name), 300)
    if sign == "=" and (match := _BRACES.match(text, end)):
        yield from _make_bare_span(match, name)
    if sign in (" ", "\t"):
        yield from _iter_directive_secrets(text, name, before, end)
    if sign in ("|", " ", "*", "`") and "|" in before:
        yield from _iter_table_secrets(text, name, start, end)
    if sign in (",", "\n", "\r", '"', ";", "\t", ")", " ", "`"):
        yield from _iter_column_secrets(text, name, start, end)


def _iter_directive_secrets(text: str, name: str, before: str, end: int) -> Iterator[Span]:
    """Yield the value after a blank in a line that consists of a name and a value only."""
    if (match := _SPACED.match(text, end)) and _DEFINED.search(before):
        yield from _make_quoted_span(match, name)
    elif (match := _DIRECTIVE.match(text, end)) and (
        given := _DIRECTIVE_OF.search(before if len(before) == 100 else "\n" + before)
    ):
        value = match["b"]
        sure = given["word"] or match["semicolon"] or not is_wordlike(value, digits=True)
        varied = has_digit(value) or (len(value) >= 8 and value.isalpha() and not is_wordlike(value))
        chosen = get_secret_kind(name) == "password" and value.isalnum() and value[-1].isdigit() and len(value) >= 7
        if ((sure and varied) or chosen or is_passphrase(value)) and value[-1] not in ".,:)":
            yield from _make_bare_span(match, name)


def _iter_table_secrets(text: str, name: str, start: int, end: int) -> Iterator[Span]:
    """Yield the values in the column of a Markdown table below the name, or in the cell beside it."""
    head = find_table_head(text, start, end)
    if head is None:
        return
    column, line, place = head
    if not place:
        if column == 1 and (cell := _find_cell(text, line, _find_line_end(text, end), 2)):
            yield from _iter_cell_secrets(text, *cell, name)
        return
    for _ in range(MAX_ROWS):
        stop = _find_line_end(text, place)
        if text.find("|", place, stop) < 0:
            return
        if cell := _find_cell(text, place, stop, column):
            yield from _iter_cell_secrets(text, *cell, name)
        place = stop + 1


def find_table_head(text: str, start: int, end: int) -> tuple[int, int, int] | None:
    """Return the Markdown table column titled by the name from `start` to `end`.

    Returns its number from 1, where its line begins, and where the first row begins (0 if no rule follows the line).
    """
    line = text.rfind("\n", max(0, start - _MAX_ROW_CHARS), start) + 1
    stop = _find_line_end(text, end)
    if text[line:start].rstrip('*`" \t')[-1:] != "|" or not _HEAD_CELL.match(text, end, stop):
        return None
    behind = _find_line_end(text, stop + 1)
    return text.count("|", line, start), line, behind + 1 if TABLE_RULE.match(text[stop + 1 : behind]) else 0


def _find_cell(text: str, place: int, stop: int, column: int) -> tuple[int, int] | None:
    """Return where a cell of a Markdown table row begins and ends; None if the row is shorter."""
    for _ in range(column):
        place = text.find("|", place, stop) + 1
        if not place:
            return None
    last = text.find("|", place, stop)
    return place, last if last >= 0 else stop


def _iter_cell_secrets(text: str, first: int, last: int, name: str) -> Iterator[Span]:
    """Yield the content of a table cell if it is a secret."""
    cell = text[first:last]
    value = cell.strip(" \t\r\"'`*")
    if (
        len(value) >= 4
        and _is_bare_secret(value, name)
        and (
            has_digit(value)
            or value.count("-") > 1
            or is_passphrase(value)
            or (len(value) >= 8 and value.isalpha() and not is_wordlike(value))
        )
    ):
        at = first + cell.index(value)
        yield Span(at, at + len(value), get_secret_kind(name), 300)


def _iter_column_secrets(text: str, name: str, start: int, end: int) -> Iterator[Span]:
    """Yield the values of a column of comma-separated values, or of the rows of an `INSERT INTO`."""
    line = text.rfind("\n", max(0, start - _MAX_ROW_CHARS), start) + 1
    opened = text.rfind("(", max(line, start - 600), start)
    if opened >= 0:
        if "nto" in text[line:opened] or "NTO" in text[line:opened]:
            insert = _INSERT.search(text, line, opened + 1)
            if insert and insert.end() == opened + 1:
                yield from _iter_inserted_secrets(text, name, text.count(",", opened, start), end)
        return
    if (found := find_columns_head(text, name, line, start, end)) is None:
        return
    sign, column, number, place = found
    for _ in range(MAX_ROWS):
        stop = _find_line_end(text, place)
        row = text[place:stop]
        parts = row.split(sign)
        if len(parts) != number or len(row) > _MAX_ROW_CHARS:
            return
        first = place + sum(len(part) + 1 for part in parts[:column])
        yield from _iter_cell_secrets(text, first, first + len(parts[column]), name)
        place = stop + 1


def find_columns_head(text: str, name: str, line: int, start: int, end: int) -> tuple[str, int, int, int] | None:
    """Return the columns if a name is one of their titles.

    Returns the separator, the column's number from 0, the number of columns, and where the first row begins.

    Args:
        line: where the line of the name begins.
        start, end: span of the name.
    """
    stop = _find_line_end(text, end)
    head = text[line:stop].rstrip("\r")
    sign = next((each for each in (",", ";", "\t") if each in head), "")
    if not sign:
        return None
    comment = _COMMENT.match(head)
    cells = head[comment.end() if comment else 0 :].split(sign)
    if len(cells) > 100 or not all(_COLUMN.match(cell.strip(" \"'")) for cell in cells):
        return None
    column = text.count(sign, line, start)
    if cells[column].strip(" \"'") != name or has_digit(head):
        return None
    return sign, column, len(cells), stop + 1


def _iter_inserted_secrets(text: str, name: str, column: int, end: int) -> Iterator[Span]:
    """Yield the values that an `INSERT INTO … VALUES` gives to one column."""
    rows = _INSERT_VALUES.match(text, end)
    place = rows.end() if rows else len(text)
    for _ in range(MAX_ROWS):
        if text[place : place + 1] != "(":
            return
        place += 1
        for number in range(60):
            value = _VALUE.match(text, place)
            if value is None:
                return
            if number == column and value["text"] and _is_quoted_secret(value["text"], name):
                yield Span(value.start("text"), value.end("text"), get_secret_kind(name), 300)
            place = value.end()
            if value["end"] == ")":
                break
        while text[place : place + 1] and text[place] in ", \t\r\n":
            place += 1


def _find_line_end(text: str, place: int) -> int:
    """Return where the line of a position ends, at most `_MAX_ROW_CHARS` further."""
    stop = text.find("\n", place, place + _MAX_ROW_CHARS)
    return min(len(text), place + _MAX_ROW_CHARS) if stop < 0 else stop


def _make_quoted_span(match: re.Match[str], name: str) -> Iterator[Span]:
    """Yield the span of a matched value in quotation marks if it is a secret."""
    group = next(each for each in ("v", "w", "u") if match.groupdict().get(each) is not None)
    if _is_quoted_secret(match[group], name):
        yield Span(match.start(group), match.end(group), get_secret_kind(name), 300)


def _make_bare_span(match: re.Match[str], name: str) -> Iterator[Span]:
    """Yield the span of a matched value without quotation marks if it is a secret."""
    value = match["b"].rstrip(".,;:*`")
    if len(value) >= 4 and _is_bare_secret(value, name):
        yield Span(match.start("b"), match.start("b") + len(value), get_secret_kind(name), 300)


def _is_quoted_secret(value: str, name: str) -> bool:
    """Whether a value in quotation marks is the secret that its name announces."""
    if get_secret_kind(name) != "password" and is_generic_name(name) and is_wordlike(value, digits=True):
        return False
    return is_secret_value(value, name, "quoted", True)


def _is_paired_secret(value: str, name: str) -> bool:
    """Whether a literal beside a name is its value; lists of names contain ordinary words there."""
    return (
        (
            has_digit(value)
            or is_passphrase(value)
            or (len(value) >= 10 and len(set(value.lower())) >= 8 and value.isalnum() and not is_wordlike(value))
        )
        and value[-1] not in "-_.:"
        and value[0] != "/"
        and not any(char.isspace() or char in "\\[](){}|<>" for char in value)
        and not is_measure(value)
        and (
            not is_wordlike(value, digits=True)
            or is_passphrase(value)
            or (get_secret_kind(name) == "password" and value.isalnum() and value[-2:].isdigit())
        )
        and _is_quoted_secret(value, name)
    )


def _is_lone_secret(value: str, name: str) -> bool:
    """Whether a word near a name is its value: no ordinary word and no code, unless it is a passphrase."""
    if len(value) < 6 or value[0] in "$<[({|%/-" or is_reference(value) or is_measure(value):
        return False
    if is_passphrase(value):
        return is_secret_value(value, name, "data", True)
    words = is_wordlike(value, digits=True)
    return (
        not any(sign in value for sign in "(){}[]<>;\\|`/" if sign != "/" or value.count("/") > 1)
        and "::" not in value
        and (has_digit(value) or (len(value) >= 8 and not words and value.isalnum()))
        and (not words or (get_secret_kind(name) == "password" and value.isalnum() and not is_generic_name(name)))
        and FILE_NAME.search(value) is None
        and is_secret_value(value, name, "data", True)
    )


def _is_bare_secret(value: str, name: str) -> bool:
    """Whether a word without quotation marks is a secret. Characters that also occur in code are no evidence."""
    if value[0] in "$<[({|%/" or is_placeholder(value) or is_reference(value) or "(" in value:
        return False
    return is_secret_value(_SIGNS.sub("", value), name, "flag", True)


_SIGNS = LazyRegex(r"[$*|&!^%#@?]+")


_SHORTEST = 20
_MAP = bytes(120 if chr(code).isascii() and (chr(code).isalnum() or chr(code) in "+/") else 32 for code in range(256))
_RUN = b"x" * _SHORTEST
_END = re.compile(rb"x*")
_PRINTABLE = re.compile(rb"[\t\n\r\x20-\x7e]*\Z")
_KEY_HEAD = "LS0tLS1CRUdJTi"
_MORE_LINES = LazyRegex(r"(?:\r?\n[ \t]{0,40}[A-Za-z0-9+/]{2,120}(?![A-Za-z0-9+/:_.-]))*={0,2}")
_OPEN_LINES = LazyRegex(r"LS0tLS1CRUdJTi[A-Za-z0-9+/\s]*={0,2}\s?\Z")


def find_encoded_spans(text: str) -> Iterator[Span]:
    """Yield runs of base64 that contain a secret."""
    shape = text.encode("latin-1", "replace").translate(_MAP)
    place = shape.find(_RUN)
    done = 0
    while place >= 0:
        match = _END.match(shape, place)
        end = match.end() if match else place + 1
        if place >= done and _is_readable_start(text[place : place + 24]):
            last = end
            if text.startswith(_KEY_HEAD, place) and (more := _MORE_LINES.match(text, end, place + MAX_BLOCK_CHARS)):
                last = more.end()
            while last < len(text) and text[last] == "=" and last < end + 2:
                last += 1
            if _has_encoded_secret("".join(text[place:last].split())):
                yield Span(place, last, "encoded-secret", 190)
                done = last
        place = shape.find(_RUN, end)


def find_open_encoded(text: str, end: int) -> int | None:
    """Return where a base64 private key begins that continues over several lines; None for nowhere."""
    place = text.rfind(_KEY_HEAD, max(0, end - MAX_BLOCK_CHARS), end)
    return place if place >= 0 and _OPEN_LINES.match(text, place, end) else None


def _is_readable_start(head: str) -> bool:
    """Whether base64 decodes to printable text."""
    try:
        start = base64.b64decode(head[: len(head) // 4 * 4])
    except (binascii.Error, ValueError):
        return False
    return _PRINTABLE.match(start) is not None


def _has_encoded_secret(run: str) -> bool:
    """Whether a run of base64 decodes to a text that contains a secret."""
    bare = run.rstrip("=")[:MAX_BLOCK_CHARS]
    try:
        decoded = base64.b64decode(bare[: len(bare) // 4 * 4] if len(bare) % 4 == 1 else bare + "=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return False
    if _PRINTABLE.match(decoded) is None:
        return False
    plain = decoded.decode("ascii")
    if "PRIVATE KEY-----" in plain:
        return True
    return next(find_named_spans(plain), None) is not None
