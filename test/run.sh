#!/bin/sh
# run.sh BUILD [unit|cli|python]: runs the tests of a build folder and ends with the counts of all of them.
# UPDATE=1 rewrites what the command-line tests expect. JOBS=N: so many unit tests side by side.
set -u
build=$1 part=${2:-all}
root=$(cd "$(dirname "$0")/.." && pwd)
passed=0 failed=0 skipped=0
work=$(mktemp -d) || exit 73
trap 'rm -rf "$work"' EXIT
# Options have twins in the environment, and the caller's are not what is tested.
for twin in $(env | sed -n 's/^\(SPMV_[A-Z0-9_]*\)=.*/\1/p'); do
    [ "$twin" = SPMV_REQUIRE_CUDA ] || unset "$twin"
done
# What a sanitizer finds ends the program, and so fails the test.
export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
# Sizes that no machine has are refused, as malloc refuses them, instead of ending the program.
export ASAN_OPTIONS="allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

count() { passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3)); }
number() { sed -n "$1" "$2" | awk '{n += $1} END {print n + 0}'; }

# A cmocka program: its own counts; one that dies before it counts is a failure.
unit() {
    log=$work/$(basename "$1").log code=$(cat "$work/$(basename "$1").code")
    ok=$(number 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log")
    bad=$(number 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$log")
    skip=$(number 's/^\[  SKIPPED \] \([0-9]*\) test.*/\1/p' "$log")
    if [ $code != 0 ] && [ "$bad" = 0 ]; then bad=1; echo "$1: exit $code"; fi
    count "$ok" "$bad" "$skip"
}

# A command line: NAME.sh beside NAME.out, NAME.err and NAME.exit, run in an empty folder. "# omp only" and "# needs
# FEATURE" in it say which builds it is for.
cli() {
    base=${1%.sh} name=$(basename "${1%.sh}")
    if grep -q '^# omp only' "$1" && [ "$build" != "${build#*cuda}" ]; then count 0 0 1; return; fi
    for feature in $(sed -n 's/^# needs //p' "$1"); do
        if ! "$build/spmv" -V -v | grep '^features' | grep -qw "$feature"; then
            echo "skip cli/$name: built without $feature"
            count 0 0 1; return
        fi
    done
    rm -rf "$work/cwd" && mkdir "$work/cwd"
    (cd "$work/cwd" && SPMV="$root/$build/spmv" DATA="$root/test/data" CLI="$root/test/cli" sh "$1" </dev/null) \
        >"$work/out" 2>"$work/err"
    echo $? >"$work/exit"
    if [ -n "${UPDATE:-}" ]; then
        for k in out err exit; do cp "$work/$k" "$base.$k"; done
    fi
    if cmp -s "$work/out" "$base.out" && cmp -s "$work/err" "$base.err" && cmp -s "$work/exit" "$base.exit"; then
        count 1 0 0
        echo "ok   cli/$name"
    else
        count 0 1 0
        echo "FAIL cli/$name"
        for k in out err exit; do diff -u "$base.$k" "$work/$k" | sed 's/^/     /'; done
    fi
}

# Threads that wait for one another need not spin where cores are shared: a test is not timed.
# unittest says "Ran N tests" and "FAILED (failures=F, errors=E)", "OK (skipped=S)".
python() {
    SPMV="$root/$build/spmv" OMP_WAIT_POLICY="${OMP_WAIT_POLICY-passive}" "$PYTHON" "$1" >"$work/log" 2>&1; code=$?
    tail -n 40 "$work/log"
    ran=$(number 's/^Ran \([0-9]*\) test.*/\1/p' "$work/log")
    skip=$(number 's/.*skipped=\([0-9]*\).*/\1/p' "$work/log")
    bad=$(grep -cE '^(FAIL|ERROR): ' "$work/log")
    if [ $code != 0 ] && [ "$bad" = 0 ]; then bad=1 ran=$((ran + 1)); fi
    count $((ran - bad - skip)) "$bad" "$skip"
}

cd "$root" || exit 66
if [ $part = all ] || [ $part = unit ]; then
    programs=$(for t in "$build"/test/test_*; do [ -x "$t" ] && [ ! -d "$t" ] && echo "$t"; done)
    echo "$programs" | xargs -P "${JOBS:-1}" -I '{}' sh -c '
        log=$1/$(basename "$2"); "$2" >"$log.log" 2>&1; echo $? >"$log.code"; cat "$log.log"' sh "$work" '{}'
    for t in $programs; do unit "$t"; done
fi
if [ $part = all ] || [ $part = cli ]; then
    for t in "$root"/test/cli/*.sh; do cli "$t"; done
fi
if [ $part = all ] || [ $part = python ]; then
    # The first Python that has SciPy, which may be the distribution's and not the first in PATH.
    for p in "${PYTHON:-python3}" /usr/bin/python3; do "$p" -c 'import scipy' 2>/dev/null && PYTHON=$p && break; done
    for t in test/test_*.py; do python "$t"; done
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
