"""Checks what a wrong result costs, end to end: spmv-wrong, a build of spmv in which some kernels are planted ones (test/wrong.c),
is run as a user would. Exit 1, WRONG, no time, a record that says where, and no rank, in every command that takes a product."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPMV = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv")).resolve().with_name("spmv-wrong")
MATRIX = "gen:poisson2d:40"
ROWS = 1600
MIDDLE = ROWS // 2
QUICK = ["--backend=omp", "--samples=9", "--min-time=0", "--max-time=0", "--probe=off"]
RIGHT = ("csr_serial", "csr_rows")
# Lists what is planted: wrong rows, the first of them, and which of the two checks sees it.
WRONG = {"cmrs_strips": (1, MIDDLE, "first"), "csr_tiles": (ROWS, 0, "first"), "csr_tiles_copied": (ROWS, 0, "last"),
         "csr_blocks": (1, MIDDLE, "last"), "csell_slices": (ROWS, 0, "last"), "sell16_lanes": (ROWS, 0, "first"),
         "spc5_rows": (1, MIDDLE, "later"), "bsr_rows": (1, MIDDLE, "later"), "hybrid_rows": (ROWS, 0, "later")}
A = {"first": "the", "later": "a", "last": "the"}
WAVERING = "bsr_lanes"  # is deterministic, so it says
# One thread: several wait for one another where other programs run, and then any kernel may look the fastest.
AUTO = ["-k", "omp:auto", "--iters=1000000", "--threads=1"]
KERNELS = ",".join(f"omp:{name}" for name in (*RIGHT, *WRONG))
FEATURES = subprocess.run([SPMV, "-V", "-v"], capture_output=True, text=True, check=True).stdout
TIMES = ("median_s", "q1_s", "q3_s", "min_s", "max_s", "mean_s", "stdev_s", "samples", "inner", "launch_s", "converged",
         "median_low_s", "median_high_s", "settled", "wall_s", "cpu_s")  # fields of a record's timing
RANKS = ("flop_per_s", "B_per_s", "bw_fraction", "gather_fraction", "verdict", "best", "tied", "ranked", "speedup_csr1",
         "breakeven", "ahead_until")  # fields of its perf


def rows_of(table):
    """{kernel: [(mark, cells)]} of the table that a terminal shows."""
    found = {}
    for line in table.splitlines():
        if match := re.match(r"([*= ]) (\w+) +(.*)", line):
            found.setdefault(match[2], []).append((match[1], re.split("  +", match[3])))
    return found


@unittest.skipUnless("jansson" in FEATURES, "built without jansson: no log")
class Wrong(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        self.log = self.folder / "log.jsonl"

    def run_spmv(self, *words):
        return subprocess.run([SPMV, *words], cwd=self.folder, capture_output=True, text=True, timeout=600, check=False)

    def spmv(self, *words, code=1, quick=True):
        """(stdout, stderr) of a command that ends with that exit code."""
        done = self.run_spmv(*words, *(QUICK if quick else []))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def records(self):
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def assert_no_time(self, record):
        self.assertEqual({name: record["timing"][name] for name in TIMES}, dict.fromkeys(TIMES))
        self.assertEqual({name: record["perf"][name] for name in RANKS}, dict.fromkeys(RANKS))
        self.assertEqual((record["timing"]["samples_s"], record["tune"]["chosen_s"]), ([], None))

    def assert_wrong(self, record, kernel, fault=None):
        bad, first, stage = fault or WRONG[kernel]
        check = record["check"]
        self.assertEqual((record["config"]["kernel"], record["status"], check["status"]), (kernel, "wrong", "wrong"))
        self.assertEqual((check["bad_rows"], check["first_bad_row"], check["stage"]), (bad, first, stage))
        self.assertTrue(record["reason"].startswith(f"{bad} of {ROWS} rows differ in {A[stage]} {stage} product, first row {first} "))
        if check["max_ratio"] is not None:  # null: infinite, as of a row that was never written
            self.assertGreater(check["max_ratio"], 1)
        self.assert_no_time(record)

    def assert_records(self, records, copies=1, ranked=len(RIGHT)):
        """Both the right and the wrong kernels have a record; the right ones are ranked among themselves alone, in a sweep not at all: it logs
        a record before the others have a time."""
        self.assertEqual(len(records), copies * (len(RIGHT) + len(WRONG)))
        for record in records:
            kernel = record["config"]["kernel"]
            if kernel in WRONG:
                self.assert_wrong(record, kernel)
                continue
            self.assertEqual((record["status"], record["check"]["status"]), ("ok", "ok"))
            self.assertTrue(0 < record["check"]["max_ratio"] < 1)
            self.assertGreater(record["timing"]["median_s"], 0)
            self.assertEqual(record["perf"]["ranked"], ranked)

    def assert_shown_wrong(self, rows, check=-1):
        """Rows of a terminal's table: neither mark nor time, and WRONG with the reason."""
        for mark, cells in rows:
            self.assertEqual(mark, " ")
            self.assertRegex(cells[check], r"^WRONG: \d+ of \d+ rows differ in (the first|a later|the last) product, first row \d+ ")
            self.assertFalse(re.search(r"\d [num]?s\b|\d%", " ".join(cells)), cells)
            self.assertEqual(set(cells[-7:-1]), {"-"}, cells)  # prep, median, IQR, GFLOP/s, GB/s, MB

    def assert_unranked(self, text):
        for name in (*WRONG, "coo_segments"):
            self.assertNotIn(name, text)

    # ---- run --------------------------------------------------------------------------------------

    def test_run(self):
        table, talk = self.spmv("-m", MATRIX, "-k", KERNELS, "-p", "f64,f32", "--log", self.log)
        rows = rows_of(table)
        for name in WRONG:
            self.assertEqual(len(rows[name]), 2)
            self.assert_shown_wrong(rows[name])
        calm = {r["config"]["precision"] for r in self.records() if r["status"] == "ok" and not r["timing"]["flags"]}
        # On a busy machine all rows of a precision may be disturbed: then none is marked as the fastest.
        self.assertEqual([mark for name in RIGHT for mark, _ in rows[name] if mark == "*"], ["*"] * len(calm))
        fastest = [line for line in talk.splitlines() if line.startswith("fastest (")]
        self.assertEqual(len(fastest), 2)
        self.assert_unranked("".join(fastest))
        self.assertIn(f"spmv: {2 * len(WRONG)} WRONG results: see the table\n", talk)
        self.assert_records(self.records(), copies=2)

    def test_each_kernel_alone(self):
        for name in WRONG:
            for cache in "warm", "cold", "steady":
                table, talk = self.spmv("-m", MATRIX, "-k", name, "--no-log", f"--cache={cache}")
                self.assert_shown_wrong(rows_of(table)[name])
                self.assertIn("spmv: 1 WRONG result: see the table\n", talk)

    def test_several_vectors(self):
        """Every vector has the wrong row; the record says how many numbers are wrong, and where the first is."""
        for turned in [], ["-T"]:
            self.log.unlink(missing_ok=True)
            table, _ = self.spmv("-m", MATRIX, "-k", "omp:csr_rows,omp:cmrs_strips", "--vectors=1,3", "--layout=rows,columns",
                                 *turned, "--log", self.log)
            self.assertEqual(len(rows_of(table)["cmrs_strips"]), 3)
            for record in self.records():
                vectors, check = record["config"]["vectors"], record["check"]
                if record["config"]["kernel"] == "csr_rows":
                    self.assertEqual((record["status"], record["perf"]["ranked"]), ("ok", 1))
                    continue
                self.assertEqual((record["status"], check["bad_rows"], check["first_bad_row"], check["first_bad_vector"]),
                                 ("wrong", vectors, MIDDLE, 0))
                where = f"{MIDDLE} of vector 0" if vectors > 1 else MIDDLE
                what = f"{vectors} of {vectors * ROWS} {'numbers' if vectors > 1 else 'rows'} differ"
                self.assertTrue(record["reason"].startswith(f"{what} in the first product, first row {where} (from 0)"))
                self.assert_no_time(record)

    def test_other_bits_of_a_deterministic_kernel(self):
        for cache in "warm", "cold", "steady":
            for precision in "f64", "f32":
                table, _ = self.spmv("-m", MATRIX, "-k", WAVERING, "--log", self.log, f"--cache={cache}", "-p", precision)
                self.assertIn("WRONG: a later product has other bits than one of the same x before it", table)
        for record in self.records():
            check = record["check"]
            self.assertEqual((record["status"], check["status"], check["stage"], check["bad_rows"]), ("wrong", "wrong", "later", 0))
            self.assertLess(check["max_ratio"], 1)
            self.assert_no_time(record)

    def test_with_the_usual_times(self):
        for name in "spc5_rows", "bsr_rows", "hybrid_rows", WAVERING:
            self.spmv("-m", MATRIX, "-k", name, "--log", self.log, quick=False)
        self.assertEqual({record["check"]["stage"] for record in self.records()}, {"later"})

    def test_copies_of_a_plan(self):
        for cache, code in ("warm", 0), ("steady", 1):
            self.spmv("-m", MATRIX, "-k", "hyb_rows", "--log", self.log, f"--cache={cache}", code=code)
        right, wrong = self.records()
        self.assertEqual(right["status"], "ok")
        self.assert_wrong(wrong, "hyb_rows", (ROWS, 0, "later"))

    def test_all_kernels_and_a_y_of_before(self):
        self.spmv("-m", MATRIX, "-k", "everything", "--alpha=2", "--beta=-1", "--log", self.log)
        statuses = {record["config"]["kernel"]: record["status"] for record in self.records()}
        wrong = sorted(name for name, status in statuses.items() if status == "wrong")
        self.assertEqual(wrong, sorted((*WRONG, WAVERING)))
        self.assertGreater(list(statuses.values()).count("ok"), len(RIGHT))
        for record in self.records():
            if record["status"] == "wrong":
                self.assert_no_time(record)

    def test_other_formats(self):
        said, _ = self.spmv("-m", MATRIX, "-k", KERNELS, "--no-log", "--format=jsonl")
        self.assert_records([json.loads(line) for line in said.splitlines()])
        said, _ = self.spmv("-m", MATRIX, "-k", KERNELS, "--no-log", "--format=csv")
        head, *lines = [line.split(",") for line in said.splitlines()]
        for line in lines:
            row = dict(zip(head, line))
            self.assertEqual(row["timing.median_s"] == "", row["config.kernel"] in WRONG)

    def test_verbose_talk_compares_no_wrong_kernel(self):
        _, talk = self.spmv("-m", MATRIX, "-k", KERNELS, "--no-log", "-v")
        for name in WRONG:
            line, = [line for line in talk.splitlines() if line.startswith(f"  omp:{name}: ")]
            self.assertNotIn("csr1", line)

    # ---- auto: one is wrong at once and disqualified, the fastest goes wrong later ------------------------------

    def assert_auto_is_wrong(self, record):
        self.assertEqual(record["config"]["requested"], "auto")
        self.assertIn(f"; disqualified sell16_lanes: its product is wrong in row {ROWS - 1}", record["config"]["reason"])
        self.assert_wrong(record, "csell_slices", (ROWS, 0, "first"))

    def spmv_auto(self, *words):
        """Where another program had the core in the few trials of csell_slices, auto chooses a right kernel: it tries again."""
        for _ in range(4):
            before = self.log.read_bytes() if self.log.exists() else b""
            done = self.run_spmv(*words, *AUTO, "--log", self.log, *QUICK)
            if done.returncode != 0 or "csell_slices" in done.stdout:
                break
            self.log.write_bytes(before)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def test_auto(self):
        for precision in "f64", "f32":
            table, talk = self.spmv_auto("-m", MATRIX, "-p", precision)
            self.assert_shown_wrong(rows_of(table)["csell_slices"])
            self.assertNotIn("auto: ", talk)  # why it was chosen says how fast it was
            self.assertIn("spmv: 1 WRONG result: see the table\n", talk)
        talk = self.spmv_auto("sweep", MATRIX)[1]
        self.assertIn("0 ok, 0 skipped, 1 wrong, 0 failed", talk)
        for record in self.records():
            self.assert_auto_is_wrong(record)
        self.assertEqual(len(self.records()), 3)

    # ---- sweep ------------------------------------------------------------------------------------

    def test_sweep_goes_on_and_resumes_to_the_same_end(self):
        sweep = ["sweep", MATRIX, "gen:diagonal:1600", "-k", KERNELS, "--log", self.log]
        talk = self.spmv(*sweep)[1]
        self.assertIn(f"4 ok, 0 skipped, {2 * len(WRONG)} wrong, 0 failed, 0 reused", talk)
        for name in WRONG:
            self.assertEqual(len(re.findall(rf"omp:{name}  WRONG: \d+ of {ROWS} rows differ", talk)), 2)
        self.assert_records(self.records(), copies=2, ranked=None)
        both = 2 * (len(RIGHT) + len(WRONG))
        for again in "--resume", "--retry":  # wrong is an answer: it is not asked again, and not forgotten
            talk = self.spmv(*sweep, again)[1]
            self.assertIn(f"0 ok, 0 skipped, 0 wrong, 0 failed, {both} reused ({2 * len(WRONG)} of them wrong or failed)", talk)
            self.assertEqual(len(self.records()), both)

    def test_tune_prints_the_command_of_the_fastest_right_one(self):
        said, talk = self.spmv("sweep", MATRIX, "-k", "coo_segments,ell_tiles,sell_slices", "--simd=on,off", "--tune", "--log", self.log)
        self.assertRegex(talk, f"omp:coo_segments --simd=on  WRONG: {ROWS} of {ROWS} rows differ in the first product")
        self.assertRegex(said, rf"\nto type:\n    spmv -m {MATRIX} -k omp:(coo_segments --simd=off|ell_tiles --simd=on) --")
        said, _ = self.spmv("sweep", MATRIX, "-k", "ell_tiles", "--tune", "--no-log", code=0)
        self.assertRegex(said, rf"\nto type:\n    spmv -m {MATRIX} -k omp:ell_tiles --simd=on --")

    # ---- what reads logs --------------------------------------------------------------------------

    def test_tables_show_wrong_and_no_number(self):
        self.spmv("-m", MATRIX, "-k", KERNELS, "--log", self.log)
        for metric in "gflops", "time", "speedup", "prep":
            table, _ = self.spmv("table", self.log, "--metric", metric, "--format=csv", code=0, quick=False)
            head, line = [row.split(",") for row in table.splitlines()]
            cells = dict(zip(head, line))
            self.assertEqual([cells[name] for name in WRONG], ["wrong"] * len(WRONG))
            self.assertTrue(all(float(cells[name]) > 0 for name in RIGHT))
        page = self.folder / "report.html"
        self.spmv("report", "--no-charts", self.log, "-o", page, code=0, quick=False)
        text = page.read_text(encoding="utf-8")
        spanning = rf"(<td rowspan=\d+>S1<td rowspan=\d+>{MATRIX})"  # spans all rows: none has another matrix
        self.assertEqual(len(re.findall(r"<td rowspan=\d+>S", text)), len(re.findall(spanning, text)))
        self.assertRegex(text, rf"<tbody>\n<tr[^>]*>{spanning}")
        for name in WRONG:
            self.assertRegex(text, rf"<tr class=wrong>{spanning}?<td>{name}<td>[^<]*<td>WRONG<td colspan=8>\d+ of {ROWS} rows")
        again = self.folder / "again.jsonl"
        self.spmv("-m", MATRIX, "-k", KERNELS, "--log", again)
        done = self.run_spmv("compare", self.log, again)
        self.assertIn(done.returncode, (0, 2), done.stderr)  # it is chance how fast right ones are
        for name in WRONG:
            self.assertRegex(done.stdout, rf"{name} .* wrong +wrong +— \(wrong → wrong\)\n")

    def test_tables_rank_no_wrong_kernel(self):
        self.spmv("-m", MATRIX, "-k", KERNELS, "--log", self.log)
        subprocess.run(["python3", ROOT / "tables/report/make_tables.py", "--out", self.folder / "out", self.log],
                       capture_output=True, check=True)
        for name in "best.csv", "best.md", "optimal.json", "speedup.md":
            text = (self.folder / "out" / name).read_text(encoding="utf-8")
            self.assertTrue(any(kernel in text for kernel in RIGHT), name)
            self.assert_unranked(text)
        summary = (self.folder / "out/summary.md").read_text(encoding="utf-8")
        for name in WRONG:
            self.assertIn(f"| {name} | 0 | 0.0 % | 0.0 % | 0 | 0 | 1 | 0 |", summary)


if __name__ == "__main__":
    unittest.main()
