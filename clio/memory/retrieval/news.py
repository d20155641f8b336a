"""What was learned since the prompt was made: told once, behind it, since the prompt itself never changes."""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct, structs

from clio.memory.retrieval.prompt_prefix import (
    CHARS_PER_TOKEN,
    Injected,
    Line,
    injected,
    line_of,
    that_fit,
    under_headings,
    worth,
)
from clio.memory.store.record import Freshness, Knowledge, MemoryRecord

CAP_TOKENS = 800


class News(Struct, frozen=True, kw_only=True):
    """Entries that are new, that say something else than before, and that hold no longer."""

    new: tuple[MemoryRecord, ...] = ()
    changed: tuple[MemoryRecord, ...] = ()
    gone: tuple[MemoryRecord, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.gone)


def news_since(before: Knowledge, now: Knowledge, shown: Collection[str] | None = None) -> News:
    """What `now` says that `before` did not. That an entry was only confirmed is no news.

    shown: ids of the entries a model has seen; only of those it is news that they hold no longer. None means all.
    """
    then = {entry.id: entry for entry in before.entries}
    new = tuple(entry for entry in now.entries if entry.id not in then)
    changed = tuple(entry for entry in now.entries if entry.id in then and _says(entry) != _says(then[entry.id]))
    left = {entry.id for entry in now.entries}
    gone = tuple(entry for entry in before.entries if entry.id not in left and (shown is None or entry.id in shown))
    return News(new=new, changed=changed, gone=gone)


def news_fragment(
    news: News,
    freshness: Mapping[str, Freshness],
    source: str,
    cap_tokens: int = CAP_TOKENS,
    *,
    chars_per_token: float = CHARS_PER_TOKEN,
) -> Injected | None:
    """The news as one block for the text behind the prompt; None where there is none, or nothing fits."""
    groups = (
        ("New in the project knowledge", news.new),
        ("Changed in the project knowledge", news.changed),
        ("No longer in the project knowledge", news.gone),
    )
    # What holds no longer corrects what the model was told: it stays longest.
    lines = [
        line_of(heading, entry, {} if entries is news.gone else freshness, worth(entry))
        for heading, entries in groups
        for entry in sorted(entries, key=lambda entry: (-entry.updated, entry.id))
    ]
    gone = {entry.id for entry in news.gone}
    total = len(lines)
    ranked = sorted(lines, key=lambda line: (line.entry.id not in gone, -line.entry.updated, line.entry.id))
    chosen = that_fit(lines, ranked, lambda kept: _render(kept, total), cap_tokens * chars_per_token)
    if not chosen:
        return None
    return injected(
        "knowledge_news",
        _render(chosen, total),
        chosen,
        source=source,
        reason=f"{len(chosen)} of {total} changes since the session's prompt was made",
        cap_tokens=cap_tokens,
        left_out=total - len(chosen),
        newest=max(line.entry.updated for line in chosen),
    )


def _says(entry: MemoryRecord) -> MemoryRecord:
    return structs.replace(
        entry, times=1, created=0.0, updated=0.0, confidence=0.0, hashes={}, provenance=None, version=1, since=0.0
    )


def _render(lines: Sequence[Line], total: int) -> str:
    parts = under_headings(lines)
    if total > len(lines):
        parts.append(f'{total - len(lines)} more changed: memory_operations(operation="recall", query=…) finds them.')
    return "\n".join(parts)
