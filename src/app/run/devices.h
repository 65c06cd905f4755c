/* devices.h: which devices this machine has. */
#ifndef SPMV_APP_DEVICES_H
#define SPMV_APP_DEVICES_H

#include "session.h"

/* Says whether the machine has the backend's device --device. If not, why, [size], gets what to do.
 * A child asks if the session forks. */
bool machine_has(const session *run, const spmv_backend *backend, char *why, size_t size);
/* Returns the session's backend, or the host's if it has no device: a build for GPUs runs where
 * there is none. */
const spmv_backend *backend_that_works(const session *run);
/* Keeps, of n kernels that a group's word named on all backends, those of --backend; without it
 * those of backends whose device is there, with one note if one is not. Returns their number. */
int keep_usable(session *run, const char *word, spmv_kernel_id *found, int n);

#endif
