/* spmv_param.h: parameters of kernels and formats. params.def names all; a kernel or format lists
 * those that it takes, with their ranges; a choice holds a value of each. */
#ifndef SPMV_PARAM_H
#define SPMV_PARAM_H

#include <stdbool.h>
#include <stdint.h>

#define PARAM(name, ...) SPMV_##name,
typedef enum spmv_param_id {
#include "params.def"
    SPMV_NPARAMS
} spmv_param_id;
#undef PARAM

typedef struct
    /* a parameter as a kernel or format takes it; lists end with SPMV_NO_MORE_PARAMS */
    spmv_param {
    spmv_param_id id;
    int64_t default_value, min, max, multiple; /* values: min..max, divisible by multiple */
    bool power_of_two;                         /* powers of two only, or 0 if min is 0 */
} spmv_param;
#define SPMV_NO_MORE_PARAMS \
    { SPMV_NPARAMS, 0, 0, 0, 1, false }
/* Returns the list, or an empty one for NULL. */
static inline const spmv_param *spmv_param_list(const spmv_param *list) {
    static const spmv_param none = SPMV_NO_MORE_PARAMS;
    return list ? list : &none;
}
static inline bool spmv_param_takes(const spmv_param *p, int64_t value) {
    return value >= p->min && value <= p->max && value % p->multiple == 0 &&
           (!p->power_of_two || (value & (value - 1)) == 0);
}

typedef struct spmv_choice { /* value of each parameter; 0 for those that a kernel does not take */
    int64_t value[SPMV_NPARAMS];
} spmv_choice;

#endif
