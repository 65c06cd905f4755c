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
FORTRAN = ["gfortran", "-std=f2003", "-Wall", "-Wextra", "-Werror", "-fall-intrinsics"]


# Multiplies all columns of an array into a part of another one, back by the transpose, and the rows of an array.
SEVERAL = """
program several
    use, intrinsic :: iso_c_binding
    use spmv
    implicit none
    integer, parameter :: m = 3, n = 4, k = 5
    integer(c_int32_t), target :: ptr(m + 1) = [1, 3, 3, 6], idx(5) = [1, 3, 2, 3, 4]
    real(c_double), target :: values(5) = [1, 2, 3, 4, 5], x(n, k), wide(m, k + 2), back(n, k), turned(k, n), rows(k, m)
    real(c_double), target :: squares(k)
    real(c_double) :: dense(m, n) = 0
    type(c_ptr) :: ctx, matrix, plan
    type(spmv_ctx_opts) :: ctx_opts
    type(spmv_arrays) :: arrays
    type(spmv_plan_opts) :: plan_opts
    type(spmv_call) :: product
    integer :: i

    dense(1, [1, 3]) = values(1:2)
    dense(3, 2:4) = values(3:5)
    x = reshape([(sin(real(i, c_double)), i = 1, n * k)], [n, k])
    call check(spmv_ctx_create(ctx_opts, ctx))
    arrays%rows = m
    arrays%cols = n
    arrays%nnz = 5
    arrays%ptr = c_loc(ptr)
    arrays%idx = c_loc(idx)
    arrays%values = c_loc(values)
    arrays%ptr_bits = 32
    arrays%base = 1
    call check(spmv_mat_create(ctx, arrays, matrix))
    plan_opts%op = SPMV_BOTH
    plan_opts%vectors = k
    plan_opts%layout = SPMV_COLUMNS
    call check(spmv_plan_create(matrix, plan_opts, plan))

    wide = -7
    product%k = k
    product%x = c_loc(x)
    product%ldx = size(x, 1)
    product%z = c_loc(wide(1, 2))
    product%ldz = size(wide, 1)
    call check(spmv_apply(plan, product, c_null_ptr))
    call expect(all(abs(wide(:, 2:k + 1) - matmul(dense, x)) < 1e-14) .and. all(abs(wide(:, [1, k + 2]) + 7) < 1e-14))

    product%op = SPMV_TRANSPOSE
    product%x = c_loc(wide(1, 2))
    product%ldx = size(wide, 1)
    product%z = c_loc(back)
    product%ldz = size(back, 1)
    call check(spmv_apply(plan, product, c_null_ptr))
    call expect(all(abs(back - matmul(transpose(dense), wide(:, 2:k + 1))) < 1e-14))

    turned = transpose(x)
    product%op = SPMV_AS_IS
    product%layout = SPMV_ROWS
    product%x = c_loc(turned)
    product%ldx = size(turned, 1)
    product%z = c_loc(rows)
    product%ldz = size(rows, 1)
    product%dot_zz = c_loc(squares)
    call check(spmv_apply(plan, product, c_null_ptr))
    call expect(all(abs(transpose(rows) - wide(:, 2:k + 1)) < 1e-14))
    call expect(all(abs(squares - sum(rows**2, 2)) < 1e-13))
    call spmv_plan_free(plan)
    call spmv_mat_free(matrix)
    call spmv_ctx_free(ctx)
    print "(a)", "all are right"

contains

    subroutine check(status)
        integer(c_int), intent(in) :: status
        if (status == SPMV_OK) return
        print "(a)", spmv_text(spmv_ctx_error(ctx))
        stop 1
    end subroutine

    subroutine expect(is_right)
        logical, intent(in) :: is_right
        if (.not. is_right) stop 2
    end subroutine
end program
"""


@unittest.skipUnless(importlib.util.find_spec("pycparser"), "no pycparser: make deps installs it")
@unittest.skipUnless(shutil.which("gfortran"), "no gfortran: make deps installs it")
@unittest.skipIf("-san" in PROGRAM.parent.name, "gfortran links no sanitizer")
class Compiled(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        self.run_in(sys.executable, ROOT / "src/bindings/fortran/generate.py", "spmv.f90")

    def test_everything_in_the_header_is_there(self):
        module, header = ((path.read_text(encoding="utf-8")) for path in (self.folder / "spmv.f90", ROOT / "include/spmv.h"))
        header = re.sub(r"/\*[\s\S]*?\*/|^#.*", "", header, flags=re.M)
        names = [*re.findall(r"\b(spmv_\w+)\((?!\*)", header), *re.findall(r"\bSPMV_\w+(?= *[,=}\n])", header),
                 *(set(re.findall(r"^\} (spmv_\w+);", header, re.M)) - {"spmv_status"})]
        self.assertGreater(len(names), 60)
        for name in names:
            self.assertRegex(module, rf"(?:function|subroutine|parameter ::|type, bind\(c\) ::) {name}\b")

    def run_in(self, *command):
        done = subprocess.run(command, cwd=self.folder, env={**os.environ, "LD_LIBRARY_PATH": str(PROGRAM.parent)},
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.stderr, done.returncode), ("", 0))
        return done.stdout

    def test_sizes_are_those_of_c(self):
        names = re.findall(r"^ *type, bind\(c\) :: (\w+)\n *(.*?) ::", (self.folder / "spmv.f90").read_text(), re.M)
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
        self.run_in("gfortran", "-std=f2008", "spmv.f90", "f.f90", "-o", "in_fortran", f"-L{PROGRAM.parent}", "-lspmv")
        self.assertEqual(self.run_in("./in_fortran"), self.run_in("./in_c"))

    def test_conjugate_gradients(self):
        self.run_in(*FORTRAN, "spmv.f90", ROOT / "docs/examples/cg.f90", "-o", "cg", f"-L{PROGRAM.parent}", "-lspmv")
        said = re.fullmatch(r"(\d+) products, largest error +(\S+)\n", self.run_in("./cg"))
        self.assertLess(float(said[2]), 1e-7)
        self.assertIn(int(said[1]), range(100, 300))

    def test_several_vectors_and_the_transpose(self):
        (self.folder / "several.f90").write_text(SEVERAL)
        self.run_in(*FORTRAN, "spmv.f90", "several.f90", "-o", "several", f"-L{PROGRAM.parent}", "-lspmv")
        self.assertEqual(self.run_in("./several"), "all are right\n")


if __name__ == "__main__":
    unittest.main()
