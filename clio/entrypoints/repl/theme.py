"""The terminal's colour theme: background detection, the user's choice, and changes while clio runs."""

import os
import re
import select
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from msgspec import Struct, structs
from prompt_toolkit.input import Input

from clio.config.command_line import did_you_mean
from clio.config.loaded import LoadedConfig
from clio.config.paths import home_config
from clio.config.theme_files import THEMES, THEMES_FOLDER, find_theme_file, is_theme_name, theme_names
from clio.config.yaml_file import Entry, Scalar, describe_node, parse_yaml, read_config_bytes
from clio.entrypoints.repl.components import ReplComponents, terminal_size
from clio.errors import ConfigError
from clio.text.translation import mark, tr
from clio.ui.painter import assemble_text
from clio.ui.palettes import MEANINGS, Background, Palette, TextStyle, get_builtin_palette, parse_text_style
from clio.ui.theme import Terminal

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from rich.text import Text

    from clio.ui.plain_line import PlainLine
    from clio.ui.prompt_line import PromptLine


# Terminals answer in one of these two forms; xterm and most others send four digits per part.
_RGB_FORM = re.compile(r"rgba?:([0-9a-f]{1,4})/([0-9a-f]{1,4})/([0-9a-f]{1,4})(?:/[0-9a-f]{1,4})?", re.I)
_HEX_FORM = re.compile(r"#((?:[0-9a-f]{3}){1,4})", re.I)
_MIDDLE_LUMINANCE = 0.179
"""The luminance that has the same contrast with black and with white."""
_DARK_NUMBERS = frozenset((*range(7), 8))  # of the 16 ANSI colours
# These print an unknown query as text instead of ignoring it.
_TERMS_WITHOUT_QUERIES = ("dumb", "unknown", "linux", "vt", "ansi", "cons", "eterm", "sun")


def classify_background(colour: str) -> Background | None:
    """Return whether a colour such as `rgb:1e1e/1e1e/1e1e` is dark or light; None if the text is not a colour."""
    rgb = parse_terminal_colour(colour)
    return None if rgb is None else "light" if compute_luminance(rgb) > _MIDDLE_LUMINANCE else "dark"


def parse_terminal_colour(text: str) -> tuple[float, float, float] | None:
    """Parse red, green and blue, 0.0 to 1.0, from `rgb:RRRR/GGGG/BBBB` with one to four digits each, or `#rrggbb`."""
    if match := _RGB_FORM.fullmatch(text.strip()):
        parts = (match[1], match[2], match[3])
    elif match := _HEX_FORM.fullmatch(text.strip()):
        size = len(match[1]) // 3
        parts = (match[1][:size], match[1][size : 2 * size], match[1][2 * size :])
    else:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in parts)
    return red, green, blue


