"""One consolidation run: replay turns, save what they teach, tidy the stores. Can stop after any turn.

What is done is saved, and the next run continues from there. A crash loses at most the note of how far the run came;
a turn that is replayed again is recognised by its provenance.

A model may be asked once for findings in the best turns. Its prompt is fixed and bounded, and a finding counts only if
it quotes words of its turn; it is stored with less confidence than what the rules found.
"""

import re
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from heapq import nlargest
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct, structs

from clio.config.project_links import SHARED_NAME
from clio.errors import ProviderError, StorageError, UserError
from clio.memory.consolidation.command_findings import Habits, HabitState, find_fixes
from clio.memory.consolidation.consolidation import (
    MAX_CHANGES,
    AskModel,
    Consolidation,
    Listed,
    Progress,
    Report,
    Sessions,
    StartedBy,
    Turn,
    is_same_day,
    read_state,
    write_state,
)
from clio.memory.consolidation.corrections import find_corrected_statements, find_corrections
from clio.memory.consolidation.experiences import (
    QUOTE_CHARS,
    Correction,
    Experience,
    Finding,
    list_completed_calls,
)
from clio.memory.consolidation.forget_requests import (
    find_forget_requests,
    is_meant,
    is_stated_in,
    needs_confirmation,
)
from clio.memory.consolidation.memory_updates import Changes, FindingSaver, Tidying, fold_text, hash_finding
from clio.memory.consolidation.preference_endings import is_ended
from clio.memory.consolidation.stated_facts import find_statements
from clio.memory.preferences.limits import find_limits
from clio.memory.store.change_log import LOG_NAME
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import AssertedBy, has_same_text
from clio.memory.styles.feedback import Trajectories
from clio.messages import AssistantMessage, Message, ToolMessage, UserMessage, is_turn_start
from clio.prompt_files import fill_prompt
from clio.storage.locks import FileLock, error_cause, read_owner, suggest_fix
from clio.text.consolidate import REPLAY_BATCH_SIZE, sample_for_replay
from clio.text.formatting import format_stored_time
from clio.text.json_data import decode_json
from clio.text.scoring import DAY_S
from clio.text.translation import tr, tr_count
from clio.text.vocabulary import extract_terms
from clio.threads import BackgroundCall, ProgressCallback, ignore_progress, never_stop

BUDGET_CHARS = 16_000
"""Maximum size of the turns sent to a model, about 4,000 tokens."""
MOST_TURNS, MOST_FINDINGS = 24, 10
CONFIDENCE = 0.6
_WORDS_CHARS, _ANSWER_CHARS = 1_200, 1_200
_LEAST_QUOTE = 12
_LEAST_QUOTED_SHARE = 0.5  # of the words of a fact or an error, which the model may put in a sentence of its own
_LEAST_SAID_SHARE = 0.75  # of the words of a solution, which says what was done
_TEXT_CHARS = 500
_POLL_S = 0.02
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.S | re.I)
_LIST = re.compile(r"\[.*\]", re.S)


class TurnExcerpt(Struct, frozen=True, kw_only=True):
    """A turn as the model is given it: the user's text and the last answer, truncated and without secrets.

    tools: the outputs of the turn's tool calls. The model is not given them; they show whether an answer only quotes
        a tool.
    """

    session: str
    message: str
    at: float
    user_text: str
    agent: str
    tools: tuple[str, ...] = ()
    priority: float = 0.0


class _PromptTurn(Struct, frozen=True, kw_only=True):
    """A turn as JSON in the prompt, which explains the names of its fields."""

    turn: int
    person: str
    agent: str


class _ModelFinding(Struct, frozen=True, kw_only=True):
    """A finding as JSON in the model's answer. turn: the number of the turn that it was found in."""

    turn: int
    kind: Literal["fact", "solution"]
    text: str
    quote: str
    solution: str = ""


