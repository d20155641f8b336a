"""`/theme`: available themes with samples, the terminal's background, and changing colours while the shell runs."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from rich.text import Text

from clio.config.command_line import did_you_mean
from clio.config.loaded import Loaded
from clio.config.paths import FOLDER, THEMES, home_config, is_theme_name, theme_names
from clio.config.yaml_file import Entry, Scalar, describe, parse, read_bytes
from clio.entrypoints.repl.parts import Parts
from clio.errors import ConfigError
from clio.text.lazy_regex import LazyRegex
from clio.ui.background_query import may_be_asked, paper_in_environment
from clio.ui.palettes import MEANINGS, Look, Palette, Paper, builtin, parse_look
from clio.ui.theme import Terminal

if TYPE_CHECKING:
    from clio.ui.background_query import BackgroundQuestion
    from clio.ui.plain_line import PlainLine
    from clio.ui.prompt_line import PromptLine


_CUT_OFF = LazyRegex(r"\s+#[0-9a-fA-F]{3,8}(?:\s+on\b.*)?\s*")


class UserTheme(Struct, frozen=True, kw_only=True):
    """What such a file says. extends: one of THEMES."""

    extends: str
    looks: dict[str, Look]


def read_user_theme(home: Path, name: str) -> UserTheme:
    """The theme of that name. Raises ConfigError with file and line."""
    shown = f"{FOLDER}/{name}.yaml"
    data = read_bytes(home / FOLDER / f"{name}.yaml", shown) if is_theme_name(name) else None
    if data is None:
        known = theme_names(home)
        raise ConfigError(
            f"there is no theme {name[:64]!r}{did_you_mean(name, known) or '; there are ' + ', '.join(known)}"
        )
    lines = data.decode("utf-8-sig", "replace").splitlines()
    extends, looks = "auto", dict[str, Look]()
    for key, entry in parse(data, shown).entries.items():
        where = f"{shown}:{entry.line}"
        if key == "extends":
            extends = _base(entry, where)
        elif key in MEANINGS:
            looks[key] = _look(key, entry, where, lines)
        else:
            known = ("extends", *MEANINGS)
            raise ConfigError(f"{where}: unknown key {key[:64]!r}{did_you_mean(key, known) or _known(known)}")
    return UserTheme(extends=extends, looks=looks)


def _base(entry: Entry, where: str) -> str:
    node = entry.node
    if isinstance(node, Scalar) and node.text in THEMES:
        return node.text
    raise ConfigError(f"{where}: extends must be one of {', '.join(THEMES)}, not {describe(node)}")


def _look(key: str, entry: Entry, where: str, lines: Sequence[str]) -> Look:
    node = entry.node
    if isinstance(node, Scalar) and _CUT_OFF.fullmatch("".join(lines[node.end[0] : node.end[0] + 1])[node.end[1] :]):
        raise ConfigError(f"{where}: {key} ends before the #, which begins a comment; put the whole in quotes")
    if isinstance(node, Scalar) and node.kind == "null":
        raise ConfigError(f"{where}: {key} has no value; write a look such as 'bold red', or plain")
    if not isinstance(node, Scalar) or node.kind in ("bool", "number"):
        raise ConfigError(f"{where}: {key} must be words such as 'bold red', not {describe(node)}")
    try:
        return parse_look(node.text)
    except ValueError as error:
        raise ConfigError(f"{where}: {key} {error}") from None


def _known(names: tuple[str, ...]) -> str:
    return "; known are " + ", ".join(_shortened(names))


def _shortened(names: tuple[str, ...]) -> Iterator[str]:
    yield from names[:6]
    yield "… (docs/themes.md has all)"


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


_WORDS = (
    ("prompt", "❯ "),
    ("", "text "),
    ("added", "+ new "),
    ("removed", "- old "),
    ("good", "✓ good "),
    ("bad", "✗ bad "),
    ("warning", "! warning "),
    ("faint", "faint "),
    ("code_keyword", "def "),
    ("code_function", "f"),
    ("", "("),
    ("code_string", '"x"'),
    ("", ") "),
)


def sample_row(name: str, palette: Palette, *, current: bool, width: int, on_paper: bool) -> Text:
    """The theme's name and a few words as they would look, as many as fit. on_paper: the background is drawn too."""
    label = f"{'→' if current else ' '} {name:<{width}}  "
    return Text.assemble((label, "strong" if current else ""), *_pieces(palette, on_paper=on_paper), no_wrap=True)


def _pieces(palette: Palette, *, on_paper: bool) -> Iterator[tuple[str, str]]:
    paper = palette.papers[0] if on_paper and palette.papers else ""
    ink = "#ffffff" if paper == "#000000" else "#000000"
    for meaning, words in _WORDS:
        look = palette.looks[meaning].for_rich if meaning else "none"
        if paper and " on " not in f" {look}":
            look = f"{look if look != 'none' else ''} on {paper}"
            look = look if "#" in look.partition(" on ")[0] else f"{ink} {look.strip()}"
        yield words, look


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
