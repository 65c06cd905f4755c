/* solve.c: a PETSc program that knows nothing of spmv. It solves a system, again with new values
 * and with a new pattern, and does with the matrix what programs do; what it prints must not depend
 * on who multiplies. */
#include "matrices.h"
#include <petscksp.h>

static PetscErrorCode solve(const char *what, KSP ksp, Mat A) {
    Vec x, b;
    PetscInt iterations;
    PetscReal error;
    PetscFunctionBegin;
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(x, 1));
    PetscCall(MatMult(A, x, b));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(VecSet(x, 0));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(VecShift(x, -1));
    PetscCall(VecNorm(x, NORM_INFINITY, &error));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %d iterations, %s\n", what, (int)iterations,
                          error < 1e-4 ? "solved" : "NOT SOLVED"));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscFunctionReturn(0);
}

/* Both diagonals of a matrix of A's size: a pattern that A does not have. */
static PetscErrorCode make_diagonals(Mat A, Mat *out) {
    PetscInt first, last, rows, mine;
    PetscFunctionBegin;
    PetscCall(MatGetSize(A, &rows, NULL));
    PetscCall(MatGetLocalSize(A, &mine, NULL));
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, mine, mine, rows, rows, 2, NULL, 2, NULL, out));
    PetscCall(MatGetOwnershipRange(*out, &first, &last));
    for (PetscInt i = first; i < last; i++) {
        PetscCall(MatSetValue(*out, i, i, 2, ADD_VALUES));
        PetscCall(MatSetValue(*out, i, rows - 1 - i, 1, ADD_VALUES));
    }
    PetscCall(MatAssemblyBegin(*out, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*out, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

static PetscErrorCode fill_vector(Vec x) {
    PetscInt first, last;
    PetscFunctionBegin;
    PetscCall(VecGetOwnershipRange(x, &first, &last));
    for (PetscInt i = first; i < last; i++)
        PetscCall(VecSetValue(x, i, noise(i, 0, 9), INSERT_VALUES));
    PetscCall(VecAssemblyBegin(x));
    PetscCall(VecAssemblyEnd(x));
    PetscFunctionReturn(0);
}

/* A dense matrix of so many local rows, with room between its columns. */
static PetscErrorCode make_dense(PetscInt mine, PetscInt columns, Mat *out) {
    PetscInt first, last;
    PetscFunctionBegin;
    PetscCall(MatCreate(PETSC_COMM_WORLD, out));
    PetscCall(MatSetSizes(*out, mine, PETSC_DECIDE, PETSC_DETERMINE, columns));
    PetscCall(MatSetType(*out, MATDENSE));
    PetscCall(MatDenseSetLDA(*out, mine + 3));
    PetscCall(MatSetUp(*out));
    PetscCall(MatGetOwnershipRange(*out, &first, &last));
    for (PetscInt i = first; i < last; i++)
        for (PetscInt j = 0; j < columns; j++)
            PetscCall(MatSetValue(*out, i, j, noise(i, j, 11), INSERT_VALUES));
    PetscCall(MatAssemblyBegin(*out, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*out, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

enum { VECTORS = 5 };

/* Checks the norms of A B, again into the same matrix, and of A' C. */
static PetscErrorCode print_dense_products(const char *what, Mat A) {
    Mat B, C, D;
    PetscReal norm[3];
    PetscInt rows, cols;
    PetscFunctionBegin;
    PetscCall(MatGetLocalSize(A, &rows, &cols));
    PetscCall(make_dense(cols, VECTORS, &B));
    PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
    PetscCall(MatNorm(C, NORM_FROBENIUS, &norm[0]));
    PetscCall(MatScale(B, 2));
    PetscCall(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C));
    PetscCall(MatNorm(C, NORM_FROBENIUS, &norm[1]));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&C));
    PetscCall(make_dense(rows, VECTORS, &C));
    PetscCall(MatTransposeMatMult(A, C, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
    PetscCall(MatNorm(D, NORM_FROBENIUS, &norm[2]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, dense: %.6e %.6e %.6e\n", what, (double)norm[0],
                          (double)norm[1], (double)norm[2]));
    PetscCall(MatDestroy(&C));
    PetscCall(MatDestroy(&D));
    PetscFunctionReturn(0);
}

/* Checks the norms of A x, y + A x in place and apart, and the same of A'. */
static PetscErrorCode print_products(const char *what, Mat A) {
    Vec x, y, z, back;
    PetscReal norm[7];
    PetscFunctionBegin;
    PetscCall(MatCreateVecs(A, &x, &y));
    PetscCall(VecDuplicate(y, &z));
    PetscCall(VecDuplicate(x, &back));
    PetscCall(fill_vector(x));
    PetscCall(MatMult(A, x, y));
    PetscCall(VecNorm(y, NORM_2, &norm[0]));
    PetscCall(VecSet(y, 1));
    PetscCall(MatMultAdd(A, x, y, z));
    PetscCall(VecNorm(z, NORM_2, &norm[1]));
    PetscCall(MatMultAdd(A, x, z, z));
    PetscCall(VecNorm(z, NORM_2, &norm[2]));
    PetscCall(fill_vector(y));
    PetscCall(MatMultTranspose(A, y, back));
    PetscCall(VecNorm(back, NORM_2, &norm[3]));
    PetscCall(MatMultTransposeAdd(A, y, x, back));
    PetscCall(VecNorm(back, NORM_2, &norm[4]));
    PetscCall(MatMultTransposeAdd(A, y, back, back));
    PetscCall(VecNorm(back, NORM_2, &norm[5]));
    PetscCall(MatMultHermitianTranspose(A, y, back));
    PetscCall(VecNorm(back, NORM_2, &norm[6]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %.6e %.6e %.6e, transposed: %.6e %.6e %.6e %.6e\n",
                          what, (double)norm[0], (double)norm[1], (double)norm[2], (double)norm[3],
                          (double)norm[4], (double)norm[5], (double)norm[6]));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&z));
    PetscCall(VecDestroy(&back));
    PetscFunctionReturn(0);
}

/* Every other column of A. */
static PetscErrorCode make_oblong(Mat A, Mat *out) {
    IS rows, columns;
    PetscInt first, last;
    PetscFunctionBegin;
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    PetscCall(ISCreateStride(PETSC_COMM_WORLD, last - first, first, 1, &rows));
    PetscCall(MatGetOwnershipRangeColumn(A, &first, &last));
    first += first % 2;
    PetscCall(ISCreateStride(PETSC_COMM_WORLD, (last - first + 1) / 2, first, 2, &columns));
    PetscCall(MatCreateSubMatrix(A, rows, columns, MAT_INITIAL_MATRIX, out));
    PetscCall(ISDestroy(&rows));
    PetscCall(ISDestroy(&columns));
    PetscFunctionReturn(0);
}

static PetscErrorCode print_and_destroy(const char *what, Mat *A) {
    PetscFunctionBegin;
    PetscCall(print_products(what, *A));
    PetscCall(MatDestroy(A));
    PetscFunctionReturn(0);
}

/* Every way to change or copy a matrix that was multiplied before. */
static PetscErrorCode use(Mat A, Mat other) {
    Mat B;
    MatType type;
    Vec d;
    PetscInt first, rows;
    PetscFunctionBegin;
    PetscCall(print_products("as assembled", A));
    PetscCall(print_dense_products("as assembled", A));
    PetscCall(make_oblong(A, &B));
    PetscCall(print_dense_products("every other column", B));
    PetscCall(MatScale(B, 2));
    PetscCall(print_dense_products("every other column, MatScale", B));
    PetscCall(print_and_destroy("every other column", &B));
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
    PetscCall(print_products("MatDuplicate", B));
    PetscCall(MatScale(B, 2));
    PetscCall(print_products("MatScale", B));
    PetscCall(MatAXPY(B, 3, A, SAME_NONZERO_PATTERN));
    PetscCall(print_products("MatAXPY, same pattern", B));
    PetscCall(MatAXPY(B, 1, other, DIFFERENT_NONZERO_PATTERN));
    PetscCall(print_products("MatAXPY, other pattern", B));
    PetscCall(MatShift(B, 0.5));
    PetscCall(print_products("MatShift", B));
    PetscCall(MatCreateVecs(B, &d, NULL));
    PetscCall(VecSet(d, 0.25));
    PetscCall(MatDiagonalScale(B, d, NULL));
    PetscCall(print_products("MatDiagonalScale", B));
    PetscCall(VecDestroy(&d));
    PetscCall(MatCopy(A, B, DIFFERENT_NONZERO_PATTERN));
    PetscCall(print_products("MatCopy", B));
    PetscCall(MatGetOwnershipRange(B, &first, NULL));
    PetscCall(MatGetSize(B, &rows, NULL));
    PetscCall(MatSetOption(B, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    PetscCall(MatSetOption(B, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    if (first < rows)
        PetscCall(MatSetValue(B, first, (first + rows / 3) % rows, 50, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
    PetscCall(print_and_destroy("MatSetValue, a new place", &B));
    PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &B));
    PetscCall(MatCopy(A, B, SAME_NONZERO_PATTERN));
    PetscCall(print_and_destroy("MatDuplicate without values", &B));
    PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &B));
    PetscCall(print_and_destroy("MatTranspose", &B));
    PetscCall(MatMatMult(A, other, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &B));
    PetscCall(print_and_destroy("MatMatMult", &B));
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
    PetscCall(MatGetType(B, &type));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s\n", type));
    PetscCall(print_and_destroy("MatConvert to aij", &B));
    PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &B));
    PetscCall(print_and_destroy("MatConvert to dense", &B));
    PetscCall(MatConvert(A, MATBAIJ, MAT_INITIAL_MATRIX, &B));
    PetscCall(print_and_destroy("MatConvert to baij", &B));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
    KSP ksp;
    Mat A, other;
    PetscInt n = 12, s = COEFFICIENTS_3D;
    PetscBool products = PETSC_FALSE;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
    PetscCall(PetscOptionsGetEList(NULL, NULL, "-matrix", class_name, CLASSES, &s, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-products", &products, NULL));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(make((shape)s, n, &A));
    PetscCall(make_diagonals(A, &other));
    if (products) PetscCall(use(A, other));
    PetscCall(solve("first values", ksp, A));
    for (PetscInt which = 1; which < 4; which++) {
        PetscCall(fill(A, (shape)s, n, which));
        PetscCall(solve("new values", ksp, A));
    }
    PetscCall(MatAXPY(A, 1, other, DIFFERENT_NONZERO_PATTERN));
    PetscCall(KSPDestroy(&ksp)); /* GAMG reuses products of the old pattern */
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(solve("new pattern", ksp, A));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&other));
    PetscCall(PetscFinalize());
    return 0;
}
