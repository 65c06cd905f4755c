"""spmv.accelerate(torch=True): products of PyTorch's sparse tensors, beside those that PyTorch makes itself. On the CPU, or in
build/cuda on a GPU: make test-torch PYTHON=…"""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv"))
if not importlib.util.find_spec("torch") or not importlib.util.find_spec("scipy"):
    sys.exit(print("Ran 0 tests: this Python has no PyTorch, or no SciPy"))
os.environ["SPMV_LIBRARY"] = str(PROGRAM.with_name("libspmv.so"))
sys.path.insert(0, str(ROOT / "src/bindings/python"))

import spmv
import torch

if not hasattr(torch.library, "get_kernel"):
    sys.exit(print(f"Ran 0 tests: PyTorch {torch.__version__} is older than 2.10"))
ON_GPU = PROGRAM.parent.name.startswith("cuda") and torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
LAYOUTS = torch.sparse_csr, torch.sparse_csc, torch.sparse_coo
warnings.filterwarnings("ignore", message=".*beta state.*")
f64 = torch.float64


def numbers(*shape, dtype=f64):
    return torch.randn(shape, dtype=dtype, device=DEVICE)


def random_dense(rows, cols, density=0.3, dtype=f64):
    return numbers(rows, cols, dtype=dtype) * (torch.rand(rows, cols, device=DEVICE) < density)


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        self.before = spmv.stats()

    def tearDown(self):
        spmv.accelerate(False)

    def counted(self):
        """Products since the test began, of the library and by reason of PyTorch."""
        now = spmv.stats()
        why = {reason: count - self.before["why"].get(reason, 0) for reason, count in now["why"].items()}
        return now["library"] - self.before["library"], {reason: count for reason, count in why.items() if count}


