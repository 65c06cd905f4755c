# --stat adds a column beside the median, also where others go; csv and jsonl have every statistic anyway.
  $ once="-m gen:mesh:100 -k omp:csr1 $quick -q"
  $ heads() { head -n 1 | sed -E 's/ +/ /g'; }
  $ for word in median min max mean; do $SPMV $once --stat=$word | heads; done
   kernel prep median +/- GFLOP/s GB/s MB check
   kernel prep median min +/- GFLOP/s GB/s MB check
   kernel prep median max +/- GFLOP/s GB/s MB check
   kernel prep median mean +/- GFLOP/s GB/s MB check
  $ COLUMNS=60 $SPMV $once --stat=min | heads | grep -o 'median min'
  median min
  $ for word in median min; do $SPMV $once --stat=$word --format=csv | head -n 1 | cksum; done | sort -u | wc -l
  1
  $ $SPMV $once --stat=least
  ! spmv: --stat: 'least' is not one of median, min, max, mean
  [64]
  $ $SPMV sweep gen:mesh:100 -k omp:csr1 --stat=min --no-log
  ! spmv: sweep does not take --stat: results go to the log; 'spmv table' and 'spmv report' show them
  [64]
