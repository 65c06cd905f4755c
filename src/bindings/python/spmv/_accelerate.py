"""spmv.accelerate(): the library computes products of scipy.sparse on the matrices' own arrays.

The content of the arrays is not cached: a plan reads values, indices and offsets in every product (SPMV_VOLATILE in spmv.h).
A plan is identified by the addresses, sizes and types of the arrays, which are compared in every product. So a plan is correct
for any content, and arrays that were replaced, resized or freed get another plan. Matrices are not modified."""
import collections
import ctypes
import functools
import operator
import os
import threading
import time
import weakref
from _thread import start_new_thread
from numbers import Real

import numpy as np
import scipy.sparse as sparse

from . import _library, _locks
from ._library import ROWS, VOLATILE, Call, lib
from ._plan import PRECISIONS, numbers, truth, when_gone
from ._results import empty

THRESHOLD = 8_000_000  # entries that SciPy multiplies in the time in which a plan is made, some milliseconds. The first half is
# only counted, the second half is also timed
SMALL = 1 << 15  # entries: SciPy completes smaller products before threads would have started
MOST_PLANS, MOST_COUNTED = 256, 4096
MOST_ROOM = 1 << 28  # maximum bytes kept for copies of operands in another order
PART = 1 << 22  # bytes of such a copy per thread: copying these takes a millisecond or more
FEW, WINDOW, REST = 8, 32, 25  # products per comparison with SciPy, the first and later ones; thresholds that SciPy then multiplies
METHODS = ("_matmul_vector", "_mul_vector"), ("_matmul_multivector", "_mul_multivector")  # names since SciPy 1.11; before

where, now = ctypes.addressof, time.perf_counter
why = collections.Counter()  # products that SciPy computed, by reason
ran = [0]  # products that the library computed


def told():
    """Returns the number of products by the library, and the numbers by SciPy for each reason."""
    counted = {"small": plans.few, "not yet worth it": why["not yet worth it"] + plans.early}
    return ran[0], {reason: count for reason, count in {**why, **counted}.items() if count}


# ---- matrices ----------------------------------------------------------------------------------------------------------

index_arrays = {np.ndarray}  # types of index arrays; CuPy's type is added when CuPy is used


BITS = {np.dtype(np.int32): 32, np.dtype(np.int64): 64}  # widths of index types


def are_indices(*arrays):
    """Returns whether the arrays are one-dimensional, of one index type that the library supports."""
    types = {array.dtype for array in arrays}
    return len(types) == 1 and types <= BITS.keys() and all(type(array) in index_arrays and array.ndim == 1 for array in arrays)


class Compressed:
    """Describes compressed rows or columns to the library."""
    parts = operator.attrgetter("data", "indices", "indptr")

    def __init__(self, by_columns):
        self.by_columns = by_columns

    def arrays(self, shape, data, places, lines):
        """Returns the members of spmv_arrays, without addresses; None: not supported by the library."""
        count = shape[1] if self.by_columns else shape[0]
        if data.ndim == 1 and are_indices(places, lines) and len(lines) == count + 1:
            bits = BITS[lines.dtype]
            return {"nnz": min(len(data), len(places)), "by_columns": self.by_columns, "ptr_bits": bits, "idx_bits": bits}

    @staticmethod
    def addresses(data, places, lines):
        return {"values": data, "idx": places, "ptr": lines}


class Blocks(Compressed):
    def arrays(self, shape, data, places, lines):
        if data.ndim == 3 and are_indices(places, lines) and 0 not in data.shape:
            nblocks, tall, wide = data.shape
            if len(lines) == shape[0] // tall + 1 and shape[0] % tall == 0 and shape[1] % wide == 0:
                bits = BITS[lines.dtype]
                return {"nnz": min(nblocks, len(places)), "block_rows": tall, "block_cols": wide, "ptr_bits": bits, "idx_bits": bits}


class Coordinates:
    @staticmethod
    def parts(A):
        return A.data, A.col, A.row

    @staticmethod
    def arrays(shape, data, places, lines):
        one_row = shape[0] == 1  # SciPy's product may then be a scalar instead of an array
        if data.ndim == 1 and are_indices(places, lines) and len(data) == len(places) == len(lines) and not one_row:
            return {"nnz": len(data), "ptr_bits": 32, "idx_bits": BITS[lines.dtype]}

    @staticmethod
    def addresses(data, places, lines):
        return {"values": data, "idx": places, "line": lines}


