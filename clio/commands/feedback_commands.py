"""/feedback, and lines that are only a rating: what the user thinks of answers, and what it changed."""

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from clio.commands.arguments import nearest
from clio.commands.command import Command, CommandResult, Handler, Shell, Suggestion, Table, code, refuse
from clio.commands.memory.memory_text import count, remembers, short_age
from clio.errors import UsageError
from clio.text.lazy_regex import LazyRegex
from clio.text.rating_phrases import CATEGORIES, Category, classify

if TYPE_CHECKING:
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


_SHOWN = 20
_NOTHING = (
    "No answer was rated yet. `/feedback +` or `/feedback -` rates the last one; so does `+` or `-` and Enter on an "
    "empty line after it."
)
_REASON_WORDS = {
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
    return (Suggestion(text=name, note=_REASON_WORDS[name]) for name in CATEGORIES)


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


MAX_WORDS = 8
_SIGNS: dict[str, Literal[-1, 1]] = {"+": 1, "-": -1, "−": -1}
_SAID = {1: "was good", -1: "was not good"}
_COMPLAINTS: dict[Category, str] = {
    "too_verbose": "was too verbose",
    "too_brief": "was too brief",
    "wrong_tone": "had the wrong tone",
    "not_helpful": "did not help",
    "incorrect_info": "was wrong",
}
# What only an answer is told: "too long", "way too much text", "that's not right", "you missed the point".
_TOLD = LazyRegex(
    r"(?:(?:way|much|far|a (?:bit|little)|just|still|again|really|so) )*(?:"
    r"too (?:much|many) (?:text|words?|details?|explanations?|prose|information|info|emojis?|comments?|talk)\b|"
    r"too (?!much|many)\w+[.,!]*(?: (?:for me|again|please|this time|and|but)\b.*)?$|"
    r"(?:it|that|this|the answer|your \w+)(?:'s| is| was| isn't| wasn't| doesn't| does not| didn't| did not) .+|"
    r"you(?:'re| are| were| wrote| repeat| ramble\w*| missed| made| got| didn't| did not)\b.*|"
    r"not enough(?: (?:details?|explanations?|context|depth|examples?))?[.!]*$|"
    r"not (?:helpful|useful|what i|true|right|correct)\b.*)"
)
_PRAISE = LazyRegex(
    r"(?:(?:very|really|so|that was|this was|it was|much) )*(?:good|great|nice|perfect|excellent|helpful|thanks|"
    r"thank you|better|concise|clear|love it|exactly|lovely|short|to the point)\b(?: (?:one|answer|work|job|length|"
    r"tone|style|like this|this time|again|and|so|more|of|it|that|this|please|thanks|you|short|clear|concise))*[.!]*"
)


class QuickRating(Struct, frozen=True, kw_only=True):
    """A rating as it was typed. words: what stood behind the sign."""

    reward: Literal[-1, 1]
    words: str = ""

    @property
    def command(self) -> str:
        """The command that gives it."""
        return f"/feedback {'+' if self.reward > 0 else '-'} {self.words}".rstrip()

    @property
    def hint(self) -> str:
        """What Enter will say, for the line below."""
        reason = _complaint(self.words) if self.reward < 0 else None
        said = _COMPLAINTS[reason] if reason else _SAID[self.reward]
        return f"Enter: the last answer {said} · keep typing for a message"


def quick_rating(line: str) -> QuickRating | None:
    """The rating a line is; None where it is a message."""
    text = line.strip()
    reward = _SIGNS.get(text[:1])
    words = " ".join(text[1:].split())
    if reward is None or "\n" in text or len(words.split()) > MAX_WORDS or (words and not text[1].isspace()):
        return None
    if not words or (_complaint(words) if reward < 0 else _PRAISE.fullmatch(words.casefold())):
        return QuickRating(reward=reward, words=words)
    return None


def _complaint(words: str) -> Category | None:
    try:
        reason, _ = reason_and_text(words)
    except UsageError:
        return None
    said = words.replace("’", "'").casefold()
    return reason or (classify(said) if len(said.split()) <= 2 or _TOLD.match(said) else None)
