"""Several species per cell: Jacobians of chemistry in cells that exchange (Cantera's mechanisms, on scikit-fem's meshes),
and coupled equations of finite volumes (FiPy).

Combustion and drift-diffusion: dense or nearly dense blocks of ten to a hundred unknowns in each cell, a diagonal of the
same size towards each neighbour; or, equation by equation, as many matrices beside and below each other."""
import functools

from outside import Matrix, module

FAMILY = "several species per cell"


def reacting(mechanism, phase, fuel, area):
    """An implicit step of species in the nodes of a mesh, numbered node by node: Cantera's derivatives of production rates
    by concentrations, at a temperature and mixture of its own in each node, and scikit-fem's diffusion for every species."""
    import cantera
    import numpy
    import scipy.sparse
    import skfem
    from skfem.models.poisson import laplace
    mesh = module("fem_scalar").triangles(area)
    across = laplace.assemble(skfem.Basis(mesh, skfem.ElementTriP1()))
    cantera.use_sparse(True)
    gas = cantera.Solution(mechanism, phase)
    blocks = []
    for x, y in mesh.p.T:
        gas.TP = 1400 + 500 * numpy.sin(2 * x) * numpy.cos(3 * y), cantera.one_atm
        gas.set_equivalence_ratio(1 + 0.5 * numpy.sin(4 * x + y), fuel, "O2:1, N2:3.76")
        gas.TPX = None, None, gas.X + 1e-3 * (1 + numpy.arange(gas.n_species) % 7)
        blocks.append(1e-6 * gas.net_production_rates_ddCi.tocsr())
    mobility = scipy.sparse.diags(gas.molecular_weights ** -0.5)
    every = scipy.sparse.block_diag(blocks, "csr")
    return scipy.sparse.identity(every.shape[0], format="csr") - every + scipy.sparse.kron(across, mobility, "csr")


def drifting(cells):
    """FiPy's Poisson-Nernst-Planck: a potential and two kinds of ions on a grid, equation by equation."""
    import fipy
    import numpy
    mesh = fipy.Grid2D(nx=cells, ny=cells, dx=3.0 / cells, dy=3.0 / cells)
    x, y = mesh.cellCenters.value
    start = {"V": numpy.sin(3 * x) * numpy.cos(y), "n": 1 + 0.3 * numpy.cos(4 * y), "p": 1 + 0.2 * numpy.sin(x + y)}
    V, n, p = [fipy.CellVariable(mesh=mesh, name=name, value=value, hasOld=True) for name, value in start.items()]
    ions = fipy.ImplicitSourceTerm(coeff=1.0, var=n) - fipy.ImplicitSourceTerm(coeff=1.0, var=p)
    system = ((fipy.DiffusionTerm(coeff=0.1, var=V) == ions)
              & (fipy.TransientTerm(var=n) == fipy.DiffusionTerm(coeff=0.02, var=n) - fipy.DiffusionTerm(coeff=n, var=V))
              & (fipy.TransientTerm(var=p) == fipy.DiffusionTerm(coeff=0.03, var=p) + fipy.DiffusionTerm(coeff=p, var=V)))
    system.cacheMatrix()
    system.justResidualVector(dt=0.01, solver=fipy.LinearLUSolver())
    return system.matrix.matrix


CHEMISTRY, EQUATIONS = "Cantera's derivatives in scikit-fem's nodes", "FiPy's coupled equations"
MATRICES = [Matrix(name, origin, functools.partial(*make), size) for name, size, origin, make in (
    ("chem_h2o2_small", "small", CHEMISTRY, (reacting, "h2o2.yaml", None, "H2", 5e-5)),
    ("chem_gri30_medium", "medium", CHEMISTRY, (reacting, "gri30.yaml", "gri30", "CH4", 6e-4)),
    ("chem_dodecane_large", "large", CHEMISTRY, (reacting, "nDodecane_Reitz.yaml", "nDodecane_IG", "c12h26", 3.7e-4)),
    ("ions_fipy_small", "small", EQUATIONS, (drifting, 300)),
    ("ions_fipy_medium", "medium", EQUATIONS, (drifting, 600)),
)]
