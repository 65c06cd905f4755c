"""spmv.matrix as one of SciPy's sparse matrices: its methods, attributes and operators beside those of csr_array, csc_array,
csr_matrix and csc_matrix, SciPy's functions that take a matrix, and expressions with classes of other packages."""
import copy
import importlib.util
import io
import operator
import os
import pathlib
import pickle
import sys
import unittest
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv"))
if "-san" in PROGRAM.parent.name or not importlib.util.find_spec("scipy"):
    sys.exit(print("Ran 0 tests: there is no SciPy, or the library needs a sanitizer's runtime, which Python has not"))
os.environ["SPMV_LIBRARY"] = str(PROGRAM.parent / "libspmv.so")
sys.path.insert(0, str(ROOT / "src/bindings/python"))

import numpy as np
import scipy.integrate as integrate
import scipy.io
import scipy.linalg
import scipy.optimize as optimize
import scipy.sparse as sparse
import scipy.sparse.csgraph as csgraph
import scipy.sparse.linalg as linalg
import spmv

sparray = getattr(sparse, "sparray", sparse.csr_array.__bases__[0])
CLASSES = sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix
LEFT_OUT = {"eliminate_zeros", "resize", "set_shape", "setdiag"}  # they change a matrix
INHERITED = {"__array_priority__", "__bool__", "__nonzero__", "__len__", "__div__", "__rdiv__", "__idiv__", "__getattr__",
             "__class_getitem__", "__annotations__", "__slots__", "__static_attributes__", "__firstlineno__",
             "__abstractmethods__"}
IS_SYMMETRIC = "eigsh", "cg", "minres", "lobpcg", "hess"  # functions that want it


def facts(x):
    """What two results must have in common."""
    if sparse.issparse(x):
        return "array" if isinstance(x, sparray) else "matrix", x.shape, x.dtype, result(x.toarray)
    if isinstance(x, (list, tuple)):
        return type(x), [facts(each) for each in x]
    if isinstance(x, np.ndarray) and x.dtype == object and x.ndim == 0:
        return "object", facts(x[()])
    return type(x), np.shape(x), getattr(x, "dtype", None), x


def result(function, *arguments):
    """What a call returns, or the type of its exception."""
    try:
        return function(*arguments)
    except Exception as error:
        return type(error)


class Case(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)

    def assert_same(self, x, right):
        self.assert_facts(facts(x), facts(right))

    def assert_facts(self, x, right):
        if isinstance(right, (list, tuple)):
            self.assertEqual(len(x), len(right))
            for each in zip(x, right):
                self.assert_facts(*each)
        elif isinstance(right, (np.ndarray, np.generic, float, complex)) and not isinstance(right, np.str_):
            np.testing.assert_allclose(x, right, rtol=1e-5, atol=1e-6)
        else:
            self.assertEqual(x, right)


def unsorted(scipys):
    """A matrix with entries out of order and a duplicate."""
    return scipys((np.array([1.0, 2, 4, 5, 3]), np.array([1, 0, 1, 1, 0], np.int32), np.array([0, 3, 5], np.int32)),
                  shape=(2, 2))


def matrices():
    """Matrices of every class, of several types and shapes, and those that have neither sorted nor summed entries."""
    for scipys in CLASSES:
        for dtype, shape in ((np.float64, (5, 5)), (np.float64, (0, 3)), (np.float32, (4, 6)), (np.int64, (5, 5)),
                             (np.complex128, (3, 1)), (np.bool_, (1, 3))):
            S = sparse.random(*shape, 0.5, "coo", random_state=2)
            S.data = 4 * S.data - 2 + (1j if dtype == np.complex128 else 0)
            yield scipys(S.astype(dtype))
        yield unsorted(scipys)


def tidy(S):
    S = S.copy()
    S.sum_duplicates()
    return S


