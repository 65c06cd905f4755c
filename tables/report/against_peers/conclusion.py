"""Says what the report opens with: of each machine and class of matrices the fastest kernels, and by how much, in a sentence.

A configuration counts as the fastest on a matrix where it is tied with no other and its ratio to the next is not in doubt. A ratio is in
doubt where nobody checked one of the results, and where one of the times stopped before the noise limit or was disturbed,
unless turns tell the ratio. What is named is the winner, with (auto) if only auto ran it. Means are those of figures.py: every matrix counts; but a mean most
of which is in doubt is not said."""

import collections
from typing import NamedTuple

from speedups import is_peer, peers_of
from against_peers.classes import LIBRARIES, is_generated, listed_name, outside_list
from against_peers.figures import (DOUBTS, doubtful_in, is_doubtful, is_mean_open, machine_of, marked_cells, mean_of,
                              ratio_between, ratio_of, ratio_over)
from texts import plural
from units.layout import BASELINE_ALIAS, baseline_of, fastest, libraries_in, timed_cells
from units.unit import AUTO, configuration_of, is_auto, ran_by, settings_text

CLASSES = OUTSIDE, GENERATED, FILES = "outside set", "generated matrices", "matrices from files"
PRECISIONS, CACHES = ("f64", "f32"), ("cold", "steady", "warm")  # which of them speaks for a machine: the first that it has
NAMED = 3  # kernels, before the others are only counted


class Finding(NamedTuple):
    """The finding of one class of matrices on one system."""
    system: object
    words: str  # the class
    rows: dict  # {matrix: {kernel: Cell}}
    over: str  # what the ratios are over; "" if there is nothing
    ours: list  # Ratios of the fastest kernel of spmv
    known: list  # auto with the expected number of products
    unknown: list  # auto without it


class Ranks(NamedTuple):
    """Says how often each configuration is the fastest."""
    first: collections.Counter  # beyond doubt
    least: collections.Counter  # by its median alone
    tied: int  # matrices on which the first two are not told apart
    doubtful: list  # uncertain times of these matrices
    alone: int  # matrices with a time of one kernel only


def class_words(name, places):
    """The class of a matrix."""
    return OUTSIDE if name in places else GENERATED if is_generated(name) else FILES


def doubt_words(pairs):
    """Says what is wrong with any of them: unsettled or disturbed."""
    return " or ".join(word for word, doubt in DOUBTS.items() if any(doubt(unit) for pair in pairs for unit in pair))


def fastest_by_configuration(cells):
    """Times by what multiplied, the kernel with its parameters, the least first: of each kernel its best, and what auto chose.
    Suspect times of other libraries count for them."""
    found = {}
    for unit in (*timed_cells(cells).values(), *peers_of(cells)):
        found.setdefault(configuration_of(unit), []).append(unit)
    return sorted(map(fastest, found.values()), key=lambda unit: unit.median_s)


def quickest_first(units):
    """Compares times, the least median first: (the quickest, its Ratios to the others). Turns may tell that another is
    quicker, when the least median is of a quieter time."""
    ratios = [ratio_between("", units[0], unit) for unit in units[1:]]
    quicker = min((ratio for ratio in ratios if ratio.value < 1 and not ratio.tied), key=lambda ratio: ratio.value, default=None)
    best = quicker.baseline if quicker else units[0]
    return best, [ratio_between("", best, unit) for unit in units if unit is not best] if quicker else ratios


def by_configuration(units):
    """Counts configurations in words: sell16_lanes threads=1 sigma=4096 (auto), where auto alone ran it."""
    groups = collections.defaultdict(list)
    for unit in units:
        groups[" ".join(filter(None, (ran_by(unit), settings_text(unit))))].append(unit)
    return collections.Counter({words + f" ({AUTO})" * all(map(is_auto, found)): len(found) for words, found in groups.items()})


def ranks_of(rows):
    """The Ranks on some matrices."""
    first, least, tied, doubtful, alone = [], [], 0, [], 0
    for cells in rows.values():
        units = fastest_by_configuration(cells)
        if len(units) < 2:
            alone += len(units)
            continue
        least.append(units[0])
        best, ratios = quickest_first(units)
        if is_doubtful(ratios[0]):
            doubtful.append((best, ratios[0].baseline))
        elif any(ratio.tied or ratio.value < 1 for ratio in ratios):
            tied += 1
        else:
            first.append(best)
    return Ranks(by_configuration(first), by_configuration(least), tied, doubtful, alone)


def own_of(cells):
    """Our kernels' times, the least of each."""
    return [unit for unit in timed_cells(cells).values() if not is_peer(ran_by(unit))]


