#!/usr/bin/env python3
"""Tests of what tables/ says beyond the papers' tables: gains, LaTeX, the published program's log."""

import json
import os
import unittest

from logfixture import ROOT, TablesTest, record, skipped
import aims
import logs
import published_results
import texts
from units.layout import tabulate
from units.merging import merge
from units.unit import unit_of

PUBLISHED = os.path.join(ROOT, "test", "data", "published.log")


def prepared(median, prep, kernel, **changes):
    """A quiet record with a preparation time."""
    return record(median, 0.001, prep={"total_s": prep}, config__kernel=kernel,
                  config__alias=None, timing__converged=True, **changes)


class GainsTest(TablesTest):

    def test_pays_off_and_best_for_so_many_products(self):
        # Over csr1 (1 ms + 10 ms a product): fast costs 90 ms more and saves 4 ms: ceil(22.5) = 23.
        self.make(prepared(10e-3, 1e-3, "csr_rows"), prepared(6e-3, 91e-3, "fast"),
                  prepared(5e-3, 10.0, "faster"), prepared(11e-3, 0.0, "lazy"),
                  prepared(12e-3, 2e-3, "bad"))
        rows = {row["kernel"]: row for row in self.rows("speedup.csv")}
        self.assertEqual({kernel: row["pays_off_after"] for kernel, row in rows.items()},
                         {"csr_rows": "0", "fast": "23", "faster": "2000", "lazy": "", "bad": ""})
        self.assertAlmostEqual(float(rows["fast"]["speedup"]), 10 / 6)
        self.assertAlmostEqual(float(rows["fast"]["total_100_s"]), 0.691)
        self.assertEqual(self.line_of("best.md", "alpha")[2:],
                         ["faster", "", "5.00 ms", "0.000400", "2.00", "", "",
                          "2,000 products", "csr_rows", "fast", "faster"])

    def test_no_ratio_of_times_in_doubt_is_finer_than_they_are(self):
        """A range, as their quartiles have it, unless their turns know the ratio; and no number of products."""
        two = [prepared(10e-3, 1e-3, "csr_rows"), prepared(4e-3, 91e-3, "fast", timing__flags=["busy"])]
        for r in two:
            r["timing"].update(q1_s=0.8 * r["timing"]["median_s"], q3_s=1.25 * r["timing"]["median_s"])
        self.make(*two)
        cells = self.line_of("best.md", "alpha")
        self.assertEqual((cells[6], cells[9]), ("1.6 to 3.9", "not known"))
        for r in two:
            r["timing"].update(group=1, wall_s=1, waited_s=0, turns_s=[r["timing"]["median_s"]] * 8)
        self.make(*two)
        self.assertEqual(self.line_of("best.md", "alpha")[6], "2.50")

    def test_best_for_counts_every_configuration(self):
        self.make(prepared(2e-3, 50e-3, "csr_rows"),
                  prepared(1.05e-3, 20e-3, "sell", config__params={"sigma": 1}),
                  prepared(1.00e-3, 200e-3, "sell", config__params={"sigma": 64}))
        self.assertEqual(self.line_of("best.md", "alpha")[-3:],
                         ["sell sigma=1"] * 2 + ["sell"])

    def test_peers_are_named_with_their_versions(self):
        def peer(median, library, kernel="mkl_csr"):
            return {**prepared(median, 1e-3, kernel), "kernel": {"library": library}}
        self.make(prepared(10e-3, 1e-3, "csr_rows"), peer(8e-3, "oneMKL 2026.1.0"), peer(2e-3, "oneMKL 2026.2.0"),
                  peer(9e-3, "librsb 1.3.0.2", "librsb_tuned"))
        for name in ("best.md", "speedup.md", "times.md", "summary.md", "best.tex", "times.tex"):
            with open(os.path.join(self.out, name), encoding="utf-8") as file:
                self.assertIn("Peers: librsb 1.3.0.2, oneMKL 2026.1.0, oneMKL 2026.2.0", file.read(), name)
        # Two versions are no repeats of each other: the faster one is shown, not their median.
        self.assertEqual(self.line_of("best.md", "alpha")[4], "2.00 ms")

    def test_ours_are_no_peers(self):
        self.make(prepared(10e-3, 1e-3, "csr_rows"))
        with open(os.path.join(self.out, "best.md"), encoding="utf-8") as file:
            self.assertNotIn("Peers:", file.read())

    def test_unknown_preparation_is_no_zero(self):
        talk = self.make(record(1e-3), prepared(2e-3, 1e-3, "ell_rows"))
        self.assertEqual(self.line_of("best.md", "alpha")[-3:], [""] * 3)
        self.assertNotIn("run.jsonl:", talk)
        talk = self.make(prepared(1e-3, -5, "csr_rows"))
        self.assertIn("run.jsonl:1: prep.total_s is -5: not a time, read as null", talk)

    def test_matrices_of_one_name_are_told_apart(self):
        self.make(record(1e-6, matrix__hash="feed1"), record(2e-6, matrix__hash="beef2"))
        self.assertEqual(set(json.loads(self.text("optimal.json"))[0]["optimal"]),
                         {"alpha #beef", "alpha #feed"})

    def test_flushed_caches_hold_nothing(self):
        for cache, cached in (("warm", "true"), ("cold", "false")):
            self.make(record(1e-6, store={"llc_ratio": 0.1}, config__cache=cache))
            self.assertEqual(self.rows("best.csv")[0]["cached"], cached, cache)

    def test_one_rule_for_means(self):
        def on(name, csr, ell, converged):
            return [record(csr, matrix__name=name),
                    record(ell, matrix__name=name, config__kernel="ell_rows", config__alias=None,
                           timing__converged=converged)]
        self.make(*on("a", 4e-6, 1e-6, True), *on("b", 1e-6, 1e-6, True), *on("c", 9e-6, 1e-6, False))
        self.assertEqual(self.line_of("speedup.md", "ell_rows")[1:],
                         ["3.30 ~ (n = 3)", "1.00", "9.00", "66.7 %", "100.0 %"])
        self.assertIn("geometric mean 3.302 ~ (n = 3; 1.000 to 9.000; ~: fewer than 90 % of its times were settled",
                      self.text("summary.md"))
        self.make(*on("a", 4e-6, 1e-6, True), *on("b", 1e-6, 1e-6, True))
        self.assertEqual(self.line_of("speedup.md", "ell_rows")[1], "2.00 (n = 2)")

    def test_results_that_documents_quote(self):
        # Over the peer: 2 on gen:a, tied on b, 0.5 on c, where it is suspect and counts all the same.
        def on(name, auto, peer, **changes):
            who = {"matrix__name": name, "config__cache": "cold"}
            return [prepared(auto, 0, "ell_rows", config__requested="auto", **who),
                    record(peer, 0.001, config__kernel="mkl_csr", config__alias=None, **who, **changes)]
        records = [*on("gen:a", 1e-3, 2e-3), *on("b", 1e-3, 1.0001e-3),
                   *on("c", 2e-3, 1e-3, perf={"verdict": "suspect"}, timing__converged=False),
                   prepared(1e-6, 0, "csr_rows", matrix__name="c", config__cache="warm")]
        layout = tabulate(merge(unit_of(dict(logs.flatten(r))) for r in records))
        lines = published_results.results(layout).splitlines()
        self.assertIn("The logs hold no matrix of the outside set yet.", lines)
        found = [line.split(" | ") for line in lines if "other libraries |" in line]
        self.assertEqual([line[4:] for line in found],
                         [["unknown", "2.00 (1)", "2.00 a", "0.71 (2) ~", "0.50 c", "1, 1, 1 |"]])
        self.assertEqual(published_results.chart_data(layout), ([], []))  # one of three is not known
        layout = tabulate(merge(unit_of(dict(logs.flatten({**r, "timing": {**r["timing"], "converged": True}}))) for r in records))
        points, (mean,) = published_results.chart_data(layout)
        self.assertEqual(sorted(round(point["ratio"], 2) for point in points), [0.5, 1, 2])
        self.assertEqual((mean["label"], mean["machine"].split(", ")[-1]), ("1.00× on 3 matrices", "cold cache"))
        self.assertTrue(all(abs(point["offset"]) <= 0.6 for point in points))
        self.assertEqual(published_results.put_between(f"a\n{published_results.FIRST}old\n{published_results.LAST}b\n", "new\n"),
                         f"a\n{published_results.FIRST}new\n{published_results.LAST}b\n")
        log, page = (os.path.join(self.folder, name) for name in ("of.jsonl", "page.md"))
        for path, lines in ((log, map(json.dumps, records)), (page, ("a", published_results.FIRST, published_results.LAST))):
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(line.strip() for line in lines) + "\n")
        for _ in range(2):  # what is written can be replaced again: the marks are still there
            self.assertEqual(published_results.main([log, "--into", page]), 0)
        with open(page, encoding="utf-8") as file:
            self.assertEqual(file.read(), f"a\n{published_results.FIRST}{published_results.NOTHING_OUTSIDE}{published_results.LAST}")

    def test_suspect_is_shown_and_not_ranked(self):
        self.make(record(2e-6), record(1e-9, config__kernel="hot", perf={"verdict": "suspect"}),
                  record(1e-6, config__kernel="warm", perf={"verdict": "in cache"}))
        row, = self.rows("times.csv")
        self.assertEqual((row["hot"], row["best_kernel"]), ("suspect", "warm"))
        self.assertEqual(self.rows("best.csv")[0]["winner"], "warm")
        self.assertEqual(self.rows("best.csv")[0]["cached"], "true")

    def test_auto_is_a_kernel_of_its_own(self):
        self.make(record(2e-6), record(1e-6, config__kernel="ell_rows", config__requested="auto",
                                       config__reason="because", config__iters=100))
        row, = self.rows("best.csv")
        self.assertEqual(row["kernel"], "auto")
        self.assertIn("ran=ell_rows", row["config"])
        self.assertNotIn("because", row["config"])

    def test_a_remembered_choice_is_no_repeat_of_one_with_trials(self):
        asked = {"config__kernel": "ell_rows", "config__requested": "auto", "config__iters": 100}
        self.make(record(2e-6, **asked), record(1e-6, run_id="r2", tune={"wisdom": "2026-11-27T00:00:00Z"}, **asked))
        row, = self.rows("best.csv")
        self.assertIn("wisdom=on", row["config"])
        self.assertEqual(float(row["median_s"]), 1e-6)  # not the mean of both
        self.assertNotIn("wisdom", self.text("optimal.json"))

    def test_auto_wins_with_the_configuration_that_it_ran(self):
        ran = {"config__requested": "auto"}
        self.make(prepared(4e-3, 0, "csr_rows"), prepared(1.02e-3, 1e-3, "ell_rows"),
                  prepared(1e-3, 1.0, "ell_rows", **ran), prepared(1.021e-3, 0, "sell_slices"),
                  prepared(4e-3, 0, "csr_rows", matrix__name="b"),
                  prepared(1e-3, 0, "ell_rows", matrix__name="b", **ran))
        self.assertEqual(self.line_of("best.md", "alpha")[2:],
                         ["ell_rows (auto)", "", "1.00 ms", "0.00200", "4.00",
                          "", "", "334 products", *["sell_slices"] * 2, "ell_rows"])
        self.assertEqual(self.line_of("best.md", "b")[2], "ell_rows (auto)")
        optimal = json.loads(self.text("optimal.json"))[0]["optimal"]
        self.assertEqual({name: found["spmv"] for name, found in optimal.items()},
                         {"alpha": "ell_rows", "b": "ell_rows"})
        self.assertNotIn("ran", optimal["b"]["params"])
        rows = {row["kernel"]: row for row in self.rows("speedup.csv") if row["matrix"] == "alpha"}
        self.assertEqual((rows["auto"]["best"], rows["ell_rows"]["best"]), ("true", "true"))  # one configuration
        times = self.rows("times.csv")[0]
        self.assertEqual((times["best_kernel"], times["winner"]), ("ell_rows", "ell_rows (auto)"))
        self.assertEqual([self.line_of("summary.md", kernel)[1:3] for kernel in ("auto", "ell_rows")],
                         [["1.5", "75.0 %"], ["0.5", "25.0 %"]])

    def test_optimal(self):
        self.make(record(2e-6), record(1e-6, config__kernel="ell_rows", config__params={"C": 8}),
                  record(1e-9, config__kernel="bad", status="wrong"), skipped("x", matrix__name="b"))
        system, = json.loads(self.text("optimal.json"))
        self.assertEqual(list(system["optimal"]), ["alpha"])
        self.assertEqual(system["optimal"]["alpha"]["spmv"], "ell_rows")
        self.assertEqual(system["optimal"]["alpha"]["params"]["C"], 8)

    def test_compare_csv_sees_builds_and_machines(self):
        self.make(record(1e-6), record(2e-6, build__commit="next", time="2025-02-02"),
                  record(4e-6, host__name="node2", time="2025-03-03"))
        self.assertEqual([(row["commit_a"], row["commit_b"], row["verdict"])
                          for row in self.rows("compare.csv")],
                         [("abc1234", "next", "SLOWER"), ("abc1234", "abc1234", "SLOWER")])

    def test_latex(self):
        self.make(record(1e-6, matrix__name="a_b&c%"), skipped("50 % {full}", config__kernel="ell"))
        for name in ("best.tex", "times.tex", "speedup.tex"):
            text = self.text(name)
            self.assertEqual(text.count(r"\begin{longtable}"), text.count(r"\end{longtable}"))
            self.assertIn(r"\toprule", text)
        self.assertIn(r"a\_b\&c\%", self.text("best.tex"))
        self.assertIn(r"\textbf{1.00 \textmu{}s}", self.text("times.tex"))
        self.assertIn(r"50 \% \{full\}", self.text("times.tex"))
        self.assertEqual(texts.latex("a\\b $x$ #1 ~^<>|"),
                         r"a\textbackslash{}b \$x\$ \#1 \textasciitilde{}\textasciicircum{}"
                         r"\textless{}\textgreater{}\textbar{}")


