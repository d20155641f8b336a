"""Detect the language of a message, and read requests to remember in languages other than English.

The rules of a language are regular expressions in `languages/<code>.json`, with the fields of `LanguageRules`. A file
is read when the first message in that language arrives, as `languages/detection.json` tells. Developers mix in English
words and sentences: English words of a request ("remember") are read like those of the language, and a sentence in
another language than most of the message by the rules of its own.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import product

from msgspec import Struct, structs

from clio.memory.preferences.own_sentences import CJK_END, FILLER, read_own_sentences
from clio.memory.preferences.rule_files import load_rule_file
from clio.text.lazy_regex import LazyRegex

_MAX_STATEMENT = 220
_KANA = LazyRegex(r"[\u3041-\u30ff]")
_HAN = LazyRegex(r"[\u3400-\u9fff]")
_WORD = re.compile(r"(?<![\w./@#-])[^\W\d_]+(?:'(?=\w)|(?![\w/@-]))(?!\.\w)")
"""Words outside of names such as "nightly-eu" and "docs/es", which may look like words of another language."""
_QUOTATION = LazyRegex(
    r"“[^”\n]* [^”\n]*”|„[^“”\n]* [^“”\n]*[“”]|«[^»\n]* [^»\n]*»|\"[^\"\n]* [^\"\n]*\""
    r"|[「『“][^「」『』”\n]{6,}[」』”]",
    needs='“ „ « " 「 『',
)
QUESTION_TAG = LazyRegex(
    r"[\s,;–—-]+¿?(?:ok(?:ay)?|ja|gut|bitte|klar|verstanden|alles klar|(?:kannst|könntest|machst) du(?: das)?"
    r"|d['’]accord|compris|entendu|tu peux|s['’]il te plaît|stp|vale|de acuerdo|entendido|puedes|por favor"
    r"|tá(?: bom)?|está bem|combinado|entendeu|(?:você )?pode(?: ser)?)[\s?？]*$"
    r"|[\s,，、]*(?:好吗|好不好|可以吗|行吗|明白吗|知道了?吗|懂吗|いいですか|いい|お願いできますか|わかった|分かった|ね)[\s?？]*$",
    re.I,
)
"""The end of an order or of a request to remember that makes it a polite one: ", ok?"."""
_QUESTION_MARKS = ("?", "？", "か", "吗", "呢", "の？")


_OPENER_SIGNS = (
    "remember mind forget note merk denk vergiss vergess notier notiz auf kopf behalt fest später zukunft info "
    "protokoll retie reten souvien rappel oubli mém note tête esprit pense plus suite garder sache recuerd "
    "recorda acuérd olvid cuenta presente nota apúnt apunt anot anót memor guard grab sepas quéda lembr esque "
    "mente aí isso saber cabeza cabeça leg präg speicher"
).split()
"""Parts of words, one of which a request to remember has. The patterns are only compiled for these."""
_ENGLISH_CLAUSE = re.compile(r"\b[a-z]{2,} [a-z]{2,}\b.*\s[a-z]{2,} [a-z]{2,}\b", re.I)
"""Two pairs of English words, such as a request and what it is about: "remember that 张敏 owns billing"."""


class LanguageRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The patterns of one language. Unless noted, they are matched at the start of a sentence, ignoring case.

    Attributes:
        skip: words before a request that are ignored, such as "please".
        remember: requests to remember the text in the group `what`.
        joint: searched anywhere; what separates a task from a request after it.
        task_behind: searched behind such a text; an order for the current task: ", und erkläre calc.py".
        stated_before_task: what a text to remember before such an order is like.
        english: English words of requests that users of the language mix in, each with the word that is read in its
            place.
        describing: what follows "never" and "always" where they say what a program does, as in "never returns null".
        asked: questions that are orders, such as "könntest du dir bitte merken, dass …?".
    """

    skip: str
    remember: tuple[str, ...]
    joint: str
    english: dict[str, str]
    describing: str = "(?!)"
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


