"""Says what stands in a table: cells with their marks, the columns worth showing, geometric means."""

import collections
import math
import statistics
from typing import NamedTuple, Optional

from logs import is_number
from texts import si_time, three_digits
from units.layout import BASELINE_ALIAS, auto_expecting, baseline_of, best_of, overlap, tabulate, timed_cells
from units.means import are_enough
from units.settings import order, short_label, text_of
from units.unit import AUTO, describe, gflop_per_s, is_verified, same_configuration, winner_text

BEST = "*"  # as the run's table has it; in front of the marks below
MARKS = {  # name: (as it is printed, what it says of a time), in the order of printing
    "tied": ("=", "tied with it (quartiles overlap)"),
    "noisy": ("~", "not settled"),
    "disturbed": ("!", "disturbed while timed"),
    "cached": ("c", "the data fit in the last-level cache"),
    "unverified": ("?", "result not verified, not ranked")}
WORDS = {"skipped": ("—", "skipped"), "wrong": ("WRONG", "wrong result, never ranked")}  # other statuses stand for themselves
BLURRED = 0.9  # share of tied times from which they are not marked one by one
LEAST_BLURRED = 4  # times; fewer are marked even if all are tied
MISSING = 10  # times the fastest, or as the slowest: a cell without a time when columns are ranked


def rate_B(unit):
    """Bytes per second from the unit's own time."""
    moved = unit.record.get("perf.bytes_min_B")
    return moved / unit.median_s if is_number(moved) else None


def number_of(unit, field, scale=1):
    """A field of its record, or None."""
    value = unit.record.get(field)
    return value * scale if is_number(value) else None


EFFICIENCY = "scaling"
METRICS = {  # name: (value of a timed unit and its baseline or None, as text, meaning)
    "gflops": (lambda unit, base: gflop_per_s(unit), three_digits, "GFLOP/s"),
    "time": (lambda unit, base: unit.median_s, si_time, "median time"),
    "gbs": (lambda unit, base: rate_B(unit) and rate_B(unit) / 1e9, three_digits, "GB/s"),
    "speedup": (lambda unit, base: base and base.median_s / unit.median_s,
                lambda value: f"{value:.2f}", f"speed-up over {BASELINE_ALIAS}"),
    "prep": (lambda unit, base: unit.prep_s, si_time, "preparation"),
    "halo": (lambda unit, base: number_of(unit, "ranks.received_B", 1e-6), three_digits,
             "MB of x that the rank with the largest halo receives"),
    "imbalance": (lambda unit, base: number_of(unit, "ranks.imbalance"), lambda value: f"{value:.2f}",
                  "nonzeros of the rank with most, over their mean"),
    "exchange": (lambda unit, base: number_of(unit, "ranks.exchange_s"), si_time, "exchange alone"),
    "hidden": (lambda unit, base: number_of(unit, "ranks.hidden"), lambda value: f"{100 * value:.0f}%",
               "share of the exchange that overlapping hides"),
    EFFICIENCY: (lambda unit, base: base and base.median_s / (unit.identity.system.ranks * unit.median_s),
                 lambda value: f"{value:.2f}", "efficiency: auto's time on one rank, over ranks times the time"),
}
RANKS = "ranks"  # as columns: what became of a product over several ranks, a column each
OF_RANKS = {"time": "time", "halo": "halo MB", "imbalance": "imbalance", "exchange": "exchange alone", "hidden": "share hidden",
            EFFICIENCY: "efficiency"}  # {metric: head of its column}
NAMED = {
    "matrix": lambda unit: unit.identity.matrix.name,
    "kernel": lambda unit: unit.identity.kernel,
    "config": lambda unit: short_label(unit.identity.settings) or "-",
    "system": lambda unit: describe(unit.identity.system),
    "host.name": lambda unit: unit.identity.system.host,
}


class Entry(NamedTuple):
    """A cell: a value with its text, or a word that says why there is none. time_s: of its unit. runs: the most of a
    configuration; configurations: those that it is the fastest of. winner: its own configuration, in words,
    where columns are kernels."""
    value: Optional[float]
    text: str
    marks: tuple = ()
    best: bool = False
    time_s: Optional[float] = None
    status: str = "ok"
    runs: int = 1
    configurations: int = 1
    winner: str = ""


class Grid(NamedTuple):
    """A table: {row: {column: Entry}}. means: names of rows, or of columns after transposing, that are
    none of the data. fastest_of: along what the best is the best."""
    corner: str
    columns: list
    rows: dict
    means: tuple = ()
    fastest_of: str = "row"


