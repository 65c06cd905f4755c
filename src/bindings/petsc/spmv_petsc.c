/* spmv_petsc.c: PETSc's matrix type seqaijspmv, a SEQAIJ matrix that this library multiplies.
 *
 * PETSc loads it with -dll_append; with -mat_seqaij_type seqaijspmv every SEQAIJ matrix becomes
 * one, both blocks of an MPIAIJ matrix as well. MatMult and MatMultAdd alone are replaced:
 * assembly, factors and all else work on SEQAIJ's arrays, which stay what they are.
 *
 * A matrix is multiplied by SEQAIJ's own product until it was used often enough for a preparation
 * to pay. Those products are timed, and so are the first ones of the plan: the slower of the two is
 * not used again. New values are written into the plan when that pays; until then SEQAIJ's product,
 * which has them, is used. A new pattern begins anew. */
#include <petscmat.h>
#include <petsctime.h>
#include <sched.h>
#include <spmv.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(PetscScalar) == 8 && sizeof(PetscReal) == 8 && sizeof(PetscInt) == 4,
               "spmv needs a PETSc of real numbers in double precision and of 32-bit indices");

/* A documented function that PETSc's public headers leave out. */
PETSC_EXTERN PetscErrorCode PetscObjectStateGet(PetscObject, PetscObjectState *);

#define TYPE "seqaijspmv" /* PETSc finds factors of what begins with seqaij */
#define KEY "spmv_product"
#define TO_SEQAIJ "MatConvert_" TYPE "_" MATSEQAIJ "_C"

/* A plan for as many more is made when this many products took this long; made again after ten
 * times as many it may cost more, which pays for trials and other formats. */
static const PetscInt64 least_count = 30, much_more = 10;
static const PetscLogDouble least_s = 0.02;
enum { PREPARATIONS = 2, TRIAL = 20 }; /* TRIAL: products of a plan that are timed */

/* Says how a matrix is multiplied; composed with it. */
typedef struct product {
    Mat owner;                        /* MatHeaderMerge gives it to another matrix */
    PetscObjectState pattern, values; /* of the matrix, when it was last multiplied */
    PetscInt64 count, prepared_at;    /* products with this pattern; those before the last plan */
    int prepared;                     /* how often a plan was made */
    spmv_mat *mat;
    spmv_plan *plan; /* NULL: none was made, or SEQAIJ's product is faster */
    int64_t nnz;
    PetscBool current;                  /* the plan has the matrix's values */
    int refill;                         /* its values change to ones that not every plan can take */
    int tried;                          /* products of the plan that were timed */
    PetscLogDouble aij_s, plan_s;       /* the shortest product of each */
    PetscLogDouble prepare_s, refill_s; /* what the plan cost, and new values for it */
    PetscLogDouble missed_s; /* what the plan would have saved since the values changed */
} product;

static spmv_ctx *ctx;
static char kernel[64] = "auto"; /* -mat_spmv_kernel */
static PetscErrorCode (*aij_mult)(Mat, Vec, Vec), (*aij_mult_add)(Mat, Vec, Vec, Vec);
static PetscLogEvent prepare_event;

static int is_auto(void) {
    return strcmp(kernel, "auto") == 0;
}

/* ---- the plan ------------------------------------------------------------------------------- */

static void forget_plan(product *p) {
    spmv_plan_free(p->plan);
    spmv_mat_free(p->mat);
    p->plan = NULL;
    p->mat = NULL;
}

static PetscErrorCode arrays_of(Mat A, spmv_arrays *arrays) {
    const PetscInt *ptr, *idx;
    PetscScalar *values;
    PetscInt rows, cols;
    PetscFunctionBegin;
    PetscCall(MatGetSize(A, &rows, &cols));
    PetscCall(MatSeqAIJGetCSRAndMemType(A, &ptr, &idx, &values, NULL));
    *arrays = (spmv_arrays){.size = sizeof *arrays,
                            .rows = rows,
                            .cols = cols,
                            .nnz = ptr[rows],
                            .ptr = ptr,
                            .idx = idx,
                            .values = values,
                            .ptr_bits = 32,
                            .flags = SPMV_BORROW}; /* what replaces them is another pattern */
    PetscFunctionReturn(0);
}

