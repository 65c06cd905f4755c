"""pdhg.py: a transport problem, solved as a linear program by the primal-dual hybrid gradient method (PDHG): G factories
supply G markets at the least cost. It multiplies with A and its transpose: minimise c'x where A x = b and x >= 0, with
x[G i + j] what factory i sends to market j.

    python pdhg.py [G [KERNEL]]

Costs are made from a solution, so that the least cost is known. KERNEL "cuda:auto": on a GPU, with CuPy."""
import sys

import numpy as np
import scipy.sparse as sparse
import spmv
from example import arrays_of, report

MOST_ROUNDS, STEPS = 50, 200  # a round starts from the averages of the last one


def transport(g):
    """A, b, c and the least cost."""
    each, all_of = sparse.identity(g), np.ones((1, g))
    A = sparse.vstack([sparse.kron(each, all_of), sparse.kron(all_of, each)]).tocsr()
    i, j = np.divmod(np.arange(g * g), g)
    used = ((i + j) % g < 3) | (i == j)
    amount = np.where(used, 1 + (i + 2 * j) % 4, 0)
    c = 2 + np.sin(i) + np.cos(j) + np.where(used, 0, ((7 * i + 3 * j) % 5 + 1) / 5)
    return A, A @ amount, c, c @ amount


def main(g=100, kernel="auto"):
    xp, g = arrays_of(kernel), int(g)
    S, b, c, least = transport(g)
    A = spmv.matrix(S)
    At = A.T
    facts, facts_t = A.plan(expected=2000, kernel=kernel), At.plan(expected=2000, kernel=kernel)
    b, c = xp.asarray(b), xp.asarray(c)
    x, y, step, products, error = xp.zeros(g * g), xp.zeros(2 * g), (2 * g) ** -0.5, 0, 1.0  # the norm of A is 1 / step
    for _ in range(MOST_ROUNDS):
        sum_x, sum_y = xp.zeros_like(x), xp.zeros_like(y)
        for _ in range(STEPS):
            last, x = x, xp.maximum(0, x - step * (c - At @ y))
            y = y + step * (b - A @ (2 * x - last))
            sum_x += x
            sum_y += y
            products += 1
        x, y = sum_x / STEPS, sum_y / STEPS
        cost = float(c @ x)
        error = max(float(xp.linalg.norm(A @ x - b) / xp.linalg.norm(b)), abs(cost - float(b @ y)) / cost)
        if error <= 1e-6:
            break
    print(f"{g * g} variables, {products} steps, error {error:.1e}, cost {cost:.6f} for {least:.6f}")
    report(A, facts, xp, products)
    report(At, facts_t, xp, products, "A'")
    return 0 if abs(cost - least) < 1e-4 * least else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
