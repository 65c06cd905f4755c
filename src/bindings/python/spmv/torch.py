"""spmv.torch: products of PyTorch's sparse tensors, as operators that PyTorch knows: under autograd, vmap, torch.compile and in
CUDA graphs.

Two operators, each of which is linear in every operand, are closed under differentiation:
  product(v, pattern, X) = A(v) X                      at_entries(pattern, U, V)[e] = U[row of e] . V[column of e]
A pattern is two tensors of indices: `lines` (offsets of compressed rows, or the row of each entry) and `idx` (columns). What
the library makes of a pattern is found by the addresses of these tensors, and goes when their memory goes.
  Values that stay      (keep) have the plan that "auto" chooses. PyTorch counts what is written to a tensor: after a write the
                        values are read where they lie, until they have stayed for so many products that a plan pays again.
  Values that change    are read where they lie by each product. By the transpose, they are brought to the order of its rows.
An operator is a Python function that PyTorch's dispatcher calls: one build of the library serves all releases of PyTorch.
Outside of its transformations A @ x calls the library at once: the dispatcher alone takes as long as the rest of a call."""
import contextlib
import ctypes
import functools
import math
import threading
import weakref

try:
    import torch
except ImportError as error:
    raise ImportError("spmv.torch: PyTorch is not installed: pip install torch") from error

if not hasattr(torch.library, "register_vmap"):
    raise ImportError(f"spmv.torch: PyTorch {torch.__version__} has no torch.library.register_vmap: 2.5 or newer is needed")

from . import _library, _locks
from ._library import AS_IS, COLUMNS, F32, F64, ROWS, TRANSPOSE, Call, lib
from ._plan import when_gone, whole
from ._results import LEAST, empty_tensor

__all__ = ["matrix"]
PRECISIONS = {torch.float64: F64, torch.float32: F32}
EXPECTED = 1000  # products with values that stay
STEADY = 100  # products with the same values, behind a write to them, until a plan is made of them again
MOST = 2**31  # rows and columns are fewer
CHUNK = 1 << 24  # numbers that at_entries gathers at a time
Tensor = torch.Tensor
is_compiling, is_grad_enabled = torch.compiler.is_compiling, torch.is_grad_enabled
are_repeatable = torch.are_deterministic_algorithms_enabled
count_modes, count_functions = torch._C._len_torch_dispatch_stack, torch._C._len_torch_function_stack
level_of_transforms = torch._C._functorch.maybe_current_level


def outside():
    """Says whether nothing of PyTorch's stands between a call and its result: no mode and no transformation."""
    return not count_modes() and not count_functions() and level_of_transforms() is None


# ---- streams and memory of GPUs ---------------------------------------------------------------------------------------

ALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_void_p)
RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


class Allocator(ctypes.Structure):
    _fields_ = [("alloc", ALLOC), ("release", RELEASE), ("user", ctypes.c_void_p)]


def stream_of(device):
    """The address of PyTorch's current stream."""
    return torch._C._cuda_getCurrentRawStream(device)


class Memory:
    """Memory of a GPU from PyTorch's caching allocator, and of the host from malloc, as the library asks for it."""

    def __init__(self, device):
        self.device, self.streams = device, {}  # the stream that each block of the GPU is of
        self.malloc, self.free = ctypes.CDLL(None).malloc, ctypes.CDLL(None).free
        self.malloc.restype, self.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        self.free.restype, self.free.argtypes = None, [ctypes.c_void_p]
        self.allocator = Allocator(ALLOC(self.alloc), RELEASE(self.release), None)

    def alloc(self, _user, place, count, stream):
        if place == _library.HOST:
            return self.malloc(count)
        try:
            with torch.cuda.device(self.device):
                at = torch.cuda.caching_allocator_alloc(max(count, 1), self.device, stream or 0)
        except RuntimeError:  # no memory, as the library says
            return None
        self.streams[at] = stream
        return at

    def release(self, _user, place, at, _count, stream):
        if place == _library.HOST:
            return self.free(at)
        if self.streams.pop(at) != stream:  # the next owner would not wait for this one's last stream
            torch.cuda.synchronize(self.device)
        torch.cuda.caching_allocator_delete(at)


@functools.cache
def memory_of(device):
    return Memory(device)


def new_context(device):
    """One for each matrix: the library's handles of one context are used by one thread at a time."""
    if device < 0:
        return _library.create(lib.spmv_ctx_create, None, _library.ContextOptions(backend=b"omp"))
    allocator = ctypes.addressof(memory_of(device).allocator)
    try:
        return _library.create(lib.spmv_ctx_create, None,
                               _library.ContextOptions(backend=b"cuda", device=device, allocator=allocator))
    except _library.Error as error:
        if error.status != _library.NO_BACKEND:
            raise
        raise _library.Error(f"tensors on a GPU: {error} (a library with CUDA: SPMV_CUDA=1 pip install …)", error.status) from None


