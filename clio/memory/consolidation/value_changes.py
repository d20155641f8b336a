"""Decide whether a message gives a known statement another value, and find both values, by linear models.

"Deploys go to fly.io since Monday, write its config" gives "we deploy to heroku" another value; "add a fallback to
fly.io" does not. Three models in `value_changes.bin` were fitted to labelled pairs in seven languages
(`bench/value_changes.py`): the first finds which words may be the former and the new value, the second which of these
belong together, the third whether the message changes this value.
"""

import heapq
import math
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from clio.memory.consolidation.statement_pairs import Pair, Token, find_beside, name_share
from clio.memory.preferences.intents import INTENTS, find_parts
from clio.memory.preferences.own_sentences import read_own_sentences
from clio.memory.statement_reader import DAYS, OPPOSITES, find_family, is_light, word_tables
from clio.memory.statement_relation import relate_statements
from clio.text.linear_model import LinearModel, hash_features

MODEL = LinearModel(Path(__file__).with_name("value_changes.bin"), 2)
_CHANGED, _OTHER = INTENTS.index("changed"), INTENTS.index("other")
_MAX_LOGIT = 50.0
_MAX_VALUE = 8
"""Maximum number of tokens of a value."""
_MAX_OPTIONS = 6
"""Number of likely values of each text of which the combinations are compared."""
_OPPOSITES = frozenset(frozenset(pair) for pair in OPPOSITES)
_ENDS, _MARKS = frozenset(".!?;。！？；"), frozenset(",;.!?()–—。，；！？（）")
"""Marks that end a sentence, and those that end a clause."""


class FoundChange(Struct, frozen=True):
    """What a message does to a statement.

    Attributes:
        probability: how probable it is that the message gives the statement another value.
        old, new: the places of the former value in the statement, and of the new one in the message.
        ended: how probable it is that the statement no longer holds and the message says nothing in its place.
        together: how probable it is that these are the values, if there are any.
    """

    probability: float
    old: tuple[int, int]
    new: tuple[int, int]
    ended: float = 0.0
    together: float = 1.0

    @property
    def odds(self) -> float:
        """The probability of the change divided by that of none."""
        return self.probability / (1 - self.probability + 1e-9)


