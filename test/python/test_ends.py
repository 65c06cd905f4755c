#!/usr/bin/env python3
"""Tests of how the program ends where it is stopped or cannot write: closed output, Ctrl-C, a full disk; and of what it says
when it has kept nothing."""

import ctypes
import json
import os
import resource
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from logfixture import record

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SPMV = os.environ.get("SPMV", os.path.join(ROOT, "spmv"))
RUN = ["-m", "gen:poisson2d:9", "-k", "omp:csr_rows", "-t1", "--min-time=0", "--max-time=0", "--samples=3", "--probe=off"]
FEATURES = subprocess.run([SPMV, "-V", "-v"], capture_output=True, text=True, check=True).stdout
INTERRUPTED = 130
BEFORE = "what was there\n"
LIBC = ctypes.CDLL(None, use_errno=True)
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1  # Linux
REFUSING = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

int open(const char *path, int flags, ...) {
    int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    va_list more;
    va_start(more, flags);
    unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, unsigned) : 0;
    va_end(more);
    if ((flags & O_TMPFILE) == O_TMPFILE) return errno = EOPNOTSUPP, -1;
    return next(path, flags, mode);
}
"""


class Ends(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def log(self, name="x.jsonl", count=3):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record(1e-3 * (k + 1), 0.5, matrix__name=f"m{k}")) + "\n" for k in range(count))
        return self.path(name)

    def keep(self, name):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(BEFORE)

    def kept(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def spmv(self, *words, before=None):
        return subprocess.run([SPMV, *words], cwd=self.folder, capture_output=True, text=True, timeout=600, check=False,
                              preexec_fn=before)


class Closed(Ends):

    def code_of(self, *words):
        return subprocess.run([SPMV, *words], cwd=self.folder, stderr=subprocess.DEVNULL, timeout=600, check=False,
                              preexec_fn=lambda: os.close(1)).returncode

    def test_results_that_go_nowhere_are_a_failure(self):
        self.log()
        for words in ([*RUN, "--no-log"], ["list"], ["info", "gen:poisson2d:9"], ["doctor"], ["table", "x.jsonl"],
                      ["--version"]):
            self.assertEqual(self.code_of(*words), 73, words)

    @unittest.skipUnless("jansson" in FEATURES, "built without jansson: no log")
    def test_a_log_has_them(self):
        self.assertEqual(self.code_of(*RUN, "--log=kept.jsonl"), 0)
        with open(self.path("kept.jsonl"), encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 1)
        self.assertEqual(self.code_of(*RUN, "--no-log", "-o", "table"), 0)


class Interrupted(Ends):
    """Ctrl-C while the program reads a pipe that says nothing."""

    def writer(self, process, fifo):
        """The pipe's other end, once the program reads it."""
        while process.poll() is None:
            try:
                return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                time.sleep(0.01)
        self.fail(f"{process.args} did not read: {process.communicate()}")

    def interrupt(self, *words, fifo, first=b""):
        os.mkfifo(self.path(fifo))
        with subprocess.Popen([SPMV, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
            writer = self.writer(process, self.path(fifo))
            os.write(writer, first)
            process.send_signal(signal.SIGINT)
            out, talk = process.communicate(timeout=600)
            os.close(writer)
        os.unlink(self.path(fifo))
        return process.returncode, out, talk

    def test_one_line_and_130(self):
        for words in (["a.mtx", "-q"], ["info", "a.mtx"]):
            code, out, talk = self.interrupt(*words, fifo="a.mtx", first=b"%%MatrixMarket matrix coordinate real general\n")
            self.assertEqual((code, out, talk.count("\n")), (INTERRUPTED, "", 1), (words, talk))
            self.assertIn("interrupted", talk)

    def test_what_was_printed_before_stays(self):
        code, out, talk = self.interrupt(*RUN, "--no-log", "-q", "-m", "a.mtx", fifo="a.mtx")
        self.assertEqual(code, INTERRUPTED, talk)
        self.assertIn("csr_rows", out)

    def test_tools_say_a_line_too(self):
        for words in (["table", "a.jsonl"], ["report", "a.jsonl", "-o", "r.html"], ["compare", "a.jsonl", "a.jsonl"]):
            code, out, talk = self.interrupt(*words, fifo="a.jsonl", first=b"{")
            self.assertEqual((code, out, talk.count("\n")), (INTERRUPTED, "", 1), (words, talk))
            self.assertFalse(os.path.exists(self.path("r.html")))

    def test_a_download(self):
        """The server takes the call, and says nothing."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = f"http://127.0.0.1:{server.getsockname()[1]}"
            with subprocess.Popen([SPMV, "get", "HB/x", "-o", "here"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, env={**os.environ, "SPMV_COLLECTION": address, "no_proxy": "*"},
                                  preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
                server.settimeout(60)
                with server.accept()[0] as call:
                    call.recv(1)
                    process.send_signal(signal.SIGINT)
                    out, talk = process.communicate(timeout=600)
        self.assertEqual((process.returncode, out), (INTERRUPTED, ""), talk)
        self.assertRegex(talk, r"^fetching .*\nspmv get: interrupted; files that are written are whole\n$")

    def test_while_python_is_loaded(self):
        """The signal comes when it may; there is never a trace. Before main, and once Python takes itself down, nobody can catch
        it: the process then dies of the signal, which a shell calls 130, too."""
        self.log()
        for wait, words in ((0.02, ["table", "x.jsonl"]), (0.06, ["table", "x.jsonl"]), (0.1, ["table", "x.jsonl"]),
                            (0.15, ["report", "x.jsonl"]), (0.2, ["table", "x.jsonl"]), (0.05, ["get", "--help"]), (0.1, ["get", "--help"])):
            with subprocess.Popen([SPMV, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
                try:
                    process.communicate(timeout=wait)
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGINT)
                _, talk = process.communicate(timeout=600)
                self.assertNotIn("Traceback", talk)
                self.assertIn(process.returncode, (0, INTERRUPTED, -signal.SIGINT))


class FullDisk(Ends):
    """No file may become larger than so many bytes."""

    def limit(self, size):
        def before():
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return before

    def test_no_half_report(self):
        log = self.log()
        done = self.spmv("report", log, "-o", "r.html", "--no-charts", before=self.limit(4000))
        self.assertEqual(done.returncode, 73, done.stderr)
        self.assertIn("r.html: File too large", done.stderr)
        self.assertEqual(os.listdir(self.folder), ["x.jsonl"])
        with open(self.path("r.html"), "w", encoding="utf-8") as file:
            file.write("the report before")
        self.spmv("report", log, "-o", "r.html", "--no-charts", before=self.limit(4000))
        with open(self.path("r.html"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "the report before")


    def test_no_half_matrix(self):
        self.keep("w.mtx")
        done = self.spmv(*RUN, "--no-log", "--write=w.mtx", before=self.limit(1000))
        self.assertEqual(done.returncode, 73, done.stderr)
        self.assertIn("w.mtx: File too large", done.stderr)
        self.assertEqual(self.kept("w.mtx"), BEFORE)
        self.assertEqual(os.listdir(self.folder), ["w.mtx"])

    def test_what_cannot_be_written_is_named(self):
        for words in (["-y", "y.mtx"], ["--format=csv", "-o", "o.csv"], ["--log=l.jsonl"]):
            done = self.spmv(*RUN, *words, before=self.limit(100))
            self.assertEqual(done.returncode, 73, done.stderr)
            self.assertRegex(done.stderr, rf"spmv: {words[-1].rpartition('=')[2]}: .*(File too large|disk full)")

    def test_nothing_follows_a_sweep_that_is_not_logged(self):
        done = self.spmv("sweep", *RUN, "gen:poisson2d:9", "--log=l.jsonl", before=self.limit(100))
        self.assertEqual(done.returncode, 73, done.stderr)
        self.assertNotIn("next:", done.stderr)

    def test_a_link_to_stdout_stays(self):
        """Such as /dev/stdout is, where stdout is a file; one of the test's own, since to lose it would harm the machine."""
        os.symlink("/proc/self/fd/1", self.path("stdout"))
        with open(self.path("out"), "w", encoding="utf-8") as out:
            done = subprocess.run([SPMV, *RUN, "--no-log", "--write=stdout"], cwd=self.folder, stdout=out,
                                  stderr=subprocess.DEVNULL, check=False, preexec_fn=self.limit(1000))
        self.assertEqual(done.returncode, 73)
        self.assertTrue(os.path.lexists(self.path("stdout")))


class Written(Ends):
    """What --write=FILE replaces is left whole, or replaced whole."""

    def write(self, name, *words, **more):
        return self.spmv(*RUN, "--no-log", "-q", f"--write={name}", *words, **more)

    def is_matrix(self, name):
        self.assertTrue(self.kept(name).startswith("%%MatrixMarket"), self.kept(name)[:40])

    def interrupted(self, name, which):
        """The program's exit status, interrupted when some megabytes are written."""
        words = [SPMV, "-m", "gen:poisson3d:90", "-k", "omp:csr_rows", "--probe=off", "--no-log", f"--write={name}"]
        with subprocess.Popen(words, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as process:
            written = 0
            while written < 4e6 and process.poll() is None:
                with open(f"/proc/{process.pid}/io", encoding="utf-8") as file:
                    written = int(dict(line.split(": ") for line in file.read().splitlines())["wchar"])
            process.send_signal(which)
        return process.returncode

    def test_interrupted(self):
        for which, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)):
            for there in ([], ["w.mtx"]):
                for name in there:
                    self.keep(name)
                self.assertEqual(self.interrupted("w.mtx", which), code)
                self.assertEqual(os.listdir(self.folder), there)
                for name in there:
                    self.assertEqual(self.kept(name), BEFORE)
                    os.unlink(self.path(name))

    def test_mode_and_links(self):
        old = os.umask(0o027)
        self.addCleanup(os.umask, old)
        self.write("new.mtx")
        self.assertEqual(os.stat(self.path("new.mtx")).st_mode & 0o777, 0o640)
        self.keep("w.mtx")
        os.chmod(self.path("w.mtx"), 0o604)
        os.link(self.path("w.mtx"), self.path("other"))
        os.mkdir(self.path("in"))
        os.symlink("../w.mtx", self.path("in/link"))
        os.symlink("in/link", self.path("link"))
        self.assertEqual(self.write("link").returncode, 0)
        self.is_matrix("w.mtx")
        self.assertEqual(os.stat(self.path("w.mtx")).st_mode & 0o777, 0o604)
        self.assertEqual((os.readlink(self.path("link")), self.kept("other")), ("in/link", BEFORE))
        os.symlink("in/nowhere.mtx", self.path("dangling"))
        self.assertEqual(self.write("dangling").returncode, 0)
        self.is_matrix("in/nowhere.mtx")

    def test_pipes_and_stdout_are_written_to(self):
        os.mkfifo(self.path("fifo"))
        with subprocess.Popen(["cat", "fifo"], cwd=self.folder, stdout=subprocess.PIPE, text=True) as reader:
            self.assertEqual(self.write("fifo").returncode, 0)
            self.assertTrue(reader.stdout.read().startswith("%%MatrixMarket"))
        os.symlink("/proc/self/fd/1", self.path("stdout"))
        self.assertTrue(self.write("stdout").stdout.startswith("%%MatrixMarket"))
        with open(self.path("out"), "w", encoding="utf-8") as out:
            subprocess.run([SPMV, *RUN, "--no-log", "-q", "--write=stdout"], cwd=self.folder, stdout=out, check=True)
            self.assertEqual(os.fstat(out.fileno()).st_nlink, 1)
        self.assertIn("csr_rows", self.kept("out"))

    def test_what_may_not_be_written(self):
        """A file is read-only, or a folder takes no new one. Root, who may write to both, gives that right away: another user
        could not be sure to reach the program."""
        def as_owner():
            if os.getuid() == 0 and LIBC.prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "prctl")
        for name, mode in (("read_only", 0o444), ("w.mtx", 0o666)):
            self.keep(name)
            os.chmod(self.path(name), mode)
        os.chmod(self.folder, 0o555)
        self.addCleanup(os.chmod, self.folder, 0o755)
        done = self.write("read_only", before=as_owner)
        self.assertEqual((done.returncode, self.kept("read_only")), (73, BEFORE))
        self.assertIn("read_only: Permission denied", done.stderr)
        self.assertIn("new: Permission denied", self.write("new", before=as_owner).stderr)
        self.assertEqual(self.write("w.mtx", before=as_owner).returncode, 0)
        self.is_matrix("w.mtx")

    def test_a_file_system_without_nameless_files(self):
        """The library that is loaded first refuses them; a name beside is used, and is gone when writing failed."""
        with open(self.path("refuse.c"), "w", encoding="utf-8") as file:
            file.write(REFUSING)
        library = self.path("refuse.so")
        subprocess.run([os.environ.get("CC", "gcc").split()[0], "-shared", "-fPIC", "-o", library, self.path("refuse.c")], check=True)
        there = sorted([*os.listdir(self.folder), "w.mtx"])
        self.keep("w.mtx")
        for limit, code in ((1000, 73), (resource.RLIM_INFINITY, 0)):
            def before(limit=limit):
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            done = subprocess.run(["env", f"LD_PRELOAD={library}", SPMV, *RUN, "--no-log", "-q", "--write=w.mtx"], cwd=self.folder,
                                  capture_output=True, text=True, check=False, preexec_fn=before)
            self.assertEqual((done.returncode, sorted(os.listdir(self.folder))), (code, there), done.stderr)
            self.assertEqual(self.kept("w.mtx") == BEFORE, code == 73)


