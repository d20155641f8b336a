"""Find the secrets in a text by all forms, custom patterns and known values; skip words that cannot begin one."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from clio.errors import ConfigError
from clio.security.redaction.assignments import (
    LOGIN,
    find_name,
    find_name_places,
    find_named_spans,
    find_open_name,
    lower_keeping_positions,
)
from clio.security.redaction.commands_and_calls import PASSWORD_OPTION_AFTER_USER
from clio.security.redaction.contexts import (
    CONTEXT_BEGINNINGS,
    OPEN_OFFER,
    OPEN_PIPE_COMMAND,
    PIPED_WORD,
    SECRET_OF,
    SENTENCE_AFTER_NAME,
    VALUE_BEFORE_NAME,
    VERB_LAST,
    can_be_stated_value,
    find_context_spans,
    find_open_context,
    has_context_sign,
    has_program_sign,
    is_secret_taking_program,
)
from clio.security.redaction.form_signs import find_signs, select_forms, select_needles
from clio.security.redaction.secret_patterns import (
    MARKER,
    MAX_BLOCK_CHARS,
    NAME_CHARS,
    NAME_SUFFIX,
    SHORTEST_KEY,
    Span,
    can_be_secret_name,
    find_bearer_spans,
    find_block_spans,
    find_open_block,
    find_token_spans,
    find_url_spans,
    has_key_length_run,
    is_key_block_start,
    is_name_start,
    is_passphrase,
    is_secret_name,
    is_wordlike,
)
from clio.security.redaction.syntaxes import find_encoded_spans, find_open_encoded, find_syntax_spans
from clio.text.lazy_regex import LazyRegex
from clio.text.regex_limits import BoundedPattern, PatternRefused, PatternTooSlow
from clio.text.translation import tr

if TYPE_CHECKING:
    from clio.security.redaction.open_forms import OpenRows


_LONG_RUN_CHARS = 256
"""Runs of base64 from this length on, in characters, are shortened before names are searched in them."""
_NAME_REACH = 160
_SIGN_REACH = 120
_DIGIT = LazyRegex("[0-9]")
_LONG_RUN = LazyRegex(rf"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{{{_LONG_RUN_CHARS},}}")
_RUN_TAIL_CHARS = 128  # characters kept of a run: the longest name together with its separator is shorter
_NAME_REST = rf"[{NAME_CHARS}]{{0,48}}+"
_SIGN = LazyRegex(
    rf"{_NAME_REST}(?:(?:\\{{0,2}}[\"'`\])}}*_]){{0,3}}(?:\[\])?[ \t]{{0,16}}"
    rf"(?:[:=!><]|[?|]{{2}}|[?|+]{{1,2}}[=:]|(?<=[\"']),)"
    r"|[\"'\])}]{0,3}[ \t]{0,4}\b(?:or|eq|ne)\s{1,8}[bfru@]?[\"'`]|,[ \t]{0,8}[\"'`]"
    r"|[({][ \t]?[a-z]{1,12}\([\"']|[ \t]{1,4}--?b|[&%]|\\{1,3}u|''"
    r"|\s{1,40}(?:```|~~~|:[ \t])|[ \t](?:as[ \t])?string[ \t]|[ \t]{1,4}(?:is|are|was):?[ \t]{0,4}\r?\n|\*{0,2}:?</"
    r"|[ \t]{1,4}(?:-{1,2}>?|→|–|—)[ \t](?=\S{0,100}[0-9])|,[ \t](?=[^\s,]{0,100}[0-9][^\s,]{0,100},)|[\"']\r?\n"
    r"|[\"'`\])]{1,4}[ \t]{1,4}to[ \t]{1,4}\\?[\"']"
    r"|[\"')\]]{0,3}[ \t]{0,4}(?:[({][ \t]?[\"']|\{)|[ \t]{1,16}[\"']|[ \t]{1,4}[\"'`]?(?=[^\s\"'`]{0,1024}[0-9])"
    r"|[\"'\\]{0,4},?\s{1,40}[\"'\\]{0,3}value|</key>"
    r"|[\"']?(?:[ \t]{1,4}[a-z:_-]{1,30}=[\"'][^\"'<>\n]{0,80}[\"']){0,4}>)"
)
# The word after a phrase such as "… is now X". If it has not arrived yet, the name stays pending.
_STATED_WORD = LazyRegex(rf"(?:{SENTENCE_AFTER_NAME}|[a-z]{{0,8}}[ \t]+to(?=[ \t]))[ \t]+(\S+)")
_BESIDE = LazyRegex(r"(?:words?|wd|phrase|code|[ _-]key)?,?[ \t]{1,8}(\S+)")
# A name followed by something that never separates a name from its value. No value follows it.
_WITHOUT_VALUE = LazyRegex(
    rf"{_NAME_REST}[\"'`\])*,]{{0,3}}(?:[ \t]{{0,4}}[;|]\s"
    rf"|\s{{1,40}}+(?!(?:{SECRET_OF}|is|was|are|be|has|been|now|set|reset|changed|will|should|must|ist|est|es|heißt|heisst"
    r"|lautet|becomes|equals|key|keys|value|string|as|or|eq|ne|jetzt|nun|aktuell|wurde|wird|auf)(?![a-z]))[a-z]+[.,;)]{0,3}\s"
    r"|[ \t]{1,4}(?:for|of|to|on|at|in)[ \t](?:[\w'/.-]{1,30}[ \t]{1,4}){0,4}[\w'/.-]{1,30}[,;|]\s"
    r"|(?:\s{1,8}\S{1,60}){9}\s)"
)
# A sentence gives no value for a plural such as "tokens": a list follows immediately, or nothing.
_PLURALS = ("token", "secret", "key")
_PLURAL_DONE = LazyRegex(r"s[\"'`*.)]{0,3}(?:\s{1,40}+(?!value)[a-z]|[ \t]?[,;|]\s)")
_CELL_END = LazyRegex(rf"{_NAME_REST}[ \"']{{0,2}}(?:[,;\t]|\r?\n)")
_TABLE_CELL = LazyRegex(rf"{_NAME_REST}[ \t*`\"']{{0,6}}\|")
_CELL_REACH = 48 + 6 + 1
_TITLES = LazyRegex(r"(?:[ \t]{0,8}(?:#|//|--|[;*%>])[ \t]{0,4})?[\w .\"'-]{1,80}(?:[,;\t][\w .\"'-]{0,80}){1,100}\r?")
_FLAG = LazyRegex(r"(?:\A|[^a-z0-9_.-])--?[a-z0-9_.-]{0,48}\Z")
_FLAG_CHARS = 50
# As in a Dockerfile or shell settings, where only a blank separates the name from its value.
_SETTER = LazyRegex(r"(?:\A|\n)[^\na-z]{0,16}(?:env|arg|setenv|setx|set(?: -[a-z]{1,4})?)[ \t]{1,4}[a-z0-9_.-]{0,48}\Z")
_SETTER_CHARS = 80
_HEADER = LazyRegex(r"(?:bearer|basic)[ \t]{1,4}[a-z0-9._~+/-]{12}")
_LOGIN = LazyRegex(LOGIN)
_NAMES = {
    word: LazyRegex(word) for word in ("pass", "secret", "token", "credential", "pwd", "key", "kennwort", "contrase")
} | {
    "auth": LazyRegex(rf"authorization|auth{NAME_SUFFIX}"),
    "_pat": LazyRegex(rf"_pat{NAME_SUFFIX}"),
    "sess": LazyRegex(rf"sess(?:ion)?_?id{NAME_SUFFIX}"),
    "pw": LazyRegex(rf"pw{NAME_SUFFIX}"),
    "psk": LazyRegex(rf"psk{NAME_SUFFIX}"),
    "geheim": LazyRegex("geheim"),
    "senha": LazyRegex(rf"senha{NAME_SUFFIX}"),
    "wachtwoord": LazyRegex("wachtwoord"),
    "pin": LazyRegex(rf"(?:[_-]pin|pin[_-]?code){NAME_SUFFIX}"),
}
"""Patterns for `ANY_WORD` by their first literal, in lower case; for "api key" by the second word."""


_ALL_NAMES = (*_NAMES, "bearer", "-u")
_BIT_BY_NAME = {word: 1 << number for number, word in enumerate(_ALL_NAMES)}
NAME_BITS = (1 << len(_ALL_NAMES)) - 1
CONTEXT_BIT, PROGRAM_BIT, ECHO_BIT, HALF_NAME_BIT, OFFER_BIT, FORM_BIT, VALUE_BIT = (
    1 << (len(_ALL_NAMES) + number) for number in range(7)
)
"""Bits for what a word may indicate, in order: the name of a secret (one bit for each of `_ALL_NAMES`), the beginning
of a context, a program that takes secrets, a program that may write one into a pipe, the second half of "api key", an
offered value ("use … as the password"), a secret by its own form, and a random-looking word that "is the password" may
follow. All but the last four may stay valid for the rest of the line.
"""
_SIGNS_AT = len(_ALL_NAMES) + 7
_MOST_SIGNS = 256
SIGN_BITS = ((1 << _MOST_SIGNS) - 1) << _SIGNS_AT
"""Bits of the signs that announce a form, above all other bits; see `open_forms.find_signs`."""
LINE_BITS = NAME_BITS | CONTEXT_BIT | PROGRAM_BIT | ECHO_BIT | SIGN_BITS
_ALL_BITS = LINE_BITS | OFFER_BIT | FORM_BIT | VALUE_BIT
WHOLE_LINE = -2
"""Result of `SignTest.judge` if nothing can be decided before the end of the line."""
_MOST_WORDS = 16_384
"""Words cached by one `SignTest`; the caches are cleared when full."""
_CACHED_CHARS = 64
"""Longer words are not cached, because they rarely repeat."""
_KEY = LazyRegex(r"keys?(?![a-z])")
_KEY_REACH = 32


class SignTest:
    """Tests cheaply whether complete words may contain a secret, or begin one that continues after them.

    Most words of a text are plain: they indicate nothing, which is determined once per word and cached. For the others,
    `describe` returns what they indicate, and `judge` examines them together with the text before.

    Args:
        values: as in `SecretFinder`.
    """

    def __init__(self, values: tuple[str, ...]) -> None:
        self._begun: list[tuple[str, str]] = []
        self._firsts: tuple[str, ...] = ()
        self._plain: set[str] = set()
        self._signs_by_word: dict[str, int] = {}
        self.are_plain = self._plain.issuperset
        """Whether all of some words are known to be plain."""
        self.add_values(values)

    def add_values(self, values: tuple[str, ...]) -> None:
        """Search for more values from now on, and drop the cached results of all words."""
        # A value with blanks is searched by its first word and the blank after it, because the rest may not have
        # arrived.
        self._begun += [(value[: len(value.split(None, 1)[0]) + 1], value) for value in values]
        self._firsts = tuple(first.rstrip() for first, _ in self._begun)
        self._plain.clear()
        self._signs_by_word.clear()

    def describe(self, words: str, parted: Sequence[str] | None = None) -> int:
        """Return the bits of what the words indicate, `NAME_BITS` and the others combined; 0 for most words.

        Args:
            parted: the words as a list, if available. For `HALF_NAME_BIT`, see `find_half_named`.
        """
        found = 0
        for word in words.split() if parted is None else parted:
            if word not in self._plain:
                found |= self._signs_by_word[word] if word in self._signs_by_word else self._describe_word(word)
        return found

    @staticmethod
    def find_half_named(before: str, words: str) -> int:
        """Return the bit of "api key" if a "key" among the words is the second half of such a name; 0 otherwise."""
        line = (before[-_KEY_REACH:] + words).lower()
        return (
            _BIT_BY_NAME["key"]
            if any(is_name_start(line, match.start(), "key") for match in _KEY.finditer(line))
            else 0
        )

    def judge(self, before: str, words: str, bits: int = _ALL_BITS, *, cells: bool = True) -> int:
        """Whether the words need a full scan: -1 or `WHOLE_LINE`, otherwise those of `bits` that stay valid.

        There are no false negatives: if `SecretFinder.spans` would find something in the words, or if they may begin
        something, the answer is yes, except for a name without a separator after it, which the text before covers.
        False positives only cost time. The user's patterns are not tested here.

        Args:
            before: the end of the line emitted so far.
            bits: what the words of the line indicate.
            cells: whether a name in a table cell counts.
        """
        lasting = bits & (CONTEXT_BIT | PROGRAM_BIT | SIGN_BITS | VALUE_BIT)
        if bits & LINE_BITS:
            long = len(words) > _LONG_RUN_CHARS
            # no name with its separator is longer
            near = before if len(before) <= _NAME_REACH else before[-_NAME_REACH:]
            line = _shorten_base64(near + words) if long else near + words
            low = lower_keeping_positions(line)
            begun = 0 if long else len(near)
            if bits & NAME_BITS:
                if (named := _find_named(line, low, begun, bits, cells=cells)) < 0:
                    return named
                lasting |= named
            if (bits & CONTEXT_BIT and has_context_sign(low)) or (
                bits & PROGRAM_BIT and has_program_sign(before + words, low, begun)
            ):
                return -1
            if bits & NAME_BITS and bits & VALUE_BIT and VALUE_BEFORE_NAME.search(low) is not None:
                return -1
            if bits & NAME_BITS and "wort" in low and VERB_LAST.search(low) is not None:
                return -1
            if bits & SIGN_BITS:
                if (begun_form := _can_form_continue(line, low, bits >> _SIGNS_AT)) is None:
                    return -1
                if not begun_form:
                    lasting &= ~SIGN_BITS
            if bits & ECHO_BIT:
                if PIPED_WORD.search(low) is not None:
                    return -1
                if OPEN_PIPE_COMMAND.search(low) is not None:
                    lasting |= ECHO_BIT
        if bits & FORM_BIT and (not self._firsts or self._is_real_form(words)):
            return -1
        if bits & OFFER_BIT:
            if _DIGIT.search(words) and OPEN_OFFER.search(before[-_OFFER_CHARS:] + words) is not None:
                return -1
            if _OFFER.search(words.rstrip(" \t").lower()) is not None:
                lasting |= OFFER_BIT
        return lasting

    @staticmethod
    def can_announce(before: str, words: str, bits: int) -> bool:
        """Whether a form that is announced only by the given signs may begin in the words."""
        needles, begun = select_needles((bits & SIGN_BITS) >> _SIGNS_AT)
        low = (before[-_KEY_REACH:] + words).lower()
        return low.endswith(begun) or any(needle in low for needle in needles)

    def needs_scan(self, before: str, words: str) -> bool:
        """Whether words need a full scan for a reason other than a name in one of several cells."""
        bits = self.describe(words)
        if bits & HALF_NAME_BIT:
            bits = bits & ~HALF_NAME_BIT | self.find_half_named(before, words)
        return bool(bits) and self.judge(before, words, bits, cells=False) < 0

    @staticmethod
    def find_stated_value(words: str) -> int | None:
        """Return where the last words begin that "is the password" may follow, of which a part may have arrived."""
        bare = words.rstrip(" \t")
        if len(bare) == len(words) or not bare or bare[-1].isspace():
            return None
        near = bare[-_NAME_REACH:]
        if " is" in near or "\tis" in near:
            match = _STATED_WORD_AT_END.search(words, len(bare) - len(near))
        else:
            match = _STATED_WORD_AT_END.match(words, len(bare) - len(near.rsplit(None, 1)[-1]))
        return match.start() if match and can_be_stated_value(match["v"]) else None

    def _has_form(self, word: str) -> bool:
        """Whether a word may contain or begin a secret by its own form. None of these forms contains a blank."""
        if ("://" in word and "@" in word) or "-----BEGIN" in word or any(first in word for first in self._firsts):
            return True
        return (
            len(word) >= SHORTEST_KEY
            and _DIGIT.search(word) is not None
            and has_key_length_run(word)
            and (next(find_token_spans(word), None) is not None or next(find_encoded_spans(word), None) is not None)
        )

    def _describe_word(self, word: str) -> int:
        low = (_shorten_base64(word) if len(word) > _LONG_RUN_CHARS else word).lower()
        found = 0
        announced = find_signs(low)
        if (
            not announced
            and _RELEVANT_WORD.search(low) is None
            and not is_secret_taking_program(low)
            and not any(first in word for first in self._firsts)
        ):
            self._remember(word, found)
            return found
        found = _find_names(word, low) | announced << _SIGNS_AT
        if low.endswith(("insert", "replace")) or any(part in low for part in CONTEXT_BEGINNINGS[:-2]):
            found |= CONTEXT_BIT
        if is_secret_taking_program(low):
            found |= ECHO_BIT if low.endswith(("echo", "printf")) else PROGRAM_BIT
        if "key" in low and not found & NAME_BITS and any(match.start() == 0 for match in _KEY.finditer(low)):
            found |= HALF_NAME_BIT
        if can_be_stated_value(word.strip("\"'`")):
            found |= VALUE_BIT
        if low.endswith(_OFFER_VERBS) and _OFFER.search(low) is not None:
            found |= OFFER_BIT
        if self._has_form(word):
            return found | FORM_BIT  # not cached, because the word may be a secret
        self._remember(word, found)
        return found

    def _remember(self, word: str, found: int) -> None:
        if len(word) > _CACHED_CHARS:
            return
        if len(self._plain) + len(self._signs_by_word) > _MOST_WORDS:
            self._plain.clear()
            self._signs_by_word.clear()
        if found:
            self._signs_by_word[word] = found
        else:
            self._plain.add(word)

    def _is_real_form(self, words: str) -> bool:
        """Whether words with a possible form, or with the first word of a value, really contain one."""
        return self._has_value(words) or any(
            ("://" in word and "@" in word)
            or "-----BEGIN" in word
            or next(find_token_spans(word), None) is not None
            or next(find_encoded_spans(word), None) is not None
            for word in words.split()
        )

    def _has_value(self, words: str) -> bool:
        """Whether a known value occurs in the words, or begins at their end."""
        for first, value in self._begun:
            at = words.find(first)
            while at >= 0:
                if value.startswith(words[at : at + len(value)]):
                    return True
                at = words.find(first, at + 1)
        return False


def can_be_cells(line: str, below: str) -> bool | None:
    """Whether a line may be column titles, or a row with a secret in its second cell; None if not known yet.

    Args:
        below: the next line, as far as it has arrived.
    """
    if "|" in line:
        cells = line.split("|", 3)
        beside = cells[2].split() if len(cells) > 2 else []
        if len(beside) == 1 and (_DIGIT.search(beside[0]) or beside[0].count("-") > 1):
            return True
        if not below.strip(" |"):
            return None
        return below.lstrip(" \t|")[0] in "-:"
    if _TITLES.fullmatch(line) is None:
        return False
    sign = next(each for each in ",;\t" if each in line)
    return True if sign in below else None


def is_prose_after_name(words: str, parted: Sequence[str]) -> bool:
    """Whether words after a name give it no value: prose on the same line without a verb that introduces one."""
    return _PROSE.fullmatch(words) is not None and _VALUE_VERBS.isdisjoint(parted)


def can_be_prose(before: str, words: str) -> bool:
    """Whether a line with a name is prose so far, and the name is neither a flag nor set by a directive."""
    line = before[-_SETTER_CHARS:] + words
    line = line[line.rfind("\n") + 1 :]
    if _ASSIGNING.search(line) is not None:
        return False
    low = f" {line.lower()}"
    return " set" not in low and " user" not in low and _DIRECTIVES.isdisjoint(low.split())


_PROSE = LazyRegex(r"(?:[A-Z]?[a-z]{1,15}[.,;]?[ ]+)+")
_ASSIGNING = LazyRegex(r"[-:=<>|`\"'({\[$]")
_DIRECTIVES = frozenset("env arg with using login".split())
"""Words after which a blank separates the name of a secret from its value."""
_VALUE_VERBS = frozenset(
    "is was are be been now to set reset changed lautet ist est es becomes equals or eq ne as for with value"
    " string".split()
)
_STATED_WORD_AT_END = LazyRegex(
    r"(?<!\S)[\"'`]?(?P<v>[^\s\"'`]{6,120})[\"'`]?[ \t]{1,4}"
    r"(?:is[ \t]{1,4}(?:(?:the|my|your|our|his|her|their)[ \t]{1,4}(?:[\w-]{1,20}[ \t]{1,4}){0,3})?)?\Z"
)


# Characters that every relevant word contains, except names of programs and the user's values.
_RELEVANT_WORD = LazyRegex(
    "|".join(map(re.escape, (*CONTEXT_BEGINNINGS, *_NAMES, "bearer", "basic", "-u", "-login", "://", "-----begin")))
    + r"|(?:use|try|type|enter)\Z|[0-9]|-[a-z]+-"
)
_OFFER_CHARS = 24
_OFFER_VERBS = ("use", "try", "type", "enter")
_OFFER = LazyRegex(r"(?:\A|[^a-z0-9_])(?:use|try|type|enter)\Z")
_USER_OPTIONS = ("-u", "--user", "--login", "-login")
_FLAG_BEGUN = ("-", "'-", '"-')


def _find_names(word: str, low: str) -> int:
    """Return the bits of the names in a word whose value may follow, and of flags, logins and headers."""
    found = 0
    if "bearer" in low or "basic" in low:
        found |= _BIT_BY_NAME["bearer"]
    if low.startswith(_USER_OPTIONS):
        found |= _BIT_BY_NAME["-u"]
    exact = len(low) == len(word) <= _CACHED_CHARS and not low.startswith(_FLAG_BEGUN)
    for part, name in _NAMES.items():
        if part in low:
            for match in name.finditer(low):
                if (part != "key" or is_name_start(low, match.start(), part)) and (
                    not exact or _is_countable_name(word, match.start())
                ):
                    found |= _BIT_BY_NAME[part]
    return found


def _is_countable_name(text: str, place: int) -> bool:
    """Whether the name that contains a word at this position may be that of a secret."""
    name, _ = find_name(text, place)
    found = _countable_names.get(name)
    if found is None:
        # Bounded, because a stream may contain any number of different names.
        if len(_countable_names) > _MOST_NAMES:
            _countable_names.clear()
        found = _countable_names[name] = (
            is_secret_name(name)
            or is_secret_name(name.rstrip("sS"))
            or can_be_secret_name(name)
            or name.lower() == "passe"  # from "mot de passe"
        )
    return found


_countable_names: dict[str, bool] = {}
_MOST_NAMES = 4096
"""Entries of the cache of names; it is cleared when full."""


@lru_cache(maxsize=256)
def _select_names(bits: int) -> tuple[tuple[str, LazyRegex, int], ...]:
    return tuple((word, name, _BIT_BY_NAME[word]) for word, name in _NAMES.items() if bits & _BIT_BY_NAME[word])


def _find_named(line: str, low: str, begun: int, bits: int, *, cells: bool) -> int:
    """Whether a text contains a name followed by its separator, or a flag that needs none.

    Returns -1 or `WHOLE_LINE` if so, otherwise the bits of the names whose separator may still follow.

    Args:
        line, low: the text and its lower-case form, of equal length.
        begun: what ends before this position has been examined already.
        bits: the bits of the names in the text.
    """
    lasting = 0
    for word, name, bit in _select_names(bits & NAME_BITS):
        for match in name.finditer(low, max(0, begun - _SIGN_REACH)):
            start, end = match.span()
            if word == "key" and not is_name_start(low, start, word):
                continue
            if (
                cells
                and "|" in low[end : end + _CELL_REACH]
                and (cell := _TABLE_CELL.match(low, end))
                and cell.end() >= begun
                and _is_cell(line, start)
            ):
                return WHOLE_LINE
            if (
                cells
                and (cell := _CELL_END.match(low, end))
                and cell.end() >= begun
                and _is_title(line, start, cell.end())
            ):
                return WHOLE_LINE
            if (sign := _SIGN.match(low, end)) and sign.end() >= begun and _is_countable_name(line, start):
                return -1
            dash = low.rfind("-", max(0, start - _FLAG_CHARS), start)
            if dash >= 0 and " " not in low[dash:start] and _FLAG.search(low, max(0, start - _FLAG_CHARS), start):
                return -1
            lead = low[max(0, start - _SETTER_CHARS) : start]
            if (
                ("set" in lead or "env" in lead or "arg" in lead)
                and _SETTER.search(low, start - len(lead), start)
                and low[end:].strip(" \t")
            ):
                return -1
            if word in _PLURALS and _PLURAL_DONE.match(low, end) is not None:
                continue
            for following in (_STATED_WORD, _BESIDE):
                stated = following.match(low, end)
                if (
                    stated
                    and stated.end() >= begun
                    and _can_be_stated(line[slice(*stated.span(1))])
                    and _is_countable_name(line, start)
                ):
                    return -1
            if _WITHOUT_VALUE.match(low, end) is None:
                lasting |= bit
    if bits & _BIT_BY_NAME["bearer"]:
        if _HEADER.search(low) is not None:
            return -1
        lasting |= _BIT_BY_NAME["bearer"]
    if bits & _BIT_BY_NAME["-u"]:
        if _LOGIN.search(low) is not None or PASSWORD_OPTION_AFTER_USER.search(low) is not None:
            return -1
        lasting |= _BIT_BY_NAME["-u"]
    return lasting


def _can_form_continue(line: str, low: str, signs: int) -> bool | None:
    """Whether words that announce a form may continue after the line; None if the form is in it, or has begun."""
    needles, begun = select_needles(signs)
    if any(needle in low for needle in needles):
        from clio.security.redaction.open_forms import is_form_begun

        if is_form_begun(line, low, select_forms(signs)):
            return None
    return low.endswith(begun)


def _is_cell(line: str, place: int) -> bool:
    """Whether a name is the whole content so far of a cell in a Markdown table."""
    _, start = find_name(line, place)
    before = line[line.rfind("\n", 0, start) + 1 : start]
    return before.rstrip("*`\"' \t")[-1:] == "|" and _is_countable_name(line, place)


def _is_title(line: str, place: int, end: int) -> bool:
    """Whether a name is one of the titles of comma-separated columns. end: position after the cell's separator."""
    _, start = find_name(line, place)
    before = line[line.rfind("\n", 0, start) + 1 : start]
    if before and before.rstrip(" \"'")[-1:] not in ("", ",", ";", "\t"):
        return False
    stop = line.find("\n", end - 1)
    return _TITLES.fullmatch(
        line, start - len(before), len(line) if stop < 0 else stop
    ) is not None and _is_countable_name(line, place)


