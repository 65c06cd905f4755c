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


def part_elasticity(volume):
    """scikit-fem's matrix of fem_vector."""
    return module("fem_vector").bracket("ElementTetP1", volume)


def ruge_stuben(levels, matrix):
    import pyamg
    return pyamg.ruge_stuben_solver(matrix, max_levels=levels, max_coarse=1).levels


def smoothed_aggregation(degree, matrix):
    import pyamg
    return pyamg.smoothed_aggregation_solver(matrix, max_levels=2, max_coarse=1,
                                             smooth=("jacobi", {"omega": 4 / 3, "degree": degree})).levels


def elastic_aggregation(matrix):
    """Returns the levels of a hierarchy with the rigid translations as vectors that are almost in the null space."""
    import numpy
    import pyamg
    matrix = matrix.tobsr((3, 3))
    return pyamg.smoothed_aggregation_solver(matrix, B=numpy.tile(numpy.eye(3), (matrix.shape[0] // 3, 1)), max_levels=2,
                                             max_coarse=1).levels


def coarse(levels):
    return levels[-1].A.tocsr()


def prolongation(levels):
    return levels[-2].P.tocsr()


def restriction(levels):
    return levels[-2].R.tocsr()


def of(operator, levels, *given):
    """operator(levels(..., matrix)), where `given` ends in a function that makes the matrix and its arguments."""
    where = next(place for place, each in enumerate(given) if callable(each))
    return operator(levels(*given[:where], given[where](*given[where + 1:])))


COARSE, ACROSS = "pyamg coarse operators", "pyamg prolongation and restriction"
MATRICES = [Matrix(name, origin, functools.partial(*make), size) for name, size, origin, make in (
    ("amg_fine_medium", "medium", "FiPy diffusion", (heat, 110)),
    ("amg_part_coarse_small", "small", COARSE, (of, coarse, ruge_stuben, 2, part_heat, "ElementTetP1", 1e-3, 2)),
    ("amg_cube_coarse2_small", "small", COARSE, (of, coarse, ruge_stuben, 3, heat, 100)),
    ("amg_cube_coarse_medium", "medium", COARSE, (of, coarse, ruge_stuben, 2, heat, 100)),
    ("amg_cube_coarse_large", "large", COARSE, (of, coarse, ruge_stuben, 2, heat, 124)),
    ("amg_cube_prolong_medium", "medium", ACROSS, (of, prolongation, ruge_stuben, 2, heat, 120)),
    ("amg_elastic_restrict_small", "small", ACROSS, (of, restriction, elastic_aggregation, part_elasticity, 1e-4)),
    ("amg_cube_restrict_large", "large", ACROSS, (of, restriction, smoothed_aggregation, 3, heat, 112)),
)]
