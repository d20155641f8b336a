"""What a turn is about: what is wanted, how it sounds, and the time of day. Rules only; no model, no I/O."""

import time
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from clio.memory.preferences.own_words import own_sentences
from clio.memory.styles.intents import Intent, infer_intent
from clio.memory.styles.sentiments import Sentiment, infer_sentiment

TimeOfDay: TypeAlias = Literal["night", "morning", "afternoon", "evening"]
TIMES: tuple[TimeOfDay, ...] = get_args(TimeOfDay)
MAX_CHARS = 4_000
"""Of a message: half of them from its beginning, half from its end. What is longer is mostly pasted."""
MAX_TOPIC_CHARS = 1_000
_LONGEST_SENTENCE = 1_000
_HOURS = 24 // len(TIMES)


class Situation(Struct, frozen=True, kw_only=True):
    """What a turn is about. text: the person's own words, cut to MAX_TOPIC_CHARS, for comparing with topics."""

    intent: Intent
    sentiment: Sentiment = "neutral"
    time_of_day: TimeOfDay = "morning"
    text: str = ""

    @property
    def bucket(self) -> str:
        """The context what is learned belongs to, such as "fix/neutral/morning"."""
        return f"{self.intent}/{self.sentiment}/{self.time_of_day}"


def situation_of(text: str, now: float) -> Situation:
    """The situation of a message. now: seconds since the epoch, read on the local clock."""
    half = MAX_CHARS // 2
    seen = text if len(text) <= MAX_CHARS else f"{text[:half]}\n{text[-half:]}"
    sentences = own_sentences(seen, longest=_LONGEST_SENTENCE)
    sentiment = infer_sentiment(sentences)
    said = [(one.masked, one.is_question) for one in sentences]
    return Situation(
        intent=infer_intent(said, seen, frustrated=sentiment == "frustrated"),
        sentiment=sentiment,
        time_of_day=time_of_day(now),
        text="\n".join(one.text for one in sentences)[:MAX_TOPIC_CHARS],
    )


def time_of_day(now: float) -> TimeOfDay:
    """night from 0 to 6, morning to 12, afternoon to 18, evening to 24 o'clock on the local clock."""
    return TIMES[time.localtime(now).tm_hour // _HOURS]
