#!/usr/bin/env python3
"""Tests of tables/report/repeat_study.py and tables/report/papers.py: the papers' tables by hand, and studies run small."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tables", "report"))
import common  # noqa: E402  (found only after the path is set)
import papers  # noqa: E402
import repeat_study  # noqa: E402
import study_charts  # noqa: E402

SPMV = os.environ.get("SPMV", os.path.join(ROOT, "spmv"))


def record(kernel, milliseconds, **changes):
    """A flat record of gen:twin:a; double underscores stand for dots."""
    result = {
        "status": "ok", "matrix.name": "gen:twin:a", "matrix.nnz": 1000000, "matrix.rows": 50000,
        "matrix.row_mean": 20.0, "matrix.sigma_cmrs": 1.5, "matrix.row_max": 44,
        "config.backend": "cuda", "config.kernel": kernel, "config.format": kernel.split("_")[0],
        "config.precision": "f64", "timing.median_s": None, "store.matrix_B": 2**20,
        "store.meta_B": 2**19, "prep.convert_s": 0.004, "prep.prepare_s": 0.001}
    if milliseconds is not None:
        result["timing.median_s"] = milliseconds / 1000
        result["perf.flop_per_s_cmrs"] = 1950000 / result["timing.median_s"]
    result.update((name.replace("__", "."), value) for name, value in changes.items())
    return result


def cmrs(milliseconds, height, block, **changes):
    """A run of cmrs_warp."""
    return record("cmrs_warp", milliseconds, config__params__height=height,
                  config__params__block=block, perf__beta_minus_B=20 * 10**6,
                  perf__eta_plus=0.6, perf__eta_minus=1.2, **changes)


def row_of(page, start):
    """The cells of the page's table row that starts so."""
    line = next(line for line in page.splitlines() if line.startswith("| " + start))
    return [cell.strip() for cell in line.strip("|").split("|")]