def value_of(name, unit):
    """Says what a row or column is called for this unit; None: it has no such field."""
    if name in NAMED:
        return NAMED[name](unit)
    value = dict(unit.identity.settings).get(name.removeprefix("config."))
    if value is None or not name.startswith("config."):
        value = unit.record.get(name)
    return None if value is None else text_of(value)


def is_of_matrices(name):
    """Says whether a row or column tells matrices apart."""
    return name == "matrix" or name.startswith("matrix.")


def names_of(name, units):
    """What the units' rows or columns are called, with the matrix's name where several have the same value of a field."""
    values = [value_of(name, unit) for unit in units]
    found = collections.defaultdict(set)
    for value, unit in zip(values, units):
        found[value].add(unit.identity.matrix.name)
    return [f"{value} {unit.identity.matrix.name}" if value is not None and is_of_matrices(name) and len(found[value]) > 1 else value
            for value, unit in zip(values, units)]


def best_verified(units):
    """The fastest whose result was looked at, or else the fastest."""
    return best_of([unit for unit in units if is_verified(unit)] or units)


def is_won(unit, first):
    """Says whether it ran the fastest configuration of its row."""
    return first is not None and is_verified(unit) and same_configuration(unit, first)


def marks_of(unit, first):
    """Its marks; first: the fastest unit of the row, None where none is ranked."""
    tied = first is not None and not is_won(unit, first) and is_verified(unit) and overlap(unit, first)
    has = {"tied": tied, "noisy": unit.noisy, "disturbed": unit.disturbed, "cached": unit.cached,
           "unverified": not is_verified(unit)}
    return tuple(mark for mark in MARKS if has[mark])


def entry_of(units, baseline, metric, first, by_kernel):
    """The cell of the best of these units; first: the best of the row; by_kernel: columns are kernels."""
    best = best_verified(units)
    if best.status != "ok":
        return Entry(None, WORDS.get(best.status, [best.status])[0], status=best.status)
    value, text, _ = METRICS[metric]
    is_prep = metric == "prep"  # marks are of times
    who = best.identity
    key = (AUTO, who.system._replace(ranks=1, hosts=1), who.matrix) if metric == EFFICIENCY else (who.system, who.matrix)
    found = value(best, None if is_prep else baseline.get(key))
    return Entry(found, "?" if found is None else text(found), () if is_prep else marks_of(best, first),
                 is_won(best, first) and not is_prep, best.median_s, "ok", max(unit.runs for unit in units),
                 sum(unit.status == "ok" for unit in units), winner_text(best) if by_kernel else "")


def baselines(units):
    """{(system, matrix): what speed-ups are measured against}; and {(AUTO, system, matrix): auto's unit}, which
    efficiencies are."""
    found = {}
    for system, matrices in tabulate(units).items():
        for matrix, cells in matrices.items():
            found[system, matrix] = baseline_of(system, timed_cells(cells))
            found[AUTO, system, matrix] = auto_expecting(cells)
    return found


def grid_of(units, baseline, rows, cols, metric, kept=None):
    """The table of all these units; rows and cols: what stands there; kept: only these columns."""
    cells, columns = collections.defaultdict(lambda: collections.defaultdict(list)), set()
    for unit, row, column in zip(units, names_of(rows, units), names_of(cols, units)):
        if row is not None and column is not None and (kept is None or column in kept):
            cells[row][column].append(unit)
            columns.add(column)
    found = {}
    for row in sorted(cells, key=order):
        ranked = [[unit for unit in group if unit.status == "ok" and is_verified(unit)] for group in cells[row].values()]
        ranked = [group for group in ranked if group]
        first = best_of([unit for group in ranked for unit in group]) if len(ranked) > 1 else None  # alone none wins
        found[row] = {column: entry_of(group, baseline, metric, first, cols == "kernel") for column, group in cells[row].items()}
    return Grid(rows, sorted(columns, key=order), found)


def grid_of_ranks(units, baseline, rows):
    """The table of what became of products over several ranks: the fastest of each row, and what its exchange did."""
    found = collections.defaultdict(list)
    for unit, row in zip(units, names_of(rows, units)):
        if row is not None and (unit.identity.system.ranks or 1) > 1:
            found[row].append(unit)
    return Grid(rows, list(OF_RANKS.values()), {
        row: {head: entry_of(found[row], baseline, metric, None, False) for metric, head in OF_RANKS.items()}
        for row in sorted(found, key=order)})


