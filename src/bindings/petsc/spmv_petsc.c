/* spmv_petsc.c: PETSc's matrix type seqaijspmv, a SEQAIJ matrix that this library multiplies.
 *
 * PETSc loads the file with -dll_append. With -mat_seqaij_type seqaijspmv every SEQAIJ matrix gets
 * this type, including both blocks of an MPIAIJ matrix. Only MatMult, MatMultTranspose, their Add
 * variants, and products with a dense matrix (MatMatMult, MatTransposeMatMult) are replaced.
 * Assembly, factorization and all other operations use SEQAIJ's arrays, which are not changed.
 *
 * A matrix is multiplied by SEQAIJ's product until it was used often enough for a preparation to
 * pay. These products and the first ones of the plan are timed; the slower method is not used
 * again. New values are written into the plan when that pays; until then SEQAIJ's product, which
 * has the new values, is used. A new pattern restarts the procedure. Each kind of product (matrix
 * or transpose, vector or dense matrix) has its own counts and plan; the plans share the matrix. */
#include <petscmat.h>
#include <petsctime.h>
#include <sched.h>
#include <spmv.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(PetscScalar) == 8 && sizeof(PetscReal) == 8 && sizeof(PetscInt) == 4,
               "spmv needs a PETSc of real numbers in double precision and of 32-bit indices");

/* Documented by PETSc, but missing in its public headers. */
PETSC_EXTERN PetscErrorCode PetscObjectStateGet(PetscObject, PetscObjectState *);

#define TYPE "seqaijspmv" /* PETSc finds factorizations for types that begin with seqaij */
#define KEY "spmv_product"
#define TO_SEQAIJ "MatConvert_" TYPE "_" MATSEQAIJ "_C"
#define TIMES_DENSE "MatProductSetFromOptions_" TYPE "_" MATSEQDENSE "_C"
#define AIJ_TIMES_DENSE "MatProductSetFromOptions_" MATSEQAIJ "_" MATSEQDENSE "_C"

/* A plan is created after least_count products that took at least least_s seconds, for as many
 * more. It is created again after much_more times as many products, with a higher expected number:
 * trials and other formats then pay. */
static const PetscInt64 least_count = 30, much_more = 10;
static const PetscLogDouble least_s = 0.02;
enum { PREPARATIONS = 2, TRIAL = 20 }; /* TRIAL: number of timed products of a plan */

/* Kinds of products: with the matrix or its transpose; one vector or a dense matrix. */
enum { ONE, ONE_TRANSPOSED, BLOCK, BLOCK_TRANSPOSED, WAYS };
static const spmv_op op_of[WAYS] = {SPMV_AS_IS, SPMV_TRANSPOSE, SPMV_AS_IS, SPMV_TRANSPOSE};
static const char *const said_of[WAYS] = {"", "transposed, ", "of a dense matrix, ",
                                          "transposed, of a dense matrix, "};

typedef struct way {
    PetscInt64 count, prepared_at; /* vectors multiplied with this pattern; those before the last
                                      plan was created */
    int prepared;                  /* number of plans created */
    spmv_plan *plan;               /* NULL: none created, or SEQAIJ's product is faster */
    PetscInt64 vectors;           /* number of vectors per product for which the plan was created */
    int tried;                    /* number of timed products of the plan */
    PetscLogDouble aij_s, plan_s; /* shortest time of SEQAIJ's product and of the plan's, per
                                     vector */
    PetscLogDouble prepare_s;     /* seconds to create the plan */
} way;

/* state of a matrix's products; attached to the PETSc matrix */
typedef struct product {
    Mat owner;                        /* the matrix; checked because MatHeaderMerge moves the
                                         attachment to another matrix */
    PetscObjectState pattern, values; /* PETSc's state counters of the matrix at its last product */
    spmv_mat *mat;                    /* NULL: no plan */
    int64_t nnz;
    PetscBool current;       /* the plans have the matrix's current values */
    int refill;              /* values will change, and not every plan can take new values */
    PetscLogDouble refill_s; /* seconds to write new values into the plans */
    PetscLogDouble missed_s; /* seconds that the plans would have saved since the values changed */
    way by[WAYS];
} product;

