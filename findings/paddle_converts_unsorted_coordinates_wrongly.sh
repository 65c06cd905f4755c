#!/bin/sh
# Coordinates have no order by definition, and PaddlePaddle's sparse_coo_tensor takes them in any order. Its conversion to CSR
# and its addition and subtraction assume them sorted by row and column, and do not check it: the results are other
# matrices, without an error or a warning. The commonest way to unsorted coordinates is transpose(): the CSR tensor of a transposed
# COO tensor holds entries in wrong rows, while the transpose itself, its dense form and the transpose of a CSR tensor are right.
# A matrix minus itself, whose entries are stored backwards in the second operand, is minus the matrix instead of zero.
# coalesce(), which sorts, before each of these calls makes them right; is_coalesced() is False also for a sorted tensor.
# paddlepaddle 3.3.1 for CPUs, NumPy 2.4.6, Python 3.11.
# Exit 0: as described. Exit 1: something changed; each line says what was seen.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/v"
"$work/v/bin/pip" -q install numpy==2.4.6 paddlepaddle==3.3.1
cat >"$work/t.py" <<'PYTHON'
import sys
import numpy as np, paddle
from paddle import sparse

paddle.set_device("cpu")
A = np.array([[2.0, 0, 5, 0], [0, 0, 0, 0], [0, 8, 0, 16]])

def coo(A, order=None):
    """The tensor of A, its entries row by row or in the order given."""
    where = np.argwhere(A)[order if order else slice(None)]
    return sparse.sparse_coo_tensor(where.T, paddle.to_tensor(A[tuple(where.T)]), A.shape)

def dense(tensor):
    return tensor.to_dense().numpy().tolist()

turned, backwards = sparse.transpose(coo(A), [1, 0]), coo(A, [3, 2, 1, 0])
checks = {
    "the transpose, dense": (dense(turned) == A.T.tolist(), True),
    "the transpose of CSR": (dense(sparse.transpose(coo(A).to_sparse_csr(), [1, 0])) == A.T.tolist(), True),
    "the transpose as CSR": (dense(turned.to_sparse_csr()), [[2, 0, 0], [5, 0, 8], [0, 0, 0], [0, 0, 16]]),
    "the transpose, coalesced, as CSR": (dense(turned.coalesce().to_sparse_csr()) == A.T.tolist(), True),
    "entries backwards, dense": (dense(backwards) == A.tolist(), True),
    "entries backwards, as CSR": (dense(backwards.to_sparse_csr()), [[2, 8, 5, 16], [0, 0, 0, 0], [0, 0, 0, 0]]),
    "A - A, in order": (dense(sparse.subtract(coo(A), coo(A))), np.zeros((3, 4)).tolist()),
    "A - A, the second backwards": (dense(sparse.subtract(coo(A), backwards)), [[-2, 0, -5, 0], [0, 0, 0, 0], [0, -8, 0, 0]]),
    "A - A, coalesced": (dense(sparse.subtract(coo(A), backwards.coalesce())), np.zeros((3, 4)).tolist()),
    "sorted counts as coalesced": (coo(A).is_coalesced(), False),
}
for name, (seen, expected) in checks.items():
    print(f"{name}: {seen}", "" if seen == expected else f"  CHANGED: was {expected}")
sys.exit(any(seen != expected for seen, expected in checks.values()))
PYTHON
"$work/v/bin/python" "$work/t.py"
