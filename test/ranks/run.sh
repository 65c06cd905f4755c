#!/bin/sh
# run.sh BUILT: products over 1 to 4 ranks are those of the whole matrix, through the exchange of each MPI that is here, and
# the check finds every fault of faulty.c, and those that are planted here in src/ranks. The last line has the counts.
# FEW=1: what fits into CI's budget, under sanitizers a small part.
set -u
cd "$(dirname "$0")/../.." || exit 66
built=$1
# Open MPI starts neither as root nor more ranks than there are cores unless asked.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMP_WAIT_POLICY=passive
work=$(mktemp -d) || exit 73
trap 'rm -rf "$work"' EXIT
trap 'exit 143' INT TERM
# Under sanitizers all is compiled with them but the MPIs. ranks.c looks for leaks between the begin of MPI and its end.
printf 'leak:%s\n' libmpi libmpich libopen- libpmix libuc libfabric libhwloc libevent libpmi mca_ >"$work/leaks"
export LSAN_OPTIONS=leak_check_at_exit=0:print_suppressions=0:suppressions=$work/leaks UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
case $built in *-san) sanitize="-fsanitize=${SAN:?} -fno-omit-frame-pointer" ;; *) sanitize= ;; esac
small=false
[ -z "$sanitize" ] || [ -z "${FEW:-}" ] || small=true
flags="-std=gnu11 -O1 -g $sanitize -fopenmp -Wall -Wextra -Wshadow -Wno-stringop-overflow -Wno-stringop-overread -D_GNU_SOURCE -Iinclude -Isrc"
alone='-rdynamic src/host/environment.c' # for a program with src/ranks: functions that it calls and libspmv.so does not export
passed=0 failed=0 skipped=0 ran=false
number() { sed -n "s/^\([0-9]*\) passed, \([0-9]*\) failed\$/\\$1/p" "$work/said"; } # 1: passed, 2: failed
# run MPI RANKS WORDS...: what the program, ranks_MPI or ranks_$special, says and counts goes to $work/said.
run() {
    launcher=mpiexec.$1 program=$built/ranks_${special:-$1} ranks=$2
    shift 2
    timeout -k 1 300 "$launcher" -n "$ranks" "$program" "$@" >"$work/said" 2>&1
}
# sound MPI RANKS WORDS...: everything is right.
sound() {
    run "$@"; code=$?
    p=$(number 1) f=$(number 2)
    if [ $code != 0 ] && [ "${f:-0}" = 0 ]; then f=1; echo "FAIL exit $code: $*"; fi
    if [ "$f" != 0 ]; then tail -n 20 "$work/said"; fi
    s=$(sed -n "s/^\([0-9]*\) skipped\$/\1/p" "$work/said")
    passed=$((passed + ${p:-0})) failed=$((failed + f)) skipped=$((skipped + ${s:-0}))
}
# found: the check has found the fault; or a sanitizer, which ends the program before the check.
found() { [ "$(number 2 | grep -c '[1-9]')" = 1 ] || { [ -n "$sanitize" ] && grep -q 'Sanitizer\|runtime error' "$work/said"; }; }
# caught FAULT MPI RANKS [WORDS...]: the check finds the fault, and the program comes to its end.
caught() {
    fault=$1 mpi=$2 ranks=$3
    shift 3
    FAULT=$fault run $mpi $ranks -x "$built/faulty_$mpi.so" "$@" -m gen:poisson2d:12
    if found; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAIL the fault '$fault' was not found: $mpi, $* of ranks"
        tail -n 20 "$work/said"
    fi
}

