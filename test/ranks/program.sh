#!/bin/sh
# program.sh BUILT: the program under a launcher, mpiexec -n 4 spmv: it prints and logs once, its check finds faults of the
# exchange, all ranks end together. The last line has the counts. FEW=1: a small part of that under sanitizers.
set -u
cd "$(dirname "$0")/../.." || exit 66
built=$1 root=$PWD
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMP_WAIT_POLICY=passive
work=$(mktemp -d) || exit 73
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
case $built:${FEW:-} in *-san:?*) small=true counts=2 ;; *) small=false counts='2 3 4' ;; esac
ok() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAIL $*"; tail -n 15 "$work/out" "$work/err"; }
# is WHAT WANTED GOT
is() { if [ "$2" = "$3" ]; then ok; else bad "$1: '$3', not '$2'"; fi; }
# start MPI RANKS WORDS...: the program; its exit code is $code.
start() {
    launcher=mpiexec.$1 ranks=$2
    shift 2
    rm -f "$work/log.jsonl"
    timeout -k 1 60 "$launcher" -n "$ranks" "$program" "$@" --min-time=0 --max-time=0.02 --log="$work/log.jsonl" >"$work/out" 2>"$work/err"
    code=$?
}
# said PATTERN: in the last record
said() { grep -c "$1" "$work/log.jsonl"; }

right() { # MPI RANKS: results are those of one process, to within rounding
    for words in "-m gen:poisson2d:20" "-m gen:random:200:5:90 --partition=rows --halo=replicate" "-m gen:dense:3" "-m $symmetric" \
        "-m gen:poisson2d:20 --partition=metis -x $work/x.mtx" "-m gen:random:200:5:90 --partition=$work/owners" \
        "-m gen:powerlaw:300:4 -p f32 --overlap=off" "-m gen:random:40:3:300 --vectors=3 --layout=rows --alpha=2 --beta=-1" \
        "-m gen:random:80000:8 --halo=lists -t 2"; do
        start $1 $2 $words -k auto -y "$work/many.mtx"
        is "exit of $words, $1 $2" 0 $code
        is "tables of $words, $1 $2" 1 "$(grep -c 'GFLOP/s' "$work/out")"
        is "rows that auto chose of $words, $1 $2" 1 "$(grep -c '[ (]auto[ )]' "$work/out")"
        is "records of $words, $1 $2" 1 "$(said '"status":"ok".*"ranks":{"count":'$2',"hosts":1')"
        case $words in
            *80000*) is "exchange of $words, $1 $2" 1 "$(said '"exchange":"memory"')" ;; # entries are packed by both threads
            *owners*) is "partition of $words, $1 $2" 1 "$(said '"partition":"owners"')" ;;
            *metis*) is "partition of $words, $1 $2" 1 "$(said '"partition":"metis"')" ;;
            *replicate*) is "halo of $words, $1 $2" 1 "$(said '"halo_asked":"replicate","halo":"replicate","lists_s":null')" ;;
            *dense*) is "halo of $words, $1 $2" 1 "$(said '"halo_asked":"auto","halo":"[lr].*","lists_s":[0-9]')" ;;
        esac
        one=$(echo " $words" | sed 's/--partition=[^ ]*//; s/--overlap=[a-z]*//; s/--halo=[a-z]*//')
        "$program" $one -k csr_rows -q --no-log --min-time=0 --max-time=0 -y "$work/one.mtx" >"$work/out" 2>"$work/err"
        paste "$work/one.mtx" "$work/many.mtx" | awk -v words="$words" 'BEGIN { near = words ~ /f32/ ? 1e-4 : 1e-12 }
            !/^%/ && NF == 2 && $1 - $2 > near * (1 + $1 * $1) || $2 - $1 > near * (1 + $1 * $1) { wrong++ } END { exit wrong > 0 || NR < 3 }' && ok ||
            bad "y of $words, $1 $2"
    done
}

