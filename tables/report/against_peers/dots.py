"""The report's first chart: of each sentence of the conclusion (conclusion.py), every kernel's speed-up on every matrix
over what the sentence compares with."""

from against_peers.conclusion import others_of
from against_peers.figures import doubt_mark, mean_of, ratio_over
from texts import si_time
from units.layout import timed_cells
from units.unit import AUTO, configuration_of, doubts, gflop_per_s, ran_by, winner_text

KERNELS = 12  # rows besides those of the fastest kernel of spmv and of auto
OURS, KNOWN, UNKNOWN = "fastest of spmv", "auto, known", "auto, unknown"


def point_of(row, unit, value, matrix):
    """One mark."""
    return {"row": row, "matrix": matrix, "kernel": winner_text(unit), "format": unit.record.get("config.format") or "unknown",
            "value": float(f"{value:.4g}"), "time": si_time(unit.median_s) + doubts(unit)}


def rows_of(found):
    """(names, points, means) of the rows; a name has the mean, so that the chart can be read without its marks."""
    names = [f"{row}  {mean_of(ratios):.2f}{doubt_mark(ratios)}" for row, ratios in found.items()]
    points = [{**point_of(name, ratio.ours, ratio.value, ratio.matrix), "offset": offset(k, len(ratios))}
              for name, ratios in zip(names, found.values()) for k, ratio in enumerate(ratios)]
    return names, points, [{"row": name, "value": float(f"{mean_of(ratios):.4g}")} for name, ratios in zip(names, found.values())]


def offset(place, many):
    """Says where a mark stands in its row's height, so that few cover each other."""
    return round((place * 0.618) % 1 * 0.9 - 0.45, 2) if many > 6 else 0


def ratios_by_kernel(finding):
    """{kernel: Ratios over what the sentence compares with; or, with nothing to compare, over the fastest}."""
    _, others = others_of(finding.system, finding.rows)
    found = {}
    for matrix, cells in finding.rows.items():
        units = timed_cells(cells)
        against = others[matrix] or (list(units.values()) if not finding.over else [])
        for kernel, unit in units.items() if against else ():
            if kernel != AUTO:
                found.setdefault(kernel, []).append(ratio_over(matrix, unit, against))
    return found


def best_kernels(found):
    """Returns the kernels with the best means among those with a time on at least half of the matrices."""
    most = max(map(len, found.values()), default=0)
    often = [kernel for kernel, ratios in found.items() if 2 * len(ratios) >= most]
    return sorted(often, key=lambda kernel: (-mean_of(found[kernel]), kernel))[:KERNELS]


def configurations(cells):
    """Counts those with a time on one matrix: what auto ran may be another kernel's, too."""
    return len(set(map(configuration_of, timed_cells(cells).values())))


def dots_of(finding):
    """{rows, points, means, over, axis} of one Finding; None where nothing was timed."""
    found = ratios_by_kernel(finding)
    if not found or max(map(configurations, finding.rows.values())) < 2:
        return rates_of(finding)
    special = {OURS: finding.ours, KNOWN: finding.known, UNKNOWN: finding.unknown}
    names, points, means = rows_of({**{row: ratios for row, ratios in special.items() if ratios},
                                    **{kernel: found[kernel] for kernel in best_kernels(found)}})
    return {"rows": names, "points": points, "means": means, "axis": "speed-up (log)",
            "over": finding.over or "the fastest kernel of each matrix"}


def rates_of(finding):
    """The same where there is nothing to compare: GFLOP/s."""
    units = [(matrix, unit) for matrix, cells in finding.rows.items() for unit in timed_cells(cells).values() if matrix.nnz]
    points = [{**point_of(ran_by(unit), unit, gflop_per_s(unit), matrix.name), "offset": 0} for matrix, unit in units]
    rows = sorted({point["row"] for point in points})
    return {"rows": rows, "points": points, "means": [], "over": "", "axis": "GFLOP/s (log)"} if points else None