def compute_luminance(rgb: tuple[float, float, float]) -> float:
    """Return the relative luminance, 0.0 to 1.0. Source: WCAG 2.1, "relative luminance"."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def detect_background_from_environment(env: Mapping[str, str]) -> Background | None:
    """Return the background that COLORFGBG, such as "15;0", reports; None if it is unset or unusable."""
    last = env.get("COLORFGBG", "").rpartition(";")[2]
    if not last.isascii() or not last.isdigit() or int(last) > 15:
        return None
    return "dark" if int(last) in _DARK_NUMBERS else "light"


def can_ask_background(env: Mapping[str, str]) -> bool:
    """Whether a terminal of this type recognizes the query as a control sequence, whether or not it answers it."""
    term = env.get("TERM", "")
    return bool(term) and not term.startswith(_TERMS_WITHOUT_QUERIES) and not env.get("INSIDE_EMACS")


# OSC 11 asks for the background colour. Not every terminal answers it, but all answer the second query, for their
# device attributes, and in order: once that reply has arrived, no colour will follow ("fence" below).
BACKGROUND_QUERY = "\x1b]11;?\x1b\\\x1b[c"
_COLOUR = re.compile(r"\x1b\]11;([^\x07\x1b\x9c]{0,64})(?:\x07|\x1b\\|\x9c)")
_FENCE = re.compile(r"\x1b\[\?[0-9;]{0,64}c")
# The beginnings of a reply whose rest has not arrived yet.
_OPEN_COLOUR = r"\](?:1(?:1(?:;[^\x07\x1b\x9c]{0,64}\x1b?)?)?)?"
_OPEN_FENCE = r"\[(?:\?[0-9;]{0,64})?"
_OPEN = re.compile(rf"\x1b(?:{_OPEN_COLOUR}|{_OPEN_FENCE})?\Z")
_OPEN_LATE = re.compile(rf"\x1b(?:{_OPEN_COLOUR})?\Z")
_LONGEST_KEY = 2
"""The longest withheld text that may itself be a key: Esc, or Alt and a bracket."""


class TerminalReplies:
    """Separates the terminal's replies from typed keys: all input goes through `feed`.

    If nothing follows for a moment, `flush` returns what was held back, because it may have been a key.

    Attributes:
        colour: the background as the terminal reported it; "" before it has.
        fenced: whether the reply to the fence query has arrived, so that no more replies are expected.
    """

    def __init__(self) -> None:
        self.colour = ""
        self.fenced = False
        self._held = ""
        self._given = 0  # number of characters in `_held` already returned as keys

    @property
    def is_over(self) -> bool:
        """Whether no further reply can arrive."""
        return self.fenced and bool(self.colour)

    def feed(self, data: str) -> str:
        """Return the part of the input that was typed."""
        text = self._held + data
        if self._given and not any(form.match(text) for form in (_COLOUR, _FENCE, self._open)):
            text = text[self._given :]  # those characters were typed after all
            self._given = 0
        text = self._extract_colour(text)
        if not self.fenced and (match := _FENCE.search(text)):
            text = text[: match.start()] + text[match.end() :]
            self.fenced, self._given = True, 0
        opening = None if self.is_over else self._open.search(text)
        at = opening.start() if opening else len(text)
        if at:
            self._given = 0
        text, self._held = text[:at], text[at:]
        return text

    def flush(self) -> str:
        """Return held text that must have been typed because nothing followed. The rest of a reply may still arrive."""
        if not 0 < len(self._held) <= _LONGEST_KEY:
            return ""
        text, self._given = self._held[self._given :], len(self._held)
        return text

    @property
    def _open(self) -> re.Pattern[str]:
        return _OPEN_LATE if self.fenced else _OPEN

    def _extract_colour(self, text: str) -> str:
        if self.colour or not (match := _COLOUR.search(text)):
            return text
        self.colour, self._given = match[1] or "?", 0
        return text[: match.start()] + text[match.end() :]


_LATE_REPLY_S = 0.1  # wait at least so long for a reply when clio exits,
_SLOWEST_REPLY_S = 1.5  # and until so long after the query: a terminal far away takes its time


class BackgroundQuestion:
    """One query for the background. on_answer: called with the result if the terminal answers, which it may not."""

    def __init__(self, on_answer: Callable[[Background], None]) -> None:
        self._on_answer = on_answer
        self._replies = TerminalReplies()
        self._is_reported = False
        self._asked_at: float | None = None

    def ask(self, keyboard: Input, stream: TextIO) -> None:
        """Send the query, and remove the reply from the input of this keyboard whenever it arrives.

        No other reader may consume the keys. Does nothing if the keyboard is not a terminal.
        """
        parser: Any = getattr(keyboard, "vt100_parser", None)
        if parser is None:
            return
        feed, flush = parser.feed, parser.flush

        def fed(data: str) -> None:
            if typed := self._take(data):
                feed(typed)

        def flushed() -> None:
            if typed := self._replies.flush():
                feed(typed)
            flush()

        parser.feed, parser.flush = fed, flushed
        stream.write(BACKGROUND_QUERY)
        stream.flush()
        self._asked_at = time.monotonic()

    def leave(self, keyboard: int = 0) -> None:
        """Wait for a reply that has not arrived; the next program at the terminal would read it as keys."""
        if self._asked_at is None:
            return
        end = max(self._asked_at + _SLOWEST_REPLY_S, time.monotonic() + _LATE_REPLY_S)
        self._asked_at = None
        while not self._replies.fenced and (left := end - time.monotonic()) > 0:
            try:
                if not select.select([keyboard], [], [], left)[0]:
                    return
                data = os.read(keyboard, 1024)
            except (OSError, ValueError):
                return
            if not data:
                return
            self._take(data.decode("ascii", "replace"))

    def _take(self, data: str) -> str:
        typed = self._replies.feed(data)
        if self._replies.colour and not self._is_reported:
            self._is_reported = True
            if background := classify_background(self._replies.colour):
                self._on_answer(background)
        return typed


# An unquoted colour: YAML reads `accent: bold #ffaf5f` as "bold" and a comment.
_COLOUR_IN_COMMENT = re.compile(r"\s+#[0-9a-fA-F]{3,8}(?:\s+on\b.*)?\s*")


class UserTheme(Struct, frozen=True, kw_only=True):
    """The contents of a theme file. extends: one of THEMES. styles: text styles by their key in the file."""

    extends: str
    styles: dict[str, TextStyle]


def read_user_theme(home: Path, name: str) -> UserTheme:
    """Read the user's theme of that name. Raises ConfigError with file and line."""
    shown = f"{THEMES_FOLDER}/{name}.yaml"
    data = read_config_bytes(find_theme_file(home, name), shown) if is_theme_name(name) else None
    if data is None:
        known = theme_names(home)
        raise ConfigError(
            tr(
                "there is no theme {name!r}{did_you_mean}",
                name=name[:64],
                did_you_mean=did_you_mean(name, known) or tr("; available: ") + ", ".join(known),
            )
        )
    lines = data.decode("utf-8-sig", "replace").splitlines()
    extends, styles = "auto", dict[str, TextStyle]()
    for key, entry in parse_yaml(data, shown).entries.items():
        where = f"{shown}:{entry.line}"
        if key == "extends":
            extends = _parse_extends(entry, where)
        elif key in MEANINGS:
            styles[key] = _parse_style(key, entry, where, lines)
        else:
            known = ("extends", *MEANINGS)
            hint = did_you_mean(key, known) or tr(
                "; known: {known}, … (docs/themes.md lists all)", known=", ".join(known[:6])
            )
            raise ConfigError(tr("{where}: unknown key {key!r}{hint}", where=where, key=key[:64], hint=hint))
    return UserTheme(extends=extends, styles=styles)


