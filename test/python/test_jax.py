"""spmv.jax: products inside JAX's transformations, beside JAX's own BCOO and NumPy's. On the CPU, or in build/cuda on a GPU:

    make test-jax PYTHON=…      # a Python with JAX; PROGRAMS=10000: number of random programs
"""
import copy
import gc
import importlib.util
import os
import pathlib
import pickle
import subprocess
import sys
import threading
import unittest
import weakref

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv"))
if not importlib.util.find_spec("jax") or not importlib.util.find_spec("scipy"):
    sys.exit(print("Ran 0 tests: this Python has no JAX, or no SciPy"))
if not PROGRAM.with_name("libspmv_jax.so").exists():
    sys.exit(print(f"Ran 0 tests: there is no {PROGRAM.with_name('libspmv_jax.so')} (make test-jax)"))
ON_GPU = PROGRAM.parent.name.startswith("cuda") and os.path.exists("/dev/nvidia0")
if not ON_GPU:
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
else:
    os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = "0.3"  # tests start other processes
os.environ["SPMV_LIBRARY"] = str(PROGRAM.with_name("libspmv.so"))
sys.path.insert(0, str(ROOT / "src/bindings/python"))

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
import spmv.jax
from jax.experimental import sparse
from jax.test_util import check_grads

jax.config.update("jax_enable_x64", True)
SHAPES = (300, 300), (40, 1000), (1000, 40), (1, 7), (7, 1), (0, 0), (0, 4), (4, 0), (5, 5)
PROGRAMS = int(os.environ.get("PROGRAMS", 200))
rng = np.random.default_rng(20)


def random_matrix(rows, cols, dtype=np.float64, density=0.05):
    made = scipy.sparse.random(rows, cols, density, "csr", random_state=rng)
    made.data -= 0.5
    return made.astype(dtype)


def numbers(*shape, dtype=np.float64):
    return rng.standard_normal(shape).astype(dtype)


class Case(unittest.TestCase):
    def assert_close(self, y, right, size=None):
        """size: of the sums that were made, without their signs."""
        y, right = np.asarray(y), np.asarray(right)
        self.assertEqual(y.shape, right.shape)
        bound = 64 * np.finfo(y.dtype).eps * (np.abs(right) if size is None else size) + 1e-30
        self.assertTrue((np.abs(y - right) <= bound).all(), f"{y} is not {right}")

    def assert_product(self, y, S, x):
        self.assert_close(y, S.astype(np.float64) @ x.astype(np.float64), abs(S) @ abs(x))


