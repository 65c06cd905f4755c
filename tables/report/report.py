#!/usr/bin/env python3
"""One HTML file of the logs, with charts, that opens from disk with no network.

    spmv report log/ -o r.html              the page alone
    spmv report log/ -o r.html --files      also tables and charts beside it
    spmv report log/ -o r.html --files=tex  also tables for LaTeX
"""

import interrupts  # noqa: F401  pylint: disable=unused-import,wrong-import-order
import argparse
import math
import os
import statistics
import sys

from charts import charts, converted, figure, library
from common import Parser, Stop, load, run, say, write_files
from speedups import is_peer, peers_of
from against_peers.conclusion import findings, ordered
from drawing import label
from logs import RECORD_DEF, is_number, read_fields
from report_page import formats_of, page
from summary_tables import make_pages
from scaling import TITLE, scaling_chart
from sections.answer import chart_of, first_charts
from texts import si_time
from units.layout import (BASELINE_ALIAS, baseline_of, fastest, kernels_in, tabulate,
                          timed_cells)
from units.merging import merge
from units.settings import short_label
from units.unit import describe, gflop_per_s, limit_of, unit_of, winner_text

STEPS = 200  # points on the performance profile's horizontal axis
WIDEST = 10  # its right edge


def note_of(unit):
    """The marks of a unit in words."""
    words = ["noise limit not met"] if unit.noisy else []
    words += ["disturbed while timed"] if unit.disturbed else []
    words += ["fits in the last-level cache"] if unit.cached else []
    binds = unit.record.get("perf.limit_binds")
    above = unit.record.get("perf.verdict") == "above probe"
    words += ["above the limit as probed"] if above else []
    return ", ".join(words + ([f"bound by {binds}"] if binds else []))


def cell_data(matrix, unit, base, best):
    """Holds what the charts know of one kernel on one matrix."""
    record = unit.record
    moved, limit = record.get("perf.bytes_min_B"), limit_of(record)
    rate = moved / unit.median_s if is_number(moved) and moved > 0 else None
    return {
        "matrix": matrix.name, "kernel": unit.identity.kernel,
        "format": record.get("config.format") or "unknown",
        "config": short_label(unit.identity.settings) or "-", "time": si_time(unit.median_s),
        "gflops": short(gflop_per_s(unit)) or None, "gbs": short(rate and rate / 1e9),
        "limit": round(rate / limit[0], 3) if rate and limit else None,
        "intensity": short(2 * matrix.nnz * unit.identity.system.vectors / moved) if rate and matrix.nnz else None,
        "speedup": short(base.median_s / unit.median_s) if base else None,
        "best": winner_text(unit) if unit is best else None, "note": note_of(unit)}


def short(value, digits=3):
    """Rounds to as many digits as the charts show; of a share, which is shown as 12.3%, round has them."""
    return None if value is None else float(f"{value:.{digits}g}")


def profile_data(matrices):
    """(points of every kernel's curve, kernels by the area under it). A matrix counts for every
    kernel that was tried on it or not: what has no time is never within any factor."""
    ranked = [timed_cells(cells) for cells in matrices.values()]
    ranked = [units for units in ranked if len(units) > 1]
    points, area = [], {}
    for kernel in kernels_in(matrices) if ranked else ():
        ratios = sorted(units[kernel].median_s / fastest(units.values()).median_s
                        for units in ranked if kernel in units)
        curve, last = [], None
        for step in range(STEPS + 1):
            tau = WIDEST ** (step / STEPS)
            share = sum(ratio <= tau * (1 + 1e-12) for ratio in ratios) / len(ranked)
            curve.append(share)
            if share != last or step == STEPS:
                points.append({"kernel": kernel, "tau": short(tau), "share": round(share, 3)})
            last = share
        area[kernel] = statistics.fmean(curve)
    return points, sorted(area, key=lambda kernel: (-area[kernel], kernel))


SAME = 0.03  # a ratio so near to 1 is no gain and no loss


