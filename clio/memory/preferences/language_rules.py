"""Find what the user states in languages other than English, by rules in data files.

That is limits, corrections, "remember that …", and statements that take a limit back.

`languages/<code>.json` contains the patterns of one language (see `rule_files`), and `languages/detection.json` the
common words by which a language is detected. A file is read when the first message in that language arrives. Precision
comes before recall: a limit saved by mistake does more harm than one that is missed. The modules `limits` and
`stated_preferences` process English.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Literal

from msgspec import Struct

from clio.memory.preferences.rule_files import load_rule_file, read_own_sentences
from clio.text.lazy_regex import LazyRegex

Kind = Literal["limit", "correction", "remember"]
Term = Literal["lasting", "unclear", "task"]
MAX_SENTENCE = 220
_KANA = LazyRegex(r"[\u3041-\u30ff]")
_HAN = LazyRegex(r"[\u3400-\u9fff]")
_WORD = re.compile(r"(?<![\w./@#-])[^\W\d_]+(?:'(?=\w)|(?![\w/@-]))(?!\.\w)")
"""Words outside of names such as "nightly-eu" and "docs/es", which may look like words of another language."""
_NAME = LazyRegex(r"[a-z0-9_@*][\w./+#@*-]*[a-z0-9_]|[a-z0-9]", re.ASCII)
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
        liking: the beginning of a sentence that says what the user likes, after which a limit may follow.
        joint: searched anywhere; what separates a liking from the limit after it.
        correction: corrections.
        remember: requests to remember the text in the group `what`.
        withdrawn: by kind of withdrawal, statements that take back what is in the group `about`.
        granted: searched anywhere; words of a permission, while others such as "ok" may describe a state.
        lasting: searched anywhere; words that make a permission more than an order of the current task ("again").
        occasion: searched anywhere; signs that a permission is for one occasion, conditional, negated or reported.
        prohibition: searched anywhere; words of limits that prohibit something.
        narrowed: searched anywhere; words of a limit or permission that make it narrower ("without asking").
        verbs: by group, beginnings of the verbs of limits; "use" adds nothing to what a limit is about.
        fillers: words that do not say what a limit is about. In Chinese and Japanese, also parts of words.
    """

    skip: str
    standing: str
    passing: tuple[str, ...]
    no_limit: tuple[str, ...]
    limit: tuple[str, ...]
    doubtful: tuple[str, ...]
    standing_limit: str
    project: str
    liking: str
    joint: str
    correction: tuple[str, ...]
    remember: tuple[str, ...]
    withdrawn: dict[Literal["permission", "release", "forget"], tuple[str, ...]]
    granted: str
    lasting: str
    occasion: str
    prohibition: str
    narrowed: str
    verbs: dict[str, tuple[str, ...]]
    fillers: tuple[str, ...]


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


@lru_cache(maxsize=8)
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
    for sentence in _read_assertions(text):
        statement = _read_sentence(sentence, rules)
        if statement is not None:
            found.setdefault(statement.content.casefold(), statement)
    return tuple(found.values())


def _read_assertions(text: str) -> Iterator[str]:
    """Yield the user's own sentences that are no questions."""
    for said in read_own_sentences(_CJK_END.sub(r"\1\n", text), MAX_SENTENCE):
        sentence = said.text.strip(" 　¡¿。！.!")
        if not (said.is_question or said.text.startswith("¿") or sentence.endswith(_QUESTION_MARKS)):
            yield sentence


WithdrawalKind = Literal["permission", "release", "forget"]
_MAX_ALONE = 12
"""A permission without a lasting word counts if it is the whole message and has at most this many words."""


class FoundWithdrawal(Struct, frozen=True, kw_only=True):
    """See `clio.memory.consolidation.live_corrections.Withdrawal`."""

    kind: WithdrawalKind
    about: str
    quote: str
    may_be_state: bool


def read_withdrawals(text: str, language: str) -> list[FoundWithdrawal]:
    """Return the statements of a message that take something back, in its order."""
    rules = load_rule_file(language, LanguageRules)
    sentences = list(_read_assertions(text))
    found: list[FoundWithdrawal] = []
    for sentence in sentences:
        skipped = _match(rules.skip, sentence)
        rest = sentence[skipped.end() :] if skipped else sentence
        if re.search(rules.occasion, rest, re.I):
            continue
        is_alone = len(sentences) == 1 and len(rest.split()) <= _MAX_ALONE
        is_lasting = is_alone or re.search(rules.lasting, rest, re.I) is not None
        for kind, patterns in rules.withdrawn.items():
            told = next(filter(None, (_match(pattern, rest) for pattern in patterns)), None)
            if told is not None and (is_lasting or kind != "permission"):
                about, begins = _tidy(told["about"]), told.start("about") == 0
                may_be_state = begins and re.search(rules.granted, rest, re.I) is None
                found.append(FoundWithdrawal(kind=kind, about=about, quote=sentence, may_be_state=may_be_state))
                break
    return found


