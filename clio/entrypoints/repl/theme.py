"""The colours of a running shell: the terminal is asked for its background, `/theme` shows and changes them."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from clio.config.loaded import Loaded
from clio.config.paths import home_config
from clio.config.theme_names import THEMES, theme_names
from clio.entrypoints.repl.parts import Parts
from clio.errors import ConfigError
from clio.ui.palettes import Paper
from clio.ui.theme import Terminal
from clio.ui.themes import Themes

if TYPE_CHECKING:
    from clio.ui.background_query import BackgroundQuestion
    from clio.ui.plain_line import PlainLine
    from clio.ui.prompt_line import PromptLine


class Colours:
    """The theme in use: asks the terminal for its background, and carries out `/theme`."""

    def __init__(self, loaded: Loaded, terminal: Terminal) -> None:
        self._loaded = loaded
        self._terminal = terminal
        self._themes = Themes(terminal, loaded.home, os.environ, loaded.config.theme)
        self._line: PromptLine | PlainLine | None = None
        self._question: BackgroundQuestion | None = None

    @property
    def problem(self) -> str:
        """Why the configured theme is not in use, as a sentence; "" where it is."""
        return self._themes.problem

    def ask_background(self, line: "PromptLine | PlainLine") -> None:
        """Ask the terminal for its background, once, if that decides the colours. Call it when the prompt is up."""
        self._line = line
        if self._question is not None or not self._themes.asks:
            return
        from clio.ui.background_query import BackgroundQuestion
        from clio.ui.prompt_line import PromptLine

        if isinstance(line, PromptLine):
            self._question = BackgroundQuestion(self._set_background)
            self._question.ask(line.keyboard, sys.stdout)

    def stop_asking(self) -> None:
        """Make sure that no answer of the terminal arrives after clio has ended."""
        if self._question is not None:
            self._question.leave()

    def choose_theme(self, parts: Parts, name: str) -> None:
        """Carry out `/theme`: list all themes, or switch to one and save the choice. Raises ConfigError."""
        if not name:
            self._show(parts)
            return
        self._themes.use(name)
        if self._line is not None:
            self._line.redraw()
        parts.screen.note("\n".join([*self._save_choice(name), *self._explain_no_colours()]))

    def _set_background(self, paper: Paper) -> None:
        self._themes.heard(paper)
        if self._line is not None:
            self._line.redraw()

    def _save_choice(self, name: str) -> Iterator[str]:
        """Save the choice; yield where it is saved, or why it is not."""
        if self._loaded.config.incognito:
            yield f"theme {name}, until you leave: an incognito clio writes nothing"
            return
        path = home_config(self._loaded.home)
        from clio.config.yaml_edit import set_value

        set_value(path, "theme", name)
        yield f"theme {name}, also from the next start on ({path})"
        origin = self._loaded.origins.get("theme", "default")
        if origin != "default" and Path(origin.rpartition(":")[0]).expanduser() != path:
            yield f"but there {origin} says otherwise, and counts"

    def _explain_no_colours(self) -> Iterator[str]:
        if not self._terminal.colour:
            yield f"nothing is coloured in any case: {self._colour_off_reason()}"

    def _colour_off_reason(self) -> str:
        origin = self._loaded.origins.get("color", "default")
        return f"color is off ({origin})" if origin != "default" else "the terminal shows no colours"

    def _show(self, parts: Parts) -> None:
        from rich.text import Text

        from clio.ui.safe_text import clean_line
        from clio.ui.screen import Screen
        from clio.ui.themes import sample_row

        names = theme_names(self._loaded.home)
        screen, wide = parts.screen, max(map(len, names))
        if not isinstance(screen, Screen):
            listed = tuple(("→" if name == self._themes.name else "", name, _note(name)) for name in names)
            from clio.commands.command import CommandResult, Table

            screen.show_result(CommandResult(table=Table(columns=("", "theme", "what for"), rows=listed, wide=2)))
            return
        on_paper = self._terminal.colour and self._terminal.depth != "standard"
        rows: list[Text] = []
        for name in names:
            try:
                palette = self._themes.palette(name)
            except ConfigError as error:
                rows.append(Text(f"  {name:<{wide}}  {clean_line(str(error))}", screen.theme.bad))
                continue
            current = name == self._themes.name
            foreign = on_paper and not current and name != "auto"
            rows.append(sample_row(name, palette, current=current, width=wide, on_paper=foreign))
        screen.show_rows(rows)
        screen.note("\n".join(["/theme NAME takes one and remembers it", *self._explain_no_colours()]))


def _note(name: str) -> str:
    return THEMES.get(name, "your own")
