#!/usr/bin/env python3
"""mutate.py: plants faults in the source, one at a time, and says which of them no test notices.

    mutate.py                       the faults of faults.txt, written by hand
    mutate.py --generated [SEED]    100 that are drawn from all that operators.py can make; --count N: so many
    mutate.py --only WORD           those whose name or file holds WORD
    mutate.py --jobs N              N at a time, each in a copy of its own
    mutate.py --check               says whether the text of each of faults.txt and equivalent.txt stands in its file

It works in a copy of the tracked files, build/mutate/tree, whose objects are reused. What a run found is
kept in build/mutate/results.jsonl, so that a run that was stopped goes on: a fault is planted again only if
its file, or a test that bears on it, has changed. A fault that no test finds, while one that bears on it fails
on the source as it is, counts as not tried. It ends with exit code 1 if a fault survives that equivalent.txt
does not list."""

import argparse
import contextlib
import fcntl
import fnmatch
import glob
import hashlib
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading

import operators

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ALL = os.path.join(ROOT, "build", "mutate")
HOME = os.environ.get("MUTATE_HOME", ALL)  # folder of one of several jobs: ALL/job3
TREE = os.path.join(HOME, "tree")
RESULTS = os.path.join(ALL, "results.jsonl")
MAKE = ["make", "-s", "-j2", "CFLAGS=-O1 -march=native"]
SECONDS = os.path.join(ALL, "seconds.json")
SAMPLE = 100


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def digest(*texts):
    return hashlib.sha1("\0".join(texts).encode()).hexdigest()[:16]


# ---- the faults ---------------------------------------------------------------------------------------


class Fault:

    def __init__(self, name, file, tests, mutated):
        self.name, self.file, self.tests, self.mutated = name, file, tests, mutated

    def identity(self):
        return digest(self.file, self.mutated)


def written():
    """The faults of faults.txt: paragraphs of a name, the file, the tests, lines to be replaced (-) and
    what comes in their place (+). The text to be replaced stands in the file once."""
    faults = []
    for paragraph in read(os.path.join(HERE, "faults.txt")).split("\n\n"):
        lines = [line for line in paragraph.splitlines() if line and not line.startswith("#")]
        if not lines:
            continue
        name, file, tests = lines[0], lines[1].removeprefix("file "), lines[2].removeprefix("tests ").split()
        old = "\n".join(line[2:] for line in lines[3:] if line[0] == "-")
        new = "\n".join(line[2:] for line in lines[3:] if line[0] == "+")
        text = read(os.path.join(ROOT, file))
        if text.count(old) != 1:
            sys.exit(f"mutate.py: {name}: its text stands {text.count(old)} times in {file}, not once")
        faults.append(Fault(name, file, tests, text.replace(old, new)))
    return sorted(faults, key=lambda fault: fault.file.endswith(".h"))  # headers last: much is built again for them


def bearing():
    """[(pattern of files, tests)] of bearing.txt. Without tests: nothing is planted in such files."""
    lines = [line.split() for line in read(os.path.join(HERE, "bearing.txt")).splitlines()]
    return [(words[0], words[1:]) for words in lines if words and words[0][0] != "#"]


def kernels_of(file):
    """The kernels of the processor beside a file; for one of a format those that read it."""
    folder = os.path.dirname(file)
    sources = sorted(glob.glob(os.path.join(ROOT, folder if folder.startswith("omp/") else "omp/*", "*.c")))
    form = "" if folder.startswith("omp/") else f'"{os.path.basename(folder)}",'
    return [os.path.basename(path)[:-2] for path in sources if f".format = {form}" in read(path)]


def spelt_out(test, file):
    """A test of bearing.txt, where KERNEL, FORMAT and KERNELS are names of the file: one test for each."""
    kernel, form = os.path.basename(file).removesuffix(".c"), os.path.basename(os.path.dirname(file))
    if "KERNELS" in test:
        return [test.replace("KERNELS", name) for name in kernels_of(file)]
    return [test.replace("KERNEL", kernel).replace("FORMAT", form)]


