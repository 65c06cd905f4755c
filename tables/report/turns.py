"""Two binaries in turns, for `spmv compare --ab`: what the machine does meanwhile meets both alike.

A turn runs both once, each with few and short samples; who is first alternates. It gives one ratio for every row, of the
lower quartiles of the two runs' samples: what disturbs a sample makes it longer, so that beside a busy process the quarter
of a run scatters less than its median, and less than its least sample, which is of a moment. The ratios of all turns have an
interval (units/pairs.py), which is taken twice as wide: rows are many, and are looked at after every two turns."""

import math
import os
import subprocess
import tempfile
import time

from common import EX_DATAERR, EX_NOINPUT, Stop, say
from logs import read_logs
from units.pairs import interval_of

LEAST_TURNS, MOST_TURNS = 10, 160
LONGEST_S = 600  # no turn begins later, but for the least number of turns
LATE = 1.25  # times what was announced
SHORT = ("--min-time=0.05", "--max-time=0.2", "-q")  # options of a turn; options on the command line override them
NO_LOG_OPTIONS = ("--log", "--no-log", "-o", "--output", "--format")  # a turn has its own
ENDED = (0, 1, 3)  # exit codes of runs that have logged their rows: right, wrong, some failed


def program(path):
    """A binary as it is started."""
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        raise Stop(EX_NOINPUT, f"{path}: no program that can be run; --ab compares two binaries, OLD and NEW")
    return os.path.abspath(path)


def run_once(binary, words, log):
    """The records of a run."""
    if os.path.exists(log):
        os.remove(log)
    done = subprocess.run([binary, *SHORT, *words, f"--log={log}"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    if done.returncode not in ENDED or not os.path.exists(log):
        raise Stop(EX_DATAERR, f"{binary} ended with {done.returncode}: {' '.join(done.stderr.split()) or 'it said nothing'}")
    return read_logs([log])[0]


def wide(interval):
    """(the least and the most that a ratio may be) by an interval taken twice as wide."""
    return interval.value * (interval.low / interval.value) ** 2, interval.value * (interval.high / interval.value) ** 2


def word_of(ratios, sure):
    """The verdict on some ratios of B's time over A's; None: there are too few, or they scatter too much."""
    interval = interval_of(ratios) if len(ratios) >= LEAST_TURNS else None
    if not interval:
        return None
    low, high = wide(interval)
    if low > 1 + sure:
        return "SLOWER"
    if high < 1 - sure:
        return "FASTER"
    return "SAME" if abs(math.log(low)) <= sure and abs(math.log(high)) <= sure else None


def spelt(seconds):
    """A duration in words."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def announced(turns, elapsed, before):
    """Returns the seconds that all turns take at most, by those there were. Says so first, and where it does not hold."""
    each = elapsed / turns
    least, most = LEAST_TURNS * each, max(LEAST_TURNS * each, min(MOST_TURNS * each, LONGEST_S))
    if before is None:
        say(f"turns of both until every row has a verdict: {LEAST_TURNS} to {MOST_TURNS}, {spelt(least)} to {spelt(most)}")
    elif most > LATE * before:
        say(f"longer than announced: {turns} turns took {spelt(elapsed)}, all take {spelt(most)} at most")
    else:
        return before
    return most


def run_in_turns(binaries, words, ratios_of, sure, sides):
    """Adds the records of turns to the two sides until every row has a verdict."""
    start, most_s = time.monotonic(), None
    with tempfile.TemporaryDirectory(prefix="spmv-ab-") as folder:
        for turn in range(MOST_TURNS):
            for side in (0, 1) if turn % 2 == 0 else (1, 0):
                found = run_once(binaries[side], words, os.path.join(folder, f"{side}.jsonl"))
                sides[side].extend({**record, "sweep.cell": None, "time": f"{turn:03d}"} for record in found)
            elapsed = time.monotonic() - start
            most_s = announced(turn + 1, elapsed, most_s)
            if turn + 1 >= LEAST_TURNS and (elapsed > LONGEST_S or turn % 2 and all(
                    word_of(ratios, sure) for ratios in ratios_of(*sides).values())):
                return


def take_turns(binaries, words, ratios_of, sure):
    """(records of A, of B, whether somebody stopped it) of turns until every row has a verdict. ratios_of(records of A, of
    B): {row: ratios of its turns}."""
    bad = next((word for word in words if word.split("=")[0] in NO_LOG_OPTIONS), None)
    if bad:
        raise Stop(64, f"--ab logs its turns itself: leave out {bad}")
    sides, stopped = ([], []), False

    def turns():
        return min(len({record["time"] for record in side}) for side in sides)
    try:
        run_in_turns(binaries, words, ratios_of, sure, sides)
    except KeyboardInterrupt:
        if turns() < LEAST_TURNS:
            raise
        stopped = True
    say(f"{'interrupted after ' if stopped else ''}{turns()} turns of each binary")
    return (*sides, stopped)
