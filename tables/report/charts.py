"""The report's charts: Vega-Lite specifications, drawn by Vega in the page and by vl-convert (the
same Vega, in a Python package) as SVG and PDF. Each is a specification over the named data sets "cells",
"profile", "gains" and "limits" (report.py); the first chart's are "points" and "means" (against_peers/dots.py)."""

import json
import os
import sys

from common import EX_UNAVAILABLE, Stop

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PACKAGES = os.path.join(ROOT, ".python")  # where make deps puts what is no Debian package

# Okabe and Ito's colours, told apart by colour-blind readers, darkened where needed so that each has three times the
# luminance of a dark page and a third of a white one's. In grey they are one: shape and filling tell all formats apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#B8699A", "#2F8FC5", "#B07A00", "#7f7f7f")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
STROKES = ("M-1,-1L1,1M-1,1L1,-1", "M0,-1L0,1M-1,0L1,0M-.7,-.7L.7,.7M-.7,.7L.7,-.7")  # an x and an asterisk
PATTERNS = [*((shape, True) for shape in SHAPES), *((shape, False) for shape in (*SHAPES, *STROKES))]  # (shape, whether filled)
FADED = "#8c8c8c"
STEPS = [first * 10.0 ** k for k in range(-6, 7) for first in (1, 1.5, 2, 3, 5, 7)]  # that a log axis names
EDGES = 0.25, 8  # speed-ups further out stand at the edge of a chart, unless many do


def library():
    """The vl_convert package."""
    if os.path.isdir(PACKAGES) and PACKAGES not in sys.path:
        sys.path.append(PACKAGES)
    try:
        import vl_convert  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise Stop(EX_UNAVAILABLE, "charts need the Python package vl-convert-python: 'make deps', or pip, installs it") from None
    return vl_convert


def looks(field, names, legend):
    """Stroke, filling and shape of a mark by a name, and their legend; names: all of them in one order, so that a
    name looks the same in every chart."""
    names = list(names)
    colours = [COLOURS[place % len(COLOURS)] for place in range(len(names))]
    patterns = [PATTERNS[place % len(PATTERNS)] for place in range(len(names))]
    ranges = {"stroke": colours, "shape": [shape for shape, _ in patterns],
              "fill": [colour if filled else "transparent" for colour, (_, filled) in zip(colours, patterns)]}
    return {channel: {"field": field, "type": "nominal", "scale": {"domain": names, "range": values}, "legend": legend}
            for channel, values in ranges.items()}


def tooltip(*fields):
    """Lists what the mouse shows of a point."""
    names = {"matrix": "matrix", "kernel": "kernel", "config": "config", "time": "median",
             "gflops": "GFLOP/s", "gbs": "GB/s", "limit": "of limit", "speedup": "over baseline",
             "mu": "μ", "sigma": "σ", "note": "note", "ratio": "speed-up", "peer": "over",
             "share": "share", "tau": "within", "intensity": "flop/B", "value": "value"}
    percent = ("limit", "share")
    return [{"field": name, "title": names[name],
             **({"format": ".1%"} if name in percent else
                {"format": ".3~g"} if name not in ("matrix", "kernel", "config", "time", "note",
                                                   "peer") else {})}
            for name in fields]


FACTS = ("matrix", "kernel", "config", "time", "gflops", "gbs", "limit", "speedup", "note")
MATRIX_AXIS = {"field": "matrix", "type": "nominal", "title": None, "sort": None}  # as cells are: by size
POINT = {"type": "point", "strokeWidth": 1.5, "tooltip": True}
ONE = {"data": {"values": [{"one": 1}]}, "mark": {"type": "rule", "strokeDash": [5, 4]}}


def by_format(formats, present):
    """Marks by format and a legend to click, the same in every chart of points; present: those in this one."""
    legend = {"title": "format (click)", "orient": "top", "values": [name for name in formats if name in present]}
    return {"params": [{"name": "chosen", "select": {"type": "point", "fields": ["format"]}, "bind": "legend"}],
            "encoding": {**looks("format", formats, legend),
                         "opacity": {"condition": {"param": "chosen", "value": 0.9}, "value": 0.08}}}


