"""Generate a year of work in one project: what the user states, asks and changes in each session.

Every value has its own number, so that the numbers in a text show which values it states and whether they are still
valid. This module does not use clio's memory.
"""

import random
import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from clio.memory.preferences.preferences import Stance, extract_subject, stance_of

TurnKind = Literal["work", "state", "ask", "prefer", "write_note", "read_note", "discover", "edit", "fix", "run"]
_PARTS = (
    "staging billing search payments audit mail export import report metrics invoice checkout upload thumbnail session "
    "catalog shipping refund ledger webhook"
).split()
_FACTS: tuple[tuple[str, str, str], ...] = (
    ("the {} server listens on port {}", "the {} server now listens on port {}", "which port does the {} server use?"),
    ("the {} queue is called heron-{}", "the {} queue is now called heron-{}", "what is the {} queue called?"),
    ("the {} bucket is otter-{}", "the {} bucket is now otter-{}", "which bucket do the {} files go to?"),
    ("the owner of the {} module is team-{}", "team-{1} now owns the {0} module", "who is the {} module's owner?"),
    ("{} logs are kept for {} hours", "{} logs are now kept for {} hours", "for how long are {} logs kept?"),
    ("we deploy the {} service to zone-{}", "we now deploy the {} service to zone-{}", "where do we deploy {}?"),
    ("the timeout of the {} worker is {} ms", "the {} worker's timeout is {} ms now", "timeout of the {} worker?"),
    ("{} releases must always be signed with key-{}", "{} releases must be signed with key-{} from now on",
     "what are {} releases signed with?"),
)  # fmt: skip
_PREFERENCE_SUBJECTS = (
    "lodash moment pandas tabs emojis axios jest sudo globals mocks decorators threads singletons macros regexes "
    "semicolons yaml toml rebase squash asserts getters casts unions"
).split()
_COMMANDS = ("make lint", "uv run pytest -q", "docker compose up -d", "make migrate", "npm run build", "make docs")
_ERRORS = (
    "ConnectionError: the {} service refused the connection",
    "KeyError: '{}_id' is not in the payload",
    "TimeoutError: {} took too long to answer",
    "ValueError: the {} schema has no version",
    "PermissionError: cannot write the {} report",
)
_WORDS = (
    "read the parser module and make it return an error for empty input keep the order of results split long lines "
    "move the helper into its own file add paging sort by date rename the column cache the answer write the missing "
    "test check the index drop the flag log the cause retry once close the handle tidy the imports"
).split()
_NUMBER = re.compile(r"\d{4,}")


class Topic(Struct, kw_only=True):
    """A subject with one valid value at a time.

    value: the digits of a number; empty until it is first stated. last_stated: the number of that session.
    path: the file that has the value, for values in files. key: the key of a keyed note.
    """

    statement: str
    change_statement: str
    question: str
    value: str = ""
    path: str = ""
    key: str = ""
    last_stated: int = -1

    @property
    def text(self) -> str:
        """The statement with the valid value."""
        return self.statement.format(self.value)


class PlannedTurn(Struct, frozen=True, kw_only=True):
    """One turn: the user's message and what the model does. detail: the command, the error, or what is edited."""

    kind: TurnKind
    text: str
    topic: Topic | None = None
    detail: str = ""


