"""Find the new value of a known statement in a message that may say anything beside it.

`value_corrections` reads sentences of which it knows every word. Here only one clause counts: it gives another value of
the same form as a value of the statement, says it of nothing that the statement does not name, and is no question,
order, plan, wish or report of the past. The message names the whole subject, or it is the reply to the message that
stated it, or says that the former value was wrong.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from clio.memory.consolidation.alignment import ValueChange
from clio.memory.consolidation.value_corrections import is_limited, list_free_clauses
from clio.memory.preferences.foreign_statements import detect_language
from clio.memory.preferences.own_sentences import FILLER, read_own_sentences
from clio.memory.preferences.rule_files import load_rule_file
from clio.memory.preferences.stated_preferences import is_order
from clio.memory.statement_parser import normalize_word, parse_statement
from clio.memory.statement_reader import (
    ARTICLES,
    ATTRIBUTES,
    DAYS,
    OPPOSITES,
    PARTICLES,
    PREPOSITIONS,
    Word,
    Words,
    find_family,
    has_article,
    have_other_relation,
    have_other_roles,
    is_generic,
    matches,
    read_said_words,
    read_statement_words,
    word_tables,
)
from clio.text.fuzzy import count_edits

MAX_CHARS = 400
"""Characters of a message that is read."""
_MAX_WORDS = 12
"""Words of a statement whose values are looked for."""
_NUMBERS = ("number", "version", "time")
_OPPOSITES = frozenset(frozenset(pair) for pair in OPPOSITES)
_OPPOSITE_WORDS = frozenset[str]().union(*_OPPOSITES)


class _Vocabulary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `languages/stated_values.json`: parts of regular expressions for all languages, which are joined.

    Attributes:
        no_statement: words of plans, wishes, conditions and other times.
        unreliable: words of a message that make what it says doubtful, or hold for one occasion.
        question: the beginning of a question, which may lack its mark.
        source: the beginning of a clause up to who or what says the rest: "the datasheet says".
        negation: words before a value that does not hold.
        past: verbs of what was.
        wrong: what says behind a value that it does not hold.
        place: the end of what is before a word that tells where something holds: "in the ".
        pronouns: words that stand for the subject.
    """

    no_statement: tuple[str, ...]
    unreliable: tuple[str, ...]
    question: tuple[str, ...]
    source: tuple[str, ...]
    negation: tuple[str, ...]
    past: tuple[str, ...]
    wrong: tuple[str, ...]
    place: tuple[str, ...]
    pronouns: str


_WORDS = load_rule_file("stated_values", _Vocabulary)
_NO_STATEMENT, _UNRELIABLE, _QUESTION, _SOURCE, _NEGATION, _PAST, _WRONG, _PLACE = (
    re.compile("".join(parts), re.I)
    for parts in (
        _WORDS.no_statement,
        _WORDS.unreliable,
        _WORDS.question,
        _WORDS.source,
        _WORDS.negation,
        _WORDS.past,
        _WORDS.wrong,
        _WORDS.place,
    )
)
_PRONOUNS = frozenset(_WORDS.pronouns.split())


class _Clause(Struct, frozen=True):
    """One clause of a message.

    Attributes:
        text: the clause without the words that name a source.
        words: its words.
        is_signed: whether it, or a clause beside it, announces another value or says that one was wrong.
        before: the message before it.
        has_pronoun: whether a pronoun is its subject, or it is all that a source says.
    """

    text: str
    words: Words
    is_signed: bool
    before: str
    has_pronoun: bool

    @property
    def is_right(self) -> bool:
        """Whether it calls its value the right one."""
        return _IS_RIGHT.search(self.text) is not None


