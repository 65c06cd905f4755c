# Several vectors at once in both layouts, and products by the transpose: right, counted, and never ranked with others.
. "$CLI/common"
fields="config.kernel config.vectors config.layout config.op status check.status perf.flop perf.bytes_min_B perf.ranked"
m="-m gen:random:40:3 $quick"
$SPMV $m -k omp:csr_serial,omp:csr_rows --vectors=1,3,17 --layout=columns,rows -q --format=csv | columns "$fields"
$SPMV $m -k omp:csr_serial -p f64,f32 --vectors=5 --alpha=2 --beta=-1 -T -q --format=csv | columns "$fields config.precision"
$SPMV $m -k omp:auto --iters=1000000 --vectors=8 --layout=rows -T -q --format=csv |
    columns "config.requested config.vectors config.layout config.op status check.status perf.flop"
# What is written has the vectors one after the other in both layouts; the first is that of one vector.
for layout in columns rows; do
    $SPMV $m -k omp:csr_serial --vectors=3 --layout=$layout -q -y $layout.mtx >/dev/null
done
$SPMV $m -k omp:csr_serial -q -y one.mtx >/dev/null
cmp columns.mtx rows.mtx && wc -l <columns.mtx && tail -n +3 one.mtx >one && tail -n +3 columns.mtx | head -n 40 | cmp - one
# By the transpose: what the matrix written with rows and columns exchanged gives.
printf '%%%%MatrixMarket matrix coordinate real general\n3 2 4\n1 1 1\n1 1 2\n3 1 -1\n3 2 5\n' >a.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n2 3 4\n1 1 1\n1 1 2\n1 3 -1\n2 3 5\n' >t.mtx
printf '%%%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n' >x3.mtx
printf '%%%%MatrixMarket matrix array real general\n6 1\n1\n2\n3\n10\n20\n30\n' >x6.mtx
$SPMV -m a.mtx -T -x x3.mtx -k omp:csr_serial $quick -q -y y.mtx >/dev/null && cat y.mtx
$SPMV -m t.mtx -x x3.mtx -k omp:csr_serial $quick -q -y z.mtx >/dev/null && cmp y.mtx z.mtx
$SPMV -m a.mtx -T -x x6.mtx --vectors=2 --layout=rows -k omp:csr_serial $quick -q -y y.mtx >/dev/null && cat y.mtx
$SPMV -m a.mtx -T -x x3.mtx --vectors=2 -k omp:csr_serial $quick -q; echo "exit $?"
$SPMV -m a.mtx -T -x x6.mtx -k omp:csr_serial $quick -q; echo "exit $?"
$SPMV info a.mtx -T --vectors=4 --layout=rows | grep -E '^  (matrix.(rows|cols|nnz_file)|rows.empty|cols.empty|product)' | sed 's/  *$//'
# The table says it; a sweep ends with each number of vectors apart; a recommended command repeats it.
$SPMV $m -k omp:csr_serial --vectors=1,4 --layout=rows -T 2>&1 | mask
SPMV_PROBE=off $SPMV sweep gen:random:40:3 -k omp:csr_serial,omp:csr_rows --vectors=1,4 --layout=rows,columns -T $quick 2>/dev/null |
    grep caches
$SPMV sweep gen:random:40:3 -k omp:csr_serial --vectors=1,4 --layout=rows,columns -T --dry-run --no-log -v 2>&1 | grep omp:
$SPMV $m -k omp:csr_serial --layout=rows; echo "exit $?"
$SPMV $m -k omp:csr_serial --vectors=0; echo "exit $?"
$SPMV $m -k omp:csr_serial --vectors=2 --layout=diagonals; echo "exit $?"
$SPMV info a.mtx --vectors=2,3; echo "exit $?"
