"""When a schedule is due: cron expressions and words, compared with systemd's calendar if it is installed."""

import os
import re
import shutil
import subprocess
from datetime import datetime

import pytest

from clio.errors import UserError
from clio.jobs.schedule_times import parse_schedule_times
from tests.support.rows import each_row

WORDS = {
    "weekdays 9:00": "0 9 * * 1-5",
    "weekdays at 9": "0 9 * * 1-5",
    "every day at 9": "0 9 * * *",
    "Every day at 9 pm": "0 21 * * *",
    "9:30": "30 9 * * *",
    "daily at noon": "0 12 * * *",
    "at midnight": "0 0 * * *",
    "12 am": "0 0 * * *",
    "12:15 pm": "15 12 * * *",
    "9 am and 5 pm": "0 9,17 * * *",
    "mondays and thursdays at 18:30": "30 18 * * 1,4",
    "on mon, wed and fri at 8": "0 8 * * 1,3,5",
    "weekends 10:00": "0 10 * * 0,6",
    "hourly": "0 * * * *",
    "every hour": "0 * * * *",
    "every minute": "* * * * *",
    "every 15 minutes": "*/15 * * * *",
    "every 2 hours": "0 */2 * * *",
    "every 1 hours": "0 * * * *",
    "@daily": "0 0 * * *",
    "@hourly": "0 * * * *",
    "monthly": "0 0 1 * *",
    "werktags um 9 Uhr": "0 9 * * 1-5",
    "täglich 9:00": "0 9 * * *",
    "jeden Montag um 7:05": "5 7 * * 1",
    "alle 30 Minuten": "*/30 * * * *",
    "  0   9 * *  1-5 ": "0 9 * * 1-5",
    "0 9 1 jan MON": "0 9 1 jan MON",
}


@each_row("words, cron", list(WORDS.items()))
def test_words_stand_for_a_cron_expression(words: str, cron: str) -> None:
    assert parse_schedule_times(words).cron == cron


@each_row(
    "text",
    [
        "",
        "soon",
        "every day",
        "mondays",
        "25:00",
        "9:60",
        "13 pm",
        "weekdays and sundays at 9",
        "9:00 and 17:30",
        "every 7 minutes",
        "every 0 minutes",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "0 24 * * *",
        "0 0 0 * *",
        "0 0 32 * *",
        "0 0 * 13 *",
        "0 0 * * 8",
        "5-1 * * * *",
        "5/2 * * * *",
        "*/0 * * * *",
        "*-5 * * * *",
        "0 0 L * *",
        "0 0 * * 1#2",
        "0 0 30 2 *",
        "0 9 * * 1-5\n0 10 * * * rm",
        "0 9 * * $(id)",
        "@reboot",
    ],
)
def test_an_invalid_time_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        parse_schedule_times(text)


NOW = datetime(2026, 11, 28, 21, 40)  # a Saturday


@each_row(
    "cron, expected",
    [
        ("0 9 * * 1-5", ["2026-11-30 09:00", "2026-12-01 09:00"]),
        ("40 21 * * *", ["2026-11-29 21:40", "2026-11-30 21:40"]),
        ("0 9 * * 7", ["2026-11-29 09:00", "2026-12-06 09:00"]),
        ("0 9 * * 0", ["2026-11-29 09:00", "2026-12-06 09:00"]),
        # As in cron: a day of the month and a day of the week are alternatives, unless one of them begins with a star.
        ("0 9 1 * 1", ["2026-11-30 09:00", "2026-12-01 09:00"]),
        ("0 9 */2 * 1", ["2026-12-07 09:00", "2026-12-21 09:00"]),
        ("0 0 29 2 *", ["2028-02-29 00:00", "2032-02-29 00:00"]),
        ("*/20 9-10 * jan *", ["2027-01-01 09:00", "2027-01-01 09:20"]),
        ("5-15/5 23 * * *", ["2026-11-28 23:05", "2026-11-28 23:10"]),
    ],
)
def test_the_next_times_are_those_of_cron(cron: str, expected: list[str]) -> None:
    times = parse_schedule_times(cron).list_next(NOW, 2)
    assert [time.strftime("%Y-%m-%d %H:%M") for time in times] == expected


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
@each_row(
    "cron",
    [
        "0 9 * * 1-5",
        "*/15 * * * *",
        "5,35 */3 1-7 * *",
        "0 0 1 jan,jul *",
        "30 18 * * sun,wed",
        "0 9 */2 * 1",
        "59 23 31 12 *",
        "0 9 13 * 5",
    ],
)
def test_systemd_understands_the_same_times(cron: str) -> None:
    times = parse_schedule_times(cron)
    found: set[str] = set()
    for event in times.list_calendar_events():
        done = subprocess.run(
            ["systemd-analyze", "calendar", "--iterations=6", "--base-time=2026-11-28 21:40:00", event],
            env={"PATH": os.environ["PATH"], "TZ": "UTC", "LC_ALL": "C"},
            capture_output=True,
            text=True,
            check=True,
        )
        found.update(re.findall(r"(?:Next elapse|Iteration #\d+|Iter\. #\d+): \w+ ([\d-]+ [\d:]+):00 UTC", done.stdout))
    expected = [time.strftime("%Y-%m-%d %H:%M") for time in times.list_next(NOW, 6)]
    assert sorted(found)[:6] == expected
