"""From records to units: what was measured, on which system, and what may be ranked.

A record becomes a Unit (unit_of); repeated runs of one configuration are merged into one Unit
(merge); units are laid out by system, matrix and kernel (tabulate).

What may be compared: units of one System, that is the same host, processor, GPU, backend,
precision, threads and product (alpha, beta, cache state). Nothing here ever mixes two systems. Two
machines of one name ("vm") are two hosts (machines_apart).

GFLOP/s is always 2 nnz / median_s of the run's own nnz; a log's own figure is only checked.
"""

import collections
import functools
import os
import re
import shlex
import statistics
from typing import NamedTuple, Optional

from logs import SCHEMA, is_number, missed_noise_limit, quartiles_of
from texts import plural, si_time


# What speed-ups are measured against: the papers' csr1, by alias or by its name on each backend.
BASELINE_ALIAS = "csr1"
BASELINE_KERNEL = {"omp": "csr_rows", "cuda": "csr_warp"}

# Members of "config" that are not settings of the kernel: they name the run or are in System. A
# seed changes the numbers in x, not the work done.
NOT_SETTINGS = frozenset(
    "backend kernel alias format precision threads alpha beta cache seed requested reason iters".split())
BUILD_KEYS = ("build.version", "build.commit", "build.dirty", "build.cc", "build.cflags", "build.nvcc",
              "build.nvccflags")


PARAMS_DEF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "include", "params.def")
PARAM = re.compile(r'^PARAM\((\w+), "(\w+)", [^,]+, (?:NULL|"[^"]*"), (\w+)(?:\((.*?)\))?, (\w+), ', re.MULTILINE)

AUTO = "auto"  # what runs that it was left to choose for are called
TIMED = ("ok", "suspect")  # statuses with a time; only the first is ranked


class Param(NamedTuple):
    """A line of include/params.def, as far as it says what a logged value means."""
    option: str
    kind: str    # NUMBER, WORDS, PAIR, SECOND, ...
    words: dict  # {number as logged: word as typed}
    usual: Optional[int]


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
    library: Optional[str] = None  # of a peer: name and version


class Unit(NamedTuple):
    """One record, or after merging one configuration; runs counts what the times come from. Times
    are None unless status is ok or suspect. noisy: a run stopped before its noise limit was met;
    disturbed: a run noticed what else the machine did meanwhile (timing.flags); cached: the data fit
    in the last-level cache, so that the rate says little about memory. prep_s: what was spent once
    before the first product. record: one of those the unit stands for, for facts that the
    configuration fixes."""
    identity: Identity
    alias: str
    status: str
    reason: str
    median_s: Optional[float]
    q1_s: Optional[float]
    q3_s: Optional[float]
    runs: int
    noisy: bool
    disturbed: bool
    cached: bool
    prep_s: Optional[float]
    record: dict


class Cell(NamedTuple):
    """One kernel on one matrix: its best unit, or a word saying why there is none."""
    best: Optional[Unit]
    word: str
    note: str
    timed: list = []  # all that may be ranked: another may be done sooner, preparation counted
    suspect: list = []  # times that no memory could give


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


@functools.lru_cache(maxsize=None)
def params():
    """{name: Param} of every parameter of today's kernels; none where the file is not, and values read as logged."""
    try:
        with open(PARAMS_DEF, encoding="utf-8") as source:
            lines = PARAM.findall(source.read())
    except OSError:
        return {}
    found = {}
    for name, option, kind, arguments, usual in lines:
        words = dict(enumerate(re.findall(r'"([^"]*)"', arguments))) if kind == "WORDS" else {}
        if kind.endswith("_OR"):
            word, number = arguments.split(", ")[:2]
            words[int(number)] = word.strip('"')
        found[name] = Param(option, kind, words, None if usual == "NONE" else int(usual))
    return found


def meaning_of(param, value):
    """A logged value as people type it, on and off as a bool."""
    if param.words.get(0) == "off" and value in (0, 1):
        return bool(value)
    return param.words.get(value, value)


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
    of_option = collections.defaultdict(list)
    for name, param in params().items():
        if param.option != name and name in found:
            of_option[param.option].append(str(found.pop(name)))
        elif param.kind == "NUMBER" and param.usual is not None and found.get(name) == param.usual:
            del found[name]
        elif name in found:
            found[name] = meaning_of(param, found[name])
    for option, pair in of_option.items():
        found.setdefault(option, "x".join(pair))
    return tuple(sorted(found.items()))