class RememberRequest(Struct, frozen=True, kw_only=True):
    """A request to remember something.

    Attributes:
        content: the text to remember, in the user's words.
        quote: the sentence as written.
    """

    content: str
    quote: str


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


def is_copied_english(sentence: str, text: str, language: str) -> bool:
    """Whether an English sentence fills its lines in a message in another language, as one from a log does."""
    return bool(language) and _is_english(sentence, language) and _fills_lines(sentence, text, language)


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


def read_requests(text: str, language: str) -> tuple[RememberRequest, ...]:
    """Return the requests of a message to remember something, in its order and without repetitions."""
    rules = load_rule_file(language, LanguageRules)
    found: dict[str, RememberRequest] = {}
    is_last, before = False, ""
    for sentence in _read_assertions(text, language, rules):
        request = _as_written(_read_sentence(sentence.unquoted, rules), sentence, range(len(sentence.text) + 1))
        if request is None and sentence.plain != sentence.unquoted:
            request = _as_written(_read_sentence(sentence.plain, rules), sentence, sentence.offsets)
        if request is None and not is_last and before:
            request = _read_asked_apart(before, sentence.text, rules)
        is_last, before = request is not None, sentence.text
        if request is not None:
            found.setdefault(request.content.casefold(), request)
    return tuple(found.values())


_MAX_REQUEST = 6
"""Words of a sentence that only asks to remember the one beside it."""


def _read_asked_apart(before: str, sentence: str, rules: LanguageRules) -> RememberRequest | None:
    """Return what one of two sentences asks to remember of the other one: "Der Port ist 9090. Merk dir das bitte"."""
    for text, request, fact in (
        (f"{before}, {sentence}", sentence, before),
        (f"{before}: {sentence}", before, sentence),
    ):
        found = _read_sentence(text, rules) if len(request.split()) <= _MAX_REQUEST else None
        if found is not None and found.content == _tidy(fact):
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
    for said in read_own_sentences(CJK_END.sub(r"\1\n", text), _MAX_STATEMENT):
        sentence = said.text.lstrip(" 　¡¿").rstrip(" 　。！.!")
        is_question = said.is_question or said.text.startswith("¿") or sentence.endswith(_QUESTION_MARKS)
        is_asked = re.fullmatch(rules.asked, sentence.rstrip("?？ "), re.I) is not None
        if is_question and not is_asked and (tag := QUESTION_TAG.search(sentence)) is not None:
            order = sentence[: tag.start()]
            skipped = _match(rules.skip, order)
            rest = order[skipped.end() if skipped else 0 :]
            is_asked = any(_match(pattern, rest) for pattern in rules.remember)
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
    request: RememberRequest | None, sentence: _Assertion, offsets: Sequence[int]
) -> RememberRequest | None:
    """Return the request with its content as the user wrote it, with quotations and English words."""
    if request is None:
        return None
    read = sentence.plain if offsets is sentence.offsets else sentence.unquoted
    start = read.find(request.content)
    if start < 0:
        return structs.replace(request, content=sentence.text, quote=sentence.text)
    end = offsets[start + len(request.content)]
    return structs.replace(request, content=_tidy(sentence.text[offsets[start] : end]), quote=sentence.text)


_THAT_CLAUSE = re.compile(r"\b(?:dass|que)\b|\bqu['’]|[\u3400-\u9fff]", re.I)


def _read_sentence(sentence: str, rules: LanguageRules) -> RememberRequest | None:
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
            return RememberRequest(content=_tidy(what), quote=sentence)
    return None


def _match(pattern: str, text: str) -> re.Match[str] | None:
    return re.match(pattern, text, re.IGNORECASE)


def _tidy(text: str) -> str:
    text = " ".join(text.split()).rstrip(" .,;:!。，、；：！")
    return re.sub(r"^(?:[\s,;:!。，、；：！]|\.(?!\w))+", "", text)  # ".env" keeps its dot
