"""The figures of the papers' studies as SVG and PDF, drawn like the report's charts (charts.py)."""

from charts import ONE, dressed, library, looks
from common import Stop

LEVEL = {**ONE, "encoding": {"y": {"datum": 1, "type": "quantitative"}}}


def axis(field, title, kind="log", **more):
    """A quantitative axis with plain numbers."""
    return {"field": field, "type": "quantitative", "title": title,
            "scale": {"type": kind, "nice": False, "padding": 12}, "axis": {"format": "~g", **more}}


def marks(field, names, title):
    """Looks of a name."""
    return looks(field, sorted(names), {"title": title, "labelLimit": 220, "symbolLimit": 0})


def by_slice(system, points):
    """Rate against the slice, one line per matrix; points: [{matrix, slice, gflops}]."""
    slices = sorted({point["slice"] for point in points})
    x = {"field": "slice", "type": "ordinal", "title": "slice S", "sort": slices,
         "axis": {"labelAngle": 0}}
    of_matrix = marks("matrix", {point["matrix"] for point in points}, "matrix")
    return dressed({
        "title": system, "data": {"values": points}, "width": 420, "height": 320,
        "encoding": {"x": x, "y": axis("gflops", "GFLOP/s, 2 nnz / t (log)")},
        "layer": [{"mark": "line", "encoding": {"stroke": of_matrix["stroke"]}},
                  {"mark": {"type": "point", "size": 55}, "encoding": of_matrix}]})


def by_row(system, points):
    """Speed-up against mu and against sigma; points: [{over, mu, sigma, ratio}]."""
    of_peer = marks("over", {point["over"] for point in points}, "over the best")
    y = axis("ratio", "speed-up of CMRS (log)")

    def panel(x):
        return {"width": 340, "height": 320,
                "layer": [{"mark": {"type": "point", "size": 60}, "encoding": {"x": x, "y": y, **of_peer}}, LEVEL]}
    spec = dressed({"title": system, "data": {"values": points},
                    "hconcat": [panel(axis("mu", "μ: nonzeros per row (log)", tickCount=6)),
                                panel(axis("sigma", "σ: deviation / √μ (log beyond 1)", "symlog",
                                           values=[0, 1, 2, 5, 10, 20, 50, 100, 200, 500]))]})
    del spec["width"]  # the panels have their own
    return spec


def drawn(figures):
    """({NAME.svg, NAME.pdf}, why there are none or None) of {NAME: specification}."""
    try:
        draw = library()
    except Stop as stop:
        return {}, str(stop)
    pages = {}
    for name, spec in figures.items():
        spec = {**spec, "background": "white", "padding": {"left": 5, "top": 5, "bottom": 5,
                                                           "right": 30}}
        pages[name + ".svg"] = draw.vegalite_to_svg(spec)
        pages[name + ".pdf"] = draw.vegalite_to_pdf(spec)
    return pages, None
