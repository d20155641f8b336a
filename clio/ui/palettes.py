"""Colours by meaning: the syntax of a style, and the built-in themes."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Literal

import msgspec
from msgspec import Struct

from clio.config.command_line import did_you_mean
from clio.text.translation import mark, tr

TEXT_MARKS = ("bold", "faint", "italic", "underline", "reverse")
_BASE_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
COLOURS = (*_BASE_COLOURS, *(f"bright-{name}" for name in _BASE_COLOURS))
"""The terminal's own sixteen colours, whose shades its user chooses."""
_HEX = re.compile(r"#[0-9a-f]{6}")
_TOOLKIT = {name: f"ansi{name}" for name in _BASE_COLOURS} | {
    **{f"bright-{name}": f"ansibright{name}" for name in _BASE_COLOURS},
    "white": "ansigray",
    "bright-white": "ansiwhite",
}


class TextStyle(Struct, frozen=True, kw_only=True):
    """One style.

    foreground, background: a name of COLOURS, "#rrggbb", or "" for the terminal's own. marks: some of TEXT_MARKS.
    """

    foreground: str = ""
    background: str = ""
    marks: tuple[str, ...] = ()

    @property
    def has_colour(self) -> bool:
        """Whether it uses any colour."""
        return bool(self.foreground or self.background)

    @property
    def as_text(self) -> str:
        """Format the style as in a theme file; the inverse of `parse_text_style`."""
        background = ["on", self.background] if self.background else []
        return " ".join([*self.marks, *([self.foreground] if self.foreground else []), *background]) or "plain"

    def with_mark(self, mark: str) -> "TextStyle":
        """Return the style with one more of TEXT_MARKS."""
        return TextStyle(
            foreground=self.foreground, background=self.background, marks=tuple(dict.fromkeys((*self.marks, mark)))
        )

    @property
    def for_rich(self) -> str:
        """Format the style for rich."""
        parts = ["dim" if mark == "faint" else mark for mark in self.marks]
        front, back = (colour.replace("-", "_") for colour in (self.foreground, self.background))
        return " ".join([*parts, *([front] if front else []), *(["on", back] if back else [])]) or "none"

    @property
    def for_toolkit(self) -> str:
        """Format the style for prompt_toolkit; overrides all its default attributes."""
        parts = ["noinherit", *("dim" if mark == "faint" else mark for mark in self.marks)]
        front, back = (_TOOLKIT.get(colour, colour) for colour in (self.foreground, self.background))
        return " ".join([*parts, *([f"fg:{front}"] if front else []), *([f"bg:{back}"] if back else [])])


def parse_text_style(text: str) -> TextStyle:
    """Parse a style: marks and a colour in any order, then `on` and the background colour.

    Raises ValueError with the end of a sentence that begins with the name of the style.
    """
    marks: list[str] = []
    colours = {"front": "", "back": ""}
    current = "front"
    for word in text.lower().replace("_", "-").split():
        if word == "on" and current == "front":
            current = "back"
        elif word in TEXT_MARKS:
            marks.append(word)
        elif word in COLOURS or _HEX.fullmatch(word):
            if colours[current]:
                raise ValueError(
                    tr(
                        "names two colours, {colours} and {word}; write 'COLOUR on COLOUR'",
                        colours=colours[current],
                        word=word,
                    )
                )
            colours[current] = word
        elif word != "plain":
            raise ValueError(
                tr("has {word!r}, which is {unknown_word}", word=word[:40], unknown_word=_describe_unknown_word(word))
            )
    if current == "back" and not colours["back"]:
        raise ValueError(tr("ends with 'on'; a colour must follow"))
    return TextStyle(foreground=colours["front"], background=colours["back"], marks=tuple(dict.fromkeys(marks)))


def _describe_unknown_word(word: str) -> str:
    if word.startswith("#"):
        return tr("no colour; write # and six digits from 0 to f")
    hint = did_you_mean(word, (*COLOURS, *TEXT_MARKS, "plain"))
    marks = ", ".join(TEXT_MARKS)
    return tr(
        "neither a colour nor one of {marks}{hint}",
        marks=marks,
        hint=hint or tr("; colours: ") + ", ".join(_BASE_COLOURS) + ", #rrggbb",
    )


ColourDepth = Literal["standard", "256", "truecolor"]
"""How many colours a terminal has, in rich's terms."""
Background = Literal["dark", "light"]
"""Whether a terminal's background is dark or light."""

