#!/usr/bin/env python3
"""One table of the logs: what to put into rows, columns and cells is yours to choose.

    spmv table log/                                     matrix by kernel, GFLOP/s, best configuration
    spmv table log/ -r kernel -c config.block --metric time --where matrix=cant
    spmv table log/ --metric speedup -o speedup.tex     format by the ending: .md .csv .tex
    spmv table --check log/                             only read them: exit 65 if a line is bad

Rows and columns are matrix, kernel, config, system, or any field of the log (config.block,
matrix.nnz, build.commit; -c config.threads: how it scales). Systems have a table each, apart from
what stands in the rows or columns. A cell is the best of what falls into it: bold the best of its
row, = tied with it, † noise limit not met, ! disturbed while timed (timing.flags), * the
data fit in the last-level cache. A cell without a time says why: —: skipped, WRONG, failed.
"""

import argparse
import collections
import os
import sys

from common import EX_DATAERR, Parser, Stop, load, run, say, write_files
from logs import find_logs, is_number, read_logs, with_names_of_today
from texts import csv_text, latex_table, markdown_table, si_time, text_table, three_digits
from units import (BASELINE_ALIAS, baseline_of, best_of, describe, doubts, gflop_per_s, merge, order,
                   overlap, short_label, tabulate, text_of, timed_cells, unit_of)

FORMATS = {".md": "md", ".csv": "csv", ".tex": "tex"}


def rate_B(unit):
    """Bytes per second from the unit's own time."""
    moved = unit.record.get("perf.bytes_min_B")
    return moved / unit.median_s if is_number(moved) else None


METRICS = {  # name: (value of a timed unit and its baseline or None, as text, meaning)
    "gflops": (lambda unit, base: gflop_per_s(unit), three_digits, "GFLOP/s"),
    "time": (lambda unit, base: unit.median_s, si_time, "median time"),
    "gbs": (lambda unit, base: rate_B(unit) and rate_B(unit) / 1e9, three_digits, "GB/s"),
    "speedup": (lambda unit, base: base and base.median_s / unit.median_s,
                lambda value: f"{value:.2f}", f"speed-up over {BASELINE_ALIAS}"),
    "prep": (lambda unit, base: unit.prep_s, si_time, "preparation"),
}
NAMED = {
    "matrix": lambda unit: unit.identity.matrix.name,
    "kernel": lambda unit: unit.identity.kernel,
    "config": lambda unit: short_label(unit.identity.settings) or "-",
    "system": lambda unit: describe(unit.identity.system),
}
PARTS = {  # fields of the log that tell systems apart
    "host.name": "host", "cpu.model": "cpu", "gpu.name": "gpu", "config.backend": "backend",
    "config.precision": "precision", "config.threads": "threads", "omp.threads": "threads",
    "config.alpha": "alpha", "config.beta": "beta", "config.cache": "cache"}
SHORT = {"matrix": "matrix.name", "kernel": "config.kernel"}  # in --where


def value_of(name, unit):
    """What a row or column is called for this unit; None: it has no such field."""
    if name in NAMED:
        return NAMED[name](unit)
    value = dict(unit.identity.settings).get(name.removeprefix("config."))
    if value is None or not name.startswith("config."):
        value = unit.record.get(name)
    return None if value is None else text_of(value)


def cell_text(units, baseline, options, first):
    """One cell; first: the best unit of the row. For CSV the bare number or status."""
    best, bare = best_of(units), options.format == "csv"
    if best.status != "ok":
        words = {} if bare else {"skipped": "—", "wrong": "WRONG"}
        return words.get(best.status, best.status)
    value, text, _ = METRICS[options.metric]
    found = value(best, baseline.get((best.identity.system, best.identity.matrix)))
    if bare:
        return found
    if found is None:
        return "?"
    shown = f"**{text(found)}**" if best is first else text(found)
    tied = first and best is not first and overlap(best, first)
    return (shown + (" =" if tied else "") + doubts(best)
            + (" \\*" if best.cached else ""))


def pivot(units, options):
    """(header, alignment, rows)."""
    baseline = {(system, matrix): baseline_of(system, timed_cells(cells))
                for system, matrices in tabulate(units).items()
                for matrix, cells in matrices.items()}
    cells, columns = collections.defaultdict(lambda: collections.defaultdict(list)), set()
    for unit in units:
        row, column = value_of(options.rows, unit), value_of(options.cols, unit)
        if row is not None and column is not None:
            cells[row][column].append(unit)
            columns.add(column)
    columns = sorted(columns, key=order)
    rows = []
    for row in sorted(cells, key=order):
        mine = cells[row]
        timed = [unit for group in mine.values() for unit in group if unit.status == "ok"]
        first = best_of(timed) if timed else None
        rows.append([row, *(cell_text(mine[column], baseline, options, first)
                            if column in mine else "" for column in columns)])
    return [options.rows, *columns], "l" + "r" * len(columns), rows


