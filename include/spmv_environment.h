/* spmv_environment.h: the floating-point environment of calls that prepare, read or write. A caller
 * may have enabled traps, have subnormal numbers flushed to zero, or round in another direction;
 * what these calls compute must not depend on it. Products keep the caller's environment. */
#ifndef SPMV_ENVIRONMENT_H
#define SPMV_ENVIRONMENT_H

/* Stands at the beginning of a function that callers call. Until the function returns, the calling
 * thread has the default environment: no traps, subnormal numbers, rounding to nearest. Then the
 * caller's environment is back, with the exception flags that it had. Such functions may call each
 * other. */
#define SPMV_DEFAULT_ENVIRONMENT \
    const int environment_ __attribute__((cleanup(spmv_environment_leave), unused)) = \
        spmv_environment_enter()

int spmv_environment_enter(void); /* returns 0 */
void spmv_environment_leave(const int *unused);
/* Gives the default environment to the calling thread's team of that many threads too, until the
 * function with SPMV_DEFAULT_ENVIRONMENT returns; outside such functions it does nothing. */
void spmv_environment_of_team(int threads);

#endif