class World:
    """The topics with their current and former values. Everything is drawn from `rng`."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._next_value = 2_100
        self._topic_of_value: dict[str, Topic] = {}
        self.facts = [_make_fact_topic(part, wording) for part in _PARTS for wording in _FACTS]
        rng.shuffle(self.facts)
        self.files = [_make_file_topic(part, name) for part in _PARTS for name in ("RETRIES", "BATCH")]
        self.notes = [_make_note_topic(part) for part in _PARTS]
        self.preferences: dict[str, Stance | None] = {}
        self.session = -1

    def plan_session(self) -> list[PlannedTurn]:
        """Return the turns of the next session, 5 to 30."""
        rng, self.session = self._rng, self.session + 1
        turns = [self._state_fact() for _ in range(rng.randint(0, 3))]
        for chance, make in (
            (0.2, self._state_preference), (0.35, self._write_note), (0.5, self._read_note),
            (0.6, self._discover_value), (0.5, self._edit_file), (0.5, self._report_failure),
            (0.3, self._report_failure),
        ):  # fmt: skip
            turns += [make()] if rng.random() < chance else []
        turns += [
            PlannedTurn(kind="run", text=self.filler(5), detail=self._draw_command()) for _ in range(rng.randint(1, 4))
        ]
        turns += [asked for _ in range(rng.randint(2, 5)) if (asked := self._ask_question())]
        more = rng.randint(5, 30) - len(turns)
        turns += [PlannedTurn(kind="work", text=self.filler(rng.randint(4, 40))) for _ in range(more)]
        rng.shuffle(turns)
        return turns

    def filler(self, count: int) -> str:
        """Return `count` words that state no value."""
        return " ".join(self._rng.choices(_WORDS, k=count))

    def is_valid(self, text: str) -> bool | None:
        """Return whether all values that a text states are still valid, or None if it states none."""
        numbers = [number for number in _NUMBER.findall(text) if number in self._topic_of_value]
        if numbers:
            return all(self._topic_of_value[number].value in numbers for number in numbers)
        about = extract_subject(text)
        return stance_of(text) == self.preferences[about] if about in self.preferences else None

    def is_about(self, text: str, topic: Topic) -> bool:
        """Return whether a text states a current or former value of a topic."""
        return any(self._topic_of_value.get(number) is topic for number in _NUMBER.findall(text))

    def _state_fact(self) -> PlannedTurn:
        """State a new fact, a changed one, or a known one again."""
        rng = self._rng
        unstated = [topic for topic in self.facts if not topic.value]
        known = [topic for topic in self.facts if topic.value and topic.last_stated != self.session]
        kind = rng.random()
        if (kind < 0.35 and unstated) or not known:
            topic = unstated[0]
            self._set_new_value(topic)
            text = topic.text
        elif kind < 0.75:
            topic = rng.choice(known)
            self._set_new_value(topic)
            text = topic.change_statement.format(topic.value) if rng.random() < 0.5 else topic.text
        else:
            topic = rng.choice(known)
            text = topic.text
        topic.last_stated = self.session
        form = rng.random()
        if form < 0.3:
            text = f"Remember that {text}."
        else:
            before = f"{self.filler(6).capitalize()}. " if form < 0.6 else ""
            text = f"{before}{_capitalize_first(text)}."
        return PlannedTurn(kind="state", text=text, topic=topic)

    def _ask_question(self) -> PlannedTurn | None:
        """Ask about a topic of an earlier session; recently stated topics are more likely."""
        topics = (*self.facts, *self.files, *self.notes)
        known = [topic for topic in topics if topic.value and topic.last_stated < self.session]
        if not known:
            return None
        weights = [1.0 / (3 + self.session - topic.last_stated) for topic in known]
        [topic] = self._rng.choices(known, weights)
        return PlannedTurn(kind="ask", text=topic.question, topic=topic)

    def _state_preference(self) -> PlannedTurn:
        about = self._rng.choice(_PREFERENCE_SUBJECTS)
        former = self.preferences.get(about)
        if former is not None and self._rng.random() < 0.3:
            self.preferences[about] = None
            return PlannedTurn(kind="prefer", text=f"forget what I said of {about}", detail=f"{former} use {about}")
        stance: Stance = "always" if former == "never" or (former is None and self._rng.random() < 0.5) else "never"
        self.preferences[about] = stance
        return PlannedTurn(
            kind="prefer", text=f"{'From now on always' if stance == 'always' else 'Never'} use {about}."
        )

    def _write_note(self) -> PlannedTurn:
        topic = self._rng.choice(self.notes)
        self._set_new_value(topic)
        topic.last_stated = self.session
        return PlannedTurn(kind="write_note", text=self.filler(8), topic=topic)

    def _read_note(self) -> PlannedTurn:
        written = [topic for topic in self.notes if topic.value]
        if not written:
            return self._write_note()
        return PlannedTurn(kind="read_note", text=self.filler(6), topic=self._rng.choice(written))

    def _discover_value(self) -> PlannedTurn:
        """The model reads a value in a file; it may have read it before."""
        topic = self._rng.choice(self.files)
        if not topic.value:
            self._set_new_value(topic)
        topic.last_stated = self.session
        return PlannedTurn(kind="discover", text=self.filler(9), topic=topic)

    def _edit_file(self) -> PlannedTurn:
        """Change a file of which a value is known: that value, or another part of the file."""
        topic = self._rng.choice([topic for topic in self.files if topic.value] or self.files)
        detail = "value" if not topic.value or self._rng.random() < 0.5 else "elsewhere"
        if detail == "value":
            self._set_new_value(topic)
        return PlannedTurn(kind="edit", text=self.filler(10), topic=topic, detail=detail)

    def _report_failure(self) -> PlannedTurn:
        part, error = self._rng.choice(_PARTS), self._rng.choice(_ERRORS)
        return PlannedTurn(kind="fix", text=f"the {part} tests fail, look into it", detail=error.format(part))

    def _draw_command(self) -> str:
        usual = _COMMANDS if self.session < 160 else (*_COMMANDS[2:], "just lint", "just test")
        return self._rng.choice(usual)

    def _set_new_value(self, topic: Topic) -> None:
        """Give the topic a value that no topic ever had."""
        self._next_value += self._rng.randint(1, 9)
        topic.value = str(self._next_value)
        self._topic_of_value[topic.value] = topic


def draw_session_times(rng: random.Random, sessions: int, days: int = 365) -> Iterator[tuple[int, int]]:
    """Yield the day and hour at which each session begins: at most two a day, at 9 and at 14 o'clock."""
    for slot in sorted(rng.sample(range(2 * days), sessions)):
        yield slot // 2, 9 if slot % 2 == 0 else 14


def _make_fact_topic(part: str, wording: tuple[str, str, str]) -> Topic:
    statement, change_statement, question = wording
    return Topic(
        statement=_fill_part(statement, part),
        change_statement=_fill_part(change_statement, part),
        question=question.format(part),
    )


def _fill_part(wording: str, part: str) -> str:
    """Insert the part of the project; the value stays a `{}`."""
    return wording.format(part, "{}")


def _make_file_topic(part: str, name: str) -> Topic:
    path = f"src/{part}/{name.lower()}.py"
    text = f"{part.upper()}_{name} is {{}}"
    return Topic(statement=text, change_statement=text, question=f"what is {part.upper()}_{name} set to?", path=path)


def _make_note_topic(part: str) -> Topic:
    text = f"how to release {part}: take the lock, then start from tag rc-{{}} and watch the dashboard"
    return Topic(
        statement=text, change_statement=text, question=f"from which tag do we release {part}?", key=f"release_{part}"
    )


def _capitalize_first(text: str) -> str:
    return text[:1].upper() + text[1:]
