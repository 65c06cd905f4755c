"""Reading logs: lines become flat records {dotted name: scalar}, checked, with a complaint and a
place (file:line) for everything that is wrong; what is wrong is left out and the rest is used."""

import functools
import itertools
import json
import lzma
import os
import re
import shlex
import sys

from published_log import LONGEST_S, SHORTEST_S, looks_old, read_old_log

SCHEMA = "spmv-run/1"
OTHER_SCHEMAS = ("spmv-probe/1",)  # lines of ours that are no runs
FLOP_TOLERANCE = 1e-3  # a log rounds its figures; a figure from another row is off by far more

STATUSES = ("ok", "wrong", "skipped", "failed", "timeout", "crashed", "out of memory", "interrupted")

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src")
RECORD_DEF = os.path.join(SOURCES, "app", "record", "record.def")


TURNS = "timing.turns_s"  # a list that is read
OWN = "log"  # the folder that spmv writes to
OTHERS = "reference"  # a folder in it: what others measured


def logs_in(folder):
    """The logs of a folder and of those in it, sorted; not those of the reference in it, which must be
    named, so that a table never shows other people's machines unasked."""
    found = []
    for place, below, names in os.walk(folder):  # other kinds of files may never end
        if place == folder and OTHERS in below:
            below.remove(OTHERS)
        found += [os.path.join(place, name) for name in names if name.endswith((".jsonl", ".jsonl.xz", ".log"))]
    return sorted(filter(is_finite, found))


def is_finite(path):
    """Is not a pipe, a device, or a link to one; what cannot be looked at is complained about when it is read."""
    return not os.path.exists(path) or os.path.isfile(path)


def find_logs(paths):
    """Files to read, each once however often it was named, in a stable order, and complaints."""
    files, complaints = {}, []
    for path in paths:
        below = logs_in(path) if os.path.isdir(path) else [path]
        if not below:
            other = os.path.join(path, OTHERS)
            complaints.append(f"{path}: no *.jsonl or *.log in this folder"
                              + (f" but in {other}" if os.path.isdir(other) and logs_in(other) else ""))
        for name in below:
            files.setdefault(os.path.realpath(name), name)
    return list(files.values()), complaints


def flatten(value, prefix=""):
    """(dotted name, scalar) of every scalar in nested objects. A list of words, such as argv, is one
    text as a shell would read it; of other lists only the times of turns are kept, where they are times."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from flatten(member, f"{prefix}.{name}" if prefix else name)
    elif prefix == TURNS:
        if isinstance(value, list) and all(is_number(turn) and SHORTEST_S <= turn <= LONGEST_S for turn in value):
            yield prefix, tuple(value)
    elif isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        yield prefix, shlex.join(value)
    elif not isinstance(value, list):
        yield prefix, value


def is_number(value):
    """A JSON number that arithmetic can use: not a bool, not NaN, not beyond double."""
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and abs(value) <= sys.float_info.max)


UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def spelt_out(text):
    """What some output cannot hold is written out: control characters, and halves of characters, as
    JSON's \\ud800 is one."""
    return UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], text)


def printable(flat):
    """(the record, complaints), with its texts spelt out."""
    def spelt(value):
        return value if not isinstance(value, str) or value.isprintable() else spelt_out(value)
    clean = {spelt(name): spelt(value) for name, value in flat.items()}
    strange = [name for name, old in zip(clean, flat) if (name, clean[name]) != (old, flat[old])]
    return clean, [f"{name} holds what cannot be printed, written out" for name in strange]


def parse_record(line):
    """(flat record, or None if the line is no record of ours, complaints about it).

    A number that is not finite becomes null, so that it can never reach a comparison."""
    try:
        flat = dict(flatten(json.loads(line)))
    except (ValueError, RecursionError) as error:
        return None, [f"not JSON: {error}"]
    if flat.get("schema") in OTHER_SCHEMAS:
        return None, []
    if flat.get("schema") != SCHEMA:
        return None, [f"unknown schema {flat.get('schema')!r}, expected {SCHEMA!r}"]
    flat, complaints = printable(flat)
    bad = [name for name, value in flat.items()
           if isinstance(value, (int, float)) and not isinstance(value, bool)
           and not is_number(value)]
    complaints += [f"{name} is not a finite number, read as null" for name in bad]
    for name, value in flat.items():
        kind = types().get(name)
        if name not in bad and not (value is None or KINDS[kind][0](value)):
            complaints.append(f"{name} is {value!r:.40}: no {KINDS[kind][1]}, read as null")
            bad.append(name)
    flat.update((name, None) for name in bad)
    return flat, complaints


KINDS = {  # for each type in src/app/record/record.def: test of a value, and the type's name
    "number": (is_number, "number"), "whole": (is_number, "number"),
    "text": (lambda value: isinstance(value, str), "text"),
    "texts": (lambda value: isinstance(value, str), "list of texts"),  # flatten has made one text of them
    "truth": (lambda value: value in (0, 1), "truth value"), None: (lambda value: True, "")}


@functools.lru_cache(maxsize=None)
def types():
    """{dotted name: kind} of the fields that hold one value."""
    try:
        with open(RECORD_DEF, encoding="utf-8") as source:
            found = re.findall(r'^FIELD\((\w+), *\w+, *"([^"]*)"', source.read(), re.MULTILINE)
    except OSError:
        return {}
    return {name: kind for kind, name in found if kind in KINDS}


def missing_fields(record):
    """Lists what a record cannot be used without; skipped and failed runs need no times."""
    needed = [name for name in ("status", "matrix.name", "config.backend", "config.kernel")
              if not (isinstance(record.get(name), str) and record[name])]
    if record.get("status") == "ok":
        needed += [name for name in ("matrix.nnz", "timing.median_s")
                   if not is_number(record.get(name))]
    return needed


