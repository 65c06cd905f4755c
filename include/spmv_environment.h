/* spmv_environment.h: the default floating-point environment for calls that prepare, read or write,
 * because their results must not depend on traps, flushing of subnormal numbers or rounding modes
 * set by the caller. Products keep the caller's environment. */
#ifndef SPMV_ENVIRONMENT_H
#define SPMV_ENVIRONMENT_H

/* Put this at the beginning of a public function. Until the function returns, the calling thread
 * has the default environment: no traps, subnormal numbers, rounding to nearest. On return the
 * caller's environment and exception flags are restored. Such functions may call each other. */
#define SPMV_DEFAULT_ENVIRONMENT \
    const int environment_ __attribute__((cleanup(spmv_environment_leave), unused)) = \
        spmv_environment_enter()

int spmv_environment_enter(void); /* returns 0 */
void spmv_environment_leave(const int *unused);
/* Gives the default environment to the calling thread's team of that size, too, until the function
 * with SPMV_DEFAULT_ENVIRONMENT returns. No effect outside such functions. */
void spmv_environment_of_team(int threads);

#endif