def on(device):
    """Makes a GPU the current one."""
    return contextlib.nullcontext() if device < 0 or torch.cuda.current_device() == device else torch.cuda.device(device)


def is_capturing(device):
    return device >= 0 and torch.cuda.is_current_stream_capturing()


def refuse_capture(device):
    """What a first product makes waits for the GPU, which nothing can in a capture."""
    if is_capturing(device):
        raise RuntimeError("spmv.torch: run the product once before it is captured: its plan is made in the first")


def free_bytes(device):
    """Memory for a plan: what the GPU has, and what PyTorch's allocator holds unused."""
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(0.8 * (torch.cuda.mem_get_info(device)[0] + unused))


def free_plan(handle, device, streams):
    """Behind the latest product of the plan."""
    try:
        for stream in streams:
            torch.cuda.ExternalStream(stream, device).synchronize()
    finally:
        lib.spmv_plan_free(handle)


# ---- the library's matrices and plans ---------------------------------------------------------------------------------

captured = set()  # plans of products in CUDA graphs, which do not say when they are gone


class Plan:
    """A kernel that is ready, for vectors of one form."""

    def __init__(self, made, **options):
        self.device, self.context, self.kept = made.device, made.context, made.kept
        self.streams = set()  # the one of the latest product; of a plan without memory of its own all
        refuse_capture(self.device)
        with on(self.device):
            room = 0 if self.device < 0 else free_bytes(self.device)
            options = _library.PlanOptions(precision=made.precision, max_bytes=room, **options)
            self.handle = _library.create(lib.spmv_plan_create, made.context, made.handle, options)
        when_gone(self, free_plan, self.handle, self.device, self.streams)
        facts = _library.PlanFacts()
        _library.check(lib.spmv_plan_info(self.handle, facts), made.context)
        self.facts = facts.as_dict()
        self.is_shared = self.device < 0 or bool(self.facts["concurrent"])  # streams need not wait for each other

    def order_streams(self):
        """The current stream, on which the next product waits for the last one, if it has the plan's memory."""
        stream = stream_of(self.device)
        if is_capturing(self.device):
            captured.add(self)
        elif stream not in self.streams:
            if not self.is_shared:
                for last in self.streams:
                    torch.cuda.current_stream(self.device).wait_stream(torch.cuda.ExternalStream(last, self.device))
                self.streams.clear()
            self.streams.add(stream)
        return stream

    def apply(self, call, stream, y):
        status = lib.spmv_apply(self.handle, call, stream)
        if status:
            _library.check(status, self.context)
        return y


class Made:
    """A matrix in the library: compressed rows and values of one type, in memory that somebody keeps, unless it is copied."""

    def __init__(self, order, shape, values, flags):
        self.device, self.precision, self.plans = values.get_device(), PRECISIONS[values.dtype], {}
        self.kept = () if flags == _library.COPY else (order, values)
        is_volatile = flags == _library.VOLATILE
        refuse_capture(self.device)
        if self.device >= 0:
            torch.cuda.current_stream(self.device).synchronize()  # the arrays are complete
        with on(self.device):
            self.context = new_context(self.device)
            when_gone(self, lib.spmv_ctx_free, self.context)
            view = _library.Arrays(rows=shape[0], cols=shape[1], nnz=len(values), ptr=order.ptr, idx=order.idx,
                                   values=values.data_ptr(), ptr_bits=order.ptr_bits, precision=self.precision, flags=flags,
                                   place=_library.HOST if self.device < 0 else _library.DEVICE,
                                   idx_bits=order.idx_bits if is_volatile else 0)
            self.handle = _library.create(lib.spmv_mat_create, self.context, self.context, view)
        when_gone(self, lib.spmv_mat_free, self.handle)
        self.values_at = values.data_ptr()
        if is_volatile:
            self.kept = order  # the values are those of each product

    def plan(self, key, **options):
        if key not in self.plans:
            self.plans[key] = Plan(self, **options)
        return self.plans[key]

    def read_from(self, values, stream):
        """The next product reads these values."""
        if values.data_ptr() != self.values_at:
            place = _library.HOST if self.device < 0 else _library.DEVICE
            _library.check(lib.spmv_mat_set_values(self.handle, values.data_ptr(), place, stream), self.context)
            self.values_at = values.data_ptr()


class Order:
    """Compressed rows without values. places: where the value of each entry is among those given; None: there, in order.
    own: the arrays are nobody else's, and are kept."""

    def __init__(self, ptr, idx, places=None, own=True):
        self.places, self.kept = places, (ptr, idx) if own else ()
        self.ptr, self.idx = ptr.data_ptr(), idx.data_ptr()
        self.ptr_bits, self.idx_bits = 8 * ptr.element_size(), 8 * idx.element_size()

    def arrange(self, values):
        return values if self.places is None else values[self.places]


