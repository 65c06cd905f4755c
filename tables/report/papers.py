"""The tables and figures of the four papers, from the records of a study: pure functions that return
{file name: text}, and figures as {name: what to draw} (study_charts.py)."""

import collections
import math

import study_charts
from cmrs import with_cmrs
from logs import missed_noise_limit, vectors_of
from texts import csv_text, markdown_table, three_digits
from units.settings import label, order, settings_of, short_label
from units.unit import product_of, system_of

EQUAL_ROWS = ("shyy41", "cz5108", "piston", "ML_Geer")  # the SELL paper prints no sigma
# Says what a paper's column is called, and the kernels of ours that stand for it, on either backend.
SCALAR = ("csr_thread", "csr_rows")
VECTOR = ("csr_warp", "csr_lanes", "csr_rows")
HYB = ("hyb_thread", "hyb_rows")
VENDOR = ("cusparse_", "mkl_")
ONE_ROW_SHARED = {"csr_rows": ("simd", True)}  # on OpenMP "vector" is the SIMD sum of csr_rows


class Run:
    """One configuration's last record."""

    def __init__(self, record):
        self.record = with_cmrs(record)
        self.matrix = record["matrix.name"]
        self.kernel = record["config.kernel"]
        self.backend = record["config.backend"]
        self.settings = dict(settings_of(record))
        self.checked = record.get("check.status") != "off"  # else never ranked
        self.ok = record["status"] == "ok" and record.get("perf.verdict") != "suspect" and self.checked
        self.time_s = record["timing.median_s"] if self.ok else math.inf

    @property
    def system(self):
        """Says what a time may be compared within: the backend's machine, and how it was measured."""
        record = self.record
        place = ("gpu.name",) if self.backend == "cuda" else ("cpu.model", "host.name")
        words = [self.backend, *(record.get(name) for name in place)]
        if record.get("omp.threads") and self.backend == "omp":
            words.append(f"{record['omp.threads']} threads")
        words += [record.get("config.precision"), f"cache {record.get('config.cache', 'warm')}",
                  product_of(system_of(record)) or None]
        return " · ".join(str(word) for word in words if word is not None)

    def get(self, name, default=None):
        """A field of the record."""
        value = self.record.get(name)
        return default if value is None else value

    @property
    def gflop_per_s(self):
        """2 nnz vectors / t."""
        return 2 * self.record["matrix.nnz"] * vectors_of(self.record) / self.time_s / 1e9

    @property
    def mb(self):
        """Memory of the format and of the kernel's own structures, in MB."""
        return (self.get("store.matrix_B", 0) + self.get("store.meta_B", 0)) / 1e6

    @property
    def mark(self):
        """Times that are less certain than they look, or that no memory is behind."""
        return ((" ~" if missed_noise_limit(self.record) else "")
                + (" c" if self.cached else ""))

    @property
    def cached(self):
        """The data fit in the last-level cache, and were left there."""
        verdict = self.get("perf.verdict")
        return verdict == "in cache" or verdict is None and self.get("store.llc_ratio", 1) < 1


def runs_of(records):
    """The last record of every configuration, in the order of matrices by mu."""
    last = {}
    for record in records:
        run = Run(record)
        key = (run.system, run.matrix, record.get("matrix.hash"), run.kernel,
               tuple(sorted(run.settings.items(), key=lambda item: item[0])))
        last.pop(key, None)
        last[key] = run
    return sorted(last.values(), key=lambda run: (run.get("matrix.row_mean", 0), run.matrix))


def grouped(runs, name):
    """{attribute: the runs that have it}, in the runs' order."""
    groups = collections.defaultdict(list)
    for run in runs:
        groups[getattr(run, name)].append(run)
    return groups


def by_system(runs):
    """(system, its runs); no row of a table compares two systems."""
    return sorted(grouped(runs, "system").items())


def by_matrix(runs):
    """{matrix: its runs}, in the runs' order."""
    return grouped(runs, "matrix")


