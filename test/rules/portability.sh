#!/bin/sh
# portability.sh: does every file compile without a warning with clang, for an x86-64 that has FMA? What make
# would run is asked of make, so no list of files stands here. Says each command that failed, and exits 1 if there is one.
set -u
cd "$(dirname "$0")/../.." || exit 66
unset CFLAGS SAN MAKEFLAGS
goals="build/omp/bench_read build/omp/bench_convert test"
make -s build/omp/build_info.h || exit 66

commands() { # COMPILER MARCH: syntax and warnings alone, which takes a tenth of the time that code takes
    make -snB V=1 WERROR=1 BUILD=omp CC="$1" MARCH="$2" $goals |
        sed -n "s/^mkdir -p [^ ]* && \(.*\) -MMD -MP -c \([^ ]*\) -o [^ ]*$/\1 -fsyntax-only \2/p"
}
work=$(mktemp -d) || exit 73
trap 'rm -rf "$work"' EXIT
{
    # Sources ask -march for the fused multiply-add alone (test/rules/lint.sh). This processor has it, and builds under
    # sanitizers are for those that lack it.
    if command -v clang >/dev/null; then
        commands clang x86-64-v3
    else
        echo "portability: clang is not installed: gcc is asked" >&2
        commands gcc x86-64-v3
    fi
} >"$work/commands"
[ "$(wc -l <"$work/commands")" -gt 0 ] || { echo "portability: make names no file"; exit 1; }
tr '\n' '\0' <"$work/commands" | xargs -0 -n 1 -P "$(nproc)" sh -c '
    eval "$2" 2>"$1/$$" || { echo "FAIL $2"; head -n 20 "$1/$$"; echo >>"$1/failed"; }' sh "$work"
if [ -e "$work/failed" ]; then echo "portability: $(wc -l <"$work/failed") of $(wc -l <"$work/commands") failed"; exit 1; fi
echo "portability: $(wc -l <"$work/commands") compiled without a warning"
