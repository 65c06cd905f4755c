# Lists of grids: each combination its own row; kernels without columns have one row for both.
# omp only
. "$CLI/common"
$SPMV -m gen:mesh:3000 -k csr2,csr3,ell1,ell2 -g 5x8,10x8,auto --format=csv $quick -q |
    columns "config.kernel config.alias config.grid check.status status"
