"""spmv.matrix: a sparse matrix whose products the library computes."""

import numpy as np
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from . import _accelerate, _locks, _operands, _short
from ._entries import Entries, is_sparse
from ._file import is_file, read
from ._library import lib
from ._plan import PRECISIONS, check_name
from ._results import LEAST, empty, kept
from ._short import ways
from ._sparse import Sparse, class_of, complete, defers, derived, without


FEW = LEAST // 8  # numbers of a result that is small in any type


class Counts:
    """Counts products in the library and in SciPy. A product with several columns counts once."""

    def __init__(self):
        _locks.give(self)
        self.library = self.scipy = 0

    def add(self, library=0, scipy=0):
        with self.lock:
            self.library += library
            self.scipy += scipy


counts = Counts()


def stats():
    """Numbers of products of this process: {"library": by the library, "scipy": by SciPy, for spmv.matrix and under
    spmv.accelerate, "why": {reason: number by SciPy} under spmv.accelerate, "reused": results in memory of earlier results}."""
    ran, why = _accelerate.told()
    return {"library": counts.library + ran, "scipy": counts.scipy + sum(why.values()), "why": why, "reused": kept.reused}


class Values:
    """The values of a matrix, as an array that accepts assignments."""

    def __init__(self, entries):
        self._entries = entries

    def __getitem__(self, key):
        return self._entries.own.data[key].copy()

    def __setitem__(self, key, new):
        self._entries.set_values(key, new)

    def __len__(self):
        return len(self._entries.own.data)

    def __array__(self, dtype=None, copy=None):
        return np.array(self._entries.on_host().data, dtype)


def is_vector(y, length, dtype):
    return type(y) is np.ndarray and y.shape == (length,) and y.dtype == dtype and y.flags.carray


def is_scalar(x):
    """Returns whether NumPy treats x as a scalar. A memoryview is none, although np.isscalar says so."""
    return np.isscalar(x) and not isinstance(x, memoryview)


def vector_of(x, dtype):
    """Returns x flattened, contiguous and in this type."""
    return np.require(x.reshape(-1), dtype, "CAW")


