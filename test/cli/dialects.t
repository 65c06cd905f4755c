# Files as other programs write them: read with a note, or named for what they are; standard input; every -k counts.
  $ B='%%MatrixMarket matrix coordinate'
  $ try() { "$SPMV" -k omp:csr_serial $quick --no-log "$@" 2>&1 >/dev/null </dev/null | grep -E '^  note|^spmv: '; }
  $ printf '%s\n' "$B unsigned-integer general" '2 2 2' '1 1 5' '2 2 7' >unsigned.mtx; try -m unsigned.mtx
    note: unsigned.mtx:1: 'unsigned-integer' is read as 'integer'
  $ printf '%s\n' "$B real general" '2 2 2' '1 1 nan' '2 2 1.5+100' >words.mtx; try -m words.mtx
    note: words.mtx:3: a word is read as the value inf or nan, here first
    note: words.mtx:4: an exponent such as 1.5+100, 1.5Q+100, 1.5f0 or 1.5*^100 is read, here first
  $ printf '%s\n' "$B real general" '2 2 3' '1 1 9e307' '2 2 1.7e308' '1 2 -1e+308' >stand_in.mtx; try -m stand_in.mtx
    note: stand_in.mtx:5: the value 1e308 is read, which R writes for NA and infinity, here first
  $ try -m words.mtx -q
  [1]
  $ "$SPMV" info unsigned.mtx --format=csv 2>&1 >/dev/null
    note: unsigned.mtx:1: 'unsigned-integer' is read as 'integer'
  $ "$SPMV" sweep unsigned.mtx -k omp:csr_serial,omp:csr_rows $quick --passes=2 --no-log 2>&1 | grep note
    note: unsigned.mtx:1: 'unsigned-integer' is read as 'integer'
  $ printf '%s\n' "$B real general" '2 2 2' '1 1 1' '2 2 1e400' >large.mtx; try -m large.mtx
  spmv: large.mtx:4:5: found '1e400' as the value, expected at most 1.7977e+308: it is too large for a double
  $ printf 'PK\003\004\n' >zip.mtx; try -m zip.mtx
  spmv: zip.mtx: found a zip archive, expected a Matrix Market file: unzip it
  $ printf '%s\n' "$B real general" '2 2 2' '1 1 3' '2 2 4' >ok.mtx
  $ printf '%s\n' "$B real general" '2 1 1' '2 1 3' >x.mtx
  $ "$SPMV" -k omp:csr_serial $quick -q --no-log -m ok.mtx -x x.mtx -y y.mtx >/dev/null; echo "exit $?"; cat y.mtx
  exit 0
  %%MatrixMarket matrix array real general
  2 1
  0
  12
  $ "$SPMV" -k omp:csr_serial $quick --no-log -q --format=csv -m - <ok.mtx | cut -d, -f1 | wc -l
  2
  $ cat ok.mtx | "$SPMV" -k omp:csr_serial $quick --no-log - 2>&1 >/dev/null | grep -c '^matrix stdin  2 x 2'
  1
  $ sed 's/2 2 4/2 5 4/' ok.mtx | "$SPMV" - -q
  ! spmv: standard input:4:3: found '5' as the column, expected an integer from 1 to 2
  [65]
  $ try -m - -x -
  spmv: '-' is standard input, which is read once
  $ "$SPMV" sweep - -k omp:csr_rows
  ! spmv: '-': a sweep reads its matrices more than once, and standard input only once
  [64]
  $ "$SPMV" -k omp:csr_serial -k omp:csr_rows $quick -q --no-log ok.mtx | sed "s/^[*=] /  /" | awk '{print $1}'
  kernel
  csr_serial
  csr_rows
  $ "$SPMV" --log -m ok.mtx
  ! spmv: --log requires a value, and '-m' is an option; --log=-m takes it for the value
  [64]
  $ "$SPMV" -x -k csr_rows -m ok.mtx
  ! spmv: --vector requires a value, and '-k' is an option; --vector=-k takes it for the value
  [64]
# A boolean matrix of R, an edge list with the banner as NumPy writes a header, and what no banner heads.
  $ printf '%s\n' '%%MatrixMarket matrix coo logical sym' '2 2 2' '1 1 TRUE' '2 1 FALSE' >truth.mtx; try -m truth.mtx
    note: stored zeros, kept as nonzeros: 1
    note: truth.mtx:1: 'coo' is read as 'coordinate'
    note: truth.mtx:1: 'sym' is read as 'symmetric'
    note: truth.mtx:2: the banner's 'bool' is read as 'integer', as entries have values
    note: truth.mtx:3: the words true and false are read as 1 and 0, here first
  $ printf '%s\n' "# $B real general" '2e+00 2.0 1.0' '1.0 2.0 5.0' >savetxt.mtx; try -m savetxt.mtx
    note: savetxt.mtx:1: '#\x20%%MatrixMarket' is read as '%%MatrixMarket'
    note: savetxt.mtx:2: a number such as 5.0 or 1e+05 is read as the integer that it is, here first
  $ printf '%s\n' '# Directed graph' '0 1' >edges.mtx; try -m edges.mtx
  spmv: edges.mtx:2: found numbers, expected '%%MatrixMarket matrix coordinate real general' or the like above them, and a line with 'rows columns entries'
