"""spmv.accelerate(torch=True): products of PyTorch's sparse tensors in the library, with the tensors of the matrices where they
are.

PyTorch's dispatcher gets a function for each of its kernels of such products (mv, mm, addmm; @, torch.sparse.mm and gradients
lead to them), which calls the kernel that was there where it is better. Dense products are not touched, and autograd, subclasses
and compiled code stand above the kernels.
  On a CPU   all is as for SciPy (_accelerate.py): values and indices are read anew in every product.
  On a GPU   values are read anew. Columns and coordinates are brought to the order of rows, and the pattern in this order is
             kept until PyTorch counts a write to the indices (torch.py): sums are never added by atomic operations."""
import ctypes
import functools
import threading
import warnings

import torch

from ._accelerate import FORMATS, REST, now, plans, ran, why
from ._library import ROWS, Call, lib
from ._results import empty_tensor
from .torch import PRECISIONS, Source, is_capturing, run

if not hasattr(torch.library, "get_kernel"):
    raise ImportError(f"spmv.accelerate: PyTorch {torch.__version__} has no torch.library.get_kernel: torch=True takes 2.10 or newer")

LAYOUTS = {torch.sparse_csr: FORMATS["csr"], torch.sparse_csc: FORMATS["csc"], torch.sparse_coo: FORMATS["coo"]}
FIRST = 4  # products of a matrix on a GPU: from then on a plan, which takes as long as some of them, pays


def parts_of(A):
    """Values, indices, and offsets or the other indices, as _accelerate.FORMATS has them."""
    if A.layout is torch.sparse_csr:
        return A.values(), A.col_indices(), A.crow_indices()
    if A.layout is torch.sparse_csc:
        return A.values(), A.row_indices(), A.ccol_indices()
    row, col = A._indices()
    return A._values(), col, row


def is_product(A, x):
    """Says whether the library may have it: other ones are refused by PyTorch, or are products that it alone has."""
    return x.layout is torch.strided and A.dim() == 2 and x.dim() in (1, 2) and x.shape[0] == A.shape[1] \
        and x.numel() > 0 and A.shape[0] > 0


def has_type(A, x, parts):
    return A.dtype in PRECISIONS and x.dtype is A.dtype and parts[0].dim() == 1 and all(part.is_contiguous() for part in parts)


class Added:
    """What addmm adds to a product: beta * y + alpha * A @ x."""

    def __init__(self, y, beta, alpha):
        self.y, self.beta, self.alpha = y, ctypes.c_double(beta), ctypes.c_double(alpha)

    def to(self, y):
        """The sum, of a product that was made."""
        y = y if self.alpha.value == 1 else y.mul_(self.alpha.value)
        return y if self.beta.value == 0 else y.add_(self.y, alpha=self.beta.value)


# ---- on a CPU ----------------------------------------------------------------------------------------------------------

def on_cpu(A, x, vectors, pytorchs):
    """The product in the library; None: PyTorch made none, and shall."""
    if plans.is_early(A._values().data_ptr() if A.layout is torch.sparse_coo else A.values().data_ptr(), A._nnz() * vectors):
        return None
    me = threading.get_ident()
    if plans.busy.locked():
        why["inside of a product" if plans.multiplies == me else "another thread multiplies"] += 1
        return None
    with plans.busy:
        plans.multiplies = me
        return one(A, x, vectors, pytorchs)


def one(A, x, vectors, pytorchs):
    parts = [part.detach() for part in parts_of(A)]
    if not has_type(A, x, parts):
        why["types"] += 1
        return None
    at, arrays = tuple(part.data_ptr() for part in parts), [part.numpy() for part in parts]
    seen, form = plans.find_at(at, LAYOUTS[A.layout], tuple(A.shape), arrays, vectors), (vectors, x.is_contiguous(), x.dim())
    start = now()
    if not seen.runs:
        y = pytorchs()
        seen.scipy_took(form, now() - start)
        return y
    x, y = x.contiguous(), empty_tensor(x, (A.shape[0], *x.shape[1:]))
    if x.dim() == 1:
        status = lib.spmv_exec(seen.plan, 1.0, x.data_ptr(), 0.0, y.data_ptr())
    else:
        status = lib.spmv_apply(seen.plan, Call(k=vectors, layout=ROWS, x=x.data_ptr(), z=y.data_ptr()), None)
    if status:  # offsets that were changed end elsewhere: PyTorch does what it does then
        why["refused"] += 1
        return None
    ran[0] += 1
    seen.library_took(form, now() - start, REST * plans.threshold)
    return y