class TurnSelection:
    """The turns with the highest priority of a run, in the form the model is given."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._best: list[TurnExcerpt] = []

    def add(self, turn: Experience, priority: float) -> None:
        """Add a turn, if it is among the 24 with the highest priority."""
        lowest = self._best[-1].priority if len(self._best) >= MOST_TURNS else -1.0
        if priority <= lowest:
            return
        text = " ".join(one.content for one in turn.messages if isinstance(one, UserMessage) and one.origin == "user")
        agent = next((one.content for one in reversed(turn.messages) if isinstance(one, AssistantMessage)), "")
        digest = TurnExcerpt(
            session=turn.session,
            message=turn.message,
            at=turn.at,
            user_text=self._redact(text)[:_WORDS_CHARS],
            agent=self._redact(agent)[:_ANSWER_CHARS],
            tools=tuple(one.content for one in turn.messages if isinstance(one, ToolMessage)),
            priority=priority,
        )
        self._best = nlargest(MOST_TURNS, (*self._best, digest), key=lambda one: one.priority)

    @property
    def turns(self) -> tuple[TurnExcerpt, ...]:
        """The turns, highest priority first, as many as the budget allows."""
        room, chosen = BUDGET_CHARS, list[TurnExcerpt]()
        for turn in self._best:
            room -= len(turn.user_text) + len(turn.agent)
            if room < 0:
                break
            chosen.append(turn)
        return tuple(chosen)


def ask_about_turns(turns: Sequence[TurnExcerpt], ask: AskModel, over: Callable[[], bool]) -> tuple[list[Finding], int]:
    """Return what `read_answer` reads in a model's answer about the turns; nothing if `over` becomes true before.

    The request runs in its own thread, so that the run can end without waiting for the answer. Raises ProviderError if
    the model does not answer.
    """
    if not turns:
        return [], 0
    try:
        answer = BackgroundCall(lambda: ask(prompt(turns)), "ask-about-turns").wait(give_up=over, poll_s=_POLL_S)
    except TimeoutError:
        return [], 0
    return read_answer(answer, turns)


def prompt(turns: Sequence[TurnExcerpt]) -> str:
    """Return the prompt with the turns as JSON."""
    shown = [_PromptTurn(turn=number, person=one.user_text, agent=one.agent) for number, one in enumerate(turns, 1)]
    return fill_prompt("memory/sleep", turns=msgspec.json.format(msgspec.json.encode(shown), indent=0).decode())


def read_answer(answer: str, turns: Sequence[TurnExcerpt]) -> tuple[list[Finding], int]:
    """Return at most ten findings of an answer, and how many were dropped because the turn they name does not say them.

    A finding needs a quotation that is in the turn, and words that are in the quotation or, of a solution, in the turn.
    """
    found = _LIST.search(_THOUGHTS.sub("", answer))
    try:
        listed = decode_json(found[0], type=list[msgspec.Raw]) if found else []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return [], 0
    findings = [_make_finding(one, turns) if (one := _decode(raw)) else None for raw in listed]
    valid = [one for one in findings if one]
    return valid[:MOST_FINDINGS], len(findings) - len(valid)


def _decode(raw: msgspec.Raw) -> _ModelFinding | None:
    try:
        return decode_json(raw, type=_ModelFinding)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _make_finding(said: _ModelFinding, turns: Sequence[TurnExcerpt]) -> Finding | None:
    """Return a finding of the model; None if the turn that it names does not say it."""
    if not 1 <= said.turn <= len(turns):
        return None
    turn = turns[said.turn - 1]
    text, solution = (" ".join(one.split()) for one in (said.text, said.solution))
    if not _is_quoted(said.quote, turn) or not 0 < len(text) <= _TEXT_CHARS or len(solution) > _TEXT_CHARS:
        return None
    if said.kind == "solution" and not solution:
        return None
    whole = " ".join((turn.user_text, turn.agent, *turn.tools))
    if not _says(said.quote, text, _LEAST_QUOTED_SHARE, whole) or not _says(whole, solution, _LEAST_SAID_SHARE, whole):
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


def _says(source: str, text: str, least_share: float, turn: str) -> bool:
    """Whether enough of a text's words are in its source, and all its numbers, names and paths in the turn.

    A true quotation beside an invented statement proves nothing.
    """
    said = set(extract_terms(text))
    exact = {term for term in said if not term.isalpha()}
    return exact <= set(extract_terms(turn)) and len(said & set(extract_terms(source))) >= least_share * len(said)


def _is_quoted(quote: str, turn: TurnExcerpt) -> bool:
    """Whether the turn contains the quotation, which must be long enough; white space and case are ignored."""
    return len(fold_text(quote)) >= _LEAST_QUOTE and _has((turn.user_text, turn.agent), quote)


def _asserted_by(said: _ModelFinding, turn: TurnExcerpt) -> AssertedBy:
    """Return the author of a finding: "tool" if the answer only repeats a tool's output, else "model"."""
    for parts in ((said.quote,), tuple(filter(None, (said.text, said.solution)))):
        if all(_has(turn.tools, part) for part in parts) and not all(_has((turn.user_text,), part) for part in parts):
            return "tool"
    return "model"


