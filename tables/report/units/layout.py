"""Units by system, matrix and kernel, and which of them may be ranked."""

from typing import NamedTuple, Optional

from texts import si_time
from units.merging import merge, overall_status
from units.unit import AUTO, Unit, describe, doubts, expected_products, is_verified, same_configuration, unit_of

# Is what speed-ups are measured against: the papers' csr1, by alias or by its name on each backend.
BASELINE_ALIAS = "csr1"
BASELINE_KERNEL = {"omp": "csr_rows", "cuda": "csr_warp"}


class Cell(NamedTuple):
    """One kernel on one matrix: its best unit, or a word saying why there is none."""
    best: Optional[Unit]
    word: str
    note: str
    timed: list = []  # all that may be ranked: another may be done sooner, preparation counted
    suspect: list = []  # times that no memory could give


def overlap(a, b):
    """Says whether the quartile ranges meet, so that the medians do not tell the two apart."""
    return a.q1_s <= b.q3_s and b.q1_s <= a.q3_s


def fastest(units):
    """The unit of least median; among equals the first, which is stable as units are sorted."""
    return min(units, key=lambda unit: unit.median_s)


def auto_expecting(cells, products=None):
    """Returns, of {kernel: Cell}: auto's fastest unit among those that expected so many products (None: the largest
    number in the log); None if there is no such unit."""
    timed = cells[AUTO].timed if AUTO in cells else []
    wanted = max(map(expected_products, timed), default=0) if products is None else products
    found = [unit for unit in timed if expected_products(unit) == wanted]
    return fastest(found) if found else None


def best_of(units):
    """The fastest of those that have a time; without any, the one whose end says most."""
    timed = [unit for unit in units if unit.status == "ok"]
    if timed:
        return fastest(timed)
    status = overall_status([unit.status for unit in units])
    return next(unit for unit in units if unit.status == status)


def winners(units):
    """Names of a {name: unit} that share the least median, or ran the configuration that has it: usually one."""
    least = min(unit.median_s for unit in units.values())
    first = [unit for unit in units.values() if unit.median_s == least]
    return [name for name, unit in units.items() if any(same_configuration(unit, best) for best in first)]


def cell_of(units):
    """Holds what a table says about one kernel on one matrix, over all its configurations; a time whose result nobody
    looked at (--verify=off) has no rank."""
    right = [unit for unit in units if unit.status == "ok"]
    timed = [unit for unit in right if is_verified(unit)]
    wrong = [unit for unit in units if unit.status == "wrong"]
    suspect = [unit for unit in units if unit.status == "suspect"]
    if timed:
        note = f"wrong result in {len(wrong)} of {len(units)} configurations" if wrong else ""
        return Cell(fastest(timed), "", note, timed, suspect)
    if right:
        return Cell(None, "unchecked", "unchecked: measured with --verify=off", [], suspect)
    status = overall_status([unit.status for unit in units])
    reason = min(unit.reason for unit in units if unit.status == status)
    if status == "wrong":
        return Cell(None, "WRONG", reason)
    return Cell(None, status, f"{status}: {reason or 'no reason given'}", [], suspect)


def tabulate(units):
    """{system: {matrix: {kernel: Cell}}}, sorted at every level."""
    groups = {}
    for unit in units:
        who = unit.identity
        kernels = groups.setdefault(who.system, {}).setdefault(who.matrix, {})
        kernels.setdefault(who.kernel, []).append(unit)
    return {system: {matrix: {kernel: cell_of(kernels[kernel]) for kernel in sorted(kernels)}
                     for matrix, kernels in rows.items()}
            for system, rows in groups.items()}


def layout_of(records):
    """Lays out what the records say, repeats merged."""
    return tabulate(merge(unit_of(record) for record in records))


def timed_cells(cells):
    """{kernel: its best unit} of those that may be ranked."""
    return {kernel: cell.best for kernel, cell in cells.items() if cell.best}


def tied_with(best, units):
    """Names of the {name: unit} that are tied with the best: those of other configurations."""
    return [name for name, unit in units.items()
            if not same_configuration(unit, best) and overlap(unit, best)]


def baseline_of(system, units):
    """The unit speed-ups are measured against, or None."""
    name = BASELINE_KERNEL.get(system.backend)
    for kernel, unit in units.items():
        if unit.alias == BASELINE_ALIAS or kernel == name:
            return unit
    return None


def libraries_in(rows):
    """Names and versions of the other libraries in {matrix: {kernel: Cell}}, sorted."""
    return sorted({unit.identity.library for cells in rows.values() for cell in cells.values()
                   for unit in (*cell.timed, *cell.suspect) if unit.identity.library})


def kernels_in(rows):
    """Kernels with any result in {matrix: {kernel: Cell}}, sorted."""
    return sorted({kernel for cells in rows.values() for kernel in cells})


def marked_times(units, best):
    """{name: time} with the best in bold, those tied with it and doubtful ones marked."""
    tied = tied_with(best, units)
    return {name: (f"**{si_time(unit.median_s)}**" if unit is best else si_time(unit.median_s))
            + (" =" if name in tied else "") + doubts(unit)
            for name, unit in units.items()}


def peers_line(rows):
    """Says what the peers of {matrix: {kernel: Cell}} are, as a sentence; nothing where no log names one."""
    found = libraries_in(rows)
    return f"Peers: {', '.join(found)}." if found else ""


def heading(system, rows):
    """A page's heading of a system, with the libraries that it was compared with."""
    peers = peers_line(rows)
    return f"\n## {describe(system)}\n\n" + (f"{peers}\n\n" if peers else "")


def caption(system, rows):
    """The same for a table in a paper."""
    return ". ".join(filter(None, [describe(system), peers_line(rows).rstrip(".")]))
