"""Labelled messages of users, read from the files in data/."""

from pathlib import Path

from msgspec import Struct

from clio.memory.styles.selection import Situation, infer_situation

DATA = Path(__file__).parent / "data"
TUNED_ON, HELD_OUT = "situations.txt", "held_out.txt"
NOON = 1_780_000_000.0


class LabelledMessage(Struct, frozen=True):
    """One line of a data file."""

    intent: str
    sentiment: str
    text: str


def read_labelled(name: str) -> list[LabelledMessage]:
    """Return the lines of a data file."""
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    parts = [[part.strip() for part in line.split("|", 2)] for line in lines if not line.startswith("#")]
    return [LabelledMessage(intent, sentiment, text.replace("\\n", "\n")) for intent, sentiment, text in parts]


def situation_of(text: str) -> Situation:
    """Return the situation of a message at noon."""
    return infer_situation(text, NOON)


def measure_shares(name: str) -> tuple[float, float]:
    """Return the shares of a file's lines whose intent and whose sentiment are inferred correctly."""
    lines = read_labelled(name)
    found = [(situation_of(line.text), line) for line in lines]
    intents = sum(one.intent == line.intent for one, line in found)
    sentiments = sum(one.sentiment == line.sentiment for one, line in found)
    return intents / len(lines), sentiments / len(lines)
