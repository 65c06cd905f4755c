"""src/bindings/python on a GPU, with CuPy and PyTorch as far as they are installed:

    make cuda && SPMV=build/cuda/spmv python3 test/python/test_binding_gpu.py
"""
import importlib.util
import os
import pathlib
import sys
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv"))
os.environ["SPMV_LIBRARY"] = str(PROGRAM.parent / "libspmv.so")
sys.path.insert(0, str(ROOT / "src/bindings/python"))


def has(package):
    return importlib.util.find_spec(package) is not None


if not has("scipy") or not (has("cupy") or has("torch")) or "-san" in PROGRAM.parent.name:
    sys.exit(print("Ran 0 tests: there is neither CuPy nor PyTorch"))

import numpy as np
import scipy.sparse as sparse
import spmv
from spmv import _library, _operands

GPU = PROGRAM.parent.name == "cuda" and os.path.exists("/dev/nvidia0")
rng = np.random.default_rng(20)


def random_matrix(shape, dtype=np.float64):
    made = sparse.random(*shape, 0.01, "csr", random_state=7)
    made.data -= 0.5
    return made.astype(dtype)


def steps(array):
    return array.stride() if hasattr(array, "stride") else array.strides


class ShortWay:
    """of_numpy, to_numpy and kind are the package's. What needs no conversion is multiplied with nothing asked twice."""

    def in_columns(self, x):
        return self.of_numpy(x.T.copy()).T if x.ndim == 2 else self.of_numpy(x)

    def without_detours(self):
        return unittest.mock.patch.object(_operands, "of", side_effect=AssertionError("the long way"))

    def test_the_short_way(self):
        for dtype in np.float64, np.float32:
            S = random_matrix((300, 200), dtype)
            A = spmv.matrix(S)
            for shape in (200,), (200, 3):
                x = rng.standard_normal(shape).astype(dtype)
                z = np.zeros((300, *shape[1:]), dtype)
                for at, out in ((self.of_numpy(x), self.of_numpy(z)), (self.in_columns(x), self.in_columns(z))):
                    right = A @ at
                    with self.without_detours():
                        before = spmv.stats()["library"]
                        y = A @ at
                        self.assertIs(A.dot(at, out=out), out)
                    self.assertEqual(spmv.stats()["library"], before + 2)
                    self.assertIs(type(y), self.kind)
                    for each in y, out:
                        np.testing.assert_array_equal(self.to_numpy(each), self.to_numpy(right))
                    np.testing.assert_allclose(self.to_numpy(y), S @ x, rtol=1e-4, atol=1e-5)
                    self.assertEqual(steps(y), steps(right))

    def test_what_does_not_fit_takes_the_long_way(self):
        S = random_matrix((200, 200))
        A, x, X = spmv.matrix(S), rng.standard_normal(200), rng.standard_normal((200, 4))
        for of, other in (self.of_numpy(x), x), (self.of_numpy(X), X):
            A @ of
            np.testing.assert_allclose(self.to_numpy(A @ self.of_numpy(np.repeat(other, 2, 0))[::2]), S @ other, atol=1e-12)
            np.testing.assert_allclose(self.to_numpy(A @ self.of_numpy(other.astype(np.float32))), S @ other, atol=1e-4)
            with self.assertRaises(ValueError):
                A @ of[1:]
            with self.assertRaisesRegex(ValueError, "out: must be"):
                A.dot(of, out=of[1:])
        wide = self.of_numpy(np.concatenate([X, X]))
        A.dot(wide[:200], out=wide[100:300])  # they share numbers
        np.testing.assert_allclose(self.to_numpy(wide[100:300]), S @ X, atol=1e-12)
        A.values[...] = 2 * S.data
        np.testing.assert_allclose(self.to_numpy(A @ self.of_numpy(x)), 2 * (S @ x), atol=1e-12)


