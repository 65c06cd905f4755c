#!/usr/bin/env python3
"""Says what earns its place: our kernels, formats and parameters, removed one at a time, least useful first.

    python3 tables/report/ablation.py log/reference/*.jsonl [--half=tune] [--out FILE]     a Markdown page

A column is a machine, a state of the caches and a precision. Its mean is the geometric mean, over the matrices of the
outside set, of the best time of another library over the best time of what remains of ours, whatever `auto` would take; of
logs with one kernel of ours there is no column. In each step goes what costs least without it, in the column where it costs
most; then everything is computed again. Kernels go first; of those that stay, formats and parameters are looked at, each by themselves. Without a parameter a kernel has its
default, and a switch that is on by default is off. What stays costs 1 % of the mean of a column of its backend, or 10 % of
the time on two matrices. What the papers describe stays in any case and is there from the start. Only times count whose
result was checked and right, of runs by name: `auto` measures its choice, not a kernel.
"""

import argparse
import collections
import fnmatch
import math
import shlex
import statistics
import sys

from common import EX_DATAERR, Parser, Stop, emit, load, run
from speedups import is_peer
from against_peers.classes import HALVES, listed_name, outside_list
from against_peers.figures import machine_of
from texts import markdown_table
from units.merging import merge
from units.settings import params
from units.unit import AUTO, unit_of

LEAST_MEAN, LEAST_MATRIX, LEAST_MATRICES = 0.01, 0.10, 2

# The papers' kernels, and one kernel for each format that they describe: CSR, ELL and its tiles ("spmv-omp-cuda"); SELL and
# BSR ("sell-gpu"); CMRS and HYB ("cmrs"); the hybrid, CSB, DIA and CSR5 ("ci-hybrid", "sell-gpu").
PAPERS = {
    "omp": ("csr_serial", "csr_rows", "csr_blocks", "csr_tiles", "csr_tiles_copied", "ell_rows", "ell_blocks", "ell_tiles",
            "sell_slices", "bsr_rows", "cmrs_strips", "hyb_rows", "hybrid_rows", "csb_blocks", "dia_*", "csr5_*"),
    "cuda": ("csr_thread", "csr_warp", "ell_pitched", "ell_thread", "ell_warp", "sell_thread", "bsr_warp", "cmrs_warp",
             "hyb_thread", "hybrid_warp", "csb_block", "dia_*", "csr5_*")}
PAPER_FORMATS = frozenset("csr ell sell bsr cmrs hyb hybrid csb dia csr5".split())
# The papers sweep these parameters of their kernels.
PAPER_PARAMS = frozenset("grid_rows grid_cols schedule chunk simd rowlens block slice sigma height sorted boundary shape_rows "
                         "shape_cols tile".split())


def is_paper(backend, kernel):
    """Says whether it stays whatever it is worth."""
    return any(fnmatch.fnmatchcase(kernel, pattern) for pattern in PAPERS[backend])


# ---- what is there -------------------------------------------------------------------------------


def is_sound(unit):
    """Timed by name, checked and right."""
    return unit.status == "ok" and unit.record.get("check.status") == "ok" and unit.identity.kernel != AUTO


def params_of(unit):
    """{parameter: its value as used}."""
    return {name.removeprefix("config.params."): value for name, value in unit.record.items()
            if name.startswith("config.params.") and value is not None}


def typed_params(unit):
    """Parameters that the command line of the record gave."""
    words = {word.partition("=")[0].lstrip("-") for word in shlex.split(str(unit.record.get("argv") or ""))
             if word.startswith("--")}
    return {name for name in params_of(unit) if name in params() and params()[name].option in words}


