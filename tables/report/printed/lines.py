"""The printed numbers of each paper beside ours: functions from the runs of one system to Lines."""

import csv
import math
import os
import statistics

from papers import HYB, VENDOR, by_matrix, fastest, of_kernels, ratio, reference_runs
from printed.verdicts import (because, chosen, is_ahead_too, is_alike, is_half_too, is_property, judged)
from texts import plural

HERE = os.path.dirname(os.path.abspath(__file__))
MIB_IN_MB = 2.0**20 / 1e6
ANOTHER = "it is another matrix of that name"


def printed_by(paper, **wanted):
    """{matrix: {column: text}} of a paper's CSV, of the rows that have what is wanted."""
    with open(os.path.join(HERE, paper + ".csv"), encoding="utf-8", newline="") as file:
        return {row["matrix"]: row for row in csv.DictReader(file)
                if all(row[name] == value for name, value in wanted.items())}


def original(matrix):
    """The name of the matrix of which this is a twin, or its own."""
    return matrix.removeprefix("gen:twin:")


def printed_matrices(runs, rows):
    """(matrix, its runs, its printed row) of those that the paper prints."""
    for matrix, mine in by_matrix(runs).items():
        if original(matrix) in rows:
            yield matrix, mine, rows[original(matrix)]


def times_of(runs):
    """{name: seconds} of {name: run or None}."""
    return {name: run.time_s for name, run in runs.items() if run}


def in_mb(mib):
    """The paper's MiB as this project writes sizes, with as many digits."""
    return f"{float(mib) * MIB_IN_MB:.2f}"


def mean(values):
    """(geometric mean of the ratios that there are, or None; of how many matrices, in words)."""
    found = [value for value in values if value]
    return statistics.geometric_mean(found) if found else None, f"mean of {plural(len(found), 'matrix', 'matrices')}"


# ---- SELL ---------------------------------------------------------------------------------------


V100 = "Tesla V100"
SELL_GAINS = {"piston": "1.38", "ldoor": "2.02"}
LARGE_SLICES = ("cant", "ML_Geer")
CRS_AHEAD = ("shipsec1", "pwtk", "audikw_1")


def sell_facts(matrix, run, row):
    """Says what the matrix is."""
    for name, field in (("rows", "matrix.rows"), ("nonzeros", "matrix.nnz")):
        yield judged(name, "table 2", matrix, row[name], run.get(field, math.nan), is_property, ANOTHER)


def sell_lines(runs):
    """Table 2, and the text of section 5; its figures are bars without numbers."""
    gains, last = [], None
    what, library = "SELL over the best format of cuSPARSE but its SELL [×]", ("cusparse_", "cuSPARSE 9.1")
    for matrix, mine, row in printed_matrices(runs, printed_by("sell")):
        yield from sell_facts(matrix, mine[0], row)
        name, sell = original(matrix), of_kernels(mine, ("sell_",))
        best = fastest(sell)
        if mine[0].backend != "cuda" or not best:
            continue
        last = best
        by_slice = {str(size): fastest([run for run in sell if run.settings.get("slice") == size])
                    for size in sorted({run.settings["slice"] for run in sell})}
        vendor = fastest([run for run in of_kernels(mine, ("cusparse_",)) if "sell" not in run.kernel])
        gains.append(ratio(vendor, best))
        yield judged(what, "section 5, text", matrix, SELL_GAINS.get(name), gains[-1], is_ahead_too,
                     because(best, V100, vendor, library))
        yield chosen("best slice S [rows]", "figure 7 and text", matrix, 1024 if name in LARGE_SLICES else 32,
                     times_of(by_slice), because(best, V100))
        csr = fastest(of_kernels(mine, ("csr_",)))
        if name in CRS_AHEAD:
            yield chosen("the faster of CSR and SELL", "figure 6 and text", matrix, "CSR",
                         times_of({"SELL": best, "CSR": csr}), because(best, V100, csr))
    if last:
        ours, of_how_many = mean(gains)
        yield judged(what, "section 5, text", of_how_many, "1.78", ours, is_ahead_too, because(last, V100))


