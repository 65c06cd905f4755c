"""Sparse matrix-vector products by libspmv: spmv.matrix(A) @ x, or spmv.accelerate() for SciPy's own."""
from ._accelerate import accelerate
from ._library import Error, lib
from ._matrix import matrix, stats
from ._results import keep_results

__all__ = ["Error", "accelerate", "keep_results", "matrix", "stats"]
__version__ = lib.spmv_version().decode()
