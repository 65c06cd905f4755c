#!/usr/bin/env python3
"""Says what `-k auto` was built to reach, class by class, and what the reference's logs say it reaches.

    python3 tables/report/aims.py log/reference/*.jsonl [--out FILE]     a Markdown page

An aim is a class of matrices, the baselines (other kernels) and the least speed-up that auto must reach over
the fastest of them: in the geometric mean or on every matrix. Suspect times of baselines count in their favour.
"""

import argparse
import re
import statistics
import sys
from typing import Callable, NamedTuple, Optional

from common import Parser, emit, load, run
from speedups import is_peer
from against_peers.classes import HELD_OUT, listed_name, outside_list
from against_peers.figures import ratio_over
from texts import markdown_table
from units.layout import auto_expecting, fastest, layout_of
from units.unit import AUTO, describe, expected_products

MIN, MEAN = "each", "geometric mean"
GRIDS = r"gen:(poisson2d|poisson3d|box27)\b"
STREAMS = GRIDS + r"\S* random|gen:(fem3d|banded|ci|mesh:\d+(?=:))\b\S*( random)?"


class Preparation(NamedTuple):
    """The most that auto may spend before the first product, in products of a kernel. known: when it
    expects many products (--iters); else when their number is unknown."""
    kernel: str
    known: bool


class Aim(NamedTuple):
    """A class of matrices and what is asked of auto on them. baselines: whether a kernel's name is one;
    None: the share of the streaming limit counts; or a Preparation. Speed is that of auto when it
    expects the most products, unless known is false."""
    words: str
    takes: Callable  # test whether a Facts belongs to the aim
    baselines: object
    least: Optional[str]  # MIN or MEAN
    asked: float
    known: bool = True  # else the expected number of products is unknown


class Facts(NamedTuple):
    """The facts of a matrix."""
    name: str
    csr_bytes: float
    streams: bool  # CSR is larger than the caches
    symmetric: bool
    half: Optional[str] = None  # half of the outside set; None: not in the set


def named(pattern):
    """Matrices of these names, whole."""
    return lambda facts: re.fullmatch(pattern, facts.name) is not None


def large(pattern):
    """Takes those of them that the caches do not hold."""
    return lambda facts: facts.streams and named(pattern)(facts)


def among(*kernels):
    """Says whether a kernel is one of these."""
    return lambda kernel: kernel in kernels


def is_real(facts):
    """Is a matrix from a file, of the small collections."""
    return not facts.name.startswith("gen:") and not is_outside(facts)


def is_outside(facts):
    """Is a matrix of the outside set."""
    return facts.half is not None


def is_held_out(facts):
    """Is a matrix of the half that no factor is fitted to."""
    return facts.half == HELD_OUT


def over_100_mb(facts):
    """Is larger than 100 MB in CSR."""
    return facts.csr_bytes > 100e6 and not is_outside(facts)


def anything(facts):
    """All matrices but the outside set."""
    return not is_outside(facts)


ALG1 = "cusparse_csr_alg1"
OWN = ("csr_rows", "csr_balanced")


def cpu_baseline(kernel):
    """Is what a matrix is measured against on a CPU."""
    return is_peer(kernel) or kernel in OWN


