"""What the terminal shows outside of its text: the title of the window, its progress, and notifications."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from clio.agent.user_interface import TurnFinished
from clio.config.schema import Config, Notify
from clio.text.translation import tr
from clio.ui.painter import truncate_to_cells
from clio.ui.pipe_screen import format_seconds
from clio.ui.safe_text import clean_line

if TYPE_CHECKING:
    from clio.ui.user_scripts import NotifyScript

State = Literal["idle", "working", "asking"]
_TITLE_MARKS: Mapping[State, str] = {"idle": "", "working": "⋯ ", "asking": "? "}
# ConEmu's sequence: 0 removes the bar, 3 is work of unknown length, 4 is paused. Some terminals show other text after
# "9;" as a notification, so it is sent only to those known to support it.
_PROGRESS: Mapping[State, str] = {"idle": "\x1b]9;4;0\a", "working": "\x1b]9;4;3\a", "asking": "\x1b]9;4;4;100\a"}
_PUSH_TITLE, _POP_TITLE = "\x1b[22;2t", "\x1b[23;2t"
_TITLE_CELLS = 60
_BELL = "\a"
_NOTIFICATION_CELLS = 120
_OSC9_PROGRAMS = frozenset(("iTerm.app", "WezTerm", "ghostty"))
_OSC777_TERMS = ("foot", "rxvt-unicode")
_PROGRESS_PROGRAMS = frozenset(("ghostty", "WezTerm"))
_PROGRESS_VARIABLES = ("WT_SESSION", "ConEmuPID")


class TerminalSignals:
    """Title, progress and notifications of one terminal. Does nothing that is not turned on.

    Whether the window is in front is known only from terminals that report it, and only after it has changed once.

    Args:
        write: takes control sequences.
        title: what the title of the window names; "" leaves it alone.
        progress: the terminal supports ConEmu's progress sequence.
        reports_focus: the terminal may be asked to report when its window comes to the front.
        notify: how to notify, with "auto" resolved.
        only_away: notify only if the window is known not to be in front.
        script: the user's own command, told of the same events. project: its name, for that command.
        after_s: the least duration of a turn that is notified while it is not known whether the window is in front.
    """

    def __init__(
        self,
        write: Callable[[str], None] = lambda _: None,
        *,
        title: str = "",
        progress: bool = False,
        reports_focus: bool = False,
        notify: Notify = "off",
        only_away: bool = False,
        after_s: float = 10.0,
        script: "NotifyScript | None" = None,
        project: str = "",
    ) -> None:
        self._write = write
        self._title = truncate_to_cells(clean_line(title), _TITLE_CELLS)
        self._progress = progress
        self._reports_focus = reports_focus
        self._notify: Notify = notify
        self._only_away = only_away
        self._after_s = after_s
        self._script = script
        self._project = project
        self._state: State = "idle"
        self._is_open = False
        self._in_front: bool | None = None

    @property
    def follows_focus(self) -> bool:
        """Whether it is of use that the terminal reports when its window comes to the front."""
        return self._reports_focus and (self._notify != "off" or self._script is not None)

    @property
    def problem(self) -> str:
        """Why the user's own command failed, once; "" if there is nothing to say."""
        return self._script.take_problem() if self._script is not None else ""

    def open(self) -> None:
        """Set the title; the terminal keeps the former one for `close`."""
        if not self._is_open:
            self._is_open = True
            self._write((_PUSH_TITLE if self._title else "") + self._render_state())

    def close(self) -> None:
        """Restore the title and remove the progress; may be called repeatedly."""
        if self._is_open:
            self._show("idle")
            self._is_open = False
            self._write(_POP_TITLE if self._title else "")

    def begin_turn(self) -> None:
        """Show that clio works."""
        self._show("working")

    def begin_question(self) -> None:
        """Show that clio waits for an answer, and notify the user if the window is known not to be in front."""
        if self._state == "working":
            self._show("asking")
            if self._in_front is False:
                self._write(format_notification(self._notify, tr("has a question")))
                self._run_script(tr("has a question"), {"event": "question"})

    def end_question(self) -> None:
        """Show that clio works again."""
        if self._state == "asking":
            self._show("working")

    def end_turn(self, event: TurnFinished) -> None:
        """Show that clio waits for the next message, and notify the user unless the window is in front."""
        self._show("idle")
        may_notify = self._may_notify(event)
        if may_notify or self._may_run_script(event):
            outcome = tr("is done") if event.status == "done" else tr("has ended")
            reason = f": {event.error}" if event.error else ""
            text = tr(
                "{outcome} after {seconds}{reason}",
                outcome=outcome,
                seconds=format_seconds(event.seconds),
                reason=reason,
            )
            self._write(format_notification(self._notify if may_notify else "off", text))
            facts = {"event": "turn", "status": event.status, "seconds": round(event.seconds, 1)}
            self._run_script(text, facts)

    def note_focus(self, in_front: bool) -> None:
        """Take the terminal's report that its window has come to the front or has left it."""
        self._in_front = in_front

    def _may_notify(self, event: TurnFinished) -> bool:
        if event.status == "interrupted" or self._in_front:
            return False
        return self._in_front is False or (not self._only_away and event.seconds >= self._after_s)

    def _may_run_script(self, event: TurnFinished) -> bool:
        """Whether the user's command is told: while the window is behind, or if that is unknown, of long turns."""
        if self._script is None or event.status == "interrupted" or self._in_front:
            return False
        return self._in_front is False or event.seconds >= self._after_s

    def _run_script(self, text: str, facts: Mapping[str, object]) -> None:
        if self._script is not None:
            self._script.start(f"clio {text}", {"project": self._project, **facts})

    def _show(self, state: State) -> None:
        if state != self._state:
            self._state = state
            if self._is_open:
                self._write(self._render_state())

    def _render_state(self) -> str:
        title = f"\x1b]2;{_TITLE_MARKS[self._state]}{self._title}\a" if self._title else ""
        return title + (_PROGRESS[self._state] if self._progress else "")


