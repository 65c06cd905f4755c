# Cache states: cold flushes before each product, steady goes through copies; the record says how. Wrong words exit 64.
  $ for cache in warm cold steady; do
  >     $SPMV -m gen:poisson2d:30 -k omp:csr1,omp:ell0,omp:coo_segments --beta=-1 --cache=$cache --format=csv $quick -q >csv
  >     columns "config.kernel config.cache status check.status timing.inner timing.launches timing.samples" <csv
  >     ${PYTHON:-python3} - $cache <<'END'
  > import csv, sys
  > for r in csv.DictReader(open("csv", newline="")):
  >     flush, copies, launch = int(r["timing.flush_B"]), int(r["timing.copies"]), float(r["timing.launch_s"])
  >     llc = int(r["cpu.llc_B"] or 0)
  >     assert (flush >= max(8 * llc, 64e6) * 0.99) == (sys.argv[1] != "warm"), flush
  >     assert (copies > 1) == (sys.argv[1] == "steady"), copies
  >     assert 0 < launch < 1, launch
  > END
  > done
  config.kernel config.cache status check.status timing.inner timing.launches timing.samples
  csr_rows warm ok ok 1 loop 3
  ell_rows warm ok ok 1 loop 3
  coo_segments warm ok ok 1 loop 3
  config.kernel config.cache status check.status timing.inner timing.launches timing.samples
  csr_rows cold ok ok 1 loop 3
  ell_rows cold ok ok 1 loop 3
  coo_segments cold ok ok 1 loop 3
  config.kernel config.cache status check.status timing.inner timing.launches timing.samples
  csr_rows steady ok ok 20 loop 3
  ell_rows steady ok ok 20 loop 3
  coo_segments steady ok ok 20 loop 3
  $ SPMV_CACHE=cold $SPMV -m gen:poisson2d:30 -k omp:csr1 --format=csv $quick -q | columns "config.cache"
  config.cache
  cold
  $ $SPMV --cache=hot 2>&1
  spmv: --cache: 'hot' is not one of warm, cold, steady
  [64]
# A list of states: a row of the table and a record for each.
  $ $SPMV -m gen:poisson2d:30 -k omp:csr1,omp:csr_serial --cache=cold,warm,cold --format=csv $quick -q | columns "config.kernel config.cache status check.status timing.inner"
  config.kernel config.cache status check.status timing.inner
  csr_rows cold ok ok 1
  csr_rows warm ok ok 1
  csr_serial cold ok ok 1
  csr_serial warm ok ok 1
  $ $SPMV -m gen:poisson2d:30 -k omp:csr1,omp:csr_serial --cache=steady,warm $quick -q 2>&1 | mask
   kernel config prep median +/- GFLOP/s GB/s MB check
   csr_rows (csr1) steady T T NOISE RATES 0.0706 ok
   csr_rows (csr1) warm T T NOISE RATES 0.0706 ok
   csr_serial (csr0) steady T T NOISE RATES 0.0706 ok
   csr_serial (csr0) warm T T NOISE RATES 0.0706 ok
  $ $SPMV --cache=cold,hot 2>&1
  spmv: --cache: 'hot' is not one of warm, cold, steady
  [64]
