#!/bin/sh
# ranks.sh BUILT RANKS [FAULT=NAME] WORDS...: runs ranks.c with so many ranks. FAULT: over faulty.c with that fault. src/ranks is
# compiled with it, and its exchange, under a sanitizer, so that memory that is not freed and accesses beyond its end are found as
# well. Compilers' caches make that take a second.
set -eu
built=$1 ranks=$2 objects=$1/ranks
shift 2
flags='-std=gnu11 -O1 -g -fsanitize=address -fopenmp -D_GNU_SOURCE -Iinclude -Isrc'
cc=$(command -v ccache || true)
mkdir -p "$objects"
for file in $(find src/ranks -name "*.c" -not -path "*/mpi/*") src/host/environment.c; do $cc gcc $flags -include test/ranks/scarce.h -c "$file" -o "$objects/$(basename "$file" .c).o"; done
sh test/ranks/texts.sh "$objects"
sh src/ranks/exchange/build.sh "$objects" -O1 -fsanitize=address
mpicc.openmpi $flags test/ranks/ranks.c "$objects"/*.o -o "$objects/ranks" -rdynamic -L"$built" -lspmv -Wl,-rpath,'$ORIGIN/..' -lm
printf 'leak:%s\n' libmpi libopen- libpmix libhwloc libevent mca_ >"$objects/leaks"
case ${1:-} in
FAULT=*)
    mpicc.openmpi $flags -w -fPIC -shared test/ranks/faulty.c -o "$objects/faulty.so"
    export "$1"
    shift
    set -- -x "$objects/faulty.so" "$@"
    ;;
esac
export LSAN_OPTIONS="leak_check_at_exit=0:print_suppressions=0:suppressions=$objects/leaks" OMP_WAIT_POLICY=passive
timeout -k 1 60 mpiexec.openmpi --allow-run-as-root --oversubscribe -n "$ranks" "$objects/ranks" ${1:+"$@"}
