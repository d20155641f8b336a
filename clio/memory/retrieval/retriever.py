"""One question to everything that is remembered: three layers, one ranking, each answer with its reasons."""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress

from clio.errors import ClioError
from clio.memory.apart import Apart
from clio.memory.retrieval.results import DEFAULT_LIMIT, LAYERS, Found, Fusion, Layer, LearnedStyles, UnifiedAnswer
from clio.memory.retrieval.sources import Kept, Said, until_of, with_distances
from clio.memory.retrieval.unified_ranking import Ranking, Ruler
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.memories import Memories
from clio.memory.store.notes import Notes
from clio.memory.transcripts.session_search import SessionRecall
from clio.memory.transcripts.transcript_records import Having, Recall
from clio.memory.vectors.meaning import Meaning
from clio.text.formatting import format_count


class Asking(Apart):
    """One question's account. ms: by layer, in milliseconds."""

    def __init__(self) -> None:
        super().__init__()
        self.ms: dict[Layer, float] = {}

    @contextmanager
    def timed(self, layer: Layer) -> Generator[None]:
        """Count the block's time as the layer's."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            took = (time.perf_counter() - begin) * 1e3
            self.ms[layer] = round(self.ms.get(layer, 0.0) + took, 2)


MAX_LIMIT = 200
HASHED_SHARE, REAL_SHARE = 0.0, 0.5
"""What a vector counts: nothing where it is hashed from the same words, half where a model made it."""


class UnifiedRecall:
    """Asks every store of a project and of its person, and joins what they say.

    styles: who knows what styles of answering have learned; None: nobody.
    """

    def __init__(
        self,
        sessions: SessionRecall,
        meaning: Meaning,
        memories: Memories,
        knowledge: LongTermMemory,
        notes: Notes,
        styles: LearnedStyles | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._said = Said(sessions, meaning)
        self._kept = Kept(memories, knowledge, notes, styles)
        self._meaning = meaning
        self._clock = clock

    def recall(
        self,
        query: str,
        *,
        layers: Sequence[Layer] = LAYERS,
        at: float | None = None,
        limit: int = DEFAULT_LIMIT,
        fusion: Fusion = "convex",
        current: str | None = None,
        use: bool = True,
    ) -> UnifiedAnswer:
        """What answers the query, the best first; nothing where nothing has its words.

        at: as of that time, in seconds since the epoch: what was said and known by then, in the words it had then.
        limit: drawn into 1 to 200. fusion: "rrf" joins the sources by rank instead of by score.
        current: id of the session that asks; of it only what left its window is an answer.
        use: memories among the answers count as used, which keeps them; never those of an earlier time.
        What one store cannot give costs the others nothing and is named in `left_out`.
        """
        asking = Asking()
        share = REAL_SHARE if self._meaning.is_real else HASHED_SHARE
        found: list[Found] = []
        spoken = Having()
        if "L0" in layers:
            with asking.timed("L0"):
                found += self._of_sessions(query, at, current, asking, real=share > 0)
                spoken = asking.ask("how common words are", lambda: self._said.having(query), spoken)
        kept: list[Layer] = [layer for layer in layers if layer != "L0"]
        if at is not None and kept:
            found += self._of_then(query, at, kept, asking)
        elif at is None:
            found += self._of_now(query, kept, asking)
        ruler = Ruler(query, (one.text for one in found if one.layer != "L0"), spoken)
        ranking = Ranking(ruler, now=self._clock() if at is None else at, share=share)
        hits, more = ([], 0) if ruler.is_blank else ranking.rank(found, fusion, min(max(limit, 1), MAX_LIMIT))
        used = [hit.id for hit in hits if hit.source == "memory"]
        if used and use and at is None:
            with suppress(ClioError, OSError, TimeoutError):  # a disk that cannot be written can still be read
                self._kept.use(used)
        return UnifiedAnswer(hits=tuple(hits), more=more, left_out=tuple(asking.left_out), ms=asking.ms)

    def _of_sessions(
        self, query: str, at: float | None, current: str | None, asking: Asking, *, real: bool
    ) -> list[Found]:
        said, until = self._said, until_of(at)
        passages, recall = asking.ask(
            "earlier sessions are",
            lambda: said.passages(query, current=current, until=until),
            (list[Found](), Recall()),
        )
        _tell_unsearched(recall, asking)
        turns = asking.ask(
            "trimmed turns are",
            lambda: said.trimmed(query, current=current, until=until, everywhere=real),
            list[Found](),
        )
        found = with_distances(passages, turns)
        if at is None:
            found += asking.ask("documents are", lambda: said.documents(query), list[Found]())
        return found

    def _of_now(self, query: str, layers: Sequence[Layer], asking: Asking) -> list[Found]:
        kept, now, none = self._kept, self._clock(), list[Found]()
        found: list[Found] = []
        if "L1" in layers:
            with asking.timed("L1"):
                found += asking.ask("memories are", lambda: kept.memories(query, now), none)
                found += asking.ask("project knowledge is", lambda: kept.knowledge(now), none)
                found += asking.ask("notes are", kept.notes, none)
        if "L2" in layers:
            with asking.timed("L2"):
                found += asking.ask("preferences are", lambda: kept.preferences(query, now), none)
                found += asking.ask("styles are", lambda: kept.styles(query), none)
        return found

    def _of_then(self, query: str, at: float, layers: Sequence[Layer], asking: Asking) -> list[Found]:
        """Both layers of an earlier time are read from one history."""
        kept, none = self._kept, list[Found]()
        with asking.timed(layers[0]):
            found = asking.ask("memories are", lambda: kept.memories_then(query, at), none)
            if "L1" in layers:
                found += asking.ask("project knowledge is", lambda: kept.knowledge_then(at), none)
                found += asking.ask("notes are", lambda: [note for note in kept.notes() if note.when <= at], none)
        return [one for one in found if one.layer in layers]


def _tell_unsearched(recall: Recall, asking: Asking) -> None:
    for count, what in (
        (recall.unsearched, "not looked at yet; ask again in a moment"),
        (len(recall.unreadable), "not readable"),
    ):
        if count:
            asking.tell(f"{format_count(count, 'session')} {what}")
