/* spmv_export.h: how the file of a kernel or format exports its descriptor. It is part of
 * spmv_kernel.h, which includes it after its types. */
#ifndef SPMV_EXPORT_H
#define SPMV_EXPORT_H

/* Kernels of both backends may share a name, so symbols name the backend. */
#ifdef __cplusplus
#define SPMV_KERNEL_STEM(name) cuda_##name
#else
#define SPMV_KERNEL_STEM(name) omp_##name
#endif
#define SPMV_KERNEL_SYMBOL(name) V(SPMV_KERNEL_STEM(name))

/* SPMV_EXPORT_KERNEL(csr_rows) = { ... }; */
#define SPMV_EXPORT_KERNEL(name) \
    SPMV_LINKAGE const spmv_kernel SPMV_KERNEL_SYMBOL(name); \
    const spmv_kernel SPMV_KERNEL_SYMBOL(name)
#define SPMV_EXPORT_FORMAT(name) \
    SPMV_LINKAGE const spmv_format V(name); \
    const spmv_format V(name)

/* The same for a kernel or format that has no offsets into the nonzeros, or always 32-bit ones. Its
 * file is compiled for 32-bit offsets only (Makefile), and exports its symbol a second time under
 * the name of the variant of 64-bit offsets. */
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