def _parse_extends(entry: Entry, where: str) -> str:
    node = entry.node
    if isinstance(node, Scalar) and node.text in THEMES:
        return node.text
    raise ConfigError(
        tr(
            "{where}: extends must be one of {themes}, not {node}",
            where=where,
            themes=", ".join(THEMES),
            node=describe_node(node),
        )
    )


def _parse_style(key: str, entry: Entry, where: str, lines: Sequence[str]) -> TextStyle:
    node = entry.node
    if isinstance(node, Scalar) and _COLOUR_IN_COMMENT.fullmatch(
        "".join(lines[node.end[0] : node.end[0] + 1])[node.end[1] :]
    ):
        raise ConfigError(
            tr(
                "{where}: {key} ends before the #, which begins a comment; put the value in quotes",
                where=where,
                key=key,
            )
        )
    if isinstance(node, Scalar) and node.kind == "null":
        raise ConfigError(
            tr("{where}: {key} has no value; write a style such as 'bold red', or plain", where=where, key=key)
        )
    if not isinstance(node, Scalar) or node.kind in ("bool", "number"):
        raise ConfigError(
            tr(
                "{where}: {key} must be a style such as 'bold red', not {node}",
                where=where,
                key=key,
                node=describe_node(node),
            )
        )
    try:
        return parse_text_style(node.text)
    except ValueError as error:
        raise ConfigError(f"{where}: {key} {error}") from None


AUTO = "auto"


