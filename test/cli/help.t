# --help, -h and --usage speak on stdout and exit 0 (a benchmark used to start); SPMV_HELP means nothing.
  $ for word in --help -h --usage; do
  >     $SPMV $word >out; echo "exit $?, names -m: $(grep -q -e '-m' out && echo yes)"
  > done
  exit 0, names -m: yes
  exit 0, names -m: yes
  exit 0, names -m: yes
  $ $SPMV --help | sed -n '/^Commands:/,/^$/p' | grep -c -w -e run -e list -e compare
  0
  [1]
  $ SPMV_HELP=1 $SPMV list formats | head -n 1 | cut -c 1-5
    coo
