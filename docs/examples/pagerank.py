"""pagerank.py: the PageRank of a random graph by power iteration, x <- d P' x + (1 - d) / n.

    python pagerank.py [PAGES [KERNEL]]

P's row i holds 1 / (links of i) at the pages that page i links to, so that its transpose P' passes the ranks on. A page without links passes nothing on; dividing x
by its sum at the end has the same effect as passing its rank to all pages alike.
KERNEL "cuda:auto": on a GPU, with CuPy."""
import sys

import numpy as np
import scipy.sparse as sparse
import spmv
from example import arrays_of, report

DAMPING, MOST_PRODUCTS, PRODUCTS_PER_CHECK = 0.85, 200, 10


def transition(pages, links_per_page=8):
    """Few pages have many links to them."""
    rng = np.random.default_rng(1)
    source = rng.integers(0, pages, pages * links_per_page)
    target = (pages * rng.random(len(source)) ** 3).astype(int)
    links = sparse.csr_matrix((np.ones(len(source)), (source, target)), (pages, pages))
    links.data[:] = 1  # several links from one page to another are one
    count = np.maximum(np.asarray(links.sum(axis=1)).ravel(), 1)
    return (sparse.diags(1 / count) @ links).tocsr()


def main(pages=100_000, kernel="auto"):
    xp, pages = arrays_of(kernel), int(pages)
    S = transition(pages)
    Pt = spmv.matrix(S).T
    facts = Pt.plan(expected=MOST_PRODUCTS, kernel=kernel)
    jump = (1 - DAMPING) / pages
    x, rest, products = xp.full(pages, jump), 1.0, 0
    while rest > 1e-12 and products < MOST_PRODUCTS:
        last, x = x, DAMPING * (Pt @ x) + jump
        products += 1
        if products % PRODUCTS_PER_CHECK == 0:
            rest = float(abs(x - last).max())
    x = x if xp is np else x.get()
    residual = abs(DAMPING * (S.T @ x) + jump - x).max()  # by SciPy's product
    best = x.argmax()
    print(f"{pages} pages, {products} iterations, residual {residual:.1e}, "
          f"page {best} leads with rank {x[best] / x.sum():.2e}")
    report(Pt, facts, xp, products, "P'")
    return 0 if residual < 1e-11 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
