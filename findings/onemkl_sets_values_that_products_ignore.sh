#!/bin/sh
# oneMKL's mkl_sparse_d_set_value changes one stored value of a sparse matrix. If products were announced by
# mkl_sparse_set_mv_hint and the matrix was optimised for them, it still returns SPARSE_STATUS_SUCCESS, and mkl_sparse_d_export_csr shows
# the new value, but the announced product goes on with the old one, also after another mkl_sparse_optimize. Products that
# were not announced take the new value: after a hint for A x, A x is of the old matrix, and A^T x and A X are of the new one; after
# a hint for A^T x it is the reverse. Without a hint all are right. Where there was a hint for A x, the caller's array of values,
# which oneMKL had used in place, keeps the old value. mkl_sparse_d_update_values, which replaces all values, is right
# in every case. A Newton or time step that changes a few entries this way solves with the first matrix for ever.
# oneMKL 2026.2.0 (64-bit x86, one and two threads), SciPy 1.17.1, NumPy 2.4.6, Python 3.11.
# Exit 0: as described. Exit 1: something changed; each line says what was seen.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/v"
"$work/v/bin/pip" -q install numpy==2.4.6 scipy==1.17.1 mkl==2026.2.0
cat >"$work/t.py" <<'PYTHON'
import ctypes, glob, os, sys
from ctypes import byref, c_double, c_int, c_void_p
import numpy as np, scipy.sparse as sparse

mkl = ctypes.CDLL(glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so*"))[0], mode=ctypes.RTLD_GLOBAL)
PLAIN, TRANSPOSED, ROW_MAJOR = 10, 11, 101

class Description(ctypes.Structure):
    _fields_ = [("type", c_int), ("mode", c_int), ("diagonal", c_int)]

general = Description(20, 0, 50)

def call(name, *arguments):
    status = getattr(mkl, "mkl_sparse_" + name)(*arguments)
    if status:
        sys.exit(f"mkl_sparse_{name}: status {status}")

def pointer(array):
    return c_void_p(array.ctypes.data)

def trial(hint, update):
    """Which of A x, A^T x and A X see that A[0, 0] becomes 100, and what the caller's array and an export hold then."""
    n = 100
    A = sparse.random_array((n, n), density=0.08, format="csr", rng=np.random.default_rng(1)) + 3 * sparse.eye_array(n, format="csr")
    A.sort_indices()
    starts, columns, values = A.indptr.astype(np.int32), A.indices.astype(np.int32), A.data.copy()
    at = int(np.flatnonzero(columns[: starts[1]] == 0)[0])
    handle = c_void_p()
    call("d_create_csr", byref(handle), 0, n, n, pointer(starts), c_void_p(starts.ctypes.data + 4), pointer(columns), pointer(values))
    if hint:
        call("set_mv_hint", handle, hint, general, 1000)
        call("optimize", handle)
    x, y, X, Y = np.ones(n), np.empty(n), np.ones((n, 4)), np.empty((n, 4))

    def products():
        seen = []
        for operation in PLAIN, TRANSPOSED:
            call("d_mv", operation, c_double(1), handle, general, pointer(x), c_double(0), pointer(y))
            seen.append(y[0])
        call("d_mm", PLAIN, c_double(1), handle, general, ROW_MAJOR, pointer(X), 4, 4, c_double(0), pointer(Y), 4)
        return np.array(seen + [Y[0, 0]])

    before, change = products(), 100 - A.data[at]
    if update:
        changed = A.data.copy()
        changed[at] = 100
        call("d_update_values", handle, len(changed), None, None, pointer(changed))
    else:
        call("d_set_value", handle, 0, 0, c_double(100))
    call("optimize", handle)
    seen = np.abs(products() - before - change) < 1e-9
    out = [c_int(), c_int(), c_int()] + [c_void_p() for _ in range(4)]
    call("d_export_csr", handle, *map(byref, out))
    exported = ctypes.cast(out[-1], ctypes.POINTER(c_double))[at]
    result = ["new" if new else "old" for new in seen]
    return result + ([] if update else ["new" if values[at] == 100 else "old", "new" if exported == 100 else "old"])

checks = {
    "no hint: A x, A^T x, A X, the caller's array, an export": (trial(0, False), ["new"] * 5),
    "a hint for A x": (trial(PLAIN, False), ["old", "new", "new", "old", "new"]),
    "a hint for A^T x": (trial(TRANSPOSED, False), ["new", "old", "new", "new", "new"]),
    "a hint for A x, update_values": (trial(PLAIN, True), ["new"] * 3),
    "a hint for A^T x, update_values": (trial(TRANSPOSED, True), ["new"] * 3),
}
for name, (seen, expected) in checks.items():
    print(f"{name}: {', '.join(seen)}", "" if seen == expected else f"  CHANGED: was {', '.join(expected)}")
sys.exit(any(seen != expected for seen, expected in checks.values()))
PYTHON
for threads in 1 2; do MKL_NUM_THREADS=$threads "$work/v/bin/python" "$work/t.py"; done
