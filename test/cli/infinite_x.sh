# x may hold infinity and NaN: the result is IEEE's, and kernels that would multiply padding by it stand aside.
. "$CLI/common"
printf '%%%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 1\n2 2 1\n3 1 1\n' >m.mtx
${PYTHON:-python3} -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("<2d", float("inf"), 2))' >x.f64
$SPMV -m m.mtx -x x.f64 -k omp:csr1,omp:ell0,omp:bsr_rows --rowlens=on,off -y y.mtx $quick 2>/dev/null | tr "*" " " | mask
cat y.mtx
printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n1e300\n' >big.mtx
$SPMV -m m.mtx -x big.mtx -k omp:csr1 -p f32 -q $quick # finite, but not in f32: refused, not made infinite
echo "exit $?"
