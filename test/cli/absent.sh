# A CUDA kernel asked of a `make omp` binary: exit 69 and what to do.
# omp only
. "$CLI/common"
for k in cuda:csr_warp csr_warp cuda:csr1; do $SPMV -k $k -m gen:poisson2d:5 $quick; echo "exit $?"; done
$SPMV --backend=cuda -m gen:poisson2d:5 $quick; echo "exit $?"
