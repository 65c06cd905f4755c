"""A grid as text for a terminal, Markdown, LaTeX or CSV, with every mark explained once."""

import re
import textwrap
from typing import NamedTuple

from tabular.grid import BEST, MARKS, WORDS, entries_of, fastest_head, fastest_of_rows, shared_marks, with_column
from texts import csv_text, latex as escaped, markdown_table, without_tags
from units.settings import order

LONGEST_FLOAT = 45  # lines of a LaTeX table that a page holds; a longer one breaks over pages
WIDEST_FLOAT, WIDEST_LONG = 115, 95  # letters in a line that fits and is legible; more columns follow below
WIDEST_COLUMN = 60  # the same in one of two columns
LONGEST_HEAD = 9  # letters of a column's head that LaTeX does not break at an underscore
TEX_MARKS = {"~": r"$\sim$", "*": r"$\ast$"}


class Titled(NamedTuple):
    """A grid and what it is of. system: in words. metric: what the cells are. extent: what was left out."""
    system: str
    grid: object
    metric: str
    extent: str = ""


def explanations(titled):
    """Says what the marks of a table mean, each said once, as sentences; a mark that all times have is said of all."""
    grid, entries = titled.grid, entries_of(titled.grid)
    seen, shared = shared_marks(grid)
    doubt = ", which disturbed times cannot decide" if "disturbed" in shared else ""
    parts = [f"{BEST}: fastest of its {grid.fastest_of}{doubt}"] if has_best(grid) else []
    parts += [f"{MARKS[mark][0]}: {MARKS[mark][1]}" for mark in seen]
    parts += [f"{word}: {meaning}" for status, (word, meaning) in WORDS.items() if any(entry.status == status for entry in entries)]
    parts += ["empty: not run"] if len(entries) < len(grid.rows) * len(grid.columns) else []
    sentences = ["; ".join(parts)] if parts else []
    if "tied" in shared:
        sentences.append("Nearly all are tied with the fastest (quartiles overlap): noise hides the differences")
    if shared != ["tied"] * len(shared):
        sentences.append("All times: " + ", ".join(MARKS[mark][1] for mark in shared if mark != "tied"))
    sentences += pooling(entries)
    return [sentence[:1].upper() + sentence[1:] + "." for sentence in sentences]


def pooling(entries):
    """Says how a cell comes of several records, as sentences."""
    repeats = any(entry.runs > 1 for entry in entries)
    if any(entry.configurations > 1 for entry in entries):
        return ["A cell is the fastest of its configurations" + (", each the median of its repeats" if repeats else "")]
    return ["A cell is the median of its repeats"] if repeats else []


def has_best(grid):
    """Says whether the fastest are marked: not where every time would be."""
    timed = [entry for entry in entries_of(grid) if entry.time_s]
    return any(entry.best for entry in timed) and not all(entry.best for entry in timed)


def is_best(grid, entry):
    """Says whether it is marked as the fastest."""
    return entry.best and has_best(grid)


def visible(grid, entry):
    """Its marks without those that all share."""
    shared = shared_marks(grid)[1]
    return [BEST] * is_best(grid, entry) + [MARKS[mark][0] for mark in entry.marks if mark not in shared]


# ---- a terminal -----------------------------------------------------------------------------------


def text_cell(grid, entry):
    """(number, marks)"""
    if entry is None:
        return "", ""
    marks = "".join(visible(grid, entry))
    return entry.text, f" {marks}" if marks else ""


def text_columns(grid):
    """[every column's lines, its head first], the names of the rows first; numbers stand in line."""
    names = [grid.corner, *map(one_line, grid.rows)]
    wide = max(map(len, names))
    columns = [[name.ljust(wide) for name in names]]
    for column in grid.columns:
        cells = [text_cell(grid, row.get(column)) for row in grid.rows.values()]
        number, mark = (max((len(cell[k]) for cell in cells), default=0) for k in (0, 1))
        lines = [one_line(column), *(text.rjust(number) + marks.ljust(mark) for text, marks in cells)]
        wide = max(map(len, lines))
        columns.append([line.rjust(wide) for line in lines])
    return columns


def one_line(name):
    """A name as one line of a table."""
    return " ".join(str(name).split())


def fitting(grid, columns, width):
    """Says how many of the columns, the first of all, fit into the width; at least one. If not all do, one that names
    the fastest stands beside them."""
    named = with_column(grid, fastest_head(grid), fastest_of_rows(grid))
    room = {text[0].strip(): 2 + len(text[0]) for text in text_columns(named)}
    names, last = (room.pop(one_line(name)) for name in (grid.corner, fastest_head(grid)))
    for count in range(len(columns), 1, -1):
        needed = names - 2 + sum(room[one_line(column)] for column in columns[:count])
        if needed + (last if count < len(grid.columns) else 0) <= width:
            return count
    return 1


