#!/usr/bin/env python3
"""Tests of tables/report/make_tables.py: logs small enough to check every number by hand.

    python3 test/python/test_tables.py            run them
    python3 test/python/test_tables.py --update   rewrite what tables/reference keeps from log/reference/*.jsonl
"""

import contextlib
import csv
import functools
import glob
import io
import json
import lzma
import os
import sys
import unittest

from logfixture import ROOT, TablesTest, record, skipped
import cmrs
import common
import logs
import summary_tables  # noqa: E402
import aims  # noqa: E402
import published_results  # noqa: E402
from parameter_effects import STUDIES, comparisons
import table
import texts
from units.layout import tabulate
from units.merging import merge
from units.settings import order, settings_of, short_label
from units.unit import unit_of

REFERENCE = os.path.join(ROOT, "log", "reference")
EXPECTED = os.path.join(ROOT, "tables", "reference")


def reference_logs():
    """Returns the logs that the documents are made of: without every other kernel on the outside set."""
    return sorted(path for path in glob.glob(os.path.join(REFERENCE, "*.jsonl*"))
                  if "-every.jsonl" not in path and "-beside.jsonl" not in path)


@functools.lru_cache
def reference_records():
    """Returns the records of those logs; reading them takes ten seconds."""
    return logs.read_logs(reference_logs())[0]


@functools.lru_cache
def reference_units():
    """Returns every configuration of those records."""
    return merge(unit_of(record) for record in reference_records())


@functools.lru_cache
def reference_layout():
    """Returns what the documents are made from."""
    return tabulate(reference_units())


