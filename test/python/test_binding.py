"""src/bindings/python, with the library of the build that is tested: products against SciPy's in extended precision,
values, plans, errors, threads. What needs a GPU is in test_binding_gpu.py."""
import collections
import contextlib
import ctypes
import gc
import importlib
import importlib.util
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import unittest.mock
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv"))
if "-san" in PROGRAM.parent.name or not importlib.util.find_spec("scipy"):
    sys.exit(print("Ran 0 tests: there is no SciPy, or the library needs a sanitizer's runtime, which Python has not"))
os.environ["SPMV_LIBRARY"] = str(PROGRAM.parent / "libspmv.so")
sys.path.insert(0, str(ROOT / "src/bindings/python"))

import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg
import spmv
from spmv import _library

SHAPES = (300, 300), (40, 1000), (1000, 40), (1, 7), (7, 1), (5, 5), (0, 0), (0, 4), (4, 0)
KINDS = "csr", "csc", "coo"
rng = np.random.default_rng(20)


def random_matrix(shape, kind="csr", dtype=np.float64, density=0.05):
    """Makes a matrix with empty rows, and values of both signs."""
    made = sparse.random(*shape, density, "coo", dtype=np.float64, random_state=7)
    made.data -= 0.5
    return made.astype(dtype).asformat(kind)


def unordered(index=np.int32):
    """Columns out of order, duplicates, an empty row, and room behind the last entry."""
    data, indices, indptr = np.arange(1.0, 8.0), np.array([2, 0, 2, 1, 1, 9, 9]), np.array([0, 3, 3, 5])
    S = sparse.csr_matrix((data[:5], indices[:5].astype(index), indptr.astype(index)), shape=(3, 4))
    S.data, S.indices = data, indices.astype(index)
    return S


def exact(S, x):
    """S x and |S| |x| in extended precision, whichever SciPy this is."""
    A, x = S.toarray().astype(np.longdouble), np.asarray(x, np.longdouble)
    return A @ x, np.abs(A) @ np.abs(x)


class Case(unittest.TestCase):
    def assert_product(self, y, S, x, dtype=np.float64):
        right, size = exact(S, x)
        self.assertEqual((y.shape, y.dtype), (right.shape, np.dtype(dtype)))
        allowed = (S.shape[1] + 2) * np.finfo(dtype).eps * size
        self.assertTrue((np.abs(y - right) <= allowed).all())


class Foreign:
    """An array of a package that is known by DLPack alone; device: where it says that it lies."""

    def __init__(self, array, device=1):
        self.array, self.device, self.exports = array, device, 0

    def __dlpack__(self, **options):
        self.exports += 1
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device, 0


class DLPackTest(Case):
    def test_a_foreign_array_is_multiplied_where_it_lies(self):
        S = random_matrix((40, 1000))
        A = spmv.matrix(S)
        for shape in (1000,), (1000, 3):
            x = Foreign(np.asfortranarray(rng.standard_normal(shape)))
            self.assert_product(A @ x, S, x.array)
            self.assertEqual(x.exports, 1)

    def test_the_product_goes_back_to_a_package_that_says_how(self):
        class Back(Foreign):
            def __array_namespace__(self):
                return type("namespace", (), {"from_dlpack": staticmethod(Back)})
        S = random_matrix((40, 1000))
        for shape in (1000,), (1000, 3):
            x = Back(np.asfortranarray(rng.standard_normal(shape)))
            y = spmv.matrix(S) @ x
            self.assertIsInstance(y, Back)
            self.assert_product(y.array, S, x.array)

    def test_a_foreign_array_on_a_gpu_takes_a_package_for_it(self):
        with unittest.mock.patch.dict(sys.modules, {"cupy": None, "torch": None}):
            with self.assertRaisesRegex(TypeError, "CuPy or PyTorch"):
                spmv.matrix(random_matrix((5, 5))) @ Foreign(np.ones(5), device=2)

    def test_an_array_on_a_gpu_is_viewed_by_the_package_there_is(self):
        cupy = types.SimpleNamespace(__name__="cupy", asarray=lambda x: ("asarray", x))
        torch = types.SimpleNamespace(__name__="torch", as_tensor=lambda x, device: ("as_tensor", x, device))
        for packages, view in (({"cupy": cupy, "torch": torch}, ("asarray", 7)), ({"cupy": None, "torch": torch}, ("as_tensor", 7, "cuda"))):
            with unittest.mock.patch.dict(sys.modules, packages):
                self.assertEqual(spmv._operands.as_gpu_array(7), view)

    def test_arrays_on_a_gpu_are_their_packages(self):
        """Without CuPy and PyTorch: which of them is asked, and what for."""
        def cuda_array(module, **members):
            return type("ndarray", (), {"__module__": module, **members})()
        cupys = cuda_array("cupy", shape=(5,), dtype="f8", device=types.SimpleNamespace(id=3), data=types.SimpleNamespace(ptr=7))
        viewed = cuda_array("numba", __cuda_array_interface__={})
        tensor = cuda_array("torch", is_cuda=True, detach=lambda self: (self, "detached"))
        cupy = types.SimpleNamespace(__name__="cupy", asarray=lambda x: cupys if x is viewed else x,
                                     cuda=types.SimpleNamespace(Device=lambda: types.SimpleNamespace(id=2)))
        gpu = types.SimpleNamespace(is_available=lambda: True, current_device=lambda: 4)
        none = types.SimpleNamespace(is_available=lambda: False, current_device=lambda: 4)
        for packages, number in (({"cupy": None, "torch": None}, 0), ({"cupy": cupy, "torch": None}, 2),
                                 ({"cupy": cupy, "torch": types.SimpleNamespace(cuda=gpu)}, 4),
                                 ({"cupy": cupy, "torch": types.SimpleNamespace(cuda=none)}, 2)):
            with unittest.mock.patch.dict(sys.modules, packages):
                self.assertEqual(spmv._operands.current_gpu(), number)
        with unittest.mock.patch.dict(sys.modules, {"cupy": cupy}):
            for x in cupys, viewed:
                operand = spmv._operands.of(x)
                self.assertEqual((type(operand), operand.device, operand.address(operand.array)), (spmv._operands.OfCuPy, 3, 7))
            self.assertEqual(spmv._operands.numbers_of(tensor), (tensor, "detached"))
        self.assertIs(spmv._operands.numbers_of(cupys), cupys)
        self.assertEqual((spmv._plan.address(cupys), spmv._plan.place(cupys)), (7, _library.DEVICE))
        self.assertTrue(spmv._entries.is_cupys(cupys))

    def test_a_tensor_in_host_memory_is_read_where_it_lies(self):
        """PyTorch's, of which an operand needs only so much."""
        class Tensor:
            is_cuda = False

            def __init__(self, array):
                self.array, self.shape, self.dtype = array, array.shape, f"torch.{array.dtype}"

            def detach(self):
                return Tensor(self.array)

            def numpy(self):
                return self.array
        Tensor.__module__, x, out = "torch", np.ones((50, 3)), Tensor(np.empty((60, 3)))
        with unittest.mock.patch.dict(sys.modules, {"torch": types.SimpleNamespace(Tensor=Tensor, from_numpy=Tensor)}):
            operand = spmv._operands.of(Tensor(x))
            for given in None, out:
                call, at_x, z = operand.call(60, operand.dtype, given)
                self.assertEqual((call.k, call.layout, operand.dtype, operand.shape), (3, _library.ROWS, x.dtype, x.shape))
                self.assertTrue(np.shares_memory(at_x, x))
                self.assertIsInstance(operand.result(z), Tensor)
            self.assertTrue(np.shares_memory(z, out.array))

    def test_what_has_no_memory_or_another_type_is_refused(self):
        class Traced:  # as JAX's tracers
            def __dlpack__(self):
                raise AssertionError("is not called")

        class Short(Foreign):  # as JAX's arrays in bfloat16
            dtype = "bfloat16"

            def __dlpack__(self, **options):
                raise BufferError("Unsupported dtype in DLTensor.")
        A = spmv.matrix(random_matrix((5, 5)))
        for multiply in (lambda x: A @ x), A.dot, (lambda x: A.T @ x), (lambda x: A.dot(np.ones(5), w=x)):
            with self.assertRaisesRegex(TypeError, "^spmv.matrix: a Traced has no memory: inside of jax.jit, .* spmv.jax.matrix multiplies$"):
                multiply(Traced())
            with self.assertRaisesRegex(TypeError, "^spmv.matrix: bfloat16 is no type of numpy's .*; products are in float64 and float32$"):
                multiply(Short(np.ones(5)))