class Pages(unittest.TestCase):
    def test_cmrs_table_by_hand(self):
        runs = papers.runs_of([
            cmrs(2.0, 4, 128), cmrs(1.0, 8, 256), cmrs(4.0, 16, 64),
            record("csr_thread", 3.0), record("csr_warp", 1.5), record("csr_lanes", 1.25),
            record("hyb_thread", 0.5)])
        row = row_of(papers.cmrs_pages(runs)[0]["cmrs.md"], "gen:twin:a")
        self.assertEqual(row, ["gen:twin:a", "20.0", "1.50", "1.0", "50", "height=8 block=256",
                               "1.00", "3.00", "1.25", "0.50", "—", "1.95", "20.0", "1.20", "0.60",
                               "4.00"])

    def test_openmp_scalar_and_vector_are_csr_rows_without_and_with_simd(self):
        runs = papers.runs_of([
            record("cmrs_strips", 1.0, config__backend="omp", config__params__height=4),
            record("csr_rows", 3.0, config__backend="omp", config__simd=False),
            record("csr_rows", 2.0, config__backend="omp", config__simd=True)])
        row = row_of(papers.cmrs_pages(runs)[0]["cmrs.md"], "gen:twin:a")
        self.assertEqual(row[7:9], ["3.00", "2.00"])

    def test_best_names_the_parameters_and_both_rates(self):
        runs = papers.runs_of([cmrs(2.0, 4, 128), cmrs(1.0, 8, 256), record("csr_warp", 0.5)])
        row = row_of(papers.best_pages(runs)["parameters.md"], "gen:twin:a | 20.0 | 1.50 | cmrs_warp")
        self.assertEqual(row[4:], ["2", "block=256 height=8", "1", "2", "1.95", "0.60", "1.20",
                                   "1.57", "10.0"])

    def test_a_later_run_of_a_configuration_replaces_the_earlier(self):
        runs = papers.runs_of([cmrs(1.0, 8, 256), cmrs(2.0, 8, 256)])
        self.assertEqual([run.time_s for run in runs], [0.002])

    def test_what_has_no_time_is_shown_with_its_reason(self):
        runs = papers.runs_of([
            cmrs(1.0, 8, 256),
            cmrs(None, 4, 128, status="skipped", reason="cmrs has room for 2^28 columns")])
        page = papers.cmrs_pages(runs)[0]["cmrs.md"]
        self.assertIn("height=4: skipped: cmrs has room for 2^28 columns", page)

    def test_sell_table_by_hand(self):
        runs = papers.runs_of([
            record("sell_thread", 2.0, config__params__slice=32, config__params__sigma=1),
            record("sell_thread", 1.0, config__params__slice=1024, config__params__sigma=0),
            record("csr_warp", 1.5), record("cusparse_csr_alg1", 3.0)])
        row = row_of(papers.sell_pages(runs)[0]["sell.md"], "gen:twin:a")
        self.assertEqual(row, ["gen:twin:a", "1.00", "2.00", "1024", "all", "1.00", "1.50", "—", "—",
                               "—", "3.00", "1.57", "1.57"])

    def test_ci_table_by_hand(self):
        runs = papers.runs_of(
            [record("hybrid_warp", 3.0 + k, config__params__block=b, config__format="hybrid",
                    config__params__boundary=655)
             for k, b in enumerate((32, 64, 16))]
            + [record("csr_warp", 6.0, config__format="csr", store__matrix_B=2**21),
               record("csr5_tiles", 4.5, config__format="csr5"),
               record("dia_thread", None, config__format="dia", status="skipped",
                      reason="17 GB")])
        page = papers.ci_pages(runs)[0]["ci.md"]
        times = page.split("## ")[2]
        self.assertEqual(row_of(page, "gen:twin:a"),
                         ["gen:twin:a", "1000000", "44", "2.62", "1.57", "—", "—", "—", "1.57"])
        self.assertEqual(row_of(times, "gen:twin:a"),
                         ["gen:twin:a", "655", "5.00", "3.00", "4.00", "6.00", "4.50", "—", "—", "—", "—",
                          "2.00", "1.50", "—", "—", "—", "—"])
        self.assertIn("cuda:dia_thread: skipped: 17 GB", page)

    def test_every_column_of_a_number_has_its_unit(self):
        runs = papers.runs_of([cmrs(1.0, 8, 256), record("sell_thread", 2.0, config__params__slice=32),
                               record("hybrid_warp", 3.0, config__params__block=32)])
        pages = {**papers.cmrs_pages(runs)[0], **papers.sell_pages(runs)[0], **papers.ci_pages(runs)[0],
                 **papers.best_pages(runs)}
        without = {"matrix", "kernel", "best parameters", "nonzeros"}
        heads = [line for name, page in pages.items() if name.endswith(".md")
                 for line in page.splitlines() if line.startswith("| matrix |")]
        self.assertEqual(len(heads), 5)
        for head in heads:
            for name in head.strip("| ").split(" | "):
                self.assertTrue(name in without or name.endswith("]"), name)
        self.assertNotIn("MiB", "".join(page for page in pages.values()))

    def test_what_nobody_checked_is_not_ranked(self):
        runs = papers.runs_of([cmrs(1.0, 8, 256, check__status="off"), cmrs(2.0, 4, 128, check__status="ok")])
        page = papers.cmrs_pages(runs)[0]["cmrs.md"]
        self.assertEqual(row_of(page, "gen:twin:a")[5], "height=4 block=128")
        self.assertIn("block=256 height=8: not ranked: nobody checked the result (--verify=off)", page)

    def test_times_of_the_cache_are_marked(self):
        inside = {"config__cache": "warm", "store__llc_ratio": 0.5}
        runs = papers.runs_of([cmrs(1.0, 8, 256, **inside), record("csr_warp", 2.0)])
        self.assertEqual(row_of(papers.cmrs_pages(runs)[0]["cmrs.md"], "gen:twin:a")[6], "1.00 c")
        page = papers.best_pages(runs)["parameters.md"]
        self.assertEqual(row_of(page, "gen:twin:a | 20.0 | 1.50 | cmrs_warp")[6], "1 c")
        self.assertEqual(row_of(page, "gen:twin:a | 20.0 | 1.50 | csr_warp")[6], "2")

    def test_what_is_suspect_is_not_ranked(self):
        runs = papers.runs_of([cmrs(1.0, 8, 256, perf__verdict="suspect"), cmrs(2.0, 4, 128)])
        self.assertEqual(row_of(papers.cmrs_pages(runs)[0]["cmrs.md"], "gen:twin:a")[5],
                         "height=4 block=128")

    def test_figures_say_what_they_draw(self):
        runs = papers.runs_of([cmrs(1.0, 8, 256), record("csr_thread", 3.0)])
        self.assertEqual(papers.cmrs_pages(runs)[1]["cmrs"].count("<title>3 over scalar</title>"), 2)  # against mu, against sigma
        runs = papers.runs_of([record("sell_thread", 2.0, config__params__slice=32)])
        self.assertIn("<title>gen:twin:a, S = 32: 1</title>", papers.sell_pages(runs)[1]["sell"])

    def test_what_was_measured_on_what(self):
        """A build of a folder without git has no commit in its records."""
        facts = {"gpu__name": "A", "config__cache": "cold"}
        for commit, shown in ("0123456789", "0123456789"), (None, "unknown"):
            runs = papers.runs_of([cmrs(1.0, 8, 256, build__commit=commit, **facts)])
            self.assertIn(f"Measured on cuda · A · cold · commit {shown}.\n", papers.cmrs_pages(runs)[0]["cmrs.md"])

    def test_backends_and_machines_are_never_compared(self):
        runs = papers.runs_of([
            cmrs(0.1, 8, 256, gpu__name="A"), record("csr_thread", 0.2, gpu__name="A"),
            cmrs(0.4, 8, 256, gpu__name="B"),
            record("cmrs_strips", 0.05, config__backend="omp", config__params__height=4),
            record("mkl_csr", 3.0, config__backend="omp")])
        pages, figures = papers.cmrs_pages(runs)
        sections = pages["cmrs.md"].split("## ")[1:]
        self.assertEqual([section.split("\n")[0] for section in sections],
                         ["cuda · A · f64 · cache warm", "cuda · B · f64 · cache warm",
                          "omp · f64 · cache warm"])
        self.assertEqual([row_of(section, "gen:twin:a")[6:11] for section in sections],
                         [["0.100", "2.00", "—", "—", "—"], ["0.400", "—", "—", "—", "—"],
                          ["0.0500", "—", "—", "—", "60.00"]])
        self.assertEqual(sorted(figures), ["cmrs", "cmrs-2"])  # B has nothing to compare with

    def test_rates_that_the_papers_formula_makes_negative_are_left_out(self):
        runs = papers.runs_of([cmrs(1.0, 8, 256, perf__flop_per_s_cmrs=None)])
        self.assertEqual(row_of(papers.cmrs_pages(runs)[0]["cmrs.md"], "gen:twin:a")[11], "—")

    def test_figures(self):
        runs = papers.runs_of([cmrs(1.0, 8, 256), record("csr_thread", 3.0),
                               record("sell_thread", 2.0, config__params__slice=32)])
        for make in papers.cmrs_pages, papers.sell_pages:
            pages, _ = study_charts.drawn(make(runs)[1])
            for name, page in pages.items():
                self.assertTrue(page.startswith("<svg" if name.endswith(".svg") else b"%PDF"), name)

    def test_without_the_charts_library_figures_are_svg(self):
        with mock.patch.dict(sys.modules, {"vl_convert": None}):
            pages, lacking = study_charts.drawn({"sell": "<svg/>"})
        self.assertEqual(pages, {"sell.svg": "<svg/>"})
        self.assertIn("make deps", lacking)