class Products(ShortWay):
    """Values on the GPU."""

    def assert_near(self, y, S, x):
        self.assertIsInstance(y, self.kind)
        right = S.astype(np.float64) @ np.asarray(x, np.float64)
        y = self.to_numpy(y)
        self.assertEqual(y.shape, right.shape)
        size = abs(S.astype(np.float64)) @ np.abs(np.asarray(x, np.float64))
        self.assertTrue((np.abs(y - right) <= 200 * np.finfo(y.dtype).eps * size).all())

    def test_products(self):
        for dtype in np.float64, np.float32:
            for shape in (3000, 2000), (2000, 3000), (1, 9), (0, 4), (4, 0):
                with self.subTest(dtype=dtype, shape=shape):
                    S = random_matrix(shape, dtype)
                    A, x, z = spmv.matrix(S), rng.standard_normal(shape[1]).astype(dtype), rng.standard_normal(shape[0]).astype(dtype)
                    X = rng.standard_normal((shape[1], 3)).astype(dtype)
                    self.assert_near(A @ self.of_numpy(x), S, x)
                    self.assert_near(A @ self.of_numpy(X), S, X)
                    self.assert_near(A.T @ self.of_numpy(z), S.T, z)
                    self.assert_near(A @ self.of_numpy(np.repeat(x, 2))[::2], S, x)
                    self.assertIsInstance(A @ x, np.ndarray)

    def test_several_vectors_lie_in_rows_or_columns(self):
        """All in one call of the library, of the memory that they are in."""
        S, calls, apply = random_matrix((3000, 2000)), [], _library.lib.spmv_apply
        A, wide, high = spmv.matrix(S), rng.standard_normal((2000, 12)), rng.standard_normal((3000, 7))

        def counted(plan, call, stream):
            calls.append((call.k, call.layout, call.ldx))
            return apply(plan, call, stream)

        rows, columns = self.of_numpy(wide), self.of_numpy(np.ascontiguousarray(wide.T)).T
        with unittest.mock.patch.object(_library.lib, "spmv_apply", counted):
            for X, layout, ld in (rows[:, 2:9], _library.ROWS, 12), (columns[:, 2:9], _library.COLUMNS, 2000):
                calls.clear()
                Y = A @ X
                self.assert_near(Y, S, wide[:, 2:9])
                self.assertEqual(calls, [(7, layout, ld)])
                out = self.of_numpy(np.full((3000, 9), np.nan))[:, 1:8]
                self.assertIs(A.dot(X, out=out), out)
                self.assert_near(out, S, wide[:, 2:9])
            self.assert_near(A @ rows[:, ::2], S, wide[:, ::2])
            self.assert_near(A.T @ self.of_numpy(high), S.T, high)
            calls.clear()
            self.assert_near((self.of_numpy(high).T @ A).T, S.T, high)
            self.assertEqual(calls, [(7, _library.ROWS, 7)])

    def test_types_are_joined_as_numpy_joins_them(self):
        A = spmv.matrix(random_matrix((300, 200), np.float32))
        for dtype, joined in (np.float32, np.float32), (np.float64, np.float64), (np.int64, np.float64):
            self.assertEqual(self.to_numpy(A @ self.of_numpy(np.ones(200, dtype))).dtype, joined)
        with self.assertRaisesRegex(TypeError, "complex"):
            A @ self.of_numpy(np.ones(200, complex))

    def test_out(self):
        S, x = random_matrix((3000, 2000)), rng.standard_normal(2000)
        A, y = spmv.matrix(S), self.of_numpy(np.full(3000, np.nan))
        self.assertIs(A.dot(self.of_numpy(x), out=y), y)
        self.assert_near(y, S, x)
        with self.assertRaisesRegex(ValueError, "out: must be an array where x is"):
            A.dot(self.of_numpy(x), out=np.empty(3000))

    def test_out_may_overlap_other_columns(self):
        S = random_matrix((2000, 2000))
        for first, into in ((0, 1), (1, 0)):
            wide = rng.standard_normal((2000, 4))
            B = self.of_numpy(np.ascontiguousarray(wide.T)).T
            spmv.matrix(S).dot(B[:, first:first + 3], out=B[:, into:into + 3])
            self.assert_near(B[:, into:into + 3], S, wide[:, first:first + 3])

    def test_plans_and_values(self):
        S, x = random_matrix((3000, 2000)), rng.standard_normal(2000)
        A, T = spmv.matrix(S), S.copy()
        for kernel in "csr_warp", "auto":
            facts = A.plan(expected=1000, kernel="cuda:" + kernel)
            self.assertEqual(facts["backend"], "cuda")
            for _ in range(3):
                T.data[...] = rng.standard_normal(S.nnz)
                A.values[...] = T.data
                self.assert_near(A @ self.of_numpy(x), T, x)
        with self.assertRaisesRegex(ValueError, "not a kernel of the device"):
            A.plan(kernel="omp:cuda:csr_warp")

    def test_products_are_ordered_on_the_current_stream(self):
        """x is ready only when the stream's earlier work is done; y is read by what follows on it."""
        S = random_matrix((20000, 20000))
        A, x = spmv.matrix(S), rng.standard_normal(20000)
        A.plan(kernel="cuda:csr_warp")
        right = S @ (S @ x)
        for _ in range(3):  # each on another stream
            with self.stream():
                v = self.of_numpy(np.zeros(20000))
                self.work_for_a_while()
                v[:] = self.of_numpy(x)
                for _ in range(50):
                    w = A @ (A @ v)
                y = self.to_numpy(w)
            np.testing.assert_allclose(y, right, rtol=1e-10, atol=1e-10)

    def test_a_plan_that_is_dropped_finishes_its_products(self):
        S, x = random_matrix((20000, 20000)), rng.standard_normal(20000)
        v, right = self.of_numpy(x), S @ x
        for _ in range(20):
            y = spmv.matrix(S) @ v
            np.testing.assert_allclose(self.to_numpy(y), right, rtol=1e-10, atol=1e-10)