@unittest.skipUnless(importlib.util.find_spec("torch"), "there is no PyTorch")
class Gradients(Case):
    """PyTorch's pass through products."""

    def setUp(self):
        import torch
        self.torch = torch
        torch.manual_seed(0)

    def tensor(self, *shape):
        return self.torch.randn(*shape, dtype=self.torch.float64, requires_grad=True)

    def test_of_operands(self):
        check = self.torch.autograd.gradcheck
        for kind in "csr", "csc":
            A = spmv.matrix(random_matrix((13, 9), kind, density=0.4))
            self.assertTrue(check(lambda x: A @ x, self.tensor(9)))
            self.assertTrue(check(lambda X: A @ X, self.tensor(9, 3)))
            self.assertTrue(check(lambda X: A.T @ X, self.tensor(13, 3)))
            self.assertTrue(check(lambda X: A @ X.T, self.tensor(3, 9)))
            self.assertTrue(check(lambda z: z @ A, self.tensor(13)))
            self.assertTrue(self.torch.autograd.gradgradcheck(lambda x: (A @ x) ** 2, self.tensor(9)))

    def test_of_values(self):
        check = self.torch.autograd.gradcheck
        for kind in "csr", "csc":
            S = random_matrix((13, 9), kind, density=0.4)
            A = spmv.matrix(S)
            self.assertTrue(check(lambda v, x: A.dot(x, values=v), (self.tensor(S.nnz), self.tensor(9))))
            self.assertTrue(check(lambda v, X: A.dot(X, values=v), (self.tensor(S.nnz), self.tensor(9, 3))))
            self.assertTrue(check(lambda v, Z: A.T.dot(Z, values=v), (self.tensor(S.nnz), self.tensor(13, 3))))
            first, second, x = self.tensor(S.nnz), self.tensor(S.nnz), self.tensor(9)
            self.assertTrue(check(lambda v, w, x: A.T.dot(A.dot(x, values=v), values=w), (first, second, x)))

    def test_values_that_changed_are_seen(self):
        A, x = spmv.matrix(random_matrix((13, 9), density=0.4)), self.tensor(9)
        y = A @ x
        A.values[...] = np.ones(len(A.values))
        with self.assertRaisesRegex(RuntimeError, "values were changed"):
            y.sum().backward()
        with self.assertRaisesRegex(ValueError, "no gradients pass"):
            A.dot(x, out=self.torch.empty(13, dtype=self.torch.float64))

    def test_the_matrix_keeps_its_values_in_backward(self):
        S, x = random_matrix((13, 9), density=0.4), self.tensor(9)
        for after in False, True:
            A, (first, second) = spmv.matrix(S), (self.tensor(S.nnz), self.tensor(S.nnz))
            y = A.dot(x, values=first) + A.dot(x, values=second)
            if after:
                A.values[...] = 3
            before = np.asarray(A.values)
            (of_x,) = self.torch.autograd.grad(y.sum(), x)
            np.testing.assert_array_equal(np.asarray(A.values), before)
            S.data = (first + second).detach().numpy()
            np.testing.assert_allclose(of_x.numpy(), S.T @ np.ones(13))
            S.data = before
            self.assert_product(A @ np.ones(9), S, np.ones(9))

    def test_without_gradients_nothing_is_recorded(self):
        A, x = spmv.matrix(random_matrix((13, 9))), self.tensor(9)
        with self.torch.no_grad():
            self.assertFalse((A @ x).requires_grad)
        self.assertFalse((A @ x.detach()).requires_grad)
        self.assertIs(type(A @ x.detach()), self.torch.Tensor)
        with self.assertRaisesRegex(TypeError, "bfloat16"):
            A @ x.detach().to(self.torch.bfloat16)


class Backward(Case):
    """What _gradients does to the matrix, with stand-ins for what it takes from PyTorch."""

    class Context:
        needs_input_grad = False, False, True

        def save_for_backward(self, *tensors):
            self.saved_tensors = tensors

    class Operand(np.ndarray):
        def detach(self):
            return np.asarray(self)

    def setUp(self):
        torch = types.SimpleNamespace(Tensor=self.Operand, autograd=types.SimpleNamespace(Function=object),
                                      is_grad_enabled=lambda: False)
        with unittest.mock.patch.dict(sys.modules, {"torch": torch}):
            spec = importlib.util.find_spec("spmv._gradients")
            self.gradients = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(self.gradients)

    def test_the_matrix_keeps_its_values(self):
        S, x, z = random_matrix((60, 50)), np.ones(50).view(self.Operand), np.ones(60)
        A, made = spmv.matrix(S), []
        for k in range(1, 4):
            context, values = self.Context(), np.full(S.nnz, float(k))
            A.values[...] = values
            self.gradients.Product.forward(context, A, values, x)
            made.append((context, values))
        last = self.Context()
        self.gradients.Product.forward(last, A, None, x)
        for context, values in made + made[::-1] + [(last, np.full(S.nnz, 3.0))]:
            *_, of_x = self.gradients.Product.backward(context, z)
            S.data = values
            self.assert_product(of_x, S.T, z)
            np.testing.assert_array_equal(np.asarray(A.values), 3)
            S.data = np.full(S.nnz, 3.0)
            self.assert_product(A @ np.ones(50), S, np.ones(50))
            self.assert_product(A.T @ z, S.T, z)
        with unittest.mock.patch.object(A.T, "dot", side_effect=ZeroDivisionError), self.assertRaises(ZeroDivisionError):
            self.gradients.Product.backward(made[0][0], z)
        np.testing.assert_array_equal(np.asarray(A.values), 3)
        A.values[...] = 4
        with self.assertRaisesRegex(RuntimeError, "values were changed"):
            self.gradients.Product.backward(last, z)


class Protocol(Case):
    """What SciPy asks of a sparse matrix."""

    def setUp(self):
        self.S = (random_matrix((60, 60)) + 10 * sparse.eye(60)).tocsr()
        self.A, self.b = spmv.matrix(self.S), np.ones(60)
        warnings.simplefilter("ignore", sparse.SparseEfficiencyWarning)

    def test_solvers_that_factorise_take_it(self):
        right = linalg.spsolve(self.S.tocsc(), self.b)
        for x in (linalg.splu(self.A).solve(self.b), linalg.factorized(self.A)(self.b), linalg.spsolve(self.A, self.b),
                  linalg.inv(self.A) @ self.b, linalg.spilu(self.A, 1e-9).solve(self.b)):
            np.testing.assert_allclose(x, right)
        np.testing.assert_allclose(linalg.expm_multiply(self.A, self.b), linalg.expm_multiply(self.S, self.b))
        self.assertEqual(linalg.norm(self.A), linalg.norm(self.S))
        most = abs(self.S).sum(axis=0).max()
        self.assertTrue(0.3 * most < linalg.onenormest(self.A) < 1.001 * most)  # it begins with random numbers

    def test_its_entries_are_scipys_and_not_those_that_are_multiplied(self):
        A, S = self.A, self.S
        self.assertTrue(sparse.issparse(A))
        for B, right in ((A, S), (A.T, S.T)):
            made = [sparse.csr_matrix(B), sparse.csc_matrix(B), sparse.coo_matrix(B, copy=True), B.tocsr(), B.tobsr(), B.copy(),
                    B.asformat("csc"), B.astype(float), B.tocoo(), sparse.csr_matrix(B, copy=True)]
            for each in made:
                np.testing.assert_array_equal(each.toarray(), right.toarray())
                each.data[...] = 7
            self.assert_product(B @ self.b, right, self.b)
            np.testing.assert_array_equal(B.toarray(), right.toarray())
            np.testing.assert_array_equal(B.diagonal(), right.diagonal())
            np.testing.assert_array_equal(B.sum(axis=0), right.sum(axis=0))
            self.assertEqual((B.sum(), B.trace(), B.max(), B[3, 4], abs(B).sum(), B.count_nonzero()),
                             (right.sum(), right.diagonal().sum(), right.max(), right[3, 4], abs(right).sum(),
                              right.count_nonzero()))

    def test_it_is_added_to_matrices(self):
        A, S, before = self.A, self.S, spmv.stats()["scipy"]
        for made, right in ((A + S, 2 * S), (S + A, 2 * S), (A - 2 * S, -S), (2 * S - A, S), (S @ A, S @ S), (A @ S, S @ S)):
            np.testing.assert_allclose(made.toarray(), right.toarray())
        self.assertEqual(spmv.stats()["scipy"], before + 2)
        self.assert_product((A + A) @ self.b, 2 * S, self.b)
        self.assert_product((-A) @ self.b, -S, self.b)