def quartiles_of(record):
    """(q1, q3) around the median, or None where the log has none that make sense."""
    q1, q3 = record.get("timing.q1_s"), record.get("timing.q3_s")
    sound = is_number(q1) and is_number(q3) and q1 <= record["timing.median_s"] <= q3
    return (q1, q3) if sound else None


def missed_noise_limit(record):
    """Says whether it stopped before its noise limit was met, by the rule of its time: the interval of the median
    (timing.settled), in logs before 2026-11-22 the quartiles (timing.converged)."""
    settled = record.get("timing.settled")
    return (record.get("timing.converged") if settled is None else settled) is False


def vectors_of(record):
    """The number of vectors that a product multiplies at once: 1 in logs that do not say."""
    vectors = record.get("config.vectors")
    return vectors if is_number(vectors) and vectors >= 1 else 1


def inconsistencies(record):
    """Complaints about an ok record whose own figures contradict each other."""
    vectors, median = vectors_of(record), record["timing.median_s"]
    count, words = 2 * record["matrix.nnz"] * vectors, "2 nnz" if vectors == 1 else f"2 nnz of {vectors} vectors"
    found = []
    flop, rate = record.get("perf.flop"), record.get("perf.flop_per_s")
    if is_number(flop) and flop != count:
        found.append(f"perf.flop is {flop}, {words} is {count}")
    expected = count / median
    if is_number(rate) and abs(rate - expected) > FLOP_TOLERANCE * expected:
        found.append(f"perf.flop_per_s is {rate:.6g}, {words} / median_s is {expected:.6g}: "
                     "the latter is used")
    if quartiles_of(record) is None:
        found.append("no timing.q1_s <= median_s <= q3_s: taken as exact when looking for ties")
    if record.get("check.status") == "wrong":
        found.append("status is ok but check.status is wrong: taken as wrong")
    return found


def check_record(record):
    """(usable, complaints): missing or impossible fields make a record unusable."""
    missing = missing_fields(record)
    if missing:
        return False, [f"missing field {name}" for name in missing]
    if record["status"] not in STATUSES:
        return False, [f"status is {record['status']!r:.40}: none of {', '.join(STATUSES)}"]
    if record["status"] != "ok":
        return True, []
    if not SHORTEST_S <= record["timing.median_s"] <= LONGEST_S:
        return False, [f"timing.median_s is {record['timing.median_s']!r}: not a time"]
    if not (isinstance(record["matrix.nnz"], int) and 0 <= record["matrix.nnz"] < 2**63):
        return False, [f"matrix.nnz is {record['matrix.nnz']!r}: not a count"]
    found = inconsistencies(record)
    if is_number(record.get("prep.total_s")) and not 0 <= record["prep.total_s"] <= LONGEST_S:
        found.append(f"prep.total_s is {record['prep.total_s']!r}: not a time, read as null")
        record["prep.total_s"] = None
    return True, found


def no_records(path, lines):
    """A complaint about every stretch of lines that begin no JSON object, such as what a terminal
    showed: one, so that a whole session in a log does not bury the rest."""
    numbered = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    for may_be, group in itertools.groupby(numbered, lambda item: item[1].startswith("{")):
        if may_be:
            continue
        found = list(group)
        (first, text), (last, _) = found[0], found[-1]
        shown = ascii(text[:40]) + ("…" if text[40:] else "")
        yield (f"{path}:{first}: no record: {shown}" if first == last else
               f"{path}:{first}: {len(found)} lines to {last} are no records, the first: {shown}")


def read_lines(path, lines, seen):
    """(records, complaints) of one log in our schema."""
    records, complaints = [], list(no_records(path, lines))
    for number, line in enumerate(lines, 1):
        if not line.lstrip().startswith("{"):
            continue
        record, found = parse_record(line)
        if record is not None:
            usable, more = check_record(record)
            found += more
            if usable and line in seen:
                found.append("copy of an earlier line, counted once")
            elif usable:
                records.append(record)
        seen.add(line)
        complaints += [f"{path}:{number}: {what}" for what in found]
    return records, complaints


def read_logs(files):
    """(records, complaints, number of files opened) of all files; a line copied from one log into
    another is one run, not two."""
    records, complaints, opened, seen = [], [], 0, set()
    for path in files:
        try:
            opener = lzma.open if path.endswith(".xz") else open
            with opener(path, "rt", encoding="utf-8-sig", errors="replace", newline="\n") as log:
                lines = [line.rstrip("\r\n") for line in log]
        except (OSError, EOFError, lzma.LZMAError) as error:
            complaints.append(f"{path}: {getattr(error, 'strerror', None) or error}")
            continue
        opened += 1
        if looks_old(lines):
            found, more = read_old_log(path, lines)
            found = [printable(record)[0] for record in found]
        else:
            found, more = read_lines(path, lines, seen)
        records += found
        complaints += more
    return records, complaints, opened


def read_fields(path):
    """{dotted name: (unit, help)} in the order of src/app/record/record.def; empty if there is none."""
    try:
        with open(path, encoding="utf-8") as source:
            text = re.sub(r"/\*.*?\*/|//[^\n]*", "", source.read(), flags=re.DOTALL)
    except OSError:
        return {}
    string = r'"((?:\\.|[^"\\])*)"'
    pattern = rf'FIELD\([^"]*{string}\s*,\s*{string}\s*,\s*((?:{string}\s*)+)\)'
    return {match[1]: (match[2], "".join(re.findall(string, match[3])).replace('\\"', '"'))
            for match in re.finditer(pattern, text)}
