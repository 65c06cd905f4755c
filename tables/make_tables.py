#!/usr/bin/env python3
"""Turn run logs (JSON Lines, schema spmv-run/1) into tables.

    python3 tables/make_tables.py [--out tables] [LOG...]

LOG is a file, or a folder of *.jsonl; default log. The path of a record: a line is read
(read_logs), flattened to dotted names and checked (parse_record, check_record), and becomes a Unit
(unit_of); repeated runs of one configuration are merged into one Unit (merge); units are laid out
by system, matrix and kernel (tabulate); every table is a pure function of these and returns text;
only write_tables touches the disk.

What may be compared: units of one System, that is the same host, processor, GPU, backend,
precision, threads and product (alpha, beta, cache state). Nothing here ever mixes two systems.

GFLOP/s is always 2 nnz / median_s of the run's own nnz; a log's own figure is only checked.
"""

import argparse
import collections
import csv
import io
import json
import math
import os
import re
import statistics
import sys
from typing import NamedTuple, Optional

SCHEMA = "spmv-run/1"
EX_DATAERR, EX_NOINPUT, EX_CANTCREAT = 65, 66, 73

# What speed-ups are measured against: the papers' csr1, by alias or by its name on each backend.
BASELINE_ALIAS = "csr1"
BASELINE_KERNEL = {"omp": "csr_rows", "cuda": "csr_warp"}

# Members of "config" that are not settings of the kernel: they name the run or are in System. A
# seed changes the numbers in x, not the work done.
NOT_SETTINGS = frozenset(
    "backend kernel alias format precision threads alpha beta cache seed".split())
SWITCHES = ("rowlens", "simd")  # logged as false/true or 0/1
BUILD_KEYS = ("build.version", "build.commit", "build.cc", "build.cflags", "build.nvcc",
              "build.nvccflags")
SHORTEST_S, LONGEST_S = 1e-12, 1e12  # outside, a time is a fault of the log
FLOP_TOLERANCE = 1e-3  # a log rounds its figures; a figure from another row is off by far more

RECORD_DEF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src", "record.def")


class System(NamedTuple):
    """Where and what was measured: runs are compared only within one of these."""
    host: Optional[str]
    cpu: Optional[str]
    gpu: Optional[str]
    backend: str
    precision: Optional[str]
    threads: Optional[int]
    alpha: Optional[float]
    beta: Optional[float]
    cache: Optional[str]


class Matrix(NamedTuple):
    """Two matrices of one name differ in hash or nnz, and are then two rows."""
    name: str
    hash: Optional[str]
    nnz: Optional[int]


class Identity(NamedTuple):
    """One configuration: runs that agree in all of this are repeats of each other."""
    system: System
    matrix: Matrix
    kernel: str
    settings: tuple  # of (name, value), sorted
    build: tuple


class Unit(NamedTuple):
    """One record, or after merging one configuration; runs counts what the times come from. Times
    are None unless status is ok. noisy: a run stopped before its noise limit was met; cached: the
    data fit in the last-level cache, so that the rate says little about memory."""
    identity: Identity
    alias: str
    status: str
    reason: str
    median_s: Optional[float]
    q1_s: Optional[float]
    q3_s: Optional[float]
    runs: int
    noisy: bool
    cached: bool


class Cell(NamedTuple):
    """One kernel on one matrix: its best unit, or a word saying why there is none."""
    best: Optional[Unit]
    word: str
    note: str


class Study(NamedTuple):
    """A parameter to compare; parameters[1:] have a meaning only together with the first."""
    name: str
    parameters: tuple
    title: str


class Contest(NamedTuple):
    """Units that differ in nothing but the studied parameter, by its value."""
    system: System
    matrix: Matrix
    kernel: str
    rest: tuple
    units: dict


class Share(NamedTuple):
    """How one value of a studied parameter did over many contests."""
    value: str
    contests: int
    wins: float
    clear_wins: int
    median_ratio: float


STUDIES = (
    Study("rowlens", ("rowlens",), "stop at the true end of an ELL row, or multiply the padding"),
    Study("simd", ("simd",), "SIMD reduction in the dot product"),
    Study("schedule", ("schedule", "chunk"), "OpenMP schedule, with its chunk where one was set"),
    Study("grid", ("grid",), "row blocks x column blocks"),
    Study("block", ("block",), "threads in a CUDA block"),
)


# ---- reading ------------------------------------------------------------------------------------


