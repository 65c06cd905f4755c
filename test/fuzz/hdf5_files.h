/* hdf5_files.h: sound HDF5 files of each kind that the library reads. An input replaces what
 * describes the matrix and its arrays; HDF5's own structures stay, for they are not ours to try. */
#ifndef SPMV_FUZZ_HDF5_FILES_H
#define SPMV_FUZZ_HDF5_FILES_H

#include "fuzz.h"
#include "io/containers/hdf5_library.h"
#include "io/formats.h"
#include <dlfcn.h>

enum { MOST_SOUND = 16384, SLOTS = 5 };
typedef struct sound {
    char path[64];
    uint8_t bytes[MOST_SOUND];
    size_t all, slots;               /* bytes of the file */
    size_t at[SLOTS], length[SLOTS]; /* bytes that an input replaces */
} sound;

static const int64_t wide_ptr[] = {0, 2, 2, 4}, wide_idx[] = {101, 103, 102, 104};
static const int32_t narrow_ptr[] = {0, 2, 2, 4}, narrow_idx[] = {101, 103, 102, 104};
static const int64_t shape_of_rows[] = {3, 123456}, height = 123456;
static const double four_values[] = {1.25, 2.25, 3.25, 4.25};

static inline void read_sound(sound *s) {
    FILE *f = fopen(s->path, "rb");
    require(f != NULL);
    s->all = fread(s->bytes, 1, MOST_SOUND, f);
    require(s->all < MOST_SOUND && fclose(f) == 0);
}

/* Adds bytes of the file to those that an input replaces. */
static inline void add_slot(sound *s, const void *bytes, size_t n) {
    const uint8_t *found = memmem(s->bytes, s->all, bytes, n);
    require(found != NULL && s->slots < SLOTS);
    s->at[s->slots] = (size_t)(found - s->bytes);
    s->length[s->slots++] = n;
}

static inline void make_binsparse(spmv_ctx *ctx, sound *s) {
    const spmv_csr_view A = {.rows = 3,
                             .cols = 200,
                             .nnz = 4,
                             .row_ptr = wide_ptr,
                             .col_idx = narrow_idx,
                             .values = four_values};
    require(spmv_write_matrix(ctx, s->path, &A, SPMV_REAL_FIELD) == SPMV_OK);
    read_sound(s);
    add_slot(s, "{\"binsparse\"", 12);
    const uint8_t *end = memmem(s->bytes + s->at[0], s->all - s->at[0], "}}}", 3);
    require(end != NULL);
    s->length[0] = (size_t)(end - s->bytes) + 3 - s->at[0];
    add_slot(s, narrow_ptr, sizeof narrow_ptr);
    add_slot(s, narrow_idx, sizeof narrow_idx);
    add_slot(s, four_values, sizeof four_values);
}

/* ---- groups, which the library does not write ------------------------------------------------ */

typedef struct group {
    const hdf5_library *lib;
    __typeof__(H5Gcreate2) *create;
    __typeof__(H5Dwrite) *write;
    hid_t file, group;
} group;

/* Finds a function that the library itself does not call. */
static inline void find_extra(const hdf5_library *lib, const char *name, void *function) {
    Dl_info about;
    void *address;
    memcpy(&address, &lib->H5Fopen, sizeof address);
    require(dladdr(address, &about) != 0);
    address = dlsym(dlopen(about.dli_fname, RTLD_NOW | RTLD_NOLOAD), name);
    require(address != NULL);
    memcpy(function, &address, sizeof address);
}

