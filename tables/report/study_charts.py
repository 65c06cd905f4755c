"""The figures of the papers' studies as SVG, and as PDF where a package makes it, drawn like the report's charts (charts.py)."""

from charts import converted, library
from common import Stop
from drawing import Chart, Scale, around, looks, svg


def with_looks(chart, title, names):
    """A chart with a legend of names; returns how these look."""
    names = sorted(names)
    seen = looks(names)
    chart.legend_of(title, names, seen)
    return seen


def by_slice(system, points):
    """Rate against the slice, one line per matrix; points: [{matrix, slice, gflops}]."""
    slices = sorted({point["slice"] for point in points})
    places = {value: k for k, value in enumerate(slices)}
    chart = Chart(Scale(-0.4, len(slices) - 0.6, "linear", values=range(len(slices)), form=lambda k: str(slices[k])),
                  around([point["gflops"] for point in points]), 320, ("slice S", "GFLOP/s, 2 nnz / t (log)"))
    seen = with_looks(chart, "matrix", {point["matrix"] for point in points})
    for name, (colour, *_) in seen.items():
        chart.line(sorted((places[point["slice"]], point["gflops"]) for point in points if point["matrix"] == name), colour, wide=1.5, text=name)
    chart.points([(places[point["slice"]], point["gflops"], point["matrix"], f"{point['matrix']}, S = {point['slice']}: {point['gflops']:g}", 0)
                  for point in points], seen)
    return svg([chart], system)


def by_row(system, points):
    """Speed-up against mu and against sigma; points: [{over, mu, sigma, ratio}]."""
    charts = []
    for feature, title in (("mu", "μ: nonzeros per row (log)"), ("sigma", "σ: deviation / √μ (log beyond 1)")):
        values = [point[feature] for point in points]
        scale = (around(values, 0.08) if feature == "mu" else
                 Scale(0, max(values) * 1.2 + 0.1, "symlog", values=[0, 1, 2, 5, 10, 20, 50, 100, 200, 500]))
        chart = Chart(scale, around([*(point["ratio"] for point in points), 1], 0.08), 320, (title, "speed-up of CMRS (log)"), width=440)
        seen = with_looks(chart, "over the best", {point["over"] for point in points})
        chart.rule(y=1)
        chart.points([(point[feature], point["ratio"], point["over"], f"{point['ratio']:g} over {point['over']}", 0) for point in points], seen)
        charts.append(chart)
    return svg(charts, system)


def drawn(figures):
    """({NAME.svg, NAME.pdf}, why there is no PDF, or None) of {NAME: SVG}."""
    pages = {name + ".svg": text for name, text in figures.items()}
    try:
        library()
    except Stop as stop:
        return pages, str(stop)
    return {**pages, **{name + ".pdf": converted(text, ".pdf") for name, text in figures.items()}}, None
