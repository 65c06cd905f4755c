"""Design matrices of categories (scikit-learn's encoders): every entry says that a row belongs to a class.

Linear models, click prediction and clustering multiply by them and by their transposes. All values are one, and all rows
have as many."""
from outside import Matrix

FAMILY = "categories"


def clicks():
    """A table as of clicks: 26 columns with 4 to 300,000 categories, a few of them frequent, in the order of their names."""
    import numpy
    from sklearn.preprocessing import OneHotEncoder
    draws = numpy.random.default_rng(1)
    table = numpy.empty((700_000, 26), numpy.int32)
    for column, many in enumerate(numpy.geomspace(4, 300_000, table.shape[1]).astype(int)):
        table[:, column] = draws.permutation(many)[(many * draws.random(len(table)) ** 3).astype(int)]
    return OneHotEncoder().fit_transform(table)


def bins():
    """Measurements in 64 quantiles each."""
    from sklearn.datasets import make_classification
    from sklearn.preprocessing import KBinsDiscretizer
    table, _ = make_classification(400_000, 45, n_informative=20, n_redundant=15, random_state=2)
    return KBinsDiscretizer(64, encode="onehot", quantile_method="averaged_inverted_cdf").fit_transform(table)


def leaves():
    """The leaves that rows reach in fifty random trees."""
    from sklearn.datasets import make_friedman1
    from sklearn.ensemble import RandomTreesEmbedding
    table, _ = make_friedman1(90_000, 10, random_state=3)
    return RandomTreesEmbedding(50, max_depth=12, random_state=3).fit_transform(table)


MATRICES = [
    Matrix("onehot_clicks", "scikit-learn encoders", clicks, "large"),
    Matrix("onehot_bins", "scikit-learn encoders", bins, "large"),
    Matrix("onehot_leaves", "scikit-learn forests", leaves, "small"),
]
