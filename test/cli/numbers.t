# Numbers take exponents and units where they mean something; what is often mistyped gets a sentence.
  $ COLUMNS=1000
  $ try() { "$SPMV" gen:poisson2d:5 -k csr_serial $quick -q "$@"; }
  $ try --iters=1e6 --max-time=20ms --min-time=0 --max-noise=5% --samples=1e1 --format=csv | columns 'timing.samples status' | grep -c ok
  1
  $ for time in 0 0.01 10ms 10000us 0.01s; do try --min-time=$time --format=csv | columns 'status'; done | sort | uniq -c | sed 's/^ *//'
  5 ok
  5 status
  $ try --max-time=1m --min-time=1h --dry-run
  ! spmv: --dry-run applies to 'spmv sweep' only
  [64]
  $ try --max-noise=5
  ! spmv: --max-noise: '5' would be 500%: type 5% or 0.05
  [64]
  $ try --max-noise=1
  ! spmv: --max-noise: '1' would be 100%: type 1% or 0.01
  [64]
  $ try --iters=1.5
  ! spmv: --iters: '1.5' is not a whole number from 1 to 2305843009213693951
  [64]
  $ try --iters=1e30
  ! spmv: --iters: '1e30' is not a whole number from 1 to 2305843009213693951
  [64]
  $ try --max-time=5x
  ! spmv: --max-time: '5x' is not a time such as 0.5, 20ms, 30s, 1m or 1h
  [64]
  $ try --max-time=-1
  ! spmv: --max-time: '-1' is not a time such as 0.5, 20ms, 30s, 1m or 1h
  [64]
  $ try -p double
  ! spmv: --precision: 'double': double precision is f64, single precision f32; there is no other
  [64]
  $ try -p f16
  ! spmv: --precision: 'f16': double precision is f64, single precision f32; there is no other
  [64]
  $ try --log=foo.csv
  ! spmv: --log: 'foo.csv': a log is a folder or a .jsonl file; --format=csv -o FILE writes a table
  [64]
  $ touch a.txt b.mtx; "$SPMV" -k a.txt b.mtx
  ! spmv: --kernel: 'a.txt' is a file: a pattern is quoted, as in -k '*'
  [64]
  $ mkdir src; "$SPMV" -k src b.mtx
  ! spmv: --kernel: 'src' is a file: a pattern is quoted, as in -k '*'
  [64]
  $ try --reproducible
  ! spmv: '--reproducible' is --repeat=threads now
  [64]
  $ try --nondeterministic
  ! spmv: '--nondeterministic' is --repeat=none now
  [64]
  $ try --repeat=sometimes
  ! spmv: --repeat: 'sometimes' is not one of run, threads, none
  [64]
  $ try --repeat=threads --format=csv | columns 'config.kernel status'
  config.kernel status
  csr_serial ok
