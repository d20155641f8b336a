"""Values of files that other programs wrote, read as what they mean."""

import math
from datetime import UTC, datetime
from typing import cast


def number(raw: object, default: float) -> float:
    """A number however it was written: as one, as its digits, or as a date in ISO 8601."""
    if not isinstance(raw, int | float | str):
        return default
    try:
        value = float(raw)
        return value if math.isfinite(value) else default
    except (ValueError, OverflowError):
        pass
    try:
        date = datetime.fromisoformat(str(raw))
    except ValueError:
        return default
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def texts(raw: object) -> list[str]:
    """The strings of a list; nothing where it is not one."""
    return [item for item in cast(list[object], raw) if isinstance(item, str)] if isinstance(raw, list) else []