class Members(Case):
    def test_all_of_scipys_are_there_but_those_that_are_left_out(self):
        for scipys in CLASSES:
            S = scipys(sparse.random(5, 4, 0.5, random_state=1))
            A = spmv.matrix(S)
            names = {name for name in dir(S) if not name.startswith("_")}
            self.assertEqual({name for name in names if not hasattr(A, name)}, set())
            for name in LEFT_OUT & names:
                with self.assertRaisesRegex(TypeError, f"spmv.matrix: {name} changes entries. Change a copy"):
                    getattr(A, name)(1)
            special = {name for name in dir(S) if name.startswith("__") and name not in dir(object)}
            self.assertLessEqual(special - set(dir(spmv.matrix)), INHERITED)  # else a new operator is to be defined
            self.assertIsInstance(A, scipys)
            self.assertIsInstance(spmv.matrix(source=S), scipys)
            self.assertTrue(sparse.issparse(A) and not callable(A))
            self.assertEqual((A.format, A.T.format), (S.format, S.T.format))
            self.assertIn("5x4 spmv.matrix of float64 with 10 stored", repr(A))

    def test_they_return_what_scipys_do(self):
        rng = np.random.default_rng(1)
        arguments_of = {name: [(1,), (-1,), (9,)] for name in ("getrow", "getcol", "diagonal", "trace")}
        for name in "sum", "mean", "max", "min", "argmax", "argmin", "nanmax", "nanmin", "count_nonzero", "getnnz":
            arguments_of[name] = [(0,), (1,), (-1,), (2,), (None,)]
        for name in "astype", "asformat", "power", "reshape", "tobsr", "toarray":
            arguments_of[name] = [(2,), ("csc",), (np.float32,), (complex,), ((1, -1),), (-1, 1)]
        for S in matrices():
            A, right = spmv.matrix(S), tidy(S)
            others = [(S,), (spmv.matrix(S),), (2,), (0,), (rng.standard_normal(S.shape),), (np.ones(7),), (None,)]
            known = arguments_of | dict.fromkeys(("multiply", "maximum", "minimum"), others)
            for name in dir(S):
                if name.startswith("_") or name in LEFT_OUT | {"dot", "transpose", "conj", "conjugate", "getH", "H", "T"}:
                    continue
                for arguments in known.get(name, []) + [()]:
                    with self.subTest(name=name, arguments=arguments, of=type(S), dtype=S.dtype, shape=S.shape):
                        found = getattr(A, name)
                        if not callable(found):
                            self.assert_same(found, getattr(right, name))
                            continue
                        y = result(found, *arguments)
                        self.assert_same(y, result(getattr(right.copy(), name), *arguments))
                        if sparse.issparse(y):
                            self.assertNotIsInstance(y, spmv.matrix)
                            if y.nnz and hasattr(y, "data") and isinstance(y.data, np.ndarray):
                                y.data[...] = 0  # it has arrays of its own
            self.assert_same(A, right)
            self.assert_same(S.toarray(), right.toarray())

    def test_operators_return_what_scipys_do(self):
        rng = np.random.default_rng(2)
        two = operator.add, operator.sub, operator.mul, operator.truediv, operator.matmul, operator.pow
        compare = operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge
        for S in matrices():
            A, S = spmv.matrix(S), tidy(S)
            n, m = S.shape
            others = [2, 0, 0.5, 2j, np.float32(2), np.array(3.0), np.ones(n), np.ones((m, 3)), np.ones((3, n)), [1.0] * m,
                      rng.standard_normal((n, m)), S, S.T, S.tocoo()]
            if hasattr(sparse, "sparray"):  # before, csr_array is a csr_matrix
                others += [sparse.csr_array(S), sparse.csr_matrix(S)]
            if not isinstance(S, sparray):  # a product of an spmv.matrix is a np.matrix, if x is
                others += [np.asmatrix(np.ones((m, n)))]
            for operate in two + compare:
                pairs = [(A, other, S, other) for other in others] + [(other, A, other, S) for other in others]
                pairs += [(A, A, S, S), (A.T, A, S.T, S), (A, A.T, S, S.T), (A.T, A.T, S.T, S.T)]
                for left, right, *scipys in pairs:
                    if operate is operator.pow and sparse.issparse(right):
                        continue  # a shape that does not fit, in messages of several types
                    with self.subTest(operate=operate, of=type(S), dtype=S.dtype, shape=S.shape, left=left, right=right):
                        y = result(operate, left, right)
                        self.assert_same(y, result(operate, *scipys))
                        if sparse.issparse(y) and A is left:
                            self.assertEqual(isinstance(y, spmv.matrix), operate in two)
            for operate in (operator.neg, abs, round, bool, len, list, np.sqrt, np.conj, np.abs, np.asarray, np.real,
                            copy.deepcopy):
                with self.subTest(operate=operate, of=type(S), dtype=S.dtype, shape=S.shape):
                    self.assert_same(result(operate, A), result(operate, S))
            for key in ((0, 0), (slice(0, 1),), slice(1, 3), (..., 0), ([0, 1], [1, 0]), [0], (slice(None), [0]), slice(None),
                        "a"):
                with self.subTest(key=key, of=type(S), dtype=S.dtype, shape=S.shape):
                    self.assert_same(result(operator.getitem, A, key), result(operator.getitem, S, key))
            self.assert_same(pickle.loads(pickle.dumps(A)), S)

    def test_expressions_are_matrices_again(self):
        S = sparse.csr_matrix(sparse.random(40, 40, 0.2, random_state=4))
        x = np.random.default_rng(3).standard_normal(40)
        for scipys in CLASSES:
            A, right = spmv.matrix(scipys(S)), scipys(S)
            for each in ("2 * A", "A * 2", "A / 2", "-A", "A.T @ A", "A + A.T", "A - A", "A ** 2", "A @ right", "right @ A",
                         "A + right", "right + A", "A.dot(A)",
                         "A.conj()", "A.transpose(copy=True)", "A.T", "A.dot(2)", "(1j * A).T.conj()"):
                with self.subTest(each=each, of=scipys):
                    B, T = (eval(each, {"A": A, "right": right}), eval(each, {"A": right, "right": right}))
                    self.assertIsInstance(B, spmv.matrix)
                    self.assert_same(B, T)
                    before = spmv.stats()["library"]
                    self.assert_same(B @ x, T @ x)
                    self.assertEqual(spmv.stats()["library"] - before, B.dtype.kind != "c")
            B = A
            B *= 2
            B += A
            self.assert_same(B, 3 * right)
            self.assert_same(A, right)

    def test_entries_cannot_be_changed_but_by_values(self):
        for scipys in CLASSES:
            S = scipys(sparse.random(6, 5, 0.5, random_state=5))
            A, right = spmv.matrix(S), S.copy()
            for B in A, A.T:
                for name in "data", "indices", "indptr":
                    with self.assertRaisesRegex(ValueError, "read-only"):
                        getattr(B, name)[0] = 5
                    setattr(B, name, getattr(B, name).astype(float))  # as packages do that convert arrays
                    for other in getattr(B, name) + 1, getattr(B, name)[1:]:
                        with self.assertRaisesRegex(TypeError, f"A.{name} = ... changes entries"):
                            setattr(B, name, other)
                for name in "shape", "dtype", "format":
                    with self.assertRaises(AttributeError):
                        setattr(B, name, getattr(S, name))
                with self.assertRaisesRegex(TypeError, "changes entries"):
                    B[0, 0] = 1
            self.assert_same(A, right)
            A.values[...] = 2
            right.data[...] = 2
            self.assert_same(A, right)
            self.assert_same(A.T, right.T)
            np.testing.assert_array_equal(A.data, right.data)

    def test_its_class_makes_what_scipys_class_makes(self):
        for scipys in CLASSES:
            S = scipys(sparse.random(4, 6, 0.5, random_state=6))
            coo = S.tocoo()
            for arguments in (((S.data, S.indices, S.indptr),), ((coo.data, (coo.row, coo.col)),), (S.toarray(),), (S.tocsc(),),
                              ((4, 6),)):
                for options in {}, {"shape": (4, 6)}, {"dtype": np.float32}, {"copy": True}:
                    if not isinstance(arguments[0], tuple) or "shape" in options or len(arguments[0]) == 3:
                        made = spmv.matrix(S).__class__(*arguments, **options)
                        self.assertIs(type(made), scipys)
                        self.assert_same(made, scipys(*arguments, **options))

    def test_classes_may_be_derived_from_it(self):
        class Mine(spmv.matrix):
            pass
        A = Mine(sparse.eye(3, format="csc"))
        self.assertTrue(isinstance(A, Mine) and sparse.issparse(A))
        np.testing.assert_array_equal(A @ np.ones(3), np.ones(3))


