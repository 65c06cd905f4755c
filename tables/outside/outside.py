"""The outside set: what a family's file is made of, and what is recorded of a matrix."""
import dataclasses
import functools
import hashlib
import importlib.util
import os
import pathlib
import typing

HERE = pathlib.Path(__file__).resolve().parent
LIST = HERE / "outside.csv"
SIZES = ("small", "medium", "large")
L2_B = 63e6  # L2 cache of an H200, bytes: 60 MiB
LARGE_B = 200e6
HALVES = ("tune", "held-out")

LINE_B = 64  # cache line, bytes
ENTRY_B = 12  # that a product in f64 streams for an entry: the value and its column
L1_B = 256 << 10  # L1 cache of an H200's multiprocessor, bytes
WINDOW = 1 << 13  # entries, as src/app/run/limits/limits.c samples
MOST_WINDOWS = 256


@dataclasses.dataclass
class Matrix:
    """One matrix: make() returns it as a scipy.sparse matrix, with packages imported inside. `origin` names the package
    and the kind of problem, such as "pyamg coarse operators"."""
    name: str
    origin: str
    make: typing.Callable
    size: str
    family: str = ""  # from the file's name
    inputs: typing.Callable = None  # what is made once, with a package too large to carry: arrays by name, given to make()


COLUMNS = ("name", "family", "origin", "rows", "cols", "nnz", "csr_B", "size", "distinct", "x_jumps", "gather", "half",
           "pattern_hash", "values_hash", "draw")
WHOLE = ("rows", "cols", "nnz", "csr_B", "distinct")


FAMILIES = HERE / "families"


@functools.cache
def module(name):
    """A family's file, for the others: some matrices are made of others."""
    spec = importlib.util.spec_from_file_location(f"outside_{name}", FAMILIES / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def families():
    """Every Matrix of every family's file, sorted by file and in its order."""
    loaded = [module(path.stem) for path in sorted(FAMILIES.glob("[a-z]*.py"))]
    return [dataclasses.replace(matrix, family=one.FAMILY) for one in loaded for matrix in one.MATRICES]


def cache():
    return pathlib.Path(os.environ.get("SPMV_OUTSIDE") or pathlib.Path.home() / ".cache/spmv/outside")


def csr_bytes(rows, nnz):
    return 12 * nnz + 4 * rows


def size_of(csr_B):
    """The size class; None for what lies between three times the L2 and 200 MB."""
    if csr_B < L2_B:
        return "small"
    if csr_B <= 3 * L2_B:
        return "medium"
    return "large" if csr_B >= LARGE_B else None


def gathers(cols, x_jumps):
    """Bound by gathers: the lines of x that are not near those read lately are more bytes than the entries, and x is
    larger than an L1."""
    return x_jumps * LINE_B > ENTRY_B and 8 * cols > L1_B


def split(n, shares, share):
    return share * (n // shares) + min(share, n % shares)


def x_jumps(col, cols):
    """The sampled share of entries whose cache line of x is neither among those that the entries before read (4096 to
    8192 of them) nor beside one: the program's matrix.x_jumps, counted as src/app/run/limits/limits.c does."""
    import numpy
    windows = min(max(len(col) // WINDOW, 1), MOST_WINDOWS)
    never = numpy.iinfo(numpy.int64).max
    first = numpy.full(cols // 8 + 3, never)  # where a line was read first; line -1 is at 0
    jumps = looked_at = 0
    for window in range(windows):
        begin, end = split(len(col), windows, window), split(len(col), windows, window + 1)
        line = col[begin:min(end, begin + WINDOW)].astype(numpy.int64) // 8 + 1
        where = numpy.arange(len(line))
        first[line[::-1]] = where[::-1]
        near = (first[line] < where) | (first[line - 1] < where) | (first[line + 1] < where)
        jumps += int(numpy.count_nonzero(~near[len(line) // 2:]))
        looked_at += len(line) - len(line) // 2
        first[line] = never
    return jumps / looked_at if looked_at else 0.0


def distinct_values(values, most=257):
    """Counts how many values differ, counted up to `most`."""
    import numpy
    seen = numpy.empty(0, values.dtype)
    for begin in range(0, len(values), 1 << 20):
        seen = numpy.union1d(seen, values[begin:begin + (1 << 20)])
        if len(seen) >= most:
            return most
    return len(seen)


def canonical(matrix):
    """CSR with sorted columns and no duplicates, f64; explicit zeros stay: the program that made the matrix stored them."""
    import numpy
    import scipy.sparse
    matrix = scipy.sparse.csr_matrix(matrix)
    matrix.sum_duplicates()
    if matrix.data.dtype != numpy.float64:
        matrix.data = matrix.data.astype(numpy.float64)
    return matrix


def digest(*arrays):
    import numpy
    sha = hashlib.sha256()
    for array, kind in arrays:
        for begin in range(0, len(array), 1 << 22):
            sha.update(numpy.ascontiguousarray(array[begin:begin + (1 << 22)], kind).data)
    return sha.hexdigest()[:16]


def describe(made, matrix):
    """The row of the list for a canonical matrix, without its half. The hash of the values may differ where another CPU
    or BLAS rounds otherwise; that of the pattern should not."""
    rows, cols = matrix.shape
    nnz = int(matrix.nnz)
    jumps = round(x_jumps(matrix.indices, cols), 4)
    return {"name": made.name, "family": made.family, "origin": made.origin, "rows": rows, "cols": cols, "nnz": nnz,
            "csr_B": csr_bytes(rows, nnz), "size": made.size, "distinct": distinct_values(matrix.data), "x_jumps": jumps,
            "gather": "yes" if gathers(cols, jumps) else "no",
            "pattern_hash": digest(([rows, cols], "<i8"), (matrix.indptr, "<i8"), (matrix.indices, "<i8")),
            "values_hash": digest((matrix.data, "<f8"))}


def with_halves(rows):
    """Rows sorted by family, size and the sha256 of the name; of those drawn together every second one is held out. Rows
    without a draw are drawn now, so that what is there already keeps its half."""
    def key(row):
        return (row["family"], SIZES.index(row["size"]), hashlib.sha256(row["name"].encode()).hexdigest())
    rows = sorted(rows, key=key)
    draws = [int(row.get("draw") or 0) for row in rows]
    draws = [draw or max(draws) + 1 for draw in draws]
    places = [draws[:place].count(draw) for place, draw in enumerate(draws)]
    return [{**row, "half": HALVES[place % 2], "draw": draw} for row, draw, place in zip(rows, draws, places)]
