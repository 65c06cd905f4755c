"""Hamiltonians of configuration interaction (pyscf's integrals and string tables), the hybrid ELL+CSR paper's own subject.

Rows and columns are Slater determinants, pairs of a string of alpha and one of beta electrons; entries join those that differ in
at most two orbitals. An eigensolver multiplies by them. Molecular symmetry leaves one block of determinants and makes rows
sparser; all values are sums of integrals, so most differ."""
from outside import Matrix

FAMILY = "configuration interaction"
WATER = "O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587"
FLUORIDE = "H 0 0 0; F 0 0 0.917"
AMMONIA = "N 0 0 0.116; H 0 0.94 -0.27; H 0.814 -0.47 -0.27; H -0.814 -0.47 -0.27"
NITROGEN = "N 0 0 0; N 0 0 1.1"
PEROXIDE = "O 0 0.72 0; O 0 -0.72 0; H 0.78 0.88 0.51; H -0.74 -0.9 0.55"  # hydrogen peroxide, without any symmetry
LESS = 1e-10  # in hartree: integrals and entries below are zero by symmetry


def integrals(atoms, basis, orbitals, electrons):
    """The active space's Hamiltonian over Hartree-Fock orbitals, and pyscf's table of excitations of its strings. Orbitals of
    one energy have a sign and a rotation that differ between machines; this is made once and kept."""
    import numpy
    from pyscf import ao2mo, gto, mcscf, scf
    from pyscf.fci import cistring
    molecule = gto.M(atom=atoms, basis=basis, symmetry=True, verbose=0)
    field = scf.RHF(molecule).run(conv_tol=1e-12)
    space = mcscf.CASCI(field, orbitals, electrons)
    one, core = space.get_h1eff()
    up, down = space.nelecas
    every = getattr(field.mo_coeff, "orbsym", numpy.zeros(molecule.nao, int))  # none without symmetry
    symmetry = every[space.ncore:space.ncore + orbitals] % 10
    return {"one": one, "two": ao2mo.restore(1, space.get_h2eff(), orbitals), "core": core,
            "symmetry": symmetry.astype(numpy.uint8), "electrons": numpy.array([up, down]),
            "up": cistring.gen_linkstr_index(range(orbitals), up), "down": cistring.gen_linkstr_index(range(orbitals), down),
            "up_strings": cistring.make_strings(range(orbitals), up),
            "down_strings": cistring.make_strings(range(orbitals), down)}


def excitations(table, orbitals):
    """The operators E_pq of pyscf's table (annihilated, created, target, sign), as CSR matrices by p * orbitals + q, for
    which E_pq |string> is the sum over its column."""
    import numpy
    import scipy.sparse
    strings, links, _ = table.shape
    source = numpy.repeat(numpy.arange(strings), links)
    created, annihilated, target, sign = (table[:, :, field].ravel() for field in range(4))
    pair = created.astype(int) * orbitals + annihilated
    return [scipy.sparse.csr_matrix((sign[pair == one].astype(float), (target[pair == one], source[pair == one])),
                                    (strings, strings)) for one in range(orbitals ** 2)]


def combined(operators, factors):
    """The sum of operators with these factors, without what is zero by symmetry."""
    import numpy
    import scipy.sparse
    used = numpy.flatnonzero(abs(factors) > LESS)
    if not len(used):
        return scipy.sparse.csr_matrix(operators[0].shape)
    rows = numpy.concatenate([numpy.repeat(numpy.arange(operators[k].shape[0]), numpy.diff(operators[k].indptr)) for k in used])
    cols = numpy.concatenate([operators[k].indices for k in used])
    values = numpy.concatenate([operators[k].data * factors[k] for k in used])
    return scipy.sparse.csr_matrix((values, (rows, cols)), operators[0].shape)


def same_spin(one, two, operators):
    """The Hamiltonian among strings of one spin: sum h_pq E_pq + 1/2 sum (pq|rs) (E_pq E_rs - d_qr E_ps)."""
    import numpy
    orbitals = len(one)
    effective = one - 0.5 * numpy.einsum("pqqs->ps", two)
    total = combined(operators, effective.ravel())
    pairs = two.reshape(orbitals ** 2, orbitals ** 2)
    for k, operator in enumerate(operators):
        total = total + 0.5 * (operator @ combined(operators, pairs[k]))
    return without_zeros(total)


def without_zeros(matrix):
    matrix = matrix.tocsr()
    matrix.data[abs(matrix.data) < LESS] = 0
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def chosen(matrix, strings):
    return matrix[strings][:, strings]


def symmetries(strings, symmetry):
    """The irreducible representation of each string: the product of those of its orbitals."""
    import numpy
    found = numpy.zeros(len(strings), numpy.uint8)
    for orbital, one in enumerate(symmetry):
        found ^= numpy.where(strings >> orbital & 1, one, 0).astype(numpy.uint8)
    return found


