/* hdf5.c: reads matrices in HDF5 files of MATLAB 7.3 (save -v7.3), Octave (save -hdf5), Binsparse
 * and AnnData; writes Binsparse. HDF5 is never asked for anything outside the file (links, external
 * and virtual datasets), nor for more than the stored bytes can unpack to. A lock serializes the
 * calls, since HDF5 is not thread-safe. */
#include "io/formats.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_hdf5(const unsigned char *head, size_t n) {
    static const size_t places[] = {0, 512, 1024};
    for (size_t k = 0; k < sizeof places / sizeof *places; k++)
        if (n >= places[k] + 8 && memcmp(head + places[k], "\x89HDF\r\n\x1a\n", 8) == 0)
            return true;
    return false;
}

#ifdef HAVE_HDF5
#include "io/containers/hdf5_library.h"
#include "spmv_host.h"

enum { MOST_RATIO = 1032, DEEPEST = 3, MOST_TEXT = 1 << 20, MOST_LINKS = 10000 };
/* H5F_ACC_RDONLY and H5F_ACC_TRUNC without the calls of functions that these macros make. */
enum { READ_ONLY = 0, TRUNCATE = 2 };
static pthread_mutex_t one_caller = PTHREAD_MUTEX_INITIALIZER;

/* HDF5's handling of errors as its other users in the process have set it */
typedef struct caller {
    const hdf5_library *lib;
    H5E_auto2_t print;
    void *data;
} caller;