def domain_of(ratios):
    """A log scale for speed-ups. What lies further out is clipped in the chart, not in the data."""
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
    points = by_format(formats, {point["format"] for point in dots["points"]})
    ratios = [point["value"] for point in dots["points"]]
    low, high = domain_of(ratios) if dots["over"] else (min(ratios) * 0.93, max(ratios) * 1.07)
    scale = {"type": "log", "nice": False, "domain": [low, high], "clamp": True}
    axis = {"type": "quantitative", "scale": scale, "title": dots["axis"],
            "axis": {"values": [step for step in STEPS if low <= step <= high], "format": "~g"}}
    x = {**axis, "field": "value"}
    return dressed({
        "height": 38 * len(dots["rows"]),
        "encoding": {"y": {"field": "row", "type": "nominal", "sort": dots["rows"], "title": None}},
        "layer": [
            *([{**ONE, "encoding": {"x": {**axis, "datum": 1}, "y": None}}] if dots["over"] else []),
            {"data": {"name": "points"}, "params": points["params"], "mark": {**POINT, "size": 34},
             "encoding": {"x": x, "yOffset": {"field": "offset", "type": "quantitative", "scale": {"domain": [-1, 1]}},
                          **points["encoding"],
                          "tooltip": tooltip("matrix", "kernel", "value", "time", "note")}},
            {"data": {"name": "means"}, "mark": {"type": "tick", "thickness": 2.5, "size": 24},
             "encoding": {"x": x}}]})


def rates(points, rate, rows):
    """GFLOP/s of every kernel on every matrix, the best one named; rate: all of them, for an axis
    that leaves room for the names."""
    room = max(rate) * max((max(rate) / min(rate)) ** 0.3, 1.5)
    return {
        "data": {"name": "cells"}, "height": 22 * rows + 10,
        "transform": [{"filter": "isValid(datum.gflops)"}],
        "encoding": {"y": MATRIX_AXIS,
                     "x": {"field": "gflops", "type": "quantitative", "title": "GFLOP/s (log)",
                           "scale": {"type": "log", "nice": False, "padding": 12,
                                     "domainMax": room}}},
        "layer": [
            {"mark": {**POINT, "size": 50}, "params": points["params"],
             "encoding": {**points["encoding"], "tooltip": tooltip(*FACTS)}},
            {"transform": [{"filter": "datum.best"}],
             "mark": {"type": "text", "align": "left", "dx": 9, "fontSize": 11},
             "encoding": {"text": {"field": "best"}}}]}


def limits(points, rows):
    """Share of the memory limit that every kernel reaches."""
    return {
        "data": {"name": "cells"}, "height": 18 * rows + 10,
        "transform": [{"filter": "isValid(datum.limit)"}],
        "encoding": {"y": MATRIX_AXIS},
        "layer": [
            {"mark": {**POINT, "size": 42}, "params": points["params"],
             "encoding": {"x": {"field": "limit", "type": "quantitative",
                                "title": "bytes moved a second, of the limit",
                                "axis": {"format": "%"}},
                          **points["encoding"], "tooltip": tooltip(*FACTS)}},
            {**ONE, "encoding": {"x": {"datum": 1, "type": "quantitative"}, "y": None}}]}


def profile(leaders):
    """Dolan and More's performance profile: on what share of the matrices a kernel is within a
    factor of the best."""
    top, legend = list(leaders[:len(COLOURS)]), {"title": "best kernels", "orient": "top"}
    return {
        "data": {"name": "profile"}, "height": 330,
        "encoding": {"x": {"field": "tau", "type": "quantitative",
                           "title": "time over the best kernel's, at most (log)",
                           "scale": {"type": "log", "domain": [1, 10], "nice": False},
                           "axis": {"values": [1, 1.2, 1.5, 2, 3, 4, 5, 7, 10]}},
                     "y": {"field": "share", "type": "quantitative", "title": "share of matrices",
                           "axis": {"format": "%"}, "scale": {"domain": [0, 1]}},
                     "detail": {"field": "kernel"}},
        "layer": [
            {"transform": [{"filter": {"not": {"field": "kernel", "oneOf": top}}}],
             "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1, "clip": True,
                      "opacity": 0.35,
                      "tooltip": True, "color": FADED},
             "encoding": {"tooltip": tooltip("kernel", "tau", "share")}},
            {"transform": [{"filter": {"field": "kernel", "oneOf": top}}],
             "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 2.2,
                      "clip": True, "tooltip": True},
             "encoding": {
                 "color": {"field": "kernel", "type": "nominal", "legend": legend,
                           "scale": {"domain": top, "range": list(COLOURS[:len(top)])}},
                 "strokeDash": {"field": "kernel", "type": "nominal", "legend": legend,
                                "scale": {"domain": top, "range": [
                                    [1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [4, 4], [1, 0],
                                    [6, 3]][:len(top)]}},
                 "tooltip": tooltip("kernel", "tau", "share")}}]}


