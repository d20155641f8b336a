"""When a scheduled run is due: cron expressions and plain words, the next times, and the same for systemd."""

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta

from msgspec import Struct

from clio.errors import UserError
from clio.text.translation import tr

_MONTHS = {
    name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), start=1)
}
_WEEKDAYS = {name: number for number, name in enumerate("sun mon tue wed thu fri sat".split())}
_SYSTEMD_WEEKDAYS = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
_NAMED_TIMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_FIELDS: tuple[tuple[int, int, Mapping[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, _MONTHS),
    (0, 7, _WEEKDAYS),
)
"""Lowest and highest value and names of the five fields: minute, hour, day of the month, month, day of the week."""
_RANGE = re.compile(r"(?P<first>\*|\w+)(?:-(?P<last>\w+))?(?:/(?P<step>\d{1,2}))?")
_CRON_WORD = re.compile(r"[\d*/,-]+")
_SEARCHED_DAYS = 8 * 366 + 1
"""A leap day may be eight years away, as from 1896 to 1904; no other date is farther."""


class ScheduleTimes(Struct, frozen=True, kw_only=True):
    """The minutes at which something is due, in the computer's local time.

    Attributes:
        cron: the five fields of a crontab line.
        minutes, hours, days, months, weekdays: what each field allows, sorted; Sunday is 0.
        is_either_day: a day is due if the day of the month or the day of the week matches; otherwise both must.
    """

    cron: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    is_either_day: bool = False

    def is_due_on(self, day: date) -> bool:
        """Whether it is due at some time of this day."""
        by_date = day.day in self.days
        by_weekday = day.isoweekday() % 7 in self.weekdays
        is_day = by_date or by_weekday if self.is_either_day else by_date and by_weekday
        return is_day and day.month in self.months

    def list_next(self, now: datetime, count: int) -> list[datetime]:
        """Return the next times after `now`, in local time; fewer or none if the days do not exist, as 30 February."""
        return [time for _, time in zip(range(count), self._iterate_after(now), strict=False)]

    def _iterate_after(self, now: datetime) -> Iterator[datetime]:
        for offset in range(_SEARCHED_DAYS):
            day = now.date() + timedelta(days=offset)
            if not self.is_due_on(day):
                continue
            for hour in self.hours:
                for minute in self.minutes:
                    time = datetime(day.year, day.month, day.day, hour, minute)
                    if time > now:
                        yield time

    def list_calendar_events(self) -> list[str]:
        """Return the same times as values of `OnCalendar=` in a systemd timer; any of several counts."""
        clock = f"{_join_numbers(self.hours, 24)}:{_join_numbers(self.minutes, 60)}:00"
        months = _join_numbers(self.months, 12)
        days = _join_numbers(self.days, 31)
        weekdays = "" if len(self.weekdays) == 7 else ",".join(_SYSTEMD_WEEKDAYS[day] for day in self.weekdays) + " "
        if self.is_either_day:
            return [f"*-{months}-{days} {clock}", f"{weekdays}*-{months}-* {clock}"]
        return [f"{weekdays}*-{months}-{days} {clock}"]


def _join_numbers(numbers: tuple[int, ...], all_of_them: int) -> str:
    return "*" if len(numbers) == all_of_them else ",".join(f"{number:02}" for number in numbers)


def parse_schedule_times(text: str) -> ScheduleTimes:
    """Return the times of "0 9 * * 1-5", "@hourly", "weekdays 9:00", "every day at 9 pm" or "every 15 minutes".

    Raises UserError for any other text, and for times that never come.
    """
    said = " ".join(text.split())
    words = said.split()
    if said.lower() in _NAMED_TIMES:
        fields = _NAMED_TIMES[said.lower()].split()
    elif all(map(_CRON_WORD.fullmatch, words[:2])) and (len(words) > 3 or "*" in said):
        fields = words
    else:
        fields = _read_words(said).split()
    if len(fields) != len(_FIELDS):
        raise UserError(
            tr(
                "{text!r} has {count} fields; a time has five: minute, hour, day of the month, month, day of the week",
                text=text,
                count=len(fields),
            )
        )
    minutes, hours, days, months, weekdays = (
        _parse_field(field, *limits) for field, limits in zip(fields, _FIELDS, strict=True)
    )
    times = ScheduleTimes(
        cron=" ".join(fields),
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=tuple(sorted({day % 7 for day in weekdays})),
        is_either_day=not fields[2].startswith("*") and not fields[4].startswith("*"),
    )
    if not times.list_next(datetime(2000, 1, 1), 1):
        raise UserError(tr("{text!r} never comes: there is no such day", text=text))
    return times


def _parse_field(field: str, low: int, high: int, names: Mapping[str, int]) -> tuple[int, ...]:
    found: set[int] = set()
    for part in field.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise _make_field_error(field, low, high)
        if match["first"] == "*":
            first, last = low, high
            is_wrong = match["last"] is not None
        else:
            first = _parse_value(match["first"], field, low, high, names)
            last = _parse_value(match["last"], field, low, high, names) if match["last"] else first
            # A step without a range, as in 5/15, means different things to different programs.
            is_wrong = last < first or (match["step"] is not None and match["last"] is None)
        step = int(match["step"] or 1)
        if is_wrong or not step:
            raise _make_field_error(field, low, high)
        found.update(range(first, last + 1, step))
    return tuple(sorted(found))


def _parse_value(text: str, field: str, low: int, high: int, names: Mapping[str, int]) -> int:
    value = names.get(text.lower(), int(text) if text.isascii() and text.isdecimal() and len(text) < 3 else -1)
    if not low <= value <= high:
        raise _make_field_error(field, low, high)
    return value


def _make_field_error(field: str, low: int, high: int) -> UserError:
    return UserError(
        tr(
            "{field!r} is no field of a time: use *, numbers from {low} to {high}, lists, ranges and steps such as */2",
            field=field,
            low=low,
            high=high,
        )
    )


_EVERY = re.compile(r"(?:every|alle)\s+(\d{1,2})\s+(minutes?|hours?|minuten?|stunden?)")
_CLOCK = re.compile(r"(\d{1,2})(?::(\d{2}))?(am|pm)?")
_SPACED_HALF = re.compile(r"(\d)\s+(am|pm)\b")
_FILLERS = frozenset("every each on at the and o'clock jeden jede jedes um uhr und am an".split())
_WHOLE_TEXTS = {
    "every minute": "* * * * *",
    "jede minute": "* * * * *",
    **dict.fromkeys(("hourly", "every hour", "stündlich", "jede stunde"), "0 * * * *"),
    **dict.fromkeys(("monthly", "monatlich"), "0 0 1 * *"),
}
_CLOCK_WORDS = {
    **dict.fromkeys(("noon", "mittag", "mittags"), "12:00"),
    **dict.fromkeys(("midnight", "mitternacht", "mitternachts"), "0:00"),
}
_DAY_GROUPS = {
    **dict.fromkeys(("day", "days", "daily", "täglich", "tag"), "*"),
    **dict.fromkeys(("weekday", "weekdays", "workday", "workdays", "werktag", "werktags", "werktage"), "1-5"),
    **dict.fromkeys(("weekend", "weekends", "wochenende", "wochenenden"), "0,6"),
}
_DAY_NAMES = {
    name: number
    for number, names in enumerate(
        (
            "sunday sun sonntag so",
            "monday mon montag mo",
            "tuesday tue tues dienstag di",
            "wednesday wed mittwoch mi",
            "thursday thu thurs donnerstag do",
            "friday fri freitag fr",
            "saturday sat samstag sonnabend sa",
        )
    )
    for name in names.split()
}


def _read_words(said: str) -> str:
    """Return the cron fields for words. Raises UserError."""
    text = _SPACED_HALF.sub(r"\1\2", said.casefold().replace(",", " "))
    text = " ".join(text.split())
    if text in _WHOLE_TEXTS:
        return _WHOLE_TEXTS[text]
    if every := _EVERY.fullmatch(text):
        return _make_interval(said, int(every[1]), is_hours=every[2].startswith(("h", "s")))
    days, clocks = list[str](), list[tuple[int, int]]()
    for word in text.split():
        clock = _CLOCK.fullmatch(_CLOCK_WORDS.get(word, word))
        if clock is not None:
            clocks.append(_parse_clock(clock, said))
        elif word not in _FILLERS:
            days.append(_read_day(word, said))
    if not clocks:
        if not days:
            raise _make_words_error(said)
        raise UserError(tr("{said!r} needs a time of day, such as {example!r}", said=said, example=f"{said} at 9:00"))
    if len({minute for _, minute in clocks}) > 1:
        raise UserError(tr("{said!r}: several times must share their minute; add one schedule for each", said=said))
    if len(days) > 1 and ("*" in days or "1-5" in days or "0,6" in days):
        raise _make_words_error(said)
    hours = ",".join(map(str, sorted({hour for hour, _ in clocks})))
    return f"{clocks[0][1]} {hours} * * {','.join(sorted(set(days))) or '*'}"


def _read_day(word: str, said: str) -> str:
    if word in _DAY_GROUPS:
        return _DAY_GROUPS[word]
    for name in (word, word.removesuffix("s")):
        if name in _DAY_NAMES:
            return str(_DAY_NAMES[name])
    raise _make_words_error(said)


def _parse_clock(clock: re.Match[str], said: str) -> tuple[int, int]:
    hour, minute, half = int(clock[1]), int(clock[2] or 0), clock[3]
    if half is not None:
        if not 1 <= hour <= 12:
            raise _make_words_error(said)
        hour = hour % 12 + (12 if half == "pm" else 0)
    if hour > 23 or minute > 59:
        raise _make_words_error(said)
    return hour, minute


def _make_interval(said: str, number: int, *, is_hours: bool) -> str:
    whole = 24 if is_hours else 60
    if not number or whole % number:
        fitting = ", ".join(str(one) for one in range(1, whole // 2 + 1) if whole % one == 0)
        raise UserError(
            tr("{said!r}: the steps must fit into {whole}: {fitting}", said=said, whole=whole, fitting=fitting)
        )
    step = "*" if number == 1 else f"*/{number}"
    return f"0 {step} * * *" if is_hours else f"{step} * * * *"


def _make_words_error(said: str) -> UserError:
    return UserError(
        tr(
            '{said!r} is no time clio understands; write "weekdays 9:00", "every day at 9 pm", "hourly" or cron\'s '
            '"0 9 * * 1-5"',
            said=said,
        )
    )
