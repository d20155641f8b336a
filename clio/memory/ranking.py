"""One ranking for notes and project knowledge: how much of the query a text covers, the exact phrase first."""

from collections.abc import Sequence

from msgspec import structs

from clio.memory.records import Hit, Knowledge, Note
from clio.text.vocabulary import coverage, has_phrase, rarity, terms, words

PHRASE_BONUS = 1.0
"""More than any coverage, so that an exact phrase always comes first."""


def rank(query: str, knowledge: Knowledge, notes: Sequence[Note], limit: int) -> tuple[Hit, ...]:
    """The best `limit` entries and notes that share a word with the query; newest first on ties; none is an answer."""
    candidates = [
        Hit(kind=entry.kind, id=entry.id, text=entry.line, timestamp=entry.confirmed) for entry in knowledge.entries
    ]
    candidates += [Hit(kind="note", key=note.key, text=note.content, timestamp=note.timestamp) for note in notes]
    texts = [words(f"{hit.key} {hit.text}") for hit in candidates]
    bags = [set(terms(f"{hit.key} {hit.text}")) for hit in candidates]
    wanted, phrase = rarity(bags, set(terms(query))), words(query)
    found: list[Hit] = []
    for hit, text, bag in zip(candidates, texts, bags, strict=True):
        score = coverage(wanted, bag)
        if score > 0:
            score += PHRASE_BONUS if len(phrase) > 1 and has_phrase(text, phrase) else 0.0
            found.append(structs.replace(hit, score=round(score, 6)))
    return tuple(sorted(found, key=lambda hit: (-hit.score, -hit.timestamp))[: max(limit, 0)])
