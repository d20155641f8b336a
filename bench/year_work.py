"""Play an invented year with real session files, the real memory and a clock that is set, and check what is recalled.

The user's messages and the model's calls come from `bench.year_data`. Each session opens memory again, as a process
does.
"""

import json
import math
import random
import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

from msgspec import Struct

from bench.histories import window_of
from bench.year_data import Doing, Topic, World
from clio import ids
from clio.errors import UserError
from clio.memory.consolidation.consolidation import Report
from clio.memory.consolidation.learner import find_statements, save_statements
from clio.memory.consolidation.runner import run_consolidation
from clio.memory.retrieval.why import WhyItem
from clio.memory.store.record import PROJECT_KINDS, AssertedBy, MemoryDraft, Provenance
from clio.memory.system import MemorySystem
from clio.messages import AssistantMessage, ChangedFile, Fragment, SideEffects, ToolCall, ToolMessage, UserMessage
from clio.sessions import session as session_module
from clio.sessions import store as store_module
from clio.sessions.session import Session
from clio.sessions.store import SessionStore
from clio.tokens import DEFAULT_RATIO, text_units

WINDOW = 16_384
"""Of the model: small, so that long sessions are trimmed."""
RATED = 0.12
"""How many answers the user rates."""
LIKED = ("concise", "precise", "reserved")


