#!/usr/bin/env python3
"""Tests of spmv info against numbers that papers print and numbers worked out by hand."""

import csv
import os
import re
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SPMV = os.environ.get("SPMV", os.path.join(HERE, "..", "..", "spmv"))
SHARED = os.path.join(HERE, "..", "..", "..", "shared", "matrices")

# Entries that the first paper's table of CUDA times prints of matrices that are in ../shared/matrices.
PRINTED = {"west2021": 7353, "olm1000": 3996, "cage4": 49, "rdist2": 56934, "adder_dcop_32": 11246,
           "chesapeake": 340, "cavity10": 76367, "mcfe": 24382, "delaunay_n14": 98244,
           "mhda416": 8562}


def info(path):
    """The facts as {name: text}."""
    done = subprocess.run([SPMV, "info", "-m", path, "--format=csv"], check=True,
                          capture_output=True, text=True)
    return next(csv.DictReader(done.stdout.splitlines()))


def made(lengths, cols):
    """Path of a matrix with these row lengths."""
    path = os.path.join(tempfile.mkdtemp(), "made.mtx")
    with open(path, "w", encoding="utf-8") as file:
        file.write("%%MatrixMarket matrix coordinate pattern general\n"
                   f"{len(lengths)} {cols} {sum(lengths)}\n")
        file.writelines(f"{i + 1} {j + 1}\n" for i, n in enumerate(lengths) for j in range(n))
    return path


class Info(unittest.TestCase):
    def test_the_best_block_is_named(self):
        talk = subprocess.run([SPMV, "info", "gen:fem3d:6", "-k", "bsr_rows"], capture_output=True, text=True, check=True).stdout
        self.assertRegex(talk, r"\n  bsr .*\n    of square blocks, 3x3 take the fewest bytes, about \d+\.\d\d MB: --shape=3x3\n")
        megabytes = re.search(r"about (\S+) MB", talk)[1]
        talk = subprocess.run([SPMV, "info", "gen:fem3d:6", "-k", "bsr_rows", "--shape=3x3"], capture_output=True, text=True,
                              check=True).stdout
        self.assertRegex(talk, rf"\n  bsr +{megabytes}")
        self.assertNotIn("of square blocks", talk)

    def test_entries_are_those_that_the_first_paper_prints(self):
        if not os.path.isdir(SHARED):
            self.skipTest("no ../shared/matrices beside this checkout")
        features = subprocess.run([SPMV, "-V", "-v"], check=True, capture_output=True, text=True)
        if "libarchive" not in features.stdout:
            self.skipTest("built without libarchive: install libarchive-dev")
        for name, entries in PRINTED.items():
            with self.subTest(name):
                facts = info(os.path.join(SHARED, name + ".mtx.gz"))
                self.assertEqual(int(facts["matrix.nnz"]), entries)

    def test_sigma_is_that_of_the_cmrs_paper(self):
        # (lengths, mu, sum (n - mu)^2 / M, and that over mu: the square of the paper's sigma)
        for lengths, mean, variance in (([1, 1, 1, 9], 3, 12), ([2, 2, 0, 4], 2, 2),
                                        ([5] * 6, 5, 0), ([0, 0, 0, 8], 2, 12)):
            with self.subTest(lengths=lengths):
                facts = info(made(lengths, 9))
                self.assertEqual(float(facts["rows.mean"]), mean)
                self.assertAlmostEqual(float(facts["rows.std"]), variance ** 0.5, places=12)
                self.assertAlmostEqual(float(facts["rows.sigma_cmrs"]), (variance / mean) ** 0.5,
                                       places=12)


if __name__ == "__main__":
    unittest.main()
