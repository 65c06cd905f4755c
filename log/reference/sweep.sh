#!/bin/sh
# sweep.sh SPMV NAME [OPTION...]: measures the reference with a program that was built, beside this file: NAME-cold.jsonl; with a GPU
# NAME-steady.jsonl, both with 1,000 expected products; NAME-prep.jsonl: large matrices, number of products unknown, for auto's
# preparation; NAME-warm.jsonl: all kernels, and the first paper's parameters, on a few matrices. Called again, it continues where it
# stopped. OPTION: of spmv sweep, such as --dry-run. FILES: more matrices, files or folders; LOGS: another folder than this one;
# PROBE: the folder of the limits; PEERS=: no kernels of other libraries; KERNELS: which of ours (cold and steady).
set -eu
spmv=$1 name=$2 here=$(dirname "$0")
shift 2
logs=${LOGS:-$here} FILES=${FILES-} PROBE=${PROBE:-$HOME/.cache/spmv} device=omp
"$spmv" -V -v | grep -q '^nvcc' && device=cuda
if [ $device = cuda ]; then
    kernels=${KERNELS:-auto,csell_warp,csell_lists,xcache_block,sell_thread_ahead,csr_adaptive,hubs,csr_lanes,csr_merge,csr_warp}
    states='cold steady' time='-n 10 --min-time=0.02 --max-time=0.1'
    more= paper=csr0,csr1,ell0,ell1,ell2 values='--block=64,128,256,512 --rowlens=on,off'
else
    kernels=${KERNELS:-auto,csell_slices,csr_balanced,csr_merge,csr_rows,csr_serial,spc5_rows,sss_rows,csell_sym_slices,sell_lanes,sell16_lanes,csb_blocks,csb_interleaved_blocks}
    states=cold time='--min-time=0.3 --max-time=0.8' shapes='--slice=8 --sigma=1024 --tile=16384'
    [ -z "${KERNELS-}" ] || shapes= # of the kernels above
    more=symmetric paper=csr0,csr1,csr2,csr3,csr4,ell0,ell1,ell2 values='--grid=5x8,10x4 --schedule=static,dynamic --simd=off,on --rowlens=on,off'
fi
on_device() { echo "$device:$1" | sed "s/,/,$device:/g"; }
sweep() { # log, state, kernels, options
    log=$logs/$name-$1.jsonl state=$2 which=$3 code=0
    shift 3
    "$spmv" sweep -k "$which" --cache="$state" --keep-samples=9 --max-noise=3% --timeout=60 --resume --probe="$PROBE" \
        --log "$log" "$@" || code=$?
    [ $code = 3 ] && code=0 # some were refused or stopped; the log names them
    return $code
}

case " $* " in
*" --dry-run "*) ;;
*)  "$spmv" -k $device:csr1 -m gen:poisson2d:1000 --no-log -q >/dev/null # wakes the device
    "$spmv" probe --backend=$device --probe="$PROBE" --log "$logs/$name-probe.jsonl" ;;
esac
for state in $states; do
    main=$(on_device "$kernels${PEERS-,peers}")
    sweep "$state" "$state" "$main" --iters=1000 $time ${shapes-} "$here/$device.list" $FILES "$@"
    for kind in few:8 pattern random $more; do # grids have few values unless they are asked for others
        list=values; [ $kind = random ] && list=grids; [ $kind = symmetric ] && list=symmetric
        sweep "$state" "$state" "$main" --iters=1000 $time ${shapes-} --values=$kind "$here/$device-$list.list" "$@"
    done
    [ $state != cold ] || sweep prep cold $device:auto $time "$here/$device-large.list" "$@"
done
few='gen:twin:cant gen:mesh:500000 gen:rmat:16'
for file in $FILES; do # of the files, those of the paper's kind
    for path in "$file"/cavity10.mtx* "$file"/memplus.mtx* "$file"/xenon1.mtx*; do [ -f "$path" ] && few="$few $path"; done
done
sweep warm warm "$device:*" --min-time=0.01 --max-time=0.05 $few "$@"
sweep warm warm "$(on_device $paper)" --min-time=0.01 --max-time=0.05 $values $few "$@"
