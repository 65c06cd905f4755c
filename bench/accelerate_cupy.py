"""What spmv.accelerate gains on a GPU: products of CuPy's matrices by CuPy and in the library, and cupyx' conjugate gradients.
They take turns; a time is the least of ROUNDS, until all products of a round are done. Prints a table."""
import time

import cupy
import cupyx.scipy.sparse as sparse
import cupyx.scipy.sparse.linalg as solvers
import scipy.sparse as scipys
import spmv
from python import grid

ROUNDS, CALLS, SECONDS = 5, 200, 0.05
MATRICES = {
    "2-D grid, 60 x 60": lambda: grid(60),
    "2-D grid, 300 x 300": lambda: grid(300),
    "2-D grid, 1,000 x 1,000": lambda: grid(1000),
    "random, 500,000 rows of 20": lambda: scipys.random(500000, 500000, 4e-5, "csr", random_state=0),
    "random, 20,000 rows of 300": lambda: scipys.random(20000, 20000, 0.015, "csr", random_state=0),
}


def seconds(product, calls):
    cupy.cuda.runtime.deviceSynchronize()
    start = time.perf_counter()
    for _ in range(calls):
        product()
    cupy.cuda.runtime.deviceSynchronize()
    return (time.perf_counter() - start) / calls


def compared(product):
    """Seconds of CuPy's and of the accelerated product."""
    found = [float("inf")] * 2
    calls = max(2, min(CALLS, int(SECONDS / (seconds(product, 2) + seconds(product, 2)))))
    for _ in range(ROUNDS):
        for way in False, True:
            spmv.accelerate(way)
            seconds(product, 8)
            found[way] = min(found[way], seconds(product, calls))
    spmv.accelerate(False)
    return found


def main():
    print("| matrix | nonzeros | format | operand | CuPy [us] | accelerated | gain |\n|---|---|---|---|---|---|---|")
    for name, make in MATRICES.items():
        S = sparse.csr_matrix(make())
        n = S.shape[1]
        X = cupy.ones((n, 8))
        for format, what, x in (("csr", "x", X[:, 0].copy()), ("csc", "x", X[:, 0].copy()), ("coo", "x", X[:, 0].copy()),
                                ("csr", "8, C", X), ("csr", "8, F", cupy.asfortranarray(X))):
            A = S.asformat(format)
            own, ours = compared(lambda: A @ x)
            print(f"| {name} | {A.nnz:,} | {format} | {what} | {1e6 * own:.1f} | {1e6 * ours:.1f} | {own / ours:.2f} |", flush=True)
    S = sparse.csr_matrix(grid(300))
    b = cupy.ones(S.shape[0])
    own, ours = compared(lambda: solvers.cg(S, b, maxiter=300))
    print(f"\ncupyx' conjugate gradients, 90,000 rows, 300 steps: {own:.3f} s, {ours:.3f} accelerated: {own / ours:.2f}; {spmv.stats()}")


if __name__ == "__main__":
    main()
