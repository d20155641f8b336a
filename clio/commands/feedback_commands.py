"""/feedback: the user's ratings of answers, as a command or as a line such as “+” or “- too long”."""

import re
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from clio.commands.arguments import suggest_name
from clio.commands.command import (
    Command,
    CommandContext,
    CommandResult,
    Handler,
    Suggestion,
    Table,
    make_refusal,
    quote_code,
)
from clio.commands.memory.memory_text import format_short_age, requires_memory
from clio.errors import UsageError
from clio.memory.styles.feedback import CATEGORIES, Category, classify_complaint
from clio.text.translation import mark, tr, tr_count

if TYPE_CHECKING:
    from clio.memory.styles.feedback import Noted, Rating
    from clio.memory.styles.styles import LearnedReward


SIGNS = {1: "+", 0: "0", -1: "−"}
_FRACTIONS = {0.25: "¼", 0.5: "½", 0.75: "¾"}
_REASONS: Mapping[str, Category] = {name: name for name in CATEGORIES}
_FROM = {
    "you": "",
    "undo": mark("reverted with /undo"),
    "words": mark("your next message"),
    "tests": "a check",
    "revert": "reverted",
}


def format_reward(rating: "Rating") -> str:
    """Return the sign of a rating: "+", "−", "0"; with its fraction if it counts in part, as "+¼"."""
    if rating.weight >= 1.0:
        return SIGNS[rating.reward]
    return SIGNS[rating.reward] + _FRACTIONS.get(rating.weight, f"{rating.weight:.2g}")


def format_reason(rating: "Rating") -> str:
    """Return the reason of a rating: the user's reason and text, else what it was inferred from."""
    if rating.source == "you":
        words = f"“{rating.text}”" if rating.text else ""
        return " · ".join(part for part in (rating.reason or "", words) if part)
    return f"{tr(_FROM[rating.source])}: {rating.note}" if rating.note else tr(_FROM[rating.source])