# ends MPI WORDS PROGRAM ARGUMENTS...: three ranks come to their end, and say so why.
ends() {
    mpi=$1 words=$2 program=$3
    shift 3
    timeout -k 1 30 "mpiexec.$mpi" -n 3 "$program" "$@" >"$work/said" 2>&1; code=$?
    if [ $code -lt 124 ] && grep -q "$words" "$work/said"; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAIL exit $code without '$words': $mpi $program $* (FAULT=${FAULT-})"
        tail -n 20 "$work/said"
    fi
}
# failures MPI: what one rank lacks ends all.
failures() {
    ends $1 'ranks have no exchange' "$built/ranks_$1" -w /no/such/exchange.so
    # Its third request is for what it can do without; the last are for the halo.
    for n in 1 2 4 5 6 7 8 9 10 11 12 13 14 15; do
        FAULT=nomem:$n ends $1 'out of memory\|[1-9][0-9]* failed' "$built/ranks_$1" -x "$built/faulty_$1.so" -m gen:poisson2d:12
    done
    for n in 16 17 18; do # for all of x
        FAULT=nomem:$n ends $1 'out of memory\|[1-9][0-9]* failed' "$built/ranks_$1" -x "$built/faulty_$1.so" -h replicate -m gen:poisson2d:12
    done
    mpicc.$1 $flags -fPIC -shared -DOTHER_VERSION=1 test/ranks/faulty.c -o "$built/other_$1.so" || exit
    ends $1 'of another version' "$built/ranks_$1" -x "$built/other_$1.so"
    mpicc.$1 $flags -DOTHER_MPI test/ranks/ranks.c -o "$built/ranks_other" -rdynamic -L"$built" -lspmv -Wl,-rpath,'$ORIGIN' -lm || exit
    ends $1 "not known: 'Another MPI 1.0'" "$built/ranks_other"
    mpicc.$1 $flags test/ranks/crowd.c src/ranks/exchange/mpi/[bms]*.c -o "$built/crowd" || exit
    "$built/crowd" >"$work/said"; passed=$((passed + $(number 1))) failed=$((failed + $(number 2)))
    grep FAIL "$work/said"
    plant ranks/ranks.c 'ranks->all = malloc(' 'ranks->all = ranks->rank == 1 ? NULL : malloc('
    build_planted $1 ranks/ranks.c && ends $1 'out of memory' "$built/ranks_planted" -m gen:poisson2d:12
}

# sources FOLDER: what a program with src/ranks is made of. object FILE: what its object is called.
sources() { find "$1" -name '*.c' ! -path '*/mpi/*'; }
object() { echo "${1%.c}.o" | tr / _; }
# scarce MPI: rank 1 gets no memory when src/ranks asks for the Nth time, every N that there is: all are told, and go on, or end
# if there is no communicator yet.
scarce() {
    objects=
    for file in $(sources src/ranks); do
        objects="$objects $work/scarce_$(object "$file")"
        mpicc.$1 $flags -include test/ranks/scarce.h -c "$file" -o "${objects##* }" || exit
    done
    mpicc.$1 $flags test/ranks/ranks.c $objects -o "$built/ranks_scarce" $alone -L"$built" -lspmv -Wl,-rpath,'$ORIGIN' -lm || exit
    for n in 1 2 3; do SCARCE=$n ends $1 'gets no memory' "$built/ranks_scarce" -m gen:poisson2d:12; done
    special=scarce
    sound $1 3 -s gen:poisson2d:12 -s "$work/many_duplicates.mtx" -s "$work/duplicates.mtx.gzip" -s "$work/long_rows_1.mtx"
}

