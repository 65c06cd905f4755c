#!/usr/bin/env python3
"""fuzz_logs.py: any bytes as a log, for the readers of tables and reports (Atheris). What they cannot use they complain about in
one printable line; a record that they pass on has what tables need."""
import os
import sys
import tempfile

import atheris

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tables/report"))
with atheris.instrument_imports(include=["logs", "published_log", "common"]):
    import logs

FOLDER = tempfile.mkdtemp()


def one_input(data):
    path = os.path.join(FOLDER, "log.jsonl")
    with open(path, "wb") as file:
        file.write(data)
    records, complaints, opened = logs.read_logs([path])
    assert opened == 1
    for complaint in complaints:
        assert complaint.isprintable(), complaint
    for record in records:
        assert not logs.missing_fields(record)
        assert all(value == logs.spelt_out(value) for value in record.values() if isinstance(value, str)), record
        if record["status"] == "ok":
            assert logs.SHORTEST_S <= record["timing.median_s"] <= logs.LONGEST_S
        assert logs.vectors_of(record) >= 1


atheris.Setup(sys.argv, one_input)
atheris.Fuzz()