def ours_over(matrix, cells, others):
    """The Ratio of the fastest kernel of spmv over the others: of the least median, and of what auto chose, whose ratio turns may know
    better."""
    chosen = cells[AUTO].timed if AUTO in cells else []
    ours = [fastest(own_of(cells)), *(unit for unit in chosen if not is_peer(ran_by(unit)))]
    return max((ratio_over(matrix, unit, others) for unit in ours), key=lambda ratio: ratio.value)


def others_of(system, rows):
    """(what ours is measured against, {matrix: its times}): other libraries, or where there are none the baseline."""
    peers = {matrix: peers_of(cells) for matrix, cells in rows.items()}
    if any(peers.values()):
        return LIBRARIES, peers
    base = {matrix: baseline_of(system, timed_cells(cells)) for matrix, cells in rows.items()}
    names = sorted({ran_by(unit) for unit in base.values() if unit})
    return (f"{names[0]} ({BASELINE_ALIAS})" if names else "",
            {matrix: [unit] if unit else [] for matrix, unit in base.items()})


def is_other(over):
    """Says whether a kernel is one that the ratios are over."""
    return is_peer if over == LIBRARIES else lambda kernel: over.startswith(f"{kernel} (")


def finding_of(system, words, rows):
    """The Finding of one class."""
    over, others = others_of(system, rows)
    ours = [ours_over(matrix, cells, others[matrix]) for matrix, cells in rows.items()
            if own_of(cells) and others[matrix]]
    auto = [[ratio for ratio in (ratio_of(cells, is_other(over), known, matrix) for matrix, cells in rows.items())
             if ratio] for known in (True, False)]
    return Finding(system, words, rows, over, ours if any(not is_other(over)(ran_by(r.ours)) for r in ours) else [], *auto)


def findings(layout, places=None):
    """[Finding] of every system and class, in the layout's order."""
    places = outside_list() if places is None else places
    found = []
    for system, matrices in layout.items():
        parts = collections.defaultdict(dict)
        for matrix, cells in matrices.items():
            parts[class_words(listed_name(matrix.name), places)][matrix] = cells
        found += [finding_of(system, words, parts[words]) for words in CLASSES if words in parts]
    return found


# ---- words ---------------------------------------------------------------------------------------


def machine_key(system):
    """Returns what is left of a system without what one machine can have several of."""
    return system._replace(precision=None, alpha=None, beta=None, cache=None)


def machine_names(systems):
    """{machine: its name}, with its host, and a number, where several would be called the same."""
    machines = list(dict.fromkeys(map(machine_key, systems)))
    plain = [machine_of(machine) if machine.cpu or machine.gpu else "unknown processor" for machine in machines]
    hosted = [f"{name}, {machine.host}" if plain.count(name) > 1 and machine.host else name
              for name, machine in zip(plain, machines)]
    return {machine: name if hosted.count(name) == 1 else f"{name} ({hosted[:place].count(name) + 1})"
            for place, (name, machine) in enumerate(zip(hosted, machines))}


def place_in(value, order):
    """Says where a value stands in an order, unknown ones last."""
    return order.index(value) if value in order else len(order)


def leading(found):
    """Returns, for every machine and class, the Finding that speaks for it: one that has times, in double precision,
    from memory."""
    groups = collections.defaultdict(list)
    for finding in found:
        groups[machine_key(finding.system), finding.words].append(finding)
    return [min(group, key=lambda f: (not any(map(timed_cells, f.rows.values())), place_in(f.system.precision, PRECISIONS),
                                      place_in(f.system.cache, CACHES))) for group in groups.values()]


def ordered(found):
    """The machine with most timed matrices first, its systems and classes as they are."""
    machines = [machine_key(finding.system) for finding in found]
    timed = collections.Counter()
    for machine, finding in zip(machines, found):
        timed[machine] += sum(map(bool, map(timed_cells, finding.rows.values())))
    first = {machine: (-timed[machine], machines.index(machine)) for machine in machines}
    return sorted(found, key=lambda finding: first[machine_key(finding.system)])


def state_of(system):
    """Precision, caches and, where they are not the usual ones, alpha and beta."""
    return ", ".join(filter(None, (
        system.precision, system.cache,
        None if system.alpha in (None, 1) else f"alpha {system.alpha}",
        None if system.beta in (None, 0) else f"beta {system.beta}")))


