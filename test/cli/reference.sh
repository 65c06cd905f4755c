# The reference sweep's script and lists go with the kernels there are: its plan is made. Sizes and times are of this machine.
# omp only
mkdir reference && cp "$CLI"/../../log/reference/*.list "$CLI"/../../log/reference/sweep.sh reference
PEERS= HOME=. sh reference/sweep.sh $SPMV cpu --dry-run >plan; echo "exit $?"
HOME=. sh reference/sweep.sh $SPMV cpu --dry-run >other; echo "with the libraries that are built in: exit $?"
sed -n -E 's/ x [0-9]+ conf.*//; /^plan/p' plan
grep -c -- 'omp:csr_tiles --grid=10x4 --schedule=dynamic --simd=on$' plan
ls reference
$SPMV list kernels >kernels
for kernel in $(sed -n 's/^ *kernels=.*auto,\(.*\)}/\1/p' reference/sweep.sh | tr , ' '); do
    grep -qw -e "$kernel" kernels || echo "$kernel: no such kernel"
done
# auto beside others: a matrix that is not there is passed over, a list that is not there ends it at once.
mkdir outside && cp "$CLI"/../data/coordinate_real_general.mtx outside/there.mtx
printf 'absent omp:csr_rows\nthere omp:csr_rows,omp:csb_blocks\n' >picked
OUTSIDE=outside BESIDE=picked STAGES=beside HOME=. sh reference/sweep.sh $SPMV cpu --dry-run 2>/dev/null | sed -n -E 's/ runs, .*/ runs/; /^plan/p'
BESIDE=nowhere STAGES=beside HOME=. sh reference/sweep.sh $SPMV cpu --dry-run; echo "exit $?"