def _can_be_stated(value: str) -> bool:
    """Whether a word introduced by a sentence may be a secret: not an ordinary word, unless quoted or compound."""
    bare = value.rstrip(".,;:!?)]}")
    return value[0] in _QUOTES or value.count("-") > 1 or not is_wordlike(bare) or is_passphrase(bare)


_QUOTES = frozenset("\"'`“‘«*")
"""Characters that mark a word in prose as quoted or emphasized."""


def _shorten_base64(words: str) -> str:
    """Shorten long base64 runs: no name ends inside them, and one digit represents those a value may contain."""
    return (
        _LONG_RUN.sub(lambda run: f"0{run[0][-_RUN_TAIL_CHARS:]}", words)
        if has_key_length_run(words, _LONG_RUN_CHARS)
        else words
    )


_WORD = LazyRegex(r"\S+")
_LINE = LazyRegex(r"[^\n]+")
_MAX_ROUNDS = 8
"""Rounds in which a text is scanned again after replacements."""
_MOST_ROUNDS = 12
_SETTLED_CHARS = 2048
_CHAIN_CHARS = 1024
"""Characters held back while each name may be the value of the one before."""
_MOST_BLOCK_HELD = MAX_BLOCK_CHARS + 512
_NEAR_CHARS = 100
_MAX_SLOW_LINES = 20
"""Lines on which one pattern may exceed its time limit."""


