"""How well earlier sessions are found: clio's own index, the original's scoring (the floor) and plain FTS5 beside it.

    python -m bench.recall_quality [FILE] [--mode turns|sessions] [--by-kind] [--only NAME]

Without FILE: every shipped set of `bench.recall_sets` and the made ones of `bench.recall_made`, development and test
halves apart, and all kinds of question.
FILE: {"histories": [{"sessions": [{"session_id", "title", "date", "turns": [{"turn_id", "speaker", "role", "text"}]}],
"queries": [{"qid", "text", "cat", "gold": [[session_id, turn_id], …]}]}]}. Title, date, speaker, role and cat may be
missing. Each history has an index of its own.
--mode turns asks "which turn says it", sessions "which session did this"; without it both are asked.
--minilm: also with vectors of all turns, made by all-MiniLM-L6-v2: by the installed weights, or those in FOLDER.
--elsewhere: how many questions find something in sessions about other subjects, where nothing answers them.
--brief: only one line for each set. --half: only the sets of one half.

hit@k: share of questions with a gold turn (session) among the first k. recall@10: mean share of the gold turns
(sessions) there. MRR: mean of 1 / rank of the first one. Sessions are counted once each. ms: CPU time of a query.
"""

import argparse
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal, cast

import msgspec
from msgspec import structs

from bench.recall_long import make_long_talk
from bench.recall_made import make_sets
from bench.recall_sets import File, History, Turn, session_time, shipped_sets
from clio.memory.retrieval.retriever import DEFAULT_LIMIT, MAX_NEAREST_FUSED, count_passages_for
from clio.memory.retrieval.scoring import Candidate, compute_meaning, rank
from clio.memory.transcripts.index import RecallIndex
from clio.memory.transcripts.session_text import SessionDoc, TurnDoc
from clio.text.embedding import Row
from clio.text.vocabulary import STOP_WORDS, has_phrase, tokenize

DEPTH = 50
Mode = Literal["turns", "sessions"]
Key = tuple[str, str]
"""A session and one of its turns."""


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
        at = session_time(session.date) or float(number)
        turns = tuple(
            TurnDoc(
                message_id=str(turn.turn_id),
                role="assistant" if turn.role == "assistant" else "tool" if turn.role == "tool" else "user",
                created=at,
                text=said(turn),
                output=turn.output,
            )
            for turn in session.turns
        )
        id = str(session.session_id)
        docs.append(SessionDoc(id=id, title=session.title or "", updated=at, stamp="1", turns=turns))
    return docs


def said(turn: Turn) -> str:
    """The text, with the speaker's name where it is one."""
    named = turn.speaker and turn.speaker.lower() not in ("user", "assistant", "tool", "human", "ai")
    return f"{turn.speaker}: {turn.text}" if named else turn.text


def get_place(hit: Candidate) -> Key:
    """The session and the message of a passage."""
    return (hit.where.session, hit.id) if hit.where else ("", hit.id)


def clio_finder(docs: list[SessionDoc], mode: Mode) -> Callable[[str], list[Key]]:
    """Clio's own answer."""
    index = RecallIndex(None)
    index.put(docs)

    def find(query: str) -> list[Key]:
        if mode == "turns":
            return [get_place(hit) for hit in index.search_turns(query, limit=DEPTH)]
        hits = index.search(query, limit=DEPTH)
        return [(hit.session_id, passage.message_id) for hit in hits for passage in hit.passages]

    return find


def everything_finder(
    docs: list[SessionDoc], mode: Mode, near_of: "NearOf | None" = None
) -> Callable[[str], list[Key]]:
    """What a search of everything that is remembered makes of the index's answers, as `clio recall` shows them."""
    index = RecallIndex(None)
    index.put(docs)
    now = max((doc.updated for doc in docs), default=0.0)

    def find(query: str) -> list[Key]:
        distances = near_of(query) if near_of else {}
        near = {place: compute_meaning(distance) for place, distance in distances.items()}
        candidates = [
            structs.replace(one, distance=distances.get((one.where.session, one.id)) if one.where else None)
            for one in index.search_turns(query, limit=count_passages_for(DEFAULT_LIMIT), near=near or None)
        ]
        found, _ = rank(
            query,
            candidates,
            now=now,
            limit=DEFAULT_LIMIT,
            transcribed=index.count_words(query),
            vectors=near_of is not None,
            is_search=True,
        )
        return [(one.candidate.where.session, one.candidate.id) for one in found if one.candidate.where]

    return find


