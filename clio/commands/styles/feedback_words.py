"""Feedback in words: what was rated, what a rating changed, and what somebody typed for one."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from clio.algorithms.feedback import CATEGORIES, Category
from clio.commands.markdown_code import code
from clio.commands.matching import nearest
from clio.errors import UsageError

if TYPE_CHECKING:  # the line can be typed on before these are needed
    from clio.memory.feedback.feedback import Noted
    from clio.memory.feedback.trajectories import Rating
    from clio.memory.styles.styles import Learned

SIGNS = {1: "+", 0: "0", -1: "−"}
_FRACTIONS = {0.25: "¼", 0.5: "½", 0.75: "¾"}
_REASONS: Mapping[str, Category] = {name: name for name in CATEGORIES}
_FROM = {
    "you": "",
    "undo": "taken back with /undo",
    "words": "your next words",
    "tests": "a check",
    "revert": "taken back",
}


def sign(rating: "Rating") -> str:
    """What a rating says: "+", "−", "0"; what only counts a fraction says which, as "+¼"."""
    if rating.weight >= 1.0:
        return SIGNS[rating.reward]
    return SIGNS[rating.reward] + _FRACTIONS.get(rating.weight, f"{rating.weight:.2g}")


def because(rating: "Rating") -> str:
    """Why: the person's reason and words, else what it was a sign of."""
    if rating.source == "you":
        words = f"“{rating.text}”" if rating.text else ""
        return " · ".join(part for part in (rating.reason or "", words) if part)
    return f"{_FROM[rating.source]}: {rating.note}" if rating.note else _FROM[rating.source]


def counted(number: float) -> str:
    """What a style earned, in which fractions count: "3", "2.25"."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def earned(ups: float, downs: float) -> str:
    """Ups and downs: "3↑ 5↓"."""
    return f"{counted(ups)}↑ {counted(downs)}↓"


def learned_line(learned: "Learned") -> str:
    """What a rating changed of a style: its ups, downs and confidence where it was used."""
    before, after = learned.before, learned.after
    return (
        f"{code(learned.style)} in {learned.bucket} {earned(after.ups, after.downs)} · "
        f"confidence {before.confidence:.2f} → {after.confidence:.2f}"
    )


def noted_line(noted: "Noted", *, styles_on: bool) -> str:
    """One line about a rating that was just given."""
    rating = noted.rating
    why = f" {because(rating)}" if because(rating) else ""
    before = noted.changed
    instead = f", instead of {SIGNS[before.reward]}" if before and before.reward != rating.reward else ""
    said = f"{SIGNS[rating.reward]}{why}{instead}"
    if noted.learned is not None:
        return f"Noted: {said} · {learned_line(noted.learned)}"
    about = f" for {code(noted.turn.question)}" if noted.turn.question else ""
    if not styles_on:
        return f"Kept: {said}{about}. Styles are off, so none learns from it; `/style on` lets ratings teach them."
    if not noted.turn.style:
        return f"Kept: {said}{about}. That answer had no style, so none learns from it."
    return f"Noted: {said} · {code(noted.turn.style)} in {noted.turn.bucket} stays as it was"


def noted_data(noted: "Noted") -> dict[str, Any]:
    """The same in JSON's own types."""
    return {
        "rating": rating_data(noted.rating),
        "question": noted.turn.question,
        "session": noted.turn.session,
        "style": noted.turn.style or None,
        "context": noted.turn.bucket or None,
        "learned": msgspec.to_builtins(noted.learned),
        "replaced": rating_data(noted.changed) if noted.changed else None,
    }


def rating_data(rating: "Rating") -> dict[str, Any]:
    """A rating in JSON's own types, all its fields."""
    return {name: getattr(rating, name) for name in rating.__struct_fields__}


def reason_and_text(argument: str) -> tuple[Category | None, str]:
    """The reason an argument begins with, if it does, and the words behind it, without quotes round the whole.

    A reason is written as one word or as two: "too_verbose", "too-verbose", "too verbose". Raises UsageError for
    something that is nearly one.
    """
    words = argument.split(maxsplit=2)
    for length in (1, 2):
        name = "_".join(words[:length]).lower().replace("-", "_")
        if found := _REASONS.get(name):
            return found, _unquoted(argument.split(maxsplit=length)[length:])
    if words and "_" in words[0]:
        raise UsageError(f"There is no reason {words[0]!r}; {nearest(words[0], CATEGORIES)}")
    return None, _unquoted([argument])


def _unquoted(rest: list[str]) -> str:
    text = rest[0].strip() if rest else ""
    return text[1:-1].strip() if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'" else text
