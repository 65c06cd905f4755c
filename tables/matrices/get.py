#!/usr/bin/env python3
"""Download matrices of the SuiteSparse Collection (https://sparse.tamu.edu).

    spmv get thermal2                 prints where it is: ~/.cache/spmv/matrices
    spmv -m $(spmv get thermal2)      and runs it
    spmv get HB/bcsstk01 -o matrices  of that group, into a folder of yours

What is there already is not fetched again; what was cut off is continued.
Checksums are verified. SPMV_COLLECTION names another address of these files.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "report"))
import interrupts  # noqa: E402, F401  pylint: disable=unused-import,wrong-import-position
import argparse  # noqa: E402
import csv  # noqa: E402
import difflib  # noqa: E402
import gzip  # noqa: E402
import hashlib  # noqa: E402
import http.client  # noqa: E402
import os  # noqa: E402
import re  # noqa: E402
import tarfile  # noqa: E402
import urllib.error  # noqa: E402
import urllib.parse  # noqa: E402
import urllib.request  # noqa: E402
import zlib  # noqa: E402

from common import EX_CANTCREAT, EX_DATAERR, EX_NOINPUT, EX_UNAVAILABLE, Parser, Stop, run, say  # noqa: E402

ADDRESS = "https://sparse.tamu.edu"
TIMEOUT_S = 30  # without data
PIECE = 1 << 20  # bytes
NAME = re.compile(r"(?:(?!\.+/)([\w.+-]+)/)?(?!\.+$)([\w.+-]+)", re.ASCII)  # GROUP/NAME: no path that leads elsewhere
BROKEN = (OSError, http.client.HTTPException)  # a broken connection; urllib's errors are OSError


def cache_folder():
    """Returns where other caches are."""
    home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(home) / "spmv" / "matrices"


def address_of(path):
    """The path on the server."""
    return os.environ.get("SPMV_COLLECTION", ADDRESS).rstrip("/") + "/" + urllib.parse.quote(path)


def unreachable(url, error):
    """Returns what to say when nothing came."""
    reason = getattr(error, "reason", None) or error
    words = getattr(reason, "strerror", None) or reason
    return Stop(EX_UNAVAILABLE, f"{url}: {words}. Is there a network here? Download the matrix elsewhere (from {ADDRESS}, "
                "as Matrix Market), copy it here, and 'spmv FILE.tar.gz' runs it")


# ---- one file --------------------------------------------------------------------------------

def progress(done, size):
    """A line that rewrites itself, on a terminal."""
    if sys.stderr.isatty():
        share = f" of {size / 1e6:.1f} MB, {100 * done // size} %" if size else " MB"
        print(f"\r  {done / 1e6:.1f}{share}\033[K", end="", file=sys.stderr, flush=True)


def receive(url, part):
    """Appends to the file part what it lacks; False: not whole yet. A server that knows no ranges
    sends all of it again."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        if have and answer.status != 206:
            have = 0
        length = answer.headers.get("Content-Length")
        size = have + int(length) if length else None
        with open(part, "ab" if have else "wb") as file:
            while True:
                piece = answer.read1(PIECE)
                if not piece:
                    break
                file.write(piece)
                have += len(piece)
                progress(have, size)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return size is None or have == size


def fetch(url, part):
    """The whole of url in the file part, which may hold its beginning. What arrived stays."""
    try:
        whole = receive(url, part)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # nothing is left to send, or another file has this name now
            return
        if error.code == 404:
            raise Stop(EX_NOINPUT, f"{url}: the collection has no such file") from None
        raise unreachable(url, error) from None
    except BROKEN as error:
        if isinstance(error, OSError) and error.filename:
            raise Stop(EX_CANTCREAT, f"{error.filename}: {error.strerror}") from None
        raise unreachable(url, error) from None
    if not whole:
        raise Stop(EX_UNAVAILABLE, f"{url}: the connection ended early; the same command continues")


