#!/bin/sh
# A Matrix Market file that says `symmetric` or `skew-symmetric` holds one triangle, and its reader adds the other. Two libraries read
# the triangle alone and report success, so that a product afterwards uses half of the matrix: Eigen 3.4.0 (loadMarket; its
# getMarketHeader tells, if it is asked) and GSL 2.7.1 (gsl_spmatrix_fscanf, which has no way to tell). Eigen also returns true, with
# the entries that there were, for a file that ends before it has as many as its size line says. Of repeated entries Eigen takes
# the sum and GSL the last one.
# Debian 12's packages. Exit 0: as described. Exit 1: something changed; each line says what was seen.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get -q download libeigen3-dev=3.4.0-4 libgsl-dev=2.7.1+dfsg-5+deb12u1 libgslcblas0=2.7.1+dfsg-5+deb12u1 >/dev/null 2>&1
for package in *.deb; do dpkg -x "$package" root; done
cat >eigen.cpp <<'CODE'
#include <Eigen/Sparse>
#include <unsupported/Eigen/SparseExtra>
#include <iostream>
int main(int count, char **names) {
    for (int k = 1; k < count; k++) {
        Eigen::SparseMatrix<double> A;
        const bool read = Eigen::loadMarket(A, names[k]);
        std::cout << "Eigen " << names[k] << ": " << (read ? "true" : "false") << ", sum of entries " << A.sum() << "\n";
    }
}
CODE
cat >gsl.c <<'CODE'
#include <stdlib.h>
#include <gsl/gsl_spmatrix.h>
#include <stdio.h>
int main(int count, char **names) {
    for (int k = 1; k < count; k++) {
        FILE *file = fopen(names[k], "r");
        gsl_spmatrix *A = gsl_spmatrix_fscanf(file);
        double sum = 0;
        for (size_t i = 0; A && i < A->size1; i++)
            for (size_t j = 0; j < A->size2; j++) sum += gsl_spmatrix_get(A, i, j);
        printf("GSL %s: %s, sum of entries %g\n", names[k], A ? "a matrix" : "NULL", sum);
        fclose(file);
    }
}
CODE
head='%%MatrixMarket matrix coordinate real'
printf '%s symmetric\n3 3 4\n1 1 1\n2 1 2\n3 2 3\n3 3 4\n' "$head" >symmetric # 15 with both triangles
printf '%s skew-symmetric\n3 3 1\n2 1 5\n' "$head" >skew                      # 0 with both triangles
printf '%s general\n3 3 3\n1 1 1\n2 2 5\n' "$head" >short                    # an entry is missing
printf '%s general\n3 3 3\n1 1 1\n1 1 2\n2 2 5\n' "$head" >repeated          # 8 if repeated entries are added
g++ -O1 -Iroot/usr/include/eigen3 eigen.cpp -o eigen
lib=root/usr/lib/x86_64-linux-gnu
gcc -O1 -Iroot/usr/include gsl.c $lib/libgsl.a $lib/libgslcblas.so.0 -lm -o gsl
cat >expected <<'TEXT'
Eigen symmetric: true, sum of entries 10
Eigen skew: true, sum of entries 5
Eigen short: true, sum of entries 6
Eigen repeated: true, sum of entries 8
GSL symmetric: a matrix, sum of entries 10
GSL repeated: a matrix, sum of entries 7
TEXT
{ ./eigen symmetric skew short repeated; LD_LIBRARY_PATH=$lib ./gsl symmetric repeated; } | tee seen
cmp -s seen expected
