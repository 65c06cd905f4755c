# --help, -h and --usage speak on stdout and exit 0 (a benchmark used to start); SPMV_HELP means nothing.
. "$CLI/common"
for word in --help -h --usage; do
    $SPMV $word >out; echo "exit $?, names -m: $(grep -q -e '-m' out && echo yes)"
done
$SPMV --help | sed -n '/^Commands:/,/^$/p' | grep -c -w -e run -e list -e compare
SPMV_HELP=1 $SPMV list formats | head -n 1 | cut -c 1-5