def _has(texts: Sequence[str], quote: str) -> bool:
    words = fold_text(quote)
    return any(words in fold_text(text) for text in texts)


_MAX_LATER_CHARS = 2_500
"""A longer message is mostly pasted text, and takes nothing back."""
_MAX_CHANGES = 5
"""How often one statement is followed through corrections."""


class LaterMessages:
    """The user's messages of one session, in order, as far as they change what earlier ones state.

    Each is read at most once, and only after a turn from which something is to be learned.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages

    @cached_property
    def _places(self) -> list[int]:
        """The indexes of the user's own messages; what was typed while memory was off changes nothing."""
        return [
            place
            for place, message in enumerate(self._messages)
            if isinstance(message, UserMessage) and message.origin == "user" and not message.memory_off
        ]

    @cached_property
    def _withdrawing(self) -> list[int]:
        """The indexes of the messages that take back the one before: "scratch that"; not one that is taken back."""
        found: list[int] = []
        for before, place in zip(self._places, self._places[1:], strict=False):
            points = any(one.kind == "pointing" for one in find_forget_requests(self._read(place)))
            if points and before not in found:
                found.append(place)
        return found

    def _read(self, place: int) -> str:
        text = self._messages[place].content
        return text if len(text) <= _MAX_LATER_CHARS else ""

    def find_final(self, finding: Finding) -> str:
        """Return what a statement of a turn says at the end of the session, "" if the user took it back."""
        own = [place for place in self._places if place in self._turn(finding.message)]
        if not own:
            return finding.text
        stating = [place for place in own if is_stated_in(finding.quote, self._messages[place].content)]
        place, text = (stating or own)[-1], finding.text
        for _ in range(_MAX_CHANGES):
            if self._is_taken_back(text, place):
                return ""
            changed = next(self._list_changes(text, place), None)
            if changed is None:
                return text
            place, text = changed
        return text

    def is_taken_back(self, message: str) -> bool:
        """Whether the message after the one that began a turn takes it back, so that it corrects nothing."""
        return any(self._is_itself_taken_back(place) for place in self._places if self._messages[place].id == message)

    def _turn(self, message: str) -> range:
        """Return the indexes of the messages of the turn that began with a message."""
        start = next((place for place, one in enumerate(self._messages) if one.id == message), 0)
        end = next(
            (place for place in range(start + 1, len(self._messages)) if is_turn_start(self._messages[place])),
            len(self._messages),
        )
        return range(start, end)

    def _is_taken_back(self, text: str, place: int) -> bool:
        """Whether the user took back a text that is stated at a place."""
        later = [one for one in self._places if one > place]
        if later and later[0] in self._withdrawing:
            return True
        for one in later:
            message = self._read(one)
            context = "\n".join(before.content for before in self._list_before(one))
            named = (request for request in find_forget_requests(message) if request.kind != "pointing")
            if any(is_meant(text, request) and not needs_confirmation(request, text, context) for request in named):
                return True
            if find_limits(text) and is_ended(text, message):
                return True
        return False

    def _list_changes(self, text: str, place: int) -> Iterator[tuple[int, str]]:
        """Yield what the next message of the user makes of a text that is stated at a place, with its index."""
        following = next((one for one in self._places if one > place), None)
        if following is None or self._is_itself_taken_back(following):
            return
        for one in find_corrected_statements(self._read(following), self._list_before(following), also=text):
            if has_same_text(one.statement, text):
                yield following, one.content

    def _is_itself_taken_back(self, place: int) -> bool:
        return next((one for one in self._places if one > place), -1) in self._withdrawing

    def _list_before(self, place: int) -> list[Message]:
        """Return the user's message before one, and the model's last answer to it."""
        own = [one for one in self._places if one < place]
        start = own[-1] if own else 0
        said = [one for one in self._messages[start:place] if isinstance(one, UserMessage | AssistantMessage)]
        return [*said[:1], *said[1:][-1:]]


