"""The report's charts (drawing.py), of a system's data sets "cells", "profile", "gains" and "limits" (report.py); the first
chart's are "points" and "means" (against_peers/dots.py). SVG needs nothing; PNG and PDF need vl-convert-python."""

import os
import sys

from common import EX_UNAVAILABLE, Stop
from drawing import COLOURS, DASHES, FADED, Bands, Chart, Scale, around, looks, svg

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PACKAGES = os.path.join(ROOT, ".python")  # where make deps puts what is no Debian package
EDGES = 0.25, 8  # speed-ups further out stand at the edge of a chart, unless many do


def library():
    """The vl_convert package, which makes PNG and PDF of SVG."""
    if os.path.isdir(PACKAGES) and PACKAGES not in sys.path:
        sys.path.append(PACKAGES)
    try:
        import vl_convert  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise Stop(EX_UNAVAILABLE, "PNG and PDF need the Python package vl-convert-python: 'make deps', or pip, installs it") from None
    return vl_convert


def converted(text, suffix):
    """Bytes of an SVG as a file of that suffix."""
    if suffix == ".svg":
        return text.encode("utf-8", errors="replace")
    return library().svg_to_png(text, scale=2) if suffix == ".png" else library().svg_to_pdf(text)


def percent(value):
    """A share on an axis."""
    return f"{100 * value:.3g} %"


def fact_text(cell):
    """What a mark says of a kernel on a matrix."""
    facts = (f"{cell['matrix']}: {cell['kernel']}", cell["config"] if cell["config"] != "-" else None, cell["time"],
             f"{cell['gflops']:g} GFLOP/s" if cell["gflops"] is not None else None,
             f"{cell['gbs']:g} GB/s" if cell["gbs"] is not None else None,
             f"{percent(cell['limit'])} of the limit" if cell["limit"] is not None else None, cell["note"] or None)
    return ", ".join(fact for fact in facts if fact)


def with_formats(chart, formats, present):
    """A chart with a legend of the formats that are in it; returns how all formats look, the same in every chart."""
    seen = looks(formats)
    chart.legend_of("format", [name for name in formats if name in present], seen)
    return seen


def domain_of(ratios):
    """A log scale for speed-ups. What lies further out stands at the chart's edge, not in the data."""
    ordered = sorted([*ratios, 1])
    far = len(ordered) // 20
    return [max(ordered[0] * 0.93, min(EDGES[0], ordered[far])), min(ordered[-1] * 1.07, max(EDGES[1], ordered[-1 - far]))]


def beyond_text(ratios):
    """Says how many are clipped."""
    low, high = domain_of(ratios)
    far = sum(not low <= ratio <= high for ratio in ratios)
    return f" {far} beyond the scale at its edge: the tables have their numbers." if far else ""


def speedups(dots, formats):
    """The first chart: a row for each kernel, a mark for each matrix, the mean as a tick."""
    ratios = [point["value"] for point in dots["points"]]
    scale = Scale(*domain_of(ratios)) if dots["over"] else around(ratios)
    chart = Chart(scale, Bands(dots["rows"]), 38 * len(dots["rows"]), (dots["axis"], ""), width=1000)
    seen = with_formats(chart, formats, {point["format"] for point in dots["points"]})
    if dots["over"]:
        chart.rule(x=1)
    chart.points([(point["value"], point["row"], point["format"], f"{point['matrix']}: {point['kernel']}, {point['value']:g}, {point['time']}",
                   19 * point["offset"]) for point in dots["points"]], seen)
    for mean in dots["means"]:
        chart.mean(mean["value"], mean["row"])
    return chart


