#!/usr/bin/env python3
"""Repeat a study of one of the papers: run ./spmv on its matrices with its lists of parameters, log to
log/study-NAME.jsonl, and make its tables and figures in tables/study-NAME/; paper.md there has the
paper's numbers beside ours.

    python3 tables/report/repeat_study.py sell|cmrs|ci|omp-cuda [--files FILE...] [--scale small|medium|full] ...

Without files the matrices are twins, generated with the numbers that the paper prints; study ci also
takes the Hamiltonians of the outside set that are in its cache. A time limit ends the runs, never the
tables: what was measured is shown, what was not is said.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import papers
import study_charts
from common import Parser, Stop, load, run, say, write_files
from common import EX_DATAERR, EX_NOINPUT, EX_UNAVAILABLE
from logs import RECORD_DEF, read_fields
from summary_tables import make_pages
from printed.page import pages as printed_pages

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCALES = {"small": 5e6, "medium": 30e6, "full": float("inf")}  # most nonzeros of a twin

SELL = ("shyy41 cz5108 piston shipsec1 cant pwtk ldoor Hook_1498 audikw_1 ML_Geer").split()
# The matrices of the first paper whose rows another paper prints.
OMP_CUDA = ("mac_econ_fwd500 mc2depi cop20k_A webbase-1M FEM_3D_thermal2 cant pdb1HYS consph PR02R "
            "thermal2 asia_osm nlpkkt80").split()
ARTIFICIAL = {"gen:permutation:10000000": 10e6, "gen:dense:10000": 100e6}  # the paper's p7, dense10000

CI_BOUNDARY = "--boundary=655"

# Arguments of each study's runs, by backend. Kernels that are not built in are left out.
STUDIES = {
    "sell": {
        "omp": [["-k", "sell_slices,csr_rows,ell_rows,hyb_rows,bsr_rows,mkl_csr",
                 "--slice=16,32,64,128,256,512,1024", "--sigma=1,all"]],
        "cuda": [["-k", "sell_thread,sell_thread_ahead,csr_thread,csr_warp,ell_pitched,hyb_thread,"
                  "bsr_warp,cusparse_csr_alg1,cusparse_csr_alg2,cusparse_sell,cusparse_bsr",
                  "--slice=16,32,64,128,256,512,1024", "--sigma=1,all"]],
    },
    "cmrs": {
        "omp": [["-k", "cmrs_strips,csr_rows,hyb_rows,mkl_csr", "--height=1,2,4,8,16",
                 "--sorted=off,on", "--simd=off,on"]],
        "cuda": [["-k", "cmrs_warp,csr_thread,csr_warp,csr_lanes,hyb_thread,cusparse_csr_alg1,"
                  "cusparse_csr_alg2", "--height=1,2,4,8,16", "--sorted=off,on",
                  "-b", "64,128,192,256,320,384,448,512", "--lanes=auto"],
                 ["-k", "csr_lanes", "-b", "64,128,256,512", "--lanes=2,4,8,16,32"]],
    },
    "ci": {
        "omp": [["-k", "hybrid_rows,csr_rows,csr5_tiles,ell_rows,dia_rows,sell_slices,"
                 "mkl_csr", CI_BOUNDARY, "--slice=32,64"]],
        "cuda": [["-k", "hybrid_warp", CI_BOUNDARY, "-b", "16,32,64"],
                 ["-k", "csr_thread,csr_warp,csr5_tiles,ell_pitched,ell_thread,dia_thread,"
                  "sell_thread,cusparse_csr_alg1,cusparse_csr_alg2",
                  "-b", "32,64,128,256,512", "--slice=32,64"]],
    },
    "omp-cuda": {
        "omp": [["-k", "csr1,csr2,csr3,csr4,ell0,ell1,ell2", "-g", "5x8,10x4,4x10,14x3,13x3",
                 "--schedule=static,dynamic,guided", "--simd=off,on", "--rowlens=on,off",
                 "-n", "25"]],
        "cuda": [["-k", "csr0,csr1,ell0,ell1,ell2", "-b", "192,256,384,32x8,32x16,32x32",
                  "--rowlens=on,off", "-n", "25"]],
    },
}
PAGES = {"sell": papers.sell_pages, "cmrs": papers.cmrs_pages, "ci": papers.ci_pages}


def output_of(spmv, *arguments):
    """Returns what spmv prints."""
    try:
        done = subprocess.run([spmv, *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise Stop(EX_UNAVAILABLE, f"{spmv}: {error.strerror}; 'make omp' builds it") from None
    if done.returncode != 0:
        raise Stop(EX_UNAVAILABLE, f"{spmv} {' '.join(arguments)} ended with {done.returncode}: "
                   f"{done.stderr.strip() or 'no word'}")
    return done.stdout


def twins_of(spmv):
    """{name: (nonzeros, source)} of the twins the program makes."""
    found = {}
    lines = iter(output_of(spmv, "list", "twins").splitlines())
    for line in lines:
        if line.split()[:2] == ["name", "rows"]:
            break
    for line in lines:
        words = line.split()
        found[words[0]] = (int(words[3]), " ".join(words[6:]))
    return found


def kernels_of(spmv):
    """{backend: {kernel or alias}} of what is built in."""
    found, names, last = {}, None, ()
    for line in output_of(spmv, "list", "-k", "everything").splitlines():
        if not line.startswith(" "):
            names = found.setdefault(line.split()[0], set()) if "(not built in" not in line else set()
        elif line.lstrip().startswith("(not built in"):  # why the kernel above is not there
            names.difference_update(last)
        elif line[2:3].strip():  # else the kernel above goes on
            last = [name for name in re.match(r"  (\w+)(?: \((\w+)\))?", line).groups() if name]
            names.update(last)
    return found


def matrices_of(study, spmv, scale, wanted):
    """The study's matrices as spmv names them, smallest first."""
    twins = twins_of(spmv)
    names = {"sell": SELL, "omp-cuda": OMP_CUDA}.get(study)
    if names is None:
        names = [name for name, (_, source) in twins.items() if source.startswith(study + " ")]
    sizes = {f"gen:twin:{name}": twins[name][0] for name in names}
    if study == "cmrs":
        sizes.update(ARTIFICIAL)
    if wanted:
        unknown = [name for name in wanted if name not in twins and not name.startswith("gen:")]
        if unknown:
            raise Stop(EX_NOINPUT, f"no twin '{unknown[0]}'; 'spmv list twins' shows all")
        return [name if name.startswith("gen:") else f"gen:twin:{name}" for name in wanted]
    most = SCALES[scale] if study != "ci" else float("inf")
    kept = sorted((size, name) for name, size in sizes.items() if size <= most)
    if study == "ci" and scale == "small":
        kept = kept[:1]
    return [name for _, name in kept]


