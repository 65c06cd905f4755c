# What would command a terminal, in a file's name, its comment or its words, is spelt out by every
# command: no byte below a blank but the ends of lines, and nothing of U+0080 to U+009F.
# needs jansson
  $ esc=$(printf '\033') name=$(printf 'evil\033[31m\t\302\233x') once="-k omp:csr1 $quick"
  $ look() { # its words, and whether it shows the name spelt out
  >     what=$1; shift
  >     "$SPMV" "$@" >said 2>&1 </dev/null
  >     printf '%s: exit %d, ' "$what" $?
  >     grep -q 'x1B\[31m' said && printf 'spelt, '
  >     LC_ALL=C tr -d '\n' <said | LC_ALL=C tr -cd '\001-\037\177\202\233' | wc -c
  > }
  $ mkdir folder
  $ { printf '%%%%MatrixMarket matrix coordinate real general\n%% \033[31mcomment\n'
  >   printf '2 2 2\n1 1 1\n2 2 3\n'; } >"folder/$name.mtx"
  $ printf '%%%%MatrixMarket matrix \033[31mcoordinate real general\n1 1 0\n' >"folder/z$name.mtx"
  $ look run -m "folder/$name.mtx" $once
  run: exit 0, spelt, 0
# The two are the carriage returns of RFC 4180.
  $ look csv -m "folder/$name.mtx" $once -q --format=csv
  csv: exit 0, spelt, 2
  $ look jsonl -m "folder/$name.mtx" $once -q --format=jsonl
  jsonl: exit 0, spelt, 0
  $ look info info "folder/$name.mtx"
  info: exit 0, spelt, 0
  $ look tune sweep "folder/$name.mtx" $once --tune --no-log
  tune: exit 0, spelt, 0
  $ look plan sweep folder $once --dry-run
  plan: exit 0, spelt, 0
  $ look sweep sweep folder $once --log=sweep.jsonl
  sweep: exit 3, spelt, 0
  $ look table table sweep.jsonl
  table: exit 0, spelt, 0
  $ look 'no file' -m "none$name.mtx" $once
  no file: exit 66, spelt, 0
  $ look header -m "folder/z$name.mtx" $once
  header: exit 65, spelt, 0
  $ look kernel -k "$esc[31m"
  kernel: exit 64, spelt, 0
  $ look option "--$esc[31m"
  option: exit 64, spelt, 0
  $ look topic list "$esc[31m"
  topic: exit 64, spelt, 0
  $ SPMV_THREADS="$esc[31m" look environment -m "folder/$name.mtx"
  environment: exit 64, spelt, 0
  $ OMP_PROC_BIND=false OMP_SCHEDULE="$esc[31m" look doctor doctor
  doctor: exit 0, 0
