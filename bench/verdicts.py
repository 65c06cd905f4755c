#!/usr/bin/env python3
"""Measures how often `spmv compare` is wrong, and whether it finds a kernel slowed by 10 %, on this machine.

    python3 bench/verdicts.py             100, 20 and 20 comparisons, as below
    python3 bench/verdicts.py --few       10, 3 and 3
    python3 bench/verdicts.py --plain     the last of the three only

1. A binary with itself, beside a busy process: how many logs compare as FASTER or SLOWER (at most 1 of 100).
2. The binary with one slowed by 10 %, beside a busy process, by --ab: how often every row is SLOWER (all of 20).
3. The same by plain compare of settled logs, without the busy process (at least 18 of 20). Where a row did not
   settle, or was disturbed, the pair is measured again, three times as many in all at most.

--seconds=S ends the last after S seconds, with what was counted, and --keep=FOLDER keeps its logs. SPMV names the binary (./spmv). The slowed one is the same under a clock that runs 1.1 times as fast (slow.c). Words
after -- are run instead of the usual ones. Exit status 1 if a bar is missed."""

import argparse
import csv
import io
import contextlib
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tables", "report"))
import compare  # noqa: E402
from common import load  # noqa: E402

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
    subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-O2", "-o", library, os.path.join(ROOT, "bench", "slow.c")],
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


def settled(path):
    """Says whether every row of a log was settled and undisturbed, so that a verdict can be expected."""
    return not any(unit.noisy or unit.disturbed for unit in map(compare.unit_of, load([path])[0]))


def plain_comparisons(folder, slow, words, many, seconds):
    """Returns how many pairs of settled logs have every row SLOWER, how many settled, and the same two of all pairs."""
    end, results = time.monotonic() + seconds, []
    while sum(sound for sound, _ in results) < many and len(results) < 3 * many and time.monotonic() < end:
        paths = [log(binary, os.path.join(folder, f"{len(results):02}{side}.jsonl"), *words)
                 for side, binary in (("a", SPMV), ("b", slow))]
        results.append((all(map(settled, paths)), set(verdicts(*paths)) == {"SLOWER"}))
    return sum(map(all, results)), sum(sound for sound, _ in results), sum(found for _, found in results), len(results)


def in_disturbance(folder, slow, words, many, turns):
    """Runs the first two of the three, and says whether their bars were met."""
    with busy():
        false, rows = self_comparisons(folder, words, many)
        print(f"1. itself beside a busy process: {false} of {many} comparisons with a false verdict; rows: {rows}", flush=True)
        found = sum(set(verdicts("--ab", SPMV, slow, "--", *words)) == {"SLOWER"} for _ in range(turns))
        print(f"2. slowed by 10 %, --ab beside a busy process: found in {found} of {turns}", flush=True)
    return false <= many // 100 and found == turns


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--keep", metavar="FOLDER")
    parser.add_argument("words", nargs="*", default=WORDS)
    options = parser.parse_args()
    many, turns = (10, 3) if options.few else (100, 20)
    with tempfile.TemporaryDirectory() as folder:
        slow = slowed(folder)
        met = options.plain or in_disturbance(folder, slow, options.words, many, turns)
        found, settled_pairs, of_all, pairs = plain_comparisons(
            options.keep or folder, slow, options.words, turns, options.seconds)
        print(f"3. slowed by 10 %, plain compare: found in {found} of {settled_pairs} pairs of settled logs, "
              f"and in {of_all} of all {pairs}", flush=True)
    return 0 if met and settled_pairs == turns and found >= 0.9 * turns else 1


if __name__ == "__main__":
    sys.exit(main())
