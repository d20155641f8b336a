"""What the user's message changes in one statement: which value it gives it, and how certain that is.

The models of `value_changes` find both. A few rules are left for what they cannot see: the message denies or quotes the
value, the statement has it already, or a few words may be about another number of the conversation.
"""

import re
from collections.abc import Sequence

from msgspec import Struct, structs

from clio.memory.consolidation.content_words import (
    are_of_one_family,
    count_shared_words,
    count_words,
    find_form,
    has_rival,
)
from clio.memory.consolidation.forget_requests import find_forget_requests, takes_back_last
from clio.memory.consolidation.value_changes import FoundChange, find_change
from clio.memory.preferences.own_sentences import FILLER, WrittenSentence, read_own_sentences, remove_pasted_text
from clio.memory.preferences.stated_preferences import is_order
from clio.memory.statement_parser import announces_change
from clio.memory.statement_reader import is_light, read_said_words, read_statement_words, split_clauses, word_tables
from clio.memory.statement_relation import relate_statements
from clio.memory.statement_rewording import is_restated
from clio.memory.store.record import MemoryRecord, has_same_text
from clio.memory.store.typed_store import Scope
from clio.text.untrusted_text import make_inert_line

MADE, _ASKED, _BARE = 0.72, 0.5, 0.3
"""Least probability of a change that is made, of one that is asked about, and of a value alone after a word such as
"sorry", directly after the statement.
"""
_SURE = 0.9
"""Least probability from which on a sentence is not taken for one that says nothing new."""
_TOGETHER, _OBVIOUS = 0.02, 0.97
"""Least probability that the two values of a change belong together, unless the change is as probable as the second."""
_CLEAR = 0.1
"""The same for a change that is not asked about."""
CLEARLY = 3.0
"""How many times as probable a change must be as those of other memories to be the one that is meant, as odds."""
_MAX_MESSAGE = 2_500
"""A longer message is mostly pasted text, and is not read."""
_MAX_READ = 500
"""Characters of the user's own sentences that are compared with memories."""
SHORT = 60
"""Characters of a message that may be about any memory if it is the first of a session."""
_PROHIBITS = re.compile(r"\b(?:never|avoid|without|nie|niemals|ohne|jamais|sans|nunca|jamás|sin|sem)\b", re.I)
"""Words that exclude what follows them, beside the negations of corrections."""
_MODAL_CJK = re.compile(r"[能可会应]")
"""Chinese words that permit or demand, which are no values: "现在不能改 prod.yml 了"."""
_JOINT = re.compile(r"\s*,\s+(?:(?:and|und|et|y|e)\s+)?|\s+(?:and|und|et|y|e)\s+")


class NewValue(Struct, frozen=True, kw_only=True):
    """The value that a message gives to a statement.

    Attributes:
        found: how probable it is.
        content: the statement with it.
        old: the place of the former value in the statement.
        new: the value as written.
        others: what the statement would be if the value is meant for another clause, which is nearly as probable.
    """

    found: FoundChange
    content: str
    old: tuple[int, int]
    new: str
    others: tuple[str, ...] = ()


def find_new_value(statement: str, message: str, *, is_reply: bool) -> NewValue | None:
    """Return the value that a message may give to a statement, or to a part of it; None if it has none to give.

    is_reply: whether the message before stated it.
    """
    whole = find_change(statement, message, is_reply=is_reply)
    readings = [(whole, (0, len(statement)))]
    if len(clauses := _list_clauses(statement)) > 1:
        parts = [(find_change(statement[slice(*one)], message, is_reply=is_reply), one) for one in clauses]
        parts.sort(key=lambda one: -one[0].probability)
        readings = parts if parts[0][0].probability >= _ASKED else readings
    elif divided := _divide_list(statement, message):
        stays, changes, joint = divided
        part = find_new_value(changes, message, is_reply=is_reply)
        if part and part.found.probability > whole.probability and not part.old[0]:
            return structs.replace(part, content=f"{part.content}{joint}{stays}")
    values: list[NewValue] = []
    for found, span in readings:
        if not found.new[1] or found.odds * CLEARLY < readings[0][0].odds:
            continue
        old, new = _fit_values(statement, message, (span[0] + found.old[0], span[0] + found.old[1]), found.new, span)
        content = _put(statement, *old, new)
        values.append(NewValue(found=found, content=content, old=old, new=new))
    contents = tuple(dict.fromkeys(one.content for one in values))
    return structs.replace(values[0], others=contents[1:]) if values else None


