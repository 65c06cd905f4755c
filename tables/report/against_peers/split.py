"""Says where the gain comes from: launch and format, bytes of indices, bytes of values; and what auto loses by its choice.

On one matrix, of times t: t(best peer) / t(auto) is the product of
    launch and format   t(best peer) / t(our best kernel with a 32-bit column and a full value per slot)
    index bytes         that / t(our best kernel with full values, columns compressed or not)
    value bytes         that / t(our best kernel)
    choice              that / t(auto): below 1 where auto took another kernel, or the same one was slower under its name
A kernel that codes values counts in the second step where they were left as they are (--codes=off). Without such a
record, or without one of the others, a matrix is left out. Means are geometric."""

import collections
import math
import statistics

from speedups import is_peer, peers_of
from against_peers.classes import listed_name, outside_list
from against_peers.figures import machine_of
from units.layout import auto_expecting, fastest
from units.unit import AUTO

FULL = frozenset("coo csr csr_columns ell sell hyb hybrid cmrs csr5".split())  # formats with a 32-bit word and a full value per slot
OTHERS = frozenset("bins hubs panels".split())  # kernels that make something else of CSR; two are of old logs alone
STEPS = ("launch and format", "index bytes", "value bytes", "choice")


def is_coded(unit):
    """Says whether its values may be coded: it takes the parameter, which is not off."""
    return bool(dict(unit.identity.settings).get("codes"))


def is_full(unit):
    """Says whether it stores columns and values as CSR does."""
    return unit.record.get("config.format") in FULL and unit.identity.kernel not in OTHERS


def steps_of(cells):
    """The four factors of one matrix, or None. They are ratios of medians, since the factors are of other kernels each, so that
    their product is not to the last digit the ratio of the tables, which is of turns."""
    own = [unit for kernel, cell in cells.items() if kernel != AUTO and not is_peer(kernel) for unit in cell.timed]
    auto, peers = auto_expecting(cells), peers_of(cells)
    full, uncoded = [unit for unit in own if is_full(unit)], [unit for unit in own if not is_coded(unit)]
    if not (auto and peers and full) or all(is_full(unit) for unit in uncoded):
        return None
    times = [fastest(units).median_s for units in (peers, full, uncoded, own)] + [auto.median_s]
    return [before / after for before, after in zip(times, times[1:])]


def class_of(name, places):
    """The outside set's family, or the generator with its values."""
    if name in places:
        return places[name].family
    source, blank, values = name.partition(" ")
    return ":".join(source.split(":")[:2]) + blank + values if name.startswith("gen:") else "small collections"


def split_table(system, matrices, places=None):
    """(header, alignment, rows) of a system: a line for each class, outside first, and one for all of the outside."""
    places = outside_list() if places is None else places
    found = collections.defaultdict(list)
    for matrix, cells in matrices.items():
        steps, name = steps_of(cells), listed_name(matrix.name)
        if steps:
            found[name not in places, class_of(name, places)].append(steps)
    outside = [steps for (other, _), many in found.items() if not other for steps in many]
    rows = [line("outside set", outside)] if outside else []
    rows += [line(name, found[other, name]) for other, name in sorted(found)]
    return ["matrices", "n", *STEPS, "all"], "lrrrrrr", rows


def line(name, many):
    """Means of the factors, and of their product."""
    means = [statistics.geometric_mean(column) for column in zip(*many)]
    return [name, len(many), *(f"{mean:.2f}" for mean in means), f"{math.prod(means):.2f}"]


def split_tables(layout, places=None):
    """[(title, header, alignment, rows)] of the systems that have any."""
    tables = [(f"{machine_of(system)}, {system.cache}, {system.precision}", *split_table(system, matrices, places))
              for system, matrices in layout.items()]
    return [table for table in tables if table[-1]]
