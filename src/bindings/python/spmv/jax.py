"""spmv.jax: products inside jax.jit, of a matrix that is a pytree with one leaf, its values.

The library's products are custom calls of XLA (../ffi/handler.c says how a call finds its plan). A plan is made when JAX
lowers a program, for the devices that it is compiled for, and lives as long as that program or a matrix that it is of.
  Values that are constants of the program   have the plan that "auto" chooses for the matrix and so many vectors.
  Values that are traced   are an operand of the call, and the kernel reads them where they are. By the transpose they are
                           brought to the order of its rows first, by JAX: sums are never added by atomic operations.
                           Long rows are multiplied in pieces, which a second product adds up.
What is differentiated, batched and transposed are three operations, which are linear in each operand:
  constant(X) = A X        values_times(v, X) = A(v) X        at_entries(U, V)[e] = U[row of e] . V[column of e]
An operation is named by an object in its parameters that JAX compares by identity. JAX keeps it with every program, so
it must not lead to a program: those of products outside of jit are of an Owner, which only matrices have."""
import contextlib
import ctypes
import functools
import itertools
import math
import os
import pathlib
import secrets
import sys
import threading
import weakref

import numpy as np
import scipy.sparse

try:
    import jax
    import jax.ffi
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir
except ImportError as error:
    found = getattr(sys.modules.get("jax"), "__version__", None)
    raise ImportError(f"spmv.jax: JAX {found} has no typed foreign-function interface: 0.5 or newer is needed" if found else
                      "spmv.jax: JAX is not installed: pip install jax") from error
import jax.numpy as jnp

from . import _library
from ._library import lib
from ._plan import PRECISIONS, whole

__all__ = ["from_jax", "matrix"]
MOST = 2**31  # rows and columns are fewer


# ---- the handlers ---------------------------------------------------------------------------------------------------

class Product(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int64), ("device", ctypes.c_int), ("precision", ctypes.c_int), ("rows", ctypes.c_int64),
                ("cols", ctypes.c_int64), ("nnz", ctypes.c_int64), ("ctx", ctypes.c_void_p), ("plan", ctypes.c_void_p),
                ("traced", ctypes.c_void_p)]


ALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)
RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Memory(ctypes.Structure):
    _fields_ = [("alloc", ALLOC), ("release", RELEASE)]


class Allocator(ctypes.Structure):
    _fields_ = [("alloc", ctypes.c_void_p), ("release", ctypes.c_void_p), ("user", ctypes.c_void_p)]


def address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


@functools.cache
def driver():
    """Returns CUDA's driver library, or None."""
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


def load():
    """Loads the library of handlers and registers them with XLA."""
    library = os.environ.get("SPMV_LIBRARY")
    path = (pathlib.Path(library) if library else pathlib.Path(__file__)).with_name("libspmv_jax.so")
    try:
        found = ctypes.CDLL(os.fspath(path))
    except OSError as error:
        raise ImportError(f"spmv.jax: {error}: this build has no handlers for JAX (SPMV_JAX=1 pip install …)") from error
    found.spmv_jax_add.restype, found.spmv_jax_add.argtypes = ctypes.c_void_p, (ctypes.POINTER(Product),)
    found.spmv_jax_remove.restype, found.spmv_jax_remove.argtypes = None, (ctypes.c_void_p,)
    wait = address(driver().cuStreamSynchronize) if driver() else None
    functions = lib.spmv_exec_async, lib.spmv_apply, lib.spmv_mat_set_values, lib.spmv_ctx_error
    found.spmv_jax_begin((ctypes.c_void_p * 5)(*map(address, functions), wait))
    for name, handler, platform in (("spmv_product", found.spmv_jax_on_cpu, "cpu"),
                                    ("spmv_product", found.spmv_jax_on_gpu, "CUDA"),
                                    ("spmv_nothing", found.spmv_jax_nothing, "cpu")):
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler), platform=platform)
    return found


handlers = load()
ids = itertools.count(secrets.randbits(31) << 32)  # random start: a program deserialized in another process finds no plan


# ---- the library's plans --------------------------------------------------------------------------------------------