FORMATS = {"csr": Compressed(False), "csc": Compressed(True), "bsr": Blocks(False), "coo": Coordinates()}


def classes():
    """Yields SciPy's own classes and their formats; subclasses may behave differently."""
    for name, format in FORMATS.items():
        for kind in "_matrix", "_array":
            if hasattr(sparse, name + kind):
                yield getattr(sparse, name + kind), format


OWN = dict(classes())


# True if products of coordinates with several vectors are in F order, as in SciPy before 1.11
COORDINATES_MAKE_COLUMNS = not (sparse.coo_matrix(np.eye(2)) @ np.eye(2)).flags.c_contiguous


# ---- plans -------------------------------------------------------------------------------------------------------------

@functools.cache
def context_of(_process):
    """The context of this process, kept until its end: creating one takes as long as a plan of a small matrix."""
    return _library.create(lib.spmv_ctx_create, None, _library.ContextOptions(backend=b"omp"))


@functools.cache
def threads_of(process):
    return lib.spmv_ctx_threads(context_of(process))


def in_a_thread(run):
    """Starts a thread; returns a lock that is released at its end. Runs in the caller if no thread can be started, as during the
    interpreter's shutdown. Nothing waits for the thread if a signal handler raises meanwhile, not even the interpreter's exit."""
    ended = threading.Lock()
    ended.acquire()

    def run_and_tell():
        run()
        ended.release()
    try:
        start_new_thread(run_and_tell, ())  # threading.Thread.start is not safe if a signal handler raises
    except RuntimeError:
        run_and_tell()
    return ended


