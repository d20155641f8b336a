"""Themes: their styles, readability, themes of the user, and which one is used."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.output.vt100 import _256_colors  # pyright: ignore[reportPrivateUsage]
from prompt_toolkit.styles import Attrs
from rich.color import Color, ColorSystem
from rich.console import Console
from rich.style import Style
from rich.text import Text

from clio.config.theme_files import THEMES, theme_names
from clio.entrypoints.repl.theme import ThemeSelector, compute_luminance, parse_terminal_colour, read_user_theme
from clio.errors import ConfigError
from clio.ui.markdown import _TOKEN_STYLES as CODE_LOOKS  # pyright: ignore[reportPrivateUsage]
from clio.ui.painter import Painter, Part
from clio.ui.palettes import (
    BUILTIN_PALETTES,
    COLOURS,
    MEANINGS,
    TEXT_MARKS,
    ColourDepth,
    TextStyle,
    get_builtin_palette,
    parse_text_style,
)
from clio.ui.theme import Terminal, Theme, detect_colour_depth, make_rich_styles
from clio.ui.toolkit_style import get_toolkit_depth, make_toolkit_style
from tests.support.rows import each_row

ROOT = Path(__file__).parent.parent.parent
FAINT = {"faint", "status", "code_comment", "hunk"}
WITH_COLOURS = [table for table in BUILTIN_PALETTES if get_builtin_palette(table).backgrounds]


def contrast(one: str, other: str) -> float:
    """Source: WCAG 2.1, "contrast ratio"."""
    values = [parse_terminal_colour(colour) for colour in (one, other)]
    darker, lighter = sorted(compute_luminance(rgb) for rgb in values if rgb is not None)
    return (lighter + 0.05) / (darker + 0.05)


def hex_of(rgb: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*rgb)


def as_rich_shows_it(colour: str) -> str:
    """Return the colour that rich shows on a terminal with 256 colours."""
    return Color.parse(colour).downgrade(ColorSystem.EIGHT_BIT).get_truecolor().hex


def as_the_prompt_shows_it(colour: str) -> str:
    """Return the colour that prompt_toolkit shows."""
    number = _256_colors[tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))]
    return hex_of(_256_colors.colors[number])


@each_row("shown", [str, as_rich_shows_it, as_the_prompt_shows_it])
@each_row("table", WITH_COLOURS)
def test_every_style_is_readable_on_its_backgrounds(table: str, shown: object) -> None:
    assert callable(shown)
    palette = get_builtin_palette(table)
    assert len(palette.backgrounds) == 2
    weak: list[str] = []
    for meaning, look in palette.styles.items():
        wanted = 7.0 if "high" in table else 3.0 if meaning in FAINT else 4.5
        assert look.foreground.startswith("#") or not look.has_colour, meaning  # colours of a theme are its own
        if not look.foreground:
            continue
        for paper in [str(shown(look.background))] if look.background else palette.backgrounds:
            reached = contrast(str(shown(look.foreground)), paper)
            if reached < wanted:
                weak.append(f"{meaning} {look.foreground} on {paper}: {reached:.2f}")
    assert weak == []


@pytest.mark.parametrize("table", WITH_COLOURS)
def test_code_is_readable_on_the_backgrounds_of_rows(table: str) -> None:
    styles = get_builtin_palette(table).styles
    weak: list[str] = []
    for rows in ("code_block", "added_line", "removed_line"):
        if not styles[rows].background:
            continue
        for meaning in (*(name for name in styles if name.startswith("code_")), "added", "removed", "faint"):
            wanted = 3.0 if meaning in FAINT else 4.5
            if styles[meaning].foreground:
                reached = contrast(styles[meaning].foreground, styles[rows].background)
                weak += [f"{meaning} on {rows}: {reached:.2f}"] * (reached < wanted)
    assert weak == []


def test_the_contrast_formula_matches_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@each_row("table", BUILTIN_PALETTES)
def test_important_styles_differ_without_colour_too(table: str) -> None:
    looks = get_builtin_palette(table).styles
    assert set(looks) == set(MEANINGS)
    assert looks["menu_current"] != looks["menu"]
    assert looks["added_word"] != looks["added"] and looks["removed_word"] != looks["removed"]


def test_without_colour_no_colour_is_written() -> None:
    assert not get_builtin_palette("none").has_colour and not get_builtin_palette("high contrast").has_colour
    for style in make_rich_styles(get_builtin_palette("none")).values():
        assert Style.parse(style).color is None and Style.parse(style).bgcolor is None


def test_code_and_markdown_use_only_colours_of_the_theme() -> None:
    assert set(CODE_LOOKS.values()) <= set(MEANINGS)
    ours = make_rich_styles(get_builtin_palette("dark"))
    theirs = {name for name in Console().get_style.__self__._theme_stack._entries[0] if name.startswith("markdown.")}
    plain = {name for name in theirs if Style.parse(str(Console().get_style(name))).color is None}
    assert theirs - plain <= set(ours)


@pytest.mark.parametrize(
    ("words", "look"),
    [
        ("", TextStyle()),
        ("plain", TextStyle()),
        ("bold #FF8787", TextStyle(foreground="#ff8787", marks=("bold",))),
        (
            "Bright_Black on white underline",
            TextStyle(foreground="bright-black", background="white", marks=("underline",)),
        ),
        ("on blue", TextStyle(background="blue")),
        ("faint faint italic", TextStyle(marks=("faint", "italic"))),
    ],
)
def test_a_search_by_text(words: str, look: TextStyle) -> None:
    assert parse_text_style(words) == parse_text_style(look.as_text) == look
    Style.parse(look.for_rich)


@each_row(
    ("words", "problem"),
    [
        ("gren", "has 'gren', which is neither a colour nor one of bold, faint, .*; did you mean 'green'"),
        ("#ff87", "has '#ff87', which is no colour; write # and six digits"),
        ("red blue", "names two colours, red and blue"),
        ("bold on", "ends with 'on'"),
        ("red on on blue", "has 'on'"),
        ("\x1b[31m", r"has '\\x1b\[31m'"),
    ],
)
def test_an_invalid_style_is_refused(words: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_text_style(words)


@given(
    st.sampled_from(["", *COLOURS, "#0a1b2c"]),
    st.sampled_from(["", *COLOURS, "#ffffff"]),
    st.sets(st.sampled_from(TEXT_MARKS)),
)
def test_both_libraries_understand_every_style(front: str, back: str, marks: set[str]) -> None:
    look = TextStyle(foreground=front, background=back, marks=tuple(sorted(marks)))
    assert parse_text_style(look.as_text) == look
    style = Style.parse(look.for_rich)
    assert (style.color is None, style.bgcolor is None) == (not front, not back)
    theme = Theme(depth="truecolor")
    theme.current.palette = get_builtin_palette("none").with_styles({"prompt": look})
    attrs = make_toolkit_style(theme).get_attrs_for_style_str("class:prompt")
    assert (bool(attrs.color), bool(attrs.bgcolor), attrs.bold, attrs.dim) == (
        bool(front), bool(back), "bold" in marks, "faint" in marks,
    )  # fmt: skip


@each_row(
    ("env", "depth"),
    [
        ({"TERM": "xterm-256color"}, "256"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "truecolor"),
        ({"TERM": "screen-256color", "COLORTERM": "24bit"}, "truecolor"),
        ({"TERM": "xterm-kitty"}, "truecolor"),
        ({"TERM": "xterm-direct"}, "truecolor"),
        ({"TERM": "xterm", "WT_SESSION": "x"}, "truecolor"),
        ({"TERM": "xterm", "TERM_PROGRAM": "Apple_Terminal"}, "256"),
        ({"TERM": "xterm"}, "standard"),
        ({"TERM": "linux", "COLORTERM": "truecolor"}, "standard"),
        ({}, "standard"),
    ],
)
def test_the_number_of_colours_is_detected(env: dict[str, str], depth: ColourDepth) -> None:
    assert detect_colour_depth(env) == depth


def terminal(depth: ColourDepth = "truecolor", *, colour: bool = True) -> Terminal:
    return Terminal(live=True, escapes=True, colour=colour, reflows=True, depth=depth)


@each_row(
    ("name", "depth", "paper", "table"),
    [
        ("auto", "truecolor", None, "sixteen"),
        ("auto", "256", "dark", "dark"),
        ("auto", "truecolor", "light", "light"),
        ("auto", "standard", "dark", "sixteen dark"),
        ("dark", "truecolor", "light", "dark"),
        ("light", "standard", None, "sixteen light"),
        ("high-contrast", "truecolor", None, "high contrast"),
        ("high-contrast", "256", "light", "high contrast light"),
        ("high-contrast", "standard", "dark", "high contrast"),
        ("none", "truecolor", "dark", "none"),
    ],
)
def test_the_palette_is_chosen(tmp_path: Path, name: str, depth: ColourDepth, paper: str | None, table: str) -> None:
    shown = terminal(depth)
    themes = ThemeSelector(shown, tmp_path, {"TERM": "xterm"}, name)
    if paper == "dark" or paper == "light":
        themes.set_background(paper)
    assert shown.current.palette is get_builtin_palette(table)
    assert themes.needs_background is (name in ("auto", "high-contrast"))


def test_the_environment_gives_the_background_until_the_terminal_answers(tmp_path: Path) -> None:
    shown = terminal()
    themes = ThemeSelector(shown, tmp_path, {"TERM": "xterm", "COLORFGBG": "0;15"})
    assert shown.current.palette is get_builtin_palette("light")
    themes.set_background("dark")
    assert shown.current.palette is get_builtin_palette("dark")


def test_without_colour_no_theme_adds_any(tmp_path: Path) -> None:
    shown = terminal(colour=False)
    themes = ThemeSelector(shown, tmp_path, {"TERM": "xterm"}, "dark")
    assert shown.current.palette is get_builtin_palette("none") and not themes.needs_background


def own(home: Path, name: str, text: str) -> None:
    (home / "themes").mkdir(exist_ok=True)
    (home / "themes" / f"{name}.yaml").write_text(text, encoding="utf-8")


def test_a_users_theme_can_extend_another(tmp_path: Path) -> None:
    own(tmp_path, "mine", 'extends: dark\naccent: "#ff8700"\nadded: bold green\n')
    shown = terminal()
    themes = ThemeSelector(shown, tmp_path, {"TERM": "xterm"}, "mine")
    looks = shown.current.palette.styles
    assert (looks["accent"], looks["added"]) == (
        TextStyle(foreground="#ff8700"),
        TextStyle(foreground="green", marks=("bold",)),
    )
    assert looks["bad"] == get_builtin_palette("dark").styles["bad"]
    assert themes.problem == "" and not themes.needs_background


def test_a_theme_that_extends_auto_follows_the_background(tmp_path: Path) -> None:
    own(tmp_path, "mine", "bad: bold red\n")
    shown = terminal()
    themes = ThemeSelector(shown, tmp_path, {"TERM": "xterm"}, "mine")
    assert themes.needs_background
    themes.set_background("light")
    assert shown.current.palette == get_builtin_palette("light").with_styles(
        {"bad": TextStyle(foreground="red", marks=("bold",))}
    )


@each_row(
    ("text", "problem"),
    [
        ("accnt: red", r"themes/mine\.yaml:1: unknown key 'accnt'; did you mean 'accent'"),
        ("extends: dark\naccent: gren", r"themes/mine\.yaml:2: accent has 'gren', .* did you mean 'green'"),
        ("accent: #ff8700", r"mine\.yaml:1: accent ends before the #, which begins a comment"),
        ("accent: bold #ff8700 on black", r"mine\.yaml:1: accent ends before the #"),
        ("accent:", r"mine\.yaml:1: accent has no value"),
        ("accent: [red]", r"mine\.yaml:1: accent must be .*, not a list"),
        ("accent: 12", r"mine\.yaml:1: accent must be .*, not '12'"),
        ("extends: other", r"mine\.yaml:1: extends must be one of auto, dark, light, high-contrast, none, not 'other'"),
        ('accent: "\\e[31m"', r"mine\.yaml:1: accent has '\\x1b\[31m'"),
        ("- red", r"mine\.yaml:1: expected lines such as"),
        ("accent: 'red", r"mine\.yaml:1: a quotation mark"),
    ],
)
def test_an_invalid_theme_is_named_and_clio_continues(tmp_path: Path, text: str, problem: str) -> None:
    own(tmp_path, "mine", text)
    with pytest.raises(ConfigError, match=problem):
        read_user_theme(tmp_path, "mine")
    shown = terminal()
    themes = ThemeSelector(shown, tmp_path, {"TERM": "xterm"}, "mine")
    assert re.search(r"(\? U|; u)sing the theme auto$", themes.problem)
    assert themes.name == "auto" and shown.current.palette is get_builtin_palette("sixteen")
    with pytest.raises(ConfigError):
        themes.use("mine")
    assert themes.name == "auto"


def test_the_documented_theme_works(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "themes.md").read_text(encoding="utf-8")
    example = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    own(tmp_path, "dusk", example[0])
    assert read_user_theme(tmp_path, "dusk").styles["added_word"] == TextStyle(
        foreground="black", background="bright-green"
    )
    own(tmp_path, "dusk", example[0].replace("added: bright-green", "added: bright-gren"))
    with pytest.raises(ConfigError) as caught:
        read_user_theme(tmp_path, "dusk")
    messages = re.findall(r"(themes/dusk\.yaml:.*)", page)[0]
    assert re.fullmatch(".*".join(map(re.escape, messages.split("…"))), str(caught.value))
    picture = (ROOT / "docs" / "themes.svg").read_text(encoding="utf-8")
    for table in ("dark", "light", "high contrast dark"):
        for meaning in ("accent", "removed", "code_keyword"):
            assert get_builtin_palette(table).styles[meaning].foreground in picture, "make tour draws it anew"


@each_row("name", ["../config", "/etc/passwd", "a/b", "", ".hidden", "x\x1b[31m", "a" * 65, "gone"])
def test_a_theme_name_is_no_path(tmp_path: Path, name: str) -> None:
    (tmp_path / "config.yaml").write_text("accent: red\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="there is no theme") as caught:
        read_user_theme(tmp_path, name)
    assert "\x1b" not in str(caught.value)


def test_all_themes_are_listed(tmp_path: Path) -> None:
    assert theme_names(tmp_path) == list(THEMES)
    for name in ("zebra", "ash", "dark", "not ok", "-x"):
        own(tmp_path, name, "")
    (tmp_path / "themes" / "readme.txt").write_text("", encoding="utf-8")
    assert theme_names(tmp_path) == [*THEMES, "ash", "zebra"]


def test_a_changed_theme_is_used_for_the_next_output() -> None:
    shown = terminal()
    theme = shown.theme
    painter, style = Painter(theme, lambda: (40, 10)), make_toolkit_style(theme)
    part = Part(body=Text("x", theme.bad))

    def drawn() -> tuple[str, Attrs]:
        return painter.render_lines(part), style.get_attrs_for_style_str("class:completion-menu.completion.current")

    before = drawn()
    shown.current.palette = get_builtin_palette("light")
    assert drawn() != before
    assert painter.render_lines(part) == "\x1b[38;2;175;0;0mx\x1b[0m\n"
    assert drawn()[1].color == "ffffff" and not drawn()[1].reverse
    shown.current.palette = get_builtin_palette("none")
    assert painter.render_lines(part) == "x\n"
    assert get_toolkit_depth(theme).value == "DEPTH_1_BIT"


@pytest.mark.parametrize(
    ("depth", "colour", "painted"),  # one colour each, because rich caches the first result of a style
    [
        ("standard", "#cd0102", "\x1b[31mx"),
        ("256", "#d70102", "\x1b[38;5;160mx"),
        ("truecolor", "#d70304", "\x1b[38;2;215;3;4mx"),
    ],
)
def test_colours_are_rounded_to_available_ones(tmp_path: Path, depth: ColourDepth, colour: str, painted: str) -> None:
    own(tmp_path, "mine", f'bad: "{colour}"')
    shown = terminal(depth)
    ThemeSelector(shown, tmp_path, {"TERM": "xterm"}, "mine")
    assert Painter(shown.theme, lambda: (40, 10)).render_lines(Part(body=Text("x", "bad"))).startswith(painted)
