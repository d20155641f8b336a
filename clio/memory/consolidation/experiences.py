"""The turns of a stored session as consolidation replays them, with their importance, computed by rule."""

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from clio.memory.consolidation.shell_runs import Doing, commands_in, doings_of, is_check, outcome_of
from clio.memory.store.record import AssertedBy
from clio.messages import AssistantMessage, Message, UserMessage, is_turn_start

FindingKind = Literal["fact", "solution", "workflow", "rule", "preference"]
QUOTE_CHARS = 200


class Finding(Struct, frozen=True, kw_only=True):
    """A durable thing a turn taught.

    text: the fact, the rule, the error of a solution, the name of a workflow. solution: what helped against the error.
    steps: the commands of a workflow. files: those a solution is bound to, as the session names them.
    confidence: 0.0 to 1.0. quote: the words it rests on, at most `QUOTE_CHARS` characters.
    session, message, at: the turn it was found in; of a workflow the last one.
    """

    kind: FindingKind
    text: str
    solution: str = ""
    steps: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    confidence: float
    asserted_by: AssertedBy
    quote: str
    session: str
    message: str
    at: float


# What each thing adds. They are joined as chances are, 1 - Π(1 - part), so that all of them together stay below 1.
WORDS, STATED, COMMITTED, PASSED, CHANGED, DECIDED, ANSWERED = 0.15, 0.35, 0.3, 0.25, 0.1, 0.25, 0.1
_MANY_CHARS, _ANSWER_CHARS = 1_000, 200

_ASSENT = frozenset(
    "yes y yep yeah ok okay sure go continue proceed next more please thanks thank you do it that on ahead and now "
    "good great fine right correct perfect sounds keep going carry again retry k no n stop".split()
)
_STATES = re.compile(
    r"\b(?:remember|always|never|from now on|keep in mind|note that|fyi|decided|we agreed|in future"
    r"|let's (?:go with|use|stick)|we (?:only |now )?(?:use|deploy|release|target|run|keep))\b",
    re.IGNORECASE,
)


class Experience(Struct, frozen=True, kw_only=True):
    """One turn of a stored session.

    session, message: ids of the session and of the user message the turn began with. at: when, in seconds since the
    epoch. importance: 0.0 to 1.0, see `importance_of`. rewards: what feedback said of it; the caller fills them in.
    messages: the turn, whole.
    """

    session: str
    message: str
    at: float
    importance: float
    rewards: tuple[float, ...] = ()
    messages: tuple[Message, ...]


def experiences_of(session_id: str, messages: Sequence[Message], after: str = "") -> list[Experience]:
    """The turns of a session that are over, in order.

    after: the id of a message; only turns that began after it are given, all of them where no message has it. The last
    turn is over when the agent has answered without asking for more; it is left out until then.
    """
    known = next((place for place, message in enumerate(messages) if message.id == after), -1) if after else -1
    starts = [place for place, message in enumerate(messages) if place > known and is_turn_start(message)]
    found: list[Experience] = []
    for start, end in pairwise([*starts, len(messages)]):
        turn = tuple(messages[start:end])
        if end == len(messages) and not _is_over(turn):
            continue
        began = turn[0]
        found.append(
            Experience(
                session=session_id,
                message=began.id,
                at=began.created or max((message.created for message in turn), default=0.0),
                importance=importance_of(turn),
                messages=turn,
            )
        )
    return found


def importance_of(turn: Sequence[Message]) -> float:
    """How much a turn matters, 0.0 to 1.0, from what was said and done in it.

    Joined as chances are: the person's words (up to 0.15 by their length), something stated for good (0.35), a commit
    (0.3), changed files (0.1) that ended in a passing run (0.25 more), a question to the person answered (0.25), a
    long answer to a question of theirs (0.1). A nod alone is 0.0.
    """
    words = " ".join(
        message.content for message in turn if isinstance(message, UserMessage) and message.origin == "user"
    )
    parts: list[float] = []
    if not is_nod(words):
        parts.append(WORDS * min(math.log1p(len(words)) / math.log1p(_MANY_CHARS), 1.0))
        parts += [STATED] if _STATES.search(words[: 2 * _MANY_CHARS]) else []
        parts += [ANSWERED] if _asked_and_answered(words, turn) else []
    doings = doings_of(turn)
    changes = [number for number, doing in enumerate(doings) if doing.deeds.changed]
    parts += [COMMITTED] if any(doing.deeds.commits for doing in doings) else []
    parts += [CHANGED] if changes else []
    parts += [PASSED] if changes and any(map(_passed, doings[changes[-1] + 1 :])) else []
    parts += [DECIDED] if any(doing.deeds.question and not is_nod(doing.deeds.answer) for doing in doings) else []
    return round(1.0 - math.prod(1.0 - part for part in parts), 4)


def is_nod(words: str) -> bool:
    """Whether words only say that it may go on: a few words of assent or impatience, or none."""
    said = [word.strip(".,;:!?…'\"()") for word in words[:200].casefold().split()]
    return len(said) <= 8 and all(not word or word in _ASSENT for word in said)


def _asked_and_answered(words: str, turn: Sequence[Message]) -> bool:
    last = turn[-1]
    return "?" in words and isinstance(last, AssistantMessage) and len(last.content) >= _ANSWER_CHARS


def _passed(doing: Doing) -> bool:
    commands = commands_in(doing.deeds.command) if doing.deeds.exit_code == 0 else ()
    checks = [command for command in commands if is_check(command.core)]
    return bool(checks) and outcome_of(0, doing.output, sure=checks[-1].sure) == "passed"


def _is_over(turn: Sequence[Message]) -> bool:
    last = turn[-1]
    return isinstance(last, AssistantMessage) and not last.tool_calls
