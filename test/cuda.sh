#!/bin/sh
# cuda.sh BUILD: tests on a machine with a GPU. PART is one or more of these parts, of at most ten minutes each; all by default:
# users       the commands of README and guide, sweeps that are interrupted and resumed, tables, Python (users.py), in 3 minutes
# kernels     every CUDA kernel against the check, in the unit tests' cross product (every fixture x precision x offsets x alpha,
#             beta x each parameter's values), on every generated class with the options below, and on the matrices in MATRICES
#             (a folder of .mtx or .mtx.gz, default ../shared/matrices)
# sanitizers  three and ten classes under compute-sanitizer
# A job is a process with several matrices, since to start one and to load the kernels takes longer than
# the products; and one job at a time (JOBS), since two that share a GPU take twice as long together as in turn. The last
# line is the count of all, also when it is interrupted: what was not run is named then, and the exit status is not 0.
# FEW=1: a class in three and no sanitizer.
# build/emulated (make test-emulated) needs no GPU, and its classes are small. Python's products of CuPy's matrices come
# with either, if there are SciPy and CuPy.
set -u
build=$1
case $build in *emulated*) emulated=1 ;; *) emulated= ;; esac
spmv=$build/spmv
matrices=${MATRICES:-../shared/matrices}
once='--min-time=0 --max-time=0 -n 1 --no-log -q' # no warming up, no batches: a product, checked twice

# Lists what each class runs with.
launches='-b 64,256,32x8,32x32 --rowlens=on,off -p f64,f32'
scaled='--alpha=2 --beta=-1 --index=64 -p f64,f32'
shapes='--slice=1,32,1024 --sigma=1,all --height=1,4,16,480 --sorted=off,on --boundary=auto,0,3,1000000000 --shape=1x1,2x2,8x3
    --tile=16,256 --lanes=2,8,32'
large='powerlaw:20000:8 rmat:13 ci:2048 poisson2d:300 poisson3d:40 dense:700x900 random:3000:40:90000 mesh:60000
    road:60000 random:30000:16 box27:20 fem3d:12 giantrow:20000:9000 banded:5000:101 permutation:60000 diagonal:300000
    mesh:20000:3 mesh:8000:6 twin:shyy41 dense:1x1 dense:1x5000 dense:5000x1'
small='powerlaw:600:8 rmat:8 poisson2d:30 dense:70x90 random:300:40:900 mesh:400:3 road:900 giantrow:900:700 banded:300:41
    diagonal:900 dense:1x500 dense:500x1'
sanitized='giantrow:2000:1900 mesh:5000 random:400:33:5000'
[ -n "$emulated" ] && classes=${CLASSES:-$small} matrices=${MATRICES:-/none} || classes=${CLASSES:-$large}
quickly='poisson2d:60 box27:9 ci:500 rmat:10 powerlaw:3000:8 diagonal:4000 banded:500:41 dense:70x90 mesh:1500:3 road:3000'
tests=${TESTS:-'test_kernels test_kernel_rules test_kernels_in_turn test_vectors test_apply test_streams test_source test_source_tuning test_values test_device_memory test_peak test_formats test_device_formats test_bittcf test_coo_csb test_csr_balanced test_upload test_live'}