class Column:
    """One machine, state and precision: of every matrix the best peer's time and our units."""

    def __init__(self, system):
        self.system, self.peer, self.ours = system, {}, collections.defaultdict(list)

    def take(self, unit):
        """One that is sound."""
        matrix = listed_name(unit.identity.matrix.name)
        if is_peer(unit.identity.kernel):
            self.peer[matrix] = min(unit.median_s, self.peer.get(matrix, math.inf))
        else:
            self.ours[matrix].append(unit)

    def matrices(self):
        """Returns the matrices with both."""
        return [matrix for matrix in self.ours if matrix in self.peer]

    def has_choice(self):
        """Says whether it has several of our kernels: one alone cannot be done without."""
        return len({unit.identity.kernel for matrix in self.matrices() for unit in self.ours[matrix]}) > 1

    def words(self):
        """The column's head."""
        return f"{machine_of(self.system)}, {self.system.cache}, {self.system.precision}"


def columns_of(units, places, half=None):
    """{backend: [Column]} of the outside set, or of a half of it."""
    columns = {}
    for unit in units:
        name = listed_name(unit.identity.matrix.name)
        if is_sound(unit) and name in places and half in (None, places[name].half):
            system = unit.identity.system
            columns.setdefault(system, Column(system)).take(unit)
    found = collections.defaultdict(list)
    for system, column in columns.items():
        if column.has_choice():
            found[system.backend].append(column)
    return found


# ---- what can be removed -------------------------------------------------------------------------


def kernels_of(unit):
    """Returns, of {thing: ...}, what a unit needs: its kernel, unless the papers describe it."""
    kernel = unit.identity.kernel
    return () if is_paper(unit.identity.system.backend, kernel) else (kernel,)


def formats_of(unit):
    """Its format, unless the papers describe it. What makes another matrix of CSR is a format by its kernel's name."""
    name = str(unit.record.get("config.format") or "unknown")
    return () if name in PAPER_FORMATS else (name,)


def defaults_of(columns):
    """{(system, matrix, kernel, parameter): values where the command line did not give it}."""
    found = collections.defaultdict(set)
    for column in columns:
        for matrix, units in column.ours.items():
            for unit in units:
                typed = typed_params(unit)
                for name, value in params_of(unit).items():
                    if name not in typed:
                        found[column.system, matrix, unit.identity.kernel, name].add(value)
    return found


def left_out(columns):
    """Finds where a switch that is on by default was measured without: what it gives is what is lost when it is off."""
    found = set()
    for column in columns:
        for matrix, units in column.ours.items():
            for unit in units:
                found |= {(column.system, matrix, unit.identity.kernel, name) for name, value in params_of(unit).items()
                          if value == 0 and name in params() and params()[name].usual == 1}
    return found


def params_needed(columns):
    """A function of a unit: "kernel parameter" of those that it has with another value than the default, or, of a switch
    that is on by default, with that. A parameter whose default is not in the log, or that a paper sweeps on a kernel of its
    own, cannot be removed."""
    defaults, off = defaults_of(columns), left_out(columns)

    def needed(unit):
        who = unit.identity
        own = PAPER_PARAMS if is_paper(who.system.backend, who.kernel) else ()
        found = []
        for name, value in params_of(unit).items():
            place = (who.system, listed_name(who.matrix.name), who.kernel, name)
            usual = defaults.get(place)
            if name not in own and usual and (value == 1 if place in off else value not in usual):
                found.append(f"{who.kernel} {name}")
        return tuple(found)
    return needed


# ---- removal -------------------------------------------------------------------------------------


class Table:
    """{column: {matrix: [(time, what it needs)]}} and what is left."""

    def __init__(self, columns, needed, removed=()):
        self.columns = columns
        self.times = [{matrix: sorted(((unit.median_s, frozenset(needed(unit))) for unit in column.ours[matrix]),
                                      key=lambda entry: entry[0]) for matrix in column.matrices()} for column in columns]
        self.left = {thing for column in self.times for entries in column.values() for _, things in entries
                     for thing in things} - set(removed)

    def best(self, entries, without=None):
        """The least time of what remains."""
        return next((time for time, things in entries if things <= self.left and without not in things), math.inf)

    def means(self):
        """Returns, for every column, the geometric mean over its matrices of the peer's time over ours."""
        return [statistics.geometric_mean([column.peer[matrix] / self.best(entries) for matrix, entries in times.items()])
                for column, times in zip(self.columns, self.times)]

    def cost(self, thing):
        """(loss of every column's mean as a share, matrices that take at least LEAST_MATRIX longer in any)."""
        losses, hit = [], set()
        for times in self.times:
            slower = {matrix: self.best(entries, thing) / self.best(entries) for matrix, entries in times.items()}
            hit |= {matrix for matrix, factor in slower.items() if factor >= 1 + LEAST_MATRIX}
            mean = statistics.fmean(map(math.log, slower.values()))
            losses.append(1 - math.exp(-mean))
        return losses, hit


