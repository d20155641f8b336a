"""Messages people write, with what they are about: read from the files in data/."""

from pathlib import Path

from msgspec import Struct

from clio.memory.styles.selection import Situation, infer_situation

DATA = Path(__file__).parent / "data"
TUNED_ON, HELD_OUT = "situations.txt", "held_out.txt"
NOON = 1_780_000_000.0


class Labelled(Struct, frozen=True):
    """One line of a file."""

    intent: str
    sentiment: str
    text: str


def labelled(name: str) -> list[Labelled]:
    """The lines of a file."""
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    parts = [[part.strip() for part in line.split("|", 2)] for line in lines if not line.startswith("#")]
    return [Labelled(intent, sentiment, text.replace("\\n", "\n")) for intent, sentiment, text in parts]


def told(text: str) -> Situation:
    """The situation of a message, whatever the time."""
    return infer_situation(text, NOON)


def shares(name: str) -> tuple[float, float]:
    """Of a file's lines the share whose intent is told right, and whose sentiment."""
    lines = labelled(name)
    found = [(told(line.text), line) for line in lines]
    intents = sum(one.intent == line.intent for one, line in found)
    sentiments = sum(one.sentiment == line.sentiment for one, line in found)
    return intents / len(lines), sentiments / len(lines)
