# The probe's figures are kept, shown as JSON, and stand beside every row of a run; without them a run says where they come from.
# omp only
# not sanitized: a probe times memory of many times the caches, for minutes then; test_limits probes a small one
  $ if $SPMV -V -v | grep -q '^features.*jansson'; then format=jsonl; else format=csv; fi
  $ short="-m gen:poisson2d:200 -k csr1,coo_segments --min-time=0 --max-time=0 --samples=3 --no-log -t 2 --probe=here"
  $ $SPMV $short -v 2>&1 >/dev/null | grep -c "limits are not known"
  1
  $ $SPMV doctor --probe -t 2 --probe=here --no-log --format=$format >probe.json 2>talk
  $ sed -E -e '/^note: /d' -e 's/probe-omp-[0-9a-f]+/probe-omp-KEY/' talk
  probing the memory with 2 threads: half a minute at most
  saved in here/probe-omp-KEY.txt
  $ ls here | wc -l
  1
  $ [ $format = csv ] || ${PYTHON:-python3} - <<'END'
  > import json
  > r = json.load(open("probe.json"))
  > p = r["probe"]
  > assert r["schema"] == "spmv-probe/1" and p["backend"] == "omp" and p["threads"] == 2, r
  > assert all(1e8 < p[key] < 1e14 for key in "read_Bps copy_Bps triad_Bps".split()), p
  > assert p["cache_read_Bps"] is None or p["cache_read_Bps"] > p["read_Bps"], p # a cache is faster than memory, or left out
  > assert len(p["gather_B"]) == len(p["gather_per_s"]) >= 5 and p["gather_B"] == sorted(p["gather_B"]), p
  > assert all(1e5 < rate < 1e12 for rate in p["gather_per_s"]) and p["seconds"] < 60, p # half of it on an idle machine
  > END
# Limits measured beside other programs give upper bounds, and no verdict.
  $ kept=$(ls here/*.txt) && sed -i '/^others/d' "$kept" && echo 'others 1.5' >>"$kept"
  $ $SPMV $short -v 2>/dev/null | grep -c '<[0-9]*%  *<[0-9]*%'
  2
  $ $SPMV $short --cache=cold --format=csv -q | columns "perf.verdict perf.bw_peak_source" | sort -u
   measured-beside
  perf.verdict perf.bw_peak_source
  $ $SPMV doctor -t 2 --probe=here | grep -A 2 '^  probe'
    probe       note     measured beside other programs, and so too low
        why:  runs report upper bounds of stream and gather, and call no time impossible
        type: spmv doctor --probe --probe=here
  $ sed -i '/^others/d' "$kept"
  $ $SPMV doctor -t 2 --probe=here | grep '^  probe'
    probe       ok       this machine's limits are known
  $ $SPMV $short --cache=cold --format=csv -q >csv
  $ ${PYTHON:-python3} - <<'END'
  > import csv
  > rows = list(csv.DictReader(open("csv", newline="")))
  > assert sum(r["perf.best"] == "true" for r in rows) <= 1
  > for r in rows:
  >     f = lambda key: float(r[key])
  >     assert r["perf.bw_peak_source"] == "measured-read" and r["perf.limit_binds"] == "stream", r
  >     assert abs(f("perf.limit_stream_s") - f("perf.bytes_min_B") / f("perf.bw_peak_Bps")) < 1e-12
  >     assert abs(f("perf.bw_fraction") - f("perf.limit_stream_s") / f("timing.median_s")) < 1e-6
  >     assert r["perf.verdict"] in ("ok", "above probe", "suspect") and 0 <= f("matrix.x_jumps") < 0.05, r
  > print(len(rows), "rows with limits")
  > END
  2 rows with limits
  $ $SPMV $short -q | head -n 1 | sed 's/ \+/ /g'
   kernel prep median +/- GFLOP/s GB/s MB stream gather check
  $ $SPMV $short -t 1 -v 2>&1 >/dev/null | grep -c "limits are not known"
  1
  $ verdicts() { # what runs say under a memory that reads so many bytes per second
  >     sed "s/^read .*/read $1/" "$kept" >rates && cp rates "$kept"
  >     shift
  >     $SPMV $short -q --format=csv "$@" | columns "config.kernel perf.verdict perf.limit_binds perf.best perf.tied" | tail -n 2
  > }
  $ kept=$(ls here/*.txt) && cp "$kept" honest
  $ verdicts 1e6 --cache=cold
  csr_rows suspect stream false false
  coo_segments suspect stream false false
  $ verdicts 1e6 --cache=warm | sed 's| stream .*| stream RANK|'
  csr_rows in cache stream RANK
  coo_segments in cache stream RANK
  $ verdicts 1e15 --cache=cold | sed 's/\(stream\|gather\) .*/LIMIT RANK/'
  csr_rows ok LIMIT RANK
  coo_segments ok LIMIT RANK
  $ $SPMV $short --cache=cold 2>&1 >/dev/null | grep -c SUSPECT
  0
  [1]
  $ verdicts 1e6 --cache=cold >/dev/null
  $ $SPMV $short --cache=cold 2>&1 >/dev/null | grep -c SUSPECT
  1
  $ while :; do :; done &
  $ $SPMV probe -t 2 --probe=here --no-log 2>&1 >/dev/null | sed -n -e 's/used [0-9.]* processors/used N processors/' -e '/other programs/p'
  note: other programs used N processors meanwhile: these limits are too low, and runs report upper bounds of stream and gather (<)
  $ kill $!
  $ grep -c '^others' "$kept"
  1
# The name that it had is an alias.
  $ $SPMV probe -m gen:poisson2d:9
  ! spmv: doctor does not take --matrix; 'spmv help doctor' lists what it takes
  [64]
  $ for words in "gen:poisson2d:9 --probe" "doctor --probe -o x" "doctor --probe --format=json"; do $SPMV $words; done
  ! spmv: --probe: 'spmv doctor --probe' measures; --probe=DIR names a folder, --probe=off none
  ! spmv: doctor --probe takes --format=table, csv or jsonl, and no --output
  ! spmv: doctor --probe takes --format=table, csv or jsonl, and no --output
  [64]
# Where the caller has closed stderr, the log is not what takes its place.
  $ [ $format = csv ] || { $SPMV probe -t 1 --probe=there --log=probe.jsonl >/dev/null 2>&- && [ "$(cut -c 1-24 probe.jsonl)" = '{"schema":"spmv-probe/1"' ]; }
  $ echo "without stderr: $?"
  without stderr: 0
