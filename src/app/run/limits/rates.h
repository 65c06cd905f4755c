/* rates.h: what spmv doctor --probe measured, kept in the user's folder. */
#ifndef SPMV_APP_RATES_H
#define SPMV_APP_RATES_H

#include "app/options/options.h"
#include "app/record/machine.h"

/* Writes the path of a file in the user's folder for what is measured once; makes the folder.
 * Returns false if there is no home for it. */
bool saved_path(const char *name, char *out, size_t size);
/* The key of a device's saved rates. gpu: its name, for a backend other than the host's. */
void rates_key(const machine *m, const spmv_backend *backend, const char *gpu, int threads,
               char *out, size_t size);
/* Returns an exit code, after printing what is wrong. */
int rates_save(const options *o, const char *key, const spmv_rates *r);
/* Returns false if there are none, or if they were measured beside other programs. */
bool rates_load(const options *o, const char *key, spmv_rates *r);
/* Returns how many rows of row_bytes are read per second at random places of an x of so many
 * bytes. */
double gather_rate(const spmv_rates *r, double bytes, double row_bytes);

#endif
