"""The figures of auto beside other libraries: README.md, docs/results, the report and the aims take them from here.

A ratio is the time of a baseline over that of auto on one matrix: from the turns that they took next to each other, where
the log has them, else of their medians. Of several baselines the least ratio counts. Means are geometric."""

import collections
import math
import re
import statistics
from typing import NamedTuple, Optional

from speedups import is_peer
from against_peers.classes import BASELINES, HALVES, SIZES, SIZE_WORDS, is_generated, listed_name, outside_list
from logs import is_number
from texts import plural
from units.layout import auto_expecting, overlap
from units.means import ENOUGH_KNOWN, are_enough
from units.pairs import LIMIT, Interval, paired
from units.unit import expected_products, product_of

CHART_LIMIT = 0.05  # to which ratios of the first chart are known, as far as means ask for it
MOST_APART = 0.06  # maximum difference between the two halves
UNKNOWN = 0  # expected products
DOUBTS = {  # why a time is not to be relied on
    "unsettled": lambda unit: unit.noisy, "disturbed": lambda unit: unit.disturbed,
    "unchecked": lambda unit: unit.record.get("check.status") != "ok"}


class Ratio(NamedTuple):
    """A ratio of two times of one matrix. quiet: of the two times, those that met the noise limit. paired: from turns,
    None without any."""
    matrix: str
    value: float
    tied: bool
    quiet: tuple
    ours: object
    baseline: object
    paired: Optional[Interval]

    @property
    def known(self):
        """Says whether it is known to LIMIT."""
        return self.known_to(LIMIT)

    def known_to(self, limit):
        """By its turns, without them by the intervals of both medians. Logs that are older than these intervals say only
        whether a time met the noise limit."""
        if self.paired:
            return self.paired.error <= limit
        errors = [median_error(unit) or 0 for unit in (self.ours, self.baseline)]
        return all(self.quiet) and math.hypot(*errors) <= limit


class Group(NamedTuple):
    """Names what is averaged apart."""
    system: object
    words: str  # the baselines
    known: bool  # auto was given the number of products that follow


def median_error(unit):
    """Says how far the farther end of the median's 95 % interval is, as a share; None: the log has no interval."""
    low, high = (unit.record.get(f"timing.median_{end}_s") for end in ("low", "high"))
    return max(high / unit.median_s - 1, 1 - low / unit.median_s) if is_number(low) and is_number(high) else None


def machine_of(system):
    """Names it in words, without the marks of a trade name and the size of a GPU's memory, and the product if it is of
    several vectors or by the transpose."""
    cpu = (system.cpu or "CPU").replace("(R)", "").replace("(TM)", "")
    machine = (re.sub(r" \d+GB.*$", "", system.gpu) if system.gpu else
               f"{cpu}, {plural(system.threads, 'thread')}" if system.threads else cpu)
    return ", ".join(filter(None, (machine, product_of(system))))


def ratio_of(cells, is_baseline, known, matrix):
    """The Ratio on one matrix, or None. Suspect times of baselines count in their favour."""
    auto = auto_expecting(cells) if known else auto_expecting(cells, UNKNOWN)
    if auto is None or bool(expected_products(auto)) != known:
        return None
    others = [unit for kernel, cell in cells.items() if is_baseline(kernel)
              for unit in (*cell.timed, *cell.suspect)]
    return ratio_over(matrix, auto, others) if others else None


def ratio_over(matrix, ours, others):
    """The least Ratio of one time over some others, of which there are any: that of the fastest, and by turns it may be another
    than the one of least median."""
    return min((ratio_between(listed_name(matrix.name), ours, other) for other in others), key=lambda ratio: ratio.value)


def ratio_between(name, ours, other):
    """The Ratio of two times. Tied are two whose interval holds 1, without one those whose quartiles overlap."""
    turns = paired(ours, other)
    return Ratio(name, turns.value if turns else other.median_s / ours.median_s,
                 turns.holds_one if turns else overlap(ours, other), (not ours.noisy, not other.noisy), ours, other, turns)


