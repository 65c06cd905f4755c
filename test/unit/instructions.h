/* instructions.h: the vector instruction sets of the processor, for tests that run with each set
 * from ISA_PORTABLE to the best. */
#ifndef SPMV_TEST_INSTRUCTIONS_H
#define SPMV_TEST_INSTRUCTIONS_H

#include "testing.h"
#include "omp/isa.h"

/* Returns the best set of this processor. The first call prints the sets that the processor lacks,
 * which remain untested. */
static inline int64_t best_isa(void) {
    static const char *const names[] = {[ISA_AVX2] = "AVX2", [ISA_AVX512] = "AVX-512"};
    static bool said = false;
    const int64_t best = isa_of_cpu();
    for (int64_t isa = best + 1; isa <= ISA_AVX512 && !said; isa++)
        print_message("not run: %s, which this processor lacks\n", names[isa]);
    said = true;
    return best;
}

#ifdef __x86_64__
/* libgcc's data that __builtin_cpu_supports() reads */
extern struct { unsigned vendor, type, subtype, features; } __cpu_model;

/* Lets the library find no better instructions than these, which this processor has. */
static inline void pretend_isa(int64_t isa) {
    static const unsigned bits[] = {[ISA_AVX2] = 1u << 10, [ISA_AVX512] = 1u << 15};
    for (int64_t k = ISA_AVX2; k <= ISA_AVX512; k++)
        __cpu_model.features = (__cpu_model.features & ~bits[k]) | (k <= isa ? bits[k] : 0);
    __asm__ volatile(
        "" ::
            : "memory"); /* the compiler takes its own __cpu_model for another object */
    assert_int_equal(isa_of_cpu(), isa);
}
#else
static inline void pretend_isa(int64_t isa) {
    (void)isa;
}
#endif

/* Returns a plan of that kernel with these vector instructions. */
static inline spmv_plan *plan_with_isa(spmv_mat *mat, const char *kernel, spmv_precision precision,
                                       int64_t isa) {
    const spmv_setting setting = {"isa", isa};
    spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = kernel, .precision = precision,
                               .settings = &setting, .nsettings = 1);
    return must_plan(mat, &opts);
}
#endif
