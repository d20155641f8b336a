"""What a person enters while a turn runs: it steers the turn, waits for its step or its end, or is still typed on."""

import time
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from clio.agent.interrupts import Mailbox
from clio.commands.typed_line import is_command
from clio.ui.line.pastes import Pastes
from clio.ui.typing.typed_line import TypedLine
from clio.ui.typing.typed_state import Typing, Waiting

Kind = Literal["steer", "look", "turn"]
STEER_MARK = "!"
_MOMENT_S = 1.0
_STEERS = "Enter again: at the next step · ↑ edits"
_EDITS = "↑ edits the last"


class Entered(Struct):
    """A text that was entered. words: it goes to the model whatever it begins with. held: it waits for a person."""

    text: str
    kind: Kind
    words: bool = False
    held: bool = False


class Ahead:
    """The line, and what was entered on it and is not carried out yet, oldest first.

    A slash command that only looks waits for the end of the step, everything else for the end of the turn. `!` before
    it, or Enter once more behind it, sends it with the next request of the running turn. clock: seconds.
    """

    def __init__(self, pastes: Pastes | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._stopped_at = -_MOMENT_S
        self.line = TypedLine()
        self.pastes = pastes or Pastes()
        self._entered: list[Entered] = []
        self._mailbox: Mailbox | None = None
        self._just_queued = False

    def begin(self, mailbox: Mailbox) -> None:
        """A turn begins; what steers it goes into this mailbox."""
        self._mailbox = mailbox

    def end(self, *, done: bool) -> None:
        """The turn has ended: what came too late for it goes first. Nothing goes by itself unless the turn is done."""
        late = self._mailbox.take_all() if self._mailbox is not None else []
        self._mailbox, self._just_queued = None, False
        self._entered = [one for one in self._entered if one.kind != "steer"]
        for one in self._entered:
            one.kind = "turn"
        if late:
            self._entered.insert(0, Entered("\n\n".join(late), "turn", words=True))
        if not done:
            self._stopped_at = self._clock()
            for one in self._entered:
                one.held = True

    def enter(self, text: str) -> None:
        """Enter was pressed during a turn."""
        again, self._just_queued = self._just_queued, False
        if not text.strip():
            if again:
                self._steer(self._entered.pop().text)
        elif text.startswith(STEER_MARK):
            self._steer(text.removeprefix(STEER_MARK).strip())
        else:
            looks = _only_looks(text)
            self._entered.append(Entered(text.strip(), "look" if looks else "turn"))
            self._just_queued = not looks and not is_command(text)

    def other_key(self) -> None:
        """A key that is not Enter: the next Enter on an empty line means nothing."""
        self._just_queued = False

    def edit_last(self) -> None:
        """Put the newest text that waits back on the line; nothing where none does."""
        self._just_queued = False
        if taken := self.take_back():
            self.line.replace(taken)

    def take_back(self) -> str:
        """The newest text that waits, as it was typed; it waits no longer."""
        if not self._entered:
            return ""
        newest = self._entered.pop()
        if newest.kind != "steer":
            return newest.text
        if self._mailbox is not None:
            self._mailbox.take_back()
        return STEER_MARK + newest.text

    def delivered(self) -> None:
        """The oldest text that steers is on its way to the model."""
        oldest = next((one for one in self._entered if one.kind == "steer"), None)
        if oldest is not None:
            self._entered.remove(oldest)

    def take_look(self) -> str:
        """The first command that waits for the end of a step; "" where there is none."""
        look = next((one for one in self._entered if one.kind == "look"), None)
        if look is None:
            return ""
        self._entered.remove(look)
        return look.text

    def take_line(self) -> str:
        """What is still typed on, for the next prompt, where `!` would mean a command to run."""
        return self.pastes.expand(self.line.take()).removeprefix(STEER_MARK)

    def take_next(self) -> Entered | None:
        """The first text that may be carried out now, between two turns."""
        found = next((one for one in self._entered if not one.held), None)
        if found is not None:
            self._entered.remove(found)
        return found

    def put_first(self, text: str) -> None:
        """Let this wait for the end of the turn, before everything else."""
        self._entered.insert(0, Entered(text, "turn"))

    def release(self) -> bool:
        """Let go of everything that waits for a person; False where nothing does."""
        held = [one for one in self._entered if one.held]
        for one in held:
            one.held = False
        return bool(held)

    def just_stopped(self) -> bool:
        """Whether a turn ended too early a moment ago."""
        return self._clock() - self._stopped_at < _MOMENT_S

    @property
    def busy(self) -> bool:
        """Whether the person has begun the next line, or said what comes next."""
        return bool(self.line.text) or any(not one.held for one in self._entered)

    def waiting(self) -> tuple[Waiting, ...]:
        """What waits, and for what."""
        shown: list[Waiting] = []
        queued = 0
        for one in self._entered:
            queued += one.kind == "turn"
            label = {"steer": "next step", "look": "after this step", "turn": f"queued {queued}"}[one.kind]
            shown.append(Waiting(label, one.text))
        return tuple(shown)

    def typing(self) -> Typing:
        """All of it, for the screen."""
        hint = (_STEERS if self._just_queued else _EDITS) if self._entered else ""
        return Typing(line=self.line, waiting=self.waiting(), hint=hint)

    def _steer(self, words: str) -> None:
        if words and self._mailbox is not None:
            self._entered.append(Entered(words, "steer"))
            self._mailbox.put(self.pastes.expand(words))


def _only_looks(text: str) -> bool:
    if not is_command(text):
        return False
    from clio.commands.registry import only_looks

    return only_looks(text)