# ---- CMRS ---------------------------------------------------------------------------------------


GTX480 = "GeForce GTX 480"
CMRS_OVER = (("scalar", "over_scalar"), ("vector", "over_vector"), ("HYB", "over_hyb"), ("vendor", "over_crs"))
CMRS_NAMES = {"vendor": "cuSPARSE's CSR"}
CMRS_SUMS = {"vendor": "1.3", "HYB": "1.0", "vector": "2.2", "scalar": "3.7"}  # section 5.4


def cmrs_facts(matrix, run, row):
    """Says what the matrix is."""
    for name, field, unit in (("mu", "matrix.row_mean", "[nonzeros per row]"), ("sigma", "matrix.sigma_cmrs", "[√nonzeros]")):
        yield judged(f"{name} {unit}", row["where"], matrix, row[name], run.get(field, math.nan), is_property,
                     ANOTHER)


def cmrs_gains(matrix, row, best, others):
    """Says how many times faster than each of the others."""
    for name, column in CMRS_OVER:
        yield judged(f"CMRS over {CMRS_NAMES.get(name, name)} [×]", row["where"], matrix, row[column],
                     ratio(others[name], best), is_ahead_too,
                     because(best, GTX480, others[name], ("cusparse_", "cuSPARSE 4.1")))


def cmrs_efficiency(matrix, row, best):
    """Traffic over time and bandwidth, and the time itself."""
    for column, name, field in (("eta_plus", "eta+", "perf.eta_plus"), ("eta_minus", "eta-", "perf.eta_minus")):
        yield judged(f"{name} [share of the bandwidth]", row["where"], matrix, row[column], best.get(field), is_alike,
                     because(best, GTX480))
    yield judged("time [ms]", row["where"], matrix, row["time_ms"], best.time_s * 1e3, is_alike, because(best, GTX480))


def cmrs_sums(measured):
    """Section 5.4, of [(best, {name: run})]: sums of all times over those of CMRS, and the largest gain over all others."""
    reason, most = because(measured[0][0], GTX480), []
    for name, printed in CMRS_SUMS.items():
        both = [(others[name].time_s, best.time_s) for best, others in measured if others[name]]
        ours = sum(other for other, _ in both) / sum(mine for _, mine in both) if both else None
        yield judged(f"CMRS over {CMRS_NAMES.get(name, name)} [×]", "section 5.4",
                     f"sum over {plural(len(both), 'matrix', 'matrices')}", printed, ours, is_ahead_too, reason)
    for best, others in measured:
        gains = [ratio(run, best) for run in others.values() if run]
        most += [min(gains)] if gains else []
    yield judged("CMRS over the best of all others [×]", "figure 2 and text", f"most of {plural(len(most), 'matrix', 'matrices')}",
                 "1.43", max(most, default=None), is_ahead_too, reason)


def cmrs_lines(runs):
    """Table 2, and the additional table with all matrices."""
    measured = []
    for matrix, mine, row in printed_matrices(runs, printed_by("cmrs")):
        yield from cmrs_facts(matrix, mine[0], row)
        best = fastest(of_kernels(mine, ("cmrs_",)))
        if mine[0].backend == "cuda" and best:
            others = {**reference_runs(mine), "vendor": fastest(of_kernels(mine, ("cusparse_csr_",)))}
            measured.append((best, others))
            yield from cmrs_gains(matrix, row, best, others)
            yield from cmrs_efficiency(matrix, row, best)
    if measured:
        yield from cmrs_sums(measured)


# ---- configuration interaction ------------------------------------------------------------------


K20M = "Tesla K20m"
CI_SIZES = (("csr", "csr_MiB"), ("ell", "ell_MiB"), ("sell", "sell_MiB"), ("hybrid", "hybrid_MiB"))
CI_BLOCKS = (16, 32, 64)
CI_MEANS = {"CSR5": "2.38", "cuSPARSE's CSR": "3.84"}
CI_TIMES = (("hybrid", ("hybrid_",), "hybrid_ms"), ("cuSPARSE's CSR", ("cusparse_csr_",), "cusparse_ms"),
            ("CSR5", ("csr5_",), "csr5_ms"))


