"""Auto-remember: saves rules, likings and limits the user states, with a line that says so and can be undone.

A limit holds for the session from the moment it is stated, also while its confirmation is pending.
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
"""Limits named in one line; the others are counted."""


class FoundStatements(Struct, frozen=True, kw_only=True):
    """What a message says about how things are to be done.

    certain: to be remembered at once; doubtful: the user is to be asked; for_task: limits of the task at hand alone.
    """

    certain: tuple[StatedPreference, ...] = ()
    doubtful: tuple[StatedPreference, ...] = ()
    for_task: tuple[str, ...] = ()

    @property
    def held(self) -> tuple[str, ...]:
        """The limits that hold for the session without being remembered."""
        return (*(one.content for one in self.doubtful if one.kind == "rule"), *self.for_task)


def find_statements(memory: MemorySystem, text: str) -> FoundStatements:
    """What the user's message says, without secrets. Facts are left to the model. Nothing where memory is off."""
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
    """Save what was noticed; the line that says so, or why it was not saved. Empty where there is nothing."""
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
    """The line that says which limits hold for this session alone."""
    shown = "; ".join(held[:MAX_SHOWN]) + (f"; and {len(held) - MAX_SHOWN} more" if len(held) > MAX_SHOWN else "")
    return f"Applied to this session: {shown} · /memory undo"


def question(noticed: Sequence[StatedPreference]) -> str:
    """What the user is asked before something doubtful is saved."""
    where = "later work in this project" if noticed[0].in_project else "all later work"
    return f"Remember for {where}: {', '.join(f'“{one.content}”' for one in noticed)}?"


def _says_same(one: StatedPreference, limit: StatedLimit) -> bool:
    """Whether both were read out of the same words."""
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