def ranked_columns(grid):
    """Its columns, those of the shortest times first: by the geometric mean of their time over the
    shortest of the row."""
    slower = {column: [1] for column in grid.columns}
    for cells in grid.rows.values():
        times = {column: entry.time_s for column, entry in cells.items() if entry.time_s}
        for column in grid.columns if times else ():
            shortest, longest = min(times.values()), max(times.values())
            slower[column].append(times.get(column, max(longest, MISSING * shortest)) / shortest)
    return sorted(grid.columns, key=lambda column: (statistics.fmean(map(math.log, slower[column])), order(column)))


def fastest_head(grid):
    """The head of a column that names the fastest."""
    return f"fastest of {len(grid.columns)}"


def fastest_of_rows(grid):
    """{row: Entry that names its fastest column, of kernels the configuration, and the value there}."""
    found = {}
    for row, cells in grid.rows.items():
        won = [column for column, entry in cells.items() if entry.best and entry.time_s]
        best = min(won, key=lambda column: cells[column].time_s, default="")
        value = f" {cells[best].text}" if best and cells[best].value is not None else ""
        name = cells[best].winner or best if best else best
        found[row] = Entry(None, name + value, status="name")
    return found


def with_column(grid, head, entries):
    """The table with another column; rows that have nothing there are empty."""
    rows = {row: {**cells, head: entries.get(row, Entry(None, "", status="name"))} for row, cells in grid.rows.items()}
    return grid._replace(columns=[*grid.columns, head], rows=rows)


def mean_entry(entries, metric):
    """The geometric mean of cells that have all a value; a mark that more than a tenth of them have, it has."""
    mean = statistics.geometric_mean([entry.value for entry in entries])
    marks = tuple(mark for mark in MARKS if mark != "tied"
                  and not are_enough(sum(mark not in entry.marks for entry in entries), len(entries)))
    return Entry(mean, METRICS[metric][1](mean), marks,
                 time_s=statistics.geometric_mean([entry.time_s for entry in entries]))


def with_mean(grid, metric):
    """The table with a row of geometric means: over the rows with a value in every column, so that
    the means are of the same rows; the row's name says how many they are if it is not all. Without
    such a row the table as it is."""
    whole = [cells for cells in grid.rows.values()
             if all(column in cells and (cells[column].value or 0) > 0 for column in grid.columns)]
    if not whole:
        return grid
    name = "geometric mean" + ("" if len(whole) == len(grid.rows) else f" ({len(whole)} of {len(grid.rows)})")
    metric_of = {head: name for name, head in OF_RANKS.items()} if metric == RANKS else dict.fromkeys(grid.columns, metric)
    means = {column: mean_entry([cells[column] for cells in whole], metric_of[column]) for column in grid.columns}
    ranked = [entry.time_s for entry in means.values() if "unverified" not in entry.marks and metric != RANKS]
    means = {column: entry._replace(best=len(ranked) > 1 and entry.time_s == min(ranked)) for column, entry in means.items()}
    return grid._replace(rows={**grid.rows, name: means}, means=(name,))


def transposed(grid, corner):
    """Columns become rows; corner: what these are called."""
    rows = {column: {row: cells[column] for row, cells in grid.rows.items() if column in cells}
            for column in grid.columns}
    return grid._replace(corner=corner, columns=list(grid.rows), rows=rows, fastest_of="column")


def entries_of(grid):
    """Its cells that are there."""
    return [cells[column] for cells in grid.rows.values() for column in grid.columns if column in cells]


def is_blurred(grid):
    """Says whether nearly all times are tied with the fastest of their row: a mark on each would tell nothing."""
    others = [cells[column] for row, cells in grid.rows.items() for column in grid.columns
              if column in cells and row not in grid.means and column not in grid.means]
    tied = ["tied" in entry.marks for entry in others
            if entry.time_s and not entry.best and "unverified" not in entry.marks]
    return len(tied) >= LEAST_BLURRED and sum(tied) >= BLURRED * len(tied)


def shared_marks(grid):
    """(marks that some cells have, those that every time has, or nearly every one is tied): the latter say
    nothing about a cell."""
    timed = [entry.marks for entry in entries_of(grid) if entry.time_s]
    seen = [mark for mark in MARKS if any(mark in marks for marks in timed)]
    shared = [mark for mark in seen
              if all(mark in marks for marks in timed) or (mark == "tied" and is_blurred(grid))]
    return [mark for mark in seen if mark not in shared], shared
