"""What README and docs/ name exists, and their shell, Python and C blocks run."""
import functools
import importlib.util
import os
import pathlib
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv")).resolve()
# History and generated lists of measurements may name what is gone: the notebook, the changelog.
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md",
         *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "notebook" and page.name != "changelog.md")]
QUICK = {"SPMV_MIN_TIME": "0.001", "SPMV_MAX_TIME": "0.002", "SPMV_SAMPLES": "1", "OMP_WAIT_POLICY": "passive",
         "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
# Options of other programs that the documents show: of which program.
FOREIGN_OPTIONS = {"--cflags": "pkg-config", "--libs": "pkg-config", "--static": "pkg-config", "--variable": "pkg-config", "--iterations": "FiPy's script",
                   "--number": "FiPy's script", "--numberOfElements": "FiPy's script", "--solver": "FiPy's script",
                   "--sweeps": "FiPy's script", "--bind-to": "mpirun", "--map-by": "mpirun"}
# Names of other software, and words that are no names of ours: what each is.
FOREIGN_NAMES = {"MatPtAP": "PETSc", "cusparseCsr2cscEx2": "cuSPARSE", "srun": "Slurm", "threadprivate": "OpenMP", "mpicc.mpich": "Debian's MPICH",
                 "csr_adaptive": "a kernel that was removed", "csr_bins": "a kernel that was removed",
                 "csr_panels": "a kernel that was removed", "examples/benchmarking/solvers/diffusion.py": "FiPy's script", "format_strategy": "a pattern of names", "torch.set_flush_denormal": "PyTorch", "csgraph.maximum_flow": "SciPy", "maximum_bipartite_matching": "SciPy",
                 "structural_rank": "SciPy", "PolynomialFeatures": "scikit-learn", "jax_bcoo_cusparse_lowering": "JAX", "GB/s": "a unit", "GFLOP/s": "a unit"}
# Lines of shell blocks that are not run here: their first word, and where they are run or why they are not.
ELSEWHERE = {"apt-get": "installs packages", "docker": "CI, if there is a docker", "gcc": "test_library.py, test_examples.py",
             "nvcc": "needs a GPU", "gfortran": "test_fortran.py", "export": "test/petsc/run.sh", "pip": "test/python-binding.sh",
             "mpicc": "test/ranks/run.sh", "cmake": "test_install.py"}


def text_of(path):
    return path.read_text(encoding="utf-8")


@functools.cache
def tracked():
    """Paths of all files of the sources and the folders above them; of a tarball: of all files but those that are built."""
    files = [path.relative_to(ROOT) for path in ROOT.rglob("*")
             if path.is_file() and not {".git", "build", "__pycache__"} & set(path.relative_to(ROOT).parts)]
    return {str(path) for path in files} | {str(folder) for path in files for folder in path.parents}


@functools.cache
def sources():
    """The text of everything but documents and results: what defines a name."""
    parts = []
    for name in sorted(tracked()):
        path = ROOT / name
        if path.is_file() and not name.startswith(("docs/r", "docs/n", "tables/reference")) and path.suffix not in {".md", ".xz", ".jsonl"}:
            try:
                parts.append(path.read_text(encoding="utf-8"))
            except UnicodeDecodeError:
                pass
    return "\n".join(part for part in parts if not part.startswith(text_of(pathlib.Path(__file__))[:60]))


@functools.cache
def words():
    return set(re.findall(r"[A-Za-z_]\w*", sources()))


@functools.cache
def members():
    """For each struct of the installed headers the names in its body."""
    found = {}
    for header in (ROOT / "include").glob("*.h"):
        code = re.sub(r"/\*.*?\*/", "", text_of(header), flags=re.S)
        for body, name in re.findall(r"typedef struct \w* ?\{(.*?)\} (\w+);", code, re.S):
            found[name] = set(re.findall(r"\w+", body))
    return found


@functools.cache
def commands():
    done = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True)
    return set(re.findall(r"^  ([a-z]+) ", done.stdout.partition("\nCommands")[2].partition("\nOptions")[0], re.M))