class Gpu:
    """A GPU of JAX: memory from XLA's allocator, and CUDA's context in the calling thread while plans are created and
    freed."""

    def __init__(self, device):
        self.device, self.arrays = device, {}
        self.memory = Memory(ALLOC(self.alloc), RELEASE(self.release))
        self.allocator = Allocator(address(handlers.spmv_jax_alloc), address(handlers.spmv_jax_release),
                                   ctypes.addressof(self.memory))

    def put(self, array):
        """Copies an array to the GPU and waits for completion."""
        return jax.block_until_ready(jax.device_put(array, self.device))

    def alloc(self, count):
        try:
            made = self.put(np.empty(max(count, 1), np.uint8))
        except Exception:  # XLA's error for no memory; the library reports it
            return None
        at = made.unsafe_buffer_pointer()
        self.arrays[at] = made
        return at

    def release(self, at):
        self.arrays.pop(at, None)

    def free_bytes(self):
        said = self.device.memory_stats() or {}
        return int(0.8 * (said["bytes_limit"] - said["bytes_in_use"])) if "bytes_limit" in said else 0

    @contextlib.contextmanager
    def entered(self):
        outer, own = ctypes.c_void_p(), ctypes.c_void_p()
        driver().cuCtxGetCurrent(ctypes.byref(outer))
        driver().cuDevicePrimaryCtxRetain(ctypes.byref(own), self.device.local_hardware_id)
        driver().cuCtxSetCurrent(own)
        try:
            yield
        finally:
            driver().cuCtxSetCurrent(outer)
            driver().cuDevicePrimaryCtxRelease_v2(self.device.local_hardware_id)


class Cpu:
    """All of JAX's CPU devices, treated as one."""
    allocator = None

    def put(self, array):
        return array

    def free_bytes(self):
        return 0

    entered = contextlib.nullcontext


lock = threading.RLock()  # guards the creation of the library's objects


def place_of(device):
    """Returns the handlers' index of a device: a GPU's index, -1 for CPUs."""
    return -1 if device.platform == "cpu" else device.local_hardware_id


def free(device, function, *handles):
    with device.entered():
        function(*handles)


def remove(entry, plan):
    handlers.spmv_jax_remove(entry)
    lib.spmv_plan_free(plan)


def finish(owner, function, *arguments):
    """Calls the function when the owner is deleted, but not at Python's exit: XLA's streams may be gone by then."""
    weakref.finalize(owner, function, *arguments).atexit = False


class Made:
    """A matrix in the library on one device. flags: of spmv_mat_create. values: None with VOLATILE: each product sets them."""

    def __init__(self, pattern, values, precision, device, flags):
        self.pattern, self.precision = pattern, precision
        self.place = place_of(device)
        self.device = Cpu() if self.place < 0 else Gpu(device)
        on_gpu = self.place >= 0
        self.traced = values is None
        stays = on_gpu and self.traced  # the pattern is stored on the device, like the values
        wide = pattern.nnz >= MOST
        ptr = pattern.indptr if wide or not stays else pattern.indptr.astype(np.int32)
        with self.device.entered():
            self.arrays = [self.device.put(array.view(np.uint8)) if stays else array for array in (ptr, pattern.indices)]
            self.values = values
            at_ptr, at_idx = [array.unsafe_buffer_pointer() if stays else array.ctypes.data for array in self.arrays]
            options = _library.ContextOptions(backend=b"cuda" if on_gpu else b"omp", device=max(self.place, 0))
            if on_gpu:
                options.allocator = ctypes.addressof(self.device.allocator)
            self.context = _library.create(lib.spmv_ctx_create, None, options)
            finish(self, free, self.device, lib.spmv_ctx_free, self.context)
            view = _library.Arrays(rows=pattern.shape[0], cols=pattern.shape[1], nnz=pattern.nnz, ptr=at_ptr, idx=at_idx,
                                   values=at_idx if self.traced else values.ctypes.data, ptr_bits=8 * ptr.itemsize,
                                   precision=precision, place=_library.DEVICE if stays else _library.HOST, flags=flags)
            self.handle = _library.create(lib.spmv_mat_create, self.context, self.context, view)
            finish(self, free, self.device, lib.spmv_mat_free, self.handle)

    def add(self, id, **options):
        """Creates a plan, and enters it into the handlers' table under the id."""
        with self.device.entered():
            options = _library.PlanOptions(precision=options.pop("precision", self.precision),
                                           max_bytes=self.device.free_bytes(), **options)
            plan = _library.create(lib.spmv_plan_create, self.context, self.handle, options)
        rows, cols = self.pattern.shape if options.op == _library.AS_IS else self.pattern.shape[::-1]
        product = Product(id, self.place, options.precision, rows, cols, self.pattern.nnz, self.context, plan,
                          self.handle if self.traced else None)
        entry = handlers.spmv_jax_add(product)
        if not entry:
            free(self.device, lib.spmv_plan_free, plan)
            raise MemoryError("spmv.jax: out of memory")
        finish(self, free, self.device, remove, entry, plan)