def blocks(columns, width):
    """The columns in groups that fit, each after the names of the rows."""
    first, *others = columns
    groups, used = [[first]], len(first[0])
    for column in others:
        used += 2 + len(column[0])
        if width and used > width and len(groups[-1]) > 1:
            groups.append([first])
            used = len(first[0]) + 2 + len(column[0])
        groups[-1].append(column)
    return groups


def wrapped(text, width):
    """Text in lines of the terminal's width, if it is one."""
    return "\n".join(textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]) if width else text


def group_lines(group, width):
    """Lines of columns side by side. A lone column that is too wide, as of configurations that won, is broken at its
    blanks."""
    lines = ["  ".join(row).rstrip() for row in zip(*group)]
    if not width or len(group) != 2 or max(map(len, lines)) <= width:
        return lines
    lines, beside = [], len(group[0][0]) + 2 if len(group[0][0]) <= width // 2 else 0
    for name, text in zip(*group):
        lines += [] if beside else [name.rstrip()]
        lines += textwrap.wrap(text.strip(), width, initial_indent=f"{name}  " if beside else " " * 4,
                               subsequent_indent=" " * (beside or 4), break_long_words=False, break_on_hyphens=False) or (
                                   [name.rstrip()] if beside else [])
    return lines


def text_table(titled, width):
    """Lays it out for a terminal of so many columns; None: for a file, which has no edge."""
    lines = [wrapped(f"{titled.system}: {titled.metric}{titled.extent}", width)]
    for k, group in enumerate(blocks(text_columns(titled.grid), width)):
        lines += ([""] if k else []) + group_lines(group, width)
    lines += [wrapped(sentence, width or 100) for sentence in explanations(titled)]
    return "\n".join(lines) + "\n"


# ---- Markdown -------------------------------------------------------------------------------------


def md_cell(grid, entry):
    """The fastest is bold, too; a star alone would begin emphasis."""
    if entry is None:
        return ""
    text = f"**{entry.text}**" if is_best(grid, entry) else entry.text
    return " ".join([text, *(mark.replace("*", "\\*") for mark in visible(grid, entry))])


def md_table(titled):
    """A paragraph, the table, and what its marks mean."""
    grid = titled.grid
    rows = [[row, *(md_cell(grid, cells.get(column)) for column in grid.columns)] for row, cells in grid.rows.items()]
    said = " ".join(explanations(titled)).replace("*", "\\*")
    return (without_tags(f"{titled.system}: {titled.metric}{titled.extent}\n\n")
            + markdown_table([grid.corner, *grid.columns], "l" + "r" * len(grid.columns), rows)
            + (without_tags(f"\n{said}\n") if said else ""))


# ---- LaTeX ----------------------------------------------------------------------------------------


def latex(text):
    """Text as LaTeX prints it with the letters that every font has."""
    return escaped(text).replace(r"\textmu{}", r"$\mu$")


def tex_mark(mark):
    """A mark in a superscript."""
    return TEX_MARKS.get(mark, mark)


def tex_cell(grid, entry):
    """Marks take no room, so that numbers stand in line."""
    if entry is None:
        return ""
    text = latex(entry.text)
    text = rf"\textbf{{{text}}}" if is_best(grid, entry) else text
    marks = "".join(map(tex_mark, visible(grid, entry)))
    return text + (rf"\rlap{{\textsuperscript{{{marks}}}}}" if marks else "")


def head_lines(name):
    """A column's head in lines: a long name breaks at underscores."""
    name = one_line(name)
    if len(name) <= LONGEST_HEAD:
        return [name]
    lines = [""]
    for part in re.findall(r"[^_]*_|[^_]+$", name):
        if lines[-1] and len(lines[-1] + part) > LONGEST_HEAD:
            lines.append("")
        lines[-1] += part
    return lines


def tex_head(name):
    """The same for LaTeX."""
    lines = list(map(latex, head_lines(name)))
    return r"\begin{tabular}[b]{@{}r@{}}" + r"\\".join(lines) + r"\end{tabular}" if lines[1:] else lines[0]


def letters_of(grid):
    """Letters in a line of it, the heads broken."""
    columns = [[line.strip() for line in column] for column in text_columns(grid)]
    return sum(2 + max(map(len, [*head_lines(column[0]), *column[1:]])) for column in columns) - 2