def has_json():
    """Says whether the program under test writes logs."""
    return "jansson" in subprocess.run([SPMV, "-V", "-v"], capture_output=True, text=True,
                                       check=True).stdout


@unittest.skipUnless(has_json(), "built without jansson: no logs")
class Studies(unittest.TestCase):
    def make(self, *arguments):
        """Exit status and stderr of the program, in a folder of its own."""
        self.folder = tempfile.mkdtemp()
        log = os.path.join(self.folder, "study.jsonl")
        self.out = os.path.join(self.folder, "out")
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            code = common.run("study", repeat_study.make_study,
                              ["--spmv", SPMV, "--log", log, "--out", self.out, "--time=0.001",
                               *arguments])
        return code, said.getvalue()

    def page(self, name):
        with open(os.path.join(self.out, name), encoding="utf-8") as file:
            return file.read()

    def test_every_study_runs_on_a_twin(self):
        for name in repeat_study.STUDIES:
            with self.subTest(study=name):
                code, said = self.make(name, "--matrices", "shyy41")
                self.assertEqual(code, 0, said)
                self.assertIn("twins", self.page("parameters.md"))
                self.assertIn("gen:twin:shyy41", self.page("parameters.md"))
                self.assertIn("# The numbers of the paper, beside ours", self.page("paper.md"))
                self.assertRegex(said, r"\d+ numbers of the paper: \d+ agree, \d+ differ, \d+ not measured here")
        self.assertIn("gen:twin:shyy41", self.page("times.md"))  # omp-cuda's are the first paper's

    def test_files_are_not_called_twins(self):
        path = os.path.join(tempfile.mkdtemp(), "tiny.mtx")
        with open(path, "w", encoding="utf-8") as file:
            file.write("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 3\n")
        code, said = self.make("cmrs", "--files", path)
        self.assertEqual(code, 0, said)
        self.assertIn("tiny", self.page("cmrs.md"))
        self.assertNotIn("**twins**", self.page("cmrs.md"))

    def test_a_time_limit_says_what_is_left_out(self):
        """The clock stands still until something is logged; then the time is over, or nearly so."""
        program = os.path.join(tempfile.mkdtemp(), "spmv")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\ncase "$*" in *poisson3d*) exec sleep 600 ;; esac\nexec "{SPMV}" "$@"\n')
        os.chmod(program, 0o755)
        for then, part in (2000, ""), (999.5, " (in part)"):
            clock = types.SimpleNamespace(monotonic=lambda then=then: then * os.path.exists(os.path.join(self.folder, "study.jsonl")))
            with mock.patch.object(repeat_study, "time", clock):
                code, said = self.make("cmrs", "--matrices", "shyy41", "gen:poisson3d:160", "--limit=1000", "--spmv", program)
            self.assertEqual(code, 0, said)
            self.assertIn(f"time over before gen:poisson3d:160{part}\n", said)
            self.assertIn("gen:twin:shyy41", self.page("cmrs.md"))

    def test_a_time_limit_too_short_for_one_matrix_says_so(self):
        code, said = self.make("cmrs", "--matrices", "shyy41", "--limit=0.01")
        self.assertEqual(code, 65, said)
        self.assertIn("nothing was finished in 0.01 s: a longer --limit (make: LIMIT=)", said)

    def test_without_the_charts_library_tables_still_come(self):
        with mock.patch.dict(sys.modules, {"vl_convert": None}):
            code, said = self.make("cmrs", "--matrices", "shyy41", "--backend=omp", "--cache=cold")
        self.assertEqual(code, 0, said)
        self.assertIn("figures as SVG alone: ", said)
        self.assertIn("gen:twin:shyy41", self.page("cmrs.md"))
        self.assertIn("· cold · commit ", self.page("cmrs.md"))

    def test_tables_are_of_this_run_or_of_all(self):
        self.make("cmrs", "--matrices", "shyy41", "--backend=omp")
        log, folder = os.path.join(self.folder, "study.jsonl"), os.path.join(self.folder, "out")
        for more, shown in ((["--matrices", "cz5108"], False), (["--no-run"], True)):
            with contextlib.redirect_stderr(io.StringIO()):
                code = common.run("study", repeat_study.make_study, [
                    "cmrs", *more, "--backend=omp", "--spmv", SPMV, "--log", log, "--out", folder,
                    "--time=0.001"])
            self.assertEqual(code, 0)
            self.assertIn("gen:twin:cz5108", self.page("cmrs.md"))
            self.assertEqual("gen:twin:shyy41" in self.page("cmrs.md"), shown)

    def test_a_file_that_cannot_be_read_does_not_end_the_study(self):
        good, bad = (os.path.join(tempfile.mkdtemp(), name) for name in ("good.mtx", "bad.mtx"))
        with open(good, "w", encoding="utf-8") as file:
            file.write("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 3\n")
        os.makedirs(os.path.dirname(bad), exist_ok=True)
        with open(bad, "w", encoding="utf-8") as file:
            file.write("no matrix\n")
        code, said = self.make("cmrs", "--backend=omp", "--files", bad, good)
        self.assertEqual(code, common.EX_DATAERR)
        self.assertIn(f"{bad}: spmv ended with 65", said)
        self.assertIn("| good |", self.page("cmrs.md"))

    def test_wrong_results_fail_the_study(self):
        program = os.path.join(tempfile.mkdtemp(), "spmv")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\n"{SPMV}" "$@" || exit $?\n'
                       'case "$*" in *shyy41*) exit 1 ;; esac\n')
        os.chmod(program, 0o755)
        code, said = self.make("cmrs", "--matrices", "shyy41", "cz5108", "--backend=omp",
                               "--spmv", program)
        self.assertEqual(code, 1)
        self.assertIn("gen:twin:shyy41: spmv ended with 1: wrong results", said)
        self.assertIn("gen:twin:cz5108", self.page("cmrs.md"))

    def test_a_program_that_fails_is_named(self):
        code, said = self.make("sell", "--spmv", "/bin/false")
        self.assertEqual(code, common.EX_UNAVAILABLE)
        self.assertIn("/bin/false list twins ended with 1", said)

    def test_the_papers_boundary_is_for_its_matrices(self):
        kernels = {"omp": {"hybrid_rows"}}
        for source, boundary in (("gen:twin:ci-3", "--boundary=655"), ("x.mtx", "--boundary=auto")):
            self.assertIn(boundary, next(repeat_study.arguments_of("ci", kernels, source)))

    def test_ci_takes_the_hamiltonians_of_the_outside_set(self):
        folder = tempfile.mkdtemp()
        for name, nnz in ("ci_large", 3), ("ci-small", 2), ("ci_huge", 6000000), ("cities", 1), ("ci_x.part", 1):
            with open(os.path.join(folder, name + ".mtx"), "w", encoding="utf-8") as file:
                file.write("%%MatrixMarket matrix coordinate real general\n% of pyscf\n"
                           f"2 2 {nnz}\n1 1 1\n2 2 3\n" + "2 1 4\n" * (nnz == 3))
        with mock.patch.dict(os.environ, {"SPMV_OUTSIDE": folder}):
            self.assertEqual([os.path.basename(path) for path in repeat_study.hamiltonians("small")],
                             ["ci-small.mtx", "ci_large.mtx"])
            self.assertEqual(len(repeat_study.hamiltonians("medium")), 3)
            with mock.patch.object(repeat_study, "matrices_of", return_value=["gen:twin:shyy41"]):
                code, said = self.make("ci", "--backend=omp")
        self.assertEqual(code, 0, said)
        for name in "gen:twin:shyy41", "ci-small", "ci_large":
            self.assertIn(f"| {name} |", self.page("ci.md"))
        with mock.patch.dict(os.environ, {"SPMV_OUTSIDE": os.path.join(folder, "none")}):
            self.assertEqual(repeat_study.hamiltonians("full"), [])

    def test_kernels_that_a_program_lacks_are_left_out(self):
        kernels = {"omp": {"hybrid_rows", "dia_rows"}}
        self.assertEqual(next(repeat_study.arguments_of("ci", kernels, "x.mtx"))[1],
                         "omp:hybrid_rows,omp:dia_rows")

    def test_unknown_twins_are_refused(self):
        code, said = self.make("sell", "--matrices", "cantt")
        self.assertEqual(code, common.EX_NOINPUT)
        self.assertIn("no twin 'cantt'", said)

    def test_scale_chooses_by_size(self):
        small = repeat_study.matrices_of("cmrs", SPMV, "small", [])
        full = repeat_study.matrices_of("cmrs", SPMV, "full", [])
        self.assertEqual(len(full), 138 + 2)
        self.assertIn("gen:twin:cant", small)
        self.assertNotIn("gen:twin:ldoor", small)
        self.assertEqual(repeat_study.matrices_of("ci", SPMV, "full", [])[0][:12], "gen:twin:ci-")
        self.assertEqual(len(repeat_study.matrices_of("ci", SPMV, "full", [])), 10)


if __name__ == "__main__":
    unittest.main()
