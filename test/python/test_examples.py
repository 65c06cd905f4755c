"""The examples of docs/examples, built against what `make install` brings, find the right result and say what a product and the
preparation took."""
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv"))
EXAMPLES = ROOT / "docs/examples"
BINDING = ROOT / "src/bindings/python"
OUTER = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
# name: (argument in C, in Python; what the first line must say)
EXPECTED = {
    "cg": ("gen:poisson2d:60", "60", r"3600 unknowns, \d+ iterations, error \S+e-\d+\n"),
    "bicgstab": ("gen:poisson2d:60", "60", r"3600 unknowns, \d+ iterations, error \S+e-\d+\n"),
    "block_cg": ("gen:poisson2d:60", "60", r"3600 unknowns, 8 right-hand sides, \d+ iterations, error \S+e-\d+\n"),
    "pagerank": ("gen:rmat:12", "4096", r"4096 pages, \d+ iterations, residual \S+e-1\d, page \d+ leads"),
    "pdhg": ("30", "30", r"900 variables, \d+ steps, error \S+e-\d+, cost (\d+\.\d{3})\d+ for \1"),
    "multigrid": ("63", "63", r"3969 unknowns, 6 levels, \d+ cycles, error \S+e-\d+\n"),
    "newton": ("60", "60", r"3600 unknowns, \d Newton steps, residual \S+e-1\d of the first, new values in \S+ ms\n"),
}
REPORT = (r"(omp|cuda):\w+: \d+ products of \d+\.\d us (from call to result|when called from Python); prepared in \d+\.\d ms, "
          r"((would be )?paid back after \d+ products|not paid back|which no trials compare)")
ON_GPU = ["cuda:auto"] if PROGRAM.parent.name == "cuda" and os.path.exists("/dev/nvidia0") else []
CUPY = importlib.util.find_spec("cupy") is not None


def run(command, folder, **more):
    return subprocess.run(command, cwd=folder, env={**OUTER, **more}, shell=isinstance(command, str), capture_output=True, text=True,
                          check=False)


