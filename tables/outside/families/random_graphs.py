"""Models of networks (igraph, networkit, networkx), as the matrices that rankings, clusterings and diffusions multiply by.

Web, social and citation graphs have hubs, communities, short paths: rows from one to tens of thousands of nonzeros, columns
anywhere. Values are those of PageRank transitions or normalized Laplacians, or ones: links alone."""
from outside import Matrix

FAMILY = "random graphs"


def adjacency(edges, vertices, weights=None, both=True):
    """Makes a graph of a list of edges, as pairs; without loops, parallel edges added up."""
    import numpy
    import scipy.sparse
    edges = numpy.asarray(edges)
    weights = numpy.ones(len(edges)) if weights is None else weights
    other = edges[:, 0] != edges[:, 1]
    edges, weights = edges[other], weights[other]
    matrix = scipy.sparse.csr_matrix((weights, (edges[:, 0], edges[:, 1])), (vertices, vertices))
    return (matrix + matrix.T if both else matrix).tocsr()


def transition(matrix):
    """PageRank's: each column of the transposed adjacency sums to one, unless its vertex has no links."""
    import numpy
    import scipy.sparse
    sums = numpy.asarray(matrix.sum(axis=1)).ravel()
    scale = numpy.divide(1.0, sums, out=numpy.zeros(len(sums)), where=sums > 0)
    return (scipy.sparse.diags(scale) @ matrix).T.tocsr()


def laplacian(matrix):
    from scipy.sparse.csgraph import laplacian as of
    return of(matrix, normed=True).tocsr()


def of_igraph(seed, build, both=True):
    """Makes the graph of an igraph generator, with igraph's numbering. igraph draws from Python's random numbers."""
    import random
    import igraph
    random.seed(seed)
    graph = build(igraph.Graph)
    return adjacency(graph.get_edgelist(), graph.vcount(), both=both)


def of_networkit(seed, build, both=True):
    """Makes the graph of a networkit generator, by way of its fastest export, a list of edges in a file; one thread, so
    that seeds hold."""
    import pathlib
    import tempfile
    import networkit
    import numpy
    networkit.setNumberOfThreads(1)
    networkit.setSeed(seed, False)
    graph = build(networkit.generators).generate()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "edges"
        networkit.graphio.EdgeListWriter(" ", 0, bothDirections=False).write(graph, str(file))
        edges = numpy.fromfile(file, numpy.int64, sep=" ").reshape(-1, 2)
    return adjacency(edges, graph.numberOfNodes(), both=both)


def attachment():
    """Preferential attachment (Barabasi, Albert): each newcomer links to nine of those there, hubs more often."""
    return laplacian(of_networkit(1, lambda models: models.BarabasiAlbertGenerator(9, 1_000_000, 9, True)))


def communities():
    """Stochastic blocks: twelve communities, dense inside, sparse between."""
    import numpy
    sizes = [int(size) for size in 9000 * numpy.arange(1, 13)]
    prefer = numpy.full((12, 12), 2e-6) + numpy.diag(12 / numpy.array(sizes))
    return laplacian(of_igraph(3, lambda graph: graph.SBM(pref_matrix=prefer.tolist(), block_sizes=sizes)))


def popular():
    """Degrees by a power law with exponent 2.2, links otherwise at random (Goh, Kahng, Kim)."""
    return laplacian(of_igraph(4, lambda graph: graph.Static_Power_Law(200_000, 1_800_000, 2.2)))


def web():
    """R-MAT, as the Graph500 benchmark has it: skewed degrees out and in, numbered by the recursion."""
    return transition(of_networkit(5, lambda models: models.RmatGenerator(19, 12, 0.57, 0.19, 0.19, 0.05), both=False))


def hyperbolic():
    """Random hyperbolic graph: a power law with many triangles, as the internet's routers."""
    return laplacian(of_networkit(6, lambda models: models.HyperbolicGenerator(1_000_000, 18, 2.6)))


def benchmark():
    """Lancichinetti, Fortunato, Radicchi's benchmark of community detection, for which three links in ten lead outside."""
    def model(models):
        lfr = models.LFRGenerator(250_000)
        lfr.generatePowerlawDegreeSequence(12, 300, -2)
        lfr.generatePowerlawCommunitySizeSequence(20, 600, -1)
        lfr.setMu(0.3)
        return lfr
    return transition(of_networkit(7, model))


def small_world():
    """Watts and Strogatz: a ring of neighbours, one link in ten rewired."""
    import networkx
    graph = networkx.watts_strogatz_graph(150_000, 14, 0.1, seed=8)
    return laplacian(networkx.to_scipy_sparse_array(graph, dtype=float, format="csr"))


def citations():
    """Forest fire (Leskovec, Kleinberg, Faloutsos): each paper cites one and, by a chain of chances, what that one cites."""
    return of_igraph(9, lambda graph: graph.Forest_Fire(500_000, 0.35, 0.32 / 0.35, directed=True), both=False)


def expected():
    """Links at random between degrees by a power law (Chung, Lu)."""
    import numpy
    degrees = numpy.random.default_rng(10).pareto(1.8, 1_000_000) * 8 + 8
    degrees = numpy.minimum(degrees, 20_000).tolist()
    return of_networkit(10, lambda models: models.ChungLuGenerator(degrees))


def bipartite():
    """Tests and members drawn at random, as in group testing or codes of low density: the rectangle above the diagonal."""
    tests, members = 300_000, 500_000
    square = of_igraph(11, lambda graph: graph.Random_Bipartite(tests, members, m=7_000_000), both=False)
    return square[:tests, tests:]


MATRICES = [
    Matrix("forest_fire", "igraph models", citations, "small"),
    Matrix("random_bipartite", "igraph models", bipartite, "medium"),
    Matrix("chung_lu", "networkit models", expected, "large"),
    Matrix("stochastic_blocks", "igraph models", communities, "medium"),
    Matrix("static_power_law", "igraph models", popular, "small"),
    Matrix("barabasi_albert", "networkit models", attachment, "large"),
    Matrix("rmat", "networkit models", web, "medium"),
    Matrix("hyperbolic", "networkit models", hyperbolic, "large"),
    Matrix("lfr_benchmark", "networkit models", benchmark, "small"),
    Matrix("small_world", "networkx models", small_world, "small"),
]
