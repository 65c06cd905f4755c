"""The nonzeros that a matrix and its transpose share, and what the library made of them."""
import collections
import threading

import numpy as np
import scipy.sparse

from . import _library, _locks
from ._plan import PRECISIONS, Plan, Prepared, whole


def is_cupys(x):
    """Says whether it is an array, or a sparse matrix, of CuPy's."""
    return type(x).__module__.partition(".")[0] in ("cupy", "cupyx")


def is_sparse(x):
    return scipy.sparse.issparse(x) or type(x).__module__.startswith("cupyx.")


def compressed(source, shape):
    """Compressed rows or columns of SciPy's or CuPy's, as a matrix of its own: it shares the values and indices of the source
    if these are borrowed, and no other arrays."""
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
    made = type(own)((own.data[:own.nnz], own.indices[:own.nnz], own.indptr.copy()), shape=own.shape)  # arrays may be longer
    return made if own is not source or is_borrowed(made) else made.copy()


def pair(shape):
    """A shape as two integers."""
    try:
        rows, cols = shape
    except (TypeError, ValueError):
        raise TypeError(f"shape is {shape!r}, must be two integers, as (3, 4)") from None
    return whole("shape[0]", rows, 0), whole("shape[1]", cols, 0)


def is_borrowed(own):
    """Says whether the library multiplies with values and indices where they are. Methods of SciPy's find nothing in them to
    sort, to sum or to drop, which they do in place."""
    dtypes = (np.float64, np.float32) if is_cupys(own) else (np.float64,)
    flags = own.data.flags, own.indices.flags
    return (own.dtype in dtypes and own.indices.dtype == np.int32
            and all(each.c_contiguous and getattr(each, "aligned", True) for each in flags)
            and bool((own.indptr[1:] >= own.indptr[:-1]).all())  # else the next would read outside
            and bool(own.has_canonical_format) and not bool((own.data == 0).any()))  # all() takes twice as long


def with_data(own, data):
    return type(own)((data, own.indices, own.indptr), shape=own.shape)


def rows_of(arrays, shape):
    if not is_cupys(arrays[0]):
        return scipy.sparse.csr_array(arrays, shape=shape)
    import cupyx.scipy.sparse
    return cupyx.scipy.sparse.csr_matrix(arrays, shape=shape)


class Entries:
    """What is compressed by columns is for the library the rows of its transpose, and multiplied by op."""

    summed = None, None  # a matrix whose entries are not sorted or not summed, and its copy in which they are

    def __init__(self, source, shape):
        self.own = compressed(source, shape)  # its arrays are never written to
        self.device = self.own.data.device.id if is_cupys(self.own) else None
        self.is_ours = self.own.dtype in PRECISIONS and max(self.own.shape) < 2**31
        _locks.give(self, make=threading.RLock)
        self.prepared = {}  # of a device
        self.version = object()  # of the values
        self.places = {}  # of the values, on a device, for gradients
        # [transposed][device][dtype], and of several vectors [(dtype, layout)]
        self.plans = [collections.defaultdict(dict), collections.defaultdict(dict)]

    def plan(self, transposed, device, dtype, vectors=1, layout=_library.COLUMNS):
        """The plan for such products, which is made if there is none. What the user said of one vector's holds for
        several, but for how many products will follow."""
        plans = self.plans[transposed][device]
        key = dtype if vectors == 1 else (dtype, layout)
        with self.lock:
            if key in plans:
                return plans[key]
            one = plans.get(dtype)
            said = {"kernel": one.kernel, "refill": one.refill} if one else {}
            return self.make_plan(transposed, device, dtype, vectors=vectors, layout=layout, **said)

    def make_plan(self, transposed, device, dtype, **options):
        with self.lock:
            op = _library.TRANSPOSE if transposed != (self.own.format == "csc") else _library.AS_IS
            made = Plan(self.prepare(device), dtype, op, **options)
            self.plans[transposed][device][dtype if made.vectors == 1 else (dtype, made.layout)] = made
            return made

    def canonical(self):
        """The matrix with sorted and summed entries. SciPy's methods would sort and sum others in place, in the arrays that
        the library reads."""
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
        """Values, indices and offsets for the library on a device: in its memory if they are there, else in the host's."""
        if self.device is not None and self.device == device:
            import cupy
            cupy.cuda.get_current_stream().synchronize()  # they are complete
            own, contiguous = self.own, cupy.ascontiguousarray
        else:
            own, contiguous = self.on_host(), lambda array, dtype: np.require(array, dtype, "CA")
            if own.indices.dtype != np.int32:
                own.check_format(full_check=True)  # before indices lose half of their bits
        return contiguous(own.data, None), contiguous(own.indices, np.int32), contiguous(own.indptr, None)

    def on_host(self):
        return self.own.get() if self.device is not None else self.own

    def set_values(self, key, new, version=None):
        """version: of the values that the matrix has then, if it had them before."""
        with self.lock:
            data = self.own.data.copy()
            data[key] = new
            self.replace(with_data(self.own, data), version or object())

    def replace(self, own, version):
        """own: the matrix with other values. Every plan multiplies by these, or, after an exception, is made again when it is
        needed."""
        with self.lock:
            kept = {device: [dict(plans[device]) for plans in self.plans] for device in self.prepared}
            for device in kept:
                for plans in self.plans:
                    plans[device].clear()
            stale, self.prepared = self.prepared, {}  # nothing can interrupt these two lines
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
            for p in those.values():  # "auto" may take another kernel, which is refilled the next time
                self.make_plan(bool(transposed), device, p.dtype, vectors=p.vectors, layout=p.layout, expected=p.expected,
                               kernel=p.kernel, refill=p.refill or p.kernel == "auto", settings=p.settings, threads=p.threads)
