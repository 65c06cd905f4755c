/* kinds.c: names files that are not the text of a matrix by the bytes they begin with, since the
 * first thing to know about a file that cannot be read is what it is. */
#include "read.h"

const char *spmv_name_of_kind(const void *head, size_t nhead, const char **advice) {
    static const struct {
        size_t offset, length;
        const char *bytes; /* letters in lower case match either case */
        const char *name, *advice;
    } known[] = {
        {0, 2, "\x1f\x8b", "gzip data", "gunzip it"},
        {0, 6, "\xfd\x37zXZ\0", "xz data", "xz -d unpacks it"},
        {0, 4, "\x28\xb5\x2f\xfd", "zstd data", "zstd -d unpacks it"},
        {0, 3, "BZh", "bzip2 data", "bunzip2 unpacks it"},
        {0, 4, "PK\x03\x04", "a zip archive", "unzip it"},
        {0, 4, "PK\x05\x06", "an empty zip archive", "it holds no matrix"},
        {0, 6, "7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x unpacks it"},
        {0, 6, "Rar!\x1a\x07", "a rar archive", "unrar x unpacks it"},
        {0, 2, "\x1f\x9d", "compress (.Z) data", "gunzip unpacks it"},
        {0, 4, "LZIP", "lzip data", "lzip -d unpacks it"},
        {0, 4, "\x04\x22\x4d\x18", "lz4 data", "lz4 -d unpacks it"},
        {0, 5, "\x5d\0\0\x80\0", "lzma data", "xz -d unpacks it"},
        {257, 5, "ustar", "a tar archive", "tar xf unpacks it"},
        {0, 6, "\x93NUMPY", "a NumPy array", "scipy.io.mmwrite writes Matrix Market"},
        {0, 19, "MATLAB 5.0 MAT-file", "a MATLAB file", "mmwrite writes Matrix Market"},
        {0, 8, "\x89HDF\r\n\x1a\n", "an HDF5 or MATLAB 7.3 file", "mmwrite writes Matrix Market"},
        {0, 4,
         "\x7f"
         "ELF",
         "a program", "name a matrix"},
        {0, 5, "%PDF-", "a PDF document", "name a matrix"},
        {0, 8, "\x89PNG\r\n\x1a\n", "a PNG image", "name a matrix"},
        {0, 4, "\0\x12\x7b\x50", "a PETSc binary matrix",
         "MatView() to PETSC_VIEWER_ASCII_MATRIXMARKET writes Matrix Market"},
        {0, 11, "%Mat Object", "a PETSc listing",
         "MatView() to PETSC_VIEWER_ASCII_MATRIXMARKET writes Matrix Market"},
        {0, 19, "# created by octave", "an Octave text file", "mmwrite writes Matrix Market"},
        {0, 4, "RDX3", "an R workspace", "Matrix::writeMM writes Matrix Market"},
        {0, 2, "X\n", "an R object", "Matrix::writeMM writes Matrix Market"},
        {0, 4, "PAR1", "a Parquet file", "scipy.io.mmwrite writes Matrix Market"},
        {0, 3, "\x80\x04\x95", "a Python pickle", "scipy.io.mmwrite writes Matrix Market"},
        {0, 9, "<!doctype", "a web page", "did a download fail?"},
        {0, 5, "<html", "a web page", "did a download fail?"},
        {0, 5, "<?xml", "an XML document", "did a download fail?"},
        {0, 19, "version https://git", "a pointer of Git LFS", "git lfs pull gets the file"},
        {0, 4, "\xff\xfe\0\0", "UTF-32 text", "iconv -f UTF-32 -t UTF-8 converts it"},
        {0, 4, "\0\0\xfe\xff", "UTF-32 text", "iconv -f UTF-32 -t UTF-8 converts it"},
        {0, 4, "%\0%\0", "UTF-16 text", "iconv -f UTF-16LE -t UTF-8 converts it"},
        {0, 4, "\0%\0%", "UTF-16 text", "iconv -f UTF-16BE -t UTF-8 converts it"},
        {0, 2, "\xff\xfe", "UTF-16 text", "iconv -f UTF-16 -t UTF-8 converts it"},
        {0, 2, "\xfe\xff", "UTF-16 text", "iconv -f UTF-16 -t UTF-8 converts it"},
    };
    const unsigned char *text = head;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        size_t n = 0, from = known[k].offset;
        while (n < known[k].length && from + n < nhead) {
            const unsigned char c = text[from + n], wanted = (unsigned char)known[k].bytes[n];
            if (c != wanted && !(wanted >= 'a' && wanted <= 'z' && (c | 0x20) == wanted)) break;
            n++;
        }
        if (n < known[k].length) continue;
        *advice = known[k].advice;
        return known[k].name;
    }
    return NULL;
}
