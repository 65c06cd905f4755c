#!/usr/bin/env python3
"""test/cuda.sh itself, with a GPU, kernels and tests that are scripts: what it counts, that nothing is lost, how it ends."""

import os
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

CUDA_SH = Path(__file__).resolve().parents[1] / "cuda.sh"
TESTS = ("test_kernels", "test_kernel_rules", "test_kernels_in_turn", "test_vectors", "test_apply", "test_streams", "test_source",
         "test_source_tuning", "test_values", "test_device_memory", "test_peak", "test_formats", "test_device_formats", "test_bittcf",
         "test_coo_csb", "test_csr_balanced", "test_upload", "test_live")
# Plays spmv run --format=csv: one row for each matrix and status; flags hold a comma, in quotes.
SPMV = r"""#!/bin/sh
case "$*" in '-V -v') exit;; *"$SLOW"*) [ -z "$SLOW" ] || { : >"$0.sleeps"; exec sleep 600; };; esac
echo 'schema,status,build.cflags,matrix.name'; code=0
for word in "$@"; do
    case $word in
    gen:$WRONG) echo "1,wrong,\"-a,-b\",$word"; code=1 ;;
    gen:$LOST) ;;
    gen:$SKIPPED) printf '1,skipped,"-a,-b",%s\n' "$word" ;;
    gen:* | *.mtx) printf '1,ok,"-a,-b",%s\n1,skipped,"-a,-b",%s\n' "$word" "$word" ;;
    esac
done
exit $code
"""
# Plays Python: what users.py lists and says of each job, and one that fails.
PYTHON = r"""#!/bin/sh
case "$*" in
-W*) ;;
*' limits') echo "FAIL spmv probe"; exit 1 ;;
*' sweeps') echo "     0.1 s  spmv sweep" ;;
*) echo sweeps; echo limits ;;
esac
"""


class CudaScript(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.work = Path(scratch.name)
        for name in ("bin", "test", "matrices", "tmp"):
            (self.work / name).mkdir()
        self.script("spmv", SPMV)
        self.script("bin/nvidia-smi", "#!/bin/sh\necho 'a GPU, 1, 2 MiB'\n")
        self.script("bin/compute-sanitizer", "#!/bin/sh\necho '== SUMMARY: 0 errors' >$6; shift 6; exec \"$@\"\n")
        for name in TESTS:
            self.script("test/" + name, "#!/bin/sh\necho \"$* $SPMV_REQUIRE_CUDA [  PASSED  ] 1 test(s).\"\n")
        (self.work / "matrices/a.mtx").write_text("%%MatrixMarket matrix coordinate real general\n0 0 0\n")
        (self.work / "matrices/b.mtx").write_text("%%MatrixMarket matrix coordinate complex general\n0 0 0\n")

    def script(self, name, text):
        (self.work / name).write_text(text)
        (self.work / name).chmod(0o755)

    def start(self, **environment):
        values = {"CLASSES": "mesh:9 road:9", "MATRICES": str(self.work / "matrices"), "TMPDIR": str(self.work / "tmp"),
                  "PATH": f"{self.work}/bin:{os.environ['PATH']}", "WRONG": "none", "LOST": "none", "SKIPPED": "none", "SLOW": "", "JOBS": "1",
                  "PART": "kernels sanitizers"}
        return subprocess.Popen(["sh", str(CUDA_SH), str(self.work)], env={**os.environ, **values, **environment}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run_all(self, **environment):
        process = self.start(**environment)
        out = process.communicate(timeout=500)[0]
        self.assertEqual(list((self.work / "tmp").iterdir()), [], "left behind")
        return process.returncode, out

    def test_all_is_well(self):
        code, out = self.run_all()
        self.assertEqual(code, 0, out)
        self.assertIn("cuda 1 [  PASSED  ]", out)
        self.assertIn("launches: mesh:9 road:9: 2 matrices, 2 ok, 2 skipped, 0 wrong, 0 failed\n", out)
        self.assertIn("b.mtx: complex, not multiplied", out)
        self.assertIn("files: a: 1 matrices, 1 ok", out)
        self.assertEqual(out.count("== SUMMARY: 0 errors"), 6)
        self.assertIn("compute-sanitizer memcheck: giantrow:2000:1900 mesh:5000 random:400:33:5000: 3 matrices, 3 ok", out)
        self.assertTrue(out.endswith("29 passed, 0 failed, 0 not run to their end\n"), out)

    def test_what_is_wrong_or_missing_fails(self):
        code, out = self.run_all(WRONG="mesh:9")
        self.assertEqual(code, 1)
        self.assertIn("1 matrices, 1 ok, 1 skipped, 1 wrong, 0 failed (exit 1)", out)
        self.assertIn("26 passed, 3 failed", out)
        code, out = self.run_all(LOST="road:9")
        self.assertEqual(code, 1, "a matrix without a row")
        self.assertIn("1 matrices, 1 ok, 1 skipped, 0 wrong, 0 failed (exit 1)", out)
        code, out = self.run_all(SKIPPED="road:9")
        self.assertEqual(code, 1, "a matrix that nothing multiplied")
        self.assertIn("1 matrices, 1 ok, 2 skipped, 0 wrong, 0 failed (exit 1)", out)
        self.script("test/test_formats", "#!/bin/sh\necho 'no GPU'; exit 1\n")
        code, out = self.run_all(FEW="1")
        self.assertEqual(code, 1)
        self.assertIn("no GPU\nFAIL", out)
        self.script("bin/compute-sanitizer", "#!/bin/sh\necho '== Invalid read' >$6; exit 9\n")
        code, out = self.run_all()
        self.assertEqual(code, 1)
        self.assertEqual(out.count("== Invalid read\nFAIL"), 6, out)

    def test_it_begins_with_what_users_type(self):
        self.script("python", PYTHON)
        code, out = self.run_all(PART="", PYTHON=str(self.work / "python"))
        self.assertEqual(code, 1)
        self.assertRegex(out, r"\n     0.1 s  spmv sweep\nok +\d+ s  users: sweeps\nFAIL spmv probe\nFAIL +\d+ s  users: limits \(exit 1\)\n")
        self.assertLess(out.index("users: limits"), out.index("test_kernels"))
        self.assertTrue(out.endswith("30 passed, 1 failed, 0 not run to their end\n"), out)
        code, out = self.run_all(PART="users", PYTHON=str(self.work / "python"))
        self.assertTrue(out.endswith("1 passed, 1 failed, 0 not run to their end\n"), out)

    def test_an_unknown_part_is_refused(self):
        code, out = self.run_all(PART="users nothing")
        self.assertEqual(code, 64)
        self.assertTrue(out.endswith("cuda.sh: no part 'nothing': PART is of users kernels sanitizers\n"), out)

    def test_interrupted_it_says_how_far_it_came(self):
        process = self.start(SLOW="--alpha=2")
        while not (self.work / "spmv.sleeps").exists() and process.poll() is None:
            time.sleep(0.1)
        begun = time.time()
        process.send_signal(signal.SIGTERM)
        out = process.communicate(timeout=500)[0]
        self.assertLess(time.time() - begun, 300, "waits for what it should end")
        self.assertEqual(process.returncode, 143, out)
        self.assertIn("not run to its end: class scaled -m gen:mesh:9", out)
        self.assertTrue(out.endswith("21 passed, 0 failed, 8 not run to their end\n"), out)
        self.assertEqual(list((self.work / "tmp").iterdir()), [], "left behind")


if __name__ == "__main__":
    unittest.main()