def ci_sizes(matrix, mine, row):
    """Counts and bytes, which no machine changes."""
    for what, field, column in (("nonzeros", "matrix.nnz", "nonzeros"), ("longest row [nonzeros]", "matrix.row_max", "longest_row")):
        yield judged(what, "table 3", matrix, row[column], mine[0].get(field), is_property, ANOTHER)
    formula = 12 * int(row["longest_row"]) * mine[0].get("matrix.rows") / 2**20  # ELL, in MiB
    why = {"sell": "the paper does not print its slice; the least of those tried is shown",
           "ell": f"the paper's own formula and its table 3 give {in_mb(formula)} MB"}
    for name, column in CI_SIZES:
        least = min((run.mb for run in mine if run.ok and run.get("config.format") == name), default=None)
        yield judged(f"size of {name} [MB]", "table 5, there in MiB", matrix, in_mb(row[column]), least, is_property,
                     why.get(name, "the rows of a twin end elsewhere"))


def of_block(runs, block):
    """Returns the runs whose blocks have so many threads."""
    return [run for run in runs if str(run.settings.get("block")) in (str(block), f"32x{block // 32}")]


def ci_times(matrix, mine, row, best):
    """Tables 6 to 9."""
    hybrid = of_kernels(mine, ("hybrid_",))
    yield chosen("best block of the hybrid [threads]", "tables 6 to 8", matrix, 32,
                 times_of({str(block): fastest(of_block(hybrid, block)) for block in CI_BLOCKS}), because(best, K20M))
    for name, kernels, column in CI_TIMES:
        run = fastest(of_kernels(mine, kernels))
        yield judged(f"time of {name} [ms]", "table 9", matrix, row[column], run and run.time_s * 1e3, is_alike,
                     because(run or best, K20M))
        if name != "hybrid":
            yield judged(f"hybrid over {name} [×]", "table 9, from its times", matrix,
                         f"{float(row[column]) / float(row['hybrid_ms']):.2f}", ratio(run, best), is_ahead_too,
                         because(best, K20M, run, ("cusparse_", "cuSPARSE of 2018")))


def ci_lines(runs):
    """Tables 3, 5 and 9, and the block sizes of tables 6 to 8."""
    measured = []
    for matrix, mine, row in printed_matrices(runs, printed_by("ci")):
        yield from ci_sizes(matrix, mine, row)
        best = fastest(of_kernels(mine, ("hybrid_",)))
        if mine[0].backend == "cuda" and best:
            measured.append((best, mine))
            yield from ci_times(matrix, mine, row, best)
    for name, kernels, _ in CI_TIMES[1:] if measured else ():
        ours, of_how_many = mean([ratio(fastest(of_kernels(mine, kernels)), best) for best, mine in measured])
        yield judged(f"hybrid over {name} [×]", "table 9, from its averages", of_how_many, CI_MEANS[name], ours, is_ahead_too,
                     because(measured[0][0], K20M))


# ---- OpenMP and CUDA ----------------------------------------------------------------------------


FIGURE = {"omp": "figure 1", "cuda": "figure 2"}
SHARE = "share of cases in which it is faster [%]"
PAPERS_KERNELS = {"omp": ("csr1", "csr2", "csr3", "csr4", "ell0", "ell1", "ell2"),
                  "cuda": ("csr0", "csr1", "ell0", "ell1", "ell2")}


def as_in_figure(run):
    """The configuration that the paper's tables of times are of: OpenMP without SIMD, with the lengths of rows, on the
    grid 10x4; CUDA without the lengths, in the best block."""
    if run.backend == "cuda":
        return run.settings.get("rowlens", False) is False
    grid = str(run.settings.get("grid", "10x4"))
    return (run.settings.get("simd", False) is False and run.settings.get("rowlens", True) is True
            and grid in ("10x4", "10x1"))


