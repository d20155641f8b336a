"""Draw bar charts of the agents' times as SVG, for light and dark pages."""

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT = 760, 130, 90
_BAR, _GAP, _TITLE, _BETWEEN = 18, 6, 30, 18


def draw_bars(title: str, panels: Sequence[tuple[str, str, Mapping[str, float]]], own: str = "clio") -> str:
    """Return an SVG with a panel for each (title, unit, values by name), shortest bar first and `own` in color.

    Raises ValueError if a panel has no value above 0.
    """
    parts: list[str] = []
    y = 46
    for name, unit, values in panels:
        longest = max(values.values(), default=0)
        if longest <= 0:
            raise ValueError(f"nothing to draw for {name!r}")
        parts.append(f'<text class="t" x="16" y="{y}">{escape(name)}</text>')
        y += _TITLE - 16
        for label, value in sorted(values.items(), key=lambda pair: pair[1]):
            width = max(1.0, value / longest * (WIDTH - LEFT - RIGHT))
            kind = "own" if label == own else "bar"
            parts.append(f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(label)}</text>')
            parts.append(f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{width:.1f}" height="{_BAR}" rx="2"/>')
            parts.append(f'<text x="{LEFT + width + 6:.1f}" y="{y + 13}">{_number(value)} {escape(unit)}</text>')
            y += _BAR + _GAP
        y += _BETWEEN + 10
    style = (
        "text{font:13px system-ui,sans-serif;fill:#333}.t{font-weight:600}.h{font-size:15px;font-weight:600}"
        ".bar{fill:#9aa5b1}.own{fill:#0072b2}"
        "@media(prefers-color-scheme:dark){text{fill:#ddd}.bar{fill:#5c6670}.own{fill:#56b4e9}}"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" role="img">'
    top = f'<text class="h" x="16" y="22">{escape(title)}</text>'
    return "\n".join([head, f"<title>{escape(title)}</title>", f"<style>{style}</style>", top, *parts, "</svg>\n"])


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"
