"""The report's charts: Vega-Lite specifications, drawn by Vega in the page and by vl-convert (the
same Vega, in a Python package) as SVG and PDF. Each chart is a function of nothing that returns a
specification over the named data sets "cells", "profile", "gains" and "limits" (report.py)."""

import copy
import os
import sys

from common import EX_UNAVAILABLE, Stop

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PACKAGES = os.path.join(ROOT, ".python")  # where make deps puts what is no Debian package

# Okabe and Ito's colours, told apart by colour-blind readers, without the yellow that white paper
# swallows; shapes tell apart what is left.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7f7f7f")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down",
          "triangle-right", "triangle-left")
FADED = "#8c8c8c"


def library():
    """The vl_convert package."""
    if os.path.isdir(PACKAGES) and PACKAGES not in sys.path:
        sys.path.append(PACKAGES)
    try:
        import vl_convert  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise Stop(EX_UNAVAILABLE, "charts need the Python package vl-convert-python: 'make deps' "
                   "installs it, --no-charts does without") from None
    return vl_convert


def scheme(names):
    """Colour and shape scales for format names, in a fixed order."""
    names = sorted(names)
    return ({"domain": names, "range": [COLOURS[i % len(COLOURS)] for i in range(len(names))]},
            {"domain": names, "range": [SHAPES[(i + i // 7) % len(SHAPES)]
                                        for i in range(len(names))]})


def tooltip(*fields):
    """What the mouse shows of a point."""
    names = {"matrix": "matrix", "kernel": "kernel", "config": "config", "time": "median",
             "gflops": "GFLOP/s", "gbs": "GB/s", "limit": "of limit", "speedup": "over baseline",
             "mu": "μ", "sigma": "σ", "note": "note", "ratio": "speed-up", "peer": "over",
             "share": "share", "tau": "within", "intensity": "flop/B"}
    percent = ("limit", "share")
    return [{"field": name, "title": names[name],
             **({"format": ".1%"} if name in percent else
                {"format": ".3~g"} if name not in ("matrix", "kernel", "config", "time", "note",
                                                   "peer") else {})}
            for name in fields]


FACTS = ("matrix", "kernel", "config", "time", "gflops", "gbs", "limit", "speedup", "note")
MATRIX_AXIS = {"field": "matrix", "type": "nominal", "title": None,
               "sort": {"field": "nnz", "op": "max", "order": "ascending"},
               "axis": {"labelLimit": 220}}


def by_format(formats):
    """Colour, shape and a legend to click, the same in every chart of points."""
    colour, shape = scheme(formats)
    legend = {"title": "format (click)", "orient": "top", "columns": 10}
    return {"params": [{"name": "chosen", "select": {"type": "point", "fields": ["format"]},
                        "bind": "legend"}],
            "encoding": {
                "color": {"field": "format", "type": "nominal", "scale": colour, "legend": legend},
                "shape": {"field": "format", "type": "nominal", "scale": shape, "legend": legend},
                "opacity": {"condition": {"param": "chosen", "value": 0.9}, "value": 0.08}}}


def rates(formats, rate, rows):
    """GFLOP/s of every kernel on every matrix, the best one named; rate: all of them, for an axis
    that leaves room for the names."""
    points = by_format(formats)
    room = max(rate) * max((max(rate) / min(rate)) ** 0.14, 1.2)
    return {
        "data": {"name": "cells"}, "height": 22 * rows + 10,
        "transform": [{"filter": "isValid(datum.gflops)"}],
        "encoding": {"y": MATRIX_AXIS,
                     "x": {"field": "gflops", "type": "quantitative", "title": "GFLOP/s (log)",
                           "scale": {"type": "log", "nice": False, "padding": 12,
                                     "domainMax": room}}},
        "layer": [
            {"mark": {"type": "point", "filled": True, "size": 55, "tooltip": True},
             "params": points["params"],
             "encoding": {**points["encoding"], "tooltip": tooltip(*FACTS)}},
            {"transform": [{"filter": "datum.best"}],
             "mark": {"type": "text", "align": "left", "dx": 9, "fontSize": 11},
             "encoding": {"text": {"field": "kernel"}}}]}


def limits(formats, rows):
    """Share of the memory limit that every kernel reaches."""
    points = by_format(formats)
    return {
        "data": {"name": "cells"}, "height": 18 * rows + 10,
        "transform": [{"filter": "isValid(datum.limit)"}],
        "encoding": {"y": MATRIX_AXIS},
        "layer": [
            {"mark": {"type": "point", "filled": True, "size": 45, "tooltip": True},
             "params": points["params"],
             "encoding": {"x": {"field": "limit", "type": "quantitative",
                                "title": "bytes moved a second, of the limit",
                                "axis": {"format": "%"}},
                          **points["encoding"], "tooltip": tooltip(*FACTS)}},
            {"data": {"values": [{"one": 1}]}, "mark": {"type": "rule", "strokeDash": [5, 4]},
             "encoding": {"x": {"datum": 1, "type": "quantitative"}, "y": None}}]}


def profile(leaders):
    """Dolan and More's performance profile: on what share of the matrices a kernel is within a
    factor of the best."""
    top = list(leaders[:len(COLOURS)])
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
                 "color": {"field": "kernel", "type": "nominal", "title": "best kernels",
                           "scale": {"domain": top, "range": list(COLOURS[:len(top)])}},
                 "strokeDash": {"field": "kernel", "type": "nominal", "title": "best kernels",
                                "scale": {"domain": top, "range": [
                                    [1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [4, 4], [1, 0],
                                    [6, 3]][:len(top)]}},
                 "tooltip": tooltip("kernel", "tau", "share")}}]}


