#!/usr/bin/env python3
"""Tests of what spmv sweep survives: a cell that crashes, hangs or takes all memory (plant.c), its own
end by kill -9 or Ctrl-C, and a log that ends in half a line."""

import json
import math
import os
import re
import resource
import signal
import statistics
import subprocess
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SPMV = os.environ.get("SPMV", os.path.join(ROOT, "spmv"))
ON_GPU = "SPMV_REQUIRE_CUDA" in os.environ  # test/cuda.sh: the same with devices that children open
KERNELS = ("cuda:csr_thread", "cuda:csr_warp", "cuda:ell_thread") if ON_GPU else (
    "omp:csr_serial", "omp:csr_rows", "omp:coo_segments")  # cells 0, 1, 2
SECOND = KERNELS[1].split(":")[1]
OPTIONS = ["-t", "2", "--min-time=0", "--max-time=0", "--samples=3"]
MATRICES = ["gen:poisson2d:20", "gen:poisson2d:30"]
FEATURES = subprocess.run([SPMV, "-V", "-v"], capture_output=True, text=True, check=True).stdout


@unittest.skipUnless("jansson" in FEATURES, "built without jansson: no log")
class SweepTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.plant = os.path.join(cls.folder.name, "plant.so")
        subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-o", cls.plant,
                        "-D_GNU_SOURCE", "-I", os.path.join(ROOT, "include"),
                        "-I", os.path.join(ROOT, "src"), "-I", ROOT, os.path.join(ROOT, "test", "plant.c"),
                        "-ldl"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.matrices = MATRICES
        name = self.id().rsplit(".", maxsplit=1)[-1]
        self.log = os.path.join(self.folder.name, name + ".jsonl")
        self.pid = os.path.join(self.folder.name, name + ".pid")

    def start(self, *words, plant=None, cell=1, after=0):
        environment = dict(os.environ)
        if plant:
            environment.update(LD_PRELOAD=self.plant, PLANT=plant, PLANT_CELL=str(cell),
                               PLANT_AFTER=str(after), PLANT_PID=self.pid)
        kernels = [] if "-k" in words else ["-k", ",".join(KERNELS)]
        return subprocess.Popen([SPMV, "sweep", *self.matrices, *kernels, *OPTIONS, "--log", self.log, *words],
                                env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    @unittest.skipIf(ON_GPU or "-san/" in os.path.realpath(SPMV), "of plain processes without a driver")
    def test_memory_is_forecast(self):
        """Within 20 % for 100 MB, of which the process itself is a tenth, and never too little."""
        kernels = ("csr_tiles", "csr_tiles_copied", "csr_scatter", "coo_segments", "cmrs_strips", "csb_blocks",
                   "csr_rows,omp:csr_tiles,omp:coo_segments")
        for matrix, kernel, words in (("gen:random:150000:30", "csr_rows", []), ("gen:poisson2d:300", "csr_rows", ["--vectors=8"]),
                                      ("gen:poisson2d:600", "csr_tiles", ["--grid=2x9"]),
                                      *(("gen:poisson2d:600", kernel, []) for kernel in kernels)):
            self.matrices = [matrix]
            plan = self.start("--dry-run", "-k", f"omp:{kernel}", *words)
            said = plan.communicate()[0]
            number, unit = re.search(r"peak memory about ([0-9.]+) (MB|GB)", said).groups()
            run = subprocess.Popen([SPMV, "-m", matrix, "-k", f"omp:{kernel}", "--no-log", "-q", "--probe=off", *OPTIONS, *words],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, used = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(run.returncode, 0)
            taken = 1024 * used.ru_maxrss - 7e6  # pages of the program's file
            forecast = float(number) * (1e6 if unit == "MB" else 1e9)
            self.assertTrue(taken <= forecast <= 1.2 * taken, f"{matrix} {kernel}: {forecast:.4g} of {taken:.4g}")

    def sweep(self, *words, plant=None, cell=1):
        """Exit code and what it said; self.summary: what it printed."""
        process = self.start(*words, plant=plant, cell=cell)
        self.summary, said = process.communicate(timeout=600)
        return process.returncode, said

    def records(self):
        with open(self.log, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def statuses(self):
        return {(r["matrix"]["name"], r["config"]["kernel"]): r["status"]
                for r in self.records()}

    def planted(self):
        """The child's process number, once the plant was met."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if os.path.exists(self.pid):
                with open(self.pid, encoding="utf-8") as file:
                    text = file.read()
                if text.endswith("\n"):
                    return int(text)
            time.sleep(0.02)
        return self.fail("the planted cell never began")

    def is_gone(self, pid):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                    if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                        return True
            except FileNotFoundError:
                return True
            time.sleep(0.05)
        return False

    def expect(self, status, reason):
        """Cell 1 has the status on both matrices, all others are ok."""
        found = self.statuses()
        self.assertEqual(len(self.records()), 6)
        self.assertEqual(len(found), 6)
        for (matrix, kernel), value in found.items():
            self.assertEqual(value, status if kernel == SECOND else "ok", (matrix, kernel))
        for r in self.records():
            if r["status"] != "ok":
                self.assertIn(reason, r["reason"])
                self.assertIsNotNone(r["matrix"]["hash"])
                self.assertIsNotNone(r["key"])

    def test_what_a_full_disk_kept_is_counted(self):
        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write past the limit fails, as on a full disk
            resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))
        done = subprocess.run([SPMV, "sweep", *self.matrices, "-k", ",".join(KERNELS), *OPTIONS, "--log", self.log], preexec_fn=small_files,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 73, done.stderr)
        with open(self.log, encoding="utf-8") as file:
            kept = file.read().count("\n")
        self.assertIn(f"(+{kept})", done.stderr)
        shown = done.stderr.count("  ok ")
        self.assertTrue(0 < kept < shown, done.stderr)
        self.assertIn(f"{shown} ok, ", done.stderr)

    def test_a_crash_costs_its_cell(self):
        self.assertEqual(self.sweep(plant="crash")[0], 3)
        self.expect("crashed", "signal 11")

    def test_a_hang_costs_its_cell(self):
        code, said = self.sweep("--timeout=5", plant="hang")
        self.assertEqual(code, 3, said)
        self.expect("timeout", "--timeout")

    def test_a_kill_counts_as_out_of_memory(self):
        self.assertEqual(self.sweep(plant="kill")[0], 3)
        self.expect("out of memory", "killed")

    @unittest.skipIf(ON_GPU, "the driver's own allocations fail, and it does not say so")
    def test_an_allocation_that_fails_costs_its_cell(self):
        # coo_segments makes a store of 7 MB of its own; the others use what is there.
        self.matrices = ["gen:poisson2d:300"]
        self.assertEqual(self.sweep(plant="memory", cell=2)[0], 3)
        self.assertEqual({key[1]: value for key, value in self.statuses().items()},
                         {"csr_serial": "ok", "csr_rows": "ok", "coo_segments": "out of memory"})

    def test_kill_9_costs_only_what_is_not_final(self):
        # A sample a turn: the third ends the rows, of the cells 2, 0, 1 in the first pass.
        self.matrices = [MATRICES[0]]
        process = self.start(plant="hang", after=3)
        self.planted()
        process.kill()
        process.communicate()
        self.assertEqual(sorted(r["config"]["kernel"] for r in self.records()),
                         sorted(k.split(":")[1] for k in (KERNELS[0], KERNELS[2])))
        code, said = self.sweep("--resume")
        self.assertEqual(code, 0, said)
        self.assertIn("1 ok, 0 skipped, 0 wrong, 0 failed, 2 reused.", said)

    def child_cpu_s(self, pid):
        """Returns the number of the process that measures; 0: there is none yet."""
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
                child = file.read().split()[0]
            with open(f"/proc/{child}/stat", encoding="utf-8") as file:
                return int(file.read().rsplit(")", 1)[1].split()[11]) / os.sysconf("SC_CLK_TCK")
        except (OSError, IndexError):
            return 0

    @unittest.skipIf(ON_GPU, "waits for processor time")
    def test_a_stopped_sweep_keeps_what_had_its_least_time(self):
        self.matrices = [MATRICES[0]]
        process = self.start("--min-time=0.05", "--max-time=600", "--max-noise=0%", "-t", "1")
        end = time.monotonic() + 120
        while self.child_cpu_s(process.pid) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        process.terminate()
        said = process.communicate(timeout=600)[1]
        self.assertEqual(process.returncode, 143, said)
        self.assertEqual([r["status"] for r in self.records()], ["ok"] * 3, said)
        self.assertEqual({r["timing"]["settled"] for r in self.records()}, {False})

    def test_retry_tries_what_failed_again(self):
        self.assertEqual(self.sweep(plant="crash")[0], 3)
        code, said = self.sweep("--resume")
        self.assertEqual(code, 3, said)
        self.assertIn("6 reused (2 of them wrong or failed; --retry", said)
        code, said = self.sweep("--retry")
        self.assertEqual(code, 0, said)
        self.assertIn("2 ok, 0 skipped, 0 wrong, 0 failed, 4 reused.", said)
        code, said = self.sweep("--retry")
        self.assertEqual(code, 0, said)
        self.assertIn("6 reused.", said)

    def test_retry_measures_what_did_not_settle_again(self):
        timed = ("--max-time=0.01", "--max-noise=0%")
        self.assertEqual(self.sweep(*timed)[0], 0)
        code, said = self.sweep("--resume", *timed)
        self.assertEqual(code, 0, said)
        self.assertIn("6 reused.", said)
        code, said = self.sweep("--retry", *timed)
        self.assertEqual(code, 0, said)
        self.assertIn("6 ok, 0 skipped, 0 wrong, 0 failed, 0 reused", said)
        self.assertEqual(len(self.records()), 12)
        with open(self.log, encoding="utf-8") as file:
            text = file.read().replace('"settled":false', '"settled":true', 6)
        with open(self.log, "w", encoding="utf-8") as file:
            file.write(text)
        code, said = self.sweep("--retry", *timed)
        self.assertIn("6 reused.", said)

    def test_another_stop_rule_is_another_measurement(self):
        self.assertEqual(self.sweep("--verify=off")[0], 0)
        for words in ((), ("-n", "4"), ("--max-noise=2%",), ("--max-mem=1G",)):
            code, said = self.sweep("--resume", *words)
            self.assertEqual(code, 0, said)
            self.assertIn("6 ok, 0 skipped, 0 wrong, 0 failed, 0 reused", said)

    def test_another_product_is_another_measurement(self):
        self.matrices = [MATRICES[0]]
        fresh = "1 ok, 0 skipped, 0 wrong, 0 failed, 0 reused"
        for words in ((), ("--grid=2x3",), ("--grid=3x2",), ("--alpha=2",), ("--beta=2",), ("--seed=5",), ("-T",)):
            for said in fresh, "1 reused":
                self.assertIn(said, self.sweep("--resume", "-k", "omp:csr_tiles", *words)[1], words)

    def test_another_precision_or_file_is_another_measurement(self):
        path = os.path.join(self.folder.name, "one.mtx")
        self.matrices = [path]

        def write(value, at):
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 {value}\n")
            os.utime(path, ns=(at, at))

        fresh, reused = "3 ok, 0 skipped, 0 wrong, 0 failed, 0 reused", "3 reused"
        write(1, 1_700_000_000_000_000_000)
        for words, said in (((), fresh), (("-p", "f32"), fresh), ((), reused), (("-p", "f32"), reused),
                            (("-p", "f64,f32"), "6 reused")):
            self.assertIn(said, self.sweep("--resume", *words)[1])
        for value, at in ((2, 1_700_000_001_000_000_000), (3, 1_700_000_001_000_000_001)):
            write(value, at)  # as many bytes as before
            self.assertIn(fresh, self.sweep("--resume")[1])
            self.assertIn(reused, self.sweep("--resume")[1])

    def test_every_failure_is_tried_again(self):
        self.matrices = [MATRICES[0]]
        self.assertEqual(self.sweep()[0], 0)
        with open(self.log, encoding="utf-8") as file:
            right = file.read()
        for status, answers in (("failed", False), ("crashed", False), ("timeout", False), ("out of memory", False),
                                ("wrong", True), ("skipped", True)):
            planted = right.replace('"status":"ok","reason"', f'"status":"{status}","reason"', 1)
            self.assertNotEqual(planted, right)
            with open(self.log, "w", encoding="utf-8") as file:
                file.write(planted)
            with self.subTest(status=status):
                self.assertIn("3 reused" if answers else "1 ok, 0 skipped, 0 wrong, 0 failed, 2 reused",
                              self.sweep("--retry")[1])

    def test_a_command_repeats_what_the_environment_said(self):
        environment = {**os.environ, "SPMV_CACHE": "cold", "SPMV_MATRIX": "gen:poisson2d:9",
                       "SPMV_VALUES": "few:4"}
        subprocess.run([SPMV, "-k", ",".join(KERNELS), *OPTIONS, "-m", MATRICES[0], "--log", self.log, "-q"],
                       env=environment, check=True, stdout=subprocess.DEVNULL)
        for r in self.records():
            self.assertEqual(r["argv"][1:3], ["--values=few:4", "--cache=cold"])
            self.assertNotIn("--matrix=gen:poisson2d:9", r["argv"])
            self.assertEqual(r["matrix"]["name"], MATRICES[0] + " few:4")

    def test_long_turns_are_no_hang(self):
        self.matrices = [MATRICES[0]]
        code, said = self.sweep("--timeout=3", "--min-time=9", "--max-time=9", "-k", KERNELS[0])
        self.assertEqual(code, 0, said)

    def test_passes_are_told_apart(self):
        self.assertEqual(self.sweep("--passes=2")[0], 0)
        self.assertEqual(sorted(r["sweep"]["pass"] for r in self.records()), [1] * 6 + [2] * 6)
        self.assertEqual(len({r["sweep"]["cell"] for r in self.records()}), 12)
        self.assertEqual(len({r["key"] for r in self.records()}), 6)

    def by_state(self):
        """{(matrix, kernel, state): record} without what differs from run to run."""
        found = {}
        for r in self.records():
            for name in ("timing", "perf", "time", "run_id", "argv", "prep"):
                r.pop(name, None)
            r["matrix"].pop("read_s"), r["matrix"].pop("build_s"), r["matrix"].pop("thumbnail")
            r["host"].pop("load", None)
            found[r["matrix"]["name"], r["config"]["kernel"], r["config"]["cache"]] = r
        return found

    def test_states_of_one_sweep_are_as_those_of_several(self):
        for state in ("cold", "steady", "warm"):
            self.assertEqual(self.sweep("--cache=" + state)[0], 0)
        alone = self.by_state()
        code, said = self.sweep("--cache=cold,steady,warm", "--resume")
        self.assertEqual(code, 0, said)
        self.assertIn("18 reused", said)
        os.remove(self.log)
        self.assertEqual(self.sweep("--cache=cold,steady,warm")[0], 0)
        self.assertEqual(len(alone), 18)
        self.assertEqual(self.by_state(), alone)
        records = self.records()
        for r in records:
            flush, copies = r["timing"]["flush_B"], r["timing"]["copies"]
            state = r["config"]["cache"]
            self.assertEqual((flush > 0, copies > 1), (state != "warm", state == "steady"), state)
            self.assertIsNone(r["perf"]["ranked"])  # logged before the others have a time

    @unittest.skipIf(ON_GPU, "a kernel of the host")
    def test_states_share_a_preparation(self):
        # csr_balanced makes arrays of its own, in a time that never comes out the same twice.
        code, said = self.sweep("--cache=cold,steady,warm", "-k", "omp:csr_balanced")
        self.assertEqual(code, 0, said)
        for matrix in self.matrices:
            spent = {r["prep"]["prepare_s"] for r in self.records() if r["matrix"]["name"] == matrix}
            self.assertEqual(len(spent), 1)

    def test_a_state_is_added_to_a_log(self):
        self.assertEqual(self.sweep("--cache=steady")[0], 0)
        code, said = self.sweep("--cache=cold,steady", "--resume")
        self.assertEqual(code, 0, said)
        self.assertIn("6 ok, 0 skipped, 0 wrong, 0 failed, 6 reused", said)

    def test_ctrl_c_keeps_what_is_finished(self):
        self.assertEqual(self.sweep(plant="hang", cell=3)[0], 0)  # there is no cell 3
        process = self.start("--passes=2", "--resume", "--timeout=300", plant="hang")
        child = self.planted()
        process.send_signal(signal.SIGINT)
        summary, said = process.communicate(timeout=600)
        self.assertEqual(process.returncode, 130, said)
        self.assertRegex(summary, r"^over 2 matrices, .*\nGFLOP/s .*\n(.* csr_rows|.* csr_serial|.* coo_segments\n){1,3}")  # what is known so far
        self.assertLessEqual(len(summary.splitlines()), 5)
        self.assertIn("--resume", said)
        self.assertIn("6 reused, 6 not run", said)
        self.assertTrue(self.is_gone(child))
        self.assertEqual(len(self.records()), 6)
        self.assertEqual(self.sweep("--passes=2", "--resume")[0], 0)
        self.assertEqual(len(self.records()), 12)

    def test_a_child_that_never_ends_does_not_hold_the_sweep(self):
        """It has reported all its cells and closed its end of the pipe, but waits for ever in its exit."""
        begun = time.monotonic()
        code, said = self.sweep("--timeout=5", plant="linger")
        self.assertEqual(code, 0, said)
        self.assertEqual(set(self.statuses().values()), {"ok"})
        self.assertEqual(len(self.records()), 6)
        self.assertLess(time.monotonic() - begun, 200)
        for plant in ("linger", "unkillable"):
            os.unlink(self.pid)
            process = self.start("--timeout=300", plant=plant)
            child = self.planted()
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=600)[1]
            self.assertEqual(process.returncode, 130, said)
            self.assertEqual("does not end" in said, plant == "unkillable", said)
            self.assertTrue(self.is_gone(child))  # at the latest with its parent

    def test_kill_9_and_resume(self):
        # Pass 1 is logged; the sweep is killed while it resumes with two more.
        self.assertEqual(self.sweep()[0], 0)
        process = self.start("--passes=3", "--resume", "--timeout=300", plant="hang")
        child = self.planted()
        process.kill()
        process.communicate(timeout=600)
        self.assertTrue(self.is_gone(child), "the child goes on measuring")
        self.assertEqual(len(self.records()), 6)
        code, said = self.sweep("--passes=3", "--resume")
        self.assertEqual(code, 0, said)
        self.assertIn("6 reused", said)
        self.assertEqual(len(self.records()), 18)
        self.assertEqual(len({r["sweep"]["cell"] for r in self.records()}), 18)

    def test_kill_9_among_the_rounds_costs_one_cell(self):
        # The other two cells of the second matrix were final before the one that hangs.
        self.matrices = [MATRICES[0]]
        self.assertEqual(self.sweep()[0], 0)
        self.matrices = MATRICES
        process = self.start("--resume", "--timeout=300", plant="hang", after=3)
        child = self.planted()
        process.kill()
        process.communicate(timeout=600)
        self.assertTrue(self.is_gone(child), "the child goes on measuring")
        self.assertEqual(len(self.records()), 5)
        code, said = self.sweep("--resume")
        self.assertEqual(code, 0, said)
        self.assertIn("5 reused", said)
        self.assertEqual(len(self.statuses()), 6)
        self.assertEqual(len(self.records()), 6)

    def cut(self, missing):
        """Takes so many bytes off the log's end."""
        with open(self.log, "r+b") as file:
            file.truncate(os.path.getsize(self.log) - missing)

    def test_half_a_record_is_cut_off_and_measured_again(self):
        self.assertEqual(self.sweep()[0], 0)
        self.cut(100)
        code, said = self.sweep("--resume")
        self.assertEqual(code, 0, said)
        self.assertIn("incomplete record", said)
        self.assertIn("1 ok, 0 skipped, 0 wrong, 0 failed, 5 reused", said)
        self.assertEqual([r["status"] for r in self.records()], ["ok"] * 6)
        self.assertEqual(len(self.statuses()), 6)

    def test_the_first_byte_of_a_record_is_half_of_one(self):
        with open(self.log, "w", encoding="utf-8") as file:
            file.write("{")
        code, said = self.sweep()
        self.assertEqual(code, 0, said)
        self.assertIn("1 bytes were removed", said)
        self.assertEqual(len(self.records()), 6)

    def test_a_whole_record_without_newline_is_kept(self):
        self.assertEqual(self.sweep()[0], 0)
        self.cut(1)
        code, said = self.sweep("--resume")
        self.assertEqual(code, 0, said)
        self.assertIn("without a newline", said)
        self.assertIn("6 reused", said)
        self.assertEqual(len(self.records()), 6)
        with open(self.log, encoding="utf-8") as file:
            self.assertTrue(file.read().endswith("}\n"))

    def test_what_is_no_record_is_not_removed(self):
        with open(self.log, "w", encoding="utf-8") as file:
            file.write("x" * 5000)  # longer than what is read at once
        code, said = self.sweep()
        self.assertEqual(code, 0, said)
        self.assertIn("without a newline", said)
        with open(self.log, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(lines[0], "x" * 5000)
        self.assertEqual([json.loads(line)["status"] for line in lines[1:]], ["ok"] * 6)

    def test_half_a_record_in_the_middle_of_a_sweep_is_cut_off(self):
        # A child is killed while it writes: the sweep goes on in the same file.
        self.matrices = [MATRICES[0]]
        process = self.start("--timeout=5", plant="hang")
        self.planted()
        with open(self.log, "a", encoding="utf-8") as file:
            file.write('{"schema":')
        said = process.communicate(timeout=600)[1]
        self.assertEqual(process.returncode, 3, said)
        self.assertIn("10 bytes were removed", said)
        self.assertEqual(len(self.records()), 3)

    # ---- the end: who was fastest ---------------------------------------------------------------

    def medians(self):
        """{matrix: {kernel: median}} of what is logged, of the best state of a cell."""
        found = {}
        for r in self.records():
            if r["status"] == "ok":
                found.setdefault(r["matrix"]["name"], {})[r["config"]["kernel"]] = r["timing"]["median_s"]
        return found

    def winners(self, text):
        """{matrix: (median, in seconds, fastest, how many times as long the second takes, second)} of a summary, where how many
        are the least, the most and what their last digit leaves open; None: tied, or there is no second. On a busy machine
        marks of doubt follow a time, and least and most differ."""
        found = {}
        for line in text.splitlines():
            row = re.match(r"(gen:\S+) +([0-9.]+) ([nuµm]?s)[~!]*(?: !)? +[0-9.e-]+  (\S+) *(?: (?:=|(about )?([0-9.]+)(?:-([0-9.]+))?x) (\S+))?$", line)
            if row:
                matrix, median, unit, first, doubt, least, most, second = row.groups()
                scale = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1}[unit]
                found.setdefault(matrix, (float(median) * scale, first,
                                          least and (float(least), float(most or least), 0.06 if most or doubt else 0.006), second))
        return found

    def standings(self):
        """{kernel: (rate, time over the fastest, error of its last digit, fastest on, timed)} of the summary; of times in doubt
        one decimal is known."""
        lines = [line.split() for line in self.summary.splitlines()]
        start = next(k for k, line in enumerate(lines) if line[:2] == ["GFLOP/s", "time"])
        return {line[4]: (line[0], float(line[1].rstrip("x!")), 0.06 if "!" in line[1] else 0.006, int(line[2]), int(line[3]))
                for line in lines[start + 1:]}

    def check_summary(self):
        """The summary says what the log says. A coarse clock gives kernels the same time: then either is the first."""
        names = [kernel.split(":")[1] for kernel in KERNELS]
        medians, winners = self.medians(), self.winners(self.summary)
        self.assertEqual(set(winners), set(medians), self.summary)
        for matrix, times in medians.items():
            (_, first, ratio, second), (least, *others) = winners[matrix], sorted(times.values())
            self.assertEqual(times[first], least, self.summary)
            self.assertEqual(second is None, not others, self.summary)
            if others:
                self.assertNotEqual(second, first)
                self.assertEqual(times[second], others[0])
            if ratio:
                least, most, error = ratio
                self.assertLess(least - error, times[second] / times[first])
                self.assertGreater(most + error, times[second] / times[first])
        standings = self.standings()
        for name in names:
            slower = [times.get(name, max(10 * min(times.values()), *times.values())) / min(times.values())
                      for times in medians.values()]
            rate, over, error, wins, timed = standings[name]
            self.assertAlmostEqual(over, math.prod(slower) ** (1 / len(slower)), delta=error * over)
            self.assertEqual(wins, sum(winners[matrix][1] == name for matrix in medians))
            self.assertEqual(timed, sum(name in times for times in medians.values()))
            self.assertEqual(rate == "-", timed < len(medians))
        self.assertEqual(list(standings), sorted(standings, key=lambda name: standings[name][1]))

    def test_it_ends_with_who_was_fastest(self):
        code, said = self.sweep()
        self.assertEqual(code, 0, said)
        self.check_summary()
        self.assertRegex(said, rf"\nnext:\n    spmv table {self.log} --mean .*\n    spmv report {self.log} -o ")
        fresh = self.summary
        self.assertIn("6 reused", self.sweep("--resume")[1])
        self.assertEqual(self.summary, fresh)  # computed from times in the log

    def test_one_configuration_wins_nothing(self):
        code, said = self.sweep("-k", KERNELS[0])
        self.assertEqual(code, 0, said)
        lines = self.summary.splitlines()
        self.assertRegex(lines[0], r"^matrix +median +GFLOP/s  kernel$")
        self.assertIn("geometric mean of the rate\nGFLOP/s   timed\n", self.summary)
        self.assertRegex(lines[-1], rf"^ +[0-9.e-]+[ !] +{len(MATRICES)}  {KERNELS[0].split(':')[1]}$")
        self.assertNotIn("second", self.summary + said)

    def test_a_matrix_without_a_time_counts_as_slow(self):
        self.assertEqual(self.sweep(plant="crash")[0], 3)
        self.check_summary()
        self.assertEqual(self.standings()[SECOND][4], 0)

    def test_passes_and_states_are_summed_up(self):
        self.assertEqual(self.sweep("--passes=2", "--cache=cold,warm", "-p", "f64,f32", "-q")[0], 0)
        heads = [line for line in self.summary.splitlines() if line.endswith("caches")]
        self.assertEqual(sorted(heads), ["f32, cold caches", "f32, warm caches", "f64, cold caches", "f64, warm caches"])
        found = {}
        for r in self.records():
            if (r["config"]["precision"], r["config"]["cache"], r["matrix"]["name"]) == ("f64", "warm", MATRICES[0]):
                found.setdefault(r["config"]["kernel"], []).append(r["timing"]["median_s"])
        medians = {kernel: statistics.median(times) for kernel, times in found.items()}
        block = self.summary.partition("f64, warm caches\n")[2]
        median, first, *_ = self.winners(block)[MATRICES[0]]
        self.assertEqual(medians[first], min(medians.values()))
        self.assertAlmostEqual(median / medians[first], 1, delta=0.01)
        self.assertEqual(self.summary.count("GFLOP/s     time"), 4)

    def test_what_was_not_verified_has_no_summary(self):
        code, said = self.sweep("--verify=off")
        self.assertEqual((code, self.summary), (0, ""))
        self.assertIn("--verify=off: what is not verified is not ranked\n", said)
        self.assertNotIn("next:", said)

    @unittest.skipIf(ON_GPU, "a kernel of the host")
    def test_a_winner_is_a_configuration(self):
        def plant(threads, sigma, flags=()):
            """Times and what auto ran, written into the log, and the summary of it."""
            records = self.records()
            for r in records:
                auto = r["config"]["requested"] == "auto"
                time_s = 1e-6 if auto else 2e-6 if "sell16" in r["config"]["kernel"] else 3e-6
                r["timing"].update(dict.fromkeys(("q1_s", "median_s", "q3_s"), time_s))
                r["timing"].update(flags=flags, settled=True)
                if auto:
                    named = next(r for r in records if r["config"]["requested"] == "sell16_lanes")
                    r["config"].update(kernel="sell16_lanes", params={**named["config"]["params"], "sigma": sigma},
                                       threads=threads)
                    r["store"]["values"] = named["store"]["values"]
            with open(self.log, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(r) + "\n" for r in records)
            self.assertEqual(self.sweep(*kernels, "--resume")[0], 0)
            return self.summary.splitlines()
        kernels = "-k", "omp:auto,omp:sell16_lanes,omp:csr_rows"
        self.assertEqual(self.sweep(*kernels)[0], 0)
        lines = plant(1, 4096)
        for line in lines[1:3]:
            self.assertRegex(line, r" sell16_lanes threads=1 .*sigma=4096.* \(auto\)  2.00x sell16_lanes$")
        self.assertRegex("\n".join(lines), r" 2  +2  auto\n.* 0  +2  sell16_lanes\n.* 0  +2  csr_rows")
        self.assertRegex("\n".join(lines), r"  1.00x .* auto\n +\S+ +2.00x .* sell16_lanes\n")
        lines = plant(1, 4096, ["other programs used 1.0 processors"])  # no ratio finer than what is known of the times
        self.assertRegex(lines[1], r" 1.00 [uµ]s! .*\(auto\)  about 2.0x sell16_lanes$")
        self.assertRegex("\n".join(lines), r"  1.0x! .* auto\n +\S+ +2.0x! .* sell16_lanes\n")
        # What both names ran is one winner, and no second.
        lines = plant(2, 1024)
        for line in lines[1:3]:
            self.assertRegex(line, r" sell16_lanes (?!threads).*sigma=1024.* \(auto\)  3.00x csr_rows$")
        self.assertRegex("\n".join(lines), r" 2  +2  auto\n.* 2  +2  sell16_lanes\n.* 0  +2  csr_rows")


if __name__ == "__main__":
    unittest.main()
