#!/usr/bin/env python3
"""Tests of tables/report/printed: the rules by hand, the reasons, and the papers' numbers against what is known of them."""

import csv
import os
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tables", "report"))
sys.path.insert(0, os.path.join(ROOT, "test", "python"))
import papers  # noqa: E402  (found only after the path is set)
from printed import page, verdicts  # noqa: E402
from printed.lines import omp_cuda_lines, printed_by, share_of_wins  # noqa: E402
from test_study import cmrs, record, row_of  # noqa: E402


def lines_of(study, records):
    """The Lines of a study's records, by what and matrix."""
    runs = papers.runs_of(records)
    return {(line.what, line.matrix): line for _, mine in papers.by_system(runs)
            for line in page.PAPERS[study][0](mine) if line}


def on_gpu(name, changes=None, **more):
    """Lists what a record of a GPU has beside its time."""
    return {"gpu__name": name, "gpu__l2_B": 50 * 10**6, **(changes or {}), **more}


def twins():
    """{name: (rows, nonzeros)} of src/generate/twins.def."""
    with open(os.path.join(ROOT, "src", "generate", "twins.def"), encoding="utf-8") as file:
        return {name: (int(rows), int(nnz)) for name, rows, nnz in
                re.findall(r'^TWIN\("([^"]+)", (\d+), \d+, (\d+)', file.read(), re.MULTILINE)}


class Rules(unittest.TestCase):
    def test_properties(self):
        for printed, ours, agrees in (("39.0", 39.38, True), ("39.0", 39.41, False), ("2.1", 2.149, True),
                                      ("7e-4", 0, True), ("1067", 1067, True), ("1067", 1080, False)):
            self.assertEqual(verdicts.is_property(printed, ours), agrees, (printed, ours))

    def test_times(self):
        for printed, ours, agrees in (("4.0", 3.1, True), ("4.0", 2.9, False), ("4.0", 5.0, True), ("4.0", 5.1, False)):
            self.assertEqual(verdicts.is_alike(printed, ours), agrees, (printed, ours))

    def test_speed_ups(self):
        for printed, ours, agrees in (("3.8", 1.1, True), ("3.8", 0.9, False), ("0.98", 1.05, True), ("0.98", 1.2, False),
                                      ("1.0", 0.92, True), ("0.5", 0.9, True)):
            self.assertEqual(verdicts.is_ahead_too(printed, ours), agrees, (printed, ours))

    def test_shares(self):
        for printed, ours, agrees in (("42", 49, True), ("42", 51, False), ("64.88", 92.0, True), ("64.88", 50, True)):
            self.assertEqual(verdicts.is_half_too(printed, ours), agrees, (printed, ours))

    def test_choices(self):
        for times, ours, verdict in (({"32": 1.0, "64": 0.99}, "64", "agrees"), ({"32": 1.0, "64": 0.9}, "64", "differs, because why"),
                                     ({"32": 1.0}, "32", "agrees"), ({"64": 1.0}, None, "not measured here")):
            line = verdicts.chosen("best", "table 1", "a", 32, times, "why")
            self.assertEqual((line.ours, line.verdict), (ours, verdict))

    def test_what_was_not_measured_is_said(self):
        self.assertEqual(verdicts.judged("time", "table 1", "a", "1.0", None, verdicts.is_alike, "why").verdict, "not measured here")
        self.assertIsNone(verdicts.judged("time", "table 1", "a", "", 1.0, verdicts.is_alike, "why"))


