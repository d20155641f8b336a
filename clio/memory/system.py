"""Everything clio remembers about one project: memories, preferences, notes, documents and earlier sessions.

`open_memory` opens it with the settings of the configuration, for conversations, sub-commands and the MCP server.
"""

import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from clio.config.loaded import LoadedConfig
from clio.config.memory_seal import load_or_create_key, seal_memory
from clio.config.schema import Config
from clio.errors import ClioError, StorageError, ToolFailed
from clio.memory.preferences.preferences import Fading, Preferences
from clio.memory.preferences.task_types import TaskTypes, load_task_types
from clio.memory.retrieval.prompt_prefix import CAP_TOKENS, Briefing, Injected
from clio.memory.retrieval.scoring import WhyReport, report_project_memory
from clio.memory.retrieval.turn_memory import TurnMemory, saved_fragment
from clio.memory.store.change_log import Change, Position, ScopeLogs, list_marked, new_change
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import KEYED_NOTE, PROGRESS_KEY, PROJECT_KINDS, Hit, MemoryRecord
from clio.memory.store.typed_store import Decide, Scope
from clio.memory.styles.style_state import DIMENSIONS, intent_of
from clio.memory.styles.styles import Styles
from clio.memory.vectors.semantic_index import Documents, SemanticIndex
from clio.messages import Fragment
from clio.sessions.session import Session
from clio.sessions.state import SessionLimit
from clio.sessions.store import SessionStore
from clio.storage.documents import ErrorIsolation, load_cached, save_cached
from clio.storage.files import make_ignored_folder
from clio.text.embedding import Embedder, HashedEmbedder
from clio.text.scoring import MAX_DISTANCE
from clio.text.translation import tr
from clio.threads import never_stop
from clio.tokens import DEFAULT_RATIO

if TYPE_CHECKING:
    from clio.memory.consolidation.consolidation import Consolidation
    from clio.memory.preferences.session_start import PendingLimits
    from clio.memory.preferences.stated_preferences import StatedPreference
    from clio.memory.retrieval.retriever import Retriever
    from clio.memory.styles.feedback import Feedback, Noted
    from clio.memory.team.share import Sharing
    from clio.memory.transcripts.session_search import SessionRecall
    from clio.memory.transcripts.session_text import Recall

DEFAULT_SESSIONS = 10
DEFAULT_RESULTS = 5
MAX_SESSION_LIMITS = 20
"""Maximum number of limits for the running session only; the oldest are dropped first."""


def _list_live_changes(limits: Iterable[SessionLimit]) -> set[str]:
    """Return the ids of the changes in memory's log by which limits began to apply that still do."""
    return {one.change for one in limits if one.change and not one.is_lifted}


def _no_summary() -> str:
    return ""


class SubagentMemory:
    """The memory of one sub-agent: limits and project memory in its prompt, and what is recalled for its task."""

    def __init__(self, memory: "MemorySystem", of_turn: TurnMemory, briefing: Briefing | None) -> None:
        self._memory = memory
        self._of_turn = of_turn
        self._briefing = briefing
        self._errors = ErrorIsolation()

    def prefix_fragments(self, cap_tokens: int, chars_per_token: float) -> list[Fragment]:
        """Return the hard limits and the project memory; empty if memory is off."""
        if self._memory.is_silent:
            return []
        none = list[Fragment]()
        limits = self._errors.run(tr("hard limits are"), self._of_turn.prefix_fragments, none)
        if self._briefing is None:
            return self._memory.redact_fragments(limits)
        known = partial(self._briefing.prompt, cap_tokens, chars_per_token)
        return self._memory.redact_fragments([*limits, *self._errors.run(tr("project memory is"), known, none)])

    def turn_fragments(self, text: str) -> list[Fragment]:
        """Return the limits of the running session, the user's rules, and what is recalled for the task."""
        if self._memory.is_silent:
            return []
        recall = partial(self._of_turn.turn_fragments, text, None, self._memory.scenario)
        return self._errors.run(tr("memories are"), recall, list[Fragment]())