def flags_of(record):
    """What disturbed the timing, a list again."""
    text = record.get("timing.flags")
    try:
        return shlex.split(text) if isinstance(text, str) else []
    except ValueError:  # logged as a text, not as a list
        return [text]


def disturbances(records):
    """What disturbed their timing and how often, in words, without the words' numbers."""
    counts = collections.Counter(re.sub(r"\d[\d.]*%?", "…", flag.partition(":")[0])
                                 for record in records for flag in flags_of(record))
    return "; ".join(f"{what} ({count})" for what, count in counts.most_common())


def unit_of(record):
    """The Unit a usable record describes.

    Threads are those the run had (omp.threads), not those its kernel took (config.threads, 1 for a
    serial one): a serial kernel belongs beside the parallel ones of its run. A GPU's kernels have
    none of the host's."""
    get = record.get
    threads = get("omp.threads") if get("omp.threads") is not None else get("config.threads")
    if record["config.backend"] == "cuda":
        threads = None
    system = System(get("host.name"), get("cpu.model"), get("gpu.name"), record["config.backend"],
                    get("config.precision"), threads, get("config.alpha"), get("config.beta"),
                    get("config.cache"))
    matrix = Matrix(record["matrix.name"], get("matrix.hash"), get("matrix.nnz"))
    kernel, settings = record["config.kernel"], settings_of(record)
    if get("config.requested") == "auto":  # its preparation holds the choosing: a kernel of its own
        expected = () if get("config.iters") is None else (("iters", get("config.iters")),)
        kernel, settings = AUTO, tuple(sorted((*settings, ("ran", kernel), *expected)))
    identity = Identity(system, matrix, kernel, settings,
                        tuple(get(name) for name in BUILD_KEYS), get("kernel.library"))
    status, median, q1, q3 = record["status"], None, None, None
    if status == "ok" and get("check.status") == "wrong":
        status = "wrong"
    verdict, reason = get("perf.verdict"), str(get("reason") or "")
    if status == "ok" and verdict == "suspect":
        status, reason = "suspect", reason or "faster than the memory, and no cache can hold it"
    if status in TIMED:
        median = record["timing.median_s"]
        q1, q3 = quartiles_of(record) or (median, median)
    fill = get("store.llc_ratio")
    prep = get("prep.total_s")
    cached = verdict == "in cache" or (is_number(fill) and fill < 1 and verdict is None
                                      and get("config.cache") in (None, "warm"))
    return Unit(identity, str(get("config.alias") or ""), status, reason,
                median, q1, q3, 1, missed_noise_limit(record),
                median is not None and bool(flags_of(record)), cached,
                prep if is_number(prep) else None, record)


def overall_status(statuses):
    """What a configuration that ended in several ways counts as: once wrong is wrong; a time is a
    time although another attempt failed; a failure says more than a refusal."""
    for status in ("wrong", "ok"):
        if status in statuses:
            return status
    others = sorted(set(statuses) - {"skipped"})
    return others[0] if others else "skipped"


def spread(values):
    """The middle half of many, all of a few."""
    if len(values) < 5:
        return min(values), max(values)
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def doubt(unit):
    """How far the interval of its median reaches, in medians; without one, further than any."""
    ends = [unit.record.get(f"timing.median_{end}_s") for end in ("low", "high")]
    known = unit.median_s and all(is_number(end) for end in ends)
    return (unit.noisy, max(abs(end - unit.median_s) for end in ends) / unit.median_s if known
            else float("inf"), str(unit.record.get("time")))


def without_retried(units):
    """Of the records of one cell of a sweep, which --retry measured again, the one whose median is
    known best; passes are cells of their own, and repeats."""
    cells = collections.defaultdict(list)
    for place, unit in enumerate(units):
        cells[unit.record.get("sweep.cell") or place].append(unit)
    return [min(tries, key=doubt) for tries in cells.values()]


