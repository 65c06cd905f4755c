# Kernels by name, format or group, in any case.
# omp only
  $ COLUMNS=80
  $ $SPMV list -k csr
  omp (default)
    csr_serial (csr0)          rows one after the other, by one thread
    csr_rows (csr1)            parallel for over rows
    csr_blocks (csr2)          parallel for over blocks of rows
    csr_tiles (csr3)           2-D tiles of one CSR matrix, found through offsets
    csr_tiles_copied (csr4)    2-D tiles, each column block a CSR matrix of its
                               own
    csr_balanced               equal shares of rows plus entries, rows summed with
                               vector instructions
    csr_scatter                the transpose from the rows that are there: threads
                               add to windows of y
  $ $SPMV list -k ELL,Sell
  omp (default)
    ell_rows (ell0)            parallel for over ELL rows
    ell_blocks (ell1)          parallel for over blocks of ELL rows
    ell_tiles (ell2)           2-D tiles of the padded ELL array
    sell_slices                parallel for over slices, rows of a slice side by
                               side in vector registers
  $ $SPMV list -k 'CSR1,Omp:ell_R*'
  omp (default)
    csr_rows (csr1)            parallel for over rows
    ell_rows (ell0)            parallel for over ELL rows
  $ $SPMV list -k csel
  ! spmv: no kernel 'csel': did you mean 'csell_sym_slices', 'csell_slices',
  !   'csell_lists' or 'csell_warp'? ('spmv list' shows what there is)
  [64]
  $ $SPMV list -k xcache
  ! spmv: no kernel of this build reads the format 'xcache'; cuda is not built in:
  !   make cuda
  [69]
  $ $SPMV list -k cuda:csr
  ! spmv: cuda:csr: not built in: make cuda
  [69]
  $ $SPMV list -k papers | awk '/^  [a-z]/ {print $1, $2}' | grep -e '(' -e '^[a-z0-9]*_[a-z]* '
  csb_blocks parallel
  csr_serial (csr0)
  csr_rows (csr1)
  csr_blocks (csr2)
  csr_tiles (csr3)
  csr_tiles_copied (csr4)
  ell_rows (ell0)
  ell_blocks (ell1)
  ell_tiles (ell2)
  dia_rows (dia)
  sell_slices parallel
  bsr_rows parallel
  cmrs_strips parallel
  hybrid_rows parallel
  hyb_rows stripes
  csr5_tiles (csr5)
  $ $SPMV list kernels | tail -n 5
    csr5_tiles (csr5)          equal shares of transposed tiles, rows put together
                               by a segmented sum
  cuda (not built in: make cuda)
  These can be the fastest, or have a paper's short name; -k everything lists all,
    -k papers, -k peers or -k FORMAT those.
  $ for group in all papers everything; do $SPMV list -k $group | awk '/^  [a-z]/ {print $1}' | grep -Exc 'csr_balanced|csr5_tiles|cmrs_strips|coo_segments|mkl_csr|auto'; done
  2
  2
  6
  $ $SPMV list -k peers | awk '/^  [a-z]/ {print $1}'
  mkl_csr
  mkl_csr_plain
  librsb_tuned
  librsb_symmetric
  aocl_csr
  $ $SPMV gen:poisson2d:20 -k SELL,csr1 $quick -q --format=csv | columns 'config.kernel status'
  config.kernel status
  sell_slices ok
  csr_rows ok
  $ $SPMV gen:poisson2d:20 $quick -q --format=csv | columns 'config.requested status'
  config.requested status
  auto ok
  csr_serial ok
  csr_rows ok
  csr_blocks ok
  csr_tiles ok
  csr_tiles_copied ok
  ell_rows ok
  ell_blocks ok
  ell_tiles ok
  $ $SPMV info gen:poisson2d:20 -k csr,ELL | sed -n '/^  format /,$p'
    format              MB (f64)  bytes/nnz   padding
    csr                     0.02      12.84      0.0%
    csr_columns             0.03      15.34      0.0%
    ell                     0.03      13.33      4.2%
    ell_pitched             0.03      16.83     33.3%