class NothingKept(Ends):

    @unittest.skipUnless("jansson" in FEATURES, "built without jansson: no log")
    def test_it_is_said(self):
        self.assertIn(", not logged (--log=log)\n", self.spmv(*RUN).stderr)
        for more in (["-q"], ["--no-log"], ["--log=x.jsonl"]):
            self.assertNotIn("not logged", self.spmv(*RUN, *more).stderr)
        self.assertNotIn("not logged", self.spmv("-k", "csr_row", "gen:poisson2d:9").stderr)
        os.mkdir(self.path("log"))
        self.assertIn("logged 1 record", self.spmv(*RUN, "-v").stderr)


class Announced(Ends):

    def test_a_time_that_does_not_hold_is_corrected(self):
        """The program is stopped for longer than it said that it takes."""
        words = ["gen:poisson2d:50", "-k", "omp:csr_rows,omp:csr_serial", "-t1", "--min-time=10", "--max-time=10", "--max-noise=0%",
                 "--probe=off", "--no-log", "--progress=off"]
        with subprocess.Popen([SPMV, *words], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            for line in process.stderr:
                if line.startswith("timing 2 kernels in turns: "):
                    break
            process.send_signal(signal.SIGSTOP)
            time.sleep(27)
            process.send_signal(signal.SIGCONT)
            self.assertRegex(process.stderr.readline(), r"  longer than announced: [01] of 2 final after \d+ s, ")
            process.kill()


class Names(Ends):

    def test_the_nearest_are_named(self):
        for typed, meant in (("csr_row", ": did you mean 'csr_rows'?"), ("sell99", ": did you mean 'sell_slices' or 'sell16_lanes'?"),
                             ("bsr_", ": did you mean 'bsr_rows' or 'bsr_lanes'?"), ("auot", ": did you mean 'auto'?"),
                             ("balanced", "'csr_balanced'"), ("zzz", "on omp (")):
            done = self.spmv("gen:poisson2d:9", "-k", f"omp:{typed}")
            self.assertEqual(done.returncode, 64)
            self.assertIn(meant, done.stderr)

    @unittest.skipIf("cuda" in FEATURES, "CUDA is built in")
    def test_a_parameter_of_another_backend(self):
        done = self.spmv("gen:poisson2d:9", "-k", "csr_rows", "-b", "192")
        self.assertEqual(done.returncode, 64)
        self.assertIn("--block belongs to kernels of CUDA, which is not built in: make cuda", done.stderr)


if __name__ == "__main__":
    unittest.main()
