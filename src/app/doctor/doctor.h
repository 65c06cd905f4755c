/* doctor.h: what `spmv doctor` knows of the machine, and its checks, which see nothing else. */
#ifndef SPMV_DOCTOR_H
#define SPMV_DOCTOR_H

#include "app/options/options.h"
#include "app/record/machine.h"
#include "app/record/record.h"
#include "spmv_host.h"

typedef struct doctor_facts {
    machine host;
    record build; /* its build_ members */
    spmv_cgroup cgroup;
    int threads;              /* threads of a run */
    int cpus, online;         /* processors: of this process, of the machine; 0: unknown */
    bool bound;               /* OpenMP keeps threads where they are */
    const char *places;       /* where OpenMP keeps threads; NULL: unknown */
    int64_t available;        /* bytes of memory; 0: unknown */
    double load;              /* the last minute's average; NaN: unknown */
    double others;            /* processors that other programs use now; NaN: unknown */
    double stolen, stolen_up; /* share of processors, now and since the start; NaN: unknown */
    char peers[512];          /* kernels of other libraries that are not built in */
    const char *probe_folder; /* of --probe=DIR; NULL: the usual one */
    bool probed, gpu_probed;  /* results of doctor --probe are there */
    bool probed_beside;       /* other programs, and so too low */

    bool cuda;      /* is built in */
    bool gpu_files; /* the driver's device files are there */
    char nvcc[512]; /* path; "": not found */
    bool gpu_open;
    char gpu_error[1024]; /* why not */
    spmv_device_facts gpu;
    bool gpu_told; /* the driver's management library knew the GPU: */
    spmv_device_state gpu_now;
} doctor_facts;

typedef enum level { LEVEL_OK, LEVEL_NOTE, LEVEL_WARNING } level;
typedef struct finding {
    level level;
    char found[1280];         /* "": nothing to look at, as when there is no GPU */
    char why[320], what[512]; /* what: to type; both "" when all is well */
} finding;
typedef struct check {
    const char *name;
    void (*look)(const doctor_facts *f, finding *out);
} check;
extern const check doctor_checks[]; /* name NULL: the end */

/* doctor_facts.c. The texts in *f live as long as ctx. */
void doctor_look_around(const options *o, spmv_ctx *ctx, doctor_facts *f);
/* doctor_probe.c. Measures the limits of the backend of --backend, or of every one that has a
 * device; returns an exit code. */
int measure_limits(const options *o, const spmv_backend *backend);
/* doctor_finding.c */
void tell(finding *out, level how, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Why it matters, and what to type. */
void advise(finding *out, const char *why, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* doctor_gpu.c */
void check_cuda(const doctor_facts *f, finding *out);
void check_gpu_load(const doctor_facts *f, finding *out);
void check_gpu_memory(const doctor_facts *f, finding *out);
void check_gpu_clocks(const doctor_facts *f, finding *out);
void check_ecc(const doctor_facts *f, finding *out);
void check_mig(const doctor_facts *f, finding *out);
void check_driver(const doctor_facts *f, finding *out);
void check_arch(const doctor_facts *f, finding *out);

#endif