static spmv_status make_plan(product *p, const spmv_arrays *arrays) {
    const spmv_plan_opts opts = {.size = sizeof opts,
                                 .kernel = kernel,
                                 .expected_calls = is_auto() ? p->count : 0,
                                 .refill = p->refill};
    forget_plan(p);
    spmv_status status = spmv_mat_create(ctx, arrays, &p->mat);
    if (status == SPMV_OK) status = spmv_plan_create(p->mat, &opts, &p->plan);
    if (status != SPMV_OK) forget_plan(p);
    return status;
}

/* A matrix that no kernel can hold keeps SEQAIJ's product; a kernel that nobody knows is an error.
 */
static PetscErrorCode prepare(Mat A, product *p) {
    spmv_arrays arrays;
    spmv_plan_facts facts = {.size = sizeof facts};
    PetscLogDouble start, end;
    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(prepare_event, A, 0, 0, 0));
    PetscCall(PetscTime(&start));
    PetscCall(arrays_of(A, &arrays));
    p->nnz = arrays.nnz;
    const spmv_status status = make_plan(p, &arrays);
    PetscCall(PetscTime(&end));
    PetscCall(PetscLogEventEnd(prepare_event, A, 0, 0, 0));
    PetscCheck(status != SPMV_E_ARG, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", spmv_ctx_error(ctx));
    p->current = PETSC_TRUE;
    p->tried = is_auto() ? 0 : TRIAL;
    p->plan_s = PETSC_MAX_REAL;
    p->prepare_s = end - start;
    p->refill_s = 0; /* until it is known */
    if (p->plan) spmv_plan_info(p->plan, &facts);
    PetscCall(PetscInfo(A, "%s, threads: %d: %s (%g s after %" PetscInt64_FMT " products)\n",
                        p->plan ? facts.kernel : MATSEQAIJ, p->plan ? facts.threads : 1,
                        p->plan ? facts.reason ? facts.reason : "named" : spmv_ctx_error(ctx),
                        end - start, p->count));
    PetscFunctionReturn(0);
}

/* Writes the matrix's values into the plan. If it cannot take them another is made, which can, as
 * soon as that pays. */
static PetscErrorCode refill(Mat A, product *p) {
    const PetscScalar *values;
    PetscLogDouble start, end;
    PetscFunctionBegin;
    PetscCall(PetscTime(&start));
    PetscCall(MatSeqAIJGetArrayRead(A, &values));
    const spmv_status status = spmv_mat_set_values(p->mat, values, SPMV_HOST, NULL);
    PetscCall(MatSeqAIJRestoreArrayRead(A, &values));
    PetscCall(PetscTime(&end));
    PetscCheck(status == SPMV_OK || status == SPMV_E_UNSUITABLE, PETSC_COMM_SELF, PETSC_ERR_LIB,
               "%s", spmv_ctx_error(ctx));
    p->current = status == SPMV_OK ? PETSC_TRUE : PETSC_FALSE;
    p->refill_s = is_auto() ? end - start : 0;
    PetscCall(PetscInfo(A, "new values: %s (%g s after %" PetscInt64_FMT " products)\n",
                        p->current ? "written" : spmv_ctx_error(ctx), end - start, p->count));
    if (p->current) PetscFunctionReturn(0);
    const int known = p->refill;
    p->refill = 1;
    p->refill_s = p->prepare_s;
    if (known || !is_auto()) PetscCall(prepare(A, p));
    PetscFunctionReturn(0);
}

static int is_time_to_prepare(const product *p) {
    if (p->prepared == PREPARATIONS) return 0;
    if (!is_auto()) return 1;
    if (p->prepared > 0) return p->count >= much_more * p->prepared_at;
    return p->count >= least_count && (PetscLogDouble)p->count * p->aij_s >= least_s;
}

