"""The report as one HTML page. Everything it needs is inside it; a content security policy keeps
the browser from asking any network. Without JavaScript the tables are all there; with it they sort
and filter, and the charts are drawn."""

import base64
import collections
import html
import json
import os
import re
import shlex
import struct
import zlib

from charts import charts
from compare import machine
from gains import BEST_HEAD, answers, best_table, speedup_table
from headline.figures import (families_table, generated_table, libraries_table, losses_table, outside_table, quiet_table,
                              sizes_table)
from headline.split import split_tables
from logs import is_number
from texts import plural, si_time, three_digits
from units import (candidates, describe, disturbances, fastest, flags_of, gflop_per_s, libraries_in, limit_of, order,
                   short_label, text_of)

HERE = os.path.dirname(os.path.abspath(__file__))
POLICY = ("default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; "
          "style-src 'unsafe-inline'; img-src data:")
VERDICTS = (  # in the order of what a reader should see first; the words explain the counts
    ("VALID", "checked, and the noise limit was met"),
    ("WRONG", "the result differs from the reference: shown, never ranked"),
    ("NOISY", "checked, but stopped before the noise limit was met: marked †"),
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
    ("†", "stopped before the noise limit was met: shown, left out of every geometric mean"),
    ("!", "disturbed while it was timed, as counted under While it was measured; nothing is left out "
     "for it"),
    ("*", "the data fit in the last-level cache: the rate says little about memory"),
    ("of limit", "GB/s ÷ the streaming limit: measured by spmv probe, else the GPU's theoretical "
     "bandwidth; beyond 100 % the data come from a cache, or "
     "the probe was too low: up to a quarter above it is ranked, more is SUSPECT"),
    ("of gather", "the time that the reads of x which are neither recent nor adjacent would take at "
     "the rate of spmv probe, ÷ median time (an estimate); bold: the limit that binds"),
    ("MB", "bytes that one product moves at least, ÷ 10⁶"),
    ("=, tied", "the quartile ranges meet: the two are tied"),
    ("prep", "spent once before the first product: conversion, the kernel's own structures, upload"),
    ("μ, σ", "mean and standard deviation of the number of nonzeros per row"))


def escape(text):
    """Text as HTML; what UTF-8 cannot hold is escaped on writing."""
    return html.escape(" ".join(str(text).split()))


def element(tag, content, **attributes):
    """One element; content is HTML already."""
    words = "".join(f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"'
                    for name, value in attributes.items() if value is not None)
    return f"<{tag}{words}>{content}</{tag}>"


def marked(text):
    """A Markdown cell of ours as HTML: bold, and the escaped star."""
    parts = escape(str(text).replace("\\*", "*")).split("**")
    return "".join(f"<b>{part}</b>" if i % 2 else part for i, part in enumerate(parts))


def html_table(header, alignment, rows, kind="plain"):
    """A small table; alignment as for Markdown. kind tight: with many columns, so that names may break
    after : and _."""
    def content(cell):
        return re.sub("([:_])", r"\1<wbr>", marked(cell)) if kind == "tight" else marked(cell)

    def line(cells, tag):
        return "<tr>" + "".join(
            f"<{tag}{' class=n' if letter == 'r' else ''}>{content(cell)}"
            for cell, letter in zip(cells, alignment))
    return (f'<div class=wide><table class={kind}><thead>{line(header, "th")}</thead><tbody>'
            + "".join(line(row, "td") for row in rows) + "</tbody></table></div>")


# ---- sections ------------------------------------------------------------------------------------


def verdict_of(unit):
    """One of VERDICTS."""
    if unit.status == "ok":
        if unit.record.get("check.status") != "ok":
            return "UNCHECKED"
        return "NOISY" if unit.noisy else "VALID"
    return unit.status.upper() if unit.status in ("wrong", "skipped", "suspect") else "FAILED"


