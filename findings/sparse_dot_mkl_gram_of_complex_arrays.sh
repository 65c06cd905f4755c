#!/bin/sh
# gram_matrix_mkl of the package sparse_dot_mkl is documented as A^T A. For complex numbers its result depends on how A is stored: a CSR
# or CSC matrix gives A^H A, the Hermitian product, and with transpose=True A A^H. A dense NumPy array in either order
# gives a matrix of zeros and no exception: oneMKL refuses the call, prints one line to the standard output, and the package
# returns the array that it had allocated. (With transpose=True it refuses a dense complex array by an exception.) Real
# arrays are right in each storage.
# sparse_dot_mkl 0.9.10, oneMKL 2026.2.0, SciPy 1.17.1, NumPy 2.4.6, Python 3.11.
# Exit 0: as described. Exit 1: something changed; each line says what was seen.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/v"
"$work/v/bin/pip" -q install numpy==2.4.6 scipy==1.17.1 mkl==2026.2.0 sparse_dot_mkl==0.9.10
MKL_RT=$(echo "$work"/v/lib/libmkl_rt.so*)
export MKL_RT
cat >"$work/t.py" <<'PYTHON'
import sys
import numpy as np, scipy.sparse as sparse, sparse_dot_mkl

A = np.array([[1 + 2j, 0, 3], [0, 1j, 2 - 1j]])

def name(A, G):
    """What the upper triangle of G is of A."""
    G = np.triu(G.toarray() if sparse.issparse(G) else G)
    right = {"A^T A": A.T @ A, "A^H A": A.conj().T @ A, "A A^T": A @ A.T, "A A^H": A @ A.conj().T, "zero": np.zeros((A.shape[1],) * 2)}
    return " = ".join(n for n, R in right.items() if R.shape == G.shape and np.allclose(np.triu(R), G)) or "another matrix"

gram = sparse_dot_mkl.gram_matrix_mkl
checks = {
    "CSR": (name(A, gram(sparse.csr_array(A))), "A^H A"),
    "CSR, transpose": (name(A, gram(sparse.csr_array(A), transpose=True)), "A A^H"),
    "CSC": (name(A, gram(sparse.csc_array(A), cast=True)), "A^H A"),
    "dense, by rows": (name(A, gram(A)), "zero"),
    "dense, by columns": (name(A, gram(np.asfortranarray(A))), "zero"),
    "dense, real": (name(A.real, gram(A.real.copy())), "A^T A = A^H A"),
}
for key, (seen, expected) in checks.items():
    print(f"{key}: {seen}", "" if seen == expected else f"  CHANGED: was {expected}")
sys.exit(any(seen != expected for seen, expected in checks.values()))
PYTHON
"$work/v/bin/python" "$work/t.py"