class ValuePair(Pair):
    """A statement and a message, with the features of their values."""

    def list_change_features(self, values: tuple[range, range]) -> tuple[list[int], list[int]]:
        """Return the features that tell whether the message changes a value, and whether it ends the statement.

        values: the places of the tokens that are the former and the new value if it changes one.
        """
        names = self.list_names() | self._describe_values(*values)
        return hash_features(f"change {one}" for one in names), hash_features(f"end {one}" for one in names)

    def list_pair_features(
        self, former: range, value: range, former_rank: tuple[int, float], value_rank: tuple[int, float]
    ) -> list[int]:
        """Return the features that tell whether two runs of tokens are the former and the new value.

        former_rank, value_rank: the place of each in the list of likely values, and its sum of logits.
        """
        old, new = ([tokens[at] for at in span] for tokens, span in ((self.old, former), (self.new, value)))
        forms = ["".join(one.form if one.is_content else "-" for one in tokens[:4]) for tokens in (old, new)]
        texts = [" ".join(one.text.casefold() for one in tokens) for tokens in (old, new)]
        shapes = {re.sub(r"\d", "0", text) for text in texts}
        is_related = texts[1] in find_family(texts[0]) or frozenset(texts) in _OPPOSITES
        ranks = f"{former_rank[0]}{value_rank[0]}"
        levels = [str(max(-4, min(8, round(logit)))) for _, logit in (former_rank, value_rank)]
        (before_old, behind_old), (before_new, behind_new) = (
            _find_next(tokens, span[0], span[-1]) for tokens, span in ((self.old, former), (self.new, value))
        )
        beside = f"{before_old == before_new:d}{behind_old == behind_new:d}"
        same = "".join(
            f"{one:d}"
            for one in (
                old[0].stem == new[0].stem,
                old[-1].stem == new[-1].stem,
                old[-1].stem == behind_new,
                texts[0] in texts[1],
                any(one.stem in self.old_stems for one in new),
            )
        )
        parts = frozenset(re.findall(r"[^\W\d_]{3,}", texts[0])) & frozenset(re.findall(r"[^\W\d_]{3,}", texts[1]))
        edge = [self.label(at) for at in (value[0] - 1, value[-1] + 1)]
        inside = "".join(f"{not one.is_content:d}" for one in (old[0], old[-1], new[0], new[-1]))
        # What is beside the former value where the message names it, as in "not Fridays".
        named = next((at for at, one in enumerate(self.new) if one.stem == old[0].stem and at not in value), -1)
        denied = [self.label(at) if named >= 0 else "?" for at in (named - 1, named + len(old))]
        side = "?" if named < 0 else "<" if named < value[0] else ">"
        names = (
            *(f"f{forms[0]}|{forms[1]}", f"F{forms[0] == forms[1]:d}{len(shapes)}", f"s{len(shapes)}{forms[0]}"),
            *(f"r{ranks}", f"l{levels[0]}", f"L{levels[1]}", f"m{levels[0]} {levels[1]}", f"x{is_related:d}"),
            *(f"b{beside}{forms[0]}|{forms[1]}", f"B{beside}", f"e{same}", f"p{bool(parts):d}{forms[0] == forms[1]:d}"),
            *(f"<{edge[0]}", f">{edge[1]}", f"<>{edge[0]} {edge[1]}", f"i{inside}", f"n{len(old)}{len(new)}"),
            *(f"d{abs(len(old) - len(new))}", f"o{new[0].text.casefold()}", f"c{new[-1].text.casefold()}"),
            *(f"D{denied[0]}", f"E{denied[1]}", f"G{side}{denied[0]}", f"H{side}"),
            *(f"w{texts[1]}", f"u{forms[0]}{behind_old if behind_old == behind_new else '?'}"),
        )
        return hash_features(f"pair {one}" for one in names)

    def _describe_values(self, former: range, value: range) -> set[str]:
        """Return features of the two values and of what the texts say beside them."""
        old, new = self.old, self.new
        if not former or not value:
            return {"V-"}
        rest = {one.stem for at, one in enumerate(old) if at not in former and one.is_content}
        covered = name_share(len(rest & self.new_stems), len(rest))
        is_named = any(old[at].stem in self.new_stems for at in former)
        known = self.old_stems
        start, end = _find_clause(new, value)
        unknown = [one for at, one in enumerate(new[start:end], start) if at not in value]
        others = [one for one in unknown if one.is_content and one.stem not in known and one.form in "wCHK"]
        before = [one for one in others if one.start < new[value[0]].start]
        said = {one.stem for one in new[start:end]}
        in_clause = name_share(len(rest & said), len(rest))
        forms = f"{old[former[0]].form}{new[value[0]].form}"
        edge = [self.label(at) for at in (value[0] - 2, value[0] - 1, value[-1] + 1, value[-1] + 2)]
        (before_old, behind_old), (before_new, behind_new) = (
            find_beside(tokens, span[0], span[-1]) for tokens, span in ((old, former), (new, value))
        )
        beside = (
            f"{before_old == before_new:d}{behind_old == behind_new:d}{before_new in known:d}{behind_new in known:d}"
        )
        lost = f"{before_old in self.new_stems:d}{behind_old in self.new_stems:d}"
        counts = f"{min(len(before), 3)}{min(len(others) - len(before), 3)}"
        intents = _list_part_intents(self.message, new[value[0]].start)
        texts = [" ".join(tokens[at].text.casefold() for at in span) for tokens, span in ((old, former), (new, value))]
        kinds = [
            _find_kind(text, tokens[span[0]].form)
            for text, tokens, span in zip(texts, (old, new), (former, value), strict=True)
        ]
        is_related = texts[1] in find_family(texts[0]) or frozenset(texts) in _OPPOSITES
        related = f"{is_related:d}{kinds[0] == kinds[1]:d}"
        clause = self.message[new[start].start : new[end - 1].end]
        first, last = _find_sentence(new, value)
        sentence = self.message[new[first].start : new[last - 1].end]
        relations = [_relate(self.statement, text) for text in (clause, sentence)]
        return {
            *(
                f"R{relations[0]}",
                f"S{relations[1]}",
                f"RS{relations[0]}{relations[1]}{self.when}",
                f"RC{relations[0]}{in_clause}",
            ),
            *(f"RE{relations[0]}{edge[1]}", f"RF{relations[0]}{counts}"),
            *(
                f"Vq{related}{kinds[0]}",
                f"Vr{related}{in_clause}",
                f"Vs{kinds[0]}|{kinds[1]}",
                f"Vt{related}{self.when}{counts}",
            ),
            *(f"V1{forms}", f"V2{covered}{is_named:d}", f"V3{in_clause}{is_named:d}", f"V4{counts}{in_clause}"),
            *(
                f"V5{beside}{forms}",
                f"V6{beside}{lost}",
                f"V7{beside}{lost}{in_clause}",
                f"V8{counts}{covered}{is_named:d}",
            ),
            *(
                f"V9{edge[1]}",
                f"Va{edge[2]}",
                f"Vb{edge[0]} {edge[1]}",
                f"Vc{edge[2]} {edge[3]}",
                f"Vd{edge[1]} {edge[2]}",
            ),
            *(
                f"Ve{len(value)}{len(former)}",
                f"Vf{in_clause}{self.when}{counts}",
                f"Vg{covered}{self.when}{is_named:d}",
            ),
            *(f"Vh{one}" for one in intents),
            *(f"Vi{one}{in_clause}{is_named:d}" for one in intents),
            *(f"Vj{one.text.casefold()}" for one in unknown),
            *(f"Vk{one.text.casefold()}{in_clause}" for one in unknown if not one.is_content),
        }

    def list_value_features(self, *, of_new: bool) -> list[list[int]]:
        """Return the features that tell which tokens of the message, or of the statement, are its value."""
        mine, other = (self.new, self.old) if of_new else (self.old, self.new)
        my_stems, other_stems = (self.new_stems, self.old_stems) if of_new else (self.old_stems, self.new_stems)
        forms = [one.form for one in other if one.stem not in my_stems]
        beside = {
            (one.form, *_find_next(other, at, at))
            for at, one in enumerate(other)
            if one.stem not in my_stems and one.form != "."
        }
        befores, behinds = {(form, before) for form, before, _ in beside}, {(form, to) for form, _, to in beside}
        places: dict[str, list[int]] = {}
        for at, one in enumerate(mine):
            if one.stem not in other_stems:
                places.setdefault(one.form, []).append(at)

        def label(at: int) -> str:
            if not 0 <= at < len(mine):
                return "^" if at < 0 else "$"
            one = mine[at]
            if one.stem in other_stems and one.is_content:
                return "M"
            return one.form if one.form in "NDPC" else one.text.casefold()

        found: list[list[int]] = []
        for at, one in enumerate(mine):
            is_shared = one.stem in other_stems
            base = f"{'new' if of_new else 'old'} {one.form}{is_shared:d}{one.is_content:d}"
            before, behind = _find_next(mine, at, at)
            same = places.get(one.form, [])
            near = any(mine[to].stem in other_stems and mine[to].is_content for to in _list_near(at, len(mine)))
            names = [
                *("", "Y" if one.form in forms else "n", f"{min(forms.count(one.form), 3)}#", self.when),
                *(f"w{one.text.casefold()}", *(f"{to}{label(at + to)}" for to in (-3, -2, -1, 1, 2, 3))),
                *(f"p{label(at - 1)} {label(at + 1)}", f"<{label(at - 2)} {label(at - 1)}"),
                *(f">{label(at + 1)} {label(at + 2)}", f"l{min(len(mine), 12)}"),
                *(f"a{'first' if not at else 'last' if at == len(mine) - 1 else 'mid'}", f"~{near}"),
                *(f"k{same.index(at) if at in same else -1} {len(same)}",),
                *(f"b{(one.form, before) in befores}", f"B{(one.form, behind) in behinds}"),
            ]
            found.append(hash_features(base + name for name in names))
        return found


