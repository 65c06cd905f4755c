"""spmv.accelerate of CuPy's matrices: products are those of the arrays as they are, and everything is put back. With CuPy on a GPU,
or over the emulated one:

    make emulated && SPMV=build/emulated/spmv python3 test/python/test_accelerate_cupy.py
"""
import gc
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv"))
BUILD = PROGRAM.parent.name
HAS_GPU = BUILD == "cuda" and os.path.exists("/dev/nvidia0") and importlib.util.find_spec("cupy")
if not importlib.util.find_spec("scipy") or not (HAS_GPU or BUILD == "emulated"):
    sys.exit(print("Ran 0 tests: there is neither CuPy with a GPU nor an emulated one, or no SciPy"))
os.environ["EMULATED_EAGER"] = "1"  # nobody waits for the emulated GPU: NumPy reads its memory
os.environ["SPMV_LIBRARY"] = str(PROGRAM.parent / "libspmv.so")
sys.path[:0] = [str(ROOT / "src/bindings/python"), str(ROOT / "test/python")]

import numpy as np
import scipy.sparse as scipys
import spmv

if not HAS_GPU:
    import emulated_cupy
    emulated_cupy.install()
import cupy
import cupyx.scipy.sparse as sparse
from accelerate_programs import Seeded, Wrong
from spmv import _accelerate_cupy

KINDS = [getattr(sparse, name) for name in ("csr_matrix", "csc_matrix", "coo_matrix", "csr_array", "csc_array", "coo_array")
         if hasattr(sparse, name)]
STEPS, PROGRAMS = 12, int(os.environ.get("PROGRAMS", 60))


class Program(Seeded):
    """One of a seed: products, and between them writes, exchanged arrays, transposes, freed matrices."""

    def matrix(self):
        rows, cols = (int(n) for n in self.rng.integers(1, 60, 2))
        made = scipys.random(rows, cols, density=self.rng.random() * 0.3, random_state=int(self.rng.integers(2**31))).tocsr()
        made.data = self.numbers(made.nnz, self.choose([np.float64, np.float64, np.float32]))
        return self.choose(KINDS)(self.choose([sparse.csr_matrix, sparse.csc_matrix])(made) if HAS_GPU else made)

    def run(self):
        for _ in range(STEPS):
            A = self.choose(self.matrices)
            if self.rng.random() < 0.7:
                self.choose(self.CHANGES)(self, A)
            self.multiply(self.choose(self.matrices))

    def multiply(self, A):
        rows, cols = A.shape
        host = A.get() if HAS_GPU else A.on_host()
        shape = self.choose([(cols,), (cols,), (cols, 1), (cols, 3), (cols, 9)])
        dtype = A.data.dtype if self.rng.random() < 0.9 else self.choose([np.float64, np.float32])
        x = self.numbers(shape, dtype)
        given = cupy.array(x, order=self.choose("CF"))
        if self.rng.random() < 0.1:
            given = cupy.array(np.repeat(x, 2, axis=0))[::2]
        y, right = A @ given, host.toarray() @ x
        if type(y) is not cupy.ndarray or y.shape != right.shape or y.dtype != right.dtype:
            raise Wrong(f"{y.shape} {y.dtype}, and by SciPy {right.shape} {right.dtype}")
        if y.ndim == 2 and not y.flags.f_contiguous:
            raise Wrong("the product is not in F order, as CuPy's is")
        if not np.array_equal(cupy.asnumpy(y), right):
            raise Wrong(f"{A.format} {A.shape}: {y}, and by SciPy {right}")

    # ---- between two products ----

    def write_values(self, A):
        A.data[...] = cupy.asarray(self.numbers(A.data.shape, A.data.dtype))

    def write_through_view(self, A):
        view = A.data[1:]
        view *= -1

    def exchange_values(self, A):
        A.data = cupy.array(self.numbers(A.data.shape, A.data.dtype))

    def write_pattern(self, A):
        """Entries of the same places, turned around: a place stays in its line, and is there once."""
        if A.format == "coo":
            order = self.rng.permutation(A.data.size)
            for array in A.row, A.col:
                array[...] = cupy.asarray(cupy.asnumpy(array)[order])
        else:
            last = A.shape[1 if A.format == "csr" else 0] - 1
            host = cupy.asnumpy(A.indices)
            ends = cupy.asnumpy(A.indptr)
            for begin, end in zip(ends[:-1], ends[1:]):
                host[begin:end] = last - host[begin:end][::-1]
            A.indices[...] = cupy.asarray(host)

    def exchange_all(self, A):
        for name in ("data", "row", "col") if A.format == "coo" else ("data", "indices", "indptr"):
            setattr(A, name, cupy.array(cupy.asnumpy(getattr(A, name))))

    def transpose(self, A):
        self.matrices = [self.matrices[-1], A.T]

    def replace(self, A):
        self.matrices = [B for B in self.matrices if B is not A][:1]
        del A
        gc.collect()
        self.matrices += [self.matrix()]

    CHANGES = write_values, write_through_view, exchange_values, write_pattern, exchange_all, transpose, replace


