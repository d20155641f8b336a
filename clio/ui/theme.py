"""Styles by what they mean, and what the terminal can do: colours, links."""

import re
from collections.abc import Mapping

from msgspec import Struct, field

from clio.ui.palettes import Depth, Palette, builtin

_PROGRAMS = frozenset("iTerm.app WezTerm vscode ghostty Hyper Tabby rio WarpTerminal".split())
_TERMS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour")
_MARKS = ("WT_SESSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "ALACRITTY_WINDOW_ID", "DOMTERM")
_OLDEST_VTE = 5000  # 0.50; older ones crashed on some links
_OLDEST_TMUX = (3, 4)
_MAX_TARGET = 2000
# No control character, no blank, nothing beyond ASCII: nothing can end the sequence or look like another address.
_TARGET = re.compile(r"(?:https?://[\x21-\x7e]+|file://(?:localhost)?/[\x21-\x7e]+)", re.IGNORECASE)


def takes_links(env: Mapping[str, str]) -> bool:
    """Whether the terminal is known to take links. FORCE_HYPERLINK decides where it is set: 0 is no, all else yes."""
    if forced := env.get("FORCE_HYPERLINK", ""):
        return forced != "0"
    program = env.get("TERM_PROGRAM", "")
    if env.get("TMUX") or program == "tmux":
        return program == "tmux" and _version(env.get("TERM_PROGRAM_VERSION", "")) >= _OLDEST_TMUX
    if env.get("STY") or env.get("TERM", "").startswith("screen"):
        return False
    vte = env.get("VTE_VERSION", "")
    return (
        program in _PROGRAMS
        or env.get("TERM", "").startswith(_TERMS)
        or any(env.get(mark) for mark in _MARKS)
        or (vte.isdigit() and int(vte) >= _OLDEST_VTE)
    )


def may_open(target: str) -> bool:
    """Whether an address from a model may be made a link: http, https, or a file on this machine."""
    return len(target) <= _MAX_TARGET and _TARGET.fullmatch(target) is not None


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])


_TRUE_TERMS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour")
_TRUE_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio", "WarpTerminal")


class Looks(Struct, kw_only=True):
    """The palette in force. Whoever draws asks for it each time, so that a change is seen in all that follows."""

    palette: Palette = field(default_factory=lambda: builtin("sixteen"))


class Theme(Struct, frozen=True, kw_only=True):
    """Names of looks by meaning, for rich. Without `colour` bold and faint stay, without `escapes` nothing does.

    links: addresses can be clicked. depth: how many colours there are.
    """

    colour: bool = True
    escapes: bool = True
    links: bool = False
    depth: Depth = "standard"
    looks: Looks = field(default_factory=Looks)
    accent: str = "accent"
    good: str = "good"
    bad: str = "bad"
    warning: str = "warning"
    faint: str = "faint"
    strong: str = "strong"
    added: str = "added"
    removed: str = "removed"
    added_word: str = "added_word"
    removed_word: str = "removed_word"
    hunk: str = "hunk"
    reasoning: str = "reasoning"


class Terminal(Struct, frozen=True, kw_only=True):
    """What the output can do.

    live: the cursor may be moved, so that lines can be replaced. escapes: bold and faint are understood.
    reflows: lines are wrapped anew when the window becomes narrower, as most terminals do.
    links: it opens addresses that are marked as such. depth: how many colours it has. looks: the palette in force.
    aloud: a screen reader reads it; then nothing is drawn, and nothing of the above is so. keys: they come one by one
    all the same.
    """

    live: bool
    escapes: bool
    colour: bool
    reflows: bool
    links: bool = False
    depth: Depth = "standard"
    looks: Looks = field(default_factory=Looks)
    aloud: bool = False
    keys: bool = False

    @property
    def takes_keys(self) -> bool:
        """Whether each key can be read as it is pressed; else whole lines come."""
        return self.live or self.keys

    @property
    def theme(self) -> Theme:
        """The theme for this terminal; all of them share one palette."""
        return Theme(colour=self.colour, escapes=self.escapes, links=self.links, depth=self.depth, looks=self.looks)


def detect_terminal(
    env: Mapping[str, str], *, is_tty: bool, wants_colour: bool = True, aloud: bool = False
) -> Terminal:
    """What can be shown, from the environment: TERM=dumb, NO_COLOR (any non-empty value), and whether it is a tty.

    aloud: a screen reader reads it, as the person says.
    """
    term = env.get("TERM", "")
    able = is_tty and term not in ("dumb", "unknown")
    if aloud:
        return Terminal(live=False, escapes=False, colour=False, reflows=False, aloud=True, keys=able)
    return Terminal(
        live=able,
        escapes=able,
        colour=able and wants_colour and not env.get("NO_COLOR"),
        # xterm, GNU screen and the Linux console cut lines instead of wrapping them anew.
        reflows=able and term != "linux" and not env.get("XTERM_VERSION") and not env.get("STY"),
        links=able and takes_links(env),
        depth=colour_depth(env),
    )


def colour_depth(env: Mapping[str, str]) -> Depth:
    """How many colours the terminal has, as far as its environment tells."""
    term = env.get("TERM", "")
    if term == "linux":
        return "standard"
    if env.get("COLORTERM", "").lower() in ("truecolor", "24bit") or term.endswith("-direct"):
        return "truecolor"
    if term.startswith(_TRUE_TERMS) or env.get("TERM_PROGRAM") in _TRUE_PROGRAMS or env.get("WT_SESSION"):
        return "truecolor"
    return "256" if "256color" in term or env.get("TERM_PROGRAM") == "Apple_Terminal" else "standard"


def rich_styles(palette: Palette, *, links: bool = False) -> dict[str, str]:
    """The palette by rich's names, those of Markdown among them. links: addresses can be clicked."""
    looks, heading = {name: look.for_rich for name, look in palette.looks.items()}, palette.looks["heading"]
    return looks | {
        "markdown.code": looks["code"],
        "markdown.code_block": looks["code"],
        "markdown.kbd": looks["code"],
        "markdown.h1": heading.marked("underline").for_rich,
        "markdown.h2": looks["heading"],
        "markdown.h3": looks["heading"],
        "markdown.h4": heading.marked("italic").for_rich,
        "markdown.h5": "italic",
        "markdown.h6": "italic",
        "markdown.h7": "italic",
        "markdown.hr": looks["faint"],
        "markdown.list": "none",
        "markdown.item.bullet": looks["accent"],
        "markdown.item.number": looks["accent"],
        "markdown.link": looks["link"],
        "markdown.link_url": looks["link"] if links else looks["faint"],
        "markdown.block_quote": looks["quote"],
        "markdown.table.border": looks["faint"],
        "markdown.table.header": "bold",
    }
