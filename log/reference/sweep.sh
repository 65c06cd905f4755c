#!/bin/sh
# sweep.sh SPMV NAME [OPTION...]: measures the reference with a program that was built: NAME-cold.jsonl beside this file, with a GPU
# NAME-steady.jsonl too. Called again, it goes on where it was. OPTION: of spmv sweep, such as --dry-run. FILES: more
# matrices, files or folders; LOGS: another folder than this one; PROBE: where limits go; PEERS= none of other libraries.
set -eu
spmv=$1 name=$2 here=$(dirname "$0")
shift 2
logs=${LOGS:-$here} FILES=${FILES-} PROBE=${PROBE:-$HOME/.cache/spmv} device=omp
"$spmv" -V -v | grep -q '^nvcc' && device=cuda
if [ $device = cuda ]; then
    kernels=auto,packed_warp,sell_thread_ahead,csr_adaptive,csr_hubs,csr_lanes,csr_merge,csr_warp
    states='cold steady' time='--min-time=0.03 --max-time=0.15'
else
    kernels=auto,packed_slices,csr_balanced,csr_merge,csr_rows,csr_serial,masked_rows,symmetric_rows,sell_lanes,narrow_lanes,csb_blocks
    states=cold time='--min-time=0.3 --max-time=0.8 --slice=8 --sigma=1024 --tile=16384'
fi
kernels=$device:$(echo $kernels${PEERS-,peers} | sed "s/,/,$device:/g")
sweep() { # state, options
    state=$1 code=0
    shift
    "$spmv" sweep -k "$kernels" --cache="$state" $time --keep-samples=9 --max-noise=3% --timeout=60 --resume --log "$logs/$name-$state.jsonl" "$@" || code=$?
    [ $code = 3 ] && code=0 # some were refused or given up: the log says which
    return $code
}

case " $* " in
*" --dry-run "*) ;;
*)  "$spmv" -k $device:csr1 -m gen:poisson2d:1000 --no-log -q >/dev/null # wakes the device
    "$spmv" probe --backend=$device --probe="$PROBE" --log "$logs/$name-probe.jsonl" ;;
esac
for state in $states; do
    sweep "$state" --probe="$PROBE" "$here/$device.list" $FILES "$@"
    for values in few:8 pattern; do
        sweep "$state" --probe="$PROBE" --values=$values "$here/$device-values.list" "$@"
    done
done