def summary_section(records, units, layout):
    """What was measured: counts, and the tiles of verdicts."""
    counts = collections.Counter(map(verdict_of, units))
    times = sorted(str(r["time"]) for r in records if r.get("time"))
    matrices = {unit.identity.matrix for unit in units}
    kernels = {(unit.identity.system.backend, unit.identity.kernel) for unit in units}
    span = f", measured {times[0][:10]}" + (
        f" to {times[-1][:10]}" if times[-1][:10] != times[0][:10] else "") if times else ""
    tiles = "".join(
        f'<div class="tile {word.lower()}" title="{escape(meaning)}"><b>{counts[word]:,}</b> {word}'
        f"<small>{escape(meaning)}</small></div>" for word, meaning in VERDICTS)
    return (f"<p class=lead>{plural(len(records), 'record')} of "
            f"{plural(len(units), 'configuration')}: {plural(len(kernels), 'kernel')}, "
            f"{plural(len(matrices), 'matrix', 'matrices')}, "
            f"{plural(len(layout), 'system')}{span}.</p><div class=tiles>{tiles}</div>")


def systems_section(layout, units):
    """Where it was measured."""
    rows = []
    for number, (system, matrices) in enumerate(layout.items(), 1):
        mine = [unit for unit in units if unit.identity.system == system]
        commits = sorted({str(unit.record.get("build.commit") or "unknown")
                          + ("+" if unit.record.get("build.dirty") else "") for unit in mine})
        rows.append([f"S{number}", system.backend, system.gpu or system.cpu or "unknown",
                     system.threads or "", system.precision or "", system.cache or "",
                     f"{system.alpha}, {system.beta}", system.host or "unknown",
                     ", ".join(commits[:3]) + (" …" if len(commits) > 3 else ""),
                     ", ".join(libraries_in(matrices)), len(mine)])
    return html_table(["system", "backend", "processor", "threads", "precision", "cache", "α, β",
                       "host", "commit", "peers", "configurations"], "l" * 10 + "r", rows)


def answers_section(layout):
    """Ours against the baseline, the other libraries' kernels, and what auto makes of it."""
    return html_table(*answers(layout)) + (
        "<p>Ratios of median times: 1.5 is one and a half times as fast. Geometric means over the "
        "matrices on which both sides met the noise limit, n of all that have both; each side with "
        "its fastest kernel on every matrix; a peer's suspect time counts for the peer. A draw: the quartile ranges meet. Preparation is not "
        "in these: see <i>pays off after</i> below.</p>")


def titled(title, table):
    """A table under a line; nothing without rows."""
    return f"<h3>{escape(title)}</h3>" + html_table(*table) if table[-1] else ""


def headline_section(layout):
    """auto over other libraries: the figures of docs/results.md and README.md."""
    outside = titled("The outside set: auto over the fastest of other libraries' kernels on each matrix", outside_table(layout))
    parts = [outside or "<p>These logs hold no matrix of the outside set (log/reference/outside).</p>",
             titled("Losses", losses_table(layout)), titled("By size", sizes_table(layout)),
             titled("By family, with known products", families_table(layout)),
             titled("Other libraries", libraries_table(layout)),
             titled("Times behind these ratios that met the noise limit", quiet_table(layout)),
             titled("Generated matrices and small collections", generated_table(layout))]
    parts += [titled(f"Where the gain comes from: {title}", table) for title, *table in split_tables(layout)]
    return "".join(parts) + (
        "<p>Geometric means, with the number of matrices in brackets, and the worst matrix. Every matrix counts, also where the "
        "noise limit was not met; a suspect time of another library counts for it. Half of the outside set was never used for "
        "tuning; the difference of the halves has its standard error, and is as expected within two of them and 6 %. The gain "
        "of a matrix is the product of four factors, each with its best kernel: full 32-bit columns and values (launch and "
        "format); values still full (index bytes); any of ours (value bytes); what auto takes (choice).</p>")


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
    """What was read of the machine around the timing: nothing is thrown away for it."""
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
    """Facts in which the machines differ."""
    machines = collections.defaultdict(list)
    for record in records:
        machines[machine(record)].append(record)
    if len(machines) < 2:
        return "<p>All records are of one machine.</p>"
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


