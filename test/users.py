#!/usr/bin/env python3
"""users.py BUILD [JOB]: the jobs of a user of a GPU, each as it would be typed. A job prints the seconds and the text of every
command, and what it leaves out by name; exit status 1: a command did not do what it should. Without JOB the jobs are listed.
Matrices are small in build/emulated, where FEW=1 lists those jobs alone that start processes."""
import collections
import importlib.util
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(sys.argv[1]).resolve()
EMULATED = "emulated" in BUILD.name
SIZES = {"poisson2d": 8, "poisson3d": 4, "mesh": 60} if EMULATED else {"poisson2d": 300, "poisson3d": 60, "mesh": 60000}
QUICK = {"SPMV_MIN_TIME": "0", "SPMV_MAX_TIME": "0" if EMULATED else "0.01", "SPMV_SAMPLES": "1"}
LONGEST_S = 240


class Failed(Exception):
    pass


def judge(well, what):
    if not well:
        raise Failed(what)


class User:
    """A folder in which commands are typed, as in a clone that was built."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "log").mkdir()
        (self.folder / "spmv").symlink_to(BUILD / "spmv")
        for name in "docs", "src", "tables":
            (self.folder / name).symlink_to(ROOT / name)
        (self.folder / "FILE.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 3\n2 2 4\n", encoding="ascii")
        self.environment = os.environ | {"SPMV_PROBE": str(self.folder / "probe"), "SPMV_LIBRARY": str(BUILD / "libspmv.so"),
                                         "PYTHONPATH": str(ROOT / "src/bindings/python")}
        features = self.start("./spmv -V -v").communicate()[0]
        self.has_log = re.search(r"^features.*\bjansson\b", features, re.M) is not None

    def start(self, line, **environment):
        """stderr comes with stdout. A shell in the background ignores SIGINT, and what it starts would."""
        self.process = subprocess.Popen(["sh", "-c", "exec " * line.startswith("./") + line], cwd=self.folder, env=self.environment | environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        return self.process

    def leave(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()

    def type(self, line, says="", codes=(0,), stop_after=None, **environment):
        """The command says what the pattern matches. stop_after: seconds until Ctrl-C."""
        begun = time.monotonic()
        process = self.start(line, **environment)
        try:
            said = process.communicate(timeout=stop_after or LONGEST_S)[0]
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT if stop_after else signal.SIGKILL)
            said = process.communicate()[0]
        self.typed(line, begun)
        judge(process.returncode in codes and re.search(says, said, re.M),
              f"{line}\nexit {process.returncode} instead of {codes}, or it does not say '{says}':\n{said[-3000:]}")

    def typed(self, line, begun):
        print(f"     {time.monotonic() - begun:5.1f} s  {line}", flush=True)

    def records(self, log):
        return [json.loads(line) for line in (self.folder / log).read_text(encoding="utf-8").splitlines()]


def leave_out(what, why):
    print(f"     left out: {what}: {why}", flush=True)


def matrices(*names):
    return " ".join(f"gen:{name}:{SIZES[name]}" for name in names)


def smaller(line):
    return re.sub(r"gen:(\w+):\d+", lambda found: f"gen:{found[1]}:{SIZES[found[1]]}", line)


# ---- jobs -------------------------------------------------------------------------------------------------------------------


def documents(user):
    """The commands of README, guide and how-to, with short times."""
    sys.path.insert(0, str(ROOT / "test/python"))
    from test_documents import lines_of
    pages = ["README.md", "docs/guide/first_hour.md", "docs/howto/measure.md"]
    seen = set()
    for line in (line.rpartition("make && ")[2] for page in pages for line in lines_of(ROOT / page)):
        if not re.match(r"(\w+=\S+ )*\./spmv\b", line):
            continue
        words = shlex.split(line, comments=True)
        if line in seen:
            continue
        seen.add(line)
        if not user.has_log and (" log/" in line or "sweep" in words):
            leave_out(line, "built without jansson")
        elif EMULATED and words[1:2] == ["-k"] and "gen:" not in line:  # the matrix by default
            leave_out(line, "takes long in the emulator")
        elif "probe" in words:
            continue  # limits
        else:
            user.type(smaller(line) if EMULATED else line, **QUICK)


def sweeps(user):
    """Each row is measured in a process that the sweep forks."""
    where = "--log log/sweep.jsonl" if user.has_log else "--no-log"
    for kernels, count in ("cuda:csr_warp", 1), ("auto", 1), ("omp:csr_rows,cuda:csr_warp", 2):
        user.type(f"./spmv sweep {matrices('poisson2d', 'mesh')} -k {kernels} {where}",
                  rf"^{2 * count} ok, 0 skipped, 0 wrong, 0 failed, 0 reused\.? ?(log/\S+ \(\+{2 * count}\))?$", **QUICK)
    log = "log/sweep.jsonl"
    if user.has_log:
        kernels = collections.Counter((r["config"]["backend"], r["status"]) for r in user.records(log))
        judge(kernels == {("cuda", "ok"): 6, ("omp", "ok"): 2}, f"{log} has {kernels}")
    else:
        leave_out(f"{log}, which the reference's log stands for", "built without jansson")
        log = ROOT / "log/reference/h200-prep.jsonl"
    user.type(f"./spmv table {log} --mean", "geometric mean")
    user.type(f"./spmv report {log} -o report.html --no-charts")
    user.type(f"./spmv compare {log} {log}", "nothing to compare")


def interrupted(user):
    """Ctrl-C in the midst of a sweep, which goes on with --resume: no row is lost, and none is there twice."""
    rows, times = 6, "--min-time=0 --max-time=0 --samples=100" if EMULATED else "--min-time=0.5 --max-time=1 --max-noise=0%"
    line = (f"./spmv sweep {matrices('poisson2d', 'poisson3d', 'mesh')} -k cuda:csr_warp,cuda:ell_thread {times} "
            f"{'--log log/sweep.jsonl' if user.has_log else '--no-log'}")
    begun = time.monotonic()
    process, said = user.start(line), ""
    for piece in process.stdout:
        said += piece
        if piece.startswith("[   1/"):  # the first row is done
            time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            break
    said += process.communicate()[0]
    user.typed(f"{line}   # Ctrl-C", begun)
    counts = re.search(r"^(\d+) ok, 0 skipped, 0 wrong, 0 failed, 0 reused, (\d+) not run", said, re.M)
    done = int(counts[1]) if counts else 0
    judge(process.returncode == 130 and 0 < done < rows and int(counts[2]) == rows - done,
          f"{line}\nexit {process.returncode} after Ctrl-C:\n{said[-3000:]}")
    if not user.has_log:
        return leave_out("spmv sweep --resume", "built without jansson: no log")
    logged = len(user.records("log/sweep.jsonl"))
    judge(logged == done, f"{line}\n{done} rows are done, and the log has {logged}:\n{said[-3000:]}")
    user.type(f"{line} --resume", rf"^{rows - done} ok, 0 skipped, 0 wrong, 0 failed, {done} reused\. log/\S+ \(\+{rows - done}\)$")
    user.type(f"{line} --resume", rf"^0 ok, 0 skipped, 0 wrong, 0 failed, {rows} reused\. log/\S+ \(\+0\)$")
    found = collections.Counter((r["matrix"]["name"], r["config"]["kernel"], r["status"]) for r in user.records("log/sweep.jsonl"))
    judge(len(found) == rows and set(found.values()) == {1} and {key[2] for key in found} == {"ok"}, f"log/sweep.jsonl has {found}")


def versions(user):
    """Two builds in turns, of which each run is a process; here they are the same one."""
    if not user.has_log:
        return leave_out("spmv compare --ab", "built without jansson: no log")
    times = "--min-time=0 --max-time=0 --samples=3" if EMULATED else "--max-time=0.05"
    user.type(f"./spmv compare --ab ./spmv ./spmv -- -m {matrices('poisson2d')} -k cuda:csr_warp {times}", "csr_warp",
              codes=(0, 130), stop_after=40)


def limits(user):
    """What the machine can do at best, which rows are then compared with. Of the emulated GPU that would take hours."""
    user.type("./spmv doctor --probe")
    user.type(f"./spmv -m {matrices('poisson2d')} -k cuda:csr_warp --no-log", r"\bgather\b", COLUMNS="200", **QUICK)


FIRST = """import numpy as np, scipy.sparse, spmv
S = scipy.sparse.random(2000, 3000, 0.01, "csr", random_state=1)
x = np.random.default_rng(2).random(3000)
"""
CHILD = FIRST + """import os, time
A = spmv.matrix(S)
A.plan(kernel="cuda:csr_warp")
child = os.fork()
time.sleep(0.2)  # for longer what is free on the GPU is not remembered
for B in () if child else (A, spmv.matrix(S)):
    try:
        B.plan(kernel="cuda:ell_thread")
        os._exit(2)
    except spmv.Error as error:
        print(error, flush=True)
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0, "the child was not refused a GPU"
A.plan(kernel="cuda:ell_thread")
"""


def python(user):
    """The first example as it is printed, arrays of other packages on the GPU, and what a forked child is told."""
    if not importlib.util.find_spec("scipy"):
        return leave_out("Python", "no SciPy")
    page = (ROOT / "src/bindings/python/README.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```", page, re.S)[1]
    if EMULATED:
        example = example.replace("1_000_000", "1000")
    programs = {"first.py": example + "assert np.abs(y - S @ np.ones(n)).max() < 1e-12\n"}
    if importlib.util.find_spec("cupy") and not EMULATED:
        programs["on_cupy.py"] = FIRST + ("import cupy\nA = spmv.matrix(S)\nA.plan(expected=1000, kernel='cuda:auto')\n"
                                          "y = A @ cupy.asarray(x)\nassert np.abs(y.get() - S @ x).max() < 1e-12\n")
    else:
        leave_out("CuPy's arrays", "no CuPy")
    if importlib.util.find_spec("torch") and not EMULATED:
        programs["on_torch.py"] = FIRST + ("import torch\nA = spmv.matrix(S)\ny = A @ torch.asarray(x, device='cuda')\n"
                                           "assert np.abs(y.cpu().numpy() - S @ x).max() < 1e-12\n")
    else:
        leave_out("PyTorch's tensors", "no PyTorch")
    for name, text in programs.items():
        (user.folder / name).write_text(text, encoding="utf-8")
        user.type(f"{shlex.quote(sys.executable)} {name}")
    if "on_cupy.py" in programs:
        user.type(f"{shlex.quote(sys.executable)} docs/examples/cg_gpu.py 300", "error")


def forked(user):
    """A child of a process that has used the GPU is told why it cannot."""
    if not importlib.util.find_spec("scipy"):
        return leave_out("Python", "no SciPy")
    (user.folder / "forked.py").write_text(CHILD, encoding="utf-8")
    user.type(f"{shlex.quote(sys.executable)} -W ignore forked.py", "(?s)(forked after its parent had used CUDA.*){2}")


JOBS = {job.__name__: job for job in (sweeps, interrupted, documents, versions, limits, python, forked)}
EMULATED_JOBS, FEW_JOBS = ("sweeps", "interrupted", "documents", "versions", "python", "forked"), ("sweeps", "interrupted", "forked")


def main():
    if len(sys.argv) < 3:
        few = EMULATED and os.environ.get("FEW")
        return print("\n".join(FEW_JOBS if few else EMULATED_JOBS if EMULATED else JOBS)) or 0
    signal.signal(signal.SIGTERM, lambda which, _: sys.exit(128 + which))
    with tempfile.TemporaryDirectory() as folder:
        user = User(folder)
        try:
            JOBS[sys.argv[2]](user)
        except Failed as failure:
            return print(f"FAIL {failure}") or 1
        finally:
            user.leave()
    return 0


if __name__ == "__main__":
    sys.exit(main())
