"""What a call of spmv.matrix from Python takes, beside the package's own product: NumPy with SciPy, PyTorch on the host, and on
a GPU CuPy and PyTorch, whichever are here. On a GPU a call only starts the product; its time is the host's. Prints a table."""
import importlib
import time

import numpy as np
import scipy.sparse as sparse
import spmv

ROUNDS, CALLS = 9, 200


def grid(n):
    line = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    return (sparse.kron(line, sparse.identity(n)) + sparse.kron(sparse.identity(n), line)).tocsr()


def microseconds(call, wait):
    """The least of some rounds, of calls one after another: the end of the last is not waited for."""
    least = float("inf")
    call()
    for _ in range(ROUNDS):
        wait()
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        least = min(least, (time.perf_counter() - start) / CALLS)
    wait()
    return 1e6 * least


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
    try:
        cupy = importlib.import_module("cupy")
        own = importlib.import_module("cupyx.scipy.sparse").csr_matrix(S)
        yield "CuPy", own, cupy.ones(shape), cupy.empty(shape), cupy.cuda.runtime.deviceSynchronize
    except ImportError:
        pass


def main():
    print("| operands | nonzeros | vectors | the package's own [us] | spmv | spmv with out |\n|---|---|---|---|---|---|")
    for n, vectors in ((10, 1), (64, 1), (450, 1), (64, 16)):
        S = grid(n)
        for name, own, x, out, wait in packages(S, vectors):
            A = spmv.matrix(S)
            A @ x
            times = [microseconds(call, wait) for call in (lambda: own @ x, lambda: A @ x, lambda: A.dot(x, out=out))]
            print(f"| {name} | {S.nnz:,} | {vectors} | " + " | ".join(f"{t:.1f}" for t in times) + " |", flush=True)


if __name__ == "__main__":
    main()