def narrow(indices, limit):
    """The same indices, which are checked to be less than a limit, in 32 bits if that has no more."""
    if indices.numel() and not (0 <= int(indices.min()) and int(indices.max()) < limit):
        raise ValueError("spmv.torch: an index is out of range")
    return indices.contiguous() if limit > MOST else indices.to(torch.int32).contiguous()


def version_of(tensor):
    """PyTorch's count of the writes to a tensor, which it has not for those that were made in inference mode."""
    return 0 if tensor.is_inference() else tensor._version


class Entries:
    """What was made of a pattern. It belongs to the memory of two tensors, which it does not keep, and to what they hold."""

    def __init__(self, lines, idx, rows, cols, by_lines, key=None):
        if max(rows, cols) >= MOST:
            raise ValueError(f"spmv.torch: rows and columns must be fewer than 2^31: the shape is {rows, cols}")
        self.shape, self.by_lines, self.device, self.expected = (rows, cols), by_lines, lines.get_device(), EXPECTED
        self.memory = tuple(weakref.ref(each.untyped_storage(), functools.partial(forget, key)) for each in (lines, idx))
        _locks.give(self, make=threading.RLock)
        self.products, self.faster = 0, {}  # under spmv.accelerate: how many, and whether those of one form are faster
        self.begin(lines, idx)

    def begin(self, lines, idx):
        self.versions = version_of(lines), version_of(idx)
        self.orders, self.reading, self.keeping = {}, {}, {}
        self.seen = None  # memory, version and address of the values that were multiplied last
        self.same, self.needed = 0, 0  # products with them; from how many on plans hold them
        self.rows_of = None

    def renew(self, lines, idx):
        """Begins anew if the indices were written to."""
        if (version_of(lines), version_of(idx)) != self.versions:
            self.begin(lines, idx)

    def is_of(self, lines, idx):
        return self.memory[0]() is lines.untyped_storage() and self.memory[1]() is idx.untyped_storage()

    # ---- orders of the entries ----

    def coordinates(self, lines, idx):
        """Row and column of each entry."""
        if not self.by_lines:
            return lines, idx
        if self.rows_of is None:
            counts = lines[1:] - lines[:-1]
            if int(lines[0]) != 0 or int(lines[-1]) != idx.numel() or bool((counts < 0).any()):
                raise ValueError("spmv.torch: offsets do not ascend from 0 to the number of values")
            rows = torch.arange(self.shape[0], dtype=idx.dtype, device=idx.device)
            self.rows_of = torch.repeat_interleave(rows, counts, output_size=idx.numel())
        return self.rows_of, idx

    def order(self, transposed, lines, idx):
        if transposed not in self.orders:
            self.orders[transposed] = self.arranged(transposed, lines, idx)
        return self.orders[transposed]

    def arranged(self, transposed, lines, idx):
        """On a GPU, and where entries are moved, indices are of 32 bits."""
        refuse_capture(self.device)
        if self.by_lines and not transposed:
            if self.device < 0 or idx.dtype == torch.int32:
                return Order(lines, idx, own=False)
            return Order(narrow(lines, idx.numel() + 1), narrow(idx, self.shape[1]))
        col, row = self.coordinates(lines, idx) if transposed else self.coordinates(lines, idx)[::-1]
        places = None
        if bool((row[1:] < row[:-1]).any()):
            places = torch.argsort(row, stable=True)
            row, col = row[places], col[places]
        row = narrow(row, self.shape[transposed])  # checked before it is counted
        ptr = torch._convert_indices_from_coo_to_csr(row, self.shape[transposed])
        return Order(narrow(ptr, idx.numel() + 1), narrow(col, self.shape[not transposed]), places)

    # ---- plans ----

    def find(self, values, lines, idx, transposed, keep, k, layout):
        """The plan of a product, and the matrix that reads values, and which ones; None: the plan holds them."""
        self.renew(lines, idx)
        if keep and self.stay(values):
            return self.kept(values, lines, idx, transposed, k, layout), None, None
        order = self.order(transposed, lines, idx)
        arranged = order.arrange(values)
        made = self.reading.get((transposed, values.dtype))
        if made is None:
            shape = self.shape[::-1] if transposed else self.shape
            made = self.reading[transposed, values.dtype] = Made(order, shape, arranged, _library.VOLATILE)
        return made.plan(None), made, arranged

    def stay(self, values):
        """Says whether these are the values that plans hold, or have stayed so long that plans shall hold them."""
        seen = self.seen
        if seen is None or seen[0]() is not values.untyped_storage() or seen[1] != values._version or seen[2] != values.data_ptr():
            self.needed, self.same, self.keeping = (0 if seen is None else STEADY), 0, {}
            self.seen = weakref.ref(values.untyped_storage()), values._version, values.data_ptr()
        self.same += 1
        return self.same > self.needed

    def kept(self, values, lines, idx, transposed, k, layout):
        made = self.keeping.get(values.dtype)
        if made is None:
            order = self.order(False, lines, idx)
            if order.idx_bits == 64:
                order = Order(narrow(lines, idx.numel() + 1), narrow(idx, self.shape[1]))
            flags = _library.COPY if self.device < 0 else _library.BORROW
            made = self.keeping[values.dtype] = Made(order, self.shape, order.arrange(values), flags)
        vectors, repeatable = 1 << min(max(k - 1, 0).bit_length(), 6), are_repeatable()
        return made.plan((transposed, vectors, layout, repeatable), op=TRANSPOSE if transposed else AS_IS, vectors=vectors,
                         layout=layout, expected_calls=self.expected, reproducible=repeatable)


