"""Read limits, corrections, texts to remember and withdrawals in languages other than English.

The rules of a language are regular expressions in `languages/<code>.json`, with the fields of `LanguageRules`. A file
is read when the first message in that language arrives, as `languages/detection.json` tells. Developers mix in English
words and sentences: English words that state a limit ("never") are read like those of the language, and a sentence in
another language than most of the message by the rules of its own.

Precision comes before recall: a limit saved by mistake does more harm than one that is missed.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, product
from typing import Literal

from msgspec import Struct, structs

from clio.memory.preferences.own_sentences import FILLER, read_own_sentences
from clio.memory.preferences.rule_files import load_rule_file
from clio.text.lazy_regex import LazyRegex

Kind = Literal["limit", "correction", "remember", "liking", "dislike"]
Term = Literal["lasting", "unclear", "task"]
WithdrawalKind = Literal["permission", "release", "praise", "blame"]
_MAX_STATEMENT = 220
_MAX_TASTE = 14
"""Maximum number of words of a sentence that says what the user likes; a longer one tells a story."""
_KANA = LazyRegex(r"[\u3041-\u30ff]")
_HAN = LazyRegex(r"[\u3400-\u9fff]")
_WORD = re.compile(r"(?<![\w./@#-])[^\W\d_]+(?:'(?=\w)|(?![\w/@-]))(?!\.\w)")
"""Words outside of names such as "nightly-eu" and "docs/es", which may look like words of another language."""
_JAPANESE_WORD = LazyRegex(r"[\u3400-\u9fff々]+|[\u30a1-\u30faー]+")
_NAME = LazyRegex(r"[a-z0-9_@*][\w./+#@*-]*[a-z0-9_]|[a-z0-9]", re.ASCII)
_QUOTATION = LazyRegex(
    r"“[^”\n]* [^”\n]*”|„[^“”\n]* [^“”\n]*[“”]|«[^»\n]* [^»\n]*»|\"[^\"\n]* [^\"\n]*\""
    r"|[「『“][^「」『』”\n]{6,}[」』”]",
    needs='“ „ « " 「 『',
)
_QUESTION_TAG = LazyRegex(
    r"[\s,;–—-]+¿?(?:ok(?:ay)?|ja|gut|bitte|klar|verstanden|alles klar|(?:kannst|könntest|machst) du(?: das)?"
    r"|d['’]accord|compris|entendu|tu peux|s['’]il te plaît|stp|vale|de acuerdo|entendido|puedes|por favor"
    r"|tá(?: bom)?|está bem|combinado|entendeu|(?:você )?pode(?: ser)?)[\s?？]*$"
    r"|[\s,，、]*(?:好吗|好不好|可以吗|行吗|明白吗|知道了?吗|懂吗|いいですか|いい|お願いできますか|わかった|分かった|ね)[\s?？]*$",
    re.I,
)
"""The end of an order or of a request to remember that makes it a polite one: ", ok?"."""
_CJK_END = LazyRegex(r"([。！？])(?=\S)")
_QUESTION_MARKS = ("?", "？", "か", "吗", "呢", "の？")


_ONE_THING = re.compile(r"(?:d(?:en|as|er|ie|em)|l[ea]|el|[oa])\b|l['’]", re.I)
"""Articles of what may be one thing of the project, as in "ich hasse den Parser"."""


_OPENER_SIGNS = (
    "remember mind forget note merk denk vergiss vergess notier notiz auf kopf behalt fest später zukunft info "
    "protokoll retie reten souvien rappel oubli mém note tête esprit pense plus suite garder sache recuerd "
    "recorda acuérd olvid cuenta presente nota apúnt apunt anot anót memor guard grab sepas quéda lembr esque "
    "mente aí isso saber cabeza cabeça leg präg speicher"
).split()
"""Parts of words, one of which a request to remember has. The patterns are only compiled for these."""
_ENGLISH_CLAUSE = re.compile(r"\b[a-z]{2,} [a-z]{2,}\b.*\s[a-z]{2,} [a-z]{2,}\b", re.I)
"""Two pairs of English words, such as a request and what it is about: "remember that 张敏 owns billing"."""


class LanguageRules(Struct, frozen=True, kw_only=True):
    """The patterns of one language. Unless noted, they are matched at the start of a sentence, ignoring case.

    Attributes:
        skip: words before a statement that are ignored, such as "please".
        standing: words that make an order permanent ("from now on").
        passing: searched anywhere; words that limit a statement to the present or the current task.
        no_limit: statements that are no limits: complaints, reports about others, wishes.
        limit: permanent limits.
        please: searched anywhere; words that make a limit a wish for the current task, unless it is `permanent`.
        bare: limits without a verb, such as "no emojis": the user is asked about them, unless they are `permanent`.
        permanent: searched anywhere; words of time, of the project or of things that recur, such as commit messages.
        doubtful: possible limits, about which the user is asked.
        standing_limit: limits after `standing`.
        project: searched anywhere; words that restrict a limit to the project.
        liking: the beginning of a sentence that says what the user likes, after which a limit may follow.
        tastes: what the user prefers, likes and dislikes, in the only group that matches.
        no_taste: beginnings of what is liked in one place only, or means nothing alone: "the second one", "that you …".
        exception: a limit without its object, which is what the user likes: ", aber nie mit Emojis".
        joint: searched anywhere; what separates a liking from the limit after it.
        choice: orders to use one thing and not another, which are limits and may correct a statement as well.
        correction: corrections.
        swap: searched anywhere; corrections that name the former value, `old`, and the present one, `new`.
        denial: a sentence after a correction that only names the former value.
        remember: requests to remember the text in the group `what`.
        task_behind: searched behind a limit or such a text; an order for the current task: ", und erkläre calc.py".
        stated_before_task: what a text to remember before such an order is like.
        withdrawn: by kind of withdrawal, statements that take back what is in the group `about`.
        granted: searched anywhere; words of a permission, while others such as "ok" may describe a state.
        lasting: searched anywhere; words that make a permission more than an order of the current task ("again").
        occasion: searched anywhere; signs that a permission is for one occasion, conditional, negated or reported.
        prohibition: searched anywhere; words of limits that prohibit something.
        narrowed: searched anywhere; words of a limit or permission that make it narrower ("without asking").
        only: searched anywhere; words of limits that allow some things, and nothing else.
        more: searched anywhere; words by which a permission adds to what such a limit allows.
        until: searched anywhere; how long a limit is to hold: a time, or the `event` that ends it.
        states: a clause that says what is so, and is no condition or order.
        joined: "and" with the blanks around it.
        anything: searched anywhere; words of a permission without a restriction, such as "every file".
        verbs: by group, beginnings of the verbs of limits; "use" adds nothing to what a limit is about.
        fillers: words that do not say what a limit is about. In Chinese and Japanese, also parts of words.
        english: English words of limits, corrections and requests that users of the language mix in, each with the word
            that is read in its place.
        describing: what follows "never" and "always" where they say what a program does, as in "never returns null".
        asked: questions that are orders, such as "könntest du bitte nie …?".
    """

    skip: str
    standing: str
    passing: tuple[str, ...]
    no_limit: tuple[str, ...]
    limit: tuple[str, ...]
    please: str
    bare: str
    permanent: str
    doubtful: tuple[str, ...]
    standing_limit: str
    project: str
    liking: str
    joint: str
    choice: tuple[str, ...]
    correction: tuple[str, ...]
    swap: tuple[str, ...]
    denial: str
    remember: tuple[str, ...]
    withdrawn: dict[WithdrawalKind, tuple[str, ...]]
    granted: str
    lasting: str
    occasion: str
    prohibition: str
    narrowed: str
    only: str
    more: str
    until: str
    states: str
    joined: str
    anything: str
    verbs: dict[str, tuple[str, ...]]
    fillers: tuple[str, ...]
    english: dict[str, str]
    tastes: dict[Literal["preferred", "liked", "disliked"], str] = {}
    no_taste: str = "(?!)"
    describing: str = "(?!)"
    exception: str = "(?!)"
    task_behind: str = "(?!)"
    stated_before_task: str = ".*?"
    asked: str = "(?!)"


class _DetectionRules(Struct, frozen=True, kw_only=True):
    """How the language of a text is detected.

    Attributes:
        words: by language, common words and some that occur in limits; each string has several.
        topics: by language, other words that show the language; unlike `words` they say what a text is about.
        letters: by language, letters that no other of these languages uses, apart from rare words.
        beginnings: by language, limits that show none of these, such as "nunca use sudo": "nunca" is Spanish, too, and
            the rest may be English. They are read the same in both languages.
        openers: by language, requests to remember something with which a message begins; they decide alone, since the
            rest may be short, or about names in another language.
        also_english: words of the other languages that are English words as well, which alone prove nothing.
    """

    words: dict[str, tuple[str, ...]]
    topics: dict[str, str]
    letters: dict[str, str]
    beginnings: dict[str, str]
    openers: dict[str, str]
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

    Decided by a request to remember with which it begins, by script, else by common words and letters: the text must
    contain more of that language than of any other, and something that no other language has.
    """
    opened = _find_opener(text)
    if opened and opened != "en":
        return opened
    if not text.isascii() and not (opened and _ENGLISH_CLAUSE.search(text)):
        if _KANA.search(text):
            return "ja"
        if len(_HAN.findall(text[:2_000])) >= 2:
            return "zh"
    words = _list_words(text)
    own = {code: len(words & known) for code, known in _own_words().items()}
    if text.isascii() and not any(own.values()):
        return _language_of_beginning(text)
    common = _known_words()
    points = {code: own[code] + len(words & common[code]) for code in own}
    shared = {code: words & known for code, known in common.items()}
    # Words that several languages have are evidence together: "la" and "à" are both French only.
    evident = {
        code
        for code, count in own.items()
        if count or not any(shared[code] <= known for other, known in common.items() if other != code)
    }
    if not text.isascii() and not opened:  # after "remember that", they are part of a name: "Müller owns billing"
        letters_in_text = set(text.lower())
        for code, letters in _detection_rules().letters.items():
            if not letters_in_text.isdisjoint(letters):
                points[code] += 2
                evident.add(code)
    (best, code), (second, _) = sorted(((count, code) for code, count in points.items()), reverse=True)[:2]
    if text.isascii() and (words & common[code]) <= _also_english():
        return ""  # as in "the build uses clang", of which "uses" is Spanish too
    is_clear = code in evident and best >= 2 and best > second and best > len(words & common["en"])
    return code if is_clear else _language_of_beginning(text)


