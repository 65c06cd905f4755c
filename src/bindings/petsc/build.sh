#!/bin/sh
# build.sh BUILT: builds BUILT/libspmv_petsc.so for the PETSc that pkg-config finds. It loads libspmv.so from its own folder.
# MPICC: the compiler.
set -eu
built=$1 MPICC=${MPICC:-mpicc}
if ! pkg-config --exists PETSc; then
    echo "make petsc: pkg-config does not find PETSc: install libpetsc-real-dev (Debian, Ubuntu), or set" >&2
    echo "PKG_CONFIG_PATH=\$PETSC_DIR/\$PETSC_ARCH/lib/pkgconfig" >&2
    exit 69
elif ! command -v "$MPICC" >/dev/null; then
    echo "make petsc: no $MPICC: install libopenmpi-dev, or name the compiler: MPICC=/path/to/mpicc" >&2
    exit 69
fi
echo "  LINK   $built/libspmv_petsc.so"
"$MPICC" -std=gnu11 -O3 -g -fPIC -shared -Wl,-z,nodelete -fvisibility=hidden -Wall -Wextra -Wconversion -Wshadow -D_GNU_SOURCE \
    -Iinclude $(pkg-config --cflags PETSc | sed 's/-I/-isystem /g') -o "$built/libspmv_petsc.so" \
    src/bindings/petsc/spmv_petsc.c -L"$built" -lspmv -Wl,-rpath,'$ORIGIN' $(pkg-config --libs PETSc)
