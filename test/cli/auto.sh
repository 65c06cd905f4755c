# -k auto: one row, what was chosen and why under the table, in the record what was asked and what ran.
. "$CLI/common"
# omp only
$SPMV -m gen:poisson2d:60 -k auto $quick >table 2>talk || exit
sed -n 's/^  auto: [a-z_]*: .*/a reason/p' talk
grep -c ' auto ' table
# One product that follows: nothing is converted or timed.
$SPMV -m gen:poisson2d:60 -k auto --iters=1 $quick --format=csv 2>/dev/null | columns "status config.requested config.iters config.format tune.baseline"
# The trials find the caches as the products will, where the size of the caches is known.
for cache in warm cold steady; do
    $SPMV -m gen:poisson2d:60 -k auto --iters=1000000 --cache=$cache $quick --format=csv 2>/dev/null | columns "config.cache tune.flush_B" |
        if [ "$(getconf LEVEL3_CACHE_SIZE || echo 0)" -gt 0 ]; then sed 's/ [1-9][0-9]*$/ flushed/'; else sed '/warm/!s/ 0$/ flushed/'; fi
done
# A kernel asked for by name is what was requested.
$SPMV -m gen:poisson2d:60 -k csr1 $quick --format=csv 2>/dev/null | columns "config.requested config.kernel config.reason config.iters"
# The fastest kernel for as many products as are expected is named, whatever the kernels.
$SPMV -m gen:poisson2d:60 -k omp:csr1,omp:csr_serial --iters=20000 $quick 2>&1 >/dev/null | grep "fastest incl" | grep -o "[0-9]* products" | tail -n 1
# Tries what only auto can use; what auto cannot.
try() { "$SPMV" -m gen:poisson2d:5 $quick "$@"; echo "exit $?"; }
try -k omp:csr1 --nondeterministic
try -k auto --iters=0
try -k auto -g 2x2
try -k cuda:auto
try --backend=cuda -k auto
try -k 'au*'
$SPMV list kernels | grep ' auto '
