"""Precision and recall of the ranker for the questions of brain_cases.json, asked of real stores as a turn asks them.

The cases were written before the ranker was run on them. Two homes, "held out", were not looked at while it was tuned.
A memory in "want" must be recalled, one in "may" is neither right nor wrong, any other is wrong.
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from msgspec import Struct

from clio.memory.retrieval.scoring import Scored, rank
from clio.memory.retrieval.turn_memory import MAX_RECALLED, find_memories
from clio.memory.store.change_log import ScopeLogs
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import Kind, MemoryRecord

CASES = Path(__file__).parents[1] / "data" / "brain_cases.json"
NOW = 1_700_000_000.0
DAY_S = 86_400.0
LONG_WORDS = 20


class Said(Struct):
    """One memory of a home. days: age, and time since the last use."""

    id: str
    type: Kind
    text: str
    importance: float
    days: float
    keywords: tuple[str, ...] = ()


class Home(Struct):
    """A project or a user. part: "tuning" or "held out"."""

    part: str
    memories: tuple[Said, ...]


class Case(Struct):
    """A question, and the memories that answer it."""

    home: str
    ask: str
    want: tuple[str, ...]
    may: tuple[str, ...] = ()


class Book(Struct):
    """The whole file."""

    homes: dict[str, Home]
    cases: tuple[Case, ...]


class Answer(Struct):
    """The recalled memories of one case, best first."""

    case: Case
    part: str
    found: tuple[Scored, ...]

    @property
    def ids(self) -> list[str]:
        return [one.candidate.id for one in self.found]

    @property
    def right(self) -> set[str]:
        return set(self.ids) & set(self.case.want)

    @property
    def wrong(self) -> set[str]:
        return set(self.ids) - set(self.case.want) - set(self.case.may)

    @property
    def missed(self) -> set[str]:
        return set(self.case.want) - set(self.ids)


class Quality(Struct):
    """Shares of all cases. best: with an answer, an answer is first. silent: without an answer, nothing is recalled."""

    cases: int
    precision: float
    recall: float
    best: float
    silent: float
    exact: float


def read() -> Book:
    """Return the cases."""
    return msgspec.json.decode(CASES.read_bytes(), type=Book)


def answers(book: Book) -> list[Answer]:
    """Ask every case of the memories of its home."""
    with TemporaryDirectory() as folder:
        homes = {name: filled(Path(folder) / name, home.memories) for name, home in book.homes.items()}
        return [
            Answer(
                case=case,
                part=book.homes[case.home].part,
                found=tuple(ask(homes[case.home], case.ask)),
            )
            for case in book.cases
        ]


def in_one_store(book: Book, part: str) -> list[Answer]:
    """Ask the cases of a part of one store with the memories of all its homes; those of other homes count as wrong."""
    homes = {name: home for name, home in book.homes.items() if home.part == part}
    said = [
        msgspec.structs.replace(one, id=f"{name}.{one.id}") for name, home in homes.items() for one in home.memories
    ]
    with TemporaryDirectory() as folder:
        memories = filled(Path(folder) / "all", said)
        return [
            Answer(
                case=msgspec.structs.replace(
                    case,
                    want=tuple(f"{case.home}.{id}" for id in case.want),
                    may=tuple(f"{case.home}.{id}" for id in case.may),
                ),
                part=part,
                found=tuple(ask(memories, case.ask)),
            )
            for case in book.cases
            if case.home in homes
        ]


def filled(folder: Path, said: Sequence[Said]) -> MemoryStore:
    """Return a real store of these memories, without merging any."""
    folder.mkdir(parents=True)
    memories = MemoryStore(
        folder / ".clio",
        folder / "home",
        logs=ScopeLogs(folder / ".clio", folder / "home"),
        redact=lambda text: text,
        clock=lambda: NOW,
    )
    records = [
        MemoryRecord(
            id=one.id,
            kind=one.type,
            content=one.text,
            importance=one.importance,
            keywords=one.keywords,
            created=at,
            updated=at,
            accessed=at,
            seen=at,
        )
        for one in said
        for at in (NOW - one.days * DAY_S,)
    ]
    memories.project.put("filled", records)
    return memories


def ask(memories: MemoryStore, question: str) -> list[Scored]:
    """Return what automatic recall would add to the request."""
    found, _ = rank(question, find_memories(memories, question, NOW), now=NOW, limit=MAX_RECALLED)
    return found


def quality(found: Sequence[Answer]) -> Quality:
    """Return the shares over these answers."""
    right = sum(len(one.right) for one in found)
    wrong = sum(len(one.wrong) for one in found)
    asked = [one for one in found if one.case.want]
    others = [one for one in found if not one.case.want]
    return Quality(
        cases=len(found),
        precision=right / max(right + wrong, 1),
        recall=right / max(sum(len(one.case.want) for one in asked), 1),
        best=sum(bool(one.ids) and one.ids[0] in one.case.want for one in asked) / max(len(asked), 1),
        silent=sum(not one.wrong for one in others) / max(len(others), 1),
        exact=sum(not one.wrong and not one.missed for one in found) / max(len(found), 1),
    )


def groups(found: Sequence[Answer]) -> dict[str, list[Answer]]:
    """Return the answers in the groups of the report."""
    return {
        "tuning": [one for one in found if one.part == "tuning"],
        "held out": [one for one in found if one.part == "held out"],
        "long questions": [one for one in found if len(one.case.ask.split()) >= LONG_WORDS],
        "all": list(found),
    }
