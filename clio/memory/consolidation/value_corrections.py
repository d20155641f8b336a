"""Find the value of a statement in memory that a sentence of the user replaces, in seven languages.

"Actually 9464" and "no, pnpm" name no subject, "Mondays, not Fridays" names the former value, "the staging port is 9090
now" a part of the subject. What denies a value is read here (`languages/values.json`); for other sentences `alignment`
compares the words of both. A sentence that says anything else corrects nothing.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from msgspec import Struct, structs

from clio.memory.consolidation.alignment import ValueChange, align
from clio.memory.preferences.own_sentences import FILLER, read_own_sentences
from clio.memory.preferences.rule_files import load_rule_file
from clio.memory.preferences.stated_preferences import is_order
from clio.memory.statement_reader import find_family, read_said_words, word_tables

MAX_SENTENCE = 120
"""Characters of a sentence that may be such a correction."""
_TOKEN = re.compile(r"[^\s,;:!?()\"“”„«»…]+(?:[:.,/][^\s,;:!?()\"“”„«»…]+)*")
_CJK = re.compile(r"[\u3041-\u30ff\u3400-\u9fff]")
_CONTENT_RUN = re.compile(r"[\u30a0-\u30ff]+|[\u3400-\u9fff]+|[A-Za-z0-9_./-]+")
_ASCII_TOKEN = re.compile(r"/?[A-Za-z0-9_][A-Za-z0-9_./:-]*[A-Za-z0-9_/]|[A-Za-z0-9]")
_IDENTIFIER = re.compile(r"[~.]?/?[\w-]*(?:[./_-]\w[\w-]*)+/?|[a-z]+\d+\w*|\w*[a-z]\w*[A-Z]\w*")
_ELISION = re.compile(r"\b(?:[cdjlmnst]|qu)['’](?=\w)", re.IGNORECASE)
_PRONOUN_END = re.compile(r"-(?:se|lo|la|los|las|o|a)$")


class _ValueRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `languages/values.json`, of all languages together: a short sentence does not show its language.

    Attributes:
        wish: searched anywhere; words that make a sentence a wish: "we should use pnpm instead of npm".
        joining: words that belong to a negation.
        no_value: everyday words, which are no names of anything: "no, later".
        linking_cjk: words that may stand between a value and the rest in Chinese and Japanese.
    """

    wish: str
    joining: str
    no_value: tuple[str, ...]
    linking_cjk: tuple[str, ...]


class _Patterns(Struct, frozen=True, kw_only=True):
    wish: re.Pattern[str]
    joining: frozenset[str]
    no_value: frozenset[str]
    linking_cjk: tuple[str, ...]


@cache
def _patterns() -> _Patterns:
    rules = load_rule_file("values", _ValueRules)
    return _Patterns(
        wish=re.compile(rules.wish, re.IGNORECASE),
        joining=frozenset(rules.joining.split()),
        no_value=frozenset(" ".join(rules.no_value).split()),
        linking_cjk=tuple(sorted(rules.linking_cjk, key=len, reverse=True)),
    )


def read_value_corrections(text: str) -> list[str]:
    """Return the user's own sentences that may correct a value, in order, without those that ask something.

    If one ends after a word such as "sorry", the next belongs to it: "Sorry. 9090".
    """
    found: list[str] = []
    for said in read_own_sentences(re.sub(r"([。！？])(?=\S)", r"\1\n", text), MAX_SENTENCE):
        if (
            said.is_question
            or _QUESTION_WORD.match(said.text)
            or FILLER in said.masked
            or said.text.rstrip(" 。").endswith(("？", "吗", "か"))
        ):
            continue
        if found and _is_only_sign(found[-1]):
            found[-1] = f"{found[-1].rstrip('。 ')}, {said.text}"
        else:
            found.append(said.text)
        if len(found) > 1 and _is_only_sign(found[-1]):  # "3100. Sorry"
            found[-2:] = [f"{found[-2]}, {found[-1]}"]
    sentences = [one for one in found if not _is_only_sign(one)]
    # "I misremembered who maintains the driver. Beatriz does.", "Not Priya. Marguerite."
    denial = word_tables().denials
    sentences += [
        f"{one}. {other}"
        for one, other in pairwise(sentences)
        if read_said_words(one).is_corrected or any(map(denial.match, (one, other))) or word_tables().ended.search(one)
    ]
    own = [said.text for said in read_own_sentences(text, MAX_SENTENCE)]
    if not sentences and len(own) == 2 and _is_only_sign(own[1]):
        sentences = [f"{own[0]}, {own[1]}"]
    return sentences


_QUESTION_WORD = re.compile(
    r"(?:(?:ok|and|but|so|wait),? )*(?:which|why|how|who|whose|what(?! (?:i|we) (?:meant|mean|said)))\b", re.IGNORECASE
)
"""The beginning of a question, which may lack its mark."""