def merge_repeats(units):
    """One Unit of the repeats of one configuration: the median of their medians and quartiles; these
    are never closer than the medians themselves, among which repeats may differ most."""
    status = overall_status([unit.status for unit in units])
    same = without_retried([unit for unit in units if unit.status == status])
    times = [None] * 3
    if status in TIMED:
        medians, low, high = zip(*((unit.median_s, unit.q1_s, unit.q3_s) for unit in same))
        least, most = spread(medians)
        times = [statistics.median(medians), min(least, statistics.median(low)),
                 max(most, statistics.median(high))]
    preps = [unit.prep_s for unit in same if unit.prep_s is not None]
    return Unit(same[0].identity, max(unit.alias for unit in units), status,
                min(unit.reason for unit in same), *times, len(same),
                any(unit.noisy for unit in same), any(unit.disturbed for unit in same),
                any(unit.cached for unit in same),
                statistics.median(preps) if preps else None,
                min((unit.record for unit in same), key=lambda r: str(r.get("time"))))


# What tells machines of one name, processor and GPU apart, the plainest first: as a label says it.
MACHINE = {
    "cpu.cores": lambda cores: plural(cores, "core"),
    "cpu.sockets": lambda sockets: plural(sockets, "socket"),
    "cpu.mem_B": lambda size: f"{size / 1e9:.0f} GB",
    "cpu.llc_B": lambda size: f"{size / 1e6:.0f} MB of cache",
    "gpu.mem_B": lambda size: f"GPU of {size / 1e9:.0f} GB",
    "gpu.sms": lambda count: f"{count} SMs",
    "gpu.driver": lambda version: f"driver {int(version) // 1000}.{int(version) % 1000 // 10}"}
SAME_SIZE = 0.02  # a kernel keeps a part of a machine's memory for itself, another kernel another part


def same_fact(one, other):
    """Whether two values of a fact of a machine may be those of one machine; None: not logged."""
    if one is None or other is None or one == other:
        return True
    is_size = min(one, other) > 1e6  # in bytes
    return is_size and abs(one - other) <= SAME_SIZE * max(one, other)


def machines_of(found):
    """{facts: those of its machine} of facts met under one name. What a log does not say may be
    anything, unless it could be several machines."""
    machines = []  # [facts known so far, [facts met]]
    for facts in sorted(found, key=lambda facts: (facts.count(None), order(facts))):
        fits = [machine for machine in machines if all(map(same_fact, machine[0], facts))]
        if len(fits) == 1:
            fits[0][0] = tuple(a if a is not None else b for a, b in zip(fits[0][0], facts))
            fits[0][1].append(facts)
        else:
            machines.append([facts, [facts]])
    return {met: known for known, those in machines for met in those}


def machine_labels(machines):
    """{facts: what distinguishes a machine from the others}: one fact where one is enough."""
    texts = [[f"unknown {name.split('.')[1].removesuffix('_B')}" if value is None else MACHINE[name](value)
              for name, value in zip(MACHINE, facts)] for facts in machines]
    differ = [k for k in range(len(MACHINE)) if len({text[k] for text in texts}) > 1]
    enough = [[k] for k in differ if len({text[k] for text in texts}) == len(texts)]
    shown = (enough or [differ])[0]
    return {facts: ", ".join(text[k] for k in shown) for facts, text in zip(machines, texts)}


def facts_of(unit):
    """What the log says of the unit's machine."""
    return tuple(value if is_number(value) else None for value in map(unit.record.get, MACHINE))


def machines_apart(units):
    """The units, the hosts of machines that only their facts tell apart with a label: vm (16 cores)."""
    met = collections.defaultdict(set)
    for unit in units:
        met[unit.identity.system[:3]].add(facts_of(unit))
    machines = {name: machines_of(found) for name, found in met.items()}
    labels = {name: machine_labels(sorted(set(found.values()), key=order))
              for name, found in machines.items() if len(set(found.values())) > 1}

    def apart(unit):
        who, name = unit.identity, unit.identity.system[:3]
        if name not in labels:
            return unit
        label_of = labels[name][machines[name][facts_of(unit)]]
        host = f"{who.system.host} ({label_of})" if who.system.host else label_of
        return unit._replace(identity=who._replace(system=who.system._replace(host=host)))
    return list(map(apart, units))


def merge(units):
    """Every configuration's Unit, sorted, so that the order of logs never shows."""
    groups = collections.defaultdict(list)
    for unit in machines_apart(list(units)):
        groups[unit.identity].append(unit)
    groups = named_apart(groups)
    return [merge_repeats(groups[identity]) for identity in sorted(groups, key=order)]