def plain_finder(docs: list[SessionDoc], mode: Mode) -> Callable[[str], list[Key]]:
    """What FTS5 gives by itself: any word, its own BM25, whole turns."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE turns USING fts5 (text, tokenize='porter unicode61')")
    keys = [(doc.id, turn.message_id) for doc in docs for turn in doc.turns]
    database.executemany("INSERT INTO turns (text) VALUES (?)", ((turn.text,) for doc in docs for turn in doc.turns))

    def find(query: str) -> list[Key]:
        said = tokenize(query)
        match = " OR ".join(f'"{word}"' for word in [word for word in said if word not in STOP_WORDS] or said)
        rows = database.execute("SELECT rowid FROM turns WHERE turns MATCH ? ORDER BY rank LIMIT 500", (match,))
        return [keys[row - 1] for (row,) in rows] if match else []

    return find


def original_finder(docs: list[SessionDoc], mode: Mode) -> Callable[[str], list[Key]]:
    """The original's scoring: 3 for the query word for word, 1 a word, up to 1.5 for density, 0.5 for a title."""

    def find(query: str) -> list[Key]:
        wanted = [word for word in dict.fromkeys(tokenize(query)) if len(word) > 2 and word not in STOP_WORDS]
        scored: list[tuple[float, float, Key]] = []
        for doc in docs:
            title = set(tokenize(doc.title))
            for turn in doc.turns:
                said = tokenize(turn.text)
                hits = sum(word in said for word in wanted)
                if not hits:
                    continue
                density = min(1.5, 10 * sum(word in wanted for word in said) / max(len(said), 1))
                exact = 3.0 if has_phrase(said, tokenize(query)) else 0.0
                score = exact + hits + density + (0.5 if title.intersection(wanted) else 0.0)
                scored.append((score, turn.created, (doc.id, turn.message_id)))
        return [key for _, _, key in sorted(scored, key=lambda one: (-one[0], -one[1]))]

    return find


NearOf = Callable[[str], dict[Key, float]]
"""Returns the turns whose vectors are nearest to those of a query, with their distances."""


class ModelVectors:
    """Makes vectors of all turns with MiniLM, each text once. folder: of the weights; None for the installed ones."""

    def __init__(self, folder: Path | None) -> None:
        from clio.memory.vectors.minilm import MiniLmEmbedder

        self._embedder = MiniLmEmbedder(folder)
        self._rows: dict[str, Row] = {}
        self.name, self.piece_words, self.remote = self._embedder.name, self._embedder.piece_words, False
        self._embedder.embed(["a text"])  # raises EmbeddingFailed instead of falling back to hashed vectors

    def embed(self, texts: Sequence[str]) -> list[Row]:
        """See `Embedder`."""
        new = sorted({text for text in texts if text not in self._rows}, key=len)
        self._rows.update(zip(new, self._embedder.embed(new), strict=True))
        return [self._rows[text] for text in texts]

    def index(self, docs: list[SessionDoc]) -> NearOf:
        """Return a function that finds the nearest turns of these sessions."""
        from clio.memory.vectors.semantic_index import split_turn
        from clio.memory.vectors.vector_store import VectorItem, VectorStore

        vectors = VectorStore(None, self)
        vectors.put(
            VectorItem(id=f"{doc.id}/{turn.message_id}", group=doc.id, text=piece, role=turn.role, created=turn.created)
            for doc in docs
            for turn in doc.turns
            for piece in split_turn(turn.text, self.piece_words)
        )

        def find(query: str) -> dict[Key, float]:
            found = vectors.search(query, MAX_NEAREST_FUSED, groups=None)
            return {(item.group, item.id.partition("/")[2]): distance for item, distance in found}

        return find

    def clio_finder(self, docs: list[SessionDoc], mode: Mode) -> Callable[[str], list[Key]]:
        """Clio's own answer with the vectors; a search for sessions does not use them."""
        index, near_of = RecallIndex(None), self.index(docs)
        index.put(docs)

        def find(query: str) -> list[Key]:
            near = {place: compute_meaning(distance) for place, distance in near_of(query).items()}
            return [get_place(hit) for hit in index.search_turns(query, limit=DEPTH, near=near)]

        return find

    def everything_finder(self, docs: list[SessionDoc], mode: Mode) -> Callable[[str], list[Key]]:
        """See `everything_finder`."""
        return everything_finder(docs, mode, self.index(docs))


