/* archive_library.h: libarchive's functions, found at run time, so that a solver that reads no
 * compressed file neither links nor loads libarchive and the ten libraries that it needs itself. */
#ifndef SPMV_ARCHIVE_LIBRARY_H
#define SPMV_ARCHIVE_LIBRARY_H

#include <archive.h>
#include <archive_entry.h>

typedef struct archive_library {
#define FUNCTION(name) __typeof__(name) *name;
#include "archive_functions.def"
#undef FUNCTION
} archive_library;

/* Returns the library, which the first call of the process opens and nothing closes. NULL: it is
 * not installed or lacks a function; *why has the message. */
const archive_library *spmv_archive_library(const char **why);

#endif
