/* export.h: the choice of auto as lines of code. */
#ifndef SPMV_APP_EXPORT_H
#define SPMV_APP_EXPORT_H

#include "app/record/record.h"
#include <stdio.h>

/* Writes the lines that make the plan of a row that auto chose; language: c, python or json. */
void export_choice(const char *language, const record *r, FILE *file);

#endif
