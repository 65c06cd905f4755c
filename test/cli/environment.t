# Every option has an environment twin; the command line overrides it.
  $ export SPMV_KERNEL=omp:csr0 SPMV_MATRIX=gen:poisson2d:7 SPMV_MIN_TIME=0 SPMV_MAX_TIME=0 SPMV_NO_LOG=1 SPMV_FORMAT=csv
  $ $SPMV -q | columns "matrix.name config.kernel"
  matrix.name config.kernel
  gen:poisson2d:7 csr_serial
  $ $SPMV -q -k omp:csr1 -m gen:diagonal:5 | columns "matrix.name config.kernel"
  matrix.name config.kernel
  gen:diagonal:5 csr_rows