class Products(Case):
    def test_operands_that_are_copied_take_no_detour(self):
        S = random_matrix((60, 50))
        A, x = spmv.matrix(S), rng.standard_normal(50)
        A @ x
        A @ x.astype(np.float32)  # from the second product on
        with unittest.mock.patch.object(A, "_multiply", side_effect=AssertionError):
            for of in x, x[:, None], np.repeat(x, 2)[::2], np.repeat(x[:, None], 3, axis=1)[:, 1:2], x.astype(np.float32):
                y = A @ of
                self.assert_product(y, S, of)

    def test_what_is_wrong_is_said(self):
        A = spmv.matrix(random_matrix((60, 50)))
        fixed = np.empty(60)
        fixed.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "out: is read-only"):
            A.dot(np.ones(50), out=fixed)
        with self.assertRaisesRegex(ValueError, "expected is -1"):
            A.plan(expected=-1)
        for wrong, error, text in (
                ({"kernel": 3}, TypeError, "kernel is 3, must be the name of a kernel"),
                ({"kernel": None}, TypeError, "kernel is None, must be"), ({"kernel": b"auto"}, TypeError, "kernel is b'auto', must be"),
                ({"kernel": "a\0b"}, ValueError, "there is none"), ({"kernel": "\udcff"}, ValueError, "there is none"),
                ({"settings": {"sigma": "all"}}, TypeError, r"settings\['sigma'\] is 'all', must be an integer"),
                ({"settings": {"sigma": 2**70}}, ValueError, r"settings\['sigma'\] is 1180\d+, must be an integer of 64 bits"),
                ({"settings": {3: 1}}, TypeError, "a name in settings is 3"), ({"settings": 5}, TypeError, "settings is 5, must be"),
                ({"settings": ["sigma"]}, TypeError, "settings is .'sigma'., must be a dictionary"),
                ({"expected": "many"}, TypeError, "expected is 'many', must be an integer"),
                ({"vectors": 1.5}, TypeError, "vectors is 1.5, must be an integer"),
                ({"threads": 2**40}, ValueError, "threads is 1099511627776, must be an integer of 32 bits"),
                ({"vectors": 0}, ValueError, "vectors is 0, must be 1 or more"),
                ({"expected": np.int64(-3)}, ValueError, "expected is -3, must be 0 or more"),
                ({"max_bytes": -1}, ValueError, "max_bytes is -1, must be 0 or more"),
                ({"threads": -1}, spmv.Error, "threads is -1, must be"),
                ({"refill": "no"}, TypeError, "refill is 'no', must be True or False"),
                ({"refill": 1000}, TypeError, "refill is 1000, must be True or False"),
                ({"order": ["C"]}, ValueError, "order is .'C'., must be")):
            with self.assertRaisesRegex(error, text):
                A.plan(**wrong)
        for name in "expected", "vectors", "threads", "max_bytes", "settings", "refill", "order", "kernel":
            for value in float("nan"), -(2**31) - 1, -(2**63) - 1, 2**63, 1j, b"1", [1], (), np.ones(2), object():
                with self.subTest(name=name, value=value), self.assertRaisesRegex((TypeError, ValueError), f"^{name} is .*must be"):
                    A.plan(**{name: value})
        self.assertEqual(A.info()["plans"], [])

    def test_a_shape_that_is_none_is_refused(self):
        S = random_matrix((60, 50), "csr")
        arrays = S.data, S.indices, S.indptr
        for shape, error, text in ((3, TypeError, "shape is 3, must be two integers"), ((60,), TypeError, "must be two integers"),
                                   ("ab", TypeError, r"shape\[0\] is 'a', must be an integer"),
                                   ((60, 50.0), TypeError, r"shape\[1\] is 50.0, must be an integer"),
                                   ((60, -50), ValueError, r"shape\[1\] is -50, must be 0 or more"),
                                   ((2**63, 50), ValueError, r"shape\[0\] is 9223372036854775808, must be an integer of 64 bits")):
            for source in arrays, S:
                with self.subTest(shape=shape), self.assertRaisesRegex(error, text):
                    spmv.matrix(source, shape)
        with self.assertRaisesRegex(ValueError, r"shape is \(50, 60\), and that of the source \(60, 50\)"):
            spmv.matrix(S, (50, 60))
        self.assertEqual(spmv.matrix(S, [60, np.int64(50)]).shape, (60, 50))
        self.assertEqual(spmv.matrix(arrays, np.array([60, 70])).shape, (60, 70))

    def test_a_limit_of_memory_is_named_as_the_argument(self):
        S = sparse.vstack([np.ones((1, 20000)), sparse.eye(20000)], "csr")
        A = spmv.matrix(S)
        with self.assertRaisesRegex(spmv.Error, "max_bytes=SIZE builds it if it fits") as caught:
            A.plan(kernel="ell_rows")
        self.assertNotIn("--", str(caught.exception))
        with self.assertRaisesRegex(spmv.Error, "needs .* limit"):
            A.plan(kernel="ell_rows", max_bytes=1000)

    def test_a_view_of_memory_is_an_operand(self):
        S = random_matrix((60, 50))
        A, x, X = spmv.matrix(S), rng.standard_normal(50), rng.standard_normal((50, 3))
        for of in x, X, x[::-1]:
            np.testing.assert_array_equal(A @ memoryview(of), A @ of)
            np.testing.assert_array_equal(A.dot(memoryview(of)), A @ of)
        for of in rng.standard_normal(60), rng.standard_normal((3, 60)):
            np.testing.assert_array_equal(memoryview(of) @ A, of @ A)

    def test_of_every_shape_kind_and_type(self):
        for shape in SHAPES:
            for kind in KINDS:
                for dtype in np.float64, np.float32:
                    with self.subTest(shape=shape, kind=kind, dtype=dtype):
                        S = random_matrix(shape, kind, dtype)
                        A, m, n = spmv.matrix(S), *shape
                        x, z = rng.standard_normal(n).astype(dtype), rng.standard_normal(m).astype(dtype)
                        X = rng.standard_normal((n, 3)).astype(dtype)
                        self.assert_product(A @ x, S, x, dtype)
                        self.assert_product(A @ X, S, X, dtype)
                        self.assert_product(A @ X[:, :1], S, X[:, :1], dtype)
                        self.assert_product(A.T @ z, S.T, z, dtype)
                        self.assert_product(z @ A, S.T, z, dtype)
                        self.assert_product(A.T.T @ x, S, x, dtype)
                        self.assertEqual((A @ X[:, :0]).shape, (m, 0))

    def test_types_are_joined_as_numpy_joins_them(self):
        for of_matrix in np.float64, np.float32:
            S = random_matrix((60, 50), dtype=of_matrix)
            for of_vector in np.float64, np.float32, np.float16, np.int64, np.int8, np.bool_, ">f8":
                x = (4 * rng.standard_normal(50)).astype(of_vector)
                self.assert_product(spmv.matrix(S) @ x, S, x, np.result_type(of_matrix, of_vector))
        self.assert_product(spmv.matrix(S) @ list(range(50)), S, range(50))

    def test_vectors_that_lie_otherwise(self):
        S = random_matrix((60, 50))
        A, wide = spmv.matrix(S), rng.standard_normal((50, 4))
        fixed = wide[:, 0].copy()
        fixed.flags.writeable = False
        odd = np.zeros(50 * 8 + 1, np.uint8)[1:].view(np.float64)
        odd[:] = fixed
        for x in wide[:, 1], wide[::-1, 2], fixed, odd, wide, np.asfortranarray(wide), wide[:, ::2]:
            self.assert_product(A @ x, S, x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy says that the class is old
            self.assertIsInstance(A @ np.matrix(wide), np.matrix)

    def test_out_is_written_whatever_is_in_it(self):
        S = random_matrix((60, 50))
        A, x, X = spmv.matrix(S), rng.standard_normal(50), rng.standard_normal((50, 3))
        y, Y = np.full(60, np.nan), np.full((60, 3), np.nan, order="F")
        self.assertIs(A.dot(x, out=y), y)
        self.assertIs(A.dot(X, out=Y), Y)
        self.assert_product(y, S, x)
        self.assert_product(Y, S, X)
        for wrong in np.empty(59), np.empty(60, np.float32), np.empty(120)[::-2], np.empty((60, 6))[:, ::2], [0.0] * 60:
            with self.assertRaisesRegex(ValueError, "out: must be an array where x is"):
                A.dot(X if np.ndim(wrong) == 2 else x, out=wrong)
        with self.assertRaisesRegex(ValueError, r"out: must be an array where x is, of shape \(60, 1\)"):
            A.dot(X[:, :1].copy(), out=np.empty(60))
        square = spmv.matrix(random_matrix((50, 50)))
        with self.assertRaisesRegex(spmv.Error, r"^out, \d+ numbers, overlaps x$"):
            square.dot(x, out=x)

    def test_sums_come_with_the_product(self):
        S = random_matrix((50, 50))
        A, x, X = spmv.matrix(S), rng.standard_normal(50), np.asfortranarray(rng.standard_normal((50, 3)))
        w, W = rng.standard_normal(50), rng.standard_normal((50, 3))
        for operand, other in (x, x), (x, w), (X, X), (X, W), (np.ascontiguousarray(X), W), (x.astype(np.float32), w):
            y, wy, yy = A.dot(operand, w=other)
            self.assert_product(y, S, operand)
            np.testing.assert_allclose(wy, (other * y).sum(axis=0), rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(yy, (y * y).sum(axis=0), rtol=1e-12)
            self.assertEqual(np.shape(wy), operand.shape[1:])
        out = np.empty(50)
        y, wy, _ = A.T.dot(x, out=out, w=x)
        self.assertIs(y, out)
        np.testing.assert_allclose(wy, x @ (S.T @ x), rtol=1e-12, atol=1e-12)
        y, wy, yy = A.dot(x * 1j, w=x)  # in SciPy
        np.testing.assert_allclose((wy, yy), (x @ y, np.vdot(y, y)))
        for wrong in np.ones(49), W:
            with self.assertRaisesRegex(ValueError, "w: must be an array where x is"):
                A.dot(x, w=wrong)

    def test_out_may_overlap_other_columns(self):
        S = random_matrix((50, 50))
        for first, into in ((0, 1), (1, 0)):
            B = np.asfortranarray(rng.standard_normal((50, 4)))
            X = B[:, first:first + 3].copy()
            out = B[:, into:into + 3]
            self.assertIs(spmv.matrix(S).dot(B[:, first:first + 3], out=out), out)
            self.assert_product(out, S, X)

    def test_columns_out_of_order_duplicates_and_wide_indices(self):
        for index in np.int32, np.int64:
            S, x = unordered(index), rng.standard_normal(4)
            A = spmv.matrix((S.data, S.indices, S.indptr), shape=S.shape)
            for product in spmv.matrix(S) @ x, A @ x, A.T.T @ x:
                self.assert_product(product, S, x)

    def test_what_the_library_has_not_runs_in_scipy_and_is_counted(self):
        S, x = random_matrix((60, 50)), rng.standard_normal(50)
        before = spmv.stats()
        spmv.matrix(S) @ x
        spmv.matrix(S) @ np.ones((50, 4))
        self.assertEqual(spmv.stats(), {**before, "library": before["library"] + 2})
        real, imaginary, integer = spmv.matrix(S), spmv.matrix(S * 1j), spmv.matrix((8 * S).astype(np.int32))
        np.testing.assert_array_equal(real @ (x * 1j), S @ (x * 1j))
        np.testing.assert_array_equal(imaginary @ x, (S * 1j) @ x)
        np.testing.assert_allclose(imaginary.rmatvec(np.ones(60) * 1j), (S * 1j).conj().T @ (np.ones(60) * 1j))
        np.testing.assert_allclose(imaginary.H @ np.ones(60), (S * 1j).conj().T @ np.ones(60))
        self.assertEqual((integer @ np.arange(50)).dtype, np.int64)
        self.assertEqual(abs(real @ random_matrix((50, 3)) - S @ random_matrix((50, 3))).max(), 0)
        self.assertEqual(spmv.stats(), {**before, "library": before["library"] + 2, "scipy": before["scipy"] + 6})
        with self.assertRaisesRegex(TypeError, "products of complex128 run in SciPy"):
            imaginary.plan()


class Drawn(Case):
    """Products of random matrices with operands that lie anyhow, into arrays that lie anyhow. All numbers are small integers, so
    that sums are exact; what lies between those of a view is NaN, and must stay so."""

    def setUp(self):
        self.rng = np.random.default_rng(11)

    def choose(self, things):
        return things[self.rng.integers(len(things))]

    def numbers(self, shape, dtype):
        return self.rng.integers(-8, 9, shape).astype(dtype)

    def matrix(self):
        rows, cols = (self.choose([1, 2, *self.rng.integers(1, 30, 4)]) for _ in range(2))
        made = sparse.random(rows, cols, self.rng.random() / 2, random_state=int(self.rng.integers(2**31)))
        made.data = self.numbers(made.nnz, self.choose([np.float64, np.float32]))
        made = made.asformat(self.choose(["csr", "csr", "csc", "coo", "bsr"]))
        if made.format in ("csr", "csc") and self.rng.random() < 0.3:
            made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
        if made.format in ("csr", "csc") and self.rng.random() < 0.3:  # longer than what they hold
            made.data, made.indices = np.append(made.data, [np.nan] * 3).astype(made.dtype), np.append(made.indices, [9] * 3)
        return made

    def lying(self, n, k, dtype):
        """(an array of NaN, a view of it) of one vector or several, in one of the ways that arrays lie."""
        if k is None:
            room = np.full(3 * n + 8, np.nan, dtype)
            return room, self.choose([room[3:n + 3], room[2:2 * n + 2:2], room[n + 2:2:-1][:n]])
        gap = int(self.rng.integers(4))
        room = np.full((2 * n + 4, 2 * k + gap + 4), np.nan, dtype, order=self.choose("CF"))
        return room, self.choose([room[1:n + 1, 2:k + 2], room[:n, :k], room[n:0:-1, :k], room[:n, k:0:-1], room[:n, 1:2 * k + 1:2], room[:2 * n:2, :k]])

    def operand(self, n, k, dtype):
        room, x = self.lying(n, k, dtype)
        x[...] = self.numbers(x.shape, dtype)
        if self.rng.random() < 0.2:
            room.flags.writeable = False
        elif self.rng.random() < 0.3:
            x = self.choose([np.ascontiguousarray, np.asfortranarray])(x)
        return x

    def test_products_are_those_of_dense_arrays(self):
        self.products, before = 0, spmv.stats()["library"]
        for n in range(60):
            S = self.matrix()
            A, D = spmv.matrix(S), S.toarray().astype(np.float64)
            for turn in range(6):
                with self.subTest(matrix=n, turn=turn, kind=S.format, shape=S.shape, dtype=S.dtype):
                    self.multiply(*self.choose([(A, D), (A.T, D.T)]))
                if turn == 3 and S.format in ("csr", "csc"):
                    own = S.copy()
                    own.data = own.data[:S.nnz]
                    own.indices, key = own.indices[:S.nnz], self.choose([..., slice(None, None, 2)])
                    own.data[key] = A.values[key] = self.numbers(own.data[key].shape, S.dtype)
                    D[...] = own.toarray()
        self.assertEqual(spmv.stats()["library"] - before, self.products)

    def multiply(self, A, D):
        k = self.choose([None, 1, 2, 3, 5, 8, 11])
        x = self.operand(D.shape[1], k, self.choose([A.dtype, A.dtype, np.float64, np.float32]))
        dtype, before, wanted = np.result_type(A.dtype, x.dtype), x.copy(), D @ x
        way = self.rng.integers(5)
        if way == 0:
            room, out = self.lying(D.shape[0], k, dtype)
            self.into(A, x, room, out, wanted)
        elif way == 1 and k != 1:
            w = self.operand(D.shape[0], k, dtype)
            y, wy, yy = A.dot(x, w=w)
            self.assertEqual((y.tolist(), wy.tolist(), yy.tolist()),
                             (wanted.tolist(), (w * wanted).sum(axis=0).tolist(), (wanted * wanted).sum(axis=0).tolist()))
        elif way == 2:
            self.same(x.T @ A.T, wanted.T, dtype)
        else:
            self.same(A @ x, wanted, dtype)
        np.testing.assert_array_equal(x, before)
        self.products += 1

    def same(self, y, wanted, dtype):
        self.assertEqual((y.dtype, y.shape), (dtype, wanted.shape))
        np.testing.assert_array_equal(y, wanted)

    def into(self, A, x, room, out, wanted):
        """Refused are arrays with neither rows nor columns that are contiguous; those stay as they were."""
        try:
            self.assertIs(A.dot(x, out=out), out)
        except ValueError:
            row, column = (out.strides[0], out.itemsize) if out.ndim == 1 else out.strides
            is_row = out.ndim == 2 and len(out) == 1 and column > 0
            self.assertFalse(is_row or row == out.itemsize and column > 0 or column == out.itemsize and row > 0, out.strides)
            self.products -= 1
        else:
            self.same(out, wanted, out.dtype)
            out[...] = np.nan
        self.assertTrue(np.isnan(room).all())


class SeveralVectors(Case):
    """Products of X, however it lies: by SciPy's, with nothing copied, in one call of the library."""

    def calls(self):
        """Those of spmv_apply, from now on, as (k, layout, ldx, ldz, x, z)."""
        seen, apply = [], _library.lib.spmv_apply

        def counted(plan, call, stream):
            seen.append((call.k, call.layout, call.ldx, call.ldz, call.x, call.z))
            return apply(plan, call, stream)

        patch = unittest.mock.patch.object(_library.lib, "spmv_apply", counted)
        patch.start()
        self.addCleanup(patch.stop)
        return seen

    def test_they_are_read_where_they_lie(self):
        seen = self.calls()
        C, F = _library.ROWS, _library.COLUMNS
        for dtype in np.float64, np.float32:
            S = random_matrix((60, 50), dtype=dtype)
            A, z = spmv.matrix(S), rng.standard_normal((60, 9)).astype(dtype)
            wide, tall = rng.standard_normal((50, 12)).astype(dtype), rng.standard_normal((12, 70)).astype(dtype).T
            fixed = wide.copy()
            fixed.flags.writeable = False
            for X, layout, ld in (wide, C, 12), (wide[:, 2:9], C, 12), (wide[:, 3:5], C, 12), (tall[:50], F, 70), \
                    (tall[20:, 1:8], F, 70), (tall[5:55, ::2], F, 140), (fixed[:, 1:], C, 12):
                with self.subTest(dtype=dtype, shape=X.shape, layout=layout, ld=ld):
                    seen.clear()
                    Y = A @ X
                    self.assertEqual([call[:3] + call[4:5] for call in seen], [(X.shape[1], layout, ld, X.ctypes.data)])
                    self.assert_product(Y, S, X, dtype)
                    self.assertTrue(Y.flags.c_contiguous if layout == C else Y.flags.f_contiguous)
                    self.assertEqual(seen[0][5], Y.ctypes.data)
            for Z in z, np.asfortranarray(z):
                self.assert_product(A.T @ Z, S.T, Z, dtype)
                seen.clear()
                self.assert_product((Z.T @ A).T, S.T, Z, dtype)
                self.assertEqual([call[4] for call in seen], [Z.ctypes.data])
            self.assertEqual(len(A._entries.prepared), 1)  # A.T shares the matrix

    def test_what_cannot_be_read_where_it_lies_is_copied_once(self):
        seen, S = self.calls(), random_matrix((60, 50))
        A, wide = spmv.matrix(S), rng.standard_normal((50, 12))
        unaligned = np.zeros(50 * 12 * 8 + 1, np.uint8)[1:].view(np.float64).reshape(50, 12)
        unaligned[:] = wide
        packed = np.zeros(50, [("value", "f8", 3), ("flag", "i4")])["value"]
        packed[:] = wide[:, :3]
        for X in wide[:, ::2], wide[::-1], wide[:, ::-1], np.broadcast_to(wide[:, :1], (50, 4)), np.broadcast_to(wide[0], (50, 12)), \
                unaligned, packed, wide.astype(np.float32), wide.astype(">f8"), wide.tolist():
            seen.clear()
            self.assert_product(A @ X, S, X)
            self.assertEqual([call[0] for call in seen], [np.shape(X)[1]])

    def test_of_every_number_of_them(self):
        S = random_matrix((300, 200))
        A, wide, high = spmv.matrix(S), rng.standard_normal((200, 100)), rng.standard_normal((300, 100))
        for k in 1, 2, 3, 7, 8, 17, 33, 64, 100:
            for order in "CF":
                X, Z = np.array(wide[:, :k], order=order), np.array(high[:, :k], order=order)
                self.assert_product(A @ X, S, X)
                self.assert_product(A.T @ Z, S.T, Z)

    def test_out(self):
        seen, S = self.calls(), random_matrix((60, 50))
        A, X = spmv.matrix(S), rng.standard_normal((50, 5))
        room, high = np.full((60, 9), np.nan), np.full((9, 70), np.nan).T
        for out in room[:, 2:7], high[4:64, 3:8], np.empty((60, 5)), np.empty((60, 5), order="F"), high[:60, ::2]:
            for x in X, np.asfortranarray(X):
                seen.clear()
                self.assertIs(A.dot(x, out=out), out)
                self.assert_product(out, S, X)
                self.assertEqual([call[5] for call in seen], [out.ctypes.data])
        between = np.ones((70, 9), bool)
        between[4:64, 3:8] = between[:60, ::2] = False
        np.testing.assert_array_equal(np.isnan(high), between)
        self.assertEqual(np.isnan(room).sum(), 60 * 4)
        one = np.empty((60, 1))
        self.assertIs(A.dot(X[:, :1], out=one), one)
        self.assert_product(one, S, X[:, :1])
        room[:], apart = np.nan, np.full(120, np.nan)
        for k in range(5):
            self.assertEqual(A.dot(X[:, k:k + 1], out=room[:, k:k + 1]).shape, (60, 1))
        A.dot(X[:, 0].copy(), out=apart[::2])
        self.assert_product(room[:, :5], S, X)
        self.assert_product(apart[::2], S, X[:, 0])
        self.assertEqual((np.isnan(room).sum(), np.isnan(apart).sum()), (60 * 4, 60))
        fixed = np.empty((60, 5))
        fixed.flags.writeable = False
        for wrong in np.empty((60, 4)), np.empty((59, 5)), np.empty((60, 5), np.float32), room[:, ::2], fixed, np.empty(60):
            with self.assertRaisesRegex(ValueError, r"out: (must be an array where x is, of shape \(60, 5\) and float64|is read)"):
                A.dot(X, out=wrong)

    def test_out_beside_x_in_one_array(self):
        seen, S = self.calls(), random_matrix((50, 50))
        A = spmv.matrix(S)
        for order in "CF":
            B = np.array(rng.standard_normal((50, 8)), order=order)
            for into, is_read_there in (4, True), (2, False):
                X, before = B[:, :4], B[:, :4].copy()
                seen.clear()
                A.dot(X, out=B[:, into:into + 4])
                self.assert_product(B[:, into:into + 4], S, before)
                self.assertEqual([call[4] == B.ctypes.data for call in seen], [is_read_there])

    def test_w_of_another_shape_is_told_that_of_the_product(self):
        A = spmv.matrix(sparse.csr_array(np.ones((3, 2))))
        for x, shape in (np.ones(2), r"\(3,\)"), (np.ones((2, 4)), r"\(3, 4\)"):
            with self.assertRaisesRegex(ValueError, f"of the product's shape {shape}"):
                A.dot(x, w=np.ones(5))

    def test_shapes_that_do_not_fit_are_refused(self):
        A = spmv.matrix(random_matrix((60, 50)))
        for X in np.ones((60, 3)), np.ones((3, 50)), np.ones((0, 3)):
            with self.assertRaisesRegex(ValueError, "A is 60 x 50, and the operand's shape"):
                A @ X
            with self.assertRaisesRegex(ValueError, "A is 50 x 60, and the operand's shape"):
                A.T @ X[:2]
        for x in np.ones(50), np.ones((60, 3)), np.ones((1, 1, 60)), np.array(1.0):
            with self.assertRaisesRegex(ValueError, r"x @ A: A is 60 x 50, and the shape of x \("):
                A.__rmatmul__(x)

    def test_they_have_plans_of_their_own(self):
        S = random_matrix((60, 50))
        A, X = spmv.matrix(S), rng.standard_normal((50, 6))
        A.plan(kernel="sell_slices")
        self.assert_product(A @ X, S, X)  # by the kernel that was named for one
        facts = A.plan(kernel="csr_rows", vectors=6, order="F")
        self.assertEqual(facts["kernel"], "csr_rows")
        for Z in np.asfortranarray(X), X:
            self.assert_product(A @ Z, S, Z)
        A.T @ np.ones((60, 2))
        self.assertEqual([(p["transposed"], p["vectors"], p["order"], p["kernel"]) for p in A.info()["plans"]][:3],
                         [(False, 1, "C", "sell_slices"), (False, 6, "C", "sell_slices"), (False, 6, "F", "csr_rows")])
        self.assertEqual([(p["transposed"], p["vectors"]) for p in A.info()["plans"]][3:], [(True, 2)])
        with self.assertRaisesRegex(ValueError, "order is 'K', must be"):
            A.plan(vectors=2, order="K")
        with self.assertRaisesRegex(ValueError, "vectors is -1"):
            A.plan(vectors=-1)
        plans = [(p["transposed"], p["vectors"], p["kernel"]) for p in A.info()["plans"]]
        S.data[:] = A.values[...] = rng.standard_normal(S.nnz)
        self.assertEqual([(p["transposed"], p["vectors"], p["kernel"]) for p in A.info()["plans"]], plans)
        self.assert_product(A @ X, S, X)
        self.assert_product(A.T @ np.ones((60, 2)), S.T, np.ones((60, 2)))

    def test_any_number_of_threads_multiply(self):
        S = random_matrix((3000, 3000))
        A, right = spmv.matrix(S), []
        A.plan(kernel="csr5_tiles")

        def work(order):
            X = np.array(np.random.default_rng(3).standard_normal((3000, 5)), order=order)
            for _ in range(20):
                Y, y = A @ X, A @ X[:, 0]
                Z = A.T @ X
                right.append(np.allclose(Y, S @ X) and np.allclose(y, Y[:, 0]) and np.allclose(Z, S.T @ X))

        threads = [threading.Thread(target=work, args=("CF"[t % 2],)) for t in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(right, [True] * 80)


class Lives(Case):
    """Arrays are borrowed and kept; values change."""

    def test_arrays_are_borrowed_and_kept(self):
        S = random_matrix((60, 50))
        A, x, right = spmv.matrix(S), rng.standard_normal(50), S.copy()
        A.plan(kernel="csr_rows")
        for array, of_source, is_borrowed in zip(A._entries.prepared[None].arrays, (S.data, S.indices, S.indptr), (1, 1, 0)):
            self.assertEqual(np.shares_memory(array, of_source), is_borrowed)
        del S, array, of_source
        gc.collect()
        self.assert_product(A @ x, right, x)
        transposed = A.T
        del A
        gc.collect()
        self.assert_product(transposed @ np.ones(60), right.T, np.ones(60))

    def sources(self):
        """Sources of which something is not borrowed, with the arrays that is true of."""
        plain = random_matrix((60, 50))
        yield "unsummed", (S := unordered()), (S.data, S.indices, S.indptr)
        S = sparse.csr_array((np.array([1., 2, 4, 5, 3]), np.array([0, 0, 1, 0, 1], "i4"), np.array([0, 3, 5], "i4")), shape=(2, 2))
        yield "duplicates", S, (S.data, S.indices, S.indptr)
        S = sparse.csc_matrix((np.arange(1.0, 5), np.array([1, 0, 1, 0], "i4"), np.array([0, 2, 4], "i4")), shape=(2, 2))
        yield "unsorted columns", S, (S.data, S.indices, S.indptr)
        S = plain.copy()
        S.data[::3] = 0
        yield "zeros", S, (S.data, S.indices, S.indptr)
        for kind in "coo", "bsr", "dia", "lil", "dok":
            S = plain.asformat(kind).copy()
            names = {"coo": ("data", "row", "col"), "bsr": ("data", "indices", "indptr"), "dia": ("data", "offsets"), "lil": ("data",)}
            yield kind, S, tuple(getattr(S, name) for name in names.get(kind, ()))
        for dtype in np.float32, np.complex128, np.int64:
            S = (8 * plain).astype(dtype)
            yield dtype, S, (S.data, S.indices, S.indptr)
        S = plain.copy()
        S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
        yield "64 bits", S, (S.indices, S.indptr)
        S = plain.copy()
        S.data = np.repeat(S.data, 2)[::2]
        yield "gaps", S, (S.data, S.indices, S.indptr)
        S = plain.copy()
        yield "offsets", S, (S.indptr,)
        S = plain.copy()
        yield "a tuple", (S.data, S.indices.astype(np.int64), S.indptr), (S.indptr,)

    def test_what_is_not_borrowed_is_copied(self):
        for name, S, arrays in self.sources():
            with self.subTest(name):
                T = sparse.csr_matrix(S, shape=(60, 50)).copy() if isinstance(S, tuple) else S.tocsr(copy=True)
                x = np.arange(1.0, T.shape[1] + 1)
                A, y = spmv.matrix(S, T.shape), T.toarray() @ x
                for array in arrays:
                    array.fill([] if array.dtype == object else 1)
                np.testing.assert_allclose(A @ x, y, rtol=1e-5)
                np.testing.assert_allclose(A.T @ np.ones(T.shape[0]), T.toarray().T @ np.ones(T.shape[0]), rtol=1e-5, atol=1e-6)

    def test_methods_of_the_source_change_nothing(self):
        methods = {"sum": lambda S: S.sum(), "max": lambda S: S.max(), "abs": abs, "sum_duplicates": lambda S: S.sum_duplicates(),
                   "sort_indices": lambda S: S.sort_indices(), "eliminate_zeros": lambda S: S.eliminate_zeros(),
                   "prune": lambda S: S.prune(), "smaller": lambda S: S.resize(2, 2), "larger": lambda S: S.resize(90, 90),
                   "argmax": lambda S: S.argmax(), "tocsr": lambda S: S.tocsr().sum_duplicates()}
        for index in np.int32, np.int64:
            zeros = random_matrix((60, 50))
            zeros.data[::3] = 0
            unsummed = unordered(index)
            unsummed.data, unsummed.indices = unsummed.data[:5].copy(), unsummed.indices[:5].copy()
            for source in unordered(index), unsummed, unsummed.tocoo(), zeros, zeros.tocsc(), random_matrix((60, 50), "bsr"), \
                    random_matrix((60, 50), "dia"), random_matrix((60, 50)):
                for name, method in methods.items():
                    with self.subTest(name=name, format=source.format):
                        S, x = source.copy(), np.arange(1.0, source.shape[1] + 1)
                        A, late, y = spmv.matrix(S), spmv.matrix(S), source.toarray() @ x
                        np.testing.assert_allclose(A @ x, y)
                        try:
                            method(S)
                        except (AttributeError, NotImplementedError):
                            continue  # not of this format
                        np.testing.assert_allclose(A @ x, y)
                        np.testing.assert_allclose(late @ x, y)

    def test_new_values_are_copied(self):
        S, x = random_matrix((60, 50)), np.ones(50)
        A, new = spmv.matrix(S), np.full(S.nnz, 2.0)
        A.values[...] = new
        new[:] = 3
        y = A @ x
        new[:] = 5
        np.testing.assert_allclose(A.dot(x, values=new), 2.5 * y)
        new[:] = 7
        np.testing.assert_allclose(A @ x, 2.5 * y)

    def test_new_values_keep_the_other_arrays(self):
        """The library borrows indices that nobody else may have."""
        S = random_matrix((60, 50))
        A = spmv.matrix((S.data, S.indices.astype(np.int64), S.indptr), S.shape)
        A @ np.ones(50)
        before = A._entries.prepared[None].arrays
        A.values[...] = 2
        after = A._entries.prepared[None].arrays
        self.assertIsNot(after[0], before[0])
        self.assertEqual([id(array) for array in after[1:]], [id(array) for array in before[1:]])

    def test_nothing_of_the_library_outlives_a_matrix(self):
        made, freed = collections.Counter(), collections.Counter()

        def counting(counter, name):
            own = getattr(_library.lib, name)

            def counted(*arguments):
                counter[name.split("_")[1]] += 1
                return own(*arguments)
            return unittest.mock.patch.object(_library.lib, name, counted)
        with contextlib.ExitStack() as patches:
            for kind in "ctx", "mat", "plan":
                patches.enter_context(counting(made, f"spmv_{kind}_create"))
                patches.enter_context(counting(freed, f"spmv_{kind}_free"))
            A = spmv.matrix(random_matrix((60, 50)))
            A @ np.ones(50), A @ np.ones((50, 3)), A.T @ np.ones(60), A.plan(kernel="csr_rows")
            A.values[...] = 3
            A @ np.ones(50)
            del A
            gc.collect()
            self.assertGreater(made["plan"], 3)
            self.assertEqual(freed, made)

    def test_the_source_may_get_another_shape(self):
        S = random_matrix((60, 50))
        A, y = spmv.matrix(S), S.T @ np.ones(60)
        S.resize(10, 80)
        S.data = 2 * S.data
        np.testing.assert_allclose(A.T @ np.ones(60), y)
        self.assertEqual(A.shape, (60, 50))

    def test_new_values_reach_every_plan(self):
        matrices = random_matrix((60, 50)), random_matrix((60, 50), "csc"), unordered()
        for k, S in enumerate(matrices):
            for kernel in "auto", "csr_rows", "sell_slices", "csr5_tiles":
                for refill in (False, True)[:1 + (kernel == "auto")]:
                    with self.subTest(matrix=k, kernel=kernel, refill=refill):
                        self.set_and_check(S, kernel, refill)

    def set_and_check(self, S, kernel, refill):
        x, z, before = rng.standard_normal(S.shape[1]), rng.standard_normal(S.shape[0]), S.data.copy()
        A, T, n = spmv.matrix(S), S.copy(), S.nnz
        A.plan(kernel=kernel, refill=refill)
        A.T @ z
        for key, new in (..., rng.standard_normal(n)), (..., np.ones(n)), (..., 2), (slice(3, 5), 7), (0, np.pi):
            A.values[key] = new
            T.data[key] = new
            self.assert_product(A @ x, T, x)
            self.assert_product(A.T @ z, T.T, z)
        A.values[1] += 1
        T.data[1] += 1
        np.testing.assert_array_equal(np.asarray(A.values), T.data)
        self.assert_product(A @ sparse.identity(S.shape[1]).tocsr() @ x, T, x)
        np.testing.assert_array_equal(S.data, before)
        if kernel != "auto":
            self.assertEqual(A.info()["plans"][0]["kernel"], kernel)

    def test_values_that_do_not_fit_change_nothing(self):
        S, x = random_matrix((60, 50)), rng.standard_normal(50)
        A = spmv.matrix(S)
        A @ x
        with self.assertRaises(ValueError):
            A.values[...] = np.ones(S.nnz + 1)
        self.assert_product(A @ x, S, x)
        self.assertEqual(len(A.values), S.nnz)

    def test_no_plan_keeps_old_values_when_one_fails(self):
        S, x, z = random_matrix((60, 50)), rng.standard_normal(50), rng.standard_normal(60)
        A = spmv.matrix(S)
        A @ x, A.T @ z
        with unittest.mock.patch.object(spmv._plan.Prepared, "set_values", side_effect=spmv.Error("out of memory", -5)):
            with self.assertRaisesRegex(spmv.Error, "out of memory"):
                A.values[...] = 3
        S.data[...] = 3
        self.assert_product(A @ x, S, x)
        self.assert_product(A.T @ z, S.T, z)

    def test_it_is_pickled_as_what_scipy_has(self):
        S, z = random_matrix((60, 50)), rng.standard_normal(60)
        self.assert_product(pickle.loads(pickle.dumps(spmv.matrix(S).T)) @ z, S.T, z)


class Plans(Case):
    def test_a_plan_is_chosen_and_described(self):
        A = spmv.matrix(random_matrix((60, 50), dtype=np.float32))
        facts = A.plan(expected=1000, kernel="omp:sell_slices")
        self.assertEqual((facts["kernel"], facts["backend"]), ("sell_slices", "omp"))
        A.T @ np.ones(60, np.float32)
        info = A.info()
        self.assertEqual((info["shape"], info["dtype"], info["nnz"], info["version"]), ((60, 50), "float32", A.nnz, spmv.__version__))
        self.assertEqual([(p["transposed"], p["device"], p["dtype"]) for p in info["plans"]],
                         [(False, None, "float32"), (True, None, "float32")])
        self.assertEqual(info["plans"][0]["kernel"], "sell_slices")
        A.plan(kernel="csr_rows")
        self.assertEqual(A.info()["plans"][0]["kernel"], "csr_rows")

    def plans_of(self, product):
        """What the library is asked for by the plans that a product makes, but for what is as in spmv_plan_opts."""
        given, create = [], _library.lib.spmv_plan_create
        usual = {"kernel": b"auto", "op": _library.AS_IS, "vectors": 1, "layout": _library.COLUMNS}

        def seen(matrix, options, out):
            values = {name: getattr(options, name) for name, _ in options._fields_ if name not in ("size", "settings")}
            given.append({name: value for name, value in values.items() if value != usual.get(name, 0) and value is not None})
            return create(matrix, options, out)
        with unittest.mock.patch.object(_library.lib, "spmv_plan_create", seen):
            for _ in range(3):
                product()
        return given

    def test_the_library_is_asked_for_what_was_said(self):
        A, X = spmv.matrix(random_matrix((60, 50))), np.ones((50, 3))
        rows = {"layout": _library.ROWS}
        for product, asked in ((lambda: A @ X[:, 0], {}), (lambda: A @ X, {"vectors": 3, **rows}),
                               (lambda: A @ np.asfortranarray(X[:, :2]), {"vectors": 2}),
                               (lambda: A.T @ np.ones(60), {"op": _library.TRANSPOSE})):
            self.assertEqual(self.plans_of(product), [asked])
        f32 = spmv.matrix(random_matrix((60, 50), dtype=np.float32))
        self.assertEqual(self.plans_of(lambda: f32 @ np.ones(50, np.float32)), [{"precision": _library.F32}])
        self.assertEqual(self.plans_of(lambda: f32 @ np.ones(50)), [{}])
        for said, asked in (({"expected": 1000}, {"expected_calls": 1000, **rows}),
                            ({"kernel": "csr_rows", "refill": True}, {"kernel": b"csr_rows", "refill": 1, **rows}),
                            ({"vectors": 4}, {"vectors": 4, **rows}), ({"vectors": 4, "order": "F"}, {"vectors": 4}),
                            ({"threads": 1}, {"threads": 1, **rows}),
                            ({"kernel": "sell_slices", "settings": {"slice": 8, "sigma": 16}},
                             {"kernel": b"sell_slices", "nsettings": 2, **rows})):
            self.assertEqual(self.plans_of(lambda: A.plan(**said)), 3 * [asked])

    def test_plans_that_are_made_later_are_asked_for_what_was_said(self):
        said = {"kernel": "sell_slices", "settings": {"slice": 8, "sigma": 16}, "threads": 1, "max_bytes": 10**9}
        asked = {"kernel": b"sell_slices", "nsettings": 2, "threads": 1, "max_bytes": 10**9}
        rows = {"layout": _library.ROWS}
        A = spmv.matrix(random_matrix((60, 50)))
        self.assertEqual(self.plans_of(lambda: A.plan(**said, expected=7)), 3 * [{**asked, **rows, "expected_calls": 7}])
        self.assertEqual(self.plans_of(lambda: A @ np.ones((50, 3))), [{**asked, **rows, "vectors": 3}])
        with unittest.mock.patch.object(spmv._plan.Prepared, "set_values", return_value=False):
            again = self.plans_of(lambda: A.values.__setitem__(..., 2))
        self.assertEqual(again, 3 * [{**asked, **rows, "expected_calls": 7}, {**asked, **rows, "vectors": 3}])
        A.plan(kernel="csr_rows")
        with unittest.mock.patch.object(spmv._plan.Prepared, "set_values", return_value=False):
            again = self.plans_of(lambda: A.values.__setitem__(..., 3))
        self.assertEqual(again[0], {"kernel": b"csr_rows", **rows})

    def test_the_program_gets_the_words(self):
        with unittest.mock.patch.object(os, "execv") as execv, unittest.mock.patch.object(sys, "argv", ["here", "-V", "x"]):
            importlib.import_module("spmv._program").main()
        self.assertEqual(execv.call_args[0][1], ["spmv", "-V", "x"])
        self.assertEqual(execv.call_args[0][0].name, "spmv")

    def test_errors_have_the_librarys_text(self):
        S = random_matrix((60, 50))
        A = spmv.matrix(S)
        for kernel, text, status in ("nope", "no kernel 'nope'", -1), ("no:pe", "no:pe", -1), \
                ("csr_*", "names .* kernels; a plan takes one", -1), ("csell_sym_slices", "symmetric|square", -7):
            with self.assertRaisesRegex(spmv.Error, text) as caught:
                A.plan(kernel=kernel)
            sent = pickle.loads(pickle.dumps(caught.exception))  # by another process
            self.assertEqual((str(sent), sent.status), (str(caught.exception), status))
        bad = S.copy()
        bad.indices[3] = 50
        with self.assertRaisesRegex(spmv.Error, r"row 1, entry 3 \(from 0\): idx\[3\] is 50, must be 0 to 49"):
            spmv.matrix(bad) @ np.ones(50)
        with self.assertRaises(ValueError):
            spmv.matrix(sparse.csr_matrix((bad.data, bad.indices.astype(np.int64) + 2**32, bad.indptr), shape=(60, 50))) @ np.ones(50)
        for x in np.ones(51), np.ones((51, 2)), np.ones((2, 50)), np.ones((50, 1, 1)), np.array(1.0):
            with self.assertRaisesRegex(ValueError, "A is 60 x 50, and the operand's shape"):
                A.dot(x) if np.ndim(x) == 0 else A @ x
        with self.assertRaisesRegex(TypeError, "a sparse matrix or"):
            spmv.matrix(np.eye(3))

    @unittest.skipUnless(PROGRAM.parent.name == "omp", "of a build without CUDA")
    def test_without_cuda_its_kernels_are_refused(self):
        with self.assertRaisesRegex(spmv.Error, "operands on a GPU: .*cuda is not built in.*SPMV_CUDA=1 pip install"):
            spmv.matrix(random_matrix((60, 50))).plan(kernel="cuda:auto")


class Operators(Case):
    """Uses it as SciPy's solvers use a matrix."""

    def test_it_has_the_products_of_an_operator(self):
        S = random_matrix((60, 50))
        A, x, z, X = spmv.matrix(S), rng.standard_normal(50), rng.standard_normal(60), rng.standard_normal((50, 3))
        self.assertEqual((A.shape, A.dtype, A.T.shape, A.ndim), ((60, 50), np.float64, (50, 60), 2))
        for y, T, v in (A.matvec(x), S, x), (A.rmatvec(z), S.T, z), (A.matmat(X), S, X), (A.H @ z, S.T, z), \
                (A.matvec(X[:, :1]), S, X[:, :1]), (A.rmatmat(A @ X), S.T, S @ X), (A * x, S, x), \
                ((2 * A + A) @ x, 3 * S, x), ((A.T @ A) @ x, S.T @ S, x):
            self.assertEqual(y.shape, (T @ v).shape)
            np.testing.assert_allclose(y, T @ v, rtol=1e-12, atol=1e-12)

    def test_complex_products_by_the_transpose_are_conjugated(self):
        S, z = (1 + 2j) * random_matrix((60, 50)), rng.standard_normal(60) + 1j * rng.standard_normal(60)
        for y in spmv.matrix(S).rmatvec(z), spmv.matrix(S).H @ z:
            np.testing.assert_allclose(y, S.conj().T @ z, rtol=1e-12, atol=1e-12)

    def test_solvers_take_it(self):
        n = 30
        line = sparse.diags([-1, 2.0, -1], [-1, 0, 1], shape=(n, n))
        S = (sparse.kron(line, sparse.identity(n)) + sparse.kron(sparse.identity(n), line)).tocsr()
        b = rng.standard_normal(n * n)
        A, before = spmv.matrix(S), spmv.stats()
        x, code = linalg.cg(A, b, atol=0)
        self.assertEqual(code, 0)
        self.assertLess(np.linalg.norm(S @ x - b), 1e-4 * np.linalg.norm(b))
        x = linalg.lsqr(A, b, atol=1e-10, btol=1e-10)[0]
        self.assertLess(np.linalg.norm(S @ x - b), 1e-6 * np.linalg.norm(b))
        largest = linalg.svds(A, k=2, return_singular_vectors=False)
        np.testing.assert_allclose(np.sort(largest), np.sort(linalg.svds(S, k=2, return_singular_vectors=False)))
        after = spmv.stats()
        self.assertGreater(after["library"], before["library"] + 100)
        self.assertEqual(after["scipy"], before["scipy"])


class Interrupted(BaseException):
    """What a signal's handler raises."""


class Interruptions(Case):
    def test_products_are_of_the_values_that_the_matrix_has(self):
        S, x, z, X = random_matrix((300, 200)), np.ones(200), np.ones(300), np.ones((200, 4))
        S.data[:] = 1
        A, rows, cols, allowed, ended = spmv.matrix(S), S @ x, S.T @ z, [], 0

        def handler(*_):
            if allowed:
                raise Interrupted
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, handler))
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 5e-4, 5e-4)
        end, k = time.monotonic() + 1.5, 1
        while time.monotonic() < end:
            k = k % 7 + 1
            try:
                allowed.append(1)
                A.values[...] = k
                A @ x, A.T @ z, A @ X
                A.plan(kernel=("csr_rows", "sell_slices")[k % 2])
                allowed.clear()
                ended += 1
            except Interrupted:
                allowed.clear()
            value = A.values[0]
            np.testing.assert_array_equal(np.asarray(A.values), value)
            np.testing.assert_array_equal(A @ x, value * rows)
            np.testing.assert_array_equal(A.T @ z, value * cols)
            np.testing.assert_array_equal(A @ X, (value * rows)[:, None] * np.ones(4))
        self.assertGreater(ended, 5)


