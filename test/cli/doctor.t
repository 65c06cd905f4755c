# Every check has a line, in whichever state the machine is, those of a GPU where one opens; a level, a reason and what to type
# where all is not well; exit 0.
  $ checks="threads pinning affinity smt governor turbo numa quota memory load stolen build libraries peers probe cuda"
  $ $SPMV doctor --probe=here >table
  $ if grep -q '^  cuda .* runs on ' table; then
  >     checks="$checks gpu-load gpu-memory gpu-clocks gpu-ecc gpu-mig gpu-driver gpu-arch"
  > fi
  $ for check in $checks; do grep -qE "^  $check +(ok|note|warning) +[^ ]" table || echo "no line: $check"; done
  $ test "$(grep -cE '^  [a-z-]+ +(note|warning) ' table)" = "$(grep -c '  why:  [^ ]' table)" || echo "a line without why"
  $ test "$(grep -c '  why:  ' table)" = "$(grep -c '  type: [^ ]' table)" || echo "a why without type"
  $ tail -n 1 table | sed -E 's/[0-9]+/N/g'
  warnings: N, notes: N, ok: N
  $ grep -c 'not measured for the CPU' table
  1

# Doctor finds more threads than CPUs and threads that move, and no longer finds them once corrected.
  $ unset OMP_PLACES OMP_PROC_BIND GOMP_CPU_AFFINITY OMP_NUM_THREADS
  $ found() { grep -E "^  $1 " | sed -E 's/ +/ /g' | cut -d ' ' -f 2,3; }
  $ $SPMV doctor --probe=here -t 1024 | found threads
  threads warning
  $ $SPMV doctor --probe=here | found threads
  threads ok
  $ OMP_PROC_BIND=close OMP_PLACES=cores $SPMV doctor --probe=here | found pinning
  pinning ok
# Bound threads are as many: the first one's own place is not all there is.
  $ free=$($SPMV doctor --probe=here | grep '^  threads ')
  $ bound=$(OMP_PROC_BIND=close $SPMV doctor --probe=here | grep '^  threads ')
  $ test "$free" = "$bound" || echo "free: $free, bound: $bound"

  $ if $SPMV -V -v | grep -q '^features.*jansson'; then format=jsonl; else format=csv; fi
  $ $SPMV doctor --probe=here --format=$format >lines
  $ [ $format = csv ] || ${PYTHON:-python3} - $checks <<'END'
  > import json, sys
  > lines = [json.loads(line) for line in open("lines")]
  > assert [line["doctor"]["check"] for line in lines] == sys.argv[1:], lines
  > for line in lines:
  >     d = line["doctor"]
  >     assert line["schema"] == "spmv-doctor/1" and d["found"], line
  >     assert (d["level"] == "ok") == (d["why"] is None) == (d["type"] is None), line
  > END
  $ $SPMV doctor --format=csv --probe=here -o file
  $ [ $(wc -l <file) = $((1 + $(echo $checks | wc -w))) ] || cat file
  $ $SPMV doctor --probe=here -o no/such/folder/file
  ! spmv: no/such/folder/file: No such file or directory
  [73]

  $ $SPMV doctor me
  ! spmv: doctor: unexpected argument 'me'
  [64]
  $ $SPMV doctor -m a.mtx
  ! spmv: doctor does not take --matrix; 'spmv help doctor' lists what it takes
  [64]
  $ $SPMV doctor -k csr1
  ! spmv: doctor does not take --kernel; 'spmv help doctor' lists what it takes
  [64]
  $ $SPMV doctor --format=xml
  ! spmv: --format: 'xml' is not one of table, csv, jsonl, json
  [64]