refused() { # MPI
    start $1 2 -m gen:poisson2d:20 -T; is "-T, $1" 64 $code; is "said of -T, $1" 1 "$(grep -c '^spmv: over ranks' "$work/err")"
    start $1 2 -m gen:poisson2d:20 --cache=cold; is "cold, $1" 64 $code
    start $1 2 -m gen:poisson2d:20 -x "$work/large_x.mtx" -p f32; is "an x that f32 cannot hold, $1" 65 $code
    is "said of an x that f32 cannot hold, $1" 1 "$(grep -c '^spmv: .*number 5 is 5e+38, too large for f32' "$work/err")"
    start $1 2 -m gen:poisson2d:20 -Z; is "-Z, $1" 64 $code; is "said of -Z, $1" 1 "$(grep -c '^spmv: unknown option' "$work/err")"
    start $1 2 -m "$work/none.mtx"; is "no file, $1" 66 $code; is "said of no file, $1" 1 "$(grep -c '^spmv: .*none.mtx' "$work/err")"
    start $1 2 -m gen:poisson2d:20 --partition="$work/x.mtx"; is "no partition, $1" 65 $code
    is "said of no partition, $1" 1 "$(grep -c "^spmv: .*x.mtx: its number 1, '%%MatrixMarket', is not a rank from 0 to 1" "$work/err")"
    for command in "sweep gen:poisson2d:20" "info gen:poisson2d:20" table; do
        timeout -k 1 60 mpiexec.$1 -n 2 "$program" $command >"$work/out" 2>"$work/err"; is "$command, $1" 64 $?
        is "said of $command, $1" 1 "$(grep -c 'is for one process' "$work/err")"
    done
    for other in -v -Z "--seed=2" -V --help; do # options of rank 1 alone
        timeout -k 1 60 mpiexec.$1 -n 1 "$program" -m gen:poisson2d:20 -q : -n 1 "$program" -m gen:poisson2d:20 $other >"$work/out" 2>"$work/err"
        is "$other of one rank, $1" 64 $?
        is "said of $other of one rank, $1" 1 "$(grep -c '^spmv: rank 1 has other options' "$work/err")"
    done
    timeout -k 1 60 mpiexec.$1 -n 1 "$program" -m gen:poisson2d:20 -q : -n 1 "$program" nosuch >"$work/out" 2>"$work/err"
    is "an unknown command of one rank, $1" 64 $?
    timeout -k 1 60 mpiexec.$1 -n 1 "$program" -m gen:poisson2d:20 -q : -n 1 env SPMV_LOG=other.jsonl "$program" -m gen:poisson2d:20 -q >"$work/out" 2>"$work/err"
    is "the environment of one rank, $1" 64 $?
    is "said of the environment of one rank, $1" 1 "$(grep -c '^spmv: rank 1 has other options' "$work/err")"
    "$program" -m gen:poisson2d:20 --overlap=on >"$work/out" 2>"$work/err"; is "--overlap of one process" 64 $?
}

# Files of the same name in ranks' working folders that differ in length or at their beginning; and another build of the program.
differing() { # MPI
    head='%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n'
    x='%%%%MatrixMarket matrix array real general\n2 1\n1\n'
    mkdir -p "$work/0" "$work/1"
    printf "${head}2 2 2\n" >"$work/0/m.mtx"; printf "${x}2\n" >"$work/0/x.mtx"
    for of in m:2 m:12 m:3 x:3; do
        cp "$work"/0/*.mtx "$work/1"
        case $of in m:*) printf "${head}2 2 ${of#*:}\n" ;; *) printf "${x}${of#*:}\n" ;; esac >"$work/1/${of%:*}.mtx"
        timeout -k 1 60 mpiexec.$1 -n 2 sh -c 'cd "$0/${PMI_RANK-${OMPI_COMM_WORLD_RANK-}}" && exec "$@"' "$work" "$program" -m m.mtx -x x.mtx \
            -k csr_rows --min-time=0 --max-time=0.01 --no-log >"$work/out" 2>"$work/err"
        code=$?
        case $of in
            m:2) is "exit of equal files, $1" 0 $code; continue ;;
            m:*) words='rank 1: m.mtx is not the file whose header was read' ;;
            *) words='rank 1 reads another x' ;;
        esac
        is "exit of files that differ in $of, $1" 64 $code
        is "said of files that differ in $of, $1" 1 "$(grep -c "^spmv: $words" "$work/err")"
    done
    commit=$("$program" -V -v | sed -n 's/^commit *\([0-9a-f]*\).*/\1/p')
    [ "$commit" ] || return # no git
    mkdir -p "$work/other" && cp "$built/libspmv_$1.so" "$work/other" && LC_ALL=C sed "s/$commit/$(echo $commit | tr 0-9a-f 1-9a-f0)/g" "$program" >"$work/other/spmv"
    chmod 755 "$work/other/spmv"
    timeout -k 1 60 mpiexec.$1 -n 1 "$program" -m gen:poisson2d:20 -q : -n 1 "$work/other/spmv" -m gen:poisson2d:20 -q >"$work/out" 2>"$work/err"
    is "exit of another build, $1" 64 $?
    is "said of another build, $1" 1 "$(grep -c '^spmv: rank 1 is another build of spmv than rank 0' "$work/err")"
}