def find_logs(paths):
    """Files to read, each once however often it was named, in a stable order, and complaints."""
    files, complaints = {}, []
    for path in paths:
        if os.path.isdir(path):
            below = [os.path.join(folder, name) for folder, _, names in os.walk(path)
                     for name in names if name.endswith(".jsonl")]
            if not below:
                complaints.append(f"{path}: no *.jsonl in this folder")
        else:
            below = [path]
        for name in sorted(below):
            files.setdefault(os.path.realpath(name), name)
    return list(files.values()), complaints


def flatten(value, prefix=""):
    """(dotted name, scalar) of every scalar in nested objects; lists are not scalars."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from flatten(member, f"{prefix}.{name}" if prefix else name)
    elif not isinstance(value, list):
        yield prefix, value


def is_number(value):
    """A JSON number that arithmetic can use: not a bool, not NaN, not beyond double."""
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and abs(value) <= sys.float_info.max)


def parse_record(line):
    """(flat record, or None if the line is no record of ours, complaints about it).

    A number that is not finite becomes null, so that it can never reach a comparison."""
    try:
        flat = dict(flatten(json.loads(line)))
    except (ValueError, RecursionError) as error:
        return None, [f"not JSON: {error}"]
    if flat.get("schema") != SCHEMA:
        return None, [f"unknown schema {flat.get('schema')!r}, expected {SCHEMA!r}"]
    bad = [name for name, value in flat.items()
           if isinstance(value, (int, float)) and not isinstance(value, bool)
           and not is_number(value)]
    complaints = [f"{name} is not a finite number, read as null" for name in bad]
    flat.update((name, None) for name in bad)
    return flat, complaints


def missing_fields(record):
    """What a record cannot be used without; skipped and failed runs need no times."""
    needed = [name for name in ("status", "matrix.name", "config.backend", "config.kernel")
              if not (isinstance(record.get(name), str) and record[name])]
    if record.get("status") == "ok":
        needed += [name for name in ("matrix.nnz", "timing.median_s")
                   if not is_number(record.get(name))]
    return needed


def quartiles_of(record):
    """(q1, q3) around the median, or None where the log has none that make sense."""
    q1, q3 = record.get("timing.q1_s"), record.get("timing.q3_s")
    sound = is_number(q1) and is_number(q3) and q1 <= record["timing.median_s"] <= q3
    return (q1, q3) if sound else None


def inconsistencies(record):
    """Complaints about an ok record whose own figures contradict each other."""
    nnz, median = record["matrix.nnz"], record["timing.median_s"]
    found = []
    flop, rate = record.get("perf.flop"), record.get("perf.flop_per_s")
    if is_number(flop) and flop != 2 * nnz:
        found.append(f"perf.flop is {flop}, 2 nnz is {2 * nnz}")
    expected = 2 * nnz / median
    if is_number(rate) and abs(rate - expected) > FLOP_TOLERANCE * expected:
        found.append(f"perf.flop_per_s is {rate:.6g}, 2 nnz / median_s is {expected:.6g}: "
                     "the latter is used")
    if quartiles_of(record) is None:
        found.append("no timing.q1_s <= median_s <= q3_s: taken as exact when looking for ties")
    if record.get("check.status") == "wrong":
        found.append("status is ok but check.status is wrong: taken as wrong")
    return found


def check_record(record):
    """(usable, complaints): missing or impossible fields make a record unusable."""
    missing = missing_fields(record)
    if missing:
        return False, [f"missing field {name}" for name in missing]
    if record["status"] != "ok":
        return True, []
    if not SHORTEST_S <= record["timing.median_s"] <= LONGEST_S:
        return False, [f"timing.median_s is {record['timing.median_s']!r}: not a time"]
    if not (isinstance(record["matrix.nnz"], int) and 0 <= record["matrix.nnz"] < 2**63):
        return False, [f"matrix.nnz is {record['matrix.nnz']!r}: not a count"]
    return True, inconsistencies(record)


def read_logs(files):
    """(records, complaints, number of files opened) of all files; a line copied from one log into
    another is one run, not two."""
    records, complaints, opened, seen = [], [], 0, set()
    for path in files:
        try:
            with open(path, encoding="utf-8-sig", errors="replace", newline="\n") as log:
                lines = [line.rstrip("\r\n") for line in log]
        except OSError as error:
            complaints.append(f"{path}: {error.strerror}")
            continue
        opened += 1
        for number, line in enumerate(lines, 1):
            if not line.startswith("{"):
                continue
            record, found = parse_record(line)
            if record is not None:
                usable, more = check_record(record)
                found += more
                if usable and line in seen:
                    found.append("copy of an earlier line, counted once")
                elif usable:
                    records.append(record)
            seen.add(line)
            complaints += [f"{path}:{number}: {what}" for what in found]
    return records, complaints, opened


def read_fields(path):
    """{dotted name: (unit, help)} in the order of src/record.def; empty if there is none."""
    try:
        with open(path, encoding="utf-8") as source:
            text = re.sub(r"/\*.*?\*/|//[^\n]*", "", source.read(), flags=re.DOTALL)
    except OSError:
        return {}
    string = r'"((?:\\.|[^"\\])*)"'
    pattern = rf'FIELD\([^"]*{string}\s*,\s*{string}\s*,\s*((?:{string}\s*)+)\)'
    return {match[1]: (match[2], "".join(re.findall(string, match[3])).replace('\\"', '"'))
            for match in re.finditer(pattern, text)}


# ---- from records to units ----------------------------------------------------------------------


def order(value):
    """Sort key for values of mixed kinds; 5x8 comes before 10x4."""
    if value is None:
        return (0,)
    if isinstance(value, (int, float)):
        return (1, value)
    if isinstance(value, tuple):
        return (3, [order(member) for member in value])
    parts = re.split(r"([0-9]{1,15})", value)
    return (2, [int(part) if i % 2 else part for i, part in enumerate(parts)], value)


def settings_of(record):
    """Everything that was chosen for the kernel and could make two runs differ, sorted.

    A parameter may be logged as config.NAME, config.params.NAME or both: the former is the
    effective value and wins. null means the kernel does not take it."""
    found = {}
    for prefix in ("config.params.", "config."):
        found.update((name[len(prefix):], value) for name, value in record.items()
                     if name.startswith(prefix) and value is not None)
    found = {name: value for name, value in found.items()
             if name not in NOT_SETTINGS and not name.startswith("params.")}
    for name in ("bind", "places"):
        if record.get(f"omp.{name}") is not None:
            found[name] = record[f"omp.{name}"]
    rows, cols = found.pop("grid_rows", None), found.pop("grid_cols", None)
    if rows is not None:
        found.setdefault("grid", str(rows) if cols is None else f"{rows}x{cols}")
    if not found.get("chunk"):
        found.pop("chunk", None)
    for name in SWITCHES:
        if found.get(name) in (0, 1):
            found[name] = bool(found[name])
    return tuple(sorted(found.items()))


def unit_of(record):
    """The Unit a usable record describes.

    Threads are those the run had (omp.threads), not those its kernel took (config.threads, 1 for a
    serial one): a serial kernel belongs beside the parallel ones of its run."""
    get = record.get
    threads = get("omp.threads") if get("omp.threads") is not None else get("config.threads")
    system = System(get("host.name"), get("cpu.model"), get("gpu.name"), record["config.backend"],
                    get("config.precision"), threads, get("config.alpha"), get("config.beta"),
                    get("config.cache"))
    matrix = Matrix(record["matrix.name"], get("matrix.hash"), get("matrix.nnz"))
    identity = Identity(system, matrix, record["config.kernel"], settings_of(record),
                        tuple(get(name) for name in BUILD_KEYS))
    status, median, q1, q3 = record["status"], None, None, None
    if status == "ok" and get("check.status") == "wrong":
        status = "wrong"
    if status == "ok":
        median = record["timing.median_s"]
        q1, q3 = quartiles_of(record) or (median, median)
    fill = get("store.llc_ratio")
    return Unit(identity, str(get("config.alias") or ""), status, str(get("reason") or ""),
                median, q1, q3, 1, get("timing.converged") is False, is_number(fill) and fill < 1)


def overall_status(statuses):
    """What a configuration that ended in several ways counts as: once wrong is wrong; a time is a
    time although another attempt failed; a failure says more than a refusal."""
    for status in ("wrong", "ok"):
        if status in statuses:
            return status
    others = sorted(set(statuses) - {"skipped"})
    return others[0] if others else "skipped"


def merge_repeats(units):
    """One Unit of the repeats of one configuration: the median of their medians and quartiles."""
    status = overall_status([unit.status for unit in units])
    same = [unit for unit in units if unit.status == status]
    times = [None] * 3
    if status == "ok":
        times = [statistics.median(column) for column in
                 zip(*((unit.median_s, unit.q1_s, unit.q3_s) for unit in same))]
    return Unit(same[0].identity, max(unit.alias for unit in units), status,
                min(unit.reason for unit in same), *times, len(same),
                any(unit.noisy for unit in same), any(unit.cached for unit in same))


def merge(units):
    """Every configuration's Unit, sorted, so that the order of logs never shows."""
    groups = collections.defaultdict(list)
    for unit in units:
        groups[unit.identity].append(unit)
    return [merge_repeats(groups[identity]) for identity in sorted(groups, key=order)]


