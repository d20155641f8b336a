"""Run a simulated year with clio's sessions and memory and a simulated clock, and measure what memory returns.

The user's messages and the model's calls come from `bench.year_data`. Each session opens memory again, as a new
process would.
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
from msgspec.structs import replace

from bench.histories import make_window
from bench.year_data import PlannedTurn, Topic, World
from clio import ids
from clio.errors import UserError
from clio.memory.consolidation.consolidation import Report
from clio.memory.consolidation.learner import find_statements, save_statements
from clio.memory.consolidation.runner import run_consolidation
from clio.memory.retrieval.scoring import WhyItem
from clio.memory.store.record import PROJECT_KINDS, AssertedBy, MemoryDraft, Provenance
from clio.memory.system import MemorySystem
from clio.messages import AssistantMessage, ChangedFile, Fragment, SideEffects, ToolCall, ToolMessage, UserMessage
from clio.sessions import session as session_module
from clio.sessions import store as store_module
from clio.sessions.session import Session
from clio.sessions.store import SessionStore
from clio.tokens import DEFAULT_RATIO, text_units

WINDOW = 16_384
"""Context window of the model in tokens: small, so that long sessions are trimmed."""
RATED_SHARE = 0.12
"""Share of answers that the user rates."""
LIKED = ("concise", "precise", "reserved")
"""Response styles that get good ratings; all others get bad ones."""


class Clock:
    """The current time of the simulated year, in seconds since the epoch."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class TurnMetrics(Struct, frozen=True, kw_only=True):
    """What memory added to the requests of one turn, and what that cost.

    system_tokens: memory in the system prompt; message_tokens: memory before the message. items: memories in both;
    stale: those that are no longer true, by source; marked: stale ones that the request marks as changed since.
    asked: 1 if the message is a question. Then injected: the answer is in the request; only_stale: the request has
    only former values of it; recalled: the answer is among the first five results of a search; found: one of both.
    turn_ms, recall_ms: processor time of memory before the turn, and of the search.
    """

    system_tokens: int
    message_tokens: int
    items: int
    stale: dict[str, int]
    marked: dict[str, int]
    turn_ms: float
    asked: int = 0
    injected: int = 0
    only_stale: int = 0
    recalled: int = 0
    found: int = 0
    recall_ms: float = 0.0


@contextmanager
def patch_clocks(clock: Clock, rng: random.Random) -> Generator[None]:
    """Make new ids and session files use `clock` and `rng` instead of the system's time and random bytes.

    They take no clock as an argument.
    """
    id_time = SimpleNamespace(time_ns=lambda: int(clock.now * 1e9))
    session_time = SimpleNamespace(time=clock, strftime=time.strftime, localtime=time.localtime)
    with ExitStack() as stack:
        stack.enter_context(patch.object(ids, "time", id_time))
        stack.enter_context(patch.object(ids, "os", SimpleNamespace(urandom=rng.randbytes)))
        for module in (session_module, store_module):
            stack.enter_context(patch.object(module, "time", session_time))
        yield


