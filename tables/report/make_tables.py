#!/usr/bin/env python3
"""Turn run logs (JSON Lines, schema spmv-run/1, or the published program's text) into tables.

    python3 tables/report/make_tables.py [--out tables] [LOG...]

LOG is a file, or a folder of *.jsonl and *.log; default log, without the reference in it. The path of
a record: a line is read and checked (logs.py), becomes a unit (units/), and the units become pages
(summary_tables.py, parameter_effects.py, speedups.py), each a pure function that returns text. Only write_files touches the
disk.
"""

import os
import sys

from common import LOGS_HELP, Parser, load, run, say, write_files
from logs import RECORD_DEF, read_fields
from summary_tables import make_pages


def make_tables(arguments):
    """Writes every table. Exit status: 0, or by Stop."""
    parser = Parser(prog="make_tables",
                                     description="Turn spmv run logs into tables.")
    parser.add_argument("--out", default="tables", metavar="FOLDER",
                        help="where the tables go (default: %(default)s)")
    parser.add_argument("logs", nargs="*", default=["log"], metavar="LOG",
                        help=LOGS_HELP)
    options = parser.parse_args(arguments)
    records, said = load(options.logs)
    pages = make_pages(records, read_fields(RECORD_DEF))
    write_files(options.out, pages)
    say(f"make_tables: {said}; {len(pages)} files in {options.out}, the first to read is "
        f"{os.path.join(options.out, 'summary.md')}")
    return 0


def main(arguments=None):
    """Exit status: 0, or 65 no usable record, 66 no log could be opened, 73 cannot write."""
    return run("make_tables", make_tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