def _is_only_sign(text: str) -> bool:
    lead = word_tables().lead.match(f"{text},")
    return lead is not None and lead.end() >= len(text)


def find_corrected_value(old: str, sentence: str) -> ValueChange | None:
    """Return the value of a statement in memory that a sentence replaces; None if it does not clearly replace one.

    As in "actually 9464", "Mondays, not Fridays"; the whole subject if nothing announces a change.
    """
    said = read_said_words(sentence)
    if not said.words or _patterns().wish.search(said.plain):
        return None
    if is_order(said.first) is True and said.first.strip(",.:;").casefold() not in old.casefold().split():
        return None
    found = align(old, sentence)
    if found is None:
        return None
    words = found.new.split()
    is_order_only = not found.shared and _form(words[0]) == "word" and is_order(words[0]) is True
    if is_order_only or not _patterns().no_value.isdisjoint(map(_fold, words)):
        return None
    is_of_family = said.is_change and _fold(words[0]) in find_family(_fold(found.old.split()[0]))
    return structs.replace(found, is_named=found.is_named or is_of_family)


def find_corrected_choice(old: str, sentence: str) -> ValueChange | None:
    """Return what a sentence replaces of what a preference or limit asks for: "npm" in "we use npm here, not yarn".

    None for a prohibition: "no, pnpm" after "never use npm" does not prohibit pnpm.
    """
    if _CJK.search(old) or _CJK.search(sentence):
        return None  # its negations have no fixed place
    ends = [
        found.start() for one in (word_tables().denials, word_tables().denied, _PROHIBITS) if (found := one.search(old))
    ]
    chosen = old[: min(ends, default=len(old))].rstrip(" ,;–—-")
    return find_corrected_value(chosen, sentence) if chosen else None


_PROHIBITS = re.compile(r"\b(?:never|avoid|without|nie|niemals|ohne|jamais|sans|nunca|jamás|jamais|sin|sem)\b", re.I)
"""Words that exclude what follows them, beside the negations of corrections."""


def list_content_words(text: str) -> frozenset[str]:
    """Return the words of a text that tell what it is about, in lower case and without the plural "s"."""
    if _CJK.search(text):
        return frozenset(run.casefold() for run in _CONTENT_RUN.findall(text) if run not in _patterns().linking_cjk)
    return frozenset(list_repeated_words(text))


def list_repeated_words(text: str) -> list[str]:
    """Return the words of `list_content_words` as often as they occur; none in Chinese and Japanese."""
    if _CJK.search(text):
        return []
    return [_fold(token).removesuffix("s") or token for token in _content(_tokenize(text))]


def is_said_before(old: str, context: str) -> bool:
    """Whether a statement is in the conversation before a correction: most of its words, in any order."""
    if _CJK.search(old):
        runs = _CONTENT_RUN.findall(old)
        return bool(runs) and sum(run in context for run in runs) * 4 >= len(runs) * 3
    words = _content(_tokenize(old))
    said = set(map(_fold, _tokenize(context)))
    return bool(words) and sum(_fold(word) in said for word in words) * 4 >= len(words) * 3


def has_rival(change: ValueChange, old: str, context: str) -> bool:
    """Whether the conversation has another value of the same form, which a correction may be about."""
    form = _form(change.old.split()[0])
    tokens = _ASCII_TOKEN.findall(context) if _CJK.search(context) else _tokenize(context)
    known = set(map(_fold, [*_tokenize(old), *_ASCII_TOKEN.findall(old)]))
    return any(_form(token) == form and _fold(token) not in known for token in tokens if form != "word")


def _tokenize(text: str) -> list[str]:
    plain = _ELISION.sub("", text.replace("’", "'"))
    found = (token.strip(".,'-–—`*") for token in _TOKEN.findall(plain))
    return [_PRONOUN_END.sub("", token) for token in found if token]


def _fold(token: str) -> str:
    return token.casefold()


def _is_linking(token: str) -> bool:
    tables = word_tables()
    return _fold(token) in tables.linking or _fold(token) in tables.relations


def _content(tokens: Sequence[str]) -> list[str]:
    joining = _patterns().joining
    return [one for one in tokens if not _is_linking(one) and _fold(one) not in joining]


def _form(token: str) -> str:
    """Return the form of a value: "time", "version", "number", "name" for a path or identifier, or "word"."""
    if re.fullmatch(r"\d{1,2}:\d\d(?::\d\d)?", token):
        return "time"
    if re.fullmatch(r"v?\d+(?:\.\d+)+|v\d+", token):
        return "version"
    if re.fullmatch(r"\d[\d.,]*%?", token):
        return "number"
    if _IDENTIFIER.fullmatch(token) and not token.isdigit():
        return "name"
    return "word"