def share_of_wins(runs, name, value):
    """Counts in per cent of the sets of runs that differ in this alone, those that the value wins; None of none."""
    sets = {}
    for run in runs:
        if run.ok and name in run.settings:
            rest = tuple((key, str(kept)) for key, kept in sorted(run.settings.items()) if key != name)
            sets.setdefault((run.matrix, run.kernel, rest), {})[run.settings[name]] = run.time_s
    compared = [found for found in sets.values() if value in found and len(found) > 1]
    won = sum(min(found, key=found.get) == value for found in compared)
    return 100 * won / len(compared) if compared else None


def most_wins(runs, blocks):
    """{block: 1 if it wins in the largest share of cases, else 2}, as if of times; empty if none can be compared."""
    shares = {block: share_of_wins([run for run in runs if str(run.settings.get("block")) in blocks], "block", block)
              for block in blocks}
    if None in shares.values():
        return {}
    return {block: 1.0 if share == max(shares.values()) else 2.0 for block, share in shares.items()}


def cuda_shares(runs, reason):
    """Section 4.3."""
    yield judged(f"lengths of ELL rows used (rowlens): {SHARE}", "section 4.3.2", "all measured", "44.04",
                 share_of_wins(runs, "rowlens", True), is_half_too, reason)
    for blocks in ("192", "256", "384"), ("32x8", "32x16", "32x32"):
        yield chosen(f"block that is fastest most often, of {', '.join(blocks)} [threads]", "section 4.3.3", "all measured",
                     blocks[0], most_wins(runs, blocks), reason)


def omp_shares(runs, reason):
    """Section 4.2."""
    ten = [run for run in runs if str(run.settings.get("grid", "")).startswith("10x")
           and run.settings.get("schedule") in ("static", "dynamic")]
    for what, where, printed, ours in (
            ("SIMD reduction", "section 4.2.2", "42", share_of_wins(runs, "simd", True)),
            ("lengths of ELL rows used (rowlens)", "section 4.2.3", "61.86", share_of_wins(runs, "rowlens", True)),
            ("schedule static, not dynamic, grid 10x4", "section 4.2.5", "64.88", share_of_wins(ten, "schedule", "static"))):
        yield judged(f"{what}: {SHARE}", where, "all measured", printed, ours, is_half_too, reason)


def because_of_grid(run, base):
    """because, but for a grid with fewer row blocks than there are threads."""
    rows, threads = str(run.settings.get("grid", "")).partition("x")[0], run.get("omp.threads")
    if run.backend == "omp" and rows.isdigit() and threads and int(rows) < threads and "_tiles" not in run.kernel:
        return f"{rows} row blocks keep {rows} of {threads} threads busy"
    return because(run, None, base)


def times_in_figure(matrix, printed, best):
    """printed: {kernel: text}, best: {kernel: run}, by the paper's names, the first of which the others are compared with."""
    times, (base, *others) = times_of(best), best
    where = FIGURE[best[base].backend]
    first = min(printed, key=lambda name: float(printed[name]))
    yield chosen("best kernel", where, matrix, first, times, because_of_grid(best[first] or best[base], best[base]))
    yield judged(f"time of {base} [ms]", where, matrix, printed[base], times[base] * 1e3, is_alike, because(best[base], None))
    for name in others:
        if name in printed:
            yield judged(f"{name} over {base} [×]", f"{where}, from its times", matrix,
                         f"{float(printed[base]) / float(printed[name]):.2f}", ratio(best[base], best[name]), is_ahead_too,
                         because_of_grid(best[name] or best[base], best[base]))


def omp_cuda_lines(runs):
    """Figures 1 and 2, as speed-ups over the first kernel of each, and what sections 4.2 and 4.3 say of settings."""
    backend = runs[0].backend
    for matrix, mine, row in printed_matrices(runs, printed_by("omp-cuda", backend=backend)):
        mine = [run for run in mine if as_in_figure(run)]
        best = {name: fastest([run for run in mine if run.get("config.alias") == name]) for name in PAPERS_KERNELS[backend]}
        if next(iter(best.values())):
            yield from times_in_figure(matrix, {name: row[name + "_ms"] for name in best if row[name + "_ms"]}, best)
    uncached = next((run for run in runs if run.ok and not run.cached), runs[0])
    yield from (cuda_shares if backend == "cuda" else omp_shares)(runs, because(uncached, None))