/* a product: z <- op(A) x, + y unless y is NULL; or, with a dense matrix, C <- op(A) B */
typedef struct job {
    int way;
    Vec x, y, z;
    Mat B, C;
    PetscInt k; /* number of vectors */
} job;

typedef void (*operation)(void);
static spmv_ctx *ctx;
static char kernel[64] = "auto"; /* value of -mat_spmv_kernel */
/* SEQAIJ's functions, by kind; for dense matrices those that it assigns to a product C. */
static PetscErrorCode (*aij_mult[BLOCK])(Mat, Vec, Vec), (*aij_add[BLOCK])(Mat, Vec, Vec, Vec);
static PetscErrorCode (*aij_symbolic[WAYS])(Mat), (*aij_numeric[WAYS])(Mat);
static PetscLogEvent prepare_event;

static int is_auto(void) {
    return strcmp(kernel, "auto") == 0;
}

/* ---- the plan ------------------------------------------------------------------------------- */

static void forget_plan(product *p, way *w) {
    spmv_plan_free(w->plan);
    w->plan = NULL;
    for (int k = 0; k < WAYS; k++)
        if (p->by[k].plan) return;
    spmv_mat_free(p->mat);
    p->mat = NULL;
}

static void forget_plans(product *p) {
    for (int k = 0; k < WAYS; k++) forget_plan(p, &p->by[k]);
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
                            .flags = SPMV_BORROW}; /* a replaced array means a new pattern */
    PetscFunctionReturn(0);
}

static spmv_status make_plan(product *p, way *w) {
    const PetscInt64 calls = w->count / w->vectors;
    const spmv_plan_opts opts = {.size = sizeof opts,
                                 .kernel = kernel,
                                 .expected_calls = is_auto() ? PetscMax(calls, 1) : 0,
                                 .refill = p->refill,
                                 .op = op_of[w - p->by],
                                 .vectors = w->vectors,
                                 .layout = SPMV_COLUMNS};
    return spmv_plan_create(p->mat, &opts, &w->plan);
}

/* Creates the matrix again, and the plans that existed. Plans that cannot be created are left
 * out. */
static spmv_status renew(product *p, const spmv_arrays *arrays) {
    int had[WAYS];
    for (int k = 0; k < WAYS; k++) had[k] = p->by[k].plan != NULL;
    forget_plans(p);
    spmv_status status = spmv_mat_create(ctx, arrays, &p->mat);
    for (int k = 0; k < WAYS && status == SPMV_OK; k++)
        if (had[k]) make_plan(p, &p->by[k]);
    p->current = PETSC_TRUE;
    return status;
}

/* Writes the matrix's values into the plans. */
static PetscErrorCode write_values(Mat A, product *p, spmv_status *status) {
    const PetscScalar *values;
    PetscFunctionBegin;
    PetscCall(MatSeqAIJGetArrayRead(A, &values));
    *status = spmv_mat_set_values(p->mat, values, SPMV_HOST, NULL);
    PetscCall(MatSeqAIJRestoreArrayRead(A, &values));
    PetscCheck(*status == SPMV_OK || *status == SPMV_E_UNSUITABLE, PETSC_COMM_SELF, PETSC_ERR_LIB,
               "%s", spmv_ctx_error(ctx));
    p->current = *status == SPMV_OK ? PETSC_TRUE : PETSC_FALSE;
    PetscFunctionReturn(0);
}

/* Creates the plan of one kind, for the current values of A. */
static PetscErrorCode make(Mat A, product *p, way *w, spmv_status *status) {
    spmv_arrays arrays;
    PetscFunctionBegin;
    PetscCall(arrays_of(A, &arrays));
    p->nnz = arrays.nnz;
    forget_plan(p, w);
    *status = SPMV_OK;
    if (p->mat && !p->current) PetscCall(write_values(A, p, status));
    if (*status != SPMV_OK) p->refill = 1;
    if (*status != SPMV_OK || !p->mat) *status = renew(p, &arrays);
    if (*status == SPMV_OK) *status = make_plan(p, w);
    if (*status != SPMV_OK) forget_plan(p, w);
    PetscFunctionReturn(0);
}

