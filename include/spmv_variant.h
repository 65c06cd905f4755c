/* spmv_variant.h: a file that computes is compiled once per variant: real (double, float) x ofs
 * (32-bit, 64-bit offsets into the nonzeros), with -DSPMV_REAL -DSPMV_OFS -DSPMV_SUFFIX. V(name) is
 * the variant's symbol, under which a kernel or format is exported. Columns and rows are always
 * 32-bit. */
#ifndef SPMV_VARIANT_H
#define SPMV_VARIANT_H

#include <stdint.h>

/* C++ implies a .cu file, in which device code may call SPMV_ANYWHERE functions. */
#ifdef __cplusplus
#define SPMV_LINKAGE extern "C"
#define SPMV_ANYWHERE static inline __host__ __device__
#else
#define SPMV_LINKAGE extern
#define SPMV_ANYWHERE static inline
#endif

#ifndef SPMV_SUFFIX
#define SPMV_REAL double
#define SPMV_OFS int32_t
#define SPMV_SUFFIX f64_o32
#endif
#define SPMV_JOIN2(a, b) a##_##b
#define SPMV_JOIN(a, b) SPMV_JOIN2(a, b)
#define V(name) SPMV_JOIN(name, SPMV_SUFFIX)
typedef SPMV_REAL real;
typedef SPMV_OFS ofs;
typedef int32_t idx;

/* ---- all variants ---------------------------------------------------------------------------- */

/* mk/sources.mk reads the first words of these lines. */
#define SPMV_VARIANTS(X, ...) \
    X(f64_o32, F64_O32, __VA_ARGS__) \
    X(f64_o64, F64_O64, __VA_ARGS__) \
    X(f32_o32, F32_O32, __VA_ARGS__) \
    X(f32_o64, F32_O64, __VA_ARGS__)
#define SPMV_VARIANT_NUMBER(variant, NAME, ...) SPMV_##NAME,
enum { SPMV_VARIANTS(SPMV_VARIANT_NUMBER, ) SPMV_NVARIANTS };
#define SPMV_VARIANT_DECLARED(variant, NAME, type, stem) \
    SPMV_LINKAGE const type SPMV_JOIN(stem, variant);
#define SPMV_VARIANT_ADDRESS(variant, NAME, stem) &SPMV_JOIN(stem, variant),
/* Declares what files export for all variants, and lists its addresses for an array. */
#define SPMV_DECLARE_VARIANTS(type, stem) SPMV_VARIANTS(SPMV_VARIANT_DECLARED, type, stem)
#define SPMV_OF_VARIANTS(stem) \
    { SPMV_VARIANTS(SPMV_VARIANT_ADDRESS, stem) }

/* ---- what the file of a kernel or format exports -------------------------------------------- */

/* Symbols name the backend, because kernels of both backends may share a name. */
#ifdef __cplusplus
#define SPMV_KERNEL_STEM(name) cuda_##name
#else
#define SPMV_KERNEL_STEM(name) omp_##name
#endif
#define SPMV_KERNEL_SYMBOL(name) V(SPMV_KERNEL_STEM(name))

/* Usage: SPMV_EXPORT_KERNEL(csr_rows) = { ... }; */
#define SPMV_EXPORT_KERNEL(name) \
    SPMV_LINKAGE const spmv_kernel SPMV_KERNEL_SYMBOL(name); \
    const spmv_kernel SPMV_KERNEL_SYMBOL(name)
#define SPMV_EXPORT_FORMAT(name) \
    SPMV_LINKAGE const spmv_format V(name); \
    const spmv_format V(name)

/* The same for a kernel or format without offsets into the nonzeros, or with 32-bit ones always.
 * Its file is compiled for 32-bit offsets only (Makefile) and exports its symbol again under the
 * name of the 64-bit variant. */
#define SPMV_WIDE_f64_o32 f64_o64
#define SPMV_WIDE_f32_o32 f32_o64
#define SPMV_WIDE_SYMBOL(stem) SPMV_JOIN(stem, SPMV_JOIN(SPMV_WIDE, SPMV_SUFFIX))
#define SPMV_QUOTED2(symbol) #symbol
#define SPMV_QUOTED(symbol) SPMV_QUOTED2(symbol)
#define SPMV_SECOND_NAME(type, symbol, second) \
    SPMV_LINKAGE const type second __attribute__((alias(SPMV_QUOTED(symbol))))
#define SPMV_EXPORT_ANY_OFFSETS_KERNEL(name) \
    SPMV_SECOND_NAME(spmv_kernel, SPMV_KERNEL_SYMBOL(name), \
                     SPMV_WIDE_SYMBOL(SPMV_KERNEL_STEM(name))); \
    SPMV_EXPORT_KERNEL(name)
#define SPMV_EXPORT_ANY_OFFSETS_FORMAT(name) \
    SPMV_SECOND_NAME(spmv_format, V(name), SPMV_WIDE_SYMBOL(name)); \
    SPMV_EXPORT_FORMAT(name)
#endif