found = {}  # entries by the addresses of their patterns, and what else they were made for
numbered = weakref.WeakValueDictionary()  # sources by their numbers, which compiled code has


def forget(key, _):
    """One of the tensors of a pattern is gone."""
    entries = found.get(key)
    if entries is not None and any(each() is None for each in entries.memory):
        found.pop(key, None)


def entries_of(lines, idx, rows, cols, by_lines):
    key = (lines.data_ptr(), idx.data_ptr(), lines.numel(), idx.numel(), lines.dtype, idx.dtype, rows, cols, by_lines, lines.get_device())
    entries = found.get(key)
    if entries is None or not entries.is_of(lines, idx):
        entries = found[key] = Entries(lines, idx, rows, cols, by_lines, key)
    return entries


class Source:
    """Tensors that a matrix consists of, and what was made of them. numbers: how the operators are told of it."""

    def __init__(self, values, lines, idx, shape, by_lines, number=0):
        self.values, self.lines, self.idx, self.numbers = values, lines, idx, (*shape, by_lines, number)
        self.entries = entries_of(lines, idx, *shape, by_lines)
        if number:
            numbered[number] = self


# ---- products ---------------------------------------------------------------------------------------------------------

def check_types(values, x):
    if values.dtype not in PRECISIONS or x.dtype != values.dtype:
        raise TypeError(f"spmv.torch: products are in float64 or float32, and those of {values.dtype} and {x.dtype} are not: "
                        "convert one of them")


def check(values, x, rows, cols):
    check_types(values, x)
    if x.layout is not torch.strided or x.dim() not in (1, 2) or x.shape[0] != cols:
        raise ValueError(f"spmv.torch: the matrix is {rows} x {cols}, and the shape of the operand {tuple(x.shape)}")
    if x.device != values.device:
        raise ValueError(f"spmv.torch: the matrix is on {values.device}, and the operand on {x.device}")


def as_it_lies(x):
    """x, or a copy without gaps; how its vectors lie, and the distance of lines. A single vector is a column."""
    if x.dim() == 1 or x.shape[1] == 1:
        return (x if x.shape[0] < 2 or x.stride(0) == 1 else x.contiguous()), COLUMNS, max(x.shape[0], 1)
    (n, k), (row, column) = x.shape, x.stride()
    if column == 1 and row >= k or n == 1 and column == 1:
        return x, ROWS, max(row, k)
    if row == 1 and column >= n:
        return x, COLUMNS, column
    return x.contiguous(), ROWS, k


def room_for(x, layout, rows):
    """An array for the product, which lies as x does."""
    if x.dim() == 1:
        return empty_tensor(x, (rows,))
    k = x.shape[1]
    return empty_tensor(x, (rows, k)) if layout == ROWS or k == 1 else empty_tensor(x, (k, rows)).t()


def run(source, values, x, transposed, keep, out=None):
    """The product, in the library, and its plan if that holds the values. out: where it is written, laid out as x is."""
    entries, lines, idx = source.entries, source.lines, source.idx
    if not values.is_contiguous():
        values, keep = values.contiguous(), False
    rows = entries.shape[transposed]
    x, layout, ldx = as_it_lies(x)
    y = room_for(x, layout, rows) if out is None else out
    k = 1 if x.dim() == 1 else x.shape[1]
    if rows == 0 or k == 0 or x.shape[0] == 0 or idx.numel() == 0:
        return y.zero_(), None
    device, stream = entries.device, None
    call = Call(k=k, layout=layout, x=x.data_ptr(), z=y.data_ptr(), ldx=ldx, ldz=k if layout == ROWS else rows)
    with on(device), entries.lock:
        plan, reading, read = entries.find(values, lines, idx, transposed, keep, k, layout)
        if device >= 0:
            stream = plan.order_streams()
        if reading is not None:
            reading.read_from(read, stream)
            return plan.apply(call, stream, y), None
        if device >= 0:
            return plan.apply(call, stream, y), plan
    return plan.apply(call, None, y), plan  # of any number of threads