def make_signals(
    config: Config, env: Mapping[str, str], project: Path, write: Callable[[str], None], *, live: bool
) -> TerminalSignals:
    """Return the signals for this terminal. live: the terminal understands control sequences."""
    script = None
    if config.notify_command:
        from clio.ui.user_scripts import NotifyScript

        script = NotifyScript(config.notify_command)
    console = env.get("TERM", "") in ("linux", "vt100", "vt220", "ansi")  # consoles have no title
    return TerminalSignals(
        write,
        title=f"clio · {project.name}" if live and config.terminal_title and not console else "",
        progress=live and config.terminal_title and supports_progress(env),
        reports_focus=live,
        notify=resolve_notify(config.notify, env),
        only_away=config.notify == "auto",
        after_s=config.notify_after_s,
        script=script,
        project=project.name,
    )


def supports_progress(env: Mapping[str, str]) -> bool:
    """Whether the terminal is known to show the progress of a program, in its tab or in the task bar."""
    if env.get("TMUX") or env.get("STY"):
        return False
    return env.get("TERM_PROGRAM") in _PROGRESS_PROGRAMS or any(map(env.get, _PROGRESS_VARIABLES))


def format_notification(kind: Notify, text: str) -> str:
    """Return the notification in this terminal's format; control characters are removed from the text."""
    text = truncate_to_cells(clean_line(text), _NOTIFICATION_CELLS)
    match kind:
        case "osc9":
            return f"\x1b]9;clio {text}\a"
        case "osc777":
            return f"\x1b]777;notify;clio;{text.replace(';', ',')}\a"
        case "bell":
            return _BELL
        case "off" | "auto":
            return ""


def resolve_notify(kind: Notify, env: Mapping[str, str]) -> Notify:
    """Resolve "auto" to what this terminal is known to support; a bell if nothing is known."""
    if kind != "auto":
        return kind
    if env.get("TMUX") or env.get("STY"):
        return "bell"  # multiplexers do not pass notifications on
    if env.get("TERM_PROGRAM") in _OSC9_PROGRAMS or env.get("KITTY_WINDOW_ID"):
        return "osc9"
    return "osc777" if env.get("TERM", "").startswith(_OSC777_TERMS) else "bell"
