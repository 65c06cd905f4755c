"""spmv.accelerate() on a GPU: the library computes products of cupyx.scipy.sparse on the matrices' own arrays.

As on a CPU (_accelerate.py), the content of the arrays is not cached: a plan reads the arrays in every product, and is identified
by their addresses, sizes and types. A plan has no memory of its own, so that products in different streams may overlap. Arrays
that are freed after a product are handled by CuPy's pool, which reuses memory in stream order."""
import functools
import importlib.abc
import importlib.machinery
import sys

from . import _library
from ._accelerate import FORMATS, index_arrays, make_room, plans, ran, why
from ._library import COLUMNS, DEVICE, NO_BACKEND, ROWS, VOLATILE, Call, lib
from ._plan import PRECISIONS, when_gone

PACKAGE = "cupyx.scipy.sparse"
FIRST = 4  # number of products before a plan is made, which takes as long as some products
KINDS = [(name + kind, FORMATS[name]) for name in ("csr", "csc", "coo") for kind in ("_matrix", "_array")]


@functools.cache
def context_on(device):
    """The context of a device, kept until the process ends."""
    return _library.create(lib.spmv_ctx_create, None, _library.ContextOptions(backend=b"cuda", device=device))


class Seen:
    """State of the arrays of one matrix: a plan, or the reason why there is none."""

    def __init__(self):
        self.products, self.plan, self.reason = 0, None, None
        self.faster = {}  # whether the library is faster than CuPy, by number of vectors and order

    def make(self, device, shape, dtype, format, parts):
        members = format.arrays(shape, *parts)
        if members is None or members["idx_bits"] == 64:
            self.reason = "types"
            return
        members |= format.addresses(*(part.data.ptr for part in parts))
        context = matrix = None
        try:
            context = context_on(device)
            view = _library.Arrays(rows=shape[0], cols=shape[1], precision=PRECISIONS[dtype], flags=VOLATILE, place=DEVICE,
                                   **members)
            matrix = _library.create(lib.spmv_mat_create, context, context, view)
            options = _library.PlanOptions(precision=PRECISIONS[dtype])
            self.plan = _library.create(lib.spmv_plan_create, context, matrix, options)
        except _library.Error as error:  # wrong indices, no memory, or a library without CUDA
            lib.spmv_mat_free(matrix)
            self.reason = "refused"
            if error.status == NO_BACKEND:
                exchange.off()
            return
        when_gone(self, lib.spmv_mat_free, matrix)
        when_gone(self, lib.spmv_plan_free, self.plan)


class Products:
    """Products of CuPy's matrices, for one imported module cupy."""

    no_plans = dict

    def __init__(self, cupy):
        self.cupy, self.ndarray = cupy, cupy.ndarray
        self.device, self.stream = cupy.cuda.runtime.getDevice, cupy.cuda.get_current_stream
        self.seen = self.no_plans()
        index_arrays.add(cupy.ndarray)

    def of(self, A, x, format, cupys):
        """A @ x, by the library or by CuPy's method."""
        data, places, lines = parts = format.parts(A)
        vectors = 1 if x.ndim == 1 else x.shape[1]
        if x.shape[0] != A.shape[1] or x.size == 0 or data.size == 0 or A.shape[0] == 0:
            return cupys(A, x)  # reports an error, or has nothing to do
        device = data.data.device_id
        if x.dtype != data.dtype or data.dtype not in PRECISIONS or not all(part.flags.c_contiguous for part in parts):
            why["types"] += 1
            return cupys(A, x)
        if device != x.data.device_id or device != self.device():
            why["another GPU"] += 1
            return cupys(A, x)
        at = data.data.ptr, places.data.ptr, lines.data.ptr
        key = (at, device, format, A.shape, data.shape, places.shape, lines.shape, data.dtype, places.dtype, lines.dtype)
        seen = self.seen.get(key)
        if seen is None:
            make_room(self.seen)
            seen = self.seen[key] = Seen()
        if not seen.faster.get((vectors, x.flags.c_contiguous)):
            return self.by_cupy(seen, A, x, vectors, format, parts, cupys)
        status, y = self.multiply(seen.plan, A, x, vectors)
        if status:
            why["refused"] += 1
            return cupys(A, x)
        ran[0] += 1
        return y

    def multiply(self, plan, A, x, vectors):
        """Multiplies by the plan, several vectors in the order that they have. The product is in F order, like CuPy's."""
        rows, stream = A.shape[0], self.stream().ptr
        if x.flags.f_contiguous and not x.flags.c_contiguous:
            y = self.ndarray((rows, vectors), x.dtype, order="F")
            call = Call(k=vectors, layout=COLUMNS, x=x.data.ptr, z=y.data.ptr)
            return lib.spmv_apply(plan, call, stream), y
        x = x if x.flags.c_contiguous else self.cupy.ascontiguousarray(x)
        if vectors == 1:
            y = self.ndarray((rows, *x.shape[1:]), x.dtype)
            return lib.spmv_exec_async(plan, 1.0, x.data.ptr, 0.0, y.data.ptr, stream), y
        y = self.ndarray((rows, vectors), x.dtype)
        call = Call(k=vectors, layout=ROWS, x=x.data.ptr, z=y.data.ptr)
        return lib.spmv_apply(plan, call, stream), self.cupy.asfortranarray(y)

    def by_cupy(self, seen, A, x, vectors, format, parts, cupys):
        """A product by CuPy. Some products are timed in both packages. With a threshold of 0 the library multiplies
        from the first product on."""
        work, form = parts[0].size * vectors, (vectors, x.flags.c_contiguous)
        seen.products += 1
        if seen.reason or form in seen.faster:
            why[seen.reason or "no faster"] += 1
            return cupys(A, x)
        at_once = plans.threshold < 1
        if not at_once and seen.products < FIRST and seen.products * work < plans.threshold or self.stream().is_capturing():
            why["not yet worth it"] += 1
            return cupys(A, x)
        if seen.plan is None:
            self.stream().synchronize()  # the arrays are complete
            seen.make(x.data.device_id, A.shape, x.dtype, format, parts)
            if seen.reason:
                why[seen.reason] += 1
                return cupys(A, x)
        if at_once:
            seen.faster[form] = True
            seen.products -= 1
            return self.of(A, x, format, cupys)
        why["not yet worth it"] += 1
        times, y = self.times(lambda: cupys(A, x), lambda: self.multiply(seen.plan, A, x, vectors))
        seen.faster[form] = times[1] <= times[0]
        return y

    def times(self, *ways):
        """Returns the milliseconds of each function on the current stream, after a first run, and the result of the first."""
        event, results, ends = self.cupy.cuda.Event, [], []
        for way in ways:
            results.append(way())
            begin, end = event(), event()
            begin.record()
            way()
            end.record()
            ends.append((begin, end))
        ends[-1][1].synchronize()
        return [self.cupy.cuda.get_elapsed_time(*both) for both in ends], results[0]