def groups_of(layout, takes):
    """{Group: [Ratio]} of the matrices whose names are taken; groups without any are left out, and so is a baseline that no
    kernel of this system adds to the one before."""
    found = {}
    for system, layout_of_system in layout.items():
        matrices = {matrix: cells for matrix, cells in layout_of_system.items() if takes(listed_name(matrix.name))}
        compared = set()
        for words, is_baseline in BASELINES.get(system.backend, ()):
            before, compared = compared, {kernel for cells in matrices.values() for kernel in cells if is_baseline(kernel)}
            if compared == before:
                continue
            for known in (True, False):
                ratios = [ratio_of(cells, is_baseline, known, matrix) for matrix, cells in matrices.items()]
                ratios = [ratio for ratio in ratios if ratio]
                if ratios:
                    found[Group(system, words, known)] = ratios
    return found


def outside_groups(layout, places=None):
    """Returns the groups of the outside set."""
    places = outside_list() if places is None else places
    return groups_of(layout, places.__contains__)


def generated_groups(layout, places=None):
    """Returns the groups of all other matrices."""
    places = outside_list() if places is None else places
    return groups_of(layout, lambda name: name not in places)


def mean_of(ratios):
    """Geometric, of at least one."""
    return statistics.geometric_mean([ratio.value for ratio in ratios])


def difference_of(one, other):
    """(how much larger the mean of one is than that of the other, as a share, its standard error); None with
    fewer than two matrices in either. The halves share no matrix, so variances of the logarithms add."""
    logs = [[math.log(ratio.value) for ratio in ratios] for ratios in (one, other)]
    if min(map(len, logs)) < 2:
        return None
    apart = statistics.fmean(logs[0]) - statistics.fmean(logs[1])
    return math.expm1(apart), math.sqrt(sum(statistics.variance(part) / len(part) for part in logs))


def is_as_expected(difference):
    """Within two standard errors, and within MOST_APART."""
    apart, error = difference
    return abs(math.log1p(apart)) <= 2 * error and abs(apart) <= MOST_APART


# ---- tables --------------------------------------------------------------------------------------


def group_cells(group):
    """Says how a group begins its line."""
    system = group.system
    return [machine_of(system), system.cache or "", system.precision or "", group.words,
            "known" if group.known else "unknown"]


GROUP_HEADER = ["machine", "caches", "precision", "over the best of", "products"]


def worst_cell(ratios):
    """The least ratio and its matrix."""
    worst = min(ratios, key=lambda ratio: ratio.value)
    return f"{worst.value:.2f} {worst.matrix.removeprefix('gen:')}"


def mean_cells(ratios):
    """Mean with its n, and the worst."""
    return [f"{mean_of(ratios):.2f} ({len(ratios)})", worst_cell(ratios)] if ratios else ["", ""]


def marked_cells(ratios):
    """The same with a mark after the mean."""
    mean, worst = mean_cells(ratios)
    return [mean + doubt_mark(ratios) if ratios else mean, worst]


def counts_cell(ratios):
    """Wins, draws, losses."""
    won = sum(ratio.value > 1 and not ratio.tied for ratio in ratios)
    lost = len(losses_of(ratios))
    return f"{won}, {len(ratios) - won - lost}, {lost}"


def losses_of(ratios):
    """Returns the ratios that are slower and not tied, the worst first."""
    return sorted((ratio for ratio in ratios if ratio.value < 1 and not ratio.tied),
                  key=lambda ratio: (ratio.value, ratio.matrix))


def difference_cells(halves):
    """The difference of the halves, and whether it is as expected."""
    found = difference_of(*halves)
    if found is None:
        return ["", ""]
    return [f"{100 * found[0]:+.1f} ± {100 * found[1]:.1f} %".replace("-", "−"), "yes" if is_as_expected(found) else "no"]