static inline group begin_group(const char *path, const char *name) {
    const char *why;
    group g = {.lib = spmv_hdf5_library(&why)};
    require(g.lib != NULL);
    find_extra(g.lib, "H5Gcreate2", &g.create);
    find_extra(g.lib, "H5Dwrite", &g.write);
    g.file = g.lib->H5Fcreate(path, 2, H5P_DEFAULT, H5P_DEFAULT); /* 2: H5F_ACC_TRUNC */
    g.group = g.create(g.file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    require(g.group >= 0);
    return g;
}

static inline void add_attribute(const group *g, const char *name, hid_t type, hsize_t n,
                                 const void *value) {
    const hid_t space = g->lib->H5Screate_simple(1, &n, NULL);
    const hid_t made = g->lib->H5Acreate2(g->group, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    require(made >= 0 && g->lib->H5Awrite(made, type, value) >= 0);
    g->lib->H5Aclose(made);
    g->lib->H5Sclose(space);
}

static inline void add_dataset(const group *g, const char *name, hid_t type, hsize_t n,
                               const void *values) {
    const hid_t space = g->lib->H5Screate_simple(1, &n, NULL);
    const hid_t made =
        g->lib->H5Dcreate2(g->group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    require(made >= 0 && g->write(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    g->lib->H5Oclose(made);
    g->lib->H5Sclose(space);
}

static inline void end_group(const group *g) {
    g->lib->H5Oclose(g->group);
    require(g->lib->H5Fclose(g->file) >= 0);
}

/* A sparse matrix of MATLAB 7.3: rows in an attribute, columns compressed. */
static inline void make_matlab(sound *s) {
    const group g = begin_group(s->path, "A");
    add_attribute(&g, "MATLAB_sparse", g.lib->H5T_NATIVE_UINT64_g, 1, &height);
    add_dataset(&g, "jc", g.lib->H5T_NATIVE_UINT64_g, 4, wide_ptr);
    add_dataset(&g, "ir", g.lib->H5T_NATIVE_UINT64_g, 4, wide_idx);
    add_dataset(&g, "data", g.lib->H5T_IEEE_F64LE_g, 4, four_values);
    end_group(&g);
    read_sound(s);
    add_slot(s, &height, sizeof height);
    add_slot(s, wide_ptr, sizeof wide_ptr);
    add_slot(s, wide_idx, sizeof wide_idx);
    add_slot(s, four_values, sizeof four_values);
}

/* AnnData's csr_matrix, or whatever of that length an input says. */
static inline void make_anndata(sound *s) {
    static const char encoding[] = "csr_matrix";
    const group g = begin_group(s->path, "X");
    const hid_t text = g.lib->H5Tcopy(g.lib->H5T_C_S1_g);
    g.lib->H5Tset_size(text, sizeof encoding - 1);
    add_attribute(&g, "encoding-type", text, 1, encoding);
    add_attribute(&g, "shape", g.lib->H5T_NATIVE_INT64_g, 2, shape_of_rows);
    add_dataset(&g, "indptr", g.lib->H5T_STD_I32LE_g, 4, narrow_ptr);
    add_dataset(&g, "indices", g.lib->H5T_STD_I32LE_g, 4, narrow_idx);
    add_dataset(&g, "data", g.lib->H5T_IEEE_F64LE_g, 4, four_values);
    g.lib->H5Tclose(text);
    end_group(&g);
    read_sound(s);
    add_slot(s, encoding, sizeof encoding - 1);
    add_slot(s, shape_of_rows, sizeof shape_of_rows);
    add_slot(s, narrow_ptr, sizeof narrow_ptr);
    add_slot(s, narrow_idx, sizeof narrow_idx);
    add_slot(s, four_values, sizeof four_values);
}

/* Writes the sound file with the input in it; the bytes get its content. Returns its name; NULL: it
 * is no kind of HDF5's. */
static inline const char *hdf5_with(spmv_ctx *ctx, const char *kind, const uint8_t *data,
                                    size_t size, uint8_t *bytes, size_t *used) {
    static sound s;
    if (!kind ||
        (strcmp(kind, "hdf5") != 0 && strcmp(kind, "mat73") != 0 && strcmp(kind, "anndata") != 0))
        return NULL;
    if (!s.all) {
        snprintf(s.path, sizeof s.path, "/dev/shm/spmv-fuzz-in-%d.h5", (int)getpid());
        if (*kind == 'h') make_binsparse(ctx, &s);
        if (*kind == 'm') make_matlab(&s);
        if (*kind == 'a') make_anndata(&s);
    }
    memcpy(bytes, s.bytes, s.all);
    for (size_t k = 0; k < s.slots && size; k++) {
        const size_t n = size < s.length[k] ? size : s.length[k];
        memcpy(bytes + s.at[k], data, n);
        data += n;
        size -= n;
    }
    FILE *f = fopen(s.path, "wb");
    require(f && fwrite(bytes, 1, s.all, f) == s.all && fclose(f) == 0);
    *used = s.all;
    return s.path;
}

#endif
