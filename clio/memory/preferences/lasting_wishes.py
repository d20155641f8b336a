"""Find the lasting wishes and dislikes that a user states in everyday words, in seven languages.

The classifier of `intents` decides which parts of a sentence are lasting: "long answers tire me", "tables are easier
for me". What is stored is the part as written, without the words before it that mean nothing, such as "by the way"; of
an opinion, only what is liked or disliked. Limits are found by `limits`, in the same way.

`languages/wishes.json` has those words, and what restricts a statement to this project.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal

from msgspec import Struct, structs

from clio.memory.preferences.intents import MessagePart, find_parts
from clio.memory.preferences.own_sentences import CJK_END, WrittenSentence, read_own_sentences
from clio.memory.preferences.rule_files import load_rule_file
from clio.memory.preferences.stated_preferences import (
    DISLIKED,
    JOKE,
    LIKED,
    Kind,
    Sentence,
    StatedPreference,
    list_about_user,
    phrase_opinion,
)

OPINION_SAVED = 0.7
"""Least probability that an opinion in a grammar of `WishWords.tastes` lasts, to save it."""
SAVED, SAVED_BESIDE, SAVED_IN_LONG, ASKED = 0.9, 0.5, 0.95, 0.86
"""Least probability that a part is lasting; the second one beside another lasting statement in its sentence, the third
one in a long message, which is mostly about the task, and the last one of a part that the user is asked about.
"""
_SHORT, _LONG = 25, 300
"""Characters of a part that is too short to be asked about or to count beside another one, and of a long message."""
_KINDS: dict[str, tuple[Kind, float]] = {"wish": ("preference", LIKED), "dislike": ("dislike", DISLIKED)}
_WANTED = re.compile(
    r"(?:.*\s)?i (?:always |really |generally )*(?:want|like|prefer|love)\b(?!.*(?:\b(?:no|not|never)\b|n't))", re.I
)
"""A limit that says what the user wants, and so is a wish: "I always want small commits"."""
_JOINS = re.compile(
    r"[\s,;:–—，、]*(?:\b(?:and|but|so|just|also|only|und|aber|nur|et|mais|juste|y|pero|solo|e|mas|só))?[\s,;:–—，、]*$",
    re.I,
)
"""What joined a part to another statement behind it."""


class FoundWish(Struct, frozen=True):
    """A lasting wish or dislike, and the probability that it lasts."""

    statement: StatedPreference
    probability: float


class WishWords(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Regular expressions of one language, which ignore case.

    Attributes:
        lead: words before a part that mean nothing, such as "by the way".
        project: searched in a sentence; restricts it to this project.
        limit_lead, limit_project: the same for limits only, such as "remember that" and "we".
        tastes: what is preferred, liked and disliked, in the only group that matches: "ich hasse (Mocks)". English
            opinions are read by `stated_preferences`.
        no_taste: beginnings of what is liked in one place only, or means nothing alone: "the second one", "that you …".
    """

    lead: str
    project: str
    limit_lead: str
    limit_project: str
    tastes: dict[Literal["preferred", "liked", "disliked"], str] = {}
    no_taste: str = "(?!)"


