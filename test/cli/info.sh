# Facts of a matrix, as a table and as JSON; without a matrix a usage error.
. "$CLI/common"
$SPMV info -m "$DATA/duplicates.mtx" | sed '/^  format /,$d; /matrix.hash/d'
$SPMV info; echo "exit $?"
# What a format cannot hold is said, as a run says it; parameters given are used, or refused.
printf '%%%%MatrixMarket matrix coordinate real general\n2 268435457 1\n1 1 1\n' >wide.mtx
$SPMV info -m wide.mtx | grep -A 1 '^  cmrs'
$SPMV info -m gen:mesh:1000 --slice=64 --height=16 -p f32 | grep -E '^  (format|sell|cmrs|spc5) |^    not' | sed 's/  *$//'
$SPMV info -m gen:giantrow:12000:12000 | grep -A 1 -E '^  ell '
$SPMV info -m gen:dense:3 -b 64; echo "exit $?"
$SPMV info -m gen:dense:3 --height=2,4; echo "exit $?"
$SPMV info -m gen:dense:3 -p f32,f64; echo "exit $?"
