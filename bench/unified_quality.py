"""Measure how well a search of memories and sessions together finds the answer, and finds nothing if there is none.

    python -m bench.unified_quality [--misses] [--noise] [--minilm]

The questions are in `bench/data/unified.json`; the answer to each is in one memory, note, preference or session. The
search was tuned on every second question. --noise: also with the sessions of `bench/data/recall_coding.json`.
--minilm: with vectors of all turns by the installed weights of all-MiniLM-L6-v2.

hit@k: share of questions whose answer is among the first k. silent: share of the questions without an answer that find
nothing, and the number of hits of the others.
"""

import argparse
import tempfile
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.recall_sets import CODING, File
from clio.memory.retrieval.retriever import RecallHit
from clio.memory.retrieval.scoring import FUSIONS, Fusion
from clio.memory.store.record import Kind, MemoryDraft, Provenance
from clio.memory.system import MemorySystem
from clio.memory.vectors.model_embedders import MiniLmEmbedder
from clio.messages import AssistantMessage, UserMessage
from clio.sessions.store import SessionStore

DATA = Path(__file__).parent / "data" / "unified.json"
DAY_S = 86_400.0
USER = Provenance(asserted_by="user")


class Dataset(Struct):
    """Named memories, notes, preferences and sessions; questions with their answer. nothing: without one."""

    memories: list[tuple[str, str, str]]
    knowledge: list[tuple[str, Kind, str, str]]
    notes: list[tuple[str, str]]
    preferences: list[tuple[str, str, float, str]]
    sessions: list[tuple[str, str, list[tuple[str, str]]]]
    questions: list[tuple[str, str]]
    nothing: list[str]


def save_all(data: Dataset, memory: MemorySystem, store: SessionStore, project: Path) -> dict[str, str]:
    """Save everything, and return the names by id, key or session id."""
    now = time.time()
    names: dict[str, str] = {}
    for name, kind, text in data.memories:
        names[memory.store.add(MemoryDraft(content=text, kind=kind, importance=0.6), provenance=USER).record.id] = name
    for name, kind, text, solution in data.knowledge:
        steps = tuple(text.partition(": ")[2].split(", ")) if kind == "workflow" else ()
        draft = MemoryDraft(
            kind=kind, content=text.partition(": ")[0] if steps else text, solution=solution, steps=steps
        )
        names[memory.store.add(draft, USER).record.id] = name
    for key, text in data.notes:
        memory.store.add(MemoryDraft(key=key, content=text))
        names[key] = key
    for name, item, score, reason in data.preferences:
        names[memory.preferences.add(item, reason, score).record.id] = name
    for number, (name, title, turns) in enumerate(data.sessions):
        session = store.new(project, name=title)
        for role, text in turns:
            created = now - (number + 1) * 5 * DAY_S
            message_type = UserMessage if role == "user" else AssistantMessage
            session.append(message_type(content=text, created=created))
        session.close()
        names[session.id] = name
    return names


def add_other_sessions(store: SessionStore, project: Path) -> int:
    """Write sessions about other subjects, and return their number."""
    sessions = [
        one for history in msgspec.json.decode(CODING.read_bytes(), type=File).histories for one in history.sessions
    ]
    for number, one in enumerate(sessions):
        session = store.new(project, name=one.title)
        for turn in one.turns:
            message_type = AssistantMessage if turn.role == "assistant" else UserMessage
            session.append(message_type(content=turn.text, created=time.time() - (number + 1) * DAY_S))
        session.close()
    return len(sessions)


def get_name(hit: RecallHit, names: dict[str, str]) -> str:
    """Return the name of a hit, or ""."""
    return names.get(hit.where.session if hit.source == "session" and hit.where else hit.id, "")


def report(data: Dataset, memory: MemorySystem, names: dict[str, str], fusion: Fusion, *, misses: bool) -> None:
    """Print the results of the half that the search was tuned on, and of the other half."""
    for half, label in ((0, "tuning"), (1, "held out")):
        at_1 = at_5 = 0
        questions = data.questions[half::2]
        for question, expected in questions:
            found = [get_name(hit, names) for hit in memory.retriever.search(question, fusion=fusion, use=False).hits]
            at_1 += found[:1] == [expected]
            at_5 += expected in found[:5]
            if misses and half == 0 and found[:1] != [expected]:
                print(f"    {question!r}: wanted {expected}, found {found[:5]}")
        counts = [len(memory.retriever.search(text, fusion=fusion, use=False).hits) for text in data.nothing[half::2]]
        if misses and half == 0:
            not_silent = [text for text, count in zip(data.nothing[half::2], counts, strict=True) if count]
            print(f"    not silent: {not_silent}")
        silent = sum(not count for count in counts) / len(counts)
        count = len(questions)
        print(
            f"{fusion:7} {label}: hit@1 {at_1 / count:.0%}, hit@5 {at_5 / count:.0%} of {count}; "
            f"silent {silent:.0%} of {len(counts)}, {sum(counts)} hits"
        )


def main() -> None:
    """Save the data and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="print the misses of the tuning half")
    parser.add_argument("--noise", action="store_true")
    parser.add_argument("--minilm", action="store_true")
    arguments = parser.parse_args()
    data = msgspec.json.decode(DATA.read_bytes(), type=Dataset)
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        store = SessionStore(project / ".clio" / "sessions")
        embedder = MiniLmEmbedder() if arguments.minilm else None
        memory = MemorySystem(project, store, incognito=False, ltm=True, home=project / "home", embedder=embedder)
        names = save_all(data, memory, store, project)
        if arguments.noise:
            print(f"with {add_other_sessions(store, project)} other sessions")
            while memory.recall_sessions("warm").unsearched:
                pass
        if arguments.minilm:
            memory.refresh_index()
        for fusion in FUSIONS:
            report(data, memory, names, fusion, misses=arguments.misses)


if __name__ == "__main__":
    main()
