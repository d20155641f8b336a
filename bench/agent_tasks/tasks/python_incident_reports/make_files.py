"""Generate ten reports of about 5,000 characters: two facts in each, worded differently, in irrelevant text."""

import random
from pathlib import Path

FACTS = {
    "2030-01-09": (
        "The retry storm began when the session store stopped answering after its certificate had expired. "
        "Checkout and search only queued up behind it.",
        "Support first wrote of two hours; the access logs show failed logins from 08:10 to 09:05, and the review took "
        "those 55 minutes as the time users were affected.",
    ),
    "2030-02-17": (
        "Payments looked guilty for most of the night. In the end a full disk on the mail relay had "
        "blocked the receipts, "
        "and payments had waited for them.",
        "Orders failed for 25 minutes, then again for 17 after the restart; the review counts both, so 42 minutes.",
    ),
    "2030-03-03": (
        "A wrong feature flag in the image resizer returned empty files. The gateway and the "
        "catalog behaved as designed.",
        "The pager said 90 minutes. Users saw broken pictures for one hour and 13 minutes, which is the agreed figure.",
    ),
    "2030-04-21": (
        "Nothing was wrong with the database, which we restarted twice. The rate limiter had counted all users as one.",
        "From the first refused request to the last: 19 minutes. The 4 hours in the status page are "
        "those of the follow-up.",
    ),
    "2030-05-30": (
        "Search was slow, and recommendations failed, because the feature service had loaded an "
        "index of the year before.",
        "The agreed length is three hours and five minutes; the draft of this report had left out "
        "the hour before the alarm.",
    ),
    "2030-06-12": (
        "The clock of the token issuer was four minutes late, so every other service refused its tokens.",
        "Users were locked out from 23:40 until 00:18 of the next day.",
    ),
    "2030-07-07": (
        "The gateway's new build leaked connections. The session store ran out of them first and was blamed at first.",
        "We assumed half an hour. Counting the slow requests as well, as agreed in the review, it was 66 minutes.",
    ),
    "2030-08-25": (
        "A migration had locked the table of addresses: the address book stopped, and with it checkout and invoices.",
        "The lock was held for 31 minutes, but users were affected only from its ninth minute on, "
        "so the review says 22.",
    ),
    "2030-09-14": (
        "Twice the price feed sent amounts in another currency. The catalog showed what it was given.",
        "Wrong prices were shown for 48 minutes in the morning and 49 in the evening, and both count.",
    ),
    "2030-10-02": (
        "A router of our provider was suspected and cleared. It was the job scheduler, which "
        "started every job at once.",
        "The dashboards were red for 140 minutes; users noticed nothing in the last 20, and the "
        "agreed time leaves these out.",
    ),
}
CHANNELS = "on-call channel,status call,review,handover,morning meeting,bridge".split(",")
TEAMS = "platform,billing,search,mobile,data,support,networks,identity".split(",")
ACTIVITIES = (
    "compared the graphs of the last {n} deployments and found no step in them",
    "asked for the dumps of {n} hosts, of which most were complete",
    "rolled a canary back, waited {n} minutes, and rolled it forward again without an effect",
    "wrote to {n} customers who had asked what was going on",
    "went through {n} alerts of the week and closed those that were old",
    "measured the queue at {n} thousand entries, which is normal for that time of day",
    "proposed to add {n} more panels to the board, which was noted for later",
    "checked that the backups of the last {n} days could be read",
)


def write_files(folder: Path) -> None:
    """Write reports/*.md."""
    rng = random.Random(20300)
    reports = folder / "reports"
    reports.mkdir(exist_ok=True)
    for name, (cause, minutes) in FACTS.items():
        lines = [_write_line(rng) for _ in range(44)]
        places = sorted(rng.sample(range(6, 42), 2))
        for place, fact in zip(places, (cause, minutes), strict=True):
            lines.insert(place, fact)
        (reports / f"{name}.md").write_text(f"# Incident of {name}\n\n" + "\n".join(lines) + "\n", encoding="utf-8")


def _write_line(rng: random.Random) -> str:
    activity = rng.choice(ACTIVITIES).format(n=rng.randint(3, 59))
    return f"In the {rng.choice(CHANNELS)} the {rng.choice(TEAMS)} team {activity}."
