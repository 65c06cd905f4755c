# sweep --tune: other values of the parameters that the user has not given, one at a time; the fastest as a command.
  $ unset OMP_SCHEDULE OMP_NUM_THREADS
  $ plan() { $SPMV sweep gen:diagonal:300 --no-log --dry-run --tune "$@" | sed -n 's/^  omp://p'; }
  $ plan -k omp:bsr_rows --schedule=static
  bsr_rows --schedule=static
  bsr_rows --schedule=static --shape=1x1
  bsr_rows --schedule=static --shape=3x3
  bsr_rows --schedule=static --shape=4x4
  bsr_rows --schedule=static --shape=5x5
  bsr_rows --schedule=static --shape=6x6
  bsr_rows --schedule=static --shape=7x7
  bsr_rows --schedule=static --shape=8x8
  $ plan -k omp:csr_blocks,auto --schedule=static -t 2 --chunk=0 --simd=off
  csr_blocks --schedule=static --chunk=0 --simd=off
  auto
  csr_blocks --schedule=static --chunk=0 --simd=off --grid=8x1
  csr_blocks --schedule=static --chunk=0 --simd=off --grid=32x1
  csr_blocks --schedule=static --chunk=0 --simd=off --grid=128x1
# Blocks of one entry where entries are far apart, found by time; the command can be typed.
  $ $SPMV sweep gen:random:6000:8 -k omp:bsr_rows --schedule=static --tune --samples=100 --min-time=0.05 --max-time=0.2 -t 1 --no-log --probe=off -q >out
  $ sed -n '/^to type/,$p' out
  to type:
      spmv -m gen:random:6000:8 -k omp:bsr_rows -t 1 --schedule=static --shape=1x1 --samples=100 --min-time=0.05 --max-time=0.2 --probe=off
  $ $(sed -n "s|^    spmv|$SPMV|p" out) $quick --format=csv -q | columns "config.kernel config.shape status" | grep -v config
  bsr_rows 1x1 ok
# Wrong words.
  $ $SPMV sweep gen:diagonal:9 -k auto --tune --no-log
  ! spmv: --tune: no chosen kernel has a parameter that is not given
  [64]
  $ $SPMV sweep gen:diagonal:9 -k csr1 --tune --ranks=2 --no-log
  ! spmv: --tune is of one process, not of --ranks
  [64]
  $ $SPMV gen:diagonal:9 -k csr1 --tune
  ! spmv: --tune applies to 'spmv sweep' only
  [64]
  $ $SPMV tune gen:diagonal:9 -k csr1
  ! spmv: 'spmv tune FILE' is 'spmv sweep FILE --tune' now
  [64]