def _list_part_intents(message: str, at: int) -> tuple[str, ...]:
    """Return the intent of the part of a message at a place, and how probable it is that it says what has changed."""
    return next((names for start, end, names in _read_intents(message) if start <= at < end), ("none",))


@lru_cache(maxsize=8)
def _read_intents(message: str) -> list[tuple[int, int, tuple[str, ...]]]:
    """Return the place of each part of a message, and the features of its intent."""
    found: list[tuple[int, int, tuple[str, ...]]] = []
    done = 0
    for said in read_own_sentences(message):
        start = message.find(said.text, done)
        if start < 0:
            continue
        done = start
        begin = start
        for part in find_parts(said.masked, said.mark):
            changed, other = part.probabilities[_CHANGED], part.probabilities[_OTHER]
            names = (part.intent, f"p{int(changed * 5)}", f"o{int(other * 5)}", f"?{said.is_question:d}")
            found.append((begin, start + part.end, names))
            begin = start + part.end
    return found


def _list_near(at: int, length: int) -> Sequence[int]:
    return [to for to in range(max(at - 3, 0), min(at + 4, length)) if to != at]


def _find_next(tokens: Sequence[Token], first: int, last: int) -> tuple[str, str]:
    """Return the stems of the tokens directly before and behind some tokens."""
    return tokens[first - 1].stem if first else "^", tokens[last + 1].stem if last + 1 < len(tokens) else "$"


def _find_kind(text: str, form: str) -> str:
    """Return what kind of value a text is: a day, a word that has an opposite, a name of a family, or its form."""
    if text.rstrip("s") in DAYS or text in DAYS:
        return "day"
    if any(text in pair for pair in _OPPOSITES):
        return "opposite"
    if find_family(text):
        return "family"
    return f"{form} {text.rpartition(' ')[2]}" if form == "N" and " " in text else form