class Forks(Case):
    def test_children_and_parents_multiply_whatever_their_threads_do(self):
        S, x, X = random_matrix((1000, 1000)), np.ones(1000), np.arange(8000.0).reshape(1000, 8) % 7
        S.data = np.round(8 * S.data) + 9  # sums are exact in any order
        y, Y, T, stop, wrong = S @ x, S @ X, S.T @ X, [], []
        A = spmv.matrix(S)

        def is_right():
            return all((np.array_equal(A @ x, y), np.array_equal(A @ X, Y), np.array_equal(A @ np.asfortranarray(X), Y),
                        np.array_equal(A.T @ X, T)))

        def multiply():
            while not stop:
                wrong.append(not is_right())

        def plan():
            while not stop:
                A.plan(kernel="csell_slices")
                wrong.append(not np.array_equal(spmv.matrix(S) @ x, y))
                spmv.stats()
        threads = [threading.Thread(target=work) for work in (multiply, multiply, plan)]
        for thread in threads:
            thread.start()
        for _ in range(25):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                right = is_right()
                A.plan(kernel="csr_rows")
                A.values[...] = 2 * S.data
                os._exit(0 if right and np.array_equal(A @ x, 2 * y) else 1)
            wrong.append(os.waitpid(child, 0)[1])
        stop.append(1)
        for thread in threads:
            thread.join()
        self.assertEqual(set(wrong), {0})

    def test_locks_that_others_held_are_free_in_the_child(self):
        A, x = spmv.matrix(random_matrix((60, 50))), np.ones(50)
        y = A @ x
        for owner in spmv._matrix.counts, A._entries, A._entries.prepared[None], spmv._accelerate.switch:
            held, release = threading.Event(), threading.Event()

            def hold():
                with owner.lock:
                    held.set()
                    release.wait()
            thread = threading.Thread(target=hold)
            thread.start()
            held.wait()
            child = os.fork()
            if child == 0:
                signal.alarm(10)
                A.values[...] = A.values[...]
                with spmv.accelerate():
                    os._exit(0 if np.array_equal(A @ x, y) and np.array_equal((A @ np.ones((50, 2)))[:, 0], y) else 1)
            status = os.waitpid(child, 0)[1]
            release.set()
            thread.join()
            self.assertEqual(status, 0)

    def test_a_thread_may_multiply_until_the_very_end(self):
        code = """if True:
            import threading, time
            import numpy as np, scipy.sparse as sparse, spmv
            A, X = spmv.matrix(sparse.random(2000, 2000, 0.05, "csr")), np.ones((2000, 8))
            def work():
                while True:
                    A @ X
            threading.Thread(target=work, daemon=True).start()
            time.sleep(0.1)"""
        path = os.pathsep.join([str(ROOT / "src/bindings/python"), os.environ.get("PYTHONPATH", "")])
        for _ in range(2):
            ran = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, check=False)
            self.assertEqual(ran.returncode, 0)


