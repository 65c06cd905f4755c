"""The report as one HTML page: the winners as a table and a chart, what they say in words, and everything else folded.
Everything it needs is inside it; a content security policy keeps the browser from asking any network. Without JavaScript
all tables and charts are there; with it tables sort and filter."""

import collections

from charts import charts
from drawing import svg
from speedups import BEST_HEAD, best_table, peers_of, speedup_table
from against_peers.conclusion import findings, ordered
from against_peers.figures import (families_table, generated_table, known_table, libraries_table, losses_table, outside_table,
                              sizes_table)
from against_peers.split import split_tables
from scaling import TITLE, scaling_chart
from sections.answer import answer_section, first_pictures
from sections.markup import NUMBERS, escape, fold, fold_each, html_table, marked, picture, resource, script
from sections.matrices import matrices_section
from sections.measured import conditions_section, definitions, environment_section, summary, systems_section, tiles
from sections.rows import results_section
from tabular.grid import baselines, grid_of_ranks
from texts import plural
from units.layout import BASELINE_ALIAS
from units.unit import describe

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"


def titled(title, table):
    """A table under a line; nothing without rows."""
    return f"<h3>{escape(title)}</h3>" + html_table(*table) if table[-1] else ""


HELD_OUT = (" Half of the outside set is held out: no factor of a kernel is fitted to it. The difference of the halves has its "
            "standard error, and is as expected within two of them and 6 %.")
GAIN = (" The gain of a matrix is the product of four factors, each with its best kernel: full 32-bit columns and values (launch "
        "and format); values still full (index bytes); any of ours (value bytes); what auto takes (choice).")


def has_peers(layout):
    """Says whether a kernel of another library was timed."""
    return any(peers_of(cells) for matrices in layout.values() for cells in matrices.values())


def headline_section(layout):
    """auto over other libraries: the figures of docs/results and README.md. Empty without any."""
    if not has_peers(layout):
        return ""
    outside, split = outside_table(layout), split_tables(layout)
    tables = "".join((
        titled("The outside set: auto over the fastest of other libraries' kernels on each matrix", outside),
        titled("Losses", losses_table(layout)), titled("By size", sizes_table(layout)),
        titled("By family, with known products", families_table(layout)),
        titled("Other libraries", libraries_table(layout)),
        titled("How well these ratios are known", known_table(layout)),
        titled("Generated matrices and small collections", generated_table(layout)),
        *(titled(f"Where the gain comes from: {title}", table) for title, *table in split)))
    return tables and tables + (
        "<p>Geometric means, with the number of matrices in brackets, and the worst matrix. Every matrix counts; ~ where fewer "
        "than 90 % of the ratios are known to 3 %. A ratio is known from the turns that the two kernels took next to each other, "
        "without them from the intervals of both medians. A suspect time of another library counts for it."
        + HELD_OUT * bool(outside[-1]) + GAIN * bool(split) + "</p>")


def systems_named(layout):
    """(how it is called in words, system, matrices) of each system."""
    return [(f"S{number}: {describe(system)}", system, matrices) for number, (system, matrices) in enumerate(layout.items(), 1)]


def best_section(layout):
    """The best kernel of every matrix, a system after the other."""
    tables = [(name, best_table(system, matrices)) for name, system, matrices in systems_named(layout)]
    return f"<p>{marked(BEST_HEAD)}</p>" + fold_each([
        (name, html_table(*table, "tight") if table[-1] else "<p>No times to rank.</p>") for name, table in tables])


def kernels_section(layout):
    """Every kernel's speed-ups, a system after the other; empty where nothing was timed beside the baseline."""
    tables = [(name, speedup_table(system, matrices)) for name, system, matrices in systems_named(layout)]
    return fold_each([(name, html_table(*table)) for name, table in tables if table[-1]])


def ranks_section(units):
    """What became of products over several ranks, a system after the other; empty without any."""
    several = collections.defaultdict(list)
    for unit in units:
        if (unit.identity.system.ranks or 1) > 1:
            several[unit.identity.system].append(unit)
    baseline, tables = baselines(units), []
    for system, group in several.items():
        grid = grid_of_ranks(group, baseline, "matrix")
        tables.append((describe(system), html_table(("matrix", *grid.columns), "l" + "r" * len(grid.columns), [
            [row, *(cells[column].text for column in grid.columns)] for row, cells in grid.rows.items()])))
    return tables and fold_each(tables)


def formats_of(systems):
    """All formats, the commonest first: it gets the plainest mark."""
    counts = collections.Counter(cell["format"] for data in systems for cell in data["cells"])
    return sorted(counts, key=lambda name: (-counts[name], name))


def charts_section(systems, formats):
    """The charts of every system, that with most to show first."""
    shown = sorted((data for data in systems if data["cells"]), key=lambda data: -len(data["cells"]))
    return fold_each([(f"S{data['number']}: {data['name']}", "<div class=charts>" + "".join(
        picture(name, title, text, svg([chart], alone=False)) for name, title, text, chart in charts(data, formats)) + "</div>")
                      for data in shown])


def scaling_picture(units):
    """Speed-ups by threads; empty unless a kernel has several numbers of them."""
    found = scaling_chart(units)
    return picture("scaling", TITLE, "; ".join(found[0]), svg([found[1]], alone=False)) if found else ""


def folded(records, units, layout, more):
    """[(name, title, what it holds, content)] of the parts below the conclusion."""
    matrices = plural(len({unit.identity.matrix for unit in units}), "matrix", "matrices")
    return [
        ("more-charts", "More charts", "rates, share of the memory limit, performance profile, roofline", more),
        ("best", "Best kernels", f"of every matrix, over {BASELINE_ALIAS}, when it pays off", best_section(layout)),
        ("kernels", "Kernels", f"speed-ups of every kernel over {BASELINE_ALIAS}", kernels_section(layout)),
        ("headline", "auto over other libraries", "outside set, losses, by size and family", headline_section(layout)),
        ("ranks", "Over ranks", "halo, imbalance, exchange alone, share hidden, efficiency", ranks_section(units)),
        ("matrices", "Matrices", f"{matrices}: pattern, size, rows", matrices_section(units)),
        ("all", "All results", f"{plural(len(units), 'row')} to sort and filter, and their commands",
         results_section(layout, units)),
        ("what", "What was measured", summary(records, units, layout),
         tiles(units) + systems_section(layout, units) + conditions_section(layout, units)),
        ("environment", "How the machines differ", "facts", environment_section(records)),
        ("definitions", "What the words mean", "units and marks", definitions())]


def page(title, records, units, layout, systems, has_charts):
    """The whole page."""
    found, formats = ordered(findings(layout)), formats_of(systems)
    pictures = first_pictures(found, formats) if has_charts and formats else ""
    if has_charts:
        pictures += scaling_picture(units)
    more = charts_section(systems, formats) if has_charts and formats else ""
    answer = answer_section(found, units, layout, pictures)
    parts = "".join(fold(*part) for part in folded(records, units, layout, more) if part[-1])
    return ("<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
            '<meta name=viewport content="width=device-width,initial-scale=1">'
            '<meta name=color-scheme content="light dark">'
            f"<title>{escape(title)}</title><style>{resource('report.css')}{NUMBERS}</style></head><body>"
            f"<header><h1>{escape(title)}</h1></header><main><section id=answer>{answer}</section>{parts}</main>"
            f"<footer>Made by <code>spmv report</code>; opens from disk, asks no "
            f"network.</footer>{script(resource('report.js'), type='module')}</body></html>\n")
