"""Times read from files, as text. A damaged file can hold numbers that no calendar has a day for."""

import time


def format_stored_time(form: str, seconds: float, unknown: str = "–") -> str:
    """Seconds since the epoch by this machine's clock, as `time.strftime` has it; `unknown` where that is no time."""
    try:
        return time.strftime(form, time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return unknown
