"""Hamiltonians of quantum lattices (quimb): spins and electrons in a sector of fixed magnetisation or particle numbers.

Lanczos and time evolution multiply by them millions of times. Off-diagonals are a few couplings, diagonals differ by random
fields where there are any; columns lie at distances of powers of two, bent by the sector's numbering."""
from outside import Matrix

FAMILY = "quantum lattices"


def random(seed, sites, width):
    """A field or an energy for each site."""
    import numpy
    return dict(zip(sites, numpy.random.default_rng(seed).uniform(-width, width, len(sites))))


def grid(rows, cols):
    """The edges of a rectangle, open at the ends."""
    right = [((i, j), (i, j + 1)) for i in range(rows) for j in range(cols - 1)]
    down = [((i, j), (i + 1, j)) for i in range(rows - 1) for j in range(cols)]
    return right + down


def heisenberg(edges, seed, width, **more):
    import quimb.operator
    sites = sorted({site for edge in edges for site in edge})
    field = random(seed, sites, width)
    operator = quimb.operator.heisenberg_from_edges(edges, b=lambda site: (0, 0, field[site]), sector=len(sites) // 2,
                                                    symmetry="U1", **more)
    return operator.build_sparse_matrix()


def chain():
    """The disordered ring of many-body localisation."""
    sites = 20
    return heisenberg([(i, (i + 1) % sites) for i in range(sites)], 1, 4.0)


def square():
    """A disordered magnet on 2 × 11 sites."""
    return heisenberg(grid(2, 11), 2, 1.0)


def triangles():
    """A frustrated magnet on a strip of 2 × 11 sites in triangles, without a field: the diagonal counts what agrees."""
    import quimb.operator
    edges = grid(2, 11) + [((0, j), (1, j + 1)) for j in range(10)]
    return quimb.operator.heisenberg_from_edges(edges, sector=10, symmetry="U1").build_sparse_matrix()


def ions():
    """Trapped ions: every pair is coupled, as the inverse of the distance to the power 1.5."""
    sites = 20
    strength = {(i, j): (j - i) ** -1.5 for i in range(sites) for j in range(i + 1, sites)}
    return heisenberg(list(strength), 3, 0.5, j=lambda i, j: strength[min(i, j), max(i, j)])


def hubbard(rows, cols, up, down, seed):
    """Electrons on a rectangle with random site energies (Anderson-Hubbard)."""
    import quimb.operator
    edges = grid(rows, cols)
    sites = sorted({site for edge in edges for site in edge})
    energy = random(seed, sites, 2.0)
    operator = quimb.operator.fermi_hubbard_from_edges(edges, U=8.0, mu=lambda site: energy[site],
                                                       sector=((len(sites), up), (len(sites), down)), symmetry="U1U1")
    return operator.build_sparse_matrix()


MATRICES = [
    Matrix("heisenberg_ring", "quimb spins", chain, "small"),
    Matrix("heisenberg_ladder", "quimb spins", square, "medium"),
    Matrix("heisenberg_triangles", "quimb spins", triangles, "medium"),
    Matrix("ions_long_range", "quimb spins", ions, "large"),
    Matrix("hubbard_3x4", "quimb electrons", lambda: hubbard(3, 4, 6, 6, 4), "large"),
    Matrix("hubbard_chain", "quimb electrons", lambda: hubbard(1, 11, 5, 5, 5), "small"),
]
