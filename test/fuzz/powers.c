/* powers.c: replaces spmv_powers_init in the targets (-Wl,--wrap): they read millions of small
 * files, and computing the constant powers of ten would take a third of the time. */
#include "io/io.h"

void __real_spmv_powers_init(spmv_powers *powers);
void __wrap_spmv_powers_init(spmv_powers *powers);

void __wrap_spmv_powers_init(spmv_powers *powers) {
    static spmv_powers all;
    static bool made;
    if (!made) __real_spmv_powers_init(&all);
    made = true;
    *powers = all;
}