def generated(seed, only):
    """The sample with that seed: every file is drawn as often as it has places for a fault. only: a path, of files or a folder
    alone; or a word."""
    lines = bearing()
    tracked = subprocess.run(["git", "ls-files", "*.c", "*.h", "src/*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    places = []
    for file in tracked.split():
        if "/" in only and only not in file:
            continue
        fits = [tests for pattern, tests in lines if fnmatch.fnmatch(file, pattern)]
        tests = list(itertools.chain(*fits)) if all(fits) else []
        tests = list(itertools.chain(*(spelt_out(test, file) for test in tests)))
        if tests:
            text = read(os.path.join(ROOT, file))
            left_out = [pattern.split(":")[1] for pattern, _ in lines if pattern.startswith(f"{file}:")]
            places += [(file, list(dict.fromkeys(tests)), text, change) for change in operators.changes(file, text, left_out)]
    random.Random(seed).shuffle(places)
    for file, tests, text, (at, old, new) in places:
        line = text.count("\n", 0, at) + 1
        whole = text.splitlines()[line - 1].strip()
        old_line = " ".join(old.split())
        place = f"{file}:{line}: '{old_line}' becomes '{new}' at {at - text.rfind(chr(10), 0, at) - 1} in: {whole}"
        yield Fault(place, file, tests, text[:at] + new + text[at + len(old):])


def equivalent():
    """{(file, line's text, old, new): reason} of equivalent.txt, whose columns are apart by tabs. Each line's text stands in
    its file."""
    listed = {}
    for line in read(os.path.join(HERE, "equivalent.txt")).splitlines():
        if line.startswith("#"):
            continue
        words = line.split("\t")
        if len(words) != 5:
            sys.exit(f"mutate.py: equivalent.txt has a line of {len(words)} columns, not 5: {line}")
        file, text, was, becomes, reason = words
        path = os.path.join(ROOT, file)
        if not os.path.exists(path) or (was if text == "*" else text) not in map(str.strip, read(path).splitlines()):
            sys.exit(f"mutate.py: equivalent.txt: no line of {file} is: {was if text == '*' else text}")
        if (file, text, was, becomes) in listed:
            sys.exit(f"mutate.py: equivalent.txt: {file} has this change twice: {becomes}")
        listed[file, text, was, becomes] = reason
    return listed


def reason_of(fault, listed):
    before, after = read(os.path.join(ROOT, fault.file)).splitlines(), fault.mutated.splitlines()
    for old, new in zip(before, after):
        if old != new:
            return next((why for (file, line, was, becomes), why in listed.items()
                         if file == fault.file and line == old.strip() and new.strip() == becomes or
                         file == fault.file and line == "*" and was == old.strip()), None)
    return None


# ---- the copy -----------------------------------------------------------------------------------------


def copy_tree():
    """Brings the copy to what the tracked files are; files that have not changed keep their time, others are gone."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                           capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        source, copy = os.path.join(ROOT, name), os.path.join(TREE, name)
        if not os.path.exists(source):
            continue
        with open(source, "rb") as file:
            content = file.read()
        if os.path.exists(copy):
            with open(copy, "rb") as file:
                if file.read() == content:
                    continue
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        shutil.copyfile(source, copy)
        shutil.copymode(source, copy)
    kept = set(names.split("\0"))
    for folder, inside, files in os.walk(TREE):
        inside[:] = [name for name in inside if os.path.join(folder, name) != os.path.join(TREE, "build")]
        for path in (os.path.join(folder, name) for name in files):
            if folder != TREE and os.path.relpath(path, TREE) not in kept:
                os.remove(path)
    shared = os.path.join(HOME, "shared")
    if os.path.exists(os.path.join(ROOT, "..", "shared")) and not os.path.lexists(shared):
        os.symlink(os.path.realpath(os.path.join(ROOT, "..", "shared")), shared)


def targets(tests):
    units = [f"build/omp/test/{test.split(':')[0]}" for test in tests if "/" not in test]
    libraries = [f"build/omp/{name}" for name in ("libspmv.so", "parts.a") if any(test.startswith("ranks/") for test in tests)]
    program = ["omp"] if any(test.startswith(("python/", "cli/", "ranks/scarce")) for test in tests) else libraries
    wrong = ["build/omp/spmv-wrong"] if any("test_wrong" in test for test in tests) else []
    return program + wrong + units


def make(tests, old=()):
    """Builds tests; the objects `old` stay as they are."""
    return subprocess.run([*MAKE, *(f"-o{path}" for path in old), *targets(tests)], cwd=TREE, capture_output=True, text=True, check=False)


class Objects:
    """The objects of the source as it is, so that they need not be made again after a fault."""

    def __init__(self):
        self.kept = {}  # path: (time it was made, bytes)

    def changed(self):
        """Those that were made since they were kept: [(path, whether the bytes are others)]."""
        found = []
        for path in glob.glob(os.path.join(TREE, "build", "omp", "**", "*.o"), recursive=True):
            at, content = self.kept.get(path, (None, None))
            if os.stat(path).st_mtime_ns != at:
                found.append((path, self.content(path) != content))
        return found

    @staticmethod
    def content(path):
        with open(path, "rb") as file:
            return file.read()

    def variants(self):
        """Those of a second to fourth precision or width of offsets: the same source, compiled again."""
        return [os.path.relpath(path, TREE) for path in self.kept if re.search(r"\.f(32_o..|64_o64)\.o$", path)]

    def keep(self):
        for path, _ in self.changed():
            self.kept[path] = os.stat(path).st_mtime_ns, self.content(path)

    def put_back(self):
        for path, _ in self.changed():
            if path in self.kept:
                with open(path, "wb") as file:
                    file.write(self.kept[path][1])
                self.kept[path] = os.stat(path).st_mtime_ns, self.kept[path][1]

    def version(self):
        """Changes with the library and the program, but not with the date of the build, which record.o has."""
        inside = os.path.join("omp", "test", "")
        return hashlib.sha1(b"".join(content for path, (_, content) in sorted(self.kept.items())
                                     if inside not in path and not path.endswith("record.o"))).hexdigest()


# ---- the tests ----------------------------------------------------------------------------------------


RANKS = "test/ranks/ranks.c"


def source_of(test):
    if test.startswith("ranks/"):
        return RANKS
    if "/" not in test:
        return f"test/unit/{test.split(':')[0]}.c"
    return test.split(":")[0].join(["test/", ".t" if test.startswith("cli/") else ""])


def version_of(test):
    """Changes with the test's source."""
    path = os.path.join(ROOT, source_of(test))
    return digest(read(path)) if os.path.exists(path) else digest()


def shared_version():
    """Changes with what unit tests share."""
    folder = os.path.join(ROOT, "test", "unit")
    return digest(*(read(os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if name.endswith(".h")))


def command_of(test):
    if test.startswith("python/"):
        file, *case = test.split(":")
        return [os.environ.get("PYTHON", sys.executable), "-B", f"test/{file}", "-f", *(["-k", case[0]] if case else [])]
    if test == "ranks/scarce":
        return ["sh", "test/ranks/run.sh", "build/omp", "scarce"]
    if test.startswith("ranks/"):
        ranks, words = test.removeprefix("ranks/").partition(":")[::2]
        return ["sh", "test/mutate/ranks.sh", "build/omp", ranks, *words.split(",")]
    if test.startswith("cli/"):
        folder = os.path.join(HOME, "cli")
        return ["sh", "-c", f"rm -rf {folder}; mkdir {folder}; sh test/run.sh build/omp one {folder} test/{test}.t >/dev/null; "
                            f"grep -q '^1 0 ' {folder}/*.counts"]
    program, *words = test.split(":", maxsplit=1)
    return [f"build/omp/test/{program}", *words]


def processor_seconds():
    """Returns what all processes took that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def passes(test, most_s):
    """Runs a test, up to its first part that fails: (whether it passed, processor seconds that it took). None: a process of it
    took more than most_s of them, or it did not end in twenty times as long. Others may use the cores meanwhile, so that the
    clock says little."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPMV_")}
    environment.update(SPMV=os.path.join(TREE, "build/omp/spmv"), OMP_WAIT_POLICY="passive",
                       PYTHON=environment.get("PYTHON", sys.executable))
    before = processor_seconds()
    run = subprocess.Popen(command_of(test), cwd=TREE, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, start_new_session=True,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(most_s) + 1, int(most_s) + 2)))
    has_failed = threading.Event()

    def listen():
        for line in run.stdout:
            if b"[  FAILED  ]" in line and not has_failed.is_set():
                has_failed.set()
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    os.killpg(run.pid, signal.SIGKILL)

    threading.Thread(target=listen, daemon=True).start()
    try:
        code = run.wait(60 + 20 * most_s)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
    took = processor_seconds() - before
    if has_failed.is_set():
        return False, took
    return None if code in (None, -signal.SIGXCPU, -signal.SIGKILL) else code == 0, took


