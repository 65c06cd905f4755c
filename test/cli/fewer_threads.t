# OpenMP may give fewer threads than are asked for: every kernel is right then, or stands aside (librsb would crash, oneMKL leave rows out).
  $ for setting in OMP_THREAD_LIMIT=1 OMP_DYNAMIC=true; do
  >     env $setting $SPMV -m gen:mesh:3000 -k 'omp:*' -t 2 $quick -q >/dev/null 2>&1; echo "$setting: exit $?"
  > done
  OMP_THREAD_LIMIT=1: exit 0
  OMP_DYNAMIC=true: exit 0
