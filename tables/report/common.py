"""Holds what the programs in this folder share: talk, exit codes, loading logs, writing files."""

import argparse
import codecs
import contextlib
import io
import itertools
import os
import re
import sys
import textwrap

from interrupts import EX_INTERRUPTED, INTERRUPTED
from logs import OTHERS, OWN, find_logs, read_logs, spelt_out
from texts import plural, without_tags

EX_ABOVE, EX_USAGE, EX_DATAERR, EX_NOINPUT, EX_UNAVAILABLE, EX_CANTCREAT = 2, 64, 65, 66, 69, 73


class Stop(Exception):
    """Nothing more can be done: what to say, and the exit code."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Parser(argparse.ArgumentParser):
    """argparse with this project's exit code for usage errors, and one line to say it."""

    def parse_args(self, args=None, namespace=None):
        """Names an option that is unknown before a word that is missing."""
        words = sys.argv[1:] if args is None else args
        for word in itertools.takewhile(lambda word: word != "--", words):
            name = word.split("=")[0]
            if name.startswith("--") and not any(known.startswith(name) for known in self._option_string_actions):
                self.error(f"unknown option {name}")
        return super().parse_args(words, namespace)

    def error(self, message):
        message = re.sub(r"the following arguments are required: (.*)", r"missing: \1", message)
        message = re.sub(r"argument \S+: invalid choice: (.*?) \(choose from (.*)\)", r"\1 is not known; known are \2", message)
        raise Stop(EX_USAGE, f"{message}; --help says more")


def say_width():
    """Columns of the terminal that stderr is, else COLUMNS; None: it has no edge."""
    if sys.stderr.isatty():
        return os.get_terminal_size(sys.stderr.fileno()).columns
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() else None


def edge(output):
    """Columns of the terminal that is printed to, or of COLUMNS; None: there is no edge, as in a file."""
    if output:
        return None
    try:
        width = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        width = 0
    columns = os.environ.get("COLUMNS", "")
    width = width or (int(columns) if columns.isdecimal() else 0)
    return max(width, LEAST_WIDTH) if width else None


