"""libspmv.so through ctypes (which releases the GIL): the structs and functions of spmv.h that the package uses."""
import contextlib
import ctypes
import os
import pathlib
import re
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, c_void_p

F64, F32 = 0, 1
HOST, DEVICE = 0, 1
COPY, BORROW, VOLATILE = 0, 1, 8
UNSUITABLE, NO_BACKEND = -7, -8
AS_IS, TRANSPOSE = 1, 2
COLUMNS, ROWS = 1, 2


class Error(RuntimeError):
    """A call of the library failed. str(): the library's message; .status: the status code."""

    def __init__(self, text, status):
        super().__init__(text)
        self.status = status

    def __reduce__(self):
        return type(self), (*self.args, self.status)


class Sized(ctypes.Structure):
    """A struct whose first member is its size."""

    def __init__(self, **members):
        super().__init__(size=ctypes.sizeof(self), **members)


class ContextOptions(Sized):
    _fields_ = [("size", c_size_t), ("backend", c_char_p), ("device", c_int), ("threads", c_int),
                ("wisdom", c_char_p), ("allocator", c_void_p), ("max_unpacked", c_size_t)]


class Arrays(Sized):
    _fields_ = [("size", c_size_t), ("rows", c_int64), ("cols", c_int64), ("nnz", c_int64), ("ptr", c_void_p),
                ("idx", c_void_p), ("values", c_void_p), ("ptr_bits", c_int), ("base", c_int), ("precision", c_int),
                ("symmetry", c_int), ("by_columns", c_int), ("flags", c_uint), ("place", c_int), ("line", c_void_p),
                ("block_rows", c_int), ("block_cols", c_int), ("idx_bits", c_int)]


class Rows(Sized):
    _fields_ = [("size", c_size_t), ("rows", c_int64), ("cols", c_int64), ("nnz", c_int64), ("row_ptr", c_void_p),
                ("col_idx", c_void_p), ("values", c_void_p)]


class PlanOptions(Sized):
    _fields_ = [("size", c_size_t), ("kernel", c_char_p), ("precision", c_int), ("offset_bits", c_int),
                ("max_bytes", c_size_t), ("settings", c_void_p), ("nsettings", c_int), ("expected_calls", c_int64),
                ("nondeterministic", c_int), ("cache", c_int), ("threads", c_int),
                ("scalars", c_int), ("refill", c_int), ("op", c_int), ("vectors", c_int64), ("layout", c_int),
                ("concurrent", c_int), ("reproducible", c_int)]


class Setting(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_int64)]


class PlanFacts(Sized):
    _fields_ = [("size", c_size_t), ("backend", c_char_p), ("kernel", c_char_p), ("format", c_char_p), ("values", c_char_p),
                ("offset_bits", c_int), ("slots", c_int64), ("store_bytes", c_size_t), ("host_bytes", c_size_t),
                ("device_bytes", c_size_t), ("scratch_bytes", c_size_t), ("traffic_bytes", c_size_t),
                ("convert_s", c_double), ("upload_s", c_double), ("prepare_s", c_double), ("from_rows_s", c_double),
                ("once_s", c_double), ("reason", c_char_p), ("tune_s", c_double), ("timed", c_int),
                ("baseline", c_char_p), ("chosen_product_s", c_double), ("baseline_product_s", c_double),
                ("flush_bytes", c_size_t), ("wisdom", c_char_p), ("free_bytes", c_size_t), ("note", c_char_p),
                ("threads", c_int), ("concurrent", c_int), ("refills", c_int), ("waits_asleep", c_int),
                ("peak_host_bytes", c_size_t), ("peak_device_bytes", c_size_t), ("transposed_kernel", c_char_p),
                ("transposed_format", c_char_p), ("transposed_store_bytes", c_size_t), ("transposed_scratch_bytes", c_size_t),
                ("reproducible", c_int), ("made_s", c_double)]

    def as_dict(self):
        values = {name: getattr(self, name) for name, *_ in self._fields_[1:]}
        return {k: v.decode(errors="replace") if isinstance(v, bytes) else v for k, v in values.items()}


