#!/bin/sh
# install.sh BUILT DESTDIR PREFIX [NVCC]: program, library, headers, manual page and spmv.pc of the folder BUILT into DESTDIR/PREFIX. BUILT/.libs
# has what was linked besides. A compiler other than nvcc needs CUDA's runtime by name, and C++'s.
set -e
if [ ! -e "$1/spmv" ]; then
    echo "make install: $1/spmv is not there: make ${1##*/} first" >&2
    exit 2
fi
case $3 in
*[[:space:]]*)
    echo "make install: PREFIX=$3: pkg-config takes no space in a path" >&2
    exit 2 ;;
/*) prefix=$3 ;;
*) prefix=$PWD/$3 ;;
esac
into=$2$prefix libs=$(sed 's/-Xlinker /-Wl,/g' "$1/.libs")
if [ "$4" ]; then
    libs="$libs -L$(dirname "$(dirname "$4")")/lib64 -lcudart_static -lrt -ldl -lpthread -lstdc++"
fi
install -D "$1/spmv" "$into/bin/spmv"
install -D -m 644 "$1/libspmv.a" "$into/lib/libspmv.a"
install -D -m 644 include/spmv.h "$into/include/spmv.h"
install -D -m 644 include/spmv_bench.h "$into/include/spmv_bench.h"
install -D -m 644 docs/spmv.1 "$into/share/man/man1/spmv.1"
mkdir -p "$into/lib/pkgconfig"
cat >"$into/lib/pkgconfig/spmv.pc" <<EOF
prefix=$prefix
Name: spmv
Description: sparse matrix-vector products in many formats
Version: $(sed -n 's/.*SPMV_VERSION "\(.*\)"/\1/p' include/spmv.h)
Cflags: -I\${prefix}/include
Libs: -L\${prefix}/lib -lspmv -fopenmp $libs
EOF
echo "  installed  $into/bin/spmv, lib/libspmv.a, include/spmv.h, spmv_bench.h, share/man/man1/spmv.1   gcc solver.c \$(pkg-config --cflags --libs spmv)"
