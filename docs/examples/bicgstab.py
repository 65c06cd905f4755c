"""bicgstab.py: solves A x = b by BiCGStab with Jacobi's preconditioner, the inverse of the diagonal, from the right. A is
convection and diffusion on an N x N grid, which is not symmetric, and b is such that every entry of x is 1.

    python bicgstab.py [N [KERNEL]]

KERNEL "cuda:auto": on a GPU, with CuPy."""
import sys

import numpy as np
import scipy.sparse as sparse
import spmv
from example import arrays_of, report


def convection(n, wind=10):
    wind = wind / n  # wind per distance between grid points
    line = sparse.diags([-(1 + wind) * np.ones(n - 1), 2 * np.ones(n), -(1 - wind) * np.ones(n - 1)], [-1, 0, 1])
    return (sparse.kron(line, sparse.identity(n)) + sparse.kron(sparse.identity(n), line)).tocsr()


def solve(A, b, inverse, xp, tolerance=1e-10, most=2000):
    """Returns x and the number of products. Two sums come with each product."""
    x, r, shadow = xp.zeros_like(b), b.copy(), b
    p, rho = b.copy(), b @ b
    limit = tolerance * xp.linalg.norm(b)
    for iteration in range(most):
        if xp.linalg.norm(r) <= limit:
            return x, 2 * iteration
        p_hat = inverse * p
        v, shadow_v, _ = A.dot(p_hat, w=shadow)
        alpha = rho / shadow_v
        r -= alpha * v
        s_hat = inverse * r
        t, st, tt = A.dot(s_hat, w=r)
        if tt == 0:
            return x + alpha * p_hat, 2 * iteration + 2
        omega = st / tt
        x += alpha * p_hat + omega * s_hat
        r -= omega * t
        last, rho = rho, shadow @ r
        p = r + rho / last * (alpha / omega) * (p - omega * v)
    return x, 2 * most


def main(n=300, kernel="auto"):
    xp = arrays_of(kernel)
    S = convection(int(n))
    A = spmv.matrix(S)
    facts = A.plan(expected=500, kernel=kernel)
    inverse = xp.asarray(1 / S.diagonal())
    x, products = solve(A, A @ xp.ones(A.shape[1]), inverse, xp)
    error = float(abs(x - 1).max())
    print(f"{A.shape[0]} unknowns, {products // 2} iterations, error {error:.1e}")
    report(A, facts, xp, products)
    return 0 if error < 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