def is_doubtful(ratio):
    """Says whether it is not to be relied on, for one of its times is not. What disturbed both in turns is not in their
    ratio."""
    doubts = ["unchecked"] if ratio.paired and ratio.paired.error <= LIMIT else DOUBTS
    return any(DOUBTS[doubt](unit) for unit in (ratio.ours, ratio.baseline) for doubt in doubts)


def doubtful_in(ratios):
    """The pairs of times of those ratios that are not to be relied on."""
    return [(ratio.ours, ratio.baseline) for ratio in ratios if is_doubtful(ratio)]


def is_mean_open(ratios):
    """Says whether most of a mean is in doubt."""
    return 2 * len(doubtful_in(ratios)) > len(ratios)


def are_known(ratios):
    """Says whether enough of the ratios are known."""
    return are_enough(sum(ratio.known for ratio in ratios), len(ratios))


def doubt_mark(ratios):
    """Is the mark after a mean of which not enough is known."""
    return "" if are_known(ratios) else " ~"


def outside_table(layout, places=None):
    """(header, alignment, rows): mean and worst, all and of each half."""
    places = outside_list() if places is None else places
    rows = []
    for group, ratios in outside_groups(layout, places).items():
        halves = [[ratio for ratio in ratios if places[ratio.matrix].half == half] for half in HALVES]
        rows.append([*group_cells(group), *marked_cells(ratios), *(cell for half in halves for cell in mean_cells(half)),
                     *difference_cells(halves), counts_cell(ratios)])
    header = [*GROUP_HEADER, "all", "worst", *(word for half in HALVES for word in (f"{half} half", "worst")),
              "difference", "as expected", "faster, tied, slower"]
    return header, "lllllrlrlrlrlr", rows


def losses_page_table(layout, places=None):
    """(header, alignment, rows) of the outside set over other libraries: mean, worst, counts and, with known products, every loss."""
    places = outside_list() if places is None else places
    rows = []
    for group, ratios in outside_groups(layout, places).items():
        if group.words == BASELINES[group.system.backend][0][0]:
            machine, caches, precision, _, products = group_cells(group)
            losses = ", ".join(f"{ratio.value:.2f} {ratio.matrix}" for ratio in losses_of(ratios)) if group.known else ""
            rows.append([machine, caches, precision, products, *marked_cells(ratios), counts_cell(ratios), losses])
    return ["machine", "caches", "precision", "products", "mean", "worst", "faster, tied, slower", "slower on"], "llllrlrl", rows


def short_table(layout, places=None):
    """(header, alignment, rows) of the outside set in f64, over other libraries: a line for each machine."""
    places = outside_list() if places is None else places
    groups = {group: ratios for group, ratios in outside_groups(layout, places).items()
              if group.words == BASELINES[group.system.backend][0][0] and group.system.precision == "f64"}
    heads = sorted({(group.system.cache or "", not group.known) for group in groups})
    found = collections.defaultdict(dict)
    for group, ratios in groups.items():
        found[machine_of(group.system)][group.system.cache or "", not group.known] = (
            f"{mean_of(ratios):.2f}{doubt_mark(ratios).strip()}, {min(ratio.value for ratio in ratios):.2f}")
    header = ["machine", *(f"{cache}{', products unknown' if unknown else ''}" for cache, unknown in heads)]
    return header, "l" + "r" * len(heads), [[line, *(cells.get(head, "") for head in heads)] for line, cells in found.items()]


def known_groups(layout, places=None):
    """[(system, ratios)] of the outside set over other libraries whose mean is known: f64, cold caches, known products."""
    places = outside_list() if places is None else places
    return [(group.system, ratios) for group, ratios in outside_groups(layout, places).items()
            if group.known and (group.system.precision, group.system.cache) == ("f64", "cold")
            and group.words == BASELINES[group.system.backend][0][0] and are_known(ratios)]


