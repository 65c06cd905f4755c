#!/usr/bin/env python3
"""spmv get against a server of its own: cache, continuation, checksums, and what it says without a
network."""

import gzip
import hashlib
import http.server
import io
import os
import pathlib
import re
import socket
import subprocess
import tarfile
import tempfile
import threading
import unittest

SPMV = os.environ.get("SPMV", "./spmv")
INDEX = "4\n22-Nov-2026\nHB,tiny,2,2,2,1,0,0,1,1,1,test,2\nSchmid,thermal2,9,9,9,1,0,0,1,1,1,test,9\n" \
        "A,twice,2,2,2,1,0,0,1,1,1,test,2\nB,twice,2,2,2,1,0,0,1,1,1,test,2\n"
MATRIX = b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n" + b"% noise\n" * 9
TINY = "/MM/HB/tiny.tar.gz"


def archive(name, content=MATRIX):
    """Packs a matrix as the collection does."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        about = tarfile.TarInfo(f"{name}/{name}.mtx")
        about.size = len(content)
        tar.addfile(about, io.BytesIO(content))
    return out.getvalue()


class Handler(http.server.BaseHTTPRequestHandler):
    """Files from a dictionary. Says how often and from where each was asked for."""

    def do_GET(self):  # pylint: disable=invalid-name
        """One file, or its end."""
        site = self.server.site
        first = int((re.match(r"bytes=(\d+)-", self.headers.get("Range", "")) or ["", "0"])[1])
        site.asked.append((self.path, first))
        content = site.files.get(self.path)
        if content is None or (site.ranges and first >= len(content)):
            self.send_error(404 if content is None else 416)
            return
        first = first if site.ranges else 0
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(content) - first))
        self.end_headers()
        self.wfile.write(content[first:site.cut_at])

    def log_message(self, *_):  # pylint: disable=arguments-differ
        """Nothing."""


class Site:
    """A server of some files."""

    def __init__(self):
        self.files = {"/files/ssstats.csv": INDEX.encode(), TINY: archive("tiny"),
                      "/MM/Schmid/thermal2.tar.gz": archive("thermal2")}
        self.asked, self.ranges, self.cut_at = [], True, None
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.site = self
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        """No further answers."""
        self.server.shutdown()
        self.server.server_close()


class Get(unittest.TestCase):
    """Each test has a server and an empty cache."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name)
        self.kept = self.home / "spmv/matrices/tiny.tar.gz"
        self.part = self.kept.with_name("tiny.tar.gz.part")
        self.site = Site()
        self.addCleanup(self.site.close)
        self.address = f"http://127.0.0.1:{self.site.server.server_port}"

    def get(self, *arguments):
        """Exit code, stdout, stderr."""
        env = {**os.environ, "XDG_CACHE_HOME": str(self.home), "SPMV_COLLECTION": self.address,
               "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
        done = subprocess.run([SPMV, "get", *arguments], env=env, capture_output=True, text=True,
                              check=False)
        self.assertNotIn("Traceback", done.stderr)
        return done.returncode, done.stdout, done.stderr

    def keep_part(self, content):
        """Plants what an earlier try left."""
        self.part.parent.mkdir(parents=True)
        self.part.write_bytes(content)

    def test_downloads_once(self):
        self.assertEqual(self.get("tiny")[:2], (0, f"{self.kept}\n"))
        self.assertEqual(self.kept.read_bytes(), self.site.files[TINY])
        digest = hashlib.sha256(self.site.files[TINY]).hexdigest()
        self.assertEqual(self.kept.with_name("tiny.tar.gz.sha256").read_text(encoding="utf-8"),
                         f"{digest}  tiny.tar.gz\n")  # as sha256sum -c reads it
        self.assertEqual(self.site.asked, [("/files/ssstats.csv", 0), (TINY, 0)])
        self.assertEqual(self.get("tiny.mtx"), (0, f"{self.kept}\n", ""))
        self.assertEqual(len(self.site.asked), 2)
        self.assertFalse(self.part.exists())

    def test_the_program_runs_it(self):
        features = subprocess.run([SPMV, "-V", "-v"], capture_output=True, text=True, check=True)
        if not re.search(r"^features.*libarchive", features.stdout, re.M):
            self.skipTest("built without libarchive")
        path = self.get("tiny")[1].strip()
        done = subprocess.run([SPMV, path, "-k", "omp:csr1", "--no-log", "-q", "--min-time=0",
                               "--max-time=0", "--format=csv"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("tiny", done.stdout)

    def test_a_group_needs_no_list_and_a_folder_of_ones_own_is_used(self):
        into = self.home / "mine"
        self.assertEqual(self.get("HB/tiny", "-o", str(into))[:2], (0, f"{into}/HB/tiny.tar.gz\n"))
        self.assertEqual(self.site.asked, [(TINY, 0)])

    def test_continues(self):
        whole = self.site.files[TINY]
        self.keep_part(whole[:100])
        self.assertEqual(self.get("tiny")[0], 0)
        self.assertEqual(self.site.asked[-1], (TINY, 100))
        self.assertEqual(self.kept.read_bytes(), whole)

    def test_a_part_that_is_whole_already_is_kept(self):
        self.keep_part(self.site.files[TINY])
        self.assertEqual(self.get("tiny")[0], 0)
        self.assertEqual(self.kept.read_bytes(), self.site.files[TINY])

    def test_begins_anew_where_the_server_cannot_continue(self):
        self.site.ranges = False
        self.keep_part(b"x" * 100)
        self.assertEqual(self.get("tiny")[0], 0)
        self.assertEqual(self.kept.read_bytes(), self.site.files[TINY])

    def test_a_connection_that_breaks_leaves_what_came(self):
        self.site.cut_at = 120
        self.site.files["/files/ssstats.csv"] = INDEX[:119].encode()
        code, out, said = self.get("tiny")
        self.assertEqual((code, out), (69, ""))
        self.assertIn("the same command continues", said)
        self.assertEqual(self.part.read_bytes(), self.site.files[TINY][:120])
        self.site.cut_at = None
        self.assertEqual(self.get("tiny")[0], 0)
        self.assertEqual(self.site.asked[-1], (TINY, 120))
        self.assertEqual(self.kept.read_bytes(), self.site.files[TINY])

    def test_a_broken_archive_is_refused_and_removed(self):
        whole = self.site.files[TINY]
        for broken in (whole[:-8] + b"12345678", whole[:-12], b"no archive", gzip.compress(b"no tar"),
                       archive("other")):  # the checksum; the end; ...
            with self.subTest(broken=broken[:20]):
                self.site.files[TINY] = broken
                code, out, said = self.get("tiny")
                self.assertEqual((code, out), (65, ""), said)
                self.assertIn("removed", said)
                self.assertFalse(self.kept.exists() or self.part.exists())

    def test_a_damaged_copy_is_fetched_again(self):
        self.get("tiny")
        damaged = bytearray(self.kept.read_bytes())
        damaged[50] ^= 1
        self.kept.write_bytes(damaged)
        code, _, said = self.get("tiny")
        self.assertEqual(code, 0)
        self.assertIn("not what was downloaded", said)
        self.assertEqual(self.kept.read_bytes(), self.site.files[TINY])

    def test_names(self):
        for name, text in (("thermal", "did you mean thermal2?"), ("twice", "A/twice, B/twice"),
                           ("HB/nothing", "no such file"), ("../", "no name of a matrix"), ("../../tiny", "no name of a matrix"), ("A/../../tiny", "no name of a matrix"),
                           ("/tmp/tiny", "no name of a matrix"), ("..", "no name of a matrix"), ("../tiny", "no name of a matrix"), ("A/..", "no name of a matrix")):
            with self.subTest(name=name):
                code, out, said = self.get(name)
                self.assertEqual((code, out), (66, ""))
                self.assertIn(text, said)

    def test_a_new_matrix_is_found_though_the_list_is_old(self):
        self.get("tiny")
        self.site.files["/files/ssstats.csv"] += b"HB,newer,2,2,2,1,0,0,1,1,1,test,2\n"
        self.site.files["/MM/HB/newer.tar.gz"] = archive("newer")
        self.assertEqual(self.get("newer")[0], 0)

    def test_without_a_network(self):
        with socket.socket() as taken:  # bound, and nobody listens
            taken.bind(("127.0.0.1", 0))
            self.address = f"http://127.0.0.1:{taken.getsockname()[1]}"
            code, out, said = self.get("tiny")
        self.assertEqual((code, out), (69, ""))
        self.assertIn("Is there a network here?", said)
        self.assertIn("spmv FILE.tar.gz", said)

    def test_a_folder_that_cannot_be_written(self):
        code, _, said = self.get("HB/tiny", "-o", "/proc/nowhere")
        self.assertEqual(code, 73, said)

    def test_usage(self):
        self.assertEqual(self.get()[0], 64)
        self.assertEqual(self.get("--nonsense", "tiny")[0], 64)
        self.assertIn("unknown option --nonsense;", self.get("--nonsense")[2])


if __name__ == "__main__":
    unittest.main()
