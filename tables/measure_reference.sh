#!/bin/sh
# measure_reference.sh SPMV NAME [OPTION...]: measures log/reference with a program that was built. Called again, it
# continues where it stopped. In this order, on the outside set f64 before f32:
#   NAME-outside.jsonl  the outside set (make outside): auto with 1,000 expected products, kernels of other libraries, ours that often
#                       win, in cold and steady caches; auto with their number unknown; values left as they are (--codes=off), for the
#                       split of the gain; warm caches for what they hold
#   NAME-classes.jsonl  the same on the generated classes of the papers and bars; NAME-prep.jsonl: auto there, number unknown
#   NAME-every.jsonl    every other kernel on both, for ablation.py
#   NAME-warm.jsonl     every kernel, and the first paper's parameters, on a few matrices in warm caches
#   NAME-beside.jsonl   auto beside the kernels that the file BESIDE names for each matrix (auto/regret.py), in the states given as OPTIONs;
#                       for another list another NAME
# Cold comes first: the preparation of auto in other states finds stores that are there already.
# OPTION: of spmv sweep, such as --dry-run. LIMIT: seconds after which it stops, to be continued (exit code 75). STAGES: which of
# "outside unknown f32 codes warm classes every few beside", all but the last unless it is given. OUTSIDE: the folder of the outside
# set; FILES: more matrices, files or folders, with the classes; LOGS: another folder than log/reference; PROBE: the folder of the limits;
# PEERS: kernels of other libraries by name, none if it is empty (all that are built in); AOCL-Sparse is measured in a process of its
# own, but not again if the log has it; KERNELS: which of ours often win; TIME: options of the stop rule.
set -eu
spmv=$1 name=$2 here=$(dirname "$0") begin=$(date +%s)
shift 2
lists=$here/../log/reference logs=${LOGS:-$here/../log/reference} FILES=${FILES-} PROBE=${PROBE:-$HOME/.cache/spmv} device=omp
outside=${OUTSIDE:-${SPMV_OUTSIDE:-$HOME/.cache/spmv/outside}}
stages=${STAGES:-outside unknown f32 codes warm classes every few}
"$spmv" -V -v | grep -q '^nvcc' && device=cuda
if [ $device = cuda ]; then
    kernels=${KERNELS:-auto,csell_warp,csell_lists,xcache_block,sell_thread_ahead,csr_balanced,hubs,csr_lanes,csr_warp}
    coded=csell_warp,csell_lists,xcache_block,hubs time=${TIME:---min-time=0.01 --max-time=0.05}
    more= paper=csr0,csr1,ell0,ell1,ell2 values='--block=64,128,256,512 --rowlens=on,off' peers=--cusparse=toolkit,fetched
else
    kernels=${KERNELS:-auto,csell_slices,csr_balanced,csr_rows,csr_serial,spc5_rows,sss_rows,csell_sym_slices,sell16_lanes,csb_blocks,csb_interleaved_blocks}
    coded=csell_slices,csell_sym_slices,sell16_lanes,csb_interleaved_blocks time=${TIME:---min-time=0.3 --max-time=0.8}
    more=symmetric peers= paper=csr0,csr1,csr2,csr3,csr4,ell0,ell1,ell2 values='--grid=5x8,10x4 --schedule=static,dynamic --simd=off,on --rowlens=on,off'
fi
case " $stages " in *' beside '*) [ -r "${BESIDE:?the list of regret.py --pick}" ] || exit 66 ;; esac
list=$(mktemp) small=$(mktemp)
trap 'rm -f "$list" "$small"' EXIT
on_device() { echo "$device:$1" | sed "s/,/,$device:/g"; }
built=$("$spmv" list kernels | awk -v device=$device '
    /^[a-z]/ {here = $1 == device}
    here && /\(not built in/ {name = ""}
    /^  [a-z]/ || /^[a-z]/ {if (name != "") print name; name = here && /^  [a-z]/ ? $1 : ""}
    END {if (name != "") print name}')
rivals='cusparse_.*|mkl_.*|librsb_.*|aocl_.*' ours=$(echo "$built" | grep -vxE "auto|$rivals")
wanted=$(echo "${PEERS-$(echo "$built" | grep -xE "$rivals")}" | tr , '\n')
# AOCL-Sparse has a process of its own: its threads spin for 200 ms after a product and take the cores of whoever's turn is next.
apart=$(echo "$wanted" | grep -xE 'aocl_.*' | paste -sd,) others=$(echo "$wanted" | grep -vxE 'aocl_.*|' | paste -sd,)
main=$(on_device "$kernels${others:+,$others}")
case $main in *cusparse_*) ;; *) peers= ;; esac
every=$(echo "$ours" | grep -vxE "$(echo "$kernels" | tr , '|')" | paste -sd,)

# The outside set's files as lists of sources: all of them, and the small ones.
missing=0
while read -r matrix size; do
    if [ -f "$outside/$matrix.mtx" ]; then
        echo "$outside/$matrix.mtx" >>"$list"
        [ "$size" != small ] || echo "$outside/$matrix.mtx" >>"$small"
    else
        missing=$((missing + 1))
    fi
