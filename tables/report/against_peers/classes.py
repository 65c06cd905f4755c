"""Says which matrices are the outside set's, by tables/outside/outside.csv, and which are generated."""

import csv
import functools
import os
import re
from typing import NamedTuple

from speedups import is_peer

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "outside", "outside.csv")
TUNE, HELD_OUT = HALVES = ("tune", "held-out")
SIZES = ("small", "medium", "large")
SIZE_WORDS = {"small": "small (below the H200's L2 in CSR)", "medium": "medium (one to three times the L2)",
              "large": "large (at least 200 MB)"}
OWN = ("csr_serial", "csr_rows", "csr_balanced")  # what a CPU's user could take without choosing
LIBRARIES, OR_PLAIN = "other libraries", "other libraries and our plain CSR"


class Place(NamedTuple):
    """A matrix's line in the list."""
    family: str
    size: str
    half: str
    gather: bool


@functools.lru_cache(maxsize=None)
def outside_list(path=LIST):
    """{name: Place}; empty if there is no list."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            return {row["name"]: Place(row["family"], row["size"], row["half"], row["gather"] == "yes")
                    for row in csv.DictReader(file)}
    except OSError:
        return {}


def listed_name(name):
    """A matrix as the list has it: where two machines round its values otherwise, units tell them apart by #hash."""
    return re.sub(" #[0-9a-f]{1,4}$", "", name)


def is_generated(name):
    """Made by a generator of ours."""
    return name.startswith("gen:")


def is_plain(kernel):
    """Another library's, or what needs no library."""
    return is_peer(kernel) or kernel in OWN


BASELINES = {  # for each backend: (words, test whether a kernel is one of them); the first one is the headline's
    "cuda": ((LIBRARIES, is_peer),),
    "omp": ((LIBRARIES, is_peer), (OR_PLAIN, is_plain))}
