"""Check every cause and duration in summary.csv, and that the answer names the longest incident."""

import csv

from bench.agent_tasks.result import Result

FACTS = {
    "2030-01-09": ("session store", 55),
    "2030-02-17": ("mail relay", 42),
    "2030-03-03": ("image resizer", 73),
    "2030-04-21": ("rate limiter", 19),
    "2030-05-30": ("feature service", 185),
    "2030-06-12": ("token issuer", 38),
    "2030-07-07": ("gateway", 66),
    "2030-08-25": ("address", 22),
    "2030-09-14": ("price feed", 97),
    "2030-10-02": ("scheduler", 120),
}


def check(result: Result) -> None:
    """Add the problems of the result."""
    rows = list(csv.reader(result.read("summary.csv").splitlines()))
    result.expect(rows[:1] == [["report", "service", "minutes"]], "summary.csv has another header, or is not there")
    result.expect([row[0] for row in rows[1:] if row] == list(FACTS), "the reports are not all there, in order")
    for row in rows[1:]:
        if len(row) == 3 and row[0] in FACTS:
            service, minutes = FACTS[row[0]]
            said = row[1].lower().replace("-", " ").replace("_", " ")
            result.expect(service in said, f"{row[0]}: the cause is not {row[1]}")
            result.expect(row[2].strip() == str(minutes), f"{row[0]}: {row[2]} minutes are wrong")
    result.expect("2030-05-30" in result.answer, "the answer does not name the longest")
    result.expect_unchanged("reports", "tools")
