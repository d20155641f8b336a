"""A line that is a rating and no message: "+" or "-" alone, or with a few words that can mean nothing else.

Whatever might be meant for the model is a message: "- rename the flag", "+ 3 lines", and everything of several lines.
"""

from typing import Literal

from msgspec import Struct

from clio.algorithms.feedback import Category, classify
from clio.algorithms.late_pattern import LatePattern
from clio.commands.styles.feedback_words import reason_and_text
from clio.errors import UsageError

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
_TOLD = LatePattern(
    r"(?:(?:way|much|far|a (?:bit|little)|just|still|again|really|so) )*(?:"
    r"too (?:much|many) (?:text|words?|details?|explanations?|prose|information|info|emojis?|comments?|talk)\b|"
    r"too (?!much|many)\w+[.,!]*(?: (?:for me|again|please|this time|and|but)\b.*)?$|"
    r"(?:it|that|this|the answer|your \w+)(?:'s| is| was| isn't| wasn't| doesn't| does not| didn't| did not) .+|"
    r"you(?:'re| are| were| wrote| repeat| ramble\w*| missed| made| got| didn't| did not)\b.*|"
    r"not enough(?: (?:details?|explanations?|context|depth|examples?))?[.!]*$|"
    r"not (?:helpful|useful|what i|true|right|correct)\b.*)"
)
_PRAISE = LatePattern(
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
