"""Scalar finite elements on unstructured meshes (scikit-fem; Triangle and TetGen by way of meshpy), as generated.

Diffusion and heat conduction: the matrices of most simulation codes. Rows of varying length, numbered by the mesher."""
import functools

from outside import Matrix

FAMILY = "scalar finite elements"


def triangles(area):
    """A plate with two holes, meshed by Triangle and graded towards the holes."""
    import numpy
    import skfem
    from meshpy import triangle

    def circle(x, y, radius, points=48):
        angle = numpy.linspace(0, 2 * numpy.pi, points, endpoint=False)
        return [(x + radius * numpy.cos(a), y + radius * numpy.sin(a)) for a in angle]

    def ring(begin, count):
        return [(begin + k, begin + (k + 1) % count) for k in range(count)]

    points, facets = [(0, 0), (2, 0), (2, 1), (0, 1)], ring(0, 4)
    for x, y, radius in ((0.5, 0.5, 0.2), (1.4, 0.6, 0.15)):
        facets += ring(len(points), 48)
        points += circle(x, y, radius)
    info = triangle.MeshInfo()
    info.set_points(points)
    info.set_facets(facets)
    info.set_holes([(0.5, 0.5), (1.4, 0.6)])
    mesh = triangle.build(info, max_volume=area, min_angle=28)
    return skfem.MeshTri(numpy.array(mesh.points).T.copy(), numpy.array(mesh.elements).T.copy())


def tetrahedra(volume, refined=0):
    """A bracket (an L with a notch), meshed by TetGen; each tetrahedron is then cut into eight `refined` times."""
    import numpy
    import skfem
    from meshpy import tet
    corner = [(0, 0), (3, 0), (3, 1), (1.2, 1), (1, 1.4), (1, 3), (0, 3)]
    count = len(corner)
    points = [(x, y, z) for z in (0, 0.8) for x, y in corner]
    facets = [list(range(count)), list(range(count, 2 * count))]
    facets += [[k, (k + 1) % count, count + (k + 1) % count, count + k] for k in range(count)]
    info = tet.MeshInfo()
    info.set_points(points)
    info.set_facets(facets)
    mesh = tet.build(info, max_volume=volume, options=tet.Options("pq1.4"))
    made = skfem.MeshTet(numpy.array(mesh.points).T.copy(), numpy.array(mesh.elements).T.copy())
    return made.refined(refined) if refined else made


def conductivity(x):
    """Smooth, and different in every element."""
    import numpy
    return 1 + 0.9 * numpy.sin(3 * x[0]) * numpy.cos(5 * x[1])


def basis_of(mesh, element):
    import skfem
    return skfem.Basis(mesh, element, intorder=element.maxdeg)


def heat(mesh, element):
    """One implicit step of heat conduction: mass and stiffness."""
    import skfem
    from skfem.helpers import dot, grad

    @skfem.BilinearForm
    def form(u, v, w):
        return u * v + w.kappa * dot(grad(u), grad(v))

    basis = basis_of(mesh, element)
    return form.assemble(basis, kappa=0.01 * conductivity(basis.global_coordinates()))


def plate(element, area):
    import skfem
    return heat(triangles(area), getattr(skfem, element)())


def bracket(element, volume, refined=0):
    import skfem
    return heat(tetrahedra(volume, refined), getattr(skfem, element)())


def scattered(dimensions, points):
    """P1 on SciPy's Delaunay mesh of points in the order they were drawn in, as surveys and samples come."""
    import numpy
    import scipy.spatial
    import skfem
    where = numpy.random.default_rng(17).random((points, dimensions))
    cells = scipy.spatial.Delaunay(where).simplices.T.astype(numpy.int64)
    mesh, element = {2: (skfem.MeshTri, skfem.ElementTriP1), 3: (skfem.MeshTet, skfem.ElementTetP1)}[dimensions]
    return heat(mesh(where.T.copy(), cells.copy()), element())


MATRICES = [Matrix(name, origin, functools.partial(*make), size) for name, size, origin, make in (
    ("fem_plate_p1_small", "small", "scikit-fem P1 on triangles", (plate, "ElementTriP1", 3e-6)),
    ("fem_plate_p2_medium", "medium", "scikit-fem P2 on triangles", (plate, "ElementTriP2", 8e-6)),
    ("fem_plate_p1_large", "large", "scikit-fem P1 on triangles", (plate, "ElementTriP1", 5.5e-7)),
    ("fem_bracket_p2_small", "small", "scikit-fem P2 on tetrahedra", (bracket, "ElementTetP2", 1.5e-4)),
    ("fem_bracket_p2_large", "large", "scikit-fem P2 on tetrahedra", (bracket, "ElementTetP2", 2e-4, 1)),
    ("fem_scattered_2d_small", "small", "scikit-fem P1 on SciPy's Delaunay mesh", (scattered, 2, 500000)),
    ("fem_scattered_3d_medium", "medium", "scikit-fem P1 on SciPy's Delaunay mesh", (scattered, 3, 400000)),
    ("fem_scattered_2d_large", "large", "scikit-fem P1 on SciPy's Delaunay mesh", (scattered, 2, 2400000)),
)]
