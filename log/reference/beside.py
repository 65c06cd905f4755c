#!/usr/bin/env python3
"""`auto` beside the best of our kernels, timed again in the same turns: what a choice cost, without the noise of other hours.

    python3 log/reference/beside.py LOG... [--backend=omp] [--most=3] [--states=cold,steady] [--precisions=f64] --pick >LIST
    BESIDE=LIST STAGES=beside sh log/reference/sweep.sh SPMV NAME       measures NAME-beside.jsonl
    python3 log/reference/beside.py NAME-beside.jsonl...

With --pick, the logs hold every kernel of ours on the outside set. Printed is a line for each matrix: its name, the kernels that
were the fastest there (so many of each state and precision asked for, deterministic ones that are still built, without parameters but
the shape of blocks), and the option for that shape. Otherwise the logs are of such sweeps: the regret of `auto` is its
time over that of the fastest kernel beside it, by the rounds of their turns (tables/report/units/pairs.py), and at least 1;
printed for each precision, state and half of the outside set are how many matrices, the geometric mean, the share up to 1.03 and 1.10,
the worst, and the matrices beyond 1.10.
"""

import collections
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from replay import FAIR, CLOSE, is_ours, kernels_built, mean  # noqa: E402
from common import EX_DATAERR, Parser, Stop, load, run, say  # noqa: E402  (replay sets the path)
from headline.classes import HALVES, listed_name, outside_list  # noqa: E402
from units.pairs import interval_of, rounds_of  # noqa: E402


def counted(records, backend):
    """(matrix, (precision, state), record) of right results on the outside set."""
    listed = outside_list()
    for record in records:
        if (record.get("status"), record.get("config.backend"), record.get("check.status")) == ("ok", backend, "ok"):
            matrix = listed_name(record.get("matrix.name") or "")
            if matrix in listed:
                yield matrix, (record.get("config.precision"), record.get("config.cache")), record


# ---- which kernels -------------------------------------------------------------------------------


def shape_of(record):
    """Of blocks; None of other kernels."""
    rows, cols = record.get("config.params.shape_rows"), record.get("config.params.shape_cols")
    return f"{rows}x{cols}" if rows else None


def picked(records, backend, states, most):
    """Lines of the matrices, in the order of the outside set."""
    built, times = kernels_built(backend), collections.defaultdict(dict)
    for matrix, state, record in counted(records, backend):
        kernel, seconds = record.get("config.kernel"), record.get("timing.median_s")
        if (state in states and kernel in built and is_ours(kernel) and record.get("config.deterministic") and seconds
                and record.get("config.params.codes") != 0 and record.get("config.requested") != "auto"):
            seen = times[matrix, state]
            seen[kernel, shape_of(record)] = min(seconds, seen.get((kernel, shape_of(record)), seconds))
    for matrix in outside_list():
        best = [pair for state in states for pair in sorted(times[matrix, state], key=times[matrix, state].get)[:most]]
        if best:
            kernels = dict.fromkeys(f"{backend}:{kernel}" for kernel, _ in best)
            shapes = dict.fromkeys(shape for _, shape in best if shape)
            yield " ".join([matrix, ",".join(kernels)] + (["--shape=" + ",".join(shapes)] if shapes else []))


# ---- regret --------------------------------------------------------------------------------------


def regrets_of(records, backend):
    """{(precision, state): {matrix: (regret, what auto chose, what was faster)}}"""
    turns = collections.defaultdict(list)
    for matrix, state, record in counted(records, backend):
        turns[matrix, state, record.get("run_id"), record.get("timing.group")].append(record)
    found = collections.defaultdict(dict)
    for (matrix, state, _, _), group in turns.items():
        for auto in group:
            if auto.get("config.requested") != "auto":
                continue
            ratios = [(1 / interval.value, other["config.kernel"]) for other in group if other is not auto
                      for interval in [interval_of([b / a for a, b in rounds_of(auto, other)])] if interval]
            if ratios:
                regret, other = max(ratios)
                found[state][matrix] = (max(regret, 1), auto["config.kernel"], other)
    return found


def table(found):
    """Its lines."""
    listed = outside_list()
    yield f"{'state':10} {'half':9} {'n':>3} {'mean':>6} {'<=1.03':>7} {'<=1.10':>7} {'worst':>6}"
    for state in sorted(found, key=lambda state: (state[0] != "f64", state)):
        for half in HALVES + ("both",):
            regrets = [regret for matrix, (regret, _, _) in found[state].items() if half in (listed[matrix].half, "both")]
            if regrets:
                shares = [sum(regret <= bound for regret in regrets) / len(regrets) for bound in (CLOSE, FAIR)]
                yield (f"{' '.join(state):10} {half:9} {len(regrets):3} {mean(regrets):6.3f} "
                       + " ".join(f"{100 * share:5.0f} %" for share in shares) + f" {max(regrets):6.2f}")
        for matrix, (regret, chosen, other) in sorted(found[state].items(), key=lambda item: -item[1][0]):
            if regret > FAIR:
                yield f"{'':10} {regret:.2f} {matrix}: {chosen}; {other}"


def main(arguments):
    parser = Parser(prog="beside.py", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("logs", nargs="+", metavar="LOG", help="logs of every kernel, or of the stage beside")
    parser.add_argument("--backend", default="cuda", choices=("cuda", "omp"), help="of which kernels (cuda)")
    parser.add_argument("--pick", action="store_true", help="print the kernels to time beside auto")
    parser.add_argument("--most", type=int, default=3, help="how many of each state and precision (3)")
    parser.add_argument("--states", default="cold,steady", help="of the caches (cold,steady)")
    parser.add_argument("--precisions", default="f64", help="(f64)")
    options = parser.parse_args(arguments)
    records, talk = load(options.logs)
    say(talk)
    if options.pick:
        states = [(precision, state) for precision in options.precisions.split(",") for state in options.states.split(",")]
        lines = list(picked(records, options.backend, states, options.most))
    else:
        lines = list(table(regrets_of(records, options.backend)))
    if len(lines) < 2:
        raise Stop(EX_DATAERR, "these logs hold nothing of that kind on the outside set")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(run("beside.py", main, sys.argv[1:]))