def sections(head, alignment, tables):
    """Markdown of {system: rows}, a section each."""
    return "".join(f"## {system}\n\n{markdown_table(head, alignment, rows)}\n"
                   for system, rows in tables.items())


def csv_of(head, tables):
    """CSV of {system: rows}, with a column for the system."""
    return csv_text(["system", *head],
                    [[system, *row] for system, rows in tables.items() for row in rows])


def fastest(runs):
    """The run of least time, or None if none has one."""
    timed = [run for run in runs if run.ok]
    return min(timed, key=lambda run: run.time_s) if timed else None


def of_kernels(runs, names):
    """Runs of kernels so called, or whose names begin so where a name ends in an underscore."""
    return [run for run in runs
            if any(run.kernel == name or name.endswith("_") and run.kernel.startswith(name)
                   for name in names)]


def shown(value, form="{:.2f}"):
    """A number, or a dash for none."""
    return "—" if value is None or not math.isfinite(value) else form.format(value)


def millis(run):
    """Median in milliseconds."""
    return "—" if run is None else three_digits(run.time_s * 1e3) + run.mark


def ratio(slow, fast):
    """Says how many times faster, or None."""
    return slow.time_s / fast.time_s if slow and fast else None


def why_not(runs):
    """Footnotes: what has no time, and why."""
    lines = []
    for run in runs:
        if not run.ok:
            settings = short_label(sorted(run.settings.items()))
            word, reason = run.record["status"], run.get("reason", "")
            if word == "ok" and not run.checked:
                word, reason = "not ranked", "nobody checked the result (--verify=off)"
            elif word == "ok":
                word, reason = "suspect", "faster than the memory, and no cache can hold it"
            who = f"{run.backend}:{run.kernel} {settings}".rstrip()
            lines.append(f"- {run.matrix}, {who}: "
                         f"{word}: {' '.join(str(reason).split())}")
    return "\nWithout a time:\n\n" + "\n".join(sorted(set(lines))) + "\n" if lines else ""


def machine_line(runs):
    """Says what was measured on what, and with the program of which commit: a build without git does not know it."""
    seen = sorted({" · ".join([*(str(run.get(name)) for name in
                                 ("config.backend", "gpu.name", "cpu.model", "omp.threads", "config.cache")
                                 if run.get(name) is not None),
                               f"commit {run.get('build.commit') or 'unknown'}"])
                   for run in runs})
    twins = sorted({run.matrix for run in runs if run.matrix.startswith("gen:twin:")})
    note = ("\nMatrices gen:twin:NAME are **twins**: generated with the rows, entries, mu and sigma "
            "that the paper prints of NAME;\ntheir values and columns are not NAME's, so times "
            "compare kernels here, not this machine with the paper's.\n" if twins else "")
    equal = [name.split(":")[-1] for name in twins if name.split(":")[-1] in EQUAL_ROWS]
    if equal:
        note += (f"No paper prints sigma of {', '.join(equal)}: rows of these twins are as equal as "
                 "can be, which pads nothing at any slice.\n")
    return "Measured on " + "; ".join(seen) + ".\n" + note


# ---- best of parameters -------------------------------------------------------------------------

MARKS = ("~: stopped before its noise limit was met. c: the data fit in the last-level cache, which "
         "times it, not the memory:\nthere eta may be above 1; --cache=cold (make: CACHE=cold) measures "
         "the memory.\n\n")
BESIDE = "[paper.md](paper.md) has the paper's numbers beside ours.\n"
MEDIAN = "median [ms]"
BEST_HEAD = ("matrix", "mu [nonzeros per row]", "sigma [√nonzeros]", "kernel", "tried [configurations]", "best parameters",
             MEDIAN, "2nnz/t [GFLOP/s]", "(2nnz-M)/t [GFLOP/s]", "eta+ [share of bandwidth]", "eta- [share of bandwidth]",
             "size [MB]", "convert [csr products]")


