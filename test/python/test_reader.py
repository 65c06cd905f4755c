"""SciPy's mmread as a second opinion on the Matrix Market reader: what `spmv --write` makes of a file must be, entry for entry and
bit for bit, what SciPy reads from it. Run by test/run.sh; SPMV names the program."""
import glob
import gzip
import os
import random
import subprocess
import tempfile
import unittest

try:
    import numpy
    import scipy.io
except ImportError:
    scipy = None

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.path.join(HERE, "..", "..", "..", "shared", "matrices")
SPMV = os.environ.get("SPMV", os.path.join(HERE, "..", "..", "spmv"))
LARGEST_SHARED = 600_000  # bytes compressed: SciPy needs a second for each


def stored_entries(path):
    """Returns what SciPy reads as sorted CSR with every entry the file stores, those of arrays too; duplicates
    summed."""
    matrix = scipy.io.mmread(path)
    if not scipy.sparse.issparse(matrix):
        rows, cols = matrix.shape
        i, j = numpy.meshgrid(range(rows), range(cols), indexing="ij")
        if scipy.io.mminfo(path)[5] == "skew-symmetric":  # has no diagonal to store
            i, j = i[~numpy.eye(rows, dtype=bool)], j[~numpy.eye(rows, dtype=bool)]
            matrix = matrix[i, j]
        matrix = scipy.sparse.coo_matrix((matrix.ravel(), (i.ravel(), j.ravel())), shape=(rows, cols))
    csr = matrix.astype(float).tocsr()
    csr.sum_duplicates()
    csr.sort_indices()
    return csr


@unittest.skipUnless(scipy, "SciPy is not installed: make deps")
class Reader(unittest.TestCase):
    def convert(self, path):
        """The file as spmv reads it, written and read again (through SciPy: both sides share its second reading)."""
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out.mtx")
            subprocess.run([SPMV, "-m", path, "-k", "omp:csr0", "--write", out, "--min-time=0", "--max-time=0", "-n1",
                            "--no-log", "-q"], check=True, stdout=subprocess.DEVNULL)
            with open(out) as file:
                self.assertIn(" general", file.readline())
            return stored_entries(out)

    def compare(self, path):
        ours, theirs = self.convert(path), stored_entries(path)
        self.assertEqual(ours.shape, theirs.shape)
        numpy.testing.assert_array_equal(ours.indptr, theirs.indptr)
        numpy.testing.assert_array_equal(ours.indices, theirs.indices)
        numpy.testing.assert_array_equal(ours.data, theirs.data)

    def test_every_field_and_symmetry(self):
        files = sorted(glob.glob(os.path.join(HERE, "..", "data", "coordinate_*.mtx")) +
                       glob.glob(os.path.join(HERE, "..", "data", "array_*.mtx")))
        self.assertGreaterEqual(len(files), 14)
        for path in files:
            with self.subTest(os.path.basename(path)):
                self.compare(path)

    def test_random_decimal_numbers(self):
        """Spellings of all lengths and exponents, denormals included; what overflows is refused elsewhere."""
        rng = random.Random(7)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "numbers.mtx")
            count = 20000
            with open(path, "w") as file:
                file.write(f"%%MatrixMarket matrix coordinate real general\n{count} 1 {count}\n")
                for k in range(count):
                    digits = "".join(rng.choices("0123456789", k=rng.randint(1, 25)))
                    point = rng.randint(0, len(digits))
                    number = f"{digits[:point]}.{digits[point:]}e{rng.randint(-340, 300)}"
                    if float(number) == float("inf"):
                        number = "1.7976931348623157e308"
                    file.write(f"{k + 1} 1 {number}\n")
            self.compare(path)

    def test_shared_matrices(self):
        files = [f for f in sorted(glob.glob(os.path.join(SHARED, "*.mtx.gz"))) if os.path.getsize(f) < LARGEST_SHARED]
        if not files:
            self.skipTest("no ../shared/matrices beside this checkout")
        features = subprocess.run([SPMV, "-V", "-v"], check=True, capture_output=True, text=True).stdout
        if "libarchive" not in features:
            self.skipTest("built without libarchive: install libarchive-dev")
        for path in files:
            if os.path.basename(path) == "qc324.mtx.gz":  # complex: refused, see the unit tests
                continue
            with self.subTest(os.path.basename(path)):
                self.compare(path)

    def test_libarchive_is_opened_when_a_compressed_file_comes(self):
        features = subprocess.run([SPMV, "-V", "-v"], check=True, capture_output=True, text=True).stdout
        if "libarchive" not in features:
            self.skipTest("built without libarchive: install libarchive-dev")
        with tempfile.TemporaryDirectory() as folder:
            plain, packed, broken = (os.path.join(folder, name) for name in ("a.mtx", "a.mtx.gz", "libarchive.so.13"))
            with open(plain, "w") as file, gzip.open(packed, "wt") as other, open(broken, "w"):
                for to in file, other:
                    to.write("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n")
            env = {**os.environ, "LD_LIBRARY_PATH": folder}
            subprocess.run([SPMV, "info", plain], check=True, capture_output=True, env=env)
            done = subprocess.run([SPMV, "info", packed], check=False, capture_output=True, text=True, env=env)
            self.assertIn(f"{packed}: compressed input (gzip data) needs libarchive (Debian: libarchive13", done.stderr)
            self.assertEqual(done.returncode, 69)


if __name__ == "__main__":
    unittest.main()