ROUND = 50 * REPLAY_BATCH_SIZE
"""Approximate number of turns listed before replay begins. Turns of one session are replayed together, so that each
session is read only once per round.
"""
LISTING = 0.2
"""Share of the remaining time that may be used to list waiting turns."""
TOGETHER = 40
"""Number of turns of a session that are searched for fixes at once; the run cannot be stopped during that."""
SAVE_EVERY_S = 1.0
MONTH_S = 30 * DAY_S
MAX_WAITING = 100
"""Corrections that wait for what they correct; the oldest are dropped."""


class ConsolidationRun:
    """One pass over a project's sessions. An object can be run only once.

    Args:
        folder, user_folder: the folders of the stores that the run changes.
        stop, budget_s: the run ends when `stop` returns true, or after this time.
        ask: sends a prompt to a model; None to ask no model.
        tell: called with the number of turns replayed, and the estimated total number.
        tidies: whether to promote notes and tidy the stores, too.
    """

    def __init__(
        self,
        consolidation: Consolidation,
        folder: Path,
        user_folder: Path,
        *,
        stop: Callable[[], bool],
        budget_s: float | None = None,
        ask: AskModel | None = None,
        tell: ProgressCallback,
        tidies: bool = True,
    ) -> None:
        self._tell = tell
        self._tidies = tidies
        self._rng = consolidation.rng
        self._stop = stop
        self._deadline = None if budget_s is None else time.monotonic() + budget_s
        self._stopped_by: Literal["", "stopped", "time"] = ""
        self._ask = ask
        self._clock = consolidation.clock
        self._redact = consolidation.redact
        self._user_folder = user_folder
        self._memories = MemoryStore(
            folder,
            user_folder,
            project=consolidation.project,
            redact=consolidation.redact,
            clock=consolidation.clock,
            trust_home=user_folder,
        )
        self._trajectories = Trajectories(folder / "trajectories.jsonl")
        self._state_file = folder / "sleep.json"
        self._state, problem = read_state(self._state_file)
        self._errors: list[str] = [problem] if problem else []
        self._write_error = ""
        self._written = self._state
        self._habits = Habits(self._state.habits)
        self._done = Changes()
        self._saver = FindingSaver(self._memories, consolidation.redact, self._done)
        self._selection = TurnSelection(consolidation.redact)
        self._corrections: list[Correction] = []
        self._sessions = Sessions(
            consolidation.store, self._state.sessions, self._trajectories.rewards(), consolidation.current
        )
        self._listed: dict[str, Listed] = {}
        self._replayed = self._waiting = 0
        self._saved = time.monotonic()

    def run(self, by: StartedBy, *, dry_run: bool = False) -> Report:
        """Run all steps until the run must stop. An error ends the run and is described in the report.

        dry_run: only marks the report; the stores are copies then.
        """
        # One group even if the run is killed: each line of the change log carries it, so /memory undo still takes back
        # the whole run.
        at = time.strftime("%d %b %H:%M", time.localtime(self._clock()))
        with self._memories.group(f"the consolidation of {at}"):
            return self._run(by, dry_run)

    def note_error(self, sentence: str) -> None:
        """Add a sentence to the errors of the report."""
        self._errors.append(sentence)

    def _run(self, by: StartedBy, dry_run: bool) -> Report:
        began, now = time.monotonic(), self._clock()
        try:
            self._replay_all(now)
            self._save_habits()
            if self._ask is not None and not self._over():
                self._ask_model(self._ask)
            self._apply_corrections()
            if self._tidies and not self._over():
                self._state = Tidying(
                    self._memories,
                    self._trajectories,
                    self._user_folder,
                    now=now,
                    is_over=self._is_over,
                    done=self._done,
                ).run(self._state)
            self._save(whole=self._tidies and not self._over(), now=now)
        except (StorageError, OSError) as error:
            step = (
                tr("; {suggest_fix}, and the next consolidation continues from there", suggest_fix=suggest_fix(error))
                if isinstance(error, OSError)
                else ""
            )
            self._write_error = tr(
                "not everything that was found could be saved: {error_cause}{step}",
                error_cause=error_cause(error),
                step=step,
            )
            self._errors.append(self._write_error)
            with suppress(OSError):  # without it turns are replayed again; their findings are recognized as known
                self._save(whole=False, now=now)
        return self._report(by, now, time.monotonic() - began, dry_run)

    def _over(self) -> Literal["", "stopped", "time"]:
        """Return why the run must stop now, which stays the reason; "" while it may continue."""
        if not self._stopped_by and self._stop():
            self._stopped_by = "stopped"
        elif not self._stopped_by and self._deadline is not None and time.monotonic() >= self._deadline:
            self._stopped_by = "time"
        return self._stopped_by

    def _is_over(self) -> bool:
        return self._over() != ""

    def _replay_all(self, now: float) -> None:
        """Replay all waiting turns in rounds, those of the most recently changed sessions first."""
        waiting = self._sessions.waiting(now, self._is_over)
        while not self._over():
            turns = self._list(waiting)
            if turns is None:
                break
            drawn = sample_for_replay([(turn, turn.priority) for turn in turns], self._rng, len(turns))
            self._replay_round(drawn)

    def _list(self, waiting: Iterator[Listed]) -> list[Turn] | None:
        """Return the next waiting turns without their texts; None if there are no more sessions."""
        until = None if self._deadline is None else time.monotonic() + LISTING * (self._deadline - time.monotonic())
        turns: list[Turn] | None = None
        for listed in waiting:
            self._listed[listed.info.id] = listed
            self._state = self._state.with_notes(listed.info.id, sorted(listed.notes))
            turns = [*(turns or ()), *listed.turns]
            self._waiting += len(listed.turns)
            if len(turns) >= ROUND or (until is not None and time.monotonic() >= until):
                break
        return turns

    def _replay_round(self, drawn: Sequence[Turn]) -> None:
        together: dict[str, dict[str, Turn]] = {}
        for turn in drawn:
            together.setdefault(turn.session, {})[turn.message] = turn
        for session, turns in together.items():
            if self._over():
                return
            found, messages = self._sessions.experiences(session, turns)
            later = LaterMessages(messages)
            for first in range(0, len(found), TOGETHER):
                self._replay_turns(found[first : first + TOGETHER], turns, later)
            # Saved about once a second, so that a killed run repeats little.
            if time.monotonic() - self._saved > SAVE_EVERY_S:
                self._save(whole=False, now=self._clock())

    def _replay_turns(self, experiences: Sequence[Experience], turns: Mapping[str, Turn], later: LaterMessages) -> None:
        """Replay turns of one session in order, because an error in one turn may be fixed in a later one."""
        if self._over():
            return
        fixes = find_fixes(experiences)
        for experience in experiences:
            if self._over():
                return
            found = find_statements(experience, list_completed_calls(experience.messages))
            new = [one for one in found if not self._saver.was_saved(one)]
            stated = [structs.replace(one, text=text) for one in new if (text := later.find_final(one))]
            fixed = [fix for fix in fixes if fix.message == experience.message]
            if stated and not self._memories.project.index.build_similarity_index(self._is_over):
                return
            for finding in (*stated, *fixed):
                self._saver.save(finding, experience.importance)
            corrections = find_corrections(experience)
            self._corrections += () if corrections and later.is_taken_back(experience.message) else corrections
            self._habits.feed(experience)
            self._selection.add(experience, turns[experience.message].priority)
            self._replayed += 1
            self._listed[experience.session].replayed.add(experience.message)
            self._tell_progress()

    def _tell_progress(self) -> None:
        """Report progress, assuming that sessions not examined yet have as many turns on average as the others."""
        share = max(self._sessions.looked_at, 1) / max(self._sessions.count, 1)
        self._tell(self._replayed, max(round(self._waiting / share), self._replayed + 1))

    def _save_habits(self) -> None:
        """Save commands that have become habits; those saved before are confirmed once a month."""
        told: list[str] = []
        for finding in self._habits.findings():
            if self._over():
                break
            name = hash_finding(finding)
            now = f"{name}:{int(finding.at // MONTH_S)}"
            if now in self._state.told:
                continue
            before = any(one.startswith(f"{name}:") for one in self._state.told)
            if not before or self._saver.knows(finding):  # a habit that the user deleted is not saved again
                self._saver.save(finding)
            told.append(now)
        if told:
            self._state = self._state.with_told_habits(told)

    def _apply_corrections(self) -> None:
        """Apply corrections to earlier statements, even if the run must stop, so that no refuted statement stays.

        Corrections that refute nothing are kept, because the turn they correct may be replayed in a later run.
        """
        waiting = [*self._state.corrections, *self._corrections]
        if waiting:
            left = self._saver.correct(waiting)
            self._state = structs.replace(self._state, corrections=tuple(left[-MAX_WAITING:]))
            self._corrections = []

    def _ask_model(self, ask: AskModel) -> None:
        try:
            findings, dropped = ask_about_turns(self._selection.turns, ask, self._is_over)
        except ProviderError as error:
            self._errors.append(tr("the model was not asked what it finds: {error}", error=error))
            return
        for finding in findings:
            self._done.counts["by_model"] += self._saver.save(finding)
        if dropped:
            findings = tr_count(dropped, "finding of the model", "findings of the model")
            self._done.lines.append(tr("{findings} dropped: the quoted turn does not say that", findings=findings))

    def _save(self, *, whole: bool, now: float) -> None:
        """Write the state, if it changed. whole: the pass is complete."""
        news = {
            id: progress
            for id, listed in self._listed.items()
            if (progress := listed.replayed.progress(listed.info)) != self._state.sessions.get(id, Progress())
        }
        state = structs.replace(self._state, sessions=self._state.sessions | news) if news else self._state
        state = structs.replace(state, habits=self._clean(self._habits.state))
        if whole:
            state = state.without_deleted_sessions(self._sessions.ids())
            state = state if is_same_day(state.last_full, now) else structs.replace(state, last_full=now)
        if state != self._written:
            write_state(self._state_file, state)
        self._state, self._written = state, state
        self._saved = time.monotonic()

    def _clean(self, state: HabitState) -> HabitState:
        """Return the habits without those that contain a secret: sessions of other programs are not redacted."""
        redact = self._redact
        return HabitState(tallies={key: tally for key, tally in state.tallies.items() if redact(key) == key})

    def _report(self, by: StartedBy, at: float, seconds: float, dry_run: bool) -> Report:
        lines = self._done.lines
        more = [f"and {len(lines) - MAX_CHANGES:,} more"] if len(lines) > MAX_CHANGES else []
        cut = self._over()
        return Report(
            at=at,
            by=by,
            seconds=round(seconds, 3),
            dry_run=dry_run,
            early_end=cut,
            sessions=len(self._listed),
            replayed=self._replayed,
            waiting=sum(len(listed.replayed.waiting) for listed in self._listed.values()) if cut else 0,
            unread=self._sessions.unread,
            changes=(*lines[:MAX_CHANGES], *more),
            errors=tuple(self._errors),
            write_error=self._write_error,
            **{name: count for name, count in self._done.counts.items() if name in Report.__struct_fields__},
        )