# Ranks that have no exchange, all of them or one, end all, and nobody waits for MPI to begin. It is said once.
lost() { # MPI
    for two in "$work/alone/spmv $work/alone/spmv" "$program $work/alone/spmv" "$work/alone/spmv $program"; do
        timeout -k 1 20 mpiexec.$1 -n 1 ${two% *} -m gen:poisson2d:20 : -n 1 ${two#* } -m gen:poisson2d:20 >"$work/out" 2>"$work/err"
        is "exit without the exchange, $1, $two" 69 $?
        is "said without the exchange, $1, $two" 1 "$(grep -c "^spmv: no exchange for MPI: libspmv_$1.so is neither in " "$work/err")"
    done
}

# facts: what the last record says of its matrix
facts() { sed -n '$p' "$work/log.jsonl" | grep -o '"\(rows\|cols\|nnz\|nnz_file\|duplicates\|explicit_zeros\|row_std\|bandwidth\|hash\)":[^,}]*' | tr '\n' ' '; }

described() { # MPI RANKS: what ranks say of a matrix is what one process says; a file's faults, too
    for file in "$symmetric" "$work/packed.mtx.gz" gen:rmat:7:4 "$work/a.npz" "$work/a.mat" "$work/a.petsc" "$work/a.petsc:symmetric"; do
        start $1 $2 -m $file -k csr_rows -q; many=$(facts); is "exit of $file, $1 $2" 0 $code
        rm "$work/log.jsonl"; "$program" -m $file -k csr_rows -q --min-time=0 --max-time=0.02 --log="$work/log.jsonl" >"$work/out" 2>"$work/err"
        is "facts of $file, $1 $2" "$(facts)" "$many"
    done
    for file in "$work/wrong.mtx" "$work/wrong.mtx.gz"; do
        start $1 $2 -m $file -k csr_rows; is "exit of $file, $1 $2" 65 $code; many=$(grep '^spmv: ' "$work/err")
        "$program" -m $file -k csr_rows >"$work/out" 2>"$work/err"; is "said of $file, $1 $2" "$(grep '^spmv: .*wrong.mtx.*:43:6: ' "$work/err")" "$many"
    done
    head -c 2000 "$work/a.petsc" >"$work/cut.petsc"
    start $1 $2 -m "$work/cut.petsc" -k csr_rows; is "exit of a file cut short, $1 $2" 65 $code
    is "said of a file cut short, $1 $2" 1 "$(grep -c '^spmv: .*cut.petsc: found columns of .* is the file cut short' "$work/err")"
}

scarce() { # MPI: a rank that lacks memory ends all, is named, and a number of ranks is proposed
    timeout -k 1 60 mpiexec.$1 -n 1 "$program" -m gen:poisson3d:400 -k csr_rows : -n 1 sh -c 'ulimit -v 3000000 && exec "$0" "$@"' "$program" \
        -m gen:poisson3d:400 -k csr_rows >"$work/out" 2>"$work/err"
    is "exit without memory, $1" 71 $?
    is "said without memory, $1" 1 "$(grep -c '^spmv: rank [01]: out of memory.* [0-9]* ranks with as much memory each would fit' "$work/err")"
    # Rank 0 needs more for METIS than it has.
    timeout -k 1 60 mpiexec.$1 -n 1 sh -c 'ulimit -v 3000000 && exec "$0" "$@"' "$program" -m gen:poisson3d:250 -k csr_rows --partition=metis : \
        -n 1 "$program" -m gen:poisson3d:250 -k csr_rows --partition=metis >"$work/out" 2>"$work/err"
    is "exit without memory for METIS, $1" 71 $?
    is "said without memory for METIS, $1" 1 "$(grep -c '^spmv: rank 0: out of memory.* for the partition, and blocks of rows need none' "$work/err")"
}

# FAULT in the exchange of MPI (faulty.c), which lies beside a copy of the program in place of the sound one.
caught() { # FAULT MPI RANKS HALO [-x FILE]
    FAULT=$1; export FAULT
    program=$work/faulty/spmv
    start "$2" "$3" -m gen:poisson2d:30 -k csr_rows --halo=$4 ${5:-} ${6:-}
    is "exit with the fault '$1', $2, $3 ranks, $4" 1 $code
    is "records with the fault '$1', $2, $3 ranks, $4" 1 "$(said '"status":"wrong"')"
    program=$root/$built/spmv
    unset FAULT
}

program=$root/$built/spmv
symmetric=$(grep -l '^%%MatrixMarket.*symmetric' test/data/a*.mtx | head -n 1)
awk 'BEGIN { print "%%MatrixMarket matrix array real general\n400 1"; for (k = 0; k < 400; k++) print k % 17 - 8.5 }' >"$work/x.mtx"
awk 'BEGIN { print "%%MatrixMarket matrix array real general\n900 1"; for (k = 0; k < 900; k++) print 1 }' >"$work/ones.mtx"
sed '7s/.*/5e38/' "$work/x.mtx" >"$work/large_x.mtx"
awk 'BEGIN { for (k = 0; k < 200; k++) print int(k / 3) % 2 }' >"$work/owners"
gzip -c test/data/duplicates.mtx >"$work/packed.mtx.gz"
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general\n60 60 60"; for (k = 1; k <= 60; k++) print k, 1, k == 41 ? "x" : k }' >"$work/wrong.mtx"
gzip -c "$work/wrong.mtx" >"$work/wrong.mtx.gz"
for ending in npz mat petsc; do
    "$program" -m gen:rmat:7:4 -k csr_rows -q --no-log --min-time=0 --max-time=0 --write="$work/a.$ending" >"$work/out" 2>"$work/err"
done
mkdir "$work/alone" && cp "$program" "$work/alone/spmv"
mkdir "$work/faulty" && ln "$program" "$work/faulty/spmv" 2>/dev/null || cp "$program" "$work/faulty/spmv"
for mpi in mpich openmpi; do
    [ -e "$built/libspmv_$mpi.so" ] && command -v mpiexec.$mpi >/dev/null || continue
    for ranks in $counts; do right $mpi $ranks; done
    described $mpi 3
    if $small; then continue; fi
    refused $mpi
    differing $mpi
    lost $mpi
    case $built in *-san) ;; *) scarce $mpi ;; esac # sanitizers take terabytes of addresses
    mpicc.$mpi -std=gnu11 -O1 -g -D_GNU_SOURCE -Iinclude -Isrc -fPIC -shared -Wno-stringop-overflow -Wno-stringop-overread \
        test/ranks/faulty.c -o "$work/faulty/libspmv_$mpi.so" || exit
    for ranks in 2 3 4; do
        for halo in lists replicate; do
            for fault in index dropped late frozen; do caught $fault $mpi $ranks $halo; done
            [ $ranks = 2 ] || caught swapped $mpi $ranks $halo
            [ $ranks = 2 ] || caught swapped $mpi $ranks $halo -x "$work/ones.mtx"
        done
    done
done
# A matrix without entries has no imbalance.
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 0\n' >"$work/none.mtx"
for mpi in mpich openmpi; do
    [ -e "$built/libspmv_$mpi.so" ] && command -v mpiexec.$mpi >/dev/null || continue
    timeout 60 "mpiexec.$mpi" -n 2 "$program" "$work/none.mtx" -k csr_rows --no-log --min-time=0 --max-time=0 >"$work/out" 2>"$work/err"
    is "imbalance of no entries, $mpi" 1 "$(grep -c 'imbalance -;' "$work/err")"
done
# Alone the program loads no MPI.
LD_DEBUG=files "$program" -m gen:poisson2d:20 -k csr_rows -q --no-log --min-time=0 --max-time=0 >"$work/out" 2>"$work/err"
is "MPI in a program alone" 0 "$(grep -c 'libmpi\|libspmv_' "$work/err")"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
