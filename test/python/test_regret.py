#!/usr/bin/env python3
"""Tests of tables/auto/regret.py on tiny logs."""

import contextlib
import glob
import io
import os
import sys
import unittest

from logfixture import ROOT, TablesTest, record
sys.path.insert(0, os.path.join(ROOT, "tables", "auto"))
import regret  # noqa: E402  (found only after the path is set)
from common import Stop  # noqa: E402

TUNE = next(name for name, place in regret.outside_list().items() if place.half == "tune")
HELD_OUT = next(name for name, place in regret.outside_list().items() if place.half == "held-out")


def run_of(matrix, kernel, median, **changes):
    return record(median, 0.001, **{"config__backend": "omp", "config__kernel": kernel, "config__requested": kernel,
                                    "config__precision": "f64", "config__cache": "cold", "config__deterministic": True,
                                    "omp": {"threads": 2}, "config__threads": 2, "matrix__name": matrix, "matrix__hash": matrix, **changes})


def turns(matrix, kernel, seconds, **changes):
    """A record of eight rounds, of which the third was disturbed for all."""
    return run_of(matrix, kernel, seconds, **{"run_id": matrix, "timing__group": 1, "timing__wall_s": 1, "timing__waited_s": 0,
                                              "timing__turns_s": [seconds * (5 if n == 2 else 1) for n in range(8)], **changes})


class BesideTest(TablesTest):

    def lines(self, records, *options):
        path = self.write("log.jsonl", *records)
        with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.redirect_stderr(io.StringIO()) as self.talk:
            self.assertEqual(regret.main([path, *options]), 0)
        return text.getvalue().splitlines()

    def test_pick(self):
        # The fastest two of each state; another library's, one that need not repeat its bits, a wrong one and auto are none of them.
        shape = {"config__params__shape_rows": 3, "config__params__shape_cols": 3}
        records = [run_of(TUNE, "csr_rows", 4e-4), run_of(TUNE, "csr_balanced", 3e-4), run_of(TUNE, "bsr_lanes", 2e-4, **shape),
                   run_of(TUNE, "mkl_csr", 1e-4), run_of(TUNE, "csell_slices", 1e-4, config__deterministic=False),
                   run_of(TUNE, "sell16_lanes", 1e-4, check__status="failed"),
                   run_of(TUNE, "csb_blocks", 1e-4, config__requested="auto"),
                   run_of(TUNE, "sell16_lanes", 1e-4, config__cache="steady"), run_of("gen:rmat:16", "csr_rows", 1e-4),
                   run_of(HELD_OUT, "csr_rows", 1e-4)]
        found = self.lines(records, "--backend=omp", "--pick", "--most=2")
        self.assertEqual(sorted(found), sorted([f"{TUNE} omp:bsr_lanes,omp:csr_balanced,omp:sell16_lanes --shape=3x3",
                                                f"{HELD_OUT} omp:csr_rows"]))
        # Kernels of ours that have no time there could be the fastest, unseen.
        missing = self.talk.getvalue().partition("not in these logs, or not deterministic: ")[2].strip().split(", ")
        self.assertIn("csell_slices", missing)
        self.assertNotIn("bsr_lanes", missing)
        self.assertFalse([kernel for kernel in missing if kernel.startswith("mkl_")])

    def test_regret(self):
        # Counts by rounds: a burst in one counts for nothing. Faster than all beside it counts as 1; other runs do not
        # count.
        records = [turns(TUNE, "csell_slices", 1.2e-4, config__requested="auto", config__threads=1),
                   turns(TUNE, "csr_rows", 1e-4),
                   turns(TUNE, "csr_balanced", 3e-4), turns(TUNE, "sell16_lanes", 1e-5, run_id="another"),
                   turns(HELD_OUT, "csr_rows", 1e-4, config__requested="auto"), turns(HELD_OUT, "csr_balanced", 2e-4)]
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in self.lines(records) if line.startswith("| ")][2:]
        self.assertEqual([row[1:] for row in rows], [
            ["f64", "cold", "tune", "1", "1.200", "0.0 %", "0.0 %", "1.20", "100.0 %", ""],
            ["f64", "cold", "held-out", "1", "1.000", "100.0 %", "100.0 %", "1.00", "100.0 %", ""],
            ["f64", "cold", "both", "2", "1.095", "50.0 %", "50.0 %", "1.20", "100.0 %",
             f"1.20 {TUNE} (csell_slices threads=1; csr_rows)"]])

    def test_runs_that_waited(self):
        # A run of auto that waited for cores is left out, and said to be; of two runs the larger regret counts.
        auto = {"config__requested": "auto"}
        records = [turns(TUNE, "csell_slices", 9e-4, timing__waited_s=0.5, run_id="waited", **auto),
                   turns(TUNE, "csr_rows", 1e-4, run_id="waited"),
                   turns(TUNE, "csell_slices", 1.3e-4, run_id="first", **auto), turns(TUNE, "csr_rows", 1e-4, run_id="first"),
                   turns(TUNE, "csell_slices", 1.1e-4, run_id="second", **auto), turns(TUNE, "csr_rows", 1e-4, run_id="second")]
        with contextlib.redirect_stderr(io.StringIO()) as told:
            found, lost = regret.regrets_of(regret.load([self.write("log.jsonl", *records)])[0])
        self.assertEqual(told.getvalue(), "")
        self.assertEqual(lost, 1)
        self.assertEqual([round(regret.value, 3) for matrices in found.values() for regret in matrices.values()], [1.3])

    def test_reference(self):
        logs = glob.glob(os.path.join(ROOT, "log", "reference", "*-beside.jsonl*"))
        with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.redirect_stderr(io.StringIO()):
            regret.main(sorted(logs))
        with open(os.path.join(ROOT, "tables", "reference", "choices.md"), encoding="utf-8") as file:
            self.assertEqual(text.getvalue(), file.read(), "run: make reference-tables")

    def test_nonsense(self):
        for option in "--states=cold,stedy", "--precisions=f16":
            with self.assertRaises(Stop):
                self.lines([run_of(TUNE, "csr_rows", 1e-4)], "--pick", option)

    def test_nothing(self):
        for options in [], ["--backend=omp", "--pick"]:
            with self.assertRaises(Stop):
                self.lines([run_of("gen:rmat:16", "csr_rows", 1e-4)], *options)


if __name__ == "__main__":
    unittest.main()
