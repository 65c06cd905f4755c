"""Finite elements (scikit-fem, from the other families) in other orders: reverse Cuthill-McKee by SciPy, nested dissection
by METIS (pymetis).

The order decides where x is read: RCM makes a band, nested dissection leaves long separators at the end."""
import functools

from outside import Matrix, module

FAMILY = "reordered finite elements"


def permuted(matrix, order):
    matrix = matrix.tocsr()[order][:, order]
    matrix.sort_indices()
    return matrix


def rcm(matrix):
    from scipy.sparse.csgraph import reverse_cuthill_mckee
    return permuted(matrix, reverse_cuthill_mckee(matrix.tocsr(), symmetric_mode=True))


def nested_dissection(matrix):
    """METIS_NodeND of the graph without its loops."""
    import numpy
    import pymetis
    import scipy.sparse
    graph = matrix.tocoo()
    off = graph.row != graph.col
    graph = scipy.sparse.csr_matrix((graph.data[off], (graph.row[off], graph.col[off])), matrix.shape)
    order, _ = pymetis.nested_dissection(pymetis.CSRAdjacency(graph.indptr, graph.indices))
    return permuted(matrix, numpy.asarray(order))


def of(family, make, *given):
    return getattr(module(family), make)(*given)


def ordered(order, *what):
    return order(of(*what))


RCM, METIS = "SciPy's RCM of scikit-fem", "METIS nested dissection of scikit-fem"
MATRICES = [Matrix(name, origin, functools.partial(ordered, *make), size) for name, size, origin, make in (
    ("rcm_bracket_p2_small", "small", RCM, (rcm, "fem_scalar", "bracket", "ElementTetP2", 1.5e-4)),
    ("metis_bracket_p2_small", "small", METIS, (nested_dissection, "fem_scalar", "bracket", "ElementTetP2", 1.5e-4)),
    ("rcm_plate_p2_medium", "medium", RCM, (rcm, "fem_scalar", "plate", "ElementTriP2", 8e-6)),
    ("metis_bracket_p1_medium", "medium", METIS, (nested_dissection, "fem_scalar", "bracket", "ElementTetP1", 3e-4, 2)),
    ("rcm_elastic_p1_large", "large", RCM, (rcm, "fem_vector", "bracket", "ElementTetP1", 1e-3, 2)),
    ("metis_bracket_p2_large", "large", METIS, (nested_dissection, "fem_scalar", "bracket", "ElementTetP2", 2e-4, 1)),
)]
