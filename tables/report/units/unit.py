"""Leads from a record to a Unit: what was measured, on which system.

What may be compared: units of one System, that is the same host, processor, GPU, backend,
precision, threads, ranks and product (alpha, beta, cache state, number of vectors, their layout, as it
is or by the transpose). Nothing here ever mixes two systems. Two machines of one name ("vm") are two hosts
(machines.py).

GFLOP/s is always 2 nnz vectors / median_s of the run's own nnz; a log's own figure is only checked.
"""

import collections
import re
import shlex
from typing import NamedTuple, Optional

from logs import SCHEMA, is_number, missed_noise_limit, quartiles_of, vectors_of
from texts import plural
from units.settings import settings_of, short_label

BUILD_KEYS = ("build.version", "build.commit", "build.dirty", "build.cc", "build.cflags", "build.nvcc",
              "build.nvccflags")
AUTO = "auto"  # what runs that it was left to choose for are called
TIMED = ("ok", "suspect")  # statuses with a time; only the first is ranked


COLUMNS, AS_IS = "columns", "as-is"  # what older logs, which do not say, have


class System(NamedTuple):
    """Says where and what was measured: runs are compared only within one of these."""
    host: Optional[str]
    cpu: Optional[str]
    gpu: Optional[str]
    backend: str
    precision: Optional[str]
    threads: Optional[int]
    alpha: Optional[float]
    beta: Optional[float]
    cache: Optional[str]
    vectors: Optional[int]  # that a product multiplies at once; older logs have 1
    layout: Optional[str]  # layout of several vectors: rows or columns; for one, and in older logs, columns
    op: Optional[str]  # transpose or as-is, as in older logs
    ranks: int = 1  # processes that multiply together, each with so many threads
    hosts: int = 1  # that these are on


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
    settings: tuple  # (name, value), sorted
    build: tuple
    library: Optional[str] = None  # name and version of a peer's library


class Unit(NamedTuple):
    """One record, or after merging one configuration; runs counts what the times come from. Times
    are None unless status is ok or suspect. noisy: a run stopped before its noise limit was met;
    disturbed: a run noticed what else the machine did meanwhile (timing.flags); cached: the data fit
    in the last-level cache, so that the rate says little about memory. prep_s: what was spent once
    before the first product. record: one of those the unit stands for, for facts that the
    configuration fixes. records: all that ended so, what was tried again too."""
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
    records: tuple


def flags_of(record):
    """Says what disturbed the timing, a list again."""
    text = record.get("timing.flags")
    try:
        return shlex.split(text) if isinstance(text, str) else []
    except ValueError:  # logged as a text, not as a list
        return [text]


def disturbances(records):
    """Says what disturbed their timing and how often, in words: of numbers that differ the least and the greatest."""
    found = collections.defaultdict(list)
    for flag in (flag.partition(":")[0] for record in records for flag in flags_of(record)):
        found[NUMBER.sub("\0", flag)].append(NUMBER.findall(flag))
    return "; ".join(f"{with_numbers(what, numbers)} ({len(numbers)})"
                     for what, numbers in sorted(found.items(), key=lambda item: -len(item[1])))


NUMBER = re.compile(r"\d+(?:\.\d+)?")


def with_numbers(words, found):
    """Words with numbers in their gaps; found: the numbers of each that said so."""
    for column in zip(*found):
        least, most = min(column, key=float), max(column, key=float)
        words = words.replace("\0", least if least == most else f"{least} to {most}", 1)
    return words


def system_of(record):
    """The System of a record.

    Threads are those the run had (omp.threads), not those its kernel took (config.threads, 1 for a
    serial one): a serial kernel belongs beside the parallel ones of its run. A GPU's kernels have
    none of the host's."""
    get = record.get
    threads = get("omp.threads") if get("omp.threads") is not None else get("config.threads")
    if record["config.backend"] == "cuda":
        threads = None
    vectors = vectors_of(record)
    layout = get("config.layout") or COLUMNS
    return System(get("host.name"), get("cpu.model"), get("gpu.name"), record["config.backend"],
                  get("config.precision"), threads, get("config.alpha"), get("config.beta"),
                  get("config.cache"), vectors, layout if vectors > 1 else COLUMNS, get("config.op") or AS_IS,
                  get("ranks.count") or 1, get("ranks.hosts") or 1)


def has_fewer_threads(record, system):
    """Says whether auto chose to leave some of the team out."""
    threads = record.get("config.threads")
    return is_number(threads) and is_number(system.threads) and threads < system.threads