class Products(Case):
    def test_all_ways_in_both_types_and_of_every_shape(self):
        for shape in SHAPES:
            for dtype in np.float64, np.float32:
                S = random_matrix(*shape, dtype)
                A = spmv.jax.matrix(S)
                x, X, u, U = (numbers(*n, dtype=dtype) for n in ((shape[1],), (shape[1], 8), (shape[0],), (shape[0], 3)))
                for wrap in jax.jit, lambda f: f:
                    for B in A, A.with_values(A.values):
                        with self.subTest(shape=shape, dtype=dtype, jit=wrap is jax.jit, constant=B is A):
                            self.assert_product(wrap(lambda z: B @ z)(x), S, x)
                            self.assert_product(wrap(lambda z: B @ z)(X), S, X)
                            self.assert_product(wrap(lambda z: B.T @ z)(u), S.T, u)
                            self.assert_product(wrap(lambda z: B.T @ z)(U), S.T, U)
                            self.assert_product(wrap(lambda z: z @ B)(u), S.T, u)
                            self.assert_product(np.asarray(wrap(lambda z: z @ B)(U.T)).T, S.T, U)
                            self.assertEqual((B @ x).dtype, dtype)
                            many = wrap(jax.vmap(lambda z: B @ z))(np.stack([X, 2 * X]))
                            self.assert_product(many[1] / 2, S, X)

    def test_long_rows_of_traced_values(self):
        rows, cols = 40, 100_000
        lengths = np.full(rows, 3)
        lengths[[0, 7, 8, 39]] = 70_000, 100_000, 66_000, 65_536  # the last one is not cut
        columns = np.concatenate([np.sort(rng.choice(cols, n, replace=False)) for n in lengths])
        S = scipy.sparse.csr_array((numbers(len(columns)), columns, np.append(0, np.cumsum(lengths))), shape=(rows, cols))
        for dtype in np.float64, np.float32:
            A = spmv.jax.matrix(S.astype(dtype))
            x, X, u = numbers(cols, dtype=dtype), numbers(cols, 3, dtype=dtype), numbers(rows, dtype=dtype)
            f = jax.jit(lambda A, x: A @ x)
            self.assertEqual(f.lower(A, x).as_text().count("@spmv_product"), 2)
            for y in f(A, x), f(spmv.jax.matrix(S.T.astype(dtype)).T, x), A.with_values(A.values) @ x:
                self.assert_product(y, S, x)
            self.assert_product(f(A, X), S, X)
            self.assert_product(f(A.T, u), S.T, u)
            self.assert_close(jax.grad(lambda A: (A @ x) @ u)(A).values, np.repeat(u, lengths) * x[columns])

    def test_sources(self):
        S = random_matrix(30, 20)
        x = numbers(20)
        for kind in "csr", "csc", "coo", "bsr", "dia", "lil", "dok":
            self.assert_product(spmv.jax.matrix(S.asformat(kind)) @ x, S, x)
        wide = scipy.sparse.csr_array((S.data, S.indices.astype(np.int64), S.indptr.astype(np.int64)), shape=S.shape)
        self.assert_product(spmv.jax.matrix(wide) @ x, S, x)
        twice = scipy.sparse.csr_array(([1.0, 2.0, 4.0], [1, 1, 0], [0, 3, 3]), shape=(2, 2))
        for A in spmv.jax.matrix(twice), spmv.jax.matrix(twice).with_values(twice.data):
            self.assertEqual((A @ np.array([1.0, 10.0])).tolist(), [34.0, 0.0])
            self.assertEqual((A.T @ np.array([1.0, 10.0])).tolist(), [4.0, 3.0])

    def test_the_source_may_change_afterwards(self):
        S = random_matrix(30, 20)
        kept, x = S.copy(), numbers(20)
        A = spmv.jax.matrix(S)
        S.data[:] = 0
        S.indices[:] = 0
        self.assert_product(A @ x, kept, x)
        self.assert_product(A.with_values(A.values) @ x, kept, x)

    def test_bcsr_and_bcoo_with_duplicates_and_padding(self):
        S = random_matrix(30, 20)
        x = numbers(20)
        for made in sparse.BCSR.from_scipy_sparse(S), sparse.BCOO.from_scipy_sparse(S):
            self.assert_product(spmv.jax.from_jax(made) @ x, S, x)
            y = jax.jit(lambda data: spmv.jax.from_jax(type(made)((data, *list(made.tree_flatten()[0])[1:]), shape=made.shape)) @ x
                        )(made.data) if isinstance(made, sparse.BCSR) else \
                jax.jit(lambda data: spmv.jax.from_jax(sparse.BCOO((data, made.indices), shape=made.shape)) @ x)(made.data)
            self.assert_product(y, S, x)
        padded = sparse.BCOO((np.array([1.0, 2.0, 4.0, 8.0]), np.array([[1, 1], [0, 0], [1, 1], [2, 2]])), shape=(2, 2))
        self.assertEqual((spmv.jax.from_jax(padded) @ np.array([1.0, 10.0])).tolist(), [2.0, 50.0])
        padded = sparse.BCSR((np.array([1.0, 2.0, 4.0]), np.array([1, 0, 2]), np.array([0, 1, 2])), shape=(2, 2))
        self.assertEqual((spmv.jax.from_jax(padded) @ np.array([1.0, 10.0])).tolist(), [10.0, 2.0])

    def test_types_are_joined_as_jax_joins_them(self):
        S = random_matrix(30, 20, np.float32)
        A = spmv.jax.matrix(S)
        self.assertEqual((A @ numbers(20)).dtype, np.float64)
        self.assertEqual((A @ np.arange(20)).dtype, jnp.promote_types(np.float32, np.int64))
        self.assertEqual((A.with_values(A.values) @ numbers(20)).dtype, np.float64)

    def test_without_x64_everything_is_f32(self):
        S, x = random_matrix(30, 20), numbers(20)
        code = ("import sys, numpy as np, scipy.sparse as s, spmv.jax; S = s.random_array((30, 20), density=0.1, rng=1).tocsr(); "
                "y = spmv.jax.matrix(S) @ np.ones(20); assert y.dtype == np.float32; "
                "assert np.allclose(y, S @ np.ones(20), rtol=1e-5)")
        subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": sys.path[0]})


