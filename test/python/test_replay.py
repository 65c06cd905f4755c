#!/usr/bin/env python3
"""Tests of tables/auto/replay.py: choices worked out by hand from a tiny log, features and proposals of a made-up model."""

import contextlib
import io
import math
import os
import stat
import sys
import unittest
import unittest.mock

from logfixture import ROOT, TablesTest, record
from against_peers.classes import Place
sys.path.insert(0, os.path.join(ROOT, "tables", "auto"))
import replay  # noqa: E402  (found only after the path is set)

PLACES = {name: Place("family", "small", half, False) for name, half in (("a", "tune"), ("b", "held-out"))}
# A model that proposes the same for every matrix: hubs first, then xcache_block, against csr_lanes.
MODEL = """#!/bin/sh
n=0
while read -r line; do
    echo "line=$n baseline_s=1e-4 kernel=hubs setup={hubs} speedup=3 term0=2e-6 term1=1e-6"
    echo "line=$n baseline_s=1e-4 kernel=xcache_block setup=5 speedup=2.5 term0=2e-6 term1=1e-6"
    echo "line=$n baseline_s=1e-4 kernel=csr_warp setup=0 speedup=1.3 term0=2e-6 term1=1e-6"
    echo "line=$n baseline_s=1e-4 kernel=csr_lanes setup=0 speedup=0 term0=2e-6 term1=1e-6"
    n=$((n + 1))
done
"""


def timed(name, kernel, median, setup=0.0, **changes):
    fields = {"config__backend": "cuda", "config__kernel": kernel, "config__requested": kernel, "config__cache": "cold",
              "config__iters": None, "config__deterministic": True, "config__alias": None, "config__format": "own",
              "gpu__name": "GPU", "matrix__name": name, "matrix__hash": name,
              "prep": {"from_rows_s": setup, "convert_s": 0, "prepare_s": setup, "h2d_s": 0}, **changes}
    return record(median, 0.001, **fields)


