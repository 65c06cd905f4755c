"""What the CMRS paper (Koza and others, arXiv:1203.2946) reports of a matrix and a product, for any kernel: sigma, its rate, and
its efficiency. Its formulas count 8-byte values and 4-byte columns: there are none of f32. Logs until 28 November 2026 hold
these numbers under the same names."""

import math

from logs import is_number, vectors_of

SOURCE = "perf.eta_bw_source"  # a text; all others are numbers
LOGGED = (SOURCE, "matrix.sigma_cmrs", "perf.flop_per_s_cmrs", "perf.strips", "perf.beta_plus_B", "perf.beta_minus_B",
          "perf.eta_plus", "perf.eta_minus", "perf.eta_bw_Bps")  # by logs that have them


def numbers(record, *names):
    """The values of these fields, or None if one of them is no number."""
    values = [record.get(name) for name in names]
    return values if all(map(is_number, values)) else None


def sigma_of(record):
    """The standard deviation of the row lengths over the root of their mean; 0 for a matrix without entries."""
    found = numbers(record, "matrix.row_mean", "matrix.row_std")
    if not found:
        return {}
    mean, deviation = found
    return {"matrix.sigma_cmrs": deviation / math.sqrt(mean) if mean > 0 else 0.0}


def rate_of(record):
    """The first product of a row is not an addition: 2 nnz - rows operations, which are no count of anything where most rows are empty."""
    found = numbers(record, "matrix.nnz", "matrix.rows", "timing.median_s")
    if not found or found[2] <= 0 or 2 * found[0] <= found[1]:
        return {}
    entries, rows, seconds = found
    return {"perf.flop_per_s_cmrs": (2 * entries - rows) / seconds}


def traffic_of(record):
    """Bytes of a product, x read once (beta plus) or for every entry (beta minus). A kernel without strips counts its rows."""
    found = numbers(record, "matrix.nnz", "matrix.rows")
    if not found or record.get("config.precision") != "f64":
        return {}
    entries, rows = found
    height = record.get("config.params.height")
    strips = -(-rows // height) if is_number(height) and height > 0 else rows
    return {"perf.strips": strips, "perf.beta_plus_B": 12 * entries + 4 * strips + 16 * rows,
            "perf.beta_minus_B": 20 * entries + 4 * strips + 8 * rows}


def efficiency_of(record, traffic):
    """Traffic over time and bandwidth of the memory."""
    found = numbers(record, "timing.median_s", "perf.bw_peak_Bps")
    if not traffic or not found or min(found) <= 0:
        return {}
    moved = math.prod(found)
    return {"perf.eta_plus": traffic["perf.beta_plus_B"] / moved, "perf.eta_minus": traffic["perf.beta_minus_B"] / moved,
            "perf.eta_bw_Bps": found[1], SOURCE: record.get("perf.bw_peak_source")}


def is_usable(name, value):
    """Tells a field of the right kind, or null, from what a damaged log may hold."""
    return name not in LOGGED or value is None or (isinstance(value, str) if name == SOURCE else is_number(value))


def with_cmrs(record):
    """The record with those numbers; what a log holds of them stays as it is. The paper multiplies one vector by the matrix."""
    held = {name: value for name, value in record.items() if is_usable(name, value)}
    if vectors_of(held) > 1 or held.get("config.op") not in (None, "as-is"):
        return {**sigma_of(held), **held}
    traffic = traffic_of(held)
    return {**sigma_of(held), **rate_of(held), **traffic, **efficiency_of(held, traffic), **held}