MEANINGS: dict[str, str] = {
    "accent": mark("highlights: the spinner, options, list bullets"),
    "good": mark("success; low risk"),
    "bad": mark("errors; high risk"),
    "warning": mark("warnings and questions; medium risk"),
    "faint": mark("secondary text: footers, hints, counts"),
    "strong": mark("clio's own headings, and keys that answer a question"),
    "reasoning": mark("the model's thinking"),
    "prompt": mark("the prompt mark before the line you type on"),
    "status": mark("the status line"),
    "chips": mark("labels of the files mentioned with @"),
    "menu": mark("completion menu"),
    "menu_current": mark("selected completion"),
    "menu_note": mark("description of a completion"),
    "menu_note_current": mark("description of the selected completion"),
    "user_message": mark("your messages in the conversation; a background covers the whole rows"),
    "added": mark("added lines of a diff; only number and sign where rows have a background"),
    "removed": mark("removed lines of a diff; only number and sign where rows have a background"),
    "added_line": mark("rows of added lines; a background covers them and lets the code keep its colours"),
    "removed_line": mark("rows of removed lines; the same"),
    "added_word": mark("new words in a changed line"),
    "removed_word": mark("old words in a changed line"),
    "hunk": mark("hunk headers of a diff"),
    "heading": mark("headings in an answer"),
    "quote": mark("quotations in an answer"),
    "link": mark("links in an answer"),
    "code": mark("inline code"),
    "code_block": mark("rows of a code block; a background covers them"),
    "code_comment": "comments",
    "code_keyword": "keywords",
    "code_type": mark("types and built-in names"),
    "code_function": mark("names in function and class definitions"),
    "code_string": "strings",
    "code_number": "numbers",
    "code_name": mark("variables, constants and attributes, in languages that mark them"),
    "code_error": mark("syntax errors"),
    "bar_1": mark("first part of a bar, as in /context"),
    "bar_2": mark("second part of a bar"),
    "bar_3": mark("third part of a bar"),
    "bar_4": mark("fourth part of a bar"),
    "bar_5": mark("fifth part of a bar"),
}
"""The meanings a style can have, each with a description of what is drawn in it."""


class Palette(Struct, frozen=True, kw_only=True):
    """A style for each of MEANINGS.

    backgrounds: the darkest and the lightest background the palette is legible on, as well as on all between; empty
    for the sixteen colours, whose shades the terminal decides.
    """

    styles: dict[str, TextStyle]
    backgrounds: tuple[str, ...] = ()

    @property
    def has_colour(self) -> bool:
        """Whether any style uses colour."""
        return any(style.has_colour for style in self.styles.values())

    def with_styles(self, styles: Mapping[str, TextStyle]) -> "Palette":
        """Return the palette with some styles replaced."""
        return msgspec.structs.replace(self, styles=self.styles | dict(styles))


def make_palette(styles: Mapping[str, str], backgrounds: tuple[str, ...] = ()) -> Palette:
    """Build a palette from meaning → style as text. Missing meanings are plain."""
    return Palette(styles={name: parse_text_style(styles.get(name, "")) for name in MEANINGS}, backgrounds=backgrounds)


_MARKS = {
    "strong": "bold",
    "prompt": "bold",
    "menu_current": "reverse",
    "menu_note_current": "reverse",
    "added_word": "reverse",
    "removed_word": "reverse",
    "heading": "bold",
    "link": "underline",
    "code_error": "underline",
}
"""Differences that need no colour."""

_NO_COLOUR = _MARKS | {
    "faint": "faint",
    "status": "faint",
    "reasoning": "faint italic",
    "quote": "faint",
    "code_comment": "faint",
    "hunk": "faint",
    "bar_1": "bold",
    "bar_3": "faint",
}