def format_number(number: float) -> str:
    """Format a style's count, in which fractions are possible: "3", "2.25"."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def format_votes(ups: float, downs: float) -> str:
    """Format ups and downs: "3↑ 5↓"."""
    return f"{format_number(ups)}↑ {format_number(downs)}↓"


def describe_learned(learned: "LearnedReward") -> str:
    """Describe how a rating changed a style: its ups, downs and confidence where it was used."""
    before, after = learned.before, learned.after
    return tr(
        "{style} in {bucket} {votes} · confidence {confidence:.2f} → {confidence2:.2f}",
        style=quote_code(learned.style),
        bucket=learned.bucket,
        votes=format_votes(after.ups, after.downs),
        confidence=before.confidence,
        confidence2=after.confidence,
    )


def describe_rating(noted: "Noted", *, styles_on: bool) -> str:
    """Return one line about a new rating."""
    rating = noted.rating
    why = f" {format_reason(rating)}" if format_reason(rating) else ""
    before = noted.changed
    instead = (
        tr(", instead of {signs}", signs=SIGNS[before.reward]) if before and before.reward != rating.reward else ""
    )
    said = f"{SIGNS[rating.reward]}{why}{instead}"
    if noted.learned is not None:
        return tr("Noted: {said} · {learned}", said=said, learned=describe_learned(noted.learned))
    about = tr(" for {question}", question=quote_code(noted.turn.question)) if noted.turn.question else ""
    if not styles_on:
        return tr(
            "Saved: {said}{about}. Styles are off, so nothing is learned from it; `/style on` turns them on.",
            said=said,
            about=about,
        )
    if not noted.turn.style:
        return tr(
            "Saved: {said}{about}. That answer had no style, so nothing is learned from it.", said=said, about=about
        )
    return tr(
        "Noted: {said} · {style} in {bucket} is unchanged",
        said=said,
        style=quote_code(noted.turn.style),
        bucket=noted.turn.bucket,
    )


def make_noted_data(noted: "Noted") -> dict[str, Any]:
    """Return a new rating in JSON types."""
    return {
        "rating": make_rating_data(noted.rating),
        "question": noted.turn.question,
        "session": noted.turn.session,
        "style": noted.turn.style or None,
        "context": noted.turn.bucket or None,
        "learned": msgspec.to_builtins(noted.learned),
        "replaced": make_rating_data(noted.changed) if noted.changed else None,
    }


def make_rating_data(rating: "Rating") -> dict[str, Any]:
    """Return all fields of a rating in JSON types."""
    return {name: getattr(rating, name) for name in rating.__struct_fields__}


def split_reason(argument: str) -> tuple[Category | None, str]:
    """Split an argument into the reason it begins with, if any, and the text after it, without quotes around the whole.

    A reason may be written as "too_verbose", "too-verbose" or "too verbose". Raises UsageError for a near miss.
    """
    words = argument.split(maxsplit=2)
    for length in (1, 2):
        name = "_".join(words[:length]).lower().replace("-", "_")
        if found := _REASONS.get(name):
            return found, _remove_quotes(argument.split(maxsplit=length)[length:])
    # An underscore is never typed in a sentence, so this is a misspelt reason and no text.
    if words and "_" in words[0]:
        raise UsageError(
            tr(
                "There is no reason {words!r}; {suggest_name}",
                words=words[0],
                suggest_name=suggest_name(words[0], CATEGORIES),
            )
        )
    return None, _remove_quotes([argument])


def _remove_quotes(rest: list[str]) -> str:
    text = rest[0].strip() if rest else ""
    return text[1:-1].strip() if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'" else text


_MAX_RATINGS_SHOWN = 20
_NO_RATING = mark(
    "No answer has been rated yet. `/feedback +` or `/feedback -` rates the last one; so does `+` or `-` and "
    "Enter on an empty line after it."
)
_REASON_WORDS = {
    "too_verbose": mark("too long"),
    "too_brief": mark("too short"),
    "wrong_tone": mark("wrong tone"),
    "not_helpful": mark("not helpful"),
    "incorrect_info": "wrong",
}


@requires_memory
def show_recent_ratings(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the last ratings, by the user and inferred."""
    if argument:
        return make_refusal(tr("/feedback takes +, - or 0, then a reason or your own text; alone it lists the ratings"))
    found = [(one.turn, rating) for one in ctx.memory.feedback.recent(_MAX_RATINGS_SHOWN) for rating in one.ratings]
    found = sorted(found, key=lambda pair: -pair[1].at)[:_MAX_RATINGS_SHOWN]
    data = [
        make_rating_data(rating) | {"question": turn.question, "style": turn.style or None, "session": turn.session}
        for turn, rating in found
    ]
    if not found:
        return CommandResult(text=tr(_NO_RATING), data=data)
    now = time.time()
    rows = tuple(
        (
            format_reward(rating),
            turn.question or "–",
            format_reason(rating) or "–",
            turn.style or "–",
            format_short_age(now, rating.at),
        )
        for turn, rating in found
    )
    signs = sum(rating.weight < 1.0 for _, rating in found)
    noticed = (
        tr(" {was_count} inferred by clio and counts only in part.", was_count=tr_count(signs, "was", "were"))
        if signs
        else ""
    )
    return CommandResult(
        text=tr("{ratings}, the newest first.{noticed}", ratings=tr_count(len(found), "rating"), noticed=noticed),
        table=Table(
            columns=("", tr("answer to"), tr("why"), tr("style"), tr("age")),
            rows=rows,
            wide_column=1,
            is_truncated=True,
        ),
        data=data,
    )


def make_rate_handler(reward: Literal[-1, 0, 1]) -> Handler:
    """Return the handler of one of the signs."""

    @requires_memory
    def handler(ctx: CommandContext, argument: str) -> CommandResult:
        reason, text = split_reason(argument)
        noted = ctx.memory.feedback.rate(reward, reason=reason, text=text)
        return CommandResult(
            text=describe_rating(noted, styles_on=ctx.memory.styles.is_on), data=make_noted_data(noted)
        )

    return handler


@requires_memory
def withdraw_rating(ctx: CommandContext, argument: str) -> CommandResult:
    """Remove the user's rating of the last answer."""
    if argument:
        return make_refusal(tr("/feedback undo takes no argument; it removes your rating of the last answer"))
    noted = ctx.memory.feedback.withdraw()
    before = noted.changed
    said = f"{SIGNS[before.reward]} {format_reason(before)}".rstrip() if before else ""
    text = tr("Removed {said} for “{question}”, and what was learned from it.", said=said, question=noted.turn.question)
    return CommandResult(text=text, data=make_noted_data(noted))


def suggest_reasons(ctx: CommandContext) -> Iterable[Suggestion]:
    """Complete the reasons, each with its meaning."""
    return (Suggestion(text=name, note=tr(_REASON_WORDS[name])) for name in CATEGORIES)


