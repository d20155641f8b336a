"""What a turn is about: kind of request, mood, time of day."""

import time
from typing import Literal

from msgspec import Struct

Intent = Literal["question", "explain", "fix", "build", "review", "plan", "write", "run", "chat"]
Sentiment = Literal["frustrated", "neutral", "pleased"]
TimeOfDay = Literal["night", "morning", "afternoon", "evening"]


class Situation(Struct, frozen=True, kw_only=True):
    """What a turn is about."""

    intent: Intent
    sentiment: Sentiment = "neutral"
    time_of_day: TimeOfDay = "morning"
    text: str = ""

    @property
    def bucket(self) -> str:
        """The context in one word."""
        return f"{self.intent}/{self.sentiment}/{self.time_of_day}"


def situation_of(text: str, now: float) -> Situation:
    """The situation of a turn that begins with these words."""
    hour = time.localtime(now).tm_hour
    times: tuple[TimeOfDay, ...] = ("night", "morning", "afternoon", "evening")
    return Situation(intent="question", time_of_day=times[hour // 6], text=text[:2000])
