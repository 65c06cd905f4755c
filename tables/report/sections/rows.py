"""The table of every result, and the commands that measured them."""

import itertools
import re
import shlex

from logs import is_number
from sections.markup import escape
from sections.measured import verdict_of
from texts import si_time, three_digits
from units.settings import short_label
from units.unit import gflop_per_s, limit_of

TIME_HEADER = ("median", "IQR", "GFLOP/s", "GB/s", "MB", "of limit", "of gather", "prep")
WORDS_HEADER = ("system", "matrix", "kernel", "config", "status")
COUNT_HEADER = ("runs", "run")
MOST_ROWS = 20  # that a cell spans: its words are on every screen


def limit_cell(share, binds):
    """A share of a limit, bold if it is the one that binds."""
    if not is_number(share):
        return "<td>"
    shown = f"{100 * share:.0f}%"
    return f"<td><b>{shown}</b>" if binds else f"<td>{shown}"


def name_cells(rows):
    """The cells of each of the rows (system, matrix, kernel). One that says what the one above it says is left out, and
    that one spans both; a script gives every row its own again."""
    found = [""] * len(rows)
    for first, end in ((0, 2), (2, 3)):  # a matrix of a system, a kernel of that
        place = 0
        for words, same in itertools.groupby(rows, key=lambda row: row[:end]):
            left = len(list(same))
            while left:
                many = min(left, MOST_ROWS)
                cell = "<td>" if many == 1 else f"<td rowspan={many}>"
                found[place] += "".join(cell + escape(word) for word in words[first:])
                place, left = place + many, left - many
    return found


def result_row(unit, names, command):
    """One line of the table of everything, with a class if it has no time; names: its first cells; command: its number,
    which a script makes a link, or None."""
    status, is_timed = verdict_of(unit), unit.status == "ok"
    cells = ((" c" if unit.cached else "") + time_cells(unit) if is_timed else
             f"<td colspan={len(TIME_HEADER)}>{escape(unit.reason or 'no reason given')}")
    return (f"<tr{'' if is_timed else f' class={status.lower()}'}>{names}<td>{escape(short_label(unit.identity.settings))}"
            f"<td>{status}{cells}<td>{unit.runs}<td>{command or ''}")


def time_cells(unit):
    """The cells of TIME_HEADER."""
    moved = unit.record.get("perf.bytes_min_B")
    rate = moved / unit.median_s if is_number(moved) else None
    limit = limit_of(unit.record)
    share = rate / limit[0] if limit and rate is not None else None
    gather = unit.record.get("perf.gather_fraction")
    bound = gather if unit.record.get("perf.limit_binds") == "gather" else share
    shown = [si_time(unit.median_s), f"{100 * (unit.q3_s - unit.q1_s) / unit.median_s:.1f}%", three_digits(gflop_per_s(unit)),
             *("" if value is None else three_digits(value) for value in (rate and rate / 1e9, moved and moved / 1e6))]
    return ("".join(f"<td>{text}" for text in shown) + limit_cell(share, bound is share) + limit_cell(gather, bound is gather)
            + f"<td>{'' if unit.prep_s is None else si_time(unit.prep_s) if unit.prep_s else 0}")


def commands_of(units):
    """{command line: its number} in the order met; a log that kept none has none."""
    lines = {}
    for unit in units:
        if unit.record.get("argv"):
            lines.setdefault(command_of(unit), len(lines) + 1)
    return lines


FLAGS = ("-q", "-v", "--quiet", "--verbose", "--nondeterministic", "--no-log")  # options without a value
OF_A_SWEEP = ("--resume", "--retry", "--tune", "--passes", "--timeout", "--log", "--probe", "--tag")


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
        alone = ("=" in words[at] or words[at] in (*FLAGS, *OF_A_SWEEP[:3])
                 or words[at][1:2] != "-" and len(words[at]) > 2)  # -n5
        taken = words[at:at + (1 if alone or not option.startswith("-") else 2)]
        if option.startswith("-") and option not in OF_A_SWEEP:
            kept += taken
        at += len(taken)
    return shlex.join([*words[:1], "-m", source, *kept])


def command_of(unit):
    """Says what to type to measure the unit again."""
    record, argv = unit.record, unit.record.get("argv")
    if not argv:
        return None
    if record.get("sweep.cell"):
        argv = without_sweep(argv, str(record.get("matrix.source") or record["matrix.name"]))
    environment = f"{record['omp.env']} " if record.get("omp.env") else ""  # as older logs have it
    environment += "".join(f"{name[len('omp.env.'):]}={shlex.quote(str(record[name]))} "
                           for name in sorted(record) if name.startswith("omp.env."))
    return f"{environment}./{argv}" if not argv.startswith(("/", ".")) else environment + argv


SOURCE = re.compile(r"(?<= -m )(?:'[^']*'|[^ ']+)(?= |$)")


def command_lists(commands):
    """Lists of the command lines: those that differ in nothing but the matrix under one line with MATRIX in its place,
    which a script writes out again."""
    groups = {}
    for line, number in commands.items():
        form = SOURCE.sub("MATRIX", line) if len(SOURCE.findall(line)) == 1 else ""
        groups.setdefault(form, []).append((number, line))
    alone = groups.pop("", [])
    for form in [form for form, found in groups.items() if len(found) == 1]:
        alone += groups.pop(form)

    def listed(found, shown):
        numbers = [0, *(number for number, _ in found)]
        return "<ol class=commands>" + "".join(
            f"<li id=c{number}{'' if number - 1 == before else f' value={number}'}>{shown(line)}"
            for before, (number, line) in zip(numbers, found)) + "</ol>"
    return "".join(f"<p><code>{escape(form)}</code> with MATRIX one of</p>"
                   + listed(found, lambda line: escape(SOURCE.search(line)[0])) for form, found in groups.items()) + (
        "<p>Alone:</p>" * bool(groups) + listed(sorted(alone), lambda line: f"<code>{escape(line)}</code>") if alone else "")


def results_section(layout, units):
    """The table of everything, and the command lines that it refers to. A page with scripts reads the table when it is
    opened: until then its rows are a text, which costs no time."""
    number = {system: f"S{i}" for i, system in enumerate(layout, 1)}
    commands = commands_of(units)
    head = ("".join(f"<th scope=col>{name}" for name in WORDS_HEADER)
            + "".join(f"<th scope=col class=n>{name}" for name in (*TIME_HEADER, *COUNT_HEADER)))
    names = name_cells([(number[who.system], who.matrix.name, who.kernel) for who in (unit.identity for unit in units)])
    body = "\n".join(result_row(unit, cells, commands.get(command_of(unit))) for unit, cells in zip(units, names))
    return (f"<div class=controls id=controls hidden></div><noscript id=rows><div class=results><table id=results>"
            f"<thead><tr>{head}</thead><tbody>\n{body}\n</tbody></table></div></noscript>"
            "<details id=commands><summary><h3>Commands</h3></summary><p>The column <i>run</i> names the command that measured "
            "a row; typed again, in a build of the row's commit and with the same matrix files, it "
            f"measures it again, and its log can be compared: <code>spmv compare</code>.</p>"
            + (f"<div id=lines>{command_lists(commands)}</div>" if commands
               else "<p>No command was logged.</p>") + "</details>")