def table_of(unit, axes):
    """What one table is made for: a system, but for what stands in its rows and columns; None: all."""
    if "system" in axes:
        return None
    return unit.identity.system._replace(**{PARTS[name]: None for name in axes if name in PARTS})


def where(text):
    """NAME=VALUE"""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"'{text}' is not FIELD=VALUE")
    return next(iter(with_names_of_today({SHORT.get(name, name): value}).items()))


def chosen(records, conditions):
    """Records in which every named field has the value asked for."""
    def keeps(record, name, value):
        found = record.get(name)
        return found is not None and text_of(found) == value
    for name, value in conditions:
        kept = [record for record in records if keeps(record, name, value)]
        if records and not kept:
            known = sorted({text_of(record[name]) for record in records
                            if record.get(name) is not None}, key=order)
            raise Stop(EX_DATAERR, f"--where {name}={value}: no record has that; {name} is "
                       + (", ".join(known[:8]) + (f" and {len(known) - 8} more" if known[8:] else "")
                          if known else "in none of them"))
        records = kept
    return records


def parse(arguments):
    """The command line."""
    parser = Parser(prog="spmv table", description=__doc__,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="*", default=["log"], metavar="LOG")
    parser.add_argument("-r", "--rows", default="matrix", metavar="FIELD")
    parser.add_argument("-c", "--cols", default="kernel", metavar="FIELD")
    parser.add_argument("--metric", choices=sorted(METRICS), default="gflops")
    parser.add_argument("--where", type=where, action="append", default=[], metavar="FIELD=VALUE",
                        help="only such records; repeatable")
    parser.add_argument("--format", choices=("table", "md", "csv", "tex"))
    parser.add_argument("-o", "--output", metavar="FILE", help="instead of stdout")
    parser.add_argument("--check", action="store_true", help="read the logs and do no more")
    return parser.parse_args(arguments)


def check(paths):
    """Says every fault of the logs; exit status 65 if there is one."""
    files, complaints = find_logs(paths)
    records, more, _ = read_logs(files)
    for complaint in complaints + more:
        say(complaint)
    say(f"{len(records)} usable records, {len(complaints + more)} problems")
    return EX_DATAERR if complaints + more else 0


def csv_of_tables(tables):
    """All systems' tables as one, with the union of their columns."""
    columns = sorted({column for _, (header, _, _) in tables for column in header[1:]}, key=order)
    rows = []
    for name, (header, _, lines) in tables:
        for line in lines:
            cells = dict(zip(header[1:], line[1:]))
            rows.append([name, line[0], *(cells.get(column) for column in columns)])
    return csv_text(["system", tables[0][1][0][0], *columns], rows)


def text_of_tables(tables, form, metric):
    """Every system's table in the format asked for."""
    if form == "csv":
        return csv_of_tables(tables)
    parts = []
    for name, (header, alignment, rows) in tables:
        title = f"{name}: {metric}"
        if form == "md":
            parts.append(f"{title}\n\n{markdown_table(header, alignment, rows)}")
        elif form == "tex":
            parts.append(latex_table(header, alignment, rows, title))
        else:
            plain = [[str(cell).replace("**", "").replace("\\*", "*") for cell in row]
                     for row in rows]
            parts.append(f"{title}\n{text_table(header, alignment, plain)}")
    return "\n".join(parts)


def table(arguments):
    """Exit status, or by Stop: 65 nothing to show."""
    options = parse(arguments)
    if options.check:
        return check(options.logs)
    units = merge(unit_of(record) for record in chosen(load(options.logs)[0], options.where))
    ending = os.path.splitext(options.output or "")[1]
    options.format = options.format or FORMATS.get(ending, "table")
    made_for = collections.defaultdict(list)
    for unit in units:
        made_for[table_of(unit, (options.rows, options.cols))].append(unit)
    tables = [("all systems" if system is None else describe(system), pivot(found, options))
              for system, found in sorted(made_for.items(), key=lambda item: order(item[0]))]
    tables = [(name, found) for name, found in tables if found[2]]
    if not tables:
        lacking = [name for name in (options.rows, options.cols)
                   if all(value_of(name, unit) is None for unit in units)]
        raise Stop(EX_DATAERR, f"no record has {' or '.join(lacking) or 'both of these'}"
                   + (" under these conditions" if options.where else "")
                   + ": a kernel has a field only if it takes that parameter")
    text = text_of_tables(tables, options.format, METRICS[options.metric][2])
    if options.output:
        write_files(".", {options.output: text})
    else:
        sys.stdout.write(text)
    return 0


def main(arguments=None):
    """Exit status, with the reason said."""
    return run("spmv table", table, arguments)


if __name__ == "__main__":
    sys.exit(main())