def _find_opener(text: str) -> str:
    """Return the language of the request to remember with which a text begins; "" if it begins with none."""
    start = text[:60].casefold()
    if not any(sign in start for sign in _OPENER_SIGNS):
        return ""
    openers = _detection_rules().openers.items()
    return next((code for code, begin in openers if re.match(begin, text, re.I)), "")


def _language_of_beginning(text: str) -> str:
    return next((code for code, begin in _detection_rules().beginnings.items() if re.match(begin, text, re.I)), "")


def list_foreign_texts(text: str) -> list[tuple[str, str]]:
    """Return the parts of a message that are not in English, each with the code of its language.

    That is the whole message if most of it is in one language, else its sentences in other languages.
    """
    if language := detect_language(text):
        return [(language, text)]
    words = _list_words(text)
    if text.isascii() and not any(words & known for known in _own_words().values()):
        return []
    sentences = read_own_sentences(text)
    found = ((detect_language(said.text), said) for said in sentences if len(sentences) > 1)
    return [(language, f"{said.text}{said.mark}") for language, said in found if language]


def is_own_english(sentence: str, text: str, language: str) -> bool:
    """Whether the user wrote a sentence in English, in a message of which most is in `language` ("" for English).

    An English sentence that shares its line with none in that language is most likely copied from a log or a document.
    """
    return not language or (_is_english(sentence, language) and not _fills_lines(sentence, text, language))


