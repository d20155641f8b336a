"""One line of each theme, in its own colours and, where there are enough of them, on its own background."""

from collections.abc import Iterator

from rich.text import Text

from clio.ui.themes.palette import Palette

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