def named(points, feature):
    """Says which points of the chart have room for their name, above the line of 1 over the point, below it under it:
    losses first, then what is furthest from 1; places as shares of the chart's width and height."""
    known = [point for point in points if point[feature] is not None and point[feature] >= 0]
    across = [math.log1p(point[feature] / 0.1) for point in known]
    up = [math.log(point["ratio"]) for point in known]
    wide, high = ((max(v) - min(v) or 1) if v else 1 for v in (across, up))

    def is_free(k):
        away = 1 if up[k] >= 0 else -1
        return not any(abs(across[k] - across[p]) / wide < 0.1 and 0 < away * (up[p] - up[k]) / high < 0.06
                       for p in range(len(known)) if p != k)
    taken = []
    for k in sorted(range(len(known)), key=lambda k: (up[k] >= 0, -abs(up[k]))):
        if abs(up[k]) > SAME and is_free(k) and all(
                abs(across[k] - across[t]) / wide > 0.25 or abs(up[k] - up[t]) / high > 0.07 for t in taken):
            taken.append(k)
    return [known[k]["matrix"] for k in taken[:12]]


def gains_data(system, matrices):
    """(points, what they are over): our best kernel over the best peer; over the baseline where no
    peer was run at all."""
    peers = any(is_peer(kernel) for kernel in kernels_in(matrices))
    points = []
    for matrix, cells in matrices.items():
        units = timed_cells(cells)
        own = [unit for kernel, unit in units.items() if not is_peer(kernel)]
        others = (peers_of(cells) if peers
                 else [unit for unit in [baseline_of(system, units)] if unit])
        if own and others:
            ours, theirs = fastest(own), fastest(others)
            points.append({
                "matrix": matrix.name, "kernel": winner_text(ours),
                "peer": theirs.identity.kernel, "ratio": short(theirs.median_s / ours.median_s, 4),
                **{feature: ours.record[field] if is_number(ours.record.get(field)) else None
                   for feature, field in (("mu", "matrix.row_mean"), ("sigma", "matrix.row_std"))},
                "note": note_of(ours)})
    for feature in ("mu", "sigma"):
        wanted = named(points, feature)
        for point in points:
            point[f"named_{feature}"] = point["matrix"] in wanted
    for point in points:
        point.update(mu=short(point["mu"]), sigma=short(point["sigma"]))
    return points, "the best peer" if peers else BASELINE_ALIAS


def roof(name, limit, reached):
    """A roof's name and rate: as measured, or as the fastest product under it reached where that is more."""
    if limit and limit >= reached:
        return f"{name}: {label(limit / 1e9)} GB/s", limit
    probed = f", probed {label(limit / 1e9)}" if limit else ""
    return f"{name}: {label(reached / 1e9)} GB/s as a product reached{probed}", reached


def limit_lines(cells, units):
    """The roofs over the intensities met: what the memory delivers, and the caches to what they hold."""
    met = [cell["intensity"] for cell in cells if cell["intensity"] and cell["gflops"]]
    known = sorted({limit_of(unit.record) for unit in units if limit_of(unit.record)})
    if not known or not met:
        return []
    rates, (limit, meaning) = {True: [], False: []}, known[-1]
    for unit in units:
        moved = unit.record.get("perf.bytes_min_B")
        if is_number(moved) and moved > 0:
            rates[unit.cached or unit.record.get("perf.verdict") == "in cache"].append(moved / unit.median_s)
    roofs = [roof(meaning.removeprefix("the "), limit, max(rates[False], default=0))]
    cache = max((unit.record["perf.cache_Bps"] for unit in units if is_number(unit.record.get("perf.cache_Bps"))), default=None)
    if rates[True] and max(rates[True]) > roofs[0][1]:
        roofs.append(roof("caches", cache, max(rates[True])))
    return [{"name": name, "intensity": edge, "gflops": edge * rate / 1e9} for name, rate in roofs for edge in (min(met), max(met))]


def system_data(number, system, matrices):
    """All data sets of one system."""
    cells, units = [], []
    for matrix, row in sorted(matrices.items(), key=lambda item: item[0].nnz or 0):
        timed = timed_cells(row)
        base = baseline_of(system, timed)
        best = fastest(timed.values()) if timed else None
        units += timed.values()
        cells += [cell_data(matrix, unit, base, best) for unit in timed.values()]
    profile, leaders = profile_data(matrices)
    points, peer = gains_data(system, matrices)
    meanings = sorted({limit_of(unit.record)[1] for unit in units if limit_of(unit.record)})
    return {"number": number, "name": describe(system), "matrices": len(matrices), "cells": cells, "units": units,
            "profile": profile, "leaders": leaders, "gains": points, "peer": peer,
            "limits": limit_lines(cells, units),
            "limit_note": f"The limit is {' or '.join(meanings)}. Beyond it the data come from a "
                          "cache." if meanings else ""}


