"""What spmv.matrix has of SciPy's sparse matrices: their classes, operators, methods and attributes. Each is that of a matrix
of SciPy's with the same entries, A._scipys."""
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

CHANGE_IT = "eliminate_zeros", "resize", "set_shape", "setdiag"  # methods that spmv.matrix does not have
OPERATORS = [f"__{name}__" for name in ("abs", "eq", "ge", "getitem", "gt", "le", "lt", "ne", "round", "str")]
UNLISTED = ["real", "imag", "size", "maxprint", "_deduped_data", "_getnnz"]  # dir() of a class may lack them


def class_of(source):
    """The class of SciPy's that a matrix made of source is an instance of. A file, and three arrays of NumPy's, make a csr_array."""
    is_array = isinstance(source, sparray) or is_file(source) or isinstance(source, tuple) and not is_cupys(source[0])
    return CLASSES["array" if is_array else "matrix", "csc" if getattr(source, "format", None) == "csc" else "csr"]


@functools.lru_cache(maxsize=None)
def derived(cls, scipys):
    """The class of matrices that are instances of cls and of a class of SciPy's."""
    return type(cls.__name__, (cls, scipys), {"__module__": cls.__module__, "__doc__": cls.__doc__, "_like": scipys})


def defers(x):
    """True if the operators of x decide what an expression of x and a matrix is: x says so by __array_ufunc__ = None, or
    is not an array, as an expression of CVXPY."""
    if type(x) is np.ndarray or ways.get(type(x)) is not None or np.isscalar(x) or is_sparse(x):
        return False
    if getattr(x, "__array_ufunc__", x) is None and hasattr(x, "__rmatmul__"):
        return True
    if hasattr(x, "__dlpack__") or hasattr(x, "__cuda_array_interface__"):
        return False
    array = np.asanyarray(x)
    return array.ndim == 0 and array.dtype == object


def without(x):
    """SciPy's matrix of the same entries if x is an spmv.matrix, else x."""
    return getattr(x, "_scipys", x) if is_sparse(x) else x


def arrays_of(S):
    """The arrays that a matrix of SciPy's consists of."""
    for value in vars(S).values():
        yield from (each for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, np.ndarray))


def apart(result, S):
    """The result of a method of S, copied if it is a matrix that may share arrays with S."""
    if not is_sparse(result):
        return result
    shared = is_cupys(S) or any(np.may_share_memory(a, b) for a in arrays_of(result) for b in arrays_of(S))
    return result.copy() if shared else result


def read_only(array):
    """A view that cannot be written to. CuPy has none: a copy."""
    if is_cupys(array):
        return array.copy()
    view = array.view()
    view.flags.writeable = False
    return view


class Forwarded:
    """An attribute or a method of SciPy's matrices. Sparse results have arrays of their own."""

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
    """A method in the place of one that changes a matrix of SciPy's."""
    def method(self, *_, **__):
        raise TypeError(f"spmv.matrix: {name} changes entries. Change a copy, A.tocsr(), or set A.values")
    return method


def read_only_array(name):
    """An array of SciPy's matrix. Packages that convert the arrays of a matrix assign them, as scikit-learn's SVC does:
    the same numbers change nothing, and others are refused."""
    def assign(self, new):
        own = getattr(self._scipys, name)
        if new is not own and not np.array_equal(own, new, equal_nan=own.dtype.kind in "fc"):
            raise TypeError(f"spmv.matrix: A.{name} = ... changes entries. Change a copy, A.tocsr(), or set A.values")
    return property(lambda self: read_only(getattr(self._scipys, name)), assign)


def operation(operate, reflected=False):
    """The method of an operator with two operands. A sparse result is an spmv.matrix."""
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
    """Derived classes have _scipys; _result(x), an spmv.matrix if x is sparse; @, the transpose and conjugates."""

    __array_priority__ = 101  # above CuPy's arrays: x @ A is A's
    format = _format = property(lambda self: self._scipys.format)
    data, indices, indptr = map(read_only_array, ("data", "indices", "indptr"))

    __setitem__ = refused("A[...] = ...")

    def __iter__(self):
        S = self._scipys
        return (apart(row, S) for row in S)

    def __neg__(self):
        return self._result(-self._scipys)

    def __mul__(self, x):
        """The product if * of the source is that, as of csr_matrix, else element by element, as of csr_array."""
        if isinstance(self, sparray) or np.ndim(x) == 0:
            return self._times(x)
        return NotImplemented if defers(x) else self @ x

    def __rmul__(self, x):
        return self._times(x) if isinstance(self, sparray) or np.ndim(x) == 0 else self.__rmatmul__(x)

    def _not_in_place(self, other):
        """A += B means A = A + B."""
        return NotImplemented

    __iadd__ = __isub__ = __imul__ = __itruediv__ = _not_in_place
    __add__, __radd__ = operation(operator.add), operation(operator.add, reflected=True)
    __sub__, __rsub__ = operation(operator.sub), operation(operator.sub, reflected=True)
    __truediv__, __rtruediv__ = operation(operator.truediv), operation(operator.truediv, reflected=True)
    __pow__, _times = operation(operator.pow), operation(operator.mul)

    def sum_duplicates(self):
        """Does nothing: the entries that SciPy sees are sorted and summed."""

    sort_indices = prune = sum_duplicates


def complete(cls):
    """Gives spmv.matrix the methods and attributes that it does not define."""
    names = {name for S in CLASSES.values() for name in dir(S) if not name.startswith("_")}
    names -= {name for base in cls.__mro__[:-1] for name in vars(base)} | {"get_shape", "getformat"}  # of shape and format
    for name in names.union(OPERATORS, UNLISTED):
        setattr(cls, name, refused(name) if name in CHANGE_IT else Forwarded(name))
    return cls
