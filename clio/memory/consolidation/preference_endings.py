"""Tell whether a message takes a preference, rule or limit back, or wishes something else in its place.

"We're on go 1.22, generics are welcome" ends "never use generics"; "got sick of the cute stuff, plain text please"
replaces "emojis in the summaries"; "push it just this once" changes nothing. A linear model in
`preference_endings.bin` was fitted to labelled pairs in seven languages (`bench/preference_endings.py`).
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct

from clio.memory.consolidation.statement_pairs import Pair, list_part_probabilities
from clio.memory.consolidation.withdrawals import Lifted, as_stated, is_passing, take_back
from clio.memory.preferences.intents import INTENTS
from clio.memory.preferences.own_sentences import FILLER, read_own_sentences
from clio.memory.statement_rewording import says_same
from clio.memory.store.record import MemoryRecord, has_same_text
from clio.memory.system import MemorySystem
from clio.text.linear_model import LinearModel, hash_features

Effect = Literal["kept", "ended", "replaced"]
EFFECTS: tuple[Effect, ...] = get_args(Effect)
MODEL = LinearModel(Path(__file__).with_name("preference_endings.bin"), len(EFFECTS))
_GONE = {"full": 0.7, "most": 0.7, "half": 0.7, "some": 0.7, "none": 0.9}
_LIMIT_GONE = {"full": 0.85, "most": 0.85, "half": 0.9, "some": 0.9, "none": 0.95}
"""Least probability that a preference no longer holds from which on it is taken back, and that for a limit or rule, by
which part of its words the message has.
"""
_MAX_READ = 500
"""Characters of a message that are read."""
_LEVELS = 4
"""Number of steps in which the probability of an intent is a feature."""
_NEGATIVE = re.compile(
    r"\b(?:never|not?|don't|dont|hate|dislike|stop|nie|kein\w*|nicht|pas|jamais|sans|nunca|sin|não|sem|odio|detest\w*)\b"
    r"|[不别禁勿嫌]|ない",
    re.I,
)
"""Words of a prohibition or dislike."""


class FoundEffect(Struct, frozen=True):
    """How probable it is that a message ends a preference, and that it replaces it."""

    ended: float
    replaced: float

    @property
    def gone(self) -> float:
        """The probability that the preference no longer holds."""
        return self.ended + self.replaced


def find_effect(preference: str, message: str) -> FoundEffect:
    """Return what a message does to a preference, rule or limit, both as the user wrote them."""
    _, ended, replaced = MODEL.list_probabilities(list_effect_features(preference, message))
    return FoundEffect(ended, replaced)


def list_effect_features(preference: str, message: str) -> list[int]:
    """Return the features that tell what a message does to a preference."""
    pair = Pair(preference, message, is_reply=False)
    covered = pair.describe_coverage()
    signs = "".join("-" if _NEGATIVE.search(one) else "+" for one in (preference, message))
    names = {*pair.list_names(), f"p{signs}", f"p{signs}{covered}"}
    parts = list_part_probabilities(message)
    for at, intent in enumerate(INTENTS):
        level = int(max((one[at] for one in parts), default=0.0) * _LEVELS)
        names.update(f"e{intent}{level}{what}" for what in ("", covered, signs, f"{covered}{signs}"))
    return hash_features(f"ending {one}" for one in names)


class GonePreference(Struct, frozen=True, kw_only=True):
    """A preference, rule or limit that a message takes back.

    Attributes:
        record: the memory; None for a limit of the session.
        content: its text.
        is_replaced: whether the message wishes something else in its place.
    """

    record: MemoryRecord | None
    content: str
    is_replaced: bool

    def is_still_known(self, memory: MemorySystem, saved: Sequence[str]) -> bool:
        """Whether it is as it was, and none of the statements saved since says the same. Raises StorageError."""
        if any(has_same_text(one, self.content) or says_same(one, self.content) for one in saved):
            return False
        if self.record is None:
            return self.content in memory.held_limits
        return any((one.id, one.content) == (self.record.id, self.content) for _, one in memory.list_preferences())

    def take_back(self, memory: MemorySystem, quote: str) -> Lifted:
        """Archive or lift it. Raises UserError, StorageError, OSError."""
        if self.record is None:
            return take_back(memory, (), (self.content,), quote)
        return take_back(memory, (self.record,), (), quote)


def _read_own_statements(text: str) -> str:
    """Return the user's own sentences without questions and quotations: neither takes a preference back."""
    own = (one for one in read_own_sentences(text) if not one.is_question and FILLER not in one.masked)
    return " ".join(f"{one.text}{one.mark}" for one in own)


def find_gone_preference(memory: MemorySystem, text: str) -> GonePreference | None:
    """Return the preference, rule or limit that a message most probably takes back; None if it takes back none.

    Raises StorageError, OSError.
    """
    message = memory.redacted(_read_own_statements(text))[:_MAX_READ]
    known: list[tuple[MemoryRecord | None, str]] = [(one, as_stated(one)) for _, one in memory.list_preferences()]
    known += [(None, limit) for limit in memory.held_limits]
    if is_passing(text):
        known = [one for one in known if one[0] is not None and not one[0].is_limit]
    found = [(find_effect(content, message), one) for one in known if (content := one[1])] if message else []
    if not found:
        return None
    effect, (record, content) = max(found, key=lambda one: one[0].gone)
    is_rule = record is None or record.is_limit or record.explicit
    covered = Pair(content, message, is_reply=False).describe_coverage()
    if effect.gone < (_LIMIT_GONE if is_rule else _GONE).get(covered, 1.0):
        return None
    return GonePreference(
        record=record,
        content=record.content if record else content,
        is_replaced=effect.replaced > effect.ended,
    )
