"""What a session's requests are told of the project knowledge: a block in the prompt, and later the news behind it."""

from collections.abc import Container, Sequence
from pathlib import Path

from msgspec import structs

from clio.memory.retrieval.news import news_fragment, news_since
from clio.memory.retrieval.prompt_prefix import (
    CHARS_PER_TOKEN,
    Injected,
    candidates,
    knowledge_fragment,
    matching_rules,
)
from clio.memory.store.ltm_codec import LtmReading
from clio.memory.store.record import Knowledge, MemoryRecord
from clio.messages import Fragment


class Briefing:
    """What one session has been told.

    start: the folder clio was started in, which decides what rules are near.
    is_foreign: the knowledge came with the project and is not trusted: it is told as the repository's statement.
    """

    def __init__(self, ltm: LtmReading, source: str, project: Path, start: Path, *, is_foreign: bool = False) -> None:
        self._is_foreign = is_foreign
        self._ltm = ltm
        self._source = source
        self._project = project
        self._start = start
        self._in_prompt: Knowledge | None = None  # what was known when the prompt was made
        self._told: Knowledge | None = None  # what the model has been told by now
        self._shown: set[str] = set()  # ids of the entries it has seen
        self._prompt: Injected | None = None
        self._news: Injected | None = None

    @property
    def given(self) -> tuple[Injected, ...]:
        """The block in the prompt, and the news of the last turn."""
        return tuple(part for part in (self._prompt, self._news) if part)

    def prompt(self, cap_tokens: int, chars_per_token: float = CHARS_PER_TOKEN) -> list[Fragment]:
        """The block for the prompt of the whole session; from now on everything else is news."""
        knowledge = self._ltm.read()
        rules = matching_rules(knowledge.of("rule"), self._project, self._start)
        freshness = self._ltm.freshness(candidates(knowledge, rules))
        self._in_prompt = self._told = knowledge
        self._news = None
        self._prompt = knowledge_fragment(
            knowledge,
            freshness,
            self._source,
            cap_tokens,
            rules=rules,
            chars_per_token=chars_per_token,
            is_foreign=self._is_foreign,
        )
        self._shown = set(_ids(self._prompt))
        return [self._prompt.fragment] if self._prompt else []

    def news(self, in_window: Container[str] = ()) -> list[Fragment]:
        """What was learned, changed or given up since the model was told last, here or by another process.

        in_window: ids of the messages the model still sees: what was learned from one of them is no news to it.
        """
        self._news = None
        if self._told is None:
            return []
        known = self._ltm.read()
        news, self._told = news_since(self._told, known, self._shown), known
        news = structs.replace(news, new=_unseen(news.new, in_window), changed=_unseen(news.changed, in_window))
        entries: Sequence[MemoryRecord] = (*news.new, *news.changed)
        self._news = news_fragment(news, self._ltm.freshness(entries), self._source)
        self._shown.update(_ids(self._news))
        return [self._news.fragment] if self._news else []

    def window_trimmed(self) -> None:
        """What the turns were told may have left the window: it is news again."""
        self._told = self._in_prompt


def _unseen(entries: Sequence[MemoryRecord], in_window: Container[str]) -> tuple[MemoryRecord, ...]:
    """The entries that were not learned from a message the model still sees."""
    return tuple(one for one in entries if one.provenance is None or one.provenance.message not in in_window)


def _ids(given: Injected | None) -> list[str]:
    return [item.entry.id for item in given.items] if given else []