class Transformations(Case):
    def setUp(self):
        self.S = random_matrix(30, 20, density=0.2)
        self.A = spmv.jax.matrix(self.S)
        self.x, self.X, self.u = numbers(20), numbers(20, 3), numbers(30)

    def test_gradients_to_second_order(self):
        A, S, x, X, u = self.A, self.S, self.x, self.X, self.u
        for f, at in ((lambda x: A @ x, (x,)), (lambda x: jnp.sin(A @ x), (x,)), (lambda X: jnp.sin(A @ X), (X,)),
                      (lambda u: jnp.sin(u @ A), (u,)), (lambda u: jnp.sin(A.T @ u), (u,)),
                      (lambda v, x: jnp.sin(A.with_values(v) @ x), (A.values, x)),
                      (lambda v, X: jnp.sin(A.with_values(v) @ X), (A.values, X)),
                      (lambda v, u: jnp.sin(A.with_values(v).T @ u), (A.values, u)),
                      (lambda x: jax.vmap(lambda z: jnp.sin(A @ z))(x), (X.T,))):
            check_grads(f, at, 2, modes=["fwd", "rev"])
            check_grads(jax.jit(f), at, 2, modes=["fwd", "rev"])
        self.assert_close(jax.grad(lambda x: (A @ x) @ u)(x), S.T @ u, abs(S.T) @ abs(u))
        self.assert_close(jax.jacrev(lambda x: A @ x)(x), S.toarray())
        self.assert_close(jax.jacfwd(lambda x: A @ x)(x), S.toarray())
        self.assert_close(jax.hessian(lambda x: ((A @ x) ** 2).sum() / 2)(x), (S.T @ S).toarray(), (abs(S.T) @ abs(S)).toarray())

    def test_the_gradient_of_a_matrix_is_one(self):
        found = jax.grad(lambda A: (A @ self.x) @ self.u)(self.A)
        rows = np.repeat(np.arange(30), np.diff(self.S.indptr))
        self.assert_close(found.values, self.u[rows] * self.x[self.S.indices])
        self.assertIs(type(found), spmv.jax.matrix)

    def test_a_batch_is_one_product(self):
        A, S, X = self.A, self.S, self.X
        for f, B in ((lambda z: A @ z, S), (lambda z: A.with_values(A.values) @ z, S)):
            text = str(jax.make_jaxpr(jax.vmap(f))(X.T))
            self.assertEqual(text.count("spmv_"), 1, text)
            self.assertNotIn("scan", text)
            self.assert_close(jax.vmap(f)(X.T), (B @ X).T, (abs(B) @ abs(X)).T)
            self.assert_close(jax.vmap(f, in_axes=1, out_axes=1)(X), B @ X, abs(B) @ abs(X))
            deep = jax.vmap(jax.vmap(f))(jnp.stack([X.T, 2 * X.T]))
            self.assert_close(deep[1], 2 * (B @ X).T, 2 * (abs(B) @ abs(X)).T)
        self.assert_close(jax.vmap(lambda Z: A @ Z)(jnp.stack([X, 3 * X]))[1], 3 * (S @ X), 3 * (abs(S) @ abs(X)))
        self.assertEqual(jax.vmap(lambda z: A @ z)(np.ones((0, 20))).shape, (0, 30))

    def test_a_batch_of_values(self):
        A, S, x = self.A, self.S, self.x
        values = jnp.stack([A.values, 2 * A.values])
        size = abs(S) @ abs(x)
        self.assert_close(jax.vmap(lambda v: A.with_values(v) @ x)(values)[1], 2 * (S @ x), 2 * size)
        self.assert_close(jax.vmap(lambda v, z: A.with_values(v) @ z)(values, jnp.stack([x, -x]))[1], -2 * (S @ x), 2 * size)
        many = jax.vmap(lambda v: jax.grad(lambda v: ((A.with_values(v) @ x) ** 2).sum())(v))(values)
        self.assert_close(many[1], 2 * many[0])
        batch = jax.vmap(lambda A, z: A @ z)(jax.tree_util.tree_map(lambda v: jnp.stack([v, 3 * v]), A), jnp.stack([x, x]))
        self.assert_close(batch[1], 3 * (S @ x), 3 * size)

    def test_loops(self):
        n = 60
        S = scipy.sparse.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(n, n)).tocsr()
        A, b = spmv.jax.matrix(S), numbers(n)
        for solve in (jax.jit(lambda b: jax.scipy.sparse.linalg.cg(lambda z: A @ z, b, tol=1e-12)[0]),
                      lambda b: jax.jit(lambda A, b: jax.scipy.sparse.linalg.cg(A.dot, b, tol=1e-12)[0])(A, b)):
            self.assertTrue(np.allclose(S @ np.asarray(solve(b)), b, atol=1e-10))
        d = jax.grad(lambda b: jax.scipy.sparse.linalg.cg(A.dot, b, tol=1e-12)[0].sum())(b)
        self.assertTrue(np.allclose(S.T @ np.asarray(d), 1, atol=1e-9))
        y, _ = jax.lax.scan(lambda c, _: (A @ c, None), b, None, length=3)
        self.assertTrue(np.allclose(y, S @ (S @ (S @ b))))
        y = jax.lax.fori_loop(0, 3, lambda _, c: A @ c, b)
        self.assertTrue(np.allclose(y, S @ (S @ (S @ b))))
        y = jax.lax.while_loop(lambda c: jnp.linalg.norm(c) < 1e3, lambda c: A @ c, b)
        self.assertGreaterEqual(np.linalg.norm(y), 1e3)
        d = jax.grad(lambda b: jax.lax.scan(lambda c, _: (jnp.tanh(A @ c), None), b, None, length=2)[0].sum())(b)
        self.assertTrue(np.isfinite(d).all())
        self.assert_close(jax.lax.cond(True, lambda z: A @ z, lambda z: z, b), S @ b, abs(S) @ abs(b))
        self.assert_close(jax.checkpoint(lambda z: A @ z)(b), S @ b, abs(S) @ abs(b))


