"""What spmv.accelerate costs and gains on this CPU: scripts of few products, many products beside a plan by hand of the same
arrays, and one and eight vectors. SciPy, accelerated and by hand take turns; a time is the least of ROUNDS. Prints tables."""
import sys
import time

import numpy as np
import scipy
import scipy.sparse as sparse
import spmv
from spmv import _accelerate

ROUNDS, SECONDS = 7, 0.3  # for each time
rng = np.random.default_rng(0)


def laplacian(n):
    return sparse.diags_array([1.0, 1, -4, 1, 1], offsets=[-n, -1, 0, 1, n], shape=(n * n, n * n), format="csr")


MATRICES = {
    "2-D grid, 10 x 10": lambda: laplacian(10),
    "2-D grid, 60 x 60": lambda: laplacian(60),
    "2-D grid, 200 x 200": lambda: laplacian(200),
    "random, 2,000 rows of 40": lambda: sparse.random_array((2000, 2000), density=0.02, format="csr", rng=rng),
    "2-D grid, 1,000 x 1,000": lambda: laplacian(1000),
    "random, 500,000 rows of 20": lambda: sparse.random_array((500000, 500000), density=4e-5, format="csr", rng=rng),
    "random, 20,000 rows of 300": lambda: sparse.random_array((20000, 20000), density=0.015, format="csr", rng=rng),
}


def seconds(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def least(ways, times=1):
    """The least seconds of each way, per product; ways take turns, and each is tried several times in a row."""
    found = dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):
        for name, (prepare, run) in ways.items():
            ready = prepare()
            found[name] = min(found[name], seconds(lambda: run(ready)) / times)
    spmv.accelerate(False)
    return found


def scripts(A, x):
    """A script makes its matrix anew, and multiplies a few times: SciPy's seconds, and ours by SciPy's."""
    def script(count, accelerated):
        def prepare():
            spmv.accelerate(accelerated)
            return A.copy()

        def run(own):
            for _ in range(count):
                own @ x
        return prepare, run
    row = []
    for count in 1, 3, 10, 30:
        found = least({on: script(count, on) for on in (False, True)})
        row.append(found[True] / found[False])
    return row


def steady(A, x, by_hand=None):
    """Seconds of a product of many: SciPy's, accelerated, by hand."""
    times = max(3, min(1000, int(SECONDS / ROUNDS / seconds(lambda: A @ x))))

    entries = A.nnz * x.size // len(x)
    warm_up = 2 + _accelerate.THRESHOLD // entries if entries >= _accelerate.SMALL else 1

    def many(of, accelerated):
        def prepare():
            spmv.accelerate(accelerated)
            for _ in range(warm_up):
                of @ x

        def run(_):
            for _ in range(times):
                of @ x
        return prepare, run
    ways = {"scipy": many(A, False), "accelerated": many(A, True)}
    if by_hand is not None:
        ways["by hand"] = many(by_hand, False)
    return least(ways, times)


def main(few):
    print("| matrix | nonzeros | scripts of 1 | 3 | 10 | 30 products: by SciPy's time |\n|---|---|---|---|---|---|")
    made = {}
    for name, make in list(MATRICES.items())[:3 if few else None]:
        made[name] = A = make().tocsr()
        ratios = scripts(A, np.ones(A.shape[1]))
        print(f"| {name} | {A.nnz:,} | " + " | ".join(f"{r:.2f}" for r in ratios) + " |", flush=True)
    print("\n| matrix | SciPy [µs] | accelerated | by hand | A @ x | share of by hand | A.T @ x | 8 vectors, C | F |\n"
          "|---|---|---|---|---|---|---|---|---|")
    for name, A in made.items():
        x, X = np.ones(A.shape[1]), np.ones((A.shape[1], 8))
        by_hand = spmv.matrix(A)
        by_hand.plan(kernel="csr_balanced")
        one, turned = steady(A, x, by_hand), steady(A.T, x)
        c, f = steady(A, X), steady(A, np.asfortranarray(X))
        gains = [f"{t['scipy'] / t['accelerated']:.2f}" for t in (one, turned, c, f)]
        print(f"| {name} | {1e6 * one['scipy']:.1f} | {1e6 * one['accelerated']:.1f} | {1e6 * one['by hand']:.1f} | {gains[0]} | "
              f"{one['by hand'] / one['accelerated']:.2f} | {' | '.join(gains[1:])} |", flush=True)
    print(f"\nNumPy {np.__version__}, SciPy {scipy.__version__}; {spmv.stats()}")


if __name__ == "__main__":
    main("--few" in sys.argv)
