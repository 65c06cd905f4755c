#!/bin/sh
# build.sh BUILT [FLAG...]: BUILT/libspmv_mpich.so and libspmv_openmpi.so, the exchange through each MPI that is found; what is
# newer than its sources stays. An MPI that has mpicc alone is asked which it is; those that are not Open MPI share MPICH's ABI.
set -eu
built=$1
shift
flags=$*
sources="$(ls src/ranks/exchange/mpi/*) src/ranks/exchange/exchange.h include/spmv.h include/spmv_clock.h src/ranks/exchange/build.sh"
# build NAME COMPILER
build() {
    library=$built/libspmv_$1.so
    if [ -e "$library" ] && [ -z "$(find $sources -newer "$library")" ]; then return; fi
    echo "  MPICC  $library"
    # gcc takes MPI's constants, such as MPI_UNWEIGHTED, for arrays that are too short.
    "$2" -std=gnu11 -O3 -g -fPIC -shared -Wl,-z,nodelete -fvisibility=hidden -Wall -Wextra -Wshadow -Wno-stringop-overflow \
        -Wno-stringop-overread -D_GNU_SOURCE $flags -Iinclude -Isrc -o "$library" src/ranks/exchange/mpi/*.c
}
# compiles COMPILER: it is there, and so are MPI's headers, which have a package of their own
compiles() { echo '#include <mpi.h>' | "$1" -E -x c - >/dev/null 2>&1; }
alone=true
for name in mpich openmpi; do
    if compiles mpicc.$name; then build $name mpicc.$name; alone=false; fi
done
if $alone && compiles mpicc; then
    if echo '#include <mpi.h>' | mpicc -E -dM -x c - | grep -q ' OPEN_MPI '; then build openmpi mpicc; else build mpich mpicc; fi
fi
