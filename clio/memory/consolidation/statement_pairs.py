"""A statement in memory and a message of the user, as the models read them that tell what one does to the other.

Their features are the words of the message, those that the statement has as placeholders, the forms of words such as
numbers and names, what both have beside these, and the intents of the message's parts.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from clio.memory.preferences.intents import INTENTS, find_parts
from clio.memory.preferences.own_sentences import read_own_sentences

_CHANGED = INTENTS.index("changed")
_TOKEN = re.compile(
    r"https?://\S+|[\u3040-\u309f]+|[\u30a0-\u30ff]+|[\u3400-\u9fff]"
    r"|[^\W_\u3040-\u30ff\u3400-\u9fff][\w.:/@#-]*[^\W_\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]|[^\w\s]"
)
STOP_WORDS = frozenset(
    (
        "a an the is are was were be been of in on at to for and or we our us i my it its it's this that with by "
        "from as has have had do does der die das ein eine ist sind im in auf und wir unser unsere le la les un "
        "une est sont des du de nous notre el los las una es son del nuestro nuestra en o os um uma é são no na do "
        "da nosso nossa e y et のは が を に で と も の は 的 是 在 了 我 们 "
    ).split()
)
_ENDINGS = ("ing", "ed", "es", "s", "en", "e")


class Token(Struct, frozen=True):
    """A word, number or mark of a text.

    Attributes:
        form: "N" number or version, "D" other with a digit, "P" path or identifier, "C" capitalized, "K" kana,
            "H" Chinese character, "." mark, "w" other word.
    """

    text: str
    start: int
    end: int
    stem: str
    form: str

    @property
    def is_content(self) -> bool:
        """Whether it tells what a text is about."""
        return self.form != "." and self.text.casefold() not in STOP_WORDS


@lru_cache(maxsize=64)
def tokenize(text: str) -> tuple[Token, ...]:
    """Return the tokens of a text, in order."""
    return tuple(
        Token(one[0], one.start(), one.end(), _stem(one[0]), _find_form(one[0]))
        for one in _TOKEN.finditer(text.replace("’", "'"))
    )


def _stem(word: str) -> str:
    word = word.casefold().strip(".:-")
    return next((word.removesuffix(end) for end in _ENDINGS if len(word) > len(end) + 3 and word.endswith(end)), word)


def _find_form(word: str) -> str:
    if re.fullmatch(r"v?\d[\d.,:]*%?", word):
        return "N"
    if re.search(r"\d", word):
        return "D"
    if len(word) > 2 and re.search(r"[./:@_#-]", word):
        return "P"
    if re.match(r"[\u3040-\u30ff]", word):
        return "K"
    if re.match(r"[\u3400-\u9fff]", word):
        return "H"
    if re.match(r"\W", word):
        return "."
    return "C" if word[0].isupper() else "w"


class Pair:
    """A statement and a message. is_reply: whether the message before stated it."""

    def __init__(self, statement: str, message: str, *, is_reply: bool) -> None:
        self.old, self.new = tokenize(statement), tokenize(message)
        self.when = "reply" if is_reply else "later"
        self.old_stems = {one.stem for one in self.old}
        self.new_stems = {one.stem for one in self.new}
        self.content = {one.stem for one in self.old if one.is_content}
        self.statement, self.message = statement, message

    def list_names(self) -> set[str]:
        """Return the names of features of what the message says about the statement."""
        old, new, content = self.old, self.new, self.content
        found: set[str] = set()
        words = ["^"]
        for one in new:
            if one.stem in content:
                word = "M" if one.form in "wCHK" else f"M{one.form}"
            else:
                word = one.form if one.form in "NDPC" else one.text.casefold()
            if word != "M" or words[-1] != "M":
                words.append(word)
        words.append("$")
        for at, word in enumerate(words):
            found.add(f"1{word}")
            found.update(f"{size}{' '.join(words[at : at + size])}" for size in (2, 3) if at + size <= len(words))
            if at + 2 < len(words):
                found.add(f"4{word} {words[at + 2]}")
        told = [word for word in words if word not in STOP_WORDS]
        found.update(f"5{' '.join(told[at : at + 2])}" for at in range(len(told) - 1))
        found.update(f"6{' '.join(told[at : at + 3])}" for at in range(len(told) - 2))
        raw = [one.text.casefold() for one in new]
        found.update(f"r{' '.join(raw[at : at + size])}" for size in (1, 2) for at in range(len(raw) - size + 1))
        covered = self.describe_coverage()
        length = "s" if len(new) < 4 else "m" if len(new) < 10 else "l"
        free, other = (
            {one.form for one in mine if one.stem not in theirs}
            for mine, theirs in ((old, self.new_stems), (new, self.old_stems))
        )
        same = "".join(sorted(free & other - set(".wH")))
        gone = "".join(sorted({one.form for one in old if one.stem in self.new_stems and one.form in "NDPC"}))
        unknown = sum(one.stem not in self.old_stems and one.is_content and one.form in "wC" for one in new)
        found.update(
            (
                *(f"W{self.when}", f"W{self.when}{length}", f"c{covered}", f"c{covered}{self.when}{length}"),
                *(f"s{same}", f"s{same}{covered}", f"s{same}{covered}{self.when}", f"g{gone}{same}"),
                *(f"g{gone}{covered}", f"u{min(unknown, 8)}{covered}", f"q{raw[-1] if raw else ''}{covered}"),
            )
        )
        for intent in _list_intents(self.message):
            found.update((f"i{intent}", f"i{intent}{covered}", f"i{intent}{same}"))
        for at, one in enumerate(old):
            if one.stem in self.new_stems or one.form in ".w":
                continue
            for place, value in enumerate(new):
                if value.stem in self.old_stems or value.form != one.form:
                    continue
                before, behind = find_beside(old, at, at)
                new_before, new_behind = find_beside(new, place, place)
                beside = f"{one.form}{before == new_before}{behind == new_behind}"
                known = f"{new_before in content}{new_behind in content}"
                found.update((f"x{beside}", f"x{beside}{covered}", f"y{one.form}{known}{covered}"))
                found.add(f"z{one.form} {'M' if new_before in content else new_before}")
                found.add(f"Z{one.form} {'M' if new_behind in content else new_behind}")
        return found

    def label(self, at: int) -> str:
        """Return a word of the message as features name it: "M" if the statement has it, else its form or text."""
        if not 0 <= at < len(self.new):
            return "^" if at < 0 else "$"
        one = self.new[at]
        if one.stem in self.old_stems and one.is_content:
            return "M"
        return one.form if one.form in "NDPC" else one.text.casefold()

    def describe_coverage(self) -> str:
        """Return which part of the statement's words the message has."""
        return name_share(len(self.content & self.new_stems), len(self.content))