def before(kind, cupys, format, products):
    """Wraps CuPy's method for any right operand: tries the library's product for dense arrays first."""
    ndarray, is_compressed = products.ndarray, hasattr(kind, "indptr") or format is not FORMATS["coo"]

    @functools.wraps(cupys)
    def method(self, other):
        if type(other) is not ndarray or other.ndim not in (1, 2) or len(self.shape) != 2:
            return cupys(self, other)
        if type(self) is not kind:
            why["another class"] += 1
            return cupys(self, other)
        if is_compressed:
            self.sum_duplicates()  # as CuPy's method does
        return products.of(self, other, format, cupys)
    return method


class WhenImported(importlib.abc.MetaPathFinder):
    """Import hook: runs a function when CuPy's sparse matrices are imported, without importing them itself."""

    def __init__(self, then):
        self.then = then

    def find_spec(self, name, path, target=None):
        if name != PACKAGE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            self.then()
        spec.loader.exec_module = exec_module
        return spec


class Exchange:
    """The methods of CuPy's classes that were replaced, for restoring."""

    def __init__(self):
        self.exchanged, self.products, self.finder = [], None, None

    def on(self):
        if PACKAGE in sys.modules:
            return self.exchange()
        if self.finder not in sys.meta_path:
            self.finder = WhenImported(self.exchange)
            sys.meta_path.insert(0, self.finder)

    def exchange(self):
        """Replaces the methods. Does not query the GPU: this would start CUDA's driver, which forked processes could not use."""
        cupy, sparse = sys.modules.get("cupy"), sys.modules.get(PACKAGE)
        if not sparse:
            return
        if not self.exchanged:
            self.products = Products(cupy)
            self.exchanged = list(self.methods(sparse))
        for kind, name, own, ours in self.exchanged:
            if vars(kind).get(name) is own:
                setattr(kind, name, ours)

    def methods(self, sparse):
        """Yields (class, name, its own method or None, our method)."""
        for name, format in KINDS:
            kind = getattr(sparse, name, None)
            method = next((n for n in ("_matmul_dispatch", "__mul__") if hasattr(kind, n)), None)
            if method:
                own = vars(kind).get(method)
                yield kind, method, own, before(kind, own or getattr(kind, method), format, self.products)

    def off(self):
        if self.finder in sys.meta_path:
            sys.meta_path.remove(self.finder)
        for kind, name, own, ours in self.exchanged:
            if vars(kind).get(name) is not ours:
                continue  # another package replaced the method
            if own is None:
                delattr(kind, name)
            else:
                setattr(kind, name, own)
        self.exchanged, self.products, self.finder = [], None, None


exchange = Exchange()