def gains(feature, title, points):
    """Speed-up of our best kernel over the best peer against a feature of the matrix. Rows that are
    all of one length have no sigma: its axis holds 0. Names stand over points that gain, under those
    that lose; a layer without a point would have no axis."""
    named = [point["ratio"] >= 1 for point in points if point[f"named_{feature}"]]
    sides = [side for side in ((">=", -9), ("<", 12)) if (side[0] == ">=") in named]
    scale = {"padding": 50, **({"type": "symlog", "constant": 0.1} if feature == "sigma"
                               else {"type": "log"})}
    decades = {"values": [0, *(10.0 ** k for k in range(-1, 9))], "format": "~g"}
    least = 0 if feature == "sigma" else 1e-9
    return {
        "data": {"name": "gains"}, "height": 330,
        "transform": [{"filter": f"isValid(datum.{feature}) && datum.{feature} >= {least}"}],
        "layer": [
            {"mark": {"type": "point", "filled": True, "size": 70, "color": COLOURS[0], "tooltip": True},
             "encoding": {"x": {"field": feature, "type": "quantitative", "title": title,
                                "scale": {**scale, "nice": False}, "axis": decades},
                          "y": {"field": "ratio", "type": "quantitative",
                                "title": "speed-up (log)",
                                "scale": {"type": "log", "domain": domain_of([point["ratio"] for point in points]),
                                          "nice": False, "clamp": True, "padding": 22}},
                          "tooltip": tooltip("matrix", "kernel", "peer", "ratio", "mu", "sigma",
                                             "note")}},
            *({"transform": [{"filter": f"datum.named_{feature} && datum.ratio {side} 1"}],
               "mark": {"type": "text", "dy": dy, "fontSize": 9, "limit": 110},
               "encoding": {"x": {"field": feature, "type": "quantitative"},
                            "y": {"field": "ratio", "type": "quantitative"},
                            "text": {"field": "matrix"}}} for side, dy in sides),
            {**ONE, "encoding": {"y": {"datum": 1, "type": "quantitative"}}}]}


def points_text(drawn, matrices):
    """Says what a point is, and why there may be more or fewer than elsewhere."""
    missing = f"; {matrices - drawn} lack a time of one side" if drawn < matrices else ""
    return f"A point is one of {drawn} matrices{missing}; also those whose noise limit was not met."


def roofline(points):
    """Rate against intensity under the memory limit; the lines are "limits"."""
    return {
        "data": {"name": "cells"}, "height": 300,
        "transform": [{"filter": "isValid(datum.gflops) && isValid(datum.intensity)"}],
        "layer": [
            {"data": {"name": "limits"},
             "mark": {"type": "line", "strokeWidth": 1.5, "strokeDash": [6, 3], "clip": True},
             "encoding": {"x": {"field": "intensity", "type": "quantitative"},
                          "y": {"field": "gflops", "type": "quantitative"},
                          "detail": {"field": "name"}}},
            {"mark": {**POINT, "size": 42}, "params": points["params"],
             "encoding": {"x": {"field": "intensity", "type": "quantitative",
                                "title": "arithmetic intensity [flop/byte] (log)",
                                "scale": {"type": "log", "nice": False, "padding": 12}},
                          "y": {"field": "gflops", "type": "quantitative",
                                "title": "GFLOP/s (log)",
                                "scale": {"type": "log", "nice": False, "padding": 12}},
                          **points["encoding"],
                          "tooltip": tooltip(*FACTS, "intensity")}}]}