def _list_clauses(statement: str) -> list[tuple[int, int]]:
    """Return start and end of each clause of a statement; one of a single word belongs to the clause before it."""
    clauses: list[tuple[int, int]] = []
    for start, end in split_clauses(statement):
        is_exception = _find_excluded(statement[start:end]) == 0
        if clauses and (is_exception or count_words(statement[start:end]) < _LEAST_CLAUSE):
            clauses[-1] = (clauses[-1][0], end)
        else:
            clauses.append((start, end))
    return clauses


_LEAST_CLAUSE = 2
"""Words of a clause that says something by itself."""


def _fit_values(
    statement: str, message: str, old: tuple[int, int], new: tuple[int, int], clause: tuple[int, int]
) -> tuple[tuple[int, int], str]:
    """Return the place of the former value, and the new one as it fits there.

    The new one has no words that its clause has beside the former one ("GitLab CI", of "our CI"), an article if that
    has one ("o Edson", for "a Luciana"), and whole words of Chinese and Japanese.
    """
    start, end = old
    first, last = new
    if CJK_LETTER.match(message[first : first + 1]):
        if _HAN.match(statement[start - 1 : start]) and _HAN.match(message[first - 1 : first]):  # "成都", of "杭州"
            is_other = statement[start - 1] != message[first - 1]
            start, first = start - is_other, first - is_other
        start, end = _widen(
            statement, start, end, message[first - 1 : first] if first else "", message[last : last + 1]
        )
    before, behind = statement[clause[0] : start], statement[end : clause[1]]
    value = message[first:last]
    if not _COPULA.search(statement[start:end]):
        value = _COPULA.sub("", value) or value
    if CJK_LETTER.search(value):
        lengths = range(min(len(value) - 1, _MAX_WIDENED), 0, -1)
        value = value[next((one for one in lengths if before.endswith(value[:one])), 0) :]
        value = value[: len(value) - next((one for one in lengths if behind.startswith(value[-one:])), 0)] or value
    known, words = (
        set(f"{before} {behind}".casefold().split()) - set(statement[start:end].casefold().split()),
        value.split(),
    )
    while len(words) > 1 and words[-1].casefold() in known:
        words.pop()
    while len(words) > 1 and words[0].casefold() in known and not _ARTICLE.match(value):
        words.pop(0)
    value = " ".join(words) if len(words) < len(value.split()) else value
    article = _ARTICLE_BEFORE.search(message[:first])
    if article and _ARTICLE.match(statement[start:end]) and not _ARTICLE.match(value):
        value = f"{article[0]}{value}"
    return (start, end), value


def _widen(statement: str, start: int, end: int, before: str, behind: str) -> tuple[int, int]:
    """Return the place of a value to the character that is before or behind the new one, if it is near.

    Tokens of Chinese are single characters: "狸" of "吉祥物是狐狸" becomes "狐狸" for "其实是狼".
    """
    left, right = statement[max(start - _MAX_WIDENED, 0) : start], statement[end : end + _MAX_WIDENED]
    if before and before in left:
        start -= len(left) - left.rindex(before) - 1
    if behind and behind in right:
        end += right.index(behind)
    elif len(right) == 1 and CJK_LETTER.match(statement[end - 1]) and not behind.isalnum():
        end += 1
    return start, end


_MAX_WIDENED = 3
"""Characters by which a Chinese or Japanese value is lengthened or shortened."""
_HAN = re.compile(r"[\u3400-\u9fff](?<![是在为由的了到每])")
CJK_LETTER = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_COPULA = re.compile(r"(?:です|だ|でした|になりました|に変わりました|である|にある|そう)+$")
_ARTICLE = re.compile(
    r"(?<!\w)(?:an?|the|o|os|as|el|la|los|las|le|les|der|die|das|den|dem|une?|uma?|eine[nmr]?|ein)\s+", re.I
)
_ARTICLE_BEFORE = re.compile(f"{_ARTICLE.pattern}$", re.I)


def _put(statement: str, start: int, end: int, new: str) -> str:
    """Return the statement with a new value; where it has this value too, both change places: "npm, not yarn"."""
    old = statement[start:end]
    before, behind = (
        re.sub(rf"(?<![\w./:-]){re.escape(new)}(?![\w/])", lambda _: old, part, flags=re.I)
        for part in (statement[:start], statement[end:])
    )
    if not re.search(r"\d", old + new):
        behind = _VERSION.sub("", behind)
    return f"{before}{new}{_DATED.sub(lambda found: found['unit'], behind)}"


