"""spmv.torch: products of PyTorch's sparse tensors under its transformations, beside dense ones. On the CPU, or in build/cuda on a
GPU:

    make test-torch PYTHON=…      # of a Python that has PyTorch
"""
import copy
import gc
import importlib.util
import os
import pathlib
import pickle
import sys
import threading
import unittest
import warnings
import weakref

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv"))
if not importlib.util.find_spec("torch") or not importlib.util.find_spec("scipy"):
    sys.exit(print("Ran 0 tests: this Python has no PyTorch, or no SciPy"))
os.environ["SPMV_LIBRARY"] = str(PROGRAM.with_name("libspmv.so"))
sys.path.insert(0, str(ROOT / "src/bindings/python"))

import scipy.sparse
import spmv.torch
import torch

ON_GPU = PROGRAM.parent.name.startswith("cuda") and torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
SHAPES = (300, 300), (40, 1000), (1000, 40), (1, 7), (7, 1), (0, 0), (0, 4), (4, 0), (5, 5), (1, 1)
LAYOUTS = torch.sparse_csr, torch.sparse_csc, torch.sparse_coo
warnings.filterwarnings("ignore", message=".*beta state.*")
f64, f32 = torch.float64, torch.float32
torch.manual_seed(20)


def numbers(*shape, dtype=f64):
    return torch.randn(shape, dtype=dtype, device=DEVICE)


def random_tensor(rows, cols, layout=torch.sparse_csr, dtype=f64, density=0.05, index=torch.int64):
    """A sparse tensor, and the dense one of the same entries."""
    dense = numbers(rows, cols, dtype=dtype) * (torch.rand(rows, cols, device=DEVICE) < density)
    made = dense.to_sparse(layout=layout)
    if index is torch.int32 and layout is torch.sparse_csr:
        made = torch.sparse_csr_tensor(made.crow_indices().int(), made.col_indices().int(), made.values(), made.shape)
    return made, dense


def values_of(T):
    return T.coalesce().values() if T.layout is torch.sparse_coo else T.values()


class Case(unittest.TestCase):
    def assert_close(self, y, right, size=None, dtype=f64):
        """size: of the sums that were made, without their signs. dtype: in which."""
        self.assertEqual(tuple(y.shape), tuple(right.shape))
        bound = 64 * torch.finfo(dtype).eps * (right.abs() if size is None else size) + 1e-30
        self.assertTrue(bool(((y - right).abs() <= bound).all()), f"{y} is not {right}")

    def assert_product(self, y, D, x):
        self.assertEqual(y.dtype, x.dtype)
        self.assert_close(y.to(f64), D.to(f64) @ x.to(f64), D.to(f64).abs() @ x.to(f64).abs(), x.dtype)