def best_rows(runs):
    """(run, its row) of the configuration that was fastest, per matrix and kernel of a system."""
    for matrix, mine in by_matrix(runs).items():
        unit = fastest(of_kernels(mine, ("csr_rows", "csr_warp")))
        for kernel in sorted({run.kernel for run in mine}):
            tried = [run for run in mine if run.kernel == kernel]
            best = fastest(tried)
            if not best:
                continue
            prep = best.get("prep.convert_s", 0) + best.get("prep.prepare_s", 0)
            yield best, (
                matrix, best.get("matrix.row_mean"), best.get("matrix.sigma_cmrs"),
                kernel, len(tried), short_label(sorted(best.settings.items())),
                best.time_s * 1e3, best.gflop_per_s,
                best.get("perf.flop_per_s_cmrs", math.nan) / 1e9, best.get("perf.eta_plus"),
                best.get("perf.eta_minus"), best.mb, prep / unit.time_s if unit else None)


BEST_FORM = ("{}", "{:.1f}", "{:.2f}", "{}", "{}", "{}", "{:.4g}", "{:.3g}", "{:.3g}", "{:.2f}",
             "{:.2f}", "{:.2f}", "{:.1f}")


def best_cells(run, row):
    """A row as text."""
    return [(form.format(value) if isinstance(value, str) else shown(value, form))
            + (run.mark if name == MEDIAN else "")
            for value, form, name in zip(row, BEST_FORM, BEST_HEAD)]


def best_pages(runs):
    """parameters.md and parameters.csv."""
    best = {system: list(best_rows(mine)) for system, mine in by_system(runs)}
    sources = sorted({run.get("perf.eta_bw_source") for run in runs
                      if run.get("perf.eta_bw_source")})
    text = ("# Best parameters\n\nPer matrix and kernel the configuration of least median, of those "
            "tried. eta: traffic of the CMRS paper over time and\nbandwidth "
            f"({', '.join(sources) or 'not known here: no eta'}). Size: format and the kernel's own "
            "structures. Conversion in products of csr_rows\nor csr_warp.\n\n"
            + machine_line(runs) + BESIDE + "\n" + MARKS)
    text += sections(BEST_HEAD, "lrrlrlrrrrrrr",
                     {system: [best_cells(*item) for item in items]
                      for system, items in best.items()})
    return {"parameters.md": text + why_not(runs),
            "parameters.csv": csv_of(BEST_HEAD, {system: [row for _, row in items]
                                                 for system, items in best.items()})}


# ---- SELL: slices -------------------------------------------------------------------------------


SELL_BASELINES = (("CSR", ("csr_",)), ("ELL", ("ell_",)), ("HYB", HYB), ("BSR", ("bsr_",)),
               ("vendor library", VENDOR))


def sell_rows(runs, slices):
    """(rows, points of the figure) of one system."""
    rows, points = [], []
    for matrix, mine in by_matrix(runs).items():
        sell = of_kernels(mine, ("sell_",))
        by_slice = [fastest([run for run in sell if run.settings.get("slice") == s])
                    for s in slices]
        best = fastest(sell)
        if not best:
            continue
        csr = fastest(of_kernels(mine, ("csr_rows", "csr_warp")))
        rows.append([matrix] + [shown(run.gflop_per_s if run else None) for run in by_slice]
                    + [best.settings["slice"],
                       best.settings.get("sigma"),
                       millis(best)]
                    + [shown(ratio(fastest(of_kernels(mine, names)), best))
                       for _, names in SELL_BASELINES]
                    + [shown(best.mb), shown(csr.mb if csr else None)])
        points += [{"matrix": matrix, "slice": s, "gflops": run.gflop_per_s}
                   for s, run in zip(slices, by_slice) if run]
    return rows, points