def sha256_of(path):
    """Returns the digest in hexadecimal."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def check_archive(path, name):
    """Raises Stop unless the archive can be read to its end, which checks the checksums of gzip and
    tar, and holds the matrix."""
    try:
        with gzip.open(path) as file:  # tarfile's own gzip reader checks no checksum of the data
            with tarfile.open(fileobj=file, mode="r|") as archive:
                names = [pathlib.PurePosixPath(member.name).name for member in archive]
            while file.read(PIECE):
                pass
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise Stop(EX_DATAERR, f"{path}: a broken archive: {error}; it was removed: try again") from None
    if f"{name}.mtx" not in names:
        raise Stop(EX_DATAERR, f"{path}: holds no {name}.mtx; it was removed")


# ---- the collection --------------------------------------------------------------------------

def read_index(path):
    """[(group, name)] of the collection's list: a count, a date, then a line per matrix."""
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        return [(row[0], row[1]) for row in csv.reader(file) if len(row) > 2]


def find_group(name):
    """The group of a matrix, from the collection's list, which is kept. A name that is not in it may
    be newer."""
    index = cache_folder() / "ssstats.csv"
    part = index.with_suffix(".csv.part")
    index.parent.mkdir(parents=True, exist_ok=True)
    for fresh in (False, True):
        if fresh or not index.exists():
            part.unlink(missing_ok=True)
            fetch(address_of("files/ssstats.csv"), part)
            part.replace(index)
        known = read_index(index)
        groups = [group for group, other in known if other == name]
        if groups:
            break
    if len(groups) > 1:
        raise Stop(EX_NOINPUT, f"{name}: there are several: " +
                   ", ".join(f"{group}/{name}" for group in groups))
    if not groups:
        near = difflib.get_close_matches(name, [other for _, other in known], 1)
        raise Stop(EX_NOINPUT, f"{name}: the SuiteSparse Matrix Collection has no such matrix" +
                   (f": did you mean {near[0]}?" if near else ""))
    return groups[0]


def is_kept(path, note):
    """Says whether the archive is there, as it was when it was checked."""
    if not path.exists() or not note.exists():
        return False
    if note.read_text(encoding="utf-8").split()[:1] == [sha256_of(path)]:
        return True
    say(f"{path} is not what was downloaded: fetched again")
    path.unlink()
    return False


def get(wanted, folder):
    """The path of the archive, downloaded if it is not there."""
    found = NAME.fullmatch(wanted.removesuffix(".tar.gz").removesuffix(".mtx"))
    if not found:
        raise Stop(EX_NOINPUT, f"'{wanted}' is no name of a matrix, such as thermal2 or HB/bcsstk01")
    group, name = found[1] or "", found[2]
    where = folder / group if group else folder
    path, note = where / f"{name}.tar.gz", where / f"{name}.tar.gz.sha256"
    if is_kept(path, note):
        return path
    where.mkdir(parents=True, exist_ok=True)
    url = address_of(f"MM/{group or find_group(name)}/{name}.tar.gz")
    part = where / f"{name}.tar.gz.part"
    say(f"{'continuing' if part.exists() else 'fetching'} {url}")
    fetch(url, part)
    try:
        check_archive(part, name)
    except Stop:
        part.unlink()
        raise
    note.write_text(f"{sha256_of(part)}  {path.name}\n", encoding="utf-8")
    part.replace(path)
    return path


def main(arguments):
    """Prints a path per name."""
    parser = Parser(prog="spmv get", description=__doc__,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="+", help="as thermal2, or GROUP/NAME")
    parser.add_argument("-o", "--output", metavar="FOLDER", type=pathlib.Path,
                        help="instead of the cache")
    options = parser.parse_args(arguments)
    folder = options.output or cache_folder()
    try:
        paths = [get(name, folder) for name in options.names]
    except OSError as error:
        raise Stop(EX_CANTCREAT, f"{error.filename}: {error.strerror}") from None
    for path in paths:
        print(path)
    if sys.stdout.isatty():
        say("run it: spmv " + " ".join(map(str, paths)))
    return 0


if __name__ == "__main__":
    sys.exit(run("spmv get", main, sys.argv[1:]))