def gflop_per_s(unit):
    """From the unit's own nnz and time."""
    return 2 * unit.identity.matrix.nnz / unit.median_s / 1e9


# ---- ranking ------------------------------------------------------------------------------------


def overlap(a, b):
    """Whether the quartile ranges meet, so that the medians do not tell the two apart."""
    return a.q1_s <= b.q3_s and b.q1_s <= a.q3_s


def fastest(units):
    """The unit of least median; among equals the first, which is stable as units are sorted."""
    return min(units, key=lambda unit: unit.median_s)


def winners(units):
    """Names of a {name: unit} that share the least median: usually one."""
    least = min(unit.median_s for unit in units.values())
    return [name for name, unit in units.items() if unit.median_s == least]


def cell_of(units):
    """What a table says about one kernel on one matrix, over all its configurations."""
    timed = [unit for unit in units if unit.status == "ok"]
    wrong = [unit for unit in units if unit.status == "wrong"]
    if timed:
        note = f"wrong result in {len(wrong)} of {len(units)} configurations" if wrong else ""
        return Cell(fastest(timed), "", note)
    status = overall_status([unit.status for unit in units])
    reason = min(unit.reason for unit in units if unit.status == status)
    if status == "wrong":
        return Cell(None, "WRONG", reason)
    return Cell(None, status, f"{status}: {reason or 'no reason given'}")


