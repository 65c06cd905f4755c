"""The nonzeros that a matrix and its transpose share, and the library's objects made from them."""
import collections
import threading

import numpy as np
import scipy.sparse

from . import _library, _locks
from ._plan import PRECISIONS, Plan, Prepared, whole


def is_cupys(x):
    """Returns whether x is an array or a sparse matrix of CuPy."""
    return type(x).__module__.partition(".")[0] in ("cupy", "cupyx")


def is_sparse(x):
    return scipy.sparse.issparse(x) or type(x).__module__.startswith("cupyx.")


def compressed(source, shape):
    """Returns SciPy's or CuPy's compressed rows or columns as a new matrix. It shares values and indices with the source if the
    library can borrow them, and no other arrays."""
    if shape is not None:
        shape = pair(shape)
    if isinstance(source, tuple):
        source = rows_of(source, shape)
    if not is_sparse(source):
        raise TypeError(f"spmv.matrix: must be a sparse matrix or (data, indices, indptr), not {type(source).__name__}")
    if source.ndim != 2:
        raise ValueError(f"spmv.matrix: must have two dimensions, not {source.ndim}")
    if shape not in (None, source.shape):
        raise ValueError(f"shape is {shape}, and that of the source {source.shape}")
    own = source if source.format in ("csr", "csc") else source.tocsr()
    made = type(own)((own.data[:own.nnz], own.indices[:own.nnz], own.indptr.copy()), shape=own.shape)  # arrays may have spare room
    return made if own is not source or is_borrowed(made) else made.copy()


def pair(shape):
    """Returns a shape as a pair of integers."""
    try:
        rows, cols = shape
    except (TypeError, ValueError):
        raise TypeError(f"shape is {shape!r}, must be two integers, as (3, 4)") from None
    return whole("shape[0]", rows, 0), whole("shape[1]", cols, 0)


def is_borrowed(own):
    """Returns whether the library can use values and indices in place. Then SciPy's methods, which sort, sum or drop entries in
    place, find nothing to change."""
    dtypes = (np.float64, np.float32) if is_cupys(own) else (np.float64,)
    flags = own.data.flags, own.indices.flags
    return (own.dtype in dtypes and own.indices.dtype == np.int32
            and all(each.c_contiguous and getattr(each, "aligned", True) for each in flags)
            and bool((own.indptr[1:] >= own.indptr[:-1]).all())  # otherwise the next check would read out of bounds
            and bool(own.has_canonical_format) and not bool((own.data == 0).any()))  # all() takes twice as long


def with_data(own, data):
    return type(own)((data, own.indices, own.indptr), shape=own.shape)


def rows_of(arrays, shape):
    if not is_cupys(arrays[0]):
        return scipy.sparse.csr_array(arrays, shape=shape)
    import cupyx.scipy.sparse
    return cupyx.scipy.sparse.csr_matrix(arrays, shape=shape)


class Entries:
    """Compressed columns are passed to the library as rows of the transpose, and op is swapped."""

    summed = None, None  # a matrix with unsorted or duplicate entries, and its canonical copy

    def __init__(self, source, shape):
        self.own = compressed(source, shape)  # its arrays are never written to
        self.device = self.own.data.device.id if is_cupys(self.own) else None
        self.is_ours = self.own.dtype in PRECISIONS and max(self.own.shape) < 2**31
        _locks.give(self, make=threading.RLock)
        self.prepared = {}  # by device
        self.version = object()  # identity of the current values
        self.places = {}  # row and column of each value, by device, for gradients
        # [transposed][device][dtype]; for several vectors [transposed][device][(dtype, layout)]
        self.plans = [collections.defaultdict(dict), collections.defaultdict(dict)]

    def plan(self, transposed, device, dtype, vectors=1, layout=_library.COLUMNS):
        """Returns the plan for these products, created on first use. Options that the user set for one vector apply to several,
        except the expected number of products."""
        plans = self.plans[transposed][device]
        key = dtype if vectors == 1 else (dtype, layout)
        with self.lock:
            if key in plans:
                return plans[key]
            one = plans.get(dtype)
            said = one.said() if one else {}
            return self.make_plan(transposed, device, dtype, vectors=vectors, layout=layout, **said)

    def make_plan(self, transposed, device, dtype, **options):
        with self.lock:
            op = _library.TRANSPOSE if transposed != (self.own.format == "csc") else _library.AS_IS
            made = Plan(self.prepare(device), dtype, op, **options)
            self.plans[transposed][device][dtype if made.vectors == 1 else (dtype, made.layout)] = made
            return made

    def canonical(self):
        """Returns the matrix with sorted and summed entries. SciPy's methods would otherwise sort and sum in place, in the
        arrays that the library reads."""
        own, (source, summed) = self.own, self.summed
        if own.has_canonical_format:
            return own
        if source is not own:
            summed = own.copy()
            summed.sum_duplicates()
            self.summed = own, summed
        return summed

    def prepare(self, device):
        if device not in self.prepared:
            shape = self.own.shape[::-1] if self.own.format == "csc" else self.own.shape
            self.prepared[device] = Prepared(shape, self.arrays(device), device)
        return self.prepared[device]

    def arrays(self, device):
        """Returns values, indices and offsets for the library: on the device if they are there, else in host memory."""
        if self.device is not None and self.device == device:
            import cupy
            cupy.cuda.get_current_stream().synchronize()  # completes the arrays
            own, contiguous = self.own, cupy.ascontiguousarray
        else:
            own, contiguous = self.on_host(), lambda array, dtype: np.require(array, dtype, "CA")
            if own.indices.dtype != np.int32:
                own.check_format(full_check=True)  # before indices are narrowed to 32 bits
        return contiguous(own.data, None), contiguous(own.indices, np.int32), contiguous(own.indptr, None)

    def on_host(self):
        return self.own.get() if self.device is not None else self.own

    def set_values(self, key, new, version=None):
        """Sets values. version: identity of the resulting values, if the matrix had them before."""
        with self.lock:
            data = self.own.data.copy()
            data[key] = new
            self.replace(with_data(self.own, data), version or object())

    def replace(self, own, version):
        """Replaces the matrix by `own`, which has other values. Every plan gets the values or, after an exception, is created
        again on its next use."""
        with self.lock:
            kept = {device: [dict(plans[device]) for plans in self.plans] for device in self.prepared}
            for device in kept:
                for plans in self.plans:
                    plans[device].clear()
            stale, self.prepared = self.prepared, {}  # no exception can occur between these two lines
            self.own, self.version = own, version
            for device, prepared in stale.items():
                self.refill(device, prepared, kept[device])

    def refill(self, device, prepared, kept):
        if prepared.set_values(self.arrays(device)[0]):
            self.prepared[device] = prepared
            for plans, those in zip(self.plans, kept):
                plans[device].update(those)
            return
        for transposed, those in enumerate(kept):
            for p in those.values():  # "auto" may choose another kernel, which can be refilled later
                said = p.said() | {"refill": p.refill or p.kernel == "auto"}
                self.make_plan(bool(transposed), device, p.dtype, vectors=p.vectors, layout=p.layout, expected=p.expected, **said)
