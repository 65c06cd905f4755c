# Checks what to type for a kernel on a matrix: blocks of one entry where entries are far apart, found by time; the
# flags work.
  $ unset OMP_SCHEDULE OMP_NUM_THREADS
  $ options="-t 1 --no-log --probe=off"
# On a busy machine many short samples tell what is four times faster: others run between them, not in most of them.
  $ for try in $(seq 20); do
  >     $SPMV tune -m gen:random:6000:8 -k omp:bsr_rows --schedule=static --samples=100 --min-time=0.05 --max-time=0.2 $options >out 2>err
  >     grep -q ": confirmed: --shape=1x1" out && break
  > done
  $ sed -n 's/took [a-z0-9. ]*% less time[a-z, ]* in/took P% less time in/; /: /,$p' out
  bsr_rows: confirmed: --shape=1x1 took P% less time in the last comparison; to type:
      spmv -m gen:random:6000:8 -k omp:bsr_rows --schedule=static --shape=1x1 --samples=100 --min-time=0.05 --max-time=0.2 --threads=1 --probe=off
  $ $(sed -n "s|^    spmv|$SPMV|p" out) $quick --format=csv -q | columns "config.kernel config.shape status" | grep -v config
  bsr_rows 1x1 ok
# One thread takes all rows by any schedule: none is clearly faster, whatever a short trial says. Other work that begins between
# the turns of two may confirm what is no gain, but not time and again.
  $ not_confirmed="s/not confirmed: .* in short trials; in the last comparison it .*/nothing is clearly faster than it is/"
  $ for words in "gen:diagonal:3000 --max-time=0.3" "gen:diagonal:300 --schedule=static --max-time=0"; do
  >     for try in $(seq 20); do
  >         $SPMV tune -k omp:bsr_rows --shape=2x2 $options -m $words 2>/dev/null | sed "$not_confirmed" | grep -e : -e "^    " >out
  >         grep -q "nothing is" out && break
  >     done
  >     cat out
  > done
  bsr_rows: nothing is clearly faster than it is
  bsr_rows: nothing is clearly faster than it is
# Several conditions: each answer says which is meant.
  $ $SPMV tune -m gen:diagonal:300 -k omp:bsr_rows --shape=2x2 --schedule=static --vectors=1,3 --layout=rows --max-time=0 $options 2>/dev/null |
  >     sed -n 's/^\(omp:bsr_rows[^:]*\): .*/\1/p'
  omp:bsr_rows --schedule=static --shape=2x2
  omp:bsr_rows --vectors=3 --layout=rows --schedule=static --shape=2x2
# Wrong runs.
  $ for words in "" "-m gen:diagonal:9" "-k csr1" "-m gen:diagonal:9 -k csr1 here" "-m gen:diagonal:9 -k csr1 --format=csv" "-m gen:diagonal:9 -k csr1 --verify=off" "-m gone.mtx -k csr1"; do
  >     $SPMV tune $words $options
  >     echo "exit $?"
  > done
  exit 64
  exit 64
  exit 64
  exit 64
  exit 64
  exit 64
  exit 66
  ! spmv: tune: name one matrix and the kernels, such as 'spmv tune FILE.mtx -k sell_slices'
  ! spmv: tune: name one matrix and the kernels, such as 'spmv tune FILE.mtx -k sell_slices'
  ! spmv: tune: name one matrix and the kernels, such as 'spmv tune FILE.mtx -k sell_slices'
  ! spmv: tune: name one matrix and the kernels, such as 'spmv tune FILE.mtx -k sell_slices'
  ! spmv: tune cannot use --format
  ! spmv: tune cannot use --verify=off
  ! spmv: gone.mtx: No such file or directory ('spmv get gone' downloads it, if the SuiteSparse Matrix Collection has it; 'spmv list matrices' names built-in ones)
  $ echo beside others # on every processor: what is found then is not to be trusted
  beside others
  $ others=
  $ for k in $(seq $(($(nproc) + 1))); do
  >     while :; do :; done &
  >     others="$others $!"
  > done
  $ $SPMV tune -m gen:poisson3d:40 -k csr_serial --max-time=0.3 $options 2>&1 >/dev/null | grep -c "times were disturbed by other programs"
  1
  $ kill $others
