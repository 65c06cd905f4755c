/* solver.h: what a conjugate-gradient solver does on a GPU besides its products: two dots, three
 * updates of vectors, scalars that never leave the device. Of bench/solver.c and the tests of
 * streams. Every function that can fail returns NULL, or what went wrong. */
#ifndef SPMV_TEST_SOLVER_H
#define SPMV_TEST_SOLVER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct solver_scalars { /* in device memory */
    double rho, alpha, beta;
    unsigned done; /* blocks of a dot; 0 between dots */
} solver_scalars;

typedef struct solver { /* state of a solver for A x = b: vectors [n], all in device memory */
    int64_t n;
    const double *b;
    double *x, *r, *p, *q; /* the product of an iteration is q = A p */
    double *partial;
    solver_scalars *scalars;
} solver;

/* b: host memory, [n]. On failure *out is for solver_free. */
const char *solver_make(int64_t n, const double *b, solver *out);
void solver_free(solver *s);

/* Ordered on the stream, a cudaStream_t: x = 0, r = p = b; what follows the product in an
 * iteration. */
const char *solver_restart(const solver *s, void *stream);
const char *solver_step(const solver *s, void *stream);

/* Copies n numbers to host memory. */
const char *solver_fetch(int64_t n, const double *from, double *to);

/* q = A p on the stream, or what went wrong. */
typedef const char *(*solver_product)(const solver *s, void *arg, void *stream);

/* *seconds: of an iteration, the least of several rounds of so many from x = 0 on. product NULL:
 * none. as_graph: a round is recorded once and then replayed. */
const char *solver_time(const solver *s, solver_product product, void *arg, int iterations,
                        bool as_graph, double *seconds);
/* *seconds: of a product between two iterations' other work, median; nothing waits for the host. */
const char *solver_time_product(const solver *s, solver_product product, void *arg,
                                double *seconds);

#ifdef __cplusplus
}
#endif
#endif