@functools.cache
def options():
    """Every option of the program, of each of its commands, and of the Python and shell scripts of the sources."""
    found = set()
    for topic in ["options", "kernels", *commands()]:
        done = subprocess.run([PROGRAM, "help", topic], capture_output=True, text=True, check=True)
        found |= set(re.findall(r"--[a-z][\w-]*", done.stdout))
    return found | set(re.findall(r"add_argument\((?:\"-\w\", )?\"(--[a-z][\w-]*)", sources())) | {"--stats", "--torch"}  # option of python -m spmv.accelerate


def spans(text):
    """Code within sentences."""
    return re.findall(r"(?<!`)`([^`\n]+)`(?!`)", FENCE.sub("", text))


def code_of(text):
    """All code of a page: spans, fenced and indented blocks."""
    return spans(text) + [body for _, body in FENCE.findall(text)] + re.findall(r"^    \S.*$", FENCE.sub("", text), re.M)


def missing_options(text):
    return {option for code in code_of(text) for option in re.findall(r"(?<![\w-])--[A-Za-z][\w-]*(?<!-)", code)
            if option not in options() and option not in FOREIGN_OPTIONS and not re.fullmatch(r"--[A-Z_]+", option)}


def missing_commands(text):
    return {word for code in code_of(text) for word in re.findall(r"(?:^|[ /`])spmv ([a-z]+)(?=[ `\n]|$)", code)
            if word not in commands() | {"help"}}


@functools.cache
def listed(what):
    return subprocess.run([PROGRAM, "list", what], capture_output=True, text=True, check=True).stdout


@functools.cache
def targets():
    """Words of the rules of make."""
    rules = "\n".join(text_of(path) for path in [ROOT / "Makefile", *(ROOT / "mk").glob("*.mk")])
    return set(re.findall(r"[\w-]+", re.sub(r"^\s*#.*$", "", rules, flags=re.M)))


def missing_parts(text):
    """Names of kernels with a backend, generators, targets of make, and names of the library and of variables, anywhere in code."""
    found = set()
    for code in code_of(text):
        found |= {name for name in re.findall(r"\b(?:omp|cuda):(\w+)", code) if name not in words()}
        found |= {f"gen:{name}" for name in re.findall(r"\bgen:([a-z]\w*)", code) if not re.search(rf"\b{name}\b", listed("matrices"))}
        found |= {name for name in re.findall(r"\b(?:SPMV_[A-Z0-9_]+|spmv_[a-z0-9_]+)\b", code) if name not in sources()}
        found |= {f"make {name}" for name in re.findall(r"^ *make ([a-z][\w-]*)", code, re.M) if name not in targets()}
    return found


