"""Dense operands: NumPy arrays and what NumPy can view, CuPy arrays, PyTorch tensors, and what these take by DLPack. The
library is given vectors that are contiguous: one, or the columns of a matrix as the rows of its transpose."""
import contextlib
import importlib
import sys

import numpy as np


def of(x):
    """The operand x, which stays where it is."""
    package = type(x).__module__.partition(".")[0]
    if package == "cupy":
        return OfCuPy(x)
    if package == "torch":
        return OfTorch(x) if x.is_cuda else OfTorchOnHost(x)
    if hasattr(x, "__cuda_array_interface__"):
        return of(as_gpu_array(x))
    if hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray):
        return of(from_dlpack(x))
    return OfNumPy(x)


def gpu_package():
    """CuPy or else PyTorch, which compute with arrays that lie on a GPU."""
    for name in "cupy", "torch":
        try:
            return importlib.import_module(name)
        except ImportError:
            pass
    raise TypeError("x lies on a GPU: that takes CuPy or PyTorch")


def as_gpu_array(x):
    """Another package's array as CuPy's or PyTorch's, without a copy."""
    package = gpu_package()
    return package.asarray(x) if package.__name__ == "cupy" else package.as_tensor(x, device="cuda")


def from_dlpack(x):
    """Another package's array as NumPy's, CuPy's or PyTorch's, without a copy."""
    host = 1  # kDLCPU
    return (np if x.__dlpack_device__()[0] == host else gpu_package()).from_dlpack(x)


def current_gpu():
    """The number of the GPU that PyTorch or CuPy, if they are in use, work on just now."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch and torch.cuda.is_available():
        return torch.cuda.current_device()
    return cupy.cuda.Device().id if cupy else 0


class Operand:
    """array: of the package that computes with it; shape; dtype: NumPy's; device: a GPU's number, None: host memory."""
    device = None
    here = contextlib.nullcontext  # makes its GPU the current one

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, tuple(array.shape), array.dtype

    @staticmethod
    def rows(array):
        return array.T if array.ndim == 2 else array[None]

    def room(self, out, shape, dtype):
        """Says where the product's vectors go: into out, unless it is None."""
        if out is None:
            return self.empty(shape[::-1] if len(shape) == 2 else (1, *shape), dtype)
        array = self.native(out)
        if array is None or tuple(array.shape) != shape or not self.is_room(self.rows(array), dtype):
            raise ValueError(f"out: must be an array where x is, of shape {shape} and {dtype}, contiguous by columns")
        return self.rows(array)

    def apart(self, vectors, room):
        """The vectors, copied if a product that is written to room would change the next one's operand. A single vector
        is as it is: the library refuses one that overlaps its product."""
        (x, x_end), (y, y_end) = self.extent(vectors), self.extent(room)
        return self.copy(vectors) if len(vectors) > 1 and x < y_end and y < x_end else vectors


class OfNumPy(Operand):
    def __init__(self, x):
        super().__init__(np.asarray(x))
        self.is_matrix = isinstance(x, np.matrix)

    def vectors(self, dtype):
        return np.require(self.rows(self.array), dtype, "CA")

    @staticmethod
    def extent(array):
        return array.ctypes.data, array.ctypes.data + array.nbytes

    def copy(self, vectors):
        return vectors.copy()

    def empty(self, shape, dtype):
        return np.empty(shape, dtype)

    def native(self, out):
        return out if isinstance(out, np.ndarray) else None

    def is_room(self, array, dtype):
        return array.dtype == dtype and array.flags.carray

    def multiply(self, plan, x, y):
        plan.multiply(x, y)

    def result(self, y):
        return np.asmatrix(y) if self.is_matrix else y


class OfTorchOnHost(OfNumPy):
    def __init__(self, x):
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
        return self.array.device

    def vectors(self, dtype):
        rows = self.rows(self.array)
        return rows if self.is_room(rows, dtype) else self.copy(rows, dtype)

    @staticmethod
    def extent(array):
        return array.data.ptr, array.data.ptr + array.nbytes

    def copy(self, vectors, dtype=None):
        """Allocates in CuPy's pool, which gives the memory to others when the product has returned: a graph would not
        know."""
        cupy = sys.modules["cupy"]
        if cupy.cuda.get_current_stream().is_capturing():
            raise ValueError("in a captured graph CuPy's operands must be contiguous by columns, of the product's type, "
                             "and apart from out")
        return cupy.array(vectors, dtype, order="C")

    def empty(self, shape, dtype):
        return sys.modules["cupy"].empty(shape, dtype)

    def native(self, out):
        return out if type(out) is type(self.array) and out.device.id == self.device else None

    def is_room(self, array, dtype):
        return array.dtype == dtype and array.flags.c_contiguous

    def multiply(self, plan, x, y):
        stream = sys.modules["cupy"].cuda.get_current_stream()
        plan.multiply_on(stream, stream.ptr, stream.is_capturing, x.data.ptr, y.data.ptr)

    def result(self, y):
        return y


class OfTorch(Operand):
    def __init__(self, x):
        super().__init__(x.detach())
        self.device, self.dtype = x.device.index, np.dtype(str(x.dtype).partition(".")[2])
        self.torch = sys.modules["torch"]

    def here(self):
        return self.torch.cuda.device(self.device)

    def vectors(self, dtype):
        return self.rows(self.array).to(self.own_dtype(dtype)).contiguous()

    @staticmethod
    def extent(array):
        return array.data_ptr(), array.data_ptr() + array.numel() * array.element_size()

    def copy(self, vectors):
        return vectors.clone()

    def empty(self, shape, dtype):
        return self.torch.empty(shape, dtype=self.own_dtype(dtype), device=self.array.device)

    def native(self, out):
        return out.detach() if isinstance(out, self.torch.Tensor) and out.device == self.array.device else None

    def is_room(self, array, dtype):
        return array.dtype == self.own_dtype(dtype) and array.is_contiguous()

    def multiply(self, plan, x, y):
        stream, captures = self.torch.cuda.current_stream(), self.torch.cuda.is_current_stream_capturing
        plan.multiply_on(stream, stream.cuda_stream, captures, x.data_ptr(), y.data_ptr())

    def result(self, y):
        return y

    def own_dtype(self, dtype):
        return getattr(self.torch, dtype.name)
