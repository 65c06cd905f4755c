#!/usr/bin/env python3
"""What `auto` would choose on a GPU today, by the times of full logs: no device is needed.

    python3 log/reference/replay.py LOG... [--against PROGRAM] [--verbose]
    python3 log/reference/replay.py LOG... --fit            cost.def anew, with residuals

For every matrix, state and precision of the logs, `bench_propose cuda` (make build/omp/bench_propose) turns the features of
the matrix (log/reference/features.txt.xz) into proposals, by the model of the library itself. Then the policy of src/tune is
followed: budget, admission, trials with the logged times and preparations, choice. What the policy's constants are is read
from src/tune/*.c. --against replays with the model of another build, as of another commit.

Regret is the time of the choice over that of the best of our deterministic kernels and parameters in the log. A table has a
line for each expected number of products, state, precision and half of the outside set: how many matrices, the geometric
mean, the share up to 1.10, the worst; then the same for what `auto` chose in the log, and how often both chose the same or
within 3 %. What the replay does not know: noise of trials, batches, the clock of that machine's host.

--fit fits the factors of cost.def to the half that may be tuned on and to generated classes, by least squares of the relative
error, none below zero, launches no less than 1.5 (a small product takes 4 us cold). It needs numpy. For another GPU: log
every kernel there (STAGES='outside every' log/reference/sweep.sh), set the rates in cuda/propose.c by `spmv probe`, --fit.
"""

import collections
import lzma
import math
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tables", "report"))
from common import EX_DATAERR, EX_NOINPUT, EX_UNAVAILABLE, Parser, Stop, load, run, say  # noqa: E402
from headline.classes import HALVES, listed_name, outside_list  # noqa: E402

PROGRAM = os.path.join(ROOT, "build", "omp", "bench_propose")
FEATURES = os.path.join(ROOT, "log", "reference", "features.txt.xz")
CLOSE, FAIR = 1.03, 1.10
# Seconds that the policy is charged for besides set-ups and products: sampling on one thread, and making a plan and its
# first launches.
SAMPLING_S = {"quick": 1e-4, "standard": 5e-4, "all": 1e-3}
PLAN_S = 1e-4
CALLS = (1000, None, 10, 100000)
LEAST_LAUNCHES = 1.5


def source_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def constants():
    """{name: number} of the constants of the policy."""
    text = source_of("src", "tune", "choice.c") + source_of("src", "tune", "trials.c")
    return {name: float(value) for name, value in re.findall(r"\b(\w+) = (-?\d[\d.e-]*)[,;]", text)}


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
    return found


def kernels_built():
    return set(re.findall(r"^KERNEL\((\w+)\)", source_of("cuda", "kernels.def"), re.MULTILINE))


class Case:
    """What a log holds of one matrix, precision and state."""

    def __init__(self, record):
        self.best = math.inf
        self.kernels = {}  # name: (seconds of a product, seconds of the set-up), with parameters of today's default
        self.chosen = {}  # expected number of products: kernel
        self.l2 = record.get("gpu.l2_B") or 0


def setup_of(record):
    known = record.get("prep.from_rows_s")
    parts = [record.get("prep." + part) or 0 for part in ("convert_s", "prepare_s", "h2d_s")]
    return sum(parts) if known is None else known


def cases_of(records, listed):
    """{(matrix, precision, cache): Case}, by deterministic kernels of ours that are still there."""
    built, cases, least = kernels_built(), {}, {}
    for record in records:
        if (record.get("status"), record.get("config.backend"), record.get("check.status")) != ("ok", "cuda", "ok"):
            continue
        kernel, seconds = record.get("config.kernel"), record.get("timing.median_s")
        matrix = listed_name(record.get("matrix.name") or "")
        where = (matrix, record.get("config.precision"), record.get("config.cache"))
        if kernel not in built or kernel.startswith("cusparse") or not record.get("config.deterministic") or not seconds:
            continue
        case = cases.setdefault(where, Case(record))
        if record.get("config.requested") == "auto":
            case.chosen[record.get("config.iters")] = kernel
            if matrix not in listed:  # other logs have few kernels by name
                case.kernels.setdefault(kernel, (seconds, 0))
            continue
        case.best = min(case.best, seconds)
        key = where[:2] + (kernel,)  # stores are kept from state to state: a later one may find it there
        least[key] = min(least.get(key, math.inf), setup_of(record))
        if record.get("config.params.codes") != 0:
            case.kernels[kernel] = (seconds, 0)
    for where, case in cases.items():
        case.kernels = {kernel: (seconds, least.get(where[:2] + (kernel,), 0))
                        for kernel, (seconds, _) in case.kernels.items()}
    return cases


