"""Whether recall_sessions answers questions about earlier sessions. `python bench/recall_answers.py [--misses]`.

What the tool returns is scored, as a model reads it. answer: the text has it. newest: it is before the answer that it
replaced, or that one is marked as older. time: date and time of the answer are in its line or in the heading of its
session. commit: the commit made then is named. clean: no 36-character ids, no scores. bounded: at most 4,000
characters. Each gives one point where it applies.
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

from bench.recall_answers_data import Placed, lay_out
from clio.memory.system import MemorySystem
from clio.sessions.store import SessionStore
from clio.tools.memory import MemoryTool
from clio.tools.schemas import MemoryArgs

MOST_CHARS = 4_000
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SCORES = re.compile(r"\b(exact|keywords|density|title) \+\d|\bscore\b|\[\d?\.\d\d")
POINTS = ("answer", "newest", "time", "commit", "clean", "bounded")


def judge(text: str, placed: Placed) -> dict[str, bool]:
    """Which points an answer has; those that do not apply are left out."""
    ask = placed.ask
    there = ask.answer in text
    points = {"answer": there}
    if ask.old:
        at = text.find(ask.old)
        points["newest"] = there and (at < 0 or text.find(ask.answer) < at or "older" in _line_at(text, at))
    points["time"] = there and any(_tells(text, ask.answer, when) for when in placed.times)
    if ask.commit:
        points["commit"] = ask.commit in text
    points["clean"] = not _UUID.search(text) and not _SCORES.search(text)
    points["bounded"] = len(text) <= MOST_CHARS
    return points


def _tells(text: str, answer: str, when: str) -> bool:
    """Whether a line with the answer says when it was: date and time, the date also in the heading above it."""
    day, _, clock = when.partition(" ")
    heading = ""
    for line in text.splitlines():
        if line.startswith("##"):
            heading = line
        if answer in line and (when in line or (clock in line and day in heading)):
            return True
    return False


def _line_at(text: str, at: int) -> str:
    return text[text.rfind("\n", 0, at) + 1 : (text.find("\n", at) + 1 or len(text) + 1) - 1]


def ask(memory: MemorySystem, store: SessionStore, project: Path, question: str) -> str:
    """What a model gets for a question."""
    session = store.new(project)
    args = msgspec.convert({"operation": "recall_sessions", "query": question}, MemoryArgs)
    tool = MemoryTool(memory, session)
    return asyncio.run(tool.prepare(args).run(lambda line: None)).text


def main() -> None:
    """Print the points by kind of question, and what an answer costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="print each answer that lacks a point")
    given = parser.parse_args()
    got: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    with TemporaryDirectory() as folder:
        project = Path(folder)
        store = SessionStore(project / ".clio" / "sessions")
        placed = lay_out(store, project)
        memory = MemorySystem(project, store, incognito=False, ltm=True, home=project / "home")
        ask(memory, store, project, "warm")
        sizes: list[int] = []
        begun = time.perf_counter()
        for one in placed:
            text = ask(memory, store, project, one.ask.text)
            sizes.append(len(text))
            points = judge(text, one)
            for name, has in points.items():
                got[one.kind][name].append(has)
                got["all"][name].append(has)
            if given.misses and not all(points.values()):
                lacking = ", ".join(name for name, has in points.items() if not has)
                print(f"### {one.ask.text!r} lacks {lacking}; wanted {one.ask.answer!r} of {one.times}\n{text}\n")
        took = (time.perf_counter() - begun) / len(placed)
        memory.close()
    print(f"{'':12} {'n':>4}  " + "  ".join(f"{name:>9}" for name in POINTS) + f"  {'points':>9}")
    for kind in [*sorted(got.keys() - {"all"}), "all"]:
        rows = got[kind]
        cells = [f"{sum(rows[name])}/{len(rows[name])}" if rows[name] else "" for name in POINTS]
        every = [has for row in rows.values() for has in row]
        print(f"{kind:12} {len(rows['answer']):4}  " + "  ".join(f"{cell:>9}" for cell in cells), end="")
        print(f"  {sum(every)}/{len(every)}")
    print(f"\ncharacters of an answer: {sum(sizes) / len(sizes):.0f} on average, {max(sizes)} at most")
    print(f"milliseconds of an answer: {took * 1e3:.1f}")


if __name__ == "__main__":
    main()
