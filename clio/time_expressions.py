"""Points in time as users write them: a date, an age or a word."""

import re
from datetime import datetime, timedelta

from clio.errors import UserError

_AGO = re.compile(r"(\d{1,5})\s*(h|d|w|m|y|hours?|days?|weeks?|months?|years?)(?: ago)?")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24, "m": 30 * 24, "y": 365 * 24}
_DAY = timedelta(days=1)
_LAST_PERIODS = {"week": timedelta(days=7), "month": timedelta(days=30), "year": timedelta(days=365)}


def parse_when(text: str, now: float, *, starts: bool = False) -> float:
    """Return seconds since the epoch for "2026-05-01", "2026-05-01 14:30", "30d", "2 weeks ago" or "last month".

    A day without a time is its last second, so that what was said on that day counts. "last month" is 30 days ago.
    Raises UserError with examples for any other text.

    Args:
        starts: a day is its first second, as "since" means it.
    """
    said = " ".join(text.casefold().split())
    here = datetime.fromtimestamp(now)
    try:
        then, is_day = _parse_date(said, here)
        if is_day:
            midnight = then.replace(hour=0, minute=0, second=0, microsecond=0)
            then = midnight if starts else midnight + _DAY - timedelta(seconds=1)
        return then.timestamp()
    except (ValueError, OverflowError, OSError):
        raise UserError(
            f'{text!r} is no time clio understands; write 2026-05-01, "2026-05-01 14:30", 30d, 2w, yesterday or '
            '"last month"'
        ) from None


def _parse_date(said: str, now: datetime) -> tuple[datetime, bool]:
    """Return the time, and whether it is only a day. Raises ValueError, OverflowError."""
    if said == "now":
        return now, False
    if said in ("today", "yesterday"):
        return (now if said == "today" else now - _DAY), True
    if found := _AGO.fullmatch(said):
        return now - timedelta(hours=int(found[1]) * _HOURS[found[2][0]]), False
    first, _, unit = said.partition(" ")
    if first == "last" and unit in _LAST_PERIODS:
        return now - _LAST_PERIODS[unit], False
    then = datetime.fromisoformat(said)
    return then, len(said) <= len("2026-05-01")