class BesideDense(Case):
    """The same function of our matrix and of a dense one. Values are an argument."""

    def setUp(self):
        self.S = random_matrix(12, 9, density=0.3)
        self.A = spmv.jax.matrix(self.S)
        self.v, self.x, self.X, self.u = self.A.values, jnp.asarray(numbers(9)), jnp.asarray(numbers(9, 3)), jnp.asarray(numbers(12))

    def check(self, f, *operands):
        """f(matrix, *operands), in which matrix makes one of values."""
        own, dense = self.A.with_values, lambda v: jnp.zeros(self.S.shape).at[self.S.nonzero()].set(v, unique_indices=True)
        right = jax.tree_util.tree_leaves(f(dense, *operands))
        for way in f, jax.jit(f, static_argnums=0):
            for y, r in zip(jax.tree_util.tree_leaves(way(own, *operands)), right, strict=True):
                self.assertEqual(y.shape, r.shape)
                self.assertTrue(np.allclose(y, r, 1e-9, 1e-9), f"{y} is not {r}")

    def test_batches_of_values_and_of_vectors(self):
        v, x, X, u = (jnp.stack([z, 2 * z, -z]) for z in (self.v, self.x, self.X, self.u))
        for of_v, of_x in (0, 0), (0, None), (None, 0):
            one = lambda z, axis: z if axis == 0 else z[1]
            for f, z in ((lambda M, v, x: M(v) @ x, x), (lambda M, v, x: M(v) @ x, X), (lambda M, v, u: M(v).T @ u, u),
                         (lambda M, v, u: u @ M(v), u), (lambda M, v, x: jax.grad(lambda v: ((M(v) @ x) ** 2).sum())(v), X)):
                self.check(lambda M, v, z: jax.vmap(lambda v, z: f(M, v, z), (of_v, of_x))(v, z), one(v, of_v), one(z, of_x))
        self.check(lambda M, v, x: jax.vmap(jax.vmap(lambda v, x: M(v) @ x, (0, None)), (None, 0), 1)(v, x), v, x)

    def test_jacobians(self):
        f = lambda M, v, x: jnp.sin(M(v) @ x)
        for outer in jax.jacfwd, jax.jacrev:
            self.check(lambda M, v, X: outer(lambda v: M(v) @ X)(v), self.v, self.X)
            for inner in jax.jacfwd, jax.jacrev:
                self.check(lambda M, v, x: outer(inner(lambda v, x: f(M, v, x), 0), 1)(v, x), self.v, self.x)
        self.check(lambda M, v, x: jax.hessian(lambda v, x: (f(M, v, x) ** 2).sum(), (0, 1))(v, x), self.v, self.x)

    def test_transposes_and_own_derivatives(self):
        self.check(lambda M, v, x, u: jax.linear_transpose(lambda x: M(v) @ x, x)(u), self.v, self.x, self.u)
        self.check(lambda M, v, x, u: jax.linear_transpose(lambda v: M(v) @ x, v)(u), self.v, self.x, self.u)
        self.check(lambda M, v, x: jax.grad(jax.checkpoint(lambda v: jnp.sin(M(v) @ x).sum()))(v), self.v, self.x)

        def own_vjp(M, v, x):
            f = jax.custom_vjp(lambda v, x: M(v) @ x)
            f.defvjp(lambda v, x: (M(v) @ x, (v, x)), lambda kept, u: (0 * kept[0], 2 * (M(kept[0]).T @ u)))
            return jax.grad(lambda v, x: f(v, x).sum(), (0, 1))(v, x)
        self.check(own_vjp, self.v, self.x)

    def test_loops_that_carry_values(self):
        self.check(lambda M, v, x: jax.lax.scan(lambda c, _: ((c[0] / 2, jnp.tanh(M(c[0]).T @ (M(c[0]) @ c[1]))), c[1]), (v, x), None,
                                                length=3), self.v, self.x)
        self.check(lambda M, v, x: jax.grad(lambda v: jax.lax.scan(lambda c, v: (M(v).T @ (M(v) @ c), None), x, v)[0].sum())(v),
                   jnp.stack([self.v, self.v / 2]), self.x)
        self.check(lambda M, v, x: jax.lax.while_loop(lambda c: c[1] < 3, lambda c: (M(v).T @ (M(v) @ c[0]), c[1] + 1), (x, 0)),
                   self.v, self.x)

    def test_solvers(self):
        n = self.S.shape[1]
        self.S = scipy.sparse.csr_array(self.S.T @ self.S + 4 * scipy.sparse.eye_array(n))
        self.A = spmv.jax.matrix(self.S)
        for solve in jax.scipy.sparse.linalg.cg, jax.scipy.sparse.linalg.gmres, jax.scipy.sparse.linalg.bicgstab:
            f = lambda M, v, b: solve(lambda z: M(v) @ z, b, tol=1e-13)[0]
            self.check(f, self.A.values, self.x)
            self.check(lambda M, v, b: jax.grad(lambda v, b: (f(M, v, b) ** 2).sum(), (0, 1))(v, b), self.A.values, self.x)

    def test_operands_that_are_given_away(self):
        f = jax.jit(lambda M, z: (M.with_values(2 * M.values), M.T @ (M @ z)), donate_argnums=(0, 1))
        twice, y = f(self.A.with_values(self.v + 0), self.x + 0)
        self.assert_close(y, self.S.T @ (self.S @ self.x), abs(self.S).T @ (abs(self.S) @ abs(self.x)))
        self.assert_product(twice @ self.x / 2, self.S, self.x)

    def test_with_jit_disabled(self):
        with jax.disable_jit():
            self.assert_product(self.A @ self.x, self.S, self.x)
            self.check(lambda M, v, u: jax.grad(lambda v: (M(v).T @ u).sum())(v), self.v, self.u)