def heat(few, rows):
    """Speed-up over the baseline, matrix by kernel; few: numbers fit into the cells."""
    colour = {"field": "speedup", "type": "quantitative", "title": "speed-up",
              "scale": {"type": "log", "scheme": "blueorange", "domain": [0.25, 4],
                        "domainMid": 1, "clamp": True, "reverse": True},
              "legend": {"values": [0.25, 0.5, 1, 2, 4], "format": "~g"}}
    cells = {"mark": {"type": "rect", "tooltip": True},
             "encoding": {"color": colour, "tooltip": tooltip(*FACTS)}}
    numbers = {"mark": {"type": "text", "fontSize": 9},
               "encoding": {"text": {"field": "speedup", "format": ".2f"},
                            "color": {"condition": {
                                "test": "datum.speedup < 0.42 || datum.speedup > 2.4",
                                "value": "white"}, "value": "#111"}}}
    return {"data": {"name": "cells"}, "height": 19 * rows,
            "transform": [{"filter": "isValid(datum.speedup)"}],
            "encoding": {"y": MATRIX_AXIS,
                         "x": {"field": "kernel", "type": "nominal", "title": None,
                               "axis": {"labelAngle": -45, "orient": "top", "labelLimit": 160}}},
            "layer": [cells, numbers] if few else [cells]}


def gains(feature, title, points):
    """Speed-up of our best kernel over the best peer against a feature of the matrix. Rows that are
    all of one length have no sigma: its axis holds 0. Names stand over points that gain, under those
    that lose; a layer without a point would have no axis."""
    named = [point["ratio"] >= 1 for point in points if point[f"named_{feature}"]]
    sides = [side for side in ((">=", -9), ("<", 12)) if (side[0] == ">=") in named]
    scale = {"padding": 50, **({"type": "symlog", "constant": 0.1} if feature == "sigma"
                               else {"type": "log"})}
    least = 0 if feature == "sigma" else 1e-9
    return {
        "data": {"name": "gains"}, "height": 330,
        "transform": [{"filter": f"isValid(datum.{feature}) && datum.{feature} >= {least}"}],
        "layer": [
            {"mark": {"type": "point", "filled": True, "size": 70, "color": COLOURS[0],
                      "tooltip": True},
             "encoding": {"x": {"field": feature, "type": "quantitative", "title": title,
                                "scale": {**scale, "nice": False}},
                          "y": {"field": "ratio", "type": "quantitative",
                                "title": "speed-up (log)",
                                "scale": {"type": "log", "nice": False, "padding": 22}},
                          "tooltip": tooltip("matrix", "kernel", "peer", "ratio", "mu", "sigma",
                                             "note")}},
            *({"transform": [{"filter": f"datum.named_{feature} && datum.ratio {side} 1"}],
               "mark": {"type": "text", "dy": dy, "fontSize": 9, "limit": 110},
               "encoding": {"x": {"field": feature, "type": "quantitative"},
                            "y": {"field": "ratio", "type": "quantitative"},
                            "text": {"field": "matrix"}}} for side, dy in sides),
            {"data": {"values": [{"one": 1}]}, "mark": {"type": "rule", "strokeDash": [5, 4]},
             "encoding": {"y": {"datum": 1, "type": "quantitative"}}}]}


