"""SciPy's mmread as a second opinion on the Matrix Market reader: what `spmv --write` makes of a file must be, entry for entry and
bit for bit, what SciPy reads from it. Run by test/run.sh; SPMV names the program."""
import glob
import gzip
import os
import pickle
import random
import re
import shlex
import shutil
import struct
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


HASH_MATRIX = """#  HashMatrix Matrix (COO) 0x56382f6b8260
#    n       m        nnz     half     fortran   state
3 3 3 {half} {base} 0 0
         {0}         {0} 0.97222222222222220989
         {1}         {0} -0.52777777777777779011
         {2}         {1} 0.027777777777777776236
"""
MORSE = """# Sparse Matrix (Morse)
# first line: n m (is symmetic) nbcoef
# after for each nonzero coefficient:   i j a_ij where (i,j) \\in  {{1,...,n}}x{{1,...,m}}
3 3 {half} 3
        1         1 0.97222222222222220989
        2         1 -0.52777777777777779011
        3         2 0.027777777777777776236
"""
LISTING = """%Mat Object: 1 MPI process
%  type: seqaij
% Size = 2 3
% Nonzeros = 2
zzz = zeros(3,3);
zzz = [
1 3  3.3333333333333331e-01
2 1  2.8571428571428570e-01
2 3  0.0000000000000000e+00
];
 Mat_0xb3e7cd0_0 = spconvert(zzz);
"""


