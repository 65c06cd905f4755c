#!/usr/bin/env python3
"""Says what `auto` would choose today, by the times of full logs: neither the device nor the matrices are needed.

    python3 tables/auto/replay.py LOG... [--backend=omp] [--against PROGRAM] [--verbose]
    python3 tables/auto/replay.py LOG... [--backend=omp] --fit          cost.def anew, with residuals

For every matrix, state and precision of the logs, `bench_propose` (make build/omp/bench_propose) turns the features of
the matrix (log/reference/features.txt.xz) into proposals, by the model of the library itself. Then the policy of
src/tune/choice.c is followed: budget, admission, trials with the logged times and preparations, choice. What the policy's
constants are is read from src/tune/*.c. --against replays with the model of another build, as of another commit.

Regret is the time of the choice over that of the best of our deterministic kernels and parameters in the log. A table has a
line for each expected number of products, state, precision and half of the outside set: how many matrices, the geometric
mean, the share up to 1.10, the worst; then the same for what `auto` chose in the log, and how often both chose the same or
within 3 %; then how many kernels were timed, and the time of preparation and of all products over that of the best kernel's
products. What the replay does not know: noise of trials, batches, the clock of that machine's host. Kernels that are not in
the log can neither be chosen nor missed: logs of a CPU hold few, until every one has been logged.

--fit fits the factor of each kernel in BACKEND/cost.def to the half that may be tuned on and to generated classes, by
least squares of the relative error, none below zero, and prints the set-up as it was measured. For another
GPU: log every kernel there (STAGES='outside every' tables/measure_reference.sh), set the rates in cuda/propose.c by `spmv doctor --probe`,
--fit. For a CPU likewise with --backend=omp.
"""

import collections
import lzma
import math
import os
import re
import statistics
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tables", "report"))
from common import EX_DATAERR, EX_NOINPUT, EX_UNAVAILABLE, Parser, Stop, load, run, say  # noqa: E402
from against_peers.classes import HALVES, listed_name, outside_list  # noqa: E402
from units.unit import product_of, system_of  # noqa: E402

PROGRAM = os.path.join(ROOT, "build", "omp", "bench_propose")
FEATURES = os.path.join(ROOT, "log", "reference", "features.txt.xz")
CLOSE, FAIR = 1.03, 1.10
# Seconds that the policy is charged for besides set-ups and products: sampling (for a GPU on one thread), and making a plan
# and its first launches.
SAMPLING_S = {"cuda": {"none": 0, "quick": 1.5e-4, "all": 4.5e-4}, "omp": {"none": 0, "quick": 1e-4, "all": 3e-4}}
PLAN_S = 1e-4
TRIAL_PRODUCTS, MOST_CANDIDATES = 2, 8
PEERS = ("cusparse", "mkl", "librsb", "aocl")
# A fit has limits: fewer samples say nothing, nor do shorter products of a CPU; seconds of a unit of the terms (on a CPU a
# byte, by one thread); the baseline kernel.
FEWEST, SHORT_S, UNIT_S, BASELINE = 8, 2e-5, {"cuda": 1, "omp": 4.5e-11}, {"cuda": "csr_lanes", "omp": "csr_balanced"}
CALLS = (1000, None, 10, 30, 100, 300, 100000)
KNOWN_UNSAMPLED = ("matrix", "values", "precision", "rows", "cols", "nnz", "row_max", "mean", "cv", "empty_share")


def source_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def constants():
    """{name: number} of the constants of the policy, which no method of it may be called like."""
    text = "".join(source_of("src", "tune", name) for name in ("choice.c", "trials.c", "trials.h"))
    constants_of = "".join(re.findall(r"\bconst double [^;]*;", text))
    found = {name: float(value) for name, value in re.findall(r"\b(\w+) = (-?\d[\d.e-]*)[,;]", constants_of)}
    assert not [name for name in found if hasattr(Policy, name)]
    return found


# ---- what is known -------------------------------------------------------------------------------


def words_of(line):
    return dict(word.split("=", 1) for word in line.split())


def name_of(words):
    """The matrix as logs name it."""
    name = re.sub(r"\.mtx(\.gz)?$", "", words["matrix"])
    return name + (" " + words["values"] if "values" in words else "")