class SecretFinder:
    """Finds secrets of the kinds known by form or name, matches of the user's patterns, and known values.

    Args:
        patterns: regular expressions, each applied line by line.
        values: found wherever they occur; surrounding blanks are ignored, and values under 12 characters left out.

    Raises:
        ConfigError: if a pattern is not a valid regular expression.
    """

    def __init__(self, patterns: tuple[str, ...] = (), values: Iterable[str] = ()) -> None:
        self.patterns = tuple(map(_compile_pattern, patterns))
        self._slow: dict[str, int] = {}
        bare = {stripped for value in values if len(stripped := value.strip()) >= 12}
        self.values = tuple(sorted(bare, key=len, reverse=True))
        self._spaced = tuple(value for value in self.values if any(char.isspace() for char in value))

    def add_value(self, value: str) -> bool:
        """Search for one more value, also in streams that have begun. Returns whether it is new and long enough."""
        bare = value.strip()
        is_new = len(bare) >= 12 and bare not in self.values
        if is_new:
            self.values = tuple(sorted((*self.values, bare), key=len, reverse=True))
            self._spaced = tuple(known for known in self.values if any(char.isspace() for char in known))
            if "sign_test" in self.__dict__:  # otherwise it is created later with all values
                self.sign_test.add_values((bare,))
        return is_new

    def remove_secrets(self, text: str, spans: list[Span] | None = None) -> tuple[str, dict[str, int]]:
        """Return a text without its secrets, and their number by kind.

        Scanned again after each replacement, because a mark may now separate two keys that one letter joined.

        Args:
            spans: the result of `spans` for the text, if known.
        """
        counts: dict[str, int] = {}
        for _ in range(_MAX_ROUNDS):
            if not (found := merge_spans(self.spans(text) if spans is None else spans)):
                break
            text, spans = replace_spans(text, found, counts), None
        return text, counts

    def spans(self, text: str) -> Iterator[Span]:
        """Yield all secrets in a text, in no particular order; they may overlap."""
        yield from self._iter_visible_spans(text)
        yield from self.iter_escaped_keys(text)
        # An escape sequence may stand between a name and its value.
        if _INVISIBLE_SIGN.search(text):
            visible, places = _remove_invisible(text)
            yield from _move_spans(self._iter_visible_spans(visible), places)

    @staticmethod
    def iter_escaped_keys(text: str) -> Iterator[Span]:
        """Yield the keys beside or around an escape sequence.

        A colour code ends in a letter, and `\\n` in JSON is one, so that a key right behind them looks like the end of
        a longer word.
        """
        has_escapes = "\\" in text or "%" in text
        if not _INVISIBLE_SIGN.search(text):
            if has_escapes and (blanked := _WRITTEN_ESCAPE.sub(_blank_match, text)) != text:
                yield from find_token_spans(blanked)
            return
        visible, places = _remove_invisible(text)
        yield from _move_spans(find_token_spans(_WRITTEN_ESCAPE.sub(_blank_match, visible)), places)
        yield from find_token_spans(_WRITTEN_ESCAPE.sub(_blank_match, _INVISIBLE.sub(_blank_match, text)))

    def _iter_visible_spans(self, text: str) -> Iterator[Span]:
        """Yield the secrets of a text in which every character counts."""
        yield from find_block_spans(text)
        yield from find_token_spans(text)
        yield from find_url_spans(text)
        yield from find_bearer_spans(text)
        lowered = lower_keeping_positions(text)
        names = find_name_places(lowered)
        yield from find_named_spans(text, lowered, names)
        yield from find_context_spans(text, lowered, names)
        yield from find_syntax_spans(text, lowered, names)
        yield from find_encoded_spans(text)
        for value in self.values:
            place = text.find(value)
            while place >= 0:
                yield Span(place, place + len(value), "environment", 400)
                place = text.find(value, place + 1)
        if self.patterns:
            yield from self._iter_custom_spans(text)

    @cached_property
    def sign_test(self) -> SignTest:
        """The cheap test of words, created for the first stream."""
        return SignTest(self.values)

    @property
    def unit_pattern(self) -> LazyRegex:
        """Pattern of what is always scanned as a whole: a word, or a line if there are user patterns."""
        return _LINE if self.patterns else _WORD

    def find_unit_start(self, text: str, place: int) -> int:
        """Return the start of the unit at a position; the position itself right after white space."""
        if self.patterns:
            return text.rfind("\n", 0, place) + 1
        before = text[:place]
        if not before or before[-1].isspace():
            return place
        return place - len(before.rsplit(None, 1)[-1])

    def find_cut(self, text: str, places: Iterable[int]) -> tuple[int, int, list[Span]]:
        """Find where a text can be split into two parts that are redacted separately, although more text may follow.

        Returns the last position tried, the last position up to it where the text can be split, and the spans of the
        whole text.

        Args:
            places: positions tried in order until one works; each is between two units, or after a character that no
                key contains.
        """
        begun = [place for place in (find_open_block(text), self._find_open_value(text)) if place is not None]
        spans: list[Span] | None = None
        place = safe = 0
        for place in places:
            safe = min([place, *(self.find_unit_start(text, start) for start in begun if start < place)])
            if safe and spans is None:
                spans = list(self.spans(text))
            if (safe := self._find_safe_cut(text, safe, spans or [])) == place:
                break
        if len(text) - safe > (_MOST_BLOCK_HELD if is_key_block_start(text[safe:]) else MAX_BLOCK_CHARS - _NEAR_CHARS):
            # A form that does not end.
            safe = self.find_unit_start(text, len(text) - MAX_BLOCK_CHARS // 2)
            spans = list(self.spans(text)) if spans is None else spans
            safe = max([safe, *(span.end for span in spans if span.start < safe < span.end)])
        return place, safe, spans or []

    def find_open_rows(self, text: str, end: int) -> "OpenRows | None":
        """Return the rows below the name of a secret that continue after a position."""
        from clio.security.redaction.open_forms import find_open_rows

        return find_open_rows(text, end)

    def _find_safe_cut(self, text: str, cut: int, spans: list[Span]) -> int:
        # this compiles many expressions, which most texts do not need
        from clio.security.redaction.open_forms import find_open_form, find_open_rows

        rounds = total = 0
        while cut > 0:
            rounds += 1
            total += 1
            if total > _MOST_ROUNDS:  # forms that begin inside each other without end: only this much is held back
                cut = min(cut, self.find_unit_start(text, max(0, len(text) - _CHAIN_CHARS)))
                return min(
                    [cut, *(self.find_unit_start(text, span.start) for span in spans if span.start < cut < span.end)]
                )
            if rounds > _MAX_ROUNDS:  # a chain of names, each of which may be the value of the one before
                cut, rounds = min(cut, self.find_unit_start(text, max(0, len(text) - _CHAIN_CHARS))), 0
            crossing = [span.start for span in spans if span.start < cut < span.end]
            # This far after the split, the value of a name before it has been found, or does not exist.
            settled = len(text) - cut > _SETTLED_CHARS and not any(
                cut <= span.start <= cut + _NEAR_CHARS for span in spans
            )
            if not settled:
                for find_open in (find_open_name, find_open_context, find_open_encoded, find_open_form):
                    if (begun := find_open(text, cut)) is not None and begun < cut:
                        crossing.append(begun)
                if (rows := find_open_rows(text, cut)) is not None and rows.last < cut:
                    crossing.append(rows.last)
            if not crossing:
                break
            cut = self.find_unit_start(text, min(crossing))
        return cut

    def _find_open_value(self, text: str) -> int | None:
        """Return where a value with white space may have begun and not ended; None for nowhere."""
        starts = [
            len(text) - size
            for value in self._spaced
            for size in range(1, min(len(value), len(text) + 1))
            if text.endswith(value[:size])
        ]
        return min(starts, default=None)

    def _iter_custom_spans(self, text: str) -> Iterator[Span]:
        start = 0
        for line in text.split("\n"):
            marked = [match.span() for match in MARKER.finditer(line)] if "[REDACTED:" in line else []
            for pattern in self.patterns:
                for begin, end in self._iter_matches(pattern, line):
                    if begin < end and not any(begin < last and first < end for first, last in marked):
                        yield Span(start + begin, start + end, "custom", 500)
            start += len(line) + 1

    def _iter_matches(self, pattern: BoundedPattern, line: str) -> Iterator[tuple[int, int]]:
        """Yield the matches of a pattern in a line; the whole line if the time limit is exceeded.

        Raises ConfigError if that happens too often, because each time costs a tenth of a second.
        """
        try:
            yield from pattern.find_spans(line)
        except PatternTooSlow:
            self._slow[pattern.pattern] = self._slow.get(pattern.pattern, 0) + 1
            if self._slow[pattern.pattern] > _MAX_SLOW_LINES:
                raise ConfigError(
                    tr(
                        "redact_patterns: {pattern!r} takes too long on lines such as these; simplify it, "
                        "without repetitions that can match the same text, or remove it",
                        pattern=pattern.pattern[:60],
                    )
                ) from None
            yield 0, len(line)

    def has_long_unit(self, text: str) -> bool:
        """Whether a text has a unit too long to be scanned as one."""
        if len(text) <= MAX_BLOCK_CHARS:
            return False
        place = 0
        while len(text) - place > MAX_BLOCK_CHARS:
            # Look for a break in the next stretch: the last one that is found fast, otherwise any.
            stop = place + MAX_BLOCK_CHARS + 1
            last = text.rfind("\n", place, stop)
            if not self.patterns:
                last = max(last, text.rfind(" ", place, stop))
                if last < 0:
                    last = next((spot for spot in range(stop - 1, place - 1, -1) if text[spot].isspace()), -1)
            if last < 0:
                return True
            place = last + 1
        return False


_INVISIBLE_SIGN = LazyRegex(
    r"[\x1b\x9b\x9d\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]|\\(?:x1[bB]|033|e|u001[bB])\["
    r"|\[\d{1,3}(?:;\d{1,3}){0,6}m"
)
_INVISIBLE = LazyRegex(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-~]?"
    r"|\\(?:x1[bB]|033|e|u001[bB])\[[0-?]*[ -/]*[@-~]|\[\d{1,3}(?:;\d{1,3}){0,6}m"
    r"|[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]+"
)
"""Escape sequences of terminals: raw, as written in JSON and source code, or without their first character, which clio
removes from some texts. And characters without a width.
"""
_WRITTEN_ESCAPE = LazyRegex(r"\\(?:[abefnrtv]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[0-7]{1,3})|%[0-9A-Fa-f]{2}")
"""Characters as written in JSON, source code and addresses: `\\n`, `\\u0022`, `%3D`."""