def points_text(drawn, matrices):
    """What a point is, and why there may be more or fewer than elsewhere."""
    missing = f"; {matrices - drawn} lack a time of one side" if drawn < matrices else ""
    return (f"A point is one of {drawn} matrices{missing}; also those whose noise limit was not met, "
            "which the means above leave out.")


def roofline(formats):
    """Rate against intensity under the memory limit; the lines are "limits"."""
    points = by_format(formats)
    return {
        "data": {"name": "cells"}, "height": 300,
        "transform": [{"filter": "isValid(datum.gflops) && isValid(datum.intensity)"}],
        "layer": [
            {"data": {"name": "limits"},
             "mark": {"type": "line", "strokeWidth": 1.5, "strokeDash": [6, 3], "clip": True},
             "encoding": {"x": {"field": "intensity", "type": "quantitative"},
                          "y": {"field": "gflops", "type": "quantitative"},
                          "detail": {"field": "name"}}},
            {"mark": {"type": "point", "filled": True, "size": 45, "tooltip": True},
             "params": points["params"],
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
         "axis": {"labelLimit": 300, "labelFontSize": 13, "ticks": False, "domain": False}}
    return dressed({
        "width": 500, "height": {"step": 62}, "background": "white",
        "padding": {"left": 48, "right": 12, "top": 8, "bottom": 8},
        "encoding": {"y": y},
        "layer": [
            {"data": {"values": [{"one": 1}]}, "mark": {"type": "rule", "strokeDash": [5, 4]},
             "encoding": {"x": {**x, "datum": 1}, "y": None}},
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


def charts(data):
    """[(name, title, what to read, specification)] for one system's data sets; only those that the
    data can fill."""
    cells = data["cells"]
    formats = {cell["format"] for cell in cells}
    rows = len({cell["matrix"] for cell in cells})
    met = [cell["gflops"] for cell in cells if cell["gflops"] is not None]
    found = []
    if met:
        found.append(("rates", "Rate on every matrix", "A mark is a kernel in its best "
                      "configuration; the best is named. Matrices by size.",
                      rates(formats, met, rows)))
    if any(cell["speedup"] is not None for cell in cells):
        found.append(("speedup", f"Speed-up over {data['baseline']}",
                      "Blue is faster than the baseline, orange slower; empty: no result.",
                      heat(len(cells) <= 900, rows)))
    if any(cell["limit"] is not None for cell in cells):
        found.append(("limit", "Share of the memory limit", data["limit_note"],
                      limits(formats, rows)))
    if data["profile"]:
        found.append(("profile", "Performance profile",
                      "On what share of the matrices a kernel needs at most so many times the best "
                      "one's time. Left edge: how often it wins. Where it could not run, or was "
                      "not run, it counts as slower; auto runs one of the others and takes no "
                      "win from it; grey: the other kernels.", profile(data["leaders"])))
    known = {feature for point in data["gains"] for feature in ("mu", "sigma")
             if point[feature] is not None and point[feature] >= 0}
    drawn = len(data["gains"])
    if known:
        found += [(f"gain-{feature}", f"Best own kernel over {data['peer']}, against {symbol}",
                   text, gains(feature, axis, data["gains"])) for feature, symbol, axis, text in (
                       ("mu", "μ", "μ: mean nonzeros per row (log)",
                        f"{points_text(drawn, data['matrices'])} Above the dashed line ours is "
                        "faster; the furthest from it are named where there is room."),
                       ("sigma", "σ", "σ: standard deviation of the nonzeros per row (log)",
                        "The same against the irregularity of the rows.")) if feature in known]
    if data["limits"]:
        found.append(("roofline", "Roofline",
                      "Every mark below its dashed line: the rate that the bytes of the stored "
                      "matrix, x and y allow at the limit.", roofline(formats)))
    return [(name, title, text, dressed(spec)) for name, title, text, spec in found]


def dressed(spec):
    """What all specifications share; the page sets colours for dark and light itself."""
    return {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "width": "container",
            **spec,
            "config": {"view": {"stroke": None}, "axis": {"gridOpacity": 0.35},
                       "legend": {"symbolLimit": 40}}}


def figures(data, names):
    """(name, SVG text, PDF bytes) of one system's charts, for papers; names: those wanted."""
    draw = library()
    for name, title, _, spec in charts(data):
        if name not in names:
            continue
        paper = copy.deepcopy(spec)
        paper.update(width=640, title=title, background="white",
                     datasets={key: data[key] for key in ("cells", "profile", "gains", "limits")})
        yield name, draw.vegalite_to_svg(paper), draw.vegalite_to_pdf(paper)
