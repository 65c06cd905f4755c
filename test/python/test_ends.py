#!/usr/bin/env python3
"""Tests of how the program ends where it is stopped or cannot write: closed output, Ctrl-C, a full disk; and of what it says
when it has kept nothing."""

import json
import os
import resource
import signal
import subprocess
import tempfile
import time
import unittest

from logfixture import record

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SPMV = os.environ.get("SPMV", os.path.join(ROOT, "spmv"))
RUN = ["-m", "gen:poisson2d:9", "-k", "omp:csr_rows", "-t1", "--min-time=0", "--max-time=0", "--samples=3", "--probe=off"]
FEATURES = subprocess.run([SPMV, "-V", "-v"], capture_output=True, text=True, check=True).stdout
INTERRUPTED = 130


class Ends(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def log(self, name="x.jsonl", count=3):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record(1e-3 * (k + 1), 0.5, matrix__name=f"m{k}")) + "\n" for k in range(count))
        return self.path(name)

    def spmv(self, *words, before=None):
        return subprocess.run([SPMV, *words], cwd=self.folder, capture_output=True, text=True, timeout=120, check=False,
                              preexec_fn=before)


class Closed(Ends):

    def code_of(self, *words):
        return subprocess.run([SPMV, *words], cwd=self.folder, stderr=subprocess.DEVNULL, timeout=120, check=False,
                              preexec_fn=lambda: os.close(1)).returncode

    def test_results_that_go_nowhere_are_a_failure(self):
        self.log()
        for words in ([*RUN, "--no-log"], ["list"], ["info", "gen:poisson2d:9"], ["doctor"], ["table", "x.jsonl"],
                      ["compare", "x.jsonl", "x.jsonl"], ["--version"]):
            self.assertEqual(self.code_of(*words), 73, words)

    @unittest.skipUnless("jansson" in FEATURES, "built without jansson: no log")
    def test_a_log_has_them(self):
        self.assertEqual(self.code_of(*RUN, "--log=kept.jsonl"), 0)
        with open(self.path("kept.jsonl"), encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 1)
        self.assertEqual(self.code_of(*RUN, "--no-log", "-o", "table"), 0)


