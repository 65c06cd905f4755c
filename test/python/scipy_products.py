"""A pytest plugin: SciPy's own tests, with spmv.matrix in the place of the sparse matrices of which aslinearoperator makes
operators. Ends with the share of these operators' products that the library computed, and fails if that is small."""
import sys

import numpy as np
import scipy.sparse.linalg as linalg
from scipy.sparse import issparse

import spmv

LEAST_SHARE = 60  # percent: a smaller one means that products go where they need not
scipys_own = linalg.aslinearoperator
dense_products = 0


def counting(operator):
    """The operator, whose products are counted."""
    def counted(product):
        def multiply(x):
            global dense_products
            dense_products += 1
            return product(x)
        return multiply
    for name in "_matvec", "_matmat", "_rmatvec", "_rmatmat":
        setattr(operator, name, counted(getattr(operator, name)))
    return operator


def aslinearoperator(A):
    if issparse(A):
        return scipys_own(spmv.matrix(A))
    if isinstance(A, np.ndarray):
        return counting(scipys_own(A))
    return scipys_own(A)


for module in [m for name, m in sys.modules.items() if name.startswith("scipy.")]:
    for name, value in list(vars(module).items()):
        if value is scipys_own:
            setattr(module, name, aslinearoperator)


def share():
    """The shares are of the products with sparse matrices, in percent."""
    ran = spmv.stats()
    return 100 * ran["library"] / max(ran["library"] + ran["scipy"], 1)


def pytest_terminal_summary(terminalreporter):
    ran = spmv.stats()
    terminalreporter.write_line(
        f"{share():.0f} % of the products with sparse matrices ran in the library: {ran['library']}, and {ran['scipy']} in "
        f"SciPy, of complex and integer ones; beside them {dense_products} of dense matrices in NumPy")


def pytest_sessionfinish(session):
    if share() < LEAST_SHARE and session.exitstatus == 0:
        session.exitstatus = 1