@cache
def load_wish_words(language: str, *, of_limits: bool = False) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of `WishWords.lead` and `WishWords.project` of a language; "" is English."""
    words = load_rule_file("wishes", dict[str, WishWords])[language or "en"]
    if of_limits:
        return re.compile(f"(?:{words.lead}|{words.limit_lead})+", re.I), re.compile(
            f"{words.project}|{words.limit_project}", re.I
        )
    return re.compile(words.lead, re.I), re.compile(words.project, re.I)


def find_wishes(
    text: str, language: str, stated: Sequence[StatedPreference] = (), least: float | None = None
) -> list[FoundWish]:
    """Return the lasting wishes and dislikes in a message, in its order.

    Args:
        stated: other lasting statements of the message; the words of limits are left out.
        least: least probability that a part is lasting; None for that of the length of the message.
    """
    lead, project = load_wish_words(language)
    asked = least
    if least is None or asked is None:
        least, asked = (SAVED, ASKED) if len(text) <= _LONG else (SAVED_IN_LONG, SAVED_IN_LONG)
    found: list[FoundWish] = []
    for said in read_own_sentences(CJK_END.sub(r"\1\n", text)):
        if said.is_question:
            continue
        others = [one.content for one in stated if one.quote == said.text and one.kind == "rule"]
        parts = [_as_wish(said.masked, one) for one in _list_parts(said, others)]
        is_beside = any(one.quote == said.text for one in stated) or any(one.lasting >= least for one in parts)
        parts = [one for one in parts if one.intent in _KINDS]
        beside = SAVED_BESIDE if is_beside else asked
        tastes = {one: _find_taste(_get_words(said, one, lead), language) for one in parts}
        levels = {one: OPINION_SAVED if tastes[one] else least for one in parts}
        short = {one: one.end - one.start < _SHORT for one in parts}
        parts = [one for one in parts if one.lasting >= min(levels[one], 1.0 if short[one] else beside)]
        if parts and (JOKE.search(said.masked) or list_about_user(said.text)):
            continue
        for part in parts:
            content = _get_words(said, part, lead)
            if not content:
                continue
            kind, score = _KINDS[part.intent]
            opinion = phrase_opinion(Sentence(text=content, masked=content)) if not language else None
            if opinion is not None:
                kind, content, score = opinion.kind, opinion.content, opinion.score or score
            elif taste := tastes[part]:
                content, (kind, score) = taste
            statement = StatedPreference(
                kind=kind,
                content=" ".join(content.split()),
                score=score,
                certain=is_beside or part.lasting >= levels[part],
                quote=said.text,
                in_project=project.search(said.masked) is not None,
            )
            found.append(FoundWish(statement, part.lasting))
    return found


def is_wanted(masked: str, part: MessagePart) -> bool:
    """Whether a part of a sentence says what the user wants, and forbids nothing."""
    return part.intent == "limit" and _WANTED.match(masked[part.start : part.end]) is not None


def _as_wish(masked: str, part: MessagePart) -> MessagePart:
    return structs.replace(part, intent="wish") if is_wanted(masked, part) else part


def _get_words(said: WrittenSentence, part: MessagePart, lead: re.Pattern[str]) -> str:
    """Return a part of a sentence as written, without words around it that mean nothing."""
    words = lead.match(said.masked, part.start, part.end)
    return _JOINS.sub("", said.text[words.end() if words else part.start : part.end]).strip(" .,!。！…")


def _find_taste(text: str, language: str) -> tuple[str, tuple[Kind, float]] | None:
    """Return what a text says the user likes or dislikes, with kind and score: "Mocks" of "ich hasse Mocks"."""
    words = load_rule_file("wishes", dict[str, WishWords])[language or "en"]
    for name, pattern in words.tastes.items():
        told = re.match(pattern, text, re.I)
        thing = "".join(filter(None, told.groupdict().values())).strip(" .,!。！") if told else ""
        if thing and not re.match(words.no_taste, thing, re.I):
            return thing, _KINDS["dislike" if name == "disliked" else "wish"]
    return None


def _list_parts(said: WrittenSentence, others: Sequence[str]) -> Iterator[MessagePart]:
    """Yield the parts of a sentence without other statements that are in it as written."""
    start = 0
    places = sorted((at, at + len(one)) for one in others if (at := said.text.find(one)) >= 0)
    for stop, end in [*places, (len(said.text), len(said.text))]:
        mark = said.mark if end == len(said.text) and stop == end else ""
        if (piece := said.masked[start:stop]).strip(" ,;:"):
            for part in find_parts(piece, mark):
                yield structs.replace(part, start=part.start + start, end=part.end + start)
        start = max(start, end)
