"""Reads a matrix from a file of any format that the library supports."""
import ctypes
import os

import numpy as np
from scipy.sparse import csr_array

from . import _library
from ._library import lib


def is_file(source):
    return isinstance(source, (str, os.PathLike))


def copy_of(pointer, length, dtype):
    size = length * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(pointer), dtype).copy() if size else np.zeros(0, dtype)


def read(path):
    """Returns the matrix in SciPy's CSR, with symmetry expanded and duplicates summed."""
    context = _library.create(lib.spmv_ctx_create, None, _library.ContextOptions(backend=b"omp"))
    handle = None
    try:
        handle = _library.create(lib.spmv_mat_load, context, context, os.fsencode(path), None)
        view = _library.Rows()
        _library.check(lib.spmv_mat_rows(handle, view), context)
        offsets = np.int32 if view.nnz < 2**31 else np.int64
        ptr = copy_of(view.row_ptr, view.rows + 1, np.int64).astype(offsets)
        idx = copy_of(view.col_idx, view.nnz, np.int32).astype(offsets, copy=False)
        rows = csr_array((copy_of(view.values, view.nnz, np.float64), idx, ptr), shape=(view.rows, view.cols))
    finally:
        lib.spmv_mat_free(handle)
        lib.spmv_ctx_free(context)
    rows.has_sorted_indices = rows.has_canonical_format = True
    return rows