class Threads(Case):
    def test_any_number_of_them_multiply_with_one_matrix(self):
        S = random_matrix((3000, 3000))
        for kernel in "csell_slices", "csr_rows":
            A, wrong = spmv.matrix(S), []
            facts = A.plan(kernel=kernel)
            self.assertEqual(facts["concurrent"], 1)

            def work(seed):
                x = np.random.default_rng(seed).standard_normal(3000)
                right = A @ x
                wrong.extend(k for k in range(200) if not np.array_equal(A @ x, right))
                np.testing.assert_allclose(right, S @ x, rtol=1e-10, atol=1e-10)

            caught = []
            threads = [threading.Thread(target=lambda s=s: caught.append(work(s))) for s in range(6)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual((len(caught), wrong), (6, []))

    def test_other_threads_run_during_a_product(self):
        A = spmv.matrix(random_matrix((3000, 3000), density=0.3))
        x, state = np.ones(3000), {}
        A.plan(kernel="csr_serial")
        interval = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, interval)
        sys.setswitchinterval(100)  # a thread that holds the interpreter's lock keeps it until it waits

        def work():
            state["began"] = True
            for _ in range(20):
                A @ x
            state["ended"] = True

        thread, seen = threading.Thread(target=work), 0
        thread.start()
        while "ended" not in state:
            seen += "began" in state
            time.sleep(0)  # gives the lock away
        thread.join()
        self.assertGreater(seen, 100)


