"""What a soak has sampled, as a picture."""

from harness import MIB


def chart(samples: list) -> str:
    """RSS, descriptors and threads over time, as SVG."""
    width, height, step = 640, 110, 140
    end = max(samples[-1]["seconds"], 1)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 120}" '
           f'height="{3 * step + 20}" font-family="sans-serif" '
           'font-size="12">']
    rows = (("rss", "RSS, MiB", MIB), ("fds", "descriptors", 1),
            ("threads", "threads", 1))
    for k, (key, name, unit) in enumerate(rows):
        top = max(s[key] for s in samples) / unit * 1.1 or 1
        points = " ".join(
            f"{60 + s['seconds'] / end * width:.1f},"
            f"{20 + k * step + height * (1 - s[key] / unit / top):.1f}"
            for s in samples)
        out.append(
            f'<text x="60" y="{14 + k * step}">{name}</text>'
            f'<text x="4" y="{30 + k * step}">{top:.0f}</text>'
            f'<text x="4" y="{20 + k * step + height}">0</text>'
            f'<rect x="60" y="{20 + k * step}" width="{width}" '
            f'height="{height}" fill="none" stroke="#999"/>'
            f'<polyline points="{points}" fill="none" stroke="#06c"/>')
    out.append(f'<text x="{width - 20}" y="{3 * step + 10}">'
               f'{end / 60:.1f} minutes</text></svg>')
    return "\n".join(out)
