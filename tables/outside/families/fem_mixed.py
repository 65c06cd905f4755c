"""Stokes flow (Taylor-Hood and MINI elements) and Maxwell's equations (Nedelec's edge elements): scikit-fem on the meshes
of fem_scalar.

Saddle points with an empty block, several kinds of unknowns in one vector, and unknowns that live on edges."""
import functools

from outside import Matrix, module

FAMILY = "Stokes and Maxwell"


def stokes(mesh, velocity, pressure):
    """[[A, B'], [B, 0]] with a viscosity that varies. Assembled by components, which takes a tenth of the time of
    scikit-fem's vector elements; the components of a node stand side by side."""
    import scipy.sparse
    import skfem
    from skfem.helpers import dot, grad
    scalar, vector = module("fem_scalar"), module("fem_vector")
    flow = skfem.Basis(mesh, velocity, intorder=2)
    press, axes = flow.with_element(pressure), range(mesh.dim())
    laplace = skfem.BilinearForm(lambda u, v, w: w.viscosity * dot(grad(u), grad(v)))
    K = laplace.assemble(flow, viscosity=scalar.conductivity(flow.global_coordinates()))
    A = scipy.sparse.kron(K, scipy.sparse.identity(mesh.dim()), "csr")
    B = [skfem.BilinearForm(lambda u, q, w, a=a: -grad(u)[a] * q).assemble(flow, press) for a in axes]
    B = scipy.sparse.hstack(B, "csr")[:, vector.side_by_side(K.shape[0], mesh.dim())]
    return scipy.sparse.bmat([[A, B.T], [B, None]], "csr")


def maxwell(mesh):
    """curl-curl minus mass, of the electric field in a material that varies."""
    import skfem
    from skfem.helpers import curl, dot

    @skfem.BilinearForm
    def form(u, v, w):
        return dot(curl(u), curl(v)) - w.permittivity * dot(u, v)

    basis = skfem.Basis(mesh, skfem.ElementTetN0(), intorder=2)
    return form.assemble(basis, permittivity=4 * module("fem_scalar").conductivity(basis.global_coordinates()))


def plate_flow(area):
    import skfem
    return stokes(module("fem_scalar").triangles(area), skfem.ElementTriP2(), skfem.ElementTriP1())


def bracket_flow(element, volume, refined):
    import skfem
    return stokes(module("fem_scalar").tetrahedra(volume, refined), getattr(skfem, element)(), skfem.ElementTetP1())


def cavity(volume, refined=0):
    return maxwell(module("fem_scalar").tetrahedra(volume, refined))


MATRICES = [Matrix(name, origin, functools.partial(*make), size) for name, size, origin, make in (
    ("stokes_plate_th_small", "small", "scikit-fem Stokes", (plate_flow, 6e-5)),
    ("stokes_bracket_mini_medium", "medium", "scikit-fem Stokes", (bracket_flow, "ElementTetMini", 1e-3, 1)),
    ("stokes_bracket_th_large", "large", "scikit-fem Stokes", (bracket_flow, "ElementTetP2", 1e-3, 1)),
    ("maxwell_bracket_small", "small", "scikit-fem Maxwell", (cavity, 1e-4)),
    ("maxwell_bracket_medium", "medium", "scikit-fem Maxwell", (cavity, 3e-4, 1)),
    ("maxwell_bracket_large", "large", "scikit-fem Maxwell", (cavity, 1e-3, 2)),
)]
