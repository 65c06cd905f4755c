/* noise.h: what else the machine did while a kernel was timed. */
#ifndef SPMV_NOISE_H
#define SPMV_NOISE_H

#include <stdbool.h>

typedef struct noise {       /* counters; a difference of two says what happened between */
    double wall_s, cpu_s;    /* cpu: of this process */
    double waited_s;         /* by its threads, for a core */
    double busy_s, stolen_s; /* of all processors, by all; by other machines of the host */
} noise;
noise noise_now(void);
void noise_add(noise *sum, const noise *before, const noise *after);
double load_now(void); /* NaN: unknown */
bool noise_is_waits(const noise *n);
/* Names of NVML's reasons why clocks are low, at most MOST_REASONS; how many. */
int slow_reasons(unsigned long long slowed, const char **out);

struct candidate;
struct result;
/* Fills the noise of a candidate's turns into its record. team: the context's threads. */
void describe_noise(const struct candidate *e, int team, struct result *out);

#endif
