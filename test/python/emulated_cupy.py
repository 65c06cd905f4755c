"""This stands for CuPy over the memory of the emulated GPU (make emulated), which NumPy reads and writes. It has the arrays that the
package asks for, and sparse matrices whose products NumPy computes. install() puts it where CuPy would be."""
import ctypes
import sys
import time
import types
import weakref

import numpy as np
import scipy.sparse

from spmv import _library
from spmv._library import lib

OPEN = 1 << 19  # bytes: of arrays that are not smaller the host may have the memory


def a_plan():
    """One of the emulated GPU, by which its memory is allocated."""
    context = _library.create(lib.spmv_ctx_create, None, _library.ContextOptions(backend=b"cuda"))
    one = np.ones(2, np.int64)
    view = _library.Arrays(rows=1, cols=1, nnz=0, ptr=np.zeros(2, np.int64).ctypes.data, idx=one.ctypes.data,
                           values=one.ctypes.data, ptr_bits=64)
    matrix = _library.create(lib.spmv_mat_create, context, context, view)
    return _library.create(lib.spmv_plan_create, context, matrix, _library.PlanOptions(kernel=b"csr_thread"))


class Device:
    id = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


class Pointer:
    device_id = 0

    def __init__(self, array):
        self.ptr = array.ctypes.data


class ndarray(np.ndarray):
    __module__ = "cupy"
    plan = None

    def __new__(cls, shape, dtype=float, order="C"):
        ndarray.plan = ndarray.plan or a_plan()
        dtype, at = np.dtype(dtype), ctypes.c_void_p()
        bytes = max(OPEN, int(np.prod(shape)) * dtype.itemsize)
        assert lib.spmv_plan_alloc(ctypes.c_void_p(ndarray.plan), ctypes.c_size_t(bytes), ctypes.byref(at)) == 0
        memory = (ctypes.c_char * bytes).from_address(at.value)
        weakref.finalize(memory, lib.spmv_plan_release, ctypes.c_void_p(ndarray.plan), at).atexit = False
        return super().__new__(cls, shape, dtype, memory, order=order)

    data = property(Pointer)
    device = property(lambda self: Device())


def array(x, dtype=None, order="C"):
    x = np.asarray(x, dtype)
    made = ndarray(x.shape, x.dtype, order=order)
    made[...] = x
    return made


def asarray(x):
    return x if type(x) is ndarray else array(x)


def ascontiguousarray(x):
    return x if x.flags.c_contiguous else array(x)


def asfortranarray(x):
    return x if x.flags.f_contiguous else array(x, order="F")


def asnumpy(x):
    return np.array(x).view(np.ndarray)


class Stream:
    ptr = 0

    def is_capturing(self):
        return False

    def synchronize(self):
        pass


class Event:
    def record(self):
        self.at = time.perf_counter()

    def synchronize(self):
        pass


class matrix:
    ndim = 2

    def __init__(self, S):
        S = S.asformat(self.format)
        self.shape, self.dtype = S.shape, S.dtype
        for name in self.names:
            setattr(self, name, array(getattr(S, name)))

    def on_host(self):
        arrays = [asnumpy(getattr(self, name)) for name in self.names]
        return self.host((arrays[0], tuple(arrays[1:])) if self.format == "coo" else tuple(arrays), shape=self.shape)

    def sum_duplicates(self):
        pass

    def _matmul_dispatch(self, other):
        return array(self.on_host().toarray() @ asnumpy(other), order="F")

    def __matmul__(self, other):
        return self._matmul_dispatch(other)

    dot = __matmul__

    @property
    def T(self):
        turned = object.__new__({"csr": csc_matrix, "csc": csr_matrix, "coo": coo_matrix}[self.format])
        turned.shape = self.shape[::-1]
        for name, own in zip(turned.names, self.names if self.format != "coo" else ("data", "col", "row")):
            setattr(turned, name, getattr(self, own))
        return turned


class csr_matrix(matrix):
    format, names, host = "csr", ("data", "indices", "indptr"), scipy.sparse.csr_matrix


class csc_matrix(matrix):
    format, names, host = "csc", ("data", "indices", "indptr"), scipy.sparse.csc_matrix


class coo_matrix(matrix):
    format, names, host = "coo", ("data", "row", "col"), scipy.sparse.coo_matrix


def install():
    cupy, here = types.ModuleType("cupy"), globals()
    cupy.empty = ndarray
    for name in "ndarray", "array", "asarray", "ascontiguousarray", "asfortranarray", "asnumpy":
        setattr(cupy, name, here[name])
    runtime = types.SimpleNamespace(getDevice=lambda: 0, deviceSynchronize=lambda: None)
    cupy.cuda = types.SimpleNamespace(runtime=runtime, Device=Device, get_current_stream=Stream, Event=Event,
                                      get_elapsed_time=lambda begin, end: 1e3 * (end.at - begin.at))
    cupyx, scipys, sparse = (types.ModuleType(name) for name in ("cupyx", "cupyx.scipy", "cupyx.scipy.sparse"))
    cupyx.scipy, scipys.sparse = scipys, sparse
    for kind in csr_matrix, csc_matrix, coo_matrix:
        setattr(sparse, kind.__name__, kind)
    for module in cupy, cupyx, scipys, sparse:
        sys.modules[module.__name__] = module