def unit_of(record):
    """The Unit a usable record describes."""
    get, system = record.get, system_of(record)
    matrix = Matrix(record["matrix.name"], get("matrix.hash"), get("matrix.nnz"))
    kernel, settings = record["config.kernel"], settings_of(record)
    if get("config.requested") == "auto":  # its preparation holds the choosing: a kernel of its own
        expected = () if get("config.iters") is None else (("iters", get("config.iters")),)
        remembered = (("wisdom", True),) if get("tune.wisdom") else ()  # without trials
        fewer = (("threads", get("config.threads")),) if has_fewer_threads(record, system) else ()
        kernel, settings = AUTO, tuple(sorted((*settings, ("ran", kernel), *expected, *remembered, *fewer)))
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
                prep if is_number(prep) else None, record, (record,))


def gflop_per_s(unit):
    """Is computed from the unit's own nnz and time."""
    return 2 * unit.identity.matrix.nnz * unit.identity.system.vectors / unit.median_s / 1e9


def ran_by(unit):
    """The kernel that multiplied: auto is a choice, not a kernel."""
    return dict(unit.identity.settings).get("ran") or unit.identity.kernel


CHOICE = ("ran", "iters", "wisdom")  # settings that describe how auto chose


def configuration_of(unit):
    """Says what multiplied: the kernel and all that was chosen for it, by the user or by auto. What auto ran may have been
    timed under its own name, too: which of the two is ahead is noise."""
    return ran_by(unit), tuple((name, value) for name, value in unit.identity.settings if name not in CHOICE)


def winner_text(unit):
    """A configuration that won, in words: sell16_lanes threads=1 sigma=4096 (auto)."""
    return " ".join(filter(None, (ran_by(unit), settings_text(unit), f"({AUTO})" * is_auto(unit))))


def same_configuration(one, other):
    """Says whether both ran the same program's same kernel with the same settings."""
    a, b = one.identity, other.identity
    return ((a.system, a.matrix, a.build, a.library, *configuration_of(one))
            == (b.system, b.matrix, b.build, b.library, *configuration_of(other)))


def settings_text(unit):
    """Says what was chosen for the kernel, in words: first of all the threads."""
    return short_label(sorted(configuration_of(unit)[1], key=lambda item: item[0] != "threads"))


def is_auto(unit):
    """Says whether auto chose it."""
    return unit.identity.kernel == AUTO


def expected_products(unit):
    """The number of products that auto was told to expect; 0: unknown, so that it prepares for few."""
    return dict(unit.identity.settings).get("iters") or 0


def is_verified(unit):
    """Says whether its result was compared with the reference; the published program's logs do not say."""
    return unit.record.get("check.status") != "off" or unit.record.get("schema") != SCHEMA


def doubts(unit):
    """The marks after a time: ~ its noise limit was not met, ! disturbed meanwhile."""
    return (" ~" if unit.noisy else "") + (" !" if unit.disturbed else "")


def product_of(system):
    """What is multiplied, in words: "8 vectors in rows", "transpose", both or nothing."""
    several = system.vectors is not None and system.vectors > 1
    return ", ".join(filter(None, [
        f"{plural(system.vectors, 'vector')}" + (f" in {system.layout}" if system.layout else "") if several else "",
        system.op if system.op not in (None, AS_IS) else ""]))


def ranks_text(system):
    """Says how many ranks on how many hosts; nothing of one process."""
    ranks = plural(system.ranks, "rank") if system.ranks not in (None, 1) else ""
    hosts = f"on {plural(system.hosts, 'host')}" if system.hosts not in (None, 1) else ""
    return f"{ranks} {hosts}".strip()


def describe(system):
    """A system in words; alpha, beta, cache and product only when they are not the usual ones."""
    words = [system.backend, system.precision, ranks_text(system) or None,
             None if system.threads is None else plural(system.threads, "thread"),
             system.gpu, system.cpu, system.host,
             None if system.alpha in (None, 1) else f"alpha {system.alpha}",
             None if system.beta in (None, 0) else f"beta {system.beta}",
             None if system.cache is None else f"{system.cache} cache",
             product_of(system) or None]
    return " · ".join(str(word) for word in words if word is not None)


MEASURED, THEORY = "the measured streaming limit (spmv doctor --probe)", "the theoretical bandwidth"
BESIDE = "the streaming limit, measured beside other programs and so too low"


def limit_of(record):
    """(bandwidth, what it is) to compare a record with, or None."""
    source = str(record.get("perf.bw_peak_source") or "theory")
    for name, meaning in (("perf.bw_peak_Bps", {"theory": THEORY, "measured-beside": BESIDE}.get(source, MEASURED)),
                          ("gpu.bw_theory_Bps", THEORY)):
        if is_number(record.get(name)) and record[name] > 0:
            return record[name], meaning
    return None
