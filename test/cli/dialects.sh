# Files as other programs write them: read with a note, or named for what they are; standard input; every -k counts.
. "$CLI/common"
B='%%MatrixMarket matrix coordinate'
try() { "$SPMV" -k omp:csr_serial $quick --no-log "$@" 2>&1 >/dev/null </dev/null | grep -E '^  note|^spmv: '; }
printf '%s\n' "$B unsigned-integer general" '2 2 2' '1 1 5' '2 2 7' >unsigned.mtx; try -m unsigned.mtx
printf '%s\n' "$B real general" '2 2 2' '1 1 nan' '2 2 1.5+100' >words.mtx; try -m words.mtx
try -m words.mtx -q
"$SPMV" info unsigned.mtx --format=csv 2>&1 >/dev/null
"$SPMV" sweep unsigned.mtx -k omp:csr_serial,omp:csr_rows $quick --passes=2 --no-log 2>&1 | grep note
printf '%s\n' "$B real general" '2 2 2' '1 1 1' '2 2 1e400' >large.mtx; try -m large.mtx
printf 'PK\003\004\n' >zip.mtx; try -m zip.mtx
printf '%s\n' "$B real general" '2 2 2' '1 1 3' '2 2 4' >ok.mtx
printf '%s\n' "$B real general" '2 1 1' '2 1 3' >x.mtx
"$SPMV" -k omp:csr_serial $quick -q --no-log -m ok.mtx -x x.mtx -y y.mtx >/dev/null; echo "exit $?"; cat y.mtx
"$SPMV" -k omp:csr_serial $quick --no-log -q --format=csv -m - <ok.mtx | cut -d, -f1 | wc -l
cat ok.mtx | "$SPMV" -k omp:csr_serial $quick --no-log - 2>&1 >/dev/null | grep -c '^matrix stdin  2 x 2'
sed 's/2 2 4/2 5 4/' ok.mtx | "$SPMV" - -q
try -m - -x -
"$SPMV" sweep - -k omp:csr_rows; echo "exit $?"
"$SPMV" -k omp:csr_serial -k omp:csr_rows $quick -q --no-log ok.mtx | sed "s/^[*=] /  /" | cut -c1-14
"$SPMV" --log -m ok.mtx; echo "exit $?"
"$SPMV" -x -k csr_rows -m ok.mtx; echo "exit $?"
# A boolean matrix of R, an edge list with the banner as NumPy writes a header, and what no banner heads.
printf '%s\n' '%%MatrixMarket matrix coo logical sym' '2 2 2' '1 1 TRUE' '2 1 FALSE' >truth.mtx; try -m truth.mtx
printf '%s\n' "# $B real general" '2e+00 2.0 1.0' '1.0 2.0 5.0' >savetxt.mtx; try -m savetxt.mtx
printf '%s\n' '# Directed graph' '0 1' >edges.mtx; try -m edges.mtx
