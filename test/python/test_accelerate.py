"""spmv.accelerate: products of SciPy's own matrices are SciPy's, whatever happens to their arrays, and everything is put back."""
import collections
import contextlib
import copy
import gc
import importlib.util
import itertools
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import unittest.mock
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv"))
if "-san" in PROGRAM.parent.name or not importlib.util.find_spec("scipy"):
    sys.exit(print("Ran 0 tests: there is no SciPy, or the library needs a sanitizer's runtime, which Python has not"))
os.environ["SPMV_LIBRARY"] = str(PROGRAM.parent / "libspmv.so")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
sys.path[:0] = [str(ROOT / "src/bindings/python"), str(ROOT / "test/python")]

import accelerate_programs
import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg
import spmv
from spmv import _accelerate, _library

rng = np.random.default_rng(49)


def random_matrix(shape=(300, 200), kind="csr", dtype=np.float64, density=0.1):
    return sparse.random(*shape, density, "csr", dtype=dtype, random_state=3).asformat(kind)


def library(product):
    """Counts the products of it that ran in the library."""
    before = spmv.stats()["library"]
    product()
    return spmv.stats()["library"] - before


class Interrupted(BaseException):
    """What a signal's handler raises."""


@contextlib.contextmanager
def interruptions(period=3e-4):
    """In the main thread a signal's handler raises Interrupted again and again, while the list that this gives holds
    something."""
    allowed = []

    def handler(*_):
        if allowed:
            raise Interrupted
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, period, period)
    try:
        with unittest.mock.patch.object(sys, "unraisablehook", lambda _: None):  # which says where else it was raised
            yield allowed
    finally:
        allowed.clear()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Programs(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def test_random_programs_are_scipys(self):
        ran, share = accelerate_programs.run(0, 150)
        self.assertGreater(ran, 1000)
        self.assertGreaterEqual(share, 95)

    def assert_caught(self, name, planted):
        """Programs see that a fault was planted in _accelerate. What a plan reads then must be there: nothing is freed."""
        kept, arrays_of = [], _accelerate.Compressed.parts

        def keep(A):
            parts = arrays_of(A)
            kept.append(parts)
            return parts

        with unittest.mock.patch.object(_accelerate, name, planted), \
                unittest.mock.patch.object(_accelerate.Compressed, "parts", staticmethod(keep)):
            with self.assertRaises(accelerate_programs.Wrong):
                accelerate_programs.run(0, 150)

    def planted_copy(self, which):
        """A plan whose arrays of that number are copies."""
        class Stale(_accelerate.Seen):
            def make(self, format, shape, dtype, parts, at):
                copies = [np.array(part, order="C") for part in parts]
                self.kept = copies
                at = tuple(copies[k].ctypes.data if k in which else at[k] for k in range(3))
                super().make(format, shape, dtype, parts, at)
        return Stale

    def test_a_stale_value_is_caught(self):
        self.assert_caught("Seen", self.planted_copy([0]))

    def test_a_stale_pattern_is_caught(self):
        self.assert_caught("Seen", self.planted_copy([1]))
        self.assert_caught("Seen", self.planted_copy([2]))

    def test_exchanged_or_freed_arrays_are_caught(self):
        def without_addresses(at, *rest):
            return key_of((), *rest)
        key_of = _accelerate.key_of
        self.assert_caught("key_of", without_addresses)

    def test_an_exchanged_shape_is_caught(self):
        def without_shapes(at, format, _shape, data, places, lines):
            return key_of(at, format, (), data[:0], places[:0], lines[:0])
        key_of = _accelerate.key_of
        self.assert_caught("key_of", without_shapes)

    def test_an_exchanged_type_is_caught(self):
        def without_types(*arguments):
            return key_of(*arguments)[:-3]
        key_of = _accelerate.key_of
        self.assert_caught("key_of", without_types)


class Counted:
    """Counts what the library makes and frees, in a `with` block."""

    def __enter__(self):
        gc.collect()
        self.made, self.freed = collections.Counter(), collections.Counter()
        self.patches = [unittest.mock.patch.object(_library.lib, f"spmv_{kind}_{does}", self.counting(counter, kind, f"spmv_{kind}_{does}"))
                        for kind in ("plan", "mat") for does, counter in (("create", self.made), ("free", self.freed))]
        for patch in self.patches:
            patch.start()
        return self

    @staticmethod
    def counting(counter, kind, name):
        own = getattr(_library.lib, name)

        def counted(*arguments):
            counter[kind] += 1
            return own(*arguments)
        return counted

    def __exit__(self, *_error):
        for patch in self.patches:
            patch.stop()


class InTheLibrary(unittest.TestCase):
    def setUp(self):
        block = spmv.accelerate(threshold=0)
        self.addCleanup(block.__exit__)

    def test_products_of_all_formats_have_scipys_bits_or_nearly(self):
        for kind in "csr", "csc", "bsr", "coo":
            for dtype in np.float64, np.float32:
                for of in sparse.csr_matrix, sparse.csr_array:
                    A = of(random_matrix(dtype=dtype)).asformat(kind)
                    x, X = rng.standard_normal(200).astype(dtype), rng.standard_normal((200, 5)).astype(dtype)
                    z = rng.standard_normal(300).astype(dtype)
                    for product in (lambda: A @ x, lambda: A @ X, lambda: A @ np.asfortranarray(X), lambda: A.T @ z,
                                    lambda: z @ A, lambda: linalg.aslinearoperator(A).matmat(X)):
                        y = product()
                        self.assertEqual(library(product), 1, (kind, dtype))
                        right, _ = accelerate_programs.by_scipy(product)
                        self.assertEqual((type(y), y.dtype, y.shape, y.flags.c_contiguous),
                                         (type(right), right.dtype, right.shape, right.flags.c_contiguous))
                        np.testing.assert_allclose(y, right, rtol=0, atol=300 * np.finfo(dtype).eps)
                        if kind in ("csr", "bsr") and product() is not None and os.uname().machine == "x86_64" \
                                and y.shape[0] == 300:
                            np.testing.assert_array_equal(y, right)

    def test_a_large_operand_in_another_order_is_copied_by_the_threads(self):
        A, X = random_matrix(), np.asfortranarray(rng.standard_normal((200, 5)))
        counted, start = [], _accelerate.start_new_thread

        def counting(run, arguments):
            counted.append(run)
            start(run, arguments)

        def late(run, arguments):
            counting(lambda *given: (time.sleep(0.02), run(*given)), arguments)

        def refusing(*_):
            raise RuntimeError("can't start new thread at interpreter shutdown")
        for threads, starting, count in (1, counting, 0), (4, counting, 3), (4, late, 3), (7, refusing, 0):
            with unittest.mock.patch.object(_accelerate, "PART", 1), unittest.mock.patch.object(
                    _accelerate, "threads_of", lambda _, n=threads: n), \
                    unittest.mock.patch.object(_accelerate, "start_new_thread", starting):
                counted.clear()
                X += 1  # the copy of the product before is wrong for this one
                np.testing.assert_allclose(A @ X, A.toarray() @ X, rtol=0, atol=1e-11)
                self.assertEqual(len(counted), count)
        self.assertGreaterEqual(_accelerate.threads_of(os.getpid()), 1)

    def test_indices_of_64_bits(self):
        x, X = np.ones(200), rng.standard_normal((200, 5))
        for kind in "csr", "csc", "coo", "bsr":
            A = random_matrix(kind=kind)
            for name in "indices", "indptr", "row", "col":
                if name in vars(A):
                    setattr(A, name, getattr(A, name).astype(np.int64))
            if "coords" in vars(A):
                A.coords = tuple(at.astype(np.int64) for at in A.coords)
            for product in lambda: A @ x, lambda: A @ X, lambda: A.T @ np.ones(300):
                self.assertEqual(library(product), 1, kind)
                np.testing.assert_allclose(product(), accelerate_programs.by_scipy(product)[0], rtol=0, atol=1e-13)
            A.data[...] = 2
            np.testing.assert_allclose(A @ x, A.toarray() @ x)

    def test_solvers_multiply_in_the_library(self):
        A = random_matrix((200, 200), density=0.02)
        A = (A @ A.T + 10 * sparse.eye(200)).tocsr()
        b = np.ones(200)
        self.assertGreater(library(lambda: linalg.cg(A, b)), 3)
        self.assertGreater(library(lambda: linalg.lsqr(A, b)), 6)
        self.assertGreater(library(lambda: linalg.eigsh(A, 2)), 3)

    def test_other_types_and_classes_stay_scipys(self):
        class Mine(sparse.csr_matrix):
            def _matmul_vector(self, other):
                return 42 * super()._matmul_vector(other)

            def _mul_vector(self, other):  # its name before SciPy 1.11
                return 42 * super()._mul_vector(other)

        A, x = random_matrix(), np.ones(200)
        np.testing.assert_allclose(Mine(A) @ x, 42 * (A @ x))
        odd = np.zeros(8 * A.nnz + 1, np.uint8)[1:].view(np.float64)
        odd[:] = A.data
        unaligned = sparse.csr_matrix(A)
        unaligned.data = odd
        wide = []  # one of the two arrays of indices has 64 bits
        for kind, names in ("csr", ("indices", "indptr")), ("csc", ("indices", "indptr")), ("bsr", ("indices", "indptr")), ("coo", ("row", "col")):
            for name in names:
                wide.append(A.asformat(kind).copy())
                setattr(wide[-1], name, getattr(wide[-1], name).astype(np.int64))
        for of in [A.astype(t) for t in (complex, np.int32, bool, np.longdouble)] + [Mine(A), unaligned, *wide]:
            reason = "another class" if type(of) is Mine else "types"
            before = spmv.stats()["why"].get(reason, 0)
            self.assertEqual(library(lambda: of @ x), 0)
            self.assertEqual(spmv.stats()["why"][reason], before + 1)
        for other in x.astype(np.float32), x * 1j, x.astype(int):
            before = spmv.stats()["why"].get("types", 0)
            self.assertEqual(library(lambda: A @ other), 0)
            self.assertEqual(spmv.stats()["why"]["types"], before + 1)
        self.assertEqual(library(lambda: A @ A.T), 0)

    def test_errors_are_scipys(self):
        A = random_matrix()
        for wrong in np.ones(199), np.ones((199, 2)), "x", None, [1, 2]:
            ours = accelerate_programs.outcome(lambda: A @ wrong)[1]
            theirs = accelerate_programs.by_scipy(lambda: A @ wrong)[1]
            self.assertEqual((type(ours), str(ours)), (type(theirs), str(theirs)))

    def test_zeros_infinities_and_nan_are_scipys(self):
        """Stored zeros, duplicates, and what cancels, times numbers that are not finite, as each SciPy computes it."""
        rows, cols, data = [0, 1, 1, 1, 2, 2, 3, 3], [0, 1, 0, 0, 1, 2, 3, 0], [0.0, 2, 2, -2, 0, 1, -0.0, np.nan]
        compressed = sparse.csr_matrix((np.array(data), np.array(cols, np.int32), np.array([0, 1, 4, 6, 8], np.int32)), shape=(4, 4))
        by_columns = sparse.csc_matrix((np.array(data), np.array(cols, np.int32), np.array([0, 1, 4, 6, 8], np.int32)), shape=(4, 4))
        matrices = [compressed, by_columns, sparse.coo_matrix((data, (rows, cols)), shape=(4, 4)), compressed.tobsr((2, 2)),
                    *(compressed.asformat(kind) for kind in ("dia", "lil", "dok"))]
        x = np.array([np.inf, 1.0, np.nan, -np.inf])
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's warnings in products of dictionaries
        for A in matrices + [sparse.coo_matrix((data[:-1], (rows[:-1], cols[:-1])), shape=(4, 4))]:
            for X in x, x[:, None], np.stack([x, np.ones(4), x[::-1]], 1), np.asfortranarray(np.stack([x, -x], 1)):
                for product in lambda: A @ X, lambda: A.T @ X, lambda: X.T @ A:
                    right, _ = accelerate_programs.by_scipy(product)
                    np.testing.assert_array_equal(product(), right)

    def test_indices_that_are_wrong_at_first_are_not_ours(self):
        A, x = random_matrix(), np.ones(200)
        right = A @ x
        B = A.copy()
        B.indices[3] = 10**6  # SciPy would read outside of x
        seen = _accelerate.Seen()
        seen.make(_accelerate.FORMATS["csr"], B.shape, B.dtype, (B.data, B.indices, B.indptr),
                  tuple(a.ctypes.data for a in (B.data, B.indices, B.indptr)))
        self.assertEqual((seen.plan, seen.reason), (None, "refused"))
        B.indices[3] = A.indices[3]
        np.testing.assert_array_equal(B @ x, right)
        self.assertEqual(library(lambda: B @ x), 1)

    def test_offsets_that_end_behind_the_arrays_are_not_ours(self):
        A, x = random_matrix(), np.ones(200)
        A.data, A.indices = A.data[:-50].copy(), A.indices[:-50].copy()
        A.indptr[:] = np.minimum(A.indptr, len(A.data))
        self.assertEqual(library(lambda: A @ x), 1)
        A.indptr[-1] += 1
        with unittest.mock.patch.object(_accelerate.sparse._sparsetools, "csr_matvec", create=True):
            self.assertEqual(library(lambda: A @ x), 0)

    def test_arrays_that_grow_where_they_are_stay_ours(self):
        A, x = random_matrix(), np.ones(200)
        data, indices, indptr = A.data, A.indices, A.indptr.copy()
        for n in A.nnz - 50, A.nnz, A.nnz - 20:
            for A.data, A.indices in (data[:n], indices[:n]), (data, indices[:n]), (data[:n], indices):
                A.indptr[:] = np.minimum(indptr, n)
                self.assertEqual(library(lambda: A @ x), 1)
                np.testing.assert_allclose(A @ x, A.toarray() @ x, rtol=0, atol=1e-13)

    def test_copies_and_pickles_know_nothing_of_it(self):
        A, x = random_matrix(), np.ones(200)
        before = dict(vars(A))
        y = A @ x
        self.assertEqual(sorted(vars(A)), sorted(before))
        for B in copy.copy(A), copy.deepcopy(A), pickle.loads(pickle.dumps(A)):
            np.testing.assert_array_equal(B @ x, y)
        A.data.resize(A.nnz)  # NumPy refuses if something else holds the array

    def test_threads_get_right_products(self):
        A, X = random_matrix((2000, 2000), density=0.01), rng.standard_normal((6, 2000))
        right, wrong = [A @ x for x in X], []

        def multiply(k):
            for _ in range(100):
                if not np.array_equal(A @ X[k], right[k]):
                    wrong.append(k)
        threads = [threading.Thread(target=multiply, args=(k,)) for k in range(len(X))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_thread_may_exchange_arrays_that_are_being_multiplied(self):
        A, x = random_matrix((3000, 3000), density=0.02), np.ones(3000)
        A.data[:] = 1
        right, done, wrong = A @ x, [], []

        def multiply():
            for _ in range(200):
                y = A @ x
                if not np.array_equal(y, y[0] / right[0] * right):
                    wrong.append(y)
            done.append(1)
        threads = [threading.Thread(target=multiply) for _ in range(2)]
        for thread in threads:
            thread.start()
        count = 0
        while len(done) < 2:
            count += 1
            A.data = np.full(A.nnz, float(count % 8 + 1))  # the old array is freed, and its memory returned
        self.assertEqual(wrong, [])

    def test_a_forked_child_multiplies(self):
        A, x = random_matrix((3000, 3000), density=0.02), np.ones(3000)
        y = A @ x
        with _accelerate.plans.busy:  # as if another thread was multiplying
            child = os.fork()
            if child == 0:
                right = np.array_equal(A @ x, y) and library(lambda: A @ x) == 1
                os._exit(0 if right else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_a_child_multiplies_whatever_threads_of_its_parent_do(self):
        A, x, X = random_matrix((2000, 2000), density=0.01), np.ones(2000), np.asfortranarray(np.ones((2000, 4)))
        y, Y, stop, wrong = A @ x, A @ X, [], []

        def work():
            while not stop:
                with spmv.accelerate(threshold=0):
                    if not (np.array_equal(A @ x, y) and np.array_equal(A @ X, Y)):
                        wrong.append(1)
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(30):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                with spmv.accelerate(threshold=0):
                    right = np.array_equal(A @ x, y) and np.array_equal(A @ X, Y) and library(lambda: A @ x) == 1
                os._exit(0 if right else 1)
            wrong.append(os.waitpid(child, 0)[1])
        stop.append(1)
        for thread in threads:
            thread.join()
        self.assertEqual(set(wrong), {0})

    def test_handlers_that_raise_leave_products_right(self):
        A, x, X = random_matrix((500, 200)), np.ones(200), np.asfortranarray(rng.standard_normal((200, 6)))
        y, Y, ended, wrong = A @ x, A @ X, 0, 0
        before, end = spmv.stats()["why"].get("another thread multiplies", 0), time.monotonic() + 1.5
        with unittest.mock.patch.object(_accelerate, "PART", 1), interruptions() as allowed:
            while time.monotonic() < end:
                try:
                    allowed.append(1)
                    wrong += not np.array_equal(A @ x, y) or not np.array_equal(A @ X, Y)
                    A.data = A.data.copy()  # the next product takes another plan
                    allowed.clear()
                    ended += 1
                except Interrupted:
                    allowed.clear()
        self.assertEqual(wrong, 0)
        self.assertGreater(ended, 10)
        self.assertEqual(library(lambda: A @ x), 1)
        self.assertEqual(spmv.stats()["why"].get("another thread multiplies", 0), before)

    def test_a_handler_may_multiply(self):
        A, x, ys, before, key_of = random_matrix(), np.ones(200), [], spmv.stats()["why"], _accelerate.key_of
        y = A @ x

        def make(*arguments):
            ys.append(A @ x)  # as a handler that runs inside of a product
            return key_of(*arguments)
        with unittest.mock.patch.object(_accelerate, "key_of", make):
            A @ x
        np.testing.assert_array_equal(ys[0], y)
        after = spmv.stats()["why"]
        self.assertEqual(after.get("another thread multiplies", 0), before.get("another thread multiplies", 0))
        self.assertEqual(after["inside of a product"], before.get("inside of a product", 0) + 1)

    def test_plans_of_many_matrices_do_not_pile_up(self):
        x = np.ones(200)
        with Counted() as count, unittest.mock.patch.object(_accelerate, "MOST_PLANS", 20):
            for n in range(60):
                random_matrix(density=0.01 + n / 10000).copy() @ x
                gc.collect()
                for kind in "plan", "mat":
                    self.assertLessEqual(count.made[kind] - count.freed[kind], 20)
            self.assertGreater(count.made["plan"], 40)
        self.assertLessEqual(len(_accelerate.plans.seen), _accelerate.MOST_PLANS)

    def test_counts_of_many_matrices_do_not_pile_up(self):
        kept = [random_matrix(density=0.02) for _ in range(30)]
        with spmv.accelerate(threshold=10**9), unittest.mock.patch.object(_accelerate, "MOST_COUNTED", 10):
            for A in kept:
                A @ np.ones((200, 50))
                self.assertLessEqual(len(_accelerate.plans.counted), 10)
            self.assertGreater(len(_accelerate.plans.counted), 0)

    def test_what_is_put_back_is_freed(self):
        with spmv.accelerate(False), Counted() as count:
            with spmv.accelerate(threshold=0):
                for kind in "csr", "csc", "bsr", "coo":
                    random_matrix(kind=kind) @ np.ones(200)
            gc.collect()
            self.assertEqual(count.made, {"plan": 4, "mat": 4})
            self.assertEqual(count.freed, count.made)


class Deciding(unittest.TestCase):
    def setUp(self):
        self.addCleanup(spmv.accelerate(False).__exit__)

    def test_small_products_and_first_ones_stay_in_scipy(self):
        A, small = random_matrix((2000, 2000), density=0.02), random_matrix()
        with spmv.accelerate(threshold=10 * A.nnz):
            self.assertEqual(library(lambda: [A @ np.ones(2000) for _ in range(10)]), 0)
            self.assertGreater(library(lambda: [A @ np.ones(2000) for _ in range(10)]), 0)
            self.assertEqual(library(lambda: [small @ np.ones(200) for _ in range(100)]), 0)

    def test_what_is_no_faster_goes_back_to_scipy_for_a_while(self):
        seen = _accelerate.Seen()
        seen.scipy_took(1, 1.0)
        seen.scipy_took(1, 5.0)  # counts for a quarter
        self.assertEqual(seen.scipys, {1: 2.0})
        seen.runs, seen.plan = True, 1
        for _ in range(_accelerate.FEW + 5 * _accelerate.WINDOW):
            seen.library_took(1, 1.5, 100)
        self.assertTrue(seen.runs)
        for _ in range(_accelerate.WINDOW):
            self.assertTrue(seen.runs)
            seen.library_took(1, 2.5, 100)
        self.assertFalse(seen.runs)
        self.assertEqual(seen.why_not(), "no faster")
        self.assertFalse(seen.decide(100, 0))
        self.assertTrue(seen.decide(1, 0))
        for _ in range(_accelerate.FEW):  # a few are enough to see that it is slow from the start
            seen.library_took(1, 2.5, 100)
        self.assertFalse(seen.runs)

    def test_another_thread_that_multiplies_has_the_cores(self):
        A, x = random_matrix(), np.ones(200)
        with spmv.accelerate(threshold=0):
            with _accelerate.plans.busy:
                self.assertEqual(library(lambda: A @ x), 0)
            self.assertEqual(library(lambda: A @ x), 1)
        self.assertGreater(spmv.stats()["why"]["another thread multiplies"], 0)


    def test_products_of_both_are_timed(self):
        A, clock, took = random_matrix(), itertools.count(100), []
        with spmv.accelerate(threshold=2 * A.nnz), unittest.mock.patch.multiple(_accelerate, now=lambda: next(clock)), \
                unittest.mock.patch.object(_accelerate.plans, "small", 1), \
                unittest.mock.patch.object(_accelerate.Seen, "scipy_took", lambda _, *of: took.append(of)), \
                unittest.mock.patch.object(_accelerate.Seen, "library_took", lambda _, *of: took.append(of)):
            self.assertEqual(library(lambda: [A @ np.ones(200) for _ in range(2)]), 1)
            self.assertEqual(library(lambda: A @ np.ones((3, 200)).T), 1)
        rest = _accelerate.REST * 2 * A.nnz
        self.assertEqual(took, [((1, True), 1), ((1, True), 1, rest), ((3, False), 1, rest)])

    def test_methods_that_no_setting_holds_for_yet_are_scipys(self):
        A, x = random_matrix(), np.ones(200)
        with unittest.mock.patch.object(_accelerate, "plans", _accelerate.Plans()) as plans:
            for before, operand in (_accelerate.before_vector, x), (_accelerate.before_vectors, x[:, None]):
                before(lambda *_: None)(A, operand)
            self.assertEqual((plans.few, plans.early), (2, 0))


class Switching(unittest.TestCase):
    def classes(self):
        return {(kind, name): method for own in _accelerate.OWN for kind in own.__mro__ for name, method in vars(kind).items()}

    def test_everything_is_put_back(self):
        before = self.classes()
        with spmv.accelerate():
            self.assertNotEqual(self.classes(), before)
            with spmv.accelerate(threshold=0):
                pass
            self.assertEqual(_accelerate.plans.threshold, _accelerate.THRESHOLD)
        self.assertEqual(self.classes(), before)
        spmv.accelerate()
        spmv.accelerate(threshold=0)
        spmv.accelerate(False)
        self.assertEqual(self.classes(), before)
        with self.assertRaises(ZeroDivisionError), spmv.accelerate():
            1 / 0
        self.assertEqual(self.classes(), before)

    def test_it_is_switched_while_threads_multiply(self):
        A, X, raised = random_matrix((2000, 2000), density=0.02), np.asfortranarray(rng.standard_normal((2000, 4))), []
        Y, done = A @ X, []

        def work():
            while not done:
                try:
                    np.testing.assert_allclose(A @ X, Y)
                except Exception as error:
                    raised.append(error)
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(60):
            spmv.accelerate(threshold=0)
            time.sleep(0.005)
            spmv.accelerate(False)
            with spmv.accelerate(threshold=0):
                time.sleep(0.005)
        done.append(1)
        for thread in threads:
            thread.join()
        self.assertEqual(raised, [])

    def test_blocks_end_in_any_order(self):
        before, plans = self.classes(), _accelerate.plans
        first, second = spmv.accelerate(threshold=10), spmv.accelerate(threshold=20)
        first.__enter__()
        second.__enter__()
        self.assertEqual(plans.threshold, 20)
        first.__exit__()
        self.assertEqual(plans.threshold, 20)
        self.assertNotEqual(self.classes(), before)
        second.__exit__()
        self.assertEqual(self.classes(), before)
        third = spmv.accelerate(threshold=30)
        with third:
            with third, spmv.accelerate(False):
                self.assertEqual(self.classes(), before)
            self.assertEqual(plans.threshold, 30)
        self.assertEqual(self.classes(), before)
        with third:
            self.assertEqual(plans.threshold, 30)
        self.assertEqual(self.classes(), before)

    def test_the_first_block_holds_again_behind_others(self):
        with unittest.mock.patch.object(_accelerate, "switch", _accelerate.Switch()), spmv.accelerate(threshold=5):
            for threshold in 7, 9:
                with spmv.accelerate(threshold=threshold):
                    self.assertEqual(_accelerate.plans.threshold, threshold)
            self.assertEqual(_accelerate.plans.threshold, 5)

    def test_a_call_without_a_block_holds_whatever_blocks_end(self):
        before, plans = self.classes(), _accelerate.plans
        with spmv.accelerate(threshold=10):
            spmv.accelerate(False)
            self.assertEqual(self.classes(), before)
            with spmv.accelerate(threshold=20):
                self.assertEqual(plans.threshold, 20)
            self.assertEqual(self.classes(), before)
        self.assertEqual(self.classes(), before)
        with spmv.accelerate(threshold=10):
            spmv.accelerate(threshold=30)
        self.assertEqual(plans.threshold, 30)
        for _ in range(100):
            spmv.accelerate(threshold=40)
        self.assertLess(len(_accelerate.switch.settings), 4)
        spmv.accelerate(False)
        self.assertEqual(self.classes(), before)

    def test_blocks_of_many_threads(self):
        before, wrong, A, x = self.classes(), [], random_matrix(), np.ones(200)
        interval = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, interval)
        sys.setswitchinterval(1e-5)

        def work(_):
            for _ in range(40):
                with spmv.accelerate(threshold=0):
                    wrong.extend([1] * (_accelerate.plans.threshold != 0))
                    A @ x
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((wrong, self.classes() == before), ([], True))

    def test_handlers_that_raise_leave_nothing_behind(self):
        before, end, A, x = self.classes(), time.monotonic() + 1, random_matrix(), np.ones(200)
        with interruptions() as allowed:
            while time.monotonic() < end:
                try:
                    allowed.append(1)
                    spmv.accelerate(threshold=0)
                    A @ x
                    spmv.accelerate(False)
                    allowed.clear()
                except Interrupted:
                    allowed.clear()
        spmv.accelerate(threshold=0)
        self.assertEqual(library(lambda: A @ x), 1)
        spmv.accelerate(False)
        self.assertEqual(self.classes(), before)

    def test_another_packages_method_stays(self):
        kind, name = next((kind, name) for kind, name in _accelerate.owners(_accelerate.METHODS[0]))
        own = vars(kind)[name]
        with spmv.accelerate(threshold=0):
            ours = vars(kind)[name]

            def theirs(self, other):
                return ours(self, other)
            setattr(kind, name, theirs)
        self.assertIs(vars(kind)[name], theirs)
        A = random_matrix(kind="coo" if "coo" in kind.__name__ else "csr")
        self.assertEqual(library(lambda: A @ np.ones(200)), 0)
        setattr(kind, name, own)

    def run_program(self, text, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "script.py")
            script.write_text(textwrap.dedent(text))
            pathlib.Path(folder, "beside.py").write_text("name = 'beside'\n")
            path = os.pathsep.join([str(ROOT / "src/bindings/python"), os.environ.get("PYTHONPATH", "")])
            name, cwd = (script.stem, folder) if "-m" in arguments else (os.path.join(script.parent.name, script.name), script.parent.parent)
            return subprocess.run([sys.executable, "-W", "error::RuntimeWarning", "-m", "spmv.accelerate", *arguments, name, "one", "--two"],
                                  cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path})

    def test_an_unchanged_program_is_accelerated(self):
        program = """
            import sys
            import beside
            import numpy as np
            import scipy.sparse as sparse
            A = sparse.random(300, 300, 0.1, "csr")
            for _ in range(5):
                A @ np.ones(300)
            print(__name__, beside.name, sys.argv[1:], __file__ == sys.argv[0])
            """
        ran = self.run_program(program, "--stats", "--threshold=0")
        self.assertEqual((ran.stdout, ran.returncode), ("__main__ beside ['one', '--two'] True\n", 0), ran.stderr)
        self.assertEqual(ran.stderr, "spmv.accelerate: 5 products in the library, 0 in SciPy\n")
        ran = self.run_program("import numpy as np, scipy.sparse as s; s.eye(300, format='coo') @ np.ones((300, 4))", "--stats",
                               "--threshold=0")
        self.assertEqual(ran.stderr, "spmv.accelerate: 1 products in the library, 0 in SciPy\n")
        ran = self.run_program(program, "--stats")
        self.assertIn("0 products in the library, 5 in SciPy (small: 5)", ran.stderr)
        self.assertEqual(self.run_program("raise SystemExit(7)").returncode, 7)
        module = "import sys\nprint(__name__, len(sys.argv), sys.argv[1:])"
        self.assertEqual(self.run_program(module, "-m").stdout, "__main__ 3 ['one', '--two']\n")
        self.assertIn("usage", self.run_program("", "--unknown").stderr)

    def test_what_is_no_number_of_entries_or_no_truth_is_refused(self):
        before = self.classes()
        for threshold in "8", [8], 8j:
            with self.assertRaisesRegex(TypeError, "threshold is .*, must be a number of entries"):
                spmv.accelerate(threshold=threshold)
        for threshold in -1, -0.5, -(2**70), float("nan"), -float("inf"), np.int64(-3):
            with self.assertRaisesRegex(ValueError, "threshold is .*, must be 0 or more entries"):
                spmv.accelerate(threshold=threshold)
        for on in 10000, -1, None, "off", 0.5, [True], float("nan"), np.ones(2):
            with self.assertRaisesRegex(TypeError, "on is .*, must be True or False"):
                spmv.accelerate(on)
        self.assertEqual(self.classes(), before)
        for threshold in 0, 2.5, np.float32(3), 2**70, float("inf"):
            with spmv.accelerate(np.True_, threshold):
                self.assertEqual(_accelerate.plans.threshold, threshold)
        for words in ["--threshold=-1"], ["--threshold=²"], ["--threshold=nan"]:
            self.assertIn("usage", self.run_program("", *words).stderr)

    def test_a_program_that_is_not_there_is_refused_as_python_does(self):
        path = os.pathsep.join([str(ROOT / "src/bindings/python"), os.environ.get("PYTHONPATH", "")])
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "empty").mkdir()
            pathlib.Path(folder, "empty", "__init__.py").touch()
            for words in ["nofile.py"], ["empty"], ["-m", "nomodule"], ["-m", "empty.none"], ["-m", "empty"]:
                pythons, ours = (subprocess.run([sys.executable, *start, *words], cwd=folder, capture_output=True, text=True,
                                                check=False, env={**os.environ, "PYTHONPATH": path})
                                 for start in ([], ["-m", "spmv.accelerate"]))
                self.assertEqual((ours.stderr, ours.returncode), (pythons.stderr, pythons.returncode), words)

    def test_importing_the_file_gives_the_function(self):
        code = "import spmv.accelerate, spmv; spmv.accelerate(False); from spmv import accelerate; accelerate(False)"
        path = str(ROOT / "src/bindings/python")
        ran = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, check=False)
        self.assertEqual(ran.returncode, 0)


if __name__ == "__main__":
    unittest.main()
