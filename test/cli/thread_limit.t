# OMP_THREAD_LIMIT bounds the team, and the run says so.
  $ OMP_THREAD_LIMIT=3 $SPMV -m gen:poisson2d:40 -k omp:csr1 $quick -t 50 2>&1 >table | grep -o '[0-9]* threads instead of [0-9]*'
  3 threads instead of 50
