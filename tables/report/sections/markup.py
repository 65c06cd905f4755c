"""HTML of the report: text, elements, tables, folded parts."""

import html
import os
import re

NUMBERS = (", ".join(f".r{k} td:nth-child({k})" for k in range(1, 31))
           + " { text-align: right; white-space: nowrap; }")  # the style of html_table's columns of numbers
ASSETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "assets")


def escape(text):
    """Text as HTML; what UTF-8 cannot hold is escaped on writing."""
    return html.escape(" ".join(str(text).split()))


def element(tag, content, **attributes):
    """One element; content is HTML already."""
    words = "".join(f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"'
                    for name, value in attributes.items() if value is not None)
    return f"<{tag}{words}>{content}</{tag}>"


def marked(text):
    """A Markdown cell of ours as HTML: bold, code, and the escaped star."""
    found = escape(str(text).replace("\\*", "*"))
    for mark, tag in ((r"\*\*", "b"), ("`", "code")):
        found = re.sub(f"{mark}(.+?){mark}", rf"<{tag}>\1</{tag}>", found)
    return found


def html_table(header, alignment, rows, kind="plain"):
    """A small table; alignment as for Markdown. kind tight: with many columns, so that names may break
    after : and _. Class r3: the third column is of numbers."""
    def content(cell):
        return re.sub("([:_])", r"\1<wbr>", marked(cell)) if kind == "tight" else marked(cell)

    heads = "".join(f"<th{' class=n' if letter == 'r' else ''}>{content(cell)}" for cell, letter in zip(header, alignment))
    classes = " ".join([kind, *(f"r{k}" for k, letter in enumerate(alignment, 1) if letter == "r")])
    return (f'<div class=wide><table class="{classes}"><thead><tr>{heads}</thead><tbody>'
            + "".join("<tr>" + "".join(f"<td>{content(cell)}" for cell, _ in zip(row, alignment)) for row in rows)
            + "</tbody></table></div>")


def fold(name, title, note, content):
    """A folded part of the page; note: what it holds."""
    return (f"<details id={name}><summary><h2>{escape(title)}</h2> <span>{escape(note)}</span></summary>"
            f"<div class=inside>{content}</div></details>")


def fold_each(parts):
    """(title, content) one after the other, folded if there are several."""
    if len(parts) == 1:
        return f"<h3>{escape(parts[0][0])}</h3>{parts[0][1]}"
    return "".join(f"<details><summary><h3>{escape(title)}</h3></summary>{content}</details>" for title, content in parts)


def resource(name):
    """A file of the assets."""
    with open(os.path.join(ASSETS, name), encoding="utf-8") as file:
        return file.read()


def script(text, **attributes):
    """A script element of code: nothing inside it may end it."""
    return element("script", re.sub("</(?=script)", r"<\\/", text, flags=re.IGNORECASE),
                   **attributes)


def picture(name, title, text, drawing):
    """A chart with its title and what to read in it; name: its class."""
    return (f'<article class="chart {name}"><h3>{escape(title)}</h3><p>{escape(text)}</p>'
            f'<div class=drawing role=img aria-label="{escape(title)}">{drawing}</div></article>')
