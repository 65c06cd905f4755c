#!/usr/bin/env python3
"""Tests of what the program does where others get in its way: a file that stays locked, a log that is
somebody else's, too little stack or memory, archives that never end."""

import csv
import fcntl
import gzip
import io
import json
import os
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SPMV = os.environ.get("SPMV", os.path.join(ROOT, "spmv"))
RUN = ["-m", "gen:poisson2d:9", "-k", "omp:csr_rows,omp:ell_rows", "-t", "2", "--min-time=0", "--max-time=0", "--samples=3",
       "--probe=off"]
FEATURES = subprocess.run([SPMV, "-V", "-v"], capture_output=True, text=True, check=True).stdout


class Hostile(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def spmv(self, *words, before=None, **environment):
        return subprocess.run([SPMV, *words], cwd=self.folder, capture_output=True, text=True, timeout=600, check=False,
                              env={**os.environ, **environment}, preexec_fn=before)

    def path(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return path


@unittest.skipUnless("jansson" in FEATURES, "built without jansson: no log")
class Log(Hostile):

    def statuses(self, lines):
        return [json.loads(line)["status"] for line in lines]

    def test_a_log_that_stays_locked_gets_its_records(self):
        path = self.path("x.jsonl", '{"schema":"spmv-run/1","status":')
        with open(path, encoding="utf-8") as holder:
            fcntl.flock(holder, fcntl.LOCK_EX)
            done = self.spmv(*RUN, "--log", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count("another process keeps"), 1, done.stderr)
            lines = holder.read().splitlines()
        self.assertEqual(lines[0], '{"schema":"spmv-run/1","status":')
        self.assertEqual(self.statuses(lines[1:]), ["ok", "ok"])

    def test_a_wisdom_file_that_stays_locked_is_left_alone(self):
        path = self.path("wisdom", "")
        with open(path, encoding="utf-8") as holder:
            fcntl.flock(holder, fcntl.LOCK_EX)
            done = self.spmv("-m", "gen:poisson2d:9", "-k", "auto", "--no-log", "--probe=off", f"--wisdom={path}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("another process keeps it locked", " ".join(done.stderr.split()))
        self.assertEqual(os.path.getsize(path), 0)

    def test_an_unfinished_line_of_another_program_is_kept(self):
        for foreign in ('{"a": 1, "b": "unfin', '{"schema": "another/1", "x":', "{not JSON", '["spmv'):
            path = self.path("x.jsonl", foreign)
            done = self.spmv(*RUN, "--log", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
            self.assertEqual(lines[0], foreign)
            self.assertEqual(self.statuses(lines[1:]), ["ok", "ok"])


@unittest.skipIf("-san" in SPMV, "sanitizers have a malloc and a stack of their own")
class Memory(Hostile):
    """Too little of it ends with the exit code that says so, 71, and a word: 1 is the code of a wrong result."""

    def test_a_small_stack_is_named(self):
        done = subprocess.run(["/bin/sh", "-c", 'ulimit -s 64; exec "$@"', "sh", SPMV, *RUN, "--no-log"], cwd=self.folder,
                              capture_output=True, text=True, timeout=600, check=False)
        self.assertIn(done.returncode, (0, 71), done.stderr)
        if done.returncode:
            self.assertIn("the stack is full", done.stderr)

    def test_an_allocation_that_fails_inside_a_library(self):
        failing = self.path("failing.so")
        subprocess.run([os.environ.get("CC", "gcc"), "-O1", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", failing,
                        os.path.join(ROOT, "test", "failing.c"), "-ldl"], check=True)
        text = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 3\n2 2 4\n"
        matrix = self.path("a.mtx.gz")
        with gzip.open(matrix, "wt", encoding="utf-8") as file:
            file.write(text)
        command = ("-m", matrix, *RUN[2:], "--no-log", "-q")
        self.assertEqual(self.spmv(*command, LD_PRELOAD=failing).returncode, 0)
        for library, most in ("libarchive", 16), ("libz", 3), ("libgomp", 8), ("libhwloc", 24):
            failed = 0
            for number in range(1, most + 1):
                done = self.spmv(*command, LD_PRELOAD=failing, FAIL_IN=library, FAIL_AT=str(number))
                with self.subTest(library=library, number=number):
                    self.assertIn(done.returncode, (0, 71), done.stderr)
                    if done.returncode:
                        self.assertIn("out of memory", done.stderr.lower())
                failed += done.returncode != 0
            self.assertTrue(failed or library not in FEATURES.replace("zlib", "libz") + " libgomp", library)


class Csv(Hostile):

    def test_a_name_is_no_formula(self):
        matrix = self.path("=1+1,2.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 3\n")
        done = self.spmv("-m", matrix, *RUN[2:], "--format=csv", "--no-log", "-q", "--tag", "+a=b")
        self.assertEqual(done.returncode, 0, done.stderr)
        row = next(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual(row["matrix.name"], "'=1+1,2")
        self.assertFalse([cell for cell in row.values() if cell[:1] in "=+@" and cell])


if __name__ == "__main__":
    unittest.main()
