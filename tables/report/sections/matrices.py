"""A card for every matrix."""

import base64
import collections
import struct
import zlib

from logs import is_number
from sections.markup import escape
from texts import three_digits
from units.layout import fastest
from units.unit import gflop_per_s, winner_text
MOST_CELLS = 256  # cells along the side of a thumbnail


def png(pattern):
    """A thumbnail of record.def as a PNG: grey with transparency, so that it suits any page."""
    lines = [line[:MOST_CELLS] for line in pattern.split("/", MOST_CELLS)[:MOST_CELLS]]
    width = max(map(len, lines))
    shade = {str(level): round(60 + 195 * level / 9) for level in range(1, 10)}  # all else, also other digits, is empty
    raw = b"".join(b"\0" + b"".join(bytes((0, shade.get(cell, 0))) for cell in line.ljust(width, "0")) for line in lines)

    def chunk(kind, body):
        return (struct.pack(">I", len(body)) + kind + body
                + struct.pack(">I", zlib.crc32(kind + body)))
    return (b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", width, len(lines), 8, 4, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def matrix_card(matrix, units):
    """A matrix: what it looks like, its size and shape, its best kernel on every system."""
    found = {name: next((unit.record[name] for unit in units
                         if unit.record.get(name) is not None), None)
             for name in ("matrix.thumbnail", "matrix.rows", "matrix.cols", "matrix.row_mean",
                          "matrix.row_std", "matrix.row_max", "matrix.symmetry")}
    pattern = found["matrix.thumbnail"]
    picture = '<div class="pattern none">no picture logged</div>'
    if isinstance(pattern, str) and pattern.strip("/"):
        data = base64.b64encode(png(pattern)).decode()
        picture = (f'<img class=pattern alt="sparsity pattern of {escape(matrix.name)}" '
                   f'src="data:image/png;base64,{data}">')

    def number(name):
        value = found[name]
        if isinstance(value, int):
            return f"{value:,}"
        return three_digits(value) if is_number(value) else "?"
    timed = [unit for unit in units if unit.status == "ok"]
    best = fastest(timed) if timed else None
    size = (f"{found['matrix.rows']:,} × {found['matrix.cols']:,}"
            if found["matrix.rows"] is not None and found["matrix.cols"] is not None else "")
    return (f"<figure>{picture}<figcaption><b>{escape(matrix.name)}</b>{size}<br>"
            f"{matrix.nnz:,} nonzeros<br>μ {number('matrix.row_mean')}, σ "
            f"{number('matrix.row_std')}, longest {number('matrix.row_max')}<br>"
            + (f"{escape(winner_text(best))}: {three_digits(gflop_per_s(best))} GFLOP/s"
               if best else "no time") + "</figcaption></figure>")


def matrices_section(units):
    """A card for every matrix, by size."""
    groups = collections.defaultdict(list)
    for unit in units:
        groups[unit.identity.matrix].append(unit)
    ordered = sorted(groups.items(), key=lambda item: (item[0].nnz or 0, item[0].name))
    return "<p>The darker, the more nonzeros; the kernel is the fastest on any system.</p><div class=cards>" + "".join(
        matrix_card(matrix, mine) for matrix, mine in ordered if matrix.nnz is not None) + "</div>"
