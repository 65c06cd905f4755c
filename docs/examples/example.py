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


def worth(facts, products):
    """Says whether that many products paid for the plan: after how many it took less time than the baseline kernel would
    have, by the times of the trials. Preparation is what this plan took; what a process does once, such as starting the
    GPU, is not in it."""
    prepared_s = sum(facts[part] for part in ("convert_s", "upload_s", "prepare_s", "tune_s"))
    said = f"prepared in {prepared_s * 1e3:.1f} ms, "
    if not facts["timed"]:
        return said + "which no trials compare with another kernel"
    chosen_s, baseline_s = facts["chosen_product_s"], facts["baseline_product_s"]
    saved_s = baseline_s - chosen_s
    if saved_s < 0.03 * baseline_s:
        said += "not paid back: less than 3 % faster than the baseline kernel"
    else:
        would_be = "" if prepared_s <= saved_s * products else "would be "
        said += f"{would_be}paid back after {prepared_s / saved_s:.0f} products"
    return said + f" (in the trials {chosen_s * 1e6:.1f} us, {facts['baseline']} {baseline_s * 1e6:.1f} us)"


def report(A, facts, xp, products, name="A", vectors=1):
    """Returns what a product takes: one of many that Python calls without a wait in between. With its result's memory a
    call takes some microseconds, which is what is seen of shorter products; those of the trials are called from C."""
    x = xp.ones(A.shape[1]) if vectors == 1 else xp.ones((A.shape[1], vectors))
    start, repeats = clock(xp), 50
    for _ in range(repeats):
        A @ x
    each_s = (clock(xp) - start) / repeats
    print(f"{name}: {facts['backend']}:{facts['kernel']}: {products} products of {each_s * 1e6:.1f} us "
          f"when called from Python; {worth(facts, products)}")
