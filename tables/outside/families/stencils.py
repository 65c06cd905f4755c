"""Stencils: the same few coefficients in every row, on whole grids and on the pixels of a mask.

Solvers of textbook equations, image segmentation and porous media multiply by them. Values could be left out of the
stream altogether, and on a whole grid the columns, too."""
from outside import Matrix

FAMILY = "stencils"


def poisson():
    """Poisson's equation in a cube."""
    import pyamg
    return pyamg.gallery.poisson((136, 136, 136), format="csr")


def anisotropic():
    """Diffusion along fibres that lie across the grid, by bilinear elements: nine points."""
    import numpy
    import pyamg
    stencil = pyamg.gallery.diffusion_stencil_2d(epsilon=1e-3, theta=numpy.pi / 6, type="FE")
    return pyamg.gallery.stencil_grid(stencil, (1050, 1050), format="csr")


def convection():
    """Wind over a square of unit cells, upwind differences, a step in time: not symmetric."""
    import fipy
    mesh = fipy.Grid2D(nx=750, ny=750)
    equation = fipy.TransientTerm() + fipy.UpwindConvectionTerm(coeff=(1.0, 0.5)) == fipy.DiffusionTerm(coeff=0.25)
    equation.cacheMatrix()
    equation.justResidualVector(fipy.CellVariable(mesh=mesh, value=0.0), dt=1.0, solver=fipy.LinearLUSolver())
    return equation.matrix.matrix.tocsr()


def pores():
    """Neighbours among the voxels of a porous body, as Ward's clustering is restricted to: only what is in the mask is
    numbered."""
    import numpy
    import scipy.ndimage
    from sklearn.feature_extraction.image import grid_to_graph
    noise = numpy.random.default_rng(1).standard_normal((150, 150, 150))
    mask = scipy.ndimage.gaussian_filter(noise, 3) > 0
    return grid_to_graph(*mask.shape, mask=mask)


MATRICES = [
    Matrix("stencil_convection", "FiPy uniform grids", convection, "small"),
    Matrix("stencil_anisotropic", "pyamg gallery stencils", anisotropic, "medium"),
    Matrix("stencil_poisson", "pyamg gallery stencils", poisson, "large"),
    Matrix("stencil_pores", "scikit-learn grids of pixels", pores, "medium"),
]