class Products(Case):
    def test_all_ways_in_both_types_and_of_every_shape(self):
        for rows, cols in SHAPES:
            for dtype in f64, f32:
                for layout in LAYOUTS:
                    for index in (torch.int64, torch.int32) if layout is torch.sparse_csr else (torch.int64,):
                        T, D = random_tensor(rows, cols, layout, dtype, 0.3, index)
                        kept = spmv.torch.matrix(T)
                        for A in kept, kept.with_values(values_of(T)):
                            with self.subTest(shape=(rows, cols), dtype=dtype, layout=layout, index=index, kept=A is kept):
                                self.all_ways(A, D)

    def all_ways(self, A, D):
        rows, cols = D.shape
        self.assertEqual((A.shape, A.dtype, A.nnz), ((rows, cols), D.dtype, int((D != 0).sum())))
        for _ in range(2):  # at once, and by the form of the product before
            for B, E in (A, D), (A.T, D.t()):
                x = numbers(E.shape[1], dtype=D.dtype)
                self.assert_product(B @ x, E, x)
                for k in 0, 1, 2, 5:
                    X = numbers(E.shape[1], k, dtype=D.dtype)
                    self.assert_product(B @ X, E, X)
                    self.assertTrue((B @ X).is_contiguous() or E.shape[1] < 2)
                    F = X.t().contiguous().t()
                    self.assert_product(B @ F, E, X)
                    self.assertTrue((B @ F).t().is_contiguous() or k == 1 or E.shape[1] < 2)
            w = numbers(rows, dtype=D.dtype)
            self.assert_product(w @ A, D.t(), w)
            self.assert_product((numbers(0, rows, dtype=D.dtype) @ A).t(), D.t(), numbers(rows, 0, dtype=D.dtype))

    def test_operands_with_gaps_give_what_others_give(self):
        T, D = random_tensor(60, 50)
        A = spmv.torch.matrix(T)
        wide = numbers(50, 20)
        for X in wide[:, 3:9], wide.t().contiguous().t()[:, 3:9], wide[:, ::2], wide[:, ::3].t().contiguous().t(), wide[:, 4], \
                numbers(100)[::2], wide[:, :1], wide[:1].expand(50, 20), torch.ones((), dtype=f64, device=DEVICE).expand(50):
            self.assert_product(A @ X, D, X)
            self.assert_product(torch.ops.spmv.product(A.values, A._source.lines, A._source.idx, X, *A._source.numbers, False, True), D, X)

    def test_of_duplicates_and_unsorted_entries(self):
        at = torch.tensor([[2, 0, 2, 2, 0], [1, 3, 1, 0, 3]], device=DEVICE)
        v = torch.tensor([1.0, 2.0, 4.0, 8.0, 16.0], dtype=f64, device=DEVICE)
        T = torch.sparse_coo_tensor(at, v, (3, 4))
        D = T.to_dense()
        C = torch.sparse_csr_tensor([0, 2, 2, 5], [3, 3, 1, 0, 1], [2.0, 16.0, 4.0, 8.0, 1.0], (3, 4), dtype=f64, device=DEVICE)
        for A in spmv.torch.matrix(T), spmv.torch.matrix(T).with_values(v), spmv.torch.matrix(C), \
                spmv.torch.matrix(C).with_values(C.values()):
            self.all_ways_exact(A, D)

    def all_ways_exact(self, A, D):
        x, w = torch.arange(1.0, 5.0, dtype=f64, device=DEVICE), torch.arange(1.0, 4.0, dtype=f64, device=DEVICE)
        self.assertEqual((A @ x).tolist(), (D @ x).tolist())
        self.assertEqual((w @ A).tolist(), (w @ D).tolist())
        self.assertEqual(A.to_sparse().to_dense().tolist(), D.tolist())
        self.assertEqual(A.T.to_sparse().to_dense().tolist(), D.t().tolist())

    def test_memory_is_used_where_it_lies(self):
        for layout in LAYOUTS[:2]:
            T, _ = random_tensor(30, 20, layout)
            A = spmv.torch.matrix(T)
            self.assertEqual(A.values.data_ptr(), T.values().data_ptr())
            self.assertEqual(A.to_sparse().values().data_ptr(), T.values().data_ptr())

    def test_out(self):
        T, D = random_tensor(30, 20, density=0.3)
        A = spmv.torch.matrix(T)
        for x in numbers(20), numbers(20, 3), numbers(3, 20).t():
            for _ in range(2):
                y = torch.empty_like(A @ x)
                self.assertIs(A.dot(x, out=y), y)
                self.assert_product(y, D, x)
        x = numbers(20)
        A @ x
        for out in numbers(29), numbers(30, dtype=f32), numbers(60)[::2], numbers(30, 1), numbers(30).requires_grad_(), None:
            if out is None:
                both = numbers(40)
                x, out = both[:20], both[10:40]
            elif out.requires_grad:
                continue
            with self.assertRaisesRegex(ValueError, "out"):
                A.dot(x, out=out)
        with self.assertRaisesRegex(ValueError, "out"):
            A.dot(numbers(20).requires_grad_(), out=numbers(30))

    def test_what_is_written_to_values_and_indices_is_seen(self):
        for layout in LAYOUTS:
            T, D = random_tensor(40, 40, layout, density=0.2)
            A, x = spmv.torch.matrix(T), numbers(40)
            for step in range(3):
                for _ in range(spmv.torch.STEADY + 3 if step == 1 else 3):
                    y, z = A @ x, A.T @ x
                self.assert_product(y, D, x)
                self.assert_product(z, D.t(), x)
                A.values.mul_(2)
                D = 2 * D
            self.assert_product(A @ x, D, x)
        T, D = random_tensor(4, 40, density=0.5)
        A, x = spmv.torch.matrix(T), numbers(40)
        self.assert_product(A @ x, D, x)
        at = T.col_indices()
        at.copy_(39 - at)
        self.assert_product(A @ x, D.flip(1), x)

    def test_values_that_change_are_read_where_they_lie(self):
        for layout in LAYOUTS:
            T, D = random_tensor(40, 30, layout, density=0.2)
            A, x, w = spmv.torch.matrix(T), numbers(30), numbers(40)
            v = values_of(T).clone()
            B = A.with_values(v)
            for factor in 1, 2, 3:
                B @ x, B.T @ w
                v.copy_(factor * values_of(T))
                self.assert_product(B @ x, factor * D, x)
                self.assert_product(B.T @ w, factor * D.t(), w)
            self.assert_product(A @ x, D, x)
            self.assert_product(A.with_values(torch.stack([v, v], 1)[:, 0]) @ x, 3 * D, x)

    def test_types_and_shapes_that_are_refused(self):
        T, _ = random_tensor(30, 20)
        A = spmv.torch.matrix(T)
        for x in numbers(20, dtype=f32), numbers(20).half(), numbers(20).bfloat16(), numbers(20).cfloat(), numbers(20).int():
            for way in (lambda x: A @ x), (lambda x: torch.vmap(lambda z: A @ z)(x[None])), torch.compile(lambda x: A.dot(x)):
                with self.assertRaisesRegex(Exception, "float64 or float32"):
                    way(x)
        for x in numbers(19), numbers(30, 2), numbers(20, 2, 2), numbers():
            with self.assertRaisesRegex(ValueError, "30 x 20"):
                A @ x
        for x in [1.0] * 20, 3, scipy.sparse.eye(20).tocsr():
            with self.assertRaises(TypeError):
                A @ x
        for T, error in ((numbers(3, 3), "layout"), (torch.eye(3, dtype=torch.half).to_sparse_csr(), "float16"),
                         (numbers(4, 4).to_sparse_bsr((2, 2)), "layout"), (numbers(2, 3, 3).to_sparse_csr(), "two dimensions"),
                         (numbers(3, 3, 2).to_sparse(2), "two dimensions"), ("A", "sparse")):
            with self.assertRaisesRegex((TypeError, ValueError), error):
                spmv.torch.matrix(T)
        for values in numbers(3), values_of(A.to_sparse()).half():
            with self.assertRaises((ValueError, TypeError)):
                A.with_values(values)
        with self.assertRaisesRegex(ValueError, "expected"):
            spmv.torch.matrix(A.to_sparse(), expected=-1)

    def test_indices_out_of_range_are_refused(self):
        for layout in LAYOUTS:
            for wrong in -1, 30, 2**32 + 1:
                for keep in True, False:
                    T = torch.ones(30, 30, dtype=f64, device=DEVICE).to_sparse(layout=layout)
                    at = T._indices()[1] if layout is torch.sparse_coo else T.col_indices() if layout is torch.sparse_csr else T.row_indices()
                    at[5] = wrong
                    A = spmv.torch.matrix(T)
                    A = A if keep else A.with_values(numbers(900))
                    for B in A, A.T:
                        with self.assertRaisesRegex(Exception, "range|column|row|outside", msg=(layout, wrong, keep)):
                            B @ numbers(30)

    def test_of_32_bits_out_of_range_and_offsets_that_do_not_ascend(self):
        for ptr, at in ([0, 1, 2], [0, 9]), ([0, 1, 2], [-1, 0]), ([0, 3, 2], [0, 1]), ([0, 1, 1], [0, 1]), ([1, 1, 2], [0, 1]):
            T = torch.sparse_csr_tensor(torch.tensor(ptr, dtype=torch.int32), torch.tensor(at, dtype=torch.int32), torch.ones(2, dtype=f64),
                                        (2, 2), check_invariants=False).to(DEVICE)
            with self.assertRaises(Exception, msg=(ptr, at)):
                spmv.torch.matrix(T).with_values(numbers(2)).T @ numbers(2)

    def test_scipys_matrices(self):
        S = scipy.sparse.random_array((30, 20), density=0.2, rng=1).tocoo()
        A = spmv.torch.matrix(S)
        x = torch.randn(20, dtype=f64)
        self.assert_close(A @ x, torch.from_numpy(S @ x.numpy()))
        self.assertEqual(A.to(f32).dtype, f32)

    def test_functions_of_pytorchs(self):
        T, D = random_tensor(30, 20, density=0.3)
        A, x, X, w = spmv.torch.matrix(T), numbers(20), numbers(20, 3), numbers(30)
        self.assert_product(torch.mv(A, x), D, x)
        self.assert_product(torch.mm(A, X), D, X)
        self.assert_product(torch.matmul(A, X), D, X)
        self.assert_product(torch.matmul(w, A), D.t(), w)
        with self.assertRaises(TypeError):
            torch.add(A, x)

    def test_made_in_inference_mode(self):
        with torch.inference_mode():
            T, D = random_tensor(30, 20, density=0.3)
            A, x = spmv.torch.matrix(T), numbers(20)
            for factor in 1, 2:
                for _ in range(3):
                    self.assert_product(A @ x, factor * D, x)
                A.values.mul_(2)
        T, D = random_tensor(30, 20, density=0.3)
        with torch.inference_mode():
            self.assert_product(spmv.torch.matrix(T) @ x, D, x)

    def test_copies(self):
        T, D = random_tensor(30, 20, density=0.3)
        A, x = spmv.torch.matrix(T), numbers(30)
        for B in copy.deepcopy(A.T), pickle.loads(pickle.dumps(A.T)):
            self.assert_product(B @ x, D.t(), x)
            B.values.zero_()
        self.assert_product(A.T @ x, D.t(), x)

    def test_what_was_made_goes_with_the_matrix(self):
        T, _ = random_tensor(300, 300)
        A = spmv.torch.matrix(T)
        A @ numbers(300), A.T @ numbers(300, 4), A.with_values(A.values) @ numbers(300)
        entries = weakref.ref(A._source.entries)
        before = len(spmv.torch.found)
        del T, A
        self.assertIsNone(entries())
        self.assertEqual(len(spmv.torch.found), before - 1)

    def test_a_pattern_in_memory_that_another_had(self):
        for _ in range(50):
            T, D = random_tensor(20, 20, density=0.5, index=torch.int32)
            T = torch.sparse_csr_tensor(T.crow_indices(), T.col_indices()[:], T.values(), (20, 20))
            x = numbers(20)
            y = torch.ops.spmv.product(T.values(), T.crow_indices(), T.col_indices(), x, 20, 20, True, 0, True, False)
            self.assert_product(y, D.t(), x)


