"""Random programs of products, writes, views, copies, transposes, conversions and exchanged arrays, under spmv.accelerate: each
product is made twice, once by SciPy alone, and compared. python accelerate_programs.py COUNT [FIRST] runs that many."""
import gc
import sys

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg

import spmv
from spmv import _accelerate

STEPS = 30


class Wrong(AssertionError):
    pass


def by_scipy(product):
    """What SciPy makes of it, while all products are too small for the library."""
    small, _accelerate.plans.small = _accelerate.plans.small, float("inf")
    try:
        return outcome(product)
    finally:
        _accelerate.plans.small = small


def outcome(product):
    try:
        return product(), None
    except Exception as error:
        return None, error


class Seeded:
    """A program of a seed, on two matrices. All numbers have few bits, so that sums are exact in any order."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.matrices = [self.matrix() for _ in range(2)]

    def choose(self, things):
        return things[self.rng.integers(len(things))]

    def numbers(self, shape, dtype=np.float64):
        return self.rng.integers(-8, 9, shape).astype(dtype)


class Program(Seeded):
    """One of a seed, of SciPy's matrices."""

    def __init__(self, seed):
        super().__init__(seed)
        self.kept = []  # arrays that were exchanged, of which some stay

    def matrix(self):
        rows, cols = (int(n) for n in self.rng.integers(1, 40, 2))
        if self.rng.random() < 0.3:
            rows, cols = 2 * rows, 2 * cols
        made = sparse.random(rows, cols, density=self.rng.random() * 0.3, random_state=int(self.rng.integers(2**31))).tocsr()
        made.data = self.numbers(made.nnz, self.choose([np.float64, np.float64, np.float32]))
        kind = self.choose(["csr", "csr", "csc", "coo", "bsr"])
        if kind == "bsr":
            sizes = [(r, c) for r in (1, 2, 3) for c in (1, 2, 4) if rows % r == 0 and cols % c == 0]
            made = made.tobsr(self.choose(sizes))
        return self.choose([sparse.csr_matrix, sparse.csr_array])(made.tocsr()).asformat(kind) if kind != "bsr" else made

    def run(self):
        for _ in range(STEPS):
            A = self.choose(self.matrices)
            if self.rng.random() < 0.5:
                self.multiply(A)
            else:
                step = self.choose(self.STEPS)
                try:
                    step(self, A)
                except Wrong:
                    raise
                except Exception:
                    pass  # not of this format, shape or type
            self.multiply(A)

    # ---- products ----

    def operand(self, *shape):
        dtype = self.choose([np.float64, np.float64, np.float32, np.int64, np.complex128])
        x = self.numbers(shape, dtype)
        form = self.rng.integers(6)
        if form == 0:
            return np.repeat(x, 2, axis=0)[::2]
        if form == 1:
            return np.asfortranarray(x)
        if form == 2:
            x.flags.writeable = False
        if form == 3 and x.ndim == 2:
            return np.concatenate([x, x], axis=1)[:, :shape[1]]
        return x

    def multiply(self, A):
        rows, cols = A.shape
        k = int(self.rng.integers(1, 12))
        x, z, X, Z = self.operand(cols), self.operand(rows), self.operand(cols, k), self.operand(rows, k)
        product = self.choose([
            lambda: A @ x, lambda: A @ x, lambda: A @ X, lambda: A.T @ z, lambda: A.T @ Z, lambda: A.dot(x), lambda: z @ A,
            lambda: Z.T @ A, lambda: A @ x[:, None], lambda: A @ list(x), lambda: A @ np.asmatrix(X), lambda: A.sum(axis=0),
            lambda: A @ x[:-1], lambda: linalg.aslinearoperator(A).rmatvec(z), lambda: linalg.aslinearoperator(A).matmat(X)])
        (y, error), (right, scipys) = outcome(product), by_scipy(product)
        if type(error) is not type(scipys) or str(error) != str(scipys):
            raise Wrong(f"{error!r}, and in SciPy {scipys!r}")
        if error is None and not self.same(y, right):
            raise Wrong(f"{A.format} {A.shape} {A.dtype}: {y}, and in SciPy {right}")

    @staticmethod
    def same(y, right):
        return (type(y) is type(right) and y.shape == right.shape and y.dtype == right.dtype
                and y.flags.c_contiguous == right.flags.c_contiguous and y.flags.writeable == right.flags.writeable
                and np.array_equal(y, right, equal_nan=y.dtype.kind in "fc"))

    # ---- what happens between two products ----

    def write_values(self, A):
        A.data[...] = self.numbers(A.data.shape)

    def write_some(self, A):
        A.data.reshape(-1)[::3] += 1

    def write_through_view(self, A):
        view = A.data.reshape(-1)[1:]
        view *= -1

    def write_nan(self, A):
        A.data.reshape(-1)[self.rng.integers(A.data.size)] = self.choose([np.nan, np.inf, 0])

    def exchange_values(self, A):
        self.kept.append(A.data)
        A.data = self.numbers(A.data.shape, A.data.dtype)

    def other_type(self, A):
        A.data = A.data.astype(self.choose([np.float32, np.float64, np.int32, ">f8"]))

    def reinterpret(self, A):
        """The same bytes, at the same place, are as many numbers of half the width."""
        A.data = np.ones(2 * A.data.size)[:A.data.size].reshape(A.data.shape)
        self.multiply(A)
        flat = A.data.reshape(-1)
        A.data = flat.view(np.float32)[:flat.size].reshape(A.data.shape)

    def write_places(self, A):
        places = A.col if A.format == "coo" else A.indices
        places[...] = places[self.rng.permutation(len(places))]
        A.has_sorted_indices = A.has_canonical_format = False

    def exchange_places(self, A):
        self.kept.append(A.indices)
        A.indices = A.indices[self.rng.permutation(len(A.indices))]
        A.has_sorted_indices = A.has_canonical_format = False

    def write_lines(self, A):
        """Entries go from a row to the next one."""
        inner = A.indptr[1:-1]
        inner[...] = np.sort(self.rng.integers(0, A.indptr[-1] + 1, len(inner)))
        A.has_sorted_indices = A.has_canonical_format = False

    def fewer_entries(self, A):
        A.indptr[...] = np.minimum(A.indptr, self.rng.integers(0, A.indptr[-1] + 1))

    def exchange_all(self, A):
        B = A.copy()
        A.data, A.indices, A.indptr = B.data, B.indices, B.indptr

    def wide_places(self, A):
        A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)

    def with_gaps(self, A):
        A.data = np.repeat(A.data, 2)[::2]

    def read_only(self, A):
        A.data = A.data.copy()
        A.data.flags.writeable = False

    def fewer_lines(self, A):
        """The matrix of the first lines, in the same arrays: addresses and types are equal, and lengths are not."""
        lines = int(self.rng.integers(1, len(A.indptr)))
        shape = (A.shape[0], lines) if A.format == "csc" else (lines * (A.shape[0] // (len(A.indptr) - 1)), A.shape[1])
        self.put(type(A)((A.data, A.indices, A.indptr[:lines + 1]), shape=shape))

    def fewer_of_all(self, A):
        n = int(self.rng.integers(1, A.nnz))
        self.put(type(A)((A.data[:n], (A.row[:n], A.col[:n])), shape=A.shape))

    def more_columns(self, A):
        self.put(type(A)((A.data, A.indices, A.indptr), shape=(A.shape[0], A.shape[1] + A.shape[1] % 3 * 4)))

    def other_blocks(self, A):
        """The same arrays, read as blocks with height and width exchanged."""
        n, tall, wide = A.data.shape
        self.put(type(A)((A.data.reshape(n, wide, tall), A.indices, A.indptr),
                         shape=(wide * (len(A.indptr) - 1), tall * (A.shape[1] // wide))))

    def set_entry(self, A):
        A[self.rng.integers(A.shape[0]), self.rng.integers(A.shape[1])] = 3

    def in_place(self, A):
        self.choose([lambda: A.sum_duplicates(), lambda: A.sort_indices(), lambda: A.eliminate_zeros(), lambda: A.prune(),
                     lambda: A.setdiag(2), lambda: A.resize(max(1, A.shape[0] - 1), A.shape[1] + 1)])()

    def scale(self, A):
        A *= 2

    def copy(self, A):
        self.put(A.copy())

    def alias(self, A):
        self.put(A)

    def share(self, A):
        self.put(type(A)(A))

    def transpose(self, A):
        self.put(A.T)

    def convert(self, A):
        self.put(A.asformat(self.choose(["csr", "csc", "coo", "bsr"])))

    def cut(self, A):
        self.put(A[1:, :-1])

    def add(self, A):
        self.put(A + A)

    def replace(self, A):
        """Frees a matrix, and makes another one, which may get its memory."""
        self.matrices = [B for B in self.matrices if B is not A]
        del A
        self.kept = []
        gc.collect()
        self.put(self.matrix())

    def put(self, A):
        if 0 not in A.shape:
            self.matrices = [*self.matrices[-3:], A]

    STEPS = (write_values, write_some, write_through_view, write_nan, exchange_values, other_type, reinterpret, write_places,
             exchange_places, write_lines, fewer_entries, exchange_all, wide_places, with_gaps, read_only, fewer_lines,
             fewer_of_all, more_columns, other_blocks, set_entry,
             in_place, scale, copy, alias, share, transpose, convert, cut, add, replace)


def run(first, count):
    """The share of the products that the library has which it computed, in percent."""
    before = spmv.stats()
    with spmv.accelerate(threshold=0):
        for seed in range(first, first + count):
            try:
                Program(seed).run()
            except Wrong as wrong:
                raise Wrong(f"program {seed}: {wrong}") from wrong
    after = spmv.stats()
    ran = after["library"] - before["library"]
    refused = after["why"].get("refused", 0) - before["why"].get("refused", 0)
    return ran, 100 * ran / max(ran + refused, 1)


if __name__ == "__main__":
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    ran, share = run(first, count)
    print(f"{count} programs: {ran} products in the library, {share:.1f} % of those that it has; all are SciPy's")