def best_section(layout):
    """Best kernel of every matrix, and every kernel's speed-ups, a system after the other."""
    parts = [f"<p>{marked(BEST_HEAD)}</p>"]
    for number, (system, matrices) in enumerate(layout.items(), 1):
        header, alignment, rows = best_table(system, matrices)
        parts.append(f"<h3>S{number}: {escape(describe(system))}</h3>")
        parts.append(html_table(header, alignment, rows, "tight") if rows
                     else "<p>No times to rank.</p>")
        header, alignment, rows = speedup_table(system, matrices)
        if rows:
            parts.append("<details><summary>Every kernel's speed-up over csr1</summary>"
                         + html_table(header, alignment, rows) + "</details>")
    return "".join(parts)


def png(pattern):
    """A thumbnail of record.def as a PNG: grey with transparency, so that it suits any page."""
    lines = pattern.split("/")
    width = max(map(len, lines))
    shade = [0, *(round(60 + 195 * level / 9) for level in range(1, 10))]
    raw = b"".join(b"\0" + b"".join(bytes((0, shade[int(cell)] if cell.isdigit() else 0))
                                    for cell in line.ljust(width, "0")) for line in lines)

    def chunk(kind, body):
        return (struct.pack(">I", len(body)) + kind + body
                + struct.pack(">I", zlib.crc32(kind + body)))
    return (b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", width, len(lines), 8, 4, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def matrix_card(matrix, units):
    """A matrix: what it looks like, its size and shape, its best kernel on every system."""
    found = {name: next((unit.record[name] for unit in units
                         if unit.record.get(name) is not None), None)
             for name in ("matrix.thumbnail", "matrix.rows", "matrix.cols", "matrix.row_mean",
                          "matrix.row_std", "matrix.row_max", "matrix.symmetry")}
    pattern = found["matrix.thumbnail"]
    picture = '<div class="pattern none">no picture logged</div>'
    if isinstance(pattern, str) and pattern.strip("/"):
        data = base64.b64encode(png(pattern)).decode()
        picture = (f'<img class=pattern alt="sparsity pattern of {escape(matrix.name)}" '
                   f'src="data:image/png;base64,{data}">')

    def number(name):
        value = found[name]
        if isinstance(value, int):
            return f"{value:,}"
        return three_digits(value) if is_number(value) else "?"
    timed = candidates([unit for unit in units if unit.status == "ok"])
    best = fastest(timed) if timed else None
    size = (f"{found['matrix.rows']:,} × {found['matrix.cols']:,}"
            if found["matrix.rows"] is not None and found["matrix.cols"] is not None else "")
    return (f"<figure>{picture}<figcaption><b>{escape(matrix.name)}</b>{size}<br>"
            f"{matrix.nnz:,} nonzeros<br>μ {number('matrix.row_mean')}, σ "
            f"{number('matrix.row_std')}, longest {number('matrix.row_max')}<br>"
            + (f"{escape(best.identity.kernel)}: {three_digits(gflop_per_s(best))} GFLOP/s"
               if best else "no time") + "</figcaption></figure>")


def matrices_section(units):
    """A card for every matrix, by size."""
    groups = collections.defaultdict(list)
    for unit in units:
        groups[unit.identity.matrix].append(unit)
    ordered = sorted(groups.items(), key=lambda item: (item[0].nnz or 0, item[0].name))
    return "<div class=cards>" + "".join(
        matrix_card(matrix, mine) for matrix, mine in ordered if matrix.nnz is not None) + "</div>"


ROW_HEADER = (("system", ""), ("matrix", ""), ("kernel", ""), ("config", ""), ("status", ""),
              ("median", "n"), ("IQR", "n"), ("GFLOP/s", "n"), ("GB/s", "n"), ("MB", "n"),
              ("of limit", "n"), ("of gather", "n"), ("prep", "n"),
              ("runs", "n"), ("run", "n"))


def number_cell(value, text):
    """A cell that sorts by its value and shows text."""
    return f'<td v={value:.6g}>{text}' if value is not None else "<td>"


def limit_cell(share, binds):
    """A share of a limit, bold if it is the one that binds."""
    if not is_number(share):
        return "<td>"
    shown = f"{100 * share:.0f}%"
    return number_cell(share, f"<b>{shown}</b>" if binds else shown)


def result_row(unit, system, command):
    """One line of the table of everything; command: its number, or None."""
    status = verdict_of(unit)
    best = [f"<tr class={status.lower()}><td>{system}<td>{escape(unit.identity.matrix.name)}"
            f"<td>{escape(unit.identity.kernel)}"
            f"<td>{escape(short_label(unit.identity.settings))}"]
    if unit.status == "ok":
        moved = unit.record.get("perf.bytes_min_B")
        rate = moved / unit.median_s / 1e9 if is_number(moved) else None
        limit = limit_of(unit.record)
        share = rate * 1e9 / limit[0] if limit and rate is not None else None
        gather = unit.record.get("perf.gather_fraction")
        bound = gather if unit.record.get("perf.limit_binds") == "gather" else share
        spread = (unit.q3_s - unit.q1_s) / unit.median_s
        best.append(f"<td>{status}{' *' if unit.cached else ''}"
                    + number_cell(unit.median_s, si_time(unit.median_s))
                    + number_cell(spread, f"{100 * spread:.1f}%")
                    + number_cell(gflop_per_s(unit), three_digits(gflop_per_s(unit)))
                    + number_cell(rate, three_digits(rate) if rate is not None else "")
                    + number_cell(moved, three_digits(moved / 1e6) if is_number(moved) else "")
                    + limit_cell(share, bound is share) + limit_cell(gather, bound is gather)
                    + number_cell(unit.prep_s, si_time(unit.prep_s) if unit.prep_s else "0"))
    else:
        best.append(f"<td>{unit.status.upper()}<td colspan=8>"
                    + escape(unit.reason or "no reason given"))
    best.append(f"<td>{unit.runs}<td>"
                + (f"<a href=#c{command}>{command}</a>" if command is not None else ""))
    return "".join(best)


def commands_of(units):
    """{command line: its number} in the order met; a log that kept none has none."""
    lines = {}
    for unit in units:
        if unit.record.get("argv"):
            lines.setdefault(command_of(unit), len(lines) + 1)
    return lines


FLAGS = ("-q", "-v", "--quiet", "--verbose", "--nondeterministic", "--no-log")  # options without a value
OF_A_SWEEP = ("--resume", "--retry", "--passes", "--timeout", "--log", "--probe", "--tag")


def without_sweep(argv, source):
    """The run that measures one matrix of a sweep as the sweep did: its options, without sources and
    what only a sweep takes."""
    try:
        words, kept = shlex.split(argv), []
    except ValueError:  # no command line that a shell would take
        return argv
    at = 2 if words[1:2] == ["sweep"] else 1
    while at < len(words):
        option = words[at].partition("=")[0]
        alone = ("=" in words[at] or words[at] in (*FLAGS, *OF_A_SWEEP[:2])
                 or words[at][1:2] != "-" and len(words[at]) > 2)  # -n5
        taken = words[at:at + (1 if alone or not option.startswith("-") else 2)]
        if option.startswith("-") and option not in OF_A_SWEEP:
            kept += taken
        at += len(taken)
    return shlex.join([*words[:1], "-m", source, *kept])


def command_of(unit):
    """What to type to measure the unit again."""
    record, argv = unit.record, unit.record.get("argv")
    if not argv:
        return None
    if record.get("sweep.cell"):
        argv = without_sweep(argv, str(record.get("matrix.source") or record["matrix.name"]))
    environment = f"{record['omp.env']} " if record.get("omp.env") else ""  # as older logs have it
    environment += "".join(f"{name[len('omp.env.'):]}={shlex.quote(str(record[name]))} "
                           for name in sorted(record) if name.startswith("omp.env."))
    return f"{environment}./{argv}" if not argv.startswith(("/", ".")) else environment + argv


def results_section(layout, units):
    """The table of everything, and the command lines that it refers to."""
    number = {system: f"S{i}" for i, system in enumerate(layout, 1)}
    commands = commands_of(units)
    head = "".join(f'<th scope=col{" class=n" if kind else ""}>{name}' for name, kind in ROW_HEADER)
    body = "\n".join(result_row(unit, number[unit.identity.system], commands.get(command_of(unit)))
                     for unit in units)
    lines = "".join(f"<li id=c{i}><code>{escape(line)}</code>" for line, i in commands.items())
    return (f"<div class=controls id=controls hidden></div>"
            f"<div class=results><table id=results><thead><tr>{head}</thead>"
            f"<tbody>\n{body}\n</tbody></table></div>"
            "<h3 id=commands>Commands</h3><p>The column <i>run</i> names the command that measured "
            "a row; typed again, in a build of the row's commit and with the same matrix files, it "
            f"measures it again, and its log can be compared: <code>spmv compare</code>.</p>"
            + (f"<ol class=commands>{lines}</ol>" if lines
               else "<p>No command was logged.</p>"))


# ---- the page ------------------------------------------------------------------------------------


def resource(name):
    """A file beside this one."""
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def script(text, **attributes):
    """A script element of code: nothing inside it may end it."""
    return element("script", re.sub("</(?=script)", r"<\\/", text, flags=re.IGNORECASE),
                   **attributes)


def columns(points):
    """Equal objects as {name: values}: names once, and of texts that repeat the place in a list."""
    def packed(values):
        words = list(dict.fromkeys(values))
        if all(isinstance(word, str) for word in words) and 2 * len(words) < len(values):
            place = {word: k for k, word in enumerate(words)}
            return {"words": words, "at": [place[value] for value in values]}
        return values
    return {name: packed([point[name] for point in points]) for name in (points[0] if points else ())}


def charts_section(systems, draw):
    """Places for the charts, their data, and the library."""
    shown = sorted((data for data in systems if data["cells"]),
                   key=lambda data: -len(data["cells"]))  # what has most to show is shown first
    if draw is None or not shown:
        return "<p>No charts in this report.</p>", ""
    payload = [{"name": f"S{systems.index(data) + 1}: {data['name']}",
                "data": {key: columns(data[key])
                         for key in ("cells", "profile", "gains", "limits")},
                "charts": [{"name": name, "title": title, "text": text, "spec": spec}
                           for name, title, text, spec in charts(data)]} for data in shown]
    body = ("<noscript><p>Charts need JavaScript; <code>spmv report --files</code> writes them as SVG "
            "and PDF into <code>fig/</code> beside this page.</p></noscript>"
            "<div class=controls id=pick hidden></div><div class=charts id=charts></div>")
    found = json.dumps(payload, separators=(",", ":"), ensure_ascii=False)
    code = (script(found.replace("<", "\\u003c"), id="data", type="application/json")
            + script(draw.javascript_bundle(), type="module"))
    return body, code


def made_with(draw):
    """The library's name and licence."""
    if draw is None:
        return ""
    return (f"Charts by Vega {draw.get_vega_version()}, Vega-Lite "
            f"{draw.get_vegalite_versions()[-1]} and Vega-Embed {draw.get_vega_embed_version()}, "
            "© University of Washington Interactive Data Lab, BSD-3-Clause, inlined by "
            "vl-convert. ")


def page(title, records, units, layout, systems, draw):
    """The whole page."""
    body, code = charts_section(systems, draw)
    definitions = "".join(f"<dt>{escape(word)}<dd>{escape(text)}" for word, text in DEFINITIONS)
    sections = [
        ("what", "What was measured", summary_section(records, units, layout)
         + systems_section(layout, units) + conditions_section(layout, units)),
        ("answers", "Results", answers_section(layout)),
        ("headline", "auto over other libraries", headline_section(layout)),
        ("charts-section", "Charts", body),
        ("best", "Best kernels", best_section(layout)),
        ("matrices", "Matrices", matrices_section(units)),
        ("all", "All results", results_section(layout, units)),
        ("environment", "How the machines differ", environment_section(records)),
        ("definitions", "What the words mean", f"<dl>{definitions}</dl>")]
    nav = "".join(f'<a href="#{name}">{text}</a>' for name, text, _ in sections)
    main = "".join(f"<section id={name}><h2>{text}</h2>{content}</section>"
                   for name, text, content in sections)
    return ("<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
            '<meta name=viewport content="width=device-width,initial-scale=1">'
            '<meta name=color-scheme content="light dark">'
            f"<title>{escape(title)}</title><style>{resource('assets/report.css')}</style></head><body>"
            f"<header><h1>{escape(title)}</h1><nav>{nav}</nav></header><main>{main}</main>"
            f"<footer>{made_with(draw)}Made by <code>spmv report</code>; opens from disk, asks no "
            f"network.</footer>{code}{script(resource('assets/report.js'), type='module')}</body></html>\n")
