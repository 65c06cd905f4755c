"""Says what was measured, where, under which conditions, and what the words mean."""

import collections

from compare import machine
from logs import is_number
from sections.markup import escape, html_table
from texts import plural
from units.layout import libraries_in
from units.settings import order, text_of
from units.unit import disturbances, flags_of, product_of

VERDICTS = (  # in the order of what a reader should see first; the words explain the counts
    ("VALID", "checked, and the noise limit was met"),
    ("WRONG", "the result differs from the reference: shown, never ranked"),
    ("NOISY", "checked, but stopped before the noise limit was met: marked ~"),
    ("UNCHECKED", "timed, but the result was not compared with a reference"),
    ("SKIPPED", "refused, with a reason: no result, no time"),
    ("FAILED", "ended without a result: crashed, hung, out of memory or failed"),
    ("SUSPECT", "faster than the memory as probed by over a quarter, though no cache can hold the "
     "data: shown, not ranked"))
SHOWN_FACTS = ("build.", "host.", "cpu.", "gpu.", "omp.")
DEFINITIONS = (
    ("GFLOP/s", "2 × nonzeros ÷ median time ÷ 10⁹; stored zeros count, padding does not"),
    ("GB/s", "bytes of the matrix as stored and read + x once + y written (+ y read if β ≠ 0), ÷ "
     "median time ÷ 10⁹"),
    ("median, IQR", "of the samples of one product; several runs count as the median of their "
     "medians; IQR is the interquartile range ÷ median"),
    ("~, unsettled", "stopped before the noise limit was met: shown, and never said to be the fastest; in a column of means: "
     "fewer than 90 % of the ratios are known to 3 %"),
    ("known to 3 %", "of a ratio: its 95 % interval, made of the turns that the two kernels took next to each other, or without "
     "turns of the intervals of both medians, reaches no further than 3 %"),
    ("in doubt", "unsettled or disturbed, where the ratio is not known from turns, or of a result that was not checked"),
    ("!, disturbed", "while it was timed, as counted under While it was measured"),
    ("c", "the data fit in the last-level cache: the rate says little about memory"),
    ("of limit", "GB/s ÷ the streaming limit: measured by spmv doctor --probe, else the GPU's theoretical "
     "bandwidth; beyond 100 % the data come from a cache, or "
     "the probe was too low: up to a quarter above it is ranked, more is SUSPECT"),
    ("of gather", "the time that the reads of x which are neither recent nor adjacent would take at "
     "the rate of spmv doctor --probe, ÷ median time (an estimate); bold: the limit that binds"),
    ("MB", "bytes that one product moves at least, ÷ 10⁶"),
    ("=, tied", "the quartile ranges meet: the two are tied"),
    ("prep", "spent once before the first product: conversion, the kernel's own structures, upload"),
    ("μ, σ", "mean and standard deviation of the number of nonzeros per row"))


def verdict_of(unit):
    """One of VERDICTS."""
    if unit.status == "ok":
        if unit.record.get("check.status") != "ok":
            return "UNCHECKED"
        return "NOISY" if unit.noisy else "VALID"
    return unit.status.upper() if unit.status in ("wrong", "skipped", "suspect") else "FAILED"


def summary(records, units, layout):
    """Says what was measured, in a line."""
    times = sorted(str(r["time"]) for r in records if r.get("time"))
    matrices = {unit.identity.matrix for unit in units}
    kernels = {(unit.identity.system.backend, unit.identity.kernel) for unit in units}
    span = f", measured {times[0][:10]}" + (
        f" to {times[-1][:10]}" if times[-1][:10] != times[0][:10] else "") if times else ""
    return (f"{plural(len(records), 'record')} of {plural(len(units), 'configuration')}: {plural(len(kernels), 'kernel')}, "
            f"{plural(len(matrices), 'matrix', 'matrices')}, {plural(len(layout), 'system')}{span}")


def tiles(units):
    """Counts of verdicts."""
    counts = collections.Counter(map(verdict_of, units))
    return "<div class=tiles>" + "".join(
        f'<div class="tile {word.lower()}"><b>{counts[word]:,}</b> {word}<small>{escape(meaning)}</small></div>'
        for word, meaning in VERDICTS if counts[word]) + "</div>"


