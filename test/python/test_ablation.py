#!/usr/bin/env python3
"""Tests of tables/report/ablation.py on logs whose answer is worked out by hand."""

import contextlib
import io
import json
import lzma
import os
import subprocess
import unittest
import unittest.mock

from logfixture import TablesTest, record
import ablation
import logs
from against_peers.classes import Place

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SPMV = os.environ.get("SPMV", os.path.join(ROOT, "spmv"))
PLACES = {name: Place("family", "small", half, False) for name, half in
          (("a", "tune"), ("b", "held-out"), ("c", "tune"), ("d", "held-out"))}


def timed(name, kernel, median, **changes):
    """A sound record of a kernel, of a format that no paper describes."""
    fields = {"config__alias": None, "config__cache": "cold", "config__format": "csr" if kernel == "csr_rows" else "own", "timing__converged": True,
              "matrix__name": name, "matrix__hash": name, **changes}
    return record(median, 0.001, config__kernel=kernel, **fields)


def on(name, peer, **times):
    """A peer's record and some of ours."""
    return [timed(name, "mkl_csr", peer), *(timed(name, kernel, median) for kernel, median in times.items())]


class AblationTest(TablesTest):

    def page(self, *records, options=()):
        """(exit status, {first cell: the others} of all tables, the page)."""
        path = self.write("log.jsonl", *records)
        with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.redirect_stderr(io.StringIO()), \
                unittest.mock.patch.object(ablation, "outside_list", lambda: PLACES):
            status = ablation.main([path, *options])
        lines = [line.strip("| ").split(" | ") for line in text.getvalue().splitlines() if line.startswith("| ")]
        return status, {line[0]: line[1:] for line in lines}, text.getvalue()

    def test_least_useful_first_recomputed_after_each(self):
        # csr_rows is a paper's. twin_a and twin_b are equal on a, so that either may go, but not both: without both
        # a takes 2 instead of 1. weak never wins. two costs 10 % on c and d. once costs 5 % on b alone:
        # 1 - 1.05**(-1/4) = 1.21 % of the mean of four matrices.
        status, rows, text = self.page(
            *on("a", 8, csr_rows=2, twin_a=1, twin_b=1, weak=3),
            *on("b", 8, csr_rows=1.05, once=1, weak=3),
            *on("c", 8, csr_rows=1.1, two=1, weak=3),
            *on("d", 8, csr_rows=1.1, two=1, weak=3),
            *on("gen:e", 8, csr_rows=9, weak=1))  # not of the outside set
        self.assertEqual(status, 0)
        order = [name for name in rows if name in ("twin_a", "twin_b", "weak", "two", "once")]
        self.assertEqual(order, ["twin_a", "weak", "once", "two", "twin_b"])  # both of the first cost nothing: by name
        self.assertEqual(rows["twin_a"], ["0.00 %", "0", "goes"])
        self.assertEqual(rows["weak"], ["0.00 %", "0", "goes"])
        self.assertEqual(rows["once"], ["1.21 %", "0", "stays"])
        self.assertEqual(rows["two"], ["4.65 %", "2: c, d", "stays"])  # 1 - 1.1**(-2/4)
        self.assertEqual(rows["twin_b"], ["15.91 %", "1: a", "stays"])  # 1 - 2**(-1/4)
        self.assertEqual(rows["everything"][0], "8.000")
        self.assertNotIn("| csr_rows |", text)

    def test_ten_percent_on_two_matrices_are_enough_on_one_not(self):
        # 12 % on two of 32 matrices are 1 - 1.12**(-2/32) = 0.71 % of the mean.
        places = {f"m{k}": Place("family", "small", "tune", False) for k in range(32)}
        records = [made for name in places for made in on(name, 8, csr_rows=1)]
        records += [timed("m0", "pair", 1 / 1.12), timed("m1", "pair", 1 / 1.12), timed("m2", "lone", 1 / 1.12)]
        with unittest.mock.patch.dict(PLACES, places):
            _, rows, _ = self.page(*records)
        self.assertEqual(rows["lone"], ["0.35 %", "1: m2", "goes"])
        self.assertEqual(rows["pair"], ["0.71 %", "2: m0, m1", "stays"])

    def test_any_state_and_precision_counts(self):
        other = {"config__cache": "steady", "config__precision": "f32"}
        _, rows, _ = self.page(*on("a", 8, csr_rows=1, seldom=2), timed("a", "mkl_csr", 8, **other),
                               timed("a", "csr_rows", 2, **other), timed("a", "seldom", 1, **other))
        self.assertEqual(rows["seldom"], ["50.00 %", "0.00 %", "1: a", "stays"])
        self.assertEqual(rows["kernel"][:2], ["CPU A, 4 threads, steady, f32", "CPU A, 4 threads, cold, f64"])

    def test_one_kernel_of_ours_makes_no_column(self):
        other = {"config__cache": "steady"}
        _, rows, _ = self.page(*on("a", 8, csr_rows=2, one=1), timed("a", "mkl_csr", 8, **other), timed("a", "one", 1, **other))
        self.assertEqual(rows["kernel"][:2], ["CPU A, 4 threads, cold, f64", "matrices on which 10 % are lost"])

    def test_only_right_and_checked_times_of_kernels_by_name_count(self):
        _, rows, text = self.page(
            *on("a", 8, csr_rows=2),
            timed("a", "unchecked", 1, check__status="off"), timed("a", "bad", 1, status="wrong"),
            timed("a", "chosen", 1, config__requested="auto"), timed("a", "fast", 0.1, perf={"verdict": "suspect"}),
            timed("a", "librsb_tuned", 1, check__status="off"), timed("a", "sound", 1))
        for name in ("unchecked", "bad", "chosen", "fast"):
            self.assertNotIn(name, rows)
        self.assertEqual(rows["sound"], ["50.00 %", "1: a", "stays"])
        self.assertEqual(rows["everything"][0], "8.000")
        self.assertIn("csr5_*", text)

    def test_formats_and_parameters_of_what_stays(self):
        # idle goes, and its format with it. tile=8 was typed and is faster than the default 4: 1 instead of 1.25.
        def tiled(tile, median, argv):
            made = timed("a", "good", median, config__params={"tile": tile, "codes": 1})
            return {**made, "argv": argv}
        _, rows, _ = self.page(*on("a", 8, csr_rows=4), timed("a", "idle", 5, config__format="unused"),
                               tiled(4, 1.25, ["spmv", "sweep"]), tiled(8, 1, ["spmv", "sweep", "--tile=4,8"]))
        self.assertEqual(rows["idle"][-1], "goes")
        self.assertNotIn("unused", rows)
        self.assertEqual(rows["own"], ["75.00 %", "1: a", "stays"])
        self.assertEqual(rows["good tile"], ["20.00 %", "1: a", "stays"])
        self.assertNotIn("good codes", rows)

    def test_a_switch_that_is_on_by_default_is_lost_when_it_is_off(self):
        def coded(codes, median):
            made = timed("a", "good", median, config__params={"codes": codes})
            return {**made, "argv": ["spmv", "sweep"] + ([] if codes else ["--codes=off"])}
        _, rows, _ = self.page(*on("a", 8, csr_rows=4), coded(1, 1), coded(0, 1.25))
        self.assertEqual(rows["good codes"], ["20.00 %", "1: a", "stays"])

    def test_a_half_alone(self):
        records = [*on("a", 8, csr_rows=2, one=1), *on("b", 8, csr_rows=2, other=1)]
        _, rows, text = self.page(*records, options=["--half=held-out"])
        self.assertNotIn("one", rows)
        self.assertEqual(rows["other"][-1], "stays")
        self.assertIn("1 matrices of its held-out half", text)

    def test_without_an_outside_matrix_there_is_no_answer(self):
        self.assertEqual(self.page(*on("gen:e", 8, csr_rows=1))[0], 65)

    def test_a_compressed_log_is_read_and_a_damaged_one_named(self):
        path = self.write("log.jsonl", *on("a", 8, csr_rows=2, one=1))
        with open(path, "rb") as file:
            packed = lzma.compress(file.read())
        for name, content in (("good.jsonl.xz", packed), ("cut.jsonl.xz", packed[:-20])):
            with open(os.path.join(self.folder, name), "wb") as file:
                file.write(content)
        found, _ = logs.find_logs([self.folder])
        self.assertEqual(len(found), 3)
        records, complaints, opened = logs.read_logs([path for path in found if path.endswith("good.jsonl.xz")])
        self.assertEqual((len(records), complaints, opened), (3, [], 1))
        records, complaints, opened = logs.read_logs([path for path in found if path.endswith("cut.jsonl.xz")])
        self.assertEqual((len(records), opened), (0, 0))
        self.assertIn("cut.jsonl.xz", complaints[0])

    def test_papers_kernels_are_kernels(self):
        for backend, names in ablation.PAPERS.items():
            with open(os.path.join(os.path.dirname(ablation.__file__), "..", "..", backend, "kernels.def"),
                      encoding="utf-8") as file:
                known = file.read()
            for name in names:
                self.assertTrue("*" in name or f"KERNEL({name})" in known, (backend, name))

    def test_papers_kernels_are_those_of_the_program(self):
        """And whatever stays by the rule is among those that `-k all` tries."""
        listed = json.loads(subprocess.run([SPMV, "list", "kernels", "--format=json"], capture_output=True, check=True).stdout)
        for kernel in listed:
            if not kernel["other_library"]:
                self.assertEqual(kernel["paper"], ablation.is_paper(kernel["backend"], kernel["name"]), kernel)
        tried = json.loads(subprocess.run([SPMV, "list", "-k", "all", "--format=json"], capture_output=True, check=True).stdout)
        with open(os.path.join(ROOT, "tables/reference/ablation.md"), encoding="utf-8") as file:
            part = file.read().partition("## omp")[2]
        stays = [line.split("|")[1].strip() for line in part.splitlines() if line.endswith("| stays |")]
        names = {kernel["name"] for kernel in listed}
        self.assertGreater(len(names.intersection(stays)), 5)
        self.assertEqual(names.intersection(stays) - {kernel["name"] for kernel in tried}, set())


if __name__ == "__main__":
    unittest.main()
