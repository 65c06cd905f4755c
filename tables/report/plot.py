#!/usr/bin/env python3
"""One chart from the command line, as SVG, PDF or PNG, by the suffix of its file.

    spmv plot spy FILE.mtx -o spy.svg               the pattern of a matrix; gen:NAME:ARGS is one, too
    spmv plot roofline log/ -o roofline.png         rates under the limit that 'spmv probe' measured
"""

import interrupts  # noqa: F401  pylint: disable=unused-import,wrong-import-order
import argparse
import json
import os
import shutil
import subprocess
import sys

from charts import COLOURS, charts, dressed, library
from common import EX_DATAERR, EX_UNAVAILABLE, EX_USAGE, Parser, Stop, load, run, say, write_files
from report import formats_of, system_data
from texts import plural
from units.layout import tabulate
from units.merging import merge
from units.unit import unit_of

CELLS, WIDTH = 256, 512  # of a spy plot: cells and points along an edge
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
        raise Stop(done.returncode if done.returncode > 0 else EX_DATAERR, done.stderr.strip().removeprefix("spmv: "))
    return json.loads(done.stdout)[0]


def spy(facts):
    """The specification of a spy plot: a square for each cell that holds entries, the darker the more."""
    rows, cols = facts["matrix"]["rows"], facts["matrix"]["cols"]
    lines = facts["structure"]["pattern"].split("/")
    high, wide = len(lines), len(lines[0]) if lines else 0
    cells = [{"x": c * cols / wide, "x2": (c + 1) * cols / wide, "y": r * rows / high, "y2": (r + 1) * rows / high,
              "digit": int(digit)} for r, line in enumerate(lines) for c, digit in enumerate(line) if digit != "0"]
    edge = max(rows, cols, 1)
    axis = {"type": "quantitative", "axis": {"format": "~s", "grid": False}}
    return {**dressed({
        "data": {"values": cells}, "mark": {"type": "rect", "color": COLOURS[0]},
        "encoding": {"x": {**axis, "field": "x", "title": "column", "scale": {"domain": [0, cols], "nice": False}}, "x2": {"field": "x2"},
                     "y": {**axis, "field": "y", "title": "row", "scale": {"domain": [rows, 0], "nice": False}}, "y2": {"field": "y2"},
                     "opacity": {"field": "digit", "type": "quantitative", "legend": None,
                                 "scale": {"domain": [1, 9], "range": [0.25, 1]}}}}),
        "width": max(WIDTH * cols // edge, 16), "height": max(WIDTH * rows // edge, 16),
        "title": {"text": facts["matrix"]["name"], "subtitle": f"{rows:,} × {cols:,}, {facts['matrix']['nnz']:,} nonzeros"}}


def roofline(paths, number):
    """(specification, its data) of one system's roofline: the one with most results, or the one of that number."""
    records, _ = load(paths)
    layout = tabulate(merge(unit_of(record) for record in records))
    systems = [system_data(k, system, matrices) for k, (system, matrices) in enumerate(layout.items(), 1)]
    drawn = {data["number"]: spec for data in systems for name, _, _, spec in charts(data, formats_of(systems)) if name == "roofline"}
    if not drawn:
        raise Stop(EX_DATAERR, "no record knows a limit: 'spmv probe' measures it, and what is measured after that has it")
    if number is not None and number not in drawn:
        raise Stop(EX_USAGE, f"--system is one of {', '.join(map(str, drawn))}")
    chosen = max((data for data in systems if data["number"] in drawn and number in (None, data["number"])),
                 key=lambda data: len(data["cells"]))
    if len(drawn) > 1 and number is None:
        say(f"spmv plot: {plural(len(drawn), 'system')} have limits; drawn is the one with most results, --system="
            f"{chosen['number']}: {chosen['name']}")
    limits = [f"dashed: {name}" for name in sorted({line["name"] for line in chosen["limits"]})]
    spec = {**drawn[chosen["number"]], "title": {"text": "Roofline", "subtitle": [chosen["name"], *limits]}, "width": 640}
    return spec, {"cells": chosen["cells"], "limits": chosen["limits"]}


def picture(spec, name):
    """Bytes of the file."""
    draw = library()
    paper = json.loads(json.dumps({**spec, "background": "white"}).replace(" (click)", ""))
    paper["config"]["legend"] = {"columns": 5, "symbolLimit": 0}
    suffix = os.path.splitext(name)[1].lower()
    if suffix == ".svg":
        return draw.vegalite_to_svg(paper).encode("utf-8")
    return draw.vegalite_to_png(paper, scale=2) if suffix == ".png" else draw.vegalite_to_pdf(paper)


def parse(arguments):
    """The command line."""
    parser = Parser(prog="spmv plot", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("spy", "roofline"), help="a matrix's pattern; rates of a log")
    parser.add_argument("of", nargs="+", metavar="FILE", help="a matrix; logs or folders of logs")
    parser.add_argument("-o", "--output", metavar="FILE", help="FILE.svg, FILE.png or FILE.pdf (default: spy.svg or roofline.svg)")
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
    library()  # which may be missing: before all work
    if options.what == "spy":
        spec = spy(facts_of(options.of[0]))
    else:
        spec, datasets = roofline(options.of, options.system)
        spec = {**spec, "datasets": datasets}
    write_files(".", {options.output: picture(spec, options.output)})
    say(f"spmv plot: {options.output}")
    return 0


def main(arguments=None):
    """Exit status, with the reason said."""
    return run("spmv plot", plot, arguments)


if __name__ == "__main__":
    sys.exit(main())