class Ready:
    """The latest product of a matrix whose plan holds the values: the next one is of the same form, most likely."""
    __slots__ = ("plan", "source", "dtype", "device", "shape", "values", "indices", "repeatable", "call", "result", "turned", "new")

    @staticmethod
    def of(source, values, x, y, plan):
        """None: the next product takes the long way, too."""
        is_plain = x.is_contiguous() or x.dim() == 2 and x.t().is_contiguous()
        if plan is None or not is_plain or source.lines.is_inference() or source.idx.is_inference():
            return None
        self = Ready()
        self.plan, self.source, self.dtype, self.device, self.shape = plan, source, x.dtype, x.get_device(), x.shape
        self.values, self.indices = (values._version, values.data_ptr()), (source.lines._version, source.idx._version)
        self.repeatable, self.result = are_repeatable(), tuple(y.shape)  # new_empty takes a torch.Size slowly
        self.turned = x.dim() == 2 and x.shape[1] > 1 and not x.is_contiguous()
        self.new = Tensor.new_empty if y.numel() * y.element_size() < LEAST else empty_tensor
        k = x.shape[1] if x.dim() == 2 else 1
        self.call = Call(k=k, layout=COLUMNS if self.turned or k == 1 else ROWS) if k > 1 or self.device >= 0 else None
        return self

    def product(self, x, out, values):
        """None: it is of another form, or values or indices were written to."""
        source = self.source
        if x.dtype is not self.dtype or x.shape != self.shape or x.get_device() != self.device \
                or values._version != self.values[0] or values.data_ptr() != self.values[1] \
                or source.lines._version != self.indices[0] or source.idx._version != self.indices[1] \
                or are_repeatable() is not self.repeatable or not (x.t() if self.turned else x).is_contiguous():
            return None
        if out is None:
            y = self.new(x, self.result[::-1]).t() if self.turned else self.new(x, self.result)
        else:
            y = out
            if y.__class__ is not Tensor or y.dtype is not self.dtype or y.shape != self.result or y.get_device() != self.device \
                    or y.requires_grad and is_grad_enabled() or not (y.t() if self.turned else y).is_contiguous():
                return None
            if y.untyped_storage() is x.untyped_storage():
                return None  # which may overlap
        plan = self.plan
        if self.call is None:
            status = lib.spmv_exec(plan.handle, 1.0, x.data_ptr(), 0.0, y.data_ptr())
            if status:
                _library.check(status, plan.context)
            return y
        call = Call.from_buffer_copy(self.call)
        call.x, call.z = x.data_ptr(), y.data_ptr()
        if self.device < 0:
            return plan.apply(call, None, y)
        with on(self.device), source.entries.lock:
            return plan.apply(call, plan.order_streams(), y)


# ---- the operators ----------------------------------------------------------------------------------------------------

NUMBERS = "int rows, int cols, bool by_lines, int number"
library = torch.library.Library("spmv", "DEF")
library.define(f"product(Tensor values, Tensor lines, Tensor idx, Tensor x, {NUMBERS}, bool transposed, bool keep) -> Tensor")
library.define(f"at_entries(Tensor lines, Tensor idx, Tensor u, Tensor v, {NUMBERS}) -> Tensor")


def pattern_of(lines, idx, rows, cols, by_lines, number):
    """The source of that number, if there still is one: compiled code may bring copies of its tensors. Else another one."""
    source = numbered.get(number)
    if source is not None and source.numbers == (rows, cols, by_lines, number) and source.lines.device == lines.device:
        return source
    if not (lines.is_contiguous() and idx.is_contiguous()):
        raise ValueError("spmv.torch: indices must be contiguous")
    return Source(None, lines, idx, (rows, cols), by_lines)


def product_now(values, lines, idx, x, rows, cols, by_lines, number, transposed, keep):
    check(values, x, *((cols, rows) if transposed else (rows, cols)))
    source = pattern_of(lines, idx, rows, cols, by_lines, number)
    if keep and source.values is not None:
        values = source.values.detach()
    return run(source, values, x, transposed, keep)[0]


def product_like(values, lines, idx, x, rows, cols, by_lines, number, transposed, keep):
    """What tells PyTorch of the result without computing it."""
    check(values, x, *((cols, rows) if transposed else (rows, cols)))
    x, layout, _ = as_it_lies(x)
    return room_for(x, layout, cols if transposed else rows)


