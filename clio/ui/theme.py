"""The few looks clio uses on a screen, and what the terminal can do.

Only the terminal's own sixteen colours are used: they follow the user's palette, dark or light.
"""

from collections.abc import Mapping

from msgspec import Struct

from clio.ui.terminal_links import takes_links


class Theme(Struct, frozen=True, kw_only=True):
    """Styles by meaning, in rich's words. Without `colour` bold and faint stay, without `escapes` nothing does.

    links: addresses can be clicked.
    """

    colour: bool = True
    escapes: bool = True
    links: bool = False
    accent: str = "cyan"
    good: str = "green"
    bad: str = "red"
    warning: str = "yellow"
    faint: str = "dim"
    strong: str = "bold"
    added: str = "green"
    removed: str = "red"
    hunk: str = "cyan"
    reasoning: str = "dim italic"


class Terminal(Struct, frozen=True, kw_only=True):
    """What the output can do.

    live: the cursor may be moved, so that lines can be replaced. escapes: bold and faint are understood.
    reflows: lines are wrapped anew when the window becomes narrower, as most terminals do.
    links: it opens addresses that are marked as such.
    """

    live: bool
    escapes: bool
    colour: bool
    reflows: bool
    links: bool = False

    @property
    def theme(self) -> Theme:
        """The theme for this terminal."""
        return Theme(colour=self.colour, escapes=self.escapes, links=self.links)


def detect_terminal(env: Mapping[str, str], *, is_tty: bool, wants_colour: bool = True) -> Terminal:
    """What can be shown, from the environment: TERM=dumb, NO_COLOR (any non-empty value), and whether it is a tty."""
    term = env.get("TERM", "")
    able = is_tty and term not in ("dumb", "unknown")
    return Terminal(
        live=able,
        escapes=able,
        colour=able and wants_colour and not env.get("NO_COLOR"),
        # xterm, GNU screen and the Linux console cut lines instead of wrapping them anew.
        reflows=able and term != "linux" and not env.get("XTERM_VERSION") and not env.get("STY"),
        links=able and takes_links(env),
    )


def markdown_styles(theme: Theme) -> dict[str, str]:
    """rich's style names for Markdown, without its backgrounds, which suit dark terminals only."""
    return {
        "markdown.code": theme.accent,
        "markdown.code_block": theme.accent,
        "markdown.h1": "bold underline",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.h4": "bold italic",
        "markdown.h5": "italic",
        "markdown.h6": "italic",
        "markdown.hr": theme.faint,
        "markdown.item.bullet": theme.accent,
        "markdown.item.number": theme.accent,
        "markdown.link": "underline",
        "markdown.link_url": theme.faint,
        "markdown.block_quote": theme.faint,
        "markdown.table.border": theme.faint,
        "markdown.table.header": "bold",
    }
