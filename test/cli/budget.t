# A format over the budget is skipped before it is allocated, with both sizes; nothing run at all is exit 3.
  $ $SPMV -m gen:giantrow:20000:10000 -k omp:csr1,omp:ell0 --max-mem=10M $quick 2>/dev/null >table
  $ mask <table
   kernel prep median +/- GFLOP/s GB/s MB check
   csr_rows (csr1) T T NOISE RATES 1.2 ok
   ell_rows (ell0) - - - - - - skipped: ell_rows needs 2.4 GB (longest row 10000, mean 3.5), limit 10 MB
  $ $SPMV -m gen:giantrow:20000:10000 -k omp:ell0 --max-mem=10M $quick 2>/dev/null | mask
   kernel prep median +/- GFLOP/s GB/s MB check
   ell_rows (ell0) - - - - - - skipped: ell_rows needs 2.4 GB (longest row 10000, mean 3.5), limit 10 MB
  $ $SPMV -m gen:giantrow:20000:10000 -k omp:ell0 --max-mem=10M $quick >/dev/null 2>&1
  [3]
# A reason that the row above has is not said twice.
  $ $SPMV -m gen:giantrow:10000 -k ell_rows,ell_blocks --no-log --probe=off --max-mem=10M -t 2 2>/dev/null | grep -c 'as above'
  1
# What fits but is nearly all padding is skipped too, unless a budget is given.
  $ status() { columns 'config.kernel status reason'; }
  $ $SPMV -m gen:giantrow:400000:200000 -k omp:csr1,omp:sell_slices,omp:hyb_rows --format=csv $quick 2>/dev/null | status
  config.kernel status reason
  csr_rows ok 
  sell_slices skipped sell_slices: 92.85 MB, 5 times what csr takes: most of it is padding (longest row 200000, mean 3.5); --max-mem=SIZE builds it if it fits
  hyb_rows ok 
  $ $SPMV -m gen:giantrow:400000:200000 -k omp:sell_slices --max-mem=1G --format=csv $quick 2>/dev/null | status
  config.kernel status reason
  sell_slices ok 
