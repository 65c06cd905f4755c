# What would command a terminal, in a file's name, its comment or its words, is spelt out by every
# command: no byte below a blank but the ends of lines, and nothing of U+0080 to U+009F.
# needs jansson
. "$CLI/common"
esc=$(printf '\033') name=$(printf 'evil\033[31m\t\302\233x') once="-k omp:csr1 $quick"
look() { # its words, and whether it shows the name spelt out
    what=$1; shift
    "$SPMV" "$@" >said 2>&1 </dev/null
    printf '%s: exit %d, ' "$what" $?
    grep -q 'x1B\[31m' said && printf 'spelt, '
    LC_ALL=C tr -d '\n' <said | LC_ALL=C tr -cd '\001-\037\177\202\233' | wc -c
}
mkdir folder
{ printf '%%%%MatrixMarket matrix coordinate real general\n%% \033[31mcomment\n'
  printf '2 2 2\n1 1 1\n2 2 3\n'; } >"folder/$name.mtx"
printf '%%%%MatrixMarket matrix \033[31mcoordinate real general\n1 1 0\n' >"folder/z$name.mtx"
look run -m "folder/$name.mtx" $once
# The two are the carriage returns of RFC 4180.
look csv -m "folder/$name.mtx" $once -q --format=csv
look jsonl -m "folder/$name.mtx" $once -q --format=jsonl
look info info "folder/$name.mtx"
look tune tune "folder/$name.mtx" $once -q | sed 's/ spelt,//' # whether it names the file is chance
look plan sweep folder $once --dry-run
look sweep sweep folder $once --log=sweep.jsonl
look table table sweep.jsonl
look 'no file' -m "none$name.mtx" $once
look header -m "folder/z$name.mtx" $once
look kernel -k "$esc[31m"
look option "--$esc[31m"
look topic list "$esc[31m"
SPMV_THREADS="$esc[31m" look environment -m "folder/$name.mtx"
OMP_PROC_BIND=false OMP_SCHEDULE="$esc[31m" look doctor doctor
