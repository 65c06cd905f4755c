/* scene.h: a small matrix with a plan, vectors and a product, for tests of measuring. */
#ifndef SPMV_TEST_SCENE_H
#define SPMV_TEST_SCENE_H

#include "testing.h"
#include "context.h"

enum { ROWS = 200, COLS = 150 };

typedef struct scene { /* a plan and vectors for it */
    spmv_mat *mat;
    spmv_plan *plan;
    double x[COLS], y[ROWS], once[ROWS]; /* once: A x */
} scene;

static inline scene scene_of(const char *kernel) {
    scene s;
    FREED(entries) e = {.rows = ROWS, .cols = COLS};
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t k = 0; k < 1 + i % 7; k++) add_random(&e, i, (i * 13 + k * 17) % COLS);
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = kernel, .expected_calls = 1000000000};
    s.mat = matrix_of(ctx, &e);
    assert_int_equal(spmv_plan_create(s.mat, &opts, &s.plan), SPMV_OK);
    for (int j = 0; j < COLS; j++) s.x[j] = random_entry(5, (uint64_t)j);
    for (int i = 0; i < ROWS; i++) s.y[i] = NAN;
    assert_int_equal(spmv_exec(s.plan, 1, s.x, 0, s.once), SPMV_OK);
    return s;
}

static inline void scene_close(scene *s) {
    spmv_plan_free(s->plan);
    spmv_mat_free(s->mat);
}

STRUCT_AT_END(scene, scene_close)
STRUCT_AT_END(problem, problem_close)
#endif
