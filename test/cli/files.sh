# Files that are missing, broken or cannot be written: what and where, and the exit code of ux.md.
# needs jansson
. "$CLI/common"
try() { "$SPMV" -k omp:csr1 $quick -q "$@" </dev/null; echo "exit $?"; }
try -m nothing.mtx
printf 'hello\n' >hello.mtx; try -m hello.mtx
printf '%%%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n' >complex.mtx; try -m complex.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n3 1 1\n' >outside.mtx; try -m outside.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n' >short.mtx; try -m short.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n' >ok.mtx
printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n2\n' >x2.mtx; try -m ok.mtx -x x2.mtx
try -m ok.mtx -y /nowhere/y.mtx
try -m ok.mtx --write /nowhere/w.mtx
try -m ok.mtx -o /nowhere/table
"$SPMV" -k omp:csr1 -m ok.mtx -q --log=/proc/nowhere --min-time=0; echo "exit $?"
try -m ok.mtx -k omp:csr1 -o /dev/full -q --min-time=0 --no-log
