#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A line chart as SVG, both axes logarithmic. usage: plot.py TITLE X-LABEL Y-LABEL <DATA >FILE.svg
DATA: lines of "series x y". The colours work on light and dark pages."""
import html
import math
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 400, 70, 130, 40, 50
COLOURS = ["#3b7dd8", "#d9662c", "#2f9e6e", "#b04a9a", "#8a7a1f", "#777777"]


def short(v):
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if v >= size:
            return f"{v / size:g}{unit}"
    return f"{v:g}"


def ticks(low, high):
    found = [m * 10.0**e for e in range(-3, 13) for m in (1, 2, 5)]
    found = [v for v in found if low * 0.999 <= v <= high * 1.001]
    if len(found) > 9:
        found = [v for v in found if abs(math.log10(v) - round(math.log10(v))) < 1e-9]
    return found


def main():
    title, x_label, y_label = (html.escape(a) for a in sys.argv[1:4])
    series = {}
    for line in sys.stdin:
        name, x, y = line.split()
        series.setdefault(name, []).append((float(x), float(y)))
    points = [p for s in series.values() for p in s]
    x0, x1 = min(p[0] for p in points), max(p[0] for p in points)
    y0, y1 = min(min(p[1] for p in points) / 1.3, 5), max(p[1] for p in points) * 1.3
    if x0 == x1:
        x1 = x0 * 10

    def at_x(v):
        return LEFT + (math.log(v) - math.log(x0)) / (math.log(x1) - math.log(x0)) * (WIDTH - LEFT - RIGHT)

    def at_y(v):
        return HEIGHT - BOTTOM - (math.log(v) - math.log(y0)) / (math.log(y1) - math.log(y0)) * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
           f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" fill="#888">']
    out.append(f'<text x="{LEFT}" y="22" font-size="15">{title}</text>')
    for v in ticks(x0, x1):
        out.append(f'<line x1="{at_x(v):.1f}" y1="{TOP}" x2="{at_x(v):.1f}" y2="{HEIGHT - BOTTOM}" stroke="#8884"/>')
        out.append(f'<text x="{at_x(v):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{short(v)}</text>')
    for v in ticks(y0, y1):
        out.append(f'<line x1="{LEFT}" y1="{at_y(v):.1f}" x2="{WIDTH - RIGHT}" y2="{at_y(v):.1f}" stroke="#8884"/>')
        out.append(f'<text x="{LEFT - 8}" y="{at_y(v) + 4:.1f}" text-anchor="end">{short(v)}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">{x_label}</text>')
    out.append(f'<text transform="translate(18 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">{y_label}</text>')
    ends = []
    for (name, line), colour in zip(series.items(), COLOURS):
        line.sort()
        path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in line)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for x, y in line:
            out.append(f'<circle cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="3" fill="{colour}"/>')
        ends.append([at_y(line[-1][1]), name, colour])
    ends.sort()
    for i, end in enumerate(ends):
        if i and end[0] < ends[i - 1][0] + 14:
            end[0] = ends[i - 1][0] + 14
        out.append(f'<text x="{WIDTH - RIGHT + 10}" y="{end[0] + 4:.1f}" fill="{end[2]}">{html.escape(end[1])}</text>')
    out.append("</svg>")
    print("\n".join(out))


main()
