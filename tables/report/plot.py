#!/usr/bin/env python3
"""One chart as SVG; as PDF or PNG, by the suffix of its file, if the Python
package vl-convert-python is installed.

    spmv plot spy FILE.mtx -o spy.svg       the pattern of a matrix
    spmv plot roofline log/ -o roofline.svg rates under the limits of memory
    spmv plot scaling log/ -o scaling.svg   speed-ups by numbers of threads
"""

import interrupts  # noqa: F401  pylint: disable=unused-import,wrong-import-order
import argparse
import json
import os
import shutil
import subprocess
import sys

from charts import charts, converted, library
from common import EX_DATAERR, EX_UNAVAILABLE, EX_USAGE, Parser, Stop, load, run, say, write_files
from drawing import COLOURS, Chart, Scale, svg
from report import formats_of, system_data
from scaling import scaling
from texts import plural
from units.layout import tabulate
from units.merging import merge
from units.unit import unit_of

CELLS, WIDTH = 256, 512  # spy plot: cells, and pixels, along an edge
PLACES = ("../../spmv", "../../../../bin/spmv")  # the program, from here: where it was built, and installed


def program():
    """The program that these scripts belong to."""
    here = os.path.dirname(os.path.abspath(__file__))
    found = next((path for path in (os.path.join(here, place) for place in PLACES) if os.access(path, os.X_OK)), None)
    found = os.environ.get("SPMV_EXECUTABLE") or found or shutil.which("spmv")
    if not found:
        raise Stop(EX_UNAVAILABLE, "cannot find the program spmv, which reads the matrix")
    return found


def facts_of(matrix):
    """What spmv info says of a matrix, its pattern included."""
    done = subprocess.run([program(), "info", matrix, "-k", "csr_serial", f"--cells={CELLS}", "--format=json", "-q"],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise Stop(done.returncode if done.returncode > 0 else EX_DATAERR, " ".join(done.stderr.split()).removeprefix("spmv: "))
    return json.loads(done.stdout)[0]


def thousands(value):
    """A number of a row or a column on an axis."""
    return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k" if value >= 1e4 else f"{value:g}"


def opacity_of(digit):
    """The fullest cell has 9 and is darkest; each digit less is a quarter of the entries (src/app/info/thumbnail.c)."""
    return 0.25 + 0.75 * (digit - 1) / 8


def spy(facts):
    """The SVG of a spy plot: a square for each cell that holds entries, the darker the more."""
    rows, cols = facts["matrix"]["rows"], facts["matrix"]["cols"]
    lines = facts["structure"]["pattern"].split("/")
    high, wide, edge = len(lines), len(lines[0]) if lines else 0, max(rows, cols, 1)
    down = Scale(-rows, 0, "linear", form=lambda value: thousands(abs(value)))  # row 0 is at the top
    chart = Chart(Scale(0, cols, "linear", form=thousands), down, max(WIDTH * rows // edge, 16), ("column", "row"))
    chart.width = max(WIDTH * cols // edge, 16)
    for digit in range(1, 10):
        found = [((c * cols / wide, (c + 1) * cols / wide), (-r * rows / high, -(r + 1) * rows / high))
                 for r, line in enumerate(lines) for c, there in enumerate(line) if there == str(digit)]
        if found:
            chart.cells(found, opacity_of(digit))
    chart.legend("entries, of the fullest cell's", [
        (words, f'<path d="M-6-6h12v12h-12z" fill="{COLOURS[0]}" fill-opacity="{opacity_of(digit):.2g}"/>')
        for digit, words in ((9, "all"), (7, "1/16"), (5, "1/256"), (3, "1/4,096"), (1, "fewer"))])
    return svg([chart], facts["matrix"]["name"], [f"{rows:,} × {cols:,}, {facts['matrix']['nnz']:,} nonzeros"])


def roofline(paths, number):
    """The SVG of one system's roofline: the one with most results, or the one of that number."""
    records, _ = load(paths)
    layout = tabulate(merge(unit_of(record) for record in records))
    systems = [system_data(k, system, matrices) for k, (system, matrices) in enumerate(layout.items(), 1)]
    drawn = {data["number"]: chart for data in systems for name, _, _, chart in charts(data, formats_of(systems)) if name == "roofline"}
    if not drawn:
        raise Stop(EX_DATAERR, "no record knows a limit: 'spmv doctor --probe' measures it, and what is measured after that has it")
    if number is not None and number not in drawn:
        raise Stop(EX_USAGE, f"--system is one of {', '.join(map(str, drawn))}")
    chosen = max((data for data in systems if data["number"] in drawn and number in (None, data["number"])),
                 key=lambda data: len(data["cells"]))
    if len(drawn) > 1 and number is None:
        say(f"spmv plot: {plural(len(drawn), 'system')} have limits; drawn is the one with most results, --system="
            f"{chosen['number']}: {chosen['name']}")
    return svg([drawn[chosen["number"]]], "Roofline", [chosen["name"]])


def parse(arguments):
    """The command line."""
    parser = Parser(prog="spmv plot", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("spy", "roofline", "scaling"), help="a matrix's pattern; of a log the rates, or speed-ups by threads")
    parser.add_argument("of", nargs="+", metavar="FILE", help="a matrix; logs or folders of logs")
    parser.add_argument("-o", "--output", metavar="FILE", help="FILE.svg, FILE.png or FILE.pdf (default: the chart's name, as SVG)")
    parser.add_argument("--system", type=int, metavar="N", help="of a log with several, as the report numbers them")
    options = parser.parse_args(arguments)
    options.output = options.output or f"{options.what}.svg"
    if os.path.splitext(options.output)[1].lower() not in (".svg", ".png", ".pdf"):
        parser.error(f"{options.output}: the file is to end in .svg, .png or .pdf")
    if options.what == "spy" and len(options.of) > 1:
        parser.error("spy draws one matrix")
    return options


def plot(arguments):
    """Exit status 0, or by Stop."""
    options = parse(arguments)
    suffix = os.path.splitext(options.output)[1].lower()
    if suffix != ".svg":
        library()  # which may be missing: before all work
    if options.what == "spy":
        text = spy(facts_of(options.of[0]))
    elif options.what == "roofline":
        text = roofline(options.of, options.system)
    else:
        text = scaling(merge(unit_of(record) for record in load(options.of)[0]))
    write_files(".", {options.output: converted(text, suffix)})
    say(f"spmv plot: {options.output}")
    return 0


def main(arguments=None):
    """Exit status, with the reason said."""
    return run("spmv plot", plot, arguments)


if __name__ == "__main__":
    sys.exit(main())
