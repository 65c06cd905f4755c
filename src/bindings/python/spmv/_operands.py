"""Dense operands: NumPy arrays and objects that NumPy can view, CuPy arrays, PyTorch tensors, and arrays that these import by
DLPack. The library gets their addresses, with contiguous columns or contiguous rows."""
import contextlib
import importlib
import sys

import numpy as np

from ._library import COLUMNS, ROWS, Call
from ._results import empty

ORDERS = {"C": ROWS, "F": COLUMNS}


def of(x):
    """Returns the operand for x, without copying x."""
    package = type(x).__module__.partition(".")[0]
    if package == "cupy":
        return OfCuPy(x)
    if package == "torch":
        return OfTorch(x) if x.is_cuda else OfTorchOnHost(x)
    if hasattr(x, "__cuda_array_interface__"):
        return of(as_gpu_array(x))
    if hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray):
        return foreign(x)
    return OfNumPy(x)


def foreign(x):
    """Returns the operand for another package's array, by the Python array API; the product is converted back."""
    operand = of(from_dlpack(x))
    if hasattr(x, "__array_namespace__"):
        result, back = operand.result, x.__array_namespace__().from_dlpack
        operand.result = lambda y: back(result(y))
    return operand


def gpu_package():
    """Returns CuPy or else PyTorch, whichever is installed: a package for arrays on a GPU."""
    for name in "cupy", "torch":
        try:
            return importlib.import_module(name)
        except ImportError:
            pass
    raise TypeError("x lies on a GPU: that takes CuPy or PyTorch")


def as_gpu_array(x):
    """Returns another package's GPU array as CuPy's or PyTorch's, without a copy."""
    package = gpu_package()
    return package.asarray(x) if package.__name__ == "cupy" else package.as_tensor(x, device="cuda")


def from_dlpack(x):
    """Returns another package's array as NumPy's, CuPy's or PyTorch's, without a copy."""
    host = 1  # kDLCPU
    if not hasattr(x, "__dlpack_device__"):
        raise TypeError(f"spmv.matrix: a {type(x).__name__} has no memory: inside of jax.jit, grad and vmap, spmv.jax.matrix multiplies")
    package = np if x.__dlpack_device__()[0] == host else gpu_package()
    try:
        return package.from_dlpack(x)
    except BufferError as error:
        raise TypeError(f"spmv.matrix: {getattr(x, 'dtype', type(x).__name__)} is no type of {package.__name__}'s ({error}); "
                        "products are in float64 and float32") from None


def numbers_of(values):
    """Returns values as an array of NumPy or CuPy; accepts PyTorch tensors."""
    if type(values).__module__.partition(".")[0] != "torch":
        return values
    return as_gpu_array(values.detach()) if values.is_cuda else values.detach().numpy()