class Tests:
    """Knows the processor seconds of each test on the source as it is, and which of them fail there. What unit tests took is kept
    for the next run; that they pass is, too, while the objects are the same."""

    def __init__(self, objects):
        self.objects, self.seconds, self.failing, self.passing, self.built = objects, {}, set(), set(), set()
        for test, (took, _) in self.known().items():
            self.seconds[test] = took

    @staticmethod
    def known():
        return json.loads(read(SECONDS)) if os.path.exists(SECONDS) else {}

    def holds(self, test):
        """Says whether the test passes on the source as it is."""
        if test in self.passing or test in self.failing:
            return test in self.passing
        self.build([test])
        key = digest(version_of(test), shared_version(), self.objects.version())
        took, of = self.known().get(test, (0, ""))  # another job may have timed it meanwhile
        self.seconds[test] = took
        if of != key:
            passed, self.seconds[test] = passes(test, 600)
            if not passed:
                self.failing.add(test)
                print(f"mutate.py: {test} fails on the source as it is", file=sys.stderr)
                return False
            if "/" not in test:
                write(f"{SECONDS}.{os.getpid()}", json.dumps(self.known() | {test: (self.seconds[test], key)}))
                os.replace(f"{SECONDS}.{os.getpid()}", SECONDS)
        self.passing.add(test)
        return True

    def build(self, tests):
        """Builds tests on the source as it is, and keeps their objects."""
        made = make(tests)
        if made.returncode:
            sys.exit(f"mutate.py: the source as it is does not build:\n{made.stderr}")
        self.objects.keep()
        self.built.update(tests)

    def time(self, tests):
        """Objects of tests that changed since an earlier run are built first: what is put back after a fault is what was kept."""
        for test in tests:
            if test not in self.seconds:
                self.holds(test)
        if not self.built.issuperset(tests):
            self.build(tests)


