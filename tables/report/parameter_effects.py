"""The papers' studies: configurations that differ in one parameter alone, and which value wins."""

import statistics
from typing import NamedTuple

from texts import csv_text, markdown_table, percent
from units.layout import fastest, marked_times, tied_with, winners
from units.settings import label, order, text_of
from units.unit import Matrix, System, describe, is_verified


class Study(NamedTuple):
    """A parameter to compare; parameters[1:] have a meaning only together with the first."""
    name: str
    parameters: tuple
    title: str


class Comparison(NamedTuple):
    """Units that differ in nothing but the studied parameter, by its value."""
    system: System
    matrix: Matrix
    kernel: str
    rest: tuple
    units: dict


class Share(NamedTuple):
    """Says how one value of a studied parameter did over many comparisons."""
    value: str
    comparisons: int
    wins: float
    clear_wins: int
    median_ratio: float


STUDIES = (
    Study("rowlens", ("rowlens",), "stop at the true end of an ELL row, or multiply the padding"),
    Study("simd", ("simd",), "SIMD reduction in the dot product"),
    Study("schedule", ("schedule", "chunk"), "OpenMP schedule, with its chunk where one was set"),
    Study("grid", ("grid",), "row blocks x column blocks"),
    Study("block", ("block",), "threads in a CUDA block"),
)


def may_win(unit):
    """Says whether it has a time, of a result that was checked."""
    return unit.status == "ok" and is_verified(unit)


def comparisons(study, units):
    """Every set of two or more timed units that differ in the studied parameter alone."""
    groups = {}
    for unit in units:
        who = unit.identity
        chosen = dict(who.settings)
        if not may_win(unit) or study.parameters[0] not in chosen:
            continue
        value = ",".join(text_of(chosen[name]) for name in study.parameters if name in chosen)
        rest = tuple(item for item in who.settings if item[0] not in study.parameters)
        key = (who.system, who.matrix, who.kernel, rest, who.build)
        groups.setdefault(key, {})[value] = unit
    return [Comparison(*key[:4], {value: group[value] for value in sorted(group, key=order)})
            for key, group in sorted(groups.items(), key=lambda item: order(item[0]))
            if len(group) > 1]


def ratio_to_others(value, units):
    """Time over the best other value's time: below 1 it wins, and by how much."""
    return units[value].median_s / min(unit.median_s for other, unit in units.items()
                                       if other != value)


def shares(found):
    """A Share of each value in the comparisons; an exact draw is split between those who drew."""
    values = sorted({value for comparison in found for value in comparison.units}, key=order)
    result = []
    for value in values:
        mine = [comparison.units for comparison in found if value in comparison.units]
        won = [units for units in mine if value in winners(units)]
        clear = sum(not tied_with(units[value], units) for units in won)
        result.append(Share(value, len(mine), sum(1 / len(winners(units)) for units in won), clear,
                            statistics.median(ratio_to_others(value, units) for units in mine)))
    return result


def by_system(found):
    """{system: its comparisons}, in the order met."""
    groups = {}
    for comparison in found:
        groups.setdefault(comparison.system, []).append(comparison)
    return groups


def shares_by_kernel(found):
    """(kernel, its shares) over one system's comparisons, all kernels together first."""
    yield "all", shares(found)
    for kernel in sorted({comparison.kernel for comparison in found}):
        yield kernel, shares([comparison for comparison in found if comparison.kernel == kernel])


def study_line(study, found):
    """The study in one sentence: each value's share of the comparisons it took part in; nothing without any."""
    if not found:
        return ""
    words = [f"{share.value} best in {percent(share.wins, share.comparisons)} of {share.comparisons}"
             for share in shares(found)]
    return f"- {study.name}: {', '.join(words)}.\n"


def studies_csv(outcome):
    """Shares of every value of every study, over all kernels and by kernel."""
    rows = [[study.name, *system, kernel, share.value, share.comparisons, share.wins,
             share.wins / share.comparisons, share.clear_wins, share.median_ratio]
            for study, found in outcome.items()
            for system, mine in by_system(found).items()
            for kernel, counted in shares_by_kernel(mine) for share in counted]
    return csv_text(["study", *System._fields, "kernel", "value", "comparisons", "wins", "win_share",
                     "clear_wins", "median_ratio"], rows)


def study_csv(study, found):
    """Every configuration in a study, one per row."""
    rows = [[*comparison.system, comparison.matrix.name, comparison.matrix.nnz, comparison.kernel,
             label(comparison.rest), value, unit.median_s, unit.q1_s, unit.q3_s, unit.runs,
             ratio_to_others(value, comparison.units), value in winners(comparison.units)]
            for comparison in found for value, unit in comparison.units.items()]
    return csv_text([*System._fields, "matrix", "nnz", "kernel", "config", study.name, "median_s",
                     "q1_s", "q3_s", "runs", "ratio", "won"], rows)


def study_section(study, system, found):
    """A system's part of a study: shares by kernel, then every comparison."""
    share_rows = [[kernel, share.value, share.comparisons, f"{share.wins:.3g}",
                   percent(share.wins, share.comparisons), share.clear_wins,
                   f"{share.median_ratio:.3f}"]
                  for kernel, counted in shares_by_kernel(found) for share in counted]
    values = sorted({value for comparison in found for value in comparison.units}, key=order)
    common = set.intersection(*(set(comparison.rest) for comparison in found))
    rows = []
    for comparison in found:
        shown = marked_times(comparison.units, fastest(comparison.units.values()))
        rest = [item for item in comparison.rest if item not in common]
        rows.append([comparison.matrix.name, comparison.kernel, label(rest),
                     *(shown.get(value, "") for value in values)])
    shared = f"\nThe same in every row: {label(sorted(common))}.\n" if common else ""
    return "".join([
        f"\n## {describe(system)}\n\n",
        markdown_table(["kernel", study.name, "n", "wins", "share", "clear wins", "median ratio"],
                       "llrrrrr", share_rows),
        shared, "\n",
        markdown_table(["matrix", "kernel", "config", *values], "lll" + "r" * len(values), rows)])


def study_md(study, found):
    """A study's page."""
    head = (f"# {study.name}: {study.title}\n\n"
            "Configurations that differ in this alone. n: comparisons the value took part in. Clear "
            "wins: quartile range meets no\nother's. Median ratio: time over the best other "
            "value's; below 1 the value usually wins. **Bold**, `=`, ~: as in times.md.\n")
    return head + "".join(study_section(study, system, mine)
                          for system, mine in by_system(found).items())