def tabulate(units):
    """{system: {matrix: {kernel: Cell}}}, sorted at every level."""
    groups = {}
    for unit in units:
        who = unit.identity
        kernels = groups.setdefault(who.system, {}).setdefault(who.matrix, {})
        kernels.setdefault(who.kernel, []).append(unit)
    return {system: {matrix: {kernel: cell_of(kernels[kernel]) for kernel in sorted(kernels)}
                     for matrix, kernels in rows.items()}
            for system, rows in groups.items()}


def timed_cells(cells):
    """{kernel: its best unit} of those that may be ranked."""
    return {kernel: cell.best for kernel, cell in cells.items() if cell.best}


def tied_with(best, units):
    """Names of the {name: unit} that the best cannot be told from."""
    return [name for name, unit in units.items() if unit is not best and overlap(unit, best)]


def baseline_of(system, units):
    """The unit speed-ups are measured against, or None."""
    name = BASELINE_KERNEL.get(system.backend)
    for kernel, unit in units.items():
        if unit.alias == BASELINE_ALIAS or kernel == name:
            return unit
    return None


def kernels_in(rows):
    """Kernels with any result in {matrix: {kernel: Cell}}, sorted."""
    return sorted({kernel for cells in rows.values() for kernel in cells})


# ---- contests: the studies ----------------------------------------------------------------------


def text_of(value):
    """A setting as people write it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def label(settings):
    """Settings as one cell of a table."""
    return " ".join(f"{name}={text_of(value)}" for name, value in settings)


def contests(study, units):
    """Every set of two or more timed units that differ in the studied parameter alone."""
    groups = {}
    for unit in units:
        who = unit.identity
        chosen = dict(who.settings)
        if unit.status != "ok" or study.parameters[0] not in chosen:
            continue
        value = ",".join(text_of(chosen[name]) for name in study.parameters if name in chosen)
        rest = tuple(item for item in who.settings if item[0] not in study.parameters)
        key = (who.system, who.matrix, who.kernel, rest, who.build)
        groups.setdefault(key, {})[value] = unit
    return [Contest(*key[:4], {value: group[value] for value in sorted(group, key=order)})
            for key, group in sorted(groups.items(), key=lambda item: order(item[0]))
            if len(group) > 1]


def ratio_to_others(value, units):
    """Time over the best other value's time: below 1 it wins, and by how much."""
    return units[value].median_s / min(unit.median_s for other, unit in units.items()
                                       if other != value)


