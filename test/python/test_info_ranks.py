#!/usr/bin/env python3
"""Tests of spmv info --ranks against counts by hand and against a reference that looks at every entry."""

import collections
import csv
import ctypes.util
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPMV = os.environ.get("SPMV", ROOT / "spmv")
DATA = ROOT / "test/data"
EACH = "rows nnz remote_rows remote_nnz received sent receives_from sends_to".split()
HAS = {"metis": ctypes.util.find_library("metis"), "scotch": ctypes.util.find_library("scotch-7.0") or ctypes.util.find_library("scotch")}


def call(*words):
    return subprocess.run([SPMV, *map(str, words)], capture_output=True, text=True, check=False,
                          env={**os.environ, "COLUMNS": "80"})


def info(matrix, ranks, *words):
    done = call("info", matrix, f"--ranks={ranks}", "--format=json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def entries_of(matrix, folder):
    """(rows, columns, places of entries) of a generated matrix."""
    path = folder / "written.mtx"
    call("-m", matrix, f"--write={path}", "-k", "omp:csr1", "--max-time=0", "--no-log", "-q").check_returncode()
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("%")]
    return int(lines[0][0]), int(lines[0][1]), sorted((int(i) - 1, int(j) - 1) for i, j, *_ in lines[1:])


def long_rows(rows, entries, ranks):
    """Rows that are split where blocks are by nonzeros."""
    length = [0] * rows
    for i, _ in entries:
        length[i] += 1
    return {i for i, n in enumerate(length) if ranks > 1 and n >= 1024 and n > len(entries) // ranks}


def reference(rows, cols, entries, owner, ranks, split=()):
    """What each rank has and exchanges, from the rank of each row: sets of all that is remote."""
    x_owner = owner if rows == cols else [next(r for r in range(ranks) if j < cols * (r + 1) // ranks) for j in range(cols)]
    out = [dict.fromkeys(EACH, 0) for _ in range(ranks)]
    for rank in owner:
        out[rank]["rows"] += 1
    halo, remote_rows = collections.defaultdict(set), set()
    sums = collections.defaultdict(set)
    for i, j in entries:
        if i in split:
            out[x_owner[j]]["nnz"] += 1
            if x_owner[j] != owner[i]:
                sums[owner[i], x_owner[j]].add(i)
            continue
        out[owner[i]]["nnz"] += 1
        if x_owner[j] != owner[i]:
            out[owner[i]]["remote_nnz"] += 1
            halo[owner[i], x_owner[j]].add(j)
            remote_rows.add(i)
    for i in remote_rows:
        out[owner[i]]["remote_rows"] += 1
    for (to, source), columns in [*halo.items(), *sums.items()]:
        out[to]["received"] += len(columns)
        out[to]["receives_from"] += 1
        out[source]["sent"] += len(columns)
        out[source]["sends_to"] += 1
    return {name: [of[name] for of in out] for name in EACH}


def owners_of_blocks(rows_of):
    return [rank for rank, rows in enumerate(rows_of) for _ in range(rows)]


class InfoRanks(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.addCleanup(self.scratch.cleanup)

    def check(self, facts, matrix, owner, split=()):
        each = dict(facts["each"])
        each.pop("memory_B")
        expected = reference(*matrix, owner, facts["ranks"]["count"], split)
        self.assertEqual(each, expected)
        rows, _, entries = matrix
        most = {name: max(values) for name, values in expected.items()}
        self.assertEqual(facts["ranks"]["rows_most"], most["rows"])
        self.assertEqual(facts["ranks"]["nnz_most"], most["nnz"])
        self.assertAlmostEqual(facts["ranks"]["imbalance"], most["nnz"] * facts["ranks"]["count"] / len(entries), 6)
        self.assertAlmostEqual(facts["ranks"]["remote_rows"], sum(expected["remote_rows"]) / rows, 6)
        self.assertAlmostEqual(facts["ranks"]["remote_nnz"], sum(expected["remote_nnz"]) / len(entries), 6)
        self.assertEqual(facts["halo"], {
            "received_most": most["received"], "received_most_B": 8 * most["received"], "sent_most": most["sent"],
            "sent_most_B": 8 * most["sent"], "all": sum(expected["received"]), "all_B": 8 * sum(expected["received"]),
            "peers_most": max(most["receives_from"], most["sends_to"])})

    def check_balance(self, facts, matrix):
        """Every block begins at the row before which the nonzeros are nearest to its share."""
        rows, cols, entries = matrix
        before = [0] * (rows + 1)
        split = long_rows(rows, entries, facts["ranks"]["count"])
        entries = [(j if i in split else i, j) for i, j in entries if rows == cols or i not in split]
        for i, _ in entries:  # one of a split row counts where its column is
            before[i + 1] += 1
        for i in range(rows):
            before[i + 1] += before[i]
        first, ranks = 0, facts["ranks"]["count"]
        for rank in range(1, ranks):
            first += facts["each"]["rows"][rank - 1]
            share = len(entries) * rank / ranks
            self.assertEqual(abs(before[first] - share), min(abs(n - share) for n in before), (rank, ranks))

    def test_small_matrices_as_a_reference_counts_them(self):
        """Square and not, symmetric, with duplicates, with empty rows, long rows, fewer rows than ranks."""
        for name in ("gen:poisson2d:9", "gen:random:40:3:90", "gen:random:90:4:40", "gen:powerlaw:120:4", "gen:giantrow:60:50",
                     "gen:rmat:6:3", "gen:permutation:31", "gen:dense:1x7", "gen:dense:7x1", "gen:diagonal:5",
                     DATA / "coordinate_real_symmetric.mtx", DATA / "duplicates.mtx"):
            matrix = entries_of(name, self.folder)
            for how in ("nnz", "rows"):
                for facts in info(name, "1,2,3,7,100", f"--partition={how}", "-t", 3):
                    with self.subTest(str(name), how=how, ranks=facts["ranks"]["count"]):
                        rows = facts["each"]["rows"]
                        self.assertEqual(sum(rows), matrix[0])
                        self.check(facts, matrix, owners_of_blocks(rows))
                        if how == "rows":
                            ends = [matrix[0] * (r + 1) // len(rows) for r in range(len(rows))]
                            self.assertEqual([sum(rows[:r + 1]) for r in range(len(rows))], ends)
                        else:
                            self.check_balance(facts, matrix)

    def test_long_rows_are_split_where_blocks_are_by_nonzeros(self):
        path = self.folder / "long.mtx"
        for rows, long in ((3000, (7,)), (3000, (0, 2999)), (3, (0, 1, 2)), (1, (0,))):
            entries = sorted({(i, j) for i in long for j in range(2999)} |
                             {(k * 17 % rows, k * 13 % 3000) for k in range(700) if rows > 3})
            path.write_text(f"%%MatrixMarket matrix coordinate pattern general\n{rows} 3000 {len(entries)}\n" +
                            "".join(f"{i + 1} {j + 1}\n" for i, j in entries), encoding="utf-8")
            matrix = rows, 3000, entries
            for how in ("nnz", "rows"):
                for facts in info(path, "2,3,7", f"--partition={how}"):
                    with self.subTest(rows=rows, long=long, how=how, ranks=facts["ranks"]["count"]):
                        split = long_rows(rows, entries, facts["ranks"]["count"]) if how == "nnz" else ()
                        self.check(facts, matrix, owners_of_blocks(facts["each"]["rows"]), split)
                        if how == "nnz" and rows == 3000:
                            self.check_balance(facts, matrix)
                            self.assertLess(facts["ranks"]["imbalance"], 2)

    def test_a_file_names_the_rank_of_each_row(self):
        path = self.folder / "ranks"
        for name in ("gen:rmat:6:3", "gen:random:40:3:90"):
            matrix = entries_of(name, self.folder)
            owner = [(i * 7 + i // 5) % 4 for i in range(matrix[0])]
            path.write_text("\n".join(map(str, owner)) + "\n", encoding="utf-8")
            for facts in info(name, "4,6", f"--partition={path}"):
                self.check(facts, matrix, owner)
                self.assertEqual(facts["ranks"]["partition"], "ranks")

    def test_by_hand(self):
        """ 1 . . 1     rank 0 has rows 0 and 1, and receives x_3
            . 1 . .     rank 1 receives x_0, for two of its entries
            1 . 1 .     six entries: half of them are in the first two rows
            1 . . ."""
        path = self.folder / "hand.mtx"
        path.write_text("%%MatrixMarket matrix coordinate pattern general\n4 4 6\n1 1\n1 4\n2 2\n3 1\n3 3\n4 1\n", encoding="utf-8")
        facts, = info(path, 2, "--probe=off", "--network=1:0.5:2")
        self.assertEqual(facts["each"], {
            "rows": [2, 2], "nnz": [3, 3], "memory_B": [36 + 12 + 20 + 32 + 16 + 4, 36 + 12 + 12 + 32 + 16 + 4], "remote_rows": [1, 2],
            "remote_nnz": [1, 2], "received": [1, 1], "sent": [1, 1], "receives_from": [1, 1], "sends_to": [1, 1]})
        # local of rank 0: 2 entries, 3 offsets, x and y of 2; remote of rank 1: 2 entries, 3 offsets, a halo of 1, y of 2 twice;
        # Rank 0 has one row, which is listed: an entry, 2 offsets, the list, a sum and y twice, a halo of 1
        local, remote = (2 * 12 + 12 + 32) / 10e9, [(12 + 8 + 4 + 16 + 16 + 8) / 10e9, (24 + 12 + 8 + 32) / 10e9]
        exchange = 1e-6 + 0.5e-6 + 8 / 2e9
        alone = (6 * 12 + 5 * 4 + 64) / 10e9
        predicted = facts["predicted"]
        self.assertAlmostEqual(predicted["exchange_s"] * 1e6, exchange * 1e6, 6)
        self.assertAlmostEqual(predicted["product_s"] * 1e9, max(local + remote[0], local - 12 / 10e9 + remote[1]) * 1e9, 6)
        self.assertAlmostEqual(predicted["time_s"] * 1e6, (exchange + remote[1]) * 1e6, 6)
        self.assertAlmostEqual(predicted["efficiency"], alone / (2 * (exchange + remote[1])), 6)
        self.assertEqual([predicted["read_Bps"], predicted["probed"], predicted["latency_s"], predicted["message_s"],
                          predicted["network_Bps"]], [10e9, False, 1e-6, 0.5e-6, 2e9])

    def test_several_vectors_and_f32_change_bytes_alone(self):
        wide, = info("gen:poisson2d:9", 3, "--vectors=5", "-p", "f32")
        usual, = info("gen:poisson2d:9", 3)
        self.assertEqual(wide["halo"]["all"], usual["halo"]["all"])
        self.assertEqual(wide["halo"]["all_B"], usual["halo"]["all"] * 5 * 4)
        self.assertEqual(wide["each"]["received"], usual["each"]["received"])

    def test_libraries_against_ideal_boxes(self):
        """64^3 points in 64 boxes of 16^3: a box inside receives six faces."""
        path = self.folder / "boxes"
        path.write_text("\n".join(str(z // 16 * 16 + y // 16 * 4 + x // 16) for z in range(64) for y in range(64) for x in range(64)),
                        encoding="utf-8")
        boxes, = info("gen:poisson3d:64", 64, f"--partition={path}")
        self.assertEqual(boxes["halo"]["received_most"], 6 * 16 * 16)
        self.assertEqual(boxes["halo"]["all"], 3 * 3 * 64 * 64 * 2)
        for name, library in HAS.items():
            if not library:
                continue
            with self.subTest(name):
                facts, = info("gen:poisson3d:64", 64, f"--partition={name}")
                self.assertEqual(sum(facts["each"]["rows"]), 64**3)
                self.assertLess(facts["ranks"]["imbalance"], 1.1)
                self.assertLess(facts["halo"]["received_most"], 1.5 * boxes["halo"]["received_most"])
                self.assertEqual([len(set(f["each"]["rows"])) for f in info("gen:diagonal:3", "1,3,5", f"--partition={name}")], [1, 1, 2])

    def test_the_results_page_has_the_log_and_the_log_has_what_is_counted(self):
        part = (ROOT / "docs/results/ranks.md").read_text(encoding="utf-8").split("\n## ")[1]
        with open(ROOT / "log/reference/ranks.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        shown = [row for row in rows if row["ranks.count"] == "64"]
        for row in shown:
            how = {"nnz": "blocks", "metis": "METIS"}[row["ranks.partition"]]
            self.assertIn(f"| {row['matrix.name'][4:]} | {how} | {float(row['ranks.imbalance']):.2f} | "
                          f"{100 * float(row['ranks.remote_rows']):.0f} | {int(row['halo.received_most']):,} | "
                          f"{int(row['halo.sent_most']):,} | {float(row['halo.all_B']) / 1e6:.2f} | {row['halo.peers_most']} | "
                          f"{float(row['predicted.efficiency']):.2f} |", part)
        self.assertEqual(sum(line.startswith("| ") for line in part.splitlines()), len(shown) + 1)
        done = call("info", "gen:poisson2d:1000", "--ranks=64,1000", "--probe=off", "--format=csv").stdout
        logged = [row for row in rows if row["matrix.name"] == "gen:poisson2d:1000" and row["ranks.partition"] == "nnz"]
        counted = list(csv.DictReader(done.splitlines()))
        for row in logged + counted: # the last bits of these are the compiler's
            for key in [key for key in row if key.startswith("predicted.")]:
                row[key] = f"{float(row[key]):.6g}" if row[key][0].isdigit() else row[key]
        self.assertEqual(counted, logged)

    def test_a_table_fits(self):
        talk = call("info", "gen:rmat:8:4", "--ranks=2:12:2,100000", "-v").stdout
        self.assertLessEqual(max(map(len, talk.splitlines())), 80)
        self.assertEqual([line.split()[1:] for line in talk.splitlines() if line.startswith("  ranks ")],
                         [["2", "4", "6", "8"], ["10", "12", "100000"]])
        rows = list(csv.DictReader(call("info", "gen:diagonal:9", "gen:rmat:8:4", "--ranks=2,3", "--format=csv").stdout.splitlines()))
        self.assertEqual([(row["matrix.rows"], row["ranks.count"]) for row in rows], [("9", "2"), ("9", "3"), ("256", "2"), ("256", "3")])
        lines = call("info", "gen:diagonal:9", "--ranks=2,3", "--format=jsonl").stdout.splitlines()
        self.assertEqual([json.loads(line)["ranks"]["count"] for line in lines], [2, 3])
        self.assertEqual(len(info("gen:diagonal:9", "2,3", "gen:diagonal:7")), 4)

    @unittest.skipUnless(HAS["metis"], "METIS is not installed")
    def test_sigterm_ends_the_program_while_metis_divides(self):
        """METIS takes the signal for itself, and would fail with -4."""
        program = subprocess.Popen([SPMV, "info", "gen:random:400000:9", "--ranks=64", "--partition=metis"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 60
        maps = pathlib.Path(f"/proc/{program.pid}/maps")
        while "libmetis" not in maps.read_text(encoding="utf-8") and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(0.5)
        children = pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text(encoding="utf-8").split()
        self.assertIsNone(program.poll())
        program.terminate()
        said = program.communicate(timeout=600)[1]
        self.assertEqual((program.returncode, said.strip()), (143, "spmv: interrupted"))
        for child in children:
            stat = pathlib.Path(f"/proc/{child}/stat")
            end = time.monotonic() + 60
            while stat.exists() and " Z " not in stat.read_text(encoding="utf-8") and time.monotonic() < end:
                time.sleep(0.02)
            self.assertTrue(not stat.exists() or " Z " in stat.read_text(encoding="utf-8"))

    def test_what_is_wrong_is_refused(self):
        path = self.folder / "ranks"
        path.write_text("0\n1\n2\n", encoding="utf-8")
        for words, code, said in (
                (["--ranks=0"], 64, "--ranks: '0' is not a whole number from 1 to 1048576"),
                (["--ranks=-2"], 64, "--ranks: '-2' is not"), (["--ranks=2,"], 64, "--ranks: '' is not"),
                (["--ranks=two"], 64, "--ranks: 'two' is not"), (["--ranks=1:17"], 64, "more than 16 numbers of ranks"),
                (["--ranks=2000000"], 64, "--ranks: '2000000' is not"), (["--ranks=2", "--partition=nosuch"], 64, "is not rows, nnz, metis"),
                (["--ranks=2", "--network=2:1"], 64, "is not US:US:GBPS"), (["--ranks=2", "--network=2:1:0"], 64, "'0' is not a number from 1e-06"),
                (["--ranks=2", "--network=2:1:3:4"], 64, "'3:4' is not a number from 1e-06"),
                (["--ranks=2", "-k", "csr1"], 64, "does not take --kernel"), (["--partition=rows"], 64, "--partition is of --ranks"),
                (["--ranks=2", f"--partition={path}"], 65, "its number 3, '2', is not a rank from 0 to 1"),
                (["--ranks=3", f"--partition={path}"], 65, "has a rank for 3 rows, and the matrix 4 rows"),
                (["--ranks=3", f"--partition={self.folder}"], 66, "Is a directory"),
        ):
            with self.subTest(words):
                done = call("info", "gen:diagonal:4", *words)
                self.assertEqual((done.returncode, said in " ".join(done.stderr.split())), (code, True), done.stderr)
        done = call("info", "gen:dense:3x4", "--ranks=2", "--partition=metis")
        self.assertEqual((done.returncode, "square matrices only" in done.stderr), (64, True), done.stderr)


if __name__ == "__main__":
    unittest.main()
