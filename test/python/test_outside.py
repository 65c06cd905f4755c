"""The outside set: its framework, and whether the committed list keeps the rules that were set before measuring."""
import collections
import csv
import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tables/outside"
sys.path.insert(0, str(HERE))
import outside  # noqa: E402

NUMPY = importlib.util.find_spec("numpy") and importlib.util.find_spec("scipy")


def rows_of(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    for row in rows:
        row.update({column: int(row[column]) for column in outside.WHOLE}, x_jumps=float(row["x_jumps"]))
    return rows


def jumps_one_by_one(col):
    """Computes it as src/app/run/limits/limits.c does, for whole windows."""
    jumps = 0
    for begin in range(0, len(col), 8192):
        seen = set()
        for place, line in enumerate(int(one) // 8 for one in col[begin:begin + 8192]):
            jumps += place >= 4096 and not seen & {line - 1, line, line + 1}
            seen.add(line)
    return jumps / (len(col) // 2)


class List(unittest.TestCase):
    """Every numeric rule, of the committed list."""

    @classmethod
    def setUpClass(cls):
        cls.rows = rows_of(outside.LIST.read_text(encoding="utf-8"))

    def count(self, column):
        return collections.Counter(row[column] for row in self.rows)

    def test_at_least_sixty(self):
        self.assertGreaterEqual(len(self.rows), 60)

    def test_at_least_three_of_each_family(self):
        self.assertGreaterEqual(min(self.count("family").values()), 3, self.count("family"))

    def test_at_most_five_of_one_origin(self):
        self.assertLessEqual(max(self.count("origin").values()), 5, self.count("origin"))

    def test_a_third_of_each_size(self):
        for size in outside.SIZES:
            self.assertLessEqual(abs(self.count("size")[size] - len(self.rows) / 3), 2, self.count("size"))

    def test_sizes_are_those_of_the_bytes(self):
        for row in self.rows:
            self.assertEqual(row["csr_B"], 12 * row["nnz"] + 4 * row["rows"], row["name"])
            self.assertEqual(row["size"], outside.size_of(row["csr_B"]), row["name"])

    def test_one_in_four_is_bound_by_gathers(self):
        for row in self.rows:
            bound = row["x_jumps"] * 64 > 12 and 8 * row["cols"] > 262144
            self.assertEqual(row["gather"], "yes" if bound else "no", row["name"])
        self.assertGreaterEqual(self.count("gather")["yes"] * 4, len(self.rows))

    def test_between_one_in_eight_and_one_in_four_have_few_values(self):
        few = sum(row["distinct"] < 256 for row in self.rows)
        self.assertGreaterEqual(few * 8, len(self.rows))
        self.assertLessEqual(few * 4, len(self.rows))

    def test_few_values_are_of_each_size_each_half_and_bound_by_gathers_too(self):
        few = [row for row in self.rows if row["distinct"] < 256]
        for column, kinds in (("size", outside.SIZES), ("half", outside.HALVES), ("gather", ("yes", "no"))):
            count = collections.Counter(row[column] for row in few)
            self.assertGreaterEqual(min(count[kind] for kind in kinds) * 4, len(few), count)

    def test_halves_are_drawn_by_the_hash(self):
        self.assertEqual([(row["name"], row["half"]) for row in outside.with_halves([{**row, "half": None} for row in self.rows])],
                         [(row["name"], row["half"]) for row in self.rows])
        self.assertLessEqual(abs(self.count("half")["tune"] - self.count("half")["held-out"]), 1)

    def test_a_row_that_was_drawn_keeps_its_half(self):
        new = {**self.rows[0], "name": "new", "half": None, "draw": None}
        drawn = {row["name"]: row["half"] for row in outside.with_halves([*self.rows, new])}
        self.assertEqual({name: half for name, half in drawn.items() if name != "new"},
                         {row["name"]: row["half"] for row in self.rows})

    def test_it_names_what_the_families_make_and_no_other(self):
        made = {matrix.name: (matrix.family, matrix.origin, matrix.size) for matrix in outside.families()}
        self.assertEqual({row["name"]: (row["family"], row["origin"], row["size"]) for row in self.rows}, made)
        self.assertEqual(len(made), len(self.rows), "a name twice")


class Framework(unittest.TestCase):
    def test_list_asks_for_no_package(self):
        done = subprocess.run([sys.executable, "-S", "-I", "-c",
                               f"import sys; sys.path.insert(0, {str(HERE)!r}); sys.argv = ['make.py', '--list'];"
                               f"exec(open({str(HERE / 'make.py')!r}).read())"], capture_output=True, text=True, check=False)
        self.assertEqual((done.stderr, done.returncode), ("", 0))
        self.assertEqual(len(done.stdout.splitlines()), len(outside.families()))

    def test_size_classes(self):
        self.assertEqual([outside.size_of(B) for B in (62.9e6, 63.1e6, 189e6, 195e6, 200e6)],
                         ["small", "medium", "medium", None, "large"])

    @unittest.skipUnless(NUMPY, "numpy and scipy are not installed")
    def test_what_is_complete_is_kept_and_what_is_not_is_made(self):
        import numpy
        import scipy.io
        import scipy.sparse
        import make
        matrix = scipy.sparse.csr_matrix(numpy.array([[1.5, 0.1, 0], [0.1, 0, 3], [0, 3, 1 / 3]]))
        made = outside.Matrix("three", "here", lambda: matrix, "small", family="test")
        with tempfile.TemporaryDirectory() as folder:
            options = types.SimpleNamespace(out=pathlib.Path(folder))
            self.assertIsNone(make.facts_of(options, made))
            make.make_one(options, made)
            facts = make.facts_of(options, made)
            self.assertEqual(sorted(os.listdir(folder)), ["three.json", "three.mtx"])
            self.assertEqual({key: facts[key] for key in ("rows", "cols", "nnz", "csr_B", "distinct", "gather")},
                             {"rows": 3, "cols": 3, "nnz": 6, "csr_B": 84, "distinct": 4, "gather": "no"})
            file = pathlib.Path(folder, "three.mtx")
            self.assertIn("symmetric", file.read_text(encoding="utf-8").splitlines()[0])
            self.assertEqual((scipy.io.mmread(file).tocsr() != matrix).nnz, 0)
            os.remove(pathlib.Path(folder, "three.json"))
            self.assertIsNone(make.facts_of(options, made))

    @unittest.skipUnless(NUMPY, "numpy and scipy are not installed")
    def test_a_size_that_is_not_the_one_of_the_class_is_refused(self):
        import scipy.sparse
        import make
        made = outside.Matrix("three", "here", lambda: scipy.sparse.identity(3), "large", family="test")
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(SystemExit):
            make.make_one(types.SimpleNamespace(out=pathlib.Path(folder)), made)

    @unittest.skipUnless(NUMPY, "numpy and scipy are not installed")
    def test_jumps_and_values(self):
        import numpy
        self.assertEqual(outside.x_jumps(numpy.arange(1 << 15), 1 << 15), 0.0)
        self.assertEqual(outside.x_jumps(numpy.arange(1 << 13) * 64, 1 << 19), 1.0)
        col = numpy.random.default_rng(1).integers(0, 1 << 15, 3 << 13).astype(numpy.int32)
        self.assertAlmostEqual(outside.x_jumps(col, 1 << 15), jumps_one_by_one(col))
        self.assertEqual(outside.distinct_values(numpy.arange(300.0) % 7), 7)
        self.assertEqual(outside.distinct_values(numpy.arange(300.0)), 257)


if __name__ == "__main__":
    unittest.main()