_VERSION = re.compile(r"^ v?\d+(?:\.\d+)*(?=[\s,;.)]*$)")
"""The version behind the name of a former value: "Postgres 15"."""
_DATED = re.compile(r"^(?P<unit>[^,;()]{0,20}) \([^()]*\b(?:19|20)\d\d\b[^()]*\)")
"""A remark with the date of the former value: "900 seconds (raised 2026-12-01)"."""


def _divide_list(statement: str, message: str) -> tuple[str, str, str] | None:
    """Return a statement about several things as the one that stays, the one that a message names, and what joins them.

    Of "Sam owns tracking and billing", "Lena took over tracking" leaves Sam "billing". None if it names all or none.
    """
    owner, *tokens = statement.rstrip(".").split()
    length = next((at for at, token in enumerate(tokens) if at and not is_light(token)), 0)
    if not length or not owner[:1].isupper() or is_light(owner):
        return None
    verb, things = " ".join(tokens[:length]), " ".join(tokens[length:])
    parts = _JOINT.split(things)
    named = [count_shared_words(part, message) > 0 for part in parts]
    if len(set(named)) == 1:
        return None
    joint = _JOINT.findall(things)[-1]
    stays, changes = (
        joint.join(part for part, is_named in zip(parts, named, strict=True) if is_named is wanted)
        for wanted in (False, True)
    )
    return f"{owner} {verb} {stays}", f"{owner} {verb} {changes}", joint


_SWAP = re.compile(r"\s*s/(?P<old>[^/\n]+)/(?P<new>[^/\n]+)/?[gi]{0,2}\s*")
"""As typed for sed, or in an editor: "s/24/16/"."""


def read_own_text(text: str) -> str:
    """Return what a message says of memories, in words."""
    swap = _SWAP.fullmatch(text)
    return f"{swap['new']}, not {swap['old']}" if swap else remove_pasted_text(text)[:_MAX_READ]


def read_corrections(text: str) -> list[WrittenSentence]:
    """Return the user's own sentences of a message, without those that only take back what was said before."""
    if len(text) > _MAX_MESSAGE:
        return []
    own = read_own_sentences(read_own_text(text) if _SWAP.fullmatch(text) else text)
    return [one for one in own if not takes_back_last(one.text)]


def strip_introduction(sentence: str) -> str:
    """Return a sentence without words such as "actually" before it."""
    lead = word_tables().lead.match(sentence)
    return make_inert_line(sentence[lead.end() :] if lead else sentence).rstrip(" .,;!")


class JudgedStatement(Struct, frozen=True, kw_only=True):
    """What a message does to one statement.

    Attributes:
        statement: it, or the text of `record`.
        value: what the message gives it.
        quote: the sentence that says so.
        is_certain: whether it is changed without a question, unless another statement may be meant as well.
        is_named: whether the message names a part of it beside the value.
        is_close: whether the message names it, or directly follows it.
        record: the memory, if it is one; scope: of a preference, else None.
    """

    statement: str
    value: NewValue
    quote: str
    is_certain: bool
    is_named: bool
    is_close: bool
    record: MemoryRecord | None = None
    scope: Scope | None = None

    @property
    def odds(self) -> float:
        """How probable it is, divided by how improbable."""
        return self.value.found.odds

    @property
    def is_alike(self) -> bool:
        """Whether both values have the same form, digit by digit: "8080" and "9090", "0x3C" and "0x48"."""
        return _are_alike(self.statement[slice(*self.value.old)], self.value.new)

    @property
    def is_same_form(self) -> bool:
        """Whether both values are numbers, names or words."""
        return find_form(self.statement[slice(*self.value.old)].split()[0]) == find_form(self.value.new.split()[0])


