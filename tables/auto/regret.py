#!/usr/bin/env python3
"""`auto` beside the best of our kernels, timed again in the same turns: what a choice cost, without the noise of other hours.

    python3 tables/auto/regret.py LOG... [--backend=omp] [--most=3] [--states=cold,steady] [--precisions=f64] --pick >LIST
    BESIDE=LIST STAGES=beside sh tables/measure_reference.sh SPMV NAME       measures NAME-beside.jsonl
    python3 tables/auto/regret.py NAME-beside.jsonl... >tables/reference/choices.md

With --pick, the logs hold every kernel of ours on the outside set. Printed is a line for each matrix: its name, the kernels that
were the fastest there (so many of each state and precision asked for, deterministic ones that are still built, without parameters but
the shape of blocks), and the option for that shape. Otherwise the logs are of such sweeps: the regret of `auto` is its
time over that of the fastest kernel beside it, by the rounds of their turns (tables/report/units/pairs.py), and at least 1; of several
runs of a matrix the largest counts.
Printed is a table, in Markdown, with both halves of the outside set and the matrices whose regret is above 1.10.
"""

import collections
import os
import sys
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from replay import FAIR, CLOSE, is_ours, kernels_built, mean  # noqa: E402
from common import EX_DATAERR, EX_USAGE, Parser, Stop, load, run, say  # noqa: E402  (replay sets the path)
from against_peers.classes import HALVES, listed_name, outside_list  # noqa: E402
from against_peers.figures import machine_of  # noqa: E402
from texts import markdown_table, percent  # noqa: E402
from units.pairs import LIMIT, interval_of, rounds_of  # noqa: E402
from units.unit import product_of, ran_by, settings_text, system_of, unit_of  # noqa: E402

STATES, PRECISIONS = ("cold", "steady", "warm"), ("f64", "f32")
HEAD = """# What the choice of auto costs

The time of auto, with 1,000 expected products, over that of the fastest of the kernels beside it, timed in the same turns, on the
outside set. Beside it are three to seven kernels of ours by name: the three that were the fastest on that matrix in the logs, of each state and
precision of the sweep (`tables/auto/regret.py`; on the H100 those of the H200's logs). What auto is faster counts as 1; means are
geometric. Known to 3 %: the ratio to the fastest, by the interval of its rounds; the fastest of several times that are not known
well is mostly too fast, so that the regret is rather too large.

"""


def counted(records):
    """(matrix, (precision, state), record) of right results of one vector at a time on the outside set."""
    listed = outside_list()
    for record in records:
        right = (record.get("status"), record.get("check.status")) == ("ok", "ok")
        if right and not product_of(system_of(record)):
            matrix = listed_name(record.get("matrix.name") or "")
            if matrix in listed:
                yield matrix, (record.get("config.precision"), record.get("config.cache")), record


# ---- which kernels -------------------------------------------------------------------------------


def shape_of(record):
    """Returns the shape of blocks; None of other kernels."""
    rows, cols = record.get("config.params.shape_rows"), record.get("config.params.shape_cols")
    return f"{rows}x{cols}" if rows else None


def picked(records, backend, states, most):
    """Lines of the matrices, in the order of the outside set."""
    built, times = kernels_built(backend), collections.defaultdict(dict)
    for matrix, state, record in counted(records):
        kernel, seconds = record.get("config.kernel"), record.get("timing.median_s")
        if (state in states and record.get("config.backend") == backend and kernel in built and is_ours(kernel)
                and record.get("config.deterministic") and seconds and record.get("config.params.codes") != 0 and record.get("config.requested") != "auto"):
            seen = times[matrix, state]
            seen[kernel, shape_of(record)] = min(seconds, seen.get((kernel, shape_of(record)), seconds))
    for matrix in outside_list():
        best = [pair for state in states for pair in sorted(times[matrix, state], key=times[matrix, state].get)[:most]]
        if best:
            kernels = dict.fromkeys(f"{backend}:{kernel}" for kernel, _ in best)
            shapes = dict.fromkeys(shape for _, shape in best if shape)
            yield " ".join([matrix, ",".join(kernels)] + (["--shape=" + ",".join(shapes)] if shapes else []))
    timed = {kernel for seen in times.values() for kernel, _ in seen}
    if missing := sorted(kernel for kernel in built - timed if is_ours(kernel)):
        say(f"not in these logs, or not deterministic: {', '.join(missing)}")


