"""The nonzeros that a matrix and its transpose share, and what the library made of them."""
import collections
import threading

import numpy as np
import scipy.sparse

from . import _library
from ._plan import PRECISIONS, Plan, Prepared


def is_cupys(x):
    """Says whether it is an array, or a sparse matrix, of CuPy's."""
    return type(x).__module__.partition(".")[0] in ("cupy", "cupyx")


def is_sparse(x):
    return scipy.sparse.issparse(x) or type(x).__module__.startswith("cupyx.")


def compressed(source, shape):
    """Compressed rows or columns of SciPy's or CuPy's, with the arrays of the source if they are that already. It is a
    matrix of its own: the source may get another shape or other arrays."""
    if isinstance(source, tuple):
        source = rows_of(source, shape)
    if not is_sparse(source):
        raise TypeError(f"spmv.matrix: must be a sparse matrix or (data, indices, indptr), not {type(source).__name__}")
    if source.ndim != 2:
        raise ValueError(f"spmv.matrix: must have two dimensions, not {source.ndim}")
    own = source if source.format in ("csr", "csc") else source.tocsr()
    return with_data(own, own.data[:own.nnz])  # which may be longer


def with_data(own, data):
    return type(own)((data, own.indices[:own.nnz], own.indptr), shape=own.shape)


def rows_of(arrays, shape):
    if not is_cupys(arrays[0]):
        return scipy.sparse.csr_array(arrays, shape=shape)
    import cupyx.scipy.sparse
    return cupyx.scipy.sparse.csr_matrix(arrays, shape=shape)


class Entries:
    def __init__(self, source, shape):
        self.own = compressed(source, shape)  # its arrays are never written to
        self.device = self.own.data.device.id if is_cupys(self.own) else None
        self.is_ours = self.own.dtype in PRECISIONS and max(self.own.shape) < 2**31
        self.lock = threading.RLock()
        self.prepared = {}  # of (transposed, device)
        self.plans = [collections.defaultdict(dict), collections.defaultdict(dict)]  # [transposed][device][dtype]

    def plan(self, transposed, device, dtype, expected=0, kernel="auto", refill=False, anew=False):
        """The plan for such products, which is made if there is none or another one is wanted."""
        with self.lock:
            plans = self.plans[transposed][device]
            if anew or dtype not in plans:
                plans[dtype] = Plan(self.prepare(transposed, device), dtype, expected, kernel, refill)
            return plans[dtype]

    def prepare(self, transposed, device):
        if (transposed, device) not in self.prepared:
            shape = self.own.shape[::-1] if transposed else self.own.shape
            by_columns = (self.own.format == "csc") != transposed
            self.prepared[transposed, device] = Prepared(shape, self.arrays(device), by_columns, device)
        return self.prepared[transposed, device]

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

    def set_values(self, key, new):
        """Every plan multiplies by the new values, or, after an exception, is made again when it is needed."""
        with self.lock:
            data = self.own.data.copy()
            data[key] = new
            self.own = with_data(self.own, data)
            stale, self.prepared = self.prepared, {}
            kept = {}
            for transposed, device in stale:
                kept[transposed, device] = dict(self.plans[transposed][device])
                self.plans[transposed][device].clear()
            for where, prepared in stale.items():
                self.refill(*where, prepared, kept[where])

    def refill(self, transposed, device, prepared, plans):
        if prepared.set_values(self.arrays(device)[0]):
            self.prepared[transposed, device] = prepared
            self.plans[transposed][device].update(plans)
            return
        for dtype, plan in plans.items():  # "auto" may take another kernel, which is refilled the next time
            self.plan(transposed, device, dtype, plan.expected, plan.kernel, refill=plan.kernel == "auto")
