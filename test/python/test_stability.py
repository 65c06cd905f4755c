#!/usr/bin/env python3
"""Tests of tables/auto/stability.py on tiny logs."""

import contextlib
import io
import os
import sys
import unittest

from logfixture import ROOT, TablesTest, record
sys.path.insert(0, os.path.join(ROOT, "tables", "auto"))
import stability  # noqa: E402  (found only after the path is set)
from common import Stop  # noqa: E402


def chosen(name, kernel, median, **changes):
    return record(median, 0.001, **{"config__requested": "auto", "config__kernel": kernel, "matrix__name": name,
                                    "matrix__hash": name, **changes})


class StabilityTest(TablesTest):

    def lines(self, *runs):
        paths = [self.write(f"run{n}.jsonl", *records) for n, records in enumerate(runs)]
        with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(stability.main(paths), 0)
        return text.getvalue().splitlines()

    def test_other_kernels(self):
        # The least time of each kernel counts: 1.2 of the other on a, 1.02 on b; c is in one log only, and noise is no choice.
        first = [chosen("a", "hubs", 1.2e-4), chosen("b", "hubs", 1.02e-4), chosen("c", "hubs", 1e-4), chosen("d", "hubs", 1e-4)]
        second = [chosen("a", "csr_lanes", 1e-4), chosen("b", "csr_lanes", 1e-4), chosen("d", "hubs", 2e-4)]
        third = [chosen("a", "hubs", 1.9e-4), chosen("b", "hubs", 1.5e-4), chosen("d", "hubs", 3e-4)]
        self.assertEqual(self.lines(first, second, third),
                         ["1.200 a: hubs 120.0 us, csr_lanes 100.0 us", "3 matrices, 3 runs: 2 within 3 %, geometric mean 1.0697"])

    def test_states_apart(self):
        # What one state chose is not held against what another did.
        run = [chosen("a", "hubs", 1e-4, config__cache="cold"), chosen("a", "csr_lanes", 2e-4, config__cache="steady")]
        self.assertEqual(self.lines(run, run), ["2 matrices, 2 runs: 2 within 3 %, geometric mean 1.0000"])

    def test_nothing_in_common(self):
        wrong = chosen("b", "hubs", 1e-4, check__status="failed")
        with self.assertRaises(Stop):
            self.lines([chosen("a", "hubs", 1e-4), wrong], [chosen("b", "hubs", 1e-4)])


if __name__ == "__main__":
    unittest.main()