/* Creates a plan and reports it. If no kernel can hold the matrix, SEQAIJ's product remains in use;
 * an unknown name of a kernel is an error. */
static PetscErrorCode prepare(Mat A, product *p, way *w) {
    spmv_plan_facts facts = {.size = sizeof facts};
    spmv_status status;
    PetscLogDouble start, end;
    PetscFunctionBegin;
    PetscCall(PetscLogEventBegin(prepare_event, A, 0, 0, 0));
    PetscCall(PetscTime(&start));
    PetscCall(make(A, p, w, &status));
    PetscCall(PetscTime(&end));
    PetscCall(PetscLogEventEnd(prepare_event, A, 0, 0, 0));
    PetscCheck(status != SPMV_E_ARG, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", spmv_ctx_error(ctx));
    w->tried = is_auto() ? 0 : TRIAL;
    w->plan_s = PETSC_MAX_REAL;
    w->prepare_s = end - start;
    p->refill_s = 0; /* unknown until measured */
    if (w->plan) spmv_plan_info(w->plan, &facts);
    PetscCall(PetscInfo(A, "%s, threads: %d: %s%s (%g s after %" PetscInt64_FMT " products)\n",
                        w->plan ? facts.kernel : MATSEQAIJ, w->plan ? facts.threads : 1,
                        said_of[w - p->by],
                        w->plan ? facts.reason ? facts.reason : "named" : spmv_ctx_error(ctx),
                        end - start, w->count));
    PetscFunctionReturn(0);
}

/* Writes the matrix's values into the plans. If one plan cannot take new values, all are created
 * again for values that change, as soon as that pays. */
static PetscErrorCode refill(Mat A, product *p) {
    spmv_status status;
    spmv_arrays arrays;
    PetscLogDouble start, end;
    PetscFunctionBegin;
    PetscCall(PetscTime(&start));
    PetscCall(write_values(A, p, &status));
    PetscCall(PetscTime(&end));
    p->refill_s = is_auto() ? end - start : 0;
    PetscCall(PetscInfo(A, "new values: %s (%g s)\n", p->current ? "written" : spmv_ctx_error(ctx),
                        end - start));
    if (p->current) PetscFunctionReturn(0);
    const int known = p->refill;
    p->refill = 1;
    for (int k = 0; k < WAYS; k++)
        if (p->by[k].plan) p->refill_s += p->by[k].prepare_s;
    if (!known && is_auto()) PetscFunctionReturn(0);
    PetscCall(arrays_of(A, &arrays));
    status = renew(p, &arrays);
    PetscCheck(status == SPMV_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", spmv_ctx_error(ctx));
    p->refill_s = 0;
    for (int k = 0; k < WAYS; k++)
        if (is_auto()) p->by[k].tried = 0, p->by[k].plan_s = PETSC_MAX_REAL;
    PetscFunctionReturn(0);
}

static int is_time_to_prepare(const way *w) {
    if (w->prepared == PREPARATIONS) return 0;
    if (!is_auto()) return 1;
    if (w->prepared > 0) return w->count >= much_more * w->prepared_at;
    return w->count >= least_count && (PetscLogDouble)w->count * w->aij_s >= least_s;
}

/* ---- a matrix's product --------------------------------------------------------------------- */

static PetscErrorCode product_free(void *memory) {
    PetscFunctionBegin;
    forget_plans(memory);
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

/* Finds or creates the matrix's product, and updates it for changes since the last product. */
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
        forget_plans(p);
        *p = (product){.owner = A};
        for (int k = 0; k < WAYS; k++) p->by[k].aij_s = PETSC_MAX_REAL;
    } else if (p->values != values) {
        p->current = PETSC_FALSE;
        p->missed_s = 0;
    }
    p->pattern = pattern;
    p->values = values;
    *out = p;
    PetscFunctionReturn(0);
}

static PetscErrorCode multiply_by_aij(Mat A, const job *j) {
    PetscFunctionBegin;
    if (j->C)
        PetscCall(aij_numeric[j->way](j->C));
    else if (j->y)
        PetscCall(aij_add[j->way](A, j->x, j->y, j->z));
    else
        PetscCall(aij_mult[j->way](A, j->x, j->z));
    PetscFunctionReturn(0);
}

static PetscErrorCode multiply_vector(const spmv_plan *plan, const job *j) {
    const PetscScalar *x_at;
    PetscScalar *z_at;
    PetscFunctionBegin;
    if (j->y && j->y != j->z) PetscCall(VecCopy(j->y, j->z));
    PetscCall(VecGetArrayRead(j->x, &x_at));
    if (j->y)
        PetscCall(VecGetArray(j->z, &z_at));
    else
        PetscCall(VecGetArrayWrite(j->z, &z_at));
    const spmv_status status = spmv_exec(plan, 1.0, x_at, j->y ? 1.0 : 0.0, z_at);
    PetscCheck(status == SPMV_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", spmv_ctx_error(ctx));
    if (j->y)
        PetscCall(VecRestoreArray(j->z, &z_at));
    else
        PetscCall(VecRestoreArrayWrite(j->z, &z_at));
    PetscCall(VecRestoreArrayRead(j->x, &x_at));
    PetscFunctionReturn(0);
}

/* Multiplies all columns of a dense matrix at once, in place. */
static PetscErrorCode multiply_dense(const spmv_plan *plan, const job *j) {
    const PetscScalar *x_at;
    PetscScalar *z_at;
    PetscInt ldx, ldz;
    PetscFunctionBegin;
    PetscCall(MatDenseGetLDA(j->B, &ldx));
    PetscCall(MatDenseGetLDA(j->C, &ldz));
    PetscCall(MatDenseGetArrayRead(j->B, &x_at));
    PetscCall(MatDenseGetArrayWrite(j->C, &z_at));
    const spmv_call call = {.size = sizeof call,
                            .x = x_at,
                            .z = z_at,
                            .k = j->k,
                            .ldx = ldx,
                            .ldz = ldz,
                            .layout = SPMV_COLUMNS};
    const spmv_status status = spmv_apply(plan, &call, NULL);
    PetscCheck(status == SPMV_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", spmv_ctx_error(ctx));
    PetscCall(MatDenseRestoreArrayWrite(j->C, &z_at));
    PetscCall(MatDenseRestoreArrayRead(j->B, &x_at));
    PetscFunctionReturn(0);
}

static PetscErrorCode multiply_by_plan(const product *p, const job *j) {
    PetscFunctionBegin;
    if (j->C)
        PetscCall(multiply_dense(p->by[j->way].plan, j));
    else
        PetscCall(multiply_vector(p->by[j->way].plan, j));
    PetscCall(PetscLogFlops(2.0 * (PetscLogDouble)p->nnz * (PetscLogDouble)j->k));
    PetscFunctionReturn(0);
}

static PetscErrorCode try_aij(Mat A, product *p, const job *j) {
    way *w = &p->by[j->way];
    PetscLogDouble start, end;
    PetscFunctionBegin;
    PetscCall(PetscTime(&start));
    PetscCall(multiply_by_aij(A, j));
    PetscCall(PetscTime(&end));
    w->aij_s = PetscMin(w->aij_s, (end - start) / (PetscLogDouble)j->k);
    if (w->plan) p->missed_s += end - start - (w->tried ? w->plan_s * (PetscLogDouble)j->k : 0);
    PetscFunctionReturn(0);
}

/* Runs and times a product of the plan. After the last trial frees the plan if SEQAIJ's product is
 * faster. */
static PetscErrorCode try_plan(Mat A, product *p, const job *j) {
    way *w = &p->by[j->way];
    PetscLogDouble start, end;
    PetscFunctionBegin;
    PetscCall(PetscTime(&start));
    PetscCall(multiply_by_plan(p, j));
    PetscCall(PetscTime(&end));
    w->plan_s = PetscMin(w->plan_s, (end - start) / (PetscLogDouble)j->k);
    if (++w->tried < TRIAL) PetscFunctionReturn(0);
    PetscCall(PetscInfo(A, "a product takes %g s, SEQAIJ's %g s\n", w->plan_s, w->aij_s));
    if (w->plan_s > w->aij_s) forget_plan(p, w);
    PetscFunctionReturn(0);
}

static PetscErrorCode multiply(Mat A, const job *j) {
    product *p = NULL;
    PetscFunctionBegin;
    PetscCall(product_of(A, &p));
    way *w = &p->by[j->way];
    if (is_time_to_prepare(w)) {
        w->vectors = j->k;
        PetscCall(prepare(A, p, w));
        w->prepared = is_auto() ? w->prepared + 1 : PREPARATIONS;
        w->prepared_at = w->count;
    }
    w->count += j->k;
    if (w->plan && !p->current && p->missed_s >= p->refill_s) PetscCall(refill(A, p));
    if (w->plan && p->current) {
        if (w->tried < TRIAL)
            PetscCall(try_plan(A, p, j));
        else
            PetscCall(multiply_by_plan(p, j));
    } else if (!w->plan && w->prepared == PREPARATIONS)
        PetscCall(multiply_by_aij(A, j));
    else
        PetscCall(try_aij(A, p, j));
    PetscFunctionReturn(0);
}

/* Kind of a transposed product of one vector: not transposed if the matrix is known to be
 * symmetric. */
static PetscErrorCode transposed_way(Mat A, int *out) {
    PetscBool is_known, is_symmetric;
    PetscFunctionBegin;
    PetscCall(MatIsSymmetricKnown(A, &is_known, &is_symmetric));
    *out = is_known && is_symmetric ? ONE : ONE_TRANSPOSED;
    PetscFunctionReturn(0);
}

static PetscErrorCode mult(Mat A, Vec x, Vec z) {
    PetscFunctionBegin;
    PetscCall(multiply(A, &(job){.way = ONE, .x = x, .z = z, .k = 1}));
    PetscFunctionReturn(0);
}

static PetscErrorCode mult_add(Mat A, Vec x, Vec y, Vec z) {
    PetscFunctionBegin;
    PetscCall(multiply(A, &(job){.way = ONE, .x = x, .y = y, .z = z, .k = 1}));
    PetscFunctionReturn(0);
}

static PetscErrorCode mult_transpose(Mat A, Vec x, Vec z) {
    job j = {.x = x, .z = z, .k = 1};
    PetscFunctionBegin;
    PetscCall(transposed_way(A, &j.way));
    PetscCall(multiply(A, &j));
    PetscFunctionReturn(0);
}

static PetscErrorCode mult_transpose_add(Mat A, Vec x, Vec y, Vec z) {
    job j = {.x = x, .y = y, .z = z, .k = 1};
    PetscFunctionBegin;
    PetscCall(transposed_way(A, &j.way));
    PetscCall(multiply(A, &j));
    PetscFunctionReturn(0);
}

/* ---- products with a dense matrix ------------------------------------------------------------ */

/* Describes a product C that SEQAIJ has set up. j->way is WAYS for kinds that are left to
 * SEQAIJ. */
static PetscErrorCode describe(Mat C, Mat *A, job *j) {
    MatProductType type;
    PetscFunctionBegin;
    PetscCall(MatProductGetMats(C, A, &j->B, NULL));
    PetscCall(MatProductGetType(C, &type));
    j->C = C;
    j->way = type == MATPRODUCT_AB ? BLOCK : type == MATPRODUCT_AtB ? BLOCK_TRANSPOSED : WAYS;
    PetscFunctionReturn(0);
}

static PetscErrorCode numeric(Mat C) {
    Mat A;
    job j = {.way = WAYS};
    PetscFunctionBegin;
    PetscCall(describe(C, &A, &j));
    PetscCall(MatGetSize(C, NULL, &j.k));
    if (j.k > 0) PetscCall(multiply(A, &j));
    PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* Lets SEQAIJ create C, and stores SEQAIJ's numeric function. */
static PetscErrorCode symbolic(Mat C) {
    Mat A;
    job j = {.way = WAYS};
    PetscFunctionBegin;
    PetscCall(describe(C, &A, &j));
    PetscCall(aij_symbolic[j.way](C));
    PetscCall(MatGetOperation(C, MATOP_PRODUCTNUMERIC, (operation *)&aij_numeric[j.way]));
    PetscCall(MatSetOperation(C, MATOP_PRODUCTNUMERIC, (operation)numeric));
    PetscFunctionReturn(0);
}

static PetscErrorCode set_product(Mat C) {
    PetscErrorCode (*of_aij)(Mat);
    Mat A;
    job j = {.way = WAYS};
    PetscFunctionBegin;
    PetscCall(describe(C, &A, &j));
    PetscCall(PetscObjectQueryFunction((PetscObject)j.B, AIJ_TIMES_DENSE, &of_aij));
    if (!of_aij) PetscFunctionReturn(0);
    PetscCall(of_aij(C));
    if (j.way == WAYS) PetscFunctionReturn(0);
    PetscCall(MatGetOperation(C, MATOP_PRODUCTSYMBOLIC, (operation *)&aij_symbolic[j.way]));
    if (aij_symbolic[j.way])
        PetscCall(MatSetOperation(C, MATOP_PRODUCTSYMBOLIC, (operation)symbolic));
    PetscFunctionReturn(0);
}

/* ---- the type ------------------------------------------------------------------------------- */

static const struct replaced {
    MatOperation op;
    operation *aij, ours; /* aij: SEQAIJ's function, stored at registration */
} replaced[] = {
    {MATOP_MULT, (operation *)&aij_mult[ONE], (operation)mult},
    {MATOP_MULT_ADD, (operation *)&aij_add[ONE], (operation)mult_add},
    {MATOP_MULT_TRANSPOSE, (operation *)&aij_mult[ONE_TRANSPOSED], (operation)mult_transpose},
    {MATOP_MULT_TRANSPOSE_ADD, (operation *)&aij_add[ONE_TRANSPOSED],
     (operation)mult_transpose_add}};
enum { REPLACED = sizeof replaced / sizeof *replaced };

/* Copies A to *out as the reuse argument requires, with A's type. */
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
    for (int k = 0; k < REPLACED; k++)
        PetscCall(MatSetOperation(*out, replaced[k].op, *replaced[k].aij));
    PetscCall(PetscObjectCompose((PetscObject)*out, KEY, NULL));
    PetscCall(PetscObjectComposeFunction((PetscObject)*out, TO_SEQAIJ, NULL));
    PetscCall(PetscObjectComposeFunction((PetscObject)*out, TIMES_DENSE, NULL));
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
    for (int k = 0; k < REPLACED; k++) {
        if (!*replaced[k].aij) PetscCall(MatGetOperation(*out, replaced[k].op, replaced[k].aij));
        PetscCall(MatSetOperation(*out, replaced[k].op, replaced[k].ours));
    }
    PetscCall(PetscObjectComposeFunction((PetscObject)*out, TO_SEQAIJ, to_seqaij));
    PetscCall(PetscObjectComposeFunction((PetscObject)*out, TIMES_DENSE, set_product));
    PetscCall(PetscObjectChangeTypeName((PetscObject)*out, TYPE));
    PetscFunctionReturn(0);
}

/* Creates an empty matrix. With -mat_seqaij_type PETSc converts inside MatSetType. */
static PetscErrorCode create(Mat A) {
    PetscFunctionBegin;
    PetscCall(MatSetType(A, MATSEQAIJ));
    PetscCall(to_spmv(A, TYPE, MAT_INPLACE_MATRIX, &A));
    PetscFunctionReturn(0);
}

/* ---- the library in PETSc ------------------------------------------------------------------- */

/* Counts the ranks of this node, this one included, whose allowed CPUs overlap those of this
 * rank. */
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

/* Opens the context. Ranks divide the cores that they share; OMP_NUM_THREADS applies to each
 * rank. */
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

/* PETSc looks up this name in a file libspmv_petsc.so. */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_spmv_petsc(void);
PetscErrorCode PetscDLLibraryRegister_spmv_petsc(void) {
    PetscFunctionBegin;
    PetscCall(MatRegister(TYPE, create));
    /* for the blocks of several ranks */
    PetscCall(MatRegisterRootName("aijspmv", TYPE, MATMPIAIJ));
    PetscCall(MatSeqAIJRegister(TYPE, to_spmv));
    PetscCall(PetscLogEventRegister("MatSpmvPrepare", MAT_CLASSID, &prepare_event));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-mat_spmv_kernel", kernel, sizeof kernel, NULL));
    PetscCall(open_context());
    PetscCall(PetscRegisterFinalize(close_context));
    PetscFunctionReturn(0);
}
