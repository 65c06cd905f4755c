"""What `make install` brings works where nothing else of this project is: programs in C, C++ and CMake build and run, commands find
their files, shells complete; and `make uninstall` takes all of it away. Where the kernel lets us, in a root of its own (chroot) that
has the distribution and the installed tree alone; else in a folder that is not the prefix."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv"))
OUTER = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
PREFIX = "/usr/local"
SAID = "the first row's sum is 2\n"

# A root that has the distribution's programs and the tree staged in $1, with $1/work to write in; then $2 runs there.
BARE_ROOT = r"""
mkdir root && cd root && mkdir -p usr etc proc sys dev tmp work || exit
for d in bin sbin lib lib32 lib64 libx32; do
    if [ -L /$d ]; then ln -s "$(readlink /$d)" $d; elif [ -d /$d ]; then mkdir $d && mount --rbind /$d $d || exit; fi
done
for d in usr proc sys dev; do mount --rbind /$d $d || exit; done
mount --bind "$1/usr/local" usr/local && mount --bind "$1/work" work || exit
cp -r /etc/alternatives /etc/ld.so.conf /etc/ld.so.conf.d etc
exec chroot . /bin/sh -c "ldconfig 2>/dev/null; cd /work; $2"
"""
CMAKE = """
cmake_minimum_required(VERSION 3.13)
project(solver C)
find_package(spmv 0.1 REQUIRED)
foreach(kind spmv static)
  add_executable(with_${kind} solver.c)
  target_link_libraries(with_${kind} PRIVATE spmv::${kind})
endforeach()
"""
CPLUSPLUS = """
#include <spmv.h>
#include <spmv_bench.h>
#include <spmv_ranks.h>
#include <cstdio>
#include <vector>

int main() {
    spmv_ctx *ctx = nullptr;
    spmv_mat *A = nullptr;
    spmv_plan *plan = nullptr;
    std::vector<double> x(100 * 100, 1.0), y(x.size());
    if (spmv_ctx_create(nullptr, &ctx) || spmv_mat_load(ctx, "gen:poisson2d:100", nullptr, &A) ||
        spmv_plan_create(A, nullptr, &plan) || spmv_exec(plan, 1.0, x.data(), 0.0, y.data()))
        return 1;
    std::printf("the first row's sum is %g\\n", y[0]);
    spmv_plan_free(plan), spmv_mat_free(A), spmv_ctx_free(ctx);
}
"""

MANY = """
#include <mpi.h>
#include <spmv_ranks.h>
#include <stdio.h>