def copy(to, of):
    """Copies with several threads: NumPy uses one, which is slow if the order changes. Each thread copies a share of the rows."""
    parts = max(1, min(threads_of(os.getpid()), of.nbytes // PART))
    cuts = [len(of) * part // parts for part in range(parts + 1)]
    copies = [functools.partial(np.copyto, to[a:b], of[a:b]) for a, b in zip(cuts, cuts[1:])]
    others = [in_a_thread(run) for run in copies[1:]]
    copies[0]()
    for ended in others:
        ended.acquire()


class Seen:
    """State of the arrays of one matrix: a plan, or the reason why there is none. The plan is used while it is faster than SciPy
    was; it may be slower while other processes or threads use the cores."""

    def __init__(self):
        self.work, self.plan, self.runs, self.reason = 0, None, False, None
        self.scipys = {}  # seconds of SciPy's recent products, by number of vectors and C order
        self.count, self.ratios, self.window = 0, 0.0, FEW  # ratios: sum of the library's seconds over SciPy's

    def scipy_took(self, form, seconds):
        before = self.scipys.get(form, seconds)
        self.scipys[form] = before + (seconds - before) / 4

    def library_took(self, form, seconds, rest):
        """Compares products in groups. If a group was slower than SciPy, SciPy multiplies the next `rest` entries."""
        if form not in self.scipys:
            return
        self.count, self.ratios = self.count + 1, self.ratios + seconds / self.scipys[form]
        if self.count == self.window:
            self.window = WINDOW
            if self.ratios > self.count:
                self.runs, self.work, self.window = False, -rest, FEW
            self.count, self.ratios = 0, 0.0

    def decide(self, work, threshold, *arrays):
        """Returns whether the library multiplies: after enough work by SciPy. work: entries of this product; arrays: arguments
        of make."""
        if self.work >= threshold and not self.reason:
            if self.plan is None:
                self.make(*arrays)
            self.runs = self.plan is not None
        self.work += work
        return self.runs

    def why_not(self):
        return self.reason or ("not yet worth it" if self.plan is None else "no faster")

    def make(self, format, shape, dtype, parts, at):
        """Creates the plan, or sets the reason. at: addresses of the arrays."""
        arrays = format.arrays(shape, *parts) if dtype in PRECISIONS else None
        if arrays is None or max(shape) >= 2**31 or at[0] % dtype.itemsize or (at[1] | at[2]) % parts[1].dtype.itemsize:
            self.reason = "types"
            return
        try:
            self.create(shape, dtype, arrays | format.addresses(*at))
        except _library.Error:  # wrong indices or no memory: SciPy reports the error
            self.reason = "refused"

    def create(self, shape, dtype, arrays):
        context, matrix = context_of(os.getpid()), None
        try:
            view = _library.Arrays(rows=shape[0], cols=shape[1], precision=PRECISIONS[dtype], flags=VOLATILE, **arrays)
            matrix = _library.create(lib.spmv_mat_create, context, context, view)
            options = _library.PlanOptions(precision=PRECISIONS[dtype])
            plan = _library.create(lib.spmv_plan_create, context, matrix, options)
        except _library.Error:
            lib.spmv_mat_free(matrix)
            raise
        when_gone(self, lib.spmv_mat_free, matrix)
        when_gone(self, lib.spmv_plan_free, plan)
        self.rows, self.dtype, self.by_coordinates, self.plan = shape[0], dtype, "line" in arrays, plan


def key_of(at, format, shape, data, places, lines):
    """The key of a plan: all properties of the arrays on which it depends, without their content."""
    return at, format, shape, data.shape, places.shape, lines.shape, data.dtype, places.dtype, lines.dtype


class Plans:
    """Plans of all arrays in recent products. `busy` is held during a product: while one thread multiplies, products of other
    threads run in SciPy, since the cores are in use."""

    def __init__(self):
        self.multiplies = None  # thread that holds `busy`, or held it last
        _locks.give(self, "busy")
        self.forget()
        self.threshold = self.small = float("inf")
        self.few = self.early = 0  # products with few entries; early products of a matrix, which are only counted

    def forget(self):
        """Drops all plans. A product in progress keeps the objects that it uses."""
        self.seen = {}
        self.counted = {}  # entries multiplied, by id of the array of values; a reused id does little harm
        self.room = np.empty(0, np.uint8)

    def is_early(self, values, work):
        """Returns whether few entries of this matrix were multiplied so far, and counts this product. values: identity or
        address of its array of values."""
        half = self.threshold // 2
        before = self.counted.get(values, 0)
        if work >= half or before >= half:
            return False
        if len(self.counted) >= MOST_COUNTED:
            self.counted.clear()
        self.counted[values] = before + work
        self.early += 1
        return True

    def contiguous(self, x):
        """Returns x in C order: x itself, or a copy in reused memory."""
        if x.flags.c_contiguous and x.flags.aligned:
            return x
        if x.nbytes > MOST_ROOM:
            return np.require(x, None, "CA")
        room, self.room = self.room, self.room[:0]  # not reused after an exception: threads may still copy into it
        if len(room) < x.nbytes:
            room = np.empty(x.nbytes, np.uint8)
        own = room[:x.nbytes].view(x.dtype).reshape(x.shape)
        copy(own, x)
        self.room = room
        return own

    def find(self, A, vectors):
        """Returns the state of a matrix, None if the library does not support it, and its arrays. The caller keeps the arrays
        during the product, since another thread may replace those of the matrix."""
        format = OWN.get(type(A))
        if format is None or len(A.shape) != 2:
            why["another class"] += 1
            return None, None
        parts = data, places, lines = format.parts(A)
        try:
            at = where(numbers(data)), where(numbers(places)), where(numbers(lines))
        except (TypeError, ValueError):  # read-only, or not contiguous
            at = address(data), address(places), address(lines)
            if None in at:
                why["types"] += 1
                return None, None
        return self.find_at(at, format, A.shape, parts, vectors), parts

    def find_at(self, at, format, shape, parts, vectors):
        """What is known of arrays at these addresses."""
        key = key_of(at, format, shape, *parts)
        seen = self.seen.get(key)
        if seen is None:
            make_room(self.seen)
            seen = self.seen[key] = Seen()
        if not seen.runs and not seen.decide(parts[0].size * vectors, self.threshold // 2, format, shape, parts[0].dtype, parts, at):
            why[seen.why_not()] += 1
            if seen.reason == "refused":
                self.seen.pop(key, None)  # the indices may be different in the next product
        return seen


def make_room(seen):
    """Drops one of too many matrices: one without a plan, or else the oldest. Other threads may do so simultaneously."""
    if len(seen) >= MOST_PLANS:
        all = list(seen.items())
        seen.pop(next((key for key, of in all if of.plan is None), all[0][0]), None)


plans = Plans()
os.register_at_fork(after_in_child=plans.forget)  # another thread may have been multiplying at the fork


def address(array):
    """Returns the address of an array, which may be read-only; None: not usable by the library."""
    return array.ctypes.data if type(array) is np.ndarray and array.flags.c_contiguous and array.dtype.isnative else None


# ---- products ----------------------------------------------------------------------------------------------------------

def at_operand(x):
    try:
        return where(numbers(x))
    except (TypeError, ValueError):
        return x.ctypes.data


def multiply_vector(seen, x):
    y = empty((seen.rows,), seen.dtype)
    return lib.spmv_exec(seen.plan, 1.0, at_operand(x), 0.0, where(numbers(y))), y


def multiply_vectors(seen, X):
    Y = empty((seen.rows, X.shape[1]), seen.dtype)
    status = lib.spmv_apply(seen.plan, Call(k=X.shape[1], layout=ROWS, x=at_operand(X), z=where(numbers(Y))), None)
    return status, np.asfortranarray(Y) if seen.by_coordinates and COORDINATES_MAKE_COLUMNS else Y


MULTIPLY = {1: multiply_vector, 2: multiply_vectors}  # by the number of dimensions of x


def product(A, x, ndim, vectors, scipys):
    """A @ x, by the library or by SciPy's method."""
    seen, _arrays = plans.find(A, vectors)
    if seen is None:
        return scipys(A, x)
    start = now()
    if not seen.runs:
        y = scipys(A, x)
        seen.scipy_took((vectors, x.flags.c_contiguous), now() - start)
        return y
    if type(x) is not np.ndarray or x.dtype != seen.dtype or x.ndim != ndim or x.shape[0] != A.shape[1]:
        why["types"] += 1
        return scipys(A, x)
    form = vectors, x.flags.c_contiguous
    status, y = MULTIPLY[ndim](seen, plans.contiguous(x))
    if status:  # offsets that the caller changed are wrong: SciPy handles them in its way
        why["refused"] += 1
        return scipys(A, x)
    is_scipys = ndim == 2 and seen.by_coordinates and not np.isfinite(y).all()  # SciPy may skip stored zeros
    if is_scipys:
        why["not finite"] += 1
        y = scipys(A, x)
    else:
        ran[0] += 1
    seen.library_took(form, now() - start, REST * plans.threshold)
    return y


def one_at_a_time(A, x, ndim, vectors, scipys):
    me = threading.get_ident()
    if plans.busy.locked():  # possibly by this thread: a signal handler may multiply within a product
        why["inside of a product" if plans.multiplies == me else "another thread multiplies"] += 1
        return scipys(A, x)
    with plans.busy:
        plans.multiplies = me
        return product(A, x, ndim, vectors, scipys)


def before_vector(scipys):
    """Wraps SciPy's method for one vector: tries the library's product first."""
    @functools.wraps(scipys)
    def method(self, other):
        if self.data.size < plans.small:
            plans.few += 1
            return scipys(self, other)
        if plans.is_early(id(self.data), self.data.size):
            return scipys(self, other)
        return one_at_a_time(self, other, 1, 1, scipys)
    return method


def before_vectors(scipys):
    """Wraps SciPy's method for several vectors."""
    @functools.wraps(scipys)
    def method(self, other):
        vectors = other.shape[-1]
        if self.data.size * vectors < plans.small:
            plans.few += 1
            return scipys(self, other)
        if plans.is_early(id(self.data), self.data.size * vectors):
            return scipys(self, other)
        return one_at_a_time(self, other, 2, vectors, scipys)
    return method


# ---- switching ---------------------------------------------------------------------------------------------------------

def owners(names):
    """Returns (class, method) for SciPy's own classes that define one of these names."""
    found = set()
    for kind in OWN:
        for owner in kind.__mro__:
            name = next((n for n in names if n in vars(owner)), None)
            if name:
                found.add((owner, name))
                break
    return sorted(found, key=str)


class Switch:
    """The active settings, of which the latest is in effect, and the methods of SciPy's classes that were replaced, for
    restoring. If an exception interrupts a change, the next change completes it."""

    def __init__(self):
        self.settings = []  # (state, weak reference to the Block) in the order of the calls
        self.exchanged, self.cupys, self.torchs = [], None, None
        _locks.give(self, make=threading.RLock)

    def add(self, block):
        """Adds a setting until the block is removed, or for good once nobody refers to the block; earlier settings then end."""
        with self.lock:
            lasting = [k for k, (_, of) in enumerate(self.settings) if of() is None]
            self.settings = [*self.settings[lasting[-1] if lasting else 0:], (block.state, weakref.ref(block))]
            self.apply()

    def remove(self, block):
        with self.lock:
            self.settings = [setting for setting in self.settings if setting[1]() is not block]
            self.apply()

    def apply(self):
        state = self.settings[-1][0] if self.settings else None
        if state is None:
            return self.off()
        self.on()
        plans.threshold, plans.small, in_torch = state
        if in_torch:
            from ._accelerate_torch import exchange
            self.torchs = exchange
            exchange.on()
        elif self.torchs:
            self.torchs.off()

    def on(self):
        known = {(owner, name) for owner, name, *_ in self.exchanged}
        self.exchanged = self.exchanged + [
            (owner, name, vars(owner)[name], in_front(vars(owner)[name]))
            for names, in_front in zip(METHODS, (before_vector, before_vectors))
            for owner, name in owners(names) if (owner, name) not in known]
        for owner, name, scipys, method in self.exchanged:
            if vars(owner).get(name) is scipys:
                setattr(owner, name, method)
        from ._accelerate_cupy import exchange
        self.cupys = exchange
        exchange.on()

    def off(self):
        plans.threshold = plans.small = float("inf")  # for callers that kept a replaced method
        for owner, name, scipys, method in self.exchanged:
            if vars(owner).get(name) is method:  # otherwise another package replaced it
                setattr(owner, name, scipys)
        self.exchanged = []
        for others in self.cupys, self.torchs:
            if others:
                others.off()
        plans.forget()


switch = Switch()


class Block:
    """Result of accelerate(): its setting is in effect until its last `with` block ends."""

    def __init__(self, state):
        self.state, self.depth = state, 0

    def __enter__(self):
        with switch.lock:
            self.depth += 1
            if all(of() is not self for _, of in switch.settings):  # a block that is entered again
                switch.add(self)
        return self

    def __exit__(self, *error):
        with switch.lock:
            self.depth = max(self.depth - 1, 0)
            if self.depth == 0:
                switch.remove(self)


def accelerate(on=True, threshold=None, torch=False):
    """Lets the library compute products of scipy.sparse matrices and arrays, from now on or within a `with` block.

    on: False: SciPy computes them. threshold: SciPy multiplies a matrix until this number of entries was multiplied (entries
    of the matrix times vectors); 0: the library computes all products that it supports, even of small matrices. torch: products
    of PyTorch's sparse tensors, too. stats() counts products in the library and in SciPy, with reasons.

    The latest setting applies to all threads. A setting with a block ends with the block; the latest remaining setting then
    applies, or SciPy's own methods if there is none. Blocks may end in any order, also in several threads. A call without a
    block replaces all earlier settings permanently. Products that other threads are computing during a change may be
    SciPy's or the library's."""
    if threshold is not None and not isinstance(threshold, Real):
        raise TypeError(f"threshold is {threshold!r}, must be a number of entries")
    if threshold is not None and not threshold >= 0:  # also refuses NaN
        raise ValueError(f"threshold is {threshold!r}, must be 0 or more entries")
    small = SMALL if threshold is None else min(SMALL, max(threshold, 1))
    state = THRESHOLD if threshold is None else threshold, small, truth("torch", torch)
    if state[2] and on:
        from . import _accelerate_torch  # noqa: F401: raises ImportError without PyTorch
    block = Block(state if truth("on", on) else None)
    try:
        switch.add(block)
    except BaseException:  # raised by a signal handler: the caller gets no block that could end the setting
        switch.remove(block)
        raise
    return block
