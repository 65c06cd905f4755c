/* machine.h: facts about host and process, for records. */
#ifndef SPMV_APP_MACHINE_H
#define SPMV_APP_MACHINE_H

#include "app/options/options.h"
#include "record.h"

/* Facts of host and process into the record; texts live until machine_free. */
typedef struct machine {
    char hostname[256], os[256], kernel[256], cpu[256], governor[64], schedule[64], time[32],
        run_id[32], omp_text[4096]; /* names and values of omp_env */
    pairs omp_env;
    int64_t cores, smt, sockets, numa_nodes, llc, memory, cgroup_cpus;
    int turbo, container;
} machine;
void machine_read(machine *m);
void machine_describe(const machine *m, const options *o, int threads, record *r);
void gpu_describe(const spmv_device_facts *f, int index, record *r);

#endif