class Reasons(unittest.TestCase):
    """The first that holds, each time without the one before."""

    def reason(self, vendor="cusparse_csr_alg1", name="gen:twin:a", gpu="NVIDIA H200", **changes):
        mine, other = papers.runs_of([
            record("cmrs_warp", 1.0, matrix__name=name, **on_gpu(gpu, changes)),
            record(vendor, 1.0, matrix__name=name, kernel__library="cuSPARSE 12.6", **on_gpu(gpu))])
        if mine.kernel != "cmrs_warp":
            mine, other = other, mine
        return verdicts.because(mine, "GeForce GTX 480", other, ("cusparse_", "cuSPARSE 4.1"))

    def test_in_order(self):
        self.assertEqual(self.reason(perf__verdict="in cache"), "the data stay in this machine's cache of 50 MB")
        self.assertEqual(self.reason(), "cuSPARSE 12.6 is not the paper's cuSPARSE 4.1")
        self.assertEqual(self.reason("csr_thread"), "NVIDIA H200 is not the paper's GeForce GTX 480")
        self.assertEqual(self.reason("csr_thread", gpu="NVIDIA GTX 480"), "a twin has the paper's rows, not its columns")
        self.assertEqual(self.reason("csr_thread", gpu="NVIDIA GTX 480", name="a"), "the kernels are not the paper's own")

    def test_of_a_grid_that_leaves_threads_idle(self):
        times = {"csr_rows": 1.0, "csr_blocks": 2.0}
        records = [record(kernel, ms, matrix__name="thermal2", config__backend="omp", config__alias=f"csr{k}", omp__threads=16,
                          **({"config__grid": "10x1"} if k == 2 else {}))
                   for k, (kernel, ms) in enumerate(times.items(), 1)]
        records[1]["timing.median_s"] = 0.0005  # so that ours is the other way round
        found = {line.what: line for line in omp_cuda_lines(papers.runs_of(records)) if line}
        self.assertEqual(found["csr2 over csr1 [×]"].paper, "0.94")  # 5.35 / 5.68
        self.assertEqual(found["csr2 over csr1 [×]"].verdict, "differs, because 10 row blocks keep 10 of 16 threads busy")


class Studies(unittest.TestCase):
    def test_cmrs_stands_beside_its_table(self):
        who = {"matrix__name": "gen:twin:cant", "matrix__row_mean": 64.2, "matrix__sigma_cmrs": 1.75}
        gpu = on_gpu("NVIDIA H200")
        found = lines_of("cmrs", [cmrs(0.42, 8, 256, **who, **gpu), record("csr_thread", 0.84, **who, **gpu),
                                  record("csr_warp", 0.21, **who, **gpu)])
        cell = found["CMRS over scalar [×]", "gen:twin:cant"]
        self.assertEqual((cell.where, cell.paper, cell.ours, cell.verdict), ("additional table, row 4", "4.94", 2.0, "agrees"))
        self.assertEqual(found["CMRS over vector [×]", "gen:twin:cant"].verdict,
                         "differs, because NVIDIA H200 is not the paper's GeForce GTX 480")
        self.assertEqual(found["CMRS over HYB [×]", "gen:twin:cant"].verdict, "not measured here")
        self.assertEqual(found["time [ms]", "gen:twin:cant"].verdict, "agrees")
        self.assertEqual(found["mu [nonzeros per row]", "gen:twin:cant"].verdict, "agrees")
        self.assertEqual(found["CMRS over the best of all others [×]", "most of 1 matrix"].ours, 0.5)

    def test_sizes_are_in_mb_of_the_papers_mib(self):
        who = {"matrix__name": "gen:twin:ci-9", "matrix__rows": 32768, "matrix__nnz": 31124459, "matrix__row_max": 1067}
        found = lines_of("ci", [record("csr_warp", 1.0, store__matrix_B=373625000, store__meta_B=0, config__format="csr",
                                       **who, **on_gpu("NVIDIA H200"))])
        size = found["size of csr [MB]", "gen:twin:ci-9"]
        self.assertEqual((size.paper, round(size.ours, 2), size.verdict), ("373.74", 373.62, "agrees"))  # 356.43 MiB
        self.assertEqual(found["longest row [nonzeros]", "gen:twin:ci-9"].verdict, "agrees")
        self.assertNotIn(("best block of the hybrid [threads]", "gen:twin:ci-9"), found)

    def test_of_openmp_nothing_is_compared_with_a_gpu(self):
        who = {"matrix__name": "gen:twin:cant", "config__backend": "omp"}
        found = lines_of("cmrs", [record("cmrs_strips", 1.0, **who), record("csr_rows", 2.0, **who)])
        self.assertEqual({what for what, _ in found}, {"mu [nonzeros per row]", "sigma [√nonzeros]"})

    def test_sell_chooses_its_slice(self):
        gpu = on_gpu("NVIDIA H200", matrix__name="gen:twin:cant")
        found = lines_of("sell", [record("sell_thread", ms, config__params__slice=size, **gpu) for size, ms in ((32, 1.0), (1024, 0.5))]
                         + [record("cusparse_csr_alg1", 0.9, **gpu), record("cusparse_sell", 0.1, **gpu)])
        self.assertEqual(found["best slice S [rows]", "gen:twin:cant"].verdict, "agrees")
        self.assertAlmostEqual(found["SELL over the best format of cuSPARSE but its SELL [×]", "mean of 1 matrix"].ours, 1.8)

    def test_a_share_of_cases_counts_pairs(self):
        runs = papers.runs_of([record("csr_rows", ms, config__simd=simd, config__chunk=chunk)
                               for chunk, simd, ms in ((1, True, 1.0), (1, False, 2.0), (2, True, 3.0))])
        self.assertEqual(share_of_wins(runs, "simd", True), 100.0)
        self.assertIsNone(share_of_wins(runs, "rowlens", True))

    def test_the_page_counts_and_shows(self):
        who = {"matrix__name": "gen:twin:cant", "matrix__row_mean": 64.2, "matrix__sigma_cmrs": 3.0}
        runs = papers.runs_of([record("csr_rows", 1.0, config__backend="omp", **who)])
        files, said = page.pages("cmrs", papers.by_system(runs), "note")
        self.assertEqual(said, "2 numbers of the paper: 1 agree, 1 differ, 0 not measured here.")
        self.assertEqual(row_of(files["paper.md"], "mu [nonzeros per row]"), ["mu [nonzeros per row]", "1", "1", "0", "0"])
        self.assertEqual(row_of(files["paper.md"].split("### sigma")[1], "gen:twin:cant"),
                         ["gen:twin:cant", "additional table, row 4", "1.75", "3.00", "differs, because it is another matrix of that name"])
        self.assertEqual(len(files["paper.csv"].splitlines()), 3)


