"""The Fortran module is what generate.py makes of spmv.h, has C's sizes, and solves with conjugate gradients."""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv")).resolve()
MODULE = ROOT / "src/bindings/fortran/spmv.f90"
FORTRAN = ["gfortran", "-std=f2003", "-Wall", "-Wextra", "-Werror", "-fall-intrinsics"]


class Header(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("pycparser"), "no pycparser: make deps installs it")
    def test_the_module_is_what_the_header_says(self):
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder, "spmv.f90")
            done = subprocess.run([sys.executable, ROOT / "src/bindings/fortran/generate.py", "--out", made], capture_output=True,
                                  text=True, check=False)
            self.assertEqual((done.stderr, done.returncode), ("", 0))
            self.assertTrue(made.read_text() == MODULE.read_text(), "src/bindings/fortran/spmv.f90 is out of date: make docs")


@unittest.skipUnless(shutil.which("gfortran"), "no gfortran: make deps installs it")
@unittest.skipIf("-san" in PROGRAM.parent.name, "gfortran links no sanitizer")
class Compiled(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def run_in(self, *command):
        done = subprocess.run(command, cwd=self.folder, env={**os.environ, "LD_LIBRARY_PATH": str(PROGRAM.parent)},
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.stderr, done.returncode), ("", 0))
        return done.stdout

    def test_sizes_are_those_of_c(self):
        names = re.findall(r"^ *type, bind\(c\) :: (\w+)\n *(.*?) ::", MODULE.read_text(), re.M)
        with_size = [name for name, first in names if first == "integer(c_size_t)"]
        self.assertIn("spmv_plan_opts", with_size)
        lines = [f'printf("%zu\\n", sizeof({name}));' for name in [*(name for name, _ in names), *with_size]]
        (self.folder / "c.c").write_text("#include <stdio.h>\n#include <spmv.h>\nint main(void) {" + "".join(lines) + "}")
        (self.folder / "f.f90").write_text(
            "program sizes\nuse, intrinsic :: iso_c_binding\nuse spmv\n" +
            "".join(f"type({name}) :: a_{name}\n" for name, _ in names) +
            "".join(f"print '(i0)', c_sizeof(a_{name})\n" for name, _ in names) +
            "".join(f"print '(i0)', a_{name}%size\n" for name in with_size) + "end program\n")
        self.run_in("gcc", f"-I{ROOT}/include", "c.c", "-o", "in_c")
        self.run_in("gfortran", "-std=f2008", MODULE, "f.f90", "-o", "in_fortran", f"-L{PROGRAM.parent}", "-lspmv")
        self.assertEqual(self.run_in("./in_fortran"), self.run_in("./in_c"))

    def test_conjugate_gradients(self):
        self.run_in(*FORTRAN, MODULE, ROOT / "docs/examples/cg.f90", "-o", "cg", f"-L{PROGRAM.parent}", "-lspmv")
        said = re.fullmatch(r"(\d+) products, largest error +(\S+)\n", self.run_in("./cg"))
        self.assertLess(float(said[2]), 1e-7)
        self.assertIn(int(said[1]), range(100, 300))


if __name__ == "__main__":
    unittest.main()
