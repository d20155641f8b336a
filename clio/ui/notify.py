"""Tells a person who looks elsewhere that a turn has ended: a bell, or a notification of the terminal. All pure."""

from collections.abc import Mapping

from msgspec import Struct

from clio.agent.events import TurnFinished
from clio.config.schema import Notify
from clio.ui.footer.status import format_seconds
from clio.ui.plain import clean_line
from clio.ui.width import crop

_BELL = "\a"
_CELLS = 120
_OSC9 = frozenset(("iTerm.app", "WezTerm", "ghostty"))
_OSC777 = ("foot", "rxvt-unicode")


class Notifier(Struct, frozen=True, kw_only=True):
    """What to write when a turn has ended. kind: as the setting `notify`, with "auto" settled."""

    kind: Notify = "off"
    after_s: float = 10.0

    def of(self, event: TurnFinished) -> str:
        """Control sequences for the terminal; "" where the turn was short, or a person stopped it."""
        if self.kind == "off" or event.seconds < self.after_s or event.status == "interrupted":
            return ""
        how = "is done" if event.status == "done" else "has ended"
        why = f": {event.error}" if event.error else ""
        return sequence(self.kind, "clio", f"{how} after {format_seconds(event.seconds)}{why}")


def sequence(kind: Notify, title: str, text: str) -> str:
    """The notification as this terminal wants it; no control character of the text comes through."""
    text = crop(clean_line(text), _CELLS)
    match kind:
        case "osc9":
            return f"\x1b]9;{title} {text}\a"
        case "osc777":
            return f"\x1b]777;notify;{title};{text.replace(';', ',')}\a"
        case "bell":
            return _BELL
        case "off" | "auto":
            return ""


def settle(kind: Notify, env: Mapping[str, str]) -> Notify:
    """The setting with "auto" made into what this terminal is known to take; a bell where nothing is known."""
    if kind != "auto":
        return kind
    if env.get("TMUX") or env.get("STY"):
        return "bell"  # they pass no notification on
    if env.get("TERM_PROGRAM") in _OSC9 or env.get("KITTY_WINDOW_ID"):
        return "osc9"
    return "osc777" if env.get("TERM", "").startswith(_OSC777) else "bell"
