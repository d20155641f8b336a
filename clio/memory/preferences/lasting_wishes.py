"""Find the lasting wishes, dislikes and limits that a user states in everyday words, in seven languages.

The classifier of `intents` decides which parts of a sentence are lasting: "long answers tire me", "tables are easier
for me", "the terraform folder is off limits". What is stored is the part as written, without the words before it that
mean nothing, such as "by the way". Statements in the grammar of orders and opinions are read by `stated_preferences`,
`limits` and `foreign_statements`, which also know what they are about.

`languages/wishes.json` has those words, and what restricts a statement to this project.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from msgspec import Struct, structs

from clio.memory.preferences.intents import MessagePart, find_parts
from clio.memory.preferences.own_sentences import WrittenSentence, read_own_sentences
from clio.memory.preferences.rule_files import load_rule_file
from clio.memory.preferences.stated_preferences import (
    DISLIKED,
    JOKE,
    LIKED,
    NEVER,
    Kind,
    Sentence,
    StatedPreference,
    list_about_user,
    phrase_opinion,
)

SAVED, SAVED_BESIDE, SAVED_IN_LONG, ASKED = 0.9, 0.5, 0.95, 0.86
"""Least probability that a part is lasting; the second one beside another lasting statement in its sentence, the third
one in a long message, which is mostly about the task, and the last one of a part that the user is asked about.
"""
_SHORT, _LONG = 25, 300
"""Characters of a part that is too short to be asked about or to count beside another one, and of a long message."""
_KINDS: dict[str, tuple[Kind, float]] = {
    "wish": ("preference", LIKED),
    "dislike": ("dislike", DISLIKED),
    "limit": ("rule", NEVER),
}
_JOINS = re.compile(
    r"[\s,;:–—，、]*(?:\b(?:and|but|so|just|also|only|und|aber|nur|et|mais|juste|y|pero|solo|e|mas|só))?[\s,;:–—，、]*$",
    re.I,
)
"""What joined a part to another statement behind it."""
_CJK_END = re.compile(r"([。！？])(?=\S)")


class FoundWish(Struct, frozen=True):
    """A lasting wish, dislike or limit, and the probability that it is one."""

    statement: StatedPreference
    probability: float


class WishWords(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Regular expressions of one language, which ignore case.

    Attributes:
        lead: words before a part that mean nothing, such as "by the way".
        project: searched in a sentence; restricts it to this project.
    """

    lead: str
    project: str


@cache
def _load(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    words = load_rule_file("wishes", dict[str, WishWords])[language or "en"]
    return re.compile(words.lead, re.I), re.compile(words.project, re.I)


def find_wishes(
    text: str, language: str, stated: Sequence[StatedPreference] = (), least: float | None = None
) -> list[FoundWish]:
    """Return the lasting wishes, dislikes and limits in a message, in its order.

    Args:
        stated: other lasting statements of the message; the words of limits are left out.
        least: least probability that a part is lasting; None for that of the length of the message.
    """
    lead, project = _load(language)
    asked = least
    if least is None or asked is None:
        least, asked = (SAVED, ASKED) if len(text) <= _LONG else (SAVED_IN_LONG, SAVED_IN_LONG)
    found: list[FoundWish] = []
    for said in read_own_sentences(_CJK_END.sub(r"\1\n", text)):
        if said.is_question:
            continue
        others = [one.content for one in stated if one.quote == said.text and one.kind == "rule"]
        parts = list(_list_parts(said, others))
        is_beside = any(one.quote == said.text for one in stated) or any(one.lasting >= least for one in parts)
        parts = [one for one in parts if one.intent in _KINDS]
        beside = SAVED_BESIDE if is_beside else asked
        parts = [one for one in parts if one.lasting >= (least if one.end - one.start < _SHORT else beside)]
        if parts and (JOKE.search(said.masked) or list_about_user(said.text)):
            continue
        for part in parts:
            words = lead.match(said.masked, part.start, part.end)
            content = _JOINS.sub("", said.text[words.end() if words else part.start : part.end]).strip(" .,!。！…")
            if not content:
                continue
            kind, score = _KINDS[part.intent]
            opinion = phrase_opinion(Sentence(text=content, masked=content)) if kind != "rule" else None
            if opinion is not None:
                kind, content, score = opinion.kind, opinion.content, opinion.score or score
            statement = StatedPreference(
                kind=kind,
                content=" ".join(content.split()),
                score=score,
                certain=is_beside or part.lasting >= least,
                quote=said.text,
                in_project=project.search(said.masked) is not None,
            )
            found.append(FoundWish(statement, part.lasting))
    return found


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