def _is_english(sentence: str, language: str) -> bool:
    words = _list_words(sentence)
    common = _known_words()
    return not detect_language(sentence) and len(words & common["en"]) > len(words & common.get(language, frozenset()))


def _fills_lines(sentence: str, text: str, language: str) -> bool:
    text = text.replace("’", "'")
    start = text.find(sentence)
    before, after = text[text.rfind("\n", 0, start) + 1 : start], text[start + len(sentence) :].partition("\n")[0]
    if language in ("zh", "ja"):
        return not (_HAN.search(before + after) or _KANA.search(before + after))
    return not _list_words(f"{before} {after}") & _known_words()[language]


def _list_words(text: str) -> set[str]:
    return set(_WORD.findall(text[:2_000].casefold().replace("’", "'")))


def _detection_rules() -> _DetectionRules:
    return load_rule_file("detection", _DetectionRules)


@cache
def _common_words() -> dict[str, frozenset[str]]:
    return {code: frozenset(" ".join(lines).split()) for code, lines in _detection_rules().words.items()}


@cache
def _known_words() -> dict[str, frozenset[str]]:
    """Return, by language, all words by which it is detected."""
    topics = _detection_rules().topics
    return {code: known.union(topics.get(code, "").split()) for code, known in _common_words().items()}


@cache
def _also_english() -> frozenset[str]:
    return frozenset(_detection_rules().also_english.split())


@cache
def _own_words() -> dict[str, frozenset[str]]:
    """Return, by language except English, the words that no other language has."""
    common = _known_words()
    return {
        code: known.difference(*(other for name, other in common.items() if name != code))
        for code, known in common.items()
        if code != "en"
    }


def read_statements(text: str, language: str) -> tuple[LanguageStatement, ...]:
    """Return the limits, corrections and texts to remember in a message, in its order and without repetitions."""
    rules = load_rule_file(language, LanguageRules)
    found: dict[str, LanguageStatement] = {}
    last: LanguageStatement | None = None
    before = ""
    for sentence in _read_assertions(text, language, rules):
        if last is not None and last.kind == "correction" and _match(rules.denial, sentence.text):
            del found[last.content.casefold()]
            content, quote = f"{last.content}, {sentence.text}", f"{last.quote}. {sentence.text}"
            statement = structs.replace(last, content=content, quote=quote)
        else:
            statement = _as_written(_read_sentence(sentence.unquoted, rules), sentence, range(len(sentence.text) + 1))
            if statement is None and sentence.plain != sentence.unquoted:
                statement = _as_written(_read_sentence(sentence.plain, rules), sentence, sentence.offsets)
            if statement is None and last is None and before:
                statement = _read_asked_apart(before, sentence.text, rules)
        last, before = statement, sentence.text
        if statement is not None:
            if statement.kind == "limit" and (liking := _find_liking_before(statement, sentence.unquoted, rules)):
                found.setdefault(liking.content.casefold(), liking)
            found.setdefault(statement.content.casefold(), statement)
            if statement.kind == "limit" and _any(rules.choice, statement.content):
                correction = structs.replace(statement, kind="correction")
                found.setdefault(f"{statement.content.casefold()} (correction)", correction)
    return tuple(found.values())


_MAX_REQUEST = 6
"""Words of a sentence that only asks to remember the one beside it."""


def _read_asked_apart(before: str, sentence: str, rules: LanguageRules) -> LanguageStatement | None:
    """Return what one of two sentences asks to remember of the other one: "Der Port ist 9090. Merk dir das bitte"."""
    for text, request, fact in (
        (f"{before}, {sentence}", sentence, before),
        (f"{before}: {sentence}", before, sentence),
    ):
        found = _read_sentence(text, rules) if len(request.split()) <= _MAX_REQUEST else None
        if found is not None and found.kind == "remember" and found.content == _tidy(fact):
            return structs.replace(found, quote=fact)
    return None


