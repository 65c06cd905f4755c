#!/bin/sh
# build_info.sh CC CFLAGS NVCC NVCCFLAGS CUDA_ARCH FEATURES: prints build_info.h, what a record says of the build.
line() { printf '#define %s "%s"\n' "$1" "$(printf %s "$2" | sed 's/[\\"]/\\&/g')"; }
line BUILD_COMMIT "$(git rev-parse --short=10 HEAD 2>/dev/null)"
# Asks about what the program is made of: a matrix that lies beside it changes nothing.
echo "#define BUILD_DIRTY $(test -z "$(git status --porcelain -- Makefile mk include src omp cuda 2>/dev/null)"; echo $?)"
line BUILD_CC "$($1 --version | head -n 1)"
line BUILD_CFLAGS "$2"
line BUILD_NVCC "$(test -z "$3" || $3 --version | sed -n 's/.*\(release .*\)/\1/p')"
line BUILD_NVCCFLAGS "$4"
line BUILD_CUDA_ARCH "$5"
line BUILD_FEATURES "$6"
# Is a hash of what decides on the speed of kernels: choices that were remembered by a library of other sources are
# stale.
line BUILD_SOURCES "$(find include src omp cuda -path src/app -prune -o -type f -print | sort | xargs cat | cksum)"
