"""newton.py: Newton's method for Bratu's problem, -u'' = lambda exp(u) on the unit square, u = 0 on its boundary. Every
step has a Jacobian of new values and of the same pattern: the plan gets the new values instead of being made again.

    python newton.py [N [KERNEL]]

There are N x N unknowns. KERNEL "cuda:auto": on a GPU, with CuPy."""
import sys
import time

import numpy as np
import spmv
from cg import laplacian, solve
from example import arrays_of, report

LAMBDA, MOST_STEPS = 6, 20


def main(n=200, kernel="auto"):
    xp, n = arrays_of(kernel), int(n)
    L, scale = laplacian(n), LAMBDA / (n + 1) ** 2
    diagonal = np.flatnonzero(L.indices == np.repeat(np.arange(n * n), np.diff(L.indptr)))
    u = np.zeros(n * n)
    f = scale * np.exp(u) - L @ u
    first = rest = np.linalg.norm(f)
    J = spmv.matrix(L.copy())
    facts = J.plan(expected=1000, kernel=kernel, refill=True)
    steps, products, refill_s = 0, 0, 0.0
    while rest > 1e-10 * first and steps < MOST_STEPS:
        start = time.perf_counter()
        J.values[diagonal] = 4 - scale * np.exp(u)
        refill_s += time.perf_counter() - start
        inverse = xp.asarray(1 / (4 - scale * np.exp(u)))
        d, more = solve(J, xp.asarray(f), inverse, xp, tolerance=1e-6)
        u += d if xp is np else d.get()
        f = scale * np.exp(u) - L @ u
        rest, steps, products = np.linalg.norm(f), steps + 1, products + more
    print(f"{n * n} unknowns, {steps} Newton steps, residual {rest / first:.1e} of the first, "
          f"new values in {refill_s / steps * 1e3:.2f} ms")
    report(J, facts, xp, products, "J")
    return 0 if rest <= 1e-10 * first else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