class Year:
    """One project whose sessions run one after the other."""

    RECORDS = (
        "facts stated",
        "live memories",
        "superseded",
        "archived",
        "project memories",
        "preferences",
        "keyed notes",
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
        """Open memory as a new process would."""
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

    def run_session(self) -> list[TurnMetrics]:
        """Run one session and return the metrics of each turn."""
        with self.open() as memory:
            memory.refresh_index()
            session = self.store.new(self.project)
            memory.begin(window_tokens=WINDOW, session=session)
            player = _SessionPlayer(memory, session, self.project, self._world, self._clock, self._rng)
            metrics = [player.turn(planned) for planned in self._world.plan_session()]
            session.close()
            return metrics

    def consolidate(self) -> Report:
        """Consolidate as clio does when it is idle."""
        with self.open() as memory:
            return run_consolidation(memory.consolidation, "idle")

    def count_records(self) -> dict[str, int]:
        """Count the records by the names of `RECORDS`."""
        with self.open() as memory:
            stores = (memory.store.project, memory.store.user)
            records = [record for store in stores for record in store.records(superseded=True)]
            live = [record for record in records if record.is_live]
            preferences = sum(record.kind == "preference" for record in live)
            archived = sum(len(store.archived()) for store in stores) + len(memory.store.archived())
            counts = (
                sum(bool(topic.value) for topic in self._world.facts),
                len(live) - preferences,
                len(records) - len(live),
                archived,
                len(memory.store.records(PROJECT_KINDS)),
                preferences,
                len(memory.store.notes()),
            )
            return dict(zip(self.RECORDS, counts, strict=True))


class _SessionPlayer:
    """Runs the turns of one session."""

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
        self._window = make_window(session, WINDOW, "\n".join(one.text for one in self._prefix))
        self._calls = 0

    def turn(self, planned: PlannedTurn) -> TurnMetrics:
        """Run one turn."""
        self._clock.now += self._rng.uniform(60, 400)
        if planned.kind == "prefer" and planned.detail:
            self._withdraw_preference(planned.detail)
        started = time.thread_time()
        fragments = self._memory.turn_fragments(planned.text)
        metrics = self._measure_turn(planned, fragments, (time.thread_time() - started) * 1e3)
        self._session.append(
            UserMessage(content=planned.text, context="\n".join(one.text for one in fragments), created=self._clock.now)
        )
        self._play_model_calls(planned)
        self._memory.end_turn(self._session, "done")
        self._rate_answer()
        if self._window.build().trimmed is not None:
            self._memory.repeat_after_trim()
            self._memory.write_progress(f"# Progress\n\nat work on: {planned.text}\n")
        return metrics

    def _measure_turn(self, planned: PlannedTurn, fragments: Sequence[Fragment], turn_ms: float) -> TurnMetrics:
        report = self._memory.last_turn()
        items = [item for item in (report.items if report else ()) if item.included]
        old = [item for item in items if self._world.is_valid(item.text) is False]
        shown = "\n".join(one.text for one in (*self._prefix, *fragments)).replace("},{", "},\n{").splitlines()
        metrics = TurnMetrics(
            system_tokens=_count_tokens(self._prefix),
            message_tokens=_count_tokens(fragments),
            items=len(items),
            stale=Counter(map(_source_of, old)),
            marked=Counter(_source_of(item) for item in old if _is_marked_changed(item.text, shown)),
            turn_ms=turn_ms,
        )
        if planned.kind != "ask" or planned.topic is None:
            return metrics
        known = [item.text for item in (report.items if report else ()) if item.is_redundant]
        return self._measure_answer(planned, planned.topic, metrics, [item.text for item in items], known)

    def _measure_answer(
        self, planned: PlannedTurn, topic: Topic, metrics: TurnMetrics, texts: Sequence[str], known: Sequence[str]
    ) -> TurnMetrics:
        """Return the metrics of a question. texts: the memories added; known: those that the request already had."""
        about = [text for text in texts if self._world.is_about(text, topic)]
        injected = any(topic.value in text for text in (*about, *known))
        started = time.thread_time()
        hits = self._memory.retriever.search(planned.text, limit=5, current=self._session.id, use=not injected).hits
        recall_ms = (time.thread_time() - started) * 1e3
        recalled = any(topic.value in hit.text for hit in hits)
        return replace(
            metrics,
            asked=1,
            injected=injected,
            only_stale=bool(about) and not injected,
            recalled=recalled,
            found=injected or recalled,
            recall_ms=recall_ms,
        )

    def _play_model_calls(self, planned: PlannedTurn) -> None:
        """Add the model's calls and its answer to the session."""
        topic = planned.topic
        match planned.kind:
            case "state" if topic is not None:
                if self._rng.random() < 0.4:  # the model saves it at once; otherwise consolidation finds it
                    text = topic.text
                    self._memory.store.add(
                        MemoryDraft(content=text, kind="fact", importance=0.6), provenance=self._make_provenance("user")
                    )
                    self._add_call("memory_operations", {"operation": "remember", "content": text}, "remembered")
                self._add_answer(6)
            case "ask" if topic is not None:
                self._add_answer(3, topic.text)
            case "prefer":
                certain = find_statements(self._memory, planned.text).certain
                save_statements(self._memory, certain, self._session.id)
                self._add_answer(5)
            case "write_note" if topic is not None:
                self._memory.store.add(MemoryDraft(key=topic.key, content=topic.text))
                arguments = {"operation": "store", "key": topic.key, "content": topic.text}
                self._add_call("memory_operations", arguments, "stored")
                self._add_answer(8)
            case "read_note" if topic is not None:
                note = self._memory.store.get_note(topic.key)
                arguments = {"operation": "retrieve", "key": topic.key}
                self._add_call("memory_operations", arguments, note.content if note else "there is no such note")
                self._add_answer(20)
            case "discover" | "edit" if topic is not None:
                self._work_on_file(planned, topic)
            case "fix":
                self._fix_failure(planned.detail)
            case "run":
                self._run_command(planned.detail, 0, "12 passed")
                self._add_answer(4)
            case _:
                self._read_some_files()

    def _work_on_file(self, planned: PlannedTurn, topic: Topic) -> None:
        path, file = topic.path, self._project / topic.path
        if planned.kind == "discover":
            if not file.exists():
                self._write_file(topic, "")
            self._add_call("read_file", {"path": path}, file.read_text(encoding="utf-8"), SideEffects(read=(path,)))
            self._memory.store.add(
                MemoryDraft(kind="discovery", content=topic.text, examples=(path,)), self._make_provenance("model")
            )
            self._add_call("memory_operations", {"operation": "add_discovery", "fact": topic.text}, "added")
        else:
            self._write_file(topic, self._world.filler(6))
            text = file.read_text(encoding="utf-8")
            self._add_call("edit_file", {"path": path, "new_string": text}, "edited", _file_change(path))
            self._run_command("uv run pytest -q", 0, "12 passed")
        self._add_answer(15)

    def _write_file(self, topic: Topic, more: str) -> None:
        """Write the file of a topic with its current value."""
        file = self._project / topic.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{topic.text.replace(' is ', ' = ')}\n# {more}\n", encoding="utf-8")

    def _fix_failure(self, error: str) -> None:
        path = f"src/{error.split()[1].strip(chr(39))}/main.py"
        self._run_command("uv run pytest -q", 1, f"E   {error}\n1 failed, 11 passed")
        self._add_call("edit_file", {"path": path, "old_string": "a", "new_string": "b"}, "edited", _file_change(path))
        self._run_command("uv run pytest -q", 0, "12 passed")
        self._add_answer(4, "The cause was a missing setting.")

    def _read_some_files(self) -> None:
        for _ in range(self._rng.randint(1, 3)):
            path = f"src/{self._world.filler(1)}/main.py"
            self._add_call("read_file", {"path": path}, self._world.filler(120), SideEffects(read=(path,)))
        self._add_answer(40)

    def _run_command(self, command: str, exit_code: int, output: str) -> None:
        side_effects = SideEffects(command=command, exit_code=exit_code)
        self._add_call("run_command", {"command": command}, f"[exit {exit_code} in 1.2 s]\n{output}", side_effects)

    def _add_call(
        self, name: str, arguments: dict[str, str], output: str, side_effects: SideEffects | None = None
    ) -> None:
        self._calls += 1
        call = ToolCall(id=f"c{self._calls}", name=name, arguments=json.dumps(arguments))
        self._session.append(AssistantMessage(tool_calls=(call,), created=self._clock.now))
        self._session.append(
            ToolMessage(
                tool_call_id=call.id, name=name, content=output, side_effects=side_effects, created=self._clock.now
            )
        )

    def _add_answer(self, count: int, fact: str = "") -> None:
        text = " ".join(part for part in (fact, self._world.filler(count)) if part)
        self._session.append(AssistantMessage(content=text, created=self._clock.now))

    def _rate_answer(self) -> None:
        """Rate some answers: good if the chosen response style is one of `LIKED`."""
        if self._rng.random() < RATED_SHARE:
            chosen = self._memory.styles.current
            self._memory.feedback.rate(1 if chosen is not None and chosen.skill.id in LIKED else -1)

    def _withdraw_preference(self, item: str) -> None:
        """Remove a preference."""
        with suppress(UserError):  # memory may never have had it
            preferences = self._memory.preferences
            preferences.remove(preferences.find(item).id)

    def _make_provenance(self, by: AssertedBy) -> Provenance:
        return Provenance(session=self._session.id, message=self._session.messages[-1].id, asserted_by=by)


def _file_change(path: str) -> SideEffects:
    return SideEffects(changed=(ChangedFile(path=path, kind="update"),))


def _count_tokens(fragments: Sequence[Fragment]) -> int:
    return math.ceil(sum(text_units(one.text) for one in fragments) / DEFAULT_RATIO)


def _source_of(item: WhyItem) -> str:
    """Return the source of an item; for project memory its kind, which the id begins with."""
    return {"d": "discovery", "r": "rule"}.get(item.id[:1], item.source) if item.source == "knowledge" else item.source


def _is_marked_changed(text: str, shown: Sequence[str]) -> bool:
    """Return whether the request marks the item as changed since."""
    return any(text[:30] in line and ("changed since" in line or '"note":' in line) for line in shown)
