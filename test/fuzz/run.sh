#!/bin/sh
# run.sh [NAME]: runs the targets of build/fuzz, or that one, until each has had RUNS inputs. How many it had, and inputs that
# reached something new, stay in build/fuzz. An input that fails is kept there as NAME.crash-*, and ends the run.
# SEED: of the mutations; 0, the default: another one in each run.
set -eu
cd "$(dirname "$0")/../.."
root=$PWD build=$PWD/build/fuzz batch=200000 interrupted=72
# What was freed is kept for as long as some inputs take: more of it would be memory that is touched for the first time.
export ASAN_OPTIONS="allocator_may_return_null=1:quarantine_size_mb=8:detect_leaks=1" UBSAN_OPTIONS=print_stacktrace=1
export OMP_WAIT_POLICY=passive
export OMP_THREAD_LIMIT=4

# The corpus stays small, for each batch begins with all of it: of inputs that reach the same, one is kept.
less() {
    [ "$(find "$corpus" -type f | wc -l)" -gt 2000 ] || return 0
    rm -rf "$corpus.less"
    mkdir "$corpus.less"
    if (cd "$build" && "$@" -merge=1 "$corpus.less" "$corpus") >"$build/$name.log" 2>&1; then
        rm -r "$corpus" && mv "$corpus.less" "$corpus"
    fi
}

run() { # name, program, words: up to RUNS inputs
    name=$1; shift
    corpus=$build/corpus/$name
    if [ ! -d "$corpus" ]; then mkdir -p "$corpus"; "$PYTHON" test/fuzz/seeds.py "$name" "$corpus"; fi
    done=$(cat "$build/$name.runs" 2>/dev/null || echo 0)
    while [ "$done" -lt "$RUNS" ]; do
        next=$((RUNS - done < batch ? RUNS - done : batch))
        code=0
        (cd "$build" && "$@" -runs="$next" -max_len=2000 -timeout=60 -rss_limit_mb=4000 -artifact_prefix="$name." \
              -seed="${SEED:-0}" -print_final_stats=1 -reload=0 -print_funcs=0 "$corpus") >"$build/$name.log" 2>&1 || code=$?
        if [ $code != 0 ] && [ $code != $interrupted ]; then
            grep -E 'ERROR|runtime error|SUMMARY|Error|Test unit' "$build/$name.log" | head -n 8
            echo "$name: failed after $done inputs and more; the input is build/fuzz/$name.crash-*"
            exit 1
        fi
        ran=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$name.log")
        done=$((done + ${ran:-$next}))
        echo "$done" >"$build/$name.runs"
        [ $code = 0 ] || exit $code
        less "$@"
    done
    echo "$name: $done inputs without a fault"
}

for name in ${*:-reader vector npz npy petsc mat5 rb json hdf5 mat73 anndata gz xz zst bz2 tar wisdom options arrays logs}; do
    case $name in
    gz | xz | zst | bz2 | tar) FUZZ_KIND=$name run "$name" "$build/fuzz_container" ;;
    npz | npy | petsc | mat5 | rb | json | hdf5 | mat73 | anndata) FUZZ_KIND=$name run "$name" "$build/fuzz_files" ;;
    options) ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=8 run options "$build/fuzz_options" -close_fd_mask=3 ;; # what it refuses it leaves
    logs)
        # A tenth of the inputs: an interpreter is slower.
        [ -d "$build/python/atheris" ] || "$PYTHON" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
            --target "$build/python" atheris==3.0.0
        (RUNS=$((RUNS / 10)) && PYTHONPATH=$build/python run logs "$PYTHON" "$root/test/fuzz/fuzz_logs.py")
        ;;
    *) run "$name" "$build/fuzz_$name" ;;
    esac
done