@unittest.skipIf("-san" in PROGRAM.parent.name, "what is installed has no sanitizers")
class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        done = run(f"make -s -C {ROOT} install BUILD={PROGRAM.parent.name} PREFIX={cls.folder}/stage", cls.folder)
        if done.returncode != 0:
            raise AssertionError(done.stderr)

    def assert_it_solves(self, name, kernel, done):
        self.assertEqual((done.stderr, done.returncode), ("", 0), done.stdout)
        self.assertRegex(done.stdout, EXPECTED[name][2])
        self.assertRegex(done.stdout, REPORT)
        self.assertEqual(re.search(REPORT, done.stdout)[1], "cuda" if kernel in ON_GPU else "omp", done.stdout)

    def test_every_example_is_here(self):
        names = {path.stem for kind in ("*.c", "*.py") for path in EXAMPLES.glob(kind)}
        self.assertEqual(names, {"example", "gcn", "cg_gpu", "diffusion", *EXPECTED})

    @unittest.skipUnless(importlib.util.find_spec("torch"), "there is no PyTorch")
    def test_a_graph_network_learns(self):
        done = run([sys.executable, EXAMPLES / "gcn.py", "1000"], self.folder, PYTHONPATH=str(BINDING),
                   SPMV_LIBRARY=os.path.join(self.folder, "stage/lib/libspmv.so"), PYTHONDONTWRITEBYTECODE="1")
        self.assertEqual((done.stderr, done.returncode), ("", 0), done.stdout)
        self.assertRegex(done.stdout, r"1000 nodes, 60 steps, loss 0\.\d+, [6-9]\d % of the other nodes' groups found")

    @unittest.skipUnless(ON_GPU and CUPY, "there is no GPU, or no CuPy")
    def test_a_graph_of_iterations_on_a_gpu(self):
        done = run([sys.executable, EXAMPLES / "cg_gpu.py", "60"], self.folder, PYTHONPATH=str(BINDING),
                   SPMV_LIBRARY=os.path.join(self.folder, "stage/lib/libspmv.so"), PYTHONDONTWRITEBYTECODE="1")
        self.assertEqual((done.stderr, done.returncode), ("", 0), done.stdout)
        self.assertRegex(done.stdout, EXPECTED["cg"][2])

    def test_in_c(self):
        for name, (argument, _, _) in EXPECTED.items():
            with self.subTest(example=name):
                built = run(f"{os.environ.get('CC', 'gcc')} -O2 -fopenmp -Wall -Wextra -Werror {EXAMPLES}/{name}.c $(pkg-config --cflags --libs spmv) "
                            f"-Wl,-rpath,$PWD/stage/lib -lm -o {name}", self.folder,
                            PKG_CONFIG_PATH=os.path.join(self.folder, "stage/lib/pkgconfig"))
                self.assertEqual((built.stderr, built.returncode), ("", 0))
                for kernel in ["auto", "csr_rows", *(ON_GPU if name != "block_cg" else [])]:  # which has no stream to wait for
                    self.assert_it_solves(name, kernel, run([f"./{name}", argument, kernel], self.folder))

    @unittest.skipUnless(importlib.util.find_spec("scipy"), "there is no SciPy")
    def test_in_python(self):
        for name, (_, argument, _) in EXPECTED.items():
            for kernel in ["auto", "csr_rows", *(ON_GPU if CUPY else [])]:
                with self.subTest(example=name, kernel=kernel):
                    done = run([sys.executable, EXAMPLES / f"{name}.py", argument, kernel], self.folder, PYTHONPATH=str(BINDING),
                               SPMV_LIBRARY=os.path.join(self.folder, "stage/lib/libspmv.so"), PYTHONDONTWRITEBYTECODE="1")
                    self.assert_it_solves(name, kernel, done)

    @unittest.skipUnless(importlib.util.find_spec("scipy"), "there is no SciPy")
    def test_the_notebook_runs(self):
        cells = json.loads((EXAMPLES / "tour.ipynb").read_text())["cells"]
        self.assertFalse([cell for cell in cells if cell.get("outputs")])
        program = pathlib.Path(self.folder, "tour.py")
        program.write_text("\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"))
        done = run([sys.executable, program], self.folder, PYTHONPATH=str(BINDING), SIZE="120", PYTHONDONTWRITEBYTECODE="1",
                   SPMV_LIBRARY=os.path.join(self.folder, "stage/lib/libspmv.so"))
        self.assertEqual((done.stderr, done.returncode), ("", 0), done.stdout)
        for line in ("14,400 x 14,400, 71,520 nonzeros", "csr_balanced   csr     12.8 bytes per nonzero", "flop/byte: at most",
                     "1000 products: ", r"before \d+ ms, after \d+ ms, difference 0.0e\+00; .*'library': [1-9]"):
            self.assertRegex(done.stdout, line)

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "there is no NumPy")
    def test_what_a_plan_was_worth(self):
        spec = importlib.util.spec_from_file_location("example", EXAMPLES / "example.py")
        example = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(example)
        facts = {"convert_s": 1e-3, "upload_s": 2e-3, "prepare_s": 3e-3, "tune_s": 4e-3, "once_s": 0.3, "timed": 2,
                 "baseline": "csr_warp", "baseline_product_s": 30e-6, "chosen_product_s": 20e-6}
        trials = "(in the trials 20.0 us, csr_warp 30.0 us)"
        self.assertEqual(example.worth(facts, 1001), f"prepared in 10.0 ms, paid back after 1000 products {trials}")
        self.assertEqual(example.worth(facts, 999), f"prepared in 10.0 ms, would be paid back after 1000 products {trials}")
        self.assertIn("not paid back: less than 3 % faster", example.worth({**facts, "chosen_product_s": 29.9e-6}, 10**9))
        self.assertIn("no trials", example.worth({**facts, "timed": 0}, 10**9))


if __name__ == "__main__":
    unittest.main()