def find_stated_value(statement: str, message: str, *, is_reply: bool) -> ValueChange | None:
    """Return the value of a statement that a message replaces; None if it does not clearly replace one.

    is_reply: whether the message before stated it.
    """
    mine = read_statement_words(statement)
    topic = parse_statement(statement).topic_ids
    if detect_language(message):
        topic = frozenset[str]()  # only parsed in English
    values = [word for word in mine.words if _is_value(word, mine)]
    if len(mine.words) > _MAX_WORDS or len(message) > MAX_CHARS or _UNRELIABLE.search(message):
        return None
    found: dict[tuple[str, str], ValueChange] = {}
    for clause in _list_clauses(message):
        pairs = [
            (value, new) for value in values for new in clause.words.words if _may_replace(value, new, mine, clause)
        ]
        if len({value.start for value, _ in pairs}) != 1:
            continue  # "Friday 5pm", "Thursday 6pm"
        for value, new in pairs:
            if normalize_word(value.text) in topic or _has_other_part(value, values, clause):
                continue  # "HTTP 404 means", "HTTP 409 means"
            is_denied = _is_denied(value, message)
            if not _is_about(clause, value, new, mine, is_reply=is_reply, is_denied=is_denied):
                continue
            named = _list_named(value, mine, message)
            if is_reply or _is_certain(clause, value, new, mine, named, is_denied=is_denied):
                ends = (value.whole, new.whole) if value.whole and new.whole else (value.end, new.end)
                change = ValueChange(
                    old=statement[value.start : ends[0]],
                    new=clause.words.text[new.start : ends[1]],
                    is_named=bool(named) or is_denied,
                    shared=len(named) + is_denied,
                )
                found[change.old, change.new] = change
    if not found and is_reply:
        return _find_misspelled(mine, message)
    return next(iter(found.values())) if len(found) == 1 else None


def _find_misspelled(mine: Words, message: str) -> ValueChange | None:
    """Return the word of a statement that a reply corrects by another spelling: "no wait, marta", "kestrel, typo"."""
    clauses = [clause for clause in _list_clauses(message) if clause.words.words]
    said = clauses[0].words.words if clauses else ()
    if len(said) != 1 or not clauses[0].is_signed or is_order(said[0].text) is True:
        return None  # "weird" after "the relay is wired"
    text = said[0].text.casefold()
    near = [
        word
        for word in mine.words
        if min(len(text), len(word.text)) > 3 and 0 < count_edits(text, word.text.casefold()) <= 2
    ]
    if len(near) != 1 or any(matches(said[0], word) for word in mine.words) or text[-1] != near[0].text[-1].casefold():
        return None
    new = said[0].text.capitalize() if near[0].text[0].isupper() else said[0].text
    return ValueChange(old=near[0].text, new=new, is_named=True)


def _may_replace(value: Word, new: Word, mine: Words, clause: _Clause) -> bool:
    """Whether a word of a clause is another value of the same form, and the statement does not have it."""
    if new.is_denied or not _may_take_place(new, value) or any(matches(new, one) for one in mine.words):
        return False
    return new.form != "proper" or not new.text.isalpha() or not has_article(new, clause.words.text)


def _has_other_part(value: Word, values: Sequence[Word], clause: _Clause) -> bool:
    """Whether the value goes on with another one that a clause does not repeat: "Friday 5pm", "Thursday noon"."""
    parts = (one for one in values if 0 <= one.start - value.end <= 1 or 0 <= value.start - one.end <= 1)
    return any(not any(matches(one, word) for word in clause.words.words) for one in parts)


def _list_subject(value: Word, mine: Words) -> list[Word]:
    return [word for word in mine.words if word is not value and not is_generic(word)]


def _list_named(value: Word, mine: Words, message: str) -> list[Word]:
    """Return the words of a statement's subject that a message repeats."""
    said = read_statement_words(message).words
    return [word for word in _list_subject(value, mine) if any(matches(word, one) for one in said)]


def _is_certain(
    clause: _Clause, value: Word, new: Word, mine: Words, named: Collection[Word], *, is_denied: bool
) -> bool:
    """Whether a message names enough of the subject: all, or half of it if it says that something has changed."""
    subject = _list_subject(value, mine)
    if (named and is_denied) or (subject and len(named) == len(subject)):
        return True
    if _is_alike(value, new) and (clause.has_pronoun or clause.is_right):
        return True
    before = read_statement_words(clause.before).words
    is_meant = clause.has_pronoun and any(matches(word, one) for one in before for word in named)
    if not (is_denied or clause.is_signed or is_meant):
        return False
    coverage = len(named) / len(subject) if subject else 0.0
    return coverage >= 0.5 or (coverage > 0.3 and (len(named) > 1 or _follows_same(value, mine, new, clause.words)))


def _is_alike(old: Word, new: Word) -> bool:
    """Whether two names differ in digits only: "OV2640", "OV5640"."""
    one, other = (re.sub(r"\d", "0", word.text.casefold()) for word in (old, new))
    return old.form == new.form and old.form in ("name", "proper") and one == other and "0" in one


