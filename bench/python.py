"""What a call of spmv.matrix from Python takes, beside the package's own product: NumPy with SciPy, PyTorch on the host, and on
a GPU CuPy and PyTorch, whichever are here. On a GPU a call only starts the product: of small matrices its time is the host's,
of large ones that until all are done. Prints a table, conjugate gradients of cupyx, and the bars of a GPU that were missed."""
import importlib.util
import time

import numpy as np
import scipy.sparse as sparse
import spmv

ROUNDS, CALLS, SECONDS = 9, 200, 0.1
LARGE = 1_000_000  # nonzeros
BARS = 12, 8  # us on a GPU: of a call, and of one with out


def grid(n):
    line = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    return (sparse.kron(line, sparse.identity(n)) + sparse.kron(sparse.identity(n), line)).tocsr()


def microseconds(call, wait, is_large):
    """The least of some rounds, of calls one after another; of large matrices until the last has ended."""
    least = float("inf")
    call()
    wait()
    start = time.perf_counter()
    call()
    wait()
    calls = max(3, min(CALLS, int(SECONDS / (time.perf_counter() - start))))
    for _ in range(ROUNDS):
        wait()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        if is_large:
            wait()
        least = min(least, (time.perf_counter() - start) / calls)
    wait()
    return 1e6 * least


def has_cupy():
    return importlib.util.find_spec("cupy") is not None and importlib.import_module("cupy").cuda.is_available()


def packages(S, vectors):
    """(name, what multiplies by the package, operand, place for the product, what waits for the GPU) of each that is here."""
    shape = (S.shape[1],) if vectors == 1 else (S.shape[1], vectors)
    yield "NumPy", S, np.ones(shape), np.empty(shape), lambda: None
    try:
        torch = importlib.import_module("torch")
        for device in ["cpu"] + ["cuda"] * torch.cuda.is_available():
            own = torch.sparse_csr_tensor(*map(torch.as_tensor, (S.indptr, S.indices, S.data)), S.shape).to(device)
            x = torch.ones(shape, dtype=torch.float64, device=device)
            yield f"PyTorch, {device}", own, x, torch.empty_like(x), torch.cuda.synchronize if device == "cuda" else lambda: None
    except ImportError:
        pass
    if has_cupy():
        import cupy
        own = importlib.import_module("cupyx.scipy.sparse").csr_matrix(S)
        yield "CuPy", own, cupy.ones(shape), cupy.empty(shape), cupy.cuda.runtime.deviceSynchronize


def missed(name, S, vectors, times):
    """Bars of a GPU that these times miss."""
    own, ours, with_out = times
    if vectors == 1 and S.nnz < LARGE:
        for what, time, bar in ("a call", ours, BARS[0]), ("a call with out", with_out, BARS[1]):
            if time > bar:
                yield f"{name}, {S.nnz:,} nonzeros: {what} takes {time:.1f} us, not {bar}"
    if ours > own:
        yield f"{name}, {S.nnz:,} nonzeros, {vectors} vectors: {ours:.1f} us, and {own:.1f} of the package's own"


def conjugate_gradients():
    """Seconds of cupyx' solver on 90,000 rows: with CuPy's matrix, and with ours."""
    cupy = importlib.import_module("cupy")
    solvers = importlib.import_module("cupyx.scipy.sparse.linalg")
    own = importlib.import_module("cupyx.scipy.sparse").csr_matrix(grid(300))
    b, A, found = cupy.ones(own.shape[0]), spmv.matrix(own), []
    for matrix in own, A:
        found.append(min(microseconds(lambda: solvers.cg(matrix, b, maxiter=500), cupy.cuda.runtime.deviceSynchronize, True)
                         for _ in range(2)) / 1e6)
    return found


def main():
    print("| operands | nonzeros | vectors | the package's own [us] | spmv | spmv with out |\n|---|---|---|---|---|---|")
    told = []
    for n, vectors in ((10, 1), (64, 1), (450, 1), (1000, 1), (64, 16), (1000, 16)):
        S = grid(n)
        for name, own, x, out, wait in packages(S, vectors):
            A = spmv.matrix(S)
            A @ x
            times = [microseconds(call, wait, S.nnz >= LARGE)
                     for call in (lambda: own @ x, lambda: A @ x, lambda: A.dot(x, out=out))]
            print(f"| {name} | {S.nnz:,} | {vectors} | " + " | ".join(f"{t:.1f}" for t in times) + " |", flush=True)
            if name in ("CuPy", "PyTorch, cuda"):
                told += missed(name, S, vectors, times)
    if has_cupy():
        own, ours = conjugate_gradients()
        print(f"\ncupyx' conjugate gradients, 90,000 rows: {own:.3f} s, with spmv.matrix {ours:.3f} s, {own / ours:.2f} times as fast")
        told += ["conjugate gradients gain less than 1.2"] * (own < 1.2 * ours)
    for each in told:
        print("missed:", each)


if __name__ == "__main__":
    main()
