"""Draw line charts as SVG: axes with round numbers and a legend, for light and dark pages."""

import math
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from msgspec import Struct

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 76, 24, 76, 56
_LEGEND_Y, _CHAR, _SWATCH = 52, 6.7, 38
_MOST_POINTS = 400
# Colors that color-blind readers can distinguish (Okabe and Ito); dashes for print.
_LIGHT = ("#0072b2", "#d55e00", "#007f5f", "#a8457f", "#8a6d00", "#4d4d4d")
_DARK = ("#56b4e9", "#ff8f4c", "#2fd1a0", "#e29ac6", "#f0e442", "#c8c8c8")
_DASHES = ("none", "7 3", "2 3", "9 3 2 3", "4 4", "1 4")


class Series(Struct, frozen=True):
    """One line of a chart: its name in the legend, and its points (x, y) in order."""

    name: str
    points: Sequence[tuple[float, float]]


class Panel(Struct, frozen=True):
    """The arguments of `render_chart` for one of several charts."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]


def write_charts(path: Path, panels: Sequence[Panel]) -> None:
    """Write several charts one below the other. Raises ValueError as `write_chart` does."""
    drawn = [render_chart(line.title, line.x_label, line.y_label, line.series) for line in panels]
    placed = [
        svg.replace("<svg ", f'<svg y="{index * HEIGHT}" height="{HEIGHT}" ', 1) for index, svg in enumerate(drawn)
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT * len(drawn)}">'
    path.write_text("\n".join([head, *placed, "</svg>\n"]), encoding="utf-8")


def write_chart(path: Path, title: str, x_label: str, y_label: str, series: Sequence[Series]) -> None:
    """Write the chart. Raises ValueError if no series has a point, or a number is not finite."""
    path.write_text(render_chart(title, x_label, y_label, series), encoding="utf-8")


def render_chart(title: str, x_label: str, y_label: str, series: Sequence[Series]) -> str:
    """Return the chart as SVG. The y axis begins at 0 unless a value is below it."""
    points = [point for line in series for point in line.points]
    if not points or not all(math.isfinite(value) for point in points for value in point):
        raise ValueError(f"the chart {title!r} needs finite points, and at least one")
    xs, ys = [x for x, _ in points], [y for _, y in points]
    x_ticks, y_ticks = make_ticks(min(xs), max(xs)), make_ticks(min(0.0, *ys), max(ys))
    x_low, x_high = min(xs), max(max(xs), min(xs) + 1e-9)
    y_low, y_high = y_ticks[0], y_ticks[-1]
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def to_x(x: float) -> float:
        return LEFT + (x - x_low) / (x_high - x_low) * (right - LEFT)

    def to_y(y: float) -> float:
        return bottom - (y - y_low) / (y_high - y_low) * (bottom - TOP)

    parts = [_head(title, len(series)), f'<text class="title" x="{LEFT}" y="28">{escape(title)}</text>']
    for tick in y_ticks:
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{to_y(tick):.1f}" x2="{right}" y2="{to_y(tick):.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{to_y(tick) + 4:.1f}" text-anchor="end">{format_number(tick)}</text>')
    for tick in x_ticks:
        if x_low <= tick <= x_high:
            x_text = f"{to_x(tick):.1f}"
            parts.append(f'<line class="axis" x1="{x_text}" y1="{bottom}" x2="{x_text}" y2="{bottom + 5}"/>')
            parts.append(f'<text x="{x_text}" y="{bottom + 20}" text-anchor="middle">{format_number(tick)}</text>')
    parts.append(f'<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}"/>')
    middle, height = (LEFT + right) / 2, (TOP + bottom) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 14}" text-anchor="middle">{escape(x_label)}</text>')
    rotation = f'transform="rotate(-90 18 {height})"'
    parts.append(f'<text x="18" y="{height}" text-anchor="middle" {rotation}>{escape(y_label)}</text>')
    for index, line in enumerate(series):
        path = " ".join(f"{to_x(x):.1f},{to_y(y):.1f}" for x, y in _thin_points(line.points))
        parts.append(f'<polyline class="line s{index % len(_LIGHT)}" points="{path}"/>')
    return "\n".join([*parts, *_legend(series), "</svg>\n"])


def make_ticks(low: float, high: float, wanted: int = 6) -> list[float]:
    """Return round numbers, 1, 2 or 5 times a power of ten apart, that include `low` and `high`."""
    span = high - low or abs(high) or 1.0
    rough = span / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(index * step, 12) for index in range(first, max(last, first + 1) + 1)]


def format_number(value: float) -> str:
    """Format a number for an axis: 0.25, 40, 12,000, 3M."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value:,.0f}" if abs(value) >= 1e3 else f"{value:g}"


def _thin_points(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return at most about 400 of the points, including the last; more would not be visible."""
    step = -(-len(points) // _MOST_POINTS)
    kept = list(points[::step]) if points else []
    return kept if not points or kept[-1] == points[-1] else [*kept, points[-1]]


def _legend(series: Sequence[Series]) -> list[str]:
    parts: list[str] = []
    x = float(LEFT)
    for index, line in enumerate(series):
        kind = f"line s{index % len(_LIGHT)}"
        parts.append(f'<line class="{kind}" x1="{x:.0f}" y1="{_LEGEND_Y}" x2="{x + 26:.0f}" y2="{_LEGEND_Y}"/>')
        parts.append(f'<text x="{x + 32:.0f}" y="{_LEGEND_Y + 4}">{escape(line.name)}</text>')
        x += _SWATCH + len(line.name) * _CHAR + 12
    return parts


def _head(title: str, count: int) -> str:
    used = range(min(count, len(_LIGHT)))
    light = "".join(f".s{n}{{stroke:{_LIGHT[n]};stroke-dasharray:{_DASHES[n]}}}" for n in used)
    dark = "".join(f".s{n}{{stroke:{_DARK[n]}}}" for n in used)
    name = escape(title, {'"': "&quot;"})
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{name}">
<style>
text{{font:12px system-ui,sans-serif;fill:#3d444d}} .title{{font-size:15px;font-weight:600;fill:#1f2328}}
.paper{{fill:#ffffff}} .axis{{stroke:#6e7781;fill:none}} .grid{{stroke:#d8dee4}} .line{{fill:none;stroke-width:2}}
{light}
@media (prefers-color-scheme:dark){{
text{{fill:#b7bfc8}} .title{{fill:#e6edf3}} .paper{{fill:#161b22}} .axis{{stroke:#8b949e}} .grid{{stroke:#30363d}}
{dark}
}}
</style>
<rect class="paper" width="{WIDTH}" height="{HEIGHT}" rx="8"/>"""
