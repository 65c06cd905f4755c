"""Fast path for products of CuPy arrays and PyTorch tensors that the library can read in place, by an existing plan, on the stream
that the matrix uses. All other products use _operands.py."""
import sys

from . import _operands
from ._library import COLUMNS, ROWS, Call, check, lib
from ._results import empty_tensor

ways = {}  # for each type of x a function(A, x, out) that returns the product, or None: use _operands.py


def learn(kind):
    """Adds a fast path for operands of this type, if there is one."""
    if kind not in ways:
        package = kind.__module__.partition(".")[0]
        found = {"cupy": CuPy, "torch": PyTorch}.get(package)
        own = getattr(sys.modules.get(package), {"cupy": "ndarray", "torch": "Tensor"}.get(package, ""), None)
        ways[kind] = way_of(found(sys.modules[package])) if kind is own else None  # subclasses may behave differently


class CuPy:
    def __init__(self, cupy):
        self.ndarray = cupy.ndarray
        self.current, self.stream_of_thread = cupy.cuda.runtime.getDevice, cupy.cuda.get_current_stream

    @staticmethod
    def facts(x):
        """Returns device, type, shape, layout (None if not contiguous) and address. A vector's layout is ROWS."""
        memory = x.data
        layout = ROWS if x.flags.c_contiguous else COLUMNS if x.flags.f_contiguous else None
        return memory.device_id, x.dtype, x.shape, layout, memory.ptr

    def empty(self, like, shape, layout):
        """Returns an array on the current device, and its address."""
        made = self.ndarray(shape, like.dtype, order="C" if layout == ROWS else "F")
        return made, made.data.ptr

    def stream(self, device):
        return self.stream_of_thread().ptr

    is_recorded = None


class PyTorch:
    def __init__(self, torch):
        self.is_grad_enabled, self.dtypes = torch.is_grad_enabled, _operands.types
        internal = torch._C  # private names may change: the public functions below are equivalent, but slower
        self.current = getattr(internal, "_cuda_getDevice", torch.cuda.current_device)
        self.stream = getattr(internal, "_cuda_getCurrentRawStream", lambda device: torch.cuda.current_stream(device).cuda_stream)

    def facts(self, x):
        device, shape = x.get_device(), x.shape
        layout = ROWS if x.is_contiguous() else COLUMNS if len(shape) == 2 and x.T.is_contiguous() else None
        return device if device >= 0 else None, self.dtypes.get(x.dtype), shape, layout, x.data_ptr()

    @staticmethod
    def empty(like, shape, layout):
        made = empty_tensor(like, shape) if layout == ROWS else empty_tensor(like, shape[::-1]).T
        return made, made.data_ptr()

    def is_recorded(self, x):
        return x.requires_grad and self.is_grad_enabled()


def share_bytes(at_x, numbers_x, at_y, numbers_y, size):
    return at_x < at_y + numbers_y * size and at_y < at_x + numbers_x * size


def way_of(package):
    facts, empty, current, stream_on = package.facts, package.empty, package.current, package.stream
    is_recorded, one, one_on = package.is_recorded, lib.spmv_exec, lib.spmv_exec_async

    def several(A, x, out, device, dtype, shape, layout, at_x):
        """A @ X, in the layout of X."""
        rows, cols = A.shape
        if layout is None or len(shape) != 2 or shape[1] < 2 or shape[0] != cols:
            return None
        plan = A._plans[device].get((dtype, layout))
        if plan is None or (device is not None and current() != device):
            return None
        if out is None:
            y, at_y = empty(x, (rows, shape[1]), layout)
        else:
            y = out
            *same, at_y = facts(y)
            if same != [device, dtype, (rows, shape[1]), layout] or \
                    share_bytes(at_x, cols * shape[1], at_y, rows * shape[1], dtype.itemsize):
                return None
        prepared, stream = plan.prepared, None
        with plan.lock if device is None else prepared.lock:
            if device is not None:
                stream = stream_on(device)
                if stream != prepared.queue.address:
                    return None
            ldx, ldz = (shape[1], shape[1]) if layout == ROWS else (cols, rows)
            call = Call(k=shape[1], layout=layout, x=at_x, ldx=ldx, z=at_y, ldz=ldz)
            status = lib.spmv_apply(plan.handle, call, stream)
        if status:
            check(status, prepared.context)
        return y

    def multiply(A, x, out=None):
        if out is not None and type(out) is not type(x):
            return None
        if is_recorded is not None and (is_recorded(x) or out is not None and is_recorded(out)):
            return None
        device, dtype, shape, layout, at_x = facts(x)
        if len(shape) != 1:
            return several(A, x, out, device, dtype, shape, layout, at_x)
        rows, cols = A.shape
        plan = A._plans[device].get(dtype)
        if plan is None or layout is None or shape[0] != cols or (device is not None and current() != device):
            return None
        if out is None:
            y, at_y = empty(x, (rows,), layout)
        else:
            y = out
            of_device, of_dtype, of_shape, of_layout, at_y = facts(y)
            if of_device != device or of_dtype != dtype or of_shape != (rows,) or of_layout is None:
                return None
        prepared = plan.prepared
        with plan.lock:
            if device is None:
                status = one(plan.handle, 1.0, at_x, 0.0, at_y)
            else:
                stream = stream_on(device)
                if stream != prepared.queue.address:
                    return None  # may have to wait for products in another stream
                status = one_on(plan.handle, 1.0, at_x, 0.0, at_y, stream)
        if status:
            check(status, prepared.context)
        return y

    return multiply
