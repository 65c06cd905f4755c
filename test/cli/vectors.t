# Several vectors at once in both layouts, and products by the transpose: right, counted, and never ranked with others.
  $ fields="config.kernel config.vectors config.layout config.op status check.status perf.flop perf.bytes_min_B perf.ranked"
  $ m="-m gen:random:40:3 $quick"
  $ $SPMV $m -k omp:csr_serial,omp:csr_rows --vectors=1,3,17 --layout=columns,rows -q --format=csv | columns "$fields"
  config.kernel config.vectors config.layout config.op status check.status perf.flop perf.bytes_min_B perf.ranked
  csr_serial 1 columns as-is ok ok 240 2244 2
  csr_serial 3 columns as-is ok ok 720 3524 2
  csr_serial 3 rows as-is ok ok 720 3524 2
  csr_serial 17 columns as-is ok ok 4080 12484 2
  csr_serial 17 rows as-is ok ok 4080 12484 2
  csr_rows 1 columns as-is ok ok 240 2244 2
  csr_rows 3 columns as-is ok ok 720 3524 2
  csr_rows 3 rows as-is ok ok 720 3524 2
  csr_rows 17 columns as-is ok ok 4080 12484 2
  csr_rows 17 rows as-is ok ok 4080 12484 2
  $ $SPMV $m -k omp:csr_serial -p f64,f32 --vectors=5 --alpha=2 --beta=-1 -T -q --format=csv | columns "$fields config.precision"
  config.kernel config.vectors config.layout config.op status check.status perf.flop perf.bytes_min_B perf.ranked config.precision
  csr_serial 5 columns transpose ok ok 1200 6404 1 f64
  csr_serial 5 columns transpose ok ok 1200 3524 1 f32
  $ $SPMV $m -k omp:auto --iters=1000000 --vectors=8 --layout=rows -T -q --format=csv |
  >     columns "config.requested config.vectors config.layout config.op status check.status perf.flop"
  config.requested config.vectors config.layout config.op status check.status perf.flop
  auto 8 rows transpose ok ok 1920
# What is written has the vectors one after the other in both layouts; the first is that of one vector.
  $ for layout in columns rows; do
  >     $SPMV $m -k omp:csr_serial --vectors=3 --layout=$layout -q -y $layout.mtx >/dev/null
  > done
  $ $SPMV $m -k omp:csr_serial -q -y one.mtx >/dev/null
  $ cmp columns.mtx rows.mtx && wc -l <columns.mtx && tail -n +3 one.mtx >one && tail -n +3 columns.mtx | head -n 40 | cmp - one
  122
# By the transpose: what the matrix written with rows and columns exchanged gives.
  $ printf '%%%%MatrixMarket matrix coordinate real general\n3 2 4\n1 1 1\n1 1 2\n3 1 -1\n3 2 5\n' >a.mtx
  $ printf '%%%%MatrixMarket matrix coordinate real general\n2 3 4\n1 1 1\n1 1 2\n1 3 -1\n2 3 5\n' >t.mtx
  $ printf '%%%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n' >x3.mtx
  $ printf '%%%%MatrixMarket matrix array real general\n6 1\n1\n2\n3\n10\n20\n30\n' >x6.mtx
  $ $SPMV -m a.mtx -T -x x3.mtx -k omp:csr_serial $quick -q -y y.mtx >/dev/null && cat y.mtx
  %%MatrixMarket matrix array real general
  2 1
  0
  15
  $ $SPMV -m t.mtx -x x3.mtx -k omp:csr_serial $quick -q -y z.mtx >/dev/null && cmp y.mtx z.mtx
  $ $SPMV -m a.mtx -T -x x6.mtx --vectors=2 --layout=rows -k omp:csr_serial $quick -q -y y.mtx >/dev/null && cat y.mtx
  %%MatrixMarket matrix array real general
  4 1
  0
  15
  0
  150
  $ $SPMV -m a.mtx -T -x x3.mtx --vectors=2 -k omp:csr_serial $quick -q
  ! spmv: x3.mtx: holds 3 numbers, the matrix has 3 rows for each of 2 vectors
  [65]
  $ $SPMV -m a.mtx -T -x x6.mtx -k omp:csr_serial $quick -q
  ! spmv: x6.mtx: holds 6 numbers, the matrix has 3 rows
  [65]
  $ $SPMV info a.mtx -T --vectors=4 --layout=rows | grep -E '^  (matrix.(rows|cols|nnz_file)|rows.empty|cols.empty|product)' | sed 's/  *$//'
    matrix.rows                2                number of rows
    matrix.cols                3                number of columns
    matrix.nnz_file            4                entries stored in the file
    rows.empty                 0                rows without entries
    cols.empty                 1                columns without entries
    product.op                 transpose        as-is, or transpose (-T): then all this is of the transpose, but what is of the file
    product.vectors            4                that are multiplied at once (--vectors)
    product.layout             rows             of several vectors (--layout)
    product.vectors_B          160              x and y, of all vectors
    product.flop               24               2 nnz of each vector
# The table says it; a sweep ends with each number of vectors apart; a recommended command repeats it.
  $ $SPMV $m -k omp:csr_serial --vectors=1,4 --layout=rows -T 2>&1 | mask
  spmv VERSION
  matrix gen:random:40:3 40 x 40, 120 nonzeros, made in T
   kernel config prep median +/- GFLOP/s GB/s MB check
   csr_serial (csr0) transpose T T NOISE RATES 0.00224 ok
   csr_serial (csr0) vectors=4 rows transpose T T NOISE RATES 0.00416 ok
  $ SPMV_PROBE=off $SPMV sweep gen:random:40:3 -k omp:csr_serial,omp:csr_rows --vectors=1,4 --layout=rows,columns -T $quick 2>/dev/null |
  >     grep caches
  f64, warm caches
  f64, warm caches, 4 vectors in rows
  f64, warm caches, 4 vectors in columns
  $ $SPMV sweep gen:random:40:3 -k omp:csr_serial --vectors=1,4 --layout=rows,columns -T --dry-run --no-log -v 2>&1 | grep omp:
    omp:csr_serial
    omp:csr_serial --vectors=4 --layout=rows
    omp:csr_serial --vectors=4 --layout=columns
  $ $SPMV $m -k omp:csr_serial --layout=rows
  ! spmv: --layout is of several vectors: --vectors=K says how many
  [64]
  $ $SPMV $m -k omp:csr_serial --vectors=0
  ! spmv: --vectors: '0' is not a whole number from 1 to 1048576
  [64]
  $ $SPMV $m -k omp:csr_serial --vectors=2 --layout=diagonals
  ! spmv: --layout: 'diagonals' is not one of columns, rows
  [64]
  $ $SPMV info a.mtx --vectors=2,3
  ! spmv: info: --vectors takes one value here
  [64]