def file_name(text):
    """A system's name as part of a file's."""
    return "-".join("".join(letter if letter.isalnum() else " " for letter in text).split())


def file_charts(units, layout, systems):
    """(name of its file, title, lines, Chart) of every chart: those of the page's first charts, then every system's."""
    formats = formats_of(systems)
    for number, (name, dots) in enumerate(first_charts(ordered(findings(layout))), 1):
        first = chart_of(dots, formats)
        yield f"first-{number}-{file_name(name)[:60]}", first["title"], [name], first["chart"]
    if found := scaling_chart(units):
        yield "scaling", TITLE, *found
    for data in systems:
        for name, title, _, chart in charts(data, formats) if data["cells"] else ():
            yield f"{data['number']}-{file_name(data['name'])[:60]}-{name}", title, [data["name"]], chart


def figure_files(units, layout, systems, wanted):
    """{name: content} of every chart as SVG; as PDF, too, if that is wanted and a package makes it."""
    files = {f"fig/{name}.svg": figure(title, chart, lines) for name, title, lines, chart in file_charts(units, layout, systems)}
    if "pdf" not in wanted:
        return files
    try:
        library()
    except Stop as missing:
        say(f"spmv report: {missing}" + ("; the charts are SVG files" if "svg" in wanted else ""))
        return files
    return {**files, **{name.removesuffix("svg") + "pdf": converted(text, ".pdf") for name, text in files.items()}}


def spelt(value):
    """A text in which what cannot be seen, such as a control character, is spelt out; anything else as it is."""
    if not isinstance(value, str) or value.isprintable():
        return value
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in " ".join(value.split()))


KINDS = ("csv", "json", "md", "tex", "svg", "pdf")  # suffixes of files that are written beside the page


def kinds(text):
    """Kinds of files, separated by commas."""
    found = tuple(text.split(","))
    for kind in found:
        if kind not in KINDS:
            raise argparse.ArgumentTypeError(f"'{kind}' is not one of {', '.join(KINDS)}")
    return found


def parse(arguments):
    """The command line."""
    parser = Parser(prog="spmv report", description=__doc__,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="*", default=["log"], metavar="LOG",
                        help="files, or folders of *.jsonl and *.log (default: log)")
    parser.add_argument("-o", "--output", default="tables/report.html", metavar="FILE",
                        help="the page (default: %(default)s)")
    parser.add_argument("--title", default="Sparse matrix-vector products", metavar="TEXT")
    parser.add_argument("--no-charts", action="store_true", help="tables only")
    parser.add_argument("--files", type=kinds, default=(), metavar="KIND,...",
                        help=f"also tables and charts as files beside the page: {', '.join(KINDS)}; alone: all of them")
    words = sys.argv[1:] if arguments is None else arguments
    return parser.parse_args(["--files=" + ",".join(KINDS) if word == "--files" else word for word in words])


def report(arguments):
    """Exit status 0, or by Stop."""
    options = parse(arguments)
    records, said = load(options.logs)
    records = [{name: spelt(value) for name, value in record.items()} for record in records]
    units = merge(unit_of(record) for record in records)
    layout = tabulate(units)
    systems = [system_data(number, system, matrices) for number, (system, matrices) in enumerate(layout.items(), 1)]
    text = page(options.title, records, units, layout, systems, not options.no_charts)
    folder, name = os.path.split(options.output)
    files = {name: text}
    beside = make_pages(records, read_fields(RECORD_DEF)) if options.files else {}
    if not options.no_charts and {"svg", "pdf"}.intersection(options.files):
        beside.update(figure_files(units, layout, systems, options.files))
    files.update({path: text for path, text in beside.items() if path.rpartition(".")[2] in options.files})
    write_files(folder or ".", files)
    size = len(text.encode("utf-8", errors="backslashreplace")) / 1e6
    shown = f"{size:.1f} MB" if size >= 1 else f"{1000 * size:.0f} kB"
    say(f"spmv report: {said}; {options.output} ({shown}, one file, no network)"
        + (f" and {len(files) - 1} files beside it" if len(files) > 1
           else "; --files writes tables and charts beside it"))
    return 0


def main(arguments=None):
    """Exit status, with the reason said."""
    return run("spmv report", report, arguments)


if __name__ == "__main__":
    sys.exit(main())
