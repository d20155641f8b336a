"""/feedback: what the person thinks of answers, and what was learned from it."""

import time
from collections.abc import Iterable
from typing import Literal

from clio.algorithms.feedback import CATEGORIES
from clio.commands.command import Command, Handler, Shell, Suggestion
from clio.commands.memory.access import remembers
from clio.commands.memory.words import count, short_age
from clio.commands.result import CommandResult, refuse
from clio.commands.styles.feedback_words import (
    SIGNS,
    because,
    noted_data,
    noted_line,
    rating_data,
    reason_and_text,
    sign,
)
from clio.commands.tables import Table

_SHOWN = 20
_NOTHING = (
    "No answer was rated yet. `/feedback +` or `/feedback -` rates the last one; so does `+` or `-` and Enter on an "
    "empty line after it."
)
_REASONS = {
    "too_verbose": "it says too much",
    "too_brief": "it says too little",
    "wrong_tone": "it says it in the wrong way",
    "not_helpful": "it does not help",
    "incorrect_info": "it is wrong",
}


@remembers
def recent(shell: Shell, argument: str) -> CommandResult:
    """What was rated last, by the person and by signs."""
    if argument:
        return refuse("/feedback takes +, - or 0, then a reason or your own words; alone it lists what was rated")
    found = [(one.turn, rating) for one in shell.memory.feedback.recent(_SHOWN) for rating in one.ratings]
    found = sorted(found, key=lambda pair: -pair[1].at)[:_SHOWN]
    data = [
        rating_data(rating) | {"question": turn.question, "style": turn.style or None, "session": turn.session}
        for turn, rating in found
    ]
    if not found:
        return CommandResult(text=_NOTHING, data=data)
    now = time.time()
    rows = tuple(
        (sign(rating), turn.question or "–", because(rating) or "–", turn.style or "–", short_age(now, rating.at))
        for turn, rating in found
    )
    signs = sum(rating.weight < 1.0 for _, rating in found)
    noticed = f" {count(signs, 'is a sign', 'are signs')} that clio noticed and counts in part." if signs else ""
    return CommandResult(
        text=f"{count(len(found), 'rating')}, the newest first.{noticed}",
        table=Table(columns=("", "answer to", "why", "style", "age"), rows=rows, wide=1, cut=True),
        data=data,
    )


def rate(reward: Literal[-1, 0, 1]) -> Handler:
    """The handler of one of the signs."""

    @remembers
    def handler(shell: Shell, argument: str) -> CommandResult:
        reason, text = reason_and_text(argument)
        noted = shell.memory.feedback.rate(reward, reason=reason, text=text)
        return CommandResult(text=noted_line(noted, styles_on=shell.memory.styles.is_on), data=noted_data(noted))

    return handler


@remembers
def take_back(shell: Shell, argument: str) -> CommandResult:
    """Forget what the person said of the last answer."""
    if argument:
        return refuse("/feedback undo takes nothing; it takes back what you said of the last answer")
    noted = shell.memory.feedback.withdraw()
    before = noted.changed
    said = f"{SIGNS[before.reward]} {because(before)}".rstrip() if before else ""
    text = f"Taken back: {said} for “{noted.turn.question}”; what it taught is taken back with it."
    return CommandResult(text=text, data=noted_data(noted))


def suggest_reasons(shell: Shell) -> Iterable[Suggestion]:
    """The reasons, each with what it means."""
    return (Suggestion(text=name, note=_REASONS[name]) for name in CATEGORIES)


_ARGUMENT = "[REASON] [TEXT]"
FEEDBACK = (
    Command(
        name="feedback",
        aliases=("fb",),
        summary="say how the last answer was; alone: what was rated",
        handler=recent,
        subcommands=(
            Command(
                name="+",
                aliases=("up", "good", "+1"),
                argument=_ARGUMENT,
                summary="the last answer was good",
                handler=rate(1),
            ),
            Command(
                name="-",
                aliases=("down", "bad", "-1", "−"),
                argument=_ARGUMENT,
                summary="it was not",
                handler=rate(-1),
                suggest=suggest_reasons,
            ),
            Command(
                name="0",
                aliases=("neutral", "ok"),
                argument=_ARGUMENT,
                summary="neither; takes the place of what was said before",
                handler=rate(0),
            ),
            Command(name="undo", summary="take back what you said of the last answer", handler=take_back),
        ),
    ),
)
