/* bicgstab_gpu.cu: solves A x = b on a GPU by BiCGStab, for matrices that are not symmetric, with
 * Jacobi's preconditioner from the right as an option. b is such that every entry of x is 1. An
 * iteration is two products, which make their sums, and three kernels; one graph holds the loop.
 *
 *     bicgstab_gpu [-j] [MATRIX [KERNEL [TOLERANCE [MOST]]]]
 *
 *     nvcc -std=c++17 -O3 -arch=native bicgstab_gpu.cu -lspmv -o bicgstab_gpu */
#include "loop_gpu.cuh"

typedef struct state {       /* in device memory */
    double shadow_v, st, tt; /* dot products */
    double rho, rr, alpha, omega, beta, limit;
    int iterations, most;
    end status;
    sums_room room;
} state;

typedef struct bicgstab {
    const problem *of;
    int64_t n;
    const double *b, *inverse;
    double *x, *r, *shadow, *p, *v, *t; /* r is also s, half-way */
    double *p_hat, *s_hat;              /* factors of the two products with A: p and r, after Jacobi
                                           preconditioning if it is on */
    state *s;
    double tolerance;
} bicgstab;

/* r is b - A x. */
static __global__ void begin(bicgstab c) {
    double rr = 0, bb = 0;
    begin_early();
    for_rows(
        c.n,
        [&](int64_t i) {
            return double2{c.r[i], c.b[i]};
        },
        [&](int64_t i, double2 of) {
            c.p[i] = c.shadow[i] = of.x;
            if (c.inverse) c.p_hat[i] = c.inverse[i] * of.x;
            rr += of.x * of.x;
            bb += of.y * of.y;
        });
    if (!add_grid(&c.s->room, &rr, &bb)) return;
    c.s->rho = c.s->rr = rr;
    c.s->limit = c.tolerance * c.tolerance * bb;
    c.s->iterations = 0;
    c.s->status = !(isfinite(rr) && isfinite(bb)) ? NOT_A_NUMBER
                  : rr <= c.s->limit              ? CONVERGED
                                                  : RUNNING;
}

/* s = r - alpha v, in the place of r. */
static __global__ void __launch_bounds__(THREADS, RESIDENT) half_way(bicgstab c) {
    state *s = c.s;
    double ss = 0, unused = 0;
    begin_early();
    const double alpha = s->rho / s->shadow_v;
    if (s->status != RUNNING) {
        if (blockIdx.x == 0 && threadIdx.x == 0) s->alpha = 0;
        return;
    }
    if (!isfinite(alpha) || alpha == 0) { /* all threads see the same */
        if (add_grid(&s->room, &ss, &unused)) {
            s->alpha = 0;
            s->status = s->shadow_v == s->shadow_v && s->rho == s->rho ? BROKEN_DOWN : NOT_A_NUMBER;
        }
        return;
    }
    for_rows(
        c.n,
        [&](int64_t i) {
            return double3{c.r[i], c.v[i], c.inverse ? c.inverse[i] : 0};
        },
        [&](int64_t i, double3 of) {
            const double now = of.x - alpha * of.y;
            c.r[i] = now;
            if (c.inverse) c.s_hat[i] = of.z * now;
            ss += now * now;
        });
    if (!add_grid(&s->room, &ss, &unused)) return;
    s->alpha = alpha;
    s->rr = ss;
    if (!(ss == ss)) s->status = NOT_A_NUMBER, s->alpha = 0;
    if (ss <= s->limit) s->status = CONVERGED; /* x still gets alpha p */
}

/* x += alpha p + omega s, r = s - omega t, with r'r and the shadow's sum on the way. */
static __global__ void __launch_bounds__(THREADS, RESIDENT)
    update_x_r(bicgstab c, cudaGraphConditionalHandle goes_on) {
    state *s = c.s;
    double rr = 0, rho = 0;
    begin_early();
    const bool is_running = s->status == RUNNING;
    const double alpha = s->alpha, ratio = s->st / s->tt,
                 omega = is_running && isfinite(ratio) ? ratio : 0;
    if (alpha == 0) {
        if (blockIdx.x == 0 && threadIdx.x == 0) cudaGraphSetConditional(goes_on, 0);
        return;
    }
    typedef struct row {
        double x, p, s_hat, r, t, shadow;
    } row;
    for_rows<2>(/* more would not fit the registers */
                c.n,
                [&](int64_t i) {
                    return row{c.x[i], c.p_hat[i], c.s_hat[i], c.r[i], c.t[i], c.shadow[i]};
                },
                [&](int64_t i, const row &of) {
                    const double now = of.r - omega * of.t;
                    c.x[i] = of.x + alpha * of.p + omega * of.s_hat;
                    c.r[i] = now;
                    rr += now * now;
                    rho += now * of.shadow;
                });
    if (!add_grid(&s->room, &rr, &rho)) return;
    const int done = ++s->iterations;
    if (is_running)
        s->status = !(rr == rr)       ? NOT_A_NUMBER
                    : rr <= s->limit  ? CONVERGED
                    : omega == 0      ? BROKEN_DOWN
                    : done >= s->most ? TOO_MANY
                                      : RUNNING;
    s->rr = rr;
    s->beta = rho / s->rho * (alpha / omega);
    s->omega = omega;
    s->rho = rho;
    if (s->status != RUNNING) cudaGraphSetConditional(goes_on, 0);
}

