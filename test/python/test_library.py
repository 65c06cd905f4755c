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
        done = run("printf '#include <spmv_ranks.h>\n#include <spmv_bench.h>\n#include <spmv_pieces.h>\n' | " + COMPILER + " -E -P -Iinclude -x c -", ROOT)
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


@unittest.skipIf("-san" in PROGRAM.parent.name, "a program needs the sanitizers' libraries first")
class Unloading(unittest.TestCase):
    """The library is opened, multiplies with a team of threads and is closed, 20 times, by the main thread and by others that
    end: what the threads of the team run in stays."""

    PLUGIN = '''#include <spmv.h>
#include <stdlib.h>
int multiply(void) {
    spmv_ctx_opts opts = {.size = sizeof opts, .threads = 4};
    spmv_ctx *ctx = NULL;
    spmv_mat *mat = NULL;
    spmv_plan *plan = NULL;
    double *x = calloc(20000, sizeof *x), *y = calloc(20000, sizeof *y);
    x[0] = 1;
    int failed = spmv_ctx_create(&opts, &ctx) || spmv_mat_load(ctx, "gen:poisson2d:100", NULL, &mat) ||
                 spmv_plan_create(mat, NULL, &plan);
    for (int k = 0; k < 50 && !failed; k++) failed = spmv_exec(plan, 1, x, 0, y) || y[0] != 4;
    spmv_plan_free(plan), spmv_mat_free(mat), spmv_ctx_free(ctx), free(x), free(y);
    return failed;
}
'''
    HOST = '''#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *once(void *path) {
    void *library = dlopen(path, RTLD_NOW);
    int (*multiply)(void) = library ? (int (*)(void))dlsym(library, "multiply") : NULL;
    puts(!library ? dlerror() : multiply() ? "failed" : "multiplied");
    if (library) dlclose(library);
    return NULL;
}
int main(int argc, char **argv) {
    for (int k = 0; k < 20; k++) {
        pthread_t thread;
        if (argc < 3) once(argv[1]);
        else if (pthread_create(&thread, NULL, once, argv[1]) == 0) pthread_join(thread, NULL);
    }
    usleep(100000);
    return 0;
}
'''

    def assert_it_can_be_closed(self, libraries):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "plugin.c").write_text(self.PLUGIN, encoding="utf-8")
            pathlib.Path(folder, "host.c").write_text(self.HOST, encoding="utf-8")
            built = run(f"{COMPILER} -shared -fPIC -I{ROOT}/include plugin.c {libraries} -o plugin.so && "
                        f"{COMPILER} host.c -o host -ldl -lpthread", folder)
            self.assertEqual((built.stderr, built.returncode), ("", 0))
            for thread in "", " thread":
                done = run(f"./host ./plugin.so{thread}", folder)
                self.assertEqual((done.stdout, done.returncode), ("multiplied\n" * 20, 0))

    def test_of_the_shared_library(self):
        self.assert_it_can_be_closed(f"-L{PROGRAM.parent} -lspmv -Wl,-rpath,{PROGRAM.parent}")

    @unittest.skipIf("cuda" in PROGRAM.parent.name, "the archive needs CUDA's runtime")
    def test_of_a_plugin_that_holds_the_archive(self):
        libraries = (PROGRAM.parent / ".libs").read_text(encoding="utf-8").strip()
        cpp = "-lstdc++" if PROGRAM.parent.name == "emulated" else ""
        self.assert_it_can_be_closed(f"{PROGRAM.parent}/libspmv.a -fopenmp {libraries} {cpp}")

    def test_every_shared_library_of_the_build_stays(self):
        for library in PROGRAM.parent.glob("libspmv*.so"):
            self.assertIn("NODELETE", run(f"readelf -d {library}", ROOT).stdout, library.name)


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
