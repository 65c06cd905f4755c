"""Constraint matrices of linear and quadratic programs, as cvxpy hands them to a solver.

First-order solvers (PDLP, SCS, OSQP) multiply by them and by their transposes in every step. Slack variables, bounds and data
blocks stand one below the other, so rows of one nonzero meet rows of thousands."""
from outside import Matrix

FAMILY = "linear and quadratic programs"


def constraints(problem, solver):
    """The matrix that the solver would get: equations above inequalities, which some take apart."""
    import scipy.sparse
    data, _, _ = problem.get_problem_data(solver)
    return scipy.sparse.vstack([data[part] for part in ("A", "F") if part in data], format="csr")


def machine():
    """A support vector machine's training, on sparse data with few common and many rare features."""
    import cvxpy
    import numpy
    import scipy.sparse
    draws = numpy.random.default_rng(1)
    samples, features, each = 60_000, 100_000, 50
    columns = (features * draws.random((samples, each)) ** 3).astype(int)
    rows = numpy.repeat(numpy.arange(samples), each)
    data = scipy.sparse.csr_matrix((draws.exponential(1, rows.size), (rows, columns.ravel())), (samples, features))
    labels = numpy.where(draws.random(samples) < 0.5, -1.0, 1.0)
    weights, offset, slack = cvxpy.Variable(features), cvxpy.Variable(), cvxpy.Variable(samples, nonneg=True)
    margin = (scipy.sparse.diags(labels) @ data) @ weights + labels * offset
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.norm1(weights) + cvxpy.sum(slack)), [margin >= 1 - slack])
    return constraints(problem, cvxpy.CLARABEL)


def portfolio():
    """Thirty periods of a portfolio with a factor model of risk, and costs of trades: dense blocks, chained by the trades."""
    import cvxpy
    import numpy
    draws = numpy.random.default_rng(2)
    assets, factors, periods = 3000, 90, 30
    hold, exposed = cvxpy.Variable((assets, periods)), cvxpy.Variable((factors, periods))
    loadings = draws.standard_normal((factors, assets)) / 10
    trade = hold[:, 1:] - hold[:, :-1]
    gain = draws.uniform(0, 0.01, (assets, periods))
    problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(cvxpy.multiply(gain, hold)) - 5 * cvxpy.sum_squares(exposed)
                                           - 0.001 * cvxpy.norm1(trade)),
                            [exposed == loadings @ hold, cvxpy.sum(hold, axis=0) == 1, hold >= 0, hold <= 0.1])
    return constraints(problem, cvxpy.OSQP)


def regression():
    """Least absolute deviations with a lasso, on sparse data without structure."""
    import cvxpy
    import numpy
    import scipy.sparse
    draws = numpy.random.default_rng(3)
    samples, features = 300_000, 400_000
    data = scipy.sparse.random(samples, features, 9_000_000 / samples / features, "csr", rng=draws,
                               data_rvs=draws.standard_normal)
    weights = cvxpy.Variable(features)
    loss = cvxpy.norm1(data @ weights - draws.standard_normal(samples)) + 0.1 * cvxpy.norm1(weights)
    return constraints(cvxpy.Problem(cvxpy.Minimize(loss)), cvxpy.CLARABEL)


def assignment():
    """2300 workers and as many tasks: an entry of the unknown matrix is in one row's sum and in one column's."""
    import cvxpy
    import numpy
    many = 2300
    share, cost = cvxpy.Variable((many, many)), numpy.random.default_rng(4).random((many, many))
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(cvxpy.multiply(cost, share))),
                            [cvxpy.sum(share, axis=0) == 1, cvxpy.sum(share, axis=1) == 1, share >= 0])
    return constraints(problem, cvxpy.CLARABEL)


def flow():
    """The cheapest flow through a network: networkx's incidence matrix, with bounds on every link."""
    import cvxpy
    import networkx
    import numpy
    draws = numpy.random.default_rng(5)
    graph = networkx.gnm_random_graph(100_000, 700_000, seed=5, directed=True)
    incidence = networkx.incidence_matrix(graph, oriented=True)
    along = cvxpy.Variable(incidence.shape[1])
    supply = incidence @ draws.random(incidence.shape[1])
    problem = cvxpy.Problem(cvxpy.Minimize(draws.random(incidence.shape[1]) @ along),
                            [incidence @ along == supply, along >= 0, along <= 1])
    return constraints(problem, cvxpy.CLARABEL)


MATRICES = [
    Matrix("lp_flow", "cvxpy networks", flow, "small"),
    Matrix("lp_assignment", "cvxpy networks", assignment, "large"),
    Matrix("lp_support_vectors", "cvxpy machine learning", machine, "small"),
    Matrix("qp_portfolio", "cvxpy portfolios", portfolio, "medium"),
    Matrix("lp_regression", "cvxpy machine learning", regression, "large"),
]
