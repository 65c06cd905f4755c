#!/bin/sh
# SciPy defines repeated entries of a compressed matrix as summed, leaves them so after an assembly, and its own products, norms and
# solvers honour that. Packages that take SciPy's matrices often do not: given a matrix whose every entry is stored as a quarter and
# three quarters, the functions below answer for another matrix, without an error or a warning. Only SCS refuses. PyAMG's cycles
# "converge" to a vector that is off by a third; SciPy's own shortest_path takes the smaller of the two.
# S.sum_duplicates() before the call helps in every case.
# Seen with the versions below and Python 3.11. Exit 0: as described. Exit 1: something changed; each line says what was seen.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/v"
"$work/v/bin/pip" -q install numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 osqp==1.1.3 scs==3.3.1 pyamg==5.4.1 networkx==3.6.1 \
    igraph==1.0.0 pandas==3.1.1
cat >"$work/t.py" <<'PYTHON'
import sys, warnings
import igraph, networkx, numpy as np, osqp, pandas, pyamg, scipy.sparse as sparse, scs
from scipy.sparse import csgraph, linalg
from sklearn.linear_model import Lasso
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.preprocessing import StandardScaler, normalize
warnings.filterwarnings("ignore")
N, eye, one = 30, sparse.csc_matrix(sparse.eye(30)), np.ones(30)
S = sparse.random(N, N, .2, "csr", random_state=1) + 30 * sparse.eye(N, format="csr")
S = (S @ S.T).tocsr()
S.sort_indices()

def halves():
    """The same matrix with every entry in two parts."""
    parts = np.repeat(S.data, 2)
    parts[0::2] *= .25
    parts[1::2] *= .75
    return sparse.csr_matrix((parts, np.repeat(S.indices, 2), S.indptr * 2), shape=S.shape)

def with_osqp(A):
    solver = osqp.OSQP()
    solver.setup(P=eye, q=-one, A=sparse.csc_matrix(A), l=-one, u=one, verbose=False, eps_abs=1e-9, eps_rel=1e-9)
    return solver.solve().x

def with_scs(A):
    return scs.SCS(dict(P=eye, A=sparse.csc_matrix(A), b=one, c=-one), dict(l=N), verbose=False).solve()["x"]

SAME, OTHER, REFUSED = "the same answer", "another answer", "refused"
CASES = [("scipy A @ x", lambda A: A @ np.arange(N), SAME), ("scipy spsolve", lambda A: linalg.spsolve(A, one), SAME),
         ("scipy norm", linalg.norm, SAME), ("scipy csgraph.shortest_path", lambda A: csgraph.shortest_path(A, indices=0), OTHER),
         ("scipy csgraph.minimum_spanning_tree", csgraph.minimum_spanning_tree, OTHER),
         ("scikit-learn normalize", normalize, OTHER), ("scikit-learn StandardScaler", StandardScaler(with_mean=False).fit_transform, OTHER),
         ("scikit-learn cosine_similarity", cosine_similarity, OTHER),
         ("scikit-learn Lasso", lambda A: Lasso(alpha=.1).fit(A, np.arange(N) * 1.).coef_, OTHER),
         ("osqp constraints", with_osqp, OTHER), ("scs constraints", with_scs, REFUSED),
         ("pyamg ruge_stuben_solver", lambda A: pyamg.ruge_stuben_solver(A).solve(one, tol=1e-12), OTHER),
         ("pyamg smoothed_aggregation_solver", lambda A: pyamg.smoothed_aggregation_solver(A).solve(one, tol=1e-12), OTHER),
         ("networkx from_scipy_sparse_array", lambda A: networkx.to_scipy_sparse_array(networkx.from_scipy_sparse_array(A)), OTHER),
         ("igraph Weighted_Adjacency, undirected",
          lambda A: igraph.Graph.Weighted_Adjacency(A, mode="undirected").get_adjacency_sparse("weight"), OTHER),
         ("pandas from_spmatrix", lambda A: pandas.DataFrame.sparse.from_spmatrix(A).to_numpy(), OTHER)]

def dense(value):
    return np.asarray(value.toarray() if sparse.issparse(value) else value, dtype=float)

wrong = 0
for name, function, expected in CASES:
    summed = dense(function(S.copy()))
    try:
        with np.errstate(all="ignore"):
            error = abs(dense(function(halves())) - summed).max() / abs(summed).max()
        seen = SAME if error < 1e-6 else OTHER
    except ValueError:
        error, seen = np.nan, REFUSED
    print(f"{name}: {seen}{f', relative difference {error:.2g}' if seen == OTHER else ''}{'' if seen == expected else ' (CHANGED)'}")
    wrong += seen != expected
sys.exit(wrong > 0)
PYTHON
"$work/v/bin/python" "$work/t.py" 2>/dev/null