class ReadingTest(TablesTest):

    def test_garbage_is_named(self):
        nan = json.dumps(record(check__max_ratio=float("nan")))
        talk = self.make("spmv 0.1.0 [ 3/504] ████", "", "  kernel  grid", "\x1b[1mbold", "{oops",
                         {"schema": "spmv-run/2"}, {"no": "schema"}, nan, '{"a":' * 20000)
        self.assertIn("run.jsonl:5: not JSON", talk)
        self.assertIn("run.jsonl:6: unknown schema 'spmv-run/2'", talk)
        self.assertIn("run.jsonl:7: unknown schema None", talk)
        self.assertIn("run.jsonl:8: check.max_ratio is not a finite number", talk)
        self.assertIn("run.jsonl:9: not JSON", talk)
        self.assertIn("run.jsonl:1: 3 lines to 4 are no records, the first: "
                      "'spmv 0.1.0 [ 3/504] \\u2588\\u2588\\u2588\\u2588'\n", talk)
        self.assertIn("1 record from 1 log, 6 problems", talk)
        self.assertEqual(len(self.rows("runs.csv")), 1)

    def test_lines_that_are_no_records_are_named_by_place(self):
        talk = self.make(record(), "garbage", record(2e-6, matrix__name="beta"), "", "\x00" * 50,
                         " " + json.dumps(record(matrix__name="gamma")), "")
        self.assertIn("run.jsonl:2: no record: 'garbage'\n", talk)
        self.assertIn("run.jsonl:5: no record: '" + "\\x00" * 40 + "'…\n", talk)
        self.assertIn("3 records from 1 log, 2 problems", talk)
        with contextlib.redirect_stderr(io.StringIO()) as talk:
            self.assertEqual(table.main(["--check", os.path.join(self.folder, "run.jsonl")]), 65)
        self.assertIn("run.jsonl:2: no record", talk.getvalue())

    def test_unusable_records_leave_the_rest(self):
        no_median = record()
        del no_median["timing"]["median_s"]
        no_kernel = record()
        del no_kernel["config"]["kernel"]
        talk = self.make(no_median, no_kernel, record(timing__median_s=float("nan")),
                         record(timing__median_s=0), record(matrix__nnz=-1), record(2e-6),
                         record(timing__median_s=10**400), record(timing__median_s=True))
        for number, what in ((1, "missing field timing.median_s"),
                             (2, "missing field config.kernel"),
                             (3, "timing.median_s is not a finite number"),
                             (3, "missing field timing.median_s"),
                             (4, "timing.median_s is 0: not a time"),
                             (5, "matrix.nnz is -1: not a count"),
                             (7, "timing.median_s is not a finite number"),
                             (8, "missing field timing.median_s")):
            self.assertIn(f"run.jsonl:{number}: {what}", talk)
        self.assertNotIn("run.jsonl:6:", talk)
        self.assertEqual([row["median_s"] for row in self.rows("best.csv")], ["2e-06"])

    def test_values_of_another_kind_are_named(self):
        talk = self.make(record(matrix__rows="many"), record(2e-6, config__precision=64),
                         record(3e-6, status="fine"), record(4e-6, build__dirty="perhaps", argv=True))
        self.assertIn("run.jsonl:1: matrix.rows is 'many': no number, read as null", talk)
        self.assertIn("run.jsonl:2: config.precision is 64: no text, read as null", talk)
        self.assertIn("run.jsonl:3: status is 'fine': none of ok, wrong,", talk)
        self.assertIn("run.jsonl:4: build.dirty is 'perhaps': no truth value, read as null", talk)
        self.assertIn("run.jsonl:4: argv is True: no list of texts, read as null", talk)
        self.assertIn("3 records from 1 log, 5 problems", talk)

    def test_what_cannot_be_printed_is_written_out(self):
        talk = self.make(record(matrix__name="\ud800m\0"), record(matrix__name="\u03bc"))
        self.assertIn("run.jsonl:1: matrix.name holds what cannot be printed, written out", talk)
        self.assertNotIn("run.jsonl:2", talk)
        self.assertEqual(sorted(row["matrix"] for row in self.rows("best.csv")),
                         ["\\ud800m\\x00", "\u03bc"])

    def test_exit_status(self):
        good = self.write("good.jsonl", record())
        bad = self.write("bad.jsonl", "nothing here")
        os.makedirs(os.path.join(self.folder, "empty"))
        for paths, expected in (((good,), 0), ((good, "absent"), 0), ((bad,), 65),
                                (("absent",), 66),
                                ((os.path.join(self.folder, "empty"),), 66)):
            status, talk = self.run_main(*paths)
            self.assertEqual(status, expected, paths)
            self.assertIn("make_tables:", talk)
        self.assertEqual(self.run_main(good, out=os.path.join(good, "no"))[0], 73)

    def test_folders_and_copies_count_once(self):
        one = record(1e-6)
        path = self.write("log/deep/a.jsonl", one)
        self.write("log/b.jsonl", one)
        self.write("log/notes.txt", record(9e-6))
        status, talk = self.run_main(os.path.join(self.folder, "log"), path)
        self.assertEqual(status, 0)
        self.assertIn("a.jsonl:1: copy of an earlier line", talk)
        self.assertEqual([row["runs"] for row in self.rows("best.csv")], ["1"])

    def test_gflops_count_every_vector(self):
        eight = {"config__vectors": 8, "config__layout": "rows", "config__op": "transpose"}
        talk = self.make(record(perf={"flop": 16000, "flop_per_s": 1.6e10}, **eight),
                         record(matrix__name="beta", perf={"flop": 2000, "flop_per_s": 2e9}, **eight))
        self.assertIn("run.jsonl:2: perf.flop is 2000, 2 nnz of 8 vectors is 16000", talk)
        self.assertIn("run.jsonl:2: perf.flop_per_s is 2e+09, 2 nnz of 8 vectors / median_s is 1.6e+10", talk)
        self.assertNotIn("run.jsonl:1", talk)
        self.assertEqual({(row["vectors"], row["layout"], row["op"], row["gflop_per_s"]) for row in self.rows("best.csv")},
                         {("8", "rows", "transpose", "16.0")})

    def test_planted_gflops_is_reported_and_not_believed(self):
        # 2 * 1000 / 1e-6 = 2e9; the planted figure is what another row's nnz would give.
        talk = self.make(record(perf={"flop": 2000, "flop_per_s": 7.5e11}),
                         record(matrix__name="beta", perf={"flop": 2000, "flop_per_s": 2e9}),
                         record(matrix__name="gamma", perf={"flop": 1000}))
        self.assertIn("run.jsonl:1: perf.flop_per_s is 7.5e+11, 2 nnz / median_s is 2e+09", talk)
        self.assertNotIn("run.jsonl:2:", talk)
        self.assertIn("run.jsonl:3: perf.flop is 1000, 2 nnz is 2000", talk)
        for row in self.rows("best.csv"):
            self.assertAlmostEqual(float(row["gflop_per_s"]), 2.0)

    def test_runs_csv_is_complete_and_quoted(self):
        self.make(record(0.1, reason='a "b", c\nd', tags={"who": "x|y"}, new={"deep": {"key": 7}}))
        row = self.rows("runs.csv")[0]
        self.assertEqual(row["reason"], 'a "b", c\nd')
        self.assertEqual(row["new.deep.key"], "7")
        self.assertEqual(row["config.simd"], "false")
        self.assertEqual(row["config.grid"], "")
        self.assertEqual(float(row["timing.q3_s"]), 0.1 * 1.01)
        self.assertNotIn("timing.samples_s", row)
        self.assertIn("\r\n", self.text("runs.csv"))

    def test_record_def(self):
        path = self.write("record.def",
                          '/* FIELD(type, name, "not.this", "x", "y") */',
                          'FIELD(double, median_s, "timing.median_s", "s", "middle, "',
                          '      "of \\"all\\" samples")',
                          'FIELD(const char *, status, "status", "", "how it (the run) ended")')
        fields = logs.read_fields(path)
        self.assertEqual(fields, {"timing.median_s": ("s", 'middle, of "all" samples'),
                                  "status": ("", "how it (the run) ended")})
        tables = summary_tables.make_pages([dict(logs.flatten(record()))], fields)
        self.assertTrue(tables["runs.csv"].startswith("timing.median_s,status,build.commit,"))
        self.assertIn('timing.median_s,s,"middle, of ""all"" samples"', tables["columns.csv"])


