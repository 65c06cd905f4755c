"""Sparse matrix-vector products by libspmv: spmv.matrix(A) @ x."""
from ._library import Error, lib
from ._matrix import matrix, stats

__all__ = ["Error", "matrix", "stats"]
__version__ = lib.spmv_version().decode()
