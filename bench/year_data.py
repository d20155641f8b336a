"""A made-up year of work in one project: what is said, asked and changed in each session, and what holds when.

Every value that is ever true has a number of its own, so that a text tells by its numbers what it says, and whether
that still holds. Nothing here knows of clio's memory.
"""

import random
import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from clio.memory.preferences.preferences import Stance, extract_subject, stance_of

Do = Literal["work", "tell", "ask", "prefer", "note", "look", "discover", "edit", "fix", "run"]
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
_THINGS = (
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
    """Something with one true value at a time. value: as a number's digits; empty until the user states it.

    path: the file it is in, for what is found in files. key: of a note.
    """

    plain: str
    changed: str
    question: str
    value: str = ""
    path: str = ""
    key: str = ""
    said: int = -1

    @property
    def text(self) -> str:
        """What is true of it, as it is said plainly."""
        return self.plain.format(self.value)


class Doing(Struct, frozen=True, kw_only=True):
    """One turn: what the user says, and what is done. topic: its topic, if it has one."""

    do: Do
    said: str
    topic: Topic | None = None
    detail: str = ""


class World:
    """What is true, and what has been; everything follows from the generator of chance."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._next = 2_100
        self._of: dict[str, Topic] = {}
        self.facts = [_fact(part, wording) for part in _PARTS for wording in _FACTS]
        rng.shuffle(self.facts)
        self.files = [_file(part, name) for part in _PARTS for name in ("RETRIES", "BATCH")]
        self.notes = [_note(part) for part in _PARTS]
        self.tastes: dict[str, Stance | None] = {}
        self.session = -1

    def begin(self) -> list[Doing]:
        """The turns of the next session, five to thirty."""
        rng, self.session = self._rng, self.session + 1
        doings = [self._tell() for _ in range(rng.randint(0, 3))]
        for chance, make in (
            (0.2, self._prefer), (0.35, self._note), (0.5, self._look), (0.6, self._discover), (0.5, self._edit),
            (0.5, self._fix), (0.3, self._fix),
        ):  # fmt: skip
            doings += [make()] if rng.random() < chance else []
        doings += [Doing(do="run", said=self.words(5), detail=self._command()) for _ in range(rng.randint(1, 4))]
        doings += [asked for _ in range(rng.randint(2, 5)) if (asked := self._ask())]
        more = rng.randint(5, 30) - len(doings)
        doings += [Doing(do="work", said=self.words(rng.randint(4, 40))) for _ in range(more)]
        rng.shuffle(doings)
        return doings

    def words(self, count: int) -> str:
        """So many words of talk that says nothing for good."""
        return " ".join(self._rng.choices(_WORDS, k=count))

    def holds(self, text: str) -> bool | None:
        """Whether what a text says of anything still holds; None where it says nothing that could be otherwise."""
        numbers = [number for number in _NUMBER.findall(text) if number in self._of]
        if numbers:
            return all(self._of[number].value in numbers for number in numbers)
        about = extract_subject(text)
        return stance_of(text) == self.tastes[about] if about in self.tastes else None

    def is_about(self, text: str, topic: Topic) -> bool:
        """Whether a text says what is true of a topic, or was."""
        return any(self._of.get(number) is topic for number in _NUMBER.findall(text))

    def _tell(self) -> Doing:
        """Something new, something that has changed, or something that is said again."""
        rng = self._rng
        unsaid = [topic for topic in self.facts if not topic.value]
        known = [topic for topic in self.facts if topic.value and topic.said != self.session]
        kind = rng.random()
        if (kind < 0.35 and unsaid) or not known:
            topic = unsaid[0]
            self._set(topic)
            said = topic.text
        elif kind < 0.75:
            topic = rng.choice(known)
            self._set(topic)
            said = topic.changed.format(topic.value) if rng.random() < 0.5 else topic.text
        else:
            topic = rng.choice(known)
            said = topic.text
        topic.said = self.session
        how = rng.random()
        if how < 0.3:
            said = f"Remember that {said}."
        else:
            said = f"{self.words(6).capitalize()}. {_upper(said)}." if how < 0.6 else f"{_upper(said)}."
        return Doing(do="tell", said=said, topic=topic)

    def _ask(self) -> Doing | None:
        """A question to something said in an earlier session; what was said lately is asked more often."""
        everything = (*self.facts, *self.files, *self.notes)
        known = [topic for topic in everything if topic.value and topic.said < self.session]
        if not known:
            return None
        weights = [1.0 / (3 + self.session - topic.said) for topic in known]
        [topic] = self._rng.choices(known, weights)
        return Doing(do="ask", said=topic.question, topic=topic)

    def _prefer(self) -> Doing:
        about = self._rng.choice(_THINGS)
        now = self.tastes.get(about)
        if now is not None and self._rng.random() < 0.3:
            self.tastes[about] = None
            return Doing(do="prefer", said=f"forget what I said of {about}", detail=f"{now} use {about}")
        stance: Stance = "always" if now == "never" or (now is None and self._rng.random() < 0.5) else "never"
        self.tastes[about] = stance
        return Doing(do="prefer", said=f"{'From now on always' if stance == 'always' else 'Never'} use {about}.")

    def _note(self) -> Doing:
        topic = self._rng.choice(self.notes)
        self._set(topic)
        topic.said = self.session
        return Doing(do="note", said=self.words(8), topic=topic)

    def _look(self) -> Doing:
        there = [topic for topic in self.notes if topic.value]
        return Doing(do="look", said=self.words(6), topic=self._rng.choice(there)) if there else self._note()

    def _discover(self) -> Doing:
        """The model finds out what a file holds, which it may have known."""
        topic = self._rng.choice(self.files)
        if not topic.value:
            self._set(topic)
        topic.said = self.session
        return Doing(do="discover", said=self.words(9), topic=topic)

    def _edit(self) -> Doing:
        """A file that something is known of is changed: in that very thing, or elsewhere."""
        topic = self._rng.choice([topic for topic in self.files if topic.value] or self.files)
        detail = "value" if not topic.value or self._rng.random() < 0.5 else "elsewhere"
        if detail == "value":
            self._set(topic)
        return Doing(do="edit", said=self.words(10), topic=topic, detail=detail)

    def _fix(self) -> Doing:
        part, error = self._rng.choice(_PARTS), self._rng.choice(_ERRORS)
        return Doing(do="fix", said=f"the {part} tests fail, look into it", detail=error.format(part))

    def _command(self) -> str:
        usual = _COMMANDS if self.session < 160 else (*_COMMANDS[2:], "just lint", "just test")
        return self._rng.choice(usual)

    def _set(self, topic: Topic) -> None:
        """Give it a value nothing ever had."""
        self._next += self._rng.randint(1, 9)
        topic.value = str(self._next)
        self._of[topic.value] = topic


def days_of_work(rng: random.Random, sessions: int, days: int = 365) -> Iterator[tuple[int, int]]:
    """The day and the hour each session begins: none, one or two a day."""
    for slot in sorted(rng.sample(range(2 * days), sessions)):
        yield slot // 2, 9 if slot % 2 == 0 else 14


def _fact(part: str, wording: tuple[str, str, str]) -> Topic:
    plain, changed, question = wording
    return Topic(plain=_half(plain, part), changed=_half(changed, part), question=question.format(part))


def _half(wording: str, part: str) -> str:
    """The wording with the part in its place, and a place for the value."""
    return wording.format(part, "{}")


def _file(part: str, name: str) -> Topic:
    path = f"src/{part}/{name.lower()}.py"
    text = f"{part.upper()}_{name} is {{}}"
    return Topic(plain=text, changed=text, question=f"what is {part.upper()}_{name} set to?", path=path)


def _note(part: str) -> Topic:
    text = f"how to release {part}: take the lock, then start from tag rc-{{}} and watch the dashboard"
    return Topic(plain=text, changed=text, question=f"from which tag do we release {part}?", key=f"release_{part}")


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