def gflop_per_s(unit):
    """From the unit's own nnz and time."""
    return 2 * unit.identity.matrix.nnz / unit.median_s / 1e9


def overlap(a, b):
    """Whether the quartile ranges meet, so that the medians do not tell the two apart."""
    return a.q1_s <= b.q3_s and b.q1_s <= a.q3_s


def fastest(units):
    """The unit of least median; among equals the first, which is stable as units are sorted."""
    return min(units, key=lambda unit: unit.median_s)


def ran_by(unit):
    """The kernel that multiplied: auto is a choice, not a kernel."""
    return dict(unit.identity.settings).get("ran") or unit.identity.kernel


def expected_products(unit):
    """The number of products that auto was told to expect; 0: unknown, so that it prepares for few."""
    return dict(unit.identity.settings).get("iters") or 0


def auto_expecting(cells, products=None):
    """Of {kernel: Cell}: auto's fastest unit among those that expected so many products (None: the
    largest number in the log); None if there is no such unit."""
    timed = cells[AUTO].timed if AUTO in cells else []
    wanted = max(map(expected_products, timed), default=0) if products is None else products
    found = [unit for unit in timed if expected_products(unit) == wanted]
    return fastest(found) if found else None


def candidates(units):
    """Those that may be called the best kernel: auto runs one of the others, and where that was
    timed under its own name too, which of the two is ahead is noise."""
    named = {unit.identity.kernel for unit in units}
    return [unit for unit in units if unit.identity.kernel != AUTO or ran_by(unit) not in named]


def candidates_by_kernel(units):
    """Of {kernel: unit}: the entries that are candidates."""
    return {unit.identity.kernel: unit for unit in candidates(units.values())}


def best_of(units):
    """The fastest of those that have a time; without any, the one whose end says most."""
    timed = candidates([unit for unit in units if unit.status == "ok"])
    if timed:
        return fastest(timed)
    status = overall_status([unit.status for unit in units])
    return next(unit for unit in units if unit.status == status)


def winners(units):
    """Names of a {name: unit} that share the least median: usually one."""
    least = min(unit.median_s for unit in units.values())
    return [name for name, unit in units.items() if unit.median_s == least]


def short_ends(hashes):
    """{hash: so much of its beginning that no two are alike}."""
    length = 4
    while len({text[:length] for text in hashes}) < len(hashes):
        length += 1
    return {text: f"#{text[:length]}" for text in hashes}


def named_apart(groups):
    """{identity: units} with matrices of one name told apart: by their hashes, which differ when only
    values do, and in logs without hashes by their nonzeros."""
    hashes, sizes = collections.defaultdict(set), collections.defaultdict(set)
    for who in groups:
        if who.matrix.hash is not None:
            hashes[who.matrix.name].add(who.matrix.hash)
        elif who.matrix.nnz is not None:
            sizes[who.matrix.name].add(who.matrix.nnz)
    ends = {name: short_ends(found) for name, found in hashes.items() if len(found) > 1}

    def apart(who):
        matrix = who.matrix
        if matrix.hash is not None:
            end = ends.get(matrix.name, {}).get(matrix.hash)
        else:
            end = f"{matrix.nnz} nnz" if matrix.nnz is not None and len(sizes[matrix.name]) > 1 else None
        return who._replace(matrix=matrix._replace(name=f"{matrix.name} {end}")) if end else who
    return {apart(who): [unit._replace(identity=apart(who)) for unit in units]
            for who, units in groups.items()}


def is_verified(unit):
    """Whether its result was compared with the reference; the published program's logs do not say."""
    return unit.record.get("check.status") != "off" or unit.record.get("schema") != SCHEMA


def cell_of(units):
    """What a table says about one kernel on one matrix, over all its configurations; a time whose
    result nobody looked at (--verify=off) has no rank."""
    right = [unit for unit in units if unit.status == "ok"]
    timed = [unit for unit in right if is_verified(unit)]
    wrong = [unit for unit in units if unit.status == "wrong"]
    suspect = [unit for unit in units if unit.status == "suspect"]
    if timed:
        note = f"wrong result in {len(wrong)} of {len(units)} configurations" if wrong else ""
        return Cell(fastest(timed), "", note, timed, suspect)
    if right:
        return Cell(None, "unchecked", "unchecked: measured with --verify=off", [], suspect)
    status = overall_status([unit.status for unit in units])
    reason = min(unit.reason for unit in units if unit.status == status)
    if status == "wrong":
        return Cell(None, "WRONG", reason)
    return Cell(None, status, f"{status}: {reason or 'no reason given'}", [], suspect)


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