static void enter(caller *c) {
    pthread_mutex_lock(&one_caller);
    spmv_foreign = "HDF5";
    c->lib->H5Eget_auto2(H5E_DEFAULT, &c->print, &c->data);
    c->lib->H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

static void leave(const caller *c) {
    c->lib->H5Eset_auto2(H5E_DEFAULT, c->print, c->data);
    spmv_foreign = NULL;
    pthread_mutex_unlock(&one_caller);
}

static const hdf5_library *library(const spmv_bytes *in) {
    const char *why;
    const hdf5_library *lib = spmv_hdf5_library(&why);
    if (!lib)
        spmv_fail(in->ctx, SPMV_E_FEATURE,
                  "%s: an HDF5 file needs HDF5 (Debian: libhdf5-103, Fedora: hdf5): %s", in->path,
                  why);
    return lib;
}

static spmv_status damaged(const spmv_bytes *in, const char *name) {
    return spmv_refuse(in, "damaged data in %s of an HDF5 file", *name ? name : "the root");
}

/* ---- datasets -------------------------------------------------------------------------------- */

/* Reads the block of count[0] rows and count[1] columns from (start[0], start[1]) on; a dataset of
 * one dimension is one row. */
static bool read_block(const hdf5_library *lib, hid_t dataset, int dimensions, hid_t type,
                       const hsize_t start[2], const hsize_t count[2], void *to) {
    const hid_t space = lib->H5Dget_space(dataset);
    const hsize_t all = count[0] * count[1];
    const hid_t memory = lib->H5Screate_simple(1, &all, NULL);
    const int skip = dimensions == 1;
    const bool read = space >= 0 && memory >= 0 &&
                      lib->H5Sselect_hyperslab(space, H5S_SELECT_SET, start + skip, NULL,
                                               count + skip, NULL) >= 0 &&
                      lib->H5Dread(dataset, type, memory, space, H5P_DEFAULT, to) >= 0;
    lib->H5Sclose(memory);
    lib->H5Sclose(space);
    return read;
}

/* Reads n elements in row-major order from element `first` on; the dataset has one or two
 * dimensions. */
static bool read_elements(const hdf5_library *lib, hid_t dataset, hid_t type, int64_t first,
                          int64_t n, char *to) {
    hsize_t size[2] = {1, 1};
    const hid_t space = lib->H5Dget_space(dataset);
    const int dimensions = lib->H5Sget_simple_extent_ndims(space);
    const bool known = dimensions == 1 || dimensions == 2;
    if (known) lib->H5Sget_simple_extent_dims(space, size + (dimensions == 1), NULL);
    lib->H5Sclose(space);
    const int64_t length = (int64_t)size[1];
    for (bool read = known; n > 0;) {
        const int64_t column = first % length, row = first / length;
        const int64_t rows = column || n < length ? 1 : n / length,
                      some = length - column < n ? length - column : n;
        const hsize_t start[2] = {(hsize_t)row, (hsize_t)column},
                      count[2] = {(hsize_t)rows, (hsize_t)some};
        read = read && read_block(lib, dataset, dimensions, type, start, count, to);
        if (!read) return false;
        to += rows * some * 8;
        n -= rows * some;
        first += rows * some;
    }
    return known;
}

static spmv_status fetch(const spmv_part *part, int64_t first, int64_t n, void *to) {
    const hdf5_library *lib = library(part->in);
    if (!lib) return SPMV_E_FEATURE;
    caller c = {.lib = lib};
    enter(&c);
    const hid_t type = part->as.kind == 'f'   ? lib->H5T_NATIVE_DOUBLE_g
                       : part->as.kind == 'u' ? lib->H5T_NATIVE_UINT64_g
                                              : lib->H5T_NATIVE_INT64_g;
    const bool read = read_elements(lib, part->handle, type, first, n, to);
    leave(&c);
    return read ? SPMV_OK : damaged(part->in, part->name);
}

typedef struct walk { /* state of a walk over the objects of a file */
    const spmv_bytes *in;
    const hdf5_library *lib;
    spmv_contents *out;
    hid_t group;
    char name[64]; /* the group's name */
} walk;

/* Fails if a dataset claims more elements than its stored bytes can hold, or stores them in another
 * file. */
static spmv_status check_storage(const walk *w, hid_t dataset, const char *name, int64_t n,
                                 size_t width) {
    const hdf5_library *lib = w->lib;
    const hid_t made = lib->H5Dget_create_plist(dataset);
    const H5D_layout_t layout = lib->H5Pget_layout(made);
    const bool outside = layout == H5D_VIRTUAL || lib->H5Pget_external_count(made) > 0;
    const bool packed = lib->H5Pget_nfilters(made) > 0;
    lib->H5Pclose(made);
    const double stored = (double)lib->H5Dget_storage_size(dataset),
                 bytes = (double)n * (double)width;
    const size_t limit = w->in->ctx->max_unpacked;
    if (outside) return spmv_refuse(w->in, "%s, which points outside of the file", name);
    if (packed && limit && bytes > (double)limit)
        return spmv_fail(w->in->ctx, SPMV_E_FORMAT,
                         "%s: %s: it unpacks to more than the limit of %zu bytes", w->in->path,
                         name, limit);
    if (bytes <= stored * (packed ? MOST_RATIO : 1)) return SPMV_OK;
    return spmv_refuse(w->in,
                       "%s of %" PRId64 " elements in %.0f stored bytes: is the file cut "
                       "short?",
                       name, n, stored);
}

/* Returns the type in which HDF5 is asked to deliver elements of `type`. */
static spmv_element element_of(const hdf5_library *lib, hid_t type) {
    const H5T_class_t class = lib->H5Tget_class(type);
    const size_t bytes = lib->H5Tget_size(type);
    const char kind = class == H5T_FLOAT                                     ? 'f'
                      : class == H5T_COMPOUND                                ? 'c'
                      : class != H5T_INTEGER                                 ? 0
                      : lib->H5Tget_sign(type) == H5T_SGN_NONE && bytes == 8 ? 'u'
                                                                             : 'i';
    return (spmv_element){kind, 8, false};
}

/* Describes an open dataset as a part. size: the last two dimensions, or 1. */
static spmv_status part_of(const walk *w, hid_t dataset, const char *name, spmv_part *out,
                           int64_t size[2], int *dimensions) {
    const hdf5_library *lib = w->lib;
    hsize_t found[2] = {1, 1};
    const hid_t space = lib->H5Dget_space(dataset), type = lib->H5Dget_type(dataset);
    const int64_t n = lib->H5Sget_simple_extent_npoints(space);
    *dimensions = lib->H5Sget_simple_extent_ndims(space);
    if (*dimensions == 1 || *dimensions == 2) lib->H5Sget_simple_extent_dims(space, found, NULL);
    const spmv_element as = element_of(lib, type);
    const size_t width = lib->H5Tget_size(type);
    lib->H5Tclose(type);
    lib->H5Sclose(space);
    size[0] = (int64_t)found[0];
    size[1] = (int64_t)found[1];
    TRY(spmv_part_set(w->in, out, name, NULL, 0, 0, as));
    if (*dimensions != 1 && *dimensions != 2)
        return spmv_refuse(w->in, "%s of %d dimensions", name, *dimensions);
    TRY(check_storage(w, dataset, name, n, width));
    out->n = n;
    out->fetch = fetch;
    out->handle = dataset;
    return SPMV_OK;
}

/* Opens the object that a hard link of the group names; -1: failed, with the message set. */
static hid_t open_inside(const walk *w, const char *name) {
    hdf5_link link;
    if (w->lib->H5Lexists(w->group, name, H5P_DEFAULT) <= 0) {
        spmv_refuse(w->in, "no '%s' in %s of an HDF5 file", name, *w->name ? w->name : "the root");
        return -1;
    }
    if (w->lib->H5LINK_INFO(w->group, name, &link, H5P_DEFAULT) < 0 || link.type != H5L_TYPE_HARD) {
        spmv_refuse(w->in, "%s, a link that may point outside of the file", name);
        return -1;
    }
    const hid_t object = w->lib->H5Oopen(w->group, name, H5P_DEFAULT);
    if (object < 0) damaged(w->in, name);
    return object;
}

/* Finds an array of the group, which stays open until the file is closed. */
static spmv_status find_array(void *arg, const char *name, spmv_part *out) {
    const walk *w = arg;
    int64_t size[2];
    int dimensions;
    const hid_t dataset = open_inside(w, name);
    if (dataset < 0) return SPMV_E_FORMAT;
    if (w->lib->H5Iget_type(dataset) != H5I_DATASET)
        return spmv_refuse(w->in, "%s that is no dataset", name);
    return part_of(w, dataset, name, out, size, &dimensions);
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Reads the n integers of an attribute; false: there is no such attribute of n integers. */
static bool read_sizes(const walk *w, hid_t object, const char *name, int64_t *to, int64_t n) {
    const hdf5_library *lib = w->lib;
    if (lib->H5Aexists(object, name) <= 0) return false;
    const hid_t attribute = lib->H5Aopen(object, name, H5P_DEFAULT);
    const hid_t space = lib->H5Aget_space(attribute), type = lib->H5Aget_type(attribute);
    const bool read = lib->H5Sget_simple_extent_npoints(space) == n &&
                      lib->H5Tget_class(type) == H5T_INTEGER &&
                      lib->H5Aread(attribute, lib->H5T_NATIVE_INT64_g, to) >= 0;
    lib->H5Tclose(type);
    lib->H5Sclose(space);
    lib->H5Aclose(attribute);
    return read;
}

/* Returns the text of an attribute, which the caller frees; NULL: there is none. */
static char *read_text(const walk *w, hid_t object, const char *name) {
    const hdf5_library *lib = w->lib;
    char *text = NULL, *theirs = NULL;
    if (lib->H5Aexists(object, name) <= 0) return NULL;
    const hid_t attribute = lib->H5Aopen(object, name, H5P_DEFAULT);
    const hid_t space = lib->H5Aget_space(attribute), type = lib->H5Aget_type(attribute);
    const size_t size = lib->H5Tget_size(type);
    const bool one =
        lib->H5Sget_simple_extent_npoints(space) == 1 && lib->H5Tget_class(type) == H5T_STRING;
    if (one && lib->H5Tis_variable_str(type) > 0) {
        if (lib->H5Aread(attribute, type, &theirs) >= 0 && theirs) text = strdup(theirs);
        if (theirs) lib->H5free_memory(theirs);
    } else if (one && size < MOST_TEXT) {
        text = calloc(size + 1, 1);
        if (text && lib->H5Aread(attribute, type, text) < 0) *text = 0;
    }
    lib->H5Tclose(type);
    lib->H5Sclose(space);
    lib->H5Aclose(attribute);
    return text;
}

/* ---- variables ------------------------------------------------------------------------------- */

static const char complex_values[] = "of complex values: complex values are not supported";

/* Refuses a matrix of the group whose array `data` has complex values; the file's other variables
 * can be read. */
static bool refuse_complex(const walk *w, spmv_held *h) {
    const hid_t data = open_inside(w, "data");
    if (data < 0) return false; /* find_array fails for the same reason */
    const hid_t type = w->lib->H5Dget_type(data);
    if (element_of(w->lib, type).kind == 'c') h->refused = complex_values;
    w->lib->H5Tclose(type);
    return h->refused != NULL;
}

/* Describes the group of a sparse matrix of MATLAB; without entries it has no `data` and `ir`. */
static spmv_status describe_matlab(const walk *w, spmv_held *h) {
    h->shape = SPMV_HELD_COLUMNS;
    if (!read_sizes(w, w->group, "MATLAB_sparse", &h->rows, 1))
        return spmv_refuse(w->in, "a MATLAB_sparse that is not one integer");
    TRY(find_array((void *)(uintptr_t)w, "jc", &h->ptr));
    h->cols = h->ptr.n - 1;
    if (w->lib->H5Lexists(w->group, "data", H5P_DEFAULT) <= 0) {
        h->idx = h->values = h->ptr;
        h->idx.n = h->values.n = 0;
        return SPMV_OK;
    }
    if (refuse_complex(w, h)) return SPMV_OK;
    TRY(find_array((void *)(uintptr_t)w, "ir", &h->idx));
    return find_array((void *)(uintptr_t)w, "data", &h->values);
}

/* Describes a group of AnnData's csr_matrix or csc_matrix. */
static spmv_status describe_anndata(const walk *w, bool by_rows, spmv_held *h) {
    int64_t size[2];
    h->shape = by_rows ? SPMV_HELD_ROWS : SPMV_HELD_COLUMNS;
    if (!read_sizes(w, w->group, "shape", size, 2))
        return spmv_refuse(w->in, "%s without a shape of two integers", w->name);
    h->rows = size[0];
    h->cols = size[1];
    if (refuse_complex(w, h)) return SPMV_OK;
    TRY(find_array((void *)(uintptr_t)w, "indptr", &h->ptr));
    TRY(find_array((void *)(uintptr_t)w, "indices", &h->idx));
    return find_array((void *)(uintptr_t)w, "data", &h->values);
}

/* Reads one integer that is a dataset of the group. */
static spmv_status read_scalar(const walk *w, const char *name, int64_t *to) {
    const hdf5_library *lib = w->lib;
    const hid_t dataset = open_inside(w, name);
    if (dataset < 0) return SPMV_E_FORMAT;
    const hid_t space = lib->H5Dget_space(dataset), type = lib->H5Dget_type(dataset);
    const bool read =
        lib->H5Sget_simple_extent_npoints(space) == 1 && lib->H5Tget_class(type) == H5T_INTEGER &&
        lib->H5Dread(dataset, lib->H5T_NATIVE_INT64_g, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) >= 0;
    lib->H5Tclose(type);
    lib->H5Sclose(space);
    return read ? SPMV_OK : spmv_refuse(w->in, "%s that is not one integer", name);
}

/* Describes the value of a sparse matrix that Octave has saved with -hdf5. */
static spmv_status describe_octave(const walk *value, spmv_held *h) {
    if (refuse_complex(value, h)) return SPMV_OK;
    h->shape = SPMV_HELD_COLUMNS;
    TRY(read_scalar(value, "nr", &h->rows));
    TRY(read_scalar(value, "nc", &h->cols));
    TRY(find_array((void *)(uintptr_t)value, "cidx", &h->ptr));
    TRY(find_array((void *)(uintptr_t)value, "ridx", &h->idx));
    return find_array((void *)(uintptr_t)value, "data", &h->values);
}

/* Appends a dense variable. reversed: the dataset's dimensions are columns, rows. */
static spmv_status add_dataset(const walk *w, hid_t dataset, bool reversed) {
    int64_t size[2];
    int dimensions;
    spmv_held *h = spmv_contents_add(w->in, w->out);
    if (!h) return SPMV_E_NOMEM;
    snprintf(h->name, sizeof h->name, "%s", w->name);
    const hid_t type = w->lib->H5Dget_type(dataset);
    const char kind = element_of(w->lib, type).kind;
    w->lib->H5Tclose(type);
    if (kind == 'c') h->refused = complex_values;
    if (kind == 0) h->refused = "of another type";
    const hid_t space = w->lib->H5Dget_space(dataset);
    dimensions = w->lib->H5Sget_simple_extent_ndims(space);
    w->lib->H5Sclose(space);
    if (dimensions != 1 && dimensions != 2) h->refused = "of another number of dimensions";
    if (h->refused) return SPMV_OK;
    TRY(part_of(w, dataset, w->name, &h->values, size, &dimensions));
    /* MATLAB's dimensions are reversed: its columns are HDF5's rows. */
    reversed |= w->lib->H5Aexists(dataset, "MATLAB_class") > 0;
    reversed &= dimensions == 2;
    h->shape = reversed ? SPMV_HELD_BY_COLUMNS : SPMV_HELD_BY_ROWS;
    h->rows = size[reversed];
    h->cols = dimensions == 2 ? size[!reversed] : 1;
    return SPMV_OK;
}

/* Appends a variable of Octave, which is a group with the member `value`. */
static spmv_status add_octave(const walk *w) {
    walk value = *w;
    value.group = open_inside(w, "value");
    if (value.group < 0) return SPMV_E_FORMAT;
    if (w->lib->H5Iget_type(value.group) == H5I_DATASET) return add_dataset(w, value.group, true);
    spmv_held *h = spmv_contents_add(w->in, w->out);
    if (!h) return SPMV_E_NOMEM;
    snprintf(h->name, sizeof h->name, "%s", w->name);
    if (w->lib->H5Lexists(value.group, "cidx", H5P_DEFAULT) > 0) return describe_octave(&value, h);
    h->refused = "of another type";
    return SPMV_OK;
}

static spmv_status add_group(const walk *w, bool *known) {
    char *json = read_text(w, w->group, "binsparse"),
         *encoding = read_text(w, w->group, "encoding-type");
    const bool matlab = w->lib->H5Aexists(w->group, "MATLAB_sparse") > 0,
               rows = encoding && strcmp(encoding, "csr_matrix") == 0,
               columns = encoding && strcmp(encoding, "csc_matrix") == 0;
    spmv_status status = SPMV_OK;
    const bool octave = w->lib->H5Aexists(w->group, "OCTAVE_NEW_FORMAT") > 0;
    *known = json || matlab || rows || columns;
    spmv_held *h = *known ? spmv_contents_add(w->in, w->out) : NULL;
    if (*known && !h) status = SPMV_E_NOMEM;
    if (h) {
        snprintf(h->name, sizeof h->name, "%s", w->name);
        status = json ? spmv_binsparse_describe(w->in, json, find_array, (void *)(uintptr_t)w, h)
                 : matlab ? describe_matlab(w, h)
                          : describe_anndata(w, rows, h);
    }
    if (!*known && octave) {
        status = add_octave(w);
        *known = true;
    }
    free(json);
    free(encoding);
    return status;
}

/* Appends the variables of a group and of its groups. */
static spmv_status add_all(const walk *w, int depth) { // NOLINT: no deeper than DEEPEST
    H5G_info_t about = {.nlinks = 0};
    bool known;
    TRY(add_group(w, &known));
    if (known || depth > DEEPEST) return SPMV_OK;
    if (w->lib->H5Gget_info(w->group, &about) < 0) return damaged(w->in, w->name);
    spmv_status status = SPMV_OK;
    for (hsize_t k = 0; k < about.nlinks && k < MOST_LINKS && status == SPMV_OK; k++) {
        char name[32] = "";
        hdf5_link link;
        walk inside = *w;
        const ssize_t length = w->lib->H5Lget_name_by_idx(w->group, ".", H5_INDEX_NAME, H5_ITER_INC,
                                                          k, name, sizeof name, H5P_DEFAULT);
        const int n = snprintf(inside.name, sizeof inside.name, "%.30s%s%.30s", w->name,
                               *w->name ? "/" : "", name);
        if (length <= 0 || length >= (ssize_t)sizeof name || n >= (int)sizeof inside.name ||
            *name == '#')
            continue; /* internal to MATLAB, or too long a name */
        if (w->lib->H5LINK_INFO(w->group, name, &link, H5P_DEFAULT) < 0 ||
            link.type != H5L_TYPE_HARD) {
            spmv_held *h = spmv_contents_add(w->in, w->out);
            if (!h) return SPMV_E_NOMEM;
            snprintf(h->name, sizeof h->name, "%s", inside.name);
            h->refused = "a link that may point outside of the file";
            continue;
        }
        inside.group = w->lib->H5Oopen(w->group, name, H5P_DEFAULT);
        const H5I_type_t type = inside.group < 0 ? H5I_BADID : w->lib->H5Iget_type(inside.group);
        if (type == H5I_GROUP) status = add_all(&inside, depth + 1);
        if (type == H5I_DATASET) status = add_dataset(&inside, inside.group, false);
    }
    return status;
}

/* ---- files ----------------------------------------------------------------------------------- */

typedef struct open_file {
    const hdf5_library *lib;
    hid_t file;
} open_file;

static void close_file(void *handle) {
    open_file *f = handle;
    caller c = {.lib = f->lib};
    enter(&c);
    if (f->file >= 0) f->lib->H5Fclose(f->file); /* closes all open objects of the file, too */
    leave(&c);
    free(f);
}

/* Opens the file by its path, or from its bytes in memory. */
static hid_t open_bytes(const hdf5_library *lib, const spmv_bytes *in) {
    enum { GROWTH = 1 << 16 };
    const hid_t how = lib->H5Pcreate(lib->H5P_CLS_FILE_ACCESS_ID_g);
    lib->H5Pset_fclose_degree(how, H5F_CLOSE_STRONG);
    if (in->memory) {
        lib->H5Pset_fapl_core(how, GROWTH, false);
        lib->H5Pset_file_image(how, (void *)(uintptr_t)in->memory, (size_t)in->size);
    }
    /* The name for bytes in memory must not be a path: HDF5 follows links, as that of a pipe. */
    const hid_t file = lib->H5Fopen(in->memory ? "bytes in memory" : in->path, READ_ONLY, how);
    lib->H5Pclose(how);
    return file;
}

static spmv_status list_hdf5(const spmv_bytes *in, spmv_contents *out) {
    const hdf5_library *lib = library(in);
    if (!lib) return SPMV_E_FEATURE;
    open_file *f = malloc(sizeof *f);
    if (!f) return spmv_no_memory_for(in->ctx, in->path);
    caller c = {.lib = lib};
    enter(&c);
    *f = (open_file){lib, open_bytes(lib, in)};
    out->handle = f;
    out->close = close_file;
    const walk w = {.in = in,
                    .lib = lib,
                    .out = out,
                    .group = f->file < 0 ? -1 : lib->H5Oopen(f->file, "/", H5P_DEFAULT)};
    const spmv_status status =
        w.group < 0 ? spmv_refuse(in, "an HDF5 file that is damaged or cut short") : add_all(&w, 0);
    leave(&c);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Creates a dataset without writing elements. */
static bool add_array(const hdf5_library *lib, hid_t file, const char *name, hid_t type,
                      int64_t n) {
    const hsize_t size = (hsize_t)n;
    const hid_t space = lib->H5Screate_simple(1, &size, NULL);
    const hid_t dataset =
        lib->H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    lib->H5Oclose(dataset);
    lib->H5Sclose(space);
    return dataset >= 0;
}

static bool write_descriptor(const hdf5_library *lib, hid_t file, const spmv_csr_view *A,
                             bool wide) {
    char text[500];
    const int n = snprintf(
        text, sizeof text,
        "{\"binsparse\": {\"version\": \"0.1.0\", \"format\": \"CSR\", \"shape\": [%" PRId64
        ", %" PRId64 "], \"number_of_stored_values\": %" PRId64
        ", \"data_types\": {\"pointers_to_1\": \"%s\", \"indices_1\": \"int32\", \"values\": "
        "\"float64\"}}}",
        A->rows, A->cols, A->nnz, wide ? "int64" : "int32");
    const hid_t type = lib->H5Tcopy(lib->H5T_C_S1_g), space = lib->H5Screate(H5S_SCALAR);
    lib->H5Tset_size(type, (size_t)n);
    lib->H5Tset_cset(type, H5T_CSET_UTF8);
    const hid_t attribute =
        lib->H5Acreate2(file, "binsparse", type, space, H5P_DEFAULT, H5P_DEFAULT);
    const bool written = attribute >= 0 && lib->H5Awrite(attribute, type, text) >= 0;
    lib->H5Aclose(attribute);
    lib->H5Sclose(space);
    lib->H5Tclose(type);
    return written;
}

enum { ARRAYS = 3, ADDRESS = 8, END_OF_FILE = 40 }; /* END_OF_FILE: an offset in the superblock */
typedef struct image { /* a file as HDF5 makes it, without the elements of its datasets */
    const spmv_csr_view *A;
    spmv_element offsets;
    int64_t bytes[ARRAYS],
        at[ARRAYS]; /* lengths and offsets of the datasets: pointers, indices, values */
    unsigned char *head;
    int64_t nhead; /* a multiple of ADDRESS */
} image;

static int64_t padded(int64_t n) {
    return (n + ADDRESS - 1) / ADDRESS * ADDRESS;
}

/* Makes the head of a file in memory, in the oldest version of the format, which has no checksums;
 * *n: number of bytes. NULL: out of memory. */
static unsigned char *make_head(const hdf5_library *lib, const image *f, int64_t *n) {
    enum { GROWTH = 4096 };
    const spmv_csr_view *A = f->A;
    const bool wide = f->offsets.bytes == 8;
    const hid_t how = lib->H5Pcreate(lib->H5P_CLS_FILE_ACCESS_ID_g);
    lib->H5Pset_fapl_core(how, GROWTH, false);
    lib->H5Pset_libver_bounds(how, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST);
    const hid_t file = lib->H5Fcreate("bytes in memory", TRUNCATE, H5P_DEFAULT, how);
    lib->H5Pclose(how);
    const bool made = file >= 0 && write_descriptor(lib, file, A, wide) &&
                      add_array(lib, file, "pointers_to_1",
                                wide ? lib->H5T_STD_I64LE_g : lib->H5T_STD_I32LE_g, A->rows + 1) &&
                      add_array(lib, file, "indices_1", lib->H5T_STD_I32LE_g, A->nnz) &&
                      add_array(lib, file, "values", lib->H5T_IEEE_F64LE_g, A->nnz) &&
                      lib->H5Fflush(file, H5F_SCOPE_LOCAL) >= 0;
    const ssize_t bytes = made ? lib->H5Fget_file_image(file, NULL, 0) : -1;
    *n = padded(bytes);
    unsigned char *head = bytes > END_OF_FILE + ADDRESS ? calloc((size_t)*n, 1) : NULL;
    if (head && lib->H5Fget_file_image(file, head, (size_t)bytes) < 0) {
        free(head);
        head = NULL;
    }
    lib->H5Fclose(file);
    return head;
}

static void put_address(unsigned char *to, int64_t address) {
    for (int k = 0; k < ADDRESS; k++) to[k] = (unsigned char)((uint64_t)address >> 8 * k);
}

/* Writes the address of a dataset's elements into its layout message (3, 1, address, bytes), where
 * HDF5 has left it undefined. Datasets follow each other in the order of their creation. */
static bool set_layout(image *f, int k, int64_t *from) {
    enum { LAYOUT = 2 + 2 * ADDRESS };
    unsigned char layout[LAYOUT] = {3, 1};
    memset(layout + 2, 0xff, ADDRESS);
    put_address(layout + 2 + ADDRESS, f->bytes[k]);
    unsigned char *found =
        memmem(f->head + *from, (size_t)(f->nhead - *from), layout, sizeof layout);
    if (!found) return false;
    if (f->bytes[k]) put_address(found + 2, f->at[k]);
    *from = found - f->head + LAYOUT;
    return true;
}

static bool make_image(const hdf5_library *lib, image *f) {
    int64_t from = 0;
    f->head = make_head(lib, f, &f->nhead);
    int64_t end = f->nhead;
    for (int k = 0; f->head && k < ARRAYS; k++) {
        f->at[k] = end;
        end += padded(f->bytes[k]);
        if (!set_layout(f, k, &from)) return false;
    }
    if (f->head) put_address(f->head + END_OF_FILE, end);
    return f->head;
}

static void write_image(spmv_writer *w, const void *arg) {
    const image *f = arg;
    const spmv_element index = {'i', 4, false};
    spmv_put(w, f->head, (size_t)f->nhead);
    spmv_put_offsets(w, f->A->row_ptr, f->A->rows + 1, f->offsets);
    spmv_put_little(w, 0, (int)(padded(w->written) - w->written));
    spmv_put_indices(w, f->A->col_idx, f->A->nnz, index);
    spmv_put_little(w, 0, (int)(padded(w->written) - w->written));
    spmv_put_values(w, f->A->values, f->A->nnz, SPMV_F64_ELEMENT);
}

/* HDF5 does not write the file itself: after a failed write, HDF5 1.10.8 tries again when the
 * process ends, from memory that it has freed. */
static spmv_status write_hdf5(spmv_ctx *ctx, const char *path, const spmv_csr_view *A,
                              spmv_field field) {
    const spmv_bytes named = {.ctx = ctx, .path = path};
    const hdf5_library *lib = library(&named);
    const int width = A->nnz > INT32_MAX ? 8 : 4;
    image f = {.A = A,
               .offsets = {'i', width, false},
               .bytes = {width * (A->rows + 1), 4 * A->nnz, 8 * A->nnz}};
    (void)field;
    if (!lib) return SPMV_E_FEATURE;
    caller c = {.lib = lib};
    enter(&c);
    const bool made = make_image(lib, &f);
    leave(&c);
    const spmv_status status =
        made ? spmv_write_file(ctx, path, write_image, &f)
             : spmv_fail(ctx, SPMV_E_WRITE, "%s: HDF5 cannot make a file in memory", path);
    free(f.head);
    return status;
}

#else

static spmv_status lacks_hdf5(spmv_ctx *ctx, const char *path) {
    return spmv_fail(ctx, SPMV_E_FEATURE,
                     "%s: HDF5 is not built in: install libhdf5-dev (Debian) or hdf5-devel "
                     "(Fedora), then make again",
                     path);
}

static spmv_status list_hdf5(const spmv_bytes *in, spmv_contents *out) {
    (void)out;
    return lacks_hdf5(in->ctx, in->path);
}

static spmv_status write_hdf5(spmv_ctx *ctx, const char *path, const spmv_csr_view *A,
                              spmv_field field) {
    (void)A, (void)field;
    return lacks_hdf5(ctx, path);
}
#endif

static const char *const endings[] = {".h5", ".hdf5", NULL};
const spmv_file_format spmv_file_hdf5 = {.name = "an HDF5 file",
                                         .endings = endings,
                                         .knows = is_hdf5,
                                         .list = list_hdf5,
                                         .write = write_hdf5};
