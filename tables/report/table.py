#!/usr/bin/env python3
"""One table of the logs: what stands in rows, columns and cells is yours.

  spmv table                                your logs: matrix by kernel, GFLOP/s
  spmv table -k 'csr*,ell0,auto' --mean     these kernels, in this order
  spmv table --best=4 --mean -o best.tex    for a paper; also .md, .csv
  spmv table --transpose --metric speedup --as gen:twin:cant=cant
  spmv table a.jsonl -r kernel -c config.block --where matrix=cant
  spmv table --check log                    only read: exit 65 if a line is bad

Without LOG these are the logs in log/, but not log/reference, which must be
named. Rows and columns are matrix, kernel, config, system, or any field of the
log (matrix.nnz, build.commit; -c config.threads: how it scales). Another
machine, matrix, precision or state of the caches, other vectors at once,
another layout of them or the transpose has a table of its own, apart from what
stands in the rows or columns. A cell is the best of what falls into it;
its marks are explained below the table.

Columns of kernels stand in the order of -k, else the fastest first: by
geometric mean of the time over the shortest of the row; a row without a time
counts as the slowest, and as 10 at least. Without -k and --best these are 8 at
most, on a terminal those that fit, and the fastest of each row is named beside
them; CSV has all. What was asked for and is too wide for the terminal goes on
below. --mean is over the rows that have a value in every column.
"""

import interrupts  # noqa: F401  pylint: disable=unused-import,wrong-import-order
import argparse
import collections
import os
import sys

from common import EX_DATAERR, LOGS_HELP, Parser, Stop, edge, load, run, say, write_files
from logs import find_logs, read_logs
from tabular.choice import KERNEL, MATRIX, chosen, hint, kernel_names, matrix_names, where, with_values
from tabular.forms import Titled, csv_tables, fitting, md_table, tex_hint, tex_tables, text_table
from tabular.grid import (METRICS, NAMED, OF_RANKS, RANKS, baselines, fastest_head, fastest_of_rows, grid_of, grid_of_ranks,
                          is_of_matrices, names_of, ranked_columns, transposed, value_of, with_column, with_mean)
from texts import plural
from units.merging import merge
from units.settings import order
from units.unit import describe, unit_of

FORMATS = {".md": "md", ".csv": "csv", ".tex": "tex"}
UNASKED = 8  # columns of kernels, unless the user says which or how many
PARTS = {  # fields of the log that tell systems apart
    "host.name": "host", "cpu.model": "cpu", "gpu.name": "gpu", "config.backend": "backend",
    "config.precision": "precision", "config.threads": "threads", "omp.threads": "threads",
    "config.alpha": "alpha", "config.beta": "beta", "config.cache": "cache",
    "config.vectors": "vectors", "config.layout": "layout", "config.op": "op",
    "ranks.count": "ranks", "ranks.hosts": "hosts"}


def table_of(unit, axes):
    """(system, matrix) that one table is made for, without what stands in its rows and columns; None: all."""
    matrix = None if any(map(is_of_matrices, axes)) else unit.identity.matrix.name
    if "system" in axes:
        return None, matrix
    return unit.identity.system._replace(**{PARTS[name]: None for name in axes if name in PARTS}), matrix


