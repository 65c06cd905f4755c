"""example.py: what the examples share: NumPy or CuPy, and what the preparation of a plan was worth."""
import time

import numpy as np


def arrays_of(kernel):
    """NumPy for a kernel on the CPU, CuPy for one on a GPU ("cuda:auto")."""
    if not kernel.startswith("cuda:"):
        return np
    import cupy
    return cupy


def clock(xp):
    """Seconds, when all is done that a GPU was told to do."""
    if xp is not np:
        xp.cuda.get_current_stream().synchronize()
    return time.perf_counter()


def prepare(A, kernel, expected, **more):
    """Makes A's plan; returns its facts, with the time that took."""
    start = time.perf_counter()
    facts = A.plan(expected=expected, kernel=kernel, **more)
    return {**facts, "prepared_s": time.perf_counter() - start}


def report(A, facts, xp, products, name="A"):
    """What a product takes, and after how many products the plan took less than the baseline kernel would have, by the
    times of the trials."""
    x = xp.ones(A.shape[1])
    start, repeats = clock(xp), 50
    for _ in range(repeats):
        A @ x
    each_s = (clock(xp) - start) / repeats
    saved_s = facts["baseline_product_s"] - facts["chosen_product_s"]
    said = "which nothing pays back: no kernel was faster than the baseline"
    if facts["timed"] and saved_s > 0:
        said = (f"paid back after {facts['prepared_s'] / saved_s:.0f} products "
                f"(in the trials {facts['chosen_product_s'] * 1e6:.1f} us, "
                f"{facts['baseline']} {facts['baseline_product_s'] * 1e6:.1f} us)")
    print(f"{name}: {facts['kernel']}: {products} products of {each_s * 1e6:.1f} us; "
          f"prepared in {facts['prepared_s'] * 1e3:.1f} ms, {said}")