class PublishedLogTest(TablesTest):
    """Text of the form that the paper describes; the digest's known faults are not inherited."""

    def test_it_becomes_records(self):
        found, complaints, _ = logs.read_logs([PUBLISHED])
        self.assertEqual([(r["config.kernel"], r.get("config.grid"), r.get("config.block"),
                           r.get("omp.threads"), r["timing.median_s"]) for r in found],
                         [("csr_rows", None, None, 40, 1.27e-3),
                          ("csr_tiles", "10x4", None, 40, 8.77e-3),
                          ("csr_tiles", "20x2", None, 20, 9.77e-3),
                          ("ell_rows", None, None, None, 1.11e-3),
                          ("csr_thread", None, "192", None, 8.8e-4),
                          ("csr_warp", None, "32x8", None, 1.36e-4)])
        self.assertEqual({r["matrix.nnz"] for r in found}, {4007383})
        self.assertEqual({r["check.status"] for r in found}, {"off"})
        self.assertEqual((found[0]["config.schedule"], found[0]["config.chunk"]), ("dynamic", 16))
        self.assertAlmostEqual(found[0]["timing.q3_s"], 1.27e-3 + 0.6745e-5)
        self.assertEqual([text.rpartition("published.log:")[2] for text in complaints],
                         ["10: found 'func:ELL 9', expected a function such as 'func:0 OMP CSR': its "
                          "times are left out",
                          "17: timeAvg is not a time",
                          "20: times before a #matrix line and its 'sparse matrix: RxC-nNNZ' line"])

    def test_it_stands_in_the_same_tables(self):
        status, talk = self.run_main(PUBLISHED, self.write("new.jsonl", record(1e-6)))
        self.assertEqual(status, 0)
        self.assertIn("7 records from 2 logs, 3 problems", talk)
        best = {(row["backend"], row["threads"]): row for row in self.rows("best.csv")}
        self.assertEqual(best["cuda", ""]["kernel"], "csr_warp")
        # 2 * 4007383 / 1.36e-4: of this row's own nonzeros.
        self.assertAlmostEqual(float(best["cuda", ""]["gflop_per_s"]), 58.932, 3)
        self.assertEqual(best["cuda", ""]["host"], "published log published.log")
        self.assertEqual(best["omp", "4"]["kernel"], "csr_rows")


