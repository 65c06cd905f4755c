"""Operators of algebraic multigrid (pyamg): fine, coarse, prolongation and restriction.

A solver's products are with these as much as with the matrix that was given: coarse operators are denser, prolongations
are tall with few entries per row, restrictions flat and scattered."""
import functools

from outside import Matrix, module

FAMILY = "multigrid"


def heat(cells):
    """Conduction in a cube of cells (FiPy), with a conductivity that differs from face to face."""
    import fipy
    import numpy
    mesh = fipy.Grid3D(nx=cells, ny=cells, nz=cells)
    x, y, z = mesh.faceCenters.value / cells
    kappa = fipy.FaceVariable(mesh=mesh, value=numpy.exp(2 * numpy.sin(9 * x) * numpy.cos(7 * y) * numpy.sin(5 * z)))
    heat = fipy.TransientTerm() == fipy.DiffusionTerm(coeff=kappa)
    heat.cacheMatrix()
    heat.justResidualVector(fipy.CellVariable(mesh=mesh, value=0.0), dt=1.0, solver=fipy.LinearLUSolver())
    return heat.matrix.matrix.tocsr()


def part_heat(element, volume, refined=0):
    """scikit-fem's matrix of fem_scalar."""
    return module("fem_scalar").bracket(element, volume, refined).tocsr()


def ruge_stuben(levels, matrix):
    import pyamg
    return pyamg.ruge_stuben_solver(matrix, max_levels=levels, max_coarse=1).levels


def smoothed_aggregation(degree, matrix):
    import pyamg
    return pyamg.smoothed_aggregation_solver(matrix, max_levels=2, max_coarse=1,
                                             smooth=("jacobi", {"omega": 4 / 3, "degree": degree})).levels


def elastic_aggregation(volume):
    """With the rigid translations as vectors that are almost in the null space."""
    import numpy
    import pyamg
    matrix = module("fem_vector").bracket("ElementTetP1", volume).tobsr((3, 3))
    return pyamg.smoothed_aggregation_solver(matrix, B=numpy.tile(numpy.eye(3), (matrix.shape[0] // 3, 1)), max_levels=2,
                                             max_coarse=1).levels


def coarse(levels):
    return levels[-1].A.tocsr()


def prolongation(levels):
    return levels[-2].P.tocsr()


def restriction(levels):
    return levels[-2].R.tocsr()