@unittest.skipUnless(scipy, "SciPy is not installed: make deps")
class Hints(unittest.TestCase):
    """A file that is no Matrix Market file is named, and the command that the message has makes one with every bit of it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.has_read = False
        values = numpy.array([1 / 3, -2 / 7, 5e-324, numpy.nextafter(1, 2), 1.7976931348623157e308, 3])
        self.A = scipy.sparse.csr_matrix((values, ([0, 1, 1, 2, 4, 4], [6, 0, 2, 3, 1, 4])), (5, 7))
        self.triangle = numpy.array([[0.97222222222222220989, 0, 0], [-0.52777777777777779011, 0, 0], [0, 0.027777777777777776236, 0]])

    def path(self, name):
        return os.path.join(self.folder, name)

    def command(self, name, kind):
        """The command for a file, once the message has called it so."""
        said = subprocess.run([SPMV, "info", name], cwd=self.folder, capture_output=True, text=True, check=False).stderr
        self.assertIn(f"{name}: found {kind}, expected a Matrix Market file: ", said)
        return re.search(r"""(python3 -c|octave --eval|Rscript -e) ".*?"|awk '.*?' FILE >FILE.mtx""", said).group(), said

    def run_in_folder(self, command):
        """Python's commands run in this process, which saves its start and SciPy's."""
        tool, *words = shlex.split(command)
        if tool == "python3":
            before = os.getcwd()
            os.chdir(self.folder)
            try:
                exec(words[1], {})  # pylint: disable=exec-used
            finally:
                os.chdir(before)
        elif shutil.which(tool):
            subprocess.run(command, shell=True, cwd=self.folder, check=True, capture_output=True)
        else:
            self.skipTest(f"no {tool}")

    def obey(self, name, kind, change=lambda command: command):
        """The matrix that the command writes."""
        self.run_in_folder(change(self.command(name, kind)[0]).replace("FILE", name))
        return self.written(name + ".mtx")

    def written(self, name):
        """The matrix in a file."""
        if not self.has_read:  # once a test: that takes a while
            subprocess.run([SPMV, "info", name], cwd=self.folder, check=True, capture_output=True)
        self.has_read = True
        matrix = scipy.io.mmread(self.path(name))
        return matrix.toarray() if scipy.sparse.issparse(matrix) else matrix

    def same(self, found, expected):
        expected = expected.toarray() if scipy.sparse.issparse(expected) else numpy.asarray(expected)
        self.assertEqual(found.shape, expected.shape)
        numpy.testing.assert_array_equal(found, expected)

    def save(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())

    def test_an_archive_of_something_else(self):
        self.save("a.npz", b"PK\x03\x04" + bytes(22) + b"\x05\0\0\0a.txt")
        said = subprocess.run([SPMV, "info", "a.npz"], cwd=self.folder, capture_output=True, text=True, check=False).stderr
        self.assertIn("found a zip archive, expected a Matrix Market file: unzip it", said)

    def test_pickles(self):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            self.save("a.pkl", pickle.dumps(self.A, protocol))
            self.same(self.obey("a.pkl", "a Python pickle"), self.A)
            self.save("a.pkl", pickle.dumps(self.A.toarray(), protocol))
            self.same(self.obey("a.pkl", "a Python pickle"), self.A)

    def test_matlab(self):
        scipy.io.savemat(self.path("a.mat"), {"A": self.A}, format="4")
        self.same(self.obey("a.mat", "a MATLAB 4 file"), self.A)
        numbers = numpy.arange(-6, 6).reshape(4, 3)
        for kind in "f8", "f4", "i4", "i2", "u2", "u1":
            scipy.io.savemat(self.path("a.mat"), {"A": numbers.astype(kind)}, format="4")
            self.same(self.obey("a.mat", "a MATLAB 4 file"), numbers.astype(kind))
        self.save("a.mat", struct.pack(">5i", 1000, 4, 3, 0, 2) + b"A\0" + numbers.T.astype(">f8").tobytes())
        self.same(self.obey("a.mat", "a MATLAB 4 file"), numbers)

    def test_what_only_looks_like_matlab_4(self):
        for numbers, name in (((0, 4, 3, 0, 2), b"\0A"), ((0, 4, 3, 0, 0), b""), ((0, 4, 3, 2, 2), b"A\0"), ((60, 4, 3, 0, 2), b"A\0"),
                              ((3, 4, 3, 0, 2), b"A\0"), ((0, -4, 3, 0, 2), b"A\0"), ((0, 4, 3, 0, 2), b"AB"), ((0, 4, 3, 0, 99), b"A\0"),
                              ((0, 4, 3, 0, 3), b"A"), ((0, 4, 3, 0, 4), b"A+B\0"), ((0, 0, 0, 0, 0), b"")):
            self.save("a.mat", struct.pack("<5i", *numbers) + name)
            said = subprocess.run([SPMV, "info", "a.mat"], cwd=self.folder, capture_output=True, text=True, check=False).stderr
            self.assertNotIn("MATLAB", said)

    def test_parquet(self):
        try:
            import pandas  # pylint: disable=import-outside-toplevel
            coo = self.A.tocoo()
            pandas.DataFrame({"row": coo.row, "col": coo.col, "value": coo.data}).to_parquet(self.path("a.parquet"))
        except ImportError:
            self.skipTest("no pandas, or nothing that writes Parquet files for it")
        self.same(self.obey("a.parquet", "a Parquet file")[:, :7], self.A)

    def test_petsc_listings(self):
        self.save("a.m", LISTING)
        self.same(self.obey("a.m", "a PETSc listing"), [[0, 0, 1 / 3], [2 / 7, 0, 0]])

    def test_freefem(self):
        for half in 0, 1:
            whole = self.triangle + half * numpy.tril(self.triangle, -1).T
            for base in 0, 1:
                self.save("a.txt", HASH_MATRIX.format(base, base + 1, base + 2, base=base, half=half))
                self.same(self.obey("a.txt", "a FreeFem++ matrix"), whole)
            self.save("a.txt", MORSE.format(half=half))
            self.same(self.obey("a.txt", "a FreeFem++ matrix"), whole)

    def test_hypre(self):
        self.save("A.00000", "0 1 0 1\n0 0 3.33333333333333e-01\n1 4 -1.42857142857143e-01\n")
        self.save("A.00001", "2 3 2 4\n2 2 2.33333333333333e+00\n3 0 -1.0e-300\n")
        whole = numpy.zeros((4, 5))
        whole[0, 0], whole[1, 4], whole[2, 2], whole[3, 0] = 3.33333333333333e-01, -1.42857142857143e-01, 2.33333333333333e+00, -1e-300
        self.same(self.obey("A.00000", "an IJ matrix of hypre", lambda words: words.replace("' FILE", "' A.00000 A.00001")), whole)
        self.save("b.00000", "0 1\n0 3.33333333333333e-01\n1 6.66666666666667e-01\n")
        self.same(self.obey("b.00000", "an IJ vector of hypre"), [[3.33333333333333e-01], [6.66666666666667e-01]])

    def test_octave(self):
        if not shutil.which("octave"):
            self.skipTest("no octave")
        for form, kind in ("-text", "an Octave text file"), ("-binary", "an Octave binary file"):
            subprocess.run(["octave", "--eval", f"A=sparse([1 2 5],[7 1 4],[1/3 -2/7 5e-324],5,7); save('{form}','a.dat','A')"],
                           cwd=self.folder, check=True, capture_output=True)
            expected = numpy.zeros((5, 7))
            expected[0, 6], expected[1, 0], expected[4, 3] = 1 / 3, -2 / 7, 5e-324
            self.same(self.obey("a.dat", kind), expected)

    def test_r(self):
        if subprocess.run(["sh", "-c", "Rscript -e 'library(Matrix)'"], check=False, capture_output=True).returncode != 0:
            self.skipTest("no R, or no Matrix of it")
        expected = numpy.zeros((3, 4))
        expected[0, 1], expected[1, 2] = 1 / 3, 2 / 7
        for save, kind in ("save(A,file='a'", "an R workspace"), ("saveRDS(A,'a'", "an R object"):
            for more in ",compress=FALSE", ",compress=FALSE,version=2", ",ascii=TRUE", "":
                made = f"A <- Matrix::sparseMatrix(i=c(1,2),j=c(2,3),x=c(1/3,2/7),dims=c(3,4)); {save}{more})"
                subprocess.run(["Rscript", "-e", made], cwd=self.folder, check=True, capture_output=True)
                self.same(self.obey("a", kind), expected)


if __name__ == "__main__":
    unittest.main()