class Operation:
    """Base class of an operation's parameter: compared by identity, with an id of its plans for each key."""

    def __init__(self):
        self.ids, self.made = {}, {}
        self.first = self  # for a pattern and its transpose: the one that has an owner

    def id_on(self, devices, key, make):
        """Returns the id of the plans for a key, after creating missing ones with make(device, id) on these devices."""
        with lock, jax.ensure_compile_time_eval():
            id = self.ids.setdefault(key, next(ids))
            for device in devices:
                if (id, place_of(device)) not in self.made:
                    self.made[id, place_of(device)] = make(device, id)
            return id


class Pattern(Operation):
    """Compressed rows without values, in any order in a row, duplicates allowed."""

    def __init__(self, shape, indptr, indices):
        super().__init__()
        self.shape, self.nnz = tuple(map(int, shape)), len(indices)
        self.indptr, self.indices = np.ascontiguousarray(indptr, np.int64), np.ascontiguousarray(indices, np.int32)
        self.cuts = {}

    def __reduce__(self):  # without plans, which belong to this process
        return Pattern, (self.shape, self.indptr, self.indices)

    @functools.cached_property
    def rows(self):
        """Row index of each entry."""
        return np.repeat(np.arange(self.shape[0], dtype=np.int32), np.diff(self.indptr))

    @functools.cached_property
    def turned(self):
        """Pattern of the transpose, and the source index of each of its entries. The transpose of the result is this pattern."""
        order = np.argsort(self.indices, kind="stable")
        indptr = np.zeros(self.shape[1] + 1, np.int64)
        np.cumsum(np.bincount(self.indices, minlength=self.shape[1]), out=indptr[1:])
        other = Pattern(self.shape[::-1], indptr, self.rows[order])
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        other.__dict__["turned"], other.first = (self, self.places(back)), self.first
        return other, self.places(order)

    def places(self, array):
        """Returns indices of entries as an array of JAX, passed to programs as an argument instead of a constant."""
        with jax.ensure_compile_time_eval():
            return jnp.asarray(array, np.int32 if self.nnz < MOST else np.int64)

    @functools.cached_property
    def coordinates(self):
        return self.places(self.rows), self.places(self.indices)

    def pieces(self, platform):
        """Returns a pattern in which long rows are split into several rows, and the matrix that sums these; None: no row is so long
        that the kernel, which assigns a row to one block or thread, would be limited by it."""
        limit = int(max(1 << 10, 8 * self.nnz // self.shape[0]) if platform == "cuda" else max(1 << 16, self.nnz // 16))
        if limit not in self.cuts:
            self.cuts[limit] = self.cut(limit, limit // 8) if np.diff(self.indptr).max() > limit else None
        return self.cuts[limit]

    def cut(self, limit, piece):
        lengths = np.diff(self.indptr)
        counts = np.where(lengths > limit, -(-lengths // piece), 1)
        ptr = np.append(0, np.cumsum(counts))
        before = np.arange(ptr[-1]) - np.repeat(ptr[:-1], counts)  # index of a segment in its row
        pieces = Pattern((ptr[-1], self.shape[1]), np.append(np.repeat(self.indptr[:-1], counts) + piece * before, self.nnz), self.indices)
        return pieces, Constant(Pattern((self.shape[0], ptr[-1]), ptr, np.arange(ptr[-1])), np.ones(ptr[-1]), 1000)

    def id_for(self, dtype, devices):
        def make(device, id):
            made = Made(self, None, PRECISIONS[dtype], device, _library.VOLATILE)
            made.add(id, op=_library.AS_IS)
            return made
        return self.id_on(devices, dtype, make)


class Constant(Operation):
    """A matrix with constant values."""

    def __init__(self, pattern, values, expected):
        super().__init__()
        self.pattern, self.values, self.expected = pattern, values, expected
        self.matrices = {}  # by device

    def __reduce__(self):
        return Constant, (self.pattern, self.values, self.expected)

    def id_for(self, transposed, dtype, k, devices):
        """Returns the id of the plan for one vector, or for k rounded up to a power of two, at most 64."""
        vectors = 1 << min(max(k - 1, 0).bit_length(), 6)

        def make(device, id):
            place = place_of(device)
            if place < 0 and k > 1:  # "auto" has no kernel for several vectors here that is as fast and gives equal bits
                pattern, order = self.pattern.turned if transposed else (self.pattern, slice(None))
                values = np.ascontiguousarray(self.values[order], dtype)
                made = Made(pattern, values, PRECISIONS[dtype], device, _library.VOLATILE)
                made.add(id, op=_library.AS_IS)
                return made
            if place not in self.matrices:
                self.matrices[place] = Made(self.pattern, self.values, PRECISIONS[self.values.dtype], device, _library.BORROW)
            self.matrices[place].add(id, precision=PRECISIONS[dtype], op=_library.TRANSPOSE if transposed else _library.AS_IS,
                                     reproducible=1, vectors=vectors, layout=_library.ROWS if k > 1 else _library.COLUMNS,
                                     expected_calls=self.expected)
            return self.matrices[place]
        return self.id_on(devices, (transposed, dtype, min(vectors, 2) if devices[0].platform == "cpu" else vectors), make)


def forget_with_programs(*kinds):
    """Makes JAX's cache of abstract evaluations hold these classes by weak references. Otherwise the cache keeps the last 2048
    objects alive. JAX has no public interface for this."""
    try:
        from jax._src.util import weakref_cache_key_types as kept_weakly
        kept_weakly.update(kinds)
    except ImportError:
        pass


forget_with_programs(Pattern, Constant)


# ---- the operations -------------------------------------------------------------------------------------------------

def columns_of(x, axis):
    """Moves the batch axis to the end: columns of one or several vectors per batch element."""
    return jnp.moveaxis(x, axis, -1)


def fold(x, axis, product):
    """Computes a batch by one product: its vectors are columns."""
    x = columns_of(x, axis)
    y = product(x.reshape(x.shape[0], math.prod(x.shape[1:])))
    return y.reshape(y.shape[0], *x.shape[1:]), x.ndim - 1


def refuse_shards(avals):
    """Raises an error in shard_map: devices would have shares of x, but the matrix is not divided."""
    is_manual = any(getattr(aval, "vma", None) for aval in avals)
    mesh = getattr(jax.sharding, "get_abstract_mesh", lambda: None)()
    if is_manual or getattr(mesh, "manual_axes", ()):
        raise NotImplementedError("spmv.jax: there are no products inside shard_map and pmap: the matrix is not divided among "
                                  "devices")


def aval_of_product(shape, x):
    refuse_shards([x])
    return jax.core.ShapedArray((shape[0], *x.shape[1:]), x.dtype)


def devices_of(ctx, platform):
    """Returns the devices for which a program is compiled."""
    if platform == "cpu":
        return jax.local_devices(backend="cpu")[:1]
    told = getattr(ctx.module_context.axis_context, "device_assignment", None)
    here = jax.local_devices(backend="cuda")
    return [device for device in here if device in told] if told else here


def lower(id_for, ctx, operands, x, keep):
    """Lowers to the custom call, or to zeros if there is nothing to multiply."""
    platform = ctx.module_context.platforms[0]
    k = x.shape[1] if x.ndim == 2 else 1
    id = id_for(k, devices_of(ctx, platform))
    ctx.module_context.add_keepalive(keep)
    return jax.ffi.ffi_lowering("spmv_product")(ctx, *operands, id=np.int64(id))


def is_empty(pattern, x):
    return 0 in (*pattern.shape, *x.shape, pattern.nnz)


def operation(name, run, infer):
    """Defines a primitive; `run` computes it outside of jit."""
    made = Primitive(name)
    made.def_impl(run)
    made.def_abstract_eval(infer)
    try:  # lowering needs the devices, for which JAX has no public interface
        from jax._src.dispatch import prim_requires_devices_during_lowering as with_devices
        with_devices.add(made)
    except ImportError:  # plans are then made on all devices
        pass
    return made


eager = {}  # compiled programs of products outside of jit, by operation


def run_compiled(primitive, named, *operands, **parameters):
    """Runs one product outside of jit. Its program is kept as long as the operation has an owner."""
    key = primitive, tuple(parameters.items())
    programs = eager.get(named.first, {})
    if key not in programs:
        programs[key] = jax.jit(lambda *operands: primitive.bind(*operands, **parameters))
    with jax.disable_jit(False):  # otherwise, with jit disabled, the program would call this function again
        return programs[key](*operands)


class Owner:
    """Held by matrices, but not by programs: keeps the compiled programs of an operation's products outside of jit until the last
    matrix is deleted. In pytrees a pattern is identified by its owner."""

    def __init__(self, named):
        self.named = named
        eager[named] = {}
        finish(self, eager.pop, named, None)

    def __reduce__(self):
        return Owner, (self.named,)

    def __deepcopy__(self, memo):
        return self


def define_constant():
    p = operation("spmv_constant", lambda x, **named: run_compiled(p, named["A"], x, **named),
                  lambda x, A, transposed: aval_of_product(A.pattern.shape[::-1] if transposed else A.pattern.shape, x))

    def transpose(ct, x, A, transposed):
        return [p.bind(ct, A=A, transposed=not transposed)]

    def batch(operands, axes, **named):
        return fold(*operands, *axes, lambda x: p.bind(x, **named))

    def lowering(ctx, x, A, transposed):
        aval = ctx.avals_in[0]
        if is_empty(A.pattern, aval):
            return zeros(ctx, x)
        return lower(lambda k, devices: A.id_for(transposed, aval.dtype, k, devices), ctx, [x], aval, A)

    ad.deflinear2(p, transpose)
    batching.primitive_batchers[p] = batch
    for platform in "cpu", "cuda":
        mlir.register_lowering(p, lowering, platform=platform)
    return p


def zeros(ctx, x):
    out, = ctx.avals_out
    return mlir.lower_fun(lambda *_: jnp.zeros(out.shape, out.dtype), multiple_results=False)(ctx.replace(avals_in=ctx.avals_in[-1:]), x)


def define_values_times():
    p = operation("spmv_values_times", lambda v, x, pattern: run_compiled(p, pattern, v, x, pattern=pattern),
                  lambda v, x, pattern: aval_of_product(pattern.shape, x))

    def of_values(ct, v, x, pattern):
        return entries_of(pattern, ct, x)

    def of_x(ct, v, x, pattern):
        return turned_times(v, ct, pattern)

    def batch(operands, axes, pattern):
        (v, x), (of_v, of_x) = operands, axes
        if of_v is None:
            return fold(x, of_x, lambda x: p.bind(v, x, pattern=pattern))
        v = jnp.moveaxis(v, of_v, 0)
        if of_x is None:
            return jax.lax.map(lambda v: p.bind(v, x, pattern=pattern), v), 0
        return jax.lax.map(lambda both: p.bind(*both, pattern=pattern), (v, jnp.moveaxis(x, of_x, 0))), 0

    def lowering(ctx, v, x, pattern):
        aval = ctx.avals_in[1]
        if is_empty(pattern, aval):
            return zeros(ctx, x)
        found = pattern.pieces(ctx.module_context.platforms[0])
        if found is None:
            return times(ctx, v, x, pattern)
        pieces, sums = found
        between = jax.core.ShapedArray((pieces.shape[0], *aval.shape[1:]), aval.dtype)
        y, = times(ctx.replace(avals_out=[between]), v, x, pieces)
        return lower(lambda k, devices: sums.id_for(False, aval.dtype, k, devices), ctx.replace(avals_in=[between]), [y], between, sums)

    def times(ctx, v, x, pattern):
        aval = ctx.avals_in[1]
        return lower(lambda k, devices: pattern.id_for(aval.dtype, devices), ctx, [v, x], aval, pattern)

    ad.defbilinear(p, of_values, of_x)
    batching.primitive_batchers[p] = batch
    for platform in "cpu", "cuda":
        mlir.register_lowering(p, lowering, platform=platform)
    return p


def turned_times(v, x, pattern):
    """The transposed product."""
    turned, order = pattern.turned
    v = jnp.asarray(v).at[order].get(unique_indices=True, mode="promise_in_bounds")
    return values_times.bind(v, x, pattern=turned)


def entries_of(pattern, u, v):
    return at_entries.bind(u, v, *pattern.coordinates, pattern=pattern)


def define_at_entries():
    p = operation("spmv_at_entries", lambda *operands, pattern: run_compiled(p, pattern, *operands, pattern=pattern),
                  lambda u, v, *at, pattern: jax.core.ShapedArray((pattern.nnz,), u.dtype))

    def transpose(ct, u, v, *at, pattern):
        if ad.is_undefined_primal(u):
            return values_times.bind(ct, v, pattern=pattern), None, None, None
        return None, turned_times(ct, u, pattern), None, None

    def batch(operands, axes, pattern):
        batched = [x if axis is None else jnp.moveaxis(x, axis, 0) for x, axis in zip(operands, axes)]
        mapped = [x for x, axis in zip(batched, axes) if axis is not None]

        def one(those):
            those = iter(those)
            return p.bind(*(x if axis is None else next(those) for x, axis in zip(batched, axes)), pattern=pattern)
        return jax.lax.map(one, mapped), 0

    def run(u, v, row, col, pattern):
        products = u.at[row].get(mode="promise_in_bounds") * v.at[col].get(mode="promise_in_bounds")
        return products if products.ndim == 1 else products.sum(axis=1)

    ad.defjvp(p, lambda du, u, v, *at, pattern: p.bind(du, v, *at, pattern=pattern),
              lambda dv, u, v, *at, pattern: p.bind(u, dv, *at, pattern=pattern), None, None)
    ad.primitive_transposes[p] = transpose
    batching.primitive_batchers[p] = batch
    mlir.register_lowering(p, mlir.lower_fun(run, multiple_results=False))
    return p


constant, values_times, at_entries = define_constant(), define_values_times(), define_at_entries()


# ---- the matrix -----------------------------------------------------------------------------------------------------

def is_sparse(x):
    """Returns whether x is a sparse matrix of SciPy or JAX."""
    theirs = sys.modules.get("jax.experimental.sparse")  # imported if JAX's sparse matrices exist
    return scipy.sparse.issparse(x) or theirs is not None and isinstance(x, theirs.JAXSparse)


def type_of(dtype, what="values"):
    """Returns JAX's type for these elements: f32 for f64 unless jax_enable_x64 is set. Other types are refused."""
    found = np.dtype(jax.dtypes.canonicalize_dtype(dtype))
    if found not in PRECISIONS:
        raise TypeError(f"spmv.jax: products are in float64 and float32: {what} are in {found}")
    return found


@jax.tree_util.register_pytree_node_class
class matrix:
    """A sparse matrix A for A @ x, A @ X, x @ A and A.T @ x under JAX's transformations.

    source: a sparse matrix of SciPy. expected: expected number of products, over which the choice of a kernel is amortized.
    A is a pytree with one leaf, A.values, in the order of source.tocsr().data. Inside a function that closes over A the
    values are constants, and the fastest kernel is used. If A is an argument, or comes from A.with_values(v), the values may
    be traced. Results have the same bits in every run."""

    __array_ufunc__ = None  # x @ A calls A's method
    ndim = 2

    def __init__(self, source, *, expected=1000):
        if not scipy.sparse.issparse(source) or source.ndim != 2:
            raise TypeError(f"spmv.jax.matrix: must be a sparse matrix of SciPy's with two dimensions, not {type(source).__name__}")
        rows = source.tocsr()
        dtype, expected = type_of(rows.dtype), whole("spmv.jax.matrix: expected", expected, 0)
        if max(rows.shape) >= MOST:
            raise ValueError(f"spmv.jax.matrix: rows and columns must be fewer than 2^31: the shape is {rows.shape}")
        rows.check_format(full_check=True)  # before indices are narrowed to 32 bits
        nnz = rows.nnz
        own = np.array(rows.data[:nnz], dtype)
        own.flags.writeable = False
        self._attach(Owner(Pattern(rows.shape, rows.indptr.copy(), rows.indices[:nnz].copy())), False, own)
        self._constant = Owner(Constant(self._pattern.named, own, expected))

    def _attach(self, pattern, transposed, values):
        self._pattern, self._transposed, self._values, self._constant = pattern, transposed, values, None

    @property
    def values(self):
        if isinstance(self._values, np.ndarray):
            with jax.ensure_compile_time_eval():
                self._values = jnp.asarray(self._values)
        return self._values

    @property
    def shape(self):
        shape = self._pattern.named.shape
        return shape[::-1] if self._transposed else shape

    @property
    def nnz(self):
        return self._pattern.named.nnz

    @property
    def dtype(self):
        return np.dtype(self._values.dtype)

    @property
    def T(self):
        other = object.__new__(matrix)
        other._attach(self._pattern, not self._transposed, self._values)
        other._constant = self._constant
        return other

    transpose = lambda self: self.T  # noqa: E731

    def with_values(self, values):
        """Returns a matrix with the same pattern and other values, in the order of A.values."""
        values = jnp.asarray(values)
        if values.shape != (self.nnz,):
            raise ValueError(f"spmv.jax: there are {self.nnz} values, and the shape of the new ones is {values.shape}")
        type_of(values.dtype)
        other = object.__new__(matrix)
        other._attach(self._pattern, self._transposed, values)
        return other

    def __matmul__(self, x):
        return self.dot(x)

    def dot(self, x):
        """A @ x, for a vector or for the columns of a matrix."""
        return self._multiply(x, self._transposed)

    def __rmatmul__(self, x):
        x = x if is_sparse(x) else jnp.asarray(x)
        return self._multiply(x, not self._transposed) if x.ndim == 1 else self._multiply(x.T, not self._transposed).T

    def _multiply(self, x, transposed):
        if isinstance(x, matrix) or is_sparse(x):
            raise TypeError(f"spmv.jax: a product takes a dense vector or matrix, not {type(x).__name__}")
        x = jnp.asarray(x)
        pattern = self._pattern.named
        rows, cols = pattern.shape[::-1] if transposed else pattern.shape
        if x.ndim not in (1, 2) or x.shape[0] != cols:
            raise ValueError(f"spmv.jax: the matrix is {rows} x {cols}, and the shape of the operand {x.shape}")
        dtype = type_of(jnp.promote_types(self.dtype, x.dtype), f"those of {self.dtype} and {x.dtype}")
        x = x.astype(dtype)
        if self._constant is not None:
            return constant.bind(x, A=self._constant.named, transposed=transposed)
        values = jnp.asarray(self._values).astype(dtype)
        if values.shape != (pattern.nnz,):
            raise ValueError(f"spmv.jax: there are {pattern.nnz} values, and their shape is {values.shape}")
        return turned_times(values, x, pattern) if transposed else values_times.bind(values, x, pattern=pattern)

    def __repr__(self):
        return f"spmv.jax.matrix({self.shape[0]} x {self.shape[1]}, nnz={self.nnz}, {self._values!r:.40})"

    def tree_flatten(self):
        return (self.values,), (self._pattern, self._transposed)

    @classmethod
    def tree_unflatten(cls, named, leaves):
        made = object.__new__(cls)
        made._attach(*named, *leaves)
        return made


def from_jax(source, *, expected=1000):
    """Creates a matrix from JAX's BCSR or BCOO with two dimensions, and indices that are known at tracing. Data may be traced."""
    from jax.experimental import sparse
    if not isinstance(source, (sparse.BCSR, sparse.BCOO)) or source.n_batch or source.n_dense or source.ndim != 2:
        raise TypeError("spmv.jax.from_jax: must be BCSR or BCOO with two dimensions and none of them batched or dense")
    type_of(source.dtype)
    try:
        if isinstance(source, sparse.BCOO):
            row, col = np.asarray(source.indices).astype(np.int64).T
        else:
            indptr, col = np.asarray(source.indptr, np.int64), np.asarray(source.indices, np.int64)
            row = np.searchsorted(indptr, np.arange(len(col)), side="right") - 1
    except jax.errors.TracerArrayConversionError as error:
        raise TypeError("spmv.jax.from_jax: the indices are traced: the matrix must be made outside of the function, or "
                        "closed over") from error
    rows, cols = source.shape
    kept = np.flatnonzero((row < rows) & (col < cols))  # JAX pads with entries out of bounds
    kept = kept[np.argsort(row[kept], kind="stable")]
    indptr = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(row[kept], minlength=rows), out=indptr[1:])
    if isinstance(source.data, jax.core.Tracer):
        made = object.__new__(matrix)
        made._attach(Owner(Pattern(source.shape, indptr, col[kept])), False, source.data[kept])
        return made
    return matrix(scipy.sparse.csr_array((np.asarray(source.data)[kept], col[kept], indptr), shape=source.shape),
                  expected=expected)
