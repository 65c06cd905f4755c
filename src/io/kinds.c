/* kinds.c: recognises files that cannot be read by their first bytes, and names a command that
 * converts FILE to Matrix Market with all bits of its values. */
#include "io.h"

/* Writes a SciPy matrix. SciPy's default is 16 digits; it cannot write Booleans, which `* 1` makes
 * integers. */
#define SCIPY(before, matrix) \
    "python3 -c \"from scipy import io,sparse as s; " before "io.mmwrite('FILE.mtx'," matrix \
    ",precision=17)\""
#define OF_NUMPY "import numpy as n; "
#define NAMED ", with the matrix's name for A"

#define OCTAVE \
    "octave --eval \"load('FILE'); [i,j,v]=find(A); f=fopen('FILE.mtx','w'); " \
    "fprintf(f,'%%%%MatrixMarket matrix coordinate real general\\n%d %d %d\\n',size(A),nnz(A)); " \
    "fprintf(f,'%d %d %.17g\\n',[i(:) j(:) v(:)]'); fclose(f);\"" NAMED
#define MATLAB SCIPY("", "io.loadmat('FILE')['A']*1") NAMED
#define PICKLE SCIPY("import pickle; ", "pickle.load(open('FILE','rb'))*1") ", if you trust it"
#define R_WORKSPACE "Rscript -e \"load('FILE'); " R_WRITES("A") NAMED
#define R_OBJECT "Rscript -e \"" R_WRITES("readRDS('FILE')")
#define R_WRITES(matrix) "library(Matrix); writeMM(as(" matrix ",'CsparseMatrix'),'FILE.mtx')\""

/* Entries are counted from 0 or, if the fifth number says so, from 1. */
#define FREEFEM \
    "awk 'NR==3{b=!$5; print \"%%MatrixMarket matrix coordinate real\"," \
    "$4?\"symmetric\":\"general\"; print $1,$2,$3} NR>3&&NF==3{print $1+b,$2+b,$3}' " \
    "FILE >FILE.mtx"
#define FREEFEM_MORSE \
    "awk '!/#/&&NF==4{print \"%%MatrixMarket matrix coordinate real\"," \
    "$3?\"symmetric\":\"general\"; print $1,$2,$4} NF==3' FILE >FILE.mtx"
#define PETSC_LISTING \
    "awk '/Size/{r=$4\" \"$5} NF==3&&!/[%=]/{e[++n]=$0} END{print " \
    "\"%%MatrixMarket matrix coordinate real general\\n\" r,n; for(k=1;k<=n;k++) print e[k]}' " \
    "FILE >FILE.mtx"

static bool fits(const char *pattern, size_t n, const unsigned char *text) {
    for (size_t k = 0; k < n; k++) {
        const unsigned char c = text[k], wanted = (unsigned char)pattern[k];
        if (c != wanted && wanted != '.' &&
            !(wanted >= 'a' && wanted <= 'z' && (c | 0x20) == wanted))
            return false;
    }
    return true;
}

/* True if head is the header of a MATLAB 4 file: five integers of one byte order and the name of a
 * variable. The integers are the type (1000 M + 10 P + T: byte order, precision, kind), rows,
 * columns, 1 for complex numbers, and the length of the name. */
static bool is_matlab4(const unsigned char *text, size_t n) {
    enum { HEADER = 20, LONGEST = 64, BIG_ENDIAN_TYPE = 1000 };
    if (n < HEADER) return false;
    uint32_t number[HEADER / 4] = {0};
    const bool big = text[0] == 0 && text[1] == 0 && text[2] == BIG_ENDIAN_TYPE / 256;
    for (size_t k = 0; k < HEADER; k++)
        number[k / 4] |= (uint32_t)text[k] << 8 * (big ? 3 - k % 4 : k % 4);
    const uint32_t type = number[0] - (big ? BIG_ENDIAN_TYPE : 0), length = number[4];
    if (type >= 60 || type % 10 > 2 || (number[1] | number[2]) > INT32_MAX || number[3] > 1 ||
        length < 2 || length > LONGEST || n < HEADER + length || text[HEADER + length - 1])
        return false;
    const char *name = (const char *)text + HEADER;
    return strlen(name) == length - 1 &&
           strspn(name, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") ==
               length - 1;
}

const char *spmv_name_of_kind(const void *head, size_t nhead, const char **advice) {
    static const struct {
        size_t offset, length;
        const char *bytes; /* letters in lower case match either case, a dot any byte */
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
        {0, 4,
         "\x7f"
         "ELF",
         "a program", "name a matrix"},
        {0, 5, "%PDF-", "a PDF document", "name a matrix"},
        {0, 8, "\x89PNG\r\n\x1a\n", "a PNG image", "name a matrix"},
        {0, 11, "%Mat Object", "a PETSc listing", PETSC_LISTING},
        {0, 11, "Mat Object:", "a PETSc listing",
         "its values are cut to 6 digits: MatView() to a PETSC_VIEWER_BINARY_() writes all bits"},
        {0, 25, "#  HashMatrix Matrix (COO", "a FreeFem++ matrix", FREEFEM},
        {0, 23, "# Sparse Matrix (Morse)", "a FreeFem++ matrix", FREEFEM_MORSE},
        {0, 19, "# created by octave", "an Octave text file", OCTAVE},
        {0, 9, "Octave-1-", "an Octave binary file", OCTAVE},
        {0, 4, "RDX.", "an R workspace", R_WORKSPACE},
        {0, 4, "RDA.", "an R workspace", R_WORKSPACE},
        {0, 2, "X\n", "an R object", R_OBJECT},
        {0, 4, "A\n.\n", "an R object", R_OBJECT},
        {0, 4, "PAR1", "a Parquet file",
         SCIPY("import pandas; "
               "i,j,v=(c.to_numpy() for _,c in pandas.read_parquet('FILE').items()); ",
               "s.coo_matrix((v,(i,j)))*1") " writes columns of rows, columns from 0 and values"},
        {0, 2, "\x80\x02", "a Python pickle", PICKLE},
        {0, 2, "\x80\x03", "a Python pickle", PICKLE},
        {0, 3, "\x80.\x95", "a Python pickle", PICKLE},
        {0, 9, "ccopy_reg", "a Python pickle", PICKLE},
        {0, 7, "cnumpy.", "a Python pickle", PICKLE},
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
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (known[k].offset + known[k].length <= nhead &&
            fits(known[k].bytes, known[k].length, text + known[k].offset)) {
            *advice = known[k].advice;
            return known[k].name;
        }
    *advice = MATLAB;
    return is_matlab4(text, nhead) ? "a MATLAB 4 file" : NULL;
}
