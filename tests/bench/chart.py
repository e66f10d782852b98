"""Draws the charts of the benchmarks."""

import math


def geo_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def dots(title, rows, series, ticks, note):
    """An SVG of ratios: a dot for each, a bar for their geometric mean.

    `rows` are labels, from top to bottom; `series` are (label, color, {row:
    ratios}); `ticks` those of the logarithmic axis, which ends at the first
    and the last.
    """
    left, width, top, apart = 110, 560, 64, 8
    step = apart * len(series) + 10
    height = top + step * len(rows) + 44
    low, high = ticks[0], ticks[-1]

    def x(ratio):
        ratio = min(max(ratio, low), high)
        return left + width * math.log(ratio / low) / math.log(high / low)

    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 '
           f'{left + width + 20} {height}" font-family="sans-serif" '
           f'font-size="12">',
           '<rect width="100%" height="100%" fill="#ffffff"/>',
           f'<text x="10" y="20" font-size="14">{title}</text>']
    at = 16
    for label, color, _ in series:
        svg.append(f'<circle cx="{at}" cy="38" r="5" fill="{color}"/>'
                   f'<text x="{at + 10}" y="42">{label}</text>')
        at += 30 + 7 * len(label)
    for tick in ticks:
        bold = 'stroke="#555555"' if tick == 1 else 'stroke="#dddddd"'
        svg.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top - 8}"'
                   f' y2="{height - 36}" {bold}/><text x="{x(tick):.1f}" '
                   f'y="{height - 20}" text-anchor="middle">{tick:g}</text>')
    for number, row in enumerate(rows):
        y = top + step * number + apart * len(series) // 2
        svg.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{row}'
                   '</text>')
        for k, (_, color, ratios) in enumerate(series):
            dy = y + apart * (2 * k - len(series) + 1) // 2
            found = ratios.get(row, [])
            svg += [f'<circle cx="{x(d):.1f}" cy="{dy}" r="3" fill="{color}" '
                    'fill-opacity="0.35"/>' for d in found]
            if found:
                svg.append(f'<rect x="{x(geo_mean(found)) - 1.5:.1f}" '
                           f'y="{dy - 5}" width="3" height="10" '
                           f'fill="{color}"/>')
    svg.append(f'<text x="{left}" y="{height - 4}" fill="#555555">{note}; log '
               'scale</text>')
    return "\n".join(svg + ["</svg>"]) + "\n"