@unittest.skipUnless(GPU and has("cupy"), "no CuPy, or no build/cuda and GPU")
class CuPy(Products, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import cupy
        import cupyx.scipy.sparse
        cls.cupy, cls.sparse, cls.kind = cupy, cupyx.scipy.sparse, cupy.ndarray

    def of_numpy(self, x):
        return self.cupy.asarray(x)

    def to_numpy(self, y):
        return self.cupy.asnumpy(y)

    def stream(self):
        return self.cupy.cuda.Stream(non_blocking=True)

    def work_for_a_while(self):
        a = self.cupy.ones((2000, 2000))
        for _ in range(20):
            a = a @ a * 1e-4

    def test_matrices_of_cupys(self):
        S, x = random_matrix((3000, 2000)), rng.standard_normal(2000)
        for kind in "csr", "csc", "coo":
            G = self.sparse.csr_matrix(S).asformat(kind)
            A = spmv.matrix(G)
            self.assert_near(A @ self.cupy.asarray(x), S, x)
            self.assertEqual(A.plan(expected=100)["backend"], "cuda")
            self.assert_near(A @ self.cupy.asarray(x), S, x)
            A.values[...] = 2 * G.tocsr().data if kind != "csc" else 2 * G.data
            self.assert_near(A @ self.cupy.asarray(x), 2 * S, x)
        G = self.sparse.csr_matrix(S)
        A = spmv.matrix((G.data, G.indices, G.indptr), shape=S.shape)
        self.assert_near(A @ self.cupy.asarray(x), S, x)
        np.testing.assert_allclose(self.to_numpy(A @ self.cupy.asarray(x * 1j)), S @ (x * 1j))

    def test_cupys_solver_takes_it(self):
        import cupyx.scipy.sparse.linalg
        S = sparse.diags([-1, 2.5, -1], [-1, 0, 1], shape=(2000, 2000), format="csr")
        b = rng.standard_normal(2000)
        before = spmv.stats()["library"]
        x, code = cupyx.scipy.sparse.linalg.cg(spmv.matrix(S), self.cupy.asarray(b))
        self.assertEqual(code, 0)
        self.assertGreater(spmv.stats()["library"], before)
        np.testing.assert_allclose(S @ self.to_numpy(x), b, atol=1e-3)


@unittest.skipUnless(has("torch"), "no PyTorch")
class TorchOnHost(ShortWay, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import torch
        cls.torch, cls.kind = torch, torch.Tensor

    def of_numpy(self, x):
        return self.torch.from_numpy(np.ascontiguousarray(x))

    def to_numpy(self, y):
        return y.numpy()

    def test_products(self):
        torch = self.torch
        for dtype in np.float64, np.float32:
            S = random_matrix((300, 200), dtype)
            A, x, X = spmv.matrix(S), rng.standard_normal(200).astype(dtype), rng.standard_normal((200, 3)).astype(dtype)
            for v in x, X, np.asfortranarray(X), X[:, 1:]:
                y = A @ torch.from_numpy(v)
                self.assertIsInstance(y, torch.Tensor)
                np.testing.assert_allclose(y.numpy(), S @ v, rtol=1e-4, atol=1e-5)
            y = torch.full((300,), float("nan"), dtype=y.dtype)
            self.assertIs(A.dot(torch.from_numpy(x), out=y), y)
            np.testing.assert_allclose(y.numpy(), S @ x, rtol=1e-4, atol=1e-5)
            z = torch.ones(300, dtype=y.dtype)
            np.testing.assert_allclose((z @ A).numpy(), S.T @ np.ones(300, dtype), rtol=1e-4, atol=1e-5)


@unittest.skipUnless(GPU and has("torch"), "no PyTorch, or no build/cuda and GPU")
class Torch(Products, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import torch
        cls.torch, cls.kind = torch, torch.Tensor

    def of_numpy(self, x):
        return self.torch.from_numpy(np.ascontiguousarray(x)).cuda()

    def to_numpy(self, y):
        return y.cpu().numpy()

    def stream(self):
        return self.torch.cuda.stream(self.torch.cuda.Stream())

    def work_for_a_while(self):
        a = self.torch.ones((2000, 2000), dtype=self.torch.float64, device="cuda")
        for _ in range(20):
            a = a @ a * 1e-4

    def test_a_product_is_captured_in_a_graph(self):
        S, x = random_matrix((3000, 2000)), rng.standard_normal(2000)
        A, v = spmv.matrix(S), self.of_numpy(np.zeros(2000))
        A @ v
        self.torch.cuda.synchronize()
        graph, y = self.torch.cuda.CUDAGraph(), self.of_numpy(np.zeros(3000))
        with self.torch.cuda.graph(graph):
            A.dot(v, out=y)
        for scale in 1, 2:
            v.copy_(self.of_numpy(scale * x))
            graph.replay()
            self.assert_near(y, S, scale * x)


if __name__ == "__main__":
    unittest.main()
