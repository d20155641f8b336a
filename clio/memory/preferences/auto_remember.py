"""Auto-remember: save the rules, likings and limits that the user states, and report it in a line; can be undone.

A limit applies to the session from the moment it is stated, even while its confirmation is pending.
"""

import re
from collections.abc import Sequence
from contextlib import nullcontext

from msgspec import Struct, structs

from clio.errors import StorageError, UserError
from clio.memory.preferences.limits import StatedLimit, find_limits
from clio.memory.preferences.preferences import Preferences
from clio.memory.preferences.stated_preferences import NEVER, StatedPreference, notice
from clio.memory.store.record import Provenance
from clio.memory.system import MemorySystem
from clio.storage.locks import error_cause
from clio.text.scoring import HARD_LIMIT_SCORE, describe_score

_AND_A_LIMIT = re.compile(
    r"(?:,?\s+(?:but|and|just)|[,;])\s+(?:please\s+)?(?:never|no|not|don't|do not|always|only|just)\b.*$", re.I
)
MAX_SHOWN = 3
"""Maximum number of limits listed in one line; the others are only counted."""


class FoundStatements(Struct, frozen=True, kw_only=True):
    """The rules, preferences and limits found in one message.

    Attributes:
        certain: statements to save at once.
        doubtful: statements to save only if the user confirms.
        for_task: limits of the current task, which are not saved.
    """

    certain: tuple[StatedPreference, ...] = ()
    doubtful: tuple[StatedPreference, ...] = ()
    for_task: tuple[str, ...] = ()

    @property
    def held(self) -> tuple[str, ...]:
        """Limits that apply to the session without being saved."""
        return (*(one.content for one in self.doubtful if one.kind == "rule"), *self.for_task)


def find_statements(memory: MemorySystem, text: str) -> FoundStatements:
    """Return the statements in the user's message, without secrets. Empty if memory is off.

    Facts are not included; saving them is left to the model.
    """
    if memory.is_silent:
        return FoundStatements()
    noticed = [one for one in notice(text) if one.kind != "fact"]
    for_task: list[str] = []
    for limit in find_limits(text):
        same = [one for one in noticed if _says_same(one, limit)]
        rule = next((one for one in same if one.kind in ("rule", "dislike")), None)
        if rule is not None:
            is_project = limit.scope == "project"
            certain = rule.certain or limit.term == "lasting"
            noticed[noticed.index(rule)] = structs.replace(rule, certain=certain, in_project=is_project)
            continue
        for liking in same:
            noticed.remove(liking)
            if not liking.content.startswith("use ") and (rest := _AND_A_LIMIT.sub("", liking.content)):
                noticed.append(structs.replace(liking, content=rest))
        if limit.term == "task":
            for_task.append(limit.content)
        else:
            noticed.append(_as_noticed(limit))
    clean = memory.redacted_notices(noticed)
    return FoundStatements(
        certain=tuple(one for one in clean if one.certain),
        doubtful=tuple(one for one in clean if not one.certain),
        for_task=tuple(memory.redacted(limit) for limit in for_task),
    )


def save_statements(memory: MemorySystem, noticed: Sequence[StatedPreference], session: str) -> str:
    """Save statements, and return the line that reports it or why they were not saved; "" for no statements."""
    saved: dict[str, list[str]] = {"project": [], "user": []}
    failed = ""
    said = Provenance(session=session, asserted_by="user")
    title = "; ".join(one.content for one in noticed[:MAX_SHOWN])
    with memory.undo_group(f"saved {title}") if len(noticed) > 1 else nullcontext():
        for one in noticed:
            try:
                [clean] = memory.redacted_notices([one])
                scope = "project" if one.in_project and not memory.is_foreign else "user"
                book = memory.project_preferences if scope == "project" else memory.preferences
                saved[scope].append(_save(book, clean, said))
            except (UserError, StorageError, OSError) as error:
                failed = f"not saved: {error_cause(error)}"
    parts = [f"Saved to {scope} memory: {'; '.join(contents)}" for scope, contents in saved.items() if contents]
    remembered = f"{' · '.join(parts)} · /memory undo" if parts else ""
    return "; ".join(part for part in (remembered, failed) if part)


def describe_session_limits(held: Sequence[str]) -> str:
    """Return the line that lists the limits that apply to this session only."""
    shown = "; ".join(held[:MAX_SHOWN]) + (f"; and {len(held) - MAX_SHOWN} more" if len(held) > MAX_SHOWN else "")
    return f"Applied to this session: {shown} · /memory undo"


def question(noticed: Sequence[StatedPreference]) -> str:
    """Return the question to ask the user before doubtful statements are saved."""
    where = "later work in this project" if noticed[0].in_project else "all later work"
    return f"Remember for {where}: {', '.join(f'“{one.content}”' for one in noticed)}?"


def _says_same(one: StatedPreference, limit: StatedLimit) -> bool:
    """Whether a preference and a limit were found in the same words of a message."""
    if one.quote not in limit.quote and limit.quote not in one.quote:
        return False
    mine, other = _word_set(one.content), _word_set(limit.content)
    return len(mine & other) * 2 > min(len(mine), len(other))


def _word_set(text: str) -> set[str]:
    return set(re.findall(r"[^\s,.:;!?]+", text.casefold()))


def _as_noticed(limit: StatedLimit) -> StatedPreference:
    return StatedPreference(
        kind="rule",
        content=limit.content,
        score=NEVER,
        certain=limit.term == "lasting",
        quote=limit.quote,
        in_project=limit.scope == "project",
    )


def _save(preferences: Preferences, one: StatedPreference, said: Provenance) -> str:
    scenarios = (one.scenario,) if one.scenario else ()
    explicit = one.kind == "rule"
    score = one.score if one.score is not None else 9.0
    record = preferences.add(
        one.content, f"said: {one.quote[:200]}", score, scenarios=scenarios, explicit=explicit, provenance=said
    ).record
    now = record.score if record.score is not None else score
    kind = "hard limit" if now <= HARD_LIMIT_SCORE else "a rule" if explicit else describe_score(now)
    where = f", for {one.scenario}" if one.scenario else ""
    return f"{record.content} ({kind}{where})"