class RankingTest(TablesTest):

    def test_best_and_speedup(self):
        self.make(record(3e-6), record(2e-6, config__grid="4x1"),
                  record(1e-6, config__kernel="ell_rows", config__alias="ell0"))
        row, = self.rows("best.csv")
        self.assertEqual((row["kernel"], row["alias"], row["baseline"], row["commit"]),
                         ("ell_rows", "ell0", "csr_rows", "abc1234"))
        self.assertEqual(row["baseline_median_s"], "2e-06")  # the best csr_rows, not the first
        self.assertAlmostEqual(float(row["speedup"]), 2.0)
        self.assertAlmostEqual(float(row["gflop_per_s"]), 2.0)
        self.assertIn("geometric mean 2.000 (n = 1; 2.000 to 2.000)", self.text("summary.md"))
        row, = self.rows("times.csv")
        self.assertEqual((row["csr_rows"], row["ell_rows"], row["min_time_s"]),
                         ("2e-06", "1e-06", "1e-06"))
        self.assertEqual(self.line_of("times.md", "alpha"),
                         ["alpha", "1000", "2.00 µs", "**1.00 µs**", "1.00 µs", "2.00", "ell_rows",
                          "1"])

    def test_wrong_is_never_ranked(self):
        self.make(record(2e-6),
                  record(1e-9, status="wrong", reason="y[3] is stale", config__kernel="csr_fast"),
                  record(1e-9, check__status="wrong", config__kernel="csr_late"))
        row, = self.rows("times.csv")
        self.assertEqual((row["csr_fast"], row["csr_late"], row["best_kernel"]),
                         ("WRONG", "WRONG", "csr_rows"))
        cells = self.line_of("times.md", "alpha")
        self.assertEqual(cells[2:5], ["WRONG (1)", "WRONG", "**2.00 µs**"])
        self.assertIn("(1) y[3] is stale", self.text("times.md"))
        self.assertEqual(self.line_of("summary.md", "csr_fast")[1:7],
                         ["0", "0.0 %", "0.0 %", "0", "0", "1"])

    def test_unchecked_is_never_ranked(self):
        self.make(record(2e-6), record(1e-9, check__status="off", config__kernel="csr_fast"))
        row, = self.rows("times.csv")
        self.assertEqual((row["csr_fast"], row["best_kernel"]), ("unchecked", "csr_rows"))
        self.assertIn("unchecked: measured with --verify=off\n", self.text("times.md"))
        self.assertEqual(self.line_of("summary.md", "csr_fast")[1:4], ["0", "0.0 %", "0.0 %"])

    def test_once_wrong_is_wrong(self):
        self.make(record(1e-6), record(1e-6, status="wrong", reason="r", run_id="second"),
                  record(3e-6, config__simd=True))
        row, = self.rows("best.csv")
        self.assertEqual(row["median_s"], "3e-06")
        self.assertIn("wrong result in 1 of 2 configurations", self.text("times.md"))

    def test_skipped_and_failed_have_footnotes(self):
        self.make(record(1e-6), record(1e-6, matrix__name="beta", matrix__hash="b"),
                  skipped("ELL needs 56.4 GB", config__kernel="ell_rows"),
                  skipped("ELL needs 56.4 GB", config__kernel="ell_rows", matrix__name="beta",
                          matrix__hash="b"),
                  record(status="failed", reason=None, config__kernel="hyb"))
        self.assertEqual(self.line_of("times.md", "alpha")[3:5], ["— (1)", "failed (2)"])
        self.assertEqual(self.line_of("times.md", "beta")[3:5], ["— (1)", ""])
        self.assertIn("(1) skipped: ELL needs 56.4 GB\n", self.text("times.md"))
        self.assertIn("(2) failed: no reason given\n", self.text("times.md"))
        self.assertEqual(self.rows("times.csv")[0]["ell_rows"], "skipped")
        self.assertIn("5 records: 1 failed, 2 ok, 2 skipped.", self.text("summary.md"))

    def test_of_a_cell_measured_again_the_median_known_best_counts(self):
        def known_to(share, median, cell, settled=False):
            found = record(median, sweep={"cell": cell, "pass": 1})
            found["timing"].update(median_low_s=median * (1 - share), settled=settled,
                                   median_high_s=median * (1 + share / 2))
            return found
        made = [known_to(0.04, 3e-6, "a"), known_to(0.02, 2e-6, "a"), known_to(0.03, 5e-6, "a"),
                known_to(0.05, 4e-6, "b")]
        for extra, medians, noisy in (([], [2e-6, 4e-6], True),
                                      ([known_to(0.5, 8e-6, "a", True)], [8e-6, 4e-6], True)):
            flat = [unit_of(dict(logs.flatten(r))) for r in made + extra]
            unit, = merge(flat)
            self.assertEqual(unit.runs, 2)
            self.assertAlmostEqual(unit.median_s, sum(medians) / 2)
            self.assertEqual(unit.noisy, noisy)

    def test_repeats_take_the_median_of_medians(self):
        self.make(record(1e-6), record(5e-6, run_id="2"), record(2e-6, run_id="3"))
        row, = self.rows("best.csv")
        self.assertEqual((row["median_s"], row["runs"]), ("2e-06", "3"))
        self.assertEqual((row["q1_s"], row["q3_s"]), ("1e-06", "5e-06"))  # never within the medians
        self.assertEqual(self.line_of("times.md", "alpha")[-1], "3")

    def test_ties(self):
        # 1.00 +- 10 % meets 1.15 +- 10 % (1.10 >= 1.035) but not 1.30 +- 10 % (1.10 < 1.17).
        self.make(record(1.00e-6, 0.1), record(1.15e-6, 0.1, config__kernel="ell_rows"),
                  record(1.30e-6, 0.1, config__kernel="hyb"))
        self.assertEqual(self.line_of("times.md", "alpha")[2:5],
                         ["**1.00 µs**", "1.15 µs =", "1.30 µs"])
        self.assertEqual(self.rows("best.csv")[0]["tied"], "ell_rows")
        self.assertEqual(self.line_of("summary.md", "ell_rows")[1:4], ["0", "0.0 %", "100.0 %"])

    def test_noise_and_cache_are_marked(self):
        self.make(record(1e-6, timing__converged=False, store={"llc_ratio": 0.5}),
                  record(3e-6, timing__converged=True, config__kernel="ell_rows"))
        self.assertEqual(self.line_of("times.md", "alpha")[2:6],
                         ["**1.00 µs** ~", "3.00 µs", "1.00 µs", "2.00 c"])
        row, = self.rows("best.csv")
        self.assertEqual((row["noisy"], row["cached"]), ("true", "true"))
        self.assertIn(" ~ (n = 1; ", self.text("summary.md"))

    def test_the_rule_of_the_logs_time_says_what_is_noisy(self):
        # The interval of the median, where a log has one, not the quartiles.
        self.make(record(1e-6, timing__converged=False, timing__settled=True),
                  record(2e-6, config__kernel="ell_rows", timing__converged=True, timing__settled=False),
                  record(3e-6, config__kernel="hyb", timing__converged=False, timing__settled=None))
        self.assertEqual(self.line_of("times.md", "alpha")[2:5],
                         ["**1.00 µs**", "2.00 µs ~", "3.00 µs ~"])

    def test_what_was_disturbed_is_marked(self):
        self.make(record(timing__flags=["heat slowed it"], timing__converged=False),
                  record(2e-6, config__kernel="ell_rows", timing__flags=[]))
        self.assertEqual(self.line_of("times.md", "alpha")[2:4], ["**1.00 µs** ~ !", "2.00 µs"])
        self.assertEqual(self.line_of("best.md", "alpha")[4], "1.00 µs ~ !")

    def test_shares_split_exact_draws(self):
        def on(name, csr, ell):
            return [record(csr, matrix__name=name),
                    record(ell, matrix__name=name, config__kernel="ell_rows")]
        self.make(*on("a", 1e-6, 2e-6), *on("b", 1e-6, 2e-6), *on("c", 3e-6, 1e-6),
                  *on("d", 1e-6, 1e-6), skipped("no", matrix__name="e"))
        self.assertIn("n = 4 matrices", self.text("summary.md"))
        self.assertEqual(self.line_of("summary.md", "csr_rows")[1:8],
                         ["2.5", "62.5 %", "75.0 %", "4", "1", "0", "0"])
        self.assertEqual(self.line_of("summary.md", "ell_rows")[1:3], ["1.5", "37.5 %"])

    def test_hosts_are_never_mixed(self):
        # The same key on purpose: the slow host's run is no repeat of the fast one's.
        self.make(record(1e-6), record(4e-6, host__name="node2"),
                  record(3e-6, host__name="node2", config__kernel="ell_rows"),
                  record(9e-6, config__threads=8), record(5e-7, config__precision="f32"))
        found = {(row["host"], row["threads"], row["precision"]): row
                 for row in self.rows("best.csv")}
        self.assertEqual(len(found), 4)
        self.assertEqual(found["node1", "4", "f64"]["kernel"], "csr_rows")
        self.assertEqual(found["node2", "4", "f64"]["kernel"], "ell_rows")
        self.assertAlmostEqual(float(found["node2", "4", "f64"]["speedup"]), 4 / 3)
        self.assertEqual(found["node1", "4", "f64"]["runs"], "1")
        self.assertEqual(self.text("times.md").count("\n## "), 4)

    def test_serial_kernels_stand_beside_parallel_ones(self):
        self.make(record(1e-6, omp={"threads": 4}),
                  record(2e-6, omp={"threads": 4}, config__kernel="csr_serial", config__threads=1))
        row, = self.rows("times.csv")
        self.assertEqual((row["threads"], row["csr_rows"], row["csr_serial"]),
                         ("4", "1e-06", "2e-06"))

    def test_own_nnz_for_matrices_of_one_name(self):
        self.make(record(1e-6), record(1e-6, matrix__hash="a2", matrix__nnz=3000))
        self.assertEqual([(row["nnz"], round(float(row["gflop_per_s"]), 9))
                          for row in self.rows("best.csv")], [("1000", 2.0), ("3000", 6.0)])

    def test_builds_are_named_when_several(self):
        self.make(record(1e-6), record(2e-6, build__commit="def5678"))
        self.assertIn("2 builds (commit abc1234, def5678)", self.text("times.md"))
        self.assertEqual(self.rows("best.csv")[0]["runs"], "1")

    def test_order_of_input_does_not_show(self):
        records = [record(i * 1e-6, matrix__name=f"m{i % 3}", config__kernel=f"k{i % 2}",
                          config__grid=f"{i}x2", run_id=str(i)) for i in range(1, 13)]
        self.make(*records)
        first = {name: self.text(name) for name in os.listdir(self.out)}
        self.make(*reversed(records))
        self.assertEqual(first, {name: self.text(name) for name in os.listdir(self.out)})