class Numbers(unittest.TestCase):
    """Copied numbers against the twins, which were made of the same papers, and against each other."""

    def test_twins_have_the_printed_rows(self):
        made = twins()
        for name, row in printed_by("sell").items():
            rows, nonzeros = made[name]
            self.assertEqual(nonzeros, int(row["nonzeros"]), name)
            self.assertLess(abs(rows / int(row["rows"]) - 1), 0.01, name)
        for name, row in printed_by("cmrs").items():
            if name in made:
                rows, nonzeros = made[name]
                self.assertTrue(verdicts.is_property(row["mu"], nonzeros / rows), name)
        self.assertEqual(len(printed_by("cmrs")), 140)

    def test_twins_of_hamiltonians_have_the_printed_rows(self):
        with open(os.path.join(ROOT, "src", "generate", "twins.def"), encoding="utf-8") as file:
            made = re.findall(r'^CI_TWIN\("([^"]+)", (\d+), (\d+)', file.read(), re.MULTILINE)
        self.assertEqual({name: (655 * 32768 + int(rest), int(longest)) for name, rest, longest in made},
                         {name: (int(row["nonzeros"]), int(row["longest_row"])) for name, row in printed_by("ci").items()})

    def test_efficiencies_follow_from_the_printed_times(self):
        made = {**twins(), "gen:dense:10000": (10**4, 10**8), "gen:permutation:10000000": (10**7, 10**7)}
        for name, row in printed_by("cmrs").items():
            rows, nonzeros = made[name]
            for field, least, most in (("eta_plus", 12, 16), ("eta_minus", 20, 8)):  # eta of strips of 1 to 16 rows
                moved = float(row["time_ms"]) * 1e-3 * 177e9
                low, high = ((least * nonzeros + most * rows + 4 * rows / height) / moved for height in (16, 1))
                self.assertTrue(0.93 * low - 0.01 <= float(row[field]) <= 1.07 * high + 0.01, (name, field))

    def test_hybrids_follow_from_their_formula(self):
        for name, row in printed_by("ci").items():
            bytes_of_hybrid = 12 * int(row["nonzeros"]) + 12 * 32768
            self.assertAlmostEqual(float(row["hybrid_MiB"]), bytes_of_hybrid / 2**20, delta=0.05, msg=name)

    def test_figures_have_every_matrix_twice(self):
        with open(os.path.join(ROOT, "tables", "report", "printed", "omp-cuda.csv"), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        named = {backend: {row["matrix"] for row in rows if row["backend"] == backend} for backend in ("omp", "cuda")}
        self.assertEqual(named["omp"], named["cuda"])
        self.assertEqual(len(rows), 2 * 64)
        best = {}
        for row in rows:
            if row["backend"] == "cuda":
                times = {name: float(value) for name, value in row.items() if name.endswith("_ms") and value}
                fastest = min(times, key=times.get)
                best[fastest] = best.get(fastest, 0) + 1
        self.assertEqual(best["ell0_ms"] / 64, 0.3125)  # 31.25 %, as its summary prints


if __name__ == "__main__":
    unittest.main()