class Products(Case):
    def ways(self, rows, cols, dtype):
        x, X, Y, b = (numbers(*shape, dtype=dtype) for shape in ((cols,), (cols, 4), (rows, 4), (4,)))
        F = X.t().contiguous().t()
        return {"A @ x": lambda A: A @ x, "A @ X": lambda A: A @ X, "A @ F": lambda A: A @ F, "mv": lambda A: torch.mv(A, x),
                "mm": lambda A: torch.mm(A, X), "sparse.mm": lambda A: torch.sparse.mm(A, X), "one column": lambda A: A @ X[:, :1],
                "with gaps": lambda A: A @ torch.cat([X, X], 1)[:, 1:6:2],
                "addmm": lambda A: torch.addmm(Y, A, X, beta=2, alpha=0.5), "addmm of a row": lambda A: torch.addmm(b, A, X),
                "addmm without": lambda A: torch.addmm(Y * float("nan"), A, X, beta=0), "t @ Y": lambda A: A.t() @ Y,
                "sparse.addmm": lambda A: torch.sparse.addmm(Y, A, X), "Y' @ A": lambda A: Y.t() @ A,
                "A @ A'": lambda A: (A @ A.t()).to_dense(), "other type": lambda A: A @ X.to(torch.float16),
                "other shape": lambda A: A @ Y[:1], "no column": lambda A: A @ X[:, :0], "out": lambda A: torch.mm(A, X, out=Y.clone())}

    def result(self, way, A):
        try:
            return way(A)
        except (RuntimeError, NotImplementedError) as error:
            return str(error)

    def test_all_ways_give_what_pytorch_gives(self):
        for rows, cols in (300, 200), (1, 5), (5, 1), (1, 1):
            for dtype in f64, torch.float32, torch.complex64:
                D, ways = random_dense(rows, cols, dtype=dtype), self.ways(rows, cols, dtype)
                for layout in LAYOUTS:
                    A = D.to_sparse(layout=layout)
                    for name, way in ways.items():
                        right = self.result(way, A)
                        with spmv.accelerate(torch=True, threshold=0):
                            found = self.result(way, A)
                        with self.subTest(way=name, layout=layout, dtype=dtype, shape=(rows, cols)):
                            if isinstance(right, str):
                                self.assertEqual(found, right)
                                continue
                            self.assertEqual((found.shape, found.dtype, found.stride()), (right.shape, right.dtype, right.stride()))
                            near = 1e-12 if dtype is f64 else 1e-4
                            self.assertTrue(torch.allclose(found, right, rtol=near, atol=near, equal_nan=True), f"{found} is not {right}")
                        self.assertTrue(isinstance(right, str) or torch.equal(way(A), right) or layout is not torch.sparse_csr or ON_GPU)
        self.assertGreater(self.counted()[0], 200)

    def test_gradients(self):
        D, X = random_dense(30, 20), numbers(20, 3)
        for layout in LAYOUTS:
            for way in (lambda A, X: torch.mm(A, X)), (lambda A, X: torch.sparse.mm(A, X)), (lambda A, X: A @ X[:, 0]):
                found = []
                for on in False, True:
                    A, Z = D.to_sparse(layout=layout).requires_grad_(layout is torch.sparse_coo), X.clone().requires_grad_()
                    with spmv.accelerate(on, torch=True, threshold=0):
                        way(A, Z).square().sum().backward()
                    found.append((Z.grad, A.grad.to_dense() if A.grad is not None else None))
                for right, ours in zip(*found):
                    self.assertTrue(right is None and ours is None or torch.allclose(ours, right))
        self.assertGreater(self.counted()[0], 9)

    def test_what_is_written_is_seen_through_any_view(self):
        D = random_dense(60, 50)
        x, w = numbers(50), numbers(60)
        with spmv.accelerate(torch=True, threshold=0):
            for layout in LAYOUTS:
                A = D.to_sparse(layout=layout)
                if layout is torch.sparse_coo:
                    at, v = A.indices(), A.values()
                    A = torch.sparse_coo_tensor(at, v, D.shape, is_coalesced=True)
                else:
                    parts = (A.crow_indices(), A.col_indices()) if layout is torch.sparse_csr else (A.ccol_indices(), A.row_indices())
                    v = A.values().clone()
                    A = torch.sparse_compressed_tensor(*parts, v, D.shape, layout=layout)
                for factor in 1, 3, 5:
                    v.mul_(factor)
                    dense = A.to_dense()
                    self.assertTrue(torch.allclose(A @ x, dense @ x))
                    self.assertTrue(torch.allclose(A.t() @ w, dense.t() @ w))
                v.data.zero_()
                self.assertEqual(float((A @ x).abs().max()), 0)
                self.assertEqual(float((A.t() @ w).abs().max()), 0)
                A = D.to_sparse_csr()
                self.assertTrue(torch.allclose(A.t() @ w, D.t() @ w))
                A.col_indices().copy_(49 - A.col_indices())
                self.assertTrue(torch.allclose(A @ x, D.flip(1) @ x))
                self.assertTrue(torch.allclose(A.t() @ w, D.flip(1).t() @ w))

    def test_another_matrix_in_the_same_memory(self):
        x = numbers(40)
        with spmv.accelerate(torch=True, threshold=0):
            for _ in range(40):
                D = random_dense(40, 40, 1.0)
                D[torch.rand(40, 40, device=DEVICE).argsort(1) < 20] = 0
                for layout in LAYOUTS:
                    A = D.to_sparse(layout=layout)
                    self.assertTrue(torch.allclose(A @ x, D @ x))
                    self.assertTrue(torch.allclose(A.t() @ x, D.t() @ x))

    def test_small_products_stay(self):
        A, x = random_dense(20, 20).to_sparse_csr(), numbers(20)
        with spmv.accelerate(torch=True):
            A @ x
        self.assertEqual(self.counted(), (0, {"small": 1}))

    def test_a_plan_is_made_when_it_pays(self):
        D = random_dense(400, 400, 0.5)
        A, x = D.to_sparse_csr(), numbers(400)
        with spmv.accelerate(torch=True, threshold=500_000):
            for _ in range(12):
                self.assertTrue(torch.allclose(A @ x, D @ x))
        ran, why = self.counted()
        self.assertGreater(why["not yet worth it"], 2)
        self.assertEqual(ran + sum(why.values()), 12)
        self.assertTrue(ran > 0 or "no faster" in why)

    def test_without_torch_and_off(self):
        A, x = random_dense(40, 40).to_sparse_csr(), numbers(40)
        with spmv.accelerate(threshold=0):
            A @ x
        with spmv.accelerate(torch=True, threshold=0):
            with spmv.accelerate(threshold=0):
                A @ x
            with spmv.accelerate(False):
                A @ x
            self.assertEqual(self.counted()[0], 0)
            A @ x
            self.assertEqual(self.counted()[0], 1)
        A @ x
        self.assertEqual(self.counted()[0], 1)

    def test_off_leaves_pytorchs_kernels(self):
        names = [f"aten::{name}" for name in ("mv", "mm", "addmm")]
        found = [torch._C._dispatch_dump(name) for name in names]
        with spmv.accelerate(torch=True):
            self.assertNotEqual([torch._C._dispatch_dump(name) for name in names], found)
        self.assertEqual([torch._C._dispatch_dump(name) for name in names], found)

    def test_subclasses_and_compiled_code(self):
        class Mine(torch.Tensor):
            pass
        D, x = random_dense(40, 40), numbers(40)
        A = D.to_sparse_csr()
        with spmv.accelerate(torch=True, threshold=0):
            y = A @ x.as_subclass(Mine)
            self.assertIs(type(y), Mine)
            self.assertTrue(torch.allclose(y.as_subclass(torch.Tensor), D @ x))
            torch._dynamo.reset()
            self.assertTrue(torch.allclose(torch.compile(lambda x: 2 * (A @ x))(x), 2 * (D @ x)))

    def test_threads(self):
        D = random_dense(300, 300)
        As, wrong = [D.to_sparse(layout=layout) for layout in LAYOUTS], []

        def work(seed):
            generator = torch.Generator(device=DEVICE).manual_seed(seed)
            for k in range(60):
                x = torch.randn(300, dtype=f64, device=DEVICE, generator=generator)
                if not torch.allclose(As[k % 3] @ x, D @ x):
                    wrong.append((seed, k))
        with spmv.accelerate(torch=True, threshold=0):
            threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
            for each in threads:
                each.start()
            for _ in range(20):
                with spmv.accelerate(torch=True, threshold=0):
                    As[0] @ numbers(300)
            for each in threads:
                each.join()
        self.assertEqual(wrong, [])

    def test_a_program_that_stays_as_it_is(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as program:
            program.write("import torch; A = torch.eye(200, dtype=torch.float64).to_sparse_csr()\nfor _ in range(3): A @ torch.ones(200, dtype=A.dtype)")
            program.flush()
            done = subprocess.run([sys.executable, "-W", "ignore", "-m", "spmv.accelerate", "--stats", "--threshold=0", "--torch", program.name],
                                  capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "src/bindings/python")})
        self.assertEqual((done.returncode, done.stderr), (0, "spmv.accelerate: 3 products in the library, 0 in SciPy\n"))

    @unittest.skipIf(ON_GPU, "a child has no GPU")
    def test_forks(self):
        D, x = random_dense(100, 100), numbers(100)
        A = D.to_sparse_csr()
        with spmv.accelerate(torch=True, threshold=0):
            A @ x
            child = os.fork()
            if child == 0:
                os._exit(0 if torch.allclose(A @ x, D @ x) else 1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)


if __name__ == "__main__":
    unittest.main()
