"""Measures the readers of files of other programs on two threads: the second part of make bench-read.

SciPy makes the files, of a grid of SIDE x SIDE x SIDE points that are joined to 26 neighbours; those that are named random
have as many entries in each row, in columns anywhere. A fresh process reads each
once, out of the page cache. Beside that stands `cat FILE >/dev/null`, and for compressed files zlib that inflates the same
bytes to nowhere. They take turns ROUNDS times, and the fastest of each count. The peak of memory is over what the process has
before. Exit status 1 if a bar is missed, 69 without SciPy. SIDE=N: another size."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIBRARY = os.environ.get("SPMV_LIBRARY", str(ROOT / "build/omp/libspmv.so"))
ROUNDS, THREADS = 9, 2
SIDE = int(os.environ.get("SIDE", 84))
MEMORY = 1.1  # fraction of the file's and the matrix's bytes
READER = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from spmv import _library
from spmv._library import lib

def peak(name):
    return 1024 * next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name))

context = _library.create(lib.spmv_ctx_create, None, _library.ContextOptions(backend=b"omp", threads=int(sys.argv[3])))
before = peak("VmRSS:")
start = time.perf_counter()
_library.create(lib.spmv_mat_load, context, context, os.fsencode(sys.argv[2]), None)
print(time.perf_counter() - start, peak("VmHWM:") - before)
"""


def ours(path):
    """Seconds and bytes at the peak of one reading."""
    done = subprocess.run([sys.executable, "-c", READER, str(ROOT / "src/bindings/python"), str(path), str(THREADS)], check=True, capture_output=True,
                          text=True, env={**os.environ, "SPMV_LIBRARY": LIBRARY, "OMP_NUM_THREADS": str(THREADS)})
    seconds, memory = done.stdout.split()
    return float(seconds), float(memory)


def timed(call, *arguments):
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def cat(path):
    with open(os.devnull, "wb") as nowhere:
        subprocess.run(["cat", path], check=True, stdout=nowhere)


def inflate(path):
    """The deflated members of an archive, inflated piece by piece into one buffer."""
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        for member in archive.infolist():
            file.seek(member.header_offset + 26)
            lengths = file.read(4)
            file.seek(int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little"), os.SEEK_CUR)
            stream, left = zlib.decompressobj(-15), member.compress_size
            while left > 0:
                piece = file.read(min(left, 1 << 17))
                left -= len(piece)
                stream.decompress(piece)


def random_columns(matrix, numpy, scipy):
    """A matrix of 27 entries in each row, each anywhere in its 27th of the columns, with values of another."""
    rows, each = matrix.shape[0], 27
    width = rows // each
    columns = width * numpy.arange(each, dtype="i4") + numpy.random.default_rng(2).integers(width, size=(rows, each), dtype="i4")
    values = numpy.resize(matrix.data, rows * each)
    return scipy.sparse.csr_matrix((values, columns.ravel(), numpy.arange(0, rows * each + 1, each, dtype="i4")), matrix.shape)


def make_files(folder, numpy, scipy):
    """Yields name, what it is compared with, the bar, SciPy's reader or None, and bytes of the matrix."""
    line = scipy.sparse.diags([numpy.ones(SIDE - abs(k)) for k in (-1, 0, 1)], [-1, 0, 1])
    matrix = scipy.sparse.csr_matrix(scipy.sparse.kron(line, scipy.sparse.kron(line, line)))
    matrix.data = numpy.random.default_rng(1).standard_normal(matrix.nnz)
    rows = matrix.shape[0]
    size = 12 * matrix.nnz + 8 * (rows + 1)
    load = scipy.sparse.load_npz
    scipy.sparse.save_npz(folder / "csr.npz", matrix, compressed=False)
    yield "csr.npz", cat, 0.5, load, size
    with open(folder / "a.petsc", "wb") as file:
        for kind, part in (">i4", [1211216, rows, rows, matrix.nnz]), (">i4", numpy.diff(matrix.indptr)), (">i4", matrix.indices), (">f8", matrix.data):
            file.write(numpy.asarray(part).astype(kind).tobytes())
    yield "a.petsc", cat, 0.5, None, size
    scipy.sparse.save_npz(folder / "packed.npz", matrix)
    yield "packed.npz", inflate, 0.8, load, size
    other = random_columns(matrix, numpy, scipy)
    for kind, limit in ("csr", 0.5), ("csc", 0.25):
        scipy.sparse.save_npz(folder / f"random-{kind}.npz", other.asformat(kind), compressed=False)
        yield f"random-{kind}.npz", cat, limit, load, size + 12 * (other.nnz - matrix.nnz)
    matrix = matrix.tocsc()
    scipy.sparse.save_npz(folder / "csc.npz", matrix, compressed=False)
    yield "csc.npz", cat, 0.25, load, size
    scipy.io.savemat(folder / "csc.mat", {"A": matrix})
    yield "csc.mat", cat, 0.25, scipy.io.loadmat, size


def bar(what, measured, limit, at_least):
    met = measured >= limit if at_least else measured <= limit
    print(f"  bar: {what:58} {measured:8.3f}, at {'least' if at_least else 'most'} {limit:5.2f}: {'met' if met else 'MISSED'}", flush=True)
    return not met


def measure(path, other, limit, scipys, size):
    """Prints a file's lines; returns how many bars are missed."""
    theirs, readings = zip(*((timed(other, path), ours(path)) for _ in range(ROUNDS)))
    seconds, peak = min(reading[0] for reading in readings), max(reading[1] for reading in readings)
    length = path.stat().st_size
    print(f"{path.name}: {1e-6 * length:.0f} MB, {1e-6 * length / seconds:.0f} MB/s of the file"
          + (f"; SciPy {1e-6 * length / timed(scipys, path):.0f} MB/s" if scipys else ""))
    name = f"{path.name}: speed over {'zlib alone' if other is inflate else 'cat'}"
    return bar(name, min(theirs) / seconds, limit, True) + bar(f"{path.name}: peak of memory over file and matrix", peak / (length + size), MEMORY, False)


def main():
    try:
        import numpy
        import scipy.io
        import scipy.sparse
    except ImportError as error:
        print(f"files.py: {error}", file=sys.stderr)
        return 69
    missed = 0
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        for name, *about in make_files(pathlib.Path(folder), numpy, scipy):
            missed += measure(pathlib.Path(folder, name), *about)
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