def is_source(fault):
    """Says whether a file of Python is still one."""
    try:
        return not fault.file.endswith(".py") or compile(fault.mutated, fault.file, "exec", dont_inherit=True) is not None
    except SyntaxError:
        return False


# ---- a run --------------------------------------------------------------------------------------------


def ask(fault, tests, old):
    """(what became of the fault in the copy, the test that found it); the objects `old` are those of the source as it is. Tests
    that take least come first, and are linked when they are asked."""
    asked = sorted(fault.tests, key=lambda test: tests.seconds[test])
    is_built = not fault.file.endswith(".py") and not fault.file.startswith("src/ranks/exchange/mpi/")
    if is_built and make(asked[:1], old).returncode or not is_source(fault):
        return "does not compile", ""
    if is_built and not any(is_other for _, is_other in tests.objects.changed()):
        return "same code", ""
    for test in filter(lambda test: test not in tests.failing, asked):
        if is_built and make([test], old).returncode:
            return "does not compile", ""
        ended, _ = passes(test, 10 + 4 * tests.seconds[test])
        if not ended:
            return "found" if ended is False else "found: endless", test
    return "survived" if tests.failing.isdisjoint(fault.tests) else "not tried", ""


def plant(fault, tests):
    """The same, in the first variant of a kernel: compiling it takes longer than most tests. What is not found so is planted in
    all of them. Nothing is found by a test that fails on the source as it is."""
    path = os.path.join(TREE, fault.file)
    original, times = read(path), os.stat(path)
    try:
        write(path, fault.mutated)
        result = ask(fault, tests, tests.objects.variants()) if fault.file.startswith("omp/") else ("not tried", "")
        if not result[0].startswith(("found", "does")):
            result = ask(fault, tests, ())
    finally:
        tests.objects.put_back()
        for library in glob.glob(os.path.join(TREE, "build", "omp", "ranks", "libspmv_*mpi*.so")) if "/mpi/" in fault.file else ():
            os.remove(library)
        write(path, original)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    return result if not result[1] or tests.holds(result[1]) else plant(fault, tests)