def run_consolidation(
    consolidation: Consolidation,
    by: StartedBy = "hand",
    *,
    stop: Callable[[], bool] = never_stop,
    budget_s: float | None = None,
    use_model: bool = False,
    tell: ProgressCallback = ignore_progress,
    tidies: bool = True,
) -> Report:
    """Consolidate until everything is done, `stop` returns true, or the time is over. Undo treats it as one change.

    Args:
        use_model: whether to ask a model once what it finds in the turns with the highest priority.
        tell: called with the number of turns replayed, and the estimated total number.
        tidies: if false, only replay turns and save what they teach.

    Raises:
        UserError: if another process is consolidating this project.
        NewerDocument, OSError: if a file was written by a newer version, or cannot be read or written.
    """
    if not consolidation.folder.is_dir():
        return Report(at=consolidation.clock(), by=by)
    # Two runs would replay the same turns at the same time and save each finding twice.
    lock = FileLock(consolidation.folder / "sleep.lock")
    if not lock.acquire():
        owner = read_owner(lock.path)
        since = format_stored_time("%H:%M", owner.timestamp, "an unknown time")
        raise UserError(
            tr(
                "process {pid} on {hostname!r} has been consolidating this project since {since}; try "
                "again when it is done, or see /memory log",
                pid=owner.pid,
                hostname=owner.hostname,
                since=since,
            )
        )
    try:
        consolidation.before_write()
        ask = consolidation.ask if use_model else None
        folders = consolidation.folder, consolidation.user_folder
        run = ConsolidationRun(consolidation, *folders, stop=stop, budget_s=budget_s, ask=ask, tell=tell, tidies=tidies)
        if use_model and ask is None and by == "hand":
            run.note_error(tr("no model was asked what it finds, since none is connected"))
        report = run.run(by)
        return _save_report(consolidation, report)
    finally:
        lock.release()


