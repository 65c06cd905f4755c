#!/usr/bin/env python3
"""Tests of `spmv table`, and of which logs it reads: one's own before the reference."""

import contextlib
import csv
import io
import os
import shutil
import subprocess
import sys
import unittest
from unittest import mock

from logfixture import TablesTest, record, skipped
import table

PDFLATEX = shutil.which("pdflatex")


def on(matrix, kernel="csr_rows", median=1e-6, **changes):
    """A quiet record of a kernel on a matrix."""
    return record(median, matrix__name=matrix, config__kernel=kernel,
                  **{"matrix__hash": matrix, "config__alias": None, **changes})


def many(kernels, matrices=("alpha", "beta")):
    """Records of so many kernels on each matrix; the first is the fastest."""
    return [on(matrix, f"kernel{k}", (k + 1) * 1e-6) for matrix in matrices for k in range(kernels)]


class TableCase(TablesTest):

    def table(self, *words, columns=None):
        """(exit status, stdout, stderr); columns: of the terminal."""
        out, environment = io.StringIO(), {name: text for name, text in os.environ.items() if name != "COLUMNS"}
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as talk, mock.patch.dict(
                os.environ, {**environment, **({"COLUMNS": str(columns)} if columns else {})}, clear=True):
            status = table.main(list(words))
        return status, out.getvalue(), talk.getvalue()

    def cells(self, *words):
        """The rows of the CSV, without the system."""
        status, out, talk = self.table(*words, "--format", "csv")
        self.assertEqual(status, 0, talk)
        return [row[1:] for row in csv.reader(io.StringIO(out))]

    def refused(self, status, *words):
        """Returns what is said of a command that must fail so, without a table."""
        found, out, talk = self.table(*words)
        self.assertEqual((found, out), (status, ""), talk)
        return talk


