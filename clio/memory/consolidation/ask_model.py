"""What a model finds in the best turns of a night. One question; its answer is data that must prove itself.

The prompt is fixed and bounded. Of the answer nothing counts but a list of findings, each with words that really stand
in the turn it names; it is held to be less sure than what was found by rule.
"""

import re
from collections.abc import Callable, Sequence
from heapq import nlargest
from typing import Literal

import msgspec
from msgspec import Struct

from clio.memory.consolidation.consolidation import Ask
from clio.memory.consolidation.experiences import QUOTE_CHARS, Experience, Finding
from clio.memory.store.record import AssertedBy
from clio.messages import AssistantMessage, ToolMessage, UserMessage
from clio.prompt_files import fill_prompt
from clio.text.json_data import decode_json
from clio.threads import BackgroundCall

BUDGET_CHARS = 16_000
"""About 4,000 tokens of turns."""
MOST_TURNS, MOST_FINDINGS = 24, 10
CONFIDENCE = 0.6
_WORDS_CHARS, _ANSWER_CHARS = 1_200, 1_200
_LEAST_QUOTE = 12
_TEXT_CHARS = 500
_POLL_S = 0.02
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.S | re.I)
_LIST = re.compile(r"\[.*\]", re.S)


class Digest(Struct, frozen=True, kw_only=True):
    """What a model is shown of a turn: the person's words and the last answer, cut, without secrets.

    tools: what the turn's calls gave, which the model is not shown: an answer may quote it.
    """

    session: str
    message: str
    at: float
    person: str
    agent: str
    tools: tuple[str, ...] = ()
    priority: float = 0.0


class _Shown(Struct, frozen=True, kw_only=True):
    turn: int
    person: str
    agent: str


class _Said(Struct, frozen=True, kw_only=True):
    turn: int
    kind: Literal["fact", "solution"]
    text: str
    quote: str
    solution: str = ""


class Best:
    """The best turns of a night, a few of them, in the form a model is shown."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._found: list[Digest] = []

    def add(self, turn: Experience, priority: float) -> None:
        """Look at one more turn."""
        lowest = self._found[-1].priority if len(self._found) >= MOST_TURNS else -1.0
        if priority <= lowest:
            return
        person = " ".join(one.content for one in turn.messages if isinstance(one, UserMessage) and one.origin == "user")
        agent = next((one.content for one in reversed(turn.messages) if isinstance(one, AssistantMessage)), "")
        digest = Digest(
            session=turn.session,
            message=turn.message,
            at=turn.at,
            person=self._redact(person)[:_WORDS_CHARS],
            agent=self._redact(agent)[:_ANSWER_CHARS],
            tools=tuple(one.content for one in turn.messages if isinstance(one, ToolMessage)),
            priority=priority,
        )
        self._found = nlargest(MOST_TURNS, (*self._found, digest), key=lambda one: one.priority)

    @property
    def turns(self) -> tuple[Digest, ...]:
        """They, the best first, as many as the budget allows."""
        room, taken = BUDGET_CHARS, list[Digest]()
        for one in self._found:
            room -= len(one.person) + len(one.agent)
            if room < 0:
                break
            taken.append(one)
        return tuple(taken)


def ask_about(turns: Sequence[Digest], ask: Ask, over: Callable[[], bool]) -> list[Finding]:
    """What a model finds in the turns. Asked in a thread of its own, so that the night can end without the answer.

    Raises ProviderError where it does not answer; gives nothing where it is over before.
    """
    if not turns:
        return []
    try:
        answer = BackgroundCall(lambda: ask(prompt(turns)), "ask-about-turns").wait(give_up=over, poll_s=_POLL_S)
    except TimeoutError:
        return []
    return read_answer(answer, turns)


def prompt(turns: Sequence[Digest]) -> str:
    """The question, with the turns in it as JSON."""
    shown = [_Shown(turn=number, person=one.person, agent=one.agent) for number, one in enumerate(turns, 1)]
    return fill_prompt("memory/sleep", turns=msgspec.json.format(msgspec.json.encode(shown), indent=0).decode())


def read_answer(answer: str, turns: Sequence[Digest]) -> list[Finding]:
    """The findings in an answer, at most ten; what does not prove itself is left out."""
    found = _LIST.search(_THOUGHTS.sub("", answer))
    try:
        listed = decode_json(found[0], type=list[msgspec.Raw]) if found else []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    said = (one for raw in listed if (one := _decode(raw)))
    findings = (finding for one in said if (finding := _finding(one, turns)))
    return [finding for finding, _ in zip(findings, range(MOST_FINDINGS), strict=False)]


def _decode(raw: msgspec.Raw) -> _Said | None:
    try:
        return decode_json(raw, type=_Said)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _finding(said: _Said, turns: Sequence[Digest]) -> Finding | None:
    if not 1 <= said.turn <= len(turns):
        return None
    turn = turns[said.turn - 1]
    text, solution = (" ".join(one.split()) for one in (said.text, said.solution))
    if not _is_quoted(said.quote, turn) or not 0 < len(text) <= _TEXT_CHARS or len(solution) > _TEXT_CHARS:
        return None
    if said.kind == "solution" and not solution:
        return None
    return Finding(
        kind=said.kind,
        text=text,
        solution=solution if said.kind == "solution" else "",
        confidence=CONFIDENCE,
        asserted_by=_asserted_by(said, turn),
        quote=said.quote[:QUOTE_CHARS],
        session=turn.session,
        message=turn.message,
        at=turn.at,
    )


def _is_quoted(quote: str, turn: Digest) -> bool:
    """Whether these words, and enough of them, stand in the turn; blanks and case do not count."""
    return len(_plain(quote)) >= _LEAST_QUOTE and _has((turn.person, turn.agent), quote)


def _asserted_by(said: _Said, turn: Digest) -> AssertedBy:
    """Whose words they are: what an answer only repeats of a page or an output is not the model's own."""
    for parts in ((said.quote,), tuple(filter(None, (said.text, said.solution)))):
        if all(_has(turn.tools, part) for part in parts) and not all(_has((turn.person,), part) for part in parts):
            return "tool"
    return "model"


def _has(texts: Sequence[str], quote: str) -> bool:
    words = _plain(quote)
    return any(words in _plain(text) for text in texts)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