def read_features(path):
    """{(matrix, precision, depth): a line of features}"""
    try:
        with (lzma.open if path.endswith(".xz") else open)(path, "rt", encoding="utf-8") as file:
            lines = [line.strip() for line in file if line.strip()]
    except (OSError, lzma.LZMAError) as error:
        raise Stop(EX_NOINPUT, f"{path}: {error}") from None
    found = {}
    for line in lines:
        words = words_of(line)
        found[name_of(words), words["precision"], words["depth"]] = line
        if words["depth"] == "all":
            unsampled = " ".join(f"{word}={words[word]}" for word in KNOWN_UNSAMPLED if word in words)
            found[name_of(words), words["precision"], "none"] = unsampled + " depth=none"
    return found


def kernels_built(backend):
    return set(re.findall(r"^KERNEL\((\w+)\)", source_of(backend, "kernels.def"), re.MULTILINE))


class Case:
    """Holds what a log holds of one matrix, precision and state."""

    def __init__(self, record):
        self.best = math.inf
        self.kernels = {}  # name: (seconds of a product, seconds of the set-up), with parameters of today's default
        self.chosen = {}  # expected number of products: kernel
        self.threads = record.get("omp.threads") or 1
        self.cache = record.get("gpu.l2_B") or record.get("cpu.llc_B") or 0


def setup_of(record):
    known = record.get("prep.from_rows_s")
    parts = [record.get("prep." + part) or 0 for part in ("convert_s", "prepare_s", "h2d_s")]
    return sum(parts) if known is None else known


def state_of(record, backend):
    cache = record.get("config.cache")
    return cache if backend == "cuda" else f"{cache} {record.get('omp.threads')}"


def cases_of(records, listed, backend):
    """{(matrix, precision, state): Case} of one vector at a time, by deterministic kernels of ours that are still there."""
    built, cases, least = kernels_built(backend), {}, {}
    for record in records:
        if (record.get("status"), record.get("config.backend"), record.get("check.status")) != ("ok", backend, "ok"):
            continue
        if product_of(system_of(record)):
            continue
        kernel, seconds = record.get("config.kernel"), record.get("timing.median_s")
        matrix = listed_name(record.get("matrix.name") or "")
        where = (matrix, record.get("config.precision"), state_of(record, backend))
        if kernel not in built or not is_ours(kernel) or not record.get("config.deterministic") or not seconds:
            continue
        case = cases.setdefault(where, Case(record))
        key = where[:2] + (kernel,)  # stores are kept from state to state: a later one may find it there
        if record.get("config.requested") == "auto":
            case.chosen[record.get("config.iters")] = kernel
            if matrix in listed and backend == "cuda":
                continue  # other logs have few kernels by name
            case.kernels.setdefault(kernel, (seconds, 0))
        elif record.get("config.params.codes") != 0:  # of several block shapes the fastest, like auto's by fill
            case.kernels[kernel] = min(case.kernels.get(kernel, (math.inf, 0)), (seconds, 0))
        case.best = min(case.best, seconds)
        least[key] = min(least.get(key, math.inf), setup_of(record))
    for where, case in cases.items():
        case.kernels = {kernel: (seconds, least.get(where[:2] + (kernel,), 0))
                        for kernel, (seconds, _) in case.kernels.items()}
    return cases


def is_ours(kernel):
    return not kernel.startswith(PEERS)


