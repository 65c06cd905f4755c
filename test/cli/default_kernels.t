# Runs without -k: every kernel of the first paper, verified, one marked best unless all were disturbed.
# omp only
  $ $SPMV -m gen:poisson2d:40 $quick >table 2>talk
  $ mask <talk
  spmv VERSION
  matrix gen:poisson2d:40 1600 x 1600, 7840 nonzeros, made in T
   auto: few rows, and short ones
  $ sed 's/^[*]/ /' table | mask
   kernel config prep median +/- GFLOP/s GB/s MB padding check
   csr_rows (auto) - T T NOISE RATES 0.126 - ok
   csr_serial (csr0) - T T NOISE RATES 0.126 - ok
   csr_rows (csr1) - T T NOISE RATES 0.126 - ok
   csr_blocks (csr2) 2x1 T T NOISE RATES 0.126 - ok
   csr_tiles (csr3) 2x4 T T NOISE RATES 0.248 - ok
   csr_tiles_copied (csr4) 2x4 T T NOISE RATES 0.248 - ok
   ell_rows (ell0) - T T NOISE RATES 0.126 2.0% ok
   ell_blocks (ell1) 2x1 T T NOISE RATES 0.126 2.0% ok
   ell_tiles (ell2) 2x4 T T NOISE RATES 0.248 2.0% ok
  $ if grep -q '^fastest: perhaps ' talk; then sed -i '2s/^ /*/' table; fi
  $ grep -c '^[*] ' table
  1
