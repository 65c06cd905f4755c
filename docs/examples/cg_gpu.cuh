/* cg_gpu.cuh: conjugate gradients on a GPU, with Jacobi's preconditioner as an option. An iteration
 * is a product, which makes p'Ap, and two kernels. Scalars never leave the device, and a graph goes
 * on until a kernel sees that it is done: the host launches once and waits once. */
#ifndef CG_GPU_CUH
#define CG_GPU_CUH

#include "loop_gpu.cuh"

typedef struct cg_state {      /* in device memory */
    double pq;                 /* p'Ap, of the product */
    double rho, rr;            /* r'z, z being r or what Jacobi makes of it; r'r */
    double alpha, beta, limit; /* limit: of r'r */
    int iterations, most;
    end status;
    sums_room room;
} cg_state;

typedef struct cg {
    const problem *of;
    int64_t n;
    const double *b, *inverse; /* inverse: of the diagonal, or NULL */
    double *x, *r, *p, *q;
    cg_state *state;
    double tolerance; /* relative: |r| / |b| */
    double *residual; /* [most] r'r of every iteration, or NULL */
    bool is_timed;    /* only the limit of iterations ends it, whatever the matrix is */
} cg;

/* ---- what cg_in_one (cg_small_gpu.cuh) does, too: solver is cg or cg_small ------------------- */

/* p = z, where r is b - A x: a thread's parts of r'z and b'b. */
template <int AT_A_TIME, class solver>
static __device__ inline void cg_begin_p(const solver &c, double *rho, double *bb) {
    for_rows<AT_A_TIME>(
        c.n,
        [&](int64_t i) {
            return double2{c.r[i], c.b[i]};
        },
        [&](int64_t i, double2 of) {
            const double z = c.inverse ? c.inverse[i] * of.x : of.x;
            c.p[i] = z;
            *rho += of.x * z;
            *bb += of.y * of.y;
        });
}

/* Returns how it stands at the beginning: infinite sums would pass for small ones. */
static __device__ inline end cg_first_end(bool is_timed, double rho, double bb) {
    return is_timed || (isfinite(rho) && isfinite(bb)) ? RUNNING : NOT_A_NUMBER;
}

/* r -= alpha q: a thread's parts of r'r and r'z. */
template <int AT_A_TIME, class solver>
static __device__ inline void cg_step_r(const solver &c, double alpha, double *rr, double *rho) {
    for_rows<AT_A_TIME>(
        c.n,
        [&](int64_t i) {
            return double3{c.r[i], c.q[i], c.inverse ? c.inverse[i] : 1};
        },
        [&](int64_t i, double3 of) {
            const double now = of.x - alpha * of.y;
            c.r[i] = now;
            *rr += now * now;
            *rho += now * now * of.z;
        });
}

/* Returns the state after `done` iterations. */
static __device__ inline end cg_end(bool is_timed, double pq, double rr, double limit, int done,
                                    int most) {
    return is_timed                     ? (done >= most ? TOO_MANY : RUNNING)
           : !(pq == pq) || !(rr == rr) ? NOT_A_NUMBER
           : rr <= limit                ? CONVERGED
           : !(pq > 0)                  ? INDEFINITE
           : done >= most               ? TOO_MANY
                                        : RUNNING;
}

/* ---- the kernels ----------------------------------------------------------------------------- */

/* r is b - A x: p = z. The limit comes from b'b. */
static __global__ void cg_first(cg c) {
    double rho = 0, bb = 0;
    begin_early();
    cg_begin_p<SOME>(c, &rho, &bb);
    if (!add_grid(&c.state->room, &rho, &bb)) return;
    cg_state *s = c.state;
    s->rho = rho;
    s->limit = c.tolerance * c.tolerance * bb;
    s->iterations = 0;
    s->status = cg_first_end(c.is_timed, rho, bb);
    s->rr = rho;
}