AIMS = {
    "cuda": (
        Aim("outside set", is_outside, is_peer, MEAN, 1.1),
        Aim("outside set, held-out half", is_held_out, is_peer, MEAN, 1.1),
        Aim("outside set", is_outside, is_peer, MIN, 0.97),
        Aim("outside set, number of products unknown", is_outside, is_peer, MEAN, 1.05, False),
        Aim("all", anything, is_peer, MEAN, 1.4),
        Aim("all", anything, is_peer, MIN, 0.97),
        Aim("all, over CSR_ALG1", anything, among(ALG1), MEAN, 1.6),
        Aim("streaming, arbitrary values", large(STREAMS), is_peer, MIN, 1.35),
        Aim("streaming, arbitrary values: share of the limit", large(STREAMS), None, MIN, 0.9),
        Aim("streaming, few values", large(GRIDS + r"\S*( few:8)?|gen:(fem3d|banded|ci)\b\S* few:8"),
            is_peer, MIN, 2),
        Aim("ones alone", large(r".* pattern"), is_peer, MIN, 1.6),
        Aim("giant rows, near-empty, rectangular",
            large(r"gen:(giantrow|diagonal|permutation|road|random:\d+:\d+:\d+)\b\S*"), is_peer, MIN, 1.3),
        Aim("rmat", large(r"gen:rmat\b\S*"), is_peer, MIN, 1.2),
        Aim("uniform random", large(r"gen:random:\d+:\d+"), is_peer, MIN, 1.0),
        Aim("under 30 MB", lambda facts: facts.csr_bytes < 30e6 and not is_outside(facts), is_peer, MEAN, 1.3),
        Aim("number of products unknown", anything, is_peer, MEAN, 1.4, False),
        Aim("number of products unknown", anything, is_peer, MIN, 0.97, False),
        Aim("preparation over 100 MB, products of CSR_ALG1", over_100_mb, Preparation(ALG1, False), MIN, 10),
        Aim("the same with 1,000 expected products", over_100_mb, Preparation(ALG1, True), MIN, 100)),
    "omp": (
        Aim("outside set", is_outside, is_peer, MEAN, 1.3),
        Aim("outside set, held-out half", is_held_out, is_peer, MEAN, 1.3),
        Aim("outside set", is_outside, is_peer, MIN, 0.97),
        Aim("outside set, number of products unknown", is_outside, is_peer, MEAN, 1.2, False),
        Aim("all", anything, cpu_baseline, MEAN, 1.3),
        Aim("all", anything, cpu_baseline, MIN, 0.97),
        Aim("streaming, arbitrary values", large(STREAMS), cpu_baseline, MEAN, 1.35),
        Aim("streaming, arbitrary values: share of the limit", large(STREAMS), None, MIN, 0.9),
        Aim("fem3d over csr1", large(r"gen:fem3d\b\S*"), among("csr_rows"), MIN, 1.85),
        Aim("banded over csr1", large(r"gen:banded\b\S*"), among("csr_rows"), MIN, 2),
        Aim("gathers: random, rmat", large(r"gen:(random|rmat)\b\S*"), cpu_baseline, MIN, 1.0),
        Aim("shuffled meshes and graphs", large(r"gen:(mesh|rmat|powerlaw)\b\S*"), cpu_baseline, MIN, 1.2),
        Aim("values that compress", large(r".* (few:\d+|pattern)"), cpu_baseline, MIN, 2),
        Aim("grids with few values", large(GRIDS + r"\S*( few:\d+| pattern)?"), cpu_baseline, MIN, 3),
        Aim("symmetric", lambda facts: facts.symmetric and facts.streams and not is_outside(facts), cpu_baseline, MIN, 1.5),
        Aim("real, in the caches", is_real, cpu_baseline, MEAN, 1.15),
        Aim("number of products unknown", anything, cpu_baseline, MEAN, 1.3, False),
        Aim("number of products unknown", anything, cpu_baseline, MIN, 0.97, False),
        Aim("preparation, products of csr1", lambda facts: facts.streams and not is_outside(facts), Preparation("csr_rows", False),
            MIN, 10),
        Aim("the same with 1,000 expected products", lambda facts: facts.streams and not is_outside(facts),
            Preparation("csr_rows", True), MIN, 100))}


def facts_of(matrix, record):
    """The class of a matrix, from any record of it."""
    csr = 12 * matrix.nnz + 4 * record["matrix.rows"]
    cache = record.get("gpu.l2_B") if record["config.backend"] == "cuda" else record.get("cpu.llc_B")
    symmetric = record.get("matrix.symmetry") == "symmetric" or matrix.name.endswith(" symmetric")
    place = outside_list().get(listed_name(matrix.name))
    return Facts(matrix.name, csr, csr > (cache or 0), symmetric, place and place.half)


def preparation(wanted, cells, baseline):
    """The preparation of one matrix in products of the baseline, or None: not measured so."""
    units = [unit for unit in cells[AUTO].timed if bool(expected_products(unit)) == wanted.known]
    if not units:
        return None
    spent = [sum(unit.record.get(f"prep.{part}_s") or 0 for part in ("convert", "prepare", "tune"))
             for unit in units]
    return statistics.median(spent) / baseline.median_s, not baseline.noisy