int main(int argc, char **argv) {
    MPI_Comm comm = MPI_COMM_WORLD;
    spmv_ranks *world = NULL;
    MPI_Init(&argc, &argv);
    if (spmv_ranks_create(&comm, NULL, &world)) puts(spmv_ranks_error(NULL));
    printf("%d ranks\\n", spmv_ranks_size(world));
    spmv_ranks_free(world);
    MPI_Finalize();
}
"""


def make(words):
    return subprocess.run(["make", "-s", "-C", ROOT, *words, f"BUILD={PROGRAM.parent.name}"], env=OUTER, capture_output=True, text=True,
                          check=False)


def files_below(folder):
    return {str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*") if not path.is_dir()}


@unittest.skipIf("-san" in PROGRAM.parent.name, "what is installed has no sanitizers")
class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        done = make(["install", f"DESTDIR={cls.folder}/stage", f"PREFIX={PREFIX}"])
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.work = cls.folder / "stage/work"
        cls.work.mkdir()
        page = (ROOT / "docs/howto/c.md").read_text(encoding="utf-8")
        (cls.work / "solver.c").write_text(page.split("```c\n")[1].split("```")[0], encoding="utf-8")
        (cls.work / "solver.cpp").write_text(CPLUSPLUS, encoding="utf-8")
        (cls.work / "CMakeLists.txt").write_text(CMAKE, encoding="utf-8")
        # The archive of the CUDA build needs the toolkit, wherever that is.
        cls.bare = PROGRAM.parent.name == "omp" and cls.in_bare_root("true").returncode == 0

    @classmethod
    def in_bare_root(cls, command):
        env = {"PATH": f"{PREFIX}/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/work", "OMP_WAIT_POLICY": "passive"}
        with tempfile.TemporaryDirectory(dir=cls.folder) as place:
            return subprocess.run(["unshare", "--map-root-user", "--mount", "sh", "-c", BARE_ROOT, "sh", cls.folder / "stage", command],
                                  cwd=place, env=env, capture_output=True, text=True, check=False)

    @classmethod
    def in_moved_folder(cls, command):
        at = f"{cls.folder}/stage{PREFIX}"
        env = {"PATH": f"{at}/bin:/usr/bin:/bin", "HOME": str(cls.work), "OMP_WAIT_POLICY": "passive", "LD_LIBRARY_PATH": f"{at}/lib",
               "PKG_CONFIG_PATH": f"{at}/lib/pkgconfig", "PKG_CONFIG_SYSROOT_DIR": f"{cls.folder}/stage", "CMAKE_PREFIX_PATH": at}
        return subprocess.run(["sh", "-c", command], cwd=cls.work, env=env, capture_output=True, text=True, check=False)

    def prints(self, text, command):
        done = self.in_bare_root(command) if self.bare else self.in_moved_folder(command)
        self.assertEqual((done.stderr, done.stdout, done.returncode), ("", text, 0))

    def needs(self, program):
        if not shutil.which(program, path="/usr/bin:/bin"):
            self.skipTest(f"no {program}: make deps installs it")

    def test_a_program_in_c(self):
        self.prints(SAID, "cc -Wall -Wextra -Werror solver.c $(pkg-config --cflags --libs spmv) -o solver && ./solver")

    def test_a_program_in_c_with_the_archive(self):
        self.prints(SAID, "cc solver.c $(pkg-config --cflags --static --libs spmv | sed s/-lspmv/-l:libspmv.a/) -o alone && ./alone && "
                    "! ldd alone | grep spmv")

    def test_a_program_in_cplusplus(self):
        self.needs("c++")
        self.prints(SAID, "c++ -Wall -Wextra -Werror solver.cpp $(pkg-config --cflags --libs spmv) -o cplusplus && ./cplusplus")

    def test_a_program_with_cmake(self):
        self.needs("cmake")
        self.prints(2 * SAID, "cmake -S . -B built >said 2>&1 && make -s -C built >>said 2>&1 || { cat said; exit 1; }; "
                    "built/with_spmv && built/with_static")

    def test_cmake_finds_headers_where_lib_is_a_link(self):
        self.needs("cmake")
        prefix = PREFIX if self.bare else f"{self.folder}/stage{PREFIX}"
        self.prints("", f"mkdir merged && ln -s {prefix}/lib merged/lib && "
                    "cmake -DCMAKE_PREFIX_PATH=$PWD/merged -S . -B merged/built >said 2>&1 || { cat said; exit 1; }")

    def test_commands_find_what_they_read(self):
        quick = "--min-time=0.001 --max-time=0.002 --samples=1 --quiet"
        done = self.in_bare_root if self.bare else self.in_moved_folder
        run = done(f"mkdir -p log; spmv gen:poisson2d:20 gen:poisson2d:30 -k csr_rows,csr_balanced --log log {quick} >/dev/null && "
                   "spmv table log && spmv compare log log && spmv report log --no-charts -o report.html && grep -c poisson2d report.html")
        self.assertEqual(run.returncode, 0, run.stderr)
        here = [subprocess.run([PROGRAM, *words], cwd=self.work, env=OUTER, capture_output=True, text=True, check=True).stdout
                for words in (["table", "log"], ["compare", "log", "log"])]
        self.assertTrue(run.stdout.startswith("".join(here)), run.stdout)

    def test_a_program_alone_says_where_it_looked(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(PROGRAM, folder)
            done = subprocess.run(["./spmv", "table"], cwd=folder, capture_output=True, text=True, check=False)
            self.assertIn("cannot find table.py in ../share/spmv/tables or tables beside this executable", done.stderr)
            self.assertEqual(done.returncode, 69)

    def test_ranks_find_the_exchange(self):
        mpis = [mpi for mpi in ("openmpi", "mpich")
                if (PROGRAM.parent / f"libspmv_{mpi}.so").exists() and shutil.which(f"mpiexec.{mpi}")]
        if not mpis:
            self.skipTest("no MPI: make deps installs two")
        env = {**OUTER, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMP_WAIT_POLICY": "passive"}
        quick = ["gen:poisson2d:20", "-k", "csr_rows", "--min-time=0", "--max-time=0.01"]
        for folder in ("lib", "lib64", "lib/abi"):
            with tempfile.TemporaryDirectory() as stage:
                self.assertEqual(make(["install", f"DESTDIR={stage}", f"PREFIX={PREFIX}", f"LIBDIR={folder}"]).returncode, 0)
                prefix = stage + PREFIX
                for mpi in mpis:
                    run = subprocess.run([f"mpiexec.{mpi}", "-n", "2", f"{prefix}/bin/spmv", *quick, "--no-log"], cwd=self.work, env=env,
                                         capture_output=True, text=True, check=False, timeout=600)
                    self.assertIn("2 ranks on 1 host", run.stderr)
                    self.assertEqual(run.returncode, 0, run.stderr)
                sweep = subprocess.run([f"{prefix}/bin/spmv", "sweep", *quick, "--ranks=2", "--no-log"], cwd=self.work,
                                       env=env, capture_output=True, text=True, check=False, timeout=600)
                self.assertEqual(sweep.returncode, 0, sweep.stderr)
                if mpis[0] == "openmpi":  # a program of a user's, with the library
                    (self.work / "many.c").write_text(MANY, encoding="utf-8")
                    subprocess.run(["mpicc.openmpi", "many.c", f"-I{prefix}/include", f"-L{prefix}/{folder}", "-lspmv",
                                    f"-Wl,-rpath,{prefix}/{folder}", "-o", "many"], cwd=self.work, check=True, timeout=600)
                    run = subprocess.run(["mpiexec.openmpi", "-n", "2", "./many"], cwd=self.work, env=env, capture_output=True, text=True,
                                         check=False, timeout=600)
                    self.assertEqual((run.returncode, run.stdout), (0, 2 * "2 ranks\n"), run.stderr)

    def test_the_manual_and_completion_are_where_they_are_looked_for(self):
        share = self.folder / f"stage{PREFIX}/share"
        self.assertIn(".TH SPMV 1 ", (share / "man/man1/spmv.1").read_text(encoding="utf-8"))
        self.assertIn(".TH SPMV_PLAN_CREATE 3 ", (share / "man/man3/spmv_plan_create.3").read_text(encoding="utf-8"))
        self.assertIn("#compdef spmv\n", (share / "zsh/site-functions/_spmv").read_text(encoding="utf-8"))
        self.assertIn("spmv-run/1", (share / "doc/spmv/record.schema.json").read_text(encoding="utf-8"))
        if importlib.util.find_spec("pycparser"):
            self.assertIn("module spmv\n", (share.parent / "include/spmv.f90").read_text(encoding="utf-8"))
        self.prints("sweep\ncsr_rows\n32 64 auto\nspy roofline scaling\ncsr1,ell_rows\npoisson2d poisson3d\npoisson3d\n", f"""bash -c '
            . {PREFIX if self.bare else share.parent}/share/bash-completion/completions/spmv
            complete_last() {{ COMP_WORDS=(spmv "$@") COMP_CWORD=$#; _spmv; echo "${{COMPREPLY[*]}}"; }}
            complete_last sw; complete_last FILE.mtx -k csr_r; complete_last FILE.mtx --index = ""
            complete_last plot ""; complete_last FILE.mtx -k csr1,ell_r; complete_last -m gen : poi; complete_last gen : poisson3'""")

    def test_uninstall_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as stage:
            words = [f"DESTDIR={stage}", "PREFIX=/opt/of-ours", "LIBDIR=lib/abi"]
            self.assertEqual(make(["install", *words]).returncode, 0)
            self.assertIn("opt/of-ours/lib/abi/libspmv.so.0", files_below(stage))
            cache = pathlib.Path(stage, "opt/of-ours/share/spmv/tables/report/__pycache__")
            cache.mkdir()
            (cache / "table.pyc").touch()
            done = make(["uninstall", *words])
            self.assertEqual((done.stderr, done.returncode, files_below(stage)), ("", 0, set()))
            self.assertFalse(pathlib.Path(stage, "opt/of-ours/share/spmv").exists())


if __name__ == "__main__":
    unittest.main()
