# Lists of grids: each combination its own row; kernels without columns have one row for both.
# omp only
  $ $SPMV -m gen:mesh:3000 -k csr2,csr3,ell1,ell2 -g 5x8,10x8,auto --format=csv $quick -q |
  >     columns "config.kernel config.alias config.grid check.status status"
  config.kernel config.alias config.grid check.status status
  csr_blocks csr2 5x1 ok ok
  csr_blocks csr2 10x1 ok ok
  csr_blocks csr2 2x1 ok ok
  csr_tiles csr3 5x8 ok ok
  csr_tiles csr3 10x8 ok ok
  csr_tiles csr3 2x1 ok ok
  ell_blocks ell1 5x1 ok ok
  ell_blocks ell1 10x1 ok ok
  ell_blocks ell1 2x1 ok ok
  ell_tiles ell2 5x8 ok ok
  ell_tiles ell2 10x8 ok ok
  ell_tiles ell2 2x1 ok ok
