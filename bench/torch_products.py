"""spmv.torch beside PyTorch's own sparse products and PyG's: on a GPU if PyTorch has one, else on the CPU. Prints a table of
microseconds, and of each bar the ratio that was measured; exits 1 if one was missed. MATRICES=…: even and hubs, or one of them;
NODES=…, ROWS=…; PARTS=…: products, gcn, compiled, calls and results, or some of them."""
import os
import sys
import time

import numpy as np
import scipy.sparse
import spmv.torch
import torch

ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
ROWS, NODES = (int(os.environ.get(name, 1_000_000 if ON_GPU else 100_000)) for name in ("ROWS", "NODES"))
MATRICES = os.environ.get("MATRICES", "even hubs").split()
PARTS = os.environ.get("PARTS", "products gcn compiled calls results").split()
ROUNDS, SECONDS, VECTORS, DEGREE = 7, 0.1, 8, 16
missed = []
# PyTorch's time divided by ours, on a GPU
BARS = {("even", "A.t() @ x"): 15, ("hubs", "A.t() @ x"): 60, ("even", "A @ X"): 5, ("hubs", "A @ X"): 5}
GCN_BARS = {"scatter": 8, "torch.sparse": 4}
CALL_BARS = {"A @ x": 8, "out": 6}  # us of host time
RESULT_BAR, COMPILED_BAR = 1.3, 1.05


def bar(text, value, limit, is_least, holds=True):
    """holds: False where the bar is of another device: the value is printed alone."""
    is_met = value >= limit if is_least else value <= limit
    if holds and not is_met:
        missed.append(text)
    print(f"{'      ' if not holds else 'ok    ' if is_met else 'MISSED'} {text}: {value:.2f}, bar {'>=' if is_least else '<='} {limit}")


def even(rng):
    columns = np.sort(rng.integers(ROWS, size=(ROWS, 8)), axis=1)
    return scipy.sparse.csr_array((rng.random(8 * ROWS), columns.ravel().astype(np.int32), np.arange(0, 8 * ROWS + 1, 8, np.int32)),
                                  shape=(ROWS, ROWS))


def hubs(rng):
    """Coordinates are cubes of uniform ones: the first row and the first column have about 1 % of the entries."""
    at = (ROWS * rng.random((2, 12 * ROWS)) ** 3).astype(np.int32)
    return scipy.sparse.coo_array((rng.random(12 * ROWS), tuple(at)), shape=(ROWS, ROWS)).tocsr()


def wait():
    if ON_GPU:
        torch.cuda.synchronize()


def microseconds(calls):
    """Returns the fastest of several rounds for each call, in microseconds. The calls take turns in a round, in which
    each is repeated."""
    def seconds(call, count):
        wait()
        start = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        return (time.perf_counter() - start) / count
    count = {}
    for kind, call in calls.items():
        seconds(call, 2)  # plans, compiles
        count[kind] = max(1, min(1000, int(SECONDS / seconds(call, 1))))
    rounds = [{kind: seconds(call, count[kind]) for kind, call in calls.items()} for _ in range(ROUNDS)]
    return {kind: 1e6 * min(found[kind] for found in rounds) for kind in calls}


def row(name, us):
    print(f"{name:28}" + "".join(f"{kind:>14} {each:10.1f}" for kind, each in us.items()), flush=True)


def products(name, S, rng):
    T = torch.sparse_csr_tensor(*(torch.from_numpy(a) for a in (S.indptr, S.indices, S.data)), S.shape).to(DEVICE)
    A = spmv.torch.matrix(T, expected=2000)
    x, X = (torch.from_numpy(rng.random(n)).to(DEVICE) for n in (ROWS, (ROWS, VECTORS)))
    F = X.t().contiguous().t()
    B = A.with_values(T.values().clone())
    for way, theirs, ours, traced in (("A @ x", lambda: T @ x, lambda: A @ x, lambda: B @ x),
                                      ("A.t() @ x", lambda: T.t() @ x, lambda: A.T @ x, lambda: B.T @ x),
                                      ("A @ X", lambda: T @ X, lambda: A @ X, lambda: B @ X),
                                      ("A @ X by columns", lambda: T @ F, lambda: A @ F, lambda: B @ F)):
        if not torch.allclose(theirs(), ours()) or not torch.allclose(ours(), traced()):
            sys.exit(f"{name}, {way}: other numbers")
        us = microseconds({"spmv": ours, "new values": traced, "PyTorch": theirs})
        row(f"{name}, {way}", us)
        if (name, way) in BARS:
            bar(f"{name}, {way}: PyTorch takes times as long", us["PyTorch"] / us["spmv"], BARS[name, way], True, ON_GPU)


