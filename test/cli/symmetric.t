# A symmetric file is expanded, a skew-symmetric one changes sign; y in full precision.
  $ cat >s.mtx <<END
  > %%MatrixMarket matrix coordinate real symmetric
  > 3 3 4
  > 1 1 2.0
  > 2 1 -1
  > 3 2 0.5
  > 3 3 1e1
  > END
  $ sed 's/symmetric/skew-symmetric/; s/^3 3 4/3 3 2/; /^1 1/d; /^3 3 1e1/d' s.mtx >k.mtx
  $ printf '%%%%MatrixMarket matrix array real general\n3 1\n1\n10\n100\n' >x.mtx
  $ $SPMV -m s.mtx -k omp:csr1 -x x.mtx -y y.mtx $quick -q >/dev/null && cat y.mtx
  %%MatrixMarket matrix array real general
  3 1
  -8
  49
  1005
  $ $SPMV -m k.mtx -k omp:csr1 -x x.mtx -y y.mtx $quick -q >/dev/null && cat y.mtx
  %%MatrixMarket matrix array real general
  3 1
  10
  -51
  5
  $ $SPMV -m s.mtx -k omp:csr0 --write general.mtx $quick 2>&1 >/dev/null | mask
  spmv VERSION
  matrix s 3 x 3, 6 nonzeros (symmetric, 4 stored in the file), read in T
  $ cat general.mtx
  %%MatrixMarket matrix coordinate real general
  3 3 6
  1 1 2
  1 2 -1
  2 1 -1
  2 3 0.5
  3 2 0.5
  3 3 10
