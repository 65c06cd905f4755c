# -k auto: one row, what was chosen and why under the table, in the record what was asked and what ran.
# omp only
  $ $SPMV -m gen:poisson2d:60 -k auto $quick >table 2>talk
  $ sed -n 's/^  auto: .*/a reason/p' talk
  a reason
  $ grep -c '(auto)' table
  1
# One product that follows: nothing is converted or timed.
  $ $SPMV -m gen:poisson2d:60 -k auto --iters=1 $quick --format=csv 2>/dev/null | columns "status config.requested config.iters config.format tune.baseline"
  status config.requested config.iters config.format tune.baseline
  ok auto 1 csr 
# The trials find the caches as the products will, where the size of the caches is known.
  $ for cache in warm cold steady; do
  >     $SPMV -m gen:poisson2d:60 -k auto --iters=1000000 --cache=$cache $quick --format=csv 2>/dev/null | columns "config.cache tune.flush_B" |
  >         if [ "$(getconf LEVEL3_CACHE_SIZE || echo 0)" -gt 0 ]; then sed 's/ [1-9][0-9]*$/ flushed/'; else sed '/warm/!s/ 0$/ flushed/'; fi
  > done
  config.cache tune.flush_B
  warm 0
  config.cache tune.flush_B
  cold flushed
  config.cache tune.flush_B
  steady flushed
# A kernel asked for by name is what was requested.
  $ $SPMV -m gen:poisson2d:60 -k csr1 $quick --format=csv 2>/dev/null | columns "config.requested config.kernel config.reason config.iters"
  config.requested config.kernel config.reason config.iters
  csr_rows csr_rows  
# The fastest kernel for as many products as are expected is named, whatever the kernels.
  $ $SPMV -m gen:poisson2d:60 -k omp:csr1,omp:csr_serial --iters=20000 $quick -v 2>&1 >/dev/null | grep "fastest incl" | grep -o "[0-9]* products" | tail -n 1
  20000 products
# Tries what only auto can use; what auto cannot.
  $ try() { "$SPMV" -m gen:poisson2d:5 $quick "$@"; }
  $ try -k omp:csr1 --repeat=none
  ! spmv: --repeat=none applies to -k auto only
  [64]
  $ try -k auto --iters=0
  ! spmv: --iters: '0' is not a whole number from 1 to 2305843009213693951
  [64]
  $ try -k auto -g 2x2
  ! spmv: --grid: auto chooses the kernel and its parameters; -k with the kernel's name sets one of them
  [64]
  $ try -k cuda:auto
  ! spmv: cuda:auto: not built in: make cuda
  [69]
  $ try --backend=cuda -k auto
  ! spmv: --backend=cuda: not built in: make cuda
  [69]
  $ try -k 'au*'
  ! spmv: no kernel 'au*': did you mean 'auto'? ('spmv list' shows what there is)
  [64]
  $ $SPMV list kernels | grep ' auto '
    auto                       chosen for the matrix: candidates by its features, then timed trials