def shares(found):
    """A Share of each value in the contests; an exact draw is split between those who drew."""
    values = sorted({value for contest in found for value in contest.units}, key=order)
    result = []
    for value in values:
        mine = [contest.units for contest in found if value in contest.units]
        won = [units for units in mine if value in winners(units)]
        clear = sum(not tied_with(units[value], units) for units in won)
        result.append(Share(value, len(mine), sum(1 / len(winners(units)) for units in won), clear,
                            statistics.median(ratio_to_others(value, units) for units in mine)))
    return result


def by_system(found):
    """{system: its contests}, in the order met."""
    groups = {}
    for contest in found:
        groups.setdefault(contest.system, []).append(contest)
    return groups


def shares_by_kernel(found):
    """(kernel, its shares) over one system's contests, all kernels together first."""
    yield "all", shares(found)
    for kernel in sorted({contest.kernel for contest in found}):
        yield kernel, shares([contest for contest in found if contest.kernel == kernel])


# ---- text ---------------------------------------------------------------------------------------


def three_digits(value):
    """Three significant digits without an exponent: 0.00123, 1.30, 557, 4003."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.3g}")
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(rounded))))}f}"


def si_time(seconds):
    """Seconds with the unit that leaves one to three digits before the point."""
    rounded = float(f"{seconds:.3g}")
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if rounded >= scale:
            return f"{three_digits(seconds / scale)} {unit}"
    return f"{three_digits(seconds / 1e-9)} ns"


def percent(part, whole):
    """A share; of nothing there is none."""
    return f"{100 * part / whole:.1f} %" if whole else ""


def plural(count, one, many=None):
    """1 run, 2 runs; 1 matrix, 2 matrices."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def csv_cell(value):
    """null is empty; true as in JSON; repr keeps every digit of a float."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def csv_text(header, rows):
    """RFC 4180."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows([csv_cell(value) for value in row] for row in rows)
    return text.getvalue()


def markdown_table(header, alignment, rows):
    """alignment: one letter a column, l or r."""
    def line(cells):
        return "| " + " | ".join(" ".join(str(cell).replace("|", "\\|").split())
                                 for cell in cells) + " |"
    rule = ["---:" if letter == "r" else "---" for letter in alignment]
    return "\n".join([line(header), line(rule)] + [line(row) for row in rows]) + "\n"


def marked_times(units, best):
    """{name: time} with the best in bold, those it cannot be told from and the noisy marked."""
    tied = tied_with(best, units)
    return {name: (f"**{si_time(unit.median_s)}**" if unit is best else si_time(unit.median_s))
            + (" =" if name in tied else "") + (" †" if unit.noisy else "")
            for name, unit in units.items()}


def describe(system):
    """A system in words; alpha, beta and cache only when they are not the usual ones."""
    words = [system.backend, system.precision,
             None if system.threads is None else plural(system.threads, "thread"),
             system.gpu, system.cpu, system.host,
             None if system.alpha in (None, 1) else f"alpha {system.alpha}",
             None if system.beta in (None, 0) else f"beta {system.beta}",
             None if system.cache is None else f"{system.cache} cache"]
    return " · ".join(str(word) for word in words if word is not None)


# ---- tables -------------------------------------------------------------------------------------


def runs_csv(records, fields):
    """Every scalar of every record; columns in record.def's order, unknown ones after it."""
    place = {name: i for i, name in enumerate(fields)}
    found = {name for record in records for name in record}
    columns = sorted(found, key=lambda name: (place.get(name, len(place)), name))
    rows = [[record.get(name) for name in columns] for record in records]
    first = [columns.index(name) for name in ("time", "run_id", "key") if name in found]
    rows.sort(key=lambda row: ([csv_cell(row[i]) for i in first], [csv_cell(v) for v in row]))
    return csv_text(columns, rows)


def columns_csv(records, fields):
    """Unit and meaning of each column of runs.csv that record.def knows."""
    found = {name for record in records for name in record}
    return csv_text(["column", "unit", "meaning"],
                    [[name, unit, text] for name, (unit, text) in fields.items()
                     if name in found])


