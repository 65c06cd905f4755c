/* write_csv.h: records as CSV. */
#ifndef SPMV_APP_WRITE_CSV_H
#define SPMV_APP_WRITE_CSV_H

#include "record.h"
#include <stdio.h>

void csv_write(FILE *file, fields table, const void *of, bool header);

#endif
