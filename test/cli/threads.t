# -t 1,2 is an axis: rows of each number of threads, ranked apart, and how each kernel scales; a serial kernel has one row.
# omp only
# needs jansson
  $ quick="--min-time=0 --max-time=0 --samples=3 --probe=off"
  $ run() { $SPMV gen:poisson2d:40 -k csr_rows,csr_serial,auto $quick --log=x.jsonl "$@"; }
  $ run -t 1,2 --format=csv -q | columns "config.requested config.threads omp.threads status" | sed '/auto/s/ [12] \([12]\) / N \1 /'
  config.requested config.threads omp.threads status
  csr_rows 1 1 ok
  csr_rows 2 2 ok
  csr_serial 1 1 ok
  auto N 1 ok
  auto N 2 ok
  $ run -t 1:2:1 2>&1 | sed -E -e '/^  [~!a]/d' -e '/\(auto\)  /d' -e 's/^[*=] /  /' -e 's/threads=([0-9]) .* ([0-9.]+ \([0-9]+%\)).*/\1 \2/' -e '/ 2 /s/[0-9.]+ \([0-9]+%\)/N (N%)/' -e 's/(fastest .)[12] threads?\):.*/\1N threads)/' | grep -e '^  c' -e '^fastest'
    csr_rows (csr1)    1 1.00 (100%)
    csr_rows (csr1)    2 N (N%)
    csr_serial (csr0)  1 1.00 (100%)
  fastest (N threads)
  $ $SPMV gen:poisson2d:40 -k csr_rows $quick --no-log -t 1,2 2>&1 | sed -n -E 's/^(fastest .)[12] threads?\):( perhaps)? /\1N threads): /p'
  fastest (N threads): csr_rows
  $ run -t 2,2 --format=csv -q | columns "omp.threads"
  omp.threads
  2
  2
  2
  $ $SPMV plot scaling x.jsonl -o y.svg; grep -o '<title>[a-z_]*' y.svg | sort
  <title>auto
  <title>csr_rows
  <title>csr_serial
  <title>ideal
  ! spmv plot: y.svg
# A sweep ends with the fastest number of threads, then the means over its matrices by threads; what is resumed is not measured again.
  $ sweep() { $SPMV sweep gen:poisson2d:40 gen:diagonal:900 -k csr_rows,csr_serial -t 1,2 $quick --log=z.jsonl "$@"; }
  $ sweep --dry-run | sed -n 's/^  omp://p'
  csr_rows --threads=1
  csr_rows --threads=2
  csr_serial --threads=1
  $ sweep -q | sed -E -e 's/[0-9.]+ .?s  /N  /' -e '/ 2  /s/[0-9.]+ \([0-9]+%\)/N (N%)/' -e 's/, [12] threads?$/, N threads/' -e 's/ +/ /g' | grep -e ', warm' -e 'threads time' -A 3 | sed -e 1q -e '/time/,$!d'
  f64, warm caches, N threads
  $ sweep -q --resume | sed -E -e 's/[0-9.]+ .?s  /N  /' -e '/ 2  /s/[0-9.]+ \([0-9]+%\)/N (N%)/' -e 's/ +/ /g' | sed -n '/^ kernel/,$p'
   kernel, means over all matrices threads time speed-up
   csr_rows 1 N 1.00 (100%)
   2 N N (N%)
   csr_serial 1 N 1.00 (100%)
  $ sweep --resume 2>&1 | grep -o '6 reused'
  6 reused
# Commands that take one number.
  $ for command in info doctor; do $SPMV $command -t 1,2; done
  ! spmv: --threads: several numbers are an axis of run and sweep, in one process
  ! spmv: --threads: several numbers are an axis of run and sweep, in one process
  [64]
  $ $SPMV -t 0
  ! spmv: --threads: '0' is not a whole number from 1 to 1024
  [64]