def best_csv(layout):
    """One row a system and matrix: the best kernel and what it gains over the baseline."""
    header = System._fields + ("matrix", "nnz", "kernel", "alias", "config", "commit", "median_s",
                               "q1_s", "q3_s", "runs", "noisy", "cached", "gflop_per_s",
                               "tied", "baseline", "baseline_median_s", "speedup")
    rows = []
    for system, matrices in layout.items():
        for matrix, cells in matrices.items():
            units = timed_cells(cells)
            if not units:
                continue
            best, base = fastest(units.values()), baseline_of(system, units)
            who = best.identity
            gain = (None, None, None)
            if base:
                gain = base.identity.kernel, base.median_s, base.median_s / best.median_s
            rows.append(system + (
                matrix.name, matrix.nnz, who.kernel, best.alias, label(who.settings),
                who.build[BUILD_KEYS.index("build.commit")], best.median_s, best.q1_s, best.q3_s,
                best.runs, best.noisy, best.cached, gflop_per_s(best),
                " ".join(tied_with(best, units))) + gain)
    return csv_text(header, rows)


def times_csv(layout):
    """One row a system and matrix, one column a kernel: seconds, or why there are none."""
    kernels = sorted({kernel for matrices in layout.values() for kernel in kernels_in(matrices)})
    rows = []
    for system, matrices in layout.items():
        for matrix, cells in matrices.items():
            units = timed_cells(cells)
            best = fastest(units.values()) if units else None
            shown = [None if cell is None else cell.best.median_s if cell.best else cell.word
                     for cell in map(cells.get, kernels)]
            rows.append([*system, matrix.name, matrix.nnz, *shown]
                        + ([best.median_s, gflop_per_s(best), best.identity.kernel, best.runs]
                           if best else [None] * 4))
    return csv_text([*System._fields, "matrix", "nnz", *kernels, "min_time_s", "best_gflop_per_s",
                     "best_kernel", "best_runs"], rows)


def footnote(notes, text):
    """The mark of a footnote, made when its text is new; notes is {text: number}."""
    return f" ({notes.setdefault(text, len(notes) + 1)})" if text else ""


def times_row(matrix, cells, kernels, notes):
    """One line of times.md."""
    units = timed_cells(cells)
    best = fastest(units.values()) if units else None
    shown = marked_times(units, best) if best else {}
    for kernel, cell in cells.items():
        word = "—" if cell.word == "skipped" else cell.word
        shown[kernel] = shown.get(kernel, word) + footnote(notes, cell.note)
    return ([matrix.name, "" if matrix.nnz is None else matrix.nnz]
            + [shown.get(kernel, "") for kernel in kernels]
            + ([si_time(best.median_s),
                three_digits(gflop_per_s(best)) + (" \\*" if best.cached else ""),
                best.identity.kernel, best.runs] if best else [""] * 4))


def builds_note(units):
    """A warning when one table rests on several builds, else nothing."""
    builds = {unit.identity.build for unit in units}
    if len(builds) < 2:
        return ""
    names = sorted({str(build[BUILD_KEYS.index("build.commit")] or "unknown")
                    for build in builds})
    return (f"\nRuns of {len(builds)} builds (commit {', '.join(names)}) are in this table; "
            "a cell shows the fastest.\n")


def times_md(layout, units):
    """The papers' table: matrix by kernel, then the least time, its GFLOP/s and its kernel."""
    parts = ["# Times\n\nBest median time over all configurations of a kernel. **Bold**: the best. "
             "`=`: quartile range meets the best's,\nso the two cannot be told apart. †: stopped "
             "before its noise limit was met. —: skipped. WRONG: a wrong\nresult, never ranked. "
             "Empty: not run. GFLOP/s: 2 nnz / time; \\*: the data fit in the last-level cache.\n"
             "n: runs of the best configuration; several runs count as the median of their "
             "medians.\n"]
    for system, matrices in layout.items():
        kernels, notes = kernels_in(matrices), {}
        alias = {unit.identity.kernel: unit.alias for unit in units
                 if unit.identity.system == system and unit.alias}
        names = [f"{kernel} ({alias[kernel]})" if kernel in alias else kernel
                 for kernel in kernels]
        header = ["matrix", "nnz", *names, "MIN TIME", "BEST GFLOP/s", "BEST KERNEL", "n"]
        rows = [times_row(matrix, cells, kernels, notes) for matrix, cells in matrices.items()]
        parts.append(f"\n## {describe(system)}\n\n")
        parts.append(markdown_table(header, "l" + "r" * (len(kernels) + 3) + "lr", rows))
        parts += [f"\n({number}) {' '.join(text.split())}\n" for text, number in notes.items()]
        parts.append(builds_note([unit for unit in units if unit.identity.system == system]))
    return "".join(parts)


