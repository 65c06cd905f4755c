"""Ctrl-C before a program has begun, while it is being loaded: one line and exit code 130. To be imported first: the program
that starts these scripts holds the signal back until then, since Python would answer with a trace."""

import os
import signal
import sys

EX_INTERRUPTED = 130
INTERRUPTED = "interrupted; files that are written are whole"


def say_interrupted(kind, value, trace):
    """Stands in for the trace that Python prints."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, value, trace)
        return
    name = os.path.splitext(os.path.basename(sys.argv[0]))[0]
    os.write(2, f"spmv {name}: {INTERRUPTED}\n".encode())
    os._exit(EX_INTERRUPTED)


sys.excepthook = say_interrupted
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
