#!/usr/bin/env python3
"""Says what auto gains over other libraries: the tables of docs/results, the sentences of README.md and the chart, from the
reference's logs.

    python3 tables/report/published_results.py log/reference/*.jsonl                  the tables, as Markdown
    python3 tables/report/published_results.py log/reference/*.jsonl --into docs/results/outside.md --short docs/results/README.md
                                  --readme README.md: written between the two marks of each; --chart docs/results/speedups.svg;
                                  --tables tables/reference/outside.md: all of them

The outside set comes first, generated matrices and small collections second. Every matrix counts, also where the noise
limit was not met, and a suspect time of another kernel counts in that kernel's
favour. The figures are those of the report and of aims.py: against_peers/figures.py.
"""

import argparse
import statistics
import sys
import textwrap

import charts
from common import EX_DATAERR, Parser, Stop, load, run, say, write_files, write_whole
from against_peers.figures import (CHART_LIMIT, families_table, generated_groups, generated_table, known_groups, known_table, libraries_table, losses_page_table,
                              losses_table, machine_of, mean_of, outside_groups, outside_table, short_table, sizes_table)
from against_peers.split import split_tables
from drawing import svg
from logs import is_number
from texts import markdown_table
from units.layout import layout_of
from units.means import are_enough
from units.unit import limit_of

FIRST, LAST = "<!-- results: make reference-tables writes them -->\n", "<!-- end of results -->\n"
TITLE = "# Other libraries, matrix set by matrix set\n\nWhat the words mean: [docs/results](../../docs/results/outside.md).\n"
NOTHING_OUTSIDE = "The logs hold no matrix of the outside set yet.\n"


def section(title, table):
    """A table under its title; nothing without rows."""
    header, alignment, rows = table
    return f"\n{title}\n\n{markdown_table(header, alignment, rows)}" if rows else ""


def span(values, unit, scale):
    """The least and the most of some numbers, in words; nothing of none."""
    return " to ".join(dict.fromkeys(f"{end(values) / scale:.0f}" for end in (min, max))) + f" {unit}" if values else ""


def machines_table(layout):
    """Says what the records say of each machine, which knows its processor's name and no more."""
    found = {}
    for system, matrices in layout.items():
        caches, limits = found.setdefault(machine_of(system), (set(), set()))
        for record in (unit.record for cells in matrices.values() for cell in cells.values() for unit in cell.timed):
            cache, limit = record.get("gpu.l2_B" if system.gpu else "cpu.llc_B"), limit_of(record)
            caches |= {cache} if is_number(cache) else set()
            limits |= {limit[0]} if limit else set()
    return (["machine", "last-level cache", "streaming limit"], "lrr",
            [[name, span(caches, "MB", 1e6), span(limits, "GB/s", 1e9)] for name, (caches, limits) in found.items()])


def losses(layout, places=None):
    """The table of docs/results/outside.md."""
    return section("", losses_page_table(layout, places)).lstrip("\n") or NOTHING_OUTSIDE


def results(layout, places=None):
    """The tables of tables/reference/outside.md."""
    outside = "".join((
        section("### Outside set", outside_table(layout, places)),
        section("Losses: matrices on which `auto` is slower and not tied.", losses_table(layout, places)),
        section("By size:", sizes_table(layout, places)),
        section("By family, with known products:", families_table(layout, places)),
        section("Other libraries:", libraries_table(layout)),
        section("How well these ratios are known:", known_table(layout, places))))
    second = section("### Generated matrices and small collections", generated_table(layout, places))
    split = "".join(section(f"{title}:", table) for title, *table in split_tables(layout, places))
    if not outside and not second:
        raise Stop(EX_DATAERR, "no matrix has auto and another kernel")
    machines = section("### Machines", machines_table(layout))
    return (outside or "\n" + NOTHING_OUTSIDE) + second + machines + ("\n### Where the gain comes from\n" + split if split else "") + "\n"