def hamiltonians(scale):
    """Files of the outside set (tables/outside) that hold configuration-interaction matrices of
    that scale, smallest first; none where the set was not made."""
    folder = os.environ.get("SPMV_OUTSIDE") or pathlib.Path.home() / ".cache/spmv/outside"
    found = []
    for path in pathlib.Path(folder).glob("ci[-_]*.mtx"):
        if path.name.endswith(".part.mtx"):  # still being written
            continue
        with open(path, encoding="utf-8", errors="replace") as file:
            sizes = next((line for line in file if not line.startswith("%")), "").split()
        if len(sizes) == 3 and int(sizes[2]) <= SCALES[scale]:
            found.append((int(sizes[2]), str(path)))
    return [path for _, path in sorted(found)]


def arguments_of(study, kernels, source):
    """The argument lists of the backends that are built in, kernels that are not taken out. The
    boundary of the CI paper belongs to its matrices."""
    for backend, lists in STUDIES[study].items():
        for arguments in lists if backend in kernels else []:
            names = [name for name in arguments[1].split(",") if name in kernels[backend]]
            rest = [CI_BOUNDARY if word == CI_BOUNDARY and source.startswith("gen:twin:ci-")
                    else "--boundary=auto" if word == CI_BOUNDARY else word
                    for word in arguments[2:]]
            yield ["-k", ",".join(f"{backend}:{name}" for name in names)] + rest


def usable_kernels(spmv, only=None):
    """kernels_of, without the backends that are not asked for or whose device does not open."""
    kernels = {backend: names for backend, names in kernels_of(spmv).items()
               if only in (None, backend)}
    for backend in list(kernels):
        first = {"omp": "csr_rows", "cuda": "csr_warp"}.get(backend)
        tried = subprocess.run([spmv, "-m", "gen:diagonal:9", "-k", f"{backend}:{first}", "-q",
                                "--no-log", "--min-time=0", "--max-time=0"], capture_output=True,
                               text=True, check=False) if first in kernels[backend] else None
        if tried is None or tried.returncode != 0:
            if tried is not None:
                say(f"study: without {backend}: {tried.stderr.strip()}")
            del kernels[backend]
    return kernels


