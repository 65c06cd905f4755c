# Help speaks on stdout and exits 0; SPMV_HELP means nothing.
  $ unset COLUMNS
  $ for word in --help -h "run -h" "help options" "help kernels"; do
  >     $SPMV $word >out; echo "exit $?, names -k: $(grep -q -e ' -k' out && echo yes)"
  > done
  exit 0, names -k: yes
  exit 0, names -k: yes
  exit 0, names -k: yes
  exit 0, names -k: yes
  exit 0, names -k: yes
  $ SPMV_HELP=1 $SPMV list formats | head -n 1 | cut -c 1-5
    coo
# It fits one screen, and begins with what is a command's own.
  $ $SPMV --help | awk 'length > 80; END {print NR <= 40}'
  1
  $ $SPMV --help | sed -n '/^Options/,$p' | grep -c '^  '
  20
  $ for command in run sweep info; do $SPMV help $command | sed -n 4p; done
  What to multiply:
  How a sweep proceeds:
  What info counts:
  $ for command in get table report plot compare; do COLUMNS=80 $SPMV help $command | awk 'length > 80'; done
  $ for command in run sweep info list doctor options kernels; do
  >     COLUMNS=44 $SPMV help $command | awk -v command=$command 'length > 44 {print command ": " $0}'
  >     $SPMV help $command | awk -v command=$command '/^[A-Z].*:$/ {if (last) print command ": nothing below " last; last = $0} /^ / {last = ""}'
  > done
