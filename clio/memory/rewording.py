"""Whether two statements give the same value to the same subject in other words, in seven languages.

"The webhook relay listens on port 8787" and "port 8787 is what the webhook relay uses" have the same words, as far as
`statement_reader` counts them. Their order tells who does what to whom: only values, and words such as "port", may be
at another place, the verb too where the statement is turned around or in the passive voice.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from clio.memory.statement_reader import (
    CJK,
    Word,
    Words,
    has_article,
    have_other_relation,
    is_generic,
    matches,
    read_statement_words,
    word_tables,
)
from clio.memory.statement_words import ATTRIBUTES, DAYS, find_family
from clio.text.vocabulary import stem_word

_ATTRIBUTE_STEMS = frozenset(map(stem_word, ATTRIBUTES))


def _is_optional_noun(word: Word) -> bool:
    """Whether only one of two statements with the same value may have a word: "the folder", "the channel"."""
    return is_generic(word) or (word.form == "word" and word.key in _ATTRIBUTE_STEMS)


def says_same(one: str, other: str) -> bool:
    """Whether two statements give the same value to the same subject, in whatever order and words between them.

    Only values, and words such as "port", may be at another place: "the cache calls the store" is not "the store calls
    the cache".
    """
    mine, theirs = read_statement_words(one), read_statement_words(other)
    moods = mine.moods ^ theirs.moods
    if "past" in moods or len(moods) > 1 or have_other_relation(mine, theirs):
        return False
    pairs: list[tuple[Word, Word]] = []
    left = list(theirs.words)
    texts = {word.text for word in theirs.words}
    for word in sorted(mine.words, key=lambda word: word.text not in texts):
        if (found := next((known for known in left if matches(word, known)), None)) is not None:
            left.remove(found)
            pairs.append((word, found))
        elif not _is_optional_noun(word) and not any(matches(word, known) for known in theirs.words):
            return False
    if len(pairs) < 2 or not all(
        _is_optional_noun(word) or any(matches(word, one) for one in mine.words) for word in left
    ):
        return False
    pairs.sort(key=lambda pair: pair[0].start)
    values = [pair for pair in pairs if _are_values(pair, mine, theirs)]
    rest = [pair for pair in pairs if pair not in values]
    by_form = ([pair for pair in values if pair[0].form == form] for form in {one.form for one, _ in values})
    if not all(map(_is_in_order, by_form)):
        return False
    fixed = [
        pair
        for pair in rest
        if not {one.key for one in pair} & word_tables().attributes
        and not any(_is_before(pair, value) for value in values)
    ]
    if _is_in_order(fixed):
        starts = ([pair[place] for pair in rest] for place in (0, 1))
        places = [_list_places(words.negations, known) for words, known in zip((mine, theirs), starts, strict=True)]
        return places[0] == places[1]
    if len(mine.negations) != len(theirs.negations):
        return False
    if mine.has_noun or theirs.has_noun:
        return _is_rotated(pairs) or (bool(values) and _is_rotated(fixed))
    if all(one.form == "cjk" for one, _ in pairs) and (mine.is_cleft or theirs.is_cleft):
        return _is_rotated(pairs)
    if values and (mine.is_cleft or theirs.is_cleft):
        return any(_is_in_order([pair for pair in fixed if pair is not verb]) for verb in fixed)
    return _is_passive(pairs, mine, theirs) or _is_passive([(other, one) for one, other in pairs], theirs, mine)


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


def _is_before(pair: tuple[Word, Word], value: tuple[Word, Word]) -> bool:
    """Whether a word is directly before a value in both statements: "building 7"."""
    return all(0 <= after.start - before.end <= 1 for before, after in zip(pair, value, strict=True))


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
    if not pairs:
        return True
    order = sorted(range(len(pairs)), key=lambda place: pairs[place][1].start)
    first = order.index(0)
    return [*order[first:], *order[:first]] == list(range(len(pairs)))
