"""The tables: each is a pure function of records or units and returns text."""

import collections

from compare import compare_csv
from speedups import gain_pages
from parameter_effects import STUDIES, by_system, comparisons, study_csv, study_line, study_md, studies_csv
from texts import csv_cell, csv_text, latex_document, markdown_table, percent, plural, si_time, three_digits
from units.layout import (BASELINE_ALIAS, baseline_of, caption, fastest, heading,
                          kernels_in, marked_times, overlap, tabulate, tied_with, timed_cells, winners)
from units.means import MEANING, are_enough, is_known, mean_text
from units.merging import merge
from units.settings import label
from units.unit import BUILD_KEYS, System, gflop_per_s, ran_by, unit_of, winner_text


def runs_csv(records, fields):
    """Every scalar of every record; columns in record.def's order, unknown ones after it."""
    place = {name: i for i, name in enumerate(fields)}
    found = {name for record in records for name in record}
    columns = sorted(found, key=lambda name: (place.get(name, len(place)), name))
    rows = [[record.get(name) for name in columns] for record in records]
    first = [columns.index(name) for name in ("time", "run_id", "key") if name in found]
    rows.sort(key=lambda row: ([csv_cell(row[i]) for i in first], [csv_cell(v) for v in row]))
    return csv_text(columns, rows)


def columns_csv(records, fields):
    """Unit and meaning of each column of runs.csv that record.def knows."""
    found = {name for record in records for name in record}
    return csv_text(["column", "unit", "meaning"],
                    [[name, unit, text] for name, (unit, text) in fields.items()
                     if name in found])


def best_csv(layout):
    """One row per system and matrix: the best kernel and what it gains over the baseline."""
    header = System._fields + ("matrix", "nnz", "kernel", "alias", "config", "commit", "median_s",
                               "q1_s", "q3_s", "runs", "noisy", "cached", "gflop_per_s",
                               "tied", "baseline", "baseline_median_s", "speedup", "winner")
    rows = []
    for system, matrices in layout.items():
        for matrix, cells in matrices.items():
            units = timed_cells(cells)
            if not units:
                continue
            best, base = fastest(units.values()), baseline_of(system, units)
            who = best.identity
            gain = (None, None, None)
            if base:
                gain = base.identity.kernel, base.median_s, base.median_s / best.median_s
            rows.append(system + (
                matrix.name, matrix.nnz, who.kernel, best.alias, label(who.settings),
                who.build[BUILD_KEYS.index("build.commit")], best.median_s, best.q1_s, best.q3_s,
                best.runs, best.noisy, best.cached, gflop_per_s(best),
                " ".join(tied_with(best, units))) + gain + (winner_text(best),))
    return csv_text(header, rows)


def times_csv(layout):
    """One row per system and matrix, one column per kernel: seconds, or why there are none."""
    kernels = sorted({kernel for matrices in layout.values() for kernel in kernels_in(matrices)})
    rows = []
    for system, matrices in layout.items():
        for matrix, cells in matrices.items():
            units = timed_cells(cells)
            best = fastest(units.values()) if units else None
            shown = [None if cell is None else cell.best.median_s if cell.best else cell.word
                     for cell in map(cells.get, kernels)]
            rows.append([*system, matrix.name, matrix.nnz, *shown]
                        + ([best.median_s, gflop_per_s(best), ran_by(best), best.runs, winner_text(best)]
                           if best else [None] * 5))
    return csv_text([*System._fields, "matrix", "nnz", *kernels, "min_time_s", "best_gflop_per_s",
                     "best_kernel", "best_runs", "winner"], rows)


def footnote(notes, text):
    """The mark of a footnote, made when its text is new; notes is {text: number}."""
    return f" ({notes.setdefault(text, len(notes) + 1)})" if text else ""


def times_row(matrix, cells, kernels, notes):
    """One line of times.md."""
    units = timed_cells(cells)
    best = fastest(units.values()) if units else None
    shown = marked_times(units, best) if best else {}
    for kernel, cell in cells.items():
        word = "—" if cell.word == "skipped" else cell.word
        shown[kernel] = shown.get(kernel, word) + footnote(notes, cell.note)
    return ([matrix.name, "" if matrix.nnz is None else matrix.nnz]
            + [shown.get(kernel, "") for kernel in kernels]
            + ([si_time(best.median_s),
                three_digits(gflop_per_s(best)) + (" c" if best.cached else ""),
                winner_text(best), best.runs] if best else [""] * 4))


def builds_note(units):
    """A warning when one table rests on several builds, else nothing."""
    builds = {unit.identity.build for unit in units}
    if len(builds) < 2:
        return ""
    names = sorted({str(build[BUILD_KEYS.index("build.commit")] or "unknown")
                    for build in builds})
    return (f"\nRuns of {len(builds)} builds (commit {', '.join(names)}) are in this table; "
            "a cell shows the fastest.\n")


TIMES_HEAD = ("Best median time over all configurations of a kernel. **Bold**: the best. "
              "`=`: quartile range meets the best's,\nso that the two are tied. ~: stopped "
              "before its noise limit was met. !: disturbed while timed. —: skipped.\nWRONG: a "
              "wrong result, never ranked. Empty: not run. GFLOP/s: 2 nnz / time; c: the data fit "
              "in the last-level cache.\nn: runs of the best configuration; several runs count as the "
              "median of their medians.\n")


