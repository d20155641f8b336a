"""What noticing works with: one thing a person said, and a sentence of theirs as its rules take it apart."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct, structs

from clio.memory.preferences.notice_words import TAIL
from clio.text.lazy_regex import LazyRegex

Kind = Literal["rule", "preference", "dislike", "praise", "complaint", "fact"]
NEVER, ALWAYS, LIKED, DISLIKED, HATED = 0.5, 10.0, 9.0, 2.5, 2.0


class Noticed(Struct, frozen=True, kw_only=True):
    """One thing a person said.

    content: it in a form that stands alone, such as "never use tabs". score: 0 to 10; None for a fact.
    certain: whether it may be recorded at once; else the person is to be asked. quote: the sentence as written.
    scenario: the kind of work the sentence limits itself to, if it does.
    in_project: whether it is meant for the project at hand, not for all of the user's work.
    """

    kind: Kind
    content: str
    score: float | None
    certain: bool
    quote: str
    scenario: str | None = None
    in_project: bool = False


class Sentence(Struct, frozen=True, kw_only=True):
    """What is left of a sentence, as written and masked, both of the same length. sure: whether it may be certain."""

    text: str
    masked: str
    sure: bool = True
    standing: bool = False
    scoped: bool = False

    def after(self, end: int, **changes: bool) -> "Sentence":
        """The rest from a place on."""
        rest = self.masked[end:]
        end += len(rest) - len(rest.lstrip())
        return structs.replace(self, text=self.text[end:], masked=self.masked[end:], **changes)

    def without_tail(self, tail: LazyRegex) -> "Sentence":
        """Without words at its end that say nothing of the matter."""
        found = tail.search(self.masked)
        end = found.start() if found else len(self.masked)
        return structs.replace(self, text=self.text[:end], masked=self.masked[:end])


Rule = Callable[[Sentence], Noticed | None]


def first(part: Sentence, rules: tuple[Rule, ...]) -> Noticed | None:
    """What the first rule makes of a sentence that makes anything of it."""
    return next((found for rule in rules if (found := rule(part)) is not None), None)


def made(kind: Kind, content: str, score: float | None, *, certain: bool) -> Noticed:
    """One thing noticed, its content without words at the end that say nothing."""
    content = TAIL.sub("", " ".join(content.split()))
    return Noticed(kind=kind, content=content, score=score, certain=certain, quote="")


def small(text: str) -> str:
    """Its first letter small, unless the word is written in another way on purpose, such as API."""
    first = text.split(" ", 1)[0]
    return (
        text[:1].lower() + text[1:]
        if first[1:].islower() or len(first) == 1 or (first.isupper() and len(first) > 4)
        else text
    )
