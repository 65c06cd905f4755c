#!/usr/bin/env python3
"""Tests of spmv sweep --ranks: it starts the launcher of an MPI once for a cell, and nothing of that is left when it ends."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SPMV = pathlib.Path(os.environ.get("SPMV", ROOT / "spmv")).resolve()
MPIS = [mpi for mpi in ("openmpi", "mpich")
        if (SPMV.parent / f"libspmv_{mpi}.so").exists() and shutil.which(f"mpiexec.{mpi}")]
SHORT = ["--min-time=0", "--max-time=0.01", "--max-noise=0%"]
FEATURES = subprocess.run([SPMV, "-V", "-v"], capture_output=True, text=True, check=True).stdout
CHILD = r"""
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const int failed = system(argv[1]) != 0;
    MPI_Finalize();
    return failed;
}
"""


@unittest.skipUnless(MPIS and "jansson" in FEATURES, "built without an MPI or jansson")
class SweepRanksTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "log.jsonl"
        for mpi in MPIS:  # a copy of the program, which has the exchange of one MPI
            (self.folder / mpi).mkdir()
            shutil.copy(SPMV, self.folder / mpi / "spmv")
            shutil.copy(SPMV.parent / f"libspmv_{mpi}.so", self.folder / mpi)

    def start(self, mpi, *words):
        return subprocess.Popen([self.folder / mpi / "spmv", "sweep", *words, "--log", self.log], cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def sweep(self, mpi, *words):
        """(exit code, stdout, stderr)"""
        process = self.start(mpi, *words)
        out, said = process.communicate(timeout=600)
        return process.returncode, out, said

    def records(self):
        if not self.log.exists():
            return []
        with open(self.log, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def running(self, mpi, others=()):
        """Processes of that copy of the program, and launchers of it."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = path.read_bytes()
            except OSError:
                continue
            if str(self.folder / mpi / "spmv").encode() in line and int(path.parent.name) not in others:
                found.append(int(path.parent.name))
        return found

    def all_end(self, mpi, seconds=60):
        end = time.monotonic() + seconds
        while self.running(mpi) and time.monotonic() < end:
            time.sleep(0.05)
        return not self.running(mpi)

    def test_a_cell_over_ranks_is_one_of_the_sweep(self):
        for mpi in MPIS:
            self.log.unlink(missing_ok=True)
            words = ["gen:poisson2d:20", "gen:random:60:5", "--ranks=1,2,3", "-k", "csr_rows,csr_serial", "--alpha=2", *SHORT]
            plan = self.sweep(mpi, *words, "--dry-run")
            self.assertIn("2 matrices x 6 configurations x 1 pass = 12 runs", plan[1])
            self.assertEqual(self.records(), [])
            code, out, said = self.sweep(mpi, *words)
            self.assertEqual(code, 0, said)
            self.assertIn("12 ok, 0 skipped, 0 wrong, 0 failed", said)
            for ranks in (2, 3):
                self.assertIn(f"f64, warm caches, {ranks} ranks\n", out)
            records = self.records()
            self.assertEqual(len({record["sweep"]["cell"] for record in records}), 12)
            self.assertEqual(sorted((record["ranks"]["count"] or 1, record["config"]["kernel"]) for record in records),
                             sorted([(ranks, kernel) for ranks in (1, 2, 3) for kernel in ("csr_rows", "csr_serial")] * 2))
            for record in records:
                self.assertEqual((record["status"], record["sweep"]["pass"], record["config"]["alpha"]), ("ok", 1, 2))
                if record["ranks"]["count"]:
                    self.assertIn({"openmpi": "Open MPI", "mpich": "MPICH"}[mpi], record["ranks"]["mpi"])

    def test_resume_knows_ranks_and_how_they_divide(self):
        words = ["gen:poisson2d:20", "-k", "csr_rows", *SHORT, "--resume"]
        for more, reused in ((["--ranks=2"], 0), (["--ranks=2"], 1), (["--ranks=2,3"], 1), (["--ranks=2", "--partition=rows"], 0),
                             (["--ranks=2", "--overlap=off"], 0), (["--ranks=2", "--partition=rows"], 1), ([], 0)):
            code, _, said = self.sweep(MPIS[0], *words, *more)
            self.assertEqual(code, 0, said)
            self.assertIn(f" {reused} reused", said, more)
        self.assertEqual(len(self.records()), 5)
        if len(MPIS) > 1:
            self.assertIn(" 0 reused", self.sweep(MPIS[1], *words, "--ranks=2")[2])

    def test_what_fails_has_its_record_and_reason(self):
        (self.folder / "bad.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 5\n")
        for mpi in MPIS:
            self.log.unlink(missing_ok=True)
            code, _, said = self.sweep(mpi, "bad.mtx", "--ranks=2", "-k", "csr_rows", *SHORT)
            self.assertEqual(code, 3, said)
            record, = self.records()
            self.assertEqual((record["status"], record["ranks"]["count"]), ("failed", 2))
            self.assertIn("bad.mtx:3:", record["reason"])
            self.assertNotIn(str(self.folder), record["reason"])

    def test_wrong_results_of_ranks_end_the_sweep_with_1(self):
        mpi = MPIS[0]
        subprocess.run([f"mpicc.{mpi}", "-O1", "-D_GNU_SOURCE", f"-I{ROOT}/include", f"-I{ROOT}/src", "-fPIC", "-shared", "-w",
                        ROOT / "test/ranks/faulty.c", "-o", self.folder / mpi / f"libspmv_{mpi}.so"], check=True)
        os.environ["FAULT"] = "index"
        self.addCleanup(os.environ.pop, "FAULT")
        code, _, said = self.sweep(mpi, "gen:poisson2d:30", "--ranks=2", "-k", "csr_rows", *SHORT)
        self.assertEqual((code, [record["status"] for record in self.records()]), (1, ["wrong"]), said)
        self.assertIn("rows differ", said)

    def test_a_hang_ends_with_the_launcher_and_all_ranks(self):
        for mpi in MPIS:
            self.log.unlink(missing_ok=True)
            begin = time.monotonic()
            code, _, said = self.sweep(mpi, "gen:poisson2d:50", "--ranks=3", "-k", "csr_rows", "--min-time=600", "--max-time=600",
                                       "--timeout=2")
            self.assertEqual(code, 3, said)
            self.assertLess(time.monotonic() - begin, 120)
            self.assertEqual(self.running(mpi), [])
            self.assertEqual([record["status"] for record in self.records()], ["timeout"])

    def test_a_kill_ends_the_launcher_and_all_ranks(self):
        for mpi in MPIS:
            for which in (signal.SIGTERM, signal.SIGKILL):
                process = self.start(mpi, "gen:poisson2d:50", "--ranks=3", "-k", "csr_rows", "--min-time=600", "--max-time=600")
                end = time.monotonic() + 120
                while len(self.running(mpi)) < 6 and time.monotonic() < end:  # sweep, its child, the launcher, ranks
                    time.sleep(0.05)
                self.assertGreaterEqual(len(self.running(mpi)), 6)
                time.sleep(0.5)
                process.send_signal(which)
                process.communicate(timeout=600)
                self.assertTrue(self.all_end(mpi), (mpi, which, self.running(mpi)))
                self.assertEqual(self.records(), [])

    def test_refusals(self):
        for words, said in ((["--ranks=2", "-T"], "over ranks there are no products by the transpose"),
                            (["--ranks=2", "--cache=cold"], "over ranks --cache is warm"),
                            (["--partition=rows"], "--ranks=2,4 starts so many"), (["--ranks=0"], "--ranks: '0' is not")):
            found = self.sweep(MPIS[0], "gen:poisson2d:20", "-k", "csr_rows", *SHORT, *words)
            self.assertEqual(found[0], 64, found)
            self.assertIn(said, found[2])
        os.remove(self.folder / MPIS[0] / f"libspmv_{MPIS[0]}.so")
        found = self.sweep(MPIS[0], "gen:poisson2d:20", "-k", "csr_rows", *SHORT, "--ranks=2")
        self.assertEqual(found[0], 69, found)
        self.assertIn("needs an MPI that this build has an exchange for", found[2])

    def test_what_a_rank_starts_is_no_rank(self):
        """It has the launcher's environment, as the rank has; a shell that the launcher starts has no MPI."""
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                       "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        (self.folder / "child.c").write_text(CHILD)
        for mpi in MPIS:
            subprocess.run([f"mpicc.{mpi}", self.folder / "child.c", "-o", self.folder / "child"], check=True)
            run = f"{self.folder / mpi / 'spmv'} -m gen:poisson2d:20 -k csr_rows --no-log {' '.join(SHORT)}"
            of_rank = subprocess.run([f"mpiexec.{mpi}", "-n", "2", self.folder / "child", run], env=environment, capture_output=True,
                                     text=True, timeout=600, check=False)
            self.assertEqual(of_rank.returncode, 0, of_rank.stderr)
            self.assertEqual((of_rank.stdout.count("GFLOP/s"), of_rank.stderr.count("2 ranks on")), (2, 0), of_rank.stderr)
            of_shell = subprocess.run([f"mpiexec.{mpi}", "-n", "2", "sh", "-c", run + "; exit $?"], env=environment,
                                      capture_output=True, text=True, timeout=600, check=False)
            self.assertEqual((of_shell.stdout.count("GFLOP/s"), of_shell.stderr.count("2 ranks on")), (1, 1), of_shell.stderr)


if __name__ == "__main__":
    unittest.main()