class _Assertion(Struct, frozen=True):
    """A sentence of the user that is no question.

    Attributes:
        text: as written.
        unquoted: of the same length, with `FILLER` in place of quotations of several words, which state nothing.
        plain: the same with the words of its language in place of English ones such as "never".
        offsets: of each character of `plain`, and of its end, the offset in `text`.
    """

    text: str
    unquoted: str
    plain: str
    offsets: tuple[int, ...]


def _read_assertions(text: str, language: str, rules: LanguageRules) -> Iterator[_Assertion]:
    """Yield the user's own sentences that are no questions, or are questions that ask for something lasting."""
    for said in read_own_sentences(_CJK_END.sub(r"\1\n", text), _MAX_STATEMENT):
        sentence = said.text.lstrip(" 　¡¿").rstrip(" 　。！.!")
        is_question = said.is_question or said.text.startswith("¿") or sentence.endswith(_QUESTION_MARKS)
        is_asked = re.fullmatch(rules.asked, sentence.rstrip("?？ "), re.I) is not None
        if is_question and not is_asked and (tag := _QUESTION_TAG.search(sentence)) is not None:
            order = sentence[: tag.start()]
            skipped = _match(rules.skip, order)
            rest = order[skipped.end() if skipped else 0 :]
            is_asked = _any(rules.remember, rest) or _term(rest, rules, order) is not None
            sentence = order if is_asked else sentence
        if not is_question or is_asked:
            start = said.text.index(sentence)
            masked = said.masked[start : start + len(sentence)]
            is_copied = _is_english(sentence, language) and _fills_lines(sentence, text, language)
            yield _replace_english(sentence, "" if is_copied else masked, rules)


def _replace_english(sentence: str, masked: str, rules: LanguageRules) -> _Assertion:
    """Return the sentence with words of its language in place of English ones, except in quotations and code."""
    unquoted = _QUOTATION.sub(lambda quote: re.sub(r"\S", FILLER, quote[0]), sentence)
    pieces: list[str] = []
    offsets: list[int] = []
    done = 0
    for found in _word_pattern(tuple(rules.english), rules.describing).finditer(masked):
        word = rules.english[found[0].casefold().replace("’", "'")]
        pieces += (unquoted[done : found.start()], word)
        offsets += (*range(done, found.start()), *([found.start()] * len(word)))
        done = found.end()
    offsets += range(done, len(sentence) + 1)
    return _Assertion(sentence, unquoted, "".join((*pieces, unquoted[done:])), tuple(offsets))


_ENGLISH_PHRASE = (
    r"(?:(?:do not|don['’]?t) (?:know|knew|care|think|mind|worry|understand|see|believe|remember|recall|get|have|guess)"
    r"|no (?:idea|clue|problem|worries|worry|doubt|wonder|matter|luck|rush|hurry|chance|thanks|way|reason|need))\b"
)
"""English phrases that forbid nothing, as in "don't know warum das immer passiert"."""


@cache
def _word_pattern(words: tuple[str, ...], describing: str) -> re.Pattern[str]:
    choices = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    is_order = rf"(?!(?<=never|lways) {describing})"
    word = rf"(?<![A-Za-z0-9_./@#-])(?!{_ENGLISH_PHRASE})(?:{choices})"
    return re.compile(rf"{word}(?![A-Za-z0-9_/@'-]|\.[A-Za-z0-9]){is_order}", re.I)


def _as_written(
    statement: LanguageStatement | None, sentence: _Assertion, offsets: Sequence[int]
) -> LanguageStatement | None:
    """Return the statement with its content as the user wrote it, with quotations and English words."""
    if statement is None:
        return None
    read = sentence.plain if offsets is sentence.offsets else sentence.unquoted
    start = read.find(statement.content)
    if start < 0:
        is_taste = statement.kind in ("liking", "dislike")  # its content may leave out a verb in the middle
        content = statement.content if is_taste else sentence.text
        return structs.replace(statement, content=content, quote=sentence.text)
    end = offsets[start + len(statement.content)]
    return structs.replace(statement, content=_tidy(sentence.text[offsets[start] : end]), quote=sentence.text)


_AFTER_STATEMENT = re.compile(
    r"[,;:–—]\s+(?:(?:so|also|alors|donc|así que|então) )?|[，；。、]\s*|(?<=から)|(?<=ので)|\s(?:so|and so|and now)\s"
)
_MAX_ALONE = 12
"""A permission without a lasting word counts if it is the whole message and has at most this many words."""


class FoundWithdrawal(Struct, frozen=True, kw_only=True):
    """See `clio.memory.consolidation.withdrawals.Withdrawal`."""

    kind: WithdrawalKind
    about: str
    quote: str
    may_be_state: bool


def find_clause_after_statement(sentence: str, states: Callable[[str], object]) -> int:
    """Return the offset of what follows a clause that says what is so: "Ben is back, [you can commit]"; 0 if none."""
    marks = _AFTER_STATEMENT.finditer(sentence)
    return next((mark.end() for mark in marks if states(sentence[: mark.start()])), 0)


