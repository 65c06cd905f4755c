"""Transmission grids (pandapower): admittances, Newton's Jacobian and the state estimator's gain matrix.

Power flow, contingency analysis and control rooms' estimators solve with them. The European grid that pandapower ships (9241
buses) is solved under four loads, and such grids are joined by a few ties each, as interconnections are. Rows are short and
irregular; buses have the numbers of their data base."""
from outside import Matrix

FAMILY = "power grids"
TIES = 12  # from each grid to the one before


def solved():
    """pandapower's admittance matrices of the grid, and the voltages of its power flow under four loads."""
    import numpy
    import pandapower
    import pandapower.networks
    grid = pandapower.networks.case9241pegase()
    voltages = []
    for scaling in (1.0, 0.985, 0.97, 0.955):
        grid.load.scaling = scaling
        pandapower.runpp(grid, numba=False)
        voltages.append(grid._ppc["internal"]["V"])
    inner = grid._ppc["internal"]
    found = {"V": numpy.array(voltages), "pv": inner["pv"], "pq": inner["pq"],
             "ends": inner["branch"][:, :2].real.astype(numpy.int32)}
    for name in ("Ybus", "Yf", "Yt"):
        matrix = inner[name].tocsr()
        found.update({name + "_data": matrix.data, name + "_indices": matrix.indices, name + "_indptr": matrix.indptr})
    return found


def csr(inputs, name):
    import scipy.sparse
    return scipy.sparse.csr_matrix(tuple(inputs[f"{name}_{part}"] for part in ("data", "indices", "indptr")))


def joined(inputs, copies):
    """The admittances of that many grids with ties between them, and their voltages."""
    import numpy
    import scipy.sparse
    one = csr(inputs, "Ybus")
    buses = one.shape[0]
    draws = numpy.random.default_rng(1)
    grid = numpy.repeat(numpy.arange(1, copies), TIES)
    a, b = draws.integers(buses, size=(2, len(grid))) + buses * numpy.array([grid, grid - 1])
    tie = 1 / (draws.uniform(0.001, 0.01, len(grid)) + 1j * draws.uniform(0.01, 0.1, len(grid)))
    ties = scipy.sparse.coo_matrix((numpy.concatenate([tie, tie, -tie, -tie]),
                                    (numpy.concatenate([a, b, a, b]), numpy.concatenate([a, b, b, a]))),
                                   (buses * copies,) * 2)
    return (scipy.sparse.block_diag([one] * copies, format="csr") + ties).tocsr(), voltages(inputs, copies)


def voltages(inputs, copies):
    import numpy
    return numpy.concatenate([inputs["V"][copy % len(inputs["V"])] for copy in range(copies)])


def everywhere(numbers, buses, copies):
    """The numbers of one grid's buses, in all."""
    import numpy
    return (numpy.sort(numbers) + buses * numpy.arange(copies)[:, None]).ravel()


def by_angle_and_magnitude(S_of, Y, V, ends=None):
    """Computes how the powers S_of * conj(Y V) change with the voltages' angles and magnitudes (Zimmerman, MATPOWER's
    note 2)."""
    import numpy
    import scipy.sparse
    unit = V / abs(V)
    rows = numpy.arange(Y.shape[0])
    at = scipy.sparse.csr_matrix((numpy.ones(len(rows)), (rows, rows if ends is None else ends)), Y.shape)
    current = scipy.sparse.diags(numpy.conj(Y @ V))
    here = scipy.sparse.diags(S_of)
    angle = 1j * (current @ at @ scipy.sparse.diags(V) - here @ (Y @ scipy.sparse.diags(V)).conj())
    magnitude = here @ (Y @ scipy.sparse.diags(unit)).conj() + current @ at @ scipy.sparse.diags(unit)
    return angle.tocsr(), magnitude.tocsr()


def admittance(inputs):
    """Returns the admittances as real numbers: conductances and susceptances of real and imaginary currents."""
    import scipy.sparse
    Y, _ = joined(inputs, 80)
    return scipy.sparse.bmat([[Y.real, -Y.imag], [Y.imag, Y.real]], format="csr")


def jacobian(inputs):
    """Newton's: powers of the buses whose voltages are free."""
    import numpy
    import scipy.sparse
    copies, buses = 30, inputs["V"].shape[1]
    Y, V = joined(inputs, copies)
    angle, magnitude = by_angle_and_magnitude(V, Y, V)
    pq = everywhere(inputs["pq"], buses, copies)
    free = everywhere(numpy.concatenate([inputs["pv"], inputs["pq"]]), buses, copies)
    return scipy.sparse.bmat([[angle[free][:, free].real, magnitude[free][:, pq].real],
                              [angle[pq][:, free].imag, magnitude[pq][:, pq].imag]], format="csr")


def gain(inputs):
    """The estimator's normal equations, of meters on all buses and both ends of all branches, each with its own precision."""
    import numpy
    import scipy.sparse
    copies, buses = 56, inputs["V"].shape[1]
    Y, V = joined(inputs, copies)
    meters = [by_angle_and_magnitude(V, Y, V)]
    for end, name in enumerate(("Yf", "Yt")):
        branches = scipy.sparse.block_diag([csr(inputs, name)] * copies, format="csr")
        at = (inputs["ends"][:, end] + buses * numpy.arange(copies)[:, None]).ravel()
        meters.append(by_angle_and_magnitude(V[at], branches, V, at))
    H = scipy.sparse.vstack([scipy.sparse.hstack([getattr(angle, part), getattr(magnitude, part)])
                             for angle, magnitude in meters for part in ("real", "imag")]).tocsr()
    weights = numpy.random.default_rng(2).uniform(0.01, 0.03, H.shape[0]) ** -2
    return (H.T @ (scipy.sparse.diags(weights) @ H)).tocsr()


MATRICES = [
    Matrix("grid_jacobian", "pandapower grids", jacobian, "small", inputs=solved),
    Matrix("grid_admittance", "pandapower grids", admittance, "medium", inputs=solved),
    Matrix("grid_gain", "pandapower grids", gain, "large", inputs=solved),
]