class Transformations(Case):
    def setUp(self):
        self.T, self.D = random_tensor(9, 7, density=0.4)
        self.A, self.v = spmv.torch.matrix(self.T), self.T.values().clone().requires_grad_()
        self.operands = numbers(7).requires_grad_(), numbers(7, 3).requires_grad_(), numbers(3, 7).t().requires_grad_()

    def test_gradients_to_second_order(self):
        A = self.A
        for x in self.operands:
            w = numbers(9, *x.shape[1:]).requires_grad_()
            for f, at in ((lambda x: A @ x, (x,)), (lambda v, x: A.with_values(v) @ x, (self.v, x)), (lambda w: A.T @ w, (w,)),
                          (lambda v, w: A.T.with_values(v) @ w, (self.v, w)), (lambda v: A.with_values(v) @ x.detach(), (self.v,)),
                          (lambda v, x: torch.sin(A.with_values(v) @ x) ** 2, (self.v, x))):
                self.assertTrue(torch.autograd.gradcheck(f, at))
                self.assertTrue(torch.autograd.gradgradcheck(f, at))

    def test_gradients_of_a_sparse_tensor(self):
        for layout in torch.sparse_csr, torch.sparse_coo:  # PyTorch has none of CSC's values
            T = self.D.to_sparse(layout=layout).requires_grad_()
            x = numbers(7)
            (spmv.torch.matrix(T) @ x).sum().backward()
            right = torch.ones(9, 1, dtype=f64, device=DEVICE) @ x[None] * (self.D != 0)
            self.assert_close(T.grad.to_dense(), right)

    def test_gradients_behind_the_matrix_and_of_changed_values(self):
        x = numbers(7).requires_grad_()
        y = (spmv.torch.matrix(self.T.clone()) @ x).sum()
        gc.collect()
        y.backward()
        self.assert_close(x.grad, self.D.sum(0))
        v = self.v.detach().clone()
        y = (self.A.with_values(v) @ x).sum()
        v.mul_(2)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            y.backward()

    def test_operators_are_registered_as_pytorch_asks(self):
        source = self.A._source
        for x in self.operands:
            for keep in True, False:
                torch.library.opcheck(torch.ops.spmv.product.default,
                                      (self.v, source.lines, source.idx, x, *source.numbers, False, keep))
            w = numbers(9, *x.shape[1:])
            torch.library.opcheck(torch.ops.spmv.at_entries.default, (source.lines, source.idx, w, x, *source.numbers))

    def test_vmap(self):
        A, D, v = self.A, self.D, self.v.detach()
        for B in A, A.with_values(v):
            X = numbers(5, 7)
            self.assert_close(torch.vmap(lambda x: B @ x)(X), X @ D.t(), X.abs() @ D.t().abs())
            self.assert_close(torch.vmap(lambda x: B @ x, 1, 1)(X.t()), D @ X.t(), D.abs() @ X.t().abs())
            deep = numbers(2, 5, 7)
            right = deep @ D.t()
            self.assert_close(torch.vmap(torch.vmap(lambda x: B @ x))(deep), right, deep.abs() @ D.t().abs())
            self.assert_close(torch.vmap(lambda X: B @ X)(deep.transpose(1, 2)), right.transpose(1, 2),
                              D.abs() @ deep.transpose(1, 2).abs())
        x, V = numbers(7), torch.stack([v, 2 * v])
        many = torch.vmap(lambda v: A.with_values(v) @ x)(V)
        self.assert_close(many, torch.stack([D @ x, 2 * (D @ x)]), 2 * (D.abs() @ x.abs()).expand(2, 9))
        both = torch.vmap(lambda v, x: A.with_values(v) @ x)(V, torch.stack([x, -x]))
        self.assert_close(both[1], -2 * (D @ x), 2 * (D.abs() @ x.abs()))
        each = torch.vmap(torch.func.grad(lambda v: (A.with_values(v) @ x).sum()))(V)
        row, col = self.D.nonzero().t()
        self.assert_close(each, x[col].expand(2, -1))
        jacobian = torch.func.jacrev(lambda x: A @ x)(x)
        self.assert_close(jacobian, D)

    def test_compiled(self):
        A, D = self.A, self.D
        for x in self.operands:
            x = x.detach()
            y = torch.compile(lambda x: 2 * A.dot(x) + 1, fullgraph=True)(x)
            self.assert_close(y, 2 * (D @ x) + 1, 2 * D.abs() @ x.abs() + 1)
            self.assertEqual(y.stride(), (A @ x).stride())
        x = numbers(7).requires_grad_()

        @torch.compile(fullgraph=True)
        def loss(v, x):
            return torch.relu(A.with_values(v).dot(x)).sum() + A.T.dot(A.dot(x)).sum()
        loss(self.v, x).backward()
        found = self.v.grad.clone(), x.grad.clone()
        v, z = self.v.detach().clone().requires_grad_(), x.detach().clone().requires_grad_()
        (torch.relu(A.with_values(v) @ z).sum() + (A.T @ (A @ z)).sum()).backward()
        self.assert_close(found[0], v.grad)
        self.assert_close(found[1], z.grad, z.grad.abs() + 10)
        self.assert_product(torch.compile(lambda M, x: torch.mv(M, x), fullgraph=True)(A, x.detach()), D, x.detach())
        with self.assertRaisesRegex(Exception, "A.dot"):
            torch.compile(lambda x: A @ x, fullgraph=True)(x.detach())

    def test_compiled_once_for_matrices_of_several_shapes(self):
        run = torch.compile(lambda A, x: A.dot(x), fullgraph=True, dynamic=True)
        for n in 5, 6, 50, 51:
            T, D = random_tensor(n, n + 1, density=0.4)
            x = numbers(n + 1)
            self.assert_product(run(spmv.torch.matrix(T), x), D, x)

    def test_modes_see_products(self):
        from torch.utils._python_dispatch import TorchDispatchMode
        seen = []

        class Watch(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                seen.append(str(function))
                return function(*args, **(kwargs or {}))
        self.A @ numbers(7)
        with Watch():
            self.A @ numbers(7)
        self.assertIn("spmv.product.default", seen)

    def test_autocast(self):
        A, D = spmv.torch.matrix(self.T.to(f32)), self.D
        x = numbers(7, 3, dtype=f32)
        with torch.autocast(DEVICE, torch.bfloat16):
            y = A @ x.bfloat16()
            z = A @ x
        self.assertEqual(y.dtype, f32)
        near = x.bfloat16().to(f64)
        self.assert_close(y.to(f64), D @ near, D.abs() @ near.abs(), f32)
        self.assertEqual(z.tolist(), (A @ x).tolist())

    def test_deterministic(self):
        T, D = random_tensor(500, 400, torch.sparse_coo, f32, 0.2)
        A, X = spmv.torch.matrix(T), numbers(400, 8, dtype=f32)
        torch.use_deterministic_algorithms(True)
        try:
            first = A @ X, A.T @ numbers(500, dtype=f32).fill_(0.1), A.with_values(values_of(T)) @ X
            for _ in range(5):
                again = A @ X, A.T @ numbers(500, dtype=f32).fill_(0.1), A.with_values(values_of(T)) @ X
                self.assertTrue(all(torch.equal(a, b) for a, b in zip(first, again)))
            self.assertTrue(all(plan["reproducible"] for plan in A.info() if plan["keeps"]))
        finally:
            torch.use_deterministic_algorithms(False)
        A @ X
        self.assertFalse(all(plan["reproducible"] for plan in A.info() if plan["keeps"]))

    def test_threads(self):
        T, D = random_tensor(400, 300, density=0.1)
        A = spmv.torch.matrix(T)
        v, wrong = values_of(T), []

        def work(seed):
            generator = torch.Generator(device=DEVICE).manual_seed(seed)
            for k in range(60):
                x = torch.randn(300, dtype=f64, device=DEVICE, generator=generator)
                B, factor = (A, 1) if k % 2 else (A.with_values(seed * v), seed)
                y, right = B @ x, factor * (D @ x)
                if not torch.allclose(y, right, rtol=1e-9, atol=1e-9):
                    wrong.append((seed, k))
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 6)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(wrong, [])

    @unittest.skipIf(ON_GPU, "a child has no GPU")
    def test_forks(self):
        T, D = random_tensor(400, 300, density=0.1)
        A, x = spmv.torch.matrix(T), numbers(300)
        A @ x
        child = os.fork()
        if child == 0:
            B = A.with_values(2 * A.values)
            os._exit(0 if torch.allclose(A @ x, D @ x) and torch.allclose(B @ x, 2 * (D @ x)) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


@unittest.skipUnless(ON_GPU, "takes a GPU")
class OnGpu(Case):
    def setUp(self):
        self.T, self.D = random_tensor(3000, 2000, density=0.01)
        self.A = spmv.torch.matrix(self.T)

    def test_captured(self):
        for B, E in (self.A, self.D), (self.A.T, self.D.t()), (self.A.with_values(self.A.values.clone()), self.D):
            for shape in (E.shape[1],), (E.shape[1], 4):
                x = numbers(*shape)
                side = torch.cuda.Stream()
                side.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(side):
                    B @ x
                torch.cuda.current_stream().wait_stream(side)
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    y = B @ x
                for _ in range(3):
                    x.copy_(numbers(*shape))
                    graph.replay()
                    self.assert_product(y, E, x)

    def test_captured_by_the_compiler(self):
        A = self.A
        run = torch.compile(lambda x: 2 * A.dot(x), fullgraph=True, mode="reduce-overhead")
        for _ in range(5):
            x = numbers(2000)
            self.assert_product(run(x).clone() / 2, self.D, x)

    def test_a_plan_in_a_capture_is_refused(self):
        with self.assertRaisesRegex(RuntimeError, "before it is captured"):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                self.A @ numbers(2000)

    def test_streams(self):
        xs = [numbers(2000, 3) for _ in range(8)]
        streams = [torch.cuda.Stream() for _ in range(4)]
        self.A @ xs[0]
        torch.cuda.synchronize()
        for _ in range(20):
            found = []
            for k, x in enumerate(xs):
                with torch.cuda.stream(streams[k % 4]):
                    found.append(self.A @ x)
            torch.cuda.synchronize()
            for y, x in zip(found, xs):
                self.assert_product(y, self.D, x)

    def test_nothing_waits(self):
        x, X = numbers(2000), numbers(2000, 4)
        B = self.A.with_values(self.A.values.clone())

        def all_forms():
            self.A @ x, self.A.T @ numbers(3000), self.A @ X, B @ x, B.T @ numbers(3000)
        all_forms()
        torch.cuda.set_sync_debug_mode("error")
        try:
            all_forms()
        finally:
            torch.cuda.set_sync_debug_mode("default")

    def test_memory_is_pytorchs_and_is_given_back(self):
        gc.collect()
        before = torch.cuda.memory_allocated()
        A = spmv.torch.matrix(self.T.clone())
        A @ numbers(2000), A.T @ numbers(3000, 8)
        self.assertGreater(torch.cuda.memory_allocated(), before)
        del A
        gc.collect()
        self.assertLessEqual(torch.cuda.memory_allocated(), before)

    def test_to(self):
        x = numbers(2000)
        A = spmv.torch.matrix(self.T.cpu())
        self.assert_product(A.to("cuda") @ x, self.D, x)
        with self.assertRaisesRegex(ValueError, "cpu"):
            A @ x


if __name__ == "__main__":
    unittest.main()