class Clock:
    """What time it is in the made-up year, in seconds since the epoch."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Given(Struct, frozen=True, kw_only=True):
    """What one turn was given by memory.

    prefix, tokens: of the prompt's part, and of what stands before the words. items: what was in all; stale: what no
    longer holds, by where it came from; marked: the same of those that stood there as changed since.
    ms: of the processor. asked, injected, misled, recalled, found: questions, those whose answer was given, those
    that were given only what no longer holds, those whose answer is among the first five of recall, either.
    """

    prefix: int
    tokens: int
    items: int
    stale: dict[str, int]
    marked: dict[str, int]
    ms: float
    wall_ms: float
    asked: int = 0
    injected: int = 0
    misled: int = 0
    recalled: int = 0
    found: int = 0
    recall_ms: float = 0.0
    recall_wall_ms: float = 0.0


@contextmanager
def clocks(clock: Clock, rng: random.Random) -> Generator[None]:
    """Set the clocks and the chance that nothing hands in: those of ids and of session files."""
    made = SimpleNamespace(time_ns=lambda: int(clock.now * 1e9))
    told = SimpleNamespace(time=clock, strftime=time.strftime, localtime=time.localtime)
    with ExitStack() as stack:
        stack.enter_context(patch.object(ids, "time", made))
        stack.enter_context(patch.object(ids, "os", SimpleNamespace(urandom=rng.randbytes)))
        for module in (session_module, store_module):
            stack.enter_context(patch.object(module, "time", told))
        yield


class Year:
    """One project whose sessions are carried out one after the other."""

    RECORDS = (
        "things said so far",
        "live memories",
        "superseded",
        "in the archives",
        "live entries",
        "preferences",
        "notes",
    )

    def __init__(self, project: Path, world: World, clock: Clock, rng: random.Random) -> None:
        self.project = project
        self.store = SessionStore(project / ".clio" / "sessions")
        self._world = world
        self._clock = clock
        self._rng = rng
        with self.open() as memory:
            memory.styles.turn_on()

    @contextmanager
    def open(self) -> Generator[MemorySystem]:
        """Memory, as a process that starts now has it."""
        memory = MemorySystem(
            self.project,
            self.store,
            incognito=False,
            ltm=True,
            clock=self._clock,
            home=self.project / "home",
            rng=self._rng,
        )
        try:
            yield memory
        finally:
            memory.close()

    def work(self) -> list[Given]:
        """One session; what each of its turns was given."""
        with self.open() as memory:
            memory.refresh_index()
            session = self.store.new(self.project)
            memory.begin(window_tokens=WINDOW, session=session)
            sitting = _Sitting(memory, session, self.project, self._world, self._clock, self._rng)
            given = [sitting.turn(doing) for doing in self._world.begin()]
            session.close()
            return given

    def night(self) -> Report:
        """Sleep, as clio does by itself when nobody types."""
        with self.open() as memory:
            return run_consolidation(memory.consolidation, "idle")

    def records(self) -> dict[str, int]:
        """How many there are of what, by the names of `RECORDS`."""
        with self.open() as memory:
            stores = (memory.store.project, memory.store.user)
            all = [record for store in stores for record in store.records(superseded=True)]
            there = [record for record in all if record.is_live]
            tastes = sum(record.kind == "preference" for record in there)
            archived = sum(len(store.archived()) for store in stores) + len(memory.store.archived())
            counts = (
                sum(bool(topic.value) for topic in self._world.facts),
                len(there) - tastes,
                len(all) - len(there),
                archived,
                len(memory.store.records(PROJECT_KINDS)),
                tastes,
                len(memory.store.notes()),
            )
            return dict(zip(self.RECORDS, counts, strict=True))


class _Sitting:
    """One session from its first turn to its last."""

    def __init__(
        self, memory: MemorySystem, session: Session, project: Path, world: World, clock: Clock, rng: random.Random
    ) -> None:
        self._memory = memory
        self._project = project
        self._session = session
        self._world = world
        self._clock = clock
        self._rng = rng
        self._prefix = memory.prefix_fragments()
        self._window = window_of(session, WINDOW, "\n".join(one.text for one in self._prefix))
        self._calls = 0

    def turn(self, doing: Doing) -> Given:
        """Carry one turn out."""
        self._clock.now += self._rng.uniform(60, 400)
        if doing.do == "prefer" and doing.detail:
            self._lift(doing.detail)
        wall, began = time.perf_counter(), time.thread_time()
        fragments = self._memory.turn_fragments(doing.said)
        took, wall = (time.thread_time() - began) * 1e3, (time.perf_counter() - wall) * 1e3
        given = self._look(doing, fragments, took, wall)
        self._session.append(
            UserMessage(content=doing.said, context="\n".join(one.text for one in fragments), created=self._clock.now)
        )
        self._do(doing)
        self._memory.end_turn(self._session, "done")
        self._rate()
        if self._window.build().trimmed is not None:
            self._memory.repeat_after_trim()
            self._memory.write_progress(f"# Progress\n\nat work on: {doing.said}\n")
        return given

    def _look(self, doing: Doing, fragments: Sequence[Fragment], ms: float, wall_ms: float) -> Given:
        report = self._memory.last_turn()
        items = [item for item in (report.items if report else ()) if item.included]
        old = [item for item in items if self._world.holds(item.text) is False]
        shown = "\n".join(one.text for one in (*self._prefix, *fragments)).replace("},{", "},\n{").splitlines()
        given = Given(
            prefix=_tokens(self._prefix),
            tokens=_tokens(fragments),
            items=len(items),
            stale=Counter(map(_kind, old)),
            marked=Counter(_kind(item) for item in old if _is_marked(item.text, shown)),
            ms=ms,
            wall_ms=wall_ms,
        )
        if doing.do != "ask" or doing.topic is None:
            return given
        return self._answered(doing, doing.topic, given, [item.text for item in items])

    def _answered(self, doing: Doing, topic: Topic, given: Given, texts: Sequence[str]) -> Given:
        about = [text for text in texts if self._world.is_about(text, topic)]
        injected = any(topic.value in text for text in about)
        wall, began = time.perf_counter(), time.thread_time()
        hits = self._memory.retriever.search(doing.said, limit=5, current=self._session.id, use=not injected).hits
        took, wall = (time.thread_time() - began) * 1e3, (time.perf_counter() - wall) * 1e3
        recalled = any(topic.value in hit.text for hit in hits)
        return Given(
            prefix=given.prefix,
            tokens=given.tokens,
            items=given.items,
            stale=given.stale,
            marked=given.marked,
            ms=given.ms,
            wall_ms=given.wall_ms,
            asked=1,
            injected=injected,
            misled=bool(about) and not injected,
            recalled=recalled,
            found=injected or recalled,
            recall_ms=took,
            recall_wall_ms=wall,
        )

    def _do(self, doing: Doing) -> None:
        """What the model does in a turn, and what it answers."""
        topic = doing.topic
        match doing.do:
            case "tell" if topic is not None:
                if self._rng.random() < 0.4:  # the model keeps it at once; else it is left to sleep
                    text = topic.text
                    self._memory.store.add(
                        MemoryDraft(content=text, kind="fact", importance=0.6), provenance=self._said("user")
                    )
                    self._call("memory_operations", {"operation": "remember", "content": text}, "remembered")
                self._answer(6)
            case "ask" if topic is not None:
                self._answer(3, topic.text)
            case "prefer":
                certain = find_statements(self._memory, doing.said).certain
                save_statements(self._memory, certain, self._session.id)
                self._answer(5)
            case "note" if topic is not None:
                self._memory.store.add(MemoryDraft(key=topic.key, content=topic.text))
                arguments = {"operation": "store", "key": topic.key, "content": topic.text}
                self._call("memory_operations", arguments, "stored")
                self._answer(8)
            case "look" if topic is not None:
                note = self._memory.store.get_note(topic.key)
                arguments = {"operation": "retrieve", "key": topic.key}
                self._call("memory_operations", arguments, note.content if note else "there is no such note")
                self._answer(20)
            case "discover" | "edit" if topic is not None:
                self._in_file(doing, topic)
            case "fix":
                self._mend(doing.detail)
            case "run":
                self._run(doing.detail, 0, "12 passed")
                self._answer(4)
            case _:
                self._work()

    def _in_file(self, doing: Doing, topic: Topic) -> None:
        path, file = topic.path, self._project / topic.path
        if doing.do == "discover":
            if not file.exists():
                self._write(topic, "")
            self._call("read_file", {"path": path}, file.read_text(encoding="utf-8"), SideEffects(read=(path,)))
            self._memory.store.add(
                MemoryDraft(kind="discovery", content=topic.text, examples=(path,)), self._said("model")
            )
            self._call("memory_operations", {"operation": "add_discovery", "fact": topic.text}, "added")
        else:
            self._write(topic, self._world.words(6))
            text = file.read_text(encoding="utf-8")
            self._call("edit_file", {"path": path, "new_string": text}, "edited", _changed(path))
            self._run("uv run pytest -q", 0, "12 passed")
        self._answer(15)

    def _write(self, topic: Topic, more: str) -> None:
        """Write the file a topic stands in, with what is true now."""
        file = self._project / topic.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{topic.text.replace(' is ', ' = ')}\n# {more}\n", encoding="utf-8")

    def _mend(self, error: str) -> None:
        path = f"src/{error.split()[1].strip(chr(39))}/main.py"
        self._run("uv run pytest -q", 1, f"E   {error}\n1 failed, 11 passed")
        self._call("edit_file", {"path": path, "old_string": "a", "new_string": "b"}, "edited", _changed(path))
        self._run("uv run pytest -q", 0, "12 passed")
        self._answer(4, "The cause was a missing setting.")

    def _work(self) -> None:
        for _ in range(self._rng.randint(1, 3)):
            path = f"src/{self._world.words(1)}/main.py"
            self._call("read_file", {"path": path}, self._world.words(120), SideEffects(read=(path,)))
        self._answer(40)

    def _run(self, command: str, exit_code: int, output: str) -> None:
        deeds = SideEffects(command=command, exit_code=exit_code)
        self._call("run_command", {"command": command}, f"[exit {exit_code} in 1.2 s]\n{output}", deeds)

    def _call(self, name: str, arguments: dict[str, str], output: str, deeds: SideEffects | None = None) -> None:
        self._calls += 1
        call = ToolCall(id=f"c{self._calls}", name=name, arguments=json.dumps(arguments))
        self._session.append(AssistantMessage(tool_calls=(call,), created=self._clock.now))
        self._session.append(
            ToolMessage(tool_call_id=call.id, name=name, content=output, side_effects=deeds, created=self._clock.now)
        )

    def _answer(self, count: int, fact: str = "") -> None:
        said = " ".join(part for part in (fact, self._world.words(count)) if part)
        self._session.append(AssistantMessage(content=said, created=self._clock.now))

    def _rate(self) -> None:
        """Say now and then what the answer was like; whom its style suits says so."""
        if self._rng.random() < RATED:
            chosen = self._memory.styles.current
            self._memory.feedback.rate(1 if chosen is not None and chosen.skill.id in LIKED else -1)

    def _lift(self, item: str) -> None:
        """Take back what was said of a thing; where memory never had it, there is nothing to do."""
        with suppress(UserError):
            preferences = self._memory.preferences
            preferences.remove(preferences.find(item).id)

    def _said(self, by: AssertedBy) -> Provenance:
        return Provenance(session=self._session.id, message=self._session.messages[-1].id, asserted_by=by)


def _changed(path: str) -> SideEffects:
    return SideEffects(changed=(ChangedFile(path=path, kind="update"),))


def _tokens(fragments: Sequence[Fragment]) -> int:
    return math.ceil(sum(text_units(one.text) for one in fragments) / DEFAULT_RATIO)


def _kind(item: WhyItem) -> str:
    """Where an item came from: of project knowledge its kind, as its id begins."""
    return {"d": "discovery", "r": "rule"}.get(item.id[:1], item.source) if item.source == "knowledge" else item.source


def _is_marked(text: str, shown: Sequence[str]) -> bool:
    """Whether the request says with it that its file has changed since."""
    return any(text[:30] in line and ("changed since" in line or '"note":' in line) for line in shown)