class ReplayTest(TablesTest):

    def lines(self, *records, hubs=5):
        """The lines of the table, as lists of words."""
        model = os.path.join(self.folder, "model")
        with open(model, "w", encoding="utf-8") as file:
            file.write(MODEL.format(hubs=hubs))
        os.chmod(model, os.stat(model).st_mode | stat.S_IXUSR)
        features = os.path.join(self.folder, "features.txt")
        with open(features, "w", encoding="utf-8") as file:
            for name in PLACES:
                for depth in replay.SAMPLING_S["cuda"]:
                    file.write(f"matrix={name}.mtx precision=f64 depth={depth} rows=10 cols=10 nnz=1000\n")
        path = self.write("log.jsonl", *records)
        with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.redirect_stderr(io.StringIO()), \
                unittest.mock.patch.object(replay, "outside_list", lambda: PLACES):
            self.assertEqual(replay.main([path, "--features", features, "--program", model, "-v"]), 0)
        return [line.split() for line in text.getvalue().splitlines()]

    def of(self, lines, calls):
        return next(line for line in lines if line[0] == calls)

    def test_the_fastest_that_the_budget_pays(self):
        # 1,000 products of 100 us: hubs takes 1 ms; xcache_block would save more than it costs if it were 1.3 times as fast
        # as predicted; csr_warp would not, compared with the times of those two. xcache_block is the fastest, and the best in the
        # log but for csr_balanced.
        log = [timed("a", "csr_lanes", 1e-4), timed("a", "csr_warp", 0.7e-4), timed("a", "hubs", 0.6e-4, 1e-3),
               timed("a", "xcache_block", 0.5e-4, 1e-3), timed("a", "csr_balanced", 0.4e-4)]
        line = self.of(self.lines(*log), "1000")
        self.assertEqual(line[1:9], ["f64", "cold", "tune", "1", "1.250", "0", "%", "1.25"])
        self.assertEqual(line[-2], "3.0")  # trials, the baseline's among them
        # Plans and products in trials, two set-ups and sampling, and 1,000 products of 50 us, over 1,000 of 40.
        self.assertEqual(line[-1], f"{(6e-4 + 3e-4 + 2e-3 + 2 * (1 + 0.6 + 0.5) * 1e-4 + 0.05) / 0.04:.2f}")
        # 10 products: nothing is converted or timed.
        self.assertEqual(self.of(self.lines(*log), "10")[5], "1.750")

    def test_what_does_not_pay_is_passed_over(self):
        log = [timed("a", "csr_lanes", 1e-4), timed("a", "hubs", 0.4e-4, 1e-3), timed("a", "xcache_block", 0.5e-4, 1e-3)]
        self.assertEqual(self.of(self.lines(*log), "1000")[5], "1.000")
        self.assertEqual(self.of(self.lines(*log, hubs=999), "1000")[5], "1.250")

    def test_what_cannot_be_built_hides_nothing(self):
        # hubs is not in the log. With xcache_block in it that is the choice.
        log = [timed("a", "csr_lanes", 1e-4), timed("a", "csr_warp", 0.7e-4)]
        self.assertEqual(self.of(self.lines(*log), "1000")[5], "1.000")

    def test_agreement_with_the_log(self):
        log = [timed("b", "csr_lanes", 1e-4), timed("b", "hubs", 0.5e-4, 1e-3),
               timed("b", "csr_lanes", 1e-4, config__requested="auto", config__iters=1000)]
        line = self.of(self.lines(*log), "1000")
        self.assertEqual(line[3:9], ["held-out", "1", "1.000", "100", "%", "1.00"])
        self.assertEqual(line[9:13], ["2.000", "0", "%", "2.00"])
        self.assertEqual(line[13:17], ["0", "%", "0", "%"])

    def test_a_log_without_matrices_of_the_set(self):
        path = self.write("log.jsonl", timed("c", "csr_lanes", 1e-4))
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaisesRegex(replay.Stop, "no kernel of that backend"):
            replay.main([path])

    def test_constants_are_the_library_s(self):
        known = replay.constants()
        self.assertEqual((known["few"], known["unknown_calls"], known["tie"]), (10, 1000, 0.01))
        self.assertEqual(replay.Policy("cuda").budget(1000), 1000 * known["share"])
        self.assertEqual(replay.Policy("cuda").budget(None), 10)
        self.assertEqual([replay.Policy("omp").budget(calls) for calls in (None, 100, 1000, 100000)], [10, 15, 150, 15000])
        # Trials need a budget of 40 on a CPU, 100 on a GPU, and a CPU's a sample.
        self.assertEqual([replay.Policy("omp").is_timed("quick", calls) for calls in (None, 266, 267)], [False, False, True])
        self.assertEqual([replay.Policy("cuda").is_timed("none", calls) for calls in (None, 666, 667)], [False, False, True])
        self.assertFalse(replay.Policy("omp").is_timed("none", 1000))
        # Sampling takes at most 0.4 of the budget on a CPU, 0.2 on a GPU.
        self.assertEqual([replay.Policy("omp").depth(None, seconds) for seconds in (3e-5, 4e-5, 1.2e-4)], ["none", "quick", "all"])
        self.assertEqual([replay.Policy("cuda").depth(100, seconds) for seconds in (4.9e-5, 5.1e-5, 1.51e-4)], ["none", "quick", "all"])

    def test_few_products_are_not_timed(self):
        # 300 products on a GPU: the least sum of set-up and products, with a margin for conversions, is chosen.
        proposals = [{"kernel": "csr_lanes", "setup": 0, "speedup": 0, "baseline_s": 1e-4},
                     {"kernel": "hubs", "setup": 200, "speedup": 4}, {"kernel": "csr_warp", "setup": 0, "speedup": 1.1}]
        case = replay.Case({})
        case.kernels = {"csr_lanes": (1e-4, 0), "hubs": (2e-4, 5e-4), "csr_warp": (3e-4, 0)}
        policy = replay.Policy("cuda")
        self.assertEqual(policy.choose(proposals, case, 300, "all", 1e-4)[0], "csr_warp")
        proposals[1]["setup"] = 180
        kernel, timed, spent_s = policy.choose(proposals, case, 300, "all", 1e-4)
        self.assertEqual((kernel, timed), ("hubs", ["hubs"]))
        self.assertAlmostEqual(spent_s, replay.SAMPLING_S["cuda"]["all"] + 1e-4 + 5e-4)
        self.assertEqual(policy.choose(proposals, case, 1000, "all", 1e-4)[0], "csr_lanes")  # trials pay
        # An unknown number: the set-up fits into what a quick sample (1.5 products) leaves of 9.
        proposals[1]["setup"] = 7.6
        self.assertEqual(policy.choose(proposals, case, None, "quick", 1e-4)[0], "csr_warp")
        proposals[1]["setup"] = 7.4
        self.assertEqual(policy.choose(proposals, case, None, "quick", 1e-4)[0], "hubs")
        # A single product, for which the set-up pays.
        proposals[1]["setup"] = 0.5
        self.assertEqual(policy.choose(proposals, case, 1, "quick", 1e-4)[0], "hubs")

    def test_openmp(self):
        # In trials a kernel may be 1.3 times as fast as predicted; without them, the prediction decides.
        proposals = [{"kernel": "csr_balanced", "setup": 0, "speedup": 0}, {"kernel": "sell16_lanes", "setup": 6, "speedup": 0.9}]
        case = replay.Case({})
        case.kernels = {"csr_balanced": (1e-2, 0), "sell16_lanes": (0.5e-2, 0.06)}
        policy = replay.Policy("omp")
        self.assertEqual(policy.choose(proposals, case, 1000, "all", 1e-2)[0], "sell16_lanes")
        self.assertEqual(policy.choose(proposals, case, None, "all", 1e-2)[0], "csr_balanced")
        self.assertEqual(policy.choose(proposals, case, 1000, "none", 1e-2)[0], "csr_balanced")

    def test_fit(self):
        # The factor that made the times; residuals are logarithms of what is predicted over what was measured.
        rows = [(1e-6 * k, 1e-6 * (k % 3)) for k in range(1, 20)]
        factor, scatter, worst = replay.least_squares(rows, [base + 2.5 * term for base, term in rows])
        self.assertAlmostEqual(factor, 2.5)
        self.assertLess(worst, 1e-9)
        factor, scatter, worst = replay.least_squares([(2, 1), (2, 1), (2, 1)], [1, 1, 4])
        self.assertAlmostEqual(worst, max(math.log(2 + factor), math.log(4 / (2 + factor))))
        self.assertTrue(0 < scatter <= worst)
        # None is below zero, and what has no second term has no factor.
        self.assertEqual(replay.least_squares([(2, 1), (4, 1)], [1, 2])[0], 0)
        self.assertEqual(replay.least_squares([(2, 0), (4, 0)], [4, 8])[0], 0)

    def test_fitted_lines(self):
        # Each kernel of cost.def has a line: fitted on what may be tuned on, or kept where the log has too few.
        names = [f"a{k}" for k in range(replay.FEWEST)]
        case = replay.Case({})
        case.kernels = {"hubs": (3e-6, 2e-3), "csr_lanes": (1e-6, 0)}
        cases = {(name, "f64", "cold f64"): case for name in names}
        proposals = {where: [{"kernel": "hubs", "term0": 1e-6, "term1": 2e-6}] for where in cases}
        with unittest.mock.patch.object(replay, "proposals_of", lambda *_: proposals):
            lines = list(replay.fit("", "cuda", cases, {where[:2] + ("all",): "" for where in cases}, {}))
            self.assertEqual(sum(" kept: " in line for line in lines), len(lines) - 1)
            found = next(line for line in lines if "COST(hubs" in line)
            self.assertRegex(found, rf"COST\(hubs, 1, \d\) /\* {replay.FEWEST} products: scatter 0.00, worst 0.00; set-up 2 ms \*/")
            held_out = {name: "held-out" for name in names}
            self.assertTrue(all(" kept: 0 " in line for line in replay.fit("", "cuda", cases, {}, held_out)))

    def test_a_log_without_the_baseline_kernel(self):
        with self.assertRaisesRegex(replay.Stop, "lack the baseline kernel, csr_lanes"):
            self.lines(timed("a", "hubs", 1e-4))


if __name__ == "__main__":
    unittest.main()