def _is_value(word: Word, words: Words) -> bool:
    if word.key in ATTRIBUTES:
        return False
    if word.form in ("time", "version", "number", "name"):
        return True
    text = word.text.casefold()
    if text in _OPPOSITE_WORDS or _find_family(text):
        return True
    is_possessive = words.text[word.end : word.end + 2].replace("’", "'") == "'s"
    return (
        word.form == "proper"
        and len(words.words) > 1
        and not is_possessive
        and (not word.text.isalpha() or not has_article(word, words.text))
    )


def _find_family(text: str) -> frozenset[str]:
    return find_family(text) or find_family(text.rstrip("s"))


def _shape(word: Word) -> frozenset[str]:
    return frozenset(re.findall(r"[./:@#_-]", word.text))


def _may_take_place(new: Word, old: Word) -> bool:
    """Whether two values may be of one property."""
    text, former = new.text.casefold(), old.text.casefold()
    if frozenset((former, text)) in _OPPOSITES or {text, text.rstrip("s")} & _find_family(former):
        return True
    if new.key in DAYS or old.key in DAYS:
        return False
    if old.form in _NUMBERS and new.form in _NUMBERS:
        if "clock" in (old.unit, new.unit) and "time" in (old.form, new.form):
            return True
        if old.unit and new.unit:
            return old.unit == new.unit
        return old.form == new.form or "time" not in (old.form, new.form)
    if old.form == new.form == "name":
        return _shape(old) == _shape(new) or bool(
            set(re.findall(r"[a-z]{2,}", text)) & set(re.findall(r"[a-z]{2,}", former))
        )
    return old.form == new.form == "proper" and not find_family(text)


def _is_same_property(old: Word, mine: Words, new: Word, theirs: Words, *, is_told_wrong: bool) -> bool:
    """Whether the words next to two values allow that both are of one property: "80 GB of memory", "2 TB of disk"."""
    if old.form not in _NUMBERS or new.form not in _NUMBERS:
        return True
    if new.unit and not old.unit and theirs.text[new.end : new.whole].strip().casefold() not in mine.text.casefold():
        return False
    if old.unit and not new.unit and not is_told_wrong:
        return False
    (before, counted), (new_before, new_counted) = _find_beside(old, mine), _find_beside(new, theirs)
    if new_counted and counted and not matches(new_counted, counted):
        return False
    if new_counted and not any(matches(new_counted, one) for one in mine.words):
        return False
    has_subject = any(one.start < new.start and not is_generic(one) for one in theirs.words)
    if before and (has_subject or not is_told_wrong) and not any(matches(before, one) for one in theirs.words):
        return False  # "supports iOS 15", "is at version 4"
    return new_before is None or (before is not None and matches(before, new_before))


def _follows_same(old: Word, mine: Words, new: Word, theirs: Words) -> bool:
    """Whether the same word is directly before both values: "tailwind 3", "tailwind 4"."""
    before, new_before = _find_beside(old, mine)[0], _find_beside(new, theirs)[0]
    return before is not None and new_before is not None and matches(before, new_before)


def _find_beside(word: Word, words: Words) -> tuple[Word | None, Word | None]:
    """Return the word directly before a number, or that of what it counts: "Python 3.12", "3 stages of"."""
    end = word.whole or word.end
    before = behind = None
    for one in words.words:
        text = one.text.casefold()
        if is_generic(one) or one.key in word_tables().attributes or one.form in _NUMBERS or text in PREPOSITIONS:
            continue
        if 0 <= word.start - one.end <= 1:
            before = one
        elif 0 <= one.start - end <= len(" of "):
            behind = one if not words.text[end : one.start].strip() or "of" in words.text[end : one.start] else behind
    return (None if behind else before), behind


@lru_cache(maxsize=16)
def _list_clauses(message: str) -> tuple[_Clause, ...]:
    """Return what `_read_clauses` yields. Cached, because a message is compared with many statements."""
    return tuple(_read_clauses(message))