class Queues(unittest.TestCase):
    """Streams of a GPU's package, which are only told to wait."""

    def test_a_product_waits_for_the_stream_before(self):
        waits, queue = [], spmv._plan.Queue()
        first, second = (types.SimpleNamespace(synchronize=lambda name=name: waits.append(name)) for name in ("first", "second"))
        queue.wait()
        for stream, address, is_captured, waited in ((first, 1, False, []), (first, 1, False, []), (second, 2, False, ["first"]),
                                                     (first, 1, True, ["first"]), (first, 1, False, ["first"])):
            queue.enter(stream, address, lambda is_captured=is_captured: is_captured)
            self.assertEqual((queue.stream, queue.address, waits), (stream, address, waited))
        queue.wait()
        self.assertEqual(waits, ["first", "first"])

    def test_a_product_is_on_its_stream(self):
        A, stream, call = spmv.matrix(random_matrix((60, 50))), types.SimpleNamespace(synchronize=lambda: None), _library.Call()
        plan = A._entries.plan(False, None, np.dtype(np.float64))
        with unittest.mock.patch.object(_library.lib, "spmv_apply", side_effect=[0, -1]) as apply:
            plan.apply_on(stream, 7, lambda: False, call)
            with self.assertRaises(spmv.Error):
                plan.apply_on(stream, 7, lambda: False, call)
        self.assertEqual(apply.call_args_list, 2 * [unittest.mock.call(plan.handle, call, 7)])
        self.assertIs(plan.prepared.queue.stream, stream)


