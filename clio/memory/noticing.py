"""What a person says plainly about how they want things done is remembered, with a line they see and can take back."""

from collections.abc import Sequence

from msgspec import structs

from clio.algorithms.bands import HARD_LIMIT, label_of
from clio.errors import StorageError, UserError
from clio.memory.preferences.book import Preferences
from clio.memory.preferences.notice import Noticed, notice
from clio.memory.records import Provenance
from clio.memory.system import MemorySystem
from clio.storage.reasons import cause


def look_for_notices(memory: MemorySystem, text: str) -> tuple[list[Noticed], list[Noticed]]:
    """What the words of a turn say: that which is certain, and that which the person is to be asked about.

    Facts are left to the model, which knows what of them will matter again. Nothing where memory is off.
    """
    if memory.is_silent:
        return [], []
    found = [one for one in notice(text) if one.kind != "fact"]
    return [one for one in found if one.certain], [one for one in found if not one.certain]


def remember_noticed(memory: MemorySystem, noticed: Sequence[Noticed], session: str) -> str:
    """Keep what was noticed; the line that says so, or why it was not kept. Empty where there is nothing."""
    kept: list[str] = []
    failed = ""
    said = Provenance(session=session, asserted_by="user")
    for one in noticed:
        try:
            clean = structs.replace(one, content=memory.redacted(one.content), quote=memory.redacted(one.quote))
            kept.append(_keep(memory.preferences, clean, said))
        except (UserError, StorageError, OSError) as error:
            failed = f"not remembered: {cause(error)}"
    remembered = f"remembered: {'; '.join(kept)} · /memory undo" if kept else ""
    return "; ".join(part for part in (remembered, failed) if part)


def question(one: Noticed) -> str:
    """What the person is asked before something doubtful is kept."""
    return f"Remember for all later work: “{one.content}”?"


def _keep(preferences: Preferences, one: Noticed, said: Provenance) -> str:
    scenarios = (one.scenario,) if one.scenario else ()
    explicit = one.kind == "rule"
    score = one.score if one.score is not None else 9.0
    record = preferences.add(
        one.content, f"said: {one.quote[:200]}", score, scenarios=scenarios, explicit=explicit, provenance=said
    ).record
    now = record.score if record.score is not None else score
    kind = "hard limit" if now <= HARD_LIMIT else "a rule" if explicit else label_of(now)
    where = f", for {one.scenario}" if one.scenario else ""
    return f"{record.content} ({kind}{where})"