def proposals_of(program, cases, features, depth_of):
    """{where: [{kernel, setup, speedup, term0...}]} by the library's model."""
    asked, lines = [], []
    for where, case in cases.items():
        line = features.get(where[:2] + (depth_of,))
        if line is None:
            continue
        words = words_of(line)
        width = 8 if where[1] == "f64" else 4
        size = int(words["nnz"]) * (width + 4) + (int(words["rows"]) + int(words["cols"])) * width
        evicted = where[2] != "warm" and size < 2 * case.l2
        asked.append(where)
        lines.append(f"{line} threads=16 cache={case.l2} evicted={int(evicted)}")
    try:
        done = subprocess.run([program, "cuda"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
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
    def __init__(self):
        self.__dict__.update(constants())

    def budget(self, calls):
        if calls is None:
            return self.budget_unknown_gpu
        third, hundredth = calls / 3, calls / 100
        return hundredth if hundredth > self.budget_most else min(max(third, 1), self.budget_most)

    def depth(self, calls):
        budget = self.budget(calls)
        return "all" if budget > self.budget_most else "standard" if budget >= 33 else "quick"

    def choose(self, proposals, case, calls):
        """The kernel, and all that were timed; (None, []): the baseline kernel is not in the log."""
        known = [p for p in sorted(proposals, key=lambda p: -p["speedup"]) if not p["kernel"].startswith("cusparse")]
        baseline = next((p for p in known if p["speedup"] == 0), None)
        if baseline is None or baseline["kernel"] not in case.kernels:
            return None, []
        budget = self.budget(calls)
        if budget < self.budget_to_convert:
            plain = [p["kernel"] for p in known if p["setup"] == 0 and p["speedup"] > 1 and p["kernel"] in case.kernels]
            kernel = (plain + [baseline["kernel"]])[0]
            return kernel, [kernel]
        product_s, setup_s = case.kernels[baseline["kernel"]]
        all_s = calls * product_s if calls else math.inf
        is_raised = calls or budget * product_s < self.short_s
        budget_s = max(budget * product_s, min(self.least_budget_s, all_s) if is_raised else 0)
        spent_s = SAMPLING_S[self.depth(calls)] + setup_s + PLAN_S + 3 * product_s
        return self.try_out(known, baseline, case, (budget_s, spent_s))

    def try_out(self, known, baseline, case, seconds):
        budget_s, spent_s = seconds
        product_s = case.kernels[baseline["kernel"]][0]
        admitted = []

        def is_affordable(p):
            if p["speedup"] == 0:
                return False
            products = p["setup"] * (p.get("baseline_s") or product_s) / product_s + 1 / p["speedup"]
            if not admitted and products <= self.cheap_setup * budget_s / product_s:
                return True
            return products + sum(1 / other["speedup"] for other in admitted) <= (budget_s - spent_s) / product_s

        for p in known:
            best = max([other["speedup"] for other in admitted], default=0)
            if (len(admitted) + 1 < 8 and p["kernel"] != baseline["kernel"] and p["speedup"] > self.worth_a_trial_gpu
                    and p["speedup"] >= self.least_of_best_gpu * best and is_affordable(p)):
                spent_s += PLAN_S
                if p["kernel"] in case.kernels:  # otherwise it could not be built there
                    spent_s += case.kernels[p["kernel"]][1]
                    admitted.append(p)
        tried = [baseline["kernel"]] + [p["kernel"] for p in admitted]
        return min(tried, key=lambda k: case.kernels[k][0] * (1 - self.tie if k == baseline["kernel"] else 1)), tried


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

    def __init__(self, program, cases, features):
        self.policy, self.cases = Policy(), cases
        self.proposals = {depth: proposals_of(program, cases, features, depth) for depth in SAMPLING_S}

    def choose(self, where, calls):
        proposals = self.proposals[self.policy.depth(calls)].get(where)
        return self.policy.choose(proposals, self.cases[where], calls) if proposals else (None, [])

    def regret(self, where, kernel):
        case = self.cases[where]
        return case.kernels[kernel][0] / case.best


def compare(replays, cases, halves, verbose):
    heads = ["replayed", "in the log", "same/close"] + (["against"] if len(replays) > 1 else [])
    yield f"{'products':>9} {'state':12} {'half':9} {'n':>3} " + " ".join(f"{head:>22}" for head in heads) + "  trials"
    states = sorted({where[1:] for where in cases}, key=lambda state: (state[0] != "f64", state))
    for calls in CALLS:
        for state in states:
            for half in HALVES:
                yield from line_of(replays, calls, state, half, halves, verbose)


def line_of(replays, calls, state, half, halves, verbose):
    mine, rows, timed = replays[0], [], 0
    for where, case in mine.cases.items():
        if where[1:] != state or halves.get(where[0]) != half:
            continue
        chosen = [replay.choose(where, calls) for replay in replays]
        if any(kernel is None for kernel, _ in chosen):
            continue
        logged = case.chosen.get(calls)
        rows.append((mine.regret(where, chosen[0][0]), where, chosen, logged if logged in case.kernels else None))
        timed += len(chosen[0][1])
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
           + " ".join(f"{column:>22}" for column in columns) + f"  {timed / len(rows):6.1f}")
    for regret, where, chosen, _ in sorted(rows, reverse=True, key=lambda row: row[0])[:verbose]:
        if regret > CLOSE:
            best = min(mine.cases[where].kernels, key=lambda k: mine.cases[where].kernels[k][0])
            yield f"{'':12}{regret:5.2f} {where[0]}: {chosen[0][0]} of {', '.join(chosen[0][1])}; best {best}"


# ---- fitting -------------------------------------------------------------------------------------


def least_squares(rows, seconds, launch_s):
    """Factors that are not negative, of least squared error relative to the geometric mean of time and prediction."""
    import numpy  # only who fits needs it

    terms, times = numpy.array(rows), numpy.array(seconds)
    fixed, weights = numpy.zeros(terms.shape[1]), 1 / times
    for _ in range(20):
        free = [k for k in range(terms.shape[1]) if fixed[k] == 0 and terms[:, k].any()]
        rest = times - terms @ fixed
        for _ in range(4):
            factors = fixed.copy()
            factors[free] = numpy.linalg.lstsq(terms[:, free] * weights[:, None], rest * weights, rcond=None)[0]
            weights = 1 / numpy.sqrt(times * numpy.maximum(terms @ factors, launch_s))
        negative = [k for k in free if k > 0 and factors[k] < 0]
        if negative:
            terms[:, min(negative, key=lambda k: factors[k])] = 0
        elif factors[0] < LEAST_LAUNCHES and fixed[0] == 0:
            fixed[0] = LEAST_LAUNCHES
        else:
            break
    errors = numpy.log(terms @ factors / times)
    return factors, errors.std(), abs(errors).max()


def samples_of(cases, proposals, halves, kernel):
    """(terms, seconds of a product) of what may be fitted on."""
    rows, seconds = [], []
    for where, case in cases.items():
        for p in proposals.get(where, ()):
            if p["kernel"] == kernel and kernel in case.kernels and halves.get(where[0]) != "held-out":
                rows.append([value for name, value in p.items() if name.startswith("term")])
                seconds.append(case.kernels[kernel][0])
                break
    return rows, seconds


def setups_of(cases, features, proposals, kernel, halves):
    """([1, nonzeros], seconds of a set-up) where the kernel is proposed."""
    found = {}
    for where, case in cases.items():
        if case.kernels.get(kernel, (0, 0))[1] > 0 and halves.get(where[0]) == "tune":
            if any(p["kernel"] == kernel for p in proposals.get(where, ())):
                nonzeros = words_of(features[where[:2] + ("standard",)])["nnz"]
                found[where[:2]] = ([1.0, float(nonzeros)], case.kernels[kernel][1])
    return [row for row, _ in found.values()], [seconds for _, seconds in found.values()]


def fit(program, cases, features, halves):
    """The lines of cost.def."""
    import numpy

    proposals = proposals_of(program, cases, features, "all")
    names = re.findall(r"^COST\((\w+),", source_of("cuda", "cost.def"), re.MULTILINE)
    for kernel in names:
        rows, seconds = samples_of(cases, proposals, halves, kernel)
        if not rows:
            yield f"/* {kernel}: not in these logs */"
            continue
        launch_s = rows[0][0]
        factors, scatter, worst = least_squares(rows, seconds, launch_s)
        setup, text = (0, 0), ""
        per, took = setups_of(cases, features, proposals, kernel, halves)
        if took and min(took) > 2e-5:
            matrix, times = numpy.array(per), numpy.array(took)
            setup = numpy.linalg.lstsq(matrix / times[:, None], numpy.ones(len(times)), rcond=None)[0]
            setup = setup if setup.min() >= 0 else numpy.array([numpy.exp(numpy.log(times).mean()), 0])
            off = numpy.log(matrix @ setup / times)
            text = f"; set-up {off.std():.2f} of {len(times)}"
        yield (f"COST({kernel}, {', '.join(f'{factor:.3g}' for factor in factors)}, {setup[0]:.2g}, {setup[1]:.2g}) "
               f"/* {len(rows)} products: scatter {scatter:.2f}, worst {worst:.2f}{text} */")


def main(arguments):
    parser = Parser(prog="replay.py", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("logs", nargs="+", metavar="LOG", help="logs that hold nearly every kernel")
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
    features, cases = read_features(options.features), cases_of(records, halves)
    if not any(where[0] in halves and where[:2] + ("standard",) in features for where in cases):
        raise Stop(EX_DATAERR, "these logs hold no GPU's kernel on a matrix of the outside set whose features are known")
    if options.fit:
        for line in fit(options.program, cases, features, halves):
            print(line)
        return 0
    programs = [options.program] + ([options.against] if options.against else [])
    replays = [Replay(program, cases, features) for program in programs]
    for line in compare(replays, cases, halves, options.verbose):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(run("replay.py", main, sys.argv[1:]))
