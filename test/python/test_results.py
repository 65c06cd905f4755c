"""Memory of results of spmv.matrix and spmv.torch on a CPU: what was a result before is one again, and no result ever shares
memory with one that is alive. With NumPy alone, and with PyTorch where it is installed."""
import gc
import importlib.util
import os
import pathlib
import random
import sys
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv"))
if not importlib.util.find_spec("scipy"):
    sys.exit(print("Ran 0 tests: this Python has no SciPy"))
os.environ["SPMV_LIBRARY"] = str(PROGRAM.with_name("libspmv.so"))
sys.path.insert(0, str(ROOT / "src/bindings/python"))

import numpy as np
import scipy.sparse
import spmv
from spmv import _results

try:
    import spmv.torch
    import torch
except ImportError:
    torch = None
N = 140_000  # rows: results of 1.1 MB
S = scipy.sparse.diags([1.0, 2.0], [0, 1], shape=(N, N)).tocsr()
LIMIT = _results.kept.limit


def address(y):
    return y.data_ptr() if torch is not None and isinstance(y, torch.Tensor) else y.__array_interface__["data"][0]


def numpys(y):
    return y if isinstance(y, np.ndarray) else y.numpy()


class Results(unittest.TestCase):
    def setUp(self):
        gc.collect()
        spmv.keep_results(0)
        spmv.keep_results(LIMIT)
        self.A, self.x = spmv.matrix(S), np.random.default_rng(1).random(N)
        self.right = S @ self.x

    def ways(self):
        """Functions that make a new result, each with the right numbers."""
        A, x, X = self.A, self.x, np.random.default_rng(2).random((N, 3))
        yield lambda: A @ x, self.right
        yield lambda: A @ X, S @ X
        yield lambda: A @ np.asfortranarray(X), S @ X
        yield lambda: A.T @ x, S.T @ x
        yield lambda: x @ A, x @ S
        def accelerated():
            with spmv.accelerate(threshold=0):
                return S @ x
        yield accelerated, self.right
        if torch is not None:
            B, z, Z = spmv.torch.matrix(S), torch.from_numpy(x), torch.from_numpy(X)
            yield lambda: A @ z, self.right
            yield lambda: A @ Z, S @ X
            yield lambda: A @ Z.t().contiguous().t(), S @ X
            yield lambda: B @ z, self.right
            yield lambda: B @ Z, S @ X
            yield lambda: B @ Z.t().contiguous().t(), S @ X
            yield lambda: B.T @ z, S.T @ x
            yield lambda: (B @ z.clone().requires_grad_()).detach(), self.right

    def test_memory_of_a_result_that_is_gone_is_one_again(self):
        for make, right in self.ways():
            before = spmv.stats()["reused"]
            for _ in range(5):
                y = make()
                np.testing.assert_allclose(numpys(y), right, rtol=1e-6)
                del y
            self.assertGreaterEqual(spmv.stats()["reused"], before + 4)

    def test_whatever_refers_to_a_result_keeps_its_memory(self):
        def exported(y):
            return y.__dlpack__()
        keepers = [lambda y: y, lambda y: y[:5], lambda y: y[::-1], lambda y: y.T, lambda y: y.reshape(-1)[7:9], lambda y: y.view(), exported]
        of_numpy = keepers + [memoryview, lambda y: y.data, lambda y: np.asmatrix(y), lambda y: np.from_dlpack(y), lambda y: np.frombuffer(y)
                              if y.ndim == 1 else y, lambda y: y.view(np.uint8) if y.flags.c_contiguous else y,
                              lambda y: np.lib.stride_tricks.as_strided(y, (2,), (8,)), lambda y: iter(y), lambda y: y.base]
        of_torch = [lambda y: y, lambda y: y[:5], lambda y: y.t(), lambda y: y.numpy(), lambda y: y.numpy()[3:4], lambda y: y.detach(),
                    lambda y: y.untyped_storage(), exported, lambda y: torch.utils.dlpack.to_dlpack(y), lambda y: np.from_dlpack(y),
                    lambda y: memoryview(y.numpy()), lambda y: y.requires_grad_().sum() if y.is_leaf else y]
        if torch is not None:
            of_numpy += [lambda y: torch.from_numpy(y), lambda y: torch.as_tensor(y)[2:3], lambda y: torch.from_dlpack(y)]
        for make, right in self.ways():
            y = make()
            for keep in of_numpy if isinstance(y, np.ndarray) else of_torch:
                y = make()
                at, copy = address(y), numpys(y.detach() if not isinstance(y, np.ndarray) else y).copy()
                begin, end = at, at + copy.nbytes
                kept = keep(y)
                del y
                gc.collect()
                others = [make() for _ in range(3)]
                for other in others:
                    self.assertFalse(begin < address(other) + copy.nbytes and address(other) < end)
                del others, kept

    def test_results_in_garbage(self):
        class Node:
            pass
        for make, right in self.ways():
            for _ in range(3):
                node = Node()
                node.itself, node.y, y = node, make(), make()
                self.assertNotEqual(address(node.y), address(y))
                alive = node.y[:3] if isinstance(y, np.ndarray) else node.y[:3].numpy()
                value = alive.copy()
                del node
                gc.collect()
                z = make()
                z[...] = 0
                np.testing.assert_array_equal(alive, value)

    def test_at_random(self):
        """Keeps some results and drops others, and writes its own number to each."""
        rng, ways, alive = random.Random(5), [make for make, _ in self.ways()], []
        for number in range(150):
            y = rng.choice(ways)()
            y[...] = number
            view = y if rng.random() < 0.5 else y[1:3]
            alive.append((number, view))
            while len(alive) > 6:
                alive.pop(rng.randrange(len(alive)))
            for written, view in alive:
                self.assertTrue(bool((numpys(view) == written).all()))

    def test_threads(self):
        wrong, ways = [], [make for make, _ in self.ways()]

        def work(seed):
            rng, mine = random.Random(seed), []
            for number in range(25):
                y = rng.choice(ways)()
                y[...] = 1000 * seed + number
                mine.append((1000 * seed + number, y))
                if len(mine) > 3:
                    mine.pop(rng.randrange(4))
                wrong.extend(written for written, y in mine if not bool((numpys(y) == written).all()))
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(wrong, [])

    def test_the_limit(self):
        spmv.keep_results(2_500_000)  # of two results
        ys = [self.A @ self.x for _ in range(5)]
        del ys
        self.assertLessEqual(sum(map(len, _results.kept.rooms.values())), 2_500_000)
        self.assertEqual(len(_results.kept.rooms), 2)
        spmv.keep_results(0)
        self.assertEqual(len(_results.kept.rooms), 0)
        before = spmv.stats()["reused"]
        for _ in range(3):
            y = self.A @ self.x
            self.assertIsNone(y.base)
        self.assertEqual(spmv.stats()["reused"], before)
        for wrong in -1, 1.5, "all", None:
            with self.assertRaises((TypeError, ValueError)):
                spmv.keep_results(wrong)

    def test_small_results_are_arrays_of_their_own(self):
        A = spmv.matrix(scipy.sparse.eye(50).tocsr())
        A @ np.ones(50)
        self.assertIsNone((A @ np.ones(50)).base)

    def test_others_sizes_and_memory_that_is_short(self):
        B = spmv.matrix(scipy.sparse.eye(2 * N).tocsr())
        y = self.A @ self.x
        at = address(y)
        del y
        z = B @ np.ones(2 * N)
        self.assertNotEqual(address(z), at)
        self.assertEqual(float(z.sum()), 2 * N)

    def test_the_child_of_a_fork(self):
        y = self.A @ self.x
        del y
        child = os.fork()
        if child == 0:
            right = all(np.array_equal(self.A @ self.x, self.right) for _ in range(3))
            os._exit(0 if right else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_the_end_of_the_interpreter(self):
        import subprocess
        code = ("import numpy as np, scipy.sparse as s, spmv; A = spmv.matrix(s.eye(200000).tocsr()); y = A @ np.ones(200000); z = y[3:]; "
                "import builtins; builtins.kept = y.T; del y")
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                               env={**os.environ, "PYTHONPATH": str(ROOT / "src/bindings/python")})
        self.assertEqual((found.returncode, found.stdout, found.stderr), (0, "", ""))


if __name__ == "__main__":
    unittest.main()
