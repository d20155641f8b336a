"""Read the sets of questions for `bench/recall_quality.py` that are stored in `bench/data`.

Each kind of conversation has a development half, which may be looked at, and a test half, of which only the results
are looked at. In the text files of `bench/data/recall/`, `== DATE TITLE` begins a session, `Speaker: text` is a turn,
and `?? KIND | QUESTION | 2.5 3.1` is a question that turn 5 of session 2 and turn 1 of session 3 answer. In
conversations with an assistant the speakers are `User` and `Assistant`.
"""

import re
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

DATA = Path(__file__).parent / "data"
CODING = DATA / "recall_coding.json"
TALK = DATA / "recall"
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_ISO = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})")
_WRITTEN = re.compile(r"(\d{1,2}) ([A-Za-z]{3})[a-z]*,? (\d{4})")
_HOUR = re.compile(r"(\d{1,2}):(\d{2})(?: ?([ap])m)?", re.IGNORECASE)


class Turn(Struct):
    """One message of a history. output: what a tool printed, which is only in the index of outputs."""

    turn_id: str | int
    text: str
    speaker: str | None = None
    role: str | None = None
    output: str = ""


class Session(Struct):
    """One conversation of a history."""

    session_id: str | int
    turns: list[Turn]
    title: str | None = None
    date: object = None


class Question(Struct):
    """A query and the turns that answer it."""

    qid: str | int
    text: str
    gold: list[list[str | int]]
    cat: str | int | None = None

    def answers(self) -> list[tuple[str, str]]:
        """Return the gold turns as pairs of session id and turn id."""
        return [(str(gold[0]), str(gold[1])) for gold in self.gold]


class History(Struct):
    """Sessions, and questions about them."""

    sessions: list[Session]
    queries: list[Question]


class File(Struct):
    """A file of histories."""

    histories: list[History]


def load_shipped_sets() -> dict[str, list[History]]:
    """Return the stored sets by name. Every second question about coding sessions is in the test half."""
    coding = msgspec.json.decode(CODING.read_bytes(), type=File).histories
    sets = {
        f"coding sessions, {half}": [
            History(sessions=history.sessions, queries=history.queries[start::2]) for history in coding
        ]
        for start, half in enumerate(("development", "test"))
    }
    for kind in ("two people", "assistant talk"):
        for half in ("development", "test"):
            path = TALK / f"{kind.replace(' ', '_')}_{half}.txt"
            sets[f"{kind}, {half}"] = [read_talk(path.read_text(encoding="utf-8"))]
    return sets


def read_talk(text: str) -> History:
    """Parse a text file of one history."""
    sessions: list[Session] = []
    queries: list[Question] = []
    for line in text.splitlines():
        if line.startswith("== "):
            date, _, title = line[3:].partition(" ")
            sessions.append(Session(session_id=str(len(sessions) + 1), turns=[], title=title, date=date))
        elif line.startswith("?? "):
            kind, question, gold = (part.strip() for part in line[3:].split("|"))
            places = [list(place.split(".")) for place in gold.split()]
            queries.append(Question(qid=len(queries) + 1, text=question, gold=[*places], cat=kind))
        elif line:
            speaker, _, text = line.partition(": ")
            turns = sessions[-1].turns
            role = speaker.lower() if speaker in ("User", "Assistant") else None
            turns.append(Turn(turn_id=str(len(turns) + 1), text=text, speaker=speaker, role=role))
    return History(sessions=sessions, queries=queries)


def parse_session_time(date: object) -> float | None:
    """Parse the date of a session as UTC, in seconds since the epoch; noon if it has no time, None if it is no date."""
    text = str(date or "")
    if iso := _ISO.search(text):
        year, month, day = map(int, iso.groups())
    elif (written := _WRITTEN.search(text)) and written[2].lower() in _MONTHS:
        year, month, day = int(written[3]), _MONTHS.index(written[2].lower()) + 1, int(written[1])
    else:
        return None
    hour, minute = 12, 0
    if clock := _HOUR.search(text):
        half = (clock[3] or "").lower()
        hour = int(clock[1]) % 12 + 12 * (half == "p") if half else int(clock[1])
        minute = int(clock[2])
    return datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp()
