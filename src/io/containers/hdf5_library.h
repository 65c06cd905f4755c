/* hdf5_library.h: functions of HDF5, found at run time: a program that reads no HDF5 file neither
 * links nor loads it. */
#ifndef SPMV_HDF5_LIBRARY_H
#define SPMV_HDF5_LIBRARY_H

#include <hdf5.h>

#if H5_VERSION_GE(1, 12, 0)
#define H5LINK_INFO H5Lget_info2
typedef H5L_info2_t hdf5_link;
#else
#define H5LINK_INFO H5Lget_info
typedef H5L_info_t hdf5_link;
#endif

typedef struct hdf5_library {
#define FUNCTION(name) NAMED_FUNCTION(name)
#define NAMED_FUNCTION(name) __typeof__(name) *name;
#define VARIABLE(name) hid_t name;
#include "hdf5_functions.def"
#undef FUNCTION
#undef NAMED_FUNCTION
#undef VARIABLE
} hdf5_library;

/* Returns the library, which the first call of the process opens and nothing closes. NULL: it is
 * not installed, its version is not that of the header, or it lacks a function; *why has the
 * message. */
const hdf5_library *spmv_hdf5_library(const char **why);

#endif