class BarsTest(TablesTest):

    def lines(self, *records):
        """{class of matrices: cells after it} of the page on these records; "Not measured": the line that names the others."""
        path = self.write("log.jsonl", *records)
        found = merge(unit_of(r) for r in logs.read_logs([path])[0])
        lines = aims.page(tabulate(found)).splitlines()
        rows = [line.split(" | ") for line in lines if line.startswith("| ")]
        return {**{row[0].removeprefix("| "): row[1:] for row in rows},
                "Not measured": next((line for line in lines if line.startswith("Not measured: ")), "")}

    def run_of(self, kernel, median, name, nnz, quiet=True, **more):
        """A cold run of a kernel, or of auto, on a machine whose cache holds 1 MB."""
        auto = {"config__requested": "auto", "prep": {"convert_s": 0.03, "tune_s": 0.01, "h2d_s": 5}}
        made = record(median, config__kernel=kernel, config__cache="cold", timing__converged=quiet,
                      matrix__name=name, matrix__nnz=nnz, matrix__hash=name, cpu__llc_B=10**6,
                      **{**(auto if kernel == "csell_slices" else {}), **more})
        made.setdefault("perf", {})["bw_fraction"] = 0.8
        return made

    def test_classes_by_name_and_size(self):
        lines = self.lines(
            self.run_of("csr_rows", 4e-3, "gen:poisson2d:999 random", 10**6),
            self.run_of("mkl_csr", 3e-3, "gen:poisson2d:999 random", 10**6),
            self.run_of("csell_slices", 2e-3, "gen:poisson2d:999 random", 10**6),
            self.run_of("csr_rows", 8e-3, "gen:poisson2d:999", 10**6),
            self.run_of("csell_slices", 2e-3, "gen:poisson2d:999", 10**6, quiet=False),
            self.run_of("csr_rows", 9e-6, "gen:poisson2d:9 random", 10**3, quiet=False),
            self.run_of("csell_slices", 10e-6, "gen:poisson2d:9 random", 10**3))
        self.assertEqual(lines["streaming, arbitrary values"],
                         ["1", "", "≥ 1.35 geometric mean", "1.50", "yes", " |"])
        self.assertEqual(lines["grids with few values"], ["1", "1", "≥ 3 each", "4.00", "yes", " |"])
        self.assertEqual(lines["all"], ["3", "2", "≥ 0.97 each", "0.90", "no", "0.9 poisson2d:9 random |"])
        self.assertEqual(lines["streaming, arbitrary values: share of the limit"],
                         ["1", "", "≥ 0.9 each", "0.80", "no", "0.8 poisson2d:999 random |"])
        # 40 ms of preparation without the upload, at 4 and 8 ms a product of csr1: 10 and 5.
        self.assertEqual(lines["preparation, products of csr1"],
                         ["2", "", "≤ 10 each", "10.00", "yes", " |"])
        self.assertNotIn("banded over csr1", lines)
        self.assertIn("banded over csr1", lines["Not measured"])
        self.assertIn("the same with 1,000 expected products", lines["Not measured"])

    def test_expected_products_known_and_unknown(self):
        known = self.run_of("csell_slices", 2e-3, "gen:mesh:9", 10**6, config__iters=1000,
                            prep={"convert_s": 0.1, "tune_s": 0.02})
        lines = self.lines(self.run_of("csr_rows", 4e-3, "gen:mesh:9", 10**6),
                           self.run_of("csell_slices", 1e-3, "gen:mesh:9", 10**6), known)
        self.assertEqual(lines["shuffled meshes and graphs"], ["1", "", "≥ 1.2 each", "2.00", "yes", " |"])
        self.assertEqual(lines["number of products unknown"], ["1", "", "≥ 0.97 each", "4.00", "yes", " |"])
        self.assertEqual(lines["preparation, products of csr1"], ["1", "", "≤ 10 each", "10.00", "yes", " |"])
        self.assertEqual(lines["the same with 1,000 expected products"],
                         ["1", "", "≤ 100 each", "30.00", "yes", " |"])


if __name__ == "__main__":
    unittest.main()