class Values(Case):
    def test_other_values_as_an_argument_are_not_traced_again(self):
        S, x = random_matrix(30, 20), numbers(20)
        A, traces = spmv.jax.matrix(S), []

        @jax.jit
        def f(A, x):
            traces.append(1)
            return A @ x

        for factor in 1, 2, 3:
            B = A.with_values(factor * A.values)
            self.assert_close(f(B, x), factor * (S @ x), factor * (abs(S) @ abs(x)))
        self.assertEqual(len(traces), 1)
        self.assert_product(f(A, x), S, x)

    def test_trees(self):
        A = spmv.jax.matrix(random_matrix(30, 20))
        leaves, named = jax.tree_util.tree_flatten(A)
        self.assertEqual(len(leaves), 1)
        B = jax.tree_util.tree_unflatten(named, leaves)
        self.assertEqual(jax.tree_util.tree_structure(B), named)
        self.assertEqual((B.shape, B.nnz, B.dtype, B.T.shape), ((30, 20), A.nnz, A.dtype, (20, 30)))
        jax.tree_util.tree_unflatten(named, [object()])  # JAX does that

    def test_copies_and_other_processes(self):
        S, x, u = random_matrix(30, 20), numbers(20), numbers(30)
        A = spmv.jax.matrix(S)
        self.assert_product(A @ x, S, x)  # makes a plan, which is no part of a copy
        code = ("import pickle, sys, jax; jax.config.update('jax_enable_x64', True); A, B, x, u = pickle.load(sys.stdin.buffer); "
                "sys.stdout.buffer.write(pickle.dumps([A @ x, A @ x[:, None], A.T @ u, B @ u]))")
        done = subprocess.run([sys.executable, "-c", code], check=True, input=pickle.dumps((A, A.with_values(A.values).T, x, u)),
                              capture_output=True, env={**os.environ, "PYTHONPATH": sys.path[0]})
        y, Y, z, t = pickle.loads(done.stdout)
        self.assert_product(y, S, x)
        self.assert_product(Y[:, 0], S, x)
        self.assert_product(z, S.T, u)
        self.assert_product(t, S.T, u)
        other = copy.deepcopy(A)
        del A
        gc.collect()
        self.assert_product(other @ x, S, x)
        self.assert_product(other @ x[:, None], S, x[:, None])

    def test_bits_are_the_same_in_every_run(self):
        code = ("import sys, numpy as np, scipy.sparse as s, jax, spmv.jax; jax.config.update('jax_enable_x64', True); "
                "r = np.random.default_rng(1); S = s.random_array((4000, 3000), density=0.01, rng=2).tocsr(); A = spmv.jax.matrix(S); "
                "x, X, u = r.random(3000), r.random((3000, 8)), r.random(4000); "
                "f = jax.jit(lambda A, x: A @ x); y = [A @ x, A @ X, A.T @ u, f(A, x), f(A, X), f(A.T, u)]; "
                "print([hash(np.asarray(z).tobytes()) for z in y])")
        runs = {subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True,
                               env={**os.environ, "PYTHONPATH": sys.path[0], "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": threads}
                               ).stdout for threads in "1223"}
        self.assertEqual(len(runs), 1)


