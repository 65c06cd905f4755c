# Every check has a line, in whichever state the machine is, those of a GPU where one opens; a level, a reason and what to type
# where all is not well; exit 0.
. "$CLI/common"
checks="threads pinning affinity smt governor turbo numa quota memory load stolen build libraries peers probe cuda"
$SPMV doctor --probe=here >table; echo "exit $?"
if grep -q '^  cuda .* runs on ' table; then
    checks="$checks gpu-load gpu-memory gpu-clocks gpu-ecc gpu-mig gpu-driver gpu-arch"
fi
for check in $checks; do grep -qE "^  $check +(ok|note|warning) +[^ ]" table || echo "no line: $check"; done
test "$(grep -cE '^  [a-z-]+ +(note|warning) ' table)" = "$(grep -c '  why:  [^ ]' table)" || echo "a line without why"
test "$(grep -c '  why:  ' table)" = "$(grep -c '  type: [^ ]' table)" || echo "a why without type"
tail -n 1 table | sed -E 's/[0-9]+/N/g'
grep -c 'not measured for the CPU' table

# Doctor finds more threads than CPUs and threads that move, and no longer finds them once corrected.
unset OMP_PLACES OMP_PROC_BIND GOMP_CPU_AFFINITY OMP_NUM_THREADS
found() { grep -E "^  $1 " | sed -E 's/ +/ /g' | cut -d ' ' -f 2,3; }
$SPMV doctor --probe=here -t 1024 | found threads
$SPMV doctor --probe=here | found threads
OMP_PROC_BIND=close OMP_PLACES=cores $SPMV doctor --probe=here | found pinning
# Bound threads are as many: the first one's own place is not all there is.
free=$($SPMV doctor --probe=here | grep '^  threads ')
bound=$(OMP_PROC_BIND=close $SPMV doctor --probe=here | grep '^  threads ')
test "$free" = "$bound" || echo "free: $free, bound: $bound"

if $SPMV -V -v | grep -q '^features.*jansson'; then format=jsonl; else format=csv; fi
$SPMV doctor --probe=here --format=$format >lines; echo "exit $?"
[ $format = csv ] || ${PYTHON:-python3} - $checks <<'END'
import json, sys
lines = [json.loads(line) for line in open("lines")]
assert [line["doctor"]["check"] for line in lines] == sys.argv[1:], lines
for line in lines:
    d = line["doctor"]
    assert line["schema"] == "spmv-doctor/1" and d["found"], line
    assert (d["level"] == "ok") == (d["why"] is None) == (d["type"] is None), line
END
$SPMV doctor --format=csv --probe=here -o file
[ $(wc -l <file) = $((1 + $(echo $checks | wc -w))) ] || cat file
$SPMV doctor --probe=here -o no/such/folder/file; echo "exit $?"

$SPMV doctor me; echo "exit $?"
$SPMV doctor -m a.mtx; echo "exit $?"
$SPMV doctor -k csr1; echo "exit $?"
$SPMV doctor --format=xml; echo "exit $?"