def written(write, M):
    file = io.BytesIO()
    write(file, M)
    return len(file.getvalue()) > 0


def minimum(M, b, **options):
    return optimize.minimize(lambda x: x @ x, np.ones(len(b)), method="trust-constr", options={"maxiter": 5}, **options).x


def differential(M, method, jac):
    return integrate.solve_ivp(lambda t, y: -(M @ y), (0, 0.1), np.ones(M.shape[0]), method=method, jac=jac).y


FUNCTIONS = {
    "expm": lambda M, b: linalg.expm(M),
    "expm_triangular": lambda M, b: linalg.expm(M),
    "inv": lambda M, b: linalg.inv(M),
    "expm_multiply": lambda M, b: linalg.expm_multiply(M, b),
    "norm": lambda M, b: [linalg.norm(M, each) for each in (None, 1, np.inf, "fro")],
    "onenormest": lambda M, b: linalg.onenormest(M),
    "spsolve": lambda M, b: [linalg.spsolve(M, b), linalg.spsolve(M, M)],
    "spsolve_triangular": lambda M, b: linalg.spsolve_triangular(sparse.tril(M, format="csr"), b),
    "splu": lambda M, b: [linalg.splu(M).solve(b), linalg.spilu(M).solve(b), linalg.factorized(M)(b)],
    "lsqr": lambda M, b: [linalg.lsqr(M, b)[0], linalg.lsmr(M, b)[0]],
    "gmres": lambda M, b: [linalg.gmres(M, b)[0], linalg.bicgstab(M, b)[0], linalg.bicg(M, b)[0], linalg.qmr(M, b)[0]],
    "cg": lambda M, b: [linalg.cg(M, b)[0], linalg.cg(linalg.aslinearoperator(M), b, M=M)[0]],
    "minres": lambda M, b: linalg.minres(M, b)[0],
    "eigs": lambda M, b: [np.sort_complex(linalg.eigs(M, 3, v0=b, sigma=each, return_eigenvectors=False))
                          for each in (None, 0.9)],
    "eigsh": lambda M, b: [linalg.eigsh(M, 3, v0=b, sigma=each, return_eigenvectors=False) for each in (None, 0.9)],
    "lobpcg": lambda M, b: linalg.lobpcg(M, b[:, None].copy(), maxiter=3)[0],
    "svds": lambda M, b: np.sort(linalg.svds(M, 2, v0=b, return_singular_vectors=False)),
    "aslinearoperator": lambda M, b: [linalg.aslinearoperator(M) @ b, linalg.aslinearoperator(M).H @ b,
                                      linalg.aslinearoperator(M).rmatmat(np.eye(len(b)))],
    "stacks": lambda M, b: [sparse.hstack([M, M]), sparse.vstack([M, M.T]), sparse.bmat([[M, None], [None, M]]), sparse.kron(M, M),
                            sparse.kronsum(M, M), sparse.tril(M), sparse.triu(M), sparse.block_diag([M, M])],
    "find": lambda M, b: list(sparse.find(M)),
    "constructors": lambda M, b: [getattr(sparse, f"{format}_{kind}")(M, copy=copy) for copy in (True, False)
                                  for format in ("csr", "csc", "coo", "bsr", "dia", "dok", "lil") for kind in ("array", "matrix")],
    "files": lambda M, b: [written(sparse.save_npz, M), written(scipy.io.mmwrite, M),
                           written(lambda file, M: scipy.io.savemat(file, {"M": M}), M)],
    "paths": lambda M, b: [csgraph.shortest_path(M), csgraph.dijkstra(M), csgraph.floyd_warshall(M), csgraph.bellman_ford(M),
                           csgraph.johnson(M), csgraph.csgraph_to_dense(M)],
    "searches": lambda M, b: [csgraph.connected_components(M), csgraph.breadth_first_order(M, 0), csgraph.depth_first_order(M, 0),
                              csgraph.breadth_first_tree(M, 0), csgraph.minimum_spanning_tree(M)],
    "laplacian": lambda M, b: [csgraph.laplacian(M), csgraph.laplacian(M, normed=True)],
    "reverse_cuthill_mckee": lambda M, b: csgraph.reverse_cuthill_mckee(M),
    "min_weight_full_bipartite_matching": lambda M, b: list(csgraph.min_weight_full_bipartite_matching(M)),
    "solve_ivp": lambda M, b: [differential(M, method, jac) for method in ("BDF", "Radau") for jac in (-M, lambda t, y: -M)],
    "jac_sparsity": lambda M, b: integrate.solve_ivp(lambda t, y: -(M @ y), (0, 0.1), b, method="BDF", jac_sparsity=M).y,
    "least_squares": lambda M, b: [optimize.least_squares(lambda x: M @ x - b, b, **options).x
                                   for options in ({"jac": lambda x: M}, {"jac_sparsity": M})],
    "lsq_linear": lambda M, b: optimize.lsq_linear(M, b).x,
    "linprog": lambda M, b: optimize.linprog(b, A_ub=-M, b_ub=-b).x,
    "constraints": lambda M, b: minimum(M, b, constraints=[optimize.LinearConstraint(M, b, np.inf), optimize.NonlinearConstraint(
        lambda x: M @ x, b, np.inf, jac=lambda x: M)]),
    "hess": lambda M, b: minimum(M, b, jac=lambda x: 2 * x, hess=lambda x: M),
    "newton_krylov": lambda M, b: optimize.newton_krylov(lambda x: x - b, b + 1, inner_M=M),
}


