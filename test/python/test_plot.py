#!/usr/bin/env python3
"""Tests of spmv plot: a pattern drawn where its entries are, a roofline of records that know a limit, files by their suffix."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from logfixture import record

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SPMV = os.path.abspath(os.environ.get("SPMV", os.path.join(ROOT, "spmv")))
sys.path.insert(0, os.path.join(ROOT, "tables", "report"))
import charts  # noqa: E402
import common  # noqa: E402
import plot  # noqa: E402

try:
    charts.library()
    LIBRARY = True
except common.Stop:
    LIBRARY = False
FEATURES = subprocess.run([SPMV, "-V", "-v"], capture_output=True, text=True, check=True).stdout


class Pattern(unittest.TestCase):

    @unittest.skipUnless("jansson" in FEATURES, "built without jansson: no JSON")
    def test_cells_of_info(self):
        done = subprocess.run([SPMV, "info", "gen:diagonal:6", "--cells=3", "--format=json"], capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(done.stdout)[0]["structure"]["pattern"], "900/090/009")
        done = subprocess.run([SPMV, "gen:diagonal:6", "--cells=3"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 64)

    def test_a_cell_is_where_its_entries_are(self):
        text = plot.spy({"matrix": {"name": "a", "rows": 20, "cols": 10, "nnz": 3}, "structure": {"pattern": "90/00/01/10"}})
        self.assertEqual(re.findall(r'class="cells".*?fill-opacity="(.*?)" d="(.*?)"', text),
                         [("0.25", "M128.00 256.00H256.00V384.00H128.00zM0.00 384.00H128.00V512.00H0.00z"), ("1", "M0.00 0.00H128.00V128.00H0.00z")])
        self.assertEqual({"entries, of the fullest cell's", "all", "1/16", "fewer", "20 × 10, 3 nonzeros"} - set(re.findall(">([^<>]+)</text>", text.replace("&#x27;", "'"))), set())
        empty = plot.spy({"matrix": {"name": "a", "rows": 0, "cols": 4, "nnz": 0}, "structure": {"pattern": ""}})
        self.assertNotIn('class="cells"', empty)


class Files(unittest.TestCase):

    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = made.name

    def plot(self, *words, code=0):
        done = subprocess.run([SPMV, "plot", *words], cwd=self.folder, capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def bytes_of(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()

    @unittest.skipUnless("jansson" in FEATURES, "built without jansson: no JSON")
    def test_spy(self):
        self.plot("spy", "gen:diagonal:4", "-o", "a.svg")
        self.assertEqual(re.search(rb'class="cells".*? d="(.*?)"', self.bytes_of("a.svg"))[1].count(b"M"), 4)
        if LIBRARY:
            self.plot("spy", "gen:diagonal:4", "-o", "a.png")
            self.assertTrue(self.bytes_of("a.png").startswith(b"\x89PNG"))
        else:
            self.assertIn("PNG and PDF need the Python package", self.plot("spy", "gen:diagonal:4", "-o", "a.png", code=69))
        self.assertIn("nowhere.mtx: No such file", self.plot("spy", "nowhere.mtx", code=66))

    def test_roofline(self):
        def log(name, **perf):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                for k, kernel in enumerate(("csr_rows", "ell_rows"), 1):
                    file.write(json.dumps(record(k * 1e-6, config__kernel=kernel, perf={"bytes_min_B": 12000 * k, **perf})) + "\n")
            return name
        self.plot("roofline", log("x.jsonl", bw_peak_Bps=5e10, bw_peak_source="measured-read"), "-o", "r.svg")
        self.assertIn(b"arithmetic intensity", self.bytes_of("r.svg"))
        self.assertIn(b"measured streaming limit (spmv doctor --probe): 50 GB/s", self.bytes_of("r.svg"))
        self.assertIn("'spmv doctor --probe' measures it", self.plot("roofline", log("y.jsonl"), code=65))

    def test_scaling(self):
        with open(os.path.join(self.folder, "x.jsonl"), "w", encoding="utf-8") as file:
            for kernel, times in ("csr_rows", (8e-6, 4e-6, 2e-6)), ("csr_serial", (8e-6,)):
                for threads, seconds in zip((1, 2, 8), times):
                    file.write(json.dumps(record(seconds, config__kernel=kernel, omp={"threads": threads})) + "\n")
        self.plot("scaling", "x.jsonl")
        text = self.bytes_of("scaling.svg").decode()
        lines = dict(reversed(pair) for pair in re.findall(r'class="line" d="(.*?)".*?<title>(.*?)</title>', text))
        self.assertEqual(set(lines), {"ideal", "csr_rows"})
        self.assertEqual(lines["csr_rows"].count("L"), 2)
        self.assertIn("geometric means over 1 matrix", text)
        rise = [[float(y) for y in re.findall(r" ([\d.]+)", lines[name])] for name in ("csr_rows", "ideal")]
        self.assertEqual(rise[0][:2], rise[1][:2])  # twice as fast with two
        self.assertGreater(rise[0][2], rise[1][2])  # and four times with eight: below
        os.remove(os.path.join(self.folder, "x.jsonl"))
        with open(os.path.join(self.folder, "y.jsonl"), "w", encoding="utf-8") as file:
            file.write(json.dumps(record(1e-6)) + "\n")
        self.assertIn("several numbers of threads", self.plot("scaling", "y.jsonl", code=65))

    def test_usage(self):
        for words, said in ((["spy", "a", "b"], "one matrix"), (["spy", "a", "-o", "a.gif"], ".svg, .png or .pdf"),
                            (["pie", "a"], "'pie' is not known; known are 'spy', 'roofline', 'scaling'"),
                            ([], "missing: what, FILE")):
            self.assertIn(said, self.plot(*words, code=64))


if __name__ == "__main__":
    unittest.main()
