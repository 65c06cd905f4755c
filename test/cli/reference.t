# The reference sweep's script and lists go with the kernels there are: its plan is made. Sizes and times are of this machine.
# omp only
  $ mkdir -p tables log/reference && cp "$CLI"/../../log/reference/*.list log/reference && cp "$CLI"/../../tables/measure_reference.sh tables
  $ PEERS= HOME=. sh tables/measure_reference.sh $SPMV cpu --dry-run >plan
  ! measure_reference.sh: 0 matrices of the outside set are in ./.cache/spmv/outside; make outside
  $ HOME=. sh tables/measure_reference.sh $SPMV cpu --dry-run >other; echo "with the libraries that are built in: exit $?"
  with the libraries that are built in: exit 0
  ! measure_reference.sh: 0 matrices of the outside set are in ./.cache/spmv/outside; make outside
  $ sed -n -E 's/ x [0-9]+ conf.*//; /^plan/p' plan
  plan: 21 matrices
  plan: 5 matrices
  plan: 5 matrices
  plan: 3 matrices
  plan: 4 matrices
  plan: 21 matrices
  plan: 5 matrices
  plan: 5 matrices
  plan: 3 matrices
  plan: 4 matrices
  plan: 17 matrices
  plan: 3 matrices
  plan: 3 matrices
  $ grep -c -- 'omp:csr_tiles --grid=10x4 --schedule=dynamic --simd=on$' plan
  1
  $ ls log/reference
  cuda-grids.list
  cuda-large.list
  cuda-values.list
  cuda.list
  omp-grids.list
  omp-large.list
  omp-symmetric.list
  omp-values.list
  omp.list
  $ $SPMV list -k everything >kernels
  $ for kernel in $(sed -n 's/^ *kernels=.*auto,\(.*\)}/\1/p' tables/measure_reference.sh | tr , ' '); do
  >     grep -qw -e "$kernel" kernels || echo "$kernel: no such kernel"
  > done
# auto beside others: a matrix that is not there is passed over, a list that is not there ends it at once.
  $ mkdir outside && cp "$CLI"/../data/coordinate_real_general.mtx outside/there.mtx
  $ printf 'absent omp:csr_rows\nthere omp:csr_rows,omp:csb_blocks\n' >picked
  $ OUTSIDE=outside BESIDE=picked STAGES=beside HOME=. sh tables/measure_reference.sh $SPMV cpu --dry-run 2>/dev/null | sed -n -E 's/ runs, .*/ runs/; /^plan/p'
  plan: 1 matrix x 3 configurations x 1 pass = 3 runs
  $ BESIDE=nowhere STAGES=beside HOME=. sh tables/measure_reference.sh $SPMV cpu --dry-run
  [66]