class Functions(Case):
    """SciPy's functions that take a sparse matrix."""

    def test_they_take_it(self):
        n = 12
        S = sparse.random(n, n, 0.3, "csr", random_state=7) + 4 * sparse.identity(n)
        b = np.random.default_rng(8).random(n) + 1
        for scipys in CLASSES:
            for name, function in FUNCTIONS.items():
                with self.subTest(name=name, of=scipys):
                    right = scipys(S + S.T if name in IS_SYMMETRIC else sparse.triu(S) if "triangular" in name else S)
                    A = spmv.matrix(right)
                    y = result(function, A, b)
                    self.assert_same(y, result(function, right.copy(), b))
                    if not isinstance(right, sparray):  # SciPy before 1.14 refuses some arrays itself
                        self.assertNotIsInstance(y, type)
                    self.assert_same(A, right)

    def test_entries_that_are_not_summed_stay_as_they_are(self):
        for scipys in CLASSES:
            S = unsorted(scipys)
            A, right = spmv.matrix(S), S.toarray()
            for function in abs, lambda M: M.max(), lambda M: M.sum(), linalg.norm, linalg.splu, linalg.expm, csgraph.shortest_path:
                function(A), function(A.T)
                np.testing.assert_allclose(A @ np.ones(2), right.sum(axis=1))
                np.testing.assert_allclose(A.T @ np.ones(2), right.sum(axis=0))
            self.assertEqual((S.nnz, len(A.values)), (5, 5))
            A.values[0] += 10
            right[S.tocoo().row[0], S.tocoo().col[0]] += 10
            np.testing.assert_array_equal(A.toarray(), right)

    def test_their_products_run_in_the_library(self):
        S = sparse.csr_array(sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(40, 40)))
        A, b = spmv.matrix(S), np.ones(40)
        for solve in linalg.cg, linalg.gmres, linalg.bicg, linalg.lsqr, linalg.eigsh, linalg.svds, linalg.expm_multiply:
            before = spmv.stats()
            solve(A) if solve in (linalg.eigsh, linalg.svds) else solve(A, b)
            after = spmv.stats()
            self.assertGreater(after["library"], before["library"], solve)
            self.assertEqual(after["scipy"], before["scipy"], solve)

    def test_operators_are_composed_with_it(self):
        S, x = sparse.csr_array(sparse.random(9, 9, 0.4, random_state=9)), np.ones(9)
        A, L = spmv.matrix(S), linalg.aslinearoperator(sparse.identity(9))
        for B, right in ((A + L, S @ x + x), (L + A, S @ x + x), (A - L, S @ x - x), (L - A, x - S @ x), (A @ L, S @ x),
                         (A.dot(L), S @ x)):
            self.assertIsInstance(B, linalg.LinearOperator)
            np.testing.assert_allclose(B @ x, right)


