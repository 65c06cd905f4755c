"""Numbers and tables as text: CSV, Markdown, LaTeX."""

import csv
import io
import itertools
import math
import re
import textwrap

LEAST_WORDS = 8  # letters of a column that gives way


def three_digits(value):
    """Three significant digits without an exponent: 0.00123, 1.30, 557, 4003."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.3g}")
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(rounded))))}f}"


def si_time(seconds):
    """Seconds with the unit that leaves one to three digits before the point."""
    rounded = float(f"{seconds:.3g}")
    for scale, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if rounded >= scale:
            return f"{three_digits(seconds / scale)} {unit}"
    return f"{three_digits(seconds / 1e-9)} ns"


def percent(part, whole):
    """A share; of nothing there is none."""
    return f"{100 * part / whole:.1f} %" if whole else ""


def range_text(low, high):
    """1.1 to 4.3, 9.8 to 12; about 2.5 where both ends read the same."""
    ends = [f"{value:.{1 if value < 10 else 0}f}" for value in (low, high)]
    return f"about {ends[0]}" if ends[0] == ends[1] else " to ".join(ends)


def plural(count, one, many=None):
    """1 run, 2 runs; 1 matrix, 2 matrices."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


FORMULA = re.compile(r"[=+\-@\t\r].")  # what a spreadsheet would compute, or call


def csv_text_cell(text):
    """Logs come from anywhere: an apostrophe in front makes a formula text, in every spreadsheet."""
    return "'" + text if FORMULA.match(text) else text


def csv_cell(value):
    """null is empty; true as in JSON; repr keeps every digit of a float."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return csv_text_cell(value)
    return repr(value) if isinstance(value, float) else str(value)


def csv_text(header, rows):
    """RFC 4180."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([csv_cell(value) for value in header])
    writer.writerows([csv_cell(value) for value in row] for row in rows)
    return text.getvalue()


def without_tags(text):
    """Markdown in which nothing is HTML: what shows it would run the scripts in it."""
    return text.replace("<", "&lt;")


def markdown_table(header, alignment, rows):
    """alignment: one letter a column, l or r."""
    def line(cells):
        return "| " + " | ".join(" ".join(without_tags(str(cell)).replace("|", "\\|").split())
                                 for cell in cells) + " |"
    rule = ["---:" if letter == "r" else "---" for letter in alignment]
    return "\n".join([line(header), line(rule)] + [line(row) for row in rows]) + "\n"


def column_widths(cells, alignment, width):
    """Lays cells side by side; where they do not fit, the widest of those with words give way."""
    widths = [max(map(len, column)) for column in zip(*cells)]
    while width and sum(widths) + 2 * (len(widths) - 1) > width:
        size, place = max((size, -k) for k, size in enumerate(widths) if alignment[k] == "l")
        if size <= LEAST_WORDS:
            break
        widths[-place] -= 1
    return widths


def text_rows(header, alignment, rows, width=None):
    """The lines of every row, the header's first. Columns for a terminal of that width, in which words go on below;
    None: it has no edge. The last column is not padded."""
    cells = [[" ".join(str(cell).split()) for cell in row] for row in (header, *rows)]
    widths = column_widths(cells, alignment, width)
    for row in cells:
        parts = [textwrap.wrap(cell, w, break_on_hyphens=False) or [""] for cell, w in zip(row, widths)]
        yield ["  ".join(part.rjust(w) if letter == "r" else part.ljust(w)
                         for part, w, letter in zip(line, widths, alignment)).rstrip()
               for line in itertools.zip_longest(*parts, fillvalue="")]


def text_table(header, alignment, rows):
    """Columns for a terminal; the last is not padded."""
    return "".join(f"{line}\n" for lines in text_rows(header, alignment, rows) for line in lines)


TEX = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
       "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
       "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
       "µ": r"\textmu{}", "—": "---", "·": r"\textperiodcentered{}", "→": r"$\to$"}


def latex(text):
    """Text as LaTeX prints it; Markdown's bold and escaped star become LaTeX's."""
    text = " ".join(str(text).split()).replace("\\*", "*")
    plain = "".join(TEX.get(letter, letter) for letter in text)
    return re.sub(r"\*\*(.+?)\*\*", r"\\textbf{\1}", plain)


def latex_table(header, alignment, rows, caption):
    """A booktabs table that breaks over pages."""
    def line(cells):
        return " & ".join(latex(cell) for cell in cells) + r" \\"
    return "\n".join([rf"\begin{{longtable}}{{{alignment}}}", rf"\caption{{{latex(caption)}}}\\",
                      r"\toprule", line(header), r"\midrule", r"\endhead", r"\bottomrule",
                      r"\endfoot", *map(line, rows), r"\end{longtable}"]) + "\n"


def latex_document(title, head, tables):
    """Tables to \\input into a paper, after the lines it needs in its preamble."""
    parts = [f"% {title}\n% needs \\usepackage{{booktabs,longtable,textcomp}}\n"
             f"% {' '.join(head.split())}\n"]
    parts += [latex_table(header, alignment, rows, caption)
              for caption, header, alignment, rows in tables if rows]
    return "\n".join(parts)
