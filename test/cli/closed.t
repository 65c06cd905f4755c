# stdin, stdout or stderr closed by the caller: no log, table or matrix that the program opens takes its place, and what is
# printed goes nowhere, children of a sweep included.
# omp only
# needs jansson
  $ quick=${quick%--no-log*}"--probe=off -t 1"
  $ printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 3\n' >a.mtx
  $ without() { # "0 1 2" NAME command...: the streams closed
  >     streams=$1 what=$2
  >     shift 2
  >     case $streams in
  >     0) "$@" <&- >/dev/null 2>&1 ;;
  >     1) "$@" >&- 2>/dev/null ;;
  >     2) "$@" >/dev/null 2>&- ;;
  >     *) "$@" <&- >&- 2>&- ;;
  >     esac
  >     echo "$what without $streams: exit $?"
  > }
  $ for streams in 0 1 2 "0 1 2"; do
  >     name=run$(echo $streams | tr -d ' ')
  >     without "$streams" run $SPMV -m a.mtx -k omp:csr1 $quick --log=$name.jsonl --write=$name.mtx
  >     without "$streams" csv $SPMV -m a.mtx -k omp:csr1 $quick --no-log --format=csv --output=$name.csv --result=$name.y.mtx
  >     cmp a.mtx $name.mtx
  >     cmp run0.y.mtx $name.y.mtx
  >     columns "schema status" <$name.csv
  > done
  run without 0: exit 0
  csv without 0: exit 0
  schema status
  spmv-run/1 ok
  run without 1: exit 0
  csv without 1: exit 0
  schema status
  spmv-run/1 ok
  run without 2: exit 0
  csv without 2: exit 0
  schema status
  spmv-run/1 ok
  run without 0 1 2: exit 0
  csv without 0 1 2: exit 0
  schema status
  spmv-run/1 ok
  $ without 1 sweep $SPMV sweep a.mtx -k omp:csr1 $quick --log=sweep1.jsonl
  sweep without 1: exit 0
  $ without 2 sweep $SPMV sweep a.mtx -k omp:csr1 $quick --log=sweep2.jsonl
  sweep without 2: exit 0
  $ without 1 tune $SPMV sweep gen:diagonal:300 -k omp:csr_serial --tune -t 1 --max-time=0 --probe=off --log=tune.jsonl
  tune without 1: exit 0
  $ ${PYTHON:-python3} - <<'END'
  > import glob, json
  > for name in sorted(glob.glob("*.jsonl")):
  >     print(name, *sorted({json.loads(line)["schema"] for line in open(name)}))
  > END
  run0.jsonl spmv-run/1
  run012.jsonl spmv-run/1
  run1.jsonl spmv-run/1
  run2.jsonl spmv-run/1
  sweep1.jsonl spmv-run/1
  sweep2.jsonl spmv-run/1
  tune.jsonl spmv-run/1
