"""Holds what the tests of tables/ share: records small enough to check every number by hand, and a test case that
writes logs into a folder of its own and reads what a program made of them."""

import contextlib
import copy
import csv
import io
import json
import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tables", "report"))
import make_tables  # noqa: E402  (found only after the path is set)

BASE = {
    "schema": "spmv-run/1", "time": "2025-01-02T03:04:05Z", "run_id": "r", "key": "k",
    "status": "ok", "reason": None,
    "host": {"name": "node1"}, "cpu": {"model": "CPU A"}, "gpu": {"name": None},
    "build": {"commit": "abc1234", "cuda_archs": ["sm_90"]},
    "matrix": {"name": "alpha", "hash": "a1", "rows": 10, "cols": 10, "nnz": 1000},
    "config": {"backend": "omp", "kernel": "csr_rows", "alias": "csr1", "format": "csr",
               "params": {}, "grid": None, "block": None, "schedule": "static", "chunk": 0,
               "simd": False, "rowlens": None, "threads": 4, "precision": "f64",
               "alpha": 1, "beta": 0},
    "timing": {"median_s": 1e-6, "q1_s": 0.9e-6, "q3_s": 1.1e-6, "samples_s": [1e-6, 1e-6]},
    "check": {"status": "ok"},
}


def record(median=None, spread=0.01, **changes):
    """BASE with changes; double underscores stand for dots (config__kernel="ell_rows")."""
    result = copy.deepcopy(BASE)
    if median is not None:
        result["timing"].update(median_s=median, q1_s=median * (1 - spread),
                                q3_s=median * (1 + spread))
    for name, value in changes.items():
        *path, last = name.split("__")
        place = result
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return result


def skipped(reason, **changes):
    """A record of a configuration that was refused."""
    result = record(status="skipped", reason=reason, **changes)
    del result["timing"], result["check"]
    return result


class TablesTest(unittest.TestCase):
    """Each test writes its own log, runs main as `make tables` does and reads the output."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = os.path.join(self.folder, "out")

    def write(self, name, *lines):
        """A log of records (dicts) and raw lines (str)."""
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as log:
            log.writelines((line if isinstance(line, str) else json.dumps(line)) + "\n"
                           for line in lines)
        return path

    def run_main(self, *paths, out=None):
        """(exit status, stderr)."""
        with contextlib.redirect_stderr(io.StringIO()) as talk:
            status = make_tables.main(["--out", out or self.out, *paths])
        return status, talk.getvalue()

    def make(self, *lines):
        """stderr of a run over one log that must succeed."""
        status, talk = self.run_main(self.write("run.jsonl", *lines))
        self.assertEqual(status, 0, talk)
        return talk

    def rows(self, name):
        """A CSV as dicts."""
        with open(os.path.join(self.out, name), encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def text(self, name):
        """A file as it stands."""
        with open(os.path.join(self.out, name), encoding="utf-8", newline="") as file:
            return file.read()

    def line_of(self, name, start):
        """The cells of the Markdown row whose first cell is start; exactly one must exist."""
        found = [line for line in self.text(name).splitlines() if line.startswith(f"| {start} |")]
        self.assertEqual(len(found), 1, self.text(name))
        return [cell.strip() for cell in found[0].strip("|").split("|")]
