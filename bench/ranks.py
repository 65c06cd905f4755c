#!/usr/bin/env python3
"""bench/ranks.py PROGRAM LOG: products over ranks beside one process, in turns: 1 process of 2 threads, 2 ranks of 1 thread, 4 ranks of 1
thread on two cores, of every MPI that is here. LOG gets the records; what it has already is not measured again. Then its times are printed:
the least of all rounds, since others use the machine too; and the bars. THREADS=16 RANKS='4x4' is one process of 16 threads beside 4 ranks
of 4 threads. ROUNDS=8, TIME='--min-time=0.2 --max-time=0.6', MATRICES='gen:...' change it; ROUNDS=0 prints LOG alone."""
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys

MATRICES = os.environ.get("MATRICES", "gen:poisson2d:1000 gen:poisson3d:100 gen:box27:70 gen:fem3d:36 gen:mesh:1000000 gen:random:1000000:8 "
                          "gen:rmat:18:16 gen:powerlaw:1000000:8 gen:banded:60000:201").split()
TIME = os.environ.get("TIME", "--min-time=0.2 --max-time=0.6").split()
THREADS = os.environ.get("THREADS", "2")  # threads of the single process
RANKS = os.environ.get("RANKS", "2 4").split()  # or ranks x threads of each
BARS = {"2": 0.95, "4": 0.6, "4x4": 0.9}  # over one process that has as many threads as there are cores
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def ways(program):
    """(mpi, ranks or ranks x threads) of each way, None for one process without MPI."""
    mpis = [mpi for mpi in ("mpich", "openmpi")
            if (program.parent / f"libspmv_{mpi}.so").exists() and shutil.which(f"mpiexec.{mpi}")]
    return [(None, None), *((mpi, ranks) for mpi in mpis for ranks in RANKS)]


def name_of(mpi, ranks):
    return f"{mpi}:{ranks}" if mpi else "alone"


def measure(program, matrix, mpi, ranks, turn, log):
    count, _, threads = ranks.partition("x") if mpi else ("1", "x", THREADS)
    threads = threads or "1"
    launcher = [f"mpiexec.{mpi}", "-n", count] if mpi else []
    words = ["-m", matrix, "-k", "auto", "-t", threads, "--iters=1000", *TIME, "--quiet", "--log", str(log),
             f"--tag=way={name_of(mpi, ranks)}", f"--tag=round={turn}", "--format=csv"]
    done = subprocess.run([*launcher, program, *words], env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        sys.exit(f"bench/ranks.py: {' '.join([*launcher, 'spmv', *words])}: exit code {done.returncode}\n{done.stderr}")


def records_of(log):
    if not log.exists():
        return []
    with open(log, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def least(records):
    """{(matrix, way): (least median, least sample)} in seconds, of records that are right."""
    out = {}
    for r in records:
        key = r["matrix"]["source"], r["tags"]["way"]
        found = r["timing"]["median_s"], r["timing"]["min_s"]
        out[key] = tuple(map(min, found, out[key])) if key in out else found
    return out


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def show(records):
    wrong = [r for r in records if r["status"] != "ok"]
    times = least(r for r in records if r["status"] == "ok")
    names = sorted({way for _, way in times} - {"alone"})
    matrices = [m for m in dict.fromkeys(m for m, _ in times) if all((m, way) in times for way in ["alone", *names])]
    rounds = len({r["tags"]["round"] for r in records})
    print(f"Times of one process of {THREADS} threads over those of ranks, the least of {rounds} rounds: medians (samples)")
    print(f"{'matrix':24} {'alone':>12}" + "".join(f" {name:>14}" for name in names))
    ratios = {name: ([], []) for name in names}
    for matrix in matrices:
        line = f"{matrix.removeprefix('gen:'):24} {1e3 * times[matrix, 'alone'][0]:9.3f} ms"
        for name in names:
            both = [a / b for a, b in zip(times[matrix, "alone"], times[matrix, name])]
            for kept, ratio in zip(ratios[name], both):
                kept.append(ratio)
            line += f"    {both[0]:.2f} ({both[1]:.2f})"
        print(line)
    if matrices:
        print(f"{'geometric mean':37}" + "".join(f"    {geometric_mean(m):.2f} ({geometric_mean(s):.2f})" for m, s in ratios.values()))
    missed = len(wrong)
    for name in names:
        bar = BARS.get(name.partition(":")[2], 0)
        mean = geometric_mean(ratios[name][0]) if matrices else 0
        missed += mean < bar
        print(f"{'MISSED' if mean < bar else 'met   '} {name}: {mean:.2f} in the mean, the bar is {bar or 'none'}")
    if wrong:
        print(f"{len(wrong)} records are not ok: {wrong[0]['status']}, {wrong[0]['reason']}")
    return missed > 0


def main():
    program, log = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    have = {(r["matrix"]["source"], r["tags"]["way"], r["tags"]["round"]) for r in records_of(log)}
    for turn in range(int(os.environ.get("ROUNDS", "8"))):
        for matrix in MATRICES:
            for mpi, ranks in ways(program):
                if (matrix, name_of(mpi, ranks), str(turn)) not in have:
                    measure(program, matrix, mpi, ranks, turn, log)
    return show(records_of(log))


if __name__ == "__main__":
    sys.exit(main())