class Refusals(Case):
    def assert_says(self, kind, part, call):
        with self.assertRaises(kind) as caught:
            call()
        text = str(caught.exception)
        self.assertIn(part, text)
        self.assertTrue(text.startswith("spmv.jax"), text)
        self.assertNotIn("\n", text.strip())

    def test_types_and_shapes(self):
        S = random_matrix(30, 20)
        A, x = spmv.jax.matrix(S), numbers(20)
        self.assert_says(TypeError, "complex128", lambda: A @ (1j * x))
        self.assert_says(TypeError, "complex128", lambda: jax.jit(lambda z: A @ z)(1j * x))
        self.assert_says(TypeError, "float16", lambda: spmv.jax.matrix(scipy.sparse.csr_array(S)).with_values(A.values.astype(np.float16)))
        self.assert_says(TypeError, "int64", lambda: spmv.jax.matrix(S.astype(np.int64)))
        self.assert_says(TypeError, "bool", lambda: spmv.jax.matrix(S.astype(bool)))
        self.assert_says(TypeError, "complex", lambda: spmv.jax.matrix(S.astype(complex)))
        self.assert_says(ValueError, "expected is -1, must be 0 or more", lambda: spmv.jax.matrix(S, expected=-1))
        self.assert_says(TypeError, "expected is 'many', must be an integer", lambda: spmv.jax.matrix(S, expected="many"))
        self.assert_says(TypeError, "ndarray", lambda: spmv.jax.matrix(S.toarray()))
        self.assert_says(ValueError, "30 x 20", lambda: A @ numbers(30))
        self.assert_says(ValueError, "20 x 30", lambda: numbers(20) @ A)
        self.assert_says(ValueError, "30 x 20", lambda: A @ numbers(20, 2, 2))
        self.assert_says(ValueError, "30 x 20", lambda: A @ 2.0)
        for sparse_x in S.T, sparse.BCOO.from_scipy_sparse(S.T), sparse.BCSR.from_scipy_sparse(S.T.tocsr()), A.T:
            self.assert_says(TypeError, f"dense vector or matrix, not {type(sparse_x).__name__}", lambda: A @ sparse_x)
        for call in lambda x: spmv.matrix(S) @ x, spmv.matrix(S).dot, lambda x: x @ spmv.matrix(S.T.tocsr()):
            for traced in jax.jit(call), jax.grad(lambda x: call(x).sum()), lambda x: jax.vmap(call)(x[None]):
                with self.assertRaisesRegex(TypeError, "Tracer has no memory: .*spmv.jax.matrix multiplies"):
                    traced(x)
            with self.assertRaisesRegex(TypeError, "^spmv.matrix: bfloat16 is no type of numpy's"):
                call(jnp.asarray(x, jnp.bfloat16))
        self.assert_says(ValueError, "values", lambda: A.with_values(np.ones(3)))
        self.assert_says(TypeError, "indices are traced", lambda: jax.jit(lambda M: spmv.jax.from_jax(M) @ x)(sparse.BCOO.from_scipy_sparse(S)))
        batched = sparse.BCOO.fromdense(np.ones((2, 3, 4)), n_batch=1)
        self.assert_says(TypeError, "batched", lambda: spmv.jax.from_jax(batched))

    def test_indices_that_lie_outside_are_refused(self):
        bad = scipy.sparse.csr_array((np.ones(2), np.array([0, 9]), np.array([0, 1, 2])), shape=(2, 10))
        bad._shape = (2, 5)
        with self.assertRaises(ValueError):
            spmv.jax.matrix(bad)

    @unittest.skipUnless(len(jax.devices()) > 1, "one device")
    def test_shard_map(self):
        from jax.sharding import Mesh, PartitionSpec as P
        shard_map = getattr(jax, "shard_map", None) or __import__("jax.experimental.shard_map").experimental.shard_map.shard_map
        A = spmv.jax.matrix(random_matrix(30, 20))
        mesh = Mesh(np.array(jax.devices()[:2]), ("d",))
        for B in A, A.with_values(A.values):
            f = shard_map(lambda X: B @ X, mesh=mesh, in_specs=P(None, "d"), out_specs=P(None, "d"))
            self.assert_says(NotImplementedError, "shard_map", lambda: f(numbers(20, 4)))
            self.assert_says(NotImplementedError, "shard_map", lambda: jax.jit(f)(numbers(20, 4)))
            try:  # pmap of JAX 0.6 has a program of its own for each device
                self.assertEqual(jax.pmap(lambda x: B @ x)(numbers(2, 20)).shape, (2, 30))
            except NotImplementedError as error:
                self.assertIn("pmap", str(error))

    def test_a_program_of_another_process_is_refused(self):
        A = spmv.jax.matrix(random_matrix(30, 20))
        f = lambda z: jax.ffi.ffi_call("spmv_product", jax.ShapeDtypeStruct((30,), np.float64))(z, id=np.int64(12345))
        with self.assertRaises(Exception) as caught:
            jax.block_until_ready(jax.jit(f)(numbers(20)))
        self.assertIn("not in this process", str(caught.exception))
        (id, _), = (A @ numbers(20), list(A._constant.named.made))[1]
        f = lambda z: jax.ffi.ffi_call("spmv_product", jax.ShapeDtypeStruct((31,), np.float64))(z, id=np.int64(id))
        with self.assertRaises(Exception) as caught:
            jax.block_until_ready(jax.jit(f)(numbers(20)))
        self.assertIn("another shape", str(caught.exception))


class Devices(Case):
    @unittest.skipUnless(len(jax.devices()) > 1, "one device")
    def test_products_run_where_the_operand_is(self):
        from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
        S, X = random_matrix(30, 20), numbers(20, 4)
        A = spmv.jax.matrix(S)
        for device in jax.devices():
            there = jax.device_put(X, device)
            self.assertEqual((A @ there).devices(), {device})
            self.assert_product(A @ there, S, X)
            self.assert_product(jax.jit(lambda z: A @ z)(there), S, X)
            B = jax.device_put(A, device)
            self.assert_product(jax.jit(lambda B, z: B @ z)(B, there), S, X)
        shards = jax.device_put(X, NamedSharding(Mesh(np.array(jax.devices()[:2]), "d"), P(None, "d")))
        self.assert_product(jax.jit(lambda z: A @ z)(shards), S, X)

    def test_threads(self):
        S, X = random_matrix(500, 400), numbers(40, 400)
        A, wrong = spmv.jax.matrix(S), []
        f, g = jax.jit(lambda z: A @ z), jax.jit(lambda A, z: A @ z)
        right = np.asarray([S @ x for x in X])

        def work(k):
            for n in range(40):
                x = X[(k + n) % 40]
                for y in f(x), g(A, x), A @ x:
                    if not np.allclose(y, right[(k + n) % 40]):
                        wrong.append((k, n))
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])


