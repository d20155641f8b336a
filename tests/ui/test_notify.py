"""Links and notifications: which terminals support them, and which text is allowed in one."""

from typing import Any

import pytest

from clio.agent.user_interface import TurnFinished
from clio.messages import Usage
from clio.ui.links import is_safe_link, supports_links
from clio.ui.terminal_signals import TerminalSignals, format_notification, resolve_notify, supports_progress
from clio.ui.theme import detect_terminal
from tests.support.rows import each_row


def ended(seconds: float, status: str = "done", error: str = "") -> TurnFinished:
    return TurnFinished(status=status, text="", steps=1, usage=Usage(), seconds=seconds, error=error)  # pyright: ignore


class Window:
    """A terminal window, and what was written to it."""

    def __init__(self, **options: Any) -> None:
        self.written = ""
        self.signals = TerminalSignals(self._write, **options)

    def _write(self, text: str) -> None:
        self.written += text

    def take(self) -> str:
        output, self.written = self.written, ""
        return output


def test_a_short_or_interrupted_turn_causes_no_notification() -> None:
    window = Window(notify="bell", after_s=10)
    for event, written in ((ended(9.9), ""), (ended(10.0), "\a"), (ended(60, "interrupted"), "")):
        window.signals.end_turn(event)
        assert window.take() == written
    silent = Window()
    silent.signals.end_turn(ended(60))
    assert silent.take() == ""


@pytest.mark.parametrize("only_away", [True, False])
def test_a_focused_window_is_not_notified_and_one_in_the_background_is_at_once(only_away: bool) -> None:
    window = Window(notify="bell", only_away=only_away)
    window.signals.end_turn(ended(60))
    assert window.take() == ("" if only_away else "\a")
    window.signals.note_focus(True)
    window.signals.end_turn(ended(60))
    assert window.take() == ""
    window.signals.note_focus(False)
    window.signals.begin_turn()
    window.signals.begin_question()
    assert window.take() == "\a"
    window.signals.end_question()
    window.signals.end_turn(ended(0.5))
    assert window.take() == "\a"


def test_title_and_progress_follow_the_turn_and_the_title_is_restored() -> None:
    window = Window(title="clio · shop\x1b]2;evil\a", progress=True)
    window.signals.begin_turn()
    assert window.take() == ""
    window.signals.end_turn(ended(1))
    window.signals.open()
    assert window.take() == "\x1b[22;2t\x1b]2;clio · shop\a\x1b]9;4;0\a"
    window.signals.begin_turn()
    window.signals.begin_question()
    window.signals.end_question()
    assert window.take() == (
        "\x1b]2;⋯ clio · shop\a\x1b]9;4;3\a\x1b]2;? clio · shop\a\x1b]9;4;4;100\a\x1b]2;⋯ clio · shop\a\x1b]9;4;3\a"
    )
    window.signals.close()
    window.signals.close()
    assert window.take() == "\x1b]2;clio · shop\a\x1b]9;4;0\a\x1b[23;2t"


@pytest.mark.parametrize(
    ("env", "takes"),
    [
        ({"WT_SESSION": "1"}, True),
        ({"TERM_PROGRAM": "ghostty"}, True),
        ({"TERM_PROGRAM": "iTerm.app"}, False),  # older versions show a notification
        ({"WT_SESSION": "1", "TMUX": "x"}, False),
    ],
)
def test_progress_is_sent_only_to_terminals_known_to_support_it(env: dict[str, str], takes: bool) -> None:
    assert supports_progress(env) is takes


def test_no_text_in_an_error_ends_the_sequence_early() -> None:
    error = "bad\x07\x1b]0;title\x07; \x9cworse\nline"
    window = Window(notify="osc777")
    window.signals.end_turn(ended(12, "failed", error))
    assert window.take() == "\x1b]777;notify;clio;has ended after 12 s: bad, worse line\a"
    assert format_notification("osc9", "a" * 500).count("a") <= 120


@pytest.mark.parametrize(
    ("env", "kind"),
    [
        ({"TERM_PROGRAM": "iTerm.app"}, "osc9"),
        ({"TERM_PROGRAM": "iTerm.app", "TMUX": "x"}, "bell"),
        ({"TERM": "foot"}, "osc777"),
        ({"TERM": "xterm"}, "bell"),
    ],
)
def test_auto_uses_the_method_known_for_the_terminal(env: dict[str, str], kind: str) -> None:
    assert resolve_notify("auto", env) == kind
    assert resolve_notify("off", env) == "off"


@each_row(
    ("env", "takes"),
    [
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-256color", "VTE_VERSION": "6003"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "4205"}, False),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm-kitty", "FORCE_HYPERLINK": "0"}, False),
        ({"TERM": "xterm", "FORCE_HYPERLINK": "1"}, True),
        ({"TERM": "tmux-256color", "TMUX": "x", "TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.3a"}, False),
        ({"TERM": "tmux-256color", "TMUX": "x", "TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.5"}, True),
        ({"TERM": "screen", "STY": "1", "VTE_VERSION": "6003"}, False),
    ],
)
def test_links_are_written_only_to_terminals_known_to_support_them(env: dict[str, str], takes: bool) -> None:
    assert supports_links(env) is takes


def test_the_setting_overrides_the_detection() -> None:
    known, unknown = {"TERM": "xterm-kitty"}, {"TERM": "xterm"}
    assert detect_terminal(known, is_tty=True).links and not detect_terminal(unknown, is_tty=True).links
    assert detect_terminal(unknown, is_tty=True, hyperlinks="on").links
    assert not detect_terminal(known, is_tty=True, hyperlinks="off").links
    assert not detect_terminal(known, is_tty=False, hyperlinks="on").links


def test_only_web_addresses_and_files_on_this_machine_may_be_links() -> None:
    assert all(map(is_safe_link, ("https://a.example/x?y=1;z", "http://a.example/", "file:///tmp/a.py")))
    wrong = ("javascript:alert(1)", "file://server/share", "https://a b", "https://é.example", "x", "https://a\x1b\\")
    assert not any(map(is_safe_link, wrong))
    assert not is_safe_link("https://a.example/" + "x" * 2000)