def gcn(features, rng):
    """A graph convolution, relu(A X W), forward and backward, as PyG's GCNConv makes it of edges, and of a sparse tensor."""
    at = torch.from_numpy(rng.integers(NODES, size=(2, DEGREE * NODES))).to(DEVICE)
    weight = 1 / DEGREE + torch.zeros(at.shape[1], device=DEVICE)
    T = torch.sparse_coo_tensor(at.flip(0), weight, (NODES, NODES)).coalesce().to_sparse_csr()
    A = spmv.torch.matrix(T, expected=2000)
    X = torch.randn(NODES, features, device=DEVICE)
    W = torch.randn(features, features, device=DEVICE, requires_grad=True)
    H = X.clone().requires_grad_()
    ways = {"spmv": lambda Z: A @ Z, "torch.sparse": lambda Z: T @ Z}
    try:
        from torch_geometric.nn import MessagePassing

        class Convolution(MessagePassing):
            def forward(self, Z):
                return self.propagate(at, x=Z, weight=weight)

            def message(self, x_j, weight):
                return weight[:, None] * x_j
        ways["scatter"] = Convolution(aggr="add").to(DEVICE)
    except ImportError:
        print("PyG is not installed: no scatter")

    def step(product):
        H.grad = W.grad = None
        torch.relu(product(H @ W)).sum().backward()
        return H.grad
    right = ways["spmv"](X)
    for kind, product in ways.items():
        if not torch.allclose(product(X), right, rtol=1e-3, atol=1e-4):
            sys.exit(f"graph convolution: {kind} has other numbers")
    us = microseconds({kind: lambda product=product: step(product) for kind, product in ways.items()})
    row(f"convolution, {features} features", us)
    for kind, limit in GCN_BARS.items():
        if kind in us:
            bar(f"convolution, {features} features: {kind} takes times as long", us[kind] / us["spmv"], limit, True, ON_GPU)
    alone = microseconds({kind: lambda product=product: product(H.detach()) for kind, product in ways.items()})
    row("  its product, forward", alone)


def compiled(rng):
    A, x = spmv.torch.matrix(even(rng), expected=2000).to(DEVICE), torch.rand(ROWS, dtype=torch.float64, device=DEVICE)
    run = torch.compile(lambda x: A.dot(x), fullgraph=True)
    us = microseconds({"eager": lambda: A.dot(x), "compiled": lambda: run(x)})
    row("A.dot(x)", us)
    bar("compiled over eager", us["compiled"] / us["eager"], COMPILED_BAR, False, ON_GPU)


def calls():
    """Host time of a product that is over at once."""
    S = scipy.sparse.diags([0.1, 0.5, 0.1], [-1, 0, 1], shape=(64, 64)).tocsr()
    x = torch.rand(64, dtype=torch.float64, device=DEVICE)
    A, M = spmv.torch.matrix(S).to(DEVICE), spmv.matrix(S)
    y, z = A @ x, M @ x.cpu().numpy()
    n = x.cpu().numpy()
    us = microseconds({"A @ x": lambda: A @ x, "out": lambda: A.dot(x, out=y), "spmv.matrix": lambda: M @ x, "its out": lambda: M.dot(x, out=y),
                       "NumPy": lambda: M @ n, "NumPy, out": lambda: M.dot(n, out=z), "PyTorch": lambda T=A.to_sparse(): T @ x})
    row("a call", us)
    for kind, limit in CALL_BARS.items():
        bar(f"us of a call, {kind}", us[kind], limit, False)


def results(rng):
    """Loops with and without out, on the CPU, whose results are of 128 MB with all rows."""
    S, X = even(rng), rng.random((ROWS, 16))
    A, Z = spmv.matrix(S), torch.from_numpy(X)
    B = spmv.torch.matrix(S, expected=2000)
    Y, T = np.empty((ROWS, 16)), torch.empty(ROWS, 16, dtype=torch.float64)
    for name, alone, into in (("NumPy", lambda: A @ X, lambda: A.dot(X, out=Y)), ("PyTorch", lambda: B @ Z, lambda: B.dot(Z, out=T))):
        us = microseconds({"result": alone, "out": into})
        spmv.keep_results(0)
        us |= microseconds({"fresh memory": alone})
        spmv.keep_results(1 << 30)
        row(f"A @ X (16), {name}", us)
        bar(f"{name}: a result over out", us["result"] / us["out"], RESULT_BAR, False)


def main():
    rng = np.random.default_rng(1)
    name = torch.cuda.get_device_name() if ON_GPU else f"{os.cpu_count()} processors"
    print(f"PyTorch {torch.__version__}, {name}; us; {ROWS} rows, {NODES} nodes")
    if "products" in PARTS:
        for make in even, hubs:
            if make.__name__ in MATRICES:
                products(make.__name__, make(rng), rng)
    if "gcn" in PARTS:
        gcn(16, rng)
        gcn(64, rng)
    if "compiled" in PARTS:
        compiled(rng)
    if "calls" in PARTS:
        calls()
    if "results" in PARTS:
        results(rng)
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