def sell_pages(runs):
    """GFLOP/s by slice, and the best slice against the other formats; and what to draw."""
    slices = sorted({run.settings["slice"] for run in runs if "slice" in run.settings})
    head = (["matrix"] + [f"S={s} [GFLOP/s]" for s in slices] + ["best S [rows]", "sorted at a time [rows]", "SELL [ms]"]
            + [f"over {name} [×]" for name, _ in SELL_BASELINES] + ["SELL [MB]", "CSR [MB]"])
    made = {system: sell_rows(mine, slices) for system, mine in by_system(runs)}
    tables = {system: rows for system, (rows, _) in made.items()}
    text = ("# SELL: the slice\n\nGFLOP/s (2 nnz / median) of the best SELL kernel and sigma for "
            "each slice S; then how many times faster the best SELL is\nthan the best kernel of "
            "another format.\n\n" + machine_line(runs) + BESIDE + "\n" + MARKS
            + sections(head, "l" + "r" * (len(head) - 1), tables)
            + why_not(of_kernels(runs, ("sell_",))))
    return ({"sell.md": text, "sell.csv": csv_of(head, tables)},
            figures("sell", study_charts.by_slice, made))


# ---- CMRS ---------------------------------------------------------------------------------------


def reference_runs(mine):
    """{column: best run of what the paper compares with}."""
    def plain(run):
        name, value = ONE_ROW_SHARED.get(run.kernel, (None, None))
        return name is None or run.settings.get(name, False) != value

    scalar = [run for run in of_kernels(mine, SCALAR) if plain(run)]
    vector = [run for run in of_kernels(mine, VECTOR)
              if run.kernel not in ONE_ROW_SHARED or not plain(run)]
    return {"scalar": fastest(scalar), "vector": fastest(vector),
            "HYB": fastest(of_kernels(mine, HYB)), "vendor": fastest(of_kernels(mine, VENDOR))}


CMRS_HEAD = ("matrix", "mu [nonzeros per row]", "sigma [√nonzeros]", "nonzeros [10^6]", "rows [10^3]", "best parameters",
             "median [ms]", "over scalar [×]", "over vector [×]", "over HYB [×]", "over vendor [×]",
             "(2nnz-M)/t [GFLOP/s]", "beta-/t [GB/s]", "eta- [share of bandwidth]", "eta+ [share of bandwidth]",
             "slowest/best [×]")


def cmrs_rows(runs):
    """(rows, points of the figure) of one system."""
    rows, points = [], []
    for matrix, mine in by_matrix(runs).items():
        cmrs = of_kernels(mine, ("cmrs_",))
        best = fastest(cmrs)
        if not best:
            continue
        gains = {name: ratio(run, best) for name, run in reference_runs(mine).items()}
        worst = max(run.time_s for run in cmrs if run.ok)
        mean, sigma = best.get("matrix.row_mean", 0), best.get("matrix.sigma_cmrs", 0)
        config = label((name, best.settings[name]) for name in ("height", "block", "sorted")
                       if name in best.settings)
        rows.append([matrix, f"{mean:.1f}", f"{sigma:.2f}", f"{best.get('matrix.nnz') / 1e6:.1f}",
                     f"{best.get('matrix.rows') / 1e3:.0f}", config, millis(best)]
                    + [shown(gains[name]) for name in ("scalar", "vector", "HYB", "vendor")]
                    + [shown(best.get("perf.flop_per_s_cmrs", math.nan) / 1e9),
                       shown(best.get("perf.beta_minus_B", math.nan) / best.time_s / 1e9, "{:.1f}"),
                       shown(best.get("perf.eta_minus")), shown(best.get("perf.eta_plus")),
                       shown(worst / best.time_s)])
        points += [{"over": name, "mu": mean, "sigma": sigma, "ratio": gain}
                   for name, gain in gains.items() if gain]
    return rows, points


def cmrs_pages(runs):
    """The paper's table 2, and speed-up by mu and by sigma; and what to draw."""
    made = {system: cmrs_rows(mine) for system, mine in by_system(runs)}
    tables = {system: rows for system, (rows, _) in made.items()}
    text = ("# CMRS: height, block and order of entries by brute force\n\nThe best CMRS "
            "configuration and how many times faster it is than the best of: scalar (a thread a "
            "row: csr_thread;\nOpenMP: csr_rows), vector (one warp per row: csr_warp, csr_lanes; OpenMP: "
            "csr_rows with SIMD), HYB, the vendor's library.\nslowest/best: what the worst choice "
            "of parameters costs.\n\n" + machine_line(runs) + BESIDE + "\n" + MARKS
            + sections(CMRS_HEAD, "l" + "r" * (len(CMRS_HEAD) - 1), tables)
            + why_not(of_kernels(runs, ("cmrs_",))))
    return ({"cmrs.md": text, "cmrs.csv": csv_of(CMRS_HEAD, tables)},
            figures("cmrs", study_charts.by_row, made))


