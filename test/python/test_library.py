"""The program of docs/howto/c.md, built with the command there in a folder of its own, says what it must."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv"))
SAID = "the first row's sum is 2\n"  # a corner of the grid: 4 - 1 - 1


PAGE = (ROOT / "docs/howto/c.md").read_text(encoding="utf-8")
COMPILER = os.environ.get("CC", "gcc")  # that of `make CC=clang test`
OUTER = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}


def run(command, folder, **env):
    return subprocess.run(["sh", "-c", command], cwd=folder, env=OUTER | env, capture_output=True, text=True, check=False)


class Names(unittest.TestCase):
    """Both libraries define what the installed headers declare, and nothing else that a program could collide with."""

    def setUp(self):
        done = run("printf '#include <spmv_many.h>\n#include <spmv_bench.h>\n#include <spmv_pieces.h>\n' | " + COMPILER + " -E -P -Iinclude -x c -", ROOT)
        self.declared = set(re.findall(r"\b(spmv_\w+)\(", done.stdout))
        self.assertIn("spmv_exec", self.declared)

    def defined(self, command):
        done = run(command, PROGRAM.parent)
        self.assertEqual((done.stderr, done.returncode), ("", 0))
        return {line.split()[2].split("@")[0] for line in done.stdout.splitlines() if len(line.split()) == 3 and " A " not in line}

    def test_of_the_shared_library(self):
        self.assertEqual(self.defined("nm -D --defined-only libspmv.so"), self.declared)
        self.assertIn("SONAME               libspmv.so.0\n", run("objdump -p libspmv.so", PROGRAM.parent).stdout)

    def test_of_libraries_that_a_solver_needs(self):
        needed = set(re.findall(r"NEEDED +lib(\w+)", run("objdump -p libspmv.so", PROGRAM.parent).stdout))
        self.assertIn("gomp", needed)
        self.assertEqual(needed & {"archive", "jansson", "hwloc", "cmocka"}, set())

    def test_of_the_archive(self):
        self.assertEqual(self.defined("nm -g --defined-only libspmv.a"), self.declared)

    @unittest.skipIf("-san" in PROGRAM.parent.name, "sanitizers print and abort")
    def test_none_that_prints_or_ends_the_process_is_called(self):
        used = set(run("nm -u libspmv.a", PROGRAM.parent).stdout.split())
        self.assertIn("malloc", used)
        self.assertEqual(used & {"__assert_fail", "abort", "exit", "printf", "puts", "perror", "stdout", "stderr"}, set())


@unittest.skipIf("-san" in PROGRAM.parent.name, "a program needs the sanitizers' libraries first")
class Header(unittest.TestCase):
    """The first example of spmv.h, as it stands, of a 3 x 3 matrix: what "auto" chose, and a product."""

    AROUND = '''#include <spmv.h>
#include <stdio.h>
int main(void) {
    double x[] = {1, 1, 1}, y[3];
%s
    printf("%%g %%g %%g\\n", y[0], y[1], y[2]);
    return 0;
}
'''
    FACTS = '''    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    if (spmv_plan_info(plan, &facts) == SPMV_OK) puts(facts.reason ? "chosen" : "named");
'''
    MATRIX = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 5\n2 3 6\n3 1 7\n"

    def assert_it_runs(self, compiler, suffix):
        header = (ROOT / "include/spmv.h").read_text(encoding="utf-8")
        lines = re.search(r"^ \*\n((?: \*     .*\n)+) \*\n", header, re.M)[1].replace(" *     ", "    ")
        at = lines.index("    spmv_plan_free")
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "first" + suffix).write_text(self.AROUND % (lines[:at] + self.FACTS + lines[at:]), encoding="utf-8")
            pathlib.Path(folder, "thermal2.mtx").write_text(self.MATRIX, encoding="utf-8")
            done = run(f"{compiler} -Wall -Wextra -pedantic -Werror -I{ROOT}/include first{suffix} -L{PROGRAM.parent} -lspmv "
                       f"-Wl,-rpath,{PROGRAM.parent} -o first && ./first", folder)
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("chosen\n5 6 7\n", "", 0))

    def test_in_c(self):
        self.assert_it_runs(COMPILER + " -std=c11", ".c")

    @unittest.skipUnless(shutil.which("g++"), "no g++")
    def test_in_cpp(self):
        self.assert_it_runs("g++ -std=c++17", ".cc")


@unittest.skipUnless(PROGRAM.parent.name == "omp", "the commands are of the OpenMP build")
class Example(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = made.name
        source = PAGE.split("```c\n")[1].split("```")[0]
        pathlib.Path(self.folder, "solver.c").write_text(source, encoding="utf-8")

    def assert_it_multiplies(self, built):
        self.assertEqual((built.stdout, built.stderr, built.returncode), (SAID, "", 0))
        done = run("./solver none.mtx", self.folder)
        self.assertEqual((done.stdout, done.returncode), ("", 1))
        self.assertIn("none.mtx: No such file", done.stderr)

    def test_it_compiles_links_and_multiplies(self):
        for name in "include", "build", "Makefile", "src", "omp", "test", "cuda", "tables", ".peers":
            if (ROOT / name).exists():
                pathlib.Path(self.folder, name).symlink_to(ROOT / name)
        command = next(line.strip() for line in PAGE.splitlines() if line.startswith("    gcc -Iinclude solver.c"))
        self.assert_it_multiplies(run(command.replace("gcc ", COMPILER + " -Wall -Wextra -Werror ", 1), self.folder))

    def test_a_prefix_with_a_space_is_refused(self):
        done = run(f"make -s -C {ROOT} install PREFIX='$PWD/a b/c'", self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("a b/c: pkg-config takes no space in a path", done.stderr)
        self.assertEqual(os.listdir(self.folder), ["solver.c"])

    def test_installing_what_is_not_built_says_what_to_do(self):
        done = run(f"make -s -C {ROOT} install BUILD=nothing PREFIX=$PWD/stage", self.folder)
        self.assertEqual((done.stderr.splitlines()[0], done.returncode),
                         ("make install: build/nothing/spmv is not there: make nothing first", 2))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "stage")))


if __name__ == "__main__":
    unittest.main()