def from_one(text):
    """A whole number from 1."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1")
    return int(text)


def renaming(text):
    """OLD=NEW"""
    old, equals, new = text.partition("=")
    if not (old and equals and new.strip()):
        raise argparse.ArgumentTypeError(f"'{text}' is not OLD=NEW")
    return old, new


def parse(arguments):
    """The command line."""
    parser = Parser(prog="spmv table", description=__doc__, usage="spmv table [OPTIONS] [LOG ...]",
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="*", default=["log"], metavar="LOG", help=LOGS_HELP)
    parser.add_argument("-k", "--kernel", action="append", metavar="NAME,...",
                        help="only these kernels, in this order: names, short names, globs, peers, all; "
                             "omp: or cuda: before one picks the backend")
    parser.add_argument("-m", "--matrix", action="append", metavar="NAME,...",
                        help="only these matrices, in this order: names or globs")
    parser.add_argument("--best", type=from_one, metavar="N", help="only the N fastest columns")
    parser.add_argument("--mean", action="store_true", help="add a row of geometric means")
    parser.add_argument("--transpose", action="store_true", help="turn rows into columns, at the end")
    parser.add_argument("--as", type=renaming, action="append", default=[], dest="names", metavar="OLD=NEW",
                        help="what a matrix or kernel is called in the table; repeatable")
    parser.add_argument("-r", "--rows", default="matrix", metavar="FIELD", help="(matrix)")
    parser.add_argument("-c", "--cols", default="kernel", metavar="FIELD",
                        help="or ranks: time, halo, imbalance, exchange, share hidden and efficiency of several (kernel)")
    parser.add_argument("--metric", choices=sorted(METRICS), default="gflops", help="(gflops)")
    parser.add_argument("--where", type=where, action="append", default=[], metavar="FIELD=VALUE",
                        help="only such records; repeatable")
    parser.add_argument("--format", choices=("table", "md", "csv", "tex"), help="(by the ending of -o, else table)")
    parser.add_argument("-o", "--output", metavar="FILE", help="instead of stdout")
    parser.add_argument("--check", action="store_true", help="read the logs and do no more")
    options = parser.parse_args(arguments)
    ending = os.path.splitext(options.output or "")[1]
    options.format = options.format or FORMATS.get(ending, "table")
    if options.cols == "matrix":  # times on one matrix are compared, wherever they stand
        options.rows, options.cols, options.transpose = options.cols, options.rows, not options.transpose
    return options


def check(paths):
    """Says every fault of the logs; exit status 65 if there is one."""
    files, complaints = find_logs(paths)
    records, more, _ = read_logs(files)
    for complaint in complaints + more:
        say(complaint)
    say(f"{plural(len(records), 'usable record')}, {plural(len(complaints + more), 'problem')}")
    return EX_DATAERR if complaints + more else 0


def choose(units, options):
    """(the units that the table is of, {name of a row or column: its place} as -k and -m ask)."""
    places = {}
    for option, words, meanings, names_of, axis in (("-k", options.kernel, KERNEL, kernel_names, "kernel"),
                                                 ("-m", options.matrix, MATRIX, matrix_names, "matrix")):
        if words is None:
            continue
        found = chosen(units, option, words, meanings, names_of)
        for place, unit in found:
            name = NAMED[axis](unit)
            places[axis, name] = min(place, places.get((axis, name), place))
        units = [unit for _, unit in found]
    return units, places


def in_order(names, axis, places):
    """Names of rows or columns in the order asked for, others as they come."""
    return sorted(names, key=lambda name: places.get((axis, name), len(places)))


def columns_shown(grid, options, width):
    """The columns worth showing, the fastest first where they are kernels."""
    by_kernel = options.cols == "kernel"
    best = ranked_columns(grid) if by_kernel or options.best else grid.columns
    if options.best:
        best = best[:options.best]
    elif by_kernel and not options.kernel and options.format != "csv" and not options.transpose:
        best = best[:UNASKED]
        if options.format == "table" and width:
            best = best[:fitting(grid, best, width)]
    return best if by_kernel and options.format != "csv" else [column for column in grid.columns if column in best]


def one_table(units, baseline, options, places, width):
    """The table of a system, without its name, and how many columns are left out; None where nothing
    has both fields."""
    axes = options.rows, options.cols, options.metric
    if options.cols == RANKS:
        grid = grid_of_ranks(units, baseline, options.rows)
        grid = with_mean(grid, RANKS) if options.mean and grid.rows else grid
        grid = transposed(grid, RANKS) if options.transpose else grid
        return (Titled("", grid, "the exchange of x"), 0) if grid.rows else None
    full = grid = grid_of(units, baseline, *axes)
    if not full.rows:
        return None
    kept = in_order(columns_shown(full, options, width), options.cols, places)
    left_out = len(full.columns) - len(kept)
    if left_out and options.best:  # what was asked for is compared with each other alone
        grid = grid_of(units, baseline, *axes, kept)
    grid = grid._replace(columns=kept, rows={row: grid.rows[row] for row in in_order(grid.rows, options.rows, places)})
    if options.mean:
        grid = with_mean(grid, options.metric)
        if not grid.means:
            say("--mean: no row has a value in every column; -k or --best=N leaves columns out")
    if left_out and not options.best:
        grid = with_column(grid, fastest_head(full), fastest_of_rows(full))
    extent = f", the {len(kept)} fastest of {plural(len(full.columns), options.cols)}" if left_out else ""
    grid = transposed(grid, options.cols) if options.transpose else grid
    return Titled("", grid, METRICS[options.metric][2], extent), left_out


def renamed(titled, names):
    """The table with the names wanted."""
    grid = titled.grid
    columns = [names.get(column, column) for column in grid.columns]
    for old in (grid.columns, list(grid.rows)):
        new = [names.get(name, name) for name in old]
        twice = next((name for name, count in collections.Counter(new).items() if count > 1), None)
        if twice is not None:
            raise Stop(EX_DATAERR, f"--as: two would be called {twice}")
    rows = {names.get(row, row): {names.get(column, column): entry for column, entry in cells.items()}
            for row, cells in grid.rows.items()}
    return titled._replace(grid=grid._replace(columns=columns, rows=rows))


def check_names(units, options):
    """Stops at a name that nothing has."""
    known = {name for axis in (options.rows, options.cols) for name in names_of(axis, units)} - {None} | (
        set(OF_RANKS.values()) if options.cols == RANKS else set())
    for old, _ in options.names:
        if old not in known:
            raise Stop(EX_DATAERR, f"--as {old}: no row or column is called that.{hint(old, known)}")


def nothing(units, options):
    """Why there is no table."""
    fields = {name for unit in units for name in unit.record} | set(NAMED)
    if options.cols == RANKS:
        return Stop(EX_DATAERR, "no record is of several ranks: spmv sweep FILE --ranks=2,4 makes some")
    lacking = [name for name in (options.rows, options.cols) if all(value_of(name, unit) is None for unit in units)]
    near = next((name for wanted in lacking for name in sorted(fields) if name.endswith(f".{wanted}")), None)
    return Stop(EX_DATAERR, f"no record has {' or '.join(lacking) or 'both of these'}"
                + (" under these conditions" if options.where else "")
                + ": a kernel has a field only if it takes that parameter."
                + (f" Did you mean {near}?" if near else "".join(hint(name, fields) for name in lacking[:1])))


def system_names(systems, short):
    """{system: its description}; short: without the host, where that does not tell two apart."""
    names = {system: describe(system._replace(host=None) if short else system) for system in systems if system}
    if len(set(names.values())) < len(names):
        names = {system: describe(system) for system in names}
    return {None: "all systems", **names}


def tables_of(units, options):
    """(every system's table, {(axis, name): place} of -k and -m), having said what is left out."""
    baseline, width = baselines(units), edge(options.output)
    units, places = choose(units, options)
    check_names(units, options)
    made_for = collections.defaultdict(list)
    for unit in units:
        made_for[table_of(unit, (options.rows, options.cols))].append(unit)
    made = {key: one_table(made_for[key], baseline, options, places, width) for key in sorted(made_for, key=order)}
    made = {key: found for key, found in made.items() if found}
    if not made:
        raise nothing(units, options)
    left_out = max(count for _, count in made.values())
    if left_out and not options.best:
        say(f"{plural(left_out, 'slower kernel')} left out: --best=N shows N of them, -k all shows every one, -k NAME,... those named")
    names = system_names({system for system, _ in made}, options.format != "csv")
    return [renamed(titled._replace(system=" · ".join(filter(None, (names[system], matrix)))), dict(options.names))
            for (system, matrix), (titled, _) in made.items()], places


def text_of_tables(tables, options, places):
    """Every system's table in the format asked for."""
    if options.format == "csv":
        shown = options.rows if options.transpose else options.cols
        wanted = [name for (axis, name), _ in sorted(places.items(), key=lambda item: item[1]) if axis == shown]
        return csv_tables(tables, [dict(options.names).get(name, name) for name in wanted])
    if options.format == "tex":
        return tex_tables(tables)
    if options.format == "md":
        return "\n".join(map(md_table, tables))
    return "\n".join(text_table(titled, edge(options.output)) for titled in tables)


def table(arguments):
    """Exit status, or by Stop: 65 nothing to show."""
    options = parse(arguments)
    if options.check:
        return check(options.logs)
    units = merge(unit_of(record) for record in with_values(load(options.logs)[0], options.where))
    tables, places = tables_of(units, options)
    text = text_of_tables(tables, options, places)
    if options.output:
        write_files(".", {options.output: text})
        if options.format == "tex":
            say(tex_hint(options.output, text))
    else:
        sys.stdout.write(text)
    return 0


def main(arguments=None):
    """Exit status, with the reason said."""
    return run("spmv table", table, arguments)


if __name__ == "__main__":
    sys.exit(main())