/* ---- a matrix's product --------------------------------------------------------------------- */

static PetscErrorCode product_free(void *memory) {
    PetscFunctionBegin;
    forget_plan(memory);
    PetscCall(PetscFree(memory));
    PetscFunctionReturn(0);
}

static PetscErrorCode product_new(Mat A, product **out) {
    PetscContainer container;
    PetscFunctionBegin;
    PetscCall(PetscNew(out));
    PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
    PetscCall(PetscContainerSetPointer(container, *out));
    PetscCall(PetscContainerSetUserDestroy(container, product_free));
    PetscCall(PetscObjectCompose((PetscObject)A, KEY, (PetscObject)container));
    PetscCall(PetscContainerDestroy(&container));
    PetscFunctionReturn(0);
}

/* Finds the matrix's product, which knows after it what has changed since the last one. */
static PetscErrorCode product_of(Mat A, product **out) {
    PetscContainer container;
    PetscObjectState pattern, values;
    product *p;
    PetscFunctionBegin;
    PetscCall(PetscObjectQuery((PetscObject)A, KEY, (PetscObject *)&container));
    if (container)
        PetscCall(PetscContainerGetPointer(container, (void **)&p));
    else
        PetscCall(product_new(A, &p));
    PetscCall(MatGetNonzeroState(A, &pattern));
    PetscCall(PetscObjectStateGet((PetscObject)A, &values));
    if (p->owner != A || p->pattern != pattern) {
        forget_plan(p);
        *p = (product){.owner = A, .aij_s = PETSC_MAX_REAL};
    } else if (p->values != values) {
        p->current = PETSC_FALSE;
        p->missed_s = 0;
    }
    p->pattern = pattern;
    p->values = values;
    *out = p;
    PetscFunctionReturn(0);
}

/* z <- A x, plus y unless it is NULL. */
static PetscErrorCode multiply_by_aij(Mat A, Vec x, Vec y, Vec z) {
    PetscFunctionBegin;
    if (y)
        PetscCall(aij_mult_add(A, x, y, z));
    else
        PetscCall(aij_mult(A, x, z));
    PetscFunctionReturn(0);
}

static PetscErrorCode multiply_by_plan(const product *p, Vec x, Vec y, Vec z) {
    const PetscScalar *x_at;
    PetscScalar *z_at;
    PetscFunctionBegin;
    if (y && y != z) PetscCall(VecCopy(y, z));
    PetscCall(VecGetArrayRead(x, &x_at));
    if (y)
        PetscCall(VecGetArray(z, &z_at));
    else
        PetscCall(VecGetArrayWrite(z, &z_at));
    const spmv_status status = spmv_exec(p->plan, 1.0, x_at, y ? 1.0 : 0.0, z_at);
    PetscCheck(status == SPMV_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", spmv_ctx_error(ctx));
    if (y)
        PetscCall(VecRestoreArray(z, &z_at));
    else
        PetscCall(VecRestoreArrayWrite(z, &z_at));
    PetscCall(VecRestoreArrayRead(x, &x_at));
    PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)p->nnz));
    PetscFunctionReturn(0);
}

static PetscErrorCode try_aij(Mat A, product *p, Vec x, Vec y, Vec z) {
    PetscLogDouble start, end;
    PetscFunctionBegin;
    PetscCall(PetscTime(&start));
    PetscCall(multiply_by_aij(A, x, y, z));
    PetscCall(PetscTime(&end));
    p->aij_s = PetscMin(p->aij_s, end - start);
    if (p->plan) p->missed_s += end - start - (p->tried ? p->plan_s : 0);
    PetscFunctionReturn(0);
}

