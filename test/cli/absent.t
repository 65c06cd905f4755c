# A CUDA kernel asked of a `make omp` binary: exit 69 and what to do.
# omp only
  $ $SPMV -k cuda:csr_warp -m gen:poisson2d:5 $quick
  ! spmv: cuda:csr_warp: not built in: make cuda
  [69]
  $ $SPMV -k csr_warp -m gen:poisson2d:5 $quick
  ! spmv: cuda:csr_warp: not built in: make cuda
  [69]
  $ $SPMV -k cuda:csr1 -m gen:poisson2d:5 $quick
  ! spmv: cuda:csr1: not built in: make cuda
  [69]
  $ $SPMV --backend=cuda -m gen:poisson2d:5 $quick
  ! spmv: --backend=cuda: not built in: make cuda
  [69]
