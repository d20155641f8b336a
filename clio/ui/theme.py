"""The names of styles by meaning ("good", "faint"), and the capabilities of the terminal: colours, links."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from clio.ui.links import FileLinks, supports_links
from clio.ui.palettes import ColourDepth, Palette, get_builtin_palette

if TYPE_CHECKING:
    from clio.config.schema import Hyperlinks

_TRUECOLOUR_TERMS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour")
_TRUECOLOUR_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio", "WarpTerminal")


class CurrentPalette(Struct, kw_only=True):
    """Holds the palette in use. Drawing code reads it each time, so that a change applies to all later output."""

    palette: Palette = field(default_factory=lambda: get_builtin_palette("sixteen"))


class Theme(Struct, frozen=True, kw_only=True):
    """Style names by meaning, for rich. Without `colour` only bold and faint remain, without `escapes` nothing does.

    links: addresses are clickable; file_links: so are the names of the project's files. depth: the number of colours.
    """

    colour: bool = True
    escapes: bool = True
    links: bool = False
    file_links: FileLinks | None = None
    depth: ColourDepth = "standard"
    current: CurrentPalette = field(default_factory=CurrentPalette)
    accent: str = "accent"
    good: str = "good"
    bad: str = "bad"
    warning: str = "warning"
    faint: str = "faint"
    prompt: str = "prompt"
    strong: str = "strong"
    added: str = "added"
    removed: str = "removed"
    added_word: str = "added_word"
    removed_word: str = "removed_word"
    hunk: str = "hunk"
    reasoning: str = "reasoning"
    user_message: str = "user_message"
    code_block: str = "code_block"
    added_line: str = "added_line"
    removed_line: str = "removed_line"


class Terminal(Struct, frozen=True, kw_only=True):
    """The capabilities of the output.

    Attributes:
        live: the cursor can be moved, so that lines can be replaced.
        escapes: bold and faint are supported.
        reflows: lines are wrapped again when the window becomes narrower, as in most terminals.
        links: marked addresses can be opened.
        file_links: finds the addresses of the project's files; None if these cannot be opened.
        depth: the number of colours.
        current: holds the palette in force.
        for_screen_reader: nothing is drawn, and all of the above is off.
        has_keys: keys can be read one by one although nothing is drawn.
    """

    live: bool
    escapes: bool
    colour: bool
    reflows: bool
    links: bool = False
    file_links: FileLinks | None = None
    depth: ColourDepth = "standard"
    current: CurrentPalette = field(default_factory=CurrentPalette)
    for_screen_reader: bool = False
    has_keys: bool = False

    @property
    def can_read_keys(self) -> bool:
        """Whether each key can be read as it is pressed; otherwise whole lines are read."""
        return self.live or self.has_keys

    @property
    def theme(self) -> Theme:
        """The theme for this terminal; all themes share one palette."""
        return Theme(
            colour=self.colour,
            escapes=self.escapes,
            links=self.links,
            file_links=self.file_links if self.links else None,
            depth=self.depth,
            current=self.current,
        )


def detect_terminal(
    env: Mapping[str, str],
    *,
    is_tty: bool,
    wants_colour: bool = True,
    hyperlinks: "Hyperlinks" = "auto",
    for_screen_reader: bool = False,
) -> Terminal:
    """Detect the capabilities from the environment: TERM=dumb, NO_COLOR (any non-empty value), and whether it is a tty.

    for_screen_reader: the user has chosen output for a screen reader.
    """
    term = env.get("TERM", "")
    is_capable = is_tty and term not in ("dumb", "unknown")
    if for_screen_reader:
        return Terminal(
            live=False, escapes=False, colour=False, reflows=False, for_screen_reader=True, has_keys=is_capable
        )
    return Terminal(
        live=is_capable,
        escapes=is_capable,
        colour=is_capable and wants_colour and not env.get("NO_COLOR"),
        # xterm, GNU screen and the Linux console truncate lines instead of wrapping them again.
        reflows=is_capable and term != "linux" and not env.get("XTERM_VERSION") and not env.get("STY"),
        links=is_capable and (hyperlinks == "on" or (hyperlinks == "auto" and supports_links(env))),
        depth=detect_colour_depth(env),
    )


def detect_colour_depth(env: Mapping[str, str]) -> ColourDepth:
    """Return how many colours the terminal has according to its environment."""
    term = env.get("TERM", "")
    if term == "linux":
        return "standard"
    if env.get("COLORTERM", "").lower() in ("truecolor", "24bit") or term.endswith("-direct"):
        return "truecolor"
    if term.startswith(_TRUECOLOUR_TERMS) or env.get("TERM_PROGRAM") in _TRUECOLOUR_PROGRAMS or env.get("WT_SESSION"):
        return "truecolor"
    return "256" if "256color" in term or env.get("TERM_PROGRAM") == "Apple_Terminal" else "standard"


def make_rich_styles(palette: Palette, *, links: bool = False) -> dict[str, str]:
    """Return the palette by rich's style names, including those of Markdown. links: addresses are clickable."""
    styles, heading = {name: look.for_rich for name, look in palette.styles.items()}, palette.styles["heading"]
    minor = msgspec.structs.replace(heading, marks=("italic",))
    return styles | {
        "markdown.code": styles["code"],
        "markdown.code_block": styles["code"],
        "markdown.kbd": styles["code"],
        "markdown.h1": heading.with_mark("underline").for_rich,
        "markdown.h2": styles["heading"],
        "markdown.h3": minor.for_rich,
        "markdown.h4": "italic",
        "markdown.h5": "dim italic",
        "markdown.h6": "dim italic",
        "markdown.h7": "dim italic",
        "markdown.hr": styles["faint"],
        "markdown.list": "none",
        "markdown.item.bullet": styles["accent"],
        "markdown.item.number": styles["accent"],
        "markdown.link": styles["link"],
        "markdown.link_url": styles["link"] if links else styles["faint"],
        "markdown.block_quote": styles["quote"],
        "markdown.table.border": styles["faint"],
        "markdown.table.header": "bold",
    }
