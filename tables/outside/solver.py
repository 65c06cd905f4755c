#!/usr/bin/env python3
"""solver.py: makes the matrices that `make bench-solver` takes beside generated ones, as Matrix Market files.

Four kinds that solvers meet, of sizes at which a product takes about as long as an iteration's other kernels: a planar mesh in
reverse Cuthill-McKee order (700,000 rows), Stokes flow (592,000), a coarse operator of multigrid (167,000) and nearest
neighbours (400,000). The families of the outside set make them, with numbers of their own; none of them is in that set."""
import argparse
import pathlib

import outside


def planar_mesh():
    ordered = outside.module("fem_ordered")
    return ordered.rcm(outside.module("fem_scalar").plate("ElementTriP1", 1.98e-6))


def stokes_flow():
    return outside.module("fem_mixed").plate_flow(2.13e-5)


def coarse_operator():
    multigrid = outside.module("multigrid")
    return multigrid.of(multigrid.coarse, multigrid.ruge_stuben, 3, multigrid.heat, 126)


def neighbours():
    from sklearn.datasets import make_swiss_roll
    points, _ = make_swiss_roll(400_000, noise=0.05, random_state=2)
    return outside.module("neighbours").kneighbors(points, 16)


MATRICES = {"planar_mesh_rcm": planar_mesh, "stokes_flow": stokes_flow, "multigrid_coarse": coarse_operator,
            "nearest_neighbours": neighbours}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="where the files go")
    parser.add_argument("names", metavar="NAME", nargs="*", default=list(MATRICES), help=f"of {', '.join(MATRICES)}")
    options = parser.parse_args()
    import scipy.io
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        matrix = MATRICES[name]().tocoo()
        print(f"{name}: {matrix.shape[0]} x {matrix.shape[1]}, {matrix.nnz} nonzeros", flush=True)
        scipy.io.mmwrite(options.folder / f"{name}.mtx", matrix, symmetry="general")


if __name__ == "__main__":
    main()