def measure(options, study, sources, log):
    """Runs spmv on every matrix until the time is over; returns what was left out, and why, and the
    worst exit code of a run."""
    start, left_out, worst = time.monotonic(), [], 0
    kernels = usable_kernels(options.spmv, options.backend)
    for source in sources:
        for arguments in arguments_of(study, kernels, source):
            remains = options.limit - (time.monotonic() - start) if options.limit else None
            if remains is not None and remains <= 0:
                left_out.append(f"time over before {source}")
                break
            command = [options.spmv, "-m", source, *arguments, f"--min-time={options.time}",
                       f"--max-time={2 * options.time}", f"--cache={options.cache}",
                       "--log", log, "-q"]
            say(f"{time.monotonic() - start:6.0f} s  {' '.join(command)}")
            try:
                code = subprocess.run(command, stdout=subprocess.DEVNULL, timeout=remains,
                                      check=False).returncode
            except subprocess.TimeoutExpired:
                left_out.append(f"time over before {source} (in part)")
                break
            if code not in (0, 3):  # skipped and failed rows are in the log, with their reasons
                left_out.append(f"{source}: spmv ended with {code}"
                                + (": wrong results" if code == 1 else ""))
                worst = 1 if code == 1 or worst == 1 else EX_DATAERR
                if code != 1:
                    break
    say(f"measured in {time.monotonic() - start:.0f} s")
    return left_out, worst


def records_since(log, size):
    """(records behind the first `size` bytes of a log, what was said of them)."""
    with tempfile.TemporaryDirectory() as folder:
        new = os.path.join(folder, os.path.basename(log))
        with open(log, "rb") as old, open(new, "wb") as file:
            old.seek(size)
            shutil.copyfileobj(old, file)
        return load([new])


def make_study(arguments):
    """Measures and writes; exit status 0, 1 for wrong results, 65 for matrices that do not run, or
    by Stop. The tables are of this run, with --no-run of all that is in the log."""
    parser = Parser(prog="study", description="Repeat a study of one of the papers.")
    parser.add_argument("study", choices=sorted(STUDIES))
    parser.add_argument("--files", nargs="*", default=[], metavar="FILE",
                        help="matrices to use instead of twins")
    parser.add_argument("--matrices", nargs="*", default=[], metavar="NAME",
                        help="twins (or gen: names) to use instead of the paper's list")
    parser.add_argument("--scale", choices=SCALES, default="small",
                        help="twins of at most 5, 30 or any number of million nonzeros (%(default)s)")
    parser.add_argument("--backend", choices=("omp", "cuda"), help="default: all that are there")
    parser.add_argument("--limit", type=float, default=0, metavar="S",
                        help="start no run after S seconds, stop the one in hand (0: none)")
    parser.add_argument("--time", type=float, default=0.1, metavar="S",
                        help="least time a configuration is measured (%(default)s)")
    parser.add_argument("--cache", choices=("warm", "cold", "steady"), default="warm",
                        help="what a product finds in the caches, as of spmv (%(default)s)")
    parser.add_argument("--spmv", default=os.path.join(ROOT, "spmv"), metavar="PROGRAM")
    parser.add_argument("--log", metavar="FILE.jsonl", help="default log/study-NAME.jsonl")
    parser.add_argument("--out", metavar="FOLDER", help="default tables/study-NAME")
    parser.add_argument("--no-run", action="store_true", help="tables of what is logged already")
    options = parser.parse_args(arguments)
    study = options.study
    log = options.log or os.path.join(ROOT, "log", f"study-{study}.jsonl")
    out = options.out or os.path.join(ROOT, "tables", f"study-{study}")
    left_out, worst, size = [], 0, 0
    if not options.no_run:
        os.makedirs(os.path.dirname(os.path.abspath(log)), exist_ok=True)
        sources = options.files or matrices_of(study, options.spmv, options.scale, options.matrices)
        if study == "ci" and not options.files and not options.matrices:
            sources += hamiltonians(options.scale)
        size = os.path.getsize(log) if os.path.exists(log) else 0
        left_out, worst = measure(options, study, sources, log)
    for words in left_out:
        say(f"study: {words}")
    if not options.no_run and options.limit and (os.path.getsize(log) if os.path.exists(log) else 0) == size:
        raise Stop(EX_DATAERR, f"nothing was finished in {options.limit:g} s: a longer --limit (make: LIMIT=), "
                   "or smaller --matrices (MATRICES=)")
    records, said = records_since(log, size) if os.path.exists(log) else load([log])
    runs = papers.runs_of(records)
    more, figures = (PAGES[study](runs) if study in PAGES
                     else (make_pages(records, read_fields(RECORD_DEF)), {}))
    drawings, lacking = study_charts.drawn(figures)
    beside, agreement = printed_pages(study, papers.by_system(runs), papers.machine_line(runs))
    pages = {**papers.best_pages(runs), **more, **beside, **drawings}
    write_files(out, pages)
    if figures and lacking:
        say(f"study: figures as SVG alone: {lacking}")
    say(f"study {study}: {agreement} paper.md has them.")
    say(f"study {study}: {said}; {len(pages)} files in {out}")
    return worst


if __name__ == "__main__":
    sys.exit(run("study", make_study, None))