class Call(Sized):
    _fields_ = [("size", c_size_t), ("alpha", c_void_p), ("beta", c_void_p), ("alpha_f32", c_void_p), ("beta_f32", c_void_p),
                ("x", c_void_p), ("y", c_void_p), ("z", c_void_p), ("k", c_int64), ("ldx", c_int64), ("ldy", c_int64),
                ("ldz", c_int64), ("layout", c_int), ("op", c_int), ("w", c_void_p), ("ldw", c_int64), ("dot_wz", c_void_p),
                ("dot_zz", c_void_p)]


PROTOTYPES = {
    "spmv_version": (c_char_p,),
    "spmv_ctx_create": (c_int, POINTER(ContextOptions), POINTER(c_void_p)),
    "spmv_ctx_free": (None, c_void_p),
    "spmv_ctx_threads": (c_int, c_void_p),
    "spmv_ctx_error": (c_char_p, c_void_p),
    "spmv_backend_available": (c_int, c_char_p),
    "spmv_mat_create": (c_int, c_void_p, POINTER(Arrays), POINTER(c_void_p)),
    "spmv_mat_load": (c_int, c_void_p, c_char_p, c_void_p, POINTER(c_void_p)),
    "spmv_mat_rows": (c_int, c_void_p, POINTER(Rows)),
    "spmv_mat_set_values": (c_int, c_void_p, c_void_p, c_int, c_void_p),
    "spmv_mat_free": (None, c_void_p),
    "spmv_plan_create": (c_int, c_void_p, POINTER(PlanOptions), POINTER(c_void_p)),
    "spmv_plan_free": (None, c_void_p),
    "spmv_plan_info": (c_int, c_void_p, POINTER(PlanFacts)),
    "spmv_exec": (c_int, c_void_p, c_double, c_void_p, c_double, c_void_p),
    "spmv_exec_async": (c_int, c_void_p, c_double, c_void_p, c_double, c_void_p, c_void_p),
    "spmv_apply": (c_int, c_void_p, POINTER(Call), c_void_p),
}


@contextlib.contextmanager
def short_spin():
    """Shortens the spinning of OpenMP threads, which lasts milliseconds after a product: between products NumPy needs the cores.
    30 us suffice for a product that follows at once. The runtime reads the setting when it is loaded."""
    chosen = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & set(os.environ)
    if not chosen:
        os.environ["GOMP_SPINCOUNT"] = "1000"
    try:
        yield
    finally:
        if not chosen:
            del os.environ["GOMP_SPINCOUNT"]


def load():
    path = os.environ.get("SPMV_LIBRARY") or pathlib.Path(__file__).with_name("libspmv.so")
    try:
        with short_spin():
            found = ctypes.CDLL(os.fspath(path))
    except OSError as error:
        raise ImportError(f"spmv: {error}. pip install builds it; SPMV_LIBRARY names another one") from error
    for name, (result, *arguments) in PROTOTYPES.items():
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
    return found


lib = load()


def check(status, context):
    """Raises Error with the context's message if status is not OK. context None: message of this thread's last call without a
    context. Renames members of option structs to the arguments' names, and the product's array to out."""
    if status != 0:
        text = lib.spmv_ctx_error(context).decode(errors="replace")
        text = re.sub(r"^spmv_(?:exec|apply): [yz], (.*?) at \S+, overlaps x, .*", r"out, \1, overlaps x", text)
        raise Error(re.sub(r"\bspmv_\w+_opts\.", "", text), status)


def create(function, context, *arguments):
    """Calls a function of the library; returns the handle that it writes to its last argument."""
    handle = c_void_p()
    check(function(*arguments, byref(handle)), context)
    return handle.value
