"""Tell whether a message takes a preference, rule or limit back, or wishes something else in its place.

"We're on go 1.22, generics are welcome" ends "never use generics"; "got sick of the cute stuff, plain text please"
replaces "emojis in the summaries"; "push it just this once" changes nothing. Only the user's own sentences count:
nothing that a model, a tool or a file says lifts a limit. "You may also edit tests/" is added to "only edit src/".

A linear model in `preference_endings.bin` was fitted to labelled pairs in seven languages by
`bench/preference_endings.py`.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct, structs

from clio.memory.consolidation.statement_pairs import Pair, find_part_probability, list_part_probabilities
from clio.memory.consolidation.withdrawals import Lifted, as_stated, change_pending, take_back
from clio.memory.preferences.intents import INTENTS
from clio.memory.preferences.own_sentences import FILLER, read_own_sentences
from clio.memory.statement_rewording import says_same
from clio.memory.store.record import MemoryRecord, Provenance, has_same_text
from clio.memory.system import MemorySystem
from clio.text.linear_model import LinearModel, hash_features

Effect = Literal["kept", "ended", "replaced"]
EFFECTS: tuple[Effect, ...] = get_args(Effect)
MODEL = LinearModel(Path(__file__).with_name("preference_endings.bin"), len(EFFECTS))
_GONE = {"full": 0.7, "most": 0.7, "half": 0.7, "some": 0.7, "none": 0.9}
_LIMIT_GONE = {"full": 0.65, "most": 0.65, "half": 0.7, "some": 0.7, "none": 0.95}
"""Least probability that a preference no longer holds from which on it is taken back, and that for a limit or rule, by
which part of its words the message has.
"""
_PERMITS = 0.3
_GONE_IF_PERMITTED = {"full": 0.45, "most": 0.45, "half": 0.45, "some": 0.45, "none": 0.7}
"""The same for a message of which a part permits something at least as probably as this."""
_ONLY = re.compile(
    r"\b(?:only|nothing (?:but|except|outside)|nur|ausschließlich|lediglich|uniquement|seulement|exclusivement"
    r"|sol[oa]mente|solo|sólo|únicamente|exclusivamente|só|apenas|somente|unicamente)\b|\bne\b(?=.*\bqu[e'])|只能?|仅|だけ|のみ|しか",
    re.I,
)
"""Words of a limit that allows some things, and nothing else."""
_MORE = re.compile(
    r"\b(?:too|also|as well|in addition|auch|ebenfalls|zusätzlich|außerdem|aussi|également|en plus|también|además"
    r"|também|além disso)\b|也|还|も(?!う)",
    re.I,
)
"""Words by which a permission adds to what such a limit allows."""
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
    """A preference, rule or limit that a message takes back, or adds to.

    Attributes:
        record: the memory; None for a limit of the session.
        content: its text.
        is_replaced: whether the message wishes something else in its place.
        widened: its text with what the message permits as well; "" if it is taken back.
        others: other memories of which it is as probable, so that it is not clear which one is meant.
    """

    record: MemoryRecord | None
    content: str
    is_replaced: bool = False
    widened: str = ""
    others: tuple[MemoryRecord, ...] = ()

    def is_still_known(self, memory: MemorySystem, saved: Sequence[str]) -> bool:
        """Whether it is as it was, and none of the statements saved since says the same. Raises StorageError."""
        if any(has_same_text(one, self.content) or says_same(one, self.content) for one in saved):
            return False
        if self.record is None:
            return self.content in memory.held_limits
        return any((one.id, one.content) == (self.record.id, self.content) for _, one in memory.list_preferences())

    def take_back(self, memory: MemorySystem, quote: str, session: str) -> Lifted:
        """Archive, lift or widen it. Raises UserError, StorageError, OSError."""
        if self.record is not None and self.others:
            return Lifted(candidates=(self.record, *self.others), quote=quote)
        if self.widened and self.record is not None:
            said = Provenance(session=session, asserted_by="user")
            memory.store.update(self.record.id, content=self.widened, provenance=said)
            return Lifted(records=(self.record,), widened=(self.widened,), quote=quote)
        if self.widened:
            memory.replace_held(self.content, self.widened)
            change_pending(memory, {self.content: self.widened})
            return Lifted(held=(self.content,), widened=(self.widened,), quote=quote)
        if self.record is None:
            return take_back(memory, (), (self.content,), quote)
        return take_back(memory, (self.record,), (), quote)


def _read_own_statements(text: str) -> str:
    """Return the user's own sentences without questions and quotations: neither takes a preference back."""
    own = (one for one in read_own_sentences(text) if not one.is_question and FILLER not in one.masked)
    return " ".join(f"{one.text}{one.mark}" for one in own)


def is_ended(content: str, text: str) -> bool:
    """Whether a message takes a limit or rule back."""
    message = _read_own_statements(text)[:_MAX_READ]
    return bool(message) and _is_gone(content, message, find_effect(content, message), is_rule=True)


def _is_gone(content: str, message: str, effect: FoundEffect, *, is_rule: bool) -> bool:
    is_permitted = find_part_probability(message, "lifted") >= _PERMITS
    levels = _GONE_IF_PERMITTED if is_permitted else _LIMIT_GONE if is_rule else _GONE
    return effect.gone >= levels.get(Pair(content, message, is_reply=False).describe_coverage(), 1.0)


def find_gone_preferences(memory: MemorySystem, text: str) -> list[GonePreference]:
    """Return the preferences, rules and limits that a message takes back or adds to, the most probable one first.

    Several are taken back if the message has most of the words of each; otherwise it is not clear which one is meant.

    Raises StorageError, OSError.
    """
    message = memory.redacted(_read_own_statements(text))[:_MAX_READ]
    known: list[tuple[MemoryRecord | None, str]] = [(one, as_stated(one)) for _, one in memory.list_preferences()]
    known += [(None, limit) for limit in memory.held_limits]
    if not message or not known:
        return []
    if (widened := _find_widened(known, message)) is not None:
        return [widened]
    found: list[tuple[float, GonePreference, bool]] = []
    for record, content in known:
        effect = find_effect(content, message)
        if _is_gone(content, message, effect, is_rule=record is None or record.is_limit or record.explicit):
            stored = record.content if record else content
            one = GonePreference(record=record, content=stored, is_replaced=effect.replaced > effect.ended)
            is_named = Pair(content, message, is_reply=False).describe_coverage() in ("full", "most")
            found.append((effect.gone, one, is_named))
    found.sort(key=lambda one: -one[0])
    named = [one for _, one, is_named in found if is_named]
    if named or len(found) < 2:
        return named or [one for _, one, _ in found]
    first = found[0][1]
    others = tuple(one.record for _, one, _ in found[1:] if one.record is not None)
    return [structs.replace(first, others=others if first.record is not None else ())]


def _find_widened(known: Sequence[tuple[MemoryRecord | None, str]], message: str) -> GonePreference | None:
    """Return the only "only" limit with words of a message that permits something "as well", with the message added."""
    if not _MORE.search(message) or find_part_probability(message, "lifted") < _PERMITS:
        return None
    pairs = [(one, content, Pair(content, message, is_reply=False)) for one, content in known if _ONLY.search(content)]
    meant = [(one, content) for one, content, pair in pairs if pair.content & pair.new_stems]
    if len(meant) != 1:
        return None
    record, content = meant[0]
    return GonePreference(record=record, content=content, widened=f"{content}; {message.strip(' .!。！')}")