def parts_table(layout, part, names, places=None):
    """(header, alignment, rows): mean and worst of every part of the outside set, with known products."""
    places = outside_list() if places is None else places
    rows = []
    for group, ratios in outside_groups(layout, places).items():
        parts = [[ratio for ratio in ratios if getattr(places[ratio.matrix], part) == name] for name in names]
        rows.append([*group_cells(group), *(", ".join(mean_cells(found)) if found else "" for found in parts)])
    return [*GROUP_HEADER, *(SIZE_WORDS.get(name, str(name)) for name in names)], "lllll" + "r" * len(names), rows


def sizes_table(layout, places=None):
    """Returns a table of the ratios by size."""
    return parts_table(layout, "size", SIZES, places)


def families_table(layout, places=None):
    """Returns a table of the ratios by family: a line for each, a column for each machine, state and precision."""
    places = outside_list() if places is None else places
    groups = {group: ratios for group, ratios in outside_groups(layout, places).items()
              if group.known and group.words == BASELINES[group.system.backend][0][0]}
    header = ["family", *(f"{machine_of(group.system)}, {group.system.cache}, {group.system.precision}"
                          for group in groups)]
    rows = []
    for family in sorted({place.family for place in places.values()}):
        found = [[ratio for ratio in ratios if places[ratio.matrix].family == family] for ratios in groups.values()]
        if any(found):
            rows.append([family, *(" ".join(mean_cells(part)[:1]) for part in found)])
    return header, "l" + "r" * len(groups), rows


def generated_table(layout, places=None):
    """(header, alignment, rows): the second table."""
    rows = []
    for group, ratios in generated_groups(layout, places).items():
        parts = [[ratio for ratio in ratios if is_generated(ratio.matrix) == made] for made in (True, False)]
        rows.append([*group_cells(group), *(cell for part in parts for cell in marked_cells(part)), counts_cell(ratios)])
    return ([*GROUP_HEADER, "generated", "worst", "small collections", "worst", "faster, tied, slower"],
            "lllllrlrlr", rows)


def losses_table(layout, places=None):
    """(header, alignment, rows): every matrix of the outside set on which auto is slower."""
    rows = [[*group_cells(group), ", ".join(f"{ratio.value:.2f} {ratio.matrix}" for ratio in losses_of(ratios))]
            for group, ratios in outside_groups(layout, places).items() if losses_of(ratios)]
    return [*GROUP_HEADER, "slower on"], "llllll", rows


def libraries_table(layout):
    """(header, alignment, rows): which versions the peers' kernels are of, by machine, as their records say."""
    found = collections.defaultdict(set)
    for system, matrices in layout.items():
        for cells in matrices.values():
            for kernel, cell in cells.items():
                if is_peer(kernel):
                    found[machine_of(system)] |= {unit.record.get("kernel.library") for unit in (*cell.timed, *cell.suspect)}
    rows = [[machine, ", ".join(sorted(filter(None, names)))] for machine, names in found.items() if any(names)]
    return ["machine", "other libraries"], "ll", rows


def known_table(layout, places=None):
    """(header, alignment, rows): of the ratios to other libraries, how many rest on times that met the noise limit, and how many are
    known to LIMIT."""
    rows = []
    for group, ratios in outside_groups(layout, places).items():
        known = sum(ratio.known for ratio in ratios)
        rows.append([*group_cells(group), len(ratios), sum(all(ratio.quiet) for ratio in ratios),
                     sum(ratio.paired is not None for ratio in ratios), f"{known} ({100 * known / len(ratios):.0f} %)",
                     "yes" if are_known(ratios) else "no"])
    limit = f"{100 * LIMIT:.0f} %"
    return ([*GROUP_HEADER, "ratios", "both times met the noise limit", "with turns", f"known to {limit}",
             f"at least {100 * ENOUGH_KNOWN:.0f} %"], "lllllrrrrl", rows)
