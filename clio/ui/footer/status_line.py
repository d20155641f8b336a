"""The line of a running turn: what runs and for how long, and the facts of the session. All pure."""

from msgspec import Struct
from rich.text import Text

from clio.agent.events import (
    Event,
    ReasoningDelta,
    Retrying,
    StepStarted,
    StreamRestarted,
    TextDelta,
    ToolStarted,
    TurnStarted,
)
from clio.ui.footer.status import format_seconds, spinner_frame
from clio.ui.line.rules import fit
from clio.ui.theme import Theme

_JOINT = " · "
_SAME_S = 1.0  # a turn hardly longer than its step is not told apart from it


class Activity(Struct):
    """What is being done, and since when, in seconds of any clock."""

    what: str = "starting"
    since: float = 0.0

    def hear(self, event: Event, now: float) -> None:
        """Follow the loop's events."""
        what = _doing(event)
        if what and what != self.what:
            self.what, self.since = what, now


def status_row(what: str, seconds: float, turn_seconds: float, more: tuple[str, ...], width: int, theme: Theme) -> Text:
    """The row of a running turn, at most `width` columns: `⠋ writing 12 s · esc stops · test-model · ask`.

    seconds: how long `what` goes on; turn_seconds: how long the turn does. more: hints and facts.
    """
    in_all = f"{format_seconds(turn_seconds)} in all" if turn_seconds - seconds >= _SAME_S else ""
    line = fit((f"{what} {format_seconds(seconds)}", "esc stops", *more[:1], in_all, *more[1:]), max(width - 2, 1))
    first, joint, rest = line.partition(_JOINT)
    return Text.assemble((spinner_frame(turn_seconds), theme.accent), " ", first, (joint + rest, theme.faint))


def _doing(event: Event) -> str:
    match event:
        case TurnStarted():
            return "starting"
        case StepStarted() | StreamRestarted():
            return "waiting for the model"
        case ReasoningDelta():
            return "thinking"
        case TextDelta():
            return "writing"
        case Retrying():
            return "waiting to ask again"
        case ToolStarted():
            return "running"
        case _:
            return ""