def current_gpu():
    """Returns the index of the current GPU of PyTorch or CuPy, if one of them is imported."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch and torch.cuda.is_available():
        return torch.cuda.current_device()
    return cupy.cuda.Device().id if cupy else 0


def lying(shape, strides):
    """Returns {layout: leading dimension} of a matrix with these strides, in elements, for the layouts that the library can
    use; the preferred one is first. A single vector is a column."""
    (n, k), (row, column) = shape, strides
    if k == 0 or n == 0:
        return {ROWS: k, COLUMNS: 1} if k > 1 else {COLUMNS: max(n, 1)}
    found = {}
    if k > 1 and column == 1 and (n == 1 or row >= k):
        found[ROWS] = row if n > 1 else k
    if (n == 1 or row == 1) and (k == 1 or column >= n):
        found[COLUMNS] = column if k > 1 else n
    return found


def least(shape, layout):
    """Returns the leading dimension of a contiguous array."""
    return max(shape[1] if layout == ROWS else shape[0], 1)


class Operand:
    """array: an array of the package that computes; shape; dtype: NumPy's; device: index of a GPU, None: host memory.
    A vector is treated as a matrix with one column."""
    device = None
    here = contextlib.nullcontext  # context manager that makes the operand's GPU current

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, tuple(array.shape), array.dtype

    @staticmethod
    def columns(array):
        return array[:, None] if array.ndim == 1 else array

    def layouts(self, array, dtype):
        """Returns the result of lying, or {} if the library cannot use the array."""
        strides = self.strides(array)
        return lying(array.shape, strides) if strides and self.is_of(array, dtype) else {}

    def places(self, array, dtype):
        """Returns the layouts that out may have: those of layouts(); a strided single column counts as rows of one element."""
        row = (self.strides(array) or (0,))[0]
        apart = array.shape[1] == 1 and row > 0 and self.is_of(array, dtype)
        return self.layouts(array, dtype) or ({ROWS: row} if apart else {})

    def room(self, out, shape, dtype):
        """Checks out, and returns the array to which the product is written."""
        if isinstance(out, np.ndarray) and not out.flags.writeable:
            raise ValueError("out: is read-only")
        array = self.native(out)
        if array is None or tuple(array.shape) != shape or not self.places(self.columns(array), dtype):
            raise ValueError(f"out: must be an array where x is, of shape {shape} and {dtype}, with contiguous rows or columns")
        return self.columns(array)

    def call(self, rows, dtype, out):
        """Returns the spmv_call without addresses, x and z. x is copied if it has another type, if neither its rows nor its
        columns are contiguous, or if its layout differs from that of out."""
        x = self.columns(self.array)
        of_x = self.layouts(x, dtype)
        if out is None:
            layout = next(iter(of_x), None) or self.nearest(x)
            z = self.empty((rows, x.shape[1]), dtype, layout)
            ldz = least(z.shape, layout)
        else:
            z = self.room(out, (rows, *self.shape[1:]), dtype)
            of_z = self.places(z, dtype)
            layout = next((each for each in of_z if each in of_x), next(iter(of_z)))
            ldz = of_z[layout]
        ldx = of_x.get(layout)
        if ldx is None or out is not None and self.meet(x, ldx, z, ldz, layout):
            x, ldx = self.copy(x, dtype, layout), least(x.shape, layout)
        return Call(k=x.shape[1], layout=layout, ldx=ldx, ldz=ldz), x, z

    def sums(self, call, w, z, dtype):
        """Requests w'z and z'z in the call; returns w as an array of the package, and the array for both sums."""
        other = of(w)
        w = self.columns(other.array)
        if type(other) is not type(self) or other.device != self.device or tuple(w.shape) != tuple(z.shape):
            raise ValueError(f"w: must be an array where x is, of the product's shape {tuple(z.shape)[:len(self.shape)]}")
        ldw = self.layouts(w, dtype).get(call.layout)
        if ldw is None:
            w, ldw = self.copy(w, dtype, call.layout), least(w.shape, call.layout)
        sums = self.empty((2, call.k), dtype, ROWS)
        call.w, call.ldw, call.dot_wz = self.address(w), ldw, self.address(sums)
        call.dot_zz = call.dot_wz + call.k * self.itemsize(sums)
        return w, sums

    def nearest(self, x):
        """Returns the preferred layout for a copy of an array without a usable layout."""
        row, column = self.strides(x) or (1, 0)
        return COLUMNS if x.shape[1] <= 1 or abs(row) < abs(column) else ROWS

    def meet(self, x, ldx, z, ldz, layout):
        """Returns whether x may overlap z, for several vectors. For a single vector the library checks this."""
        (n, k), (rows, _) = x.shape, z.shape
        of_x, of_z = (k, k) if layout == ROWS else (n, rows)  # elements per line
        lines_x, lines_z = (n, rows) if layout == ROWS else (k, k)
        if k <= 1 or n == 0 or rows == 0:
            return False
        behind = self.address(z) - self.address(x)
        size = self.itemsize(x)
        if behind >= ((lines_x - 1) * ldx + of_x) * size or -behind >= ((lines_z - 1) * ldz + of_z) * size:
            return False
        lie_between = ldx == ldz and behind % size == 0 and of_x <= behind // size % ldx <= ldx - of_z
        return not lie_between

    @staticmethod
    def itemsize(array):
        return array.itemsize

    def result(self, y):
        return y


class OfNumPy(Operand):
    def __init__(self, x):
        super().__init__(np.asarray(x))
        self.is_matrix = isinstance(x, np.matrix)

    @staticmethod
    def strides(array):
        size = array.itemsize
        return None if any(s % size for s in array.strides) else tuple(s // size for s in array.strides)

    @staticmethod
    def address(array):
        return array.__array_interface__["data"][0]

    def is_of(self, array, dtype):
        return array.dtype == dtype and array.flags.aligned

    def copy(self, array, dtype, layout):
        return np.array(array, dtype, order="C" if layout == ROWS else "F")

    def empty(self, shape, dtype, layout):
        return empty(tuple(shape), dtype, "C" if layout == ROWS else "F")

    def native(self, out):
        return out if isinstance(out, np.ndarray) and out.flags.writeable else None

    def multiply(self, plan, call):
        plan.apply(call)

    def result(self, y):
        return np.asmatrix(y) if self.is_matrix else y


class OfTorchOnHost(OfNumPy):
    def __init__(self, x):
        dtype_of(x)
        super().__init__(x.detach().numpy())

    def native(self, out):
        return out.detach().numpy() if isinstance(out, sys.modules["torch"].Tensor) and not out.is_cuda else None

    def result(self, y):
        return sys.modules["torch"].from_numpy(y)


class OfCuPy(Operand):
    def __init__(self, x):
        super().__init__(x)
        self.device = x.device.id

    def here(self):
        is_current = sys.modules["cupy"].cuda.runtime.getDevice() == self.device
        return contextlib.nullcontext() if is_current else self.array.device

    strides = staticmethod(OfNumPy.strides)

    @staticmethod
    def address(array):
        return array.data.ptr

    def is_of(self, array, dtype):
        return array.dtype == dtype

    def copy(self, array, dtype, layout):
        """Allocates from CuPy's pool. Refused during graph capture: the pool would reuse the memory after this call, while
        the graph still uses it."""
        cupy = sys.modules["cupy"]
        if cupy.cuda.get_current_stream().is_capturing():
            raise ValueError("in a captured graph CuPy's operands must have contiguous rows or columns, as out, the product's "
                             "type, and lie apart from out")
        return cupy.array(array, dtype, order="C" if layout == ROWS else "F")

    def empty(self, shape, dtype, layout):
        return sys.modules["cupy"].empty(shape, dtype, order="C" if layout == ROWS else "F")

    def native(self, out):
        return out if type(out) is type(self.array) and out.device.id == self.device else None

    def multiply(self, plan, call):
        stream = sys.modules["cupy"].cuda.get_current_stream()
        plan.apply_on(stream, stream.ptr, stream.is_capturing, call)


types = {}  # NumPy's type for each of PyTorch's


def dtype_of(tensor):
    """Returns NumPy's type for a tensor's elements."""
    found = types.get(tensor.dtype)
    if found is None:
        name = str(tensor.dtype).partition(".")[2]
        try:
            found = types[tensor.dtype] = np.dtype(name)
        except TypeError:
            raise TypeError(f"spmv.matrix: PyTorch's {name} is no type of NumPy's; products are in float64 and float32") from None
    return found


class OfTorch(Operand):
    def __init__(self, x):
        super().__init__(x.detach())
        self.torch = sys.modules["torch"]
        self.device, self.dtype = x.device.index, dtype_of(x)

    def here(self):
        cuda = self.torch.cuda
        return contextlib.nullcontext() if cuda.current_device() == self.device else cuda.device(self.device)

    @staticmethod
    def strides(array):
        return array.stride()

    @staticmethod
    def address(array):
        return array.data_ptr()

    @staticmethod
    def itemsize(array):
        return array.element_size()

    def is_of(self, array, dtype):
        return array.dtype == self.own_dtype(dtype)

    def copy(self, array, dtype, layout):
        made = self.empty(tuple(array.shape), dtype, layout)
        return made.copy_(array)

    def empty(self, shape, dtype, layout):
        like = {"dtype": self.own_dtype(dtype), "device": self.array.device}
        return self.torch.empty(shape, **like) if layout == ROWS else self.torch.empty(shape[::-1], **like).T

    def native(self, out):
        return out.detach() if isinstance(out, self.torch.Tensor) and out.device == self.array.device else None

    def multiply(self, plan, call):
        stream, captures = self.torch.cuda.current_stream(), self.torch.cuda.is_current_stream_capturing
        plan.apply_on(stream, stream.cuda_stream, captures, call)

    def own_dtype(self, dtype):
        return getattr(self.torch, dtype.name)