def stays(losses, hit):
    """The rule."""
    return max(losses) >= LEAST_MEAN or len(hit) >= LEAST_MATRICES


def ablate(table):
    """[(thing, losses, matrices hit, whether it stays)]: what goes in the order of going; then what stays, the least
    useful first, each with what its absence alone costs."""
    gone = []
    while table.left:
        ranked = sorted(((stays(*cost), max(cost[0]), len(cost[1]), thing), cost)
                        for thing, cost in ((thing, table.cost(thing)) for thing in table.left))
        (keep, _, _, thing), cost = ranked[0]
        if keep:
            return gone + [(other, *found, True) for (_, _, _, other), found in ranked]
        gone.append((thing, *cost, False))
        table.left.remove(thing)
    return gone


# ---- the page ------------------------------------------------------------------------------------


def share(loss):
    """A loss as a cell."""
    return "all" if loss >= 1 else f"{100 * loss:.2f} %"


def part(title, columns, table):
    """One table of the page, and what goes."""
    before = table.means()
    found = ablate(table)
    rows = [["everything", *(f"{mean:.3f}" for mean in before), "", ""]]
    rows += [[thing, *map(share, losses), f"{len(hit)}" + (f": {', '.join(sorted(hit)[:3])}" if hit else ""),
              "stays" if kept else "goes"] for thing, losses, hit, kept in found]
    rows.append(["what stays", *(f"{mean:.3f}" for mean in table.means()), "", ""])
    header = [title, *(column.words() for column in columns), f"matrices on which {100 * LEAST_MATRIX:.0f} % are lost",
              "verdict"]
    return (markdown_table(header, "l" + "r" * len(columns) + "ll", rows),
            {thing for thing, *_, kept in found if not kept})


def page(units, places, half=None):
    """The page; formats and parameters are of the kernels that stay."""
    columns_by_backend = columns_of(units, places, half)
    if not columns_by_backend:
        raise Stop(EX_DATAERR, "no matrix of the outside set has a peer's time and one of ours, both checked")
    parts = ["# What earns its place\n\n" + " ".join(__doc__.partition("\n\n    ")[2].partition("\n\n")[2].split()) + "\n"]
    for backend, columns in sorted(columns_by_backend.items()):
        count = max(len(column.matrices()) for column in columns)
        of = "the outside set" if half is None else f"its {half} half"
        parts.append(f"\n## {backend}\n\nUp to {count} matrices of {of}. Described by the papers: "
                     f"{', '.join(PAPERS[backend])}.\n")
        text, gone = part("kernel", columns, Table(columns, kernels_of))
        parts.append(f"\n{text}")
        for column in columns:
            for matrix, units_there in column.ours.items():
                column.ours[matrix] = [unit for unit in units_there if unit.identity.kernel not in gone]
        for title, needed in (("format", formats_of), ("kernel and parameter", params_needed(columns))):
            table = Table(columns, needed)
            if table.left:
                parts.append("\n" + part(title, columns, table)[0])
    return "".join(parts)


def main_part(arguments):
    """Exit status 0, or by Stop."""
    parser = Parser(prog="ablation.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+", metavar="LOG")
    parser.add_argument("--half", choices=HALVES, help="of the outside set alone")
    parser.add_argument("--out", metavar="FILE", help="instead of the terminal")
    options = parser.parse_args(arguments)
    records, _ = load(options.logs)
    text = page(merge(unit_of(record) for record in records), outside_list(), options.half)
    emit(text, options.out, "ablation.py")
    return 0


def main(arguments=None):
    """Exit status, with the reason said."""
    return run("ablation.py", main_part, arguments)


if __name__ == "__main__":
    sys.exit(main())
