"""spmv.jax beside JAX's own BCOO and BCSR, each product jitted: on a GPU if JAX has one, else on the CPU. Prints a table of
microseconds, and of each bar the ratio that was measured; exits 1 if one was missed. MATRICES=…: even, hubs and power, or
some of them."""
import functools
import os
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
import spmv.jax
from jax.experimental import sparse

jax.config.update("jax_enable_x64", True)
ON_GPU = jax.default_backend() == "gpu"
ROWS, ROUNDS, SECONDS = int(os.environ.get("ROWS", 1_000_000)), 7, 0.1
MATRICES = os.environ.get("MATRICES", "even hubs power").split()
VECTORS, STEPS = 8, 2000
# What JAX's time is divided by ours: of BCOO and BCSR the faster one, or the one that is named
BARS = {("even", "A @ x", "best"): 1.6, ("power", "A @ x", "best"): 10, ("even", "A @ X", "best"): 6, ("power", "A @ X", "best"): 30,
        ("even", "gradient", "best"): 1.6, ("power", "gradient", "best"): 2} if ON_GPU else \
    {("even", "A @ x", "BCSR"): 5, ("even", "A @ x", "BCOO"): 2, ("power", "A @ x", "BCSR"): 5, ("power", "A @ x", "BCOO"): 2}
CALL_BAR = 3  # us over an empty custom call, in a loop on the CPU


def even(rng):
    columns = np.sort(rng.integers(ROWS, size=(ROWS, 8)), axis=1)
    return scipy.sparse.csr_array((rng.random(8 * ROWS), columns.ravel().astype(np.int32), np.arange(0, 8 * ROWS + 1, 8, np.int32)),
                                  shape=(ROWS, ROWS))


def hubs(rng):
    """Coordinates are cubes of uniform ones: the first row and the first column have about 1 % of the entries."""
    at = (ROWS * rng.random((2, 12 * ROWS)) ** 3).astype(np.int32)
    return scipy.sparse.coo_array((rng.random(12 * ROWS), tuple(at)), shape=(ROWS, ROWS)).tocsr()


def power(rng):
    """Lengths of rows have a Zipf distribution, and a quarter of the columns at most."""
    lengths = np.minimum(rng.zipf(1.95, ROWS), ROWS // 4)
    columns = rng.integers(ROWS, size=lengths.sum(), dtype=np.int32)
    made = scipy.sparse.csr_array((rng.random(len(columns)), columns, np.append(0, np.cumsum(lengths))), shape=(ROWS, ROWS))
    made.sum_duplicates()
    return made


def microseconds(calls):
    """Returns the fastest of several rounds for each call, in microseconds. The calls take turns in a round, in which
    each is repeated."""
    def seconds(call, count):
        start = time.perf_counter()
        for _ in range(count):
            y = call()
        jax.block_until_ready(y)
        return (time.perf_counter() - start) / count
    count = {}
    for kind, call in calls.items():
        seconds(call, 1)  # compiles
        count[kind] = max(1, min(1000, int(SECONDS / seconds(call, 1))))
    rounds = [{kind: seconds(call, count[kind]) for kind, call in calls.items()} for _ in range(ROUNDS)]
    return {kind: 1e6 * min(found[kind] for found in rounds) for kind in calls}


def measure(name, S, rng):
    """JAX's matrices are arguments: as constants they would be compiled in."""
    x, X, w = (jnp.asarray(rng.random(n)) for n in (ROWS, (ROWS, VECTORS), ROWS))
    ours = spmv.jax.matrix(S)
    theirs = {"BCOO": sparse.BCOO.from_scipy_sparse(S), "BCSR": sparse.BCSR.from_scipy_sparse(S)}
    ways = {"A @ x": lambda A, x: A @ x, "A @ X": lambda A, x: A @ x,
            "gradient": jax.grad(lambda A, x: jnp.vdot(w, A @ x), 1)}
    found = {}
    for way, f in ways.items():
        operand = X if way == "A @ X" else x
        run, traced = jax.jit(lambda z: f(ours, z)), jax.jit(f)
        calls = {"spmv": lambda: run(operand), "traced": lambda: traced(ours, operand)}
        right = run(operand)
        for kind, M in theirs.items():
            try:
                if not np.allclose(traced(M, operand), right):
                    sys.exit(f"{name}, {way}: {kind} has other numbers")
                calls[kind] = functools.partial(traced, M, operand)
            except Exception as error:  # JAX's, of a product that it does not have
                print(f"{name}, {way}: {kind}: {str(error)[:100]}")
        us = microseconds(calls)
        found[way] = {kind: us.get(kind, float("inf")) for kind in ("spmv", "traced", *theirs)}
        print(f"{name:6} {S.nnz:9}  {way:9}" + "".join(f"{kind:>8} {us:10.1f}" for kind, us in found[way].items()), flush=True)
    return found


def loop(step, x):
    run = jax.jit(lambda x: jax.lax.fori_loop(0, STEPS, lambda _, x: step(x), x))
    return lambda: run(x)


def measure_calls(rng):
    """Microseconds of a step of a loop: a small product, and an empty custom call."""
    S = scipy.sparse.diags([0.1, 0.5, 0.1], [-1, 0, 1], shape=(64, 64)).tocsr()
    A, x = spmv.jax.matrix(S), jnp.asarray(rng.random(64))
    B = A.with_values(A.values)
    nothing = jax.ffi.ffi_call("spmv_nothing", jax.ShapeDtypeStruct((64,), np.float64))
    us = microseconds({"spmv": loop(lambda x: A @ x, x), "traced": loop(lambda x: B @ x, x), "empty": loop(nothing, x)})
    return [us[kind] / STEPS for kind in ("spmv", "traced", "empty")]


def main():
    rng, missed = np.random.default_rng(1), []

    def bar(text, value, limit, is_met):
        print(f"{'ok    ' if is_met else 'MISSED'} {text}: {value:.2f}, bar {limit}")
        missed.extend([] if is_met else [text])
    print(f"JAX {jax.__version__}, {jax.devices()[0].device_kind}, {os.cpu_count()} processors; us")
    found = {make.__name__: measure(make.__name__, make(rng), rng) for make in (even, hubs, power) if make.__name__ in MATRICES}
    for (name, way, other), limit in BARS.items():
        if name not in found:
            continue
        us = found[name][way]
        value = (min(us["BCOO"], us["BCSR"]) if other == "best" else us[other]) / us["spmv"]
        bar(f"{name}, {way}: JAX's {other} takes times as long", value, limit, value >= limit)
    if not ON_GPU:
        ours, traced, nothing = measure_calls(rng)
        print(f"a step of a loop: spmv {ours:.2f}, traced values {traced:.2f}, empty call {nothing:.2f}")
        bar("us of a call over an empty one", ours - nothing, CALL_BAR, ours - nothing <= CALL_BAR)
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