_ARGUMENT = "[REASON] [TEXT]"
FEEDBACK = (
    Command(
        name="feedback",
        aliases=("fb",),
        summary=mark("rate the last answer; without arguments, list the ratings"),
        handler=show_recent_ratings,
        subcommands=(
            Command(
                name="+",
                aliases=("up", "good", "+1"),
                argument=_ARGUMENT,
                summary=mark("the last answer was good"),
                handler=make_rate_handler(1),
            ),
            Command(
                name="-",
                aliases=("down", "bad", "-1", "−"),
                argument=_ARGUMENT,
                summary=mark("the last answer was not good"),
                handler=make_rate_handler(-1),
                suggest=suggest_reasons,
            ),
            Command(
                name="0",
                aliases=("neutral", "ok"),
                argument=_ARGUMENT,
                summary=mark("neutral; replaces your earlier rating"),
                handler=make_rate_handler(0),
            ),
            Command(name="undo", summary=mark("remove your rating of the last answer"), handler=withdraw_rating),
        ),
    ),
)


MAX_WORDS = 8
_SIGNS: dict[str, Literal[-1, 1]] = {"+": 1, "-": -1, "−": -1}
_VERDICTS = {1: mark("was good"), -1: mark("was not good")}
_COMPLAINTS: dict[Category, str] = {
    "too_verbose": mark("was too verbose"),
    "too_brief": mark("was too brief"),
    "wrong_tone": mark("had the wrong tone"),
    "not_helpful": mark("did not help"),
    "incorrect_info": mark("was wrong"),
}
# Phrases that can only be about an answer: "too long", "way too much text", "that's not right", "you missed the point".
_ABOUT_ANSWER = re.compile(
    r"(?:(?:way|much|far|a (?:bit|little)|just|still|again|really|so) )*(?:"
    r"too (?:much|many) (?:text|words?|details?|explanations?|prose|information|info|emojis?|comments?|talk)\b|"
    r"too (?!much|many)\w+[.,!]*(?: (?:for me|again|please|this time|and|but)\b.*)?$|"
    r"(?:it|that|this|the answer|your \w+)(?:'s| is| was| isn't| wasn't| doesn't| does not| didn't| did not) .+|"
    r"you(?:'re| are| were| wrote| repeat| ramble\w*| missed| made| got| didn't| did not)\b.*|"
    r"not enough(?: (?:details?|explanations?|context|depth|examples?))?[.!]*$|"
    r"not (?:helpful|useful|what i|true|right|correct)\b.*)"
)
_PRAISE = re.compile(
    r"(?:(?:very|really|so|that was|this was|it was|much) )*(?:good|great|nice|perfect|excellent|helpful|thanks|"
    r"thank you|better|concise|clear|love it|exactly|lovely|short|to the point)\b(?: (?:one|answer|work|job|length|"
    r"tone|style|like this|this time|again|and|so|more|of|it|that|this|please|thanks|you|short|clear|concise))*[.!]*"
)


class QuickRating(Struct, frozen=True, kw_only=True):
    """A rating as it was typed. words: the text after the sign."""

    reward: Literal[-1, 1]
    words: str = ""

    @property
    def command(self) -> str:
        """The equivalent command."""
        return f"/feedback {'+' if self.reward > 0 else '-'} {self.words}".rstrip()

    @property
    def hint(self) -> str:
        """The hint for what Enter will do, for the status line."""
        reason = _describe_complaint(self.words) if self.reward < 0 else None
        said = tr(_COMPLAINTS[reason]) if reason else tr(_VERDICTS[self.reward])
        return tr("Enter: the last answer {said} · keep typing for a message", said=said)


def parse_quick_rating(line: str) -> QuickRating | None:
    """Return the rating that a line is; None if it is a message."""
    text = line.strip()
    reward = _SIGNS.get(text[:1])
    words = " ".join(text[1:].split())
    # A message sent by mistake costs a request; a swallowed message costs trust. Anything that may be one is one.
    if reward is None or "\n" in text or len(words.split()) > MAX_WORDS or (words and not text[1].isspace()):
        return None
    if not words or (_describe_complaint(words) if reward < 0 else _PRAISE.fullmatch(words.casefold())):
        return QuickRating(reward=reward, words=words)
    return None


def _describe_complaint(words: str) -> Category | None:
    try:
        reason, _ = split_reason(words)
    except UsageError:
        return None
    # Some keyboards and editors type a curly apostrophe.
    said = words.replace("’", "'").casefold()
    return reason or (classify_complaint(said) if len(said.split()) <= 2 or _ABOUT_ANSWER.match(said) else None)