@complete
class matrix(Sparse):
    """A sparse matrix A for products A @ x, A @ X, A.T @ x, A.T @ X and x @ A.

    source: the name of a file ("FILE", or "FILE:NAME" for one of several matrices), a sparse matrix of SciPy or CuPy, or
    (data, indices, indptr) of compressed rows with indices from 0, with its shape. The library computes products in f64 and
    f32; SciPy computes products in other types and with complex operands, and stats() counts these. The library borrows
    contiguous values in f64 (on a GPU also f32) and 32-bit indices of compressed rows or columns whose indices ascend,
    without duplicates and stored zeros: do not change these two arrays while the matrix is in use, but set A.values. All
    other arrays are copied when the matrix is created, and may be changed afterwards. The source may also get other arrays
    or another shape. New values are copied when they are set.
    if nothing is to be converted; the result is one of the same kind, and lies as X does. The columns of X are multiplied
    x is a NumPy array, a CuPy array or a PyTorch tensor. Nothing is converted if x has A's type and is contiguous, and X has
    contiguous rows or columns; the result has the same kind and order. The columns of X are multiplied all at once. A.T
    shares the entries of A and has its own plans; the transpose is computed when the first plan needs it. Products with
    arrays on a GPU are ordered on the current stream of CuPy or PyTorch. Any number of threads may multiply; values may be
    set and plans made only while no other thread multiplies.
    transposes and conjugates, are spmv.matrix again. Other methods, slices and comparisons return what SciPy's return, with
    arrays of their own. A.data, A.indices and A.indptr are read-only: only A.values changes entries."""

    _like = None  # the class of SciPy's, in the classes that are derived from this one

    def __new__(cls, source, *others, **options):
        """Lets SciPy's functions create results by A.__class__(...): returns a matrix of SciPy's class, which they can modify."""
        return cls._like(source, *others, **options) if cls._like else object.__new__(derived(cls, class_of(source)))

    def __init__(self, source, shape=None):
        self._attach(Entries(read(source) if is_file(source) else source, shape), False)

    def _attach(self, entries, transposed):
        self._shape = entries.own.shape[::-1] if transposed else entries.own.shape
        self._entries, self._transposed, self._other = entries, transposed, None
        self._plans = entries.plans[transposed]
        self._on_host = self._plans[None]
        self._joined = {}  # type of a product, by the operand's type

    shape = property(lambda self: self._shape)
    dtype = property(lambda self: self._entries.own.dtype)

    @property
    def _scipys(self):
        """SciPy's matrix with the same entries."""
        return self._entries.canonical().T if self._transposed else self._entries.canonical()

    @staticmethod
    def _result(x):
        return matrix(x) if is_sparse(x) and x.ndim == 2 else x

    # ---- products --------------------------------------------------------------------------------------------------

    def __matmul__(self, x):
        if type(x) is not np.ndarray and ways.get(type(x)) is None:
            if is_scalar(x):
                raise ValueError("Scalar operands are not allowed, use '*' instead")
            if isinstance(x, LinearOperator):
                return aslinearoperator(self) @ x
            if defers(x):
                return NotImplemented
        return self.dot(x)

    def dot(self, x, out=None, values=None, w=None):
        """A @ x. out: an array of x's kind with the product's shape and type, and contiguous rows or columns: the product is
        written to it. values: new values of A, set like A.values[...] = values; gradients of a PyTorch tensor pass through
        the product to values and x. w: an array of the product's shape and x's kind, or x itself: the result is then
        y = A @ x, w'y and y'y, the last two with one number per vector."""
        if values is not None:
            self._entries.set_values(..., _operands.numbers_of(values))
        elif w is None and (way := ways.get(type(x))) is not None and (y := way(self, x, out)) is not None:
            with counts.lock:
                counts.library += 1
            return y
        if w is None and type(x) is np.ndarray and (x.ndim == 1 or x.shape[1:] == (1,)):  # fast path for the usual case
            dtype = self._joined.get(x.dtype)
            plan = self._on_host.get(dtype)
            rows, cols = self._shape
            if plan is not None and len(x) == cols:
                y = out if out is not None else np.empty(rows, dtype) if rows < FEW else empty((rows,), dtype)
                if is_vector(y, rows, dtype) and (out is None or x.ndim == 1 and x.flags.carray):
                    plan.multiply(x if x.ndim == 1 and x.flags.carray and x.dtype == dtype else vector_of(x, dtype), y)
                    counts.add(library=1)
                    return y if x.ndim == 1 else y[:, None]
            elif x.dtype not in self._joined:
                self._joined[x.dtype] = np.result_type(self.dtype, x.dtype)
        if is_scalar(x):
            return self * x
        if is_sparse(x):
            counts.add(scipy=1)
            return self._result(self._scipys @ without(x))
        if isinstance(x, LinearOperator) or defers(x):
            return self @ x
        if type(x).__module__.partition(".")[0] == "torch":
            from . import _gradients
            if _gradients.wanted(x, values):
                if out is not None:
                    raise ValueError("out: no gradients pass through a product that is written to an array")
                if w is not None:
                    raise ValueError("w: no gradients pass through sums")
                return _gradients.product(self, x, values if isinstance(values, type(x)) else None)
            if out is None and w is None and not x.is_cuda and x.ndim == 1:
                _operands.dtype_of(x)
                return _gradients.torch.from_numpy(self.dot(x.detach().numpy()))
        return self._multiply(x, self._transposed, out, w)

    def __rmatmul__(self, x):
        if type(x) is np.ndarray:
            if x.shape == self._shape[:1]:  # fast path for the usual case
                return self.T.dot(x)
        else:
            if defers(x):
                return NotImplemented
            if is_sparse(x):
                counts.add(scipy=1)
                return self._result(without(x) @ self._scipys)
            x = x if hasattr(x, "T") else np.asarray(x)
        if x.ndim not in (1, 2) or x.shape[-1] != self.shape[0]:
            raise ValueError(f"x @ A: A is {self.shape[0]} x {self.shape[1]}, and the shape of x {tuple(x.shape)}")
        return self.T @ x if x.ndim == 1 else (self.T @ x.T).T

    def matvec(self, x):
        return self @ x

    matmat = matvec

    def rmatvec(self, x):
        """The conjugate transpose of A times x."""
        return np.conj(self.T @ np.conj(x)) if self.dtype.kind == "c" else self.T @ x

    rmatmat = rmatvec

    @property
    def T(self):
        """The transpose, which shares the entries. A keeps its transpose alive, but not vice versa."""
        if self._other is None:
            self._other = matrix.__new__(matrix, self._own(not self._transposed))
            self._other._attach(self._entries, not self._transposed)
        return self._other

    def transpose(self, axes=None, copy=False):
        made = self._scipys.transpose(axes=axes, copy=copy)  # checks axes
        return matrix(made) if copy else self.T

    def conj(self, copy=True):
        """The conjugate. For a real A the result shares the entries, like A.T."""
        return self.adjoint().T

    conjugate = conj

    def adjoint(self):
        return matrix(self._scipys.conj().T) if self.dtype.kind == "c" else self.T

    getH = adjoint
    H = property(adjoint)

    def _own(self, transposed):
        return self._entries.own.T if transposed else self._entries.own

    def _multiply(self, x, transposed, out=None, w=None):
        operand = _operands.of(x)
        _short.learn(type(x))
        rows, cols = self.shape if transposed == self._transposed else self.shape[::-1]
        if len(operand.shape) not in (1, 2) or operand.shape[0] != cols:
            raise ValueError(f"A is {rows} x {cols}, and the operand's shape {operand.shape}")
        dtype = np.result_type(self.dtype, operand.dtype)
        if not self._entries.is_ours or dtype not in PRECISIONS:
            y = self._multiply_in_scipy(operand, transposed, out)
            return y if w is None else (y, (w.conj() * y).sum(axis=0), (y.conj() * y).sum(axis=0))
        with operand.here():
            call, x, z = operand.call(rows, dtype, out)
            w, sums = operand.sums(call, w, z, dtype) if w is not None else (None, None)
            if call.k > 0:
                call.x, call.z = operand.address(x), operand.address(z)
                operand.multiply(self._entries.plan(transposed, operand.device, dtype, call.k, call.layout), call)
        counts.add(library=1)
        y = out if out is not None else operand.result(z if len(operand.shape) == 2 else z[:, 0])
        if w is None:
            return y
        sums = sums if getattr(operand, "is_matrix", False) else operand.result(sums)
        return (y, sums[0], sums[1]) if len(operand.shape) == 2 else (y, sums[0, 0], sums[1, 0])

    def _multiply_in_scipy(self, operand, transposed, out):
        if operand.device != self._entries.device:
            where = "SciPy, in host memory" if self._entries.device is None else "CuPy, on its GPU"
            raise TypeError(f"products of {self.dtype} and {operand.dtype} run in {where}: the operand is elsewhere")
        y = self._own(transposed) @ operand.array
        counts.add(scipy=1)
        if out is None:
            return operand.result(y)
        out[...] = operand.result(y)
        return out

    # ---- what else there is ----------------------------------------------------------------------------------------

    def plan(self, expected=0, kernel="auto", refill=False, vectors=1, order="C", settings=None, threads=0, max_bytes=0):
        """Chooses how A @ x or A @ X is computed from now on; returns the choice as an entry of info()["plans"].

        expected: expected number of products, over which preparation is amortized; 0: unknown. kernel: a name; "auto": the
        fastest that the library finds. A prefix "omp:" or "cuda:" selects operands in host memory or on the current GPU;
        default: where the source's arrays are. refill: A.values will be set often. vectors: approximate number of columns
        of X; order: "C" if the rows of X are contiguous, "F" if the columns are. settings: {name: value} for the named
        kernel's parameters; threads: number of threads on a CPU, 0: default; `spmv FILE -k auto --export=python` prints
        both for a choice of "auto". max_bytes: limit of the stored matrix, which may then be mostly padding; 0: 80 % of
        the free memory. Without a call of plan() products use "auto"; products of several vectors use the kernel that was
        named for one. A.T has plans of its own."""
        if not self._entries.is_ours:
            raise TypeError(f"spmv.matrix.plan: products of {self.dtype} run in SciPy")
        check_name("kernel", kernel, 'the name of a kernel, as "csr_rows", or "auto"')
        if not isinstance(order, str) or order not in _operands.ORDERS:
            raise ValueError(f'order is {order!r}, must be "C" or "F"')
        backend, _, name = kernel.partition(":")
        device = None if backend == "omp" else self._entries.device
        if backend == "cuda" and device is None:
            device = _operands.current_gpu()
        if backend not in ("omp", "cuda"):
            name = kernel
        return self._entries.make_plan(self._transposed, device, self.dtype, expected=expected, kernel=name, refill=refill,
                                       vectors=vectors, layout=_operands.ORDERS[order], settings=settings,
                                       threads=threads, max_bytes=max_bytes).facts()

    @property
    def values(self):
        """The values, in the order of `data` of the compressed rows or columns from which the matrix was created (rows for
        other formats). A.values[...] = new sets the values of all plans of A and A.T; the source keeps its values."""
        return Values(self._entries)

    def info(self):
        """Facts about the matrix and its plans; the latter are spmv_plan_facts of spmv.h."""
        with self._entries.lock:
            plans = [{"transposed": transposed, "device": device, "dtype": plan.dtype.name, "vectors": plan.vectors,
                      "order": plan.order(), **plan.facts()}
                     for transposed in (False, True)
                     for device, made in self._entries.plans[transposed].items() for plan in made.values()]
        return {"version": lib.spmv_version().decode(), "shape": self.shape, "nnz": self._entries.own.nnz, "dtype": self.dtype.name,
                "plans": plans}

    def __repr__(self):
        return f"<{self.shape[0]}x{self.shape[1]} spmv.matrix of {self.dtype} with {self.nnz} stored elements>"

    def __reduce__(self):
        return matrix, (self._own(self._transposed),)