def proposals_of(program, backend, cases, features, depth):
    """{where: [{kernel, setup, speedup, term0...}]} by the library's model."""
    asked, lines = [], []
    for where, case in cases.items():
        line = features.get(where[:2] + (depth,))
        if line is None:
            continue
        words = words_of(line)
        width = 8 if where[1] == "f64" else 4
        size = int(words["nnz"]) * (width + 4) + (int(words["rows"]) + int(words["cols"])) * width
        evicted = not where[2].startswith("warm") and size < 2 * case.cache
        asked.append(where)
        lines.append(f"{line} threads={case.threads} cache={case.cache} evicted={int(evicted)}")
    if not lines:
        return {}
    try:
        done = subprocess.run([program, backend], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    except OSError as error:
        raise Stop(EX_UNAVAILABLE, f"{program}: {error.strerror}; make build/omp/bench_propose") from None
    if done.returncode:
        raise Stop(EX_DATAERR, f"{program}: {done.stderr.strip()}")
    found = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        words = words_of(line)
        found[asked[int(words["line"])]].append(
            {name: value if name == "kernel" else float(value) for name, value in words.items()})
    return found


# ---- the policy of src/tune ----------------------------------------------------------------------


class Policy:
    def __init__(self, backend):
        self.__dict__.update(constants())
        self.host, self.sampling_s = backend == "omp", SAMPLING_S[backend]

    def calls(self, calls):
        return calls or self.unknown_calls

    def budget(self, calls):
        """Returns the budget in products of the baseline kernel."""
        return self.share * calls if calls else self.few

    def depth(self, calls, product_s):
        """Says how much is sampled. product_s: what the policy expects of a product before anything is timed."""
        share = self.for_sampling_host if self.host else self.for_sampling
        most_s = share * self.budget(calls) * product_s
        return "none" if most_s < self.quick_s else "quick" if most_s < self.full_s else "all"

    def is_timed(self, depth, calls):
        least = self.trials_host if self.host else self.for_trials
        return self.budget(calls) >= least and not (self.host and depth == "none")

    def choose(self, proposals, case, calls, depth, product_s):
        """The kernel, all that were timed, and the seconds spent; (None, [], 0): the baseline kernel is not in the log."""
        known = sorted((p for p in proposals if is_ours(p["kernel"])),
                       key=lambda p: p["setup"] + self.calls(calls) / p["speedup"] if p["speedup"] else -1)
        baseline = next((p for p in known if p["speedup"] == 0), None)
        if baseline is None or baseline["kernel"] not in case.kernels:
            return None, [], 0
        spent_s = self.sampling_s[depth] + PLAN_S
        if self.is_timed(depth, calls):
            return self.try_out(known, baseline["kernel"], case, calls, spent_s)
        left = self.likely * self.few - self.sampling_s[depth] / max(baseline.get("baseline_s") or product_s, 1e-9)
        kernel = self.untimed(known, baseline["kernel"], case, calls, math.inf if calls else left)
        return kernel, [kernel], spent_s + case.kernels[kernel][1]

    def untimed(self, known, baseline, case, calls, most_setup):
        """The kernel of the least predicted sum of set-up and products, in products of the baseline kernel."""
        calls = self.calls(calls)
        totals = {p["kernel"]: p["setup"] + calls / p["speedup"]
                  for p in known if p["speedup"] > 0 and p["setup"] <= most_setup and p["kernel"] in case.kernels}
        best = min(totals, key=totals.get, default=None)
        return best if best and self.margin * totals[best] < calls else baseline

    def try_out(self, known, baseline, case, calls, spent_s):
        product_s, setup_s = case.kernels[baseline]
        budget_s = self.budget(calls) * product_s
        spent_s += setup_s + TRIAL_PRODUCTS * product_s
        tried, best_s = [baseline], product_s
        for p in known:
            if p["speedup"] == 0 or p["kernel"] in tried or len(tried) == MOST_CANDIDATES:
                continue
            expected_s = product_s / p["speedup"]
            trying_s = p["setup"] * (p.get("baseline_s") or product_s) + expected_s
            pays = self.calls(calls) * (best_s - expected_s / self.optimism) > trying_s
            fits = spent_s + trying_s <= budget_s or ((len(tried) == 1 or p["setup"] == 0) and trying_s <= self.cheap * budget_s)
            if pays and fits:
                spent_s += PLAN_S
                if p["kernel"] in case.kernels:  # otherwise it could not be built there
                    spent_s += case.kernels[p["kernel"]][1] + TRIAL_PRODUCTS * case.kernels[p["kernel"]][0]
                    tried.append(p["kernel"])
                    best_s = min(best_s, max(expected_s, case.kernels[p["kernel"]][0]))
        best = min(tried, key=lambda k: case.kernels[k][0] * (1 - self.tie if k == baseline else 1))
        return best, tried, spent_s


# ---- figures -------------------------------------------------------------------------------------


def mean(values):
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def figures(regrets):
    if not regrets:
        return f"{'-':>22}"
    fair = sum(regret <= FAIR for regret in regrets) / len(regrets)
    return f"{mean(regrets):8.3f} {100 * fair:5.0f} % {max(regrets):5.2f}"


class Replay:
    """The choices of one program."""

    def __init__(self, program, backend, cases, features):
        self.policy, self.cases, self.features = Policy(backend), cases, features
        self.proposals = {depth: proposals_of(program, backend, cases, features, depth) for depth in SAMPLING_S[backend]}

    def choose(self, where, calls):
        known = words_of(self.features.get(where[:2] + ("all",), ""))
        entries = int(known.get("nnz", 0)) + int(known.get("rows", 0))
        product_s = self.policy.entry_s * entries / self.cases[where].threads
        if not self.policy.host:
            product_s = max((p.get("baseline_s", 0) for p in self.proposals["none"].get(where, ())), default=0)
        depth = self.policy.depth(calls, product_s)
        proposals = self.proposals[depth].get(where)
        return self.policy.choose(proposals, self.cases[where], calls, depth, product_s) if proposals else (None, [], 0)

    def regret(self, where, kernel):
        case = self.cases[where]
        return case.kernels[kernel][0] / case.best

    def total(self, where, calls, chosen):
        """All that it takes, over the products of the best kernel alone."""
        kernel, _, spent_s = chosen
        calls = self.policy.calls(calls)
        return (spent_s + calls * self.cases[where].kernels[kernel][0]) / (calls * self.cases[where].best)


def compare(replays, cases, halves, verbose):
    heads = ["replayed", "in the log", "same/close"] + (["against"] if len(replays) > 1 else [])
    yield f"{'products':>9} {'state':12} {'half':9} {'n':>3} " + " ".join(f"{head:>22}" for head in heads) + "  trials  total"
    states = sorted({where[1:] for where in cases}, key=lambda state: (state[0] != "f64", state))
    for calls in CALLS:
        for state in states:
            for half in HALVES + ("others",):
                yield from line_of(replays, calls, state, half, halves, verbose)


def line_of(replays, calls, state, half, halves, verbose):
    mine, rows, timed, totals = replays[0], [], 0, []
    for where, case in mine.cases.items():
        if where[1:] != state or halves.get(where[0], "others") != half:
            continue
        chosen = [replay.choose(where, calls) for replay in replays]
        if any(kernel is None for kernel, _, _ in chosen):
            continue
        logged = case.chosen.get(calls)
        rows.append((mine.regret(where, chosen[0][0]), where, chosen, logged if logged in case.kernels else None))
        timed += len(chosen[0][1])
        totals.append(mine.total(where, calls, chosen[0]))
    if not rows:
        return
    logged = [(row, mine.regret(row[1], row[3])) for row in rows if row[3]]
    same = sum(row[2][0][0] == row[3] for row, _ in logged) / max(len(logged), 1)
    close = sum(max(row[0] / old, old / row[0]) <= CLOSE for row, old in logged) / max(len(logged), 1)
    columns = [figures([row[0] for row in rows]), figures([old for _, old in logged]),
               f"{100 * same:.0f} % {100 * close:.0f} %" if logged else "-"]
    if len(replays) > 1:
        columns.append(figures([replays[1].regret(row[1], row[2][1][0]) for row in rows]))
    yield (f"{calls or 'unknown':>9} {state[0] + ' ' + state[1]:12} {half:9} {len(rows):3} "
           + " ".join(f"{column:>22}" for column in columns) + f"  {timed / len(rows):6.1f} {mean(totals):6.2f}")
    for regret, where, chosen, _ in sorted(rows, reverse=True, key=lambda row: row[0])[:verbose]:
        if regret > CLOSE:
            best = min(mine.cases[where].kernels, key=lambda k: mine.cases[where].kernels[k][0])
            yield f"{'':12}{regret:5.2f} {where[0]}: {chosen[0][0]} of {', '.join(chosen[0][1])}; best {best}"


# ---- fitting -------------------------------------------------------------------------------------


def least_squares(rows, seconds):
    """The factor of the second term: not negative, of least squared error relative to the geometric mean of time and
    prediction."""
    points, factor = [(base, term, time) for (base, term), time in zip(rows, seconds)], 0.0
    for _ in range(6 if any(term for _, term in rows) else 0):
        weights = [1 / (time * max(base + factor * term, 0.1 * time)) for base, term, time in points]
        above = sum(weight * term * (time - base) for weight, (base, term, time) in zip(weights, points))
        factor = max(above / sum(weight * term * term for weight, (_, term, _) in zip(weights, points)), 0)
    errors = [math.log((base + factor * term) / time) for base, term, time in points]
    return factor, statistics.pstdev(errors), max(map(abs, errors))


def samples_of(cases, features, proposals, halves, kernel, backend):
    """(terms, seconds of a product, seconds of the set-up over its prediction's unit) of what may be fitted on."""
    rows, seconds, setups = [], [], []
    for where, case in cases.items():
        if kernel not in case.kernels or halves.get(where[0]) == "held-out" or where[2].startswith("warm"):
            continue
        if backend == "omp" and case.kernels[kernel][0] < SHORT_S:
            continue  # mostly waiting for threads
        baseline = case.kernels.get(BASELINE[backend], (math.nan, 0))[0]
        for p in proposals.get(where, ()):
            if p["kernel"] == kernel and p["term0"] > 0:
                unit = UNIT_S[backend] * (int(words_of(features[where[:2] + ("all",)])["nnz"]) / case.threads
                                          if backend == "omp" else 1)
                rows.append([value * unit for name, value in p.items() if name.startswith("term")])
                seconds.append(case.kernels[kernel][0])
                setup_s = case.kernels[kernel][1]
                setups.append(setup_s / baseline if backend == "omp" else setup_s * 1e3)
                break
    return rows, seconds, setups


def fit(program, backend, cases, features, halves):
    """The lines of cost.def."""
    proposals = proposals_of(program, backend, cases, features, "all")
    names = re.findall(r"^COST\((\w+), *([\d.]+), *([\d.]+)\)", source_of(backend, "cost.def"), re.MULTILINE)
    for kernel, kept, setup in names:
        rows, seconds, setups = samples_of(cases, features, proposals, halves, kernel, backend)
        if len(rows) < FEWEST:
            yield f"COST({kernel}, {kept}, {setup}) /* kept: {len(rows)} products in these logs */"
            continue
        factor, scatter, worst = least_squares(rows, seconds)
        known = sorted(value for value in setups if value == value)
        middle = known[len(known) // 2] if known else math.nan
        yield (f"COST({kernel}, {factor:.2g}, {setup}) /* {len(rows)} products: "
               f"scatter {scatter:.2f}, worst {worst:.2f}; set-up {middle:.2g} {'products' if backend == 'omp' else 'ms'} */")


def main(arguments):
    parser = Parser(prog="replay.py", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("logs", nargs="+", metavar="LOG", help="logs that hold nearly every kernel")
    parser.add_argument("--backend", default="cuda", choices=("cuda", "omp"), help="of which kernels (cuda)")
    parser.add_argument("--features", default=FEATURES, help="lines of bench_propose features")
    parser.add_argument("--program", default=PROGRAM, help="bench_propose of the version to replay")
    parser.add_argument("--against", metavar="PROGRAM", help="another version's bench_propose")
    parser.add_argument("--fit", action="store_true", help="fit cost.def to the logs")
    parser.add_argument("-v", "--verbose", type=int, nargs="?", const=5, default=0, metavar="N",
                        help="name the N worst choices of each line (5)")
    options = parser.parse_args(arguments)
    records, talk = load(options.logs)
    say(talk)
    halves = {name: place.half for name, place in outside_list().items()}
    features, cases = read_features(options.features), cases_of(records, halves, options.backend)
    if not any(where[0] in halves and where[:2] + ("all",) in features for where in cases):
        raise Stop(EX_DATAERR, "these logs hold no kernel of that backend on a matrix of the outside set whose features are known")
    if options.fit:
        for line in fit(options.program, options.backend, cases, features, halves):
            print(line)
        return 0
    programs = [options.program] + ([options.against] if options.against else [])
    replays = [Replay(program, options.backend, cases, features) for program in programs]
    lines = list(compare(replays, cases, halves, options.verbose))
    if len(lines) == 1:
        raise Stop(EX_DATAERR, "these logs lack the baseline kernel, " + " or ".join(sorted(
            {p["kernel"] for found in replays[0].proposals["all"].values() for p in found if p["speedup"] == 0}))
            + ": add the log of the stage outside")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(run("replay.py", main, sys.argv[1:]))
