"""Says what switching kernels gains and costs: speed-up over the baseline, products until it pays off, best kernel for
1, 100 and 10,000 products."""

import json
import math

from texts import csv_text, latex_document, markdown_table, percent, plural, si_time, three_digits
from units.layout import (BASELINE_ALIAS, baseline_of, caption, fastest, heading,
                          kernels_in, overlap, tied_with, timed_cells, winners)
from units.means import MEANING, is_known, mean_text, ratio_text
from units.settings import short_label
from units.unit import (AUTO, System, configuration_of, doubts, gflop_per_s, is_auto, ran_by, settings_text,
                        winner_text)

PRODUCTS = (1, 100, 10000)


def total_s(unit, products):
    """Preparation and so many products; None where the log has no preparation time."""
    return None if unit.prep_s is None else unit.prep_s + products * unit.median_s


def pays_off_after(unit, base):
    """Products after which unit and its preparation cost no more than base and its own: 0 from the
    start, None never or not known."""
    if unit.prep_s is None or base.prep_s is None:
        return None
    extra, gain = unit.prep_s - base.prep_s, base.median_s - unit.median_s
    if extra <= 0:
        return 0 if gain >= 0 else None
    # A quotient that is whole but for its rounding is not rounded up.
    return math.ceil(extra / gain * (1 - 1e-12)) if gain > 0 else None


def best_for(cells, products):
    """The kernel that is done first with so many products, or nothing; with its configuration if
    that is not the one of its least median."""
    timed = [(kernel, unit) for kernel in timed_cells(cells)
             for unit in cells[kernel].timed]
    if not timed or any(unit.prep_s is None for _, unit in timed):
        return ""  # nobody can say
    kernel, unit = min(timed, key=lambda item: total_s(item[1], products))
    return kernel if unit is cells[kernel].best and not is_auto(unit) else winner_text(unit)


def speedup_csv(layout):
    """One row per system, matrix and kernel: its best configuration against the baseline's."""
    header = [*System._fields, "matrix", "nnz", "kernel", "config", "median_s", "prep_s", "noisy",
              "cached", "baseline", "baseline_median_s", "speedup", "pays_off_after", "best",
              "tied_with_best", *(f"total_{k}_s" for k in PRODUCTS)]
    rows = []
    for system, matrices in layout.items():
        for matrix, cells in matrices.items():
            units = timed_cells(cells)
            base, first = baseline_of(system, units), winners(units) if units else []
            tied = tied_with(fastest(units.values()), units) if units else []
            for kernel, unit in units.items():
                gain = [None] * 4
                if base:
                    gain = [base.identity.kernel, base.median_s, base.median_s / unit.median_s,
                            pays_off_after(unit, base)]
                rows.append([*system, matrix.name, matrix.nnz, kernel,
                             short_label(unit.identity.settings), unit.median_s, unit.prep_s,
                             unit.noisy, unit.cached, *gain, kernel in first, kernel in tied,
                             *(total_s(unit, k) for k in PRODUCTS)])
    return csv_text(header, rows)


PEERS = ("cusparse_", "mkl_", "librsb", "aocl_")  # how the kernels of other libraries are called


def is_peer(kernel):
    """Says whether it is another library's."""
    return kernel.startswith(PEERS)


def peers_of(cells):
    """Times of other libraries' kernels. Suspect ones count for them: a limit that was measured too
    low, or a store whose size is unknown, must not make ours win."""
    return [unit for kernel, cell in cells.items() if is_peer(kernel)
            for unit in (*cell.timed, *cell.suspect)]


# ---- for people ----------------------------------------------------------------------------------

BEST_HEADER = ("matrix", "nonzeros", "best kernel", "config", "median", "GFLOP/s",
               f"over {BASELINE_ALIAS}", "tied with", AUTO, "pays off after",
               *(f"best for {k:,}" for k in PRODUCTS))
BEST_ALIGNMENT = "lrllrrrlrr" + "l" * len(PRODUCTS)


def auto_cell(best, auto):
    """The best's time over auto's, tied or not."""
    if auto is None or auto is best:
        return ""
    return ratio_text(auto, best) + (" =" if overlap(auto, best) else "")


def best_row(system, matrix, cells):
    """A matrix's line in best.md."""
    units = timed_cells(cells)
    best, base = fastest(units.values()), baseline_of(system, units)
    products = pays_off_after(best, base) if base else None
    return [matrix.name, f"{matrix.nnz:,}", ran_by(best) + f" ({AUTO})" * is_auto(best), settings_text(best),
            si_time(best.median_s) + doubts(best),
            three_digits(gflop_per_s(best)) + (" c" if best.cached else ""),
            ratio_text(best, base) if base else "",
            ", ".join(tied_with(best, units)), auto_cell(best, units.get(AUTO)),
            "" if not base or best is base else "not known" if not is_known(best, base) else "never" if products is None
            else plural(products, "product") if products else "at once",
            *(best_for(cells, k) for k in PRODUCTS)]