def run(count):
    with spmv.accelerate(threshold=0):
        for seed in range(count):
            try:
                Program(seed).run()
            except Wrong as wrong:
                raise Wrong(f"program {seed}: {wrong}") from wrong


def matrix(kind=sparse.csr_matrix, dtype=np.float64):
    S = scipys.random(300, 200, 0.1, "csr", dtype=dtype, random_state=3)
    return S, kind(sparse.csr_matrix(S)) if HAS_GPU else kind(S)


class Accelerated(unittest.TestCase):
    def test_random_programs(self):
        before = spmv.stats()
        run(PROGRAMS)
        after = spmv.stats()
        ran = after["library"] - before["library"]
        missed = sum(after["why"].get(why, 0) - before["why"].get(why, 0) for why in ("refused", "not yet worth it", "no faster"))
        self.assertGreater(ran, 5 * PROGRAMS)
        self.assertGreaterEqual(ran, 0.95 * (ran + missed))

    def assert_caught(self, which):
        """A plan has a copy of one of the arrays."""
        make, kept = _accelerate_cupy.Seen.make, []

        def planted(seen, device, shape, dtype, format, parts):
            parts = [cupy.array(part) if n == which else part for n, part in enumerate(parts)]
            kept.append(parts)
            make(seen, device, shape, dtype, format, parts)
        with unittest.mock.patch.object(_accelerate_cupy.Seen, "make", planted), self.assertRaises(Wrong):
            run(PROGRAMS)

    def test_a_stale_value_is_caught(self):
        self.assert_caught(0)

    def test_a_stale_pattern_is_caught(self):
        self.assert_caught(1)

    @unittest.skipIf(HAS_GPU, "the planted fault reads freed arrays: after that a GPU does nothing more for the process")
    def test_a_swapped_type_and_a_freed_array_are_caught(self):
        """Plans that are found by the shape of a matrix alone."""
        class Found(dict):
            def get(self, key):
                return super().get(key[2:4])

            def __setitem__(self, key, seen):
                super().__setitem__(key[2:4], seen)
        with unittest.mock.patch.object(_accelerate_cupy.Products, "no_plans", Found), self.assertRaises(Wrong):
            run(PROGRAMS)

    def test_a_matrix_is_cupys_at_first(self):
        S, A = matrix()
        x = np.ones(200)
        with spmv.accelerate(), unittest.mock.patch.object(_accelerate_cupy.Products, "times", lambda self, a, b: ([1, 1], a())):
            before = spmv.stats()["library"]
            for n in range(2 * _accelerate_cupy.FIRST):
                np.testing.assert_allclose(cupy.asnumpy(A @ cupy.array(x)), S.toarray() @ x)
            self.assertEqual(spmv.stats()["library"] - before, _accelerate_cupy.FIRST)

    def test_what_is_no_faster_stays_cupys(self):
        _, A = matrix(sparse.coo_matrix)
        with spmv.accelerate(), unittest.mock.patch.object(_accelerate_cupy.Products, "times", lambda self, a, b: ([1, 2], a())):
            before = spmv.stats()["library"]
            for _ in range(2 * _accelerate_cupy.FIRST):
                A @ cupy.array(np.ones(200))
            self.assertEqual(spmv.stats()["library"], before)
            self.assertGreater(spmv.stats()["why"]["no faster"], 0)

    def test_both_are_timed(self):
        _, A = matrix()
        with spmv.accelerate():
            for _ in range(_accelerate_cupy.FIRST):
                A @ cupy.array(np.ones(200))
            seen, = sys.modules["spmv._accelerate_cupy"].exchange.products.seen.values()
            self.assertIn(seen.faster, ({(1, True): True}, {(1, True): False}))

    def test_what_the_library_has_not_stays_cupys(self):
        class Own(sparse.csr_matrix):
            pass
        S, A = matrix()
        _, own = matrix(Own)
        with spmv.accelerate(threshold=0):
            before = spmv.stats()["library"]
            np.testing.assert_allclose(cupy.asnumpy(A @ cupy.array(np.ones(200, np.float32))), S.toarray() @ np.ones(200), rtol=1e-6)
            own @ cupy.array(np.ones(200))
            with self.assertRaises(ValueError):
                A @ cupy.array(np.ones(199))
            self.assertEqual(spmv.stats()["library"], before)
            A @ cupy.array(np.ones(200))
            self.assertEqual(spmv.stats()["library"], before + 1)

    def test_wrong_indices_are_cupys_affair(self):
        _, A = matrix()
        seen = _accelerate_cupy.Seen()
        A.indices[3] = 200
        seen.make(0, A.shape, A.data.dtype, _accelerate_cupy.FORMATS["csr"], (A.data, A.indices, A.indptr))
        self.assertEqual((seen.plan, seen.reason), (None, "refused"))

    def test_everything_is_put_back(self):
        before = {kind: dict(vars(kind)) for kind in KINDS}
        with spmv.accelerate():
            self.assertTrue(all("_matmul_dispatch" in vars(kind) or "__mul__" in vars(kind) for kind in KINDS))
        self.assertEqual({kind: dict(vars(kind)) for kind in KINDS}, before)

    def test_no_driver_starts_before_a_product(self):
        """A program that forks later could not use the GPU."""
        with unittest.mock.patch.object(_accelerate_cupy.lib, "spmv_backend_available", side_effect=AssertionError("asks the driver")), \
                unittest.mock.patch.object(_accelerate_cupy.lib, "spmv_ctx_create", side_effect=AssertionError("starts the driver")), \
                spmv.accelerate():
            pass

    def test_a_library_without_cuda_leaves_cupys_methods_alone(self):
        S, A = matrix()
        before = {kind: dict(vars(kind)) for kind in KINDS}
        refused = unittest.mock.Mock(side_effect=_accelerate_cupy._library.Error("cuda is not built in", _accelerate_cupy.NO_BACKEND))
        with spmv.accelerate(threshold=0), unittest.mock.patch.object(_accelerate_cupy, "context_on", refused):
            for _ in range(3):
                np.testing.assert_allclose(cupy.asnumpy(A @ cupy.array(np.ones(200))), S.toarray() @ np.ones(200))
            self.assertEqual({kind: dict(vars(kind)) for kind in KINDS}, before)
        refused.assert_called_once()

    @unittest.skipUnless(HAS_GPU, "takes CuPy")
    def test_cupy_may_be_imported_afterwards(self):
        script = ("import numpy, cupy, cupyx.scipy.sparse as sparse\nA = sparse.identity(100000, format='csr')\n"
                  "for _ in range(50): A @ cupy.ones(100000)\n")
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(script)
            file.flush()
            ran = subprocess.run([sys.executable, "-m", "spmv.accelerate", "--stats", file.name], capture_output=True, text=True,
                                 env={**os.environ, "PYTHONPATH": str(ROOT / "src/bindings/python")})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertRegex(ran.stderr, "4[0-9] products in the library")


if __name__ == "__main__":
    unittest.main()
