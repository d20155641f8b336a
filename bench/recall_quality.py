"""Measure how well recall finds earlier sessions, compared with the Perl CLIO's scoring and with plain FTS5.

    python -m bench.recall_quality [FILE] [--mode turns|sessions] [--brief] [--only NAME]

Without FILE: the stored sets of `bench.recall_sets` and the generated sets of `bench.recall_made` and
`bench.recall_long`, each half separately.
FILE: {"histories": [{"sessions": [{"session_id", "title", "date", "turns": [{"turn_id", "speaker", "role", "text"}]}],
"queries": [{"qid", "text", "cat", "gold": [[session_id, turn_id], …]}]}]}. Title, date, speaker, role and cat are
optional. Each history has its own index.
--mode: search for turns or for sessions; default: both.
--minilm: also with vectors of all turns by all-MiniLM-L6-v2, with the installed weights or those in FOLDER.
--elsewhere: count the questions that find something in sessions about other subjects, where nothing answers them.
--brief: only one line for each set. --half: only the sets of one half.

hit@k: share of questions with a gold turn (session) among the first k. recall@10: mean share of the gold turns
(sessions) among the first 10. MRR: mean of 1 / rank of the first one. Each session counts once. ms: CPU time per query.
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
from bench.recall_sets import File, History, Turn, load_shipped_sets, parse_session_time
from clio.memory.retrieval.retriever import DEFAULT_LIMIT, MAX_NEAREST_FUSED, count_passages_for
from clio.memory.retrieval.scoring import Candidate, compute_meaning, rank
from clio.memory.transcripts.index import RecallIndex
from clio.memory.transcripts.session_text import SessionDoc, TurnDoc
from clio.text.embedding import Row
from clio.text.vocabulary import STOP_WORDS, has_phrase, tokenize

DEPTH = 50
Mode = Literal["turns", "sessions"]
Key = tuple[str, str]
"""The ids of a session and of one of its turns."""


class Tally:
    """Sums over questions."""

    def __init__(self) -> None:
        self.asked = 0
        self.sums = [0.0] * 5

    def add(self, found: list[object], gold: set[object]) -> None:
        """Add the results of one question, best first."""
        ranks = [rank for rank, item in enumerate(found, 1) if item in gold]
        first = min(ranks, default=0)
        self.asked += 1
        reached = [0 < first <= k for k in (1, 5, 10)]
        shares = [sum(rank <= 10 for rank in ranks) / len(gold), 1 / first if first else 0.0]
        self.sums = [total + value for total, value in zip(self.sums, [*reached, *shares], strict=True)]

    def percentages(self) -> str:
        """Format hit@1, @5, @10, recall@10 and MRR in percent."""
        return "".join(f"{100 * total / max(self.asked, 1):7.1f}" for total in self.sums)


def make_documents(history: History) -> list[SessionDoc]:
    """Return the sessions as clio indexes them. Names of speakers become part of the text."""
    docs: list[SessionDoc] = []
    for number, session in enumerate(history.sessions):
        at = parse_session_time(session.date) or float(number)
        turns = tuple(
            TurnDoc(
                message_id=str(turn.turn_id),
                role="assistant" if turn.role == "assistant" else "tool" if turn.role == "tool" else "user",
                created=at,
                text=speaker_text(turn),
                output=turn.output,
            )
            for turn in session.turns
        )
        id = str(session.session_id)
        docs.append(SessionDoc(id=id, title=session.title or "", updated=at, stamp="1", turns=turns))
    return docs


def speaker_text(turn: Turn) -> str:
    """Return the text, after the speaker's name if it is not a role."""
    named = turn.speaker and turn.speaker.lower() not in ("user", "assistant", "tool", "human", "ai")
    return f"{turn.speaker}: {turn.text}" if named else turn.text


def get_key(hit: Candidate) -> Key:
    """Return the session and message ids of a hit."""
    return (hit.where.session, hit.id) if hit.where else ("", hit.id)


def make_clio_finder(docs: list[SessionDoc], mode: Mode) -> Callable[[str], list[Key]]:
    """Search the index of sessions."""
    index = RecallIndex(None)
    index.put(docs)

    def find(query: str) -> list[Key]:
        if mode == "turns":
            return [get_key(hit) for hit in index.search_turns(query, limit=DEPTH)]
        hits = index.search(query, limit=DEPTH)
        return [(hit.session_id, passage.message_id) for hit in hits for passage in hit.passages]

    return find


def make_search_finder(
    docs: list[SessionDoc], mode: Mode, near_of: "NearOf | None" = None
) -> Callable[[str], list[Key]]:
    """Rank the hits of the index as `clio recall` does."""
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