class ThemeSelector:
    """Puts the palette of a theme into `terminal.looks`, where all drawing code looks it up.

    Attributes:
        home: clio's own directory, which contains the user's themes.
        name: the theme in use.
        problem: why the requested theme is not in use, as a sentence; "" if it is.
    """

    def __init__(self, terminal: Terminal, home: Path, env: Mapping[str, str], requested: str = AUTO) -> None:
        self._terminal = terminal
        self._home = home
        self._env = env
        self._background = detect_background_from_environment(env)
        self._own: UserTheme | None = None
        self.name = AUTO
        self.problem = ""
        try:
            self.use(requested)
        except ConfigError as error:
            joint = tr(" Using") if str(error).endswith("?") else "; using"
            self.problem = tr("{error}{joint} the theme auto", error=error, joint=joint)
            self.use(AUTO)

    def use(self, name: str) -> None:
        """Use a theme for everything drawn from now on. Raises ConfigError and then changes nothing."""
        own = None if name in THEMES else read_user_theme(self._home, name)
        self.name, self._own = name, own
        self._apply()

    def palette(self, name: str) -> Palette:
        """Return the palette of a theme for this terminal. Raises ConfigError."""
        if name in THEMES:
            return self._make_builtin_palette(name)
        return self._make_user_palette(read_user_theme(self._home, name))

    @property
    def needs_background(self) -> bool:
        """Whether to query the terminal's background: the theme depends on it, and the terminal can be queried."""
        follows = (self._own.extends if self._own else self.name) in (AUTO, "high-contrast")
        return follows and self._terminal.live and self._terminal.colour and can_ask_background(self._env)

    def set_background(self, background: Background) -> None:
        """Use the background that the terminal reported."""
        self._background = background
        self._apply()

    def _apply(self) -> None:
        if not self._terminal.colour:
            palette = get_builtin_palette("none")
        elif self._own:
            palette = self._make_user_palette(self._own)
        else:
            palette = self._make_builtin_palette(self.name)
        self._terminal.current.palette = palette

    def _make_user_palette(self, own: UserTheme) -> Palette:
        return self._make_builtin_palette(own.extends).with_styles(own.styles)

    def _make_builtin_palette(self, name: str) -> Palette:
        has_16_colours = self._terminal.depth == "standard"
        background = self._background if name in (AUTO, "high-contrast") else name
        match name:
            case "none":
                return get_builtin_palette("none")
            case "high-contrast":
                is_plain = has_16_colours or background is None
                return get_builtin_palette("high contrast" if is_plain else f"high contrast {background}")
            case _ if background is None:
                # The terminal's own sixteen colours are readable on its background, whatever that is.
                return get_builtin_palette("sixteen")
            case _:
                return get_builtin_palette(f"sixteen {background}" if has_16_colours else background)


# The sample of a theme, in parts that are shown whole or not at all: the key of a style, and a text in it.
_SAMPLE = (
    ((mark("prompt"), "❯ "), ("", "text ")),
    ((mark("added"), "+ new "),),
    ((mark("removed"), "- old "),),
    ((mark("good"), "✓ good "),),
    ((mark("bad"), "✗ bad "),),
    ((mark("warning"), "! warning "),),
    ((mark("faint"), "faint "),),
    (("code_keyword", "def "), ("code_function", "f"), ("", "("), ("code_string", '"x"'), ("", ") ")),
)


def make_sample_row(
    name: str, palette: Palette, *, current: bool, width: int, with_background: bool, columns: int
) -> "Text":
    """Return the theme's name and a sample of its styles, as many as fit. width: of the longest name."""
    label = f"{'→' if current else ' '} {name:<{width}}  "
    sample = _style_sample(palette, columns - len(label), with_background=with_background)
    parts = ((style.for_rich, text) for style, text in sample)
    return assemble_text((label, "strong" if current else ""), *parts, no_wrap=True)


def _style_sample(palette: Palette, cells: int, *, with_background: bool) -> Iterator[tuple[TextStyle, str]]:
    background = palette.backgrounds[0] if with_background and palette.backgrounds else ""
    foreground = "#ffffff" if background == "#000000" else "#000000"
    for part in _SAMPLE:
        cells -= sum(len(text) for _, text in part)
        if cells < 0:
            return
        for key, text in part:
            style = palette.styles[key] if key else TextStyle()
            if background and not style.background:
                style = structs.replace(
                    style,
                    background=background,
                    foreground=style.foreground if "#" in style.foreground else foreground,
                )
            yield style, text


_SAMPLE_INDENT = 5  # before a preview in a list