def kernel_rows(matrices):
    """Rows of a system's summary: each kernel's share of the matrices that have a time at all."""
    ranked = [timed_cells(cells) for cells in matrices.values()]
    ranked = [units for units in ranked if units]
    words = collections.Counter((kernel, cell.word) for cells in matrices.values()
                                for kernel, cell in cells.items())
    for kernel in kernels_in(matrices):
        wins = sum(1 / len(winners(units)) for units in ranked if kernel in winners(units))
        tied = sum(kernel in units and overlap(units[kernel], fastest(units.values()))
                    for units in ranked)
        rates = [gflop_per_s(units[kernel]) for units in ranked if kernel in units]
        others = sum(count for (name, word), count in words.items()
                     if name == kernel and word not in ("", "skipped", "WRONG"))
        yield [kernel, f"{wins:.3g}", percent(wins, len(ranked)), percent(tied, len(ranked)),
               words[kernel, ""], words[kernel, "skipped"], words[kernel, "WRONG"], others,
               three_digits(max(rates)) if rates else ""]


def speedup_line(system, matrices):
    """Geometric mean of best over baseline, with the n it rests on."""
    ratios, noisy = [], 0
    for cells in matrices.values():
        units = timed_cells(cells)
        base = baseline_of(system, units)
        if base:
            best = fastest(units.values())
            ratios.append(base.median_s / best.median_s)
            noisy += base.noisy or best.noisy
    if not ratios:
        return f"No speed-up: {BASELINE_ALIAS} was not timed.\n"
    return (f"Best kernel over {BASELINE_ALIAS}: geometric mean "
            f"{statistics.geometric_mean(ratios):.3f} (n = {len(ratios)}"
            f"{f', {noisy} of them noisy' if noisy else ''}), most {max(ratios):.3f}.\n")


def study_line(study, found):
    """The study in one sentence: each value's share of the contests it took part in."""
    if not found:
        return f"- {study.name}: no two configurations differ in this alone.\n"
    words = [f"{share.value} best in {percent(share.wins, share.contests)} of {share.contests}"
             for share in shares(found)]
    return f"- {study.name}: {', '.join(words)}.\n"


def summary_md(records, layout, outcome):
    """Shares of the kernels and of the studied values (outcome: {study: contests}), with n."""
    counts = collections.Counter(record["status"] for record in records)
    parts = ["# Summary\n\n", f"{plural(len(records), 'record')}: ",
             ", ".join(f"{counts[status]} {status}" for status in sorted(counts)), ".\n\n",
             "A kernel is best on a matrix when its least median is; an exact draw is split. Best "
             "or tied also counts kernels\nwhose quartile range meets the best's. Shares are of "
             "the n matrices on which any kernel has a time.\n"]
    for system, matrices in layout.items():
        n = sum(bool(timed_cells(cells)) for cells in matrices.values())
        parts.append(f"\n## {describe(system)}\n\n"
                     f"Best in x % of n = {plural(n, 'matrix', 'matrices')}:\n\n")
        parts.append(markdown_table(
            ["kernel", "best", "share", "best or tied", "timed", "skipped", "WRONG", "failed",
             "max GFLOP/s"], "lrrrrrrrr", kernel_rows(matrices)))
        parts.append("\n" + speedup_line(system, matrices) + "\n")
        parts += [study_line(study, by_system(found).get(system, []))
                  for study, found in outcome.items()]
    return "".join(parts)


def studies_csv(outcome):
    """Shares of every value of every study, over all kernels and by kernel."""
    rows = [[study.name, *system, kernel, share.value, share.contests, share.wins,
             share.wins / share.contests, share.clear_wins, share.median_ratio]
            for study, found in outcome.items()
            for system, mine in by_system(found).items()
            for kernel, counted in shares_by_kernel(mine) for share in counted]
    return csv_text(["study", *System._fields, "kernel", "value", "contests", "wins", "win_share",
                     "clear_wins", "median_ratio"], rows)


def study_csv(study, found):
    """Every contestant of a study, one a row."""
    rows = [[*contest.system, contest.matrix.name, contest.matrix.nnz, contest.kernel,
             label(contest.rest), value, unit.median_s, unit.q1_s, unit.q3_s, unit.runs,
             ratio_to_others(value, contest.units), value in winners(contest.units)]
            for contest in found for value, unit in contest.units.items()]
    return csv_text([*System._fields, "matrix", "nnz", "kernel", "config", study.name, "median_s",
                     "q1_s", "q3_s", "runs", "ratio", "won"], rows)


