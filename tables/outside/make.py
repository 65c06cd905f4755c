#!/usr/bin/env python3
"""make.py: makes the matrices of the outside set, which other people's packages generate, as Matrix Market files.

What is there and complete is kept. --describe writes outside.csv from what was made; --paths prints the files of a half."""
import argparse
import concurrent.futures
import csv
import fnmatch
import json
import os
import pathlib
import resource
import subprocess
import sys
import time

import outside


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the names, families, sizes and origins; make nothing")
    parser.add_argument("--only", metavar="GLOB", default="*", help="names, or several globs with commas between them")
    parser.add_argument("--size", choices=outside.SIZES)
    parser.add_argument("--half", choices=outside.HALVES, help="of outside.csv")
    parser.add_argument("--jobs", metavar="N", type=int, default=1, help="so many at once, a process each")
    parser.add_argument("--out", metavar="DIR", type=pathlib.Path, default=outside.cache(), help="default: %(default)s")
    parser.add_argument("--describe", action="store_true", help="write outside.csv from what is in DIR; make nothing")
    parser.add_argument("--check", action="store_true", help="compare what is in DIR with outside.csv; make nothing")
    parser.add_argument("--paths", action="store_true", help="print the files in DIR; make nothing")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)  # in this process
    return parser.parse_args()


def listed():
    """The rows of outside.csv by name."""
    if not outside.LIST.exists():
        return {}
    with open(outside.LIST, newline="", encoding="utf-8") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def wanted(options):
    rows = listed()
    globs = options.only.split(",")
    return [made for made in outside.families()
            if any(fnmatch.fnmatchcase(made.name, glob) for glob in globs)
            and options.size in (None, made.size)
            and (options.half is None or rows.get(made.name, {}).get("half") == options.half)]


def files_of(options, made):
    return options.out / f"{made.name}.mtx", options.out / f"{made.name}.json"


def facts_of(options, made):
    """Returns what was recorded of a matrix that is there and complete; None otherwise."""
    file, facts = files_of(options, made)
    return json.loads(facts.read_text(encoding="utf-8")) if file.exists() and facts.exists() else None


def write(matrix, file):
    """Every number in the fewest digits that give it back; half of a matrix that equals its transpose."""
    import scipy.io
    symmetric = matrix.shape[0] == matrix.shape[1] and (matrix != matrix.T).nnz == 0 and same_pattern(matrix)
    scipy.io.mmwrite(file, matrix, symmetry="symmetric" if symmetric else "general")


def same_pattern(matrix):
    """Says whether explicit zeros are symmetric, too."""
    import numpy
    turned = matrix.T.tocsr()
    turned.sort_indices()
    return numpy.array_equal(turned.indptr, matrix.indptr) and numpy.array_equal(turned.indices, matrix.indices)


def inputs_file(options, made):
    """One for all matrices with the same function; a lambda is of one matrix."""
    function = made.inputs.__name__
    return options.out / "inputs" / f"{made.name if function == '<lambda>' else function}.npz"


def inputs_of(options, made):
    """The arguments of make(): none, or the arrays from the cache, where they are put under another name first."""
    if made.inputs is None:
        return []
    import numpy
    file = inputs_file(options, made)
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}.part.npz")
        numpy.savez_compressed(part, **made.inputs())
        part.rename(file)
    with numpy.load(file) as arrays:
        return [dict(arrays)]


def make_one(options, made):
    """Makes one matrix in this process: the file under another name first, its facts last."""
    import numpy
    begin = time.monotonic()
    numpy.random.seed(17)  # pyamg, among others, draws from the global generator
    matrix = outside.canonical(made.make(*inputs_of(options, made)))
    seconds = time.monotonic() - begin
    facts = outside.describe(made, matrix)
    if outside.size_of(facts["csr_B"]) != made.size:
        sys.exit(f"{made.name}: {facts['csr_B'] / 1e6:.1f} MB of CSR are not {made.size}")
    file, beside = files_of(options, made)
    part = file.with_suffix(".part.mtx")
    write(matrix, part)
    facts.update(make_s=round(seconds, 1), whole_s=round(time.monotonic() - begin, 1), cpu_s=round(time.process_time(), 1),
                 peak_MB=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
    part.rename(file)
    beside.write_text(json.dumps(facts), encoding="utf-8")


def run_one(options, made):
    """Makes one matrix in a process of its own, and says what came of it in a line. One thread: how many there are
    decides how sums are rounded."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, __file__, "--one", "--only", made.name, "--out", options.out],
                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    facts = facts_of(options, made) if done.returncode == 0 else None
    if facts is None:
        return f"{made.name:28} FAILED ({done.returncode}): " + " | ".join(done.stdout.strip().splitlines()[-3:])
    return line_of(facts)


def line_of(facts):
    return (f"{facts['name']:28} {facts['size']:6} {facts['rows']:9} x {facts['cols']:9} {facts['nnz']:10} nonzeros "
            f"{facts['csr_B'] / 1e6:6.1f} MB, jumps {facts['x_jumps']:.2f}, made in {facts['make_s']} s, "
            f"whole {facts['whole_s']} s, CPU {facts['cpu_s']} s, {facts['peak_MB']} MB")


def make_all(options, chosen):
    """The matrices that take longest begin first: what is large, in the order of the list's bytes."""
    options.out.mkdir(parents=True, exist_ok=True)
    rows = listed()
    missing = [made for made in chosen if facts_of(options, made) is None]
    missing.sort(key=lambda made: (-outside.SIZES.index(made.size), -int(rows.get(made.name, {}).get("csr_B", 0))))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as pool:
        for line in concurrent.futures.as_completed([pool.submit(run_one, options, made) for made in missing]):
            print(line.result(), flush=True)
            failed += " FAILED " in line.result()
    print(f"{len(chosen) - len(missing)} were there, {len(missing) - failed} made, {failed} failed, in {options.out}")
    return 1 if failed else 0


def described(options, chosen):
    facts = [facts_of(options, made) for made in chosen]
    return [found for found in facts if found]


def describe_all(options, chosen):
    """Rows of matrices that are not in DIR are kept as they are in the list."""
    rows = {name: row for name, row in listed().items() if name in {made.name for made in outside.families()}}
    for facts in described(options, chosen):
        rows[facts["name"]] = {"draw": rows.get(facts["name"], {}).get("draw"), **facts}
    with open(outside.LIST, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, outside.COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(outside.with_halves(rows.values()))
    print(f"{outside.LIST}: {len(rows)} of {len(outside.families())} matrices")
    return 0


def check_all(options, chosen):
    """Another machine should make the same patterns; values may be rounded otherwise."""
    rows, wrong = listed(), 0
    for facts in described(options, chosen):
        row = rows.get(facts["name"])
        same = [row is not None and str(facts[hash]) == row[hash] for hash in ("pattern_hash", "values_hash")]
        wrong += not same[0]
        print(f"{facts['name']:28} pattern {'same' if same[0] else 'DIFFERS'}, values {'same' if same[1] else 'differ'}")
    return 1 if wrong else 0


def main():
    options = arguments()
    chosen = wanted(options)
    if options.list:
        for made in chosen:
            print(f"{made.name:28} {made.family:16} {made.size:6} {made.origin}")
        return 0
    if options.one:
        return make_one(options, chosen[0])
    if options.describe:
        return describe_all(options, chosen)
    if options.check:
        return check_all(options, chosen)
    if options.paths:
        print("\n".join(str(files_of(options, made)[0]) for made in chosen if facts_of(options, made)))
        return 0
    return make_all(options, chosen)


if __name__ == "__main__":
    sys.exit(main())