# ---- regret --------------------------------------------------------------------------------------


class Regret(NamedTuple):
    """The facts of one matrix."""
    value: float
    is_known: bool  # the ratio, to 3 %
    chosen: str
    faster: str  # the fastest kernel beside it


def words_of(record):
    """The configuration that multiplied; threads are named if they are not all."""
    unit = unit_of(record)
    return f"{ran_by(unit)} {settings_text(unit)}".rstrip()


def regret_of(auto, others):
    """Regret; None if auto has too few turns beside all others."""
    intervals = [(interval_of([b / a for a, b in rounds_of(auto, other)]), other) for other in others]
    beside = [(1 / interval.value, interval.error <= LIMIT, other) for interval, other in intervals if interval]
    if not beside:
        return None
    value, is_known, faster = max(beside, key=lambda one: one[0])
    return Regret(max(value, 1), is_known, words_of(auto), words_of(faster))


def regrets_of(records):
    """{(machine, precision, state): {matrix: Regret}}, and how many runs of auto had no turns to compare."""
    turns, found, lost = collections.defaultdict(list), collections.defaultdict(dict), 0
    for matrix, state, record in counted(records):
        turns[(machine_of(system_of(record)), *state), matrix, record.get("run_id"), record.get("timing.group")].append(record)
    for (state, matrix, _, _), group in turns.items():
        for auto in (record for record in group if record.get("config.requested") == "auto"):
            regret = regret_of(auto, [record for record in group if record is not auto])
            lost += regret is None
            if regret and (matrix not in found[state] or regret.value > found[state][matrix].value):
                found[state][matrix] = regret
    return found, lost


def table(found):
    """(header, alignment, rows)"""
    listed, rows = outside_list(), []
    for state in sorted(found, key=lambda state: (state[0], state[1] != "f64", state)):
        for half in HALVES + (None,):
            regrets = {matrix: regret for matrix, regret in found[state].items() if half in (listed[matrix].half, None)}
            values = [regret.value for regret in regrets.values()]
            if values:
                beyond = sorted(((regret, matrix) for matrix, regret in regrets.items() if regret.value > FAIR and not half),
                                reverse=True)
                rows.append([*state, half or "both", len(values), f"{mean(values):.3f}",
                             *(percent(sum(value <= bound for value in values), len(values)) for bound in (CLOSE, FAIR)),
                             f"{max(values):.2f}", percent(sum(regret.is_known for regret in regrets.values()), len(values)),
                             ", ".join(f"{regret.value:.2f} {matrix} ({regret.chosen}; {regret.faster})"
                                       for regret, matrix in beyond)])
    return (["machine", "precision", "caches", "half", "matrices", "mean", "up to 1.03", "up to 1.10", "worst",
             "known to 3 %", "above 1.10 (chosen; faster)"], "llllrrrrrrl", rows)


def main(arguments):
    parser = Parser(prog="regret.py", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("logs", nargs="+", metavar="LOG", help="logs of every kernel, or of the stage beside")
    parser.add_argument("--backend", default="cuda", choices=("cuda", "omp"), help="whose kernels to pick (cuda)")
    parser.add_argument("--pick", action="store_true", help="print the kernels to time beside auto")
    parser.add_argument("--most", type=int, default=3, choices=range(1, 10), metavar="N", help="how many of each state and precision (3)")
    parser.add_argument("--states", default="cold,steady", help="of the caches (cold,steady)")
    parser.add_argument("--precisions", default="f64", help="(f64)")
    options = parser.parse_args(arguments)
    records, talk = load(options.logs)
    say(talk)
    if options.pick:
        for given, known in (options.states, STATES), (options.precisions, PRECISIONS):
            if not set(given.split(",")) <= set(known):
                raise Stop(EX_USAGE, f"{given}: some of {','.join(known)}")
        states = [(precision, state) for precision in options.precisions.split(",") for state in options.states.split(",")]
        text = "".join(line + "\n" for line in picked(records, options.backend, states, options.most))
    else:
        found, lost = regrets_of(records)
        if lost:
            say(f"{lost} runs of auto have no turns beside another kernel, or waited for cores")
        header, alignment, rows = table(found)
        text = HEAD + markdown_table(header, alignment, rows) if rows else ""
    if not text:
        raise Stop(EX_DATAERR, "these logs hold nothing of that kind on the outside set")
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(run("regret.py", main, sys.argv[1:]))