def _find_clause(tokens: Sequence[Token], value: range) -> tuple[int, int]:
    """Return where the clause with a value begins and ends: between the next marks such as commas."""
    start = next((at + 1 for at in reversed(range(value[0])) if tokens[at].text in _MARKS), 0)
    return start, next((at for at in range(value[-1] + 1, len(tokens)) if tokens[at].text in _MARKS), len(tokens))


def _find_sentence(tokens: Sequence[Token], value: range) -> tuple[int, int]:
    start = next((at + 1 for at in reversed(range(value[0])) if tokens[at].text in _ENDS), 0)
    return start, next((at for at in range(value[-1] + 1, len(tokens)) if tokens[at].text in _ENDS), len(tokens))


@lru_cache(maxsize=1024)
def _relate(statement: str, text: str) -> str:
    return relate_statements(statement, text)[:2]


@lru_cache(maxsize=256)
def find_change(statement: str, message: str, *, is_reply: bool) -> FoundChange:
    """Return how probable it is that a message gives a statement another value, and which values. Cached."""
    pair = ValuePair(statement, message, is_reply=is_reply)
    former, value, together = find_values(pair)
    change, end = pair.list_change_features((former, value))
    (_, probability), (_, ended) = MODEL.list_probabilities(change), MODEL.list_probabilities(end)
    return FoundChange(probability, _locate(pair.old, former), _locate(pair.new, value), ended, together)


def find_values(pair: ValuePair) -> tuple[range, range, float]:
    """Return the places of the tokens that most probably are the former and the new value, and how probable that is."""
    options = [(_logit(features), old, new) for old, new, features in list_value_pairs(pair)]
    options.sort(key=lambda one: -one[0])
    if options and _have_same_text(pair, *options[0][1:]):
        others = [one for one in options if not _have_same_text(pair, *one[1:])]
        is_denied = _is_denied(pair, options[0][2])
        options = [one for one in others if is_denied or _change_places(pair, *one[1:])] or options
    logit, old, new = next(iter(options), (-math.inf, range(0), range(0)))
    return old, new, 1 / (1 + math.exp(min(-logit, _MAX_LOGIT)))


def _logit(features: Sequence[int]) -> float:
    return MODEL.score(features, 1) - MODEL.score(features, 0)


def list_value_pairs(pair: ValuePair) -> list[tuple[range, range, list[int]]]:
    """Return the places that may be the former and the new value, with the features of each combination."""
    former, value = (_list_values(pair, of_new=of_new) for of_new in (False, True))
    return [
        (old, new, pair.list_pair_features(old, new, (rank, old_logit), (place, new_logit)))
        for rank, (old_logit, old) in enumerate(former)
        for place, (new_logit, new) in enumerate(value)
    ]


def _is_denied(pair: ValuePair, value: range) -> bool:
    """Whether a value is behind a word such as "not": "el jueves, no el martes"."""
    first = pair.new[value[0]].start
    denials = word_tables().denials.finditer(pair.message, 0, first)
    return any(all(map(is_light, pair.message[one.end() : first].split())) for one in denials)


def _change_places(pair: ValuePair, old: range, new: range) -> bool:
    """Whether two values change places: "spaces over tabs", of "tabs over spaces"."""
    first, second = (tokens[span[0]].stem for tokens, span in ((pair.old, old), (pair.new, new)))
    stems = [[one.stem for one in tokens] for tokens in (pair.old, pair.new)]
    if not all(first in one and second in one for one in stems):
        return False
    distances = [one.index(second) - one.index(first) for one in stems]
    return set(distances) == {-2, 2}  # one word between them


def _have_same_text(pair: ValuePair, old: range, new: range) -> bool:
    return [pair.old[at].text.casefold() for at in old] == [pair.new[at].text.casefold() for at in new]


def _locate(tokens: Sequence[Token], value: range) -> tuple[int, int]:
    return (tokens[value[0]].start, tokens[value[-1]].end) if value else (0, 0)


def _list_values(pair: ValuePair, *, of_new: bool) -> list[tuple[float, range]]:
    """Return the runs of tokens with the greatest sums of logits, and these, the greatest first."""
    logits = [_logit(one) for one in pair.list_value_features(of_new=of_new)]
    found: list[tuple[float, range]] = []
    for first in range(len(logits)):
        total = 0.0
        for last in range(first, min(first + _MAX_VALUE, len(logits))):
            total += logits[last]
            found.append((total, range(first, last + 1)))
    return heapq.nlargest(_MAX_OPTIONS, found, key=lambda one: one[0])
