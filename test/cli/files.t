# Files that are missing, broken or cannot be written: what and where, and the exit code of ux.md.
# needs jansson
  $ try() { "$SPMV" -k omp:csr1 $quick -q "$@"; }
  $ try -m nothing.mtx
  ! spmv: nothing.mtx: No such file or directory ('spmv get nothing' downloads it, if the SuiteSparse Matrix Collection has it; 'spmv list matrices' names built-in ones)
  [66]
  $ printf 'hello\n' >hello.mtx; try -m hello.mtx
  ! spmv: hello.mtx:1: found 'hello', expected '%%MatrixMarket matrix coordinate real general' or the like: is this a Matrix Market file?
  [65]
  $ printf '%%%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n' >complex.mtx; try -m complex.mtx
  ! spmv: complex.mtx:1: found a complex matrix, expected real, integer or pattern: complex values are not supported
  [65]
  $ printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n3 1 1\n' >outside.mtx; try -m outside.mtx
  ! spmv: outside.mtx:4:1: found '3' as the row, expected an integer from 1 to 2
  [65]
  $ printf '%%%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n' >short.mtx; try -m short.mtx
  ! spmv: short.mtx:2: found a size of 3 entries, expected at most 1 in the 6 bytes that follow: is the file cut short?
  [65]
  $ printf '%%%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n' >ok.mtx
  $ printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n2\n' >x2.mtx; try -m ok.mtx -x x2.mtx
  ! spmv: x2.mtx: holds 2 numbers, the matrix has 3 columns
  [65]
  $ try -m ok.mtx -y /nowhere/y.mtx
  ! spmv: /nowhere/y.mtx: No such file or directory
  [73]
  $ try -m ok.mtx --write /nowhere/w.mtx
  ! spmv: /nowhere/w.mtx: No such file or directory
  [73]
  $ try -m ok.mtx -o /nowhere/table
  ! spmv: /nowhere/table: No such file or directory
  [73]
  $ "$SPMV" -k omp:csr1 -m ok.mtx -q --log=/proc/nowhere --min-time=0
  ! spmv: /proc/nowhere/vm.jsonl: cannot open the log: No such file or directory
  [73]
  $ try -m ok.mtx -k omp:csr1 -o /dev/full -q --min-time=0 --no-log
  ! spmv: /dev/full: cannot be written: is the disk full?
  [73]
