"""Runs JAX's own tests of sparse products with spmv.jax behind them, which are no part of its wheel:

    python jax_products.py FOLDER [OPTION_OF_PYTEST...]     # with sparse_test.py and sparse_bcoo_bcsr_test.py of JAX's tests, of its version

A product of a BCOO or BCSR matrix, two-dimensional and in real numbers, with a dense vector or matrix is ours. Others are JAX's:
of batched or dense dimensions, of indices that are traced, and what spmv.jax refuses. Prints how many there were of each."""
import collections
import functools
import pathlib
import sys

import jax
import numpy as np
import spmv.jax
from jax.experimental import sparse
from jax.experimental.sparse import bcoo, bcsr, transform

counts = collections.Counter()
TESTS = "matmul or matvec or matmat or dot_general or value_and_grad"


def is_ours(M, dense, dimension_numbers):
    (contracted, other), batched = dimension_numbers
    if M.n_batch or M.n_dense or M.ndim != 2 or any(map(len, batched)) or len(contracted) != 1 or dense.ndim not in (1, 2):
        return False
    return jax.numpy.promote_types(M.dtype, dense.dtype) in (np.float32, np.float64) and M.dtype.kind == "f" and M.dtype.itemsize > 2


def product(theirs, kind, M, dense, dimension_numbers):
    """Ours of M and the dense operand; theirs if it cannot be."""
    if not is_ours(M, dense, dimension_numbers):
        counts[f"{kind}: JAX's"] += 1
        return theirs()
    try:
        A = spmv.jax.from_jax(M)
    except TypeError:
        counts[f"{kind}: JAX's, for the indices are traced"] += 1
        return theirs()
    (of_M,), (of_dense,) = dimension_numbers[0]
    y = (A.T if of_M == 0 else A) @ (dense if of_dense == 0 else dense.T)
    counts[f"{kind}: ours"] += 1
    return y


def behind(kind, theirs):
    @functools.wraps(theirs)
    def dot_general(lhs, rhs, *of_bcoo, dimension_numbers, preferred_element_type=None, **rest):
        def original():
            return theirs(lhs, rhs, *of_bcoo, dimension_numbers=dimension_numbers, preferred_element_type=preferred_element_type, **rest)
        is_known = isinstance(lhs, (sparse.BCOO, sparse.BCSR)) and hasattr(rhs, "ndim") and not isinstance(rhs, sparse.JAXSparse)
        if preferred_element_type is not None or not is_known:
            return original()
        return product(original, kind, lhs, jax.numpy.asarray(rhs), dimension_numbers)
    return dot_general


def behind_operator(kind, cls, name, contracted):
    """M @ dense, or dense @ M as M' @ dense'."""
    theirs = getattr(cls, name)

    @functools.wraps(theirs)
    def multiply(M, dense):
        if isinstance(dense, sparse.JAXSparse) or not hasattr(dense, "ndim") or dense.ndim not in (1, 2):
            return theirs(M, dense)
        of_dense = 0 if name == "__matmul__" else dense.ndim - 1
        y = product(lambda: None, kind, M, jax.numpy.asarray(dense), (((contracted,), (of_dense,)), ((), ())))
        return theirs(M, dense) if y is None else y.T if name == "__rmatmul__" else y
    setattr(cls, name, multiply)


def install():
    for kind, name, module in ("BCOO", "bcoo_dot_general", bcoo), ("BCSR", "bcsr_dot_general", bcsr):
        ours = behind(kind, getattr(module, name))
        for place in module, sparse, transform, bcoo, bcsr:
            if getattr(place, name, None) is not None:
                setattr(place, name, ours)
    for kind, cls in ("BCOO", sparse.BCOO), ("BCSR", sparse.BCSR):
        behind_operator(kind, cls, "__matmul__", 1)
        behind_operator(kind, cls, "__rmatmul__", 0)


if __name__ == "__main__":
    import pytest
    install()
    folder, *options = sys.argv[1:]
    failed = pytest.main(["-q", "-k", TESTS, *options, *map(str, sorted(pathlib.Path(folder).glob("sparse_*test.py")))])
    for kind, count in sorted(counts.items()):
        print(f"{count:6} products: {kind}")
    sys.exit(failed)