def study_section(study, system, found):
    """A system's part of a study: shares by kernel, then every contest."""
    share_rows = [[kernel, share.value, share.contests, f"{share.wins:.3g}",
                   percent(share.wins, share.contests), share.clear_wins,
                   f"{share.median_ratio:.3f}"]
                  for kernel, counted in shares_by_kernel(found) for share in counted]
    values = sorted({value for contest in found for value in contest.units}, key=order)
    common = set.intersection(*(set(contest.rest) for contest in found))
    rows = []
    for contest in found:
        shown = marked_times(contest.units, fastest(contest.units.values()))
        rest = [item for item in contest.rest if item not in common]
        rows.append([contest.matrix.name, contest.kernel, label(rest),
                     *(shown.get(value, "") for value in values)])
    shared = f"\nThe same in every row: {label(sorted(common))}.\n" if common else ""
    return "".join([
        f"\n## {describe(system)}\n\n",
        markdown_table(["kernel", study.name, "n", "wins", "share", "clear wins", "median ratio"],
                       "llrrrrr", share_rows),
        shared, "\n",
        markdown_table(["matrix", "kernel", "config", *values], "lll" + "r" * len(values), rows)])


def study_md(study, found):
    """A study's page, or one line when there is nothing to compare."""
    if not found:
        return f"# {study.name}\n\nNo two configurations in the logs differ in this alone.\n"
    head = (f"# {study.name}: {study.title}\n\n"
            "Configurations that differ in this alone. n: contests the value took part in. Clear "
            "wins: quartile range meets no\nother's. Median ratio: time over the best other "
            "value's; below 1 the value usually wins. **Bold**, `=`, †: as in times.md.\n")
    return head + "".join(study_section(study, system, mine)
                          for system, mine in by_system(found).items())


def make_tables(records, fields):
    """{file name: text} of all tables: the whole program but for reading and writing."""
    units = merge(unit_of(record) for record in records)
    layout = tabulate(units)
    outcome = {study: contests(study, units) for study in STUDIES}
    tables = {
        "runs.csv": runs_csv(records, fields),
        "columns.csv": columns_csv(records, fields),
        "best.csv": best_csv(layout),
        "times.csv": times_csv(layout),
        "times.md": times_md(layout, units),
        "summary.md": summary_md(records, layout, outcome),
        "studies.csv": studies_csv(outcome),
    }
    for study, found in outcome.items():
        tables[f"{study.name}.csv"] = study_csv(study, found)
        tables[f"{study.name}.md"] = study_md(study, found)
    return tables


def write_tables(folder, tables):
    """The only place that writes. Text from a log may hold what UTF-8 cannot: it is escaped."""
    os.makedirs(folder, exist_ok=True)
    for name, text in tables.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8", errors="backslashreplace",
                  newline="") as file:
            file.write(text)


def say(text):
    """Talk goes to stderr."""
    print(text, file=sys.stderr)


def main(arguments=None):
    """Exit status: 0, or 65 no usable record, 66 no log could be opened, 73 cannot write."""
    parser = argparse.ArgumentParser(description="Turn spmv run logs into tables.")
    parser.add_argument("--out", default="tables", metavar="FOLDER",
                        help="where the tables go (default: %(default)s)")
    parser.add_argument("logs", nargs="*", default=["log"], metavar="LOG",
                        help="files, or folders of *.jsonl (default: log)")
    options = parser.parse_args(arguments)

    files, complaints = find_logs(options.logs)
    records, more, opened = read_logs(files)
    complaints += more
    for complaint in complaints:
        say(complaint)
    if not opened:
        say("make_tables: no log could be opened")
        return EX_NOINPUT
    if not records:
        say(f"make_tables: no usable record in {plural(opened, 'log')}")
        return EX_DATAERR
    tables = make_tables(records, read_fields(RECORD_DEF))
    try:
        write_tables(options.out, tables)
    except OSError as error:
        say(f"make_tables: {error.filename}: {error.strerror}")
        return EX_CANTCREAT
    say(f"make_tables: {plural(len(records), 'record')} from {plural(opened, 'log')}, "
        f"{plural(len(complaints), 'problem')}; {len(tables)} files in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