# take_turns LEAST: $numbers: of ranks that a fault is planted for, LEAST to 4; with FEW one of them, each in its turn.
turn=0
take_turns() {
    numbers=$(seq "$1" 4) turn=$((turn + 1))
    [ -z "${FEW:-}" ] || numbers=$(($1 + turn % (5 - $1)))
}
# exchanged MPI FILE OLD NEW [LEAST]: the check finds the fault, of src/ranks/exchange/mpi/FILE with NEW in the place of OLD, with LEAST and
# more ranks. Ranks that misunderstand each other may wait forever. Of one matrix each rank gets entries from those before it alone.
exchanged() {
    kind=
    [ $2 != shared_x.c ] || kind='-h replicate'
    awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general"; print 60, 60, 180
        for (k = 0; k < 180; k++) print 1 + k % 60, 1 + k * 7 % (1 + k % 60), k + 1 }' >"$work/one_way.mtx"
    plant "ranks/exchange/mpi/$2" "$3" "$4"
    "mpicc.$1" $flags -include unistd.h -fPIC -shared "$work"/ranks/exchange/mpi/*.c -o "$built/planted_$1.so" || exit
    take_turns "${5:-2}"
    for ranks in $numbers; do
        timeout -k 1 10 "mpiexec.$1" -n $ranks "$built/ranks_$1" -x "$built/planted_$1.so" $kind -m gen:random:60:5 \
            -m gen:poisson2d:12 -m "$work/one_way.mtx" >"$work/said" 2>&1; code=$?
        if [ $code != 0 ]; then passed=$((passed + 1)); else
            failed=$((failed + 1))
            echo "FAIL '$4' in src/ranks/exchange/mpi/$2 was not found: $1, $ranks ranks"
        fi
    done
}
# planted MPI FILE OLD NEW: the check finds the fault, of src/ranks/FILE with NEW in the place of OLD, in a program of its own.
planted() {
    plant "ranks/$2" "$3" "$4"
    build_planted $1 "ranks/$2" || exit
    kind=
    [ $2 != plan/whole.c ] || kind='-h replicate -n gen:poisson2d:12'
    take_turns 2
    for ranks in $numbers; do
        timeout -k 1 120 "mpiexec.$1" -n $ranks "$built/ranks_planted" $kind -m gen:random:60:5 -m gen:poisson2d:12 -m gen:dense:1x3000 \
            >"$work/said" 2>&1
        if found; then passed=$((passed + 1)); else
            failed=$((failed + 1))
            echo "FAIL '$4' in src/ranks/$2 was not found: $ranks ranks"
        fi
    done
}
# plant FOLDER/FILE OLD NEW: $work/FOLDER is src/FOLDER with the fault. NEW may go on with others, "/;s/OLD/NEW"; each must find
# what it replaces.
plant() {
    rm -rf "$work/${1%%/*}"
    cp -r "src/${1%%/*}" "$work/${1%%/*}"
    printf '%s\n' "s/$2/$3/" | sed 's|;s/|\ns/|g' | while IFS= read -r one; do
        cp "$work/$1" "$work/before"
        sed -i "$one" "$work/$1"
        ! cmp -s "$work/before" "$work/$1" || { echo "FAIL src/$1 has nothing for '$one'"; exit 1; }
    done || failed=$((failed + 1))
}
# Files without the fault are compiled once for each MPI.
build_planted() {
    objects=$work/objects_$1
    for file in $(sources "$work/ranks") test/ranks/ranks.c; do
        object=$objects/$(object "${file#"$work/"}")
        sound=src/${file#"$work/"}
        if [ -e "$sound" ] && ! cmp -s "$file" "$sound"; then object=$work/planted.o; elif [ -e "$object" ]; then continue; fi
        mkdir -p "$objects"
        "mpicc.$1" $flags -c "$file" -o "$object" || return
    done
    "mpicc.$1" $flags $(ls "$objects"/*.o | grep -v "/$(object "$2")\$") "$work/planted.o" -o "$built/ranks_planted" $alone -L"$built" \
        -lspmv -Wl,-rpath,'$ORIGIN' -lm
}

# write_texts: $fine: files that are read, in every form, and sources; $wrong: files that are refused.
write_texts() {
    fine=$(for file in test/data/*.mtx gen:rmat:7:4 gen:road:300 gen:random:40:3:300 gen:powerlaw:300:4 gen:dense:1x7 gen:dense:3 \
        gen:permutation:97; do printf ' -r %s' "$file"; done)
    for file in coordinate_real_symmetric array_real_general coordinate_pattern_general duplicates; do
        cp "test/data/$file.mtx" "$work/$file.mtx"
        for pack in gzip xz zstd bzip2; do
            command -v $pack >/dev/null || continue
            $pack -c "test/data/$file.mtx" >"$work/$file.mtx.$pack"
            fine="$fine -r $work/$file.mtx.$pack"
        done
    done
    tar -C "$work" -czf "$work/duplicates.tar.gz" duplicates.mtx
    "$built/spmv" -m gen:random:40000:8 --values=pattern --write="$work/long.mtx" -k csr_rows -q --no-log --min-time=0 --max-time=0 >"$work/said" 2>&1
    gzip -1c "$work/long.mtx" >"$work/long.mtx.gz"
    fine="$fine -r $work/duplicates.tar.gz -r $work/long.mtx -r $work/long.mtx.gz"
    sh test/ranks/texts.sh "$work"
    fine="$fine -r $work/long_rows_1.mtx -r $work/long_rows_2.mtx -r $work/many_duplicates.mtx -r $work/many_duplicates.mtx.gz -m $work/many_duplicates.mtx" wrong=
    head -c 3000 "$work/long.mtx.gz" >"$work/cut.mtx.gz"
    for at in 3 4 25 61 62; do
        for how in word index lost added; do wrong="$wrong -r $work/${how}_$at.mtx"; done
        wrong="$wrong -r $work/word_$at.mtx.gz"
    done
    { cat "$work/word_3.mtx" | head -n 30 | sed 's/ x$/ 1/'; head -c 1100000 /dev/zero | tr '\0' 1; } >"$work/endless.mtx"
    gzip -1c "$work/endless.mtx" >"$work/endless.mtx.gz"
    printf '%%%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n' >"$work/complex.mtx"
    : >"$work/empty.mtx"
    wrong="$wrong -r $work/endless.mtx -r $work/endless.mtx.gz -r $work/cut.mtx.gz -r $work/complex.mtx -r $work/empty.mtx"
}

# misread MPI FILE OLD NEW: reading beside one rank finds the fault, of src/ranks/FILE or src/io/FILE.
misread() {
    if [ -e "src/ranks/$2" ]; then
        plant "ranks/$2" "$3" "$4"
        build_planted $1 "ranks/$2" || exit
    else
        plant "io/$2" "$3" "$4"
        cp "$built/ranks_$1" "$built/ranks_planted"
        mkdir -p "$work/lib" && cp "$built/parts.a" "$work/parts.a" && ar d "$work/parts.a" "$(basename "$2" .c).o" && ln -sf "$PWD/$built/libspmv_$1.so" "$work/lib/" && ln -sf libspmv.so "$work/lib/libspmv.so.0" &&
            ${CC:-gcc} $flags -Isrc -fPIC -c "$work/io/$2" -o "$work/planted.o" && ${CC:-gcc} -shared $flags -o "$work/lib/libspmv.so" "$work/planted.o" \
            -Wl,--whole-archive "$work/parts.a" -Wl,--no-whole-archive $(cat "$built/.libs") -lm || exit
    fi
    take_turns 2
    for ranks in $numbers; do
        LD_LIBRARY_PATH=$work/lib timeout -k 1 120 "mpiexec.$1" -n $ranks "$built/ranks_planted" -r test/data/coordinate_real_symmetric.mtx \
            -r "$work/many_duplicates.mtx" -r "$work/word_61.mtx" -r "$work/duplicates.mtx.gzip" -r gen:rmat:7:4 >"$work/said" 2>&1
        if found; then passed=$((passed + 1)); else
            failed=$((failed + 1))
            echo "FAIL '$4' in $2 was not found: $ranks ranks"
        fi
    done
    rm -rf "$work/lib"
}

# reading MPI: what ranks read is what one reads alone.
reading() {
    write_texts
    for ranks in 1 2 3 4; do sound $1 $ranks $fine $wrong; done
    sound $1 6 -r "$work/padded.mtx.gz"
    if [ -z "$sanitize" ]; then
        "$built/spmv" -m gen:random:375000:8 --values=pattern --write="$work/large.mtx" -k csr_rows -q --no-log --min-time=0 --max-time=0 >"$work/said" 2>&1
        sound $1 4 -b "$work/large.mtx"
        rm "$work/large.mtx"
    fi
    # a share's first line is lost, its last one; an entry on its way, a mirror image; lines of earlier shares, counts of others
    misread $1 market/mmio_blocks.c 'w->begin = newline + 1;' 'w->begin = newline + 2 + strcspn(newline + 1, "\\n");'
    misread $1 market/mmio_blocks.c '    if (newline) {' '    if (newline \&\& r->end_byte < r->bytes) { w->end = memrchr(w->begin, 10, (size_t)(newline - w->begin)); w->end = w->end ? w->end + 1 : w->begin; } else if (newline) {'
    misread $1 load/entries.c 'if (!ranks_put(arg, owner, e)) return false' 'if (e->col != 1 \&\& !ranks_put(arg, owner, e)) return false'
    misread $1 load/entries.c 'mirrored && has.row' '!mirrored \&\& has.row'
    misread $1 load/file.c 'l->lines += p->lines' 'l->lines += p->entries'
    misread $1 load/read.c 'l->made || is_first(l)' 'true'
    misread $1 load/read.c 'position, &own' 'position + 1, \&own'
    # rows are renumbered: a column keeps its index, a row has another one
    misread $1 load/move.c 'place\[before\[k\]\]' 'before[k] + 0 * place[0]'
    misread $1 load/move.c '\[place\[i\] - first\] = i' '[place[i] - first] = i ^ 1'
}

# forecast MPI RANKS SOURCE...: spmv info --ranks counts what each rank says that it has, for each partition.
forecast() {
    mpi=$1 ranks=$2
    shift 2
    for source in "$@"; do
        rows=$("$built/spmv" info $source --format=json | sed -n 's/.*"rows":\([0-9]*\),.*/\1/p' | head -n 1)
        awk -v ranks=$ranks -v rows=$rows 'BEGIN { for (k = 0; k < rows; k++) print (k * 7 + int(k / 5)) % ranks }' >"$work/owners"
        for how in nnz rows metis "$work/owners"; do
            "$built/spmv" info $source --ranks=$ranks --partition=$how >"$work/said" 2>&1 || # square matrices, by the installed partitioners
                { grep -q 'square matrices\|not installed' "$work/said" && continue; }
            run $mpi $ranks -i $source -p $how
            "$built/spmv" info $source --ranks=$ranks --partition=$how -v |
                awk 'NF == 8 && $1 ~ /^[0-9]+$/ {print $1, $2, $3, $5, $6, $7, $8}' >"$work/counted"
            if [ -s "$work/counted" ] && cmp -s "$work/said" "$work/counted"; then passed=$((passed + 1)); else
                failed=$((failed + 1))
                echo "FAIL spmv info $source --ranks=$ranks --partition=$how counts otherwise than the ranks:"
                diff "$work/said" "$work/counted" | head -n 20
            fi
        done
    done
}

