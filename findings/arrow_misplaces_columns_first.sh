#!/bin/sh
# Arrow's SparseCOOTensor, made of a dense array that is stored column by column (Fortran's order; also the transpose of an array in
# C's order), holds the right values at wrong places unless the array is square: the coordinates are computed with the lengths
# of the axes exchanged, and part of them lie outside of the tensor's shape. No call fails before SciPy checks them. The CSR and
# CSC matrices of the same library take the same array right. And entries that a SciPy matrix holds twice, which SciPy defines as
# summed: to_tensor() keeps the last one, to_scipy() both.
# pyarrow 26.0.1, NumPy 2.4.6, SciPy 1.17.1, Python 3.11. Exit 0: as described. Exit 1: something changed; each line says what was seen.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/v"
"$work/v/bin/pip" -q install numpy==2.4.6 scipy==1.17.1 pyarrow==26.0.1
cat >"$work/t.py" <<'PYTHON'
import sys
import numpy as np, pyarrow, scipy.sparse as sparse

def coordinates(A):
    """What the tensor of A says of where A's values are: (row, column, value)."""
    values, places = pyarrow.SparseCOOTensor.from_dense_numpy(A).to_numpy()
    return sorted((int(i), int(j), float(v)) for (i, j), v in zip(places, values.ravel()))

def right(A):
    return sorted((int(i), int(j), float(A[i, j])) for i, j in np.argwhere(A))

def refusal(A):
    try:
        pyarrow.SparseCOOTensor.from_dense_numpy(A).to_scipy()
    except ValueError as error:
        return str(error)

rows = np.arange(1.0, 7).reshape(2, 3)
columns = np.asfortranarray(rows)
square = np.asfortranarray(np.arange(1.0, 10).reshape(3, 3))
wrong = [(0, 0, 1.0), (0, 1, 5.0), (1, 0, 4.0), (1, 1, 3.0), (2, 0, 2.0), (2, 1, 6.0)]
twice = sparse.csr_array((np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
checks = {
    "row by row": (coordinates(rows) == right(rows), True),
    "column by column": (coordinates(columns), wrong),
    "a transpose": (coordinates(np.arange(1.0, 7).reshape(3, 2).T) == right(np.arange(1.0, 7).reshape(3, 2).T), False),
    "a square, column by column": (coordinates(square) == right(square), True),
    "SciPy refuses": (refusal(columns), "axis 0 index 2 exceeds matrix dimension 2"),
    "CSR, column by column": (pyarrow.SparseCSRMatrix.from_dense_numpy(columns).to_scipy().toarray().tolist(), rows.tolist()),
    "CSC, column by column": (pyarrow.SparseCSCMatrix.from_dense_numpy(columns).to_scipy().toarray().tolist(), rows.tolist()),
    "entries in two parts, dense": (pyarrow.SparseCSRMatrix.from_scipy(twice).to_tensor().to_numpy().tolist(), [[2, 0], [0, 4]]),
    "entries in two parts, SciPy": (pyarrow.SparseCSRMatrix.from_scipy(twice).to_scipy().toarray().tolist(), [[3, 0], [0, 4]]),
}
for name, (seen, expected) in checks.items():
    print(f"{name}: {seen}", "" if seen == expected else f"  CHANGED: was {expected}")
sys.exit(any(seen != expected for seen, expected in checks.values()))
PYTHON
"$work/v/bin/python" "$work/t.py"