def rates(cells, formats):
    """GFLOP/s of every kernel on every matrix, the best one named, for which the axis leaves room."""
    met = [cell for cell in cells if cell["gflops"] is not None]
    found, names = [cell["gflops"] for cell in met], list(dict.fromkeys(cell["matrix"] for cell in met))
    scale = Scale(min(found) * 0.93, max(found) * max((max(found) / min(found)) ** 0.3, 1.5))
    chart = Chart(scale, Bands(names), 22 * len(names) + 10, ("GFLOP/s (log)", ""), width=1000)
    seen = with_formats(chart, formats, {cell["format"] for cell in met})
    chart.points([(cell["gflops"], cell["matrix"], cell["format"], fact_text(cell), 0) for cell in met], seen)
    for cell in met:
        if cell["best"]:
            chart.text(cell["gflops"], cell["matrix"], cell["best"], right=9)
    return chart


def limits(cells, formats):
    """Share of the memory limit that every kernel reaches."""
    met = [cell for cell in cells if cell["limit"] is not None]
    names = list(dict.fromkeys(cell["matrix"] for cell in met))
    scale = Scale(0, max(1.05, max(cell["limit"] for cell in met) * 1.03), "linear", form=percent)
    chart = Chart(scale, Bands(names), 18 * len(names) + 10, ("bytes moved a second, of the limit", ""), width=1000)
    seen = with_formats(chart, formats, {cell["format"] for cell in met})
    chart.rule(x=1)
    chart.points([(cell["limit"], cell["matrix"], cell["format"], fact_text(cell), 0) for cell in met], seen)
    return chart


def profile(points, leaders):
    """Dolan and More's performance profile: on what share of the matrices a kernel is within a factor of the best."""
    chart = Chart(Scale(1, 10, values=(1, 1.2, 1.5, 2, 3, 4, 5, 7, 10)), Scale(0, 1, "linear", form=percent), 330,
                  ("time over the best kernel's, at most (log)", "share of matrices"))
    curves = {}
    for point in points:
        curves.setdefault(point["kernel"], []).append((point["tau"], point["share"]))
    top = list(leaders[:len(COLOURS)])
    for kernel, curve in curves.items():
        if kernel not in top:
            chart.line(curve, FADED, wide=0.7, text=kernel, steps=True)
    for kernel, colour, dash in zip(top, COLOURS, DASHES):
        chart.line(curves[kernel], colour, dash, 2.2, kernel, steps=True)
    chart.legend("best kernels", [(kernel, f'<path d="M-8 0h14" stroke="{colour}" stroke-width="2.2" stroke-dasharray="{dash}"/>')
                                  for kernel, colour, dash in zip(top, COLOURS, DASHES)])
    return chart


def gains(feature, title, points):
    """Speed-up of our best kernel over the best peer against a feature of the matrix. Rows that are all of one length have no
    sigma: its axis holds 0. Names stand over points that gain, under those that lose."""
    known = [point for point in points if point[feature] is not None and point[feature] >= (0 if feature == "sigma" else 1e-9)]
    values = [point[feature] for point in known]
    scale = (Scale(0, max(values) * 1.3 + 0.1, "symlog", values=[0, *(10.0 ** k for k in range(-1, 9))]) if feature == "sigma"
             else around(values, 0.1))
    chart = Chart(scale, Scale(*domain_of([point["ratio"] for point in points])), 330, (title, "speed-up (log)"))
    chart.rule(y=1)
    chart.points([(point[feature], point["ratio"], "all", f"{point['matrix']}: {point['kernel']} over {point['peer']} {point['ratio']:g}", 0)
                  for point in known], looks(["all"]))
    for point in known:
        if point[f"named_{feature}"]:
            chart.text(point[feature], point["ratio"], point["matrix"][:22], down=-8 if point["ratio"] >= 1 else 16, anchor="middle", kind="soft")
    return chart


def points_text(drawn, matrices):
    """Says what a point is, and why there may be more or fewer than elsewhere."""
    missing = f"; {matrices - drawn} lack a time of one side" if drawn < matrices else ""
    return f"A point is one of {drawn} matrices{missing}; also those whose noise limit was not met."