/* Drops the plan after its last trial if SEQAIJ's product is faster. */
static PetscErrorCode try_plan(Mat A, product *p, Vec x, Vec y, Vec z) {
    PetscLogDouble start, end;
    PetscFunctionBegin;
    PetscCall(PetscTime(&start));
    PetscCall(multiply_by_plan(p, x, y, z));
    PetscCall(PetscTime(&end));
    p->plan_s = PetscMin(p->plan_s, end - start);
    if (++p->tried < TRIAL) PetscFunctionReturn(0);
    PetscCall(PetscInfo(A, "a product takes %g s, SEQAIJ's %g s\n", p->plan_s, p->aij_s));
    if (p->plan_s > p->aij_s) forget_plan(p);
    PetscFunctionReturn(0);
}

static PetscErrorCode multiply(Mat A, Vec x, Vec y, Vec z) {
    product *p = NULL;
    PetscFunctionBegin;
    PetscCall(product_of(A, &p));
    if (is_time_to_prepare(p)) {
        PetscCall(prepare(A, p));
        p->prepared = is_auto() ? p->prepared + 1 : PREPARATIONS;
        p->prepared_at = p->count;
    }
    p->count++;
    if (p->plan && !p->current && p->missed_s >= p->refill_s) PetscCall(refill(A, p));
    if (p->plan && p->current) {
        if (p->tried < TRIAL)
            PetscCall(try_plan(A, p, x, y, z));
        else
            PetscCall(multiply_by_plan(p, x, y, z));
    } else if (!p->plan && p->prepared == PREPARATIONS)
        PetscCall(multiply_by_aij(A, x, y, z));
    else
        PetscCall(try_aij(A, p, x, y, z));
    PetscFunctionReturn(0);
}

static PetscErrorCode mult(Mat A, Vec x, Vec y) {
    PetscFunctionBegin;
    PetscCall(multiply(A, x, NULL, y));
    PetscFunctionReturn(0);
}

/* ---- the type ------------------------------------------------------------------------------- */

static PetscErrorCode set_operations(Mat A, PetscErrorCode (*op)(Mat, Vec, Vec),
                                     PetscErrorCode (*op_add)(Mat, Vec, Vec, Vec)) {
    PetscFunctionBegin;
    PetscCall(MatSetOperation(A, MATOP_MULT, (void (*)(void))op));
    PetscCall(MatSetOperation(A, MATOP_MULT_ADD, (void (*)(void))op_add));
    PetscFunctionReturn(0);
}

/* *out as reuse asks for it, of A's type. */
static PetscErrorCode copy_as_asked(Mat A, MatReuse reuse, Mat *out) {
    PetscFunctionBegin;
    if (reuse == MAT_INITIAL_MATRIX)
        PetscCall(MatDuplicate(A, MAT_COPY_VALUES, out));
    else if (reuse == MAT_REUSE_MATRIX)
        PetscCall(MatCopy(A, *out, SAME_NONZERO_PATTERN));
    PetscFunctionReturn(0);
}

static PetscErrorCode to_seqaij(Mat A, MatType type, MatReuse reuse, Mat *out) {
    (void)type;
    PetscFunctionBegin;
    PetscCall(copy_as_asked(A, reuse, out));
    PetscCall(set_operations(*out, aij_mult, aij_mult_add));
    PetscCall(PetscObjectCompose((PetscObject)*out, KEY, NULL));
    PetscCall(PetscObjectComposeFunction((PetscObject)*out, TO_SEQAIJ, NULL));
    PetscCall(PetscObjectChangeTypeName((PetscObject)*out, MATSEQAIJ));
    PetscFunctionReturn(0);
}