# part MPI: a small part of all
part() {
    for n in 2 3; do sound $1 $n; done
    sound $1 3 -h replicate
    $ran || { write_texts; sound $1 3 $fine $wrong; }
}

matrices=$(for file in test/data/[ac]*.mtx test/data/duplicates.mtx; do printf ' -m %s' "$file"; done)
kernels=$("$built/spmv" list --format=json |
    sed -n 's/.*"backend":"omp","name":"\([a-z0-9_]*\)".*"not_built_in":null.*/ -k \1/p' | tr -d '\n')
# Where ranks share cores MPICH spins while it waits, and Open MPI does not: what is tried once takes a third of the time so.
for mpi in openmpi mpich; do
    [ -e "$built/libspmv_$mpi.so" ] || continue
    command -v mpiexec.$mpi >/dev/null || { echo "run.sh: no mpiexec.$mpi"; continue; }
    mpicc.$mpi $flags test/ranks/ranks.c -o "$built/ranks_$mpi" -L"$built" -lspmv -Wl,-rpath,'$ORIGIN' -lm &&
        mpicc.$mpi $flags -fPIC -shared test/ranks/faulty.c -o "$built/faulty_$mpi.so" || exit
    if $small; then part $mpi; ran=true tried=$mpi; continue; fi
    for n in 1 2 3 4; do sound $mpi $n; done
    for n in 2 3 4; do sound $mpi $n -h replicate; done
    # Messages between hosts, shared memory within each; messages alone
    for n in 2 3 4; do FAULT=hosts sound $mpi $n -x "$built/faulty_$mpi.so"; done
    for fault in unshared nomem:3; do FAULT=$fault sound $mpi 3 -x "$built/faulty_$mpi.so"; done # faults of a list of the host's ranks
    # What does not depend on the exchange is tried with one.
    if ! $ran; then
        sound $mpi 3 $matrices
        sound $mpi 2 $kernels
        reading $mpi
        forecast $mpi 4 gen:rmat:7:4 gen:random:40:3:300 gen:dense:7x1 gen:dense:3x6000 "$work/long_rows_1.mtx" "$work/long_rows_2.mtx"
        # a wrong beta on the remote part, a remote column for an own one, a last row skipped, own entries off by one
        planted $mpi plan/ranks_plan.c 'double one = 1' 'double one = 2'
        # a split row is summed twice: its owner has all of it, too; another rank's sum; the last product's sums
        planted $mpi load/long_rows.c 'drop_long(s, l->first_row\[ranks->rank\], &out->rows);' '(void)drop_long;'
        planted $mpi plan/split.c 'add_row(precision, k, sums, r == me' 'for (int twice = 0; twice < 2; twice++) add_row(precision, k, sums, r == me'
        planted $mpi plan/split.c 'r == me ? p->own : others' '(others ? p->own : p->own)'
        planted $mpi plan/ranks_plan.c 'works && status == SPMV_OK) status = ranks_split_multiply(mat, &plan->split, call)' \
            'works \&\& status == SPMV_OK \&\& call->beta \&\& *call->beta != 0) status = ranks_split_multiply(mat, \&plan->split, call)'
        # faults of listed rows: the row before gets the sum, which replaces y, the last one gets none
        planted $mpi plan/split.c 'mat->listed\[r\], ldz' 'mat->listed[r] ? mat->listed[r] - 1 : 0, ldz'
        planted $mpi plan/split.c '(double \*)z)\[to \* ldz + v\] +=' '(double *)z)[to * ldz + v] ='
        planted $mpi plan/split.c 'r < mat->nlisted' 'r + 1 < mat->nlisted'
        planted $mpi plan/parts.c 'col < f->first_col + f->own_cols' 'col <= f->first_col + f->own_cols'
        planted $mpi plan/parts.c 'ptr\[i + 1\] = remote' 'ptr[i + 1] = i + 1 < g->rows ? remote : d->remote.ptr[i]'
        # overlap starts too early: others' entries are multiplied before they have come
        planted $mpi plan/ranks_plan.c 'multiply_local(plan, call))' \
            'multiply_local(plan, call) ? SPMV_E_DEVICE : multiply_remote(plan, call))/;s/status = ranks_ctx_failed(ranks, multiply_remote.*/(void)0;'
        # in memory that ranks share: entries are not awaited, or counted before they are there; a slow rank's halo is overwritten, as
        # there is one of them, or since a fast one does not wait; a rank's place, a block in x
        slow='usleep(3000 * (1 + host->me));'
        exchanged $mpi shared.c '        if (x)' "$slow &/;s/ shared_wait(&s->posted.*/;"
        exchanged $mpi shared.c '        if (x)' "shared_post(\&me->posted, link->now); $slow &"
        late='usleep(3000 * (uint32_t)link->host->me);'
        exchanged $mpi shared.c '(exchange & 1) \* box' '0 * exchange * box/;s/    return slot_of(link->own/    '"$late"' &'
        exchanged $mpi shared.c 'shared_wait(&t->box->begun, link->now - 1, host)' '(void)0/;s/    return slot_of(link->own/    '"$late"' &'
        exchanged $mpi shared.c '(size_t)me->first \* row' '0' 3
        exchanged $mpi shared.c 't->give\[0\] \* apart' '(t->give[0] + 1) * apart'
        # faults of a replicated x: not awaited, in one place in place of two, and a rank's part at the beginning
        slow='usleep(3000 * (uint32_t)(1 + x->host->me));'
        exchanged $mpi shared_x.c '    if (own)' "$slow &/;s/ shared_wait(&p->posted.*/ ;"
        exchanged $mpi shared_x.c '(x->now & 1) \* x->slot' '0 * x->slot/;s/^    return (char .*x->memory/    usleep(3000 * (uint32_t)x->host->me); &'
        exchanged $mpi shared_x.c '(size_t)first\[0\] \* x->row' '0 * x->row'
        # rows that are put together: an own column or a remote one is another, a value stays, rows are not listed
        planted $mpi plan/whole.c 'first_col + p->local' '0 * first_col + p->local'
        planted $mpi plan/whole.c 'behind - before) + k' 'middle - before) + k'
        planted $mpi plan/whole.c 'copy_values(values + behind' 'copy_values(values + (idx ? behind : at)'
        planted $mpi plan/whole.c 'mat->listed\[r\] < i' 'mat->listed[r] < i - 1'
        # on the board: who is slow reads what was said in the next turn
        exchanged $mpi board.c 'text\[\(.*\) & 1\]' 'text[0 * (\1)]/;s/    return other->text/    usleep(1000 * (unsigned)b->host->me); &'
        planted $mpi exchange/halo.c 'a->wanted_here\[k\] -' 'a->wanted_here[k ? k - 1 : 0] -'
    fi
    ran=true tried=$mpi # MPICH is faster where no rank shares a core
    failures $mpi
    for n in 2 3 4; do
        for kind in '' '-h replicate'; do
            for one in index dropped late; do caught $one $mpi $n $kind; done
            [ $n = 2 ] || caught swapped $mpi $n $kind
            [ "$kind" ] || caught shifted $mpi $n
        done
    done
done
# The program under a launcher.
if $ran; then
    scarce $tried
    sh test/ranks/program.sh "$built" >"$work/said" 2>&1
    p=$(number 1) f=$(number 2)
    passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1}))
    sed '$d' "$work/said"
    count=200
    [ -z "$sanitize${FEW:-}" ] || count=10
    if ! $small; then
        "${PYTHON:-python3}" test/ranks/kills.py "$built" $count >"$work/said" 2>&1
        p=$(number 1) f=$(number 2)
        passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1}))
        sed '$d' "$work/said"
    fi
fi
$ran || { echo "run.sh: no MPI: install libopenmpi-dev and openmpi-bin, or libmpich-dev and mpich"; exit 69; }
echo "$skipped skipped: a kernel cannot hold that matrix"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
