"""How well one question to everything finds what was meant, and whether it is silent where nothing was.

    python -m bench.unified_quality [--misses] [--noise] [--minilm]

Questions and what they ask for are in `bench/data/unified.json`, the answer of each in one memory, entry, note,
preference or session. Every second question was tuned on; the others were not. --noise: the sessions of
`bench/data/recall_coding.json` lie among the others.
--minilm: with vectors of all turns, made by the installed weights of all-MiniLM-L6-v2.

hit@k: share of questions whose answer is among the first k. silent: share of the questions about nothing remembered
that brought nothing, and hits where something came.
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
from clio.memory.vectors.minilm import MiniLmEmbedder
from clio.messages import AssistantMessage, UserMessage
from clio.sessions.store import SessionStore

DATA = Path(__file__).parent / "data" / "unified.json"
DAY_S = 86_400.0
ME = Provenance(asserted_by="user")


class Home(Struct):
    """What is remembered, each with a name, and what is asked: a question and the name of its answer."""

    memories: list[tuple[str, str, str]]
    knowledge: list[tuple[str, Kind, str, str]]
    notes: list[tuple[str, str]]
    preferences: list[tuple[str, str, float, str]]
    sessions: list[tuple[str, str, list[tuple[str, str]]]]
    questions: list[tuple[str, str]]
    nothing: list[str]


def lay_out(home: Home, memory: MemorySystem, store: SessionStore, project: Path) -> dict[str, str]:
    """Remember all of it; the name of what an id, a key or a session stands for."""
    now = time.time()
    names: dict[str, str] = {}
    for name, kind, text in home.memories:
        names[memory.store.add(MemoryDraft(content=text, kind=kind, importance=0.6), provenance=ME).record.id] = name
    for name, kind, text, solution in home.knowledge:
        steps = tuple(text.partition(": ")[2].split(", ")) if kind == "workflow" else ()
        draft = MemoryDraft(
            kind=kind, content=text.partition(": ")[0] if steps else text, solution=solution, steps=steps
        )
        names[memory.store.add(draft, ME).record.id] = name
    for key, text in home.notes:
        memory.store.add(MemoryDraft(key=key, content=text))
        names[key] = key
    for name, item, score, reason in home.preferences:
        names[memory.preferences.add(item, reason, score).record.id] = name
    for number, (name, title, turns) in enumerate(home.sessions):
        session = store.new(project, name=title)
        for role, text in turns:
            created = now - (number + 1) * 5 * DAY_S
            made = UserMessage if role == "user" else AssistantMessage
            session.append(made(content=text, created=created))
        session.close()
        names[session.id] = name
    return names


def add_noise(store: SessionStore, project: Path) -> int:
    """Sessions about other things; how many."""
    sessions = [
        one for history in msgspec.json.decode(CODING.read_bytes(), type=File).histories for one in history.sessions
    ]
    for number, one in enumerate(sessions):
        session = store.new(project, name=one.title)
        for turn in one.turns:
            made = AssistantMessage if turn.role == "assistant" else UserMessage
            session.append(made(content=turn.text, created=time.time() - (number + 1) * DAY_S))
        session.close()
    return len(sessions)


def name_of(hit: RecallHit, names: dict[str, str]) -> str:
    """What a hit stands for."""
    return names.get(hit.where.session if hit.source == "session" and hit.where else hit.id, "")


def report(home: Home, memory: MemorySystem, names: dict[str, str], fusion: Fusion, *, misses: bool) -> None:
    """Print the rates of the half that was tuned on, and of the other one."""
    for half, label in ((0, "tuned on"), (1, "not seen")):
        at_1 = at_5 = 0
        asked = home.questions[half::2]
        for question, wanted in asked:
            found = [name_of(hit, names) for hit in memory.retriever.search(question, fusion=fusion, use=False).hits]
            at_1 += found[:1] == [wanted]
            at_5 += wanted in found[:5]
            if misses and half == 0 and found[:1] != [wanted]:
                print(f"    {question!r}: wanted {wanted}, found {found[:5]}")
        counts = [len(memory.retriever.search(text, fusion=fusion, use=False).hits) for text in home.nothing[half::2]]
        if misses and half == 0:
            loud = [text for text, count in zip(home.nothing[half::2], counts, strict=True) if count]
            print(f"    not silent: {loud}")
        silent = sum(not count for count in counts) / len(counts)
        print(
            f"{fusion:7} {label}: hit@1 {at_1 / len(asked):.0%}, hit@5 {at_5 / len(asked):.0%} of {len(asked)}; "
            f"silent {silent:.0%} of {len(counts)}, hits there {sum(counts)}"
        )


def main() -> None:
    """Lay the home out and ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--misses", action="store_true", help="name the misses of the half that was tuned on")
    parser.add_argument("--noise", action="store_true")
    parser.add_argument("--minilm", action="store_true")
    given = parser.parse_args()
    home = msgspec.json.decode(DATA.read_bytes(), type=Home)
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        store = SessionStore(project / ".clio" / "sessions")
        embedder = MiniLmEmbedder() if given.minilm else None
        memory = MemorySystem(project, store, incognito=False, ltm=True, home=project / "home", embedder=embedder)
        names = lay_out(home, memory, store, project)
        if given.noise:
            print(f"{add_noise(store, project)} sessions of others among them")
            while memory.recall_sessions("warm").unsearched:
                pass
        if given.minilm:
            memory.refresh_index()
        for fusion in FUSIONS:
            report(home, memory, names, fusion, misses=given.misses)


if __name__ == "__main__":
    main()