@unittest.skipUnless(ON_GPU, "no GPU")
class Memory(Case):
    def used(self):
        gc.collect()
        return jax.local_devices()[0].memory_stats()["bytes_in_use"]

    def test_it_is_xlas_and_is_given_back(self):
        S, x = random_matrix(20000, 20000, density=0.005), numbers(20000)
        begun = self.used()
        A = spmv.jax.matrix(S)
        self.assert_product(A @ x, S, x)
        self.assertGreater(self.used() - begun, 4 * S.nnz)
        self.assert_product(A.with_values(A.values).T @ x, S.T, x)
        del A
        self.assertLess(self.used() - begun, 1 << 20)

    def test_too_little_is_an_exception(self):
        S, x = random_matrix(20000, 20000, density=0.005), jnp.asarray(numbers(20000))
        A, said = spmv.jax.matrix(S), jax.local_devices()[0].memory_stats()
        kept = [jax.block_until_ready(jax.device_put(np.empty(said["bytes_limit"] - said["bytes_in_use"] - (8 << 20), np.uint8)))]
        with self.assertRaises(spmv.Error) as caught:
            jax.block_until_ready(jax.jit(lambda z: A @ z)(x))
        self.assertIn(caught.exception.status, (-5, -6), caught.exception)  # no memory, or no kernel that fits
        kept.clear()
        self.assert_product(A @ x, S, np.asarray(x))


