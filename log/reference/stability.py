#!/usr/bin/env python3
"""stability.py: whether "auto" chooses kernels of the same speed in several runs of the same matrices.

    python3 log/reference/stability.py LOG LOG...

Each log is one run. A kernel counts with the least of the medians that it was given in the runs that chose it, so that two
runs that chose the same kernel do not differ. Printed are the matrices where the slowest kernel chosen is more than 3 % slower
than the fastest, and over all matrices the geometric mean of that ratio.
"""

import json
import lzma
import math
import sys


def choices(path):
    """Matrix to (kernel, median in seconds) of the records of auto in one log."""
    with (lzma.open if path.endswith(".xz") else open)(path, "rt") as log:
        records = [json.loads(line) for line in log]
    return {
        r["matrix"]["name"]: (r["config"]["kernel"], r["timing"]["median_s"])
        for r in records
        if r["status"] == "ok" and r["config"]["requested"] == "auto"
    }


def main():
    runs = [choices(path) for path in sys.argv[1:]]
    if len(runs) < 2:
        sys.exit(__doc__)
    ratios = {}
    for matrix in sorted(set.intersection(*map(set, runs))):
        least = {}
        for run in runs:
            kernel, seconds = run[matrix]
            least[kernel] = min(seconds, least.get(kernel, math.inf))
        ratios[matrix] = max(least.values()) / min(least.values())
        if ratios[matrix] > 1.03:
            print(f"{ratios[matrix]:.3f} {matrix}: " + ", ".join(f"{kernel} {1e6 * least[kernel]:.1f} us" for kernel in least))
    if not ratios:
        sys.exit("stability.py: no matrix is in all logs")
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    within = sum(ratio <= 1.03 for ratio in ratios.values())
    print(f"{len(ratios)} matrices, {len(runs)} runs: {within} within 3 %, geometric mean {mean:.4f}")


if __name__ == "__main__":
    main()
