#!/usr/bin/env python3
"""kills.py BUILT COUNT: kills one of several ranks at a random moment, COUNT times. All of them must end within 5 s, with a text and an
exit code that is not 0, and no record may say ok. A seed draws the MPI, the ranks, the matrix, the rank, the signal and the moment, and is
printed where something fails: SEED=N repeats that one. Stopped, it goes on where it was (BUILT/kills.json). The last line has the counts."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

LIMIT = 5  # seconds from the kill until all have ended
LONGEST = 2.5  # seconds from the start of the rank to the kill: MPI begins, the matrix is read, kernels are chosen, products are timed
# Each rank writes its number and the time before it becomes the program.
RANK = 'echo $$ >"$0/new.$$" && mv "$0/new.$$" "$0/${PMI_RANK-${OMPI_COMM_WORLD_RANK-}}.pid"; exec "$@"'
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMP_WAIT_POLICY": "passive"}


def is_there(pid):
    """Says whether the process runs: one that has ended and waits for its parent does not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def matrices(program, folder):
    """Generated, plain and compressed; it takes ranks some tenths of a second to read the files."""
    plain = folder / "large.mtx"
    subprocess.run([program, "-m", "gen:random:200000:8", f"--write={plain}", "-k", "csr_rows", "-q", "--no-log", "--min-time=0", "--max-time=0"],
                   check=True, capture_output=True, timeout=120)
    subprocess.run(["gzip", "-1k", plain], check=True, timeout=120)
    return ["gen:poisson2d:100", "gen:random:200000:8", str(plain), f"{plain}.gz"]


class Case:
    def __init__(self, seed, mpis, sources):
        draw = random.Random(seed)
        self.mpi, self.ranks, self.source = draw.choice(mpis), draw.randint(2, 4), draw.choice(sources)
        self.victim = draw.randrange(self.ranks)
        self.signal = draw.choice([signal.SIGKILL, signal.SIGTERM])
        self.moment = draw.uniform(0, LONGEST)
        self.words = draw.choice([["-k", "csr_rows"], ["-k", "auto", "--iters=1000"], ["-k", "csr_rows", "--halo=replicate", "--vectors=4", "--layout=rows"]])

    def __str__(self):
        return (f"{self.mpi}, {self.ranks} ranks, {pathlib.Path(self.source).name} {' '.join(self.words)}: {self.signal.name} to rank "
                f"{self.victim} after {self.moment:.3f} s")

    def run(self, program, folder):
        """(seconds until all had ended, what is wrong)"""
        log = folder / "log.jsonl"
        log.unlink(missing_ok=True)
        for file in folder.glob("*.pid"):
            file.unlink()
        with open(folder / "said", "w+", encoding="utf-8", errors="replace") as said:
            launcher = subprocess.Popen([f"mpiexec.{self.mpi}", "-n", str(self.ranks), "sh", "-c", RANK, folder, program, "-m", self.source,
                                         *self.words, "--min-time=40", "--max-time=40", "--log", log], stdout=said, stderr=said,
                                        env=ENVIRONMENT)
            started = [folder / f"{rank}.pid" for rank in range(self.ranks)]
            try:
                if not wait_until(started[self.victim].exists, 20):
                    return 0, ["the rank did not start"]
                time.sleep(self.moment)
                victim = int(started[self.victim].read_text(encoding="utf-8"))
                if not is_there(victim):
                    return 0, ["it had ended before"]
                os.kill(victim, self.signal)
                begin = time.monotonic()
                pids = []
                ended = wait_until(lambda: launcher.poll() is not None, LIMIT)
                if ended:
                    pids = [int(file.read_text(encoding="utf-8")) for file in started if file.exists()]
                    ended = wait_until(lambda: not any(is_there(pid) for pid in pids), LIMIT - (time.monotonic() - begin))
                seconds = time.monotonic() - begin
            finally:
                if launcher.poll() is None:
                    launcher.terminate()
                    if not wait_until(lambda: launcher.poll() is not None, 5):
                        launcher.kill()
                    launcher.wait()
            said.seek(0)
            text = said.read()
        wrong = [] if ended else [f"not all had ended after {LIMIT} s"]
        if launcher.returncode == 0:
            wrong.append("exit code 0")
        if not text.strip():
            wrong.append("nothing was said")
        if log.exists() and '"status":"ok"' in log.read_text(encoding="utf-8"):
            wrong.append("a record says ok")
        return seconds, wrong + ([text[-2000:]] if wrong else [])


def main():
    built, count = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])
    program, state = built / "spmv", built / "kills.json"
    mpis = [mpi for mpi in ("mpich", "openmpi") if (built / f"libspmv_{mpi}.so").exists() and shutil.which(f"mpiexec.{mpi}")]
    if not mpis:
        sys.exit("kills.py: no MPI")
    now = {"seed": 1, "left": 0, "times": [], "failed": 0}
    if state.exists():
        now = json.loads(state.read_text(encoding="utf-8"))
    if now["left"] <= 0 or now["left"] > count:
        now.update(left=count, times=[], failed=0)
    only = os.environ.get("SEED")
    if only:
        now = {"seed": int(only), "left": 1, "times": [], "failed": 0}
    with tempfile.TemporaryDirectory() as folder:
        sources = matrices(program, pathlib.Path(folder))
        while now["left"] > 0:
            case = Case(now["seed"], mpis, sources)
            seconds, wrong = case.run(program, pathlib.Path(folder))
            if wrong:
                print(f"FAIL seed {now['seed']}: {case}:", *wrong, sep="\n     ", flush=True)
            now.update(seed=now["seed"] + 1, left=now["left"] - 1, times=now["times"] + [round(seconds, 3)], failed=now["failed"] + bool(wrong))
            if not only:
                state.write_text(json.dumps(now), encoding="utf-8")
    times = sorted(now["times"])
    print(f"kills: seeds {now['seed'] - len(times)} to {now['seed'] - 1}; until all had ended {times[len(times) // 2]:.2f} s in the median, "
          f"{times[-1]:.2f} s at most")
    print(f"{len(times) - now['failed']} passed, {now['failed']} failed")
    sys.exit(now["failed"] > 0)


if __name__ == "__main__":
    main()
