"""multigrid.py: solves A x = b by cycles of multigrid: a hierarchy of small matrices, each with a plan, and products by the
transposes of the interpolations. A is the five-point Laplacian of an N x N grid, N one less than a power of two; coarser
ones are P' A P, and b is such that every entry of x is 1.

    python multigrid.py [N [KERNEL]]

KERNEL "cuda:auto": on a GPU, with CuPy."""
import sys

import scipy.sparse as sparse
import spmv
from cg import laplacian
from example import arrays_of, report


def interpolation(n):
    """From every second point of n x n to all."""
    coarse = (n - 1) // 2
    line = sparse.lil_matrix((n, coarse))
    for j in range(coarse):
        line[2 * j, j], line[2 * j + 1, j], line[2 * j + 2, j] = 0.5, 1, 0.5
    return sparse.kron(line, line).tocsr()


class Level:
    def __init__(self, S, P, kernel, xp):
        self.A, self.damped = spmv.matrix(S), xp.asarray(0.8 / S.diagonal())
        self.facts = self.A.plan(expected=100, kernel=kernel)
        self.P = None if P is None else spmv.matrix(P)
        if P is not None:
            self.P.plan(expected=20, kernel=kernel)
            self.P.T.plan(expected=20, kernel=kernel)


def hierarchy(n, kernel, xp):
    levels, S = [], laplacian(n)
    while n > 1:
        P = interpolation(n)
        levels.append(Level(S, P, kernel, xp))
        S, n = (P.T @ S @ P).tocsr(), (n - 1) // 2
    return [*levels, Level(S, None, kernel, xp)]


def cycle(levels, b, x, smoothings=2):
    level, *coarser = levels
    if not coarser:
        return b / level.A.diagonal()[0]
    for _ in range(smoothings):
        x = x + level.damped * (b - level.A @ x)
    weighed = level.P.T @ (b - level.A @ x)
    x = x + level.P @ cycle(coarser, weighed, 0 * weighed)
    for _ in range(smoothings):
        x = x + level.damped * (b - level.A @ x)
    return x


def main(n=255, kernel="auto"):
    xp = arrays_of(kernel)
    levels = hierarchy(int(n), kernel, xp)
    A, cycles = levels[0].A, 0
    b = A @ xp.ones(A.shape[1])
    x = 0 * b
    while float(xp.linalg.norm(b - A @ x)) > 1e-10 * float(xp.linalg.norm(b)) and cycles < 100:
        x = cycle(levels, b, x)
        cycles += 1
    error = float(abs(x - 1).max())
    print(f"{A.shape[0]} unknowns, {len(levels)} levels, {cycles} cycles, error {error:.1e}")
    report(A, levels[0].facts, xp, 6 * cycles + 1)
    return 0 if error < 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