class StudyTest(TablesTest):

    def test_rowlens_shares(self):
        def pair(name, off, on, **changes):
            return [record(off, matrix__name=name, config__rowlens=False, **changes),
                    record(on, matrix__name=name, config__rowlens=True, **changes)]
        self.make(*pair("a", 2e-6, 1e-6), *pair("b", 4e-6, 3e-6), *pair("c", 5e-6, 6e-6),
                  *pair("a", 1e-6, 8e-6, config__kernel="ell_rows"),
                  record(1e-9, config__rowlens=True, config__simd=True),  # no partner
                  record(1e-9, config__rowlens=None, config__kernel="csr_rows"))
        found = {(row["kernel"], row["value"]): row for row in self.rows("studies.csv")}
        self.assertEqual({row["study"] for row in found.values()}, {"rowlens"})
        self.assertEqual((found["all", "on"]["comparisons"], found["all", "on"]["wins"]),
                         ("4", "2.0"))
        self.assertAlmostEqual(float(found["csr_rows", "on"]["win_share"]), 2 / 3)
        # csr_rows, on over off: 1/2, 3/4, 6/5: the middle one is 3/4; off over on: 4/3.
        self.assertAlmostEqual(float(found["csr_rows", "on"]["median_ratio"]), 0.75)
        self.assertAlmostEqual(float(found["csr_rows", "off"]["median_ratio"]), 4 / 3)
        self.assertEqual(found["csr_rows", "on"]["clear_wins"], "2")
        self.assertEqual(len(self.rows("rowlens.csv")), 8)
        self.assertEqual(self.line_of("rowlens.md", "b")[3:], ["4.00 µs", "**3.00 µs**"])
        self.assertIn("rowlens: off best in 50.0 % of 4, on best in 50.0 % of 4.",
                      self.text("summary.md"))

    def test_only_the_one_parameter_may_differ(self):
        self.make(record(1e-6, config__simd=True),
                  record(2e-6, config__simd=False, config__grid="2x2"),
                  record(2e-6, config__simd=False, host__name="node2"),
                  record(2e-6, config__simd=False, config__precision="f32"),
                  record(2e-6, config__simd=False, config__params={"C": 8}),
                  record(2e-6, config__simd=False, build__commit="other"),
                  record(2e-6, config__simd=False, matrix__name="beta"),
                  record(2e-6, config__simd=False, check__status="off"),
                  record(2e-6, config__simd=False, status="wrong", reason="r"))
        self.assertFalse([name for name in os.listdir(self.out) if name.startswith("simd")])
        self.assertNotIn("simd", self.text("summary.md"))  # nothing stands of what the log has nothing for

    def test_ties_are_no_clear_wins(self):
        self.make(record(1.0e-6, 0.1, config__simd=True), record(1.1e-6, 0.1, config__simd=False))
        found = {row["value"]: row for row in self.rows("studies.csv") if row["kernel"] == "all"}
        self.assertEqual((found["on"]["wins"], found["on"]["clear_wins"]), ("1.0", "0"))
        self.assertEqual(self.line_of("simd.md", "alpha")[3:], ["1.10 µs =", "**1.00 µs**"])

    def test_schedule_goes_with_its_chunk(self):
        self.make(record(1e-6), record(2e-6, config__schedule="dynamic"),
                  record(3e-6, config__schedule="dynamic", config__chunk=64))
        self.assertEqual([(row["schedule"], row["won"]) for row in self.rows("schedule.csv")],
                         [("dynamic", "false"), ("dynamic,64", "false"), ("static", "true")])

    def test_grid_and_block_from_params(self):
        self.make(record(2e-6, config__params={"grid_rows": 10, "grid_cols": 4}),
                  record(1e-6, config__params={"grid_rows": 5, "grid_cols": 8}),
                  record(4e-6, config__grid="14x3"),
                  record(1e-6, config__backend="cuda", config__block="32x8"),
                  record(3e-6, config__backend="cuda", config__block="32x16"))
        self.assertEqual([(row["grid"], row["ratio"]) for row in self.rows("grid.csv")],
                         [("5x8", "0.5"), ("10x4", "2.0"), ("14x3", "4.0")])
        self.assertEqual([(row["backend"], row["block"], row["won"])
                          for row in self.rows("block.csv")],
                         [("cuda", "32x8", "true"), ("cuda", "32x16", "false")])