def is_current(old, fault, last):
    if old["result"] == "not tried":
        return last
    if old["result"].startswith("found"):
        return old["versions"].get(old["test"]) == version_of(old["test"]) if old["test"] in fault.tests else False
    return old["versions"] == {test: version_of(test) for test in fault.tests} and old.get("shared") == shared_version()


def run(faults, most, verbose, last):
    """last: what the jobs of this run did not try is not tried again."""
    known, tests, count, survivors = {}, Tests(Objects()), {}, []
    if os.path.exists(RESULTS):
        known = {line["fault"]: line for line in map(json.loads, read(RESULTS).splitlines())}
    listed = equivalent()
    done = 0
    for fault in faults:
        if done == most:
            break
        old = known.get(fault.identity())
        if reason_of(fault, listed):
            result, test = "equivalent", ""  # which is not asked again
        elif old and is_current(old, fault, last):
            result, test = old["result"], old["test"]
        else:
            tests.time(fault.tests)
            before = processor_seconds()
            result, test = plant(fault, tests)
            line = {"fault": fault.identity(), "name": fault.name, "result": result, "test": test,
                    "seconds": round(processor_seconds() - before, 1), "shared": shared_version(), "versions": {test: version_of(test) for test in fault.tests}}
            with open(RESULTS, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        if verbose or result == "survived":
            print(f"{result:10} {test:20} {fault.name}", flush=True)
        if result == "survived":
            survivors.append(fault)
        count[result] = count.get(result, 0) + 1
        done += result not in ("does not compile", "same code", "not tried")
    print(f"{done} faults: " + ", ".join(f"{n} {result}" for result, n in sorted(count.items())))
    return 1 if survivors or count.get("not tried") else 0


def share_out(jobs):
    """Plants faults in so many copies at a time; what they found is in RESULTS."""
    tests = [f"build/omp/test/{name[:-2]}" for name in sorted(os.listdir(os.path.join(TREE, "test", "unit")))
             if name.startswith("test_") and name.endswith(".c")]
    subprocess.run([*MAKE, f"-j{os.cpu_count()}", "omp", "build/omp/spmv-wrong", *tests], cwd=TREE, check=True)
    running = []
    for job in range(jobs):
        home = os.path.join(ALL, f"job{job}")
        shutil.rmtree(home, ignore_errors=True)
        os.makedirs(home)
        subprocess.run(["cp", "-a", TREE, home], check=True)
        words = [word for word in sys.argv[1:] if word != "-v"]
        running.append(subprocess.Popen([sys.executable, __file__, *words, f"--job={job}"], stdout=subprocess.DEVNULL,
                                        env={**os.environ, "MUTATE_HOME": home}))
    for job in running:
        job.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--generated", nargs="?", const=1, type=int, metavar="SEED")
    parser.add_argument("--count", type=int, default=SAMPLE, metavar="N")
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--job", type=int, help=argparse.SUPPRESS)  # the number of one of them
    o = parser.parse_args()
    if o.check:
        written()
        equivalent()
        return
    os.makedirs(TREE, exist_ok=True)
    lock = open(os.path.join(HOME, "lock"), "w", encoding="utf-8")  # pylint: disable=consider-using-with
    fcntl.flock(lock, fcntl.LOCK_EX)  # one run at a time has the copy
    copy_tree()
    if o.jobs > 1 and o.job is None:
        share_out(o.jobs)
    faults = written() if o.generated is None else generated(o.generated, o.only)
    wanted = (fault for fault in faults if o.only in fault.name or o.only == fault.file)
    most = o.count if o.generated is not None else -1
    if o.job is not None:  # what they leave is for the one that started them
        wanted, most = itertools.islice(wanted, o.job, None, o.jobs), most // o.jobs
    sys.exit(run(wanted, most, o.verbose, o.jobs > 1 and o.job is None))


if __name__ == "__main__":
    main()