def _remove_invisible(text: str) -> tuple[str, Sequence[int]]:
    """Return the visible characters of a text, and the place of each in it."""
    places: list[int] = []
    end = 0
    for match in _INVISIBLE.finditer(text):
        places += range(end, match.start())
        end = match.end()
    places += range(end, len(text))
    return "".join([text[place] for place in places]), places


def _move_spans(spans: Iterable[Span], places: Sequence[int]) -> Iterator[Span]:
    for span in spans:
        if span.end > span.start:
            yield Span(places[span.start], places[span.end - 1] + 1, span.kind, span.rank)


def _blank_match(match: re.Match[str]) -> str:
    return " " * len(match[0])


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Merge overlapping spans; each gets the kind with the best rank. Sorted by position."""
    result: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if result and span.start < result[-1].end:
            last = result[-1]
            best = min(last, span, key=lambda each: each.rank)
            result[-1] = Span(last.start, max(last.end, span.end), best.kind, best.rank)
        else:
            result.append(span)
    return result


def replace_spans(text: str, spans: list[Span], counts: dict[str, int]) -> str:
    """Replace each span by its mark, and add the number of each kind to `counts`."""
    parts: list[str] = []
    place = 0
    for span in spans:
        parts += (text[place : span.start], f"[REDACTED:{span.kind}]")
        counts[span.kind] = counts.get(span.kind, 0) + 1
        place = span.end
    return "".join((*parts, text[place:]))


def add_counts(totals: dict[str, int], counts: dict[str, int]) -> None:
    """Add counts by kind to `totals`."""
    for kind, number in counts.items():
        totals[kind] = totals.get(kind, 0) + number


def _compile_pattern(pattern: str) -> BoundedPattern:
    try:
        return BoundedPattern(pattern)
    except PatternRefused as error:
        raise ConfigError(
            tr(
                "redact_patterns: {pattern!r} is ignored: {error}; correct or remove it",
                pattern=pattern[:60],
                error=error,
            )
        ) from None
