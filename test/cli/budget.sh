# A format over the budget is skipped before it is allocated, with both sizes; nothing run at all is exit 3.
. "$CLI/common"
$SPMV -m gen:giantrow:20000:10000 -k omp:csr1,omp:ell0 --max-mem=10M $quick 2>/dev/null >table; echo "exit $?"
mask <table
$SPMV -m gen:giantrow:20000:10000 -k omp:ell0 --max-mem=10M $quick 2>/dev/null | mask
$SPMV -m gen:giantrow:20000:10000 -k omp:ell0 --max-mem=10M $quick >/dev/null 2>&1; echo "exit $?"
# What fits but is nearly all padding is skipped too, unless a budget is given.
status() { columns 'config.kernel status reason'; }
$SPMV -m gen:giantrow:400000:200000 -k omp:csr1,omp:sell_slices,omp:hyb_rows --format=csv $quick 2>/dev/null | status
$SPMV -m gen:giantrow:400000:200000 -k omp:sell_slices --max-mem=1G --format=csv $quick 2>/dev/null | status
