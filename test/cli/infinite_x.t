# x may hold infinity and NaN: the result is IEEE's, and kernels that would multiply padding by it stand aside.
  $ printf '%%%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 1\n2 2 1\n3 1 1\n' >m.mtx
  $ ${PYTHON:-python3} -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("<2d", float("inf"), 2))' >x.f64
  $ $SPMV -m m.mtx -x x.f64 -k omp:csr1,omp:ell0,omp:bsr_rows --rowlens=on,off -y y.mtx $quick 2>/dev/null | tr "*" " " | mask
   kernel config prep median +/- GFLOP/s GB/s MB padding check
   csr_rows (csr1) - T T NOISE RATES 0.0000920 - ok
   ell_rows (ell0) rowlens T T NOISE RATES 0.0000880 - ok
   ell_rows (ell0) no-rowlens - - - - - - - skipped: x holds infinity or NaN, and padding multiplies 0 by it: use --rowlens=on
   bsr_rows 2x2 T T NOISE RATES 0.000124 166.7% ok
  $ cat y.mtx
  %%MatrixMarket matrix array real general
  3 1
  inf
  2
  inf
  $ printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n1e300\n' >big.mtx
  $ $SPMV -m m.mtx -x big.mtx -k omp:csr1 -p f32 -q $quick # finite, but not in f32: refused, not made infinite
  ! spmv: big.mtx: number 2 is 1e+300, too large for f32: -p f64
  [65]