USING = frozenset(("use", "run", "add"))
"""Groups of verbs of limits that "sudo is ok" lifts. "main is ok" may describe a state, and lifts no ban on pushing."""


def compare_withdrawn(
    limit: str, about: str, kind: WithdrawalKind, language: str, *, may_be_state: bool = False
) -> bool:
    """Whether what a withdrawal is about is this limit: the same things, and no other verb or narrower condition."""
    rules = load_rule_file(language, LanguageRules)
    is_prohibition = re.search(rules.prohibition, limit, re.I) is not None
    if (kind == "permission" and not is_prohibition) or (kind == "release" and is_prohibition):
        return False
    narrowed = [re.search(rules.narrowed, one, re.I) is not None for one in (limit, about)]
    if kind != "forget" and narrowed[0] != narrowed[1]:
        return False
    (things, verbs), (others, allowed) = (_list_things(one, language, rules) for one in (limit, about))
    if kind == "forget":
        return bool(others) and others <= things
    if may_be_state and not allowed and not verbs <= USING:
        return False
    return bool(things) and things == others and (verbs <= allowed or not allowed)


def _list_things(text: str, language: str, rules: LanguageRules) -> tuple[frozenset[str], frozenset[str]]:
    """Return the terms of what a limit is about, and the groups of its verbs."""
    plain = text.casefold().replace("’", "'")
    verbs: set[str] = set()
    if language in ("zh", "ja"):
        for group, stems in rules.verbs.items():
            for stem in stems:
                verbs.update((group,) if stem in plain else ())
                plain = plain.replace(stem, " ")
        for filler in rules.fillers:
            plain = plain.replace(filler, " ")
        names = _NAME.findall(plain)
        rest = _NAME.sub(" ", plain)
        return frozenset((*names, *(part for part in rest.split() if _HAN.search(part)))), frozenset(verbs)
    fillers = frozenset(" ".join(rules.fillers).split()) | _common_words().get(language, frozenset())
    things: set[str] = set()
    for token in re.findall(r"[\w./+#@*-]*\w|\w", re.sub(r"\b[dlnjcsm]'", "", plain)):
        group = next((group for group, stems in rules.verbs.items() if token.startswith(stems)), "")
        if group:
            verbs.add(group)
        elif token not in fillers:
            things.add(token if not token.isalpha() else token[:6].removesuffix("s"))
    return frozenset(things), frozenset(verbs)


def content_terms(text: str, language: str) -> frozenset[str]:
    """Return terms to compare the topics of texts: beginnings of uncommon words, or pairs of Chinese characters."""
    if language in ("zh", "ja"):
        plain = re.sub(r"[\W\d_A-Za-z]+", " ", text)
        return frozenset(part[at : at + 2] for part in plain.split() for at in range(len(part) - 1))
    found = (word for word in _WORD.findall(text.casefold().replace("’", "'")) if len(word) > 2)
    return frozenset(word[:6] for word in found if word not in _common_words().get(language, frozenset()))


def _find_limit_after_liking(sentence: str, rules: LanguageRules) -> LanguageStatement | None:
    """Return the limit in a sentence such as "ich mag kurze Commits, aber pushe nie ohne zu fragen"."""
    if not _match(rules.liking, sentence):
        return None
    for joint in re.finditer(rules.joint, sentence, re.I):
        rest = sentence[joint.end() :]
        term = _term(rest, rules)
        if term is not None:
            is_project = re.search(rules.project, rest, re.I) is not None
            return LanguageStatement(
                kind="limit", content=_tidy(rest), quote=sentence, term=term, in_project=is_project
            )
    return None


def _read_sentence(sentence: str, rules: LanguageRules) -> LanguageStatement | None:
    skipped = _match(rules.skip, sentence)
    rest = sentence[skipped.end() :] if skipped else sentence
    for pattern in rules.remember:
        if (asked := _match(pattern, rest)) is not None:
            return LanguageStatement(kind="remember", content=_tidy(asked["what"]), quote=sentence)
    after_liking = _find_limit_after_liking(rest, rules)
    if after_liking is not None:
        return after_liking
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
