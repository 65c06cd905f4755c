#!/usr/bin/env python3
"""Says whether `auto` chooses kernels of the same speed in several runs of the same matrices.

    python3 tables/auto/stability.py LOG LOG...

Each log is one run. A kernel counts with the least of the medians that it was given in the runs that chose it, so that two
runs that chose the same kernel do not differ. Printed are the matrices where the slowest kernel chosen is more than 3 % slower
than the fastest, and over all matrices the geometric mean of that ratio. A matrix in two precisions, states of the caches or
expected numbers of products counts twice.
"""

import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "report"))
from common import EX_DATAERR, Parser, Stop, load, run, say  # noqa: E402
from units.unit import product_of, system_of  # noqa: E402

CLOSE = 1.03


def choices(path):
    """{what auto was asked: (the kernel that it chose, seconds of a product)} of one log."""
    records, talk = load([path])
    say(f"{path}: {talk}")
    return {(*(record.get(name) for name in ("matrix.name", "config.precision", "config.cache", "config.iters")),
             product_of(system_of(record))):
            (record.get("config.kernel"), record.get("timing.median_s"))
            for record in records
            if (record.get("status"), record.get("config.requested"), record.get("check.status")) == ("ok", "auto", "ok")}


def main(arguments):
    parser = Parser(prog="stability.py", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("logs", nargs="+", metavar="LOG", help="logs of sweeps, one for each run")
    options = parser.parse_args(arguments)
    runs = [choices(path) for path in options.logs]
    ratios = []
    for asked in sorted(set.intersection(*map(set, runs)), key=str):
        least = {}
        for chosen in runs:
            kernel, seconds = chosen[asked]
            least[kernel] = min(seconds, least.get(kernel, math.inf))
        ratios.append(max(least.values()) / min(least.values()))
        if ratios[-1] > CLOSE:
            print(f"{ratios[-1]:.3f} {asked[0]}: " + ", ".join(f"{kernel} {1e6 * least[kernel]:.1f} us" for kernel in least))
    if not ratios:
        raise Stop(EX_DATAERR, "these logs have no matrix in common on which auto was right")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{len(ratios)} matrices, {len(runs)} runs: {sum(ratio <= CLOSE for ratio in ratios)} within 3 %, "
          f"geometric mean {mean:.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(run("stability.py", main, sys.argv[1:]))
