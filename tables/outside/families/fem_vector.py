"""Vector finite elements on unstructured meshes (scikit-fem on the meshes of fem_scalar): linear elasticity, as generated.

Structural mechanics: blocks of two or three unknowns per node, and a modulus that varies over the part."""
import functools

from outside import Matrix, module

FAMILY = "vector finite elements"


def side_by_side(nodes, count):
    """The order in which the unknowns of a node, which stand `nodes` apart, stand side by side."""
    import numpy
    return numpy.arange(nodes * count).reshape(count, nodes).T.ravel()


def interleaved(blocks):
    """A matrix of square blocks, renumbered so that the unknowns of a node stand side by side."""
    import scipy.sparse
    count = len(blocks)
    matrix, order = scipy.sparse.bmat(blocks, "csr"), side_by_side(blocks[0][0].shape[0], count)
    return matrix[order][:, order]


def elasticity(mesh, element):
    """Linear elasticity with Young's modulus by fem_scalar's conductivity, Poisson's ratio 0.3. Assembled by components,
    which takes a tenth of the time of scikit-fem's vector elements."""
    import skfem
    from skfem.helpers import grad
    scalar = module("fem_scalar")
    basis = scalar.basis_of(mesh, element)
    young, axes = scalar.conductivity(basis.global_coordinates()), range(mesh.dim())
    D = [[skfem.BilinearForm(lambda u, v, w, a=a, b=b: w.young * grad(u)[b] * grad(v)[a]).assemble(basis, young=young)
          for b in axes] for a in axes]
    shear, volume = 1 / 2.6, 0.3 / (1.3 * 0.4)
    laplace = shear * sum(D[a][a] for a in axes)
    return interleaved([[volume * D[a][b] + shear * D[b][a] + (laplace if a == b else 0 * D[a][b]) for b in axes]
                        for a in axes])


def plate(element, area):
    import skfem
    return elasticity(module("fem_scalar").triangles(area), getattr(skfem, element)())


def bracket(element, volume, refined=0):
    import skfem
    return elasticity(module("fem_scalar").tetrahedra(volume, refined), getattr(skfem, element)())


MATRICES = [Matrix(name, origin, functools.partial(*make), size) for name, size, origin, make in (
    ("elastic_bracket_p1_small", "small", "scikit-fem elasticity on tetrahedra", (bracket, "ElementTetP1", 1e-4)),
    ("elastic_plate_p2_medium", "medium", "scikit-fem elasticity on triangles", (plate, "ElementTriP2", 3e-5)),
    ("elastic_bracket_p2_medium", "medium", "scikit-fem elasticity on tetrahedra", (bracket, "ElementTetP2", 6e-4)),
    ("elastic_bracket_p1_large", "large", "scikit-fem elasticity on tetrahedra", (bracket, "ElementTetP1", 1e-3, 2)),
)]