def make_fts5_finder(docs: list[SessionDoc], mode: Mode) -> Callable[[str], list[Key]]:
    """Search with SQLite FTS5 alone: whole turns with any of the words, ranked by its BM25."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE turns USING fts5 (text, tokenize='porter unicode61')")
    keys = [(doc.id, turn.message_id) for doc in docs for turn in doc.turns]
    database.executemany("INSERT INTO turns (text) VALUES (?)", ((turn.text,) for doc in docs for turn in doc.turns))

    def find(query: str) -> list[Key]:
        words = tokenize(query)
        match = " OR ".join(f'"{word}"' for word in [word for word in words if word not in STOP_WORDS] or words)
        rows = database.execute("SELECT rowid FROM turns WHERE turns MATCH ? ORDER BY rank LIMIT 500", (match,))
        return [keys[row - 1] for (row,) in rows] if match else []

    return find


def make_original_finder(docs: list[SessionDoc], mode: Mode) -> Callable[[str], list[Key]]:
    """Score as the Perl CLIO does: 3 for the exact query, 1 per word, up to 1.5 for density, 0.5 for the title."""

    def find(query: str) -> list[Key]:
        query_words = [word for word in dict.fromkeys(tokenize(query)) if len(word) > 2 and word not in STOP_WORDS]
        scored: list[tuple[float, float, Key]] = []
        for doc in docs:
            title = set(tokenize(doc.title))
            for turn in doc.turns:
                words = tokenize(turn.text)
                hits = sum(word in words for word in query_words)
                if not hits:
                    continue
                density = min(1.5, 10 * sum(word in query_words for word in words) / max(len(words), 1))
                exact = 3.0 if has_phrase(words, tokenize(query)) else 0.0
                score = exact + hits + density + (0.5 if title.intersection(query_words) else 0.0)
                scored.append((score, turn.created, (doc.id, turn.message_id)))
        return [key for _, _, key in sorted(scored, key=lambda one: (-one[0], -one[1]))]

    return find


NearOf = Callable[[str], dict[Key, float]]
"""Returns the turns whose vectors are nearest to those of a query, with their distances."""


class ModelVectors:
    """Makes vectors of all turns with MiniLM, each text once. folder: of the weights; None for the installed ones."""

    def __init__(self, folder: Path | None) -> None:
        from clio.memory.vectors.model_embedders import MiniLmEmbedder

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

    def make_clio_finder(self, docs: list[SessionDoc], mode: Mode) -> Callable[[str], list[Key]]:
        """Search the index with vectors; a search for sessions does not use them."""
        index, near_of = RecallIndex(None), self.index(docs)
        index.put(docs)

        def find(query: str) -> list[Key]:
            near = {place: compute_meaning(distance) for place, distance in near_of(query).items()}
            return [get_key(hit) for hit in index.search_turns(query, limit=DEPTH, near=near)]

        return find

    def make_search_finder(self, docs: list[SessionDoc], mode: Mode) -> Callable[[str], list[Key]]:
        """See the function `make_search_finder`."""
        return make_search_finder(docs, mode, self.index(docs))


Finder = Callable[[list[SessionDoc], Mode], Callable[[str], list[Key]]]
FINDERS: dict[str, Finder] = {
    "clio": make_clio_finder,
    "everything": make_search_finder,
    "Perl CLIO": make_original_finder,
    "plain FTS5": make_fts5_finder,
}


def load_all_sets() -> dict[str, list[History]]:
    """Return the stored and the generated sets by name."""
    sets = load_shipped_sets()
    for half, seed in (("development", 300), ("test", 700)):
        sets |= make_sets(half)
        sets[f"long assistant talk, {half}"] = [make_long_talk(half, seed + number) for number in range(3)]
    return sets


def measure(histories: Iterable[History], mode: Mode, finder: Finder) -> tuple[dict[str, tuple[Tally, Tally]], float]:
    """Return the results by kind of question, for turns and for sessions, and the CPU time per query in ms."""
    tallies: dict[str, tuple[Tally, Tally]] = {}
    query_s = 0.0
    asked = 0
    for history in histories:
        find = finder(make_documents(history), mode)
        for question in history.queries:
            start = time.process_time()
            found = find(question.text)
            query_s += time.process_time() - start
            asked += 1
            gold = question.answers()
            if gold:
                for category in (str(question.cat or "-"), "all"):
                    turns, sessions = tallies.setdefault(category, (Tally(), Tally()))
                    turns.add(list(found), set(gold))
                    sessions.add(list(dict.fromkeys(session for session, _ in found)), {session for session, _ in gold})
    return tallies, 1000 * query_s / max(asked, 1)


ASKED_ELSEWHERE = 60
"""Number of questions of each set that are asked about sessions of other sets."""


def get_subject(set_name: str) -> str:
    """Return the subject of a set from its name, the same for stored and generated sets."""
    return set_name.split(",")[0].removeprefix("generated ").removeprefix("long ")


def report_elsewhere(sets: dict[str, list[History]], finder: Finder) -> None:
    """Print how many questions of each set find something in the first history of the sets with other subjects."""
    sets = {name: histories for name, histories in sets.items() if " asked " not in name}
    finders = {name: finder(make_documents(histories[0]), "turns") for name, histories in sets.items()}
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
    parser = argparse.ArgumentParser(description="Measure how well recall finds earlier sessions.")
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
        FINDERS["clio with MiniLM"] = model.make_clio_finder
        FINDERS["everything with MiniLM"] = model.make_search_finder
    sets = load_all_sets()
    sets = {name: histories for name, histories in sets.items() if name.endswith(options.half or "")}
    if options.file:
        sets = {options.file.name: msgspec.json.decode(options.file.read_bytes(), type=File).histories}
    if options.elsewhere:
        report_elsewhere(sets, FINDERS[options.only or "everything"])
        return
    for mode in cast("list[Mode]", [options.mode] if options.mode else ["turns", "sessions"]):
        print(
            f"mode {mode:<53}{'n':>4} by turn:  @1     @5    @10  rec@10    MRR   by session: @1     @5    @10  rec@10"
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
                        by_session = session.percentages()[:28]
                        print(f"{label:<58}{turn.asked:>4}   {turn.percentages()}         {by_session}{cost}")
        print()


if __name__ == "__main__":
    main()
