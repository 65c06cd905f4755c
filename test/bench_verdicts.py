#!/usr/bin/env python3
"""Measures how often `spmv compare` is wrong, and whether it finds a kernel slowed by 10 %, on this machine.

    python3 test/bench_verdicts.py             100, 20 and 20 comparisons, as below
    python3 test/bench_verdicts.py --few       10, 3 and 3

1. A binary with itself, beside a busy process: how many logs compare as FASTER or SLOWER (at most 1 of 100).
2. The binary with one slowed by 10 %, beside a busy process, by --ab: how often every row is SLOWER (all of 20).
3. The same by plain compare of settled logs, without the busy process (at least 18 of 20).

SPMV names the binary (./spmv). The slowed one is the same under a clock that runs 1.1 times as fast (slow.c). Words
after -- are run instead of the usual ones. Exit status 1 if a bar is missed."""

import csv
import io
import contextlib
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tables", "report"))
import compare  # noqa: E402

SPMV = os.path.abspath(os.environ.get("SPMV", os.path.join(ROOT, "spmv")))
WORDS = ["-m", "gen:poisson3d:40", "-k", "csr_rows,csr_balanced,csell_slices"]


def verdicts(*words):
    """The verdicts of a comparison."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as talk:
        if compare.main(["--format=csv", *words]):
            sys.exit(talk.getvalue())
    return [row["verdict"] for row in csv.DictReader(io.StringIO(out.getvalue()))]


def log(binary, path, *words):
    """A log of one run."""
    if os.path.exists(path):
        os.remove(path)
    subprocess.run([binary, *words, "-q", f"--log={path}"], stdout=subprocess.DEVNULL, check=True)
    return path


def slowed(folder):
    """A program that runs the binary under a faster clock."""
    library, script = (os.path.join(folder, name) for name in ("slow.so", "slowed"))
    subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-O2", "-o", library, os.path.join(ROOT, "test", "slow.c")],
                   check=True)
    with open(script, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nSLOW=1.1 LD_PRELOAD={library} exec {SPMV} "$@"\n')
    os.chmod(script, 0o755)
    return script


@contextlib.contextmanager
def busy():
    """A process that takes one core."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            yield
        finally:
            process.kill()


def self_comparisons(folder, words, many):
    """Counts how many comparisons of the binary with itself have a false verdict, and how many rows had which."""
    false, rows = 0, []
    short = ("--min-time=0.05", "--max-time=0.3")
    paths = [os.path.join(folder, name) for name in ("a.jsonl", "b.jsonl")]
    for _ in range(many):
        found = verdicts(*(log(SPMV, path, *words, *short) for path in paths))
        false += any(word in ("FASTER", "SLOWER") for word in found)
        rows += found
    return false, {word: rows.count(word) for word in sorted(set(rows))}


def main():
    arguments = sys.argv[1:]
    few = "--few" in arguments
    words = arguments[arguments.index("--") + 1:] if "--" in arguments else WORDS
    many, turns = (10, 3) if few else (100, 20)
    with tempfile.TemporaryDirectory() as folder:
        slow = slowed(folder)
        with busy():
            false, rows = self_comparisons(folder, words, many)
            print(f"1. itself beside a busy process: {false} of {many} comparisons with a false verdict; rows: {rows}", flush=True)
            found = sum(set(verdicts("--ab", SPMV, slow, "--", *words)) == {"SLOWER"} for _ in range(turns))
            print(f"2. slowed by 10 %, --ab beside a busy process: found in {found} of {turns}", flush=True)
        paths = [os.path.join(folder, name) for name in ("a.jsonl", "b.jsonl")]
        plain = sum(set(verdicts(log(SPMV, paths[0], *words), log(slow, paths[1], *words))) == {"SLOWER"} for _ in range(turns))
        print(f"3. slowed by 10 %, plain compare: found in {plain} of {turns}", flush=True)
    return 0 if false <= many // 100 and found == turns and plain >= 0.9 * turns else 1


if __name__ == "__main__":
    sys.exit(main())
