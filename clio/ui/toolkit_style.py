"""A palette as a style of prompt_toolkit, which draws the prompt line and the questions."""

from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import BaseStyle, DynamicStyle, Style

from clio.ui.palettes import Look, Palette
from clio.ui.theme import Theme

_CLASSES = {
    "prompt": "prompt",
    "continuation": "status",
    "bottom-toolbar": "",
    "bottom-toolbar.text": "status",
    "bottom-toolbar.chips": "chips",
    "completion-menu": "menu",
    "completion-menu.completion": "menu",
    "completion-menu.completion.current": "menu_current",
    "completion-menu.meta.completion": "menu_note",
    "completion-menu.meta.completion.current": "menu_note_current",
    "completion-menu.multi-column-meta": "menu_note",
    "scrollbar.background": "menu_note",
    "control-character": "accent",
    "digraph": "accent",
    "nbsp": "link",
    "hint": "status",
    "choice": "strong",
}
"""prompt_toolkit's names of what it draws → the meaning it has here; "" is plain."""
_DEPTHS = {
    "standard": ColorDepth.DEPTH_4_BIT,
    "256": ColorDepth.DEPTH_8_BIT,
    "truecolor": ColorDepth.DEPTH_24_BIT,
}


def toolkit_style(theme: Theme) -> BaseStyle:
    """A style that follows the palette in force."""
    made: list[tuple[Palette, Style]] = []

    def now() -> BaseStyle:
        palette = theme.looks.palette
        if not made or made[0][0] is not palette:
            made[:] = [(palette, _style(palette))]
        return made[0][1]

    return DynamicStyle(now)


def toolkit_depth(theme: Theme) -> ColorDepth:
    """How many colours may be used now: none, where the palette has none, so that nobody else's shine through."""
    if not theme.colour or not theme.looks.palette.coloured:
        return ColorDepth.DEPTH_1_BIT
    return _DEPTHS[theme.depth]


def _style(palette: Palette) -> Style:
    looks = palette.looks
    styles = {name: looks[meaning].for_toolkit if meaning else "noinherit" for name, meaning in _CLASSES.items()}
    shade = looks["status"].front
    button = Look(back=shade) if shade else Look(marks=("reverse",))
    return Style.from_dict(styles | {"scrollbar.button": button.for_toolkit})