def read_withdrawals(text: str, language: str) -> list[FoundWithdrawal]:
    """Return the statements of a message that take something back, in its order."""
    rules = load_rule_file(language, LanguageRules)
    sentences = list(_read_assertions(text, language, rules))
    found: list[FoundWithdrawal] = []
    for sentence in sentences:
        skipped = _match(rules.skip, sentence.plain)
        start = skipped.end() if skipped else 0
        whole = rest = sentence.plain[start:]
        if told := find_clause_after_statement(sentence.plain, lambda text: _match(rules.states, text) is not None):
            start = told if _any(rules.withdrawn["permission"], sentence.plain[told:]) else start
            rest = sentence.plain[start:]
        if any(_match(pattern, rest) for pattern in rules.remember):
            continue  # "você pode lembrar que …" permits nothing
        is_passing = re.search(rules.occasion, whole, re.I) is not None
        others = (one.plain for one in sentences if one is not sentence)
        is_alone = len(rest.split()) <= _MAX_ALONE and all(_match(rules.states, one) for one in others)
        is_lasting = is_alone or re.search(rules.lasting, rest, re.I) is not None
        for kind, patterns in rules.withdrawn.items():
            told = next(filter(None, (_match(pattern, rest) for pattern in patterns)), None)
            if told is not None and (kind == "blame" or (not is_passing and (is_lasting or kind != "permission"))):
                begin, end = (sentence.offsets[start + place] for place in told.span("about"))
                about, begins = _tidy(sentence.text[begin:end]), told.start("about") == 0
                may_be_state = begins and re.search(rules.granted, rest, re.I) is None
                found.append(FoundWithdrawal(kind=kind, about=about, quote=sentence.text, may_be_state=may_be_state))
                break
    return found


USING = frozenset(("use", "run", "add"))
"""Groups of verbs of limits that "sudo is ok" lifts. "main is ok" may describe a state, and lifts no ban on pushing."""


_ACTS = frozenset("push commit deploy publish release merge rebase tag upload".split())
_WITHOUT = LazyRegex(r"\b(?:without|ohne|sans|sin|sem)\b|[没未不]经|没有|なく|なし|無断|勝手に|聞かず", re.I)


def is_act_alone(limit: str, verbs: frozenset[str], allowed: frozenset[str], others: frozenset[str]) -> bool:
    """Whether a permission names only the act that a limit is about: "you can push now", of "don't push to main yet".

    In the session in which such a limit was stated, the act alone tells which one is meant. A permission to push is
    none to push without asking.
    """
    is_named = bool(verbs) and verbs <= allowed <= _ACTS and not others
    return is_named and not _WITHOUT.search(limit)


def allows_more(things: frozenset[str], others: frozenset[str], *, says_more: bool) -> bool:
    """Whether a permission allows other things than those an "only" limit allows: other files, or others "too"."""
    is_inside = any(new.startswith(old.rstrip("/") + "/") for old in things for new in others)
    are_files = all(any(re.search(r"\w[./]", word) for word in words) for words in (things, others))
    is_new = not others <= things and (are_files or not things <= others)
    is_other = things.isdisjoint(others) or (says_more and is_new)
    return bool(things and others) and is_other and not is_inside and (are_files or says_more)


def compare_withdrawn(
    limit: str,
    about: str,
    kind: WithdrawalKind,
    language: str,
    *,
    quote: str,
    may_be_state: bool = False,
    is_held: bool = False,
) -> bool:
    """Whether what a withdrawal is about is this limit: the same things, and no other verb or narrower condition.

    Args:
        quote: the whole sentence of the withdrawal.
        is_held: whether the limit was stated for the session only.
    """
    rules = load_rule_file(language, LanguageRules)
    limit, about = (_replace_english(one, one, rules).plain for one in (limit, about))
    if kind == "permission" and re.search(rules.only, limit, re.I):
        return False
    disliked = _match(rules.tastes.get("disliked", "(?!)"), limit) or _match(r"hate (?P<what>\S.*)", limit)
    limit = next(filter(None, disliked.groups()), limit) if disliked and kind == "permission" else limit
    is_prohibition = disliked is not None or re.search(rules.prohibition, limit, re.I) is not None
    if (kind == "permission" and not is_prohibition) or (kind == "release" and is_prohibition):
        return False
    (things, verbs), (others, allowed) = (_list_things(one, language, rules) for one in (limit, about))
    if kind == "permission" and is_held and is_act_alone(limit, verbs, allowed, others):
        return True
    narrowed = [re.search(rules.narrowed, one, re.I) is not None for one in (limit, about)]
    if narrowed[0] != narrowed[1]:
        return False
    if may_be_state and not allowed and not verbs <= USING:
        return False
    has_same_verbs = verbs <= allowed or not allowed or (kind == "release" and allowed <= verbs)
    return bool(things or (verbs and allowed)) and things == others and has_same_verbs


def has_more(sentence: str, language: str) -> bool:
    """Whether a permission has a word by which it adds to what a limit allows, such as "auch"."""
    return re.search(load_rule_file(language, LanguageRules).more, sentence, re.I) is not None


def read_until(language: str) -> re.Pattern[str] | None:
    """Return the pattern for how long a limit of this language is to hold; None for English."""
    return re.compile(load_rule_file(language, LanguageRules).until, re.I) if language else None


