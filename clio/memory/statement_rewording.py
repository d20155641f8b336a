"""Whether two statements give one value to one subject in other words, in seven languages.

"Port 8787 is what the webhook relay uses" has the same words as "The webhook relay listens on port 8787", as far as
`statement_reader` counts them.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from msgspec import structs

from clio.memory.statement_reader import (
    ATTRIBUTES,
    CJK,
    DAYS,
    PARTICLES,
    Word,
    Words,
    find_base_verb,
    find_family,
    find_implied,
    has_article,
    have_other_relation,
    is_generic,
    matches,
    read_reworded,
    read_said_words,
    read_statement_words,
    word_tables,
)
from clio.text.lazy_regex import LazyRegex
from clio.text.vocabulary import stem_word

_DEEDS = frozenset(("use", "listen", "serve", "say"))
"""Relations that are the same only with a number or a name: what a port or a folder is used for goes without saying."""
_DERIVED = re.compile(r"(?:er|or|eur|euse|dora?|ion|ung|ção|ment)(?:e?s|en|ões)?$", re.I)
_BOUNDS = frozenset(map(stem_word, ("limit", "minimum", "default")))
"""Words that are never left out: "at most 4 minutes" is not "at least 4 minutes"."""
_OPTIONAL_STEMS = frozenset(map(stem_word, ATTRIBUTES)) - _BOUNDS


def _name_owner_first(text: str, other: str) -> str:
    """Write "the wifi of the office" as "the office wifi" where the other text does."""
    known = other.casefold()

    def turn(found: re.Match[str]) -> str:
        turned = f"{found['owner']} {found['thing']}"
        return turned if turned.casefold() in known else found[0]

    return _OF_THE.sub(turn, text)


_OF_THE = LazyRegex(r"(?P<thing>[\w-]+) (?:of|in|for|at|on) (?:the|our|my) (?P<owner>[\w-]+)", re.I)


def _is_optional_noun(word: Word) -> bool:
    """Whether only one of two statements with the same value may have a word: "the folder", "the channel"."""
    return is_generic(word) or (word.form == "word" and word.key in _OPTIONAL_STEMS)


def says_same(one: str, other: str) -> bool:
    """Whether two statements give the same value to the same subject, in whatever order and words between them.

    The order of words tells who does what to whom: only values, and words such as "port", may be at another place, the
    verb too where the statement is turned around or in the passive voice.
    """
    one, other = _name_owner_first(one, other), _name_owner_first(other, one)
    mine, theirs = read_reworded(one), read_reworded(other)
    implied = find_implied(mine, theirs)
    mine, theirs = (
        structs.replace(words, words=tuple(word for word in words.words if word.key not in implied))
        for words in (mine, theirs)
    )
    moods = mine.moods ^ theirs.moods
    is_bounded = all(any(word.key in _BOUNDS for word in words.words) for words in (mine, theirs))
    if "past" in moods or (len(moods) > 1 and not is_bounded) or have_other_relation(mine, theirs):
        return False
    pairs: list[tuple[Word, Word]] = []
    alone: list[Word] = []
    left = list(theirs.words)
    texts = {word.text for word in theirs.words}
    for word in sorted(mine.words, key=lambda word: word.text not in texts):
        if (found := next((known for known in left if matches(word, known)), None)) is not None:
            left.remove(found)
            pairs.append((word, found))
        elif not any(matches(word, known) for known in theirs.words):
            alone.append(word)
    own = [word for word in left if not any(matches(word, one) for one in mine.words)]
    if len(pairs) < 2:
        return False
    has_details = not all(map(_is_optional_noun, (*alone, *own)))
    if has_details and not _adds_detail(alone, own, pairs, mine, theirs):
        return False
    if any(not is_generic(word) for word in alone) and any(not is_generic(word) for word in own):
        return False  # "Ann reviews the frontend", "Ann reviews the backend"
    pairs.sort(key=lambda pair: pair[0].start)
    values = [pair for pair in pairs if _are_values(pair, mine, theirs)]
    verbs = [words.relations & _DEEDS for words in (mine, theirs)]
    if all(verbs) and verbs[0].isdisjoint(verbs[1]) and all(one.form in ("proper", "word", "cjk") for one, _ in values):
        return False  # "Ann answers the phone", "Ann uses the phone"; but "the API answers on", "the API uses port 80"
    rest = [pair for pair in pairs if pair not in values]
    by_form = ([pair for pair in values if pair[0].form == form] for form in {one.form for one, _ in values})
    if not all(map(_is_in_order, by_form)):
        return False
    fixed = [
        pair
        for pair in rest
        if not {one.key for one in pair} & word_tables().attributes
        and not any(_is_beside(pair, value) for value in values)
    ]
    if len(derived := [pair for pair in fixed if values and _is_derived(pair, rest)]) == 1:
        fixed.remove(derived[0])  # "the editor is Ann", "Ann edits"
    if has_details:
        return len(mine.negations) == len(theirs.negations)
    if _is_in_order(fixed):
        starts = ([pair[place] for pair in rest] for place in (0, 1))
        places = [_list_places(words.negations, known) for words, known in zip((mine, theirs), starts, strict=True)]
        return places[0] == places[1]
    if len(mine.negations) != len(theirs.negations):
        return False
    if mine.has_noun or theirs.has_noun:
        return _is_rotated(pairs) or (bool(values) and _is_rotated(fixed))
    if (all(one.form == "cjk" for one, _ in pairs) or not values) and (mine.is_cleft or theirs.is_cleft):
        return _is_rotated(pairs)
    if values and (mine.is_cleft or theirs.is_cleft):
        return any(_is_in_order([pair for pair in fixed if pair is not verb]) for verb in fixed)
    return _is_passive(pairs, mine, theirs) or _is_passive([(other, one) for one, other in pairs], theirs, mine)


_SPECIAL = frozenset(
    "staging stage production prod dev development test testing qa preview local canary legacy old new alt alte alten "
    "altes neu neue ancien ancienne nouveau nouvelle viejo vieja nuevo nueva antigo velho novo nova 旧 新".split()
)
"""Words that make another thing of one, so that what is said of both need not be the same."""
_MAX_DETAILS = 3
_PERSON_CJK = LazyRegex(r"[\u30a1-\u30ff\u3400-\u9fff]{2,5}?(?=さん|氏|部長|課長|先生)")


def _adds_detail(
    alone: Sequence[Word], own: Sequence[Word], pairs: Sequence[tuple[Word, Word]], mine: Words, theirs: Words
) -> bool:
    """Whether one of two statements with the same name as value has all other words of the other one, and a few more.

    "tb_ is the prefix of tables", "tables always start with the prefix tb_".
    """
    details = [word for word in (*alone, *own) if not _is_optional_noun(word)]
    whole = mine if any(not _is_optional_noun(word) for word in alone) else theirs
    is_one_sided = all(map(_is_optional_noun, alone)) or all(map(_is_optional_noun, own))
    are_plain = all(
        word.form in ("word", "cjk") and word.text.casefold() not in _SPECIAL and _is_detail(word, whole.text)
        for word in details
    )
    person = _PERSON_CJK.search(mine.text)
    is_named = (person is not None and person[0] in theirs.text) or any(
        one.form == "name" or (one.form == "proper" and find_family(one.text.casefold())) for one, _ in pairs
    )
    others = [one for one, _ in pairs if one.form in ("word", "cjk", "proper") and not is_generic(one)]
    return is_one_sided and are_plain and is_named and bool(others) and len(details) <= _MAX_DETAILS


_BEFORE_DETAIL = LazyRegex(
    r"\b(?:in|at|for|of|with|im|am|auf|bei|für|vom?|dans|pour|chez|d[eu]s?|en|del?|para|em|n[oa]s?|d[oa]s?) "
    r"(?:(?:the|our|l[ae]s?|el|los|unser\w*|notre|nuestr\w+|d(?:er|ie|as|em|en)) )?$"
    r"|(?:\bd['’]|の[\u3041-\u309f\u3400-\u9fff]{0,3})$",
    re.I,
)
_GENITIVE = LazyRegex(r" (?:d['’]|d[eu]s? |d[oa]s? |of |von )", re.I)
_ALWAYS = frozenset("always immer toujours siempre sempre".split())


def _is_detail(word: Word, text: str) -> bool:
    """Whether a word of a longer statement is no verb: behind a preposition, before a genitive, or a known name."""
    folded = word.text.casefold()
    if folded in PARTICLES or find_base_verb(folded) is not None:
        return folded in _ALWAYS
    is_noun = _BEFORE_DETAIL.search(text[: word.start]) or _GENITIVE.match(text, word.end)
    return bool(is_noun or find_family(folded)) or folded in _ALWAYS


def _is_passive(pairs: Sequence[tuple[Word, Word]], active: Words, passive: Words) -> bool:
    """Whether a statement demands with a verb first what the other one says in the passive voice: "never edit X"."""
    pairs = sorted(pairs, key=lambda pair: pair[0].start)
    verb, again = pairs[0]
    others = [other for _, other in pairs[1:]]
    is_last = verb is active.words[0] and all(other.start < again.start for other in others)
    return is_last and verb.text != again.text and _is_in_order(pairs[1:])


def _are_values(pair: tuple[Word, Word], mine: Words, theirs: Words) -> bool:
    """Whether a word of two statements is a value: a number or a name, not the first word or a German noun."""
    one, other = pair
    if one.key in word_tables().attributes:
        return False
    if one.form == other.form == "proper":
        places = ((one, mine), (other, theirs))
        return not all(word is words.words[0] or has_article(word, words.text) for word, words in places)
    if one.form == "word" and re.search(f"[{CJK}]", mine.text):
        return True
    return one.form not in ("word", "cjk", "proper") or bool(find_family(one.text.casefold())) or _is_day(one)


def _is_beside(pair: tuple[Word, Word], value: tuple[Word, Word]) -> bool:
    """Whether a word is directly before a value in both statements, or behind its unit: "building 7", "5 lines of"."""
    both = tuple(zip(pair, value, strict=True))
    return all(0 <= number.start - word.end <= 1 for word, number in both) or all(
        number.unit and 0 < word.start - number.whole <= len(" of ") for word, number in both
    )


def _is_derived(pair: tuple[Word, Word], others: Sequence[tuple[Word, Word]]) -> bool:
    """Whether one of two words is a noun behind what the other, a verb, is done with: "newsletter editor", "edits"."""
    return [bool(_DERIVED.search(word.text)) for word in pair].count(True) == 1 and any(
        other[place].end == pair[place].start - 1
        for place in (0, 1)
        if _DERIVED.search(pair[place].text)
        for other in others
    )


def _is_day(word: Word) -> bool:
    return word.key in DAYS or word.text.casefold() in DAYS


def _is_in_order(pairs: Sequence[tuple[Word, Word]]) -> bool:
    """Whether words are in the same order in both statements."""
    return all(
        one[0].start < next_one[0].start and one[1].start < next_one[1].start for one, next_one in pairwise(pairs)
    )


def _list_places(starts: Sequence[int], words: Sequence[Word]) -> list[int]:
    """Return for each place in a text how many of these words are before it."""
    return [sum(word.start < start for word in words) for start in starts]


def _is_rotated(pairs: Sequence[tuple[Word, Word]]) -> bool:
    """Whether two statements differ at most in which of two parts comes first: "张敏负责支付", "支付的负责人是张敏"."""
    order = sorted(range(len(pairs)), key=lambda place: pairs[place][1].start)
    first = order.index(0) if order else 0
    return [*order[first:], *order[:first]] == list(range(len(pairs)))


def is_restated(short: str, full: str, *, with_value: bool = False) -> bool:
    """Whether a statement says nothing that a longer one does not say: "the port is 9090", "the API's port is 9090".

    What it denies does not count: "the port is 9090, not 8080". with_value: whether it must have the last word, too.
    """
    said = read_said_words(remove_denied(short))
    outdated = _find_outdated_numbers(short)
    mine = [word for word in said.words if not (word.is_denied or word.text in outdated)]
    known = read_statement_words(full)
    return (
        bool(mine)
        and len(said.negations) <= len(known.negations)
        and (len(mine) < len(said.words) or not word_tables().ended.search(short))
        and all(any(matches(word, one) for one in known.words) for word in mine)
        and (not with_value or any(matches(word, known.words[-1]) for word in mine))
    )


def remove_denied(sentence: str) -> str:
    """Return a sentence without its clauses that deny something: "9090" of "not 8080, 9090" and of "9090, not 8080"."""
    clauses = _CLAUSE.split(sentence)
    kept = [one for one in clauses if not word_tables().denials.match(one.strip())]
    return ", ".join(kept) if 0 < len(kept) < len(clauses) else sentence


_CLAUSE = re.compile(r"\s*[,;:，；、](?!\d)\s*|\s[–—-]\s")


def _find_outdated_numbers(correction: str) -> set[str]:
    """Return the numbers that a correction says are no longer right: 8080 in "not 8080 but 9090"."""
    return {found["before"] or found["after"] for found in _OUTDATED_NUMBER.finditer(correction)}


_NUMBER = re.compile(r"(?<![a-zA-Z0-9_./:-])(?:v?\d[a-zA-Z0-9_.:-]*[a-zA-Z0-9_]|\d)(?![a-zA-Z0-9_/])")
"""A number, version or time. Letters of scripts without spaces may be next to it."""
_OUTDATED_NUMBER = re.compile(
    r"(?:\b(?:not|no longer|instead of|rather than|in place of|from|was|were|formerly|previously|used to be|former|old"
    r"|replaced|dropped|swapped|(?:is|are|do|does|did|was|were)nt)|n't)"
    r"(?: (?!but\b|to\b|it\b)[a-z]+){0,3} (?P<before>" + _NUMBER.pattern + r")"
    r"|(?P<after>" + _NUMBER.pattern + r")(?: (?:is|was|are))? (?:outdated|wrong|gone|incorrect|stale|old|no longer"
    r"|not(?! (?:on |in |at |port )?v?\d)|any ?more)\b",
    re.I,
)