def times_table(system, matrices, units):
    """((header, alignment, rows), footnotes) of a system: matrix by kernel, then the least time,
    its GFLOP/s and its kernel."""
    kernels, notes = kernels_in(matrices), {}
    alias = {unit.identity.kernel: unit.alias for unit in units
             if unit.identity.system == system and unit.alias}
    names = [f"{kernel} ({alias[kernel]})" if kernel in alias else kernel for kernel in kernels]
    header = ["matrix", "nnz", *names, "MIN TIME", "BEST GFLOP/s", "BEST KERNEL", "n"]
    rows = [times_row(matrix, cells, kernels, notes) for matrix, cells in matrices.items()]
    return ((header, "l" + "r" * (len(kernels) + 3) + "lr", rows),
            [f"({number}) {' '.join(text.split())}" for text, number in notes.items()])


def times_md(layout, units):
    """The papers' table."""
    parts = [f"# Times\n\n{TIMES_HEAD}"]
    for system, matrices in layout.items():
        table, notes = times_table(system, matrices, units)
        parts.append(heading(system, matrices) + markdown_table(*table))
        parts += [f"\n{note}\n" for note in notes]
        parts.append(builds_note([unit for unit in units if unit.identity.system == system]))
    return "".join(parts)


def times_tex(layout, units):
    """The papers' table for a paper; the footnotes go into the caption."""
    found = []
    for system, matrices in layout.items():
        table, notes = times_table(system, matrices, units)
        found.append((". ".join([caption(system, matrices), *notes]), *table))
    return latex_document("Times", TIMES_HEAD, found)


def kernel_rows(matrices):
    """Rows of a system's summary: each kernel's share of the matrices that have a time at all."""
    ranked = [timed_cells(cells) for cells in matrices.values()]
    ranked = [units for units in ranked if units]
    words = collections.Counter((kernel, cell.word) for cells in matrices.values()
                                for kernel, cell in cells.items())
    for kernel in kernels_in(matrices):
        first = [winners(units) for units in ranked]
        wins = sum(1 / len(names) for names in first if kernel in names)
        tied = sum(kernel in units and overlap(units[kernel], fastest(units.values()))
                   for units in ranked)
        rates = [gflop_per_s(units[kernel]) for units in ranked if kernel in units]
        others = sum(count for (name, word), count in words.items()
                     if name == kernel and word not in ("", "skipped", "WRONG"))
        yield [kernel, f"{wins:.3g}", percent(wins, len(ranked)), percent(tied, len(ranked)),
               words[kernel, ""], words[kernel, "skipped"], words[kernel, "WRONG"], others,
               three_digits(max(rates)) if rates else ""]


def speedup_line(system, matrices):
    """Geometric mean of best over baseline, by the one rule for means, with its n."""
    ratios, known = [], 0
    for cells in matrices.values():
        units = timed_cells(cells)
        base = baseline_of(system, units)
        if base:
            best = fastest(units.values())
            ratios.append(base.median_s / best.median_s)
            known += is_known(base, best)
    if not ratios:
        return f"No speed-up: {BASELINE_ALIAS} was not timed.\n"
    meaning = "" if are_enough(known, len(ratios)) else f"; {MEANING}"
    return (f"Best kernel over {BASELINE_ALIAS}: geometric mean {mean_text(ratios, known, 3)} (n = {len(ratios)}; "
            f"{min(ratios):.3f} to {max(ratios):.3f}{meaning}).\n")


def summary_md(records, layout, outcome):
    """Shares of the kernels and of the studied values (outcome: {study: comparisons}), with n."""
    counts = collections.Counter(record["status"] for record in records)
    parts = ["# Summary\n\n", f"{plural(len(records), 'record')}: ",
             ", ".join(f"{counts[status]} {status}" for status in sorted(counts)), ".\n\n",
             "A kernel is best on a matrix when its least median is; an exact draw is split. Best "
             "or tied also counts kernels\nwhose quartile range meets the best's. auto is a row of its own: "
             "where it ran the best configuration,\nwhich was timed by name too, that is a draw. Shares are of the n "
             "matrices on which any kernel has a time.\n"]
    for system, matrices in layout.items():
        n = sum(bool(timed_cells(cells)) for cells in matrices.values())
        parts.append(heading(system, matrices) +
                     f"Best in x % of n = {plural(n, 'matrix', 'matrices')}:\n\n")
        parts.append(markdown_table(
            ["kernel", "best", "share", "best or tied", "timed", "skipped", "WRONG", "failed",
             "max GFLOP/s"], "lrrrrrrrr", kernel_rows(matrices)))
        studied = "".join(study_line(study, by_system(found).get(system, [])) for study, found in outcome.items())
        parts.append("\n" + speedup_line(system, matrices) + ("\n" + studied if studied else ""))
    return "".join(parts)


def make_pages(records, fields):
    """{file name: text} of all tables: the whole program but for reading and writing."""
    units = merge(unit_of(record) for record in records)
    layout = tabulate(units)
    outcome = {study: comparisons(study, units) for study in STUDIES}
    tables = {
        "runs.csv": runs_csv(records, fields),
        "columns.csv": columns_csv(records, fields),
        "best.csv": best_csv(layout),
        "times.csv": times_csv(layout),
        "times.md": times_md(layout, units),
        "summary.md": summary_md(records, layout, outcome),
        "times.tex": times_tex(layout, units),
        "studies.csv": studies_csv(outcome),
        "compare.csv": compare_csv(records),
        **gain_pages(layout),
    }
    for study, found in ((study, found) for study, found in outcome.items() if found):
        tables[f"{study.name}.csv"] = study_csv(study, found)
        tables[f"{study.name}.md"] = study_md(study, found)
    return tables