Finder = Callable[[list[SessionDoc], Mode], Callable[[str], list[Key]]]
FINDERS: dict[str, Finder] = {
    "clio": clio_finder,
    "everything": everything_finder,
    "the original": original_finder,
    "plain FTS5": plain_finder,
}


def all_sets() -> dict[str, list[History]]:
    """Return the shipped and the made sets by name."""
    sets = shipped_sets()
    for half, seed in (("development", 300), ("test", 700)):
        sets |= make_sets(half)
        sets[f"long assistant talk, {half}"] = [make_long_talk(half, seed + number) for number in range(3)]
    return sets


def measure(histories: Iterable[History], mode: Mode, finder: Finder) -> tuple[dict[str, tuple[Tally, Tally]], float]:
    """Results by kind of question, for turns and for sessions, and milliseconds of CPU a query."""
    tallies: dict[str, tuple[Tally, Tally]] = {}
    asking = 0.0
    asked = 0
    for history in histories:
        find = finder(documents(history), mode)
        for question in history.queries:
            start = time.process_time()
            found = find(question.text)
            asking += time.process_time() - start
            asked += 1
            gold = question.answers()
            if gold:
                for category in (str(question.cat or "-"), "all"):
                    turns, sessions = tallies.setdefault(category, (Tally(), Tally()))
                    turns.add(list(found), set(gold))
                    sessions.add(list(dict.fromkeys(session for session, _ in found)), {session for session, _ in gold})
    return tallies, 1000 * asking / max(asked, 1)


ASKED_ELSEWHERE = 60
"""Number of questions of each set that are asked elsewhere."""


def get_subject(set_name: str) -> str:
    """Return the name of a set without how it was made, so that sets with the same subjects have the same."""
    return set_name.split(",")[0].removeprefix("made ").removeprefix("long ")


def report_elsewhere(sets: dict[str, list[History]], finder: Finder) -> None:
    """Print how many questions of each set find something in the first history of the sets with other subjects."""
    sets = {name: histories for name, histories in sets.items() if " asked " not in name}
    finders = {name: finder(documents(histories[0]), "turns") for name, histories in sets.items()}
    asked = answered = 0
    for name, histories in sets.items():
        for other, find in finders.items():
            if get_subject(other) != get_subject(name):
                for question in histories[0].queries[:ASKED_ELSEWHERE]:
                    asked += 1
                    answered += bool(find(question.text))
    print(f"asked elsewhere: {answered} of {asked} questions find something")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="How well recall finds what was said.")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--mode", choices=["turns", "sessions"])
    parser.add_argument("--brief", action="store_true", help="no lines for the kinds of question")
    parser.add_argument("--elsewhere", action="store_true", help="only how many questions find something elsewhere")
    parser.add_argument("--half", choices=["development", "test"])
    parser.add_argument("--only", choices=[*FINDERS, "clio with MiniLM", "everything with MiniLM"])
    parser.add_argument(
        "--minilm", type=Path, nargs="?", const=Path(), metavar="FOLDER", help="also with MiniLM; FOLDER: the weights"
    )
    options = parser.parse_args()
    if options.minilm is not None:
        model = ModelVectors(None if options.minilm == Path() else options.minilm)
        FINDERS["clio with MiniLM"] = model.clio_finder
        FINDERS["everything with MiniLM"] = model.everything_finder
    sets = all_sets()
    sets = {name: histories for name, histories in sets.items() if name.endswith(options.half or "")}
    if options.file:
        sets = {options.file.name: msgspec.json.decode(options.file.read_bytes(), type=File).histories}
    if options.elsewhere:
        report_elsewhere(sets, FINDERS[options.only or "everything"])
        return
    for mode in cast("list[Mode]", [options.mode] if options.mode else ["turns", "sessions"]):
        print(
            f"mode {mode:<38}{'n':>4} by turn:  @1     @5    @10  rec@10    MRR   by session: @1     @5    @10  rec@10"
        )
        for set_name, histories in sets.items():
            for name, finder in FINDERS.items():
                if options.only in (None, name):
                    tallies, ms = measure(histories, mode, finder)
                    kinds = [] if options.brief else sorted(set(tallies) - {"all"})
                    for kind in [*kinds, "all"]:
                        turn, session = tallies[kind]
                        label = f"{set_name}: {name}" if kind == "all" else f"  {kind}"
                        cost = f"  {ms:.1f} ms" if kind == "all" else ""
                        print(f"{label:<43}{turn.asked:>4}   {turn.line()}         {session.line()[:28]}{cost}")
        print()


if __name__ == "__main__":
    main()