class Interrupted(Ends):
    """Ctrl-C while the program reads a pipe that says nothing."""

    def writer(self, process, fifo):
        """The pipe's other end, once the program reads it."""
        while process.poll() is None:
            try:
                return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                time.sleep(0.01)
        self.fail(f"{process.args} did not read: {process.communicate()}")

    def interrupt(self, *words, fifo, first=b""):
        os.mkfifo(self.path(fifo))
        with subprocess.Popen([SPMV, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
            writer = self.writer(process, self.path(fifo))
            os.write(writer, first)
            process.send_signal(signal.SIGINT)
            out, talk = process.communicate(timeout=60)
            os.close(writer)
        os.unlink(self.path(fifo))
        return process.returncode, out, talk

    def test_one_line_and_130(self):
        for words in (["a.mtx", "-q"], ["info", "a.mtx"], ["tune", "a.mtx", "-k", "sell_slices", "-q"]):
            code, out, talk = self.interrupt(*words, fifo="a.mtx", first=b"%%MatrixMarket matrix coordinate real general\n")
            self.assertEqual((code, out, talk.count("\n")), (INTERRUPTED, "", 1), (words, talk))
            self.assertIn("interrupted", talk)

    def test_what_was_printed_before_stays(self):
        code, out, talk = self.interrupt(*RUN, "--no-log", "-q", "-m", "a.mtx", fifo="a.mtx")
        self.assertEqual(code, INTERRUPTED, talk)
        self.assertIn("csr_rows", out)

    def test_tools_say_a_line_too(self):
        for words in (["table", "a.jsonl"], ["report", "a.jsonl", "-o", "r.html"], ["compare", "a.jsonl", "a.jsonl"]):
            code, out, talk = self.interrupt(*words, fifo="a.jsonl", first=b"{")
            self.assertEqual((code, out, talk.count("\n")), (INTERRUPTED, "", 1), (words, talk))
            self.assertFalse(os.path.exists(self.path("r.html")))

    def test_while_python_is_loaded(self):
        """The signal comes when it may; there is never a trace."""
        self.log()
        for wait in (0.02, 0.06, 0.1, 0.15, 0.2):
            with subprocess.Popen([SPMV, "table", "x.jsonl"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
                try:
                    process.communicate(timeout=wait)
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGINT)
                _, talk = process.communicate(timeout=60)
                self.assertNotIn("Traceback", talk)


class FullDisk(Ends):
    """No file may become larger than so many bytes."""

    def limit(self, size):
        def before():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return before

    def test_no_half_report(self):
        log = self.log()
        done = self.spmv("report", log, "-o", "r.html", "--no-charts", before=self.limit(4000))
        self.assertEqual(done.returncode, 73, done.stderr)
        self.assertIn("r.html: File too large", done.stderr)
        self.assertEqual(os.listdir(self.folder), ["x.jsonl"])
        with open(self.path("r.html"), "w", encoding="utf-8") as file:
            file.write("the report before")
        self.spmv("report", log, "-o", "r.html", "--no-charts", before=self.limit(4000))
        with open(self.path("r.html"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "the report before")


class NothingKept(Ends):

    @unittest.skipUnless("jansson" in FEATURES, "built without jansson: no log")
    def test_it_is_said(self):
        self.assertIn("nothing is logged, since there is no folder 'log' here", self.spmv(*RUN).stderr)
        for more in (["-q"], ["--no-log"], ["--log=x.jsonl"]):
            self.assertNotIn("nothing is logged", self.spmv(*RUN, *more).stderr)
        self.assertNotIn("nothing is logged", self.spmv("-k", "csr_row", "gen:poisson2d:9").stderr)
        os.mkdir(self.path("log"))
        self.assertIn("logged 1 record", self.spmv(*RUN).stderr)


class Announced(Ends):

    def test_a_time_that_does_not_hold_is_corrected(self):
        """The program is stopped for longer than it said that it takes."""
        words = ["gen:poisson2d:50", "-k", "omp:csr_rows,omp:csr_serial", "-t1", "--min-time=1", "--max-time=1", "--max-noise=0%",
                 "--probe=off", "--no-log", "--progress=off"]
        with subprocess.Popen([SPMV, *words], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            for line in process.stderr:
                if line.startswith("timing 2 kernels in turns: "):
                    break
            process.send_signal(signal.SIGSTOP)
            time.sleep(4.5)
            process.send_signal(signal.SIGCONT)
            self.assertRegex(process.stderr.read(), r"  longer than announced: [01] of 2 final after \d+ s, ")


class Names(Ends):

    def test_the_nearest_are_named(self):
        for typed, meant in (("csr_row", ": did you mean 'csr_rows'?"), ("sell", ": did you mean 'sell_slices' or 'sell16_lanes'?"),
                             ("bsr", ": did you mean 'bsr_rows' or 'bsr_lanes'?"), ("auot", ": did you mean 'auto'?"),
                             ("balanced", "'csr_balanced'"), ("zzz", "on omp (")):
            done = self.spmv("gen:poisson2d:9", "-k", f"omp:{typed}")
            self.assertEqual(done.returncode, 64)
            self.assertIn(meant, done.stderr)

    @unittest.skipIf("cuda" in FEATURES, "CUDA is built in")
    def test_a_parameter_of_another_backend(self):
        done = self.spmv("gen:poisson2d:9", "-k", "csr_rows", "-b", "192")
        self.assertEqual(done.returncode, 64)
        self.assertIn("--block belongs to kernels of CUDA, which is not built in: make cuda", done.stderr)


if __name__ == "__main__":
    unittest.main()
