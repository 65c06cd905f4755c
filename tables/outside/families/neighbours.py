"""Nearest-neighbour graphs (scikit-learn): distances of each point to its neighbours, and affinities made from them.

Clustering, manifold learning and semi-supervised learning multiply by them. Points come in no order, so neighbours' columns are
anywhere: x is gathered. Every value is a distance, so nearly all differ."""
from outside import Matrix

FAMILY = "nearest neighbours"


def kneighbors(points, neighbors):
    from sklearn.neighbors import NearestNeighbors
    tree = NearestNeighbors(n_neighbors=neighbors, algorithm="kd_tree", n_jobs=1).fit(points)
    return tree.kneighbors_graph(mode="distance")


def blobs():
    """Clusters of unequal spread in five dimensions, as a mixture model's data."""
    import numpy
    from sklearn.datasets import make_blobs
    spread = numpy.random.default_rng(1).uniform(0.3, 2, 60)
    points, _ = make_blobs(240_000, n_features=4, centers=60, cluster_std=spread, random_state=1)
    return kneighbors(points, 15)


def swiss_roll():
    from sklearn.datasets import make_swiss_roll
    points, _ = make_swiss_roll(700_000, noise=0.05, random_state=2)
    return kneighbors(points, 16)


def tables():
    """Six correlated measurements of classes that overlap, as tables such as the forest cover types have."""
    from sklearn.datasets import make_classification
    points, _ = make_classification(600_000, n_features=6, n_informative=3, n_redundant=3, n_classes=4,
                                    n_clusters_per_class=2, random_state=3)
    return kneighbors(points, 30)


def radius():
    """All pairs within a radius: rows are long where points are dense."""
    from sklearn.datasets import make_moons
    from sklearn.neighbors import radius_neighbors_graph
    points, _ = make_moons(400_000, noise=0.15, random_state=4)
    return radius_neighbors_graph(points, 0.009, mode="distance", n_jobs=1)


def tsne():
    """The joint probabilities that t-SNE attracts points by: symmetrised, about 3 × perplexity a row."""
    from sklearn.datasets import make_s_curve
    from sklearn.manifold import _t_sne
    from sklearn.neighbors import NearestNeighbors
    points, _ = make_s_curve(300_000, noise=0.1, random_state=5)
    distances = NearestNeighbors(n_neighbors=61, algorithm="kd_tree", n_jobs=1).fit(points).kneighbors_graph(mode="distance")
    distances.data **= 2
    return _t_sne._joint_probabilities_nn(distances, 20, 0)


MATRICES = [
    Matrix("knn_blobs", "scikit-learn nearest neighbours", blobs, "small"),
    Matrix("knn_swiss_roll", "scikit-learn nearest neighbours", swiss_roll, "medium"),
    Matrix("knn_tables", "scikit-learn nearest neighbours", tables, "large"),
    Matrix("radius_moons", "scikit-learn radius neighbours", radius, "medium"),
    Matrix("tsne_s_curve", "scikit-learn t-SNE affinities", tsne, "large"),
]