def exists(name):
    """True if a name in code type is defined: by a file, a field, a member of a struct, or as a word of the sources."""
    if name in FOREIGN_NAMES or re.search(r"[A-Z]{3,}(?![A-Z_]*\b_)", name) and not re.fullmatch(r"[A-Z][A-Z0-9_]+", name):
        return True  # NAME, FILE, HOST in it stand for something
    name = name.removeprefix("./")
    if re.fullmatch(r"[A-Za-z_]\w*(\(\))?", name):
        name = name.removesuffix("()")
        return name in words() or f"test_{name}" in words() or name.startswith("_")
    if re.fullmatch(r"(spmv_\w+)\.(\w+)", name):
        struct, member = name.split(".")
        return member in members()[struct] if struct in members() else name in sources() or any(path.endswith("/" + name) for path in tracked())
    if re.fullmatch(r"\w+(\.\w+)+", name):
        return bool(re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", sources())) or any(f"/{path}".endswith("/" + name) for path in tracked())
    if re.fullmatch(r"[\w.-]+(/[\w.-]+)+/?", name) and not name.startswith(("build/", "lib/", "../", "log/", "tables/study")):
        name = name.rstrip("/")
        return name in tracked() or any(path.endswith("/" + name) for path in tracked())
    return True


class Names(unittest.TestCase):
    def test_options_and_commands_exist(self):
        self.assertEqual(missing_options("Say `--deterministic` or `--min-time=1`."), {"--deterministic"})
        self.assertEqual(missing_commands("`./spmv tune-up`, `spmv report`\n\n    ./spmv measure FILE\n"), {"measure"})
        count = 0
        for page in PAGES:
            text = text_of(page)
            count += sum(len(re.findall(r"--[a-z]", code)) for code in code_of(text))
            with self.subTest(page=page.name):
                self.assertEqual(missing_options(text), set())
                self.assertEqual(missing_commands(text), set())
        self.assertGreater(count, 150)

    def test_parts_of_code_exist(self):
        self.assertEqual(missing_parts("`spmv -k omp:csr_rows,cuda:csr_unwarped gen:poisson2d:9`, `gen:poison2d:9`, `SPMV_LOOG=1 spmv`\n\n"
                                       "```c\nspmv_exce(plan, 1, x, 0, y);\n```\n\n    make omp\n    make opm\n"),
                         {"csr_unwarped", "gen:poison2d", "SPMV_LOOG", "spmv_exce", "make opm"})
        for page in PAGES:
            with self.subTest(page=page.name):
                self.assertEqual(missing_parts(text_of(page)), set())

    def test_names_in_code_type_exist(self):
        for name, there in (("csr_balanced", True), ("csr_unbalanced", False), ("spmv_plan_opts.order_of", False), ("spmv_plan_opts.kernel", True),
                            ("spmv_mat_create", True), ("src/api.c", True), ("src/nowhere.c", False), ("config.kernel", True), ("config.kernels_", False),
                            ("spmv.h", True), ("x.h", False)):
            self.assertEqual(exists(name), there, name)
        outside = {word for path in (ROOT / "tables/outside").rglob("*.py") for word in re.findall(r"\w+", text_of(path))}
        count = 0
        for page in PAGES:
            with self.subTest(page=page.name):
                names = {name for name in spans(text_of(page)) if not re.search(r"\s", name)}
                count += len(names)
                # Outside matrices' names are composed: each part is in a script that makes them.
                self.assertEqual({name for name in names if not exists(name) and not set(name.split("_")) <= outside}, set())
        self.assertGreater(count, 1000)


def lines_of(page):
    """Lines of a page's shell blocks, and of its indented blocks those that begin as a command does."""
    blocks = FENCE.sub(lambda found: found[2] if found[1] == "sh" else "\n", text_of(page))
    inside = "\n".join(body for kind, body in FENCE.findall(text_of(page)) if kind == "sh")
    indented = re.findall(r"^    (\S.*)$", re.sub(r"^[^ \n].*$", "", FENCE.sub("\n", blocks), flags=re.M).replace("\\\n", " "), re.M)
    first = r"(?:\w+=\S+ )*(?:\./|\S*/)?(?:spmv|mpirun|python|make|%s)\b" % "|".join(ELSEWHERE)
    return [line.strip() for line in inside.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")] + \
        [line.strip() for line in indented if re.match(first, line)]


@unittest.skipUnless(PROGRAM.parent.name == "omp", "a GPU may be absent")
class Shell(unittest.TestCase):
    """Each line is run, in the page's order, with short times and in a folder that has what the page names."""

    @classmethod
    def setUpClass(cls):
        cls.features = subprocess.run([PROGRAM, "-V", "-v"], capture_output=True, text=True, check=True).stdout

    def folder(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        for name in "log", "matrices":
            (folder / name).mkdir()
        for name in "tables", "src", "Makefile", "mk":
            (folder / name).symlink_to(ROOT / name)
        (folder / "spmv").symlink_to(PROGRAM)
        text = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 3\n2 2 4\n3 3 5\n"
        for name in "FILE.mtx", "thermal2.mtx", "matrices/a.mtx":
            (folder / name).write_text(text, encoding="ascii")
        subprocess.run(["gzip", "-k", folder / "thermal2.mtx"], check=True)
        (folder / "script.py").write_text("import sys\nassert sys.argv[1] == 'arguments'\n", encoding="ascii")
        return folder

    def why_not(self, line, first):
        """Why a line is not run here, or None."""
        if first in ELSEWHERE:
            return ELSEWHERE[first]
        if " log/" in line and "jansson" not in self.features:
            return "built without jansson"
        if (first == "mpirun" or "--ranks" in line) and not (shutil.which("mpirun") and "mpi" in " ".join(os.listdir(PROGRAM.parent))):
            return "there is no MPI"
        if "a.out" in line or "./program" in line or "./solver" in line:
            return "a program of the page's, which other tests build"
        if " log " in f"{line} " and "jansson" not in self.features:
            return "built without jansson"
        if re.search(r"--partition=(metis|scotch)", line):
            return "test/ranks/run.sh, if the libraries are there"
        return None

    def run_all(self, page, least):
        commands_here = lines_of(ROOT / page)
        folder, ran = self.folder(), 0
        for line in commands_here:
            here = line.rpartition("make && ")[2] if line.startswith("apt-get") else line
            words_here = shlex.split(here, comments=True)
            first = next(word for word in words_here if "=" not in word.partition("/")[0])
            with self.subTest(line=line):
                if self.why_not(here, pathlib.Path(first).name if first != "./spmv" else first):
                    continue
                ran += 1
                if first == "make":  # what it would make is known; other tests make it
                    here = here.replace("make", "make -n", 1)
                elif "probe" in words_here:
                    here += " --version"  # measures for half a minute: its options are parsed
                elif words_here == ["./spmv"]:
                    here += " -m gen:poisson3d:20"  # the matrix by default takes a minute
                env = os.environ | QUICK | {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src/bindings/python"),
                                            "SPMV_LIBRARY": str(PROGRAM.parent / "libspmv.so")}
                done = subprocess.run(["sh", "-c", here.replace("python -m", f"{shlex.quote(sys.executable)} -m")], cwd=folder, env=env,
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, f"{here}\n{done.stdout}{done.stderr}")
        self.assertGreaterEqual(ran, least, commands_here)

    def test_readme(self):
        self.run_all("README.md", 2)
        self.assertIn("make && ./spmv -k csr_rows,auto --iters=1000", lines_of(ROOT / "README.md")[0])

    def test_guide(self):
        self.run_all("docs/guide/first_hour.md", 8)

    def test_how_to_measure(self):
        self.run_all("docs/howto/measure.md", 13)

    @unittest.skipUnless(importlib.util.find_spec("scipy"), "there is no SciPy")
    def test_how_to_in_python(self):
        self.run_all("docs/howto/python.md", 1)

    def test_how_to_over_ranks(self):
        self.run_all("docs/howto/ranks.md", 1)

    def test_every_other_how_to_shows_no_command_that_is_not_run(self):
        run = {"measure.md", "python.md", "ranks.md"}
        for page in sorted((ROOT / "docs/howto").glob("*.md")):
            if page.name not in run:
                self.run_all(page.relative_to(ROOT), 0)

    def test_explanations(self):
        self.run_all("docs/explanation/auto.md", 2)


@unittest.skipUnless(PROGRAM.parent.name == "omp" and importlib.util.find_spec("scipy"), "there is no SciPy, or a GPU may be absent")
class PythonBlocks(unittest.TestCase):
    """Each Python block of a page runs after those before it, on a small matrix."""
    BEFORE = """
import numpy as np, scipy.sparse, scipy.sparse.linalg
S = scipy.sparse.random(40, 40, .2, "csr", random_state=1) + 9 * scipy.sparse.eye(40, format="csr")
S = (S + S.T).tocsr()
S.sort_indices()
x, X, b = np.ones(40), np.ones((40, 8)), np.arange(40.)
new, v = 2 * S.data, 3 * S.data
"""

    FOR_JAX = """
import jax.experimental.sparse
jax.config.update("jax_enable_x64", True)
M = jax.experimental.sparse.BCOO.from_scipy_sparse(S)
"""

    FOR_TORCH = """
import torch, warnings
warnings.simplefilter("ignore")  # of sparse tensors, which are in beta state
T, z, Z, w = torch.eye(40, dtype=torch.float64).to_sparse_csr(), torch.ones(40, dtype=torch.float64), torch.ones(40, 8, dtype=torch.float64), \
    torch.ones(40, dtype=torch.float64)
"""

    @staticmethod
    def has_jax():
        return importlib.util.find_spec("jax") and (PROGRAM.parent / "libspmv_jax.so").exists()

    def test_they_run(self):
        count = 0
        for page in PAGES:
            blocks = [self.FOR_JAX * ("spmv.jax" in body) + self.FOR_TORCH * ("spmv.torch" in body) + body
                      for kind, body in FENCE.findall(text_of(page))
                      if kind == "python" and ("spmv.jax" not in body or self.has_jax())
                      and ("torch" not in body or importlib.util.find_spec("torch"))]
            if not blocks:
                continue
            count += len(blocks)
            with self.subTest(page=page.name):
                done = subprocess.run([sys.executable, "-W", "error", "-c", "\n".join([self.BEFORE, *blocks])], capture_output=True, text=True, check=False,
                                      env=os.environ | {"PYTHONPATH": str(ROOT / "src/bindings/python"), "SPMV_LIBRARY": str(PROGRAM.parent / "libspmv.so")})
                self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertGreaterEqual(count, 2)


class CBlocks(unittest.TestCase):
    """Each piece of C in a page is accepted by the compiler without a warning, between declarations of what it uses."""
    BEFORE = """
#include <spmv.h>
#include <spmv_ranks.h>
#include <stdio.h>
typedef void *MPI_Comm;
extern MPI_Comm MPI_COMM_WORLD;
void assemble(const double *u, double *values), solve(spmv_plan *plan, const double *right_hand_side, double *correction);
void piece(spmv_mat *matrix, spmv_plan *planned, void *stream, double *x, double *b, double *r, double *p, double *q, double *X, double *Z, double *W,
           double *u, double *values, double *right_hand_side, double *correction, double *y, int steps);
void piece(spmv_mat *matrix, spmv_plan *planned, void *stream, double *x, double *b, double *r, double *p, double *q, double *X, double *Z, double *W,
           double *u, double *values, double *right_hand_side, double *correction, double *y, int steps) {
    (void)matrix, (void)planned, (void)stream, (void)x, (void)b, (void)r, (void)p, (void)q, (void)X, (void)Z, (void)W;
    (void)u, (void)values, (void)right_hand_side, (void)correction, (void)y, (void)steps;
"""

    def pieces(self):
        for page in PAGES:
            if page.parent.name not in ("howto", "guide") and page.name != "README.md":
                continue
            text = text_of(page)
            for kind, body in FENCE.findall(text):
                if kind == "c":
                    yield page.name, body
            for body in re.findall(r"(?:^    \S.*\n(?:^    .*\n|^\n(?=    ))*)", FENCE.sub("\n", text), re.M):
                if re.search(r"\bspmv_\w+\(plan|\bspmv_call\b", body):
                    yield page.name, body

    def test_they_compile(self):
        count = 0
        for page, body in self.pieces():
            count += 1
            handles = "".join(f"    {kind} *{name} = {value};\n    (void){name};\n" for kind, name, value in (("spmv_mat", "A", "matrix"), ("spmv_plan", "plan", "planned"))
                              if not re.search(rf"\*{name} = ", body))
            whole = body if "int main" in body else self.BEFORE + handles + body.replace("...", "") + "}\n"
            done = subprocess.run([os.environ.get("CC", "gcc"), "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-fsyntax-only", f"-I{ROOT}/include", "-xc", "-"],
                                  input=whole, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), f"{page}:\n{body}")
        self.assertGreaterEqual(count, 5)


class Figures(unittest.TestCase):
    def test_readme_says_what_several_vectors_bring(self):
        """Eight vectors beside both versions of cuSPARSE: the means of the results page's tables."""
        page, readme = text_of(ROOT / "docs/results/vectors.md"), " ".join(text_of(ROOT / "README.md").split())
        older, newer = page.split("## Beside cuSPARSE 12.9.4")
        rows, columns = (re.search(rf"^\| {layout} \|.*?\|.*?\| (\d\.\d\d) \(", older, re.M)[1] for layout in ("rows", "columns"))
        cells = [row.split("|")[5] for row in re.findall(r"^\| \w+:[\d:]+ \|.*$", newer.partition("## On an H100")[0], re.M)]
        ours, theirs = zip(*(map(float, cell.replace(",", " ").split()) for cell in cells))
        mean = statistics.geometric_mean(b / a for a, b in zip(ours, theirs))
        said = re.search(r"Eight vectors at a time are (\S+) times as fast as with cuSPARSE 12\.6\.3 on an H200, in rows and in columns, .*? "
                         r"(\S+) times as fast as with 12\.9\.4 in rows, .*? (\w+) generated", readme)
        self.assertEqual(said.groups(), (f"{(float(rows) + float(columns)) / 2:.1f}", f"{mean:.1f}", {7: "seven"}[len(cells)]))


if __name__ == "__main__":
    unittest.main()