def measure(aim, matrix, facts, cells):
    """(the value of one matrix, whether it is known) or None: not of the aim, not known."""
    auto = auto_expecting(cells) if aim.known else auto_expecting(cells, 0)
    if not auto or not aim.takes(facts):
        return None
    if aim.baselines is None:
        return auto.record.get("perf.bw_fraction"), not auto.noisy
    wanted = aim.baselines if isinstance(aim.baselines, Preparation) else None
    if wanted and auto.record.get("config.cache") == "steady":  # measured after cold: its trials found stores that were there
        return None
    takes = (lambda kernel: kernel == wanted.kernel) if wanted else aim.baselines
    units = [unit for kernel, cell in cells.items() if takes(kernel)
             for unit in (*cell.timed, *cell.suspect)]
    if not units:
        return None
    if wanted:
        return preparation(wanted, cells, fastest(units))
    ratio = ratio_over(matrix, auto, units)
    return ratio.value, ratio.known


def short(name):
    """A matrix as a cell has it."""
    return name.removeprefix("gen:").removesuffix(".mtx.gz").removesuffix(".mtx")


def row_of(aim, found):
    """[class, n, how many are not known, asked, measured, met, what missed it]. found: at least one."""
    upper = isinstance(aim.baselines, Preparation)
    asked = f"{'≤' if upper else '≥'} {aim.asked:g} {aim.least}"
    values, noisy = [value for value, *_ in found], sum(not quiet for _, quiet, _ in found)
    value = statistics.geometric_mean(values) if aim.least == MEAN else (max if upper else min)(values)
    missed = sorted(((value, name) for value, _, name in found
                     if (value > aim.asked if upper else value < aim.asked)), reverse=upper)
    met = value <= aim.asked if upper else value >= aim.asked
    named_ones = "" if met or aim.least == MEAN else ", ".join(
        f"{value:.3g} {short(name)}" for value, name in missed[:8]) + (
            f" and {len(missed) - 8} more" if len(missed) > 8 else "")
    return [aim.words, str(len(values)), str(noisy) if noisy else "",
            asked, f"{value:.2f}",
            "yes" if met else "no", named_ones]


def page(layout):
    """The page."""
    parts = ["# What auto was built to reach, and what it reaches\n\n"
             "Times of the fastest other kernel over auto's (f64; with 1,000 expected products where the "
             "log has that); others: on a GPU all kernels of cuSPARSE, "
             "on a CPU oneMKL, librsb, " + " and ".join(OWN) + ". Matrices \"streaming\" and of the "
             "classes after it are larger than the last-level cache. ~: so many of the n are not "
             "known, a ratio to 3 % (docs/explanation/method.md), a preparation where the baseline's time missed its noise limit. "
             "Preparation: conversion, tuning and the kernel's own structures, "
             "not the upload nor what a process does once (prep.once_s). What binds where an aim is missed: "
             "`docs/results/limits.md`.\n"]
    for system, matrices in layout.items():
        if system.cache == "warm":
            continue
        rows, without = [], []
        for aim in AIMS[system.backend]:
            found = []
            for matrix, cells in matrices.items():
                some = next((cell.best for cell in cells.values() if cell.best), None)
                value = some and measure(aim, matrix, facts_of(matrix, some.record), cells)
                if value and value[0]:
                    found.append((*value, matrix.name))
            if found:
                rows.append(row_of(aim, found))
            else:
                without.append(aim.words)
        if rows:
            header = ["matrices", "n", "~", "asked", "measured", "met", "missed by"]
            parts.append(f"\n## {describe(system)}\n\n" + markdown_table(header, "lrrlrll", rows))
            if without:
                parts.append(f"\nNot measured: {'; '.join(without)}.\n")
    return "".join(parts)


def main_part(arguments):
    """Exit status 0, or by Stop."""
    parser = Parser(prog="aims.py", description=__doc__,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+", metavar="LOG")
    parser.add_argument("--out", metavar="FILE", help="instead of the terminal")
    options = parser.parse_args(arguments)
    records, _ = load(options.logs)
    text = page(layout_of(records))
    emit(text, options.out, "aims.py")
    return 0


def main(arguments=None):
    """Exit status, with the reason said."""
    return run("aims.py", main_part, arguments)


if __name__ == "__main__":
    sys.exit(main())