# ---- one job, in its own process: cuda.sh BUILD WORK NUMBER JOB... -------------------------------------------------------
if [ $# -gt 1 ]; then
    all=$2 number=$3 kind=$4; shift 4
    work=$(mktemp -d) || exit 73
    child=
    : >"$all/running.$$"
    trap 'rm -rf "$work" "$all/running.$$"' EXIT
    trap '[ -z "$child" ] || kill "$child" 2>/dev/null; exit 143' INT TERM
    begun=$(date +%s)
    run() { # a command that a signal ends at once; its exit code
        "$@" >"$work/out" 2>"$work/err" &
        child=$!
        wait "$child"; code=$?
        child=
        return $code
    }
    verdict() { # what, exit code, text above it: one write, so that jobs do not mix
        if [ "$2" = 0 ]; then word=ok; else word=FAIL; set -- "$1 (exit $2)" "$2" "$3"; fi
        printf '%s%-4s %3d s  %s\n' "${3:+$3
}" $word $(($(date +%s) - begun)) "$1"
        echo "$word $number" >>"$all/results"
    }
    check() { # name, how many matrices, command: counts the rows by status, and the matrices with one that is ok
        name=$1 expected=$2; shift 2
        run "$@"; code=$?
        rows=$(sed 's/"[^"]*"//g' "$work/out" | awk -F, '
            NR == 1 {for (i = 1; i <= NF; i++) {if ($i == "status") s = i; if ($i == "matrix.name") m = i}}
            NR > 1 && $s != "" {n[$s]++; if ($s == "ok" && !($m in seen)) {seen[$m] = 1; matrices++}}
            END {printf "%d matrices, %d ok, %d skipped, %d wrong, %d failed", matrices, n["ok"], n["skipped"], n["wrong"],
                n["failed"] + n["out of memory"]}')
        [ $code != 0 ] || [ "${rows%% *}" = "$expected" ] || code=1
        said=
        [ ! -f "$work/tool" ] || said=$(if [ $code = 0 ]; then grep SUMMARY "$work/tool"; else tail -n 40 "$work/tool"; fi)
        [ $code = 0 ] || said=$(echo "$said"; cat "$work/err"; grep -E ',(wrong|failed),' "$work/out" | cut -c 1-400 | head -n 5)
        verdict "$name: $rows" $code "$said"
    }
    count_matrices() { # sets n and names from what -m names
        n=0 names=
        for word in "$@"; do case $word in gen:*) n=$((n + 1)) names="$names ${word#gen:}" ;; esac; done
    }
    every="-k cuda:* $once --format=csv"
    set -f # what has a * is for the program
    case $kind in
    unit)
        test=$1; shift
        SPMV_REQUIRE_CUDA=1 run timeout 480 "$build/test/$test" "$@"; code=$?
        cat "$work/err" >>"$work/out"
        if [ $code = 0 ]; then said=$(grep -E 'products|PASSED|forecasts' "$work/out"); else said=$(tail -n 40 "$work/out"); fi
        verdict "$test" $code "$said" ;;
    users)
        run "$PYTHON" test/users.py "$build" "$1"; code=$?
        verdict "users: $1" $code "$(tail -n 60 "$work/out"; tail -n 40 "$work/err")" ;;
    python)
        SPMV=$spmv run "$PYTHON" -W ignore "test/python/$1.py"; code=$?
        verdict "$1" $code "$(tail -n 40 "$work/err" | grep -v '^-*$')" ;;
    class)
        with=$1; shift
        count_matrices "$@"
        check "$with:$names" $n "$spmv" $every "$@" ;;
    file)
        n=0 names=
        for path in "$@"; do
            shift
            case $path in *.gz) plain=$work/$(basename "$path" .gz); gzip -dc "$path" >"$plain"; path=$plain ;; esac
            if head -n 1 "$path" | grep -qi complex; then echo "     $(basename "$path"): complex, not multiplied"; continue; fi
            set -- "$@" -m "$path"
            n=$((n + 1)) names="$names $(basename "$path" .mtx)"
        done
        check "files:$names" $n "$spmv" $every "$@" --rowlens=on,off -p f64,f32 ;;
    vectors) # racecheck of the kernels whose blocks share sums, or whose warps share tiles, of several vectors
        count_matrices "$@"
        : >"$work/tool"
        check "racecheck of several vectors:$names" $n compute-sanitizer --tool racecheck --error-exitcode 9 \
            --log-file "$work/tool" "$spmv" -k cuda:csr_vectors,cuda:csr_shares,cuda:bsr_vectors,cuda:bittcf_warp $once --format=csv "$@" ;;
    sanitize)
        tool=$1 kernels='cuda:*'; shift
        if [ "$tool" = racecheck ]; then # our own kernels only: it reports hazards in cuSPARSE's conversion to blocks
            kernels=$("$spmv" list kernels | awk '/^[a-z]/ {here = $1 == "cuda"}
                here && /^  [a-z]/ && $1 !~ /^(auto|cusparse_)/ {printf "%scuda:%s", n++ ? "," : "", $1}')
        fi
        count_matrices "$@"
        : >"$work/tool"
        check "compute-sanitizer $tool:$names" $n \
            compute-sanitizer --tool "$tool" --error-exitcode 9 --log-file "$work/tool" "$spmv" -k "$kernels" $once --format=csv "$@" ;;
    esac
    exit 0
fi

# ---- all jobs -----------------------------------------------------------------------------------------------------------
date -u +%Y-%m-%dT%H:%M:%SZ
[ -n "$emulated" ] || nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || exit 69
"$spmv" -V -v
work=$(mktemp -d) || exit 73
trap 'rm -rf "$work"' EXIT
in_lines() { # lines of so many words each, with words in front and behind; xargs would continue after a blank at the end
    awk -v n="$1" -v front="$2" -v behind="${3:+ $3}" '{line = line " " $0} NR % n == 0 {print front line behind; line = ""}
        END {if (line) print front line behind}'
}
generated() { for g in "$@"; do echo "-m gen:$g"; done; }
# The first Python that has SciPy, which may be the distribution's and not the first in PATH.
for p in "${PYTHON:=python3}" /usr/bin/python3; do "$p" -c 'import scipy' >/dev/null 2>&1 && PYTHON=$p && break; done
users() {
    listed=$("$PYTHON" test/users.py "$build") || return
    for job in $listed; do echo "users $job"; done
}
kernels() {
    for t in $tests; do
        case $t in test_kernel* | test_apply | test_streams) echo "unit $t cuda" ;; *) echo "unit $t" ;; esac
    done
    echo 'python test_accelerate_cupy'
    n=0 some=
    for g in $classes; do
        n=$((n + 1))
        [ -n "${FEW:-}" ] && [ $((n % 3)) != 0 ] || some="$some $g"
    done
    generated $some | in_lines 5 'class launches' "$launches"
    generated $some | in_lines 5 'class shapes' "$(echo $shapes)"
    generated $some | in_lines 10 'class scaled' "$scaled"
    for f in "$matrices"/*.mtx "$matrices"/*.mtx.gz; do [ ! -f "$f" ] || echo "$f"; done | in_lines 6 file
}
sanitizers() {
    [ -z "${FEW:-}$emulated" ] || return 0
    for tool in racecheck initcheck memcheck; do
        generated $sanitized | in_lines 9 "sanitize $tool" '-p f64,f32 --rowlens=on,off --alpha=2 --beta=-1'
    done
    generated $sanitized | in_lines 9 vectors '--vectors=3,33 --layout=rows,columns -p f64'
    for tool in initcheck memcheck; do generated $quickly | in_lines 20 "sanitize $tool" "$(echo $shapes)"; done
}
: >"$work/results"
for part in ${PART:-users kernels sanitizers}; do
    case $part in
    users | kernels | sanitizers) $part || exit ;;
    *) echo "cuda.sh: no part '$part': PART is of users kernels sanitizers" >&2; exit 64 ;;
    esac
done >"$work/jobs"
nl -w 1 -s ' ' "$work/jobs" >"$work/list"
grep -q '^class' "$work/jobs" && echo "options of the classes: $launches; then $scaled; then" $shapes
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-2}" PYTHON
conclude() { # exit code of an interruption, or 0
    passed=$(grep -c '^ok' "$work/results") failed=$(grep -c '^FAIL' "$work/results") missing=0
    while read -r number job; do
        grep -q " $number\$" "$work/results" && continue
        missing=$((missing + 1))
        echo "not run to its end: $job"
    done <"$work/list"
    echo "$passed passed, $failed failed, $missing not run to their end"
    [ "$1" = 0 ] || exit "$1"
    [ $((failed + missing)) = 0 ]
    exit
}
stop() { # exit code: ends what runs, then says how far it came
    trap '' INT TERM
    kill $pool 2>/dev/null
    for f in "$work"/running.*; do [ ! -f "$f" ] || kill "${f##*.}" 2>/dev/null; done
    wait
    conclude "$1"
}
pool=
trap 'stop 130' INT
trap 'stop 143' TERM
xargs -P "${JOBS:-1}" -L 1 sh "$0" "$build" "$work" <"$work/list" &
pool=$!
wait
conclude 0
