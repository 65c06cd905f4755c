"""README's program that uses the library, built with README's command in a folder of its own, says what it must."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv"))
SAID = "the first row's sum is 2\n"  # a corner of the grid: 4 - 1 - 1


class Example(unittest.TestCase):
    def test_it_compiles_links_and_multiplies(self):
        if PROGRAM.parent.name != "omp":
            self.skipTest("the command is of the OpenMP build")
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        source = readme.split("```c\n")[1].split("```")[0]
        command = next(line.strip() for line in readme.splitlines() if line.startswith("    gcc -Iinclude solver.c"))
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "solver.c").write_text(source, encoding="utf-8")
            for name in "include", "build", "Makefile", "src", "omp", "test", "cuda", ".peers":
                if (ROOT / name).exists():
                    pathlib.Path(folder, name).symlink_to(ROOT / name)
            compiler = os.environ.get("CC", "gcc") + " -Wall -Wextra -Werror "  # that of `make CC=clang test`
            outer = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
            done = subprocess.run(["sh", "-c", command.replace("gcc ", compiler, 1)], cwd=folder, env=outer,
                                  capture_output=True, text=True, check=False)
            self.assertEqual((done.stdout, done.stderr, done.returncode), (SAID, "", 0))
            done = subprocess.run([os.path.join(folder, "solver"), "none.mtx"], capture_output=True, text=True, check=False)
            self.assertEqual((done.stdout, done.returncode), ("", 1))
            self.assertIn("none.mtx: No such file", done.stderr)


if __name__ == "__main__":
    unittest.main()