class Lifetimes(Case):
    def test_matrices_are_freed_with_what_was_traced(self):
        S, x = random_matrix(30, 20), numbers(20)

        def use():
            A = spmv.jax.matrix(S)
            f = jax.jit(lambda z: A @ z)
            jax.block_until_ready((f(x), A @ x, A.with_values(A.values) @ x, jax.grad(lambda z: (A @ z).sum())(x),
                                   jax.grad(lambda v: (A.with_values(v).T @ np.ones(30)).sum())(A.values)))
            return [weakref.ref(A._constant.named), weakref.ref(A._pattern.named), weakref.ref(A._constant.named.matrices.popitem()[1])]
        begun = set(spmv.jax.eager)
        refs = use()
        gc.collect()
        self.assertEqual([ref() for ref in refs], [None] * 3)
        self.assertEqual(set(spmv.jax.eager), begun)

    def test_products_outside_of_jit_are_compiled_once(self):
        A, x = spmv.jax.matrix(random_matrix(30, 20)), numbers(20)
        B = A.with_values(A.values)
        f = jax.grad(lambda v, x: ((A.with_values(v) @ x) ** 2).sum() + (B.T @ (A @ x)).sum(), (0, 1))
        f(A.values, x)
        count = lambda: sum(len(spmv.jax.eager[k.named]) for k in (A._pattern, A._constant))
        many, programs = len(A._constant.named.made), count()
        f(A.values, x)
        self.assertEqual((len(A._constant.named.made), count()), (many, programs))
        self.assertEqual(programs, 5)

    def test_a_program_outlives_the_matrix(self):
        S, x = random_matrix(30, 20), numbers(20)
        A = spmv.jax.matrix(S)
        compiled = jax.jit(lambda z: A @ z).lower(x).compile()
        jaxpr = jax.make_jaxpr(lambda z: A @ z)(x)
        del A
        gc.collect()
        self.assert_product(compiled(x), S, x)
        self.assert_product(jax.core.eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, x)[0] if hasattr(jax.core, "eval_jaxpr")
                            else jax.extend.core.jaxpr_as_fun(jaxpr)(x)[0], S, x)
        for _ in range(50):  # the matrix is gone before its product has run
            y = spmv.jax.matrix(S) @ x
            self.assert_product(y, S, x)

    def test_traces_do_not_grow(self):
        S, x = random_matrix(3000, 2000), numbers(2000)
        A = spmv.jax.matrix(S)

        def trace():
            jax.jit(lambda z: A @ z).lower(x)
            jax.make_jaxpr(jax.grad(lambda z: (spmv.jax.matrix(S) @ z).sum()))(x)

        def resident():
            gc.collect()
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        def operations():
            gc.collect()
            return sum(isinstance(kept, spmv.jax.Operation) for kept in gc.get_objects())
        few = int(os.environ.get("TRACES", 200)) // 4
        for _ in range(few):
            trace()
        begun, alive = resident(), operations()
        for _ in range(3 * few):
            trace()
        grown = resident() - begun
        self.assertEqual(operations(), alive)
        self.assertLess(grown, 3 * few * S.data.nbytes // 4, "a matrix stays of more than one in 4 traces")
        self.assertEqual(len(A._constant.named.made), 1)


class Example(Case):
    def test_conductivities_are_found(self):
        done = subprocess.run([sys.executable, ROOT / "docs/examples/diffusion.py", "16", "200"], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": sys.path[0]})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"in the patches 0\.(19|20)\d \(0\.200\), elsewhere 0\.0(49|50|51) ")


class Programs(Case):
    """Random programs: the same function of our matrix and of a BCOO."""
    WAYS = [lambda A, x, u, X: A @ x, lambda A, x, u, X: u @ A, lambda A, x, u, X: A.T @ u, lambda A, x, u, X: A @ X,
            lambda A, x, u, X: X.T @ A.T, lambda A, x, u, X: jnp.tanh(A.T @ (A @ x)), lambda A, x, u, X: A.T @ jnp.sin(A @ X),
            lambda A, x, u, X: jax.vmap(lambda z: A @ z, 1, 1)(X), lambda A, x, u, X: jax.vmap(lambda z: (A @ z) @ A)(X.T),
            lambda A, x, u, X: jax.lax.scan(lambda c, _: (jnp.tanh(A.T @ (A @ c)), None), x, None, length=2)[0],
            lambda A, x, u, X: jax.lax.fori_loop(0, 2, lambda _, c: jnp.sin(A.T @ (A @ c)), x)]
    SHAPES = (20, 20), (13, 40), (40, 13), (1, 9), (9, 1)

    def test_random_programs_beside_bcoo(self):
        for seed in range(PROGRAMS):
            with self.subTest(seed=seed):
                self.check(np.random.default_rng(seed))
            if seed % 500 == 499:
                jax.clear_caches()

    def check(self, rng):
        rows, cols = self.SHAPES[rng.integers(len(self.SHAPES))]
        dtype = [np.float64, np.float32][rng.integers(2)]
        at = np.sort(rng.choice(rows * cols, max(rows * cols // 8, 1), replace=False))  # JAX compiles for each number
        S = scipy.sparse.csr_array((rng.standard_normal(len(at)).astype(dtype), np.divmod(at, cols)), shape=(rows, cols))
        data = jnp.asarray(S.data + rng.standard_normal(S.nnz).astype(dtype) * dtype(rng.integers(2)))
        x, u, X = (jnp.asarray(rng.standard_normal(n).astype(dtype)) for n in (cols, rows, (cols, int(rng.integers(1, 6)))))
        A, B = spmv.jax.matrix(S), sparse.BCOO.from_scipy_sparse(S)
        other = lambda data: sparse.BCOO((data, B.indices), shape=B.shape)
        way = self.WAYS[rng.integers(len(self.WAYS))]
        f = lambda A, *v: way(A, *v)
        kind = rng.integers(5)
        if kind == 1:  # gradients of the vectors
            f = lambda A, *v: jax.grad(lambda v: jnp.sum(way(A, *v) ** 2))(v)
        if kind == 2:  # a tangent
            f = lambda A, *v: jax.jvp(lambda *v: way(A, *v), v, v)[1]
        if kind == 3:  # the gradient of a gradient
            f = lambda A, *v: jax.grad(lambda v: sum(jnp.sum(g ** 2) for g in jax.grad(lambda v: jnp.sum(way(A, *v)))(v)))(v)
        own, theirs = (lambda data, *v: f(A, *v)), (lambda data, *v: f(B, *v))
        if rng.integers(2):  # values are an argument
            own = lambda data, *v: f(A.with_values(data), *v)
            theirs = lambda data, *v: f(other(data), *v)
            if kind == 4:  # and differentiated
                g, h = own, theirs
                own = jax.grad(lambda data, *v: jnp.sum(g(data, *v) ** 2))
                theirs = jax.grad(lambda data, *v: jnp.sum(h(data, *v) ** 2))
        if rng.integers(3) == 0:
            own, theirs = jax.jit(own), jax.jit(theirs)
        ours = jax.tree_util.tree_leaves(own(data, x, u, X))
        try:
            right = jax.tree_util.tree_leaves(theirs(data, x, u, X))
        except ValueError as error:  # JAX 0.12's, of a batch of data that is transposed
            self.assertIn("data batch dimensions", str(error))
            B, other = B.todense(), lambda data: jnp.zeros(B.shape, dtype).at[S.nonzero()].set(data)
            right = jax.tree_util.tree_leaves(theirs(data, x, u, X))
        for y, r in zip(ours, right, strict=True):
            scale = np.abs(r).max() if r.size else 0
            tolerance = (1e-9 if dtype == np.float64 else 2e-3)
            self.assertTrue(np.allclose(y, r, rtol=tolerance, atol=tolerance * (1 + scale)), f"{y} is not {r}")


if __name__ == "__main__":
    unittest.main()
