"""The interface of SciPy's sparse matrices for spmv.matrix: classes, operators, methods and attributes, forwarded to SciPy's
matrix with the same entries, A._scipys."""
import functools
import operator

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from ._entries import is_cupys, is_sparse
from ._file import is_file
from ._short import ways

CLASSES = {(kind, format): getattr(scipy.sparse, f"{format}_{kind}")
           for kind in ("array", "matrix") for format in ("csr", "csc")}
sparray = getattr(scipy.sparse, "sparray", scipy.sparse.csr_array.__bases__[0])  # SciPy names it from 1.11 on

CHANGE_IT = "eliminate_zeros", "resize", "set_shape", "setdiag"  # mutating methods, which spmv.matrix refuses
OPERATORS = [f"__{name}__" for name in ("abs", "eq", "ge", "getitem", "gt", "le", "lt", "ne", "round", "str")]
UNLISTED = ["real", "imag", "size", "maxprint", "_deduped_data", "_getnnz"]  # attributes that dir() of a class may omit


def class_of(source):
    """Returns SciPy's class of which a matrix made from source is an instance. Files and triples of NumPy arrays give a csr_array."""
    is_array = isinstance(source, sparray) or is_file(source) or isinstance(source, tuple) and not is_cupys(source[0])
    return CLASSES["array" if is_array else "matrix", "csc" if getattr(source, "format", None) == "csc" else "csr"]


@functools.lru_cache(maxsize=None)
def derived(cls, scipys):
    """Returns a class derived from cls and a class of SciPy's."""
    return type(cls.__name__, (cls, scipys), {"__module__": cls.__module__, "__doc__": cls.__doc__, "_like": scipys})


def defers(x):
    """Returns whether the operators of x decide the result of an expression with a matrix: x sets __array_ufunc__ = None, or is
    not an array, like an expression of CVXPY."""
    if type(x) is np.ndarray or ways.get(type(x)) is not None or np.isscalar(x) or is_sparse(x):
        return False
    if getattr(x, "__array_ufunc__", x) is None and hasattr(x, "__rmatmul__"):
        return True
    if hasattr(x, "__dlpack__") or hasattr(x, "__cuda_array_interface__"):
        return False
    array = np.asanyarray(x)
    return array.ndim == 0 and array.dtype == object


def without(x):
    """Returns SciPy's matrix with the same entries if x is an spmv.matrix, else x."""
    return getattr(x, "_scipys", x) if is_sparse(x) else x


def arrays_of(S):
    """Yields the arrays of SciPy's matrix S."""
    for value in vars(S).values():
        yield from (each for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, np.ndarray))


def apart(result, S):
    """Returns the result of a method of S, copied if it is a sparse matrix that may share arrays with S."""
    if not is_sparse(result):
        return result
    shared = is_cupys(S) or any(np.may_share_memory(a, b) for a in arrays_of(result) for b in arrays_of(S))
    return result.copy() if shared else result


def read_only(array):
    """Returns a read-only view. CuPy has none: returns a copy."""
    if is_cupys(array):
        return array.copy()
    view = array.view()
    view.flags.writeable = False
    return view


class Forwarded:
    """Descriptor that forwards an attribute or a method to SciPy's matrix. Sparse results share no arrays with it."""

    def __init__(self, name):
        self.name = name

    def __get__(self, A, kind=None):
        if A is None:
            return getattr(scipy.sparse.csr_matrix, self.name, self)
        S = A._scipys
        found = getattr(S, self.name)
        if not callable(found):
            return apart(found, S)

        @functools.wraps(found)
        def method(*arguments, **options):
            return apart(found(*map(without, arguments), **options), S)
        return method


def refused(name):
    """Returns a method that refuses an operation that would modify SciPy's matrix."""
    def method(self, *_, **__):
        raise TypeError(f"spmv.matrix: {name} changes entries. Change a copy, A.tocsr(), or set A.values")
    return method


def read_only_array(name):
    """Property for an array of SciPy's matrix. Packages that convert matrices assign arrays, like scikit-learn's SVC: equal
    elements are accepted, others refused."""
    def assign(self, new):
        own = getattr(self._scipys, name)
        if new is not own and not np.array_equal(own, new, equal_nan=own.dtype.kind in "fc"):
            raise TypeError(f"spmv.matrix: A.{name} = ... changes entries. Change a copy, A.tocsr(), or set A.values")
    return property(lambda self: read_only(getattr(self._scipys, name)), assign)


def operation(operate, reflected=False):
    """Returns the method of a binary operator. A sparse result becomes an spmv.matrix."""
    def method(self, other):
        if isinstance(other, LinearOperator):
            S = aslinearoperator(self)
        elif defers(other):
            return NotImplemented
        else:
            S, other = self._scipys, without(other)
        return self._result(operate(other, S) if reflected else operate(S, other))
    return method


class Sparse:
    """Base class. Derived classes define _scipys; _result(x), which makes x an spmv.matrix if sparse; @, transpose, conjugates."""

    __array_priority__ = 101  # higher than CuPy's arrays: x @ A calls A's method
    format = _format = property(lambda self: self._scipys.format)
    data, indices, indptr = map(read_only_array, ("data", "indices", "indptr"))

    __setitem__ = refused("A[...] = ...")

    def __iter__(self):
        S = self._scipys
        return (apart(row, S) for row in S)

    def __neg__(self):
        return self._result(-self._scipys)

    def __mul__(self, x):
        """The matrix product if * is that for the source (csr_matrix), else the elementwise product (csr_array)."""
        if isinstance(self, sparray) or np.ndim(x) == 0:
            return self._times(x)
        return NotImplemented if defers(x) else self @ x

    def __rmul__(self, x):
        return self._times(x) if isinstance(self, sparray) or np.ndim(x) == 0 else self.__rmatmul__(x)

    def _not_in_place(self, other):
        """A += B is evaluated as A = A + B."""
        return NotImplemented

    __iadd__ = __isub__ = __imul__ = __itruediv__ = _not_in_place
    __add__, __radd__ = operation(operator.add), operation(operator.add, reflected=True)
    __sub__, __rsub__ = operation(operator.sub), operation(operator.sub, reflected=True)
    __truediv__, __rtruediv__ = operation(operator.truediv), operation(operator.truediv, reflected=True)
    __pow__, _times = operation(operator.pow), operation(operator.mul)

    def sum_duplicates(self):
        """Does nothing: entries are always sorted and summed."""

    sort_indices = prune = sum_duplicates


def complete(cls):
    """Class decorator: adds SciPy's methods and attributes that the class does not define."""
    names = {name for S in CLASSES.values() for name in dir(S) if not name.startswith("_")}
    names -= {name for base in cls.__mro__[:-1] for name in vars(base)} | {"get_shape", "getformat"}  # of shape and format
    for name in names.union(OPERATORS, UNLISTED):
        setattr(cls, name, refused(name) if name in CHANGE_IT else Forwarded(name))
    return cls
