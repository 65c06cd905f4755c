"""cg.py: solves A x = b by conjugate gradients with Jacobi's preconditioner, the inverse of the diagonal. A is the
five-point Laplacian of an N x N grid, and b is such that every entry of x is 1.

    python cg.py [N [KERNEL]]

KERNEL "cuda:auto": on a GPU, with CuPy."""
import sys

import numpy as np
import scipy.sparse as sparse
import spmv
from example import arrays_of, report


def laplacian(n):
    line = sparse.diags([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1])
    return (sparse.kron(line, sparse.identity(n)) + sparse.kron(sparse.identity(n), line)).tocsr()


def solve(A, b, inverse, xp, tolerance=1e-10, most=2000):
    """Returns x and the number of products."""
    x, r = xp.zeros_like(b), b.copy()
    p, rho = xp.zeros_like(b), 1.0
    limit = tolerance * xp.linalg.norm(b)
    for products in range(most):
        if xp.linalg.norm(r) <= limit:
            return x, products
        z = inverse * r
        last, rho = rho, r @ z
        p = z + rho / last * p
        q = A @ p
        alpha = rho / (p @ q)
        x += alpha * p
        r -= alpha * q
    return x, most


def main(n=300, kernel="auto"):
    xp = arrays_of(kernel)
    S = laplacian(int(n))
    A = spmv.matrix(S)
    facts = A.plan(expected=500, kernel=kernel)
    inverse = xp.asarray(1 / S.diagonal())
    x, products = solve(A, A @ xp.ones(A.shape[1]), inverse, xp)
    error = float(abs(x - 1).max())
    print(f"{A.shape[0]} unknowns, {products} iterations, error {error:.1e}")
    report(A, facts, xp, products)
    return 0 if error < 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
