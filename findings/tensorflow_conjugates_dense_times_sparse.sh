#!/bin/sh
# tf.sparse.sparse_dense_matmul multiplies a sparse by a dense matrix, and, as its documentation says in the same sentence, a dense by a
# sparse one. For complex numbers the second product is the complex conjugate of the right result, for every combination of
# adjoint_a and adjoint_b, without an error or a warning. Its pseudo-code says `return A*B`. Sparse times dense is right,
# with adjoint_a too; so are dense products, and the second product for real numbers, which are their own conjugates.
# Conjugating the result helps, as does multiplying the transposes in the other order with sparse first.
# TensorFlow 2.21.0 for CPUs, NumPy 2.4.6, Python 3.11.
# Exit 0: as described. Exit 1: something changed; each line says what was seen.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/v"
"$work/v/bin/pip" -q install numpy==2.4.6 tensorflow-cpu==2.21.0
cat >"$work/t.py" <<'PYTHON'
import sys
import numpy as np, tensorflow as tf

A = np.array([[1 + 2j, 0], [0, 3 - 1j], [4j, 0]])
W = np.array([[1j, 2, 1], [0, 1 - 1j, 3j]])
X = np.array([[2 + 1j, 1], [1j, 5]])
multiply, S = tf.sparse.sparse_dense_matmul, tf.sparse.from_dense(A)

def compare(seen, right):
    return "right" if np.allclose(seen, right) else "conjugated" if np.allclose(seen, np.conj(right)) else "another matrix"

def adjoint(M):
    return np.ascontiguousarray(M.conj().T)

checks = {
    "sparse times dense": (compare(multiply(S, X), A @ X), "right"),
    "sparse times dense, adjoint_a": (compare(multiply(S, adjoint(W), adjoint_a=True), adjoint(A) @ adjoint(W)), "right"),
    "dense times dense": (compare(tf.matmul(W, A), W @ A), "right"),
    "dense times sparse": (compare(multiply(W, S), W @ A), "conjugated"),
    "dense times sparse, adjoint_a": (compare(multiply(adjoint(W), S, adjoint_a=True), W @ A), "conjugated"),
    "dense times sparse, adjoint_b": (compare(multiply(X, S, adjoint_b=True), X @ adjoint(A)), "conjugated"),
    "dense times sparse, real": (compare(multiply(W.real, tf.sparse.from_dense(A.real)), W.real @ A.real), "right"),
}
for name, (seen, expected) in checks.items():
    print(f"{name}: {seen}", "" if seen == expected else f"  CHANGED: was {expected}")
sys.exit(any(seen != expected for seen, expected in checks.values()))
PYTHON
"$work/v/bin/python" "$work/t.py" 2>"$work/err" || { cat "$work/err"; exit 1; }
