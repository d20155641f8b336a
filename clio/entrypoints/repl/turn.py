"""Runs one turn at a time in the shell, stopped by a key and steered by text; reviews proposed plans."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, structs

from clio.agent.user_interface import Emit, Event, Mailbox, Steered, StepFinished, StopRequests, TurnFinished
from clio.commands.command import Choose, is_command
from clio.entrypoints.repl.components import ReplComponents, terminal_size
from clio.errors import ClioError, UserError
from clio.text.translation import mark, tr
from clio.ui.keyboard import TypedLine, TypingState, WaitingText
from clio.ui.line_rules import PastedTexts, names_program, parse_memory_line
from clio.ui.terminal_handoff import edit_text

if TYPE_CHECKING:
    from clio.commands.command import ExpandCommand
    from clio.ui.completer import MentionLabels
    from clio.ui.keyboard import KeyWatch


Kind = Literal["steer", "query", "turn"]
STEER_MARK = "!"
_STOPPED_RECENTLY_S = 1.0  # another Esc within this time was meant for the stopped turn
_STEER_HINT = mark("Enter again to send now · ↑ to edit")
_EDIT_HINT = mark("↑ to edit the last")


class QueuedText(Struct):
    """An entered text.

    Attributes:
        kind: "steer" is sent with the next request of the turn, "query" is a read-only command that runs after the
            step, "turn" is carried out after the turn.
        is_message: send the text to the model even if it begins with a slash.
        is_marked: a "steer" that was typed with `!`.
        held: the turn was stopped, so the text waits until the user releases or edits it.
        follows_stop: it was entered after the user had stopped the turn, and so is not held.
    """

    text: str
    kind: Kind
    is_message: bool = False
    is_marked: bool = False
    held: bool = False
    follows_stop: bool = False

    def get_typed_text(self) -> str:
        """Return the text as the user typed it."""
        return STEER_MARK + self.text if self.is_marked else self.text


class TypeAheadQueue:
    """The line typed during a turn, and the entered texts that wait, oldest first.

    A read-only slash command waits for the end of the step, everything else for the end of the turn. `!` before a
    text, or a second Enter after it, sends it with the next request of the running turn.
    """

    def __init__(self) -> None:
        self._stopped_at = -_STOPPED_RECENTLY_S
        self.line = TypedLine()
        self.pastes = PastedTexts()
        self._entered: list[QueuedText] = []
        self._mailbox: Mailbox | None = None
        self._just_queued = False
        self._is_stopping = False

    def begin(self, mailbox: Mailbox) -> None:
        """Note that a turn has begun; steering texts go into its mailbox."""
        self._mailbox, self._is_stopping = mailbox, False

    def note_stop(self) -> None:
        """Note that the user stops the turn; it may take a moment to end."""
        self._is_stopping = True

    def end(self, *, done: bool) -> None:
        """Note that the turn has ended.

        Steering texts that came too late for it are queued first. But between turns `!git status` runs a command, so a
        late text with `!` before the name of a program is neither sent nor run: it is on the line again, or held.
        Unless the turn is `done`, all texts are held, except those entered after the user stopped it: after an
        interrupt or an error the user decides what is sent next.
        """
        late = self._mailbox.pop_all() if self._mailbox is not None else []
        self._mailbox, self._just_queued = None, False
        steering = [one for one in self._entered if one.kind == "steer"]
        steering = steering[len(steering) - len(late) :]  # those before have been sent
        self._entered = [one for one in self._entered if one.kind != "steer"]
        for one in self._entered:
            one.kind = "turn"
        commands = [one.get_typed_text() for one in steering if one.is_marked and names_program(one.text)]
        messages = [text for one, text in zip(steering, late, strict=True) if one.get_typed_text() not in commands]
        if commands and not self.line.text:
            self.line.replace(commands.pop())
        self._entered[:0] = [QueuedText(command, "turn", held=True) for command in commands]
        if messages:
            self._entered.insert(0, QueuedText("\n\n".join(messages), "turn", is_message=True))
        if not done:
            self._stopped_at = time.monotonic()
            for one in self._entered:
                one.held = not one.follows_stop

    def enter(self, text: str) -> None:
        """Handle Enter pressed during a turn: queue the text, or steer the turn with it."""
        again, self._just_queued = self._just_queued, False
        if not text.strip():
            if again:
                self._steer(self._entered.pop().text)
        elif text.startswith(STEER_MARK):
            self._steer(text.removeprefix(STEER_MARK).strip(), is_marked=True)
        else:
            is_query = _is_query(text)
            kind: Kind = "query" if is_query else "turn"
            self._entered.append(QueuedText(text.strip(), kind, follows_stop=self._is_stopping))
            self._just_queued = not (is_query or is_command(text) or parse_memory_line(text))

    def other_key(self) -> None:
        """Handle a key other than Enter: after it, Enter on an empty line has no effect."""
        self._just_queued = False

    def edit_last(self) -> None:
        """Put the newest waiting text back on the line, if there is one."""
        self._just_queued = False
        if newest := self.pop_newest():
            self.line.replace(newest)

    def pop_newest(self) -> str:
        """Remove and return the newest waiting text, as it was typed."""
        if not self._entered:
            return ""
        newest = self._entered.pop()
        if newest.kind == "steer" and self._mailbox is not None:
            self._mailbox.pop_newest()
        return newest.get_typed_text()

    def delivered(self) -> None:
        """Remove the oldest steering text, because it was sent to the model."""
        oldest = next((one for one in self._entered if one.kind == "steer"), None)
        if oldest is not None:
            self._entered.remove(oldest)

    def pop_query(self) -> str:
        """Remove and return the first command that waits for the end of a step; "" if there is none."""
        query = next((one for one in self._entered if one.kind == "query"), None)
        if query is None:
            return ""
        self._entered.remove(query)
        return query.text

    def take_line(self) -> str:
        """Remove and return the unfinished line, for the next prompt, where a hint tells what Enter does with it."""
        return self.line.pop_text()

    def take_next(self) -> QueuedText | None:
        """Remove and return the first text that may be carried out between two turns."""
        found = next((one for one in self._entered if not one.held), None)
        if found is not None:
            self._entered.remove(found)
        return found

    def put_first(self, text: str) -> None:
        """Queue a text for the end of the turn, before all others."""
        self._entered.insert(0, QueuedText(text, "turn"))

    def release_all(self) -> bool:
        """Release all held texts; False if there are none."""
        held = [one for one in self._entered if one.held]
        for one in held:
            one.held = False
        return bool(held)

    def has_just_stopped(self) -> bool:
        """Whether a turn was stopped a moment ago."""
        return time.monotonic() - self._stopped_at < _STOPPED_RECENTLY_S

    @property
    def busy(self) -> bool:
        """Whether the user has begun the next line, or has queued a text."""
        return bool(self.line.text) or any(not one.held for one in self._entered)

    def list_waiting(self) -> tuple[WaitingText, ...]:
        """Return the waiting texts, each labelled with what it waits for."""
        shown: list[WaitingText] = []
        queued = 0
        for one in self._entered:
            queued += one.kind == "turn"
            label = {"steer": "steering", "query": tr("after this step"), "turn": tr("queued {queued}", queued=queued)}[
                one.kind
            ]
            shown.append(WaitingText(label, one.text))
        return tuple(shown)

    def typing(self) -> TypingState:
        """Return the line, the waiting texts and a hint, for the screen."""
        hint = (tr(_STEER_HINT) if self._just_queued else tr(_EDIT_HINT)) if self._entered else ""
        return TypingState(line=self.line, waiting=self.list_waiting(), hint=hint)

    def _steer(self, text: str, *, is_marked: bool = False) -> None:
        if text and self._mailbox is not None:
            self._entered.append(QueuedText(text, "steer", is_marked=is_marked))
            self._mailbox.put(self.pastes.expand_message(text))


def _is_query(text: str) -> bool:
    if not is_command(text):
        return False
    from clio.commands.registry import is_read_only_command

    return is_read_only_command(text)


Wait = Callable[[], Awaitable[None]]
RunQuery = Callable[[ReplComponents, str], bool]
"""Runs a read-only command; False if it asks for more than showing its result."""


class Turns:
    """Runs one turn at a time: keys stop it, steer it, or are typed ahead.

    Args:
        live: keys are watched one by one. If the terminal gives whole lines only, Ctrl-C stops a turn as a signal, and
            typed text waits in the terminal.
        watch: the keyboard watch of the running turn, None between turns.
        hotkeys: actions of further keys during a turn.
        ahead: the text typed.
        before_end: awaited when a turn is over, before the keyboard returns to the prompt; a pager may still be open.
    """

    def __init__(self, *, live: bool, run_query: RunQuery) -> None:
        self._live = live
        self._run_query = run_query
        self.watch: KeyWatch | None = None
        self.hotkeys: dict[str, Callable[[], None]] = {}
        self.before_end: Wait | None = None
        self.ahead = TypeAheadQueue()
        self._parts: ReplComponents | None = None
        self._chips: MentionLabels | None = None
        self._task: asyncio.Task[TurnFinished] | None = None
        self._stop = StopRequests(time.monotonic)
        self._end: TurnFinished | None = None

    async def run(self, parts: ReplComponents, text: str, make: "ExpandCommand | None" = None) -> None:
        """Run a turn until it finishes, fails or is stopped. Cancelling the caller stops the turn first.

        make: see `App.run_turn`.
        """
        self._end, self._parts = None, parts
        self._stop.reset()
        self.ahead.begin(parts.app.mailbox)
        parts.screen.expect_turn()
        self._task = task = asyncio.create_task(parts.app.run_turn(text, make))
        try:
            await (self._watched(parts, task) if self._live else asyncio.wait({task}))
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})  # the turn saves its partial answer before clio exits
            raise
        finally:
            self._task = None
            self.ahead.end(done=self._end is not None and self._end.status == "done")
            if self._end is None:
                parts.screen.abandon_turn()
        self._report(parts, task)

    @property
    def is_last_done(self) -> bool:
        """Whether the last turn was neither stopped nor failed."""
        return self._end is not None and self._end.status == "done"

    @property
    def running(self) -> bool:
        """Whether a turn runs."""
        return self._task is not None

    def interrupt(self) -> None:
        """Stop the running turn; does nothing if none runs, or if it was asked to stop a moment ago."""
        if self._task is not None and self._stop.is_allowed():
            self.ahead.note_stop()
            self._task.cancel()

    def wrap_listener(self, emit: Emit) -> Emit:
        """Wrap a listener so that events which concern the typed text arrive here first."""

        def listen(event: Event) -> None:
            match event:
                case TurnFinished():
                    self._end = event
                case Steered():
                    self.ahead.delivered()
                    self._show()
                case StepFinished():
                    # Not at once: the command's output belongs after the rows the screen prints for this event.
                    asyncio.get_running_loop().call_soon(self._run_queries)
                case _:
                    pass
            emit(event)

        return listen

    def _run_queries(self) -> None:
        """Run the read-only commands that waited for the end of the step."""
        parts = self._parts
        while parts is not None and self.running and (line := self.ahead.pop_query()):
            if not self._run_query(parts, line):
                self.ahead.put_first(line)
            self._show()

    def _show(self) -> None:
        if self._parts is not None and self.running:
            typing = self.ahead.typing()
            if self._chips is not None:
                typing = structs.replace(typing, mention_labels=tuple(self._chips.label_mentions(self.ahead.line.text)))
            self._parts.screen.set_typed(typing)

    async def _watched(self, parts: ReplComponents, task: asyncio.Task[TurnFinished]) -> None:
        from clio.ui.completer import MentionLabels
        from clio.ui.keyboard import KeyWatch, TypedKeys

        ahead = self.ahead
        self._chips = self._chips or MentionLabels(parts.app.project)
        typed = TypedKeys(
            ahead.line,
            on_enter=ahead.enter,
            on_up=ahead.edit_last,
            on_key=ahead.other_key,
            paste=ahead.pastes.convert,
        )
        signals = parts.signals
        self.watch = KeyWatch(
            self.interrupt,
            typed=typed,
            on_change=self._show,
            hotkeys=self.hotkeys,
            write=_write_to_terminal,
            on_focus=signals.note_focus if signals.follows_focus else None,
        )
        try:
            self._show()
            async with self.watch:
                await asyncio.wait({task})
                if self.before_end is not None:
                    await self.before_end()
        finally:
            self.watch = None

    def _report(self, parts: ReplComponents, task: asyncio.Task[TurnFinished]) -> None:
        """Print how the turn ended unless its events have shown that. Raises errors that are bugs."""
        error = None if task.cancelled() else task.exception()
        if isinstance(error, ClioError):
            parts.screen.print_error(str(error))
        elif error is not None:
            raise error
        elif task.cancelled() and self._end is None:
            parts.screen.print_note("interrupted")


def run_read_only_command(parts: ReplComponents, line: str) -> bool:
    """Run a read-only command while a turn runs; False if it asks for more than showing its result."""
    from clio.commands.registry import run_command

    result = run_command(parts.app, line)
    if result.follow_up is not None and not isinstance(result.follow_up, Choose):
        return False
    parts.screen.show_user_message(line)
    parts.screen.show_result(result)
    return True


def _write_to_terminal(sequence: str) -> None:
    sys.stdout.write(sequence)
    sys.stdout.flush()


_APP_CHECK_S = 0.05  # between checks whether the app is loaded


def make_mode_cycler(
    parts_of: Callable[[], ReplComponents | None], turns: Turns, changed: Callable[[str], None]
) -> Callable[[], None]:
    """Return the action of Shift-Tab: switch to the next approval mode, which holds from the next call on.

    During a turn the switch is also printed. A key pressed before the app is loaded takes effect once it is.
    changed: called with a notice for the line below the prompt.
    """

    def cycle() -> None:
        parts = parts_of()
        if parts is None:
            asyncio.get_running_loop().call_later(_APP_CHECK_S, cycle)
            return
        mode = parts.app.planning.cycle_mode()
        if turns.running:
            parts.screen.print_note(tr("approval mode {mode} from the next call on", mode=mode))
        else:
            changed(tr("approval mode {mode}", mode=mode))

    return cycle


async def review_plan(parts: ReplComponents) -> str:
    """Let the user review the proposed plan; return the text of the next turn, "" for none.

    Approving the plan sets the approval mode.
    """
    app = parts.app
    while todos := app.session.todos:
        answer = await parts.plans.ask_about_plan(todos, app.planning.mode_before, terminal_size()[0] - 1)
        match answer.kind:
            case "go":
                return app.planning.approve_plan(answer.mode)
            case "edit":
                await _edit_plan(parts)
            case "no" if answer.reason:
                return answer.reason
            case _:
                break
    app.planning.dismiss_plan()
    return ""


async def review_proposed(parts: ReplComponents, *, busy: bool) -> str:
    """Review a plan that waits for an answer; do nothing while the user is `busy` with the next line."""
    return await review_plan(parts) if parts.app.planning.proposed_plan and not busy else ""


async def _edit_plan(parts: ReplComponents) -> None:
    """Open the plan in the editor; on failure print why and leave it unchanged."""
    from clio.commands.plan_commands import edit_plan

    step = edit_plan(parts.app)
    try:
        edited = await asyncio.to_thread(edit_text, step.text, step.suffix)
    except UserError as error:
        parts.screen.print_error(str(error))
        return
    if edited is not None and not (result := step.then(edited)).ok:
        parts.screen.print_error(result.text)
