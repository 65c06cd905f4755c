#!/bin/sh
# cuda.sh BUILD: on a machine with a GPU: every CUDA kernel against the check, in the unit tests' cross product, on every generated
# class and on the matrices in MATRICES (a folder of .mtx or .mtx.gz, default ../shared/matrices), then under
# compute-sanitizer. Prints machine, driver and counts; the last line is the count of all.
set -u
build=$1
spmv=$build/spmv passed=0 failed=0 skipped=0
matrices=${MATRICES:-../shared/matrices}
work=$(mktemp -d) || exit 73
trap 'rm -rf "$work"' EXIT
verdict() { # what, exit code
    if [ "$2" = 0 ]; then passed=$((passed + 1)); echo "ok   $1"; else failed=$((failed + 1)); echo "FAIL $1 (exit $2)"; fi
}

date -u +%Y-%m-%dT%H:%M:%SZ
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || exit 69
"$spmv" -V -v

for t in "$build"/test/test_kernels "$build"/test/test_formats "$build"/test/test_faults "$build"/test/test_device_formats; do
    SPMV_REQUIRE_CUDA=1 "$t" >"$work/log" 2>&1; code=$?
    grep -E 'products|PASSED|FAILED|SKIPPED|checked' "$work/log"
    verdict "$(basename "$t")" $code
done

quick='--min-time=0.02 --max-time=0.02 --no-log -q --format=csv'
options='-b 64,256,32x8,32x32 --rowlens=on,off -p f64,f32'
check() { # name, spmv options: counts the rows by status
    name=$1; shift
    "$spmv" -k 'cuda:*' $quick "$@" >"$work/csv" 2>"$work/err"; code=$?
    rows=$(awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == "status") s = i} NR > 1 {n[$s]++}
        END {printf "%d ok, %d skipped, %d wrong, %d failed", n["ok"], n["skipped"], n["wrong"], n["failed"]}' "$work/csv")
    [ $code = 0 ] || cat "$work/err"
    verdict "$name: $rows" $code
}
for g in poisson2d:700 poisson3d:80 box27:40 fem3d:20 mesh:300000 road:300000 random:100000:16 random:3000:40:90000 rmat:15 \
    banded:10000:101 giantrow:20000:9000 dense:700x900 permutation:300000 diagonal:300000 ci:4096 powerlaw:20000:8; do
    check "gen:$g" -m "gen:$g" $options
    check "gen:$g, 2 A x - y, 64-bit offsets" -m "gen:$g" --alpha=2 --beta=-1 --index=64
done
for f in "$matrices"/*.mtx "$matrices"/*.mtx.gz; do
    [ -f "$f" ] || continue
    path=$f
    case $f in *.gz) path=$work/$(basename "$f" .gz); gzip -dc "$f" >"$path" ;; esac
    if head -n 1 "$path" | grep -qi complex; then
        skipped=$((skipped + 1)); echo "skip $(basename "$path"): complex"
    else
        check "$(basename "$path")" -m "$path" --rowlens=on,off -p f64,f32
    fi
    [ "$path" = "$f" ] || rm -f "$path"
done

for tool in memcheck racecheck initcheck; do
    for g in mesh:5000 giantrow:900:700 random:400:33:5000; do
        compute-sanitizer --tool $tool --error-exitcode 9 "$spmv" -m gen:$g -k 'cuda:*' -p f64,f32 --rowlens=on,off \
            --alpha=2 --beta=-1 --min-time=0 --max-time=0 -n 1 --no-log -q >"$work/log" 2>&1; code=$?
        grep -E 'SUMMARY' "$work/log"
        verdict "compute-sanitizer $tool, gen:$g" $code
    done
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