_CLAUSE_MARK = re.compile(
    r"\s*[,;:]\s+|\s*[，；：、]\s*|\s+[–—-]+\s+"
    r"|\s+and\s+(?=(?:then |just )?(?:fix|repair|implement|debug|solve|finish|continue|explain)\s)",
    re.I,
)
_IMPERATIVES = frozenset("mach mache machen fais faire faites haz haga hace faz faça fazer".split())
_OR: Mapping[str, str] = {
    "de": r"\b(?:oder|noch)\b",
    "fr": r"\b(?:ou|ni)\b",
    "es": r"\b(?:o|u|ni)\b",
    "pt": r"\b(?:ou|nem)\b",
}


def cut_clauses(limit: str, has_limit: Callable[[str], bool], is_task: Callable[[str], bool]) -> str:
    """Return a limit up to the first clause after which there is no limit: a task, or the reason.

    has_limit: must be true for words like "or", too, which end a list: "never push, commit or deploy".
    """
    for mark in _CLAUSE_MARK.finditer(limit):
        rest = limit[mark.end() :]
        if not has_limit(rest) and has_limit(limit[: mark.start()]) and is_task(_CLAUSE_MARK.split(rest)[0]):
            return limit[: mark.start()]
    return limit


def cut_foreign_task(limit: str, language: str) -> str:
    """Return a limit in another language without a task or reason after it."""
    rules = load_rule_file(language, LanguageRules)

    def has_limit(text: str) -> bool:
        text = _replace_english(text, text, rules).plain
        return re.search(f"{rules.prohibition}|{rules.only}|{_OR.get(language, '或|または')}", text, re.I) is not None

    def is_task(clause: str) -> bool:
        if language in ("zh", "ja"):
            return len(_HAN.findall(clause)) + len(_KANA.findall(clause)) > 1
        first, *more = clause.split() or [""]
        is_verb = first in _IMPERATIVES or first.startswith(tuple(chain.from_iterable(rules.verbs.values())))
        begins = first.isalpha() and first.islower() and (is_verb or first not in _common_words()[language])
        return (begins and bool(more)) or _match(rules.states, clause) is not None

    return cut_clauses(limit, has_limit, is_task)


def widen_foreign(limit: str, about: str, language: str, *, quote: str, may_be_state: bool = False) -> str:
    """Return an "only" limit with what a permission allows as well; "" if that is nothing, or for any other limit."""
    rules = load_rule_file(language, LanguageRules)
    plain, said = (_replace_english(one, one, rules).plain for one in (limit, about))
    if not re.search(rules.only, plain, re.I):
        return ""
    core = re.sub(f"{rules.only}|{rules.until}", " ", plain, flags=re.I)
    if re.search(rules.narrowed, core, re.I):
        return ""
    things, verbs = _list_things(core, language, rules)
    others, allowed = _list_things(re.sub(rules.more, " ", said, flags=re.I), language, rules)
    says_more = re.search(rules.more, quote, re.I) is not None
    if (may_be_state and not allowed and not says_more) or not (verbs & allowed or not allowed):
        return ""
    if not allows_more(things, others, says_more=says_more):
        return ""

    def is_in(terms: frozenset[str]) -> Callable[[str], bool]:
        return lambda word: bool(_list_things(word, language, rules)[0] & terms)

    return insert_things(limit, about, is_in(things), is_in(others), rules.joined)


def allows_any_foreign(limit: str, about: str, language: str) -> bool:
    """Whether a permission without a restriction includes what a limit prohibits: "du darfst wieder alles ändern"."""
    rules = load_rule_file(language, LanguageRules)
    limit, about = (_replace_english(one, one, rules).plain for one in (limit, about))
    is_only = re.search(rules.only, limit, re.I) is not None
    if not re.search(rules.anything, about, re.I) or not (is_only or re.search(rules.prohibition, limit, re.I)):
        return False
    verbs = _list_things(limit, language, rules)[1]
    others, allowed = _list_things(re.sub(rules.anything, " ", about, flags=re.I), language, rules)
    is_narrowed = re.search(rules.narrowed, re.sub(rules.only, " ", limit, flags=re.I), re.I) is not None
    return not others and not is_narrowed and (verbs <= allowed or not allowed)


_JOINT = re.compile(r"(?:and|or|und|oder|et|ou|y|o|e|the|die|der|das|le|la|les|los|las|el|os|as)", re.I)
_TOKEN = re.compile(r"[A-Za-z0-9_.*@~/-][A-Za-z0-9_./+#@*~-]*[A-Za-z0-9_/*](?![^\W\d_])|[^\W_]+|[,、]")


def insert_things(
    limit: str, about: str, is_allowed: Callable[[str], bool], is_named: Callable[[str], bool], joined: str = " and "
) -> str:
    """Return an "only" limit with the things that a permission names, after those that it allows; "" if none."""
    new = [found for found in _TOKEN.finditer(about) if is_named(found[0])]
    while new and is_allowed(new[0][0]):
        del new[0]
    end = 0
    for found in _TOKEN.finditer(limit):
        if is_allowed(found[0]):
            end = found.end()
        elif end and not _JOINT.fullmatch(found[0]) and found[0] not in ",、":
            break
    return f"{limit[:end]}{joined}{about[new[0].start() : new[-1].end()]}{limit[end:]}" if new and end else ""