def short(layout, places=None):
    """The table of docs/results/README.md: a dozen numbers."""
    table = short_table(layout, places)
    return section("", table).lstrip("\n") if table[-1] else NOTHING_OUTSIDE


PEERS = {"omp": "oneMKL, librsb and AOCL-Sparse", "cuda": "cuSPARSE"}


def listed(words):
    """Words with commas, and "and" before the last."""
    words = list(words)
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def readme(layout, places=None):
    """The two sentences of README.md: the means that are known, and what they are means of."""
    found = known_groups(layout, places)
    if not found:
        return NOTHING_OUTSIDE
    clauses = []
    for backend, peers in PEERS.items():
        there = [(machine_of(system), ratios) for system, ratios in found if system.backend == backend]
        if there:
            clauses.append(f"{listed(f'{mean_of(ratios):.2f}' for _, ratios in there)} times as fast as the best of {peers} on "
                           + listed(f"{machine.replace(', ', ' with ')}" for machine, _ in there))
    worst = listed(f"{min(ratio.value for ratio in ratios):.2f}" for _, ratios in found)
    count = listed(dict.fromkeys(str(len(ratios)) for _, ratios in found))
    text = (f"`auto` is {', and '.join(clauses)}. These are geometric means over {count} matrices that other people's programs "
            f"made, in f64 with cold caches and 1,000 expected products. The worst matrix has {worst}.")
    return textwrap.fill(text, 110, break_long_words=False, break_on_hyphens=False) + "\n"


def chart_data(layout, places=None):
    """(points, means) of the chart: the outside set, or all where there is none yet, over the first baselines, with known
    products where there are any; caches cold or steady, in f64. A system whose mean is not known is left out."""
    outside = outside_groups(layout, places)
    points, means, seen = [], [], set()
    for group, found in (outside or generated_groups(layout, places)).items():  # known products come first
        system = group.system
        if system in seen or system.cache == "warm" or system.precision == "f32":
            continue
        seen.add(system)
        if not are_enough(sum(ratio.known_to(CHART_LIMIT) for ratio in found), len(found)):
            continue  # the chart shows what is known
        machine = f"{machine_of(system)}, {system.cache} cache"
        mean = statistics.geometric_mean([ratio.value for ratio in found])
        means.append({"machine": machine, "mean": mean,
                      "label": f"{mean:.2f}× on {len(found)} matrices"})
        points += [{"machine": machine, "ratio": ratio.value, "offset": (k * 0.618) % 1 * 1.2 - 0.6}
                   for k, ratio in enumerate(found)]
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
    parser = Parser(prog="published_results.py", description=__doc__,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+", metavar="LOG")
    parser.add_argument("--into", metavar="FILE", help="a page with the two marks")
    parser.add_argument("--tables", metavar="FILE", help="every table, a page of its own")
    parser.add_argument("--short", metavar="FILE", help="another one, for the short table")
    parser.add_argument("--readme", metavar="FILE", help="another one, for the two sentences")
    parser.add_argument("--chart", metavar="FILE", help="draw the chart into an SVG file")
    options = parser.parse_args(arguments)
    records, _ = load(options.logs)
    layout = layout_of(records)
    if options.chart:
        write_files(".", {options.chart: svg([charts.comparisons(*chart_data(layout))])})
    for name, text in ((options.into, losses(layout)), (options.short, short(layout)), (options.readme, readme(layout))):
        if name:
            with open(name, encoding="utf-8") as file:
                page = file.read()
            write_whole(name, put_between(page, text).encode("utf-8"))
            say(f"published_results.py: {name}")
    if options.tables:
        write_files(".", {options.tables: TITLE + results(layout)})
        say(f"published_results.py: {options.tables}")
    if not any((options.into, options.short, options.readme, options.tables)):
        sys.stdout.write(results(layout))
    return 0


def main(arguments=None):
    """Exit status, with the reason said."""
    return run("published_results.py", main_part, arguments)


if __name__ == "__main__":
    sys.exit(main())