# ---- on a GPU ----------------------------------------------------------------------------------------------------------

def on_gpu(A, x, vectors, pytorchs):
    parts = values, idx, lines = [part.detach() for part in parts_of(A)]
    if not has_type(A, x, parts):
        why["types"] += 1
        return None
    if x.device != A.device or A.device.index != torch.cuda.current_device():
        why["another GPU"] += 1
        return None
    transposed = A.layout is torch.sparse_csc
    shape = tuple(A.shape)[::-1] if transposed else tuple(A.shape)
    source = Source(None, lines, idx, shape, A.layout is not torch.sparse_coo)
    entries = source.entries
    form = vectors, x.is_contiguous(), x.dim(), transposed, x.dtype
    library = functools.partial(in_library, source, values, x, transposed)
    if entries.faster.get(form):
        ran[0] += 1
        return library()
    return by_pytorch(entries, form, A._nnz() * vectors, library, pytorchs)


def in_library(source, values, x, transposed):
    return run(source, values, x.contiguous(), transposed, False)[0]


def by_pytorch(entries, form, work, library, pytorchs):
    """A product that PyTorch makes; behind some of them the library's is timed beside it. With a threshold of 0 it is the
    library's at once."""
    entries.products += 1
    at_once = plans.threshold < 1
    if form in entries.faster:
        why["no faster"] += 1
    elif is_capturing(torch.cuda.current_device()) or \
            not at_once and entries.products < FIRST and entries.products * work < plans.threshold:
        why["not yet worth it"] += 1
    else:
        try:
            y = library()
        except Exception:  # its indices are wrong, or there is no memory: PyTorch will say so
            entries.faster[form] = False
            why["refused"] += 1
            return None
        if at_once:
            entries.faster[form] = True
            ran[0] += 1
            return y
        why["not yet worth it"] += 1
        times = [milliseconds(way) for way in (pytorchs, library)]
        entries.faster[form] = times[1] <= times[0]
    return None


def milliseconds(way):
    """The time of a product on the current stream, which runs once before."""
    way()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    way()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


# ---- switching ---------------------------------------------------------------------------------------------------------

PLACES = {"SparseCsrCPU": on_cpu, "SparseCPU": on_cpu, "SparseCsrCUDA": on_gpu, "SparseCUDA": on_gpu}


def times(A, x, multiply, pytorchs):
    """A @ x, by the library or by PyTorch's kernel."""
    if A.layout not in LAYOUTS:
        return pytorchs()
    vectors = 1 if x.dim() == 1 else x.shape[1]
    if A._nnz() * vectors < plans.small:
        plans.few += 1
        return pytorchs()
    if not is_product(A, x):
        return pytorchs()
    y = multiply(A, x, vectors, pytorchs)
    return pytorchs() if y is None else y


def before(kernel, multiply):
    """PyTorch's kernel of mv or mm, with the library's product in front of it."""
    def product(keys, A, x):
        return times(A, x, multiply, lambda: kernel.call_boxed(keys, A, x))
    return product


def before_addmm(kernel, multiply):
    """addmm, whose product is made alone, by the library, if that is faster than PyTorch's addmm."""
    def addmm(keys, y, A, x, *, beta=1, alpha=1):
        def pytorchs():
            return kernel.call_boxed(keys, y, A, x, beta=beta, alpha=alpha)
        if y.layout is not torch.strided or y.dtype is not x.dtype or y.device != x.device:
            return pytorchs()
        made = []

        def alone():
            made.append(pytorchs())
            return made[-1]
        product = times(A, x, multiply, alone)
        if made and product is made[-1]:
            return product
        try:
            return Added(y.expand(product.shape), beta, alpha).to(product)
        except RuntimeError:  # y has another shape, as PyTorch says
            return pytorchs()
    return addmm


class Exchange:
    """The kernels that were exchanged, until they are put back."""

    def __init__(self):
        self.library = None

    def on(self):
        if self.library is not None:
            return
        library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="(?s).*Overriding a previously registered kernel")
            for key, multiply in PLACES.items():
                for name, front in (("mv", before), ("mm", before), ("addmm", before_addmm)):
                    kernel = torch.library.get_kernel(f"aten::{name}", key)
                    library.impl(name, front(kernel, multiply), key, with_keyset=True, allow_override=True)
        self.library = library

    def off(self):
        library, self.library = self.library, None
        if library is not None:
            library._destroy()


exchange = Exchange()
