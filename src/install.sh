#!/bin/sh
# install.sh BUILT DESTDIR PREFIX LIBS [NVCC LIBS]: program, library, header and spmv.pc of the folder BUILT into DESTDIR/PREFIX.
# LIBS: what a program that uses the library links besides. A compiler other than nvcc needs CUDA's runtime by name, and C++'s.
set -e
into=$2$3 libs=$(echo "$4" | sed 's/-Xlinker /-Wl,/g')
if [ "$5" ]; then
    libs="$libs $6 -L$(dirname "$(dirname "$5")")/lib64 -lcudart_static -lrt -ldl -lpthread -lstdc++"
fi
if [ ! -e "$1/spmv" ]; then
    echo "make install: $1/spmv is not there: make ${1##*/} first" >&2
    exit 2
fi
install -D "$1/spmv" "$into/bin/spmv"
install -D -m 644 "$1/libspmv.a" "$into/lib/libspmv.a"
install -D -m 644 include/spmv.h "$into/include/spmv.h"
mkdir -p "$into/lib/pkgconfig"
cat >"$into/lib/pkgconfig/spmv.pc" <<EOF
prefix=$3
Name: spmv
Description: sparse matrix-vector products in many formats
Version: $(sed -n 's/.*SPMV_VERSION "\(.*\)"/\1/p' include/spmv.h)
Cflags: -I\${prefix}/include
Libs: -L\${prefix}/lib -lspmv -fopenmp $libs
EOF
echo "  installed  $into/bin/spmv, lib/libspmv.a, include/spmv.h   gcc solver.c \$(pkg-config --cflags --libs spmv)"
