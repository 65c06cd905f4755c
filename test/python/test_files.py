"""Files that other programs write, read entry by entry, and what spmv writes, read by these programs. Run by test/run.sh; SPMV names
the program. A test whose program is not installed says that it skips."""
import glob
import importlib
import json
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

try:
    import numpy
    import scipy.io
    import scipy.sparse
except ImportError:
    scipy = None

HERE = os.path.dirname(os.path.abspath(__file__))
SPMV = os.environ.get("SPMV", os.path.join(HERE, "..", "..", "spmv"))
ALL_TYPES = ("bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", ">i4", ">i8", ">f4", ">f8")


def canonical(matrix):
    csr = scipy.sparse.csr_matrix(matrix).astype(float)
    csr.sum_duplicates()
    csr.sort_indices()
    return csr


def matrices():
    """Shapes with empty rows, columns and blocks; values of all bits."""
    rng = numpy.random.default_rng(74)
    for rows, cols, density in (12, 16, 0.3), (300, 200, 0.05), (5, 7, 0), (1, 1, 1), (3, 5000, 0.4):
        matrix = scipy.sparse.random(rows, cols, density, "csr", random_state=74)
        matrix.data[:] = rng.standard_normal(matrix.nnz) * 10.0 ** rng.integers(-300, 300, matrix.nnz)
        yield matrix


RBWRITE = r"""
#include <RBio.h>
#include <stdio.h>
#include <stdlib.h>
int main(int n, char **name) {
    long rows, cols, nnz;
    FILE *f = fopen(name[1], "r");
    fscanf(f, "%ld %ld %ld", &rows, &cols, &nnz);
    SuiteSparse_long *p = malloc(8 * (cols + 1)), *i = malloc(8 * nnz + 8);
    double *x = malloc(8 * nnz + 8);
    for (long k = 0; k <= cols; k++) fscanf(f, "%ld", &p[k]);
    for (long k = 0; k < nnz; k++) fscanf(f, "%ld", &i[k]);
    for (long k = 0; k < nnz; k++) fscanf(f, "%la", &x[k]);
    char type[4];
    return RBwrite(name[2], "title", "key", rows, cols, p, i, x, NULL, NULL, NULL, 0, type);
}
"""

# Writes an AIJ matrix and a vector by a PETSc with 64-bit indices; the text is as for RBWRITE, by rows.
PETSC64_PROGRAM = r"""
#include <petscmat.h>
#include <stdio.h>
#include <stdlib.h>
int main(int n, char **name) {
    PetscInt rows, cols, nnz;
    PetscInitialize(&n, &name, NULL, NULL);
    FILE *f = fopen(name[1], "r");
    fscanf(f, "%ld %ld %ld", &rows, &cols, &nnz);
    PetscInt *p = malloc(8 * (rows + 1)), *i = malloc(8 * nnz + 8);
    double *x = malloc(8 * nnz + 8);
    for (PetscInt k = 0; k <= rows; k++) fscanf(f, "%ld", &p[k]);
    for (PetscInt k = 0; k < nnz; k++) fscanf(f, "%ld", &i[k]);
    for (PetscInt k = 0; k < nnz; k++) fscanf(f, "%la", &x[k]);
    Mat A;
    Vec v;
    PetscViewer to;
    MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, rows, cols, p, i, x, &A);
    PetscViewerBinaryOpen(PETSC_COMM_SELF, name[2], FILE_MODE_WRITE, &to);
    MatView(A, to);
    PetscViewerDestroy(&to);
    VecCreateSeqWithArray(PETSC_COMM_SELF, 1, nnz, x, &v);
    PetscViewerBinaryOpen(PETSC_COMM_SELF, name[3], FILE_MODE_WRITE, &to);
    VecView(v, to);
    PetscViewerDestroy(&to);
    return sizeof(PetscInt) != 8;
}
"""
# Writes what R's Matrix writes, and the bits of what it reads.
R_PROGRAM = """
library(Matrix)
A <- readMM("ours.mtx")
T <- as(as(A, "generalMatrix"), "TsparseMatrix")
cat(sprintf("%d %d %a", T@i, T@j, T@x), file = "read.txt", sep = "\n")
writeMM(A, "general.mtx")
n <- min(dim(A))
S <- forceSymmetric(as(A[1:n, 1:n, drop = FALSE], "generalMatrix"))
writeMM(S, "symmetric.mtx")
writeMM(as(A != 0, "nMatrix"), "pattern.mtx")
"""


HARWELL = """A title                                                                 KEY
             4             1             1             2
{type}                        3             3             3             0
(4I10)          (3I10)          (2E25.17)
         1         3         4         4
         1         2         3
  9.72222222222222210E-01 -5.27777777777777790E-01
  2.77777777777777762E-02
"""
BOEING = """A title                                                                 KEY
             4             1             1             1             1
{type}                        3             3             3             0
(4I10)          (3I10)          {}
F                          1             0
         1         3         4         4
         1         2         3
{}
"""
# Formats and values as Fortran has them; None: those of HARWELL
BOEING_VALUES = None, (
    "(1P,3D25.16)", "   9.7222222222222221D-01  -5.2777777777777779D-01   2.7777777777777776D-02"), (
    "(3E24.17)", "  .97222222222222221+000 -.52777777777777779+000  .27777777777777776-001"), (
    "(3E23.17)", "0.97222222222222221E+00-.52777777777777779E+000.27777777777777776E-01"), (
    "(1p3e30.17)", "       9.72222222222222210e-01      -5.27777777777777790e-01       2.77777777777777762e-02"), (
    "(3F25.20)", "   0.97222222222222220989  -0.52777777777777779011   0.02777777777777777624")
PETSC_PROGRAM = """
import sys
try:
    import numpy, petsc4py
    petsc4py.init()
    from petsc4py import PETSc
except (ImportError, ValueError):  # another NumPy
    sys.exit(69)
a = numpy.load(sys.argv[1])
rows, cols = map(int, a["shape"])
n = min(rows, cols)
A = PETSc.Mat().createAIJ((rows, cols), csr=(a["indptr"], a["indices"], a["data"]), comm=PETSc.COMM_SELF)

def write(name, thing):
    thing.view(PETSc.Viewer().createBinary(name, "w", comm=PETSc.COMM_SELF))

write("aij.bin", A)
write("baij.bin", A.convert("baij", PETSc.Mat()))
D = PETSc.Mat().createDense((rows, min(cols, 20)), comm=PETSc.COMM_SELF)
D.setUp()
S = PETSc.Mat().createSBAIJ((n, n), 1, nnz=n, comm=PETSc.COMM_SELF)
S.setOption(PETSc.Mat.Option.IGNORE_LOWER_TRIANGULAR, True)
for i in range(rows):
    for j, x in zip(*A.getRow(i)):
        if j < 20:
            D.setValue(i, j, x)
        if i <= j < n:
            S.setValue(i, j, x)
for name, B in ("dense.bin", D), ("sbaij.bin", S):
    B.assemble()
    write(name, B)
x = PETSc.Vec().createWithArray(numpy.arange(1, 41) / 3, comm=PETSc.COMM_SELF)
write("x.bin", x)
I = PETSc.Mat().createAIJ((40, 40), csr=(numpy.arange(41, dtype="i4"), numpy.arange(40, dtype="i4"), numpy.ones(40)), comm=PETSc.COMM_SELF)
write("eye.bin", I)
C = PETSc.Mat().create(comm=PETSc.COMM_SELF)
C.setType("aij")
C.load(PETSc.Viewer().createBinary("c.petsc", "r", comm=PETSc.COMM_SELF))
indptr, indices, data = C.getValuesCSR()
numpy.savez("out.npz", indptr=indptr, indices=indices, data=data)
"""