def ranks(strings):
    """Counts how many electrons of each string have left the lowest orbitals, which the first string of pyscf's order
    fills."""
    import numpy
    return numpy.array([int(string & ~strings[0]).bit_count() for string in strings])


def hamiltonian(inputs, most=None):
    """Full CI in the block of the totally symmetric determinants, or of those with at most so many electrons excited."""
    import numpy
    import scipy.sparse
    one, two = inputs["one"], inputs["two"]
    orbitals = len(one)
    spins = [Spin(inputs, spin, most) for spin in ("up", "down")]
    up, down = spins
    wanted = up.symmetry[:, None] == down.symmetry[None, :]
    if most is not None:
        wanted &= up.rank[:, None] + down.rank[None, :] <= most
    number = numpy.full(wanted.shape, -1, numpy.int32)
    number[wanted] = numpy.arange(numpy.count_nonzero(wanted))
    pairs = two.reshape(orbitals ** 2, orbitals ** 2)
    potentials = [combined(down.operators, pairs[k]) for k in range(orbitals ** 2)]
    blocks = [rows_of(string, number, up, down.energy, potentials) for string in range(len(number))
              if (number[string] >= 0).any()]
    values, cols, lengths = (numpy.concatenate(part) for part in zip(*blocks))
    starts = numpy.concatenate([[0], numpy.cumsum(lengths)])
    matrix = scipy.sparse.csr_matrix((values, cols, starts), (len(lengths), len(lengths)))
    matrix = 0.5 * (matrix + matrix.T)  # exactly symmetric, as its definition is
    return matrix + float(inputs["core"]) * scipy.sparse.identity(len(lengths), format="csr")


class Spin:
    """Holds what concerns the strings of one spin: operators E_pq, the Hamiltonian among them, symmetries, excitation
    ranks."""

    def __init__(self, inputs, spin, most):
        import numpy
        strings, orbitals = inputs[spin + "_strings"], len(inputs["one"])
        self.rank = ranks(strings)
        here = numpy.flatnonzero(self.rank <= (most if most is not None else orbitals))
        operators = excitations(inputs[spin], orbitals)
        self.energy = chosen(same_spin(inputs["one"], inputs["two"], operators), here)
        self.operators = [chosen(operator, here) for operator in operators]
        self.links = [[] for _ in here]  # for each string: pair of orbitals, target, sign
        for pair, operator in enumerate(self.operators):
            entries = operator.tocoo()
            for row, target, sign in zip(entries.row, entries.col, entries.data):
                self.links[row].append((pair, target, sign))
        self.symmetry = symmetries(strings, inputs["symmetry"])[here]
        self.rank = self.rank[here]


def rows_of(string, number, up, down_energy, potentials):
    """The rows of the determinants with one alpha string, as values, columns and lengths of rows: beta electrons alone, alpha
    electrons alone, then one of each by alpha's excitations."""
    import numpy
    import scipy.sparse
    rows = (number[string] >= 0).nonzero()[0]
    parts = [mapped(down_energy[rows], number[string])]
    begin, end = up.energy.indptr[string], up.energy.indptr[string + 1]
    cols = number[up.energy.indices[begin:end]][:, rows]
    target, row = (cols >= 0).nonzero()
    parts.append((up.energy.data[begin:end][target], row, cols[target, row]))
    for pair, target, sign in up.links[string]:
        values, row, cols = mapped(potentials[pair][rows], number[target])
        parts.append((sign * values, row, cols))
    values, row, cols = (numpy.concatenate(part) for part in zip(*parts))
    block = without_zeros(scipy.sparse.csr_matrix((values, (row, cols)), (len(rows), int(number.max()) + 1)))
    return block.data, block.indices, numpy.diff(block.indptr)


def mapped(part, number):
    """Values, rows and numbers of determinants of the entries that lead to one."""
    import numpy
    cols = number[part.indices]
    good = cols >= 0
    return part.data[good], numpy.repeat(numpy.arange(part.shape[0]), numpy.diff(part.indptr))[good], cols[good]


MATRICES = [
    Matrix("ci_hydrogen_fluoride", "pyscf full CI", hamiltonian, "small",
           inputs=lambda: integrals(FLUORIDE, "6-31g", 10, 8)),
    Matrix("ci_ammonia", "pyscf full CI", hamiltonian, "medium", inputs=lambda: integrals(AMMONIA, "6-31g", 10, 8)),
    Matrix("ci_water", "pyscf full CI", hamiltonian, "large", inputs=lambda: integrals(WATER, "6-31g", 12, 8)),
    Matrix("ci_peroxide", "pyscf full CI", hamiltonian, "large", inputs=lambda: integrals(PEROXIDE, "6-31g", 11, 6)),
    Matrix("ci_nitrogen", "pyscf truncated CI", lambda inputs: hamiltonian(inputs, 5), "medium",
           inputs=lambda: integrals(NITROGEN, "6-31g", 13, 10)),
]
