/* spmv_sum.h: compensated summation. */
#ifndef SPMV_SUM_H
#define SPMV_SUM_H

#include <math.h>
#include <stdbool.h>

/* Sum of doubles with compensation. A plain sum of ten million equal terms in extended precision is
 * off by a thousand units in the last place of a double; this one is not. */
typedef struct spmv_sum {
    long double whole, lost;
} spmv_sum;
static inline void spmv_sum_add(spmv_sum *s, double term) {
    const long double sum = s->whole + term, added = sum - s->whole;
    s->lost += (s->whole - (sum - added)) + (term - added);
    s->whole = sum;
}
/* Infinity and NaN are not corrected. */
static inline double spmv_sum_total(const spmv_sum *s) {
    const bool is_corrected = isfinite(s->whole) && s->lost != 0; /* keeps -0 */
    return (double)(is_corrected ? s->whole + s->lost : s->whole);
}
#endif