/* p = r + beta (p - omega v): the last rows first, as the caches still have what was written
 * last. */
static __global__ void __launch_bounds__(THREADS, RESIDENT) update_p(bicgstab c) {
    const state *s = c.s;
    const int64_t last = c.n - 1;
    begin_early();
    const double beta = s->beta, omega = s->omega;
    if (s->status != RUNNING) return;
    for_rows(
        c.n,
        [&](int64_t k) {
            return double3{c.r[last - k], c.p[last - k], c.v[last - k]};
        },
        [&](int64_t k, double3 of) {
            const double now = of.x + beta * (of.y - omega * of.z);
            c.p[last - k] = now;
            if (c.inverse) c.p_hat[last - k] = c.inverse[last - k] * now;
        });
}

/* z = A x, with w'z, and z'z unless that is NULL. */
static void multiply(const bicgstab *c, const double *x, double *z, const double *w, double *wz,
                     double *zz, cudaStream_t stream) {
    spmv_call call = SPMV_OPTS(spmv_call);
    call.x = x, call.z = z, call.w = w;
    call.dot_wz = wz, call.dot_zz = zz;
    check(c->of->ctx, spmv_apply(c->of->plan, &call, stream));
}

static void first(const void *solver, cudaStream_t stream) {
    const bicgstab *c = (const bicgstab *)solver;
    const double minus = -1, one = 1;
    spmv_call call = SPMV_OPTS(spmv_call);
    call.alpha = &minus, call.beta = &one;
    call.x = c->x, call.y = c->b, call.z = c->r;
    check(c->of->ctx, spmv_apply(c->of->plan, &call, stream));
    launch_early(begin, blocks_of(c->n), stream, *c);
}

static void iterate(const void *solver, cudaGraphConditionalHandle goes_on, cudaStream_t stream) {
    const bicgstab *c = (const bicgstab *)solver;
    const unsigned blocks = blocks_of(c->n);
    multiply(c, c->p_hat, c->v, c->shadow, &c->s->shadow_v, NULL, stream);
    launch_early(half_way, blocks, stream, *c);
    multiply(c, c->s_hat, c->t, c->r, &c->s->st, &c->s->tt, stream);
    launch_early(update_x_r, blocks, stream, *c, goes_on);
    launch_early(update_p, blocks, stream, *c);
}

static bicgstab make(const problem *of, double tolerance, int most) {
    bicgstab c = {};
    c.of = of, c.n = of->n, c.b = of->b, c.inverse = of->inverse, c.x = of->x;
    c.r = vector_there(of), c.shadow = vector_there(of), c.p = vector_there(of);
    c.v = vector_there(of), c.t = vector_there(of);
    c.p_hat = c.inverse ? vector_there(of) : c.p;
    c.s_hat = c.inverse ? vector_there(of) : c.r;
    c.tolerance = tolerance;
    CUDA(cudaMalloc((void **)&c.s, sizeof *c.s));
    CUDA(cudaMemset(c.s, 0, sizeof *c.s));
    CUDA(cudaMemcpy(&c.s->most, &most, sizeof most, cudaMemcpyHostToDevice));
    multiply(&c, c.p_hat, c.v, c.shadow, &c.s->shadow_v, NULL, NULL); /* allocates, once */
    CUDA(cudaDeviceSynchronize());
    return c;
}

static void free_all(bicgstab *c) {
    if (c->inverse) cudaFree(c->p_hat), cudaFree(c->s_hat);
    cudaFree(c->r), cudaFree(c->shadow), cudaFree(c->p), cudaFree(c->v), cudaFree(c->t);
    cudaFree(c->s);
}

int main(int argc, char **argv) {
    const arguments a = arguments_of(argc, argv, "gen:poisson3d:64");
    problem p = problem_of(a.path, a.kernel, a.has_jacobi, 1000);
    bicgstab solver = make(&p, a.tolerance, a.most);
    loop l = loop_make(first, iterate, &solver);
    state result;

    CUDA(cudaMemset(p.x, 0, (size_t)p.n * sizeof *p.x));
    CUDA(cudaDeviceSynchronize());
    const double seconds = loop_run(&l);
    CUDA(cudaMemcpy(&result, solver.s, sizeof result, cudaMemcpyDeviceToHost));
    const double relative = a.tolerance * sqrt(result.rr / result.limit);
    const int code = report(&p, result.status, result.iterations, relative, seconds);

    loop_free(&l), free_all(&solver), problem_free(&p);
    return code;
}
