#!/bin/sh
# cuda.sh BUILD: on a machine with a GPU, in about ten minutes: every CUDA kernel against the check, in the unit tests' cross
# product (every fixture x precision x offsets x alpha, beta x each parameter's values), on every generated class with the
# options below, on the matrices in MATRICES (a folder of .mtx or .mtx.gz, default ../shared/matrices), then on three
# classes under compute-sanitizer. JOBS (default: half the cores, 6 at most) of the sanitizer's run at a time, which wait
# for the processor; of the others two: several processes that want one GPU take longer together than in turn.
# Prints machine, driver and counts; the last line is the count of all. FEW=1: a class in three and no sanitizer.
set -u
build=$1
spmv=$build/spmv
matrices=${MATRICES:-../shared/matrices}
once='--min-time=0 --max-time=0 -n 1 --no-log -q'

# What each class runs with: three rows a matrix.
launches='-b 64,256,32x8,32x32 --rowlens=on,off -p f64,f32'
scaled='--alpha=2 --beta=-1 --index=64 -p f64,f32'
shapes='--slice=1,32,1024 --sigma=1,all --height=1,4,16 --sorted=off,on --boundary=auto,0,3,1000000000 --shape=1x1,2x2,8x3
    --tile=16,256 --lanes=2,8,32'
classes='poisson2d:300 poisson3d:40 box27:20 fem3d:12 mesh:60000 road:60000 random:30000:16 random:3000:40:90000 rmat:13
    banded:5000:101 giantrow:20000:9000 dense:700x900 permutation:60000 diagonal:300000 ci:2048 powerlaw:20000:8
    twin:shyy41 dense:1x1 dense:1x5000 dense:5000x1'

# ---- one job, in its own process: cuda.sh BUILD RESULTS JOB... -----------------------------------------------------------
if [ $# -gt 1 ]; then
    results=$2 kind=$3; shift 3
    work=$(mktemp -d) || exit 73
    trap 'rm -rf "$work"' EXIT
    verdict() { # what, exit code, text above it: one write, so that jobs do not mix
        if [ "$2" = 0 ]; then word=ok; else word=FAIL; set -- "$1 (exit $2)" "$2" "$3"; fi
        echo $word >>"$results"
        printf '%s%-4s %s\n' "${3:+$3
}" $word "$1"
    }
    check() { # name, spmv options: counts the rows by status
        name=$1; shift
        "$spmv" -k 'cuda:*' $once --format=csv "$@" >"$work/csv" 2>"$work/err"; code=$?
        rows=$(awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == "status") s = i} NR > 1 {n[$s]++}
            END {printf "%d ok, %d skipped, %d wrong, %d failed", n["ok"], n["skipped"], n["wrong"], n["failed"]}' "$work/csv")
        said=; [ $code = 0 ] || said=$(cat "$work/err")
        verdict "$name: $rows" $code "$said"
    }
    case $kind in
    unit)
        SPMV_REQUIRE_CUDA=1 timeout 480 "$build/test/$1" >"$work/log" 2>&1; code=$?
        if [ $code = 0 ]; then said=$(grep -E 'products|PASSED|forecasts' "$work/log"); else said=$(tail -n 40 "$work/log"); fi
        verdict "$1" $code "$said" ;;
    class)
        name=$1 with=$2; shift 2
        check "gen:$name, $with" -m "gen:$name" "$@" ;;
    file)
        path=$1
        case $1 in *.gz) path=$work/$(basename "$1" .gz); gzip -dc "$1" >"$path" ;; esac
        if head -n 1 "$path" | grep -qi complex; then
            echo skip >>"$results"; echo "skip $(basename "$path"): complex"
        else
            check "$(basename "$path")" -m "$path" --rowlens=on,off -p f64,f32
        fi ;;
    sanitize)
        tool=$1 name=$2; shift 2
        compute-sanitizer --tool "$tool" --error-exitcode 9 "$spmv" -m "gen:$name" -k 'cuda:*' $once "$@" >"$work/log" 2>&1; code=$?
        if [ $code = 0 ]; then said=$(grep SUMMARY "$work/log"); else said=$(tail -n 40 "$work/log"); fi
        verdict "compute-sanitizer $tool, gen:$name" $code "$said" ;;
    esac
    exit 0
fi

# ---- all jobs, the long ones first ---------------------------------------------------------------------------------------
date -u +%Y-%m-%dT%H:%M:%SZ
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || exit 69
"$spmv" -V -v
work=$(mktemp -d) || exit 73
trap 'rm -rf "$work"' EXIT
echo "options of each class: $launches; then $scaled; then" $shapes
list() {
    for t in test_kernels test_formats test_faults test_device_formats; do echo "unit $t"; done
    if [ -z "${FEW:-}" ]; then
        for tool in racecheck initcheck memcheck; do
            for g in giantrow:900:700 mesh:5000 random:400:33:5000; do
                echo "sanitize $tool $g -p f64,f32 --rowlens=on,off --alpha=2 --beta=-1"
            done
        done
    fi
    n=0
    for g in $classes; do
        n=$((n + 1)); [ -z "${FEW:-}" ] || [ $((n % 3)) = 0 ] || continue
        echo "class $g launches $launches"
        echo "class $g scaled $scaled"
        echo "class $g shapes" $shapes
    done
    for f in "$matrices"/*.mtx "$matrices"/*.mtx.gz; do [ ! -f "$f" ] || echo "file $f"; done
}
: >"$work/results"
list >"$work/list"
cores=$(nproc) jobs=$((cores > 12 ? 6 : cores > 2 ? cores / 2 : 1))
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-2}"
grep '^sanitize' "$work/list" | xargs -r -P "${JOBS:-$jobs}" -L 1 sh "$0" "$build" "$work/results"
grep -v '^sanitize' "$work/list" | xargs -r -P 2 -L 1 sh "$0" "$build" "$work/results"
count() { grep -cx "$1" "$work/results"; }
passed=$(count ok) failed=$(count FAIL) skipped=$(count skip) jobs=$(wc -l <"$work/list")
lost=$((jobs - passed - failed - skipped))
[ $lost = 0 ] || echo "$lost jobs ended without a verdict"
echo "$passed passed, $((failed + lost)) failed, $skipped skipped"
[ $((failed + lost)) = 0 ]
