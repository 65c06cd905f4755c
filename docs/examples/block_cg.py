"""block_cg.py: solves A X = B for eight right-hand sides at once by block conjugate gradients (O'Leary 1980), with residuals
that are kept orthonormal (Dubrulle 2001). Every product reads the matrix once for all eight, and fewer iterations are
needed than for one right-hand side. A is the five-point Laplacian of an N x N grid, and B is such that X is known.

    python block_cg.py [N [KERNEL]]

KERNEL "cuda:auto": on a GPU, with CuPy."""
import sys

import numpy as np
import spmv
from cg import laplacian
from example import arrays_of, report

VECTORS, MOST_ITERATIONS = 8, 1000


def solve(A, B, xp, tolerance=1e-10):
    """Returns X and the number of products. The residual is Q C, with Q orthonormal."""
    X = xp.zeros_like(B)
    Q, C = xp.linalg.qr(B)
    limit = tolerance * float(xp.linalg.norm(C, axis=0).max())
    S = Q
    for products in range(MOST_ITERATIONS):
        if float(xp.linalg.norm(C, axis=0).max()) <= limit:
            return X, products
        T = A @ S
        step = xp.linalg.inv(S.T @ T)
        X += S @ (step @ C)
        Q, Z = xp.linalg.qr(Q - T @ step)
        S = Q + S @ Z.T
        C = Z @ C
    return X, MOST_ITERATIONS


def main(n=300, kernel="auto"):
    xp = arrays_of(kernel)
    A = spmv.matrix(laplacian(int(n)))
    facts = A.plan(expected=300, kernel=kernel, vectors=VECTORS)
    right = xp.asarray(np.random.default_rng(1).standard_normal((A.shape[1], VECTORS)))
    X, products = solve(A, A @ right, xp)
    error = float(abs(X - right).max())
    print(f"{A.shape[0]} unknowns, {VECTORS} right-hand sides, {products} iterations, error {error:.1e}")
    report(A, facts, xp, products, vectors=VECTORS)
    return 0 if error < 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
