"""How well recall finds what was said: clio's own index, and plain FTS5 (porter, stop words out) beside it.

    python bench/recall_quality.py [FILE] [--mode turns|sessions]

FILE: {"histories": [{"sessions": [{"session_id", "title", "date", "turns": [{"turn_id", "speaker", "role", "text"}]}],
"queries": [{"qid", "text", "cat", "gold": [[session_id, turn_id], …]}]}]}. Title, date, speaker, role and cat may be
missing. Each history has an index of its own. Without FILE: the questions that ship with clio, in
`bench/data/recall_coding.json`.
--mode turns asks "which turn says it", sessions "which session did this"; without it both are asked.

hit@k: share of questions with a gold turn (session) among the first k. recall@10: mean share of the gold turns
(sessions) there. MRR: mean of 1 / rank of the first one. Sessions are counted once each. ms: CPU time of a query.
"""

import argparse
import sqlite3
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, cast

import msgspec
from msgspec import Struct

from clio.memory.transcripts.index import RecallIndex
from clio.memory.transcripts.transcript_records import SessionDoc, TurnDoc
from clio.text.vocabulary import STOP_WORDS, words

SHIPPED = Path(__file__).parent / "data" / "recall_coding.json"
DEPTH = 50
Mode = Literal["turns", "sessions"]
Key = tuple[str, str]
"""A session and one of its turns."""


class Turn(Struct):
    """One message of a history."""

    turn_id: str | int
    text: str
    speaker: str | None = None
    role: str | None = None


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

    def answers(self) -> list[Key]:
        """The gold turns."""
        return [(str(gold[0]), str(gold[1])) for gold in self.gold]


class History(Struct):
    """Sessions, and what is asked about them."""

    sessions: list[Session]
    queries: list[Question]


class File(Struct):
    """The whole file."""

    histories: list[History]


class Tally:
    """Sums over questions."""

    def __init__(self) -> None:
        self.asked = 0
        self.sums = [0.0] * 5

    def add(self, found: list[object], gold: set[object]) -> None:
        """Count one answer: what was found, the best first."""
        ranks = [rank for rank, item in enumerate(found, 1) if item in gold]
        first = min(ranks, default=0)
        self.asked += 1
        reached = [0 < first <= k for k in (1, 5, 10)]
        shares = [sum(rank <= 10 for rank in ranks) / len(gold), 1 / first if first else 0.0]
        self.sums = [total + value for total, value in zip(self.sums, [*reached, *shares], strict=True)]

    def line(self) -> str:
        """hit@1, @5, @10, recall@10, MRR, in percent."""
        return "".join(f"{100 * total / max(self.asked, 1):7.1f}" for total in self.sums)


def documents(history: History) -> list[SessionDoc]:
    """The sessions as clio would know them; who is named as a speaker stands before what was said."""
    docs: list[SessionDoc] = []
    for number, session in enumerate(history.sessions):
        turns = tuple(
            TurnDoc(
                message_id=str(turn.turn_id),
                role="assistant" if turn.role == "assistant" else "tool" if turn.role == "tool" else "user",
                created=float(number),
                text=said(turn),
            )
            for turn in session.turns
        )
        id = str(session.session_id)
        docs.append(SessionDoc(id=id, title=session.title or "", updated=float(number), stamp="1", turns=turns))
    return docs


def said(turn: Turn) -> str:
    """The text, with the speaker's name where it is one."""
    named = turn.speaker and turn.speaker.lower() not in ("user", "assistant", "tool", "human", "ai")
    return f"{turn.speaker}: {turn.text}" if named else turn.text


def clio_finder(docs: list[SessionDoc], mode: Mode) -> Callable[[str], list[Key]]:
    """Clio's own answer."""
    index = RecallIndex.open(None)
    index.put(docs)

    def find(query: str) -> list[Key]:
        if mode == "turns":
            return [(hit.session_id, hit.message_id) for hit in index.search(query, mode="turns", limit=DEPTH)]
        hits = index.search(query, mode="sessions", limit=DEPTH)
        return [(hit.session_id, passage.message_id) for hit in hits for passage in hit.passages]

    return find


def plain_finder(docs: list[SessionDoc], mode: Mode) -> Callable[[str], list[Key]]:
    """What FTS5 gives by itself: any word, its own BM25, whole turns."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE turns USING fts5 (text, tokenize='porter unicode61')")
    keys = [(doc.id, turn.message_id) for doc in docs for turn in doc.turns]
    database.executemany("INSERT INTO turns (text) VALUES (?)", ((turn.text,) for doc in docs for turn in doc.turns))

    def find(query: str) -> list[Key]:
        said = words(query)
        match = " OR ".join(f'"{word}"' for word in [word for word in said if word not in STOP_WORDS] or said)
        rows = database.execute("SELECT rowid FROM turns WHERE turns MATCH ? ORDER BY rank LIMIT 500", (match,))
        return [keys[row - 1] for (row,) in rows] if match else []

    return find


def measure(
    histories: Iterable[History], mode: Mode, finder: Callable[[list[SessionDoc], Mode], Callable[[str], list[Key]]]
) -> None:
    """Ask everything and print a table."""
    by_turn: dict[str, Tally] = {}
    by_session: dict[str, Tally] = {}
    indexing = asking = 0.0
    asked = 0
    for history in histories:
        start = time.process_time()
        find = finder(documents(history), mode)
        indexing += time.process_time() - start
        for question in history.queries:
            start = time.process_time()
            found = find(question.text)
            asking += time.process_time() - start
            asked += 1
            gold = question.answers()
            if gold:
                for category in (str(question.cat or "-"), "all"):
                    by_turn.setdefault(category, Tally()).add(list(found), set(gold))
                    sessions = list(dict.fromkeys(session for session, _ in found))
                    by_session.setdefault(category, Tally()).add(list(sessions), {session for session, _ in gold})
    print(f"  indexing {indexing:.2f} s, {1000 * asking / max(asked, 1):.2f} ms CPU a query")
    print(f"  {'':<22}{'n':>5}  by turn: @1     @5    @10  rec@10    MRR   by session: @1     @5    @10  rec@10    MRR")
    for category in sorted(by_turn, key=lambda name: (name == "all", name)):
        turn, session = by_turn[category], by_session[category]
        print(f"  {category:<22}{turn.asked:>5}    {turn.line()}           {session.line()}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="How well recall finds what was said.")
    parser.add_argument("file", nargs="?", type=Path, default=SHIPPED)
    parser.add_argument("--mode", choices=["turns", "sessions"])
    options = parser.parse_args()
    histories = msgspec.json.decode(options.file.read_bytes(), type=File).histories
    turns = sum(len(session.turns) for history in histories for session in history.sessions)
    print(f"{options.file.name}: {len(histories)} histories, {turns} turns")
    for mode in cast("list[Mode]", [options.mode] if options.mode else ["turns", "sessions"]):
        for name, finder in (("clio", clio_finder), ("plain FTS5", plain_finder)):
            print(f"\n{name}, mode {mode}")
            measure(histories, mode, finder)


if __name__ == "__main__":
    main()