class Loading(unittest.TestCase):
    def test_threads_spin_for_a_short_time_unless_the_user_chose(self):
        names = "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"
        for chosen, spins in ({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "passive"}, None):
            others = {name: value for name, value in os.environ.items() if name not in names}
            with unittest.mock.patch.dict(os.environ, others | chosen, clear=True):
                with _library.short_spin():
                    self.assertEqual(os.environ.get("GOMP_SPINCOUNT"), spins)
                self.assertEqual(dict(os.environ), others | chosen)


class Structs(unittest.TestCase):
    def test_they_are_those_of_the_header(self):
        pairs = {"spmv_ctx_opts": _library.ContextOptions, "spmv_arrays": _library.Arrays,
                 "spmv_plan_opts": _library.PlanOptions, "spmv_plan_facts": _library.PlanFacts,
                 "spmv_call": _library.Call}
        prints = "".join(f'printf("{c} {m} %zu\\n", offsetof({c}, {m}));' for c, s in pairs.items() for m, _ in s._fields_)
        prints += "".join(f'printf("{c} size %zu\\n", sizeof({c}));' for c in pairs)
        constants = {"E_BACKEND": "NO_BACKEND", "E_UNSUITABLE": "UNSUITABLE",
                     **{name: name for name in "F64 F32 HOST DEVICE BORROW VOLATILE AS_IS TRANSPOSE COLUMNS ROWS".split()}}
        prints += "".join(f'printf("{name} %d\\n", SPMV_{name});' for name in constants)
        source = f"#include <spmv.h>\n#include <stdio.h>\nint main(void) {{ {prints} }}\n"
        with tempfile.TemporaryDirectory() as folder:
            compiler = os.environ.get("CC", "gcc").split()
            subprocess.run([*compiler, f"-I{ROOT}/include", "-x", "c", "-", "-o", f"{folder}/a"], input=source, text=True, check=True)
            said = subprocess.run([f"{folder}/a"], capture_output=True, text=True, check=True).stdout
        ours = [f"{c} {m} {getattr(s, m).offset}" for c, s in pairs.items() for m, _ in s._fields_]
        ours += [f"{c} size {ctypes.sizeof(s)}" for c, s in pairs.items()]
        ours += [f"{name} {getattr(_library, own)}" for name, own in constants.items()]
        self.assertEqual(said.splitlines(), ours)

    def test_functions_have_the_headers_parameters(self):
        header = re.sub(r"/\*.*?\*/", "", (ROOT / "include/spmv.h").read_text(), flags=re.S)
        for name, (_, *parameters) in _library.PROTOTYPES.items():
            in_header = re.search(rf"\b{name}\((.*?)\);", header, re.S).group(1).replace("void", "").split(",")
            theirs = ["pointer" if "*" in each else "double" if "double" in each else "int" for each in in_header if each.strip()]
            ours = [{ctypes.c_double: "double", ctypes.c_int: "int"}.get(each, "pointer") for each in parameters]
            self.assertEqual((name, ours), (name, theirs))


if __name__ == "__main__":
    unittest.main()
