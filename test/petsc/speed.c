/* speed.c: a product of seqaij beside one of seqaijspmv, on matrices of six classes; PETSc must
 * have loaded the latter. Prints microseconds, the shortest of many samples in turns, that of the
 * slowest rank; and how long the first 400 products of seqaijspmv take, with all preparation, in
 * products of seqaij. */
#include "matrices.h"
#include <petscksp.h>
#include <petsctime.h>

enum { FIRST = 400 };

static PetscErrorCode make_of_type(const char *type, shape s, PetscInt n, Mat *A) {
    PetscFunctionBegin;
    PetscCall(PetscOptionsSetValue(NULL, "-mat_seqaij_type", type));
    PetscCall(make(s, n, A));
    PetscFunctionReturn(0);
}

static PetscErrorCode time_products(Mat A, Vec x, Vec y, int products, PetscLogDouble *best) {
    PetscLogDouble start, end;
    double mine, slowest;
    PetscFunctionBegin;
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&start));
    for (int k = 0; k < products; k++) PetscCall(MatMult(A, x, y));
    PetscCall(PetscTime(&end));
    mine = (end - start) / products;
    PetscCallMPI(MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
    *best = PetscMin(*best, slowest);
    PetscFunctionReturn(0);
}

static PetscErrorCode add_time(Mat A, Vec x, Vec y, PetscLogDouble *sum) {
    PetscLogDouble start, end;
    PetscFunctionBegin;
    PetscCall(PetscTime(&start));
    PetscCall(MatMult(A, x, y));
    PetscCall(PetscTime(&end));
    *sum += end - start;
    PetscFunctionReturn(0);
}

static PetscErrorCode compare(shape s, PetscInt n) {
    Mat aij, ours;
    Vec x, y, z;
    PetscLogDouble aij_s = 1, ours_s = 1, aij_sum = 0, ours_sum = 0, once = 1;
    PetscReal norm, difference;
    PetscFunctionBegin;
    PetscCall(make_of_type(MATSEQAIJ, s, n, &aij));
    PetscCall(make_of_type("seqaijspmv", s, n, &ours));
    PetscCall(MatCreateVecs(aij, &x, &y));
    PetscCall(VecDuplicate(y, &z));
    PetscCall(VecSetRandom(x, NULL));
    for (int k = 0; k < FIRST; k++) {
        PetscCall(add_time(aij, x, y, &aij_sum));
        PetscCall(add_time(ours, x, z, &ours_sum));
    }
    PetscCall(time_products(aij, x, y, 20, &once));
    const int products = (int)PetscClipInterval(0.003 / once, 1, 1000);
    for (int k = 0; k < 100; k++) {
        PetscCall(time_products(aij, x, y, products, &aij_s));
        PetscCall(time_products(ours, x, z, products, &ours_s));
    }
    PetscCall(VecNorm(y, NORM_INFINITY, &norm));
    PetscCall(VecAXPY(z, -1, y));
    PetscCall(VecNorm(z, NORM_INFINITY, &difference));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-15s %10.1f %10.1f %6.2f   %s   %.0f\n",
                          class_name[s], aij_s * 1e6, ours_s * 1e6, aij_s / ours_s,
                          difference <= 1e-12 * norm ? "same" : "DIFFERENT",
                          FIRST * ours_sum / aij_sum));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&z));
    PetscCall(MatDestroy(&aij));
    PetscCall(MatDestroy(&ours));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
    static const PetscInt size[CLASSES] = {700, 60, 50, 60, 25, 400};
    PetscInt percent = 100, only = -1;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-percent", &percent, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-only", &only, NULL));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-15s %10s %10s %6s   result   first 400 products\n",
                          "us per product", MATSEQAIJ, "seqaijspmv", "times"));
    for (int s = 0; s < CLASSES; s++)
        if (only < 0 || only == s)
            PetscCall(compare((shape)s, PetscMax(size[s] * percent / 100, 2)));
    PetscCall(PetscFinalize());
    return 0;
}