def _list_things(text: str, language: str, rules: LanguageRules) -> tuple[frozenset[str], frozenset[str]]:
    """Return the terms of what a limit is about, and the groups of its verbs."""
    plain = text.casefold().replace("’", "'")
    verbs: set[str] = set()
    if language in ("zh", "ja"):
        for filler in rules.fillers:
            plain = plain.replace(filler, " ") if len(filler) > 1 else plain  # before verbs: "不用" is no "用"
        for group, stems in rules.verbs.items():
            for stem in stems:
                verbs.update((group,) if stem in plain else ())
                plain = plain.replace(stem, " ")
        for filler in rules.fillers if language == "zh" else ():
            plain = plain.replace(filler, " ")
        names = _NAME.findall(plain)
        rest = _NAME.sub(" ", plain)
        if language == "zh":
            words = {part for part in rest.split() if _HAN.search(part)}
        else:  # endings are in Hiragana: only what is before them tells what the limit is about
            words = {word for word in _JAPANESE_WORD.findall(rest) if word not in rules.fillers}
        return frozenset((*names, *words)), frozenset(verbs)
    common = _common_words()
    fillers = frozenset(" ".join(rules.fillers).split()) | common.get(language, frozenset()) | common["en"]
    things: set[str] = set()
    for token in re.findall(r"[\w./+#@*-]*\w|\w", re.sub(r"\b[dlnjcsm]'", "", plain)):
        group = next((group for group, stems in rules.verbs.items() if token.startswith(stems)), "")
        if group and token != "commits":  # "emojis nos commits"
            verbs.add(group)
        elif token not in fillers:
            stem = re.sub(r"(?<=\w{3})e[nmrs]?$", "", token) if language == "de" else token  # "neue", "neuen"
            things.add(token if not token.isalpha() else stem[:5].removesuffix("s"))
    return frozenset(things), frozenset(verbs)


_MAX_LIKED = 5
"""Number of words of a liking to which a limit without an object may refer."""
_OF = re.compile(r"^\s*(?:de(?: que)?\s+)?")
_THAT_CLAUSE = re.compile(r"\b(?:dass|que)\b|\bqu['’]|[\u3400-\u9fff]", re.I)
_POINTING = re.compile(r"(?:es|das|dies|ça|cela|ceci|eso|esto|isso|isto|it|that|this)", re.I)


def _find_limit_after_liking(sentence: str, rules: LanguageRules) -> LanguageStatement | None:
    """Return the limit in a sentence such as "ich mag kurze Commits, aber pushe nie ohne zu fragen".

    Of "ich mag kurze Commits, aber nie mit Emojis" it contains the commits: "kurze Commits, aber nie mit Emojis".
    """
    liking = _match(rules.liking, sentence)
    if not liking:
        return None
    for joint in re.finditer(rules.joint, sentence, re.I):
        rest = sentence[joint.end() :]
        if _match(rules.exception, rest):
            is_passing = any(re.search(pattern, rest, re.I) for pattern in rules.passing)
            liked = _OF.sub("", sentence[liking.end() : joint.start()])
            if is_passing or not 0 < len(liked.split()) <= _MAX_LIKED or _POINTING.fullmatch(liked):
                return None
            is_project = re.search(rules.project, rest, re.I) is not None
            content = _tidy(liked + sentence[joint.start() :])
            return LanguageStatement(kind="limit", content=content, quote=sentence, in_project=is_project)
        term = _term(rest, rules, rest)
        if term is not None:
            is_project = re.search(rules.project, rest, re.I) is not None
            return LanguageStatement(
                kind="limit", content=_tidy(rest), quote=sentence, term=term, in_project=is_project
            )
    return None


def _find_liking_before(limit: LanguageStatement, sentence: str, rules: LanguageRules) -> LanguageStatement | None:
    """Return the liking in front of a limit; beside a lasting limit, it is meant to last, too."""
    place = sentence.find(limit.content)
    joint = next((one for one in re.finditer(rules.joint, sentence, re.I) if one.end() == place), None)
    if joint is None or limit.term == "task":
        return None
    skipped = _match(rules.skip, sentence)
    taste = _find_taste(sentence[skipped.end() if skipped else 0 : joint.start()], sentence, rules)
    return structs.replace(taste, term="lasting") if taste is not None else None


