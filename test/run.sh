#!/bin/sh
# run.sh BUILD [unit] [cli] [python]: runs the tests of a build folder, JOBS of them side by side. Then come once more what
# tests that failed have said, those that took most processor time, and as the last line the counts.
# UPDATE=1 rewrites what the command-line tests expect.
# run.sh BUILD one FOLDER TEST: that test alone. FOLDER gets NAME.counts: passed, failed, skipped, processor seconds, the
# test; and NAME.failed: what it said, if it failed.
set -u
build=$1
shift
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 66

# Cold products are timed after eight times the last cache was read, and probes read four times as much. The program is
# told of 32 MB, whatever this machine has; unit tests ask the machine.
caches="pack:1 l3:1(size=32MB) core:$(getconf _NPROCESSORS_ONLN) pu:1"

number() { sed -n "$1" "$2" | awk '{n += $1} END {print n + 0}'; }

# A cmocka program: its own counts; one that dies before it counts is a failure.
unit() {
    "$1" >"$mine/log" 2>&1; code=$?
    cat "$mine/log"
    passed=$(number 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$mine/log")
    failed=$(number 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$mine/log")
    skipped=$(number 's/^\[  SKIPPED \] \([0-9]*\) test.*/\1/p' "$mine/log")
    if [ $code != 0 ] && [ "$failed" = 0 ]; then failed=1; echo "$1: exit $code"; fi
}

# A command-line test: NAME.t, a transcript that must be printed again (transcript.awk), of commands that run in an empty
# folder. "# omp only", "# needs FEATURE" and "# not sanitized: WHY" in it say which builds it is for.
cli() {
    why=$(sed -n 's/^# not sanitized: //p' "$1")
    if grep -q '^# omp only' "$1" && [ "$build" != "${build#*cuda}" ]; then skipped=1; return; fi
    if [ -n "$why" ] && [ "$build" != "${build%-san}" ]; then
        echo "skip cli/$name: not under sanitizers: $why"
        skipped=1; return
    fi
    for feature in $(sed -n 's/^# needs //p' "$1"); do
        if ! "$build/spmv" -V -v | grep '^features' | grep -qw "$feature"; then
            echo "skip cli/$name: built without $feature"
            skipped=1; return
        fi
    done
    mkdir "$mine/cwd"
    awk -f test/cli/transcript.awk "$1" >"$mine/script"
    (cd "$mine/cwd" && HWLOC_SYNTHETIC=$caches SPMV="$root/$build/spmv" DATA="$root/test/data" CLI="$root/test/cli" sh ../script </dev/null) \
        >"$mine/now" 2>&1
    [ -z "${UPDATE:-}" ] || cp "$mine/now" "$1"
    if diff -u "$1" "$mine/now" >"$mine/difference"; then
        passed=1
        echo "ok   cli/$name"
    else
        failed=1
        echo "FAIL cli/$name"
        sed 's/^/     /' "$mine/difference"
    fi
}

# unittest says "Ran N tests" and "FAILED (failures=F, errors=E)", "OK (skipped=S)"; and with -v, in a line of each test,
# why it was skipped.
python() {
    HWLOC_SYNTHETIC=$caches SPMV="$root/$build/spmv" "$PYTHON" "$1" -v >"$mine/log" 2>&1; code=$?
    sed -n "s|.* \.\.\. skipped ['\"]\(.*\)['\"]$|skip python/$name: \1|p" "$mine/log" | sort -u
    grep -vE ' \.\.\. (ok|skipped .*)$|^test_\w+ \(.*\)$' "$mine/log" | tail -n 40
    ran=$(number 's/^Ran \([0-9]*\) test.*/\1/p' "$mine/log")
    skipped=$(number 's/.*skipped=\([0-9]*\).*/\1/p' "$mine/log")
    failed=$(grep -cE '^(FAIL|ERROR): ' "$mine/log")
    if [ $code != 0 ] && [ "$failed" = 0 ]; then failed=1 ran=$((ran + 1)); fi
    passed=$((ran - failed - skipped))
}

if [ "${1:-}" = one ]; then
    test=$3 name=$(basename "$test" .t) mine=$2/$(basename "$test") passed=0 failed=0 skipped=0
    mkdir "$mine" || exit 73
    case $test in
    *.py) python "$test" ;;
    *.t) cli "$test" ;;
    *) unit "$test" ;;
    esac >"$mine/said" 2>&1
    cat "$mine/said" # in one piece, whatever runs beside it
    times >"$mine/times" # in a pipe they would be the pipe's
    echo "$passed $failed $skipped $(tail -n 1 "$mine/times" | tr ms '  ' | awk '{printf "%.1f", 60 * ($1 + $3) + $2 + $4}') $test" \
        >"$mine.counts"
    [ "$failed" = 0 ] || mv "$mine/said" "$mine.failed"
    rm -rf "$mine"
    exit 0
fi

work=$(mktemp -d) || exit 73
trap 'rm -rf "$work"' EXIT
# Options have twins in the environment, and the caller's are not what is tested.
for twin in $(env | sed -n 's/^\(SPMV_[A-Z0-9_]*\)=.*/\1/p'); do
    case $twin in SPMV_REQUIRE_CUDA | SPMV_FEW_PRODUCTS) ;; *) unset "$twin" ;; esac
done
# What a sanitizer finds ends the program, and so fails the test.
export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
# Sizes that no machine has are refused, as malloc refuses them, instead of ending the program.
export ASAN_OPTIONS="allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
# Threads that wait for one another need not spin where cores are shared: a test is not timed.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY-passive}"
# The first Python that has SciPy, which may be the distribution's and not the first in PATH.
for p in "${PYTHON:-python3}" /usr/bin/python3; do "$p" -c 'import scipy' 2>/dev/null && PYTHON=$p && break; done
export PYTHON
# Some tests ask how much of a GPU's memory is free.
case $build in *cuda*) jobs=1 ;; *) jobs=$(nproc) ;; esac

for part in ${*:-python cli unit}; do # those with long tests first
    case $part in
    python) ls test/python/test_*.py ;;
    unit) for t in "$build"/test/test_*; do if [ -x "$t" ] && [ ! -d "$t" ]; then echo "$t"; fi; done ;;
    cli) ls test/cli/*.t ;;
    *) echo "run.sh: no part '$part'" >&2; exit 64 ;;
    esac || exit 66
done >"$work/tests"
xargs -P "${JOBS:-$jobs}" -I '{}' sh test/run.sh "$build" one "$work" '{}' <"$work/tests"
find "$work" -name '*.counts' -exec cat '{}' + >"$work/counts"
for failed in "$work"/*.failed; do
    [ ! -e "$failed" ] || { printf '\n---- failed: %s\n' "$(basename "$failed" .failed)"; tail -n 200 "$failed"; }
done
awk '{print $4 " CPU s  " $5}' "$work/counts" | sort -rn | head -n 5
awk -v tests="$(wc -l <"$work/tests")" '
    {passed += $1; failed += $2; skipped += $3}
    END {
        if (NR < tests) {failed += tests - NR; print tests - NR " tests did not come to their end"}
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit failed || !passed
    }' "$work/counts"