def best_table(system, matrices):
    """(header, alignment, rows) of a system's best kernels."""
    return (BEST_HEADER, BEST_ALIGNMENT,
            [best_row(system, matrix, cells) for matrix, cells in matrices.items()
             if timed_cells(cells)])


def speedups(system, matrices):
    """{kernel: [(matrix, speed-up, known)]} over the baseline on every matrix that has both."""
    found = {}
    for matrix, cells in matrices.items():
        units = timed_cells(cells)
        base = baseline_of(system, units)
        for kernel, unit in units.items() if base else ():
            found.setdefault(kernel, []).append(
                (matrix, base.median_s / unit.median_s, is_known(unit, base)))
    return found


def geomean_cell(found):
    """The mean by the one rule for means, with its n."""
    return f"{mean_text([ratio for _, ratio, _ in found], sum(known for *_, known in found))} (n = {len(found)})"


def speedup_table(system, matrices):
    """(header, alignment, rows): kernel by its speed-ups over the baseline; the mean last."""
    found = speedups(system, matrices)
    header = ["kernel", "geometric mean", "least", "most", "faster on", "best or tied on"]
    rows = []
    for kernel in kernels_in(matrices):
        mine = found.get(kernel)
        if not mine:
            continue
        ratios = [ratio for _, ratio, _ in mine]
        first = sum(is_first(kernel, timed_cells(matrices[matrix])) for matrix, _, _ in mine)
        rows.append([kernel, geomean_cell(mine), f"{min(ratios):.2f}", f"{max(ratios):.2f}",
                     percent(sum(ratio > 1 for ratio in ratios), len(ratios)),
                     percent(first, len(mine))])
    return header, "l" + "r" * (len(header) - 1), rows


def is_first(kernel, units):
    """Says whether the kernel is the best or tied with it."""
    best = fastest(units.values())
    return units[kernel] is best or kernel in tied_with(best, units)


BEST_HEAD = (f"Best kernel of every matrix. over {BASELINE_ALIAS}: its time divided into the "
             "baseline's. tied with: quartile ranges meet the\nbest's. (auto): a configuration "
             "that auto chose. auto: the best's time over that of what auto chose, = tied.\n"
             "Of times in doubt a ratio is a range, which the middle halves of their samples allow.\n"
             "pays off after: products that make up for the "
             "preparation it needs beyond the baseline's. best for k:\nleast preparation + k "
             "products. ~: stopped before its noise limit was met. !: disturbed while "
             "timed.\nc: the data fit in the last-level cache.\n")
SPEEDUP_HEAD = (f"Speed-up of every kernel's best configuration over {BASELINE_ALIAS}. The "
                "geometric mean, least, most and\nshares are of the n matrices on which both have a time. "
                f"{MEANING}.\n")


def page_md(title, head, layout, table):
    """A Markdown page with one table per system."""
    parts = [f"# {title}\n\n{head}"]
    for system, matrices in layout.items():
        header, alignment, rows = table(system, matrices)
        body = markdown_table(header, alignment, rows) if rows else "No times to rank.\n"
        parts.append(heading(system, matrices) + body)
    return "".join(parts)


def page_tex(title, head, layout, table):
    """The same as LaTeX with booktabs."""
    found = [(caption(system, matrices), *table(system, matrices)) for system, matrices in layout.items()]
    return latex_document(title, head, found)


def optimal_json(layout):
    """Returns what Ginkgo's benchmarks call optimal: the best kernel and its parameters for every matrix, a list with
    one entry per system."""
    answer = []
    for system, matrices in layout.items():
        optimal = {}
        for matrix, cells in matrices.items():
            units = timed_cells(cells)
            if units:
                best = fastest(units.values())
                kernel, settings = configuration_of(best)
                optimal[matrix.name] = {
                    "spmv": kernel, "params": dict(settings),
                    "median_s": best.median_s, "nnz": matrix.nnz, "hash": matrix.hash,
                    "tied": tied_with(best, units)}
        answer.append({"system": system._asdict(), "optimal": optimal})
    return json.dumps(answer, indent=1, ensure_ascii=False) + "\n"


def gain_pages(layout):
    """{file name: text} of what this file makes."""
    best = "Best kernels", BEST_HEAD, layout, best_table
    speedup = f"Speed-up over {BASELINE_ALIAS}", SPEEDUP_HEAD, layout, speedup_table
    return {"speedup.csv": speedup_csv(layout), "optimal.json": optimal_json(layout),
            "best.md": page_md(*best), "best.tex": page_tex(*best),
            "speedup.md": page_md(*speedup), "speedup.tex": page_tex(*speedup)}