def _save_report(consolidation: Consolidation, report: Report) -> Report:
    """Save the report and return it; if that fails, the returned report says so, and the changes stay."""
    if not report.did_anything:
        return report
    try:
        consolidation.log.add(report)
    except OSError as error:
        message = tr(
            "/memory log does not have this report: {error_cause}; {suggest_fix}",
            error_cause=error_cause(error),
            suggest_fix=suggest_fix(error),
        )
        errors = report.errors if report.write_error else (*report.errors, message)
        return structs.replace(report, errors=errors, write_error=report.write_error or message)
    return report


# The files to copy for a dry run. trusted.json is included because untrusted shared memories are not read.
_PROJECT_PATTERNS = ("memories*.json*", "ltm*.json", LOG_NAME, "sleep.json", "trajectories*.jsonl")
_USER_PATTERNS = ("memories*.json*", LOG_NAME, "sleep.person.json", "trusted.json")


@contextmanager
def copy_stores(folder: Path, user_folder: Path) -> Generator[tuple[Path, Path]]:
    """Yield temporary copies of both folders' stores, for a dry run; they are deleted afterwards. Raises OSError.

    They are in the system's directory for temporary files, readable only by this user.
    """
    with tempfile.TemporaryDirectory(prefix="clio-dry-run-") as name:
        there = (Path(name) / "project" / ".clio", Path(name) / "home")
        folders = (folder, there[0], _PROJECT_PATTERNS), (user_folder, there[1], _USER_PATTERNS)
        for source, target, patterns in folders:
            target.mkdir(parents=True)
            for path in (path for pattern in patterns for path in source.glob(pattern) if path.is_file()):
                shutil.copyfile(path, target / path.name)
        for name in ("memory", SHARED_NAME):
            if (folder / name).is_dir():
                shutil.copytree(folder / name, there[0] / name, symlinks=True)
        yield there


def dry_run(
    consolidation: Consolidation, *, stop: Callable[[], bool] = never_stop, tell: ProgressCallback = ignore_progress
) -> Report:
    """Return the report of a consolidation of temporary copies of the stores; the stores are not changed.

    No model is asked. Raises NewerDocument, OSError.
    """
    if not consolidation.folder.is_dir():
        return Report(at=consolidation.clock(), dry_run=True)
    # The same code as a real run, so that what is reported is what a real run would do.
    with copy_stores(consolidation.folder, consolidation.user_folder) as (folder, user_folder):
        return ConsolidationRun(consolidation, folder, user_folder, stop=stop, tell=tell).run("hand", dry_run=True)
