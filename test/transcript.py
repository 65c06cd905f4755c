#!/usr/bin/env python3
"""Runs a transcript of a terminal and prints it as it comes out now.

    python3 test/transcript.py FILE.txt     in an empty folder; SPMV, CLI and DATA as test/run.sh sets them

A line that begins with "$ " is a command of sh, which has what test/cli/common defines, and spmv. What follows is what it
prints, both streams together, in a terminal of 80 columns; "exit N" is its status if that is not 0. A line that begins with
"# " is a comment.
"""

import os
import subprocess
import sys

PRELUDE = '. "$CLI/common"; COLUMNS=80; spmv() { "$SPMV" "$@"; }\n'


def main(path):
    """Prints every command and comment of the file, and what each command says now."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for line in lines:
        if line.startswith(("# ", "$ ")):
            print(line, flush=True)
        if line.startswith("$ "):
            code = subprocess.run(["sh", "-c", PRELUDE + line[2:]], stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT,
                                  env=os.environ, check=False).returncode
            if code:
                print(f"exit {code}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
