# Matrices without rows, columns or entries are legal.
# Peers refuse them: their libraries take no matrix without entries.
  $ for size in '0 0 0' '0 5 0' '5 0 0' '3 4 0'; do
  >     printf '%%%%MatrixMarket matrix coordinate real general\n%s\n' "$size" >m.mtx
  >     $SPMV -m m.mtx -k 'omp:*' --format=csv $quick -q | grep -v -E 'mkl_csr|librsb|aocl_csr' |
  >         columns "matrix.rows matrix.cols matrix.nnz status" | sort -u
  > done
  0 0 0 ok
  matrix.rows matrix.cols matrix.nnz status
  0 5 0 ok
  0 5 0 skipped
  matrix.rows matrix.cols matrix.nnz status
  5 0 0 ok
  5 0 0 skipped
  matrix.rows matrix.cols matrix.nnz status
  3 4 0 ok
  3 4 0 skipped
  matrix.rows matrix.cols matrix.nnz status
