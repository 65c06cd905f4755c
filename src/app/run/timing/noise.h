/* noise.h: what else the machine did while a kernel was timed. */
#ifndef SPMV_NOISE_H
#define SPMV_NOISE_H

#include <stdbool.h>

typedef struct noise {       /* counters; the difference of two readings is the noise in between */
    double wall_s, cpu_s;    /* wall time; processor time of this process */
    double waited_s;         /* time its threads waited for a core */
    double busy_s, stolen_s; /* of all processors: used; stolen by other machines */
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