def panels_of(grid, widest):
    """Its columns in groups of one size, none of which is wider."""
    names = letters_of(grid._replace(columns=[]))
    most = max(1, widest - names)
    count = -(-(letters_of(grid) - names) // most)
    size = -(-len(grid.columns) // max(count, 1))
    return [grid.columns[k:k + size] for k in range(0, len(grid.columns), size)]


def tex_rows(grid, columns, width):
    """A head and its rows, filled up to so many columns."""
    def line(cells):
        return " & ".join([*cells, *[""] * (width - len(columns))]) + r" \\"
    lines = [line([latex(grid.corner), *map(tex_head, columns)]), r"\midrule"]
    for row, cells in grid.rows.items():
        lines += [r"\midrule"] if row in grid.means else []
        lines.append(line([latex(row), *(tex_cell(grid, cells.get(column)) for column in columns)]))
    return lines


def tex_caption(titled):
    """Says what is shown and what its marks mean, as sentences."""
    sentences = explanations(titled)
    return latex(f"{titled.metric[:1].upper()}{titled.metric[1:]}{titled.extent}: {titled.system.replace(' · ', ', ')}. "
                 + " ".join(sentences)).strip()


def tex_alignment(grid, count):
    """Lists the columns of the names and so many others; marks of the last one need room."""
    gap = r"@{\hspace{1.2em}}" if any(visible(grid, entry) for entry in entries_of(grid)) else ""
    return "l" + "r" * count + gap


def tex_float(titled, panels):
    """A table as wide as the text at most; columns that would make it illegible follow below. Where a paper has two
    columns, table stands in one of them, table* across both; where it has one they are the same."""
    narrow = letters_of(titled.grid._replace(columns=panels[0])) <= WIDEST_COLUMN
    name, lines = "table" if narrow else "table*", []
    for columns in panels:
        lines += [r"\midrule\midrule"] if lines else []
        lines += tex_rows(titled.grid, columns, len(panels[0]))
    return [rf"\begin{{{name}}}", r"\centering", rf"\caption{{{tex_caption(titled)}}}", r"\smallskip",
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{tex_alignment(titled.grid, len(panels[0]))}}}", r"\toprule", *lines, r"\bottomrule",
            r"\end{tabular}}", rf"\end{{{name}}}"]


def tex_size(grid):
    """The largest type in which a table that breaks over pages, and so cannot be scaled, will fit."""
    sizes = ((50, r"\normalsize"), (57, r"\small"), (64, r"\footnotesize"), (74, r"\scriptsize"))
    return next((size for most, size in sizes if letters_of(grid) <= most), r"\tiny")


def tex_long(titled, columns):
    """A table that breaks over pages."""
    grid = titled.grid._replace(columns=columns)
    head, rule, *lines = tex_rows(grid, columns, len(columns))
    return [rf"\begingroup{tex_size(grid)}\setlength{{\tabcolsep}}{{3pt}}\setlength{{\LTcapwidth}}{{\textwidth}}",
            rf"\begin{{longtable}}{{{tex_alignment(grid, len(columns))}}}", rf"\caption{{{tex_caption(titled)}}}\\",
            r"\toprule", head, rule, r"\endhead", r"\bottomrule", r"\endfoot", *lines, r"\end{longtable}\endgroup"]


def tex_table(titled):
    """A float, or what breaks over pages."""
    panels = panels_of(titled.grid, WIDEST_FLOAT)
    if len(titled.grid.rows) * len(panels) <= LONGEST_FLOAT:
        return "\n".join(tex_float(titled, panels)) + "\n"
    panels = panels_of(titled.grid, WIDEST_LONG)
    parts = [titled._replace(extent=f"{titled.extent}, part {k} of {len(panels)}") if panels[1:] else titled
             for k in range(1, len(panels) + 1)]
    return "\n".join(line for part, columns in zip(parts, panels) for line in tex_long(part, columns)) + "\n"


def tex_packages(tables):
    """Says what the preamble of a paper needs."""
    long = any(r"\begin{longtable}" in table for table in tables)
    return ",".join(["booktabs", "graphicx", *(["longtable"] if long else [])])


def tex_tables(tables):
    """Writes tables to \\input into a paper."""
    texts = [tex_table(titled) for titled in tables]
    return f"% In the preamble: \\usepackage{{{tex_packages(texts)}}}\n" + "\n".join(texts)


def tex_hint(path, text):
    """Says how to use a file of LaTeX, and how to look at it alone."""
    packages, stem = re.search(r"\\usepackage\{(.*?)\}", text)[1], path.removesuffix(".tex")
    return (f"{path} is for a paper: \\usepackage{{{packages}}} and \\input{{{stem}}}. To look at it:\n"
            f"    pdflatex -jobname={stem.rpartition('/')[2]} '\\documentclass{{article}}' '\\usepackage{{{packages}}}' "
            f"'\\begin{{document}}' '\\input{{{stem}}}' '\\end{{document}}'")


# ---- CSV ------------------------------------------------------------------------------------------


def csv_tables(tables, columns):
    """All systems' tables as one, with the union of their columns; columns: their order, if not the
    natural one. Numbers have all digits and no marks."""
    found = {column for titled in tables for column in titled.grid.columns}
    columns = [column for column in columns or sorted(found, key=order) if column in found]
    rows = []
    for titled in tables:
        for row, cells in titled.grid.rows.items():
            entries = [cells.get(column) for column in columns]
            rows.append([titled.system, row, *(entry and (entry.value if entry.status == "ok" else entry.status)
                                               for entry in entries)])
    return csv_text(["system", tables[0].grid.corner, *columns], rows)
