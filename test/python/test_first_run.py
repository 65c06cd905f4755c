#!/usr/bin/env python3
"""Tests of what a newcomer meets: a run that is stopped, a full disk, the run without arguments, and what
a table says of times that are not to be trusted."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SPMV = os.environ.get("SPMV", os.path.join(ROOT, "spmv"))
KERNELS = "omp:csr_serial,omp:csr_rows,omp:ell_rows"
SHORT = ["-m", "gen:poisson2d:60", "-k", KERNELS, "-t", "1", "--probe=off"]
QUICK = ["--min-time=0", "--max-time=0", "--samples=3"]
FOREVER = ["--min-time=0.05", "--max-time=600", "--max-noise=0%"]
HAS_LOG = "jansson" in subprocess.run([SPMV, "-V", "-v"], capture_output=True, text=True,
                                      check=True).stdout


def interruptible():
    """A process that starts the tests in the background ignores SIGINT, and so would the program."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class FirstRunTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.log = os.path.join(folder.name, "x.jsonl")

    def start(self, *words):
        process = subprocess.Popen([SPMV, *words], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, preexec_fn=interruptible)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def run_to_end(self, *words, **environment):
        variables = {k: v for k, v in os.environ.items() if k != "OMP_WAIT_POLICY"}
        done = subprocess.run([SPMV, *words], cwd=self.folder, capture_output=True, text=True,
                              timeout=600, env={**variables, **environment}, check=False)
        return done.returncode, done.stdout, done.stderr

    def stop(self, which):
        """Stopped once all rows have been shown; exit code, table, talk."""
        log = [f"--log={self.log}"] if HAS_LOG else []
        process = self.start(*SHORT, *FOREVER, *log)
        said = ""
        for line in process.stderr:
            said += line
            if said.count("so far\n") == 3:
                break
        process.send_signal(which)
        said += process.stderr.read()
        table = process.stdout.read()
        return process.wait(timeout=600), table, said

    def test_progress_names_what_tells_rows_apart(self):
        said = self.run_to_end("-m", "gen:poisson2d:60", "-k", "omp:csr_blocks", "-g", "2x1,4x1", "-p", "f64,f32", "-t", "1",
                               "--probe=off", "--no-log", "--progress=on", *QUICK)[2]
        for cell in (" --grid=2x1", " f32 --grid=4x1"):
            self.assertRegex(said, rf"of 4: omp:csr_blocks{cell}\x1b")

    def test_what_was_measured_outlives_a_signal(self):
        for which, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            found, table, said = self.stop(which)
            self.assertEqual(found, code, said)
            self.assertIn("interrupted; 3 of 3 rows", said)
            self.assertEqual([line.split()[-1] for line in table.splitlines()],
                             ["check", "ok", "ok", "ok"], table)
            if not HAS_LOG:
                continue
            with open(self.log, encoding="utf-8") as file:
                records = [json.loads(line) for line in file]
            os.remove(self.log)
            self.assertEqual([r["status"] for r in records], ["ok"] * 3)
            for r in records:
                self.assertIs(r["timing"]["settled"], False)
                self.assertEqual(r["check"]["status"], "ok")

    def test_a_long_run_says_how_long_and_shows_each_row_once_before_the_table(self):
        code, table, said = self.run_to_end(*SHORT, "--min-time=0.2", "--max-time=7", "--max-noise=100%", "--no-log",
                                            OMP_WAIT_POLICY="passive")
        self.assertEqual(code, 0, said)
        lines = [line.strip() for line in said.splitlines()]
        self.assertIn("timing 3 kernels in turns: 1 to 21 s", lines)
        shown = [re.search(r"omp:\S+", line)[0] for line in lines if re.search("so far$|^[1-3] of 3: ", line)]
        self.assertEqual(sorted(shown), sorted(KERNELS.split(",")))  # each once
        self.assertEqual(len(table.splitlines()), 4)

    def test_a_short_run_says_six_lines_beside_the_table(self):
        """Whatever the machine does meanwhile; the last one says who won and by how much."""
        words = ["-m", "gen:mesh:20000", "-k", "omp:csr_rows,omp:ell_rows", "--no-log", "--probe=off", "--max-time=1"]
        for more in ([], ["-t", str(2 * len(os.sched_getaffinity(0)))]):
            said = self.run_to_end(*words, *more)[2]
            self.assertLessEqual(len(said.splitlines()), 6, said)
            self.assertRegex(said.splitlines()[-1], "^fastest: ")
            self.assertEqual(said.count("threads waited"), said.count("~ !") if "~ !" in said else said.count("threads waited"))

    @unittest.skipUnless(HAS_LOG, "built without jansson: no log")
    def test_a_full_disk_costs_no_row_of_the_table(self):
        os.symlink("/dev/full", self.log)
        code, table, said = self.run_to_end(*SHORT, *QUICK, f"--log={self.log}")
        self.assertEqual(code, 73, said)
        self.assertEqual(said.count("cannot write"), 1, said)
        self.assertEqual(len(table.splitlines()), 4, table)

    def test_without_arguments_it_is_brief(self):
        words = ["-k", "omp:csr_rows,omp:csr_serial,omp:csr_blocks,omp:ell_rows", "--no-log", "--probe=off"]
        code, table, said = self.run_to_end(*words)
        self.assertEqual(code, 0, said)
        self.assertIn("(built in", said)
        self.assertNotIn(" so far", said)
        self.assertRegex(said.splitlines()[-1], "^fastest: ")
        self.assertEqual(len(table.splitlines()), 5)
        said = self.run_to_end(*words, "--max-noise=100%", SPMV_MAX_TIME="5", OMP_WAIT_POLICY="passive")[2]
        self.assertIn("timing 4 kernels in turns: 2 to 20 s\n", said)  # as asked

    def test_without_kernels_auto_runs_beside_the_papers(self):
        started = time.monotonic()
        table, said = self.run_to_end("-m", "gen:poisson2d:60", "--backend=omp", "--no-log", "--probe=off")[1:]
        self.assertLess(time.monotonic() - started, 60)  # 4 to 9 s of timing, beside others
        self.assertEqual([line[2:].split()[0] for line in table.splitlines()[2:]],
                         ["csr_serial", "csr_rows", "csr_blocks", "csr_tiles", "csr_tiles_copied", "ell_rows", "ell_blocks",
                          "ell_tiles"])
        self.assertIn("(auto)", table.splitlines()[1])
        self.assertRegex(said.splitlines()[-1], r"^fastest: .*")

    def test_what_is_not_verified_is_not_ranked(self):
        code, table, said = self.run_to_end(*SHORT, *QUICK, "--no-log", "--verify=off")
        self.assertEqual(code, 0, said)
        self.assertEqual([line[0] for line in table.splitlines()], [" "] * 4, table)
        self.assertNotIn("fastest", said)

    def test_a_lone_row_is_no_winner(self):
        for words in (["-k", "omp:csr_rows"], ["-k", "auto"], ["-k", "omp:csr_rows", "-p", "f64,f32"]):
            code, table, said = self.run_to_end("-m", "gen:poisson2d:9", *words, "--backend=omp", *QUICK, "--no-log")
            self.assertEqual(code, 0, said)
            self.assertEqual({line[0] for line in table.splitlines()}, {" "}, table)
            self.assertNotIn("fastest", said)

    def test_the_table_marks_what_is_not_settled(self):
        words = [*SHORT, "--no-log", "--min-time=0.1", "--max-time=0.1"]
        table, said = self.run_to_end(*words, "--max-noise=0%")[1:]
        self.assertEqual(table.count("%~"), 3, table)
        calm = len([line for line in table.splitlines() if "%~" in line and "!" not in line])
        self.assertEqual("is not known to within 0%" in said, calm > 0, table + said)
        table, said = self.run_to_end(*words, "--max-noise=99%", OMP_WAIT_POLICY="passive")[1:]
        self.assertNotIn("is not known to within", said)  # on a busy machine threads may wait, which is said instead
        self.assertEqual("  ~ ! " in said, table.count("%~") > 0, table + said)

    def test_it_says_what_to_type_where_threads_wait(self):
        cores = len(os.sched_getaffinity(0))
        words = ["-m", "gen:poisson2d:200", "-k", "omp:csr_rows", "--no-log", "--min-time=0.3", "--max-time=0.3"]
        said = self.run_to_end(*words, "-t", str(4 * cores))[2]
        self.assertIn(f"{4 * cores} threads share {cores} processors and wait for each other; -t {cores} gives", said)
        self.assertRegex(said, r"! .*threads waited for a core \d+% of the time\n")
        self.assertEqual(said.count("-t "), 1, said)


if __name__ == "__main__":
    unittest.main()