@unittest.skipUnless(scipy, "SciPy is not installed: make deps")
class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def spmv(self, *words, code=0):
        done = subprocess.run([SPMV, *words], capture_output=True, text=True, check=False, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr if code else done.stdout

    def convert(self, name, to, *words):
        """Returns what spmv says while it writes a file as another."""
        done = subprocess.run([SPMV, "-m", self.path(name), "-k", "omp:csr0", "--write", self.path(to), "--min-time=0", "--max-time=0",
                               "-n1", "--no-log", "-q", *words], check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def read(self, name, *words):
        self.convert(name, "out.mtx", *words)
        return canonical(scipy.io.mmread(self.path("out.mtx")))

    def same(self, found, expected):
        found, expected = canonical(found), canonical(expected)
        self.assertEqual(found.shape, expected.shape)
        numpy.testing.assert_array_equal(found.indptr, expected.indptr)
        numpy.testing.assert_array_equal(found.indices, expected.indices)
        numpy.testing.assert_array_equal(found.data.view("i8"), expected.data.view("i8"))

    def save(self, name, *parts):
        with open(self.path(name), "wb") as file:
            file.write(b"".join(parts))

    def refused(self, name, text, code=65):
        said = self.spmv("info", name, code=code)
        self.assertIn(text, said)
        self.assertIn(name.split(":")[0], said)

    def written(self):
        """Yields matrices, each beside a file a.mtx that holds it."""
        for matrix in matrices():
            scipy.io.mmwrite(self.path("a.mtx"), matrix, precision=17)
            yield matrix

    # ---- NumPy and SciPy

    def test_scipy_archives(self):
        for matrix in matrices():
            for form in ("csr", "csc", "coo", "bsr", "dia") if matrix.shape[1] < 100 else ("csr",):
                for compressed in False, True:
                    other = matrix.asformat(form)
                    scipy.sparse.save_npz(self.path("a.npz"), other, compressed=compressed)
                    self.same(self.read("a.npz"), other)

    def test_types_of_values_and_indices(self):
        matrix = scipy.sparse.random(30, 40, 0.2, "csr", random_state=1)
        for kind in ALL_TYPES:
            other = matrix.copy()
            other.data = (200 * matrix.data).astype(kind)
            scipy.sparse.save_npz(self.path("a.npz"), other)
            self.same(self.read("a.npz"), other)
        parts = {"format": b"csr", "shape": matrix.shape, "data": matrix.data}
        for kind in "u1", "i4", ">i4", "i8", ">i8", "u8":
            numpy.savez(self.path("a.npz"), indices=matrix.indices.astype(kind), indptr=matrix.indptr.astype(kind.replace("1", "2")), **parts)
            self.same(self.read("a.npz"), matrix)

    def test_fortran_order(self):
        matrix = scipy.sparse.random(12, 12, 0.3, "csr", random_state=1)
        for form in "bsr", "dia":
            other = matrix.asformat(form) if form == "dia" else matrix.tobsr((3, 2))
            other.data = numpy.asfortranarray(other.data)
            scipy.sparse.save_npz(self.path("a.npz"), other)
            self.same(self.read("a.npz"), other)

    def test_coordinates_as_one_array(self):
        matrix = scipy.sparse.random(12, 9, 0.3, "coo", random_state=1)
        for save in numpy.savez, numpy.savez_compressed:
            save(self.path("a.npz"), format=b"coo", shape=(12, 9), data=matrix.data, coords=numpy.stack([matrix.row, matrix.col]))
            self.same(self.read("a.npz"), matrix)

    def test_explicit_zeros_and_duplicates(self):
        """SciPy keeps stored zeros, and adds entries of one place."""
        matrix = scipy.sparse.coo_matrix(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])), (2, 2))
        scipy.sparse.save_npz(self.path("a.npz"), matrix)
        out = self.spmv("info", "a.npz", "--format=csv")
        self.same(self.read("a.npz"), scipy.sparse.csr_matrix(([3.0, 0.0], ([0, 1], [1, 0])), (2, 2)))
        self.assertIn(",1,1,real,general", out)

    def test_arrays_with_room_to_grow(self):
        """SciPy saves the arrays with what stands behind the last entry."""
        numpy.savez(self.path("a.npz"), format=b"csr", shape=(2, 2), indptr=[0, 1, 2], indices=[0, 1, 77, -3], data=[1.5, 2.5, 3.5, 4.5])
        self.same(self.read("a.npz"), numpy.diag([1.5, 2.5]))

    def test_dense_arrays(self):
        dense = numpy.arange(12.0).reshape(3, 4) / 7
        for array in dense, numpy.asfortranarray(dense), dense.astype(">f8"), dense[:, 0]:
            numpy.save(self.path("a.npy"), array)
            self.same(self.read("a.npy").toarray().ravel(), numpy.asarray(array, float).ravel())
        numpy.savez(self.path("a.npz"), one=dense, two=dense[:, :2])
        self.same(self.read("a.npz:two").toarray(), dense[:, :2])
        self.refused("a.npz", "found more than one matrix in a NumPy archive (.npz); name one behind a colon, as in a.npz:NAME: it holds "
                              "one: 3 x 4 dense, 12 entries; two: 3 x 2 dense, 6 entries")

    def test_vectors(self):
        x = numpy.arange(1.0, 41) / 3
        scipy.sparse.save_npz(self.path("A.npz"), scipy.sparse.identity(40, format="csr"))
        numpy.save(self.path("x.npy"), x)
        numpy.savez_compressed(self.path("x.npz"), x=x[:, None])
        numpy.save(self.path("two.npy"), numpy.stack([x, 2 * x], axis=1))
        for name, expected in ("x.npy", x), ("x.npz:x", x), ("two.npy", numpy.r_[x, 2 * x]):
            words = ["--vectors=2"] if name == "two.npy" else []
            self.spmv("-m", "A.npz", "-k", "omp:csr0", "-x", name, "-y", "y.f64", "--no-log", "-n1", *words)
            numpy.testing.assert_array_equal(numpy.fromfile(self.path("y.f64")), expected)

    def test_written_for_scipy(self):
        for matrix in self.written():
            self.convert("a.mtx", "b.npz")
            self.same(scipy.sparse.load_npz(self.path("b.npz")), matrix)
            self.same(self.read("b.npz"), matrix)
            self.assertIsNone(zipfile.ZipFile(self.path("b.npz")).testzip())

    # ---- PETSc

    def petsc(self, name, number, head, *parts):
        kinds = (f">i{number}", *parts[::2])
        self.save(name, *(numpy.asarray(part, kind).tobytes() for kind, part in zip(kinds, (head, *parts[1::2]))))

    def petsc_matrix(self, name, number, matrix):
        kind = f">i{number}"
        self.petsc(name, number, [1211216, *matrix.shape, matrix.nnz], kind, numpy.diff(matrix.indptr), kind, matrix.indices, ">f8", matrix.data)

    def test_petsc(self):
        for matrix in matrices():
            dense = matrix[:, :30].toarray()
            for number in 4, 8:
                self.petsc_matrix("a.bin", number, matrix)
                self.same(self.read("a.bin"), matrix)
                self.petsc("a.bin", number, [1211216, *dense.shape, -1], ">f8", dense)
                numpy.testing.assert_array_equal(self.read("a.bin").toarray(), dense)

    def run_petsc(self, *words):
        """Runs PETSC_PROGRAM with petsc4py, which Debian keeps beside PETSc."""
        beside = glob.glob("/usr/lib/petscdir/*/*/lib/python3/dist-packages")
        done = subprocess.run([sys.executable, "-c", PETSC_PROGRAM, *words], check=False, capture_output=True, text=True, cwd=self.folder,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(beside)})
        if done.returncode == 69:
            self.skipTest("no petsc4py: python3-petsc4py-real, or another NumPy than it was built with")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_petsc_written_by_petsc_and_for_it(self):
        for matrix in self.written():
            csr = matrix.astype(float)
            csr.sort_indices()
            numpy.savez(self.path("in.npz"), shape=csr.shape, indptr=csr.indptr.astype("i4"), indices=csr.indices.astype("i4"), data=csr.data)
            self.convert("a.mtx", "c.petsc")
            self.run_petsc("in.npz")
            self.same(self.read("aij.bin"), matrix)
            self.same(self.read("baij.bin"), matrix)
            numpy.testing.assert_array_equal(self.read("dense.bin").toarray(), matrix[:, :20].toarray())
            out = numpy.load(self.path("out.npz"))
            self.same(scipy.sparse.csr_matrix((out["data"], out["indices"], out["indptr"]), matrix.shape), matrix)
            square = matrix[:min(matrix.shape), :min(matrix.shape)]
            self.same(self.read("sbaij.bin:symmetric"), scipy.sparse.triu(square) + scipy.sparse.triu(square, 1).T)
            self.spmv("-m", "eye.bin", "-k", "omp:csr0", "-x", "x.bin", "-y", "y.f64", "--no-log", "-n1")
            numpy.testing.assert_array_equal(numpy.fromfile(self.path("y.f64")), numpy.arange(1, 41) / 3)

    def test_petsc_with_wide_indices(self):
        """By the PETSc of Debian's libpetsc64-real-dev."""
        places = glob.glob("/usr/lib/petscdir/petsc64*/*-real/lib/pkgconfig")
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "petsc"], check=False, capture_output=True, text=True,
                               env={**os.environ, "PKG_CONFIG_PATH": os.pathsep.join(places)}) if places and shutil.which("pkg-config") else None
        if not flags or flags.returncode:
            self.skipTest("no PETSc with 64-bit indices: libpetsc64-real-dev")
        program = self.path("petsc64")
        with open(program + ".c", "w", encoding="utf-8") as file:
            file.write(PETSC64_PROGRAM)
        subprocess.run([shutil.which("mpicc") or "gcc", "-w", program + ".c", "-o", program, *flags.stdout.split()], check=True, capture_output=True)
        for matrix in matrices():
            numbers = [*matrix.shape, matrix.nnz, *matrix.indptr, *matrix.indices, *(float(x).hex() for x in matrix.data)]
            self.save("a.txt", " ".join(map(str, numbers)).encode())
            subprocess.run([program, "a.txt", "a.bin", "x.bin"], check=True, capture_output=True, cwd=self.folder)
            self.same(self.read("a.bin"), matrix)
            if matrix.nnz:
                numpy.testing.assert_array_equal(self.read("x.bin").toarray().ravel(), matrix.data)

    def test_petsc_vectors_behind_a_matrix(self):
        matrix, x = scipy.sparse.identity(3, format="csr"), [1 / 3, 2 / 7, 5e-324]
        for number in 4, 8:
            self.petsc_matrix("A.bin", number, matrix)
            self.petsc("x.bin", number, [1211214, 3], ">f8", x)
            with open(self.path("A.bin"), "rb") as A, open(self.path("x.bin"), "rb") as b:
                self.save("both.bin", A.read(), b.read())
            for name in "x.bin", "both.bin":
                self.spmv("-m", "both.bin", "-k", "omp:csr0", "-x", name, "-y", "y.f64", "--no-log", "-n1")
                numpy.testing.assert_array_equal(numpy.fromfile(self.path("y.f64")), x)

    def test_petsc_half_of_a_symmetric_matrix(self):
        """The type sbaij writes its upper half, whole blocks on the diagonal, as if it were all: the name says otherwise."""
        whole = numpy.array([[1 / 3, 2, 3, 0], [2, 4 / 7, 0, 5], [3, 0, 6, 7], [0, 5, 7, 8]])
        for half in scipy.sparse.csr_matrix(numpy.triu(whole)), scipy.sparse.csr_matrix(whole - numpy.kron([[0, 0], [1, 0]], numpy.ones((2, 2))) * whole):
            self.petsc_matrix("a.bin", 4, half)
            self.same(self.read("a.bin:symmetric"), whole)
            self.same(self.read("a.bin"), half)
        self.petsc_matrix("a.bin", 4, scipy.sparse.csr_matrix(numpy.triu(whole)))
        self.assertIn("add :symmetric to its name", self.convert_loudly("a.bin"))

    def convert_loudly(self, name):
        return subprocess.run([SPMV, "-m", self.path(name), "-k", "omp:csr0", "-n1", "--no-log"], check=True, capture_output=True, text=True).stderr

    def test_bad_petsc(self):
        for head, parts, text in (([1211216, 2, 2, 1], (">i4", [1, 1], ">i4", [0], ">f8", [1.0]), "found lengths[1] (byte 20) that is 1, expected 0 to 0"),
                                  ([1211216, 2, 2, 1], (">i4", [-1, 2], ">i4", [0], ">f8", [1.0]), "that is -1, expected 0 to 1"),
                                  ([1211216, 2, 2, 1], (">i4", [1, 0], ">i4", [2], ">f8", [1.0]), "found columns[0] (byte 24) that is 2, expected 0 to 1"),
                                  ([1211216, 2, 2, 2**30], (">i4", [1, 0]), "found columns of 1073741824 elements at byte 24, expected at most 0"),
                                  ([1211216, 2**31 - 1, 2, 0], (), "found lengths of 2147483647 elements"),
                                  ([1211216, 2, 2, -7], (">i4", [0, 0]), "found columns of -7 elements"), ([1211216, 2], (), "found the sizes of 3 elements")):
            self.petsc("a.bin", 4, head, *parts)
            self.refused("a.bin", text)
        self.petsc("a.bin", 8, [1211216, 2**40, 2, 0])
        self.refused("a.bin", "found lengths of 1099511627776 elements at byte 32, expected at most 0 in the 0 bytes that follow")

    # ---- MATLAB

    def octave(self, program):
        if not shutil.which("octave-cli"):
            self.skipTest("no octave-cli")
        subprocess.run(["octave-cli", "--norc", "--eval", program], check=True, capture_output=True, cwd=self.folder)

    def test_matlab_of_scipy(self):
        for matrix in matrices():
            for compressed in False, True:
                scipy.io.savemat(self.path("a.mat"), {"x": numpy.ones((3, 2)), "A": matrix, "name": "text"}, do_compression=compressed)
                self.same(self.read("a.mat"), matrix)
                self.same(self.read("a.mat:x").toarray(), numpy.ones((3, 2)))
        for kind in "bool", "i4", "f4", "u8":
            scipy.io.savemat(self.path("a.mat"), {"A": (100 * matrices().__next__()).astype(kind)})
            self.same(self.read("a.mat"), (100 * matrices().__next__()).astype(kind))

    def test_matlab_of_octave(self):
        self.octave("A = sprand(40, 30, 0.2) - sprand(40, 30, 0.2); B = A > 0; x = (1:30)'/3; C = single(7); c = {1}; s.a = 1; Z = A * 1i;"
                    "save -v6 six.mat A x c s Z; save -v7 seven.mat A x c s Z; save -v7 truth.mat B; save -v7 two.mat A B")
        matrix = scipy.io.loadmat(self.path("six.mat"))["A"]
        for name in "six.mat", "seven.mat":
            self.same(self.read(name), matrix)
            self.spmv("-m", name, "-k", "omp:csr0", "-x", name, "-y", "y.f64", "--no-log", "-n1")
            numpy.testing.assert_allclose(numpy.fromfile(self.path("y.f64")), matrix @ (numpy.arange(1, 31) / 3), rtol=1e-12)
            self.refused(name + ":Z", "found Z of complex values")
            self.refused(name + ":c", "found c a cell array, expected real, integer or pattern")
            self.refused(name + ":Q", "found no 'Q' in a MATLAB file: it holds A: 40 x 30 sparse, ")
        self.same(self.read("truth.mat"), matrix > 0)
        self.same(self.read("two.mat:B"), matrix > 0)
        self.refused("two.mat", "found more than one matrix in a MATLAB file; name one behind a colon, as in two.mat:NAME: it holds A: 40 x 30")

    def test_hdf5_of_octave(self):
        """Dense values have their dimensions reversed; scalars have none."""
        if "hdf5" not in self.spmv("-V", "-v"):
            self.skipTest("spmv is built without HDF5")
        self.octave("A = sprand(40, 30, 0.2) - sprand(40, 30, 0.2); B = A > 0; x = (1:30)'/3; D = reshape((1:12)/7, 3, 4); c = {1}; k = 3;"
                    "Z = A * 1i; save -v6 six.mat A; save -hdf5 one.h5 A x c k; save -hdf5 two.h5 A B D Z")
        matrix = scipy.io.loadmat(self.path("six.mat"))["A"]
        self.same(self.read("one.h5"), matrix)
        self.same(self.read("two.h5:B"), matrix > 0)
        numpy.testing.assert_array_equal(self.read("two.h5:D").toarray(), numpy.arange(1, 13).reshape(4, 3).T / 7)
        self.spmv("-m", "one.h5", "-k", "omp:csr0", "-x", "one.h5", "-y", "y.f64", "--no-log", "-n1")
        numpy.testing.assert_allclose(numpy.fromfile(self.path("y.f64")), matrix @ (numpy.arange(1, 31) / 3), rtol=1e-12)
        self.refused("two.h5:Z", "complex values are not supported")
        self.refused("one.h5:c", "found c of another")

    def test_matlab_written(self):
        """MATLAB keeps no stored zeros; they are written, and SciPy reads them."""
        for matrix in self.written():
            self.convert("a.mtx", "b.mat")
            self.same(scipy.io.loadmat(self.path("b.mat"))["A"], matrix)
            self.same(self.read("b.mat"), matrix)

    def test_matlab_read_by_octave(self):
        for matrix in self.written():
            self.convert("a.mtx", "b.mat")
            self.octave("load b.mat; [i, j, v] = find(A); f = fopen('c.f64', 'w'); fwrite(f, [size(A)(:); i(:); j(:); v(:)], 'double');")
            found = numpy.fromfile(self.path("c.f64"))
            i, j, v = numpy.split(found[2:], 3)
            self.same(scipy.sparse.csr_matrix((v, (i - 1, j - 1)), found[:2].astype(int)), matrix)

    def test_matlab_of_a_big_endian_machine(self):
        def element(kind, data):
            return struct.pack(">II", kind, len(data)) + data + bytes(-len(data) % 8)

        def numbers(form, *values):
            return struct.pack(f">{len(values)}{form}", *values)
        body = element(6, numbers("I", 5, 3)) + element(5, numbers("i", 2, 3)) + numbers("H", 1, 1) + b"A\0\0\0"
        body += element(5, numbers("i", 0, 1, 1)) + element(5, numbers("i", 0, 1, 2, 3)) + element(9, numbers("d", 1.5, -2.5, 3.5))
        self.save("a.mat", b"MATLAB 5.0 MAT-file".ljust(124), b"\1\0MI", element(14, body))
        self.same(self.read("a.mat"), numpy.array([[1.5, 0, 0], [0, -2.5, 3.5]]))

    def test_bad_matlab(self):
        matrix = scipy.sparse.csc_matrix(numpy.array([[1.5, 0, 0], [0, -2.5, 3.5]]))
        for compressed in False, True:
            scipy.io.savemat(self.path("a.mat"), {"A": matrix}, do_compression=compressed)
            with open(self.path("a.mat"), "rb") as file:
                data = file.read()
            for length in range(129, len(data), 7):
                self.save("cut.mat", data[:length])
                self.refused("cut.mat", "cut.mat: found ")
        scipy.io.savemat(self.path("a.mat"), {"A": matrix})
        with open(self.path("a.mat"), "rb") as file:
            data = file.read()
        at = data.index(struct.pack("<4i", 0, 1, 2, 3))
        self.save("b.mat", data[:at], struct.pack("<4i", 0, 2, 1, 3), data[at + 16:])
        self.refused("b.mat", f"found jc[2] (byte {at + 8}) that is 1, expected 2 to 3")
        at = data.index(struct.pack("<2i", 2, 3))
        self.save("b.mat", data[:at], struct.pack("<2i", 1, 3), data[at + 8:])
        self.refused("b.mat", "found ir[1] (byte ")

    # ---- HDF5: MATLAB 7.3, Binsparse, AnnData

    def package(self, *names):
        """Modules that are not installed everywhere, and HDF5 for spmv."""
        if "hdf5" not in self.spmv("-V", "-v"):
            self.skipTest("built without HDF5: libhdf5-dev")
        try:
            return [importlib.import_module(name) for name in names]
        except ImportError as error:
            self.skipTest(f"no {error.name}")

    def matlab_7_3(self, name, variables, **options):
        """A file as MATLAB writes it: a group for each sparse matrix, 64-bit indices, dense arrays transposed."""
        h5py, = self.package("h5py")
        with h5py.File(self.path(name), "w", userblock_size=512) as file:
            for key, matrix in variables.items():
                if scipy.sparse.issparse(matrix):
                    csc = matrix.tocsc()
                    csc.sort_indices()
                    group = file.create_group(key)
                    group["jc"] = csc.indptr.astype("u8")
                    if csc.nnz:
                        group.create_dataset("data", data=csc.data, **options)
                        group.create_dataset("ir", data=csc.indices.astype("u8"), **options)
                    group.attrs["MATLAB_sparse"] = numpy.uint64(csc.shape[0])
                    group.attrs["MATLAB_class"] = numpy.bytes_("logical" if csc.data.dtype == "u1" else "double")
                else:
                    file[key] = numpy.asarray(matrix).T
                    file[key].attrs["MATLAB_class"] = numpy.bytes_("double")
        with open(self.path(name), "r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Mon Jan  1 00:00:00 2024 HDF5 schema 1.00 .".ljust(124) + b"\0\2IM")

    def test_matlab_7_3(self):
        for matrix in matrices():
            for options in {}, {"compression": "gzip", "shuffle": True} if matrix.nnz else {}:
                self.matlab_7_3("a.mat", {"A": matrix, "x": numpy.arange(8.0).reshape(4, 2)}, **options)
                self.same(self.read("a.mat"), matrix)
                self.same(self.read("a.mat:x").toarray() + 1, numpy.arange(8.0).reshape(4, 2) + 1)
        self.matlab_7_3("a.mat", {"A": scipy.sparse.csc_matrix(numpy.eye(3, dtype="u1"))})
        self.same(self.read("a.mat"), numpy.eye(3))
        x = numpy.arange(1.0, 301) / 7
        self.matlab_7_3("a.mat", {"A": scipy.sparse.identity(300, format="csc"), "x": x[:, None]})
        self.spmv("-m", "a.mat", "-k", "omp:csr0", "-x", "a.mat", "-y", "y.f64", "--no-log", "-n1")
        numpy.testing.assert_array_equal(numpy.fromfile(self.path("y.f64")), x)

    def test_hdf5storage(self):
        hdf5storage, = self.package("hdf5storage")
        dense = numpy.arange(6.0).reshape(2, 3) + 0.5
        hdf5storage.savemat(self.path("a.mat"), {"D": dense}, format="7.3", oned_as="column")
        self.same(self.read("a.mat:D"), dense)

    def test_binsparse(self):
        binsparse, conversions = self.package("binsparse", "binsparse.conversions.scipy")
        for matrix in matrices():
            for form in "csr", "csc", "coo":
                for name in "a.h5", "a.npz":
                    binsparse.save_binsparse(conversions.from_scipy(scipy.sparse.csr_array(matrix).asformat(form)), self.path(name))
                    self.same(self.read(name), matrix)
            ones = scipy.sparse.csr_array(matrix)
            ones.data = numpy.broadcast_to(numpy.array([2.5]), ones.data.shape)
            binsparse.save_binsparse(conversions.from_scipy(ones), self.path("iso.h5"))
            self.same(self.read("iso.h5"), (matrix != 0) * 2.5)
        x = numpy.arange(1.0, 13) / 7
        binsparse.save_binsparse(importlib.import_module("binsparse.conversions.numpy").from_numpy(x), self.path("x.h5"))
        scipy.sparse.save_npz(self.path("A.npz"), scipy.sparse.identity(12, format="csr"))
        self.spmv("-m", "A.npz", "-k", "omp:csr0", "-x", "x.h5", "-y", "y.f64", "--no-log", "-n1")
        numpy.testing.assert_array_equal(numpy.fromfile(self.path("y.f64")), x)

    def test_binsparse_written(self):
        binsparse, conversions = self.package("binsparse", "binsparse.conversions.scipy")
        for matrix in self.written():
            self.convert("a.mtx", "b.h5")
            self.same(conversions.to_scipy(binsparse.load_binsparse(self.path("b.h5"))), matrix)
            self.same(self.read("b.h5"), matrix)

    def binsparse(self, name, header, **arrays):
        """A Binsparse file with any descriptor: binsparse 0.1.4 writes no structure."""
        header = {"version": "0.1", "format": "COO", "shape": [3, 3], "number_of_stored_values": 2, "data_types": {
            key: {"float64": "float64", "int64": "int64", "uint8": "bint8"}[str(value.dtype)] for key, value in arrays.items()}, **header}
        text = json.dumps({"binsparse": header})
        if name.endswith("npz"):
            numpy.savez(self.path(name), binsparse=text, **arrays)
            return
        h5py, = self.package("h5py")
        with h5py.File(self.path(name), "w") as file:
            file.attrs["binsparse"] = text
            for key, value in arrays.items():
                file[key] = value

    def test_binsparse_structures_and_types(self):
        arrays = {"indices_0": numpy.array([1, 2]), "indices_1": numpy.array([0, 2]), "values": numpy.array([1.5, 2.5])}
        whole = scipy.sparse.coo_matrix((arrays["values"], (arrays["indices_0"], arrays["indices_1"])), (3, 3)).toarray()
        half = numpy.tril(whole, -1).T
        for name in "a.npz", "a.h5":
            for structure, expected in (("general", whole), ("symmetric_lower", whole + half), ("hermitian_lower", whole + half)):
                self.binsparse(name, {"structure": structure}, **arrays)
                self.same(self.read(name), expected)
            self.binsparse(name, {"format": "COOC"}, **arrays)
            self.same(self.read(name), whole.T)
            self.binsparse(name, {}, **{**arrays, "values": numpy.array([1, 255], "u1")})
            self.same(self.read(name), whole != 0)
            for header, text in (({"format": "DCSR"}, "found the Binsparse format 'DCSR', expected CSR, CSC, COO"), ({"structure": "odd"}, "structure 'odd'"),
                                 ({"fill": True}, "with a fill value"), ({"shape": [3]}, "without 'shape'"), ({"number_of_stored_values": "x"}, "without 'shape'"),
                                 ({"shape": [2, 3]}, "found indices_0[1]"), ({"data_types": {}}, "without the type of indices_0"),
                                 ({"shape": [2**40, 3]}, "found '1099511627776' as the number of rows"),
                                 ({"data_types": {"indices_0": "int64", "indices_1": "int64", "values": "complex[float64]"}}, "complex values are not supported")):
                self.binsparse(name, header, **arrays)
                self.refused(name, text)

    def test_anndata(self):
        h5py, = self.package("h5py")
        matrix = next(matrices())
        for form, kind in ("csr", "csr_matrix"), ("csc", "csc_matrix"):
            with h5py.File(self.path("a.h5ad"), "w") as file:
                for key, other in ("X", matrix), ("layers/counts", matrix != 0):
                    group, other = file.create_group(key), other.asformat(form)
                    group["data"], group["indices"], group["indptr"] = other.data.astype("f4" if key == "X" else "i8"), other.indices, other.indptr
                    group.attrs["encoding-type"], group.attrs["shape"] = kind, other.shape
                file["obs"] = numpy.arange(3)
            self.same(self.read("a.h5ad:X"), matrix.astype("f4"))
            self.same(self.read("a.h5ad:layers/counts"), matrix != 0)

    def test_bad_hdf5(self):
        h5py, = self.package("h5py")
        good = {"jc": numpy.array([0, 1, 2], "u8"), "ir": numpy.array([0, 2], "u8"), "data": numpy.array([1.0, 2.0])}

        def save(rows=3, **change):
            with h5py.File(self.path("a.h5"), "w") as file:
                group = file.create_group("A")
                group.attrs["MATLAB_sparse"] = numpy.uint64(rows)
                for key, value in {**good, **change}.items():
                    if value is not None:
                        group[key] = value
        for change, text in (({"ir": numpy.array([0, 3], "u8")}, "found ir[1] that is 3, expected 0 to 2"), ({"jc": numpy.array([0, 2, 1], "u8")}, "found jc[2] that is 1"),
                             ({"ir": None}, "found no 'ir' in A"), ({"rows": 2**40}, "found '1099511627776' as the number of rows"),
                             ({"data": numpy.array([1j, 2])}, "complex values are not supported"), ({"ir": h5py.SoftLink("/A/jc")}, "a link that may point outside"),
                             ({"ir": h5py.ExternalLink("other.h5", "/ir")}, "a link that may point outside"), ({"ir": numpy.array(["a", "b"], "S1")}, "ir of elements of another type")):
            save(**change)
            self.refused("a.h5", text)
        save()
        with h5py.File(self.path("a.h5"), "r+") as file:  # a complex variable beside a real one
            file.copy("A", "Z")
            del file["Z/data"]
            file["Z/data"] = numpy.array([1j, 2])
        self.same(self.read("a.h5"), [[1, 0], [0, 0], [0, 2]])
        self.refused("a.h5:Z", "found Z of complex values")
        save(data=None)
        with h5py.File(self.path("a.h5"), "r+") as file:
            file["A"].create_dataset("data", (2**40,), "f8", chunks=(1024,))
        self.refused("a.h5", "found data of 1099511627776 elements in 0 stored bytes: is the file cut short?")
        save(data=None)
        with h5py.File(self.path("a.h5"), "r+") as file:
            file["A"].create_dataset("data", (2,), "f8", external=[("/etc/passwd", 0, 16)])
        self.refused("a.h5", "found data, which points outside of the file")
        save(data=None)
        layout = h5py.VirtualLayout((2,), "f8")
        layout[:] = h5py.VirtualSource("other.h5", "x", (2,))
        with h5py.File(self.path("a.h5"), "r+") as file:
            file["A"].create_virtual_dataset("data", layout)
        self.refused("a.h5", "found data, which points outside of the file")
        with h5py.File(self.path("a.h5"), "w") as file:
            file["A"] = h5py.ExternalLink("other.h5", "/A")
        self.refused("a.h5", "it holds A: 0 x 0 a link that may point outside of the file")
        save()
        with open(self.path("a.h5"), "rb") as file:
            data = file.read()
        for length in range(9, len(data), 499):
            self.save("cut.h5", data[:length])
            self.refused("cut.h5", "cut.h5: found ")

    # ---- Rutherford-Boeing

    RUA = ("A title".ljust(72) + "KEY     \n             4             1             1             2\n{type}"
           "                        3             3             3             0\n{forms}\n{rest}")

    def boeing(self, kind, values, rest, pointers="(4I10)", indices="(3I10)"):
        text = self.RUA.format(type=kind, forms=f"{pointers:16}{indices:16}{values:20}", rest=rest)
        self.save("a.rb", text.encode())

    def test_rutherford_boeing(self):
        """Exponents with D, without a letter, scale factors, a point that is not written, fields that touch, blank lines' ends."""
        lower, where = numpy.array([[0.5, 0, 0], [-0.25, 0, 0], [0, 125, 0]]), "         1         3         4         4\n         1         2         3\n"
        for values, text in (("(2D12.5)", " 5.00000D-01-2.50000D-01\n 1.25000D+02"), ("(3E10.3)", " 5.000E-01-2.500E-01 1.250E+02"),
                             ("(1P,3E10.3)", " 5.000E-01-2.500E-01 1.250E+02"), ("(1P3E10.3)", " 5.000E-01-2.500E-01 1.250E+02"),
                             ("(3F6.2)", "  0.50 -0.25125.00"), ("(2PF8.2,2F8.2)", "   50.00  -25.00\n"), ("(3F6.2)", "    50   -25 12500"),
                             ("(3E12.4)", "  0.5000+000 -2.500-1   0.1250E+003"), ("(3(1X,F7.3))", "   0.500  -0.250 125.000"),
                             ("(3D30.4)", "0.5 -0.25 125.")):
            if "2PF" in values:
                values, text = "(2P,3F9.2)", "    50.00   -25.00 12500.00"
            for ends in "\n", "\r\n":
                self.boeing("RUA", values, (where + text + "\n").replace("\n", ends))
                numpy.testing.assert_array_equal(self.read("a.rb").toarray(), lower, err_msg=values)
        for kind, expected in (("rsa", lower + numpy.tril(lower, -1).T), ("rza", None), ("rra", lower)):
            if expected is not None:
                self.boeing(kind, "(3E10.3)", where + " 5.000E-01-2.500E-01 1.250E+02\n")
                self.same(self.read("a.rb"), expected)
        below = "         1         2         3         3\n         2         3\n -2.500E-01 1.250E+02\n"
        text = self.RUA.format(type="rza", forms="(4I10)          (3I10)          (3E11.3)            ", rest=below)
        self.save("a.rb", text.replace("             3             0\n(", "             2             0\n(").encode())
        skew = numpy.array([[0, 0.25, 0], [-0.25, 0, -125], [0, 125, 0]])
        self.same(self.read("a.rb"), skew)
        self.boeing("iua", "(3I5)", where + "    7   -8    9\n")
        self.same(self.read("a.rb"), [[7, 0, 0], [-8, 0, 0], [0, 9, 0]])
        self.assertIn(",integer,", self.spmv("info", "a.rb", "--format=csv"))
        self.save("a.rb", self.RUA.replace("1             2\n", "1             0\n").format(type="pua", forms="(4I10)          (3I10)          ", rest=where).encode())
        self.same(self.read("a.rb"), lower != 0)
        with tarfile.open(self.path("a.tar.gz"), "w:gz") as archive:
            archive.add(self.path("a.rb"), "a/a.rb")
        self.same(self.read("a.tar.gz"), lower != 0)

    def test_bad_rutherford_boeing(self):
        where, values = "         1         3         4         4\n         1         2         3\n", " 5.000E-01-2.500E-01 1.250E+02\n"
        for kind, rest, text in (("cua", where + values, "found a complex matrix, expected real, integer or pattern"),
                                 ("rue", where + values, "elements that are not assembled"), ("rua", where, "found the end of the file after 0 of 3 values"),
                                 ("rua", "         1         3         2         4\n         1         2         3\n" + values, "found column pointers[2] that is 2"),
                                 ("rua", where.replace("         2         3\n", "         2         4\n") + values, "found row indices[2] that is 4, expected 1 to 3"),
                                 ("rua", where.replace("         2         3\n", "         2         x\n") + values, "found 'x' in line 6, expected an integer"),
                                 ("rua", where + values.replace("-2.500E-01", "-2.5zzE-01"), "in line 7, expected a number")):
            self.boeing(kind, "(3E10.3)", rest)
            self.refused("a.rb", text)
        self.boeing("rua", "(3E10.3)", (where + values)[:-3])
        self.refused("a.rb", "found line 7 of 28 characters and without an end, expected 30: is the file cut short?")
        for form in ("(3E10.4294967299)", "(10000003E10.3)", "(3E4294967306.3)", "(99999(99999(99999(3E10.3))))", "(9999999X,3E10.3)"):
            self.boeing("rua", form, where + values)  # numbers that no format has, small ones modulo 2^32
            self.refused("a.rb", "a.rb:1")
        self.save("a.rb", self.RUA.replace("             3             3             3", "             3   99999999999             3").format(
            type="rua", forms="(4I10)          (3I10)          (3E10.3)            ", rest=where + values).encode())
        self.refused("a.rb", "found 99999999999 columns and 3 entries in a file of")

    def test_harwell_boeing_of_scipy(self):
        """hb_write writes fields of 24 characters, and says that they have 25; it cannot read back itself what touches."""
        for matrix in matrices():
            if matrix.nnz:
                scipy.io.hb_write(self.path("a.rua"), matrix.tocsc())
                self.same(self.read("a.rua"), matrix)

    def test_harwell_boeing_of_all_kinds(self):
        triangle = numpy.array([[0.97222222222222220989, 0, 0], [-0.52777777777777779011, 0, 0], [0, 0.027777777777777776236, 0]])
        for kind, whole in (("RUA", triangle), ("rra", triangle), ("RSA", triangle + numpy.tril(triangle, -1).T),
                            ("RZA", triangle - numpy.tril(triangle, -1).T)):
            for values in BOEING_VALUES:
                text = BOEING.format(values[0], values[1], type=kind) if values else HARWELL.format(type=kind)
                rutherford = text.replace("             1             1\n", "             1\n").replace("F                          1             0\n", "")
                for form in {text, rutherford}:
                    with self.subTest(form):
                        self.save("a.rua", form.encode())
                        self.same(self.read("a.rua"), whole)
        pattern = HARWELL.format(type="PUA").splitlines(True)
        self.save("a.pua", "".join([pattern[0], pattern[1].replace("2\n", "0\n"), pattern[2], "(4I10)          (3I10)\n", *pattern[4:6]]).encode())
        self.same(self.read("a.pua"), triangle != 0)

    def test_harwell_boeing_with_pointers_that_touch(self):
        n = 120
        counts = numpy.concatenate([[1], 1 + numpy.arange(1, n + 1) * n]).astype(int)
        lines = lambda numbers, w, each: "".join("".join(f"{k:{w}}" for k in numbers[a:a + each]) + "\n" for a in range(0, len(numbers), each))
        pointers, indices = lines(counts, 5, 16), lines(list(range(1, n + 1)) * n, 3, 26)
        self.save("a.pua", f"A title\n{0:14}{pointers.count(chr(10)):14}{indices.count(chr(10)):14}{0:14}\n"
                           f"PUA           {n:14}{n:14}{n * n:14}{0:14}\n(16I5)          (26I3)\n{pointers}{indices}".encode())
        self.same(self.read("a.pua"), numpy.ones((n, n)))

    def test_harwell_boeing_by_scipy(self):
        """Whose own hb_read does not read all of these: fields touch, and are narrower than the format says."""
        for numbers in ([1 / 3, 2 / 7], [-1 / 3, 2], [-1e-300, 3], [1e100, 1], [-1.5, -2.5e-310], [1, 2], [-1e100, 1 / 3], [5e-324, -1]):
            for kind in "f8", "f4", "i4":
                for count in 1, 4, 11:
                    dense = numpy.diag(numpy.resize(numpy.array(numbers), count)).clip(-2e9, 2e9).astype(kind)
                    dense[0, 0] += dense[0, 0] == 0
                    scipy.io.hb_write(self.path("a.rua"), scipy.sparse.csc_matrix(dense))
                    with self.subTest(numbers=numbers, kind=kind, count=count):
                        self.same(self.read("a.rua").astype(kind), dense)

    def test_rutherford_boeing_of_rbio(self):
        program = self.path("rbwrite")
        with open(program + ".c", "w", encoding="utf-8") as file:
            file.write(RBWRITE)
        if subprocess.run(["gcc", "-w", "-I/usr/include/suitesparse", program + ".c", "-o", program, "-lrbio"], check=False, capture_output=True).returncode:
            self.skipTest("no RBio: libsuitesparse-dev")
        for matrix in matrices():
            square = matrix[:, :matrix.shape[0]] if matrix.shape[1] >= matrix.shape[0] else None
            for other in (matrix, square + square.T, square - square.T) if square is not None and matrix.nnz > 1 else ():
                csc = scipy.sparse.csc_matrix(other)
                csc.sort_indices()
                numbers = [*csc.shape, csc.nnz, *csc.indptr, *csc.indices, *(float(x).hex() for x in csc.data)]
                self.save("a.txt", " ".join(map(str, numbers)).encode())
                subprocess.run([program, self.path("a.txt"), self.path("a.rb")], check=True)
                self.same(self.read("a.rb"), csc)

    # ---- R

    def test_matrix_market_of_r(self):
        """R writes 16 digits, and no 0 in front of the point; SciPy reads the same file."""
        if not shutil.which("Rscript"):
            self.skipTest("no Rscript: r-base-core, r-cran-matrix")
        for matrix in self.written():
            if matrix.nnz < 2:
                continue
            self.convert("a.mtx", "ours.mtx")
            done = subprocess.run(["Rscript", "--vanilla", "-e", R_PROGRAM], check=False, capture_output=True, text=True, cwd=self.folder)
            if "no package called" in done.stderr:
                self.skipTest("R has no Matrix: r-cran-matrix")
            self.assertEqual(done.returncode, 0, done.stderr)
            for name in "general.mtx", "symmetric.mtx", "pattern.mtx":
                self.same(self.read(name), scipy.io.mmread(self.path(name)))
            with open(self.path("read.txt"), encoding="utf-8") as file:
                entries = [line.split() for line in file]
            read = scipy.sparse.coo_matrix(([float.fromhex(x) for _, _, x in entries], ([int(i) for i, _, _ in entries], [int(j) for _, j, _ in entries])),
                                           matrix.shape)
            numpy.testing.assert_allclose(canonical(read).data, canonical(matrix).data, rtol=1e-15)

    # ---- ranks, transposes, Python, info

    def test_transpose_info_and_python(self):
        matrix = next(matrices())
        scipy.sparse.save_npz(self.path("a.npz"), matrix.tocsc())
        x = numpy.arange(1.0, matrix.shape[0] + 1)
        numpy.save(self.path("x.npy"), x)
        self.spmv("-m", "a.npz", "-T", "-k", "omp:csr0", "-x", "x.npy", "-y", "y.f64", "--no-log", "-n1")
        numpy.testing.assert_allclose(numpy.fromfile(self.path("y.f64")), matrix.T @ x)
        scipy.io.savemat(self.path("b.mat"), {"A": matrix, "x": x, "s": {"a": 1}})
        out = self.spmv("info", "b.mat")
        self.assertIn(f"  holds A: 12 x 16 sparse, {matrix.nnz} entries\n  holds x: 1 x 12 dense, 12 entries\n  holds s: 1 x 1 a structure\n", out)
        library = os.path.join(os.path.dirname(SPMV), "libspmv.so")
        if not os.path.exists(library):
            self.skipTest("no libspmv.so beside the program")
        program = "import spmv, sys, numpy; A = spmv.matrix(sys.argv[1]); numpy.save('y.npy', A @ numpy.arange(1.0, 17)); print(A.nnz)"
        env = {**os.environ, "SPMV_LIBRARY": library, "PYTHONPATH": os.path.join(HERE, "..", "..", "src", "bindings", "python")}
        for name in "a.npz", "b.mat:A":
            subprocess.run([sys.executable, "-c", program, name], check=True, capture_output=True, cwd=self.folder, env=env)
            numpy.testing.assert_allclose(numpy.load(self.path("y.npy")), matrix @ numpy.arange(1.0, 17))
        bad = subprocess.run([sys.executable, "-c", program, "b.mat:B"], check=False, capture_output=True, text=True, cwd=self.folder, env=env)
        self.assertIn("b.mat: found no 'B' in a MATLAB file: it holds A: 12 x 16 sparse", bad.stderr)

    # ---- what is wrong

    def test_bad_archives(self):
        good = {"format": b"csr", "shape": [2, 3], "indptr": [0, 1, 2], "indices": [0, 2], "data": [1.0, 2.0]}
        for change, text in (({"indices": [0, 3]}, "found indices[1] (byte "), ({"indices": [-1, 2]}, "that is -1, expected 0 to 2"),
                             ({"indptr": [0, 2, 1]}, "found indptr[2] (byte "), ({"indptr": [1, 1, 2]}, "that is 1, expected 0 to 0"),
                             ({"indptr": [0, 1, 3]}, "that is 3, expected 1 to 2"), ({"indptr": [0, 1]}, "found 2 elements of indptr, expected 3"),
                             ({"shape": [2**40, 3]}, "found '1099511627776' as the number of rows, expected at most 2147483647"),
                             ({"shape": [-2, 3]}, "found '-2' as the number of rows"), ({"shape": [2]}, "a shape of 1 numbers"),
                             ({"format": b"xyz"}, "a SciPy matrix of the form 'xyz'"), ({"data": [1j, 2j]}, "complex values are not supported"),
                             ({"data": numpy.array([None, 1])}, "objects are never unpickled"), ({"indices": [0.0, 1.0]}, "no integers"),
                             ({"data": ["a", "b"]}, "data of elements of another type"), ({"data": [[1.0, 2.0]]}, "data of 2 dimensions")):
            for save in numpy.savez, numpy.savez_compressed:
                save(self.path("a.npz"), **{**good, **change})
                self.refused("a.npz", text)
        numpy.savez_compressed(self.path("a.npz"), **good)
        with open(self.path("a.npz"), "rb") as file:
            data = file.read()
        for length in range(40, len(data), 97):
            self.save("cut.npz", data[:length])
            self.refused("cut.npz", "cut.npz: found ")
        at = data.index(b"indices.npy") + 60
        self.save("bad.npz", data[:at], bytes([data[at] ^ 4]), data[at + 1:])
        self.refused("bad.npz", "bad.npz: found ")

    def test_limit_of_what_is_unpacked(self):
        numpy.savez_compressed(self.path("a.npz"), format=b"csr", shape=[2, 3], indptr=[0, 1, 2], indices=[0, 2], data=numpy.zeros(10**6))
        said = self.spmv("info", "a.npz", "--max-unpacked=1M", code=65)
        self.assertIn("a.npz: data: it unpacks to more than the limit of 1000000 bytes", said)


if __name__ == "__main__":
    unittest.main()
