#!/bin/sh
# CHOLMOD writes a matrix and reads another one back. Its writer calls a real symmetric matrix whose stored values are all 1 `pattern`,
# since no value need be stored. Its reader gives a symmetric pattern values that make it positive definite: 1 plus the number of
# neighbours on the diagonal, -1 elsewhere. So the adjacency matrix of a graph, with loops, returns as its Laplacian plus 1. An
# unsymmetric matrix of ones returns as it was. Both functions succeed.
# Debian 12's packages, CHOLMOD 3.0.14 of SuiteSparse 5.12. Exit 0: as described. Exit 1: something changed; each line says what was seen.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
version=1:5.12.0+dfsg-2
apt-get -q download libsuitesparse-dev=$version libcholmod3=$version libamd2=$version libcolamd2=$version libcamd2=$version \
    libccolamd2=$version libsuitesparseconfig5=$version libmetis5 libblas3 liblapack3 libgfortran5 libquadmath0 >/dev/null 2>&1
for package in *.deb; do dpkg -x "$package" root; done
cat >trip.c <<'CODE'
#include <suitesparse/cholmod.h>
#include <stdio.h>
static void show(const char *what, cholmod_sparse *A) {
    const int *p = A->p, *i = A->i;
    const double *x = A->x;
    printf("%s:", what);
    for (int j = 0; j < (int)A->ncol; j++)
        for (int k = p[j]; k < p[j + 1]; k++) printf(" (%d,%d)=%g", i[k], j, x[k]);
    puts("");
}
int main(int count, char **names) {
    cholmod_common common;
    cholmod_start(&common);
    for (int k = 1; k < count; k++) {
        FILE *file = fopen(names[k], "r");
        cholmod_sparse *A = cholmod_read_sparse(file, &common);
        fclose(file);
        show(names[k], A);
        file = fopen("written", "w+");
        cholmod_write_sparse(file, A, NULL, NULL, &common);
        rewind(file);
        show("written and read", cholmod_read_sparse(file, &common));
        fclose(file);
    }
}
CODE
printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 1\n2 1 1\n2 2 1\n3 2 1\n3 3 1\n' >symmetric
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 1 1\n3 2 1\n' >general
lib=root/usr/lib/x86_64-linux-gnu
gcc -O1 -Iroot/usr/include trip.c -o trip -L$lib -l:libcholmod.so.3 -Wl,--allow-shlib-undefined
cat >expected <<'TEXT'
symmetric: (0,0)=1 (0,1)=1 (1,1)=1 (1,2)=1 (2,2)=1
written and read: (0,0)=2 (0,1)=-1 (1,1)=3 (1,2)=-1 (2,2)=2
general: (0,0)=1 (1,0)=1 (2,1)=1
written and read: (0,0)=1 (1,0)=1 (2,1)=1
TEXT
LD_LIBRARY_PATH=$lib:$lib/blas:$lib/lapack ./trip symmetric general | tee seen
cmp -s seen expected
