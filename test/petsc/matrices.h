/* matrices.h: matrices of six classes as a PETSc program makes them. Row i is a function of i
 * alone, so that they are the same on any number of ranks. Values repeat in the first three. */
#ifndef MATRICES_H
#define MATRICES_H
#include <petscmat.h>

typedef enum { POISSON_2D, POISSON_3D, BOX_27, COEFFICIENTS_3D, ELASTICITY, GRAPH, CLASSES } shape;
static const char *const class_name[] = {"poisson2d",      "poisson3d",  "box27",
                                         "coefficients3d", "elasticity", "graph"};

enum { MOST_IN_ROW = 100 };
typedef struct row {
    PetscInt n, col[MOST_IN_ROW];
    PetscScalar value[MOST_IN_ROW];
} row;

/* Returns a number in [0, 1) that depends on two numbers and on which values are asked for. */
static PetscReal noise(PetscInt i, PetscInt j, PetscInt which) {
    unsigned long long z = (unsigned long long)i * 0x9E3779B97F4A7C15u +
                           (unsigned long long)j * 0xD1B54A32D192ED03u +
                           (unsigned long long)which * 0x94D049BB133111EBu;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (PetscReal)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static void add(row *r, PetscInt col, PetscScalar value) {
    r->col[r->n] = col;
    r->value[r->n++] = value;
}

/* Returns a symmetric, diagonally dominant value of an edge of a grid. */
static PetscScalar edge(shape s, PetscInt i, PetscInt j, PetscInt which) {
    const PetscReal scale = which ? 1 + 0.5 * which : 1;
    if (s == POISSON_2D || s == POISSON_3D || s == BOX_27) return -scale;
    return -scale * (0.5 + noise(PetscMin(i, j), PetscMax(i, j), which));
}

/* Neighbours in an n x n (x n) grid, of "unknowns" values each. */
static void grid_row(shape s, PetscInt n, PetscInt i, PetscInt which, row *r) {
    const PetscInt unknowns = s == ELASTICITY ? 3 : 1, node = i / unknowns, plane = n * n,
                   deep = s != POISSON_2D;
    const PetscInt x = node % n, y = node / n % n, z = node / plane;
    PetscScalar sum = 0;
    for (PetscInt dz = -deep; dz <= deep; dz++)
        for (PetscInt dy = -1; dy <= 1; dy++)
            for (PetscInt dx = -1; dx <= 1; dx++) {
                const PetscInt steps = PetscAbsInt(dx) + PetscAbsInt(dy) + PetscAbsInt(dz);
                if (steps > 1 && s != BOX_27 && s != ELASTICITY) continue;
                if (x + dx < 0 || x + dx >= n || y + dy < 0 || y + dy >= n || z + dz < 0 ||
                    (deep && z + dz >= n))
                    continue;
                const PetscInt other = node + dx + n * dy + plane * dz;
                for (PetscInt u = 0; u < unknowns; u++) {
                    const PetscInt j = unknowns * other + u;
                    const PetscScalar value = j == i ? 0 : edge(s, i, j, which);
                    add(r, j, value);
                    sum -= value;
                }
            }
    for (PetscInt k = 0; k < r->n; k++)
        if (r->col[k] == i) r->value[k] = sum + 1e-3 * (1 + PetscAbsScalar(edge(s, i, i, which)));
}

/* Few rows have many entries, at columns anywhere. */
static void graph_row(PetscInt n, PetscInt i, PetscInt which, row *r) {
    const PetscInt degree =
        (PetscInt)PetscMin(MOST_IN_ROW - 1, 3 / PetscSqrtReal(noise(i, -1, 0) + 1e-3));
    PetscScalar sum = 0;
    for (PetscInt k = 0; k < degree; k++) {
        const PetscInt j = (PetscInt)(noise(i, k, 0) * (PetscReal)n);
        const PetscScalar value = 0.5 + noise(i, j, which);
        if (j == i) continue;
        add(r, j, value);
        sum += PetscAbsScalar(value);
    }
    add(r, i, sum + 1);
}

static PetscInt rows_of(shape s, PetscInt n) {
    return s == POISSON_2D || s == GRAPH ? n * n : s == ELASTICITY ? 3 * n * n * n : n * n * n;
}

/* which: 0, 1, ...: other values of the same pattern. */
static PetscErrorCode fill(Mat A, shape s, PetscInt n, PetscInt which) {
    PetscInt first, last;
    row r;
    PetscFunctionBegin;
    PetscCall(MatZeroEntries(A));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt i = first; i < last; i++) {
        r.n = 0;
        if (s == GRAPH)
            graph_row(n * n, i, which, &r);
        else
            grid_row(s, n, i, which, &r);
        PetscCall(MatSetValues(A, 1, &i, r.n, r.col, r.value, ADD_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

static PetscErrorCode make(shape s, PetscInt n, Mat *A) {
    const PetscInt most = s == GRAPH ? MOST_IN_ROW : s == ELASTICITY ? 81 : s == BOX_27 ? 27 : 7;
    const PetscInt rows = rows_of(s, n);
    PetscFunctionBegin;
    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, rows, rows));
    PetscCall(MatSetType(*A, MATAIJ));
    PetscCall(MatSeqAIJSetPreallocation(*A, most, NULL));
    PetscCall(MatMPIAIJSetPreallocation(*A, most, NULL, most, NULL));
    PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    PetscCall(fill(*A, s, n, 0));
    PetscFunctionReturn(0);
}

#endif
