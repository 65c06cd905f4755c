# Lists speak as options do: words where an option takes words; what belongs together stands in columns.
. "$CLI/common"
$SPMV list -k everything -v | sed -n '/^omp/,/^cuda/p' | grep -A 3 '^  csr_rows ' | grep '^        --'
$SPMV list -k everything -v | grep -m 1 '^        --isa'
$SPMV list -k everything -v | sed -n '/^omp/,/^cuda/p' | grep -A 2 '^  csr_tiles ' | tail -n 2
$SPMV list | grep -n ' $' # no line ends in blanks
$SPMV list -k everything | grep -ow csell_warp | uniq # also where nothing but names is known
$SPMV list formats | awk '{ at[match($0, /[a-z0-9_]+ +/) + RLENGTH] } END { for (k in at) print "texts begin in column", k }'