def at_entries_now(lines, idx, u, v, rows, cols, by_lines, number):
    """Gathers a bounded part of u and v at a time."""
    source = pattern_of(lines, idx, rows, cols, by_lines, number)
    with source.entries.lock:
        source.entries.renew(source.lines, source.idx)
        row, col = source.entries.coordinates(source.lines, source.idx)
    if u.dim() == 1:
        return u.index_select(0, row).mul_(v.index_select(0, col))
    made = u.new_empty(idx.numel())
    part = max(1, CHUNK // max(1, u.shape[1]))
    for start in range(0, idx.numel(), part):
        at = slice(start, start + part)
        torch.sum(u.index_select(0, row[at]).mul_(v.index_select(0, col[at])), 1, out=made[at])
    return made


def at_entries_like(lines, idx, u, v, rows, cols, by_lines, number):
    return u.new_empty(idx.numel())


for name, now, like in (("product", product_now, product_like), ("at_entries", at_entries_now, at_entries_like)):
    library.impl(name, now, "CPU")
    library.impl(name, now, "CUDA")
    torch.library.register_fake(f"spmv::{name}", like, lib=library)
    for kind in "cpu", "cuda":
        torch.library.register_autocast(f"spmv::{name}", kind, torch.float32, lib=library)
product, at_entries = torch.ops.spmv.product.default, torch.ops.spmv.at_entries.default


def save_product(ctx, inputs, output):
    values, lines, idx, x, *ctx.numbers, ctx.transposed, ctx.keep = inputs
    ctx.save_for_backward(values, lines, idx, x)


def differentiate_product(ctx, g):
    values, lines, idx, x = ctx.saved_tensors
    of_values = of_x = None
    if ctx.needs_input_grad[0]:
        u, v = (x, g) if ctx.transposed else (g, x)
        of_values = entries_of_product(lines, idx, u, v, *ctx.numbers)
    if ctx.needs_input_grad[3]:
        of_x = times(values, lines, idx, g, *ctx.numbers, not ctx.transposed, ctx.keep)
    return of_values, None, None, of_x, None, None, None, None, None, None


def save_at_entries(ctx, inputs, output):
    lines, idx, u, v, *ctx.numbers = inputs
    ctx.save_for_backward(lines, idx, u, v)


def differentiate_at_entries(ctx, g):
    lines, idx, u, v = ctx.saved_tensors
    of_u = times(g, lines, idx, v, *ctx.numbers, False, False) if ctx.needs_input_grad[2] else None
    of_v = times(g, lines, idx, u, *ctx.numbers, True, False) if ctx.needs_input_grad[3] else None
    return None, None, of_u, of_v, None, None, None, None


torch.library.register_autograd("spmv::product", differentiate_product, setup_context=save_product, lib=library)
torch.library.register_autograd("spmv::at_entries", differentiate_at_entries, setup_context=save_at_entries, lib=library)


def one_by_one(operator, in_dims, arguments, size):
    """One call for each of a batch."""
    def at(e):
        return [each if dim is None else each.select(dim, e) for each, dim in zip(arguments, in_dims)]
    return torch.stack([operator(*at(e)) for e in range(size)]), 0


def batch_product(info, in_dims, values, lines, idx, x, *rest):
    """A batch of vectors, or of several each, is one product of several vectors."""
    of_values, of_lines, of_idx, of_x = in_dims[:4]
    if of_lines is not None or of_idx is not None:
        raise ValueError("spmv.torch: vmap of a batch of patterns: the indices must be the same for all")
    if of_values is not None:
        return one_by_one(times, in_dims, (values, lines, idx, x, *rest), info.batch_size)
    x = x.movedim(of_x, -1)
    y = times(values, lines, idx, x.reshape(x.shape[0], math.prod(x.shape[1:])), *rest)
    return y.reshape(y.shape[0], *x.shape[1:]), x.dim() - 1


def batch_at_entries(info, in_dims, *arguments):
    return one_by_one(entries_of_product, in_dims, arguments, info.batch_size)


torch.library.register_vmap("spmv::product", batch_product, lib=library)
torch.library.register_vmap("spmv::at_entries", batch_at_entries, lib=library)


def multiply(values, lines, idx, x, *rest):
    is_plain = type(x) is Tensor and x.dtype is values.dtype and outside()
    return (product_now if is_plain else product)(values, lines, idx, x, *rest)


def differentiable(compute, save, differentiate, batch):
    """An operator with its derivatives, where nothing compiles: those of registered operators take several times as long, and
    torch.func does not know them. Nor does a function whose forward has a context, which is the fast one outside."""
    class UnderTransforms(torch.autograd.Function):
        forward, setup_context, backward, vmap = map(staticmethod, (compute, save, differentiate, batch))

    class Outside(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            save(ctx, inputs, None)
            return compute(*inputs)
        backward = staticmethod(differentiate)

    return lambda *inputs: (Outside if level_of_transforms() is None else UnderTransforms).apply(*inputs)


times_now = differentiable(multiply, save_product, differentiate_product, batch_product)
entries_now = differentiable(at_entries, save_at_entries, differentiate_at_entries, batch_at_entries)


def times(*inputs):
    return (product if is_compiling() else times_now)(*inputs)


def entries_of_product(*inputs):
    return (at_entries if is_compiling() else entries_now)(*inputs)


# ---- the matrix -------------------------------------------------------------------------------------------------------

PRODUCTS = {"matmul", "mv", "mm", "__matmul__"}  # functions of PyTorch's that take a matrix
numbers = iter(range(1, 2**62))


def parts_of(source):
    """Values and indices of a sparse matrix, where they lie, its shape, and whether the first indices are offsets; and whether
    it is the transpose of that: CSC is the transpose of CSR."""
    if not isinstance(source, Tensor):
        return parts_of_scipys(source)
    if source.dim() != 2:
        raise ValueError(f"spmv.torch.matrix: must have two dimensions, not {source.dim()}")
    shape, layout = tuple(source.shape), source.layout
    if layout is torch.sparse_csr:
        return source.values(), source.crow_indices(), source.col_indices(), shape, True, False
    if layout is torch.sparse_csc:
        return source.values(), source.ccol_indices(), source.row_indices(), shape[::-1], True, True
    if layout is torch.sparse_coo and source.sparse_dim() == 2:
        source = source.coalesce() if source.requires_grad else source
        values, at = source.values() if source.requires_grad else source._values(), source._indices()
        return values, at[0], at[1], shape, False, False
    raise TypeError(f"spmv.torch.matrix: must be a CSR, CSC or COO tensor of numbers, and has the layout {layout}")


def parts_of_scipys(source):
    import numpy as np
    import scipy.sparse
    if not scipy.sparse.issparse(source):
        raise TypeError(f"spmv.torch.matrix: must be a sparse tensor of PyTorch's or a sparse matrix of SciPy's, not {type(source).__name__}")
    rows = source.tocsr()
    rows.check_format(full_check=True)
    parts = (torch.from_numpy(np.array(each)) for each in (rows.data[:rows.nnz], rows.indptr, rows.indices[:rows.nnz]))
    return *parts, rows.shape, True, False


class matrix:
    """A sparse matrix A for A @ x, A @ X, A.T @ x and x @ A under PyTorch's transformations.

    source: a sparse tensor of PyTorch's, CSR, CSC or COO, with two dimensions, whose memory is used where it lies; or a sparse
    matrix of SciPy's. expected: number of products that will follow, of which the choice of a kernel may take a share. The
    values are A.values, and are taken to stay: "auto" chooses the kernel. What PyTorch writes to A.values is seen, and so are
    their gradients; A.with_values(v) has other ones, which may change with every product. X has contiguous rows or columns,
    if nothing is to be copied, and the result lies as X does. Products of tensors on a GPU are ordered on the current stream
    and wait for nothing, once the first one of their form has made its plan. Results have the same bits in every run of one
    plan, and under torch.use_deterministic_algorithms(True) in every process."""

    def __init__(self, source, *, expected=EXPECTED):
        self._begin(*parts_of(source), whole("spmv.torch.matrix: expected", expected, 0))

    def _begin(self, values, lines, idx, shape, by_lines, transposed, expected):
        if values.dim() != 1 or values.dtype not in PRECISIONS:
            raise TypeError(f"spmv.torch.matrix: values must be numbers in float64 or float32, not blocks or {values.dtype}")
        lines, idx = lines.detach().contiguous(), idx.detach().contiguous()
        self._source = Source(values if values.requires_grad else values.detach(), lines, idx, shape, by_lines, next(numbers))
        self._source.entries.expected = expected
        self._values, self._transposed, self._ready = self._source.values, transposed, None
        self._keep = not values.is_inference()  # writes to such values are not counted

    def _with(self, values, transposed, keep):
        made = object.__new__(matrix)
        made._source, made._values, made._transposed, made._keep, made._ready = self._source, values, transposed, keep, None
        return made

    values = property(lambda self: self._values)
    dtype = property(lambda self: self._values.dtype)
    device = property(lambda self: self._values.device)
    nnz = property(lambda self: self._values.numel())

    @property
    def shape(self):
        rows, cols = self._source.numbers[:2]
        return (cols, rows) if self._transposed else (rows, cols)

    @property
    def T(self):
        """The transpose, which shares everything."""
        return self._with(self._values, not self._transposed, self._keep)

    t = transpose = lambda self: self.T  # noqa: E731

    def with_values(self, values):
        """The same pattern with other values, in the order of A.values, which products read where they lie."""
        if values.shape != self._values.shape or values.device != self._values.device:
            raise ValueError(f"spmv.torch: there are {self.nnz} values on {self.device}, and the new ones are "
                             f"{tuple(values.shape)} on {values.device}")
        check_types(values, values)
        return self._with(values, self._transposed, False)

    def __matmul__(self, x):
        return self.dot(x)

    def __rmatmul__(self, x):
        A = self.T
        return A.dot(x) if x.dim() == 1 else A.dot(x.t()).t()

    def dot(self, x, out=None):
        """A @ x. out: a tensor of the product's shape, laid out as x is, to which it is written."""
        if not is_compiling():
            values, ready = self._values, self._ready
            if type(x) is Tensor and x.dtype is values.dtype and outside() and not (is_grad_enabled() and (x.requires_grad or values.requires_grad)):
                if ready is not None and (y := ready.product(x, out, values)) is not None:
                    return y
                check(values, x, *self.shape)
                if out is not None:
                    check_out(x, out, self.shape[0])
                y, plan = run(self._source, values.detach() if values.requires_grad else values, x, self._transposed, self._keep, out)
                self._ready = Ready.of(self._source, values, x, y, plan) if self._keep else None
                return y
        if out is not None:
            raise ValueError("spmv.torch: out: no gradients, transformations and conversions pass through a product that is "
                             "written to a tensor")
        if not isinstance(x, Tensor):
            raise TypeError(f"spmv.torch: a product takes a tensor, not {type(x).__name__}")
        source = self._source
        return times(self._values, source.lines, source.idx, x, *source.numbers, self._transposed, self._keep)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        """torch.matmul(A, x), torch.mv, torch.mm and x @ A."""
        if getattr(function, "__name__", None) not in PRODUCTS or kwargs or len(args) != 2:
            return NotImplemented
        if is_compiling() and function.__name__ not in ("mv", "mm"):  # brings the operands of A @ x swapped
            raise TypeError("spmv.torch: torch.compile takes A.dot(x) for A @ x, and A.T.dot(x) for x @ A")
        a, b = args
        return a.dot(b) if isinstance(a, matrix) else b.__rmatmul__(a)

    def to_sparse(self):
        """The tensor of PyTorch's of the same entries, which shares their memory, but for COO's indices."""
        source = self._source
        if not source.entries.by_lines:
            at = torch.stack((source.idx, source.lines) if self._transposed else (source.lines, source.idx))
            return torch.sparse_coo_tensor(at, self._values, self.shape)
        make = torch.sparse_csc_tensor if self._transposed else torch.sparse_csr_tensor
        return make(source.lines, source.idx, self._values, self.shape)

    def __reduce__(self):
        source = self._source
        return rebuilt, (self._values, source.lines, source.idx, source.numbers[:2], source.entries.by_lines, self._transposed,
                         source.entries.expected)

    def to(self, *where):
        """The matrix on another device or of another type, as Tensor.to."""
        source, values = self._source, self._values.to(*where)
        lines, idx = (each.to(values.device) for each in (source.lines, source.idx))
        return rebuilt(values, lines, idx, source.numbers[:2], source.entries.by_lines, self._transposed, source.entries.expected)

    def info(self):
        """Facts of the plans: those of spmv_plan_facts in spmv.h."""
        entries = self._source.entries
        with entries.lock:
            return [{"transposed": transposed, "keeps": True, **plan.facts} for made in entries.keeping.values()
                    for (transposed, *_), plan in made.plans.items()] + \
                   [{"transposed": transposed, "keeps": False, **plan.facts} for (transposed, _), made in entries.reading.items()
                    for plan in made.plans.values()]

    def __repr__(self):
        return f"spmv.torch.matrix({self.shape[0]} x {self.shape[1]}, nnz={self.nnz}, {self.dtype}, {self.device})"


def rebuilt(*parts):
    made = object.__new__(matrix)
    made._begin(*parts)
    return made


def check_out(x, out, rows):
    shape = (rows, *x.shape[1:])
    if type(out) is not Tensor or out.dtype is not x.dtype or out.device != x.device or out.shape != shape \
            or out.stride() != room_strides(x, rows):
        raise ValueError(f"spmv.torch: out: must be a tensor where x is, of shape {shape} and {x.dtype}, laid out as x is")
    begin, end = out.data_ptr(), out.data_ptr() + out.numel() * out.element_size()
    if x.numel() and x.data_ptr() < end and begin < x.data_ptr() + x.untyped_storage().nbytes() - x.storage_offset() * x.element_size():
        raise ValueError("spmv.torch: out: overlaps x")


def room_strides(x, rows):
    if x.dim() == 1:
        return (1,)
    k = x.shape[1]
    return (k, 1) if k == 1 or as_it_lies(x)[1] == ROWS else (1, rows)