class MemorySystem:
    """Everything clio remembers about one project.

    Whatever a turn does not need is imported on first use, because every start would wait for it.

    Methods raise StorageError for a file that cannot be read, UserError for what cannot be found, and OSError.

    Args:
        incognito: nothing is read or written; every method except those that return fragments, the two for the
            progress page, and `close` raises ToolFailed.
        ltm: whether project memory is added to requests; everything else works without it.
        redact: applied to every text before it is stored.
        start: the folder clio was started in, which decides which rules are near.
        home: clio's own folder, which contains the user's memories; default: the project's `.clio`.
        scenarios: the known task types.
        fading: how preferences fade.
        embedder: makes the vectors of turns and documents; default: the hashed one.
        across_sessions: whether archived turns of other sessions may be recalled automatically.
        near_distance: the vector distance below which a turn or document may be recalled by meaning alone.
        rng: random numbers for choosing a style and for what consolidation replays.
        is_foreign: the project's memory came with the project and the user does not trust it: the model is told that
            the repository states it, and none of it is recalled automatically.

    Attributes:
        scenario: the task type that the user named; None to detect it in each turn.
        summary_of: returns the text that replaces trimmed messages in the next request.
        is_off: nothing is recalled or stored until the user turns memory on again.
    """

    def __init__(
        self,
        project: Path,
        sessions: SessionStore,
        *,
        incognito: bool,
        ltm: bool,
        redact: Callable[[str], str] = lambda text: text,
        clock: Callable[[], float] = time.time,
        start: Path | None = None,
        home: Path | None = None,
        scenarios: TaskTypes | None = None,
        fading: Fading | None = None,
        embedder: Embedder | None = None,
        across_sessions: bool = False,
        near_distance: float = MAX_DISTANCE,
        rng: random.Random | None = None,
        is_foreign: bool = False,
    ) -> None:
        folder = project / ".clio"
        self._is_foreign = is_foreign
        self._may_seal = home is not None and not incognito and not is_foreign
        # Sealed at the first change, not at the exit: a kill in between would make the user's own memory look foreign.
        logs = ScopeLogs(folder, home or folder, clock=clock, before_change=self._seal)
        logs.may_undo = self._may_undo
        self._home = home or folder
        self._trust_home = home
        self._store = MemoryStore(folder, self._home, logs=logs, redact=redact, clock=clock, trust_home=home)
        self._project = project
        self._incognito = incognito
        self._redact = redact
        self._clock = clock
        self.is_off = False
        self._start = start or project
        self._inject = ltm and not incognito
        self._session_store = sessions
        self._recall: SessionRecall | None = None
        self._making = threading.Lock()
        self._preferences = Preferences(self._store.user, scenarios or TaskTypes(), fading, clock)
        self._scenarios = scenarios or TaskTypes()
        self._project_preferences = Preferences(self._store.project, self._scenarios, fading, clock)
        self._limits: tuple[SessionLimit, ...] = ()
        self._read_log = Position()  # up to where the log was read for limits of the session that were undone
        self.forgotten_now: tuple[MemoryRecord, ...] = ()
        """What the user's present message made clio forget before the model was asked."""
        self.saved_now: tuple[str, ...] = ()
        """The facts of the user's present message that clio saved before the model was asked."""
        self.doubtful_now: tuple[str, ...] = ()
        """The statements of that message about which clio asks the user whether to save them."""
        self.removed_by_model: set[str] = set()
        """Ids of the memories that the model itself removed while clio runs."""
        self._meaning = SemanticIndex(project, embedder, persist=not incognito, redact=redact, clock=clock)
        self._styles = Styles(project, self._home, rng=rng, clock=clock, embedder=embedder, persist=not incognito)
        self._embedder = embedder
        self._rng = rng
        self._across_sessions = across_sessions
        self._near_distance = near_distance
        self._session: Session | None = None
        self._of_turn: TurnMemory | None = None
        self._why_path = folder / "cache" / "why.json"
        self._report: WhyReport | None = None
        self._errors = ErrorIsolation()
        self.scenario: str | None = None
        self.summary_of: Callable[[], str] = _no_summary
        self._briefing = self._new_briefing()

    # Fragments of a request

    def begin_session(self, session: Session) -> None:
        """Continue with another session, whose first request is made later."""
        self._session, self._limits, self._of_turn = session, session.limits, None
        self._read_log = Position()

    def begin(self, *, window_tokens: int, session: Session | None) -> None:
        """Reset for a session and a model. Call this before asking for fragments."""
        self._session = session
        self.summary_of = _no_summary
        self._briefing = self._new_briefing()
        self._report = None
        self._styles.current = None
        self._limits = session.limits if session else ()
        self._read_log = Position()
        self._of_turn = self._new_turn_memory(window_tokens)
        if session:
            self._of_turn.note_told(session)

    def begin_subagent(self, window_tokens: int) -> "SubagentMemory":
        """Return the memory of a sub-agent: the limits of the running session, and project memory."""
        of_turn = self._new_turn_memory(window_tokens)
        return SubagentMemory(self, of_turn, self._new_briefing() if self._inject else None)

    def _new_turn_memory(self, window_tokens: int) -> TurnMemory:
        of_turn = TurnMemory(
            self._store,
            self._preferences,
            self._scenarios,
            self._meaning,
            window_tokens=window_tokens,
            all_sessions=self._across_sessions,
            near_distance=self._near_distance,
            clock=self._clock,
            is_foreign=self._is_foreign,
            project_preferences=None if self._is_foreign else self._project_preferences,
            removed_by_model=self.removed_by_model,
        )
        # A limit that the user stated for this session also binds the sub-agents it sends.
        of_turn.session_limits = self._limits
        return of_turn

    def hold_limits(self, limits: Sequence[str]) -> None:
        """Apply limits to the running session without saving them; `undo` removes them."""
        at, session = self._clock(), self._session
        texts = list(map(self._redact, limits))
        what, key = f"applied “{'; '.join(texts)}” to one session", session.id if session else ""
        change = new_change("session", what, at=at, key=key, after=texts)
        with suppress(OSError, StorageError):  # the limits apply all the same
            self._store.logs.user.append(change)
        message = len(session.messages) if session else 0
        new = {text: SessionLimit(text=text, message=message, at=at, change=change.id) for text in texts}
        limits_before = tuple(one for one in self._limits if one.text not in new)
        self._set_limits((*limits_before, *new.values())[-MAX_SESSION_LIMITS:])

    def _set_limits(self, limits: tuple[SessionLimit, ...]) -> None:
        """Replace the limits of the running session, which records them: they apply after a restart, too."""
        if limits == self._limits:
            return
        gone = _list_live_changes(self._limits) - _list_live_changes(limits)
        with suppress(OSError, StorageError):  # only an undo would count them as one more change
            self._store.logs.user.mark(sorted(gone))
        self._limits = limits
        if self._session:
            self._session.set_limits(limits)
        if self._of_turn:
            self._of_turn.session_limits = limits

    def forget_held(self, limits: Sequence[str]) -> None:
        """Stop applying limits as session limits, because they are saved now; the model is not told."""
        clean = {self._redact(limit) for limit in limits}
        self._set_limits(tuple(one for one in self._limits if one.text not in clean))

    @property
    def held_limits(self) -> tuple[str, ...]:
        """Return the limits that apply to the running session without being saved."""
        return tuple(one.text for one in self._limits if not one.is_lifted)

    def _update_limits(self) -> None:
        """Lift limits of the session that were undone, in any process, and leave those that memory has to memory."""
        if changes := _list_live_changes(self._limits):
            new = self._store.logs.user.read(self._read_log)
            self._read_log = new.position
            undone = list_marked(new.lines)[1].keys() & changes
            self.lift_held([one.text for one in self._limits if one.change in undone])
        if self.held_limits:
            own = () if self._is_foreign else self._project_preferences.hard_limits()
            saved = {record.content.casefold() for record in (*self._preferences.hard_limits(), *own)}
            self.forget_held([text for text in self.held_limits if text.casefold() in saved])

    def lift_held(self, limits: Sequence[str]) -> None:
        """Stop applying limits to the running session, and tell the model."""
        self._set_limits(
            tuple(structs.replace(one, is_lifted=True) if one.text in limits else one for one in self._limits)
        )

    def replace_held(self, old: str, new: str) -> None:
        """Let a limit of the running session say something else, and tell the model; one undo removes it."""
        message = len(self._session.messages) if self._session else 0
        limits: list[SessionLimit] = []
        for one in self._limits:
            is_meant = one.text == old and not one.is_lifted
            limits.append(structs.replace(one, is_lifted=True, change="") if is_meant else one)
            if is_meant:
                limits.append(structs.replace(one, text=self._redact(new), message=message, at=self._clock()))
        self._set_limits(tuple(limits))

    def redacted_notices(self, noticed: "Sequence[StatedPreference]") -> "list[StatedPreference]":
        """Return the statements with their texts redacted, as they would be stored."""
        return [
            structs.replace(one, content=self._redact(one.content), quote=self._redact(one.quote)) for one in noticed
        ]

    @property
    def is_silent(self) -> bool:
        """Return whether nothing is recalled and nothing learned: memory is off, or the session is incognito."""
        return self._incognito or self.is_off

    def redacted(self, text: str) -> str:
        """Return the text as it would be stored."""
        return self._redact(text)

    def ask_a_model(self, decide: Decide | None) -> None:
        """Set the function that asks a model whether two similar memories are one; None keeps both."""
        self._store.decide = decide

    def prefix_fragments(self, cap_tokens: int = CAP_TOKENS, chars_per_token: float = DEFAULT_RATIO) -> list[Fragment]:
        """Return what the system prompt contains for the whole session; empty if memory is off. Call it once."""
        if self.is_silent:
            return []
        none = list[Fragment]()
        limits = self._errors.run(tr("hard limits are"), self._of_turn.prefix_fragments, none) if self._of_turn else []
        prompt = partial(self._briefing.prompt, cap_tokens, chars_per_token)
        known = self._errors.run(tr("project memory is"), prompt, none) if self._inject else none
        return self.redact_fragments([*limits, *known])

    def redact_fragments(self, fragments: Sequence[Fragment]) -> list[Fragment]:
        """Return the fragments with secrets replaced.

        clio stores none, but files that other programs, earlier versions or the user wrote may contain some.
        """
        return [structs.replace(fragment, text=self._redact(fragment.text)) for fragment in fragments]

    def turn_fragments(self, text: str) -> list[Fragment]:
        """Return what precedes the user's `text`: new project memory, preferences, recalled memories, a style."""
        if self.is_silent:
            return []
        session, none = self._session, list[Fragment]()
        self._errors.run(tr("hard limits are"), self._update_limits, None)
        tell = partial(self._briefing.news, set(session.window_ids) if session else ())
        news = self._errors.run(tr("changes of project memory are"), tell, none) if self._inject else []
        turn = self._of_turn
        # A memory that the summary or the prompt already contains would cost its tokens twice.
        shown = [self.summary_of(), *(given.fragment.text for given in self._briefing.given), *self.saved_now]
        recall = list[Fragment]
        if turn:
            recall = partial(turn.turn_fragments, text, session, self.scenario, shown, self.forgotten_now)
        style = self._errors.run(tr("the style of the answer is"), partial(self._styles.fragment, text), None)
        saved = saved_fragment(self.saved_now, self.doubtful_now)
        fragments = [*news, *saved, *self._errors.run(tr("memories are"), recall, none)]
        fragments += [style] if style else []
        self._report = WhyReport(
            session=session.id if session else "",
            at=self._clock(),
            # Stored on disk for `/memory why` of another process, so it must hold no secret.
            question=self._redact(" ".join(text[:200].split())[:80]),
            scenario=self.scenario or (self._of_turn.scenario_used if self._of_turn else None),
            # The news of the turn come before the block in the prompt.
            items=(
                *report_project_memory(reversed(self.why()), self._clock()),
                *(self._of_turn.items if self._of_turn else ()),
            ),
        )
        with suppress(OSError):  # only `/memory why` of another process reads this file; the answer needs none of it
            save_cached(self._why_path, self._report)
        return fragments

    def end_turn(self, session: Session, status: str) -> "list[Noted]":
        """Record how a turn ended, and return what was learned from signs of the user's opinion."""
        learns = not self.is_silent and self._styles.is_on
        return self.feedback.end_turn(session, status) if learns else []

    def repeat_after_trim(self) -> None:
        """Note that earlier fragments may have left the window, so that the next turn repeats them."""
        self._briefing.repeat_after_trim()
        if self._of_turn:
            self._of_turn.repeat_after_trim()

    def standing_fragments(self) -> list[Fragment]:
        """Return the limits and preferences that still apply, for requests after a trim."""
        if self.is_silent or not self._of_turn:
            return []
        return self._errors.run(tr("limits and preferences are"), self._of_turn.standing_fragments, list[Fragment]())

    def reset_after_wipe(self) -> None:
        """Reset the fragments after all memory was deleted, so that this conversation does not write it again."""
        self._briefing = self._new_briefing()
        # The prompt is made now, so that memories added from now on count as new ones.
        self._briefing.prompt(CAP_TOKENS)
        self._report = None

    def why(self) -> tuple[Injected, ...]:
        """Return what the last request contained: each memory with its reason, and how many the limits left out."""
        return self._briefing.given

    def last_turn(self) -> WhyReport | None:
        """Return what the last turn contained and what limits cut, in this process or else in the project."""
        self.raise_if_off()
        if self._report is None:
            return load_cached(self._why_path, WhyReport)
        return structs.replace(self._report, scenario=self.scenario_in_force)

    def _new_briefing(self) -> Briefing:
        return Briefing(
            self._store.ltm_reader, str(self._store.ltm_path), self._project, self._start, is_foreign=self._is_foreign
        )

    @property
    def scenario_in_force(self) -> str | None:
        """Return the task type of the last turn; None if none was named or detected."""
        return self.scenario or (self._of_turn.scenario if self._of_turn else None)

    # Typed memories and preferences

    def raise_if_off(self) -> None:
        """Raise ToolFailed if memory is off, or the session is incognito."""
        if self.is_off:
            raise ToolFailed("memory is off", "`/memory on` turns it on again")
        if self._incognito:
            raise ToolFailed("memory is off in an incognito session", "continue without it")

    @property
    def store(self) -> MemoryStore:
        """All memories of the project and the user: add, get, update, forget, restore, history."""
        self.raise_if_off()
        return self._store

    @property
    def sharing(self) -> "Sharing":
        """Return what shares the project's memory through git, and turns sharing on and off."""
        self.raise_if_off()
        from clio.memory.team.share import Sharing

        return Sharing(
            self._store.ltm_path, project=self._project, home=self._trust_home, clock=self._clock, redact=self._redact
        )

    def search(self, query: str, limit: int = 10) -> tuple[Hit, ...]:
        """Return the memories of `ltm.json` and the keyed notes that match a query, best first.

        What is found counts as used.
        """
        from clio.memory.retrieval.retriever import search_project

        records = self.store.records((*PROJECT_KINDS, KEYED_NOTE))
        hits = search_project(query, records, limit, self._clock())
        self.store.mark_used([hit.id for hit in hits if hit.id])
        return tuple(hits)

    @property
    def preferences(self) -> Preferences:
        """Return the user's likes, dislikes and limits."""
        self.raise_if_off()
        return self._preferences

    @property
    def project_preferences(self) -> Preferences:
        """Return the rules and limits that apply to this project only."""
        self.raise_if_off()
        return self._project_preferences

    def list_preferences(self) -> list[tuple[Scope, MemoryRecord]]:
        """Return the preferences, rules and limits with their scope; the project's only if the project is trusted."""
        found: list[tuple[Scope, MemoryRecord]] = [("user", one.record) for one in self.preferences.all()]
        if not self._is_foreign:
            found.extend(("project", one.record) for one in self.project_preferences.all())
        return found

    @property
    def pending_limits(self) -> "PendingLimits":
        """Return the limits from runs that could not ask the user whether they are permanent."""
        self.raise_if_off()
        from clio.memory.preferences.session_start import PendingLimits

        return PendingLimits(self._home, self._project, self._clock)

    # Styles and feedback

    @property
    def is_foreign(self) -> bool:
        """Return whether the project's memory came with the project and the user does not trust it."""
        return self._is_foreign

    @property
    def styles(self) -> Styles:
        """Return the response styles, and what was learned about them."""
        self.raise_if_off()
        return self._styles

    @property
    def feedback(self) -> "Feedback":
        """Return the user's feedback on answers."""
        self.raise_if_off()
        from clio.memory.styles.feedback import Feedback, Trajectories

        return Feedback(
            Trajectories(self._project / ".clio" / "trajectories.jsonl"),
            self._styles,
            self._session_store,
            session_of=lambda: self._session,
            redact=self._redact,
            embedder=self._embedder,
            clock=self._clock,
        )

    # Search, and work in the background

    @property
    def retriever(self) -> "Retriever":
        """Return the search over memories, sessions, documents and preferences."""
        self.raise_if_off()
        from clio.memory.retrieval.retriever import Retriever

        return Retriever(
            self._sessions(),
            self._meaning,
            self._store,
            styles=self._styles,
            clock=self._clock,
        )

    def take_shifts(self) -> list[str]:
        """Return changes of the user's preferences within a month, one sentence each, each once.

        Reads all versions, so it runs in the background."""
        if self.is_silent:
            return []
        from clio.memory.preferences.session_start import Shifts

        state = self._styles.state()
        vectors = {
            place: dict(zip(DIMENSIONS, vector, strict=True))
            for place, vector in state.vectors.items()
            if state.on and place == intent_of(place) and len(vector) == len(DIMENSIONS)
        }
        return Shifts(self._home, self._store.user, self._clock).take_new(vectors)

    @property
    def consolidation(self) -> "Consolidation":
        """Return what learns from earlier sessions while clio is idle, and its reports."""
        self.raise_if_off()
        from clio.memory.consolidation.consolidation import Consolidation

        consolidation = Consolidation(
            self._project, self._home, self._session_store, redact=self._redact, clock=self._clock, rng=self._rng
        )
        consolidation.ask = self._store.decide
        consolidation.before_write = self._seal
        consolidation.current = self._session.id if self._session else ""
        return consolidation

    # Documents

    @property
    def documents(self) -> Documents:
        """Return the documents that the user added."""
        self.raise_if_off()
        return self._meaning.documents

    def pop_notices(self) -> list[str]:
        """Return the problems with memory that the user should know, one sentence each, each once."""
        return [*self._errors.take_messages(), *self._meaning.pop_notices()]

    # Progress page

    def write_progress(self, page: str) -> None:
        """Store the progress page as the note `session_progress`. Does nothing if memory is off."""
        if not self.is_silent:
            self._seal()
            self._store.keyed_notes.store_page(PROGRESS_KEY, self._redact(page))

    def read_progress(self) -> str:
        """Return the page that `write_progress` stored last in any session; empty without one, or if memory is off.

        A note that the model stored under the same name is ignored.
        """
        return "" if self.is_silent else self._store.keyed_notes.page(PROGRESS_KEY)

    # Searching and undoing

    def recall_sessions(
        self,
        query: str,
        *,
        current: str | None = None,
        include_current: bool = False,
        max_sessions: int = DEFAULT_SESSIONS,
        max_results: int = DEFAULT_RESULTS,
        for_reading: bool = False,
    ) -> "Recall":
        """Return passages of earlier sessions that answer the query, grouped by session, best first.

        Those that state what another memory has replaced since end with a remark.

        Args:
            current: the id of the session that asks; left out of the results unless `include_current`.
            for_reading: see `SessionRecall.search`; passages about the same subject come newest first.
        """
        self.raise_if_off()
        found = self._sessions().search(
            query,
            current=current,
            include_current=include_current,
            max_sessions=max_sessions,
            max_results=max_results,
            for_reading=for_reading,
        )
        remarks = iter(self.store.describe_replaced([one.snippet for one in found.passages]))
        sessions = [
            structs.replace(
                session,
                passages=tuple(
                    structs.replace(one, snippet=f"{one.snippet} [{remark}]") if (remark := next(remarks)) else one
                    for one in session.passages
                ),
            )
            for session in found.sessions
        ]
        return structs.replace(found, sessions=tuple(sessions))

    def earlier_session(self, selector: str) -> Session:
        """Return a copy in memory of a session, whether it is running or not. No file is changed.

        Args:
            selector: what `SessionStore.find` accepts, or the end of an id, as `recall_sessions` returns it.
        """
        self.raise_if_off()
        return self._session_store.open(self._session_store.find(selector), persist=False)

    def refresh_index(
        self, stop: Callable[[], bool] = never_stop, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Update the index of earlier sessions, and return how many were read. Runs in a background thread."""
        if self._incognito:
            return 0
        read = self._sessions().refresh(stop, progress)
        self._meaning.refresh(self._session_store, stop, all_sessions=self._across_sessions)  # a model takes minutes
        return read

    def undo(self) -> str:
        """Undo the last change of memory, by the user, the model or clio; return a sentence that names it."""
        self.raise_if_off()
        last = self._store.logs.last()
        known = {(record.id, record.content) for record in self._store.records()}
        line = self._store.undo()
        self._update_limits()
        session = self._session
        if last and session and last.at <= max((one.created for one in session.messages[-1:]), default=0.0):
            self.note_restored([one for one in self._store.records() if (one.id, one.content) not in known])
        return line

    def _may_undo(self, change: Change) -> bool:
        """Whether a change is no limit of another session; without a session, the limits of all can be undone."""
        return change.store != "session" or not self._session or change.id in _list_live_changes(self._limits)

    def note_restored(self, records: Sequence[MemoryRecord]) -> None:
        """Tell the model with the next turn that these memories hold again."""
        if self._of_turn:
            self._of_turn.note_restored(records)

    def close(self) -> None:
        """Close the indexes."""
        if self._recall is not None:
            self._recall.close()
        self._meaning.close()

    def _seal(self) -> None:
        """Record once that the user's own clio writes the memory here; not if the memory came with the project."""
        if self._may_seal:
            make_ignored_folder(self._project / ".clio", self._project / ".clio")
            seal_memory(self._project, self._home)
            self._may_seal = False

    def _sessions(self) -> "SessionRecall":
        """Return the search of earlier sessions, which all threads share."""
        from clio.memory.transcripts.session_search import SessionRecall

        # The background thread that refreshes the index and the turn may both be the first.
        with self._making:
            if self._recall is None:
                cache = None if self._incognito else self._project / ".clio" / "cache"
                self._recall = SessionRecall(self._session_store, cache)
            return self._recall


def open_memory(
    loaded: LoadedConfig,
    store: SessionStore,
    *,
    redact: Callable[[str], str],
    env: Mapping[str, str],
    scenarios: TaskTypes | None = None,
    clock: Callable[[], float] = time.time,
) -> MemorySystem:
    """Return the memory of a project and its user.

    Args:
        redact: removes secrets from everything that is stored.
        env: the environment variables, which may contain API keys of embedding servers.
        scenarios: the user's task types, if they were already read; otherwise they are read from the home folder.
    """
    config = loaded.config
    if loaded.has_foreign_memory and not config.incognito:
        with suppress(OSError, ClioError):
            # Before this run is recorded in the ledger of costs: a new key lists the projects of that ledger as used
            # before, and this project must not be among them.
            load_or_create_key(loaded.home)
    return MemorySystem(
        loaded.main_project,
        store,
        incognito=config.incognito,
        ltm=config.ltm,
        redact=redact,
        clock=clock,
        home=loaded.home,
        is_foreign=loaded.has_foreign_memory,
        embedder=make_embedder(config, env),
        across_sessions=config.brain_across_sessions,
        near_distance=config.brain_distance,
        scenarios=scenarios or load_task_types(loaded.home),
        fading=Fading(half_life_days=config.preference_half_life_days, floor=config.preference_floor),
    )


def make_embedder(config: Config, env: Mapping[str, str]) -> Embedder:
    """Return the configured embedder. Imports only that one, and opens no connection."""
    match config.embedder:
        case "hashed":
            return HashedEmbedder()
        case "minilm":
            from clio.memory.vectors.model_embedders import MiniLmEmbedder

            return MiniLmEmbedder(Path(config.embedding_folder).expanduser() if config.embedding_folder else None)
        case "endpoint":
            from clio.memory.vectors.model_embedders import make_endpoint_embedder

            return make_endpoint_embedder(config, env)