def judge_statement(
    statement: str, message: str, own: Sequence[WrittenSentence], context: str, *, is_reply: bool, is_same_session: bool
) -> JudgedStatement | None:
    """Return what a message changes in a statement; None if it changes nothing.

    Args:
        own: the sentences of the message that may change something.
        context: the conversation before the message.
        is_reply: whether the message before made the statement.
        is_same_session: whether it was made in this session.
    """
    is_named = count_shared_words(statement, message) > 0 or are_of_one_family(statement, message)
    if not (is_named or is_reply or is_same_session or (not context and len(message) <= SHORT)):
        return None
    value = find_new_value(statement, message, is_reply=is_reply)
    is_late = is_same_session and not is_reply and len(message) <= SHORT and read_said_words(message).is_corrected
    is_late = is_late and (value is None or value.found.probability < MADE)
    if is_late:
        value = find_new_value(statement, message, is_reply=True)
    said = value and next((one for one in own if value.new in one.text), None)
    if value is None or said is None or _is_refused(statement, value, said):
        return None
    is_named = is_named and _is_named(statement, message, value)
    if not is_named and not _may_be_meant(statement, value, said.text, context):
        return None
    probability = value.found.probability
    is_bare = is_reply and len(read_said_words(said.text).words) <= _FEW
    is_alike = _are_alike(statement[slice(*value.old)], value.new)
    is_telling = is_alike and (is_bare or (not context and len(re.findall(r"\d", value.new)) > 2))
    is_telling = is_telling or are_of_one_family(statement[slice(*value.old)], value.new)
    is_told = is_telling or (probability >= _ASKED and relate_statements(statement, said.text) == "supersedes")
    least = _BARE if is_bare and read_said_words(said.text).is_corrected else _ASKED if is_told else MADE
    if probability < min(least, _ASKED):
        return None
    is_same_kind = is_alike or _resembles(statement, value) or _is_turned(statement, said.text, value)
    is_clear = not value.others and (is_same_kind or value.found.together >= _CLEAR)
    is_certain = probability >= least and is_clear and (not is_late or is_named or _resembles(statement, value))
    return JudgedStatement(
        statement=statement,
        value=value,
        quote=said.text,
        is_certain=is_certain,
        is_named=is_named,
        is_close=is_named or is_reply,
    )


def _is_refused(statement: str, value: NewValue, said: WrittenSentence) -> bool:
    """Whether a sentence only seems to give a statement a value: it denies or quotes it, or the statement has it."""
    found = value.found
    if (found.together < _TOGETHER and found.probability < _OBVIOUS) or found.ended > found.probability:
        return True
    if (
        _is_in_quotation(value.new, said)
        or has_same_text(value.content, statement)
        or _is_denied(statement, value, said)
    ):
        return True
    rest = f"{statement[: value.old[0]]}…{statement[value.old[1] :]}"
    if has_value(rest, value.new) and not _is_turned(statement, said.text, value):
        return True
    if found.probability < _SURE and is_restated(said.text, statement[: _find_excluded(statement)]):
        return True
    if _MODAL_CJK.search(value.new) or _is_only_intended(said.text, value.new):
        return True
    prohibited = _PROHIBITS.search(statement)
    if prohibited and prohibited.start() < value.old[0] and _find_excluded(said.text) == len(said.text):
        return True  # "push to develop", of "never push to main"
    # "Oublie ce que je t'ai dit" says no value.
    requests = find_forget_requests(said.text) if value.new.isalpha() else ()
    return any(value.new not in one.instead for one in requests)


def _is_only_intended(sentence: str, new: str) -> bool:
    """Whether an English sentence orders or wishes a change, asks about it, or tells what holds on one occasion.

    The models take these for changes, because they have the same words: "raise the timeout to 45 s".
    """
    at = sentence.index(new)
    start = max((found.end() for found in _CLAUSE_END.finditer(sentence, 0, at)), default=0)
    end = next((found.start() for found in _CLAUSE_END.finditer(sentence, at + len(new))), len(sentence))
    clause = sentence[start:end].strip(" .!")
    if _INTENDED.search(clause):
        return True
    is_whole = clause == sentence.strip(" .!") and clause.isascii() and not _EXPLAINS.search(clause)
    return is_whole and is_order(clause.split(" ", 1)[0]) is True and not announces_change(clause)


_CLAUSE_END = re.compile(r"[,;:.!?]\s|\s[–—-]\s|\b(?:so|and|because)\b")
_INTENDED = re.compile(
    r"\b(?:should(?! (?:say|be|have|carry|read))|could|might|(?:we|i|they) (?:plan|hope|intend|want) to"
    r"|(?:planning|thinking) (?:to|of|about))\b|^(?:ask|check|find out|see)\b.* (?:whether|if)\b"
    r"|^this (?:release|week|time|sprint|month)(?:'s)?\b",
    re.I,
)
_EXPLAINS = re.compile(
    r"^(?:make|use|drop|replace|forget|scratch|ignore|change)\b|\b(?:since|as|after|where|whose|who|for)\b", re.I
)
"""Words of orders that tell why, and orders about memory itself: "make that 45 s", "rebase on main since it moved"."""


