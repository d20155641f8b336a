"""Draws named series as an SVG line chart: axes with round numbers, a legend, the same in a light and a dark page."""

import math
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from msgspec import Struct

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 76, 24, 76, 56
_LEGEND_Y, _CHAR, _SWATCH = 52, 6.7, 38
_MOST_POINTS = 400
# Told apart by colour-blind readers too (Okabe and Ito), and by dashes in print.
_LIGHT = ("#0072b2", "#d55e00", "#007f5f", "#a8457f", "#8a6d00", "#4d4d4d")
_DARK = ("#56b4e9", "#ff8f4c", "#2fd1a0", "#e29ac6", "#f0e442", "#c8c8c8")
_DASHES = ("none", "7 3", "2 3", "9 3 2 3", "4 4", "1 4")


class Series(Struct, frozen=True):
    """One line of a chart: its name in the legend and its points (x, y) in the order they are joined."""

    name: str
    points: Sequence[tuple[float, float]]


class Panel(Struct, frozen=True):
    """One chart of several: what `chart` takes."""

    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]


def write_charts(path: Path, panels: Sequence[Panel]) -> None:
    """Write several charts one below the other. Raises ValueError as `write_chart` does."""
    drawn = [chart(one.title, one.x_label, one.y_label, one.series) for one in panels]
    placed = [
        svg.replace("<svg ", f'<svg y="{place * HEIGHT}" height="{HEIGHT}" ', 1) for place, svg in enumerate(drawn)
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT * len(drawn)}">'
    path.write_text("\n".join([head, *placed, "</svg>\n"]), encoding="utf-8")


def write_chart(path: Path, title: str, x_label: str, y_label: str, series: Sequence[Series]) -> None:
    """Write the chart. Raises ValueError where no series has a point, or a number is not finite."""
    path.write_text(chart(title, x_label, y_label, series), encoding="utf-8")


def chart(title: str, x_label: str, y_label: str, series: Sequence[Series]) -> str:
    """The chart as SVG. The y axis begins at 0 unless a value is below it."""
    points = [point for one in series for point in one.points]
    if not points or not all(math.isfinite(number) for point in points for number in point):
        raise ValueError(f"the chart {title!r} needs finite points, and at least one")
    xs, ys = [x for x, _ in points], [y for _, y in points]
    x_ticks, y_ticks = ticks(min(xs), max(xs)), ticks(min(0.0, *ys), max(ys))
    x_low, x_high = min(xs), max(max(xs), min(xs) + 1e-9)
    y_low, y_high = y_ticks[0], y_ticks[-1]
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def across(x: float) -> float:
        return LEFT + (x - x_low) / (x_high - x_low) * (right - LEFT)

    def up(y: float) -> float:
        return bottom - (y - y_low) / (y_high - y_low) * (bottom - TOP)

    parts = [_head(title, len(series)), f'<text class="title" x="{LEFT}" y="28">{escape(title)}</text>']
    for tick in y_ticks:
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{up(tick):.1f}" x2="{right}" y2="{up(tick):.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{up(tick) + 4:.1f}" text-anchor="end">{number(tick)}</text>')
    for tick in x_ticks:
        if x_low <= tick <= x_high:
            at = f"{across(tick):.1f}"
            parts.append(f'<line class="axis" x1="{at}" y1="{bottom}" x2="{at}" y2="{bottom + 5}"/>')
            parts.append(f'<text x="{at}" y="{bottom + 20}" text-anchor="middle">{number(tick)}</text>')
    parts.append(f'<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}"/>')
    middle, height = (LEFT + right) / 2, (TOP + bottom) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 14}" text-anchor="middle">{escape(x_label)}</text>')
    turned = f'transform="rotate(-90 18 {height})"'
    parts.append(f'<text x="18" y="{height}" text-anchor="middle" {turned}>{escape(y_label)}</text>')
    for place, one in enumerate(series):
        line = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in _thinned(one.points))
        parts.append(f'<polyline class="line s{place % len(_LIGHT)}" points="{line}"/>')
    return "\n".join([*parts, *_legend(series), "</svg>\n"])


def ticks(low: float, high: float, wanted: int = 6) -> list[float]:
    """Round numbers (1, 2 or 5 times a power of ten apart) from at or below low to at or above high."""
    span = high - low or abs(high) or 1.0
    rough = span / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(place * step, 12) for place in range(first, max(last, first + 1) + 1)]


def number(value: float) -> str:
    """A number as an axis shows it: 0.25, 40, 12,000, 3M."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value:,.0f}" if abs(value) >= 1e3 else f"{value:g}"


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most some hundred of the points, the last among them: more cannot be seen."""
    step = -(-len(points) // _MOST_POINTS)
    kept = list(points[::step]) if points else []
    return kept if not points or kept[-1] == points[-1] else [*kept, points[-1]]


def _legend(series: Sequence[Series]) -> list[str]:
    parts: list[str] = []
    at = float(LEFT)
    for place, one in enumerate(series):
        kind = f"line s{place % len(_LIGHT)}"
        parts.append(f'<line class="{kind}" x1="{at:.0f}" y1="{_LEGEND_Y}" x2="{at + 26:.0f}" y2="{_LEGEND_Y}"/>')
        parts.append(f'<text x="{at + 32:.0f}" y="{_LEGEND_Y + 4}">{escape(one.name)}</text>')
        at += _SWATCH + len(one.name) * _CHAR + 12
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