class TextTest(unittest.TestCase):

    def test_si_time(self):
        for seconds, expected in ((1.34e-3, "1.34 ms"), (9.996e-4, "1.00 ms"), (52.4e-6, "52.4 µs"),
                                  (1e-6, "1.00 µs"), (3e-9, "3.00 ns"), (12.0, "12.0 s"),
                                  (4003.4, "4003 s"), (9.997e-7, "1.00 µs"), (2e-12, "0.00200 ns")):
            self.assertEqual(texts.si_time(seconds), expected)

    def test_settings_are_written_as_typed(self):
        params = {"codes": 1, "sorted": 0, "cut": 0, "sigma": 0, "boundary": -1, "lanes": 8, "isa": 2}
        found = settings_of(dict(logs.flatten(record(config__params=params, config__block="0"))))
        self.assertEqual(short_label(found), "boundary=auto isa=avx2 lanes=8 sigma=all sorted=off")

    def test_order_is_natural(self):
        values = ["10x4", "5x8", 256, None, 64, "static"]
        self.assertEqual(sorted(values, key=order),
                         [None, 64, 256, "5x8", "10x4", "static"])

    def test_markdown_survives_any_name(self):
        self.assertIn("| a\\|b c |", texts.markdown_table(["h"], "l", [["a|b\nc"]]))


