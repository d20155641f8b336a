"""The themes there are, and which one is in force."""

from collections.abc import Mapping
from pathlib import Path

from clio.config.theme_names import THEMES
from clio.errors import ConfigError
from clio.ui.theme import Terminal
from clio.ui.themes.background import may_be_asked, paper_in_environment
from clio.ui.themes.builtin import builtin
from clio.ui.themes.palette import Palette, Paper
from clio.ui.themes.user_file import UserTheme, read_user_theme

AUTO = "auto"


class Themes:
    """Puts the palette of a theme into `terminal.looks`, where all that draws looks for it.

    home: clio's own folder, where the person's themes are. name: the theme in force. problem: why it is not the one
    that was asked for, as a sentence; "" where it is.
    """

    def __init__(self, terminal: Terminal, home: Path, env: Mapping[str, str], wanted: str = AUTO) -> None:
        self._terminal = terminal
        self._home = home
        self._env = env
        self._paper = paper_in_environment(env)
        self._own: UserTheme | None = None
        self.name = AUTO
        self.problem = ""
        try:
            self.use(wanted)
        except ConfigError as error:
            joint = " The" if str(error).endswith("?") else "; the"
            self.problem = f"{error}{joint} colours are those of the theme auto"
            self.use(AUTO)

    def use(self, name: str) -> None:
        """Let everything that is drawn from now on look like this. Raises ConfigError and changes nothing."""
        own = None if name in THEMES else read_user_theme(self._home, name)
        self.name, self._own = name, own
        self._dress()

    def palette(self, name: str) -> Palette:
        """What a theme looks like in this terminal. Raises ConfigError."""
        if name in THEMES:
            return self._base(name)
        return self._whole(read_user_theme(self._home, name))

    @property
    def asks(self) -> bool:
        """Whether the terminal is to be asked for its background: it matters, and it can be."""
        follows = (self._own.extends if self._own else self.name) in (AUTO, "high-contrast")
        return follows and self._terminal.live and self._terminal.colour and may_be_asked(self._env)

    def heard(self, paper: Paper) -> None:
        """The background is known now."""
        self._paper = paper
        self._dress()

    def _dress(self) -> None:
        if self._terminal.colour:
            self._terminal.looks.palette = self._whole(self._own) if self._own else self._base(self.name)
        else:
            self._terminal.looks.palette = builtin("none")

    def _whole(self, own: UserTheme) -> Palette:
        return self._base(own.extends).with_looks(own.looks)

    def _base(self, name: str) -> Palette:
        few = self._terminal.depth == "standard"
        paper = self._paper if name in (AUTO, "high-contrast") else name
        match name:
            case "none":
                return builtin("none")
            case "high-contrast":
                return builtin("high contrast" if few or paper is None else f"high contrast {paper}")
            case _ if paper is None:
                return builtin("sixteen")
            case _:
                return builtin(f"sixteen {paper}" if few else paper)
