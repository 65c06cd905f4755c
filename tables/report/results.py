#!/usr/bin/env python3
"""What auto gains over other kernels: the table of docs/results.md and the chart of README.md, from
the reference's logs.

    python3 tables/report/results.py log/reference/*.jsonl                  the table, as Markdown
    python3 tables/report/results.py log/reference/*.jsonl --into docs/results.md
                                  written between the two marks; --chart docs/results.svg

Every matrix counts, also where the noise limit was not met (the report's means leave those out), and a
suspect time of another kernel counts in that kernel's favour.
"""

import argparse
import statistics
import sys

import charts
from common import EX_DATAERR, Parser, Stop, load, run, say, write_files
from gains import is_peer
from texts import markdown_table
from units import auto_expecting, fastest, layout_of, libraries_in, overlap, expected_products

FIRST, LAST = "<!-- results: make reference-tables writes them -->\n", "<!-- end of results -->\n"
SLOW = 0.9  # losses beyond this are named
OWN = ("csr_serial", "csr_rows", "csr_balanced")  # what a CPU's user could take without choosing
BASELINES = {  # of a backend: (words, whether a kernel is one of them)
    "cuda": (("the fastest of cuSPARSE's kernels", is_peer),
             ("cuSPARSE CSR_ALG1", lambda kernel: kernel == "cusparse_csr_alg1")),
    "omp": (("the fastest of oneMKL, librsb, " + ", ".join(OWN),
             lambda kernel: is_peer(kernel) or kernel in OWN),
            ("the faster of oneMKL and librsb", is_peer))}


def comparisons(matrices, is_baseline):
    """[(matrix, the fastest baseline's time over auto's, whether tied, whether both were quiet, expected
    number of products)]."""
    found = []
    for matrix, cells in matrices.items():
        auto = auto_expecting(cells)
        baselines = [unit for kernel, cell in cells.items() if is_baseline(kernel)
                  for unit in (*cell.timed, *cell.suspect)]
        if auto and baselines:
            best = fastest(baselines)
            found.append((matrix.name, best.median_s / auto.median_s, overlap(auto, best),
                          not (auto.noisy or best.noisy), expected_products(auto)))
    return found


def mean_of(found):
    """Geometric mean with its n."""
    return f"{statistics.geometric_mean([ratio for _, ratio, *_ in found]):.2f} ({len(found)})" \
        if found else ""


def row_of(system, words, found):
    """One line of the table."""
    made = [comparison for comparison in found if comparison[0].startswith("gen:")]
    real = [comparison for comparison in found if not comparison[0].startswith("gen:")]
    won = sum(ratio > 1 and not tied for _, ratio, tied, *_ in found)
    lost = sorted((ratio, name) for name, ratio, tied, *_ in found if ratio < 1 and not tied)
    named = [f"{ratio:.2f} {name.removeprefix('gen:')}" for ratio, name in lost if ratio < SLOW][:4]
    where = system.gpu or f"{system.cpu}, {system.threads} threads"
    return [f"{where}, {system.cache}", words, mean_of(made), mean_of(real), mean_of(found),
            f"{won}, {len(found) - won - len(lost)}, {len(lost)}", ", ".join(named)]


def results(layout):
    """The table, and how many of its times are of runs that stopped early."""
    rows, noisy, known, count, peers = [], 0, 0, 0, {}
    for system, matrices in layout.items():
        for words, is_baseline in BASELINES[system.backend]:
            found = comparisons(matrices, is_baseline)
            if found and system.cache != "warm":
                rows.append(row_of(system, words, found))
                peers.update(dict.fromkeys(libraries_in(matrices)))
                noisy += sum(not quiet for *_, quiet, _ in found)
                known += sum(products > 0 for *_, products in found)
                count += len(found)
    if not rows:
        raise Stop(EX_DATAERR, "no matrix has auto and another kernel")
    header = ["machine, state", "compared with", "generated", "real (small)", "all",
              "faster, tied, slower", f"below {SLOW}"]
    return (markdown_table(header, "llrrrrl", rows)
            + f"\nIn {noisy} of these {count} the noise limit was not met on one side; in {known} auto was "
            + "given the number of products that follow (`--iters`)."
            + (f" Peers: {', '.join(peers)}." if peers else "") + "\n")


def chart_data(layout):
    """(points, means) of the chart: against the first entry of BASELINES of each system's backend."""
    points, means = [], []
    for system, matrices in layout.items():
        found = comparisons(matrices, BASELINES[system.backend][0][1])
        if not found or system.cache == "warm":
            continue
        machine = f"{system.gpu or f'CPU, {system.threads} threads'}, {system.cache} cache"
        mean = statistics.geometric_mean([ratio for _, ratio, *_ in found])
        means.append({"machine": machine, "mean": mean,
                      "label": f"{mean:.2f}× on {len(found)} matrices"})
        points += [{"machine": machine, "ratio": comparison[1], "offset": (k * 0.618) % 1 * 1.2 - 0.6}
                   for k, comparison in enumerate(found)]
    return points, means


def put_between(text, new):
    """A page with what stands between the marks replaced."""
    head, first, rest = text.partition(FIRST)
    _, last, tail = rest.partition(LAST)
    if not first or not last:
        raise Stop(EX_DATAERR, f"no lines {FIRST.strip()} and {LAST.strip()}")
    return head + first + new + last + tail


def main_part(arguments):
    """Exit status 0, or by Stop."""
    parser = Parser(prog="results.py", description=__doc__,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+", metavar="LOG")
    parser.add_argument("--into", metavar="FILE", help="a page with the two marks")
    parser.add_argument("--chart", metavar="FILE", help="draw the chart into an SVG file")
    options = parser.parse_args(arguments)
    records, _ = load(options.logs)
    layout = layout_of(records)
    text = results(layout)
    if options.chart:
        spec = charts.comparisons(*chart_data(layout))
        write_files(".", {options.chart: charts.library().vegalite_to_svg(spec)})
    if not options.into:
        sys.stdout.write(text)
        return 0
    with open(options.into, encoding="utf-8") as file:
        page = file.read()
    write_files(".", {options.into: put_between(page, text)})
    say(f"results.py: {options.into}")
    return 0


def main(arguments=None):
    """Exit status, with the reason said."""
    return run("results.py", main_part, arguments)


if __name__ == "__main__":
    sys.exit(main())