class TableTest(TableCase):

    def test_control_characters_of_a_name_do_not_reach_the_terminal(self):
        talk = self.refused(66, "\033[31mx")
        self.assertNotIn("\033", talk)
        self.assertIn(r"\x1b[31mx: No such file", talk)

    def test_rows_columns_and_metrics(self):
        log = self.write("run.jsonl", record(2e-6), record(1e-6, config__grid="2x1"),
                         record(4e-6, config__kernel="ell_rows", config__alias=None),
                         skipped("no", config__kernel="hyb"),
                         record(1e-6, config__kernel="bad", status="wrong", reason="r"))
        status, out, _ = self.table(log)
        self.assertEqual(status, 0)
        self.assertEqual([line.split() for line in out.splitlines()[1:3]],
                         [["matrix", "csr_rows", "ell_rows", "bad", "hyb"],
                          ["alpha", "2.00", "*", "0.500", "WRONG", "—"]])
        self.assertEqual(out.splitlines()[3:],
                         ["*: fastest of its row; —: skipped; WRONG: wrong result, never ranked.",
                          "A cell is the fastest of its configurations."])
        out = self.table(log, "--metric", "speedup", "--format", "md")[1]
        self.assertIn("| alpha | **1.00** \\* | 0.25 | WRONG | — |", out)
        self.assertEqual(self.cells(log, "-r", "config.grid", "-c", "config.schedule", "--metric", "time"),
                         [["config.grid", "static"], ["2x1", "1e-06"]])
        self.assertEqual(self.cells(log, "--where", "kernel=hyb"), [["matrix", "hyb"], ["alpha", "skipped"]])

    def test_systems_are_not_mixed(self):
        log = self.write("run.jsonl", on("a"), on("a", median=9e-6, host__name="node2"),
                         on("a", median=5e-6, config__precision="f32"), on("a", median=7e-6, config__cache="cold"))
        out = self.table(log, "--format", "csv", "--metric", "time")[1]
        self.assertEqual([(row["system"], row["csr_rows"]) for row in csv.DictReader(io.StringIO(out))],
                         [("omp · f32 · 4 threads · CPU A · node1", "5e-06"),
                          ("omp · f64 · 4 threads · CPU A · node1", "1e-06"),
                          ("omp · f64 · 4 threads · CPU A · node1 · cold cache", "7e-06"),
                          ("omp · f64 · 4 threads · CPU A · node2", "9e-06")])
        titles = [line for line in self.table(log)[1].splitlines() if "GFLOP/s" in line]
        self.assertEqual(titles[-1], "omp · f64 · 4 threads · CPU A · node2: GFLOP/s")
        titles = [line for line in self.table(log, "--where", "host.name=node1")[1].splitlines() if "GFLOP/s" in line]
        self.assertEqual(titles[-1], "omp · f64 · 4 threads · CPU A · cold cache: GFLOP/s")  # one host: no name

    def test_other_products_are_not_mixed(self):
        """Old logs, which say nothing of vectors, are of one vector as the matrix is."""
        log = self.write("run.jsonl", record(2e-6),
                         record(1e-6, config__kernel="ell_rows", config__vectors=1, config__layout="columns",
                                config__op="as-is"),
                         *(record(2e-6, config__vectors=8, config__layout=layout, config__op=op)
                           for layout in ("columns", "rows") for op in ("as-is", "transpose")))
        out = self.table(log)[1]
        where = "omp · f64 · 4 threads · CPU A"
        self.assertEqual([line.removesuffix(": GFLOP/s") for line in out.splitlines() if "GFLOP/s" in line],
                         [where, *(f"{where} · 8 vectors in {words}" for words in
                                   ("columns", "columns, transpose", "rows", "rows, transpose"))])
        self.assertEqual((out.count("8.00"), out.count("ell_rows")), (4, 1), out)  # 2 nnz of 8 vectors in 2 us
        self.assertEqual(self.cells(log, "-c", "config.vectors", "--where", "config.layout=rows", "--where", "config.op=as-is"),
                         [["matrix", "8"], ["alpha", "8.0"]])

    def test_ranks_are_systems_and_columns(self):
        log = self.write("run.jsonl", record(4e-6), *(
            record(8e-6 / ranks, ranks__count=ranks, ranks__hosts=1, ranks__received_B=4000000, ranks__imbalance=1.25,
                   ranks__exchange_s=1e-6, ranks__hidden=0.75) for ranks in (2, 4)))
        titles = [line for line in self.table(log)[1].splitlines() if "GFLOP/s" in line]
        self.assertEqual([title.partition(" · 4 threads")[0] for title in titles],
                         ["omp · f64", "omp · f64 · 2 ranks", "omp · f64 · 4 ranks"])
        self.assertEqual(self.cells(log, "-c", "ranks.count", "--metric", "exchange"),
                         [["matrix", "2", "4"], ["alpha", "1e-06", "1e-06"]])
        for metric, text in ("halo", "4.00"), ("imbalance", "1.25"), ("hidden", "75%"):
            self.assertIn(text, self.table(log, "--metric", metric)[1])

    def test_matrices_are_never_in_one_cell(self):
        """Where neither rows nor columns are matrices, each has a table; of one value of a field each has a row or column."""
        several = {"ranks__count": 2, "ranks__hosts": 1, "ranks__received_B": 4000000}
        log = self.write("run.jsonl", *(on(matrix, median=median, **several)
                                        for matrix, median in (("alpha", 1e-6), ("beta", 2e-6))))
        for rows in "kernel", "config", "system", "host.name":
            for columns in "ranks", "ranks.count", "config.precision":
                rows_of = self.cells(log, "-r", rows, "-c", columns, "--metric", "time")[1:]
                self.assertEqual([row[-1] for row in rows_of], ["1e-06", "2e-06"], (rows, columns))
        out = self.table(log, "-r", "kernel", "-c", "ranks")[1]
        self.assertIn(" · alpha: the exchange of x", out)
        self.assertIn(" · beta: the exchange of x", out)
        self.assertNotIn("fastest of its configurations", out)
        self.assertEqual([row[0] for row in self.cells(log, "-r", "matrix.nnz", "-c", "ranks")[1:]], ["1000 alpha", "1000 beta"])
        self.assertEqual(self.cells(log, "-r", "kernel", "-c", "matrix.nnz", "--best=1", "--metric", "time"),
                         [["kernel", "1000 alpha"], ["csr_rows", "1e-06"]])
        self.assertEqual([row[0] for row in self.cells(log, "-c", "ranks")[1:]], ["alpha", "beta"])

    def test_columns_of_ranks(self):
        auto = {"config__requested": "auto"}
        of_ranks = [record(median, ranks__count=ranks, ranks__hosts=1, ranks__received_B=4000000, ranks__imbalance=1.25,
                           ranks__exchange_s=1e-6, ranks__hidden=0.75, **auto) for ranks, median in ((2, 4e-6), (4, 2e-6))]
        log = self.write("run.jsonl", record(4e-6, **auto), *of_ranks)
        head, *rows = self.cells(log, "-r", "ranks.count", "-c", "ranks")
        for row, (ranks, median) in zip(rows, (("2", "4e-06"), ("4", "2e-06"))):
            self.assertEqual(dict(zip(head, row)), {
                "ranks.count": ranks, "time": median, "halo MB": "4.0", "imbalance": "1.25", "exchange alone": "1e-06",
                "share hidden": "0.75", "efficiency": "0.5"})
        self.assertEqual(len(rows), 2)
        out = self.table(log, "-c", "ranks", "--mean")[1]
        self.assertIn("2 ranks", out)
        self.assertRegex(out, "alpha .*4.00 .*1.25 .*75% .*0.50")
        self.assertIn("no record is of several ranks", self.refused(65, self.write("one.jsonl", record(4e-6)), "-c", "ranks"))

    def test_efficiency_is_of_auto_on_one_rank(self):
        auto = {"config__requested": "auto"}
        alone = record(4e-6, **auto), record(1e-6)  # another kernel's time does not count
        of_ranks = [record(median, ranks__count=ranks, ranks__hosts=1, **auto) for ranks, median in ((2, 4e-6), (4, 2e-6))]
        self.assertEqual(self.cells(self.write("run.jsonl", *alone, *of_ranks), "-c", "ranks.count", "--metric", "scaling"),
                         [["matrix", "2", "4"], ["alpha", "0.5", "0.5"]])
        self.assertIn("?", self.table(self.write("two.jsonl", of_ranks[0]), "--metric", "scaling")[1])

    def test_what_tells_systems_apart_may_be_an_axis(self):
        log = self.write("run.jsonl", *(record(8e-6 / threads, config__threads=threads) for threads in (1, 2, 16)),
                         record(9e-6, config__threads=2, host__name="node2"))
        out = self.table(log, "-c", "config.threads", "--metric", "time", "--format", "csv")[1]
        self.assertEqual([(row["system"].split(" · ")[-1], row["1"], row["2"], row["16"])
                          for row in csv.DictReader(io.StringIO(out))],
                         [("node1", "8e-06", "4e-06", "5e-07"), ("node2", "", "9e-06", "")])

    def test_output_by_its_ending(self):
        log = self.write("run.jsonl", record(1e-6))
        for ending, start in ((".md", "omp · f64"), (".tex", r"% In the preamble: \usepackage{booktabs,graphicx}"),
                              (".csv", "system,matrix,")):
            path = os.path.join(self.folder, "x" + ending)
            self.assertEqual(self.table(log, "-o", path)[:2], (0, ""))
            with open(path, encoding="utf-8") as file:
                self.assertTrue(file.read().startswith(start), ending)

    def test_check_and_errors(self):
        good, bad = self.write("good.jsonl", record()), self.write("bad.jsonl", record(), "{oops")
        self.assertEqual(self.table("--check", good)[0], 0)
        self.assertIn("bad.jsonl:2: not JSON", self.refused(65, "--check", bad))
        self.refused(64, good, "--metric", "speed")
        self.refused(64, good, "--where", "kernel")
        self.assertIn("--where config.kernel=none: no record has that; config.kernel is csr_rows",
                      self.refused(65, good, "--where", "matrix=alpha", "--where", "kernel=none"))
        self.assertIn("config.blok is in none of them. Did you mean config.block?",
                      self.refused(65, good, "--where", "config.blok=1"))
        self.assertIn("no record has config.block: a kernel has a field only if",
                      self.refused(65, good, "-c", "config.block"))
        self.assertIn("Did you mean config.threads?", self.refused(65, good, "-c", "threads"))
        self.refused(66, os.path.join(self.folder, "absent"))
        self.refused(73, good, "-o", os.path.join(good, "x.md"))

    def test_marks_that_all_times_share_are_said_once(self):
        log = self.write("run.jsonl", on("a", timing__converged=False), on("a", "ell_rows", 2e-6, timing__converged=False),
                         on("b", timing__converged=False, timing__flags=["heat"]))
        out = self.table(log)[1]
        self.assertEqual(out.count("~"), 0)
        self.assertIn("All times: not settled.\n", out)
        self.assertIn("b         2.00 !\n", out)  # alone in its row it is no winner
        self.assertEqual(out.count("*"), 2)  # a's, and the legend's
        self.assertIn("!: disturbed while timed; empty: not run.", out)
        alone = self.table(log, "-k", "csr_rows")[1]
        self.assertNotIn("*", alone)
        self.assertNotIn("fastest", alone)

    def test_what_a_cell_comes_of_is_said(self):
        def said(*records):
            return [line for line in self.table(self.write("run.jsonl", *records))[1].splitlines() if line.startswith("A cell")]
        self.assertEqual(said(on("a"), on("b")), [])
        self.assertEqual(said(on("a"), on("a", median=2e-6)), ["A cell is the median of its repeats."])
        self.assertEqual(said(on("a"), on("a", config__grid="2x1")), ["A cell is the fastest of its configurations."])
        self.assertEqual(said(on("a"), on("a", config__grid="2x1"), on("a", median=2e-6, config__grid="2x1")),
                         ["A cell is the fastest of its configurations, each the median of its repeats."])

    def test_ties_are_not_marked_one_by_one_where_nearly_all_are_tied(self):
        def wide(kernel, median, low=0.5):
            return on("a", kernel, median * 1e-6, timing__q1_s=low * 1e-6, timing__q3_s=9e-6)
        tied = [wide(f"kernel{k}", k + 1) for k in range(5)]
        out = self.table(self.write("run.jsonl", *tied))[1]
        self.assertNotIn("=", out)
        self.assertIn("Nearly all are tied with the fastest (quartiles overlap): noise hides the differences.\n", out)
        for records in ((*tied, wide("slower", 10, 9.5)), tied[:4]):
            out = self.table(self.write("run.jsonl", *records))[1]
            self.assertEqual(out.count("="), len(records) if len(records) == 4 else 5)
            self.assertNotIn("Nearly", out)

    def test_what_nobody_verified_is_not_ranked(self):
        log = self.write("run.jsonl", on("a", median=1e-6, check__status="off"), on("a", "ell_rows", 2e-6))
        out = self.table(log)[1]
        self.assertIn("2.00 ?      1.00\n", out)
        self.assertIn("?: result not verified, not ranked.", out)
        log = self.write("run.jsonl", on("a", median=1e-6, check__status="off"), on("a", median=2e-6, config__grid="2x1"))
        self.assertEqual(self.cells(log, "--metric", "time")[1], ["a", "2e-06"])  # a cell shows what was verified
        log = self.write("run.jsonl", on("a", check__status="off"), on("b", check__status="off"))
        self.assertIn("All times: result not verified, not ranked.", self.table(log, "-k", "csr_rows")[1])

    def test_no_table_is_sure_of_disturbed_times(self):
        busy = {"timing__flags": ["other programs used 1.0 processors"]}
        for more, said in ((busy, "*: fastest of its row, which disturbed times cannot decide."), ({}, "*: fastest of its row; !")):
            log = self.write("run.jsonl", on("a", **more), on("a", "ell_rows", 2e-6, **busy))
            self.assertIn(said, self.table(log)[1])

    def test_a_terminal_without_the_letters(self):
        log = self.write("run.jsonl", on("a", timing__converged=False), on("b"))
        done = subprocess.run([sys.executable, table.__file__, log, "--metric", "time"], capture_output=True, text=True,
                              env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("1.00 us ~", done.stdout)
        self.assertTrue(done.stdout.isascii())

    def test_matrices_of_one_name_are_two_rows(self):
        log = self.write("run.jsonl", on("a", matrix__hash="abcd1"), on("a", median=2e-6, matrix__hash="abcd2"),
                         on("b", matrix__hash=None), on("b", median=4e-6, matrix__hash=None, matrix__nnz=500))
        rows = self.cells(log, "--metric", "time")
        self.assertEqual(rows[1:], [["a #abcd1", "1e-06"], ["a #abcd2", "2e-06"], ["b 500 nnz", "4e-06"],
                                    ["b 1000 nnz", "1e-06"]])
        self.assertEqual(len(self.cells(log, "-m", "a")), 3)


class PaperTest(TableCase):

    def test_kernels_by_name_glob_alias_and_backend(self):
        log = self.write("run.jsonl", on("a", "csr_rows", 5e-6, config__alias="csr1"), on("a", "csr_blocks", 3e-6),
                         on("a", "spc5_rows", 2e-6), on("a", "mkl_csr", 4e-6), on("a", "hubs", 1e-6, config__backend="cuda"))
        def heads(*words):
            return self.cells(log, *words)[0][1:]
        self.assertEqual(heads("-k", "csr1"), ["csr_rows"])
        self.assertEqual(heads("-k", "spc5_*,csr_*"), ["spc5_rows", "csr_blocks", "csr_rows"])
        self.assertEqual(heads("-k", "csr1", "-k", "csr_blocks"), ["csr_rows", "csr_blocks"])
        self.assertEqual(heads("-k", "peers"), ["mkl_csr"])
        self.assertEqual(heads("-k", "cuda:*"), ["hubs"])
        self.assertEqual(len(heads("-k", "all")), 5)
        self.assertEqual(len(heads("-k", "Everything")), 5)
        self.assertEqual(heads("-k", "CSR1"), ["csr_rows"])
        self.assertEqual(len(heads("-k", "omp:all")), 4)
        out = self.table(log, "-k", "omp:all")[1]  # the fastest first, not as a glob finds them
        self.assertEqual(out.splitlines()[1].split()[1:], ["spc5_rows", "csr_blocks", "mkl_csr", "csr_rows"])

    def test_unknown_names_are_refused(self):
        log = self.write("run.jsonl", *many(2))
        talk = self.refused(65, log, "-k", "kernel0,kernl1")
        self.assertIn("-k kernl1: no such record in the logs. Did you mean kernel1? There are kernel0, kernel1\n", talk)
        self.assertIn("-m gamma: no such record", self.refused(65, log, "-m", "gamma"))
        self.assertIn("-k names nothing", self.refused(64, log, "-k", ","))
        for number in ("0", "-1", "x", "1.5", ""):
            self.assertIn("is no number from 1", self.refused(64, log, f"--best={number}"))
        self.assertIn("--as alph: no row or column is called that. Did you mean alpha?", self.refused(65, log, "--as", "alph=x"))
        self.assertIn("two would be called x", self.refused(65, log, "--as", "alpha=x", "--as", "beta=x"))
        self.refused(64, log, "--as", "alpha")

    def test_speedups_keep_their_baseline(self):
        log = self.write("run.jsonl", on("a", "csr_rows", 4e-6), on("a", "ell_rows", 2e-6))
        self.assertEqual(self.cells(log, "-k", "ell_rows", "--metric", "speedup")[1], ["a", "2.0"])

    def test_the_best_columns(self):
        # Over both rows csr 1, 2 (geometric mean 1.41), ell 2, 1 (the same), hyb 3 and skipped, which counts as 10.
        log = self.write("run.jsonl", on("a", "csr", 1e-6), on("a", "ell", 2e-6), on("a", "hyb", 3e-6),
                         on("b", "csr", 2e-6), on("b", "ell", 1e-6),
                         skipped("no", config__kernel="hyb", matrix__name="b", matrix__hash="b"), on("a", "coo", 5e-6), on("b", "coo", 5e-6))
        for count, kept in ((1, ["csr"]), (2, ["csr", "ell"]), (3, ["csr", "ell", "coo"]), (9, ["csr", "ell", "coo", "hyb"])):
            out = self.table(log, f"--best={count}")[1]
            self.assertEqual(out.splitlines()[1].split()[1:], kept)
        out = self.table(log, "--best=2", "-k", "hyb,coo,ell")[1]  # in the order of -k, compared with each other alone
        self.assertEqual([line.split() for line in out.splitlines()[1:4]],
                         [["matrix", "coo", "ell"], ["a", "0.400", "1.00", "*"], ["b", "0.400", "2.00", "*"]])
        self.assertIn("GFLOP/s, the 2 fastest of 3 kernels\n", out)
        log = self.write("run.jsonl", on("a", "csr", 1e-6), on("b", "csr", 50e-6), on("a", "ell", 2e-6), on("b", "ell", 1e-6),
                         on("a", "coo", 3e-6), on("b", "coo", 2e-6))
        out = self.table(log, "--best=2")[1]  # csr, the fastest on a, is not among them
        self.assertEqual([line.split() for line in out.splitlines()[1:3]], [["matrix", "ell", "coo"], ["a", "1.00", "*", "0.667"]])

    def test_geometric_means_are_of_the_same_rows(self):
        log = self.write("run.jsonl", on("a", "csr", 1e-6), on("a", "ell", 2e-6), on("b", "csr", 4e-6), on("b", "ell", 2e-6),
                         on("c", "csr", 1e-9), skipped("no", config__kernel="ell", matrix__name="c", matrix__hash="c"))
        rows = self.cells(log, "--mean", "--metric", "time")
        self.assertEqual(rows[-1][0], "geometric mean (2 of 3)")
        for text in rows[-1][1:]:
            self.assertAlmostEqual(float(text) / 2e-6, 1)
        self.assertEqual(self.cells(log, "--mean", "--metric", "time", "-m", "a,b")[-1][0], "geometric mean")
        status, out, talk = self.table(log, "--mean", "-m", "c")
        self.assertEqual(status, 0)
        self.assertNotIn("geometric mean", out)
        self.assertIn("no row has a value in every column", talk)

    def test_a_mean_has_the_marks_of_its_times(self):
        log = self.write("run.jsonl", on("a", "csr", timing__converged=False), on("b", "csr"), on("a", "ell", 2e-6), on("b", "ell", 2e-6))
        line = next(line for line in self.table(log, "--mean")[1].splitlines() if line.startswith("geometric"))
        self.assertEqual(line.split(), ["geometric", "mean", "2.00", "*~", "1.00"])

    def test_transposed_and_renamed(self):
        log = self.write("run.jsonl", *many(2))
        out = self.table(log, "--transpose", "--mean", "--as", "alpha=A", "--as", "kernel1=ours")[1]
        self.assertEqual([line.split() for line in out.splitlines()[1:4]],
                         [["kernel", "A", "beta", "geometric", "mean"], ["kernel0", "2.00", "*", "2.00", "*", "2.00", "*"],
                          ["ours", "1.00", "1.00", "1.00"]])
        self.assertIn("*: fastest of its column.", out)
        self.assertEqual([row[0] for row in self.cells(log, "-m", "beta,alpha", "--as", "beta=B")], ["matrix", "B", "alpha"])

    def test_times_on_one_matrix_are_compared_wherever_they_stand(self):
        log = self.write("run.jsonl", *many(9), *(on("tiny", f"kernel{k}", (9 - k) * 1e-9) for k in range(9)))
        for words in (("-r", "kernel", "-c", "matrix"), ("--transpose",)):
            lines = [line.split() for line in self.table(log, *words)[1].splitlines()]
            self.assertEqual(lines[1], ["kernel", "alpha", "beta", "tiny"])
            self.assertEqual(lines[2][:5], ["kernel0", "2.00", "*", "2.00", "*"])
            self.assertEqual(len(lines), 2 + 9 + 1)  # rows do not make it wider
        self.assertEqual(self.cells(log, "-r", "kernel", "-c", "matrix", "-m", "tiny,beta")[0], ["kernel", "tiny", "beta"])
        self.assertEqual(self.cells(log, "--transpose", "-k", "kernel2,kernel1")[1][0], "kernel2")

    def test_auto_is_called_by_its_own_name(self):
        log = self.write("run.jsonl", on("a", "csr_rows", config__alias="csr1", config__requested="auto"), on("a", "csr_blocks"))
        self.assertEqual(self.cells(log, "-k", "csr*")[0], ["matrix", "csr_blocks"])
        self.assertEqual(self.cells(log, "-k", "auto")[0], ["matrix", "auto"])

    def test_help_fits_80_columns(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), mock.patch.dict(os.environ, {"COLUMNS": "80"}), self.assertRaises(SystemExit):
            table.main(["--help"])
        self.assertLessEqual(max(map(len, out.getvalue().splitlines())), 80)

    def test_nothing_is_wider_than_was_asked_for(self):
        log = self.write("run.jsonl", *many(27))
        status, out, talk = self.table(log)
        self.assertEqual(status, 0)
        self.assertEqual(out.splitlines()[1].split(), ["matrix", *(f"kernel{k}" for k in range(8)), "fastest", "of", "27"])
        self.assertIn("19 slower kernels left out: --best=N shows N of them, -k all shows every one", talk)
        for form in ("md", "tex"):
            self.assertNotIn("kernel8", self.table(log, "--format", form)[1])
        self.assertEqual(len(self.cells(log)[0]), 28)  # for programs: all
        for width in (80, 100, 40, 10):
            status, out, _ = self.table(log, columns=width)
            self.assertEqual(status, 0)
            self.assertLessEqual(max(map(len, out.splitlines())), max(width, 40), out)
            self.assertIn("fastest of 27", out)
        for words in (("-k", "all"), ("--best=27",)):
            out = self.table(log, *words, columns=80)[1]
            self.assertEqual(sum(f"kernel{k}" in out.split() for k in range(27)), 27)
            self.assertLessEqual(max(map(len, out.splitlines())), 80, out)
            self.assertGreater(len(self.table(log, *words)[1].splitlines()[1]), 200)  # a pipe has no edge

    def test_a_winner_with_many_settings_fits_the_terminal(self):
        usual = {"config__params": {"codes": 1, "cut": 0, "sigma": 4096}, "config__repeats": "threads"}
        auto = on("a_matrix_with_a_long_name", "csell_slices_of_a_kind", 1e-7, config__requested="auto", config__isa="avx512",
                  omp={"threads": 4}, config__threads=1, config__params={"codes": 1, "cut": 0, "sigma": 4096}, config__repeats="threads")
        log = self.write("run.jsonl", *many(12, ["a_matrix_with_a_long_name"]), auto)
        for width in (80, 60, 40):
            out = self.table(log, columns=width)[1]
            self.assertLessEqual(max(map(len, out.splitlines())), width, out)
            self.assertIn("csell_slices_of_a_kind threads=1 isa=avx512 sigma=4096 (auto) 20.0", " ".join(out.split()))

    def test_the_fastest_is_named_also_where_it_is_not_shown(self):
        log = self.write("run.jsonl", *many(12), *(on("gamma", f"kernel{k}", (12 - k) * 1e-6) for k in range(12)))
        out = self.table(log)[1]
        self.assertEqual(next(line for line in out.splitlines() if line.startswith("gamma")).split()[-2:],
                         ["kernel11", "2.00"])
        self.assertEqual(next(line for line in out.splitlines() if line.startswith("alpha")).split()[-2:],
                         ["kernel0", "2.00"])

    def test_a_winner_is_a_configuration(self):
        """auto ran a kernel with other parameters than those timed under its name: its time counts."""
        auto = {"config__requested": "auto", "config__params": {"sigma": 4096}, "config__threads": 1, "omp": {"threads": 4}}
        named = on("gamma", "sell16_lanes", 2e-6, config__params={"sigma": 1024})
        others = [on("gamma", f"kernel{k}", (k + 5) * 1e-6) for k in range(12)]
        log = self.write("run.jsonl", named, on("gamma", "sell16_lanes", 1e-6, **auto), *others)
        line = next(line for line in self.table(log)[1].splitlines() if line.startswith("gamma"))
        self.assertRegex(line, r"^gamma +2.00 \* +1.00 .*  sell16_lanes threads=1 sigma=4096 \(auto\) 2.00$")
        self.assertIn(r"\textbf{2.00}", self.table(log, "--format=tex")[1])
        # The same configuration under both names is one winner, and no tie of two.
        log = self.write("run.jsonl", named, on("gamma", "sell16_lanes", 1.9e-6, config__requested="auto",
                                                config__params={"sigma": 1024}), *others)
        self.assertRegex(self.table(log)[1], r"gamma +1.05 \* +1.00 \* ")

    def test_latex(self):
        log = self.write("run.jsonl", *many(6), on("a_b&c%d#e~f^g", "kernel_of_a_long_name", 3e-6, timing__converged=False))
        path = os.path.join(self.folder, "t.tex")
        status, _, talk = self.table(log, "--best=3", "--mean", "-o", path)
        self.assertEqual(status, 0)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual([text.count(word) for word in (r"\toprule", r"\bottomrule", r"\caption", r"\begin{table}")], [1] * 4)
        self.assertIn(r"\resizebox{\ifdim\width>\linewidth\linewidth", text)
        self.assertIn(r"*: fastest of its row", text)
        self.assertIn(r"\textbf{2.00}\rlap{\textsuperscript{$\ast$}} & 1.00 & ", text)
        self.assertIn(r"    pdflatex -jobname=t '\documentclass{article}' '\usepackage{booktabs,graphicx}' '\begin{document}' "
                      rf"'\input{{{path[:-4]}}}' '\end{{document}}'", talk)
        short = self.table(log, "--best=3", "-o", path, columns=80)[2].partition("look at it:\n")[2]
        self.assertLessEqual(max(map(len, short.splitlines())), 80)
        typed = [subprocess.run(["sh", "-c", text.strip().replace("pdflatex", "printf '%s\n'", 1)], capture_output=True, check=True).stdout
                 for text in (short, talk.partition("look at it:\n")[2])]
        self.assertEqual(*typed)
        all_of_it = self.table(log, "--format", "tex", "-k", "all")[1]
        self.assertIn(r"\begin{tabular}[b]{@{}r@{}}kernel\_\\of\_a\_\\long\_name\end{tabular}", all_of_it)
        self.assertIn(r"a\_b\&c\%d\#e\textasciitilde{}f\textasciicircum{}g", all_of_it)

    def test_latex_of_a_paper_with_two_columns(self):
        log = self.write("run.jsonl", *many(10))
        for count, name in ((2, "table"), (9, "table*")):
            text = self.table(log, f"--best={count}", "--format", "tex")[1]
            self.assertIn(f"\\begin{{{name}}}\n", text)
            self.assertIn(f"\\end{{{name}}}\n", text)

    @unittest.skipUnless(PDFLATEX, "no pdflatex")
    def test_latex_fits_its_page(self):
        logs = {"wide": (many(27), 1), "long": (many(9, [f"gen:matrix{k}" for k in range(60)]), None)}
        logs["five"] = (many(30, ["a_b", "b&c", "c%", "d#", "e~^"]), 1)
        for name, (records, pages) in logs.items():
            log, path = self.write(f"{name}.jsonl", *records), os.path.join(self.folder, f"{name}.tex")
            for words in (("-k", "all", "--mean"), ("--mean",), ("--metric", "time", "--transpose")):
                self.assertEqual(self.table(log, "-o", path, *words)[0], 0)
                with open(path, encoding="utf-8") as file:
                    packages = file.readline().partition("{")[2].partition("}")[0]
                for options in ("", "[twocolumn]") if pages else ("",):  # longtable wants one column
                    done = subprocess.run([PDFLATEX, "-interaction=nonstopmode", "-halt-on-error", f"-jobname={name}",
                                           f"\\documentclass{options}{{article}}\\usepackage{{{packages}}}\\begin{{document}}"
                                           f"\\input{{{name}}}\\end{{document}}"], cwd=self.folder, capture_output=True, check=False)
                    said = done.stdout.decode(errors="replace")
                    self.assertEqual(done.returncode, 0, said)
                    self.assertNotIn("Overfull \\hbox", said, (name, words, options))
                    if pages:
                        self.assertIn(f"{name}.pdf (1 page", said)


class MachinesTest(TableCase):
    """Two machines called vm, whose processor has the same name."""

    def hosts(self, *records):
        """The hosts of the tables, and their times, of records of a vm."""
        log = self.write("run.jsonl", *records)
        status, out, talk = self.table(log, "--format", "csv", "--metric", "time")
        self.assertEqual(status, 0, talk)
        return [(row[0].rpartition(" · ")[2], row[2]) for row in list(csv.reader(io.StringIO(out)))[1:]]

    def vm(self, median, gpu=None, **cpu):
        """A record of the vm with these facts."""
        return on("a", median=median, host__name="vm", cpu={"model": "CPU", **cpu}, gpu=gpu or {"name": None})

    def test_cores_tell_machines_apart(self):
        self.assertEqual(self.hosts(self.vm(2e-6, cores=16), self.vm(1e-6, cores=2)),
                         [("vm (2 cores)", "1e-06"), ("vm (16 cores)", "2e-06")])
        self.assertEqual(self.cells(os.path.join(self.folder, "run.jsonl"), "-r", "host.name", "--metric", "time")[1:],
                         [["vm (2 cores)", "1e-06"], ["vm (16 cores)", "2e-06"]])

    def test_one_machine_has_no_label(self):
        # Memory that is a little less under another kernel, and facts that a build without hwloc does not log.
        self.assertEqual(self.hosts(self.vm(1e-6, cores=16, mem_B=135_000_000_000), self.vm(3e-6, cores=16, mem_B=134_500_000_000),
                                    self.vm(2e-6, mem_B=135_000_000_000)), [("vm", "2e-06")])

    def test_the_plainest_difference_is_the_label(self):
        self.assertEqual(self.hosts(self.vm(1e-6, cores=16, mem_B=64e9), self.vm(2e-6, cores=16, mem_B=256e9)),
                         [("vm (64 GB)", "1e-06"), ("vm (256 GB)", "2e-06")])
        self.assertEqual(self.hosts(self.vm(1e-6, cores=16, mem_B=64e9), self.vm(2e-6, cores=16, mem_B=256e9), self.vm(3e-6, cores=2, mem_B=64e9)),
                         [("vm (2 cores, 64 GB)", "3e-06"), ("vm (16 cores, 64 GB)", "1e-06"), ("vm (16 cores, 256 GB)", "2e-06")])

    def test_a_label_for_each_driver_and_for_what_no_log_says(self):
        gpus = [{"name": "G", "driver": driver} for driver in (12080, 13000, None)]
        self.assertEqual(self.hosts(*(self.vm((k + 1) * 1e-6, gpu) for k, gpu in enumerate(gpus))),
                         [("vm (driver 12.8)", "1e-06"), ("vm (driver 13.0)", "2e-06"), ("vm (unknown driver)", "3e-06")])


class OwnLogsTest(TableCase):
    """Checks what is read when no log is named."""

    def setUp(self):
        super().setUp()
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)

    def test_own_logs_come_before_the_reference(self):
        self.write("log/vm.jsonl", on("mine"))
        self.write("log/deep/er.jsonl", on("deeper"))
        self.write("log/reference/h200.jsonl", on("theirs"))
        self.assertEqual([row[0] for row in self.cells()], ["matrix", "deeper", "mine"])
        self.assertEqual([row[0] for row in self.cells("log/")], ["matrix", "deeper", "mine"])
        self.assertEqual([row[0] for row in self.cells("log/reference")], ["matrix", "theirs"])
        self.assertEqual([row[0] for row in self.cells("log", "log/reference/h200.jsonl")], ["matrix", "deeper", "mine", "theirs"])
        self.assertEqual(self.run_main()[0], 0)
        self.assertEqual({row["matrix"] for row in self.rows("best.csv")}, {"mine", "deeper"})

    def test_without_own_logs_it_is_said_what_to_type(self):
        self.assertIn("no logs in log/ yet: 'spmv sweep FOLDER' measures and logs there", self.refused(66))
        self.write("log/reference/h200.jsonl", on("theirs"))
        for words in ((), ("log",), ("log/",)):
            self.assertIn("no logs in log/ yet: 'spmv sweep FOLDER' measures and logs there, 'spmv FILE.mtx --log=log' "
                          "too. Name log/reference to see what others measured\n", self.refused(66, *words))
        status, talk = self.run_main()
        self.assertEqual(status, 66)
        self.assertIn("make_tables: no logs in log/ yet", talk)

    def test_empty_and_damaged_logs(self):
        self.write("log/vm.jsonl")
        self.assertIn("log: no usable record in 1 log: empty, or no runs\n", self.refused(65))
        self.write("log/vm.jsonl", *(["{damaged"] * 40), on("mine"))
        status, _, talk = self.table()
        self.assertEqual(status, 0)
        self.assertEqual(talk.count("not JSON"), 12)
        self.assertIn("28 more problems: 'spmv table --check LOG' says all\n", talk)
        self.assertEqual(self.table("--check")[2].count("not JSON"), 40)


if __name__ == "__main__":
    unittest.main()
