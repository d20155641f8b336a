"""Why the last request was given what it was given: each item with its signals, its age, what it cost, what was cut."""

from msgspec import Struct


class WhyItem(Struct, frozen=True, kw_only=True):
    """One thing the model was given, or would have been.

    source: the store it is from. age_s: seconds since it was said; None where nobody knows. tokens: what it costs.
    included: False where a budget cut it. count: of things too many to be named one by one.
    """

    source: str
    id: str
    text: str
    reason: str
    signals: dict[str, float] = {}
    age_s: float | None = None
    tokens: int = 0
    included: bool = True
    count: int = 1
