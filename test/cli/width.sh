# Help, lists, facts and findings are no wider than 80 columns, commands to type excepted; the table of a run fits where it is
# shown: columns go by importance, the last are cut; -v and a file have them all.
# omp only
. "$CLI/common"
unset COLUMNS
wide() { awk -v what="$1" 'length > 80 && !/^ *type: / {print what ": " $0}'; }
for words in --help --usage "help run" "help sweep" "help info" "help doctor" "help list" "help probe" "help tune"; do
    $SPMV $words | wide "$words"
done
for words in list "list kernels -v" "list formats" "list matrices" "list twins" doctor "info gen:mesh:1000 -p f32" "info gen:giantrow:12000:12000"; do
    $SPMV $words | wide "$words"
done
COLUMNS=50 $SPMV list formats | awk 'length > 50'
$SPMV doctor --probe=none | grep -A 1 '^  probe'
$SPMV list formats | sed -n '/^  csb /,/^  spc5/p'

run() { $SPMV gen:giantrow:12000:12000 -k csr_serial,ell_rows,sell_slices,cmrs_strips --slice=32,64 $quick -q "$@"; }
heads() { grep -m 1 kernel | tr -s ' '; }
run >file; heads <file; grep -c 'not shown' file
COLUMNS=80 run >file; wide "run" <file; grep -c 'not shown: alias, ' file; sed -n '/skipped/,/ if it fits/p' file | sed 's/ell_rows[ -]*skipped/ell_rows skipped/'
COLUMNS=40 run >file; heads <file; tail -n 1 file
COLUMNS=40 run -v >file; heads <file