def _may_be_meant(statement: str, value: NewValue, sentence: str, context: str) -> bool:
    """Whether a sentence that names nothing of a statement may give it a value."""
    is_word = len(sentence.split()) <= _FEW and value.new.isalpha() and value.new.islower()
    if is_word and not read_said_words(sentence).is_corrected:
        return False  # "weird!", of "the relay is wired"
    if value.old[0] >= _find_excluded(statement) or has_rival(value.new, statement, context):
        return False
    return not _counts_other_thing(statement, sentence, value)


def _are_alike(old: str, new: str) -> bool:
    return len({re.sub(r"(?<=^0x)[\da-fA-F]+|\d", "0", value) for value in (old, new)}) == 1


def _is_denied(statement: str, value: NewValue, said: WrittenSentence) -> bool:
    """Whether a sentence denies a value: "Wednesday" in "Thursday, not on Wednesday"."""
    denials, sentence = word_tables().denials, said.text
    lead = word_tables().lead.match(sentence)
    # "No" of a statement is a Portuguese preposition: "rodam no Jenkins".
    ignored = "no" if "no" in statement.casefold().split() else ""
    for found in denials.finditer(sentence, lead.end() if lead else 0):
        between, _, behind = sentence[found.end() :].partition(value.new)
        is_next = (behind or sentence.endswith(value.new)) and all(is_light(word) for word in between.split())
        if is_next and found[0].casefold() != ignored:
            return True
    return denials.match(value.new) is not None


def _counts_other_thing(statement: str, sentence: str, value: NewValue) -> bool:
    """Whether a number is one of other things than in the statement: "8 replicas", of "the index has 4 shards"."""
    places = ((statement, value.old[1]), (sentence, sentence.index(value.new) + len(value.new)))
    counted = {found[1] for text, end in places if (found := _COUNTED.match(text, end)) and not is_light(found[1])}
    if len(counted) < len(places) or not value.new.isdigit():
        return False
    return not any(word.unit for text, _ in places for word in read_statement_words(text).words)


_COUNTED = re.compile(r" ([^\W\d_]{3,})")


def _is_named(statement: str, message: str, value: NewValue) -> bool:
    """Whether a message has a word of a statement beside the new value and the unit behind it."""
    before, _, behind = message.partition(value.new)
    if value.new[-1:].isdigit():
        behind = re.sub(r"^\W?\w+", "", behind)
    others = f"{before} {behind}"
    is_told = are_of_one_family(statement, message) and not read_said_words(message).is_corrected
    return count_shared_words(statement, others) > 0 or is_told


_FEW = 3
"""Words of a sentence that says little more than a value."""


def has_value(statement: str, new: str) -> bool:
    """Whether a statement already has a value, and not behind a word that excludes it: "npm, not yarn"."""
    found = re.search(rf"(?<![\w./:-]){re.escape(new)}(?![\w/])", statement, re.I)
    return found is not None and found.start() < _find_excluded(statement)


def _is_turned(statement: str, sentence: str, value: NewValue) -> bool:
    """Whether two values change places: "spaces over tabs", of "tabs over spaces"."""
    old, new = statement[slice(*value.old)].casefold(), value.new.casefold()
    places = [(text.find(old), text.find(new)) for text in (statement.casefold(), sentence.casefold())]
    return min(map(min, places)) >= 0 and (places[0][0] < places[0][1]) is not (places[1][0] < places[1][1])


def _find_excluded(statement: str) -> int:
    """Return the place from which on a statement says what it excludes; its length if it excludes nothing."""
    found = (one.search(statement) for one in (word_tables().denials, _PROHIBITS))
    return min((one.start() for one in found if one), default=len(statement))


def _resembles(statement: str, value: NewValue) -> bool:
    """Whether two values have a part in common, as "int-blue" and "int-green", or are tools of one family."""
    values = (statement[slice(*value.old)], value.new)
    parts = [frozenset(re.findall(r"[^\W\d_]{2,}", one.casefold())) for one in values]
    is_compound = all(re.search(r"[^\W\d][-_./:@]", one) for one in values)
    return (is_compound and bool(parts[0] & parts[1])) or are_of_one_family(*values)


def _is_in_quotation(value: str, said: WrittenSentence) -> bool:
    """Whether a value is a part of what a sentence quotes, and not all of it as in "it's `pnpm` now"."""
    start = said.text.index(value)
    end = start + len(value)
    around = said.masked[max(start - 2, 0) : start - 1] + said.masked[end + 1 : end + 2]
    return FILLER in said.masked[start:end] and FILLER in around