def _read_clauses(message: str) -> Iterator[_Clause]:
    """Yield the clauses of a message that state something, and that no other one limits."""
    sentences = read_own_sentences(message, MAX_CHARS)
    is_corrected = any(read_said_words(one.text).is_corrected for one in sentences)
    earlier = ""
    for sentence in sentences:
        free = [] if FILLER in sentence.masked or is_limited(sentence.text) else list_free_clauses(sentence.text)
        for clause in free:
            text, before = clause.strip(" .!"), earlier
            earlier = f"{earlier} {text}"
            is_asked = (sentence.is_question and sentence.text.rstrip().endswith(clause)) or text.endswith(("？", "吗"))
            if source := _SOURCE.match(text):
                text = text[source.end() :]
            if not text or is_asked or _NO_STATEMENT.search(text) or _QUESTION.match(text) or _PAST.search(text):
                continue
            if word_tables().doubts.search(text) or (is_order(text.split()[0]) is True and not _COPULA.search(text)):
                continue
            words = read_said_words(text)
            is_pronoun = text.split()[0].casefold().strip(",.") in _PRONOUNS
            yield _Clause(
                text,
                words,
                words.is_signed or is_corrected or source is not None,
                before,
                is_pronoun or (source is not None and len(words.words) < 3),
            )


_COPULA = re.compile(r"\b(?:is|are)\b")


def _is_denied(value: Word, message: str) -> bool:
    """Whether a message mentions a value as one that does not hold."""
    found = re.search(rf"(?<![\w./:-]){re.escape(value.text)}(?![\w/])", message, re.I)
    if found is None:
        return False
    before, behind = message[max(0, found.start() - 30) : found.start()], message[found.end() : found.end() + 40]
    return bool(
        _NEGATION.search(before)
        or _WRONG.match(behind)
        or re.match(r"\W*(?:was|were|is (?:wrong|gone|old|dead)|war|était|era|closed|retired)\b", behind, re.I)
    )


def _is_about(clause: _Clause, value: Word, new: Word, mine: Words, *, is_reply: bool, is_denied: bool) -> bool:
    """Whether a clause says its value of what a statement names, or of a pronoun."""
    is_told_wrong = is_reply or is_denied
    if not _is_same_property(value, mine, new, clause.words, is_told_wrong=is_told_wrong):
        return False
    if have_other_roles(mine, clause.words):
        return False
    is_owner = value is mine.words[0] and value.form == "proper"
    if is_owner and (not clause.is_signed or not clause.words.relations & mine.relations):
        return False  # "Kim has a key", "Tom has a key"
    if value.form not in _NUMBERS and have_other_relation(mine, clause.words):
        return False
    is_loose = is_told_wrong or (clause.is_signed and _is_alike(value, new))
    others = [
        word
        for word in clause.words.words
        if word is not new
        and not (is_generic(word) or word.is_denied)
        and word.text.casefold() not in PREPOSITIONS | ARTICLES
    ]
    known = [word for word in others if any(matches(word, one) for one in mine.words)]
    before = [word for word in others if word.start < new.start]
    unknown = [
        word
        for word in before
        if word not in known
        and not _PARTICIPLE.match(clause.text, word.start)
        and word.text.casefold() not in PARTICLES
    ]
    if not before:
        rest = [word for word in others if word.start > new.start]
        return clause.is_right or (rest[0] in known if rest else is_loose or clause.has_pronoun)
    behind = [word for word in others if word.start > new.start and word not in known and word.key not in DAYS]
    if not is_denied and any(_PLACE.search(clause.text[: word.start]) for word in behind):
        return False  # "port 9090 in the tutorial"
    if clause.words.is_change and len(unknown) == 1 and clause.text.startswith(unknown[0].text):
        following = min((word.start for word in (*others, new) if word.start > unknown[0].start), default=0)
        unknown = [] if known and following - unknown[0].end > 2 else unknown  # "finance cut us down to 2 runners"
    if known and len(unknown) < 5 and all(word.form == "cjk" and word.start > known[0].start for word in unknown):
        subject = _list_subject(value, mine)  # the verb of a language without spaces: "最低支持提到 iOS 15"
        unknown = [] if all(any(matches(one, word) for word in known) for one in subject) else unknown
    if unknown:
        return False
    return bool(known) or is_loose or clause.has_pronoun


_PARTICIPLE = re.compile(rf"[a-z]{{2,}}(?:ing|ed) (?:{'|'.join(sorted(PREPOSITIONS))})\\b")
_IS_RIGHT = re.compile(r"\bis the (?:good|right|correct|real|actual|proper) one\b", re.I)