def definitions():
    """Says what the words mean."""
    return "<dl>" + "".join(f"<dt>{escape(word)}<dd>{escape(text)}" for word, text in DEFINITIONS) + "</dl>"


def systems_section(layout, units):
    """Says where it was measured."""
    rows = []
    for number, (system, matrices) in enumerate(layout.items(), 1):
        mine = [unit for unit in units if unit.identity.system == system]
        commits = sorted({str(unit.record.get("build.commit") or "unknown")
                          + ("+" if unit.record.get("build.dirty") else "") for unit in mine})
        rows.append([f"S{number}", system.backend, system.gpu or system.cpu or "unknown",
                     system.threads or "", system.precision or "", system.cache or "",
                     ", ".join(filter(None, (f"{system.alpha}, {system.beta}", product_of(system)))), system.host or "unknown",
                     ", ".join(commits[:3]) + (" …" if len(commits) > 3 else ""),
                     ", ".join(libraries_in(matrices)), len(mine)])
    return html_table(["system", "backend", "processor", "threads", "precision", "cache", "α, β",
                       "host", "commit", "peers", "configurations"], "l" * 10 + "r", rows)


def own_words(name, values):
    """Compiler flags without those that all of them have."""
    every = [set(flags.split()) for found in values for flags in found]
    common = set.intersection(*every) if every else set()
    return (f"{name}, but for {plural(len(common), 'flag')} that all have" if common else name,
            [[" ".join(word for word in flags.split() if word not in common) for flags in found]
             for found in values])


def span_of(records, names, scale, digits):
    """Least to greatest of some fields, in words."""
    found = [r[name] * scale for r in records for name in names
             if is_number(r.get(name)) and r[name] > 0]
    if not found:
        return ""
    ends = [f"{value:.{digits}f}" for value in (min(found), max(found))]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def conditions_section(layout, units):
    """Says what was read of the machine around the timing: nothing is thrown away for it."""
    rows = []
    for number, system in enumerate(layout, 1):
        mine = [unit.record for unit in units if unit.identity.system == system]
        clocks = ("sm_before", "sm_after") if system.gpu else ("cpu_before", "cpu_after")
        rows.append([f"S{number}",
                     span_of(mine, [f"timing.clk_{end}_Hz" for end in clocks], 1e-9, 2),
                     span_of(mine, [f"timing.temperature_{end}_C" for end in ("before", "after")],
                             1, 0),
                     span_of(mine, ["timing.launch_s"], 1e6, 2) if system.gpu else "",
                     f"{sum(bool(flags_of(r)) for r in mine)} of {len(mine)}",
                     disturbances(mine)])
    return "<h3>While it was measured</h3>" + html_table(
        ["system", "clock, GHz", "temperature, °C", "empty launch, µs", "disturbed", "by"],
        "lrrrrl", rows) + ("<p>Read before and after; empty: the machine does not tell. A launch is "
                           "no part of a warm or steady time; a cold one has one in it.</p>")


def environment_section(records):
    """Facts in which the machines differ; nothing of a single one."""
    machines = collections.defaultdict(list)
    for record in records:
        machines[machine(record)].append(record)
    if len(machines) < 2:
        return ""
    groups = sorted(machines.items(), key=lambda item: order(tuple(map(str, item[0]))))
    names = sorted({name for record in records for name in record
                    if name.startswith(SHOWN_FACTS)})
    rows = []
    for name in names:
        values = [sorted({text_of(r[name]) for r in mine if r.get(name) is not None}, key=order)
                  for _, mine in groups]
        if name.endswith("flags"):
            name, values = own_words(name, values)
        cells = [" | ".join(found[:4]) + (" | …" if len(found) > 4 else "") for found in values]
        if len(set(cells)) > 1:
            rows.append([name, *cells])
    header = ["fact", *(" · ".join(str(part) for part in (who[2], who[1], who[0]) if part)
                        or "unknown" for who, _ in groups)]
    return html_table(header, "l" * len(header), rows, "facts")
