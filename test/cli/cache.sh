# Cache states: cold flushes before each product, steady goes through copies; the record says how. Wrong words exit 64.
. "$CLI/common"
for cache in warm cold steady; do
    $SPMV -m gen:poisson2d:30 -k omp:csr1,omp:ell0,omp:coo_segments --beta=-1 --cache=$cache --format=csv $quick -q >csv || exit
    columns "config.kernel config.cache status check.status timing.inner timing.launches timing.samples" <csv
    ${PYTHON:-python3} - $cache <<'END'
import csv, sys
for r in csv.DictReader(open("csv", newline="")):
    flush, copies, launch = int(r["timing.flush_B"]), int(r["timing.copies"]), float(r["timing.launch_s"])
    llc = int(r["cpu.llc_B"] or 0)
    assert (flush >= max(8 * llc, 64e6) * 0.99) == (sys.argv[1] != "warm"), flush
    assert (copies > 1) == (sys.argv[1] == "steady"), copies
    assert 0 < launch < 1, launch
END
done
SPMV_CACHE=cold $SPMV -m gen:poisson2d:30 -k omp:csr1 --format=csv $quick -q | columns "config.cache"
$SPMV --cache=hot 2>&1
# A list of states: a row of the table and a record for each.
$SPMV -m gen:poisson2d:30 -k omp:csr1,omp:csr_serial --cache=cold,warm,cold --format=csv $quick -q | columns "config.kernel config.cache status check.status timing.inner"
$SPMV -m gen:poisson2d:30 -k omp:csr1,omp:csr_serial --cache=steady,warm $quick -q 2>&1 | mask
$SPMV --cache=cold,hot 2>&1