done <<FILES_OF_THE_LIST
$(awk -F, 'NR > 1 {print $1, $(NF - 7)}' "$here/outside/outside.csv" 2>/dev/null)
FILES_OF_THE_LIST
[ -s "$list" ] && [ $missing = 0 ] || echo "measure_reference.sh: $(grep -c . "$list" || :) matrices of the outside set are in $outside; make outside" >&2

sweep() { # log, kernels, options
    log=$logs/$name-$1.jsonl which=$2 code=0
    shift 2
    [ -f "$log" ] || [ ! -f "$log.xz" ] || xz -dk "$log.xz"
    left=0
    if [ -n "${LIMIT-}" ]; then
        left=$((LIMIT - $(date +%s) + begin))
        [ $left -gt 0 ] || exit 75
    fi
    timeout --foreground -s INT $left "$spmv" sweep -k "$which" --keep-samples=9 --max-noise=3% -n 10 --timeout=60 --resume \
        --probe="$PROBE" --log "$log" "$@" || code=$?
    case $code in
    3) ;; # some were refused or stopped; the log names them
    124 | 130) exit 75 ;;
    0) ;;
    *) exit $code ;;
    esac
}

compare() { # log, option for the peers, options: auto and the peers in turns, then those that disturb others
    name_of_log=$1 option=$2
    shift 2
    sweep "$name_of_log" "$main" $option "$@"
    [ -z "$apart" ] || sweep "$name_of_log" "$(on_device "$apart")" "$@"
}

classes() { # kernels, log, options: the generated classes; grids have few values unless they are asked for others
    these=$1 log_of_these=$2
    shift 2
    sweep "$log_of_these" "$these" --cache=cold,steady $time "$@" "$lists/$device.list" $FILES
    for kind in few:8 pattern random $more; do
        values_list=values; [ $kind = random ] && values_list=grids; [ $kind = symmetric ] && values_list=symmetric
        sweep "$log_of_these" "$these" --cache=cold,steady $time --values=$kind "$@" "$lists/$device-$values_list.list"
    done
}

case " $* " in
*" --dry-run "*) ;;
*)  "$spmv" -k $device:csr1 -m gen:poisson2d:1000 --no-log -q >/dev/null # wakes the device
    if [ ! -s "$logs/$name-probe.jsonl" ] || [ -z "$(ls "$PROBE" 2>/dev/null)" ]; then
        "$spmv" probe --backend=$device --probe="$PROBE" --log "$logs/$name-probe.jsonl"
    fi ;;
esac
for stage in $stages; do
    case $stage in outside | unknown | f32 | codes | every) [ -s "$list" ] || continue ;; warm) [ -s "$small" ] || continue ;; esac
    case $stage in
    outside) compare outside "$peers" --cache=cold,steady --iters=1000 $time "$list" "$@" ;;
    unknown) sweep outside $device:auto --cache=cold,steady $time "$list" "$@" ;;
    f32) compare outside "$peers" -p f32 --cache=cold,steady --iters=1000 $time "$list" "$@" ;;
    codes) sweep outside "$(on_device $coded)" --codes=off --cache=cold,steady $time "$list" "$@" ;;
    warm) compare outside "$peers" -p f64,f32 --cache=warm --iters=1000 $time "$small" "$@" ;;
    classes)
        classes "$main" classes -p f64,f32 --iters=1000 "$@"
        [ -z "$apart" ] || classes "$(on_device "$apart")" classes -p f64,f32 --iters=1000 "$@"
        [ -z "$every" ] || classes "$(on_device "$every")" every -p f64,f32 "$@"
        sweep prep $device:auto --cache=cold $time "$lists/$device-large.list" "$@" ;;
    every)
        [ -n "$every" ] || continue
        sweep every "$(on_device "$every")" --cache=cold,steady $time "$list" "$@"
        sweep every "$(on_device "$every")" -p f32 --cache=cold,steady $time "$list" "$@" ;;
    few)
        few='gen:twin:cant gen:mesh:500000 gen:rmat:16'
        for file in $FILES; do # only files of the paper's kind
            for path in "$file"/cavity10.mtx* "$file"/memplus.mtx* "$file"/xenon1.mtx*; do [ -f "$path" ] && few="$few $path"; done
        done
        sweep warm "$(on_device "$(echo "$ours" | paste -sd,)${others:+,$others}")" --cache=warm --min-time=0.01 --max-time=0.05 $few "$@"
        sweep warm "$(on_device $paper)" --cache=warm --min-time=0.01 --max-time=0.05 $values $few "$@" ;;
    beside)
        while read -r matrix kernels shape; do
            [ -f "$outside/$matrix.mtx" ] || continue
            sweep beside "$device:auto,$kernels" --iters=1000 $time $shape "$@" "$outside/$matrix.mtx" </dev/null
        done <"$BESIDE" ;;
    esac
done
