# Duplicates are summed, counted and said; stored zeros are kept and counted.
  $ printf '%%%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1\n2 2 0\n1 1 2\n1 2 -0\n' >d.mtx
  $ $SPMV -m d.mtx -k omp:csr1 $quick 2>&1 >/dev/null | mask
  spmv VERSION
  matrix d 2 x 2, 3 nonzeros, read in T
   note: duplicate entries, which were summed: 1
   note: stored zeros, kept as nonzeros: 2
  $ $SPMV -m d.mtx -k omp:csr1 --format=csv $quick -q |
  >     columns "matrix.nnz_file matrix.nnz matrix.duplicates matrix.explicit_zeros"
  matrix.nnz_file matrix.nnz matrix.duplicates matrix.explicit_zeros
  4 3 1 2
  $ printf '%%%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 1e308\n2 2 1e308\n' >huge.mtx
  $ $SPMV -m huge.mtx -q
  ! spmv: duplicates in row 1 (from 0) have a sum that no double can hold (such places: 1)
  [65]
