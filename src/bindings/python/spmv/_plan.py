"""A matrix in the library on one device, and its plans."""
import contextlib
import ctypes
import operator
import weakref
from numbers import Integral

import numpy as np

from . import _library, _locks
from ._library import lib

PRECISIONS = {np.dtype(np.float64): _library.F64, np.dtype(np.float32): _library.F32}
numbers = (ctypes.c_char * 0).from_buffer  # for addresses of contiguous writable arrays; faster than x.ctypes.data


def address(array):
    return array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr


def place(array):
    return _library.HOST if isinstance(array, np.ndarray) else _library.DEVICE


def check_name(name, value, what):
    """Raises an error unless the value is a valid C string."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}, must be {what}")
    if "\0" in value or not value.isascii():
        raise ValueError(f"{name} is {value!r}: there is none")


def whole(name, value, least=None, bits=64):
    """Returns the argument as an integer that fits into `bits` bits and is at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}, must be an integer") from None
    if not -2 ** (bits - 1) <= number < 2 ** (bits - 1):
        raise ValueError(f"{name} is {number}, must be an integer of {bits} bits")
    if least is not None and number < least:
        raise ValueError(f"{name} is {number}, must be {least} or more")
    return number


def truth(name, value):
    """Returns the argument as a bool; accepts 0 and 1. Other values were probably meant for another parameter."""
    if not isinstance(value, (bool, np.bool_, Integral)) or value not in (0, 1):
        raise TypeError(f"{name} is {value!r}, must be True or False")
    return bool(value)


def settings_of(settings):
    """Returns the settings of a plan as {name: integer}."""
    if settings is None:
        return {}
    if not hasattr(settings, "items"):
        raise TypeError(f"settings is {settings!r}, must be a dictionary of parameters and integers, as {{'sigma': 32}}")
    for name in settings:
        check_name("a name in settings", name, "that of a parameter, as 'sigma'")
    return {name: whole(f"settings[{name!r}]", value) for name, value in settings.items()}


class Queue:
    """The stream of CuPy or PyTorch that products of a matrix use; one stream at a time."""
    stream, address = None, None

    def enter(self, stream, address, captures):
        """Switches to a stream. captures(): whether the stream captures a graph, in which waiting is not possible."""
        if address == self.address:
            return
        if not captures():
            self.wait()
        self.stream, self.address = stream, address

    def wait(self):
        if self.stream is not None:
            self.stream.synchronize()


def free_plan(handle, queue):
    queue.wait()
    lib.spmv_plan_free(handle)


def when_gone(owner, free, *handles):
    """Frees the handles, latest first, when the owner is deleted, but not at exit: a thread may multiply until the very end."""
    weakref.finalize(owner, free, *handles).atexit = False


class Prepared:
    """A matrix in the library, created from compressed rows (values, indices, offsets), arrays of NumPy, or of CuPy on that
    device. device: index of a GPU; None: the CPU. Keeps references to the arrays, which the library may borrow."""

    def __init__(self, shape, arrays, device):
        self.device, self.arrays = device, arrays
        values, idx, ptr = arrays
        self.queue = Queue()
        _locks.give(self)
        options = _library.ContextOptions(backend=b"omp" if device is None else b"cuda", device=device or 0)
        try:
            self.context = _library.create(lib.spmv_ctx_create, None, options)
        except _library.Error as error:
            if device is None or error.status != _library.NO_BACKEND:
                raise
            raise _library.Error(f"operands on a GPU: {error} (a library with CUDA: SPMV_CUDA=1 pip install …)", error.status) from None
        when_gone(self, lib.spmv_ctx_free, self.context)
        view = _library.Arrays(rows=shape[0], cols=shape[1], nnz=len(values), ptr=address(ptr), idx=address(idx),
                               values=address(values), ptr_bits=8 * ptr.itemsize, precision=PRECISIONS[values.dtype],
                               place=place(values), flags=_library.BORROW)
        self.handle = _library.create(lib.spmv_mat_create, self.context, self.context, view)
        when_gone(self, lib.spmv_mat_free, self.handle)

    def set_values(self, values):
        """Sets the values of all plans. Returns False if one plan cannot take new values; all plans then keep the old ones."""
        with self.lock:
            self.queue.wait()  # products may still read the old values, which are freed
            status = lib.spmv_mat_set_values(self.handle, address(values), place(values), self.queue.address)
        if status == _library.UNSUITABLE:
            return False
        _library.check(status, self.context)
        self.arrays = values, *self.arrays[1:]
        return True


class Plan:
    """A kernel that multiplies by op(A), for about `vectors` vectors of dtype at a time in this layout. On a GPU other threads
    wait for a product to be launched, unless the plan is concurrent; on a CPU the library handles concurrency."""

    def __init__(self, prepared, dtype, op=_library.AS_IS, vectors=1, layout=_library.COLUMNS, expected=0, kernel="auto",
                 refill=False, settings=None, threads=0, max_bytes=0):
        self.settings, self.threads = settings_of(settings), whole("threads", threads, bits=32)
        vectors, expected, max_bytes = whole("vectors", vectors, 1), whole("expected", expected, 0), whole("max_bytes", max_bytes, 0)
        pairs = (_library.Setting * len(self.settings))(*((name.encode(), value) for name, value in self.settings.items()))
        self.prepared, self.dtype, self.vectors, self.layout = prepared, dtype, vectors, layout
        self.expected, self.kernel, self.refill, self.max_bytes = expected, kernel, truth("refill", refill), max_bytes
        options = _library.PlanOptions(kernel=kernel.encode(), precision=PRECISIONS[dtype], expected_calls=expected,
                                       refill=self.refill, op=op, vectors=vectors, layout=layout, threads=self.threads,
                                       max_bytes=max_bytes,
                                       settings=ctypes.cast(pairs, ctypes.c_void_p) if self.settings else None,
                                       nsettings=len(self.settings))
        self.handle = _library.create(lib.spmv_plan_create, prepared.context, prepared.handle, options)
        when_gone(self, free_plan, self.handle, prepared.queue)
        facts = self.facts()
        if (facts["backend"] == "omp") != (prepared.device is None):
            raise ValueError(f"{kernel} is not a kernel of the device that the operands are on")
        self.lock = contextlib.nullcontext() if prepared.device is None or facts["concurrent"] else prepared.lock

    def said(self):
        """What the user said that holds for other plans of the matrix, too."""
        return {"kernel": self.kernel, "refill": self.refill, "settings": self.settings, "threads": self.threads,
                "max_bytes": self.max_bytes}

    def order(self):
        return "C" if self.layout == _library.ROWS else "F"

    def facts(self):
        facts = _library.PlanFacts()
        _library.check(lib.spmv_plan_info(self.handle, facts), self.prepared.context)
        return facts.as_dict()

    def multiply(self, x, y, multiply=lib.spmv_exec):
        """y <- op(A) x for contiguous NumPy arrays; passing a read-only x is slower."""
        at_x = numbers(x) if x.flags.writeable else x.ctypes.data
        status = multiply(self.handle, 1.0, at_x, 0.0, numbers(y))
        if status:
            _library.check(status, self.prepared.context)

    def apply(self, call):
        """Runs a product of any vectors in host memory."""
        _library.check(lib.spmv_apply(self.handle, call, None), self.prepared.context)

    def apply_on(self, stream, address, captures, call):
        """Runs a product of vectors on the plan's GPU, ordered on the stream at this address."""
        with self.lock:
            self.prepared.queue.enter(stream, address, captures)
            status = lib.spmv_apply(self.handle, call, address)
        _library.check(status, self.prepared.context)
