# Without -k: every kernel of the first paper, verified, one marked best.
. "$CLI/common"
# omp only
$SPMV -m gen:poisson2d:40 $quick >table 2>talk || exit
mask <talk
sed 's/^[*]/ /' table | mask
grep -c '^[*] ' table