def roofline(cells, lines, formats):
    """Rate against intensity, under a line for each roof."""
    met = [cell for cell in cells if cell["gflops"] is not None and cell["intensity"]]
    roofs = [line["gflops"] for line in lines]
    chart = Chart(around([cell["intensity"] for cell in met]), around([*(cell["gflops"] for cell in met), *roofs]), 300,
                  ("arithmetic intensity [flop/byte] (log)", "GFLOP/s (log)"))
    seen = with_formats(chart, formats, {cell["format"] for cell in met})
    names = list(dict.fromkeys(line["name"] for line in lines))
    for name, dash in zip(names, ("6 3", "2 3")):
        chart.line([(line["intensity"], line["gflops"]) for line in lines if line["name"] == name], "#7f7f7f", dash, 1.5, name)
    chart.legend("roofs", [(name, f'<path d="M-8 0h14" stroke="#7f7f7f" stroke-width="1.5" stroke-dasharray="{dash}"/>')
                           for name, dash in zip(names, ("6 3", "2 3"))])
    chart.points([(cell["intensity"], cell["gflops"], cell["format"], fact_text(cell), 0) for cell in met], seen)
    return chart


def comparisons(points, means):
    """One chart for README: a row per machine, a point per matrix, the mean as a labelled tick. It ends where the data end."""
    ratios = [point["ratio"] for point in points]
    rows = [mean["machine"] for mean in means]
    chart = Chart(Scale(min(*ratios, 1) * 0.96, max(*ratios, 1) * 1.04), Bands(rows), 62 * len(rows),
                  ("speed-up over the fastest other kernel (log scale)", ""), width=800)
    chart.rule(x=1)
    chart.points([(point["ratio"], point["machine"], "all", "", 28 * point["offset"]) for point in points], looks(["all"]))
    for mean in means:
        chart.mean(mean["mean"], mean["machine"], 44, COLOURS[1])
        chart.text(mean["mean"], mean["machine"], mean["label"], down=-24, anchor="middle", kind="bold", colour=COLOURS[1])
    return chart


def charts(data, formats):
    """[(name, title, what to read, Chart)] for one system's data sets; only those that the data can fill.
    formats: of all systems, so that each looks the same in every chart."""
    cells, found = data["cells"], []
    if any(cell["gflops"] is not None for cell in cells):
        found.append(("rates", "Rate on every matrix", "A mark is a kernel in its best configuration; the best is named. Matrices by size.",
                      rates(cells, formats)))
    if any(cell["limit"] is not None for cell in cells):
        found.append(("limit", "Share of the memory limit", data["limit_note"], limits(cells, formats)))
    if data["profile"]:
        found.append(("profile", "Performance profile",
                      "On what share of the matrices a kernel needs at most so many times the best one's time. Left edge: how often it wins. "
                      "Where it could not run, or was not run, it counts as slower; auto runs one of the others and takes no "
                      "win from it; grey: the other kernels.", profile(data["profile"], data["leaders"])))
    found += gains_charts(data)
    if data["limits"]:
        found.append(("roofline", "Roofline", "No mark is above its roof: the rate that the bytes of the stored matrix, x and y allow "
                      "at the rate of the memory, or of the caches that hold them.", roofline(cells, data["limits"], formats)))
    return found


def gains_charts(data):
    """Lists those of charts() that set the speed-up against the shape of the rows."""
    points = data["gains"]
    known = {feature for point in points for feature in ("mu", "sigma")
             if point[feature] is not None and point[feature] >= (0 if feature == "sigma" else 1e-9)}
    text = (f"{points_text(len(points), data['matrices'])} Above the dashed line ours is faster; the furthest from it "
            f"are named where there is room.{beyond_text([point['ratio'] for point in points])}")
    return [(f"gain-{feature}", f"Best own kernel over {data['peer']}, against {symbol}", words, gains(feature, axis, points))
            for feature, symbol, axis, words in (
                ("mu", "μ", "μ: mean nonzeros per row (log)", text),
                ("sigma", "σ", "σ of the nonzeros per row (log)",
                 "The same against the irregularity of the rows.")) if feature in known]


def figure(title, chart, lines=()):
    """SVG text of a chart, for papers."""
    return svg([chart], title, lines)
