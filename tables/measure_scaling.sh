#!/bin/sh
# measure_scaling.sh SPMV: how classes scale with threads on this machine, pinned and not, in
# log/reference/cpuN-scaling/{pinned,unpinned}.jsonl, N being the number of processors. About 2 minutes.
# measure_scaling.sh: the tables of such logs, as Markdown.
set -eu
unset SPMV_WISDOM # a choice that was remembered is no measurement
here=$(dirname "$0")/../log/reference cpus=$(nproc)
if [ $# = 0 ]; then
    for log in "$here"/cpu*-scaling/*.jsonl*; do
        for kernel in auto csr_rows csr_balanced; do
            printf '\n## %s, %s: GFLOP/s by threads\n\n' $kernel "$(basename "${log%.jsonl*}")"
            ${PYTHON:-python3} "$(dirname "$0")/report/table.py" "$log" -c config.threads --where config.requested=$kernel --format md
        done
    done
    exit
fi
matrices="-m gen:poisson2d:1600 -m gen:fem3d:36 -m gen:mesh:1500000 -m gen:random:1000000:16 -m gen:rmat:19:16 -m gen:banded:40000:101"
logs=$here/cpu$cpus-scaling
mkdir -p "$logs"
threads=$cpus
while [ "$threads" -gt 0 ]; do
    for pinning in pinned unpinned; do
        unset OMP_PROC_BIND OMP_PLACES
        [ $pinning = unpinned ] || export OMP_PROC_BIND=close OMP_PLACES=cores
        "$1" --backend=omp --probe=off -t "$threads" $matrices -k auto,csr_rows,csr_balanced --iters=1000 --min-time=0.1 --max-time=0.2 \
            -n 5 --log "$logs/$pinning.jsonl" --tag pinning=$pinning
    done
    threads=$((threads / 2))
done
