#!/usr/bin/env python3
"""words.py [PATH...]: words that this project replaced by the field's (docs/reference/glossary.md). Prints every place where one
stands as an identifier, in a comment or in a message; exits 1 if there is one."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Word by word, so that run_off is found in spmv_run_off_s: (expression, use instead, folders it is looked for in).
EVERYWHERE = ("src/", "omp/", "cuda/", "include/", "test/", "bench/", "tables/report/", "docs/", "README.md", "CONTRIBUTING.md", "Makefile",
              "log/reference/README.md")
KERNELS = ("omp/", "cuda/", "src/formats/")
TUNER = ("src/tune/", "src/measure/", "src/formats/", "src/wisdom/", "src/app/", "src/host/", "src/matrix/", "src/plan/", "src/values/",
         "include/",
         "omp/propose.c", "cuda/propose.c", "test/", "tables/report/", "docs/")
WORDS = (
    (r"contests?|contenders?", "trials, candidate", EVERYWHERE),
    (r"rivals?", "candidate; peer, for another library's kernel", EVERYWHERE),
    (r"run[ _-]offs?|entrants?", "trials, candidate", EVERYWHERE),
    (r"gave up|given[ _]up|gives up", "disqualified", ("src/tune/",)),
    (r"(?<!new )promise[sd]?|promising", "predicted; expected number of products", TUNER),
    (r"gain", "predicted speed-up", ("src/tune/", "include/", "omp/propose.c", "cuda/propose.c")),
    (r"safe kernels?|safe", "baseline kernel", ("src/tune/", "include/", "omp/propose.c", "cuda/propose.c", "src/app/", "docs/")),
    (r"told nothing", "expected number of products: unknown", EVERYWHERE),
    (r"rehearse[sd]?|rehears(?:al|ing)", "warm up, first-use warm-up", EVERYWHERE),
    (r"glances?|no[ _]look", "sampling: none, quick, full", EVERYWHERE),
    (r"hub", "canonical CSR", EVERYWHERE),
    (r"stretch(?:es)?", "share, chunk, segment", KERNELS),
    (r"pieces?|tasks?", "share (of a thread), chunk (taken dynamically), segment (of a row)", KERNELS),
    (r"fallbacks?", "default", EVERYWHERE),
    (r"woven|mirrored_slices|narrow_lanes|packed_\w+|local_block", "today's names: src/host/formats.def", EVERYWHERE),
    (r"(?:entries|bytes|products?) a (?:row|file|kernel|second|product|matrix)|a file a kernel", "per", EVERYWHERE),
    (r"(?:warp|lane|thread|number|byte|bit|step|word|cursor|register|vector)s? an? (?:slice|row|step|thread|column|strip|block|word|"
     r"segment)", "per", EVERYWHERE),
    (r"is no (?:option|size|command)", "unknown option", EVERYWHERE),
    (r"(?:ask(?:s|ed|ing)?|fetch(?:es|ed)?)[ _]ahead|ask_for_(?:values|columns|slice|vectors|row|hubs)|asked for ahead", "prefetch", EVERYWHERE),
    (r"numbers? that (?:are|is) apart|elements? that (?:are|is) apart", "strided", EVERYWHERE),
    (r"doors?", "product entry point", EVERYWHERE),
    (r"all of x has|is not the whole x", "replicated x", EVERYWHERE),
    (r"look(?:s|ed|ing)?[ _]at(?!_)", "check, sample, describe", ("omp/", "cuda/", "src/formats/", "src/matrix/", "src/tune/", "src/measure/")),
    (r"lent|lends?", "borrowed, borrows", ("omp/", "cuda/", "src/formats/", "src/matrix/", "src/values/", "src/measure/")),
    (r"turning|turn_\w+", "transpose; relayout, of columns to rows", ("omp/", "src/matrix/", "src/values/")),
    (r"disturbed|loud", "noisy, preempted", KERNELS),
    (r"knees?|likewise", "effective cache size; also", KERNELS + ("src/matrix/", "src/plan/", "src/tune/", "src/values/", "include/")),
    (r"MENDED|What came out|flop a byte|give or take", "FIXED, Results, arithmetic intensity [flop/byte], ±", EVERYWHERE),
)
NAMES_OLD_WORDS = ("test/rules/words.py",)


def breaches(path, text):
    for expression, instead, folders in WORDS:
        if not path.startswith(folders):
            continue
        pattern = re.compile(rf"(?<![A-Za-z])(?:{expression})(?![a-z])", re.IGNORECASE)
        for number, line in enumerate(text.split("\n"), 1):
            for found in pattern.finditer(line):
                yield f"{path}:{number}: '{found[0]}': {instead}"


def main(only):
    files = subprocess.check_output(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True)
    count = 0
    for path in files.splitlines():
        if path in NAMES_OLD_WORDS or (only and not path.startswith(tuple(only))) or not (ROOT / path).is_file():
            continue
        try:
            text = (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for breach in breaches(path, text):
            print(f"words: {breach}")
            count += 1
    return bool(count)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