# The terminal's own sixteen colours, for an unknown background: each is visible on black and on white.
_SIXTEEN = _MARKS | {
    "accent": "cyan",
    "good": "green",
    "bad": "red",
    "warning": "yellow",
    "faint": "faint",
    "reasoning": "faint italic",
    "prompt": "bold cyan",
    "status": "bright-black",
    "chips": "cyan",
    "menu_current": "bold black on cyan",
    "menu_note": "faint",
    "menu_note_current": "black on cyan",
    "added": "green",
    "removed": "red",
    "added_word": "green reverse",
    "removed_word": "red reverse",
    "hunk": "faint",
    "quote": "faint",
    "code": "cyan",
    "code_comment": "faint",
    "code_keyword": "magenta",
    "code_type": "cyan",
    "code_function": "cyan",
    "code_string": "green",
    "code_number": "magenta",
    "code_name": "red",
    "code_error": "underline red",
    "bar_1": "blue",
    "bar_2": "magenta",
    "bar_3": "cyan",
    "bar_4": "yellow",
    "bar_5": "green",
}
_SIXTEEN_DARK = _SIXTEEN | {
    "code_keyword": "bright-blue",
    "code_type": "bright-cyan",
    "code_function": "bright-green",
    "code_string": "yellow",
    "code_number": "bright-blue",
    "code_name": "bright-magenta",
}
_SIXTEEN_LIGHT = _SIXTEEN | {
    "accent": "blue",
    "warning": "magenta",
    "prompt": "bold blue",
    "chips": "blue",
    "hunk": "faint",
    "code": "blue",
    "code_keyword": "blue",
    "code_type": "magenta",
    "code_function": "bold",
    "bar_4": "red",
}
_DARK = _MARKS | {
    "accent": "#87d7ff",
    "good": "#87d787",
    "bad": "#ff8787",
    "warning": "#ffd787",
    "faint": "#9e9e9e",
    "reasoning": "italic #b2b2b2",
    "prompt": "bold #87d7ff",
    "status": "#9e9e9e",
    "chips": "#87d7ff",
    "menu": "#e4e4e4 on #444444",
    "menu_current": "bold #000000 on #87d7ff",
    "menu_note": "#d0d0d0 on #3a3a3a",
    "menu_note_current": "#000000 on #5fafd7",
    "added": "#87d787",
    "removed": "#ff8787",
    "added_word": "bold #ffffff on #1c7a2c",
    "removed_word": "bold #ffffff on #a02828",
    "hunk": "#9e9e9e",
    "heading": "bold #d7afff",
    "quote": "italic #b2b2b2",
    "link": "underline #87d7ff",
    "code": "#ffd7af",
    "code_comment": "italic #9e9e9e",
    "code_keyword": "#d7afff",
    "code_type": "#87d7ff",
    "code_function": "#afd7ff",
    "code_string": "#afd787",
    "code_number": "#ffd787",
    "code_name": "#ffafaf",
    "code_error": "underline #ff8787",
    "bar_1": "#87afff",
    "bar_2": "#d7afff",
    "bar_3": "#87d7d7",
    "bar_4": "#ffd787",
    "bar_5": "#87d787",
    "user_message": "#e4e4e4 on #3a3a3a",
    "code_block": "#d0d0d0 on #262626",
    "added_line": "#e4e4e4 on #143a20",
    "removed_line": "#e4e4e4 on #4a2222",
}
_LIGHT = _MARKS | {
    "accent": "#005f87",
    "good": "#005f00",
    "bad": "#af0000",
    "warning": "#870087",
    "faint": "#6c6c6c",
    "reasoning": "italic #585858",
    "prompt": "bold #005f87",
    "status": "#6c6c6c",
    "chips": "#005f87",
    "menu": "#1c1c1c on #d0d0d0",
    "menu_current": "bold #ffffff on #005f87",
    "menu_note": "#303030 on #dadada",
    "menu_note_current": "#ffffff on #005f5f",
    "added": "#005f00",
    "removed": "#af0000",
    "added_word": "bold #002f00 on #a5e0a5",
    "removed_word": "bold #5f0000 on #f5b5b5",
    "hunk": "#6c6c6c",
    "heading": "bold #5f00af",
    "quote": "italic #585858",
    "link": "underline #005faf",
    "code": "#6f4e00",
    "code_comment": "italic #6c6c6c",
    "code_keyword": "#5f00af",
    "code_type": "#005f87",
    "code_function": "#00005f",
    "code_string": "#005f00",
    "code_number": "#870087",
    "code_name": "#870000",
    "code_error": "underline #af0000",
    "bar_1": "#005faf",
    "bar_2": "#870087",
    "bar_3": "#005f5f",
    "bar_4": "#875f00",
    "bar_5": "#005f00",
    "user_message": "#1c1c1c on #e4e4e4",
    "code_block": "#1c1c1c on #eeeeee",
    "added_line": "#1c1c1c on #d7f0d7",
    "removed_line": "#1c1c1c on #fbdfdf",
}
_HIGH_CONTRAST = _MARKS | {
    "accent": "bold",
    "bad": "bold underline",
    "warning": "bold",
    "chips": "bold",
    "menu_current": "bold reverse",
    "removed": "underline",
    "added_word": "bold reverse",
    "removed_word": "bold reverse",
    "heading": "bold",
    "code": "bold",
    "code_keyword": "bold",
    "code_error": "bold underline",
    "bar_1": "bold",
}
"""High contrast for an unknown background: the terminal's own foreground and background contrast the most."""
_HIGH_CONTRAST_DARK = _HIGH_CONTRAST | {
    "accent": "bold #87ffff",
    "good": "#87ff87",
    "bad": "bold #ffafaf",
    "warning": "bold #ffff87",
    "faint": "#dadada",
    "reasoning": "italic #dadada",
    "prompt": "bold #87ffff",
    "status": "#eeeeee",
    "chips": "bold #87ffff",
    "menu": "#ffffff on #000000",
    "menu_current": "bold #000000 on #ffff87",
    "menu_note": "#eeeeee on #000000",
    "menu_note_current": "#000000 on #ffff87",
    "added": "#87ff87",
    "removed": "#ffafaf",
    "added_word": "bold #000000 on #87ff87",
    "removed_word": "bold #000000 on #ffafaf",
    "hunk": "#dadada",
    "heading": "bold #ffffff",
    "quote": "italic #eeeeee",
    "link": "underline #87ffff",
    "code": "#ffff87",
    "code_comment": "italic #dadada",
    "code_keyword": "bold #ffd7ff",
    "code_type": "#87ffff",
    "code_function": "bold #ffffff",
    "code_string": "#87ff87",
    "code_number": "#ffff87",
    "code_name": "#ffd7af",
    "code_error": "bold underline #ffafaf",
    "bar_1": "#87ffff",
    "bar_2": "#ffd7ff",
    "bar_3": "#87ff87",
    "bar_4": "#ffff87",
    "bar_5": "#ffffff",
    "user_message": "#ffffff on #303030",
}
_HIGH_CONTRAST_LIGHT = _HIGH_CONTRAST | {
    "accent": "bold #0000af",
    "good": "#005f00",
    "bad": "bold #870000",
    "warning": "bold #5f005f",
    "faint": "#3a3a3a",
    "reasoning": "italic #3a3a3a",
    "prompt": "bold #0000af",
    "status": "#303030",
    "chips": "bold #0000af",
    "menu": "#000000 on #ffffff",
    "menu_current": "bold #ffffff on #00005f",
    "menu_note": "#1c1c1c on #ffffff",
    "menu_note_current": "#ffffff on #00005f",
    "added": "#005f00",
    "removed": "#870000",
    "added_word": "bold #ffffff on #005f00",
    "removed_word": "bold #ffffff on #870000",
    "hunk": "#3a3a3a",
    "heading": "bold #000000",
    "quote": "italic #303030",
    "link": "underline #0000af",
    "code": "#5f005f",
    "code_comment": "italic #3a3a3a",
    "code_keyword": "bold #5f005f",
    "code_type": "#0000af",
    "code_function": "bold #000000",
    "code_string": "#005f00",
    "code_number": "#5f005f",
    "code_name": "#870000",
    "code_error": "bold underline #870000",
    "bar_1": "#0000af",
    "bar_2": "#5f005f",
    "bar_3": "#005f00",
    "bar_4": "#870000",
    "bar_5": "#000000",
    "user_message": "#000000 on #e4e4e4",
}

_DARK_BACKGROUNDS = ("#000000", "#303446")
_LIGHT_BACKGROUNDS = ("#ffffff", "#eee8d5")
_BUILTIN_PALETTES: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "none": (_NO_COLOUR, ()),
    "sixteen": (_SIXTEEN, ()),
    "sixteen dark": (_SIXTEEN_DARK, ()),
    "sixteen light": (_SIXTEEN_LIGHT, ()),
    "dark": (_DARK, _DARK_BACKGROUNDS),
    "light": (_LIGHT, _LIGHT_BACKGROUNDS),
    "high contrast": (_HIGH_CONTRAST, ()),
    "high contrast dark": (_HIGH_CONTRAST_DARK, _DARK_BACKGROUNDS),
    "high contrast light": (_HIGH_CONTRAST_LIGHT, ("#ffffff", "#fdf6e3")),
}
BUILTIN_PALETTES = tuple(_BUILTIN_PALETTES)


@cache
def get_builtin_palette(name: str) -> Palette:
    """Return a built-in palette by its name in BUILTIN_PALETTES."""
    styles, backgrounds = _BUILTIN_PALETTES[name]
    return make_palette(styles, backgrounds)