class ThemeController:
    """The theme in use: queries the terminal for its background and carries out `/theme`."""

    def __init__(self, loaded: LoadedConfig, terminal: Terminal) -> None:
        self._loaded = loaded
        self._terminal = terminal
        self._themes = ThemeSelector(terminal, loaded.home, os.environ, loaded.config.theme)
        self._line: PromptLine | PlainLine | None = None
        self._question: BackgroundQuestion | None = None

    @property
    def problem(self) -> str:
        """Why the configured theme is not in use, as a sentence; "" if it is."""
        return self._themes.problem

    @property
    def name(self) -> str:
        """The theme in use."""
        return self._themes.name

    def ask_background(self, line: "PromptLine | PlainLine") -> None:
        """Query the terminal's background, once, if the colours depend on it. Call it when the prompt is displayed."""
        self._line = line
        if self._question is not None or not self._themes.needs_background:
            return
        from clio.ui.prompt_line import PromptLine

        if isinstance(line, PromptLine):
            self._question = BackgroundQuestion(self._set_background)
            self._question.ask(line.keyboard, sys.stdout)

    def stop_asking(self) -> None:
        """Make sure that no reply of the terminal arrives after clio has exited."""
        if self._question is not None:
            self._question.leave()

    def choose_theme(self, parts: ReplComponents, name: str) -> None:
        """Carry out `/theme`: list all themes, or switch to one and save the choice. Raises ConfigError."""
        if not name:
            self._show(parts)
            return
        self.use_theme(name)
        parts.screen.print_note("\n".join([*self._save_choice(name), *self._explain_no_colours()]))

    def use_theme(self, name: str) -> None:
        """Use a theme from now on, without saving the choice. Raises ConfigError."""
        self._themes.use(name)
        if self._line is not None:
            self._line.redraw()

    def _set_background(self, background: Background) -> None:
        self._themes.set_background(background)
        if self._line is not None:
            self._line.redraw()

    def _save_choice(self, name: str) -> Iterator[str]:
        """Save the choice; yield where it is saved, or why it is not."""
        if self._loaded.config.incognito:
            yield tr("theme {name}, until clio exits: --incognito saves nothing", name=name)
            return
        path = home_config(self._loaded.home)
        from clio.config.yaml_edit import store_setting

        store_setting(path, "theme", name)
        yield tr("theme {name}, saved in {path}", name=name, path=path)
        origin = self._loaded.origins.get("theme", "default")
        if origin != "default" and Path(origin.rpartition(":")[0]).expanduser() != path:
            yield tr("but {origin} overrides it at the next start", origin=origin)

    def _explain_no_colours(self) -> Iterator[str]:
        if not self._terminal.colour:
            yield tr("no colours are shown: {colour_off_reason}", colour_off_reason=self._colour_off_reason())

    def _colour_off_reason(self) -> str:
        origin = self._loaded.origins.get("color", "default")
        return tr("colour is off ({origin})", origin=origin) if origin != "default" else tr("the terminal has none")

    def render_sample(self, name: str) -> "StyleAndTextTuples | str":
        """Return a sample of the theme's styles for the list of themes; what is wrong with the theme, if anything."""
        try:
            palette = self._themes.palette(name)
        except ConfigError as error:
            return str(error)
        cells = terminal_size()[0] - _SAMPLE_INDENT
        sample = _style_sample(palette, cells, with_background=self._shows_background_of(name))
        return [(style.for_toolkit, text) for style, text in sample]

    def _shows_background_of(self, name: str) -> bool:
        """Whether a sample is drawn on the background that the theme is meant for; sixteen colours have none."""
        return self._terminal.colour and self._terminal.depth != "standard" and name not in (self.name, AUTO)

    def _show(self, parts: ReplComponents) -> None:
        from clio.ui.safe_text import clean_line
        from clio.ui.screen import Screen

        names = theme_names(self._loaded.home)
        screen, width = parts.screen, max(map(len, names))
        if not isinstance(screen, Screen):
            from clio.commands.command import CommandResult, Table

            listed = tuple(
                ("→" if name == self._themes.name else "", name, THEMES.get(name, "your own")) for name in names
            )
            screen.show_result(
                CommandResult(table=Table(columns=("", tr("theme"), tr("what for")), rows=listed, wide_column=2))
            )
            return
        columns = terminal_size()[0]
        rows: list[Text] = []
        for name in names:
            try:
                palette = self._themes.palette(name)
            except ConfigError as error:
                rows.append(assemble_text(f"  {name:<{width}}  {clean_line(str(error))}", style=screen.theme.bad))
                continue
            current = name == self._themes.name
            with_background = self._shows_background_of(name)
            rows.append(
                make_sample_row(
                    name, palette, current=current, width=width, with_background=with_background, columns=columns
                )
            )
        screen.show_rows(rows)
        screen.print_note("\n".join([tr("/theme NAME sets the theme"), *self._explain_no_colours()]))
