#!/usr/bin/env python3
"""Tests of the numbers of the CMRS paper that tables derive from records (tables/report/cmrs.py)."""
import math
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tables", "report"))
from cmrs import with_cmrs  # noqa: E402

# 10 rows, 32 entries, strips of 4 rows, half a second a product, memory of 100 B/s.
RECORD = {"matrix.rows": 10, "matrix.nnz": 32, "matrix.row_mean": 3.2, "matrix.row_std": 1.6, "config.precision": "f64",
          "config.params.height": 4, "timing.median_s": 0.5, "perf.bw_peak_Bps": 100.0, "perf.bw_peak_source": "theory"}


def derived(**changes):
    """What is derived of RECORD with changes; double underscores stand for dots."""
    record = {**RECORD, **{name.replace("__", "."): value for name, value in changes.items()}}
    return {name: value for name, value in with_cmrs(record).items() if name not in record}


class Cmrs(unittest.TestCase):
    def test_by_hand(self):
        found = derived()
        self.assertAlmostEqual(found.pop("matrix.sigma_cmrs"), 1.6 / math.sqrt(3.2))
        self.assertAlmostEqual(found.pop("perf.eta_plus"), 556 / 50)
        self.assertAlmostEqual(found.pop("perf.eta_minus"), 732 / 50)
        self.assertEqual(found, {"perf.flop_per_s_cmrs": (2 * 32 - 10) / 0.5, "perf.strips": 3,
                                 "perf.beta_plus_B": 12 * 32 + 4 * 3 + 16 * 10, "perf.beta_minus_B": 20 * 32 + 4 * 3 + 8 * 10,
                                 "perf.eta_bw_Bps": 100.0, "perf.eta_bw_source": "theory"})

    def test_the_papers_table_2(self):
        """dense10000 takes 7.76 ms, which is 25.8 GFLOP/s, 258 GB/s, 0.87 of 177 GB/s."""
        found = derived(matrix__rows=10**4, matrix__nnz=10**8, timing__median_s=7.76e-3, perf__bw_peak_Bps=177e9)
        self.assertAlmostEqual(found["perf.flop_per_s_cmrs"] / 1e9, 25.8, delta=0.05)
        self.assertAlmostEqual(found["perf.beta_minus_B"] / 7.76e-3 / 1e9, 258, delta=0.5)
        self.assertAlmostEqual(found["perf.eta_plus"], 0.87, delta=0.005)

    def test_a_kernel_without_strips_counts_rows(self):
        for height in (None, 0, "four"):
            self.assertEqual(derived(config__params__height=height)["perf.strips"], 10)

    def test_no_rate_below_zero(self):
        for entries, has_rate in ((6, True), (5, False), (0, False)):
            self.assertEqual("perf.flop_per_s_cmrs" in derived(matrix__nnz=entries), has_rate)

    def test_a_matrix_without_entries_has_sigma_0(self):
        self.assertEqual(derived(matrix__row_mean=0, matrix__row_std=0)["matrix.sigma_cmrs"], 0)

    def test_what_is_unknown_is_left_out(self):
        self.assertEqual(set(derived(config__precision="f32")), {"matrix.sigma_cmrs", "perf.flop_per_s_cmrs"})
        self.assertNotIn("perf.eta_plus", derived(perf__bw_peak_Bps=None))
        self.assertEqual(set(derived(timing__median_s=None)),
                         {"matrix.sigma_cmrs", "perf.strips", "perf.beta_plus_B", "perf.beta_minus_B"})
        self.assertEqual(with_cmrs({"matrix.nnz": "many"}), {"matrix.nnz": "many"})

    def test_what_a_log_holds_stays(self):
        for name, value in (("perf.eta_plus", 0.5), ("matrix.sigma_cmrs", 7.0), ("perf.flop_per_s_cmrs", None)):
            self.assertEqual(with_cmrs({**RECORD, name: value})[name], value)

    def test_what_a_damaged_log_holds_is_derived(self):
        for name, value in (("perf.eta_plus", "fast"), ("perf.eta_bw_source", 5), ("perf.strips", True)):
            self.assertEqual(with_cmrs({**RECORD, name: value}), with_cmrs(RECORD))


if __name__ == "__main__":
    unittest.main()