def layout_of(records):
    """What the records say, repeats merged."""
    return tabulate(merge(unit_of(record) for record in records))


def timed_cells(cells):
    """{kernel: its best unit} of those that may be ranked."""
    return {kernel: cell.best for kernel, cell in cells.items() if cell.best}


def tied_with(best, units):
    """Names of the {name: unit} that are tied with the best."""
    return [name for name, unit in units.items() if unit is not best and overlap(unit, best)]


def baseline_of(system, units):
    """The unit speed-ups are measured against, or None."""
    name = BASELINE_KERNEL.get(system.backend)
    for kernel, unit in units.items():
        if unit.alias == BASELINE_ALIAS or kernel == name:
            return unit
    return None


def libraries_in(rows):
    """Names and versions of the other libraries in {matrix: {kernel: Cell}}, sorted."""
    return sorted({unit.identity.library for cells in rows.values() for cell in cells.values()
                   for unit in (*cell.timed, *cell.suspect) if unit.identity.library})


def kernels_in(rows):
    """Kernels with any result in {matrix: {kernel: Cell}}, sorted."""
    return sorted({kernel for cells in rows.values() for kernel in cells})


def text_of(value):
    """A setting as people write it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def label(settings):
    """Settings as one cell of a table."""
    return " ".join(f"{name}={text_of(value)}" for name, value in settings)


def doubts(unit):
    """The marks after a time: † its noise limit was not met, ! disturbed meanwhile."""
    return (" †" if unit.noisy else "") + (" !" if unit.disturbed else "")


def marked_times(units, best):
    """{name: time} with the best in bold, those tied with it and doubtful ones marked."""
    tied = tied_with(best, units)
    return {name: (f"**{si_time(unit.median_s)}**" if unit is best else si_time(unit.median_s))
            + (" =" if name in tied else "") + doubts(unit)
            for name, unit in units.items()}


# Settings that say nothing to a reader of a table: their usual value, or implied by another one.
USUAL = {"bind": "false", "block": "0", "index_bits": 32, "deterministic": True, "simd": False}


def short_label(settings):
    """Settings as one cell of a crowded table: without the usual ones."""
    return label((name, value) for name, value in settings
                 if USUAL.get(name) != value)


def describe(system):
    """A system in words; alpha, beta and cache only when they are not the usual ones."""
    words = [system.backend, system.precision,
             None if system.threads is None else plural(system.threads, "thread"),
             system.gpu, system.cpu, system.host,
             None if system.alpha in (None, 1) else f"alpha {system.alpha}",
             None if system.beta in (None, 0) else f"beta {system.beta}",
             None if system.cache is None else f"{system.cache} cache"]
    return " · ".join(str(word) for word in words if word is not None)


def peers_line(rows):
    """What the peers of {matrix: {kernel: Cell}} are, as a sentence; nothing where no log names one."""
    found = libraries_in(rows)
    return f"Peers: {', '.join(found)}." if found else ""


def heading(system, rows):
    """A page's heading of a system, with the libraries that it was compared with."""
    peers = peers_line(rows)
    return f"\n## {describe(system)}\n\n" + (f"{peers}\n\n" if peers else "")


def caption(system, rows):
    """The same for a table in a paper."""
    return ". ".join(filter(None, [describe(system), peers_line(rows).rstrip(".")]))


MEASURED, THEORY = "the measured streaming limit (spmv probe)", "the theoretical bandwidth"


def limit_of(record):
    """(bandwidth, what it is) to compare a record with, or None."""
    source = str(record.get("perf.bw_peak_source") or "theory")
    for name, meaning in (("perf.bw_peak_Bps", THEORY if source == "theory" else MEASURED),
                          ("gpu.bw_theory_Bps", THEORY)):
        if is_number(record.get(name)) and record[name] > 0:
            return record[name], meaning
    return None