def broken(line, width):
    """A line of talk in lines of that width; of a command to type, which four blanks begin, they end in backslashes."""
    if not width or len(line) <= width:
        return line
    if line.startswith("    "):
        return broken_command(line.strip(), max(width, LEAST_WIDTH))
    indent = " " * (len(line) - len(line.lstrip(" ")) + 2)
    return textwrap.fill(line, max(width, LEAST_WIDTH), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def broken_command(command, width):
    """A command in lines of that width, which a shell takes for one: broken at blanks outside quotes."""
    lines, line = [], "   "
    for word in re.findall(r"(?:'[^']*'|\\.|[^ '\\])+", command):
        if len(line) + len(word) + 3 > width and line.strip():
            lines.append(f"{line} \\")
            line = "     "
        line += f" {word}"
    return "\n".join([*lines, line])


def say(text):
    """Talk goes to stderr, broken where the terminal ends; commands in it name the program as it was typed. Control
    characters, as a file's name may hold, do not reach the terminal."""
    typed = spelt_out(text).replace("'spmv ", f"'{os.environ.get('SPMV_PROGRAM', 'spmv')} ")
    print("\n".join(broken(line, say_width()) for line in typed.split("\n")), file=sys.stderr)


LEAST_WIDTH = 40  # minimum width of a terminal: narrower ones wrap lines
MOST_COMPLAINTS = 12  # said; spmv table --check says all
LOGS_HELP = ("files, or folders of *.jsonl and *.log and what is below them (default: log, without the "
             "reference in it: log/reference)")


def say_some(complaints):
    """The first complaints, and how many more there are: a log that is damaged all through must not
    bury what was asked for."""
    for complaint in complaints[:MOST_COMPLAINTS]:
        say(complaint)
    if complaints[MOST_COMPLAINTS:]:
        say(f"{len(complaints) - MOST_COMPLAINTS} more problems: 'spmv table --check LOG' says all")


def no_own_logs():
    """Says what to type for whoever has measured nothing yet."""
    reference = os.path.join(OWN, OTHERS)
    return Stop(EX_NOINPUT, f"no logs in {OWN}/ yet: 'spmv sweep FOLDER' measures and logs there, 'spmv FILE.mtx "
                f"--log={OWN}' too" + (f". Name {reference} to see what others measured" if os.path.isdir(reference) else ""))


def load(paths):
    """(records, how many files and complaints in words) of the logs, having said what is wrong with
    them."""
    files, complaints = find_logs(paths)
    if [os.path.normpath(path) for path in paths] == [OWN] and (not files or not os.path.exists(OWN)):
        raise no_own_logs()
    records, more, opened = read_logs(files)
    complaints += more
    if not opened and len(complaints) == 1:
        raise Stop(EX_NOINPUT, complaints[0])
    say_some(complaints)
    if not opened:
        raise Stop(EX_NOINPUT, f"{', '.join(paths)}: no log could be opened")
    if not records:
        raise Stop(EX_DATAERR, f"{', '.join(paths)}: no usable record in {plural(opened, 'log')}"
                   + ("" if complaints else ": empty, or no runs"))
    return records, (f"{plural(len(records), 'record')} from {plural(opened, 'log')}, "
                     f"{plural(len(complaints), 'problem')}")


def write_whole(path, content):
    """Bytes into a file: all of them or none, so that a full disk or Ctrl-C leaves what was there before."""
    if os.path.exists(path) and not os.path.isfile(path):  # a device or a pipe
        with open(path, "wb") as file:
            file.write(content)
        return
    whole = os.path.realpath(path)
    part = f"{whole}.{os.getpid()}"
    try:
        with open(part, "wb") as file:
            file.write(content)
        os.replace(part, whole)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(part)
        if isinstance(error, OSError):
            error.filename, error.filename2 = path, None
        raise


def write_files(folder, files):
    """{name: text or bytes} into a folder. Text from a log may hold what UTF-8 cannot, and in
    Markdown tags: both are escaped."""
    for name, content in files.items():
        path = os.path.join(folder, name)
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            if name.endswith(".md"):
                content = without_tags(content)
            write_whole(path, content if isinstance(content, bytes) else content.encode("utf-8", errors="backslashreplace"))
        except OSError as error:
            raise Stop(EX_CANTCREAT, f"{error.filename or path}: {error.strerror}") from None


def emit(text, path, program):
    """The text into a file, which is said, or to the terminal if there is none."""
    if path:
        write_files(".", {path: text})
        say(f"{program}: {path}")
    else:
        sys.stdout.write(text)


def give_up_stdout():
    """What it still holds would be written, and fail, once more at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


PLAIN = {"·": "-", "µ": "u", "μ": "u", "−": "-", "—": "-", "–": "-", "×": "x", "÷": "/", "→": "->", "…": "...",
         "±": "+-", "≤": "<=", "≥": ">=", "≠": "!=", "⚠": "!", "σ": "sigma", "α": "alpha", "β": "beta"}


def in_plain_text(error):
    """For codecs: what an encoding lacks, as a typewriter has it, or else by its number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start:error.end]
    return "".join(PLAIN.get(c) or c.encode("ascii", errors="backslashreplace").decode() for c in text), error.end


codecs.register_error("plain", in_plain_text)


def run(program, main, arguments):
    """main(arguments) with what stopped it said and turned into the exit status. What the terminal's
    encoding lacks is written in plain text."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="plain")
    try:
        code = main(arguments)
        sys.stdout.flush()
        return code
    except Stop as stop:
        say(f"{program}: {stop}")
        return stop.code
    except KeyboardInterrupt:
        give_up_stdout()
        say(f"{program}: {INTERRUPTED}")
        return EX_INTERRUPTED
    except BrokenPipeError:  # the reader of stdout went away, as head does
        give_up_stdout()
        return 0
    except OSError as error:  # files have their own complaints
        give_up_stdout()
        say(f"{program}: stdout: {error.strerror}")
        return EX_CANTCREAT
