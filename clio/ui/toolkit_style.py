"""The theme's colours for prompt_toolkit."""

from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import BaseStyle, DynamicStyle, Style

from clio.ui.palettes import Palette, TextStyle
from clio.ui.theme import Theme

_TOOLKIT_CLASSES = {
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
    "placeholder": "status",
    "choice": "strong",
    "choice.selected": "strong",
}
"""Maps prompt_toolkit's style names to the theme's meanings; "" means plain."""
_TOOLKIT_DEPTHS = {
    "standard": ColorDepth.DEPTH_4_BIT,
    "256": ColorDepth.DEPTH_8_BIT,
    "truecolor": ColorDepth.DEPTH_24_BIT,
}


def make_toolkit_style(theme: Theme) -> BaseStyle:
    """Return a prompt_toolkit style that follows changes of the palette."""
    made: list[tuple[Palette, Style]] = []

    def get_current_style() -> BaseStyle:
        palette = theme.current.palette
        if not made or made[0][0] is not palette:
            made[:] = [(palette, _convert_palette(palette))]
        return made[0][1]

    return DynamicStyle(get_current_style)


def get_toolkit_depth(theme: Theme) -> ColorDepth:
    """Return how many colours may be used: one if the palette has none, so that prompt_toolkit's own do not appear."""
    if not theme.colour or not theme.current.palette.has_colour:
        return ColorDepth.DEPTH_1_BIT
    return _TOOLKIT_DEPTHS[theme.depth]


def _convert_palette(palette: Palette) -> Style:
    palette_styles = palette.styles
    styles = {
        name: palette_styles[meaning].for_toolkit if meaning else "noinherit"
        for name, meaning in _TOOLKIT_CLASSES.items()
    }
    sent, prompt = palette_styles["user_message"], palette_styles["prompt"]
    sent_prompt = TextStyle(foreground=prompt.foreground, background=sent.background, marks=prompt.marks)
    styles |= {"accepted": sent.for_toolkit, "accepted.continuation": sent.for_toolkit}
    # Both classes, because prompt_toolkit adds "accepted" behind that of a sent line's prompt.
    styles["accepted.prompt accepted"] = sent_prompt.for_toolkit
    shade = palette_styles["status"].foreground
    button = TextStyle(background=shade) if shade else TextStyle(marks=("reverse",))
    return Style.from_dict(styles | {"scrollbar.button": button.for_toolkit})