def kernels_clause(counts, n):
    """`a` on 3 matrices, `b` on 2 and 4 others on 5; of one matrix the kernel alone."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rest = ordered[NAMED:] if len(ordered) > NAMED + 1 else []
    shown = [f"`{kernel}` on {count}" if n > 1 else f"`{kernel}`" for kernel, count in ordered[:len(ordered) - len(rest)]]
    return ", ".join(shown) + (f" and {len(rest)} others on {sum(count for _, count in rest)}" if rest else "")


def fastest_clause(ranks):
    """Says which kernels are the fastest, and on how many matrices nobody can say."""
    n = sum(ranks.least.values())
    open_ones = ", ".join(f"{count} {words}" for count, words in (
        (ranks.tied, "tied"), (len(ranks.doubtful), doubt_words(ranks.doubtful))) if count)
    if ranks.first:
        return ((f"Of {n} matrices, the fastest kernel is " if n > 1 else "The fastest kernel is ")
                + kernels_clause(ranks.first, n) + (f" ({open_ones})" if open_ones else ""))
    return ("No kernel is beyond doubt the fastest" + (f" on any of {n} matrices" if n > 1 else "")
            + f" ({open_ones}); the least median has {kernels_clause(ranks.least, n)}")


def over_words(finding):
    """Says what ours is compared with, by the libraries' names where these are few."""
    names = libraries_in(finding.rows)
    if finding.over != LIBRARIES:
        return f"`{finding.over.partition(' ')[0]}`"
    return f"the fastest kernel of {' and '.join(names) if 0 < len(names) < 3 else LIBRARIES}"


def ratio_clause(finding):
    """Says by how much; a mean most of which is in doubt is not said."""
    ratios, doubtful = finding.ours, doubtful_in(finding.ours)
    if is_mean_open(ratios):
        return (f"how the fastest kernel of spmv compares with {over_words(finding)} is not known "
                f"({len(doubtful)} of {len(ratios)} {doubt_words(doubtful)})")
    worst = min(ratios, key=lambda ratio: ratio.value)
    name, note = worst.matrix.removeprefix("gen:"), f", {len(doubtful)} of them {doubt_words(doubtful)}" if doubtful else ""
    return (f"the fastest kernel of spmv is **{mean_of(ratios):.2f}** times as fast as {over_words(finding)} "
            + (f"(geometric mean of {len(ratios)}{note}; worst {worst.value:.2f} on {name})" if len(ratios) > 1
               else f"on {name}{note}"))


def nothing_timed(finding):
    """The sentence where no kernel has a rank."""
    words = collections.Counter(cell.word for cells in finding.rows.values() for cell in cells.values())
    return (f"No result can be ranked on {plural(len(finding.rows), 'matrix', 'matrices')}: "
            + ", ".join(f"{count} {word}" for word, count in sorted(words.items())) + ".")


def sentence(finding):
    """The conclusion of one machine and class; kernels stand in `these`."""
    ranks = ranks_of(finding.rows)
    timed = sum(ranks.least.values()) + ranks.alone
    if not timed:
        return nothing_timed(finding)
    if not ranks.least:
        names = sorted({ran_by(unit) for cells in finding.rows.values() for unit in fastest_by_configuration(cells)})
        return (f"{', '.join(f'`{name}`' for name in names)} alone {'was' if len(names) == 1 else 'were'} timed on "
                f"{plural(timed, 'matrix', 'matrices')}, one kernel on each: there is nothing to compare.")
    clauses = [fastest_clause(ranks), *([ratio_clause(finding)] if finding.ours else [])]
    missing = len(finding.rows) - timed
    clauses += [f"{plural(ranks.alone, 'matrix has', 'matrices have')} a time of one kernel only"] if ranks.alone else []
    clauses += [f"{plural(missing, 'matrix has', 'matrices have')} no time"] if missing else []
    return "; ".join(clauses) + "."


# ---- table ---------------------------------------------------------------------------------------


def states_table(found):
    """(header, alignment, rows): a line for every system and class, auto a column; only columns that hold something."""
    names = machine_names([finding.system for finding in found])
    rows = [[names[machine_key(f.system)], state_of(f.system), f.words, len(f.rows), f.over, *marked_cells(f.ours),
             *marked_cells(f.known), *marked_cells(f.unknown)] for f in found if f.ours or f.known or f.unknown]
    header = ["machine", "state", "matrices", "n", "over the fastest of", "fastest kernel of spmv", "worst",
              "auto, products known", "worst", "auto, products unknown", "worst"]
    held = [column for column in range(len(header)) if any(row[column] != "" for row in rows)]
    return ([header[column] for column in held], "".join("lllrlrlrlrl"[column] for column in held),
            [[row[column] for column in held] for row in rows])


def is_open(finding):
    """Says whether its sentence leaves something open that better times would tell."""
    return 2 * len(ranks_of(finding.rows).doubtful) > len(finding.rows) or is_mean_open(finding.ours)
