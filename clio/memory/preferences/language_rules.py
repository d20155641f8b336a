"""Find limits, corrections and "remember that …" in languages other than English, by rules in data files.

`languages/<code>.json` contains the patterns of one language (see `rule_files`), and `languages/detection.json` the
common words by which a language is detected. A file is read when the first message in that language arrives. Precision
comes before recall: a limit saved by mistake does more harm than one that is missed. The modules `limits` and
`stated_preferences` process English.
"""

import re
from functools import cache
from typing import Literal

from msgspec import Struct

from clio.memory.preferences.rule_files import load_rule_file
from clio.memory.preferences.sentences import read_own_sentences
from clio.text.lazy_regex import LazyRegex

Kind = Literal["limit", "correction", "remember"]
Term = Literal["lasting", "unclear", "task"]
MAX_SENTENCE = 220
_KANA = LazyRegex(r"[\u3041-\u30ff]")
_HAN = LazyRegex(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[^\W\d_]+(?:'(?=\w))?")
_CJK_END = LazyRegex(r"([。！？])(?=\S)")
_QUESTION_MARKS = ("?", "？", "か", "吗", "呢", "の？")


class LanguageRules(Struct, frozen=True, kw_only=True):
    """The patterns of one language. Unless noted, they are matched at the start of a sentence, ignoring case.

    Attributes:
        skip: words before a statement that are ignored, such as "please".
        standing: words that make an order permanent ("from now on").
        passing: searched anywhere; words that limit a statement to the present or the current task.
        no_limit: statements that are no limits: complaints, reports about others, wishes.
        limit: permanent limits.
        doubtful: possible limits, about which the user is asked.
        standing_limit: limits after `standing`.
        project: searched anywhere; words that restrict a limit to the project.
        correction: corrections.
        remember: requests to remember the text in the group `what`.
    """

    skip: str
    standing: str
    passing: tuple[str, ...]
    no_limit: tuple[str, ...]
    limit: tuple[str, ...]
    doubtful: tuple[str, ...]
    standing_limit: str
    project: str
    correction: tuple[str, ...]
    remember: tuple[str, ...]


class _DetectionRules(Struct, frozen=True, kw_only=True):
    """How the language of a text is detected.

    Attributes:
        words: by language, common words and some that occur in limits; each string has several.
        letters: by language, letters that no other of these languages uses, apart from rare words.
        also_english: words of the other languages that are English words as well, which alone prove nothing.
    """

    words: dict[str, tuple[str, ...]]
    letters: dict[str, str]
    also_english: str


class LanguageStatement(Struct, frozen=True, kw_only=True):
    """One statement of the user.

    Attributes:
        content: the user's words without words such as "please"; for "remember", the text to remember.
        quote: the sentence as written.
        term: how long a limit applies; see `clio.memory.preferences.limits.StatedLimit`.
        in_project: whether a limit applies to this project only.
    """

    kind: Kind
    content: str
    quote: str
    term: Term = "lasting"
    in_project: bool = False


def detect_language(text: str) -> str:
    """Return the code of the language of a text: de, fr, es, pt, zh or ja; "" for English and any other language.

    Decided by script, else by common words and letters: the text must contain more of that language than of any other,
    and at least one that no other language has.
    """
    if not text.isascii():
        if _KANA.search(text):
            return "ja"
        if len(_HAN.findall(text[:2_000])) >= 2:
            return "zh"
    words = set(_WORD.findall(text[:2_000].casefold().replace("’", "'")))
    own = {code: len(words & known) for code, known in _own_words().items()}
    if text.isascii() and not any(own.values()):
        return ""
    common = _common_words()
    points = {code: own[code] + len(words & common[code]) for code in own}
    evident = {code for code, count in own.items() if count}
    if not text.isascii():
        letters_in_text = set(text.lower())
        for code, letters in _detection_rules().letters.items():
            if not letters_in_text.isdisjoint(letters):
                points[code] += 2
                evident.add(code)
    (best, code), (second, _) = sorted(((count, code) for code, count in points.items()), reverse=True)[:2]
    if text.isascii() and (words & common[code]) <= _also_english():
        return ""  # as in "the build uses clang", of which "uses" is Spanish too
    return code if code in evident and best >= 2 and best > second and best > len(words & common["en"]) else ""


def _detection_rules() -> _DetectionRules:
    return load_rule_file("detection", _DetectionRules)


@cache
def _common_words() -> dict[str, frozenset[str]]:
    return {code: frozenset(" ".join(lines).split()) for code, lines in _detection_rules().words.items()}


@cache
def _also_english() -> frozenset[str]:
    return frozenset(_detection_rules().also_english.split())


@cache
def _own_words() -> dict[str, frozenset[str]]:
    """Return, by language except English, the words that no other language has."""
    common = _common_words()
    return {
        code: known.difference(*(other for name, other in common.items() if name != code))
        for code, known in common.items()
        if code != "en"
    }


def read_statements(text: str, language: str) -> tuple[LanguageStatement, ...]:
    """Return the limits, corrections and texts to remember in a message, in its order and without repetitions."""
    rules = load_rule_file(language, LanguageRules)
    found: dict[str, LanguageStatement] = {}
    for said in read_own_sentences(_CJK_END.sub(r"\1\n", text), MAX_SENTENCE):
        sentence = said.text.strip(" 　¡¿。！.!")
        if said.is_question or said.text.startswith("¿") or sentence.endswith(_QUESTION_MARKS):
            continue
        statement = _read_sentence(sentence, rules)
        if statement is not None:
            found.setdefault(statement.content.casefold(), statement)
    return tuple(found.values())


def content_terms(text: str, language: str) -> frozenset[str]:
    """Return terms to compare the topics of texts: beginnings of uncommon words, or pairs of Chinese characters."""
    if language in ("zh", "ja"):
        plain = re.sub(r"[\W\d_A-Za-z]+", " ", text)
        return frozenset(part[at : at + 2] for part in plain.split() for at in range(len(part) - 1))
    found = (word for word in _WORD.findall(text.casefold().replace("’", "'")) if len(word) > 2)
    return frozenset(word[:6] for word in found if word not in _common_words().get(language, frozenset()))


def _read_sentence(sentence: str, rules: LanguageRules) -> LanguageStatement | None:
    skipped = _match(rules.skip, sentence)
    rest = sentence[skipped.end() :] if skipped else sentence
    for pattern in rules.remember:
        if (asked := _match(pattern, rest)) is not None:
            return LanguageStatement(kind="remember", content=_tidy(asked["what"]), quote=sentence)
    term = _term(rest, rules)
    if term is not None:
        is_project = re.search(rules.project, rest, re.I) is not None
        return LanguageStatement(kind="limit", content=_tidy(rest), quote=sentence, term=term, in_project=is_project)
    if any(_match(pattern, rest) for pattern in rules.correction):
        return LanguageStatement(kind="correction", content=_tidy(rest), quote=sentence)
    return None


def _term(rest: str, rules: LanguageRules) -> Term | None:
    """Return how long the limit in a sentence applies; None if the sentence states no limit."""
    standing = _match(rules.standing, rest)
    if standing is not None:
        more = rest[standing.end() :]
        return "lasting" if _match(rules.standing_limit, more) and not _any(rules.no_limit, more) else None
    if any(_match(pattern, rest) for pattern in rules.no_limit):
        return None
    is_limit, is_doubtful = _any(rules.limit, rest), _any(rules.doubtful, rest)
    if not is_limit and not is_doubtful:
        return None
    if any(re.search(pattern, rest, re.I) for pattern in rules.passing):
        return "task"
    return "lasting" if is_limit else "unclear"


def _any(patterns: tuple[str, ...], text: str) -> bool:
    return any(_match(pattern, text) for pattern in patterns)


def _match(pattern: str, text: str) -> re.Match[str] | None:
    return re.match(pattern, text, re.IGNORECASE)


def _tidy(text: str) -> str:
    return " ".join(text.split()).strip(" .,;:!。，、；：！")
