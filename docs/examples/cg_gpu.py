"""cg_gpu.py: solves A x = b on a GPU by conjugate gradients, with CuPy: scalars stay there, p'Ap comes with the product,
and ten iterations are a CUDA graph, after which the host looks at the residual. A is the five-point Laplacian of an N x N
grid, and b is such that every entry of x is 1.

    python cg_gpu.py [N]"""
import sys

import cupy
import spmv
from cg import laplacian
from example import report

AT_ONCE = 10  # iterations of the graph

update_x_r = cupy.ElementwiseKernel("T p, T q, raw T rho, raw T pq", "T x, T r",
                                    "const T alpha = rho[0] / pq[0]; x += alpha * p; r -= alpha * q", "update_x_r")
update_p = cupy.ElementwiseKernel("T r, raw T rr, raw T rho", "T p", "p = r + rr[0] / rho[0] * p", "update_p")


def iterate(A, x, r, p, q, rho):
    """One iteration; returns what it allocated, which must live as long as a graph of it. Behind an exact solution nothing is a
    number: the caller keeps the last x that is."""
    _, pq, qq = A.dot(p, out=q, w=p)
    update_x_r(p, q, rho, pq, x, r)
    rr = r @ r
    update_p(r, rr, rho, p)
    rho[...] = rr
    return pq, qq, rr


def solve(A, b, tolerance=1e-10, most=2000):
    """Returns x, the number of products and |r| / |b|."""
    x, q = cupy.zeros_like(b), cupy.empty_like(b)
    r, p, rho = b.copy(), b.copy(), b @ b
    limit = tolerance**2 * float(rho)
    if limit == 0:
        return x, 0, 0.0
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.get_current_stream().synchronize()
    with stream:
        kept = [iterate(A, x, r, p, q, rho)]  # the first of a plan allocates
        stream.begin_capture()
        kept += [iterate(A, x, r, p, q, rho) for _ in range(AT_ONCE)]
        graph = stream.end_capture()
        products = 1
        while (now := float(rho)) > limit and products < most:
            before = x.copy()
            graph.launch(stream)
            products += AT_ONCE
        stream.synchronize()
    if not now <= limit and products > 1:
        x = before
    return x, products, float(cupy.linalg.norm(b - A @ x) / cupy.linalg.norm(b))


def main(n=300):
    S = laplacian(int(n))
    A = spmv.matrix(S)
    facts = A.plan(expected=500, kernel="cuda:auto")
    x, products, _ = solve(A, A @ cupy.ones(A.shape[1]))
    error = float(abs(x - 1).max())
    print(f"{A.shape[0]} unknowns, {products} iterations, error {error:.1e}")
    report(A, facts, cupy, products)
    return 0 if error < 1e-6 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
