# Facts of a matrix, as a table and as JSON; without a matrix a usage error.
. "$CLI/common"
$SPMV info -m "$DATA/duplicates.mtx" | sed '/^  format /,$d; /matrix.hash/d'
$SPMV info; echo "exit $?"
