#!/bin/sh
# lint.sh: the rules of CONTRIBUTING.md that a machine can check. Says every breach and exits 1 if there is one.
# lint.sh format: lays the sources out as it wants them.
set -u
cd "$(dirname "$0")/../.." || exit 66
git ls-files >/dev/null || { echo "lint: it is told by git which files there are" >&2; exit 69; }
broken=0
breach() { echo "lint: $*"; broken=1; }
# Files that git does not know yet too: what lint passes before a commit must pass after it.
files_of() { git ls-files --cached --others --exclude-standard "$@"; }
sources=$(files_of '*.c' '*.h' '*.cu' '*.cuh')
tables=$(files_of '*.def')
if [ "${1:-}" = format ]; then exec clang-format -i $sources; fi

# Checks who may include and call whom; no circles.
python3 test/rules/layers.py || breach "layers (docs/explanation/architecture.md)"
# What belongs in a folder is said in one sentence.
python3 test/rules/folders.py || breach "folders (docs/explanation/architecture.md)"
# A parameter of kernels is one line of a table.
python3 test/rules/params.py || breach "params (include/params.def)"
# Words that the field's terms replace.
python3 test/rules/words.py || breach "words (docs/reference/glossary.md)"
grep -ln 'cuda_runtime\|cuda\.h\|cusparse\.h\|cusparse[A-Z]' $(find src include -name '*.[ch]') && breach "src/ and include/ know nothing of CUDA"

# Texts of the library name members of structs and parameters, not options of the program; kinds.c shows other programs' commands.
grep -rnE '"[^"]*(--[a-z]|-k [a-z%])' omp cuda include src --include='*.[ch]' --include='*.cu' --include='*.cuh' | grep -vE '^src/(app/|io/kinds)' &&
    breach "an option of the program in a text of the library"

# Comments and documents that can be read at first sight.
python3 test/rules/comments.py || breach "comments (test/rules/comments.py)"
python3 test/rules/prose.py || breach "prose (test/rules/prose.py)"

# A kernel or format file and its line in the table come together.
for folder in omp cuda; do
    for f in $(ls $folder/*/*.c $folder/*/*.cu 2>/dev/null | grep -v /build_); do
        name=$(basename "${f%.*}")
        [ $name = in_place ] || # is in no list: each backend names it
            grep -q "^KERNEL($name)" $folder/kernels.def || breach "$f has no line KERNEL($name) in $folder/kernels.def"
        labels='Source Reads Writes Work Cost Weak Repeats Params'
        found=$(sed -n '1,/\*\//s/^ \* \([A-Z][a-z]*\) .*/\1/p' "$f" | grep -E "^($(echo $labels | tr ' ' '|'))\$" | tr '\n' ' ')
        [ "$found" = "$labels " ] || breach "$f: the opening comment has '$found', must have '$labels' in this order"
        head -n 1 "$f" | grep -q "^/\* $name: " || breach "$f: the first line must begin '/* $name: '"
    done
done
for f in src/formats/*/format_*.c src/formats/papers/*/format_*.c; do
    name=$(basename "${f%.c}" | sed s/format_//)
    grep -q "^FORMAT($name)" src/host/formats.def || breach "$f has no line FORMAT($name) in src/host/formats.def"
done

for f in $(ls cuda/*/build_*.cu); do
    name=$(basename "${f%.cu}" | sed s/build_//)
    grep -q "^FORMAT($name)" cuda/formats.def || breach "$f has no line FORMAT($name) in cuda/formats.def"
done

# A descriptor names its members: one more in its struct changes nothing for it.
grep -lPz '(EXPORT_\w+\(\w+\)|spmv_(kernel|format|device_format|backend) \w+(\(.*\))?) = \{[\s\\]*[^.\s\\]' $sources &&
    breach "a descriptor whose members have no names (.name = ...)"

"${PYTHON:-python3}" test/mutate/mutate.py --check || breach "a fault of test/mutate/faults.txt cannot be planted, or a line of equivalent.txt is of no source"

# Shape.
[ "$(wc -l < src/app/main.c)" -le 40 ] || breach "src/app/main.c: over 40 lines"
grep -n '__CUDACC__' $sources | grep -v '^src/app/main.c:' && breach "__CUDACC__ belongs to main.c alone"
grep -nE '__(AVX|SSE|FMA|BMI|F16C)' $sources && breach "instruction sets are chosen at run time (omp/isa.h)"
grep -n 'FP_FAST_FMA' $sources | grep -vE '^omp/(sell/sell16_lanes.c|vectors/csr_vectors_panel.h):' &&
    breach "what depends on -march: test/rules/portability.sh compiles for one processor"
grep -nE '.{101,}' $sources && breach "lines over 100 columns"
grep -nE '.{121,}' Makefile $(files_of mk) && breach "lines over 120 columns"
grep -nE '.{101,}' $tables | grep -vE '^[^:]*:[0-9]+:[A-Z_]+\(' && breach "lines over 100 columns" # an item is one line
git grep --untracked -nE '^(<{7}|>{7}) ' && breach "what a merge left undecided"
grep -nP '\t' $sources $tables && breach "tabs in C sources"
grep -nE ' +$' $sources $tables test/*.sh test/*/*.sh && breach "blanks at the end of a line"
grep -nE '\b(sprintf|strcpy|strcat|gets|atof|popen|system)\(' $(echo "$sources" | grep -vE '^(test|bench)/') && breach "unsafe or locale-bound calls"
if clang-format --version >/dev/null 2>&1; then
    clang-format --dry-run -Werror $sources 2>&1 | grep -E 'error|warning' | head -n 20 | grep . &&
        breach "make format"
else
    echo "lint: clang-format is not installed: formatting unchecked"
fi
if command -v cppcheck >/dev/null; then
    cppcheck -j "$(nproc)" --quiet --error-exitcode=1 --inline-suppr --enable=warning,performance,portability -Iinclude -Isrc -I. \
        --suppress=missingIncludeSystem --suppress=unknownMacro -D_GNU_SOURCE -DHAVE_JANSSON src omp || breach "cppcheck"
else
    echo "lint: cppcheck is not installed: unchecked"
fi
[ $broken = 0 ] && echo "lint: clean"
exit $broken