/* r -= alpha q, with r'r and r'z on the way. */
static __global__ void __launch_bounds__(THREADS, RESIDENT)
    cg_update_r(cg c, cudaGraphConditionalHandle goes_on) {
    cg_state *s = c.state;
    double rho = 0, rr = 0;
    begin_early();
    const double pq = s->pq, before = s->rho, alpha = pq > 0 || c.is_timed ? before / pq : 0;
    if (s->status != RUNNING) {
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            s->alpha = 0; /* x and p stay as they are */
            cudaGraphSetConditional(goes_on, 0);
        }
        return;
    }
    cg_step_r<SOME>(c, alpha, &rr, &rho);
    if (!add_grid(&s->room, &rr, &rho)) return;
    const int done = ++s->iterations;
    const end status = cg_end(c.is_timed, pq, rr, s->limit, done, s->most);
    if (c.residual) c.residual[done - 1] = rr;
    s->rr = rr;
    s->rho = rho;
    s->beta = rho / before;
    s->alpha = status == NOT_A_NUMBER ? 0 : alpha;
    s->status = status;
    if (status != RUNNING) cudaGraphSetConditional(goes_on, 0);
}

/* x += alpha p, p = z + beta p: the last rows first, since the caches still have what cg_update_r
 * wrote last. */
static __global__ void __launch_bounds__(THREADS, RESIDENT) cg_update_x_p(cg c) {
    begin_early();
    const double alpha = c.state->alpha, beta = c.state->beta;
    const int64_t last = c.n - 1;
    if (alpha == 0 && !c.is_timed) return;
    for_rows(
        c.n,
        [&](int64_t k) {
            const int64_t i = last - k;
            return double3{c.x[i], c.p[i], c.inverse ? c.inverse[i] * c.r[i] : c.r[i]};
        },
        [&](int64_t k, double3 of) {
            c.x[last - k] = of.x + alpha * of.y;
            c.p[last - k] = of.z + beta * of.y;
        });
}

static inline void cg_multiply(const cg *c, cudaStream_t stream) {
    spmv_call call = SPMV_OPTS(spmv_call);
    call.x = call.w = c->p;
    call.z = c->q;
    call.dot_wz = &c->state->pq; /* an address on the device: nothing is read here */
    check(c->of->ctx, spmv_apply(c->of->plan, &call, stream));
}

static inline void cg_begin(const void *solver, cudaStream_t stream) {
    const cg *c = (const cg *)solver;
    const double minus = -1, one = 1;
    spmv_call call = SPMV_OPTS(spmv_call);
    call.alpha = &minus, call.beta = &one;
    call.x = c->x, call.y = c->b, call.z = c->r;
    check(c->of->ctx, spmv_apply(c->of->plan, &call, stream));
    launch_early(cg_first, blocks_of(c->n), stream, *c);
}

static inline void cg_iterate(const void *solver, cudaGraphConditionalHandle goes_on,
                              cudaStream_t stream) {
    const cg *c = (const cg *)solver;
    cg_multiply(c, stream);
    launch_early(cg_update_r, blocks_of(c->n), stream, *c, goes_on);
    launch_early(cg_update_x_p, blocks_of(c->n), stream, *c);
}

/* most: iterations. */
static inline cg cg_make(const problem *of, double tolerance, int most) {
    cg c = {};
    c.of = of, c.n = of->n, c.b = of->b, c.inverse = of->inverse, c.x = of->x;
    c.r = vector_there(of), c.p = vector_there(of), c.q = vector_there(of);
    c.tolerance = tolerance;
    CUDA(cudaMalloc((void **)&c.state, sizeof *c.state));
    CUDA(cudaMemset(c.state, 0, sizeof *c.state));
    CUDA(cudaMemcpy(&c.state->most, &most, sizeof most, cudaMemcpyHostToDevice));
    cg_multiply(&c, NULL); /* allocates what sums need, once */
    CUDA(cudaDeviceSynchronize());
    return c;
}

static inline void cg_free(cg *c) {
    cudaFree(c->r), cudaFree(c->p), cudaFree(c->q), cudaFree(c->state), cudaFree(c->residual);
}

#endif