def golden_tables():
    """Tables of the reference logs that tables/reference keeps, since a document shows them; None without logs."""
    if not reference_logs():
        return None
    outcome = {study: comparisons(study, reference_units()) for study in STUDIES}
    return {"summary.md": summary_tables.summary_md(reference_records(), reference_layout(), outcome)}


class GoldenTest(unittest.TestCase):

    def test_reference_logs(self):
        tables = golden_tables()
        if tables is None:
            self.skipTest("no log/reference/*.jsonl")
        for name, text in tables.items():
            with open(os.path.join(EXPECTED, name), encoding="utf-8", newline="") as file:
                self.assertEqual(file.read(), text, name)

    def test_every_page_is_made_of_them(self):
        """Takes one matrix in sixteen, since nobody keeps the other pages."""
        some = set(sorted({record["matrix.name"] for record in reference_records()})[::16])
        records = [record for record in reference_records() if record["matrix.name"] in some]
        if not records:
            self.skipTest("no log/reference/*.jsonl")
        pages = summary_tables.make_pages(records, logs.read_fields(logs.RECORD_DEF))
        self.assertEqual(len(list(csv.reader(io.StringIO(pages["runs.csv"])))), 1 + len(records))
        for name in ("best.csv", "times.md", "times.tex", "compare.csv", "summary.md"):
            self.assertGreater(len(pages[name].splitlines()), 10, name)

    def test_none_of_them_holds_failures(self):
        """The logs of every kernel hold records alone: a list of files that were not found once stood there."""
        for path in glob.glob(os.path.join(REFERENCE, "*.jsonl*")):
            opened = lzma.open if path.endswith(".xz") else open
            with opened(path, "rt", encoding="utf-8") as file:
                self.assertEqual([line[:200] for line in file if '"status":"failed"' in line or '"status":"wrong"' in line][:1], [], path)

    def test_every_field_of_them_is_known(self):
        if not reference_logs():
            self.skipTest("no log/reference/*.jsonl")
        fields = logs.read_fields(logs.RECORD_DEF)
        found = {name for record in reference_records() for name in record}
        found = {name for name in found if not name.startswith(("config.params.", "omp.env.", "tags."))}
        self.assertIn("perf.ranked", found)
        self.assertLessEqual(found, {*fields, *cmrs.LOGGED})

    def test_documents_quote_them(self):
        if not reference_logs():
            self.skipTest("no log/reference/*.jsonl")
        layout = reference_layout()
        for name, written in (("docs/results/outside.md", published_results.losses), ("docs/results/README.md", published_results.short),
                              ("README.md", published_results.readme)):
            with open(os.path.join(ROOT, name), encoding="utf-8") as file:
                page = file.read()
            self.assertEqual(published_results.put_between(page, written(layout)), page, "run: make reference-tables")
        with open(os.path.join(EXPECTED, "outside.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), published_results.TITLE + published_results.results(layout), "run: make reference-tables")
        with open(os.path.join(ROOT, "docs/results/speedups.svg"), encoding="utf-8") as file:
            chart = file.read()
        points, means = published_results.chart_data(layout)
        self.assertGreater(len(points), 100)
        for mean in means:
            self.assertIn(mean["label"], chart, "run: make reference-tables")
            self.assertIn(mean["machine"], chart, "run: make reference-tables")
        with open(os.path.join(EXPECTED, "aims.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), aims.page(layout), "run: make reference-tables")


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        expected_tables = golden_tables()
        if expected_tables is None:
            sys.exit("no log/reference/*.jsonl")
        common.write_files(EXPECTED, expected_tables)
    else:
        unittest.main()