def comparisons(points, means):
    """One chart for README: a row per machine, a point per matrix, the mean as a labelled tick."""
    x = {"type": "quantitative", "title": "speed-up over the fastest other kernel (log scale)",
         "scale": {"type": "log", "domain": [0.5, 8], "clamp": True},
         "axis": {"values": [0.5, 0.7, 1, 1.5, 2, 3, 4, 6, 8], "format": "~g", "labelFontSize": 12,
                  "titleFontSize": 13}}
    y = {"field": "machine", "type": "nominal", "sort": None, "title": None,
         "axis": {"labelLimit": 360, "labelFontSize": 13, "ticks": False, "domain": False}}
    return dressed({
        "width": 500, "height": {"step": 62}, "background": "white",
        "padding": {"left": 48, "right": 12, "top": 8, "bottom": 8},
        "encoding": {"y": y},
        "layer": [
            {**ONE, "encoding": {"x": {**x, "datum": 1}, "y": None}},
            {"data": {"values": points},
             "mark": {"type": "circle", "size": 36, "opacity": 0.55, "color": COLOURS[0]},
             "encoding": {"x": {**x, "field": "ratio"},
                          "yOffset": {"field": "offset", "type": "quantitative",
                                      "scale": {"domain": [-1, 1]}}}},
            {"data": {"values": means},
             "mark": {"type": "tick", "thickness": 3, "size": 44, "color": COLOURS[1]},
             "encoding": {"x": {**x, "field": "mean"}}},
            {"data": {"values": means},
             "mark": {"type": "text", "dy": -27, "fontSize": 13, "fontWeight": "bold",
                      "color": COLOURS[1]},
             "encoding": {"x": {**x, "field": "mean"}, "text": {"field": "label"}}}]})


DATA = ("cells", "profile", "gains", "limits")  # of a system, that its charts are drawn of


def charts(data, formats):
    """[(name, title, what to read, specification)] for one system's data sets; only those that the data can fill.
    formats: of all systems, so that each looks the same in every chart."""
    cells = data["cells"]
    points = by_format(formats, {cell["format"] for cell in cells})
    rows = len({cell["matrix"] for cell in cells})
    met = [cell["gflops"] for cell in cells if cell["gflops"] is not None]
    found = []
    if met:
        found.append(("rates", "Rate on every matrix", "A mark is a kernel in its best "
                      "configuration; the best is named. Matrices by size.", rates(points, met, rows)))
    if any(cell["limit"] is not None for cell in cells):
        found.append(("limit", "Share of the memory limit", data["limit_note"], limits(points, rows)))
    if data["profile"]:
        found.append(("profile", "Performance profile",
                      "On what share of the matrices a kernel needs at most so many times the best "
                      "one's time. Left edge: how often it wins. Where it could not run, or was "
                      "not run, it counts as slower; auto runs one of the others and takes no "
                      "win from it; grey: the other kernels.", profile(data["leaders"])))
    found += gains_charts(data)
    if data["limits"]:
        found.append(("roofline", "Roofline",
                      "Every mark below its dashed line: the rate that the bytes of the stored "
                      "matrix, x and y allow at the limit.", roofline(points)))
    return [(name, title, text, dressed(spec)) for name, title, text, spec in found]


def gains_charts(data):
    """Lists those of charts() that set the speed-up against the shape of the rows."""
    points = data["gains"]
    known = {feature for point in points for feature in ("mu", "sigma") if point[feature] is not None and point[feature] >= 0}
    if not known:
        return []
    text = (f"{points_text(len(points), data['matrices'])} Above the dashed line ours is faster; the furthest from it "
            f"are named where there is room.{beyond_text([point['ratio'] for point in points])}")
    return [(f"gain-{feature}", f"Best own kernel over {data['peer']}, against {symbol}", words, gains(feature, axis, points))
            for feature, symbol, axis, words in (
                ("mu", "μ", "μ: mean nonzeros per row (log)", text),
                ("sigma", "σ", "σ of the nonzeros per row (log)",
                 "The same against the irregularity of the rows.")) if feature in known]


def dressed(spec):
    """Holds what all specifications share; the page sets colours for dark and light itself."""
    return {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "width": "container",
            **spec,
            "config": {"view": {"stroke": None}, "axis": {"gridOpacity": 0.35}, "legend": {"symbolLimit": 0}}}


def figure(title, spec, datasets):
    """(SVG text, PDF bytes) of a chart, for papers."""
    draw, paper = library(), json.loads(json.dumps(spec).replace(" (click)", ""))
    room = {"left": 30, "right": 15, "top": 5, "bottom": 5}  # who shows it may have a wider font than it was measured with
    paper.update(width=640, title=title, background="white", padding=room, datasets=datasets)
    paper["config"].update(axisY={"labelLimit": 220}, legend={"columns": 4, "symbolLimit": 0})
    return draw.vegalite_to_svg(paper), draw.vegalite_to_pdf(paper)