def _read_sentence(sentence: str, rules: LanguageRules) -> LanguageStatement | None:
    skipped = _match(rules.skip, sentence)
    rest = sentence[skipped.end() :] if skipped else sentence
    after_tasks = (rest[one.end() :] for one in re.finditer(rules.joint, rest, re.I) if one[0].strip(" ,;–—-"))
    clauses = (rest, *(clause for clause in after_tasks if _THAT_CLAUSE.search(clause)))
    for clause, pattern in product(clauses, rules.remember):
        if (asked := _match(pattern, clause)) is not None:
            with_task = _match(f"(?P<stated>{rules.stated_before_task}){rules.task_behind}", asked["what"])
            what = with_task["stated"] if with_task else asked["what"]
            if again := next(filter(None, (_match(one, what) for one in rules.remember)), None):
                what = again["what"]  # "à savoir pour la suite, garde-le : la TVA est à 20 %"
            term = _term(what, rules, what) if re.search(rules.prohibition, what, re.I) else None
            # "Merk dir: keine Deploys am Freitag" is an order, "recuerda que no tienes acceso" a fact.
            is_order = clause[: asked.start("what")].rstrip().endswith((":", "：")) or _match(rules.bare, what)
            if term == "lasting" or (term == "unclear" and is_order):
                is_project = re.search(rules.project, what, re.I) is not None
                return LanguageStatement(kind="limit", content=_tidy(what), quote=sentence, in_project=is_project)
            return LanguageStatement(kind="remember", content=_tidy(what), quote=sentence)
    after_liking = _find_limit_after_liking(rest, rules)
    if after_liking is not None:
        return after_liking
    order = re.search(rules.task_behind, rest, re.I)
    limit = rest[: order.start()] if order and not re.search(rules.prohibition, order[0], re.I) else rest
    term = _term(limit, rules, sentence)
    if term is not None:
        is_project = re.search(rules.project, limit, re.I) is not None
        return LanguageStatement(kind="limit", content=_tidy(limit), quote=sentence, term=term, in_project=is_project)
    taste = _find_taste(rest, sentence, rules)
    is_certain = taste is not None and taste.term == "lasting"
    if not is_certain and (_any(rules.correction, rest) or find_swapped_value(rest, rules)):
        return LanguageStatement(kind="correction", content=_tidy(rest), quote=sentence)
    return taste


def _find_taste(rest: str, sentence: str, rules: LanguageRules) -> LanguageStatement | None:
    """Return what a sentence says that the user prefers, likes or dislikes; nothing that is only about the moment."""
    if len(rest.split()) > _MAX_TASTE or any(re.search(pattern, rest, re.I) for pattern in rules.passing):
        return None
    parts = re.split(r"\s*[,;–—，；](?!\s*(?:wenn|dass)\b)\s*", rest)
    if any(not any(_match(pattern, part) for pattern in rules.tastes.values()) for part in parts[1:]):
        return None
    for name, pattern in rules.tastes.items():
        told = _match(pattern, rest)
        if told is None:
            continue
        what, *more = filter(None, told.groupdict().values())
        if _match(rules.no_taste, what):
            continue
        # Saved as the thing itself, like English ones: "Mocks", not "ich hasse Mocks".
        thing = _tidy("".join((what, *more))) if len(parts) == 1 else _tidy(rest)
        is_certain = not _ONE_THING.match(what)
        return LanguageStatement(
            kind="dislike" if name == "disliked" else "liking",
            content=thing,
            quote=sentence,
            term="lasting" if is_certain else "unclear",
            in_project=re.search(rules.project, rest, re.I) is not None,
        )
    return None


def find_swapped_value(text: str, rules: LanguageRules) -> tuple[str, str] | None:
    """Return the former and the present value that a correction names, as in "nicht 7001, sondern 7002"."""
    text = text.strip(" .!。！")
    if any(re.search(pattern, text, re.I) for pattern in rules.passing):
        return None
    found = next(filter(None, (re.search(pattern, text, re.I) for pattern in rules.swap)), None)
    return (found["old"], found["new"]) if found and found["old"].casefold() != found["new"].casefold() else None


def _term(rest: str, rules: LanguageRules, sentence: str) -> Term | None:
    """Return how long the limit in a sentence applies; None if the sentence states no limit.

    "Nie neue Abhängigkeiten" applies for good and "bitte keine neuen Abhängigkeiten" to the current task; without
    either sign, the user is asked about a limit that has no verb.

    rest: the sentence without words before the statement.
    """
    time = _match(f"(?:{rules.until})[\\s,，、]*", rest)
    if time is not None:  # "this week, no deploys"
        return "task" if _term(rest[time.end() :], rules, sentence) else None
    standing = _match(rules.standing, rest)
    if standing is not None:
        more = rest[standing.end() :]
        return "lasting" if _match(rules.standing_limit, more) and not _any(rules.no_limit, more) else None
    if any(_match(pattern, rest) for pattern in rules.no_limit):
        return None
    is_limit, is_doubtful = _any((*rules.limit, *rules.choice), rest), _any(rules.doubtful, rest)
    if not is_limit and not is_doubtful:
        return None
    if any(re.search(pattern, sentence, re.I) for pattern in rules.passing):
        return "task"
    if not re.search(rules.permanent, sentence, re.I):
        is_bare = _match(rules.bare, rest) is not None
        if is_bare and re.search(rules.please, sentence, re.I):
            return "task"
        if is_bare:
            return "unclear"
    return "lasting" if is_limit else "unclear"


def _any(patterns: tuple[str, ...], text: str) -> bool:
    return any(_match(pattern, text) for pattern in patterns)


def _match(pattern: str, text: str) -> re.Match[str] | None:
    return re.match(pattern, text, re.IGNORECASE)


def _tidy(text: str) -> str:
    text = " ".join(text.split()).rstrip(" .,;:!。，、；：！")
    return re.sub(r"^(?:[\s,;:!。，、；：！]|\.(?!\w))+", "", text)  # ".env" keeps its dot