@lru_cache(maxsize=8)
def list_part_probabilities(message: str) -> tuple[tuple[float, ...], ...]:
    """Return the probabilities of the intents of each part of a message."""
    sentences = read_own_sentences(message)
    return tuple(part.probabilities for said in sentences for part in find_parts(said.masked, said.mark))


def find_part_probability(message: str, intent: str) -> float:
    """Return how probable an intent is of the part of a message that most probably has it."""
    return max((one[INTENTS.index(intent)] for one in list_part_probabilities(message)), default=0.0)


@lru_cache(maxsize=8)
def _list_intents(message: str) -> frozenset[str]:
    """Return the intents of a message's parts, and how probable it is that one says that a fact has changed."""
    parts = list_part_probabilities(message)
    changed = max((one[_CHANGED] for one in parts), default=0.0)
    return frozenset((*(INTENTS[one.index(max(one))] for one in parts), f"p{int(changed * 5)}"))


def find_beside(tokens: Sequence[Token], first: int, last: int) -> tuple[str, str]:
    """Return the stems of the words before and behind some tokens, without stop words."""
    before = next((one.stem for one in reversed(tokens[:first]) if one.text.casefold() not in STOP_WORDS), "^")
    return before, next((one.stem for one in tokens[last + 1 :] if one.text.casefold() not in STOP_WORDS), "$")


def name_share(part: int, whole: int) -> str:
    """Return a word for the share of a part: "full", "most", "half", "some", "none"; "empty" of nothing."""
    share = part / max(whole, 1)
    names = ((0.99, "full"), (0.6, "most"), (0.4, "half"), (0.01, "some"))
    return next((name for least, name in names if share >= least), "none" if whole else "empty")