class Expression:
    """An expression of a package that takes SciPy's matrices as constants. It is no array."""

    def said(name):
        return lambda self, *others: (name, *others)

    for name in "add", "radd", "sub", "rsub", "mul", "rmul", "matmul", "rmatmul", "truediv", "rtruediv":
        locals()[f"__{name}__"] = said(name)
    shape, ndim = (5,), 1


class Declared(Expression):
    __array_ufunc__ = None

    def __array__(self, *_, **__):
        return np.ones(5)


class Others(Case):
    def test_operators_of_other_packages_come_first(self):
        for scipys in CLASSES:
            A = spmv.matrix(scipys(sparse.identity(5)))
            for B in A, A.T, A * 2, A + A:
                for v in Expression(), Declared():
                    for operate, forward, back in ((operator.add, "add", "radd"), (operator.sub, "sub", "rsub"),
                                                   (operator.mul, "mul", "rmul"), (operator.matmul, "matmul", "rmatmul"),
                                                   (operator.truediv, "truediv", "rtruediv")):
                        self.assertEqual(operate(B, v)[0], back)
                        self.assertIs(operate(B, v)[1], B)
                        self.assertEqual(operate(v, B)[0], forward)
                    self.assertEqual(B.dot(v)[0], "rmatmul")

    def test_objects_without_operators_are_refused(self):
        A = spmv.matrix(sparse.identity(5, format="csr"))
        for other in object(), None, {}:
            for operate in operator.add, operator.matmul, operator.mul, operator.sub:
                for pair in (A, other), (other, A):
                    with self.assertRaises(TypeError):
                        operate(*pair)


if __name__ == "__main__":
    unittest.main()
