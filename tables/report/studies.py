"""The papers' studies: configurations that differ in one parameter alone, and which value wins."""

import statistics
from typing import NamedTuple

from texts import csv_text, markdown_table, percent
from units import (Matrix, System, describe, fastest, label, marked_times, order, text_of,
                   tied_with, winners)


class Study(NamedTuple):
    """A parameter to compare; parameters[1:] have a meaning only together with the first."""
    name: str
    parameters: tuple
    title: str


class Contest(NamedTuple):
    """Units that differ in nothing but the studied parameter, by its value."""
    system: System
    matrix: Matrix
    kernel: str
    rest: tuple
    units: dict


class Share(NamedTuple):
    """How one value of a studied parameter did over many contests."""
    value: str
    contests: int
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


def contests(study, units):
    """Every set of two or more timed units that differ in the studied parameter alone."""
    groups = {}
    for unit in units:
        who = unit.identity
        chosen = dict(who.settings)
        if unit.status != "ok" or study.parameters[0] not in chosen:
            continue
        value = ",".join(text_of(chosen[name]) for name in study.parameters if name in chosen)
        rest = tuple(item for item in who.settings if item[0] not in study.parameters)
        key = (who.system, who.matrix, who.kernel, rest, who.build)
        groups.setdefault(key, {})[value] = unit
    return [Contest(*key[:4], {value: group[value] for value in sorted(group, key=order)})
            for key, group in sorted(groups.items(), key=lambda item: order(item[0]))
            if len(group) > 1]


def ratio_to_others(value, units):
    """Time over the best other value's time: below 1 it wins, and by how much."""
    return units[value].median_s / min(unit.median_s for other, unit in units.items()
                                       if other != value)


def shares(found):
    """A Share of each value in the contests; an exact draw is split between those who drew."""
    values = sorted({value for contest in found for value in contest.units}, key=order)
    result = []
    for value in values:
        mine = [contest.units for contest in found if value in contest.units]
        won = [units for units in mine if value in winners(units)]
        clear = sum(not tied_with(units[value], units) for units in won)
        result.append(Share(value, len(mine), sum(1 / len(winners(units)) for units in won), clear,
                            statistics.median(ratio_to_others(value, units) for units in mine)))
    return result


def by_system(found):
    """{system: its contests}, in the order met."""
    groups = {}
    for contest in found:
        groups.setdefault(contest.system, []).append(contest)
    return groups


def shares_by_kernel(found):
    """(kernel, its shares) over one system's contests, all kernels together first."""
    yield "all", shares(found)
    for kernel in sorted({contest.kernel for contest in found}):
        yield kernel, shares([contest for contest in found if contest.kernel == kernel])


def study_line(study, found):
    """The study in one sentence: each value's share of the contests it took part in."""
    if not found:
        return f"- {study.name}: no two configurations differ in this alone.\n"
    words = [f"{share.value} best in {percent(share.wins, share.contests)} of {share.contests}"
             for share in shares(found)]
    return f"- {study.name}: {', '.join(words)}.\n"


def studies_csv(outcome):
    """Shares of every value of every study, over all kernels and by kernel."""
    rows = [[study.name, *system, kernel, share.value, share.contests, share.wins,
             share.wins / share.contests, share.clear_wins, share.median_ratio]
            for study, found in outcome.items()
            for system, mine in by_system(found).items()
            for kernel, counted in shares_by_kernel(mine) for share in counted]
    return csv_text(["study", *System._fields, "kernel", "value", "contests", "wins", "win_share",
                     "clear_wins", "median_ratio"], rows)


def study_csv(study, found):
    """Every contestant of a study, one a row."""
    rows = [[*contest.system, contest.matrix.name, contest.matrix.nnz, contest.kernel,
             label(contest.rest), value, unit.median_s, unit.q1_s, unit.q3_s, unit.runs,
             ratio_to_others(value, contest.units), value in winners(contest.units)]
            for contest in found for value, unit in contest.units.items()]
    return csv_text([*System._fields, "matrix", "nnz", "kernel", "config", study.name, "median_s",
                     "q1_s", "q3_s", "runs", "ratio", "won"], rows)


def study_section(study, system, found):
    """A system's part of a study: shares by kernel, then every contest."""
    share_rows = [[kernel, share.value, share.contests, f"{share.wins:.3g}",
                   percent(share.wins, share.contests), share.clear_wins,
                   f"{share.median_ratio:.3f}"]
                  for kernel, counted in shares_by_kernel(found) for share in counted]
    values = sorted({value for contest in found for value in contest.units}, key=order)
    common = set.intersection(*(set(contest.rest) for contest in found))
    rows = []
    for contest in found:
        shown = marked_times(contest.units, fastest(contest.units.values()))
        rest = [item for item in contest.rest if item not in common]
        rows.append([contest.matrix.name, contest.kernel, label(rest),
                     *(shown.get(value, "") for value in values)])
    shared = f"\nThe same in every row: {label(sorted(common))}.\n" if common else ""
    return "".join([
        f"\n## {describe(system)}\n\n",
        markdown_table(["kernel", study.name, "n", "wins", "share", "clear wins", "median ratio"],
                       "llrrrrr", share_rows),
        shared, "\n",
        markdown_table(["matrix", "kernel", "config", *values], "lll" + "r" * len(values), rows)])


def study_md(study, found):
    """A study's page, or one line when there is nothing to compare."""
    if not found:
        return f"# {study.name}\n\nNo two configurations in the logs differ in this alone.\n"
    head = (f"# {study.name}: {study.title}\n\n"
            "Configurations that differ in this alone. n: contests the value took part in. Clear "
            "wins: quartile range meets no\nother's. Median ratio: time over the best other "
            "value's; below 1 the value usually wins. **Bold**, `=`, †: as in times.md.\n")
    return head + "".join(study_section(study, system, mine)
                          for system, mine in by_system(found).items())
