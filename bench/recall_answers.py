"""Score the answers of the tool operation recall_sessions to questions about earlier sessions.

    python bench/recall_answers.py [--misses]

Each of these gives one point where it applies. answer: the text contains the answer. newest: the answer comes before
the former one, or that is marked as older. time: date and time are in the line of the answer or in the heading of its
session. commit: the text contains the hash of the commit. clean: it contains no 36-character ids and no scores.
bounded: it has at most 4,000 characters.
"""

import argparse
import asyncio
import re
import sys
import time
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.recall_answers_data import PlacedQuestion, write_sessions
from clio.memory.system import MemorySystem
from clio.sessions.store import SessionStore
from clio.tools.memory import MemoryTool
from clio.tools.schemas import MemoryArgs

MAX_CHARS = 4_000
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SCORES = re.compile(r"\b(exact|keywords|density|title) \+\d|\bscore\b|\[\d?\.\d\d")
POINTS = ("answer", "newest", "time", "commit", "clean", "bounded")


def score_answer(text: str, placed: PlacedQuestion) -> dict[str, bool]:
    """Return which points an answer gets, without those that do not apply."""
    question = placed.question
    has_answer = question.answer in text
    points = {"answer": has_answer}
    if question.old:
        at = text.find(question.old)
        points["newest"] = has_answer and (at < 0 or text.find(question.answer) < at or "older" in _line_at(text, at))
    points["time"] = has_answer and any(_has_time(text, question.answer, when) for when in placed.times)
    if question.commit:
        points["commit"] = question.commit in text
    points["clean"] = not _UUID.search(text) and not _SCORES.search(text)
    points["bounded"] = len(text) <= MAX_CHARS
    return points


def _has_time(text: str, answer: str, when: str) -> bool:
    """Return whether a line with the answer has its date and time; the date may be in the heading above it."""
    day, _, clock = when.partition(" ")
    heading = ""
    for line in text.splitlines():
        if line.startswith("##"):
            heading = line
        if answer in line and (when in line or (clock in line and day in heading)):
            return True
    return False


def _line_at(text: str, position: int) -> str:
    return text[text.rfind("\n", 0, position) + 1 : (text.find("\n", position) + 1 or len(text) + 1) - 1]


def ask_recall(memory: MemorySystem, store: SessionStore, project: Path, text: str) -> str:
    """Return what the tool returns to the model for a query."""
    session = store.new(project)
    args = msgspec.convert({"operation": "recall_sessions", "query": text}, MemoryArgs)
    tool = MemoryTool(memory, session)
    return asyncio.run(tool.prepare(args).run(lambda line: None)).text


def main() -> None:
    """Print the points by kind of question, and the size and time of an answer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="print each answer that lacks a point")
    arguments = parser.parse_args()
    results: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    with TemporaryDirectory() as folder:
        project = Path(folder)
        store = SessionStore(project / ".clio" / "sessions")
        placed = write_sessions(store, project)
        memory = MemorySystem(project, store, incognito=False, ltm=True, home=project / "home")
        ask_recall(memory, store, project, "warm")
        sizes: list[int] = []
        started = time.perf_counter()
        for asked in placed:
            text = ask_recall(memory, store, project, asked.question.text)
            sizes.append(len(text))
            points = score_answer(text, asked)
            for name, is_met in points.items():
                results[asked.kind][name].append(is_met)
                results["all"][name].append(is_met)
            if arguments.misses and not all(points.values()):
                lacking = ", ".join(name for name, is_met in points.items() if not is_met)
                wanted = f"{asked.question.answer!r} of {asked.times}"
                print(f"### {asked.question.text!r} lacks {lacking}; wanted {wanted}\n{text}\n")
        seconds = (time.perf_counter() - started) / len(placed)
        memory.close()
    print(f"{'':12} {'n':>4}  " + "  ".join(f"{name:>9}" for name in POINTS) + f"  {'points':>9}")
    for kind in [*sorted(results.keys() - {"all"}), "all"]:
        rows = results[kind]
        cells = [f"{sum(rows[name])}/{len(rows[name])}" if rows[name] else "" for name in POINTS]
        every = [is_met for row in rows.values() for is_met in row]
        print(f"{kind:12} {len(rows['answer']):4}  " + "  ".join(f"{cell:>9}" for cell in cells), end="")
        print(f"  {sum(every)}/{len(every)}")
    print(f"\ncharacters of an answer: {sum(sizes) / len(sizes):.0f} on average, {max(sizes)} at most")
    print(f"milliseconds of an answer: {seconds * 1e3:.1f}")


if __name__ == "__main__":
    main()
