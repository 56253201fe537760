# SPDX-License-Identifier: GPL-2.0-only
"""Draws medians as bars, with their range as a line on top: one SVG file."""

import math
from html import escape

from .measure import KNOWN, size_text

COLOURS = {"tcp": "#8c8c8c", "tcp-digest": "#5f5f5f", "tcp-record": "#707070",
           "tcp-kcm": "#84768a",
           "tcp-pages": "#c4c4a0", "tcp-trunc": "#a8a8a8",
           "tcp-splice": "#b9b09a", "tcp-zerocopy": "#9a9ab9", "siw": "#d98200", "mpa": "#1f6fb4",
           "mpa-crc": "#7fb2dd", "mpa-markers": "#9fd0b0", "mpa-slow": "#c7b8dd",
           "mpa-early": "#b58a6b", "mpa-timer": "#8f6b8f",
           "crc": "#c9c9c9"}
BAR = 26
GAP = 34
HEIGHT = 260
LEFT, TOP, BOTTOM = 64, 56, 64
# Between names of the legend.
DISTANCE = 76
STEPS = (1, 2, 2.5, 5, 10)
# The attributes are for a light page; this replaces them where the reader's is dark.
STYLE = """<style>
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117 }
text { fill: #e6edf3 }
.grid { stroke: #3d444d }
.range { stroke: #e6edf3 }
}
</style>"""


def round_step(largest, lines=5):
    """A round distance between lines, `lines` of which reach the largest value."""
    exponent = 10 ** math.floor(math.log10(largest / lines))
    return next(step * exponent for step in STEPS
                if step * exponent * lines >= largest * 0.999)


def groups(series):
    """Series drawn side by side, by MTU, operation and size."""
    found = {}
    for one in series:
        key = (one.case.mtu, one.case.operation, one.case.size)
        found.setdefault(key, []).append(one)
    for members in found.values():
        members.sort(key=lambda one: KNOWN.index(one.contestant))
    return dict(sorted(found.items()))


def text(x, y, content, anchor="middle", size=12, more=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
            f'font-size="{size}"{more}>{escape(content)}</text>')


class Scale:
    """Converts values to heights on the page."""

    def __init__(self, largest):
        self.step = round_step(largest)
        self.top = self.step
        while self.top < largest:
            self.top += self.step

    def y(self, value):
        return TOP + HEIGHT * (1 - value / self.top)

    def lines(self, width):
        parts, value = [], 0.0
        while value <= self.top * 1.001:
            y = self.y(value)
            parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{width:.1f}" '
                         f'y2="{y:.1f}" class="grid" stroke="#ddd"/>')
            parts.append(text(LEFT - 6, y + 4, f"{value:g}", "end", 11))
            value += self.step
        return parts


def bar(scale, x, found, colour):
    """found: median, min and max."""
    top, middle = scale.y(found["median"]), x + BAR / 2
    return [
        f'<rect x="{x:.1f}" y="{top:.1f}" width="{BAR}" '
        f'height="{scale.y(0) - top:.1f}" fill="{colour}"/>',
        f'<line x1="{middle:.1f}" y1="{scale.y(found["min"]):.1f}" '
        f'x2="{middle:.1f}" y2="{scale.y(found["max"]):.1f}" class="range" stroke="#000"/>',
        text(middle, scale.y(found["max"]) - 4, f'{found["median"]:.3g}', size=10),
    ]


def legend(width, colours, distance=DISTANCE):
    """colours: {name: colour}; the last one ends at width."""
    parts, x = [], width - distance * len(colours)
    for name, colour in colours.items():
        parts.append(f'<rect x="{x}" y="30" width="10" height="10" '
                     f'fill="{colour}"/>')
        parts.append(text(x + 14, 39, name, "start", 11))
        x += distance
    return parts


def page(width, height, parts, comment=""):
    """A whole file; comment: its first lines."""
    return (f'{comment}<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
            f'height="{height}" font-family="sans-serif">\n{STYLE}\n'
            f'<rect width="100%" height="100%" class="page" fill="#fff"/>\n'
            + "\n".join(parts) + "\n</svg>\n")


def svg(series, title, unit):
    """The whole picture, or None if there is nothing to draw."""
    series = [one for one in series if one.values]
    if not series:
        return None
    sets = groups(series)
    width = LEFT + GAP / 2 + sum(
        max(len(members) * BAR, 60) + GAP for members in sets.values())
    present = {one.contestant for one in series}
    width = max(width, 420, 300 + DISTANCE * len(present))
    scale = Scale(max(max(one.values.values()) for one in series))
    parts = scale.lines(width)
    x = LEFT + GAP / 2
    for (mtu, operation, size), members in sets.items():
        room = max(len(members) * BAR, 60)
        start = x + (room - len(members) * BAR) / 2
        for place, one in enumerate(members):
            parts += bar(scale, start + place * BAR, one.summary(),
                         COLOURS[one.contestant])
        for line, words in enumerate((operation, size_text(size), f"MTU {mtu}")):
            parts.append(text(x + room / 2, TOP + HEIGHT + 18 + 15 * line, words))
        x += room + GAP
    parts.append(text(LEFT, 20, title, "start", 15, ' font-weight="bold"'))
    parts.append(text(LEFT, 40, f"{unit}; bars: medians, lines: ranges", "start", 11))
    parts += legend(width, {who: COLOURS[who] for who in KNOWN if who in present})
    return page(width, TOP + HEIGHT + BOTTOM, parts)