static PetscErrorCode to_spmv(Mat A, MatType type, MatReuse reuse, Mat *out) {
    PetscBool is_spmv, is_seqaij;
    PetscFunctionBegin;
    PetscCall(copy_as_asked(A, reuse, out));
    PetscCall(PetscObjectTypeCompare((PetscObject)*out, type, &is_spmv));
    if (is_spmv) PetscFunctionReturn(0);
    PetscCall(PetscObjectTypeCompare((PetscObject)*out, MATSEQAIJ, &is_seqaij));
    PetscCheck(is_seqaij, PETSC_COMM_SELF, PETSC_ERR_SUP, "%s is made of %s only", type, MATSEQAIJ);
    if (!aij_mult) {
        PetscCall(MatGetOperation(*out, MATOP_MULT, (void (**)(void)) & aij_mult));
        PetscCall(MatGetOperation(*out, MATOP_MULT_ADD, (void (**)(void)) & aij_mult_add));
    }
    PetscCall(set_operations(*out, mult, multiply));
    PetscCall(PetscObjectComposeFunction((PetscObject)*out, TO_SEQAIJ, to_seqaij));
    PetscCall(PetscObjectChangeTypeName((PetscObject)*out, TYPE));
    PetscFunctionReturn(0);
}

/* With -mat_seqaij_type PETSc converts while it makes the SEQAIJ matrix. */
static PetscErrorCode create(Mat A) {
    PetscFunctionBegin;
    PetscCall(MatSetType(A, MATSEQAIJ));
    PetscCall(to_spmv(A, TYPE, MAT_INPLACE_MATRIX, &A));
    PetscFunctionReturn(0);
}

/* ---- the library in PETSc ------------------------------------------------------------------- */

/* Counts how many ranks of this node may run on CPUs of this one, itself included. */
static PetscErrorCode count_sharers(int *sharers) {
    MPI_Comm node;
    PetscMPIInt ranks;
    cpu_set_t mine, both, *all;
    PetscFunctionBegin;
    PetscCallMPI(
        MPI_Comm_split_type(PETSC_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    PetscCallMPI(MPI_Comm_size(node, &ranks));
    if (sched_getaffinity(0, sizeof mine, &mine)) memset(&mine, 0xff, sizeof mine);
    PetscCall(PetscMalloc1(ranks, &all));
    PetscCallMPI(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, node));
    *sharers = 0;
    for (int r = 0; r < ranks; r++) {
        CPU_AND(&both, &mine, &all[r]);
        *sharers += CPU_COUNT(&both) > 0;
    }
    PetscCall(PetscFree(all));
    PetscCallMPI(MPI_Comm_free(&node));
    PetscFunctionReturn(0);
}

/* Ranks divide the cores they may use. What OMP_NUM_THREADS says is meant for each of them. */
static PetscErrorCode open_context(void) {
    spmv_ctx_opts opts = SPMV_OPTS(spmv_ctx_opts);
    int sharers;
    PetscFunctionBegin;
    PetscCall(count_sharers(&sharers));
    PetscCheck(spmv_ctx_create(&opts, &ctx) == SPMV_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s",
               spmv_ctx_error(NULL));
    if (sharers == 1 || getenv("OMP_NUM_THREADS")) PetscFunctionReturn(0);
    opts.threads = PetscMax(spmv_ctx_threads(ctx) / sharers, 1);
    spmv_ctx_free(ctx);
    PetscCheck(spmv_ctx_create(&opts, &ctx) == SPMV_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s",
               spmv_ctx_error(NULL));
    PetscFunctionReturn(0);
}

static PetscErrorCode close_context(void) {
    PetscFunctionBegin;
    spmv_ctx_free(ctx);
    ctx = NULL;
    PetscFunctionReturn(0);
}

/* PETSc looks for this name in a file libspmv_petsc.so. */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_spmv_petsc(void);
PetscErrorCode PetscDLLibraryRegister_spmv_petsc(void) {
    PetscFunctionBegin;
    PetscCall(MatRegister(TYPE, create));
    PetscCall(MatSeqAIJRegister(TYPE, to_spmv));
    PetscCall(PetscLogEventRegister("MatSpmvPrepare", MAT_CLASSID, &prepare_event));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_spmv_kernel", kernel, sizeof kernel, NULL));
    PetscCall(open_context());
    PetscCall(PetscRegisterFinalize(close_context));
    PetscFunctionReturn(0);
}
