#!/bin/sh
# SciPy's mmwrite looks for a symmetry before it writes a matrix, and compares an entry with its negated mirror image in the matrix's
# own type. Unsigned integers are negated modulo 2^bits, so a matrix in which every pair of mirrored entries adds up to 256 (uint8)
# or 65536 (uint16) is written as `skew-symmetric`, its lower half only. Read back, the upper half is negative: 1 and 255 become
# -255 and 255. Wrapped differences such as uint8(i - j) are such a matrix. For uint32 and uint64 mmread refuses the
# file that mmwrite wrote. Dense, CSR and COO matrices alike; symmetry="general" writes the file as meant.
# The package fast_matrix_market does the same.
# SciPy 1.17.1, fast_matrix_market 1.7.6, NumPy 2.4.6, Python 3.11.
# Exit 0: as described. Exit 1: something changed; each line says what was seen.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/v"
"$work/v/bin/pip" -q install numpy==2.4.6 scipy==1.17.1 fast_matrix_market==1.7.6
cat >"$work/t.py" <<'PYTHON'
import sys
import fast_matrix_market, numpy as np, scipy.io, scipy.sparse as sparse

def trip(package, A, **options):
    """What the header says, and what was read back of A."""
    package.mmwrite("A.mtx", A, **options)
    word = open("A.mtx").readline().split()[4]
    try:
        back = package.mmread("A.mtx")
    except (OverflowError, ValueError) as error:
        return word, type(error).__name__
    return word, (back.toarray() if sparse.issparse(back) else back).tolist()

steps = np.arange(3)
seen, expected = [], []
for package in (scipy.io, fast_matrix_market):
    for kind, most in (("uint8", 255), ("uint16", 65535)):
        A = np.array([[0, 1], [most, 0]], kind)
        for made in (np.asarray, sparse.csr_array, sparse.coo_array):
            seen.append((package.__name__, kind, made.__name__, *trip(package, made(A))))
            expected.append((package.__name__, kind, made.__name__, "skew-symmetric", [[0, -most], [most, 0]]))
    for kind in ("uint32", "uint64"):
        A = np.array([[0, 1], [np.iinfo(kind).max, 0]], kind)
        for made, error in ((np.asarray, "ValueError"), (sparse.csr_array, "OverflowError")):
            seen.append((package.__name__, kind, made.__name__, *trip(package, made(A))))
            expected.append((package.__name__, kind, made.__name__, "skew-symmetric", error))
    wrapped = (steps[:, None] - steps).astype("uint8")
    seen.append((package.__name__, "i - j", *trip(package, wrapped)))
    expected.append((package.__name__, "i - j", "skew-symmetric", [[0, -1, -2], [1, 0, -1], [2, 1, 0]]))
    seen.append((package.__name__, "as general", *trip(package, wrapped, symmetry="general")))
    expected.append((package.__name__, "as general", "general", wrapped.tolist()))
for line, wanted in zip(seen, expected):
    print(*line, "" if line == wanted else f"  CHANGED: was {wanted}")
sys.exit(seen != expected)
PYTHON
cd "$work" && "$work/v/bin/python" t.py
