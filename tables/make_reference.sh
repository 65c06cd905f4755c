#!/bin/sh
# make_reference.sh: makes everything that the logs in log/reference say: all tables, the report and the papers' studies in build/reference/,
# the results in docs/ and README. What a document shows is copied into tables/reference/, which git keeps: every file that is there.
# Run at the root of the repository. The logs *-every hold every kernel, for the ablation alone; *-beside have auto beside the
# fastest of them, for choices.md. PYTHON: 3.11 or later.
set -eu
python=${PYTHON:-python3} report=tables/report out=build/reference kept=tables/reference
main= every= beside= ablation=:
for log in log/reference/*.jsonl log/reference/*.jsonl.xz; do
    [ -f "$log" ] || continue
    case $log in
    *-beside.jsonl*) beside="$beside $log" ;;
    *-every.jsonl*) every="$every $log" ablation=$python ;;
    *) every="$every $log" main="$main $log" ;;
    esac
done
mkdir -p $out
"$python" $report/make_tables.py --out $out $main
"$python" $report/report.py $main -o $out/report.html
"$python" $report/aims.py $main --out $out/aims.md
"$python" $report/published_results.py $main --into docs/results/outside.md --short docs/results/README.md \
    --readme README.md --chart docs/results/speedups.svg --tables $out/outside.md
[ -z "$beside" ] || "$python" tables/auto/regret.py $beside >$out/choices.md
$ablation $report/ablation.py $every --out $out/ablation.md
PYTHON=$python sh tables/measure_scaling.sh >$out/scaling.md
studies=$(mktemp -d)
trap 'rm -rf "$studies"' EXIT
tar -xJf log/reference/h200-studies.tar.xz -C "$studies"
for study in sell cmrs ci omp-cuda; do
    "$python" $report/repeat_study.py $study --no-run --log "$studies/study-$study.jsonl" --out $out/study-$study
done
(cd $kept && find . -type f) | while read -r file; do cp "$out/$file" "$kept/$file"; done