# ---- configuration interaction ------------------------------------------------------------------


CI_FORMATS = ("csr", "csr5", "ell", "sell", "dia", "hybrid")
CI_BASELINES = (("CSR", ("csr_",)), ("CSR5", ("csr5_",)), ("ELL", ("ell_",)),
                ("sliced ELL", ("sell_",)), ("DIA", ("dia_",)), ("vendor library", VENDOR))


def ci_memory(runs):
    """MB of each format, one row per matrix of one system."""
    for matrix, mine in by_matrix(runs).items():
        least = [min((run.mb for run in mine if run.ok and run.get("config.format") == name),
                     default=None) for name in CI_FORMATS]
        yield ([matrix, mine[0].get("matrix.nnz"), mine[0].get("matrix.row_max")]
               + [shown(value) for value in least])


def ci_times(runs, blocks):
    """Times of the hybrid at each block and of its baselines, one row per matrix of one system."""
    for matrix, mine in by_matrix(runs).items():
        hybrid = of_kernels(mine, ("hybrid_",))
        best = fastest(hybrid)
        baselines = [fastest(of_kernels(mine, names)) for _, names in CI_BASELINES]
        yield ([matrix, best.settings.get("boundary", "—") if best else "—"]
               + [millis(fastest([run for run in hybrid if run.settings.get("block") == block]))
                  for block in blocks]
               + [millis(run) for run in baselines] + [shown(ratio(run, best)) for run in baselines])


def ci_pages(runs):
    """Memory of each format, and times at each block."""
    memory_head = ["matrix", "nonzeros", "longest row [nonzeros]"] + [f"{name} [MB]" for name in CI_FORMATS]
    memory = {system: list(ci_memory(mine)) for system, mine in by_system(runs)}
    text = ("# Configuration interaction\n\nSize: the format's arrays and the kernel's own, in MB (10^6 bytes), 32-bit "
            "indices; of sliced ELL the least of the slices\ntried. Times: medians, the best configuration of each, and how "
            "many times faster the best hybrid is.\n\n" + machine_line(runs) + BESIDE + "\n"
            + MARKS + sections(memory_head, "l" + "r" * (len(memory_head) - 1), memory))
    pages = {"ci-memory.csv": csv_of(memory_head, memory)}
    for number, (system, mine) in enumerate(by_system(runs)):
        blocks = sorted({run.settings.get("block") for run in of_kernels(mine, ("hybrid_",))},
                        key=lambda block: (block is not None, order(block)))
        head = (["matrix", "boundary [nonzeros per row]"]
                + ["hybrid" + (f", block {block}" if block else "") + " [ms]" for block in blocks]
                + [name + " [ms]" for name, _ in CI_BASELINES]
                + [f"hybrid over {name} [×]" for name, _ in CI_BASELINES])
        times = {system: list(ci_times(mine, blocks))}
        text += sections(head, "l" + "r" * (len(head) - 1), times)
        pages[f"ci-times{numbered(number)}.csv"] = csv_of(head, times)
    pages["ci.md"] = text + why_not(runs)
    return pages, {}


# ---- figures ------------------------------------------------------------------------------------


def numbered(number):
    """Nothing for the first."""
    return f"-{number + 1}" if number else ""


def figures(name, draw, made):
    """{name: what to draw}, of {system: (rows, points)}; numbered where there are several."""
    drawn = [(system, points) for system, (_, points) in made.items() if points]
    return {name + numbered(number): draw(system, points)
            for number, (system, points) in enumerate(drawn)}
