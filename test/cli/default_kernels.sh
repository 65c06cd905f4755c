# Runs without -k: every kernel of the first paper, verified, one marked best unless all were disturbed.
. "$CLI/common"
# omp only
$SPMV -m gen:poisson2d:40 $quick >table 2>talk || exit
mask <talk
sed 's/^[*]/ /' table | mask
grep -q 'none is marked' talk && sed -i '2s/^ /*/' table
grep -c '^[*] ' table
