"""Why the last request was given what it was given: each item with its signals, its age, what it cost, what was cut."""

from pathlib import Path

import msgspec
from msgspec import Struct

from clio.memory.retrieval.prompt_prefix import Injected
from clio.storage.files import make_ignored_folder, read_regular, write_atomic
from clio.text.json_data import decode_json


class WhyItem(Struct, frozen=True, kw_only=True):
    """One thing the model was given, or would have been.

    source: the store it is from. age_s: seconds since it was said; None where that is not known. tokens: what it costs.
    included: False where a budget cut it. count: how many it stands for, where they are too many to be named.
    """

    source: str
    id: str
    text: str
    reason: str
    signals: dict[str, float] = {}
    age_s: float | None = None
    tokens: int = 0
    included: bool = True
    count: int = 1


class WhyReport(Struct, frozen=True, kw_only=True):
    """The account of one turn. at: seconds since the epoch. question: how the user's text begins."""

    session: str = ""
    at: float = 0.0
    question: str = ""
    scenario: str | None = None
    items: tuple[WhyItem, ...] = ()


class WhyFile:
    """The account of a project's last turn, for commands outside of the conversation. A cache."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, report: WhyReport) -> None:
        """Keep an account in the place of the one before. Raises OSError."""
        make_ignored_folder(self._path.parent, self._path.parent.parent)
        write_atomic(self._path, msgspec.json.encode(report), durable=False)

    def read(self) -> WhyReport | None:
        """The last account; None where there is none that can be read."""
        try:
            return decode_json(read_regular(self._path), type=WhyReport)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None


def knowledge_items(given: Injected, now: float) -> list[WhyItem]:
    """The entries of a block of project knowledge, and how many its limits left out."""
    items = [
        WhyItem(
            source="knowledge",
            id=item.entry.id,
            text=item.entry.line,
            reason=item.reason,
            signals={"worth": item.score, "confidence": item.entry.confidence},
            age_s=max(now - item.entry.updated, 0.0) if item.entry.updated else None,
            tokens=item.tokens,
        )
        for item in given.items
    ]
    if given.left_out:
        left = WhyItem(
            source="knowledge",
            id="",
            text=f"{given.left_out} more entries",
            reason="the limits of the block",
            included=False,
            count=given.left_out,
        )
        items.append(left)
    return items
