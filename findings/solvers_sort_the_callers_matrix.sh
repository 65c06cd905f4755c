#!/bin/sh
# A solver that only reads its input is not expected to write to it. Eight functions of six packages sort the column (or row)
# indices of an unsorted compressed matrix in the caller's own arrays, values with them, also such as only compute a norm. Whoever
# else holds these arrays (a library that borrowed them, a view, a file mapped into memory, another thread) sees the entries move.
# A matrix with sorted indices stays as it was. Seen with the versions below and Python 3.11.
# Exit 0: as described. Exit 1: something changed; each line says what was seen.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/v"
"$work/v/bin/pip" -q install numpy==2.4.6 scipy==1.17.1 osqp==1.1.3 proxsuite==0.8.0 pandas==3.1.1 pyamg==5.4.1 scikit-learn==1.9.1
cat >"$work/t.py" <<'PYTHON'
import sys, warnings
import numpy as np, osqp, pandas, pyamg, scipy.sparse as sparse, scipy.sparse.linalg as linalg
from proxsuite import proxqp
from sklearn.svm import SVC
warnings.filterwarnings("ignore")
N, eye, one = 30, sparse.csc_matrix(sparse.eye(30)), np.ones(30)

def unsorted(kind):
    """A symmetric positive definite matrix whose indices are in a random order within each column (row)."""
    random = np.random.default_rng(1)
    S = sparse.random(N, N, .3, "csr", random_state=1) + 30 * sparse.eye(N, format="csr")
    S = (S @ S.T).tocsr()
    for a, b in zip(S.indptr, S.indptr[1:]):
        order = random.permutation(b - a) + a
        S.data[a:b], S.indices[a:b] = S.data[order], S.indices[order]
    return {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix}[kind]((S.data, S.indices, S.indptr), shape=S.shape)

def with_osqp(S):
    solver = osqp.OSQP()
    solver.setup(P=eye, q=one, A=S, l=-one, u=one, verbose=False)

def with_proxqp(S):
    problem = proxqp.sparse.QP(N, 0, N)
    problem.init(eye, one, None, None, S, -one, one)

CASES = [("osqp.OSQP().setup(A=)", "csc", with_osqp), ("proxqp.sparse.QP().init(C=)", "csc", with_proxqp),
         ("pandas.DataFrame.sparse.from_spmatrix", "csc", pandas.DataFrame.sparse.from_spmatrix),
         ("scipy.sparse.linalg.norm", "csr", linalg.norm), ("scipy.sparse.linalg.splu", "csc", linalg.splu),
         ("scipy.sparse.linalg.spsolve", "csr", lambda S: linalg.spsolve(S, one)),
         ("pyamg.smoothed_aggregation_solver", "csr", pyamg.smoothed_aggregation_solver),
         ("sklearn.svm.SVC().fit", "csr", lambda S: SVC().fit(S, np.arange(N) % 2))]
wrong = 0
for name, kind, function in CASES:
    S = unsorted(kind)
    indices, before, values = S.indices, S.indices.copy(), S.data.copy()
    function(S)
    written = not np.array_equal(indices, before)
    S = unsorted(kind)
    S.sort_indices()
    indices, before = S.indices, S.indices.copy()
    function(S)
    kept = np.array_equal(indices, before)
    print(f"{name}, {kind}: unsorted indices {'were written to' if written else 'stayed'}, sorted ones {'stayed' if kept else 'were written to'}")
    wrong += not (written and kept)
sys.exit(wrong > 0)
PYTHON
"$work/v/bin/python" "$work/t.py"
