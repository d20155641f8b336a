"""Execution of `/theme`: what is shown, what is saved, and what is reported if it has no effect."""

import io
from pathlib import Path
from typing import cast

import pytest

from clio.entrypoints.repl.components import ReplComponents
from clio.entrypoints.repl.theme import ThemeController
from clio.errors import ConfigError
from clio.ui.palettes import get_builtin_palette
from clio.ui.pipe_screen import PipeScreen
from clio.ui.screen import Screen
from clio.ui.theme import Terminal
from tests.config.harness import Harness
from tests.support.wording import mentions

ABLE = Terminal(live=True, escapes=True, colour=True, reflows=True, depth="truecolor")
GREY = Terminal(live=True, escapes=True, colour=False, reflows=True)


class Place:
    """A user's configuration and a screen."""

    def __init__(
        self, harness: Harness, terminal: Terminal = ABLE, env: dict[str, str] | None = None, **flags: object
    ) -> None:
        self.stream = io.StringIO()
        self.colours = ThemeController(harness.load(env or {}, **flags), terminal)  # type: ignore[arg-type]
        live = Screen(self.stream, terminal, lambda: (80, 24))
        self.screen: Screen | PipeScreen = live if terminal.live else PipeScreen(self.stream, self.stream)

    def theme(self, name: str = "") -> str:
        """Run `/theme`; return the output."""
        self.colours.choose_theme(
            ReplComponents(app=None, screen=self.screen, suspended=None, plans=None, prompt_io=None, signals=None), name
        )  # type: ignore[arg-type]
        return self.stream.getvalue()


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Harness:
    made = Harness(tmp_path)
    monkeypatch.setenv("HOME", str(made.user))
    return made


def test_a_choice_is_saved_next_to_other_settings(harness: Harness) -> None:
    harness.write_home("# mine\nmax_steps: 3\ntheme: dark  # at night\n")
    place = Place(harness)
    output = place.theme("light")
    assert harness.home_file.name in output and "overrides" not in output
    assert harness.home_file.read_text(encoding="utf-8") == "# mine\nmax_steps: 3\ntheme: light  # at night\n"
    assert ABLE.current.palette is get_builtin_palette("light")
    assert "→ light" in place.theme()


def test_an_overriding_setting_is_named(harness: Harness) -> None:
    output = Place(harness, env={"CLIO_THEME": "dark"}).theme("none")
    assert mentions(output, "environment CLIO_THEME")
    harness.write_home("theme: none\n")
    harness.write_project("theme: dark\n")
    assert "overrides" not in Place(harness).theme("none")
    harness.trust()
    assert mentions(Place(harness).theme("none"), ".clio/config.yaml:1")


def test_incognito_writes_nothing(harness: Harness) -> None:
    output = Place(harness, incognito=True).theme("none")
    assert "until clio exits" in output
    assert not harness.home.exists()


def test_without_colour_the_reason_is_reported(harness: Harness) -> None:
    place = Place(harness, GREY, env={"NO_COLOR": "1"})
    assert mentions(place.theme("dark"), "colour", "off", "environment NO_COLOR")
    assert GREY.current.palette is get_builtin_palette("none")


def test_an_invalid_theme_is_shown_as_such_and_not_used(harness: Harness) -> None:
    (harness.home / "themes").mkdir(parents=True)
    (harness.home / "themes" / "mine.yaml").write_text("accent: gren\n", encoding="utf-8")
    place = Place(harness)
    assert "themes/mine.yaml:1: accent has 'gren'" in place.theme()
    with pytest.raises(ConfigError, match="mine"):
        place.theme("mine")
    assert not harness.home_file.exists()


def test_a_screen_without_colours_lists_names(harness: Harness) -> None:
    dumb = Terminal(live=False, escapes=False, colour=False, reflows=False)
    output = Place(harness, dumb).theme()
    assert "high-contrast" in output and "highest contrast" in output and "\x1b" not in output
    assert cast(object, dumb.current.palette) is get_builtin_palette("none")
