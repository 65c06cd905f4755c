#!/usr/bin/env python3
"""Tests of what the program does where others get in its way: a file that stays locked, a log that is
somebody else's, too little stack or memory, archives that never end."""

import csv
import fcntl
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
        return subprocess.run([SPMV, *words], cwd=self.folder, capture_output=True, text=True, timeout=120, check=False,
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
